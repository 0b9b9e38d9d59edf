package nnpolicy

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fuzzsafe/jani"
)

func TestReadInterface(t *testing.T) {
	src := jani.NewSource("i", []byte("\ufeff\n"+`{
  "file": "net.nnet",
  "comment": "ignored", "x-tool": 1, "torch": "net.pt",
  "input": [
    {"name": "x", "automaton": null},
    {"automaton": "truck", "name": "speed"},
    {"name": "a", "automaton": null, "index": 2},
    {"name": "b", "automaton": 1, "index": 0},
    {"name": "c", "automaton": {"name": "truck", "index": 1}},
    {"name": "truck", "index": 1},
    {"name": "truck.speed", "scale": 2}
  ],
  "output": ["go", "stop"],
  "filter": false,
  "elements": [16, 8]
}`))
	i, err := ReadInterface(src)
	if err != nil {
		t.Fatal(err)
	}
	want := []Input{
		{Name: "x", Instance: -1, Element: -1},
		{Name: "speed", Automaton: "truck", Instance: -1, Element: -1},
		{Name: "a", Instance: -1, Element: 2},
		{Name: "b", Instance: 1, Element: 0},
		{Name: "c", Automaton: "truck", Instance: 1, Element: -1},
		{Location: true, Automaton: "truck", Instance: 1, Element: -1},
		{Name: "truck.speed", Instance: -1, Element: -1},
	}
	for k := range want {
		want[k].Pos = i.Inputs[k].Pos
		if line, col := i.Inputs[k].Pos.LineCol(); line != 6+k || col != 5 {
			t.Errorf("input %d is at %d:%d, want %d:5", k, line, col, 6+k)
		}
	}
	if !reflect.DeepEqual(i.Inputs, want) {
		t.Errorf("inputs are %+v, want %+v", i.Inputs, want)
	}
	if i.File != "net.nnet" || i.Filter || fmt.Sprint(i.Hidden) != "[16 8]" || i.Source != src {
		t.Errorf("file %q, filter %v, hidden %v", i.File, i.Filter, i.Hidden)
	}
	if len(i.Outputs) != 2 || i.Outputs[0].Name != "go" || i.Outputs[1].Name != "stop" {
		t.Errorf("outputs are %v", i.Outputs)
	}
	if line, col := i.Outputs[1].Pos.LineCol(); line != 14 || col != 20 {
		t.Errorf("the second output is at %d:%d", line, col)
	}
	var warnings []string
	for _, w := range i.Warnings {
		warnings = append(warnings, w.String())
	}
	if len(warnings) != 2 || !strings.HasPrefix(warnings[0], `i:4:38: unknown key "torch" in the policy interface is ignored`) ||
		!strings.HasPrefix(warnings[1], `i:12:29: unknown key "scale" in an input`) {
		t.Errorf("warnings are %q", warnings)
	}
}

func TestReadInterfaceDefaults(t *testing.T) {
	i, err := ReadInterface(jani.NewSource("i", []byte(`{"file":"n","input":[],"output":[]}`)))
	if err != nil {
		t.Fatal(err)
	}
	if !i.Filter || i.Hidden != nil || i.Inputs != nil || i.Weights.Activation != "" || i.Weights.Layers != nil || len(i.Warnings) != 0 {
		t.Errorf("interface is %+v", i)
	}
	i, err = ReadInterface(jani.NewSource("i", []byte(`{"file":"n","input":[],"output":[],"elements":[]}`)))
	if err != nil || i.Hidden == nil {
		t.Errorf("an empty list of elements must differ from none: %+v, %v", i, err)
	}
	i, err = ReadInterface(jani.NewSource("i", []byte(`{"file":"n","input":[],"output":[],"activation":"tanh","layers":["a","b"]}`)))
	if err != nil || i.Weights.Activation != "tanh" || fmt.Sprint(i.Weights.Layers) != "[a b]" || len(i.Warnings) > 0 {
		t.Errorf("interface is %+v, error %v", i, err)
	}
}

