package nnpolicy

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"fuzzsafe/jani"
)

// NewInterface returns the interface of a network for a model that reads everything a
// state has, and in that order: every variable, and the location of every automaton that
// has several. Its outputs are the action labels in model order, without the silent action.
func NewInterface(m *jani.Model) *Interface {
	i := &Interface{Filter: true}
	for v := range m.Vars {
		x := &m.Vars[v]
		in := Input{Name: x.Name, Instance: -1, Element: -1}
		switch {
		case x.Kind == jani.VarLocation && len(x.Locations) < 2:
			continue
		case x.Instance >= 0:
			in.Automaton, in.Instance = m.Parts[x.Instance].Name, x.Instance
			in.Name = strings.TrimPrefix(x.Name, in.Automaton+".")
		}
		if x.Kind == jani.VarLocation {
			in.Location, in.Name = true, ""
		} else if name, index, ok := strings.Cut(strings.TrimSuffix(in.Name, "]"), "["); ok {
			if k, err := strconv.Atoi(index); err == nil {
				in.Name, in.Element = name, k
			}
		}
		i.Inputs = append(i.Inputs, in)
	}
	for a, label := range m.Actions {
		if jani.ActionID(a) != m.Silent {
			i.Outputs = append(i.Outputs, jani.Name{Name: label})
		}
	}
	return i
}

// Write writes the interface as a .jani2nnet file that ReadInterface reads back.
func (i *Interface) Write(w io.Writer) error {
	type owner struct {
		Name  string `json:"name"`
		Index int    `json:"index"`
	}
	var text struct {
		File     string   `json:"file"`
		Filter   bool     `json:"filter"`
		Elements []int    `json:"elements,omitempty"`
		Input    []any    `json:"input"`
		Output   []string `json:"output"`
	}
	text.File, text.Filter, text.Elements = i.File, i.Filter, i.Hidden
	for _, in := range i.Inputs {
		if in.Location {
			text.Input = append(text.Input, owner{in.Automaton, in.Instance})
			continue
		}
		variable := struct {
			Name      string `json:"name"`
			Automaton any    `json:"automaton"`
			Index     *int   `json:"index,omitempty"`
		}{Name: in.Name}
		switch {
		case in.Automaton != "" && in.Instance >= 0:
			variable.Automaton = owner{in.Automaton, in.Instance}
		case in.Automaton != "":
			variable.Automaton = in.Automaton
		case in.Instance >= 0:
			variable.Automaton = in.Instance
		}
		if in.Element >= 0 {
			variable.Index = &in.Element
		}
		text.Input = append(text.Input, variable)
	}
	for _, o := range i.Outputs {
		text.Output = append(text.Output, o.Name)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(text)
}
