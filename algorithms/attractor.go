package algorithms

import (
	"context"
	"math"

	"fuzzsafe/engine"
)

// attractor decides r-safety by a backward fixpoint over the states that are reachable
// from the query without passing unsafe states or goals: for ∞ the attractor of the unsafe
// states, the set from which they cannot be avoided, with a counter of open actions per
// state, as in the linear-time evaluation of AND/OR graphs and Horn clauses (Dowling &
// Gallier 1984; "Prop-U" in Schmalz & Jain, ICAPS 2026).
//
// For finite r it computes the sets N_v = {s : J*(s) ≥ v} for v = 1, …, U, where N_0 is
// every state: s is in N_v if J*(s) is known to be ≥ v, or if the policy's action has an
// outcome in N_v and every other action has one in N_{v−1}. N_v is an attractor over the
// policy's actions alone, and the other actions are followed by counting, once for all v,
// the outcomes that are still in N. A state has value v−1 if it is in N_{v−1} but not in
// N_v. Equal successive sets stay equal, except that a state whose value is known from an
// earlier query leaves when its time has come, so there are not many more rounds than values.
//
// The region is explored in rounds, each four times as large as the one before. States
// that are reached by first choices come first, where the first choice of a state is its
// first action without an outcome that is known to be unsafe. After a round that has not
// reached everything, the fixpoint is computed twice: with the states that are not
// expanded yet taken to be safe, and taken to be unsafe. These are a lower and an upper
// bound of J*, and where they meet the value is final. So a query whose answer depends on
// its surroundings only ends early.
//
// Complexity: time O(edges + U · (states + edges of policy actions)) and memory O(edges),
// for the states that the query is the first to reach; the rounds together cost a small
// multiple of the last. Final values are kept: later queries treat them as a border.
//
// Deviations: the finite radii and the rounds are ours; the plain algorithm explores
// everything first, which is out of the question for most models.
type attractor struct {
	sys      System
	ceiling  uint32 // U
	infinite bool
	values   []uint32 // by state: J*, or noValue
	counts   levels
	partial  bool // some state that was reached has no final value yet

	// The rest is the region that a query explores; it is reset by the next one.
	slots   []uint32 // by state: index of its vertex, if vertices[slots[s]].state is s
	region  []vertex
	border  int      // open vertices of the region that are not expanded
	reached []uint32 // scratch: outcomes of an action
	pairs   []pairNode
	edges   []inEdge // arena of linked lists; entry 0 is not used
}

const noValue = ^uint32(0)

// vertex is a state of the region: either open, or fixed with a known value.
type vertex struct {
	state    engine.StateID
	value    uint32 // noValue if open
	expanded bool   // its actions are in pairs; open vertices that are not are the border
	in       uint32 // head of the list of edges to this state
	level    uint32 // largest v such that the state is in N_v, as far as it has come
	free     uint32 // number of actions of cost 0
	round    uint32 // v for which unhit holds
	unhit    uint32 // number of actions of cost 0 without outcome in N_v so far
	out      bool   // an action of cost 1 has no outcome in the previous N: not in the next
}

// pairNode is an action of an open state.
type pairNode struct {
	from    uint32 // index of the vertex
	costs   bool   // C = 1
	size    uint32 // number of outcomes
	round   uint32 // cost 0: largest v for which an outcome is known to be in N_v
	outside uint32 // cost 1: number of outcomes that are still in the latest complete N
}

type inEdge struct {
	pair uint32
	next uint32
}

func newAttractor(sys System, r Radius) solver {
	return &attractor{sys: sys, ceiling: r.ceiling(), infinite: r == Infinite}
}

func (d *attractor) known(s engine.StateID) (uint32, bool) {
	if int(s) >= len(d.values) || d.values[s] == noValue {
		return 0, false
	}
	return d.values[s], true
}

// unbounded: a gap proves nothing as long as values are missing.
func (d *attractor) unbounded() bool { return !d.partial && d.counts.gap(d.ceiling-1) }

func (d *attractor) solve(ctx context.Context, s engine.StateID) (uint32, error) {
	if value, ok := d.known(s); ok {
		return value, nil
	}
	patience := patience{ctx: ctx}
	for round := firstRound; ; round *= 4 {
		if err := d.explore(&patience, s, round); err != nil {
			return 0, err
		}
		low, err := d.bounds(&patience, 0)
		if err != nil {
			return 0, err
		}
		high := low
		if d.border > 0 {
			if high, err = d.bounds(&patience, d.ceiling); err != nil {
				return 0, err
			}
		}
		for i, x := range d.region {
			if (x.expanded || x.value != noValue) && d.values[x.state] == noValue && low[i] == high[i] {
				d.values[x.state] = low[i]
				d.partial = d.partial || d.border > 0 // what is behind the border may never be met again
				if 0 < low[i] && low[i] < d.ceiling {
					d.counts.add(low[i])
				}
			}
		}
		if value, ok := d.known(s); ok {
			return value, nil
		}
	}
}

// firstRound is small, so that little systems, such as those of tests, take several
// rounds too.
const firstRound = 16

// bounds returns the values of all vertices for the case that those of the border have the
// given value.
func (d *attractor) bounds(patience *patience, border uint32) ([]uint32, error) {
	for i := range d.pairs {
		p := &d.pairs[i]
		p.round, p.outside = 0, p.size
	}
	var open []uint32
	for i := range d.region {
		x := &d.region[i]
		x.level, x.round, x.unhit, x.out = 0, 0, 0, false
		if x.value == noValue {
			open = append(open, uint32(i))
			if !x.expanded {
				x.value = border
			}
		}
	}
	err := d.propagate(patience)
	values := make([]uint32, len(d.region))
	for i := range values {
		values[i] = d.region[i].value
	}
	for _, i := range open {
		d.region[i].value = noValue
	}
	return values, err
}

