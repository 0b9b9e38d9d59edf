package nnpolicy

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fuzzsafe/jani"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestWriteONNXRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	scaled := identity(3, -2, 9)
	scaled.Mean, scaled.Range = []float64{1, 0, 0.1}, []float64{3, 1, 0.7}
	scaled.OutMean, scaled.OutRange = -0.3, 2.5
	mean := openScaling(2)
	mean.OutMean = 4
	for _, c := range []struct {
		sizes []int
		s     Scaling
	}{
		{[]int{3, 4}, identity(3, 0, 5)},
		{[]int{3, 7, 5, 2}, identity(3, -1, 1)},
		{[]int{3, 7, 2}, scaled},
		{[]int{2, 4, 4, 4, 1}, openScaling(2)},
		{[]int{2, 3}, mean},
		{[]int{1, 1, 1}, openScaling(1)},
	} {
		n := newNetwork(t, random(r, c.sizes...), c.s)
		var file bytes.Buffer
		if err := n.WriteONNX(&file); err != nil {
			t.Fatal(err)
		}
		f, err := ReadONNX("n.onnx", file.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		back, ok := f.(*Network)
		if !ok {
			t.Fatalf("sizes %v: a %T comes back", c.sizes, f)
		}
		if fmt.Sprint(back.numbers()) != fmt.Sprint(n.numbers()) || !slices.Equal(back.Sizes(), n.Sizes()) {
			t.Errorf("sizes %v: another network comes back", c.sizes)
		}
	}
	if err := anyNetwork(t, 1, 2).WriteONNX(fullDisk{}); err == nil || err.Error() != "disk full" {
		t.Errorf("error %v", err)
	}
}

// onnxFile builds models for tests.
type onnxFile struct {
	onnxWriter
	version   int
	inputs    []byte
	outputs   []string
	elem      int // type of the inputs
	sparse    bool
	noOpset   bool
	noOutputs bool
}

// message returns fields with one number and bytes each.
func message(parts ...any) []byte {
	var m []byte
	for i := 0; i < len(parts); i += 2 {
		number := protowire.Number(parts[i].(int))
		switch v := parts[i+1].(type) {
		case int:
			m = appendInt(m, number, v)
		case string:
			m = appendBytes(m, number, []byte(v))
		case []byte:
			m = appendBytes(m, number, v)
		case float32:
			m = protowire.AppendFixed32(protowire.AppendTag(m, number, protowire.Fixed32Type), math.Float32bits(v))
		}
	}
	return m
}

// input adds an input; an extent of −1 is unknown.
func (o *onnxFile) input(name string, dims ...int) {
	var shape []byte
	for _, d := range dims {
		if d < 0 {
			shape = append(shape, message(shapeDim, message(2, "n"))...)
		} else {
			shape = append(shape, message(shapeDim, message(dimValue, d))...)
		}
	}
	elem := o.elem
	if elem == 0 {
		elem = elemFloat
	}
	o.inputs = appendBytes(o.inputs, graphInput,
		message(valueName, name, valueType, message(typeTensor, message(tensorElem, elem, tensorShape, shape))))
}

// op adds a node; the output is called like the operator.
func (o *onnxFile) op(op, inputs string, attributes ...[]byte) {
	var m []byte
	if inputs != "" {
		for in := range strings.SplitSeq(inputs, " ") {
			m = append(m, message(nodeInput, strings.Trim(in, "_"))...)
		}
	}
	m = append(m, message(nodeOutput, op, nodeType, op)...)
	for _, a := range attributes {
		m = append(m, message(nodeAttribute, a)...)
	}
	o.nodes = appendBytes(o.nodes, graphNode, m)
}

func (o *onnxFile) bytes() []byte {
	graph := slices.Concat(o.nodes, o.tensors, o.inputs)
	for _, name := range o.outputs {
		graph = appendBytes(graph, graphOutput, message(valueName, name))
	}
	if o.sparse {
		graph = appendBytes(graph, graphSparse, nil)
	}
	file := message(1, 8, modelGraph, graph)
	if !o.noOpset {
		version := o.version
		if version == 0 {
			version = 14
		}
		file = append(file, message(modelOpset, message(opsetDomain, "other", opsetVersion, 1), modelOpset, message(opsetVersion, version))...)
	}
	return file
}

