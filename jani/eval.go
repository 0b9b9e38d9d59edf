package jani

import "math"

// Const is the value of an expression. Kind says which field holds it: Int for
// integers, locations and booleans (0 or 1), Real for reals.
type Const struct {
	Kind Kind
	Int  int64
	Real float64
}

// Bool reports whether c, a boolean, is true.
func (c Const) Bool() bool { return c.Int != 0 }

// Float returns c, a number, as a real.
func (c Const) Float() float64 {
	if c.Kind == KindReal {
		return c.Real
	}
	return float64(c.Int)
}

func boolConst(b bool) Const    { return Const{Kind: KindBool, Int: int64(btoi(b))} }
func intConst(i int64) Const    { return Const{Kind: KindInt, Int: i} }
func realConst(f float64) Const { return Const{Kind: KindReal, Real: f} }

// Eval computes the value of e, a typed expression as Compile makes it, where variable
// i has the value values[i]. It walks the tree: time is linear in its size, nothing is
// allocated. values may be nil if e mentions no variable.
//
// ∧, ∨, ⇒ and ite evaluate only the operands that they need. Integers are 64 bits
// wide; a number of kind int counts as a real where its partner is one. log(x, b) is
// the quotient of the natural logarithms. Overflow, division by zero, a result that
// is no finite number, an index outside its array and a variable without value are an
// *Error of kind BadInput at the operator concerned.
func (e *Expr) Eval(values []Value) (Const, error) {
	switch e.Op {
	case OpConst:
		return Const{e.Kind, e.Int, e.Real}, nil
	case OpVar:
		return e.load(e.Var, values)
	case OpDeadlock:
		return Const{}, unsupported(e.Pos, "the predicate %q, which depends on the transitions, in a start condition or as a guide of fuzzing", e.Op)
	case OpNone, OpName, OpAccess, OpArray, OpFill, OpCall, OpInitial:
		return Const{}, badInput(e.Pos, "an expression that is not compiled has no value")
	}
	a, err := e.Args[0].Eval(values)
	if err != nil {
		return Const{}, err
	}
	switch e.Op {
	case OpElem, OpBound:
		if a.Int < 0 || a.Int >= int64(e.Len) {
			return Const{}, badInput(e.Pos, "index %d is out of range: the array has %d elements", a.Int, e.Len)
		}
		if e.Op == OpBound {
			return a, nil
		}
		return e.load(e.Var+VarID(a.Int), values)
	case OpAssert:
		if !a.Bool() {
			return Const{}, badInput(e.Pos, "%s", e.Name)
		}
		return e.Args[1].Eval(values)
	case OpAnd, OpOr, OpImplies:
		if a.Bool() == (e.Op == OpOr) {
			return boolConst(e.Op != OpAnd), nil
		}
		return e.Args[1].Eval(values)
	case OpIte:
		c, err := e.Args[1+btoi(!a.Bool())].Eval(values)
		if err == nil && e.Kind == KindReal {
			c = realConst(c.Float())
		}
		return c, err
	}
	if len(e.Args) == 1 {
		return e.unary(a)
	}
	b, err := e.Args[1].Eval(values)
	if err != nil {
		return Const{}, err
	}
	switch e.Op {
	case OpEq, OpNe, OpLt, OpLe, OpGt, OpGe:
		return boolConst(compare(e.Op, a, b)), nil
	case OpDiv, OpPow, OpLog:
		return e.realBinary(a.Float(), b.Float())
	}
	if a.Kind == KindReal || b.Kind == KindReal {
		return e.realBinary(a.Float(), b.Float())
	}
	return e.intBinary(a.Int, b.Int)
}

// load reads variable x for e, an OpVar or OpElem.
func (e *Expr) load(x VarID, values []Value) (Const, error) {
	if x < 0 || int(x) >= len(values) {
		return Const{}, badInput(e.Pos, "a variable occurs where a constant is needed")
	}
	if e.Kind == KindReal {
		return realConst(math.Float64frombits(uint64(values[x]))), nil
	}
	return Const{Kind: e.Kind, Int: int64(values[x])}, nil
}

func compare(op Op, a, b Const) bool {
	var less, equal bool
	if a.Kind == KindReal || b.Kind == KindReal {
		less, equal = a.Float() < b.Float(), a.Float() == b.Float()
	} else {
		less, equal = a.Int < b.Int, a.Int == b.Int
	}
	switch op {
	case OpEq:
		return equal
	case OpNe:
		return !equal
	case OpLt:
		return less
	case OpLe:
		return less || equal
	case OpGt:
		return !less && !equal
	default:
		return !less
	}
}

