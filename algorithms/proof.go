package algorithms

import (
	"context"
	"fmt"

	"fuzzsafe/engine"
)

// This file makes evidence for verdicts that somebody else can check state by state: see
// package certificate for the rules. It runs the solver local on the same system, which
// computes J* exactly, and reads the evidence off its bounds, whichever decider the
// verdicts come from.
//
// Evidence that a state is r-safe are the bounds and current actions of local on the closure
// of the state under current actions. Local has closed it, so the bounds solve the
// inequalities there.
//
// Evidence that a state is not r-safe are facts (s, v), "J*(s) ≥ v without the cap U", in an
// order in which each follows from earlier ones: s is unsafe, or every action a of s with
// C(s,a) < v has an outcome t with an earlier fact (t, w), w ≥ v − C(s,a). Local does not
// keep that order, so it is found again by propagating values from the unsafe states to
// their predecessors; then only what the claimed states need is kept.
//
// That always succeeds. Let b(s) be the bounds when local has ended. Claim: all (s, v) with
// v ≤ b(s) follow from each other in some order. By induction over the raises of bounds in
// the order in which they took place. An unsafe state has every fact. Let raise set the
// bound of s from o to n > o, and let 0 < v ≤ n. For r = ∞ it is called when every action has
// been seen to have an outcome of bound 1, and bounds do not fall. For finite r, n is at most
// C(s,a) + the largest bound of the outcomes of a for every action a that was generated,
// and at most C(s,a) = 1 for the others. So for each a with C(s,a) < v, some outcome t had a
// bound ≥ v − C(s,a) before this raise, and (t, v − C(s,a)) follows by the induction
// hypothesis; if t is s itself, v − C(s,a) ≤ o. States that were dropped from a walk make
// no difference: their bounds were raised by the same rule. The propagation below looks at
// the states that the claimed ones reach over outcomes of positive bound, and of each at the
// actions with C(s,a) < b(s): no others were used above. It ends in the least fixpoint,
// which contains everything that follows.
//
// Time is O(U · edges touched), memory O(states + edges touched + raises).

// Claim is a verdict to be proven, Safe or Unsafe.
type Claim struct {
	State   engine.StateID
	Verdict Verdict
}

// Proof is evidence for claims: facts that can be checked one by one. Every claimed state
// has a SafeFact, or an UnsafeFact of value U.
type Proof struct {
	Safe   []SafeFact   // closed under the outcomes of the actions
	Unsafe []UnsafeFact // each follows from others of smaller rank
}

// SafeFact says that J*(State) ≤ Bound ≤ r (∞: 0), since Action, an applicable one, is good
// enough. Action is −1 in goals and terminal states.
type SafeFact struct {
	State  engine.StateID
	Action int
	Bound  int
}

// UnsafeFact says that J*(State) ≥ Value; from 1 to U. Rank is 0 for unsafe states only.
type UnsafeFact struct {
	State engine.StateID
	Value int
	Rank  int
}

// Prove returns evidence for the claims about sys with radius r. A claim that is not true is
// an *InternalError, and so is evidence that does not hold: there is never a wrong Proof.
// Other errors are those of sys and ctx.
func Prove(ctx context.Context, sys System, r Radius, claims []Claim) (Proof, error) {
	if r < Infinite || r > MaxRadius {
		return Proof{}, fmt.Errorf("radius %d: want a number from 0 to %d, or inf", int(r), MaxRadius)
	}
	d := newLocal(sys, r).(*local)
	p := &prover{local: d, patience: patience{ctx: ctx}}
	for _, c := range claims {
		if int64(c.State) >= int64(sys.NumStates()) {
			return Proof{}, fmt.Errorf("proof: there is no state %d", c.State)
		}
		value, err := d.solve(ctx, c.State)
		if err != nil {
			return Proof{}, fmt.Errorf("proof: state %d: %w", c.State, err)
		}
		found := Safe
		if value == d.ceiling {
			found = Unsafe
		}
		if found != c.Verdict {
			return Proof{}, broken("state %d was found %s for radius %s, but to prove it, it is %s", c.State, c.Verdict, r, found)
		}
	}
	if err := p.safe(claims); err != nil {
		return Proof{}, err
	}
	if err := p.unsafe(claims); err != nil {
		return Proof{}, err
	}
	return p.proof, nil
}

