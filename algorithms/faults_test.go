package algorithms_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
	"fuzzsafe/jani"
	"fuzzsafe/nnpolicy"
)

// table is a policy under test that follows the decisions of a little system.
type table struct {
	input  jani.VarID
	labels []jani.ActionID // of the actions 0, 1, … and, last, one that is never applicable
	sys    *enginetest.System
}

func (p table) Inputs() []jani.VarID     { return []jani.VarID{p.input} }
func (p table) Outputs() []jani.ActionID { return p.labels }

func (p table) Evaluate(in, out []float64) error {
	clear(out)
	decision, _ := p.sys.Decision(engine.StateID(in[0]))
	if decision < 0 {
		decision = len(out) - 1
	}
	out[decision] = 1
	return nil
}

// modelOf returns the task of a little system and its policy: variable s is the number of
// the state, action k has the label ak.
func modelOf(t testing.TB, sys *enginetest.System) *instance {
	t.Helper()
	n := sys.NumStates()
	var edges []string
	var unsafe, goal []string
	most := 0
	for s := range engine.StateID(n) {
		switch class, _ := sys.Class(s); class {
		case engine.ClassUnsafe:
			unsafe = append(unsafe, fmt.Sprintf("s = %d", s))
		case engine.ClassGoal:
			goal = append(goal, fmt.Sprintf("s = %d", s))
		}
		actions, _ := sys.NumActions(s)
		most = max(most, actions)
		for a := range actions {
			outcomes, _ := sys.Outcomes(s, a)
			var destinations []string
			for _, o := range outcomes {
				destinations = append(destinations, fmt.Sprintf(
					`{"location":"l","probability":{"exp":{"op":"/","left":1,"right":%d}},"assignments":[{"ref":"s","value":%d}]}`, len(outcomes), o))
			}
			edges = append(edges, fmt.Sprintf(
				`{"location":"l","action":"a%d","guard":{"exp":{"op":"=","left":"s","right":%d}},"destinations":[%s]}`, a, s, strings.Join(destinations, ",")))
		}
	}
	var names, syncs []string
	for a := range most + 1 {
		names = append(names, fmt.Sprintf(`{"name":"a%d"}`, a))
		syncs = append(syncs, fmt.Sprintf(`{"synchronise":["a%d"],"result":"a%[1]d"}`, a))
	}
	doc, err := jani.Parse(jani.NewSource("system", fmt.Appendf(nil, `{"jani-version":1,"name":"system","type":"mdp","actions":[%s],
		"variables":[{"name":"s","type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":%d},"initial-value":0}],
		"automata":[{"name":"a","locations":[{"name":"l"}],"initial-locations":["l"],"edges":[%s]}],
		"system":{"elements":[{"automaton":"a"}],"syncs":[%s]}}`,
		strings.Join(names, ","), n-1, strings.Join(edges, ","), strings.Join(syncs, ","))), jani.Limits{})
	must(t, err)
	m, err := jani.Compile(doc, nil)
	must(t, err)
	anyOf := func(parts []string) *jani.Condition {
		if parts == nil {
			parts = []string{"false"}
		}
		e, err := jani.ParseInfix("condition", strings.Join(parts, " | "), m.Names(), jani.Limits{})
		must(t, err)
		return &jani.Condition{Exp: e}
	}
	task, err := m.Task("property", &jani.Planning{Start: anyOf([]string{"true"}), Unsafe: anyOf(unsafe), Goal: anyOf(goal)})
	must(t, err)
	policy := table{sys: sys}
	policy.input, _ = m.Variable("s")
	for a := range most + 1 {
		policy.labels = append(policy.labels, jani.ActionID(slices.Index(m.Actions, fmt.Sprintf("a%d", a))))
	}
	return &instance{task, policy, func() engine.Policy { return policy }, true}
}

// numbering translates between the states of a little system and those of a Space.
type numbering struct {
	sp *engine.Space
	s  jani.VarID
}

func (n numbering) intern(t testing.TB, s engine.StateID) engine.StateID {
	t.Helper()
	values := make([]jani.Value, len(n.sp.Model().Vars))
	values[n.s] = jani.Value(s)
	id, err := n.sp.Intern(values)
	must(t, err)
	return id
}

func (n numbering) path(t testing.TB, p algorithms.Path) algorithms.Path {
	q := algorithms.Path{Actions: p.Actions}
	for _, s := range p.States {
		q.States = append(q.States, n.intern(t, s))
	}
	return q
}

