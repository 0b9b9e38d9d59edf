package algorithms

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fuzzsafe/jani"
)

// Typed expressions over the variables of a test model, by hand.

func lit(v any) *jani.Expr {
	e := &jani.Expr{Op: jani.OpConst}
	switch v := v.(type) {
	case bool:
		e.Kind = jani.KindBool
		if v {
			e.Int = 1
		}
	case int:
		e.Kind, e.Int = jani.KindInt, int64(v)
	case float64:
		e.Kind, e.Real = jani.KindReal, v
	}
	return e
}

func vref(m *jani.Model, i int) *jani.Expr {
	kind := jani.KindInt
	switch m.Vars[i].Kind {
	case jani.VarBool:
		kind = jani.KindBool
	case jani.VarReal:
		kind = jani.KindReal
	}
	return &jani.Expr{Op: jani.OpVar, Kind: kind, Var: jani.VarID(i)}
}

// node makes the typed node; arguments that are no expressions become literals.
func node(op jani.Op, args ...any) *jani.Expr {
	e := &jani.Expr{Op: op, Kind: jani.KindBool}
	for _, a := range args {
		x, ok := a.(*jani.Expr)
		if !ok {
			x = lit(a)
		}
		e.Args = append(e.Args, x)
	}
	switch {
	case op == jani.OpDiv || op == jani.OpPow || op == jani.OpLog:
		e.Kind = jani.KindReal
	case op == jani.OpFloor || op == jani.OpCeil || op == jani.OpTrc || op == jani.OpSgn:
		e.Kind = jani.KindInt
	case op >= jani.OpAdd && op <= jani.OpAbs:
		e.Kind = max(e.Args[0].Kind, e.Args[len(e.Args)-1].Kind)
	case op == jani.OpIte:
		e.Kind = max(e.Args[1].Kind, e.Args[2].Kind)
	}
	return e
}

func and(args ...*jani.Expr) *jani.Expr { return chain(jani.OpAnd, args) }

func chain(op jani.Op, args []*jani.Expr) *jani.Expr {
	e := args[0]
	for _, a := range args[1:] {
		e = node(op, e, a)
	}
	return e
}

func intVar(lo, hi int64) jani.Var { return jani.Var{Kind: jani.VarInt, Lower: lo, Upper: hi} }

func realVar(lo, hi float64) jani.Var {
	return jani.Var{Kind: jani.VarReal, RealLower: lo, RealUpper: hi}
}

// vars returns a model with the given variables, named a, b, …
func vars(list ...jani.Var) *jani.Model {
	for i := range list {
		list[i].Name = string(rune('a' + i))
	}
	return &jani.Model{Vars: list}
}

func sumOf(m *jani.Model) *jani.Expr {
	var terms []*jani.Expr
	for i := range m.Vars {
		terms = append(terms, vref(m, i))
	}
	return chain(jani.OpAdd, terms)
}

