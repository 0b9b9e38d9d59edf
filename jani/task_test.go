package jani

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// plan reads a planning property.
func plan(t testing.TB, text string) *Planning {
	t.Helper()
	list, err := ParseProperties(NewSource("p.jani", []byte(text)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	plan, _, err := list[0].Planning(files{}.open, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// A state of family: g, h, m, then location, x and g of p, location and y of q, location,
// x and g of p#2.
func familyState(g, h Value, p, p2 Value) []Value {
	return []Value{g, h, 1, 1, 0, 1, p, RealValue(1), 1, 0, 7, p2, RealValue(1), 1}
}

// What names and locations mean in conditions: each condition with the states of a few
// in which it holds.
func TestTaskConditions(t *testing.T) {
	m := mustBuild(t, family)
	states := [][]Value{familyState(2, 0, 1, 1), familyState(2, 1, 0, 1), familyState(-1, 3, 1, 0), familyState(4, 3, 0, 0)}
	for _, c := range []struct{ reach, want string }{
		{`true`, "0 1 2 3"},
		{`{"op":"=","left":"g","right":2}`, "0 1"},
		{`{"op":"=","left":"h","right":3}`, "2 3"},
		{`"p.g"`, "0 1 2 3"},
		{`{"op":"=","left":"y","right":7}`, "0 1 2 3"},
		{`{"op":"<","left":{"op":"+","left":"p.x","right":"p#2.x"},"right":2}`, ""},
		{`{"op":"aa","exp":{"op":"aa","exp":"m","index":1},"index":0}`, ""},
		{`{"op":"aa","exp":{"op":"aa","exp":"m","index":{"op":"-","left":"g","right":2}},"index":0}`, "error"},
		{`{"op":"state-condition","locations":[{"automaton":"p","index":0,"location":"l0"}]}`, "1 3"},
		{`{"op":"state-condition","locations":[{"automaton":"p","index":2,"location":"l0"}]}`, "2 3"},
		{`{"op":"state-condition","locations":[{"automaton":"p#2","location":"l0"}]}`, "2 3"},
		{`{"op":"state-condition","exp":{"op":"=","left":"g","right":4},"locations":[{"automaton":"p","index":0,"location":"l0"},{"automaton":"p","index":2,"location":"l0"}]}`, "3"},
		{`{"op":"state-condition","locations":[{"automaton":"q","location":"only"}]}`, "0 1 2 3"},
		{`{"op":"states-values","values":[]}`, ""},
		{`{"op":"states-values","values":[{"variables":[{"var":"h","value":0}]},{"variables":[{"var":"h","value":3},{"var":"g","value":4}],
			"locations":[{"automaton":"p","index":0,"location":"l0"},{"automaton":"p","index":2,"location":"l0"}]}]}`, "0 3"},
	} {
		task, err := m.Task("safety", plan(t, `{"op":"PA","reach":`+c.reach+`}`))
		if err != nil {
			t.Errorf("%s: %v", c.reach, err)
			continue
		}
		if task.Model != m || task.Name != "safety" || task.Goal != nil || !reflect.DeepEqual(task.Start, m.Initial) {
			t.Errorf("%s: %+v", c.reach, task)
		}
		var holds []string
		for i, s := range states {
			v, err := task.Unsafe.Eval(s)
			if err != nil {
				holds = []string{"error"}
				break
			}
			if v.Bool() {
				holds = append(holds, fmt.Sprint(i))
			}
		}
		if got := strings.Join(holds, " "); got != c.want {
			t.Errorf("%s holds in %s, want %s", c.reach, got, c.want)
		}
	}
}

func TestTaskParts(t *testing.T) {
	m := mustBuild(t, family)
	task, err := m.Task("p", plan(t, `{"op":"PA","start":{"op":"states-values","values":[{"variables":[{"var":"h","value":1}],"locations":[{"automaton":"p","index":0,"location":"l0"}]},
		{"variables":[{"var":"h","value":0},{"var":"x","automaton":"p","index":2,"value":3},{"var":"g","automaton":"p#2","value":false},{"var":"m[1][0]","value":true},{"var":"y","value":-1}]}]},
		"objective":{"op":"objective","goal":{"op":"=","left":"g","right":4}}}`))
	if err != nil {
		t.Fatal(err)
	}
	first, second := familyState(2, 1, 0, 1), familyState(2, 0, 1, 1)
	second[12], second[13], second[4], second[10] = RealValue(3), 0, 1, -1
	if want := [][]Value{first, second}; !reflect.DeepEqual(task.Start.States, want) || task.Start.Cond != nil {
		t.Errorf("start %v, want %v", task.Start.States, want)
	}
	if task.Unsafe != nil || task.Goal == nil {
		t.Errorf("unsafe %v, goal %v", task.Unsafe, task.Goal)
	}
	task, err = m.Task("p", plan(t, `{"start":{"op":"≥","left":"h","right":2}}`))
	if err != nil || task.Start.States != nil || tree(task.Start.Cond.Args[1]) != "2" {
		t.Errorf("start %+v, error %v", task.Start, err)
	}
}

func TestTaskErrors(t *testing.T) {
	m := mustBuild(t, family)
	list := func(state string) string { return `"start":{"op":"states-values","values":[` + state + `]}` }
	where := func(location string) string { return `"reach":{"op":"state-condition","locations":[` + location + `]}` }
	for _, c := range []struct{ part, want string }{
		{`"reach":"z"`, `unsafe condition: "z" is not declared [at reach]`},
		{`"reach":"y1"`, `unsafe condition: "y1" is not declared (did you mean "y"?) [at reach]`},
		{`"reach":"x"`, `unsafe condition: "x" is not declared [at reach]`}, // two automata have it
		{`"reach":"p.y"`, `unsafe condition: "p.y" is not declared (did you mean "p.g"?) [at reach]`},
		{`"reach":"g"`, `unsafe condition: the value has type int where bool is needed [at reach]`},
		{`"reach":"m"`, `unsafe condition: an array stands where a single value is needed [at reach]`},
		{`"goal":{"op":"∧","left":true,"right":1}`, `goal condition: operator ∧ needs bool, not int [at goal.right]`},
		{`"start":7`, `start condition: the value has type int where bool is needed [at start]`},
		{where(`{"automaton":"r","location":"l0"}`), `unsafe condition: the system has no automaton "r" [at reach.locations[0]]`},
		{where(`{"automaton":"p","location":"l0"}`), `unsafe condition: automaton "p" stands several times in the system (give its place, one of [0 2], as "index") [at reach.locations[0]]`},
		{where(`{"automaton":"p","index":1,"location":"l0"}`), `unsafe condition: automaton "p" stands several times in the system (give its place, one of [0 2], as "index") [at reach.locations[0]]`},
		{where(`{"automaton":"q","location":"onyl"}`), `unsafe condition: automaton "q" has no location "onyl" (did you mean "only"?) [at reach.locations[0]]`},
		{list(``), `start condition: the list of states is empty [at start]`},
		{list(`{}`), `start condition: a listed state gives no value to "h", which has no initial value [at start.values[0]]`},
		{list(`{"variables":[{"var":"h","value":4}]}`), `start condition: the variable "h" gets 4, outside its bounds 0 to 3 [at start.values[0].variables[0].value]`},
		{list(`{"variables":[{"var":"h","value":1.5}]}`), `start condition: the variable "h" gets the real 1.5 [at start.values[0].variables[0].value]`},
		{list(`{"variables":[{"var":"h","value":true}]}`), `start condition: the variable "h" gets a value of type bool [at start.values[0].variables[0].value]`},
		{list(`{"variables":[{"var":"h","value":"g"}]}`), `start condition: the value must be constant [at start.values[0].variables[0].value]`},
		{list(`{"variables":[{"var":"hh","value":1}]}`), `start condition: the model has no variable "hh" (did you mean "h"?) [at start.values[0].variables[0].var]`},
		{list(`{"variables":[{"var":"x","value":1}]}`), `start condition: the model has no variable "x" (several automata have it: write automaton.x) [at start.values[0].variables[0].var]`},
		{list(`{"variables":[{"var":"m","value":true}]}`), `start condition: the model has no variable "m" [at start.values[0].variables[0].var]`},
		{list(`{"variables":[{"var":"y","automaton":"p","index":0,"value":1}]}`), `start condition: the model has no variable "p.y" (did you mean "p.x"?) [at start.values[0].variables[0].var]`},
		{list(`{"variables":[{"var":"x","automaton":"p","value":1}]}`), `start condition: automaton "p" stands several times in the system (give its place, one of [0 2], as "index") [at start.values[0].variables[0].var]`},
		{list(`{"locations":[{"automaton":"q","location":"m"}]}`), `start condition: automaton "q" has no location "m" [at start.values[0].locations[0]]`},
	} {
		_, err := m.Task("p", plan(t, `{`+c.part+`}`))
		if err == nil {
			t.Errorf("%s: no error", c.part)
			continue
		}
		got := err.Error()
		for range 3 { // p.jani:line:col:
			_, got, _ = strings.Cut(got, ":")
		}
		if got = strings.TrimPrefix(got, " "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.part, got, c.want)
		}
	}
}

func TestVariable(t *testing.T) {
	m := mustBuild(t, family)
	for _, c := range []struct {
		name string
		want VarID
		hint string
	}{
		{"g", 0, ""}, {"h", 1, ""}, {"m[0][1]", 3, ""}, {"m[1][1]", 5, ""}, {"p.location", 6, ""}, {"p.x", 7, ""}, {"p#2.x", 12, ""},
		{"y", 10, ""}, {"q.y", 10, ""},
		{"x", NoVar, "several automata have it: write automaton.x"}, {"location", NoVar, "several automata have it: write automaton.location"},
		{"m", NoVar, ""}, {"m[2][0]", NoVar, `did you mean "m[0][0]"?`}, {"p#3.x", NoVar, `did you mean "p#2.x"?`},
	} {
		if x, hint := m.Variable(c.name); x != c.want || hint != c.hint {
			t.Errorf("%s is variable %d, hint %q, want %d, %q", c.name, x, hint, c.want, c.hint)
		}
	}
	want := []string{"g", "h", "m", "p#2.g", "p#2.x", "p.g", "p.x", "q.y", "y"}
	if got := m.Names(); !reflect.DeepEqual(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

func TestReadStates(t *testing.T) {
	m := mustBuild(t, family)
	others := files{"more.jani": `{"start":{"op":"states-values","values":[{"variables":[{"var":"h","value":2}]}]}}`}
	yes, no := true, false
	at := func(g, h, p Value) []Value { return familyState(g, h, p, 1) }
	for _, c := range []struct {
		name, text string
		want       []ListedState
	}{
		{"rows", `{"variables":["g","h"],"states":[{"state":[1,2]},{"state":[-1,0],"safe":true},{"safe":false,"state":[4,3],"remark":"r"},[0,1]]}`,
			[]ListedState{{at(1, 2, 1), nil}, {at(-1, 0, 1), &yes}, {at(4, 3, 1), &no}, {at(0, 1, 1), nil}}},
		{"locations", `{"variables":["p.location","h","p#2.location"],"states":[{"state":["l0",1,1]},{"state":[0,2,"l1"]}]}`,
			[]ListedState{{at(2, 1, 0), nil}, {at(2, 2, 0), nil}}},
		{"no states", `{"variables":["h"],"states":[]}`, nil},
		{"states-values", `{"op":"states-values","values":[{"variables":[{"var":"h","value":3}]}]}`, []ListedState{{at(2, 3, 1), nil}}},
		{"start part", `{"start":{"op":"states-values","values":[{"variables":[{"var":"h","value":3}]}]}}`, []ListedState{{at(2, 3, 1), nil}}},
		{"file", `{"file":"more.jani"}`, []ListedState{{at(2, 2, 1), nil}}},
	} {
		if got, err := m.ReadStates(NewSource("s", []byte(c.text)), others.open, Limits{}); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, error %v, want %v", c.name, got, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{`{"variables":`, "s:1:14: the text ends where a value is expected; the file may be truncated"},
		{`{"variables":["h","z"],"states":[[1,2]]}`, `s:1:19: states: the model has no variable "z" [at variables[1]]`},
		{`{"variables":["h",1],"states":[]}`, "s:1:19: a variable's name must be a string, not 1 [at variables[1]]"},
		{`{"variables":"h","states":[]}`, `s:1:14: variables must be an array, not the string "h" [at variables]`},
		{`{"variables":["g"],"states":[]}`, `s:1:1: states: no value is given for "h", which has no initial value`},
		{`{"variables":["h"]}`, `s:1:1: the file of states has no "states"`},
		{`{"variables":["h"],"states":{}}`, "s:1:29: states must be an array, not an object [at states]"},
		{`{"variables":["h"],"states":[{"safe":true}]}`, `s:1:30: a state has no "state" [at states[0]]`},
		{`{"variables":["h"],"states":[{"state":[]}]}`, "s:1:39: a state has 0 values for 1 variables [at states[0].state]"},
		{`{"variables":["h"],"states":[[1,2]]}`, "s:1:30: a state has 2 values for 1 variables [at states[0]]"},
		{`{"variables":["h"],"states":[7]}`, "s:1:30: a state must be an array, not 7 [at states[0]]"},
		{`{"variables":["h"],"states":[[4]]}`, `s:1:31: the variable "h" gets 4, outside its bounds 0 to 3 [at states[0][0]]`},
		{`{"variables":["h"],"states":[["g"]]}`, `s:1:31: the variable "h" gets the string "g", which is not a value [at states[0][0]]`},
		{`{"variables":["h"],"states":[[null]]}`, "s:1:31: an expression is expected, not null [at states[0][0]]"},
		{`{"variables":["h","p.location"],"states":[[1,"l2"]]}`, `s:1:46: "p.location" has no location "l2" [at states[0][1]]`},
		{`{"variables":["h","p.location"],"states":[[1,2]]}`, `s:1:46: the variable "p.location" gets 2, outside its bounds 0 to 1 [at states[0][1]]`},
		{`{"variables":["h"],"states":[{"state":[1],"safe":1}]}`, "s:1:50: safe must be true or false, not 1 [at states[0].safe]"},
		{`true`, "s:1:1: the file has no list of states (" + `{"variables":[…],"states":[{"state":[…]}…]} or a states-values list)`},
		{`{"op":"states-values","values":[]}`, "s:1:1: states: the list of states is empty"},
		{`{"file":"none"}`, `s:1:9: cannot read the file "none": none, asked for by s, does not exist [at file]`},
	} {
		if got, err := m.ReadStates(NewSource("s", []byte(c.text)), others.open, Limits{}); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\ngot  %v\nwant %s", c.text, got, err, c.want)
		}
	}
}

func TestReadPath(t *testing.T) {
	m := mustBuild(t, family)
	got, err := m.ReadPath(NewSource("s", []byte(`{"seed":1,"states":[{"h":0},{"h":1,"g":-1,"p.location":"l0"},{"h":2,"y":-5,"p#2.x":2.5,"m[1][0]":true}],
		"actions":["a","τ"]}`)), Limits{})
	last := familyState(2, 2, 1, 1)
	last[10], last[12], last[4] = -5, RealValue(2.5), 1
	want := []ListedStep{{familyState(2, 0, 1, 1), "a"}, {familyState(-1, 1, 0, 1), "τ"}, {last, ""}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, error %v, want %v", got, err, want)
	}
	for _, c := range []struct{ text, want string }{
		{`[]`, "s:1:1: a path must be an object, not an array"},
		{`{}`, `s:1:1: a path has no "states"`},
		{`{"states":[{"h":0}]}`, `s:1:1: a path has no "actions"`},
		{`{"states":[],"actions":[]}`, "s:1:1: a path has 0 states and 0 actions; there must be one more state than actions"},
		{`{"states":[{"h":0}],"actions":["a"]}`, "s:1:1: a path has 1 states and 1 actions; there must be one more state than actions"},
		{`{"states":[{"h":0},{"h":0}],"actions":[]}`, "s:1:1: a path has 2 states and 0 actions; there must be one more state than actions"},
		{`{"states":[{}],"actions":[]}`, `s:1:12: no value is given for "h", which has no initial value [at states[0]]`},
		{`{"states":[{"h":9}],"actions":[]}`, `s:1:17: the variable "h" gets 9, outside its bounds 0 to 3 [at states[0].h]`},
		{`{"states":[{"h":0,"k":9,"l":1}],"actions":[]}`, `s:1:23: path: the model has no variable "k" [at states[0].k]`},
		{`{"states":[7],"actions":[]}`, "s:1:12: a state must be an object, not 7 [at states[0]]"},
		{`{"states":[{"h":0},{"h":0}],"actions":[1]}`, "s:1:40: an action must be a string, not 1 [at actions[0]]"},
		{`{"states":{},"actions":[]}`, "s:1:11: states must be an array, not an object [at states]"},
		{`{"states":[`, "s:1:12: the text ends where a value is expected; the file may be truncated"},
	} {
		if got, err := m.ReadPath(NewSource("s", []byte(c.text)), Limits{}); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\ngot  %v\nwant %s", c.text, got, err, c.want)
		}
	}
}

// What is written is read again.
func TestDescribeAndAppendJSON(t *testing.T) {
	m := mustBuild(t, family)
	s := familyState(-1, 3, 0, 1)
	s[7] = RealValue(0.1)
	const want = "g=-1 h=3 m[0][0]=true m[0][1]=true m[1][0]=false m[1][1]=true p.location=l0 p.x=0.1 p.g=true q.y=7 p#2.location=l1 p#2.x=1 p#2.g=true"
	if got := m.Describe(s); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	text := string(m.AppendJSON(nil, s))
	if !strings.HasPrefix(text, `{"g":-1,"h":3,"m[0][0]":true,`) || !strings.Contains(text, `"p.location":"l0","p.x":0.1,`) {
		t.Error(text)
	}
	back, err := m.ReadPath(NewSource("s", []byte(`{"states":[`+text+`],"actions":[]}`)), Limits{})
	if err != nil || !reflect.DeepEqual(back[0].State, s) {
		t.Errorf("%s comes back as %v, error %v", text, back, err)
	}
}
