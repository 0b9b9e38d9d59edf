package jani

import "github.com/tidwall/gjson"

// ModelType is the `type` of a JANI model.
type ModelType string

// Document is a parsed JANI model: what the file says. Names are not resolved yet.
type Document struct {
	Source     *Source
	Name       string
	Type       ModelType
	Features   []string
	Actions    []Action
	Constants  []Constant
	Variables  []Variable
	Functions  []Function
	Restrict   *Expr // restrict-initial of the model, nil if absent
	Automata   []Automaton
	System     Composition
	Properties []Property
	Warnings   []Warning
}

// Action is a declared action label.
type Action struct {
	Name string
	Pos  Pos
}

// Constant is a declared constant; Value is nil for a parameter.
type Constant struct {
	Name  string
	Type  TypeDecl
	Value *Expr
	Pos   Pos
}

// TypeDecl is a declared type. Lower and Upper are nil unless the type is bounded.
type TypeDecl struct {
	Kind         Kind
	Lower, Upper *Expr
	Elem         *TypeDecl // element type of an array
	Pos          Pos
}

// Variable is a declared variable; Initial is nil if the file gives no initial value.
type Variable struct {
	Name      string
	Type      TypeDecl
	Initial   *Expr
	Transient bool
	Pos       Pos
}

// Function is a declared function. Its body may call others, but not itself.
type Function struct {
	Name       string
	Type       TypeDecl
	Parameters []Parameter
	Body       *Expr
	Pos        Pos
}

// Parameter is a parameter of a Function.
type Parameter struct {
	Name string
	Type TypeDecl
	Pos  Pos
}

// Automaton is a declared automaton, a template for its instances.
type Automaton struct {
	Name      string
	Variables []Variable
	Functions []Function
	Locations []Location
	Initial   []Name // initial-locations
	Restrict  *Expr
	Edges     []Edge
	Pos       Pos
}

// Name is a name where it is used.
type Name struct {
	Name string
	Pos  Pos
}

// Location is a declared location. In it, transient variables have the values that
// Transient gives them, the others their initial values.
type Location struct {
	Name      string
	Transient []Assignment
	Pos       Pos
}

// Edge is an edge of an automaton. Action "" is the silent action; Guard nil is true; Rate
// is nil unless the edge is Markovian.
type Edge struct {
	Source       Name
	Action       Name
	Guard        *Expr
	Rate         *Expr
	Destinations []Destination
	Pos          Pos
}

// Destination is one outcome of an edge; Probability nil is 1.
type Destination struct {
	Target      Name
	Probability *Expr
	Assignments []Assignment
	Pos         Pos
}

// Assignment sets Ref (a name or an array access) to Value; assignments of one
// destination with equal Index are simultaneous, groups run in ascending order.
type Assignment struct {
	Ref   *Expr
	Value *Expr
	Index int
	Pos   Pos
}

// Composition is the `system` of a model.
type Composition struct {
	Elements []Element
	Syncs    []Sync
	HasSyncs bool
	Pos      Pos
}

// Element is one automaton instance of the composition. Where it has no enabled edge with
// an action of InputEnable, it takes part in synchronisations on it by doing nothing.
type Element struct {
	Automaton   Name
	InputEnable []Name
	Pos         Pos
}

// Sync is a synchronisation vector: one action name per element, "" where the
// element does not take part. Result "" is the silent action.
type Sync struct {
	Participants []Name
	Result       Name
	Pos          Pos
}

// Property is a named property of a model or of a property file. Its content is read
// when it is asked for.
type Property struct {
	Name string
	Pos  Pos
	body gjson.Result
}

// Planning is a policy-safety property: where runs start, what is unsafe, where
// they end. Any part may be nil.
type Planning struct {
	Start, Unsafe, Goal *Condition
}

// Condition is a set of states: those that satisfy Exp (nil is true) and are in the
// given Locations, or, if Listed, exactly those of States.
type Condition struct {
	Exp       *Expr
	Locations []LocationValue
	Listed    bool
	States    []StateValues
	Pos       Pos
}

// StateValues is a state given by values of variables; what it does not name
// keeps its initial value.
type StateValues struct {
	Locations []LocationValue
	Variables []VariableValue
	Pos       Pos
}

// LocationValue says that an automaton instance is in a location. Index is the
// position of the instance in the composition, −1 if the file gives none.
type LocationValue struct {
	Automaton string
	Index     int
	Location  string
	Pos       Pos
}

// VariableValue says that a variable has a value. Automaton is "" for globals and
// where the file does not say; Index is the instance, −1 if the file gives none.
type VariableValue struct {
	Name      string
	Automaton string
	Index     int
	Value     *Expr
	Pos       Pos
}
