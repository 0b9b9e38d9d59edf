package nnpolicy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// Policy is a Function bound to a model. It implements engine.Policy. Like its Function
// it must not be used by several goroutines at once: give each its own Clone.
type Policy struct {
	// Filter is whether the policy is meant to choose among applicable actions only.
	Filter bool
	// InterfaceFile and NetworkFile are where the policy was read from; InterfaceFile
	// is "" if the model took the place of an interface. A table is both.
	InterfaceFile, NetworkFile string
	Warnings                   []jani.Warning

	function Function
	inputs   []jani.VarID
	outputs  []jani.ActionID
}

var _ engine.BatchPolicy = (*Policy)(nil)

// Inputs returns the variables that are fed to Evaluate, in order. The caller must not
// change the slice.
func (p *Policy) Inputs() []jani.VarID { return p.inputs }

// Outputs returns the action label that each output stands for, without duplicates.
// The caller must not change the slice.
func (p *Policy) Outputs() []jani.ActionID { return p.outputs }

// Evaluate writes the value of every output for the given inputs; see Function.
func (p *Policy) Evaluate(in, out []float64) error { return p.function.Evaluate(in, out) }

// BatchSize returns how many states it pays to evaluate at once: 256 for a process, which is
// asked once for all of them, else 1.
func (p *Policy) BatchSize() int {
	if _, ok := p.function.(*External); ok {
		return 256
	}
	return 1
}

// EvaluateBatch is Evaluate for count states, one after the other in in and out.
func (p *Policy) EvaluateBatch(count int, in, out []float64) error {
	if e, ok := p.function.(*External); ok {
		return e.EvaluateBatch(count, in, out)
	}
	for s := range count {
		if err := p.Evaluate(in[s*len(p.inputs):][:len(p.inputs)], out[s*len(p.outputs):][:len(p.outputs)]); err != nil {
			return err
		}
	}
	return nil
}

// Sizes returns the layer sizes of a network (see Network.Sizes), of another Function
// the numbers of inputs and outputs.
func (p *Policy) Sizes() []int {
	if n, ok := p.function.(*Network); ok {
		return n.Sizes()
	}
	return []int{p.function.Inputs(), p.function.Outputs()}
}

// Clone returns the same policy for use by another goroutine. Only a buffer is copied.
func (p *Policy) Clone() *Policy {
	c := *p
	c.function = p.function.Fork()
	return &c
}

// Bind resolves the names of an interface in a model and joins them with a function. It
// is a *jani.Error with the place in the interface if the shapes do not fit, a name is
// unknown, or two outputs have one label. A label of the model without an output
// becomes a warning. Time is the product of the sizes of model and interface.
func Bind(m *jani.Model, i *Interface, f Function) (*Policy, error) {
	if err := checkShape(i, f); err != nil {
		return nil, err
	}
	p := &Policy{Filter: i.Filter, NetworkFile: i.File, Warnings: slices.Clone(i.Warnings), function: f}
	if i.Source != nil {
		p.InterfaceFile = i.Source.Name
	}
	for k := range i.Inputs {
		v, err := input(m, &i.Inputs[k])
		if err != nil {
			return nil, err
		}
		p.inputs = append(p.inputs, v)
	}
	for _, name := range i.Outputs {
		a, err := output(m, name, p.outputs)
		if err != nil {
			return nil, err
		}
		p.outputs = append(p.outputs, a)
	}
	p.warnMissing(m, i.Source)
	return p, nil
}

// output returns the label that name names, which must not be one of known.
func output(m *jani.Model, name jani.Name, known []jani.ActionID) (jani.ActionID, error) {
	a := jani.ActionID(slices.Index(m.Actions, name.Name))
	if a < 0 {
		err := badInput(name.Pos, "the model has no action label %q", name.Name)
		err.Hint = jani.DidYouMean(name.Name, m.Actions)
		return jani.NoAction, err
	}
	if first := slices.Index(known, a); first >= 0 {
		return jani.NoAction, badInput(name.Pos, "outputs %d and %d have the same action label %q", first+1, len(known)+1, name.Name)
	}
	return a, nil
}

