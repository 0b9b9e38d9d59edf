package jani

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// scope maps names to what they mean; inner scopes hide outer ones.
type scope struct {
	parent    *scope
	names     map[string]binding
	functions map[string]*Function
}

// binding is a constant, a function's parameter, a transient variable, or a variable: a
// scalar if dims is nil, else an array of that shape whose elements, row-major, are the
// scalar variables from first on.
type binding struct {
	pos      Pos
	kind     Kind  // of the scalar or the elements
	constant *Expr // also the argument that a parameter stands for
	first    VarID
	dims     []int

	transient *transientVar
}

func newScope(parent *scope) *scope {
	return &scope{parent: parent, names: make(map[string]binding)}
}

func (s *scope) lookup(name string) (binding, bool) {
	for ; s != nil; s = s.parent {
		if b, ok := s.names[name]; ok {
			return b, true
		}
	}
	return binding{}, false
}

// function finds a function and the scope that it is declared in.
func (s *scope) function(name string) (*Function, *scope) {
	for ; s != nil; s = s.parent {
		if f := s.functions[name]; f != nil {
			return f, s
		}
	}
	return nil, nil
}

// visible returns all names, sorted.
func (s *scope) visible() []string {
	seen := map[string]bool{}
	for ; s != nil; s = s.parent {
		for n := range s.names {
			seen[n] = true
		}
	}
	list := make([]string, 0, len(seen))
	for n := range seen {
		list = append(list, n)
	}
	sort.Strings(list)
	return list
}

// place says in an error message what the expression belongs to.
type place struct {
	automaton string
	edge      int // −1 if none
	part      string
}

func (at place) String() string {
	switch {
	case at.automaton == "":
		return at.part
	case at.edge < 0:
		return fmt.Sprintf("automaton %q, %s", at.automaton, at.part)
	}
	return fmt.Sprintf("automaton %q, edge %d, %s", at.automaton, at.edge, at.part)
}

// maxUnrolled bounds the nodes that array constructors and the names of whole arrays
// become in one model, since a short text can ask for very many.
const maxUnrolled = 1 << 21

// resolver makes typed copies of expressions: names become variables and constants,
// what is constant is folded, types are checked.
type resolver struct {
	scope *scope
	at    place
	left  *int        // of maxUnrolled; nil: all of it
	fills bool        // inside an array constructor
	calls []*Function // whose bodies are being resolved
	// assigns: the value of an assignment is resolved, which runs while a transition is
	// made: transient variables do not have their value in a state there.
	assigns bool
	// model is set for conditions over states, which may ask whether a state is initial or
	// a deadlock.
	model *Model
	base  VarID // of the first transient variable, once all variables are declared
}

// spend takes n nodes off what may be unrolled.
func (r *resolver) spend(p Pos, n int) error {
	if r.left == nil {
		r.left = new(maxUnrolled)
	}
	if *r.left -= n; *r.left < 0 {
		return r.fail(p, "array constructors, whole arrays and function calls are unrolled to more than %d expressions", maxUnrolled)
	}
	return nil
}

func (r resolver) fail(p Pos, format string, args ...any) *Error {
	return badInput(p, "%s: %s", r.at, fmt.Sprintf(format, args...))
}

// scalar resolves e, which must have a type that converts to want (KindNone: any scalar).
func (r resolver) scalar(e *Expr, want Kind) (*Expr, error) {
	t, err := r.resolve(e)
	if err != nil {
		return nil, err
	}
	if t.Kind == KindArray {
		return nil, r.fail(e.Pos, "an array stands where a single value is needed")
	}
	if want != KindNone && t.Kind != want && !(want == KindReal && t.Kind == KindInt) {
		return nil, r.fail(e.Pos, "the value has type %s where %s is needed", t.Kind, want)
	}
	return t, nil
}

// constant resolves e to a literal of the wanted kind.
func (r resolver) constant(e *Expr, want Kind) (*Expr, error) {
	t, err := r.scalar(e, want)
	if err != nil {
		return nil, err
	}
	if t.Op != OpConst {
		var reason *Error // why it was not folded
		if _, err := t.Eval(nil); errors.As(err, &reason) && len(t.variables(nil)) == 0 {
			return nil, r.fail(reason.Pos, "%s", reason.Msg)
		}
		return nil, r.fail(e.Pos, "the value must be constant")
	}
	if want == KindReal && t.Kind == KindInt {
		t = &Expr{Op: OpConst, Kind: KindReal, Real: float64(t.Int), Pos: t.Pos}
	}
	return t, nil
}