// explore builds the region of s, expanding at most limit states.
func (d *attractor) explore(patience *patience, s engine.StateID, limit int) error {
	d.region, d.pairs, d.edges, d.border = d.region[:0], d.pairs[:0], append(d.edges[:0], inEdge{}), 0
	if _, err := d.vertex(s); err != nil {
		return err
	}
	// Vertices reached by first choices since the last other one, and those by others.
	now, later := []uint32{0}, []uint32(nil)
	for d.border > 0 && limit > 0 {
		if len(now) == 0 {
			now, later = later, nil
		}
		i := now[0]
		now = now[1:]
		if x := &d.region[i]; x.value != noValue || x.expanded {
			continue
		}
		if err := patience.step(); err != nil {
			return err
		}
		limit--
		var err error
		if now, later, err = d.expand(i, now, later); err != nil {
			return err
		}
	}
	return nil
}

// expand adds the actions of open vertex i to the region. It appends the outcomes of the
// first choice to now and those of the others to later.
func (d *attractor) expand(i uint32, now, later []uint32) (_, _ []uint32, err error) {
	state := d.region[i].state
	actions, policy, err := choices(d.sys, state, d.infinite)
	if err != nil {
		return now, later, err
	}
	d.border--
	x := &d.region[i]
	x.expanded = true
	if actions == 0 {
		x.value = 0
		return now, later, nil
	}
	x.free = actions
	if !d.infinite {
		x.free = 1 - costAt(0, policy)
	}
	chosen := false
	for pos := range actions {
		a := actionAt(pos, policy)
		outcomes, err := d.sys.Outcomes(state, a)
		if err != nil {
			return now, later, err
		}
		unsafe := false
		d.reached = d.reached[:0]
		for _, t := range outcomes {
			to, err := d.vertex(t)
			if err != nil {
				return now, later, err
			}
			d.reached = append(d.reached, to)
			unsafe = unsafe || d.region[to].value == d.ceiling
		}
		if uint64(len(d.edges)+len(outcomes)) > math.MaxUint32 {
			return now, later, errTooManyEdges
		}
		d.pairs = append(d.pairs, pairNode{from: i, costs: !d.infinite && a != int(policy), size: uint32(len(outcomes))})
		for _, to := range d.reached {
			y := &d.region[to]
			d.edges = append(d.edges, inEdge{uint32(len(d.pairs) - 1), y.in})
			y.in = uint32(len(d.edges) - 1)
		}
		if !chosen && !unsafe {
			chosen = true
			now = append(now, d.reached...)
		} else {
			later = append(later, d.reached...)
		}
	}
	return now, later, nil
}

// vertex returns the index of the vertex of s, which it appends if there is none.
func (d *attractor) vertex(s engine.StateID) (uint32, error) {
	if int(s) >= len(d.slots) {
		d.slots = grow(d.slots, d.sys.NumStates(), 0)
		d.values = grow(d.values, d.sys.NumStates(), noValue)
	}
	if i := d.slots[s]; int(i) < len(d.region) && d.region[i].state == s {
		return i, nil
	}
	value := d.values[s]
	if value == noValue {
		class, err := d.sys.Class(s)
		if err != nil {
			return 0, err
		}
		switch class {
		case engine.ClassUnsafe:
			value = d.ceiling
		case engine.ClassGoal:
			value = 0
		}
	}
	i := uint32(len(d.region))
	d.slots[s] = i
	d.region = append(d.region, vertex{state: s, value: value})
	if value == noValue {
		d.border++
	}
	return i, nil
}

// propagate computes the values of all open vertices of the region.
func (d *attractor) propagate(patience *patience) error {
	previous := make([]uint32, len(d.region)) // N_{v−1}
	last := uint32(0)                         // the largest known value below U
	for i := range previous {
		previous[i] = uint32(i)
		if value := d.region[i].value; value < d.ceiling {
			last = max(last, value)
		}
	}
	var next []uint32 // N_v; also the queue of the backward search
	for v := uint32(1); v <= d.ceiling; v++ {
		next = next[:0]
		enter := func(i uint32) {
			d.region[i].level = v
			next = append(next, i)
		}
		for _, i := range previous {
			x := &d.region[i]
			if x.value != noValue && x.value >= v || x.value == noValue && x.free == 0 && !x.out {
				enter(i)
			}
		}
		for done := 0; done < len(next); done++ {
			if err := patience.step(); err != nil {
				return err
			}
			for e := d.region[next[done]].in; e != 0; e = d.edges[e].next {
				p := &d.pairs[d.edges[e].pair]
				x := &d.region[p.from]
				if p.costs || p.round == v || x.level != v-1 || x.out {
					continue
				}
				p.round = v
				if x.round != v {
					x.round, x.unhit = v, x.free
				}
				if x.unhit--; x.unhit == 0 {
					enter(p.from)
				}
			}
		}
		if len(next) == len(previous) && v > last {
			break // all further sets are the same
		}
		for _, i := range previous {
			x := &d.region[i]
			if x.level == v {
				continue
			}
			if x.value == noValue {
				x.value = v - 1
			}
			for e := x.in; e != 0; e = d.edges[e].next {
				p := &d.pairs[d.edges[e].pair]
				if p.outside--; p.costs && p.outside == 0 {
					d.region[p.from].out = true
				}
			}
		}
		previous, next = next, previous
	}
	for _, i := range previous {
		if x := &d.region[i]; x.value == noValue {
			x.value = d.ceiling
		}
	}
	return nil
}
