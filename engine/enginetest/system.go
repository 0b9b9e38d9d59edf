// Package enginetest provides what tests of analyses compare themselves with: explicit
// little transition systems, a generator of random ones, and a naive fixpoint that is
// slow and obviously right.
package enginetest

import (
	"math/rand/v2"

	"fuzzsafe/engine"
)

// System is an explicit transition system with a policy under test. It has the methods
// of algorithms.System and is not safe for concurrent use.
type System struct {
	classes []engine.Class
	succ    [][][]engine.StateID // state, action, outcomes
	policy  []int                // number of an action, −1 for none
	first   []int                // number of a state's first (state, action) pair
	asked   []bool               // by number of pair

	// Pairs counts the distinct (state, action) pairs that Outcomes was asked for:
	// what an engine that caches outcomes would have generated.
	Pairs int
}

// New returns the system in which state s is of class classes[s], its applicable
// action a leads to succ[s][a], and the policy takes action policy[s] (−1 for none;
// ignored in a state without action). A nil policy decides nowhere. The slices are kept.
func New(classes []engine.Class, succ [][][]engine.StateID, policy []int) *System {
	sys := &System{classes: classes, succ: succ, policy: policy, first: make([]int, len(succ))}
	pairs := 0
	for s, actions := range succ {
		sys.first[s] = pairs
		pairs += len(actions)
	}
	sys.asked = make([]bool, pairs)
	return sys
}

// Class returns the class of s. It never fails, like all methods of System.
func (sys *System) Class(s engine.StateID) (engine.Class, error) { return sys.classes[s], nil }

// NumActions returns the number of actions that are applicable in s.
func (sys *System) NumActions(s engine.StateID) (int, error) { return len(sys.succ[s]), nil }

// Outcomes returns the outcomes of applicable action i of s and counts the pair once.
func (sys *System) Outcomes(s engine.StateID, i int) ([]engine.StateID, error) {
	if p := sys.first[s] + i; !sys.asked[p] {
		sys.asked[p] = true
		sys.Pairs++
	}
	return sys.succ[s][i], nil
}

// KnownDecision returns the decision in s: an explicit policy is always known.
func (sys *System) KnownDecision(s engine.StateID) int {
	if sys.policy == nil {
		return -1
	}
	return sys.policy[s]
}

// Decision returns the number of the action that the policy takes in s, or −1.
func (sys *System) Decision(s engine.StateID) (int, error) {
	if sys.policy == nil {
		return -1, nil
	}
	return sys.policy[s], nil
}

// NumStates returns the number of states; all are known from the start.
func (sys *System) NumStates() int { return len(sys.classes) }

// ResetPairs sets Pairs to zero, as if nothing had been asked for.
func (sys *System) ResetPairs() {
	clear(sys.asked)
	sys.Pairs = 0
}

// Permuted returns the system in which state s is called perm[s] and the actions of
// every state are shuffled; the policy takes the same actions as before.
func (sys *System) Permuted(rng *rand.Rand, perm []engine.StateID) *System {
	n := len(sys.classes)
	classes := make([]engine.Class, n)
	succ := make([][][]engine.StateID, n)
	policy := make([]int, n)
	for s := range n {
		t := perm[s]
		classes[t] = sys.classes[s]
		succ[t] = make([][]engine.StateID, len(sys.succ[s]))
		policy[t] = -1
		for to, from := range rng.Perm(len(sys.succ[s])) {
			if sys.policy != nil && sys.policy[s] == from {
				policy[t] = to
			}
			for _, o := range sys.succ[s][from] {
				succ[t][to] = append(succ[t][to], perm[o])
			}
		}
	}
	return New(classes, succ, policy)
}

// Config describes random systems. Densities are probabilities per state, tested in
// the order of the fields; a state that is none of these has at least one action.
type Config struct {
	States     int     // number of states, at least 1
	Actions    int     // largest number of actions per state, at least 1
	Outcomes   int     // largest number of outcomes per action, at least 1
	Unsafe     float64 // density of unsafe states
	Goal       float64 // density of goals
	Terminal   float64 // density of states without action
	NoDecision float64 // probability that the policy has no decision in a state
}

// SmallConfig draws a Config for 2 to 30 states with at most 4 actions of at most 3
// outcomes, and one of several densities of everything.
func SmallConfig(rng *rand.Rand) Config {
	oneOf := func(densities ...float64) float64 { return densities[rng.IntN(len(densities))] }
	return Config{
		States:     2 + rng.IntN(29),
		Actions:    1 + rng.IntN(4),
		Outcomes:   1 + rng.IntN(3),
		Unsafe:     oneOf(0.03, 0.1, 0.1, 0.25, 0.5),
		Goal:       oneOf(0, 0, 0.05, 0.2),
		Terminal:   oneOf(0, 0, 0.05, 0.2),
		NoDecision: oneOf(0, 0, 0, 0.2, 1),
	}
}

