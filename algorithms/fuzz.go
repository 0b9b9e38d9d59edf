package algorithms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// Strategy says where a run is continued; see Fuzzer.
type Strategy uint8

const (
	// Greedy goes to a state of the last layer that is nearest to the unsafe condition.
	Greedy Strategy = iota
	// Sampling draws a state of all layers, with a probability proportional to
	// exp(−h_u).
	Sampling
	// Uniform draws a successor; it looks one step ahead whatever the lookahead.
	Uniform
)

// ParseStrategy reads "greedy", "sampling" or "uniform".
func ParseStrategy(s string) (Strategy, error) {
	for _, x := range []Strategy{Greedy, Sampling, Uniform} {
		if s == x.String() {
			return x, nil
		}
	}
	return Greedy, fmt.Errorf("strategy %q: it is greedy, sampling or uniform", s)
}

// String returns the name of the strategy.
func (s Strategy) String() string { return [...]string{"greedy", "sampling", "uniform"}[s] }

// RunEnd says how a run ended.
type RunEnd uint8

const (
	// RunNone is the zero value: the run did not take place.
	RunNone RunEnd = iota
	// RunUnsafe runs reached an unsafe state, the last of their path.
	RunUnsafe
	// RunExhausted runs cannot be extended to an unsafe state any more: the policy has
	// no new successor, or the whole policy graph ahead has been seen.
	RunExhausted
	// RunStepLimit runs reached the step limit.
	RunStepLimit
	// RunPolicyError runs ended where the policy, read without filtering, chose an
	// action that is not applicable, or with no way ahead but to such states.
	RunPolicyError
)

// String returns "unsafe", "exhausted", "step_limit", "policy_error" or "none".
func (e RunEnd) String() string {
	return [...]string{"none", "unsafe", "exhausted", "step_limit", "policy_error"}[e]
}

// Path is a run of the policy: States[i+1] is an outcome of applicable action
// Actions[i] of States[i], the one that the policy takes there.
type Path struct {
	States  []engine.StateID
	Actions []int // one fewer than States
}

// Run is one run of the fuzzer.
type Run struct {
	Index int
	End   RunEnd
	Goal  bool // the last state is a goal
	Path
}

// FuzzOptions configures a Fuzzer.
type FuzzOptions struct {
	Strategy Strategy
	// Lookahead is D, the number of layers that FindContinuation looks at; at least 1,
	// or 0 for ∞.
	Lookahead int
	// MaxSteps bounds the steps of a run; at least 1.
	MaxSteps int
	// Seed and the index of a run determine its random choices.
	Seed uint64
}

// Fuzzer makes runs of the policy under test that tend towards the unsafe condition
// (Jain et al., "Policy Safety Testing in Non-Deterministic Planning", Algorithm 1).
// From the current state it looks at the layers S_1, S_2, … of the policy graph, where
// S_d holds the states first reached in d steps. It stops at an unsafe state, at an empty
// layer (the run is exhausted), at a layer in which one state has the least h_u, or at
// the lookahead D; then the strategy picks where the run goes on.
//
// Deviations from the paper: a step limit ends runs that cycle, goal states are not
// expanded, ties are broken uniformly.
//
// Time per continuation is linear in the policy graph looked at. A Fuzzer is not safe for
// concurrent use.
type Fuzzer struct {
	sys      System
	distance func(s engine.StateID) (float64, error) // h_u
	options  FuzzOptions
	prefetch func(states []engine.StateID) // says which decisions are going to be asked for

	seen    []uint32         // by state: the last search that reached it
	parent  []engine.StateID // by state: predecessor in that search
	hu      []float64        // by state: h_u, −1 if not known
	search  uint32
	reached []engine.StateID // S_1 ∪ … ∪ S_d, in order
	weights []float64
}

