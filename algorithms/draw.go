package algorithms

// This file draws initial states, exactly uniformly, from a list or from the solutions
// of a start condition.
//
// A condition is split into its conjuncts. Those over variables with finitely many
// values are compiled into a decision diagram with counts of solutions (diagram.go); a
// uniform number below the total is turned into the solution of that lexicographic
// rank on one way down (Knuth, TAOCP 4A, 7.1.4). What remains (conjuncts over reals and
// those beyond a limit) is left to rejection: a candidate is drawn from the diagram
// and from the bounding box of the reals, and accepted if the whole condition holds.
// That too is exactly uniform for integers; for reals it is as uniform as 53 random
// bits per variable are.
//
// Deviation from the plain reading of a condition: bounds x ≤ c and the like among its
// conjuncts cut the domain of x beforehand, so no other conjunct is evaluated, and
// none can fail, outside them, wherever the bound stands.
//
// Preparing costs as much as building the diagram. A candidate takes time linear in the
// number of variables and the edges passed; the number of candidates is limited, and
// the more of the box satisfies the condition the fewer are expected. Memory is that of
// the diagram; a draw keeps nothing.

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"fuzzsafe/jani"
)

// StartsOptions limits the work on a set of initial states. Negative values and those
// above 2³¹−1 are errors.
type StartsOptions struct {
	// MaxTries is how many candidates one Draw rejects before it gives up. 0 means
	// 1,000,000.
	MaxTries int
	// MaxTable is how many combinations of values are evaluated for one comparison
	// that is not linear; a conjunct that needs more is left to rejection. 0 means
	// 1,000,000.
	MaxTable int
	// MaxDiagram limits the edges and memo entries of the decision diagram while it is
	// built, about 80 bytes each; conjuncts that need more are left to rejection. 0
	// means 4,000,000.
	MaxDiagram int
}

func (o *StartsOptions) setDefaults() error {
	for _, f := range []struct {
		name  string
		value *int
		def   int
	}{{"MaxTries", &o.MaxTries, 1e6}, {"MaxTable", &o.MaxTable, 1e6}, {"MaxDiagram", &o.MaxDiagram, 4e6}} {
		if *f.value < 0 || *f.value > math.MaxInt32 {
			return fmt.Errorf("option %s is %d: it must be from 0 to %d", f.name, *f.value, math.MaxInt32)
		}
		if *f.value == 0 {
			*f.value = f.def
		}
	}
	return nil
}

// Starts is a set of initial states to draw from. It does not change: any number of
// goroutines may use it, each with its own generator.
type Starts struct {
	model  *jani.Model
	opts   StartsOptions
	listed [][]jani.Value
	// Without a list: every state has a value in the domain of each variable and is a
	// path of tree; it must also satisfy test, unless that is nil.
	domains []domain
	tree    solutions
	test    *jani.Expr
	// skipped says why a conjunct over finite domains is left to rejection, or is nil.
	skipped *jani.Error
}

// domain holds the values that one variable may have: those from lo to hi or, if open,
// the reals from realLo to realHi. A real with one possible value is not open.
type domain struct {
	lo, hi         int64
	open           bool
	realLo, realHi float64
}

// size returns the number of values of a domain that is not open. It is below 2⁶⁴
// because an unbounded integer has no domain.
func (d domain) size() uint64 { return uint64(d.hi) - uint64(d.lo) + 1 }

// NewStarts prepares drawing from set. For a list it removes duplicates. For a
// condition, time and memory are those of the decision diagram: linear in its edges
// for one linear constraint, in the worst case the product of the sizes for a
// combination, and limited by opts. It returns a *jani.Error of kind BadInput if the
// set is surely empty, if the condition leaves a side of an unbounded variable open,
// or if it cannot be evaluated in some state.
func NewStarts(m *jani.Model, set jani.StateSet, opts StartsOptions) (*Starts, error) {
	if err := opts.setDefaults(); err != nil {
		return nil, err
	}
	s := &Starts{model: m, opts: opts}
	if set.States != nil {
		s.listed = distinct(set.States)
		if len(s.listed) == 0 {
			return nil, &jani.Error{Kind: jani.BadInput, Msg: "the list of initial states is empty"}
		}
		return s, nil
	}
	conjuncts := split(set.Cond, nil)
	if err := s.bound(set.Cond, conjuncts); err != nil {
		return nil, err
	}
	if err := s.compile(set.Cond, conjuncts); err != nil {
		return nil, err
	}
	return s, nil
}

