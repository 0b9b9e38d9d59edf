package algorithms

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fuzzsafe/engine"
)

// The reports are what the command prints as JSON; field names are the contract.

// FuzzReport sums up a campaign.
type FuzzReport struct {
	Strategy          string  `json:"strategy"`
	Lookahead         string  `json:"lookahead"`
	MaxSteps          int     `json:"max_steps"`
	Seed              uint64  `json:"seed"`
	Starts            string  `json:"starts"` // draw or each
	Runs              int     `json:"runs"`
	Unsafe            int     `json:"unsafe"`
	Exhausted         int     `json:"exhausted"`
	StepLimit         int     `json:"step_limit"`
	PolicyErrors      int     `json:"policy_errors"`
	Goals             int     `json:"goals"`               // of the exhausted runs, those that ended in a goal
	Steps             int64   `json:"steps"`               // of all runs
	UnsafePathStates  int64   `json:"unsafe_path_states"`  // on unsafe runs, before the unsafe state
	PolicyEvaluations int64   `json:"policy_evaluations"`  // distinct states in which the policy was asked
	Fallbacks         int64   `json:"fallback_decisions"`  // no applicable action has an output
	Ambiguous         int64   `json:"ambiguous_decisions"` // edge mode: several edges have the label
	NearTies          int64   `json:"near_tie_decisions"`  // the two best outputs are nearly equal
	Complete          bool    `json:"complete"`            // false if a limit or an error ended the campaign
	Seconds           float64 `json:"seconds"`
}

// NewFuzzReport sums up the result of a campaign over a Space.
func NewFuzzReport(sp *engine.Space, c Campaign, r CampaignResult, elapsed time.Duration, err error) FuzzReport {
	stats := sp.Stats()
	f := FuzzReport{
		Strategy: c.Fuzz.Strategy.String(), Lookahead: c.Fuzz.LookaheadName(), MaxSteps: c.Fuzz.MaxSteps,
		Seed: c.Fuzz.Seed, Starts: "draw", Runs: len(r.Runs),
		Unsafe: r.Ends[RunUnsafe], Exhausted: r.Ends[RunExhausted], StepLimit: r.Ends[RunStepLimit],
		PolicyErrors: r.Ends[RunPolicyError], Goals: r.Goals,
		PolicyEvaluations: stats.PolicyEvaluations, Fallbacks: stats.Fallbacks, Ambiguous: stats.Ambiguous,
		NearTies: stats.NearTies,
		Complete: err == nil, Seconds: elapsed.Seconds(),
	}
	if c.Each {
		f.Starts = "each"
	}
	for i := range r.Runs {
		n := int64(len(r.Runs[i].Actions))
		f.Steps += n
		if r.Runs[i].End == RunUnsafe {
			f.UnsafePathStates += n
		}
	}
	return f
}

// LookaheadName returns the lookahead as it is given on a command line: a number or "inf".
func (o FuzzOptions) LookaheadName() string {
	switch {
	case o.Strategy == Uniform:
		return "1"
	case o.Lookahead == 0:
		return "inf"
	}
	return strconv.Itoa(o.Lookahead)
}

// Counts counts states by verdict.
type Counts struct {
	States  int `json:"states"` // on the path, before the unsafe one
	Safe    int `json:"safe"`
	Unsafe  int `json:"unsafe"`
	Unknown int `json:"unknown"`
	Bugs    int `json:"bugs"`   // safe states in which the policy is not safe: all safe ones on an unsafe path
	Faults  int `json:"faults"` // places on the path where the decision is a fault
}

// PathReport is the fault analysis of one path.
type PathReport struct {
	Run int `json:"run"`
	Counts
	Unavoidable bool         `json:"unavoidable"` // not even the first state is safe
	FaultAt     []FaultPlace `json:"fault_at"`
}

// FaultPlace says which fault is at which step of a path; steps count from 0.
type FaultPlace struct {
	Step  int `json:"step"`
	Fault int `json:"fault"` // index into FaultsReport.Faults
}

