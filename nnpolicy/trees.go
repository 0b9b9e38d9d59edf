package nnpolicy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fuzzsafe/jani"

	"github.com/tidwall/gjson"
)

const (
	treesSchema = "fuzzsafe.trees/1"
	maxFeatures = 1 << 16 // and outputs
)

// Trees is a sum of decision trees. Inputs are rounded to float32 first, as the libraries
// that train trees do.
type Trees struct {
	inputs, outputs int
	strict          bool // an input equal to a threshold goes right, else left
	nodes           []treeNode
	roots           []treeRoot
	values          []float64 // of leaves
	base            []float64 // per output, before the trees
	divisor         float64   // of the sums
	single          bool      // sums are rounded to float32
	in              []float64
}

// treeNode is a leaf if feature is −1: left is then where its values begin.
type treeNode struct {
	feature     int32
	left, right int32
	threshold   float64
}

// treeRoot is a tree, the values of whose leaves are added to the outputs from one on.
type treeRoot struct {
	node         int32
	first, count int32
}

// Inputs returns the number of inputs.
func (t *Trees) Inputs() int { return t.inputs }

// Outputs returns the number of outputs.
func (t *Trees) Outputs() int { return t.outputs }

// Fork returns the same trees with a buffer of their own.
func (t *Trees) Fork() Function {
	f := *t
	f.in = make([]float64, t.inputs)
	return &f
}

// Evaluate writes the sums of what the trees say. Time is linear in their depths.
func (t *Trees) Evaluate(in, out []float64) error {
	if len(in) != t.inputs || len(out) != t.outputs {
		return fmt.Errorf("trees of %d inputs and %d outputs are evaluated with %d and %d", t.inputs, t.outputs, len(in), len(out))
	}
	for i, x := range in {
		if t.in[i] = float64(float32(x)); !finite(t.in[i]) {
			return fmt.Errorf("input %d of the trees is %v", i, x)
		}
	}
	copy(out, t.base)
	for _, root := range t.roots {
		n := &t.nodes[root.node]
		for n.feature >= 0 {
			x := t.in[n.feature]
			if x < n.threshold || !t.strict && x == n.threshold {
				n = &t.nodes[n.left]
			} else {
				n = &t.nodes[n.right]
			}
		}
		for k, v := range t.values[n.left:][:root.count] {
			o := &out[int(root.first)+k]
			if *o += v; t.single {
				*o = float64(float32(*o))
			}
		}
	}
	for i, y := range out {
		if out[i] = y / t.divisor; !finite(out[i]) {
			return fmt.Errorf("output %d of the trees is %v", i, out[i])
		}
	}
	return nil
}

// tree is a tree as both formats have it: lists of the properties of its nodes.
type tree struct {
	left, right, feature []int
	threshold            []float64
	value                func(node int) []float64 // of a leaf
}

// add appends a tree whose leaves have the given number of values each. It is an error if
// the lists do not describe a tree with node 0 at its root.
func (t *Trees) add(from *tree, first, count int) error {
	n := len(from.left)
	if n == 0 || len(from.right) != n || len(from.feature) != n || len(from.threshold) != n {
		return fmt.Errorf("its lists have %d, %d, %d and %d entries", n, len(from.right), len(from.feature), len(from.threshold))
	}
	if n > math.MaxInt32/2-len(t.nodes) || len(t.values) > math.MaxInt32/2 {
		return fmt.Errorf("there are too many nodes")
	}
	start := len(t.nodes)
	t.roots = append(t.roots, treeRoot{int32(start), int32(first), int32(count)})
	t.nodes = slices.Grow(t.nodes, n)[:start+n]
	seen := make([]bool, n)
	seen[0] = true
	for stack := []int{0}; len(stack) > 0; {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		node := &t.nodes[start+i]
		if from.left[i] == -1 && from.right[i] == -1 {
			values := from.value(i)
			if len(values) != count || !finite(values...) {
				return fmt.Errorf("leaf %d has the values %v instead of %d finite ones", i, values, count)
			}
			*node = treeNode{feature: -1, left: int32(len(t.values))}
			t.values = append(t.values, values...)
			continue
		}
		if from.feature[i] < 0 || from.feature[i] >= t.inputs || !finite(from.threshold[i]) {
			return fmt.Errorf("node %d splits feature %d of %d at %v", i, from.feature[i], t.inputs, from.threshold[i])
		}
		for _, child := range []int{from.left[i], from.right[i]} {
			if child < 0 || child >= n || seen[child] {
				return fmt.Errorf("node %d has the child %d, which does not exist or has another parent", i, child)
			}
			seen[child] = true
			stack = append(stack, child)
		}
		*node = treeNode{int32(from.feature[i]), int32(start + from.left[i]), int32(start + from.right[i]), from.threshold[i]}
	}
	return nil
}

