package algorithms_test

import (
	"slices"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
)

// Where TarjanSafe never has to take back an assumption, because no state fails but by
// outcomes that are unsafe themselves, local generates no pair more. From radius 2 on that
// holds with few exceptions: tarjan is content with any value up to the radius, while local
// finds out the least.
func TestLocalAsFrugalAsTarjan(t *testing.T) {
	compared, fewer, more := map[algorithms.Radius]int{}, 0, 0
	for seed := range uint64(3000) {
		rng := newRand(seed)
		cfg := enginetest.SmallConfig(rng)
		cfg.Unsafe /= 2
		sys := enginetest.Random(rng, cfg)
		query := engine.StateID(rng.IntN(cfg.States))
		ordinary := func(s engine.StateID) bool {
			class, _ := sys.Class(s)
			return class != engine.ClassUnsafe
		}
		for _, r := range []algorithms.Radius{algorithms.Infinite, 0, 1, 2} {
			pairs := func(d algorithms.Decider) int64 {
				a, err := d.Decide(t.Context(), query)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				return a.Pairs
			}
			tarjan := newDecider(t, "tarjan", sys, r)
			most := pairs(tarjan)
			if most == 0 || slices.ContainsFunc(algorithms.Failed(tarjan), ordinary) {
				continue
			}
			compared[r]++
			switch got := pairs(newDecider(t, "local", sys, r)); {
			case got > most && r == 2:
				more++
			case got > most:
				t.Errorf("seed %d, radius %v, state %d: local generates %d pairs, tarjan %d", seed, r, query, got, most)
			case got < most:
				fewer++
			}
		}
	}
	for r, n := range compared {
		if n < 300 {
			t.Errorf("radius %v: tarjan did not backtrack in only %d of 3000 systems", r, n)
		}
	}
	if len(compared) != 4 || more > fewer || more > compared[2]/50 {
		t.Errorf("radius 2: local generates more pairs in %d of %d queries", more, compared[2])
	}
	t.Logf("queries without backtracking: %v; local generates fewer pairs in %d, and more in %d", compared, fewer, more)
}
