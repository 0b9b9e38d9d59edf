package algorithms_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/benchmarks"
	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
	"fuzzsafe/jani"
	"fuzzsafe/nnpolicy"
)

var strategies = []algorithms.Strategy{algorithms.Greedy, algorithms.Sampling, algorithms.Uniform}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// policyGraph returns the system of a text such as "0:1 2; 1 goal; 2:3; 3 unsafe; 4
// lost": the outcomes of the policy's decision in a state, or what the state is; lost
// is where the policy has no decision, and states that are only outcomes are terminal.
// The last state is an unsafe one that the action before the policy's leads to, in
// whatever state there is an action: following another action does not go unnoticed.
func policyGraph(text string) *enginetest.System {
	number := func(s string) engine.StateID {
		n, err := strconv.Atoi(s)
		if err != nil {
			panic(err)
		}
		return engine.StateID(n)
	}
	n := engine.StateID(0)
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		n = max(n, number(s)+1)
	}
	classes := slices.Repeat([]engine.Class{engine.ClassOrdinary}, int(n)+1)
	classes[n] = engine.ClassUnsafe
	succ := make([][][]engine.StateID, n+1)
	policy := make([]int, n+1)
	for part := range strings.SplitSeq(text, ";") {
		f := strings.Fields(strings.Replace(part, ":", " : ", 1))
		s := number(f[0])
		succ[s] = [][]engine.StateID{{n}}
		switch f[1] {
		case "goal":
			classes[s] = engine.ClassGoal
		case "unsafe":
			classes[s] = engine.ClassUnsafe
		case "lost":
			policy[s] = -1
		default:
			var outcomes []engine.StateID
			for _, t := range f[2:] {
				outcomes = append(outcomes, number(t))
			}
			succ[s], policy[s] = append(succ[s], outcomes), 1
		}
	}
	return enginetest.New(classes, succ, policy)
}

// scripted returns a distance that is h[s] in state s.
func scripted(h []float64) func(s engine.StateID) (float64, error) {
	return func(s engine.StateID) (float64, error) { return h[s], nil }
}

func newFuzzer(t testing.TB, sys algorithms.System, h []float64, o algorithms.FuzzOptions) *algorithms.Fuzzer {
	t.Helper()
	f, err := algorithms.NewFuzzer(sys, scripted(h), o)
	must(t, err)
	return f
}

// from returns a start function.
func from(s engine.StateID) func(*rand.Rand) (engine.StateID, error) {
	return func(*rand.Rand) (engine.StateID, error) { return s, nil }
}

// runString renders a run such as "0 2 5 exhausted goal".
func runString(r algorithms.Run) string {
	text := ""
	for _, s := range r.States {
		text += fmt.Sprint(s, " ")
	}
	if text += r.End.String(); r.Goal {
		text += " goal"
	}
	return text
}

// Every wanted run occurs and no other, whatever is left to chance.
func TestContinuation(t *testing.T) {
	const greedy, sampling, uniform = algorithms.Greedy, algorithms.Sampling, algorithms.Uniform
	fork := "0:1 2; 1:3; 2:4; 3 goal; 4 unsafe" // only one of two ways is unsafe
	long := "0:1 2; 1:3; 2:4; 3:5; 4:6; 5 goal; 6 unsafe"
	for _, test := range []struct {
		name      string
		graph     string
		h         []float64 // 1 in the states beyond its end
		strategy  algorithms.Strategy
		lookahead int
		steps     int // 0 means 100
		want      string
	}{
		{"a unique minimum ends the lookahead", fork, []float64{0, 1, 2}, greedy, 0, 0, "0 1 3 exhausted goal"},
		{"so it does for sampling", fork, []float64{0, 1, 1e6}, sampling, 0, 0, "0 1 3 exhausted goal"},
		{"a tie is looked behind", fork, nil, greedy, 0, 0, "0 2 4 unsafe"},
		{"a tie is looked behind by sampling", fork, nil, sampling, 0, 0, "0 2 4 unsafe"},
		{"not by uniform", fork, nil, uniform, 0, 0, "0 1 3 exhausted goal|0 2 4 unsafe"},
		{"lookahead 1", fork, nil, greedy, 1, 0, "0 1 3 exhausted goal|0 2 4 unsafe"},
		{"lookahead 2", fork, nil, greedy, 2, 0, "0 2 4 unsafe"},
		{"lookahead 2 is less than 3", long, nil, greedy, 2, 0, "0 1 3 5 exhausted goal|0 2 4 6 unsafe"},
		{"lookahead 2 is less than 3 for sampling", long, nil, sampling, 2, 0, "0 1 3 5 exhausted goal|0 2 4 6 unsafe"},
		{"lookahead 3", long, nil, greedy, 3, 0, "0 2 4 6 unsafe"},
		{"lookahead ∞", long, nil, greedy, 0, 0, "0 2 4 6 unsafe"},
		{"greedy goes to the last layer", "0:1 2; 1:3; 2:4; 3:5 6; 4:6", []float64{0, 0.5, 0.5, 3, 2}, greedy, 0, 0, "0 2 4 6 exhausted"},
		{"an unsafe state comes before the nearest", "0:1 2 3; 2 unsafe; 3:2", []float64{9, 0.1, 9, 0.2}, greedy, 1, 0, "0 2 unsafe"},
		{"an unsafe state comes before the likeliest", "0:1 2 3; 2 unsafe; 3:2", []float64{9, 0.1, 9, 0.2}, sampling, 1, 0, "0 2 unsafe"},
		{"an unsafe state comes before any other", "0:1 2 3; 2 unsafe; 3:2", nil, uniform, 1, 0, "0 2 unsafe"},
		{"the way to an unsafe state is shortest", "0:1 2; 1:3; 2:4; 3:4; 4 unsafe", nil, greedy, 0, 0, "0 2 4 unsafe"},
		{"an empty layer", "0:1 2; 1:0; 2:1", nil, greedy, 0, 0, "0 exhausted"},
		{"an empty layer within the lookahead", "0:1 2; 1:0; 2:1", nil, sampling, 2, 0, "0 exhausted"},
		{"goals are not expanded", "0:1 2; 1 goal; 2 goal", nil, greedy, 0, 0, "0 exhausted"},
		{"runs end in goals", "0:1 2; 1 goal; 2 goal", nil, greedy, 1, 0, "0 1 exhausted goal|0 2 exhausted goal"},
		{"terminal states end the search", "0:1 2; 1:3; 3 unsafe", nil, greedy, 0, 0, "0 1 3 unsafe"},
		{"terminal states end runs", "0:1 2; 1:3; 3 unsafe", nil, uniform, 0, 0, "0 1 3 unsafe|0 2 exhausted"},
		{"a self-loop alone leads nowhere", "0:0", nil, greedy, 1, 0, "0 exhausted"},
		{"a self-loop alone leads uniform nowhere", "0:0", nil, uniform, 1, 0, "0 exhausted"},
		{"a self-loop is left", "0:0 1; 1:1 2; 2 goal", []float64{0, 7, 8}, greedy, 0, 0, "0 1 2 exhausted goal"},
		{"a self-loop is left by sampling", "0:0 1; 1:1 2; 2 goal", []float64{0, 7, 8}, sampling, 0, 0, "0 1 2 exhausted goal"},
		{"a self-loop is left by uniform", "0:0 1; 1:1 2; 2 goal", nil, uniform, 0, 0, "0 1 2 exhausted goal"},
		{"start in an unsafe state", "0 unsafe", nil, greedy, 0, 1, "0 unsafe"},
		{"start in a goal", "0 goal", nil, sampling, 0, 1, "0 exhausted goal"},
		{"start in a terminal state", "1:0", nil, uniform, 0, 1, "0 exhausted"},
		{"no decision at the start", "0 lost", nil, greedy, 0, 0, "0 policy_error"},
		{"no decision later", "0:1; 1:2; 2 lost", nil, uniform, 0, 0, "0 1 2 policy_error"},
		{"no decision on one of two ways", "0:1 2; 1 lost; 2 goal", nil, sampling, 1, 0, "0 1 policy_error|0 2 exhausted goal"},
		{"no decision beside an unsafe way", "0:1 2; 1 lost; 2:3; 3 unsafe", nil, greedy, 0, 0, "0 2 3 unsafe"},
		{"unsafe at the step limit", "0:1; 1:2; 2:3; 3 unsafe", nil, greedy, 0, 3, "0 1 2 3 unsafe"},
		{"unsafe behind the step limit", "0:1; 1:2; 2:3; 3 unsafe", nil, greedy, 0, 2, "0 1 2 step_limit"},
		{"a goal at the step limit", "0:1; 1:2; 2 goal", nil, uniform, 0, 2, "0 1 2 exhausted goal"},
		{"a long way at the step limit", long, nil, greedy, 0, 3, "0 2 4 6 unsafe"},
		{"the step limit ends the lookahead", long, nil, greedy, 0, 2, "0 1 3 step_limit|0 2 4 step_limit"},
		{"the step limit ends it for sampling", long, nil, sampling, 3, 1, "0 1 step_limit|0 2 step_limit"},
		{"a cycle", "0:1; 1:0", nil, greedy, 0, 5, "0 1 0 1 0 1 step_limit"},
		{"a cycle for uniform", "0:1; 1:0", nil, uniform, 0, 4, "0 1 0 1 0 step_limit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			sys := policyGraph(test.graph)
			h := test.h
			for len(h) < sys.NumStates() {
				h = append(h, 1)
			}
			got := map[string]bool{}
			for seed := range uint64(100) {
				view := newStrict(sys)
				view.show(0)
				steps := test.steps
				if steps == 0 {
					steps = 100
				}
				f := newFuzzer(t, view, h, algorithms.FuzzOptions{Strategy: test.strategy, Lookahead: test.lookahead, MaxSteps: steps, Seed: seed})
				run, err := f.Run(t.Context(), int(seed)%3, from(0))
				must(t, err)
				if run.Index != int(seed)%3 || len(run.Actions) != len(run.States)-1 {
					t.Fatalf("seed %d: malformed run %+v", seed, run)
				}
				if _, err := algorithms.Replay(view, run.Path); err != nil {
					t.Fatalf("seed %d: %s does not replay: %v", seed, runString(run), err)
				}
				got[runString(run)] = true
			}
			if list := strings.Join(slices.Sorted(maps.Keys(got)), "|"); list != test.want {
				t.Errorf("runs\n%s, want\n%s", list, test.want)
			}
		})
	}
}

