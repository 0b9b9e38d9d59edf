// Package interp is a tree-walking interpreter of JANI models for tests and for the
// check of certificates. It computes states, transitions and conditions straight from
// the syntax tree of a document and shares no code with the compiler of package jani
// or with the engine: where they agree with it, they agree with a second reading of
// the language.
//
// Names are looked up and types are checked while a state is expanded, so an error in
// an expression that is never evaluated is not found.
// Inner names hide outer ones: the index variable of an array constructor or the
// parameters of a function, then the variables of the automaton, then global variables
// and constants.
package interp

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fuzzsafe/jani"
)

// maxCandidates limits how many assignments of values InitialStates tries.
const maxCandidates = 1 << 20

// tolerance is how far the probabilities of an edge may sum from 1.
const tolerance = 1e-9

// Interp interprets one document. It is immutable and may be shared between goroutines.
type Interp struct {
	doc        *jani.Document
	instances  []instance
	vars       [][]variable   // [0] the globals, [i+1] the locals of instance i
	transients [][]*transient // as vars
	constants  *scope
	globals    *scope // constants and global variables
	conds      *scope // names in conditions
	moves      []move // in the order of Choices
	impatient  bool   // races take place without maximal progress, too
}

// variable is a variable of a State, possibly an array.
type variable struct {
	name  string // as Names gives it, without array indices
	typ   *typ
	shape value // the initial value, or any value if it is free
	free  bool  // has no initial value: starts with every value of its type
}

// instance is an element of the composition.
type instance struct {
	name      string // automaton, or automaton#k from the second instance on
	automaton *jani.Automaton
	locations map[string]int
	initial   []int  // initial locations
	locals    *scope // local variables only
	scope     *scope // everything that its expressions can name
	edges     []string
}

// move is a synchronisation vector; an edge that interleaves is one with a single
// participant.
type move struct {
	action string
	parts  []participant
}

// participant lists the edges of an instance that carry the label of a move.
type participant struct {
	instance int
	edges    []int
	idles    bool // takes part by doing nothing if no edge is enabled
}

// State is a state of the model. States are never changed once made.
type State struct {
	locations []int     // per instance
	vars      [][]value // as Interp.vars
	// As Interp.transients, of kind none without a value. Nil except during the
	// assignments of a transition: otherwise the locations give the values.
	transients [][]value
}

// EdgeRef names an edge of an automaton instance: both are positions, in the
// composition and in the automaton's list of edges.
type EdgeRef struct {
	Instance, Edge int
}

// Choice is an enabled composite edge, or all enabled Markovian ones together.
type Choice struct {
	Action   string    // resulting label, "" is silent
	Race     bool      // the Markovian composite edges; the Action is ""
	Edges    []EdgeRef // in order of instances; of a Race one composite edge after the other
	Outcomes []Outcome // of probability > 0, equal states are not merged
}

// Outcome is a combination of destinations, one per edge of the composite edge. In a
// Race the probability is rounded, possibly to 0.
type Outcome struct {
	Probability float64
	State       State
}

// New prepares a document. The constants give values, as literals, to the constants
// that have none in the document, and only to those.
func New(doc *jani.Document, constants map[string]*jani.Expr) (*Interp, error) {
	in := &Interp{doc: doc, constants: newScope(), globals: newScope()}
	if err := in.addFunctions(in.globals, doc.Functions); err != nil {
		return nil, err
	}
	in.constants.functions = in.globals.functions
	if err := in.addConstants(constants); err != nil {
		return nil, err
	}
	maps.Copy(in.globals.names, in.constants.names)
	if err := in.addVariables(in.globals, "", doc.Variables); err != nil {
		return nil, err
	}
	for _, e := range doc.System.Elements {
		if err := in.addInstance(e); err != nil {
			return nil, err
		}
	}
	if err := in.compose(); err != nil {
		return nil, err
	}
	in.conds = in.conditionScope()
	return in, nil
}

// WithoutMaximalProgress returns a copy that lets the Markovian edges of a Markov
// automaton race even where another edge is enabled.
func (in *Interp) WithoutMaximalProgress() *Interp {
	to := *in
	to.impatient = true
	return &to
}

func newScope() *scope { return &scope{map[string]symbol{}, map[string]*function{}} }

