package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
)

// randomModel writes a random JANI model. Most of what it draws is type-correct and
// stays within bounds; some of it fails when it is evaluated.
type randomModel struct {
	*rand.Rand
	careless  bool // draws more that fails
	used      map[string]bool
	scope                 // what the expression being drawn may name
	wide      bool        // every automaton has many edges, which should rarely contradict each other
	own       []randomVar // in a wide model: the variables that may be assigned to
	timed     bool        // edges may have rates
	free      int         // variables without initial value
	indexing  int         // how many indices the expression being drawn is part of
	arguing   int         // and how many arguments of calls
	predicate bool        // the expression being drawn is a condition on states
	reads     bool        // a transient variable has been named
	depth     int         // of the expression being drawn
	// copies counts the instances of each automaton.
	copies map[string]int
	// givers are the automata that give transient variables their values in a state.
	givers map[string]string
}

// scope is what an expression may name.
type scope struct {
	place     string  // what it is part of: guard, rate, …
	fail      float64 // the probability that an operand or a value is drawn without care
	vars      []randomVar
	constants []randomVar
	functions []randomFunction
}

// randomVar is a variable, an array if dims is not nil; or a constant or a parameter.
type randomVar struct {
	name      string
	kind      string // bool, int, real
	lo, hi    int64  // bounds of an int, used for values even if the type has none
	dims      []int
	typ       any
	initial   bool // has an initial value
	transient bool
	only      any // the one value that a transient variable without initial value may get
}

// randomFunction is a function. Its arguments may fail only if it is strict, that is if
// its body needs all of them: the engine evaluates no others.
type randomFunction struct {
	name, kind string
	params     []randomVar
	strict     bool
	reads      bool // transient variables
}

// object is a JSON object.
type object map[string]any

func op(name string, left, right any) any { return object{"op": name, "left": left, "right": right} }

func unary(name string, e any) any { return object{"op": name, "exp": e} }

// The sorts of integer variables: what the packing and the guard tables must cope with.
var intSorts = []struct {
	lo, hi       int64
	lower, upper bool
}{
	{0, 1, true, true},
	{0, 3, true, true},
	{-3, 4, true, true},
	{-9, -5, true, true},
	{7, 7, true, true},
	{0, 99, true, true},
	{0, 8191, true, true}, // the last with one set of rows per value
	{0, 8192, true, true},
	{-20000, 20000, true, true},
	{-1 << 40, 1 << 40, true, true},
	{-1<<63 + 1, 1<<63 - 2, true, true},
	{0, 50, true, false},
	{-50, 5, false, true},
	{-1 << 62, 1 << 62, false, false},
}

func (r *randomModel) chance(p float64) bool { return r.Float64() < p }

// note records that the model has a feature.
func (r *randomModel) note(format string, args ...any) {
	if r.used == nil {
		r.used = map[string]bool{}
	}
	r.used[fmt.Sprintf(format, args...)] = true
}

// part tells where the expression being drawn stands.
func (r *randomModel) part() string {
	switch {
	case r.indexing > 0:
		return "index"
	case r.arguing > 0:
		return "argument"
	}
	return r.place
}

// in draws with another scope.
func (r *randomModel) in(s scope, draw func() any) any {
	outer := r.scope
	defer func() { r.scope = outer }()
	r.scope = s
	return draw()
}

// at draws for another place.
func (r *randomModel) at(place string, draw func() any) any {
	s := r.scope
	s.place = place
	return r.in(s, draw)
}

// pure is the scope of what must be constant.
func (r *randomModel) pure(place string) scope {
	s := scope{place: place, constants: r.constants}
	if r.careless {
		s.fail = r.fail
	}
	for _, f := range r.functions {
		if f.name[0] == 'c' {
			s.functions = append(s.functions, f)
		}
	}
	return s
}

// without returns the variables that are not called name.
func without(list []randomVar, name string) []randomVar {
	return slices.DeleteFunc(slices.Clone(list), func(v randomVar) bool { return v.name == name })
}

func pick[T any](r *randomModel, list ...T) T { return list[r.IntN(len(list))] }

