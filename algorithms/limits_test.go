package algorithms_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// counter is a model that counts up to a million from anywhere, and its only policy.
func counter(t testing.TB) *instance {
	t.Helper()
	const last = 1_000_000
	task := compile(t, fmt.Appendf(nil, `{"jani-version":1,"name":"counter","type":"lts","actions":[{"name":"a0"}],
		"variables":[{"name":"s","type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":%d},"initial-value":0}],
		"automata":[{"name":"a","locations":[{"name":"l"}],"initial-locations":["l"],"edges":[{"location":"l","action":"a0",
			"guard":{"exp":{"op":"<","left":"s","right":%[1]d}},
			"destinations":[{"location":"l","assignments":[{"ref":"s","value":{"op":"+","left":"s","right":1}}]}]}]}],
		"system":{"elements":[{"automaton":"a"}],"syncs":[{"synchronise":["a0"],"result":"a0"}]}}`, last),
		[]byte(`{"properties":[{"name":"p","expression":{"op":"PA",
			"start":{"op":"state-condition","exp":{"op":"≤","left":"s","right":900000}},
			"reach":{"op":"state-condition","exp":false}}}]}`))
	policy := table{sys: policyGraph("0 lost")}
	policy.input, _ = task.Model.Variable("s")
	policy.labels = []jani.ActionID{jani.ActionID(slices.Index(task.Model.Actions, "a0"))}
	return &instance{task, policy, func() engine.Policy { return policy }, false}
}

// What was found before a limit is returned, however large the Spaces of the workers are.
func TestCampaignAtLimits(t *testing.T) {
	i := counter(t)
	c := algorithms.Campaign{Fuzz: algorithms.FuzzOptions{MaxSteps: 100, Seed: 1}, Runs: 100_000, NewPolicy: i.clone}
	for _, c.Workers = range []int{1, 2, 5} {
		ctx, cancel := context.WithCancel(t.Context())
		c.Progress = func(done, _ int) {
			if done == 500 {
				cancel()
			}
		}
		sp, r, err := i.campaign(t, ctx, c)
		if !errors.Is(err, context.Canceled) && !errors.As(err, new(*engine.LimitError)) || len(r.Runs) < 100 || sp.NumStates() < 10_000 {
			t.Errorf("%d workers: %d runs, %v, when cancelled after 500", c.Workers, len(r.Runs), err)
		}
		c.Progress = nil
		sp, err = engine.NewSpace(t.Context(), i.task, engine.Options{Policy: i.policy, Limits: engine.Limits{MaxResident: engine.Resident() + 16<<20}})
		must(t, err)
		r, err = algorithms.RunCampaign(t.Context(), sp, i.starts(t), c)
		if e := new(engine.LimitError); !errors.As(err, &e) || e.Kind != engine.LimitMemory || len(r.Runs) < 10 {
			t.Errorf("%d workers: %d runs, %v, with 16 MiB", c.Workers, len(r.Runs), err)
		}
	}
}
