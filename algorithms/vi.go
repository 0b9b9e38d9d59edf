package algorithms

import (
	"context"

	"fuzzsafe/engine"
)

// vi decides r-safety by value iteration (Bellman 1957; as in Jain et al., "Policy Safety
// Testing in Non-Deterministic Planning", section 6.1): it explores all states that can be
// reached from the query without passing unsafe states, goals and states that earlier
// queries have settled, and then sweeps over them with Bellman updates from 0 until a
// sweep changes nothing. What it has explored is then closed and settled altogether.
//
// Updates work in place, and sweeps alternate between reverse breadth-first order and
// breadth-first order. So one sweep and another to see that it was the last are enough for
// a chain of any length.
//
// Complexity: at most U · n + 1 sweeps over the n states that the query is the first to
// reach, so time O(U · n · edges) in the worst case; memory O(n).
type vi struct {
	bellman
	region []engine.StateID // the states that the running query has reached, breadth-first
}

func newVI(sys System, r Radius) solver { return &vi{bellman: newBellman(sys, r)} }

func (d *vi) solve(ctx context.Context, s engine.StateID) (uint32, error) {
	return d.decide(ctx, s, d.search)
}

func (d *vi) search(patience *patience, query engine.StateID) error {
	err := d.explore(patience, query)
	for _, s := range d.region {
		d.nodes.At(s).open = 0
	}
	if err == nil {
		err = d.iterate(patience)
	}
	if err == nil {
		for _, s := range d.region {
			d.nodes.At(s).solved = true
		}
	}
	d.region = d.region[:0]
	return err
}

// explore collects the region of query.
func (d *vi) explore(patience *patience, query engine.StateID) error {
	d.region = append(d.region, query)
	d.nodes.At(query).open = 1
	for i := 0; i < len(d.region); i++ {
		if err := patience.step(); err != nil {
			return err
		}
		s := d.region[i]
		if err := d.expand(s); err != nil {
			return err
		}
		for pos := range d.nodes.At(s).actions {
			outcomes, err := d.outcomes(s, pos)
			if err != nil {
				return err
			}
			for _, t := range outcomes {
				m, err := d.touch(t)
				if err != nil {
					return err
				}
				if m.open == 0 && !d.final(m) {
					m.open = 1
					d.region = append(d.region, t)
				}
			}
		}
	}
	return nil
}

// iterate sweeps over the region until no bound rises.
func (d *vi) iterate(patience *patience) error {
	n := len(d.region)
	backward, changed := true, true
	for ; changed; backward = !backward {
		changed = false
		for i := range n {
			if err := patience.step(); err != nil {
				return err
			}
			if backward {
				i = n - 1 - i
			}
			s := d.region[i]
			if d.final(d.nodes.At(s)) {
				continue
			}
			rose, err := d.update(s)
			if err != nil {
				return err
			}
			changed = changed || rose
		}
	}
	return nil
}