// variable draws a variable that is not declared yet.
func (r *randomModel) variable(name string) randomVar {
	v := randomVar{name: name, initial: true}
	switch r.IntN(10) {
	case 0, 1:
		v.kind, v.typ = "bool", "bool"
	case 2:
		v.kind, v.typ = "real", "real"
		if r.chance(0.6) {
			v.typ = object{"kind": "bounded", "base": "real", "lower-bound": -2.5, "upper-bound": 1000}
		}
	default:
		sort := pick(r, intSorts...)
		if r.chance(0.5) {
			sort = intSorts[r.IntN(4)]
		}
		v.kind, v.lo, v.hi = "int", sort.lo, sort.hi
		bounds := object{"kind": "bounded", "base": "int"}
		if sort.lower {
			bounds["lower-bound"] = sort.lo
		}
		if sort.upper {
			bounds["upper-bound"] = sort.hi
		}
		if v.typ = bounds; !sort.lower && !sort.upper {
			v.typ = "int"
		}
	}
	small := v.kind == "bool" || v.kind == "int" && v.hi-v.lo < 8 && v.hi-v.lo >= 0
	v.transient = r.chance(0.25) && name != "g0" // so that there is something to assign
	switch {
	case r.chance(0.2):
		v.dims = []int{1 + r.IntN(3)}
	case r.chance(0.1):
		v.dims = []int{1 + r.IntN(2), 1 + r.IntN(3)}
	case v.transient:
		if v.initial = r.chance(0.8); !v.initial {
			v.only = r.literal(v)
		}
	case small && r.free < 3:
		if v.initial = r.chance(0.9) && !r.chance(0.25); !v.initial {
			r.free++
		}
	}
	if v.dims != nil {
		r.note("array of %d dimensions", len(v.dims))
	}
	if v.transient {
		r.note("transient %s, initial value %v", v.kind, v.initial)
	}
	if !v.initial && !v.transient {
		r.note("variable without initial value")
	}
	for range v.dims {
		v.typ = object{"kind": "array", "base": v.typ}
	}
	return v
}

func (r *randomModel) declare(v randomVar) any {
	d := object{"name": v.name, "type": v.typ}
	if v.transient {
		d["transient"] = true
	}
	if v.initial {
		d["initial-value"] = r.in(r.pure("initial value"), func() any {
			return r.array(v.dims, func() any {
				if r.chance(0.2) {
					return r.within(v)
				}
				return r.literal(v)
			})
		})
	}
	return d
}

// array draws an array value of a shape; the shape of a scalar is empty.
func (r *randomModel) array(dims []int, element func() any) any {
	if len(dims) == 0 {
		return element()
	}
	if len(dims) == 1 && r.chance(0.2) {
		e := element()
		if r.chance(0.5) {
			e = object{"op": "ite", "if": op("<", "k", r.IntN(3)), "then": e, "else": element()}
		}
		return object{"op": "ac", "var": "k", "length": dims[0], "exp": e}
	}
	list := []any{}
	for range dims[0] {
		list = append(list, r.array(dims[1:], element))
	}
	return object{"op": "av", "elements": list}
}

// noFloat is 2⁵³ + 1, the first integer that no float64 holds: as a real it is another
// number.
const noFloat int64 = 1<<53 + 1

// literal draws a value of v that is near the start of its range, where the model
// has its constants.
func (r *randomModel) literal(v randomVar) any {
	switch v.kind {
	case "bool":
		return r.chance(0.5)
	case "real":
		return pick[any](r, 0, 0.0, 0.5, -2.5, 1, 2.25, 1e3)
	}
	switch {
	case r.chance(0.1):
		return v.hi
	case v.hi > noFloat && r.chance(0.3):
		return noFloat
	}
	lo := v.lo
	if lo < -100 {
		lo = -3
	}
	if v.hi/2-lo/2 > 4 { // the whole range may not fit into an int64
		return lo + r.Int64N(5)
	}
	return lo + r.Int64N(v.hi-lo+1)
}

// within draws a value of v that is computed.
func (r *randomModel) within(v randomVar) any {
	switch v.kind {
	case "bool":
		return r.bool()
	case "real":
		return op("max", op("min", r.real(), 2.5), -2.5)
	}
	return op("max", v.lo, op("min", v.hi, r.int()))
}

// readable reports whether v has a value where the expression being drawn stands.
func (r *randomModel) readable(v randomVar) bool {
	return v.initial || !v.transient ||
		r.givers[v.name] != "" && r.place != "value" && r.place != "function"
}

// of returns the variables of a kind that can be read.
func (r *randomModel) of(kind string) (list []randomVar) {
	for _, v := range r.vars {
		if v.kind == kind && r.readable(v) {
			list = append(list, v)
		}
	}
	return list
}

// constant returns the name of a constant of a kind, now and then, if there is one.
func (r *randomModel) constant(kind string) (any, bool) {
	list := slices.DeleteFunc(slices.Clone(r.constants), func(c randomVar) bool { return c.kind != kind })
	if len(list) == 0 || !r.chance(0.2) {
		return nil, false
	}
	return pick(r, list...).name, true
}

// ref names a scalar variable or an element of v.
func (r *randomModel) ref(v randomVar) any {
	r.reading(v)
	var e any = v.name
	for _, n := range v.dims {
		e = object{"op": "aa", "exp": e, "index": r.index(n)}
	}
	return e
}

// reading notes that v is read.
func (r *randomModel) reading(v randomVar) {
	if v.transient {
		r.reads = true
		r.note("transient in %s", r.part())
	}
	if v.kind == "real" {
		r.note("real in %s", r.part())
	}
}

