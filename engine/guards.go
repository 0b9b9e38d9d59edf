package engine

import (
	"math"
	"slices"

	"github.com/bits-and-blooms/bitset"

	"fuzzsafe/jani"
)

// Guards of rows (see generator.go) are split into conjuncts. A conjunct over one
// variable is decided at compile time for all values of that variable; the results are
// kept as one set of rows per value, or per interval between the breakpoints of the
// conjuncts for variables with many values:
//
//	value of x │ rows not falsified by it
//	───────────┼─────────────────────────
//	    0      │ 1101 0111 …
//	    1      │ 1011 0110 …
//
// The candidates in a state are the intersection of one set per variable. The other
// conjuncts stay with their row and are evaluated for candidates only.
//
// A conjunction is evaluated from left to right and may rely on it (x ≠ 0 ∧ 1/x > 2).
// Therefore a conjunct whose evaluation fails for some value, and everything to the
// right of a conjunct that may fail, stays with the row in its order.

const (
	// maxTableBytes bounds the sets of one variable that has one set per value; beyond
	// it the variable needs conjuncts that compare it with constants.
	maxTableBytes = 1 << 20
	// maxTableValues bounds the values that are tried at compile time.
	maxTableValues = 1 << 13
)

// guardTable holds the sets of one variable.
type guardTable struct {
	field field
	words int
	sets  []uint64 // words per set, back to back
	// breaks, if not nil, are the breakpoints of a variable with many values: set 2i
	// is for the values below breaks[i] and above breaks[i−1], set 2i+1 for breaks[i].
	breaks []breakpoint
	real   bool
}

// breakpoint is a constant that the variable is compared with.
type breakpoint struct {
	int  int64
	real float64
}

// cell returns the number of the set for the variable's value in w, of a table with
// breakpoints.
func (t *guardTable) cell(w []uint64) int {
	if t.real {
		v := math.Float64frombits(w[t.field.word])
		return t.interval(func(b breakpoint) bool { return b.real < v }, func(b breakpoint) bool { return b.real == v })
	}
	v := t.field.get(w)
	return t.interval(func(b breakpoint) bool { return b.int < v }, func(b breakpoint) bool { return b.int == v })
}