// Attributes.
func attrI(name string, n int) []byte {
	return message(attrName, name, attrInt, n, attrKind, kindAttrInt)
}
func attrF(name string, x float32) []byte {
	return message(attrName, name, attrFloat, x, attrKind, kindAttrFloat)
}
func attrIs(name string, list ...int) []byte {
	m := message(attrName, name, attrKind, kindAttrInts)
	for _, n := range list {
		m = append(m, message(attrInts, n)...)
	}
	return m
}

// ints adds an initializer of int64, reals one of float.
func (o *onnxFile) ints(name string, list ...int) {
	var packed []byte
	for _, n := range list {
		packed = protowire.AppendVarint(packed, uint64(n))
	}
	o.tensors = appendBytes(o.tensors, graphInitializer,
		message(tensorDims, len(list), tensorType, elemInt64, tensorName, name, tensorInt64, packed))
}

func (o *onnxFile) reals(name string, dims []int, list ...float64) {
	var m, packed []byte
	for _, d := range dims {
		m = append(m, message(tensorDims, d)...)
	}
	for _, x := range list {
		packed = protowire.AppendFixed32(packed, math.Float32bits(float32(x)))
	}
	m = append(m, message(tensorType, elemFloat, tensorName, name, tensorFloat, packed)...)
	o.tensors = appendBytes(o.tensors, graphInitializer, m)
}

