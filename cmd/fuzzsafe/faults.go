package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// faultsReport is the JSON of “faults”.
type faultsReport struct {
	Schema  string                 `json:"schema"`
	Model   modelReport            `json:"model"`
	Options optionsReport          `json:"options"`
	Fuzz    *algorithms.FuzzReport `json:"fuzz,omitempty"` // unless paths were given
	algorithms.FaultsReport
	memoryReport
	Certificate string `json:"certificate,omitempty"` // file, if one was written
}

func faultFlags() []cli.Flag {
	return append(append(solverFlags(), fuzzFlags()...),
		&cli.BoolFlag{Name: "stop-at-first", Usage: "end the analysis of a path at its first fault"},
		&cli.StringFlag{Name: "order", Value: "reverse", Usage: "`ORDER` in which the states of a path are taken: reverse or forward"},
		&cli.IntFlag{Name: "max-severity", Value: 16, Usage: "largest severity of faults to tell apart from ∞; negative: none"},
		&cli.IntFlag{Name: "severity-effort", Value: algorithms.DefaultSeverityEffort, Usage: "bound on the search for one severity; negative: none"},
		&cli.BoolFlag{Name: "fresh", Usage: "share nothing between the states of a path, to measure what sharing saves"},
	)
}

func (env *environment) faultsCommand() *cli.Command {
	return &cli.Command{
		Name: "faults", Usage: "find the decisions that are to blame for unsafe runs", ArgsUsage: "MODEL",
		Description: "Analyses the unsafe runs of --paths, or of a fuzzing campaign.",
		Flags: commonFlags(append(faultFlags(),
			&cli.StringFlag{Name: "paths", Usage: "analyse the unsafe runs in `FILE`, as “fuzz --output” writes them"},
			certificateFlag())...),
		Action: func(c *cli.Context) error {
			s, err := env.open(c, true)
			if err != nil {
				return err
			}
			defer s.cancel()
			return s.faults()
		},
	}
}

func (s *session) faultOptions() (o algorithms.FaultOptions, err error) {
	if o.Solver, o.Radius, err = s.decision(); err != nil {
		return o, err
	}
	switch order := s.flags.String("order"); order {
	case "forward":
		o.Forward = true
	case "reverse":
	default:
		return o, usage("--order %s: it is reverse or forward", order)
	}
	o.StopAtFirst, o.Fresh = s.flags.Bool("stop-at-first"), s.flags.Bool("fresh")
	if o.MaxSeverity = algorithms.Radius(s.flags.Int("max-severity")); o.MaxSeverity > algorithms.MaxRadius {
		return o, usage("--max-severity %d: it is at most %d", o.MaxSeverity, algorithms.MaxRadius)
	}
	o.SeverityEffort = s.flags.Int("severity-effort")
	if s.policy == nil {
		o.MaxSeverity = -1 // nothing to deviate from
	}
	return o, nil
}

func (s *session) faults() error {
	options, err := s.faultOptions()
	if err != nil {
		return err
	}
	cert, err := s.certificateFile(true)
	if err != nil {
		return err
	}
	if cert != "" {
		if err := s.needPolicy("a certificate of faults"); err != nil {
			return err
		}
	}
	r := faultsReport{Schema: "fuzzsafe.faults/1"}
	var sp *engine.Space
	var runs []algorithms.Run
	var failure error
	if file := s.flags.String("paths"); file != "" {
		if sp, err = s.space(); err != nil {
			return err
		}
		if runs, err = s.readRuns(file, sp); err != nil {
			return err
		}
	} else {
		result, report := algorithms.CampaignResult{}, algorithms.FuzzReport{}
		if sp, result, report, failure = s.fuzz(); sp == nil {
			return failure
		}
		runs, r.Fuzz = result.Runs, &report
	}
	unsafe := unsafeRuns(runs)
	fork := func() *engine.Space { return sp.Fork(s.ctx, s.newPolicy()) }
	var details []algorithms.PathFaults
	r.FaultsReport, details, err = algorithms.FindFaults(s.ctx, sp, fork, unsafe, options, func(done, faults int) {
		s.bar.status("faults: %d of %d paths, %d distinct faults", done, len(unsafe), faults)
	})
	s.bar.clear()
	s.warnRemainders(sp.Stats().NegativeRemainders)
	if failure == nil {
		failure = err
	}
	written := ""
	if cert != "" {
		faults := make([]algorithms.Fault, len(r.Faults))
		for i := range faults {
			faults[i] = r.Fault(i)
		}
		if written, err = s.certify(cert, sp, options.Radius, nil, faults); err == nil {
			r.Certificate = cert
		} else if failure == nil {
			failure = err
		}
	}
	r.Model, r.Options, r.memoryReport = s.modelReport(), s.optionsReport(), peak()
	r.Complete = failure == nil // the runs, too
	s.env.found = len(unsafe) > 0
	if s.json {
		if err := s.printJSON(r); err != nil {
			return err
		}
		return failure
	}
	if r.Fuzz != nil {
		s.printFuzz(r.Fuzz)
	}
	s.printFaults(&r.FaultsReport)
	s.printExample(sp, unsafe, details, options)
	fmt.Fprint(s.env.stdout, written)
	return failure
}

