package algorithms_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
)

// checkProof checks a proof about an explicit system by the rules for its facts.
func checkProof(sys *enginetest.System, r algorithms.Radius, claims []algorithms.Claim, p algorithms.Proof) error {
	cost := func(s engine.StateID, a int) int {
		if policy, _ := sys.Decision(s); r == algorithms.Infinite || a == policy {
			return 0
		}
		return 1
	}
	bounds := map[engine.StateID]int{}
	facts := map[engine.StateID][]algorithms.UnsafeFact{}
	for _, f := range p.Safe {
		if _, twice := bounds[f.State]; twice || f.Bound < 0 || f.Bound >= ceiling(r) {
			return fmt.Errorf("%+v is out of range or a duplicate", f)
		}
		bounds[f.State] = f.Bound
	}
	for _, f := range p.Unsafe {
		if f.Value < 1 || f.Value > ceiling(r) || slices.Contains(facts[f.State], f) {
			return fmt.Errorf("%+v is out of range or a duplicate", f)
		}
		facts[f.State] = append(facts[f.State], f)
	}
	for _, f := range p.Safe {
		class, _ := sys.Class(f.State)
		n, _ := sys.NumActions(f.State)
		if class == engine.ClassUnsafe || (class == engine.ClassGoal || n == 0) != (f.Action < 0) {
			return fmt.Errorf("%+v in a state of class %d with %d actions", f, class, n)
		}
		if f.Action < 0 {
			continue
		}
		outcomes, _ := sys.Outcomes(f.State, f.Action)
		for _, t := range outcomes {
			if b, ok := bounds[t]; !ok || cost(f.State, f.Action)+b > f.Bound {
				return fmt.Errorf("%+v has the outcome %d, which is safe: %t, with bound %d", f, t, ok, b)
			}
		}
	}
	for _, f := range p.Unsafe {
		class, _ := sys.Class(f.State)
		n, _ := sys.NumActions(f.State)
		if class == engine.ClassUnsafe != (f.Rank == 0) || class == engine.ClassGoal || class == engine.ClassOrdinary && n == 0 {
			return fmt.Errorf("%+v in a state of class %d with %d actions", f, class, n)
		}
		for a := 0; a < n && class != engine.ClassUnsafe; a++ {
			need := f.Value - cost(f.State, a)
			outcomes, _ := sys.Outcomes(f.State, a)
			if need > 0 && !slices.ContainsFunc(outcomes, func(t engine.StateID) bool {
				return slices.ContainsFunc(facts[t], func(g algorithms.UnsafeFact) bool { return g.Value >= need && g.Rank < f.Rank })
			}) {
				return fmt.Errorf("%+v does not follow for action %d", f, a)
			}
		}
	}
	for _, c := range claims {
		_, safe := bounds[c.State]
		condemned := slices.ContainsFunc(facts[c.State], func(f algorithms.UnsafeFact) bool { return f.Value == ceiling(r) })
		if safe != (c.Verdict == algorithms.Safe) || condemned != (c.Verdict == algorithms.Unsafe) {
			return fmt.Errorf("%+v: among the safe facts: %t, among the unsafe ones: %t", c, safe, condemned)
		}
	}
	return nil
}

// allVerdicts claims what the naive fixpoint says.
func allVerdicts(sys *enginetest.System, r algorithms.Radius, states []int) (claims []algorithms.Claim) {
	j := enginetest.Fixpoint(sys, int(r))
	for _, s := range states {
		v := algorithms.Safe
		if j[s] == ceiling(r) {
			v = algorithms.Unsafe
		}
		claims = append(claims, algorithms.Claim{State: engine.StateID(s), Verdict: v})
	}
	return claims
}

