package certificate_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
	"fuzzsafe/jani"
	"fuzzsafe/jani/certificate"
)

var radii = []algorithms.Radius{algorithms.Infinite, 0, 1, 2, 3}

// table is a policy that takes one label per value of a variable.
type table struct {
	input   jani.VarID
	outputs []jani.ActionID
	takes   []int // by value: position in outputs
}

func (p *table) Inputs() []jani.VarID     { return []jani.VarID{p.input} }
func (p *table) Outputs() []jani.ActionID { return p.outputs }

func (p *table) Evaluate(in, out []float64) error {
	for k := range out {
		out[k] = float64(k*7%5) / 10 // with ties
	}
	out[p.takes[int(in[0])]] = 1
	return nil
}

// problem is an explicit system as a JANI model: one integer variable s and one edge per
// state and action, with one destination per outcome. The actions of a state have the
// labels a0, a1, …, or in edge mode a0, a0, a1, a1, …; no edge has the label none.
type problem struct {
	sys          *enginetest.System
	text         string
	doc          *jani.Document
	unsafe, goal *jani.Condition
	unfiltered   bool
	choice       engine.ChoiceMode
	policy       *table
	sp           *engine.Space
	ids          []engine.StateID // by number in sys
}

func newProblem(t testing.TB, sys *enginetest.System, choice engine.ChoiceMode) *problem {
	t.Helper()
	p := &problem{sys: sys, choice: choice}
	n := sys.NumStates()
	var edges, unsafe, goal []string
	most := 0
	takes := make([]int, n)
	for s := range n {
		id := engine.StateID(s)
		class, _ := sys.Class(id)
		switch class {
		case engine.ClassUnsafe:
			unsafe = append(unsafe, fmt.Sprintf("s = %d", s))
		case engine.ClassGoal:
			goal = append(goal, fmt.Sprintf("s = %d", s))
		}
		actions, _ := sys.NumActions(id)
		for a := range actions {
			outcomes, _ := sys.Outcomes(id, a)
			label := p.label(a)
			most = max(most, label+1)
			var to []string
			for _, o := range outcomes {
				to = append(to, fmt.Sprintf(`{"location":"l","probability":{"exp":{"op":"/","left":1,"right":%d}},"assignments":[{"ref":"s","value":%d}]}`, len(outcomes), o))
			}
			edges = append(edges, fmt.Sprintf(`{"location":"l","action":"a%d","guard":{"exp":{"op":"=","left":"s","right":%d}},"destinations":[%s]}`,
				label, s, strings.Join(to, ",")))
		}
		takes[s], _ = sys.Decision(id)
		if takes[s] < 0 && actions > 0 {
			p.unfiltered = true
		}
	}
	var labels []string
	for a := range most {
		labels = append(labels, fmt.Sprintf(`{"name":"a%d"}`, a))
	}
	labels = append(labels, `{"name":"none"}`)
	p.text = fmt.Sprintf(`{"jani-version":1,"name":"random","type":"mdp","actions":[%s],
"variables":[{"name":"s","type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":%d},"initial-value":0}],
"automata":[{"name":"m","locations":[{"name":"l"}],"initial-locations":["l"],"edges":[%s]}],"system":{"elements":[{"automaton":"m"}]}}`,
		strings.Join(labels, ","), n-1, strings.Join(edges, ","))
	p.unsafe, p.goal = condition(t, unsafe), condition(t, goal)
	var err error
	if p.doc, err = jani.Parse(jani.NewSource("random.jani", []byte(p.text)), jani.Limits{}); err != nil {
		t.Fatal(err)
	}
	m, err := jani.Compile(p.doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	task, err := m.Task("", &jani.Planning{Unsafe: p.unsafe, Goal: p.goal})
	if err != nil {
		t.Fatal(err)
	}
	p.policy = &table{input: variable(m, "s"), takes: takes}
	for a, name := range m.Actions {
		if strings.HasPrefix(name, "a") {
			p.policy.outputs = append(p.policy.outputs, jani.ActionID(a))
		}
	}
	for s, a := range takes {
		if p.policy.takes[s] = p.label(a); a < 0 {
			p.policy.takes[s] = most
		}
	}
	p.policy.outputs = append(p.policy.outputs, jani.ActionID(slices.Index(m.Actions, "none")))
	if p.sp, err = engine.NewSpace(t.Context(), task, engine.Options{Choice: choice, Policy: p.policy, Unfiltered: p.unfiltered}); err != nil {
		t.Fatal(err)
	}
	for s := range n {
		values := slices.Clone(m.Initial.States[0])
		values[p.policy.input] = jani.Value(s)
		id, err := p.sp.Intern(values)
		if err != nil {
			t.Fatal(err)
		}
		p.ids = append(p.ids, id)
	}
	return p
}

func (p *problem) label(action int) int {
	if p.choice == engine.ByEdge {
		return action / 2
	}
	return action
}

func variable(m *jani.Model, name string) jani.VarID {
	return jani.VarID(slices.IndexFunc(m.Vars, func(x jani.Var) bool { return x.Name == name }))
}

func condition(t testing.TB, parts []string) *jani.Condition {
	t.Helper()
	text := "false"
	if parts != nil {
		text = strings.Join(parts, " | ")
	}
	e, err := jani.ParseInfix("test", text, nil, jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return &jani.Condition{Exp: e}
}

// modelFile lists a model as the only file.
func modelFile(text string) []certificate.File {
	return []certificate.File{{Role: certificate.RoleModel, Name: "model.jani", SHA256: digest(text)}}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// fault is a claim of a fault: the decision in a state can lead to the outcome.
type fault struct {
	state, outcome int
}

// certify writes a certificate for what the claims say about the states of p.sys.
func (p *problem) certify(r algorithms.Radius, claims []algorithms.Claim, faults []fault) (string, error) {
	var own []algorithms.Claim // numbered as in p.sp
	for _, c := range claims {
		own = append(own, algorithms.Claim{State: p.ids[c.State], Verdict: c.Verdict})
	}
	for _, f := range faults {
		own = append(own, algorithms.Claim{State: p.ids[f.state], Verdict: algorithms.Safe},
			algorithms.Claim{State: p.ids[f.outcome], Verdict: algorithms.Unsafe})
	}
	proof, err := algorithms.Prove(context.Background(), p.sp, r, own)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	w, err := certificate.NewWriter(&text, certificate.Header{
		Version: "test", Files: modelFile(p.text),
		Choice: p.choice.String(), MaximalProgress: true, Unfiltered: p.unfiltered, Radius: r.String(),
	}, p.sp.Model().Vars)
	if err != nil {
		return "", err
	}
	for i, c := range claims {
		w.ClaimVerdict(i, p.sp.Values(p.ids[c.State]), c.Verdict == algorithms.Safe)
	}
	for _, f := range faults {
		a, err := p.sp.Decision(p.ids[f.state])
		if err != nil {
			return "", err
		}
		w.ClaimFault(p.sp.Values(p.ids[f.state]), p.actionLabel(p.ids[f.state], a), p.sp.Values(p.ids[f.outcome]))
	}
	for _, e := range proof.Safe {
		w.Safe(p.sp.Values(e.State), p.actionLabel(e.State, e.Action), e.Bound)
	}
	for _, e := range proof.Unsafe {
		w.Unsafe(p.sp.Values(e.State), e.Value, e.Rank)
	}
	err = w.End()
	return text.String(), err
}

func (p *problem) actionLabel(s engine.StateID, i int) string {
	if i < 0 {
		return ""
	}
	return p.sp.Model().Actions[p.sp.Action(s, i)]
}

// input is what verify needs beside the certificate.
func (p *problem) input() certificate.Input {
	m := p.sp.Model()
	policy := &certificate.Policy{Inputs: []int{int(p.policy.input)}, Evaluate: p.policy.Evaluate}
	for _, a := range p.policy.outputs {
		policy.Outputs = append(policy.Outputs, m.Actions[a])
	}
	return certificate.Input{
		Document: p.doc, Unsafe: p.unsafe, Goal: p.goal, Policy: policy,
		Files: modelFile(p.text),
	}
}

func (p *problem) verify(t testing.TB, text string) (certificate.Summary, error) {
	c, err := certificate.Open("test", strings.NewReader(text), jani.Limits{})
	if err != nil {
		return certificate.Summary{}, err
	}
	return c.Verify(t.Context(), p.input())
}

// verdicts claims what the naive fixpoint says about some states; j is its result.
func verdicts(sys *enginetest.System, r algorithms.Radius, states []int) (claims []algorithms.Claim, j []int) {
	j = enginetest.Fixpoint(sys, int(r))
	for _, s := range states {
		v := algorithms.Safe
		if j[s] > max(int(r), 0) {
			v = algorithms.Unsafe
		}
		claims = append(claims, algorithms.Claim{State: engine.StateID(s), Verdict: v})
	}
	return claims, j
}

// faults lists the decisions of the policy in safe states that can lead to others.
func (p *problem) faults(j []int, r algorithms.Radius) (list []fault) {
	for s := range j {
		class, _ := p.sys.Class(engine.StateID(s))
		a, _ := p.sys.Decision(engine.StateID(s))
		if n, _ := p.sys.NumActions(engine.StateID(s)); n == 0 || class != engine.ClassOrdinary || a < 0 || j[s] > max(int(r), 0) {
			continue
		}
		outcomes, _ := p.sys.Outcomes(engine.StateID(s), a)
		for _, o := range outcomes {
			if j[o] > max(int(r), 0) {
				list = append(list, fault{s, int(o)})
			}
		}
	}
	return list
}

// systems returns how many random systems a test looks at: usual, or what the environment
// asks for.
func systems(t testing.TB, usual uint64) uint64 {
	text := os.Getenv("FUZZSAFE_SYSTEMS")
	if text == "" {
		return usual
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("FUZZSAFE_SYSTEMS: %v", err)
	}
	return n
}

// byLabel makes the decision of an explicit system in edge mode the first edge of its label.
func byLabel(sys *enginetest.System) *enginetest.System {
	n := sys.NumStates()
	classes, succ, policy := make([]engine.Class, n), make([][][]engine.StateID, n), make([]int, n)
	for s := range n {
		id := engine.StateID(s)
		classes[s], _ = sys.Class(id)
		actions, _ := sys.NumActions(id)
		for a := range actions {
			outcomes, _ := sys.Outcomes(id, a)
			succ[s] = append(succ[s], outcomes)
		}
		if policy[s], _ = sys.Decision(id); policy[s] >= 0 {
			policy[s] = policy[s] / 2 * 2
		}
	}
	return enginetest.New(classes, succ, policy)
}

// What the naive fixpoint says about random systems has a certificate that is accepted, in
// both choice modes, for every radius, with faults and without.
func TestRandomSystems(t *testing.T) {
	var total certificate.Summary
	modes := map[engine.ChoiceMode]int{}
	higher, unfiltered := 0, 0 // values between 1 and U; systems
	for seed := range systems(t, 400) {
		rng := rand.New(rand.NewPCG(seed, 0))
		sys := enginetest.Random(rng, enginetest.SmallConfig(rng))
		choice := engine.ByLabel
		if rng.IntN(3) == 0 {
			choice, sys = engine.ByEdge, byLabel(sys)
		}
		p := newProblem(t, sys, choice)
		modes[choice]++
		if p.unfiltered {
			unfiltered++
		}
		for _, r := range radii {
			claims, j := verdicts(sys, r, rng.Perm(len(p.ids))[:min(4, len(p.ids))])
			faults := p.faults(j, r)
			if rng.IntN(2) == 0 {
				faults = nil
			}
			text, err := p.certify(r, claims, faults)
			if err != nil {
				t.Fatalf("seed %d, radius %s: %v", seed, r, err)
			}
			sum, err := p.verify(t, text)
			if err != nil {
				t.Fatalf("seed %d, radius %s: %v\n%s\n%s", seed, r, err, p.text, text)
			}
			if sum.Claims != len(claims)+len(faults) || sum.Faults != len(faults) || sum.Safe+sum.Unsafe != len(claims) {
				t.Fatalf("seed %d, radius %s: %+v for %d claims and %d faults", seed, r, sum, len(claims), len(faults))
			}
			total.Safe += sum.Safe
			total.Unsafe += sum.Unsafe
			total.Faults += sum.Faults
			total.SafeEntries += sum.SafeEntries
			total.UnsafeEntries += sum.UnsafeEntries
			if r > 1 && strings.Contains(text, `,"value":2,`) {
				higher++
			}
		}
	}
	t.Logf("%+v, %v by choice mode, %d unfiltered, %d with intermediate values", total, modes, unfiltered, higher)
	if min(total.Safe, total.Unsafe, total.Faults, modes[engine.ByEdge], unfiltered, higher) < 10 {
		t.Errorf("the systems are too uniform")
	}
}

// States of all types of variables come back exactly.
func TestValues(t *testing.T) {
	const text = `{"jani-version":1,"name":"types","type":"lts","features":["arrays"],"actions":[{"name":"go"}],
"variables":[{"name":"big","type":"int","initial-value":9223372036854775807},
 {"name":"low","type":"int","initial-value":-9223372036854775808},
 {"name":"odd","type":"int","initial-value":9007199254740993},
 {"name":"b","type":"bool","initial-value":true},
 {"name":"third","type":"real","initial-value":{"op":"/","left":1,"right":3}},
 {"name":"tiny","type":"real","initial-value":5e-324},
 {"name":"huge","type":"real","initial-value":1.7976931348623157e308},
 {"name":"zero","type":"real","initial-value":{"op":"-","left":0.0,"right":0.0}},
 {"name":"arr","type":{"kind":"array","base":{"kind":"array","base":"bool"}},"initial-value":{"op":"av","elements":[{"op":"av","elements":[true]},{"op":"av","elements":[false]}]}}],
"automata":[{"name":"m","locations":[{"name":"a\"\u00e9"},{"name":"two"}],"initial-locations":["a\"\u00e9"],
 "variables":[{"name":"arr","type":"real","initial-value":0.1}],
 "edges":[{"location":"a\"\u00e9","destinations":[{"location":"two"}]}]},
 {"name":"n","locations":[{"name":"l"}],"initial-locations":["l"],"edges":[]}],
"system":{"elements":[{"automaton":"m"},{"automaton":"n"},{"automaton":"m"}],"syncs":[]}}`
	doc, err := jani.Parse(jani.NewSource("types.jani", []byte(text)), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := jani.Compile(doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	unsafe := condition(t, []string{"b = false"})
	task, err := m.Task("", &jani.Planning{Unsafe: unsafe})
	if err != nil {
		t.Fatal(err)
	}
	sp, err := engine.NewSpace(t.Context(), task, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sp.Intern(m.Initial.States[0])
	if err != nil {
		t.Fatal(err)
	}
	out := certify(t, sp, certificate.Header{MaximalProgress: true, Radius: "inf"}, text, algorithms.Infinite, []algorithms.Claim{{State: s, Verdict: algorithms.Safe}})
	want := `{"claim":"safe","index":0,"state":[9223372036854775807,-9223372036854775808,9007199254740993,true,` +
		`0.3333333333333333,5e-324,1.7976931348623157e+308,0,true,false,"a\"é",0.1,"l","a\"é",0.1]}`
	if lines := strings.Split(out, "\n"); lines[1] != want {
		t.Errorf("the claim is\n%s, want\n%s", lines[1], want)
	}
	verify := func(cert string) (certificate.Summary, error) {
		c, err := certificate.Open("test", strings.NewReader(cert), jani.Limits{})
		if err != nil {
			return certificate.Summary{}, err
		}
		return c.Verify(t.Context(), certificate.Input{Document: doc, Unsafe: unsafe, Files: modelFile(text)})
	}
	sum, err := verify(out)
	if err != nil || sum.Claims != 1 || sum.SafeEntries != 4 {
		t.Errorf("%+v, %v\n%s", sum, err, out)
	}
	if !strings.Contains(out, `"τ"`) {
		t.Errorf("no silent action in\n%s", out)
	}
	// A value that differs in its last digit is another state.
	if _, err := verify(strings.Replace(out, "9007199254740993", "9007199254740992", 1)); err == nil {
		t.Error("an integer was rounded")
	}
	var first map[string]any
	if err := json.Unmarshal([]byte(strings.SplitN(out, "\n", 2)[0]), &first); err != nil || len(first) != 12 {
		t.Errorf("header %v, %v", first, err)
	}
}
