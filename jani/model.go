package jani

import (
	"math"
	"strconv"
)

// VarKind tells what a scalar variable is.
type VarKind uint8

const (
	VarBool VarKind = iota
	VarInt
	VarReal
	VarLocation
)

// Var is a scalar variable of a compiled model: a variable, one element of an array,
// or the location of an automaton instance.
type Var struct {
	// Name is unique in the model: x for globals, automaton.x for locals (with #2
	// and so on after the automaton for further instances), a[3] for elements,
	// automaton.location for locations.
	Name string
	Kind VarKind
	// Lower and Upper bound booleans, integers and locations (inclusive; unbounded
	// integers have math.MinInt64 and math.MaxInt64).
	Lower, Upper int64
	// RealLower and RealUpper bound reals (inclusive; ±Inf if unbounded).
	RealLower, RealUpper float64
	// Instance is the index of the owning automaton instance, −1 for globals.
	Instance int
	// Locations are the names of the values of a location variable.
	Locations []string
	Pos       Pos
}

// kind returns the kind of the values of x.
func (x *Var) kind() Kind {
	return [...]Kind{VarBool: KindBool, VarInt: KindInt, VarReal: KindReal, VarLocation: KindInt}[x.Kind]
}

// Float returns v as a number: what a policy network is fed.
func (x *Var) Float(v Value) float64 {
	if x.Kind == VarReal {
		return math.Float64frombits(uint64(v))
	}
	return float64(v)
}

// RealValue returns the Value of a real; −0 becomes +0, so that equal reals are
// equal values.
func RealValue(f float64) Value {
	return Value(math.Float64bits(f + 0))
}

// Format renders v as people write it.
func (x *Var) Format(v Value) string {
	switch x.Kind {
	case VarBool:
		return strconv.FormatBool(v != 0)
	case VarReal:
		return strconv.FormatFloat(x.Float(v), 'g', -1, 64)
	case VarLocation:
		if v >= 0 && int(v) < len(x.Locations) {
			return x.Locations[v]
		}
	}
	return strconv.FormatInt(int64(v), 10)
}

// Finite reports whether x has finitely many values that a program can count.
func (x *Var) Finite() bool {
	return x.Kind != VarReal && x.Lower != math.MinInt64 && x.Upper != math.MaxInt64
}

// Range renders the bounds of an integer, boolean or location variable.
func (x *Var) Range() string {
	end := func(v, open int64, name string) string {
		if v == open {
			return name
		}
		return strconv.FormatInt(v, 10)
	}
	return end(x.Lower, math.MinInt64, "−∞") + " to " + end(x.Upper, math.MaxInt64, "∞")
}

// Model is a compiled model.
type Model struct {
	Name    string
	Type    ModelType
	Vars    []Var
	Actions []string // labels; index is the ActionID
	Silent  ActionID // label of the silent action, NoAction if it never occurs
	// Race is the label of all Markovian edges together, which compete in a ctmc and an
	// ma: for safety they are one action. NoAction if there are none.
	Race     ActionID
	Parts    []Instance
	Vectors  []Vector
	Initial  StateSet
	Warnings []Warning
	// Transients are the transient variables that assignments mention. While a transition is
	// made they have values of their own, TransientInit at first; their VarIDs go on behind
	// those of Vars. They are no part of a state.
	Transients    []Var
	TransientInit []Value

	scope *scope // for conditions that come with a property
	// defaults holds the initial values of the variables that have exactly one, which
	// given marks.
	defaults []Value
	given    []bool
}

// Var returns variable x, which may be transient.
func (m *Model) Var(x VarID) *Var {
	if int(x) < len(m.Vars) {
		return &m.Vars[x]
	}
	return &m.Transients[int(x)-len(m.Vars)]
}

// Instance is an automaton instance with typed edges.
type Instance struct {
	Name     string // unique in the model
	Location VarID
	Edges    []ModelEdge
}

// ModelEdge is an edge with resolved names and typed expressions. Guard nil is
// true. Location is the value that the instance's location variable must have.
type ModelEdge struct {
	Location     Value
	Label        string // action label in the automaton, "" silent
	Guard        *Expr  // of a Markovian edge also that its rate is positive
	Markovian    bool
	Destinations []ModelDestination
	Index        int // position in the automaton's list of edges, −1 if it is implied by input-enable
	Pos          Pos
}

// ModelDestination is one outcome of an edge. Probability nil is 1.
type ModelDestination struct {
	Target      Value
	Probability *Expr
	Assignments []ModelAssignment
	Pos         Pos
}

// ModelAssignment sets Target, an OpVar or OpElem, to Value.
type ModelAssignment struct {
	Target *Expr
	Value  *Expr
	Index  int
	Pos    Pos
}

// Vector is a synchronisation vector: the instances that move together, each by an
// edge out of Edges (indexes into Instance.Edges), under one action label.
type Vector struct {
	Action ActionID
	Parts  []VectorPart
}

// VectorPart is one participant of a Vector.
type VectorPart struct {
	Instance int
	Edges    []int
}

// StateSet is a set of states: the listed ones, or, if States is nil, the solutions
// of Cond over all variables (Cond nil is true).
type StateSet struct {
	States [][]Value // one Value per variable of the model
	Cond   *Expr     // typed, boolean
}

// Task is a model with a planning property: where runs start, what is unsafe, where
// they end. Unsafe and Goal are typed boolean expressions, nil is false.
type Task struct {
	Model  *Model
	Name   string // of the property
	Start  StateSet
	Unsafe *Expr
	Goal   *Expr
}
