package certificate_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
	"fuzzsafe/jani/certificate"
	"fuzzsafe/nnpolicy"
)

// instance is a published planning model with a policy.
type instance struct {
	dir    string
	model  *jani.Source
	doc    *jani.Document
	plan   *jani.Planning
	given  []string
	task   *jani.Task
	policy *nnpolicy.Policy
}

// open reads a published model; the test is skipped where the data are absent.
func open(t *testing.T, name string) *instance {
	t.Helper()
	p := &instance{dir: filepath.Join("../../../shared/data/planning", name)}
	source := func(file string) *jani.Source {
		text, err := os.ReadFile(filepath.Join(p.dir, file))
		if errors.Is(err, fs.ErrNotExist) {
			t.Skipf("no data: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return jani.NewSource(file, text)
	}
	constants := map[string]*jani.Expr{}
	if name == "blocksworld_4_3" {
		p.given = []string{"failing_probability=0.5", "item_cost_bound=10"}
	}
	for _, text := range p.given {
		name, value, err := jani.ParseConstant(text)
		if err != nil {
			t.Fatal(err)
		}
		constants[name] = value
	}
	p.model = source("model.jani")
	properties, err := jani.ParseProperties(source("property.jani"), jani.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if p.plan, _, err = properties[0].Planning(nil, jani.Limits{}); err != nil {
		t.Fatal(err)
	}
	if p.doc, err = jani.Parse(p.model, jani.Limits{}); err != nil {
		t.Fatal(err)
	}
	m, err := jani.Compile(p.doc, constants)
	if err != nil {
		t.Fatal(err)
	}
	if p.task, err = m.Task(properties[0].Name, p.plan); err != nil {
		t.Fatal(err)
	}
	policies, err := filepath.Glob(p.dir + "/*.jani2nnet")
	if err != nil || len(policies) == 0 {
		t.Fatalf("no policy: %v", err)
	}
	if p.policy, err = nnpolicy.Load(m, policies[len(policies)-1]); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *instance) space(t *testing.T, unfiltered bool) *engine.Space {
	t.Helper()
	sp, err := engine.NewSpace(t.Context(), p.task, engine.Options{Policy: p.policy, Unfiltered: unfiltered})
	if err != nil {
		t.Fatal(err)
	}
	return sp
}

// certPolicy is the policy as the verifier sees it.
func (p *instance) certPolicy() *certificate.Policy {
	c := &certificate.Policy{Evaluate: p.policy.Evaluate}
	for _, x := range p.policy.Inputs() {
		c.Inputs = append(c.Inputs, int(x))
	}
	for _, a := range p.policy.Outputs() {
		c.Outputs = append(c.Outputs, p.task.Model.Actions[a])
	}
	return c
}

// The published verdicts of the planning models have certificates that are accepted, and so
// have the verdicts for small radii.
func TestPlanning(t *testing.T) {
	for _, c := range []struct {
		name   string
		states int
		radii  []algorithms.Radius
	}{
		{"blocksworld_4_3", 100, []algorithms.Radius{algorithms.Infinite, 0, 1}},
		{"linetrack", 20, []algorithms.Radius{algorithms.Infinite, 0, 1}},
		{"mod_linetrack_icy_park", 10, []algorithms.Radius{algorithms.Infinite, 0, 1}},
		{"one_way_line_15_10", 60, []algorithms.Radius{algorithms.Infinite, 0, 1}},
		{"one_way_line_15_10_nondet", 20, []algorithms.Radius{algorithms.Infinite, 0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, c.name)
			text, err := os.ReadFile(p.dir + "/verdicts.json")
			if err != nil {
				t.Fatal(err)
			}
			list, err := p.task.Model.ReadStates(jani.NewSource("verdicts.json", text), nil, jani.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 0))
			rng.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
			list = list[:min(len(list), c.states)]
			for _, r := range c.radii {
				sp := p.space(t, false)
				d, err := algorithms.NewDecider("tarjan", sp, r)
				if err != nil {
					t.Fatal(err)
				}
				var claims []algorithms.Claim
				for _, state := range list {
					id, err := sp.Intern(state.Values)
					if err != nil {
						t.Fatal(err)
					}
					claim := algorithms.Claim{State: id, Verdict: algorithms.Unsafe}
					if r != algorithms.Infinite {
						a, err := d.Decide(t.Context(), id)
						if err != nil {
							t.Fatal(err)
						}
						claim.Verdict = a.Verdict
					} else if *state.Safe {
						claim.Verdict = algorithms.Safe
					}
					claims = append(claims, claim)
				}
				out := certify(t, sp, certificate.Header{Constants: p.given, Radius: r.String(), MaximalProgress: true}, p.model.Text, r, claims)
				reader, err := certificate.Open("test", strings.NewReader(out), jani.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				sum, err := reader.Verify(t.Context(), certificate.Input{
					Document: p.doc, Unsafe: p.plan.Unsafe, Goal: p.plan.Goal, Policy: p.certPolicy(),
					Files: modelFile(p.model.Text),
				})
				if err != nil {
					t.Fatalf("radius %s: %v", r, err)
				}
				t.Logf("radius %s: %+v, %d bytes", r, sum, len(out))
				if sum.Claims != len(claims) || sum.Safe+sum.Unsafe != len(claims) || sum.States < len(claims) {
					t.Errorf("radius %s: %+v for %d claims", r, sum, len(claims))
				}
			}
		})
	}
}

// certify writes a certificate for claims about states of sp.
func certify(t *testing.T, sp *engine.Space, h certificate.Header, model string, r algorithms.Radius, claims []algorithms.Claim) string {
	t.Helper()
	proof, err := algorithms.Prove(t.Context(), sp, r, claims)
	if err != nil {
		t.Fatal(err)
	}
	h.Files = modelFile(model)
	h.Choice = "label"
	var out strings.Builder
	w, err := certificate.NewWriter(&out, h, sp.Model().Vars)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range claims {
		w.ClaimVerdict(i, sp.Values(c.State), c.Verdict == algorithms.Safe)
	}
	for _, e := range proof.Safe {
		label := ""
		if e.Action >= 0 {
			label = sp.Model().Actions[sp.Action(e.State, e.Action)]
		}
		w.Safe(sp.Values(e.State), label, e.Bound)
	}
	for _, e := range proof.Unsafe {
		w.Unsafe(sp.Values(e.State), e.Value, e.Rank)
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The verifier's reading of a policy is that of the engine, filtered and not, also where
// outputs are equal and where no applicable action has one.
func TestChoose(t *testing.T) {
	for _, name := range []string{"blocksworld_4_3", "linetrack", "mod_linetrack_icy_park", "one_way_line_15_10", "bouncing_ball", "inverted_pendulum"} {
		t.Run(name, func(t *testing.T) {
			p := open(t, name)
			m := p.task.Model
			real := p.certPolicy()
			// The same with few different values, to have ties, and with one label only.
			coarse, poor := *real, *real
			coarse.Evaluate = func(in, out []float64) error {
				err := real.Evaluate(in, out)
				for k := range out {
					out[k] = float64(int(out[k]*1e3) % 3)
				}
				return err
			}
			poor.Outputs = real.Outputs[:1]
			poor.Evaluate = func(in, out []float64) error { out[0] = 1; return nil }
			for _, c := range []struct {
				name       string
				policy     *certificate.Policy
				unfiltered bool
			}{{"real", real, false}, {"real", real, true}, {"coarse", &coarse, false}, {"coarse", &coarse, true}, {"poor", &poor, false}, {"poor", &poor, true}} {
				under := &enginePolicy{c.policy, p.policy.Inputs(), p.policy.Outputs()[:len(c.policy.Outputs)]}
				sp, err := engine.NewSpace(t.Context(), p.task, engine.Options{Policy: under, Unfiltered: c.unfiltered})
				if err != nil {
					t.Fatal(err)
				}
				states := someStates(t, sp, p, 1000)
				taken := map[bool]int{}
				for _, s := range states {
					n, err := sp.NumActions(s)
					if err != nil {
						t.Fatal(err)
					}
					if n == 0 {
						continue
					}
					want, err := sp.Decision(s)
					if err != nil {
						t.Fatal(err)
					}
					var applicable []int
					for a := range n {
						applicable = append(applicable, int(sp.Action(s, a)))
					}
					got, err := certificate.Choose(c.policy, m.Vars, m.Actions, c.unfiltered, sp.Values(s), applicable)
					if err != nil || got != want {
						t.Fatalf("%s, unfiltered %t: action %d, error %v, the engine takes %d in %s", c.name, c.unfiltered, got, err, want, sp.Describe(s))
					}
					taken[got >= 0]++
				}
				t.Logf("%s, unfiltered %t: %v", c.name, c.unfiltered, taken)
				if taken[true]+taken[false] < 100 || !c.unfiltered && taken[false] > 0 {
					t.Errorf("%s, unfiltered %t: %v", c.name, c.unfiltered, taken)
				}
			}
		})
	}
}

// enginePolicy is a Policy of this package as the engine sees it.
type enginePolicy struct {
	*certificate.Policy
	inputs  []jani.VarID
	outputs []jani.ActionID
}

func (p *enginePolicy) Inputs() []jani.VarID             { return p.inputs }
func (p *enginePolicy) Outputs() []jani.ActionID         { return p.outputs }
func (p *enginePolicy) Evaluate(in, out []float64) error { return p.Policy.Evaluate(in, out) }

// someStates returns states that are reachable from drawn start states.
func someStates(t *testing.T, sp *engine.Space, p *instance, most int) (list []engine.StateID) {
	t.Helper()
	starts, err := algorithms.NewStarts(p.task.Model, p.task.Start, algorithms.StartsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(2, 0))
	for range 50 {
		values, err := starts.Draw(rng)
		if err != nil {
			t.Fatal(err)
		}
		s, err := sp.Intern(values)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if len(list) == most {
				return list
			}
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
			n, err := sp.NumActions(s)
			if err != nil || n == 0 {
				break
			}
			outcomes, err := sp.Outcomes(s, rng.IntN(n))
			if err != nil {
				break // the pendulum leaves its bounds
			}
			s = outcomes[rng.IntN(len(outcomes))]
		}
	}
	return list
}
