package benchmarks

import (
	"bytes"
	"encoding/json"
	"strings"

	"fuzzsafe/nnpolicy"

	"github.com/tidwall/gjson"
)

// The types below are the members of a JANI model in the order in which they are
// written. Only what the families need is there.

type model struct {
	Version   int         `json:"jani-version"`
	Name      string      `json:"name"`
	Metadata  metadata    `json:"metadata"`
	Type      string      `json:"type"`
	Actions   []named     `json:"actions"`
	Constants []constant  `json:"constants,omitempty"`
	Variables []variable  `json:"variables"`
	Automata  []automaton `json:"automata"`
	System    system      `json:"system"`
}

type metadata struct {
	Description string `json:"description"`
}

type named struct {
	Name string `json:"name"`
}

type constant struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Value   expr   `json:"value"`
	Comment string `json:"comment,omitempty"`
}

type variable struct {
	Name    string `json:"name"`
	Type    any    `json:"type"`
	Initial expr   `json:"initial-value"`
	Comment string `json:"comment,omitempty"`
}

type bounded struct {
	Kind  string  `json:"kind"`
	Base  string  `json:"base"`
	Lower float64 `json:"lower-bound"`
	Upper float64 `json:"upper-bound"`
}

type automaton struct {
	Name      string   `json:"name"`
	Locations []named  `json:"locations"`
	Initial   []string `json:"initial-locations"`
	Edges     []edge   `json:"edges"`
}

type edge struct {
	Location     string        `json:"location"`
	Action       string        `json:"action"`
	Comment      string        `json:"comment,omitempty"`
	Guard        condition     `json:"guard"`
	Destinations []destination `json:"destinations"`
}

type destination struct {
	Location    string       `json:"location"`
	Comment     string       `json:"comment,omitempty"`
	Probability *condition   `json:"probability,omitempty"`
	Assignments []assignment `json:"assignments"`
}

type assignment struct {
	Ref   string `json:"ref"`
	Value expr   `json:"value"`
}

// condition is an expression where JANI wraps it in an object.
type condition struct {
	Op  string `json:"op,omitempty"` // "state-condition" in properties
	Exp expr   `json:"exp"`
}

type system struct {
	Elements []element `json:"elements"`
	Syncs    []sync    `json:"syncs"`
}

type element struct {
	Automaton string `json:"automaton"`
}

type sync struct {
	Synchronise []string `json:"synchronise"`
	Result      string   `json:"result"`
}

// newModel returns a model that is one automaton with one location, which edges need
// not name: all of the state is in the variables.
func newModel(name, description, kind string, actions []string, variables []variable, edges []edge) *model {
	const place = "here"
	m := &model{
		Version:   1,
		Name:      name,
		Metadata:  metadata{description},
		Type:      kind,
		Variables: variables,
		Automata:  []automaton{{name, []named{{place}}, []string{place}, edges}},
		System:    system{Elements: []element{{name}}},
	}
	for _, a := range actions {
		m.Actions = append(m.Actions, named{a})
		m.System.Syncs = append(m.System.Syncs, sync{[]string{a}, a})
	}
	for i := range edges {
		edges[i].Location = place
		for j := range edges[i].Destinations {
			edges[i].Destinations[j].Location = place
		}
	}
	return m
}

// properties is a property file with one planning property.
type properties struct {
	Properties []property `json:"properties"`
}

type property struct {
	Name       string   `json:"name"`
	Expression planning `json:"expression"`
}

type planning struct {
	Op        string    `json:"op"`
	Start     condition `json:"start"`
	Reach     condition `json:"reach"`
	Objective objective `json:"objective"`
}

type objective struct {
	Op   string    `json:"op"`
	Goal condition `json:"goal"`
}

// newProperty returns the property file that says where runs start, what they must
// not reach and where they end well.
func newProperty(name string, start, unsafe, goal expr) *properties {
	state := func(e expr) condition { return condition{"state-condition", e} }
	return &properties{[]property{{name, planning{
		"PA", state(start), state(unsafe), objective{"objective", state(goal)},
	}}}}
}

// networkInterface is a policy interface: what the inputs and outputs of a network are.
type networkInterface struct {
	File     string         `json:"file"`
	Inputs   []networkInput `json:"input"`
	Outputs  []string       `json:"output"`
	Filter   bool           `json:"filter"`
	Elements []int          `json:"elements"`
}

type networkInput struct {
	Name      string  `json:"name"`
	Automaton *string `json:"automaton"` // nil: a global variable
}

