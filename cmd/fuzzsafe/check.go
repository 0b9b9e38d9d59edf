package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// checkLine is the verdict on one state.
type checkLine struct {
	Index    int     `json:"index"`
	Verdict  string  `json:"verdict"`
	Severity string  `json:"severity"` // "" unless asked for
	Expected string  `json:"expected,omitempty"`
	Seconds  float64 `json:"seconds"`
}

// checkSummary closes the verdicts.
type checkSummary struct {
	Schema  string        `json:"schema"`
	Model   modelReport   `json:"model"`
	Options optionsReport `json:"options"`
	Solver  string        `json:"solver"`
	Radius  string        `json:"radius"`

	States   int     `json:"states"`
	Safe     int     `json:"safe"`
	Unsafe   int     `json:"unsafe"`
	Unknown  int     `json:"unknown"`
	Expected int     `json:"expected"` // states for which the file says what it expects
	Disagree int     `json:"disagree"` // of these, those decided otherwise
	Pairs    int64   `json:"pairs"`    // (state, action) pairs generated
	Stored   int64   `json:"stored_states"`
	Seconds  float64 `json:"seconds"`
	memoryReport
	Certificate string `json:"certificate,omitempty"` // file, if one was written
	Complete    bool   `json:"complete"`
}

func (s *checkSummary) count(v algorithms.Verdict) {
	s.States++
	switch v {
	case algorithms.Safe:
		s.Safe++
	case algorithms.Unsafe:
		s.Unsafe++
	default:
		s.Unknown++
	}
}

func solverFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "solver", Value: algorithms.DeciderNames()[0], Usage: "`NAME` of the algorithm: " + joinNames(algorithms.DeciderNames())},
		&cli.StringFlag{Name: "radius", Value: "inf", Usage: "deviations from the policy allowed on a run, `N` or inf"},
	}
}

// stateFlags say which states are decided, and what is shared between them.
func stateFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "states", Usage: "decide the states listed in `FILE`"},
		&cli.IntFlag{Name: "draw", Aliases: []string{"n"}, Usage: "decide `N` start states drawn at random instead of all"},
		&cli.IntFlag{Name: "first", Usage: "decide only the first `N` of the states (default: all)"},
		&cli.BoolFlag{Name: "fresh", Usage: "share nothing between the states, to measure what sharing saves"},
		&cli.Int64Flag{Name: "max-states", Usage: "end when `N` states are stored (default: no limit)"},
	}
}

func joinNames(names []string) string {
	s := ""
	for i, n := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			s += " or "
		default:
			s += ", "
		}
		s += n
	}
	return s
}

func (env *environment) checkCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "decide whether states are safe", ArgsUsage: "MODEL",
		Description: "Decides the states of --states, or else all start states.",
		Flags: commonFlags(append(append(solverFlags(), stateFlags()...),
			&cli.BoolFlag{Name: "severity", Usage: "also find how many decisions of the policy must change"},
			&cli.IntFlag{Name: "max-severity", Value: 16, Usage: "largest severity to tell apart from ∞"},
			&cli.IntFlag{Name: "severity-effort", Value: -1, Usage: "bound on the search for one severity; negative: none"},
			certificateFlag(),
			&cli.StringFlag{Name: "safe-policy", Usage: "write a policy that is safe in all states found safe to `FILE`, as a table for --policy"},
		)...),
		Action: func(c *cli.Context) error {
			s, err := env.open(c, true)
			if err != nil {
				return err
			}
			defer s.cancel()
			return s.check()
		},
	}
}

// decision reads the flags of a decider.
func (s *session) decision() (solver string, radius algorithms.Radius, err error) {
	solver = s.flags.String("solver")
	known := algorithms.DeciderNames()
	if hint := jani.DidYouMean(solver, known); !contains(known, solver) {
		if hint == "" {
			hint = "it is " + joinNames(known)
		}
		return solver, radius, usage("--solver %s: unknown (%s)", solver, hint)
	}
	if radius, err = algorithms.ParseRadius(s.flags.String("radius")); err != nil {
		return solver, radius, usage("--radius: %v", err)
	}
	if radius != algorithms.Infinite {
		err = s.needPolicy("a finite radius")
	}
	return solver, radius, err
}

