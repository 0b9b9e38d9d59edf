package jani

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// checkError checks that an error has a place in the text and can be printed.
func checkError(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%T %v is not an *Error", err, err)
	}
	if e.Pos.Src != nil && (e.Pos.Off < 0 || int(e.Pos.Off) > len(e.Pos.Src.Text)) {
		t.Fatalf("error %v at %d of %d", err, e.Pos.Off, len(e.Pos.Src.Text))
	}
	if e.Error() == "" {
		t.Fatal("an error without text")
	}
}

// damage replaces some values of a JSON text by others out of it or out of a list of
// troublemakers, and drops or repeats members and elements. The result is JSON.
func damage(rng *rand.Rand, text string) string {
	troublemakers := []string{"null", "true", "0", "-1", "1.5", "9223372036854775807", "1e300", `""`, `"x"`, `"N"`, `"arr"`, "[]", "{}", "[[]]", `"bool"`, `"a"`,
		`{"op":"aa","exp":"arr","index":0}`, `{"op":"ac","var":"i","length":2,"exp":"i"}`, `{"op":"av","elements":["arr","arr"]}`,
		`{"op":"/","left":1,"right":0}`, `{"kind":"array","base":"int"}`, `{"kind":"bounded","base":"real","lower-bound":0}`, `{"exp":"x"}`, `["go"]`}
	for range 1 + rng.IntN(3) {
		var values []gjson.Result
		var walk func(v gjson.Result)
		walk = func(v gjson.Result) {
			values = append(values, v)
			if v.IsObject() || v.IsArray() {
				v.ForEach(func(_, m gjson.Result) bool {
					walk(m)
					return true
				})
			}
		}
		walk(gjson.Parse(text))
		v := values[rng.IntN(len(values))]
		by := troublemakers[rng.IntN(len(troublemakers))]
		for range rng.IntN(20) { // mostly a value of the same type
			if other := values[rng.IntN(len(values))]; other.Type == v.Type && other.IsArray() == v.IsArray() {
				by = other.Raw
				break
			}
		}
		switch {
		case rng.IntN(4) == 0 && v.IsArray() && len(v.Array()) > 0: // one element more
			by = v.Raw[:len(v.Raw)-1] + "," + by + "]"
		case rng.IntN(4) == 0 && v.IsObject() && len(v.Map()) > 1: // one member less
			var members []string
			drop := rng.IntN(len(v.Map()))
			v.ForEach(func(k, m gjson.Result) bool {
				members = append(members, k.Raw+":"+m.Raw)
				return true
			})
			by = "{" + strings.Join(append(members[:drop], members[drop+1:]...), ",") + "}"
		}
		text = text[:v.Index] + by + text[v.Index+len(v.Raw):]
	}
	return text
}

// Models and properties in which values are exchanged are read or refused; none makes
// the reader fall over.
func TestDamagedModels(t *testing.T) {
	const seed = 1
	read := 0
	for i := range uint64(10_000) {
		rng := rand.New(rand.NewPCG(seed, i))
		text := damage(rng, []string{base, family}[rng.IntN(2)])
		func() {
			ok := false
			defer func() {
				if !ok { // also if it panics
					t.Logf("seed %d, model %d: %s", seed, i, text)
				}
			}()
			if readModel(t, text) {
				read++
			}
			ok = true
		}()
	}
	if read < 500 || read > 5_000 {
		t.Errorf("%d of 10,000 models are accepted", read)
	}
}

// FuzzParse reads and compiles a model, and reads its properties. A seed other than 0
// exchanges values of the text before.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		base,
		family,
		swap(f, `"properties": []`, `"properties": [{"name": "p", "expression": {"op": "PA", "start": {"op": "states-values", "values":
		[{"variables": [{"var": "x", "value": 1}]}]}, "reach": {"op": "state-condition", "exp": {"op": "≥", "left": "x", "right": 2}}, "objective": {"op": "objective", "goal": "done"}}}]`),
		swap(f, `{"op": "<", "left": "x", "right": "N"}`, `{"op": "=", "left": {"op": "aa", "exp": "arr", "index": {"op": "floor", "exp": "r"}}, "right": {"op": "ite", "if": "done", "then": 1, "else": {"op": "%", "left": 1, "right": 0}}}`),
		swap(f, `{"op": "av", "elements": [1, 2, 3]}`, `{"op": "ac", "var": "i", "length": 3, "exp": {"op": "aa", "exp": {"op": "ac", "var": "j", "length": 3, "exp": {"op": "*", "left": "i", "right": "j"}}, "index": "i"}}`),
		swap(f, `"lower-bound": 0, "upper-bound": "N"`, `"lower-bound": -9223372036854775808, "upper-bound": {"op": "-", "left": 9223372036854775807, "right": "N"}`),
	} {
		f.Add(text, uint64(0))
		f.Add(text, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) > 1<<14 {
			return
		}
		if seed != 0 && CheckJSON(&Source{Text: text}, Limits{MaxDepth: 60}) == nil {
			text = damage(rand.New(rand.NewPCG(seed, 0)), text)
		}
		readModel(t, text)
	})
}

