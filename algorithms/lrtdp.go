package algorithms

import (
	"context"

	"fuzzsafe/engine"
)

// lrtdp decides r-safety by labelled real-time dynamic programming (Bonet & Geffner,
// "Labeled RTDP: improving the convergence of real-time dynamic programming", ICAPS 2003),
// with the maximum over outcomes in place of the expectation as in Jain et al., "Policy
// Safety Testing in Non-Deterministic Planning", section 6.1, and with 0 as the heuristic.
//
// A trial updates a state, goes to an outcome of its greedy action, and so on. It ends at a
// state that is final, or whose greedy action has no outcome to go to, because all are
// solved or on the trial already. Then the check collects the states that greedy actions
// lead to from there. If all of them are consistent, they are labelled solved; otherwise
// they are updated, the last collected first.
//
// The labels are right: no bound rises while states are collected, the current action of
// each is greedy, and all of its outcomes are collected or final.
//
// Deviations, without which long chains take quadratic time:
//   - The next trial does not start from the query: it would go the same way as far as the
//     states of the last one are not final and have not been raised. So it goes on at the
//     last state before such a one.
//   - For the same reason a trial ends at a state whose bound rises, and the state before
//     is updated next, which may now prefer another action.
//   - For want of probabilities the outcome is not drawn, but the last one that is neither
//     solved nor on the trial. On lines with packages that can fall, a random one cost up to
//     8 times as many pairs, and the first one 6 times.
//
// Complexity: a check that fails raises a bound, so time is O(U · n · edges) in the worst
// case, over all queries; memory O(states).
type lrtdp struct {
	bellman
	trial  []engine.StateID // states of the running trial
	found  []engine.StateID // by the running check, to be looked at
	closed []engine.StateID // by the running check
}

func newLRTDP(sys System, r Radius) solver { return &lrtdp{bellman: newBellman(sys, r)} }

func (d *lrtdp) solve(ctx context.Context, s engine.StateID) (uint32, error) {
	return d.decide(ctx, s, d.search)
}

// search runs trials until query is final.
func (d *lrtdp) search(patience *patience, query engine.StateID) error {
	d.push(query)
	var err error
	for len(d.trial) > 0 && err == nil {
		if err = patience.step(); err == nil {
			err = d.step(patience)
		}
	}
	d.cut(0)
	return err
}

// step continues with the last state of the trial.
func (d *lrtdp) step(patience *patience) error {
	last := len(d.trial) - 1
	s := d.trial[last]
	n := d.nodes.At(s)
	if err := d.expand(s); err != nil {
		return err
	}
	if d.final(n) {
		d.cut(last)
		return nil
	}
	rose, err := d.update(s)
	if err != nil {
		return err
	}
	if rose {
		d.cut(max(last, 1))
		return nil
	}
	outcomes, err := d.outcomes(s, n.act)
	if err != nil {
		return err
	}
	for i := len(outcomes) - 1; i >= 0; i-- {
		if m := d.nodes.At(outcomes[i]); m.open == 0 && !d.final(m) {
			d.push(outcomes[i])
			return nil
		}
	}
	return d.check(patience, s)
}

// push appends s to the trial.
func (d *lrtdp) push(s engine.StateID) {
	d.trial = append(d.trial, s)
	d.nodes.At(s).open = uint32(len(d.trial))
}

// cut shortens the trial to its first n states.
func (d *lrtdp) cut(n int) {
	for _, s := range d.trial[n:] {
		d.nodes.At(s).open = 0
	}
	d.trial = d.trial[:n]
}

// check labels s and all that greedy actions lead to as solved if they are consistent;
// otherwise it updates them.
func (d *lrtdp) check(patience *patience, s engine.StateID) error {
	consistent, err := d.collect(patience, s)
	for _, x := range d.found {
		d.nodes.At(x).checked = false
	}
	for _, x := range d.closed {
		d.nodes.At(x).checked = false
	}
	switch {
	case err != nil:
	case consistent:
		for _, x := range d.closed {
			d.nodes.At(x).solved = true
		}
	default:
		err = d.backup(patience)
	}
	d.found, d.closed = d.found[:0], d.closed[:0]
	return err
}

// collect closes the states that greedy actions lead to from s and returns whether it has
// found them all consistent. It does not go beyond others.
func (d *lrtdp) collect(patience *patience, s engine.StateID) (bool, error) {
	d.find(s)
	consistent := true
	for len(d.found) > 0 {
		if err := patience.step(); err != nil {
			return false, err
		}
		last := len(d.found) - 1
		x := d.found[last]
		d.found, d.closed = d.found[:last], append(d.closed, x)
		if err := d.expand(x); err != nil {
			return false, err
		}
		n := d.nodes.At(x)
		if n.solved {
			continue // terminal
		}
		fine, err := d.greedy(x)
		if err != nil {
			return false, err
		}
		if !fine {
			consistent = false
			continue
		}
		outcomes, err := d.outcomes(x, n.act)
		if err != nil {
			return false, err
		}
		for _, t := range outcomes {
			d.find(t)
		}
	}
	return consistent, nil
}

// find lets the running check look at s, unless it has met s before or s is final.
func (d *lrtdp) find(s engine.StateID) {
	if n := d.nodes.At(s); !n.checked && !d.final(n) {
		n.checked = true
		d.found = append(d.found, s)
	}
}

// backup updates the closed states and cuts the trial before the first of it that rises.
func (d *lrtdp) backup(patience *patience) error {
	first := len(d.trial)
	for i := len(d.closed) - 1; i >= 0; i-- {
		if err := patience.step(); err != nil {
			return err
		}
		n := d.nodes.At(d.closed[i])
		if n.solved {
			continue // terminal
		}
		rose, err := d.update(d.closed[i])
		if err != nil {
			return err
		}
		if rose && n.open > 0 {
			first = min(first, int(n.open)-1)
		}
	}
	d.cut(max(first, 1))
	return nil
}
