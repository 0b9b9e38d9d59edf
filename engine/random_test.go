package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// randomModel writes a random JANI model. Most of what it draws is type-correct and
// stays within bounds; some of it fails when it is evaluated.
type randomModel struct {
	*rand.Rand
	vars   []randomVar // in scope
	wide   bool        // every automaton has many edges, which should rarely contradict each other
	own    []randomVar // in a wide model: the variables that may be assigned to
	params []string    // names of constants
	depth  int         // of the expression being drawn
	// fail is the probability that an operand or a value is drawn without care.
	fail float64
}

// randomVar is a variable, an array if dims is not nil.
type randomVar struct {
	name    string
	kind    string // bool, int, real
	lo, hi  int64  // bounds of an int, used for values even if the type has none
	dims    []int
	typ     any
	initial bool // has an initial value
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
	switch {
	case r.chance(0.2):
		v.dims = []int{1 + r.IntN(3)}
	case r.chance(0.1):
		v.dims = []int{1 + r.IntN(2), 1 + r.IntN(3)}
	case v.kind == "bool" || v.kind == "int" && v.hi-v.lo < 8 && v.hi-v.lo >= 0:
		v.initial = r.chance(0.9)
	}
	for range v.dims {
		v.typ = object{"kind": "array", "base": v.typ}
	}
	return v
}

func (r *randomModel) declare(v randomVar) any {
	d := object{"name": v.name, "type": v.typ}
	if v.initial {
		d["initial-value"] = r.array(v.dims, func() any { return r.literal(v) })
	}
	return d
}

// array draws an array value of a shape; the shape of a scalar is empty.
func (r *randomModel) array(dims []int, element func() any) any {
	if len(dims) == 0 {
		return element()
	}
	if len(dims) == 1 && r.chance(0.2) {
		return object{"op": "ac", "var": "k", "length": dims[0], "exp": element()}
	}
	list := []any{}
	for range dims[0] {
		list = append(list, r.array(dims[1:], element))
	}
	return object{"op": "av", "elements": list}
}