// literals resolves e to literals of the wanted kind: one, or those of an array with the
// given number of dimensions.
func (r resolver) literals(e *Expr, want Kind, depth int) (values []*Expr, dims []int, err error) {
	t, err := r.value(e)
	if err != nil {
		return nil, nil, err
	}
	if len(t.Dims) != depth {
		return nil, nil, r.fail(e.Pos, "the value has %d array dimensions, the type has %d", len(t.Dims), depth)
	}
	if values = []*Expr{t}; depth > 0 {
		values = slices.Clone(t.Args)
	}
	for i := range values {
		if values[i], err = r.constant(values[i], want); err != nil {
			return nil, nil, err
		}
	}
	return values, t.Dims, nil
}

// variables appends the variables that occur in e.
func (e *Expr) variables(list []VarID) []VarID {
	switch e.Op {
	case OpVar:
		list = append(list, e.Var)
	case OpElem:
		for i := range e.Len {
			list = append(list, e.Var+VarID(i))
		}
	}
	for _, a := range e.Args {
		list = a.variables(list)
	}
	return list
}

// value resolves e as an operand: an array-valued part becomes OpArray.
func (r resolver) value(e *Expr) (*Expr, error) {
	t, err := r.resolve(e)
	if err != nil || t.Kind != KindArray || t.Op == OpArray {
		return t, err
	}
	if err := r.spend(e.Pos, product(t.Dims)); err != nil {
		return nil, err
	}
	return r.whole(t), nil
}

// whole returns the array that t, a row of a variable with a computed index, means, and
// anything else as it is.
func (r resolver) whole(t *Expr) *Expr {
	if t.Kind != KindArray || t.Op == OpArray {
		return t
	}
	n := product(t.Dims)
	array := &Expr{Op: OpArray, Kind: KindArray, Dims: t.Dims, Pos: t.Pos}
	for i := range n {
		flat := &Expr{Op: OpAdd, Kind: KindInt, Pos: t.Pos, Args: []*Expr{
			{Op: OpMul, Kind: KindInt, Pos: t.Pos, Args: []*Expr{t.Args[0], {Op: OpConst, Kind: KindInt, Int: int64(n)}}},
			{Op: OpConst, Kind: KindInt, Int: int64(i)}}}
		array.Args = append(array.Args, arrayElem(t.Pos, t.ElemKind, t.Var, t.Len, nil, flat))
	}
	return array
}

// resolve returns the typed copy of e. An array-valued expression yields OpArray over its
// scalars in row-major order, with Dims the shape; but a row of a variable with a computed
// index yields OpElem, for further indices.
func (r resolver) resolve(e *Expr) (*Expr, error) {
	if r.fills {
		if err := r.spend(e.Pos, 1); err != nil {
			return nil, err
		}
	}
	switch e.Op {
	case OpConst:
		return e, nil
	case OpName:
		return r.name(e)
	case OpAccess:
		return r.access(e)
	case OpArray:
		return r.arrayValue(e)
	case OpFill:
		return r.arrayFill(e)
	case OpCall:
		return r.call(e)
	case OpInitial, OpDeadlock:
		switch {
		case r.model == nil:
			return nil, r.fail(e.Pos, "%q stands outside a condition on states", e.Op)
		case e.Op == OpInitial:
			return r.model.isInitial(e.Pos), nil
		}
		return &Expr{Op: OpDeadlock, Kind: KindBool, Pos: e.Pos}, nil
	}
	t := &Expr{Op: e.Op, Pos: e.Pos, Args: make([]*Expr, len(e.Args))}
	for i, a := range e.Args {
		var err error
		if t.Args[i], err = r.value(a); err != nil {
			return nil, err
		}
	}
	if whole, err := r.elementwise(t); whole != nil || err != nil {
		return whole, err
	}
	if err := r.check(t); err != nil {
		return nil, err
	}
	return t.fold(), nil
}

