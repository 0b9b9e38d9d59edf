package interp

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fuzzsafe/jani"
)

// ex reads an infix expression; "" is none.
func ex(text string) *jani.Expr {
	if text == "" {
		return nil
	}
	e, err := jani.ParseInfix("test", text, nil, jani.Limits{})
	if err != nil {
		panic(err)
	}
	return e
}

func av(elems ...*jani.Expr) *jani.Expr { return &jani.Expr{Op: jani.OpArray, Args: elems} }

func ac(index, length string, body *jani.Expr) *jani.Expr {
	return &jani.Expr{Op: jani.OpFill, Name: index, Args: []*jani.Expr{ex(length), body}}
}

// list makes an array value of the words of text.
func list(text string) *jani.Expr {
	var elems []*jani.Expr
	for _, s := range strings.Fields(text) {
		elems = append(elems, ex(s))
	}
	return av(elems...)
}

func literal(n int64) *jani.Expr { return &jani.Expr{Op: jani.OpConst, Kind: jani.KindInt, Int: n} }

func boolType() jani.TypeDecl { return jani.TypeDecl{Kind: jani.KindBool} }
func intType() jani.TypeDecl  { return jani.TypeDecl{Kind: jani.KindInt} }
func realType() jani.TypeDecl { return jani.TypeDecl{Kind: jani.KindReal} }

func bounded(lower, upper string) jani.TypeDecl {
	return jani.TypeDecl{Kind: jani.KindInt, Lower: ex(lower), Upper: ex(upper)}
}

func arrayOf(elem jani.TypeDecl) jani.TypeDecl {
	return jani.TypeDecl{Kind: jani.KindArray, Elem: &elem}
}

func declare(name string, t jani.TypeDecl, initial *jani.Expr) jani.Variable {
	return jani.Variable{Name: name, Type: t, Initial: initial}
}

func edge(from, action, guard string, destinations ...jani.Destination) jani.Edge {
	return jani.Edge{
		Source: jani.Name{Name: from}, Action: jani.Name{Name: action}, Guard: ex(guard), Destinations: destinations,
	}
}

// to makes a destination; an assignment is "x := e", or "index: x := e".
func to(location, probability string, assignments ...string) jani.Destination {
	d := jani.Destination{Target: jani.Name{Name: location}, Probability: ex(probability)}
	for _, text := range assignments {
		ref, val, _ := strings.Cut(text, ":=")
		var a jani.Assignment
		if index, after, ok := strings.Cut(ref, ":"); ok {
			ref = after
			if _, err := fmt.Sscan(index, &a.Index); err != nil {
				panic(err)
			}
		}
		a.Ref, a.Value = ex(ref), ex(val)
		d.Assignments = append(d.Assignments, a)
	}
	return d
}

// automaton makes an automaton whose first location is initial.
func automaton(name, locations string, edges ...jani.Edge) jani.Automaton {
	a := jani.Automaton{Name: name, Edges: edges}
	for _, l := range strings.Fields(locations) {
		a.Locations = append(a.Locations, jani.Location{Name: l})
	}
	a.Initial = []jani.Name{{Name: a.Locations[0].Name}}
	return a
}

func document(actions, elements string, variables []jani.Variable, automata ...jani.Automaton) *jani.Document {
	doc := &jani.Document{Type: "mdp", Variables: variables, Automata: automata}
	for _, a := range strings.Fields(actions) {
		doc.Actions = append(doc.Actions, jani.Action{Name: a})
	}
	for _, e := range strings.Fields(elements) {
		doc.System.Elements = append(doc.System.Elements, jani.Element{Automaton: jani.Name{Name: e}})
	}
	return doc
}

// sync adds a vector such as "a - b", where - does not take part, with its result.
func sync(doc *jani.Document, vector, result string) {
	s := jani.Sync{Result: jani.Name{Name: result}}
	for _, label := range strings.Fields(vector) {
		s.Participants = append(s.Participants, jani.Name{Name: strings.Trim(label, "-")})
	}
	doc.System.Syncs = append(doc.System.Syncs, s)
	doc.System.HasSyncs = true
}

