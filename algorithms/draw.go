package algorithms

// This file draws initial states, exactly uniformly, from a list or from the solutions
// of a start condition.
//
// A condition is split into its conjuncts. Those over variables with finitely many
// values are compiled into a multi-valued decision diagram (Srinivasan, Kam, Malik,
// Brayton, ICCAD 1990; apply after Bryant, IEEE ToC 1986), whose levels are the
// variables in model order and whose edges carry intervals of values, so that the
// size depends on the breakpoints and not on the width of a domain. Linear
// constraints come from a memoised recursion over (level, what is left of the bound)
// that stops where the bounds of the remaining terms decide (Eén and Sörensson, JSAT
// 2006; Abío and Stuckey, CP 2014). The number of solutions below every node is an
// exact integer; a uniform number below the total is turned into the solution of that
// lexicographic rank on one way down (Knuth, TAOCP 4A, 7.1.4).
//
// A third terminal beside true and false stands for "cannot be evaluated" (1/0). It
// passes through the connectives as their lazy, left-to-right reading says, so
// x ≠ 0 ∧ 1/x > 2 is fine and 1/x > 2 ∧ x ≠ 0 is an error that names a state.
//
// What remains (conjuncts over reals and those beyond a limit) is left to rejection:
// a candidate is drawn from the diagram and from the bounding box of the reals, and
// accepted if the whole condition holds. That too is exactly uniform for integers;
// for reals it is as uniform as 53 random bits per variable are.
//
// Deviation from the plain reading of a condition: bounds x ≤ c and the like among its
// conjuncts cut the domain of x beforehand, so no other conjunct is evaluated, and
// none can fail, outside them, wherever the bound stands.

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/bits"
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

// solutions is a set of tuples of values for vars, ascending, as a diagram in layers:
// the arcs of a node on layer k are for vars[k] and lead to layer k+1; every path from
// the root down to the only node of the last layer, which is node 0, is a tuple.
//
//	node n:  arcs[first[n]:first[n+1]] in ascending order, count[n] tuples
type solutions struct {
	vars  []jani.VarID
	arcs  []arc
	first []int32
	count []*big.Int
	root  int32 // nowhere if the set is empty
}

// arc leads to a node for the values from lo to hi.
type arc struct {
	lo, hi int64
	to     int32
}

const nowhere int32 = -1

func (t *solutions) from(n int32) []arc { return t.arcs[t.first[n]:t.first[n+1]] }

func (t *solutions) has(x jani.VarID) bool {
	_, ok := slices.BinarySearch(t.vars, x)
	return ok
}

// unrank stores the tuple of the given rank, from 0 in lexicographic order, into
// values. It destroys rank.
func (t *solutions) unrank(rank *big.Int, values []jani.Value) {
	n := t.root
	var width, total, offset big.Int
	for _, x := range t.vars {
		for _, a := range t.from(n) {
			below := t.count[a.to]
			all := below
			if a.lo < a.hi {
				all = total.Mul(width.SetUint64(uint64(a.hi)-uint64(a.lo)+1), below)
			}
			if rank.Cmp(all) >= 0 {
				rank.Sub(rank, all)
				continue
			}
			values[x] = jani.Value(a.lo)
			if a.lo < a.hi {
				offset.QuoRem(rank, below, rank)
				values[x] += jani.Value(offset.Uint64())
			}
			n = a.to
			break
		}
	}
}

// nodeID numbers the nodes of a diagram; the first three are its terminals.
type nodeID int32

const (
	never  nodeID = iota // the condition is false
	always               // the condition is true
	failed               // the condition cannot be evaluated
	terminals
)

// terminal returns the terminal for b.
func terminal(b bool) nodeID {
	if b {
		return always
	}
	return never
}

// run is an edge: it leads to a node for the values after those of the run before it,
// up to last.
type run struct {
	last int64
	to   nodeID
}

// connective is an operation on diagrams; the three-valued results are those of lazy
// evaluation from left to right.
type connective uint8

const (
	conjunction connective = iota
	disjunction
	equivalence
)

