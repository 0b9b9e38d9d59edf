package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
)

// fuzzFlags are those of every command that makes runs.
func fuzzFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "runs", Aliases: []string{"n"}, Value: 1000, Usage: "make `N` runs"},
		&cli.StringFlag{Name: "strategy", Value: "greedy", Usage: "`NAME` of how a run goes on: greedy, sampling or uniform"},
		&cli.StringFlag{Name: "lookahead", Value: "inf", Usage: "layers of the policy graph to look at, `N` or inf; uniform looks at 1"},
		&cli.IntFlag{Name: "max-steps", Value: 1000, Usage: "end a run after `N` steps"},
		&cli.StringFlag{Name: "starts", Value: "draw", Usage: "`HOW` runs start: draw (each in a random start state) or each (one run from every start state)"},
	}
}

// fuzzReport is the JSON of “fuzz”.
type fuzzReport struct {
	Schema  string        `json:"schema"`
	Model   modelReport   `json:"model"`
	Options optionsReport `json:"options"`
	algorithms.FuzzReport
	memoryReport
}

func (env *environment) fuzzCommand() *cli.Command {
	return &cli.Command{
		Name: "fuzz", Usage: "make runs of the policy that tend towards the unsafe condition", ArgsUsage: "MODEL",
		Flags: commonFlags(append(fuzzFlags(),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write the unsafe runs to `FILE` as JSON Lines (- for standard output)"},
			&cli.BoolFlag{Name: "all-paths", Usage: "with --output: write all runs"},
		)...),
		Action: func(c *cli.Context) error {
			s, err := env.open(c, true)
			if err != nil {
				return err
			}
			defer s.cancel()
			if file := c.String("output"); file != "" && file != "-" {
				if err := os.WriteFile(file, nil, 0o666); err != nil { // better now than after the runs
					return &badFile{err}
				}
			}
			sp, result, report, err := s.fuzz()
			s.bar.clear()
			if sp == nil {
				return err
			}
			env.found = report.Unsafe > 0
			if file := c.String("output"); file != "" {
				if err := s.writeRuns(file, sp, result.Runs, c.Bool("all-paths")); err != nil {
					return err
				}
				if file == "-" {
					return err
				}
			}
			if s.json {
				if err := s.printJSON(fuzzReport{"fuzzsafe.fuzz/1", s.modelReport(), s.optionsReport(), report, peak()}); err != nil {
					return err
				}
				return err
			}
			s.printFuzz(&report)
			return err
		},
	}
}

// readCampaign reads the flags that say how runs are made, but for the strategy and the
// lookahead, which are given.
func readCampaign(flags *cli.Context, strategy, lookahead string) (algorithms.Campaign, error) {
	c := algorithms.Campaign{Runs: flags.Int("runs")}
	var err error
	if c.Fuzz.Strategy, err = algorithms.ParseStrategy(strategy); err != nil {
		return c, usage("--strategy: %v", err)
	}
	if lookahead != "inf" && lookahead != "∞" {
		if c.Fuzz.Lookahead, err = strconv.Atoi(lookahead); err != nil || c.Fuzz.Lookahead < 1 {
			return c, usage("--lookahead %s: it is at least 1, or inf", lookahead)
		}
	}
	if c.Fuzz.MaxSteps = flags.Int("max-steps"); c.Fuzz.MaxSteps < 1 {
		return c, usage("--max-steps %d: it is at least 1", c.Fuzz.MaxSteps)
	}
	if c.Runs < 1 {
		return c, usage("--runs %d: it is at least 1", c.Runs)
	}
	switch starts := flags.String("starts"); starts {
	case "draw":
	case "each":
		c.Each = true
	default:
		return c, usage("--starts %s: it is draw or each", starts)
	}
	c.Fuzz.Seed = flags.Uint64("seed")
	return c, nil
}

