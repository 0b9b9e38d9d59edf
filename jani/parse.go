package jani

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Parse reads a JANI model. The whole text is checked first (see CheckJSON); the first
// defect, and the first construct that is not supported, is an *Error. Properties are
// kept unread until they are asked for, since a model may hold many that concern
// other tools. Time is linear in the text times the depth of its nesting.
func Parse(src *Source, limits Limits) (*Document, error) {
	if err := CheckJSON(src, limits); err != nil {
		return nil, err
	}
	p := parser{reader: reader{src: src}, doc: &Document{Source: src}}
	p.model(gjson.Parse(src.Text))
	if p.err != nil {
		return nil, p.err
	}
	p.doc.Warnings = p.warnings
	return p.doc, nil
}

type parser struct {
	reader
	doc *Document
}

func (p *parser) model(v gjson.Result) {
	d := p.doc
	p.object(v, "the model", func(key string, v gjson.Result) bool {
		switch key {
		case "jani-version":
			if p.int(v, "jani-version") < 1 {
				p.fail(v, "jani-version must be at least 1")
			}
		case "name":
			d.Name = p.str(v, "name")
		case "type":
			d.Type = p.modelType(v)
		case "features":
			p.array(v, "features", func(v gjson.Result) { d.Features = append(d.Features, p.str(v, "a feature")) })
		case "metadata", "x-metadata":
		case "actions":
			p.array(v, "actions", func(v gjson.Result) { d.Actions = append(d.Actions, p.action(v)) })
		case "constants":
			p.array(v, "constants", func(v gjson.Result) { d.Constants = append(d.Constants, p.constant(v)) })
		case "variables":
			p.array(v, "variables", func(v gjson.Result) { d.Variables = append(d.Variables, p.variable(v)) })
		case "restrict-initial":
			d.Restrict = p.wrapped(v, "restrict-initial")
		case "automata":
			p.array(v, "automata", func(v gjson.Result) { d.Automata = append(d.Automata, p.automaton(v)) })
		case "system":
			d.System = p.composition(v)
		case "properties":
			d.Properties = p.properties(v)
		case "functions":
			p.array(v, "functions", func(v gjson.Result) { d.Functions = append(d.Functions, p.function(v)) })
		case "datatypes":
			p.rejectUnlessEmpty(v, "a datatype")
		default:
			return false
		}
		return true
	}, "jani-version", "name", "type", "automata", "system")
	if p.err == nil && len(d.Automata) == 0 {
		p.fail(v, "the model has no automaton")
	}
}

func (p *parser) rejectUnlessEmpty(v gjson.Result, what string) {
	p.array(v, what+" list", func(v gjson.Result) { p.reject(v, "%s", what) })
}

func (p *parser) modelType(v gjson.Result) ModelType {
	t := p.str(v, "type")
	switch t {
	case "lts", "dtmc", "mdp", "ctmc", "ctmdp", "ma":
	case "ta", "pta", "sta", "ha", "pha", "sha":
		p.reject(v, "model type %q", t)
	default:
		p.fail(v, "unknown model type %q", t)
	}
	return ModelType(t)
}

func (p *parser) action(v gjson.Result) (a Action) {
	p.object(v, "an action", func(key string, v gjson.Result) bool {
		if key != "name" {
			return false
		}
		a = Action{p.str(v, "an action's name"), p.pos(v)}
		return true
	}, "name")
	return a
}

func (p *parser) constant(v gjson.Result) (c Constant) {
	p.object(v, "a constant", func(key string, v gjson.Result) bool {
		switch key {
		case "name":
			c.Name, c.Pos = p.str(v, "a constant's name"), p.pos(v)
		case "type":
			c.Type = p.typeDecl(v)
		case "value":
			c.Value = p.expr(v)
		default:
			return false
		}
		return true
	}, "name", "type")
	return c
}

