package jani

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// silentLabel is how the silent action is printed.
const silentLabel = "τ"

// raceLabel is how the Markovian edges of a state, taken together, are printed.
const raceLabel = "λ"

// Compile resolves the names of a document, checks types, folds constants and builds
// the automaton instances and synchronisation vectors. constants gives values to the
// model's parameters, that is its constants without value. Time and memory are linear
// in the document times the number of instances per automaton; the product of
// synchronising edges is not built here.
func Compile(doc *Document, constants map[string]*Expr) (*Model, error) {
	c := compiler{doc: doc, model: &Model{Name: doc.Name, Type: doc.Type, Silent: NoAction, Race: NoAction}, root: newScope(nil), left: maxUnrolled}
	c.model.Warnings = append(c.model.Warnings, doc.Warnings...)
	for _, step := range []func() error{
		func() error { return functions(c.root, c.doc.Functions) },
		func() error { return c.constants(constants) },
		c.actions,
		c.globals,
		c.instances,
		c.transientSettings,
		c.transientValues,
		c.edges,
		c.vectors,
		c.initial,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.model, nil
}

// ParseConstant reads NAME=VALUE as given on the command line; VALUE is true, false or
// a number.
func ParseConstant(text string) (name string, value *Expr, err error) {
	name, v, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return "", nil, fmt.Errorf("constant %q: NAME=VALUE is expected", text)
	}
	e, err := ParseInfix("constant "+name, v, nil, Limits{})
	if err != nil {
		return "", nil, err
	}
	t, err := resolver{at: place{part: "constant " + name}}.constant(e, KindNone)
	return name, t, err
}

type compiler struct {
	doc   *Document
	model *Model
	root  *scope
	// inits are the resolved initial values, nil for variables without one, and
	// starts the initial locations per instance.
	inits      []*Expr
	starts     [][]Value
	locals     []*scope // per instance
	places     []instancePlace
	read       map[string]bool // names in assignments and functions, nil if not collected yet
	transients []*transientVar
	settled    bool // the settings of transients are known
	left       int  // of maxUnrolled
}

func (c *compiler) resolver(s *scope, at place) resolver {
	return resolver{scope: s, at: at, left: &c.left, base: VarID(len(c.model.Vars))}
}

func (c *compiler) warn(p Pos, format string, args ...any) {
	c.model.Warnings = append(c.model.Warnings, Warning{Pos: p, Msg: fmt.Sprintf(format, args...)})
}

// declare adds a name to a scope; a name may be declared once per scope.
func declare(s *scope, name string, b binding, what string) error {
	if name == "" {
		return badInput(b.pos, "%s has an empty name", what)
	}
	if _, taken := s.names[name]; taken {
		return badInput(b.pos, "%s %q: the name is declared twice", what, name)
	}
	s.names[name] = b
	return nil
}

func (c *compiler) constants(given map[string]*Expr) error {
	var names []string
	for _, k := range c.doc.Constants {
		names = append(names, k.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			return badInput(given[name].Pos, "the model has no constant %q", name).hint("%s", DidYouMean(name, names))
		}
	}
	for _, k := range c.doc.Constants {
		r := c.resolver(c.root, place{part: fmt.Sprintf("constant %q", k.Name)})
		value, user := k.Value, given[k.Name]
		switch {
		case value == nil && user == nil:
			return badInput(k.Pos, "the constant %q has no value", k.Name).hint("give one: -c %s=VALUE", k.Name)
		case value != nil && user != nil:
			return badInput(k.Pos, "the constant %q has a value in the model and cannot be given another", k.Name)
		case user != nil:
			value = user
		}
		x, depth, err := r.scalarType(k.Type)
		if err != nil {
			return err
		}
		values, dims, err := r.literals(value, x.kind(), depth)
		if err != nil {
			return err
		}
		for _, t := range values {
			if _, wrong := constValue(&x, t); wrong != "" {
				return r.fail(value.Pos, "its value is %s", wrong)
			}
		}
		b := binding{pos: k.Pos, kind: x.kind(), constant: values[0]}
		if depth > 0 {
			b.constant = &Expr{Op: OpArray, Kind: KindArray, Dims: dims, Args: values}
		}
		if err := declare(c.root, k.Name, b, "constant"); err != nil {
			return err
		}
	}
	return nil
}

