package nnpolicy

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fuzzsafe/jani"
)

// expected is what the tool that made a model computes; see testdata/make_models.py.
type expected struct{ Inputs, Outputs [][]float64 }

func readExpected(t testing.TB, name string) (e expected) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata/models", name+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&e); err != nil {
		t.Fatal(err)
	}
	if len(e.Inputs) != 1000 || len(e.Outputs) != 1000 {
		t.Fatalf("%d inputs and %d outputs", len(e.Inputs), len(e.Outputs))
	}
	return e
}

func readModel(t testing.TB, file string, w Weights) Function {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/models", file))
	if err != nil {
		t.Fatal(err)
	}
	l := loader{model: station()}
	f, _, err := l.function(file, text, w)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// agrees checks that f computes what is expected, up to a relative error, and chooses the same
// output wherever the two best differ by more.
func agrees(t *testing.T, f Function, e expected, tolerance float64) {
	t.Helper()
	if f.Inputs() != len(e.Inputs[0]) || f.Outputs() != len(e.Outputs[0]) {
		t.Fatalf("%d inputs and %d outputs instead of %d and %d", f.Inputs(), f.Outputs(), len(e.Inputs[0]), len(e.Outputs[0]))
	}
	out := make([]float64, f.Outputs())
	chosen := make(map[int]int)
	worst := 0.0
	for i, in := range e.Inputs {
		if err := f.Evaluate(in, out); err != nil {
			t.Fatal(err)
		}
		scale, best, bestOf := 0.0, 0, 0
		for k, y := range e.Outputs[i] {
			scale = max(scale, math.Abs(y))
			if y > e.Outputs[i][best] {
				best = k
			}
			if out[k] > out[bestOf] {
				bestOf = k
			}
		}
		for k, y := range e.Outputs[i] {
			worst = max(worst, math.Abs(out[k]-y)/scale)
		}
		if best != bestOf && e.Outputs[i][best]-e.Outputs[i][bestOf] > 2*tolerance*scale {
			t.Errorf("state %v: output %d of %v is chosen instead of %d of %v", in, bestOf, out, best, e.Outputs[i])
		}
		chosen[best]++
	}
	if !(worst <= tolerance) {
		t.Errorf("the relative error is %v", worst)
	}
	if len(chosen) < 2 {
		t.Errorf("always the same output is chosen: %v", chosen)
	}
	t.Logf("relative error %.2g, chosen %v", worst, chosen)
}

// Models that other tools have saved, and what those compute: torch and XGBoost in float32,
// the others in float64.
func TestModels(t *testing.T) {
	for _, c := range []struct {
		file      string
		weights   Weights
		expected  string
		kind      string
		tolerance float64
	}{
		{"relu.onnx", Weights{}, "relu", "*nnpolicy.Network", 1e-5},
		{"relu.pt", Weights{Activation: "relu"}, "relu", "*nnpolicy.Network", 1e-5},
		{"relu.safetensors", Weights{Activation: "relu"}, "relu", "*nnpolicy.Network", 1e-5},
		{"scaled.onnx", Weights{}, "scaled", "*nnpolicy.Network", 1e-5},
		{"tanh.onnx", Weights{}, "tanh", "*nnpolicy.graph", 1e-8},
		{"hand.onnx", Weights{}, "hand", "*nnpolicy.graph", 1e-8},
		{"named.pth", Weights{Activation: "tanh"}, "named", "*nnpolicy.graph", 1e-8},
		{"named.pth", Weights{Activation: "tanh", Layers: []string{"inward", "between", "action"}}, "named", "*nnpolicy.graph", 1e-8},
		{"boosted_classes.json", Weights{}, "boosted_classes", "*nnpolicy.Trees", 1e-8},
		{"boosted_values.json", Weights{}, "boosted_values", "*nnpolicy.Trees", 1e-8},
		{"forest.json", Weights{}, "forest", "*nnpolicy.Trees", 1e-8},
		{"tree.json", Weights{}, "tree", "*nnpolicy.Trees", 1e-8},
	} {
		t.Run(c.file, func(t *testing.T) {
			f := readModel(t, c.file, c.weights)
			if kind := fmt.Sprintf("%T", f); kind != c.kind {
				t.Errorf("it is read as a %s", kind)
			}
			e := readExpected(t, c.expected)
			agrees(t, f, e, c.tolerance)
			// A fork computes the same, at the same time; nothing is allocated.
			fork, one, two := f.Fork(), make([]float64, f.Outputs()), make([]float64, f.Outputs())
			if err := f.Evaluate(e.Inputs[0], one); err != nil {
				t.Fatal(err)
			}
			if n := testing.AllocsPerRun(10, func() {
				if err := fork.Evaluate(e.Inputs[1], two); err != nil {
					t.Error(err)
				}
			}); n != 0 {
				t.Errorf("%v allocations per evaluation", n)
			}
			if err := fork.Evaluate(e.Inputs[0], two); err != nil || fmt.Sprint(one) != fmt.Sprint(two) {
				t.Errorf("the fork computes %v instead of %v, error %v", two, one, err)
			}
			if f.Evaluate(e.Inputs[0][1:], one) == nil || f.Evaluate(e.Inputs[0], one[1:]) == nil {
				t.Error("too few inputs or outputs are no error")
			}
			bad := append([]float64{math.NaN()}, e.Inputs[0][1:]...)
			if err := f.Evaluate(bad, one); err == nil {
				t.Error("an input that is not a number is no error")
			}
		})
	}
}

// The files are policies for a model of six variables and four action labels.
func TestLoadModels(t *testing.T) {
	m := &jani.Model{Actions: []string{"a", "b", "c", "d"}, Silent: jani.NoAction, Race: jani.NoAction}
	for _, name := range strings.Split("uvwxyz", "") {
		m.Vars = append(m.Vars, jani.Var{Name: name, Kind: jani.VarInt, Upper: 15, Instance: -1})
	}
	e := readExpected(t, "relu")
	iface := filepath.Join(t.TempDir(), "relu.jani2nnet")
	file, err := filepath.Abs("testdata/models/relu.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"file":%q,"input":[{"name":"z"},{"name":"y"},{"name":"x"},{"name":"w"},{"name":"v"},{"name":"u"}],
		"output":["a","b","c","d"],"activation":"relu","layers":["0","2","4"],"elements":[16,16]}`, filepath.ToSlash(file))
	if err := os.WriteFile(iface, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	bent := filepath.Join(filepath.Dir(iface), "tanh.jani2nnet")
	if err := os.WriteFile(bent, []byte(strings.Replace(text, `"relu"`, `"tanh"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := Load(m, bent); err != nil || fmt.Sprint(p.Sizes()) != "[6 4]" {
		t.Errorf("tanh: policy %v, error %v", p, err)
	}
	for _, c := range []struct {
		file     string
		options  Options
		inputs   string
		warnings int
	}{
		{"testdata/models/relu.onnx", Options{}, "[0 1 2 3 4 5]", 1},
		{"testdata/models/relu.pt", Options{Activation: "relu"}, "[0 1 2 3 4 5]", 1},
		{"testdata/models/relu.pt", Options{Activation: "relu", Outputs: m.Actions}, "[0 1 2 3 4 5]", 1},
		{"testdata/models/relu.safetensors", Options{Activation: "relu", Inputs: strings.Split("zyxwvu", ""), Outputs: m.Actions}, "[5 4 3 2 1 0]", 0},
		{iface, Options{}, "[5 4 3 2 1 0]", 0},
	} {
		p, err := LoadWith(m, c.file, c.options)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if fmt.Sprint(p.Inputs()) != c.inputs || len(p.Warnings) != c.warnings || fmt.Sprint(p.Sizes()) != "[6 16 16 4]" {
			t.Errorf("%s: inputs %v, sizes %v, warnings %v", c.file, p.Inputs(), p.Sizes(), p.Warnings)
		}
		out := make([]float64, 4)
		if err := p.Clone().Evaluate(e.Inputs[7], out); err != nil || math.Abs(out[0]-e.Outputs[7][0]) > 1e-5 {
			t.Errorf("%s: outputs %v, error %v, want %v", c.file, out, err, e.Outputs[7])
		}
	}
	_, err = LoadWith(m, "testdata/models/relu.onnx", Options{Limits: jani.Limits{MaxBytes: 2000}})
	expect(t, err, jani.BadInput, "testdata/models/relu.onnx: ", "more than the limit of 2000")
	_, err = LoadWith(m, "testdata/models/relu.pt", Options{})
	expect(t, err, jani.BadInput, "testdata/models/relu.pt: ", "give --activation relu, tanh or sigmoid")
	_, err = LoadWith(m, "testdata/models/relu.onnx", Options{Activation: "relu"})
	expect(t, err, jani.BadInput, "testdata/models/relu.onnx: ", "an activation or layers can only be given for a torch or safetensors file")
	_, err = LoadWith(m, "testdata/models/tanh.onnx", Options{})
	expect(t, err, jani.BadInput, "", "the network has 5 inputs and 3 outputs")
}

// A file that says it is larger than it is, or whose parts stand for many times their length,
// takes no memory for that.
func TestReadersMemory(t *testing.T) {
	for name, read := range map[string]func() error{
		"safetensors": func() error {
			_, err := ReadSafetensors("s", tensors("{"+entry("a.weight", "[4000,4000]", 0, 2)+"}", 1, 2), Weights{})
			return err
		},
		"torch": func() error {
			_, err := ReadTorch("t", archive(t, 0, pickleStart+"}"+text("a.weight")+pickled("FloatStorage", 0, 255, 255, 0, 0)+"s.", "net/data/0", "1234"), Weights{})
			return err
		},
		"onnx": func() error {
			_, err := ReadONNX("o", message(modelOpset, message(opsetVersion, 13), modelGraph,
				message(graphInitializer, message(tensorName, "w", tensorType, 1, tensorDims, 1<<40, tensorDims, 1<<40))))
			return err
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := read(); err == nil {
			t.Errorf("%s: no error", name)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
			t.Errorf("%s: %d bytes are allocated", name, used)
		}
	}
}

func BenchmarkFunctions(b *testing.B) {
	for _, c := range []struct {
		file, expected string
		weights        Weights
	}{
		{"relu.onnx", "relu", Weights{}}, {"relu.pt", "relu", Weights{Activation: "tanh"}}, {"hand.onnx", "hand", Weights{}},
		{"forest.json", "forest", Weights{}}, {"boosted_classes.json", "boosted_classes", Weights{}},
	} {
		b.Run(c.file, func(b *testing.B) {
			f, e := readModel(b, c.file, c.weights), readExpected(b, c.expected)
			out := make([]float64, f.Outputs())
			for i := 0; b.Loop(); i++ {
				if err := f.Evaluate(e.Inputs[i%len(e.Inputs)], out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