// function draws a function that may call those in scope. It has at most most
// parameters, whose names may hide others.
func (r *randomModel) function(name string, most int) (randomFunction, any) {
	f := randomFunction{name: name, kind: pick(r, "bool", "int", "int", "real"), strict: r.chance(0.6)}
	inner := r.scope
	inner.place = "function"
	parameters := []any{}
	for i := range r.IntN(most + 1) {
		p := randomVar{name: fmt.Sprint("a", i), kind: pick(r, "bool", "int", "int", "real"), lo: -3, hi: 5, initial: true}
		if hidden := append(slices.Clone(r.vars), r.constants...); len(hidden) > 0 && r.chance(0.15) {
			name := pick(r, hidden...).name
			if !slices.ContainsFunc(f.params, func(q randomVar) bool { return q.name == name }) {
				p.name = name
				r.note("parameter that hides a name")
			}
		}
		if p.typ = p.kind; r.careless && p.kind == "int" && r.chance(0.5) {
			p.typ = object{"kind": "bounded", "base": "int", "lower-bound": p.lo, "upper-bound": p.hi}
		}
		if r.chance(0.2) {
			p.typ, p.dims = object{"kind": "array", "base": p.typ}, []int{1 + r.IntN(3)}
		}
		r.note("%s parameter", p.kind)
		f.params = append(f.params, p)
		parameters = append(parameters, object{"name": p.name, "type": p.typ})
		inner.vars, inner.constants = without(inner.vars, p.name), without(inner.constants, p.name)
	}
	inner.vars = append(inner.vars, f.params...)
	reads := r.reads
	r.reads = false
	body := r.in(inner, func() any { return r.body(f) })
	f.reads, r.reads = r.reads, r.reads || reads
	var typ any = f.kind
	if r.careless && f.kind == "int" && r.chance(0.3) {
		typ = object{"kind": "bounded", "base": "int", "lower-bound": -100}
	}
	return f, object{"name": name, "type": typ, "parameters": parameters, "body": body}
}

// body draws the body of a function. If it is strict, it needs every parameter whatever
// the others are: = and + evaluate both sides.
func (r *randomModel) body(f randomFunction) any {
	if !f.strict {
		return r.expression(f.kind)
	}
	var cond any
	and := func(e any) {
		if cond != nil {
			e = op(pick(r, "=", "≠"), cond, e)
		}
		cond = e
	}
	var sum []any
	for _, p := range f.params {
		switch {
		case p.dims != nil:
		case p.kind == "bool":
			and(p.name)
		case f.kind == "bool" || f.kind == "int" && p.kind == "real" || r.chance(0.3):
			and(op(pick(r, "<", "≥", "="), p.name, r.literal(p)))
		default:
			sum = append(sum, p.name)
		}
	}
	e := r.expression(f.kind)
	if cond != nil {
		e = object{"op": "ite", "if": cond, "then": e, "else": r.expression(f.kind)}
	}
	for _, x := range sum {
		e = op(pick(r, "+", "-", "min", "max"), e, x)
	}
	return e
}

// call draws a call of a function of a kind, now and then, if there is one.
func (r *randomModel) call(kind string) (any, bool) {
	if len(r.functions) == 0 || r.depth > 4 || !r.chance(0.15) {
		return nil, false
	}
	f := pick(r, r.functions...)
	if f.kind != kind {
		return nil, false
	}
	r.note("call in %s", r.part())
	r.reads = r.reads || f.reads
	r.depth, r.arguing = r.depth+1, r.arguing+1
	defer func() { r.depth, r.arguing = r.depth-1, r.arguing-1 }()
	args := []any{}
	for _, p := range f.params {
		if p.kind == "real" && p.dims == nil && r.chance(0.4) { // an int becomes a real
			p.kind, p.typ = "int", "int"
		}
		switch {
		case p.dims != nil:
			args = append(args, r.arrayOf(p.kind, p.dims))
		case f.strict && r.chance(0.7):
			args = append(args, r.expression(p.kind))
		case p.typ == p.kind:
			args = append(args, r.safe(p.kind))
		default:
			args = append(args, op("max", p.lo, op("min", p.hi, r.safe(p.kind))))
		}
	}
	return object{"op": "call", "function": f.name, "args": args}, true
}

// expression draws an expression of a kind.
func (r *randomModel) expression(kind string) any {
	switch kind {
	case "bool":
		return r.bool()
	case "int":
		return r.int()
	}
	return r.real()
}

// safe draws an expression that cannot fail.
func (r *randomModel) safe(kind string) any {
	var e any = r.literal(randomVar{kind: kind, lo: -3, hi: 5})
	// The value of a transient variable may fail.
	vars := slices.DeleteFunc(r.of(kind), func(v randomVar) bool { return v.transient })
	if len(vars) > 0 && r.chance(0.7) {
		v := pick(r, vars...)
		r.reading(v)
		e = v.name
		for _, n := range v.dims {
			e = object{"op": "aa", "exp": e, "index": r.IntN(n)}
		}
	}
	switch {
	case r.chance(0.2):
		return object{"op": "ite", "if": r.safe("bool"), "then": e, "else": r.safe(kind)}
	case !r.chance(0.3):
		return e
	case kind == "bool":
		return unary("¬", e)
	}
	return op(pick(r, "min", "max"), e, r.safe(kind))
}

