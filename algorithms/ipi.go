package algorithms

import (
	"context"

	"fuzzsafe/engine"
)

// ipi decides r-safety by policy iteration that starts from the policy under test, after
// the idea of iPI (Schmalz & Jain, ICAPS 2026): an action is exchanged only where it is
// proven to be too bad.
//
// Every state has a lower bound of J*, at first 0, and a current action, at first the
// policy's. Together the current actions are the current policy; its graph are the states
// that the query reaches over them, without passing final ones. A state fails if C + max J
// over the outcomes of its current action exceeds its own bound, for ∞ if an outcome is
// proven not safe. One round
//   - evaluates the policy: explores all of its graph and collects the states that fail;
//   - improves it in all of these: a state moves on to the next action that does not fail.
//     After the last its bound is raised to the least value over all actions, and the
//     states of the graph that rely on the old bound fail in their turn, backwards until
//     nothing in the graph that has been explored fails any more.
//
// The next round explores what has been added, until a graph is closed and nothing in it
// fails. Then its bounds satisfy J ≥ C + max J, so they are no less than the least
// solution, and bounds never exceed it: every Bellman update of lower bounds is one. So
// they are J*, however cycles of cost 0 run.
//
// States that the policy has ceased to reach must not be improved. Those that no state of
// the graph relies on are dropped when they come up. Cycles that rely on themselves are not
// noticed that way; so the graph is walked from the query anew, after a round, when the walk
// has looked at twice as many outcomes as the one before. So the walks of a query together
// cost at most twice the last.
//
// Complexity: a pair is generated at most once. An action is given up at most once for every
// bound of its state, for the price of a scan of its outcomes. A list is run through when its
// outcome is raised, and may hold an edge once for every time that it was adopted: time
// O(U² · edges touched) over all queries together, for ∞ O(edges touched), and about
// O(U · edges touched) where edges are not often adopted in vain; memory O(states +
// U · edges of one walk). What an unfinished query has walked must be walked again; for that
// not to add up, a query that has met known states ends early only as one of local does.
//
// Deviations: this is written from a description of the idea, not from the pseudo-code.
//   - Finite radii and the bounds per state.
//   - Rounds do not evaluate from scratch, but what the last improvement has changed.
//   - The outcomes of an action that is seen to fail are not explored, though they are
//     part of the policy's graph. A state whose bound was raised is not improved again in
//     the same round: others may cease to rely on it.
//   - For ∞ the first action is the policy's only where it is known (see choices).
//
// Unlike local, which goes back to the last decision as soon as something fails, it
// explores the whole graph of a policy that has failed already.
type ipi struct {
	sys      System
	ceiling  uint32 // U
	infinite bool
	nodes    engine.PerState[ipiNode]
	counts   levels
	// finished tells, by number of walk, whether the walk ended with a closed graph. Walk 0
	// is never, walk 1 a fictitious one that reached the goals and terminal states.
	finished []bool

	// The rest is the current query and its current walk.
	query    engine.StateID
	first    uint32 // number of the query's first walk
	walk     uint32
	links    dependencies     // edges of the graph, in lists by outcome
	frontier []engine.StateID // reached, but to be evaluated; the next round's
	failing  []engine.StateID // evaluated and found to fail; to be improved in this round
	steps    int              // outcomes that this walk has looked at
	// Of the query: states met that an earlier one had expanded; states expanded and improved.
	repeated, progress int
}

type ipiNode struct {
	bound    uint32 // J*(s) ≥ bound
	act      uint32 // position of the current action; all before it have a value > bound
	tried    uint32 // positions before this one have been generated
	actions  uint32 // number of actions, if expanded
	policy   int32  // the policy's action or −1, if expanded
	walk     uint32 // last walk that reached the state and has not dropped it
	links    uint32 // head of the list of edges to this state, for that walk
	classed  bool   // class computed; bound is U if unsafe
	expanded bool   // actions computed
	failing  bool   // in the list of that name
}

// firstWalk is small, so that little systems, such as those of tests, take several walks too.
const firstWalk = 16

func newIPI(sys System, r Radius) solver {
	return &ipi{sys: sys, ceiling: r.ceiling(), infinite: r == Infinite, finished: []bool{false, true}}
}