func (n numbering) original(s engine.StateID) engine.StateID {
	return engine.StateID(n.sp.Values(s)[n.s])
}

// unsafePaths walks at random from every state, following the policy, and returns the
// walks that end in an unsafe state.
func unsafePaths(rng *rand.Rand, sys *enginetest.System) (paths []algorithms.Path) {
	ref := &reference{sys: sys}
	for start := range engine.StateID(sys.NumStates()) {
		p := algorithms.Path{States: []engine.StateID{start}}
		for s := start; len(p.Actions) < 40; {
			if class, _ := sys.Class(s); class == engine.ClassUnsafe {
				paths = append(paths, p)
				break
			}
			outcomes, _ := ref.next(s)
			if len(outcomes) == 0 {
				break
			}
			a, _ := sys.Decision(s)
			s = outcomes[rng.IntN(len(outcomes))]
			p.States, p.Actions = append(p.States, s), append(p.Actions, a)
		}
	}
	return paths
}

// expected are the facts of a little system for one radius.
type expected struct {
	sys      *enginetest.System
	safe     []bool // r-safe
	severity []int  // of states that are safe; unbounded for ∞
}

const unbounded = math.MaxInt

func expect(sys *enginetest.System, r algorithms.Radius) expected {
	e := expected{sys: sys, severity: enginetest.Fixpoint(sys, sys.NumStates())}
	for s, j := range enginetest.Fixpoint(sys, int(r)) {
		e.safe = append(e.safe, j < ceiling(r))
		if e.severity[s] > sys.NumStates() { // no finite value of J* reaches that
			e.severity[s] = unbounded
		}
	}
	return e
}

func (e expected) verdict(s engine.StateID) algorithms.Verdict {
	if e.safe[s] {
		return algorithms.Safe
	}
	return algorithms.Unsafe
}

// fault returns the outcomes of the policy's decision in s that are not safe, none if it
// is not a fault.
func (e expected) fault(s engine.StateID, action int) (unsafe []engine.StateID) {
	if !e.safe[s] {
		return nil
	}
	outcomes, _ := e.sys.Outcomes(s, action)
	for _, t := range outcomes {
		if !e.safe[t] {
			unsafe = append(unsafe, t)
		}
	}
	return unsafe
}

// alternatives returns the actions of s that keep to safe states.
func (e expected) alternatives(s engine.StateID) (names []string) {
	n, _ := e.sys.NumActions(s)
	for a := range n {
		outcomes, _ := e.sys.Outcomes(s, a)
		if !slices.ContainsFunc(outcomes, func(t engine.StateID) bool { return !e.safe[t] }) {
			names = append(names, fmt.Sprintf("a%d", a))
		}
	}
	return names
}

// checkSeverity compares the severity of a safe state with the expected one: that it is ∞
// may remain open, and of a search that was given up there is at most a lower bound. By
// default only tarjan has to give up in a little system.
func checkSeverity(got algorithms.Severity, want int, o algorithms.FaultOptions) error {
	ok, bounded := false, o.SeverityEffort > 0 || o.SeverityEffort == 0 && o.Solver == "tarjan"
	switch got.Kind {
	case algorithms.SeverityUnknown:
		ok = o.MaxSeverity < 0 || bounded
	case algorithms.SeverityExact:
		ok = int(got.Least) == want && got.Least <= o.MaxSeverity
	case algorithms.SeverityInfinite:
		ok = want == unbounded && o.MaxSeverity >= 0
	case algorithms.SeverityAtLeast:
		ok = int(got.Least) <= want && (got.Least == o.MaxSeverity+1 || bounded)
	}
	if !ok {
		return fmt.Errorf("severity %+v, want %d", got, want)
	}
	return nil
}

