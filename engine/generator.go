package engine

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"fuzzsafe/jani"
)

// The transition generator works on rows. A row is something whose guard is decided as
// one: a composite edge, that is one edge of each participant of a synchronisation
// vector, or a single edge of a vector whose composite edges are too many to list
// (more than maxEager for the vector, or maxEagerTotal for the model). In a state,
//
//	enable    finds the enabled rows: one set per variable, intersected (guards.go)
//	choices   are the enabled rows of listed vectors, and the combinations of one
//	          enabled row per participant of the others
//	expand    writes the successors of a choice: packed copies of the state in which
//	          only the assigned fields are written anew
//
// Choices come in model order: by action label, then by vector, then by edges, the
// first participant's slowest.

const (
	maxEager      = 256
	maxEagerTotal = 1 << 14
)

// generator is immutable but for its compiled model; all work happens in a worker.
type generator struct {
	model  *jani.Model
	layout *Layout
	tables []guardTable
	rows   []row
	words  int // of a set of rows
	// conditional marks the rows with conjuncts of their own.
	conditional []uint64
	labels      []label
	listed      int          // rows that are composite edges; they come first
	lazy        [][]rowRange // groups of each vector that is combined at run time
}

// row is a composite edge, or one edge of a vector that is combined at run time.
type row struct {
	edges []*edge
	rest  []boolFunc // conjuncts that are not in the tables, left to right
}

// label is an action label with its vectors; their listed rows are from..to.
type label struct {
	action   jani.ActionID
	race     bool // the Markovian edges: all choices together are one action
	from, to int
	vectors  []vector
}

// vector is a range of rows, or one range per participant.
type vector struct {
	groups []rowRange
}

type rowRange struct{ from, to int }

// edge is a compiled edge of an automaton instance.
type edge struct {
	name  string // for messages: automaton "a", edge 3
	pos   jani.Pos
	dests []destination
	// random says that probabilities depend on the state: they are then evaluated,
	// and checked, each time.
	random bool
	races  bool // its probabilities need not sum to 1
	// levels lists the assignment indices in use, nil if there is at most one.
	levels []int
	// extended says that assignments read or write transient variables.
	extended bool
}

type destination struct {
	probability realFunc // nil unless the edge is random
	assigns     []assign
}

type assignKind uint8

const (
	assignConst assignKind = iota // field ← constant
	assignAdd                     // field ← field + constant
	assignInt                     // field ← linear or general integer expression
	assignBool
	assignReal
)

// assign writes one field. Which one is known unless index is set.
type assign struct {
	kind     assignKind
	level    int
	field    field
	lo, hi   int64 // bounds of an integer variable
	constant int64
	linear   *linear
	int      intFunc
	bool     boolFunc
	real     realFunc
	rlo, rhi float64

	index  intFunc // of an array element
	first  jani.VarID
	fields []field

	// contended variables may be assigned twice in one step: the values must agree.
	contended bool
	edge      *edge
	pos       jani.Pos
}

