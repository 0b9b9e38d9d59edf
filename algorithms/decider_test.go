package algorithms_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
)

var radii = []algorithms.Radius{algorithms.Infinite, 0, 1, 2, 3}

// newRand returns the generator of one random test case; failures print the seed.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func newDecider(t testing.TB, name string, sys algorithms.System, r algorithms.Radius) algorithms.Decider {
	t.Helper()
	d, err := algorithms.NewDecider(name, sys, r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// strict is a System that watches over the contract and can be told to fail. It knows
// the states that it has been shown or has returned, like a Space that explores, and
// reports an error for whatever an analysis has no business to ask.
type strict struct {
	*enginetest.System
	known    int
	calls    int   // calls of all methods that can fail
	failAt   int   // the call from which on all fail, 0 for never
	failWith error // what to fail with
	onCall   func()
}

func newStrict(sys *enginetest.System) *strict { return &strict{System: sys} }

// show makes the states up to s known.
func (sys *strict) show(s engine.StateID) { sys.known = max(sys.known, int(s)+1) }

func (sys *strict) NumStates() int { return sys.known }

func (sys *strict) call(s engine.StateID, expand bool) error {
	sys.calls++
	if sys.onCall != nil {
		sys.onCall()
	}
	if sys.failAt > 0 && sys.calls >= sys.failAt {
		return sys.failWith
	}
	if int(s) >= sys.known {
		return fmt.Errorf("state %d is not known", s)
	}
	if class, _ := sys.System.Class(s); expand && class != engine.ClassOrdinary {
		return fmt.Errorf("state %d of class %d is expanded", s, class)
	}
	return nil
}

func (sys *strict) Class(s engine.StateID) (engine.Class, error) {
	if err := sys.call(s, false); err != nil {
		return 0, err
	}
	return sys.System.Class(s)
}

func (sys *strict) NumActions(s engine.StateID) (int, error) {
	if err := sys.call(s, true); err != nil {
		return 0, err
	}
	return sys.System.NumActions(s)
}

func (sys *strict) Decision(s engine.StateID) (int, error) {
	if err := sys.call(s, true); err != nil {
		return 0, err
	}
	if n, _ := sys.System.NumActions(s); n == 0 {
		return 0, fmt.Errorf("decision in terminal state %d", s)
	}
	return sys.System.Decision(s)
}

func (sys *strict) Outcomes(s engine.StateID, i int) ([]engine.StateID, error) {
	if err := sys.call(s, true); err != nil {
		return nil, err
	}
	outcomes, err := sys.System.Outcomes(s, i)
	for _, t := range outcomes {
		sys.show(t)
	}
	return outcomes, err
}

// ceiling returns the value of J that means "not r-safe".
func ceiling(r algorithms.Radius) int {
	if r == algorithms.Infinite {
		return 1
	}
	return int(r) + 1
}

// checkAnswer compares an answer with the value of J* from the naive fixpoint.
func checkAnswer(name string, r algorithms.Radius, a algorithms.Answer, want int) error {
	verdict := algorithms.Safe
	if want == ceiling(r) {
		verdict = algorithms.Unsafe
	}
	exact := a.Value == want || name == "tarjan" && want <= a.Value && a.Value < ceiling(r)
	if a.Verdict != verdict || !exact {
		return fmt.Errorf("%s, radius %s, state %d: verdict %s with value %d, want %s with %d",
			name, r, a.State, a.Verdict, a.Value, verdict, want)
	}
	return nil
}

// checkKnown compares everything that d claims to have settled with J*.
func checkKnown(d algorithms.Decider, want []int) error {
	for s, value := range want {
		verdict := algorithms.Safe
		if value == ceiling(d.Radius()) {
			verdict = algorithms.Unsafe
		}
		if known := d.Known(engine.StateID(s)); known != algorithms.Unknown && known != verdict {
			return fmt.Errorf("%s, radius %s, state %d: known to be %s, want %s",
				d.Name(), d.Radius(), s, known, verdict)
		}
	}
	return nil
}

func TestSeverityAgreesWithFixpoint(t *testing.T) {
	ctx := t.Context()
	kinds := make(map[algorithms.SeverityKind]int)
	proofs := 0
	for seed := range uint64(1500) {
		rng := newRand(seed)
		sys := enginetest.Random(rng, enginetest.SmallConfig(rng))
		n := sys.NumStates()
		// No finite value of J* reaches the number of states: the values that occur
		// leave no gap.
		large := max(n, 5)
		j, safe := enginetest.Fixpoint(sys, large), enginetest.Fixpoint(sys, -1)
		r := algorithms.Radius(rng.IntN(5))
		if rng.IntN(8) == 0 {
			r = algorithms.Radius(large)
		}
		for _, name := range algorithms.DeciderNames() {
			finite := newDecider(t, name, sys, r)
			infinite := newDecider(t, name, sys, algorithms.Infinite)
			for _, q := range rng.Perm(n)[:min(4, n)] {
				got, err := algorithms.FullSeverity(ctx, finite, infinite, engine.StateID(q))
				if err != nil {
					t.Fatal(err)
				}
				want := algorithms.Severity{Kind: algorithms.SeverityAtLeast, Least: r + 1}
				switch {
				case safe[q] == 1:
					want = algorithms.Severity{Kind: algorithms.SeverityNone}
				case j[q] <= int(r):
					want = algorithms.Severity{Kind: algorithms.SeverityExact, Least: algorithms.Radius(j[q])}
				case got.Kind == algorithms.SeverityInfinite && j[q] > large:
					want = got // a proof is welcome, but not promised
					proofs++
				}
				if got != want {
					t.Fatalf("seed %d: %s, radius %s, state %d: severity %+v, want %+v (J* is %d of %d)",
						seed, name, r, q, got, want, j[q], large+1)
				}
				kinds[got.Kind]++
				if err := checkKnown(finite, enginetest.Fixpoint(sys, int(r))); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		}
	}
	if proofs < 50 || kinds[algorithms.SeverityAtLeast] < 50 || kinds[algorithms.SeverityNone] < 50 {
		t.Errorf("the random systems are too uniform: kinds of severity %v, %d infinite ones proven", kinds, proofs)
	}
}

func TestSeverityStrings(t *testing.T) {
	ctx := t.Context()
	// 0 is r-safe from 0 on, 1 and 2 from 1 and 2 on, 3 only for ∞, since it must deviate
	// in a loop, and 4 is unsafe.
	sys := enginetest.New(
		[]engine.Class{engine.ClassGoal, engine.ClassOrdinary, engine.ClassOrdinary, engine.ClassOrdinary, engine.ClassUnsafe},
		[][][]engine.StateID{nil, {{4}, {0}}, {{4}, {1}}, {{4}, {3}}, nil},
		[]int{0, 0, 0, 0, 0})
	for _, name := range algorithms.DeciderNames() {
		infinite := newDecider(t, name, sys, algorithms.Infinite)
		for _, test := range []struct {
			r    algorithms.Radius
			want string
		}{
			{0, `"0" ">0" ">0" ">0" ""`},
			{1, `"0" "1" ">1" ">1" ""`},
			{3, `"0" "1" "2" "inf" ""`},
		} {
			d := newDecider(t, name, sys, test.r)
			want := test.want
			if name == "tarjan" { // it keeps no values that could show a gap
				want = strings.ReplaceAll(want, "inf", ">3")
			}
			var got []string
			for _, s := range []engine.StateID{0, 1, 2, 3, 4} {
				v, err := algorithms.FullSeverity(ctx, d, infinite, s)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%q", v))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s, radius %s: severities %s, want %s", name, test.r, strings.Join(got, " "), want)
			}
		}
		for s, want := range map[engine.StateID]algorithms.SeverityKind{
			1: algorithms.SeverityUnknown, 4: algorithms.SeverityNone,
		} {
			if v, err := infinite.Severity(ctx, s); err != nil || v.Kind != want {
				t.Errorf("%s, radius inf, state %d: severity %+v, %v, want kind %d", name, s, v, err, want)
			}
		}
	}
}

// The names of states and the order of actions change nothing about safety.
func TestDecidersUnderPermutation(t *testing.T) {
	ctx := t.Context()
	for seed := range uint64(500) {
		rng := newRand(seed)
		sys := enginetest.Random(rng, enginetest.SmallConfig(rng))
		perm := make([]engine.StateID, sys.NumStates())
		for i, p := range rng.Perm(len(perm)) {
			perm[i] = engine.StateID(p)
		}
		permuted := sys.Permuted(rng, perm)
		for _, r := range []algorithms.Radius{algorithms.Infinite, 1} {
			for _, name := range algorithms.DeciderNames() {
				d, e := newDecider(t, name, sys, r), newDecider(t, name, permuted, r)
				for _, q := range rng.Perm(len(perm)) {
					a, err1 := d.Decide(ctx, engine.StateID(q))
					b, err2 := e.Decide(ctx, perm[q])
					if err := errors.Join(err1, err2); err != nil {
						t.Fatal(err)
					}
					if a.Verdict != b.Verdict {
						t.Fatalf("seed %d: %s, radius %s: state %d is %s, renamed to %d it is %s",
							seed, name, r, q, a.Verdict, perm[q], b.Verdict)
					}
				}
			}
		}
	}
}

// A query that fails half-way answers nothing and spoils nothing.
func TestDecidersAfterErrors(t *testing.T) {
	broken := errors.New("broken")
	for seed := range uint64(1500) {
		rng := newRand(seed)
		sys := enginetest.Random(rng, enginetest.SmallConfig(rng))
		for _, r := range []algorithms.Radius{algorithms.Infinite, algorithms.Radius(rng.IntN(4))} {
			want := enginetest.Fixpoint(sys, int(r))
			for _, name := range algorithms.DeciderNames() {
				view := newStrict(sys)
				view.failWith = broken
				d := newDecider(t, name, view, r)
				for _, q := range rng.Perm(len(want))[:min(4, len(want))] {
					s := engine.StateID(q)
					view.show(s)
					for _, failAfter := range []int{1 + rng.IntN(4), 1 + rng.IntN(40), 0} {
						view.calls, view.failAt = 0, failAfter
						a, err := d.Decide(t.Context(), s)
						failed := failAfter > 0 && view.calls >= failAfter
						switch {
						case failed && (!errors.Is(err, broken) || a.Verdict != algorithms.Unknown || a.Value != -1):
							t.Fatalf("seed %d: %s, radius %s, state %d: verdict %s, value %d and error %v after a failure",
								seed, name, r, q, a.Verdict, a.Value, err)
						case !failed && err == nil:
							err = checkAnswer(name, r, a, want[q])
						}
						if !failed && err != nil {
							t.Fatalf("seed %d: %v", seed, err)
						}
						if err := checkKnown(d, want); err != nil {
							t.Fatalf("seed %d: %v", seed, err)
						}
					}
				}
				if stats := d.Stats(); stats.Queries != stats.Safe+stats.Unsafe+stats.Unknown {
					t.Fatalf("seed %d: %s: statistics %+v do not add up", seed, name, stats)
				}
			}
		}
	}
}

func TestDecidersCancelled(t *testing.T) {
	const n = 100_000
	sys := enginetest.Chain(n, engine.ClassUnsafe)
	for _, name := range algorithms.DeciderNames() {
		view := newStrict(sys)
		view.show(0)
		d := newDecider(t, name, view, 1)
		ctx, cancel := context.WithCancel(t.Context())
		view.onCall = func() {
			if view.calls == n {
				cancel()
			}
		}
		a, err := d.Decide(ctx, 0)
		if !errors.Is(err, context.Canceled) || a.Verdict != algorithms.Unknown {
			t.Errorf("%s: verdict %s and error %v after cancellation", name, a.Verdict, err)
		}
		if a.Pairs == 0 || a.Pairs == n-1 {
			t.Errorf("%s: cancelled after %d pairs, want some of %d", name, a.Pairs, n-1)
		}
		if a, err = d.Decide(ctx, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: verdict %s and error %v with an ended context", name, a.Verdict, err)
		}
		a, err = d.Decide(t.Context(), 0)
		if err != nil || a.Verdict != algorithms.Unsafe {
			t.Errorf("%s: verdict %s and error %v when asked again", name, a.Verdict, err)
		}
		stats := d.Stats()
		if stats.Queries != 3 || stats.Unknown != 2 || stats.Unsafe != 1 || stats.Safe != 0 || stats.Pairs != n-1 {
			t.Errorf("%s: statistics %+v, want 3 queries with %d pairs", name, stats, n-1)
		}
	}
}

// One query settles all states that its answer rests on, whether safe or not.
func TestKnownAfterOneQuery(t *testing.T) {
	// 0, 1 and 2 are a cycle, and the policy's; 3 can only fail, by way of 4.
	sys := enginetest.New(
		[]engine.Class{engine.ClassOrdinary, engine.ClassOrdinary, engine.ClassOrdinary, engine.ClassOrdinary, engine.ClassOrdinary, engine.ClassUnsafe},
		[][][]engine.StateID{{{1}}, {{2}}, {{0}}, {{0, 4}}, {{5}}, nil},
		[]int{0, 0, 0, 0, 0, -1})
	for _, name := range algorithms.DeciderNames() {
		for _, r := range radii {
			d := newDecider(t, name, sys, r)
			_, err1 := d.Decide(t.Context(), 0)
			_, err2 := d.Decide(t.Context(), 3)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			var got []string
			for s := range engine.StateID(6) {
				got = append(got, d.Known(s).String())
			}
			if got, want := strings.Join(got, " "), "safe safe safe unsafe unsafe unsafe"; got != want {
				t.Errorf("%s, radius %s: states are known to be %s, want %s", name, r, got, want)
			}
		}
	}
}

// Chains of a million states need explicit stacks, and time that is linear.
func TestDecidersOnLongChain(t *testing.T) {
	const n = 1_000_000
	for _, last := range []engine.Class{engine.ClassUnsafe, engine.ClassGoal} {
		sys := enginetest.Chain(n, last)
		want := algorithms.Safe
		if last == engine.ClassUnsafe {
			want = algorithms.Unsafe
		}
		for _, name := range algorithms.DeciderNames() {
			d := newDecider(t, name, sys, algorithms.Infinite)
			a, err := d.Decide(t.Context(), 0)
			if err != nil || a.Verdict != want || a.Pairs != n-1 {
				t.Errorf("%s: verdict %s, %d pairs and error %v, want %s and %d pairs", name, a.Verdict, a.Pairs, err, want, n-1)
			}
			for s := range engine.StateID(n) {
				if d.Known(s) != want {
					t.Errorf("%s: state %d is known to be %s, want %s", name, s, d.Known(s), want)
					break
				}
			}
		}
	}
}

// Chains of ten million states are decided in seconds and in a number of steps that is
// linear.
func TestDecidersOnVeryLongChain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes gigabytes")
	}
	const n = 10_000_000
	sys := enginetest.Chain(n, engine.ClassUnsafe)
	for _, name := range algorithms.DeciderNames() {
		view := newStrict(sys)
		view.show(0)
		start := time.Now()
		a, err := newDecider(t, name, view, 1).Decide(t.Context(), 0)
		if err != nil || a.Verdict != algorithms.Unsafe || a.Pairs != n-1 {
			t.Errorf("%s: verdict %s, %d pairs and error %v", name, a.Verdict, a.Pairs, err)
		}
		if limit := 10 * n; view.calls > limit {
			t.Errorf("%s: %d calls, want at most %d", name, view.calls, limit)
		}
		t.Logf("%s: %v", name, time.Since(start))
	}
}

