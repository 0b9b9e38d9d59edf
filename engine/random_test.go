package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fuzzsafe/engine"
	"fuzzsafe/jani"
	"fuzzsafe/jani/interp"
)

// agreement counts what random models have shown.
type agreement struct {
	models      int
	compared    int // models that both sides took
	rejected    int // by both sides
	unsupported int // by the compiler, by name
	constant    int // rejected by the compiler for a constant that no run need evaluate
	open        int // models whose initial states the interpreter cannot list
	large       int // models with at least ten states compared
	states      int
	failed      int // states that end in an error both ways
	lazy        int // models with synchronisations that are combined at run time
	races       int // states in which Markovian edges race
	deadlocks   int // states without choice
	classes     [engine.ClassUnsafe + 1]int
	evaluated   int // conditions that package jani evaluated, too
	undefined   int // states in which a condition fails both ways
	used        map[string]int
}

// constantErrors are of constants that the compiler rejects wherever they stand.
var constantErrors = []string{"the array has no such element", "not from 0 to 1", "the rate is negative",
	"gets two different values", "outside the bounds of its type", "the probabilities sum to", "unrolled to more than"}

// compare compares one random model on up to limit states. What the model uses counts
// if its states have been compared.
func (n *agreement) compare(text string, used map[string]bool, limit int) error {
	n.models++
	doc, err := jani.Parse(jani.NewSource("random", []byte(text)), jani.Limits{})
	if err != nil {
		return err
	}
	plan, _, err := doc.Properties[0].Planning(nil, jani.Limits{})
	if err != nil {
		return err
	}
	var task *jani.Task
	m, err := jani.Compile(doc, nil)
	if err == nil {
		task, err = m.Task("conditions", plan)
	}
	var defect *jani.Error
	if errors.As(err, &defect) && defect.Kind == jani.Unsupported {
		n.unsupported++
		return nil
	}
	in, inErr := interp.New(doc, nil)
	if inErr != nil {
		if err == nil {
			return fmt.Errorf("only the interpreter rejects the model: %w", inErr)
		}
		n.rejected++
		return nil
	}
	initial, initialErr := in.InitialStates(limit)
	if err != nil {
		switch {
		case slices.ContainsFunc(constantErrors, func(s string) bool { return strings.Contains(err.Error(), s) }):
			n.constant++
		case initialErr != nil, strings.Contains(err.Error(), "no initial state") && len(initial) == 0:
			n.rejected++
		default:
			return fmt.Errorf("only the compiler rejects the model: %w", err)
		}
		return nil
	}
	tw, err := newTwins(doc, nil, task)
	if err != nil {
		return err
	}
	if initialErr != nil { // too many, or a restriction that cannot be evaluated
		n.open++
		return nil
	}
	if _, lazy := tw.byEdge.CompositeEdges(); lazy {
		n.lazy++
	}
	start, err := tw.initial(initial)
	if err != nil {
		return err
	}
	walked := tw
	if m.Type == "ma" { // everything that races, wherever it is enabled; then the races that take place
		if walked, err = tw.withoutMaximalProgress(); err != nil {
			return err
		}
	}
	states, failed, err := walked.walk(start, limit, false)
	if err != nil {
		return err
	}
	known := walked.byEdge
	for id := range engine.StateID(min(limit, known.NumStates())) {
		if err := n.state(tw, plan, start, known.Values(id)); err != nil {
			return fmt.Errorf("state %s: %w", known.Describe(id), err)
		}
	}
	n.compared++
	n.states += states
	n.failed += failed
	if states >= 10 {
		n.large++
	}
	for name := range used {
		n.used[name]++
	}
	return nil
}

