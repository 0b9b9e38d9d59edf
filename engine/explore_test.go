package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// modelText completes a JANI model: variables, automata, elements and syncs are the
// members of the respective lists.
func modelText(actions, variables, automata, elements, syncs string) string {
	var names []string
	for _, a := range strings.Fields(actions) {
		names = append(names, fmt.Sprintf(`{"name":%q}`, a))
	}
	return fmt.Sprintf(`{"jani-version":1,"name":"m","type":"mdp","actions":[%s],"variables":[%s],"automata":[%s],
		"system":{"elements":[%s],"syncs":[%s]}}`, strings.Join(names, ","), variables, automata, elements, syncs)
}

// parse reads and compiles a model.
func parse(t testing.TB, text string) (*jani.Document, *jani.Task) {
	t.Helper()
	doc, err := jani.Parse(jani.NewSource("test.jani", []byte(text)), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := jani.Compile(doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	return doc, &jani.Task{Model: m, Start: m.Initial}
}

// exp compiles a condition over the model of a task.
func exp(t testing.TB, task *jani.Task, text string) *jani.Expr {
	t.Helper()
	e, err := jani.ParseInfix("condition", text, task.Model.Names(), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	set, err := task.Model.StateSet("condition", &jani.Condition{Exp: e})
	if err != nil {
		t.Fatal(err)
	}
	return set.Cond
}

// initial yields the initial states of a model.
func initial(t testing.TB, m *jani.Model) iter.Seq2[[]jani.Value, error] {
	t.Helper()
	set, err := algorithms.NewStarts(m, m.Initial, algorithms.StartsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set.All()
}

func explore(t testing.TB, task *jani.Task, mode engine.ChoiceMode) engine.Exploration {
	t.Helper()
	got, err := engine.Explore(context.Background(), task, initial(t, task.Model), engine.Options{Choice: mode}, engine.ExploreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// counts are those of an Exploration that a formula gives.
type counts struct{ states, initial, choices, branches, deadlocks int64 }

func checkCounts(t *testing.T, got engine.Exploration, want counts) {
	t.Helper()
	have := counts{got.States, got.InitialStates, got.Choices, got.Branches, got.Deadlocks}
	if have != want || !got.Complete || got.Expanded != got.States || got.Unsafe != 0 || got.Goal != 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// bitCounter is a binary counter of n bits, one edge per carry; the last number goes
// back to 0 if wrap, else it is a deadlock.
func bitCounter(n int, wrap bool) string {
	var vars, edges []string
	ones := "true"
	clear := ""
	for i := range n {
		vars = append(vars, fmt.Sprintf(`{"name":"b%d","type":"bool","initial-value":false}`, i))
		edges = append(edges, fmt.Sprintf(`{"location":"l","guard":{"exp":{"op":"∧","left":%s,"right":{"op":"¬","exp":"b%d"}}},
			"destinations":[{"location":"l","assignments":[%s{"ref":"b%d","value":true}]}]}`, ones, i, clear, i))
		ones = fmt.Sprintf(`{"op":"∧","left":%s,"right":"b%d"}`, ones, i)
		clear += fmt.Sprintf(`{"ref":"b%d","value":false},`, i)
	}
	if wrap {
		edges = append(edges, fmt.Sprintf(`{"location":"l","guard":{"exp":%s},"destinations":[{"location":"l","assignments":[%s]}]}`,
			ones, strings.TrimSuffix(clear, ",")))
	}
	return modelText("", strings.Join(vars, ","), fmt.Sprintf(`{"name":"p","locations":[{"name":"l"}],"initial-locations":["l"],"edges":[%s]}`,
		strings.Join(edges, ",")), `{"automaton":"p"}`, "")
}

func TestBitCounter(t *testing.T) {
	for _, n := range []int{1, 5, 13, 70} {
		t.Run(fmt.Sprint(n, " bits"), func(t *testing.T) {
			if n > 64 { // too many states: the first thousand of them, in two words
				doc, task := parse(t, bitCounter(n, true))
				tw, err := newTwins(doc, nil, task)
				if err != nil {
					t.Fatal(err)
				}
				if states, _, err := tw.walk(task.Model.Initial.States, 1000, false); err != nil || states != 1000 {
					t.Errorf("%d states, error %v", states, err)
				}
				if words := tw.byEdge.Layout().Words(); words != 2 {
					t.Errorf("%d words", words)
				}
				return
			}
			states := int64(1) << n
			_, task := parse(t, bitCounter(n, true))
			checkCounts(t, explore(t, task, engine.ByEdge), counts{states, 1, states, states, 0})
			_, task = parse(t, bitCounter(n, false))
			checkCounts(t, explore(t, task, engine.ByLabel), counts{states, 1, states - 1, states - 1, 1})
		})
	}
}

// Independent counters modulo their sizes: the product of the sizes, and in label mode
// one silent action with one outcome per counter that has more than one value.
func TestIndependentCounters(t *testing.T) {
	for _, sizes := range [][]int{{5}, {2, 3}, {7, 1, 4}, {3, 3, 3, 3, 3}, {2, 10000}} {
		var automata, elements []string
		states, moving := int64(1), int64(0)
		for i, n := range sizes {
			automata = append(automata, fmt.Sprintf(`{"name":"p%d","variables":[{"name":"x","type":{"kind":"bounded","base":"int","lower-bound":-1,
				"upper-bound":%d},"initial-value":-1}],"locations":[{"name":"l"}],"initial-locations":["l"],"edges":[{"location":"l",
				"guard":{"exp":{"op":"<","left":"x","right":%d}},"destinations":[{"location":"l","assignments":[{"ref":"x","value":{"op":"+","left":"x","right":1}}]}]},
				{"location":"l","guard":{"exp":{"op":"=","left":"x","right":%d}},"destinations":[{"location":"l","assignments":[{"ref":"x","value":-1}]}]}]}`,
				i, n-2, n-2, n-2))
			elements = append(elements, fmt.Sprintf(`{"automaton":"p%d"}`, i))
			states *= int64(n)
			if n > 1 {
				moving++
			}
		}
		_, task := parse(t, modelText("", "", strings.Join(automata, ","), strings.Join(elements, ","), ""))
		k := int64(len(sizes))
		checkCounts(t, explore(t, task, engine.ByEdge), counts{states, 1, k * states, k * states, 0})
		if moving < k {
			moving++ // all counters of size 1 lead to the state itself
		}
		checkCounts(t, explore(t, task, engine.ByLabel), counts{states, 1, states, moving * states, 0})
	}
}

// template is an automaton without variables; an edge is "from label to".
func template(name, locations string, edges ...string) string {
	var locs, list []string
	for _, l := range strings.Fields(locations) {
		locs = append(locs, fmt.Sprintf(`{"name":%q}`, l))
	}
	for _, e := range edges {
		f := strings.Fields(e)
		list = append(list, fmt.Sprintf(`{"location":%q,"action":%q,"destinations":[{"location":%q}]}`, f[0], f[1], f[2]))
	}
	return fmt.Sprintf(`{"name":%q,"locations":[%s],"initial-locations":[%q],"edges":[%s]}`,
		name, strings.Join(locs, ","), strings.Fields(locations)[0], strings.Join(list, ","))
}

// vector is a synchronisation vector over n elements: "0 left, 3 take" → result.
func vector(n int, parts, result string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = "null"
	}
	for part := range strings.SplitSeq(parts, ",") {
		var i int
		var label string
		if _, err := fmt.Sscan(part, &i, &label); err != nil {
			panic(err)
		}
		list[i] = fmt.Sprintf("%q", label)
	}
	return fmt.Sprintf(`{"synchronise":[%s],"result":%q}`, strings.Join(list, ","), result)
}

// n stations pass a token; each is idle or busy, and only the one with the token can
// change that: n·2ⁿ states with two choices each.
func TestTokenRing(t *testing.T) {
	const n = 9
	has := template("first", "token none token-busy none-busy", "token toggle token-busy", "token-busy toggle token",
		"token pass none", "none get token", "token-busy pass none-busy", "none-busy get token-busy")
	rest := strings.Replace(strings.Replace(has, `"first"`, `"station"`, 1), `"initial-locations":["token"]`, `"initial-locations":["none"]`, 1)
	elements := []string{`{"automaton":"first"}`}
	var syncs []string
	for i := range n {
		if i > 0 {
			elements = append(elements, `{"automaton":"station"}`)
		}
		syncs = append(syncs, vector(n, fmt.Sprintf("%d pass,%d get", i, (i+1)%n), "pass"), vector(n, fmt.Sprintf("%d toggle", i), "toggle"))
	}
	_, task := parse(t, modelText("toggle pass get", "", has+","+rest, strings.Join(elements, ","), strings.Join(syncs, ",")))
	states := int64(n) << n
	want := counts{states, 1, 2 * states, 2 * states, 0}
	checkCounts(t, explore(t, task, engine.ByEdge), want)
	checkCounts(t, explore(t, task, engine.ByLabel), want)
}

// n philosophers with n forks: a philosopher thinks, has the left fork, or eats with
// both. The states are the ways to go around the table without a fork in two hands.
func TestPhilosophers(t *testing.T) {
	const n = 7
	var elements, syncs []string
	for range n {
		elements = append(elements, `{"automaton":"philosopher"}`)
	}
	for i := range n {
		elements = append(elements, `{"automaton":"fork"}`)
		left, right := n+i, n+(i+1)%n
		syncs = append(syncs, vector(2*n, fmt.Sprintf("%d left,%d take", i, left), "move"),
			vector(2*n, fmt.Sprintf("%d right,%d take", i, right), "move"),
			vector(2*n, fmt.Sprintf("%d drop,%d free,%d free", i, left, right), "move"))
	}
	_, task := parse(t, modelText("left right drop take free move", "",
		template("philosopher", "thinks waits eats", "thinks left waits", "waits right eats", "eats drop thinks")+","+
			template("fork", "lies taken", "lies take taken", "taken free lies"),
		strings.Join(elements, ","), strings.Join(syncs, ",")))
	var want counts
	want.initial = 1
	const thinks, waits, eats = 0, 1, 2
	total := 1
	for range n {
		total *= 3
	}
next:
	for code := range total {
		var at [n]int
		for i := range at {
			at[i] = code % 3
			code /= 3
		}
		choices := int64(0)
		for i, p := range at {
			before, after := at[(i+n-1)%n], at[(i+1)%n]
			if p == eats && after != thinks {
				continue next
			}
			if p == eats || p == thinks && before != eats || p == waits && after == thinks {
				choices++
			}
		}
		want.states++
		want.choices += choices
		if choices == 0 {
			want.deadlocks++
		}
	}
	want.branches = want.choices
	if want.deadlocks != 1 { // everybody waits
		t.Fatalf("%d deadlocks", want.deadlocks)
	}
	checkCounts(t, explore(t, task, engine.ByEdge), want)
	want.choices = want.states - 1 // one label
	checkCounts(t, explore(t, task, engine.ByLabel), want)
}

// So many synchronisations that the later ones are combined at run time: each of the
// labels moves two automata from one of their locations to any pair of others.
func TestManySynchronisations(t *testing.T) {
	const labels, edges = 70, 16 // 256 composite edges per label
	var actions, list, syncs []string
	for a := range labels {
		actions = append(actions, fmt.Sprint("a", a))
		for e := range edges {
			list = append(list, fmt.Sprintf("l0 a%d l%d", a, e))
		}
		syncs = append(syncs, vector(2, fmt.Sprintf("0 a%d,1 a%d", a, a), fmt.Sprint("a", a)))
	}
	var locations []string
	for e := range edges {
		locations = append(locations, fmt.Sprint("l", e))
	}
	_, task := parse(t, modelText(strings.Join(actions, " "), "", template("p", strings.Join(locations, " "), list...),
		`{"automaton":"p"},{"automaton":"p"}`, strings.Join(syncs, ",")))
	sp, err := engine.NewSpace(context.Background(), task, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rows, lazy := sp.CompositeEdges(); !lazy || rows > 20000 {
		t.Errorf("%d rows, lazy %v", rows, lazy)
	}
	const pairs = edges * edges
	checkCounts(t, explore(t, task, engine.ByEdge), counts{pairs, 1, labels * pairs, labels * pairs, pairs - 1})
	checkCounts(t, explore(t, task, engine.ByLabel), counts{pairs, 1, labels, labels * pairs, pairs - 1})
}

// Destinations that lead to the same state are two branches of an edge, one outcome of
// a label.
func TestBranchesAreMergedByLabel(t *testing.T) {
	_, task := parse(t, modelText("a", "", `{"name":"p","locations":[{"name":"l"},{"name":"m"}],"initial-locations":["l","m"],"edges":[
		{"location":"l","action":"a","destinations":[{"location":"m","probability":{"exp":0.5}},{"location":"m","probability":{"exp":0.5}},{"location":"l","probability":{"exp":0}}]},
		{"location":"l","action":"a","destinations":[{"location":"m"}]}]}`, `{"automaton":"p"}`, `{"synchronise":["a"],"result":"a"}`))
	checkCounts(t, explore(t, task, engine.ByEdge), counts{2, 2, 2, 3, 1})
	checkCounts(t, explore(t, task, engine.ByLabel), counts{2, 2, 1, 1, 1})
}

// The targets are not expanded: a counter to 99 with two ways to count ends at them.
func TestExploreTargetTerminal(t *testing.T) {
	_, task := parse(t, modelText("", `{"name":"x","type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":99},"initial-value":0}`,
		`{"name":"p","locations":[{"name":"l"}],"initial-locations":["l"],"edges":[
		{"location":"l","guard":{"exp":{"op":"<","left":"x","right":99}},"destinations":[{"location":"l","assignments":[{"ref":"x","value":{"op":"+","left":"x","right":1}}]}]},
		{"location":"l","guard":{"exp":{"op":"<","left":"x","right":98}},"destinations":[{"location":"l","assignments":[{"ref":"x","value":{"op":"+","left":"x","right":2}}]}]}]}`,
		`{"automaton":"p"}`, ""))
	task.Unsafe, task.Goal = exp(t, task, "x = 40"), exp(t, task, "x = 41 | x = 20 & x = 40")
	calls := 0
	got, err := engine.Explore(context.Background(), task, initial(t, task.Model), engine.Options{Choice: engine.ByEdge},
		engine.ExploreOptions{TargetTerminal: true, Progress: func(engine.Exploration) { calls++ }})
	if err != nil || got.States != 42 || got.Expanded != 40 || got.Unsafe != 1 || got.Goal != 1 || got.Choices != 80 || got.Deadlocks != 0 {
		t.Errorf("%+v, error %v", got, err)
	}
	if calls == 0 {
		t.Error("no progress is reported")
	}
	checkCounts(t, explore(t, task, engine.ByEdge), counts{100, 1, 99 + 98, 99 + 98, 1})
}

// What is known when a limit or an error ends an enumeration is returned.
func TestExploreEndsEarly(t *testing.T) {
	_, task := parse(t, bitCounter(13, true))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancelLate := context.WithTimeout(context.Background(), -time.Second)
	defer cancelLate()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		limits engine.Limits
		kind   engine.LimitKind
		text   string
	}{
		{"states", context.Background(), engine.Limits{MaxStates: 1000}, engine.LimitStates, "the limit of 1000 states is reached"},
		{"memory", context.Background(), engine.Limits{MaxResident: 1}, engine.LimitMemory, "the memory limit of 0 MiB is reached"},
		{"cancelled", ended, engine.Limits{}, engine.LimitInterrupt, "interrupted"},
		{"time", late, engine.Limits{}, engine.LimitTime, "the time limit is reached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := engine.Explore(c.ctx, task, initial(t, task.Model), engine.Options{Limits: c.limits}, engine.ExploreOptions{})
			var limit *engine.LimitError
			if !errors.As(err, &limit) || limit.Kind != c.kind || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("error %v, want %q", err, c.text)
			}
			if got.Complete || got.States < 1000 || got.States > 5000 || got.Expanded < got.States-2 || got.Choices < got.Expanded {
				t.Errorf("%+v", got)
			}
		})
	}
	broken := func(yield func([]jani.Value, error) bool) {
		_ = yield(make([]jani.Value, 14), nil) && yield(nil, errors.New("no more"))
	}
	if got, err := engine.Explore(context.Background(), task, broken, engine.Options{}, engine.ExploreOptions{}); err == nil || err.Error() != "no more" || got.States != 1 || got.Complete {
		t.Errorf("%+v, error %v", got, err)
	}
}

// Errors of a model end an enumeration, wherever they occur.
func TestExploreErrors(t *testing.T) {
	_, task := parse(t, one(bounded("x", 0, 5, 0), `"action":"a","guard":{"exp":{"op":"∨","left":{"op":"≠","left":"x","right":3},"right":{"op":"=","left":{"op":"%","left":1,"right":{"op":"-","left":"x","right":3}},"right":1}}},
		"destinations":[`+to(`"x"`, `{"op":"+","left":"x","right":1}`)+`]`))
	start := func(x jani.Value) iter.Seq2[[]jani.Value, error] {
		return func(yield func([]jani.Value, error) bool) { yield([]jani.Value{x, 0}, nil) }
	}
	task.Goal = exp(t, task, "x = 2 & 1 % (x - 2) = 0")
	for _, c := range []struct {
		x       jani.Value
		options engine.ExploreOptions
		want    string
		states  int64
	}{
		{0, engine.ExploreOptions{}, `automaton "p", edge 0, guard: 1 % 0 is not defined (in state x=3)`, 4},
		{0, engine.ExploreOptions{TargetTerminal: true}, "unsafe or goal condition: 1 % 0 is not defined (in state x=2)", 3},
		{4, engine.ExploreOptions{}, `automaton "p", edge 0: the variable "x" gets 6, outside its bounds 0 to 5 (in state x=5)`, 2},
	} {
		got, err := engine.Explore(context.Background(), task, start(c.x), engine.Options{}, c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) || got.Complete || got.States != c.states || got.Expanded != c.states-1 {
			t.Errorf("from x = %d, %+v: %+v, error %v, want %s", c.x, c.options, got, err, c.want)
		}
	}
}

// Counts of an instance of planning that two other programs have found.
func TestPublishedPlanningCounts(t *testing.T) {
	p := planning(t, "one_way_line_15_10_nondet")
	got := explore(t, p.task, engine.ByEdge)
	checkCounts(t, got, counts{1529002, 1, 4163157, 4973083, got.Deadlocks})
}

// Counts of verification models as published by model checkers, and of choices and
// branches by another enumerator. Large models are left out, and those that are not
// supported are skipped.
func TestPublishedVerificationCounts(t *testing.T) {
	var records []struct {
		File, Type, Mode string
		Constants        map[string]any
		States, Choices  int64
		Branches         int64
		Deadlocks        int64 `json:"deadlock_states"`
		Initial          int64 `json:"initial_states"`
	}
	if err := json.Unmarshal([]byte(source(t, "qvbs", "states.json").Text), &records); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, r := range records {
		if r.Mode != "full" || r.Type != "mdp" && r.Type != "dtmc" || r.States > 10000 {
			continue
		}
		t.Run(fmt.Sprint(r.File, " ", r.Constants), func(t *testing.T) {
			doc, err := jani.Parse(source(t, "qvbs", r.File), jani.Limits{})
			var e *jani.Error
			if errors.As(err, &e) && e.Kind == jani.Unsupported {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			checked++
			var given []string
			for name, value := range r.Constants {
				given = append(given, fmt.Sprintf("%s=%v", name, value))
			}
			m, err := jani.Compile(doc, parameters(t, given...))
			if err != nil {
				t.Fatal(err)
			}
			got := explore(t, &jani.Task{Model: m}, engine.ByEdge)
			checkCounts(t, got, counts{r.States, r.Initial, r.Choices, r.Branches, r.Deadlocks})
		})
	}
	if checked < 20 {
		t.Errorf("%d models checked", checked)
	}
}
