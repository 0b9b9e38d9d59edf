package jani

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

func mustBuild(t testing.TB, text string) *Model {
	t.Helper()
	m, err := build(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// swap replaces pairs of pieces of base: old, new, …
func swap(t testing.TB, pairs ...string) string {
	t.Helper()
	text := base
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the model has no %s", pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		want           []string
	}{
		{"comments and private keys", `"type": "mdp"`, `"type": "mdp", "comment": "c", "x-tool": {"a": []}, "metadata": {"version": "1"}`, nil},
		{"features", `"type": "mdp"`, `"type": "mdp", "features": ["arrays", "derived-operators"]`, nil},
		{"comment of an edge", `"action": "go"`, `"action": "go", "comment": "moves"`, nil},
		{"empty lists", `"action": "go"}`, ``, nil},
		{"unknown key of the model", `"type": "mdp"`, `"type": "mdp", "varaibles": []`,
			[]string{`1:49: unknown key "varaibles" in the model is ignored [at varaibles]`}},
		{"unknown key of an edge", `"action": "go"`, `"action": "go", "gaurd": {"exp": false}`,
			[]string{`13:42: unknown key "gaurd" in an edge is ignored [at automata[0].edges[0].gaurd]`}},
		{"unknown keys of expressions", `"right": "N"}`, `"right": "N", "colour": 1, "left-hand": 2}`,
			[]string{`13:98: unknown key "colour" in an expression is ignored [at automata[0].edges[0].guard.exp.colour]`,
				`13:111: unknown key "left-hand" in an expression is ignored [at automata[0].edges[0].guard.exp.left-hand]`}},
		{"ASCII operators", `{"op": "<", "left": "x", "right": "N"}`,
			`{"op": "∧", "left": {"op": "<=", "left": "x", "right": "N"}, "right": {"op": "∨", "left": {"op": ">=", "left": 1, "right": 2}, "right": {"op": "!=", "left": 1, "right": 1}}}`,
			[]string{`13:86: operator "<=" is not JANI; read as its mathematical sign [at automata[0].edges[0].guard.exp.left.op]`,
				`13:156: operator ">=" is not JANI; read as its mathematical sign [at automata[0].edges[0].guard.exp.right.left.op]`,
				`13:202: operator "!=" is not JANI; read as its mathematical sign [at automata[0].edges[0].guard.exp.right.right.op]`}},
		{"blocked label", `[{"synchronise": ["go"], "result": "go"}]`, `[]`,
			[]string{`13:5: automaton "truck": the edges with action "go" are blocked, since no synchronisation vector has them [at automata[0].edges[0]]`}},
		{"blocked once", `"edges": [`, `"edges": [{"location": "home", "action": "stop", "destinations": [{"location": "home"}]}, {"location": "away", "action": "stop", "destinations": [{"location": "away"}]},`,
			[]string{`12:14: automaton "truck": the edges with action "stop" are blocked, since no synchronisation vector has them [at automata[0].edges[0]]`}},
		{"label of no edge", `[{"synchronise": ["go"], "result": "go"}]`, `[{"synchronise": ["go"], "result": "go"}, {"synchronise": ["stop"]}]`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "empty lists" {
				c.old, c.new = `"properties": []`, `"functions": [], "datatypes": []`
			}
			m := mustBuild(t, swap(t, c.old, c.new))
			var got []string
			for _, w := range m.Warnings {
				got = append(got, strings.TrimPrefix(w.String(), "m.jani:"))
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("\ngot  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
			}
		})
	}
}

func TestByteOrderMark(t *testing.T) {
	m := mustBuild(t, "\ufeff"+base)
	if line, col := m.Vars[0].Pos.LineCol(); line != 5 || col != 12 {
		t.Errorf("x is at %d:%d", line, col)
	}
	if _, err := build("\ufeff{\n", nil); err == nil || !strings.HasPrefix(err.Error(), "m.jani:2:1: ") {
		t.Errorf("error %v", err)
	}
}

func TestParameters(t *testing.T) {
	lit := func(kind Kind, i int64, r float64) *Expr { return &Expr{Op: OpConst, Kind: kind, Int: i, Real: r} }
	text := swap(t, `{"name": "N", "type": "int", "value": 3}`,
		`{"name": "N", "type": {"kind": "bounded", "base": "int", "upper-bound": 9}}, {"name": "P", "type": "real"},
		 {"name": "Q", "type": "bool"}, {"name": "Fixed", "type": "int", "value": {"op": "+", "left": "N", "right": 1}}`)
	good := map[string]*Expr{"N": lit(KindInt, 5, 0), "P": lit(KindInt, 2, 0), "Q": lit(KindBool, 1, 0)}
	m, err := build(text, good)
	if err != nil || m.Vars[0].Upper != 5 {
		t.Fatalf("error %v, x up to %d", err, m.Vars[0].Upper)
	}
	for _, c := range []struct {
		name  string
		value *Expr // nil: remove
		want  string
	}{
		{"N", nil, `m.jani:3:25: the constant "N" has no value (give one: -c N=VALUE) [at constants[0].name]`},
		{"P", nil, `m.jani:3:102: the constant "P" has no value (give one: -c P=VALUE) [at constants[1].name]`},
		{"N", lit(KindInt, 10, 0), `constant "N": its value is 10, outside its bounds −∞ to 9`},
		{"N", lit(KindReal, 0, 1.5), `constant "N": the value has type real where int is needed`},
		{"Q", lit(KindInt, 1, 0), `constant "Q": the value has type int where bool is needed`},
		{"Fixed", lit(KindInt, 1, 0), `m.jani:4:44: the constant "Fixed" has a value in the model and cannot be given another [at constants[3].name]`},
		{"fixed", lit(KindInt, 1, 0), `the model has no constant "fixed" (did you mean "Fixed"?)`},
		{"x", lit(KindInt, 1, 0), `the model has no constant "x"`},
	} {
		given := map[string]*Expr{}
		for name, value := range good {
			given[name] = value
		}
		if given[c.name] = c.value; c.value == nil {
			delete(given, c.name)
		}
		if _, err := build(text, given); err == nil || err.Error() != c.want {
			t.Errorf("%s: got  %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestParseConstant(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		{"N=3", "N", "3"}, {"N=-3", "N", "-3"}, {"p = 0.5", "p ", "0.5r"}, {"b=true", "b", "true"}, {"N=2+3*4", "N", "14"},
		{"a-b=1e3", "a-b", "1000r"}, {"N=1=1", "N", "true"},
	} {
		name, e, err := ParseConstant(c.text)
		if err != nil || name != c.name || tree(e) != c.want {
			t.Errorf("%q: %q, %v, error %v", c.text, name, e, err)
		}
	}
	for text, want := range map[string]string{
		"N":     `constant "N": NAME=VALUE is expected`,
		"=3":    `constant "=3": NAME=VALUE is expected`,
		"N=":    "constant N:1:1: found the end where a value is expected",
		"N=M":   `constant N:1:1: constant N: "M" is not declared`,
		"N=7%0": "constant N:1:2: constant N: remainder of a division by zero",
	} {
		if _, _, err := ParseConstant(text); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

// family is a composition with two instances of one automaton, arrays, and local names
// that hide others.
const family = `{"jani-version": 1, "name": "family", "type": "mdp",
 "actions": [{"name": "b"}, {"name": "a"}, {"name": "c"}],
 "variables": [{"name": "g", "type": {"kind": "bounded", "base": "int", "lower-bound": -1, "upper-bound": 4}, "initial-value": 2},
  {"name": "h", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 3}},
  {"name": "m", "type": {"kind": "array", "base": {"kind": "array", "base": "bool"}},
   "initial-value": {"op": "ac", "var": "i", "length": 2, "exp": {"op": "av", "elements": [{"op": "=", "left": "i", "right": 0}, true]}}}],
 "automata": [
  {"name": "p", "locations": [{"name": "l0"}, {"name": "l1"}], "initial-locations": ["l1"],
   "variables": [{"name": "x", "type": "real", "initial-value": 1}, {"name": "g", "type": "bool", "initial-value": true}],
   "edges": [{"location": "l0", "action": "a", "guard": {"exp": "g"}, "destinations": [{"location": "l1"}]},
    {"location": "l1", "destinations": [{"location": "l0"}]}, {"location": "l1", "action": "b", "guard": {"exp": false}, "destinations": [{"location": "l0"}]}]},
  {"name": "q", "locations": [{"name": "only"}], "initial-locations": ["only"],
   "variables": [{"name": "y", "type": "int", "initial-value": 7}],
   "edges": [{"location": "only", "action": "a", "destinations": [{"location": "only"}]}, {"location": "only", "action": "c", "destinations": [{"location": "only"}]}]}],
 "system": {"elements": [{"automaton": "p"}, {"automaton": "q"}, {"automaton": "p"}],
  "syncs": [{"synchronise": [null, "c", null]}, {"synchronise": ["a", "a", null], "result": "c"}, {"synchronise": ["b", null, null], "result": "a"},
   {"synchronise": [null, "a", "a"], "result": "b"}, {"synchronise": ["a", "c", null], "result": "c"}]}}
`

func TestCompile(t *testing.T) {
	m := mustBuild(t, family)
	var vars []string
	for i := range m.Vars {
		x := &m.Vars[i]
		vars = append(vars, fmt.Sprintf("%s %d %d", x.Name, x.Kind, x.Instance))
	}
	want := []string{"g 1 -1", "h 1 -1", "m[0][0] 0 -1", "m[0][1] 0 -1", "m[1][0] 0 -1", "m[1][1] 0 -1",
		"p.location 3 0", "p.x 2 0", "p.g 0 0", "q.location 3 1", "q.y 1 1", "p#2.location 3 2", "p#2.x 2 2", "p#2.g 0 2"}
	if !reflect.DeepEqual(vars, want) {
		t.Errorf("variables %q", vars)
	}
	if m.Vars[0].Lower != -1 || m.Vars[0].Upper != 4 || m.Vars[10].Lower != math.MinInt64 || m.Vars[7].RealUpper != math.Inf(1) ||
		!reflect.DeepEqual(m.Vars[6].Locations, []string{"l0", "l1"}) || m.Vars[6].Upper != 1 {
		t.Errorf("bounds %+v", m.Vars)
	}
	// Vectors by label in order of declaration, the silent ones last: first the silent
	// edges of each instance, then the silent results. The vector over b, whose edges
	// can never move, is left out.
	var vectors []string
	for _, v := range m.Vectors {
		vectors = append(vectors, fmt.Sprintf("%s %v", m.Actions[v.Action], v.Parts))
	}
	want = []string{"b [{1 [0]} {2 [0]}]", "c [{0 [0]} {1 [0]}]", "c [{0 [0]} {1 [1]}]", "τ [{0 [1]}]", "τ [{2 [1]}]", "τ [{1 [1]}]"}
	if !reflect.DeepEqual(vectors, want) {
		t.Errorf("vectors %q", vectors)
	}
	if m.Silent != 3 || len(m.Actions) != 4 {
		t.Errorf("silent action %d of %q", m.Silent, m.Actions)
	}
	if edges := m.Parts[0].Edges; len(edges) != 2 || edges[1].Index != 1 || edges[0].Guard.Op != OpVar || edges[0].Guard.Var != 8 {
		t.Errorf("edges %+v", edges)
	}
	if g := m.Parts[2].Edges[0].Guard; g.Var != 13 {
		t.Errorf("the guard of the second instance reads variable %d", g.Var)
	}
	if m.Initial.States != nil || m.Initial.Cond == nil { // h is open
		t.Fatalf("initial states %+v", m.Initial)
	}
	state := []Value{2, 0, 1, 1, 0, 1, 1, RealValue(1), 1, 0, 7, 1, RealValue(1), 1}
	for _, c := range []struct {
		x    int
		v    Value
		want bool
	}{{1, 0, true}, {1, 3, true}, {0, 1, false}, {4, 1, false}, {6, 0, false}, {7, RealValue(1.5), false}, {13, 0, false}} {
		changed := append([]Value(nil), state...)
		changed[c.x] = c.v
		if got, err := m.Initial.Cond.Eval(changed); err != nil || got.Bool() != c.want {
			t.Errorf("%s is initial: %v, error %v", m.Describe(changed), got.Bool(), err)
		}
	}
}

// Without syncs, labelled edges of a single element interleave, those of several are
// blocked.
func TestCompileWithoutSyncs(t *testing.T) {
	one := mustBuild(t, swap(t, `, "syncs": [{"synchronise": ["go"], "result": "go"}]`, ``))
	if len(one.Vectors) != 1 || one.Actions[one.Vectors[0].Action] != "go" || one.Silent != NoAction {
		t.Errorf("%+v", one.Vectors)
	}
	two := mustBuild(t, swap(t, `[{"automaton": "truck"}], "syncs": [{"synchronise": ["go"], "result": "go"}]`, `[{"automaton": "truck"}, {"automaton": "truck"}]`))
	if len(two.Vectors) != 0 || len(two.Warnings) != 2 {
		t.Errorf("%+v, %v", two.Vectors, two.Warnings)
	}
}

// resolved prints a resolved expression, with v7 for variable 7.
func resolved(e *Expr) string {
	if e.Op == OpVar {
		return fmt.Sprint("v", e.Var)
	}
	if len(e.Args) == 0 {
		return tree(e)
	}
	s := "(" + e.Op.String()
	for _, a := range e.Args {
		s += " " + resolved(a)
	}
	return s + ")"
}

// Guards after folding, over x (variable 0), done (1), r (2) and arr (3 to 5).
func TestFold(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"1 + 2 * N = 7", "true"},
		{"x = 1 + N", "(= v0 4)"},
		{"done & true", "v1"}, {"true & done", "v1"}, {"done | false", "v1"}, {"false | done", "v1"},
		{"done & false", "(∧ v1 false)"}, {"false & done", "false"}, {"done | true", "(∨ v1 true)"}, {"true | done", "true"},
		{"true => done", "v1"}, {"false => done", "true"}, {"done => true", "(⇒ v1 true)"},
		{"ite(true, done, 1/0 = 1)", "v1"}, {"ite(N = 2, 1/0 = 1, done)", "v1"}, {"ite(done, x, 1) = 1", "(= (ite v1 v0 1) 1)"},
		{"ite(true, x, 1.5) = 1", "(= (+ v0 0r) 1)"}, // stays real
		{"false & 1/0 = 1", "false"},
		{"1 % 0 = 1", "(= (% 1 0) 1)"}, {"9223372036854775807 + x = 0 & 9223372036854775807 + N = 0", "(∧ (= (+ 9223372036854775807 v0) 0) (= (+ 9223372036854775807 3) 0))"},
		{"arr[1] = 2", "(= v4 2)"}, {"arr[N - 1] = 2", "(= v5 2)"}, {"arr[x] = 2", "(= (aa (index check v0)) 2)"},
		{"arr[N] = 2", "(= (aa (index check 3)) 2)"}, {"N < 3 & arr[N] = 2", "false"},
		{"!(1 < 2)", "false"}, {"floor(2.5) = 2", "true"}, {"r = 1/4", "(= v2 0.25r)"},
	} {
		e, err := ParseInfix("guard", c.text, nil, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		m := mustBuild(t, base)
		set, err := m.StateSet("guard", &Condition{Exp: e})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got := resolved(set.Cond); got != c.want {
			t.Errorf("%s is folded to %s, want %s", c.text, got, c.want)
		}
	}
}

// What becomes of array expressions: the assignments to single variables, over arr
// (variables 3 to 5), grid of 2 × 3 (6 to 11) and x (0).
func TestArrays(t *testing.T) {
	aa := func(a, i string) string { return `{"op": "aa", "exp": ` + a + `, "index": ` + i + `}` }
	av := func(elements ...string) string {
		return `{"op": "av", "elements": [` + strings.Join(elements, ", ") + `]}`
	}
	rows := av(av("1", `"x"`, "3"), `"arr"`)
	for _, c := range []struct{ ref, value, want string }{
		{`"arr"`, av("7", `"x"`, "9"), "v3:=7 v4:=v0 v5:=9"},
		{`"arr"`, aa(`"grid"`, "1"), "v3:=v9 v4:=v10 v5:=v11"},
		{aa(`"grid"`, "0"), `"arr"`, "v6:=v3 v7:=v4 v8:=v5"},
		{aa(aa(`"grid"`, "1"), "0"), "4", "v9:=4"},
		{aa(aa(`"grid"`, `"x"`), "2"), "4", "(aa (+ (* (index check v0) 3) (index check 2))):=4"},
		{aa(aa(`"grid"`, "1"), `"x"`), "4", "(aa (index check v0)):=4"},
		{`"arr"`, aa(rows, "0"), "v3:=1 v4:=v0 v5:=3"},
		{`"x"`, aa(aa(rows, "1"), "2"), "v0:=v5"},
		{`"x"`, aa(av("0", "1", "2"), "1"), "v0:=1"},
		{`"x"`, aa(av("0", `"x"`), "2"), "v0:=(aa (index check 2))"},
		{`"x"`, aa(aa(rows, "2"), `"x"`), "v0:=(aa (+ (* (index check 2) 3) (index check v0)))"},
		{`"x"`, aa(aa(`"grid"`, "-1"), "0"), "v0:=(aa (+ (* (index check -1) 3) (index check 0)))"},
		{`"grid"`, rows, "v6:=1 v7:=v0 v8:=3 v9:=v3 v10:=v4 v11:=v5"},
		// constructors, in which a condition on the index may guard an element
		{`"arr"`, `{"op": "ac", "var": "i", "length": 3, "exp": {"op": "*", "left": "i", "right": {"op": "+", "left": "i", "right": "N"}}}`, "v3:=0 v4:=4 v5:=10"},
		{`"arr"`, `{"op": "ac", "var": "x", "length": "N", "exp": {"op": "⇒", "left": {"op": "<", "left": "x", "right": 1}, "right": false}}`, "error"},
		{`"arr"`, `{"op": "ac", "var": "i", "length": 3, "exp": {"op": "ite", "if": {"op": "<", "left": "i", "right": 2}, "then": ` +
			aa(`"arr"`, `{"op": "+", "left": "i", "right": 1}`) + `, "else": "N"}}`, "v3:=v4 v4:=v5 v5:=3"},
		{`"grid"`, `{"op": "ac", "var": "i", "length": 2, "exp": {"op": "ac", "var": "j", "length": 3, "exp": ` +
			aa(aa(`"grid"`, `{"op": "-", "left": 1, "right": "i"}`), `"j"`) + `}}`, "v6:=v9 v7:=v10 v8:=v11 v9:=v6 v10:=v7 v11:=v8"},
		{`"r"`, `{"constant": "π"}`, "v2:=3.141592653589793r"}, {`"r"`, `{"constant": "e"}`, "v2:=2.718281828459045r"},
		{`"r"`, `{"op": "let", "variables": [], "expression": {"name": "n", "exp": 1}}`, "v2:=1"},
	} {
		m, err := build(swap(t, `{"ref": "x", "value": 1}`, `{"ref": `+c.ref+`, "value": `+c.value+`}`, `"initial-value": {"op": "av", "elements": [1, 2, 3]}}`,
			`"initial-value": {"op": "av", "elements": [1, 2, 3]}}, {"name": "grid", "type": {"kind": "array", "base": {"kind": "array", "base": "int"}},
			"initial-value": {"op": "ac", "var": "i", "length": 2, "exp": {"op": "ac", "var": "j", "length": 3, "exp": "j"}}}`), nil)
		if err != nil {
			if c.want != "error" {
				t.Errorf("%s := %s: %v", c.ref, c.value, err)
			}
			continue
		}
		var got []string
		for _, a := range m.Parts[0].Edges[0].Destinations[0].Assignments {
			got = append(got, resolved(a.Target)+":="+resolved(a.Value))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s := %s becomes %s, want %s", c.ref, c.value, s, c.want)
		}
	}
}

// Names of large arrays count as what they stand for.
func TestWholeArraysAreLimited(t *testing.T) {
	large := swap(t, `{"op": "av", "elements": [1, 2, 3]}`, `{"op": "ac", "var": "i", "length": 300000, "exp": 0}`,
		`"assignments": [`, `"assignments": [`+strings.Repeat(`{"ref": {"op": "aa", "exp": "arr", "index": 7}, "value": {"op": "aa", "exp": "arr", "index": "x"}}, `, 1000))
	mustBuild(t, large) // elements are no whole arrays
	const swapped = `{"ref": "arr", "value": "arr"}, `
	_, err := build(strings.Replace(large, `"assignments": [`, `"assignments": [`+strings.Repeat(swapped, 4), 1), nil)
	if err == nil || !strings.Contains(err.Error(), "array constructors, whole arrays and function calls are unrolled to more than 2097152 expressions") {
		t.Errorf("error %v", err)
	}
}

// An initial state is given by the values if they are all there, or by a condition.
func TestInitial(t *testing.T) {
	one := []Value{0, 0, RealValue(0.5), 1, 2, 3, 0, 0}
	for _, c := range []struct {
		name, old, new string
		listed         bool
	}{
		{"plain", `"N"`, `"N"`, true},
		{"restricted", `"automata"`, `"restrict-initial": {"exp": {"op": "<", "left": "x", "right": 1}}, "automata"`, true},
		{"restricted locally", `"edges"`, `"restrict-initial": {"exp": {"op": "=", "left": "load", "right": "x"}}, "edges"`, true},
		{"open variable", `"initial-value": false`, `"comment": ""`, false},
		{"two locations", `["home"]`, `["home", "away"]`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mustBuild(t, swap(t, c.old, c.new))
			if c.listed != (len(m.Initial.States) == 1) || c.listed && !reflect.DeepEqual(m.Initial.States[0], one) {
				t.Errorf("%+v", m.Initial)
			}
			if c.listed {
				return
			}
			if is, err := m.Initial.Cond.Eval(one); err != nil || !is.Bool() {
				t.Errorf("%v, error %v", is, err)
			}
		})
	}
}

// Path names the place for every value, and LineCol counts characters.
func TestPos(t *testing.T) {
	src := NewSource("f", []byte(" { \"a\" : [ 1,{\"ü\":\"∧∧\",\"c\" :{} } ],\n\"b\":null, \"\":[[],[0]]}\n"))
	for _, c := range []struct {
		at        string // the place is where this text begins
		path      string
		line, col int
	}{
		{"{ \"a\"", "", 1, 2},
		{`"a"`, "a", 1, 4},
		{"[ 1", "a", 1, 10},
		{"1,{", "a[0]", 1, 12},
		{"{\"ü", "a[1]", 1, 14},
		{"\"ü", "a[1].ü", 1, 15},
		{"\"∧", "a[1].ü", 1, 19},
		{"\"c\"", "a[1].c", 1, 24},
		{"{} }", "a[1].c", 1, 29},
		{"null", "b", 2, 5},
		{"[[]", "", 2, 14},
		{"0]", "[1][0]", 2, 19},
	} {
		off := strings.Index(src.Text, c.at)
		p := Pos{src, int32(off)}
		if line, col := p.LineCol(); off < 0 || line != c.line || col != c.col || p.Path() != c.path {
			t.Errorf("%q at %d: %d:%d %q, want %d:%d %q", c.at, off, line, col, p.Path(), c.line, c.col, c.path)
		}
	}
	if line, col := (Pos{}).LineCol(); line != 0 || col != 0 || (Pos{}).Path() != "" {
		t.Errorf("nowhere is %d:%d", line, col)
	}
	if line, col := (Pos{&Source{Text: "a\nb", Before: 10}, 2}).LineCol(); line != 12 || col != 1 {
		t.Errorf("behind ten lines: %d:%d", line, col)
	}
	if p := (Pos{&Source{Text: "{", JSON: true}, 0}).Path(); p != "" {
		t.Errorf("in broken text: %q", p)
	}
	// Every value of a larger text: the path leads to it.
	long := NewSource("m", []byte(base))
	if p := (Pos{long, int32(strings.Index(base, `"value": 1`))}).Path(); p != "automata[0].edges[0].destinations[0].assignments[0].value" {
		t.Errorf("path %q", p)
	}
}

func TestSuggest(t *testing.T) {
	names := []string{"truck_0", "truck_1", "load", "x", "hand-empty", "größe"}
	for _, c := range []struct{ name, want string }{
		{"trukc_0", "truck_0"}, {"truck_2", "truck_0"}, {"truck", "truck_0"}, {"laod", "load"}, {"lod", "load"}, {"loads", "load"},
		{"hand_empty", "hand-empty"}, {"grösse", "größe"}, {"xx", "x"},
		{"y", ""}, {"", ""}, {"unrelated", ""}, {"lo", ""}, {"tr", ""}, {"handle", ""},
	} {
		if got := Suggest(c.name, names); got != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
	if got := DidYouMean("laod", names); got != `did you mean "load"?` {
		t.Error(got)
	}
	if got := DidYouMean("y", names); got != "" {
		t.Error(got)
	}
}

// The distance counts insertions, deletions, substitutions and swaps of neighbours.
func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abcd", "badc", 2}, {"kitten", "sitting", 3},
		{"ca", "abc", 3}, {"abcdef", "fedcba", 5},
	} {
		if got := editDistance(c.a, c.b, 10); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := editDistance(c.b, c.a, 2); got != min(c.want, 2) {
			t.Errorf("%q, %q: %d with limit 2", c.b, c.a, got)
		}
	}
}
