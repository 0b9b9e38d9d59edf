package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// one is a model of one automaton with one location: variables, and edges as JSON
// members between braces.
func one(variables string, edges ...string) string {
	for i, e := range edges {
		edges[i] = `{"location":"l",` + e + `}`
	}
	return modelText("a b c d", variables, `{"name":"p","locations":[{"name":"l"}],"initial-locations":["l"],"edges":[`+strings.Join(edges, ",")+`]}`,
		`{"automaton":"p"}`, `{"synchronise":["a"],"result":"a"},{"synchronise":["b"],"result":"b"},{"synchronise":["c"],"result":"c"},{"synchronise":["d"],"result":"d"}`)
}

// to is a destination with assignments, each x := E as "x", "E" in JSON.
func to(assignments ...string) string {
	var list []string
	for i := 0; i < len(assignments); i += 2 {
		list = append(list, fmt.Sprintf(`{"ref":%s,"value":%s}`, assignments[i], assignments[i+1]))
	}
	return `{"location":"l","assignments":[` + strings.Join(list, ",") + `]}`
}

func bounded(name string, lo, hi, initial int) string {
	return fmt.Sprintf(`{"name":%q,"type":{"kind":"bounded","base":"int","lower-bound":%d,"upper-bound":%d},"initial-value":%d}`, name, lo, hi, initial)
}

func newSpace(t testing.TB, task *jani.Task, options engine.Options) *engine.Space {
	t.Helper()
	sp, err := engine.NewSpace(context.Background(), task, options)
	if err != nil {
		t.Fatal(err)
	}
	return sp
}

