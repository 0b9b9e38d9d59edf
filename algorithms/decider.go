package algorithms

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fuzzsafe/engine"
)

// Verdict is the answer to the question whether a state is r-safe. The zero value is
// Unknown: a reached limit is never Safe or Unsafe.
type Verdict uint8

const (
	// Unknown is no answer: the question was given up or never asked.
	Unknown Verdict = iota
	// Safe means that the state is r-safe for the radius in question.
	Safe
	// Unsafe means that it is not; the state itself need not satisfy the unsafe condition.
	Unsafe
)

// String returns "unknown", "safe" or "unsafe".
func (v Verdict) String() string {
	switch v {
	case Safe:
		return "safe"
	case Unsafe:
		return "unsafe"
	}
	return "unknown"
}

// Radius bounds how often a run may deviate from the policy under test: a number from
// 0 to MaxRadius, or Infinite.
type Radius int

const (
	// Infinite is the radius of plain safety: deviations cost nothing.
	Infinite Radius = -1
	// MaxRadius is the largest finite radius, 2²⁰.
	MaxRadius Radius = 1 << 20
)

// ParseRadius reads a radius: "inf", "∞", or a decimal number from 0 to MaxRadius.
func ParseRadius(text string) (Radius, error) {
	if text == "inf" || text == "∞" {
		return Infinite, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > int(MaxRadius) {
		return 0, fmt.Errorf("radius %q: want a number from 0 to %d, or inf", text, MaxRadius)
	}
	return Radius(n), nil
}

// String returns the number, or "inf".
func (r Radius) String() string {
	if r == Infinite {
		return "inf"
	}
	return strconv.Itoa(int(r))
}

// ceiling returns U, the value of J that means "not r-safe": r+1, or 1 for ∞.
func (r Radius) ceiling() uint32 {
	if r == Infinite {
		return 1
	}
	return uint32(r) + 1
}

// Decider decides whether states of one System are r-safe for one radius r: whether
// J*(s) ≤ r (∞: J*(s) = 0), where J* is the least solution of
//
//	J(s) = U                                        if s is unsafe
//	     = 0                                        if s is a goal or terminal
//	     = min_a min(U, C(s,a) + max_{t ∈ T(s,a)} J(t))   otherwise
//
// with U = r+1 and C(s,a) = 1 for a ≠ π(s), or U = 1 and C = 0 for ∞ (Jain et al.,
// "Policy Safety Testing in Non-Deterministic Planning", section 6.1). What one call
// finds out is kept and shortens later calls. A Decider is not safe for concurrent use.
// It is an interface so that analyses on top can be tested with scripted answers.
type Decider interface {
	// Name returns the name of the algorithm, one of DeciderNames.
	Name() string
	// Radius returns the radius that the decider was made for.
	Radius() Radius
	// Decide decides s. If ctx ends or the system fails, the verdict is Unknown and
	// the error says why; the decider can go on being used, with what it has found out.
	Decide(ctx context.Context, s engine.StateID) (Answer, error)
	// Severity finds the smallest r up to Radius for which s is r-safe. It counts as
	// one query. Of a decider for Infinite it only ever finds SeverityNone.
	Severity(ctx context.Context, s engine.StateID) (Severity, error)
	// Known returns the verdict on s as far as earlier calls have settled it, in
	// constant time. Most algorithms settle more states than they are asked about.
	Known(s engine.StateID) Verdict
	// Stats returns what all calls so far have cost.
	Stats() DeciderStats
}

// Answer is the result of one query.
type Answer struct {
	State   engine.StateID
	Verdict Verdict
	// Value is J*(State) if the verdict is Safe (of "tarjan" an upper bound of it that
	// is within the radius), r+1 (∞: 1) if Unsafe, and −1 if Unknown.
	Value   int
	Pairs   int64         // distinct (state, action) pairs that the decider had not asked for before
	Elapsed time.Duration // wall-clock time
}

// DeciderStats sums up the queries to one Decider.
type DeciderStats struct {
	Queries, Safe, Unsafe, Unknown int
	Pairs                          int64         // distinct (state, action) pairs whose outcomes were asked for
	Duration                       time.Duration // wall-clock time
}

// SeverityKind tells what is known about a severity.
type SeverityKind uint8

const (
	// SeverityUnknown is the zero value: not computed, or given up.
	SeverityUnknown SeverityKind = iota
	// SeverityExact is the number Least: the state is r-safe for r = Least and for no
	// smaller r. The policy is safe in the state if and only if Least is 0.
	SeverityExact
	// SeverityAtLeast means that the state is not r-safe for any r < Least; if Least is
	// Infinite, for any finite r. Whether it is safe at all is left open by
	// Decider.Severity and affirmed by FullSeverity.
	SeverityAtLeast
	// SeverityInfinite means that the state is safe, but not r-safe for any finite r.
	SeverityInfinite
	// SeverityNone means that the state is not safe: no deviations help.
	SeverityNone
)

// Severity of a state is the smallest r for which it is r-safe: how many decisions of
// the policy must change on a run.
type Severity struct {
	Kind  SeverityKind
	Least Radius // meaningful for SeverityExact and SeverityAtLeast, otherwise 0
}

// String returns a number such as "2", or ">R" if all radii up to R are excluded, or
// "inf", and "" if the severity is unknown or there is none.
func (v Severity) String() string {
	switch {
	case v.Kind == SeverityExact:
		return v.Least.String()
	case v.Kind == SeverityAtLeast && v.Least != Infinite:
		return fmt.Sprintf(">%d", v.Least-1)
	case v.Kind == SeverityInfinite:
		return "inf"
	}
	return ""
}

// FullSeverity returns the severity of s: SeverityExact up to the radius of finite; if
// it is larger, SeverityNone if infinite, a decider for Infinite on the same system,
// finds s not safe, and otherwise SeverityInfinite if that is proven and SeverityAtLeast
// if the radius of finite was too small to tell. A proof needs a gap among the values of
// J that finite has met, so a radius of 1 is the least that can give one.
func FullSeverity(ctx context.Context, finite, infinite Decider, s engine.StateID) (Severity, error) {
	v, err := finite.Severity(ctx, s)
	if err != nil || v.Kind != SeverityAtLeast {
		return v, err
	}
	a, err := infinite.Decide(ctx, s)
	switch {
	case err != nil:
		return Severity{}, err
	case a.Verdict == Unsafe:
		return Severity{Kind: SeverityNone}, nil
	case v.Least == Infinite:
		return Severity{Kind: SeverityInfinite}, nil
	}
	return v, nil
}

// solver is what the algorithms implement; see Decider for the value that they compute.
// A solver must stay correct after an error.
type solver interface {
	// solve returns an upper bound of J*(s) that is at most r (∞: 0) if there is one,
	// and U otherwise. It returns J*(s) itself, capped at U, unless the solver is also
	// a budgetSolver.
	solve(ctx context.Context, s engine.StateID) (uint32, error)
	// known returns the result of solve if it is settled. s may be new.
	known(s engine.StateID) (value uint32, ok bool)
}

// budgetSolver is a solver whose solve does not compute J* exactly, but that can be
// asked for J*(s) ≤ budget with any budget up to r (∞: 0).
type budgetSolver interface {
	solver
	within(ctx context.Context, s engine.StateID, budget uint32) (bool, error)
}

// gapSolver is a solver that counts the states of each value. unbounded returns whether
// the counts prove that states of value U are not r-safe for any finite r.
type gapSolver interface {
	solver
	unbounded() bool
}

type algorithm struct {
	name string
	make func(sys System, r Radius) solver
}

// deciders lists the algorithms, the default first.
func deciders() []algorithm {
	return []algorithm{
		{"local", newLocal},
		{"tarjan", newTarjan},
		{"attractor", newAttractor},
		{"lrtdp", newLRTDP},
		{"lao", newLAO},
		{"vi", newVI},
		{"ipi", newIPI},
	}
}

// DeciderNames returns the names that NewDecider knows, the default first.
func DeciderNames() []string {
	var names []string
	for _, a := range deciders() {
		names = append(names, a.name)
	}
	return names
}

// NewDecider returns a decider on sys for radius r that uses the named algorithm:
//
//	local      on-the-fly least fixpoint over a dependency graph; linear
//	tarjan     TarjanSafe: depth-first search with caches per budget
//	attractor  backward fixpoint over a region that grows in rounds; linear
//	lrtdp      labelled real-time dynamic programming: trials from the query
//	lao        ILAO*: depth-first walks of the best partial solution graph
//	vi         value iteration over all states that can be reached
//	ipi        policy iteration in rounds, from the policy under test; linear
//
// Deciders may share a System.
func NewDecider(name string, sys System, r Radius) (Decider, error) {
	if r < Infinite || r > MaxRadius {
		return nil, fmt.Errorf("radius %d: want a number from 0 to %d, or inf", int(r), MaxRadius)
	}
	names := DeciderNames()
	i := slices.Index(names, name)
	if i < 0 {
		return nil, fmt.Errorf("unknown decider %q: want one of %s", name, strings.Join(names, ", "))
	}
	view := &countingSystem{System: sys}
	return &decider{name: name, radius: r, view: view, solver: deciders()[i].make(view, r)}, nil
}

// decider is the one implementation of Decider: it counts, times and interprets what
// its solver does.
type decider struct {
	name   string
	radius Radius
	view   *countingSystem
	solver solver
	stats  DeciderStats
}

func (d *decider) Name() string        { return d.name }
func (d *decider) Radius() Radius      { return d.radius }
func (d *decider) Stats() DeciderStats { return d.stats }

func (d *decider) Decide(ctx context.Context, s engine.StateID) (Answer, error) {
	return d.query(s, func() (uint32, error) { return d.solver.solve(ctx, s) })
}

func (d *decider) Severity(ctx context.Context, s engine.StateID) (Severity, error) {
	a, err := d.query(s, func() (uint32, error) { return d.exact(ctx, s) })
	switch {
	case err != nil:
		return Severity{}, err
	case d.radius == Infinite && a.Verdict == Unsafe:
		return Severity{Kind: SeverityNone}, nil
	case d.radius == Infinite:
		return Severity{}, nil
	case a.Verdict == Safe:
		return Severity{SeverityExact, Radius(a.Value)}, nil
	}
	if g, ok := d.solver.(gapSolver); ok && g.unbounded() {
		return Severity{SeverityAtLeast, Infinite}, nil
	}
	return Severity{SeverityAtLeast, Radius(a.Value)}, nil
}

// exact returns J*(s), capped at U.
func (d *decider) exact(ctx context.Context, s engine.StateID) (uint32, error) {
	b, ok := d.solver.(budgetSolver)
	if !ok {
		return d.solver.solve(ctx, s)
	}
	for budget := range d.radius.ceiling() {
		if ok, err := b.within(ctx, s, budget); ok || err != nil {
			return budget, err
		}
	}
	return d.radius.ceiling(), nil
}

func (d *decider) query(s engine.StateID, solve func() (uint32, error)) (Answer, error) {
	start, pairs := time.Now(), d.view.pairs
	a := Answer{State: s, Value: -1}
	err := fmt.Errorf("no such state: there are %d", d.view.NumStates())
	var value uint32
	if int64(s) < int64(d.view.NumStates()) {
		value, err = solve()
	}
	d.stats.Queries++
	switch {
	case err != nil:
		err = fmt.Errorf("%s: deciding state %d: %w", d.name, s, err)
		d.stats.Unknown++
	case value == d.radius.ceiling():
		a.Verdict, a.Value = Unsafe, int(value)
		d.stats.Unsafe++
	default:
		a.Verdict, a.Value = Safe, int(value)
		d.stats.Safe++
	}
	a.Pairs, a.Elapsed = d.view.pairs-pairs, time.Since(start)
	d.stats.Pairs += a.Pairs
	d.stats.Duration += a.Elapsed
	return a, err
}

func (d *decider) Known(s engine.StateID) Verdict {
	value, ok := d.solver.known(s)
	switch {
	case !ok:
		return Unknown
	case value == d.radius.ceiling():
		return Unsafe
	}
	return Safe
}

// countingSystem is a System that counts the distinct pairs that it is asked for.
type countingSystem struct {
	System
	asked engine.PerState[uint64] // one bit for each of the first 64 actions
	more  map[morePairs]uint64    // likewise for each further 64
	pairs int64
}

// morePairs names 64 actions of a state from the 65th on.
type morePairs struct {
	s     engine.StateID
	block int
}

func (c *countingSystem) Outcomes(s engine.StateID, i int) ([]engine.StateID, error) {
	outcomes, err := c.System.Outcomes(s, i)
	if err != nil {
		return nil, err
	}
	bit := uint64(1) << (i & 63)
	if i < 64 {
		if word := c.asked.At(s); *word&bit == 0 {
			*word |= bit
			c.pairs++
		}
		return outcomes, nil
	}
	if c.more == nil {
		c.more = make(map[morePairs]uint64)
	}
	if key := (morePairs{s, i >> 6}); c.more[key]&bit == 0 {
		c.more[key] |= bit
		c.pairs++
	}
	return outcomes, nil
}

// grow returns a per-state table extended to at least n entries, the new ones initial.
// Growing one by one costs amortised constant time.
func grow[T any](table []T, n int, initial T) []T {
	old := len(table)
	if n <= old {
		return table
	}
	table = slices.Grow(table, max(n, 2*old)-old)
	table = table[:cap(table)]
	for i := old; i < len(table); i++ {
		table[i] = initial
	}
	return table
}

// choices returns the number of applicable actions of an ordinary state and the one that
// the policy takes, −1 if there is none. For the radius ∞ the policy is of no consequence,
// only a hint which action to try first: then it is not evaluated, but −1 unless known.
// (Following a random policy first cost up to 500 times the pairs of model order, and
// evaluating it as much as everything else; but along a path that has been run, the
// policy's successors are those already decided.)
func choices(sys System, s engine.StateID, infinite bool) (actions uint32, policy int32, err error) {
	n, err := sys.NumActions(s)
	if err != nil || n == 0 {
		return 0, -1, err
	}
	if infinite {
		return uint32(n), int32(sys.KnownDecision(s)), nil
	}
	p, err := sys.Decision(s)
	return uint32(n), int32(p), err
}

// actionAt returns the action that is tried at position pos: the policy's first, if
// choices knew it, then the others in model order.
func actionAt(pos uint32, policy int32) int {
	switch p := int32(pos); {
	case policy < 0 || p > policy:
		return int(p)
	case p == 0:
		return int(policy)
	default:
		return int(p) - 1
	}
}

// costAt returns C(s,a) of the action at position pos for a finite radius.
func costAt(pos uint32, policy int32) uint32 {
	if pos == 0 && policy >= 0 {
		return 0
	}
	return 1
}

// checkInterval is the number of steps of a solver between two looks at its context.
const checkInterval = 4096

// patience looks at a context once every checkInterval steps, the first time at once.
type patience struct {
	ctx  context.Context
	left int
}

// step returns the error of the context if it is seen to have ended.
func (p *patience) step() error {
	if p.left > 0 {
		p.left--
		return nil
	}
	p.left = checkInterval - 1
	return p.ctx.Err()
}

// levels counts, for every v from 1 to r, the states whose value of J is v.
type levels []uint32

func (l *levels) add(v uint32) {
	for int(v) >= len(*l) {
		*l = append(*l, 0)
	}
	(*l)[v]++
}

func (l levels) remove(v uint32) { l[v]-- }

// gap returns whether no state has value v for some v from 1 to r. Then a state x of
// value U is not r-safe for any finite r, and neither is any member of the set Y of
// states of value > v. For suppose that J* ≥ k for some k > v on Y, whatever U ≥ k is.
// Every x in Y that is not unsafe got its value because each of its other actions has an
// outcome of value ≥ v, hence in Y, and the policy's action has one whose value exceeded
// v earlier. So by induction over that order J*(x) ≥ k+1, and by induction J* is
// unbounded on Y. This needs only lower bounds that are raised by Bellman updates.
func (l levels) gap(r uint32) bool {
	for v := uint32(1); v <= r; v++ {
		if int(v) >= len(l) || l[v] == 0 {
			return true
		}
	}
	return false
}