func TestFuzzOptions(t *testing.T) {
	for _, test := range []struct {
		o    algorithms.FuzzOptions
		want string
	}{
		{algorithms.FuzzOptions{Lookahead: -1, MaxSteps: 1}, "lookahead -1"},
		{algorithms.FuzzOptions{MaxSteps: 0}, "step limit 0"},
	} {
		if _, err := algorithms.NewFuzzer(enginetest.Ladder(1), scripted(nil), test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %q", test.o, err, test.want)
		}
	}
	for _, s := range strategies {
		if back, err := algorithms.ParseStrategy(s.String()); err != nil || back != s {
			t.Errorf("strategy %s is read as %s, %v", s, back, err)
		}
	}
	if _, err := algorithms.ParseStrategy("Greedy"); err == nil || !strings.Contains(err.Error(), `"Greedy"`) {
		t.Errorf("error %v", err)
	}
}

// checkFrequencies tests the hypothesis that n draws, of which observed[k] gave k, have
// the given probabilities, at level 10⁻⁶ (normal approximation of the cube root of χ²,
// Wilson and Hilferty 1931). What has probability 0 must not occur; what is expected less
// than 5 times counts together.
func checkFrequencies(t *testing.T, what string, observed map[string]int, p map[string]float64) {
	t.Helper()
	n := 0
	for k, o := range observed {
		n += o
		if p[k] == 0 && o > 0 {
			t.Errorf("%s: %q occurs %d times", what, k, o)
		}
	}
	chi2, freedom := 0.0, -1.0
	add := func(observed, expected float64) {
		chi2 += (observed - expected) * (observed - expected) / expected
		freedom++
	}
	rare, rarely := 0.0, 0.0
	for k, q := range p {
		if expected := q * float64(n); expected >= 5 {
			add(float64(observed[k]), expected)
		} else {
			rare, rarely = rare+float64(observed[k]), rarely+expected
		}
	}
	if rarely >= 5 {
		add(rare, rarely)
	} else if rare > 30 {
		t.Errorf("%s: what is expected %.2f times occurs %.0f times: %v, want probabilities %v", what, rarely, rare, observed, p)
	}
	limit := 5.0 // rounding, or what is rare
	if freedom > 0 {
		limit = freedom * math.Pow(1-2/(9*freedom)+4.75*math.Sqrt(2/(9*freedom)), 3)
	}
	if chi2 > limit {
		t.Errorf("%s: χ² = %.1f, limit %.1f: %v, want probabilities %v", what, chi2, limit, observed, p)
	}
}