// distinct returns the states without repetitions, in order of first occurrence.
func distinct(states [][]jani.Value) [][]jani.Value {
	seen := make(map[string]bool, len(states))
	var list [][]jani.Value
	var key []byte
	for _, state := range states {
		key = key[:0]
		for _, v := range state {
			key = fmt.Appendf(key, "%x,", v)
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			list = append(list, state)
		}
	}
	return list
}

// split appends the conjuncts of e, none if e is nil, from left to right.
func split(e *jani.Expr, list []*jani.Expr) []*jani.Expr {
	switch {
	case e == nil:
		return list
	case e.Op == jani.OpAnd:
		return split(e.Args[1], split(e.Args[0], list))
	}
	return append(list, e)
}

func noSolution(cond *jani.Expr) error {
	e := &jani.Error{Kind: jani.BadInput, Msg: "no state satisfies the start condition"}
	if cond != nil {
		e.Pos = cond.Pos
	}
	return e
}

// bound sets the domains: the bounds of the types, cut by the conjuncts that compare a
// variable with a constant.
func (s *Starts) bound(cond *jani.Expr, conjuncts []*jani.Expr) error {
	s.domains = make([]domain, len(s.model.Vars))
	for i, x := range s.model.Vars {
		s.domains[i] = domain{lo: x.Lower, hi: x.Upper}
		if x.Kind == jani.VarReal {
			s.domains[i] = domain{open: true, realLo: x.RealLower, realHi: x.RealUpper}
		}
	}
	for _, e := range conjuncts {
		if len(e.Args) == 2 && e.Args[0].Kind != jani.KindBool {
			s.cut(e.Args[0], e.Op, e.Args[1])
			s.cut(e.Args[1], mirrored(e.Op), e.Args[0])
		}
	}
	for i := range s.domains {
		d := &s.domains[i]
		x := &s.model.Vars[i]
		if d.lo > d.hi || d.open && d.realLo > d.realHi {
			return noSolution(cond)
		}
		below := d.lo == math.MinInt64 || d.open && math.IsInf(d.realLo, -1)
		if below || d.hi == math.MaxInt64 || d.open && math.IsInf(d.realHi, 1) {
			side := "above"
			if below {
				side = "below"
			}
			e := &jani.Error{Kind: jani.BadInput, Pos: x.Pos,
				Msg:  fmt.Sprintf("variable %q is unbounded %s: its initial values cannot be drawn", x.Name, side),
				Hint: "give it an initial value or a bounded type, or bound it by a constant in the start condition"}
			if cond != nil {
				e.Pos = cond.Pos
			}
			return e
		}
		if d.open && d.realLo == d.realHi {
			v := int64(jani.RealValue(d.realLo))
			*d = domain{lo: v, hi: v}
		}
	}
	return nil
}

// mirrored returns the comparison that holds for (b, a) iff op holds for (a, b).
func mirrored(op jani.Op) jani.Op {
	switch op {
	case jani.OpLt:
		return jani.OpGt
	case jani.OpLe:
		return jani.OpGe
	case jani.OpGt:
		return jani.OpLt
	case jani.OpGe:
		return jani.OpLe
	}
	return op
}

