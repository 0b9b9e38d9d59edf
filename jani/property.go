package jani

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// Opener reads the file that a {"file": name} part of the source from names.
type Opener func(from *Source, name string) (*Source, error)

// maxIndirections bounds chains of {"file": …}, which may be circular.
const maxIndirections = 8

func (p *parser) properties(v gjson.Result) (list []Property) {
	p.array(v, "properties", func(v gjson.Result) {
		prop := Property{Pos: p.pos(v)}
		p.object(v, "a property", func(key string, v gjson.Result) bool {
			switch key {
			case "name":
				prop.Name, prop.Pos = p.str(v, "a property's name"), p.pos(v)
			case "expression":
				prop.body = v
			default:
				return false
			}
			return true
		}, "name", "expression")
		list = append(list, prop)
	})
	return list
}

// ParseProperties reads a property file: {"properties": […]} as in a model, one bare
// planning property, or an object with some of the parts start, goal, objective, and
// safe. (A part called "safe" holds the unsafe condition: that is how the planning
// tools call it.)
func ParseProperties(src *Source, limits Limits) ([]Property, error) {
	if err := CheckJSON(src, limits); err != nil {
		return nil, err
	}
	p := parser{reader: reader{src: src}}
	v := gjson.Parse(src.Text)
	if !v.IsObject() {
		p.fail(v, "a property file must hold an object, not %s", describe(v))
		return nil, p.err
	}
	if list := member(v, "properties"); list.Exists() {
		props := p.properties(list)
		return props, p.err
	}
	prop := Property{Name: "property", Pos: p.pos(v), body: v}
	if !prop.IsPlanning() {
		p.fail(v, "the file has neither \"properties\" nor a part \"start\", \"safe\", \"goal\" or \"objective\"")
	}
	return []Property{prop}, p.err
}

// member returns the member of an object with exactly this key.
func member(v gjson.Result, key string) (m gjson.Result) {
	v.ForEach(func(k, x gjson.Result) bool {
		if k.Str == key {
			m = x
		}
		return k.Str != key
	})
	return m
}

// Op returns the operator of the property, "" if it has none.
func (p Property) Op() string { return member(p.body, "op").Str }

// IsPlanning reports whether the property belongs to the planning dialect.
func (p Property) IsPlanning() bool {
	if op := p.Op(); op != "" {
		return op == "PA"
	}
	for _, key := range [...]string{"start", "reach", "safe", "goal", "objective"} {
		if member(p.body, key).Exists() {
			return true
		}
	}
	return false
}

// Planning reads the start, unsafe and goal conditions of a property. Parts of a planning
// property that do not matter for safety (rewards, potentials, predicates, a policy file)
// are skipped. Of a standard property the target of its path formula becomes the unsafe
// condition; see standard.
func (p Property) Planning(open Opener, limits Limits) (*Planning, []Warning, error) {
	if !p.IsPlanning() {
		return p.standard()
	}
	r := parser{reader: reader{src: p.Pos.Src}}
	c := conditionReader{open: open, limits: limits}
	plan := &Planning{}
	r.object(p.body, "a planning property", func(key string, v gjson.Result) bool {
		switch key {
		case "op", "predicates", "file", "name":
		case "start":
			plan.Start = c.condition(&r, v, "start", maxIndirections)
		case "reach", "safe":
			plan.Unsafe = c.condition(&r, v, "safe", maxIndirections)
		case "objective", "goal":
			plan.Goal = c.condition(&r, v, "goal", maxIndirections)
		default:
			return false
		}
		return true
	})
	return plan, append(c.warnings, r.warnings...), r.err
}

