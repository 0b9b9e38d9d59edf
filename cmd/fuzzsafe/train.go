package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
	"fuzzsafe/nnpolicy"
)

// trainSummary is the last line of the JSON Lines of “train”; the others are
// nnpolicy.TrainReport.
type trainSummary struct {
	Schema   string               `json:"schema"`
	Model    modelReport          `json:"model"`
	Options  optionsReport        `json:"options"`
	Hidden   []int                `json:"hidden"`
	Files    []string             `json:"files"`
	Best     nnpolicy.TrainReport `json:"best"`
	Random   nnpolicy.TrainRuns   `json:"random"` // with random actions, to compare with
	Fresh    nnpolicy.TrainRuns   `json:"fresh"`  // other runs of the best network
	Episodes int                  `json:"episodes"`
	Steps    int64                `json:"steps"`
	Stopped  bool                 `json:"stopped_early"`
	Complete bool                 `json:"complete"` // no limit ended the training
	Seconds  float64              `json:"seconds"`
	memoryReport
}

func (env *environment) trainCommand() *cli.Command {
	o := nnpolicy.DefaultTrainOptions()
	var hidden []string
	for _, width := range o.Hidden {
		hidden = append(hidden, strconv.Itoa(width))
	}
	return &cli.Command{
		Name: "train", Usage: "learn a policy by deep Q-learning and write it as a network", ArgsUsage: "MODEL",
		Description: "Learns from runs in the model which action label is worth most, and writes the network that did best in\n" +
			"greedy runs: most runs to a goal, then fewest unsafe ones. Outcomes are drawn uniformly from the set of outcomes;\n" +
			"probabilities of the model play no part. Equal seeds give equal files. At an interrupt or a limit, the best network\n" +
			"so far is kept.",
		Flags: commonFlags(
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write `NAME`.nnet, NAME.jani2nnet and NAME.onnx"},
			&cli.StringFlag{Name: "hidden", Value: strings.Join(hidden, ","), Usage: "`WIDTHS` of the hidden layers"},
			&cli.IntFlag{Name: "episodes", Value: o.Episodes, Usage: "learn from at most `N` runs"},
			&cli.IntFlag{Name: "max-steps", Value: o.MaxSteps, Usage: "end a run after `N` steps"},
			&cli.Float64Flag{Name: "learning-rate", Value: o.LearningRate, Usage: "step size `X` of Adam"},
			&cli.Float64Flag{Name: "discount", Value: o.Discount, Usage: "a reward is worth `X` times as much per step that it is away"},
			&cli.Float64Flag{Name: "epsilon", Value: o.Epsilon, Usage: "probability `X` of a random action at the end; it falls from 1"},
			&cli.Float64Flag{Name: "explore", Value: o.Explore, Usage: "part `X` of the episodes in which --epsilon is reached"},
			&cli.IntFlag{Name: "batch", Value: o.Batch, Usage: "`N` transitions per update of the weights"},
			&cli.IntFlag{Name: "replay", Value: o.Replay, Usage: "remember `N` transitions"},
			&cli.IntFlag{Name: "update-every", Value: o.UpdateEvery, Usage: "update the weights every `N` steps"},
			&cli.IntFlag{Name: "target-every", Value: o.TargetEvery, Usage: "update the target network every `N` updates of the weights"},
			&cli.Float64Flag{Name: "goal-reward", Value: o.GoalReward, Usage: "reward `X` of a step into a goal"},
			&cli.Float64Flag{Name: "unsafe-reward", Value: o.UnsafeReward, Usage: "reward `X` of a step into an unsafe state"},
			&cli.Float64Flag{Name: "step-reward", Value: o.StepReward, Usage: "reward `X` of any other step"},
			&cli.IntFlag{Name: "evaluate-every", Value: o.EvaluateEvery, Usage: "evaluate the network every `N` episodes"},
			&cli.IntFlag{Name: "evaluate-runs", Value: o.EvaluateRuns, Usage: "make `N` greedy runs for an evaluation"},
			&cli.IntFlag{Name: "patience", Value: o.Patience, Usage: "end after `N` evaluations in a row that bring nothing better, 0 for never"},
		),
		Action: func(c *cli.Context) error {
			if c.String("policy") != "" || c.Bool("unfiltered") {
				return usage("train makes a policy for applicable actions: it takes neither --policy nor --unfiltered")
			}
			s, err := env.open(c, false)
			if err != nil {
				return err
			}
			defer s.cancel()
			return s.train()
		},
	}
}

