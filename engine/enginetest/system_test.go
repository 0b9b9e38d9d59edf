package enginetest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fuzzsafe/engine"
)

const (
	ordinary = engine.ClassOrdinary
	goal     = engine.ClassGoal
	unsafe   = engine.ClassUnsafe
)

func TestFixpoint(t *testing.T) {
	// Worked out by hand. State 0: the policy's action is safe in a loop with 1. State 1:
	// so is its own. 2: one deviation leads to 3, which is terminal. 4: the policy leads
	// to 2. 5: a deviation in a loop, safe for ∞ only. 6 has an outcome that is not safe
	// whatever it does. 7 is unsafe though it could go on, 8 a goal though it could fail.
	// In 9 the policy has no decision.
	sys := New(
		[]engine.Class{ordinary, ordinary, ordinary, ordinary, ordinary, ordinary, ordinary, unsafe, goal, ordinary},
		[][][]engine.StateID{
			{{7}, {1}}, {{0}}, {{7}, {3}}, nil, {{2, 3}, {7}}, {{7}, {5}}, {{8, 7}, {7}}, {{8}}, {{7}}, {{8}},
		},
		[]int{1, 0, 0, -1, 0, 0, 0, 0, 0, -1})
	for _, test := range []struct {
		r    int
		want []int
	}{
		{-1, []int{0, 0, 0, 0, 0, 0, 1, 1, 0, 0}},
		{0, []int{0, 0, 1, 0, 1, 1, 1, 1, 0, 1}},
		{1, []int{0, 0, 1, 0, 1, 2, 2, 2, 0, 1}},
		{5, []int{0, 0, 1, 0, 1, 6, 6, 6, 0, 1}},
	} {
		if got := Fixpoint(sys, test.r); !slices.Equal(got, test.want) {
			t.Errorf("radius %d: J* is %v, want %v", test.r, got, test.want)
		}
	}
}

func TestFixpointOfFamilies(t *testing.T) {
	ladder := Ladder(4)
	for r, want := range map[int]int{-1: 0, 0: 1, 3: 4} {
		if got := Fixpoint(ladder, r)[0]; got != want {
			t.Errorf("ladder, radius %d: J*(0) is %d, want %d", r, got, want)
		}
	}
	for class, want := range map[engine.Class]int{unsafe: 1, goal: 0, ordinary: 0} {
		if got := Fixpoint(Chain(5, class), 0)[0]; got != want {
			t.Errorf("chain to class %d: J*(0) is %d, want %d", class, got, want)
		}
	}
}

func TestPairsCountsOnce(t *testing.T) {
	sys := Ladder(3)
	for range 2 {
		for _, i := range []int{0, 2, 0} {
			if _, err := sys.Outcomes(1, i); err != nil {
				t.Fatal(err)
			}
		}
		if sys.Pairs != 2 {
			t.Errorf("%d pairs, want 2", sys.Pairs)
		}
		sys.ResetPairs()
	}
}

func TestRandom(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		cfg := SmallConfig(rng)
		sys := Random(rng, cfg)
		if sys.NumStates() != cfg.States {
			t.Fatalf("seed %d: %d states, want %d", seed, sys.NumStates(), cfg.States)
		}
		for s, actions := range sys.succ {
			if len(actions) > cfg.Actions || sys.policy[s] < -1 || sys.policy[s] >= len(actions) {
				t.Fatalf("seed %d: state %d: decision %d of %d actions, want at most %d", seed, s, sys.policy[s], len(actions), cfg.Actions)
			}
			for a, outcomes := range actions {
				sorted := slices.Sorted(slices.Values(outcomes))
				if len(outcomes) == 0 || len(outcomes) > cfg.Outcomes || len(slices.Compact(sorted)) < len(outcomes) || int(slices.Max(outcomes)) >= cfg.States {
					t.Fatalf("seed %d: state %d, action %d: bad outcomes %v", seed, s, a, outcomes)
				}
			}
		}
		perm := make([]engine.StateID, cfg.States)
		for i, p := range rng.Perm(cfg.States) {
			perm[i] = engine.StateID(p)
		}
		before, after := Fixpoint(sys, 1), Fixpoint(sys.Permuted(rng, perm), 1)
		for s := range before {
			if before[s] != after[perm[s]] {
				t.Fatalf("seed %d: state %d: J* is %d, after renaming to %d it is %d", seed, s, before[s], perm[s], after[perm[s]])
			}
		}
	}
}
