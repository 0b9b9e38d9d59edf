package nnpolicy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fuzzsafe/jani"
)

// Layer is a fully connected layer in the order of network files: Weights has one row
// per neuron with one number per input of the layer, Bias one number per neuron.
type Layer struct {
	Weights [][]float64
	Bias    []float64
}

// Scaling maps the values of a model to those that the layers work on, and back. An
// input x becomes (clamp(x, Min, Max) − Mean) / Range; the last layer's y becomes
// y · OutRange + OutMean.
type Scaling struct {
	Min, Max, Mean, Range []float64 // one per input; Range ≠ 0, Min ≤ Max
	OutMean, OutRange     float64   // of all outputs; OutRange ≠ 0
}

// input returns what the first layer gets for value x of input i.
func (s *Scaling) input(i int, x float64) float64 {
	return (min(max(x, s.Min[i]), s.Max[i]) - s.Mean[i]) / s.Range[i]
}

// Network is a feed-forward network with ReLU after every layer but the last. The
// weights are immutable, but Evaluate works in a buffer that the Network owns: give
// every goroutine its own Clone.
type Network struct {
	scaling Scaling
	layers  []layer

	values []float64 // input of the next layer
	active []float64 // those of them that are not zero
	column []int     // where the weights of each active value start
}

// layer holds the weights column by column: those of input j are
// weights[j·len(bias) : (j+1)·len(bias)].
type layer struct {
	weights, bias []float64
}

// NewNetwork returns the network with the given layers, first to last. It copies its
// arguments. An error says which shape does not fit or which number is not finite.
func NewNetwork(layers []Layer, s Scaling) (*Network, error) {
	if len(layers) == 0 {
		return nil, errors.New("a network needs at least one layer")
	}
	inputs := len(s.Min)
	if inputs == 0 || len(s.Max) != inputs || len(s.Mean) != inputs || len(s.Range) != inputs {
		return nil, fmt.Errorf("scaling has %d minima, %d maxima, %d means and %d ranges; a network needs one of each per input",
			len(s.Min), len(s.Max), len(s.Mean), len(s.Range))
	}
	for i := range inputs {
		if !finite(s.Min[i], s.Max[i], s.Mean[i], s.Range[i]) || s.Min[i] > s.Max[i] || s.Range[i] == 0 {
			return nil, fmt.Errorf("scaling of input %d is not usable: min %v, max %v, mean %v, range %v",
				i, s.Min[i], s.Max[i], s.Mean[i], s.Range[i])
		}
	}
	if !finite(s.OutMean, s.OutRange) || s.OutRange == 0 {
		return nil, fmt.Errorf("scaling of the outputs is not usable: mean %v, range %v", s.OutMean, s.OutRange)
	}
	for k, l := range layers {
		if len(l.Weights) == 0 || len(l.Bias) != len(l.Weights) {
			return nil, fmt.Errorf("layer %d has %d weight rows and %d biases", k, len(l.Weights), len(l.Bias))
		}
		if !finite(l.Bias...) {
			return nil, fmt.Errorf("layer %d has a bias that is not finite", k)
		}
		for o, row := range l.Weights {
			if len(row) != inputs {
				return nil, fmt.Errorf("layer %d, neuron %d has %d weights for %d inputs", k, o, len(row), inputs)
			}
			if !finite(row...) {
				return nil, fmt.Errorf("layer %d, neuron %d has a weight that is not finite", k, o)
			}
		}
		inputs = len(l.Bias)
	}
	return build(layers, s), nil
}

// finite reports whether no x is NaN or infinite.
func finite(xs ...float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return x-x != 0 })
}