// ReadTrees reads classification trees in the format
//
//	{"schema": "fuzzsafe.trees/1", "features": number, "inputs"?: [variable …], "outputs"?: [label …],
//	 "trees": [{"children_left": [node …], "children_right": [node …], "feature": [index …],
//	            "threshold": [number …], "value": [[number per output …] …]} …]}
//
// which are the lists of these names that scikit-learn keeps of a tree (testdata/
// make_models.py writes them): one entry per node, children −1 in leaves. An input, rounded to
// float32, goes left if it is ≤ the threshold; the result is the mean over all trees of
// the values of the leaves that are reached, each list divided by its sum: what
// predict_proba computes. Inputs and outputs are named as in an interface file; the
// Interface that is returned lacks those that the file does not name.
//
// Any defect is a *jani.Error with its place. Time and memory are linear in the text.
func ReadTrees(src *jani.Source, limits jani.Limits) (*Trees, *Interface, error) {
	if err := jani.CheckJSON(src, limits); err != nil {
		return nil, nil, err
	}
	r := treesReader{interfaceReader: interfaceReader{src: src}}
	i := &Interface{Source: src, Filter: true}
	r.object(gjson.Parse(src.Text), "the file of trees", func(key string, v gjson.Result) bool {
		switch key {
		case "schema":
			if v.Str != treesSchema {
				r.wrong(v, "the schema of a file of trees", strconv.Quote(treesSchema))
			}
		case "features":
			if r.features = r.integer(v, "the number of features"); r.features > maxFeatures {
				r.wrong(v, "the number of features", fmt.Sprintf("at most %d", maxFeatures))
			}
		case "inputs":
			r.array(v, "the list of inputs", func(v gjson.Result) {
				i.Inputs = append(i.Inputs, Input{Name: r.text(v, "an input"), Instance: -1, Element: -1, Pos: r.pos(v)})
			})
		case "outputs":
			r.array(v, "the list of outputs", func(v gjson.Result) {
				i.Outputs = append(i.Outputs, jani.Name{Name: r.text(v, "an output"), Pos: r.pos(v)})
			})
		case "trees":
			r.array(v, "the list of trees", r.tree)
		default:
			return false
		}
		return true
	}, "schema", "features", "trees")
	if r.err == nil && len(r.trees) == 0 {
		r.err = badInput(jani.Pos{Src: src}, "there are no trees")
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	i.Warnings = r.warnings
	t := &Trees{inputs: r.features, outputs: r.outputs, divisor: float64(len(r.trees))}
	t.base = make([]float64, t.outputs)
	for k := range r.trees {
		if err := t.add(&r.trees[k].tree, 0, t.outputs); err != nil {
			return nil, nil, badInput(r.trees[k].pos, "tree %d: %v", k, err)
		}
	}
	return t.Fork().(*Trees), i, nil
}

// treesReader reads the lists of trees.
type treesReader struct {
	interfaceReader
	trees    []placedTree
	features int
	outputs  int // 0 before the first value
}

type placedTree struct {
	tree
	pos jani.Pos
}

// numbers reads a list of numbers.
func (r *interfaceReader) numbers(v gjson.Result, what string, bits int) (list []float64) {
	r.array(v, what, func(v gjson.Result) {
		x, err := strconv.ParseFloat(v.Raw, bits)
		if v.Type != gjson.Number || err != nil {
			r.wrong(v, "an entry of "+what, "a finite number")
		}
		list = append(list, x)
	})
	return list
}

// indices reads a list of integers.
func (r *interfaceReader) indices(v gjson.Result, what string) (list []int) {
	r.array(v, what, func(v gjson.Result) {
		n, err := strconv.ParseInt(v.Raw, 10, 32)
		if err != nil {
			r.wrong(v, "an entry of "+what, "an integer of 32 bits")
		}
		list = append(list, int(n))
	})
	return list
}

func (r *treesReader) tree(v gjson.Result) {
	t := placedTree{pos: r.pos(v)}
	var values [][]float64
	r.object(v, "a tree", func(key string, v gjson.Result) bool {
		switch key {
		case "children_left":
			t.left = r.indices(v, key)
		case "children_right":
			t.right = r.indices(v, key)
		case "feature":
			t.feature = r.indices(v, key)
		case "threshold":
			t.threshold = r.numbers(v, key, 64)
		case "value":
			r.array(v, key, func(v gjson.Result) {
				list := r.numbers(v, "a value", 64)
				if r.outputs == 0 {
					r.outputs = len(list)
				}
				values = append(values, normalised(list))
				if r.err == nil && (len(list) == 0 || len(list) != r.outputs) {
					r.err = badInput(r.pos(v), "a node has %d values, another has %d", len(list), r.outputs)
				}
			})
		default:
			return false
		}
		return true
	}, "children_left", "children_right", "feature", "threshold", "value")
	if r.err == nil && len(values) != len(t.left) {
		r.err = badInput(t.pos, "the tree has values of %d nodes, but children of %d", len(values), len(t.left))
	}
	t.value = func(node int) []float64 { return values[node] }
	r.trees = append(r.trees, t)
}

// normalised divides numbers by their sum; NaN where that is 0.
func normalised(list []float64) []float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	for i := range list {
		list[i] /= sum
	}
	return list
}

