package nnpolicy

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"fuzzsafe/jani"

	"github.com/tidwall/gjson"
)

// Weights says what a file of nothing but weights leaves open.
type Weights struct {
	Activation string   // relu, tanh or sigmoid, between the layers; "" is an error if there is more than one
	Layers     []string // names of the layers from input to output; nil: all, in their own order
}

// ReadTorch reads a file that torch.save has made of the state dictionary of a multi-layer
// perceptron: tensors NAME.weight and, unless the layer has none, NAME.bias, of float32 or
// float64, the layers in the order of the dictionary. ReadSafetensors is the same for the
// safetensors format, which has no order: there the names may differ in numbers only, and
// these give it. With Weights.Layers, other tensors are left aside.
//
// The pickle in a torch file is a program; of its operations only those are carried out
// that build dictionaries and tensors, and any other is a *jani.Error of kind Unsupported.
// All else that is wrong is one of kind BadInput. Time and memory are linear in the file.
func ReadTorch(name string, file []byte, w Weights) (Function, error) {
	list, err := torchTensors(file)
	if err != nil {
		return nil, fileError(name, err)
	}
	f, err := perceptron(list, w)
	return f, fileError(name, err)
}

// ReadSafetensors reads weights in the safetensors format; see ReadTorch.
func ReadSafetensors(name string, file []byte, w Weights) (Function, error) {
	list, err := safetensors(name, file)
	if err == nil && w.Layers == nil {
		err = byNumber(list)
	}
	if err != nil {
		return nil, fileError(name, err)
	}
	f, err := perceptron(list, w)
	return f, fileError(name, err)
}

// fileError makes a *jani.Error of an error in a file that has no lines.
func fileError(name string, err error) error {
	if err == nil || errors.As(err, new(*jani.Error)) {
		return err
	}
	e := &jani.Error{Kind: jani.BadInput, Msg: name + ": " + err.Error()}
	if errors.As(err, new(unsupportedError)) {
		e.Kind = jani.Unsupported
	}
	return e
}

// weights is a tensor of a file that is read when it is needed.
type weights struct {
	name string
	dims []int
	load func() ([]float64, error)
}

// perceptron builds the network of some tensors.
func perceptron(list []weights, w Weights) (Function, error) {
	const weight, bias = ".weight", ".bias"
	find := make(map[string]*weights)
	for i := range list {
		find[list[i].name] = &list[i]
	}
	names := w.Layers
	if names == nil {
		for _, t := range list {
			layer, isWeight := strings.CutSuffix(t.name, weight)
			if isWeight {
				names = append(names, layer)
			}
			if layer, ok := strings.CutSuffix(t.name, bias); !isWeight && (!ok || find[layer+weight] == nil) {
				return nil, fmt.Errorf(`the tensor %q is neither the ".weight" nor the ".bias" of a layer `+
					`(the interface key "layers" picks what is used)`, t.name)
			}
		}
	}
	if len(names) == 0 {
		return nil, errors.New("it has no layer")
	}
	var layers []Layer
	most := NNetLimits{}.withDefaults().MaxWeights
	left := most
	for k, name := range names {
		t := find[name+weight]
		if t == nil {
			return nil, fmt.Errorf("it has no tensor %q", name+weight)
		}
		if len(t.dims) != 2 || t.dims[0] < 1 || t.dims[1] < 1 {
			return nil, fmt.Errorf("the tensor %q has the shape %v instead of one of outputs and inputs", t.name, t.dims)
		}
		outputs, inputs := t.dims[0], t.dims[1]
		if k > 0 && inputs != len(layers[k-1].Bias) {
			return nil, fmt.Errorf(`layer %q has %d inputs, but %q before it has %d outputs (the interface key "layers" gives their order)`,
				name, inputs, names[k-1], len(layers[k-1].Bias))
		}
		if left -= product(t.dims); left < 0 {
			return nil, fmt.Errorf("the layers up to %q have more weights than the limit of %d", name, most)
		}
		l := Layer{Bias: make([]float64, outputs)}
		numbers, err := t.load()
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.name, err)
		}
		for o := range outputs {
			l.Weights = append(l.Weights, numbers[o*inputs:][:inputs])
		}
		if t := find[name+bias]; t != nil {
			if !slices.Equal(t.dims, []int{outputs}) {
				return nil, fmt.Errorf("the tensor %q has the shape %v instead of [%d]", t.name, t.dims, outputs)
			}
			if l.Bias, err = t.load(); err != nil {
				return nil, fmt.Errorf("tensor %q: %w", t.name, err)
			}
		}
		layers = append(layers, l)
	}
	n, err := NewNetwork(layers, openScaling(len(layers[0].Weights[0])))
	if err != nil {
		return nil, err
	}
	activation := map[string]opcode{"relu": opRelu, "tanh": opTanh, "sigmoid": opSigmoid}
	op, ok := activation[w.Activation]
	switch {
	case len(layers) == 1 || ok && op == opRelu:
		return n, nil
	case w.Activation == "":
		return nil, errors.New(`the file does not say what is between its layers: give --activation relu, tanh or sigmoid, ` +
			`or "activation" in the interface`)
	case !ok:
		return nil, fmt.Errorf("the activation %q is none of relu, tanh and sigmoid", w.Activation)
	}
	return n.with(op)
}

