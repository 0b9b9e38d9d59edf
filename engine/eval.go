package engine

import (
	"fmt"
	"math"
	"math/bits"

	"fuzzsafe/jani"
)

// Typed expressions are compiled to closures over packed words. An evaluation that
// fails notes its first error in the evaluator and goes on with some value, so that the
// fast path has no error results; whoever starts an evaluation looks at err afterwards.
type (
	boolFunc func(e *evaluator) bool
	intFunc  func(e *evaluator) int64
	realFunc func(e *evaluator) float64
)

// evaluator is the state that expressions are evaluated in.
type evaluator struct {
	w   []uint64
	err *jani.Error
	// deadlock tells whether no edge is enabled in w.
	deadlock func() bool
	// negatives counts the remainders with a negative operand, whose sign the
	// specification leaves open.
	negatives int64
}

func (e *evaluator) fail(p jani.Pos, format string, args ...any) {
	if e.err == nil {
		e.err = &jani.Error{Kind: jani.BadInput, Pos: p, Msg: fmt.Sprintf(format, args...)}
	}
}

// exprCompiler compiles the expressions of one model for one layout.
type exprCompiler struct {
	model  *jani.Model
	layout *Layout
}

// bounds returns an interval that holds the value of the int expression e, and whether
// evaluating e can fail. Linear in the size of e.
func (c *exprCompiler) bounds(e *jani.Expr) (lo, hi int64, mayFail bool) {
	const minInt, maxInt = math.MinInt64, math.MaxInt64
	if e.Kind != jani.KindInt {
		return minInt, maxInt, c.mayFail(e)
	}
	switch e.Op {
	case jani.OpConst:
		return e.Int, e.Int, false
	case jani.OpVar:
		x := c.model.Var(e.Var)
		return x.Lower, x.Upper, false
	case jani.OpElem:
		x := c.model.Var(e.Var)
		return x.Lower, x.Upper, c.mayFail(e.Args[0])
	case jani.OpBound:
		alo, ahi, fail := c.bounds(e.Args[0])
		return max(alo, 0), min(ahi, int64(e.Len)-1), fail || alo < 0 || ahi >= int64(e.Len)
	case jani.OpAssert:
		lo, hi, mayFail = c.bounds(e.Args[1])
		return lo, hi, mayFail || !c.holds(e.Args[0])
	case jani.OpIte:
		alo, ahi, f1 := c.bounds(e.Args[1])
		blo, bhi, f2 := c.bounds(e.Args[2])
		return min(alo, blo), max(ahi, bhi), f1 || f2 || c.mayFail(e.Args[0])
	case jani.OpSgn:
		return -1, 1, c.mayFail(e.Args[0])
	case jani.OpAdd, jani.OpSub, jani.OpMul, jani.OpMin, jani.OpMax:
		alo, ahi, f1 := c.bounds(e.Args[0])
		blo, bhi, f2 := c.bounds(e.Args[1])
		over := false
		do := func(f func(a, b int64) (int64, bool), a, b int64) int64 {
			v, ok := f(a, b)
			over = over || !ok
			return v
		}
		switch e.Op {
		case jani.OpAdd:
			lo, hi = do(addInt, alo, blo), do(addInt, ahi, bhi)
		case jani.OpSub:
			lo, hi = do(subInt, alo, bhi), do(subInt, ahi, blo)
		case jani.OpMul:
			p := [...]int64{do(mulInt, alo, blo), do(mulInt, alo, bhi), do(mulInt, ahi, blo), do(mulInt, ahi, bhi)}
			lo, hi = min(p[0], p[1], p[2], p[3]), max(p[0], p[1], p[2], p[3])
		case jani.OpMin:
			lo, hi = min(alo, blo), min(ahi, bhi)
		case jani.OpMax:
			lo, hi = max(alo, blo), max(ahi, bhi)
		}
		if over {
			lo, hi = minInt, maxInt
		}
		return lo, hi, f1 || f2 || over
	case jani.OpNeg, jani.OpAbs:
		alo, ahi, fail := c.bounds(e.Args[0])
		if alo == minInt {
			return minInt, maxInt, true
		}
		if e.Op == jani.OpNeg {
			return -ahi, -alo, fail
		}
		if lo = min(max(alo, -ahi), max(ahi, -alo)); alo <= 0 && ahi >= 0 {
			lo = 0
		}
		return lo, max(ahi, -alo), fail
	case jani.OpMod:
		_, _, f1 := c.bounds(e.Args[0])
		blo, bhi, f2 := c.bounds(e.Args[1])
		return minInt, maxInt, f1 || f2 || blo <= 0 && bhi >= 0
	}
	return minInt, maxInt, true // trc, floor, ceil of a real
}