// NewFuzzer returns a fuzzer. distance is h_u; it is asked at most once per state.
func NewFuzzer(sys System, distance func(s engine.StateID) (float64, error), options FuzzOptions) (*Fuzzer, error) {
	if options.Lookahead < 0 {
		return nil, fmt.Errorf("lookahead %d: it is at least 1, or inf", options.Lookahead)
	}
	if options.MaxSteps < 1 {
		return nil, fmt.Errorf("step limit %d: it is at least 1", options.MaxSteps)
	}
	if options.Strategy == Uniform {
		options.Lookahead = 1
	}
	f := &Fuzzer{sys: sys, distance: distance, options: options, prefetch: func([]engine.StateID) {}}
	if sp, ok := sys.(interface{ Prefetch(states []engine.StateID) }); ok {
		f.prefetch = sp.Prefetch
	}
	return f, nil
}

// generator returns the random numbers of run i: they depend on the seed and on i only.
func (f *Fuzzer) generator(i int) *rand.Rand {
	return rand.New(rand.NewPCG(f.options.Seed, uint64(i)))
}

// Run makes run i from the state that start returns. On an error the run is what there
// is of it so far, with the end RunNone.
func (f *Fuzzer) Run(ctx context.Context, i int, start func(rng *rand.Rand) (engine.StateID, error)) (Run, error) {
	rng := f.generator(i)
	run := Run{Index: i}
	s, err := start(rng)
	if err != nil {
		return run, err
	}
	run.States = append(run.States, s)
	class, err := f.sys.Class(s)
	for ; class == engine.ClassOrdinary && err == nil; class, err = f.sys.Class(s) {
		left := f.options.MaxSteps - len(run.Actions)
		if left == 0 {
			run.End = RunStepLimit
			return run, nil
		}
		if err := ctx.Err(); err != nil {
			return run, err
		}
		next, end, err := f.continuation(s, left, rng)
		if err != nil || end != RunNone {
			run.End = end
			return run, err
		}
		if err := f.extend(&run, s, next); err != nil {
			return run, err
		}
		s = next
	}
	if err != nil {
		return run, err
	}
	run.End, run.Goal = RunExhausted, true
	if class == engine.ClassUnsafe {
		run.End, run.Goal = RunUnsafe, false
	}
	return run, nil
}

// extend appends the policy path from s to next that the last search found.
func (f *Fuzzer) extend(run *Run, s, next engine.StateID) error {
	n := len(run.States)
	for t := next; t != s; t = f.parent[t] {
		run.States = append(run.States, t)
	}
	for i, j := n, len(run.States)-1; i < j; i, j = i+1, j-1 {
		run.States[i], run.States[j] = run.States[j], run.States[i]
	}
	for i := n - 1; i < len(run.States)-1; i++ {
		a, err := f.sys.Decision(run.States[i])
		if err != nil {
			return err
		}
		run.Actions = append(run.Actions, a)
	}
	return nil
}

// continuation is FindContinuation: it returns the state to go to, at most left steps
// away, or how the run ends.
func (f *Fuzzer) continuation(s engine.StateID, left int, rng *rand.Rand) (engine.StateID, RunEnd, error) {
	f.search++
	f.grow()
	f.seen[s] = f.search
	f.reached = append(f.reached[:0], s)
	from := 0       // where the last layer starts in reached
	failed := false // the policy has no applicable action in some state
	for d := 1; d <= left && (f.options.Lookahead == 0 || d <= f.options.Lookahead); d++ {
		to := len(f.reached)
		f.prefetch(f.reached[from:to])
		for _, t := range f.reached[from:to] {
			unsafe, ok, err := f.expand(t)
			if err != nil || unsafe != engine.NoState {
				return unsafe, RunNone, err
			}
			failed = failed || !ok
		}
		layer := f.reached[to:]
		switch {
		case len(layer) == 0 && failed:
			return engine.NoState, RunPolicyError, nil
		case len(layer) == 0:
			return engine.NoState, RunExhausted, nil
		}
		from = to
		if f.options.Strategy == Uniform {
			return layer[rng.IntN(len(layer))], RunNone, nil
		}
		if unique, err := f.uniqueMinimum(layer); err != nil || unique {
			if err != nil {
				return engine.NoState, RunNone, err
			}
			break
		}
	}
	if f.options.Strategy == Sampling {
		return f.draw(f.reached[1:], rng), RunNone, nil
	}
	return f.nearest(f.reached[from:], rng), RunNone, nil
}