// build makes a Network of valid layers.
func build(layers []Layer, s Scaling) *Network {
	n := &Network{scaling: Scaling{
		Min: slices.Clone(s.Min), Max: slices.Clone(s.Max), Mean: slices.Clone(s.Mean), Range: slices.Clone(s.Range),
		OutMean: s.OutMean, OutRange: s.OutRange,
	}}
	inputs := len(s.Min)
	for _, l := range layers {
		outputs := len(l.Bias)
		weights := make([]float64, inputs*outputs)
		for o, row := range l.Weights {
			for j, w := range row {
				weights[j*outputs+o] = w
			}
		}
		n.layers = append(n.layers, layer{weights, slices.Clone(l.Bias)})
		inputs = outputs
	}
	return n.Clone()
}

// Clone returns a network with the same weights, shared, and a buffer of its own.
func (n *Network) Clone() *Network {
	width := slices.Max(n.Sizes())
	return &Network{
		scaling: n.scaling,
		layers:  n.layers,
		values:  make([]float64, width),
		active:  make([]float64, width),
		column:  make([]int, width),
	}
}

// Inputs returns the number of inputs.
func (n *Network) Inputs() int { return len(n.scaling.Min) }

// Outputs returns the number of outputs.
func (n *Network) Outputs() int { return len(n.layers[len(n.layers)-1].bias) }

// Sizes returns the number of inputs, the widths of the hidden layers and the number
// of outputs, in that order.
func (n *Network) Sizes() []int {
	sizes := []int{n.Inputs()}
	for _, l := range n.layers {
		sizes = append(sizes, len(l.bias))
	}
	return sizes
}

// Evaluate writes the outputs for the inputs in to out, whose lengths must be Inputs
// and Outputs. It allocates nothing, and its results are the same to the last bit on
// every machine: a neuron is its bias plus the products of its inputs in ascending
// order, each product and each sum rounded to float64; inputs that are zero are left
// out. A result that is not finite (an input is NaN, or the numbers overflow) is an
// error. Time is linear in the number of weights whose input is not zero.
func (n *Network) Evaluate(in, out []float64) error {
	if len(in) != n.Inputs() || len(out) != n.Outputs() {
		return fmt.Errorf("a network of %d inputs and %d outputs is evaluated with %d and %d",
			n.Inputs(), n.Outputs(), len(in), len(out))
	}
	s := &n.scaling
	values := n.values[:len(in)]
	for i, x := range in {
		values[i] = s.input(i, x)
	}
	active := n.gather(values, len(n.layers[0].bias))
	last := len(n.layers) - 1
	for k := range last {
		l := &n.layers[k]
		values = n.values[:len(l.bias)]
		n.apply(l, active, values)
		active = n.rectify(values, len(n.layers[k+1].bias))
	}
	n.apply(&n.layers[last], active, out)
	for i, y := range out {
		out[i] = float64(y*s.OutRange) + s.OutMean
		if !finite(out[i]) {
			return fmt.Errorf("output %d of the network is %v", i, out[i])
		}
	}
	return nil
}

// gather sets active and column to the values that are not zero and to their columns in
// the weights of a layer with the given number of outputs. It returns how many there are.
func (n *Network) gather(values []float64, outputs int) int {
	active, column := n.active, n.column
	k, start := 0, 0
	for _, x := range values {
		active[k], column[k] = x, start
		start += outputs
		if x != 0 { // compiles without a jump: which are zero is not predictable
			k++
		}
	}
	return k
}

// rectify is gather behind a ReLU, which leaves about half of the values. NaN is kept.
func (n *Network) rectify(values []float64, outputs int) int {
	active, column := n.active, n.column
	k, start := 0, 0
	for _, x := range values {
		active[k], column[k] = x, start
		start += outputs
		if !(x <= 0) { // without a jump, too
			k++
		}
	}
	return k
}

