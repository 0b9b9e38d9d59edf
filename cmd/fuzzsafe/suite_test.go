package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fuzzsafe/jani"
)

func TestReadSuite(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"p.json", "odd:name.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	src := jani.NewSource(filepath.Join(dir, "suite.json"), []byte(`{"comment": ["any", "value"], "instances": [
	  {"model": "a/m.jani"},
	  {"model": "bench:one-way-line-det", "draw": 30},
	  {"name": "all", "comment": 1, "model": "/m.jani", "property": "p.json:safe", "policy": "x.nnet", "const": {"N": "3", "M": 4, "on": true, "p": "0.5"},
	   "unsafe": "x > 3, really", "goal": "@g.json", "start": "@/g.json", "choice": "edge", "unfiltered": true, "states": "s.json",
	   "draw": 1, "first": 2, "max_states": 5000000000},
	  {"name": "named", "model": "m.jani", "property": "p:safe"},
	  {"name": "file", "model": "m.jani", "property": "p.json"},
	  {"name": "colon", "model": "m.jani", "property": "odd:name.json"},
	  {"name": "colons", "model": "m.jani", "property": "odd:name.json:safe"}
	], "schema": "fuzzsafe.suite/1"}`))
	list, err := readSuite(src, jani.Limits{})
	if err != nil || !isSuite(src) {
		t.Fatalf("%v, a suite: %t", err, isSuite(src))
	}
	want := []string{
		`a/m false DIR/a/m.jani []`,
		`one-way-line-det true bench:one-way-line-det [--draw=30]`,
		`all true /m.jani [--property=DIR/p.json:safe --policy=DIR/x.nnet --unsafe=x > 3, really --goal=@DIR/g.json --start=@/g.json ` +
			`--choice=edge --const=N=3 --const=M=4 --const=on=true --const=p=0.5 --unfiltered --states=DIR/s.json --draw=1 --first=2 --max-states=5000000000]`,
		`named false DIR/m.jani [--property=p:safe]`,
		`file false DIR/m.jani [--property=DIR/p.json]`,
		`colon false DIR/m.jani [--property=DIR/odd:name.json]`,
		`colons false DIR/m.jani [--property=DIR/odd:name.json:safe]`,
	}
	if len(list) != len(want) {
		t.Fatalf("%d instances, want %d", len(list), len(want))
	}
	for k, i := range list {
		if got := strings.ReplaceAll(fmt.Sprintf("%s %t %s %v", i.Name, i.hasPolicy(), i.Model, i.args()), dir, "DIR"); got != want[k] {
			t.Errorf("%s\nwant %s", got, want[k])
		}
	}
}

// Every defect of a suite is an error with its place.
func TestReadSuiteErrors(t *testing.T) {
	const schema = `{"schema": "fuzzsafe.suite/1", "instances": `
	for _, c := range []struct{ text, want string }{
		{`{"instances": [{"model": "m"}]`, `s.json:1:31: the text ends inside an unfinished value: '}' or ',' is missing; the file may be truncated`},
		{`[]`, `s.json:1:1: the suite must be an object`},
		{`{"instances": [{"model": "m"}]}`, `s.json:1:1: the suite has no "schema"; it is "fuzzsafe.suite/1"`},
		{`{"schema": "fuzzsafe.suite/2"}`, `s.json:1:12: the schema must be "fuzzsafe.suite/1", not "fuzzsafe.suite/2" [at schema]`},
		{`{"schema": "fuzzsafe.suite/1"}`, `s.json:1:1: there are no instances in the suite`},
		{schema + `[]}`, `s.json:1:1: there are no instances in the suite`},
		{schema + `{}}`, `s.json:1:45: instances must be an array [at instances]`},
		{schema + `[1]}`, `s.json:1:46: an instance must be an object [at instances[0]]`},
		{schema + `[{}]}`, `s.json:1:46: an instance has no "model" [at instances[0]]`},
		{schema + "[{\"model\": \"m\"},\n {\"model\": \"m.jani\"}]}", `s.json:2:2: two instances are called "m" ("name" tells them apart) [at instances[1]]`},
		{schema + `[], "limit": 1}`, `s.json:1:49: the suite has no key "limit" (there are schema, instances, comment) [at limit]`},
		{schema + `[{"model": "m", "polcy": "p"}]}`, `s.json:1:61: an instance has no key "polcy" (did you mean "policy"?) [at instances[0].polcy]`},
		{schema + `[{"model": 1}]}`, `s.json:1:56: model must be a string that is not empty [at instances[0].model]`},
		{schema + `[{"model": "m", "unsafe": ""}]}`, `s.json:1:71: unsafe must be a string that is not empty [at instances[0].unsafe]`},
		{schema + `[{"model": "m", "draw": 0}]}`, `s.json:1:69: draw must be a whole number from 1 to 2147483647 [at instances[0].draw]`},
		{schema + `[{"model": "m", "draw": 1.5}]}`, `s.json:1:69: draw must be a whole number from 1 to 2147483647 [at instances[0].draw]`},
		{schema + `[{"model": "m", "max_states": "1"}]}`,
			`s.json:1:75: max_states must be a whole number from 1 to 9223372036854775807 [at instances[0].max_states]`},
		{schema + `[{"model": "m", "choice": "egde"}]}`, `s.json:1:71: `},
		{schema + `[{"model": "m", "unfiltered": 1}]}`, `s.json:1:75: unfiltered must be true or false [at instances[0].unfiltered]`},
		{schema + `[{"model": "m", "const": {"N": []}}]}`, `s.json:1:76: the value of N must be a string, a number, true or false [at instances[0].const.N]`},
		{schema + `[{"model": "m", "const": {"N": "x +"}}]}`, `s.json:1:76: const: `},
		{schema + `[{"model": "m", "const": {"N": 1, "N": 2}}]}`, `s.json:1:79: duplicate key "N" in one object`},
	} {
		list, err := readSuite(jani.NewSource("s.json", []byte(c.text)), jani.Limits{})
		var place *jani.Error
		if list != nil || !errors.As(err, &place) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nwant %s", c.text, err, c.want)
		}
	}
	for text, want := range map[string]bool{`{"jani-version": 1}`: false, `{"schema": "fuzzsafe.check/1"}`: true,
		`{"instances": []}`: true, `{`: false, ``: false} {
		if got := isSuite(jani.NewSource("x", []byte(text))); got != want {
			t.Errorf("%s is a suite: %t", text, got)
		}
	}
}