func (f *Fuzzer) grow() {
	n := f.sys.NumStates()
	f.seen = grow(f.seen, n, 0)
	f.parent = grow(f.parent, n, engine.NoState)
	f.hu = grow(f.hu, n, -1)
}

// expand appends the policy successors of t that the search has not reached yet. It
// returns the first unsafe one, if any, and whether the policy has an action where there
// are actions at all.
func (f *Fuzzer) expand(t engine.StateID) (unsafe engine.StateID, ok bool, err error) {
	class, err := f.sys.Class(t)
	if err != nil || class != engine.ClassOrdinary {
		return engine.NoState, true, err
	}
	n, err := f.sys.NumActions(t)
	if err != nil || n == 0 {
		return engine.NoState, true, err
	}
	a, err := f.sys.Decision(t)
	if err != nil || a < 0 {
		return engine.NoState, false, err
	}
	outcomes, err := f.sys.Outcomes(t, a)
	if err != nil {
		return engine.NoState, true, err
	}
	f.grow()
	for _, u := range outcomes {
		if f.seen[u] == f.search {
			continue
		}
		f.seen[u], f.parent[u] = f.search, t
		class, err := f.sys.Class(u)
		if err != nil {
			return engine.NoState, true, err
		}
		if class == engine.ClassUnsafe {
			return u, true, nil
		}
		f.reached = append(f.reached, u)
	}
	return engine.NoState, true, nil
}

// h returns h_u of s.
func (f *Fuzzer) h(s engine.StateID) (float64, error) {
	if f.hu[s] < 0 {
		v, err := f.distance(s)
		if err != nil {
			return 0, err
		}
		f.hu[s] = v
	}
	return f.hu[s], nil
}

// uniqueMinimum reports whether one state of the layer has the least h_u. It makes h_u
// known for the whole layer.
func (f *Fuzzer) uniqueMinimum(layer []engine.StateID) (bool, error) {
	least, count := math.Inf(1), 0
	for _, s := range layer {
		v, err := f.h(s)
		if err != nil {
			return false, err
		}
		if v < least {
			least, count = v, 0
		}
		if v == least {
			count++
		}
	}
	return count == 1, nil
}

// nearest returns a state of the layer with the least h_u, each with equal probability.
func (f *Fuzzer) nearest(layer []engine.StateID, rng *rand.Rand) engine.StateID {
	best, count := layer[0], 0
	for _, s := range layer {
		switch v := f.hu[s]; {
		case v < f.hu[best]:
			best, count = s, 1
		case v == f.hu[best]:
			if count++; rng.IntN(count) == 0 {
				best = s
			}
		}
	}
	return best
}

// draw returns a state with probability proportional to exp(−h_u), relative to the
// least h_u so that nothing overflows and the sum is at least 1.
func (f *Fuzzer) draw(states []engine.StateID, rng *rand.Rand) engine.StateID {
	least := math.Inf(1)
	for _, s := range states {
		least = min(least, f.hu[s])
	}
	f.weights = f.weights[:0]
	sum := 0.0
	for _, s := range states {
		w := 1.0 // all are infinitely far
		if !math.IsInf(least, 1) {
			w = math.Exp(least - f.hu[s])
		}
		sum += w
		f.weights = append(f.weights, w)
	}
	at := rng.Float64() * sum
	for i, w := range f.weights {
		if at -= w; at < 0 {
			return states[i]
		}
	}
	return states[len(states)-1]
}