// standard reads a property such as filter(max, Pmax(F φ), initial). F φ makes φ unsafe, G φ
// makes ¬φ unsafe, and φ U ψ makes ψ unsafe and ends runs well where φ fails. φ W ψ and
// ψ R φ, like G, say what must hold: ¬φ is unsafe until ψ ends the run well, where W lets φ
// fail together with ψ and R does not. What is asked about the path, a probability or a
// quantifier, does not matter.
func (p Property) standard() (*Planning, []Warning, error) {
	r := parser{reader: reader{src: p.Pos.Src}}
	v := p.body
	for r.err == nil {
		op := member(v, "op").Str
		next := gjson.Result{}
		switch op {
		case "filter":
			next = member(v, "values")
		case "Pmin", "Pmax", "∀", "∃":
			next = member(v, "exp")
		case "<", "≤", ">", "≥", "=", "≠": // a probability compared with a bound
			if next = member(v, "left"); !next.IsObject() {
				next = member(v, "right")
			}
		case "F", "G", "U", "W", "R":
			for _, bounds := range [...]string{"step-bounds", "time-bounds", "reward-bounds"} {
				if b := member(v, bounds); b.Exists() {
					r.reject(b, "a path formula with %s", bounds)
				}
			}
			plan := r.pathFormula(op, v)
			return plan, r.warnings, r.err
		default:
			return nil, nil, unsupported(p.Pos, "property %q with operator %q as a source of conditions", p.Name, op).
				hint("use a planning property or a path formula F, G, U, W or R, or give --unsafe, --goal and --start")
		}
		if !next.IsObject() {
			r.fail(v, "the operator %q has no formula to look at", op)
		}
		v = next
	}
	return nil, nil, r.err
}

func (p *parser) pathFormula(op string, v gjson.Result) *Planning {
	read := func(key string) *Expr {
		m := member(v, key)
		if !m.Exists() {
			p.fail(v, "the operator %q needs %q", op, key)
			return nil
		}
		return p.expr(m)
	}
	not := func(e *Expr) *Expr { return &Expr{Op: OpNot, Args: []*Expr{e}, Pos: p.pos(v)} }
	condition := func(e *Expr) *Condition { return &Condition{Exp: e, Pos: p.pos(v)} }
	switch op {
	case "F":
		return &Planning{Unsafe: condition(read("exp"))}
	case "G":
		return &Planning{Unsafe: condition(not(read("exp")))}
	}
	left, right := read("left"), read("right")
	both := func(op Op, a, b *Expr) *Condition {
		return condition(&Expr{Op: op, Args: []*Expr{a, b}, Pos: p.pos(v)})
	}
	switch op {
	case "W":
		return &Planning{Unsafe: condition(not(both(OpOr, left, right).Exp)), Goal: condition(right)}
	case "R":
		return &Planning{Unsafe: condition(not(right)), Goal: both(OpAnd, left, right)}
	}
	return &Planning{Unsafe: condition(right), Goal: condition(not(left))}
}

// ParseCondition reads a file with one condition: a state-condition, a states-values
// list, an objective, or an object with the single part role ("start", "safe" or
// "goal").
func ParseCondition(src *Source, role string, open Opener, limits Limits) (*Condition, []Warning, error) {
	if err := CheckJSON(src, limits); err != nil {
		return nil, nil, err
	}
	r := parser{reader: reader{src: src}}
	c := conditionReader{open: open, limits: limits}
	cond := c.condition(&r, gjson.Parse(src.Text), role, maxIndirections)
	return cond, append(c.warnings, r.warnings...), r.err
}

// conditionReader follows {"file": …} parts; each file is read by a parser of its own,
// whose warnings gather here.
type conditionReader struct {
	open     Opener
	limits   Limits
	warnings []Warning
}

func (c *conditionReader) condition(p *parser, v gjson.Result, role string, hops int) *Condition {
	if !v.IsObject() {
		return &Condition{Exp: p.expr(v), Pos: p.pos(v)}
	}
	if op := member(v, "op"); op.Exists() {
		switch op.Str {
		case "objective":
			goal := member(v, "goal")
			if !goal.Exists() {
				return nil // an objective without goal: runs never end well
			}
			return c.condition(p, goal, role, hops)
		case "state-condition":
			return p.stateCondition(v)
		case "states-values":
			return p.statesValues(v)
		}
		return &Condition{Exp: p.expr(v), Pos: p.pos(v)}
	}
	if file := member(v, "file"); file.Exists() {
		return c.fromFile(p, file, role, hops)
	}
	also := map[string]string{"goal": "objective", "safe": "reach", "start": "start"}[role]
	for _, key := range [...]string{role, also} {
		if part := member(v, key); part.Exists() {
			return c.condition(p, part, role, hops)
		}
	}
	return &Condition{Exp: p.expr(v), Pos: p.pos(v)}
}