func starts(t *testing.T, m *jani.Model, cond *jani.Expr) *Starts {
	t.Helper()
	s, err := NewStarts(m, jani.StateSet{Cond: cond}, StartsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func checkCount(t *testing.T, s *Starts, want *big.Int) {
	t.Helper()
	if n, exact := s.Count(); !exact || n.Cmp(want) != 0 {
		t.Errorf("count %v (exact: %v), want %v", n, exact, want)
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// checkUniform draws 200 states for each of want, counts them and tests the hypothesis
// that all are equally likely at level 10⁻⁶ (normal approximation of the cube root of
// χ², Wilson and Hilferty 1931).
func checkUniform(t *testing.T, s *Starts, want [][]jani.Value, seed uint64) {
	t.Helper()
	rng := newRand(seed)
	seen := make(map[string]int)
	const each = 200
	for range each * len(want) {
		state, err := s.Draw(rng)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		seen[fmt.Sprint(state)]++
	}
	chi2, total := 0.0, 0
	for _, state := range want {
		n := seen[fmt.Sprint(state)]
		total += n
		chi2 += (float64(n) - each) * (float64(n) - each) / each
	}
	if total != each*len(want) {
		t.Fatalf("seed %d: %d draws outside the set", seed, each*len(want)-total)
	}
	if limit := chiSquareLimit(len(want) - 1); chi2 > limit {
		t.Errorf("seed %d: χ² = %.1f over %d states, limit %.1f", seed, chi2, len(want), limit)
	}
}

func chiSquareLimit(freedom int) float64 {
	k := float64(freedom)
	if freedom == 0 {
		return 0
	}
	return k * math.Pow(1-2/(9*k)+4.75*math.Sqrt(2/(9*k)), 3)
}

func all(t *testing.T, s *Starts) [][]jani.Value {
	t.Helper()
	var list [][]jani.Value
	for state, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, state)
	}
	return list
}

// The number of solutions of x1 + … + xn = s, 0 ≤ xi ≤ k, by inclusion and exclusion.
func boundedCompositions(n, k, s int64) *big.Int {
	total := new(big.Int)
	for j := int64(0); j <= n && j*(k+1) <= s; j++ {
		ways := new(big.Int).Mul(new(big.Int).Binomial(n, j), new(big.Int).Binomial(s-j*(k+1)+n-1, n-1))
		if j%2 == 1 {
			ways.Neg(ways)
		}
		total.Add(total, ways)
	}
	return total
}

func TestCountOfSums(t *testing.T) {
	for _, c := range []struct{ n, k, s int64 }{{1, 0, 0}, {2, 9, 9}, {11, 15, 15}, {11, 15, 82}, {3, 1000, 1500}, {40, 15, 300}} {
		m := vars(slices.Repeat([]jani.Var{intVar(0, c.k)}, int(c.n))...)
		s := starts(t, m, node(jani.OpEq, sumOf(m), int(c.s)))
		checkCount(t, s, boundedCompositions(c.n, c.k, c.s))
		if most := (c.s + 1) * c.n * (c.k + 1); int64(len(s.tree.arcs)) > most {
			t.Errorf("%v: %d edges, more than %d", c, len(s.tree.arcs), most)
		}
	}
	// Lower bounds other than 0, negative weights, the other relations.
	m := vars(intVar(-3, 5), intVar(2, 4), intVar(-7, -1))
	for op := jani.OpEq; op <= jani.OpGe; op++ {
		for bound := -20; bound <= 20; bound++ {
			cond := node(op, node(jani.OpSub, node(jani.OpMul, 2, vref(m, 0)), node(jani.OpAdd, vref(m, 1), node(jani.OpNeg, node(jani.OpMul, vref(m, 2), 3)))), bound)
			want := 0
			for a := -3; a <= 5; a++ {
				for b := 2; b <= 4; b++ {
					for c := -7; c <= -1; c++ {
						d := 2*a - (b - 3*c) - bound
						if op == jani.OpEq && d == 0 || op == jani.OpNe && d != 0 || op == jani.OpLt && d < 0 ||
							op == jani.OpLe && d <= 0 || op == jani.OpGt && d > 0 || op == jani.OpGe && d >= 0 {
							want++
						}
					}
				}
			}
			s, err := NewStarts(m, jani.StateSet{Cond: cond}, StartsOptions{})
			if want == 0 {
				if err == nil {
					t.Errorf("%v %d: no error for an empty set", op, bound)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			checkCount(t, s, big.NewInt(int64(want)))
		}
	}
}

// n variables 0..n−1 that all differ: n!
func TestCountOfPermutations(t *testing.T) {
	for n := 2; n <= 9; n++ {
		m := vars(slices.Repeat([]jani.Var{intVar(0, int64(n-1))}, n)...)
		var differ []*jani.Expr
		for i := range n {
			for j := range i {
				differ = append(differ, node(jani.OpNe, vref(m, i), vref(m, j)))
			}
		}
		s := starts(t, m, and(differ...))
		checkCount(t, s, new(big.Int).MulRange(1, int64(n)))
		if n == 4 {
			checkUniform(t, s, all(t, s), 4)
		}
	}
}

// Solutions of n queens: comparisons of sums with constants on both sides.
func TestCountOfQueens(t *testing.T) {
	for n, want := range map[int]int64{4: 2, 5: 10, 6: 4, 7: 40} {
		m := vars(slices.Repeat([]jani.Var{intVar(1, int64(n))}, n)...)
		var safe []*jani.Expr
		for i := range n {
			for j := range i {
				a, b := vref(m, i), vref(m, j)
				safe = append(safe, node(jani.OpNe, a, b), node(jani.OpNe, node(jani.OpAdd, a, i), node(jani.OpAdd, b, j)),
					node(jani.OpNe, node(jani.OpAdd, a, j), node(jani.OpAdd, b, i)))
			}
		}
		checkCount(t, starts(t, m, and(safe...)), big.NewInt(want))
	}
}

// Domains far too large for a list of values, and counts beyond 64 bits.
func TestBigDomains(t *testing.T) {
	const big32 = math.MaxInt32
	width := new(big.Int).Lsh(big.NewInt(1), 31)
	m := vars(slices.Repeat([]jani.Var{intVar(0, big32)}, 6)...)
	checkCount(t, starts(t, m, nil), new(big.Int).Exp(width, big.NewInt(6), nil))

	// a ≤ 1000 ∨ ¬(b = 5) ⇒ c > 7: intervals, not values.
	cond := node(jani.OpImplies, node(jani.OpOr, node(jani.OpLe, vref(m, 0), 1000), node(jani.OpNot, node(jani.OpEq, vref(m, 1), 5))), node(jani.OpGt, vref(m, 2), 7))
	s := starts(t, m, cond)
	if len(s.tree.arcs) > 8 {
		t.Errorf("%d edges", len(s.tree.arcs))
	}
	// Not satisfied: 8 values of c with a ≤ 1000 or b ≠ 5.
	bad := new(big.Int).Mul(width, width)
	bad.Sub(bad, new(big.Int).Sub(width, big.NewInt(1001)))
	bad.Mul(bad, big.NewInt(8))
	want := new(big.Int).Exp(width, big.NewInt(3), nil)
	want.Sub(want, bad).Mul(want, new(big.Int).Exp(width, big.NewInt(3), nil))
	checkCount(t, s, want)
	rng := newRand(1)
	for range 1000 {
		state, err := s.Draw(rng)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := cond.Eval(state); err != nil || !c.Bool() {
			t.Fatalf("drew %v: %v, %v", state, c, err)
		}
	}

	// a < b over 0..4000: one node for each a.
	m = vars(intVar(0, 4000), intVar(0, 4000))
	s = starts(t, m, node(jani.OpLt, vref(m, 0), vref(m, 1)))
	checkCount(t, s, big.NewInt(4000*4001/2))
	if len(s.tree.arcs) > 3*4001 {
		t.Errorf("%d edges", len(s.tree.arcs))
	}

	// Beyond 2⁵³ a comparison with a real rounds: 2⁵³+1 ≤ 2⁵³ holds.
	m = vars(intVar(1<<53-1, 1<<53+3), intVar(-2, 2))
	for _, x := range []*jani.Expr{vref(m, 0), node(jani.OpAdd, vref(m, 0), vref(m, 1))} {
		for op := jani.OpEq; op <= jani.OpGe; op++ {
			cond := node(op, x, float64(1<<53))
			want, _ := enumerate(m, lit(true), cond)
			if got := all(t, starts(t, m, cond)); !slices.EqualFunc(got, want, slices.Equal[[]jani.Value]) {
				t.Errorf("%v 2⁵³: %v, want %v", op, got, want)
			}
		}
	}

	// The far ends of 64 bits, where sums overflow but comparisons do not.
	m = vars(intVar(math.MinInt64+1, math.MaxInt64-1), intVar(-5, 5))
	s = starts(t, m, and(node(jani.OpGe, vref(m, 0), math.MaxInt64-3), node(jani.OpNe, vref(m, 1), 0)))
	checkCount(t, s, big.NewInt(3*10))
}

// What is too large for a diagram is drawn by rejection, uniformly too.
func TestLimitsLeaveToRejection(t *testing.T) {
	m := vars(intVar(0, 5000), intVar(0, 5000), intVar(0, 3))
	product := node(jani.OpGe, node(jani.OpMul, vref(m, 0), vref(m, 1)), 4000*4000)
	product.Pos = jani.Pos{Src: &jani.Source{Name: "start", Text: "a * b >= 16000000"}}
	cond := and(node(jani.OpEq, vref(m, 2), 2), product)
	s := starts(t, m, cond)
	if n, exact := s.Count(); exact || n.Cmp(big.NewInt(5001*5001)) != 0 {
		t.Errorf("count %v, exact: %v", n, exact)
	}
	rng := newRand(1)
	for range 100 {
		state, err := s.Draw(rng)
		if err != nil || state[0]*state[1] < 4000*4000 || state[2] != 2 {
			t.Fatalf("drew %v, %v", state, err)
		}
	}
	s, err := NewStarts(m, jani.StateSet{Cond: and(cond, node(jani.OpNe, vref(m, 0), vref(m, 1)))}, StartsOptions{MaxTries: 5})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err = s.Draw(rng); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "in 5 tries") || !strings.Contains(err.Error(), "start:1:1") {
		t.Errorf("the error %v does not name the tries and the place", err)
	}

	// Six parts with too many values leave the limit for the rest as it is.
	m = vars(intVar(0, 5000), intVar(0, 5000), intVar(0, 99), intVar(0, 99))
	conjuncts := []*jani.Expr{node(jani.OpLt, vref(m, 2), vref(m, 3))}
	for i := range 6 {
		conjuncts = append(conjuncts, node(jani.OpNe, node(jani.OpMul, vref(m, 0), vref(m, 1)), i+1))
	}
	s, err = NewStarts(m, jani.StateSet{Cond: and(conjuncts...)}, StartsOptions{MaxDiagram: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if n, exact := s.Count(); exact || n.Cmp(big.NewInt(5001*5001*99*100/2)) != 0 {
		t.Errorf("count %v, exact: %v", n, exact)
	}

	// A failure that only the enumeration meets.
	m = vars(intVar(0, 2), intVar(0, 2))
	s, err = NewStarts(m, jani.StateSet{Cond: node(jani.OpLt, node(jani.OpDiv, vref(m, 1), node(jani.OpSub, vref(m, 0), 2)), 5)}, StartsOptions{MaxTable: 8})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for state, err := range s.All() {
		if n++; (err != nil) != (n == 7) || err != nil && (state != nil || !strings.Contains(err.Error(), "a=2 b=0")) {
			t.Errorf("state %d: %v, error %v", n, state, err)
		}
	}
	for range s.All() {
		n--
		break
	}
	if n != 6 {
		t.Errorf("the enumerations ended after %d + 1 and not 7 + 1 states", n)
	}

	// The same set with every limit reached and with none.
	m = vars(intVar(0, 6), intVar(0, 6), intVar(0, 6))
	cond = and(node(jani.OpLt, vref(m, 0), vref(m, 1)), node(jani.OpEq, node(jani.OpMul, vref(m, 1), vref(m, 2)), 6))
	want := all(t, starts(t, m, cond))
	for _, opts := range []StartsOptions{{MaxTable: 1}, {MaxDiagram: 1}, {MaxTable: 48, MaxDiagram: 20}} {
		s, err := NewStarts(m, jani.StateSet{Cond: cond}, opts)
		if err != nil {
			t.Fatal(err)
		}
		if s.test == nil {
			t.Errorf("%+v does not limit anything", opts)
		}
		if got := all(t, s); !slices.EqualFunc(got, want, slices.Equal[[]jani.Value]) {
			t.Errorf("%+v: enumerated %v, want %v", opts, got, want)
		}
		checkUniform(t, s, want, 7)
	}
}

func TestLists(t *testing.T) {
	m := vars(intVar(0, 9), intVar(0, 9))
	list := [][]jani.Value{{3, 1}, {1, 2}, {3, 1}, {31, 0}, {3, 10}, {1, 2}}
	s, err := NewStarts(m, jani.StateSet{States: list}, StartsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]jani.Value{{3, 1}, {1, 2}, {31, 0}, {3, 10}}
	checkCount(t, s, big.NewInt(4))
	if got := all(t, s); !slices.EqualFunc(got, want, slices.Equal[[]jani.Value]) {
		t.Errorf("got %v, want %v", got, want)
	}
	checkUniform(t, s, want, 1)
	state, err := s.Draw(newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	state[0] = -1
	if got := all(t, s); !slices.EqualFunc(got, want, slices.Equal[[]jani.Value]) {
		t.Error("a drawn slice is not the caller's")
	}
	if _, err := NewStarts(m, jani.StateSet{States: [][]jani.Value{}}, StartsOptions{}); err == nil {
		t.Error("no error for an empty list")
	}
}

func TestUniform(t *testing.T) {
	// c is not mentioned, so it is drawn apart; d skips levels in the diagram.
	m := vars(intVar(0, 3), intVar(-1, 2), intVar(5, 7), jani.Var{Kind: jani.VarBool, Upper: 1})
	cond := node(jani.OpIte, vref(m, 3), node(jani.OpEq, vref(m, 0), 2), node(jani.OpLe, node(jani.OpAdd, vref(m, 0), vref(m, 1)), 1))
	s := starts(t, m, cond)
	want := all(t, s)
	if len(want) != 3*(4+6) {
		t.Fatalf("%d solutions, want 30", len(want))
	}
	checkUniform(t, s, want, 1)

	m = vars(slices.Repeat([]jani.Var{intVar(0, 4)}, 4)...)
	s = starts(t, m, node(jani.OpEq, sumOf(m), 8))
	checkUniform(t, s, all(t, s), 2)
}

// A number beyond 64 bits is drawn uniformly: its leading digits are.
func TestBelow(t *testing.T) {
	n, _ := new(big.Int).SetString("50000000000000000000000000", 10)
	digit := new(big.Int).Div(n, big.NewInt(50))
	rng := newRand(3)
	var count [50]float64
	const draws = 50000
	for range draws {
		x := below(rng, n)
		if x.Sign() < 0 || x.Cmp(n) >= 0 {
			t.Fatalf("drew %v below %v", x, n)
		}
		count[x.Div(x, digit).Int64()]++
	}
	chi2 := 0.0
	for _, c := range count {
		chi2 += (c - draws/50) * (c - draws/50) / (draws / 50)
	}
	if limit := chiSquareLimit(49); chi2 > limit {
		t.Errorf("χ² = %.1f, limit %.1f", chi2, limit)
	}
}

// Values so large that sums, differences and products of some do not fit into 64 bits.
func TestHugeValues(t *testing.T) {
	const seed = 11
	rng := newRand(seed)
	fit, overflow := 0, 0
	for round := range 500 {
		var list []jani.Var
		for range 2 {
			base := int64(rng.Uint64() >> (1 + rng.IntN(4)))
			if rng.IntN(2) == 0 {
				base = -base
			}
			base = min(base, math.MaxInt64-3)
			list = append(list, intVar(base, base+int64(rng.IntN(3))))
		}
		m := vars(list...)
		a, b := vref(m, 0), node(jani.OpMul, vref(m, 1), rng.IntN(19)-9)
		// The middle of the range, so that the comparison is no foregone conclusion.
		c := int(list[0].Lower) + int(list[1].Lower)*(int(b.Args[1].Int)) + 1
		cond := node([]jani.Op{jani.OpLe, jani.OpEq, jani.OpGe, jani.OpNe}[rng.IntN(4)], node([]jani.Op{jani.OpAdd, jani.OpSub}[rng.IntN(2)], a, b), c)
		want, fails := enumerate(m, cond, cond)
		s, err := NewStarts(m, jani.StateSet{Cond: cond}, StartsOptions{})
		if (err != nil) != (fails || len(want) == 0) {
			t.Fatalf("seed %d, round %d: error %v for %d solutions, evaluation fails: %v", seed, round, err, len(want), fails)
		}
		if err != nil {
			if fails {
				overflow++
			}
			continue
		}
		fit++
		if got := all(t, s); !slices.EqualFunc(got, want, slices.Equal[[]jani.Value]) {
			t.Fatalf("seed %d, round %d: enumerated %v, want %v", seed, round, got, want)
		}
	}
	for _, v := range []jani.Var{intVar(1<<61-1, 1<<61), intVar(1<<62-1, 1<<62)} {
		m := vars(v, v, v, v)
		if _, err := NewStarts(m, jani.StateSet{Cond: node(jani.OpNe, sumOf(m), 7)}, StartsOptions{}); err == nil || !strings.Contains(err.Error(), "64 bits") {
			t.Errorf("the sum of four numbers up to %d: error %v", v.Upper, err)
		}
	}
	if fit < 100 || overflow < 50 {
		t.Errorf("seed %d: the test is one-sided: %d fit, %d do not", seed, fit, overflow)
	}
}

func TestReproducible(t *testing.T) {
	m := vars(intVar(0, 100), realVar(0, 1), intVar(0, 100))
	s := starts(t, m, node(jani.OpLt, vref(m, 0), vref(m, 2)))
	draw := func(seed uint64) (list [][]jani.Value) {
		rng := newRand(seed)
		for range 20 {
			state, err := s.Draw(rng)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, state)
		}
		return list
	}
	if a, b := draw(5), draw(5); !slices.EqualFunc(a, b, slices.Equal[[]jani.Value]) {
		t.Errorf("equal seeds, different draws: %v, %v", a, b)
	}
	if a, b := draw(5), draw(6); slices.EqualFunc(a, b, slices.Equal[[]jani.Value]) {
		t.Error("different seeds, equal draws")
	}
}

func TestReals(t *testing.T) {
	// -0.05 ≤ a ≤ 0.05, b free in its type, c = 0, d > 1 pinned, e unbounded but boxed.
	m := vars(realVar(-7, 7), realVar(2, 4), intVar(0, 4000), realVar(math.Inf(-1), math.Inf(1)), intVar(math.MinInt64, math.MaxInt64))
	cond := and(node(jani.OpLe, -0.05, vref(m, 0)), node(jani.OpLt, vref(m, 0), 0.05), node(jani.OpEq, vref(m, 2), 0),
		node(jani.OpEq, 1.5, vref(m, 3)), node(jani.OpGt, vref(m, 4), 2.5), node(jani.OpGe, 5, vref(m, 4)))
	s := starts(t, m, cond)
	if n, exact := s.Count(); n != nil || exact {
		t.Errorf("count %v of a set with free reals", n)
	}
	for _, err := range s.All() {
		if err == nil || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("enumerated free reals: %v", err)
		}
	}
	rng := newRand(1)
	var cells [2][20]float64
	var ints [6]float64
	const draws = 20000
	for range draws {
		v, err := s.Draw(rng)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := cond.Eval(v); err != nil || !c.Bool() {
			t.Fatalf("drew %v: %v %v", v, c, err)
		}
		if m.Vars[3].Float(v[3]) != 1.5 || v[2] != 0 {
			t.Fatalf("drew %v: not pinned", v)
		}
		cells[0][int((m.Vars[0].Float(v[0])+0.05)*200)]++
		cells[1][int((m.Vars[1].Float(v[1])-2)*10)]++
		ints[v[4]]++
	}
	for _, counts := range [][]float64{cells[0][:], cells[1][:], ints[3:]} {
		chi2, each := 0.0, draws/float64(len(counts))
		for _, c := range counts {
			chi2 += (c - each) * (c - each) / each
		}
		if limit := chiSquareLimit(len(counts) - 1); chi2 > limit {
			t.Errorf("χ² = %.1f over %v, limit %.1f", chi2, counts, limit)
		}
	}

	// The share of a value is the measure of what belongs to it: 0 < a < n.
	m = vars(realVar(0, 100), intVar(0, 3))
	s = starts(t, m, and(node(jani.OpLe, vref(m, 0), 3), node(jani.OpLt, vref(m, 0), vref(m, 1))))
	var share [4]float64
	for range draws {
		v, err := s.Draw(rng)
		if err != nil {
			t.Fatal(err)
		}
		share[v[1]]++
	}
	chi2 := 0.0
	for n := 1.0; n <= 3; n++ {
		want := draws * n / 6
		chi2 += (share[int(n)] - want) * (share[int(n)] - want) / want
	}
	if limit := chiSquareLimit(2); share[0] != 0 || chi2 > limit {
		t.Errorf("shares %v: χ² = %.1f, limit %.1f", share, chi2, limit)
	}
}

// Pinned reals are values like others: counted, listed, −0 is 0.
func TestPinnedReals(t *testing.T) {
	m := vars(realVar(-1, 1), intVar(0, 9), realVar(0, 5))
	cond := and(node(jani.OpEq, vref(m, 0), math.Copysign(0, -1)), node(jani.OpGe, vref(m, 2), 2), node(jani.OpLe, vref(m, 2), 2.0),
		node(jani.OpGt, vref(m, 1), node(jani.OpAdd, vref(m, 0), node(jani.OpMul, vref(m, 2), 3.5))))
	s := starts(t, m, cond)
	checkCount(t, s, big.NewInt(2))
	want := [][]jani.Value{{0, 8, jani.RealValue(2)}, {0, 9, jani.RealValue(2)}}
	if got := all(t, s); !slices.EqualFunc(got, want, slices.Equal[[]jani.Value]) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The widest box does not overflow.
func TestWidestReals(t *testing.T) {
	m := vars(realVar(-math.MaxFloat64, math.MaxFloat64))
	s := starts(t, m, nil)
	rng := newRand(1)
	negative := 0
	for range 1000 {
		v, err := s.Draw(rng)
		f := m.Vars[0].Float(v[0])
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			t.Fatal(f, err)
		}
		if f < 0 {
			negative++
		}
	}
	if negative < 400 || negative > 600 {
		t.Errorf("%d of 1000 are negative", negative)
	}
}

func TestStartErrors(t *testing.T) {
	src := &jani.Source{Name: "start", Text: "    condition"}
	at := func(e *jani.Expr) *jani.Expr { e.Pos = jani.Pos{Src: src, Off: 4}; return e }
	m := vars(intVar(0, 3), realVar(0, math.Inf(1)), intVar(math.MinInt64, 7), realVar(0, 1))
	boxed := and(node(jani.OpLe, vref(m, 1), 5), node(jani.OpGe, vref(m, 2), 0))
	quotient := node(jani.OpGt, node(jani.OpDiv, 1, vref(m, 0)), 0.4)
	for _, c := range []struct {
		cond *jani.Expr
		fail []string
	}{
		{nil, []string{`"b" is unbounded above`}},
		{node(jani.OpLe, vref(m, 1), 5), []string{"start:1:5", `"c" is unbounded below`}},
		{node(jani.OpNe, vref(m, 1), 5), []string{`"b" is unbounded above`}},
		{and(boxed, node(jani.OpGt, vref(m, 0), 3)), []string{"start:1:5", "no state satisfies"}},
		{and(boxed, node(jani.OpGt, vref(m, 1), 5), node(jani.OpGe, vref(m, 1), 5)), []string{"no state satisfies"}},
		{and(boxed, node(jani.OpEq, node(jani.OpMod, vref(m, 0), 2), 3)), []string{"no state satisfies"}},
		{and(boxed, lit(false)), []string{"no state satisfies"}},
		{and(node(jani.OpEq, vref(m, 1), 1.0), node(jani.OpEq, vref(m, 3), 0.25), boxed, quotient), []string{"division by zero", "a=0 b=1 c=0 d=0.25"}},
	} {
		if c.cond != nil {
			at(c.cond)
		}
		_, err := NewStarts(m, jani.StateSet{Cond: c.cond}, StartsOptions{})
		for _, part := range c.fail {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("error %v lacks %q", err, part)
			}
		}
	}

	// With free reals the same failure is met by a draw; guarded, it is none.
	for _, cond := range []*jani.Expr{and(boxed, quotient), and(boxed, node(jani.OpNe, vref(m, 0), 0), quotient)} {
		s := starts(t, m, cond)
		rng := newRand(1)
		var err error
		for range 100 {
			var v []jani.Value
			if v, err = s.Draw(rng); err != nil {
				break
			}
			if v[0] != 1 && v[0] != 2 {
				t.Fatalf("drew %v", v)
			}
		}
		if guarded := len(split(cond, nil)) == 4; guarded != (err == nil) {
			t.Errorf("guarded: %v, error: %v", guarded, err)
		}
	}

	// Nothing can be found: on the boundary of a strict bound.
	s := starts(t, vars(realVar(0, 1)), node(jani.OpGt, node(jani.OpMul, vref(vars(realVar(0, 1)), 0), 1.0), 1))
	if _, err := s.Draw(newRand(1)); err == nil || !strings.Contains(err.Error(), "in 1000000 tries") {
		t.Errorf("error %v", err)
	}
	if _, err := NewStarts(vars(), jani.StateSet{}, StartsOptions{MaxTries: -1}); err == nil {
		t.Error("a negative option is accepted")
	}
	checkCount(t, starts(t, vars(), nil), big.NewInt(1))
}

// randomFormulas makes typed random conditions over a model.
type randomFormulas struct {
	m     *jani.Model
	rng   *rand.Rand
	reals bool // also mention real variables
}

func (g randomFormulas) pick(ops ...jani.Op) jani.Op { return ops[g.rng.IntN(len(ops))] }

func (g randomFormulas) variable(kinds ...jani.VarKind) *jani.Expr {
	for range 20 {
		if i := g.rng.IntN(len(g.m.Vars)); slices.Contains(kinds, g.m.Vars[i].Kind) {
			return vref(g.m, i)
		}
	}
	return nil
}

// number returns a term; partial operators occur now and then.
func (g randomFormulas) number(depth int) *jani.Expr {
	if depth == 0 || g.rng.IntN(4) == 0 {
		x := g.variable(jani.VarInt, jani.VarInt, jani.VarLocation)
		if g.reals && g.rng.IntN(2) == 0 {
			x = g.variable(jani.VarReal)
		}
		if x == nil || g.rng.IntN(3) == 0 {
			if g.rng.IntN(6) == 0 {
				return lit(float64(g.rng.IntN(13)-6) / 4)
			}
			return lit(g.rng.IntN(7) - 2)
		}
		return x
	}
	a, b := g.number(depth-1), g.number(depth-1)
	switch op := g.pick(jani.OpAdd, jani.OpAdd, jani.OpSub, jani.OpMul, jani.OpNeg, jani.OpMin, jani.OpAbs, jani.OpIte, jani.OpMod, jani.OpDiv, jani.OpFloor); op {
	case jani.OpNeg, jani.OpAbs, jani.OpFloor:
		return node(op, a)
	case jani.OpIte:
		return node(op, g.formula(depth-1), a, b)
	case jani.OpMod, jani.OpDiv:
		if g.rng.IntN(3) > 0 || a.Kind == jani.KindReal || b.Kind == jani.KindReal {
			return node(jani.OpSub, a, b)
		}
		return node(op, a, b)
	default:
		return node(op, a, b)
	}
}

func (g randomFormulas) formula(depth int) *jani.Expr {
	if depth == 0 || g.rng.IntN(4) == 0 {
		switch g.rng.IntN(8) {
		case 0:
			if x := g.variable(jani.VarBool); x != nil {
				return x
			}
			return lit(g.rng.IntN(2) == 0)
		case 1, 2:
			if x := g.variable(jani.VarInt, jani.VarLocation); x != nil {
				return node(g.pick(jani.OpEq, jani.OpNe, jani.OpLe, jani.OpGt), x, g.rng.IntN(5)-1)
			}
		}
		return node(g.pick(jani.OpEq, jani.OpNe, jani.OpLt, jani.OpLe, jani.OpGt, jani.OpGe), g.number(2), g.number(1))
	}
	a, b := g.formula(depth-1), g.formula(depth-1)
	switch op := g.pick(jani.OpAnd, jani.OpAnd, jani.OpOr, jani.OpOr, jani.OpImplies, jani.OpNot, jani.OpEq, jani.OpNe, jani.OpIte); op {
	case jani.OpNot:
		return node(op, a)
	case jani.OpIte:
		return node(op, a, b, g.formula(depth-1))
	default:
		return node(op, a, b)
	}
}

// Random conditions over small variables against plain enumeration with Eval.
func TestRandomConditions(t *testing.T) {
	const seed = 20240607
	rng := newRand(seed)
	failing, empty, drawn := 0, 0, 0
	for round := range 3000 {
		var list []jani.Var
		for range 1 + rng.IntN(4) {
			lo := int64(rng.IntN(6) - 3)
			switch rng.IntN(4) {
			case 0:
				list = append(list, jani.Var{Kind: jani.VarBool, Upper: 1})
			case 1:
				list = append(list, jani.Var{Kind: jani.VarLocation, Upper: int64(rng.IntN(3))})
			default:
				list = append(list, intVar(lo, lo+int64(rng.IntN(5))))
			}
		}
		m := vars(list...)
		g := randomFormulas{m: m, rng: rng}
		cond := g.formula(3)
		if rng.IntN(2) == 0 {
			cond = node(jani.OpAnd, cond, g.formula(2))
		}

		want, fails := enumerate(m, cond, cond)
		s, err := NewStarts(m, jani.StateSet{Cond: cond}, StartsOptions{})
		if (err != nil) != (fails || len(want) == 0) {
			t.Fatalf("seed %d, round %d: error %v for %d solutions, evaluation fails: %v", seed, round, err, len(want), fails)
		}
		if err != nil {
			if fails {
				failing++
			} else {
				empty++
			}
			continue
		}
		checkCount(t, s, big.NewInt(int64(len(want))))
		if got := all(t, s); !slices.EqualFunc(got, want, slices.Equal[[]jani.Value]) {
			t.Fatalf("seed %d, round %d: enumerated %v, want %v", seed, round, got, want)
		}
		for range 3 {
			state, err := s.Draw(rng)
			if err != nil || !slices.ContainsFunc(want, func(w []jani.Value) bool { return slices.Equal(w, state) }) {
				t.Fatalf("seed %d, round %d: drew %v, %v", seed, round, state, err)
			}
			drawn++
		}
		if round%50 == 0 && len(want) > 1 {
			checkUniform(t, s, want, uint64(round))
		}
	}
	if failing < 100 || empty < 100 || drawn < 3000 {
		t.Errorf("seed %d: the test is one-sided: %d failing, %d empty, %d draws", seed, failing, empty, drawn)
	}
}

// enumerate evaluates cond in every state inside the bounds that the conjuncts of box
// give, and returns the solutions in lexicographic order and whether an evaluation
// failed.
func enumerate(m *jani.Model, box, cond *jani.Expr) (list [][]jani.Value, fails bool) {
	var bounds []*jani.Expr
	for _, e := range split(box, nil) {
		if len(e.Args) == 2 && e.Op != jani.OpNe && e.Args[0].Kind != jani.KindBool {
			a, b := e.Args[0], e.Args[1]
			if _, err := a.Eval(nil); a.Op == jani.OpVar || err == nil {
				if _, err := b.Eval(nil); b.Op == jani.OpVar && a.Op != jani.OpVar || a.Op == jani.OpVar && err == nil {
					bounds = append(bounds, e)
				}
			}
		}
	}
	values := make([]jani.Value, len(m.Vars))
	var walk func(i int)
	walk = func(i int) {
		if i < len(values) {
			for v := m.Vars[i].Lower; v <= m.Vars[i].Upper; v++ {
				values[i] = jani.Value(v)
				walk(i + 1)
			}
			return
		}
		for _, e := range bounds {
			if c, err := e.Eval(values); err == nil && !c.Bool() {
				return
			}
		}
		c, err := cond.Eval(values)
		fails = fails || err != nil
		if err == nil && c.Bool() {
			list = append(list, slices.Clone(values))
		}
	}
	walk(0)
	return list, fails
}

// A range check of an array index guards the access, as the lazy ∧ says.
func TestArrayElements(t *testing.T) {
	m := vars(intVar(-1, 4), intVar(0, 2), intVar(0, 2), intVar(0, 2))
	elem := &jani.Expr{Op: jani.OpElem, Kind: jani.KindInt, Var: 1, Len: 3, Args: []*jani.Expr{vref(m, 0)}}
	two := node(jani.OpEq, elem, 2)
	inside := and(node(jani.OpLe, 0, node(jani.OpMul, vref(m, 0), 1)), node(jani.OpLt, node(jani.OpMul, vref(m, 0), 1), 3))
	checkCount(t, starts(t, m, and(inside, two)), big.NewInt(3*9))
	if _, err := NewStarts(m, jani.StateSet{Cond: and(two, inside)}, StartsOptions{}); err == nil || !strings.Contains(err.Error(), "a=-1") {
		t.Errorf("error %v for an index out of range", err)
	}
}

func BenchmarkDraw(b *testing.B) {
	m := vars(slices.Repeat([]jani.Var{intVar(0, 15)}, 11)...)
	s, err := NewStarts(m, jani.StateSet{Cond: node(jani.OpEq, sumOf(m), 15)}, StartsOptions{})
	if err != nil {
		b.Fatal(err)
	}
	rng := newRand(1)
	for b.Loop() {
		if _, err := s.Draw(rng); err != nil {
			b.Fatal(err)
		}
	}
}
