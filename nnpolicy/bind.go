package nnpolicy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// Policy is a network bound to a model. It implements engine.Policy. Like its Network
// it must not be used by several goroutines at once: give each its own Clone.
type Policy struct {
	// Filter is whether the policy is meant to choose among applicable actions only.
	Filter bool
	// InterfaceFile and NetworkFile are where the policy was read from; InterfaceFile
	// is "" if the model took the place of an interface.
	InterfaceFile, NetworkFile string
	Warnings                   []jani.Warning

	network *Network
	inputs  []jani.VarID
	outputs []jani.ActionID
}

var _ engine.Policy = (*Policy)(nil)

// Inputs returns the variables that are fed to Evaluate, in order. The caller must not
// change the slice.
func (p *Policy) Inputs() []jani.VarID { return p.inputs }

// Outputs returns the action label that each output stands for, without duplicates.
// The caller must not change the slice.
func (p *Policy) Outputs() []jani.ActionID { return p.outputs }

// Evaluate writes the value of every output for the given inputs; see Network.Evaluate.
func (p *Policy) Evaluate(in, out []float64) error { return p.network.Evaluate(in, out) }

// Sizes returns the layer sizes of the network; see Network.Sizes.
func (p *Policy) Sizes() []int { return p.network.Sizes() }

// Clone returns the same policy for use by another goroutine. Only a buffer is copied.
func (p *Policy) Clone() *Policy {
	c := *p
	c.network = p.network.Clone()
	return &c
}

// Bind resolves the names of an interface in a model and joins them with a network. It
// is a *jani.Error with the place in the interface if the shapes do not fit, a name is
// unknown, or two outputs have one label. A label of the model without an output
// becomes a warning. Time is linear in the sizes of model and interface.
func Bind(m *jani.Model, i *Interface, n *Network) (*Policy, error) {
	if err := checkShape(i, n); err != nil {
		return nil, err
	}
	p := &Policy{Filter: i.Filter, NetworkFile: i.File, Warnings: slices.Clone(i.Warnings), network: n}
	if i.Source != nil {
		p.InterfaceFile = i.Source.Name
	}
	b := newBinder(m)
	for k := range i.Inputs {
		v, err := b.input(&i.Inputs[k])
		if err != nil {
			return nil, err
		}
		p.inputs = append(p.inputs, v)
	}
	labels := make(map[string]jani.ActionID, len(m.Actions))
	for a, label := range m.Actions {
		labels[label] = jani.ActionID(a)
	}
	for k, output := range i.Outputs {
		a, ok := labels[output.Name]
		if !ok {
			err := badInput(output.Pos, "the model has no action label %q", output.Name)
			err.Hint = jani.DidYouMean(output.Name, m.Actions)
			return nil, err
		}
		if first := slices.Index(p.outputs, a); first >= 0 {
			return nil, badInput(output.Pos, "outputs %d and %d have the same action label %q", first+1, k+1, output.Name)
		}
		p.outputs = append(p.outputs, a)
	}
	var missing []string
	for a, label := range m.Actions {
		if jani.ActionID(a) != m.Silent && !slices.Contains(p.outputs, jani.ActionID(a)) {
			missing = append(missing, strconv.Quote(label))
		}
	}
	if len(missing) > 0 {
		p.Warnings = append(p.Warnings, jani.Warning{
			Pos: jani.Pos{Src: i.Source},
			Msg: "the policy has no output for the action labels " + strings.Join(missing, ", "),
		})
	}
	return p, nil
}

// checkShape compares the sizes in an interface with those of a network.
func checkShape(i *Interface, n *Network) error {
	if len(i.Inputs) != n.Inputs() || len(i.Outputs) != n.Outputs() {
		says := "the interface"
		if i.Source == nil {
			says = "the model, which stands in for an interface file,"
		}
		return badInput(jani.Pos{Src: i.Source}, "the network has %d inputs and %d outputs, but %s has %d inputs and %d outputs",
			n.Inputs(), n.Outputs(), says, len(i.Inputs), len(i.Outputs))
	}
	sizes := n.Sizes()
	if hidden := sizes[1 : len(sizes)-1]; i.Hidden != nil && !slices.Equal(i.Hidden, hidden) {
		return badInput(i.HiddenPos, "the hidden layers of the network have sizes %v, but the interface says %v", hidden, i.Hidden)
	}
	return nil
}

// binder looks up what inputs name.
type binder struct {
	model *jani.Model
	vars  map[string]jani.VarID
}

func newBinder(m *jani.Model) *binder {
	b := &binder{m, make(map[string]jani.VarID, len(m.Vars))}
	for v := range m.Vars {
		b.vars[m.Vars[v].Name] = jani.VarID(v)
	}
	return b
}

func (b *binder) input(in *Input) (jani.VarID, error) {
	prefix := ""
	if in.Automaton != "" || in.Instance >= 0 {
		part, err := b.automaton(in)
		if err != nil {
			return jani.NoVar, err
		}
		if in.Location {
			return part.Location, nil
		}
		prefix = part.Name + "."
	}
	name := prefix + strings.TrimPrefix(in.Name, prefix)
	full := name
	if in.Element >= 0 {
		full = element(name, in.Element)
	}
	if v, ok := b.vars[full]; ok {
		return v, nil
	}
	return jani.NoVar, b.unknown(in, name)
}

func element(name string, index int) string { return name + "[" + strconv.Itoa(index) + "]" }

// automaton returns the instance that in names.
func (b *binder) automaton(in *Input) (*jani.Instance, error) {
	parts := b.model.Parts
	if in.Instance < 0 {
		names := make([]string, len(parts))
		for k := range parts {
			if names[k] = parts[k].Name; names[k] == in.Automaton {
				return &parts[k], nil
			}
		}
		err := badInput(in.Pos, "the model has no automaton %q", in.Automaton)
		err.Hint = jani.DidYouMean(in.Automaton, names)
		return nil, err
	}
	if in.Instance >= len(parts) {
		return nil, badInput(in.Pos, "there is no automaton at position %d: the composition has %d, counted from 0", in.Instance, len(parts))
	}
	part := &parts[in.Instance]
	// Further instances of an automaton are called name#2 and so on.
	if in.Automaton != "" && in.Automaton != part.Name && !strings.HasPrefix(part.Name, in.Automaton+"#") {
		return nil, badInput(in.Pos, "the automaton at position %d of the composition is %q, not %q", in.Instance, part.Name, in.Automaton)
	}
	return part, nil
}

// unknown returns the error for an input whose variable does not exist under name.
func (b *binder) unknown(in *Input, name string) error {
	size := 0
	for b.has(element(name, size)) {
		size++
	}
	switch {
	case size > 0 && in.Element >= 0:
		return badInput(in.Pos, "array %q has %d elements, counted from 0, and none at index %d", name, size, in.Element)
	case size > 0:
		return badInput(in.Pos, `%q is an array: an input needs the "index" of one element`, name)
	case b.has(name):
		return badInput(in.Pos, `%q is not an array: "index" has no place here`, name)
	}
	names := make([]string, len(b.model.Vars))
	for v := range names {
		names[v] = b.model.Vars[v].Name
	}
	err := badInput(in.Pos, "the model has no variable %q", name)
	err.Hint = jani.DidYouMean(name, names)
	return err
}

func (b *binder) has(name string) bool {
	_, ok := b.vars[name]
	return ok
}
