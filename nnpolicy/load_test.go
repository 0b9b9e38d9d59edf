package nnpolicy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"fuzzsafe/jani"
)

// folder holds policies for depot: pair is a network with its interface, alone has
// none, other is used by the interface linked.
func folder(t *testing.T) fstest.MapFS {
	t.Helper()
	network := func(sizes ...int) *fstest.MapFile {
		var text strings.Builder
		if err := anyNetwork(t, sizes...).WriteNNet(&text); err != nil {
			t.Fatal(err)
		}
		return &fstest.MapFile{Data: []byte(text.String())}
	}
	iface := func(file string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"file":"` + file + `","input":[{"name":"x"}],"output":["go","stop","load"]}`)}
	}
	return fstest.MapFS{
		"p/pair.jani2nnet":     iface("pair.nnet"),
		"p/pair.nnet":          network(1, 3),
		"p/alone.nnet":         network(7, 2, 3),
		"p/small.nnet":         network(6, 3),
		"p/linked.jani2nnet":   iface("../q/other.nnet"),
		"p/linked.nnet":        network(1, 2, 3),
		"q/other.nnet":         network(1, 4, 3),
		"p/dangling.jani2nnet": iface("gone.nnet"),
		"p/keras.jani2nnet":    iface("net.h5"),
		"p/broken.jani2nnet":   {Data: []byte("{")},
		"p/broken.nnet":        {Data: []byte("1,1\n")},
		"p/toonnet.jani2nnet":  iface("broken.nnet"),
	}
}

func TestLoad(t *testing.T) {
	files := folder(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, iface, network, inputs, outputs, sizes string
		warnings                                     []string
	}{
		{"p/pair.jani2nnet", "p/pair.jani2nnet", "p/pair.nnet", "[0]", "[0 1 2]", "[1 3]", nil},
		{"p/pair.nnet", "p/pair.jani2nnet", "p/pair.nnet", "[0]", "[0 1 2]", "[1 3]", nil},
		{"p/linked.jani2nnet", "p/linked.jani2nnet", "q/other.nnet", "[0]", "[0 1 2]", "[1 4 3]", nil},
		{"p/linked.nnet", "p/linked.jani2nnet", "p/linked.nnet", "[0]", "[0 1 2]", "[1 2 3]", []string{
			`p/linked.jani2nnet:1:9: the interface is for network "../q/other.nnet"; it is used with `}},
		{"p/alone.nnet", "", "p/alone.nnet", "[0 1 2 3 5 7 8]", "[0 1 2]", "[7 2 3]", []string{
			"alone.jani2nnet\": the inputs are taken to be the 7 variables of the model, and the outputs are taken to be the 3 action labels of the model"}},
	} {
		for _, from := range []string{"", dir} {
			var p *Policy
			var err error
			if from == "" {
				p, err = LoadFS(depot(), files, c.file)
			} else {
				p, err = Load(depot(), filepath.Join(dir, c.file))
			}
			if err != nil {
				t.Errorf("%s: %v", c.file, err)
				continue
			}
			name := func(file string) string {
				return strings.TrimPrefix(file, filepath.ToSlash(dir)+"/")
			}
			if name(p.InterfaceFile) != c.iface || name(p.NetworkFile) != c.network || !p.Filter {
				t.Errorf("%s: interface %q, network %q, filter %v", c.file, p.InterfaceFile, p.NetworkFile, p.Filter)
			}
			if got := fmt.Sprint(p.Inputs(), p.Outputs(), p.Sizes()); got != c.inputs+" "+c.outputs+" "+c.sizes {
				t.Errorf("%s: inputs, outputs and sizes are %s", c.file, got)
			}
			if len(p.Warnings) != len(c.warnings) {
				t.Errorf("%s: warnings %v", c.file, p.Warnings)
				continue
			}
			for k, w := range p.Warnings {
				if !strings.Contains(w.String(), c.warnings[k]) {
					t.Errorf("%s: warning %q, want one with %q", c.file, w, c.warnings[k])
				}
			}
		}
	}
}

func TestLoadErrors(t *testing.T) {
	files := folder(t)
	for _, c := range []struct {
		file, place string
		kind        jani.ErrorKind
		want        string
	}{
		{"p/small.nnet", "the network has 6 inputs", jani.BadInput,
			"but the model, which stands in for an interface file, has 7 inputs and 3 outputs"},
		{"p/dangling.jani2nnet", "p/dangling.jani2nnet:1:9: ", jani.BadInput, "p/gone.nnet"},
		{"p/keras.jani2nnet", "p/keras.jani2nnet:1:9: ", jani.Unsupported, `like "net.h5" is not supported`},
		{"p/broken.jani2nnet", "p/broken.jani2nnet:1:2: ", jani.BadInput, "the text ends where a key is expected"},
		{"p/broken.nnet", "p/broken.jani2nnet:1:2: ", jani.BadInput, "the text ends where a key is expected"},
		{"p/toonnet.jani2nnet", "p/broken.nnet:1:4: ", jani.BadInput, "2 numbers instead of 4"},
		{"p/net.h5", "a policy in a file", jani.Unsupported, `"net.h5" is not supported (these are read: .jani2nnet (interface); .nnet, `},
		{"p/policy", "a policy in a file", jani.Unsupported, `"policy"`},
	} {
		_, err := LoadFS(depot(), files, c.file)
		expect(t, err, c.kind, c.place, c.want)
	}
	for _, file := range []string{"p/none.nnet", "p/none.jani2nnet"} {
		if _, err := LoadFS(depot(), files, file); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error %v, want one that wraps %v", file, err, fs.ErrNotExist)
		}
	}
}