func (d *ipi) known(s engine.StateID) (uint32, bool) {
	n := d.nodes.Peek(s)
	return n.bound, d.final(&n)
}

func (d *ipi) unbounded() bool { return d.counts.gap(d.ceiling - 1) }

// final returns whether the bound of n is J* for good.
func (d *ipi) final(n *ipiNode) bool { return n.bound >= d.ceiling || d.finished[n.walk] }

func (d *ipi) solve(ctx context.Context, s engine.StateID) (uint32, error) {
	if err := d.classify(s); err != nil {
		return 0, err
	}
	d.query, d.first, d.repeated, d.progress = s, uint32(len(d.finished)), 0, 0
	patience := patience{ctx: ctx}
	for limit := firstWalk; ; limit = 2 * d.steps {
		if value, ok := d.known(s); ok {
			return value, nil
		}
		if err := d.iterate(&patience, limit); err != nil {
			return 0, err
		}
	}
}

// iterate makes rounds on the graph of the query until it is closed, or the query is known
// not to be r-safe, or more than limit steps have been taken.
func (d *ipi) iterate(patience *patience, limit int) (err error) {
	d.walk = uint32(len(d.finished))
	d.finished = append(d.finished, false)
	d.links, d.steps = dependencies{}, 0
	d.reach(d.query)
	for err == nil && d.open() && (d.steps <= limit || d.nodes.At(d.query).bound >= d.ceiling) {
		if err = d.evaluate(patience); err == nil {
			err = d.improve(patience)
		}
	}
	d.finished[d.walk] = err == nil && len(d.frontier)+len(d.failing) == 0
	for _, s := range d.failing {
		d.nodes.At(s).failing = false
	}
	d.frontier, d.failing = d.frontier[:0], d.failing[:0]
	return err
}

// open returns whether the walk has something left to do that must be done.
func (d *ipi) open() bool {
	return len(d.frontier)+len(d.failing) > 0 &&
		(d.nodes.At(d.query).bound < d.ceiling || d.repeated > d.progress)
}

// evaluate explores the graph from the frontier on.
func (d *ipi) evaluate(patience *patience) error {
	for len(d.frontier) > 0 && d.open() {
		if err := patience.step(); err != nil {
			return err
		}
		s := d.frontier[len(d.frontier)-1]
		d.frontier = d.frontier[:len(d.frontier)-1]
		if !d.wanted(s) {
			continue
		}
		n := d.nodes.At(s)
		if !n.expanded {
			actions, policy, err := choices(d.sys, s, d.infinite)
			if err != nil {
				return err
			}
			d.progress++
			n.actions, n.policy, n.expanded = actions, policy, true
			if actions == 0 {
				n.walk = 1
				continue
			}
		}
		fine, err := d.adopt(s)
		if err != nil {
			return err
		}
		if !fine {
			d.fail(s)
		}
	}
	return nil
}

