package interp

import (
	"fmt"
	"testing"

	"fuzzsafe/jani"
)

func rated(rate string, e jani.Edge) jani.Edge {
	e.Rate = ex(rate)
	return e
}

// function1 makes an int function of int parameters.
func function1(name, body string, parameters ...string) jani.Function {
	f := jani.Function{Name: name, Type: intType(), Body: ex(body)}
	for _, p := range parameters {
		f.Parameters = append(f.Parameters, jani.Parameter{Name: p, Type: intType()})
	}
	return f
}

func call(name string, args ...*jani.Expr) *jani.Expr {
	return &jani.Expr{Op: jani.OpCall, Name: name, Args: args}
}

func add(a, b *jani.Expr) *jani.Expr { return &jani.Expr{Op: jani.OpAdd, Args: []*jani.Expr{a, b}} }

func equals(a, b *jani.Expr) *jani.Expr {
	return &jani.Expr{Op: jani.OpEq, Args: []*jani.Expr{a, b}}
}

func transientVariable(name string, t jani.TypeDecl, initial *jani.Expr) jani.Variable {
	return jani.Variable{Name: name, Type: t, Initial: initial, Transient: true}
}

func choicesError(t *testing.T, doc *jani.Document, parts ...string) {
	t.Helper()
	in := mustNew(t, doc)
	_, err := in.Choices(initial(t, in))
	checkError(t, err, parts...)
}

// markovian has a rated edge of each kind, and without the guard false a silent one.
func markovian(silent string) *jani.Document {
	doc := document("a", "p", []jani.Variable{declare("x", intType(), ex("0"))}, automaton("p", "l0",
		rated("2", edge("l0", "a", "", to("l0", "0.5", "x := 1"), to("l0", "0.5", "x := 2"), to("l0", "0", "x := 3"))),
		rated("x", edge("l0", "", "", to("l0", "", "x := 4"))),
		rated("6.0", edge("l0", "", "", to("l0", "", "x := 5"))),
		edge("l0", "", silent, to("l0", "", "x := 6")),
	))
	doc.Type = "ma"
	return doc
}

func TestRace(t *testing.T) {
	race := " 0.0 0.2: 0.125 {x=1, p=l0} 0.125 {x=2, p=l0} 0.75 {x=5, p=l0}"
	doc := markovian("false")
	checkChoices(t, doc, race)
	doc.Type = "ctmc"
	checkChoices(t, doc, race)
	doc.Type = "ctmdp"
	checkChoices(t, doc, "a 0.0: 0.5 {x=1, p=l0} 0.5 {x=2, p=l0}", " 0.2: 1 {x=5, p=l0}")

	doc = markovian("true")
	silent := " 0.3: 1 {x=6, p=l0}"
	checkChoices(t, doc, silent)
	in := mustNew(t, doc)
	choices, err := in.WithoutMaximalProgress().Choices(initial(t, in))
	if err != nil || len(choices) != 2 || choices[0].Race || !choices[1].Race || len(choices[1].Outcomes) != 3 {
		t.Errorf("without maximal progress: %v, error %v", choices, err)
	}
	doc.Type = "ctmc"
	checkChoices(t, doc, silent, race)

	// A labelled edge stops a race, too; a synchronisation with a rate is Markovian.
	doc = document("a b", "p q", []jani.Variable{declare("x", intType(), ex("0"))},
		automaton("p", "l0", rated("1", edge("l0", "a", "", to("l0", "", "x := 1"))), edge("l0", "b", "x = 1", to("l0", ""))),
		automaton("q", "l0", edge("l0", "a", "", to("l0", ""))))
	doc.Type = "ma"
	sync(doc, "a a", "b")
	sync(doc, "b -", "a")
	checkChoices(t, doc, " 0.0 1.0: 1 {x=1, p=l0, q=l0}")
	doc.Variables[0].Initial = ex("1")
	checkChoices(t, doc, "a 0.1: 1 {x=1, p=l0, q=l0}")

	for _, test := range []struct{ rate, want string }{
		{"-1", `automaton "p", edge 1, rate: -1 is negative`},
		{"1 / x", "division by zero"},
		{"pow(10, 400)", "the result is +Inf"},
	} {
		doc := markovian("true")
		doc.Automata[0].Edges[1].Rate = ex(test.rate)
		choicesError(t, doc, test.want, "state: x=0")
	}
	// Only rated edges may have probabilities that do not sum to 1.
	doc = markovian("false")
	doc.Automata[0].Edges[2].Destinations[0].Probability = ex("0.25")
	checkChoices(t, doc, " 0.0 0.2: 0.125 {x=1, p=l0} 0.125 {x=2, p=l0} 0.1875 {x=5, p=l0}")
	doc.Automata[0].Edges[2].Destinations[0].Probability = ex("0")
	choicesError(t, doc, "the probabilities sum to 0, not to 1")
}

