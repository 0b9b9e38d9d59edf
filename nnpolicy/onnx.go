package nnpolicy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// ReadONNX reads a network in the ONNX format, of one graph whose inputs have a batch
// extent of 1 or of unknown size, if any, and whose only output is what the policy
// computes. Several inputs follow one another in the order of the graph.
//
// Operators, from operator set 7 on: Add, Cast, Concat, Constant, Div, Flatten, Gemm,
// Identity, MatMul of matrices, Max, Min, Mul, Relu, Reshape, Sigmoid, Sub, Tanh and
// Transpose, on float, double, int32, int64 and bool. Any other, any attribute that these
// do not have, and weights in other files are a *jani.Error of kind Unsupported that says
// its name; all else that is wrong is one of kind BadInput. Both name the file, and the
// node or the offset of the byte concerned.
//
// All is computed in float64, whatever the types, so that results differ from those of a
// float32 run by its rounding errors. A graph that is a Network becomes one. Time is
// linear in the file and in the limits of a graph; memory is bounded by the file and them.
func ReadONNX(name string, file []byte) (Function, error) {
	r := onnxReader{graph: &graph{}, known: make(map[string]*tensor)}
	f, err := r.model(file)
	return f, fileError(name, err)
}

// unsupportedError is what a file may say, but is not read here.
type unsupportedError string

func (e unsupportedError) Error() string { return string(e) }

func notSupported(format string, args ...any) error {
	return unsupportedError(fmt.Sprintf(format, args...) + " is not supported")
}

// field is a field of a protocol buffer message, at an offset of the file.
type field struct {
	number protowire.Number
	wire   protowire.Type
	n      uint64 // unless it is bytes
	bytes  []byte
	at     int
}

// fields visits the fields of message m in order. Groups are left out.
func (m field) fields(visit func(f field) error) error {
	for b := m.bytes; len(b) > 0; {
		at := m.at + len(m.bytes) - len(b)
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("byte %d: %w", at, protowire.ParseError(n))
		}
		f := field{number: number, wire: wire}
		b = b[n:]
		switch wire {
		case protowire.VarintType:
			f.n, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var x uint32
			x, n = protowire.ConsumeFixed32(b)
			f.n = uint64(x)
		case protowire.Fixed64Type:
			f.n, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, wire, b)
		}
		if n < 0 {
			return fmt.Errorf("byte %d: %w", at, protowire.ParseError(n))
		}
		f.at = m.at + len(m.bytes) - len(b) + n - len(f.bytes)
		b = b[n:]
		if wire == protowire.StartGroupType {
			continue
		}
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// is checks the wire type of a field.
func (f field) is(wire protowire.Type) error {
	if f.wire != wire {
		return fmt.Errorf("byte %d: field %d has wire type %d instead of %d", f.at, f.number, f.wire, wire)
	}
	return nil
}

// each visits the numbers of a repeated field, packed or not.
func (f field) each(wire protowire.Type, visit func(n uint64)) error {
	if f.wire != protowire.BytesType {
		if err := f.is(wire); err != nil {
			return err
		}
		visit(f.n)
		return nil
	}
	for b := f.bytes; len(b) > 0; {
		var x uint64
		var n int
		switch wire {
		case protowire.VarintType:
			x, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var y uint32
			y, n = protowire.ConsumeFixed32(b)
			x = uint64(y)
		default:
			x, n = protowire.ConsumeFixed64(b)
		}
		if n < 0 {
			return fmt.Errorf("byte %d: %w", f.at+len(f.bytes)-len(b), protowire.ParseError(n))
		}
		visit(x)
		b = b[n:]
	}
	return nil
}

// Numbers of fields and types in onnx.proto3.
const (
	modelGraph, modelOpset                             = 7, 8
	opsetDomain, opsetVersion                          = 1, 2
	graphNode, graphInitializer, graphInput            = 1, 5, 11
	graphOutput, graphSparse                           = 12, 15
	nodeInput, nodeOutput, nodeName, nodeType          = 1, 2, 3, 4
	nodeAttribute, nodeDomain                          = 5, 7
	attrName, attrFloat, attrInt                       = 1, 2, 3
	attrTensor, attrFloats, attrInts, attrKind         = 5, 7, 8, 20
	tensorDims, tensorType, tensorSegment, tensorFloat = 1, 2, 3, 4
	tensorInt32, tensorInt64, tensorName, tensorRaw    = 5, 7, 8, 9
	tensorDouble, tensorExternal, tensorLocation       = 10, 13, 14
	valueName, valueType, typeTensor                   = 1, 2, 1
	tensorElem, tensorShape, shapeDim, dimValue        = 1, 2, 1, 1

	elemFloat, elemInt32, elemInt64, elemBool, elemDouble = 1, 6, 7, 9, 11
)