// addFunctions declares functions in names. Their bodies may use all of names. A
// function that is called by its own body, directly or not, is an error.
func (in *Interp) addFunctions(names *scope, declared []jani.Function) error {
	own := map[string]bool{}
	for i := range declared {
		d := &declared[i]
		if own[d.Name] {
			return errorAt(d.Pos, "function %q is declared twice", d.Name)
		}
		own[d.Name] = true
		names.functions[d.Name] = &function{d, names, in.constants}
		for k, p := range d.Parameters {
			if slices.ContainsFunc(d.Parameters[:k], func(q jani.Parameter) bool { return q.Name == p.Name }) {
				return errorAt(p.Pos, "function %q: parameter %q is declared twice", d.Name, p.Name)
			}
		}
	}
	const open, done = 1, 2
	visited := map[*function]int{}
	var visit func(f *function) error
	var calls func(f *function, e *jani.Expr) error
	visit = func(f *function) error {
		switch visited[f] {
		case open:
			return errorAt(f.decl.Pos, "function %q is recursive", f.decl.Name)
		case done:
			return nil
		}
		visited[f] = open
		defer func() { visited[f] = done }()
		return calls(f, f.decl.Body)
	}
	calls = func(f *function, e *jani.Expr) error {
		if called, ok := f.scope.functions[e.Name]; ok && e.Op == jani.OpCall {
			if err := visit(called); err != nil {
				return err
			}
		}
		for _, arg := range e.Args {
			if err := calls(f, arg); err != nil {
				return err
			}
		}
		return nil
	}
	for _, d := range declared {
		if err := visit(names.functions[d.Name]); err != nil {
			return err
		}
	}
	return nil
}

func (in *Interp) addConstants(given map[string]*jani.Expr) error {
	for _, c := range in.doc.Constants {
		expr := c.Value
		if user, ok := given[c.Name]; ok {
			if expr != nil {
				return errorAt(c.Pos, "constant %q has a value in the model and cannot be given another", c.Name)
			}
			expr = user
		}
		if expr == nil {
			return errorAt(c.Pos, "constant %q needs a value", c.Name)
		}
		v := &env{scope: in.constants, what: fmt.Sprintf("constant %q", c.Name)}
		t, err := v.typ(c.Type)
		if err != nil {
			return err
		}
		val, err := v.evalAs(t, expr)
		if err != nil {
			return err
		}
		if err := in.constants.declare(c.Name, symbol{typ: t, constant: &val}, c.Pos); err != nil {
			return err
		}
	}
	for name := range given {
		if _, ok := in.constants.names[name]; !ok {
			return fmt.Errorf("the model has no constant %q", name)
		}
	}
	return nil
}

// addVariables appends the variables of one owner to in.vars and declares them in
// names. Their bounds and initial values may use the constants.
func (in *Interp) addVariables(names *scope, prefix string, declared []jani.Variable) error {
	var vars []variable
	var transients []*transient
	for _, d := range declared {
		x := variable{name: prefix + d.Name, free: d.Initial == nil}
		v := &env{scope: in.constants, what: fmt.Sprintf("variable %q", x.name)}
		var err error
		if x.typ, err = v.typ(d.Type); err != nil {
			return err
		}
		switch {
		case !x.free:
			if x.shape, err = v.evalAs(x.typ, d.Initial); err != nil {
				return err
			}
		case d.Transient: // has no value
		case x.typ.kind == jani.KindArray:
			return v.errorf(d.Pos, "an array needs an initial value, which gives its length")
		default:
			x.shape = value{kind: x.typ.kind}
		}
		sym := symbol{typ: x.typ, owner: len(in.vars), index: len(vars)}
		if d.Transient {
			sym.index = len(transients)
			sym.transient = &transient{in, x.shape}
			transients = append(transients, sym.transient)
		} else {
			vars = append(vars, x)
		}
		if err := names.declare(d.Name, sym, d.Pos); err != nil {
			return err
		}
	}
	in.vars = append(in.vars, vars)
	in.transients = append(in.transients, transients)
	return nil
}

func (in *Interp) addInstance(e jani.Element) error {
	at := slices.IndexFunc(in.doc.Automata, func(a jani.Automaton) bool { return a.Name == e.Automaton.Name })
	if at < 0 {
		return errorAt(e.Automaton.Pos, "no automaton %q is declared", e.Automaton.Name)
	}
	a := &in.doc.Automata[at]
	inst := instance{name: a.Name, automaton: a, locations: map[string]int{}, locals: newScope(), scope: newScope()}
	if k := len(in.instancesOf(a.Name)); k > 0 {
		inst.name = fmt.Sprintf("%s#%d", a.Name, k+1)
	}
	for i, l := range a.Locations {
		if _, ok := inst.locations[l.Name]; ok {
			return errorAt(l.Pos, "automaton %q: location %q is declared twice", a.Name, l.Name)
		}
		inst.locations[l.Name] = i
	}
	for _, name := range a.Initial {
		l, err := inst.location(name)
		if err != nil {
			return err
		}
		if !slices.Contains(inst.initial, l) {
			inst.initial = append(inst.initial, l)
		}
	}
	if len(inst.initial) == 0 {
		return errorAt(a.Pos, "automaton %q has no initial location", a.Name)
	}
	for i := range a.Edges {
		edge := &a.Edges[i]
		if _, err := inst.location(edge.Source); err != nil {
			return err
		}
		for _, d := range edge.Destinations {
			if _, err := inst.location(d.Target); err != nil {
				return err
			}
		}
		if err := in.checkAction(edge.Action); err != nil {
			return err
		}
		if edge.Rate != nil && !in.races() && in.doc.Type != "ctmdp" {
			return errorAt(edge.Rate.Pos, "an edge has a rate in a model of type %s", in.doc.Type)
		}
		inst.edges = append(inst.edges, fmt.Sprintf("automaton %q, edge %d", inst.name, i))
	}
	if err := in.addVariables(inst.locals, inst.name+".", a.Variables); err != nil {
		return err
	}
	maps.Copy(inst.scope.names, in.globals.names)
	maps.Copy(inst.scope.names, inst.locals.names)
	maps.Copy(inst.scope.functions, in.globals.functions)
	if err := in.addFunctions(inst.scope, a.Functions); err != nil {
		return err
	}
	for _, l := range a.Locations {
		for _, x := range l.Transient {
			if name := root(x.Ref).Name; inst.scope.names[name].transient == nil {
				return errorAt(x.Pos, "location %q gives a value to %q, which is no transient variable", l.Name, name)
			}
		}
	}
	for _, label := range e.InputEnable {
		if err := in.checkAction(label); err != nil {
			return err
		}
	}
	in.instances = append(in.instances, inst)
	return nil
}

