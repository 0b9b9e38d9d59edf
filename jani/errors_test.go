package jani

import (
	"errors"
	"strings"
	"testing"
)

// base is a model without defect. Tests replace a piece of it.
const base = `{"jani-version": 1, "name": "m", "type": "mdp",
 "actions": [{"name": "go"}, {"name": "stop"}],
 "constants": [{"name": "N", "type": "int", "value": 3}],
 "variables": [
  {"name": "x", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": "N"}, "initial-value": 0},
  {"name": "done", "type": "bool", "initial-value": false},
  {"name": "r", "type": "real", "initial-value": 0.5},
  {"name": "arr", "type": {"kind": "array", "base": "int"}, "initial-value": {"op": "av", "elements": [1, 2, 3]}}],
 "automata": [
  {"name": "truck", "locations": [{"name": "home"}, {"name": "away"}], "initial-locations": ["home"],
   "variables": [{"name": "load", "type": "int", "initial-value": 0}],
   "edges": [
    {"location": "home", "action": "go", "guard": {"exp": {"op": "<", "left": "x", "right": "N"}},
     "destinations": [
      {"location": "away", "probability": {"exp": 0.25}, "assignments": [{"ref": "x", "value": 1}]},
      {"location": "home", "probability": {"exp": 0.75}}]}]}],
 "system": {"elements": [{"automaton": "truck"}], "syncs": [{"synchronise": ["go"], "result": "go"}]},
 "properties": []}
`

// build reads and compiles a model.
func build(text string, constants map[string]*Expr) (*Model, error) {
	doc, err := Parse(NewSource("m.jani", []byte(text)), Limits{})
	if err != nil {
		return nil, err
	}
	return Compile(doc, constants)
}