// kindOf returns the kind of an element type.
func kindOf(elem uint64) (kind, error) {
	switch elem {
	case elemFloat, elemDouble:
		return kindReal, nil
	case elemInt32, elemInt64:
		return kindInt, nil
	case elemBool:
		return kindBool, nil
	}
	names := []string{"no type", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16",
		"double", "uint32", "uint64", "complex64", "complex128", "bfloat16"}
	if elem < uint64(len(names)) {
		return 0, notSupported("the element type %s", names[elem])
	}
	return 0, notSupported("the element type %d", elem)
}

// onnxReader builds the graph while it reads.
type onnxReader struct {
	graph *graph
	known map[string]*tensor // values by name
}

func (r *onnxReader) model(file []byte) (Function, error) {
	var graph, imported bool
	var version uint64
	var content field
	err := field{bytes: file}.fields(func(f field) error {
		switch f.number {
		case modelGraph:
			graph, content = true, f
			return f.is(protowire.BytesType)
		case modelOpset:
			domain, v := "", uint64(0)
			err := f.fields(func(f field) error {
				switch f.number {
				case opsetDomain:
					domain = string(f.bytes)
				case opsetVersion:
					v = f.n
				}
				return nil
			})
			if standard(domain) {
				imported, version = true, v
			}
			return err
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("this is no ONNX file, or it is damaged: %w", err)
	case !graph || !imported:
		return nil, errors.New("this is no ONNX file: it has no graph, or does not say the version of its operators")
	case version < 7:
		return nil, notSupported("version %d of the operator set, older than 7,", version)
	}
	return r.build(content)
}

func standard(domain string) bool { return domain == "" || domain == "ai.onnx" }

// build reads the graph: the weights first, since nodes and inputs refer to them.
func (r *onnxReader) build(content field) (Function, error) {
	var inputs, nodes []field
	var outputs []string
	err := content.fields(func(f field) error {
		switch f.number {
		case graphInitializer:
			name, t, err := r.tensor(f)
			if err != nil {
				return fmt.Errorf("initializer %q: %w", name, err)
			}
			return r.define(name, t)
		case graphSparse:
			return notSupported("a sparse initializer")
		case graphInput:
			inputs = append(inputs, f)
		case graphNode:
			nodes = append(nodes, f)
		case graphOutput:
			name, _, _, err := value(f)
			outputs = append(outputs, name)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	weights := len(r.known)
	for _, f := range inputs {
		if err := r.input(f); err != nil {
			return nil, err
		}
	}
	if len(r.known) == weights {
		return nil, errors.New("the graph has no input")
	}
	for i, f := range nodes {
		if err := r.node(f); err != nil {
			return nil, fmt.Errorf("node %d%w", i, err)
		}
	}
	if len(outputs) != 1 {
		return nil, notSupported("a graph of the %d outputs %q, instead of the one that is the policy's,", len(outputs), outputs)
	}
	out := r.known[outputs[0]]
	switch {
	case out == nil:
		return nil, fmt.Errorf("no node computes the output %q", outputs[0])
	case out.kind == kindBool:
		return nil, notSupported("an output of truth values")
	case out.size() == 0:
		return nil, errors.New("the output is empty")
	}
	return r.graph.finish(out), nil
}

func (r *onnxReader) define(name string, t *tensor) error {
	if name == "" || r.known[name] != nil {
		return fmt.Errorf("there are two values with the name %q, or it is empty", name)
	}
	r.known[name] = t
	return nil
}

// value reads the name, the element type and the shape of an input or output; unknown
// extents are −1.
func value(m field) (name string, elem uint64, dims []int, err error) {
	err = m.fields(func(f field) error {
		switch f.number {
		case valueName:
			name = string(f.bytes)
		case valueType:
			return f.fields(func(f field) error {
				if f.number != typeTensor {
					return notSupported("the value %q, which is not a tensor,", name)
				}
				return f.fields(func(f field) error {
					switch f.number {
					case tensorElem:
						elem = f.n
					case tensorShape:
						dims = []int{}
						return f.fields(func(f field) error {
							if f.number != shapeDim {
								return nil
							}
							dims = append(dims, -1)
							return f.fields(func(f field) error {
								if f.number == dimValue && f.n <= maxNumbers {
									dims[len(dims)-1] = int(f.n)
								}
								return nil
							})
						})
					}
					return nil
				})
			})
		}
		return nil
	})
	return name, elem, dims, err
}

// input adds an input of the graph, unless it is the default of an initializer.
func (r *onnxReader) input(f field) error {
	name, elem, dims, err := value(f)
	if err != nil || r.known[name] != nil && r.known[name].data != nil {
		return err
	}
	k, err := kindOf(elem)
	if err != nil {
		return fmt.Errorf("input %q: %w", name, err)
	}
	if dims == nil {
		return fmt.Errorf("input %q has no shape", name)
	}
	shape := slices.Clone(dims)
	if len(dims) > 0 && dims[0] == -1 {
		dims[0] = 1
	}
	if slices.Min(append(slices.Clone(dims), 1)) < 1 || len(dims) > 1 && dims[0] != 1 {
		return notSupported("the shape %v of input %q (−1 is unknown), which is not a batch of 1 and known extents,", shape, name)
	}
	t, err := r.graph.input(dims, k)
	if err != nil {
		return fmt.Errorf("input %q: %w", name, err)
	}
	return r.define(name, t)
}

// tensor reads the name and the numbers of a tensor.
func (r *onnxReader) tensor(m field) (name string, t *tensor, err error) {
	t = &tensor{dims: []int{}, data: []float64{}}
	var elem uint64
	var raw []byte
	var isRaw, external, large bool
	add := func(convert func(n uint64) float64) func(n uint64) {
		return func(n uint64) { t.data = append(t.data, convert(n)) }
	}
	integer := func(n uint64) float64 {
		large = large || int64(n) > exactInt || int64(n) < -exactInt
		return float64(int64(n))
	}
	real32 := func(n uint64) float64 { return float64(math.Float32frombits(uint32(n))) }
	err = m.fields(func(f field) error {
		switch f.number {
		case tensorDims:
			return f.each(protowire.VarintType, func(n uint64) { t.dims = append(t.dims, int(min(n, 1<<40))) })
		case tensorType:
			elem = f.n
		case tensorName:
			name = string(f.bytes)
		case tensorFloat:
			return f.each(protowire.Fixed32Type, add(real32))
		case tensorDouble:
			return f.each(protowire.Fixed64Type, add(math.Float64frombits))
		case tensorInt32, tensorInt64:
			return f.each(protowire.VarintType, add(integer))
		case tensorRaw:
			raw, isRaw = f.bytes, true
		case tensorLocation:
			external = external || f.n != 0
		case tensorExternal, tensorSegment:
			external = true
		}
		return nil
	})
	if err != nil {
		return name, nil, err
	}
	if external {
		return name, nil, notSupported("a tensor whose numbers are in another file or in parts (save the model with its weights inside)")
	}
	if t.kind, err = kindOf(elem); err != nil {
		return name, nil, err
	}
	if isRaw {
		if len(t.data) > 0 {
			return name, nil, errors.New("its numbers are given twice")
		}
		switch elem {
		case elemFloat:
			t.data = unpack(raw, 4, func(b []byte) float64 { return real32(uint64(binary.LittleEndian.Uint32(b))) })
		case elemDouble:
			t.data = unpack(raw, 8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
		case elemInt32:
			t.data = unpack(raw, 4, func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) })
		case elemInt64:
			t.data = unpack(raw, 8, func(b []byte) float64 { return integer(binary.LittleEndian.Uint64(b)) })
		default:
			t.data = unpack(raw, 1, func(b []byte) float64 { return float64(b[0]) })
		}
		if t.data == nil {
			return name, nil, fmt.Errorf("its %d bytes are no whole number of elements", len(raw))
		}
	}
	n := 1
	for _, d := range t.dims {
		if n *= d; n > len(t.data) {
			break
		}
	}
	switch {
	case n != len(t.data):
		return name, nil, fmt.Errorf("its shape %v does not fit its %d numbers", t.dims, len(t.data))
	case large:
		return name, nil, errors.New("one of its numbers is beyond ±(2^53−1)")
	case !finite(t.data...):
		return name, nil, errors.New("one of its numbers is not finite")
	}
	return name, t, nil
}

// unpack converts elements of size bytes each, nil if the last is cut.
func unpack(raw []byte, size int, convert func(b []byte) float64) []float64 {
	if len(raw)%size != 0 {
		return nil
	}
	data := make([]float64, 0, len(raw)/size)
	for ; len(raw) > 0; raw = raw[size:] {
		data = append(data, convert(raw))
	}
	return data
}

// onnxNode is a node while its operator is applied.
type onnxNode struct {
	*graph
	op         string
	inputs     []*tensor // nil where an optional one is left out
	attributes map[string]*attribute
	used       int
}

// attribute has the part that its kind says.
type attribute struct {
	real  float64
	int   int64
	reals []float64
	ints  []int64
	value *tensor
	kind  uint64
}

// Kinds of attributes in onnx.proto3.
const (
	kindAttrFloat, kindAttrInt, kindAttrTensor, kindAttrFloats, kindAttrInts = 1, 2, 4, 6, 7
)

// node reads a node and applies its operator. Errors begin behind "node N".
func (r *onnxReader) node(m field) error {
	n := onnxNode{graph: r.graph, attributes: make(map[string]*attribute)}
	var name, domain string
	var inputs, outputs []string
	err := m.fields(func(f field) error {
		switch f.number {
		case nodeInput:
			inputs = append(inputs, string(f.bytes))
		case nodeOutput:
			outputs = append(outputs, string(f.bytes))
		case nodeName:
			name = string(f.bytes)
		case nodeType:
			n.op = string(f.bytes)
		case nodeDomain:
			domain = string(f.bytes)
		case nodeAttribute:
			name, a, err := r.attribute(f)
			n.attributes[name] = a
			return err
		}
		return nil
	})
	fail := func(err error) error {
		if name != "" {
			return fmt.Errorf(" (%s %q): %w", n.op, name, err)
		}
		return fmt.Errorf(" (%s): %w", n.op, err)
	}
	apply := operators(n.op)
	if apply == nil || !standard(domain) {
		return fail(notSupported("the operator %s", strings.TrimPrefix(domain+"."+n.op, ".")))
	}
	if err != nil {
		return fail(err)
	}
	for _, in := range inputs {
		t := r.known[in]
		if in != "" && t == nil {
			return fail(fmt.Errorf("its input %q is neither an input of the graph nor computed by a node before", in))
		}
		n.inputs = append(n.inputs, t)
	}
	if len(outputs) != 1 {
		return fail(fmt.Errorf("it has %d outputs instead of 1", len(outputs)))
	}
	t, err := apply(&n)
	if err == nil && n.used != len(n.attributes) {
		unknown := slices.Sorted(maps.Keys(n.attributes))
		err = notSupported("one of the attributes %s", strings.Join(unknown, ", "))
	}
	if err == nil {
		err = r.define(outputs[0], t)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

func (r *onnxReader) attribute(m field) (name string, a *attribute, err error) {
	a = &attribute{}
	err = m.fields(func(f field) error {
		switch f.number {
		case attrName:
			name = string(f.bytes)
		case attrFloat:
			a.real = float64(math.Float32frombits(uint32(f.n)))
		case attrInt:
			a.int = int64(f.n)
		case attrTensor:
			var err error
			_, a.value, err = r.tensor(f)
			return err
		case attrFloats:
			return f.each(protowire.Fixed32Type, func(n uint64) { a.reals = append(a.reals, float64(math.Float32frombits(uint32(n)))) })
		case attrInts:
			return f.each(protowire.VarintType, func(n uint64) { a.ints = append(a.ints, int64(n)) })
		case attrKind:
			a.kind = f.n
		}
		return nil
	})
	return name, a, err
}

// attr takes the attribute of a name and kind, nil if there is none.
func (n *onnxNode) attr(name string, kind uint64) *attribute {
	a := n.attributes[name]
	if a == nil || a.kind != kind {
		return nil
	}
	n.used++
	return a
}

func (n *onnxNode) int(name string, usual int) int {
	if a := n.attr(name, kindAttrInt); a != nil {
		return int(max(min(a.int, math.MaxInt32), math.MinInt32))
	}
	return usual
}

func (n *onnxNode) real(name string, usual float64) float64 {
	if a := n.attr(name, kindAttrFloat); a != nil {
		return a.real
	}
	return usual
}

// operators returns how an operator is applied, nil if it is not read.
func operators(op string) func(n *onnxNode) (*tensor, error) {
	unary := func(op opcode) func(n *onnxNode) (*tensor, error) {
		return func(n *onnxNode) (*tensor, error) {
			if err := n.takes(1, 1); err != nil {
				return nil, err
			}
			if k := n.inputs[0].kind; k == kindBool || k == kindInt && op != opRelu {
				return nil, errors.New("its operand is not of a real type")
			}
			return n.unary(op, n.inputs[0])
		}
	}
	binary := func(op opcode) func(n *onnxNode) (*tensor, error) {
		return func(n *onnxNode) (*tensor, error) {
			if (op == opMax || op == opMin) && len(n.inputs) != 2 {
				return nil, notSupported("any other number of operands than 2")
			}
			if err := n.takes(2, 2); err != nil {
				return nil, err
			}
			return n.binary(op, n.inputs[0], n.inputs[1])
		}
	}
	switch op {
	case "Relu":
		return unary(opRelu)
	case "Tanh":
		return unary(opTanh)
	case "Sigmoid":
		return unary(opSigmoid)
	case "Add":
		return binary(opAdd)
	case "Sub":
		return binary(opSub)
	case "Mul":
		return binary(opMul)
	case "Div":
		return binary(opDiv)
	case "Max":
		return binary(opMax)
	case "Min":
		return binary(opMin)
	case "MatMul":
		return func(n *onnxNode) (*tensor, error) {
			if err := n.takes(2, 2); err != nil {
				return nil, err
			}
			return n.matMul(n.inputs[0], n.inputs[1], nil)
		}
	case "Gemm":
		return (*onnxNode).gemm
	case "Identity":
		return func(n *onnxNode) (*tensor, error) {
			if err := n.takes(1, 1); err != nil {
				return nil, err
			}
			return n.inputs[0], nil
		}
	case "Cast":
		return (*onnxNode).cast
	case "Constant":
		return (*onnxNode).constant
	case "Transpose":
		return (*onnxNode).transposed
	case "Flatten":
		return (*onnxNode).flatten
	case "Reshape":
		return (*onnxNode).reshape
	case "Concat":
		return func(n *onnxNode) (*tensor, error) {
			if err := n.takes(1, math.MaxInt); err != nil {
				return nil, err
			}
			axis := n.attr("axis", kindAttrInt)
			if axis == nil {
				return nil, errors.New("it has no axis")
			}
			return n.concat(n.inputs, int(axis.int))
		}
	}
	return nil
}

// takes checks the number of inputs, of which the first least must be there.
func (n *onnxNode) takes(least, most int) error {
	if len(n.inputs) < least || len(n.inputs) > most || slices.Contains(n.inputs[:least], nil) {
		return fmt.Errorf("it has %d inputs, or an empty one", len(n.inputs))
	}
	if most == math.MaxInt && slices.Contains(n.inputs, nil) {
		return errors.New("it has an empty input")
	}
	return nil
}

func (n *onnxNode) gemm() (*tensor, error) {
	if err := n.takes(2, 3); err != nil {
		return nil, err
	}
	a, b := n.inputs[0], n.inputs[1]
	alpha, beta := n.real("alpha", 1), n.real("beta", 1)
	if len(a.dims) != 2 || len(b.dims) != 2 {
		return nil, fmt.Errorf("its operands have the shapes %v and %v instead of matrices", a.dims, b.dims)
	}
	if a.kind != kindReal {
		return nil, notSupported("a product of integers by this operator")
	}
	var err error
	if n.int("transA", 0) != 0 {
		if a, err = n.transpose(a, []int{1, 0}); err != nil {
			return nil, err
		}
	}
	if n.int("transB", 0) != 0 {
		if b, err = n.transpose(b, []int{1, 0}); err != nil {
			return nil, err
		}
	}
	if alpha != 1 {
		if b, err = n.binary(opMul, b, number(alpha)); err != nil {
			return nil, err
		}
	}
	var c *tensor
	if len(n.inputs) == 3 && n.inputs[2] != nil {
		dims := []int{a.dims[0], b.dims[1]}
		if err := n.room(dims, 1); err != nil {
			return nil, err
		}
		factor := &tensor{dims: dims, data: slices.Repeat([]float64{beta}, product(dims))}
		if c, err = n.binary(opMul, n.inputs[2], factor); err != nil {
			return nil, err
		}
		if !slices.Equal(c.dims, dims) {
			return nil, fmt.Errorf("what it adds has the shape %v instead of %v", n.inputs[2].dims, dims)
		}
	}
	return n.matMul(a, b, c)
}

func number(x float64) *tensor { return &tensor{dims: []int{}, data: []float64{x}} }

func (n *onnxNode) cast() (*tensor, error) {
	if err := n.takes(1, 1); err != nil {
		return nil, err
	}
	t := n.inputs[0]
	to, err := kindOf(uint64(n.int("to", 0)))
	switch {
	case err != nil:
		return nil, err
	case to == kindInt && t.kind == kindReal, to == kindBool && t.kind != kindBool:
		return nil, notSupported("a cast of reals to integers, or of numbers to truth values,")
	}
	return t.reshaped(t.dims, to), nil
}

func (n *onnxNode) constant() (*tensor, error) {
	if err := n.takes(0, 0); err != nil {
		return nil, err
	}
	var t *tensor
	if a := n.attr("value", kindAttrTensor); a != nil {
		t = a.value
	} else if a := n.attr("value_float", kindAttrFloat); a != nil {
		t = number(a.real)
	} else if a := n.attr("value_floats", kindAttrFloats); a != nil {
		t = &tensor{dims: []int{len(a.reals)}, data: a.reals}
	} else if a := n.attr("value_int", kindAttrInt); a != nil {
		t = &tensor{dims: []int{}, kind: kindInt, data: []float64{float64(a.int)}}
	} else if a := n.attr("value_ints", kindAttrInts); a != nil {
		t = &tensor{dims: []int{len(a.ints)}, kind: kindInt, data: make([]float64, len(a.ints))}
		for i, x := range a.ints {
			t.data[i] = float64(x)
		}
	}
	switch {
	case t == nil || t.data == nil:
		return nil, errors.New("it has no value")
	case !finite(t.data...):
		return nil, errors.New("one of its numbers is not finite")
	}
	return t, nil
}

func (n *onnxNode) transposed() (*tensor, error) {
	if err := n.takes(1, 1); err != nil {
		return nil, err
	}
	t := n.inputs[0]
	var perm []int
	if a := n.attr("perm", kindAttrInts); a != nil {
		for _, p := range a.ints {
			perm = append(perm, int(p))
		}
	} else {
		for i := range t.dims {
			perm = append(perm, len(t.dims)-1-i)
		}
	}
	return n.transpose(t, perm)
}

func (n *onnxNode) flatten() (*tensor, error) {
	if err := n.takes(1, 1); err != nil {
		return nil, err
	}
	t, axis := n.inputs[0], n.int("axis", 1)
	if axis < 0 {
		axis += len(t.dims)
	}
	if axis < 0 || axis > len(t.dims) {
		return nil, fmt.Errorf("a tensor of shape %v has no axis %d", t.dims, axis)
	}
	return t.reshaped([]int{product(t.dims[:axis]), product(t.dims[axis:])}, t.kind), nil
}

func (n *onnxNode) reshape() (*tensor, error) {
	if err := n.takes(2, 2); err != nil {
		return nil, err
	}
	t, shape := n.inputs[0], n.inputs[1]
	if shape.data == nil || shape.kind != kindInt || len(shape.dims) != 1 {
		return nil, notSupported("a shape that is not a list of constants")
	}
	dims := make([]int, len(shape.data))
	open, rest := -1, 1
	keep := n.int("allowzero", 0) == 0
	for i, x := range shape.data {
		dims[i] = int(x)
		switch {
		case dims[i] == 0 && keep && i < len(t.dims):
			dims[i] = t.dims[i]
		case dims[i] == -1 && open < 0:
			open = i
			continue
		}
		if dims[i] < 0 || dims[i] > maxNumbers {
			return nil, fmt.Errorf("the shape %v is not usable", shape.data)
		}
		if rest *= dims[i]; rest > maxNumbers {
			return nil, fmt.Errorf("the shape %v is not usable", shape.data)
		}
	}
	if open >= 0 && rest > 0 {
		dims[open] = t.size() / rest
		rest *= dims[open]
	}
	if rest != t.size() || open >= 0 && dims[open] < 0 {
		return nil, fmt.Errorf("a tensor of shape %v does not have the shape %v", t.dims, shape.data)
	}
	return t.reshaped(dims, t.kind), nil
}

// WriteONNX writes the network in the ONNX format, as a graph of Gemm and Relu with an
// input "input" and an output "output", both of shape [batch, size]; around them Max, Min,
// Sub, Div, Mul and Add where values are clamped and scaled. The type is double, so that
// no weight is rounded: ReadONNX returns the same network to the last bit.
func (n *Network) WriteONNX(w io.Writer) error {
	o := onnxWriter{}
	sizes := n.Sizes()
	s := &n.scaling
	open := openScaling(sizes[0])
	value := "input"
	vector := func(op, name string, data []float64) {
		value = o.node(op, []string{value, o.tensor(name, []int{len(data)}, data)})
	}
	if !slices.Equal(s.Min, open.Min) {
		vector("Max", "minima", s.Min)
	}
	if !slices.Equal(s.Max, open.Max) {
		vector("Min", "maxima", s.Max)
	}
	if !slices.Equal(s.Mean, open.Mean) {
		vector("Sub", "means", s.Mean)
	}
	if !slices.Equal(s.Range, open.Range) {
		vector("Div", "ranges", s.Range)
	}
	for k, l := range n.layers {
		if k > 0 {
			value = o.node("Relu", []string{value})
		}
		value = o.node("Gemm", []string{value,
			o.tensor(fmt.Sprintf("weights%d", k+1), []int{sizes[k], sizes[k+1]}, l.weights),
			o.tensor(fmt.Sprintf("bias%d", k+1), []int{sizes[k+1]}, l.bias)})
	}
	if s.OutRange != 1 {
		vector("Mul", "range", []float64{s.OutRange})
	}
	if s.OutMean != 0 {
		vector("Add", "mean", []float64{s.OutMean})
	}
	_, err := w.Write(o.model(value, sizes[0], sizes[len(sizes)-1]))
	return err
}

// onnxWriter collects the nodes and initializers of a graph.
type onnxWriter struct {
	nodes, tensors []byte
	count          int
}

func appendBytes(b []byte, number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), content)
}

func appendInt(b []byte, number protowire.Number, n int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(n))
}

// node adds a node and returns the name of what it computes.
func (o *onnxWriter) node(op string, inputs []string) string {
	var m []byte
	for _, in := range inputs {
		m = appendBytes(m, nodeInput, []byte(in))
	}
	o.count++
	name := fmt.Sprintf("value%d", o.count)
	m = appendBytes(m, nodeOutput, []byte(name))
	m = appendBytes(m, nodeType, []byte(op))
	o.nodes = appendBytes(o.nodes, graphNode, m)
	return name
}

// tensor adds an initializer and returns its name.
func (o *onnxWriter) tensor(name string, dims []int, data []float64) string {
	var m, raw []byte
	for _, d := range dims {
		m = appendInt(m, tensorDims, d)
	}
	for _, x := range data {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
	}
	m = appendInt(m, tensorType, elemDouble)
	m = appendBytes(m, tensorName, []byte(name))
	o.tensors = appendBytes(o.tensors, graphInitializer, appendBytes(m, tensorRaw, raw))
	return name
}

// model returns the file: format version 8, operator set 13.
func (o *onnxWriter) model(result string, inputs, outputs int) []byte {
	const irVersion, producer, dimParam, graphName = 1, 2, 2, 2
	value := func(name string, size int) []byte {
		batch := appendBytes(nil, dimParam, []byte("batch"))
		shape := appendBytes(appendBytes(nil, shapeDim, batch), shapeDim, appendInt(nil, dimValue, size))
		tensor := appendBytes(appendInt(nil, tensorElem, elemDouble), tensorShape, shape)
		return appendBytes(appendBytes(nil, valueName, []byte(name)), valueType, appendBytes(nil, typeTensor, tensor))
	}
	// An Identity gives the result the name that it has outside.
	last := appendBytes(appendBytes(nil, nodeInput, []byte(result)), nodeOutput, []byte("output"))
	o.nodes = appendBytes(o.nodes, graphNode, appendBytes(last, nodeType, []byte("Identity")))
	graph := appendBytes(slices.Clone(o.nodes), graphName, []byte("policy"))
	graph = append(graph, o.tensors...)
	graph = appendBytes(graph, graphInput, value("input", inputs))
	graph = appendBytes(graph, graphOutput, value("output", outputs))
	m := appendInt(nil, irVersion, 8)
	m = appendBytes(m, producer, []byte("fuzzsafe"))
	m = appendBytes(m, modelOpset, appendInt(nil, opsetVersion, 13))
	return appendBytes(m, modelGraph, graph)
}