// state compares the actions of a state, and its class by the unsafe and the goal
// condition.
func (n *agreement) state(tw *twins, plan *jani.Planning, start [][]jani.Value, values []jani.Value) error {
	state, err := tw.in.State(values)
	if err != nil {
		return err
	}
	id, err := tw.byEdge.Intern(values)
	if err != nil {
		return err
	}
	choices, wantErr := tw.in.Choices(state)
	have, gotErr := tw.outcomes(tw.byEdge, id)
	if (wantErr == nil) != (gotErr == nil) && !tw.dropped {
		return fmt.Errorf("the interpreter's error is %v, that of the space is %v", wantErr, gotErr)
	}
	if wantErr != nil {
		return nil // it is not known whether the state is a deadlock
	}
	var want []action
	for _, c := range choices {
		var successors [][]jani.Value
		for _, o := range c.Outcomes {
			successors = appendNew(successors, [][]jani.Value{tw.in.Values(o.State)})
		}
		label := tw.action(c.Action)
		if c.Race {
			n.races++
			label = tw.model.Race
			slices.SortFunc(successors, slices.Compare[[]jani.Value])
		}
		want = append(want, action{label, successors})
	}
	if !reflect.DeepEqual(have, want) {
		return fmt.Errorf("the space has\n%v, the interpreter\n%v", have, want)
	}
	if len(choices) == 0 {
		n.deadlocks++
	}
	facts := map[jani.Op]bool{
		jani.OpInitial:  slices.ContainsFunc(start, func(s []jani.Value) bool { return slices.Equal(s, values) }),
		jani.OpDeadlock: len(choices) == 0,
	}
	task, class := tw.byEdge.Task(), engine.ClassUnsafe
	holds, wantErr, err := n.condition(tw, task.Unsafe, instead(plan.Unsafe.Exp, facts), state)
	if err == nil && wantErr == nil && !holds {
		class = engine.ClassGoal
		if holds, wantErr, err = n.condition(tw, task.Goal, instead(plan.Goal.Exp, facts), state); !holds {
			class = engine.ClassOrdinary
		}
	}
	if err != nil {
		return err
	}
	got, gotErr := tw.byEdge.Class(id)
	if (wantErr == nil) != (gotErr == nil) || wantErr == nil && got != class {
		return fmt.Errorf("class %d, error %v; the interpreter says %d, error %v", got, gotErr, class, wantErr)
	}
	if wantErr != nil {
		n.undefined++
		return nil
	}
	n.classes[class]++
	return nil
}

// condition evaluates a condition in the interpreter. Where package jani can evaluate it,
// typed, from the values alone, differ says how its result differs.
func (n *agreement) condition(tw *twins, typed, e *jani.Expr, s interp.State) (holds bool, failed, differ error) {
	holds, failed = tw.in.Holds(e, s)
	got, err := typed.Eval(tw.in.Values(s))
	var defect *jani.Error
	if errors.As(err, &defect) && defect.Kind == jani.Unsupported { // a deadlock is asked for
		return holds, failed, nil
	}
	n.evaluated++
	if (failed == nil) != (err == nil) || err == nil && got.Bool() != holds {
		differ = fmt.Errorf("a condition has the value %v, error %v; the interpreter says %v, error %w",
			got.Bool(), err, holds, failed)
	}
	return holds, failed, differ
}

// instead returns e with truth values in place of the predicates that the interpreter
// does not know.
func instead(e *jani.Expr, facts map[jani.Op]bool) *jani.Expr {
	to := *e
	if truth, ok := facts[e.Op]; ok {
		if to.Op, to.Kind = jani.OpConst, jani.KindBool; truth {
			to.Int = 1
		}
	}
	to.Args = nil
	for _, a := range e.Args {
		to.Args = append(to.Args, instead(a, facts))
	}
	return &to
}

// features must occur in random models that are compared. %s is each of places.
var features = []string{
	"call in %s", "transient in %s", "real in %s", "comparison of arrays in %s", "ite of arrays in %s",
	"bool parameter", "int parameter", "real parameter", "parameter that hides a name",
	"function of an automaton", "function that hides another", "local variable that hides a global one",
	"type lts", "type dtmc", "type mdp", "type ctmc", "type ctmdp", "type ma",
	"rate of a silent edge", "rate of a labelled edge", "rate by a condition", "rate by an integer",
	"transient bool, initial value true", "transient int, initial value true", "transient real, initial value true",
	"transient bool, initial value false", "transient int, initial value false", "transient real, initial value false",
	"transient value of a bool, initial value true", "transient value of a int, initial value true",
	"transient value of a real, initial value true", "transient value of a int, initial value false",
	"transient bool assigned, initial value true", "transient int assigned, initial value true",
	"transient real assigned, initial value true", "transient int assigned, initial value false",
	"transient assigned true, index of sign -1", "transient assigned true, index of sign 0",
	"transient assigned true, index of sign 1",
	"transient assigned false, index of sign -1", "transient assigned false, index of sign 1",
	"input-enable", "initial", "deadlock", "several instances",
	"array of 1 dimensions", "array of 2 dimensions", "computed index", "array constructor in guard",
	"element of an array that is no variable", "ite of arrays assigned",
	"variable without initial value", "restrict-initial of the model", "restrict-initial of an automaton",
	"call in constant", "call in initial value",
}

