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

// suite is a file that “fuzzsafe compare” reads, as far as it is used here.
type suite struct {
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
	var s suite
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
	for _, f := range Families() {
		if sizes[f.Name] < 2 {
			t.Errorf("%d instances of family %s", sizes[f.Name], f.Name)
		}
	}
}
