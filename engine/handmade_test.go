package engine_test

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// expectedSpace is what a hand-made model says about its state space in edge mode. Unsafe
// counts the reachable states that satisfy the model's x-unsafe, or the first of its
// properties.
type expectedSpace struct {
	States, Choices, Branches, Deadlocks, Unsafe int64
}

// handmade reads a model and what it says about itself.
func handmade(t *testing.T, file string, expected any) (*jani.Source, *jani.Document, *jani.Model) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, expected)
	}
	if err != nil {
		t.Fatal(err)
	}
	src := jani.NewSource(file, text)
	doc, err := jani.Parse(src, jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := jani.Compile(doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	return src, doc, m
}

// Models with constructs that published benchmarks do not use, small enough to be
// enumerated by hand.
func TestHandmade(t *testing.T) {
	files, err := filepath.Glob("testdata/handmade/*.jani")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d models, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var want struct {
				Unsafe   string         `json:"x-unsafe"`
				Expected *expectedSpace `json:"x-expected"`
				Timed    *expectedSpace `json:"x-expected-without-maximal-progress"`
			}
			_, doc, m := handmade(t, file, &want)
			if want.Expected == nil {
				t.Fatal("no expected state space")
			}
			plan := &jani.Planning{}
			if len(doc.Properties) > 0 {
				if plan, _, err = doc.Properties[0].Planning(nil, jani.Limits{}); err != nil {
					t.Fatal(err)
				}
			}
			if want.Unsafe != "" {
				e, err := jani.ParseInfix("x-unsafe", want.Unsafe, nil, jani.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				plan.Unsafe = &jani.Condition{Exp: e}
			}
			task, err := m.Task(want.Unsafe, plan)
			if err != nil {
				t.Fatal(err)
			}
			check := func(options engine.Options, want expectedSpace) {
				t.Helper()
				r, err := engine.Explore(context.Background(), task, every(t, m), options, engine.ExploreOptions{})
				if err != nil {
					t.Fatal(err)
				}
				got := expectedSpace{r.States, r.Choices, r.Branches, r.Deadlocks, unsafeStates(t, task, options)}
				if got != want {
					t.Errorf("states, choices, branches, deadlocks, unsafe:\ngot  %v\nwant %v", got, want)
				}
			}
			check(engine.Options{Choice: engine.ByEdge}, *want.Expected)
			timed := want.Expected
			if want.Timed != nil {
				timed = want.Timed
			}
			check(engine.Options{Choice: engine.ByEdge, NoMaximalProgress: true}, *timed)
		})
	}
}

// Models in which a state fails: the enumeration ends with the error that the model names,
// and the interpreter finds an error in the same states.
func TestFailing(t *testing.T) {
	files, err := filepath.Glob("testdata/failing/*.jani")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d models, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var want struct {
				Error string `json:"x-error"`
			}
			src, _, m := handmade(t, file, &want)
			if want.Error == "" {
				t.Fatal("no expected error")
			}
			_, err := engine.Explore(context.Background(), &jani.Task{Model: m}, every(t, m), engine.Options{}, engine.ExploreOptions{})
			if err == nil || !strings.Contains(err.Error(), want.Error) {
				t.Errorf("\ngot  %v\nwant %s", err, want.Error)
			}
			if failed := agree(t, src, nil, 10); failed == 0 {
				t.Error("no state ends in an error")
			}
		})
	}
}

// every yields the initial states of a model with few values.
func every(t *testing.T, m *jani.Model) iter.Seq2[[]jani.Value, error] {
	t.Helper()
	return func(yield func([]jani.Value, error) bool) {
		if m.Initial.States != nil {
			for _, s := range m.Initial.States {
				if !yield(s, nil) {
					return
				}
			}
			return
		}
		values := make([]jani.Value, len(m.Vars))
		var try func(i int) bool
		try = func(i int) bool {
			if i == len(values) {
				is, err := m.Initial.Cond.Eval(values)
				return err == nil && !is.Bool() || yield(append([]jani.Value(nil), values...), err)
			}
			for v := m.Vars[i].Lower; v <= m.Vars[i].Upper; v++ {
				if values[i] = jani.Value(v); !try(i + 1) {
					return false
				}
			}
			return true
		}
		try(0)
	}
}

// unsafeStates counts the reachable unsafe states.
func unsafeStates(t *testing.T, task *jani.Task, options engine.Options) (unsafe int64) {
	t.Helper()
	sp, err := engine.NewSpace(context.Background(), task, options)
	if err != nil {
		t.Fatal(err)
	}
	for values, err := range every(t, task.Model) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sp.Intern(values); err != nil {
			t.Fatal(err)
		}
	}
	for s := engine.StateID(0); int(s) < sp.NumStates(); s++ {
		class, err := sp.Class(s)
		if err != nil {
			t.Fatal(err)
		}
		if class == engine.ClassUnsafe {
			unsafe++
		}
		n, err := sp.NumActions(s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if _, err := sp.Outcomes(s, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	return unsafe
}