// fuzz makes the runs that the flags ask for. The Space is nil if there are none to
// report.
func (s *session) fuzz() (*engine.Space, algorithms.CampaignResult, algorithms.FuzzReport, error) {
	var result algorithms.CampaignResult
	var report algorithms.FuzzReport
	if err := s.needPolicy("fuzzing"); err != nil {
		return nil, result, report, err
	}
	c, err := readCampaign(s.flags, s.flags.String("strategy"), s.flags.String("lookahead"))
	if err != nil {
		return nil, result, report, err
	}
	c.Workers, c.NewPolicy = s.workers, s.newPolicy
	starts, err := algorithms.NewStarts(s.model, s.task.Start, algorithms.StartsOptions{})
	if err != nil {
		return nil, result, report, err
	}
	sp, err := s.space()
	if err != nil {
		return nil, result, report, err
	}
	start := time.Now()
	c.Progress = func(done, unsafe int) { s.bar.status("fuzzing: %d runs, %d unsafe", done, unsafe) }
	result, err = algorithms.RunCampaign(s.ctx, sp, starts, c)
	if err != nil && len(result.Runs) == 0 && limitOf(err) == nil {
		return nil, result, report, err
	}
	report = algorithms.NewFuzzReport(sp, c, result, time.Since(start), err)
	return sp, result, report, err
}

func (s *session) printFuzz(r *algorithms.FuzzReport) {
	out := s.env.stdout
	fmt.Fprintf(out, "%d of %d runs reach the unsafe condition (%s, lookahead %s, seed %d).\n", r.Unsafe, r.Runs, r.Strategy, r.Lookahead, r.Seed)
	fmt.Fprintf(out, "The others: %d exhausted (%d of them at a goal), %d at the step limit of %d.\n", r.Exhausted, r.Goals, r.StepLimit, r.MaxSteps)
	if r.PolicyErrors > 0 {
		fmt.Fprintf(out, "%d runs ended where the policy chose an action that is not applicable.\n", r.PolicyErrors)
	}
	if r.Fallbacks > 0 {
		fmt.Fprintf(out, "In %d states no applicable action had an output; the first one was taken.\n", r.Fallbacks)
	}
	if r.Ambiguous > 0 {
		fmt.Fprintf(out, "In %d states several edges had the label that the policy chose; the first one was taken.\n", r.Ambiguous)
	}
	if r.NearTies > 0 {
		fmt.Fprintf(out, "In %d states the policy's two best outputs differ by at most a millionth; rounding may decide them elsewhere.\n", r.NearTies)
	}
	fmt.Fprintf(out, "%d steps, %d policy evaluations, %.2f s.\n", r.Steps, r.PolicyEvaluations, r.Seconds)
}

// runLine is a run as a line of JSON.
type runLine struct {
	Run     int               `json:"run"`
	End     string            `json:"end"`
	Goal    bool              `json:"goal"`
	States  []json.RawMessage `json:"states"`
	Actions []string          `json:"actions"`
}

// writeRuns writes runs as JSON Lines; they are readable by “faults --paths”.
func (s *session) writeRuns(file string, sp *engine.Space, runs []algorithms.Run, all bool) (err error) {
	var out io.Writer = s.env.stdout
	if file != "-" {
		f, err := os.Create(file)
		if err != nil {
			return &badFile{err}
		}
		defer func() {
			if closeErr := f.Close(); err == nil && closeErr != nil {
				err = &badFile{closeErr}
			}
		}()
		out = f
	}
	w := bufio.NewWriter(out)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := range runs {
		r := &runs[i]
		if !all && r.End != algorithms.RunUnsafe {
			continue
		}
		line := runLine{Run: r.Index, End: r.End.String(), Goal: r.Goal, Actions: []string{}}
		for _, x := range r.States {
			line.States = append(line.States, s.model.AppendJSON(nil, sp.Values(x)))
		}
		for k, a := range r.Actions {
			line.Actions = append(line.Actions, sp.ActionName(r.States[k], a))
		}
		if err := e.Encode(line); err != nil {
			return &badFile{err}
		}
	}
	if err := w.Flush(); err != nil {
		return &badFile{err}
	}
	return nil
}