// The runs of these systems tell where the first continuation went.
func TestFrequencies(t *testing.T) {
	const greedy, sampling, uniform = algorithms.Greedy, algorithms.Sampling, algorithms.Uniform
	const huge, inf = math.MaxFloat64, 0.0
	six := "0:1 2 3 4 5 6; 1 goal; 2 goal; 3 goal; 4 goal; 5 goal; 6 goal"
	// From 1 and 2 runs are exhausted at once, since all that they lead to are goals and
	// a tie.
	layers := "0:1 2; 1:3 4; 2:5 6; 3 goal; 4 goal; 5 goal; 6 goal"
	even := map[string]float64{"1": 1, "2": 1, "3": 1, "4": 1, "5": 1, "6": 1}
	for _, test := range []struct {
		name      string
		graph     string
		strategy  algorithms.Strategy
		lookahead int
		h         []float64          // of the states 1, 2, …; 0 is +Inf
		want      map[string]float64 // last state to its weight; nil: e^−h
	}{
		{"successors", six, uniform, 1, []float64{1, 2, 3, 4, 5, 1e6}, even},
		{"two of them", "0:1 2; 1 goal; 2 goal", uniform, 0, []float64{1, 1e6}, map[string]float64{"1": 1, "2": 1}},
		{"ties", six, greedy, 1, []float64{1, 0.5, 3, 0.5, 5, 0.5}, map[string]float64{"2": 1, "4": 1, "6": 1}},
		{"ties at the first", six, greedy, 1, []float64{0.5, 0.5, 3, 0.5, 0.5, 3}, map[string]float64{"1": 1, "2": 1, "4": 1, "5": 1}},
		{"all tie", six, greedy, 1, []float64{7, 7, 7, 7, 7, 7}, even},
		{"all tie far away", six, greedy, 1, []float64{huge, huge, huge, huge, huge, huge}, even},
		{"all tie infinitely far away", six, greedy, 1, []float64{inf, inf, inf, inf, inf, inf}, even},
		{"infinitely far but two", six, greedy, 1, []float64{inf, huge, inf, inf, huge, inf}, map[string]float64{"2": 1, "5": 1}},
		{"ties in the last layer", layers, greedy, 2, []float64{1, 1, 4, 3, 3, 3}, map[string]float64{"4": 1, "5": 1, "6": 1}},
		{"weights", six, sampling, 1, []float64{0.5, 1, 1.5, 2, 0.5, 3}, nil},
		{"weights far away", six, sampling, 1, []float64{1e6, 1e6 + 1, 1e6 + 2, 1e6, 1e6 + 0.5, 1e6 + 3},
			map[string]float64{"1": 1, "2": math.Exp(-1), "3": math.Exp(-2), "4": 1, "5": math.Exp(-0.5), "6": math.Exp(-3)}},
		{"weights near and far", six, sampling, 1, []float64{1e-9, 1e6, 1, huge, 1e300, inf}, map[string]float64{"1": 1, "3": math.Exp(-1)}},
		{"weights at the largest number", six, sampling, 1, []float64{huge, inf, huge, huge, inf, inf}, map[string]float64{"1": 1, "3": 1, "4": 1}},
		{"infinite weights", six, sampling, 1, []float64{inf, inf, inf, inf, inf, inf}, even},
		{"weights of a unique minimum", six, sampling, 0, []float64{0.5, 1, 1, 1, 2, 2}, nil},
		{"weights of two layers", layers, sampling, 2, []float64{1, 1, 2, 2, 0.5, 0.5}, nil},
		{"weights of two far layers", layers, sampling, 2, []float64{1000, 1000, 1001, 1001, 1000.5, 1000.5},
			map[string]float64{"1": 1, "2": 1, "3": math.Exp(-1), "4": math.Exp(-1), "5": math.Exp(-0.5), "6": math.Exp(-0.5)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := append(slices.Clone(test.h), 1) // of the trap
			want, sum := test.want, 0.0
			if want == nil {
				want = map[string]float64{}
				for s, d := range test.h {
					want[fmt.Sprint(s+1)] = math.Exp(-d)
				}
			}
			for i := range h {
				if h[i] == inf {
					h[i] = math.Inf(1)
				}
			}
			for _, w := range want {
				sum += w
			}
			probabilities := map[string]float64{}
			for k, w := range want {
				probabilities[k] = w / sum
			}
			const seed = 1
			f := newFuzzer(t, policyGraph(test.graph), append([]float64{1}, h...),
				algorithms.FuzzOptions{Strategy: test.strategy, Lookahead: test.lookahead, MaxSteps: 9, Seed: seed})
			observed := map[string]int{}
			for i := range 6000 {
				run, err := f.Run(t.Context(), i, from(0))
				must(t, err)
				observed[fmt.Sprint(run.States[len(run.States)-1])]++
			}
			checkFrequencies(t, fmt.Sprintf("seed %d", seed), observed, probabilities)
		})
	}
}

// reference is Algorithm 1 as it stands in the paper, computing with probabilities
// instead of drawing: slow and simple.
type reference struct {
	sys  algorithms.System
	h    func(s engine.StateID) float64
	o    algorithms.FuzzOptions
	memo map[[2]int]map[string]float64
}

// next returns the successors of s in the policy graph, and whether there is a decision.
func (r *reference) next(s engine.StateID) (outcomes []engine.StateID, ok bool) {
	class, _ := r.sys.Class(s)
	n, _ := r.sys.NumActions(s)
	if class != engine.ClassOrdinary || n == 0 {
		return nil, true
	}
	a, _ := r.sys.Decision(s)
	if a < 0 {
		return nil, false
	}
	outcomes, _ = r.sys.Outcomes(s, a)
	return outcomes, true
}

// target is where a continuation may lead, in how many steps.
type target struct {
	s     engine.StateID
	steps int
}

// continuation is FindContinuation with at most left steps: the probabilities of where
// it leads, of which there is none if it fails.
func (r *reference) continuation(s engine.StateID, left int) map[target]float64 {
	depth := map[engine.StateID]int{s: 0}
	layer := []engine.StateID{s}
	seen := map[target]float64{} // the states of all layers
	limit := left
	if r.o.Strategy == algorithms.Uniform {
		limit = 1
	} else if r.o.Lookahead > 0 {
		limit = min(left, r.o.Lookahead)
	}
	var nearest []engine.StateID
	for d := 1; d <= limit; d++ {
		var next, unsafe []engine.StateID
		for _, x := range layer {
			outcomes, _ := r.next(x)
			for _, y := range outcomes {
				if _, known := depth[y]; known {
					continue
				}
				depth[y] = d
				next = append(next, y)
				if class, _ := r.sys.Class(y); class == engine.ClassUnsafe {
					unsafe = append(unsafe, y)
				}
			}
		}
		if len(next) == 0 {
			return nil
		}
		if len(unsafe) > 0 {
			return evenly(unsafe, d) // the paper leaves open which
		}
		least := math.Inf(1)
		for _, x := range next {
			least = min(least, r.h(x))
		}
		nearest = nil
		for _, x := range next {
			if seen[target{x, d}] = math.Exp(-r.h(x)); r.h(x) == least {
				nearest = append(nearest, x)
			}
		}
		layer = next
		if len(nearest) == 1 {
			break
		}
	}
	switch r.o.Strategy {
	case algorithms.Uniform:
		return evenly(layer, 1)
	case algorithms.Greedy:
		return evenly(nearest, depth[nearest[0]])
	}
	sum := 0.0
	for _, w := range seen {
		sum += w
	}
	for x := range seen {
		seen[x] /= sum
	}
	return seen
}