func broken(format string, args ...any) error {
	return &InternalError{fmt.Errorf("proof: "+format, args...)}
}

// prover reads the evidence off a local solver.
type prover struct {
	*local
	patience patience
	proof    Proof
	listed   engine.PerState[bool] // in proof.Safe, or about to be

	// The states to derive facts for. numbers holds their positions in states, from 1 on.
	numbers engine.PerState[uint32]
	states  []derivedState
	raised  []uint32 // work of derive: states whose value was raised
	events  int      // ranks given so far
}

// derivedState is a state for which facts are derived.
type derivedState struct {
	state   engine.StateID
	value   uint32        // of the last fact
	missing uint32        // actions that allow no higher value yet
	best    []uint32      // per position of an action: the largest value of an outcome so far
	facts   []derivedFact // values and ranks ascend
	users   []actionRef   // whose outcome the state is
}

// derivedFact is a fact with its place in the order of derivation.
type derivedFact struct {
	value  uint32
	rank   int
	needed bool
}

// actionRef is the action at a position of a state with this number.
type actionRef struct {
	number, pos uint32
}

// safe lists the closure of the states that are claimed to be safe and checks it.
func (p *prover) safe(claims []Claim) error {
	var open []engine.StateID
	add := func(s engine.StateID) {
		if listed := p.listed.At(s); !*listed {
			*listed = true
			open = append(open, s)
		}
	}
	for _, c := range claims {
		if c.Verdict == Safe {
			add(c.State)
		}
	}
	for len(open) > 0 {
		if err := p.patience.step(); err != nil {
			return err
		}
		s := open[len(open)-1]
		open = open[:len(open)-1]
		n := p.nodes.At(s)
		fact := SafeFact{s, -1, int(n.bound)}
		class, err := p.sys.Class(s)
		switch {
		case err != nil:
			return err
		case class == engine.ClassUnsafe || n.bound >= p.ceiling || class != engine.ClassGoal && n.stage != localExpanded:
			return broken("state %d is in a set of safe states and has not been found safe", s)
		}
		if class != engine.ClassGoal && n.actions > 0 {
			fact.Action = actionAt(n.act, n.policy)
			outcomes, err := p.sys.Outcomes(s, fact.Action)
			if err != nil {
				return err
			}
			for _, t := range outcomes {
				if p.nodes.At(t).bound+p.cost(n, n.act) > n.bound {
					return broken("the bound %d of state %d is too small for its action %d", n.bound, s, fact.Action)
				}
				add(t)
			}
		}
		p.proof.Safe = append(p.proof.Safe, fact)
	}
	return nil
}

// unsafe derives the facts for the states that are claimed not to be safe.
func (p *prover) unsafe(claims []Claim) error {
	for _, c := range claims {
		if c.Verdict == Unsafe {
			p.number(c.State)
		}
	}
	for i := 0; i < len(p.states); i++ { // grows meanwhile
		if err := p.connect(uint32(i)); err != nil {
			return err
		}
	}
	if err := p.derive(); err != nil {
		return err
	}
	return p.prune(claims)
}

// number returns the position of s in p.states.
func (p *prover) number(s engine.StateID) uint32 {
	n := p.numbers.At(s)
	if *n == 0 {
		p.states = append(p.states, derivedState{state: s})
		*n = uint32(len(p.states))
	}
	return *n - 1
}

// connect notes state i with the outcomes that can raise its value; unsafe states get their
// fact.
func (p *prover) connect(i uint32) error {
	if err := p.patience.step(); err != nil {
		return err
	}
	s := p.states[i].state
	class, err := p.sys.Class(s)
	if err != nil {
		return err
	}
	if class == engine.ClassUnsafe {
		p.states[i].value, p.states[i].facts = p.ceiling, []derivedFact{{value: p.ceiling}}
		p.raised = append(p.raised, i)
		return nil
	}
	n := p.nodes.At(s)
	if class != engine.ClassOrdinary || n.stage != localExpanded || n.actions == 0 {
		return broken("state %d has the bound %d without reason", s, n.bound)
	}
	p.states[i].best = make([]uint32, n.actions)
	for pos := range n.actions {
		cost := p.cost(n, pos)
		p.states[i].missing += 1 - cost // those that allow only the value 0
		if cost >= n.bound {
			continue
		}
		outcomes, err := p.sys.Outcomes(s, actionAt(pos, n.policy))
		if err != nil {
			return err
		}
		for _, t := range outcomes {
			if p.nodes.At(t).bound > 0 {
				k := p.number(t)
				p.states[k].users = append(p.states[k].users, actionRef{i, pos})
			}
		}
	}
	if p.states[i].missing == 0 {
		p.raise(i)
	}
	return nil
}