// All verdicts on random systems can be proven, whatever the order of the queries, and no
// others: those are refused.
func TestProve(t *testing.T) {
	ctx := t.Context()
	n := uint64(5000)
	if testing.Short() {
		n = 500
	}
	intermediate, several := 0, 0
	for seed := range n {
		rng := newRand(seed)
		sys := enginetest.Random(rng, enginetest.SmallConfig(rng))
		for _, r := range radii {
			states := rng.Perm(sys.NumStates())
			if rng.IntN(2) == 0 {
				states = states[:min(3, len(states))]
			}
			claims := allVerdicts(sys, r, states)
			view := newStrict(sys)
			for _, s := range states {
				view.show(engine.StateID(s))
			}
			p, err := algorithms.Prove(ctx, view, r, append(claims, claims[0]))
			if err == nil {
				err = checkProof(sys, r, claims, p)
			}
			if err != nil {
				t.Fatalf("seed %d, radius %s: %v", seed, r, err)
			}
			seen := map[engine.StateID]bool{}
			for _, f := range p.Unsafe {
				if f.Value < ceiling(r) {
					intermediate++
				}
				if seen[f.State] {
					several++
				}
				seen[f.State] = true
			}
			wrong := rng.IntN(len(claims))
			claims[wrong].Verdict = algorithms.Safe + algorithms.Unsafe - claims[wrong].Verdict
			if rng.IntN(4) == 0 {
				claims[wrong].Verdict = algorithms.Unknown
			}
			var internal *algorithms.InternalError
			if p, err := algorithms.Prove(ctx, view, r, claims); !errors.As(err, &internal) || p.Safe != nil || p.Unsafe != nil {
				t.Fatalf("seed %d, radius %s: %v for the wrong claim %+v", seed, r, err, claims[wrong])
			}
		}
	}
	if intermediate < 1000 || several < 100 {
		t.Errorf("%d facts of intermediate value, %d further ones about a state: the systems are too uniform", intermediate, several)
	}
}

// Neither depth nor the length of chains of facts is a problem.
func TestProveDeep(t *testing.T) {
	const n = 200_000
	for _, c := range []struct {
		name         string
		sys          *enginetest.System
		r            algorithms.Radius
		verdict      algorithms.Verdict
		safe, unsafe int
	}{
		{"ladder", enginetest.Ladder(n), algorithms.Infinite, algorithms.Safe, n + 1, 0},
		{"ladder", enginetest.Ladder(n), 0, algorithms.Unsafe, 0, 2},
		{"safe chain", enginetest.Chain(n, engine.ClassGoal), 3, algorithms.Safe, n, 0},
		{"unsafe chain", enginetest.Chain(n, engine.ClassUnsafe), 3, algorithms.Unsafe, 0, n},
		{"unsafe chain", enginetest.Chain(n, engine.ClassUnsafe), algorithms.Infinite, algorithms.Unsafe, 0, n},
	} {
		claims := []algorithms.Claim{{State: 0, Verdict: c.verdict}}
		p, err := algorithms.Prove(t.Context(), c.sys, c.r, claims)
		if err == nil {
			err = checkProof(c.sys, c.r, claims, p)
		}
		if err != nil || len(p.Safe) != c.safe || len(p.Unsafe) != c.unsafe {
			t.Errorf("%s, radius %s: %d safe and %d unsafe facts, want %d and %d, error %v", c.name, c.r, len(p.Safe), len(p.Unsafe), c.safe, c.unsafe, err)
		}
	}
}

// An error of the system, at any call, and the end of the context are passed on.
func TestProveErrors(t *testing.T) {
	fault := errors.New("broken")
	failed := 0
	for seed := range uint64(60) {
		rng := newRand(seed)
		sys := enginetest.Random(rng, enginetest.SmallConfig(rng))
		for _, r := range radii {
			claims := allVerdicts(sys, r, rng.Perm(sys.NumStates()))
			for failAt := 1; ; failAt += 1 + failAt/8 {
				view := newStrict(sys)
				view.show(engine.StateID(sys.NumStates() - 1))
				view.failAt, view.failWith = failAt, fault
				p, err := algorithms.Prove(t.Context(), view, r, claims)
				if err == nil {
					if view.calls >= failAt {
						t.Fatalf("seed %d, radius %s: the error at call %d is lost", seed, r, failAt)
					}
					break
				}
				failed++
				if !errors.Is(err, fault) || p.Safe != nil || p.Unsafe != nil {
					t.Fatalf("seed %d, radius %s, call %d: %v", seed, r, failAt, err)
				}
			}
		}
	}
	if failed < 1000 {
		t.Errorf("only %d errors", failed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sys := enginetest.Chain(3, engine.ClassGoal)
	claims := []algorithms.Claim{{State: 0, Verdict: algorithms.Safe}}
	if _, err := algorithms.Prove(ctx, sys, 0, claims); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
	if _, err := algorithms.Prove(t.Context(), sys, -2, claims); err == nil {
		t.Error("the radius −2 is accepted")
	}
	claims[0].State = 3
	if _, err := algorithms.Prove(t.Context(), sys, 0, claims); err == nil {
		t.Error("a state that there is not is accepted")
	}
}
