package benchmarks

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
	"fuzzsafe/nnpolicy"
)

// state is a state of a little model, by the values of its variables.
type state [2]int

// opened returns the task of an instance and its policy.
func opened(t testing.TB, name string) (*jani.Task, *nnpolicy.Policy) {
	t.Helper()
	i, err := Open(name)
	must(t, err)
	model, err := fs.ReadFile(i.FS(), ModelFile)
	must(t, err)
	property, err := fs.ReadFile(i.FS(), PropertyFile)
	must(t, err)
	task := task(t, model, property)
	p, err := nnpolicy.LoadFS(task.Model, i.FS(), PolicyFile)
	must(t, err)
	if got, want := len(p.Outputs()), len(task.Model.Actions); got != want || len(p.Warnings) > 0 {
		t.Errorf("the policy has %d outputs for %d actions; warnings: %v", got, want, p.Warnings)
	}
	return task, p
}

// starts returns the start states of a task.
func starts(t testing.TB, task *jani.Task) (list [][]jani.Value) {
	t.Helper()
	all, err := algorithms.NewStarts(task.Model, task.Start, algorithms.StartsOptions{})
	must(t, err)
	for values, err := range all.All() {
		must(t, err)
		list = append(list, slices.Clone(values))
	}
	return list
}

// expected is what a family promises of a task. The states of safe are those that are
// neither unsafe nor goals.
type expected struct {
	states, choices, branches int // reachable from the starts; unsafe states and goals are expanded, too
	starts                    map[state]bool
	safe                      func(state) bool // of ordinary states
	policy                    func(state) string
}

