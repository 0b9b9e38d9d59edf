package nnpolicy_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/benchmarks"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
	"fuzzsafe/nnpolicy"
)

// instance returns the task of a benchmark instance.
func instance(t testing.TB, name string) *jani.Task {
	t.Helper()
	b, err := benchmarks.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	read := func(file string) *jani.Source {
		text, err := fs.ReadFile(b.FS(), file)
		if err != nil {
			t.Fatal(err)
		}
		return jani.NewSource(file, text)
	}
	doc, err := jani.Parse(read(benchmarks.ModelFile), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := jani.Compile(doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := jani.ParseProperties(read(benchmarks.PropertyFile), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	plan, _, err := list[0].Planning(nil, jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	task, err := m.Task(name, plan)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func starts(t testing.TB, task *jani.Task) func(*rand.Rand) ([]jani.Value, error) {
	t.Helper()
	s, err := algorithms.NewStarts(task.Model, task.Start, algorithms.StartsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Draw
}

func space(t testing.TB, ctx context.Context, task *jani.Task) *engine.Space {
	t.Helper()
	sp, err := engine.NewSpace(ctx, task, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return sp
}

func quick(episodes int) nnpolicy.TrainOptions {
	o := nnpolicy.DefaultTrainOptions()
	o.Hidden = []int{32, 32}
	o.Episodes, o.MaxSteps, o.EvaluateEvery, o.EvaluateRuns = episodes, 60, 100, 50
	o.LearningRate, o.Batch, o.UpdateEvery = 1e-3, 64, 2
	return o
}

// train learns and returns the reports, without times, and the network as text.
func train(t testing.TB, task *jani.Task, o nnpolicy.TrainOptions) (nnpolicy.TrainResult, []nnpolicy.TrainReport, string) {
	t.Helper()
	ctx := context.Background()
	var reports []nnpolicy.TrainReport
	result, err := nnpolicy.Train(ctx, space(t, ctx, task), starts(t, task), o, func(r nnpolicy.TrainReport, n *nnpolicy.Network) error {
		if r.Best != (n != nil) {
			t.Errorf("episode %d: best %t, but network %v", r.Episode, r.Best, n)
		}
		r.Seconds = 0
		reports = append(reports, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !result.Complete {
		t.Error("not complete")
	}
	var text bytes.Buffer
	if err := result.Network.WriteNNet(&text); err != nil {
		t.Fatal(err)
	}
	return result, reports, text.String()
}

// Some seconds of training are much better than random actions, which nearly never reach the goal.
func TestTrain(t *testing.T) {
	for _, c := range []struct {
		name string
		goal int // runs of 50 that must reach it
	}{
		{"one-way-line-det", 30}, {"two-way-line:variant=det,locations=4", 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, _, _ := train(t, instance(t, c.name), quick(1500))
			t.Logf("random %+v, best %+v, fresh %+v, %d steps, %.1f s", r.Random, r.Best.Evaluation, r.Fresh, r.Last.Steps, r.Seconds)
			if r.Random.Goal > c.goal/5 || r.Best.Evaluation.Goal < c.goal || r.Fresh.Goal < c.goal*2/3 {
				t.Errorf("random %+v, best %+v, fresh %+v", r.Random, r.Best.Evaluation, r.Fresh)
			}
		})
	}
}

// Equal options give equal reports and equal bytes, whatever the number of processors.
func TestTrainIsReproducible(t *testing.T) {
	task := instance(t, "one-way-line:variant=nondet,locations=8")
	o := quick(250)
	o.Hidden = []int{16, 24}
	_, first, network := train(t, task, o)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	_, again, same := train(t, task, o)
	if !reflect.DeepEqual(first, again) || network != same {
		t.Errorf("reports\n%+v\nand\n%+v", first, again)
	}
	if len(first) != 4 || first[3].Updates == 0 {
		t.Errorf("reports are %+v", first)
	}
	o.Seed++
	if _, _, other := train(t, task, o); other == network {
		t.Error("another seed gives the same network")
	}
}

// What is written is what was evaluated: loaded as a policy, it makes the runs of Fresh.
func TestTrainedPolicyLoads(t *testing.T) {
	task := instance(t, "one-way-line:variant=det,locations=8")
	o := quick(400)
	r, _, network := train(t, task, o)
	dir := t.TempDir()
	var text bytes.Buffer
	r.Interface.File = "p.nnet"
	if err := r.Interface.Write(&text); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"p.nnet": network, "p.jani2nnet": text.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p, err := nnpolicy.Load(task.Model, filepath.Join(dir, "p.jani2nnet"))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Warnings) != 0 || !p.Filter {
		t.Errorf("warnings %v, filter %t", p.Warnings, p.Filter)
	}
	trained, err := nnpolicy.Bind(task.Model, r.Interface, r.Network)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	one, two := space(t, ctx, task).Fork(ctx, p), space(t, ctx, task).Fork(ctx, trained)
	draw, rng := starts(t, task), rand.New(rand.NewPCG(1, 1))
	actions := map[int]int{}
	for range 500 {
		values, err := draw(rng)
		if err != nil {
			t.Fatal(err)
		}
		a, err := one.Intern(values)
		if err != nil {
			t.Fatal(err)
		}
		b, err := two.Intern(values)
		if err != nil {
			t.Fatal(err)
		}
		got, err := one.Decision(a)
		want, wrong := two.Decision(b)
		if err != nil || wrong != nil || got != want {
			t.Fatalf("%s: decision %d (%v), want %d (%v)", one.Describe(a), got, err, want, wrong)
		}
		actions[got]++
	}
	if len(actions) < 2 {
		t.Errorf("all decisions are the same: %v", actions)
	}
}

// junction is a task in which a label decides, two silent steps later, whether the run ends
// well, in most states no label is applicable, and n has no bounds.
const junction = `{"jani-version":1,"name":"junction","type":"lts","actions":[{"name":"left"},{"name":"right"}],
"variables":[{"name":"x","type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":6},"initial-value":0},
 {"name":"n","type":"int","initial-value":0},{"name":"side","type":"bool"}],
"restrict-initial":{"exp":{"op":"∧","left":{"op":"=","left":"x","right":0},"right":{"op":"=","left":"n","right":0}}},
"automata":[{"name":"a","locations":[{"name":"here"}],"initial-locations":["here"],"edges":[
 {"location":"here","guard":{"exp":{"op":"=","left":"x","right":0}},"destinations":[{"location":"here","assignments":[{"ref":"x","value":1}]}]},
 {"location":"here","action":"left","guard":{"exp":{"op":"=","left":"x","right":1}},"destinations":[{"location":"here","assignments":[{"ref":"x","value":{"op":"ite","if":"side","then":2,"else":3}}]}]},
 {"location":"here","action":"right","guard":{"exp":{"op":"=","left":"x","right":1}},"destinations":[{"location":"here","assignments":[{"ref":"x","value":{"op":"ite","if":"side","then":3,"else":2}}]}]},
 {"location":"here","guard":{"exp":{"op":"∧","left":{"op":"≥","left":"x","right":2},"right":{"op":"≤","left":"x","right":3}}},
  "destinations":[{"location":"here","assignments":[{"ref":"x","value":{"op":"+","left":"x","right":2}},{"ref":"n","value":{"op":"+","left":"n","right":1}}]}]}
]}],"system":{"elements":[{"automaton":"a"}]}}`

func junctionTask(t testing.TB) *jani.Task {
	t.Helper()
	doc, err := jani.Parse(jani.NewSource("junction.jani", []byte(junction)), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := jani.Compile(doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := &jani.Planning{}
	for text, to := range map[string]**jani.Condition{"x = 4": &plan.Unsafe, "x = 5": &plan.Goal} {
		e, err := jani.ParseInfix("condition", text, m.Names(), jani.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		*to = &jani.Condition{Exp: e}
	}
	task, err := m.Task("junction", plan)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestTrainPassesOverForcedSteps(t *testing.T) {
	o := quick(2000)
	o.Hidden, o.Batch, o.UpdateEvery, o.Patience = []int{16}, 16, 1, 3
	r, reports, text := train(t, junctionTask(t), o)
	if r.Fresh.Goal != 50 || r.Fresh.Steps != 3 {
		t.Errorf("runs of the network: %+v", r.Fresh)
	}
	gain := o.StepReward*(1+o.Discount) + o.GoalReward*o.Discount*o.Discount
	if d := r.Fresh.Return - gain; d > 1e-12 || d < -1e-12 {
		t.Errorf("mean return %v, want %v", r.Fresh.Return, gain)
	}
	if r.Random.Goal < 10 || r.Random.Unsafe < 10 || r.Random.Goal+r.Random.Unsafe != 50 {
		t.Errorf("random runs: %+v", r.Random)
	}
	// Goal is certain early, and the return cannot get better.
	if !r.Stopped || len(reports) > 17 {
		t.Errorf("stopped %t after %d reports", r.Stopped, len(reports))
	}
	// x, n and side: n has been from 0 to 1, and gets as much room on either side.
	if !strings.Contains(text, "\n0,-1,0,\n6,2,1,\n") {
		t.Errorf("no such minima and maxima in\n%.300s", text)
	}
	if len(r.Interface.Outputs) != 2 {
		t.Errorf("outputs are %v", r.Interface.Outputs)
	}
}

// An end from outside leaves the best network so far.
func TestTrainInterrupted(t *testing.T) {
	task := instance(t, "one-way-line:variant=det,locations=8")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	count := 0
	r, err := nnpolicy.Train(ctx, space(t, ctx, task), starts(t, task), quick(100_000), func(nnpolicy.TrainReport, *nnpolicy.Network) error {
		if count++; count == 3 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) && !errors.As(err, new(*engine.LimitError)) {
		t.Errorf("error %v", err)
	}
	if r.Network == nil || r.Complete || r.Last.Episode != 200 || r.Fresh.Runs != 0 {
		t.Errorf("result %+v", r)
	}
	failed := errors.New("disk full")
	if _, err = nnpolicy.Train(context.Background(), space(t, context.Background(), task), starts(t, task), quick(10),
		func(nnpolicy.TrainReport, *nnpolicy.Network) error { return failed }); err != failed {
		t.Errorf("error %v, want that of report", err)
	}
}

func TestTrainOptionsCheck(t *testing.T) {
	for want, set := range map[string]func(o *nnpolicy.TrainOptions){
		"":                                     func(*nnpolicy.TrainOptions) {},
		"the number of episodes is 0":          func(o *nnpolicy.TrainOptions) { o.Episodes = 0 },
		"the number of hidden layers is 0":     func(o *nnpolicy.TrainOptions) { o.Hidden = nil },
		"a hidden layer is 5000":               func(o *nnpolicy.TrainOptions) { o.Hidden = []int{64, 5000} },
		"remembered transitions is 100":        func(o *nnpolicy.TrainOptions) { o.Replay = 100 },
		"the learning rate is 0, it must":      func(o *nnpolicy.TrainOptions) { o.LearningRate = 0 },
		"the discount is 1.5, it must be from": func(o *nnpolicy.TrainOptions) { o.Discount = 1.5 },
	} {
		o := nnpolicy.DefaultTrainOptions()
		set(&o)
		if err := o.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