// elementwise resolves = and ≠ of two arrays and ite with array branches to the same over
// their elements. It returns nil if t is none of these.
func (r resolver) elementwise(t *Expr) (*Expr, error) {
	var a, b *Expr
	switch {
	case (t.Op == OpEq || t.Op == OpNe) && t.Args[0].Op == OpArray && t.Args[1].Op == OpArray:
		a, b = t.Args[0], t.Args[1]
	case t.Op == OpIte && t.Args[1].Op == OpArray && t.Args[2].Op == OpArray:
		a, b = t.Args[1], t.Args[2]
	default:
		return nil, nil
	}
	if !slices.Equal(a.Dims, b.Dims) {
		return nil, r.fail(t.Pos, "%s has arrays of shapes %v and %v", t.Op, a.Dims, b.Dims)
	}
	if err := r.spend(t.Pos, len(a.Args)); err != nil {
		return nil, err
	}
	all := &Expr{Op: OpConst, Kind: KindBool, Int: 1, Pos: t.Pos}
	array := &Expr{Op: OpArray, Kind: KindArray, Dims: a.Dims, Pos: t.Pos, Args: make([]*Expr, len(a.Args))}
	for i := range a.Args {
		one := &Expr{Op: OpEq, Pos: t.Pos, Args: []*Expr{a.Args[i], b.Args[i]}}
		if t.Op == OpIte {
			one = &Expr{Op: OpIte, Pos: t.Pos, Args: []*Expr{t.Args[0], a.Args[i], b.Args[i]}}
		}
		if err := r.check(one); err != nil {
			return nil, err
		}
		array.Args[i] = one.fold()
		all = (&Expr{Op: OpAnd, Kind: KindBool, Pos: t.Pos, Args: []*Expr{all, array.Args[i]}}).fold()
	}
	switch t.Op {
	case OpIte:
		return array, nil
	case OpNe:
		all = (&Expr{Op: OpNot, Kind: KindBool, Args: []*Expr{all}, Pos: t.Pos}).fold()
	}
	result := []*Expr{all}
	err := r.behind(t.Pos, result, slices.Concat(a.Args, b.Args))
	return result[0], err
}

func (r resolver) name(e *Expr) (*Expr, error) {
	b, ok := r.scope.lookup(e.Name)
	switch {
	case !ok:
		return nil, r.fail(e.Pos, "%q is not declared", e.Name).hint("%s", DidYouMean(e.Name, r.scope.visible()))
	case b.transient != nil:
		return b.transient.read(r, e.Pos)
	case b.constant != nil && b.constant.Op == OpConst:
		c := *b.constant
		c.Pos = e.Pos
		return &c, nil
	case b.constant != nil: // an array, or the argument of a call: there once more
		return b.constant, r.spend(e.Pos, b.constant.size(maxUnrolled))
	case b.dims == nil:
		return &Expr{Op: OpVar, Kind: b.kind, Var: b.first, Pos: e.Pos}, nil
	}
	return r.arrayOf(e.Pos, b)
}

// call replaces a call by the body of the function with the arguments in place of its
// parameters.
func (r resolver) call(e *Expr) (*Expr, error) {
	f, declared := r.scope.function(e.Name)
	if f == nil {
		return nil, r.fail(e.Pos, "the function %q is not declared", e.Name)
	}
	if len(e.Args) != len(f.Parameters) {
		return nil, r.fail(e.Pos, "the function %q has %d parameters, the call has %d arguments", e.Name, len(f.Parameters), len(e.Args))
	}
	if slices.Contains(r.calls, f) {
		return nil, r.fail(e.Pos, "the function %q calls itself", e.Name)
	}
	inner := r
	inner.calls = append(slices.Clip(r.calls), f)
	inner.scope = newScope(declared)
	var arguments []*Expr
	for i, x := range f.Parameters {
		t, err := r.typedIn(declared, e.Args[i], x.Type, fmt.Sprintf("parameter %q of function %q", x.Name, f.Name))
		if err != nil {
			return nil, err
		}
		if err := declare(inner.scope, x.Name, binding{pos: x.Pos, constant: t}, "parameter"); err != nil {
			return nil, err
		}
		if arguments = append(arguments, t); t.Kind == KindArray {
			arguments = append(arguments[:len(arguments)-1], t.Args...)
		}
	}
	t, err := inner.typed(f.Body, f.Type, fmt.Sprintf("the result of function %q", f.Name))
	if err != nil {
		return nil, err
	}
	// A call evaluates all arguments, also those that the body then does not need.
	parts := []*Expr{t}
	if t.Kind == KindArray {
		parts = slices.Clone(t.Args)
		t = &Expr{Op: OpArray, Kind: KindArray, Dims: t.Dims, Args: parts, Pos: t.Pos}
	}
	if err := r.behind(e.Pos, parts, arguments); err != nil {
		return nil, err
	}
	if t.Kind != KindArray {
		t = parts[0]
	}
	// An argument that the body names several times is there several times: calls in
	// arguments of calls can make a short text very large.
	return t, r.spend(e.Pos, t.size(maxUnrolled))
}