// trainOptions reads the flags that say how to learn.
func (s *session) trainOptions() (nnpolicy.TrainOptions, error) {
	c := s.flags
	o := nnpolicy.TrainOptions{
		Episodes: c.Int("episodes"), MaxSteps: c.Int("max-steps"), Seed: s.seed,
		LearningRate: c.Float64("learning-rate"), Discount: c.Float64("discount"), Epsilon: c.Float64("epsilon"), Explore: c.Float64("explore"),
		Batch: c.Int("batch"), Replay: c.Int("replay"), UpdateEvery: c.Int("update-every"), TargetEvery: c.Int("target-every"),
		GoalReward: c.Float64("goal-reward"), UnsafeReward: c.Float64("unsafe-reward"), StepReward: c.Float64("step-reward"),
		EvaluateEvery: c.Int("evaluate-every"), EvaluateRuns: c.Int("evaluate-runs"), Patience: c.Int("patience"),
	}
	for text := range strings.SplitSeq(c.String("hidden"), ",") {
		width, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return o, usage("--hidden %s: it is a list of widths such as 64,64", c.String("hidden"))
		}
		o.Hidden = append(o.Hidden, width)
	}
	if err := o.Check(); err != nil {
		return o, usage("%v", err)
	}
	return o, nil
}

func (s *session) train() error {
	o, err := s.trainOptions()
	if err != nil {
		return err
	}
	if s.task.Unsafe == nil && s.task.Goal == nil {
		return usage("there is nothing to learn: the model has no planning property; give --property FILE, --unsafe EXPR or --goal EXPR")
	}
	name := s.flags.String("output")
	if name == "" {
		return usage("train needs a name for the policy: give --output NAME")
	}
	for _, ext := range []string{".nnet", ".jani2nnet", ".onnx"} {
		name = strings.TrimSuffix(name, ext)
	}
	starts, err := algorithms.NewStarts(s.model, s.task.Start, algorithms.StartsOptions{})
	if err != nil {
		return err
	}
	s.policy, s.options.Policy = nil, nil // that of an embedded instance
	sp, err := s.space()
	if err != nil {
		return err
	}
	i := nnpolicy.NewInterface(s.model)
	i.File, i.Hidden = filepath.Base(name)+".nnet", o.Hidden
	var files []string
	result, failure := nnpolicy.Train(s.ctx, sp, starts.Draw, o, func(r nnpolicy.TrainReport, n *nnpolicy.Network) error {
		if n != nil {
			var err error
			if files, err = writePolicy(name, i, n); err != nil { // the first time before anything is learned
				return err
			}
		}
		e := &r.Evaluation
		s.bar.status("training: %d of %d episodes, %d steps; of %d greedy runs %d reach a goal, %d are unsafe",
			r.Episode, o.Episodes, r.Steps, e.Runs, e.Goal, e.Unsafe)
		if s.json {
			return s.printLine(r)
		}
		return nil
	})
	s.bar.clear()
	s.warnRemainders(sp.Stats().NegativeRemainders)
	if err := s.printTraining(&result, files, &o); err != nil {
		return err
	}
	return failure
}

// printTraining prints what has been learned, if anything was written.
func (s *session) printTraining(r *nnpolicy.TrainResult, files []string, o *nnpolicy.TrainOptions) error {
	if len(files) == 0 {
		return nil
	}
	if s.json {
		return s.printLine(map[string]trainSummary{"summary": {
			Schema: "fuzzsafe.train/1", Model: s.modelReport(), Options: s.optionsReport(), Hidden: o.Hidden, Files: files,
			Best: r.Best, Random: r.Random, Fresh: r.Fresh, Episodes: r.Last.Episode, Steps: r.Last.Steps,
			Stopped: r.Stopped, Complete: r.Complete, Seconds: r.Seconds, memoryReport: peak(),
		}})
	}
	out := s.env.stdout
	fmt.Fprintf(out, "Wrote %s: the network after %d of %d episodes.\n", strings.Join(files, ", "), r.Best.Episode, r.Last.Episode)
	for _, line := range []struct {
		what string
		runs *nnpolicy.TrainRuns
	}{{"Greedy", &r.Best.Evaluation}, {"Greedy in other runs", &r.Fresh}, {"With random actions", &r.Random}} {
		if x := line.runs; x.Runs > 0 {
			fmt.Fprintf(out, "%s: %d of %d runs reach a goal, %d are unsafe, %d end at the step limit of %d, %d in a dead end.\n",
				line.what, x.Goal, x.Runs, x.Unsafe, x.StepLimit, o.MaxSteps, x.DeadEnd)
		}
	}
	fmt.Fprintf(out, "%d steps, %d updates, %.2f s.\n", r.Last.Steps, r.Last.Updates, r.Seconds)
	return nil
}

// writePolicy writes a policy in all formats and returns the names of the files.
func writePolicy(name string, i *nnpolicy.Interface, n *nnpolicy.Network) (files []string, err error) {
	for _, format := range []struct {
		ext   string
		write func(io.Writer) error
	}{{".jani2nnet", i.Write}, {".nnet", n.WriteNNet}, {".onnx", n.WriteONNX}} {
		var text bytes.Buffer
		if err := format.write(&text); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name+format.ext, text.Bytes(), 0o666); err != nil {
			return nil, &badFile{err}
		}
		files = append(files, name+format.ext)
	}
	return files, nil
}