// readModel reads and compiles a model and its properties, and checks what can be checked
// of any model. It reports whether the model is accepted.
func readModel(t *testing.T, text string) bool {
	t.Helper()
	doc, err := Parse(NewSource("m.jani", []byte(text)), Limits{MaxDepth: 60, MaxBytes: 1 << 16})
	if err != nil {
		checkError(t, err)
		return false
	}
	m, err := Compile(doc, nil)
	if err != nil {
		checkError(t, err)
		return false
	}
	for _, w := range m.Warnings {
		if w.String() == "" {
			t.Fatal("a warning without text")
		}
	}
	for _, s := range m.Initial.States {
		for i, v := range s {
			x := &m.Vars[i]
			if x.Kind == VarReal && !(x.Float(v) >= x.RealLower && x.Float(v) <= x.RealUpper) || x.Kind != VarReal && (int64(v) < x.Lower || int64(v) > x.Upper) {
				t.Fatalf("initially %s = %s", x.Name, x.Format(v))
			}
		}
		if m.Describe(s) == "" && m.Vars[0].Kind != VarLocation {
			t.Fatal("an initial state without text")
		}
		var v Const
		for _, part := range m.Parts {
			for _, e := range part.Edges {
				if e.Guard == nil {
					continue
				}
				if v, err = e.Guard.Eval(s); err != nil {
					checkError(t, err)
				} else if v.Kind != KindBool {
					t.Fatalf("a guard of kind %v", v.Kind)
				}
			}
		}
	}
	for _, p := range doc.Properties {
		plan, _, err := p.Planning(files{}.open, Limits{})
		if err != nil {
			checkError(t, err)
			continue
		}
		if _, err := m.Task(p.Name, plan); err != nil {
			checkError(t, err)
		}
	}
	return true
}

// infixText writes an expression with all parentheses.
func infixText(e *Expr) string {
	switch e.Op {
	case OpConst:
		s := strings.TrimSuffix(tree(e), "r")
		if e.Kind == KindReal && !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	case OpName:
		if strings.Contains(e.Name, `"`) {
			return "`" + e.Name + "`"
		}
		return `"` + e.Name + `"`
	case OpAccess:
		return infixText(e.Args[0]) + "[" + infixText(e.Args[1]) + "]"
	case OpNot, OpNeg:
		return "(" + e.Op.String() + " (" + infixText(e.Args[0]) + "))"
	}
	var args []string
	for _, a := range e.Args {
		args = append(args, infixText(a))
	}
	if strings.Trim(e.Op.String(), "abcdefghijklmnopqrstuvwxyz") != "" {
		return "(" + strings.Join(args, " "+e.Op.String()+" ") + ")"
	}
	return e.Op.String() + "(" + strings.Join(args, ", ") + ")"
}

// FuzzInfix reads an expression; what is accepted can be written and read again.
func FuzzInfix(f *testing.F) {
	for _, text := range []string{
		"x <= 3 & (y = 2 | !done) & load[2] + 1 < max(cap, 4)", "hand-empty - -1.5e3 => a[b[1]][2] % 2 != 0 -> true", "ite(a && b, min(1, .5), pow(x, 2)) ≥ log(8, 2)",
		"¬(a ∧ b ∨ c) ⇒ not `a \"b\"` or \"`\"", "-9223372036854775808 < - 9223372036854775807 * -1", "- (5)", "((((", "abs(floor(ceil(trc(sgn(-x)))))",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseInfix("e", text, []string{"hand-empty", "a-b", "x"}, Limits{MaxDepth: 100})
		if err != nil {
			checkError(t, err)
			return
		}
		again := infixText(e)
		back, err := ParseInfix("again", again, nil, Limits{MaxDepth: 1_000_000})
		if err != nil {
			t.Fatalf("%q is written as %q: %v", text, again, err)
		}
		if tree(back) != tree(e) {
			t.Fatalf("%q is %s; written as %q it is %s", text, tree(e), again, tree(back))
		}
	})
}

// FuzzStates reads files of states, paths, properties and conditions.
func FuzzStates(f *testing.F) {
	for _, text := range []string{
		`{"variables":["h","p.location"],"states":[{"state":[1,"l0"],"safe":true},[2,1]]}`,
		`{"states":[{"h":0},{"h":1,"p#2.x":2.5}],"actions":["a"]}`,
		`{"op":"states-values","values":[{"variables":[{"var":{"op":"aa","exp":"m","index":1},"value":true}],"locations":[{"automaton":"p","index":0,"location":"l0"}]}]}`,
		`{"properties":[{"name":"n","expression":{"op":"PA","start":{"file":"s"},"reach":{"op":"<","left":"g","right":{"op":"aa","exp":"m","index":"h"}}}}]}`,
	} {
		f.Add(text)
	}
	m := mustBuild(f, family)
	f.Fuzz(func(t *testing.T, text string) {
		others := files{"s": text}
		src := NewSource("s", []byte(text))
		limits := Limits{MaxDepth: 60, MaxBytes: 1 << 16}
		if states, err := m.ReadStates(src, others.open, limits); err != nil {
			checkError(t, err)
		} else {
			for _, s := range states {
				m.Describe(s.Values)
			}
		}
		if steps, err := m.ReadPath(src, limits); err != nil {
			checkError(t, err)
		} else {
			m.AppendJSON(nil, steps[0].State)
		}
		list, err := ParseProperties(src, limits)
		if err != nil {
			checkError(t, err)
		}
		for _, p := range list {
			plan, _, err := p.Planning(others.open, limits)
			if err != nil {
				checkError(t, err)
				continue
			}
			if _, err := m.Task(p.Name, plan); err != nil {
				checkError(t, err)
			}
		}
	})
}
