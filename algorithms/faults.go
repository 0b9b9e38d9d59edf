package algorithms

import (
	"context"
	"errors"
	"fmt"
	"math"

	"fuzzsafe/engine"
)

// FaultOptions configures a fault analysis.
type FaultOptions struct {
	// Solver is one of DeciderNames, "" for the default.
	Solver string
	// Radius of the safety that is asked for: r-bugs and r-faults, or Infinite.
	Radius Radius
	// StopAtFirst ends the analysis of a path at the first fault that it finds.
	StopAtFirst bool
	// Forward takes the states of a path from the first to the last. By default the
	// last comes first, which makes the best use of what is already known.
	Forward bool
	// MaxSeverity is the largest radius tried for the severity of a fault's state;
	// negative: no severities are computed.
	MaxSeverity Radius
	// SeverityEffort bounds the search for one severity, in looks at the outcomes of an
	// action; 0: DefaultSeverityEffort, negative: no bound. The regions to search grow
	// exponentially with the radius. Where the bound is reached, the severity is a lower
	// bound (SeverityAtLeast).
	SeverityEffort int
	// Alternatives is the number of distinct faults for which, for the radius ∞, the safe
	// alternatives are found too. It may take more than finding the faults.
	Alternatives int
	// Fresh decides every state with a decider and a Space of its own, sharing nothing:
	// to measure what the sharing saves.
	Fresh bool
}

// DefaultSeverityEffort is the default of FaultOptions.SeverityEffort.
const DefaultSeverityEffort = 2000

// FaultAnalysis localises the faults on unsafe paths: the decisions of the policy that
// lead from a safe state to an outcome that is not safe (Jain et al., "Policy Safety
// Testing in Non-Deterministic Planning", Definition 3 and section 6). All paths share
// one decider and its cache. It is not safe for concurrent use.
type FaultAnalysis struct {
	sp       *engine.Space
	fork     func() *engine.Space // an empty Space for the same task
	options  FaultOptions
	decider  Decider
	finite   []Decider // for severities, of radius 0, 1, 2, 4, …
	infinite Decider
	meter    *meteredSystem // of the finite deciders
	stats    DeciderStats   // of fresh deciders
}

// Fault is a decision of the policy in a safe state with an outcome that is not safe.
type Fault struct {
	State    engine.StateID
	Action   int              // the decision
	Unsafe   []engine.StateID // the outcomes that are not safe
	Severity Severity
}

// PathFaults is the analysis of one unsafe path.
type PathFaults struct {
	// Verdicts has one entry per state but the last: whether it is r-safe. A state on
	// an unsafe path is an r-bug iff it is r-safe. Entries are Unknown where
	// StopAtFirst or a limit ended the analysis.
	Verdicts []Verdict
	// Faults by their place on the path, in ascending order.
	Faults []PlacedFault
	// Unavoidable says that the first state is not r-safe.
	Unavoidable bool
}

// PlacedFault is a fault and the index of its state on the path.
type PlacedFault struct {
	Index int
	Fault
}

// Count returns how many states have the given verdict.
func (p *PathFaults) Count(v Verdict) (n int) {
	for _, x := range p.Verdicts {
		n += btoi(x == v)
	}
	return n
}

// NewFaultAnalysis returns an analysis of paths in sp. fork returns an empty Space for
// the same task and policy.
func NewFaultAnalysis(sp *engine.Space, fork func() *engine.Space, options FaultOptions) (*FaultAnalysis, error) {
	if options.Solver == "" {
		options.Solver = DeciderNames()[0]
	}
	a := &FaultAnalysis{sp: sp, fork: fork, options: options}
	var err error
	a.decider, err = NewDecider(options.Solver, sp, options.Radius)
	return a, err
}

// Stats returns what deciding has cost so far, severities not included.
func (a *FaultAnalysis) Stats() DeciderStats {
	if a.options.Fresh {
		return a.stats
	}
	return a.decider.Stats()
}

// Path analyses an unsafe path. On an error the result holds what was found before it.
func (a *FaultAnalysis) Path(ctx context.Context, path Path) (PathFaults, error) {
	n := len(path.States) - 1
	result := PathFaults{Verdicts: make([]Verdict, max(n, 0))}
	for k := range n {
		i := n - 1 - k
		if a.options.Forward {
			i = k
		}
		v, err := a.decide(ctx, path.States[i])
		if err != nil {
			return result, err
		}
		result.Verdicts[i] = v
		if i == 0 {
			result.Unavoidable = v == Unsafe
		}
		if v != Safe {
			continue
		}
		next := Unsafe // what is known of the next state on the path
		if i+1 < n {
			next = result.Verdicts[i+1]
		}
		fault, err := a.fault(ctx, path, i, next)
		if err != nil {
			return result, err
		}
		if fault == nil {
			continue
		}
		placed := PlacedFault{i, *fault}
		if a.options.Forward {
			result.Faults = append(result.Faults, placed)
		} else {
			result.Faults = append([]PlacedFault{placed}, result.Faults...)
		}
		if a.options.StopAtFirst {
			return result, nil
		}
	}
	if n == 0 {
		result.Unavoidable = true // the run starts in an unsafe state
	}
	return result, nil
}