// mayFail reports whether evaluating e can fail, erring on the side of true.
func (c *exprCompiler) mayFail(e *jani.Expr) bool {
	if e.Kind == jani.KindInt {
		_, _, fail := c.bounds(e)
		return fail
	}
	switch e.Op {
	case jani.OpConst, jani.OpVar:
		return false
	case jani.OpAssert:
		return c.mayFail(e.Args[1]) || !c.holds(e.Args[0])
	case jani.OpAdd, jani.OpSub, jani.OpMul, jani.OpDiv, jani.OpPow, jani.OpLog:
		return true // the result may leave the finite reals
	}
	if jani.RealFunc(e.Op) != nil {
		return true
	}
	for _, a := range e.Args {
		if c.mayFail(a) {
			return true
		}
	}
	return false
}

// holds reports whether the condition of a check is certain to hold: its parts are
// comparisons of an int with a bound, or of a value with itself.
func (c *exprCompiler) holds(e *jani.Expr) bool {
	switch e.Op {
	case jani.OpAnd:
		return c.holds(e.Args[0]) && c.holds(e.Args[1])
	case jani.OpEq:
		return e.Args[0] == e.Args[1] && !c.mayFail(e.Args[0])
	case jani.OpGe, jani.OpLe:
		if e.Args[0].Kind != jani.KindInt || e.Args[1].Op != jani.OpConst {
			return false
		}
		lo, hi, fail := c.bounds(e.Args[0])
		return !fail && (e.Op == jani.OpGe && lo >= e.Args[1].Int || e.Op == jani.OpLe && hi <= e.Args[1].Int)
	}
	return false
}

// check compiles the condition of an OpAssert to a function that fails if it does not hold.
func (c *exprCompiler) check(e *jani.Expr) func(*evaluator) {
	if c.holds(e.Args[0]) {
		return func(*evaluator) {}
	}
	ok := c.bool(e.Args[0])
	return func(ev *evaluator) {
		if !ok(ev) {
			ev.fail(e.Pos, "%s", e.Name)
		}
	}
}