// ReadXGBoost reads boosted trees that XGBoost has saved as JSON (Booster.save_model),
// one group of trees per action: classes (multi:softprob, multi:softmax), or several targets
// of binary:logistic or reg:squarederror. The outputs are the margins, which order the
// actions as probabilities do, summed up in float32 in the order of XGBoost. An
// input goes left if it is < the threshold, both float32; no input is missing. Other
// boosters, objectives and categorical splits are unsupported. The Interface has the names
// of the features as inputs if the file has them.
//
// Any defect is a *jani.Error with its place. Time and memory are linear in the text.
func ReadXGBoost(src *jani.Source, limits jani.Limits) (*Trees, *Interface, error) {
	if err := jani.CheckJSON(src, limits); err != nil {
		return nil, nil, err
	}
	r := treesReader{interfaceReader: interfaceReader{src: src}}
	root := gjson.Parse(src.Text)
	find := func(path string) gjson.Result {
		v := root
		for key := range strings.SplitSeq(path, ".") {
			v = member(v, key)
		}
		return v
	}
	at := func(path string) gjson.Result {
		v := find(path)
		if !v.Exists() && r.err == nil {
			r.err = badInput(jani.Pos{Src: src}, "this is no model of XGBoost: it has no %q", path)
		}
		return v
	}
	refuse := func(v gjson.Result, what string) {
		if r.err == nil {
			r.err = &jani.Error{Kind: jani.Unsupported, Pos: r.pos(v), Msg: what + " is not supported"}
		}
	}
	// Parameters are numbers in strings.
	count := func(path string, least int) int {
		v := at(path)
		n, err := strconv.Atoi(v.Str)
		if err != nil || n < least || n > maxFeatures {
			r.wrong(v, path, fmt.Sprintf("a whole number from %d to %d in quotes", least, maxFeatures))
			return 0
		}
		return n
	}
	const booster, parameters = "learner.gradient_booster.", "learner.learner_model_param."
	if v := at(booster + "name"); v.Str != "gbtree" {
		refuse(v, "the booster "+strconv.Quote(v.Str))
	}
	t := &Trees{strict: true, single: true, divisor: 1, inputs: count(parameters+"num_feature", 1)}
	t.outputs = count(parameters+"num_class", 0)
	if find(parameters + "num_target").Exists() {
		t.outputs = max(t.outputs, count(parameters+"num_target", 0))
	}
	if v := at("learner"); t.outputs < 2 && r.err == nil {
		r.err = badInput(r.pos(v), "the model has one output; a policy has one per action")
	}
	t.base = r.bases(at(parameters+"base_score"), t.outputs)
	switch v := at("learner.objective.name"); v.Str {
	case "multi:softprob", "multi:softmax", "reg:squarederror":
	case "binary:logistic":
		for k, p := range t.base {
			t.base[k] = float64(float32(-math.Log(1/p - 1)))
		}
	default:
		refuse(v, "the objective "+strconv.Quote(v.Str))
	}
	groups := r.indices(at(booster+"model.tree_info"), "tree_info")
	i := &Interface{Source: src, Filter: true}
	if v := find("learner.feature_names"); v.Exists() {
		r.array(v, "the names of the features", func(v gjson.Result) {
			i.Inputs = append(i.Inputs, Input{Name: r.text(v, "the name of a feature"), Instance: -1, Element: -1, Pos: r.pos(v)})
		})
	}
	k := 0
	r.array(at(booster+"model.trees"), "the list of trees", func(v gjson.Result) {
		var one tree
		var leaves []float64
		for _, part := range []struct {
			key string
			to  *[]int
		}{{"left_children", &one.left}, {"right_children", &one.right}, {"split_indices", &one.feature}} {
			*part.to = r.indices(member(v, part.key), part.key)
		}
		one.threshold = r.numbers(member(v, "split_conditions"), "split_conditions", 32)
		leaves = one.threshold // a leaf has its value in the place of a threshold
		one.value = func(node int) []float64 { return leaves[node : node+1] }
		types := member(v, "split_type")
		if types.Exists() && slices.ContainsFunc(r.indices(types, "split_type"), func(n int) bool { return n != 0 }) {
			refuse(types, "a split by categories")
		}
		if size := member(member(v, "tree_param"), "size_leaf_vector"); size.Str != "" && size.Str != "0" && size.Str != "1" {
			refuse(size, "a tree whose leaves have several values")
		}
		if r.err == nil && (k >= len(groups) || groups[k] < 0 || groups[k] >= t.outputs) {
			r.err = badInput(r.pos(v), "tree %d belongs to no output: tree_info is %v", k, groups)
		}
		if r.err == nil {
			if err := t.add(&one, groups[k], 1); err != nil {
				r.err = badInput(r.pos(v), "tree %d: %v", k, err)
			}
		}
		k++
	})
	if r.err != nil {
		return nil, nil, r.err
	}
	// Some of the library's functions predict with the best rounds of training only.
	if v := find("learner.attributes.best_iteration"); v.Exists() {
		best, err := strconv.Atoi(v.Str)
		parallel, _ := strconv.Atoi(find(booster + "model.gbtree_model_param.num_parallel_tree").Str) // 0 where there is none
		if err == nil && (best+1)*max(parallel, 1)*t.outputs < k {
			i.Warnings = append(i.Warnings, jani.Warning{
				Pos: r.pos(v),
				Msg: fmt.Sprintf("all %d trees are used, although iteration %d was the best", k, best),
			})
		}
	}
	return t.Fork().(*Trees), i, nil
}

// bases reads base_score: a number, or a list of one per output, as text.
func (r *treesReader) bases(v gjson.Result, outputs int) []float64 {
	list := strings.Split(strings.TrimSuffix(strings.TrimPrefix(v.Str, "["), "]"), ",")
	if len(list) != 1 && len(list) != outputs {
		r.wrong(v, "base_score", "one number, or one per output")
		return nil
	}
	base := make([]float64, outputs)
	for k := range base {
		x, err := strconv.ParseFloat(list[min(k, len(list)-1)], 32)
		if base[k] = x; err != nil || !finite(x) {
			r.wrong(v, "base_score", "a finite number in quotes")
		}
	}
	return base
}

// member returns a member of an object. Unlike gjson.Get it knows no patterns.
func member(v gjson.Result, key string) (found gjson.Result) {
	if !v.IsObject() {
		return found
	}
	v.ForEach(func(k, m gjson.Result) bool {
		if k.Str == key {
			found = m
		}
		return !found.Exists()
	})
	return found
}
