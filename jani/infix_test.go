package jani

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// tree prints an expression with its structure: (op args…).
func tree(e *Expr) string {
	switch e.Op {
	case OpConst:
		switch e.Kind {
		case KindBool:
			return strconv.FormatBool(e.Int != 0)
		case KindReal:
			return strconv.FormatFloat(e.Real, 'g', -1, 64) + "r"
		}
		return strconv.FormatInt(e.Int, 10)
	case OpName:
		return e.Name
	}
	s := "(" + e.Op.String()
	for _, a := range e.Args {
		s += " " + tree(a)
	}
	return s + ")"
}

func TestParseInfix(t *testing.T) {
	names := []string{"hand-empty", "hand", "a-b", "a-b-c", "x", "x-", "ä", "truck_0.pos", "any thing"}
	for _, c := range []struct{ text, want string }{
		// precedence and associativity
		{"a => b => c", "(⇒ a (⇒ b c))"},
		{"a | b => c & d", "(⇒ (∨ a b) (∧ c d))"},
		{"a | b | c", "(∨ (∨ a b) c)"},
		{"a | b & c | d", "(∨ (∨ a (∧ b c)) d)"},
		{"a & b & c", "(∧ (∧ a b) c)"},
		{"!a & b", "(∧ (¬ a) b)"},
		{"!!a", "(¬ (¬ a))"},
		{"!a = b", "(¬ (= a b))"},
		{"a & !b | c", "(∨ (∧ a (¬ b)) c)"},
		{"a = b & c < d", "(∧ (= a b) (< c d))"},
		{"a + b = c - d", "(= (+ a b) (- c d))"},
		{"a - b - c + d", "(+ (- (- a b) c) d)"},
		{"a + b * c - d / e % f", "(- (+ a (* b c)) (% (/ d e) f))"},
		{"a * b / c * d", "(* (/ (* a b) c) d)"},
		{"-a * b", "(* (- a) b)"},
		{"a * -b", "(* a (- b))"},
		{"a - -b", "(- a (- b))"},
		{"--a", "(- (- a))"},
		{"(a | b) & c", "(∧ (∨ a b) c)"},
		{"a * (b + c)", "(* a (+ b c))"},
		{"(a => b) => c", "(⇒ (⇒ a b) c)"},
		{"a = (b & c)", "(= a (∧ b c))"},
		{"((a))", "a"},

		// spellings
		{"a ⇒ b", "(⇒ a b)"}, {"a -> b", "(⇒ a b)"},
		{"a ∨ b", "(∨ a b)"}, {"a || b", "(∨ a b)"}, {"a or b", "(∨ a b)"},
		{"a ∧ b", "(∧ a b)"}, {"a && b", "(∧ a b)"}, {"a and b", "(∧ a b)"},
		{"¬a", "(¬ a)"}, {"not a", "(¬ a)"},
		{"a == b", "(= a b)"}, {"a ≠ b", "(≠ a b)"}, {"a != b", "(≠ a b)"},
		{"a <= b", "(≤ a b)"}, {"a ≤ b", "(≤ a b)"}, {"a >= b", "(≥ a b)"}, {"a ≥ b", "(≥ a b)"},
		{"a > b", "(> a b)"}, {"a<b", "(< a b)"},
		{"a&b|!c", "(∨ (∧ a b) (¬ c))"},
		{" \t\r\na ", "a"},
		{"ornot and orange", "(∧ ornot orange)"},

		// numbers and constants
		{"0", "0"}, {"-5", "-5"}, {"- 5", "-5"}, {"2-5", "(- 2 5)"}, {"x -5", "(- x 5)"},
		{"-9223372036854775808", "-9223372036854775808"}, {"9223372036854775807", "9223372036854775807"},
		{"1.5", "1.5r"}, {".5", "0.5r"}, {"1e3", "1000r"}, {"2E-1", "0.2r"}, {"-1.5e+2", "-150r"}, {"1e3+1", "(+ 1000r 1)"},
		{"true & false", "(∧ true false)"}, {"true_", "true_"},

		// functions and elements
		{"min(a, b) + max(1,2)", "(+ (min a b) (max 1 2))"},
		{"pow(a,2)", "(pow a 2)"}, {"log(a, 2)", "(log a 2)"},
		{"abs(-a)", "(abs (- a))"}, {"sgn(a)", "(sgn a)"}, {"trc(a)", "(trc a)"}, {"floor(a)", "(floor a)"}, {"ceil (a)", "(ceil a)"},
		{"ite(a & b, 1, a = b)", "(ite (∧ a b) 1 (= a b))"},
		{"min", "min"}, {"min + 1", "(+ min 1)"},
		{"a[0]", "(aa a 0)"}, {"a[i + 1][j]", "(aa (aa a (+ i 1)) j)"}, {"a[b[c]] = 1", "(= (aa a (aa b c)) 1)"},
		{"-a[0]", "(- (aa a 0))"},

		// names
		{"hand-empty = 1", "(= hand-empty 1)"},
		{"hand-full", "(- hand full)"},
		{"hand -empty", "(- hand empty)"},
		{"a-b-c", "a-b-c"}, {"a-b-d", "(- a-b d)"}, {"a-c", "(- a c)"}, {"a-b-cc", "(- a-b cc)"}, {"a-bb", "(- a bb)"},
		{"x-", "x-"}, {"x-1", "(- x 1)"},
		{"ä + Ω1", "(+ ä Ω1)"},
		{"truck_0.pos", "truck_0.pos"}, {"p#2.x", "p#2.x"}, {"_a", "_a"},
		{`"any thing" = 1`, "(= any thing 1)"}, {`1 + any`, "(+ 1 any)"}, {"`or`[1]", "(aa or 1)"}, {`"true"`, "true"}, {`"a-z" - 1`, "(- a-z 1)"}, {`""`, ""},
	} {
		e, err := ParseInfix("condition", c.text, names, Limits{})
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if got := tree(e); got != c.want {
			t.Errorf("%q is read as %s, want %s", c.text, got, c.want)
		}
	}
}

func TestParseInfixErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "1:1: found the end where a value is expected"},
		{"a +", "1:4: found the end where a value is expected"},
		{"any thing", "1:5: found “thing” where the expression should end"},
		{"a b", "1:3: found “b” where the expression should end"},
		{"12a", "1:3: found “a” where the expression should end"},
		{"(a", "1:3: found the end where “)” is expected"},
		{"a)", "1:2: found “)” where the expression should end"},
		{"a[1", "1:4: found the end where “]” is expected"},
		{"a[1 = 2]", "1:5: found “=” where “]” is expected"},
		{"a[]", "1:3: found “]” where a value is expected"},
		{"a < b < c", "1:7: found “<” where the expression should end"},
		{"a = !b", "1:5: found “!” where a value is expected"},
		{"a & & b", "1:5: found “&” where a value is expected"},
		{"ä ∧ ∧ b", "1:5: found “∧” where a value is expected"},
		{"a &\n  ) b", "2:3: found “)” where a value is expected"},
		{"a ? b", "1:3: found “?” where the expression should end"},
		{"a = 'x'", "1:5: found “'” where a value is expected"},
		{"5[0]", "1:2: found “[” where the expression should end"},
		{"foo(a)", "1:1: unknown function “foo”"},
		{"1 + Ω  (a)", "1:5: unknown function “Ω”"},
		{"a & sinus(x)", "1:5: unknown function “sinus”"},
		{"or(a,b)", "1:1: unknown function “or”"},
		{"min(a)", "1:6: found “)” where “,” is expected"},
		{"min(a,b,c)", "1:8: found “,” where “)” is expected"},
		{"abs()", "1:5: found “)” where a value is expected"},
		{"ite(a,b)", "1:8: found “)” where “,” is expected"},
		{`a = "b`, "1:5: a quoted name is not closed"},
		{"`b\"", "1:1: a quoted name is not closed"},
		{"9223372036854775808", "1:1: the integer 9223372036854775808 does not fit into 64 bits"},
		{"1 + -9223372036854775809", "1:6: the integer -9223372036854775809 does not fit into 64 bits"},
		{"1e999", "1:1: the number 1e999 is out of the range of a double"},
		{"1.2.3", "1:1: “1.2.3” is not a number"},
		{"2e", "1:1: “2e” is not a number"},
		{".", "1:1: “.” is not a number"},
		{"1e-+5", "1:1: “1e-” is not a number"},
		{"\x80", "1:1: found “\x80” where a value is expected"},
	} {
		e, err := ParseInfix("condition", c.text, []string{"any thing"}, Limits{})
		if err == nil {
			t.Errorf("%q is read as %s", c.text, tree(e))
		} else if got := strings.TrimPrefix(err.Error(), "condition:"); got != c.want {
			t.Errorf("%q:\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

// Each kind of nesting is bounded; long chains without nesting are not nesting.
func TestParseInfixDepth(t *testing.T) {
	for _, c := range []struct{ before, after string }{
		{"(", ")"}, {"!", ""}, {"- ", ""}, {"abs(", ")"}, {"a[", "]"}, {"min(1,", ")"}, {"a => ", ""}, {"not ", ""}, {"-(", ")"},
	} {
		nested := func(n int) string { return strings.Repeat(c.before, n) + "a" + strings.Repeat(c.after, n) }
		if _, err := ParseInfix("e", nested(400), nil, Limits{}); err != nil {
			t.Errorf("400 times %q: %v", c.before, err)
		}
		for _, n := range []int{1001, 100_000} {
			if _, err := ParseInfix("e", nested(n), nil, Limits{}); err == nil || !strings.Contains(err.Error(), "the expression nests too deep") {
				t.Errorf("%d times %q: error %v", n, c.before, err)
			}
		}
		if _, err := ParseInfix("e", nested(5), nil, Limits{MaxDepth: 4}); err == nil {
			t.Errorf("5 times %q are accepted where 4 are allowed", c.before)
		}
	}
	long := "a" + strings.Repeat(" + (b - 1)", 5000)
	if _, err := ParseInfix("e", long, nil, Limits{MaxDepth: 3}); err != nil {
		t.Errorf("5000 summands: %v", err)
	}
}

// The place of a node is that of its operator, or of the literal or name.
func TestParseInfixPlaces(t *testing.T) {
	e, err := ParseInfix("e", "ä + min(b, !\n c[1])", nil, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var walk func(e *Expr)
	walk = func(e *Expr) {
		line, col := e.Pos.LineCol()
		got = append(got, fmt.Sprintf("%s %d:%d", strings.Fields(strings.Trim(tree(e), "()"))[0], line, col))
		if e.Pos.Path() != "" {
			t.Errorf("%s has a path", tree(e))
		}
		for _, a := range e.Args {
			walk(a)
		}
	}
	walk(e)
	const want = "+ 1:3,ä 1:1,min 1:5,b 1:9,¬ 1:12,aa 2:3,c 2:2,1 2:4"
	if s := strings.Join(got, ","); s != want {
		t.Errorf("places %s, want %s", s, want)
	}
}

// Many names and hyphens take no longer than they should.
func TestParseInfixLongNames(t *testing.T) {
	text := strings.Repeat("a-", 200_000) + "a"
	if _, err := ParseInfix("e", text, []string{"a-b", "hand-empty"}, Limits{}); err != nil {
		t.Error(err)
	}
}