// OutcomeReport is one outcome of a fault's decision.
type OutcomeReport struct {
	State   json.RawMessage `json:"state"`
	Verdict string          `json:"verdict"`
}

// FaultReport is one distinct fault.
type FaultReport struct {
	State    json.RawMessage `json:"state"`
	Action   string          `json:"action"`
	Outcomes []OutcomeReport `json:"outcomes"`
	// Severity is the least number of decisions that must change on a run: a number,
	// "inf", ">N", or "" if it was not computed.
	Severity string `json:"severity"`
	Places   int    `json:"places"` // on how many places of all paths it occurs
	// Alternatives are the other applicable actions all of whose outcomes are safe;
	// only where they were asked for, and for the radius ∞.
	Alternatives []string `json:"safe_alternatives,omitempty"`

	fault Fault
}

// FaultsReport is the fault analysis of many paths.
type FaultsReport struct {
	Solver       string        `json:"solver"`
	Radius       string        `json:"radius"`
	Order        string        `json:"order"`
	StopAtFirst  bool          `json:"stop_at_first"`
	PathCount    int           `json:"path_count"`
	Unavoidable  int           `json:"unavoidable_paths"`
	WithFault    int           `json:"paths_with_fault"`
	Total        Counts        `json:"total"`
	Distinct     Counts        `json:"distinct"`   // every state counted once
	Distribution []SeverityRow `json:"severities"` // of the distinct faults
	Faults       []FaultReport `json:"faults"`     // distinct, in order of discovery
	Paths        []PathReport  `json:"paths"`      // in the given order
	Pairs        int64         `json:"pairs"`      // (state, action) pairs that deciding generated
	Complete     bool          `json:"complete"`   // false if a limit or an error ended the analysis
	Seconds      float64       `json:"seconds"`    // of the analysis
}

// SeverityRow counts the distinct faults of one severity.
type SeverityRow struct {
	Severity string `json:"severity"`
	Faults   int    `json:"faults"`
}

// Fault returns the fault that report i describes.
func (r *FaultsReport) Fault(i int) Fault { return r.Faults[i].fault }

// FindFaults analyses unsafe runs one after the other with one shared cache. progress, if
// not nil, is called after each. On an error the report covers what was done before it.
func FindFaults(ctx context.Context, sp *engine.Space, fork func() *engine.Space, runs []Run, options FaultOptions, progress func(done, faults int)) (FaultsReport, []PathFaults, error) {
	a, err := NewFaultAnalysis(sp, fork, options)
	if err != nil {
		return FaultsReport{}, nil, err
	}
	start := time.Now()
	r := FaultsReport{Solver: a.options.Solver, Radius: options.Radius.String(), Order: "reverse", StopAtFirst: options.StopAtFirst,
		Distribution: []SeverityRow{}, Faults: []FaultReport{}, Paths: []PathReport{}}
	if options.Forward {
		r.Order = "forward"
	}
	var details []PathFaults
	numbers := map[engine.StateID]int{} // state of a fault → its index
	seen := map[engine.StateID]bool{}
	for _, run := range runs {
		var one PathFaults
		one, err = a.Path(ctx, run.Path)
		details = append(details, one)
		p := PathReport{Run: run.Index, Unavoidable: one.Unavoidable, FaultAt: []FaultPlace{}}
		for i, v := range one.Verdicts {
			s := run.States[i]
			p.count(v)
			if !seen[s] && v != Unknown {
				seen[s] = true
				r.Distinct.count(v)
			}
		}
		for _, f := range one.Faults {
			n, known := numbers[f.State]
			if !known {
				n = len(r.Faults)
				numbers[f.State] = n
				r.Faults = append(r.Faults, describeFault(sp, f.Fault))
				r.Distinct.Faults++
				if n < options.Alternatives && options.Radius == Infinite && err == nil {
					r.Faults[n].Alternatives, err = a.alternatives(ctx, f.State)
				}
			}
			r.Faults[n].Places++
			p.FaultAt = append(p.FaultAt, FaultPlace{f.Index, n})
			p.Faults++
		}
		r.Total.add(p.Counts)
		r.Unavoidable += btoi(p.Unavoidable)
		r.WithFault += btoi(p.Faults > 0)
		r.Paths = append(r.Paths, p)
		r.PathCount++
		if err != nil {
			break
		}
		if progress != nil {
			progress(r.PathCount, len(r.Faults))
		}
	}
	if options.MaxSeverity >= 0 {
		r.distribution()
	}
	r.Pairs = a.Stats().Pairs
	r.Complete = err == nil
	r.Seconds = time.Since(start).Seconds()
	return r, details, err
}