func evenly(states []engine.StateID, steps int) map[target]float64 {
	list := map[target]float64{}
	for _, s := range states {
		list[target{s, steps}] = 1 / float64(len(states))
	}
	return list
}

// end returns how a run in s ends that may make left steps more, "" if it goes on.
func (r *reference) end(s engine.StateID, left int) string {
	class, _ := r.sys.Class(s)
	_, ok := r.next(s)
	switch {
	case class == engine.ClassUnsafe:
		return "unsafe"
	case class == engine.ClassGoal:
		return "exhausted goal"
	case left == 0:
		return "step_limit"
	case !ok:
		return "policy_error"
	case r.continuation(s, left) == nil && r.reaches(s, func(t engine.StateID) bool { _, ok := r.next(t); return !ok }):
		return "policy_error"
	case r.continuation(s, left) == nil:
		return "exhausted"
	}
	return ""
}

// ends returns the probabilities of how runs from s end.
func (r *reference) ends(s engine.StateID, left int) map[string]float64 {
	key := [2]int{int(s), left}
	if r.memo[key] == nil {
		p := map[string]float64{}
		if end := r.end(s, left); end != "" {
			p[end] = 1
		} else {
			for x, q := range r.continuation(s, left) {
				for end, p1 := range r.ends(x.s, left-x.steps) {
					p[end] += q * p1
				}
			}
		}
		r.memo[key] = p
	}
	return r.memo[key]
}

// possible reports whether run, a path of the policy, is a chain of continuations.
func (r *reference) possible(run algorithms.Run) bool {
	last := len(run.States) - 1
	start := make([]bool, last+1) // a continuation may start here
	start[0] = true
	for i, s := range run.States {
		if !start[i] {
			continue
		}
		if end := r.end(s, r.o.MaxSteps-i); end != "" {
			if i == last {
				return strings.HasSuffix(runString(run), " "+end)
			}
			continue
		}
		for x := range r.continuation(s, r.o.MaxSteps-i) {
			if j := i + x.steps; j <= last && run.States[j] == x.s {
				start[j] = true
			}
		}
	}
	return false
}

// unsafeReachable returns whether the policy can get from s to an unsafe state.
func (r *reference) unsafeReachable(s engine.StateID) bool {
	return r.reaches(s, func(t engine.StateID) bool {
		class, _ := r.sys.Class(t)
		return class == engine.ClassUnsafe
	})
}

// reaches returns whether the policy can get from s to a state that is wanted.
func (r *reference) reaches(s engine.StateID, wanted func(engine.StateID) bool) bool {
	seen := map[engine.StateID]bool{s: true}
	for queue := []engine.StateID{s}; len(queue) > 0; queue = queue[1:] {
		if wanted(queue[0]) {
			return true
		}
		outcomes, _ := r.next(queue[0])
		for _, t := range outcomes {
			if !seen[t] {
				seen[t] = true
				queue = append(queue, t)
			}
		}
	}
	return false
}

// randomFuzzing returns random options, and distances with many ties.
func randomFuzzing(rng *rand.Rand, states int) (o algorithms.FuzzOptions, h []float64) {
	values := 1 + rng.IntN(4)
	for range states {
		h = append(h, 0.5*float64(1+rng.IntN(values)))
	}
	return algorithms.FuzzOptions{Strategy: strategies[rng.IntN(3)], Lookahead: rng.IntN(4), MaxSteps: 1 + rng.IntN(12), Seed: rng.Uint64()}, h
}

// Runs are such as Algorithm 1 makes, end as often as it does in each way, replay, and
// are exhausted only where the policy cannot fail any more.
func TestRunsAgreeWithReference(t *testing.T) {
	systems := uint64(1500)
	if testing.Short() {
		systems = 200
	}
	ends := map[string]int{}
	for seed := range systems {
		rng := newRand(seed)
		cfg := enginetest.SmallConfig(rng)
		cfg.Unsafe /= 4 // otherwise most runs are short
		sys := enginetest.Random(rng, cfg)
		o, h := randomFuzzing(rng, cfg.States)
		if rng.IntN(4) == 0 {
			o.MaxSteps = 1000
		}
		start := engine.StateID(rng.IntN(cfg.States))
		ref := &reference{sys, func(s engine.StateID) float64 { return h[s] }, o, map[[2]int]map[string]float64{}}
		view := newStrict(sys)
		view.show(start)
		f := newFuzzer(t, view, h, o)
		observed := map[string]int{}
		n := 100
		if o.MaxSteps == 1000 {
			n = 3
		}
		for i := range n {
			run, err := f.Run(t.Context(), i, from(start))
			if err != nil {
				t.Fatalf("seed %d, run %d: %v", seed, i, err)
			}
			class, err := algorithms.Replay(sys, run.Path)
			if err != nil || (class == engine.ClassUnsafe) != (run.End == algorithms.RunUnsafe) || (class == engine.ClassGoal) != run.Goal {
				t.Fatalf("seed %d, run %d, %s: replayed to class %d, %v", seed, i, runString(run), class, err)
			}
			if !ref.possible(run) {
				t.Fatalf("seed %d, run %d: %s is no run of Algorithm 1 with %+v", seed, i, runString(run), o)
			}
			if run.End == algorithms.RunExhausted && ref.unsafeReachable(run.States[len(run.States)-1]) {
				t.Fatalf("seed %d, run %d: %s, but the policy can fail there", seed, i, runString(run))
			}
			end := run.End.String()
			if run.Goal {
				end += " goal"
			}
			observed[end]++
			ends[end]++
		}
		if o.MaxSteps < 1000 {
			checkFrequencies(t, fmt.Sprintf("seed %d, %+v", seed, o), observed, ref.ends(start, o.MaxSteps))
		}
	}
	for _, end := range []string{"unsafe", "exhausted", "exhausted goal", "step_limit", "policy_error"} {
		if ends[end] < int(systems) {
			t.Errorf("the random systems are too uniform: ends %v", ends)
		}
	}
}

