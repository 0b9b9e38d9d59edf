package algorithms

import (
	"math"
	"testing"

	"fuzzsafe/jani"
)

func distance(t testing.TB, m *jani.Model, e *jani.Expr) *Distance {
	t.Helper()
	d, err := NewDistance(m, e)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDistanceByHand(t *testing.T) {
	m := vars(intVar(-100, 100), intVar(-100, 100), jani.Var{Kind: jani.VarBool, Upper: 1},
		jani.Var{Kind: jani.VarLocation, Upper: 5}, realVar(-100, 100), intVar(math.MinInt64, math.MaxInt64), realVar(-math.MaxFloat64, math.MaxFloat64))
	a, b, c, l, r, big, huge := vref(m, 0), vref(m, 1), vref(m, 2), vref(m, 3), vref(m, 4), vref(m, 5), vref(m, 6)
	values := []jani.Value{5, -2, 1, 3, jani.RealValue(0.5), math.MaxInt64, jani.RealValue(-math.MaxFloat64)}
	sum := node(jani.OpAdd, node(jani.OpMul, 2, a), node(jani.OpMul, 3, b)) // 4
	quotient := node(jani.OpGt, node(jani.OpDiv, 1, 0), 2)
	le := func(x any, y any) *jani.Expr { return node(jani.OpLe, x, y) }
	for _, x := range []struct {
		name string
		e    *jani.Expr
		want float64
	}{
		{"2a+3b ≤ 1", le(sum, 1), 3},
		{"2a+3b ≤ 4", le(sum, 4), 0},
		{"2a+3b ≤ 1 ∧ a ≤ 3", node(jani.OpAnd, le(sum, 1), le(a, 3)), 5},
		{"2a+3b ≤ 1 ∨ a ≤ 3", node(jani.OpOr, le(sum, 1), le(a, 3)), 2},
		{"a ≤ 3 ∧ b ≤ 0", node(jani.OpAnd, le(a, 3), le(b, 0)), 2},
		{"a ≤ b", le(a, b), 7},
		{"a < 3 is a ≤ 2", node(jani.OpLt, a, 3), 3},
		{"a < 5 is a ≤ 4", node(jani.OpLt, a, 5), 1},
		{"a > 5 is a ≥ 6", node(jani.OpGt, a, 5), 1},
		{"a ≥ 9", node(jani.OpGe, a, 9), 4},
		{"9 ≤ a", le(9, a), 4},
		{"a = 9", node(jani.OpEq, a, 9), 4},
		{"a ≠ 5", node(jani.OpNe, a, 5), 1},
		{"a ≠ 6", node(jani.OpNe, a, 6), 0},
		{"¬(a ≤ 9)", node(jani.OpNot, le(a, 9)), 5},
		{"¬(a = 5 ∨ a ≤ 9)", node(jani.OpNot, node(jani.OpOr, node(jani.OpEq, a, 5), le(a, 9))), 6},
		{"¬(a ≠ 9)", node(jani.OpNot, node(jani.OpNe, a, 9)), 4},
		{"a ≤ 9 ⇒ b > 0", node(jani.OpImplies, le(a, 9), node(jani.OpGt, b, 0)), 3},
		{"c", c, 0},
		{"¬c", node(jani.OpNot, c), 1},
		{"false", lit(false), 1},
		{"c = false", node(jani.OpEq, c, false), 1},
		{"c ≠ (a ≤ 9)", node(jani.OpNe, c, le(a, 9)), 1},
		{"(b > 0) = (a ≤ 9)", node(jani.OpEq, node(jani.OpGt, b, 0), le(a, 9)), 3},
		{"ite(c, a ≤ 3, b > 9)", node(jani.OpIte, c, le(a, 3), node(jani.OpGt, b, 9)), 2},
		{"ite(c, a ≤ −9, b ≤ −3)", node(jani.OpIte, c, le(a, -9), le(b, -3)), 2},
		{"¬ite(c, a ≤ 9, b ≤ 9)", node(jani.OpNot, node(jani.OpIte, c, le(a, 9), le(b, 9))), 5},
		{"l = 0", node(jani.OpEq, l, 0), 1},
		{"0 = l", node(jani.OpEq, 0, l), 1},
		{"l = 3", node(jani.OpEq, l, 3), 0},
		{"l ≠ 3", node(jani.OpNe, l, 3), 1},
		{"r ≤ 0.25", le(r, 0.25), 0.25},
		{"r < 0.5", node(jani.OpLt, r, 0.5), 1e-9},
		{"r > 0.5", node(jani.OpGt, r, 0.5), 1e-9},
		{"r ≠ 0.5", node(jani.OpNe, r, 0.5), 1},
		{"r = 2", node(jani.OpEq, r, 2), 1.5},
		{"¬(r ≤ 2)", node(jani.OpNot, le(r, 2)), 1.5},
		{"a · b ≤ −20, not linear", le(node(jani.OpMul, a, b), -20), 10},
		{"a < r", node(jani.OpLt, a, r), 4.5},
		{"int difference beyond 64 bits", le(big, node(jani.OpSub, node(jani.OpNeg, big), 1)), 1 << 64},
		{"int difference below 53 bits", node(jani.OpEq, big, math.MaxInt64-1), 1},
		{"largest int", node(jani.OpGt, big, math.MaxInt64), 1},
		{"real difference beyond the largest", node(jani.OpGe, huge, math.MaxFloat64), math.MaxFloat64},
		{"sum beyond the largest", node(jani.OpAnd, node(jani.OpGe, huge, 0), node(jani.OpGe, huge, 1)), math.MaxFloat64},
		{"a ≤ 3 ∧ 1/0 > 2", node(jani.OpAnd, le(a, 3), quotient), 2},
		{"a ≤ 9 ∨ 1/0 > 2", node(jani.OpOr, le(a, 9), quotient), 0},
		{"¬(a ≤ 9 ∨ 1/0 > 2)", node(jani.OpNot, node(jani.OpOr, le(a, 9), quotient)), 5},
		{"a > 9 ⇒ 1/0 > 2", node(jani.OpImplies, node(jani.OpGt, a, 9), quotient), 0},
		{"ite(c, a ≤ 3, 1/0 > 2)", node(jani.OpIte, c, le(a, 3), quotient), 2},
		{"ite(¬c, 1/0 > 2, a ≤ 3)", node(jani.OpIte, node(jani.OpNot, c), quotient, le(a, 3)), 2},
	} {
		if got, err := distance(t, m, x.e).Of(values); err != nil || got != x.want {
			t.Errorf("%s: %v, %v; want %v", x.name, got, err, x.want)
		}
	}
	for _, e := range []*jani.Expr{
		quotient, node(jani.OpAnd, le(a, 9), quotient), node(jani.OpOr, le(a, 3), quotient), node(jani.OpAnd, quotient, le(a, 3)),
		node(jani.OpImplies, le(a, 9), quotient), node(jani.OpIte, c, quotient, c), node(jani.OpIte, node(jani.OpNot, c), c, quotient),
		node(jani.OpEq, c, quotient), node(jani.OpNe, node(jani.OpNot, c), quotient), node(jani.OpNot, quotient),
	} {
		if got, err := distance(t, m, e).Of(values); err == nil {
			t.Errorf("no error but %v for a condition that cannot be evaluated", got)
		}
	}
	if got, err := distance(t, m, nil).Of(values); err != nil || got != NoUnsafeDistance {
		t.Errorf("nothing unsafe: %v, %v", got, err)
	}
	if _, err := NewDistance(m, a); err == nil {
		t.Error("a number is accepted as a condition")
	}
}

// normalForm computes the distance of e, or of ¬e if not, by the rules for the negation
// normal form, one case after the other. No part of e may fail.
func normalForm(m *jani.Model, e *jani.Expr, not bool, values []jani.Value) float64 {
	h := func(i int, not bool) float64 { return normalForm(m, e.Args[i], not, values) }
	op := e.Op
	if op == jani.OpEq && not {
		op, not = jani.OpNe, false
	} else if op == jani.OpNe && not {
		op, not = jani.OpEq, false
	}
	switch op {
	case jani.OpNot:
		return h(0, !not)
	case jani.OpAnd:
		if not {
			return min(h(0, true), h(1, true))
		}
		return h(0, false) + h(1, false)
	case jani.OpOr:
		if not {
			return h(0, true) + h(1, true)
		}
		return min(h(0, false), h(1, false))
	case jani.OpImplies:
		if not {
			return h(0, false) + h(1, true)
		}
		return min(h(0, true), h(1, false))
	case jani.OpIte:
		return min(h(0, false)+h(1, not), h(0, true)+h(2, not))
	case jani.OpEq, jani.OpNe:
		if e.Args[0].Kind == jani.KindBool {
			return min(h(0, false)+h(1, op == jani.OpNe), h(0, true)+h(1, op == jani.OpEq))
		}
	case jani.OpLt, jani.OpLe, jani.OpGt, jani.OpGe:
		if not {
			op = map[jani.Op]jani.Op{jani.OpLt: jani.OpGe, jani.OpLe: jani.OpGt, jani.OpGt: jani.OpLe, jani.OpGe: jani.OpLt}[op]
		}
	default:
		if c, _ := e.Eval(values); c.Bool() != not {
			return 0
		}
		return 1
	}
	a, _ := e.Args[0].Eval(values)
	b, _ := e.Args[1].Eval(values)
	x, y := a.Float(), b.Float()
	if holds, _ := (&jani.Expr{Op: op, Kind: jani.KindBool, Args: e.Args}).Eval(values); holds.Bool() {
		return 0
	}
	ints := e.Args[0].Kind == jani.KindInt && e.Args[1].Kind == jani.KindInt
	location := func(e *jani.Expr) bool { return e.Op == jani.OpVar && m.Vars[e.Var].Kind == jani.VarLocation }
	switch {
	case op == jani.OpNe || op == jani.OpEq && (location(e.Args[0]) || location(e.Args[1])):
		return 1
	case ints && op == jani.OpLt:
		return math.Abs(x - (y - 1))
	case ints && op == jani.OpGt:
		return math.Abs(x - (y + 1))
	case x == y:
		return 1e-9
	}
	return math.Abs(x - y)
}

func TestDistanceOfRandomConditions(t *testing.T) {
	const seed = 77
	rng := newRand(seed)
	unsafe, failing, compared := 0, 0, 0
	for round := range 3000 {
		m := vars(intVar(-4, 4), intVar(-4, 4), jani.Var{Kind: jani.VarBool, Upper: 1}, jani.Var{Kind: jani.VarBool, Upper: 1},
			jani.Var{Kind: jani.VarLocation, Upper: 2}, realVar(-1, 1))
		g := randomFormulas{m: m, rng: rng, reals: round%2 == 0}
		cond := g.formula(4)
		d := distance(t, m, cond)
		for range 10 {
			values := []jani.Value{jani.Value(rng.IntN(9) - 4), jani.Value(rng.IntN(9) - 4), jani.Value(rng.IntN(2)), jani.Value(rng.IntN(2)),
				jani.Value(rng.IntN(3)), jani.RealValue(float64(rng.IntN(9)-4) / 4)}
			if rng.IntN(3) == 0 {
				values[5] = jani.RealValue(rng.Float64() - 0.5)
			}
			c, want := cond.Eval(values)
			h, err := d.Of(values)
			if (err != nil) != (want != nil) {
				t.Fatalf("seed %d, round %d, values %v: error %v, Eval says %v", seed, round, values, err, want)
			}
			if err != nil {
				failing++
				continue
			}
			if (h == 0) != c.Bool() || !(h >= 0) || math.IsInf(h, 0) {
				t.Fatalf("seed %d, round %d, values %v: h = %v, Eval says %v", seed, round, values, h, c.Bool())
			}
			if c.Bool() {
				unsafe++
			}
			if evaluable(cond, values) {
				compared++
				if want := normalForm(m, cond, false, values); h != want {
					t.Fatalf("seed %d, round %d, values %v: h = %v, by the normal form %v", seed, round, values, h, want)
				}
			}
		}
	}
	if unsafe < 3000 || failing < 300 || compared < 10000 {
		t.Errorf("seed %d: the test is one-sided: %d unsafe, %d failing, %d compared", seed, unsafe, failing, compared)
	}
}

// evaluable reports whether no part of e fails.
func evaluable(e *jani.Expr, values []jani.Value) bool {
	for _, a := range e.Args {
		if !evaluable(a, values) {
			return false
		}
	}
	_, err := e.Eval(values)
	return err == nil
}

// Of is called once per state and must not allocate.
func TestDistanceDoesNotAllocate(t *testing.T) {
	d, values := typicalDistance(t)
	if n := testing.AllocsPerRun(100, func() {
		if h, err := d.Of(values); err != nil || h != 16 {
			t.Fatal(h, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// typicalDistance is of the size of planning models: (Σ of 11 variables ≤ 3 ∧ a = 5) ∨ ¬(b ≤ 20).
func typicalDistance(t testing.TB) (*Distance, []jani.Value) {
	list := make([]jani.Var, 11)
	values := make([]jani.Value, 11)
	for i := range list {
		list[i], values[i] = intVar(0, 20), 2
	}
	m := vars(list...)
	values[0] = 5
	return distance(t, m, node(jani.OpOr, node(jani.OpAnd, node(jani.OpLe, sumOf(m), 9), node(jani.OpEq, vref(m, 0), 5)),
		node(jani.OpNot, node(jani.OpLe, vref(m, 1), 20)))), values
}

func BenchmarkDistance(b *testing.B) {
	d, values := typicalDistance(b)
	for b.Loop() {
		if _, err := d.Of(values); err != nil {
			b.Fatal(err)
		}
	}
}
