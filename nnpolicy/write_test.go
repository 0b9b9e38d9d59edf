package nnpolicy

import (
	"bytes"
	"slices"
	"testing"

	"fuzzsafe/jani"
)

// What NewInterface names is found again behind Write and ReadInterface.
func TestWriteInterface(t *testing.T) {
	m := depot()
	for v := range m.Vars {
		if m.Vars[v].Kind == jani.VarLocation {
			m.Vars[v].Locations = []string{"idle", "busy"}
		}
	}
	m.Vars[m.Parts[0].Location].Locations = []string{"only"} // nothing to know
	i := NewInterface(m)
	i.File, i.Hidden = "a \"b\".nnet", []int{5}
	var text bytes.Buffer
	if err := i.Write(&text); err != nil {
		t.Fatal(err)
	}
	back, err := ReadInterface(jani.NewSource("i", text.Bytes()))
	if err != nil {
		t.Fatal(err, text.String())
	}
	p, err := Bind(m, back, anyNetwork(t, 8, 5, 3))
	if err != nil {
		t.Fatal(err, text.String())
	}
	if !slices.Equal(p.Inputs(), []jani.VarID{0, 1, 2, 3, 5, 6, 7, 8}) || !slices.Equal(p.Outputs(), []jani.ActionID{0, 1, 2}) {
		t.Errorf("inputs %v, outputs %v of\n%s", p.Inputs(), p.Outputs(), text.String())
	}
	if back.File != i.File || !back.Filter || !slices.Equal(back.Hidden, i.Hidden) || len(p.Warnings) != 0 {
		t.Errorf("%+v with warnings %v", back, p.Warnings)
	}
}

// Every form of an owner is written as it was read.
func TestWriteInterfaceOwners(t *testing.T) {
	i := readInterface(t, `{"name":"x","automaton":null}, {"name":"a","automaton":null,"index":2}, {"name":"truck","index":1},
		{"name":"speed","automaton":"truck"}, {"name":"speed","automaton":1},
		{"name":"speed","automaton":{"name":"truck","index":1}}, {"name":"b","automaton":1,"index":0}, {"name":"truck.location"}`, `"go"`, `,"filter":false`)
	var text bytes.Buffer
	if err := i.Write(&text); err != nil {
		t.Fatal(err)
	}
	back, err := ReadInterface(jani.NewSource("i", text.Bytes()))
	if err != nil {
		t.Fatal(err, text.String())
	}
	for k := range i.Inputs {
		i.Inputs[k].Pos, back.Inputs[k].Pos = jani.Pos{}, jani.Pos{}
	}
	if !slices.Equal(i.Inputs, back.Inputs) || back.Filter {
		t.Errorf("inputs %+v\ncome back as %+v", i.Inputs, back.Inputs)
	}
}
