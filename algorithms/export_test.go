package algorithms

import "fuzzsafe/engine"

// Failed returns the states that a "tarjan" decider has found to fail for some budget.
func Failed(d Decider) (list []engine.StateID) {
	for s, n := range d.(*decider).solver.(*tarjan).nodes {
		if n.seen && n.lower > 0 {
			list = append(list, engine.StateID(s))
		}
	}
	return list
}
