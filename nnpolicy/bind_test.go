package nnpolicy

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"fuzzsafe/jani"
)

// depot is a model with a global, an array, and two instances of the automaton truck.
func depot() *jani.Model {
	m := &jani.Model{Actions: []string{"go", "stop", "load", "τ"}, Silent: 3}
	for _, x := range []struct {
		name     string
		kind     jani.VarKind
		instance int
	}{
		{"x", jani.VarInt, -1},                    // 0
		{"a[0]", jani.VarInt, -1},                 // 1
		{"a[1]", jani.VarInt, -1},                 // 2
		{"a[2]", jani.VarInt, -1},                 // 3
		{"truck.location", jani.VarLocation, 0},   // 4
		{"truck.speed", jani.VarReal, 0},          // 5
		{"truck#2.location", jani.VarLocation, 1}, // 6
		{"truck#2.speed", jani.VarReal, 1},        // 7
		{"truck#2.b[0]", jani.VarBool, 1},         // 8
	} {
		m.Vars = append(m.Vars, jani.Var{Name: x.name, Kind: x.kind, Instance: x.instance})
	}
	m.Parts = []jani.Instance{{Name: "truck", Location: 4}, {Name: "truck#2", Location: 6}}
	return m
}

func readInterface(t *testing.T, inputs, outputs, more string) *Interface {
	t.Helper()
	i, err := ReadInterface(jani.NewSource("i", []byte(
		`{"file":"n.nnet"`+more+",\n"+`"input":[`+inputs+"],\n"+`"output":[`+outputs+`]}`)))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func anyNetwork(t *testing.T, sizes ...int) *Network {
	return newNetwork(t, random(rand.New(rand.NewPCG(1, 2)), sizes...), identity(sizes[0], 0, 1))
}

func TestBind(t *testing.T) {
	i := readInterface(t, `
		{"name":"x","automaton":null},
		{"name":"a","automaton":null,"index":2},
		{"name":"a[0]"},
		{"name":"truck","index":1},
		{"name":"truck","index":0},
		{"name":"speed","automaton":"truck"},
		{"name":"speed","automaton":"truck#2"},
		{"name":"speed","automaton":1},
		{"name":"speed","automaton":{"name":"truck","index":1}},
		{"name":"truck.speed","automaton":null},
		{"name":"b","automaton":1,"index":0},
		{"name":"truck.location"}`,
		`"stop","go"`, `,"filter":false,"elements":[5,4]`)
	n := anyNetwork(t, 12, 5, 4, 2)
	p, err := Bind(depot(), i, n)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(p.Inputs()), "[0 3 1 6 4 5 7 7 7 5 8 4]"; got != want {
		t.Errorf("inputs are %s, want %s", got, want)
	}
	if got := fmt.Sprint(p.Outputs()); got != "[1 0]" {
		t.Errorf("outputs are %s", got)
	}
	if p.Filter || p.InterfaceFile != "i" || p.NetworkFile != "n.nnet" || fmt.Sprint(p.Sizes()) != "[12 5 4 2]" {
		t.Errorf("policy is %+v", p)
	}
	if len(p.Warnings) != 1 || p.Warnings[0].Msg != `the policy has no output for the action labels "load"` {
		t.Errorf("warnings are %v", p.Warnings)
	}
	// The policy and its clone are the network; TestClone is about its buffer.
	if p.Clone().function == p.function {
		t.Error("a clone shares the network's buffer")
	}
	in := make([]float64, 12)
	in[3] = 1
	want, one, two := make([]float64, 2), make([]float64, 2), make([]float64, 2)
	for p, out := range map[interface{ Evaluate(in, out []float64) error }][]float64{n: want, p: one, p.Clone(): two} {
		if err := p.Evaluate(in, out); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(want) != fmt.Sprint(one) || fmt.Sprint(want) != fmt.Sprint(two) {
		t.Errorf("the network says %v, the policy %v, its clone %v", want, one, two)
	}
}

func TestBindErrors(t *testing.T) {
	const x, xgo = `{"name":"x","automaton":null}`, `"go"`
	for _, c := range []struct {
		name, inputs, outputs, more string
		sizes                       []int
		place                       string
		want                        []string
	}{
		{"shape", x, `"go","stop"`, "", []int{3, 4, 5}, "1:1", []string{
			`the network "n.nnet" has 3 inputs and 5 outputs, but the interface has 1 inputs and 2 outputs`}},
		{"hidden", x, xgo, `,"elements":[4]`, []int{1, 4, 4, 1}, "1:29", []string{
			"hidden layers of the network have sizes [4 4], but the interface says [4]"}},
		{"hidden though none", x, xgo, `,"elements":[4]`, []int{1, 1}, "1:29", []string{"have sizes [], but"}},
		{"label", x, `"stpo"`, "", nil, "3:11", []string{`no action label "stpo"`, `did you mean "stop"?`, "[at output[0]]"}},
		{"same label", x + "," + x, `"go", "go"`, "", []int{2, 2}, "3:17", []string{`outputs 1 and 2 have the same action label "go"`}},
		{"variable", `{"name":"truck.sped"}`, xgo, "", nil, "2:10", []string{`no variable "truck.sped"`, `did you mean "truck.speed"?`, "[at input[0]"}},
		{"local", `{"name":"sped","automaton":1}`, xgo, "", nil, "2:10", []string{`no variable "truck#2.sped"`, `did you mean "truck#2.speed"?`}},
		{"global as local", `{"name":"x","automaton":"truck"}`, xgo, "", nil, "2:10", []string{`no variable "truck.x"`}},
		{"local of several", `{"name":"speed","automaton":null}`, xgo, "", nil, "2:10", []string{`no variable "speed"`, "several automata have it"}},
		{"automaton", `{"name":"speed","automaton":"trukc"}`, xgo, "", nil, "2:10", []string{`no automaton "trukc"`, `did you mean "truck"?`}},
		{"position", `{"name":"truck","index":2}`, xgo, "", nil, "2:10", []string{"no automaton at position 2: the composition has 2"}},
		{"wrong position", `{"name":"crane","index":1}`, xgo, "", nil, "2:10", []string{`position 1 of the composition is "truck#2", not "crane"`}},
		{"element", `{"name":"a","automaton":null,"index":3}`, xgo, "", nil, "2:10", []string{`array "a" has 3 elements, counted from 0, and none at index 3 [at`}},
		{"array", `{"name":"a","automaton":null}`, xgo, "", nil, "2:10", []string{`"a" is an array`, `the "index" of one element is needed`}},
		{"no array", `{"name":"x","automaton":null,"index":0}`, xgo, "", nil, "2:10", []string{`"x" is not an array`}},
		{"no such array", `{"name":"y","automaton":null,"index":0}`, xgo, "", nil, "2:10", []string{`no variable "y"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.sizes == nil {
				c.sizes = []int{1, 1}
			}
			_, err := Bind(depot(), readInterface(t, c.inputs, c.outputs, c.more), anyNetwork(t, c.sizes...))
			expect(t, err, jani.BadInput, "i:"+c.place+": ", c.want...)
		})
	}
}

// An output may stand for the silent action, and the silent action needs none.
func TestBindSilent(t *testing.T) {
	i := readInterface(t, `{"name":"x"}`, `"τ","load","stop","go"`, "")
	p, err := Bind(depot(), i, anyNetwork(t, 1, 4))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(p.Outputs()) != "[3 2 1 0]" || len(p.Warnings) != 0 {
		t.Errorf("outputs %v, warnings %v", p.Outputs(), p.Warnings)
	}
}

// Every published policy binds to its model and can be evaluated there.
func TestPlanningPolicies(t *testing.T) {
	for _, file := range planningFiles(t, "*.jani2nnet") {
		t.Run(strings.TrimPrefix(file, planning), func(t *testing.T) {
			doc, err := jani.Parse(readFile(t, filepath.Join(filepath.Dir(file), "model.jani")), jani.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			constants := make(map[string]*jani.Expr)
			for _, c := range doc.Constants {
				if c.Value == nil { // probabilities and bounds: any sensible value does
					if _, constants[c.Name], err = jani.ParseConstant(c.Name + map[jani.Kind]string{jani.KindReal: "=0.5", jani.KindInt: "=10"}[c.Type.Kind]); err != nil {
						t.Fatal(err)
					}
				}
			}
			m, err := jani.Compile(doc, constants)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Load(m, file)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Warnings) != 0 {
				t.Errorf("warnings %v", p.Warnings)
			}
			in, out := make([]float64, len(p.Inputs())), make([]float64, len(p.Outputs()))
			for i, v := range p.Inputs() {
				x := &m.Vars[v]
				if x.Kind == jani.VarLocation || x.Instance >= 0 {
					t.Errorf("input %d is %s, want a global variable", i, x.Name)
				}
				in[i] = float64(x.Lower)
			}
			if err := p.Evaluate(in, out); err != nil {
				t.Error(err)
			}
		})
	}
}
