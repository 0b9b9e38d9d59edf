package interp

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"fuzzsafe/jani"
)

// maxArray limits the scalars of one array that `ac` builds, so that a huge length
// ends in an error and not in exhausted memory.
const maxArray = 1 << 20

// value is a JANI value.
type value struct {
	kind  jani.Kind
	n     int64 // an int; a bool as 0 or 1
	f     float64
	elems []value
}

func boolValue(b bool) value {
	if b {
		return value{kind: jani.KindBool, n: 1}
	}
	return value{kind: jani.KindBool}
}

func intValue(n int64) value { return value{kind: jani.KindInt, n: n} }

func realValue(f float64) value { return value{kind: jani.KindReal, f: f} }

func (a value) number() bool { return a.kind == jani.KindInt || a.kind == jani.KindReal }

// real returns a number as a real.
func (a value) real() float64 {
	if a.kind == jani.KindInt {
		return float64(a.n)
	}
	return a.f
}

// promoted returns a with every int in it made a real.
func (a value) promoted() value {
	switch a.kind {
	case jani.KindInt:
		return realValue(a.real())
	case jani.KindArray:
		elems := make([]value, len(a.elems))
		for i, x := range a.elems {
			elems[i] = x.promoted()
		}
		return value{kind: jani.KindArray, elems: elems}
	}
	return a
}

// clone returns a copy of a that shares no array elements with it.
func (a value) clone() value {
	if a.kind == jani.KindArray {
		a.elems = cloneAll(a.elems)
	}
	return a
}

func cloneAll(from []value) []value {
	to := make([]value, len(from))
	for i, x := range from {
		to[i] = x.clone()
	}
	return to
}

// scalars counts the scalars in a.
func (a value) scalars() int {
	if a.kind != jani.KindArray {
		return 1
	}
	n := 0
	for _, x := range a.elems {
		n += x.scalars()
	}
	return n
}

// equal compares two values; comparable is false if they have no common type.
func equal(a, b value) (same, comparable bool) {
	switch {
	case a.number() && b.number():
		return compare(a, b) == 0, true
	case a.kind != b.kind:
		return false, false
	case a.kind == jani.KindBool:
		return a.n == b.n, true
	case len(a.elems) != len(b.elems):
		return false, true
	}
	for i := range a.elems {
		if same, comparable = equal(a.elems[i], b.elems[i]); !same || !comparable {
			return same, comparable
		}
	}
	return true, true
}

// compare orders two numbers: ints as ints, everything else as reals.
func compare(a, b value) int {
	if a.kind == jani.KindInt && b.kind == jani.KindInt {
		return cmp.Compare(a.n, b.n)
	}
	return cmp.Compare(a.real(), b.real())
}