// apply computes a layer from its active inputs. Four columns at a time, so that a sum
// is loaded and stored once for four products; the sums of different neurons do not
// wait for one another. The conversions keep the compiler from fusing products into
// sums, which it would do on some machines only.
func (n *Network) apply(l *layer, active int, out []float64) {
	copy(out, l.bias)
	x, column := n.active[:active], n.column[:active]
	for ; len(x) >= 4 && len(column) >= 4; x, column = x[4:], column[4:] {
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		w0 := l.weights[column[0]:][:len(out)]
		w1 := l.weights[column[1]:][:len(out)]
		w2 := l.weights[column[2]:][:len(out)]
		w3 := l.weights[column[3]:][:len(out)]
		for o, y := range out {
			out[o] = y + float64(w0[o]*x0) + float64(w1[o]*x1) + float64(w2[o]*x2) + float64(w3[o]*x3)
		}
	}
	for i, xi := range x {
		for o, w := range l.weights[column[i]:][:len(out)] {
			out[o] += float64(w * xi)
		}
	}
}

// WriteNNet writes the network as an .nnet file that ReadNNet reads back to the last
// bit. Lines of the caller that begin with // may precede it.
func (n *Network) WriteNNet(w io.Writer) error {
	out := bufio.NewWriter(w)
	var text []byte
	line := func(xs ...float64) {
		text = text[:0]
		for _, x := range xs {
			text = append(strconv.AppendFloat(text, x, 'g', -1, 64), ',')
		}
		out.Write(append(text, '\n')) // the error comes back from Flush
	}
	sizes := n.Sizes()
	fmt.Fprintf(out, "// layers, inputs, outputs, largest; sizes; 0; minima; maxima; means; ranges; weights and biases\n")
	fmt.Fprintf(out, "%d,%d,%d,%d,\n", len(n.layers), n.Inputs(), n.Outputs(), slices.Max(sizes))
	for _, size := range sizes {
		fmt.Fprintf(out, "%d,", size)
	}
	fmt.Fprintf(out, "\n0,\n")
	s := &n.scaling
	line(s.Min...)
	line(s.Max...)
	line(append(slices.Clone(s.Mean), s.OutMean)...)
	line(append(slices.Clone(s.Range), s.OutRange)...)
	for k, l := range n.layers {
		row := make([]float64, sizes[k])
		for o := range l.bias {
			for j := range row {
				row[j] = l.weights[j*len(l.bias)+o]
			}
			line(row...)
		}
		for _, b := range l.bias {
			line(b)
		}
	}
	return out.Flush()
}

// NNetLimits bounds the networks that are read. Zero fields take their defaults,
// negative ones mean no limit. Memory never grows beyond a fixed multiple of the
// length of the file, whatever sizes it declares.
type NNetLimits struct {
	MaxLayers  int // default 1,000
	MaxWidth   int // of inputs and layers; default 65,536
	MaxWeights int // of all layers, without biases; default 16,777,216 (128 MiB)
}

func (l NNetLimits) withDefaults() NNetLimits {
	pick := func(limit, usual int) int {
		switch {
		case limit == 0:
			return usual
		case limit < 0:
			return math.MaxInt32 // more than the numbers of any text with int32 offsets
		}
		return min(limit, math.MaxInt32)
	}
	return NNetLimits{pick(l.MaxLayers, 1000), pick(l.MaxWidth, 1<<16), pick(l.MaxWeights, 1<<24)}
}

// ReadNNet reads a network in the .nnet text format (Julian, Stanford 2016) within the
// default NNetLimits. A line holds numbers separated by commas, a comma may end it;
// blanks, blank lines and CRLF do not matter:
//
//	// any number of header lines
//	layers, inputs, outputs, largest size
//	inputs, width of layer 1, …, outputs      (layers+1 numbers)
//	flag                                      (not used)
//	minimum of each input
//	maximum of each input
//	mean of each input, of the outputs
//	range of each input, of the outputs
//	per layer: a line of weights per neuron, then a line with the bias per neuron
//
// Any defect is a *jani.Error with the place of the number or line in question. Time
// and memory are linear in the text.
func ReadNNet(src *jani.Source) (*Network, error) { return ReadNNetLimits(src, NNetLimits{}) }

