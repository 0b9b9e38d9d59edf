package benchmarks_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/benchmarks"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
	"fuzzsafe/jani/interp"
)

// The first states of every family, from the initial state and some start states, have the
// same actions and outcomes by the tree-walking interpreter, which also agrees on what is a
// start state, unsafe and a goal.
func TestFamiliesAgreeWithInterpreter(t *testing.T) {
	const (
		limit = 300 // states
		draws = 20
	)
	for _, f := range benchmarks.Families() {
		t.Run(f.Name, func(t *testing.T) {
			model, property, err := f.Generate(nil)
			must(t, err)
			doc, err := jani.Parse(jani.NewSource(benchmarks.ModelFile, model), jani.Limits{})
			must(t, err)
			m, err := jani.Compile(doc, nil)
			must(t, err)
			props, err := jani.ParseProperties(jani.NewSource(benchmarks.PropertyFile, property), jani.Limits{})
			must(t, err)
			plan, warnings, err := props[0].Planning(nil, jani.Limits{})
			must(t, err)
			if len(doc.Warnings)+len(m.Warnings)+len(warnings) > 0 {
				t.Errorf("warnings: %v %v %v", doc.Warnings, m.Warnings, warnings)
			}
			task, err := m.Task(props[0].Name, plan)
			must(t, err)
			in, err := interp.New(doc, nil)
			must(t, err)
			sp, err := engine.NewSpace(t.Context(), task, engine.Options{})
			must(t, err)

			var open []engine.StateID
			seen := make(map[engine.StateID]bool)
			add := func(values []jani.Value) {
				s, err := sp.Intern(values)
				must(t, err)
				if !seen[s] {
					seen[s] = true
					open = append(open, s)
				}
			}
			initial, err := in.InitialStates(1)
			must(t, err)
			add(in.Values(initial[0]))
			drawn := 0
			for i, set := range []jani.StateSet{task.Model.Initial, task.Start} {
				all, err := algorithms.NewStarts(task.Model, set, algorithms.StartsOptions{})
				must(t, err)
				for k := range draws {
					values, err := all.Draw(rand.New(rand.NewPCG(uint64(k), 0)))
					must(t, err)
					state, err := in.State(values)
					must(t, err)
					if is, err := in.HoldsCondition(plan.Start, state); i == 1 && (err != nil || !is) {
						t.Errorf("%s is no start state (%v)", task.Model.Describe(values), err)
					}
					add(values)
					drawn++
				}
			}
			if drawn != 2*draws {
				t.Errorf("%d states drawn", drawn)
			}
			for k := 0; k < min(len(open), limit); k++ {
				values := sp.Values(open[k])
				state, err := in.State(values)
				must(t, err)
				choices, err := in.Choices(state)
				must(t, err)
				want := make(map[string]map[string]bool) // outcomes by action
				for _, c := range choices {
					if want[c.Action] == nil {
						want[c.Action] = make(map[string]bool)
					}
					for _, o := range c.Outcomes {
						want[c.Action][fmt.Sprint(in.Values(o.State))] = true
					}
				}
				n, err := sp.NumActions(open[k])
				must(t, err)
				if n != len(want) {
					t.Fatalf("in %s there are %d actions, the interpreter has %d", sp.Describe(open[k]), n, len(want))
				}
				for a := range n {
					action := sp.ActionName(open[k], a)
					to, err := sp.Outcomes(open[k], a)
					must(t, err)
					if len(to) != len(want[action]) ||
						slices.ContainsFunc(to, func(o engine.StateID) bool { return !want[action][fmt.Sprint(sp.Values(o))] }) {
						t.Fatalf("in %s %s has other outcomes than the interpreter's %v", sp.Describe(open[k]), action, want[action])
					}
					for _, o := range to {
						add(sp.Values(o))
					}
				}
				unsafe, err := in.HoldsCondition(plan.Unsafe, state)
				must(t, err)
				goal, err := in.HoldsCondition(plan.Goal, state)
				must(t, err)
				class, err := sp.Class(open[k])
				must(t, err)
				if (class == engine.ClassUnsafe) != unsafe || (class == engine.ClassGoal) != (goal && !unsafe) {
					t.Fatalf("%s is of class %v; by the interpreter it is unsafe: %t, a goal: %t", sp.Describe(open[k]), class, unsafe, goal)
				}
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
