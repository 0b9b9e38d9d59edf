package nnpolicy

import (
	"slices"
	"strconv"
	"strings"

	"fuzzsafe/jani"

	"github.com/tidwall/gjson"
)

// Interface says what the inputs and outputs of a network are in a model, by name.
type Interface struct {
	Source  *jani.Source // nil if it was not read from a file
	File    string       // network file, relative to the folder of the interface file
	FilePos jani.Pos
	Inputs  []Input
	Outputs []jani.Name // action labels
	// Filter is whether the policy is meant to choose among applicable actions only;
	// true if the file does not say.
	Filter bool
	// Hidden are the widths of the hidden layers, nil if the file does not say.
	Hidden    []int
	HiddenPos jani.Pos
	// Weights says what a network file of nothing but weights leaves open.
	Weights  Weights
	Warnings []jani.Warning

	stands bool // the model stands in for the file
}

// Input is one input of a network: a variable, an element of an array variable, or the
// location of an automaton.
type Input struct {
	Name     string // of the variable, "" for a location
	Location bool
	// Automaton and Instance are the automaton that owns the variable or is in the
	// location, by name and by position in the composition: "" and −1 where the file
	// does not say, both for a global variable.
	Automaton string
	Instance  int
	Element   int // index in the array, −1 for scalars and locations
	Pos       jani.Pos
}

// ReadInterface reads a .jani2nnet file:
//
//	{"file": network, "input": [INPUT …], "output": [label …],
//	 "filter": bool, "elements": [width of a hidden layer …],
//	 "activation": "relu", "tanh" or "sigmoid", "layers": [name of a layer …]}
//
//	INPUT: {"name": variable, "automaton": OWNER, "index"?: element of an array}
//	       {"name": automaton, "index": position in the composition}, its location
//	       {"name": variable}, as named in the model: x, automaton.x, a[3]
//	OWNER: null for globals, name, position, or {"name": name, "index": position}
//
// The keys from "filter" on may be missing. Unknown keys become warnings, but for "comment"
// and those that begin with "x-". Any defect is a *jani.Error with its place. Time is
// linear in the text.
func ReadInterface(src *jani.Source) (*Interface, error) {
	if err := jani.CheckJSON(src, jani.Limits{}); err != nil {
		return nil, err
	}
	i := &Interface{Source: src, Filter: true}
	r := interfaceReader{src: src}
	r.object(gjson.Parse(src.Text), "the policy interface", func(key string, v gjson.Result) bool {
		switch key {
		case "file":
			i.File, i.FilePos = r.text(v, "the file"), r.pos(v)
		case "input":
			r.array(v, "the list of inputs", func(v gjson.Result) { i.Inputs = append(i.Inputs, r.input(v)) })
		case "output":
			r.array(v, "the list of outputs", func(v gjson.Result) {
				i.Outputs = append(i.Outputs, jani.Name{Name: r.text(v, "an output"), Pos: r.pos(v)})
			})
		case "filter":
			if v.Type != gjson.True && v.Type != gjson.False {
				r.wrong(v, "the filter", "true or false")
			}
			i.Filter = v.Bool()
		case "elements":
			i.Hidden, i.HiddenPos = []int{}, r.pos(v)
			r.array(v, "the list of elements", func(v gjson.Result) { i.Hidden = append(i.Hidden, r.integer(v, "a layer size")) })
		case "activation":
			i.Weights.Activation = r.text(v, "the activation")
			if !slices.Contains([]string{"relu", "tanh", "sigmoid"}, v.Str) {
				r.wrong(v, "the activation", "relu, tanh or sigmoid")
			}
		case "layers":
			i.Weights.Layers = []string{}
			r.array(v, "the list of layers", func(v gjson.Result) { i.Weights.Layers = append(i.Weights.Layers, r.text(v, "a layer")) })
		default:
			return false
		}
		return true
	}, "file", "input", "output")
	if r.err != nil {
		return nil, r.err
	}
	i.Warnings = r.warnings
	return i, nil
}

// interfaceReader reads JSON values that CheckJSON has passed and keeps the first error.
type interfaceReader struct {
	src      *jani.Source
	err      error
	warnings []jani.Warning
}

func (r *interfaceReader) pos(v gjson.Result) jani.Pos {
	return jani.Pos{Src: r.src, Off: int32(v.Index)}
}

func (r *interfaceReader) wrong(v gjson.Result, what, expected string) {
	if r.err == nil {
		r.err = badInput(r.pos(v), "%s must be %s", what, expected)
	}
}

// object calls field for every member; field reports whether it knows the key.
func (r *interfaceReader) object(v gjson.Result, what string, field func(key string, v gjson.Result) bool, required ...string) {
	if !v.IsObject() {
		r.wrong(v, what, "an object")
		return
	}
	seen := make(map[string]bool)
	v.ForEach(func(k, m gjson.Result) bool {
		seen[k.Str] = true
		if !field(k.Str, m) && k.Str != "comment" && !strings.HasPrefix(k.Str, "x-") {
			r.warnings = append(r.warnings, jani.Warning{Pos: r.pos(k), Msg: "unknown key " + strconv.Quote(k.Str) + " in " + what + " is ignored"})
		}
		return r.err == nil
	})
	for _, key := range required {
		if !seen[key] && r.err == nil {
			r.err = badInput(r.pos(v), "%s has no %q", what, key)
		}
	}
}

func (r *interfaceReader) array(v gjson.Result, what string, item func(v gjson.Result)) {
	if !v.IsArray() {
		r.wrong(v, what, "an array")
		return
	}
	v.ForEach(func(_, m gjson.Result) bool {
		item(m)
		return r.err == nil
	})
}

func (r *interfaceReader) text(v gjson.Result, what string) string {
	if v.Type != gjson.String || v.Str == "" {
		r.wrong(v, what, "a string that is not empty")
	}
	return v.Str
}

func (r *interfaceReader) integer(v gjson.Result, what string) int {
	n, err := strconv.ParseInt(v.Raw, 10, 32)
	if err != nil || n < 0 {
		r.wrong(v, what, "a whole number from 0 to 2147483647")
	}
	return int(n)
}

func (r *interfaceReader) input(v gjson.Result) Input {
	in := Input{Instance: -1, Element: -1, Pos: r.pos(v)}
	owned := false
	r.object(v, "an input", func(key string, v gjson.Result) bool {
		switch key {
		case "name":
			in.Name = r.text(v, "the name of an input")
		case "index":
			in.Element = r.integer(v, "the index of an input")
		case "automaton":
			owned = true
			in.Automaton, in.Instance = r.owner(v)
		default:
			return false
		}
		return true
	}, "name")
	if !owned && in.Element >= 0 {
		return Input{Location: true, Automaton: in.Name, Instance: in.Element, Element: -1, Pos: in.Pos}
	}
	return in
}

// owner reads the automaton of an input.
func (r *interfaceReader) owner(v gjson.Result) (name string, instance int) {
	const what = "the automaton of an input"
	switch {
	case v.Type == gjson.Null:
		return "", -1
	case v.Type == gjson.String:
		return r.text(v, what), -1
	case v.Type == gjson.Number:
		return "", r.integer(v, what)
	case v.IsObject():
		r.object(v, what, func(key string, v gjson.Result) bool {
			switch key {
			case "name":
				name = r.text(v, "the name of an automaton")
			case "index":
				instance = r.integer(v, "the index of an automaton")
			default:
				return false
			}
			return true
		}, "name", "index")
		return name, instance
	}
	r.wrong(v, what, "null, a name, a position, or an object of name and index")
	return "", -1
}