// assert returns an expression that has the value of e if ok holds, and otherwise fails.
func assert(ok, e *Expr, message string) *Expr {
	return (&Expr{Op: OpAssert, Kind: e.Kind, Args: []*Expr{ok, e}, Name: message, Pos: e.Pos}).fold()
}

// behind puts each of parts behind those of all that can fail: it fails if one of these
// does, even if its own value does not need it.
func (r resolver) behind(p Pos, parts, all []*Expr) error {
	all = slices.DeleteFunc(slices.Clone(all), func(a *Expr) bool { return !a.mayFail() })
	for i, part := range parts {
		if len(all) == 0 {
			return nil
		}
		if err := r.spend(p, len(all)); err != nil {
			return err
		}
		evaluated := map[*Expr]bool{}
		part.always(evaluated)
		ok := &Expr{Op: OpConst, Kind: KindBool, Int: 1, Pos: p}
		for _, a := range all {
			if !evaluated[a] {
				same := &Expr{Op: OpEq, Kind: KindBool, Args: []*Expr{a, a}, Pos: a.Pos}
				ok = (&Expr{Op: OpAnd, Kind: KindBool, Args: []*Expr{ok, same}, Pos: p}).fold()
			}
		}
		parts[i] = assert(ok, part, "a part that is not needed has no value")
	}
	return nil
}

// mayFail reports whether evaluating e can fail, erring on the side of true.
func (e *Expr) mayFail() bool {
	switch e.Op {
	case OpConst, OpVar:
		return false
	case OpOr, OpAnd, OpNot, OpImplies, OpEq, OpNe, OpLt, OpLe, OpGt, OpGe, OpMin, OpMax, OpIte:
		return slices.ContainsFunc(e.Args, (*Expr).mayFail)
	}
	return true
}

// always collects the parts of e that are evaluated whenever e is.
func (e *Expr) always(parts map[*Expr]bool) {
	if parts[e] {
		return
	}
	parts[e] = true
	args := e.Args
	switch e.Op {
	case OpOr, OpAnd, OpImplies, OpIte:
		args = e.Args[:1]
	}
	for _, a := range args {
		a.always(parts)
	}
}

// typed resolves e to a value of a declared type, which is checked when it is evaluated if
// that cannot be done now; what says what the value is.
func (r resolver) typed(e *Expr, want TypeDecl, what string) (*Expr, error) {
	return r.typedIn(r.scope, e, want, what)
}

// typedIn is typed for a type that is declared in another scope.
func (r resolver) typedIn(declared *scope, e *Expr, want TypeDecl, what string) (*Expr, error) {
	t, err := r.value(e)
	if err != nil {
		return nil, err
	}
	outer := r
	outer.scope = declared
	x, depth, err := outer.scalarType(want)
	if err != nil {
		return nil, err
	}
	if len(t.Dims) != depth {
		return nil, r.fail(e.Pos, "%s has %d array dimensions where %d are needed", what, len(t.Dims), depth)
	}
	if depth == 0 {
		return r.within(t, &x, e.Pos, what)
	}
	array := &Expr{Op: OpArray, Kind: KindArray, Dims: t.Dims, Pos: t.Pos}
	for _, a := range t.Args {
		if a, err = r.within(a, &x, e.Pos, what); err != nil {
			return nil, err
		}
		array.Args = append(array.Args, a)
	}
	return array, nil
}