func contains(list []string, x string) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// states returns the states to decide.
func (s *session) states() ([]jani.ListedState, error) {
	if file := s.flags.String("states"); file != "" {
		src, err := readFile(file)
		if err != nil {
			return nil, err
		}
		return s.model.ReadStates(src, s.opener(""), s.limits)
	}
	starts, err := algorithms.NewStarts(s.model, s.task.Start, algorithms.StartsOptions{})
	if err != nil {
		return nil, err
	}
	var list []jani.ListedState
	n := s.flags.Int("draw")
	if n < 0 {
		return nil, usage("--draw %d: it is positive", n)
	}
	if n > 0 {
		rng := rand.New(rand.NewPCG(s.seed, 0))
		for range n {
			values, err := starts.Draw(rng)
			if err != nil {
				return nil, err
			}
			list = append(list, jani.ListedState{Values: values})
		}
		return list, nil
	}
	if n, exact := starts.Count(); n == nil || exact && (!n.IsInt64() || n.Int64() > 10_000_000) {
		return nil, usage("there are too many start states to decide them all; give --draw N or --states FILE")
	}
	for values, err := range starts.All() {
		if err != nil {
			return nil, err
		}
		list = append(list, jani.ListedState{Values: values})
	}
	return list, nil
}

func (s *session) check() error {
	solver, radius, err := s.decision()
	if err != nil {
		return err
	}
	if s.flags.Bool("severity") {
		if err := s.needPolicy("the severity"); err != nil {
			return err
		}
	}
	if s.options.Limits.MaxStates = s.flags.Int64("max-states"); s.options.Limits.MaxStates < 0 {
		return usage("--max-states %d: it is positive", s.options.Limits.MaxStates)
	}
	file, err := s.certificateFile(radius != algorithms.Infinite)
	if err != nil {
		return err
	}
	policyFile := s.flags.String("safe-policy")
	if policyFile != "" && filepath.Ext(policyFile) != ".json" {
		return usage("--safe-policy %s: the name of a table ends in .json", policyFile)
	}
	list, err := s.states()
	if err != nil {
		return err
	}
	switch first := s.flags.Int("first"); {
	case first < 0:
		return usage("--first %d: it is positive", first)
	case first > 0 && first < len(list):
		list = list[:first]
	}
	sp, err := s.space()
	if err != nil {
		return err
	}
	c := stateChecker{s: s, sp: sp}
	if c.decider, err = algorithms.NewDecider(solver, sp, radius); err != nil {
		return err
	}
	c.severities, err = algorithms.NewFaultAnalysis(sp, nil, algorithms.FaultOptions{Solver: solver, Radius: algorithms.Infinite,
		MaxSeverity: algorithms.Radius(s.flags.Int("max-severity")), SeverityEffort: s.flags.Int("severity-effort")})
	if err != nil {
		return usage("--max-severity: %v", err)
	}
	var sum checkSummary
	var spent time.Duration
	var failure error
	var claims []checked
	distribution := map[string]int{}
	for i, state := range list {
		line := checkLine{Index: i}
		began := time.Now()
		var verdict algorithms.Verdict
		if failure == nil { // behind a failure all is unknown, and is said to be
			verdict, line.Severity, failure = c.check(state.Values)
			if (file != "" || policyFile != "") && verdict != algorithms.Unknown {
				var id engine.StateID
				if id, err = sp.Intern(state.Values); err != nil && failure == nil {
					failure = err
				}
				if err == nil {
					claims = append(claims, checked{i, algorithms.Claim{State: id, Verdict: verdict}})
				}
			}
		}
		elapsed := time.Since(began)
		spent += elapsed
		line.Verdict, line.Seconds = verdict.String(), elapsed.Seconds()
		sum.count(verdict)
		if state.Safe != nil && radius == algorithms.Infinite { // “safe” says nothing about finite radii
			line.Expected = map[bool]string{true: "safe", false: "unsafe"}[*state.Safe]
			sum.Expected++
			if verdict != algorithms.Unknown && line.Expected != line.Verdict {
				sum.Disagree++
			}
		}
		distribution[line.Severity]++
		if s.json {
			if err := s.printLine(line); err != nil {
				return err
			}
		}
		s.bar.status("deciding: %d of %d states, %d not safe", i+1, len(list), sum.Unsafe)
	}
	s.bar.clear()
	pairs, stored, remainders := c.cost()
	s.warnRemainders(remainders)
	sum.Schema, sum.Model, sum.Options = "fuzzsafe.check/1", s.modelReport(), s.optionsReport()
	sum.Solver, sum.Radius = solver, radius.String()
	sum.Pairs, sum.Stored, sum.Seconds = pairs, stored, spent.Seconds()
	written := ""
	if file != "" {
		if written, err = s.certify(file, sp, radius, claims, nil); err == nil {
			sum.Certificate = file
		} else if failure == nil {
			failure = err
		}
	}
	if policyFile != "" {
		var sentence string
		if sentence, err = s.exportPolicy(policyFile, sp, radius, claims); err != nil && failure == nil {
			failure = err
		}
		written += sentence
	}
	sum.memoryReport, sum.Complete = peak(), failure == nil
	s.env.found, s.env.undecided = sum.Unsafe > 0, sum.Unknown > 0
	if s.json {
		if err := s.printLine(map[string]checkSummary{"summary": sum}); err != nil {
			return err
		}
		return failure
	}
	out := s.env.stdout
	kind := "safe"
	if radius != algorithms.Infinite {
		kind = radius.String() + "-safe"
	}
	fmt.Fprintf(out, "%d states: %d %s, %d not, %d undecided (%s).\n", sum.States, sum.Safe, kind, sum.Unsafe, sum.Unknown, solver)
	if sum.Expected > 0 {
		fmt.Fprintf(out, "%d of %d expected verdicts are confirmed, %d are not.\n", sum.Expected-sum.Disagree-sum.Unknown, sum.Expected, sum.Disagree)
	}
	if s.flags.Bool("severity") {
		printSeverities(out, distribution)
	}
	fmt.Fprintf(out, "%d (state, action) pairs, %d states stored, %.2f s.\n", sum.Pairs, sum.Stored, sum.Seconds)
	fmt.Fprint(out, written)
	return failure
}