// check compares the analysis of one path, given in numbers of the little system.
func (e expected) check(num numbering, p algorithms.Path, got algorithms.PathFaults, o algorithms.FaultOptions) error {
	n := len(p.Actions)
	// The states that must be looked at.
	order := make([]int, n)
	for k := range order {
		if order[k] = n - 1 - k; o.Forward {
			order[k] = k
		}
	}
	verdicts, faults := make([]algorithms.Verdict, n), map[int][]engine.StateID{}
	for _, i := range order {
		verdicts[i] = e.verdict(p.States[i])
		if f := e.fault(p.States[i], p.Actions[i]); f != nil {
			if faults[i] = f; o.StopAtFirst {
				break
			}
		}
	}
	if !slices.Equal(got.Verdicts, verdicts) {
		return fmt.Errorf("verdicts %v, want %v", got.Verdicts, verdicts)
	}
	count := map[algorithms.Verdict]int{}
	for _, v := range verdicts {
		count[v]++
	}
	for _, v := range []algorithms.Verdict{algorithms.Unknown, algorithms.Safe, algorithms.Unsafe} {
		if got.Count(v) != count[v] {
			return fmt.Errorf("%d states are counted as %s of %v", got.Count(v), v, verdicts)
		}
	}
	if want := n == 0 || verdicts[0] == algorithms.Unsafe; got.Unavoidable != want {
		return fmt.Errorf("unavoidable: %v, want %v", got.Unavoidable, want)
	}
	places := slices.Sorted(maps.Keys(faults))
	var found []int
	for _, f := range got.Faults {
		found = append(found, f.Index)
		var unsafe []engine.StateID
		for _, t := range f.Unsafe {
			unsafe = append(unsafe, num.original(t))
		}
		s := p.States[f.Index]
		if !slices.Equal(unsafe, faults[f.Index]) || num.original(f.State) != s || f.Action != p.Actions[f.Index] {
			return fmt.Errorf("fault %+v in state %d with the outcomes %v that are not safe, want %v", f, s, unsafe, faults[f.Index])
		}
		if err := checkSeverity(f.Severity, e.severity[s], o); err != nil {
			return fmt.Errorf("state %d: %w", s, err)
		}
	}
	if !slices.Equal(found, places) {
		return fmt.Errorf("faults at %v, want %v", found, places)
	}
	return nil
}

// faultVariants returns the options to compare for one radius.
func faultVariants(rng *rand.Rand, r algorithms.Radius, states int) []algorithms.FaultOptions {
	names := algorithms.DeciderNames()
	var list []algorithms.FaultOptions
	for _, severity := range []algorithms.Radius{-1, 0, 3, algorithms.Radius(states)} {
		list = append(list, algorithms.FaultOptions{Radius: r, MaxSeverity: severity, SeverityEffort: -1})
	}
	for _, o := range []algorithms.FaultOptions{
		{}, {Forward: true}, {StopAtFirst: true}, {Forward: true, StopAtFirst: true}, {Fresh: true}, {Fresh: true, Forward: true, StopAtFirst: true},
	} {
		o.Radius, o.MaxSeverity, o.SeverityEffort = r, 2, []int{-1, -1, 0, 1, 5, 20}[rng.IntN(6)]
		list = append(list, o)
	}
	for i := range list {
		list[i].Solver, list[i].Alternatives = names[rng.IntN(len(names))], 1<<20*rng.IntN(2)
	}
	list[len(list)-1].Solver = "" // the default
	return list
}

// Verdicts, faults, outcomes and severities on random paths are those of the naive
// fixpoint, whatever the options, and the report adds them up.
func TestFaultsAgreeWithFixpoint(t *testing.T) {
	systems := uint64(400)
	if testing.Short() {
		systems = 50
	}
	count := map[string]int{}
	for seed := range systems {
		rng := newRand(seed)
		cfg := enginetest.SmallConfig(rng)
		cfg.Unsafe = min(cfg.Unsafe, 0.1)
		if cfg.NoDecision == 1 {
			cfg.NoDecision = 0
		}
		sys := enginetest.Random(rng, cfg)
		paths := unsafePaths(rng, sys)
		if len(paths) == 0 {
			continue
		}
		inst := modelOf(t, sys)
		sp := inst.space(t, t.Context())
		num := numbering{sp, inst.policy.Inputs()[0]}
		fork := func() *engine.Space { return sp.Fork(t.Context(), inst.clone()) }
		var runs []algorithms.Run
		for i, p := range paths {
			runs = append(runs, algorithms.Run{Index: 10 + i, End: algorithms.RunUnsafe, Path: num.path(t, p)})
		}
		for _, r := range []algorithms.Radius{algorithms.Infinite, 0, 1, 2} {
			for _, o := range faultVariants(rng, r, cfg.States) {
				if o.Fresh && rng.IntN(8) > 0 { // every state needs a Space of its own
					continue
				}
				what := fmt.Sprintf("seed %d, %+v", seed, o)
				e := expect(sys, r)
				calls := 0
				report, details, err := algorithms.FindFaults(t.Context(), sp, fork, runs, o, func(done, faults int) {
					if calls++; done != calls {
						t.Errorf("%s: %d paths are reported as done in call %d", what, done, calls)
					}
				})
				if err != nil || len(details) != len(paths) || calls != len(paths) {
					t.Fatalf("%s: %d paths of %d analysed in %d calls, %v", what, len(details), len(paths), calls, err)
				}
				for i, p := range paths {
					if err := e.check(num, p, details[i], o); err != nil {
						t.Fatalf("%s: path %v: %v", what, p, err)
					}
					if len(p.Actions) == 0 {
						count["unsafe start"]++
					} else if details[i].Unavoidable {
						count["unavoidable"]++
					}
					if len(details[i].Faults) > 1 {
						count["several faults"]++
					}
					for _, f := range details[i].Faults {
						count["severity "+f.Severity.String()]++
						if len(f.Unsafe) > 1 {
							count["several outcomes"]++
						}
					}
				}
				if err := checkFaults(sp, runs, details, report, o); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				for i, f := range report.Faults {
					want := []string(nil)
					if o.Alternatives > 0 && r == algorithms.Infinite {
						want = e.alternatives(num.original(report.Fault(i).State))
					}
					if !slices.Equal(f.Alternatives, want) {
						t.Fatalf("%s: alternatives %v to %v in %s, want %v", what, f.Alternatives, f.Action, f.State, want)
					}
					count[fmt.Sprintf("%d alternatives", min(2, len(want)))]++
				}
			}
		}
	}
	for _, kind := range []string{"unsafe start", "unavoidable", "several faults", "several outcomes",
		"severity ", "severity 1", "severity 2", "severity >0", "severity >2", "severity inf", "1 alternatives", "2 alternatives"} {
		if count[kind] < int(systems)/8 {
			t.Errorf("the random systems are too uniform: %v", count)
		}
	}
}

