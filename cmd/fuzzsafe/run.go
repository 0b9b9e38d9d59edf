package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
)

// runReport is the JSON of “run”.
type runReport struct {
	Schema   string                   `json:"schema"`
	Model    modelReport              `json:"model"`
	Options  optionsReport            `json:"options"`
	Verdict  string                   `json:"verdict"` // the first sentence of the text
	Fuzz     algorithms.FuzzReport    `json:"fuzz"`
	States   runStates                `json:"states"`
	Faults   []algorithms.FaultReport `json:"faults"`
	Analysis algorithms.FaultsReport  `json:"analysis"`
	Timing   runTiming                `json:"timing"`
}

// runStates counts the distinct states on the unsafe runs, before the unsafe one.
type runStates struct {
	algorithms.Counts
	UnsafeRuns  int `json:"unsafe_runs"`
	Avoidable   int `json:"avoidable_runs"`   // whose first state is safe
	Unavoidable int `json:"unavoidable_runs"` // whose first state is not
}

type runTiming struct {
	Fuzz   float64 `json:"fuzz_seconds"`
	Faults float64 `json:"faults_seconds"`
	Total  float64 `json:"total_seconds"`
	memoryReport
}

func (env *environment) runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "the main job: fuzz the policy, decide what could have been avoided, localise the faults", ArgsUsage: "MODEL",
		Flags: commonFlags(faultFlags()...),
		Action: func(c *cli.Context) error {
			s, err := env.open(c, true)
			if err != nil {
				return err
			}
			defer s.cancel()
			return s.run()
		},
	}
}

func (s *session) run() error {
	start := time.Now()
	options, err := s.faultOptions()
	if err != nil {
		return err
	}
	if s.json {
		options.Alternatives = 100
	}
	sp, result, report, failure := s.fuzz()
	if sp == nil {
		return failure
	}
	unsafe := unsafeRuns(result.Runs)
	fork := func() *engine.Space { return sp.Fork(s.ctx, s.newPolicy()) }
	analysis, details, err := algorithms.FindFaults(s.ctx, sp, fork, unsafe, options, func(done, faults int) {
		s.bar.status("faults: %d of %d unsafe runs, %d distinct faults", done, len(unsafe), faults)
	})
	if failure == nil {
		failure = err
	}
	s.bar.clear()
	s.warnRemainders(sp.Stats().NegativeRemainders)
	s.env.found = len(unsafe) > 0
	r := runReport{
		Schema: "fuzzsafe.run/1", Model: s.modelReport(), Options: s.optionsReport(), Fuzz: report, Faults: analysis.Faults,
		States:   runStates{analysis.Distinct, len(unsafe), analysis.PathCount - analysis.Unavoidable, analysis.Unavoidable},
		Verdict:  sentence(&report, &analysis),
		Analysis: analysis,
		Timing:   runTiming{report.Seconds, analysis.Seconds, time.Since(start).Seconds(), peak()},
	}
	r.Analysis.Faults = nil // they stand in Faults
	if s.json {
		if err := s.printJSON(r); err != nil {
			return err
		}
		return failure
	}
	fmt.Fprintln(s.env.stdout, r.Verdict)
	s.printFuzz(&report)
	if len(unsafe) > 0 {
		s.printFaults(&analysis)
		s.printExample(sp, unsafe, details, options)
	}
	return failure
}

// sentence is the verdict in one sentence.
func sentence(f *algorithms.FuzzReport, a *algorithms.FaultsReport) string {
	switch {
	case f.Unsafe == 0 && f.Complete:
		return fmt.Sprintf("No unsafe run was found in %d runs; that is no proof of safety (“fuzzsafe check --radius 0” gives one).", f.Runs)
	case f.Unsafe == 0:
		return fmt.Sprintf("No unsafe run was found in the %d runs that were made.", f.Runs)
	}
	text := fmt.Sprintf("The policy is unsafe: %d of %d runs reach the unsafe condition", f.Unsafe, f.Runs)
	if !a.Complete {
		return text + "; the analysis of their faults was not completed."
	}
	return text + fmt.Sprintf(", %d of which could have been avoided; %d decisions are to blame.", a.PathCount-a.Unavoidable, a.Distinct.Faults)
}