func newGenerator(m *jani.Model) (*generator, error) {
	g := &generator{model: m, layout: newLayout(m.Vars).withTransients(m.Transients)}
	c := &exprCompiler{m, g.layout}
	contended := contendedVariables(m)
	edges := make([][]*edge, len(m.Parts))
	for i, p := range m.Parts {
		edges[i] = make([]*edge, len(p.Edges))
		for k := range p.Edges {
			edges[i][k] = c.edge(i, &p.Edges[k], contended)
		}
	}
	var guards [][]*jani.Expr // per row
	guardsOf := func(part, k int) []*jani.Expr {
		e := &m.Parts[part].Edges[k]
		var list []*jani.Expr
		if loc := m.Parts[part].Location; m.Vars[loc].Upper > 0 {
			list = append(list, &jani.Expr{Op: jani.OpEq, Kind: jani.KindBool, Pos: e.Pos, Args: []*jani.Expr{
				{Op: jani.OpVar, Kind: jani.KindInt, Var: loc}, {Op: jani.OpConst, Kind: jani.KindInt, Int: int64(e.Location)}}})
		}
		if e.Guard != nil {
			list = append(list, e.Guard)
		}
		return list
	}
	// Listed vectors first, label by label, so that the rows of a label are contiguous.
	var lazy []*vector
	var lazyOf []jani.Vector
	for i := 0; i < len(m.Vectors); {
		l := label{action: m.Vectors[i].Action, race: m.Vectors[i].Action == m.Race, from: len(g.rows)}
		for ; i < len(m.Vectors) && m.Vectors[i].Action == l.action; i++ {
			v := m.Vectors[i]
			from := len(g.rows)
			if product(v, maxEager) > maxEager || from > maxEagerTotal {
				l.vectors = append(l.vectors, vector{})
				lazyOf = append(lazyOf, v)
				continue
			}
			combine(v, func(choice []int) {
				r, list := row{}, []*jani.Expr(nil)
				for p, k := range choice {
					r.edges = append(r.edges, edges[v.Parts[p].Instance][k])
					list = append(list, guardsOf(v.Parts[p].Instance, k)...)
				}
				g.rows = append(g.rows, r)
				guards = append(guards, list)
			})
			l.vectors = append(l.vectors, vector{groups: []rowRange{{from, len(g.rows)}}})
		}
		l.to = len(g.rows)
		g.labels = append(g.labels, l)
	}
	for i := range g.labels {
		for k := range g.labels[i].vectors {
			if v := &g.labels[i].vectors[k]; v.groups == nil {
				lazy = append(lazy, v)
			}
		}
	}
	type group struct { // the edges of an instance with one label: all, the Markovian ones or the others
		instance, first, edges int
	}
	known := map[group]rowRange{}
	g.listed = len(g.rows)
	for i, v := range lazyOf {
		for _, p := range v.Parts {
			id := group{p.Instance, p.Edges[0], len(p.Edges)}
			r, ok := known[id]
			if !ok {
				r.from = len(g.rows)
				for _, k := range p.Edges {
					g.rows = append(g.rows, row{edges: []*edge{edges[p.Instance][k]}})
					guards = append(guards, guardsOf(p.Instance, k))
				}
				r.to = len(g.rows)
				known[id] = r
			}
			lazy[i].groups = append(lazy[i].groups, r)
		}
		g.lazy = append(g.lazy, lazy[i].groups)
	}
	g.words = (len(g.rows) + 63) / 64
	g.conditional = make([]uint64, g.words)
	compiled := map[*jani.Expr]boolFunc{} // a conjunct is part of many rows
	b := guardBuilder{compiler: c, rows: len(g.rows), single: map[jani.VarID][]singleConjunct{}}
	for i := range g.rows {
		for _, e := range b.add(i, guards[i]) {
			if compiled[e] == nil {
				compiled[e] = c.bool(e)
			}
			g.rows[i].rest = append(g.rows[i].rest, compiled[e])
			g.conditional[i/64] |= 1 << (i % 64)
		}
	}
	var err error
	g.tables, err = b.tables()
	return g, err
}

// product returns the number of composite edges of v, or something above limit.
func product(v jani.Vector, limit int) int {
	n := 1
	for _, p := range v.Parts {
		if n *= len(p.Edges); n > limit {
			return n
		}
	}
	return n
}