// intern stores the initial state.
func intern(t testing.TB, sp *engine.Space) engine.StateID {
	t.Helper()
	s, err := sp.Intern(sp.Model().Initial.States[0])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Single transitions with a known result, by both generators: the values of x in the
// successors of x = 3, a = [0,1,2], y = 9000, low = −2⁶³, r = 1e300, or the error.
func TestTransitions(t *testing.T) {
	const x, y = `{"op":"=","left":"x","right":3}`, `"y"`
	quotient := `{"op":">","left":{"op":"/","left":1,"right":0},"right":0}`
	element := func(i string) string { return `{"op":"aa","exp":"a","index":` + i + `}` }
	plus := func(a, b string) string { return `{"op":"+","left":` + a + `,"right":` + b + `}` }
	binary := func(op, a, b string) string {
		return fmt.Sprintf(`{"op":%q,"left":%s,"right":%s}`, op, a, b)
	}
	guarded := func(guard string) string {
		return `"guard":{"exp":` + guard + `},"destinations":[` + to(`"x"`, `4`) + `]`
	}
	random := func(p, q string) string {
		return `"destinations":[{"location":"l","probability":{"exp":` + p + `},"assignments":[{"ref":"x","value":1}]},
			{"location":"l","probability":{"exp":` + q + `},"assignments":[{"ref":"x","value":2}]}]`
	}
	for _, c := range []struct {
		name, edge string
		want       string // values of x, or part of the error message
	}{
		{"guard", guarded(x), "[4]"},
		{"guard fails", guarded(binary(">", `"x"`, "3")), "[]"},
		{"1/0", guarded(quotient), "guard: "},
		{"false ∧ 1/0", guarded(binary("∧", "false", quotient)), "[]"},
		{"1/0 ∧ false", guarded(binary("∧", quotient, "false")), "guard: "},
		{"true ∨ 1/0", guarded(binary("∨", "true", quotient)), "[4]"},
		{"false ⇒ 1/0", guarded(binary("⇒", "false", quotient)), "[4]"},
		{"true ⇒ 1/0", guarded(binary("⇒", "true", quotient)), "guard: "},
		{"ite", guarded(`{"op":"ite","if":true,"then":` + x + `,"else":` + quotient + `}`), "[4]"},
		{"x = 3 ∧ 1/0", guarded(binary("∧", x, quotient)), "guard: "},
		{"x = 4 ∧ 1/0", guarded(binary("∧", binary("=", `"x"`, "4"), quotient)), "[]"},
		{"1/0 ∧ x = 4", guarded(binary("∧", quotient, binary("=", `"x"`, "4"))), "guard: "},
		{"x ≠ 3 ∨ 7 % (x − 3) = 1", guarded(binary("∨", binary("≠", `"x"`, "3"), binary("=", binary("%", "7", binary("-", `"x"`, "3")), "1"))), "guard: "},
		{"x = 3 ∨ 7 % (x − 3) = 1", guarded(binary("∨", x, binary("=", binary("%", "7", binary("-", `"x"`, "3")), "1"))), "[4]"},
		{"failing ite ∧ y = 1", guarded(binary("∧", binary("=", `{"op":"ite","if":`+binary("=", binary("%", "7", binary("-", `"x"`, "3")), "1")+`,"then":1,"else":2}`, "1"), binary("=", y, "1"))), "guard: "},
		{"a[5] behind x", guarded(binary("∧", binary("≠", `"x"`, "3"), binary("=", element("5"), "0"))), "[]"},
		{"a[5]", guarded(binary("∧", x, binary("=", element("5"), "0"))), "index 5 is out of range"},
		{"a[x − 1]", guarded(binary("=", element(binary("-", `"x"`, "1")), "2")), "[4]"},
		{"a[x]", guarded(binary("=", element(`"x"`), "2")), "index 3 is out of range"},
		{"large range", guarded(binary("∧", binary("≥", y, "9000"), binary("<", y, "9001"))), "[4]"},
		{"large range, below", guarded(binary("<", y, "9000")), "[]"},
		{"large range, unequal", guarded(binary("≠", y, "9000")), "[]"},
		{"large range, mirrored", guarded(binary(">", "9001", y)), "[4]"},
		{"large range and a real", guarded(binary("≤", y, "9000.5")), "[4]"},

		{"two values at once", `"destinations":[` + to(`"x"`, "1", `"x"`, "2") + `]`, `the variable "x" is assigned two different values at once`},
		{"one value twice", `"destinations":[` + to(`"x"`, "1", `"x"`, plus(element("0"), "1")) + `]`, "[1]"},
		{"simultaneous", `"destinations":[` + to(`"x"`, element("2"), element("2"), `"x"`) + `]`, "[2]"},
		{"overflow", `"destinations":[` + to(`"x"`, binary("*", binary("*", y, "9000000000"), binary("*", y, "9000000000"))) + `]`, "does not fit into 64 bits"},
		{"negative of −2⁶³", guarded(binary("<", `{"op":"-","exp":"low"}`, "0")), "does not fit into 64 bits"},
		{"absolute value of −2⁶³", guarded(binary("<", `{"op":"abs","exp":"low"}`, "0")), "does not fit into 64 bits"},
		{"−2⁶³ % −1", guarded(binary("=", binary("%", `"low"`, binary("-", "2", `"x"`)), "0")), "[4]"},
		{"floor of 1e300", guarded(binary("<", `{"op":"floor","exp":"r"}`, "0")), "does not fit into 64 bits"},
		{"1e300 · 1e300", guarded(binary("<", binary("*", `"r"`, `"r"`), "0")), "is not a finite number"},
		{"target without bounds", `"destinations":[` + to(`"low"`, binary("+", `"low"`, `"x"`), `"r"`, binary("/", `"r"`, "2"), `"x"`, "5") + `]`, "[5]"},
		{"computed target", `"destinations":[` + to(element(`"x"`), "0") + `]`, "index 3 is out of range"},

		{"probabilities", random(`{"op":"/","left":"x","right":4}`, "0.25"), "[1 2]"},
		{"probability 0", random(`{"op":"-","left":"x","right":3}`, "1"), "[2]"},
		{"no probability is 1", `"destinations":[{"location":"l","probability":{"exp":` + binary("-", `"x"`, "3") + `}},` + to(`"x"`, "8") + `]`, "[8]"},
		{"too little", random(`{"op":"/","left":"x","right":4}`, "0.2"), "the probabilities sum to 0.95, not to 1"},
		{"too much", random(`{"op":"/","left":"x","right":2}`, "0"), "the probability of destination 0 is 1.5, not from 0 to 1"},
		{"negative", random(`{"op":"-","left":2,"right":"x"}`, "1"), "the probability of destination 0 is -1, not from 0 to 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, task := parse(t, one(bounded("x", 0, 9, 3)+`,{"name":"a","type":{"kind":"array","base":"int"},"initial-value":{"op":"av","elements":[0,1,2]}},`+
				bounded("y", 0, 10000, 9000)+`,{"name":"low","type":"int","initial-value":-9223372036854775808},{"name":"r","type":"real","initial-value":1e300}`,
				`"action":"a",`+c.edge))
			tw, err := newTwins(doc, nil, task)
			if err != nil {
				t.Fatal(err)
			}
			successors, failed, err := tw.compare(task.Model.Initial.States[0])
			if err != nil {
				t.Fatal(err)
			}
			got := []jani.Value{}
			for _, s := range successors {
				got = append(got, s[0])
			}
			if failed == nil {
				if fmt.Sprint(got) != c.want {
					t.Errorf("x becomes %v, want %s", got, c.want)
				}
				return
			}
			_, err = outcomes(tw.byLabel, 0)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "(in state x=3 a[0]=0 a[1]=1 a[2]=2 y=9000 low=-9223372036854775808 r=1e+300)") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// Guards of synchronisations that are combined at run time are evaluated as far as the
// participants before them can move, as those of listed ones are: here, b fails where x
// is 0, and a can move only where x is not 0.
func TestLazyGuards(t *testing.T) {
	const edges, pairs = 17, 17 * 17
	participant := func(name, label, guard string) string {
		return fmt.Sprintf(`{"name":%q,"locations":[{"name":"l"}],"initial-locations":["l"],"edges":[%s]}`, name,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"location":"l","action":%q,"guard":{"exp":%s},"destinations":[{"location":"l"}]},`, label, guard), edges), ","))
	}
	safe, fails := `{"op":"≠","left":"x","right":"y"}`, `{"op":"≥","left":{"op":"%","left":"y","right":"x"},"right":0}`
	always := `{"op":"≥","left":"x","right":"y"}`
	automata := participant("p", "a", safe) + "," + participant("q", "b", fails) + "," + participant("r", "c", always) + "," + participant("s", "d", always)
	for _, c := range []struct {
		syncs           string
		choices, broken int // where x is 1 and where it is 0; −1 is an error
	}{
		{vector(4, "0 a,1 b", "a"), pairs, 0},
		{vector(4, "0 a,1 b", "a") + "," + vector(4, "2 c,3 d", "c"), 2 * pairs, pairs},
		{vector(4, "1 b,2 c", "a"), pairs, -1},
		{vector(4, "0 a,1 b", "a") + "," + vector(4, "1 b,2 c", "c"), 2 * pairs, -1},
	} {
		doc, task := parse(t, modelText("a b c d", bounded("x", 0, 1, 1)+","+bounded("y", 0, 0, 0), automata,
			`{"automaton":"p"},{"automaton":"q"},{"automaton":"r"},{"automaton":"s"}`, c.syncs))
		tw, err := newTwins(doc, nil, task)
		if err != nil {
			t.Fatal(err)
		}
		if _, lazy := tw.byEdge.CompositeEdges(); !lazy {
			t.Errorf("%s: all synchronisations are listed", c.syncs)
		}
		for x, want := range []int{c.broken, c.choices} {
			values := []jani.Value{jani.Value(x), 0, 0, 0, 0, 0}
			if _, failed, err := tw.compare(values); err != nil || (failed != nil) != (want < 0) {
				t.Errorf("%s, x = %d: both fail: %v; they differ: %v", c.syncs, x, failed, err)
			}
			s, err := tw.byEdge.Intern(values)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := tw.byEdge.NumActions(s); n != max(want, 0) || (err != nil) != (want < 0) {
				t.Errorf("%s, x = %d: %d choices, error %v, want %d", c.syncs, x, n, err, want)
			}
		}
	}
}

// Groups of assignments run in ascending order over all participants.
func TestAssignmentOrder(t *testing.T) {
	participant := func(name, assignments string) string {
		return fmt.Sprintf(`{"name":%q,"locations":[{"name":"l"}],"initial-locations":["l"],"edges":[{"location":"l","action":"a","destinations":[
			{"location":"l","assignments":[%s]}]}]}`, name, assignments)
	}
	doc, task := parse(t, modelText("a", bounded("x", 0, 99, 1)+","+bounded("y", 0, 99, 2),
		participant("p", `{"ref":"x","value":{"op":"+","left":"x","right":"y"}},{"ref":"y","value":7,"index":-1},{"ref":"x","value":{"op":"*","left":"x","right":2},"index":2}`)+","+
			participant("q", `{"ref":"y","value":{"op":"+","left":"x","right":"y"}},{"ref":"x","value":{"op":"+","left":"x","right":1},"index":-1},{"ref":"y","value":"x","index":3}`),
		`{"automaton":"p"},{"automaton":"q"}`, vector(2, "0 a,1 a", "a")))
	tw, err := newTwins(doc, nil, task)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := tw.compare(task.Model.Initial.States[0])
	// −1: x = 2, y = 7; 0: x = 9, y = 9; 2: x = 18; 3: y = 18
	if err != nil || len(got) != 1 || got[0][0] != 18 || got[0][1] != 18 {
		t.Errorf("%v, error %v", got, err)
	}
}

// A value outside its bounds: the message says where, which variable, which value, and
// in which state; and nothing of the failed attempt stays.
func TestOutOfBounds(t *testing.T) {
	_, task := parse(t, one(bounded("x", -2, 5, 4)+","+bounded("y", 0, 1, 0),
		`"action":"a","destinations":[`+to(`"y"`, "1", `"y"`, `{"op":"-","left":1,"right":"y"}`, `"x"`, `{"op":"+","left":"x","right":2}`)+`]`,
		`"action":"b","destinations":[`+to(`"y"`, `{"op":"*","left":"y","right":"y"}`, `"y"`, "0")+`]`))
	sp := newSpace(t, task, engine.Options{})
	s := intern(t, sp)
	for range 2 {
		_, err := sp.Outcomes(s, 0)
		const want = `test.jani:1:`
		var e *jani.Error
		if !errors.As(err, &e) || e.Kind != jani.BadInput || !strings.HasPrefix(err.Error(), want) ||
			e.Msg != `automaton "p", edge 0: the variable "x" gets 6, outside its bounds -2 to 5` || e.Hint != "in state x=4 y=0" ||
			e.Pos.Path() != "automata[0].edges[0].destinations[0].assignments[2]" {
			t.Fatalf("error %v", err)
		}
		next, err := sp.Outcomes(s, 1)
		if err != nil || !slices.Equal(next, []engine.StateID{s}) {
			t.Fatalf("after the error: %v, error %v", next, err)
		}
	}
	if st := sp.Stats(); st.Pairs != 1 || st.Expanded != 1 || st.States != 1 {
		t.Errorf("%+v", st)
	}
	if _, err := sp.Outcomes(s, 2); err == nil {
		t.Error("a third action has outcomes")
	}
	if a := sp.Action(s, 2); a != jani.NoAction {
		t.Errorf("a third action has label %d", a)
	}
}

// Many outcomes with many repetitions: two edges with one label, 60 destinations each.
func TestOutcomesAreDistinct(t *testing.T) {
	var dests [2][]string
	for i := range 60 {
		for k := range dests {
			dests[k] = append(dests[k], fmt.Sprintf(`{"location":"l","probability":{"exp":{"op":"/","left":1,"right":60}},
				"assignments":[{"ref":"x","value":%d}]}`, i%40+k*20))
		}
	}
	doc, task := parse(t, one(bounded("x", 0, 99, 0), `"action":"a","destinations":[`+strings.Join(dests[0], ",")+`]`,
		`"action":"a","destinations":[`+strings.Join(dests[1], ",")+`]`))
	tw, err := newTwins(doc, nil, task)
	if err != nil {
		t.Fatal(err)
	}
	if states, failed, err := tw.walk(task.Model.Initial.States, 100, false); err != nil || states != 60 || failed != 0 {
		t.Errorf("%d states, %d failed, error %v", states, failed, err)
	}
	next, err := tw.byLabel.Outcomes(0, 0)
	if err != nil || len(next) != 60 {
		t.Errorf("%d outcomes, error %v", len(next), err)
	}
}

func TestClass(t *testing.T) {
	_, task := parse(t, one(bounded("x", 0, 9, 0)))
	task.Unsafe, task.Goal = exp(t, task, "x = 1 | x > 5 & 6 % (x - 7) = 0"), exp(t, task, "x = 1 | x = 2 | x = 3 & 1 % (x - 3) = 0")
	sp := newSpace(t, task, engine.Options{})
	for x, want := range []engine.Class{engine.ClassOrdinary, engine.ClassUnsafe, engine.ClassGoal, 0, 1, 1, engine.ClassUnsafe, 0, engine.ClassUnsafe, engine.ClassUnsafe} {
		s, err := sp.Intern([]jani.Value{jani.Value(x), 0})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time from the cache
			got, err := sp.Class(s)
			if got != want || (err == nil) != (want != engine.ClassUnknown) {
				t.Errorf("x = %d: class %d, error %v, want %d", x, got, err, want)
			}
			if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("in state x=%d", x)) {
				t.Errorf("x = %d: error %v", x, err)
			}
		}
	}
}

// fake is a policy whose outputs are given by a function of its first input.
type fake struct {
	inputs      []jani.VarID
	outputs     []jani.ActionID
	values      func(x float64) []float64
	err         error
	evaluations int
}

func (p *fake) Inputs() []jani.VarID     { return p.inputs }
func (p *fake) Outputs() []jani.ActionID { return p.outputs }
func (p *fake) Evaluate(in, out []float64) error {
	p.evaluations++
	copy(out, p.values(in[0]))
	return p.err
}

// choosing is a model in which x says which of the actions a, b, c, d are applicable, as
// a set of bits.
func choosing() string {
	var edges []string
	for i, a := range []string{"a", "b", "c", "d"} {
		guard := fmt.Sprintf(`"guard":{"exp":{"op":"≥","left":{"op":"%%","left":"x","right":%d},"right":%d}}`, 2<<i, 1<<i)
		edges = append(edges, fmt.Sprintf(`"action":%q,%s,"destinations":[%s]`, a, guard, to(`"x"`, fmt.Sprint(i))))
		if a == "b" {
			edges = append(edges, fmt.Sprintf(`"action":%q,%s,"destinations":[%s]`, a, guard, to(`"x"`, "15")))
		}
	}
	return one(bounded("x", 0, 15, 15), edges...)
}

func TestDecision(t *testing.T) {
	const a, b, c, d = 1, 2, 4, 8
	none := math.Inf(-1)
	_, task := parse(t, choosing())
	for _, test := range []struct {
		name       string
		outputs    []jani.ActionID
		values     []float64
		applicable jani.Value // set of actions
		unfiltered bool
		byEdge     bool
		want       int
		fallback   bool
		ambiguous  bool
		asked      bool // the policy is evaluated
	}{
		{"highest", []jani.ActionID{0, 1, 2}, []float64{1, 3, 2}, a | b | c, false, false, 1, false, false, true},
		{"negative", []jani.ActionID{0, 1, 2}, []float64{-1, -3, -2}, a | b | c, false, false, 0, false, false, true},
		{"order of outputs", []jani.ActionID{2, 1, 0}, []float64{5, 3, 2}, a | b | c, false, false, 2, false, false, true},
		{"tie", []jani.ActionID{2, 0, 1}, []float64{1, 7, 7}, a | b | c, false, false, 0, false, false, true},
		{"tie at the first output", []jani.ActionID{2, 0, 1}, []float64{7, 7, 7}, a | b | c, false, false, 2, false, false, true},
		{"filtered", []jani.ActionID{0, 1, 2}, []float64{9, 1, 2}, b | c, false, false, 1, false, false, true},
		{"only one", []jani.ActionID{0, 1, 2}, []float64{9, 1, 2}, b, false, false, 0, false, false, false},
		{"none has an output", []jani.ActionID{0, 1}, []float64{9, 1}, c | d, false, false, 0, true, false, true},
		{"only one, without output", []jani.ActionID{0, 1}, []float64{9, 1}, d, false, false, 0, true, false, false},
		{"terminal", []jani.ActionID{0, 1}, []float64{9, 1}, 0, false, false, -1, false, false, false},
		{"unfiltered", []jani.ActionID{0, 1, 2}, []float64{1, 1, 2}, a | c, true, false, 1, false, false, true},
		{"unfiltered, not applicable", []jani.ActionID{0, 1, 2}, []float64{1, 9, 2}, a | c, true, false, -1, false, false, true},
		{"unfiltered, only one", []jani.ActionID{0, 1, 2}, []float64{1, 9, 2}, a, true, false, -1, false, false, true},
		{"no output here", []jani.ActionID{0, 1}, []float64{none, none}, b | c, false, false, 0, true, false, true},
		{"no output for the first", []jani.ActionID{0, 1, 2}, []float64{none, -9, none}, a | b | c, false, false, 1, false, false, true},
		{"no output for what is applicable", []jani.ActionID{0, 1, 2, 3}, []float64{5, none, 5, none}, b | d, false, false, 0, true, false, true},
		{"no output here, only one", []jani.ActionID{0, 1}, []float64{none, none}, b, false, false, 0, false, false, false},
		{"unfiltered, no output here", []jani.ActionID{0, 1}, []float64{none, none}, b | c, true, false, 0, true, false, true},
		{"unfiltered, no output here, only one", []jani.ActionID{0, 1}, []float64{none, none}, d, true, false, 0, true, false, true},
		{"edge", []jani.ActionID{0, 1, 2}, []float64{1, 2, 9}, a | b | c, false, true, 3, false, false, true},
		{"edge, two of them", []jani.ActionID{0, 1, 2}, []float64{1, 9, 2}, a | b | c, false, true, 1, false, true, true},
		{"edge, two at the end", []jani.ActionID{0, 1}, []float64{1, 9}, a | b, false, true, 1, false, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &fake{inputs: []jani.VarID{0, 0}, outputs: test.outputs, values: func(x float64) []float64 {
				if x != float64(test.applicable) {
					t.Errorf("the policy is fed %v", x)
				}
				return test.values
			}}
			options := engine.Options{Policy: p, Unfiltered: test.unfiltered}
			if test.byEdge {
				options.Choice = engine.ByEdge
			}
			sp := newSpace(t, task, options)
			s, err := sp.Intern([]jani.Value{test.applicable, 0})
			if err != nil {
				t.Fatal(err)
			}
			if known := sp.KnownDecision(s); known != -1 {
				t.Errorf("decision %d is known before it is asked for", known)
			}
			for range 2 {
				if got, err := sp.Decision(s); got != test.want || err != nil {
					t.Errorf("decision %d, error %v, want %d", got, err, test.want)
				}
			}
			if known := sp.KnownDecision(s); known != test.want {
				t.Errorf("known decision %d", known)
			}
			st := sp.Stats()
			decided := test.applicable != 0
			want := engine.Stats{PolicyEvaluations: count(decided), Fallbacks: count(test.fallback), Ambiguous: count(test.ambiguous)}
			if st.PolicyEvaluations != want.PolicyEvaluations || st.Fallbacks != want.Fallbacks || st.Ambiguous != want.Ambiguous {
				t.Errorf("%+v, want %+v", st, want)
			}
			if int64(p.evaluations) != count(test.asked) {
				t.Errorf("the policy is evaluated %d times", p.evaluations)
			}
		})
	}
}

// The two best outputs of applicable actions, or of all where these do not matter, differ by
// little, at most a millionth of the larger.
func TestNearTies(t *testing.T) {
	_, task := parse(t, choosing())
	none := math.Inf(-1)
	for _, c := range []struct {
		values     []float64
		applicable jani.Value
		unfiltered bool
		want       bool
	}{
		{[]float64{1, 2, 3}, 7, false, false},
		{[]float64{1, 1, 0}, 7, false, true},
		{[]float64{1, 1 + 5e-7, 0}, 7, false, true},
		{[]float64{1 + 5e-7, 1, 0}, 7, false, true},
		{[]float64{-1, 0, -1 - 5e-7}, 5, false, true},
		{[]float64{-1, -5, -1 - 5e-7}, 7, false, true},
		{[]float64{1, 1 + 2e-6, 0}, 7, false, false},
		{[]float64{1 + 2e-6, 1, 0}, 7, false, false},
		{[]float64{3e6, 3e6 + 2, 0}, 7, false, true},
		{[]float64{3e6, 3e6 + 4, 0}, 7, false, false},
		{[]float64{1e-9, 2e-9, 0}, 7, false, false},
		{[]float64{0, 0, -1}, 7, false, true},
		{[]float64{1, 1, 3}, 7, false, false},
		{[]float64{3, 1, 1}, 7, false, false},
		{[]float64{1, 3, 3}, 3, false, false}, // the tie is with an action that is not applicable
		{[]float64{1, 3, 3}, 3, true, true},
		{[]float64{1, 1, 3}, 3, false, true},
		{[]float64{1, 1, 3}, 3, true, false},
		{[]float64{1, 1, 1}, 1, false, false}, // the only action
		{[]float64{none, none, none}, 7, false, false},
		{[]float64{none, 1, none}, 7, false, false},
		{[]float64{-none, 1, none}, 7, false, false},
	} {
		p := &fake{inputs: []jani.VarID{0}, outputs: []jani.ActionID{0, 1, 2}, values: func(float64) []float64 { return c.values }}
		sp := newSpace(t, task, engine.Options{Policy: p, Unfiltered: c.unfiltered})
		s, err := sp.Intern([]jani.Value{c.applicable, 0})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := sp.Decision(s); err != nil {
				t.Fatal(err)
			}
		}
		if got := sp.Stats().NearTies; got != count(c.want) {
			t.Errorf("%+v: %d near ties", c, got)
		}
		// A fork hands the count over.
		other := newSpace(t, task, engine.Options{Policy: p, Unfiltered: c.unfiltered})
		if err := other.Adopt(sp); err != nil || other.Stats().NearTies != count(c.want) {
			t.Errorf("%+v: %d near ties are taken over, error %v", c, other.Stats().NearTies, err)
		}
	}
}

// A near tie does not hide that the choice among edges is open.
func TestNearTieOfEdges(t *testing.T) {
	_, task := parse(t, choosing())
	p := &fake{inputs: []jani.VarID{0}, outputs: []jani.ActionID{0, 1}, values: func(float64) []float64 { return []float64{1, 1 + 1e-9} }}
	sp := newSpace(t, task, engine.Options{Policy: p, Choice: engine.ByEdge})
	if d, err := sp.Decision(intern(t, sp)); d != 1 || err != nil {
		t.Errorf("decision %d, error %v", d, err)
	}
	if st := sp.Stats(); st.NearTies != 1 || st.Ambiguous != 1 || st.Fallbacks != 0 {
		t.Errorf("%+v", st)
	}
}

func count(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func TestDecisionErrors(t *testing.T) {
	_, task := parse(t, choosing())
	p := &fake{inputs: []jani.VarID{0}, outputs: []jani.ActionID{0, 1}, values: func(float64) []float64 { return []float64{0, 0} },
		err: errors.New("out of order")}
	sp := newSpace(t, task, engine.Options{Policy: p})
	s := intern(t, sp)
	check := func(want string) {
		t.Helper()
		if got, err := sp.Decision(s); got != -1 || err == nil || err.Error() != "policy in state x=15: "+want {
			t.Errorf("decision %d, error %v, want %q", got, err, want)
		}
	}
	check("out of order")
	p.err = nil
	p.values = func(float64) []float64 { return []float64{1, math.NaN()} }
	check("output 1 is not a number")
	p.values = func(float64) []float64 { return []float64{1, 2} }
	if got, err := sp.Decision(s); got != 1 || err != nil {
		t.Errorf("later: decision %d, error %v", got, err)
	}
	if st := sp.Stats(); st.PolicyEvaluations != 1 {
		t.Errorf("%+v", st)
	}
	if sp = newSpace(t, task, engine.Options{}); sp.HasPolicy() {
		t.Error("there is a policy")
	}
	if got, err := sp.Decision(intern(t, sp)); got != -1 || err != nil {
		t.Errorf("without policy: decision %d, error %v", got, err)
	}
}

// Forks work at the same time; what they decide is taken over, whatever the order, and
// the policy is not asked again.
func TestForkAndAdopt(t *testing.T) {
	_, task := parse(t, choosing())
	policy := func() *fake {
		return &fake{inputs: []jani.VarID{0}, outputs: []jani.ActionID{0, 1, 2}, values: func(x float64) []float64 { return []float64{1, x - 8, 3} }}
	}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}} {
		own := policy()
		sp := newSpace(t, task, engine.Options{Policy: own, Choice: engine.ByEdge})
		intern(t, sp)
		forks := make([]*engine.Space, 4)
		var group sync.WaitGroup
		for i := range forks {
			forks[i] = sp.Fork(context.Background(), policy())
			group.Go(func() {
				for x := range 8 { // overlapping parts
					s, err := forks[i].Intern([]jani.Value{jani.Value((x + 3*i) % 16), 0})
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := forks[i].Decision(s); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		for _, i := range order {
			if err := sp.Adopt(forks[i]); err != nil {
				t.Fatal(err)
			}
		}
		fresh := newSpace(t, task, engine.Options{Policy: policy(), Choice: engine.ByEdge})
		for x := range jani.Value(16) {
			s, err := sp.Intern([]jani.Value{x, 0})
			if err != nil {
				t.Fatal(err)
			}
			f, err := fresh.Intern([]jani.Value{x, 0})
			if err != nil {
				t.Fatal(err)
			}
			got, err := sp.Decision(s)
			want, wantErr := fresh.Decision(f)
			if got != want || err != nil || wantErr != nil {
				t.Errorf("x = %d: decision %d, error %v, want %d, %v", x, got, err, want, wantErr)
			}
		}
		if own.evaluations != 0 {
			t.Errorf("the policy is evaluated %d times again", own.evaluations)
		}
		got, want := sp.Stats(), fresh.Stats()
		if got.PolicyEvaluations != want.PolicyEvaluations || got.Fallbacks != want.Fallbacks || got.Ambiguous != want.Ambiguous || got.States != 16 {
			t.Errorf("%+v, want %+v", got, want)
		}
		if want.Fallbacks == 0 || want.Ambiguous == 0 {
			t.Errorf("%+v: nothing special happens", want)
		}
	}
}

func TestImport(t *testing.T) {
	_, task := parse(t, choosing())
	sp, other := newSpace(t, task, engine.Options{}), newSpace(t, task, engine.Options{Choice: engine.ByEdge})
	for x := range jani.Value(16) {
		if _, err := other.Intern([]jani.Value{15 - x, 0}); err != nil {
			t.Fatal(err)
		}
	}
	for s := range engine.StateID(16) {
		for range 2 {
			id, err := sp.Import(other, 15-s)
			if err != nil || id != s || !slices.Equal(sp.Values(id), other.Values(15-s)) || sp.Describe(id) != other.Describe(15-s) {
				t.Errorf("state %s becomes %d, %s, error %v", other.Describe(15-s), id, sp.Describe(id), err)
			}
		}
	}
}

func TestActionName(t *testing.T) {
	_, task := parse(t, choosing())
	names := func(mode engine.ChoiceMode) (list []string) {
		sp := newSpace(t, task, engine.Options{Choice: mode})
		s := intern(t, sp)
		n, err := sp.NumActions(s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n + 1 {
			list = append(list, sp.ActionName(s, i))
		}
		return list
	}
	if got := strings.Join(names(engine.ByLabel), ","); got != "a,b,c,d,?" {
		t.Errorf("by label: %s", got)
	}
	const want = `a (automaton "p", edge 0);b (automaton "p", edge 1);b (automaton "p", edge 2);c (automaton "p", edge 3);d (automaton "p", edge 4);?`
	if got := strings.Join(names(engine.ByEdge), ";"); got != want {
		t.Errorf("by edge: %s", got)
	}
}

func TestParseChoiceMode(t *testing.T) {
	for _, mode := range []engine.ChoiceMode{engine.ByLabel, engine.ByEdge} {
		if got, err := engine.ParseChoiceMode(mode.String()); got != mode || err != nil {
			t.Errorf("%v is read as %v, error %v", mode, got, err)
		}
	}
	if _, err := engine.ParseChoiceMode("labels"); err == nil {
		t.Error(`"labels" is read`)
	}
}

// A limit ends the work with a *LimitError. What was computed stays, and what needs no
// new state goes on.
func TestLimits(t *testing.T) {
	_, task := parse(t, bitCounter(16, true))
	ended, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		limits engine.Limits
		kind   engine.LimitKind
		most   int // states until the limit shows
	}{
		{"states", context.Background(), engine.Limits{MaxStates: 3000}, engine.LimitStates, 3000},
		{"memory", context.Background(), engine.Limits{MaxResident: 1}, engine.LimitMemory, 1 << 13},
		{"context", ended, engine.Limits{}, engine.LimitInterrupt, 1 << 14},
	} {
		t.Run(c.name, func(t *testing.T) {
			sp, err := engine.NewSpace(c.ctx, task, engine.Options{Limits: c.limits})
			if err != nil {
				t.Fatal(err)
			}
			s := intern(t, sp)
			if c.ctx == ended {
				cancel()
			}
			for err == nil && sp.NumStates() <= c.most {
				var next []engine.StateID
				if next, err = sp.Outcomes(s, 0); err == nil {
					s = next[0]
				}
			}
			var limit *engine.LimitError
			if !errors.As(err, &limit) || limit.Kind != c.kind {
				t.Fatalf("error %v after %d states", err, sp.NumStates())
			}
			before := sp.Stats()
			if c.kind == engine.LimitStates { // memory and time are looked at now and then
				if _, err := sp.Outcomes(s, 0); !errors.As(err, &limit) {
					t.Errorf("once more: error %v", err)
				}
			}
			for i := range engine.StateID(1000) {
				next, err := sp.Outcomes(i, 0)
				if err != nil || len(next) != 1 || next[0] != i+1 {
					t.Fatalf("outcomes of state %d: %v, error %v", i, next, err)
				}
			}
			if id, err := sp.Intern(sp.Values(7)); id != 7 || err != nil {
				t.Errorf("state 7 is %d, error %v", id, err)
			}
			if after := sp.Stats(); after != before {
				t.Errorf("%+v became %+v", before, after)
			}
		})
	}
}

// A Space without limits goes on where another one has ended.
func TestUnlimited(t *testing.T) {
	_, task := parse(t, bitCounter(4, true))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	p := &fake{inputs: []jani.VarID{0}, outputs: []jani.ActionID{0}, values: func(float64) []float64 { return []float64{0} }}
	sp, err := engine.NewSpace(ended, task, engine.Options{Limits: engine.Limits{MaxStates: 1}, Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	s := intern(t, sp)
	if _, err := sp.Outcomes(s, 0); err == nil {
		t.Fatal("a second state is stored")
	}
	free := sp.Unlimited(p)
	if free.Task() != task || free.Model() != task.Model || !free.HasPolicy() || free.NumStates() != 0 {
		t.Errorf("%+v", free.Stats())
	}
	if s, err = free.Import(sp, s); err != nil {
		t.Fatal(err)
	}
	for range 16 {
		next, err := free.Outcomes(s, 0)
		if err != nil {
			t.Fatal(err)
		}
		s = next[0]
	}
	if s != 0 || free.NumStates() != 16 {
		t.Errorf("state %d of %d", s, free.NumStates())
	}
}

func TestResident(t *testing.T) {
	now, peak := engine.Resident(), engine.PeakResident()
	if now < 1<<20 || now > 1<<40 || peak < now/2 {
		t.Errorf("%d bytes are resident, %d at most so far", now, peak)
	}
}

// batched is a fake that is asked in batches.
type batched struct {
	fake
	size    int
	batches []int
	fails   bool
}

func (p *batched) BatchSize() int { return p.size }

func (p *batched) EvaluateBatch(count int, in, out []float64) error {
	p.batches = append(p.batches, count)
	if p.fails {
		return errors.New("no answer")
	}
	for s := range count {
		n := len(p.outputs)
		copy(out[s*n:][:n], p.values(in[s*len(p.inputs)]))
	}
	return nil
}

// Decisions are the same whether the policy was evaluated ahead or not. Where it is, it is
// not evaluated again, and only where there is a choice.
func TestPrefetch(t *testing.T) {
	_, task := parse(t, choosing())
	for _, test := range []struct {
		size        int
		fails       bool
		batches     []int
		evaluations int
	}{
		{1, false, nil, 6},
		{4, false, []int{4, 2}, 0},
		{100, false, []int{6}, 0},
		{4, true, []int{4}, 6},
	} {
		p := &batched{size: test.size, fails: test.fails}
		p.fake = fake{inputs: []jani.VarID{0, 0}, outputs: []jani.ActionID{0, 1, 2}, values: func(x float64) []float64 {
			return []float64{3, x, 6}
		}}
		sp := newSpace(t, task, engine.Options{Policy: p})
		var states []engine.StateID
		for _, x := range []jani.Value{3, 5, 1, 6, 7, 0, 11, 13} { // sets of applicable actions, two of them too small
			s, err := sp.Intern([]jani.Value{x, 0})
			if err == nil {
				_, err = sp.Class(s)
			}
			if err == nil && x < 2 {
				_, err = sp.NumActions(s)
			}
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, s)
		}
		sp.Prefetch(states)
		var got []int
		for _, s := range states {
			a, err := sp.Decision(s)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, a)
		}
		sp.Prefetch(states) // all are known
		if want := []int{0, 1, 0, 0, 1, -1, 1, 1}; !slices.Equal(got, want) {
			t.Errorf("size %d: decisions %v, want %v", test.size, got, want)
		}
		if !slices.Equal(p.batches, test.batches) || p.evaluations != test.evaluations || sp.Stats().PolicyEvaluations != 7 {
			t.Errorf("size %d: batches %v, %d evaluations, %d decisions", test.size, p.batches, p.evaluations, sp.Stats().PolicyEvaluations)
		}
	}
}