// TestSeparatingFamilies compares the model of every family with what its text says about
// all reachable states, for every decider, and the network with the rule of the policy.
func TestSeparatingFamilies(t *testing.T) {
	for _, c := range []struct {
		name string
		want expected
	}{
		{"ladder:k=2", ladderWants(2)},
		{"ladder:k=5", ladderWants(5)},
		{"ladder:k=61", ladderWants(61)},
		{"ladder", ladderWants(1000)},
		{"cycle:n=2", cycleWants(2, 2)},
		{"cycle:n=7,period=3", cycleWants(7, 3)},
		{"cycle:n=60,period=1", cycleWants(60, 1)},
		{"cycle:n=61,period=7", cycleWants(61, 7)},
		{"cycle", cycleWants(1000, 1000)},
		{"wide:size=2,actions=3,outcomes=1", wideWants(2, 1, 3, 1)},
		{"wide:size=30,actions=7,outcomes=8", wideWants(30, 15, 7, 8)},
		{"wide:size=30,actions=6,outcomes=8", wideWants(30, 15, 6, 8)},
		{"wide:size=30,calm=30,actions=6,outcomes=8", wideWants(30, 30, 6, 8)},
		{"wide:size=40,calm=1,actions=12,outcomes=40", wideWants(40, 1, 12, 40)},
		{"wide:size=200", wideWants(200, 100, 10, 50)},
		{"corridor", corridorWants(t, Params{})},
		{"corridor:variant=once", corridorWants(t, Params{"variant": "once"})},
		{"corridor:length=2,walls=1,height=9", corridorWants(t, Params{"length": "2", "walls": "1", "height": "9"})},
		{"corridor:gust=1,gap=4,height=7,walls=59", corridorWants(t, Params{"gust": "1", "gap": "4", "height": "7", "walls": "59"})},
		{"corridor:gust=3,gap=11,height=25,walls=10,length=91,seed=7",
			corridorWants(t, Params{"gust": "3", "gap": "11", "height": "25", "walls": "10", "length": "91", "seed": "7"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			task, policy := opened(t, c.name)
			list := starts(t, task)
			explore := func(mode engine.ChoiceMode) engine.Exploration {
				e, err := engine.Explore(t.Context(), task, func(yield func([]jani.Value, error) bool) {
					for _, s := range list {
						if !yield(s, nil) {
							return
						}
					}
				}, engine.Options{Choice: mode}, engine.ExploreOptions{})
				must(t, err)
				return e
			}
			e := explore(engine.ByLabel)
			got := [3]int{int(e.States), int(e.Choices), int(e.Branches)}
			if want := [3]int{c.want.states, c.want.choices, c.want.branches}; got != want {
				t.Errorf("states, choices and branches are %v, want %v", got, want)
			}
			if e := explore(engine.ByEdge); int(e.States) != c.want.states || int(e.Choices) != c.want.choices {
				t.Errorf("with edges as actions there are %d states and %d choices, want the same", e.States, e.Choices)
			}

			sp, err := engine.NewSpace(t.Context(), task, engine.Options{Policy: policy})
			must(t, err)
			var ids []engine.StateID
			met := make(map[state]bool)
			for _, values := range list {
				s, err := sp.Intern(values)
				must(t, err)
				ids = append(ids, s)
				x := stateOf(sp, s)
				met[x] = true
				if !c.want.starts[x] {
					t.Errorf("%s is a start state", sp.Describe(s))
				}
			}
			if len(met) != len(c.want.starts) {
				t.Errorf("there are %d start states, want %d", len(met), len(c.want.starts))
			}
			wrong := 0
			for _, name := range algorithms.DeciderNames() {
				d, err := algorithms.NewDecider(name, sp, algorithms.Infinite)
				must(t, err)
				for _, s := range slices.Concat(ids, ordinary(t, sp, ids)) {
					a, err := d.Decide(t.Context(), s)
					must(t, err)
					if want := c.want.safe(stateOf(sp, s)); (a.Verdict == algorithms.Safe) != want && wrong < 5 {
						wrong++
						t.Errorf("%s: %s is %s, want safe: %t", name, sp.Describe(s), a.Verdict, want)
					}
				}
			}
			for _, s := range ordinary(t, sp, ids) {
				a, err := sp.Decision(s)
				must(t, err)
				if got, want := sp.ActionName(s, a), c.want.policy(stateOf(sp, s)); got != want && wrong < 5 {
					wrong++
					t.Errorf("in %s the policy says %s, want %s", sp.Describe(s), got, want)
				}
			}
		})
	}
}

func stateOf(sp *engine.Space, s engine.StateID) (x state) {
	k := 0
	for i, v := range sp.Values(s) {
		if sp.Model().Vars[i].Kind != jani.VarLocation {
			x[k] = int(v)
			k++
		}
	}
	return x
}

// ordinary returns the states that are reachable and neither unsafe nor goals.
func ordinary(t *testing.T, sp *engine.Space, from []engine.StateID) (list []engine.StateID) {
	for _, s := range reach(t, sp, from, func(s engine.StateID) (successors []engine.StateID) {
		actions, err := sp.NumActions(s)
		must(t, err)
		for a := range actions {
			successors = append(successors, outcomes(t, sp, s, a)...)
		}
		return successors
	}) {
		if class, err := sp.Class(s); err != nil || class == engine.ClassOrdinary {
			must(t, err)
			list = append(list, s)
		}
	}
	return list
}

func ladderWants(k int) expected {
	return expected{
		states: k + 2, choices: 3*k + 1, branches: 5*k + 1,
		starts: map[state]bool{{0}: true},
		safe:   func(state) bool { return true },
		policy: func(s state) string {
			switch {
			case s[0] == k:
				return slide
			case s[0] < 20 && s[0] < (k+1)/2:
				return climb
			}
			return dash
		},
	}
}

func cycleWants(n, period int) expected {
	return expected{
		states: 2*n + n/period, choices: 3 * n, branches: 4 * n,
		starts: map[state]bool{{0, onRing}: true, {0, onShoulder}: true},
		safe:   func(s state) bool { return s[1] == onRing },
		policy: func(s state) string {
			switch {
			case s[1] == onShoulder:
				return back
			case s[0] < 20 && s[0] < (n+1)/2:
				return walk
			}
			return stray
		},
	}
}

func wideWants(size, calm, actions, outcomes int) expected {
	w := expected{
		choices: (size - 1) * actions,
		starts:  make(map[state]bool),
		safe:    func(s state) bool { return s[0] < calm || actions >= outcomes-1 },
		policy: func(s state) string {
			if s[0] < calm {
				return row(1)
			}
			return row(actions)
		},
	}
	cells := map[int]bool{} // that are reachable
	for x := 1; x < size; x++ {
		w.starts[state{x}] = true
		cells[x] = true
		n := outcomes
		if x < calm {
			n = actions
		}
		for j := 1; j <= actions; j++ {
			to := map[int]bool{}
			for back := range n {
				to[max(0, x-j+back)] = true
				cells[max(0, x-j+back)] = true
			}
			w.branches += len(to)
		}
	}
	w.states = len(cells)
	return w
}

// corridorWants plays a corridor by the text of its Doc, with naive sets.
func corridorWants(t *testing.T, p Params) expected {
	all, err := corridor().complete(p)
	must(t, err)
	f, err := newFlight(all)
	must(t, err)
	crashed := func(s state) bool {
		x, y := s[0], s[1]
		return y < 0 || y >= f.height || slices.ContainsFunc(f.walls, func(w wall) bool {
			return w.x == x && (y < w.low || y >= w.low+f.gap)
		})
	}
	outcomes := func(s state, up bool) (list []state) {
		for gust := 0; gust <= f.gust; gust++ {
			to := state{s[0] + 1, s[1] + gust - f.gust - 1}
			if up {
				to[1] = s[1] + 1 + gust
			}
			list = append(list, to)
			if f.laps && to[0] == f.length {
				list = append(list, state{0, to[1]})
			}
		}
		return list
	}
	w := expected{starts: make(map[state]bool)}
	var todo []state
	for y := range f.height {
		w.starts[state{0, y}] = true
		todo = append(todo, state{0, y})
	}
	seen := make(map[state]bool) // walls are no obstacle here
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		if s[0] == f.length || s[1] < 0 || s[1] >= f.height {
			continue
		}
		for _, up := range []bool{true, false} {
			w.choices++
			w.branches += len(outcomes(s, up))
			todo = append(todo, outcomes(s, up)...)
		}
	}
	w.states = len(seen)

	lost := make(map[state]bool)
	for s := range seen {
		lost[s] = crashed(s)
	}
	isLost := func(s state) bool { return lost[s] }
	for changed := true; changed; {
		changed = false
		for s := range seen {
			if lost[s] || s[0] == f.length {
				continue
			}
			if slices.ContainsFunc(outcomes(s, true), isLost) && slices.ContainsFunc(outcomes(s, false), isLost) {
				lost[s], changed = true, true
			}
		}
	}
	w.safe = func(s state) bool { return !lost[s] }
	w.policy = func(s state) string {
		next := f.walls[len(f.walls)-1]
		for _, w := range slices.Backward(f.walls) {
			if w.x > s[0] {
				next = w
			}
		}
		if s[1] < next.low+f.gap/2+1 {
			return flap
		}
		return sink
	}
	return w
}