func (p *parser) variable(v gjson.Result) (x Variable) {
	p.object(v, "a variable", func(key string, v gjson.Result) bool {
		switch key {
		case "name":
			x.Name, x.Pos = p.str(v, "a variable's name"), p.pos(v)
		case "type":
			x.Type = p.typeDecl(v)
		case "initial-value":
			x.Initial = p.expr(v)
		case "transient":
			x.Transient = p.boolean(v, "transient")
		default:
			return false
		}
		return true
	}, "name", "type")
	return x
}

func (p *parser) function(v gjson.Result) (f Function) {
	p.object(v, "a function", func(key string, v gjson.Result) bool {
		switch key {
		case "name":
			f.Name, f.Pos = p.str(v, "a function's name"), p.pos(v)
		case "type":
			f.Type = p.typeDecl(v)
		case "parameters":
			p.array(v, "parameters", func(v gjson.Result) { f.Parameters = append(f.Parameters, p.parameter(v)) })
		case "body":
			f.Body = p.expr(v)
		default:
			return false
		}
		return true
	}, "name", "type", "parameters", "body")
	return f
}

func (p *parser) parameter(v gjson.Result) (x Parameter) {
	p.object(v, "a parameter", func(key string, v gjson.Result) bool {
		switch key {
		case "name":
			x.Name, x.Pos = p.str(v, "a parameter's name"), p.pos(v)
		case "type":
			x.Type = p.typeDecl(v)
		default:
			return false
		}
		return true
	}, "name", "type")
	return x
}

func (p *parser) typeDecl(v gjson.Result) TypeDecl {
	t := TypeDecl{Pos: p.pos(v)}
	if v.Type == gjson.String {
		switch v.Str {
		case "bool":
			t.Kind = KindBool
		case "int":
			t.Kind = KindInt
		case "real":
			t.Kind = KindReal
		case "clock", "continuous":
			p.reject(v, "the type %q", v.Str)
		default:
			p.fail(v, "unknown type %q", v.Str)
		}
		return t
	}
	kind, base := "", gjson.Result{}
	p.object(v, "a type", func(key string, v gjson.Result) bool {
		switch key {
		case "kind":
			kind = p.str(v, "a type's kind")
		case "base":
			base = v
		case "lower-bound":
			t.Lower = p.expr(v)
		case "upper-bound":
			t.Upper = p.expr(v)
		case "ref":
			p.reject(v, "a datatype")
		default:
			return false
		}
		return true
	}, "kind")
	if p.err != nil {
		return t
	}
	switch kind {
	case "bounded", "array":
		if !base.Exists() {
			p.fail(v, "the %s type has no \"base\"", kind)
			return t
		}
		b := p.typeDecl(base)
		if kind == "array" {
			t.Kind, t.Elem = KindArray, &b
			break
		}
		t.Kind = b.Kind
		if p.err == nil && b.Kind != KindInt && b.Kind != KindReal {
			p.fail(base, "a bounded type needs the base int or real")
		}
		if p.err == nil && t.Lower == nil && t.Upper == nil {
			p.fail(v, "a bounded type needs a lower or an upper bound")
		}
	case "datatype", "option":
		p.reject(v, "the type kind %q", kind)
	default:
		p.fail(v, "unknown type kind %q", kind)
	}
	return t
}

func (p *parser) automaton(v gjson.Result) (a Automaton) {
	a.Pos = p.pos(v)
	p.object(v, "an automaton", func(key string, v gjson.Result) bool {
		switch key {
		case "name":
			a.Name, a.Pos = p.str(v, "an automaton's name"), p.pos(v)
		case "variables":
			p.array(v, "variables", func(v gjson.Result) { a.Variables = append(a.Variables, p.variable(v)) })
		case "restrict-initial":
			a.Restrict = p.wrapped(v, "restrict-initial")
		case "locations":
			p.array(v, "locations", func(v gjson.Result) { a.Locations = append(a.Locations, p.location(v)) })
		case "initial-locations":
			p.array(v, "initial-locations", func(v gjson.Result) {
				a.Initial = append(a.Initial, p.name(v, "an initial location"))
			})
		case "edges":
			p.array(v, "edges", func(v gjson.Result) { a.Edges = append(a.Edges, p.edge(v)) })
		case "functions":
			p.array(v, "functions", func(v gjson.Result) { a.Functions = append(a.Functions, p.function(v)) })
		default:
			return false
		}
		return true
	}, "name", "locations", "initial-locations", "edges")
	if p.err == nil && (len(a.Locations) == 0 || len(a.Initial) == 0) {
		p.fail(v, "automaton %q needs at least one location and one initial location", a.Name)
	}
	return a
}

