package jani

import (
	"fmt"
	"strconv"
)

// transientVar is a transient variable. In a state it has the values that the current
// locations give it, else the initial ones. While a transition is made, it has values of its
// own if it has initial ones and assignments mention it. Assignments to one without initial
// value are only checked for their types: nothing may read it before it is reset.
type transientVar struct {
	name     string
	kind     Kind    // of the scalar or the elements
	dims     []int   // nil for a scalar
	scalars  []Var   // the variable or the elements of the array, row-major
	initial  []*Expr // their initial values; nil: none
	slot     int     // 1 + index in Model.Transients if assignments mention the variable
	settings []transientSetting
	state    []*Expr // the values in a state, once computed
	busy     bool    // state is being computed
	compiler *compiler
}

// transientSetting is a transient value in a location.
type transientSetting struct {
	Assignment
	instance int
	location Value
	at       place
}

// transientWrite sets a scalar of a transient variable if a condition holds (nil: always).
type transientWrite struct {
	scalar      int
	when, value *Expr
}

// transient makes a transient variable.
func (c *compiler) transient(name string, b binding, scalars []Var, initial []*Expr) *transientVar {
	t := &transientVar{name: name, kind: b.kind, dims: b.dims, scalars: scalars, initial: initial, compiler: c}
	c.transients = append(c.transients, t)
	if initial[0] != nil && c.inAssignments(name) {
		t.slot = len(c.model.Transients) + 1
		for i := range scalars {
			value, _ := constValue(&scalars[i], initial[i])
			c.model.Transients = append(c.model.Transients, scalars[i])
			c.model.TransientInit = append(c.model.TransientInit, value)
		}
	}
	return t
}

// inAssignments reports whether some assignment or the body of a function may set or read
// the variable called name. It goes by the name alone.
func (c *compiler) inAssignments(name string) bool {
	if c.read == nil {
		c.read = map[string]bool{}
		var note func(e *Expr)
		note = func(e *Expr) {
			if e.Op == OpName {
				c.read[e.Name] = true
			}
			for _, a := range e.Args {
				note(a)
			}
		}
		noteAll := func(list []Function) {
			for i := range list {
				note(list[i].Body)
			}
		}
		noteAll(c.doc.Functions)
		for _, a := range c.doc.Automata {
			noteAll(a.Functions)
			for _, e := range a.Edges {
				for _, d := range e.Destinations {
					for _, x := range d.Assignments {
						note(x.Value)
						c.read[root(x.Ref).Name] = true
						for _, index := range x.Ref.Args {
							note(index)
						}
					}
				}
			}
		}
	}
	return c.read[name]
}

// transientSettings collects the transient values of all locations.
func (c *compiler) transientSettings() error {
	for i, at := range c.places {
		for l, location := range at.automaton.Locations {
			part := place{at.automaton.Name, -1, "transient value in location " + strconv.Quote(location.Name)}
			for _, a := range location.Transient {
				b, ok := c.locals[i].lookup(root(a.Ref).Name)
				if !ok || b.transient == nil {
					return resolver{at: part}.fail(a.Ref.Pos, "only transient variables have transient values")
				}
				b.transient.settings = append(b.transient.settings, transientSetting{a, i, Value(l), part})
			}
		}
	}
	c.settled = true
	return nil
}

// transientValues computes the values in a state of all transient variables.
func (c *compiler) transientValues() error {
	for _, t := range c.transients {
		if err := t.compute(); err != nil {
			return err
		}
	}
	return nil
}

// read resolves the name of t.
func (t *transientVar) read(r resolver, p Pos) (*Expr, error) {
	values := t.state
	switch {
	case !t.compiler.settled:
		return nil, r.fail(p, "the transient variable %q is not constant", t.name)
	case r.assigns && t.slot > 0:
		values = make([]*Expr, len(t.scalars))
		for i := range values {
			values[i] = &Expr{Op: OpVar, Kind: t.kind, Var: r.base + VarID(t.slot-1+i), Pos: p}
		}
	case r.assigns:
		return nil, unsupported(p, "%s: reading the transient variable %q, which has no initial value,", r.at, t.name)
	case t.busy:
		return nil, r.fail(p, "the value of the transient variable %q depends on itself", t.name)
	case values == nil:
		if err := t.compute(); err != nil {
			return nil, err
		}
		values = t.state
	}
	size := 0
	for _, v := range values {
		size += v.size(maxUnrolled)
	}
	if err := r.spend(p, size); err != nil {
		return nil, err
	}
	if t.dims == nil {
		return values[0], nil
	}
	return &Expr{Op: OpArray, Kind: KindArray, Dims: t.dims, Args: values, Pos: p}, nil
}