// instancesOf returns the positions of an automaton in the composition.
func (in *Interp) instancesOf(automaton string) (at []int) {
	for i := range in.instances {
		if in.instances[i].automaton.Name == automaton {
			at = append(at, i)
		}
	}
	return at
}

func (inst *instance) location(name jani.Name) (int, error) {
	l, ok := inst.locations[name.Name]
	if !ok {
		return 0, errorAt(name.Pos, "automaton %q has no location %q", inst.automaton.Name, name.Name)
	}
	return l, nil
}

// checkAction checks that a label is declared or silent.
func (in *Interp) checkAction(name jani.Name) error {
	declared := func(a jani.Action) bool { return a.Name == name.Name }
	if name.Name != "" && !slices.ContainsFunc(in.doc.Actions, declared) {
		return errorAt(name.Pos, "no action %q is declared", name.Name)
	}
	return nil
}

// compose lists the moves in the order in which Choices gives them.
func (in *Interp) compose() error {
	for i := range in.instances {
		in.moves = append(in.moves, move{parts: []participant{in.participant(i, "")}})
	}
	system := &in.doc.System
	if !system.HasSyncs && len(in.instances) == 1 {
		for _, a := range in.doc.Actions {
			in.moves = append(in.moves, move{a.Name, []participant{in.participant(0, a.Name)}})
		}
	}
	for _, sync := range system.Syncs {
		if len(sync.Participants) != len(in.instances) {
			return errorAt(sync.Pos, "a synchronisation vector of %d entries for %d automata", len(sync.Participants), len(in.instances))
		}
		if err := in.checkAction(sync.Result); err != nil {
			return err
		}
		m := move{action: sync.Result.Name}
		for i, label := range sync.Participants {
			if err := in.checkAction(label); err != nil {
				return err
			}
			if label.Name != "" {
				p := in.participant(i, label.Name)
				p.idles = slices.ContainsFunc(system.Elements[i].InputEnable, func(a jani.Name) bool { return a.Name == label.Name })
				m.parts = append(m.parts, p)
			}
		}
		if len(m.parts) == 0 {
			return errorAt(sync.Pos, "a synchronisation vector without participants")
		}
		in.moves = append(in.moves, m)
	}
	rank := map[string]int{"": len(in.doc.Actions)}
	for i, a := range in.doc.Actions {
		if _, ok := rank[a.Name]; ok {
			return errorAt(a.Pos, "action %q is declared twice", a.Name)
		}
		rank[a.Name] = i
	}
	slices.SortStableFunc(in.moves, func(a, b move) int { return rank[a.action] - rank[b.action] })
	return nil
}

func (in *Interp) participant(i int, label string) participant {
	p := participant{instance: i}
	for e, edge := range in.instances[i].automaton.Edges {
		if edge.Action.Name == label {
			p.edges = append(p.edges, e)
		}
	}
	return p
}

// conditionScope resolves names in conditions: a global, else automaton.x, else a bare
// local name that only one instance has.
func (in *Interp) conditionScope() *scope {
	uses := map[string]int{}
	for _, inst := range in.instances {
		for name := range inst.locals.names {
			uses[name]++
		}
	}
	conds, qualified := map[string]symbol{}, map[string]symbol{}
	for _, inst := range in.instances {
		for name, sym := range inst.locals.names {
			qualified[inst.name+"."+name] = sym
			if uses[name] == 1 {
				conds[name] = sym
			}
		}
	}
	maps.Copy(conds, qualified)
	maps.Copy(conds, in.globals.names)
	return &scope{conds, in.globals.functions}
}

func (s *scope) declare(name string, sym symbol, p jani.Pos) error {
	if _, ok := s.names[name]; ok {
		return errorAt(p, "%q is declared twice", name)
	}
	s.names[name] = sym
	return nil
}