// checkFaults recounts what a report says from the analyses of the single paths.
func checkFaults(sp *engine.Space, runs []algorithms.Run, details []algorithms.PathFaults, report algorithms.FaultsReport, o algorithms.FaultOptions) error {
	if o.Solver == "" {
		o.Solver = algorithms.DeciderNames()[0]
	}
	order := "reverse"
	if o.Forward {
		order = "forward"
	}
	if report.Solver != o.Solver || report.Radius != o.Radius.String() || report.Order != order || report.StopAtFirst != o.StopAtFirst ||
		report.PathCount != len(runs) || len(report.Paths) != len(runs) || !report.Complete || report.Pairs < 0 {
		return fmt.Errorf("report %+v", report)
	}
	var total, distinct algorithms.Counts
	add := func(c *algorithms.Counts, v algorithms.Verdict) {
		c.States++
		switch v {
		case algorithms.Safe:
			c.Safe++
			c.Bugs++
		case algorithms.Unsafe:
			c.Unsafe++
		default:
			c.Unknown++
		}
	}
	known, faults := map[engine.StateID]bool{}, map[engine.StateID]int{}
	unavoidable, withFault := 0, 0
	for i, d := range details {
		p := report.Paths[i]
		if p.Run != runs[i].Index || p.Unavoidable != d.Unavoidable || len(p.FaultAt) != len(d.Faults) {
			return fmt.Errorf("path %d: report %+v of %+v", i, p, d)
		}
		var one algorithms.Counts
		for k, v := range d.Verdicts {
			add(&one, v)
			add(&total, v)
			if s := runs[i].States[k]; v != algorithms.Unknown && !known[s] {
				known[s] = true
				add(&distinct, v)
			}
		}
		for k, f := range d.Faults {
			at := p.FaultAt[k]
			if at.Step != f.Index || report.Fault(at.Fault).State != f.State || !slices.Equal(report.Fault(at.Fault).Unsafe, f.Unsafe) {
				return fmt.Errorf("path %d: report %+v of fault %+v", i, at, f)
			}
			faults[f.State]++
			one.Faults++
			total.Faults++
		}
		if p.Counts != one {
			return fmt.Errorf("path %d: counts %+v, want %+v", i, p.Counts, one)
		}
		if d.Unavoidable {
			unavoidable++
		}
		if len(d.Faults) > 0 {
			withFault++
		}
	}
	distinct.Faults = len(faults)
	if report.Total != total || report.Distinct != distinct || report.Unavoidable != unavoidable || report.WithFault != withFault {
		return fmt.Errorf("totals %+v, %+v, %d, %d, want %+v, %+v, %d, %d",
			report.Total, report.Distinct, report.Unavoidable, report.WithFault, total, distinct, unavoidable, withFault)
	}
	if len(report.Faults) != len(faults) {
		return fmt.Errorf("%d faults are listed, want %d", len(report.Faults), len(faults))
	}
	severities := map[string]int{}
	for i, f := range report.Faults {
		fault := report.Fault(i)
		if f.Places != faults[fault.State] || f.Action != sp.ActionName(fault.State, fault.Action) || f.Severity != fault.Severity.String() ||
			string(f.State) != string(sp.Model().AppendJSON(nil, sp.Values(fault.State))) {
			return fmt.Errorf("fault %+v, found at %d places", f, faults[fault.State])
		}
		outcomes, err := sp.Outcomes(fault.State, fault.Action)
		if err != nil || len(outcomes) != len(f.Outcomes) {
			return fmt.Errorf("fault %+v has %d outcomes, %v", f, len(outcomes), err)
		}
		for k, t := range outcomes {
			want := algorithms.Safe
			if slices.Contains(fault.Unsafe, t) {
				want = algorithms.Unsafe
			}
			if f.Outcomes[k].Verdict != want.String() || string(f.Outcomes[k].State) != string(sp.Model().AppendJSON(nil, sp.Values(t))) {
				return fmt.Errorf("outcome %+v, want it %s", f.Outcomes[k], want)
			}
		}
		severities[f.Severity]++
	}
	if o.MaxSeverity < 0 {
		severities = nil
	}
	if len(report.Distribution) != len(severities) {
		return fmt.Errorf("severities %v, want %v", report.Distribution, severities)
	}
	for _, row := range report.Distribution {
		if row.Faults != severities[row.Severity] {
			return fmt.Errorf("severities %v, want %v", report.Distribution, severities)
		}
	}
	return nil
}