func TestDecidersOnLadder(t *testing.T) {
	const k = 19_999 // 20,000 states and the unsafe one
	for _, name := range []string{"local", "attractor", "ipi"} {
		sys := enginetest.Ladder(k)
		start := time.Now()
		a, err := newDecider(t, name, sys, algorithms.Infinite).Decide(t.Context(), 0)
		if err != nil || a.Verdict != algorithms.Safe {
			t.Fatalf("%s: verdict %s, error %v", name, a.Verdict, err)
		}
		if a.Pairs >= 60_001 || a.Pairs != int64(sys.Pairs) {
			t.Errorf("%s: %d pairs counted and %d generated, want less than 60,001", name, a.Pairs, sys.Pairs)
		}
		if elapsed := time.Since(start); elapsed > time.Second {
			t.Errorf("%s: %v", name, elapsed)
		}
	}
	for _, name := range algorithms.DeciderNames() {
		for k := range 13 {
			sys := enginetest.Ladder(k)
			for _, r := range radii {
				a, err := newDecider(t, name, sys, r).Decide(t.Context(), 0)
				if err == nil {
					err = checkAnswer(name, r, a, enginetest.Fixpoint(sys, int(r))[0])
				}
				if err != nil {
					t.Fatalf("ladder %d: %v", k, err)
				}
			}
		}
	}
}