func unsafeRuns(runs []algorithms.Run) []algorithms.Run {
	var list []algorithms.Run
	for i := range runs {
		if runs[i].End == algorithms.RunUnsafe {
			list = append(list, runs[i])
		}
	}
	return list
}

// readRuns reads runs as JSON Lines and replays them: each action must be applicable and,
// if there is a policy, be its decision; each next state must be an outcome.
func (s *session) readRuns(file string, sp *engine.Space) ([]algorithms.Run, error) {
	whole, err := readFile(file)
	if err != nil {
		return nil, err
	}
	var runs []algorithms.Run
	number := 0
	for line := range strings.Lines(whole.Text) {
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		src := &jani.Source{Name: whole.Name, Text: line, JSON: true, Before: number - 1}
		steps, err := s.model.ReadPath(src, s.limits)
		if err != nil {
			if e := (*jani.Error)(nil); errors.As(err, &e) && e.Hint == "" {
				e.Hint = "each line holds one path, as “fuzz --output” writes them"
			}
			return nil, err
		}
		run, err := s.resolve(sp, steps)
		if limitOf(err) != nil {
			return nil, err
		}
		if err != nil {
			return nil, &badFile{fmt.Errorf("%s:%d: the path is not a run of the policy in this model: %w", file, number, err)}
		}
		run.Index = len(runs)
		runs = append(runs, run)
	}
	if len(runs) == 0 {
		return nil, &badFile{fmt.Errorf("%s: there is no path in it (each line holds one, as “fuzz --output” writes them)", file)}
	}
	return runs, nil
}

func (s *session) resolve(sp *engine.Space, steps []jani.ListedStep) (run algorithms.Run, err error) {
	for _, step := range steps {
		id, err := sp.Intern(step.State)
		if err != nil {
			return run, err
		}
		run.States = append(run.States, id)
	}
	for i, step := range steps[:len(steps)-1] {
		n, err := sp.NumActions(run.States[i])
		if err != nil {
			return run, err
		}
		// In edge mode several actions may have one name: the first that leads on counts.
		found := -1
		for a := 0; a < n && found < 0; a++ {
			if sp.ActionName(run.States[i], a) == step.Action || s.model.Actions[sp.Action(run.States[i], a)] == step.Action {
				outcomes, err := sp.Outcomes(run.States[i], a)
				if err != nil {
					return run, err
				}
				for _, t := range outcomes {
					if t == run.States[i+1] {
						found = a
					}
				}
			}
		}
		if found < 0 {
			return run, &algorithms.ReplayError{Step: i, Msg: fmt.Sprintf("action %q is not applicable, or does not lead to the next state", step.Action)}
		}
		run.Actions = append(run.Actions, found)
		if s.policy == nil {
			continue
		}
		switch chosen, err := sp.Decision(run.States[i]); {
		case err != nil:
			return run, err
		case chosen >= 0 && chosen != found:
			return run, &algorithms.ReplayError{Step: i, Msg: fmt.Sprintf("the policy takes %q, not %q", sp.ActionName(run.States[i], chosen), step.Action)}
		}
	}
	run.End = algorithms.RunExhausted
	last, err := sp.Class(run.States[len(run.States)-1])
	if err != nil {
		return run, err
	}
	if last == engine.ClassUnsafe {
		run.End = algorithms.RunUnsafe
	}
	if s.policy != nil {
		_, err = algorithms.Replay(sp, run.Path)
	}
	return run, err
}

func (s *session) printFaults(r *algorithms.FaultsReport) {
	out := s.env.stdout
	fmt.Fprintf(out, "%d unsafe runs analysed (%s, radius %s, %s order): %d hold a fault, %d were unavoidable from their start.\n",
		r.PathCount, r.Solver, r.Radius, r.Order, r.WithFault, r.Unavoidable)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tstates\tsafe (bugs)\tnot safe\tundecided\tfaults\t")
	fmt.Fprintf(w, "on all runs\t%d\t%d\t%d\t%d\t%d\t\n", r.Total.States, r.Total.Safe, r.Total.Unsafe, r.Total.Unknown, r.Total.Faults)
	fmt.Fprintf(w, "distinct\t%d\t%d\t%d\t%d\t%d\t\n", r.Distinct.States, r.Distinct.Safe, r.Distinct.Unsafe, r.Distinct.Unknown, r.Distinct.Faults)
	w.Flush()
	if len(r.Distribution) > 0 {
		counts := map[string]int{}
		for _, d := range r.Distribution {
			counts[d.Severity] = d.Faults
		}
		printSeverities(out, counts)
	}
	fmt.Fprintf(out, "%d (state, action) pairs, %.2f s.\n", r.Pairs, r.Seconds)
}