// Operators by hand: what they compute for the inputs 1, 2, 3, 4, 5, 6.
func TestONNXOperators(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(o *onnxFile)
		want  string
	}{
		{"identity", func(o *onnxFile) { o.input("x", -1, 6); o.op("Identity", "x") }, "[1 2 3 4 5 6]"},
		{"scalar batch", func(o *onnxFile) { o.input("x", -1); o.op("Identity", "x") }, "[1]"},
		{"vector", func(o *onnxFile) { o.input("x", 6); o.op("Identity", "x") }, "[1 2 3 4 5 6]"},
		{"relu", func(o *onnxFile) {
			o.input("x", 1, 3)
			o.reals("c", nil, 2)
			o.op("Sub", "x c")
			o.op("Relu", "Sub")
		}, "[0 0 1]"},
		{"constant first", func(o *onnxFile) { o.input("x", 1, 3); o.reals("c", []int{1}, 2); o.op("Sub", "c x") }, "[1 0 -1]"},
		{"both repeat", func(o *onnxFile) { o.input("x", 1, 3); o.reals("c", []int{2, 1}, 10, 20); o.op("Add", "x c") }, "[11 12 13 21 22 23]"},
		{"columns", func(o *onnxFile) { o.input("x", 1, 2, 3); o.reals("c", []int{2, 1}, 10, 20); o.op("Mul", "x c") }, "[10 20 30 80 100 120]"},
		{"division by an input", func(o *onnxFile) { o.input("x", 1, 3); o.reals("c", nil, 6); o.op("Div", "c x") }, "[6 3 2]"},
		{"max", func(o *onnxFile) { o.input("x", 1, 3); o.reals("c", []int{3}, 2, 0, 7); o.op("Max", "x c") }, "[2 2 7]"},
		{"min", func(o *onnxFile) { o.input("x", 1, 3); o.reals("c", []int{3}, 2, 0, 7); o.op("Min", "x c") }, "[1 0 3]"},
		{"inputs", func(o *onnxFile) {
			o.input("x", 1, 2)
			o.input("y", -1, 1)
			o.op("Concat", "y x y", attrI("axis", 1))
		}, "[3 1 2 3]"},
		{"concat of rows", func(o *onnxFile) {
			o.input("x", 1, 3)
			o.reals("c", []int{2, 3}, 7, 8, 9, 10, 11, 12)
			o.op("Concat", "c x", attrI("axis", -2))
		}, "[7 8 9 10 11 12 1 2 3]"},
		{"concat in the middle", func(o *onnxFile) {
			o.input("x", 1, 2, 2)
			o.reals("c", []int{1, 2, 1}, 8, 9)
			o.op("Concat", "x c", attrI("axis", 2))
		}, "[1 2 8 3 4 9]"},
		{"known concat", func(o *onnxFile) {
			o.input("x", 1, 3)
			o.reals("c", []int{1}, 8)
			o.reals("d", []int{2}, 6, 7)
			o.op("Concat", "c d", attrI("axis", 0))
			o.op("Add", "x Concat")
		}, "[9 8 10]"},
		{"transpose", func(o *onnxFile) { o.input("x", 1, 2, 3); o.op("Transpose", "x", attrIs("perm", 0, 2, 1)) }, "[1 4 2 5 3 6]"},
		{"transpose, reversed", func(o *onnxFile) { o.input("x", 1, 3, 2); o.op("Transpose", "x") }, "[1 3 5 2 4 6]"},
		{"reshape", func(o *onnxFile) {
			o.input("x", -1, 6)
			o.ints("s", 0, -1, 2)
			o.op("Reshape", "x s")
			o.op("Transpose", "Reshape", attrIs("perm", 2, 1, 0))
		}, "[1 3 5 2 4 6]"},
		{"flatten", func(o *onnxFile) {
			o.input("x", 1, 3, 2)
			o.op("Flatten", "x", attrI("axis", 2))
			o.op("Transpose", "Flatten")
		}, "[1 3 5 2 4 6]"},
		{"flatten, counted from the end", func(o *onnxFile) {
			o.input("x", 1, 3, 2)
			o.op("Flatten", "x", attrI("axis", -1))
			o.op("Transpose", "Flatten")
		}, "[1 3 5 2 4 6]"},
		{"gemm", func(o *onnxFile) {
			o.input("x", 1, 2)
			o.reals("w", []int{2, 3}, 1, 2, 3, 4, 5, 6)
			o.reals("b", []int{3}, 10, 20, 30)
			o.op("Gemm", "x w b")
		}, "[19 32 45]"},
		{"gemm, transposed, scaled", func(o *onnxFile) {
			o.input("x", 1, 2)
			o.op("Transpose", "x")
			o.reals("w", []int{3, 2}, 1, 4, 2, 5, 3, 6)
			o.reals("b", nil, 10)
			o.op("Gemm", "Transpose w b", attrI("transA", 1), attrI("transB", 1), attrF("alpha", 2), attrF("beta", 0.5))
		}, "[23 29 35]"},
		{"gemm without sum", func(o *onnxFile) { o.input("x", 1, 2); o.reals("w", []int{2, 1}, 1, 10); o.op("Gemm", "x w _") }, "[21]"},
		{"matmul, constant first", func(o *onnxFile) {
			o.input("x", 1, 2)
			o.op("Transpose", "x")
			o.reals("w", []int{3, 2}, 1, 0, 0, 1, 1, 1)
			o.op("MatMul", "w Transpose")
		}, "[1 2 3]"},
		{"matmul of vectors", func(o *onnxFile) { o.input("x", 3); o.reals("w", []int{3}, 1, 10, 100); o.op("MatMul", "x w") }, "[321]"},
		{"matmul of both inputs", func(o *onnxFile) {
			o.input("x", 1, 3)
			o.op("Transpose", "x")
			o.op("MatMul", "x Transpose")
		}, "[14]"},
		// Almost the layers of a Network, but a value is left aside.
		{"dead end", func(o *onnxFile) {
			o.input("x", 1, 2)
			o.reals("w", []int{2, 2}, -1, -1, -1, -1)
			o.op("Gemm", "x w")
			o.op("Relu", "x")
			o.op("MatMul", "Relu w")
		}, "[-3 -3]"},
		{"layer left out", func(o *onnxFile) {
			o.input("x", 1, 2)
			o.reals("w", []int{2, 2}, -1, -1, -1, -1)
			o.op("Gemm", "x w")
			o.op("Relu", "Gemm")
			o.op("MatMul", "x w")
		}, "[-3 -3]"},
		{"other bias", func(o *onnxFile) {
			o.input("x", 1, 2)
			o.reals("w", []int{2, 2}, -1, -1, -1, -1)
			o.reals("b", []int{2}, 5, 6)
			o.op("Gemm", "x w")
			o.op("Add", "x b")
		}, "[6 8]"},
		{"result before the end", func(o *onnxFile) {
			o.input("x", 1, 2)
			o.reals("w", []int{2, 2}, -1, -1, -1, -1)
			o.op("Gemm", "x w")
			o.op("Relu", "Gemm")
			o.op("MatMul", "Relu w")
			o.op("Identity", "Gemm")
		}, "[-3 -3]"},
		{"sum with the inputs", func(o *onnxFile) {
			o.input("x", 1, 2)
			o.reals("w", []int{2, 2}, -1, -1, -1, -1)
			o.op("Gemm", "x w")
			o.op("Add", "x Gemm")
		}, "[-2 -1]"},
		{"scale per output", func(o *onnxFile) {
			o.input("x", 1, 2)
			o.reals("w", []int{2, 2}, 1, 0, 0, 1)
			o.reals("c", []int{2}, 5, 6)
			o.op("Gemm", "x w")
			o.op("Mul", "Gemm c")
		}, "[5 12]"},
		{"constants", func(o *onnxFile) {
			o.input("x", 1, 2)
			o.op("Constant", "", message(attrName, "value_floats", attrFloats, float32(5), attrFloats, float32(6), attrKind, kindAttrFloats))
			o.op("Add", "x Constant")
		}, "[6 8]"},
		{"integers", func(o *onnxFile) {
			o.elem = elemInt64
			o.input("x", 1, 2)
			o.op("Constant", "", attrI("value_int", -3))
			o.op("Mul", "x Constant")
			o.op("Cast", "Mul", attrI("to", elemFloat))
			o.reals("c", nil, 2)
			o.op("Div", "Cast c")
		}, "[-1.5 -3]"},
		{"truth values", func(o *onnxFile) { o.elem = elemBool; o.input("x", 1, 2); o.op("Cast", "x", attrI("to", elemDouble)) }, "[1 2]"},
		{"default of an initializer", func(o *onnxFile) {
			o.reals("c", []int{1, 2}, 5, 6)
			o.input("c", 1, 2)
			o.input("x", 1, 2)
			o.op("Add", "x c")
		}, "[6 8]"},
	} {
		o := &onnxFile{}
		c.build(o)
		o.outputs = []string{lastOutput(o.nodes)}
		f, err := ReadONNX("m", o.bytes())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		out := make([]float64, f.Outputs())
		if err := f.Evaluate([]float64{1, 2, 3, 4, 5, 6}[:f.Inputs()], out); err != nil || fmt.Sprint(out) != c.want {
			t.Errorf("%s: outputs %v, error %v, want %s", c.name, out, err, c.want)
		}
	}
}