// diagram is a reduced, hash-consed decision diagram under construction. A node tests
// the variable level; its runs cover the domain, neighbours lead to different nodes.
//
//	node n:  runs[first[n]:first[n+1]]; next[n] is the next node with the same hash
type diagram struct {
	domains []domain
	level   []jani.VarID
	first   []int32
	next    []nodeID
	runs    []run
	unique  map[uint64]nodeID
	memo    map[applied]nodeID
	stack   []run // runs of the nodes under construction, innermost last

	values []jani.Value // for evaluating tables
	table  int          // most combinations of values for a table
	left   int          // how many edges and memo entries may still be made
	pos    jani.Pos     // what is being compiled
	// partial is set once an evaluation has failed.
	partial bool
	err     *jani.Error // the limit that was reached; results are meaningless then
}

type applied struct {
	op   connective
	a, b nodeID
}

const deepest jani.VarID = math.MaxInt32 // the level of terminals

func newDiagram(domains []domain, opts StartsOptions) *diagram {
	return &diagram{
		domains: domains,
		level:   slices.Repeat([]jani.VarID{deepest}, int(terminals)),
		first:   make([]int32, terminals+1),
		next:    make([]nodeID, terminals),
		unique:  make(map[uint64]nodeID),
		memo:    make(map[applied]nodeID),
		values:  make([]jani.Value, len(domains)),
		table:   opts.MaxTable,
		left:    opts.MaxDiagram,
	}
}

// spend accounts for n new edges or memo entries.
func (d *diagram) spend(n int) {
	if d.left -= n; d.left < 0 && d.err == nil {
		d.err = &jani.Error{Kind: jani.BadInput, Pos: d.pos,
			Msg: "this part of the start condition has a decision diagram beyond the limit and is left to rejection"}
	}
}

// push adds values up to last to the node under construction whose runs begin at
// start on the stack.
func (d *diagram) push(start int, last int64, to nodeID) {
	if n := len(d.stack); n > start && d.stack[n-1].to == to {
		d.stack[n-1].last = last
		return
	}
	d.stack = append(d.stack, run{last, to})
}

// pop ends the node under construction and returns it: an equal one if there is one.
func (d *diagram) pop(start int, level jani.VarID) nodeID {
	runs := d.stack[start:]
	d.stack = d.stack[:start]
	if d.err != nil {
		return never
	}
	if len(runs) == 1 {
		return runs[0].to
	}
	hash := uint64(level)
	for _, r := range runs {
		hi, lo := bits.Mul64(hash^uint64(r.last), 0x9e3779b97f4a7c15)
		hash = hi ^ lo + uint64(r.to)
	}
	for n := d.unique[hash]; n != never; n = d.next[n] {
		if d.level[n] == level && slices.Equal(d.of(n), runs) {
			return n
		}
	}
	n := nodeID(len(d.level))
	d.spend(len(runs))
	d.level = append(d.level, level)
	d.next = append(d.next, d.unique[hash])
	d.runs = append(d.runs, runs...)
	d.first = append(d.first, int32(len(d.runs)))
	d.unique[hash] = n
	return n
}

func (d *diagram) of(n nodeID) []run { return d.runs[d.first[n]:d.first[n+1]] }

// apply combines two diagrams.
func (d *diagram) apply(op connective, a, b nodeID) nodeID {
	switch op {
	case conjunction, disjunction:
		neutral := terminal(op == conjunction)
		if a == neutral {
			return b
		}
		if a < terminals || b == neutral || a == b {
			return a
		}
	case equivalence:
		switch {
		case a == failed, b == always:
			return a
		case a == always, b == failed:
			return b
		case a == never && b == never:
			return always
		}
	}
	if d.err != nil {
		return never
	}
	key := applied{op, a, b}
	if n, ok := d.memo[key]; ok {
		return n
	}
	d.spend(1)
	level := min(d.level[a], d.level[b])
	skipA, skipB := [1]run{{d.domains[level].hi, a}}, [1]run{{d.domains[level].hi, b}}
	as, bs := skipA[:], skipB[:]
	if d.level[a] == level {
		as = d.of(a)
	}
	if d.level[b] == level {
		bs = d.of(b)
	}
	start := len(d.stack)
	for i, j := 0, 0; i < len(as); {
		last := min(as[i].last, bs[j].last)
		d.push(start, last, d.apply(op, as[i].to, bs[j].to))
		if bs[j].last == last {
			j++
		}
		if as[i].last == last {
			i++
		}
	}
	n := d.pop(start, level)
	d.memo[key] = n
	return n
}