// newNetworkInterface says that the inputs are the variables of the model, in order,
// and the outputs its actions, and that inapplicable actions are passed over.
func newNetworkInterface(m *model, n *nnpolicy.Network) networkInterface {
	sizes := n.Sizes()
	i := networkInterface{File: NetworkFile, Filter: true, Elements: sizes[1 : len(sizes)-1]}
	for _, v := range m.Variables {
		i.Inputs = append(i.Inputs, networkInput{Name: v.Name})
	}
	for _, a := range m.Actions {
		i.Outputs = append(i.Outputs, a.Name)
	}
	return i
}

// expr is a JANI expression: a string is the name of a variable or constant, numbers
// and truth values are literals, everything else is made by the functions below.
type expr any

type binary struct {
	Op    string `json:"op"`
	Left  expr   `json:"left"`
	Right expr   `json:"right"`
}

type unary struct {
	Op  string `json:"op"`
	Exp expr   `json:"exp"`
}

type ternary struct {
	Op   string `json:"op"`
	If   expr   `json:"if"`
	Then expr   `json:"then"`
	Else expr   `json:"else"`
}

func eq(a, b expr) expr      { return binary{"=", a, b} }
func ne(a, b expr) expr      { return binary{"≠", a, b} }
func le(a, b expr) expr      { return binary{"≤", a, b} }
func ge(a, b expr) expr      { return binary{"≥", a, b} }
func more(a, b expr) expr    { return binary{">", a, b} }
func sub(a, b expr) expr     { return binary{"-", a, b} }
func ratio(a, b expr) expr   { return binary{"/", a, b} }
func mod(a, b expr) expr     { return binary{"%", a, b} }
func larger(a, b expr) expr  { return binary{"max", a, b} }
func smaller(a, b expr) expr { return binary{"min", a, b} }
func not(a expr) expr        { return unary{"¬", a} }
func sine(a expr) expr       { return unary{"sin", a} }
func cosine(a expr) expr     { return unary{"cos", a} }
func absolute(a expr) expr   { return unary{"abs", a} }

func choose(condition, a, b expr) expr { return ternary{"ite", condition, a, b} }

func and(es ...expr) expr     { return fold("∧", es) }
func or(es ...expr) expr      { return fold("∨", es) }
func sum(es ...expr) expr     { return fold("+", es) }
func product(es ...expr) expr { return fold("*", es) }

// fold combines one or more expressions from the left.
func fold(op string, es []expr) expr {
	all := es[0]
	for _, e := range es[1:] {
		all = binary{op, all, e}
	}
	return all
}

// between holds if low ≤ e ≤ high.
func between[N int | float64](low N, e expr, high N) expr { return and(ge(e, low), le(e, high)) }

// allDifferent holds if no two of the values are equal.
func allDifferent(es []expr) expr {
	var pairs []expr
	for i, a := range es {
		for _, b := range es[:i] {
			pairs = append(pairs, ne(a, b))
		}
	}
	return and(append(pairs, true)...)
}

// within is the type of the integers from low to high, realWithin that of the reals.
func within(low, high int) bounded                 { return bounded{"bounded", "int", float64(low), float64(high)} }
func realWithin(low, high float64) bounded         { return bounded{"bounded", "real", low, high} }
func clamp(low float64, e expr, high float64) expr { return larger(low, smaller(e, high)) }

// equally returns the outcomes of an action that are given by their assignments, all
// equally likely.
func equally(outcomes ...[]assignment) []destination {
	if len(outcomes) == 1 {
		return []destination{{Assignments: outcomes[0]}}
	}
	var list []destination
	for _, o := range outcomes {
		list = append(list, destination{Probability: &condition{Exp: 1 / float64(len(outcomes))}, Assignments: o})
	}
	return list
}

// set is the assignment of a value to a variable, change adds a number to it.
func set(name string, value expr) assignment { return assignment{name, value} }
func change(name string, by int) assignment  { return assignment{name, sum(name, by)} }

// render writes a value as JSON that people can read: what is short, or nested deeply
// (an expression), stays on one line.
func render(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return append(layOut(nil, gjson.ParseBytes(bytes.TrimSpace(text.Bytes())), 0), '\n'), nil
}

// layOut appends a value that is inside depth others.
func layOut(out []byte, v gjson.Result, depth int) []byte {
	const (
		short = 160 // bytes
		deep  = 5   // levels: down to the members of an edge
	)
	if len(v.Raw) <= short || depth > deep || !v.IsObject() && !v.IsArray() {
		return append(out, v.Raw...)
	}
	indent := "\n" + strings.Repeat("  ", depth)
	separator := v.Raw[:1]
	v.ForEach(func(key, element gjson.Result) bool {
		out = append(out, separator+indent+"  "...)
		if v.IsObject() {
			out = append(out, key.Raw+": "...)
		}
		out = layOut(out, element, depth+1)
		separator = ","
		return true
	})
	return append(out, indent+v.Raw[len(v.Raw)-1:]...)
}
