package benchmarks

import "fuzzsafe/nnpolicy"

// The families below are control problems: a real-valued state that a step of explicit
// formulas leads on, without chance. Values are kept within the bounds of the variables by
// min and max, where nothing of interest happens any more. A run ends well after some steps.

const elapsed = "time" // variable: steps so far

func stepsParameter(def string) Parameter {
	return Parameter{Name: "steps", Doc: "steps after which a run has ended well", Default: def, Min: 1, Max: 100_000}
}

// newControl returns the model and property of a control problem. The variables are without
// the time, and the edges, the start condition and what is unsafe do not mention it.
func newControl(name, description string, steps int, constants []constant, actions []string, variables []variable, edges []edge,
	start, unsafe expr) (*model, *properties) {
	for i := range edges {
		e := &edges[i]
		left := le(elapsed, steps-1)
		if e.Guard.Exp == nil {
			e.Guard.Exp = left
		} else {
			e.Guard.Exp = and(left, e.Guard.Exp)
		}
		for j := range e.Destinations {
			e.Destinations[j].Assignments = append(e.Destinations[j].Assignments, change(elapsed, 1))
		}
	}
	variables = append([]variable{{elapsed, within(0, steps), 0, "steps so far"}}, variables...)
	m := newModel(name, description, "lts", actions, variables, edges)
	m.Constants = constants
	return m, newProperty("control", and(eq(elapsed, 0), start), unsafe, ge(elapsed, steps))
}

// grow is an explicit Euler step of a variable that changes by an amount per second, within ±most.
func grow(name string, by expr, most float64) assignment {
	return set(name, clamp(-most, sum(name, product(timeStep, by)), most))
}

// linearPolicy returns a network that scores actions by weighted sums of the variables.
func linearPolicy(m *model, scores func(in map[string]linear) map[string]linear) (*nnpolicy.Network, error) {
	return newNetwork(m, func(_ *circuit, in map[string]linear) map[string]linear { return scores(in) })
}
