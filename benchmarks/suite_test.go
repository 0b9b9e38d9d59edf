package benchmarks

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"fuzzsafe/algorithms"
)

// suiteFile is a file that “fuzzsafe compare” reads, as far as it is used here.
type suiteFile struct {
	Schema    string          `json:"schema"`
	Comment   string          `json:"comment"`
	Instances []suiteInstance `json:"instances"`
}

type suiteInstance struct {
	Name  string `json:"name"`
	Model string `json:"model"`
	Draw  int    `json:"draw"`
}

// The instances of the suite can be generated, in no time, and compiled; they have policies.
// All families are among them, in several sizes.
func TestSuite(t *testing.T) {
	text, err := os.ReadFile("suite.json")
	must(t, err)
	var s suiteFile
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	must(t, d.Decode(&s))
	if s.Schema != "fuzzsafe.suite/1" || len(s.Instances) < 40 {
		t.Errorf("schema is %q, there are %d instances", s.Schema, len(s.Instances))
	}
	names, sizes := make(map[string]bool), make(map[string]int)
	for _, want := range s.Instances {
		name, ok := strings.CutPrefix(want.Model, "bench:")
		if !ok || names[want.Name] || want.Name == "" || want.Draw < 1 {
			t.Errorf("instance %+v", want)
		}
		names[want.Name] = true
		start := time.Now()
		i, err := Open(name)
		must(t, err)
		if took := time.Since(start); took > time.Second {
			t.Errorf("%s: generated in %v", want.Name, took)
		}
		sizes[i.Family]++
		named, err := Open(want.Name)
		must(t, err)
		if named.Name != i.Name {
			t.Errorf("%s is %s, want %s", want.Name, named.Name, i.Name)
		}
		bytes := 0
		for _, file := range []string{ModelFile, PropertyFile, NetworkFile} {
			text, err := fs.ReadFile(i.FS(), file)
			must(t, err)
			bytes += len(text)
		}
		if bytes > 4<<20 {
			t.Errorf("%s: %d bytes", want.Name, bytes)
		}
		task, _ := opened(t, name)
		all, err := algorithms.NewStarts(task.Model, task.Start, algorithms.StartsOptions{})
		must(t, err)
		_, err = all.Draw(rand.New(rand.NewPCG(1, 0)))
		must(t, err)
	}
	for k, n := range Suite() {
		if want := s.Instances[k]; n.Name != want.Name || "bench:"+n.Model != want.Model {
			t.Errorf("instance %d is %v, want %v", k, n, want)
		}
	}
	if len(Suite()) != len(s.Instances) {
		t.Errorf("%d instances", len(Suite()))
	}
	for _, f := range Families() {
		if sizes[f.Name] < 2 {
			t.Errorf("%d instances of family %s", sizes[f.Name], f.Name)
		}
	}
}