// ReadNNetLimits is ReadNNet within other limits.
func ReadNNetLimits(src *jani.Source, limits NNetLimits) (*Network, error) {
	if len(src.Text) > math.MaxInt32 {
		return nil, badInput(jani.Pos{Src: src}, "the file is larger than 2 GiB")
	}
	limits = limits.withDefaults()
	r := nnetReader{src: src}
	r.skipHeader()
	sizes := r.sizes(limits)
	if r.err != nil {
		return nil, r.err
	}
	row(&r, "flag", 1, func(string) (struct{}, string) { return struct{}{}, "" })
	s := r.scaling(sizes[0])
	var layers []Layer
	for k := 1; k < len(sizes) && r.err == nil; k++ {
		layers = append(layers, r.layer(k, sizes[k-1], sizes[k]))
	}
	if r.err != nil {
		return nil, r.err
	}
	if text, off := r.line(); text != "" {
		return nil, r.fail(off, "text after the last bias: the file holds more than its layer sizes say")
	}
	return build(layers, s), nil
}

// nnetReader reads lines of numbers. It keeps the first error and returns nothing but
// zero values from then on.
type nnetReader struct {
	src  *jani.Source
	next int   // offset of the first line that is not read yet
	at   []int // offsets of the numbers of the last line
	err  error
}

func (r *nnetReader) fail(off int, format string, args ...any) error {
	if r.err == nil {
		r.err = badInput(jani.Pos{Src: r.src, Off: int32(off)}, format, args...)
	}
	return r.err
}

func (r *nnetReader) skipHeader() {
	for {
		start := r.next
		if text, _ := r.line(); !strings.HasPrefix(text, "//") {
			r.next = start
			return
		}
	}
}

const blanks = " \t\r"

// line returns the next line that is not blank, without blanks at its ends, and its
// offset; at the end of the text "" and the text's length.
func (r *nnetReader) line() (text string, off int) {
	for r.next < len(r.src.Text) {
		off = r.next
		text, _, _ = strings.Cut(r.src.Text[off:], "\n")
		r.next += len(text) + 1
		trimmed := strings.TrimLeft(text, blanks)
		off += len(text) - len(trimmed)
		if trimmed = strings.TrimRight(trimmed, blanks); trimmed != "" {
			return trimmed, off
		}
	}
	return "", len(r.src.Text)
}

// row reads the next line, which must hold want numbers. parse returns the value of a
// number, or what it should have been. A bad line ends in r.err and nil.
func row[T any](r *nnetReader, what string, want int, parse func(string) (T, string)) []T {
	if r.err != nil {
		return nil
	}
	rest, off := r.line()
	if rest == "" {
		r.fail(off, "the file ends where the line of %s is expected; it may be truncated", what)
		return nil
	}
	r.at = r.at[:0]
	values := make([]T, 0, min(want, len(rest)/2+1))
	for rest != "" {
		field, after, _ := strings.Cut(rest, ",")
		start := off + len(field) - len(strings.TrimLeft(field, blanks))
		if len(values) == want {
			found := want + 1 + strings.Count(strings.TrimSuffix(rest, ","), ",")
			r.fail(start, "the line of %s has %d numbers instead of %d", what, found, want)
			return nil
		}
		field = strings.Trim(field, blanks)
		value, expected := parse(field)
		if expected != "" {
			r.fail(start, "%s: %s is not %s", what, quote(field), expected)
			return nil
		}
		values, r.at = append(values, value), append(r.at, start)
		off += len(rest) - len(after)
		rest = after
	}
	if len(values) < want {
		r.fail(off, "the line of %s has %d numbers instead of %d", what, len(values), want)
		return nil
	}
	return values
}

// quote quotes what stands where a number should, shortened.
func quote(field string) string {
	const most = 30
	if len(field) > most {
		field = field[:most] + "…"
	}
	return strconv.Quote(field)
}

func parseCount(field string) (int, string) {
	n, err := strconv.Atoi(field)
	if err != nil || n < 1 || n > math.MaxInt32 {
		return 0, "a whole number from 1 to 2147483647"
	}
	return n, ""
}