// typ evaluates a declared type.
func (v *env) typ(d jani.TypeDecl) (*typ, error) {
	t := &typ{kind: d.Kind}
	if d.Kind == jani.KindArray {
		elem, err := v.typ(*d.Elem)
		t.elem = elem
		return t, err
	}
	// The bounds must be of the type themselves, without bounds.
	for _, b := range []struct {
		to   **value
		from *jani.Expr
	}{{&t.lower, d.Lower}, {&t.upper, d.Upper}} {
		if b.from != nil {
			bound, err := v.evalAs(&typ{kind: d.Kind}, b.from)
			if err != nil {
				return nil, err
			}
			*b.to = &bound
		}
	}
	if t.lower != nil && t.upper != nil && compare(*t.lower, *t.upper) > 0 {
		return nil, v.errorf(d.Pos, "the lower bound %v is above the upper bound %v", *t.lower, *t.upper)
	}
	return t, nil
}

// evalAs evaluates e as a value of type t.
func (v *env) evalAs(t *typ, e *jani.Expr) (value, error) {
	val, err := v.eval(e)
	if err != nil {
		return value{}, err
	}
	if val, err = t.accept(val); err != nil {
		return value{}, v.errorf(e.Pos, "%w", err)
	}
	return val, nil
}

// Names returns the names of the entries of Values.
func (in *Interp) Names() []string {
	var names []string
	var add func(name string, shape value)
	add = func(name string, shape value) {
		if shape.kind != jani.KindArray {
			names = append(names, name)
		}
		for i, x := range shape.elems {
			add(fmt.Sprintf("%s[%d]", name, i), x)
		}
	}
	for owner, vars := range in.vars {
		if owner > 0 {
			names = append(names, in.instances[owner-1].name+".location")
		}
		for _, x := range vars {
			add(x.name, x.shape)
		}
	}
	return names
}

// Values flattens a state in model order: the global variables, then for each instance
// its location and its local variables. Arrays are unrolled, the last index fastest.
func (in *Interp) Values(s State) []jani.Value {
	var flat []jani.Value
	var add func(x value)
	add = func(x value) {
		switch x.kind {
		case jani.KindArray:
			for _, elem := range x.elems {
				add(elem)
			}
		case jani.KindReal:
			flat = append(flat, jani.RealValue(x.f))
		default:
			flat = append(flat, jani.Value(x.n))
		}
	}
	for owner, vars := range s.vars {
		if owner > 0 {
			flat = append(flat, jani.Value(s.locations[owner-1]))
		}
		for _, x := range vars {
			add(x)
		}
	}
	return flat
}

// State is the inverse of Values. Values outside their variable's type are an error.
func (in *Interp) State(values []jani.Value) (State, error) {
	if want := len(in.Names()); len(values) != want {
		return State{}, fmt.Errorf("a state has %d values, not %d", want, len(values))
	}
	rest := values
	next := func() (v jani.Value) {
		v, rest = rest[0], rest[1:]
		return v
	}
	var fill func(x value) value
	fill = func(x value) value {
		switch x.kind {
		case jani.KindArray:
			for i := range x.elems {
				x.elems[i] = fill(x.elems[i])
			}
		case jani.KindReal:
			x.f = math.Float64frombits(uint64(next()))
		default:
			x.n = int64(next())
		}
		return x
	}
	s := in.start()
	for owner, vars := range s.vars {
		if owner > 0 {
			inst, l := &in.instances[owner-1], next()
			if l < 0 || int(l) >= len(inst.automaton.Locations) {
				return State{}, fmt.Errorf("%s.location: there is no location %d", inst.name, l)
			}
			s.locations[owner-1] = int(l)
		}
		for i := range vars {
			x := &in.vars[owner][i]
			var err error
			if vars[i], err = x.typ.accept(fill(vars[i])); err != nil {
				return State{}, fmt.Errorf("variable %q: %w", x.name, err)
			}
		}
	}
	return s, nil
}

// start returns the state of the initial values and first initial locations.
func (in *Interp) start() State {
	s := State{vars: make([][]value, len(in.vars))}
	for owner, vars := range in.vars {
		for _, x := range vars {
			s.vars[owner] = append(s.vars[owner], x.shape.clone())
		}
	}
	for _, inst := range in.instances {
		s.locations = append(s.locations, inst.initial[0])
	}
	return s
}

func (s State) clone() State {
	to := State{locations: slices.Clone(s.locations), vars: make([][]value, len(s.vars))}
	for i, vars := range s.vars {
		to.vars[i] = cloneAll(vars)
	}
	for _, values := range s.transients {
		to.transients = append(to.transients, cloneAll(values))
	}
	return to
}

// transient is a transient variable.
type transient struct {
	in      *Interp
	initial value // of kind none if there is no initial value
}

// resetTransients returns the initial values of the transient variables.
func (in *Interp) resetTransients() [][]value {
	values := make([][]value, len(in.transients))
	for owner, transients := range in.transients {
		for _, x := range transients {
			values[owner] = append(values[owner], x.initial.clone())
		}
	}
	return values
}