// String renders a for error messages.
func (a value) String() string {
	switch a.kind {
	case jani.KindBool:
		return strconv.FormatBool(a.n != 0)
	case jani.KindReal:
		return strconv.FormatFloat(a.f, 'g', -1, 64)
	case jani.KindArray:
		parts := make([]string, len(a.elems))
		for i, x := range a.elems {
			parts[i] = x.String()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return strconv.FormatInt(a.n, 10)
}

// typ is a type with its bounds evaluated.
type typ struct {
	kind         jani.Kind
	lower, upper *value // nil: no such bound
	elem         *typ   // of an array
}

// accept converts v to type t, as an assignment does: an int becomes a real where t
// is real, −0 becomes +0, and bounds are checked. Bits that no evaluation yields, such
// as a NaN, are an error: v may come from outside.
func (t *typ) accept(v value) (value, error) {
	if t.kind == jani.KindArray && v.kind == jani.KindArray {
		elems := make([]value, len(v.elems))
		for i, x := range v.elems {
			var err error
			if elems[i], err = t.elem.accept(x); err != nil {
				return value{}, fmt.Errorf("element %d: %w", i, err)
			}
		}
		return value{kind: jani.KindArray, elems: elems}, nil
	}
	if t.kind == jani.KindReal && v.number() {
		v = realValue(v.real() + 0)
	}
	if t.kind != v.kind {
		return value{}, fmt.Errorf("value %v is of type %v, not %v", v, v.kind, t.kind)
	}
	if math.IsNaN(v.f) || math.IsInf(v.f, 0) || v.kind == jani.KindBool && v.n != 0 && v.n != 1 {
		return value{}, fmt.Errorf("value %v is no %v", v, v.kind)
	}
	if t.lower != nil && compare(v, *t.lower) < 0 {
		return value{}, fmt.Errorf("value %v is below the lower bound %v", v, *t.lower)
	}
	if t.upper != nil && compare(v, *t.upper) > 0 {
		return value{}, fmt.Errorf("value %v is above the upper bound %v", v, *t.upper)
	}
	return v, nil
}

// scalar returns the type of the scalars of t.
func (t *typ) scalar() jani.Kind {
	for t.kind == jani.KindArray {
		t = t.elem
	}
	return t.kind
}

// symbol is what a name stands for: a constant, or a variable of the State.
type symbol struct {
	typ          *typ
	constant     *value     // nil: a variable
	transient    *transient // nil: not a transient variable
	owner, index int        // State.vars[owner][index], or State.transients
}

// scope gives the meaning of names, and of functions, which have names of their own.
type scope struct {
	names     map[string]symbol
	functions map[string]*function
}

// function is a declared function. Its body is evaluated in scope, behind the parameters.
type function struct {
	decl             *jani.Function
	scope, constants *scope
}

// binding is the index variable of an `ac`, or a parameter, and those around it.
type binding struct {
	name  string
	value value
	real  bool // the type is real, or an array of reals
	outer *binding
}

// env is where an expression is evaluated.
type env struct {
	scope *scope
	state State
	bound *binding
	depth int // how many transient values are being computed
	// where and what are for error messages: automaton "a", edge 3; guard.
	where, what string
}

// errorf makes an error that says where it happened.
func (v *env) errorf(p jani.Pos, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if v.what != "" {
		err = fmt.Errorf("%s: %w", v.what, err)
	}
	if v.where != "" {
		err = fmt.Errorf("%s, %w", v.where, err)
	}
	return errorAt(p, "%w", err)
}

// errorAt makes an error that begins with the place p, if it is one.
func errorAt(p jani.Pos, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if p.Src == nil {
		return err
	}
	line, col := p.LineCol()
	return fmt.Errorf("%s:%d:%d: %w", p.Src.Name, line, col, err)
}

// eval returns the value of e. Its kind is the static type of e: where an operator
// joins an int and a real, the int becomes a real even if the real is not evaluated.
func (v *env) eval(e *jani.Expr) (value, error) {
	switch e.Op {
	case jani.OpConst:
		if e.Kind == jani.KindReal {
			return v.finite(e, e.Real)
		}
		return value{kind: e.Kind, n: e.Int}, nil
	case jani.OpName:
		return v.name(e)
	case jani.OpOr, jani.OpAnd, jani.OpImplies:
		left, err := v.truth(e.Args[0])
		if err != nil {
			return value{}, err
		}
		if left == (e.Op == jani.OpOr) { // the left side decides
			return boolValue(e.Op != jani.OpAnd), nil
		}
		right, err := v.truth(e.Args[1])
		return boolValue(right), err
	case jani.OpIte:
		branch := e.Args[1]
		if cond, err := v.truth(e.Args[0]); err != nil {
			return value{}, err
		} else if !cond {
			branch = e.Args[2]
		}
		a, err := v.eval(branch)
		return v.joined(e, a), err
	case jani.OpArray:
		elems := make([]value, len(e.Args))
		for i, x := range e.Args {
			var err error
			if elems[i], err = v.eval(x); err != nil {
				return value{}, err
			}
		}
		return v.joined(e, value{kind: jani.KindArray, elems: elems}), nil
	case jani.OpFill:
		return v.fill(e)
	case jani.OpCall:
		return v.call(e)
	}
	if len(e.Args) == 0 || len(e.Args) > 2 {
		return value{}, v.errorf(e.Pos, "this expression is not part of a syntax tree")
	}
	a, err := v.eval(e.Args[0])
	if err != nil {
		return value{}, err
	}
	b := a // of a unary operator; makes the tests of both operands below fit
	if len(e.Args) == 2 {
		if b, err = v.eval(e.Args[1]); err != nil {
			return value{}, err
		}
	}
	return v.apply(e, a, b)
}

// truth evaluates e, which must be boolean.
func (v *env) truth(e *jani.Expr) (bool, error) {
	a, err := v.eval(e)
	if err == nil && a.kind != jani.KindBool {
		err = v.errorf(e.Pos, "a bool is wanted here, %v is of type %v", a, a.kind)
	}
	return a.n != 0, err
}

// integer evaluates e, which must be an int.
func (v *env) integer(e *jani.Expr) (int64, error) {
	a, err := v.eval(e)
	if err == nil && a.kind != jani.KindInt {
		err = v.errorf(e.Pos, "an int is wanted here, %v is of type %v", a, a.kind)
	}
	return a.n, err
}

func (v *env) name(e *jani.Expr) (value, error) {
	for b := v.bound; b != nil; b = b.outer {
		if b.name == e.Name {
			return b.value, nil
		}
	}
	sym, ok := v.scope.names[e.Name]
	switch {
	case !ok:
		return value{}, v.errorf(e.Pos, "no constant or variable %q is in scope", e.Name)
	case sym.constant != nil:
		return *sym.constant, nil
	case sym.transient != nil:
		return v.readTransient(e, sym)
	}
	return v.state.vars[sym.owner][sym.index], nil
}

// fill evaluates `ac`: an array whose element i is the body for index variable i.
func (v *env) fill(e *jani.Expr) (value, error) {
	length, err := v.integer(e.Args[0])
	if err != nil {
		return value{}, err
	}
	if length < 0 || length > maxArray {
		return value{}, v.errorf(e.Pos, "array length %d is not between 0 and %d", length, maxArray)
	}
	elems, scalars := make([]value, length), 0
	inner := *v
	for i := range elems {
		inner.bound = &binding{name: e.Name, value: intValue(int64(i)), outer: v.bound}
		if elems[i], err = inner.eval(e.Args[1]); err != nil {
			return value{}, err
		}
		if scalars += elems[i].scalars(); scalars > maxArray {
			return value{}, v.errorf(e.Pos, "the array has more than %d elements", maxArray)
		}
	}
	return v.joined(e, value{kind: jani.KindArray, elems: elems}), nil
}

// joined promotes a, a value of e, if the type of e is real.
func (v *env) joined(e *jani.Expr, a value) value {
	if v.isReal(e) {
		return a.promoted()
	}
	return a
}

// isReal reports whether e is a real or an array of reals by its operators and the
// declared types of its names.
func (v *env) isReal(e *jani.Expr) bool {
	switch e.Op {
	case jani.OpConst:
		return e.Kind == jani.KindReal
	case jani.OpName:
		for b := v.bound; b != nil; b = b.outer {
			if b.name == e.Name {
				return b.real
			}
		}
		sym, ok := v.scope.names[e.Name]
		return ok && sym.typ.scalar() == jani.KindReal
	case jani.OpDiv, jani.OpPow, jani.OpLog:
		return true
	case jani.OpCall:
		f, ok := v.scope.functions[e.Name]
		return ok && isRealType(f.decl.Type)
	case jani.OpIte:
		return v.isReal(e.Args[1]) || v.isReal(e.Args[2])
	case jani.OpAccess:
		return v.isReal(e.Args[0])
	case jani.OpFill:
		inner := *v
		inner.bound = &binding{name: e.Name, outer: v.bound}
		return inner.isReal(e.Args[1])
	case jani.OpNeg, jani.OpAbs, jani.OpAdd, jani.OpSub, jani.OpMul, jani.OpMin, jani.OpMax, jani.OpArray:
		for _, x := range e.Args {
			if v.isReal(x) {
				return true
			}
		}
	}
	return realFunctions[e.Op] != nil
}

// isRealType reports whether t is real or an array of reals.
func isRealType(t jani.TypeDecl) bool {
	for t.Kind == jani.KindArray {
		t = *t.Elem
	}
	return t.Kind == jani.KindReal
}

// call evaluates a function for its arguments. While the values of constants are
// computed there are only the constants, for functions, too.
func (v *env) call(e *jani.Expr) (value, error) {
	f, ok := v.scope.functions[e.Name]
	if !ok {
		return value{}, v.errorf(e.Pos, "no function %q is in scope", e.Name)
	}
	if len(e.Args) != len(f.decl.Parameters) {
		return value{}, v.errorf(e.Pos, "function %q has %d parameters, not %d", e.Name, len(f.decl.Parameters), len(e.Args))
	}
	types := env{scope: f.constants, where: v.where, what: v.what}
	inner := *v
	if inner.bound = nil; v.state.vars != nil {
		inner.scope = f.scope
	}
	for i, p := range f.decl.Parameters {
		t, err := types.typ(p.Type)
		if err != nil {
			return value{}, err
		}
		arg, err := v.evalAs(t, e.Args[i])
		if err != nil {
			return value{}, err
		}
		inner.bound = &binding{name: p.Name, value: arg, real: isRealType(p.Type), outer: inner.bound}
	}
	t, err := types.typ(f.decl.Type)
	if err != nil {
		return value{}, err
	}
	return inner.evalAs(t, f.decl.Body)
}

// realFunctions are the operators with one operand and a real result.
var realFunctions = map[jani.Op]func(float64) float64{
	jani.OpSin:   math.Sin,
	jani.OpCos:   math.Cos,
	jani.OpTan:   math.Tan,
	jani.OpCot:   func(x float64) float64 { return 1 / math.Tan(x) },
	jani.OpSec:   func(x float64) float64 { return 1 / math.Cos(x) },
	jani.OpCsc:   func(x float64) float64 { return 1 / math.Sin(x) },
	jani.OpAsin:  math.Asin,
	jani.OpAcos:  math.Acos,
	jani.OpAtan:  math.Atan,
	jani.OpAcot:  func(x float64) float64 { return math.Pi/2 - math.Atan(x) },
	jani.OpAsec:  func(x float64) float64 { return math.Acos(1 / x) },
	jani.OpAcsc:  func(x float64) float64 { return math.Asin(1 / x) },
	jani.OpSinh:  math.Sinh,
	jani.OpCosh:  math.Cosh,
	jani.OpTanh:  math.Tanh,
	jani.OpCoth:  func(x float64) float64 { return 1 / math.Tanh(x) },
	jani.OpSech:  func(x float64) float64 { return 1 / math.Cosh(x) },
	jani.OpCsch:  func(x float64) float64 { return 1 / math.Sinh(x) },
	jani.OpAsinh: math.Asinh,
	jani.OpAcosh: math.Acosh,
	jani.OpAtanh: math.Atanh,
	jani.OpAcoth: func(x float64) float64 { return math.Atanh(1 / x) },
	jani.OpAsech: func(x float64) float64 { return math.Acosh(1 / x) },
	jani.OpAcsch: func(x float64) float64 { return math.Asinh(1 / x) },
}

// apply applies an operator that evaluates all of its operands; b is a if it is unary.
func (v *env) apply(e *jani.Expr, a, b value) (value, error) {
	switch e.Op {
	case jani.OpNot:
		if a.kind != jani.KindBool {
			return value{}, v.errorf(e.Pos, "a bool is wanted here, %v is of type %v", a, a.kind)
		}
		return boolValue(a.n == 0), nil
	case jani.OpEq, jani.OpNe:
		same, comparable := equal(a, b)
		if !comparable {
			return value{}, v.errorf(e.Pos, "%v of type %v and %v of type %v cannot be compared", a, a.kind, b, b.kind)
		}
		return boolValue(same == (e.Op == jani.OpEq)), nil
	case jani.OpAccess:
		i, err := v.index(e, a, b)
		if err != nil {
			return value{}, err
		}
		return a.elems[i], nil
	}
	for _, x := range [...]value{a, b} {
		if !x.number() {
			return value{}, v.errorf(e.Pos, "a number is wanted here, %v is of type %v", x, x.kind)
		}
	}
	ints := a.kind == jani.KindInt && b.kind == jani.KindInt
	switch e.Op {
	case jani.OpLt:
		return boolValue(compare(a, b) < 0), nil
	case jani.OpLe:
		return boolValue(compare(a, b) <= 0), nil
	case jani.OpGt:
		return boolValue(compare(a, b) > 0), nil
	case jani.OpGe:
		return boolValue(compare(a, b) >= 0), nil
	case jani.OpAdd, jani.OpSub, jani.OpMul, jani.OpNeg, jani.OpAbs, jani.OpMin, jani.OpMax:
		if ints {
			return v.intArithmetic(e, a.n, b.n)
		}
		return v.realArithmetic(e, a.real(), b.real())
	case jani.OpDiv, jani.OpPow, jani.OpLog:
		return v.realArithmetic(e, a.real(), b.real())
	case jani.OpMod:
		switch {
		case !ints:
			return value{}, v.errorf(e.Pos, "%% wants ints, not %v and %v", a, b)
		case b.n == 0:
			return value{}, v.errorf(e.Pos, "division by zero: %v %% 0", a)
		}
		return intValue(a.n % b.n), nil // Go's % has the sign of the dividend, too
	case jani.OpSgn:
		return intValue(int64(compare(a, intValue(0)))), nil
	case jani.OpTrc, jani.OpFloor, jani.OpCeil:
		if ints {
			return a, nil
		}
		return v.round(e, a.f)
	}
	if f := realFunctions[e.Op]; f != nil && len(e.Args) == 1 {
		return v.finite(e, f(a.real()))
	}
	return value{}, v.errorf(e.Pos, "this expression is not part of a syntax tree")
}

// index checks an array access and returns the position of the element.
func (v *env) index(e *jani.Expr, array, index value) (int64, error) {
	switch {
	case array.kind != jani.KindArray:
		return 0, v.errorf(e.Pos, "an array is wanted here, %v is of type %v", array, array.kind)
	case index.kind != jani.KindInt:
		return 0, v.errorf(e.Pos, "the array index %v is of type %v, not int", index, index.kind)
	case index.n < 0 || index.n >= int64(len(array.elems)):
		return 0, v.errorf(e.Pos, "array index %v is not between 0 and %d", index, len(array.elems)-1)
	}
	return index.n, nil
}

func (v *env) intArithmetic(e *jani.Expr, a, b int64) (value, error) {
	op := e.Op
	switch op {
	case jani.OpMin:
		return intValue(min(a, b)), nil
	case jani.OpMax:
		return intValue(max(a, b)), nil
	case jani.OpAbs:
		if a >= 0 {
			return intValue(a), nil
		}
		op, a = jani.OpSub, 0
	case jani.OpNeg:
		op, a = jani.OpSub, 0
	}
	var n int64
	var ok bool
	switch op {
	case jani.OpAdd:
		n = a + b
		ok = (n >= a) == (b >= 0)
	case jani.OpSub:
		n = a - b
		ok = (n <= a) == (b >= 0)
	case jani.OpMul:
		n = a * b
		// −1 · MinInt64 wraps to MinInt64, and so does its division by −1.
		ok = a == 0 || n/a == b && (a != -1 || b != math.MinInt64)
	}
	if !ok {
		return value{}, v.errorf(e.Pos, "the result does not fit into 64 bits (operands %d and %d)", a, b)
	}
	return intValue(n), nil
}

func (v *env) realArithmetic(e *jani.Expr, a, b float64) (value, error) {
	var f float64
	switch e.Op {
	case jani.OpAdd:
		f = a + b
	case jani.OpSub:
		f = a - b
	case jani.OpMul:
		f = a * b
	case jani.OpNeg:
		f = -a
	case jani.OpAbs:
		f = math.Abs(a)
	case jani.OpMin:
		f = math.Min(a, b)
	case jani.OpMax:
		f = math.Max(a, b)
	case jani.OpDiv:
		if b == 0 {
			return value{}, v.errorf(e.Pos, "division by zero: %v / 0", realValue(a))
		}
		f = a / b
	case jani.OpPow:
		f = math.Pow(a, b)
	case jani.OpLog:
		if !(a > 0 && b > 0 && b != 1) {
			return value{}, v.errorf(e.Pos, "the logarithm of %v to base %v does not exist", realValue(a), realValue(b))
		}
		f = math.Log(a) / math.Log(b)
	}
	return v.finite(e, f)
}

// finite makes a real of f unless it is infinite or not a number.
func (v *env) finite(e *jani.Expr, f float64) (value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return value{}, v.errorf(e.Pos, "the result is %v, not a real number", f)
	}
	return realValue(f), nil
}

// round makes an int of f.
func (v *env) round(e *jani.Expr, f float64) (value, error) {
	switch e.Op {
	case jani.OpTrc:
		f = math.Trunc(f)
	case jani.OpFloor:
		f = math.Floor(f)
	case jani.OpCeil:
		f = math.Ceil(f)
	}
	if !(f >= math.MinInt64 && f < -math.MinInt64) {
		return value{}, v.errorf(e.Pos, "%v does not fit into 64 bits", realValue(f))
	}
	return intValue(int64(f)), nil
}