// combine calls f with every combination of one edge per participant, the first
// participant's slowest.
func combine(v jani.Vector, f func(choice []int)) {
	at := make([]int, len(v.Parts))
	choice := make([]int, len(v.Parts))
	for {
		for i := range at {
			choice[i] = v.Parts[i].Edges[at[i]]
		}
		f(choice)
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(v.Parts[i].Edges) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// contendedVariables returns the variables that one step may assign twice: those that
// several instances assign, and those that one destination assigns twice at one index.
func contendedVariables(m *jani.Model) map[jani.VarID]bool {
	contended := map[jani.VarID]bool{}
	owner := map[jani.VarID]int{}
	for i, p := range m.Parts {
		for _, e := range p.Edges {
			for _, d := range e.Destinations {
				type slot struct {
					x     jani.VarID
					level int
				}
				seen := map[slot]bool{}
				for _, a := range d.Assignments {
					for k := range max(a.Target.Len, 1) {
						x := a.Target.Var + jani.VarID(k)
						if other, ok := owner[x]; ok && other != i || seen[slot{x, a.Index}] {
							contended[x] = true
						}
						owner[x] = i
						seen[slot{x, a.Index}] = true
					}
				}
			}
		}
	}
	return contended
}

func (c *exprCompiler) edge(instance int, e *jani.ModelEdge, contended map[jani.VarID]bool) *edge {
	part := &c.model.Parts[instance]
	out := &edge{name: fmt.Sprintf("automaton %q, edge %d", part.Name, e.Index), pos: e.Pos, races: e.Markovian && c.model.Type != "ctmdp"}
	for _, d := range e.Destinations {
		if p := d.Probability; p != nil && p.Op != jani.OpConst {
			out.random = true
		}
	}
	levels := map[int]bool{}
	for _, d := range e.Destinations {
		dest := destination{}
		switch p := d.Probability; {
		case out.random && p == nil:
			dest.probability = func(*evaluator) float64 { return 1 }
		case out.random:
			dest.probability = c.real(p)
		case p != nil && p.Real == 0 && p.Int == 0:
			continue // a constant probability of 0 is no outcome
		}
		if c.model.Vars[part.Location].Upper > 0 {
			dest.assigns = append(dest.assigns, assign{kind: assignConst, field: c.layout.fields[part.Location], constant: int64(d.Target), edge: out})
			levels[0] = true
		}
		for _, a := range d.Assignments {
			dest.assigns = append(dest.assigns, c.assign(a, contended, out))
			out.extended = out.extended || c.transient(a.Target) || c.transient(a.Value)
			levels[a.Index] = true
		}
		out.dests = append(out.dests, dest)
	}
	for l := range levels {
		out.levels = append(out.levels, l)
	}
	return out
}

// transient reports whether e mentions a transient variable.
func (c *exprCompiler) transient(e *jani.Expr) bool {
	if (e.Op == jani.OpVar || e.Op == jani.OpElem) && int(e.Var) >= len(c.model.Vars) {
		return true
	}
	for _, a := range e.Args {
		if c.transient(a) {
			return true
		}
	}
	return false
}

func (c *exprCompiler) assign(a jani.ModelAssignment, contended map[jani.VarID]bool, e *edge) assign {
	x := c.model.Var(a.Target.Var)
	f := c.layout.fields[a.Target.Var]
	out := assign{level: a.Index, field: f, lo: x.Lower, hi: x.Upper, rlo: x.RealLower, rhi: x.RealUpper,
		first: a.Target.Var, contended: contended[a.Target.Var], edge: e, pos: a.Pos}
	if a.Target.Op == jani.OpElem {
		out.index = c.int(a.Target.Args[0])
		out.fields = c.layout.fields[a.Target.Var : int(a.Target.Var)+a.Target.Len]
		for k := range a.Target.Len {
			out.contended = out.contended || contended[a.Target.Var+jani.VarID(k)]
		}
	}
	v := a.Value
	switch {
	case v.Op == jani.OpConst && x.Kind == jani.VarReal:
		out.kind, out.constant = assignConst, int64(jani.RealValue(jani.Const{Kind: v.Kind, Int: v.Int, Real: v.Real}.Float()))
	case v.Op == jani.OpConst:
		out.kind, out.constant = assignConst, v.Int
	case x.Kind == jani.VarReal:
		out.kind, out.real = assignReal, c.real(v)
	case x.Kind == jani.VarBool:
		out.kind, out.bool = assignBool, c.bool(v)
	default:
		out.kind = assignInt
		l, ok := c.linear(v)
		if !ok {
			out.int = c.int(v)
			break
		}
		out.linear = l
		if len(l.terms) == 1 && out.index == nil {
			if t := l.terms[0]; t.word == f.word && t.shift == f.shift && t.coefficient == 1 {
				out.kind, out.constant = assignAdd, l.constant-f.lo
			}
		}
	}
	return out
}

// worker holds what a generator needs while it works; one per Space.
type worker struct {
	*generator
	evaluator
	enabled []uint64
	enables uint64   // how often rows were enabled
	tested  []uint64 // by first row of a group: enables when its rows were tested last
	chosen  []*edge  // of the current choice
	at      []int    // destination per edge of the choice
	weight  []bool   // destinations of positive probability, of all edges, back to back
	before  []uint64
	source  []uint64 // scratch: a state with transient variables, before a transition
	target  []uint64 // and after it
	written []writtenField
	// out holds the successors of the choices expanded last, back to back.
	out []uint64
}

type writtenField struct {
	field *field
	value uint64
}

func newWorker(g *generator) *worker {
	k := &worker{generator: g, enabled: make([]uint64, g.words), tested: make([]uint64, len(g.rows)),
		before: make([]uint64, g.layout.words+g.layout.extra)}
	k.deadlock = k.isDeadlock
	return k
}

// isDeadlock reports whether no edge is enabled in k.w, for conditions that ask so.
func (k *worker) isDeadlock() bool {
	if err := k.enableAll(k.w); err != nil {
		if k.err = new(jani.Error); !errors.As(err, &k.err) {
			k.err = &jani.Error{Msg: err.Error()}
		}
		return false
	}
	for i := range k.labels {
		if !k.choices(&k.labels[i], func() bool { return false }) {
			return false
		}
	}
	return true
}

// enable finds the enabled rows of words from..to of the set of rows in state w.
func (k *worker) enable(w []uint64, from, to int) error {
	enabled := k.enabled[from:to]
	if len(enabled) == 0 {
		return nil
	}
	for i := range enabled {
		enabled[i] = ^uint64(0)
	}
	if to == k.words {
		if extra := len(k.rows) % 64; extra != 0 {
			enabled[len(enabled)-1] = 1<<extra - 1
		}
	}
	for i := range k.tables {
		t := &k.tables[i]
		at := from
		if t.breaks == nil { // spelt out, since it is the common case and cannot be inlined
			at += int(w[t.field.word]>>t.field.shift&t.field.mask) * t.words
		} else {
			at += t.cell(w) * t.words
		}
		for j, bits := range t.sets[at : at+len(enabled)] {
			enabled[j] &= bits
		}
	}
	k.w = w
	if err := k.test(from*64, min(to*64, k.listed)); err != nil {
		return err
	}
	// As in a listed row, a participant's guards are evaluated only if those before it
	// can move.
	k.enables++
	for _, groups := range k.lazy {
		for _, g := range groups {
			if k.tested[g.from] != k.enables {
				k.tested[g.from] = k.enables
				if err := k.test(g.from, g.to); err != nil {
					return err
				}
			}
			if k.next(g.from, g.to) == g.to {
				break
			}
		}
	}
	return nil
}

// test evaluates the conjuncts that stay with the candidates among rows from..to, and
// disables the rows that they falsify.
func (k *worker) test(from, to int) error {
	for j := from / 64; j*64 < to; j++ {
		open := k.enabled[j] & k.conditional[j]
		if j*64 < from {
			open &^= 1<<(from%64) - 1
		}
		if to < j*64+64 {
			open &= 1<<(to%64) - 1
		}
		for ; open != 0; open &= open - 1 {
			r := &k.rows[j*64+bits.TrailingZeros64(open)]
			for _, holds := range r.rest {
				if !holds(&k.evaluator) {
					k.enabled[j] &^= open & -open
					break
				}
			}
			if k.err != nil {
				return k.failed(r.edges[0].name + ", guard")
			}
		}
	}
	return nil
}

// failed returns the pending evaluation error with where it happened and in which
// state.
func (k *worker) failed(where string) error {
	err := k.err
	k.err = nil
	return &jani.Error{Kind: err.Kind, Pos: err.Pos, Msg: where + ": " + err.Msg, Hint: "in state " + k.describe(k.w)}
}

func (k *worker) describe(w []uint64) string {
	values := make([]jani.Value, len(k.model.Vars))
	k.layout.unpack(w, values)
	return k.model.Describe(values)
}

// enableLabel finds the enabled rows of label l, enableAll those of all labels.
func (k *worker) enableLabel(w []uint64, l *label) error {
	if k.lazy != nil || l.from == l.to {
		return k.enable(w, 0, k.words)
	}
	return k.enable(w, l.from/64, (l.to+63)/64)
}

func (k *worker) enableAll(w []uint64) error { return k.enable(w, 0, k.words) }

// next returns the first enabled row from..to, or to.
func (k *worker) next(from, to int) int {
	for from < to {
		if rest := k.enabled[from/64] >> (from % 64); rest != 0 {
			return min(from+bits.TrailingZeros64(rest), to)
		}
		from = from&^63 + 64
	}
	return to
}

// choices calls visit for every choice of label l in the state that was enabled last,
// until visit returns false; the choice is in k.chosen. It reports whether all were
// visited.
func (k *worker) choices(l *label, visit func() bool) bool {
	for i := range l.vectors {
		v := &l.vectors[i]
		if len(v.groups) == 1 {
			g := v.groups[0]
			for r := k.next(g.from, g.to); r < g.to; r = k.next(r+1, g.to) {
				k.chosen = k.rows[r].edges
				if !visit() {
					return false
				}
			}
			continue
		}
		if !k.combinations(v, visit) {
			return false
		}
	}
	return true
}

// combinations visits the choices of a vector that is combined at run time.
func (k *worker) combinations(v *vector, visit func() bool) bool {
	at := make([]int, len(v.groups))
	for i, g := range v.groups {
		if at[i] = k.next(g.from, g.to); at[i] == g.to {
			return true
		}
	}
	for {
		chosen := make([]*edge, len(at))
		for i, r := range at {
			chosen[i] = k.rows[r].edges[0]
		}
		k.chosen = chosen
		if !visit() {
			return false
		}
		i := len(at) - 1
		for ; i >= 0; i-- {
			g := v.groups[i]
			if at[i] = k.next(at[i]+1, g.to); at[i] < g.to {
				break
			}
			at[i] = k.next(g.from, g.to)
		}
		if i < 0 {
			return true
		}
	}
}

// expand appends the successors of the current choice in state w to k.out: one per
// combination of destinations of positive probability, the last edge's fastest. It
// returns their number. w must not be part of k.out.
func (k *worker) expand(w []uint64) (int, error) {
	k.w = w
	if len(k.chosen) == 1 {
		if e := k.chosen[0]; !e.random && !e.extended && len(e.levels) <= 1 {
			for i := range e.dests {
				dst := k.push(w)
				k.written = k.written[:0]
				for j := range e.dests[i].assigns {
					k.apply(&e.dests[i].assigns[j], dst)
				}
				if k.err != nil {
					return 0, k.failed(e.name)
				}
			}
			return len(e.dests), nil
		}
	}
	return k.expandProduct(w)
}

// push appends a copy of w to k.out.
func (k *worker) push(w []uint64) []uint64 {
	n := len(k.out)
	k.out = append(k.out, w...)
	return k.out[n:]
}

// expandProduct is expand for several edges, probabilities that depend on the state,
// and assignments in several groups.
func (k *worker) expandProduct(w []uint64) (int, error) {
	if err := k.positive(); err != nil {
		return 0, err
	}
	k.at = append(k.at[:0], make([]int, len(k.chosen))...)
	count := 0
	for {
		if k.atPositive() {
			count++
			if err := k.step(w); err != nil {
				return 0, err
			}
		}
		i := len(k.at) - 1
		for ; i >= 0; i-- {
			if k.at[i]++; k.at[i] < len(k.chosen[i].dests) {
				break
			}
			k.at[i] = 0
		}
		if i < 0 {
			return count, nil
		}
	}
}

// step appends the successor of w by the destinations at k.at.
func (k *worker) step(w []uint64) error {
	extended := false
	for _, e := range k.chosen {
		extended = extended || e.extended
	}
	if !extended {
		return k.assignAll(k.push(w))
	}
	k.source = k.extend(k.source[:0], w)
	k.target = k.extend(k.target[:0], w)
	k.w = k.source
	err := k.assignAll(k.target)
	k.w = w
	k.out = append(k.out, k.target[:k.layout.words]...)
	return err
}

// extend appends w and the initial values of the transient variables to dst.
func (k *worker) extend(dst, w []uint64) []uint64 {
	dst = append(dst, w...)
	dst = append(dst, make([]uint64, k.layout.extra)...)
	for i, v := range k.model.TransientInit {
		k.layout.fields[k.layout.vars+i].set(dst, int64(v))
	}
	return dst
}

// positive evaluates which destinations of the chosen edges have positive probability.
func (k *worker) positive() error {
	k.weight = k.weight[:0]
	for _, e := range k.chosen {
		sum := 0.0
		for i := range e.dests {
			p := 1.0
			if e.random {
				p = e.dests[i].probability(&k.evaluator)
				if k.err == nil && !(p >= 0 && p <= 1+jani.ProbabilityTolerance) {
					k.fail(e.pos, "the probability of destination %d is %g, not from 0 to 1", i, p)
				}
				sum += p
			}
			k.weight = append(k.weight, p > 0)
		}
		if k.err == nil && e.random && math.Abs(sum-1) > jani.ProbabilityTolerance && (!e.races || sum == 0) {
			k.fail(e.pos, "the probabilities sum to %g, not to 1", sum)
		}
		if k.err != nil {
			return k.failed(e.name)
		}
	}
	return nil
}

func (k *worker) atPositive() bool {
	n := 0
	for i, e := range k.chosen {
		if !k.weight[n+k.at[i]] {
			return false
		}
		n += len(e.dests)
	}
	return true
}

// assignAll runs the assignments of the destinations at k.at on dst, a copy of k.w:
// group by group in ascending order of index, each reading the state before it.
func (k *worker) assignAll(dst []uint64) error {
	source := k.w
	defer func() { k.w = source }()
	for level, more := k.lowest(math.MinInt); more; level, more = k.lowest(level + 1) {
		k.written = k.written[:0]
		for i, e := range k.chosen {
			assigns := e.dests[k.at[i]].assigns
			for j := range assigns {
				if a := &assigns[j]; a.level == level {
					k.apply(a, dst)
				}
			}
			if k.err != nil {
				k.w = source
				return k.failed(e.name)
			}
		}
		copy(k.before, dst)
		k.w = k.before
	}
	return nil
}

// lowest returns the lowest assignment index of the chosen edges that is ≥ from.
func (k *worker) lowest(from int) (int, bool) {
	found, ok := 0, false
	for _, e := range k.chosen {
		for _, l := range e.levels {
			if l >= from && (!ok || l < found) {
				found, ok = l, true
			}
		}
	}
	return found, ok
}

// apply runs one assignment: it reads k.w and writes dst.
func (k *worker) apply(a *assign, dst []uint64) {
	f := &a.field
	var raw uint64 // as stored
	switch a.kind {
	case assignAdd:
		v := f.get(k.w) + a.constant
		if v < a.lo || v > a.hi {
			k.outOfBounds(a, 0, v)
			return
		}
		raw = uint64(v - f.lo)
	case assignConst:
		raw = uint64(a.constant - f.lo)
	case assignInt:
		var v int64
		if a.linear != nil {
			v = a.linear.eval(k.w)
		} else {
			v = a.int(&k.evaluator)
		}
		if v < a.lo || v > a.hi {
			k.outOfBounds(a, k.element(a), v)
			return
		}
		raw = uint64(v - f.lo)
	case assignBool:
		if a.bool(&k.evaluator) {
			raw = 1
		}
	case assignReal:
		v := a.real(&k.evaluator)
		if !(v >= a.rlo && v <= a.rhi) {
			x := k.model.Var(a.first + jani.VarID(k.element(a)))
			k.fail(a.pos, "the variable %q gets %g, outside its bounds %g to %g", x.Name, v, a.rlo, a.rhi)
			return
		}
		raw = uint64(jani.RealValue(v))
	}
	if a.index != nil {
		f = &a.fields[k.element(a)]
	}
	if f.width == 0 {
		return
	}
	if a.contended && !k.agree(a, f, raw) {
		return
	}
	dst[f.word] = dst[f.word]&^(f.mask<<f.shift) | raw<<f.shift
}

// element returns the array element that a assigns, 0 for a scalar.
func (k *worker) element(a *assign) int {
	if a.index == nil {
		return 0
	}
	i := a.index(&k.evaluator)
	if i < 0 || i >= int64(len(a.fields)) {
		k.fail(a.pos, "index %d is out of range: the array has %d elements", i, len(a.fields))
		return 0
	}
	return int(i)
}

func (k *worker) outOfBounds(a *assign, element int, v int64) {
	x := k.model.Var(a.first + jani.VarID(element))
	k.fail(a.pos, "the variable %q gets %d, outside its bounds %s", x.Name, v, x.Range())
}

// agree notes the value that a contended field gets; a second, different one in the
// same group is an error.
func (k *worker) agree(a *assign, f *field, raw uint64) bool {
	for _, w := range k.written {
		if w.field.word == f.word && w.field.shift == f.shift && w.value != raw {
			k.fail(a.pos, "the variable %q is assigned two different values at once", k.variableOf(f))
			return false
		}
	}
	k.written = append(k.written, writtenField{f, raw})
	return true
}

func (k *worker) variableOf(f *field) string {
	for i := range k.layout.fields {
		if g := &k.layout.fields[i]; g.word == f.word && g.shift == f.shift && g.width == f.width {
			return k.model.Var(jani.VarID(i)).Name
		}
	}
	return "?"
}