func addInt(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

func subInt(a, b int64) (int64, bool) {
	d := a - b
	return d, (d < a) == (b > 0)
}

func mulInt(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	hi -= uint64(a>>63)&uint64(b) + uint64(b>>63)&uint64(a) // signed high half
	return int64(lo), int64(hi) == int64(lo)>>63
}

// linear is Σ coefficient · field + constant over int variables, proven not to overflow.
type linear struct {
	constant int64 // includes the lower bounds of the fields
	terms    []linearTerm
}

type linearTerm struct {
	word        int32
	shift       uint8
	mask        uint64
	coefficient int64
}

func (l *linear) eval(w []uint64) int64 {
	v := l.constant
	for i := range l.terms {
		t := &l.terms[i]
		v += int64(w[t.word]>>t.shift&t.mask) * t.coefficient
	}
	return v
}

// linear returns e as a linear form if it is one and cannot fail.
func (c *exprCompiler) linear(e *jani.Expr) (*linear, bool) {
	if e.Kind != jani.KindInt || c.mayFail(e) {
		return nil, false
	}
	l := &linear{}
	return l, c.addLinear(l, e, 1)
}

func (c *exprCompiler) addLinear(l *linear, e *jani.Expr, factor int64) bool {
	switch e.Op {
	case jani.OpConst:
		l.constant += factor * e.Int
	case jani.OpVar:
		f := &c.layout.fields[e.Var]
		l.constant += factor * f.lo
		if f.width == 0 {
			return true
		}
		for i := range l.terms {
			if t := &l.terms[i]; t.word == f.word && t.shift == f.shift {
				t.coefficient += factor
				return true
			}
		}
		l.terms = append(l.terms, linearTerm{f.word, f.shift, f.mask, factor})
	case jani.OpAdd:
		return c.addLinear(l, e.Args[0], factor) && c.addLinear(l, e.Args[1], factor)
	case jani.OpAssert: // cannot fail, see linear
		return c.addLinear(l, e.Args[1], factor)
	case jani.OpSub:
		return c.addLinear(l, e.Args[0], factor) && c.addLinear(l, e.Args[1], -factor)
	case jani.OpNeg:
		return c.addLinear(l, e.Args[0], -factor)
	case jani.OpMul:
		for i := range 2 {
			if k := e.Args[i]; k.Op == jani.OpConst {
				f, ok := mulInt(factor, k.Int)
				return ok && c.addLinear(l, e.Args[1-i], f)
			}
		}
		return false
	default:
		return false
	}
	return true
}

// bool compiles a boolean expression.
func (c *exprCompiler) bool(e *jani.Expr) boolFunc {
	switch e.Op {
	case jani.OpConst:
		v := e.Int != 0
		return func(*evaluator) bool { return v }
	case jani.OpVar:
		f := c.layout.fields[e.Var]
		return func(e *evaluator) bool { return f.get(e.w) != 0 }
	case jani.OpElem:
		get := c.elem(e)
		return func(e *evaluator) bool { return get(e) != 0 }
	case jani.OpNot:
		a := c.bool(e.Args[0])
		return func(e *evaluator) bool { return !a(e) }
	case jani.OpAnd:
		a, b := c.bool(e.Args[0]), c.bool(e.Args[1])
		return func(e *evaluator) bool { return a(e) && b(e) }
	case jani.OpOr:
		a, b := c.bool(e.Args[0]), c.bool(e.Args[1])
		return func(e *evaluator) bool { return a(e) || b(e) }
	case jani.OpImplies:
		a, b := c.bool(e.Args[0]), c.bool(e.Args[1])
		return func(e *evaluator) bool { return !a(e) || b(e) }
	case jani.OpAssert:
		check, a := c.check(e), c.bool(e.Args[1])
		return func(e *evaluator) bool {
			check(e)
			return a(e)
		}
	case jani.OpIte:
		a, b, d := c.bool(e.Args[0]), c.bool(e.Args[1]), c.bool(e.Args[2])
		return func(e *evaluator) bool {
			if a(e) {
				return b(e)
			}
			return d(e)
		}
	case jani.OpEq, jani.OpNe, jani.OpLt, jani.OpLe, jani.OpGt, jani.OpGe:
		return c.comparison(e)
	case jani.OpDeadlock:
		return func(e *evaluator) bool { return e.deadlock() }
	}
	return func(ev *evaluator) bool {
		ev.fail(e.Pos, "the operator %s has no boolean value", e.Op)
		return false
	}
}

func (c *exprCompiler) comparison(e *jani.Expr) boolFunc {
	left, right := e.Args[0], e.Args[1]
	switch {
	case left.Kind == jani.KindBool:
		a, b := c.bool(left), c.bool(right)
		equal := e.Op == jani.OpEq
		return func(e *evaluator) bool { return (a(e) == b(e)) == equal }
	case left.Kind == jani.KindInt && right.Kind == jani.KindInt:
		// a ⋈ b is a − b ⋈ 0, if the difference cannot overflow
		diff := &jani.Expr{Op: jani.OpSub, Kind: jani.KindInt, Args: []*jani.Expr{left, right}, Pos: e.Pos}
		if l, ok := c.linear(diff); ok {
			switch e.Op {
			case jani.OpEq:
				return func(e *evaluator) bool { return l.eval(e.w) == 0 }
			case jani.OpNe:
				return func(e *evaluator) bool { return l.eval(e.w) != 0 }
			case jani.OpLt:
				return func(e *evaluator) bool { return l.eval(e.w) < 0 }
			case jani.OpLe:
				return func(e *evaluator) bool { return l.eval(e.w) <= 0 }
			case jani.OpGt:
				return func(e *evaluator) bool { return l.eval(e.w) > 0 }
			default:
				return func(e *evaluator) bool { return l.eval(e.w) >= 0 }
			}
		}
		return compare(e.Op, c.int(left), c.int(right))
	}
	return compare(e.Op, c.real(left), c.real(right))
}

func compare[T int64 | float64, F ~func(*evaluator) T](op jani.Op, a, b F) boolFunc {
	switch op {
	case jani.OpEq:
		return func(e *evaluator) bool { return a(e) == b(e) }
	case jani.OpNe:
		return func(e *evaluator) bool { return a(e) != b(e) }
	case jani.OpLt:
		return func(e *evaluator) bool { return a(e) < b(e) }
	case jani.OpLe:
		return func(e *evaluator) bool { return a(e) <= b(e) }
	case jani.OpGt:
		return func(e *evaluator) bool { return a(e) > b(e) }
	default:
		return func(e *evaluator) bool { return a(e) >= b(e) }
	}
}

// elem compiles the access to an array variable with a computed index; the index has
// been checked against its dimension by OpBound, and is checked against the array here.
func (c *exprCompiler) elem(e *jani.Expr) intFunc {
	index := c.int(e.Args[0])
	fields := c.layout.fields[e.Var : int(e.Var)+e.Len]
	return func(ev *evaluator) int64 {
		i := index(ev)
		if i < 0 || i >= int64(len(fields)) {
			ev.fail(e.Pos, "index %d is out of range: the array has %d elements", i, len(fields))
			return 0
		}
		return fields[i].get(ev.w)
	}
}

// int compiles an expression of kind int.
func (c *exprCompiler) int(e *jani.Expr) intFunc {
	if l, ok := c.linear(e); ok {
		if len(l.terms) == 0 {
			v := l.constant
			return func(*evaluator) int64 { return v }
		}
		return func(e *evaluator) int64 { return l.eval(e.w) }
	}
	binary := func(f func(a, b int64) (int64, bool)) intFunc {
		a, b := c.int(e.Args[0]), c.int(e.Args[1])
		return func(ev *evaluator) int64 {
			x, y := a(ev), b(ev)
			v, ok := f(x, y)
			if !ok {
				ev.fail(e.Pos, "%d %s %d does not fit into 64 bits", x, e.Op, y)
			}
			return v
		}
	}
	switch e.Op {
	case jani.OpVar:
		f := c.layout.fields[e.Var]
		return func(e *evaluator) int64 { return f.get(e.w) }
	case jani.OpElem:
		return c.elem(e)
	case jani.OpBound:
		a, n := c.int(e.Args[0]), int64(e.Len)
		return func(ev *evaluator) int64 {
			i := a(ev)
			if i < 0 || i >= n {
				ev.fail(e.Pos, "index %d is out of range: the array has %d elements", i, n)
				return 0
			}
			return i
		}
	case jani.OpAdd:
		return binary(addInt)
	case jani.OpSub:
		return binary(subInt)
	case jani.OpMul:
		return binary(mulInt)
	case jani.OpMin:
		return binary(func(a, b int64) (int64, bool) { return min(a, b), true })
	case jani.OpMax:
		return binary(func(a, b int64) (int64, bool) { return max(a, b), true })
	case jani.OpMod:
		a, b := c.int(e.Args[0]), c.int(e.Args[1])
		return func(ev *evaluator) int64 {
			x, y := a(ev), b(ev)
			if y == 0 {
				ev.fail(e.Pos, "%d %% 0 is not defined", x)
				return 0
			}
			if x < 0 || y < 0 {
				ev.negatives++
			}
			if y == -1 {
				return 0 // also for the least integer, where the quotient overflows
			}
			return x % y
		}
	case jani.OpNeg, jani.OpAbs:
		a, negate := c.int(e.Args[0]), e.Op == jani.OpNeg
		return func(ev *evaluator) int64 {
			x := a(ev)
			if x == math.MinInt64 {
				ev.fail(e.Pos, "the negative of %d does not fit into 64 bits", x)
			}
			if negate || x < 0 {
				return -x
			}
			return x
		}
	case jani.OpAssert:
		check, a := c.check(e), c.int(e.Args[1])
		return func(e *evaluator) int64 {
			check(e)
			return a(e)
		}
	case jani.OpIte:
		a, b, d := c.bool(e.Args[0]), c.int(e.Args[1]), c.int(e.Args[2])
		return func(e *evaluator) int64 {
			if a(e) {
				return b(e)
			}
			return d(e)
		}
	case jani.OpSgn:
		a := c.real(e.Args[0])
		return func(e *evaluator) int64 {
			switch x := a(e); {
			case x > 0:
				return 1
			case x < 0:
				return -1
			}
			return 0
		}
	case jani.OpTrc, jani.OpFloor, jani.OpCeil:
		if e.Args[0].Kind == jani.KindInt {
			return c.int(e.Args[0])
		}
		a := c.real(e.Args[0])
		round := map[jani.Op]func(float64) float64{jani.OpTrc: math.Trunc, jani.OpFloor: math.Floor, jani.OpCeil: math.Ceil}[e.Op]
		return func(ev *evaluator) int64 {
			x := round(a(ev))
			if !(x >= -1<<63 && x < 1<<63) {
				ev.fail(e.Pos, "%s of %g does not fit into 64 bits", e.Op, x)
				return 0
			}
			return int64(x)
		}
	}
	return func(ev *evaluator) int64 {
		ev.fail(e.Pos, "the operator %s has no integer value", e.Op)
		return 0
	}
}

// real compiles an expression of kind real or int as a real.
func (c *exprCompiler) real(e *jani.Expr) realFunc {
	if e.Kind == jani.KindInt {
		a := c.int(e)
		return func(e *evaluator) float64 { return float64(a(e)) }
	}
	binary := func(f func(a, b float64) float64) realFunc {
		a, b := c.real(e.Args[0]), c.real(e.Args[1])
		return func(ev *evaluator) float64 {
			x, y := a(ev), b(ev)
			v := f(x, y)
			if v-v != 0 { // NaN or infinite
				ev.fail(e.Pos, "%g %s %g is not a finite number", x, e.Op, y)
				return 0
			}
			return v
		}
	}
	switch e.Op {
	case jani.OpConst:
		v := e.Real
		return func(*evaluator) float64 { return v }
	case jani.OpVar:
		f := c.layout.fields[e.Var]
		return func(e *evaluator) float64 { return math.Float64frombits(e.w[f.word]) }
	case jani.OpElem:
		get := c.elem(e)
		return func(e *evaluator) float64 { return math.Float64frombits(uint64(get(e))) }
	case jani.OpAdd:
		return binary(func(a, b float64) float64 { return a + b })
	case jani.OpSub:
		return binary(func(a, b float64) float64 { return a - b })
	case jani.OpMul:
		return binary(func(a, b float64) float64 { return a * b })
	case jani.OpDiv:
		return binary(func(a, b float64) float64 { return a / b })
	case jani.OpPow:
		return binary(math.Pow)
	case jani.OpLog:
		return binary(jani.LogBase)
	case jani.OpMin:
		return binary(math.Min)
	case jani.OpMax:
		return binary(math.Max)
	case jani.OpNeg:
		a := c.real(e.Args[0])
		return func(e *evaluator) float64 { return -a(e) }
	case jani.OpAbs:
		a := c.real(e.Args[0])
		return func(e *evaluator) float64 { return math.Abs(a(e)) }
	case jani.OpAssert:
		check, a := c.check(e), c.real(e.Args[1])
		return func(e *evaluator) float64 {
			check(e)
			return a(e)
		}
	case jani.OpIte:
		a, b, d := c.bool(e.Args[0]), c.real(e.Args[1]), c.real(e.Args[2])
		return func(e *evaluator) float64 {
			if a(e) {
				return b(e)
			}
			return d(e)
		}
	}
	if f := jani.RealFunc(e.Op); f != nil {
		a := c.real(e.Args[0])
		return func(ev *evaluator) float64 {
			x := a(ev)
			v := f(x)
			if v-v != 0 { // NaN or infinite
				ev.fail(e.Pos, "%s of %g is not a finite number", e.Op, x)
				return 0
			}
			return v
		}
	}
	return func(ev *evaluator) float64 {
		ev.fail(e.Pos, "the operator %s has no real value", e.Op)
		return 0
	}
}