// The severities of states that are not on any path, safe or not.
func TestSeveritiesOfAnalysis(t *testing.T) {
	kinds := map[algorithms.SeverityKind]int{}
	for seed := range uint64(150) {
		rng := newRand(seed)
		sys := enginetest.Random(rng, enginetest.SmallConfig(rng))
		inst := modelOf(t, sys)
		sp := inst.space(t, t.Context())
		num := numbering{sp, inst.policy.Inputs()[0]}
		safe := enginetest.Fixpoint(sys, -1)
		o := algorithms.FaultOptions{Radius: algorithms.Radius(rng.IntN(3) - 1), MaxSeverity: algorithms.Radius(rng.IntN(5)), SeverityEffort: []int{-1, -1, 1, 4}[rng.IntN(4)]}
		e := expect(sys, o.Radius)
		a, err := algorithms.NewFaultAnalysis(sp, nil, o)
		must(t, err)
		for _, s := range rng.Perm(sys.NumStates()) {
			got, err := a.Severity(t.Context(), num.intern(t, engine.StateID(s)))
			if kinds[got.Kind]++; err == nil && safe[s] == 0 {
				err = checkSeverity(got, e.severity[s], o)
			}
			if err != nil || safe[s] == 1 && got.Kind != algorithms.SeverityNone {
				t.Fatalf("seed %d, %+v: state %d (J* is %d): severity %+v, %v", seed, o, s, safe[s], got, err)
			}
		}
	}
	for kind := algorithms.SeverityUnknown; kind <= algorithms.SeverityNone; kind++ {
		if kinds[kind] < 5 {
			t.Errorf("the random systems are too uniform: kinds of severity %v", kinds)
		}
	}
}

func TestSortSeverities(t *testing.T) {
	rows := algorithms.SortSeverities(map[string]int{"inf": 1, "10": 2, ">16": 3, "": 4, "2": 5, "0": 6})
	if got, want := fmt.Sprint(rows), "[{0 6} {2 5} {10 2} {>16 3} {inf 1} { 4}]"; got != want {
		t.Errorf("severities %s, want %s", got, want)
	}
}

