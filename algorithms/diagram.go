package algorithms

// This file compiles conditions over variables with finitely many values into decision
// diagrams and counts their solutions.
//
// The diagrams are multi-valued, reduced and hash-consed (Srinivasan, Kam, Malik,
// Brayton, ICCAD 1990; apply after Bryant, IEEE ToC 1986). Their levels are the
// variables in model order, and their edges carry intervals of values, so that the
// size depends on the breakpoints and not on the width of a domain. Linear
// constraints come from a memoised recursion over (level, what is left of the bound)
// that stops where the bounds of the remaining terms decide (Eén and Sörensson, JSAT
// 2006; Abío and Stuckey, CP 2014); other comparisons are evaluated for all values of
// their variables. The number of solutions below every node is an exact integer.
//
// A third terminal beside true and false stands for "cannot be evaluated" (1/0). It
// passes through the connectives as their lazy, left-to-right reading says, so
// x ≠ 0 ∧ 1/x > 2 is fine and 1/x > 2 ∧ x ≠ 0 is an error that names a state.
//
// The diagram of a linear constraint has at most one node per variable and value of
// the bound that is left, k·(n+1) of them for k variables that sum up to n; each takes
// time linear in the values that do not decide at once. A connective takes time and
// memory up to the product of the sizes of its arguments, so that a conjunction can be
// exponential in the number of conjuncts. StartsOptions limits all of this. Counting is
// linear in the edges, times the length of the numbers.

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"fuzzsafe/jani"
)

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