func (p *parser) location(v gjson.Result) (l Location) {
	p.object(v, "a location", func(key string, v gjson.Result) bool {
		switch key {
		case "name":
			l.Name, l.Pos = p.str(v, "a location's name"), p.pos(v)
		case "time-progress":
			p.reject(v, "a time-progress condition")
		case "transient-values":
			p.array(v, "transient-values", func(v gjson.Result) { l.Transient = append(l.Transient, p.assignment(v)) })
		default:
			return false
		}
		return true
	}, "name")
	return l
}

func (p *parser) edge(v gjson.Result) (e Edge) {
	e.Pos = p.pos(v)
	p.object(v, "an edge", func(key string, v gjson.Result) bool {
		switch key {
		case "location":
			e.Source = p.name(v, "an edge's location")
		case "action":
			e.Action = p.name(v, "an edge's action")
		case "rate":
			e.Rate = p.wrapped(v, "a rate")
		case "guard":
			e.Guard = p.wrapped(v, "a guard")
		case "destinations":
			p.array(v, "destinations", func(v gjson.Result) {
				e.Destinations = append(e.Destinations, p.destination(v))
			})
			if p.err == nil && len(e.Destinations) == 0 {
				p.fail(v, "an edge needs at least one destination")
			}
		default:
			return false
		}
		return true
	}, "location", "destinations")
	return e
}

func (p *parser) destination(v gjson.Result) (d Destination) {
	d.Pos = p.pos(v)
	p.object(v, "a destination", func(key string, v gjson.Result) bool {
		switch key {
		case "location":
			d.Target = p.name(v, "a destination's location")
		case "probability":
			d.Probability = p.wrapped(v, "a probability")
		case "assignments":
			p.array(v, "assignments", func(v gjson.Result) {
				d.Assignments = append(d.Assignments, p.assignment(v))
			})
		default:
			return false
		}
		return true
	}, "location")
	return d
}

func (p *parser) assignment(v gjson.Result) (a Assignment) {
	a.Pos = p.pos(v)
	p.object(v, "an assignment", func(key string, v gjson.Result) bool {
		switch key {
		case "ref":
			a.Ref = p.expr(v)
			if p.err == nil && a.Ref.Op != OpName && a.Ref.Op != OpAccess {
				p.fail(v, "an assignment's target must be a variable or an array element")
			}
		case "value":
			a.Value = p.expr(v)
		case "index":
			if a.Index = p.int(v, "an assignment's index"); a.Index < math.MinInt32 || a.Index > math.MaxInt32 {
				p.fail(v, "an assignment's index must fit into 32 bits")
			}
		default:
			return false
		}
		return true
	}, "ref", "value")
	return a
}

func (p *parser) composition(v gjson.Result) (c Composition) {
	c.Pos = p.pos(v)
	p.object(v, "the system", func(key string, v gjson.Result) bool {
		switch key {
		case "elements":
			p.array(v, "elements", func(v gjson.Result) { c.Elements = append(c.Elements, p.element(v)) })
		case "syncs":
			c.HasSyncs = true
			p.array(v, "syncs", func(v gjson.Result) { c.Syncs = append(c.Syncs, p.sync(v)) })
		default:
			return false
		}
		return true
	}, "elements")
	if p.err == nil && len(c.Elements) == 0 {
		p.fail(v, "the system has no element")
	}
	return c
}