// cut intersects the domain of variable x with the solutions of x op e, if e is a
// constant. It may keep more than those.
func (s *Starts) cut(x *jani.Expr, op jani.Op, e *jani.Expr) {
	if x.Op != jani.OpVar {
		return
	}
	c, err := e.Eval(nil)
	if err != nil {
		return
	}
	upper := op == jani.OpLt || op == jani.OpLe || op == jani.OpEq
	lower := op == jani.OpGt || op == jani.OpGe || op == jani.OpEq
	d := &s.domains[x.Var]
	if d.open {
		if upper {
			d.realHi = min(d.realHi, c.Float())
		}
		if lower {
			d.realLo = max(d.realLo, c.Float())
		}
		return
	}
	floor, ceil := c.Int, c.Int
	if c.Kind == jani.KindReal {
		if math.Abs(c.Real) >= maxExactInt { // x is rounded for the comparison
			return
		}
		floor, ceil = int64(math.Floor(c.Real)), int64(math.Ceil(c.Real))
	}
	// At the ends of 64 bits ±1 wraps round to a bound that cuts nothing.
	switch {
	case op == jani.OpLt:
		d.hi = min(d.hi, ceil-1)
	case op == jani.OpGt:
		d.lo = max(d.lo, floor+1)
	default:
		if upper {
			d.hi = min(d.hi, floor)
		}
		if lower {
			d.lo = max(d.lo, ceil)
		}
	}
}

// maxExactInt bounds the integers below which a comparison with a real is exact.
const maxExactInt = 1 << 53

// compile fills tree and test. What does not fit is left out of the next attempt. From
// the third time on that the diagram was too large the limit is halved, so that these
// attempts together cost at most four times the limit.
func (s *Starts) compile(cond *jani.Expr, conjuncts []*jani.Expr) error {
	finite := slices.DeleteFunc(slices.Clone(conjuncts), func(e *jani.Expr) bool {
		return slices.ContainsFunc(support(e), func(x jani.VarID) bool { return s.domains[x].open })
	})
	opts, exhausted := s.opts, 0
	for {
		d := newDiagram(s.domains, opts)
		root, last := d.conjoin(finite)
		accepted := []nodeID{always}
		if len(finite) < len(conjuncts) {
			// Whether a candidate can be evaluated may depend on the other conjuncts.
			s.test = cond
			accepted = append(accepted, failed)
		} else if bad := d.solutions(root, failed); bad.root != nowhere {
			values := s.first(bad)
			_, err := cond.Eval(values)
			return s.inState(err, values)
		}
		s.tree = d.solutions(root, accepted...)
		if d.err == nil {
			break
		}
		if d.left < 0 {
			if exhausted++; exhausted > 2 {
				opts.MaxDiagram /= 2
			}
		}
		s.skipped = d.err
		finite = slices.DeleteFunc(finite, func(e *jani.Expr) bool { return slices.Contains(last, e) })
	}
	if s.tree.root == nowhere {
		return noSolution(cond)
	}
	return nil
}

// support returns the variables that e may read, ascending.
func support(e *jani.Expr) []jani.VarID {
	var list []jani.VarID
	var walk func(e *jani.Expr)
	walk = func(e *jani.Expr) {
		switch e.Op {
		case jani.OpVar:
			list = append(list, e.Var)
		case jani.OpElem:
			for i := range e.Len {
				list = append(list, e.Var+jani.VarID(i))
			}
		}
		for _, a := range e.Args {
			walk(a)
		}
	}
	walk(e)
	slices.Sort(list)
	return slices.Compact(list)
}

// inState returns err, a failed evaluation, with the state where it failed.
func (s *Starts) inState(err error, values []jani.Value) error {
	var e *jani.Error
	if !errors.As(err, &e) {
		return err
	}
	located := *e
	located.Msg += " in the start condition for " + s.model.Describe(values)
	return &located
}

// Draw returns one of the states, each with equal probability: it depends only on the
// state of rng. The slice is the caller's. Time is linear in the number of variables
// and the edges passed, times the number of tries. It returns a *jani.Error if
// opts.MaxTries candidates were rejected or the condition cannot be evaluated for one.
func (s *Starts) Draw(rng *rand.Rand) ([]jani.Value, error) {
	if s.listed != nil {
		return slices.Clone(s.listed[rng.IntN(len(s.listed))]), nil
	}
	values := make([]jani.Value, len(s.domains))
	for range s.opts.MaxTries {
		for i, d := range s.domains {
			switch {
			case d.open:
				u := rng.Float64()
				values[i] = jani.RealValue(min(max(d.realLo*(1-u)+d.realHi*u, d.realLo), d.realHi))
			case !s.tree.has(jani.VarID(i)):
				values[i] = jani.Value(uint64(d.lo) + rng.Uint64N(d.size()))
			}
		}
		s.tree.unrank(below(rng, s.tree.count[s.tree.root]), values)
		if s.test == nil {
			return values, nil
		}
		c, err := s.test.Eval(values)
		if err != nil {
			return nil, s.inState(err, values)
		}
		if c.Bool() {
			return values, nil
		}
	}
	e := &jani.Error{Kind: jani.BadInput, Pos: s.test.Pos,
		Msg: fmt.Sprintf("found no state that satisfies the start condition in %d tries", s.opts.MaxTries)}
	if s.skipped != nil {
		e.Hint = s.skipped.Error()
	} else {
		e.Hint = "bound the reals more tightly, each by constants"
	}
	return nil, e
}

