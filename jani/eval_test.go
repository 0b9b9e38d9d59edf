package jani

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestEval(t *testing.T) {
	// Short forms: i, r and b are literals, x is variable n, op an operator.
	i := func(v int64) *Expr { return &Expr{Op: OpConst, Kind: KindInt, Int: v} }
	r := func(v float64) *Expr { return &Expr{Op: OpConst, Kind: KindReal, Real: v} }
	b := func(v bool) *Expr { return &Expr{Op: OpConst, Kind: KindBool, Int: int64(btoi(v))} }
	x := func(kind Kind, n VarID) *Expr { return &Expr{Op: OpVar, Kind: kind, Var: n} }
	op := func(o Op, kind Kind, args ...*Expr) *Expr { return &Expr{Op: o, Kind: kind, Args: args} }
	elem := func(first VarID, n int, index *Expr) *Expr {
		return &Expr{Op: OpElem, Kind: KindInt, Var: first, Len: n, Args: []*Expr{index}}
	}
	quotient := func() *Expr { return op(OpGt, KindBool, op(OpDiv, KindReal, i(1), i(0)), i(0)) }

	const lo, hi = math.MinInt64, math.MaxInt64
	B, I, R := KindBool, KindInt, KindReal
	yes, no := boolConst(true), boolConst(false)
	values := []Value{7, RealValue(2.5), 1, 10, 11, 12}
	bound := op(OpBound, I, i(3))
	bound.Len = 3
	for _, c := range []struct {
		name string
		e    *Expr
		want Const
		fail string // part of the error message
	}{
		{"int variable", x(I, 0), intConst(7), ""},
		{"real variable", x(R, 1), realConst(2.5), ""},
		{"bool variable", x(B, 2), yes, ""},
		{"no such variable", x(I, 6), Const{}, "constant is needed"},
		{"element", elem(3, 3, i(2)), intConst(12), ""},
		{"element -1", elem(3, 3, i(-1)), Const{}, "index -1 is out of range"},
		{"element 3", elem(3, 3, i(3)), Const{}, "the array has 3 elements"},
		{"element that fails", elem(3, 3, op(OpMod, I, i(1), i(0))), Const{}, "by zero"},
		{"checked index", bound, Const{}, "index 3 is out of range"},
		{"name", op(OpName, KindNone), Const{}, "not compiled"},

		{"+", op(OpAdd, I, i(2), i(-5)), intConst(-3), ""},
		{"+ to the limit", op(OpAdd, I, i(hi-1), i(1)), intConst(hi), ""},
		{"+ over", op(OpAdd, I, i(hi), i(1)), Const{}, "does not fit"},
		{"+ under", op(OpAdd, I, i(lo), i(-1)), Const{}, "does not fit"},
		{"- over", op(OpSub, I, i(0), i(lo)), Const{}, "does not fit"},
		{"- to the limit", op(OpSub, I, i(-1), i(lo)), intConst(hi), ""},
		{"- under", op(OpSub, I, i(lo), i(1)), Const{}, "does not fit"},
		{"* by 0", op(OpMul, I, i(lo), i(0)), intConst(0), ""},
		{"0 *", op(OpMul, I, i(0), i(lo)), intConst(0), ""},
		{"* to the limit", op(OpMul, I, i(lo/2), i(2)), intConst(lo), ""},
		{"* over", op(OpMul, I, i(1<<32), i(1<<31)), Const{}, "does not fit"},
		{"-1 * lo", op(OpMul, I, i(-1), i(lo)), Const{}, "does not fit"},
		{"lo * -1", op(OpMul, I, i(lo), i(-1)), Const{}, "does not fit"},
		{"neg", op(OpNeg, I, i(hi)), intConst(lo + 1), ""},
		{"neg over", op(OpNeg, I, i(lo)), Const{}, "does not fit"},
		{"abs", op(OpAbs, I, i(-4)), intConst(4), ""},
		{"abs over", op(OpAbs, I, i(lo)), Const{}, "does not fit"},
		{"abs real", op(OpAbs, R, r(-0.5)), realConst(0.5), ""},
		{"neg real", op(OpNeg, R, r(0.5)), realConst(-0.5), ""},
		{"% positive", op(OpMod, I, i(7), i(-3)), intConst(1), ""},
		{"% sign of the dividend", op(OpMod, I, i(-7), i(3)), intConst(-1), ""},
		{"% by 0", op(OpMod, I, i(1), i(0)), Const{}, "by zero"},
		{"lo % -1", op(OpMod, I, i(lo), i(-1)), intConst(0), ""},
		{"min", op(OpMin, I, i(2), i(-5)), intConst(-5), ""},
		{"max mixed", op(OpMax, R, i(2), r(1.5)), realConst(2), ""},
		{"+ mixed", op(OpAdd, R, i(2), r(0.5)), realConst(2.5), ""},
		{"* real over", op(OpMul, R, r(1e200), r(1e200)), Const{}, "finite"},
		{"- real", op(OpSub, R, r(1e308), r(1e308)), realConst(0), ""},

		{"/ of ints is real", op(OpDiv, R, i(7), i(2)), realConst(3.5), ""},
		{"lo / -1", op(OpDiv, R, i(lo), i(-1)), realConst(1 << 63), ""},
		{"0 / 0", op(OpDiv, R, i(0), i(0)), Const{}, "division by zero"},
		{"/ -0", op(OpDiv, R, r(1), r(math.Copysign(0, -1))), Const{}, "division by zero"},
		{"/ over", op(OpDiv, R, r(1e300), r(1e-300)), Const{}, "finite"},
		{"pow", op(OpPow, R, i(2), i(10)), realConst(1024), ""},
		{"pow(0,-1)", op(OpPow, R, i(0), i(-1)), Const{}, "finite"},
		{"pow(-1,1/2)", op(OpPow, R, i(-1), r(0.5)), Const{}, "finite"},
		{"log base 2", op(OpLog, R, i(8), i(2)), realConst(3), ""},
		{"log base 1", op(OpLog, R, i(8), i(1)), Const{}, "finite"},
		{"log 0", op(OpLog, R, i(0), i(2)), Const{}, "finite"},
		{"log of a negative", op(OpLog, R, i(-1), i(2)), Const{}, "finite"},

		{"floor", op(OpFloor, I, r(-1.5)), intConst(-2), ""},
		{"ceil", op(OpCeil, I, r(-1.5)), intConst(-1), ""},
		{"trc", op(OpTrc, I, r(-1.5)), intConst(-1), ""},
		{"floor of an int", op(OpFloor, I, i(hi)), intConst(hi), ""},
		{"floor 1e300", op(OpFloor, I, r(1e300)), Const{}, "does not fit"},
		{"ceil 2^63", op(OpCeil, I, r(1<<63)), Const{}, "does not fit"},
		{"trc -2^63", op(OpTrc, I, r(-1<<63)), intConst(lo), ""},
		{"sgn int", op(OpSgn, I, i(lo)), intConst(-1), ""},
		{"sgn real", op(OpSgn, I, r(1e-300)), intConst(1), ""},
		{"sgn 0", op(OpSgn, I, r(0)), intConst(0), ""},

		{"= mixed", op(OpEq, B, i(2), r(2)), yes, ""},
		{"= mixed as reals", op(OpEq, B, i(1<<53+1), r(1<<53)), yes, ""},
		{"= ints exactly", op(OpEq, B, i(1<<53+1), i(1<<53)), no, ""},
		{"= bool", op(OpEq, B, b(true), x(B, 2)), yes, ""},
		{"≠ bool", op(OpNe, B, b(true), x(B, 2)), no, ""},
		{"<", op(OpLt, B, i(2), i(2)), no, ""},
		{"≤", op(OpLe, B, i(2), i(2)), yes, ""},
		{">", op(OpGt, B, r(2.5), i(2)), yes, ""},
		{"≥", op(OpGe, B, i(lo), i(hi)), no, ""},
		{"¬", op(OpNot, B, b(false)), yes, ""},

		{"∧", op(OpAnd, B, b(true), b(false)), no, ""},
		{"∧ lazy", op(OpAnd, B, b(false), quotient()), no, ""},
		{"∧ needs both", op(OpAnd, B, b(true), quotient()), Const{}, "division by zero"},
		{"∧ is left to right", op(OpAnd, B, quotient(), b(false)), Const{}, "division by zero"},
		{"∨", op(OpOr, B, b(false), b(true)), yes, ""},
		{"∨ lazy", op(OpOr, B, b(true), quotient()), yes, ""},
		{"∨ needs both", op(OpOr, B, b(false), quotient()), Const{}, "division by zero"},
		{"⇒", op(OpImplies, B, b(true), b(false)), no, ""},
		{"⇒ lazy", op(OpImplies, B, b(false), quotient()), yes, ""},
		{"⇒ needs both", op(OpImplies, B, b(true), quotient()), Const{}, "division by zero"},
		{"ite lazy then", op(OpIte, B, b(true), b(false), quotient()), no, ""},
		{"ite lazy else", op(OpIte, B, b(false), quotient(), b(true)), yes, ""},
		{"ite condition", op(OpIte, I, quotient(), i(1), i(2)), Const{}, "division by zero"},
		{"ite widens", op(OpIte, R, b(true), i(1), r(2.5)), realConst(1), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.e.Eval(values)
			if c.fail == "" {
				if err != nil || got != c.want {
					t.Errorf("got %v, %v; want %v", got, err, c.want)
				}
				return
			}
			var bad *Error
			if !errors.As(err, &bad) || bad.Kind != BadInput || !strings.Contains(bad.Msg, c.fail) {
				t.Errorf("got %v, error %v; want a BadInput error with %q", got, err, c.fail)
			}
		})
	}
}