func TestReadInterfaceErrors(t *testing.T) {
	input := func(in string) string { return `{"file":"n","output":[],"input":[` + in + `]}` }
	for _, c := range []struct{ text, place, want string }{
		{``, "1:1", "the file is empty"},
		{`{"file":`, "1:9", "truncated"},
		{`[]`, "1:1", "the policy interface must be an object"},
		{`{"file":"n","input":[]}`, "1:1", `the policy interface has no "output"`},
		{`{"input":[],"output":[]}`, "1:1", `has no "file"`},
		{`{"file":"n","file":"m"}`, "1:13", "duplicate key"},
		{`{"file":7,"input":[],"output":[]}`, "1:9", "the file must be a string"},
		{`{"file":"","input":[],"output":[]}`, "1:9", "not empty"},
		{`{"file":"n","input":{},"output":[]}`, "1:21", "the list of inputs must be an array"},
		{"{\"file\":\"n\",\n \"output\":[\"a\", null]}", "2:17", "an output must be a string"},
		{`{"filter":"yes"}`, "1:11", "the filter must be true or false"},
		{`{"elements":[8,"9"]}`, "1:16", "a layer size must be a whole number"},
		{`{"elements":8}`, "1:13", "elements must be an array"},
		{`{"activation":"elu"}`, "1:15", "the activation must be relu, tanh or sigmoid"},
		{`{"activation":1}`, "1:15", "the activation must be a string"},
		{`{"layers":"a"}`, "1:11", "the list of layers must be an array"},
		{`{"layers":["a",2]}`, "1:16", "a layer must be a string"},
		{input(`"x"`), "1:34", "an input must be an object"},
		{input(`{"automaton":null}`), "1:34", `an input has no "name"`},
		{input(`{"name":"x","automaton":null,"index":-1}`), "1:71", "the index of an input must be a whole number"},
		{input(`{"name":"x","automaton":null,"index":1.0}`), "1:71", "whole number"},
		{input(`{"name":"x","automaton":true}`), "1:58", "the automaton of an input must be null, a name"},
		{input(`{"name":"x","automaton":-2}`), "1:58", "the automaton of an input must be a whole number"},
		{input(`{"name":"x","automaton":{"name":"a"}}`), "1:58", `the automaton of an input has no "index"`},
		{input(`{"name":"x","automaton":{"index":0}}`), "1:58", `has no "name"`},
		{input(`{"name":["x"]}`), "1:42", "the name of an input must be a string"},
	} {
		_, err := ReadInterface(jani.NewSource("i", []byte(c.text)))
		expect(t, err, jani.BadInput, "i:"+c.place+": ", c.want)
	}
}

// Every published network fits its interface.
func TestPlanningInterfaces(t *testing.T) {
	for _, file := range planningFiles(t, "*.jani2nnet") {
		i, err := ReadInterface(readFile(t, file))
		if err != nil {
			t.Error(err)
			continue
		}
		n, err := ReadNNet(readFile(t, filepath.Join(filepath.Dir(file), i.File)))
		if err != nil {
			t.Error(err)
			continue
		}
		if err := checkShape(i, n); err != nil {
			t.Error(err)
		}
		if len(i.Warnings) > 0 || i.Hidden == nil {
			t.Errorf("%s: warnings %v, hidden layers %v", file, i.Warnings, i.Hidden)
		}
	}
}

func FuzzReadInterface(f *testing.F) {
	f.Add(`{"file":"n.nnet","input":[{"name":"x","automaton":null}],"output":["go"],"filter":true,"elements":[]}`)
	f.Add(`{"file":"n","input":[{"name":"truck","index":1}],"output":["stop"]}`)
	f.Add(`{"file":"n","input":[{"name":"a","automaton":null,"index":2}],"output":["τ"]}`)
	f.Add(`{"file":"n","input":[{"name":"speed","automaton":{"name":"truck","index":1},"y":[[]]}],"output":["go"]}`)
	f.Add("\ufeff [1e5, \"\\ud800\"]")
	m := depot()
	n := newNetwork(f, []Layer{{Weights: [][]float64{{1}}, Bias: []float64{0}}}, identity(1, 0, 1))
	f.Fuzz(func(t *testing.T, text string) {
		i, err := ReadInterface(jani.NewSource("i", []byte(text)))
		if err != nil {
			expect(t, err, jani.BadInput, "i:")
			return
		}
		p, err := Bind(m, i, n)
		if err != nil {
			expect(t, err, jani.BadInput, "i:")
			return
		}
		if v := p.Inputs()[0]; v < 0 || int(v) >= len(m.Vars) {
			t.Fatalf("input is variable %d", v)
		}
		if a := p.Outputs()[0]; a < 0 || int(a) >= len(m.Actions) {
			t.Fatalf("output is action %d", a)
		}
	})
}
