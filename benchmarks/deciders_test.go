package benchmarks

import (
	"fmt"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// asked counts how often a decider asks for the outcomes of a pair.
type asked struct {
	*engine.Space
	times int64
}

func (a *asked) Outcomes(s engine.StateID, i int) ([]engine.StateID, error) {
	a.times++
	return a.Space.Outcomes(s, i)
}

// decideAll decides states of a task with a fresh decider for the radius ∞. It returns the
// number of (state, action) pairs generated, and how often one was asked for.
func decideAll(t testing.TB, task *jani.Task, states [][]jani.Value, solver string) (pairs, times int64) {
	sp, err := engine.NewSpace(t.Context(), task, engine.Options{})
	must(t, err)
	sys := &asked{Space: sp}
	d, err := algorithms.NewDecider(solver, sys, algorithms.Infinite)
	must(t, err)
	for _, values := range states {
		s, err := sp.Intern(values)
		must(t, err)
		_, err = d.Decide(t.Context(), s)
		must(t, err)
	}
	return d.Stats().Pairs, sys.times
}

// The default decider is linear on every family, whatever the size: it asks for a pair
// less than twice on average.
func TestDefaultIsLinear(t *testing.T) {
	for _, format := range []string{
		"ladder:k=%d000", "cycle:n=%d000", "cycle:n=%d000,period=10", "wide:size=%d00",
		"corridor:length=%d00,walls=%[1]d0", "corridor:length=%d00,walls=%[1]d0,variant=once",
		"corridor:length=%d00,walls=%[1]d0,gust=4,gap=11,height=30",
	} {
		for _, size := range []int{1, 10} {
			name := fmt.Sprintf(format, size)
			task, _ := opened(t, name)
			if pairs, times := decideAll(t, task, starts(t, task), algorithms.DeciderNames()[0]); pairs == 0 || times >= 2*pairs {
				t.Errorf("%s: %d pairs were asked for %d times", name, pairs, times)
			}
		}
	}
}

// BenchmarkDecide decides all start states of a task from scratch, generating its states
// included. Beside the pairs it reports how often one was asked for: by far more if work
// is done again and again.
func BenchmarkDecide(b *testing.B) {
	for _, name := range []string{
		"ladder:k=20000", "cycle:n=4000", "wide:size=2000",
		"corridor:length=1000,walls=250", "corridor:length=1000,walls=250,variant=once",
	} {
		task, _ := opened(b, name)
		states := starts(b, task)
		for _, solver := range algorithms.DeciderNames() {
			b.Run(name+"/"+solver, func(b *testing.B) {
				var pairs, times int64
				for b.Loop() {
					pairs, times = decideAll(b, task, states, solver)
				}
				b.ReportMetric(float64(pairs), "pairs/op")
				b.ReportMetric(float64(times), "asked/op")
			})
		}
	}
}
