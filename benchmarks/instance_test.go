package benchmarks

import (
	"bytes"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fuzzsafe/jani"
	"fuzzsafe/nnpolicy"
)

var update = flag.Bool("update", false, "write the files of the instances anew")

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func family(t testing.TB, name string) Family {
	t.Helper()
	i := slices.IndexFunc(Families(), func(f Family) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("there is no family %q", name)
	}
	return Families()[i]
}

// generated returns the files that an instance should have, but for a policy that is learned.
func generated(t *testing.T, i Instance) map[string][]byte {
	t.Helper()
	f := family(t, i.Family)
	model, property, err := f.Generate(i.Params)
	must(t, err)
	if i.Training != nil {
		return map[string][]byte{ModelFile: model, PropertyFile: property}
	}
	policy, network, err := f.Policy(i.Params)
	must(t, err)
	return map[string][]byte{ModelFile: model, PropertyFile: property, PolicyFile: policy, NetworkFile: network}
}

func TestInstanceFiles(t *testing.T) {
	for _, i := range List() {
		for name, want := range generated(t, i) {
			if *update {
				file := filepath.Join("instances", i.Name, name)
				must(t, os.MkdirAll(filepath.Dir(file), 0o755))
				must(t, os.WriteFile(file, want, 0o644))
				continue
			}
			got, err := fs.ReadFile(i.FS(), name)
			if err != nil {
				t.Error(err)
			} else if !bytes.Equal(got, want) {
				t.Errorf("%s/%s is not what the generator writes: run go generate", i.Name, name)
			}
		}
	}
}

// There is nothing in the folder of instances that List does not know.
func TestInstanceFolder(t *testing.T) {
	var want, got []string
	for _, i := range List() {
		for _, name := range []string{ModelFile, PolicyFile, NetworkFile, PropertyFile} {
			want = append(want, "instances/"+i.Name+"/"+name)
		}
	}
	err := fs.WalkDir(files, "instances", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, path)
		}
		return err
	})
	must(t, err)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("files are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOpen(t *testing.T) {
	for _, want := range List() {
		got, err := Open(want.Name)
		if err != nil || got.Name != want.Name || got.Title == "" || got.Description == "" {
			t.Errorf("Open(%q) = %+v, %v", want.Name, got, err)
		}
	}
	for name, want := range map[string]string{
		"one-way-line-nodnet":         `unknown benchmark instance "one-way-line-nodnet" (did you mean "one-way-line-nondet"?)`,
		"zzz":                         `unknown benchmark instance "zzz" (there are one-way-line-det, one-way-line-nondet, `,
		"laddr":                       `unknown benchmark instance "laddr" (did you mean "ladder"?)`,
		"laddr:k=3":                   `unknown benchmark family "laddr" (did you mean "ladder"?)`,
		"zzz:k=3":                     `unknown benchmark family "zzz" (there are one-way-line, two-way-line, beluga, blocksworld, n-puzzle, racetrack, `,
		"one-way-line-det:packages=3": `unknown benchmark family "one-way-line-det" (did you mean "one-way-line"?)`,
		"cycle:perod=3":               `family cycle: unknown parameter "perod" (did you mean "period"?)`,
		"ladder:k=1":                  `family ladder: k is "1", it must be a number from 2 to 100000000`,
		"ladder:k=":                   `family ladder: k is "", it must be a number from 2 to 100000000`,
		"ladder:k":                    `family ladder: "k" is not of the form PARAMETER=VALUE`,
		"ladder:":                     `family ladder: "" is not of the form PARAMETER=VALUE`,
		"cycle:n=5,":                  `family cycle: "" is not of the form PARAMETER=VALUE`,
		"cycle:n=5,n=6":               `family cycle: n is given twice`,
	} {
		if _, err := Open(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Open(%q) fails with %v, want %s", name, err, want)
		}
	}
}

// What is opened by parameters is what the family generates for them.
func TestOpenFamily(t *testing.T) {
	for _, c := range []struct {
		name string
		want Instance
	}{
		{"one-way-line", Instance{Family: "one-way-line"}},
		{"cycle:n=50", Instance{Family: "cycle", Params: Params{"n": "50"}}},
		{"two-way-line:variant=park,locations=5", Instance{Family: "two-way-line", Params: Params{"variant": "park", "locations": "5"}}},
	} {
		i, err := Open(c.name)
		must(t, err)
		f := family(t, c.want.Family)
		if i.Name != c.name || i.Family != f.Name || i.Title != f.Title || i.Description != f.Doc ||
			!maps.Equal(i.Params, c.want.Params) || !i.HasPolicy() {
			t.Errorf("Open(%q) = %+v", c.name, i)
		}
		for file, want := range generated(t, c.want) {
			if got, err := fs.ReadFile(i.FS(), file); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s/%s is not what the family generates (%v)", c.name, file, err)
			}
		}
	}
	i, err := Open("two-way-line:depot=3")
	must(t, err)
	if i.HasPolicy() {
		t.Errorf("%s has a policy", i.Name)
	}
	if _, err := fs.ReadFile(i.FS(), ModelFile); err != nil {
		t.Error(err)
	}
}

// task compiles a model and its only property; there must be no warnings.
func task(t testing.TB, model, property []byte) *jani.Task {
	t.Helper()
	doc, err := jani.Parse(jani.NewSource(ModelFile, model), jani.Limits{})
	must(t, err)
	m, err := jani.Compile(doc, nil)
	must(t, err)
	props, err := jani.ParseProperties(jani.NewSource(PropertyFile, property), jani.Limits{})
	must(t, err)
	if len(props) != 1 {
		t.Fatalf("%d properties, want 1", len(props))
	}
	plan, warnings, err := props[0].Planning(nil, jani.Limits{})
	must(t, err)
	task, err := m.Task(props[0].Name, plan)
	must(t, err)
	for _, w := range slices.Concat(doc.Warnings, m.Warnings, warnings) {
		t.Errorf("warning: %v", w)
	}
	return task
}

func TestInstancesBind(t *testing.T) {
	for _, i := range List() {
		t.Run(i.Name, func(t *testing.T) {
			read := func(name string) []byte {
				text, err := fs.ReadFile(i.FS(), name)
				must(t, err)
				return text
			}
			task := task(t, read(ModelFile), read(PropertyFile))
			p, err := nnpolicy.LoadFS(task.Model, i.FS(), PolicyFile)
			must(t, err)
			if got, want := len(p.Outputs()), len(task.Model.Actions); got != want {
				t.Errorf("the policy has %d outputs for %d actions", got, want)
			}
			for _, w := range p.Warnings {
				t.Errorf("warning: %v", w)
			}
		})
	}
}
