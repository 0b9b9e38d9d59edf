package engine_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani/interp"
)

// BenchmarkExplore enumerates 1,529,002 states: packed words, hash-consing and
// transition generation together.
func BenchmarkExplore(b *testing.B) {
	p := planning(b, "one_way_line_15_10_nondet")
	var got engine.Exploration
	for b.Loop() {
		got = explore(b, p.task, engine.ByEdge)
	}
	b.ReportMetric(float64(got.States)*float64(b.N)/b.Elapsed().Seconds(), "states/s")
	b.ReportMetric(float64(got.PackedBytes)/float64(got.States), "B/state")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSuccessors generates all successors of the same states with the compiled
// generator and with the interpreter, neither of which stores them. The benchmark of the
// generator also reports how many times as fast it is.
func BenchmarkSuccessors(b *testing.B) {
	for _, model := range []string{"one_way_line_15_10_nondet", "blocksworld_4_3", "blocksworld_6_5", "mod_linetrack_icy_park", "bouncing_ball"} {
		b.Run(model, func(b *testing.B) {
			p := planning(b, model)
			sp := newSpace(b, p.task, engine.Options{Choice: engine.ByEdge})
			collect(b, sp, p, 4000)
			in, err := interp.New(p.doc, p.given)
			if err != nil {
				b.Fatal(err)
			}
			states := make([]interp.State, sp.NumStates())
			for s := range states {
				if states[s], err = in.State(sp.Values(engine.StateID(s))); err != nil {
					b.Fatal(err)
				}
			}
			interpret := func(i int) {
				if _, err := in.Choices(states[i%len(states)]); err != nil {
					b.Fatal(err)
				}
			}
			b.Run("compiled", func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, err := sp.ExpandAll(engine.StateID(i % len(states))); err != nil {
						b.Fatal(err)
					}
				}
				perState := b.Elapsed().Seconds() / float64(b.N)
				start := time.Now()
				for i := range states {
					interpret(i)
				}
				b.ReportMetric(1/perState, "states/s")
				b.ReportMetric(time.Since(start).Seconds()/float64(len(states))/perState, "×interpreter")
			})
			b.Run("interpreter", func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					interpret(i)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "states/s")
			})
		})
	}
}

// collect stores at least n states breadth first: from the initial state, or from the
// start condition if that does not lead to enough.
func collect(b *testing.B, sp *engine.Space, p *instance, n int) {
	b.Helper()
	if _, err := sp.Intern(p.task.Model.Initial.States[0]); err != nil {
		b.Fatal(err)
	}
	set, err := algorithms.NewStarts(p.task.Model, p.task.Start, algorithms.StartsOptions{})
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for s := engine.StateID(0); sp.NumStates() < n; s++ {
		for int(s) == sp.NumStates() {
			values, err := set.Draw(rng)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := sp.Intern(values); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := outcomes(sp, s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOutcomes asks a Space for everything about the states reachable in some steps:
// generation, hash-consing and the tables of actions and outcomes.
func BenchmarkOutcomes(b *testing.B) {
	p := planning(b, "one_way_line_15_10_nondet")
	const limit = 200_000
	for b.Loop() {
		sp, err := engine.NewSpace(context.Background(), p.task, engine.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for s := intern(b, sp); s < limit; s++ {
			n, err := sp.NumActions(s)
			if err != nil {
				b.Fatal(err)
			}
			for i := range n {
				if _, err := sp.Outcomes(s, i); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.ReportMetric(limit*float64(b.N)/b.Elapsed().Seconds(), "states/s")
}