// Where every decision has one outcome there is one run, whatever the options are.
func TestRunsOfDeterministicPolicies(t *testing.T) {
	ends := map[string]int{}
	for seed := range uint64(1500) {
		rng := newRand(seed)
		cfg := enginetest.SmallConfig(rng)
		cfg.Outcomes, cfg.Unsafe = 1, cfg.Unsafe/4
		sys := enginetest.Random(rng, cfg)
		o, h := randomFuzzing(rng, cfg.States)
		start := engine.StateID(rng.IntN(cfg.States))
		ref := &reference{sys: sys}
		want := algorithms.Run{Index: 5, End: algorithms.RunStepLimit, Path: algorithms.Path{States: []engine.StateID{start}}}
		for s := start; want.End == algorithms.RunStepLimit; {
			class, _ := sys.Class(s)
			outcomes, ok := ref.next(s)
			switch {
			case class == engine.ClassUnsafe:
				want.End = algorithms.RunUnsafe
				continue
			case class == engine.ClassGoal:
				want.End, want.Goal = algorithms.RunExhausted, true
				continue
			case len(want.Actions) == o.MaxSteps:
			case !ok:
				want.End = algorithms.RunPolicyError
				continue
			case len(outcomes) == 0 || outcomes[0] == s:
				want.End = algorithms.RunExhausted
				continue
			default:
				s = outcomes[0]
				want.States = append(want.States, s)
				want.Actions = append(want.Actions, 0)
				continue
			}
			break
		}
		run, err := newFuzzer(t, sys, h, o).Run(t.Context(), 5, from(start))
		must(t, err)
		if runString(run) != runString(want) || len(run.Actions) != len(want.Actions) {
			t.Fatalf("seed %d: %s, want %s, with %+v", seed, runString(run), runString(want), o)
		}
		ends[run.End.String()]++
	}
	for _, end := range []string{"unsafe", "exhausted", "step_limit", "policy_error"} {
		if ends[end] < 50 {
			t.Errorf("the random systems are too uniform: ends %v", ends)
		}
	}
}

// Errors end runs, and do not spoil later ones; the distance is asked once per state.
func TestFuzzerAfterErrors(t *testing.T) {
	broken := errors.New("broken")
	failures := 0
	for seed := range uint64(300) {
		rng := newRand(seed)
		cfg := enginetest.SmallConfig(rng)
		sys := enginetest.Random(rng, cfg)
		o, h := randomFuzzing(rng, cfg.States)
		start := engine.StateID(rng.IntN(cfg.States))
		want, err := newFuzzer(t, sys, h, o).Run(t.Context(), 1, from(start))
		must(t, err)
		view := newStrict(sys)
		view.show(start)
		view.failWith = broken
		calls, asked := 0, map[engine.StateID]bool{}
		f, err := algorithms.NewFuzzer(view, func(s engine.StateID) (float64, error) {
			if calls++; view.failAt > 0 && calls >= view.failAt {
				return 0, broken
			}
			if asked[s] {
				t.Errorf("seed %d: the distance of state %d is asked for again", seed, s)
			}
			asked[s] = true
			return h[s], nil
		}, o)
		must(t, err)
		for failAt := 1; ; failAt++ {
			view.failAt, view.calls, calls = failAt, 0, 0
			run, err := f.Run(t.Context(), 1, from(start))
			if view.calls < failAt && calls < failAt {
				must(t, err)
				break
			}
			if failures++; !errors.Is(err, broken) || run.End != algorithms.RunNone || run.Goal || len(run.States) == 0 || run.States[0] != start {
				t.Fatalf("seed %d: run %s and error %v after a failure", seed, runString(run), err)
			}
			view.failAt = 0
			if run, err = f.Run(t.Context(), 1, from(start)); err != nil || runString(run) != runString(want) {
				t.Fatalf("seed %d: run %s, %v after a failing run, want %s", seed, runString(run), err, runString(want))
			}
		}
	}
	if failures < 1000 {
		t.Errorf("only %d failures", failures)
	}
	f := newFuzzer(t, enginetest.Ladder(3), make([]float64, 5), algorithms.FuzzOptions{MaxSteps: 5})
	run, err := f.Run(t.Context(), 7, func(*rand.Rand) (engine.StateID, error) { return 0, broken })
	if !errors.Is(err, broken) || run.Index != 7 || run.States != nil || run.End != algorithms.RunNone {
		t.Errorf("run %+v and error %v without a start", run, err)
	}
}

// isRun reports whether path is a run of the policy, as its definition says.
func isRun(sys *enginetest.System, path algorithms.Path) bool {
	if len(path.States) == 0 || len(path.Actions) != len(path.States)-1 {
		return false
	}
	for i, a := range path.Actions {
		s := path.States[i]
		class, _ := sys.Class(s)
		n, _ := sys.NumActions(s)
		decision, _ := sys.Decision(s)
		if class != engine.ClassOrdinary || n == 0 || a != decision || a < 0 {
			return false
		}
		if outcomes, _ := sys.Outcomes(s, a); !slices.Contains(outcomes, path.States[i+1]) {
			return false
		}
	}
	return true
}

func TestReplayRejectsMutations(t *testing.T) {
	type counts struct{ rejected, unsafe int }
	count := map[string]counts{}
	for seed := range uint64(4000) {
		rng := newRand(seed)
		cfg := enginetest.SmallConfig(rng)
		cfg.Unsafe, cfg.NoDecision = cfg.Unsafe/3, 0
		sys := enginetest.Random(rng, cfg)
		o, h := randomFuzzing(rng, cfg.States)
		o.MaxSteps = 50
		run, err := newFuzzer(t, sys, h, o).Run(t.Context(), 0, from(engine.StateID(rng.IntN(cfg.States))))
		must(t, err)
		n := len(run.States)
		if run.End != algorithms.RunUnsafe || n < 3 {
			continue
		}
		i := rng.IntN(n - 1)
		state := engine.StateID(rng.IntN(cfg.States))
		for name, mutate := range map[string]func(p *algorithms.Path){
			"none":       func(*algorithms.Path) {},
			"state":      func(p *algorithms.Path) { p.States[i] = state },
			"last state": func(p *algorithms.Path) { p.States[n-1] = state },
			"action":     func(p *algorithms.Path) { p.Actions[i]++ },
			"no action":  func(p *algorithms.Path) { p.Actions[i] = -1 },
			"order":      func(p *algorithms.Path) { p.States[i], p.States[i+1] = p.States[i+1], p.States[i] },
			"reversed":   func(p *algorithms.Path) { slices.Reverse(p.States); slices.Reverse(p.Actions) },
			"step left out": func(p *algorithms.Path) {
				p.States = slices.Delete(p.States, i, i+1)
				p.Actions = slices.Delete(p.Actions, i, i+1)
			},
			"first left out":   func(p *algorithms.Path) { p.States, p.Actions = p.States[1:], p.Actions[1:] },
			"last left out":    func(p *algorithms.Path) { p.States, p.Actions = p.States[:n-1], p.Actions[:n-2] },
			"extended":         func(p *algorithms.Path) { p.States, p.Actions = append(p.States, state), append(p.Actions, 0) },
			"state added":      func(p *algorithms.Path) { p.States = append(p.States, state) },
			"states left out":  func(p *algorithms.Path) { p.States = p.States[:1] },
			"no states":        func(p *algorithms.Path) { p.States = nil },
			"actions left out": func(p *algorithms.Path) { p.Actions = p.Actions[:n-2] },
			"nothing is left":  func(p *algorithms.Path) { *p = algorithms.Path{} },
			"action repeated":  func(p *algorithms.Path) { p.Actions = append(p.Actions, 0) },
			"state of nowhere": func(p *algorithms.Path) { p.States[n-1] = p.States[0] },
			"everything twice": func(p *algorithms.Path) {
				p.States, p.Actions = append(p.States, p.States...), append(append(p.Actions, 0), p.Actions...)
			},
			"start in the last": func(p *algorithms.Path) { p.States[0] = p.States[n-1] },
		} {
			path := algorithms.Path{States: slices.Clone(run.States), Actions: slices.Clone(run.Actions)}
			mutate(&path)
			class, err := algorithms.Replay(sys, path)
			c := count[name]
			if want := isRun(sys, path); want != (err == nil) {
				t.Fatalf("seed %d, %s: %v is a run: %v, but replaying gives %v", seed, name, path, want, err)
			}
			switch {
			case err != nil:
				if !errors.As(err, new(*algorithms.ReplayError)) {
					t.Fatalf("seed %d, %s: error %v", seed, name, err)
				}
				c.rejected++
			case class == engine.ClassUnsafe:
				c.unsafe++
			}
			count[name] = c
		}
	}
	runs := count["none"].unsafe
	if runs < 500 || count["none"].rejected > 0 {
		t.Errorf("%d runs replay, %d do not", runs, count["none"].rejected)
	}
	for name, c := range count {
		switch name {
		case "none", "first left out":
			if c.unsafe != runs {
				t.Errorf("%s: %d of %d are unsafe runs", name, c.unsafe, runs)
			}
		case "state", "last state", "step left out", "state of nowhere": // not all of them break the run
			if c.rejected < runs/2 {
				t.Errorf("%s: only %d of %d are rejected", name, c.rejected, runs)
			}
		default: // what replays is at least no unsafe run
			if c.unsafe > 0 || c.rejected < runs && name != "last left out" {
				t.Errorf("%s: of %d paths %d are rejected and %d unsafe", name, runs, c.rejected, c.unsafe)
			}
		}
	}
}