// places are where a feature must occur that can stand anywhere.
var places = []string{"guard", "rate", "probability", "value", "index", "function", "condition"}

func TestRandomModels(t *testing.T) {
	const seed = 1
	for _, c := range []struct {
		name                string
		models, wide, limit int
	}{
		{"small", 1200, 0, 60},
		{"listed synchronisations", 60, 6, 30}, // 216 composite edges
		{"lazy synchronisations", 150, 8, 30},  // 512
	} {
		t.Run(c.name, func(t *testing.T) {
			n := agreement{used: map[string]int{}}
			for i := range uint64(c.models) {
				r := &randomModel{Rand: rand.New(rand.NewPCG(seed, i))}
				text := r.model(c.wide)
				if err := n.compare(text, r.used, c.limit); err != nil {
					t.Fatalf("seed %d, model %d: %v\n%s", seed, i, err, text)
				}
			}
			t.Logf("%d models: %d compared, %d of them on at least 10 states; %d rejected by both sides, %d by the compiler "+
				"for a constant; %d not supported, %d with too many initial states", n.models, n.compared, n.large, n.rejected,
				n.constant, n.unsupported, n.open)
			t.Logf("%d states: %d with an error, %d deadlocks, %d races; classes %v, %d undefined, %d conditions evaluated, too",
				n.states, n.failed, n.deadlocks, n.races, n.classes[1:], n.undefined, n.evaluated)
			if n.states < 5*n.compared || n.failed == 0 || n.failed > n.states/4 || n.deadlocks > n.states/2 ||
				n.races < n.states/20 || n.evaluated < n.states || slices.Min(n.classes[1:]) == 0 {
				t.Error("the states are not what they should be")
			}
			if lazy := c.wide > 6; n.compared < n.models/2 || lazy && n.lazy < n.compared/3 {
				t.Errorf("%d models with lazy synchronisations", n.lazy)
			}
			if c.wide > 0 {
				return
			}
			if n.compared < n.models*8/10 || n.large < n.models/5 ||
				n.rejected == 0 || n.unsupported > 0 || n.undefined == 0 || slices.Min(n.classes[1:]) < n.states/10 {
				t.Error("the models are not what they should be")
			}
			for _, place := range places {
				for _, feature := range features {
					if name := strings.ReplaceAll(feature, "%s", place); n.used[name] < 4 {
						t.Errorf("%d models with feature %q", n.used[name], name)
					}
				}
			}
		})
	}
}

// corner is a model with one automaton p, one location l and one edge, for a reading of
// the language that random models reach rarely or not at all.
type corner struct {
	name                               string
	variables, functions, values, edge string // the values are transient ones of the location
	differs                            string // what the difference says, "" if there is none
}

func (c corner) text() string {
	return `{"jani-version": 1, "name": "corner", "type": "ctmdp", "variables": [` + c.variables + `],
		"functions": [` + c.functions + `],
		"automata": [{"name": "p", "locations": [{"name": "l", "transient-values": [` + c.values + `]}], "initial-locations": ["l"],
			"edges": [{"location": "l", ` + c.edge + `}]}], "system": {"elements": [{"automaton": "p"}]},
		"properties": [{"name": "none", "expression": {"op": "PA", "reach": false, "objective": false}}]}`
}

