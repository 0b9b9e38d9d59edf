package nnpolicy

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Bounds of the operations of one evaluation of a graph, and of the numbers that it
// computes: a few bytes of a file could otherwise declare anything.
const (
	maxWork    = 1 << 27
	maxNumbers = 1 << 23
)

// kind is what the numbers of a tensor are. All are computed in float64.
type kind uint8

const (
	kindReal kind = iota
	kindInt
	kindBool
)

// tensor is a value of a graph: numbers in row-major order, known ones in data, else
// those from offset at on in the values of an evaluation.
type tensor struct {
	dims []int
	kind kind
	data []float64 // nil if the value depends on the inputs
	at   int
}

func (t *tensor) size() int { return product(t.dims) }

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// opcode is what a step of a graph computes.
type opcode uint8

const (
	opAdd opcode = iota
	opSub
	opMul
	opDiv
	opMax
	opMin
	opRelu
	opTanh
	opSigmoid
	opMatMul // a (rows×inner) times b (inner×columns), plus c if there is one
	opPick   // out[i] = a[pickA[i]]
	opCopy   // out[i] = a[i], out beginning at offset skip, in blocks of chunk, stride apart
)

// step computes out. pickA and pickB are the places of the operands of each result in a
// and b, nil where they are those of the result.
type step struct {
	op                   opcode
	a, b, c, out         *tensor
	pickA, pickB         []int32
	rows, inner, columns int
	skip, chunk, stride  int
}

// graph is a Function that a sequence of steps computes, in float64: a sum is formed from
// left to right, each product and each sum rounded. Only tanh and sigmoid may differ in the
// last bits between machines, as package math does. It needs no memory but its values.
type graph struct {
	inputs int // the first values
	steps  []step
	out    *tensor
	values []float64

	size, work, numbers int // of values; operations and results of the steps
}

func (g *graph) Inputs() int  { return g.inputs }
func (g *graph) Outputs() int { return g.out.size() }

func (g *graph) Fork() Function {
	f := *g
	f.values = make([]float64, g.size)
	return &f
}

// Evaluate computes all steps. A result that is not finite is an error.
func (g *graph) Evaluate(in, out []float64) error {
	if len(in) != g.Inputs() || len(out) != g.Outputs() {
		return fmt.Errorf("a network of %d inputs and %d outputs is evaluated with %d and %d", g.Inputs(), g.Outputs(), len(in), len(out))
	}
	copy(g.values, in)
	for i := range g.steps {
		g.steps[i].run(g.values)
	}
	copy(out, g.out.in(g.values))
	for i, y := range out {
		if !finite(y) {
			return fmt.Errorf("output %d of the network is %v", i, y)
		}
	}
	return nil
}

// in returns the numbers of t among the values of an evaluation.
func (t *tensor) in(values []float64) []float64 {
	switch {
	case t == nil:
		return nil
	case t.data != nil:
		return t.data
	}
	return values[t.at : t.at+t.size()]
}

// run computes the step from and to values.
func (s *step) run(values []float64) {
	a, b, c, out := s.a.in(values), s.b.in(values), s.c.in(values), s.out.in(values)
	switch s.op {
	case opRelu:
		for i, x := range a {
			out[i] = max(x, 0) // keeps NaN
		}
	case opTanh:
		for i, x := range a {
			out[i] = math.Tanh(x)
		}
	case opSigmoid:
		for i, x := range a {
			out[i] = 1 / (1 + math.Exp(-x))
		}
	case opMatMul:
		if c != nil {
			copy(out, c)
		} else {
			clear(out)
		}
		for r := range s.rows {
			y := out[r*s.columns:][:s.columns]
			for k, x := range a[r*s.inner:][:s.inner] {
				for j, w := range b[k*s.columns:][:s.columns] {
					y[j] += float64(w * x) // not fused, on no machine
				}
			}
		}
	case opPick:
		for i, k := range s.pickA {
			out[i] = a[k]
		}
	case opCopy:
		for i := 0; i*s.chunk < len(a); i++ {
			copy(out[s.skip+i*s.stride:], a[i*s.chunk:][:s.chunk])
		}
	default:
		for i := range out {
			j, k := i, i
			if s.pickA != nil {
				j = int(s.pickA[i])
			}
			if s.pickB != nil {
				k = int(s.pickB[i])
			}
			out[i] = s.op.of(a[j], b[k])
		}
	}
}

