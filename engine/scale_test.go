package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// list joins n parts with commas.
func list(n int, part func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString(part(i))
	}
	return b.String()
}

// scaleModel wraps the pieces of a generated model; the actions are a0, a1 and so on.
func scaleModel(actions int, variables, automata, system string) string {
	return `{"jani-version": 1, "name": "scale", "type": "mdp", "actions": [` +
		list(actions, func(i int) string { return fmt.Sprintf(`{"name": "a%d"}`, i) }) +
		`], "variables": [` + variables + `], "automata": [` + automata + `], "system": {` + system + `}}`
}

// counter is an automaton whose edges count its variable up and wrap around.
func counter(i int) string {
	return fmt.Sprintf(`{"name": "c%d", "locations": [{"name": "l"}], "initial-locations": ["l"],
 "variables": [{"name": "n", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 3}, "initial-value": 0}],
 "edges": [{"location": "l", "action": "a0", "destinations": [{"location": "l", "assignments": [
  {"ref": "n", "value": {"op": "%%", "left": {"op": "+", "left": "n", "right": 1}, "right": 4}}]}]},
  {"location": "l", "guard": {"exp": {"op": "<", "left": "n", "right": 3}}, "destinations": [{"location": "l", "assignments": [
  {"ref": "n", "value": {"op": "+", "left": "n", "right": 1}}]}]}]}`, i)
}

// scaleModels are large in one way each.
var scaleModels = []struct {
	name string
	text func() string
}{
	{"50 automata", func() string {
		return scaleModel(1, "", list(50, counter),
			`"elements": [`+list(50, func(i int) string { return fmt.Sprintf(`{"automaton": "c%d"}`, i) })+
				`], "syncs": [{"synchronise": [`+list(50, func(int) string { return `"a0"` })+`], "result": "a0"}]`)
	}},
	{"1,000 variables", func() string {
		return scaleModel(0, list(1000, func(i int) string {
			return fmt.Sprintf(`{"name": "v%d", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 9}, "initial-value": 0}`, i)
		}), `{"name": "p", "locations": [{"name": "l"}], "initial-locations": ["l"], "edges": [`+list(1000, func(i int) string {
			return fmt.Sprintf(`{"location": "l", "guard": {"exp": {"op": "<", "left": "v%d", "right": 9}}, "destinations": [{"location": "l",
 "assignments": [{"ref": "v%d", "value": {"op": "+", "left": "v%d", "right": 1}}, {"ref": "v%d", "value": 0}]}]}`, i, i, i, (i+1)%1000)
		})+`]}`, `"elements": [{"automaton": "p"}]`)
	}},
	{"28,000 edges", func() string {
		return scaleModel(700, `{"name": "x", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 39}, "initial-value": 0},
 {"name": "y", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 699}, "initial-value": 0}`,
			`{"name": "p", "locations": [{"name": "l"}], "initial-locations": ["l"], "edges": [`+list(28000, func(i int) string {
				return fmt.Sprintf(`{"location": "l", "action": "a%d", "guard": {"exp": {"op": "=", "left": "x", "right": %d}}, "destinations": [
 {"location": "l", "probability": {"exp": 0.5}, "assignments": [{"ref": "x", "value": %d}]},
 {"location": "l", "probability": {"exp": 0.5}, "assignments": [{"ref": "y", "value": %d}]}]}`, i%700, i/700, (i+1)%40, i%700)
			})+`]}`, `"elements": [{"automaton": "p"}]`)
	}},
	{"40,000 synchronisation vectors", func() string {
		const side = 200
		chooser := func(name string) string {
			return fmt.Sprintf(`{"name": %q, "locations": [{"name": "l"}], "initial-locations": ["l"],
 "variables": [{"name": "n", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": %d}, "initial-value": 0}],
 "edges": [`, name, side-1) + list(side, func(i int) string {
				return fmt.Sprintf(`{"location": "l", "action": "a%d", "destinations": [{"location": "l", "assignments": [{"ref": "n", "value": %d}]}]}`, i, i)
			}) + `]}`
		}
		return scaleModel(side, "", chooser("p")+","+chooser("q"),
			`"elements": [{"automaton": "p"}, {"automaton": "q"}], "syncs": [`+list(side*side, func(i int) string {
				return fmt.Sprintf(`{"synchronise": ["a%d", "a%d"], "result": "a%d"}`, i/side, i%side, i%side)
			})+`]`)
	}},
}

// Large models must be read and explored without anything that grows faster than they do.
func TestScale(t *testing.T) {
	for _, c := range scaleModels {
		t.Run(c.name, func(t *testing.T) {
			text := c.text()
			start := time.Now()
			doc, err := jani.Parse(jani.NewSource("scale", []byte(text)), jani.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			parsed := time.Since(start)
			m, err := jani.Compile(doc, nil)
			if err != nil {
				t.Fatal(err)
			}
			compiled := time.Since(start)
			r, err := engine.Explore(context.Background(), &jani.Task{Model: m}, every(t, m),
				engine.Options{Choice: engine.ByEdge, Limits: engine.Limits{MaxStates: 5000}}, engine.ExploreOptions{})
			var limit *engine.LimitError
			if err != nil && !errors.As(err, &limit) {
				t.Fatal(err)
			}
			all := time.Since(start)
			t.Logf("%.1f MB, %d vectors: parsed in %v, compiled in %v, %d states and %d choices in %v", float64(len(text))/1e6, len(m.Vectors),
				parsed.Round(time.Millisecond), (compiled - parsed).Round(time.Millisecond), r.States, r.Choices, (all - compiled).Round(time.Millisecond))
			if r.States < 1000 {
				t.Errorf("%d states", r.States)
			}
			if all > 30*time.Second {
				t.Errorf("it took %v", all)
			}
		})
	}
}

// publishedModel is an entry of the list of published state counts.
type publishedModel struct {
	File      string
	Constants map[string]json.RawMessage
	States    int64
}

// publishedModels returns the first entry for each file of published models.
func publishedModels(t testing.TB) (models []publishedModel) {
	t.Helper()
	var all []publishedModel
	if err := json.Unmarshal([]byte(source(t, "qvbs", "states.json").Text), &all); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range all {
		if !seen[m.File] {
			seen[m.File] = true
			models = append(models, m)
		}
	}
	return models
}

// given returns the constants of a published model.
func (p publishedModel) given(t testing.TB) map[string]*jani.Expr {
	t.Helper()
	var texts []string
	for name, value := range p.Constants {
		texts = append(texts, name+"="+string(value))
	}
	return parameters(t, texts...)
}

// The largest published file, by size.
func TestScalePublished(t *testing.T) {
	var largest publishedModel
	size := int64(-1)
	for _, m := range publishedModels(t) {
		info, err := os.Stat(filepath.Join("../../shared/data/qvbs", m.File))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > size {
			largest, size = m, info.Size()
		}
	}
	if size < 0 {
		t.Skip("no published model")
	}
	given := largest.given(t)
	src := source(t, "qvbs", largest.File)
	start := time.Now()
	doc, err := jani.Parse(src, jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	parsed := time.Since(start)
	if _, err := jani.Compile(doc, given); err != nil {
		t.Fatal(err)
	}
	all := time.Since(start)
	t.Logf("%s, %d KB: parsed in %v, compiled in %v", largest.File, size/1000, parsed.Round(time.Millisecond), (all - parsed).Round(time.Millisecond))
	if all > 30*time.Second {
		t.Errorf("it took %v", all)
	}
}