// Random draws a system. Goals and unsafe states have actions too, which no analysis
// should look at; outcomes are distinct and in random order.
func Random(rng *rand.Rand, cfg Config) *System {
	classes := make([]engine.Class, cfg.States)
	succ := make([][][]engine.StateID, cfg.States)
	policy := make([]int, cfg.States)
	for s := range cfg.States {
		classes[s] = engine.ClassOrdinary
		policy[s] = -1
		switch {
		case rng.Float64() < cfg.Unsafe:
			classes[s] = engine.ClassUnsafe
		case rng.Float64() < cfg.Goal:
			classes[s] = engine.ClassGoal
		case rng.Float64() < cfg.Terminal:
			continue
		}
		succ[s] = make([][]engine.StateID, 1+rng.IntN(cfg.Actions))
		for a := range succ[s] {
			succ[s][a] = randomOutcomes(rng, cfg)
		}
		if rng.Float64() >= cfg.NoDecision {
			policy[s] = rng.IntN(len(succ[s]))
		}
	}
	return New(classes, succ, policy)
}

func randomOutcomes(rng *rand.Rand, cfg Config) []engine.StateID {
	want := min(1+rng.IntN(cfg.Outcomes), cfg.States)
	outcomes := make([]engine.StateID, 0, want)
draw:
	for len(outcomes) < want {
		t := engine.StateID(rng.IntN(cfg.States))
		for _, o := range outcomes {
			if o == t {
				continue draw
			}
		}
		outcomes = append(outcomes, t)
	}
	return outcomes
}

// Ladder returns a system on which backtracking searches that forget are exponential:
// states 0..k and the unsafe state k+1. State i < k has the actions {i+1, unsafe} twice
// and {i+1}; state k has the one action {0}. The policy takes the first action. State 0
// is safe for radius ∞ only, if k > 0. There are 3k+1 pairs that matter.
func Ladder(k int) *System {
	bad := engine.StateID(k + 1)
	classes := make([]engine.Class, k+2)
	succ := make([][][]engine.StateID, k+2)
	for i := range k {
		next := engine.StateID(i + 1)
		classes[i] = engine.ClassOrdinary
		succ[i] = [][]engine.StateID{{next, bad}, {next, bad}, {next}}
	}
	classes[k] = engine.ClassOrdinary
	succ[k] = [][]engine.StateID{{0}}
	classes[bad] = engine.ClassUnsafe
	return New(classes, succ, make([]int, k+2))
}

// Chain returns states 0..n−1, each with the single action to the next one, which the
// policy takes; the last state has no action and is of class last.
func Chain(n int, last engine.Class) *System {
	classes := make([]engine.Class, n)
	succ := make([][][]engine.StateID, n)
	// Million-state chains are wanted: three allocations, not two million.
	actions := make([][]engine.StateID, n)
	targets := make([]engine.StateID, n)
	for i := range n - 1 {
		classes[i] = engine.ClassOrdinary
		targets[i] = engine.StateID(i + 1)
		actions[i] = targets[i : i+1]
		succ[i] = actions[i : i+1]
	}
	classes[n-1] = last
	return New(classes, succ, make([]int, n))
}

// Fixpoint returns J* of every state for radius r (negative: ∞), the least solution of
//
//	J(s) = U if s is unsafe, 0 if s is a goal or has no action, otherwise
//	       min over actions a of min(U, C(s,a) + max over outcomes t of J(t))
//
// with U = r+1 and C(s,a) = 1 except for the policy's action, or U = 1 and C = 0 for ∞,
// by sweeping over all states from J = 0 until nothing changes. State s is r-safe if
// and only if its value is at most r (∞: 0).
func Fixpoint(sys *System, r int) []int {
	u := r + 1
	if r < 0 {
		u = 1
	}
	j := make([]int, len(sys.classes))
	for changed := true; changed; {
		changed = false
		for s := range j {
			v := u
			switch {
			case sys.classes[s] == engine.ClassUnsafe:
			case sys.classes[s] == engine.ClassGoal, len(sys.succ[s]) == 0:
				v = 0
			default:
				for a, outcomes := range sys.succ[s] {
					worst := 0
					for _, t := range outcomes {
						worst = max(worst, j[t])
					}
					if r >= 0 && (sys.policy == nil || sys.policy[s] != a) {
						worst++
					}
					v = min(v, worst)
				}
			}
			if v != j[s] {
				j[s] = v
				changed = true
			}
		}
	}
	return j
}
