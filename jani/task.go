package jani

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"
)

// Names returns the names that conditions over the model may use, sorted.
func (m *Model) Names() []string { return m.scope.visible() }

// Task resolves a planning property. A missing start condition means the model's
// initial states; a missing unsafe or goal condition stays nil.
func (m *Model) Task(name string, plan *Planning) (*Task, error) {
	t := &Task{Model: m, Name: name, Start: m.Initial}
	var err error
	if plan.Start != nil {
		if t.Start, err = m.StateSet("start condition", plan.Start); err != nil {
			return nil, err
		}
	}
	if t.Unsafe, err = m.predicate("unsafe condition", plan.Unsafe); err != nil {
		return nil, err
	}
	t.Goal, err = m.predicate("goal condition", plan.Goal)
	return t, err
}

// StateSet resolves a condition that describes states to start from.
func (m *Model) StateSet(what string, c *Condition) (StateSet, error) {
	if !c.Listed {
		e, err := m.predicate(what, c)
		return StateSet{Cond: e}, err
	}
	if len(c.States) == 0 {
		return StateSet{}, badInput(c.Pos, "%s: the list of states is empty", what)
	}
	var set StateSet
	for _, s := range c.States {
		v, err := m.state(what, s)
		if err != nil {
			return set, err
		}
		set.States = append(set.States, v)
	}
	return set, nil
}

// predicate resolves a condition to a typed boolean expression; nil stays nil.
func (m *Model) predicate(what string, c *Condition) (*Expr, error) {
	if c == nil {
		return nil, nil
	}
	always := func(b bool) *Expr { return &Expr{Op: OpConst, Kind: KindBool, Int: int64(btoi(b)), Pos: c.Pos} }
	if c.Listed {
		any := always(false)
		for _, s := range c.States {
			all := always(true)
			v, err := m.state(what, s)
			if err != nil {
				return nil, err
			}
			for i := range m.Vars {
				lit := m.Vars[i].literal(v[i], s.Pos)
				all = (&Expr{Op: OpAnd, Kind: KindBool, Args: []*Expr{all, equals(m, VarID(i), lit)}, Pos: s.Pos}).fold()
			}
			any = (&Expr{Op: OpOr, Kind: KindBool, Args: []*Expr{any, all}, Pos: c.Pos}).fold()
		}
		return any, nil
	}
	e := always(true)
	if c.Exp != nil {
		t, err := resolver{scope: m.scope, at: place{part: what}, model: m}.scalar(c.Exp, KindBool)
		if err != nil {
			return nil, err
		}
		e = t
	}
	for _, l := range c.Locations {
		x, v, err := m.location(what, l)
		if err != nil {
			return nil, err
		}
		if m.Vars[x].Upper == 0 {
			continue // the only location there is
		}
		eq := equals(m, x, &Expr{Op: OpConst, Kind: KindInt, Int: int64(v), Pos: l.Pos})
		e = (&Expr{Op: OpAnd, Kind: KindBool, Args: []*Expr{e, eq}, Pos: c.Pos}).fold()
	}
	return e, nil
}

// isInitial returns the condition that a state is initial.
func (m *Model) isInitial(p Pos) *Expr {
	if m.Initial.States == nil {
		return m.Initial.Cond
	}
	e := &Expr{Op: OpConst, Kind: KindBool, Int: 1, Pos: p}
	for i, v := range m.Initial.States[0] {
		lit := m.Vars[i].literal(v, p)
		e = (&Expr{Op: OpAnd, Kind: KindBool, Args: []*Expr{e, equals(m, VarID(i), lit)}, Pos: p}).fold()
	}
	return e
}

// literal returns v, a value of x, as an expression.
func (x *Var) literal(v Value, p Pos) *Expr {
	switch x.Kind {
	case VarBool:
		return &Expr{Op: OpConst, Kind: KindBool, Int: int64(v), Pos: p}
	case VarReal:
		return &Expr{Op: OpConst, Kind: KindReal, Real: x.Float(v), Pos: p}
	}
	return &Expr{Op: OpConst, Kind: KindInt, Int: int64(v), Pos: p}
}

