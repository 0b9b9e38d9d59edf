package algorithms

import (
	"context"

	"fuzzsafe/engine"
)

// lao decides r-safety by ILAO* (Hansen & Zilberstein, "LAO*: a heuristic search algorithm
// that finds solutions with loops", Artificial Intelligence 129, 2001), with
// the maximum over outcomes in place of the expectation as in Jain et al., "Policy Safety
// Testing in Non-Deterministic Planning", section 6.1, and with 0 as the heuristic.
//
// The best partial solution graph, the states that greedy actions lead to from the query,
// is walked depth-first, tips are expanded, and states are updated on the way back. If no
// bound has risen meanwhile, what has been walked is closed; otherwise it is walked again.
//
// Deviations, without which long chains take quadratic time:
//   - A pass goes on behind a tip that it has expanded, and if the update of a state makes
//     another action greedy, its outcomes are walked at once, not in the next pass. But if
//     the bound of a state has risen so far that the action of its predecessor is no longer
//     greedy, the walk goes back to the predecessor, which may not want the state any more.
//   - Convergence is tested, and the walk repeated, per strongly connected component of
//     what is walked, found by Tarjan's algorithm, as in Bonet & Geffner, "Faster heuristic
//     search algorithms for planning with uncertainty and full feedback" (IJCAI 2003). A
//     component that has converged is labelled solved and not walked again.
//
// The labels are right: each member of a component has ended its walk with a greedy action
// all of whose outcomes were solved or on the stack, hence in the component or solved by
// now, since its root relies on nothing below itself. And no bound has risen since the walk
// of the root began, so that all tests were made with the bounds that are labelled, and no
// action has been given up that members left on the stack were walked for.
//
// Complexity: a component is walked at most U · n + 1 times, so time O(U · n · edges) in
// the worst case, over all queries; memory O(states).
type lao struct {
	bellman
	raises int64     // how often a bound has been raised
	stack  []laoOpen // Tarjan's stack
	path   []laoFrame
}

// laoOpen is a state on Tarjan's stack. Its index there is its depth-first number.
type laoOpen struct {
	state engine.StateID
	low   uint32 // least index that the state is known to rely on
}

// laoFrame is a state that is being walked.
type laoFrame struct {
	at     uint32 // index on the stack
	act    uint32 // position of the action that is being walked
	left   int    // number of its outcomes that are not yet solved or on the stack; −1: not begun
	raises int64  // lao.raises when the walk began
}

func newLAO(sys System, r Radius) solver { return &lao{bellman: newBellman(sys, r)} }

func (d *lao) solve(ctx context.Context, s engine.StateID) (uint32, error) {
	return d.decide(ctx, s, d.search)
}

// search walks until query is final.
func (d *lao) search(patience *patience, query engine.StateID) error {
	d.push(query)
	var err error
	for len(d.path) > 0 && err == nil {
		if err = patience.step(); err == nil {
			err = d.step()
		}
	}
	d.path = d.path[:0]
	d.discard(0)
	return err
}

// step continues with the last state on the path.
func (d *lao) step() error {
	f := &d.path[len(d.path)-1]
	open := &d.stack[f.at]
	s := open.state
	n := d.nodes.At(s)
	if err := d.expand(s); err != nil {
		return err
	}
	if d.final(n) {
		d.leave(false)
		return nil
	}
	rose, err := d.update(s)
	if err != nil {
		return err
	}
	if rose {
		d.raises++
		f.left = -1
		if len(d.path) > 1 && !d.wanted(n) {
			d.leave(false)
		}
		return nil
	}
	outcomes, err := d.outcomes(s, n.act)
	if err != nil {
		return err
	}
	if f.left < 0 || f.act != n.act {
		f.act, f.left = n.act, len(outcomes)
	}
	// The last outcome first: see local.adopt.
	for ; f.left > 0; f.left-- {
		t := outcomes[f.left-1]
		m := d.nodes.At(t)
		switch {
		case d.final(m):
		case m.open == 0:
			d.push(t) // it is looked at here again when the walk comes back
			return nil
		default:
			open.low = min(open.low, d.stack[m.open-1].low)
		}
	}
	d.leave(true)
	return nil
}

// wanted returns whether the bound of n, the last state on the path, is still good enough
// for the state before.
func (d *lao) wanted(n *bellmanNode) bool {
	f := d.path[len(d.path)-2]
	from := d.nodes.At(d.stack[f.at].state)
	return n.bound+d.cost(from, f.act) <= from.bound
}

// push begins a walk of s.
func (d *lao) push(s engine.StateID) {
	at := uint32(len(d.stack))
	d.stack = append(d.stack, laoOpen{s, at})
	d.nodes.At(s).open = at + 1
	d.path = append(d.path, laoFrame{at: at, left: -1, raises: d.raises})
}

// leave ends the walk of the last state on the path: complete if its greedy action has been
// walked, otherwise because the state is final or not wanted.
func (d *lao) leave(complete bool) {
	f := d.path[len(d.path)-1]
	d.path = d.path[:len(d.path)-1]
	root := d.stack[f.at]
	switch {
	case root.low < f.at: // it stays on the stack, where its predecessor finds it
	case complete && f.raises == d.raises:
		for _, x := range d.stack[f.at:] {
			d.nodes.At(x.state).solved = true
		}
		d.discard(f.at)
	case complete:
		d.discard(f.at)
		d.push(root.state)
	default:
		d.discard(f.at)
	}
}

// discard removes the states from index at on from the stack.
func (d *lao) discard(at uint32) {
	for _, x := range d.stack[at:] {
		d.nodes.At(x.state).open = 0
	}
	d.stack = d.stack[:at]
}