func (e *Expr) unary(a Const) (Const, error) {
	switch e.Op {
	case OpNot:
		return boolConst(!a.Bool()), nil
	case OpNeg, OpAbs:
		if a.Kind == KindReal {
			if e.Op == OpAbs {
				return realConst(math.Abs(a.Real)), nil
			}
			return realConst(-a.Real), nil
		}
		if e.Op == OpAbs && a.Int >= 0 {
			return a, nil
		}
		if a.Int == math.MinInt64 {
			return Const{}, badInput(e.Pos, "−(%d) does not fit into 64 bits", a.Int)
		}
		return intConst(-a.Int), nil
	case OpSgn:
		f := a.Float()
		return intConst(int64(btoi(f > 0) - btoi(f < 0))), nil
	}
	if f := RealFunc(e.Op); f != nil {
		c := f(a.Float())
		if math.IsNaN(c) || math.IsInf(c, 0) {
			return Const{}, badInput(e.Pos, "%s of %g is not a finite number", e.Op, a.Float())
		}
		return realConst(c), nil
	}
	if a.Kind != KindReal {
		return a, nil
	}
	var f float64
	switch e.Op {
	case OpTrc:
		f = math.Trunc(a.Real)
	case OpFloor:
		f = math.Floor(a.Real)
	case OpCeil:
		f = math.Ceil(a.Real)
	}
	// −2⁶³ is exact as a float64, 2⁶³ is the first that is too large.
	if !(f >= -1<<63 && f < 1<<63) {
		return Const{}, badInput(e.Pos, "%g does not fit into 64 bits", f)
	}
	return intConst(int64(f)), nil
}

func (e *Expr) intBinary(a, b int64) (Const, error) {
	var c int64
	ok := true
	sign := "+"
	switch e.Op {
	case OpAdd:
		c = a + b
		ok = (c > a) == (b > 0)
	case OpSub:
		sign = "−"
		c = a - b
		ok = (c < a) == (b > 0)
	case OpMul:
		sign = "·"
		c = a * b
		ok = a == 0 || c/a == b && !(a == -1 && b == math.MinInt64)
	case OpMod:
		if b == 0 {
			return Const{}, badInput(e.Pos, "remainder of a division by zero")
		}
		c = a % b
	case OpMin:
		c = min(a, b)
	case OpMax:
		c = max(a, b)
	}
	if !ok {
		return Const{}, badInput(e.Pos, "%d %s %d does not fit into 64 bits", a, sign, b)
	}
	return intConst(c), nil
}

// RealFunc returns the function of a trigonometric or hyperbolic operator, nil for others.
// Where the function is not defined it returns NaN or an infinity.
func RealFunc(op Op) func(x float64) float64 {
	inverse := func(f func(float64) float64) func(float64) float64 {
		return func(x float64) float64 { return 1 / f(x) }
	}
	ofInverse := func(f func(float64) float64) func(float64) float64 {
		return func(x float64) float64 { return f(1 / x) }
	}
	switch op {
	case OpSin:
		return math.Sin
	case OpCos:
		return math.Cos
	case OpTan:
		return math.Tan
	case OpCot:
		return inverse(math.Tan)
	case OpSec:
		return inverse(math.Cos)
	case OpCsc:
		return inverse(math.Sin)
	case OpAsin:
		return math.Asin
	case OpAcos:
		return math.Acos
	case OpAtan:
		return math.Atan
	case OpAcot:
		return func(x float64) float64 { return math.Pi/2 - math.Atan(x) }
	case OpAsec:
		return ofInverse(math.Acos)
	case OpAcsc:
		return ofInverse(math.Asin)
	case OpSinh:
		return math.Sinh
	case OpCosh:
		return math.Cosh
	case OpTanh:
		return math.Tanh
	case OpCoth:
		return inverse(math.Tanh)
	case OpSech:
		return inverse(math.Cosh)
	case OpCsch:
		return inverse(math.Sinh)
	case OpAsinh:
		return math.Asinh
	case OpAcosh:
		return math.Acosh
	case OpAtanh:
		return math.Atanh
	case OpAcoth:
		return ofInverse(math.Atanh)
	case OpAsech:
		return ofInverse(math.Acosh)
	case OpAcsch:
		return ofInverse(math.Asinh)
	}
	return nil
}

// LogBase returns the logarithm of x to the given base, NaN unless x and base are
// positive and base is not 1.
func LogBase(x, base float64) float64 {
	if !(base > 0) || math.IsInf(base, 1) {
		return math.NaN()
	}
	return math.Log(x) / math.Log(base)
}

func (e *Expr) realBinary(a, b float64) (Const, error) {
	var c float64
	switch e.Op {
	case OpAdd:
		c = a + b
	case OpSub:
		c = a - b
	case OpMul:
		c = a * b
	case OpMin:
		c = min(a, b)
	case OpMax:
		c = max(a, b)
	case OpDiv:
		if b == 0 {
			return Const{}, badInput(e.Pos, "division by zero")
		}
		c = a / b
	case OpPow:
		c = math.Pow(a, b)
	case OpLog:
		c = LogBase(a, b)
	}
	if math.IsNaN(c) || math.IsInf(c, 0) {
		return Const{}, badInput(e.Pos, "the result for operands %g and %g is not a finite number", a, b)
	}
	return realConst(c), nil
}