// below returns a uniform random number from 0 to n−1; n > 0.
func below(rng *rand.Rand, n *big.Int) *big.Int {
	words := (n.BitLen() + 63) / 64
	x, word := new(big.Int), new(big.Int)
	for {
		x.SetUint64(0)
		for range words {
			x.Lsh(x, 64).Or(x, word.SetUint64(rng.Uint64()))
		}
		if x.Rsh(x, uint(64*words-n.BitLen())); x.Cmp(n) < 0 {
			return x
		}
	}
}

// Count returns the number of distinct states. It is exact unless candidates are
// tested; then it counts the candidates. It is nil, and not exact, if a real is free.
func (s *Starts) Count() (n *big.Int, exact bool) {
	if s.listed != nil {
		return big.NewInt(int64(len(s.listed))), true
	}
	n = new(big.Int).Set(s.tree.count[s.tree.root])
	for i, d := range s.domains {
		if d.open {
			return nil, false
		}
		if !s.tree.has(jani.VarID(i)) {
			n.Mul(n, new(big.Int).SetUint64(d.size()))
		}
	}
	return n, s.test == nil
}

// All enumerates the states: those of a list in its order, else in lexicographic order
// of their values. Each slice is the caller's. An error ends the sequence: the set has a
// free real, or the condition cannot be evaluated for a candidate. Apart from rejected
// candidates the time per state is linear in the number of variables.
func (s *Starts) All() iter.Seq2[[]jani.Value, error] {
	return func(yield func([]jani.Value, error) bool) {
		if s.listed != nil {
			for _, state := range s.listed {
				if !yield(slices.Clone(state), nil) {
					return
				}
			}
			return
		}
		for i, d := range s.domains {
			if d.open {
				yield(nil, &jani.Error{Kind: jani.BadInput, Pos: s.model.Vars[i].Pos,
					Msg: fmt.Sprintf("the initial states cannot be listed: real variable %q is free", s.model.Vars[i].Name)})
				return
			}
		}
		values := make([]jani.Value, len(s.domains))
		s.walk(0, 0, s.tree.root, values, func() bool {
			if s.test != nil {
				if c, err := s.test.Eval(values); err != nil {
					yield(nil, s.inState(err, values))
					return false
				} else if !c.Bool() {
					return true
				}
			}
			return yield(slices.Clone(values), nil)
		})
	}
}

// walk visits every state whose variables from x on are a path of the tree from node n
// on layer k, and reports whether visit never returned false.
func (s *Starts) walk(x, k int, n int32, values []jani.Value, visit func() bool) bool {
	if x == len(values) {
		return visit()
	}
	d := s.domains[x]
	arcs, next := []arc{{d.lo, d.hi, n}}, k
	if k < len(s.tree.vars) && s.tree.vars[k] == jani.VarID(x) {
		arcs, next = s.tree.from(n), k+1
	}
	for _, a := range arcs {
		for v := a.lo; v <= a.hi; v++ {
			values[x] = jani.Value(v)
			if !s.walk(x+1, next, a.to, values, visit) {
				return false
			}
		}
	}
	return true
}

// first returns the lexicographically first state of tree, with the least value for
// open reals.
func (s *Starts) first(tree solutions) []jani.Value {
	values := make([]jani.Value, len(s.domains))
	for i, d := range s.domains {
		values[i] = jani.Value(d.lo)
		if d.open {
			values[i] = jani.RealValue(d.realLo)
		}
	}
	tree.unrank(new(big.Int), values)
	return values
}
