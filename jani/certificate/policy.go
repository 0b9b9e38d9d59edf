package certificate

import (
	"fmt"
	"math"
	"slices"

	"fuzzsafe/jani"
)

// Policy is the policy under test. Which action it takes is worked out here, independently
// of engine.Space.Decision, by the rule in the package comment; only the outputs of the
// network come from outside.
type Policy struct {
	Inputs  []int    // what Evaluate is fed with, by position in the header's variables
	Outputs []string // the label of each output
	// Evaluate writes the value of every output for the given inputs, −Inf for no output.
	Evaluate func(in, out []float64) error
}

// policy is a Policy with the labels of a model.
type policy struct {
	Policy
	columns    []column
	labels     []int // of outputs
	unfiltered bool
	in, out    []float64
}

// bind resolves the names in p; labels are all there are.
func (p *Policy) bind(columns []column, labels []string, unfiltered bool) (*policy, error) {
	b := &policy{Policy: *p, columns: columns, unfiltered: unfiltered,
		in: make([]float64, len(p.Inputs)), out: make([]float64, len(p.Outputs))}
	for _, x := range p.Inputs {
		if x < 0 || x >= len(columns) {
			return nil, fmt.Errorf("the policy has an input for variable %d of %d", x, len(columns))
		}
	}
	for _, name := range p.Outputs {
		i := slices.Index(labels, name)
		if i < 0 {
			return nil, fmt.Errorf("the policy has an output for %q, which is no action label", name)
		}
		b.labels = append(b.labels, i)
	}
	return b, nil
}

// choose returns which of the applicable actions in a state the policy takes, given their
// labels in model order; −1 if it takes none of them.
func (p *policy) choose(state []jani.Value, applicable []int) (int, error) {
	if len(applicable) == 1 && !p.unfiltered {
		return 0, nil
	}
	for k, x := range p.Inputs {
		p.in[k] = p.columns[x].float(state[x])
	}
	if err := p.Evaluate(p.in, p.out); err != nil {
		return -1, fmt.Errorf("the policy: %w", err)
	}
	// By descending value; outputs of equal value stay in their order.
	order := make([]int, len(p.out))
	for k, v := range p.out {
		if order[k] = k; v != v {
			return -1, fmt.Errorf("the policy: output %d is not a number", k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p.out[a] > p.out[b]:
			return -1
		case p.out[a] < p.out[b]:
			return 1
		}
		return 0
	})
	for _, k := range order {
		if math.IsInf(p.out[k], -1) {
			break // no output there, nor for those behind
		}
		if i := slices.Index(applicable, p.labels[k]); i >= 0 || p.unfiltered {
			return i, nil
		}
	}
	return 0, nil
}