// literal draws a value of v that is near the start of its range, where the model
// has its constants.
func (r *randomModel) literal(v randomVar) any {
	switch v.kind {
	case "bool":
		return r.chance(0.5)
	case "real":
		return pick[any](r, 0, 0.0, 0.5, -2.5, 1, 2.25, 1e3)
	}
	if r.chance(0.1) {
		return v.hi
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

// of returns the variables of a kind.
func (r *randomModel) of(kind string) (list []randomVar) {
	for _, v := range r.vars {
		if v.kind == kind {
			list = append(list, v)
		}
	}
	return list
}

// ref names a scalar variable or an element of v.
func (r *randomModel) ref(v randomVar) any {
	var e any = v.name
	for _, n := range v.dims {
		e = object{"op": "aa", "exp": e, "index": r.index(n)}
	}
	return e
}

// index draws an index into n elements.
func (r *randomModel) index(n int) any {
	switch {
	case r.chance(r.fail / 4):
		return pick(r, -1, n, n+5)
	case r.chance(r.fail):
		return r.int()
	case r.depth > 2 || r.chance(0.5):
		return r.IntN(n)
	}
	// a remainder, made positive
	return unary("abs", op("%", r.int(), n))
}

// bool, int and real draw expressions.

func (r *randomModel) bool() any {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > 3 || r.chance(0.2) {
		if vars := r.of("bool"); len(vars) > 0 && r.chance(0.6) {
			return r.ref(pick(r, vars...))
		}
		return r.comparison()
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
	if r.chance(0.2) {
		return op(sign, r.real(), r.real())
	}
	return op(sign, r.int(), r.int())
}

func (r *randomModel) int() any {
	r.depth++
	defer func() { r.depth-- }()
	vars := r.of("int")
	if r.depth > 3 || r.chance(0.3) {
		switch {
		case len(r.params) > 0 && r.chance(0.2):
			return pick(r, r.params...)
		case len(vars) > 0 && r.chance(0.7):
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
	if r.depth > 3 || r.chance(0.3) {
		if vars := r.of("real"); len(vars) > 0 && r.chance(0.8) {
			return r.ref(pick(r, vars...))
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
		switch {
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
			a["index"] = pick(r, 0, 1, -1, -2, 5)
		}
		list = append(list, a)
	}
	return list
}

func (r *randomModel) destinations(locations int) []any {
	probabilities := [][]any{{nil}, {nil}, {1}, {0.5, 0.5}, {0, 1}, {0.25, 0.75, 0}, {0.1, 0.2, 0.7}}
	list := pick(r, probabilities...)
	switch {
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
		d := object{"location": fmt.Sprint("l", r.IntN(locations)), "assignments": r.assignments()}
		if p != nil {
			d["probability"] = object{"exp": p}
		}
		dests = append(dests, d)
	}
	return dests
}

// automaton draws an automaton with at least one edge for each of the labels.
func (r *randomModel) automaton(name string, labels []string, edges int) object {
	globals := r.vars
	defer func() { r.vars = globals }()
	variables := []any{}
	n := r.IntN(3)
	if r.wide {
		n++
	}
	for i := range n {
		v := r.variable(fmt.Sprint(name, i))
		variables = append(variables, r.declare(v))
		r.vars = append(r.vars[:len(r.vars):len(r.vars)], v)
	}
	r.own = r.vars[len(globals):]
	var locations, initial, list []any
	n = 1 + r.IntN(3)
	for i := range n {
		location := fmt.Sprint("l", i)
		locations = append(locations, object{"name": location})
		if i == 0 || r.chance(0.2) {
			initial = append(initial, location)
		}
	}
	for i := range max(edges, len(labels)) {
		e := object{"location": fmt.Sprint("l", r.IntN(n)), "destinations": r.destinations(n)}
		if i < len(labels) {
			e["action"] = labels[i]
		} else if r.wide || r.chance(0.6) {
			e["action"] = pick(r, labels...)
		}
		if r.chance(0.7) {
			e["guard"] = object{"exp": r.bool()}
		}
		list = append(list, e)
	}
	a := object{"name": name, "variables": variables, "locations": locations, "initial-locations": initial, "edges": list}
	if r.chance(0.05) {
		a["restrict-initial"] = object{"exp": r.bool()}
	}
	return a
}

// model draws a model. If wide is positive, three elements synchronise on one label, for
// which each has that many edges.
func (r *randomModel) model(wide int) string {
	labels := []string{"a", "b", "c"}[:1+r.IntN(3)]
	r.fail = pick(r, 0, 0, 0.02, 0.1)
	var constants, actions, variables, automata, elements, syncs []any
	for i := range r.IntN(3) {
		name := fmt.Sprint("C", i)
		r.params = append(r.params, name)
		constants = append(constants, object{"name": name, "type": "int", "value": r.IntN(6) - 1})
	}
	for i := range 1 + r.IntN(5) {
		v := r.variable(fmt.Sprint("g", i))
		variables = append(variables, r.declare(v))
		r.vars = append(r.vars, v)
	}
	count, edges := 1+r.IntN(3), 1+r.IntN(6)
	if wide > 0 {
		labels, count, edges = labels[:1], 3, wide
		r.wide = true
	}
	for _, l := range labels {
		actions = append(actions, object{"name": l})
	}
	templates := 1 + r.IntN(count)
	for i := range templates {
		automata = append(automata, r.automaton(string(rune('p'+i)), labels, edges))
	}
	for i := range count {
		if i >= templates {
			i = r.IntN(templates)
		}
		elements = append(elements, object{"automaton": string(rune('p' + i))})
	}
	for range 1 + r.IntN(4) {
		vector := make([]any, count)
		for i := range vector {
			if wide > 0 || r.chance(0.7) {
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
	system := object{"elements": elements, "syncs": syncs}
	if wide == 0 && r.chance(0.2) {
		delete(system, "syncs")
	}
	m := object{"jani-version": 1, "name": "random", "type": "mdp", "constants": constants, "actions": actions,
		"variables": variables, "automata": automata, "system": system}
	for key, list := range map[string][]any{"constants": constants, "variables": variables, "actions": actions} {
		if list == nil {
			delete(m, key)
		}
	}
	if r.chance(0.05) {
		m["restrict-initial"] = object{"exp": r.bool()}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(r.chance(0.5)) // \u003c in place of <
	if err := enc.Encode(m); err != nil {
		panic(err)
	}
	return text.String()
}