// Campaign is a set of runs of one policy in one task.
type Campaign struct {
	Fuzz FuzzOptions
	// Runs is the number of runs; if Each is set, every initial state starts one run
	// instead, in order.
	Runs int
	Each bool
	// Workers is the number of goroutines; results do not depend on it. Worker 0 works
	// in the given Space, the others in forks of it.
	Workers int
	// NewPolicy returns a copy of the policy under test for a further worker.
	NewPolicy func() engine.Policy
	// Progress, if not nil, is called by one goroutine at a time with the numbers of
	// finished and of unsafe runs.
	Progress func(done, unsafe int)
}

// CampaignResult is what a campaign has found.
type CampaignResult struct {
	Runs []Run // in order of their index; on an error not all of them
	// Ends counts the runs by how they ended, Goals those that ended in a goal.
	Ends  map[RunEnd]int
	Goals int
}

// RunCampaign makes the runs and replays each of them before it is returned. If a limit or
// the context ends it, the result holds all runs that were finished; on any other error,
// those below the first one that failed.
func RunCampaign(ctx context.Context, sp *engine.Space, starts *Starts, c Campaign) (CampaignResult, error) {
	result := CampaignResult{Ends: map[RunEnd]int{}}
	if c.Workers < 1 {
		return result, fmt.Errorf("%d workers: at least 1 is needed", c.Workers)
	}
	var list [][]jani.Value
	if c.Each {
		for values, err := range starts.All() {
			if err != nil {
				return result, err
			}
			list = append(list, values)
		}
		c.Runs = len(list)
	}
	runs := make([]Run, c.Runs)
	errs := make([]error, c.Runs)
	spaces := []*engine.Space{sp}
	for range min(c.Workers, c.Runs) - 1 {
		spaces = append(spaces, sp.Fork(ctx, c.NewPolicy()))
	}
	worked := make([]int, c.Runs) // which worker made the run
	var next, failed atomic.Int64
	failed.Store(math.MaxInt64)
	limits := make([]error, len(spaces)) // by worker: the limit that ended it
	var stop atomic.Bool
	var progress sync.Mutex
	done, unsafe := 0, 0
	work := func(w int) error {
		f, err := NewSpaceFuzzer(spaces[w], c.Fuzz)
		if err != nil {
			return err
		}
		for {
			i := int(next.Add(1)) - 1
			if i >= c.Runs || int64(i) > failed.Load() || stop.Load() {
				return nil
			}
			run, err := f.Run(ctx, i, func(rng *rand.Rand) (engine.StateID, error) {
				if c.Each {
					return spaces[w].Intern(list[i])
				}
				values, err := starts.Draw(rng)
				if err != nil {
					return engine.NoState, err
				}
				return spaces[w].Intern(values)
			})
			if isLimit(err) {
				limits[w] = err
				stop.Store(true)
				return nil
			}
			if err != nil {
				errs[i] = err
				for old := failed.Load(); int64(i) < old && !failed.CompareAndSwap(old, int64(i)); old = failed.Load() {
				}
				return nil
			}
			runs[i], worked[i] = run, w
			if c.Progress != nil {
				progress.Lock()
				done++
				unsafe += btoi(run.End == RunUnsafe)
				c.Progress(done, unsafe)
				progress.Unlock()
			}
		}
	}
	setup := make([]error, len(spaces))
	var wait sync.WaitGroup
	for w := range spaces {
		wait.Go(func() { setup[w] = work(w) })
	}
	wait.Wait()
	if err := errors.Join(setup...); err != nil {
		return result, err
	}
	firstError := cmp.Or(limits...)
	complete := c.Runs
	if n := failed.Load(); n < int64(c.Runs) {
		complete, firstError = int(n), errs[n]
	}
	for _, fork := range spaces[1:] {
		if err := sp.Adopt(fork); err != nil {
			return result, err
		}
	}
	for i := range runs[:complete] {
		run := &runs[i]
		if run.End == RunNone {
			continue // a limit came first
		}
		if w := worked[i]; w > 0 {
			for k, s := range run.States {
				t, err := sp.Import(spaces[w], s)
				if err != nil {
					return result, err
				}
				run.States[k] = t
			}
		}
		result.Ends[run.End]++
		result.Goals += btoi(run.Goal)
		result.Runs = append(result.Runs, *run)
	}
	if err := replayRuns(sp, c.NewPolicy, result.Runs); err != nil {
		return CampaignResult{}, err
	}
	return result, firstError
}