// allows returns the largest value of state i that its action at position pos allows.
func (p *prover) allows(i, pos uint32) uint32 {
	x := &p.states[i]
	return x.best[pos] + p.cost(p.nodes.At(x.state), pos)
}

// raise gives state i the largest value that all its actions allow.
func (p *prover) raise(i uint32) {
	x := &p.states[i]
	value := p.ceiling
	for pos := range x.best {
		value = min(value, p.allows(i, uint32(pos)))
	}
	p.events++
	x.value, x.missing = value, 0
	x.facts = append(x.facts, derivedFact{value: value, rank: p.events})
	for pos := range x.best {
		if p.allows(i, uint32(pos)) == value {
			x.missing++
		}
	}
	p.raised = append(p.raised, i)
}

// derive propagates values until nothing changes.
func (p *prover) derive() error {
	for len(p.raised) > 0 {
		if err := p.patience.step(); err != nil {
			return err
		}
		from := p.raised[len(p.raised)-1]
		p.raised = p.raised[:len(p.raised)-1]
		value := p.states[from].value
		for _, user := range p.states[from].users {
			x := &p.states[user.number]
			if x.best[user.pos] >= value || x.value == p.ceiling {
				continue
			}
			before := p.allows(user.number, user.pos)
			x.best[user.pos] = value
			if before > x.value || p.allows(user.number, user.pos) <= x.value {
				continue
			}
			if x.missing--; x.missing == 0 {
				p.raise(user.number)
			}
		}
	}
	return nil
}

// prune lists the facts that the claimed states need. It follows the rule by which they are
// checked, so no fact is listed without what it rests on.
func (p *prover) prune(claims []Claim) error {
	var open []actionRef // pos is the position of a fact
	need := func(i uint32, k int) {
		if f := &p.states[i].facts[k]; !f.needed {
			f.needed = true
			open = append(open, actionRef{i, uint32(k)})
		}
	}
	for _, c := range claims {
		if c.Verdict != Unsafe {
			continue
		}
		i := p.number(c.State)
		if p.states[i].value != p.ceiling {
			return broken("state %d is not safe, but only the value %d of %d can be derived for it", c.State, p.states[i].value, p.ceiling)
		}
		need(i, len(p.states[i].facts)-1)
	}
	for len(open) > 0 {
		if err := p.patience.step(); err != nil {
			return err
		}
		top := open[len(open)-1]
		open = open[:len(open)-1]
		s, best, fact := p.states[top.number].state, p.states[top.number].best, p.states[top.number].facts[top.pos]
		p.proof.Unsafe = append(p.proof.Unsafe, UnsafeFact{s, int(fact.value), fact.rank})
		n := p.nodes.At(s)
		for pos := range best {
			cost := p.cost(n, uint32(pos))
			if cost >= fact.value {
				continue
			}
			outcomes, err := p.sys.Outcomes(s, actionAt(uint32(pos), n.policy))
			if err != nil {
				return err
			}
			reason, k := p.reason(outcomes, fact.value-cost, fact.rank)
			if k < 0 {
				return broken("the value %d of state %d does not follow for its action %d", fact.value, s, actionAt(uint32(pos), n.policy))
			}
			need(reason, k)
		}
	}
	return nil
}

// reason returns a fact about one of the outcomes, as state number and position, that has at
// least the given value and a rank below before: one that is needed already, else the one
// of least rank. The position is −1 if there is none.
func (p *prover) reason(outcomes []engine.StateID, value uint32, before int) (number uint32, pos int) {
	pos = -1
	for _, t := range outcomes {
		if p.numbers.Peek(t) == 0 {
			continue
		}
		i := p.number(t)
		for k, f := range p.states[i].facts {
			if f.rank >= before {
				break
			}
			if f.value < value {
				continue
			}
			if f.needed {
				return i, k
			}
			if pos < 0 || f.rank < p.states[number].facts[pos].rank {
				number, pos = i, k
			}
		}
	}
	return number, pos
}