// fault returns the fault of the decision in the safe state i of a path, nil if it is
// none. next is the verdict on the next state if it is known.
func (a *FaultAnalysis) fault(ctx context.Context, path Path, i int, next Verdict) (*Fault, error) {
	s, action := path.States[i], path.Actions[i]
	outcomes, err := a.sp.Outcomes(s, action)
	if err != nil {
		return nil, err
	}
	f := &Fault{State: s, Action: action}
	for _, t := range outcomes {
		v := next
		if t != path.States[i+1] || v == Unknown {
			if v, err = a.decide(ctx, t); err != nil {
				return nil, err
			}
		}
		if v == Unsafe {
			f.Unsafe = append(f.Unsafe, t)
		}
	}
	if f.Unsafe == nil {
		return nil, nil
	}
	if a.options.MaxSeverity >= 0 {
		if f.Severity, err = a.Severity(ctx, s); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (a *FaultAnalysis) decide(ctx context.Context, s engine.StateID) (Verdict, error) {
	if !a.options.Fresh {
		answer, err := a.decider.Decide(ctx, s)
		return answer.Verdict, err
	}
	sp := a.fork()
	t, err := sp.Import(a.sp, s)
	if err != nil {
		return Unknown, err
	}
	d, err := NewDecider(a.options.Solver, sp, a.options.Radius)
	if err != nil {
		return Unknown, err
	}
	answer, err := d.Decide(ctx, t)
	one := d.Stats()
	a.stats.Queries += one.Queries
	a.stats.Safe += one.Safe
	a.stats.Unsafe += one.Unsafe
	a.stats.Unknown += one.Unknown
	a.stats.Pairs += one.Pairs
	a.stats.Duration += one.Duration
	return answer.Verdict, err
}

// Severity returns the severity of s: it tries the radii 0, 1, 2, 4, … up to MaxSeverity.
func (a *FaultAnalysis) Severity(ctx context.Context, s engine.StateID) (Severity, error) {
	if a.finite == nil {
		if err := a.prepareSeverities(); err != nil {
			return Severity{}, err
		}
	}
	a.meter.left = a.options.SeverityEffort
	switch {
	case a.meter.left == 0:
		a.meter.left = DefaultSeverityEffort
	case a.meter.left < 0:
		a.meter.left = math.MaxInt
	}
	// What this finds out cuts the searches below.
	switch answer, err := a.infinite.Decide(ctx, s); {
	case err != nil:
		return Severity{}, err
	case answer.Verdict == Unsafe:
		return Severity{Kind: SeverityNone}, nil
	}
	var known Severity
	for _, d := range a.finite {
		v, err := FullSeverity(ctx, d, a.infinite, s)
		switch {
		case errors.Is(err, errEffort):
			return known, nil
		case err != nil || v.Kind != SeverityAtLeast:
			return v, err
		}
		known = v
	}
	return known, nil
}

func (a *FaultAnalysis) prepareSeverities() error {
	a.infinite = a.decider
	var err error
	if a.options.Radius != Infinite || a.options.Fresh {
		if a.infinite, err = NewDecider(a.options.Solver, a.sp, Infinite); err != nil {
			return err
		}
	}
	a.meter = &meteredSystem{System: a.sp, infinite: a.infinite}
	for r := Radius(0); ; r = min(max(2*r, 1), a.options.MaxSeverity) {
		d, err := NewDecider(a.options.Solver, a.meter, r)
		if err != nil {
			return fmt.Errorf("severity: %w", err)
		}
		a.finite = append(a.finite, d)
		if r == a.options.MaxSeverity {
			return nil
		}
	}
}

// meteredSystem is a System that gives up after a number of looks at outcomes. It passes
// states off as unsafe that are known not to be safe: no number of deviations helps there.
type meteredSystem struct {
	System
	infinite Decider
	left     int
}

func (m *meteredSystem) Class(s engine.StateID) (engine.Class, error) {
	if m.infinite.Known(s) == Unsafe {
		return engine.ClassUnsafe, nil
	}
	return m.System.Class(s)
}

var errEffort = errors.New("the search for a severity was given up")

func (m *meteredSystem) Outcomes(s engine.StateID, i int) ([]engine.StateID, error) {
	if m.left--; m.left < 0 {
		return nil, errEffort
	}
	return m.System.Outcomes(s, i)
}