func (c *conditionReader) fromFile(p *parser, file gjson.Result, role string, hops int) *Condition {
	name := p.str(file, "a file name")
	if p.err != nil {
		return nil
	}
	if hops == 0 {
		p.fail(file, "more than %d files refer to each other; is there a circle?", maxIndirections)
		return nil
	}
	src, err := c.open(p.src, name)
	if err != nil {
		p.fail(file, "cannot read the file %q: %v", name, err)
		return nil
	}
	if err := CheckJSON(src, c.limits); err != nil {
		p.err = err
		return nil
	}
	inner := parser{reader: reader{src: src}}
	cond := c.condition(&inner, gjson.Parse(src.Text), role, hops-1)
	c.warnings = append(c.warnings, inner.warnings...)
	p.err = inner.err
	return cond
}

func (p *parser) stateCondition(v gjson.Result) *Condition {
	c := &Condition{Pos: p.pos(v)}
	p.object(v, "a state-condition", func(key string, v gjson.Result) bool {
		switch key {
		case "op":
		case "exp":
			c.Exp = p.expr(v)
		case "locations":
			p.array(v, "locations", func(v gjson.Result) { c.Locations = append(c.Locations, p.locationValue(v)) })
		default:
			return false
		}
		return true
	})
	return c
}

func (p *parser) locationValue(v gjson.Result) LocationValue {
	l := LocationValue{Index: -1, Pos: p.pos(v)}
	p.object(v, "a location value", func(key string, v gjson.Result) bool {
		switch key {
		case "automaton":
			l.Automaton = p.str(v, "an automaton's name")
		case "index":
			l.Index = p.int(v, "an instance's index")
		case "location":
			l.Location = p.str(v, "a location's name")
		default:
			return false
		}
		return true
	}, "automaton", "location")
	return l
}

func (p *parser) statesValues(v gjson.Result) *Condition {
	c := &Condition{Listed: true, Pos: p.pos(v)}
	p.object(v, "a states-values list", func(key string, v gjson.Result) bool {
		switch key {
		case "op":
		case "values":
			p.array(v, "values", func(v gjson.Result) { c.States = append(c.States, p.stateValues(v)) })
		default:
			return false
		}
		return true
	}, "values")
	return c
}

func (p *parser) stateValues(v gjson.Result) StateValues {
	s := StateValues{Pos: p.pos(v)}
	p.object(v, "a state", func(key string, v gjson.Result) bool {
		switch key {
		case "locations":
			p.array(v, "locations", func(v gjson.Result) { s.Locations = append(s.Locations, p.locationValue(v)) })
		case "variables":
			p.array(v, "variables", func(v gjson.Result) { s.Variables = append(s.Variables, p.variableValue(v)) })
		default:
			return false
		}
		return true
	})
	return s
}

func (p *parser) variableValue(v gjson.Result) VariableValue {
	x := VariableValue{Index: -1, Pos: p.pos(v)}
	p.object(v, "a variable's value", func(key string, v gjson.Result) bool {
		switch key {
		case "var":
			x.Name, x.Pos = p.variableName(v), p.pos(v)
		case "value":
			x.Value = p.expr(v)
		case "automaton":
			if v.Type != gjson.Null {
				x.Automaton = p.str(v, "an automaton's name")
			}
		case "index":
			x.Index = p.int(v, "an index")
		default:
			return false
		}
		return true
	}, "var", "value")
	return x
}

// variableName reads the name of a variable or, as {"op":"aa",…}, of an array element
// with constant indices.
func (p *parser) variableName(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.Str
	}
	e := p.expr(v)
	suffix := ""
	for p.err == nil && e.Op == OpAccess && e.Args[1].Op == OpConst && e.Args[1].Kind == KindInt {
		suffix = fmt.Sprintf("[%d]%s", e.Args[1].Int, suffix)
		e = e.Args[0]
	}
	if p.err == nil && e.Op != OpName {
		p.fail(v, "a variable's name is expected")
	}
	return e.Name + suffix
}
