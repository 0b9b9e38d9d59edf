package algorithms

import (
	"context"

	"fuzzsafe/engine"
)

// tarjan is TarjanSafe (Jain et al., "Policy Safety Testing in Non-Deterministic
// Planning", Algorithm 2): a depth-first search over pairs of a state and a budget of
// deviations for a safe policy, in which a pair that is still open counts as safe until
// proven otherwise, with Tarjan's algorithm to tell when such assumptions are settled.
//
// A pair fails when each of its actions has an outcome that fails with the budget that
// remains. Since this only ever rests on failures, never on assumptions, it is final. A
// pair that has found an action is open until the component of the search that it
// belongs to is complete: then its members rely on nobody but each other, which makes
// them safe.
//
// Complexity: every failure is final and discards at most the open pairs above it. So
// time is O(U · n) failures times O(U · edges) for exploring again what they discard;
// memory is O(states + open pairs). A state with k open budgets is found in O(k).
//
// Deviations from the paper, whose pseudo-code leaves open what becomes of the pairs that
// relied on one that fails:
//   - When a pair fails, all open pairs above it on Tarjan's stack, which may rely on it,
//     are discarded and explored again when they are needed.
//   - When merely an action fails, the open pairs below it are kept, as the condition "not
//     in current call's SCC" has it; they are still safe if the assumptions hold. An
//     implementation that forgets them is exponential, for instance on enginetest.Ladder.
//   - When a component is complete, all of its members are cached as safe, not only the root.
//   - An open pair serves requests for the same state with any larger budget.
//   - Actions are tried in a fixed order: the policy's, if it is known, then model order.
type tarjan struct {
	sys      System
	radius   uint32 // r, 0 for ∞
	infinite bool
	nodes    []tarjanNode
	stack    []openPair // Tarjan's stack
	path     []tarjanFrame
}

type tarjanNode struct {
	lower   uint32 // J* ≥ lower; the paper's no[s] is lower−1
	upper   uint32 // J* ≤ upper, or r+1 for none; the paper's yes[s]
	open    uint32 // 1 + index on the stack of the latest open pair of the state
	actions uint32
	policy  int32
	seen    bool // all of the above is computed
}

// openPair is a pair on Tarjan's stack. Its index there is its depth-first number.
type openPair struct {
	state  engine.StateID
	budget uint32
	low    uint32 // least index that the pair is known to rely on
	older  uint32 // 1 + index of the next older open pair of the same state
}

// tarjanFrame is a pair that is being expanded: one level of the paper's recursion.
type tarjanFrame struct {
	pair     uint32 // index on the stack
	pos      uint32 // position of the action that is being tried
	next     uint32 // number of its outcomes that have been found safe
	outcomes []engine.StateID
}

func newTarjan(sys System, r Radius) solver {
	return &tarjan{sys: sys, radius: r.ceiling() - 1, infinite: r == Infinite}
}

func (d *tarjan) known(s engine.StateID) (uint32, bool) {
	if int(s) >= len(d.nodes) {
		return 0, false
	}
	n := &d.nodes[s]
	return n.upper, n.upper <= d.radius || n.lower > d.radius
}

func (d *tarjan) solve(ctx context.Context, s engine.StateID) (uint32, error) {
	if _, err := d.within(ctx, s, d.radius); err != nil {
		return 0, err
	}
	return d.nodes[s].upper, nil
}

func (d *tarjan) within(ctx context.Context, s engine.StateID, budget uint32) (bool, error) {
	n, err := d.node(s)
	if err != nil {
		return false, err
	}
	if n.lower <= budget && budget < n.upper {
		d.push(s, budget)
		if err := d.search(ctx); err != nil {
			d.discard(0)
			d.path = d.path[:0]
			return false, err
		}
	}
	return d.nodes[s].upper <= budget, nil
}