// Where the policy has no decision nothing replays, not even having none.
func TestReplayWithoutDecision(t *testing.T) {
	for _, action := range []int{-1, 0} {
		path := algorithms.Path{States: []engine.StateID{1, 0, 2}, Actions: []int{1, action}}
		_, err := algorithms.Replay(policyGraph("1:0; 0 lost; 2 unsafe"), path)
		if e := new(algorithms.ReplayError); !errors.As(err, &e) || e.Step != 1 {
			t.Errorf("action %d: %v", action, err)
		}
	}
}

// instance is a task with a policy under test.
type instance struct {
	task       *jani.Task
	policy     engine.Policy
	clone      func() engine.Policy
	unfiltered bool
}

func (i *instance) space(t testing.TB, ctx context.Context) *engine.Space {
	t.Helper()
	sp, err := engine.NewSpace(ctx, i.task, engine.Options{Policy: i.policy, Unfiltered: i.unfiltered})
	must(t, err)
	return sp
}

func (i *instance) starts(t testing.TB) *algorithms.Starts {
	t.Helper()
	starts, err := algorithms.NewStarts(i.task.Model, i.task.Start, algorithms.StartsOptions{})
	must(t, err)
	return starts
}

// campaign completes c and runs it in a new Space.
func (i *instance) campaign(t testing.TB, ctx context.Context, c algorithms.Campaign) (*engine.Space, algorithms.CampaignResult, error) {
	t.Helper()
	sp := i.space(t, ctx)
	if c.NewPolicy == nil {
		c.NewPolicy = i.clone
	}
	if c.Workers == 0 {
		c.Workers = 1
	}
	if c.Fuzz.MaxSteps == 0 {
		c.Fuzz.MaxSteps = 1000
	}
	r, err := algorithms.RunCampaign(ctx, sp, i.starts(t), c)
	return sp, r, err
}

// compile returns the task of a model, with constants such as "N=3", and of a planning
// property in a file of its own.
func compile(t testing.TB, model, property []byte, constants ...string) *jani.Task {
	t.Helper()
	doc, err := jani.Parse(jani.NewSource("model.jani", model), jani.Limits{})
	must(t, err)
	values := map[string]*jani.Expr{}
	for _, c := range constants {
		name, value, err := jani.ParseConstant(c)
		must(t, err)
		values[name] = value
	}
	m, err := jani.Compile(doc, values)
	must(t, err)
	props, err := jani.ParseProperties(jani.NewSource("property.jani", property), jani.Limits{})
	must(t, err)
	plan, _, err := props[0].Planning(nil, jani.Limits{})
	must(t, err)
	task, err := m.Task(props[0].Name, plan)
	must(t, err)
	return task
}

// benchmark returns an embedded instance.
func benchmark(t testing.TB, name string) *instance {
	t.Helper()
	b, err := benchmarks.Open(name)
	must(t, err)
	model, err := fs.ReadFile(b.FS(), benchmarks.ModelFile)
	must(t, err)
	property, err := fs.ReadFile(b.FS(), benchmarks.PropertyFile)
	must(t, err)
	task := compile(t, model, property)
	policy, err := nnpolicy.LoadFS(task.Model, b.FS(), benchmarks.PolicyFile)
	must(t, err)
	return &instance{task, policy, func() engine.Policy { return policy.Clone() }, false}
}

// runStrings renders runs with values and names, which do not depend on numbering.
func runStrings(sp *engine.Space, runs []algorithms.Run) []string {
	var list []string
	for _, r := range runs {
		text := fmt.Sprintf("run %d, %s, goal %v:", r.Index, r.End, r.Goal)
		for i, s := range r.States {
			text += " " + sp.Describe(s)
			if i < len(r.Actions) {
				text += " " + sp.ActionName(s, r.Actions[i])
			}
		}
		list = append(list, text)
	}
	return list
}

