package algorithms_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
)

// bellmanDeciders are those that iterate Bellman updates.
var bellmanDeciders = []string{"lrtdp", "lao", "vi"}

// wheel returns a system of n ≥ 2 hubs 0 … n−1 and n side states behind them, an unsafe
// state and a goal. The first action of a hub fails; the second, which the policy takes,
// leads to the hub itself, to its side state and to the next hub, all round. The policy
// fails in side states, where deviating leads to the goal. So J* is 1 for all hubs and side
// states, 0 for ∞, and cycles of cost 0 are everywhere.
func wheel(n int) *enginetest.System {
	bad, goal := engine.StateID(2*n), engine.StateID(2*n+1)
	classes := slices.Repeat([]engine.Class{engine.ClassOrdinary}, 2*n+2)
	classes[bad], classes[goal] = engine.ClassUnsafe, engine.ClassGoal
	succ := make([][][]engine.StateID, 2*n+2)
	policy := make([]int, 2*n+2)
	for i := range n {
		hub, side, next := engine.StateID(i), engine.StateID(n+i), engine.StateID((i+1)%n)
		succ[hub] = [][]engine.StateID{{next, bad}, {hub, side, next}}
		succ[side] = [][]engine.StateID{{bad}, {goal}}
		policy[hub] = 1
	}
	return enginetest.New(classes, succ, policy)
}

// Cycles of cost 0, long and short, cost time that is linear.
func TestBellmanOnWheel(t *testing.T) {
	for _, n := range []int{2, 3, 10} {
		for _, r := range radii {
			for s, j := range enginetest.Fixpoint(wheel(n), int(r))[:2*n] {
				if want := min(1, max(0, int(r)+1)); j != want {
					t.Fatalf("%d hubs, radius %s: J*(%d) is %d, want %d", n, r, s, j, want)
				}
			}
		}
	}
	const n = 200_000
	for _, r := range []algorithms.Radius{algorithms.Infinite, 1, 3} {
		for _, name := range bellmanDeciders {
			sys := newStrict(wheel(n))
			sys.show(0)
			d := newDecider(t, name, sys, r)
			a, err := d.Decide(t.Context(), 0)
			if err == nil {
				err = checkAnswer(name, r, a, min(1, max(0, int(r)+1)))
			}
			if err != nil {
				t.Fatal(err)
			}
			for s := range engine.StateID(n) {
				if d.Known(s) != algorithms.Safe {
					t.Fatalf("%s, radius %s: state %d is known to be %s", name, r, s, d.Known(s))
				}
			}
			if limit := 30 * 2 * n; sys.calls > limit {
				t.Errorf("%s, radius %s: %d calls, want at most %d", name, r, sys.calls, limit)
			}
		}
	}
}

// A system that fails at any call leaves bounds and labels that are right.
func TestBellmanAfterFailures(t *testing.T) {
	broken := errors.New("broken")
	failures := 0
	for seed := range uint64(200) {
		rng := newRand(seed)
		sys := enginetest.Random(rng, largerConfig(rng))
		for _, r := range []algorithms.Radius{algorithms.Infinite, 2} {
			want := enginetest.Fixpoint(sys, int(r))
			for _, name := range bellmanDeciders {
				view := newStrict(sys)
				view.failWith = broken
				d := newDecider(t, name, view, r)
				for _, q := range rng.Perm(len(want))[:3] {
					s := engine.StateID(q)
					view.show(s)
					for patience := 1 + rng.IntN(50); ; patience += patience/2 + 1 {
						view.calls, view.failAt = 0, patience
						a, err := d.Decide(t.Context(), s)
						if errors.Is(err, broken) {
							failures++
							err = checkKnown(d, want)
						} else if err == nil {
							err = checkAnswer(name, r, a, want[q])
						}
						if err != nil {
							t.Fatalf("seed %d: %v", seed, err)
						}
						if a.Verdict != algorithms.Unknown {
							break
						}
					}
				}
			}
		}
	}
	if failures < 1000 {
		t.Errorf("only %d failures", failures)
	}
}

// A context that ends at any time leaves bounds and labels that are right: those of a wheel
// whose hubs all have the value 1 must not be taken for 0, nor for 2.
func TestBellmanCancelled(t *testing.T) {
	const n = 20_000
	for _, name := range bellmanDeciders {
		view := newStrict(wheel(n))
		view.show(0)
		d := newDecider(t, name, view, 3)
		cancelled := 0
		for stop := 1; ; stop *= 2 {
			ctx, cancel := context.WithCancel(t.Context())
			view.calls = 0
			view.onCall = func() {
				if view.calls == stop {
					cancel()
				}
			}
			a, err := d.Decide(ctx, 0)
			cancel()
			if err == nil {
				if err := checkAnswer(name, 3, a, 1); err != nil {
					t.Error(err)
				}
				break
			}
			cancelled++
			if !errors.Is(err, context.Canceled) || a.Verdict != algorithms.Unknown {
				t.Fatalf("%s: verdict %s and error %v when cancelled", name, a.Verdict, err)
			}
		}
		if cancelled < 8 {
			t.Errorf("%s: cancelled %d times only", name, cancelled)
		}
		for _, s := range []engine.StateID{0, 1, n - 1, n, 2*n - 1} {
			v, err := d.Severity(t.Context(), s)
			if err != nil || v != (algorithms.Severity{Kind: algorithms.SeverityExact, Least: 1}) {
				t.Errorf("%s: severity of state %d is %+v, %v, want 1", name, s, v, err)
			}
		}
	}
}