// printSeverities prints how many states have which severity.
func printSeverities(out io.Writer, counts map[string]int) {
	var parts []string
	for _, row := range algorithms.SortSeverities(counts) {
		name := row.Severity
		switch name {
		case "":
			name = "not known"
		case "inf":
			name = "∞"
		}
		parts = append(parts, fmt.Sprintf("%s: %d", name, row.Faults))
	}
	fmt.Fprintf(out, "Severity (decisions that must change on a run): %s.\n", strings.Join(parts, ", "))
}

// printExample shows the shortest unsafe run with a fault.
func (s *session) printExample(sp *engine.Space, runs []algorithms.Run, details []algorithms.PathFaults, options algorithms.FaultOptions) {
	best := -1
	for i := range details {
		if len(details[i].Faults) > 0 && (best < 0 || len(runs[i].States) < len(runs[best].States)) {
			best = i
		}
	}
	if best < 0 {
		return
	}
	out := s.env.stdout
	run, detail := &runs[best], &details[best]
	at := map[int]bool{}
	for _, f := range detail.Faults {
		at[f.Index] = true
	}
	first := detail.Faults[0].Index
	from := max(0, first-6)
	fmt.Fprintf(out, "\nThe shortest unsafe run with a fault, run %d", run.Index)
	if from > 0 {
		fmt.Fprintf(out, ", from step %d on", from)
	}
	fmt.Fprintf(out, ":\n  %s\n", sp.Describe(run.States[from]))
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "  step\tstate is\tthe policy takes\twhich changes")
	const most = 24
	for i := from; i < len(run.States)-1; i++ {
		if i-from == most && len(run.States)-1-i > 2 {
			fmt.Fprintf(w, "  …\t\t\t(%d more steps)\n", len(run.States)-1-i)
			break
		}
		mark := map[algorithms.Verdict]string{algorithms.Safe: "safe", algorithms.Unsafe: "not safe", algorithms.Unknown: "?"}[detail.Verdicts[i]]
		if at[i] {
			mark = "safe: FAULT"
		}
		fmt.Fprintf(w, "  %d\t%s\t%s\t%s\n", i, mark, sp.ActionName(run.States[i], run.Actions[i]), s.changes(sp, run.States[i], run.States[i+1]))
	}
	fmt.Fprintf(w, "  %d\tUNSAFE\t\t\n", len(run.States)-1)
	w.Flush()
	f := detail.Faults[0]
	outcomes, err := sp.Outcomes(f.State, f.Action)
	if err != nil {
		return
	}
	fmt.Fprintf(out, "Step %d is a fault: ", first)
	if len(outcomes) == len(f.Unsafe) {
		fmt.Fprintf(out, "whatever %s leads to, no policy is sure to stay safe from there.\n", sp.ActionName(f.State, f.Action))
	} else {
		fmt.Fprintf(out, "%d of the %d outcomes of %s are states from which no policy is sure to stay safe.\n",
			len(f.Unsafe), len(outcomes), sp.ActionName(f.State, f.Action))
	}
	if options.Radius != algorithms.Infinite {
		return
	}
	d, err := algorithms.NewDecider(options.Solver, sp, algorithms.Infinite)
	if err != nil {
		return
	}
	safe, err := algorithms.SafeAlternatives(s.ctx, sp, d, f.State)
	if err != nil || len(safe) == 0 {
		return // a limit: the alternatives are not known
	}
	var names []string
	for _, i := range safe {
		names = append(names, sp.ActionName(f.State, i))
	}
	fmt.Fprintf(out, "Safe instead: %s.\n", strings.Join(names, ", "))
}

// changes lists the variables that differ between two states.
func (s *session) changes(sp *engine.Space, a, b engine.StateID) string {
	before, after := sp.Values(a), sp.Values(b)
	var parts []string
	for i := range before {
		if before[i] != after[i] {
			x := &s.model.Vars[i]
			parts = append(parts, fmt.Sprintf("%s: %s → %s", x.Name, x.Format(before[i]), x.Format(after[i])))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