// within returns e, which stands at p, as a value of the type of x. Whether it is within
// bounds is checked when it is evaluated.
func (r resolver) within(e *Expr, x *Var, p Pos, what string) (*Expr, error) {
	if kind := x.kind(); e.Kind != kind && !(kind == KindReal && e.Kind == KindInt) {
		return nil, r.fail(p, "%s has type %s where %s is needed", what, e.Kind, kind)
	}
	e = asKind(e, x.kind())
	ok := &Expr{Op: OpConst, Kind: KindBool, Int: 1, Pos: e.Pos}
	and := func(op Op, limit Expr) {
		limit.Op, limit.Kind, limit.Pos = OpConst, e.Kind, e.Pos
		side := (&Expr{Op: op, Kind: KindBool, Args: []*Expr{e, &limit}, Pos: e.Pos}).fold()
		ok = (&Expr{Op: OpAnd, Kind: KindBool, Args: []*Expr{ok, side}, Pos: e.Pos}).fold()
	}
	switch x.Kind {
	case VarInt:
		if x.Lower != math.MinInt64 {
			and(OpGe, Expr{Int: x.Lower})
		}
		if x.Upper != math.MaxInt64 {
			and(OpLe, Expr{Int: x.Upper})
		}
	case VarReal:
		if !math.IsInf(x.RealLower, -1) {
			and(OpGe, Expr{Real: x.RealLower})
		}
		if !math.IsInf(x.RealUpper, 1) {
			and(OpLe, Expr{Real: x.RealUpper})
		}
	}
	return assert(ok, e, what+" is outside the bounds of its type"), nil
}

// size returns the number of nodes of e as a tree, or something above limit.
func (e *Expr) size(limit int) int {
	n := 1
	for _, a := range e.Args {
		if n > limit {
			break
		}
		n += a.size(limit - n)
	}
	return n
}

// asKind returns e, an int where a real is declared being made one.
func asKind(e *Expr, kind Kind) *Expr {
	if kind != KindReal || e.Kind != KindInt {
		return e
	}
	zero := &Expr{Op: OpConst, Kind: KindReal, Pos: e.Pos}
	return (&Expr{Op: OpAdd, Kind: KindReal, Args: []*Expr{e, zero}, Pos: e.Pos}).fold()
}