// lastOutput returns the name of what the last of the nodes computes.
func lastOutput(nodes []byte) (name string) {
	err := field{bytes: nodes}.fields(func(f field) error {
		return f.fields(func(f field) error {
			if f.number == nodeOutput {
				name = string(f.bytes)
			}
			return nil
		})
	})
	if err != nil {
		panic(err)
	}
	return name
}

func TestReadONNXErrors(t *testing.T) {
	plain := func(op string, attributes ...[]byte) func(o *onnxFile) {
		return func(o *onnxFile) { o.input("x", 1, 4); o.op(op, "x", attributes...) }
	}
	pair := func(op string, dims []int, numbers ...float64) func(o *onnxFile) {
		return func(o *onnxFile) { o.input("x", 1, 4); o.reals("c", dims, numbers...); o.op(op, "x c") }
	}
	tensor := func(parts ...any) func(o *onnxFile) {
		return func(o *onnxFile) {
			o.input("x", 1, 4)
			o.tensors = message(graphInitializer, message(parts...))
			o.op("Identity", "x")
		}
	}
	reshape := func(shape ...int) func(o *onnxFile) {
		return func(o *onnxFile) { o.input("x", 1, 4); o.ints("s", shape...); o.op("Reshape", "x s") }
	}
	for _, c := range []struct {
		build func(o *onnxFile)
		kind  jani.ErrorKind
		want  string
	}{
		{plain("Conv"), jani.Unsupported, "m: node 0 (Conv): the operator Conv is not supported"},
		{plain("Softmax"), jani.Unsupported, "the operator Softmax"},
		{func(o *onnxFile) {
			o.input("x", 1, 4)
			o.nodes = message(graphNode, message(nodeInput, "x", nodeOutput, "y", nodeType, "Relu", nodeDomain, "com.maker", nodeName, "first"))
		}, jani.Unsupported, `m: node 0 (Relu "first"): the operator com.maker.Relu is not supported`},
		{plain("Relu", attrI("slope", 2)), jani.Unsupported, "one of the attributes slope"},
		{plain("Flatten", attrF("axis", 2)), jani.Unsupported, "one of the attributes axis"},
		{func(o *onnxFile) { o.version = 6; plain("Relu")(o) }, jani.Unsupported, "version 6 of the operator set, older than 7"},
		{func(o *onnxFile) { o.noOpset = true; plain("Relu")(o) }, jani.BadInput, "does not say the version of its operators"},
		{func(o *onnxFile) { o.sparse = true; plain("Relu")(o) }, jani.Unsupported, "a sparse initializer"},
		{func(o *onnxFile) { o.input("x", 5, 4); o.op("Relu", "x") }, jani.Unsupported, `the shape [5 4] of input "x"`},
		{func(o *onnxFile) { o.input("x", -1, -1); o.op("Relu", "x") }, jani.Unsupported, `the shape [-1 -1] of input "x"`},
		{func(o *onnxFile) { o.elem = 10; o.input("x", 1, 4); o.op("Relu", "x") }, jani.Unsupported, `input "x": the element type float16`},
		{func(o *onnxFile) { o.elem = 99; o.input("x", 1, 4); o.op("Relu", "x") }, jani.Unsupported, "the element type 99"},
		{func(o *onnxFile) { o.input("x", 1, 1<<30); o.op("Relu", "x") }, jani.Unsupported, "the shape [1 -1]"},
		{func(o *onnxFile) { o.op("Relu", "x") }, jani.BadInput, "the graph has no input"},
		{func(o *onnxFile) { o.input("x", 1, 4); o.op("Relu", "y") }, jani.BadInput, `its input "y" is neither an input`},
		{func(o *onnxFile) { o.input("x", 1, 4); o.op("Relu", "x"); o.op("Relu", "x") }, jani.BadInput, `two values with the name "Relu"`},
		{func(o *onnxFile) { o.input("x", 1, 4); o.input("x", 1, 4); o.op("Relu", "x") }, jani.BadInput, `two values with the name "x"`},
		{func(o *onnxFile) { o.input("x", 1, 4); o.op("Relu", "x x") }, jani.BadInput, "it has 2 inputs"},
		{func(o *onnxFile) { o.input("x", 1, 4); o.op("Relu", "x"); o.outputs = []string{"Relu", "x"} }, jani.Unsupported, "a graph of the 2 outputs"},
		{func(o *onnxFile) { o.input("x", 1, 4); o.op("Relu", "x"); o.noOutputs = true }, jani.Unsupported, "a graph of the 0 outputs"},
		{func(o *onnxFile) { o.input("x", 1, 4); o.op("Relu", "x"); o.outputs = []string{"y"} }, jani.BadInput, `no node computes the output "y"`},
		{func(o *onnxFile) { o.elem = elemBool; o.input("x", 1, 4); o.op("Identity", "x") }, jani.Unsupported, "an output of truth values"},
		{func(o *onnxFile) { o.elem = elemBool; o.input("x", 1, 4); o.op("Add", "x x") }, jani.BadInput, "truth values"},
		{func(o *onnxFile) { o.elem = elemInt64; o.input("x", 1, 4); o.op("Div", "x x") }, jani.Unsupported, "a division of integers"},
		{func(o *onnxFile) { o.elem = elemInt64; o.input("x", 1, 4); o.op("Tanh", "x") }, jani.BadInput, "not of a real type"},
		{func(o *onnxFile) { o.elem = elemInt64; pair("Add", nil, 1)(o) }, jani.BadInput, "one of its operands is of an integer type"},
		{plain("Cast", attrI("to", elemInt64)), jani.Unsupported, "a cast of reals to integers"},
		{plain("Cast", attrI("to", elemBool)), jani.Unsupported, "to truth values"},
		{plain("Cast"), jani.Unsupported, "the element type no type"},
		{plain("Concat"), jani.BadInput, "it has no axis"},
		{plain("Concat", attrI("axis", 2)), jani.BadInput, "has no axis 2"},
		{plain("Flatten", attrI("axis", 3)), jani.BadInput, "has no axis 3"},
		{plain("Transpose", attrIs("perm", 0, 0)), jani.BadInput, "[0 0] is not an order of axes"},
		{plain("Transpose", attrIs("perm", 0)), jani.BadInput, "it reorders 1 axes"},
		{plain("Reshape"), jani.BadInput, "it has 1 inputs"},
		{reshape(3, -1), jani.BadInput, "does not have the shape [3 -1]"},
		{reshape(-1, -1), jani.BadInput, "the shape [-1 -1] is not usable"},
		{reshape(1<<40, 1<<40), jani.BadInput, "is not usable"},
		{reshape(5), jani.BadInput, "does not have the shape [5]"},
		{pair("Reshape", []int{1}, 4), jani.Unsupported, "a shape that is not a list of constants"},
		{pair("Add", []int{3}, 1, 2, 3), jani.BadInput, "the shapes [1 4] and [3] of its operands do not fit"},
		{pair("MatMul", []int{3, 1}, 1, 2, 3), jani.BadInput, "the shapes [1 4] and [3 1] of its operands do not fit"},
		{pair("MatMul", []int{1, 4, 1}, 1, 2, 3, 4), jani.Unsupported, "which are not matrices, is not supported"},
		{plain("Max"), jani.Unsupported, "any other number of operands than 2"},
		{pair("Gemm", []int{4}, 1, 2, 3, 4), jani.BadInput, "instead of matrices"},
		{func(o *onnxFile) {
			o.input("x", 1, 2)
			o.reals("w", []int{2, 2}, 1, 2, 3, 4)
			o.reals("b", []int{3, 2}, 1, 2, 3, 4, 5, 6)
			o.op("Gemm", "x w b")
		}, jani.BadInput, "what it adds has the shape [3 2] instead of [1 2]"},
		{func(o *onnxFile) {
			o.input("x", 1, 4)
			o.reals("c", nil, 0)
			o.op("Div", "c c")
			o.op("Add", "x Div")
		}, jani.BadInput, "m: node 0 (Div): a constant that it computes is not finite"},
		{tensor(tensorName, "w", tensorType, elemFloat, tensorDims, 2, tensorFloat, "1234"), jani.BadInput, `initializer "w": its shape [2] does not fit its 1 numbers`},
		{tensor(tensorName, "w", tensorType, elemFloat, tensorFloat, "12345"), jani.BadInput, "byte "},
		{tensor(tensorName, "w", tensorType, elemFloat, tensorRaw, "123"), jani.BadInput, "its 3 bytes are no whole number of elements"},
		{tensor(tensorName, "w", tensorType, elemFloat, tensorRaw, "\x00\x00\xc0\x7f"), jani.BadInput, "not finite"},
		{tensor(tensorName, "w", tensorType, elemFloat, tensorFloat, "1234", tensorRaw, "1234"), jani.BadInput, "given twice"},
		{tensor(tensorName, "w", tensorType, elemInt64, tensorInt64, 1<<60), jani.BadInput, "beyond"},
		{tensor(tensorName, "w", tensorType, 8), jani.Unsupported, `initializer "w": the element type string`},
		{tensor(tensorName, "w", tensorType, elemFloat, tensorLocation, 1), jani.Unsupported, "save the model with its weights inside"},
		{tensor(tensorName, "w", tensorType, elemFloat, tensorExternal, "x"), jani.Unsupported, "in another file"},
		{tensor(tensorType, elemFloat, tensorRaw, "\x00\x00\x00\x00"), jani.BadInput, "or it is empty"},
	} {
		o := &onnxFile{}
		c.build(o)
		if o.outputs == nil && !o.noOutputs {
			o.outputs = []string{lastOutput(o.nodes)}
		}
		_, err := ReadONNX("m", o.bytes())
		expect(t, err, c.kind, "m: ", c.want)
	}
	for _, text := range []string{"", "\x00", "PK\x03\x04", "\x3a\xff\xff\xff\xff\x0f", "hello"} {
		_, err := ReadONNX("m", []byte(text))
		expect(t, err, jani.BadInput, "m: this is no ONNX file")
	}
	text, err := os.ReadFile(filepath.Join("testdata/models", "relu.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(text) {
		if _, err := ReadONNX("m", text[:n]); err == nil && n < len(text)-10 {
			t.Errorf("the first %d of %d bytes are read without error", n, len(text))
		}
	}
}

// A few bytes cannot make the reader use much time or memory.
func TestONNXLimits(t *testing.T) {
	for _, build := range map[string]func(o *onnxFile){
		"doubling": func(o *onnxFile) {
			o.input("x", 1, 1000)
			last := "x"
			for range 60 {
				next := last + "'"
				o.nodes = append(o.nodes, message(graphNode,
					message(nodeInput, last, nodeInput, last, nodeOutput, next, nodeType, "Concat", nodeAttribute, attrI("axis", 1)))...)
				last = next
			}
		},
		"known doubling": func(o *onnxFile) {
			o.input("x", 1, 1)
			o.reals("c", []int{1, 1}, 1)
			last := "c"
			for range 60 {
				next := last + "'"
				o.nodes = append(o.nodes, message(graphNode,
					message(nodeInput, last, nodeInput, last, nodeOutput, next, nodeType, "Concat", nodeAttribute, attrI("axis", 1)))...)
				last = next
			}
		},
		"outer product": func(o *onnxFile) {
			o.input("x", 1, 100_000)
			o.op("Transpose", "x")
			o.op("Add", "x Transpose")
		},
		"long product": func(o *onnxFile) {
			o.input("x", 1, 1<<14)
			o.op("Transpose", "x")
			o.op("MatMul", "Transpose x")
		},
		"input": func(o *onnxFile) {
			o.input("x", 1, 1<<22, 1<<22)
			o.op("Relu", "x")
		},
	} {
		o := &onnxFile{}
		build(o)
		o.outputs = []string{lastOutput(o.nodes)}
		_, err := ReadONNX("m", o.bytes())
		expect(t, err, jani.BadInput, "m: ", "more than the limit of")
	}
}

func FuzzReadONNX(f *testing.F) {
	for _, name := range []string{"relu.onnx", "tanh.onnx", "scaled.onnx", "hand.onnx"} {
		text, err := os.ReadFile(filepath.Join("testdata/models", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		g, err := ReadONNX("f", file)
		evaluateAny(t, g, err)
	})
}

// evaluateAny checks that what was read can be evaluated, or that the error is one of the
// file.
func evaluateAny(t *testing.T, f Function, err error) {
	t.Helper()
	if err != nil {
		if e, ok := err.(*jani.Error); !ok || e.Kind != jani.BadInput && e.Kind != jani.Unsupported {
			t.Fatalf("error %v (%T)", err, err)
		}
		return
	}
	out := make([]float64, f.Outputs())
	if err := f.Fork().Evaluate(make([]float64, f.Inputs()), out); err == nil && !finite(out...) {
		t.Fatalf("outputs %v", out)
	}
}
