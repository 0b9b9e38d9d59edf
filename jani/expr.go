package jani

// Kind is the kind of a type.
type Kind uint8

const (
	KindNone Kind = iota // not checked yet
	KindBool
	KindInt
	KindReal
	KindArray
)

// String returns the JANI name of the kind.
func (k Kind) String() string {
	return [...]string{"unknown", "bool", "int", "real", "array"}[k]
}

// Op is the operator of an expression node.
type Op uint8

// The operators. Args are in the order of the JANI members left, right; if, then,
// else; exp, index.
const (
	OpNone   Op = iota
	OpConst     // literal: Kind says which, Int (bool: 0/1) or Real holds it
	OpName      // identifier, not resolved yet: Name
	OpVar       // scalar variable: Var
	OpElem      // array element: variable Var + Args[0]; Args[0] is checked by OpBound
	OpBound     // Args[0] if it is from 0 to Len−1, else an error: a checked array index
	OpAssert    // Args[1] if Args[0] holds, else the error Name (made by resolution)
	OpOr
	OpAnd
	OpNot
	OpImplies
	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpAdd
	OpSub
	OpNeg
	OpMul
	OpMod
	OpDiv
	OpPow
	OpLog
	OpMin
	OpMax
	OpAbs
	OpSgn
	OpTrc
	OpFloor
	OpCeil
	OpIte
	OpSin
	OpCos
	OpTan
	OpCot
	OpSec
	OpCsc
	OpAsin
	OpAcos
	OpAtan
	OpAcot
	OpAsec
	OpAcsc
	OpSinh
	OpCosh
	OpTanh
	OpCoth
	OpSech
	OpCsch
	OpAsinh
	OpAcosh
	OpAtanh
	OpAcoth
	OpAsech
	OpAcsch
	OpAccess   // aa: exp, index (before resolution)
	OpArray    // av: elements; after resolution of an array-valued part, its scalars row-major
	OpFill     // ac: Name the index variable, Args length, body (before resolution)
	OpCall     // call: Name the function, Args its arguments (before resolution)
	OpInitial  // the state is initial (before resolution); only in conditions
	OpDeadlock // no edge is enabled; only in conditions, and only the engine can tell
)

// Expr is a node of an expression tree. Parse leaves Kind and Var open and keeps
// names; Compile makes typed copies in which only OpConst, OpVar, OpElem and the
// operators occur.
type Expr struct {
	Op   Op
	Kind Kind
	Args []*Expr
	Name string
	Var  VarID
	Len  int   // OpBound: number of elements; OpElem: number of variables it may mean, 0 if it always fails
	Dims []int // OpArray: the shape, outermost first
	Int  int64
	Real float64
	Pos  Pos

	ElemKind Kind // of a KindArray OpElem, which occurs only while indices are missing
}

// String returns the JANI name of the operator.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "?"
}

var opNames = [...]string{OpNone: "none", OpConst: "constant", OpName: "name", OpVar: "variable", OpElem: "aa",
	OpBound: "index check", OpAssert: "check", OpOr: "∨", OpAnd: "∧", OpNot: "¬", OpImplies: "⇒", OpEq: "=", OpNe: "≠", OpLt: "<",
	OpLe: "≤", OpGt: ">", OpGe: "≥", OpAdd: "+", OpSub: "-", OpNeg: "-", OpMul: "*", OpMod: "%", OpDiv: "/",
	OpPow: "pow", OpLog: "log", OpMin: "min", OpMax: "max", OpAbs: "abs", OpSgn: "sgn", OpTrc: "trc",
	OpFloor: "floor", OpCeil: "ceil", OpIte: "ite", OpSin: "sin", OpCos: "cos", OpTan: "tan",
	OpCot: "cot", OpSec: "sec", OpCsc: "csc", OpAsin: "asin", OpAcos: "acos", OpAtan: "atan", OpAcot: "acot",
	OpAsec: "asec", OpAcsc: "acsc", OpSinh: "sinh", OpCosh: "cosh", OpTanh: "tanh", OpCoth: "coth", OpSech: "sech",
	OpCsch: "csch", OpAsinh: "asinh", OpAcosh: "acosh", OpAtanh: "atanh", OpAcoth: "acoth", OpAsech: "asech",
	OpAcsch: "acsch", OpAccess: "aa", OpArray: "av", OpFill: "ac", OpCall: "call", OpInitial: "initial",
	OpDeadlock: "deadlock"}

// VarID numbers the scalar variables of a Model from 0; NoVar is none.
type VarID int32

// NoVar is the null value of VarID.
const NoVar VarID = -1

// ActionID numbers the action labels of a Model from 0 in order of declaration;
// the silent action, if the model uses it, is the last. NoAction is none.
type ActionID int32

// NoAction is the null value of ActionID.
const NoAction ActionID = -1

// Value is the value of one scalar variable: an integer, 0 or 1 for bool, the number
// of a location, or the IEEE-754 bits of a real. The variable's Kind says which.
type Value int64