// Whatever the parameters of a corridor, the layout is as its text says, and there are
// start rows of both kinds.
func TestCorridorLayout(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for range 150 {
		length, gust := 2+r.IntN(60), 1+r.IntN(3)
		gap := 2*gust + 2 + r.IntN(4)
		height, n := gap+3+r.IntN(10), 1+r.IntN(length-1)
		p := Params{"seed": fmt.Sprint(r.IntN(1000)), "variant": []string{"laps", "once"}[r.IntN(2)]}
		for name, x := range map[string]int{"length": length, "gust": gust, "gap": gap, "height": height, "walls": n} {
			p[name] = fmt.Sprint(x)
		}
		all, err := corridor().complete(p)
		must(t, err)
		f, err := newFlight(all)
		must(t, err)
		if len(f.walls) != n || f.walls[0].x != 1 {
			t.Errorf("%v: walls are %v", p, f.walls)
		}
		for i, w := range f.walls {
			if w.low < 0 || w.low+gap > height || w.x >= length {
				t.Errorf("%v: wall %v", p, w)
			}
			if i > 0 {
				if d := w.x - f.walls[i-1].x; d != (length-1)/n && d != (length-1)/n+1 {
					t.Errorf("%v: walls %v and %v are not evenly spaced", p, f.walls[i-1], w)
				}
			}
		}
		c := corridorWants(t, p)
		safe := 0
		for s := range c.starts {
			near := f.walls[0].low-1 <= s[1] && s[1] <= f.walls[0].low+gap
			if c.safe(s) {
				safe++
				if !near {
					t.Errorf("%v: start row %d is safe with walls %v", p, s[1], f.walls)
				}
			}
		}
		if safe < 2*gust+2 || safe == height {
			t.Errorf("%v: %d of %d start rows are safe with walls %v", p, safe, height, f.walls)
		}
	}
}

// The policy of every family has bugs among the default start states.
func TestSeparatingPolicies(t *testing.T) {
	for _, name := range []string{"ladder", "corridor", "wide", "cycle"} {
		task, policy := opened(t, name)
		sp, err := engine.NewSpace(t.Context(), task, engine.Options{Policy: policy})
		must(t, err)
		bugs := 0
		for _, values := range starts(t, task) {
			s, err := sp.Intern(values)
			must(t, err)
			if decided(t, sp, algorithms.Infinite, s) == algorithms.Safe && decided(t, sp, 0, s) == algorithms.Unsafe {
				bugs++
			}
		}
		if bugs == 0 {
			t.Errorf("%s: the policy is safe wherever a policy can be", name)
		}
	}
}

func decided(t *testing.T, sp *engine.Space, r algorithms.Radius, s engine.StateID) algorithms.Verdict {
	d, err := algorithms.NewDecider("local", sp, r)
	must(t, err)
	a, err := d.Decide(t.Context(), s)
	must(t, err)
	return a.Verdict
}