// arrayOf draws an array of a shape.
func (r *randomModel) arrayOf(kind string, dims []int) any {
	list := slices.DeleteFunc(r.of(kind), func(v randomVar) bool {
		row := len(v.dims) == 2 && slices.Equal(v.dims[1:], dims)
		return !row && !slices.Equal(v.dims, dims) || v.transient && r.arguing > 0
	})
	r.depth++
	defer func() { r.depth-- }()
	switch {
	case len(list) > 0 && r.chance(0.5):
		v := pick(r, list...)
		r.reading(v)
		if len(v.dims) > len(dims) {
			return object{"op": "aa", "exp": v.name, "index": r.IntN(v.dims[0])}
		}
		return v.name
	case r.depth < 4 && r.arguing == 0 && r.chance(0.3): // an argument may not fail
		r.note("ite of arrays in %s", r.part())
		return object{"op": "ite", "if": r.bool(), "then": r.arrayOf(kind, dims), "else": r.arrayOf(kind, dims)}
	case len(dims) == 1 && r.chance(0.3):
		r.note("array constructor in %s", r.part())
		s := r.scope
		s.vars = append(without(s.vars, "k"), randomVar{name: "k", kind: "int", hi: int64(dims[0]) - 1, initial: true})
		return object{"op": "ac", "var": "k", "length": dims[0], "exp": r.in(s, func() any { return r.element(kind) })}
	}
	elements := []any{}
	for range dims[0] {
		if len(dims) == 1 {
			elements = append(elements, r.element(kind))
		} else {
			elements = append(elements, r.arrayOf(kind, dims[1:]))
		}
	}
	return object{"op": "av", "elements": elements}
}

// element draws an element of an array.
func (r *randomModel) element(kind string) any {
	if kind == "real" && r.chance(0.3) {
		kind = "int"
	}
	if r.careless && r.arguing == 0 {
		return r.expression(kind)
	}
	return r.safe(kind)
}