func (d *diagram) not(a nodeID) nodeID { return d.apply(equivalence, a, never) }

// compile returns the diagram of e, a boolean expression over domains that are not open.
func (d *diagram) compile(e *jani.Expr) nodeID {
	arg := func(i int) nodeID { return d.compile(e.Args[i]) }
	switch e.Op {
	case jani.OpNot:
		return d.not(arg(0))
	case jani.OpAnd:
		return d.apply(conjunction, arg(0), arg(1))
	case jani.OpOr:
		return d.apply(disjunction, arg(0), arg(1))
	case jani.OpImplies:
		return d.apply(disjunction, d.not(arg(0)), arg(1))
	case jani.OpIte:
		c := arg(0)
		return d.apply(disjunction, d.apply(conjunction, c, arg(1)), d.apply(conjunction, d.not(c), arg(2)))
	case jani.OpEq, jani.OpNe:
		if e.Args[0].Kind == jani.KindBool {
			n := d.apply(equivalence, arg(0), arg(1))
			if e.Op == jani.OpNe {
				n = d.not(n)
			}
			return n
		}
	}
	if c, ok := d.constraint(e); ok {
		return d.sum(c, 0, c.bound)
	}
	return d.enumerate(e)
}

// conjoin returns the diagram of the conjunction of list and what it compiled last.
//
// Neighbours with the same deepest variable are combined first: "z differs from each
// of a, b, … y" depends on the set of the values of a … y only, whereas a part of it,
// combined with "a … y differ", depends on a pair of sets. Lazy conjunction is
// associative; it is commutative, so that the conjuncts may be sorted, if none fails.
func (d *diagram) conjoin(list []*jani.Expr) (root nodeID, last []*jani.Expr) {
	nodes := make(map[*jani.Expr]nodeID, len(list))
	for i, e := range list {
		d.pos = e.Pos
		if nodes[e] = d.compile(e); d.err != nil {
			return never, list[i : i+1]
		}
	}
	deepest := func(e *jani.Expr) jani.VarID { return slices.Max(append(support(e), -1)) }
	if !d.partial {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(e, f *jani.Expr) int { return int(deepest(e) - deepest(f)) })
	}
	root = always
	for rest := list; len(rest) > 0 && d.err == nil; rest = rest[len(last):] {
		n := 1
		for n < len(rest) && deepest(rest[n]) == deepest(rest[0]) {
			n++
		}
		last = rest[:n]
		d.pos = last[0].Pos
		group := always
		for _, e := range last {
			group = d.apply(conjunction, group, nodes[e])
		}
		root = d.apply(conjunction, root, group)
	}
	return root, last
}

// enumerate returns the diagram of e by evaluating it for all values of its variables.
func (d *diagram) enumerate(e *jani.Expr) nodeID {
	vars := support(e)
	size := uint64(1)
	for _, x := range vars {
		over, product := bits.Mul64(size, d.domains[x].size())
		if over != 0 || product > uint64(d.table) {
			d.err = &jani.Error{Kind: jani.BadInput, Pos: e.Pos,
				Msg: fmt.Sprintf("this part of the start condition is not linear, has more than %d combinations of values and is left to rejection", d.table)}
			return never
		}
		size = product
	}
	return d.rows(e, vars)
}

func (d *diagram) rows(e *jani.Expr, vars []jani.VarID) nodeID {
	if len(vars) == 0 {
		c, err := e.Eval(d.values)
		if err != nil {
			d.partial = true
			return failed
		}
		return terminal(c.Bool())
	}
	start, x := len(d.stack), vars[0]
	for v := d.domains[x].lo; v <= d.domains[x].hi; v++ {
		d.values[x] = jani.Value(v)
		d.push(start, v, d.rows(e, vars[1:]))
	}
	return d.pop(start, x)
}

// linear is Σ terms + c. No partial sum, in whatever order, exceeds size in magnitude,
// and size is at most maxSum.
type linear struct {
	terms   []term
	c, size int64
}