// with returns the network with another activation than ReLU, of which no scaling is used.
func (n *Network) with(op opcode) (Function, error) {
	g := &graph{}
	x, err := g.input([]int{1, n.Inputs()}, kindReal)
	for k, l := range n.layers {
		if k > 0 && err == nil {
			x, err = g.unary(op, x)
		}
		if err != nil {
			return nil, err
		}
		size := []int{1, len(l.bias)}
		x, err = g.matMul(x, &tensor{dims: []int{x.dims[1], size[1]}, data: l.weights}, &tensor{dims: size, data: l.bias})
	}
	if err != nil {
		return nil, err
	}
	return g.finish(x), nil
}

// byNumber sorts tensors by the numbers in their names, which must not differ otherwise.
func byNumber(list []weights) error {
	numbers := make(map[string][]int)
	pattern := ""
	for i, t := range list {
		layer := strings.TrimSuffix(strings.TrimSuffix(t.name, ".weight"), ".bias")
		text := ""
		for rest := layer; rest != ""; {
			start := strings.IndexAny(rest, "0123456789")
			if start < 0 {
				text += rest
				break
			}
			digits := rest[start:]
			digits = digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))]
			n, err := strconv.Atoi(digits)
			if err != nil {
				return fmt.Errorf("the number in the name %q is too large", t.name)
			}
			numbers[t.name] = append(numbers[t.name], n)
			text += rest[:start] + "#"
			rest = rest[start+len(digits):]
		}
		if i > 0 && text != pattern {
			return fmt.Errorf(`the order of the layers is not clear: the names %q and %q differ in more than numbers `+
				`(the interface key "layers" gives the order)`, list[0].name, t.name)
		}
		pattern = text
	}
	slices.SortStableFunc(list, func(a, b weights) int { return slices.Compare(numbers[a.name], numbers[b.name]) })
	return nil
}

// elements converts numbers of type F32 or F64.
func elements(raw []byte, kind string) (list []float64, err error) {
	switch kind {
	case "F32":
		list = unpack(raw, 4, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) })
	case "F64":
		list = unpack(raw, 8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
	default:
		return nil, notSupported("the type %s of its numbers", kind)
	}
	if list == nil {
		err = fmt.Errorf("its %d bytes are no whole number of elements", len(raw))
	}
	return list, err
}