// isLimit reports whether err says that a limit or the context has ended the work.
func isLimit(err error) bool {
	return errors.As(err, new(*engine.LimitError)) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// NewSpaceFuzzer returns a fuzzer for the task of a Space.
func NewSpaceFuzzer(sp *engine.Space, options FuzzOptions) (*Fuzzer, error) {
	h, err := NewDistance(sp.Model(), sp.Task().Unsafe)
	if err != nil {
		return nil, err
	}
	values := make([]jani.Value, len(sp.Model().Vars))
	return NewFuzzer(sp, func(s engine.StateID) (float64, error) {
		sp.ReadValues(s, values)
		return h.Of(values)
	}, options)
}

// ReplayError says that a path is no unsafe run of the policy, although it was meant
// to be one.
type ReplayError struct {
	Step int
	Msg  string
}

func (e *ReplayError) Error() string { return fmt.Sprintf("step %d: %s", e.Step, e.Msg) }

// Replay checks that path is a run of the policy in sys: every state but the last is
// ordinary, its action is the policy's decision, and the next state is one of the
// outcomes. It returns the class of the last state.
func Replay(sys System, path Path) (engine.Class, error) {
	last := engine.ClassUnknown
	if len(path.States) != len(path.Actions)+1 {
		return last, &ReplayError{len(path.Actions), fmt.Sprintf("%d states do not fit to %d actions", len(path.States), len(path.Actions))}
	}
	for i, s := range path.States {
		class, err := sys.Class(s)
		if err != nil {
			return last, err
		}
		if last = class; i == len(path.States)-1 {
			break
		}
		if class != engine.ClassOrdinary {
			return class, &ReplayError{i, "the run goes on behind an unsafe or goal state"}
		}
		n, err := sys.NumActions(s)
		if err != nil {
			return class, err
		}
		if n == 0 {
			return class, &ReplayError{i, "no action is applicable"}
		}
		a, err := sys.Decision(s)
		if err != nil {
			return class, err
		}
		if a != path.Actions[i] {
			return class, &ReplayError{i, fmt.Sprintf("the policy takes applicable action %d, not %d", a, path.Actions[i])}
		}
		if a < 0 {
			return class, &ReplayError{i, "the policy takes no applicable action"}
		}
		outcomes, err := sys.Outcomes(s, a)
		if err != nil {
			return class, err
		}
		found := false
		for _, t := range outcomes {
			found = found || t == path.States[i+1]
		}
		if !found {
			return class, &ReplayError{i, "the next state is no outcome of the policy's action"}
		}
	}
	return last, nil
}

// InternalError says that a result did not pass its own check.
type InternalError struct{ Err error }

func (e *InternalError) Error() string { return "internal error: " + e.Err.Error() }
func (e *InternalError) Unwrap() error { return e.Err }

// replayRuns replays the runs in a fresh Space, so that nothing is taken from the caches
// that they were made with. No limit ends it: what was found before one is still checked.
func replayRuns(sp *engine.Space, newPolicy func() engine.Policy, runs []Run) error {
	fresh := sp.Unlimited(newPolicy())
	for i := range runs {
		run := &runs[i]
		path := Path{States: make([]engine.StateID, len(run.States)), Actions: run.Actions}
		for k, s := range run.States {
			t, err := fresh.Import(sp, s)
			if err != nil {
				return err
			}
			path.States[k] = t
		}
		class, err := Replay(fresh, path)
		if err == nil && (class == engine.ClassUnsafe) != (run.End == RunUnsafe) {
			err = errors.New("the run ends in a state of another class")
		}
		if err != nil {
			return &InternalError{fmt.Errorf("run %d does not replay: %w", run.Index, err)}
		}
	}
	return nil
}