// term is w·x.
type term struct {
	x jani.VarID
	w int64
}

// maxSum leaves room in 64 bits for the difference of two sums and a little more.
const maxSum = 1 << 61

// linear reads e as a linear integer term that cannot overflow.
func (d *diagram) linear(e *jani.Expr) (f linear, ok bool) {
	if e.Kind != jani.KindInt {
		return f, false
	}
	switch e.Op {
	case jani.OpConst:
		return linear{c: 1, size: 1}.times(e.Int)
	case jani.OpVar:
		x := d.domains[e.Var]
		size := max(x.hi, -x.lo)
		return linear{terms: []term{{e.Var, 1}}, size: size}, size <= maxSum
	case jani.OpNeg:
		f, ok = d.linear(e.Args[0])
		f, _ = f.times(-1)
		return f, ok
	case jani.OpAdd, jani.OpSub, jani.OpMul:
		f, ok = d.linear(e.Args[0])
		g, also := d.linear(e.Args[1])
		switch {
		case !ok || !also:
			return f, false
		case e.Op == jani.OpAdd:
			return f.plus(g)
		case e.Op == jani.OpSub:
			return f.minus(g)
		case len(g.terms) == 0:
			return f.times(g.c)
		case len(f.terms) == 0:
			return g.times(f.c)
		}
	}
	return f, false
}

// plus uses up f and g, as minus and times do.
func (f linear) plus(g linear) (sum linear, ok bool) {
	sum = linear{append(f.terms, g.terms...), f.c + g.c, f.size + g.size}
	return sum, sum.size <= maxSum
}

func (f linear) minus(g linear) (linear, bool) {
	g, _ = g.times(-1)
	return f.plus(g)
}

func (f linear) times(k int64) (linear, bool) {
	over, size := bits.Mul64(uint64(f.size), uint64(max(k, -k)))
	if over != 0 || size > maxSum {
		return f, false
	}
	for i := range f.terms {
		f.terms[i].w *= k
	}
	return linear{f.terms, f.c * k, int64(size)}, true
}

// constraint is Σ terms ≤ bound or, if equal, Σ terms = bound; or, if negated, the
// opposite.
type constraint struct {
	terms          []term  // ascending in x, w ≠ 0, x has several values
	lo, hi         []int64 // range of the sum of terms[i:]
	bound          int64
	equal, negated bool
	memo           map[partial]nodeID
}

type partial struct {
	i    int
	rest int64
}

// constraint reads e as a comparison of linear integer terms, or of one with a real
// constant, that does not depend on rounding.
func (d *diagram) constraint(e *jani.Expr) (*constraint, bool) {
	op := e.Op
	if op < jani.OpEq || op > jani.OpGe {
		return nil, false
	}
	a, b := e.Args[0], e.Args[1]
	if a.Kind == jani.KindReal {
		a, b, op = b, a, mirrored(op)
	}
	f, ok := d.linear(a)
	if !ok {
		return nil, false
	}
	c := &constraint{memo: make(map[partial]nodeID)}
	c.equal = op == jani.OpEq || op == jani.OpNe
	c.negated = op == jani.OpNe || op == jani.OpGt || op == jani.OpGe
	strict := op == jani.OpLt || op == jani.OpGe // ≥ is not <
	if b.Kind == jani.KindReal {
		r, err := b.Eval(nil)
		if err != nil || f.size >= maxExactInt {
			return nil, false
		}
		// The nearest integers decide alike; 2⁵³ decides like all that is larger.
		bound := min(max(r.Real, -maxExactInt), maxExactInt)
		switch {
		case strict:
			bound = math.Ceil(bound) - 1
		case c.equal && bound != math.Floor(bound):
			bound = maxExactInt
		}
		c.bound = int64(math.Floor(bound)) - f.c
	} else {
		g, ok := d.linear(b)
		if ok {
			f, ok = f.minus(g)
		}
		if !ok {
			return nil, false
		}
		c.bound = -f.c
		if strict {
			c.bound--
		}
	}
	slices.SortFunc(f.terms, func(s, t term) int { return int(s.x - t.x) })
	for _, t := range f.terms {
		if x := d.domains[t.x]; x.lo == x.hi {
			c.bound -= t.w * x.lo
			continue
		}
		if n := len(c.terms); n > 0 && c.terms[n-1].x == t.x {
			t.w += c.terms[n-1].w
			c.terms = c.terms[:n-1]
		}
		if t.w != 0 {
			c.terms = append(c.terms, t)
		}
	}
	c.lo, c.hi = make([]int64, len(c.terms)+1), make([]int64, len(c.terms)+1)
	for i, t := range slices.Backward(c.terms) {
		v, w := t.w*d.domains[t.x].lo, t.w*d.domains[t.x].hi
		c.lo[i], c.hi[i] = c.lo[i+1]+min(v, w), c.hi[i+1]+max(v, w)
	}
	return c, true
}

