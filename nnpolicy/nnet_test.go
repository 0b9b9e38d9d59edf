package nnpolicy

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"fuzzsafe/jani"
)

// identity is a scaling that clamps n inputs to [low, high] and changes nothing else.
func identity(n int, low, high float64) Scaling {
	s := Scaling{OutRange: 1}
	for range n {
		s.Min, s.Max = append(s.Min, low), append(s.Max, high)
		s.Mean, s.Range = append(s.Mean, 0), append(s.Range, 1)
	}
	return s
}

// random returns the layers of a network of the given sizes, with some zero weights.
func random(r *rand.Rand, sizes ...int) []Layer {
	var layers []Layer
	for k := 1; k < len(sizes); k++ {
		var l Layer
		for range sizes[k] {
			row := make([]float64, sizes[k-1])
			for j := range row {
				if r.IntN(8) > 0 {
					row[j] = r.NormFloat64() / 4
				}
			}
			l.Weights, l.Bias = append(l.Weights, row), append(l.Bias, r.NormFloat64()/4)
		}
		layers = append(layers, l)
	}
	return layers
}

func newNetwork(t testing.TB, layers []Layer, s Scaling) *Network {
	t.Helper()
	n, err := NewNetwork(layers, s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func parse(t testing.TB, text string) *Network {
	t.Helper()
	n, err := ReadNNet(jani.NewSource("test.nnet", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// distance has the hidden neurons ReLU(x−1) and ReLU(1−x) and the outputs |x−1| and
// x−1, scaled.
const distance = `// header
// another
2,1,2,2,
1,2,2,
0,
-4,
6,
0,0,
1,1,
1,
-1,
-1,
1,
1,1,
1,-1,
0,
0,
`

func TestEvaluate(t *testing.T) {
	linear := "1,2,1,2\n2,1\n0\n-10,-10\n10,10\n0,0,0\n1,1,1\n2,-3\n0.5\n"
	// An input becomes (x−1)/2 with x in [−1, 3], an output y·4 + 10.
	scaled := "1,1,2,2\n1,2\n0\n-1\n3\n1,10\n2,4\n1\n-0.5\n0\n0.25\n"
	for _, c := range []struct {
		name, text string
		in, want   []float64
	}{
		{"no hidden layer", linear, []float64{1, 2}, []float64{-3.5}},
		{"last layer is not cut off", linear, []float64{0, 10}, []float64{-29.5}},
		{"zero inputs", linear, []float64{0, 0}, []float64{0.5}},
		{"right of 1", distance, []float64{4}, []float64{3, 3}},
		{"left of 1", distance, []float64{-3}, []float64{4, -4}},
		{"at 1", distance, []float64{1}, []float64{0, 0}},
		{"clamped above", distance, []float64{100}, []float64{5, 5}},
		{"clamped below", distance, []float64{math.Inf(-1)}, []float64{5, -5}},
		{"scaled inside", scaled, []float64{2}, []float64{12, 10}},   // 0.5 → 0.5, 0
		{"scaled, clamped", scaled, []float64{7}, []float64{14, 9}},  // 1 → 1, −0.25
		{"scaled, below", scaled, []float64{-7}, []float64{6, 13}},   // −1 → −1, 0.75
		{"scaled to zero", scaled, []float64{1}, []float64{10, 11}},  // 0 → 0, 0.25
		{"at the minimum", scaled, []float64{-1}, []float64{6, 13}},  // −1 as well
		{"just inside", scaled, []float64{-0.5}, []float64{7, 12.5}}, // −0.75 → −0.75, 0.625
	} {
		t.Run(c.name, func(t *testing.T) {
			out := make([]float64, len(c.want))
			if err := parse(t, c.text).Evaluate(c.in, out); err != nil {
				t.Fatal(err)
			}
			for i := range out {
				if out[i] != c.want[i] {
					t.Errorf("outputs for %v are %v, want %v", c.in, out, c.want)
				}
			}
		})
	}
}

// plain evaluates a network as its definition says, neuron by neuron.
func plain(layers []Layer, in []float64) []float64 {
	for k, l := range layers {
		out := make([]float64, len(l.Bias))
		for o, y := range l.Bias {
			for j, w := range l.Weights[o] {
				y += float64(w * in[j])
			}
			if k < len(layers)-1 && y < 0 {
				y = 0
			}
			out[o] = y
		}
		in = out
	}
	return in
}

// The blocks of four columns and the zeros left out must not change a single bit.
func TestEvaluateEqualsPlainLoop(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		sizes := []int{1 + r.IntN(20)}
		for range r.IntN(4) {
			sizes = append(sizes, 1+r.IntN(40))
		}
		sizes = append(sizes, 1+r.IntN(9))
		layers := random(r, sizes...)
		n := newNetwork(t, layers, identity(sizes[0], -8, 8))
		in, out := make([]float64, n.Inputs()), make([]float64, n.Outputs())
		for i := range in {
			in[i] = float64(r.IntN(17) - 8)
		}
		if err := n.Evaluate(in, out); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i, want := range plain(layers, in) {
			if out[i] != want {
				t.Errorf("seed %d, sizes %v: output %d is %v, want %v", seed, sizes, i, out[i], want)
			}
		}
	}
}

func TestEvaluateErrors(t *testing.T) {
	huge := Layer{Weights: [][]float64{{1e300}, {-1e300}}, Bias: []float64{0, 0}}
	sum := Layer{Weights: [][]float64{{1e300, 1}}, Bias: []float64{0}}
	n := newNetwork(t, []Layer{huge, sum}, identity(1, -1e9, 1e9))
	for _, c := range []struct {
		name    string
		in, out []float64
		want    string
	}{
		{"too few inputs", nil, make([]float64, 1), "1 inputs and 1 outputs is evaluated with 0 and 1"},
		{"too many outputs", make([]float64, 1), make([]float64, 2), "evaluated with 1 and 2"},
		{"NaN", []float64{math.NaN()}, make([]float64, 1), "output 0 of the network is NaN"},
		{"overflow", []float64{1}, make([]float64, 1), "output 0 of the network is +Inf"},
	} {
		if err := n.Evaluate(c.in, c.out); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
	if err := n.Evaluate([]float64{0}, make([]float64, 1)); err != nil {
		t.Errorf("after errors: %v", err)
	}
}

func TestEvaluateDoesNotAllocate(t *testing.T) {
	n := newNetwork(t, random(rand.New(rand.NewPCG(1, 1)), 9, 30, 5), identity(9, 0, 9))
	in, out := make([]float64, 9), make([]float64, 5)
	if allocs := testing.AllocsPerRun(100, func() {
		if err := n.Evaluate(in, out); err != nil {
			t.Error(err)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations per evaluation", allocs)
	}
}

// Clones work at the same time (the race detector sees a shared buffer) and agree.
func TestClone(t *testing.T) {
	n := newNetwork(t, random(rand.New(rand.NewPCG(2, 1)), 4, 16, 16, 3), identity(4, 0, 9))
	c := n.Clone()
	if &n.layers[0].weights[0] != &c.layers[0].weights[0] {
		t.Error("a clone has weights of its own")
	}
	run := func(n *Network) (sum float64) {
		in, out := make([]float64, 4), make([]float64, 3)
		for i := range 2000 {
			in[i%4] = float64(i % 10)
			if err := n.Evaluate(in, out); err != nil {
				t.Error(err)
			}
			sum += out[0] + out[1] + out[2]
		}
		return sum
	}
	want := run(n)
	var wg sync.WaitGroup
	for _, n := range []*Network{n, c, c.Clone()} {
		wg.Go(func() {
			if sum := run(n); sum != want {
				t.Errorf("sum of outputs is %v, want %v", sum, want)
			}
		})
	}
	wg.Wait()
}

func TestNewNetworkErrors(t *testing.T) {
	nan := math.NaN()
	one := []Layer{{Weights: [][]float64{{1, 2}}, Bias: []float64{3}}}
	with := func(change func(*Scaling)) Scaling {
		s := identity(2, 0, 1)
		change(&s)
		return s
	}
	for _, c := range []struct {
		layers []Layer
		s      Scaling
		want   string
	}{
		{nil, identity(2, 0, 1), "at least one layer"},
		{one, Scaling{OutRange: 1}, "0 minima"},
		{one, identity(1, 0, 1), "has 2 weights for 1 inputs"},
		{one, with(func(s *Scaling) { s.Mean = s.Mean[:1] }), "1 means"},
		{one, with(func(s *Scaling) { s.Min[1] = 2 }), "input 1 is not usable: min 2, max 1"},
		{one, with(func(s *Scaling) { s.Range[0] = 0 }), "input 0 is not usable"},
		{one, with(func(s *Scaling) { s.Max[0] = math.Inf(1) }), "max +Inf"},
		{one, with(func(s *Scaling) { s.OutRange = 0 }), "scaling of the outputs"},
		{append(one, Layer{}), identity(2, 0, 1), "layer 1 has 0 weight rows"},
		{append(one, one...), identity(2, 0, 1), "layer 1, neuron 0 has 2 weights for 1 inputs"},
		{[]Layer{{Weights: [][]float64{{1, 2}}}}, identity(2, 0, 1), "1 weight rows and 0 biases"},
		{[]Layer{{Weights: [][]float64{{1, nan}}, Bias: []float64{0}}}, identity(2, 0, 1), "weight that is not finite"},
		{[]Layer{{Weights: [][]float64{{1, 2}}, Bias: []float64{nan}}}, identity(2, 0, 1), "bias that is not finite"},
	} {
		if _, err := NewNetwork(c.layers, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// numbers returns the bits of every number in a network.
func (n *Network) numbers() (bits []uint64) {
	s := n.scaling
	lists := [][]float64{s.Min, s.Max, s.Mean, s.Range, {s.OutMean, s.OutRange}}
	for _, l := range n.layers {
		lists = append(lists, l.weights, l.bias)
	}
	for _, list := range lists {
		for _, x := range list {
			bits = append(bits, math.Float64bits(x))
		}
	}
	return bits
}

func TestWriteNNetRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	// Any bit pattern that is a finite number.
	anything := func() float64 {
		for {
			if x := math.Float64frombits(r.Uint64()); finite(x) {
				return x
			}
		}
	}
	for _, sizes := range [][]int{{1, 1}, {3, 2}, {5, 7, 2}, {4, 9, 6, 3}} {
		layers := random(r, sizes...)
		for _, l := range layers {
			for _, row := range append(l.Weights, l.Bias) {
				for j := range row {
					row[j] = anything()
				}
			}
		}
		layers[0].Bias[0] = math.Copysign(0, -1)
		s := identity(sizes[0], math.SmallestNonzeroFloat64, math.MaxFloat64)
		for i := range s.Mean {
			s.Mean[i], s.Range[i] = anything(), anything()
		}
		s.OutMean, s.OutRange = anything(), anything()
		n := newNetwork(t, layers, s)
		var text strings.Builder
		text.WriteString("// seed 7\n")
		if err := n.WriteNNet(&text); err != nil {
			t.Fatal(err)
		}
		back := parse(t, text.String())
		if fmt.Sprint(back.Sizes()) != fmt.Sprint(n.Sizes()) || fmt.Sprint(back.numbers()) != fmt.Sprint(n.numbers()) {
			t.Errorf("sizes %v: the network read back differs:\n%s", sizes, text.String())
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteNNetError(t *testing.T) {
	if err := parse(t, distance).WriteNNet(fullDisk{}); err == nil || err.Error() != "disk full" {
		t.Errorf("error %v, want the writer's", err)
	}
}

func TestReadNNetLayout(t *testing.T) {
	want := fmt.Sprint(parse(t, distance).numbers())
	for name, text := range map[string]string{
		"CRLF":            strings.ReplaceAll(distance, "\n", "\r\n"),
		"byte-order mark": "\ufeff" + distance,
		"no last newline": strings.TrimSuffix(distance, "\n"),
		"no commas":       strings.ReplaceAll(distance, ",\n", "\n"),
		"blank lines":     "\n" + strings.ReplaceAll(distance, "\n", "\n \t\n\n"),
		"blanks":          strings.ReplaceAll(strings.ReplaceAll(distance, ",", " ,\t"), "\n", " \n  "),
		"no header":       distance[strings.Index(distance, "2,1,2"):],
		"other flag":      strings.Replace(distance, "\n0,\n", "\nfalse\n", 1),
		"largest layer":   strings.Replace(distance, "2,1,2,2,", "2,1,2,2", 1),
		"exponents":       strings.Replace(distance, "\n6,\n", "\n+0.6E+1,\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if got := fmt.Sprint(parse(t, text).numbers()); got != want {
				t.Errorf("numbers are %v, want %v", got, want)
			}
		})
	}
	// Writers differ in whether the inputs count for the largest size.
	for _, largest := range []string{"3", "1"} {
		parse(t, "1,3,1,"+largest+"\n3,1\n0\n0,0,0\n1,1,1\n0,0,0,0\n1,1,1,1\n1,1,1\n0\n")
	}
}

// expect checks that err is a *jani.Error of the given kind that renders as
// name:place… with every other part in it.
func expect(t *testing.T, err error, kind jani.ErrorKind, place string, parts ...string) {
	t.Helper()
	var e *jani.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a *jani.Error", err, err)
	}
	if e.Kind != kind {
		t.Errorf("kind %v, want %v: %v", e.Kind, kind, err)
	}
	if !strings.HasPrefix(e.Error(), place) {
		t.Errorf("place of %q is not %q", e, place)
	}
	for _, part := range parts {
		if !strings.Contains(e.Error(), part) {
			t.Errorf("error %q lacks %q", e, part)
		}
	}
}

func TestReadNNetErrors(t *testing.T) {
	good := []string{
		"// header",                    // 1
		"2,2,3,4,",                     // 2
		"2,4,3,",                       // 3
		"0,",                           // 4
		"0, -1,",                       // 5
		"10, 1,",                       // 6
		"0,0,0,",                       // 7
		"1,1,1,",                       // 8
		"1,2,", "3,4,", "5,6,", "7,8,", // 9 to 12
		"1,", "2,", "3,", "4,", // 13 to 16
		"1,2,3,4,", "5,6,7,8,", "9,10,11,12,", // 17 to 19
		"1,", "2,", "3,", // 20 to 22
	}
	parse(t, strings.Join(good, "\n"))
	for _, c := range []struct {
		name        string
		line        int
		text, place string
		want        string
	}{
		{"not a number", 9, "1,x2,", "9:3", `weights of layer 1, neuron 1: "x2" is not a finite decimal number`},
		{"after blanks", 9, " 1 ,  x2 ,", "9:7", `"x2"`},
		{"NaN", 10, "NaN,4,", "10:1", `"NaN" is not a finite`},
		{"infinity", 11, "5,-inf,", "11:3", `"-inf"`},
		{"too large", 18, "5,6,7,1e999,", "18:7", "layer 2, neuron 2"},
		{"hexadecimal", 13, "0x1p3,", "13:1", "bias of layer 1, neuron 1"},
		{"digit groups", 13, "1_0,", "13:1", "1_0"},
		{"two numbers without comma", 9, "1 2,", "9:1", `"1 2"`},
		{"long text is cut", 13, strings.Repeat("y", 500), "13:1", `"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…" is not`},
		{"empty field", 9, "1,,2", "9:3", `"" is not a finite decimal number`},
		{"missing weight", 19, "9,10,11,", "19:9", "weights of layer 2, neuron 3 has 3 numbers instead of 4"},
		{"extra weight", 19, "9,10,11,12, 13,14,", "19:13", "has 6 numbers instead of 4"},
		{"extra bias", 22, "3,4", "22:3", "bias of layer 2, neuron 3 has 2 numbers instead of 1"},
		{"first line too short", 2, "2,2,3,", "2:7", "3 numbers instead of 4"},
		{"first line too long", 2, "2,2,3,4,0", "2:9", "5 numbers instead of 4"},
		{"fraction of layers", 2, "2.0,2,3,4", "2:1", `"2.0" is not a whole number`},
		{"no layers", 2, "0,2,3,4", "2:1", `"0" is not a whole number from 1`},
		{"negative size", 3, "2,-4,3", "3:3", `"-4" is not a whole number`},
		{"more layers", 2, "3,2,3,4", "3:7", "layer sizes has 3 numbers instead of 4"},
		{"fewer layers", 2, "1,2,3,4", "3:5", "layer sizes has 3 numbers instead of 2"},
		{"other inputs", 2, "2,3,3,4", "3:1", "2 inputs by its layer sizes, 3 by the line before"},
		{"other outputs", 2, "2,2,2,4", "3:5", "3 outputs by its layer sizes, 2 by the line before"},
		{"largest too small", 2, "2,2,3,3", "2:7", "largest size is 3 here, 4 by the layer sizes"},
		{"largest too large", 2, "2,2,3,5", "2:7", "largest size is 5 here"},
		{"wide layer", 3, "2,70000,3", "3:3", "70000 is more than the limit of 65536"},
		{"many weights", 3, "2,65536,65536", "3:9", "limit of 16777216"},
		{"many layers", 2, "1001,2,3,4", "2:1", "1001 layers, more than the limit of 1000"},
		{"beyond int", 2, "99999999999999999999,2,3,4", "2:1", "2147483647"},
		{"two flags", 4, "0,0", "4:3", "flag has 2 numbers"},
		{"missing minimum", 5, "0,", "5:3", "input minima has 1 numbers instead of 2"},
		{"minimum above maximum", 6, "10,-2", "6:4", "the maximum -2 of input 2 is below its minimum -1"},
		{"no mean of the outputs", 7, "0,0,", "7:5", "means has 2 numbers instead of 3"},
		{"range 0", 8, "1,0,1", "8:3", "a range is 0"},
		{"output range 0", 8, "1,1,-0.0", "8:5", "a range is 0"},
		{"comment inside", 12, "// what", "12:1", `"// what"`},
		{"missing row", 12, "", "13:3", "layer 1, neuron 4 has 1 numbers instead of 2"},
		{"truncated", 22, "", "22:1", "the file ends where the line of bias of layer 2, neuron 3 is expected"},
		{"trailing text", 22, "3\n\n  4", "24:3", "text after the last bias"},
		{"sizes of a smaller network", 3, "2,3,3", "2:7", "largest size is 4 here, 3 by"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := append([]string(nil), good...)
			lines[c.line-1] = c.text
			_, err := ReadNNet(jani.NewSource("n", []byte(strings.Join(lines, "\n"))))
			expect(t, err, jani.BadInput, "n:"+c.place+": ", c.want)
		})
	}
	for _, text := range []string{"", "\n \n", "// only a header"} {
		_, err := ReadNNet(jani.NewSource("n", []byte(text)))
		expect(t, err, jani.BadInput, "n:", "the file ends where the line of layers, inputs")
	}
}

// A few bytes must not make the reader take much memory, even without limits.
func TestReadNNetMemory(t *testing.T) {
	none := NNetLimits{-1, -1, -1}
	for _, text := range []string{
		"2147483647,1,1,1\n1,1\n",
		"1,2147483647,1,2147483647\n2147483647,1\n0\n0,0\n",
		"2,1,1,2147483647\n1,2147483647,1\n0\n0\n1\n0,0\n1,1\n1\n2\n",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadNNetLimits(jani.NewSource("n", []byte(text)), none)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%q is read", text)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 64<<10 {
			t.Errorf("%q takes %d bytes of memory", text, taken)
		}
	}
}

func TestReadNNetLimits(t *testing.T) {
	text := "2,2,1,3\n2,3,1\n0\n0,0\n1,1\n0,0,0\n1,1,1\n1,1\n1,1\n1,1\n0\n0\n0\n1,1,1\n0\n"
	for _, c := range []struct {
		limits NNetLimits
		want   string // "" for none
	}{
		{NNetLimits{2, 3, 9}, ""},
		{NNetLimits{-1, -1, -1}, ""},
		{NNetLimits{MaxLayers: 1}, "2 layers, more than the limit of 1"},
		{NNetLimits{MaxWidth: 2}, "layer size 3 is more than the limit of 2"},
		{NNetLimits{MaxWeights: 8}, "9 weights up to here, more than the limit of 8"},
	} {
		_, err := ReadNNetLimits(jani.NewSource("n", []byte(text)), c.limits)
		if c.want != "" {
			expect(t, err, jani.BadInput, "n:", c.want)
		} else if err != nil {
			t.Errorf("limits %+v: %v", c.limits, err)
		}
	}
}

// planning holds published networks; tests that need it are skipped without it.
const planning = "../../shared/data/planning"

func planningFiles(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(planning, "*", pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no files in " + planning)
	}
	return files
}

func readFile(t testing.TB, file string) *jani.Source {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return jani.NewSource(file, text)
}

func FuzzReadNNet(f *testing.F) {
	f.Add(distance)
	f.Add("1,1,1,1\n1,1\n0\n0\n1\n0,0\n1,1\n-1e-3\n+2.5E2\n")
	f.Add("\ufeff// h\r\n1,2,1,2,\r\n2,1,\r\n0,\r\n0,0,\r\n1,1,\r\n0,0,0,\r\n1,2,3,\r\n1,-1,\r\n\r\n.5,\r\n")
	f.Add("1000,65536,65536,65536\n")
	f.Add("// x")
	f.Fuzz(func(t *testing.T, text string) {
		src := jani.NewSource("f", []byte(text))
		n, err := ReadNNetLimits(src, NNetLimits{-1, -1, -1})
		if err != nil {
			expect(t, err, jani.BadInput, "f:")
			return
		}
		if count := len(n.numbers()); count > len(text)/2+1 {
			t.Fatalf("%d numbers from %d bytes", count, len(text))
		}
		out := make([]float64, n.Outputs())
		if err := n.Evaluate(n.scaling.Max, out); err == nil && !finite(out...) {
			t.Fatalf("outputs %v", out)
		}
		var again strings.Builder
		if err := n.WriteNNet(&again); err != nil {
			t.Fatal(err)
		}
		back, err := ReadNNetLimits(jani.NewSource("f", []byte(again.String())), NNetLimits{-1, -1, -1})
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(back.numbers()) != fmt.Sprint(n.numbers()) {
			t.Fatalf("another network comes back from\n%s", again.String())
		}
	})
}

func BenchmarkReadNNet(b *testing.B) {
	var text strings.Builder
	n := newNetwork(b, random(rand.New(rand.NewPCG(5, 6)), 14, 64, 64, 5), identity(14, 0, 15))
	if err := n.WriteNNet(&text); err != nil {
		b.Fatal(err)
	}
	src := jani.NewSource("n", []byte(text.String()))
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := ReadNNet(src); err != nil {
			b.Fatal(err)
		}
	}
}