// An analysis that a limit ends reports what it has found, and nothing else.
func TestFaultsWithLimits(t *testing.T) {
	tested := 0
	for seed := range uint64(200) {
		rng := newRand(seed)
		cfg := enginetest.SmallConfig(rng)
		cfg.NoDecision = 0
		sys := enginetest.Random(rng, cfg)
		paths := unsafePaths(rng, sys)
		inst := modelOf(t, sys)
		e := expect(sys, algorithms.Infinite)
		for limit := int64(1); limit < int64(cfg.States); limit += 3 {
			sp, err := engine.NewSpace(t.Context(), inst.task, engine.Options{Policy: inst.policy, Unfiltered: true, Limits: engine.Limits{MaxStates: limit}})
			must(t, err)
			num := numbering{sp, inst.policy.Inputs()[0]}
			var runs []algorithms.Run
		next:
			for _, p := range paths {
				for _, s := range p.States {
					if int64(sp.NumStates()) == limit && sp.NumStates() > 0 {
						break next
					}
					num.intern(t, s)
				}
				runs = append(runs, algorithms.Run{Index: len(runs), End: algorithms.RunUnsafe, Path: num.path(t, p)})
			}
			o := algorithms.FaultOptions{Radius: algorithms.Infinite, MaxSeverity: -1, Forward: rng.IntN(2) == 0}
			report, details, err := algorithms.FindFaults(t.Context(), sp, nil, runs, o, nil)
			if report.Complete != (err == nil) || report.PathCount != len(details) || err == nil && len(details) != len(runs) {
				t.Fatalf("seed %d, limit %d: report %+v with error %v", seed, limit, report, err)
			}
			if err == nil {
				continue
			}
			tested++
			if !errors.As(err, new(*engine.LimitError)) {
				t.Fatalf("seed %d, limit %d: error %v", seed, limit, err)
			}
			for i, d := range details {
				p := paths[i]
				for k, v := range d.Verdicts {
					if v != algorithms.Unknown && v != e.verdict(p.States[k]) {
						t.Fatalf("seed %d, limit %d: path %v: verdicts %v", seed, limit, p, d.Verdicts)
					}
				}
				for _, f := range d.Faults {
					if e.fault(p.States[f.Index], p.Actions[f.Index]) == nil {
						t.Fatalf("seed %d, limit %d: path %v has no fault at %d", seed, limit, p, f.Index)
					}
				}
				if i < len(details)-1 {
					if err := e.check(num, p, d, o); err != nil {
						t.Fatalf("seed %d, limit %d: path %v: %v", seed, limit, p, err)
					}
				}
			}
		}
	}
	if tested < 100 {
		t.Errorf("only %d analyses were ended", tested)
	}
}