// of computes an operation of two numbers.
func (op opcode) of(x, y float64) float64 {
	switch op {
	case opAdd:
		return x + y
	case opSub:
		return x - y
	case opMul:
		return x * y
	case opDiv:
		return x / y
	case opMax:
		return max(x, y)
	}
	return min(x, y)
}

var errTooLarge = fmt.Errorf("the network computes more than the limit of %d numbers or takes more than %d operations", maxNumbers, maxWork)

// input returns a tensor of further inputs.
func (g *graph) input(dims []int, k kind) (*tensor, error) {
	t, err := g.fresh(dims, k, 1)
	g.inputs = g.size
	return t, err
}

// room returns an error if a tensor is too large, or takes too many operations, each per
// number.
func (g *graph) room(dims []int, each int) error {
	n := 1
	for _, d := range dims {
		if n *= d; n < 0 || n > maxNumbers {
			return errTooLarge
		}
	}
	if g.numbers+n > maxNumbers || each > maxWork || g.work+n*max(each, 1) > maxWork {
		return errTooLarge
	}
	return nil
}

// fresh returns a tensor with a place among the values.
func (g *graph) fresh(dims []int, k kind, each int) (*tensor, error) {
	if err := g.room(dims, each); err != nil {
		return nil, err
	}
	t := &tensor{dims: dims, kind: k, at: g.size}
	n := t.size()
	g.size += n
	g.numbers += n
	g.work += n * max(each, 1)
	return t, nil
}

// add appends a step whose result has the given shape. Where all operands are known it is
// computed at once.
func (g *graph) add(s step, dims []int, k kind, each int) (*tensor, error) {
	size := g.size
	out, err := g.fresh(dims, k, each)
	if err != nil {
		return nil, err
	}
	s.out = out
	known := func(t *tensor) bool { return t == nil || t.data != nil }
	if known(s.a) && known(s.b) && known(s.c) && s.op != opCopy {
		g.size = size
		out.data = make([]float64, out.size())
		s.run(nil)
		if !finite(out.data...) {
			return nil, errors.New("a constant that it computes is not finite")
		}
		return out, nil
	}
	g.steps = append(g.steps, s)
	return out, nil
}

// unary applies an operation to every number.
func (g *graph) unary(op opcode, a *tensor) (*tensor, error) {
	return g.add(step{op: op, a: a}, a.dims, a.kind, 1)
}

// binary applies an operation to every pair of numbers, after the shapes have been made
// equal as NumPy does it: aligned at the end, an extent of 1 repeats.
func (g *graph) binary(op opcode, a, b *tensor) (*tensor, error) {
	switch {
	case a.kind == kindBool || b.kind == kindBool:
		return nil, errors.New("its operands are truth values")
	case a.kind != b.kind:
		return nil, errors.New("one of its operands is of an integer type, the other of a real one")
	case op == opDiv && a.kind == kindInt:
		return nil, notSupported("a division of integers")
	}
	rank := max(len(a.dims), len(b.dims))
	dims := make([]int, rank)
	for i := range dims {
		x, y := extent(a.dims, i, rank), extent(b.dims, i, rank)
		if x != y && x != 1 && y != 1 {
			return nil, fmt.Errorf("the shapes %v and %v of its operands do not fit", a.dims, b.dims)
		}
		if dims[i] = x; x == 1 {
			dims[i] = y
		}
	}
	s := step{op: op, a: a, b: b}
	if err := g.room(dims, 1); err != nil {
		return nil, err
	}
	if a.size() != product(dims) {
		s.pickA = broadcast(a.dims, dims)
	}
	if b.size() != product(dims) {
		s.pickB = broadcast(b.dims, dims)
	}
	return g.add(s, dims, a.kind, 1)
}

// extent returns the i-th of rank extents of a shape that is filled up with ones.
func extent(dims []int, i, rank int) int {
	if i += len(dims) - rank; i < 0 {
		return 1
	}
	return dims[i]
}

// broadcast returns for every element of a tensor of shape to its place in one of shape from.
func broadcast(from, to []int) []int32 {
	strides := make([]int, len(to))
	n := 1
	for i := len(to) - 1; i >= 0; i-- {
		if x := extent(from, i, len(to)); x > 1 {
			strides[i] = n
			n *= x
		}
	}
	return places(to, strides)
}

