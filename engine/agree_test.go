package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
	"fuzzsafe/jani/interp"
)

// The compiled transition generator is compared with the tree-walking interpreter,
// state by state: choices with their edges, successors with their order and
// multiplicity, actions and outcomes in both choice modes, and errors.

// source reads a file of the published data; the test is skipped where it is absent.
func source(t testing.TB, path ...string) *jani.Source {
	t.Helper()
	name := filepath.Join(path...)
	text, err := os.ReadFile(filepath.Join("../../shared/data", name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no data: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return jani.NewSource(name, text)
}

// parameters returns literals for NAME=VALUE texts.
func parameters(t testing.TB, texts ...string) map[string]*jani.Expr {
	t.Helper()
	given := map[string]*jani.Expr{}
	for _, text := range texts {
		name, value, err := jani.ParseConstant(text)
		if err != nil {
			t.Fatal(err)
		}
		given[name] = value
	}
	return given
}

// instance is a planning model with its task.
type instance struct {
	doc   *jani.Document
	given map[string]*jani.Expr
	task  *jani.Task
}

// planning reads a published planning model with the first property of its file.
func planning(t testing.TB, name string) *instance {
	t.Helper()
	p := &instance{}
	if name == "blocksworld_4_3" {
		p.given = parameters(t, "failing_probability=0.5", "item_cost_bound=10")
	}
	src := source(t, "planning", name, "model.jani")
	properties, err := jani.ParseProperties(source(t, "planning", name, "property.jani"), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	plan, _, err := properties[0].Planning(nil, jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if p.doc, err = jani.Parse(src, jani.Limits{}); err != nil {
		t.Fatal(err)
	}
	m, err := jani.Compile(p.doc, p.given)
	if err != nil {
		t.Fatal(err)
	}
	if p.task, err = m.Task(properties[0].Name, plan); err != nil {
		t.Fatal(err)
	}
	return p
}

// twins holds one model in the interpreter and in Spaces of both choice modes.
type twins struct {
	model           *jani.Model
	in              *interp.Interp
	byEdge, byLabel *engine.Space
	// dropped says that some synchronisation can never happen, since a participant has
	// no edge for it or only constantly false guards. The generator leaves it out; the
	// interpreter evaluates the guards of the participants before.
	dropped bool
	// impatient says that races take place in any state of an ma.
	impatient bool
}

func newTwins(doc *jani.Document, given map[string]*jani.Expr, task *jani.Task) (*twins, error) {
	tw := &twins{model: task.Model}
	for _, sync := range doc.System.Syncs {
		for i, label := range sync.Participants {
			has := func(e jani.ModelEdge) bool { return e.Label == label.Name }
			tw.dropped = tw.dropped || label.Name != "" && !slices.ContainsFunc(tw.model.Parts[i].Edges, has)
		}
	}
	var err error
	if tw.in, err = interp.New(doc, given); err != nil {
		return nil, err
	}
	ctx := context.Background()
	if tw.byEdge, err = engine.NewSpace(ctx, task, engine.Options{Choice: engine.ByEdge}); err != nil {
		return nil, err
	}
	tw.byLabel, err = engine.NewSpace(ctx, task, engine.Options{})
	return tw, err
}

// withoutMaximalProgress returns twins that let races take place in any state.
func (tw *twins) withoutMaximalProgress() (*twins, error) {
	to := *tw
	to.impatient = true
	to.in = tw.in.WithoutMaximalProgress()
	ctx, task := context.Background(), tw.byEdge.Task()
	var err error
	if to.byEdge, err = engine.NewSpace(ctx, task, engine.Options{Choice: engine.ByEdge, NoMaximalProgress: true}); err != nil {
		return nil, err
	}
	to.byLabel, err = engine.NewSpace(ctx, task, engine.Options{NoMaximalProgress: true})
	return &to, err
}

// compare expands a state both ways. It returns the successors by the interpreter, and
// its error if both fail; differ says where they differ.
func (tw *twins) compare(values []jani.Value) (all [][]jani.Value, failed, differ error) {
	state, err := tw.in.State(values)
	if err != nil {
		return nil, nil, fmt.Errorf("the interpreter does not take the state: %w", err)
	}
	want, wantErr := tw.in.Choices(state)
	e, err := tw.byEdge.Intern(values)
	if err != nil {
		return nil, nil, err
	}
	l, err := tw.byLabel.Intern(values)
	if err != nil {
		return nil, nil, err
	}
	if back := tw.byEdge.Values(e); !slices.Equal(back, values) {
		return nil, nil, fmt.Errorf("stored values come back as %v", back)
	}
	raw, gotErr := tw.byEdge.RawChoices(e)
	got := tw.raced(raw)
	if wantErr != nil && gotErr == nil && tw.dropped {
		return nil, wantErr, nil
	}
	if (wantErr == nil) != (gotErr == nil) {
		return nil, nil, fmt.Errorf("the interpreter's error is %v, the generator's is %v", wantErr, gotErr)
	}
	if wantErr != nil {
		for _, sp := range []struct {
			*engine.Space
			id engine.StateID
		}{{tw.byEdge, e}, {tw.byLabel, l}} {
			if _, err := outcomes(sp.Space, sp.id); err == nil {
				return nil, nil, fmt.Errorf("the space has no error, the interpreter has %v", wantErr)
			}
		}
		return nil, wantErr, nil
	}
	if len(got) != len(want) {
		return nil, nil, fmt.Errorf("%d choices, the interpreter has %d", len(got), len(want))
	}
	var edge, label []action // what the spaces should say
	for i, c := range want {
		var successors [][]jani.Value
		for _, o := range c.Outcomes {
			successors = append(successors, tw.in.Values(o.State))
		}
		all = append(all, successors...)
		w := engine.RawChoice{Action: tw.action(c.Action), Edges: []string{}, Successors: successors}
		for _, ref := range c.Edges {
			w.Edges = append(w.Edges, fmt.Sprintf("automaton %q, edge %d", tw.model.Parts[ref.Instance].Name, ref.Edge))
		}
		if c.Race { // its edges have no order
			w.Action = tw.model.Race
			slices.Sort(w.Edges)
			slices.SortFunc(successors, slices.Compare[[]jani.Value])
		}
		if !reflect.DeepEqual(got[i], w) {
			return nil, nil, fmt.Errorf("choice %d is\n%v, the interpreter has\n%v", i, got[i], w)
		}
		edge = append(edge, action{w.Action, appendNew(nil, successors)})
		if n := len(label); n > 0 && label[n-1].label == w.Action {
			label[n-1].outcomes = appendNew(label[n-1].outcomes, successors)
		} else {
			label = append(label, action{w.Action, appendNew(nil, successors)})
		}
	}
	if have, err := tw.outcomes(tw.byEdge, e); err != nil || !reflect.DeepEqual(have, edge) {
		return nil, nil, fmt.Errorf("edge mode has\n%v, error %v, the interpreter\n%v", have, err, edge)
	}
	if have, err := tw.outcomes(tw.byLabel, l); err != nil || !reflect.DeepEqual(have, label) {
		return nil, nil, fmt.Errorf("label mode has\n%v, error %v, the interpreter\n%v", have, err, label)
	}
	return all, nil, nil
}

// raced makes one choice of the Markovian ones, which are last, and leaves it out where it
// waits for the others. Edges that only input-enable implies are not named.
func (tw *twins) raced(raw []engine.RawChoice) (list []engine.RawChoice) {
	for _, c := range raw {
		c.Edges = slices.DeleteFunc(c.Edges, func(name string) bool { return strings.HasSuffix(name, ", edge -1") })
		last := len(list) - 1
		switch race := c.Action == tw.model.Race; {
		case race && last >= 0 && list[last].Action == c.Action:
			list[last].Edges = append(list[last].Edges, c.Edges...)
			list[last].Successors = append(list[last].Successors, c.Successors...)
		case race && last >= 0 && tw.model.Type == "ma" && !tw.impatient:
		default:
			list = append(list, c)
		}
	}
	if last := len(list) - 1; last >= 0 && list[last].Action == tw.model.Race {
		slices.Sort(list[last].Edges)
		slices.SortFunc(list[last].Successors, slices.Compare[[]jani.Value])
	}
	return list
}

func (tw *twins) action(label string) jani.ActionID {
	if label == "" {
		return tw.model.Silent
	}
	return jani.ActionID(slices.Index(tw.model.Actions, label))
}

// action is an applicable action with its outcomes.
type action struct {
	label    jani.ActionID
	outcomes [][]jani.Value
}

// appendNew appends the states that are not in list yet.
func appendNew(list, states [][]jani.Value) [][]jani.Value {
	for _, s := range states {
		if !slices.ContainsFunc(list, func(x []jani.Value) bool { return slices.Equal(x, s) }) {
			list = append(list, s)
		}
	}
	return list
}

// outcomes returns what a Space knows about a state.
func outcomes(sp *engine.Space, s engine.StateID) ([]action, error) {
	n, err := sp.NumActions(s)
	if err != nil {
		return nil, err
	}
	var list []action
	for i := range n {
		ids, err := sp.Outcomes(s, i)
		if err != nil {
			return nil, err
		}
		a := action{label: sp.Action(s, i)}
		for _, id := range ids {
			a.outcomes = append(a.outcomes, sp.Values(id))
		}
		list = append(list, a)
	}
	return list, nil
}

// outcomes returns what a Space knows about a state; the outcomes of a race are sorted.
func (tw *twins) outcomes(sp *engine.Space, s engine.StateID) ([]action, error) {
	list, err := outcomes(sp, s)
	for _, a := range list {
		if a.label == tw.model.Race {
			slices.SortFunc(a.outcomes, slices.Compare[[]jani.Value])
		}
	}
	return list, err
}

// walk compares up to limit states, breadth or depth first from the given ones, and
// returns how many it compared and how many of them end in an error both ways.
func (tw *twins) walk(start [][]jani.Value, limit int, deep bool) (states, failed int, err error) {
	known := map[string]bool{}
	var open [][]jani.Value
	add := func(list [][]jani.Value) {
		for _, values := range list {
			if key := fmt.Sprint(values); len(known) < limit && !known[key] {
				known[key] = true
				open = append(open, values)
			}
		}
	}
	add(start)
	for len(open) > 0 {
		values := open[0]
		if deep {
			values = open[len(open)-1]
			open = open[:len(open)-1]
		} else {
			open = open[1:]
		}
		next, bothFail, err := tw.compare(values)
		if err != nil {
			return states, failed, fmt.Errorf("state %s: %w", tw.model.Describe(values), err)
		}
		states++
		if bothFail != nil {
			failed++
		}
		add(next)
	}
	return states, failed, nil
}

// Reachable from the initial state of each published model, or from its start
// condition where the initial state does not lead to enough.
func TestAgreePlanning(t *testing.T) {
	for _, c := range []struct {
		name   string
		starts int // drawn from the property's start condition
	}{
		{"blocksworld_4_3", 0},
		{"blocksworld_6_5", 0},
		{"bouncing_ball", 1000},
		{"inverted_pendulum", 20},
		{"linetrack", 200},
		{"mod_linetrack_icy_park", 200},
		{"one_way_line_15_10", 1000},
		{"one_way_line_15_10_nondet", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planning(t, c.name)
			tw, err := newTwins(p.doc, p.given, p.task)
			if err != nil {
				t.Fatal(err)
			}
			start := slices.Clone(p.task.Model.Initial.States)
			if c.starts > 0 {
				set, err := algorithms.NewStarts(p.task.Model, p.task.Start, algorithms.StartsOptions{})
				if err != nil {
					t.Fatal(err)
				}
				rng := rand.New(rand.NewPCG(1, 2))
				for range c.starts {
					values, err := set.Draw(rng)
					if err != nil {
						t.Fatal(err)
					}
					start = append(start, values)
				}
			}
			for _, w := range []struct {
				deep bool
				want int
			}{{false, 10000}, {true, 1000}} {
				states, failed, err := tw.walk(start, w.want, w.deep)
				t.Logf("deep %v: %d states from %d, %d of them with an error", w.deep, states, len(start), failed)
				if err != nil {
					t.Fatal(err)
				}
				if states != w.want {
					t.Errorf("%d states, want %d", states, w.want)
				}
				// Only the pendulum leaves its bounds, and not in a few steps.
				if leaves := w.deep && c.name == "inverted_pendulum"; leaves != (failed > 0) {
					t.Errorf("%d states end in an error", failed)
				}
			}
		})
	}
}

// agree compares up to limit states, breadth first from all initial ones. It returns the
// number of states in which both fail.
func agree(t *testing.T, src *jani.Source, given map[string]*jani.Expr, limit int) (failing int) {
	t.Helper()
	doc, err := jani.Parse(src, jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := jani.Compile(doc, given)
	if err != nil {
		t.Fatal(err)
	}
	tw, err := newTwins(doc, given, &jani.Task{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	initial, err := tw.in.InitialStates(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	start, err := tw.initial(initial)
	if err != nil {
		t.Fatal(err)
	}
	all := []*twins{tw}
	if m.Type == "ma" {
		impatient, err := tw.withoutMaximalProgress()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, impatient)
	}
	for _, tw := range all {
		states, failed, err := tw.walk(start, limit, false)
		t.Logf("%d states, %d of them with an error", states, failed)
		if err != nil {
			t.Fatal(err)
		}
		if states == 0 {
			t.Error("no states")
		}
		failing += failed
	}
	return failing
}

// The first states of each model with published state counts.
func TestAgreePublished(t *testing.T) {
	for _, p := range publishedModels(t) {
		t.Run(p.File, func(t *testing.T) {
			if failed := agree(t, source(t, "qvbs", p.File), p.given(t), 2000); failed > 0 {
				t.Errorf("%d states end in an error", failed)
			}
		})
	}
}

// All states of the models that were made by hand.
func TestAgreeHandmade(t *testing.T) {
	files, err := filepath.Glob("testdata/handmade/*.jani")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d models, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if failed := agree(t, jani.NewSource(file, text), nil, 2000); failed > 0 {
				t.Errorf("%d states end in an error", failed)
			}
		})
	}
}

// initial compares the set of initial states with those that the interpreter finds,
// and, if it is given by a condition, states that differ from these in one variable.
func (tw *twins) initial(list []interp.State) ([][]jani.Value, error) {
	var states [][]jani.Value
	known := map[string]bool{}
	for _, s := range list {
		states = append(states, tw.in.Values(s))
		known[fmt.Sprint(tw.in.Values(s))] = true
	}
	set := tw.model.Initial
	if set.States != nil {
		if !reflect.DeepEqual(set.States, states) {
			return nil, fmt.Errorf("initial states %v, the interpreter has %v", set.States, states)
		}
		return states, nil
	}
	check := func(values []jani.Value) error {
		if is, err := set.Cond.Eval(values); err != nil || is.Bool() != known[fmt.Sprint(values)] {
			return fmt.Errorf("the condition for initial states is %v, error %v, in %v", is, err, values)
		}
		return nil
	}
	for _, s := range states {
		if err := check(s); err != nil {
			return nil, err
		}
		for i, x := range tw.model.Vars {
			for v := x.Lower; v <= x.Upper && v-x.Lower < 10 && x.Finite(); v++ {
				other := slices.Clone(s)
				other[i] = jani.Value(v)
				if err := check(other); err != nil {
					return nil, err
				}
			}
		}
	}
	return states, nil
}

// A synchronisation of Markovian and other edges becomes several, with parts of the edges
// of a label each. Here they are too many to be listed.
func TestAgreeLazyRace(t *testing.T) {
	var variables, automata []any
	for i := range 3 {
		name := string(rune('p' + i))
		variables = append(variables, object{"name": name, "initial-value": 0,
			"type": object{"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 11}})
		var edges []any
		for k := range 12 {
			e := object{"location": "l", "action": "a", "guard": object{"exp": op("≥", op("+", name, k), 7)},
				"destinations": []any{object{"location": "l", "assignments": []any{object{"ref": name, "value": k}}}}}
			if (k+i)%3 == 0 {
				e["rate"] = object{"exp": k + 1}
			}
			edges = append(edges, e)
		}
		automata = append(automata, object{"name": name, "locations": []any{object{"name": "l"}}, "initial-locations": []any{"l"}, "edges": edges})
	}
	for _, typ := range []string{"ma", "ctmc"} {
		text, err := json.Marshal(object{"jani-version": 1, "name": "m", "type": typ, "actions": []any{object{"name": "a"}},
			"variables": variables, "automata": automata, "system": object{
				"elements": []any{object{"automaton": "p"}, object{"automaton": "q"}, object{"automaton": "r"}},
				"syncs":    []any{object{"synchronise": []any{"a", "a", "a"}, "result": "a"}}}})
		if err != nil {
			t.Fatal(err)
		}
		if failed := agree(t, jani.NewSource(typ, text), nil, 20); failed > 0 {
			t.Errorf("%s: %d states end in an error", typ, failed)
		}
	}
}