// compute makes the values in a state.
func (t *transientVar) compute() error {
	if t.state != nil {
		return nil
	}
	t.busy = true
	defer func() { t.busy = false }()
	type source struct {
		transientWrite
		*transientSetting
		chosen *Expr // the condition without that of the location
	}
	sources := make([][]source, len(t.scalars))
	for i := range t.settings {
		s := &t.settings[i]
		r := t.compiler.resolver(t.compiler.locals[s.instance], s.at)
		value, err := r.value(s.Value)
		if err != nil {
			return err
		}
		writes, err := r.written(t, s.Assignment, value)
		if err != nil {
			return err
		}
		m := t.compiler.model
		for _, w := range writes {
			chosen := w.when
			if loc := m.Parts[s.instance].Location; m.Vars[loc].Upper > 0 {
				here := equals(m, loc, &Expr{Op: OpConst, Kind: KindInt, Int: int64(s.location), Pos: s.Pos})
				if w.when != nil {
					here = &Expr{Op: OpAnd, Kind: KindBool, Args: []*Expr{here, w.when}, Pos: s.Pos}
				}
				w.when = here
			}
			sources[w.scalar] = append(sources[w.scalar], source{w, s, chosen})
		}
	}
	state := make([]*Expr, len(t.scalars))
	for j, initial := range t.initial {
		if state[j] = initial; initial == nil {
			never := &Expr{Op: OpConst, Kind: KindBool, Pos: t.scalars[j].Pos}
			any := &Expr{Op: OpConst, Kind: t.kind, Pos: t.scalars[j].Pos}
			state[j] = assert(never, any, fmt.Sprintf("the transient variable %q has no value", t.name))
		}
		list := sources[j]
		for i := len(list) - 1; i >= 0; i-- {
			s := list[i]
			value := s.value
			for _, other := range list[i+1:] {
				when := other.when
				if other.instance == s.instance {
					if other.location != s.location {
						continue
					}
					when = other.chosen
				}
				if err := (&resolver{at: s.at, left: &t.compiler.left}).spend(s.Pos, value.size(maxUnrolled)); err != nil {
					return err
				}
				same := (&Expr{Op: OpEq, Kind: KindBool, Args: []*Expr{other.value, s.value}, Pos: other.Pos}).fold()
				if when != nil {
					same = (&Expr{Op: OpImplies, Kind: KindBool, Args: []*Expr{when, same}, Pos: other.Pos}).fold()
				} else if same.Op == OpConst && same.Int == 0 {
					return badInput(other.Pos, "%s: the transient variable %q gets two different values", other.at, t.name)
				}
				value = assert(same, value, fmt.Sprintf("the transient variable %q gets two different values", t.name))
			}
			if s.when != nil {
				value = (&Expr{Op: OpIte, Kind: t.kind, Args: []*Expr{s.when, value, state[j]}, Pos: s.Pos}).fold()
			}
			state[j] = value
		}
	}
	t.state = state
	return nil
}

// written returns what an assignment of value to t or parts of it sets.
func (r resolver) written(t *transientVar, a Assignment, value *Expr) ([]transientWrite, error) {
	target, err := r.scalarsOf(t, a.Ref)
	if err != nil {
		return nil, err
	}
	targets, values, err := r.pairs(a, r.whole(target), value)
	if err != nil {
		return nil, err
	}
	var list []transientWrite
	for i, x := range targets {
		v, err := r.within(values[i], &t.scalars[0], a.Value.Pos, fmt.Sprintf("the value of the transient variable %q", t.name))
		switch {
		case err != nil:
			return nil, err
		case v.Op == OpAssert && v.Args[0].Op == OpConst:
			return nil, r.fail(a.Value.Pos, "%s", v.Name)
		case x.Op == OpVar:
			list = append(list, transientWrite{scalar: int(x.Var), value: v})
			continue
		case x.Len == 0:
			return nil, r.fail(a.Ref.Pos, "the array has no such element")
		}
		if err := r.spend(a.Pos, x.Len*x.Args[0].size(maxUnrolled)); err != nil {
			return nil, err
		}
		for k := range x.Len {
			number := &Expr{Op: OpConst, Kind: KindInt, Int: int64(k), Pos: a.Pos}
			when := &Expr{Op: OpEq, Kind: KindBool, Args: []*Expr{x.Args[0], number}, Pos: a.Pos}
			list = append(list, transientWrite{int(x.Var) + k, when, v})
		}
	}
	return list, nil
}

// scalarsOf resolves ref, which is t or a part of it, as if the scalars of t were the
// variables from 0 on.
func (r resolver) scalarsOf(t *transientVar, ref *Expr) (*Expr, error) {
	switch {
	case ref.Op == OpName && t.dims == nil:
		return &Expr{Op: OpVar, Kind: t.kind, Pos: ref.Pos}, nil
	case ref.Op == OpName:
		return r.arrayOf(ref.Pos, binding{kind: t.kind, dims: t.dims})
	}
	base, err := r.scalarsOf(t, ref.Args[0])
	if err != nil {
		return nil, err
	}
	index, err := r.scalar(ref.Args[1], KindInt)
	if err != nil {
		return nil, err
	}
	return r.indexed(ref.Pos, base, index)
}

// root returns the name in a reference to a variable or an array element.
func root(ref *Expr) *Expr {
	for ref.Op == OpAccess {
		ref = ref.Args[0]
	}
	return ref
}