// The counter of pairs is not limited by the number of bits of a word.
func TestManyActions(t *testing.T) {
	const n = 200
	succ := make([][][]engine.StateID, 3)
	for range n - 1 {
		succ[0] = append(succ[0], []engine.StateID{1, 2})
	}
	succ[0] = append(succ[0], []engine.StateID{2})
	sys := enginetest.New([]engine.Class{engine.ClassOrdinary, engine.ClassUnsafe, engine.ClassGoal}, succ, []int{n / 2, -1, -1})
	for _, name := range algorithms.DeciderNames() {
		a, err := newDecider(t, name, sys, 1).Decide(t.Context(), 0)
		if err != nil || a.Verdict != algorithms.Safe || a.Pairs != n {
			t.Errorf("%s: %+v, %v, want safe after %d pairs", name, a, err, n)
		}
	}
}

// Queries that end early leave a large region open, which every later one must cross: a
// chain of m states a whose states have the outcomes b too, behind each of which there is
// one more state c. The last of the chain can go to the traps w_1 … w_n or home. Query q_i
// depends on the chain and on trap w_i, which the last of the chain tries before any b is
// seen.
// The work must stay linear, not grow with the number of queries times the region.
func TestLinearOverUnfinishedQueries(t *testing.T) {
	const m, n = 2000, 500
	const a, b, c, w, q, bad, home = 0, m, 2 * m, 3 * m, 3*m + n, 3*m + 2*n, 3*m + 2*n + 1
	classes := slices.Repeat([]engine.Class{engine.ClassOrdinary}, home+1)
	classes[bad], classes[home] = engine.ClassUnsafe, engine.ClassGoal
	succ := make([][][]engine.StateID, home+1)
	for i := range engine.StateID(m) {
		succ[a+i] = [][]engine.StateID{{a + i + 1, b + i}}
		succ[b+i] = [][]engine.StateID{{c + i}}
		succ[c+i] = [][]engine.StateID{{home}}
	}
	succ[m-1] = nil
	for i := range engine.StateID(n) {
		succ[m-1] = append(succ[m-1], []engine.StateID{w + i})
		succ[w+i] = [][]engine.StateID{{bad}}
		succ[q+i] = [][]engine.StateID{{a, w + i}}
	}
	succ[m-1] = append(succ[m-1], []engine.StateID{home})
	for _, name := range []string{"local", "ipi"} {
		sys := newStrict(enginetest.New(classes, succ, make([]int, home+1)))
		sys.show(home)
		d := newDecider(t, name, sys, algorithms.Infinite)
		for i := range engine.StateID(n) {
			answer, err := d.Decide(t.Context(), q+i)
			if err != nil || answer.Verdict != algorithms.Unsafe {
				t.Fatalf("%s: query %d: %+v, %v", name, i, answer, err)
			}
			if i == 0 && name == "local" && d.Stats().Pairs > m+10 {
				t.Errorf("the first query touched %d pairs, want about %d", d.Stats().Pairs, m)
			}
		}
		if limit := 10 * int(home); sys.calls > limit {
			t.Errorf("%s: %d queries made %d calls on a system of %d states, want at most %d", name, n, sys.calls, home+1, limit)
		}
	}
}