// readTransient returns the value of a transient variable, for the expression e: what
// the locations say, otherwise the initial value.
func (v *env) readTransient(e *jani.Expr, sym symbol) (value, error) {
	in, values := sym.transient.in, v.state.transients
	if values == nil {
		count := 0
		for _, transients := range in.transients {
			count += len(transients)
		}
		if v.depth == count {
			return value{}, v.errorf(e.Pos, "the value of transient variable %q depends on itself", e.Name)
		}
		to, written := State{transients: in.resetTransients()}, map[*value]bool{}
		for i, l := range v.state.locations {
			inst := &in.instances[i]
			location := &inst.automaton.Locations[l]
			for _, x := range location.Transient {
				if inst.scope.names[root(x.Ref).Name].transient != sym.transient {
					continue
				}
				at := env{scope: inst.scope, state: v.state, depth: v.depth + 1,
					where: fmt.Sprintf("automaton %q, location %q", inst.name, location.Name), what: "transient value"}
				val, err := at.eval(x.Value)
				if err != nil {
					return value{}, err
				}
				if err := at.write(x.Ref, val, x.Pos, to, written); err != nil {
					return value{}, err
				}
			}
		}
		values = to.transients
	}
	val := values[sym.owner][sym.index]
	if val.kind == jani.KindNone {
		return value{}, v.errorf(e.Pos, "transient variable %q has no value", e.Name)
	}
	return val, nil
}

// root returns the name in a reference to a variable or an array element.
func root(ref *jani.Expr) *jani.Expr {
	for ref.Op == jani.OpAccess {
		ref = ref.Args[0]
	}
	return ref
}

// describe renders a state for error messages.
func (in *Interp) describe(s State) string {
	var b strings.Builder
	for owner, vars := range s.vars {
		if owner > 0 {
			inst, l := &in.instances[owner-1], s.locations[owner-1]
			fmt.Fprintf(&b, ", %s.location=%s", inst.name, inst.automaton.Locations[l].Name)
		}
		for i, x := range vars {
			fmt.Fprintf(&b, ", %s=%v", in.vars[owner][i].name, x)
		}
	}
	return strings.TrimPrefix(b.String(), ", ")
}

// tuples yields every tuple of numbers with 0 ≤ t[i] < sizes[i], the last position
// fastest; sizes are positive. The slice is overwritten between calls.
func tuples(sizes []int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		t := make([]int, len(sizes))
		for yield(t) {
			i := len(t) - 1
			for ; i >= 0 && t[i] == sizes[i]-1; i-- {
				t[i] = 0
			}
			if i < 0 {
				return
			}
			t[i]++
		}
	}
}

// InitialStates returns the initial states, at most limit. A variable without initial
// value starts with every value of its type. The states are in ascending order of
// what is open, the first in model order slowest.
func (in *Interp) InitialStates(limit int) ([]State, error) {
	s := in.start()
	var sizes []int
	var set []func(k int)
	for owner, vars := range in.vars {
		if owner > 0 {
			inst := &in.instances[owner-1]
			sizes = append(sizes, len(inst.initial))
			set = append(set, func(k int) { s.locations[owner-1] = inst.initial[k] })
		}
		for i, x := range vars {
			if !x.free {
				continue
			}
			first, size, err := x.typ.domain()
			if err != nil {
				return nil, fmt.Errorf("variable %q without initial value: %w", x.name, err)
			}
			sizes = append(sizes, size)
			set = append(set, func(k int) { s.vars[owner][i].n = first + int64(k) })
		}
	}
	var initial []State
	tried := 0
	for t := range tuples(sizes) {
		if tried++; tried > maxCandidates {
			return nil, fmt.Errorf("more than %d states to be tried as initial states", maxCandidates)
		}
		for i, k := range t {
			set[i](k)
		}
		switch ok, err := in.restricted(s); {
		case err != nil:
			return nil, fmt.Errorf("%w; state: %s", err, in.describe(s))
		case ok && len(initial) == limit:
			return nil, fmt.Errorf("more than %d initial states", limit)
		case ok:
			initial = append(initial, s.clone())
		}
	}
	return initial, nil
}

// domain returns the first value and the number of values of a finite scalar type.
func (t *typ) domain() (first int64, size int, err error) {
	switch {
	case t.kind == jani.KindBool:
		return 0, 2, nil
	case t.kind != jani.KindInt || t.lower == nil || t.upper == nil:
		return 0, 0, errors.New("its type has infinitely many values")
	}
	last := uint64(t.upper.n) - uint64(t.lower.n)
	if last >= maxCandidates {
		return 0, 0, fmt.Errorf("its type has more than %d values", maxCandidates)
	}
	return t.lower.n, int(last) + 1, nil
}

// restricted reports whether s satisfies every restrict-initial.
func (in *Interp) restricted(s State) (bool, error) {
	v := env{scope: in.globals, state: s, what: "restrict-initial"}
	if ok, err := v.condition(in.doc.Restrict); !ok {
		return false, err
	}
	for _, inst := range in.instances {
		v := env{scope: inst.scope, state: s, where: fmt.Sprintf("automaton %q", inst.name), what: "restrict-initial"}
		if ok, err := v.condition(inst.automaton.Restrict); !ok {
			return false, err
		}
	}
	return true, nil
}