func TestErrors(t *testing.T) {
	if m, err := build(base, nil); err != nil || len(m.Warnings) > 0 {
		t.Fatal(err, m)
	}
	for _, c := range []struct{ name, old, new, want string }{

		// JSON
		{"truncated", `"properties": []}`, `"prop`, `18:7: control character U+000A inside a string`},
		{"truncated at a key", `"properties": []}`, ``, `19:1: the text ends where a key is expected; the file may be truncated`},
		{"truncated at a value", `"properties": []}`, `"properties":`, `19:1: the text ends where a value is expected; the file may be truncated`},
		{"duplicate key", `"name": "m",`, `"name": "m", "name": "n",`, `1:34: duplicate key "name" in one object [at name]`},
		{"not an object", base, `[1]`, `1:1: the model must be an object, not an array`},
		{"a number", base, `12`, `1:1: the model must be an object, not 12`},

		// top level
		{"no name", `"name": "m", `, ``, `1:1: the model has no "name"`},
		{"no version", `"jani-version": 1, `, ``, `1:1: the model has no "jani-version"`},
		{"version 0", `"jani-version": 1`, `"jani-version": 0`, `1:18: jani-version must be at least 1 [at jani-version]`},
		{"version real", `"jani-version": 1`, `"jani-version": 1.5`, `1:18: jani-version must be an integer, not 1.5 [at jani-version]`},
		{"version string", `"jani-version": 1`, `"jani-version": "1"`, `1:18: jani-version must be an integer, not the string "1" [at jani-version]`},
		{"name", `"name": "m"`, `"name": 5`, `1:29: name must be a string, not 5 [at name]`},
		{"no type", `, "type": "mdp"`, ``, `1:1: the model has no "type"`},
		{"unknown type", `"mdp"`, `"mpd"`, `1:42: unknown model type "mpd" [at type]`},
		{"type ta", `"mdp"`, `"ta"`, `1:42: model type "ta" is not supported [at type]`},
		{"type pta", `"mdp"`, `"pta"`, `1:42: model type "pta" is not supported [at type]`},
		{"type sta", `"mdp"`, `"sta"`, `1:42: model type "sta" is not supported [at type]`},
		{"type ha", `"mdp"`, `"ha"`, `1:42: model type "ha" is not supported [at type]`},
		{"type pha", `"mdp"`, `"pha"`, `1:42: model type "pha" is not supported [at type]`},
		{"type sha", `"mdp"`, `"sha"`, `1:42: model type "sha" is not supported [at type]`},
		{"features", `"actions"`, `"features": [1], "actions"`, `2:15: a feature must be a string, not 1 [at features[0]]`},
		{"no automata", `"automata"`, `"x-automata"`, `1:1: the model has no "automata"`},
		{"empty automata", `"automata"`, `"automata": [], "x-automata"`, `1:1: the model has no automaton`},
		{"automata object", `"automata"`, `"automata": {}, "x-automata"`, `9:14: automata must be an array, not an object [at automata]`},
		{"no system", `"system"`, `"x-system"`, `1:1: the model has no "system"`},
		{"no elements", `"elements": [{"automaton": "truck"}], `, ``, `17:12: the system has no "elements" [at system]`},
		{"empty elements", `[{"automaton": "truck"}]`, `[]`, `17:12: the system has no element [at system]`},
		{"function without type", `"properties": []`, `"functions": [{"name": "f"}]`, `18:16: a function has no "type" [at functions[0]]`},
		{"function without body", `"properties": []`, `"functions": [{"name": "f", "type": "int", "parameters": []}]`, `18:16: a function has no "body" [at functions[0]]`},
		{"function without parameters", `"properties": []`, `"functions": [{"name": "f", "type": "int", "body": 1}]`, `18:16: a function has no "parameters" [at functions[0]]`},
		{"function without name", `"properties": []`, `"functions": [{"type": "int", "parameters": [], "body": 1}]`, `18:16: a function has no "name" [at functions[0]]`},
		{"function string", `"properties": []`, `"functions": ["f"]`, `18:16: a function must be an object, not the string "f" [at functions[0]]`},
		{"function with parameter without type", `"properties": []`, `"functions": [{"name": "f", "type": "int", "parameters": [{"name": "a"}], "body": 1}]`, `18:60: a parameter has no "type" [at functions[0].parameters[0]]`},
		{"function with parameters object", `"properties": []`, `"functions": [{"name": "f", "type": "int", "parameters": {}, "body": 1}]`, `18:59: parameters must be an array, not an object [at functions[0].parameters]`},
		{"function twice", `"properties": []`, `"functions": [{"name": "f", "type": "int", "parameters": [], "body": 1}, {"name": "f", "type": "bool", "parameters": [], "body": true}]`, `18:84: function "f" is declared twice [at functions[1].name]`},
		{"function local twice", `"edges": [`, `"functions": [{"name": "f", "type": "int", "parameters": [], "body": 1}, {"name": "f", "type": "int", "parameters": [], "body": 1}], "edges": [`, `12:86: function "f" is declared twice [at automata[0].functions[1].name]`},
		{"functions object", `"properties": []`, `"functions": {}`, `18:15: functions must be an array, not an object [at functions]`},
		{"local function without type", `"edges": [`, `"functions": [{"name": "f"}], "edges": [`, `12:18: a function has no "type" [at automata[0].functions[0]]`},
		{"datatype", `"properties": []`, `"datatypes": [{"name": "d"}]`, `18:16: a datatype is not supported [at datatypes[0]]`},
		{"properties", `"properties": []`, `"properties": {}`, `18:16: properties must be an array, not an object [at properties]`},
		{"property without name", `"properties": []`, `"properties": [{"expression": true}]`, `18:17: a property has no "name" [at properties[0]]`},
		{"property without expression", `"properties": []`, `"properties": [{"name": "p"}]`, `18:17: a property has no "expression" [at properties[0]]`},

		// actions
		{"action string", `[{"name": "go"}, `, `["go", `, `2:14: an action must be an object, not the string "go" [at actions[0]]`},
		{"action without name", `[{"name": "go"}, `, `[{"comment": "go"}, `, `2:14: an action has no "name" [at actions[0]]`},
		{"action twice", `{"name": "stop"}`, `{"name": "go"}`, `2:39: action "go" is declared twice [at actions[1].name]`},
		{"action without a letter", `{"name": "stop"}`, `{"name": ""}`, `2:39: an action has an empty name [at actions[1].name]`},

		// constants
		{"constant without value", `, "value": 3`, ``, `3:25: the constant "N" has no value (give one: -c N=VALUE) [at constants[0].name]`},
		{"constant of wrong type", `"value": 3`, `"value": true`, `3:54: constant "N": the value has type bool where int is needed [at constants[0].value]`},
		{"constant real", `"value": 3`, `"value": 3.5`, `3:54: constant "N": the value has type real where int is needed [at constants[0].value]`},
		{"constant out of bounds", `"name": "N", "type": "int"`, `"name": "N", "type": {"kind": "bounded", "base": "int", "lower-bound": 4}`, `3:101: constant "N": its value is 3, outside its bounds 4 to ∞ [at constants[0].value]`},
		{"constant of later one", `"value": 3}`, `"value": "M"}, {"name": "M", "type": "int", "value": 3}`, `3:54: constant "N": "M" is not declared [at constants[0].value]`},
		{"constant twice", `"value": 3}`, `"value": 3}, {"name": "N", "type": "bool", "value": true}`, `3:67: constant "N": the name is declared twice [at constants[1].name]`},
		{"constant array", `"name": "N", "type": "int"`, `"name": "N", "type": {"kind": "array", "base": "int"}`, `3:81: constant "N": the value has 0 array dimensions, the type has 1 [at constants[0].value]`},
		{"constant 1/0", `"value": 3`, `"value": {"op": "%", "left": 1, "right": 0}`, `3:54: constant "N": remainder of a division by zero [at constants[0].value]`},
		{"constant overflow", `"value": 3`, `"value": 9223372036854775808`, `3:54: the integer 9223372036854775808 does not fit into 64 bits [at constants[0].value]`},
		{"constant without type", `"type": "int", "value": 3`, `"value": 3`, `3:16: a constant has no "type" [at constants[0]]`},

		// types
		{"unknown type name", `"type": "bool"`, `"type": "boolean"`, `6:28: unknown type "boolean" [at variables[1].type]`},
		{"clock", `"type": "bool"`, `"type": "clock"`, `6:28: the type "clock" is not supported [at variables[1].type]`},
		{"continuous", `"type": "bool"`, `"type": "continuous"`, `6:28: the type "continuous" is not supported [at variables[1].type]`},
		{"type number", `"type": "bool"`, `"type": 1`, `6:28: a type must be an object, not 1 [at variables[1].type]`},
		{"no kind", `"kind": "bounded", `, ``, `5:25: a type has no "kind" [at variables[0].type]`},
		{"unknown kind", `"kind": "bounded"`, `"kind": "bound"`, `5:25: unknown type kind "bound" [at variables[0].type]`},
		{"kind datatype", `"kind": "bounded"`, `"kind": "datatype"`, `5:25: the type kind "datatype" is not supported [at variables[0].type]`},
		{"kind option", `"kind": "bounded"`, `"kind": "option"`, `5:25: the type kind "option" is not supported [at variables[0].type]`},
		{"datatype ref", `"kind": "bounded", "base": "int"`, `"kind": "datatype", "ref": "d"`, `5:53: a datatype is not supported [at variables[0].type.ref]`},
		{"bounded without base", `"base": "int", "lower-bound"`, `"lower-bound"`, `5:25: the bounded type has no "base" [at variables[0].type]`},
		{"bounded bool", `"base": "int", "lower-bound"`, `"base": "bool", "lower-bound"`, `5:53: a bounded type needs the base int or real [at variables[0].type.base]`},
		{"bounded without bounds", `, "lower-bound": 0, "upper-bound": "N"`, ``, `5:25: a bounded type needs a lower or an upper bound [at variables[0].type]`},
		{"array without base", `"kind": "array", "base": "int"`, `"kind": "array"`, `8:27: the array type has no "base" [at variables[3].type]`},
		{"empty range", `"lower-bound": 0`, `"lower-bound": 4`, `5:25: variable "x": its type 4 to 3 is empty [at variables[0].type]`},
		{"empty real range", `"type": "real"`, `"type": {"kind": "bounded", "base": "real", "lower-bound": 1.5, "upper-bound": 1}`, `7:25: variable "r": its type 1.5 to 1 is empty [at variables[2].type]`},
		{"bound not constant", `"upper-bound": "N"`, `"upper-bound": "y"`, `5:93: variable "x": "y" is not declared [at variables[0].type.upper-bound]`},
		{"bound real", `"upper-bound": "N"`, `"upper-bound": 4.5`, `5:93: variable "x": the value has type real where int is needed [at variables[0].type.upper-bound]`},
		{"bound bool", `"upper-bound": "N"`, `"upper-bound": true`, `5:93: variable "x": the value has type bool where int is needed [at variables[0].type.upper-bound]`},
		{"bound refers to variable", `"name": "r", "type": "real"`, `"name": "r", "type": {"kind": "bounded", "base": "int", "upper-bound": "x"}`, `7:75: variable "r": the value must be constant [at variables[2].type.upper-bound]`},
		{"bound without value", `"upper-bound": "N"`, `"upper-bound": {"op": "%", "left": 1, "right": 0}`, `5:93: variable "x": remainder of a division by zero [at variables[0].type.upper-bound]`},

		// variables
		{"variable twice", `{"name": "done"`, `{"name": "x"`, `6:12: variable "x": the name is declared twice [at variables[1].name]`},
		{"variable like a constant", `{"name": "done"`, `{"name": "N"`, `6:12: variable "N": the name is declared twice [at variables[1].name]`},
		{"empty name", `{"name": "done"`, `{"name": ""`, `6:12: variable has an empty name [at variables[1].name]`},
		{"variable without name", `{"name": "done", `, `{`, `6:3: a variable has no "name" [at variables[1]]`},
		{"transient initial not constant", `"type": "bool", "initial-value": false`, `"type": "bool", "transient": true, "initial-value": {"op": "=", "left": "x", "right": 0}`, `6:72: variable "done": the value must be constant [at variables[1].initial-value]`},
		{"transient initial of wrong type", `"type": "bool", "initial-value": false`, `"type": "bool", "transient": true, "initial-value": 1`, `6:72: variable "done": the value has type int where bool is needed [at variables[1].initial-value]`},
		{"transient 1", `"type": "bool", "initial`, `"type": "bool", "transient": 1, "initial`, `6:49: transient must be true or false, not 1 [at variables[1].transient]`},
		{"initial value below", `"initial-value": 0}`, `"initial-value": -1}`, `5:116: variable "x": the initial value is -1, outside its bounds 0 to 3 [at variables[0].initial-value]`},
		{"initial value above", `"initial-value": 0}`, `"initial-value": {"op": "+", "left": "N", "right": 1}}`, `5:116: variable "x": the initial value is 4, outside its bounds 0 to 3 [at variables[0].initial-value]`},
		{"initial value real", `"initial-value": 0}`, `"initial-value": 0.5}`, `5:116: variable "x": the value has type real where int is needed [at variables[0].initial-value]`},
		{"initial value bool", `"initial-value": 0}`, `"initial-value": true}`, `5:116: variable "x": the value has type bool where int is needed [at variables[0].initial-value]`},
		{"initial value of bool", `"initial-value": false`, `"initial-value": 0`, `6:53: variable "done": the value has type int where bool is needed [at variables[1].initial-value]`},
		{"initial value of other variable", `"initial-value": false`, `"initial-value": {"op": "=", "left": "x", "right": 0}`, `6:53: variable "done": the value must be constant [at variables[1].initial-value]`},
		{"initial value null", `"initial-value": false`, `"initial-value": null`, `6:53: an expression is expected, not null [at variables[1].initial-value]`},
		{"array without initial value", `, "initial-value": {"op": "av", "elements": [1, 2, 3]}`, ``, `8:12: array variable "arr" without initial value, which would fix its length, is not supported [at variables[3].name]`},
		{"array with scalar", `{"op": "av", "elements": [1, 2, 3]}`, `7`, `8:78: variable "arr": the value has 0 array dimensions, the type has 1 [at variables[3].initial-value]`},
		{"scalar with array", `"initial-value": 0.5`, `"initial-value": {"op": "av", "elements": [1, 2, 3]}`, `7:50: variable "r": the value has 1 array dimensions, the type has 0 [at variables[2].initial-value]`},
		{"array two dimensions", `[1, 2, 3]`, `[{"op": "av", "elements": [1]}]`, `8:78: variable "arr": the value has 2 array dimensions, the type has 1 [at variables[3].initial-value]`},
		{"ragged array", `"kind": "array", "base": "int"}, "initial-value": {"op": "av", "elements": [1, 2, 3]}`, `"kind": "array", "base": {"kind": "array", "base": "int"}}, "initial-value": {"op": "av", "elements": [{"op": "av", "elements": [1]}, {"op": "av", "elements": [1, 2]}]}`, `8:162: variable "arr": the elements of an array must have one type and shape [at variables[3].initial-value.elements[1]]`},
		{"mixed array", `[1, 2, 3]`, `[1, true]`, `8:107: variable "arr": the elements of an array must have one type [at variables[3].initial-value.elements[1]]`},
		{"mixed depth", `[1, 2, 3]`, `[1, {"op": "av", "elements": [1]}]`, `8:107: variable "arr": the elements of an array must have one type and shape [at variables[3].initial-value.elements[1]]`},
		{"empty array", `[1, 2, 3]`, `[]`, `8:78: variable "arr": an array needs at least one element [at variables[3].initial-value]`},
		{"array value type", `[1, 2, 3]`, `[1, 2.5]`, `8:107: variable "arr": the value has type real where int is needed [at variables[3].initial-value.elements[1]]`},
		{"array value out of bounds", `"kind": "array", "base": "int"`, `"kind": "array", "base": {"kind": "bounded", "base": "int", "upper-bound": 2}`, `8:157: variable "arr": the initial value is 3, outside its bounds −∞ to 2 [at variables[3].initial-value.elements[2]]`},
		{"array without elements", `"op": "av", "elements": [1, 2, 3]`, `"op": "av"`, `8:78: the operator "av" needs "elements" [at variables[3].initial-value]`},
		{"array elements no list", `"elements": [1, 2, 3]`, `"elements": 3`, `8:103: elements must be an array, not 3 [at variables[3].initial-value.elements]`},
		{"constructor too long", `{"op": "av", "elements": [1, 2, 3]}`, `{"op": "ac", "var": "i", "length": 2000000, "exp": "i"}`, `8:113: variable "arr": an array of 2000000 elements: the length must be from 1 to 1048576 [at variables[3].initial-value.length]`},
		{"constructor of length 0", `{"op": "av", "elements": [1, 2, 3]}`, `{"op": "ac", "var": "i", "length": 0, "exp": "i"}`, `8:113: variable "arr": an array of 0 elements: the length must be from 1 to 1048576 [at variables[3].initial-value.length]`},
		{"constructor nested too large", `"kind": "array", "base": "int"}, "initial-value": {"op": "av", "elements": [1, 2, 3]}`, `"kind": "array", "base": {"kind": "array", "base": "int"}}, "initial-value": {"op": "ac", "var": "i", "length": 1000000, "exp": {"op": "ac", "var": "j", "length": 1000000, "exp": "j"}}`, `8:207: variable "arr": array constructors, whole arrays and function calls are unrolled to more than 2097152 expressions [at variables[3].initial-value.exp.exp]`},
		{"constructor without var", `{"op": "av", "elements": [1, 2, 3]}`, `{"op": "ac", "length": 1, "exp": 0}`, `8:78: the operator "ac" needs "var" [at variables[3].initial-value]`},
		{"constructor without length", `{"op": "av", "elements": [1, 2, 3]}`, `{"op": "ac", "var": "i", "exp": 0}`, `8:78: the operator "ac" needs "length" [at variables[3].initial-value]`},
		{"constructor of variable length", `{"op": "av", "elements": [1, 2, 3]}`, `{"op": "ac", "var": "i", "length": "x", "exp": 0}`, `8:113: variable "arr": the value must be constant [at variables[3].initial-value.length]`},
		{"constructor variable outside", `{"op": "av", "elements": [1, 2, 3]}`, `{"op": "av", "elements": ["i"]}`, `8:104: variable "arr": "i" is not declared [at variables[3].initial-value.elements[0]]`},

		// automata
		{"automaton twice", `"initial-locations": ["home"],`, `"initial-locations": ["home"], "edges": []}, {"name": "truck", "locations": [{"name": "home"}, {"name": "away"}], "initial-locations": ["home"],`, `10:126: automaton "truck" is declared twice [at automata[1].name]`},
		{"automaton string", `"automata": [`, `"automata": ["truck", `, `9:15: an automaton must be an object, not the string "truck" [at automata[0]]`},
		{"automaton without edges", `"edges"`, `"x-edges"`, `10:3: an automaton has no "edges" [at automata[0]]`},
		{"automaton without initial location", `"initial-locations": ["home"]`, `"initial-locations": []`, `10:3: automaton "truck" needs at least one location and one initial location [at automata[0]]`},
		{"automaton without locations", `"locations": [{"name": "home"}, {"name": "away"}]`, `"locations": []`, `10:3: automaton "truck" needs at least one location and one initial location [at automata[0]]`},
		{"location twice", `{"name": "away"}`, `{"name": "home"}`, `10:62: automaton "truck": location "home" is declared twice [at automata[0].locations[1].name]`},
		{"location string", `{"name": "away"}`, `"away"`, `10:53: a location must be an object, not the string "away" [at automata[0].locations[1]]`},
		{"location without name", `{"name": "away"}`, `{}`, `10:53: a location has no "name" [at automata[0].locations[1]]`},
		{"time-progress", `{"name": "away"}`, `{"name": "away", "time-progress": {"exp": true}}`, `10:87: a time-progress condition is not supported [at automata[0].locations[1].time-progress]`},
		{"transient value for an ordinary variable", `{"name": "away"}`, `{"name": "away", "transient-values": [{"ref": "x", "value": 1}]}`, `10:99: automaton "truck", transient value in location "away": only transient variables have transient values [at automata[0].locations[1].transient-values[0].ref]`},
		{"transient value for an unknown variable", `{"name": "away"}`, `{"name": "away", "transient-values": [{"ref": "y", "value": 1}]}`, `10:99: automaton "truck", transient value in location "away": only transient variables have transient values [at automata[0].locations[1].transient-values[0].ref]`},
		{"transient value for an element", `{"name": "away"}`, `{"name": "away", "transient-values": [{"ref": {"op": "aa", "exp": "arr", "index": 0}, "value": 1}]}`, `10:99: automaton "truck", transient value in location "away": only transient variables have transient values [at automata[0].locations[1].transient-values[0].ref]`},
		{"transient values object", `{"name": "away"}`, `{"name": "away", "transient-values": {}}`, `10:90: transient-values must be an array, not an object [at automata[0].locations[1].transient-values]`},
		{"unknown initial location", `"initial-locations": ["home"]`, `"initial-locations": ["hoem"]`, `10:94: automaton "truck": location "hoem" is not declared (did you mean "home"?) [at automata[0].initial-locations[0]]`},
		{"initial location number", `"initial-locations": ["home"]`, `"initial-locations": [0]`, `10:94: an initial location must be a string, not 0 [at automata[0].initial-locations[0]]`},
		{"local variable twice", `"variables": [{"name": "load"`, `"variables": [{"name": "load", "type": "int"}, {"name": "load"`, `11:60: variable "load": the name is declared twice [at automata[0].variables[1].name]`},
		{"restrict", `"edges": [`, `"restrict-initial": {"exp": "load"}, "edges": [`, `12:32: automaton "truck", restrict-initial: the value has type int where bool is needed [at automata[0].restrict-initial.exp]`},
		{"restrict excludes", `"edges": [`, `"restrict-initial": {"exp": {"op": "=", "left": "load", "right": 1}}, "edges": [`, `12:32: the model has no initial state: restrict-initial excludes the given initial values [at automata[0].restrict-initial.exp]`},
		{"restrict of local", `"automata": [`, `"restrict-initial": {"exp": {"op": "=", "left": "load", "right": 1}}, "automata": [`, `9:50: restrict-initial: "load" is not declared [at restrict-initial.exp.left]`},
		{"restrict without exp", `"edges": [`, `"restrict-initial": {}, "edges": [`, `12:24: restrict-initial has no "exp" [at automata[0].restrict-initial]`},
		{"restrict fails", `"edges": [`, `"restrict-initial": {"exp": {"op": "=", "left": {"op": "%", "left": 1, "right": "load"}, "right": 1}}, "edges": [`, `12:52: remainder of a division by zero [at automata[0].restrict-initial.exp.left]`},

		// edges
		{"edge from unknown location", `{"location": "home", "action"`, `{"location": "hom", "action"`, `13:18: automaton "truck": location "hom" is not declared (did you mean "home"?) [at automata[0].edges[0].location]`},
		{"edge without location", `"location": "home", "action"`, `"action"`, `13:5: an edge has no "location" [at automata[0].edges[0]]`},
		{"edge with unknown action", `"action": "go"`, `"action": "og"`, `13:36: action "og" is not declared (did you mean "go"?) [at automata[0].edges[0].action]`},
		{"edge action null", `"action": "go"`, `"action": null`, `13:36: an edge's action must be a string, not null [at automata[0].edges[0].action]`},
		{"rate in an mdp", `"action": "go"`, `"rate": {"exp": 1.5}`, `13:42: automaton "truck", edge 0, rate: an edge of a model of type mdp has no rate [at automata[0].edges[0].rate.exp]`},
		{"rate bare", `"action": "go"`, `"rate": 1.5`, `13:34: a rate must be an object, not 1.5 [at automata[0].edges[0].rate]`},
		{"guard without exp", `"guard": {"exp": {"op": "<", "left": "x", "right": "N"}}`, `"guard": {"op": "<", "left": "x", "right": "N"}`, `13:51: a guard has no "exp" [at automata[0].edges[0].guard]`},
		{"guard string", `"guard": {"exp": {"op": "<", "left": "x", "right": "N"}}`, `"guard": "done"`, `13:51: a guard must be an object, not the string "done" [at automata[0].edges[0].guard]`},
		{"no destinations", `"destinations"`, `"x-destinations"`, `13:5: an edge has no "destinations" [at automata[0].edges[0]]`},
		{"empty destinations", `"destinations"`, `"destinations": [], "x-destinations"`, `14:22: an edge needs at least one destination [at automata[0].edges[0].destinations]`},
		{"destination to unknown location", `{"location": "away", "prob`, `{"location": "awya", "prob`, `15:20: automaton "truck": location "awya" is not declared (did you mean "away"?) [at automata[0].edges[0].destinations[0].location]`},
		{"destination without location", `{"location": "away", "prob`, `{"prob`, `15:7: a destination has no "location" [at automata[0].edges[0].destinations[0]]`},
		{"probability number", `"probability": {"exp": 0.25}`, `"probability": 0.25`, `15:43: a probability must be an object, not 0.25 [at automata[0].edges[0].destinations[0].probability]`},
		{"probabilities of 0.9", `{"exp": 0.75}`, `{"exp": 0.65}`, `13:5: automaton "truck", edge 0, destinations: the probabilities sum to 0.9, not to 1 [at automata[0].edges[0]]`},
		{"probability 1.5", `{"exp": 0.75}`, `{"exp": 1.5}`, `16:51: automaton "truck", edge 0, probability: the probability is 1.5, not from 0 to 1 [at automata[0].edges[0].destinations[1].probability.exp]`},
		{"probability negative", `{"exp": 0.75}`, `{"exp": {"op": "-", "left": 0, "right": 0.25}}`, `16:51: automaton "truck", edge 0, probability: the probability is -0.25, not from 0 to 1 [at automata[0].edges[0].destinations[1].probability.exp]`},
		{"probability int", `{"exp": 0.75}`, `{"exp": 1}`, `13:5: automaton "truck", edge 0, destinations: the probabilities sum to 1.25, not to 1 [at automata[0].edges[0]]`},
		{"probability bool", `{"exp": 0.75}`, `{"exp": "done"}`, `16:51: automaton "truck", edge 0, probability: the value has type bool where real is needed [at automata[0].edges[0].destinations[1].probability.exp]`},
		{"probability unknown", `{"exp": 0.75}`, `{"exp": {"op": "-", "left": 1, "right": "zero"}}`, `16:83: automaton "truck", edge 0, probability: "zero" is not declared [at automata[0].edges[0].destinations[1].probability.exp.right]`},

		// assignments
		{"unknown variable", `"ref": "x"`, `"ref": "xx"`, `15:82: automaton "truck", edge 0, assignment: "xx" is not declared (did you mean "x"?) [at automata[0].edges[0].destinations[0].assignments[0].ref]`},
		{"unknown local", `"ref": "x"`, `"ref": "laod"`, `15:82: automaton "truck", edge 0, assignment: "laod" is not declared (did you mean "load"?) [at automata[0].edges[0].destinations[0].assignments[0].ref]`},
		{"assign to constant", `"ref": "x"`, `"ref": "N"`, `15:82: automaton "truck", edge 0, assignment: only variables can be assigned to [at automata[0].edges[0].destinations[0].assignments[0].ref]`},
		{"assign to expression", `"ref": "x"`, `"ref": {"op": "+", "left": "x", "right": 1}`, `15:82: an assignment's target must be a variable or an array element [at automata[0].edges[0].destinations[0].assignments[0].ref]`},
		{"assign to number", `"ref": "x"`, `"ref": 3`, `15:82: an assignment's target must be a variable or an array element [at automata[0].edges[0].destinations[0].assignments[0].ref]`},
		{"assign to element of av", `"ref": "x"`, `"ref": {"op": "aa", "exp": {"op": "av", "elements": [1]}, "index": 0}`, `15:82: automaton "truck", edge 0, assignment: only variables can be assigned to [at automata[0].edges[0].destinations[0].assignments[0].ref]`},
		{"assign out of bounds", `"value": 1}`, `"value": 4}`, `15:96: automaton "truck", edge 0, assignment: the variable "x" gets 4, outside its bounds 0 to 3 [at automata[0].edges[0].destinations[0].assignments[0].value]`},
		{"assign real to int", `"value": 1}`, `"value": "r"}`, `15:96: automaton "truck", edge 0, assignment: a value of type real is assigned to "x" of type int [at automata[0].edges[0].destinations[0].assignments[0].value]`},
		{"assign real literal to int", `"value": 1}`, `"value": 1.5}`, `15:96: automaton "truck", edge 0, assignment: the variable "x" gets the real 1.5 [at automata[0].edges[0].destinations[0].assignments[0].value]`},
		{"assign bool to int", `"value": 1}`, `"value": "done"}`, `15:96: automaton "truck", edge 0, assignment: a value of type bool is assigned to "x" of type int [at automata[0].edges[0].destinations[0].assignments[0].value]`},
		{"assign int to bool", `{"ref": "x", "value": 1}`, `{"ref": "done", "value": "x"}`, `15:99: automaton "truck", edge 0, assignment: a value of type int is assigned to "done" of type bool [at automata[0].edges[0].destinations[0].assignments[0].value]`},
		{"assign array to scalar", `"value": 1}`, `"value": "arr"}`, `15:74: automaton "truck", edge 0, assignment: an array is assigned to a single variable [at automata[0].edges[0].destinations[0].assignments[0]]`},
		{"assign scalar to array", `{"ref": "x", "value": 1}`, `{"ref": "arr", "value": "x"}`, `15:74: automaton "truck", edge 0, assignment: a single value is assigned to an array [at automata[0].edges[0].destinations[0].assignments[0]]`},
		{"assign array of other shape", `{"ref": "x", "value": 1}`, `{"ref": "arr", "value": {"op": "av", "elements": [1, 2]}}`, `15:74: automaton "truck", edge 0, assignment: an array of shape [2] is assigned to one of shape [3] [at automata[0].edges[0].destinations[0].assignments[0]]`},
		{"assign array of bools", `{"ref": "x", "value": 1}`, `{"ref": "arr", "value": {"op": "av", "elements": ["done", true, "done"]}}`, `15:98: automaton "truck", edge 0, assignment: a value of type bool is assigned to "arr[0]" of type int [at automata[0].edges[0].destinations[0].assignments[0].value]`},
		{"assign to element that is not there", `"ref": "x"`, `"ref": {"op": "aa", "exp": "arr", "index": 3}`, `15:82: automaton "truck", edge 0, assignment: the array has no such element [at automata[0].edges[0].destinations[0].assignments[0].ref]`},
		{"assignment without ref", `"ref": "x", `, ``, `15:74: an assignment has no "ref" [at automata[0].edges[0].destinations[0].assignments[0]]`},
		{"assignment without value", `, "value": 1}`, `}`, `15:74: an assignment has no "value" [at automata[0].edges[0].destinations[0].assignments[0]]`},
		{"assignment index real", `"value": 1}`, `"value": 1, "index": 0.5}`, `15:108: an assignment's index must be an integer, not 0.5 [at automata[0].edges[0].destinations[0].assignments[0].index]`},
		{"assignment index large", `"value": 1}`, `"value": 1, "index": 4294967296}`, `15:108: an assignment's index must fit into 32 bits [at automata[0].edges[0].destinations[0].assignments[0].index]`},
		{"assignment list", `"assignments": [{"ref": "x", "value": 1}]`, `"assignments": {"ref": "x", "value": 1}`, `15:73: assignments must be an array, not an object [at automata[0].edges[0].destinations[0].assignments]`},

		// expressions
		{"unknown name", `"left": "x", "right": "N"`, `"left": "x", "right": "M"`, `13:93: automaton "truck", edge 0, guard: "M" is not declared [at automata[0].edges[0].guard.exp.right]`},
		{"misspelt name", `"left": "x", "right": "N"`, `"left": "doen", "right": "N"`, `13:79: automaton "truck", edge 0, guard: "doen" is not declared (did you mean "done"?) [at automata[0].edges[0].guard.exp.left]`},
		{"unknown operator", `"op": "<"`, `"op": "=<"`, `13:66: unknown operator "=<" [at automata[0].edges[0].guard.exp.op]`},
		{"operator number", `"op": "<"`, `"op": 3`, `13:66: an operator must be a string, not 3 [at automata[0].edges[0].guard.exp.op]`},
		{"missing operand", `"op": "<", "left": "x", "right": "N"`, `"op": "<", "left": "x"`, `13:59: the operator "<" needs "right" [at automata[0].edges[0].guard.exp]`},
		{"missing exp", `"op": "<", "left": "x", "right": "N"`, `"op": "¬"`, `13:59: the operator "¬" needs "exp" [at automata[0].edges[0].guard.exp]`},
		{"missing op", `"op": "<", "left": "x", "right": "N"`, `"left": "x", "right": "N"`, `13:59: an expression object needs "op", "constant" or "exp" [at automata[0].edges[0].guard.exp]`},
		{"list", `{"op": "<", "left": "x", "right": "N"}`, `["x"]`, `13:59: an expression is expected, not an array [at automata[0].edges[0].guard.exp]`},
		{"null", `{"op": "<", "left": "x", "right": "N"}`, `null`, `13:59: an expression is expected, not null [at automata[0].edges[0].guard.exp]`},
		{"type of ∧", `"op": "<", "left": "x", "right": "N"`, `"op": "∧", "left": "done", "right": "N"`, `13:96: automaton "truck", edge 0, guard: operator ∧ needs bool, not int [at automata[0].edges[0].guard.exp.right]`},
		{"type of <", `"op": "<", "left": "x", "right": "N"`, `"op": "<", "left": "x", "right": "done"`, `13:93: automaton "truck", edge 0, guard: operator < needs a number, not bool [at automata[0].edges[0].guard.exp.right]`},
		{"type of =", `"op": "<", "left": "x", "right": "N"`, `"op": "=", "left": "x", "right": "done"`, `13:59: automaton "truck", edge 0, guard: = compares int with bool [at automata[0].edges[0].guard.exp]`},
		{"type of %", `"op": "<"`, `"op": "%"`, `13:59: automaton "truck", edge 0, guard: the value has type int where bool is needed [at automata[0].edges[0].guard.exp]`},
		{"type of % r", `"left": "x", "right": "N"`, `"left": {"op": "%", "left": "x", "right": "r"}, "right": 1`, `13:113: automaton "truck", edge 0, guard: operator % needs int, not real [at automata[0].edges[0].guard.exp.left.right]`},
		{"type of ¬", `"op": "<", "left": "x", "right": "N"`, `"op": "¬", "exp": "x"`, `13:78: automaton "truck", edge 0, guard: operator ¬ needs bool, not int [at automata[0].edges[0].guard.exp.exp]`},
		{"type of +", `"op": "<"`, `"op": "+"`, `13:59: automaton "truck", edge 0, guard: the value has type int where bool is needed [at automata[0].edges[0].guard.exp]`},
		{"type of ite", `"op": "<", "left": "x", "right": "N"`, `"op": "ite", "if": "x", "then": true, "else": false`, `13:79: automaton "truck", edge 0, guard: operator ite needs bool, not int [at automata[0].edges[0].guard.exp.if]`},
		{"type of branches", `"op": "<", "left": "x", "right": "N"`, `"op": "ite", "if": "done", "then": true, "else": 0`, `13:59: automaton "truck", edge 0, guard: ite has branches of types bool and int [at automata[0].edges[0].guard.exp]`},
		{"type of guard", `{"op": "<", "left": "x", "right": "N"}`, `"r"`, `13:59: automaton "truck", edge 0, guard: the value has type real where bool is needed [at automata[0].edges[0].guard.exp]`},
		{"array in guard", `{"op": "<", "left": "x", "right": "N"}`, `"arr"`, `13:59: automaton "truck", edge 0, guard: an array stands where a single value is needed [at automata[0].edges[0].guard.exp]`},
		{"array operator", `"left": "x", "right": "N"`, `"left": "arr", "right": "N"`, `13:79: automaton "truck", edge 0, guard: an operator on whole arrays is not supported [at automata[0].edges[0].guard.exp.left]`},
		{"index of scalar", `"left": "x", "right": "N"`, `"left": {"op": "aa", "exp": "x", "index": 0}, "right": "N"`, `13:79: automaton "truck", edge 0, guard: an index is used on a value of type int [at automata[0].edges[0].guard.exp.left]`},
		{"index real", `"left": "x", "right": "N"`, `"left": {"op": "aa", "exp": "arr", "index": "r"}, "right": "N"`, `13:115: automaton "truck", edge 0, guard: the value has type real where int is needed [at automata[0].edges[0].guard.exp.left.index]`},
		{"index array", `"left": "x", "right": "N"`, `"left": {"op": "aa", "exp": "arr", "index": "arr"}, "right": "N"`, `13:115: automaton "truck", edge 0, guard: an array stands where a single value is needed [at automata[0].edges[0].guard.exp.left.index]`},
		{"computed index of arrays of two lengths", `"left": "x", "right": "N"`, `"left": {"op": "aa", "exp": {"op": "av", "elements": [{"op": "av", "elements": [1]}, {"op": "av", "elements": [1, 2]}]}, "index": "x"}, "right": "N"`, `13:156: automaton "truck", edge 0, guard: the elements of an array must have one type and shape [at automata[0].edges[0].guard.exp.left.exp.elements[1]]`},
		{"too many indices", `"left": "x", "right": "N"`, `"left": {"op": "aa", "exp": {"op": "aa", "exp": "arr", "index": "x"}, "index": 0}, "right": "N"`, `13:79: automaton "truck", edge 0, guard: an index is used on a value of type int [at automata[0].edges[0].guard.exp.left]`},
		{"integer too large", `"left": "x", "right": "N"`, `"left": "x", "right": -9223372036854775809`, `13:93: the integer -9223372036854775809 does not fit into 64 bits [at automata[0].edges[0].guard.exp.right]`},
		{"real too large", `"left": "x", "right": "N"`, `"left": "x", "right": 1e400`, `13:93: the number 1e400 is out of the range of a double [at automata[0].edges[0].guard.exp.right]`},
		{"constant e", `"left": "x", "right": "N"`, `"left": "x", "right": {"constant": "E"}`, `13:106: unknown mathematical constant the string "E" [at automata[0].edges[0].guard.exp.right.constant]`},
		{"constant number", `"left": "x", "right": "N"`, `"left": "x", "right": {"constant": 3}`, `13:106: unknown mathematical constant 3 [at automata[0].edges[0].guard.exp.right.constant]`},
		{"call of undeclared function", `"op": "<", "left": "x", "right": "N"`, `"op": "call", "function": "f", "args": []`, `13:59: automaton "truck", edge 0, guard: the function "f" is not declared [at automata[0].edges[0].guard.exp]`},
		{"call of number", `"op": "<", "left": "x", "right": "N"`, `"op": "call", "function": 3, "args": []`, `13:86: a function's name must be a string, not 3 [at automata[0].edges[0].guard.exp.function]`},
		{"nondet", `"op": "<", "left": "x", "right": "N"`, `"op": "nondet", "var": "v", "exp": true`, `13:66: the operator "nondet" is not supported [at automata[0].edges[0].guard.exp.op]`},
		{"let with variables", `"op": "<", "left": "x", "right": "N"`, `"op": "let", "variables": [{"name": "v"}], "expression": true`, `13:86: a let expression with variables is not supported [at automata[0].edges[0].guard.exp.variables]`},
		{"let without expression", `"op": "<", "left": "x", "right": "N"`, `"op": "let", "variables": []`, `13:59: the operator "let" needs "expression" [at automata[0].edges[0].guard.exp]`},
		{"state-condition without exp", `"op": "<", "left": "x", "right": "N"`, `"op": "state-condition"`, `13:59: the operator "state-condition" needs "exp" [at automata[0].edges[0].guard.exp]`},
		{"sin of bool", `"left": "x", "right": "N"`, `"left": {"op": "sin", "exp": "done"}, "right": "N"`, `13:100: automaton "truck", edge 0, guard: operator sin needs a number, not bool [at automata[0].edges[0].guard.exp.left.exp]`},
		{"sin of nothing", `"left": "x", "right": "N"`, `"left": {"op": "sin"}, "right": "N"`, `13:79: the operator "sin" needs "exp" [at automata[0].edges[0].guard.exp.left]`},
		{"sin of array", `"left": "x", "right": "N"`, `"left": {"op": "sin", "exp": "arr"}, "right": "N"`, `13:100: automaton "truck", edge 0, guard: an operator on whole arrays is not supported [at automata[0].edges[0].guard.exp.left.exp]`},
		{"sin as int", `"value": 1}`, `"value": {"op": "sin", "exp": "x"}}`, `15:96: automaton "truck", edge 0, assignment: a value of type real is assigned to "x" of type int [at automata[0].edges[0].destinations[0].assignments[0].value]`},
		{"unknown trigonometry", `"left": "x", "right": "N"`, `"left": {"op": "arcsin", "exp": "x"}, "right": "N"`, `13:86: unknown operator "arcsin" [at automata[0].edges[0].guard.exp.left.op]`},
		{"deadlock", `"op": "<", "left": "x", "right": "N"`, `"op": "deadlock"`, `13:59: automaton "truck", edge 0, guard: "deadlock" stands outside a condition on states [at automata[0].edges[0].guard.exp]`},
		{"initial", `"op": "<", "left": "x", "right": "N"`, `"op": "initial"`, `13:59: automaton "truck", edge 0, guard: "initial" stands outside a condition on states [at automata[0].edges[0].guard.exp]`},
		{"F", `"op": "<", "left": "x", "right": "N"`, `"op": "F", "exp": true`, `13:66: the operator "F" is not supported [at automata[0].edges[0].guard.exp.op]`},
		{"Pmax", `"op": "<", "left": "x", "right": "N"`, `"op": "Pmax", "exp": true`, `13:66: the operator "Pmax" is not supported [at automata[0].edges[0].guard.exp.op]`},

		// system
		{"unknown automaton", `[{"automaton": "truck"}]`, `[{"automaton": "trcuk"}]`, `17:40: automaton "trcuk" is not declared (did you mean "truck"?) [at system.elements[0].automaton]`},
		{"element string", `[{"automaton": "truck"}]`, `["truck"]`, `17:26: an element must be an object, not the string "truck" [at system.elements[0]]`},
		{"element without automaton", `[{"automaton": "truck"}]`, `[{}]`, `17:26: an element has no "automaton" [at system.elements[0]]`},
		{"input-enable of unknown action", `{"automaton": "truck"}`, `{"automaton": "truck", "input-enable": ["og"]}`, `17:66: action "og" is not declared (did you mean "go"?) [at system.elements[0].input-enable[0]]`},
		{"input-enable string", `{"automaton": "truck"}`, `{"automaton": "truck", "input-enable": "go"}`, `17:65: input-enable must be an array, not the string "go" [at system.elements[0].input-enable]`},
		{"input-enable number", `{"automaton": "truck"}`, `{"automaton": "truck", "input-enable": [1]}`, `17:66: an input-enabled action must be a string, not 1 [at system.elements[0].input-enable[0]]`},
		{"vector too long", `["go"]`, `["go", null]`, `17:61: the synchronisation vector has 2 entries, the system has 1 elements [at system.syncs[0]]`},
		{"vector empty", `["go"]`, `[]`, `17:61: the synchronisation vector has 0 entries, the system has 1 elements [at system.syncs[0]]`},
		{"vector of null", `["go"]`, `[null]`, `17:61: the synchronisation vector has no participant [at system.syncs[0]]`},
		{"vector with unknown action", `["go"]`, `["og"]`, `17:78: action "og" is not declared (did you mean "go"?) [at system.syncs[0].synchronise[0]]`},
		{"vector with unknown result", `"result": "go"`, `"result": "goo"`, `17:95: action "goo" is not declared (did you mean "go"?) [at system.syncs[0].result]`},
		{"vector with number", `["go"]`, `[1]`, `17:78: a synchronised action must be a string, not 1 [at system.syncs[0].synchronise[0]]`},
		{"vector string", `["go"]`, `"go"`, `17:77: synchronise must be an array, not the string "go" [at system.syncs[0].synchronise]`},
		{"result number", `"result": "go"`, `"result": 1`, `17:95: a synchronisation's result must be a string, not 1 [at system.syncs[0].result]`},
		{"sync without vector", `"synchronise": ["go"], `, ``, `17:61: a synchronisation vector has no "synchronise" [at system.syncs[0]]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Count(base, c.old) < 1 {
				t.Fatalf("the model has no %s", c.old)
			}
			_, err := build(strings.Replace(base, c.old, c.new, 1), nil)
			if err == nil {
				t.Fatal("no error")
			}
			if got := strings.TrimPrefix(err.Error(), "m.jani:"); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
			var e *Error
			if !errors.As(err, &e) || (e.Kind == Unsupported) != strings.Contains(c.want, "is not supported") {
				t.Errorf("%T of kind %v", err, e)
			}
		})
	}
}

// Errors that take more than one change to the model.
func TestExtensionErrors(t *testing.T) {
	const (
		guard = `{"op": "<", "left": "x", "right": "N"}`
		props = `"properties": []`
		typ   = `"mdp"`
		label = `"action": "go"`
		done  = `"type": "bool", "initial-value": false`
		away  = `{"name": "away"}`
		f     = `"functions": [{"name": "f", "type": "bool", "parameters": [{"name": "a", "type": "int"}], "body": `
	)
	for _, c := range []struct {
		name  string
		swaps []string
		want  string
	}{
		{"call with too few arguments", []string{guard, `{"op": "call", "function": "f", "args": []}`, props, f + `true}]`}, `13:59: automaton "truck", edge 0, guard: the function "f" has 1 parameters, the call has 0 arguments [at automata[0].edges[0].guard.exp]`},
		{"call with too many arguments", []string{guard, `{"op": "call", "function": "f", "args": [1, 2]}`, props, f + `true}]`}, `13:59: automaton "truck", edge 0, guard: the function "f" has 1 parameters, the call has 2 arguments [at automata[0].edges[0].guard.exp]`},
		{"argument of wrong type", []string{guard, `{"op": "call", "function": "f", "args": ["done"]}`, props, f + `true}]`}, `13:100: automaton "truck", edge 0, guard: parameter "a" of function "f" has type bool where int is needed [at automata[0].edges[0].guard.exp.args[0]]`},
		{"argument real for int", []string{guard, `{"op": "call", "function": "f", "args": ["r"]}`, props, f + `true}]`}, `13:100: automaton "truck", edge 0, guard: parameter "a" of function "f" has type real where int is needed [at automata[0].edges[0].guard.exp.args[0]]`},
		{"argument array", []string{guard, `{"op": "call", "function": "f", "args": ["arr"]}`, props, f + `true}]`}, `13:100: automaton "truck", edge 0, guard: parameter "a" of function "f" has 1 array dimensions where 0 are needed [at automata[0].edges[0].guard.exp.args[0]]`},
		{"body of wrong type", []string{guard, `{"op": "call", "function": "f", "args": ["x"]}`, props, f + `"a"}]`}, `18:100: function "f": the result has type int where bool is needed [at functions[0].body]`},
		{"body with unknown name", []string{guard, `{"op": "call", "function": "f", "args": ["x"]}`, props, f + `"b"}]`}, `18:100: function "f": "b" is not declared [at functions[0].body]`},
		{"body of a global function reads a local", []string{guard, `{"op": "call", "function": "f", "args": ["x"]}`, props, f + `{"op": "=", "left": "load", "right": 0}}]`}, `18:120: function "f": "load" is not declared [at functions[0].body.left]`},
		{"recursive function", []string{guard, `{"op": "call", "function": "f", "args": ["x"]}`, props, f + `{"op": "call", "function": "f", "args": ["a"]}}]`}, `18:100: function "f": the function "f" calls itself [at functions[0].body]`},
		{"mutually recursive functions", []string{guard, `{"op": "call", "function": "f", "args": ["x"]}`, props, f + `{"op": "call", "function": "g", "args": ["a"]}},
  {"name": "g", "type": "bool", "parameters": [{"name": "a", "type": "int"}], "body": {"op": "call", "function": "f", "args": ["a"]}}]`}, `19:87: function "f": the function "f" calls itself [at functions[1].body]`},
		{"parameter twice", []string{guard, `{"op": "call", "function": "f", "args": [1, 2]}`, props, `"functions": [{"name": "f", "type": "bool", "parameters": [{"name": "a", "type": "int"}, {"name": "a", "type": "int"}], "body": true}]`}, `18:100: parameter "a": the name is declared twice [at functions[0].parameters[1].name]`},
		{"parameter of array type", []string{guard, `{"op": "call", "function": "f", "args": ["x"]}`, props, `"functions": [{"name": "f", "type": "bool", "parameters": [{"name": "a", "type": {"kind": "array", "base": "int"}}], "body": true}]`}, `13:100: automaton "truck", edge 0, guard: parameter "a" of function "f" has 0 array dimensions where 1 are needed [at automata[0].edges[0].guard.exp.args[0]]`},
		{"result of wrong type", []string{`"value": 1}`, `"value": {"op": "call", "function": "f", "args": ["x"]}}`, props, f + `true}]`}, `18:100: automaton "truck", edge 0, assignment: the variable "x" gets a value of type bool [at functions[0].body]`},
		{"rate in an lts", []string{typ, `"lts"`, label, `"rate": {"exp": 1}`}, `13:42: automaton "truck", edge 0, rate: an edge of a model of type lts has no rate [at automata[0].edges[0].rate.exp]`},
		{"rate in a dtmc", []string{typ, `"dtmc"`, label, `"rate": {"exp": 1}`}, `13:42: automaton "truck", edge 0, rate: an edge of a model of type dtmc has no rate [at automata[0].edges[0].rate.exp]`},
		{"negative rate in a ctmc", []string{typ, `"ctmc"`, label, `"rate": {"exp": -1}`}, `13:42: automaton "truck", edge 0, rate: the rate is negative [at automata[0].edges[0].rate.exp]`},
		{"negative rate in a ctmdp", []string{typ, `"ctmdp"`, label, `"rate": {"exp": -0.5}`}, `13:42: automaton "truck", edge 0, rate: the rate is negative [at automata[0].edges[0].rate.exp]`},
		{"rate bool in an ma", []string{typ, `"ma"`, label, `"rate": {"exp": "done"}`}, `13:42: automaton "truck", edge 0, rate: the value has type bool where real is needed [at automata[0].edges[0].rate.exp]`},
		{"rate without exp in an ma", []string{typ, `"ma"`, label, `"rate": {}`}, `13:34: a rate has no "exp" [at automata[0].edges[0].rate]`},
		{"transient without value in an assignment", []string{done, `"type": "bool", "transient": true`, `"value": 1}`, `"value": {"op": "ite", "if": "done", "then": 1, "else": 2}}`}, `15:116: automaton "truck", edge 0, assignment: reading the transient variable "done", which has no initial value, is not supported [at automata[0].edges[0].destinations[0].assignments[0].value.if]`},
		{"transient value twice", []string{done, `"type": "bool", "transient": true`, away, `{"name": "away", "transient-values": [{"ref": "done", "value": true}, {"ref": "done", "value": false}]}`}, `10:123: automaton "truck", transient value in location "away": the transient variable "done" gets two different values [at automata[0].locations[1].transient-values[1]]`},
		{"transient value that depends on itself", []string{done, `"type": "bool", "transient": true`, away, `{"name": "away", "transient-values": [{"ref": "done", "value": {"op": "¬", "exp": "done"}}]}`}, `10:135: automaton "truck", transient value in location "away": the value of the transient variable "done" depends on itself [at automata[0].locations[1].transient-values[0].value.exp]`},
		{"transient value of a variable", []string{away, `{"name": "away", "transient-values": [{"ref": "x", "value": 1}]}`}, `10:99: automaton "truck", transient value in location "away": only transient variables have transient values [at automata[0].locations[1].transient-values[0].ref]`},
		{"transient value outside its bounds", []string{done, `"type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 1}, "transient": true`, away, `{"name": "away", "transient-values": [{"ref": "done", "value": 2}]}`}, `10:116: automaton "truck", transient value in location "away": the value of the transient variable "done" is outside the bounds of its type [at automata[0].locations[1].transient-values[0].value]`},
		{"initial value reads a transient", []string{done, `"type": "bool", "transient": true, "initial-value": false}, {"name": "e", "type": "bool", "initial-value": "done"`}, `6:127: variable "e": the transient variable "done" is not constant [at variables[2].initial-value]`},
		{"transient value of wrong type", []string{done, `"type": "bool", "transient": true, "initial-value": false`, away, `{"name": "away", "transient-values": [{"ref": "done", "value": 1}]}`}, `10:116: automaton "truck", transient value in location "away": the value of the transient variable "done" has type int where bool is needed [at automata[0].locations[1].transient-values[0].value]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := build(swap(t, c.swaps...), nil)
			if err == nil {
				t.Fatal("no error")
			}
			if got := strings.TrimPrefix(err.Error(), "m.jani:"); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
			var e *Error
			if !errors.As(err, &e) || (e.Kind == Unsupported) != strings.Contains(c.want, "is not supported") {
				t.Errorf("%T of kind %v", err, e)
			}
		})
	}
}