// scalarType returns a variable of the type t, or of the elements of the array type t with
// its number of dimensions.
func (r resolver) scalarType(t TypeDecl) (x Var, depth int, err error) {
	for ; t.Kind == KindArray; t = *t.Elem {
		depth++
	}
	limit := func(e *Expr, open *Expr) *Expr {
		if e == nil || err != nil {
			return open
		}
		e, err = r.constant(e, t.Kind)
		if err != nil {
			return open
		}
		return e
	}
	switch t.Kind {
	case KindBool:
		x.Kind, x.Lower, x.Upper = VarBool, 0, 1
	case KindInt:
		x.Kind = VarInt
		x.Lower = limit(t.Lower, &Expr{Int: math.MinInt64}).Int
		x.Upper = limit(t.Upper, &Expr{Int: math.MaxInt64}).Int
		if err == nil && x.Lower > x.Upper {
			err = r.fail(t.Pos, "its type %s is empty", x.Range())
		}
	case KindReal:
		x.Kind = VarReal
		x.RealLower = limit(t.Lower, &Expr{Real: math.Inf(-1)}).Real
		x.RealUpper = limit(t.Upper, &Expr{Real: math.Inf(1)}).Real
		if err == nil && !(x.RealLower <= x.RealUpper) {
			err = r.fail(t.Pos, "its type %g to %g is empty", x.RealLower, x.RealUpper)
		}
	}
	return x, depth, err
}

func (c *compiler) actions() error {
	seen := map[string]bool{}
	for _, a := range c.doc.Actions {
		switch {
		case a.Name == "":
			return badInput(a.Pos, "an action has an empty name")
		case seen[a.Name]:
			return badInput(a.Pos, "action %q is declared twice", a.Name)
		}
		seen[a.Name] = true
		c.model.Actions = append(c.model.Actions, a.Name)
	}
	return nil
}

// action returns the label called name, "" being the silent action.
func (c *compiler) action(n Name) (ActionID, error) {
	if n.Name == "" {
		if c.model.Silent == NoAction {
			c.model.Silent = ActionID(len(c.model.Actions))
			c.model.Actions = append(c.model.Actions, silentLabel)
		}
		return c.model.Silent, nil
	}
	for i, a := range c.model.Actions[:len(c.doc.Actions)] {
		if a == n.Name {
			return ActionID(i), nil
		}
	}
	return NoAction, badInput(n.Pos, "action %q is not declared", n.Name).
		hint("%s", DidYouMean(n.Name, c.model.Actions))
}

// functions adds functions to a scope.
func functions(s *scope, list []Function) error {
	s.functions = map[string]*Function{}
	for i := range list {
		f := &list[i]
		if s.functions[f.Name] != nil {
			return badInput(f.Pos, "function %q is declared twice", f.Name)
		}
		s.functions[f.Name] = f
	}
	return nil
}

func (c *compiler) globals() error {
	for _, v := range c.doc.Variables {
		if err := c.variable(v, c.root, c.root, "", -1); err != nil {
			return err
		}
	}
	return nil
}

// variable declares v in a scope and adds its scalars to the model. Initial values are
// resolved in the scope outer.
func (c *compiler) variable(v Variable, in, outer *scope, prefix string, instance int) error {
	r := c.resolver(outer, place{part: fmt.Sprintf("variable %q", prefix+v.Name)})
	x, depth, err := r.scalarType(v.Type)
	if err != nil {
		return err
	}
	x.Name, x.Instance, x.Pos = prefix+v.Name, instance, v.Pos
	b := binding{pos: v.Pos, kind: x.kind(), first: VarID(len(c.model.Vars))}
	inits := []*Expr{nil}
	if v.Initial != nil {
		if inits, b.dims, err = r.literals(v.Initial, b.kind, depth); err != nil {
			return err
		}
	} else if depth > 0 {
		return unsupported(v.Pos, "array variable %q without initial value, which would fix its length,", x.Name)
	}
	scalars := make([]Var, len(inits))
	for i, init := range inits {
		y := &scalars[i]
		*y = x
		y.Name += subscript(i, b.dims)
		if init != nil {
			if _, wrong := constValue(y, init); wrong != "" {
				return r.fail(init.Pos, "the initial value is %s", wrong)
			}
		}
	}
	if v.Transient {
		b = binding{pos: v.Pos, kind: b.kind, transient: c.transient(v.Name, b, scalars, inits)}
	} else {
		c.model.Vars = append(c.model.Vars, scalars...)
		c.inits = append(c.inits, inits...)
	}
	return declare(in, v.Name, b, "variable")
}