func TestCampaignsDoNotDependOnWorkers(t *testing.T) {
	for _, name := range []string{"one-way-line-det", "one-way-line-nondet", "two-way-line-park"} {
		i := benchmark(t, name)
		for _, strategy := range strategies {
			for _, each := range []bool{false, true} {
				if each && name == "two-way-line-park" {
					continue
				}
				c := algorithms.Campaign{Fuzz: algorithms.FuzzOptions{Strategy: strategy, MaxSteps: 60, Seed: 3}, Runs: 80, Each: each}
				var want []string
				var wanted algorithms.FuzzReport
				for _, c.Workers = range []int{1, 2, 5} {
					what := fmt.Sprintf("%s, %s, each %v, %d workers", name, strategy, each, c.Workers)
					calls, unsafe := 0, 0
					c.Progress = func(done, n int) {
						if calls++; done != calls || n < unsafe || n > unsafe+1 {
							t.Errorf("%s: call %d of Progress: %d runs done, %d unsafe after %d", what, calls, done, n, unsafe)
						}
						unsafe = n
					}
					sp, r, err := i.campaign(t, t.Context(), c)
					must(t, err)
					got, report := runStrings(sp, r.Runs), algorithms.NewFuzzReport(sp, c, r, 0, nil)
					if want == nil {
						want, wanted = got, report
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s: the runs differ from those of 1 worker", what)
					}
					if report != wanted {
						t.Errorf("%s: report\n%+v, want\n%+v", what, report, wanted)
					}
					if calls != len(r.Runs) || unsafe != r.Ends[algorithms.RunUnsafe] || report.PolicyEvaluations == 0 {
						t.Errorf("%s: %d calls of Progress for %d runs, %d of %d unsafe", what, calls, len(r.Runs), unsafe, r.Ends[algorithms.RunUnsafe])
					}
					checkReport(t, what, sp, c, r, report)
				}
				c.Fuzz.Seed, c.Progress = 4, nil
				sp, r, err := i.campaign(t, t.Context(), c)
				must(t, err)
				// From given starts a greedy run may leave nothing to chance.
				if got := runStrings(sp, r.Runs); slices.Equal(got, want) && !each {
					t.Errorf("%s, %s: the same runs for another seed", name, strategy)
				}
			}
		}
	}
}

// checkReport recounts what a report says.
func checkReport(t *testing.T, what string, sp *engine.Space, c algorithms.Campaign, r algorithms.CampaignResult, report algorithms.FuzzReport) {
	t.Helper()
	ends := map[algorithms.RunEnd]int{}
	goals, steps, before := 0, int64(0), int64(0)
	for i, run := range r.Runs {
		if run.Index != i {
			t.Fatalf("%s: run %d has index %d", what, i, run.Index)
		}
		class, err := sp.Class(run.States[len(run.States)-1])
		must(t, err)
		if (class == engine.ClassUnsafe) != (run.End == algorithms.RunUnsafe) || (class == engine.ClassGoal) != run.Goal {
			t.Errorf("%s: run %d ends in a state of class %d: %s", what, i, class, run.End)
		}
		ends[run.End]++
		if run.Goal {
			goals++
		}
		steps += int64(len(run.Actions))
		if run.End == algorithms.RunUnsafe {
			before += int64(len(run.States)) - 1
		}
	}
	starts := "draw"
	if c.Each {
		starts = "each"
	}
	lookahead := "inf"
	if c.Fuzz.Strategy == algorithms.Uniform {
		lookahead = "1"
	}
	want := algorithms.FuzzReport{
		Strategy: c.Fuzz.Strategy.String(), Lookahead: lookahead, MaxSteps: c.Fuzz.MaxSteps, Seed: c.Fuzz.Seed, Starts: starts, Runs: len(r.Runs),
		Unsafe: ends[algorithms.RunUnsafe], Exhausted: ends[algorithms.RunExhausted], StepLimit: ends[algorithms.RunStepLimit],
		PolicyErrors: ends[algorithms.RunPolicyError], Goals: goals, Steps: steps, UnsafePathStates: before,
		PolicyEvaluations: sp.Stats().PolicyEvaluations, Complete: true,
	}
	if report != want {
		t.Errorf("%s: report\n%+v, want\n%+v", what, report, want)
	}
	if !maps.Equal(r.Ends, ends) || r.Goals != goals {
		t.Errorf("%s: ends %v and %d goals, want %v and %d", what, r.Ends, r.Goals, ends, goals)
	}
}

func TestEachStart(t *testing.T) {
	i := benchmark(t, "one-way-line-det")
	sp, r, err := i.campaign(t, t.Context(), algorithms.Campaign{Runs: 3, Each: true, Workers: 2})
	must(t, err)
	n := 0
	for values, err := range i.starts(t).All() {
		must(t, err)
		if n < len(r.Runs) && !slices.Equal(sp.Values(r.Runs[n].States[0]), values) {
			t.Errorf("run %d starts in %s", n, sp.Describe(r.Runs[n].States[0]))
		}
		n++
	}
	if len(r.Runs) != n || n != 78 {
		t.Errorf("%d runs for %d starts, want 78", len(r.Runs), n)
	}
}

// uniformShares are the exact probabilities that a uniform run from a uniform start is
// unsafe.
var uniformShares = map[string]float64{
	"one-way-line-det": 0.1923, "one-way-line-nondet": 0.2468, "one-way-line-park": 0.0630,
	"two-way-line-det": 0.1720, "two-way-line-nondet": 0.2188, "two-way-line-park": 0.1129,
}

// The share of unsafe runs is that of the policy graph, by drawing and by computing.
func TestUniformShares(t *testing.T) {
	for name, want := range uniformShares {
		i := benchmark(t, name)
		const seed, n = 7, 5000
		c := algorithms.Campaign{Fuzz: algorithms.FuzzOptions{Strategy: algorithms.Uniform, Seed: seed}, Runs: n, Workers: 2}
		sp, r, err := i.campaign(t, t.Context(), c)
		must(t, err)
		share, deviation := float64(r.Ends[algorithms.RunUnsafe])/n, math.Sqrt(want*(1-want)/n)
		if math.Abs(share-want) > 4.9*deviation+0.00005 { // two-sided, 10⁻⁶
			t.Errorf("%s, seed %d: %.4f of the runs are unsafe, want %.4f ± %.4f", name, seed, share, want, deviation)
		}
		ref := &reference{sys: sp, o: algorithms.FuzzOptions{Strategy: algorithms.Uniform}, memo: map[[2]int]map[string]float64{},
			h: func(engine.StateID) float64 { return 1 }}
		starts, sum := map[string]int{}, 0.0
		uniform := map[string]float64{}
		var list []engine.StateID
		for values, err := range i.starts(t).All() {
			must(t, err)
			s, err := sp.Intern(values)
			must(t, err)
			list = append(list, s)
		}
		for _, s := range list {
			sum += ref.ends(s, 400)["unsafe"]
			uniform[sp.Describe(s)] = 1 / float64(len(list))
		}
		if exact := sum / float64(len(list)); math.Abs(exact-want) > 0.00005 {
			t.Errorf("%s: the reference finds that %.5f of the runs are unsafe, want %.4f", name, exact, want)
		}
		for _, run := range r.Runs {
			starts[sp.Describe(run.States[0])]++
		}
		checkFrequencies(t, name+": starts", starts, uniform)
	}
}

// failing is a policy that fails in one state.
type failing struct {
	engine.Policy
	in  []float64
	err error
}

func (p failing) Evaluate(in, out []float64) error {
	if slices.Equal(in, p.in) {
		return p.err
	}
	return p.Policy.Evaluate(in, out)
}