func mustNew(t *testing.T, doc *jani.Document) *Interp {
	t.Helper()
	in, err := New(doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// initial returns the only initial state.
func initial(t *testing.T, in *Interp) State {
	t.Helper()
	states, err := in.InitialStates(1)
	if err != nil || len(states) != 1 {
		t.Fatalf("initial states: %d, error %v, want one", len(states), err)
	}
	return states[0]
}

// checkChoices compares the choices in the initial state with want, one line each:
// label instance.edge …: probability {state} …
func checkChoices(t *testing.T, doc *jani.Document, want ...string) {
	t.Helper()
	in := mustNew(t, doc)
	choices, err := in.Choices(initial(t, in))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range choices {
		line := c.Action
		for _, e := range c.Edges {
			line += fmt.Sprintf(" %d.%d", e.Instance, e.Edge)
		}
		line += ":"
		for _, o := range c.Outcomes {
			line += fmt.Sprintf(" %v {%s}", o.Probability, strings.ReplaceAll(in.describe(o.State), ".location", ""))
		}
		got = append(got, line)
	}
	if !slices.Equal(got, want) {
		t.Errorf("choices:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// checkError expects an error that contains all of the parts.
func checkError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not contain %q", err, part)
		}
	}
}

// expressions is a document whose only use is to give meaning to names.
func expressions() *jani.Document {
	doc := document("", "p", []jani.Variable{
		declare("b", boolType(), ex("true")),
		declare("n", intType(), ex("7")),
		declare("r", realType(), ex("2.5")),
		declare("a", arrayOf(intType()), list("10 20 30")),
		declare("m", arrayOf(arrayOf(realType())), av(list("1 2"), list("3 4"))),
	}, automaton("p", "l"))
	doc.Constants = []jani.Constant{
		{Name: "high", Type: intType(), Value: literal(math.MaxInt64)},
		{Name: "low", Type: intType(), Value: literal(math.MinInt64)},
		{Name: "one", Type: realType(), Value: literal(1)},
	}
	return doc
}

func TestOperators(t *testing.T) {
	in := mustNew(t, expressions())
	s := initial(t, in)
	const fail = "error: "
	for _, test := range []struct{ text, want string }{
		{"1", "int 1"},
		{"1.0", "real 1"},
		{"one", "real 1"},
		{"true", "bool true"},
		{"nobody", fail + `no constant or variable "nobody" is in scope`},

		{"b | false", "bool true"},
		{"false | !b", "bool false"},
		{"b & false", "bool false"},
		{"b & b", "bool true"},
		{"b => false", "bool false"},
		{"b => b", "bool true"},
		{"false => false", "bool true"},
		{"!n", fail + "a bool is wanted"},
		{"n & b", fail + "a bool is wanted"},
		{"b & n", fail + "a bool is wanted"},
		{"ite(n, 1, 2)", fail + "a bool is wanted"},

		// Lazy where the left side decides, and only there.
		{"b | 1/0 > 2", "bool true"},
		{"!b & 1/0 > 2", "bool false"},
		{"!b => 1/0 > 2", "bool true"},
		{"n != 7 & 1/(n-7) > 2", "bool false"},
		{"!b | 1/0 > 2", fail + "division by zero"},
		{"b & 1/0 > 2", fail + "division by zero"},
		{"b => 1/0 > 2", fail + "division by zero"},
		{"1/0 > 2 | b", fail + "division by zero"},
		{"ite(b, 1, 2)", "int 1"},
		{"ite(!b, 1, 2)", "int 2"},
		{"ite(!b, 1, 1/0)", fail + "division by zero"},

		// The branch that is not evaluated decides on the type, too.
		{"ite(b, 1, 1/0)", "real 1"},
		{"ite(b, 1, r)", "real 1"},
		{"ite(b, n, 2*ite(b, 1, -0.5))", "real 7"},
		{"ite(b, 1, m[0][0])", "real 1"},
		{"ite(b, 1, one)", "real 1"},
		{"ite(b, 1, floor(r))", "int 1"},

		{"1 = 1.0", "bool true"},
		{"b = true", "bool true"},
		{"b != true", "bool false"},
		{"b = 1", fail + "cannot be compared"},
		{"a = 1", fail + "cannot be compared"},
		{"a = a", "bool true"},
		{"m[0] = m[1]", "bool false"},
		{"a != m[0]", "bool true"},
		{"1 < 1.5", "bool true"},
		{"2 <= 1.5", "bool false"},
		{"2 >= 2", "bool true"},
		{"2 > 2", "bool false"},
		{"b < b", fail + "a number is wanted"},

		// Two ints compare exactly, otherwise both are reals.
		{"high - 1 = high", "bool false"},
		{"high - 1 < high", "bool true"},
		{"high - 1 = high * 1.0", "bool true"},
		{"high - 1 < high * 1.0", "bool false"},
		{"9007199254740993 = 9007199254740992.0", "bool true"},
		{"ite(b, 9007199254740993, 0.5) = 9007199254740992", "bool true"},

		{"2 + 3", "int 5"},
		{"2 + 0.5", "real 2.5"},
		{"high + 1", fail + "does not fit into 64 bits"},
		{"high + -1", "int 9223372036854775806"},
		{"low + -1", fail + "does not fit into 64 bits"},
		{"low + high", "int -1"},
		{"low + 0", "int -9223372036854775808"},
		{"2 - 3", "int -1"},
		{"low - 0", "int -9223372036854775808"},
		{"-low - 1", fail + "does not fit into 64 bits"},
		{"low - 1", fail + "does not fit into 64 bits"},
		{"0 - low", fail + "does not fit into 64 bits"},
		{"-1 - low", "int 9223372036854775807"},
		{"-low", fail + "does not fit into 64 bits"},
		{"-n", "int -7"},
		{"-r", "real -2.5"},
		{"2 * 3", "int 6"},
		{"0 * low", "int 0"},
		{"low * 1", "int -9223372036854775808"},
		{"low * -1", fail + "does not fit into 64 bits"},
		{"-1 * low", fail + "does not fit into 64 bits"},
		{"high * -1", "int -9223372036854775807"},
		{"high * 2", fail + "does not fit into 64 bits"},
		{"4294967296 * 4294967296", fail + "does not fit into 64 bits"},
		{"high * 2.0", "real 1.8446744073709552e+19"},
		{"1e308 * 10", fail + "the result is +Inf"},
		{"b + 1", fail + "a number is wanted"},
		{"1 + b", fail + "a number is wanted"},
		{"min(2, 1)", "int 1"},
		{"max(2, 1)", "int 2"},
		{"min(1, 2.5)", "real 1"},
		{"max(1, 2.5)", "real 2.5"},
		{"abs(-3)", "int 3"},
		{"abs(3)", "int 3"},
		{"abs(-2.5)", "real 2.5"},
		{"abs(low)", fail + "does not fit into 64 bits"},

		{"7 % 3", "int 1"},
		{"-7 % 3", "int -1"},
		{"7 % -3", "int 1"},
		{"low % -1", "int 0"},
		{"7 % 0", fail + "division by zero"},
		{"7.0 % 2", fail + "% wants ints"},
		{"ite(b, 7, 0.5) % 2", fail + "% wants ints"},
		{"4 / 2", "real 2"},
		{"7 / 2", "real 3.5"},
		{"0 / 5", "real 0"},
		{"1 / 0", fail + "division by zero"},
		{"0.0 / 0.0", fail + "division by zero"},
		{"1e308 / 0.1", fail + "the result is +Inf"},
		{"pow(2, 3)", "real 8"},
		{"pow(0, 0)", "real 1"},
		{"pow(10, 400)", fail + "the result is +Inf"},
		{"pow(0, -1)", fail + "the result is +Inf"},
		{"pow(-8, 0.5)", fail + "the result is NaN"},
		{"log(8, 2)", "real 3"},
		{"log(0, 2)", fail + "does not exist"},
		{"log(-1, 2)", fail + "does not exist"},
		{"log(2, 1)", fail + "does not exist"},
		{"log(2, 0)", fail + "does not exist"},

		{"floor(-2.5)", "int -3"},
		{"ceil(-2.5)", "int -2"},
		{"trc(-2.5)", "int -2"},
		{"floor(2.5)", "int 2"},
		{"ceil(2.5)", "int 3"},
		{"trc(2.5)", "int 2"},
		{"floor(high)", "int 9223372036854775807"},
		{"ceil(high * 1.0)", fail + "does not fit into 64 bits"},
		{"floor(low * 1.0)", "int -9223372036854775808"},
		{"trc(1e300)", fail + "does not fit into 64 bits"},
		{"sgn(-2.5)", "int -1"},
		{"sgn(n)", "int 1"},
		{"sgn(0.0)", "int 0"},
		{"sgn(-0.0)", "int 0"},
		{"sgn(b)", fail + "a number is wanted"},

		{"a", "array [10, 20, 30]"},
		{"a[0]", "int 10"},
		{"a[n - 5]", "int 30"},
		{"a[3]", fail + "array index 3 is not between 0 and 2"},
		{"a[-1]", fail + "array index -1 is not between 0 and 2"},
		{"a[1.0]", fail + "of type real, not int"},
		{"n[0]", fail + "an array is wanted"},
		{"m[1]", "array [3, 4]"},
		{"m[1][0]", "real 3"},
	} {
		v := env{scope: in.globals, state: s}
		x, err := v.eval(ex(test.text))
		if part, ok := strings.CutPrefix(test.want, fail); ok {
			if err == nil || !strings.Contains(err.Error(), part) || !strings.HasPrefix(err.Error(), "test:1:") {
				t.Errorf("%s: %v, error %v, want one with its place and %q", test.text, x, err, part)
			}
		} else if got := fmt.Sprintf("%v %v", x.kind, x); err != nil || got != test.want {
			t.Errorf("%s: %s, error %v, want %s", test.text, got, err, test.want)
		}
	}
}

func TestArrayExpressions(t *testing.T) {
	in := mustNew(t, expressions())
	v := env{scope: in.globals, state: initial(t, in)}
	access := func(array *jani.Expr, i int64) *jani.Expr {
		return &jani.Expr{Op: jani.OpAccess, Args: []*jani.Expr{array, literal(i)}}
	}
	eq := func(a, b *jani.Expr) *jani.Expr { return &jani.Expr{Op: jani.OpEq, Args: []*jani.Expr{a, b}} }
	for _, test := range []struct {
		expr      *jani.Expr
		want, err string
	}{
		{expr: list("1 2"), want: "array [1, 2]"},
		{expr: access(list("1 2"), 0), want: "int 1"},
		{expr: access(list("1 2.5"), 0), want: "real 1"}, // one real element makes all real
		{expr: access(access(av(list("1"), list("2.5")), 0), 0), want: "real 1"},
		{expr: ac("i", "n - 4", ex("i * i")), want: "array [0, 1, 4]"},
		{expr: ac("n", "n - 4", ex("n")), want: "array [0, 1, 2]"}, // hides the variable
		{expr: access(ac("r", "1", ex("ite(b, r, 1)")), 0), want: "int 0"},
		{expr: access(ac("i", "2", ex("i + 0.5")), 1), want: "real 1.5"},
		{expr: ac("i", "2", ac("j", "i + 1", ex("10 * i + j"))), want: "array [[0], [10, 11]]"},
		{expr: ac("i", "0", ex("1 / 0")), want: "array []"},
		{expr: eq(list("1 2"), list("1.0 2")), want: "bool true"},
		{expr: eq(list("1 2"), list("1")), want: "bool false"},
		{expr: eq(list("1"), list("1 2")), want: "bool false"},
		{expr: eq(list("1"), list("true")), err: "cannot be compared"},
		{expr: ac("i", "-1", ex("i")), err: "array length -1"},
		{expr: ac("i", "1e3", ex("i")), err: "an int is wanted"},
		{expr: ac("i", "high", ex("i")), err: "array length 9223372036854775807"},
		{expr: ac("i", "2000", ac("j", "2000", ex("i"))), err: "more than 1048576 elements"},
		{expr: ac("i", "2", ex("1 / i")), err: "division by zero"},
		{expr: list("1 1/0"), err: "division by zero"},
		{expr: &jani.Expr{Op: jani.OpVar}, err: "not part of a syntax tree"},
		{expr: &jani.Expr{Op: jani.OpElem, Args: []*jani.Expr{ex("1")}}, err: "not part of a syntax tree"},
	} {
		x, err := v.eval(test.expr)
		if test.err != "" {
			checkError(t, err, test.err)
		} else if got := fmt.Sprintf("%v %v", x.kind, x); err != nil || got != test.want {
			t.Errorf("%s, error %v, want %s", got, err, test.want)
		}
	}
}

func TestConstants(t *testing.T) {
	doc := document("", "p", nil, automaton("p", "l"))
	doc.Constants = []jani.Constant{
		{Name: "n", Type: intType()},
		{Name: "r", Type: realType()},
		{Name: "same", Type: bounded("0", "n"), Value: ex("2 * n - n")},
		{Name: "a", Type: arrayOf(realType()), Value: list("1 2")},
	}
	given := func(n, r string) map[string]*jani.Expr {
		return map[string]*jani.Expr{"n": ex(n), "r": ex(r)}
	}
	in, err := New(doc, given("3", "-4"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cond := range []string{"n = 3", "r = -4", "same = n", "r / n < 0", "a[1] = 2"} {
		if ok, err := in.Holds(ex(cond), initial(t, in)); !ok {
			t.Errorf("%s does not hold, error %v", cond, err)
		}
	}
	_, err = New(doc, given("3.0", "1"))
	checkError(t, err, `constant "n"`, "value 3 is of type real, not int")
	_, err = New(doc, given("true", "1"))
	checkError(t, err, `constant "n"`, "of type bool")
	_, err = New(doc, given("-1", "1"))
	checkError(t, err, `constant "same"`, "the lower bound 0 is above the upper bound -1")
	_, err = New(doc, given("1 / 0", "1"))
	checkError(t, err, `constant "n": division by zero`)
	_, err = New(doc, map[string]*jani.Expr{"n": ex("1")})
	checkError(t, err, `constant "r" needs a value`)
	more := given("1", "1")
	more["same"] = ex("1")
	_, err = New(doc, more)
	checkError(t, err, `constant "same" has a value in the model`)
	more = given("1", "1")
	more["x"] = ex("1")
	_, err = New(doc, more)
	checkError(t, err, `no constant "x"`)
	doc.Constants[0], doc.Constants[2] = doc.Constants[2], doc.Constants[0]
	_, err = New(doc, given("1", "1")) // only earlier constants may be used
	checkError(t, err, `no constant or variable "n" is in scope`)
}

// family has everything that a state can have: global variables of several types, a
// nested array, and two instances of one automaton around another.
func family() *jani.Document {
	p := automaton("p", "l0 l1")
	p.Variables = []jani.Variable{
		declare("k", bounded("0", "9"), ex("4")),
		declare("v", arrayOf(boolType()), list("true false")),
	}
	q := automaton("q", "m0 m1 m2")
	q.Initial = []jani.Name{{Name: "m2"}}
	q.Variables = []jani.Variable{declare("y", realType(), ex("3"))}
	return document("", "p q p", []jani.Variable{
		declare("x", intType(), ex("-5")),
		declare("a", arrayOf(arrayOf(bounded("0", "99"))), av(list("1 2"), list("3 4"))),
		declare("r", realType(), ex("-0.0")),
	}, p, q)
}

func TestNamesAndValues(t *testing.T) {
	in := mustNew(t, family())
	want := strings.Fields("x a[0][0] a[0][1] a[1][0] a[1][1] r p.location p.k p.v[0] p.v[1] " +
		"q.location q.y p#2.location p#2.k p#2.v[0] p#2.v[1]")
	if got := in.Names(); !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	values := []jani.Value{-5, 1, 2, 3, 4, jani.RealValue(0), 0, 4, 1, 0, 2, jani.RealValue(3), 0, 4, 1, 0}
	if got := in.Values(initial(t, in)); !slices.Equal(got, values) {
		t.Errorf("values %v, want %v", got, values)
	}

	other := slices.Clone(values)
	other[4], other[5], other[10], other[15] = 99, jani.RealValue(-1.5), 1, 1
	s, err := in.State(other)
	if err != nil {
		t.Fatal(err)
	}
	if got := in.Values(s); !slices.Equal(got, other) {
		t.Errorf("values of State(values) %v, want %v", got, other)
	}
	if got := in.Values(initial(t, in)); !slices.Equal(got, values) {
		t.Errorf("State changed the initial state to %v", got)
	}

	for _, test := range []struct {
		at   int
		v    jani.Value
		want string
	}{
		{4, 100, `variable "a": element 1: element 1: value 100 is above the upper bound 99`},
		{6, 2, "p.location: there is no location 2"},
		{10, -1, "q.location: there is no location -1"},
		{7, -1, `variable "p.k": value -1 is below the lower bound 0`},
		{15, 2, `variable "p#2.v": element 1`},
		{5, jani.Value(math.Float64bits(math.NaN())), `variable "r": value NaN is no real`},
		{5, jani.Value(math.Float64bits(math.Inf(-1))), `variable "r": value -Inf is no real`},
	} {
		bad := slices.Clone(values)
		bad[test.at] = test.v
		_, err := in.State(bad)
		checkError(t, err, test.want)
	}
	_, err = in.State(values[1:])
	checkError(t, err, "16 values, not 15")
}

func TestSynchronisation(t *testing.T) {
	p := automaton("p", "p0 p1",
		edge("p0", "b", "", to("p1", "0.25", "x := 2"), to("p0", "0.75")),
		edge("p0", "a", "x = 1", to("p1", "")),
		edge("p0", "a", "x >= 1", to("p0", "")),
		edge("p0", "a", "x = 0", to("p0", "")),
		edge("p1", "a", "", to("p0", "")),
		edge("p0", "", "", to("p1", "")),
		edge("p0", "alone", "", to("p1", "")),
	)
	q := automaton("q", "q0 q1",
		edge("q0", "a", "", to("q1", "")),
		edge("q0", "c", "", to("q1", "1/2"), to("q0", "1/2", "y := true"), to("q1", "0", "x := 99")),
		edge("q0", "a", "", to("q0", "", "x := x + 5")),
		edge("q0", "", "x = 1", to("q1", "", "x := 0")),
	)
	doc := document("c b a alone none", "p q", []jani.Variable{
		declare("x", bounded("0", "9"), ex("1")),
		declare("y", boolType(), ex("false")),
	}, p, q)
	sync(doc, "b c", "b")
	sync(doc, "a -", "") // silent, after the silent edges that interleave
	sync(doc, "a a", "a")
	sync(doc, "- c", "b") // another vector with the same result
	sync(doc, "none a", "c")
	checkChoices(t, doc,
		"b 0.0 1.1: 0.125 {x=2, y=false, p=p1, q=q1} 0.125 {x=2, y=true, p=p1, q=q0}"+
			" 0.375 {x=1, y=false, p=p0, q=q1} 0.375 {x=1, y=true, p=p0, q=q0}",
		"b 1.1: 0.5 {x=1, y=false, p=p0, q=q1} 0.5 {x=1, y=true, p=p0, q=q0}",
		"a 0.1 1.0: 1 {x=1, y=false, p=p1, q=q1}",
		"a 0.1 1.2: 1 {x=6, y=false, p=p1, q=q0}",
		"a 0.2 1.0: 1 {x=1, y=false, p=p0, q=q1}",
		"a 0.2 1.2: 1 {x=6, y=false, p=p0, q=q0}",
		" 0.5: 1 {x=1, y=false, p=p1, q=q0}",
		" 1.3: 1 {x=0, y=false, p=p0, q=q1}",
		" 0.1: 1 {x=1, y=false, p=p1, q=q0}",
		" 0.2: 1 {x=1, y=false, p=p0, q=q0}",
	)
}

func TestOrderOfVectors(t *testing.T) {
	doc := document("a b", "p", nil, automaton("p", "l"))
	var want []string
	for i := range 30 { // more than a sort keeps in order by chance
		doc.Automata[0].Edges = append(doc.Automata[0].Edges, edge("l", fmt.Sprint("e", i), "", to("l", "")))
		doc.Actions = append(doc.Actions, jani.Action{Name: fmt.Sprint("e", i)})
		sync(doc, fmt.Sprint("e", i), [...]string{"", "b", "a"}[i%3])
	}
	for i, label := range []string{"a", "b", ""} {
		for k := 2 - i; k < 30; k += 3 {
			want = append(want, fmt.Sprintf("%s 0.%d: 1 {p=l}", label, k))
		}
	}
	checkChoices(t, doc, want...)
}

func TestWithoutSyncs(t *testing.T) {
	p := automaton("p", "l0 l1",
		edge("l0", "", "", to("l1", "")),
		edge("l0", "b", "", to("l0", "")),
		edge("l0", "a", "", to("l1", "")),
		edge("l0", "b", "", to("l1", "")),
	)
	labelled := []string{"a 0.2: 1 {p=l1}", "b 0.1: 1 {p=l0}", "b 0.3: 1 {p=l1}", " 0.0: 1 {p=l1}"}
	doc := document("a b", "p", nil, p)
	checkChoices(t, doc, labelled...)
	doc.System.HasSyncs = true // "syncs": [] blocks every labelled edge
	checkChoices(t, doc, labelled[3])
	doc = document("a b", "p p", nil, p)
	checkChoices(t, doc, " 0.0: 1 {p=l1, p#2=l0}", " 1.0: 1 {p=l0, p#2=l1}")
}

func TestInstances(t *testing.T) {
	p := automaton("p", "l0 l1",
		edge("l0", "step", "k < 2", to("l1", "", "k := k + 1", "total := total + 1")),
		edge("l0", "", "", to("l1", "", "k := 2")),
	)
	p.Variables = []jani.Variable{declare("k", bounded("0", "2"), ex("1"))}
	doc := document("step", "p p", []jani.Variable{declare("total", intType(), ex("0"))}, p)
	sync(doc, "step step", "step")
	checkChoices(t, doc,
		// Both assign the same value to total.
		"step 0.0 1.0: 1 {total=1, p=l1, p.k=2, p#2=l1, p#2.k=2}",
		" 0.1: 1 {total=0, p=l1, p.k=2, p#2=l0, p#2.k=1}",
		" 1.1: 1 {total=0, p=l0, p.k=1, p#2=l1, p#2.k=2}",
	)
}

// silent makes a document with one silent edge and some variables.
func silent(guard string, destinations ...jani.Destination) *jani.Document {
	return document("", "p", []jani.Variable{
		declare("x", bounded("0", "9"), ex("1")),
		declare("y", intType(), ex("2")),
		declare("r", jani.TypeDecl{Kind: jani.KindReal, Lower: ex("-1.5")}, ex("0.5")),
		declare("a", arrayOf(bounded("0", "9")), list("7 8")),
	}, automaton("p", "l", edge("l", "", guard, destinations...)))
}

func TestAssignments(t *testing.T) {
	for _, test := range []struct {
		assignments []string
		want        string
	}{
		{nil, "x=1, y=2, r=0.5, a=[7, 8]"},
		{[]string{"x := y", "y := x"}, "x=2, y=1, r=0.5, a=[7, 8]"},
		{[]string{"1: r := x", "x := 5", "-1: y := x"}, "x=5, y=1, r=5, a=[7, 8]"},
		{[]string{"3: y := x", "2: x := 4", "2: y := x"}, "x=4, y=4, r=0.5, a=[7, 8]"},
		{[]string{"r := 3"}, "x=1, y=2, r=3, a=[7, 8]"},
		{[]string{"r := -0.0"}, "x=1, y=2, r=0, a=[7, 8]"},
		{[]string{"r := 0 * -1.0"}, "x=1, y=2, r=0, a=[7, 8]"},
		{[]string{"a[0] := a[1]", "a[1] := a[0]"}, "x=1, y=2, r=0.5, a=[8, 7]"},
		{[]string{"x := 0", "a[x] := 3"}, "x=0, y=2, r=0.5, a=[7, 3]"},
		{[]string{"x := 0", "1: a[x] := 3"}, "x=0, y=2, r=0.5, a=[3, 8]"},
		// Equal values at once are no conflict, different values in two groups neither.
		{[]string{"x := 3", "x := y + 1"}, "x=3, y=2, r=0.5, a=[7, 8]"},
		{[]string{"r := 3", "r := 3.0"}, "x=1, y=2, r=3, a=[7, 8]"},
		{[]string{"0: x := 3", "1: x := 4"}, "x=4, y=2, r=0.5, a=[7, 8]"},
	} {
		checkChoices(t, silent("", to("l", "", test.assignments...)), " 0.0: 1 {"+test.want+", p=l}")
	}

	whole := to("l", "", "a[0] := 1")
	whole.Assignments = append(whole.Assignments, jani.Assignment{Ref: ex("a"), Value: list("1 2")})
	checkChoices(t, silent("", whole), " 0.0: 1 {x=1, y=2, r=0.5, a=[1, 2], p=l}")

	// Groups run over all participants together: p, q, p.
	doc := document("go", "p q", []jani.Variable{declare("x", intType(), ex("1")), declare("y", intType(), ex("0"))},
		automaton("p", "l", edge("l", "go", "", to("l", "", "x := 2 * x", "2: y := x"))),
		automaton("q", "l", edge("l", "go", "", to("l", "", "1: x := x + 10", "3: x := 0"))))
	sync(doc, "go go", "go")
	checkChoices(t, doc, "go 0.0 1.0: 1 {x=0, y=12, p=l, q=l}")
}

func TestChoiceErrors(t *testing.T) {
	with := func(assignments ...string) *jani.Document { return silent("", to("l", "", assignments...)) }
	conflict := to("l", "", "a[1] := 1")
	conflict.Assignments = append(conflict.Assignments, jani.Assignment{Ref: ex("a"), Value: list("1 2")})
	long := to("l", "")
	long.Assignments = []jani.Assignment{{Ref: ex("a"), Value: list("1 2 3")}}
	constant := to("l", "")
	constant.Assignments = []jani.Assignment{{Ref: ex("1"), Value: ex("1")}}
	shared := document("go", "p q", []jani.Variable{declare("x", intType(), ex("1"))},
		automaton("p", "l", edge("l", "go", "", to("l", "", "x := 2"))),
		automaton("q", "l", edge("l", "go", "", to("l", "", "x := 3"))))
	sync(shared, "go go", "go")

	const edge0 = `automaton "p", edge 0, `
	for _, test := range []struct {
		doc  *jani.Document
		want []string
	}{
		{with("x := 10"), []string{edge0 + `assignment: variable "x": value 10 is above the upper bound 9`,
			"state: x=1, y=2, r=0.5, a=[7, 8], p.location=l"}},
		{with("x := x - y"), []string{`variable "x": value -1 is below the lower bound 0`}},
		{with("r := -2"), []string{`variable "r": value -2 is below the lower bound -1.5`}},
		{with("a[1] := 10"), []string{`variable "a": value 10 is above`}},
		{with("x := 1.0"), []string{`variable "x": value 1 is of type real, not int`}},
		{with("x := 1/0"), []string{"test:1:", edge0 + "assignment: division by zero: 1 / 0"}},
		{with("x := 1", "x := 2"), []string{`variable "x": it is assigned both 1 and 2 at once`}},
		{with("a[0] := 1", "a[x - 1] := 2"), []string{`variable "a": it is assigned both 1 and 2 at once`}},
		{with("a[2] := 1"), []string{"array index 2 is not between 0 and 1"}},
		{with("x[0] := 1"), []string{"an array is wanted"}},
		{with("z := 1"), []string{`no variable "z" is in scope`}},
		{with("z[0] := 1"), []string{`no variable "z" is in scope`}},
		{with("a[1/0] := 1"), []string{"division by zero"}},
		{silent("", conflict), []string{`variable "a": it is assigned both 1 and 2 at once`}},
		{silent("", long), []string{`variable "a": an array of length 3 is assigned to one of length 2`}},
		{silent("", constant), []string{"only variables and array elements can be assigned to"}},
		{shared, []string{`automaton "q", edge 0`, "assigned both 2 and 3"}},
		{silent("1/0 > x", to("l", "")), []string{"test:1:", edge0 + "guard: division by zero"}},
		{silent("x", to("l", "")), []string{edge0 + "guard: a bool is wanted"}},
		{silent("", to("l", "x + 0.5"), to("l", "-0.5")), []string{edge0 + "probability: 1.5 is not between 0 and 1"}},
		{silent("", to("l", "x"), to("l", "0"), to("l", "0.5 - x")), []string{"-0.5 is not between 0 and 1"}},
		{silent("", to("l", "0.5"), to("l", "0.4")), []string{edge0 + "probability: the probabilities sum to 0.9"}},
		{silent("", to("l", "0.5"), to("l", "0.5 + 2e-9")), []string{"the probabilities sum to"}},
		{silent("", to("l", "x = 1")), []string{"of type bool, not real"}},
	} {
		in := mustNew(t, test.doc)
		_, err := in.Choices(initial(t, in))
		checkError(t, err, test.want...)
	}

	// What is not enabled and what has probability 0 is not evaluated.
	never := to("l", "0", "x := 1/0")
	for _, doc := range []*jani.Document{
		silent("x = 2", to("l", "2")),
		silent("", never, to("l", "0.3"), to("l", "0.7000000001")),
	} {
		in := mustNew(t, doc)
		if _, err := in.Choices(initial(t, in)); err != nil {
			t.Error(err)
		}
	}
}

func TestInitialStates(t *testing.T) {
	p := automaton("p", "l0 l1 l2")
	p.Initial = []jani.Name{{Name: "l2"}, {Name: "l0"}, {Name: "l2"}}
	p.Variables = []jani.Variable{declare("y", bounded("0", "4"), nil), declare("z", bounded("1", "2"), nil)}
	p.Restrict = ex("y = 2 * z")
	doc := document("", "p", []jani.Variable{
		declare("b", boolType(), nil), declare("x", bounded("-1", "1"), nil), declare("fixed", intType(), ex("5")),
	}, p)
	doc.Restrict = ex("x < 0 | b & x > 0")
	in := mustNew(t, doc)
	states, err := in.InitialStates(12)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, s := range states {
		got = append(got, in.describe(s))
	}
	for _, globals := range []string{"b=false, x=-1", "b=true, x=-1", "b=true, x=1"} {
		for _, l := range []string{"l2", "l0"} {
			for _, locals := range []string{"p.y=2, p.z=1", "p.y=4, p.z=2"} {
				want = append(want, globals+", fixed=5, p.location="+l+", "+locals)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("initial states:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_, err = in.InitialStates(11)
	checkError(t, err, "more than 11 initial states")

	doc.Restrict = ex("1 / (x - x) > 0")
	_, err = mustNew(t, doc).InitialStates(12)
	checkError(t, err, "restrict-initial: division by zero", "state: b=false")
	doc.Restrict = ex("y = 0") // a local variable
	_, err = mustNew(t, doc).InitialStates(12)
	checkError(t, err, `no constant or variable "y"`)
	doc.Restrict = ex("false")
	if states, err := mustNew(t, doc).InitialStates(0); len(states) != 0 || err != nil {
		t.Errorf("%d states, error %v, want none", len(states), err)
	}

	for _, test := range []struct {
		t    jani.TypeDecl
		want string
	}{
		{intType(), `variable "x" without initial value: its type has infinitely many values`},
		{realType(), "infinitely many values"},
		{jani.TypeDecl{Kind: jani.KindReal, Lower: ex("0"), Upper: ex("0")}, "infinitely many values"},
		{jani.TypeDecl{Kind: jani.KindInt, Lower: ex("0")}, "infinitely many values"},
		{bounded("-9223372036854775807", "9223372036854775807"), "more than 1048576 values"},
		{bounded("1", "1048576"), "more than 1048576 states to be tried"},
	} {
		doc := document("", "p", []jani.Variable{declare("x", test.t, nil), declare("b", boolType(), nil)}, automaton("p", "l"))
		doc.Restrict = ex("false")
		_, err := mustNew(t, doc).InitialStates(10)
		checkError(t, err, test.want)
	}
}

func TestHolds(t *testing.T) {
	doc := family()
	doc.Constants = []jani.Constant{{Name: "c", Type: intType(), Value: ex("3")}}
	doc.Automata[1].Variables = append(doc.Automata[1].Variables, declare("x", intType(), ex("10")))
	in := mustNew(t, doc)
	s := initial(t, in)
	for _, cond := range []string{"x = -5", "q.x = 10", "y = c", "q.y = 3", "p.k = 4", "p#2.k = 4", "p.v[0] & !p#2.v[1]", "a[1][0] = 3"} {
		if ok, err := in.Holds(ex(cond), s); !ok || err != nil {
			t.Errorf("%s: %v, %v, want true", cond, ok, err)
		}
		if ok, err := in.Holds(ex("!("+cond+")"), s); ok || err != nil {
			t.Errorf("not %s: %v, %v, want false", cond, ok, err)
		}
	}
	_, err := in.Holds(ex("k = 4"), s) // two instances have it
	checkError(t, err, `test:1:1: condition: no constant or variable "k"`, "state: x=-5")
	_, err = in.Holds(ex("k.p = 4"), s)
	checkError(t, err, `no constant or variable "k.p"`)
	_, err = in.Holds(ex("x"), s)
	checkError(t, err, "a bool is wanted")
}

func TestHoldsCondition(t *testing.T) {
	in := mustNew(t, family())
	s := initial(t, in)
	where := func(automaton string, index int, location string) []jani.LocationValue {
		return []jani.LocationValue{{Automaton: automaton, Index: index, Location: location}}
	}
	moved, err := in.State([]jani.Value{-5, 1, 2, 3, 4, 0, 0, 4, 1, 0, 2, jani.RealValue(3), 1, 6, 1, 0})
	if err != nil {
		t.Fatal(err)
	}
	is := func(name, automaton string, index int, v string) jani.VariableValue {
		return jani.VariableValue{Name: name, Automaton: automaton, Index: index, Value: ex(v)}
	}
	a := is("a", "", -1, "0")
	a.Value = av(list("1 2"), list("3 4"))
	listed := func(locations []jani.LocationValue, values ...jani.VariableValue) jani.Condition {
		// The first listed state is a different one.
		return jani.Condition{Listed: true, States: []jani.StateValues{
			{Variables: []jani.VariableValue{is("x", "", -1, "9")}}, {Locations: locations, Variables: values},
		}}
	}
	for i, test := range []struct {
		c                  jani.Condition
		inInitial, inMoved bool
		wrong              string
	}{
		{c: jani.Condition{}, inInitial: true, inMoved: true},
		{c: jani.Condition{Exp: ex("p#2.k > 4")}, inMoved: true},
		{c: jani.Condition{Locations: where("q", -1, "m2")}, inInitial: true, inMoved: true},
		{c: jani.Condition{Locations: where("q", -1, "m0")}},
		{c: jani.Condition{Locations: where("p", 2, "l1")}, inMoved: true},
		{c: jani.Condition{Locations: where("p", 0, "l0"), Exp: ex("p#2.k = 4")}, inInitial: true},
		{c: jani.Condition{Locations: where("p", -1, "l0")}, wrong: `automaton "p" is in the composition at [0 2]`},
		{c: jani.Condition{Locations: where("p", 1, "l0")}, wrong: "not at index 1"},
		{c: jani.Condition{Locations: where("z", -1, "l0")}, wrong: `no automaton "z"`},
		{c: jani.Condition{Locations: where("q", -1, "l0")}, wrong: `automaton "q" has no location "l0"`},

		{c: jani.Condition{Listed: true}},
		{c: listed(nil), inInitial: true},
		{c: listed(nil, is("x", "", -1, "-5"), is("a[1][0]", "", -1, "3"), is("y", "", -1, "3")), inInitial: true},
		{c: listed(nil, a, is("y", "q", -1, "3.0")), inInitial: true},
		{c: listed(nil, is("a[1][0]", "", -1, "4"))},
		{c: listed(nil, is("k", "p", 2, "6"))},
		{c: listed(where("p", 2, "l1"), is("k", "p", 2, "6")), inMoved: true},
		{c: listed(where("p", 2, "l1"), is("p#2.k", "", -1, "6")), inMoved: true},
		{c: listed(where("p", 2, "l1"), is("k", "p", 0, "6"))},
		{c: listed(where("q", 1, "m2")), inInitial: true},
		{c: listed(nil, is("k", "p", -1, "6")), wrong: "not at index -1"},
		{c: listed(nil, is("k", "", -1, "6")), wrong: `no variable "k"`},
		{c: listed(nil, is("x", "q", -1, "6")), wrong: `no variable "x"`},
		{c: listed(nil, is("a[2]", "", -1, "6")), wrong: "array index 2"},
		{c: listed(nil, is("a[i]", "", -1, "6")), wrong: `no variable "a[i]"`},
		{c: listed(where("q", -1, "m2"), is("p", "z", -1, "6")), wrong: `no automaton "z"`},
		{c: listed(nil, is("a[0][0]", "", -1, "100")), wrong: "above the upper bound 99"},
		{c: listed(nil, is("x", "", -1, "1"), is("x", "", -1, "2")), wrong: "both 1 and 2"},
		{c: listed(nil, is("x", "", -1, "y")), wrong: `no constant or variable "y"`},
	} {
		for _, given := range []struct {
			s    State
			want bool
		}{{s, test.inInitial}, {moved, test.inMoved}} {
			got, err := in.HoldsCondition(&test.c, given.s)
			switch {
			case test.wrong != "":
				checkError(t, err, test.wrong)
			case got != given.want || err != nil:
				t.Errorf("condition %d in {%s}: %v, error %v, want %v", i, in.describe(given.s), got, err, given.want)
			}
		}
	}

	// Without an initial value every value is an initial one; so for locations.
	p := automaton("p", "l0 l1 l2")
	p.Initial = []jani.Name{{Name: "l0"}, {Name: "l1"}}
	in = mustNew(t, document("", "p", []jani.Variable{
		declare("x", bounded("0", "9"), nil), declare("y", bounded("0", "9"), ex("0")),
	}, p))
	for _, test := range []struct {
		values []jani.Value
		c      jani.Condition
		want   bool
	}{
		{[]jani.Value{5, 0, 1}, listed(nil), true},
		{[]jani.Value{5, 0, 2}, listed(nil), false},
		{[]jani.Value{5, 1, 1}, listed(nil), false},
		{[]jani.Value{5, 0, 2}, listed(where("p", 0, "l2")), true},
		{[]jani.Value{5, 0, 1}, listed(nil, is("x", "", -1, "5")), true},
		{[]jani.Value{5, 0, 1}, listed(nil, is("x", "", -1, "0")), false},
	} {
		s, err := in.State(test.values)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := in.HoldsCondition(&test.c, s); got != test.want || err != nil {
			t.Errorf("%v: %v, error %v, want %v", test.values, got, err, test.want)
		}
	}
}

func TestNewRejects(t *testing.T) {
	for _, test := range []struct {
		want   string
		damage func(doc *jani.Document)
	}{
		{"a rate in a model of type mdp", func(d *jani.Document) {
			d.Automata[0].Edges = []jani.Edge{rated("1", edge("l0", "", "", to("l0", "")))}
		}},
		{`gives a value to "x", which is no transient variable`, func(d *jani.Document) {
			d.Automata[0].Locations[0].Transient = to("l0", "", "x := 1").Assignments
		}},
		{`no action "go"`, func(d *jani.Document) { d.System.Elements[0].InputEnable = []jani.Name{{Name: "go"}} }},
		{`function "f" is declared twice`, func(d *jani.Document) {
			d.Functions = []jani.Function{function1("f", "1"), function1("f", "2")}
		}},
		{`parameter "a" is declared twice`, func(d *jani.Document) { d.Functions = []jani.Function{function1("f", "1", "a", "a")} }},
		{"is recursive", func(d *jani.Document) {
			f, g := function1("f", ""), function1("g", "")
			f.Body, g.Body = add(literal(1), call("g")), call("f")
			d.Functions = []jani.Function{f, g}
		}},
		{`variable "p.k": value 10 is above the upper bound 9`, func(d *jani.Document) { d.Automata[0].Variables[0].Initial = ex("10") }},
		{`variable "a": an array needs an initial value`, func(d *jani.Document) { d.Variables[1].Initial = nil }},
		{`no constant or variable "x"`, func(d *jani.Document) { d.Variables[2].Initial = ex("x") }},
		{`variable "x": no constant or variable "z"`, func(d *jani.Document) { d.Variables[0].Type = bounded("0", "z") }},
		{`"x" is declared twice`, func(d *jani.Document) { d.Variables[2].Name = "x" }},
		{`"k" is declared twice`, func(d *jani.Document) { d.Automata[0].Variables[1].Name = "k" }},
		{`location "m1" is declared twice`, func(d *jani.Document) { d.Automata[1].Locations[0].Name = "m1" }},
		{`no automaton "z"`, func(d *jani.Document) { d.System.Elements[1].Automaton.Name = "z" }},
		{`automaton "q" has no location "m9"`, func(d *jani.Document) { d.Automata[1].Initial[0].Name = "m9" }},
		{`automaton "q" has no initial location`, func(d *jani.Document) { d.Automata[1].Initial = nil }},
		{`automaton "p" has no location "m0"`, func(d *jani.Document) { d.Automata[0].Edges = []jani.Edge{edge("m0", "", "")} }},
		{`automaton "p" has no location "m0"`, func(d *jani.Document) { d.Automata[0].Edges = []jani.Edge{edge("l0", "", "", to("m0", ""))} }},
		{`no action "go"`, func(d *jani.Document) { d.Automata[0].Edges = []jani.Edge{edge("l0", "go", "", to("l0", ""))} }},
		{`no action "go"`, func(d *jani.Document) { sync(d, "go - -", "") }},
		{`no action "go"`, func(d *jani.Document) { sync(d, "a - -", "go") }},
		{"vector of 2 entries for 3 automata", func(d *jani.Document) { sync(d, "a -", "") }},
		{`action "a" is declared twice`, func(d *jani.Document) { d.Actions = append(d.Actions, d.Actions[0]) }},
		{"vector without participants", func(d *jani.Document) { sync(d, "- - -", "a") }},
	} {
		doc := family()
		doc.Actions = []jani.Action{{Name: "a"}}
		mustNew(t, doc)
		test.damage(doc)
		_, err := New(doc, nil)
		checkError(t, err, test.want)
	}
}

// source reads a file of the published data; the test is skipped where it is absent.
func source(t testing.TB, path string) *jani.Source {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../shared/data", path))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no data: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &jani.Source{Name: path, Text: strings.TrimPrefix(string(text), "\ufeff"), JSON: true}
}

func open(t testing.TB, path string, constants map[string]string) *Interp {
	t.Helper()
	doc, err := jani.Parse(source(t, path), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]*jani.Expr{}
	for name, text := range constants {
		given[name] = ex(text)
	}
	in, err := New(doc, given)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// planningModel opens a planning model with its unsafe condition.
func planningModel(t testing.TB, name string) (*Interp, *jani.Condition) {
	t.Helper()
	var constants map[string]string
	if name == "blocksworld_4_3" {
		constants = map[string]string{"failing_probability": "0.5", "item_cost_bound": "10"}
	}
	in := open(t, "planning/"+name+"/model.jani", constants)
	properties, err := jani.ParseProperties(source(t, "planning/"+name+"/property.jani"), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	plan, _, err := properties[0].Planning(nil, jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return in, plan.Unsafe
}

// walk finds at most limit states breadth first and counts the choices and outcomes
// of all but those that satisfy the unsafe condition, which may be nil.
func walk(t testing.TB, in *Interp, unsafe *jani.Condition, limit int) (states []State, choices, outcomes int) {
	t.Helper()
	states, err := in.InitialStates(limit)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	isNew := func(s State) bool {
		key := fmt.Sprint(in.Values(s))
		defer func() { known[key] = true }()
		return !known[key]
	}
	for _, s := range states {
		isNew(s)
	}
	for i := 0; i < len(states); i++ {
		if unsafe != nil {
			if stop, err := in.HoldsCondition(unsafe, states[i]); err != nil {
				t.Fatal(err)
			} else if stop {
				continue
			}
		}
		next, err := in.Choices(states[i])
		if err != nil {
			t.Fatal(err)
		}
		choices += len(next)
		for _, c := range next {
			outcomes += len(c.Outcomes)
			for _, o := range c.Outcomes {
				if len(states) < limit && isNew(o.State) {
					states = append(states, o.State)
				}
			}
		}
	}
	return states, choices, outcomes
}

func TestPlanningModels(t *testing.T) {
	for _, model := range []string{
		"blocksworld_4_3", "blocksworld_6_5", "bouncing_ball", "inverted_pendulum", "linetrack",
		"mod_linetrack_icy_park", "one_way_line_15_10", "one_way_line_15_10_nondet",
	} {
		t.Run(model, func(t *testing.T) {
			// Behind unsafe states the pendulum leaves the bounds of its variables.
			in, unsafe := planningModel(t, model)
			states, choices, outcomes := walk(t, in, unsafe, 2000)
			t.Logf("%d states, %d choices, %d outcomes", len(states), choices, outcomes)
			if len(states) < 100 || outcomes < choices || choices < len(states)/2 {
				t.Errorf("%d states, %d choices, %d outcomes", len(states), choices, outcomes)
			}
			for _, s := range states {
				values := in.Values(s)
				back, err := in.State(values)
				if err != nil || !slices.Equal(in.Values(back), values) {
					t.Fatalf("values %v come back as %v, error %v", values, in.Values(back), err)
				}
			}
		})
	}
}

// The numbers of states were published by model checkers; choices and branches were
// counted by another enumerator, for some models (otherwise 0).
func TestPublishedCounts(t *testing.T) {
	for _, test := range []struct {
		file                      string
		constants                 map[string]string
		states, choices, branches int
	}{
		{"brp.jani", map[string]string{"N": "16", "MAX": "2"}, 677, 642, 832},
		{"zeroconf.jani", map[string]string{"N": "20", "K": "2", "reset": "true"}, 670, 827, 997},
		{"ij.10.jani", nil, 1023, 5120, 10240},
		{"pnueli-zuck.3.jani", nil, 2701, 9345, 9981},
		// Here a choice is a race, in all states that are no deadlocks.
		{"philosophers.4.jani", map[string]string{"TIME_BOUND": "1"}, 34, 33, 88},
		{"polling.6.jani", map[string]string{"T": "16"}, 576, 576, 2208},
		{"erlang.jani", map[string]string{"K": "10", "R": "10", "TIME_BOUND": "5"}, 67, 0, 0},
		{"bitcoin-attack.jani", map[string]string{"MALICIOUS": "20", "CD": "6"}, 189, 0, 0},
	} {
		t.Run(test.file, func(t *testing.T) {
			in := open(t, "qvbs/"+test.file, test.constants)
			states, choices, branches := walk(t, in, nil, 10_000)
			if test.choices == 0 {
				choices, branches = 0, 0
			}
			if len(states) != test.states || choices != test.choices || branches != test.branches {
				t.Errorf("%d states, %d choices, %d branches, want %d, %d, %d",
					len(states), choices, branches, test.states, test.choices, test.branches)
			}
		})
	}
}

func TestPublishedCountsWithoutMaximalProgress(t *testing.T) {
	for file, test := range map[string]struct {
		constants map[string]string
		states    int
	}{
		"bitcoin-attack.jani":     {map[string]string{"MALICIOUS": "20", "CD": "6"}, 252},
		"cabinets.2-1-false.jani": {nil, 28324},
	} {
		in := open(t, "qvbs/"+file, test.constants).WithoutMaximalProgress()
		if states, _, _ := walk(t, in, nil, 30_000); len(states) != test.states {
			t.Errorf("%s: %d states, want %d", file, len(states), test.states)
		}
	}
}

func BenchmarkChoices(b *testing.B) {
	for _, model := range []string{"blocksworld_4_3", "one_way_line_15_10_nondet", "inverted_pendulum"} {
		b.Run(model, func(b *testing.B) {
			in, unsafe := planningModel(b, model)
			states, _, _ := walk(b, in, unsafe, 1000)
			states = slices.DeleteFunc(states, func(s State) bool {
				stop, err := in.HoldsCondition(unsafe, s)
				return stop || err != nil
			})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := in.Choices(states[i%len(states)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