// stateChecker decides one state after the other; all share one decider and its Space,
// unless --fresh is given.
type stateChecker struct {
	s          *session
	sp         *engine.Space
	decider    algorithms.Decider
	severities *algorithms.FaultAnalysis
	// What is gone with the deciders and Spaces of single states, in sum.
	pairs, stored, remainders int64
}

func (c *stateChecker) check(values []jani.Value) (verdict algorithms.Verdict, severity string, err error) {
	if c.s.flags.Bool("fresh") {
		verdict, err = c.decideFresh(values)
	} else {
		verdict, err = c.decide(c.sp, c.decider, values)
	}
	if err != nil || !c.s.flags.Bool("severity") {
		return verdict, "", err
	}
	id, err := c.sp.Intern(values)
	if err != nil {
		return verdict, "", err
	}
	v, err := c.severities.Severity(c.s.ctx, id)
	if err != nil {
		// The verdict stands; only the severity is not known.
		if limitOf(err) != nil {
			return verdict, "", err
		}
	}
	if v.Kind == algorithms.SeverityNone {
		return verdict, "none", err
	}
	return verdict, v.String(), err
}

func (c *stateChecker) decide(sp *engine.Space, d algorithms.Decider, values []jani.Value) (algorithms.Verdict, error) {
	id, err := sp.Intern(values)
	if err != nil {
		return algorithms.Unknown, err
	}
	a, err := d.Decide(c.s.ctx, id)
	return a.Verdict, err
}

// decideFresh decides with a decider and a Space of the state's own.
func (c *stateChecker) decideFresh(values []jani.Value) (algorithms.Verdict, error) {
	sp := c.sp.Fork(c.s.ctx, c.s.newPolicy())
	d, err := algorithms.NewDecider(c.decider.Name(), sp, c.decider.Radius())
	if err != nil {
		return algorithms.Unknown, err
	}
	v, err := c.decide(sp, d, values)
	c.pairs += d.Stats().Pairs
	c.stored += sp.Stats().States
	c.remainders += sp.Stats().NegativeRemainders
	return v, err
}

// cost returns the (state, action) pairs that were generated for the verdicts, the states
// that were stored, each as often as it was, and the remainders to warn about.
func (c *stateChecker) cost() (pairs, stored, remainders int64) {
	return c.pairs + c.decider.Stats().Pairs, c.stored + c.sp.Stats().States, c.remainders + c.sp.Stats().NegativeRemainders
}