// wholeArrays draws a comparison of arrays, or false if there is none.
func (r *randomModel) wholeArrays() any {
	var list []randomVar
	for _, v := range r.vars {
		if v.dims != nil {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return false
	}
	v := pick(r, list...)
	r.note("comparison of arrays in %s", r.part())
	r.reading(v)
	if len(v.dims) == 2 && r.chance(0.05) { // is not supported
		return op("=", object{"op": "aa", "exp": v.name, "index": r.index(v.dims[0])}, r.arrayOf(v.kind, v.dims[1:]))
	}
	return op(pick(r, "=", "≠"), v.name, r.arrayOf(v.kind, v.dims))
}

// picked draws an element of an array that is no variable, now and then.
func (r *randomModel) picked(kind string) (any, bool) {
	if r.depth > 2 || !r.chance(0.03) {
		return nil, false
	}
	n := 1 + r.IntN(3)
	r.note("element of an array that is no variable")
	return object{"op": "aa", "exp": r.arrayOf(kind, []int{n}), "index": r.IntN(n)}, true
}

// index draws an index into n elements.
func (r *randomModel) index(n int) any {
	r.indexing++
	defer func() { r.indexing-- }()
	switch {
	case r.chance(r.fail / 4):
		return pick(r, -1, n, n+5)
	case r.chance(r.fail):
		return r.int()
	case r.depth > 2 || r.chance(0.5):
		return r.IntN(n)
	}
	r.note("computed index")
	// a remainder, made positive
	return unary("abs", op("%", r.int(), n))
}

// bool, int and real draw expressions.

func (r *randomModel) bool() any {
	r.depth++
	defer func() { r.depth-- }()
	if e, ok := r.call("bool"); ok {
		return e
	}
	if r.depth > 3 || r.chance(0.2) {
		if vars := r.of("bool"); len(vars) > 0 && r.chance(0.6) {
			return r.ref(pick(r, vars...))
		}
		if c, ok := r.constant("bool"); ok {
			return c
		}
		return r.comparison()
	}
	switch {
	case r.predicate && r.chance(0.15):
		name := pick(r, "initial", "deadlock")
		r.note("%s", name)
		return object{"op": name}
	case r.chance(0.06):
		return r.wholeArrays()
	}
	switch r.IntN(9) {
	case 0:
		return op("∨", r.bool(), r.bool())
	case 1, 2:
		return op("∧", r.bool(), r.bool())
	case 3:
		return op("⇒", r.bool(), r.bool())
	case 4:
		return unary("¬", r.bool())
	case 5:
		return object{"op": "ite", "if": r.bool(), "then": r.bool(), "else": r.bool()}
	case 6:
		return op(pick(r, "=", "≠"), r.bool(), r.bool())
	case 7:
		if r.chance(0.1) {
			return r.behindConstant()
		}
	}
	return r.comparison()
}

// behindConstant draws a condition with a part that cannot be computed and need not be.
func (r *randomModel) behindConstant() any {
	bad := pick(r,
		op(">", op("/", 1, 0), 0.5),
		op("=", op("%", 7, 0), 1),
		op("<", op("+", int64(1<<63-1), 1), 0),
		op("=", op("log", 0, 2), 1),
		op("=", unary("floor", op("pow", 10, 300)), 1))
	switch r.IntN(4) {
	case 0:
		return op("∧", false, bad)
	case 1:
		return op("∨", true, bad)
	case 2:
		return op("⇒", op("<", 2, 1), bad)
	}
	return object{"op": "ite", "if": true, "then": r.bool(), "else": bad}
}

// comparison draws one variable against a constant, mostly: what the guard tables
// take.
func (r *randomModel) comparison() any {
	sign := pick(r, "=", "≠", "<", "≤", ">", "≥", "≤", "≥")
	vars := append(r.of("int"), r.of("real")...)
	if len(vars) > 0 && r.chance(0.6) {
		v := pick(r, vars...)
		c := r.literal(v)
		if v.kind == "int" && r.chance(0.05) {
			c = pick[any](r, 1.5, -1<<63, 1<<63-1, 0.0)
		}
		if r.chance(0.3) {
			return op(sign, c, r.ref(v))
		}
		return op(sign, r.ref(v), c)
	}
	switch {
	case r.chance(0.1):
		return op(sign, r.real(), pick(r, noFloat-1, noFloat))
	case r.chance(0.2):
		return op(sign, r.real(), r.real())
	}
	return op(sign, r.int(), r.int())
}

func (r *randomModel) int() any {
	r.depth++
	defer func() { r.depth-- }()
	if e, ok := r.call("int"); ok {
		return e
	}
	if e, ok := r.picked("int"); ok {
		return e
	}
	if r.depth > 3 || r.chance(0.3) {
		if c, ok := r.constant("int"); ok {
			return c
		}
		if vars := r.of("int"); len(vars) > 0 && r.chance(0.7) {
			return r.ref(pick(r, vars...))
		}
		return r.IntN(9) - 3
	}
	switch r.IntN(12) {
	case 0, 1, 2:
		return op("+", r.int(), r.int())
	case 3:
		return op("-", r.int(), r.int())
	case 4:
		return op("*", r.int(), pick[any](r, r.IntN(5)-2, r.int()))
	case 5:
		return op("%", r.int(), r.divisor())
	case 6:
		return op(pick(r, "min", "max"), r.int(), r.int())
	case 7:
		return unary(pick(r, "-", "abs", "sgn"), r.int())
	case 8:
		return object{"op": "ite", "if": r.bool(), "then": r.int(), "else": r.int()}
	case 9:
		return unary(pick(r, "floor", "ceil", "trc", "sgn"), r.real())
	}
	return r.IntN(9) - 3
}

// divisor draws a number that is rarely 0.
func (r *randomModel) divisor() any {
	if r.chance(r.fail) {
		return r.int()
	}
	return pick[any](r, 2, 3, -2, op("+", 1, unary("abs", op("%", r.int(), 5))))
}

func (r *randomModel) real() any {
	r.depth++
	defer func() { r.depth-- }()
	if e, ok := r.call("real"); ok {
		return e
	}
	if e, ok := r.picked("real"); ok {
		return e
	}
	if r.depth > 3 || r.chance(0.3) {
		if vars := r.of("real"); len(vars) > 0 && r.chance(0.8) {
			return r.ref(pick(r, vars...))
		}
		if c, ok := r.constant("real"); ok {
			return c
		}
		return pick[any](r, 0.5, 1, -0.25, 3.75, 0.0, object{"constant": "π"})
	}
	switch r.IntN(9) {
	case 0:
		return op(pick(r, "+", "-", "*"), r.real(), r.real())
	case 1:
		return op("/", r.real(), r.divisor())
	case 2:
		return op(pick(r, "min", "max"), r.real(), r.int())
	case 3:
		return unary(pick(r, "-", "abs"), r.real())
	case 4:
		return object{"op": "ite", "if": r.bool(), "then": r.real(), "else": r.int()}
	case 5:
		if r.chance(r.fail) {
			return op(pick(r, "pow", "log"), r.real(), r.real())
		}
		return op("pow", r.real(), 2)
	}
	return r.int()
}

// value draws what is assigned to v.
func (r *randomModel) value(v randomVar) any {
	switch {
	case v.only != nil:
		return v.only
	case v.only != nil:
		return r.literal(v)
	case v.kind == "bool":
		return r.bool()
	case r.chance(r.fail / 2):
		// Not a constant, which would have to be within bounds.
		return op("+", r.ref(v), r.int())
	case v.kind == "real":
		switch r.IntN(3) {
		case 0:
			return op("max", op("min", r.real(), 2.5), -2.5)
		case 1:
			return op("*", r.ref(v), pick[any](r, 0.5, json.Number("-0.0"), -1))
		}
		return r.literal(v)
	}
	switch r.IntN(4) {
	case 0:
		return op("max", v.lo, op("min", v.hi, r.int()))
	case 1: // one more, from the last to the first
		return object{"op": "ite", "if": op("<", r.ref(v), v.hi), "then": op("+", v.name, 1), "else": v.lo}
	}
	return r.literal(v)
}

func (r *randomModel) assignments() []any {
	list := []any{}
	n := r.IntN(4)
	if r.wide {
		n /= 2
	}
	for range n {
		v := pick(r, r.vars...)
		if r.wide && r.chance(0.98) {
			v = pick(r, r.own...)
		}
		a := object{}
		if v.transient {
			r.note("transient %s assigned, initial value %v", v.kind, v.initial)
		}
		switch {
		case v.dims != nil && r.chance(0.1):
			same := slices.DeleteFunc(slices.Clone(r.vars), func(w randomVar) bool {
				return fmt.Sprint(w.typ, w.dims) != fmt.Sprint(v.typ, v.dims)
			})
			r.note("ite of arrays assigned")
			a["ref"] = v.name
			a["value"] = object{"op": "ite", "if": r.bool(), "then": pick(r, same...).name,
				"else": r.array(v.dims, func() any { return r.literal(v) })}
		case v.dims != nil && r.chance(0.25):
			a["ref"] = v.name
			a["value"] = r.array(v.dims, func() any { return r.literal(v) })
			for _, w := range r.vars {
				if r.chance(0.5) && fmt.Sprint(w.typ, w.dims) == fmt.Sprint(v.typ, v.dims) {
					a["value"] = w.name
				}
			}
			if n := v.dims[0]; len(v.dims) == 1 && r.chance(0.3) { // shifted by one
				a["value"] = object{"op": "ac", "var": "k", "length": n, "exp": object{"op": "ite", "if": op("<", "k", n-1),
					"then": object{"op": "aa", "exp": v.name, "index": op("+", "k", 1)}, "else": r.literal(v)}}
			}
		case v.dims != nil:
			element := v
			element.dims = nil
			a["ref"] = r.ref(v)
			a["value"] = r.literal(element)
			if v.kind == "bool" {
				a["value"] = r.bool()
			} else if v.kind == "int" && r.chance(0.5) {
				a["value"] = op("max", v.lo, op("min", v.hi, r.int()))
			}
		default:
			a["ref"], a["value"] = v.name, r.value(v)
		}
		if r.chance(0.5) {
			index := pick(r, 0, 1, -1, -2, 5)
			a["index"] = index
			r.note("transient assigned %v, index of sign %d", v.transient, min(max(index, -1), 1))
		}
		list = append(list, a)
	}
	return list
}

func (r *randomModel) destinations(locations int) []any {
	place := r.place
	r.place = "probability"
	defer func() { r.place = place }()
	probabilities := [][]any{{nil}, {nil}, {1}, {0.5, 0.5}, {0, 1}, {0.25, 0.75, 0}, {0.1, 0.2, 0.7}}
	list := pick(r, probabilities...)
	switch {
	case r.careless && r.timed && r.chance(0.2):
		list = []any{0.25, object{"op": "ite", "if": r.bool(), "then": 0.75, "else": 0.5}}
	case len(r.of("int")) > 0 && r.chance(r.fail/4): // may be no probability
		p := op("/", r.ref(pick(r, r.of("int")...)), 2)
		list = []any{p, op("-", 1, p)}
	case r.chance(0.15):
		p := object{"op": "ite", "if": r.bool(), "then": pick[any](r, 0.5, 1, 0), "else": pick[any](r, 0.25, 1.0)}
		list = []any{p, op("-", 1, p)}
	case r.chance(0.05):
		p := op("/", 1, op("+", 1, unary("abs", op("%", r.int(), 3))))
		list = []any{op("-", 1, p), p}
	}
	var dests []any
	for _, p := range list {
		d := object{"location": fmt.Sprint("l", r.IntN(locations))}
		r.at("value", func() any {
			d["assignments"] = r.assignments()
			return nil
		})
		if p != nil {
			d["probability"] = object{"exp": p}
		}
		dests = append(dests, d)
	}
	return dests
}

// rate draws a rate, which may be 0 in some states and is nowhere negative.
func (r *randomModel) rate() any {
	switch r.IntN(6) {
	case 0, 1, 2:
		return pick[any](r, 1, 0.25, 3, 2.5, 1e300, 0)
	case 3:
		r.note("rate by a condition")
		return object{"op": "ite", "if": r.bool(), "then": 1.5, "else": 0}
	case 4:
		return op("max", 0, r.real())
	}
	r.note("rate by an integer")
	if r.careless {
		return r.int()
	}
	return op("max", r.int(), 0)
}

// transientValues draws the values that a location gives to transient variables, whose
// conflicts are avoided: an automaton with several instances, and one that is not the
// first to give a value, has no say about a global variable.
func (r *randomModel) transientValues(automaton string, local []randomVar, locations int) (list []any) {
	s := r.scope
	s.place = "transient value"
	for i, v := range r.vars {
		own := slices.ContainsFunc(local, func(w randomVar) bool { return w.name == v.name })
		giver := r.givers[v.name]
		switch {
		case !v.transient || !r.chance(0.5):
		case !own && v.only == nil && (r.copies[automaton] > 1 || giver != "" && giver != automaton) && !r.careless:
		default:
			r.givers[v.name] = automaton
			s := s
			// Only what comes before, so that no value depends on itself.
			s.vars = slices.DeleteFunc(slices.Clone(r.vars[:i]), func(w randomVar) bool { return w.only != nil })
			s.functions = nil
			value := v.only
			switch {
			case value != nil:
			case v.dims == nil && (r.careless && v.kind == "int" || v.typ == "real"):
				value = r.in(s, func() any {
					if vars := r.of("int"); len(vars) > 0 { // not a constant, which would have to be within bounds
						return op("+", r.ref(pick(r, vars...)), r.int())
					}
					return r.within(v)
				})
			default:
				value = r.in(s, func() any { return r.array(v.dims, func() any { return r.within(v) }) })
			}
			r.note("transient value of a %s, initial value %v", v.kind, v.initial)
			list = append(list, object{"ref": v.name, "value": value})
		}
	}
	return list
}

// automaton draws an automaton with at least one edge for each of the labels.
func (r *randomModel) automaton(name string, labels []string, edges int) (object, []randomVar) {
	outer := r.scope
	defer func() { r.scope = outer }()
	variables := []any{}
	n := r.IntN(3)
	if r.wide {
		n++
	}
	r.own = nil
	for i := range n {
		v := r.variable(fmt.Sprint(name, i))
		if hidden := outer.vars[0].name; i == 0 && !v.transient && r.chance(0.1) {
			v.name = hidden
			r.note("local variable that hides a global one")
		}
		variables = append(variables, r.declare(v))
		r.own = append(r.own, v)
	}
	for _, v := range r.own {
		r.vars = append(without(r.vars, v.name), v)
	}
	functions := []any{}
	if r.chance(0.5) {
		r.note("function of an automaton")
		var names []string
		if k := slices.IndexFunc(r.functions, func(f randomFunction) bool { return f.name[0] == 'f' }); k >= 0 && r.chance(0.3) {
			names = append(names, r.functions[k].name) // other global functions still call the global one
			r.functions = slices.Delete(slices.Clone(r.functions), k, k+1)
			r.note("function that hides another")
		}
		for i := range 1 + r.IntN(2) {
			names = append(names, fmt.Sprint(name, "f", i))
		}
		for _, name := range names {
			f, decl := r.function(name, 3)
			r.functions = append(slices.Clone(r.functions), f)
			functions = append(functions, decl)
		}
	}
	for _, v := range r.own {
		if f, decl, ok := r.reader(v); ok {
			r.functions = append(slices.Clone(r.functions), f)
			functions = append(functions, decl)
		}
	}
	var locations, initial, list []any
	n = 1 + r.IntN(3)
	for i := range n {
		location := fmt.Sprint("l", i)
		l := object{"name": location}
		if values := r.transientValues(name, r.own, n); len(values) > 0 {
			l["transient-values"] = values
		}
		locations = append(locations, l)
		if i == 0 || r.chance(0.2) {
			initial = append(initial, location)
		}
	}
	for i := range max(edges, len(labels)) {
		e := object{"location": fmt.Sprint("l", r.IntN(n)), "destinations": r.destinations(n)}
		kind := "a silent edge"
		if i < len(labels) {
			e["action"] = labels[i]
		} else if r.wide || r.chance(0.6) {
			e["action"] = pick(r, labels...)
		}
		if e["action"] != nil {
			kind = "a labelled edge"
		}
		if r.chance(0.7) && !r.chance(0.2) {
			e["guard"] = object{"exp": r.at("guard", r.bool)}
		}
		if r.timed && r.chance(0.6) || e["guard"] == nil && r.chance(0.001) { // or an error
			r.note("rate of %s", kind)
			e["rate"] = object{"exp": r.at("rate", r.rate)}
		}
		list = append(list, e)
	}
	a := object{"name": name, "variables": variables, "locations": locations, "initial-locations": initial, "edges": list}
	if len(functions) > 0 {
		a["functions"] = functions
	}
	if r.chance(0.05) && r.free > 0 || r.free > 0 && r.chance(0.3) {
		r.note("restrict-initial of an automaton")
		a["restrict-initial"] = object{"exp": r.at("restrict-initial", r.bool)}
	}
	return a, r.own
}

// reader draws a function that reads a transient variable.
func (r *randomModel) reader(v randomVar) (randomFunction, any, bool) {
	if !v.transient || v.only != nil || r.careless && r.chance(0.5) {
		return randomFunction{}, nil, false
	}
	f, body := randomFunction{name: "r" + v.name, kind: v.kind, strict: true, reads: true}, any(v.name)
	if v.dims != nil {
		f.kind, body = "bool", op("=", v.name, v.name)
	}
	return f, object{"name": f.name, "type": f.kind, "parameters": []any{}, "body": body}, true
}

// condition draws a condition on states.
func (r *randomModel) condition() any {
	return object{"op": "state-condition", "exp": r.at("condition", r.bool)}
}

// model draws a model. If wide is positive, three elements synchronise on one label, for
// which each has that many edges.
func (r *randomModel) model(wide int) string {
	labels := []string{"a", "b", "c"}[:1+r.IntN(3)]
	r.fail, r.careless = pick(r, 0, 0, 0.02, 0.1), r.chance(0.1)
	r.givers, r.copies = map[string]string{}, map[string]int{}
	var constants, functions, actions, variables, automata, elements, syncs []any
	var pure []randomFunction
	typ := pick(r, "mdp", "lts", "dtmc", "ctmc", "ctmdp", "ma", "ma")
	r.timed = typ == "ctmc" || typ == "ctmdp" || typ == "ma"
	r.note("type %s", typ)
	for i := range r.IntN(3) {
		r.in(r.pure("function"), func() any {
			f, decl := r.function(fmt.Sprint("c", i), 3)
			pure = append(pure, f)
			functions = append(functions, decl)
			return nil
		})
		r.functions = pure
	}
	for i := range r.IntN(3) {
		c := randomVar{name: fmt.Sprint("C", i), kind: "int", lo: -1, hi: 4, initial: true}
		var value any = r.IntN(6) - 1
		if r.chance(0.5) {
			c.kind = pick(r, "bool", "int", "real")
			value = r.in(r.pure("constant"), func() any { return r.within(c) })
		}
		constants = append(constants, object{"name": c.name, "type": c.kind, "value": value})
		r.constants = append(slices.Clone(r.constants), c)
	}
	for i := range 1 + r.IntN(5) {
		v := r.variable(fmt.Sprint("g", i))
		variables = append(variables, r.declare(v))
		r.vars = append(slices.Clone(r.vars), v)
	}
	for i := range r.IntN(3) {
		f, decl := r.function(fmt.Sprint("f", i), 3)
		r.functions = append(slices.Clone(r.functions), f)
		functions = append(functions, decl)
	}
	for _, v := range r.vars {
		if f, decl, ok := r.reader(v); ok {
			r.functions = append(slices.Clone(r.functions), f)
			functions = append(functions, decl)
		}
	}
	if r.chance(0.005) {
		functions = append(functions, object{"name": "endless", "type": "bool", "parameters": []any{},
			"body": object{"op": "call", "function": "endless", "args": []any{}}})
	}
	count, edges := 1+r.IntN(3), 5+r.IntN(6)
	if wide > 0 {
		labels, count, edges = labels[:1], 3, wide
		r.wide = true
	}
	for _, l := range labels {
		actions = append(actions, object{"name": l})
	}
	templates := 1 + r.IntN(count)
	for i := range count {
		if i >= templates {
			i = r.IntN(templates)
		}
		name := string(rune('p' + i))
		if r.copies[name]++; r.copies[name] > 1 {
			r.note("several instances")
		}
		elements = append(elements, object{"automaton": name})
	}
	local := map[string][]randomVar{}
	for i := range templates {
		name := string(rune('p' + i))
		a, own := r.automaton(name, labels, edges)
		automata = append(automata, a)
		local[name] = own
	}
	inputs := map[int][]string{} // by position in the composition
	for i := range count {
		if r.chance(0.3) {
			inputs[i] = labels[:1+r.IntN(len(labels))]
		}
	}
	for range 1 + r.IntN(4) {
		vector := make([]any, count)
		for i := range vector {
			if wide > 0 || r.chance(0.7) && !r.chance(0.4) {
				vector[i] = pick(r, labels...)
			}
		}
		vector[r.IntN(count)] = pick(r, labels...)
		s := object{"synchronise": vector}
		if r.chance(0.8) {
			s["result"] = pick(r, labels...)
		}
		syncs = append(syncs, s)
		if wide > 0 {
			break
		}
	}
	for i, list := range inputs {
		r.note("input-enable")
		elements[i].(object)["input-enable"] = list
	}
	system := object{"elements": elements, "syncs": syncs}
	if wide == 0 && r.chance(0.2) {
		delete(system, "syncs")
	}
	m := object{"jani-version": 1, "name": "random", "type": typ, "constants": constants, "actions": actions,
		"variables": variables, "functions": functions, "automata": automata, "system": system}
	for key, list := range m {
		if list, ok := list.([]any); ok && list == nil {
			delete(m, key)
		}
	}
	if r.chance(0.05) && r.free > 0 || r.free > 0 && r.chance(0.3) {
		r.note("restrict-initial of the model")
		m["restrict-initial"] = object{"exp": r.at("restrict-initial", r.bool)}
	}
	r.addLocals(elements, local)
	r.predicate = true
	m["properties"] = []any{object{"name": "conditions", "expression": object{"op": "PA", "reach": r.condition(),
		"objective": object{"op": "objective", "goal": r.condition()}}}}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(r.chance(0.5)) // \u003c in place of <
	if err := enc.Encode(m); err != nil {
		panic(err)
	}
	return text.String()
}

// addLocals adds the local variables of all instances by the names that they have in
// conditions.
func (r *randomModel) addLocals(elements []any, local map[string][]randomVar) {
	seen := map[string]int{}
	for _, e := range elements {
		name := e.(object)["automaton"].(string)
		instance := name
		if seen[name]++; seen[name] > 1 {
			instance = fmt.Sprintf("%s#%d", name, seen[name])
		}
		for _, v := range local[name] {
			giver := r.givers[v.name]
			if r.copies[name] > 1 || v.name[0] == 'g' || r.chance(0.7) {
				v.name = instance + "." + v.name
			}
			r.givers[v.name] = giver
			r.vars = append(slices.Clone(r.vars), v)
		}
	}
}