// subscript renders the indices of element i of an array, "" for a scalar.
func subscript(i int, dims []int) string {
	s := ""
	for d := len(dims) - 1; d >= 0; d-- {
		s = "[" + strconv.Itoa(i%dims[d]) + "]" + s
		i /= dims[d]
	}
	return s
}

func (c *compiler) instances() error {
	declared := map[string]bool{}
	for _, a := range c.doc.Automata {
		if declared[a.Name] {
			return badInput(a.Pos, "automaton %q is declared twice", a.Name)
		}
		declared[a.Name] = true
	}
	count := map[string]int{}
	for _, e := range c.doc.System.Elements {
		var names []string
		var automaton *Automaton
		for i := range c.doc.Automata {
			if names = append(names, c.doc.Automata[i].Name); c.doc.Automata[i].Name == e.Automaton.Name {
				automaton = &c.doc.Automata[i]
			}
		}
		if automaton == nil {
			return badInput(e.Automaton.Pos, "automaton %q is not declared", e.Automaton.Name).
				hint("%s", DidYouMean(e.Automaton.Name, names))
		}
		name := automaton.Name
		if count[name]++; count[name] > 1 {
			name += "#" + strconv.Itoa(count[automaton.Name])
		}
		if err := c.instance(automaton, name); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) instance(a *Automaton, name string) error {
	i := len(c.model.Parts)
	locations := make(map[string]Value, len(a.Locations))
	loc := Var{Name: name + ".location", Kind: VarLocation, Upper: int64(len(a.Locations) - 1), Instance: i, Pos: a.Pos}
	for _, l := range a.Locations {
		if _, taken := locations[l.Name]; taken {
			return badInput(l.Pos, "automaton %q: location %q is declared twice", a.Name, l.Name)
		}
		locations[l.Name] = Value(len(loc.Locations))
		loc.Locations = append(loc.Locations, l.Name)
	}
	find := func(n Name) (Value, error) {
		v, ok := locations[n.Name]
		if !ok {
			return 0, badInput(n.Pos, "automaton %q: location %q is not declared", a.Name, n.Name).
				hint("%s", DidYouMean(n.Name, loc.Locations))
		}
		return v, nil
	}
	var starts []Value
	for _, n := range a.Initial {
		v, err := find(n)
		if err != nil {
			return err
		}
		starts = append(starts, v)
	}
	c.starts = append(c.starts, starts)
	part := Instance{Name: name, Location: VarID(len(c.model.Vars))}
	c.model.Vars = append(c.model.Vars, loc)
	c.inits = append(c.inits, nil)
	local := newScope(c.root)
	for _, v := range a.Variables {
		if err := c.variable(v, local, c.root, name+".", i); err != nil {
			return err
		}
	}
	c.locals = append(c.locals, local)
	if err := functions(local, a.Functions); err != nil {
		return err
	}
	c.places = append(c.places, instancePlace{a, find})
	c.model.Parts = append(c.model.Parts, part)
	return nil
}

// instancePlace is the automaton of an instance, and how to find its locations.
type instancePlace struct {
	automaton *Automaton
	find      func(Name) (Value, error)
}

// checkFunctions checks the bodies of functions for any arguments, whether they are called
// or not. Those with an array parameter are only checked where they are called, since it
// depends on the length of an array what may be done with it.
func (c *compiler) checkFunctions(s *scope, list []Function) error {
	for i := range list {
		f := &list[i]
		r := c.resolver(newScope(s), place{part: fmt.Sprintf("function %q", f.Name)})
		r.calls = []*Function{f}
		generic := false
		for _, x := range f.Parameters {
			generic = generic || x.Type.Kind == KindArray
			any := &Expr{Op: OpVar, Kind: x.Type.Kind, Var: NoVar, Pos: x.Pos}
			if err := declare(r.scope, x.Name, binding{pos: x.Pos, constant: any}, "parameter"); err != nil {
				return err
			}
			if _, _, err := r.scalarType(x.Type); err != nil {
				return err
			}
		}
		if generic {
			continue
		}
		if _, err := r.typed(f.Body, f.Type, "the result"); err != nil {
			return err
		}
	}
	return nil
}

// edges compiles the edges of all instances.
func (c *compiler) edges() error {
	if err := c.checkFunctions(c.root, c.doc.Functions); err != nil {
		return err
	}
	for i, at := range c.places {
		if err := c.checkFunctions(c.locals[i], at.automaton.Functions); err != nil {
			return err
		}
		part := &c.model.Parts[i]
		for k, e := range at.automaton.Edges {
			edge, err := c.edge(at.automaton, e, k, c.locals[i], at.find)
			if err != nil {
				return err
			}
			if edge.Guard == nil || edge.Guard.Op != OpConst || edge.Guard.Int != 0 {
				part.Edges = append(part.Edges, edge)
			}
		}
		for _, n := range c.doc.System.Elements[i].InputEnable {
			if _, err := c.declaredAction(n); err != nil {
				return err
			}
			c.inputEnable(part, n.Name)
		}
	}
	return nil
}

// inputEnable adds, for every location, an edge that does nothing where no edge with the
// action is enabled.
func (c *compiler) inputEnable(part *Instance, action string) {
	own := len(part.Edges)
	for l := range c.model.Vars[part.Location].Locations {
		none := &Expr{Op: OpConst, Kind: KindBool, Int: 1}
		for _, e := range part.Edges[:own] {
			if e.Label != action || e.Location != Value(l) {
				continue
			}
			guard := e.Guard
			if guard == nil {
				guard = &Expr{Op: OpConst, Kind: KindBool, Int: 1}
			}
			not := (&Expr{Op: OpNot, Kind: KindBool, Args: []*Expr{guard}, Pos: guard.Pos}).fold()
			none = (&Expr{Op: OpAnd, Kind: KindBool, Args: []*Expr{none, not}, Pos: guard.Pos}).fold()
		}
		if none.Op == OpConst && none.Int == 0 {
			continue
		}
		part.Edges = append(part.Edges, ModelEdge{Location: Value(l), Label: action, Guard: none, Index: -1,
			Destinations: []ModelDestination{{Target: Value(l)}}})
	}
}

func (c *compiler) edge(a *Automaton, e Edge, k int, local *scope, find func(Name) (Value, error)) (ModelEdge, error) {
	r := c.resolver(local, place{automaton: a.Name, edge: k, part: "guard"})
	m := ModelEdge{Label: e.Action.Name, Index: k, Pos: e.Pos}
	var err error
	if m.Location, err = find(e.Source); err != nil {
		return m, err
	}
	if _, err = c.declaredAction(e.Action); err != nil {
		return m, err
	}
	if e.Rate != nil && !slices.Contains([]ModelType{"ctmc", "ctmdp", "ma"}, c.doc.Type) {
		r.at.part = "rate"
		return m, r.fail(e.Rate.Pos, "an edge of a model of type %s has no rate", c.doc.Type)
	}
	if e.Guard != nil {
		if m.Guard, err = r.scalar(e.Guard, KindBool); err != nil {
			return m, err
		}
		if m.Guard.Op == OpConst {
			if m.Guard.Int == 0 {
				return m, nil // never enabled: what it would do need not make sense for these constants
			}
			m.Guard = nil
		}
	}
	if e.Rate != nil {
		if err := c.rate(r, e.Rate, &m); err != nil {
			return m, err
		}
	}
	sum, constant := 0.0, true
	for _, d := range e.Destinations {
		dest := ModelDestination{Pos: d.Pos}
		if dest.Target, err = find(d.Target); err != nil {
			return m, err
		}
		probability := 1.0
		if d.Probability != nil {
			r.at.part = "probability"
			if dest.Probability, err = r.scalar(d.Probability, KindReal); err != nil {
				return m, err
			}
			if p := dest.Probability; p.Op == OpConst {
				if probability = p.Real; p.Kind == KindInt {
					probability = float64(p.Int)
				}
				if !(probability >= 0 && probability <= 1+ProbabilityTolerance) {
					return m, r.fail(d.Probability.Pos, "the probability is %g, not from 0 to 1", probability)
				}
			} else {
				constant = false
			}
		}
		sum += probability
		r.at.part = "assignment"
		for _, as := range d.Assignments {
			list, err := r.assignment(c, as)
			if err != nil {
				return m, err
			}
			dest.Assignments = append(dest.Assignments, list...)
		}
		m.Destinations = append(m.Destinations, dest)
	}
	// What a race does depends only on which probabilities are positive.
	if racing := m.Markovian && c.doc.Type != "ctmdp"; constant && math.Abs(sum-1) > ProbabilityTolerance && (!racing || sum == 0) {
		r.at.part = "destinations"
		return m, r.fail(e.Pos, "the probabilities sum to %g, not to 1", sum)
	}
	return m, nil
}

// rate makes a Markovian edge: it is enabled only where its rate is positive.
func (c *compiler) rate(r resolver, e *Expr, m *ModelEdge) error {
	r.at.part = "rate"
	t, err := r.scalar(e, KindReal)
	if err != nil {
		return err
	}
	zero := &Expr{Op: OpConst, Kind: KindInt, Pos: e.Pos}
	if t.Op == OpConst && (t.Real < 0 || t.Int < 0) {
		return r.fail(e.Pos, "the rate is negative")
	}
	m.Markovian = true
	positive := (&Expr{Op: OpGt, Kind: KindBool, Args: []*Expr{t, zero}, Pos: e.Pos}).fold()
	if positive.Op != OpConst {
		positive = assert(&Expr{Op: OpGe, Kind: KindBool, Args: []*Expr{t, zero}, Pos: e.Pos}, positive, "the rate is negative")
	}
	if m.Guard != nil {
		positive = (&Expr{Op: OpAnd, Kind: KindBool, Args: []*Expr{m.Guard, positive}, Pos: e.Pos}).fold()
	}
	m.Guard = positive
	if positive.Op == OpConst && positive.Int != 0 {
		m.Guard = nil
	}
	return nil
}

// ProbabilityTolerance is how far a probability may be above 1, and how far the
// probabilities of an edge may sum from 1.
const ProbabilityTolerance = 1e-9

// declaredAction checks the label of an edge without creating the silent action.
func (c *compiler) declaredAction(n Name) (ActionID, error) {
	if n.Name == "" {
		return NoAction, nil
	}
	return c.action(n)
}

// pairs returns the scalars that an assignment of value to target sets, and their values.
func (r resolver) pairs(a Assignment, target, value *Expr) (targets, values []*Expr, err error) {
	switch {
	case target.Kind == KindArray && value.Kind != KindArray:
		return nil, nil, r.fail(a.Pos, "a single value is assigned to an array")
	case target.Kind != KindArray && value.Kind == KindArray:
		return nil, nil, r.fail(a.Pos, "an array is assigned to a single variable")
	case target.Kind != KindArray:
		return []*Expr{target}, []*Expr{value}, nil
	case !slices.Equal(target.Dims, value.Dims):
		return nil, nil, r.fail(a.Pos, "an array of shape %v is assigned to one of shape %v", value.Dims, target.Dims)
	}
	return target.Args, value.Args, nil
}

// assignment resolves an assignment; one to an array becomes one per scalar.
func (r resolver) assignment(c *compiler, a Assignment) ([]ModelAssignment, error) {
	r.assigns = true
	value, err := r.value(a.Value)
	if err != nil {
		return nil, err
	}
	if b, ok := r.scope.lookup(root(a.Ref).Name); ok && b.transient != nil && b.transient.slot == 0 {
		_, err := r.written(b.transient, a, value)
		return nil, err // nothing reads it before it is reset
	}
	target, err := r.resolve(a.Ref)
	if err != nil {
		return nil, err
	}
	targets, values, err := r.pairs(a, r.whole(target), value)
	if err != nil {
		return nil, err
	}
	var list []ModelAssignment
	for i, t := range targets {
		if t.Op != OpVar && t.Op != OpElem {
			return nil, r.fail(a.Ref.Pos, "only variables can be assigned to")
		}
		if t.Op == OpElem && t.Len == 0 {
			return nil, r.fail(a.Ref.Pos, "the array has no such element")
		}
		x := c.model.Var(t.Var)
		if v := values[i]; v.Op == OpConst {
			if _, wrong := constValue(x, v); wrong != "" {
				return nil, r.fail(v.Pos, "the variable %q gets %s", x.Name, wrong)
			}
		} else if v.Kind != t.Kind && !(t.Kind == KindReal && v.Kind == KindInt) {
			return nil, r.fail(a.Value.Pos, "a value of type %s is assigned to %q of type %s", v.Kind, x.Name, t.Kind)
		}
		list = append(list, ModelAssignment{Target: t, Value: values[i], Index: a.Index, Pos: a.Pos})
	}
	return list, nil
}

// vectors builds the synchronisation vectors in order of their action labels, the
// silent action last.
func (c *compiler) vectors() error {
	s := c.doc.System
	byAction := make([][]Vector, len(c.doc.Actions)+1)
	var race []Vector
	// add adds a vector with a result, NoAction being the silent one.
	var add func(a ActionID, v Vector)
	add = func(a ActionID, v Vector) {
		if c.doc.Type != "ctmdp" {
			for i, part := range v.Parts {
				if markovian, others := c.split(part); len(markovian.Edges) > 0 {
					if len(others.Edges) == 0 {
						race = append(race, v)
						return
					}
					for _, half := range [...]VectorPart{others, markovian} {
						w := Vector{Parts: slices.Clone(v.Parts)}
						w.Parts[i] = half
						add(a, w)
					}
					return
				}
			}
		}
		i := int(a)
		if a == NoAction {
			a, _ = c.action(Name{})
			i = len(c.doc.Actions)
		}
		v.Action = a
		byAction[i] = append(byAction[i], v)
	}
	used := make([]map[string]bool, len(c.model.Parts))
	edges := make([]map[string][]int, len(c.model.Parts)) // per instance: label → edges
	for i, p := range c.model.Parts {
		used[i], edges[i] = map[string]bool{}, map[string][]int{}
		for k, e := range p.Edges {
			edges[i][e.Label] = append(edges[i][e.Label], k)
		}
		if list := edges[i][""]; len(list) > 0 {
			add(NoAction, Vector{Parts: []VectorPart{{i, list}}})
		}
	}
	if !s.HasSyncs && len(c.model.Parts) == 1 {
		for i, a := range c.doc.Actions {
			list := slices.DeleteFunc(slices.Clone(edges[0][a.Name]), func(k int) bool { return c.model.Parts[0].Edges[k].Index < 0 })
			if len(list) > 0 {
				add(ActionID(i), Vector{Parts: []VectorPart{{0, list}}})
				used[0][a.Name] = true
			}
		}
	}
	for _, sync := range s.Syncs {
		if len(sync.Participants) != len(c.model.Parts) {
			return badInput(sync.Pos, "the synchronisation vector has %d entries, the system has %d elements",
				len(sync.Participants), len(c.model.Parts))
		}
		v, possible := Vector{}, true
		for i, n := range sync.Participants {
			if n.Name == "" {
				continue
			}
			if _, err := c.declaredAction(n); err != nil {
				return err
			}
			used[i][n.Name] = true
			list := edges[i][n.Name]
			possible = possible && len(list) > 0
			v.Parts = append(v.Parts, VectorPart{i, list})
		}
		if len(v.Parts) == 0 {
			return badInput(sync.Pos, "the synchronisation vector has no participant")
		}
		result, err := c.declaredAction(sync.Result)
		if err != nil {
			return err
		}
		if !possible {
			continue // a participant has no such edge at all: it can never move
		}
		add(result, v)
	}
	for _, list := range byAction {
		c.model.Vectors = append(c.model.Vectors, list...)
	}
	if race != nil {
		c.model.Race = ActionID(len(c.model.Actions))
		c.model.Actions = append(c.model.Actions, raceLabel)
		for _, v := range race {
			v.Action = c.model.Race
			c.model.Vectors = append(c.model.Vectors, v)
		}
	}
	for i, p := range c.model.Parts {
		warned := map[string]bool{"": true}
		for _, e := range p.Edges {
			if !used[i][e.Label] && !warned[e.Label] {
				warned[e.Label] = true
				c.warn(e.Pos, "automaton %q: the edges with action %q are blocked, since no synchronisation vector has them", p.Name, e.Label)
			}
		}
	}
	return nil
}

// split separates the Markovian edges of a participant from the others.
func (c *compiler) split(p VectorPart) (markovian, others VectorPart) {
	markovian.Instance, others.Instance = p.Instance, p.Instance
	for _, k := range p.Edges {
		to := &others
		if c.model.Parts[p.Instance].Edges[k].Markovian {
			to = &markovian
		}
		to.Edges = append(to.Edges, k)
	}
	return markovian, others
}

// initial builds the set of initial states: one listed state if everything is given,
// else a condition.
func (c *compiler) initial() error {
	m := c.model
	m.scope = c.conditionScope()
	unique := true
	cond := &Expr{Op: OpConst, Kind: KindBool, Int: 1, Pos: c.doc.System.Pos}
	and := func(e *Expr) { cond = (&Expr{Op: OpAnd, Kind: KindBool, Args: []*Expr{cond, e}, Pos: e.Pos}).fold() }
	m.given = make([]bool, len(m.Vars))
	state := make([]Value, len(m.Vars))
	m.defaults = state
	for i := range m.Vars {
		if x := &m.Vars[i]; x.Kind == VarLocation {
			continue
		}
		if c.inits[i] == nil {
			unique = false
			continue
		}
		state[i], _ = constValue(&m.Vars[i], c.inits[i])
		m.given[i] = true
		and(equals(m, VarID(i), c.inits[i]))
	}
	for i, list := range c.starts {
		loc := m.Parts[i].Location
		state[loc] = list[0]
		m.given[loc] = len(list) == 1
		unique = unique && len(list) == 1
		any := &Expr{Op: OpConst, Kind: KindBool}
		for _, v := range list {
			eq := equals(m, loc, &Expr{Op: OpConst, Kind: KindInt, Int: int64(v), Pos: m.Vars[loc].Pos})
			any = (&Expr{Op: OpOr, Kind: KindBool, Args: []*Expr{any, eq}, Pos: eq.Pos}).fold()
		}
		and(any)
	}
	var restrictions []*Expr
	restrict := func(e *Expr, s *scope, part place) error {
		if e == nil {
			return nil
		}
		t, err := c.resolver(s, part).scalar(e, KindBool)
		if err == nil {
			restrictions = append(restrictions, t)
			and(t)
		}
		return err
	}
	if err := restrict(c.doc.Restrict, c.root, place{part: "restrict-initial"}); err != nil {
		return err
	}
	for i, e := range c.doc.System.Elements {
		for k := range c.doc.Automata {
			if a := &c.doc.Automata[k]; a.Name == e.Automaton.Name {
				if err := restrict(a.Restrict, c.locals[i], place{a.Name, -1, "restrict-initial"}); err != nil {
					return err
				}
			}
		}
	}
	if !unique {
		m.Initial = StateSet{Cond: cond}
		return nil
	}
	for _, e := range restrictions {
		ok, err := e.Eval(state)
		if err != nil {
			return err
		}
		if ok.Int == 0 {
			return badInput(e.Pos, "the model has no initial state: restrict-initial excludes the given initial values")
		}
	}
	m.Initial = StateSet{States: [][]Value{state}}
	return nil
}

// equals returns the condition x = v.
func equals(m *Model, x VarID, v *Expr) *Expr {
	return &Expr{Op: OpEq, Kind: KindBool, Pos: v.Pos, Args: []*Expr{{Op: OpVar, Kind: m.Vars[x].kind(), Var: x, Pos: v.Pos}, v}}
}

// conditionScope is what conditions may name: constants and globals, locals as
// automaton.x, and as x where only one instance has it and no global hides it.
func (c *compiler) conditionScope() *scope {
	s := newScope(c.root)
	bare := map[string]int{}
	for i, local := range c.locals {
		for n, b := range local.names {
			s.names[c.model.Parts[i].Name+"."+n] = b
			bare[n]++
		}
	}
	for _, local := range c.locals {
		for n, b := range local.names {
			if _, global := c.root.names[n]; !global && bare[n] == 1 {
				s.names[n] = b
			}
		}
	}
	return s
}
