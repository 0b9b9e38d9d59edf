package jani

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// files is a fake Opener.
type files map[string]string

func (f files) open(from *Source, name string) (*Source, error) {
	text, ok := f[name]
	if !ok {
		return nil, fmt.Errorf("%s, asked for by %s, does not exist", name, from.Name)
	}
	return NewSource(name, []byte(text)), nil
}

// condition prints a condition; a listed one as its states.
func condition(c *Condition) string {
	if c == nil {
		return "none"
	}
	s := ""
	if c.Exp != nil {
		s = tree(c.Exp)
	}
	location := func(l LocationValue) string { return fmt.Sprintf(" %s#%d@%s", l.Automaton, l.Index, l.Location) }
	for _, l := range c.Locations {
		s += location(l)
	}
	if c.Listed {
		s += "list"
	}
	for _, state := range c.States {
		s += " {"
		for _, l := range state.Locations {
			s += location(l)
		}
		for _, v := range state.Variables {
			s += fmt.Sprintf(" %s#%d.%s=%s", v.Automaton, v.Index, v.Name, tree(v.Value))
		}
		s += " }"
	}
	return s
}

const (
	xIs1 = `{"op":"=","left":"x","right":1}`
	xIs2 = `{"op":"=","left":"x","right":2}`
)

func TestPlanningProperties(t *testing.T) {
	others := files{
		"safe.jani":      `{"safe":{"op":"state-condition","exp":` + xIs1 + `}}`,
		"bare.jani":      xIs1,
		"condition.jani": `{"op":"state-condition","exp":` + xIs2 + `}`,
		"goal.jani":      `{"goal":{"file":"condition.jani"}}`,
		"objective.jani": `{"objective":{"op":"objective","goal":{"op":"state-condition","exp":` + xIs2 + `}}}`,
		"start.jani":     `{"start":{"op":"states-values","values":[{"variables":[{"var":"x","value":1}]}]}}`,
		"1":              `{"file":"2"}`, "2": `{"file":"3"}`, "3": `{"file":"4"}`, "4": `{"file":"5"}`,
		"5": `{"file":"6"}`, "6": `{"file":"7"}`, "7": `{"file":"8"}`, "8": xIs1,
		"circle": `{"file":"circle"}`, "here": `{"file":"there"}`, "there": `{"safe":{"file":"here"}}`,
		"broken.jani": `{"safe":`, "wrong.jani": `{"safe":{"op":"state-condition","exp":{"op":"=","left":"x"}}}`,
		"odd.jani": `{"op":"state-condition","exp":` + xIs1 + `,"colour":"red"}`,
	}
	pa := func(members string) string { return `{"op":"PA"` + members + `}` }
	for _, c := range []struct {
		name, text          string
		start, unsafe, goal string
		fail                string // message, or
		warning             string
	}{
		{"all parts", pa(`,"start":` + xIs1 + `,"reach":` + xIs2 + `,"objective":{"op":"objective","goal":` + xIs1 + `}`),
			"(= x 1)", "(= x 2)", "(= x 1)", "", ""},
		{"what does not matter", pa(`,"reach":true,"predicates":[1],"file":"none.nnet","name":"n","objective":{"op":"objective","goal":false,
			"goal-reward":1,"step-reward":"y","goal-potential":{},"accumulate":["steps"]}`), "none", "true", "false", "", ""},
		{"without parts", pa(""), "none", "none", "none", "", ""},
		{"objective without goal", pa(`,"objective":{"op":"objective","step-reward":1}`), "none", "none", "none", "", ""},
		{"state-condition", pa(`,"reach":{"op":"state-condition","exp":` + xIs1 + `,"locations":[{"automaton":"p","index":2,"location":"l"},{"automaton":"q","location":"m"}]}`),
			"none", "(= x 1) p#2@l q#-1@m", "none", "", ""},
		{"state-condition of locations only", pa(`,"reach":{"op":"state-condition","locations":[{"automaton":"q","location":"m"}]}`), "none", " q#-1@m", "none", "", ""},
		{"let", pa(`,"reach":{"op":"state-condition","exp":{"op":"let","variables":[],"expression":` + xIs1 + `}}`), "none", "(= x 1)", "none", "", ""},
		{"let at the top", pa(`,"reach":{"op":"let","expression":` + xIs1 + `}`), "none", "(= x 1)", "none", "", ""},
		{"named expression", pa(`,"reach":{"name":"n","exp":` + xIs1 + `}`), "none", "(= x 1)", "none", "", ""},
		{"literal", pa(`,"reach":true,"start":"b"`), "b", "true", "none", "", ""},
		{"states-values", pa(`,"start":{"op":"states-values","values":[{"locations":[{"automaton":"p","location":"l","index":0}],
			"variables":[{"var":"x","value":1},{"var":"y","value":true,"automaton":null},{"var":"z","value":-2.5,"automaton":"p","index":1}]},
			{"variables":[{"var":{"op":"aa","exp":{"op":"aa","exp":"m","index":1},"index":0},"value":3}]},{}]}`),
			"list { p#0@l #-1.x=1 #-1.y=true p#1.z=-2.5r } { #-1.m[1][0]=3 } { }", "none", "none", "", ""},
		{"bare parts", `{"start":` + xIs1 + `,"safe":` + xIs2 + `,"goal":{"op":"objective","goal":true}}`, "(= x 1)", "(= x 2)", "true", "", ""},
		{"objective part", `{"objective":{"op":"objective","goal":` + xIs2 + `}}`, "none", "none", "(= x 2)", "", ""},
		{"files", pa(`,"start":{"file":"start.jani"},"reach":{"file":"safe.jani"},"objective":{"file":"objective.jani"}`),
			"list { #-1.x=1 }", "(= x 1)", "(= x 2)", "", ""},
		{"files of files", pa(`,"start":{"file":"bare.jani"},"reach":{"file":"condition.jani"},"objective":{"op":"objective","goal":{"file":"goal.jani"}}`),
			"(= x 1)", "(= x 2)", "(= x 2)", "", ""},
		{"eight files", pa(`,"reach":{"file":"1"}`), "none", "(= x 1)", "none", "", ""},

		{"circle", pa(`,"reach":{"file":"circle"}`), "", "", "", "circle:1:9: more than 8 files refer to each other; is there a circle? [at file]", ""},
		{"circle of two", pa(`,"reach":{"file":"here"}`), "", "", "", "there:1:17: more than 8 files refer to each other; is there a circle? [at safe.file]", ""},
		{"missing file", pa(`,"reach":{"file":"safety.jani"}`), "", "", "",
			`p.jani:1:28: cannot read the file "safety.jani": safety.jani, asked for by p.jani, does not exist [at reach.file]`, ""},
		{"file number", pa(`,"reach":{"file":1}`), "", "", "", `p.jani:1:28: a file name must be a string, not 1 [at reach.file]`, ""},
		{"broken file", pa(`,"reach":{"file":"broken.jani"}`), "", "", "", `broken.jani:1:9: the text ends where a value is expected; the file may be truncated`, ""},
		{"wrong file", pa(`,"reach":{"file":"wrong.jani"}`), "", "", "", `wrong.jani:1:39: the operator "=" needs "right" [at safe.exp]`, ""},
		{"let with variables", pa(`,"reach":{"op":"let","variables":[{"name":"v"}],"expression":true}`), "", "", "",
			`p.jani:1:44: a let expression with variables is not supported [at reach.variables]`, ""},
		{"operator", pa(`,"reach":{"op":"F","exp":true}`), "", "", "", `p.jani:1:26: the operator "F" is not supported [at reach.op]`, ""},
		{"list of conditions", pa(`,"reach":[true]`), "", "", "", `p.jani:1:20: an expression is expected, not an array [at reach]`, ""},
		{"location without automaton", pa(`,"reach":{"op":"state-condition","locations":[{"location":"l"}]}`), "", "", "",
			`p.jani:1:57: a location value has no "automaton" [at reach.locations[0]]`, ""},
		{"states-values without values", pa(`,"start":{"op":"states-values"}`), "", "", "", `p.jani:1:20: a states-values list has no "values" [at start]`, ""},
		{"variable without value", pa(`,"start":{"op":"states-values","values":[{"variables":[{"var":"x"}]}]}`), "", "", "",
			`p.jani:1:66: a variable's value has no "value" [at start.values[0].variables[0]]`, ""},
		{"variable sum", pa(`,"start":{"op":"states-values","values":[{"variables":[{"var":{"op":"+","left":"x","right":1},"value":1}]}]}`), "", "", "",
			`p.jani:1:73: a variable's name is expected [at start.values[0].variables[0].var]`, ""},
		{"variable with computed index", pa(`,"start":{"op":"states-values","values":[{"variables":[{"var":{"op":"aa","exp":"m","index":"x"},"value":1}]}]}`), "", "", "",
			`p.jani:1:73: a variable's name is expected [at start.values[0].variables[0].var]`, ""},

		{"unknown key", pa(`,"reahc":true`), "none", "none", "none", "", `p.jani:1:12: unknown key "reahc" in a planning property is ignored [at reahc]`},
		{"unknown key in a file", pa(`,"reach":{"file":"odd.jani"}`), "none", "(= x 1)", "none", "", `odd.jani:1:63: unknown key "colour" in a state-condition is ignored [at colour]`},
		{"ASCII operator", pa(`,"reach":{"op":"<=","left":"x","right":1}`), "none", "(≤ x 1)", "none", "",
			`p.jani:1:26: operator "<=" is not JANI; read as its mathematical sign [at reach.op]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := ParseProperties(NewSource("p.jani", []byte(c.text)), Limits{})
			if err != nil || len(list) != 1 || !list[0].IsPlanning() {
				t.Fatalf("%d properties, error %v", len(list), err)
			}
			plan, warnings, err := list[0].Planning(others.open, Limits{})
			if c.fail != "" {
				if err == nil || err.Error() != c.fail {
					t.Fatalf("\ngot  %v\nwant %s", err, c.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s, u, g := condition(plan.Start), condition(plan.Unsafe), condition(plan.Goal); s != c.start || u != c.unsafe || g != c.goal {
				t.Errorf("start %s, unsafe %s, goal %s", s, u, g)
			}
			got := ""
			if len(warnings) > 0 {
				got = warnings[0].String()
			}
			if got != c.warning || len(warnings) > 1 {
				t.Errorf("\ngot  %v\nwant %s", warnings, c.warning)
			}
		})
	}
}

// Standard properties give conditions: F φ makes φ unsafe, G φ its negation, and φ U ψ
// makes ψ unsafe and ends runs where φ fails; W and R say what must hold until when.
func TestStandardProperties(t *testing.T) {
	f := func(formula string) string {
		return `{"op": "filter", "fun": "max", "states": {"op": "initial"}, "values": ` + formula + `}`
	}
	for _, c := range []struct{ text, unsafe, goal string }{
		{f(`{"op": "Pmax", "exp": {"op": "F", "exp": "a"}}`), "a", ""},
		{f(`{"op": "∃", "exp": {"op": "F", "exp": "a"}}`), "a", ""},
		{`{"op": "∀", "exp": {"op": "G", "exp": "a"}}`, "(¬ a)", ""},
		{f(`{"op": "≥", "left": {"op": "Pmin", "exp": {"op": "F", "exp": "a"}}, "right": 1}`), "a", ""},
		{f(`{"op": "≤", "left": 0.5, "right": {"op": "Pmin", "exp": {"op": "G", "exp": "a"}}}`), "(¬ a)", ""},
		{f(`{"op": "Pmin", "exp": {"op": "U", "left": "a", "right": "b"}}`), "b", "(¬ a)"},
		{f(`{"op": "Pmin", "exp": {"op": "W", "left": "a", "right": "b"}}`), "(¬ (∨ a b))", "b"},
		{f(`{"op": "Pmin", "exp": {"op": "R", "left": "a", "right": "b"}}`), "(¬ b)", "(∧ a b)"},
	} {
		list, err := ParseProperties(NewSource("p", []byte(`{"properties": [{"name": "q", "expression": `+c.text+`}]}`)), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		plan, _, err := list[0].Planning(nil, Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		goal := ""
		if plan.Goal != nil {
			goal = tree(plan.Goal.Exp)
		}
		if got := tree(plan.Unsafe.Exp); got != c.unsafe || goal != c.goal || plan.Start != nil {
			t.Errorf("%s: unsafe %s, goal %s", c.text, got, goal)
		}
	}
	for text, want := range map[string]string{
		f(`{"op": "Pmax", "exp": {"op": "F", "exp": "a", "step-bounds": {"upper": 3}}}`): "a path formula with step-bounds is not supported",
		f(`{"op": "Pmax", "exp": {"op": "F"}}`):                                          `the operator "F" needs "exp"`,
		f(`{"op": "Pmax", "exp": "a"}`):                                                  `the operator "Pmax" has no formula to look at`,
	} {
		list, err := ParseProperties(NewSource("p", []byte(`{"properties": [{"name": "q", "expression": `+text+`}]}`)), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := list[0].Planning(nil, Limits{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

// The properties of a model and of a file: which of them are for planning.
func TestParseProperties(t *testing.T) {
	const text = `[{"name": "first", "expression": {"op": "filter", "fun": "max", "values": {"op": "Emin", "exp": true}, "states": {"op": "initial"}}},
		{"name": "second", "comment": "c", "expression": {"op": "PA", "reach": true}}, {"name": "third", "expression": {"goal": true}},
		{"name": "fourth", "expression": true}, {"name": "fifth", "expression": []}]`
	check := func(list []Property, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range list {
			line, col := p.Pos.LineCol()
			got = append(got, fmt.Sprintf("%s %q %v %d:%d", p.Name, p.Op(), p.IsPlanning(), line, col))
		}
		const want = `first "filter" false, second "PA" true, third "" true, fourth "" false, fifth "" false`
		var s []string
		for _, g := range got {
			s = append(s, g[:strings.LastIndexByte(g, ' ')])
		}
		if strings.Join(s, ", ") != want || !strings.HasSuffix(got[1], " 2:12") && !strings.HasSuffix(got[1], " 19:12") {
			t.Errorf("%q", got)
		}
		_, _, err = list[0].Planning(nil, Limits{})
		var e *Error
		if !errors.As(err, &e) || e.Kind != Unsupported || !strings.Contains(err.Error(),
			`property "first" with operator "Emin" as a source of conditions is not supported (use a planning property or a path formula F, G, U, W or R, or give --unsafe, --goal and --start)`) {
			t.Errorf("error %v", err)
		}
	}
	check(ParseProperties(NewSource("p", []byte(`{"properties": `+text+`}`)), Limits{}))
	doc, err := Parse(NewSource("m", []byte(swap(t, `"properties": []`, `"properties": `+text))), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	check(doc.Properties, nil)

	for text, want := range map[string]string{
		`[]`:                  "p:1:1: a property file must hold an object, not an array",
		`true`:                "p:1:1: a property file must hold an object, not true",
		`{}`:                  `p:1:1: the file has neither "properties" nor a part "start", "safe", "goal" or "objective"`,
		`{"op":"F"}`:          `p:1:1: the file has neither "properties" nor a part "start", "safe", "goal" or "objective"`,
		`{"properties":{}}`:   "p:1:15: properties must be an array, not an object [at properties]",
		`{"properties":[{}]}`: `p:1:16: a property has no "name" [at properties[0]]`,
		`{"start":1`:          "p:1:11: the text ends inside an unfinished value: '}' or ',' is missing; the file may be truncated",
	} {
		if _, err := ParseProperties(NewSource("p", []byte(text)), Limits{}); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

func TestParseCondition(t *testing.T) {
	others := files{"other": `{"start":` + xIs1 + `,"safe":` + xIs2 + `}`}
	for _, c := range []struct{ text, role, want string }{
		{xIs1, "safe", "(= x 1)"},
		{`true`, "start", "true"},
		{`"b"`, "start", "b"},
		{`{"safe":` + xIs2 + `}`, "safe", "(= x 2)"},
		{`{"reach":` + xIs2 + `}`, "safe", "(= x 2)"},
		{`{"objective":{"op":"objective","goal":` + xIs2 + `}}`, "goal", "(= x 2)"},
		{`{"goal":` + xIs2 + `}`, "goal", "(= x 2)"},
		{`{"op":"objective","goal":` + xIs2 + `}`, "goal", "(= x 2)"},
		{`{"op":"objective"}`, "goal", "none"},
		{`{"start":` + xIs1 + `,"safe":` + xIs2 + `}`, "safe", "(= x 2)"},
		{`{"file":"other"}`, "start", "(= x 1)"},
		{`{"file":"other"}`, "safe", "(= x 2)"},
		{`{"op":"states-values","values":[]}`, "start", "list"},
	} {
		cond, warnings, err := ParseCondition(NewSource("c", []byte(c.text)), c.role, others.open, Limits{})
		if err != nil || len(warnings) > 0 || condition(cond) != c.want {
			t.Errorf("%s as %s: %s, warnings %v, error %v, want %s", c.text, c.role, condition(cond), warnings, err, c.want)
		}
	}
	for _, c := range []struct{ text, role, want string }{
		{`{"goal":true}`, "safe", `c:1:1: an expression object needs "op", "constant" or "exp"`},
		{`{"op":"states-values","values":{}}`, "start", "c:1:32: values must be an array, not an object [at values]"},
		{`{"op":"PA","reach":true}`, "safe", `c:1:7: unknown operator "PA" [at op]`},
		{`[true]`, "safe", "c:1:1: an expression is expected, not an array"},
		{`{"exp":`, "safe", "c:1:8: the text ends where a value is expected; the file may be truncated"},
		{`{"file":"other"}`, "goal", `other:1:1: an expression object needs "op", "constant" or "exp"`},
		{strings.Repeat(`{"exp":`, 9) + "true" + strings.Repeat("}", 9), "safe", "c:1:57: values are nested deeper than the limit of 8 [at exp.exp.exp.exp.exp.exp.exp.exp]"},
	} {
		if cond, _, err := ParseCondition(NewSource("c", []byte(c.text)), c.role, others.open, Limits{MaxDepth: 8}); err == nil || err.Error() != c.want {
			t.Errorf("%s as %s: %s, error %v, want %s", c.text, c.role, condition(cond), err, c.want)
		}
	}
}