// places returns Σ index·stride for every index of a shape, in row-major order.
func places(dims, strides []int) []int32 {
	at := make([]int32, product(dims))
	index := make([]int, len(dims))
	place := 0
	for k := range at {
		at[k] = int32(place)
		for i := len(dims) - 1; i >= 0; i-- {
			index[i]++
			place += strides[i]
			if index[i] < dims[i] {
				break
			}
			place -= dims[i] * strides[i]
			index[i] = 0
		}
	}
	return at
}

// transpose reorders the axes: axis i of the result is axis perm[i] of a.
func (g *graph) transpose(a *tensor, perm []int) (*tensor, error) {
	own := make([]int, len(a.dims))
	n := 1
	for i := len(own) - 1; i >= 0; i-- {
		own[i] = n
		n *= a.dims[i]
	}
	dims, strides := make([]int, len(own)), make([]int, len(own))
	seen := make([]bool, len(own))
	if len(perm) != len(own) {
		return nil, fmt.Errorf("it reorders %d axes of a tensor of shape %v", len(perm), a.dims)
	}
	for i, p := range perm {
		if p < 0 || p >= len(own) || seen[p] {
			return nil, fmt.Errorf("%v is not an order of axes", perm)
		}
		seen[p] = true
		dims[i], strides[i] = a.dims[p], own[p]
	}
	if err := g.room(dims, 1); err != nil {
		return nil, err
	}
	return g.add(step{op: opPick, a: a, pickA: places(dims, strides)}, dims, a.kind, 1)
}

// matMul multiplies two matrices, of which either may be a vector, and adds c, which is nil
// or has the shape of the result.
func (g *graph) matMul(a, b, c *tensor) (*tensor, error) {
	ranks := [2]int{len(a.dims), len(b.dims)}
	s := step{op: opMatMul, a: a, b: b, c: c, rows: 1, columns: 1}
	var dims []int
	switch ranks {
	case [2]int{2, 2}, [2]int{2, 1}, [2]int{1, 2}, [2]int{1, 1}:
	default:
		return nil, notSupported("a product of the shapes %v and %v, which are not matrices,", a.dims, b.dims)
	}
	if ranks[0] == 2 {
		s.rows = a.dims[0]
		dims = append(dims, s.rows)
	}
	s.inner = a.dims[ranks[0]-1]
	if ranks[1] == 2 {
		s.columns = b.dims[1]
		dims = append(dims, s.columns)
	}
	switch {
	case s.inner != b.dims[0]:
		return nil, fmt.Errorf("the shapes %v and %v of its operands do not fit", a.dims, b.dims)
	case a.kind == kindBool || a.kind != b.kind || c != nil && c.kind != a.kind:
		return nil, errors.New("its operands are of different types, or truth values")
	}
	return g.add(s, dims, a.kind, s.inner)
}

// concat joins tensors along an axis.
func (g *graph) concat(parts []*tensor, axis int) (*tensor, error) {
	first := parts[0]
	rank := len(first.dims)
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= rank {
		return nil, fmt.Errorf("a tensor of shape %v has no axis %d", first.dims, axis)
	}
	dims := slices.Clone(first.dims)
	known := first.data != nil
	for _, p := range parts[1:] {
		if len(p.dims) != rank || !slices.Equal(p.dims[:axis], dims[:axis]) || !slices.Equal(p.dims[axis+1:], dims[axis+1:]) {
			return nil, fmt.Errorf("the shapes %v and %v of its operands do not fit", first.dims, p.dims)
		}
		if p.kind != first.kind {
			return nil, errors.New("its operands are of different types")
		}
		if dims[axis] += p.dims[axis]; dims[axis] > maxNumbers {
			return nil, errTooLarge
		}
		known = known && p.data != nil
	}
	size := g.size
	out, err := g.fresh(dims, first.kind, 1)
	if err != nil {
		return nil, err
	}
	if known {
		g.size = size
		out.data = make([]float64, out.size())
	}
	tail := product(dims[axis+1:])
	skip := 0
	for _, p := range parts {
		chunk := p.dims[axis] * tail
		s := step{op: opCopy, a: p, out: out, skip: skip, chunk: chunk, stride: dims[axis] * tail}
		skip += chunk
		switch {
		case chunk == 0:
		case known:
			s.run(nil)
		default:
			g.steps = append(g.steps, s)
		}
	}
	return out, nil
}