func (p *parser) element(v gjson.Result) (e Element) {
	e.Pos = p.pos(v)
	p.object(v, "an element", func(key string, v gjson.Result) bool {
		switch key {
		case "automaton":
			e.Automaton = p.name(v, "an element's automaton")
		case "input-enable":
			p.array(v, "input-enable", func(v gjson.Result) {
				e.InputEnable = append(e.InputEnable, p.name(v, "an input-enabled action"))
			})
		default:
			return false
		}
		return true
	}, "automaton")
	return e
}

func (p *parser) sync(v gjson.Result) (s Sync) {
	s.Pos = p.pos(v)
	p.object(v, "a synchronisation vector", func(key string, v gjson.Result) bool {
		switch key {
		case "synchronise":
			p.array(v, "synchronise", func(v gjson.Result) {
				if v.Type == gjson.Null {
					s.Participants = append(s.Participants, Name{Pos: p.pos(v)})
				} else {
					s.Participants = append(s.Participants, p.name(v, "a synchronised action"))
				}
			})
		case "result":
			if v.Type != gjson.Null {
				s.Result = p.name(v, "a synchronisation's result")
			}
		default:
			return false
		}
		return true
	}, "synchronise")
	return s
}

// wrapped reads {"exp": E}.
func (p *parser) wrapped(v gjson.Result, what string) (e *Expr) {
	p.object(v, what, func(key string, v gjson.Result) bool {
		if key != "exp" {
			return false
		}
		e = p.expr(v)
		return true
	}, "exp")
	return e
}

// binary, unary: the operators by JANI name. ASCII spellings of comparisons are not
// JANI but accepted with a warning.
func binaryOp(name string) (op Op, jani bool) {
	switch name {
	case "∨":
		return OpOr, true
	case "∧":
		return OpAnd, true
	case "⇒":
		return OpImplies, true
	case "=":
		return OpEq, true
	case "≠":
		return OpNe, true
	case "<":
		return OpLt, true
	case "≤":
		return OpLe, true
	case ">":
		return OpGt, true
	case "≥":
		return OpGe, true
	case "+":
		return OpAdd, true
	case "-":
		return OpSub, true
	case "*":
		return OpMul, true
	case "%":
		return OpMod, true
	case "/":
		return OpDiv, true
	case "pow":
		return OpPow, true
	case "log":
		return OpLog, true
	case "min":
		return OpMin, true
	case "max":
		return OpMax, true
	case "<=":
		return OpLe, false
	case ">=":
		return OpGe, false
	case "!=":
		return OpNe, false
	}
	return OpNone, true
}

func unaryOp(name string) Op {
	switch name {
	case "¬":
		return OpNot
	case "-":
		return OpNeg
	case "abs":
		return OpAbs
	case "sgn":
		return OpSgn
	case "trc":
		return OpTrc
	case "floor":
		return OpFloor
	case "ceil":
		return OpCeil
	}
	for op := OpSin; op <= OpAcsch; op++ {
		if op.String() == name {
			return op
		}
	}
	return OpNone
}

// expr reads an expression. It recurses as deep as the text nests, which Limits bounds.
func (p *parser) expr(v gjson.Result) *Expr {
	e := &Expr{Pos: p.pos(v)}
	switch v.Type {
	case gjson.Number:
		if err := e.literal(v.Raw); err != "" {
			p.fail(v, "%s", err)
		}
	case gjson.True, gjson.False:
		e.Op, e.Kind, e.Int = OpConst, KindBool, int64(btoi(v.Type == gjson.True))
	case gjson.String:
		e.Op, e.Name = OpName, v.Str
	case gjson.JSON:
		if v.IsObject() {
			return p.operation(v)
		}
		fallthrough
	default:
		p.fail(v, "an expression is expected, not %s", describe(v))
	}
	return e
}

// literal fills e from a number; integers without fraction and exponent are int.
// It returns what is wrong, or "".
func (e *Expr) literal(raw string) string {
	e.Op = OpConst
	if !strings.ContainsAny(raw, ".eE") {
		n, err := strconv.ParseInt(raw, 10, 64)
		if err != nil {
			return "the integer " + raw + " does not fit into 64 bits"
		}
		e.Kind, e.Int = KindInt, n
		return ""
	}
	f, err := strconv.ParseFloat(raw, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return "“" + raw + "” is not a number"
	}
	if err != nil {
		return "the number " + raw + " is out of the range of a double"
	}
	e.Kind, e.Real = KindReal, f
	return ""
}