// arrayOf returns the array of the variables of b.
func (r resolver) arrayOf(p Pos, b binding) (*Expr, error) {
	n := product(b.dims)
	if err := r.spend(p, n); err != nil {
		return nil, err
	}
	t := &Expr{Op: OpArray, Kind: KindArray, Dims: b.dims, Pos: p, Args: make([]*Expr, n)}
	for i := range t.Args {
		t.Args[i] = &Expr{Op: OpVar, Kind: b.kind, Var: b.first + VarID(i), Pos: p}
	}
	return t, nil
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// access resolves a[i]. An index known now picks its part; otherwise the base must be
// a variable, and the access is checked when it is made.
func (r resolver) access(e *Expr) (*Expr, error) {
	if name := e.Args[0]; name.Op == OpName {
		if b, ok := r.scope.lookup(name.Name); ok && b.dims != nil {
			index, err := r.scalar(e.Args[1], KindInt)
			if err != nil {
				return nil, err
			}
			return r.element(e.Pos, b, index)
		}
	}
	base, err := r.resolve(e.Args[0])
	if err != nil {
		return nil, err
	}
	index, err := r.scalar(e.Args[1], KindInt)
	if err != nil {
		return nil, err
	}
	return r.indexed(e.Pos, base, index)
}

// indexed returns the part of base, a resolved array, that index selects.
func (r resolver) indexed(p Pos, base, index *Expr) (*Expr, error) {
	if base.Kind == KindArray && base.Op == OpArray {
		b := binding{kind: base.Args[0].Kind, first: base.Args[0].Var, dims: base.Dims}
		for i, a := range base.Args {
			if a.Op != OpVar || a.Var != b.first+VarID(i) || a.Kind != b.kind {
				return r.part(p, base, index)
			}
		}
		return r.element(p, b, index)
	}
	if base.Kind == KindArray && base.Op == OpElem { // further index of a[i][j] with computed i
		n := base.Dims[0]
		flat := &Expr{Op: OpAdd, Kind: KindInt, Pos: p, Args: []*Expr{
			{Op: OpMul, Kind: KindInt, Pos: p, Args: []*Expr{base.Args[0], {Op: OpConst, Kind: KindInt, Int: int64(n)}}},
			{Op: OpBound, Kind: KindInt, Len: n, Args: []*Expr{index}, Pos: p}}}
		return arrayElem(p, base.ElemKind, base.Var, base.Len, base.Dims[1:], flat), nil
	}
	return nil, r.fail(p, "an index is used on a value of type %s", base.Kind)
}

// element returns the part of the array variable b that index selects.
func (r resolver) element(p Pos, b binding, index *Expr) (*Expr, error) {
	n, rest := b.dims[0], b.dims[1:]
	switch {
	case index.Op != OpConst:
		flat := &Expr{Op: OpBound, Kind: KindInt, Len: n, Args: []*Expr{index}, Pos: p}
		return arrayElem(p, b.kind, b.first, product(b.dims), rest, flat), nil
	case index.Int < 0 || index.Int >= int64(n):
		return noElement(p, b.kind, n, rest, index), nil
	}
	b.first += VarID(int(index.Int) * product(rest))
	if b.dims = rest; len(rest) > 0 {
		return r.arrayOf(p, b)
	}
	return &Expr{Op: OpVar, Kind: b.kind, Var: b.first, Pos: p}, nil
}

// part returns the part of an array of values that index selects: if it is not known, by a
// binary search over its values.
func (r resolver) part(p Pos, base, index *Expr) (*Expr, error) {
	n, rest := base.Dims[0], base.Dims[1:]
	size := product(rest)
	if index.Op == OpConst {
		if index.Int < 0 || index.Int >= int64(n) {
			return noElement(p, base.Args[0].Kind, n, rest, index), nil
		}
		part := slices.Clone(base.Args[int(index.Int)*size : (int(index.Int)+1)*size])
		if err := r.behind(p, part, base.Args); err != nil {
			return nil, err
		}
		if len(rest) == 0 {
			return part[0], nil
		}
		return &Expr{Op: OpArray, Kind: KindArray, Args: part, Dims: rest, Pos: p}, nil
	}
	if err := r.spend(p, len(base.Args)); err != nil {
		return nil, err
	}
	inside := &Expr{Op: OpBound, Kind: KindInt, Len: n, Args: []*Expr{index}, Pos: p}
	var search func(column, from, to int) *Expr
	search = func(column, from, to int) *Expr {
		if to-from == 1 {
			return base.Args[from*size+column]
		}
		middle := (from + to) / 2
		below := &Expr{Op: OpLt, Kind: KindBool, Pos: p, Args: []*Expr{index, {Op: OpConst, Kind: KindInt, Int: int64(middle)}}}
		low, high := search(column, from, middle), search(column, middle, to)
		kind := low.Kind
		if high.Kind == KindReal {
			kind = KindReal
		}
		return &Expr{Op: OpIte, Kind: kind, Args: []*Expr{below, low, high}, Pos: p}
	}
	array := &Expr{Op: OpArray, Kind: KindArray, Dims: rest, Pos: p}
	for column := range size {
		checked := &Expr{Op: OpEq, Kind: KindBool, Args: []*Expr{inside, inside}, Pos: p}
		array.Args = append(array.Args, assert(checked, search(column, 0, n), "the index has no value"))
	}
	if err := r.behind(p, array.Args, base.Args); err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return array.Args[0], nil
	}
	return array, nil
}

// noElement returns an access with an index that is out of range: an error only if it is
// evaluated, since a condition may stand before it, as in ite(i < 2, a[i + 1], 0) in an
// array constructor. It never reads a variable.
func noElement(p Pos, kind Kind, n int, rest []int, index *Expr) *Expr {
	return arrayElem(p, kind, 0, 0, rest, &Expr{Op: OpBound, Kind: KindInt, Len: n, Args: []*Expr{index}, Pos: p})
}