// Where the policy is safe there is nothing to search: it alone is followed.
func TestNoPairTooManyWherePolicyIsSafe(t *testing.T) {
	ctx := t.Context()
	tested := 0
	for seed := range uint64(2000) {
		rng := newRand(seed)
		cfg := enginetest.SmallConfig(rng)
		cfg.NoDecision = 0
		sys := enginetest.Random(rng, cfg)
		for s, j := range enginetest.Fixpoint(sys, 0) {
			if j != 0 {
				continue
			}
			tested++
			want := policyPairs(sys, engine.StateID(s))
			for _, r := range radii {
				for _, name := range []string{"local", "tarjan", "ipi"} {
					a, err := newDecider(t, name, sys, r).Decide(ctx, engine.StateID(s))
					if err != nil || a.Pairs != want {
						t.Fatalf("seed %d: %s, radius %s, state %d: %d pairs, want %d, error %v", seed, name, r, s, a.Pairs, want, err)
					}
				}
			}
		}
	}
	if tested < 1000 {
		t.Errorf("only %d states were tested", tested)
	}
}

// policyPairs returns the number of states that the policy expands from s on.
func policyPairs(sys *enginetest.System, s engine.StateID) int64 {
	seen := map[engine.StateID]bool{s: true}
	pairs := int64(0)
	for queue := []engine.StateID{s}; len(queue) > 0; queue = queue[1:] {
		class, _ := sys.Class(queue[0])
		if n, _ := sys.NumActions(queue[0]); n == 0 || class != engine.ClassOrdinary {
			continue
		}
		pairs++
		decision, _ := sys.Decision(queue[0])
		outcomes, _ := sys.Outcomes(queue[0], decision)
		for _, t := range outcomes {
			if !seen[t] {
				seen[t] = true
				queue = append(queue, t)
			}
		}
	}
	return pairs
}