// condition evaluates e, nil being true. It is false if there is an error.
func (v *env) condition(e *jani.Expr) (bool, error) {
	if e == nil {
		return true, nil
	}
	ok, err := v.truth(e)
	return ok && err == nil, err
}

// races reports whether Markovian edges race.
func (in *Interp) races() bool { return in.doc.Type == "ctmc" || in.doc.Type == "ma" }

// Choices returns the enabled composite edges of s: by action in order of declaration,
// the silent action last; for one action in order of the synchronisation vectors
// (silent edges that interleave come before silent vectors, by instance); for one
// vector in order of the edges, the first participant's slowest. In a ctmc or ma the
// composite edges with a rate come last, as one Race.
func (in *Interp) Choices(s State) ([]Choice, error) {
	all, err := in.choices(s)
	if err != nil {
		return nil, fmt.Errorf("%w; state: %s", err, in.describe(s))
	}
	return all, nil
}

func (in *Interp) choices(s State) ([]Choice, error) {
	var all []Choice
	var racing []composite
	for _, m := range in.moves {
		composites, err := in.fire(m, s)
		if err != nil {
			return nil, err
		}
		for _, c := range composites {
			if c.markovian && in.races() {
				racing = append(racing, c)
				continue
			}
			outcomes, err := in.outcomes(c.edges, s)
			if err != nil {
				return nil, err
			}
			all = append(all, Choice{Action: m.action, Edges: c.edges, Outcomes: outcomes})
		}
	}
	if in.doc.Type == "ma" && !in.impatient && len(all) > 0 {
		return all, nil
	}
	largest, total := 0.0, 0.0
	for _, c := range racing {
		largest = max(largest, c.rate)
	}
	for _, c := range racing {
		total += c.rate / largest
	}
	race := Choice{Race: true}
	for _, c := range racing {
		outcomes, err := in.outcomes(c.edges, s)
		if err != nil {
			return nil, err
		}
		for _, o := range outcomes {
			o.Probability *= c.rate / largest / total
			race.Outcomes = append(race.Outcomes, o)
		}
		race.Edges = append(race.Edges, c.edges...)
	}
	if len(race.Outcomes) > 0 {
		all = append(all, race)
	}
	return all, nil
}

// composite is an enabled composite edge.
type composite struct {
	edges     []EdgeRef
	markovian bool
	rate      float64 // the product of the rates, positive and finite
}

// fire returns the composite edges of one move that are enabled.
func (in *Interp) fire(m move, s State) ([]composite, error) {
	const idle = -1
	enabled := make([][]int, len(m.parts))
	rates := make([][]float64, len(m.parts)) // as enabled, 0: none
	sizes := make([]int, len(m.parts))
	for i, p := range m.parts {
		for _, e := range p.edges {
			ok, rate, err := in.enabled(EdgeRef{p.instance, e}, s)
			if err != nil {
				return nil, err
			}
			if ok {
				enabled[i] = append(enabled[i], e)
				rates[i] = append(rates[i], rate)
			}
		}
		if len(enabled[i]) == 0 && p.idles {
			enabled[i] = []int{idle}
		}
		if sizes[i] = len(enabled[i]); sizes[i] == 0 {
			return nil, nil
		}
	}
	var composites []composite
	for t := range tuples(sizes) {
		c := composite{rate: 1}
		for i, k := range t {
			e := enabled[i][k]
			if e == idle {
				continue
			}
			c.edges = append(c.edges, EdgeRef{m.parts[i].instance, e})
			if rate := rates[i][k]; rate > 0 {
				c.markovian = true
				c.rate = min(max(c.rate*rate, math.SmallestNonzeroFloat64), math.MaxFloat64)
			}
		}
		composites = append(composites, c)
	}
	return composites, nil
}

// enabled reports whether an edge is enabled, and its rate, 0 if it has none.
func (in *Interp) enabled(ref EdgeRef, s State) (ok bool, rate float64, err error) {
	inst := &in.instances[ref.Instance]
	edge := &inst.automaton.Edges[ref.Edge]
	if inst.locations[edge.Source.Name] != s.locations[ref.Instance] {
		return false, 0, nil
	}
	v := env{scope: inst.scope, state: s, where: inst.edges[ref.Edge], what: "guard"}
	if ok, err := v.condition(edge.Guard); !ok || edge.Rate == nil {
		return ok, 0, err
	}
	v.what = "rate"
	val, err := v.evalAs(&typ{kind: jani.KindReal}, edge.Rate)
	if err != nil {
		return false, 0, err
	}
	if val.f < 0 {
		return false, 0, v.errorf(edge.Rate.Pos, "%v is negative", val)
	}
	return val.f > 0, val.f, nil
}

// branch is a destination of an edge that has a positive probability.
type branch struct {
	EdgeRef
	to          *jani.Destination
	probability float64
}

