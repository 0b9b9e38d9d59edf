package nnpolicy

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"fuzzsafe/jani"
)

// stumps is a forest of two trees over two features: the first splits feature 1 at 0.1, the
// second is a leaf.
const stumps = `{"schema":"fuzzsafe.trees/1","features":2,"trees":[
{"children_left":[1,-1,-1],"children_right":[2,-1,-1],"feature":[1,-2,-2],"threshold":[THRESHOLD,-2,-2],"value":[[4,4],[3,1],[0,4]]},
{"children_left":[-1],"children_right":[-1],"feature":[-2],"threshold":[-2],"value":[[1,1]]}]}`

func readTrees(t *testing.T, text string) *Trees {
	t.Helper()
	f, _, err := ReadTrees(jani.NewSource("t", []byte(text)), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// An input is rounded to float32, and goes left if it is at most the threshold.
func TestTrees(t *testing.T) {
	single := float64(float32(0.1)) // is larger than 0.1
	for _, c := range []struct {
		threshold string
		x         float64
		left      bool
	}{
		{"0.5", 0.25, true}, {"0.5", 0.5, true}, {"0.5", 0.75, false}, {"0.5", math.Nextafter(0.5, 1), true},
		{"0.1", 0.1, false}, {"0.1", single, false}, {fmt.Sprint(single), 0.1, true},
	} {
		f := readTrees(t, strings.Replace(stumps, "THRESHOLD", c.threshold, 1))
		want := "[0.25 0.75]"
		if c.left {
			want = "[0.625 0.375]"
		}
		out := make([]float64, 2)
		if err := f.Evaluate([]float64{9, c.x}, out); err != nil || fmt.Sprint(out) != want {
			t.Errorf("%v at %s: outputs %v, error %v, want %s", c.x, c.threshold, out, err, want)
		}
	}
	f := readTrees(t, strings.Replace(stumps, "THRESHOLD", "1", 1))
	if err := f.Evaluate([]float64{0, 1e39}, make([]float64, 2)); err == nil {
		t.Error("an input that float32 cannot hold is no error")
	}
}

// boost is a model of XGBoost of two targets, one tree each, over one feature.
const boost = `{"learner":{"feature_names":[],"gradient_booster":{"model":{"gbtree_model_param":{"num_trees":"2"},"tree_info":[0,1],"trees":[
{"left_children":[1,-1,-1],"right_children":[2,-1,-1],"split_indices":[0,0,0],"split_conditions":[1E-1,-2E0,3E0],"split_type":[0,0,0]},
{"left_children":[-1],"right_children":[-1],"split_indices":[0],"split_conditions":[1.25E0],"tree_param":{"size_leaf_vector":"0"}}]},
"name":"gbtree"},"learner_model_param":{"base_score":"2.5E-1","num_class":"0","num_feature":"1","num_target":"2"},
"objective":{"name":"reg:squarederror"}},"version":[1,7,4]}`

// An input goes left if it is less than the threshold, both in float32.
func TestXGBoost(t *testing.T) {
	for _, c := range []struct {
		x          float64
		edit, into string
		want       string
	}{
		{0, "", "", "[-1.75 1.5]"},
		{0.1, "", "", "[3.25 1.5]"},
		{float64(math.Nextafter32(0.1, 0)), "", "", "[-1.75 1.5]"},
		{0.1 - 1e-12, "", "", "[3.25 1.5]"},
		{0, `"2.5E-1"`, `"[2.5E-1,0E0]"`, "[-1.75 1.25]"},
		{0, `"base_score":"2.5E-1","num_class":"0","num_feature":"1","num_target":"2"`,
			`"base_score":"5E-1","num_class":"2","num_feature":"1"`, "[-1.5 1.75]"},
		{0, `reg:squarederror`, `multi:softprob`, "[-1.75 1.5]"},
		{0, `"2.5E-1","num_class":"0","num_feature":"1","num_target":"2"},` + "\n" + `"objective":{"name":"reg:squarederror"`,
			`"5E-1","num_class":"0","num_feature":"1","num_target":"2"},` + "\n" + `"objective":{"name":"binary:logistic"`, "[-2 1.25]"},
	} {
		text := strings.Replace(boost, c.edit, c.into, 1)
		f, i, err := ReadXGBoost(jani.NewSource("x", []byte(text)), jani.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		out := make([]float64, 2)
		if err := f.Evaluate([]float64{c.x}, out); err != nil || fmt.Sprint(out) != c.want {
			t.Errorf("%v with %s: outputs %v, error %v, want %s", c.x, c.into, out, err, c.want)
		}
		if i.Inputs != nil || i.Outputs != nil || len(i.Warnings) > 0 {
			t.Errorf("the file names %v and %v, warnings %v", i.Inputs, i.Outputs, i.Warnings)
		}
	}
	// Two rounds, of which the first was the better.
	two := strings.Replace(boost, `"tree_info":[0,1],"trees":[`, `"tree_info":[0,1,1,0],"trees":[`+strings.Repeat(
		`{"left_children":[-1],"right_children":[-1],"split_indices":[0],"split_conditions":[1]},`, 2), 1)
	for best, warnings := range map[string]int{"0": 1, "1": 0} {
		text := strings.Replace(two, `{"learner":{`, `{"learner":{"attributes":{"best_iteration":"`+best+`"},`, 1)
		_, i, err := ReadXGBoost(jani.NewSource("x", []byte(text)), jani.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		const want = "all 4 trees are used, although iteration 0 was the best"
		if len(i.Warnings) != warnings || warnings > 0 && i.Warnings[0].Msg != want {
			t.Errorf("best %s: warnings %v", best, i.Warnings)
		}
	}
}

func TestReadTreesErrors(t *testing.T) {
	forest := strings.Replace(stumps, "THRESHOLD", "0.5", 1)
	for _, c := range []struct {
		text, from, to string
		kind           jani.ErrorKind
		want           string
	}{
		{forest, `trees/1`, `trees/2`, jani.BadInput, `this is no policy: it has neither "schema": "fuzzsafe.table/1" or "fuzzsafe.trees/1" nor`},
		{boost, `"learner"`, `"learning"`, jani.BadInput, "this is no policy"},
		{boost, `"learner":`, `"learner"`, jani.BadInput, "t.json:1:11: "},
		{forest, `"children_left":[1,-1,-1]`, `"children_left":[1,-1]`, jani.BadInput, "t.json:2:1: the tree has values of 3 nodes, but children of 2"},
		{forest, `"feature":[1,-2,-2]`, `"feature":[1]`, jani.BadInput, "tree 0: its lists have 3, 3, 1 and 3 entries"},
		{forest, `"feature":[1,`, `"feature":[-1,`, jani.BadInput, "tree 0: node 0 splits feature -1 of 2 at 0.5"},
		{forest, `"feature":[1,`, `"feature":[2,`, jani.BadInput, "tree 0: node 0 splits feature 2 of 2 at 0.5"},
		{forest, `"features":2`, `"features":65537`, jani.BadInput, "the number of features must be at most 65536"},
		{forest, `"features":2,`, ``, jani.BadInput, `has no "features"`},
		{forest, `"children_left":[1,`, `"children_left":[0,`, jani.BadInput, "tree 0: node 0 has the child 0, which does not exist or has another parent"},
		{forest, `"children_left":[1,`, `"children_left":[2,`, jani.BadInput, "node 0 has the child 2"},
		{forest, `"children_left":[1,`, `"children_left":[3,`, jani.BadInput, "node 0 has the child 3"},
		{forest, `"children_left":[1,-1`, `"children_left":[1,7`, jani.BadInput, "node 1"},
		{forest, `[3,1]`, `[0,0]`, jani.BadInput, "leaf 1 has the values [NaN NaN]"},
		{forest, `[3,1]`, `[3,1,1]`, jani.BadInput, "a node has 3 values, another has 2"},
		{forest, `[3,1]`, `[]`, jani.BadInput, "a node has 0 values"},
		{forest, `[3,1]`, `[3,"1"]`, jani.BadInput, "an entry of a value must be a finite number"},
		{forest, `[0.5,`, `[1e999,`, jani.BadInput, "an entry of threshold must be a finite number"},
		{forest, `"feature":[1,`, `"feature":[1.5,`, jani.BadInput, "an entry of feature must be an integer"},
		{`{"schema":"fuzzsafe.trees/1","features":1,"trees":[]}`, "", "", jani.BadInput, "there are no trees"},
		{boost, `"gbtree"`, `"gblinear"`, jani.Unsupported, `the booster "gblinear" is not supported`},
		{boost, `reg:squarederror`, `rank:pairwise`, jani.Unsupported, `the objective "rank:pairwise" is not supported`},
		{boost, `"split_type":[0,0,0]`, `"split_type":[1,0,0]`, jani.Unsupported, "a split by categories"},
		{boost, `"size_leaf_vector":"0"`, `"size_leaf_vector":"2"`, jani.Unsupported, "a tree whose leaves have several values"},
		{boost, `"num_target":"2"`, `"num_target":"1"`, jani.BadInput, "the model has one output; a policy has one per action"},
		{boost, `"num_feature":"1"`, `"num_feature":"9999999999"`, jani.BadInput, "a whole number from 1 to 65536 in quotes"},
		{boost, `"num_feature":"1"`, `"num_features":"1"`, jani.BadInput, `it has no "learner.learner_model_param.num_feature"`},
		{boost, `"2.5E-1"`, `"half"`, jani.BadInput, "base_score must be a finite number in quotes"},
		{boost, `"2.5E-1"`, `"[1,2,3]"`, jani.BadInput, "base_score must be one number, or one per output"},
		{boost, `"tree_info":[0,1]`, `"tree_info":[0]`, jani.BadInput, "tree 1 belongs to no output"},
		{boost, `"tree_info":[0,1]`, `"tree_info":[0,2]`, jani.BadInput, "tree 1 belongs to no output"},
		{boost, `"split_indices":[0,0,0]`, `"split_indices":[1,0,0]`, jani.BadInput, "tree 0: node 0 splits feature 1 of 1"},
		{boost, `"left_children":[1,`, `"left":[1,`, jani.BadInput, "left_children must be an array"},
		{boost, `[1.25E0]`, `[1e300]`, jani.BadInput, "an entry of split_conditions must be a finite number"},
	} {
		text := strings.Replace(c.text, c.from, c.to, 1)
		if text == c.text && c.from != "" {
			t.Errorf("there is no %s", c.from)
		}
		l := loader{model: station()}
		_, _, err := l.function("t.json", []byte(text), Weights{})
		expect(t, err, c.kind, "t.json:", c.want)
	}
}

// What is said about the inputs and outputs: by an interface, by the file itself, by options,
// by the model.
func TestLoadTrees(t *testing.T) {
	forest := strings.Replace(stumps, "THRESHOLD", "0.5", 1)
	named := strings.Replace(forest, `"trees"`, `"inputs":["truck.speed","x"],"outputs":["stop","go"],"trees"`, 1)
	boosted := strings.Replace(boost, `"feature_names":[]`, `"feature_names":["truck.speed"]`, 1)
	files := fstest.MapFS{
		"named.json":        {Data: []byte(named)},
		"alone.json":        {Data: []byte(forest)},
		"boost.json":        {Data: []byte(boosted)},
		"unknown.json":      {Data: []byte(strings.Replace(boost, `"feature_names":[]`, `"feature_names":["f0"]`, 1))},
		"beside.json":       {Data: []byte(forest)},
		"beside.jani2nnet":  {Data: []byte(`{"file":"beside.json","input":[{"name":"x"},{"name":"a[1]"}],"output":["load","go"]}`)},
		"swapped.jani2nnet": {Data: []byte(`{"file":"named.json","input":[{"name":"x"},{"name":"truck.speed"}],"output":["stop","go"]}`)},
		"same.jani2nnet":    {Data: []byte(`{"file":"named.json","input":[{"name":"truck.speed"},{"name":"x"}],"output":["stop","go"]}`)},
		"f0.jani2nnet":      {Data: []byte(`{"file":"unknown.json","input":[{"name":"x"}],"output":["stop","go"]}`)},
		"activated.jani2nnet": {Data: []byte(`{"file":"named.json","input":[{"name":"truck.speed"},{"name":"x"}],"output":["stop","go"],` +
			`"activation":"relu"}`)},
	}
	for _, c := range []struct {
		file            string
		inputs, outputs []string
		want            string // inputs, outputs, or an error
	}{
		{"named.json", nil, nil, "[5 0] [1 0]"},
		{"named.json", []string{"x", "a[0]"}, nil, "[0 1] [1 0]"},
		{"named.json", nil, []string{"go", "load"}, "[5 0] [0 2]"},
		{"same.jani2nnet", nil, nil, "[5 0] [1 0]"},
		{"swapped.jani2nnet", nil, nil, `"named.json" has other inputs or outputs than the interface`},
		{"alone.json", nil, nil, "the network has 2 inputs and 2 outputs, but the model, which stands in for an interface file, has 7 inputs and 3"},
		{"alone.json", []string{"x", "speed"}, []string{"go", "stop"}, "several automata have it"},
		{"alone.json", []string{"x", "a[2]"}, []string{"go", "stop"}, "[0 3] [0 1]"},
		{"alone.json", []string{"x"}, []string{"go", "stop"}, "but the list of their names has 1 inputs and 2 outputs"},
		{"beside.json", nil, nil, "[0 2] [2 0]"},
		{"beside.json", []string{"a[1]", "x"}, []string{"go", "load"}, "[2 0] [0 2]"},
		{"beside.jani2nnet", []string{"a[1]", "x"}, nil, "an interface names the inputs and outputs"},
		{"boost.json", nil, []string{"go", "load"}, "[5] [0 2]"},
		{"unknown.json", nil, []string{"go", "load"}, `the model has no variable "f0"`},
		{"unknown.json", []string{"x"}, []string{"go", "load"}, "[0] [0 2]"},
		{"f0.jani2nnet", nil, nil, "[0] [1 0]"},
		{"activated.jani2nnet", nil, nil, "an activation or layers can only be given for a torch or safetensors file"},
	} {
		l := loader{depot(), Options{Inputs: c.inputs, Outputs: c.outputs}, files.ReadFile}
		p, err := l.load(c.file)
		if err != nil {
			expect(t, err, jani.BadInput, "", c.want)
			continue
		}
		if got := fmt.Sprint(p.Inputs(), " ", p.Outputs()); got != c.want {
			t.Errorf("%s, %v, %v: inputs and outputs are %s, want %s", c.file, c.inputs, c.outputs, got, c.want)
		}
	}
}

func FuzzReadPolicyJSON(f *testing.F) {
	for _, name := range []string{"forest.json", "tree.json", "boosted_values.json"} {
		text, err := os.ReadFile(filepath.Join("testdata/models", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(strings.Replace(stumps, "THRESHOLD", "0.5", 1)))
	f.Add([]byte(boost))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := loader{model: station()}
		g, _, err := l.function("f.json", text, Weights{})
		if _, isTable := g.(*Table); isTable && err == nil {
			return // its outputs may be −Inf; see FuzzReadTable
		}
		evaluateAny(t, g, err)
	})
}