// The runs below the first that fails are returned, whatever else was going on.
func TestCampaignWithError(t *testing.T) {
	i := benchmark(t, "two-way-line-nondet")
	c := algorithms.Campaign{Fuzz: algorithms.FuzzOptions{Strategy: algorithms.Uniform, Seed: 5}, Runs: 200}
	sp, r, err := i.campaign(t, t.Context(), c)
	must(t, err)
	clean := runStrings(sp, r.Runs)
	seen := map[engine.StateID]bool{}
	tested := 0
	for k, run := range r.Runs {
		poison := engine.NoState
		for _, s := range run.States[:len(run.States)-1] {
			if n, err := sp.NumActions(s); err == nil && n > 1 && !seen[s] {
				poison = s
			}
			seen[s] = true
		}
		if k < 20 || k%40 > 1 || poison == engine.NoState {
			continue
		}
		tested++
		broken, where := errors.New("broken"), sp.Describe(poison)
		bad := failing{Policy: i.policy, err: broken}
		for _, x := range i.policy.Inputs() {
			bad.in = append(bad.in, i.task.Model.Vars[x].Float(sp.Values(poison)[x]))
		}
		worse := *i
		worse.policy = bad
		worse.clone = func() engine.Policy { return failing{i.clone(), bad.in, broken} }
		message := ""
		for _, c.Workers = range []int{1, 2, 5} {
			sp, r, err := worse.campaign(t, t.Context(), c)
			if !errors.Is(err, broken) || !strings.Contains(err.Error(), where) {
				t.Fatalf("%d workers: error %v, want one in %s", c.Workers, err, where)
			}
			if message == "" {
				message = err.Error()
			}
			if got := runStrings(sp, r.Runs); !slices.Equal(got, clean[:k]) || err.Error() != message {
				t.Errorf("%d workers: %d runs and error %v, want the %d first ones and %s", c.Workers, len(got), err, k, message)
			}
			n := 0
			for _, m := range r.Ends {
				n += m
			}
			if n != k {
				t.Errorf("%d workers: the ends of %d runs are counted, not %d", c.Workers, n, k)
			}
			if report := algorithms.NewFuzzReport(sp, c, r, 0, err); report.Complete || report.Runs != k {
				t.Errorf("%d workers: report %+v", c.Workers, report)
			}
		}
	}
	if tested < 3 {
		t.Errorf("only %d runs were made to fail", tested)
	}
}

// Campaigns on models of little systems end as Algorithm 1 does with the distance to the
// nearest number of an unsafe state, also where the policy is read without filtering.
func TestCampaignsAgreeWithReference(t *testing.T) {
	ends := map[string]int{}
	for seed := range uint64(60) {
		rng := newRand(seed)
		cfg := enginetest.SmallConfig(rng)
		cfg.Unsafe /= 3
		sys := enginetest.Random(rng, cfg)
		o, _ := randomFuzzing(rng, cfg.States)
		ref := &reference{sys: sys, o: o, memo: map[[2]int]map[string]float64{}, h: func(s engine.StateID) float64 {
			h := math.Inf(1)
			for u := range engine.StateID(cfg.States) {
				if class, _ := sys.Class(u); class == engine.ClassUnsafe {
					h = min(h, math.Abs(float64(s)-float64(u)))
				}
			}
			if math.IsInf(h, 1) {
				return algorithms.NoUnsafeDistance
			}
			return h
		}}
		want := map[string]float64{}
		for s := range engine.StateID(cfg.States) {
			for end, p := range ref.ends(s, o.MaxSteps) {
				want[end] += p / float64(cfg.States)
			}
		}
		_, r, err := modelOf(t, sys).campaign(t, t.Context(), algorithms.Campaign{Fuzz: o, Runs: 500, Workers: 1 + rng.IntN(3)})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		observed := map[string]int{"exhausted goal": r.Goals}
		for end, n := range r.Ends {
			observed[end.String()] = n
		}
		observed["exhausted"] -= r.Goals
		for end, n := range observed {
			if n == 0 {
				delete(observed, end)
			}
			ends[end] += n
		}
		checkFrequencies(t, fmt.Sprintf("seed %d, %+v", seed, o), observed, want)
	}
	for _, end := range []string{"unsafe", "exhausted", "exhausted goal", "step_limit", "policy_error"} {
		if ends[end] < 200 {
			t.Errorf("the random systems are too uniform: ends %v", ends)
		}
	}
}

// A campaign that is interrupted returns the runs that were finished, those of the whole
// one with the same numbers.
func TestCampaignCancelled(t *testing.T) {
	i := benchmark(t, "two-way-line-nondet")
	c := algorithms.Campaign{Fuzz: algorithms.FuzzOptions{Seed: 5}, Runs: 150}
	sp, r, err := i.campaign(t, t.Context(), c)
	must(t, err)
	whole := runStrings(sp, r.Runs)
	for _, c.Workers = range []int{1, 2, 5} {
		most := 0
		for _, after := range []int{0, 1, 70, 71, 72, 73} {
			ctx, cancel := context.WithCancel(t.Context())
			c.Progress = func(done, _ int) {
				if done == after {
					cancel()
				}
			}
			if after == 0 {
				cancel()
			}
			sp, r, err := i.campaign(t, ctx, c)
			n := len(r.Runs)
			if err == nil || n > after+c.Workers || c.Workers == 1 && n != after {
				t.Errorf("%d workers: %d runs and error %v, cancelled after %d", c.Workers, n, err, after)
			}
			for k, text := range runStrings(sp, r.Runs) {
				if text != whole[r.Runs[k].Index] {
					t.Errorf("%d workers, cancelled after %d: run %d differs", c.Workers, after, r.Runs[k].Index)
				}
			}
			most = max(most, n)
			cancel()
		}
		if most < 20 {
			t.Errorf("%d workers: at most %d of 70 runs were returned", c.Workers, most)
		}
	}
}

func TestCampaignOptions(t *testing.T) {
	i := benchmark(t, "one-way-line-det")
	for want, c := range map[string]algorithms.Campaign{
		"-1 workers":   {Runs: 1, Workers: -1},
		"step limit":   {Runs: 1, Fuzz: algorithms.FuzzOptions{MaxSteps: -1}},
		"lookahead -7": {Runs: 1, Workers: 3, Fuzz: algorithms.FuzzOptions{Lookahead: -7}},
	} {
		if _, r, err := i.campaign(t, t.Context(), c); err == nil || !strings.Contains(err.Error(), want) || len(r.Runs) > 0 {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, r, err := i.campaign(t, t.Context(), algorithms.Campaign{Workers: 4}); err != nil || len(r.Runs) > 0 {
		t.Errorf("%d of 0 runs, %v", len(r.Runs), err)
	}
}