// reshaped returns the same numbers in another shape and of another kind.
func (t *tensor) reshaped(dims []int, k kind) *tensor {
	return &tensor{dims: dims, kind: k, data: t.data, at: t.at}
}

// finish makes a Function of the graph whose result is out: a Network if it is one, with
// or without the scaling of inputs and outputs, else the graph itself.
func (g *graph) finish(out *tensor) Function {
	g.out = out
	if n := g.network(); n != nil {
		return n
	}
	g.values = make([]float64, g.size)
	return g
}

// network returns the Network that the graph is, nil if it is none: the scaling of the
// inputs by max, min, sub, div; layers of a product, a sum and, but for the last, relu;
// the scaling of the outputs by mul, add. Other operands than the value before are
// known, and all but the layers may be missing.
func (g *graph) network() *Network {
	steps := g.steps
	at, size := 0, g.inputs // the value before
	// next takes the next step if it applies op to the value before and known numbers,
	// one per number of the value or (uniform) one for all, and returns these.
	next := func(op opcode) []float64 {
		if len(steps) == 0 {
			return nil
		}
		s := &steps[0]
		if s.op != op || s.a.data != nil || s.a.at != at || s.a.size() != size || s.out.size() != size || s.b.data == nil {
			return nil
		}
		numbers := s.b.data
		if s.pickB != nil {
			numbers = make([]float64, size)
			for i, k := range s.pickB {
				numbers[i] = s.b.data[k]
			}
		}
		at, steps = s.out.at, steps[1:]
		return numbers
	}
	s := openScaling(g.inputs)
	for _, part := range []struct {
		op opcode
		to *[]float64
	}{{opMax, &s.Min}, {opMin, &s.Max}, {opSub, &s.Mean}, {opDiv, &s.Range}} {
		if numbers := next(part.op); numbers != nil {
			*part.to = numbers
		}
	}
	var layers []Layer
	for last := false; !last; {
		if len(steps) == 0 {
			return nil
		}
		p := &steps[0]
		if p.op != opMatMul || p.rows != 1 || p.a.data != nil || p.a.at != at || p.a.size() != size || p.b.data == nil ||
			p.c != nil && p.c.data == nil {
			return nil
		}
		at, size, steps = p.out.at, p.columns, steps[1:]
		l := Layer{Weights: make([][]float64, size), Bias: make([]float64, size)}
		for o := range l.Weights {
			l.Weights[o] = make([]float64, p.inner)
			for j := range l.Weights[o] {
				l.Weights[o][j] = p.b.data[j*size+o]
			}
		}
		if p.c != nil {
			copy(l.Bias, p.c.data)
		} else if bias := next(opAdd); bias != nil {
			copy(l.Bias, bias)
		}
		layers = append(layers, l)
		last = len(steps) == 0 || steps[0].op != opRelu
		if !last {
			if steps[0].a.at != at {
				return nil
			}
			at, steps = steps[0].out.at, steps[1:]
		}
	}
	for _, part := range []struct {
		op opcode
		to *float64
	}{{opMul, &s.OutRange}, {opAdd, &s.OutMean}} {
		numbers := next(part.op)
		if len(numbers) == 0 {
			continue
		}
		*part.to = numbers[0]
		if slices.ContainsFunc(numbers, func(x float64) bool { return x != numbers[0] }) {
			return nil
		}
	}
	if len(steps) > 0 || g.out.data != nil || g.out.at != at || g.out.size() != size {
		return nil
	}
	n, err := NewNetwork(layers, s)
	if err != nil {
		return nil // its scaling is none that a Network has
	}
	return n
}

// openScaling changes nothing.
func openScaling(inputs int) Scaling {
	return Scaling{
		Min: slices.Repeat([]float64{-math.MaxFloat64}, inputs), Max: slices.Repeat([]float64{math.MaxFloat64}, inputs),
		Mean: make([]float64, inputs), Range: slices.Repeat([]float64{1}, inputs), OutRange: 1,
	}
}