// arrayElem returns the part of shape rest that flat, its checked number, selects from the
// n scalar variables of an array: a scalar, or a KindArray node that needs further
// indices.
func arrayElem(p Pos, kind Kind, first VarID, n int, rest []int, flat *Expr) *Expr {
	t := &Expr{Op: OpElem, Kind: kind, Var: first, Len: n, Args: []*Expr{flat}, Pos: p}
	if len(rest) > 0 {
		t.Kind, t.ElemKind, t.Dims = KindArray, kind, rest
	}
	return t
}

func (r resolver) arrayValue(e *Expr) (*Expr, error) {
	if len(e.Args) == 0 {
		return nil, r.fail(e.Pos, "an array needs at least one element")
	}
	var parts []*Expr
	for _, a := range e.Args {
		t, err := r.value(a)
		if err != nil {
			return nil, err
		}
		parts = append(parts, t)
	}
	return r.joined(e.Pos, parts)
}

// arrayFill unrolls ac: the array of the body's values for var = 0, 1, …
func (r resolver) arrayFill(e *Expr) (*Expr, error) {
	length, err := r.constant(e.Args[0], KindInt)
	if err != nil {
		return nil, err
	}
	const most = 1 << 20
	if length.Int < 1 || length.Int > most {
		return nil, r.fail(length.Pos, "an array of %d elements: the length must be from 1 to %d", length.Int, most)
	}
	if r.left == nil {
		r.left = new(maxUnrolled)
	}
	var parts []*Expr
	inner := r
	inner.fills, inner.scope = true, newScope(r.scope)
	for i := range length.Int {
		inner.scope.names[e.Name] = binding{constant: &Expr{Op: OpConst, Kind: KindInt, Int: i}}
		t, err := inner.value(e.Args[1])
		if err != nil {
			return nil, err
		}
		parts = append(parts, t)
	}
	return r.joined(e.Pos, parts)
}

// joined makes an array of parts, which must have one type and shape.
func (r resolver) joined(p Pos, parts []*Expr) (*Expr, error) {
	t := &Expr{Op: OpArray, Kind: KindArray, Dims: append([]int{len(parts)}, parts[0].Dims...), Pos: p}
	for _, x := range parts {
		if x.Kind == KindArray != (parts[0].Kind == KindArray) || !slices.Equal(x.Dims, parts[0].Dims) {
			return nil, r.fail(x.Pos, "the elements of an array must have one type and shape")
		}
		if x.Kind == KindArray {
			t.Args = append(t.Args, x.Args...)
		} else {
			t.Args = append(t.Args, x)
		}
	}
	kind := t.Args[0].Kind
	for _, x := range t.Args {
		if (x.Kind == KindBool) != (kind == KindBool) {
			return nil, r.fail(x.Pos, "the elements of an array must have one type")
		}
		if x.Kind == KindReal {
			kind = KindReal
		}
	}
	for i, x := range t.Args {
		// Literals stay as they are, for the sake of errors about those that are not int. Those
		// that no float64 is equal to must not.
		if x.Op != OpConst || int64(float64(x.Int)) != x.Int {
			t.Args[i] = asKind(x, kind)
		}
	}
	return t, nil
}