// instance finds an automaton instance by name. Index, if not negative, is its place in
// the composition; it is needed where an automaton stands there several times.
func (m *Model) instance(what string, p Pos, name string, index int) (int, error) {
	var names []string
	var found []int
	for i, part := range m.Parts {
		names = append(names, part.Name)
		if part.Name == name || baseName(part.Name) == name {
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 0:
		return 0, badInput(p, "%s: the system has no automaton %q", what, name).hint("%s", DidYouMean(name, names))
	case len(found) == 1:
		return found[0], nil
	case slices.Contains(found, index):
		return index, nil
	}
	return 0, badInput(p, "%s: automaton %q stands several times in the system", what, name).
		hint("give its place, one of %v, as \"index\"", found)
}

// baseName drops the #2 of further instances.
func baseName(name string) string {
	for i := len(name) - 1; i > 0; i-- {
		if name[i] == '#' {
			return name[:i]
		}
	}
	return name
}

func (m *Model) location(what string, l LocationValue) (VarID, Value, error) {
	i, err := m.instance(what, l.Pos, l.Automaton, l.Index)
	if err != nil {
		return NoVar, 0, err
	}
	x := m.Parts[i].Location
	for v, name := range m.Vars[x].Locations {
		if name == l.Location {
			return x, Value(v), nil
		}
	}
	return NoVar, 0, badInput(l.Pos, "%s: automaton %q has no location %q", what, l.Automaton, l.Location).
		hint("%s", DidYouMean(l.Location, m.Vars[x].Locations))
}

// state resolves one listed state. Variables that it does not name keep their initial
// values.
func (m *Model) state(what string, s StateValues) ([]Value, error) {
	values, known := slices.Clone(m.defaults), slices.Clone(m.given)
	for _, l := range s.Locations {
		x, v, err := m.location(what, l)
		if err != nil {
			return nil, err
		}
		values[x], known[x] = v, true
	}
	for _, a := range s.Variables {
		name := a.Name
		if a.Automaton != "" {
			i, err := m.instance(what, a.Pos, a.Automaton, a.Index)
			if err != nil {
				return nil, err
			}
			name = m.Parts[i].Name + "." + name
		}
		x, err := m.variable(what, a.Pos, name)
		if err != nil {
			return nil, err
		}
		lit, err := resolver{scope: m.scope, at: place{part: what}}.constant(a.Value, KindNone)
		if err != nil {
			return nil, err
		}
		v, wrong := constValue(&m.Vars[x], lit)
		if wrong != "" {
			return nil, badInput(a.Value.Pos, "%s: the variable %q gets %s", what, name, wrong)
		}
		values[x], known[x] = v, true
	}
	for i, ok := range known {
		if !ok {
			return nil, badInput(s.Pos, "%s: a listed state gives no value to %q, which has no initial value", what, m.Vars[i].Name)
		}
	}
	return values, nil
}

// variable finds a scalar variable by its name, or by the bare name of a local.
func (m *Model) variable(what string, p Pos, name string) (VarID, error) {
	x, hint := m.Variable(name)
	if x == NoVar {
		return NoVar, badInput(p, "%s: the model has no variable %q", what, name).hint("%s", hint)
	}
	return x, nil
}

// Variable returns the scalar variable called name: its full name (x, automaton.x,
// a[3], automaton.location), or the bare name of a local that only one instance has.
// If there is none it returns NoVar and a hint, possibly empty.
func (m *Model) Variable(name string) (VarID, string) {
	names := make([]string, len(m.Vars))
	for i := range m.Vars {
		if names[i] = m.Vars[i].Name; names[i] == name {
			return VarID(i), ""
		}
	}
	found := NoVar
	for i := range m.Vars {
		if x := &m.Vars[i]; x.Instance >= 0 && x.Name == m.Parts[x.Instance].Name+"."+name {
			if found != NoVar {
				return NoVar, "several automata have it: write automaton." + name
			}
			found = VarID(i)
		}
	}
	if found != NoVar {
		return found, ""
	}
	return NoVar, DidYouMean(name, names)
}

// ListedState is a state of a file of states.
type ListedState struct {
	Values []Value
	Safe   *bool // what the file says about its safety, nil if nothing
}

// ReadStates reads a file of states: {"variables": [name…], "states": [{"state":
// [value…]}…]}, or a states-values list of the planning dialect, alone or as the start
// part of a property. Variables that are not listed have their initial values. A member
// "safe": true or false beside "state" says what a decider is expected to find.
func (m *Model) ReadStates(src *Source, open Opener, limits Limits) ([]ListedState, error) {
	if err := CheckJSON(src, limits); err != nil {
		return nil, err
	}
	v := gjson.Parse(src.Text)
	if !member(v, "variables").Exists() {
		cond, _, err := ParseCondition(src, "start", open, limits)
		if err != nil {
			return nil, err
		}
		if !cond.Listed {
			return nil, badInput(cond.Pos, "the file has no list of states").
				hint(`{"variables":[…],"states":[{"state":[…]}…]} or a states-values list`)
		}
		set, err := m.StateSet("states", cond)
		var list []ListedState
		for _, values := range set.States {
			list = append(list, ListedState{Values: values})
		}
		return list, err
	}
	p := parser{reader: reader{src: src}}
	var vars []VarID
	p.array(member(v, "variables"), "variables", func(v gjson.Result) {
		x, err := m.variable("states", p.pos(v), p.str(v, "a variable's name"))
		if p.err == nil && err != nil {
			p.err = err
		}
		vars = append(vars, x)
	})
	base, known := m.defaults, slices.Clone(m.given)
	for _, x := range vars {
		if x != NoVar {
			known[x] = true
		}
	}
	for i, ok := range known {
		if !ok && p.err == nil {
			p.fail(v, "states: no value is given for %q, which has no initial value", m.Vars[i].Name)
		}
	}
	var states []ListedState
	p.array(p.required(v, "the file of states", "states"), "states", func(v gjson.Result) {
		row, expected := v, (*bool)(nil)
		if v.IsObject() {
			row = p.required(v, "a state", "state")
			if safe := member(v, "safe"); safe.Exists() {
				expected = new(p.boolean(safe, "safe"))
			}
		}
		state := slices.Clone(base)
		n := 0
		p.array(row, "a state", func(v gjson.Result) {
			if n < len(vars) {
				state[vars[n]] = p.value(v, &m.Vars[vars[n]])
			}
			n++
		})
		if p.err == nil && n != len(vars) {
			p.fail(row, "a state has %d values for %d variables", n, len(vars))
		}
		states = append(states, ListedState{state, expected})
	})
	return states, p.err
}

// required returns the member of an object with this key, which must be there.
func (p *parser) required(v gjson.Result, what, key string) gjson.Result {
	m := member(v, key)
	if !m.Exists() {
		p.fail(v, "%s has no %q", what, key)
	}
	return m
}

// ListedStep is a state of a path as a file gives it, with the action that is taken
// there, "" in the last state.
type ListedStep struct {
	State  []Value
	Action string
}

// ReadPath reads a path, a JSON object with "states": [{name: value…}…] and "actions":
// [label…], one fewer than states. Variables that a state does not name have their
// initial values; other members are ignored.
func (m *Model) ReadPath(src *Source, limits Limits) ([]ListedStep, error) {
	if err := CheckJSON(src, limits); err != nil {
		return nil, err
	}
	v := gjson.Parse(src.Text)
	p := parser{reader: reader{src: src}}
	if !v.IsObject() {
		p.fail(v, "a path must be an object, not %s", describe(v))
		return nil, p.err
	}
	var steps []ListedStep
	p.array(p.required(v, "a path", "states"), "states", func(v gjson.Result) {
		state, known := slices.Clone(m.defaults), slices.Clone(m.given)
		p.object(v, "a state", func(name string, v gjson.Result) bool {
			x, err := m.variable("path", p.pos(v), name)
			if err != nil {
				p.err = err
				return true
			}
			state[x], known[x] = p.value(v, &m.Vars[x]), true
			return true
		})
		if i := slices.Index(known, false); i >= 0 && p.err == nil {
			p.fail(v, "no value is given for %q, which has no initial value", m.Vars[i].Name)
		}
		steps = append(steps, ListedStep{State: state})
	})
	n := 0
	p.array(p.required(v, "a path", "actions"), "actions", func(v gjson.Result) {
		if n < len(steps) {
			steps[n].Action = p.str(v, "an action")
		}
		n++
	})
	if p.err == nil && (len(steps) == 0 || n != len(steps)-1) {
		p.fail(v, "a path has %d states and %d actions; there must be one more state than actions", len(steps), n)
	}
	return steps, p.err
}

// value reads the value of a variable; locations are given by name or number.
func (p *parser) value(v gjson.Result, x *Var) Value {
	if x.Kind == VarLocation && v.Type == gjson.String {
		if i := index(x.Locations, v.Str); i >= 0 {
			return Value(i)
		}
		p.fail(v, "%q has no location %q", x.Name, v.Str)
		return 0
	}
	e := p.expr(v)
	if p.err != nil {
		return 0
	}
	if e.Op != OpConst {
		p.fail(v, "the variable %q gets %s, which is not a value", x.Name, describe(v))
		return 0
	}
	value, wrong := constValue(x, e)
	if wrong != "" {
		p.fail(v, "the variable %q gets %s", x.Name, wrong)
	}
	return value
}

// Describe renders a state as name=value pairs. Locations of automata with a single
// location are left out.
func (m *Model) Describe(state []Value) string {
	text := make([]byte, 0, 16*len(state))
	for i := range m.Vars {
		x := &m.Vars[i]
		if x.Kind == VarLocation && x.Upper == 0 {
			continue
		}
		if len(text) > 0 {
			text = append(text, ' ')
		}
		text = fmt.Appendf(text, "%s=%s", x.Name, x.Format(state[i]))
	}
	return string(text)
}

// AppendJSON appends the state as a JSON object of named values. Locations of automata
// with a single location are left out.
func (m *Model) AppendJSON(b []byte, state []Value) []byte {
	b = append(b, '{')
	for i := range m.Vars {
		x := &m.Vars[i]
		if x.Kind == VarLocation && x.Upper == 0 {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = appendJSONString(b, x.Name)
		b = append(b, ':')
		if x.Kind == VarLocation {
			b = appendJSONString(b, x.Format(state[i]))
		} else {
			b = append(b, x.Format(state[i])...)
		}
	}
	return append(b, '}')
}

func appendJSONString(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil { // strings always marshal
		return append(b, '"', '"')
	}
	return append(b, quoted...)
}
