package algorithms

import (
	"context"
	"math/rand/v2"
	"testing"

	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
)

// Where TarjanSafe never has to take back an assumption, because no state fails but by
// outcomes that are unsafe themselves or known to fail, local generates no pair more. From
// radius 2 on that holds with few exceptions: tarjan is content with any value up to the
// radius, while local finds out the least.
func TestLocalAsFrugalAsTarjan(t *testing.T) {
	compared, fewer, more := map[Radius]int{}, 0, 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		cfg := enginetest.SmallConfig(rng)
		cfg.Unsafe /= 2
		sys := enginetest.Random(rng, cfg)
		query := engine.StateID(rng.IntN(cfg.States))
		for _, r := range []Radius{Infinite, 0, 1, 2} {
			pairs := func(s solver) int {
				sys.ResetPairs()
				if _, err := s.solve(context.Background(), query); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				return sys.Pairs
			}
			tarjan := newTarjan(sys, r).(*tarjan)
			most := pairs(tarjan)
			if most == 0 || tarjan.backtracked(sys) {
				continue
			}
			compared[r]++
			switch got := pairs(newLocal(sys, r)); {
			case got > most && r == 2:
				more++
			case got > most:
				t.Errorf("seed %d, radius %v, state %d: local generates %d pairs, tarjan %d", seed, r, query, got, most)
			case got < most:
				fewer++
			}
		}
	}
	for _, r := range []Radius{Infinite, 0, 1, 2} {
		if compared[r] < 300 {
			t.Errorf("radius %v: tarjan did not backtrack in only %d of 3000 systems", r, compared[r])
		}
	}
	if more > fewer || more > compared[2]/50 {
		t.Errorf("for radius 2, local generates more pairs in %d of %d queries", more, compared[2])
	}
	t.Logf("queries without backtracking: %v; local generates fewer pairs in %d, and more in %d", compared, fewer, more)
}

// backtracked returns whether a state that is not unsafe itself has failed.
func (d *tarjan) backtracked(sys *enginetest.System) bool {
	for s, n := range d.nodes {
		if !n.seen || n.lower == 0 {
			continue
		}
		if class, _ := sys.Class(engine.StateID(s)); class != engine.ClassUnsafe {
			return true
		}
	}
	return false
}
