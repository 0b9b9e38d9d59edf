package engine

import "fuzzsafe/jani"

// RawChoice is a choice as the generator makes it: nothing is merged.
type RawChoice struct {
	Action     jani.ActionID
	Edges      []string
	Successors [][]jani.Value
}

// RawChoices returns the choices of state s in model order.
func (sp *Space) RawChoices(s StateID) ([]RawChoice, error) {
	k := sp.work
	w := sp.states.at(s)
	if err := k.enableAll(w); err != nil {
		return nil, err
	}
	var list []RawChoice
	var err error
	for i := range k.labels {
		k.choices(&k.labels[i], func() bool {
			c := RawChoice{Action: k.labels[i].action}
			for _, e := range k.chosen {
				c.Edges = append(c.Edges, e.name)
			}
			k.out = k.out[:0]
			if _, err = k.expand(w); err != nil {
				return false
			}
			for from := 0; from < len(k.out); from += k.layout.words {
				values := make([]jani.Value, len(k.model.Vars))
				k.layout.unpack(k.out[from:from+k.layout.words], values)
				c.Successors = append(c.Successors, values)
			}
			list = append(list, c)
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ExpandAll generates the successors of state s without keeping them, and returns their
// number.
func (sp *Space) ExpandAll(s StateID) (int, error) {
	k := sp.work
	w := sp.states.at(s)
	if err := k.enableAll(w); err != nil {
		return 0, err
	}
	k.out = k.out[:0]
	var err error
	for i := range k.labels {
		if !k.choices(&k.labels[i], func() bool {
			_, err = k.expand(w)
			return err == nil
		}) {
			return 0, err
		}
	}
	return len(k.out) / k.layout.words, nil
}