// sum returns the diagram of: terms[i:] sum up to at most rest or, if c.equal, to rest.
func (d *diagram) sum(c *constraint, i int, rest int64) nodeID {
	if rest < c.lo[i] || c.equal && rest > c.hi[i] {
		return terminal(c.negated)
	}
	if !c.equal && rest >= c.hi[i] || c.lo[i] == c.hi[i] {
		return terminal(!c.negated)
	}
	key := partial{i, rest}
	if n, ok := c.memo[key]; ok {
		return n
	}
	d.spend(1)
	t := c.terms[i]
	last := d.domains[t.x].hi
	// The next terms cannot sum up to less than little; from much on, all sums decide alike.
	little, much := c.lo[i+1], c.hi[i+1]
	if c.equal {
		much++
	}
	start := len(d.stack)
	for x := d.domains[t.x].lo; x <= last && d.err == nil; x++ {
		next := rest - t.w*x
		to := d.sum(c, i+1, next)
		switch { // skip the values with the same decision
		case next < little && t.w > 0, next >= much && t.w < 0:
			x = last
		case next < little:
			x = min(last, floorDiv(little-1-rest, -t.w))
		case next >= much:
			x = min(last, floorDiv(rest-much, t.w))
		}
		d.push(start, x, to)
	}
	n := d.pop(start, t.x)
	c.memo[key] = n
	return n
}

// floorDiv returns ⌊a/b⌋ for b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// solutions returns the paths from root to the accepted terminals, over the variables
// on which root depends.
func (d *diagram) solutions(root nodeID, accepted ...nodeID) solutions {
	t := solutions{first: []int32{0, 0}, count: []*big.Int{big.NewInt(1)}}
	seen := make(map[nodeID]bool)
	var reach func(n nodeID)
	reach = func(n nodeID) {
		if n < terminals || seen[n] {
			return
		}
		seen[n] = true
		t.vars = append(t.vars, d.level[n])
		for _, r := range d.of(n) {
			reach(r.to)
		}
	}
	reach(root)
	slices.Sort(t.vars)
	t.vars = slices.Compact(t.vars)

	type place struct {
		n nodeID
		k int
	}
	made := make(map[place]int32)
	var product, width big.Int
	var layer func(n nodeID, k int) int32
	layer = func(n nodeID, k int) int32 {
		if d.err != nil {
			return nowhere
		}
		if k == len(t.vars) {
			if slices.Contains(accepted, n) {
				return 0
			}
			return nowhere
		}
		if id, ok := made[place{n, k}]; ok {
			return id
		}
		x := d.domains[t.vars[k]]
		runs := []run{{x.hi, n}}
		if d.level[n] == t.vars[k] {
			runs = d.of(n)
		}
		var arcs []arc
		count := new(big.Int)
		lo := x.lo
		for _, r := range runs {
			if to := layer(r.to, k+1); to != nowhere {
				arcs = append(arcs, arc{lo, r.last, to})
				width.SetUint64(uint64(r.last) - uint64(lo) + 1)
				count.Add(count, product.Mul(&width, t.count[to]))
			}
			lo = r.last + 1
		}
		id := nowhere
		if d.spend(1 + len(arcs)); len(arcs) > 0 {
			id = int32(len(t.count))
			t.arcs = append(t.arcs, arcs...)
			t.first = append(t.first, int32(len(t.arcs)))
			t.count = append(t.count, count)
		}
		made[place{n, k}] = id
		return id
	}
	t.root = layer(root, 0)
	return t
}