func (t *guardTable) interval(below, equal func(b breakpoint) bool) int {
	lo, hi := 0, len(t.breaks)
	for lo < hi {
		if m := (lo + hi) / 2; below(t.breaks[m]) {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(t.breaks) && equal(t.breaks[lo]) {
		return 2*lo + 1
	}
	return 2 * lo
}

// guardBuilder collects the conjuncts of all rows.
type guardBuilder struct {
	compiler *exprCompiler
	rows     int
	single   map[jani.VarID][]singleConjunct
}

// singleConjunct is a conjunct over one variable that belongs to some row.
type singleConjunct struct {
	row int
	e   *jani.Expr
}

// add splits the guard parts of a row and returns the conjuncts that stay with it.
func (b *guardBuilder) add(row int, guards []*jani.Expr) (rest []*jani.Expr) {
	var conjuncts []*jani.Expr
	for _, g := range guards {
		conjuncts = appendConjuncts(conjuncts, g)
	}
	failed := false // a conjunct that may fail stands to the left
	for _, e := range conjuncts {
		if !failed {
			if x := onlyVariable(e); x != jani.NoVar && b.tabled(x, e) {
				b.single[x] = append(b.single[x], singleConjunct{row, e})
				continue
			}
		}
		rest = append(rest, e)
		failed = failed || b.compiler.mayFail(e)
	}
	return rest
}

// appendConjuncts flattens ∧ from left to right.
func appendConjuncts(list []*jani.Expr, e *jani.Expr) []*jani.Expr {
	if e.Op == jani.OpAnd {
		return appendConjuncts(appendConjuncts(list, e.Args[0]), e.Args[1])
	}
	return append(list, e)
}

// onlyVariable returns the variable of an expression over exactly one, else NoVar.
func onlyVariable(e *jani.Expr) jani.VarID {
	found := jani.NoVar
	ok := true
	var walk func(e *jani.Expr)
	walk = func(e *jani.Expr) {
		switch {
		case e.Op == jani.OpElem || e.Op == jani.OpVar && found != jani.NoVar && found != e.Var:
			ok = false
		case e.Op == jani.OpVar:
			found = e.Var
		}
		for _, a := range e.Args {
			walk(a)
		}
	}
	if walk(e); !ok {
		return jani.NoVar
	}
	return found
}

// values returns how many values x has if they are few enough to try each.
func (b *guardBuilder) values(x jani.VarID) (int, bool) {
	v := &b.compiler.model.Vars[x]
	if !v.Finite() || uint64(v.Upper-v.Lower) >= maxTableValues {
		return 0, false
	}
	n := int(v.Upper-v.Lower) + 1
	return n, n*((b.rows+63)/64)*8 <= maxTableBytes
}

// tabled reports whether the conjunct e over x can be decided at compile time.
func (b *guardBuilder) tabled(x jani.VarID, e *jani.Expr) bool {
	n, few := b.values(x)
	if !few {
		_, ok := comparedConstant(e)
		return ok
	}
	if !b.compiler.mayFail(e) {
		return true
	}
	values := make([]jani.Value, x+1)
	for i := range n {
		values[x] = jani.Value(b.compiler.model.Vars[x].Lower + int64(i))
		if _, err := e.Eval(values); err != nil {
			return false
		}
	}
	return true
}

// comparedConstant returns c of a conjunct x ⋈ c or c ⋈ x. Comparisons of an int
// variable with a real constant are left out: they are not exact beyond 2⁵³.
func comparedConstant(e *jani.Expr) (breakpoint, bool) {
	switch e.Op {
	case jani.OpEq, jani.OpNe, jani.OpLt, jani.OpLe, jani.OpGt, jani.OpGe:
	default:
		return breakpoint{}, false
	}
	for i, c := range e.Args {
		if x := e.Args[1-i]; c.Op == jani.OpConst && x.Op == jani.OpVar {
			switch {
			case x.Kind == jani.KindReal && c.Kind == jani.KindInt:
				return breakpoint{real: float64(c.Int)}, true
			case x.Kind == jani.KindReal:
				return breakpoint{real: c.Real}, true
			case x.Kind == jani.KindInt && c.Kind == jani.KindInt:
				return breakpoint{int: c.Int}, true
			}
		}
	}
	return breakpoint{}, false
}

// tables builds the sets of all variables that have conjuncts. Time is values times
// conjuncts per variable.
func (b *guardBuilder) tables() ([]guardTable, error) {
	var list []guardTable
	for x := range b.compiler.model.Vars {
		if conjuncts := b.single[jani.VarID(x)]; len(conjuncts) > 0 {
			t, err := b.table(jani.VarID(x), conjuncts)
			if err != nil {
				return nil, err
			}
			list = append(list, t)
		}
	}
	return list, nil
}

func (b *guardBuilder) table(x jani.VarID, conjuncts []singleConjunct) (guardTable, error) {
	v := &b.compiler.model.Vars[x]
	t := guardTable{field: b.compiler.layout.fields[x], words: (b.rows + 63) / 64, real: v.Kind == jani.VarReal}
	var samples []jani.Value // a value for each set
	if n, few := b.values(x); few {
		for i := range n {
			samples = append(samples, jani.Value(v.Lower+int64(i)))
		}
	} else {
		for _, c := range conjuncts {
			p, _ := comparedConstant(c.e)
			t.breaks = append(t.breaks, p)
		}
		slices.SortFunc(t.breaks, func(a, b breakpoint) int {
			if a.int != b.int {
				return cmpInt(a.int < b.int)
			}
			return cmpInt(a.real < b.real) * btoi(a.real != b.real)
		})
		t.breaks = slices.Compact(t.breaks)
		samples = t.samples()
	}
	values := make([]jani.Value, x+1)
	for _, s := range samples {
		set := bitset.New(uint(b.rows)).Complement()
		values[x] = s
		for _, c := range conjuncts {
			holds, err := c.e.Eval(values)
			if err != nil {
				return t, err
			}
			if !holds.Bool() {
				set.Clear(uint(c.row))
			}
		}
		t.sets = append(t.sets, set.Words()...)
	}
	return t, nil
}

func cmpInt(less bool) int {
	if less {
		return -1
	}
	return 1
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// samples returns one value inside each interval and each breakpoint. Between two
// neighbouring numbers there is none: the set of that interval is never looked up,
// and any value will do.
func (t *guardTable) samples() []jani.Value {
	var list []jani.Value
	for i := range len(t.breaks) + 1 {
		if t.real {
			v := math.Inf(-1)
			if i > 0 {
				v = math.Nextafter(t.breaks[i-1].real, math.Inf(1))
			}
			list = append(list, jani.RealValue(v))
			if i < len(t.breaks) {
				list = append(list, jani.RealValue(t.breaks[i].real))
			}
			continue
		}
		v := int64(math.MinInt64)
		if i > 0 && t.breaks[i-1].int < math.MaxInt64 {
			v = t.breaks[i-1].int + 1
		}
		list = append(list, jani.Value(v))
		if i < len(t.breaks) {
			list = append(list, jani.Value(t.breaks[i].int))
		}
	}
	return list
}