// warnMissing warns of labels of the model without an output.
func (p *Policy) warnMissing(m *jani.Model, src *jani.Source) {
	var missing []string
	for a, label := range m.Actions {
		if jani.ActionID(a) != m.Silent && !slices.Contains(p.outputs, jani.ActionID(a)) {
			missing = append(missing, strconv.Quote(label))
		}
	}
	if len(missing) > 0 {
		p.Warnings = append(p.Warnings, jani.Warning{
			Pos: jani.Pos{Src: src},
			Msg: "the policy has no output for the action labels " + strings.Join(missing, ", "),
		})
	}
}

// named returns the name of a file in quotes, behind a blank, or nothing.
func named(file string) string {
	if file == "" {
		return ""
	}
	return " " + strconv.Quote(file)
}

// checkShape compares the sizes in an interface with those of a function.
func checkShape(i *Interface, f Function) error {
	if len(i.Inputs) != f.Inputs() || len(i.Outputs) != f.Outputs() {
		says := "the interface"
		switch {
		case i.stands:
			says = "the model, which stands in for an interface file,"
		case i.File == "":
			says = "the list of their names"
		}
		return badInput(jani.Pos{Src: i.Source}, "the network%s has %d inputs and %d outputs, but %s has %d inputs and %d outputs (they must list the same)",
			named(i.File), f.Inputs(), f.Outputs(), says, len(i.Inputs), len(i.Outputs))
	}
	n, ok := f.(*Network)
	if !ok {
		return nil // without hidden layers, or they are not told apart
	}
	sizes := n.Sizes()
	if hidden := sizes[1 : len(sizes)-1]; i.Hidden != nil && !slices.Equal(i.Hidden, hidden) {
		return badInput(i.HiddenPos, "the hidden layers of the network have sizes %v, but the interface says %v", hidden, i.Hidden)
	}
	return nil
}

// input returns the variable that in names.
func input(m *jani.Model, in *Input) (jani.VarID, error) {
	name := in.Name
	if in.Automaton != "" || in.Instance >= 0 {
		part, err := automaton(m, in)
		if err != nil {
			return jani.NoVar, err
		}
		if in.Location {
			return part.Location, nil
		}
		name = part.Name + "." + name
	}
	full := name
	if in.Element >= 0 {
		full = element(name, in.Element)
	}
	v, hint := m.Variable(full)
	if v != jani.NoVar {
		return v, nil
	}
	err := badInput(in.Pos, "the model has no variable %q", name)
	err.Hint = hint
	switch n := arrayLen(m, name); {
	case n > 0 && in.Element >= 0:
		err.Msg = fmt.Sprintf("array %q has %d elements, counted from 0, and none at index %d", name, n, in.Element)
		err.Hint = ""
	case n > 0:
		err.Msg = fmt.Sprintf("%q is an array", name)
		err.Hint = `the "index" of one element is needed`
	case in.Element >= 0:
		if v, hint = m.Variable(name); v != jani.NoVar {
			err.Msg = fmt.Sprintf(`%q is not an array, but there is an "index"`, name)
		}
		err.Hint = hint
	}
	return jani.NoVar, err
}

func element(name string, index int) string { return name + "[" + strconv.Itoa(index) + "]" }

// arrayLen returns the number of elements of an array variable, 0 if there is none
// called name.
func arrayLen(m *jani.Model, name string) int {
	n := 0
	for v := range m.Vars {
		if strings.HasPrefix(m.Vars[v].Name, name+"[") {
			n++
		}
	}
	return n
}

// automaton returns the instance that in names.
func automaton(m *jani.Model, in *Input) (*jani.Instance, error) {
	if in.Instance < 0 {
		names := make([]string, len(m.Parts))
		for k := range m.Parts {
			if names[k] = m.Parts[k].Name; names[k] == in.Automaton {
				return &m.Parts[k], nil
			}
		}
		err := badInput(in.Pos, "the model has no automaton %q", in.Automaton)
		err.Hint = jani.DidYouMean(in.Automaton, names)
		return nil, err
	}
	if in.Instance >= len(m.Parts) {
		return nil, badInput(in.Pos, "there is no automaton at position %d: the composition has %d, counted from 0", in.Instance, len(m.Parts))
	}
	part := &m.Parts[in.Instance]
	// Further instances of an automaton are called name#2 and so on.
	if in.Automaton != "" && in.Automaton != part.Name && !strings.HasPrefix(part.Name, in.Automaton+"#") {
		return nil, badInput(in.Pos, "the automaton at position %d of the composition is %q, not %q", in.Instance, part.Name, in.Automaton)
	}
	return part, nil
}
