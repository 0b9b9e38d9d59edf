package benchmarks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestGenerate(t *testing.T) {
	for _, f := range []Family{oneWayLine(), twoWayLine()} {
		for _, variant := range []string{"det", "nondet", "park"} {
			for _, size := range []Params{
				{"locations": "3", "packages": "1", "velocity": "2"},
				{"locations": "8", "packages": "3"},
				{"locations": "15", "packages": "10", "velocity": "5"},
			} {
				t.Run(fmt.Sprint(f.Name, variant, size), func(t *testing.T) {
					size["variant"] = variant
					model, property, err := f.Generate(size)
					must(t, err)
					task := task(t, model, property)
					kind := map[string]string{"det": "lts"}[variant]
					if kind == "" {
						kind = "mdp"
					}
					if string(task.Model.Type) != kind {
						t.Errorf("model type is %s, want %s", task.Model.Type, kind)
					}
					again, _, err := f.Generate(size)
					if err != nil || !bytes.Equal(model, again) {
						t.Errorf("the second model differs from the first (%v)", err)
					}
				})
			}
		}
	}
}

// What a family is given and what it fills in make the same task.
func TestGenerateDefaults(t *testing.T) {
	for _, f := range Families() {
		all := make(Params)
		for _, q := range f.Parameters {
			all[q.Name] = q.Default
		}
		want, _, err := f.Generate(all)
		must(t, err)
		if got, _, err := f.Generate(nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s without parameters is not what the defaults say (%v)", f.Name, err)
		}
	}
}

func TestGenerateErrors(t *testing.T) {
	for _, c := range []struct {
		family string
		params Params
		want   string
	}{
		{"one-way-line", Params{"location": "3"}, `family one-way-line: unknown parameter "location" (did you mean "locations"?)`},
		{"one-way-line", Params{"depot": "3"}, `family one-way-line: unknown parameter "depot" (there are locations, packages, velocity, variant)`},
		{"one-way-line", Params{"variant": "nodet"}, `family one-way-line: unknown variant "nodet" (did you mean "nondet"?)`},
		{"one-way-line", Params{"locations": "2"}, `family one-way-line: locations is "2", it must be a number from 3 to 200`},
		{"one-way-line", Params{"packages": "many"}, `family one-way-line: packages is "many", it must be a number from 1 to 1000`},
		{"two-way-line", Params{"depot": "12"}, `family two-way-line: depot is 12, but the last location is 11`},
		{"beluga", Params{"jigs": "2", "lines": "3"}, `family beluga: there are 3 lines, but only 2 jigs`},
		{"blocksworld", Params{"limit": "5"}, `family blocksworld: limit is 5, but there are only 5 blocks`},
		{"n-puzzle", Params{"rows": "5"}, `family n-puzzle: a board of 5 × 3 has 15 cells, more than 12`},
		{"racetrack", Params{"width": "6"}, `family racetrack: width is 6, but with a length of 12 it must be at most 5`},
		{"cart-pole", Params{"steps": "0"}, `family cart-pole: steps is "0", it must be a number from 1 to 100000`},
		{"corridor", Params{"walls": "60"}, `family corridor: there are 60 walls, but only 59 columns between start and goal`},
		{"corridor", Params{"gap": "5"}, `family corridor: gap is 5, but with gusts of up to 2 rows it must be at least 6`},
		{"corridor", Params{"height": "8"}, `family corridor: height is 8, but with gaps of 6 rows it must be at least 9`},
		{"wide", Params{"calm": "1001"}, `family wide: calm is 1001, but the waterfall is at 1000`},
		{"wide", Params{"actions": "1000"}, `family wide: 1000 actions with 1000 outcomes in calm water and 50 in the current are more than 200000 in all`},
		{"cycle", Params{"period": "1001"}, `family cycle: period is 1001, but there are only 1000 cells`},
	} {
		if _, _, err := family(t, c.family).Generate(c.params); err == nil || err.Error() != c.want {
			t.Errorf("%s %v: error is\n%v, want\n%s", c.family, c.params, err, c.want)
		}
	}
	if _, _, err := family(t, "two-way-line").Policy(Params{"depot": "3"}); err == nil || !strings.Contains(err.Error(), "depot is 3") {
		t.Errorf("a policy for a depot in the middle: error is %v", err)
	}
}

func TestRender(t *testing.T) {
	long := strings.Repeat("x", 160)
	text, err := render(map[string]any{"a": []any{`1," ≤`, 2}, "b": []string{long, "<"}, "c": map[string]any{}})
	must(t, err)
	want := `{
  "a": ["1,\" ≤",2],
  "b": [
    "` + long + `",
    "<"
  ],
  "c": {}
}
`
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if !json.Valid(text) {
		t.Error("not JSON")
	}
}
