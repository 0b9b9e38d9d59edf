package nnpolicy

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fuzzsafe/jani"
)

// tensors makes a safetensors file of the given header, behind which stand numbers.
func tensors(header string, numbers ...float32) []byte {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	file = append(file, header...)
	for _, x := range numbers {
		file = binary.LittleEndian.AppendUint32(file, math.Float32bits(x))
	}
	return file
}

func entry(name string, dims string, first, end int) string {
	return fmt.Sprintf(`%q:{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, name, dims, 4*first, 4*end)
}

// Layers with numbers in their names go in the order of the numbers, 10 behind 9.
func TestSafetensors(t *testing.T) {
	header := "{" + strings.Join([]string{`"__metadata__":{"format":"pt"}`, entry("l10.weight", "[1,2]", 0, 2), entry("l9.bias", "[2]", 2, 4),
		entry("l9.weight", "[2,1]", 4, 6)}, ",") + "}"
	file := tensors(header, 1, 10, 0.5, -1, 2, -4)
	for activation, want := range map[string]float64{
		"relu": 6.5 + 0, "tanh": math.Tanh(6.5) + 10*math.Tanh(-13), "sigmoid": 1/(1+math.Exp(-6.5)) + 10/(1+math.Exp(13)),
	} {
		f, err := ReadSafetensors("s", file, Weights{Activation: activation})
		if err != nil {
			t.Fatal(err)
		}
		out := make([]float64, 1)
		if err := f.Evaluate([]float64{3}, out); err != nil || math.Abs(out[0]-want) > 1e-12 {
			t.Errorf("%s: output %v, want %v, error %v", activation, out, want, err)
		}
	}
	// One layer needs no activation, and layers that are not listed are left aside.
	f, err := ReadSafetensors("s", file, Weights{Layers: []string{"l10"}})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, 1)
	if err := f.Evaluate([]float64{3, 1}, out); err != nil || out[0] != 13 {
		t.Errorf("output %v, error %v", out, err)
	}
}

func TestReadSafetensorsErrors(t *testing.T) {
	two := entry("a1.weight", "[2,1]", 0, 2) + "," + entry("a2.weight", "[1,2]", 0, 2)
	for _, c := range []struct {
		header  string
		weights Weights
		kind    jani.ErrorKind
		want    string
	}{
		{two, Weights{}, jani.BadInput, "give --activation relu, tanh or sigmoid, or \"activation\" in the interface"},
		{two, Weights{Activation: "elu"}, jani.BadInput, `the activation "elu" is none of`},
		{two, Weights{Activation: "relu", Layers: []string{"a2", "a1"}}, jani.BadInput, ""},
		{two, Weights{Activation: "relu", Layers: []string{"a3"}}, jani.BadInput, `it has no tensor "a3.weight"`},
		{two, Weights{Activation: "relu", Layers: []string{"a1", "a1"}}, jani.BadInput, `layer "a1" has 1 inputs, but "a1" before it has 2 outputs`},
		{entry("a.weight", "[2,1]", 0, 2) + "," + entry("b.weight", "[1,2]", 0, 2), Weights{Activation: "relu"}, jani.BadInput,
			`the names "a.weight" and "b.weight" differ in more than numbers`},
		{entry("a99999999999999999999.weight", "[2,1]", 0, 2), Weights{}, jani.BadInput, "is too large"},
		{entry("a.scale", "[2]", 0, 2), Weights{}, jani.BadInput, `the tensor "a.scale" is neither`},
		{entry("a.bias", "[2]", 0, 2), Weights{}, jani.BadInput, `the tensor "a.bias" is neither`},
		{entry("a.weight", "[2]", 0, 2), Weights{}, jani.BadInput, "has the shape [2] instead of"},
		{entry("a.weight", "[0,2]", 0, 0), Weights{}, jani.BadInput, "has the shape [0 2] instead of"},
		{entry("a.weight", "[1,2]", 0, 2) + "," + entry("a.bias", "[2]", 0, 2), Weights{}, jani.BadInput, `"a.bias" has the shape [2] instead of [1]`},
		{entry("a.weight", "[1,1]", 0, 2), Weights{}, jani.BadInput, "its shape [1 1] does not fit its 8 bytes"},
		{entry("a.weight", "[1,3]", 0, 3), Weights{}, jani.BadInput, `the offsets of "a.weight" are not usable: there are 8 bytes`},
		{entry("a.weight", "[100000,100000]", 0, 2), Weights{}, jani.BadInput, "more weights than the limit"},
		{`"a.weight":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]}`, Weights{}, jani.Unsupported, `tensor "a.weight": the type F16`},
		{`"a.weight":{"dtype":"F32","shape":[1,1],"data_offsets":[0,3]}`, Weights{}, jani.BadInput, "its 3 bytes are no whole"},
		{`"a.weight":{"dtype":"F32","shape":[1,1]}`, Weights{}, jani.BadInput, `a tensor has no "data_offsets"`},
		{`"a.weight":7`, Weights{}, jani.BadInput, "a tensor must be an object"},
		{`"a.weight":{},`, Weights{}, jani.BadInput, ""},
		{``, Weights{}, jani.BadInput, "it has no layer"},
	} {
		if c.want == "" && c.weights.Layers != nil {
			// The two layers fit in the other order as well.
			if _, err := ReadSafetensors("s", tensors("{"+c.header+"}", 1, 2), c.weights); err != nil {
				t.Errorf("%s: %v", c.header, err)
			}
			continue
		}
		_, err := ReadSafetensors("s", tensors("{"+c.header+"}", 1, 2), c.weights)
		expect(t, err, c.kind, "s:", c.want)
	}
	nan := float32(math.NaN())
	_, err := ReadSafetensors("s", tensors("{"+entry("a.weight", "[1,2]", 0, 2)+"}", 1, nan), Weights{})
	expect(t, err, jani.BadInput, "s: ", "not finite")
	for _, text := range []string{"", "1234567", "\xff\xff\xff\xff\xff\xff\xff\xff{}", "\x03\x00\x00\x00\x00\x00\x00\x00{}"} {
		_, err := ReadSafetensors("s", []byte(text), Weights{})
		expect(t, err, jani.BadInput, "s: ", "its header is longer than the file")
	}
}

// archive makes a torch file of a pickle and further parts.
func archive(t testing.TB, method uint16, pickle string, parts ...string) []byte {
	t.Helper()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for i, part := range append([]string{"net/data.pkl", pickle}, parts...) {
		if i%2 == 1 {
			continue
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: part, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(append([]string{"net/data.pkl", pickle}, parts...)[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// Parts of pickles: a tensor of a storage of four numbers, with the given offset, shape and
// strides of two extents, and text.
func pickled(class string, offset, rows, columns, down, right byte) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n" + class +
		"\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ" + string([]byte{'K', offset, 'K', rows, 'K', columns, 0x86, 'K', down, 'K', right, 0x86}) +
		"\x89ccollections\nOrderedDict\n)RtR"
}

func text(s string) string { return "X" + string([]byte{byte(len(s)), 0, 0, 0}) + s }

const pickleStart, emptyDict = "\x80\x02", "ccollections\nOrderedDict\n)R"

func TestTorch(t *testing.T) {
	numbers := "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40" // 1, 2, 3, 4
	for _, c := range []struct{ tensor, want string }{
		{pickled("FloatStorage", 0, 2, 2, 2, 1), "[21 43]"},
		{pickled("FloatStorage", 0, 2, 2, 1, 2), "[31 42]"}, // transposed
		{pickled("FloatStorage", 1, 1, 2, 2, 1), "[32]"},
		{pickled("FloatStorage", 0, 2, 2, 0, 1), "[21 21]"}, // one row twice
		{"ctorch._utils\n_rebuild_parameter\n" + pickled("FloatStorage", 0, 2, 2, 2, 1) + "\x88" + emptyDict + "\x87R", "[21 43]"},
	} {
		for _, pickle := range []string{
			pickleStart + emptyDict + "(" + text("0.weight") + c.tensor + "u.",
			pickleStart + "}" + text("0.weight") + c.tensor + "s.",
			"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x080.weight\x94" + c.tensor + "u}" + text("_metadata") + emptyDict + "sb.",
		} {
			f, err := ReadTorch("t", archive(t, zip.Store, pickle, "net/data/0", numbers, "net/byteorder", "little"), Weights{})
			if err != nil {
				t.Errorf("%q: %v", pickle, err)
				continue
			}
			out := make([]float64, f.Outputs())
			if err := f.Evaluate([]float64{1, 10}, out); err != nil || fmt.Sprint(out) != c.want {
				t.Errorf("%q: outputs %v, want %s, error %v", pickle, out, c.want, err)
			}
		}
	}
}

func TestReadTorchErrors(t *testing.T) {
	dict := func(value string) string { return pickleStart + "}" + text("0.weight") + value + "s." }
	good := dict(pickled("FloatStorage", 0, 2, 2, 2, 1))
	store := []string{"net/data/0", "0123456789abcdef"}
	for _, c := range []struct {
		file []byte
		kind jani.ErrorKind
		want string
	}{
		{[]byte("hello"), jani.BadInput, "this is no torch file"},
		{[]byte("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."), jani.Unsupported, "the format before version 1.6"},
		{archive(t, zip.Deflate, good, store...), jani.Unsupported, `the compressed part "net/data.pkl"`},
		{archive(t, zip.Store, good), jani.BadInput, `the archive has no part "net/data/0"`},
		{archive(t, zip.Store, good, "net/data/0", "0123456789abcde"), jani.BadInput, "its 15 bytes are no whole number of elements"},
		{archive(t, zip.Store, good, "net/byteorder", "big"), jani.Unsupported, `the byte order "big"`},
		{bytes.ReplaceAll(archive(t, zip.Store, good, store...), []byte("data.pkl"), []byte("data.pkx")), jani.BadInput, "has no data.pkl"},
		{bytes.ReplaceAll(archive(t, zip.Store, good, store...), []byte("89abc"), []byte("89abd")), jani.BadInput, "checksum"},
		{archive(t, zip.Store, dict(pickled("HalfStorage", 0, 2, 2, 2, 1)), store...), jani.Unsupported, `tensor "0.weight": the type torch.HalfStorage`},
		{archive(t, zip.Store, dict(pickled("FloatStorage", 1, 2, 2, 2, 1)), store...), jani.BadInput, "offset 1 does not fit into a storage of 4 numbers"},
		{archive(t, zip.Store, dict(pickled("FloatStorage", 0, 2, 2, 2, 2)), store...), jani.BadInput, "does not fit into a storage"},
		{archive(t, zip.Store, dict(pickled("FloatStorage", 0, 2, 200, 0, 0)), store...), jani.BadInput, "not usable"},
		{archive(t, zip.Store, dict("K\x01")), jani.BadInput, `"0.weight" is not a tensor, so that this is not a state dictionary (it has the keys ["0.weight"])`},
		{archive(t, zip.Store, pickleStart+"]K\x01a."), jani.BadInput, "does not hold a state dictionary"},
		{archive(t, zip.Store, pickleStart+"cos\nsystem\n"+text("true")+"\x85R."), jani.Unsupported,
			`data.pkl: byte 2: the class or function "os.system" in a file that holds more than tensors`},
		{archive(t, zip.Store, pickleStart+text("os")+text("system")+"\x93."), jani.Unsupported, `"os.system"`},
		{archive(t, zip.Store, pickleStart+"cnet\nNet\n)\x81."), jani.Unsupported, `"net.Net"`},
		{archive(t, zip.Store, pickleStart+"}K\x01K\x02s."), jani.Unsupported, "keys are not strings"},
		{archive(t, zip.Store, pickleStart+"]}b."), jani.Unsupported, "setting attributes"},
		{archive(t, zip.Store, pickleStart+"I1\n."), jani.Unsupported, "the operation 'I' of pickles"},
		{archive(t, zip.Store, "\x80\x09."), jani.Unsupported, "version 9 of pickles"},
		{archive(t, zip.Store, ""), jani.BadInput, "data.pkl: the pickle is damaged"},
		{archive(t, zip.Store, "."), jani.BadInput, "the pickle is damaged"},
		{archive(t, zip.Store, "(."), jani.BadInput, "the pickle is damaged"},
		{archive(t, zip.Store, "}}."), jani.BadInput, "the pickle is damaged"},
		{archive(t, zip.Store, "X\xff\xff\xff\xffab"), jani.BadInput, "the pickle is damaged"},
		{archive(t, zip.Store, "h\x01."), jani.BadInput, "the pickle is damaged"},
		{archive(t, zip.Store, "ctorch"), jani.BadInput, "the pickle is damaged"},
		{archive(t, zip.Store, "NR"), jani.BadInput, "the pickle is damaged"},
		{archive(t, zip.Store, "ctorch\nFloatStorage\n)R"), jani.BadInput, "the pickle is damaged"},
	} {
		_, err := ReadTorch("t", c.file, Weights{})
		expect(t, err, c.kind, "t: ", c.want)
	}
}

func FuzzReadSafetensors(f *testing.F) {
	file, err := os.ReadFile(filepath.Join("testdata/models", "relu.safetensors"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add(tensors("{"+entry("a.weight", "[1,2]", 0, 2)+"}", 1, 2))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, activation := range []string{"relu", "tanh"} {
			g, err := ReadSafetensors("f", file, Weights{Activation: activation})
			evaluateAny(t, g, err)
		}
	})
}

func FuzzReadTorch(f *testing.F) {
	for _, name := range []string{"relu.pt", "named.pth"} {
		file, err := os.ReadFile(filepath.Join("testdata/models", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		g, err := ReadTorch("f", file, Weights{Activation: "sigmoid"})
		evaluateAny(t, g, err)
	})
}

// The pickle alone, so that no checksum is in the way.
func FuzzUnpickle(f *testing.F) {
	f.Add(pickleStart + emptyDict + "(" + text("0.weight") + pickled("FloatStorage", 0, 2, 2, 2, 1) + "u.")
	f.Add("\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01a\x94\x8a\x01\x05G12345678]\x94(NNeaK\x01\x85h\x00q\x07r1234j1234u}b.")
	f.Fuzz(func(t *testing.T, pickle string) {
		numbers := strings.Repeat("\x00\x00\x80\x3f", 64)
		g, err := ReadTorch("f", archive(t, zip.Store, pickle, "net/data/0", numbers), Weights{Activation: "relu"})
		evaluateAny(t, g, err)
	})
}
