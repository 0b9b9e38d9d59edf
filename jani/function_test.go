package jani

import (
	"fmt"
	"strings"
	"testing"
)

// functionModel is a model with function f and one guard.
func functionModel(f, guard string) string {
	return `{"jani-version": 1, "name": "m", "type": "mdp",
		"variables": [{"name": "x", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 5}, "initial-value": 0}],
		"functions": [` + f + `],
		"automata": [{"name": "a", "locations": [{"name": "l"}], "initial-locations": ["l"], "edges": [
			{"location": "l", "guard": {"exp": ` + guard + `}, "destinations": [{"location": "l"}]}]}],
		"system": {"elements": [{"automaton": "a"}]}}`
}

// Arguments and results have the kinds that the function declares.
func TestFunctionKinds(t *testing.T) {
	for _, c := range []struct{ f, guard, want string }{
		{`{"name": "f", "type": "real", "parameters": [{"name": "a", "type": "real"}], "body": {"op": "*", "left": "a", "right": "a"}}`,
			`{"op": "<", "left": {"op": "call", "function": "f", "args": [4611686018427387904]}, "right": 1}`, ""},
		{`{"name": "f", "type": "real", "parameters": [{"name": "a", "type": "real"}], "body": "a"}`,
			`{"op": "<", "left": {"op": "%", "left": {"op": "call", "function": "f", "args": ["x"]}, "right": 2}, "right": 1}`, "operator % needs int, not real"},
		{`{"name": "f", "type": "int", "parameters": [{"name": "a", "type": "real"}], "body": {"op": "%", "left": "a", "right": 2}}`,
			`{"op": "<", "left": {"op": "call", "function": "f", "args": ["x"]}, "right": 1}`, "operator % needs int, not real"},
	} {
		doc, err := Parse(NewSource("m", []byte(functionModel(c.f, c.guard))), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Compile(doc, nil)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.f, err, c.want)
		}
	}
}

// Calls in arguments of calls double the expression each time: that ends in an error, not
// in minutes of work.
func TestFunctionsDoNotExplode(t *testing.T) {
	for depth, want := range map[int]bool{10: true, 40: false} {
		guard := `"x"`
		for range depth {
			guard = fmt.Sprintf(`{"op": "call", "function": "f", "args": [%s]}`, guard)
		}
		doc, err := Parse(NewSource("m", []byte(functionModel(
			`{"name": "f", "type": "int", "parameters": [{"name": "a", "type": "int"}], "body": {"op": "-", "left": "a", "right": "a"}}`,
			`{"op": "<", "left": `+guard+`, "right": 5}`))), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Compile(doc, nil); (err == nil) != want {
			t.Errorf("depth %d: error %v", depth, err)
		}
	}
}

// A function that is never called is checked all the same.
func TestUncalledFunctions(t *testing.T) {
	for body, want := range map[string]string{
		`"b"`: `function "f": "b" is not declared`,
		`{"op": "call", "function": "f", "args": ["a"]}`: "calls itself",
		`true`: "the result has type bool where int is needed",
	} {
		doc, err := Parse(NewSource("m", []byte(functionModel(
			`{"name": "f", "type": "int", "parameters": [{"name": "a", "type": "int"}], "body": `+body+`}`, `true`))), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Compile(doc, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", body, err, want)
		}
	}
}

// Arrays are compared and chosen element by element.
func TestWholeArrays(t *testing.T) {
	list := func(x string) string { return `{"op": "av", "elements": [` + x + `]}` }
	for guard, want := range map[string]string{
		`{"op": "=", "left": ` + list(`1, 2`) + `, "right": ` + list(`1, 2`) + `}`:                                                         "",
		`{"op": "≠", "left": ` + list(`1, 2`) + `, "right": ` + list(`1, 3`) + `}`:                                                         "",
		`{"op": "≠", "left": ` + list(`1, "x"`) + `, "right": ` + list(`"x", 3`) + `}`:                                                     "",
		`{"op": "=", "left": ` + list(`1, 2`) + `, "right": ` + list(`1`) + `}`:                                                            "= has arrays of shapes [2] and [1]",
		`{"op": "=", "left": ` + list(`1`) + `, "right": ` + list(`true`) + `}`:                                                            "= compares int with bool",
		`{"op": "<", "left": ` + list(`1`) + `, "right": ` + list(`2`) + `}`:                                                               "an operator on whole arrays is not supported",
		`{"op": "=", "left": {"op": "ite", "if": true, "then": ` + list(`1`) + `, "else": ` + list(`2`) + `}, "right": ` + list(`1`) + `}`: "",
	} {
		doc, err := Parse(NewSource("m", []byte(functionModel("", guard))), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Compile(doc, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", guard, err, want)
		}
		if want == "" && err == nil && !strings.Contains(guard, `"x"`) && m.Parts[0].Edges[0].Guard != nil {
			t.Errorf("%s is not true", guard)
		}
	}
}