func parseFloat(field string) (float64, string) {
	x, err := strconv.ParseFloat(field, 64)
	// ParseFloat also takes words, hexadecimal and digit groups.
	if err != nil || strings.Trim(field, "0123456789.eE+-") != "" {
		return 0, "a finite decimal number"
	}
	return x, ""
}

// sizes reads the two lines of sizes and checks them against each other and the limits.
func (r *nnetReader) sizes(limits NNetLimits) []int {
	first := row(r, "layers, inputs, outputs and largest size", 4, parseCount)
	if r.err != nil {
		return nil
	}
	layers, inputs, outputs, largest := first[0], first[1], first[2], first[3]
	if layers > limits.MaxLayers {
		r.fail(r.at[0], "the network has %d layers, more than the limit of %d", layers, limits.MaxLayers)
		return nil
	}
	largestAt := r.at[3]
	sizes := row(r, "layer sizes", layers+1, parseCount)
	if r.err != nil {
		return nil
	}
	weights := 0
	for k, size := range sizes {
		if size > limits.MaxWidth {
			r.fail(r.at[k], "layer size %d is more than the limit of %d", size, limits.MaxWidth)
		}
		if k > 0 {
			weights += size * sizes[k-1]
		}
		if weights > limits.MaxWeights {
			r.fail(r.at[k], "the layers have %d weights up to here, more than the limit of %d", weights, limits.MaxWeights)
		}
		if r.err != nil {
			return nil
		}
	}
	if sizes[0] != inputs {
		r.fail(r.at[0], "the network has %d inputs by its layer sizes, %d by the line before", sizes[0], inputs)
	}
	if sizes[layers] != outputs {
		r.fail(r.at[layers], "the network has %d outputs by its layer sizes, %d by the line before", sizes[layers], outputs)
	}
	// Writers differ in whether the inputs count as a layer.
	if largest > slices.Max(sizes) || largest < slices.Max(sizes[1:]) {
		r.fail(largestAt, "the largest size is %d here, %d by the layer sizes", largest, slices.Max(sizes))
	}
	return sizes
}

// scaling reads the four lines about the values of inputs and outputs.
func (r *nnetReader) scaling(inputs int) (s Scaling) {
	s.Min = row(r, "input minima", inputs, parseFloat)
	s.Max = row(r, "input maxima", inputs, parseFloat)
	for i, high := range s.Max {
		if high < s.Min[i] {
			r.fail(r.at[i], "the maximum %v of input %d is below its minimum %v", high, i+1, s.Min[i])
		}
	}
	s.Mean = row(r, "means", inputs+1, parseFloat)
	s.Range = row(r, "ranges", inputs+1, parseFloat)
	if i := slices.Index(s.Range, 0); i >= 0 {
		r.fail(r.at[i], "a range is 0, and values are divided by it")
	}
	if r.err == nil {
		s.OutMean, s.OutRange = s.Mean[inputs], s.Range[inputs]
		s.Mean, s.Range = s.Mean[:inputs], s.Range[:inputs]
	}
	return s
}

// layer reads the weights and biases of the k-th layer, counted from 1 in messages.
func (r *nnetReader) layer(k, inputs, outputs int) (l Layer) {
	for o := 0; o < outputs && r.err == nil; o++ {
		l.Weights = append(l.Weights, row(r, fmt.Sprintf("weights of layer %d, neuron %d", k, o+1), inputs, parseFloat))
	}
	for o := 0; o < outputs && r.err == nil; o++ {
		l.Bias = append(l.Bias, row(r, fmt.Sprintf("bias of layer %d, neuron %d", k, o+1), 1, parseFloat)...)
	}
	return l
}

func badInput(pos jani.Pos, format string, args ...any) *jani.Error {
	return &jani.Error{Kind: jani.BadInput, Pos: pos, Msg: fmt.Sprintf(format, args...)}
}
