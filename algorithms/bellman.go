package algorithms

import (
	"context"

	"fuzzsafe/engine"
)

// bellman is what the deciders by value iteration share: lower bounds of J*, at first 0,
// that only Bellman updates raise.
//
// Such bounds become J* where they are closed. Let C be a set of states of which each is
// unsafe, a goal, terminal, of bound U, or has an action with C(s,a) + max J(t) ≤ J(s)
// whose outcomes t are all in C. With J' = J on C and U elsewhere, one Bellman update of J'
// nowhere exceeds J'. The least fixpoint is below all such functions (Knaster & Tarski), so
// J* ≤ J' = J ≤ J* on C. Cycles of cost 0 need no special care: it is the bound from below
// that makes the values of a closed cycle right, not any progress along it. So a search may
// label as solved all states of a set that is closed together with those labelled before,
// as long as the test was made with the same bounds for all of them. Labels stay right
// when anything is forgotten, and the bound of a labelled state never changes again.
//
// Updates do not look at all actions. If one has a value of at most J(s), then J(s) stays
// as it is; actions that once had a larger value have it as long as J(s) stays, because
// bounds only rise. Actions of cost 1 are not generated as long as J(s) = 0.
type bellman struct {
	sys      System
	ceiling  uint32 // U
	infinite bool
	nodes    engine.PerState[bellmanNode]
	counts   levels
}

type bellmanNode struct {
	bound    uint32 // J*(s) ≥ bound
	act      uint32 // position of the greedy action; all before it have a value > bound
	actions  uint32 // number of actions, if expanded
	policy   int32  // the policy's action or −1, if expanded
	open     uint32 // 1 + index on the list of the running search, 0 for none
	touched  bool   // class computed
	expanded bool   // actions computed
	solved   bool   // bound is J*
	checked  bool   // of "lrtdp": met by the running check
}

func newBellman(sys System, r Radius) bellman {
	return bellman{sys: sys, ceiling: r.ceiling(), infinite: r == Infinite}
}

func (b *bellman) known(s engine.StateID) (uint32, bool) {
	n := b.nodes.Peek(s)
	return n.bound, b.final(&n)
}

func (b *bellman) unbounded() bool { return b.counts.gap(b.ceiling - 1) }

// final returns whether the bound of n is J*.
func (b *bellman) final(n *bellmanNode) bool { return n.solved || n.bound >= b.ceiling }

// decide returns J*(s), which search makes final if it is not yet.
func (b *bellman) decide(ctx context.Context, s engine.StateID, search func(*patience, engine.StateID) error) (uint32, error) {
	n, err := b.touch(s)
	if err != nil {
		return 0, err
	}
	if !b.final(n) {
		if err := search(&patience{ctx: ctx}, s); err != nil {
			return 0, err
		}
	}
	return n.bound, nil
}

// touch returns the entry of s after making sure that its class is known.
func (b *bellman) touch(s engine.StateID) (*bellmanNode, error) {
	n := b.nodes.At(s)
	if n.touched {
		return n, nil
	}
	class, err := b.sys.Class(s)
	if err != nil {
		return nil, err
	}
	switch class {
	case engine.ClassUnsafe:
		n.bound = b.ceiling
	case engine.ClassGoal:
		n.solved = true
	}
	n.touched = true
	return n, nil
}

// expand computes the actions of s, which must be touched and not final. Without any, s
// becomes solved.
func (b *bellman) expand(s engine.StateID) (err error) {
	n := b.nodes.At(s)
	if n.expanded {
		return nil
	}
	if n.actions, n.policy, err = choices(b.sys, s, b.infinite); err != nil {
		return err
	}
	n.expanded, n.solved = true, n.actions == 0
	return nil
}

func (b *bellman) cost(n *bellmanNode, pos uint32) uint32 {
	if b.infinite {
		return 0
	}
	return costAt(pos, n.policy)
}

// outcomes returns the outcomes of the action of s at position pos.
func (b *bellman) outcomes(s engine.StateID, pos uint32) ([]engine.StateID, error) {
	return b.sys.Outcomes(s, actionAt(pos, b.nodes.At(s).policy))
}

// worst returns the largest bound among the outcomes of the action of s at position pos,
// or one that exceeds limit. In the first case all of them are touched.
func (b *bellman) worst(s engine.StateID, pos, limit uint32) (value uint32, err error) {
	outcomes, err := b.outcomes(s, pos)
	if err != nil {
		return 0, err
	}
	for _, t := range outcomes {
		n, err := b.touch(t)
		if err != nil {
			return 0, err
		}
		if value = max(value, n.bound); value > limit {
			break
		}
	}
	return value, nil
}

// greedy makes the first action of least value the current one, if that value does not
// exceed the bound of s. Otherwise it returns false: s is to be raised. s must be expanded
// and not final.
func (b *bellman) greedy(s engine.StateID) (bool, error) {
	for n := b.nodes.At(s); n.act < n.actions; n.act++ {
		cost := b.cost(n, n.act)
		if cost > n.bound {
			continue
		}
		if value, err := b.worst(s, n.act, n.bound-cost); err != nil || cost+value <= n.bound {
			return err == nil, err
		}
	}
	return false, nil
}

// raise raises the bound of s, whose actions all have a larger value, to the least of these
// values, where actions that are not generated yet count as their cost.
func (b *bellman) raise(s engine.StateID) error {
	n := b.nodes.At(s)
	bound, act := b.ceiling, uint32(0)
	for pos := uint32(0); pos < n.actions && bound > n.bound+1; pos++ {
		value := b.cost(n, pos)
		if value <= n.bound {
			worst, err := b.worst(s, pos, b.ceiling)
			if err != nil {
				return err
			}
			value += worst
		}
		if value < bound {
			bound, act = value, pos
		}
	}
	if n.bound > 0 {
		b.counts.remove(n.bound)
	}
	if bound < b.ceiling {
		b.counts.add(bound)
	}
	n.bound, n.act = bound, act
	return nil
}

// update makes a Bellman update of s, which must be expanded and not final, and returns
// whether its bound rose. If not, the current action of s is greedy.
func (b *bellman) update(s engine.StateID) (rose bool, err error) {
	fine, err := b.greedy(s)
	if fine || err != nil {
		return false, err
	}
	return true, b.raise(s)
}
