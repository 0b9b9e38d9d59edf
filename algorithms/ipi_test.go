package algorithms_test

import (
	"slices"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
)

// logging is a System that notes which actions are asked for.
type logging struct {
	*enginetest.System
	asked map[engine.StateID][]int
}

func (sys *logging) Outcomes(s engine.StateID, i int) ([]engine.StateID, error) {
	sys.asked[s] = append(sys.asked[s], i)
	return sys.System.Outcomes(s, i)
}

// An action is tried only where the policy's, for ∞ also every other one before it, is too
// bad: it has an outcome that is not safe, for a finite radius with no deviation left.
func TestIPIExchangesOnlyWhatIsProven(t *testing.T) {
	exchanged := 0
	for seed := range uint64(1000) {
		rng := newRand(seed)
		cfg := enginetest.SmallConfig(rng)
		cfg.NoDecision = 0
		sys := &logging{System: enginetest.Random(rng, cfg)}
		for _, r := range radii {
			want := enginetest.Fixpoint(sys.System, int(r))
			d := newDecider(t, "ipi", sys, r)
			sys.asked = make(map[engine.StateID][]int)
			for _, q := range rng.Perm(len(want)) {
				if _, err := d.Decide(t.Context(), engine.StateID(q)); err != nil {
					t.Fatal(err)
				}
			}
			for s, asked := range sys.asked {
				policy, _ := sys.Decision(s)
				if r == 0 && slices.ContainsFunc(asked, func(i int) bool { return i != policy }) {
					t.Fatalf("seed %d: actions %v of state %d were asked for, but the policy's is %d", seed, asked, s, policy)
				}
				for i := range slices.Max(asked) + 1 {
					first, last := i == policy, !slices.ContainsFunc(asked, func(j int) bool { return j > i && j != policy })
					if !slices.Contains(asked, i) && (first || !last && r == algorithms.Infinite) {
						t.Fatalf("seed %d, radius %s: actions %v of state %d were asked for, but not %d", seed, r, asked, s, i)
					}
					if first && len(slices.Compact(slices.Sorted(slices.Values(asked)))) == 1 || !first && (last || r != algorithms.Infinite) {
						continue
					}
					exchanged++
					outcomes, _ := sys.System.Outcomes(s, i)
					if !slices.ContainsFunc(outcomes, func(t engine.StateID) bool { return want[t] > 0 }) {
						t.Fatalf("seed %d, radius %s: actions %v of state %d were asked for, but %d leads to %v with %v",
							seed, r, asked, s, i, outcomes, want)
					}
				}
			}
		}
	}
	if exchanged < 5000 {
		t.Errorf("only %d actions were exchanged", exchanged)
	}
}

// Once the query 0 goes home, there is no need to improve 2, though its first action has
// been proven to fail in the same round as 1, the reason for going home.
func TestIPIDropsWhatNobodyReliesOn(t *testing.T) {
	const home, bad = 5, 6
	classes := slices.Repeat([]engine.Class{engine.ClassOrdinary}, bad+1)
	classes[home], classes[bad] = engine.ClassGoal, engine.ClassUnsafe
	sys := enginetest.New(classes, [][][]engine.StateID{
		{{1, 2}, {home}}, {{3}}, {{4}, {home}}, {{bad}}, {{bad}}, nil, nil,
	}, make([]int, bad+1))
	a, err := newDecider(t, "ipi", sys, algorithms.Infinite).Decide(t.Context(), 0)
	if err != nil || a.Verdict != algorithms.Safe || a.Pairs != 6 {
		t.Errorf("%+v, %v, want safe after 6 pairs", a, err)
	}
}

// A graph that the policy has left is not improved any further, though its states rely on
// each other: the query 0 can go into the cycle of 1 and 2, at the risk of 3, or home. State
// 1 also leads to a ladder, where every round gets one step further.
func TestIPIForgetsWhatPolicyHasLeft(t *testing.T) {
	const n = 10_000
	const home, bad, ladder = 4, 5, 6
	classes := slices.Repeat([]engine.Class{engine.ClassOrdinary}, ladder+n+1)
	classes[home], classes[bad], classes[ladder+n] = engine.ClassGoal, engine.ClassUnsafe, engine.ClassGoal
	succ := make([][][]engine.StateID, len(classes))
	succ[0] = [][]engine.StateID{{1, 3}, {home}}
	succ[1] = [][]engine.StateID{{2, ladder}}
	succ[2] = [][]engine.StateID{{1}}
	succ[3] = [][]engine.StateID{{bad}}
	for i := range engine.StateID(n) {
		succ[ladder+i] = [][]engine.StateID{{ladder + i + 1, bad}, {ladder + i + 1}}
	}
	sys := enginetest.New(classes, succ, make([]int, len(classes)))
	for _, query := range []engine.StateID{0, 1} {
		a, err := newDecider(t, "ipi", sys, algorithms.Infinite).Decide(t.Context(), query)
		if err != nil || a.Verdict != algorithms.Safe {
			t.Fatalf("state %d: %+v, %v", query, a, err)
		}
		if (a.Pairs >= n) != (query == 1) {
			t.Errorf("state %d: %d pairs, want few for 0 and more than %d for 1", query, a.Pairs, n)
		}
	}
}

// Many rounds are no more work than few: state i of a stair can fall to a state that fails
// when it is evaluated, or climb to the next state, which a later round evaluates.
func TestIPIIsLinearInRounds(t *testing.T) {
	const n = 20_000
	const fall, bad = n + 1, 2*n + 1
	classes := slices.Repeat([]engine.Class{engine.ClassOrdinary}, bad+1)
	classes[n], classes[bad] = engine.ClassGoal, engine.ClassUnsafe
	succ := make([][][]engine.StateID, len(classes))
	for i := range engine.StateID(n) {
		succ[i] = [][]engine.StateID{{fall + i, i + 1}, {i + 1}}
		succ[fall+i] = [][]engine.StateID{{bad}}
	}
	for i := range engine.StateID(n) {
		if i%3 == 0 {
			succ[i][0] = []engine.StateID{fall + i}
		}
	}
	sys := newStrict(enginetest.New(classes, succ, make([]int, len(classes))))
	sys.show(bad)
	a, err := newDecider(t, "ipi", sys, algorithms.Infinite).Decide(t.Context(), 0)
	if err != nil || a.Verdict != algorithms.Safe {
		t.Fatalf("%+v, %v", a, err)
	}
	if limit := 10 * len(classes); sys.calls > limit {
		t.Errorf("%d calls on a system of %d states, want at most %d", sys.calls, len(classes), limit)
	}
}