func (p *parser) operation(v gjson.Result) *Expr {
	var op, constant gjson.Result
	args := map[string]gjson.Result{}
	p.object(v, "an expression", func(key string, m gjson.Result) bool {
		switch key {
		case "op":
			op = m
		case "constant":
			constant = m
		case "left", "right", "if", "then", "else", "exp", "index", "elements", "var", "length", "name",
			"variables", "expression", "function", "args", "state-vars":
			args[key] = m
		default:
			return false
		}
		return true
	})
	e := &Expr{Pos: p.pos(v)}
	if p.err != nil {
		return e
	}
	has := func(k string) bool {
		if !args[k].Exists() {
			p.fail(v, "the operator %q needs %q", op.Str, k)
		}
		return p.err == nil
	}
	need := func(keys ...string) {
		for _, k := range keys {
			if !has(k) {
				return
			}
			e.Args = append(e.Args, p.expr(args[k]))
		}
	}
	if !op.Exists() {
		inner, named := args["exp"]
		switch {
		case constant.Exists() && constant.Str == "e":
			e.Op, e.Kind, e.Real = OpConst, KindReal, math.E
		case constant.Exists() && constant.Str == "π":
			e.Op, e.Kind, e.Real = OpConst, KindReal, math.Pi
		case constant.Exists():
			p.fail(constant, "unknown mathematical constant %s", describe(constant))
		case named:
			return p.expr(inner)
		default:
			p.fail(v, "an expression object needs \"op\", \"constant\" or \"exp\"")
		}
		return e
	}
	name := p.str(op, "an operator")
	e.Op = unaryOp(name)
	if _, hasExp := args["exp"]; e.Op != OpNone && (hasExp || e.Op != OpNeg) {
		need("exp")
		return e
	}
	var jani bool
	if e.Op, jani = binaryOp(name); e.Op != OpNone {
		if !jani {
			p.warn(p.pos(op), "operator "+strconv.Quote(name)+" is not JANI; read as its mathematical sign")
		}
		need("left", "right")
		return e
	}
	switch name {
	case "ite":
		e.Op = OpIte
		need("if", "then", "else")
	case "aa":
		e.Op = OpAccess
		need("exp", "index")
	case "av":
		if e.Op = OpArray; has("elements") {
			p.array(args["elements"], "elements", func(m gjson.Result) { e.Args = append(e.Args, p.expr(m)) })
		}
	case "ac":
		if e.Op = OpFill; has("var") {
			e.Name = p.str(args["var"], "var")
		}
		need("length", "exp")
	case "let":
		if vars := args["variables"]; vars.Exists() && len(vars.Array()) > 0 {
			p.reject(vars, "a let expression with variables")
		}
		if has("expression") {
			return p.expr(args["expression"])
		}
	case "state-condition":
		if has("exp") {
			return p.expr(args["exp"])
		}
	case "call":
		e.Op = OpCall
		for _, key := range [...]string{"function", "args"} {
			if !args[key].Exists() {
				p.fail(v, "the operator \"call\" needs %q", key)
				return e
			}
		}
		function := p.name(args["function"], "a function's name")
		e.Name = function.Name
		p.array(args["args"], "args", func(m gjson.Result) { e.Args = append(e.Args, p.expr(m)) })
	case "initial":
		e.Op = OpInitial
	case "deadlock":
		e.Op = OpDeadlock
	case "nondet", "der", "et", "dv", "F", "G", "U", "W", "R", "∀", "∃", "Pmin", "Pmax", "Emin", "Emax",
		"Smin", "Smax", "filter":
		p.reject(op, "the operator %q", name)
	default:
		p.fail(op, "unknown operator %q", name)
	}
	return e
}