// search expands the pair on the path until it has failed or is cached as safe.
func (d *tarjan) search(ctx context.Context) error {
	patience := patience{ctx: ctx}
	for len(d.path) > 0 {
		if err := patience.step(); err != nil {
			return err
		}
		f := &d.path[len(d.path)-1]
		pair := &d.stack[f.pair]
		n := &d.nodes[pair.state]
		cost := uint32(0)
		if !d.infinite {
			cost = costAt(f.pos, n.policy)
		}
		switch {
		case f.pos == n.actions:
			n.lower = max(n.lower, pair.budget+1)
			d.discard(f.pair)
			d.path = d.path[:len(d.path)-1]
			continue
		case cost > pair.budget:
			f.pos++
			continue
		case f.outcomes == nil:
			outcomes, err := d.sys.Outcomes(pair.state, actionAt(f.pos, n.policy))
			if err != nil {
				return err
			}
			f.outcomes, f.next = outcomes, 0
		}
		for int(f.next) < len(f.outcomes) {
			t, budget := f.outcomes[f.next], pair.budget-cost
			m, err := d.node(t)
			if err != nil {
				return err
			}
			if m.lower > budget {
				f.pos++
				f.outcomes = nil
				break
			}
			if m.upper > budget {
				open := d.find(m.open, budget)
				if open == 0 {
					// Its result is found here when the search comes back to this frame.
					d.push(t, budget)
					break
				}
				pair.low = min(pair.low, d.stack[open-1].low)
			}
			f.next++
		}
		if f = &d.path[len(d.path)-1]; f.outcomes != nil && int(f.next) == len(f.outcomes) {
			d.path = d.path[:len(d.path)-1]
			d.close(f.pair)
		}
	}
	return nil
}

// push opens a pair.
func (d *tarjan) push(s engine.StateID, budget uint32) {
	at := uint32(len(d.stack))
	d.stack = append(d.stack, openPair{s, budget, at, d.nodes[s].open})
	d.nodes[s].open = at + 1
	d.path = append(d.path, tarjanFrame{pair: at})
}

// close ends the expansion of the pair at index at, which has found an action. If it is
// the root of its component, all of the component is safe. Otherwise the pair that is
// expanded next, its parent, relies on all that this one relies on.
func (d *tarjan) close(at uint32) {
	if low := d.stack[at].low; low < at {
		parent := &d.stack[d.path[len(d.path)-1].pair]
		parent.low = min(parent.low, low)
		return
	}
	for _, p := range d.stack[at:] {
		n := &d.nodes[p.state]
		n.upper = min(n.upper, p.budget)
	}
	d.discard(at)
}

// discard removes the open pairs from index at on.
func (d *tarjan) discard(at uint32) {
	for i := len(d.stack); i > int(at); i-- {
		d.nodes[d.stack[i-1].state].open = d.stack[i-1].older
	}
	d.stack = d.stack[:at]
}

// find returns 1 + the index of an open pair with at most the given budget, 0 for none,
// among the pair open and the older ones of the same state.
func (d *tarjan) find(open, budget uint32) uint32 {
	for open != 0 && d.stack[open-1].budget > budget {
		open = d.stack[open-1].older
	}
	return open
}

// node returns the entry of s after computing it if it is new.
func (d *tarjan) node(s engine.StateID) (*tarjanNode, error) {
	if int(s) >= len(d.nodes) {
		d.nodes = grow(d.nodes, d.sys.NumStates(), tarjanNode{upper: d.radius + 1})
	}
	n := &d.nodes[s]
	if n.seen {
		return n, nil
	}
	class, err := d.sys.Class(s)
	if err != nil {
		return nil, err
	}
	if class == engine.ClassOrdinary {
		if n.actions, n.policy, err = choices(d.sys, s, d.infinite); err != nil {
			return nil, err
		}
	}
	switch {
	case class == engine.ClassUnsafe:
		n.lower = d.radius + 1
	case n.actions == 0: // goal or terminal
		n.upper = 0
	}
	n.seen = true
	return n, nil
}