func TestFaultsCancelled(t *testing.T) {
	inst := benchmark(t, "one-way-line-nondet")
	sp, r, err := inst.campaign(t, t.Context(), algorithms.Campaign{Each: true})
	must(t, err)
	runs := slices.DeleteFunc(r.Runs, func(r algorithms.Run) bool { return r.End != algorithms.RunUnsafe })
	ctx, cancel := context.WithCancel(t.Context())
	const after = 3
	o := algorithms.FaultOptions{Radius: algorithms.Infinite, MaxSeverity: 4}
	report, details, err := algorithms.FindFaults(ctx, sp, nil, runs, o, func(done, _ int) {
		if done == after {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || report.Complete || report.PathCount != after+1 || len(details) != after+1 {
		t.Fatalf("%d of %d paths analysed, complete: %v, %v", report.PathCount, len(runs), report.Complete, err)
	}
	whole, all, err := algorithms.FindFaults(t.Context(), sp, nil, runs, o, nil)
	must(t, err)
	// What is known from earlier paths needs no context.
	unknown := 0
	for i, v := range details[after].Verdicts {
		if v == algorithms.Unknown {
			unknown++
		} else if v != all[after].Verdicts[i] {
			t.Errorf("state %d of the path after the cancellation is %s, want %s", i, v, all[after].Verdicts[i])
		}
	}
	if unknown == 0 {
		t.Errorf("the path after the cancellation was analysed")
	}
	for i := range after {
		if fmt.Sprint(report.Paths[i]) != fmt.Sprint(whole.Paths[i]) {
			t.Errorf("path %d: %+v, want %+v", i, report.Paths[i], whole.Paths[i])
		}
	}
	for i, bad := range []algorithms.FaultOptions{
		{Radius: -2}, {Solver: "tarjam"}, {Radius: algorithms.Infinite, MaxSeverity: algorithms.MaxRadius + 1},
	} {
		if _, _, err := algorithms.FindFaults(t.Context(), sp, nil, runs, bad, nil); err == nil {
			t.Errorf("options %d are accepted: %+v", i, bad)
		}
	}
}

// planning returns an instance of the shared data, with the first property of its
// property file, and skips the test where it is absent.
func planning(t testing.TB, name, policy string, constants ...string) *instance {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", "data", "planning", name)
	read := func(file string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skipf("the shared data are absent: %v", err)
		}
		must(t, err)
		return text
	}
	task := compile(t, read("model.jani"), read("property.jani"), constants...)
	p, err := nnpolicy.Load(task.Model, filepath.Join(dir, policy+".jani2nnet"))
	must(t, err)
	return &instance{task, p, func() engine.Policy { return p.Clone() }, false}
}

// Numbers of the reference system for a network drawn at random.
func TestFaultsOfOneWayLine(t *testing.T) {
	i := planning(t, "one_way_line_15_10", "random_32_32")
	sp, r, err := i.campaign(t, t.Context(), algorithms.Campaign{Fuzz: algorithms.FuzzOptions{Strategy: algorithms.Uniform}, Each: true, Workers: 2})
	must(t, err)
	report := algorithms.NewFuzzReport(sp, algorithms.Campaign{}, r, 0, nil)
	if report.Runs != 1000 || report.Unsafe != 971 || report.UnsafePathStates != 12_111 {
		t.Errorf("%d of %d runs are unsafe, with %d states before the unsafe one, want 971 of 1000 with 12,111", report.Unsafe, report.Runs, report.UnsafePathStates)
	}
	runs := slices.DeleteFunc(r.Runs, func(r algorithms.Run) bool { return r.End != algorithms.RunUnsafe })
	o := algorithms.FaultOptions{Radius: algorithms.Infinite, MaxSeverity: -1}
	faults, details, err := algorithms.FindFaults(t.Context(), sp, nil, runs, o, nil)
	must(t, err)
	if err := checkFaults(sp, runs, details, faults, o); err != nil {
		t.Error(err)
	}
	if faults.Total.Faults != 971 || faults.Distinct.Faults != 816 || faults.WithFault != 971 || faults.Unavoidable != 0 || faults.Total.States != 12_111 {
		t.Errorf("%+v and %+v on %d paths, %d unavoidable, want 971 faults of which 816 are distinct",
			faults.Total, faults.Distinct, faults.WithFault, faults.Unavoidable)
	}
}

// The reference system's verdicts, queried in the order of the file. Where there are too
// many reachable states the attractor is left out.
func TestVerdictsOfReferenceSystem(t *testing.T) {
	for _, test := range []struct {
		name, policy string
		constants    []string
		solvers      string
		safe, unsafe int
	}{
		{"blocksworld_4_3", "random_32_32", []string{"failing_probability=0.5", "item_cost_bound=10"}, "local tarjan", 35, 0},
		{"blocksworld_6_5", "random_32_32", nil, "local tarjan", 46, 0},
		{"linetrack", "random_32_32", nil, "local tarjan attractor", 47, 0},
		{"mod_linetrack_icy_park", "random_32_32", nil, "local tarjan attractor", 125, 17},
		{"one_way_line_15_10", "trained_64_64", nil, "local tarjan attractor", 5270, 4258},
		{"one_way_line_15_10_nondet", "trained_64_64", nil, "local tarjan attractor", 0, 138},
	} {
		t.Run(test.name, func(t *testing.T) {
			i := planning(t, test.name, test.policy, test.constants...)
			text, err := os.ReadFile(filepath.Join("..", "..", "shared", "data", "planning", test.name, "verdicts.json"))
			must(t, err)
			states, err := i.task.Model.ReadStates(jani.NewSource("verdicts.json", text), nil, jani.Limits{})
			must(t, err)
			for solver := range strings.FieldsSeq(test.solvers) {
				if solver == "attractor" && testing.Short() {
					continue // it explores up to a million states
				}
				sp := i.space(t, t.Context())
				d := newDecider(t, solver, sp, algorithms.Infinite)
				for _, state := range states {
					s, err := sp.Intern(state.Values)
					must(t, err)
					a, err := d.Decide(t.Context(), s)
					must(t, err)
					if (a.Verdict == algorithms.Safe) != *state.Safe {
						t.Errorf("%s: %s is %s, the reference system says safe: %v", solver, sp.Describe(s), a.Verdict, *state.Safe)
					}
				}
				if stats := d.Stats(); stats.Safe != test.safe || stats.Unsafe != test.unsafe {
					t.Errorf("%s: %d states are safe and %d not, want %d and %d", solver, stats.Safe, stats.Unsafe, test.safe, test.unsafe)
				}
			}
		})
	}
}

// Neither the order of queries nor what is already known changes a verdict, and a larger
// radius never makes a state unsafe.
func TestVerdictsDoNotDependOnCaches(t *testing.T) {
	ctx := t.Context()
	for _, name := range []string{"one-way-line-nondet", "two-way-line-park"} {
		i := benchmark(t, name)
		sp, r, err := i.campaign(t, ctx, algorithms.Campaign{Fuzz: algorithms.FuzzOptions{Strategy: algorithms.Uniform}, Runs: 60})
		must(t, err)
		var states []engine.StateID
		for _, run := range r.Runs {
			states = append(states, run.States...)
		}
		slices.Sort(states)
		states = slices.Compact(states)
		const seed = 11
		rng := newRand(seed)
		smaller := map[engine.StateID]algorithms.Verdict{} // for the next smaller radius
		for _, radius := range []algorithms.Radius{0, 1, 2, algorithms.Infinite} {
			verdicts := map[engine.StateID]algorithms.Verdict{}
			decide := func(what string, d algorithms.Decider, s, at engine.StateID) {
				t.Helper()
				a, err := d.Decide(ctx, at)
				must(t, err)
				if _, ok := verdicts[s]; !ok {
					verdicts[s] = a.Verdict
				}
				if a.Verdict != verdicts[s] {
					t.Errorf("%s, seed %d, radius %s, %s %s: %s is %s, but was %s", name, seed, radius, what, d.Name(), sp.Describe(s), a.Verdict, verdicts[s])
				}
			}
			for _, solver := range algorithms.DeciderNames() {
				kept := newDecider(t, solver, sp, radius)
				for _, s := range states {
					decide("kept", kept, s, s)
				}
				shuffled := newDecider(t, solver, sp, radius)
				for _, k := range rng.Perm(len(states)) {
					decide("shuffled", shuffled, states[k], states[k])
				}
				for _, k := range rng.Perm(len(states))[:10] {
					decide("fresh", newDecider(t, solver, sp, radius), states[k], states[k])
					fork := sp.Fork(ctx, i.clone())
					s, err := fork.Import(sp, states[k])
					must(t, err)
					decide("forked", newDecider(t, solver, fork, radius), states[k], s)
				}
			}
			count := map[algorithms.Verdict]int{}
			for s, v := range verdicts {
				if count[v]++; smaller[s] == algorithms.Safe && v != algorithms.Safe {
					t.Errorf("%s: %s is %s for radius %s, but safe for a smaller one", name, sp.Describe(s), v, radius)
				}
			}
			if count[algorithms.Safe] < 10 || count[algorithms.Unsafe] < 10 {
				t.Errorf("%s, radius %s: the states are too uniform: %v", name, radius, count)
			}
			smaller = verdicts
		}
	}
}

// The solver, the order of states and of paths, and what is shared make no difference to
// what is found.
func TestFaultReportsAgree(t *testing.T) {
	i := benchmark(t, "one-way-line-nondet")
	sp, r, err := i.campaign(t, t.Context(), algorithms.Campaign{Each: true})
	must(t, err)
	runs := slices.DeleteFunc(r.Runs, func(r algorithms.Run) bool { return r.End != algorithms.RunUnsafe })
	fork := func() *engine.Space { return sp.Fork(t.Context(), i.clone()) }
	const seed = 3
	rng := newRand(seed)
	for _, radius := range []algorithms.Radius{algorithms.Infinite, 1} {
		want := ""
		for _, o := range []algorithms.FaultOptions{
			{Solver: "local"}, {Solver: "local", Forward: true}, {Solver: "tarjan"}, {Solver: "attractor"}, {Solver: "tarjan", Forward: true},
			{Solver: "local", Fresh: true}, {Solver: "tarjan", Fresh: true, Forward: true},
		} {
			o.Radius, o.MaxSeverity, o.SeverityEffort, o.Alternatives = radius, 3, -1, 1<<20
			report, _, err := algorithms.FindFaults(t.Context(), sp, fork, runs, o, nil)
			must(t, err)
			got := fmt.Sprintf("%+v of %+v, %d unavoidable, %d with a fault", report.Distinct, report.Total, report.Unavoidable, report.WithFault)
			var faults []string
			for _, f := range report.Faults {
				faults = append(faults, fmt.Sprintf("\n%s %s %v, at %d places, alternatives %v", f.State, f.Action, f.Outcomes, f.Places, f.Alternatives))
			}
			slices.Sort(faults)
			got += strings.Join(faults, "")
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("seed %d, %+v: %s\nbut before: %s", seed, o, got, want)
			}
			if len(faults) < 5 {
				t.Errorf("radius %s: only %d faults", radius, len(faults))
			}
			rng.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
		}
	}
}