// check types an operator whose arguments are typed.
func (r resolver) check(t *Expr) error {
	for _, a := range t.Args {
		if a.Kind == KindArray {
			return unsupported(a.Pos, "%s: an operator on whole arrays", r.at)
		}
	}
	arg := func(i int, ok bool, needs string) error {
		if ok {
			return nil
		}
		return r.fail(t.Args[i].Pos, "operator %s needs %s, not %s", t.Op, needs, t.Args[i].Kind)
	}
	number := func(i int) error { return arg(i, t.Args[i].Kind != KindBool, "a number") }
	each := func(f func(i int) error) error {
		for i := range t.Args {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	widest := func() Kind {
		for _, a := range t.Args {
			if a.Kind == KindReal {
				return KindReal
			}
		}
		return KindInt
	}
	switch t.Op {
	case OpOr, OpAnd, OpNot, OpImplies:
		t.Kind = KindBool
		return each(func(i int) error { return arg(i, t.Args[i].Kind == KindBool, "bool") })
	case OpEq, OpNe:
		t.Kind = KindBool
		if a, b := t.Args[0].Kind, t.Args[1].Kind; (a == KindBool) != (b == KindBool) {
			return r.fail(t.Pos, "%s compares %s with %s", t.Op, a, b)
		}
	case OpLt, OpLe, OpGt, OpGe:
		t.Kind = KindBool
		return each(number)
	case OpAdd, OpSub, OpNeg, OpMul, OpMin, OpMax, OpAbs:
		t.Kind = widest()
		return each(number)
	case OpMod:
		t.Kind = KindInt
		return each(func(i int) error { return arg(i, t.Args[i].Kind == KindInt, "int") })
	case OpDiv, OpPow, OpLog:
		t.Kind = KindReal
		return each(number)
	case OpSgn, OpTrc, OpFloor, OpCeil:
		t.Kind = KindInt
		return each(number)
	case OpSin, OpCos, OpTan, OpCot, OpSec, OpCsc, OpAsin, OpAcos, OpAtan, OpAcot, OpAsec, OpAcsc,
		OpSinh, OpCosh, OpTanh, OpCoth, OpSech, OpCsch, OpAsinh, OpAcosh, OpAtanh, OpAcoth, OpAsech, OpAcsch:
		t.Kind = KindReal
		return each(number)
	case OpIte:
		if err := arg(0, t.Args[0].Kind == KindBool, "bool"); err != nil {
			return err
		}
		a, b := t.Args[1].Kind, t.Args[2].Kind
		if (a == KindBool) != (b == KindBool) {
			return r.fail(t.Pos, "ite has branches of types %s and %s", a, b)
		}
		t.Kind = a
		if b == KindReal {
			t.Kind = KindReal
		}
	}
	return nil
}

// fold replaces what is constant by its value. A constant part that cannot be
// computed (1/0) stays: it is an error only if a run evaluates it.
func (e *Expr) fold() *Expr {
	isConst := func(i int, b bool) bool {
		return e.Args[i].Op == OpConst && e.Args[i].Kind == KindBool && (e.Args[i].Int != 0) == b
	}
	switch e.Op {
	case OpAnd:
		if isConst(0, false) || isConst(1, true) {
			return e.Args[0]
		} else if isConst(0, true) {
			return e.Args[1]
		}
	case OpOr:
		if isConst(0, true) || isConst(1, false) {
			return e.Args[0]
		} else if isConst(0, false) {
			return e.Args[1]
		}
	case OpImplies:
		if isConst(0, true) {
			return e.Args[1]
		} else if isConst(0, false) {
			return &Expr{Op: OpConst, Kind: KindBool, Int: 1, Pos: e.Pos}
		}
	case OpAssert:
		if isConst(0, true) {
			return e.Args[1]
		}
	case OpIte:
		if isConst(0, true) || isConst(0, false) {
			return asKind(e.Args[2-e.Args[0].Int], e.Kind)
		}
	}
	for _, a := range e.Args {
		if a.Op != OpConst {
			return e
		}
	}
	c, err := e.Eval(nil)
	if err != nil {
		return e
	}
	return &Expr{Op: OpConst, Kind: c.Kind, Int: c.Int, Real: c.Real, Pos: e.Pos}
}

// constValue returns the literal c as a value of variable x, or what is wrong with it.
func constValue(x *Var, c *Expr) (Value, string) {
	switch {
	case (x.Kind == VarBool) != (c.Kind == KindBool):
		return 0, fmt.Sprintf("a value of type %s", c.Kind)
	case x.Kind == VarReal:
		f := c.Real
		if c.Kind == KindInt {
			f = float64(c.Int)
		}
		if f < x.RealLower || f > x.RealUpper || math.IsNaN(f) {
			return 0, fmt.Sprintf("%g, outside its bounds %g to %g", f, x.RealLower, x.RealUpper)
		}
		return RealValue(f), ""
	case c.Kind == KindReal:
		return 0, fmt.Sprintf("the real %g", c.Real)
	case c.Int < x.Lower || c.Int > x.Upper:
		return 0, fmt.Sprintf("%d, outside its bounds %s", c.Int, x.Range())
	}
	return Value(c.Int), ""
}