func TestTransient(t *testing.T) {
	p := automaton("p", "l0 l1",
		edge("l0", "", "y = 5 & v[1] = 4 & z = 2", to("l1", "y / 5", "0: x := y", "0: y := 8", "1: x := 10 * x + y")))
	p.Variables = []jani.Variable{transientVariable("z", intType(), ex("2"))}
	p.Locations[0].Transient = to("", "", "y := x + 2", "v[1] := z + 2").Assignments
	doc := document("", "p", []jani.Variable{
		transientVariable("y", bounded("0", "9"), ex("1")), declare("x", intType(), ex("3")),
		transientVariable("v", arrayOf(intType()), list("0 0")), transientVariable("none", intType(), nil),
	}, p)
	checkChoices(t, doc, " 0.0: 1 {x=18, p=l1}")
	in := mustNew(t, doc)
	s := initial(t, in)
	if got := fmt.Sprint(in.Names(), in.Values(s)); got != "[x p.location] [3 0]" {
		t.Errorf("state %s", got)
	}
	choices, err := in.Choices(s)
	if err != nil {
		t.Fatal(err)
	}
	for cond, s := range map[string]State{"y = 5 & p.z = 2 & v[0] = 0": s, "y = 1 & v[1] = 0": choices[0].Outcomes[0].State} {
		if ok, err := in.Holds(ex(cond), s); !ok || err != nil {
			t.Errorf("%s: %v, error %v", cond, ok, err)
		}
	}
	_, err = in.Holds(ex("none = 1"), s)
	checkError(t, err, `transient variable "none" has no value`)
	_, err = in.HoldsCondition(&jani.Condition{Listed: true, States: []jani.StateValues{
		{Variables: []jani.VariableValue{{Name: "y", Value: ex("1")}}}}}, s)
	checkError(t, err, "not part of a state")

	for _, test := range []struct{ value, want string }{
		{"y := 10", `location "l0", transient value: variable "y": value 10 is above the upper bound 9`},
		{"y := y + 1", `the value of transient variable "y" depends on itself`},
		{"y := 1 / (x - 3)", "division by zero"},
	} {
		doc.Automata[0].Locations[0].Transient = to("", "", test.value).Assignments
		choicesError(t, doc, test.want, "state: x=3")
	}
	doc.Automata[0].Locations[0].Transient = to("", "", "y := 4", "y := 5").Assignments
	choicesError(t, doc, "both 4 and 5 at once")

	// A variable without initial value can be assigned first.
	for _, test := range []struct{ group, want string }{{"0", `"none" has no value`}, {"1", ""}} {
		doc.Automata[0].Edges = []jani.Edge{edge("l0", "", "", to("l0", "", "none := 7", test.group+": x := none"))}
		if test.want == "" {
			checkChoices(t, doc, " 0.0: 1 {x=7, p=l0}")
		} else {
			choicesError(t, doc, test.want)
		}
	}
}

func TestFunctions(t *testing.T) {
	p := automaton("p", "l0", edge("l0", "", "", to("l0", "")))
	p.Variables = []jani.Variable{declare("y", intType(), ex("20"))}
	p.Functions = []jani.Function{function1("local", "x + y"), function1("hides", "300 + c")}
	half := function1("half", "a", "a")
	half.Type, half.Parameters[0].Type = realType(), realType()
	twice := function1("twice", "", "x")
	twice.Body = add(call("inc", ex("x")), call("inc", ex("x")))
	small := function1("small", "a", "a")
	small.Type, small.Parameters[0].Type = bounded("0", "c"), bounded("-5", "9")
	doc := document("", "p", []jani.Variable{
		declare("x", intType(), call("inc", ex("1"))), // needs a constant only
	}, p)
	doc.Constants = []jani.Constant{{Name: "c", Type: intType(), Value: ex("5")}, {Name: "d", Type: intType(), Value: call("hides")}}
	doc.Functions = []jani.Function{
		function1("inc", "a + 1", "a"), function1("sum", "x + a", "a"), function1("hides", "100 + c"), half, twice, small,
	}
	in := mustNew(t, doc)
	s := initial(t, in)
	global, local := env{scope: in.globals, state: s}, env{scope: in.instances[0].scope, state: s}
	for _, test := range []struct {
		in        env
		expr      *jani.Expr
		want, err string
	}{
		{in: global, expr: call("inc", ex("x")), want: "int 3"},
		{in: global, expr: call("sum", call("sum", ex("x"))), want: "int 6"},
		{in: global, expr: call("twice", ex("7")), want: "int 16"}, // the parameter hides the variable
		{in: global, expr: ac("a", "2", call("sum", ex("10 * a"))), want: "array [2, 12]"},
		{in: global, expr: call("half", ex("1")), want: "real 1"},
		{in: global, expr: &jani.Expr{Op: jani.OpIte, Args: []*jani.Expr{ex("true"), ex("1"), call("half", ex("1"))}}, want: "real 1"},
		{in: global, expr: ex("d"), want: "int 105"},
		{in: global, expr: call("hides"), want: "int 105"},
		{in: local, expr: call("hides"), want: "int 305"},
		{in: local, expr: call("local"), want: "int 22"},
		{in: global, expr: call("local"), err: `no function "local" is in scope`},
		{in: global, expr: call("inc"), err: `function "inc" has 1 parameters, not 0`},
		{in: global, expr: call("inc", ex("1.5")), err: "of type real, not int"},
		{in: global, expr: call("small", ex("-6")), err: "below the lower bound -5"},
		{in: global, expr: call("small", ex("-1")), err: "below the lower bound 0"},
		{in: global, expr: call("small", ex("6")), err: "above the upper bound 5"},
	} {
		x, err := test.in.eval(test.expr)
		if test.err != "" {
			checkError(t, err, test.err)
		} else if got := fmt.Sprintf("%v %v", x.kind, x); err != nil || got != test.want {
			t.Errorf("%s, error %v, want %s", got, err, test.want)
		}
	}
	if ok, err := in.Holds(equals(call("sum", ex("1")), ex("3")), s); !ok || err != nil {
		t.Errorf("in a condition: %v, error %v", ok, err)
	}
}

