package certificate_test

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
	"fuzzsafe/jani"
	"fuzzsafe/jani/certificate"
)

// small is a model with the variable x and these edges; the unsafe condition is x = 2.
func small(t *testing.T, kind, edges string, options engine.Options) (sp *engine.Space, doc *jani.Document, text string) {
	t.Helper()
	text = `{"jani-version":1,"name":"small","type":"` + kind + `","actions":[{"name":"go"},{"name":"stay"}],
"variables":[{"name":"x","type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":3},"initial-value":0}],
"automata":[{"name":"m","locations":[{"name":"l"}],"initial-locations":["l"],"edges":[` + edges + `]}],"system":{"elements":[{"automaton":"m"}]}}`
	var err error
	if doc, err = jani.Parse(jani.NewSource("model.jani", []byte(text)), jani.Limits{}); err != nil {
		t.Fatal(err)
	}
	m, err := jani.Compile(doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	task, err := m.Task("", &jani.Planning{Unsafe: condition(t, []string{"x = 2"})})
	if err != nil {
		t.Fatal(err)
	}
	if sp, err = engine.NewSpace(t.Context(), task, options); err != nil {
		t.Fatal(err)
	}
	if _, err := sp.Intern(m.Initial.States[0]); err != nil {
		t.Fatal(err)
	}
	return sp, doc, text
}

// The Markovian edges are one action, which waits for the others or does not.
func TestRaces(t *testing.T) {
	const edges = `{"location":"l","guard":{"exp":{"op":"=","left":"x","right":0}},"destinations":[{"location":"l","assignments":[{"ref":"x","value":2}]}]},
{"location":"l","guard":{"exp":{"op":"=","left":"x","right":0}},"rate":{"exp":2},"destinations":[{"location":"l","assignments":[{"ref":"x","value":1}]}]},
{"location":"l","guard":{"exp":{"op":"=","left":"x","right":0}},"rate":{"exp":1},"destinations":[{"location":"l","assignments":[{"ref":"x","value":3}]}]}`
	for _, patient := range []bool{true, false} {
		sp, doc, text := small(t, "ma", edges, engine.Options{NoMaximalProgress: !patient})
		verdict := algorithms.Safe // the race is
		if patient {
			verdict = algorithms.Unsafe
		}
		cert := certify(t, sp, certificate.Header{Radius: "inf", MaximalProgress: patient}, text, algorithms.Infinite, []algorithms.Claim{{State: 0, Verdict: verdict}})
		if strings.Contains(cert, `"λ"`) == patient {
			t.Errorf("patient %t: the certificate is\n%s", patient, cert)
		}
		in := certificate.Input{Document: doc, Unsafe: condition(t, []string{"x = 2"}), Files: modelFile(text)}
		if _, err := verify(t, cert, in); err != nil {
			t.Errorf("patient %t: %v", patient, err)
		}
		on, off := `"maximal_progress":true`, `"maximal_progress":false`
		if _, err := verify(t, strings.NewReplacer(on, off, off, on).Replace(cert), in); err == nil {
			t.Errorf("patient %t: accepted for the other reading", patient)
		}
		if patient {
			continue
		}
		// An outcome of the race is lost.
		lines := strings.SplitAfter(cert, "\n")
		for i, l := range lines {
			if strings.HasPrefix(l, `{"safe":[3,`) {
				short := strings.Replace(strings.Join(lines[:i], "")+strings.Join(lines[i+1:], ""), `"safe":3,`, `"safe":2,`, 1)
				if _, err := verify(t, short, in); err == nil || !strings.Contains(err.Error(), "λ leads to x=3") {
					t.Errorf("without an outcome: %v", err)
				}
			}
		}
	}
}

func verify(t *testing.T, text string, in certificate.Input) (certificate.Summary, error) {
	t.Helper()
	c, err := certificate.Open("test", strings.NewReader(text), jani.Limits{})
	if err != nil {
		return certificate.Summary{}, err
	}
	return c.Verify(t.Context(), in)
}

// What is given beside a certificate must fit, and be there if it is needed.
func TestInput(t *testing.T) {
	// 0: the policy is safe; 1: a fault; 3: no decision, and so a deviation everywhere.
	sys := enginetest.New([]engine.Class{engine.ClassOrdinary, engine.ClassOrdinary, engine.ClassUnsafe, engine.ClassOrdinary},
		[][][]engine.StateID{{{0}, {2}}, {{2}, {0}}, nil, {{0}, {2}}}, []int{0, 0, -1, -1})
	p := newProblem(t, sys, engine.ByLabel)
	claims := []algorithms.Claim{{State: 0, Verdict: algorithms.Safe}, {State: 1, Verdict: algorithms.Safe}}
	one, err := p.certify(1, claims, nil)
	if err != nil {
		t.Fatal(err)
	}
	withFault, err := p.certify(algorithms.Infinite, nil, []fault{{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := p.certify(algorithms.Infinite, claims, nil)
	if err != nil {
		t.Fatal(err)
	}
	undecided := strings.Replace(withFault, `{"claim":"fault","state":[1,"l"]`, `{"claim":"fault","state":[3,"l"]`, 1)
	undecided = strings.Replace(undecided, `{"safe":[1,"l"],"action":"a1"`, `{"safe":[3,"l"],"action":"a0"`, 1)
	broken := errors.New("broken")
	for _, c := range []struct {
		name, text string
		change     func(in *certificate.Input)
		want       string
	}{
		{"all is well", one, func(in *certificate.Input) {}, ""},
		{"all is well", withFault, func(in *certificate.Input) {}, ""},
		{"policy that does not matter", plain, func(in *certificate.Input) { in.Policy = nil }, ""},
		{"no goals", plain, func(in *certificate.Input) { in.Goal = nil }, ""},
		{"no unsafe condition", plain, func(in *certificate.Input) { in.Unsafe = nil }, "test:1:1: there is no unsafe condition"},
		{"other unsafe condition", plain, func(in *certificate.Input) { in.Unsafe = condition(t, []string{"s = 0"}) }, "the state has a safe entry and satisfies the unsafe condition: s=0"},
		{"other goal", plain, func(in *certificate.Input) { in.Goal = condition(t, []string{"s = 1"}) }, "the state is a goal or terminal, but its safe entry has the action a1: s=1"},
		{"no policy", one, func(in *certificate.Input) { in.Policy = nil }, "test:1:1: the radius is 1, but there is no policy"},
		{"no policy", withFault, func(in *certificate.Input) { in.Policy = nil }, "test:2:1: a fault is claimed, but there is no policy"},
		{"no decision", undecided, func(in *certificate.Input) {}, "test:2:1: the policy takes no action in the state: s=3"},
		{"unknown input", one, func(in *certificate.Input) { in.Policy.Inputs[0] = 2 }, "test:1:1: the policy has an input for variable 2 of 2"},
		{"unknown output", one, func(in *certificate.Input) { in.Policy.Outputs[0] = "b" }, `test:1:1: the policy has an output for "b", which is no action label`},
		{"output that is no number", one, func(in *certificate.Input) {
			in.Policy.Evaluate = func(_, out []float64) error { out[0] = math.NaN(); return nil }
		}, "the policy: output 0 is not a number"},
		{"policy that fails", one, func(in *certificate.Input) {
			in.Policy.Evaluate = func(_, _ []float64) error { return broken }
		}, "the policy: broken"},
		{"other policy", one, func(in *certificate.Input) {
			in.Policy.Evaluate = func(_, out []float64) error { clear(out); return nil } // takes a0 everywhere: no matter
		}, ""},
		{"other policy", one, func(in *certificate.Input) {
			in.Policy.Evaluate = func(_, out []float64) error { clear(out); out[1] = 1; return nil }
		}, "the bound 0 is too small: a0 costs 1 and leads to s=0 of bound 0 from the state: s=0"},
		{"further file", one, func(in *certificate.Input) { in.Files = append(in.Files, certificate.File{Role: "goal", Name: "g"}) }, `test:1:1: the certificate does not say that it depends on the goal file "g"`},
		{"no file", one, func(in *certificate.Input) { in.Files = nil }, `test:1:1: the certificate depends on the model file "model.jani", which was not read`},
		{"last variable", strings.Replace(one, `,"m.location"]`, "]", 1), func(in *certificate.Input) {}, `test:1:1: the variable "m.location" of the model is missing`},
		{"condition that cannot be evaluated", one, func(in *certificate.Input) { in.Unsafe = condition(t, []string{"1 % s = 3"}) }, "the unsafe condition cannot be evaluated: "},
		{"condition that cannot be evaluated", one, func(in *certificate.Input) { in.Goal = condition(t, []string{"nothing"}) }, "the goal condition cannot be evaluated: "},
		{"constant twice", strings.Replace(one, `"constants":[]`, `"constants":["N=1","N=2"]`, 1), func(in *certificate.Input) {}, "test:1:1: the constant N is given twice"},
	} {
		in := p.input()
		c.change(&in)
		_, err := verify(t, c.text, in)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q\n%s", c.name, err, c.want, c.text)
		}
	}

	// A state that cannot be expanded.
	sp, doc, text := small(t, "mdp", `{"location":"l","action":"go","guard":{"exp":{"op":"=","left":"x","right":0}},"destinations":[{"location":"l","assignments":[{"ref":"x","value":1}]}]}`, engine.Options{})
	cert := certify(t, sp, certificate.Header{Radius: "inf", MaximalProgress: true}, text, algorithms.Infinite, []algorithms.Claim{{State: 0, Verdict: algorithms.Safe}})
	in := certificate.Input{Document: doc, Unsafe: condition(t, []string{"x = 2"}), Files: modelFile(text)}
	if _, err := verify(t, cert, in); err != nil {
		t.Error(err)
	}
	doc.Automata[0].Edges[0].Destinations[0].Assignments[0].Value.Int = 4
	if _, err := verify(t, cert, in); err == nil || !strings.Contains(err.Error(), "test:3:1: the state cannot be expanded: ") || !strings.Contains(err.Error(), "above the upper bound 3") {
		t.Errorf("a state that cannot be expanded: %v", err)
	}

	// The end of the context, and a reader that fails.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, err := certificate.Open("test", strings.NewReader(one), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Verify(ctx, p.input()); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
	if _, err := certificate.Open("test", iotest.ErrReader(broken), jani.Limits{}); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	c, err = certificate.Open("test", io.MultiReader(strings.NewReader(one[:len(one)-4]), iotest.ErrReader(broken)), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Verify(t.Context(), p.input()); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	if _, err := certificate.Open("test", strings.NewReader(""), jani.Limits{}); err == nil {
		t.Error("an empty file is accepted")
	}
}