// safetensors lists the tensors of a file: the length of a header, the header
//
//	{NAME: {"dtype": type, "shape": [extent …], "data_offsets": [first, end]} …, "__metadata__": {…}}
//
// and the numbers, to which the offsets refer.
func safetensors(name string, file []byte) ([]weights, error) {
	if len(file) < 8 || binary.LittleEndian.Uint64(file) > uint64(len(file)-8) {
		return nil, errors.New("this is no safetensors file, or it is cut: its header is longer than the file")
	}
	n := binary.LittleEndian.Uint64(file)
	src := jani.NewSource(name, file[8:8+n])
	data := file[8+n:]
	if err := jani.CheckJSON(src, jani.Limits{}); err != nil {
		return nil, err
	}
	r := interfaceReader{src: src}
	var list []weights
	r.object(gjson.Parse(src.Text), "the header", func(key string, v gjson.Result) bool {
		if key == "__metadata__" {
			return true
		}
		t := weights{name: key}
		var kind string
		var span []int
		r.object(v, "a tensor", func(key string, v gjson.Result) bool {
			switch key {
			case "dtype":
				kind = r.text(v, "the type")
			case "shape":
				r.array(v, "the shape", func(v gjson.Result) { t.dims = append(t.dims, r.integer(v, "an extent")) })
			case "data_offsets":
				r.array(v, "the offsets", func(v gjson.Result) { span = append(span, r.integer(v, "an offset")) })
			default:
				return false
			}
			return true
		}, "dtype", "shape", "data_offsets")
		if r.err == nil && (len(span) != 2 || span[0] > span[1] || span[1] > len(data)) {
			r.err = badInput(r.pos(v), "the offsets of %q are not usable: there are %d bytes", t.name, len(data))
		}
		t.load = func() ([]float64, error) {
			numbers, err := elements(data[span[0]:span[1]], kind)
			if err == nil && len(numbers) != product(t.dims) {
				err = fmt.Errorf("its shape %v does not fit its %d bytes", t.dims, span[1]-span[0])
			}
			return numbers, err
		}
		list = append(list, t)
		return true
	})
	return list, r.err
}

// torchTensors lists the tensors of a torch file: a zip archive, nothing in it compressed,
// of a pickle and one file of numbers per storage.
func torchTensors(file []byte) ([]weights, error) {
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		if bytes.HasPrefix(file, []byte("\x80")) {
			return nil, notSupported("a torch file of the format before version 1.6 (save it with a newer torch), which")
		}
		return nil, fmt.Errorf("this is no torch file: %w", err)
	}
	open := func(f *zip.File) ([]byte, error) {
		if f.Method != zip.Store {
			return nil, notSupported("the compressed part %q of a torch file", f.Name)
		}
		if f.UncompressedSize64 > uint64(len(file)) {
			return nil, fmt.Errorf("the part %q is longer than the file", f.Name)
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(r, int64(len(file))))
	}
	parts := make(map[string]*zip.File)
	folder := ""
	for _, f := range z.File {
		parts[f.Name] = f
		if path.Base(f.Name) == "data.pkl" {
			folder = path.Dir(f.Name)
		}
	}
	program := parts[path.Join(folder, "data.pkl")]
	if program == nil {
		return nil, errors.New("this is no torch file: the archive has no data.pkl")
	}
	if f := parts[path.Join(folder, "byteorder")]; f != nil {
		if order, err := open(f); err != nil || string(order) != "little" {
			return nil, notSupported("the byte order %q", order)
		}
	}
	text, err := open(program)
	if err != nil {
		return nil, err
	}
	result, err := unpickle(text)
	if err != nil {
		return nil, fmt.Errorf("data.pkl: %w", err)
	}
	d, ok := result.(*pyDict)
	if !ok {
		return nil, errors.New("the file does not hold a state dictionary (save net.state_dict(), not net)")
	}
	var list []weights
	for i, name := range d.keys {
		t, ok := d.values[i].(*pyTensor)
		if !ok {
			return nil, fmt.Errorf("%q is not a tensor, so that this is not a state dictionary (it has the keys %q)", name, d.keys)
		}
		list = append(list, weights{name, t.dims, func() ([]float64, error) {
			f := parts[path.Join(folder, "data", t.storage.key)]
			if f == nil {
				return nil, fmt.Errorf("the archive has no part %q", path.Join(folder, "data", t.storage.key))
			}
			kind, ok := map[string]string{"torch.FloatStorage": "F32", "torch.DoubleStorage": "F64"}[t.storage.class]
			if !ok {
				kind = t.storage.class
			}
			raw, err := open(f)
			if err != nil {
				return nil, err
			}
			all, err := elements(raw, kind)
			if err != nil {
				return nil, err
			}
			return t.pick(all)
		}})
	}
	return list, nil
}