func TestInputEnable(t *testing.T) {
	doc := document("a b", "p q", []jani.Variable{declare("x", intType(), ex("0"))},
		automaton("p", "l0 l1", edge("l0", "a", "", to("l1", "", "x := x + 1"))),
		automaton("q", "m0 m1", edge("m0", "a", "x = 1", to("m1", ""))))
	sync(doc, "a a", "a")
	sync(doc, "- b", "b")
	checkChoices(t, doc)
	doc.System.Elements[1].InputEnable = []jani.Name{{Name: "a"}}
	checkChoices(t, doc, "a 0.0: 1 {x=1, p=l1, q=m0}")
	doc.Variables[0].Initial = ex("1")
	checkChoices(t, doc, "a 0.0 1.0: 1 {x=2, p=l1, q=m1}")
	doc.System.Elements[1].InputEnable = []jani.Name{{Name: "b"}}
	doc.Variables[0].Initial = ex("0")
	checkChoices(t, doc, "b: 1 {x=0, p=l0, q=m0}")
}

func TestTrigonometry(t *testing.T) {
	in := mustNew(t, document("", "p", nil, automaton("p", "l")))
	for _, test := range []struct {
		op      jani.Op
		x, want string // "" is an error
	}{
		{jani.OpSin, "1", "0.8414709848078965"}, {jani.OpCos, "1", "0.5403023058681398"}, {jani.OpTan, "1", "1.557407724654902"},
		{jani.OpCot, "1", "0.642092615934331"}, {jani.OpSec, "1", "1.850815717680926"}, {jani.OpCsc, "1", "1.188395105778121"},
		{jani.OpAsin, "0.5", "0.523598775598299"}, {jani.OpAcos, "0.5", "1.047197551196598"}, {jani.OpAtan, "1", "0.785398163397448"},
		{jani.OpAcot, "-1", "2.356194490192345"}, {jani.OpAsec, "2", "1.047197551196598"}, {jani.OpAcsc, "2", "0.523598775598299"},
		{jani.OpSinh, "1", "1.175201193643801"}, {jani.OpCosh, "1", "1.543080634815244"}, {jani.OpTanh, "1", "0.761594155955765"},
		{jani.OpCoth, "1", "1.313035285499331"}, {jani.OpSech, "1", "0.648054273663885"}, {jani.OpCsch, "1", "0.850918128239322"},
		{jani.OpAsinh, "1", "0.881373587019543"}, {jani.OpAcosh, "2", "1.316957896924817"}, {jani.OpAtanh, "0.5", "0.549306144334055"},
		{jani.OpAcoth, "2", "0.549306144334055"}, {jani.OpAsech, "0.5", "1.316957896924817"}, {jani.OpAcsch, "1", "0.881373587019543"},
		{jani.OpCot, "0", ""}, {jani.OpCsc, "0", ""}, {jani.OpAsin, "2", ""}, {jani.OpAsec, "0", ""}, {jani.OpAcosh, "0", ""},
		{jani.OpAtanh, "1", ""}, {jani.OpAcoth, "0.5", ""}, {jani.OpAsech, "0", ""}, {jani.OpSinh, "1000", ""}, {jani.OpSin, "true", ""},
	} {
		v := env{scope: in.globals}
		e := &jani.Expr{Op: test.op, Args: []*jani.Expr{ex(test.x)}}
		got, err := v.eval(e)
		if test.want == "" {
			if err == nil {
				t.Errorf("%v(%s) = %v, want an error", test.op, test.x, got)
			}
			continue
		}
		want, _ := v.eval(ex(test.want))
		if d := got.f - want.f; err != nil || got.kind != jani.KindReal || !v.isReal(e) || d > 1e-14 || d < -1e-14 {
			t.Errorf("%v(%s) = %v, error %v, want %s", test.op, test.x, got, err, test.want)
		}
	}
}