func (c *Counts) count(v Verdict) {
	c.States++
	switch v {
	case Safe:
		c.Safe++
		c.Bugs++
	case Unsafe:
		c.Unsafe++
	default:
		c.Unknown++
	}
}

func (c *Counts) add(d Counts) {
	c.States += d.States
	c.Safe += d.Safe
	c.Unsafe += d.Unsafe
	c.Unknown += d.Unknown
	c.Bugs += d.Bugs
	c.Faults += d.Faults
}

func (r *FaultsReport) distribution() {
	count := map[string]int{}
	for i := range r.Faults {
		count[r.Faults[i].Severity]++
	}
	r.Distribution = SortSeverities(count)
}

// SortSeverities lists counts by severity: numbers, then >N, then inf, then others.
func SortSeverities(count map[string]int) []SeverityRow {
	rank := func(s string) int {
		n, err := strconv.Atoi(s)
		switch {
		case err == nil:
			return n
		case strings.HasPrefix(s, ">"):
			return math.MaxInt - 2
		case s == "inf":
			return math.MaxInt - 1
		}
		return math.MaxInt
	}
	rows := []SeverityRow{}
	for s, n := range count {
		rows = append(rows, SeverityRow{s, n})
	}
	slices.SortFunc(rows, func(a, b SeverityRow) int {
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), cmp.Compare(a.Severity, b.Severity))
	})
	return rows
}

func describeFault(sp *engine.Space, f Fault) FaultReport {
	r := FaultReport{State: stateJSON(sp, f.State), Action: sp.ActionName(f.State, f.Action), Severity: f.Severity.String(), fault: f}
	outcomes, err := sp.Outcomes(f.State, f.Action)
	if err != nil { // they were generated to find the fault
		return r
	}
	for _, t := range outcomes {
		v := Safe
		if slices.Contains(f.Unsafe, t) {
			v = Unsafe
		}
		r.Outcomes = append(r.Outcomes, OutcomeReport{stateJSON(sp, t), v.String()})
	}
	return r
}

func stateJSON(sp *engine.Space, s engine.StateID) json.RawMessage {
	return sp.Model().AppendJSON(nil, sp.Values(s))
}

// alternatives returns the names of the safe alternatives in s.
func (a *FaultAnalysis) alternatives(ctx context.Context, s engine.StateID) ([]string, error) {
	safe, err := SafeAlternatives(ctx, a.sp, a.decider, s)
	names := []string{}
	for _, i := range safe {
		names = append(names, a.sp.ActionName(s, i))
	}
	return names, err
}

// SafeAlternatives returns the applicable actions of s all of whose outcomes are safe;
// decider is for the radius ∞.
func SafeAlternatives(ctx context.Context, sys System, decider Decider, s engine.StateID) ([]int, error) {
	n, err := sys.NumActions(s)
	if err != nil {
		return nil, err
	}
	var safe []int
next:
	for i := range n {
		outcomes, err := sys.Outcomes(s, i)
		if err != nil {
			return safe, err
		}
		for _, t := range outcomes {
			a, err := decider.Decide(ctx, t)
			if err != nil {
				return safe, err
			}
			if a.Verdict != Safe {
				continue next
			}
		}
		safe = append(safe, i)
	}
	return safe, nil
}