// improve exchanges the actions of the states that fail, and raises the bounds of those
// that have no better one, until none is left.
func (d *ipi) improve(patience *patience) error {
	for len(d.failing) > 0 && d.open() {
		if err := patience.step(); err != nil {
			return err
		}
		s := d.failing[len(d.failing)-1]
		d.failing = d.failing[:len(d.failing)-1]
		n := d.nodes.At(s)
		n.failing = false
		if !d.wanted(s) {
			continue
		}
		d.progress++
		fine := false
		for !fine && n.act < n.actions {
			var err error
			if fine, err = d.adopt(s); err != nil {
				return err
			}
		}
		if !fine {
			if err := d.raise(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// reach adds s to the graph.
func (d *ipi) reach(s engine.StateID) {
	n := d.nodes.At(s)
	if n.expanded && n.walk < d.first {
		d.repeated++
	}
	n.walk, n.links = d.walk, 0
	d.frontier = append(d.frontier, s)
}

// fail asks for an improvement of s.
func (d *ipi) fail(s engine.StateID) {
	if n := d.nodes.At(s); !n.failing {
		n.failing = true
		d.failing = append(d.failing, s)
	}
}

// wanted returns whether s is in the graph and its bound matters there. It drops s from the
// graph if nobody relies on it any more; those who adopt it later reach it again.
func (d *ipi) wanted(s engine.StateID) bool {
	n := d.nodes.At(s)
	if n.walk != d.walk || n.bound >= d.ceiling {
		return false
	}
	if s == d.query {
		return true
	}
	// An edge that has lost its meaning is not needed again: adopt adds a new one.
	for ; n.links != 0; n.links = d.links.at(n.links).next {
		if d.relies(d.links.at(n.links)) {
			return true
		}
	}
	n.walk = 0
	return false
}

// relies returns whether x is an edge of the current policy.
func (d *ipi) relies(x dependency) bool {
	from := d.nodes.At(x.from)
	return from.walk == d.walk && from.act == x.pos && from.bound < d.ceiling
}

// adopt returns whether the current action of s is good enough for its bound. If so it adds
// the outcomes to the graph, otherwise it moves on to the next action, if there is one: what
// has failed once need not be looked at again if s is dropped and reached anew.
func (d *ipi) adopt(s engine.StateID) (bool, error) {
	n := d.nodes.At(s)
	pos := n.act
	if pos == n.actions {
		return false, nil // dropped, or left by an error, before its bound was raised
	}
	cost := d.cost(n, pos)
	if cost > n.bound {
		n.act++
		return false, nil // its outcomes do not matter yet and need not be generated
	}
	outcomes, err := d.sys.Outcomes(s, actionAt(pos, n.policy))
	if err != nil {
		return false, err
	}
	fine := true
	for _, t := range outcomes {
		if err := d.classify(t); err != nil {
			return false, err
		}
		if d.nodes.At(t).bound > n.bound-cost {
			fine = false
			if d.infinite {
				break // the others cannot make it worse
			}
		}
	}
	d.steps += len(outcomes)
	n.tried = max(n.tried, pos+1)
	if !fine {
		n.act++
		return false, nil
	}
	for _, t := range outcomes {
		m := d.nodes.At(t)
		if d.final(m) || t == s {
			continue
		}
		if m.walk != d.walk {
			d.reach(t)
		}
		if m.links, err = d.links.add(dependency{s, pos, m.links}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// raise sets the bound of s, all of whose actions have been found to have a larger value,
// to the least of these values. The states that relied on the old one fail.
func (d *ipi) raise(s engine.StateID) error {
	n := d.nodes.At(s)
	bound, act := d.ceiling, uint32(0)
	for pos := uint32(0); pos < n.actions && !d.infinite; pos++ {
		value := uint32(0)
		if pos < n.tried { // others are not generated yet and cost what they cost alone
			outcomes, err := d.sys.Outcomes(s, actionAt(pos, n.policy))
			if err != nil {
				return err
			}
			d.steps += len(outcomes)
			for _, t := range outcomes {
				value = max(value, d.nodes.At(t).bound)
			}
		}
		if value += d.cost(n, pos); value < bound {
			bound, act = value, pos
		}
	}
	if n.bound > 0 {
		d.counts.remove(n.bound)
	}
	n.bound, n.act = bound, act
	if bound < d.ceiling {
		d.counts.add(bound)
		d.frontier = append(d.frontier, s)
	}
	// Those who adopt s again add a new edge: with the old ones the list would grow with the
	// bound, and a long climb would be cubic.
	links := n.links
	n.links = 0
	for links != 0 {
		x := d.links.at(links)
		links = x.next
		from := d.nodes.At(x.from)
		switch {
		case !d.relies(x):
		case bound+d.cost(from, x.pos) > from.bound:
			d.fail(x.from)
		default:
			var err error
			if n.links, err = d.links.add(dependency{x.from, x.pos, n.links}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *ipi) cost(n *ipiNode, pos uint32) uint32 {
	if d.infinite {
		return 0
	}
	return costAt(pos, n.policy)
}

// classify makes sure that s is in the table and its class is known.
func (d *ipi) classify(s engine.StateID) error {
	n := d.nodes.At(s)
	if n.classed {
		return nil
	}
	class, err := d.sys.Class(s)
	if err != nil {
		return err
	}
	switch class {
	case engine.ClassUnsafe:
		n.bound = d.ceiling
	case engine.ClassGoal:
		n.walk = 1
	}
	n.classed = true
	return nil
}