// Corners of the language. Where the two sides are known to differ, the test asks for the
// difference, so that it is noticed when it is gone.
func TestCorners(t *testing.T) {
	const (
		zero = `{"name": "x", "type": "int", "initial-value": 0}`
		huge = `{"name": "x", "type": "int", "initial-value": 9007199254740993}` // 2⁵³ + 1, which is no float64
		real = `, {"name": "t", "type": "real", "transient": true, "initial-value": 0}`
		bit  = `, {"name": "t", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 1},
			"transient": true, "initial-value": 0}`
		below = `{"op": "-", "left": "x", "right": 1}`
		stay  = `"destinations": [{"location": "l"}]`
		fails = `{"op": "%", "left": 1, "right": "x"}`
		float = `9007199254740992`
	)
	list := func(a, b string) string { return `{"op": "av", "elements": [` + a + `, ` + b + `]}` }
	at0 := func(array string) string { return `{"op": "aa", "exp": ` + array + `, "index": 0}` }
	when := func(left, right string) string {
		return `"guard": {"exp": {"op": "=", "left": ` + left + `, "right": ` + right + `}}, ` + stay
	}
	do := func(assignments string) string {
		return `"destinations": [{"location": "l", "assignments": [` + assignments + `]}]`
	}
	give := func(value string) string { return `{"ref": "t", "value": ` + value + `}` }
	for _, c := range []corner{
		{"transient, assigned and read", zero + bit, "", give("0"),
			do(give("1") + `, {"ref": "x", "value": "t", "index": 1}`), ""},
		{"int argument for a real parameter", huge, `{"name": "f", "type": "real", "body": "a",
			"parameters": [{"name": "a", "type": "real"}]}`,
			"", when(`{"op": "call", "function": "f", "args": ["x"]}`, float), ""},
		{"int body of a real function", huge, `{"name": "f", "type": "real", "parameters": [], "body": "x"}`,
			"", when(`{"op": "call", "function": "f", "args": []}`, float), ""},
		{"int value of a real transient", huge + real, "", give(`"x"`), when(`"t"`, float), ""},
		{"remainder of a real transient", zero + real, "", give(`"x"`),
			when(`{"op": "%", "left": "t", "right": 2}`, "0"), "operator % needs int, not real"},
		{"transient value out of bounds", zero + bit, "", give(below), when(`"t"`, "0"), ""},
		{"unread transient out of bounds", zero + bit, "", "", do(give(below)), ""},
		{"unread transient fails", zero + bit, "", "", do(give(fails)), ""},
		{"unread transient twice", zero + bit, "", "", do(give("0") + `, ` + give("1")), ""},
		{"array of int and real", huge, "", "", when(at0(list(`"x"`, "0.5")), float), ""},
		{"comparison of arrays of int and real", huge, "", "",
			when(list(`"x"`, "0.5"), list(float, "0.5")), ""},
		{"unneeded element fails", zero, "", "", when(at0(list(`"x"`, fails)), "1"), ""},
		{"element behind a difference fails", zero, "", "", when(list(`"x"`, fails), list("1", "1")), ""},
		{"unneeded branch of a constant", `{"name": "x", "type": "real", "initial-value": {"op": "ite", "if": true, "then": 1,
			"else": {"op": "/", "left": 1, "right": 0}}}`, "", "", stay, ""},
		{"unneeded argument", zero, `{"name": "f", "type": "int", "parameters": [{"name": "a", "type": "int"}], "body": 1}`, "",
			when(`{"op": "call", "function": "f", "args": [`+fails+`]}`, "1"), ""},
		{"result out of bounds", zero, `{"name": "f", "type": {"kind": "bounded", "base": "int", "lower-bound": 1},
			"parameters": [], "body": "x"}`, "", when(`{"op": "call", "function": "f", "args": []}`, "1"), ""},
		{"negative rate", zero, "", "", `"rate": {"exp": ` + below + `}, ` + stay, ""},
		{"computed row in a list", zero + `, {"name": "m", "type": {"kind": "array", "base": {"kind": "array", "base": "int"}},
			"initial-value": ` + list(list("1", "2"), list("3", "4")) + `}`, "", "",
			when(list(`{"op": "aa", "exp": "m", "index": "x"}`, list("3", "4")), `"m"`), ""},
	} {
		n := agreement{used: map[string]int{}}
		err := n.compare(c.text(), nil, 10)
		if (err == nil) != (c.differs == "") || err != nil && !strings.Contains(err.Error(), c.differs) {
			t.Errorf("%s: difference %v, want %q", c.name, err, c.differs)
		}
		if err == nil && n.compared != 1 {
			t.Errorf("%s: the model is not compared: %+v", c.name, n)
		}
	}
}
