package algorithms_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
)

// seedsVariable names an environment variable, FROM-TO, that replaces the seeds of
// TestDecidersAgreeWithFixpoint by FROM, …, TO−1: to do more, or to repeat one that failed.
const seedsVariable = "FUZZSAFE_SEEDS"

// All deciders find J* in every state of random systems, whatever they were asked before:
// each keeps its caches over all states of a system, once in each order.
func TestDecidersAgreeWithFixpoint(t *testing.T) {
	from, to := uint64(0), uint64(1000)
	if testing.Short() {
		to = 200
	}
	if text := os.Getenv(seedsVariable); text != "" {
		if _, err := fmt.Sscanf(text, "%d-%d", &from, &to); err != nil || from >= to {
			t.Fatalf("%s=%q: want FROM-TO", seedsVariable, text)
		}
	}
	start := time.Now()
	values := make(map[algorithms.Radius][]int)           // how often each value of J* occurs
	pairs := make(map[algorithms.Radius]map[string]int64) // by decider: pairs for the first query
	for _, r := range radii {
		values[r], pairs[r] = make([]int, ceiling(r)+1), make(map[string]int64)
	}
	checks := make(map[string]int64)
	for seed := from; seed < to; seed++ {
		rng := newRand(seed)
		cfg := enginetest.SmallConfig(rng)
		if seed%50 == 0 {
			cfg = largerConfig(rng)
		}
		sys := enginetest.Random(rng, cfg)
		for _, r := range radii {
			want := enginetest.Fixpoint(sys, int(r))
			for _, value := range want {
				values[r][value]++
			}
			for _, name := range algorithms.DeciderNames() {
				first, n, err := agree(t.Context(), sys, name, r, want)
				if err != nil {
					t.Fatalf("seed %d: %v (%s=%d-%d repeats it)", seed, err, seedsVariable, seed, seed+1)
				}
				pairs[r][name] += first
				checks[name] += n
			}
		}
	}
	total := int64(0)
	for _, n := range checks {
		total += n
	}
	t.Logf("%d systems, %d checks %v, %.1f s", to-from, total, checks, time.Since(start).Seconds())
	if to-from < 100 {
		return // too few for what follows
	}
	for _, r := range radii {
		if slices.Min(values[r]) < int(to-from)/100 {
			t.Errorf("radius %s: the random systems are too uniform: values of J occur %v times", r, values[r])
		}
		if p := pairs[r]; p["local"] > p["tarjan"] || p["tarjan"] > p["attractor"] {
			t.Errorf("radius %s: numbers of pairs %v, want local least and attractor most", r, p)
		}
	}
}

// largerConfig draws a Config for up to 200 states, sparse in what ends a run, so that
// greedy actions lead far and round in cycles.
func largerConfig(rng *rand.Rand) enginetest.Config {
	return enginetest.Config{
		States:     50 + rng.IntN(150),
		Actions:    1 + rng.IntN(5),
		Outcomes:   1 + rng.IntN(4),
		Unsafe:     []float64{0.005, 0.02, 0.1}[rng.IntN(3)],
		Goal:       []float64{0, 0.01, 0.05}[rng.IntN(3)],
		Terminal:   []float64{0, 0.01}[rng.IntN(2)],
		NoDecision: []float64{0, 0, 0.1}[rng.IntN(3)],
	}
}

// agree compares all answers of the named decider with want, which is J* capped at U. It
// returns the pairs for the first query and the number of answers compared.
func agree(ctx context.Context, sys *enginetest.System, name string, r algorithms.Radius, want []int,
) (first, checks int64, err error) {
	forward := make([]engine.StateID, len(want))
	for s := range forward {
		forward[s] = engine.StateID(s)
	}
	reverse := slices.Clone(forward)
	slices.Reverse(reverse)
	for _, order := range [][]engine.StateID{forward, reverse} {
		view := newStrict(sys)
		d, err := algorithms.NewDecider(name, view, r)
		if err != nil {
			return 0, 0, err
		}
		sys.ResetPairs()
		for i, s := range order {
			view.show(s)
			// The severity comes first in one order, so that its search is not spared.
			if order[0] != 0 {
				if err := agreeOnSeverity(ctx, sys, d, s, want[s]); err != nil {
					return 0, 0, err
				}
			}
			a, err := d.Decide(ctx, s)
			if err == nil {
				err = checkAnswer(name, r, a, want[s])
			}
			if err == nil {
				err = checkKnown(d, want)
			}
			if err == nil && d.Known(s) != a.Verdict {
				err = fmt.Errorf("%s, radius %s: state %d was decided but is not known", name, r, s)
			}
			if err == nil && i == 0 && order[0] == 0 {
				first = a.Pairs
			}
			if err == nil && order[0] == 0 {
				err = agreeOnSeverity(ctx, sys, d, s, want[s])
			}
			if n := d.Stats().Pairs; err == nil && n != int64(sys.Pairs) {
				err = fmt.Errorf("%s, radius %s: %d pairs counted, but %d generated", name, r, n, sys.Pairs)
			}
			if err != nil {
				return 0, 0, err
			}
			checks += 2
		}
	}
	return first, checks, nil
}

// agreeOnSeverity compares the severity of s with want, its value of J* capped at U.
func agreeOnSeverity(ctx context.Context, sys *enginetest.System, d algorithms.Decider, s engine.StateID, want int) error {
	got, err := d.Severity(ctx, s)
	if err != nil {
		return err
	}
	r := d.Radius()
	severity := algorithms.Severity{Kind: algorithms.SeverityExact, Least: algorithms.Radius(want)}
	switch {
	case r == algorithms.Infinite && want == 1:
		severity = algorithms.Severity{Kind: algorithms.SeverityNone}
	case r == algorithms.Infinite:
		severity = algorithms.Severity{}
	case want == ceiling(r):
		severity = algorithms.Severity{Kind: algorithms.SeverityAtLeast, Least: r + 1}
		// No finite value of J* reaches the number of states.
		if n := sys.NumStates(); got.Least == algorithms.Infinite && enginetest.Fixpoint(sys, n)[s] > n {
			severity.Least = algorithms.Infinite
		}
	}
	if got != severity {
		return fmt.Errorf("%s, radius %s, state %d: severity %d with %d, want %d with %d",
			d.Name(), r, s, got.Kind, got.Least, severity.Kind, severity.Least)
	}
	return nil
}