// Without values an expression over constants has a value, any other an error at the
// variable's place.
func TestEvalWithoutValues(t *testing.T) {
	one := &Expr{Op: OpConst, Kind: KindInt, Int: 1}
	if c, err := (&Expr{Op: OpAdd, Kind: KindInt, Args: []*Expr{one, one}}).Eval(nil); err != nil || c != intConst(2) {
		t.Errorf("1 + 1 = %v, %v", c, err)
	}
	v := &Expr{Op: OpVar, Kind: KindInt, Pos: Pos{Src: &Source{Name: "m", Text: "1 + a"}, Off: 4}}
	for _, e := range []*Expr{v, {Op: OpAdd, Kind: KindInt, Args: []*Expr{one, v}}, {Op: OpVar, Kind: KindReal, Var: NoVar}} {
		if c, err := e.Eval(nil); err == nil {
			t.Errorf("%v without values is %v", e, c)
		}
	}
	if _, err := v.Eval(nil); err == nil || !strings.HasPrefix(err.Error(), "m:1:5: ") {
		t.Errorf("error %v does not cite m:1:5", err)
	}
}

func TestEvalDoesNotAllocate(t *testing.T) {
	v := &Expr{Op: OpVar, Kind: KindReal, Var: 1}
	e := &Expr{Op: OpLt, Kind: KindBool, Args: []*Expr{
		{Op: OpAdd, Kind: KindReal, Args: []*Expr{v, {Op: OpVar, Kind: KindInt}}}, {Op: OpConst, Kind: KindReal, Real: 9.75}}}
	values := []Value{7, RealValue(2.5)}
	if n := testing.AllocsPerRun(100, func() {
		if c, err := e.Eval(values); err != nil || !c.Bool() {
			t.Fatal(c, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
