package benchmarks

import (
	"io/fs"
	"slices"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
	"fuzzsafe/nnpolicy"
)

// numbers are exact facts about a task and its policy. Except for full, choices and
// branches, unsafe states and goals are not expanded.
type numbers struct {
	full, choices, branches int // states reachable from the start states; actions; outcomes
	states, unsafe, goals   int // reachable from the start states
	notSafe                 int // of states
	starts, safeStarts      int
	failingStarts           int // starts from which a run of the policy can be unsafe
	policyStates            int // reachable from the start states by runs of the policy
	bugs, faults            int // of policyStates
}

// TestInstanceNumbers compares the engine, the network and a decider with the numbers
// that an independent program found by brute force. It read the files, and kept sets
// of states and naive fixpoints of them.
func TestInstanceNumbers(t *testing.T) {
	for name, want := range map[string]numbers{
		"one-way-line-det":    {4823, 9165, 9165, 4823, 819, 1, 3823, 78, 78, 15, 613, 75, 12},
		"one-way-line-nondet": {4823, 9165, 10920, 4823, 819, 1, 4179, 78, 55, 33, 651, 31, 10},
		"one-way-line-park":   {5915, 11505, 13260, 5915, 819, 2, 1638, 78, 78, 13, 1125, 78, 10},
		"two-way-line-det":    {8554, 18174, 18174, 8551, 1638, 1, 3458, 936, 936, 161, 2581, 460, 13},
		"two-way-line-nondet": {8554, 18174, 21684, 8551, 1638, 1, 3640, 936, 936, 447, 3041, 1407, 28},
		"two-way-line-park":   {9646, 21606, 25116, 9643, 1638, 2, 3276, 936, 936, 447, 3051, 1407, 28},
	} {
		t.Run(name, func(t *testing.T) {
			if got := measure(t, name); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func measure(t *testing.T, name string) (n numbers) {
	i, err := Open(name)
	must(t, err)
	model, err := fs.ReadFile(i.FS(), ModelFile)
	must(t, err)
	property, err := fs.ReadFile(i.FS(), PropertyFile)
	must(t, err)
	task := task(t, model, property)
	policy, err := nnpolicy.LoadFS(task.Model, i.FS(), PolicyFile)
	must(t, err)
	sp, err := engine.NewSpace(t.Context(), task, engine.Options{Policy: policy})
	must(t, err)
	starts := startStates(t, i, task)

	e, err := engine.Explore(t.Context(), task, func(yield func([]jani.Value, error) bool) {
		for _, s := range starts {
			if !yield(s, nil) {
				return
			}
		}
	}, engine.Options{}, engine.ExploreOptions{})
	must(t, err)
	n.full, n.choices, n.branches = int(e.States), int(e.Choices), int(e.Branches)

	deviating, err := algorithms.NewDecider("local", sp, algorithms.Infinite)
	must(t, err)
	following, err := algorithms.NewDecider("local", sp, 0)
	must(t, err)
	safe := func(d algorithms.Decider, s engine.StateID) bool {
		a, err := d.Decide(t.Context(), s)
		must(t, err)
		return a.Verdict == algorithms.Safe
	}
	var ids []engine.StateID
	for _, values := range starts {
		s, err := sp.Intern(values)
		must(t, err)
		ids = append(ids, s)
		n.starts++
		if safe(deviating, s) {
			n.safeStarts++
		}
		if !safe(following, s) {
			n.failingStarts++
		}
	}

	all := func(s engine.StateID) (successors []engine.StateID) {
		actions, err := sp.NumActions(s)
		must(t, err)
		for a := range actions {
			successors = append(successors, outcomes(t, sp, s, a)...)
		}
		return successors
	}
	for _, s := range reach(t, sp, ids, all) {
		n.states++
		switch class, err := sp.Class(s); {
		case err != nil:
			t.Fatal(err)
		case class == engine.ClassUnsafe:
			n.unsafe++
		case class == engine.ClassGoal:
			n.goals++
		}
		if !safe(deviating, s) {
			n.notSafe++
		}
	}

	decided := func(s engine.StateID) []engine.StateID {
		if actions, err := sp.NumActions(s); err != nil || actions == 0 {
			must(t, err)
			return nil
		}
		a, err := sp.Decision(s)
		must(t, err)
		return outcomes(t, sp, s, a)
	}
	for _, s := range reach(t, sp, ids, decided) {
		n.policyStates++
		if !safe(deviating, s) {
			continue
		}
		if !safe(following, s) {
			n.bugs++
		}
		if class, _ := sp.Class(s); class == engine.ClassOrdinary &&
			slices.ContainsFunc(decided(s), func(s engine.StateID) bool { return !safe(deviating, s) }) {
			n.faults++
		}
	}
	return n
}

// startStates returns the states that satisfy the start condition of an instance: all
// of them are situations, as far as the condition is right.
func startStates(t *testing.T, i Instance, task *jani.Task) (starts [][]jani.Value) {
	p, _, _, err := family(t, i.Family).build(i.Params)
	must(t, err)
	l := newLine(p, i.Family == "two-way-line")
	l.situations(func(s situation) {
		values := make([]jani.Value, len(task.Model.Vars)) // not parked
		for i, n := range s.packages {
			values[i] = jani.Value(n)
		}
		for name, value := range map[string]int{truck: s.truck, velocity: s.velocity, loaded: s.loaded} {
			x, _ := task.Model.Variable(name)
			values[x] = jani.Value(value)
		}
		holds, err := task.Start.Cond.Eval(values)
		must(t, err)
		if holds.Bool() {
			starts = append(starts, values)
		}
	})
	return starts
}

// reach returns the states that are reachable from some without leaving unsafe states
// or goals.
func reach(t *testing.T, sp *engine.Space, from []engine.StateID, next func(engine.StateID) []engine.StateID) []engine.StateID {
	states, seen := slices.Clone(from), make(map[engine.StateID]bool)
	for _, s := range from {
		seen[s] = true
	}
	for k := 0; k < len(states); k++ {
		class, err := sp.Class(states[k])
		must(t, err)
		if class != engine.ClassOrdinary {
			continue
		}
		for _, s := range next(states[k]) {
			if !seen[s] {
				seen[s] = true
				states = append(states, s)
			}
		}
	}
	return states
}

func outcomes(t *testing.T, sp *engine.Space, s engine.StateID, action int) []engine.StateID {
	states, err := sp.Outcomes(s, action)
	must(t, err)
	return states
}