func TestNewDecider(t *testing.T) {
	sys := enginetest.Chain(2, engine.ClassGoal)
	_, err := algorithms.NewDecider("tarjam", sys, 1)
	if err == nil || !strings.Contains(err.Error(), `"tarjam"`) || !strings.Contains(err.Error(), strings.Join(algorithms.DeciderNames(), ", ")) {
		t.Errorf("unknown name: error %v does not list the names", err)
	}
	for _, r := range []algorithms.Radius{-2, algorithms.MaxRadius + 1} {
		if _, err := algorithms.NewDecider("local", sys, r); err == nil {
			t.Errorf("radius %d is accepted", int(r))
		}
	}
	for _, name := range algorithms.DeciderNames() {
		d := newDecider(t, name, sys, algorithms.MaxRadius)
		if d.Name() != name || d.Radius() != algorithms.MaxRadius {
			t.Errorf("decider %q for radius %s calls itself %q for %s", name, algorithms.MaxRadius, d.Name(), d.Radius())
		}
		for _, s := range []engine.StateID{2, engine.NoState} {
			if a, err := d.Decide(t.Context(), s); err == nil || a.Verdict != algorithms.Unknown {
				t.Errorf("%s: state %d that does not exist is %s", name, s, a.Verdict)
			}
			if v := d.Known(s); v != algorithms.Unknown {
				t.Errorf("%s: state %d that does not exist is known to be %s", name, s, v)
			}
		}
		a, err := d.Decide(t.Context(), 0)
		if err == nil {
			err = checkAnswer(name, algorithms.MaxRadius, a, 0)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// The largest radius must not cost what it allows: values that jump are not counted up.
func TestLargestRadius(t *testing.T) {
	sys := enginetest.Ladder(1000)
	for _, name := range algorithms.DeciderNames() {
		if name == "tarjan" { // every budget is a search of its own
			continue
		}
		v, err := newDecider(t, name, sys, algorithms.MaxRadius).Severity(t.Context(), 1001)
		if err != nil || v.Kind != algorithms.SeverityAtLeast || v.Least != algorithms.Infinite {
			t.Errorf("%s: severity %+v, %v", name, v, err)
		}
	}
}

func TestParseRadius(t *testing.T) {
	for text, want := range map[string]algorithms.Radius{
		"inf": algorithms.Infinite, "∞": algorithms.Infinite, "0": 0, "3": 3, "1048576": algorithms.MaxRadius,
	} {
		r, err := algorithms.ParseRadius(text)
		if err != nil || r != want {
			t.Errorf("ParseRadius(%q) = %v, %v, want %v", text, r, err, want)
		}
		if back, err := algorithms.ParseRadius(r.String()); err != nil || back != r {
			t.Errorf("ParseRadius(%q) = %v, %v, want %v", r.String(), back, err, r)
		}
	}
	for _, text := range []string{"", "-1", "1048577", "99999999999999999999", "1.5", "x", "Inf "} {
		if r, err := algorithms.ParseRadius(text); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
			t.Errorf("ParseRadius(%q) = %v, %v, want an error that quotes it", text, r, err)
		}
	}
}

func TestVerdictString(t *testing.T) {
	var zero algorithms.Verdict
	got := fmt.Sprint(zero, algorithms.Safe, algorithms.Unsafe)
	if want := "unknown safe unsafe"; got != want {
		t.Errorf("verdicts print as %q, want %q", got, want)
	}
}

// BenchmarkDeciders measures one query to a fresh decider; the systems are explicit, so
// generating a pair costs almost nothing.
func BenchmarkDeciders(b *testing.B) {
	rng := newRand(1)
	wide := enginetest.Random(rng, enginetest.Config{
		States: 30_000, Actions: 8, Outcomes: 3, Unsafe: 0.1, Goal: 0.01,
	})
	// A state that is safe, but only with two deviations.
	query := engine.StateID(slices.Index(enginetest.Fixpoint(wide, 2), 2))
	for _, system := range []struct {
		name  string
		sys   *enginetest.System
		query engine.StateID
	}{
		{"ladder", enginetest.Ladder(19_999), 0},
		{"chain", enginetest.Chain(1_000_000, engine.ClassUnsafe), 0},
		{"wide", wide, query},
	} {
		for _, r := range []algorithms.Radius{algorithms.Infinite, 2} {
			for _, name := range algorithms.DeciderNames() {
				b.Run(fmt.Sprintf("%s/%s/%s", system.name, r, name), func(b *testing.B) {
					b.ReportAllocs()
					pairs := int64(0)
					for b.Loop() {
						a, err := newDecider(b, name, system.sys, r).Decide(b.Context(), system.query)
						if err != nil {
							b.Fatal(err)
						}
						pairs += a.Pairs
					}
					b.ReportMetric(float64(pairs)/float64(b.N), "pairs")
					b.ReportMetric(float64(pairs)/b.Elapsed().Seconds(), "pairs/s")
				})
			}
		}
	}
}
