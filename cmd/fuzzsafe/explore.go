package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
)

// exploreReport is the JSON of “explore”.
type exploreReport struct {
	Schema  string        `json:"schema"`
	Model   modelReport   `json:"model"`
	Options optionsReport `json:"options"`
	Mode    string        `json:"mode"`

	States          int64   `json:"states"`
	InitialStates   int64   `json:"initial_states"`
	Choices         int64   `json:"choices"`
	Branches        int64   `json:"branches"`
	Deadlocks       int64   `json:"deadlocks"`
	Seconds         float64 `json:"seconds"`
	StatesPerSecond float64 `json:"states_per_second"`
	BytesPerState   float64 `json:"bytes_per_state"` // states and their hash table
	memoryReport
	Complete bool `json:"complete"`
}

func (env *environment) exploreCommand() *cli.Command {
	return &cli.Command{
		Name: "explore", Usage: "enumerate the reachable states", ArgsUsage: "MODEL",
		Description: "Starts from the model's initial states, or from the start condition of a property or --start if one is given.",
		Flags: commonFlags(
			&cli.StringFlag{Name: "mode", Value: "full", Usage: "`MODE`: full expands every state, goal-terminal no unsafe or goal state"},
			&cli.BoolFlag{Name: "no-maximal-progress", Usage: "in an ma: let rates race also where another edge is enabled"},
			&cli.Int64Flag{Name: "max-states", Usage: "end after `N` states (default: no limit)"},
		),
		Action: func(c *cli.Context) error {
			s, err := env.open(c, false)
			if err != nil {
				return err
			}
			defer s.cancel()
			return s.explore()
		},
	}
}

func (s *session) explore() error {
	mode := s.flags.String("mode")
	if mode != "full" && mode != "goal-terminal" {
		return usage("--mode %s: it is full or goal-terminal", mode)
	}
	if n := s.flags.Int64("max-states"); n < 0 {
		return usage("--max-states %d: it is positive", n)
	}
	s.options.Limits.MaxStates = s.flags.Int64("max-states")
	s.options.NoMaximalProgress = s.flags.Bool("no-maximal-progress")
	from := s.model.Initial
	if s.flags.String("property") != "" || s.flags.String("start") != "" || s.bench != nil {
		from = s.task.Start
	}
	starts, err := algorithms.NewStarts(s.model, from, algorithms.StartsOptions{})
	if err != nil {
		return err
	}
	x, err := engine.Explore(s.ctx, s.task, starts.All(), s.options, engine.ExploreOptions{
		TargetTerminal: mode == "goal-terminal",
		Progress: func(x engine.Exploration) {
			s.bar.status("%d states, %d expanded, %.0f states/s", x.States, x.Expanded, float64(x.States)/x.Elapsed.Seconds())
		},
	})
	s.bar.clear()
	s.warnRemainders(x.NegativeRemainders)
	if x.States > 0 || limitOf(err) != nil {
		r := exploreReport{
			Schema: "fuzzsafe.explore/1", Model: s.modelReport(), Options: s.optionsReport(), Mode: mode,
			States: x.States, InitialStates: x.InitialStates, Choices: x.Choices, Branches: x.Branches, Deadlocks: x.Deadlocks,
			Seconds: x.Elapsed.Seconds(), StatesPerSecond: float64(x.States) / max(x.Elapsed.Seconds(), 1e-9),
			BytesPerState: float64(x.PackedBytes) / float64(max(x.States, 1)), memoryReport: peak(), Complete: x.Complete,
		}
		if s.json {
			if err := s.printJSON(r); err != nil {
				return err
			}
		} else {
			s.printExploration(&r)
		}
	}
	return err
}

func (s *session) printExploration(r *exploreReport) {
	what := "all reachable states"
	if !r.Complete {
		what = "not all reachable states"
	}
	fmt.Fprintf(s.env.stdout, "%d states, %s, from %d initial states\n", r.States, what, r.InitialStates)
	fmt.Fprintf(s.env.stdout, "%d choices with %d branches, %d deadlocks\n", r.Choices, r.Branches, r.Deadlocks)
	fmt.Fprintf(s.env.stdout, "%.2f s, %.0f states/s, %.1f bytes/state, peak memory %d MiB\n",
		r.Seconds, r.StatesPerSecond, r.BytesPerState, r.PeakRSS>>20)
}