// outcomes combines the destinations of the edges, the first edge's slowest.
func (in *Interp) outcomes(edges []EdgeRef, s State) ([]Outcome, error) {
	branches := make([][]branch, len(edges))
	sizes := make([]int, len(edges))
	for i, e := range edges {
		var err error
		if branches[i], err = in.branches(e, s); err != nil {
			return nil, err
		}
		if sizes[i] = len(branches[i]); sizes[i] == 0 { // of a racing edge
			return nil, nil
		}
	}
	var outcomes []Outcome
	picked := make([]branch, len(edges))
	for t := range tuples(sizes) {
		o := Outcome{Probability: 1}
		for i, k := range t {
			picked[i] = branches[i][k]
			o.Probability *= picked[i].probability
		}
		var err error
		if o.State, err = in.successor(picked, s); err != nil {
			return nil, err
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// branches evaluates the probabilities of an edge.
func (in *Interp) branches(ref EdgeRef, s State) ([]branch, error) {
	inst := &in.instances[ref.Instance]
	edge := &inst.automaton.Edges[ref.Edge]
	v := env{scope: inst.scope, state: s, where: inst.edges[ref.Edge], what: "probability"}
	var branches []branch
	sum := 0.0
	for i := range edge.Destinations {
		d := &edge.Destinations[i]
		p := 1.0
		if d.Probability != nil {
			val, err := v.evalAs(&typ{kind: jani.KindReal}, d.Probability)
			if err != nil {
				return nil, err
			}
			if p = val.f; p < 0 || p > 1+tolerance {
				return nil, v.errorf(d.Probability.Pos, "%v is not between 0 and 1", val)
			}
		}
		if sum += p; p > 0 {
			branches = append(branches, branch{ref, d, p})
		}
	}
	// What a race does depends only on which probabilities are positive.
	if racing := edge.Rate != nil && in.races(); math.Abs(sum-1) > tolerance && (!racing || sum == 0) {
		return nil, v.errorf(edge.Pos, "the probabilities sum to %v, not to 1", realValue(sum))
	}
	return branches, nil
}

// successor moves to the destinations of the picked branches.
func (in *Interp) successor(picked []branch, s State) (State, error) {
	var groups []int
	for _, b := range picked {
		for _, a := range b.to.Assignments {
			groups = append(groups, a.Index)
		}
	}
	slices.Sort(groups)
	next := s.clone()
	next.transients = in.resetTransients()
	for _, group := range slices.Compact(groups) {
		before := next
		next = before.clone()
		written := map[*value]bool{}
		for _, b := range picked {
			inst := &in.instances[b.Instance]
			v := env{scope: inst.scope, state: before, where: inst.edges[b.Edge], what: "assignment"}
			for _, a := range b.to.Assignments {
				if a.Index != group {
					continue
				}
				val, err := v.eval(a.Value)
				if err != nil {
					return State{}, err
				}
				if err := v.write(a.Ref, val, a.Pos, next, written); err != nil {
					return State{}, err
				}
			}
		}
	}
	next.transients = nil
	for _, b := range picked {
		next.locations[b.Instance] = in.instances[b.Instance].locations[b.to.Target.Name]
	}
	return next, nil
}

// write assigns val to what ref means in next. Array indices in ref are evaluated in v.
// Written holds the scalars of next that the current group has set.
func (v *env) write(ref *jani.Expr, val value, p jani.Pos, next State, written map[*value]bool) error {
	to, t, err := v.target(ref, next)
	if err != nil {
		return err
	}
	if val, err = t.accept(val); err == nil {
		err = store(to, val, written)
	}
	if err != nil {
		return v.errorf(p, "variable %q: %w", root(ref).Name, err)
	}
	return nil
}

// target returns the place in next that a reference means, and its type.
func (v *env) target(ref *jani.Expr, next State) (*value, *typ, error) {
	switch ref.Op {
	case jani.OpName:
		sym, ok := v.scope.names[ref.Name]
		if !ok || sym.constant != nil {
			return nil, nil, v.errorf(ref.Pos, "no variable %q is in scope", ref.Name)
		}
		if sym.transient != nil {
			if next.transients == nil {
				return nil, nil, v.errorf(ref.Pos, "the transient variable %q is not part of a state", ref.Name)
			}
			return &next.transients[sym.owner][sym.index], sym.typ, nil
		}
		return &next.vars[sym.owner][sym.index], sym.typ, nil
	case jani.OpAccess:
		array, t, err := v.target(ref.Args[0], next)
		if err != nil {
			return nil, nil, err
		}
		at, err := v.eval(ref.Args[1])
		if err != nil {
			return nil, nil, err
		}
		i, err := v.index(ref, *array, at)
		if err != nil {
			return nil, nil, err
		}
		return &array.elems[i], t.elem, nil
	}
	return nil, nil, v.errorf(ref.Pos, "only variables and array elements can be assigned to")
}

// store writes v to a place of the same shape, scalar by scalar.
func store(to *value, v value, written map[*value]bool) error {
	if v.kind == jani.KindArray {
		if to.kind == jani.KindNone { // a transient variable without a value
			*to = value{kind: jani.KindArray, elems: make([]value, len(v.elems))}
		}
		if len(v.elems) != len(to.elems) {
			return fmt.Errorf("an array of length %d is assigned to one of length %d", len(v.elems), len(to.elems))
		}
		for i := range v.elems {
			if err := store(&to.elems[i], v.elems[i], written); err != nil {
				return err
			}
		}
		return nil
	}
	if same, _ := equal(*to, v); written[to] && !same {
		return fmt.Errorf("it is assigned both %v and %v at once", *to, v)
	}
	*to, written[to] = v, true
	return nil
}

// Holds evaluates a boolean condition in s. A name means a constant or global variable,
// else the local variable x of an instance by automaton.x (automaton#k.x for the k-th
// instance of an automaton, k ≥ 2), else a local variable by its bare name if exactly
// one instance has it.
func (in *Interp) Holds(e *jani.Expr, s State) (bool, error) {
	v := env{scope: in.conds, state: s, what: "condition"}
	ok, err := v.truth(e)
	if err != nil {
		return false, fmt.Errorf("%w; state: %s", err, in.describe(s))
	}
	return ok, nil
}

// HoldsCondition reports whether s is in the set that c describes. In a listed state,
// what is not listed has its initial value: an initial location, any value if the
// variable has no initial value.
func (in *Interp) HoldsCondition(c *jani.Condition, s State) (bool, error) {
	if c.Listed {
		for _, listed := range c.States {
			if ok, err := in.matches(listed, s); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}
	if ok, err := in.inLocations(c.Locations, s); !ok || c.Exp == nil {
		return ok, err
	}
	return in.Holds(c.Exp, s)
}

// inLocations reports whether s is in all of the locations.
func (in *Interp) inLocations(locations []jani.LocationValue, s State) (bool, error) {
	for _, l := range locations {
		i, err := in.instance(l.Automaton, l.Index, l.Pos)
		if err != nil {
			return false, err
		}
		at, err := in.instances[i].location(jani.Name{Name: l.Location, Pos: l.Pos})
		if err != nil || s.locations[i] != at {
			return false, err
		}
	}
	return true, nil
}

// instance returns the position of the instance that an automaton's name means, with
// its index in the composition where the automaton stands there several times.
func (in *Interp) instance(automaton string, index int, p jani.Pos) (int, error) {
	at := in.instancesOf(automaton)
	switch {
	case len(at) == 1:
		return at[0], nil
	case len(at) == 0:
		return 0, errorAt(p, "the composition has no automaton %q", automaton)
	case !slices.Contains(at, index):
		return 0, errorAt(p, "automaton %q is in the composition at %v, not at index %d", automaton, at, index)
	}
	return index, nil
}

// matches reports whether s is the listed state.
func (in *Interp) matches(listed jani.StateValues, s State) (bool, error) {
	want, written := in.start(), map[*value]bool{}
	for _, x := range listed.Variables {
		if err := in.list(x, want, written); err != nil {
			return false, err
		}
	}
	for owner, vars := range want.vars {
		for i := range vars {
			same, _ := equal(s.vars[owner][i], vars[i])
			// A free variable is a scalar.
			if anyValue := in.vars[owner][i].free && !written[&vars[i]]; !same && !anyValue {
				return false, nil
			}
		}
	}
	if ok, err := in.inLocations(listed.Locations, s); !ok {
		return false, err
	}
	for i, inst := range in.instances {
		isListed := slices.ContainsFunc(listed.Locations, func(l jani.LocationValue) bool {
			at, err := in.instance(l.Automaton, l.Index, l.Pos)
			return err == nil && at == i
		})
		if !isListed && !slices.Contains(inst.initial, s.locations[i]) {
			return false, nil
		}
	}
	return true, nil
}

// list writes a value of a listed state to want. The name means a local variable of
// the automaton if there is one, otherwise what it means in a condition.
func (in *Interp) list(x jani.VariableValue, want State, written map[*value]bool) error {
	v := env{scope: in.conds, state: want, what: fmt.Sprintf("value of %q", x.Name)}
	if x.Automaton != "" {
		i, err := in.instance(x.Automaton, x.Index, x.Pos)
		if err != nil {
			return err
		}
		v.scope = in.instances[i].locals
	}
	constant := env{scope: in.constants, what: v.what}
	val, err := constant.eval(x.Value)
	if err != nil {
		return err
	}
	return v.write(v.scope.ref(x.Name, x.Pos), val, x.Pos, want, written)
}

// ref makes the expression for a name that may be an array element, as in a[1][2].
func (s *scope) ref(name string, p jani.Pos) *jani.Expr {
	open := strings.LastIndexByte(name, '[')
	if _, ok := s.names[name]; ok || open < 0 || !strings.HasSuffix(name, "]") {
		return &jani.Expr{Op: jani.OpName, Name: name, Pos: p}
	}
	i, err := strconv.ParseInt(name[open+1:len(name)-1], 10, 64)
	if err != nil {
		return &jani.Expr{Op: jani.OpName, Name: name, Pos: p}
	}
	index := &jani.Expr{Op: jani.OpConst, Kind: jani.KindInt, Int: i, Pos: p}
	return &jani.Expr{Op: jani.OpAccess, Args: []*jani.Expr{s.ref(name[:open], p), index}, Pos: p}
}
