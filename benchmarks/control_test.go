package benchmarks

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// plant simulates a control problem by its Doc, with the operations in the order in which
// the text has them: all results are the same to the last bit. Products are converted, so that
// no machine adds to them before they are rounded.
type plant struct {
	steps  int
	low    []float64 // bounds of the variables but the time
	high   []float64
	start  [][2]float64 // of the start states
	step   func(time int, x []float64, action string) (next []float64, can bool)
	unsafe func(x []float64) bool
	rule   func(x []float64) string // decision of the policy
}

func plants() map[string]plant {
	within := func(low, x, high float64) float64 { return max(low, min(x, high)) }
	g, dt := 9.81, 0.1
	push, bounce, reach := -4.0, 0.85, 4.0

	third := 4.0 / 3
	total, poleMass, half, force := 1.1, 0.1, 0.5, 10.0
	dtCart, dtRod, dtCar := 0.02, 0.05, 1.0
	rodMass, rodLength, torque := 1.0, 1.0, 4.0
	return map[string]plant{
		"bouncing-ball": {
			steps: 100, low: []float64{0, -25}, high: []float64{50, 25}, start: [][2]float64{{5, 8}, {-3, 3}},
			step: func(_ int, x []float64, action string) ([]float64, bool) {
				h, v := x[0], x[1]
				if action == "hit" {
					if h < reach {
						return nil, false
					}
					v += push
				}
				fallen := float64(float64(float64(0.5*g)*dt) * dt)
				if h = h + float64(v*dt) - fallen; h > 0 {
					return []float64{min(h, 50), within(-25, v-float64(g*dt), 25)}, true
				}
				return []float64{0, min(float64(bounce*math.Abs(v)), 25)}, true
			},
			unsafe: func(x []float64) bool {
				return float64(float64(0.5*x[1])*x[1])+float64(g*x[0]) <= float64(g*reach)
			},
			rule: func(x []float64) string {
				if x[0] >= reach && -6 < x[1] && x[1] < -3 {
					return "hit"
				}
				return "skip"
			},
		},
		"follow-car": {
			steps: 40, low: []float64{-50, 0, 0}, high: []float64{250, 40, 40}, start: [][2]float64{{20, 60}, {20, 20}, {12, 28}},
			step: func(time int, x []float64, action string) ([]float64, bool) {
				gap, lead, own := x[0], x[1], x[2]
				accelerates := 1.0
				if time%20 >= 10 {
					accelerates = -1
				}
				rate := map[string]float64{"accelerate": 1, "coast": 0, "brake": -2}[action]
				return []float64{
					within(-50, gap+float64(dtCar*(lead-own)), 250),
					within(0, lead+float64(dtCar*accelerates), 40),
					within(0, own+float64(dtCar*rate), 40),
				}, true
			},
			unsafe: func(x []float64) bool { return x[0] <= 0 || x[0] >= 100 },
			rule: func(x []float64) string {
				switch soon := x[0] + 2*(x[1]-x[2]); {
				case soon >= 32:
					return "accelerate"
				case soon > 28:
					return "coast"
				}
				return "brake"
			},
		},
		"cart-pole": {
			steps: 60, low: []float64{-10, -10, -0.5, -10}, high: []float64{10, 10, 0.5, 10},
			start: [][2]float64{{-0.5, 0.5}, {-0.5, 0.5}, {-0.15, 0.15}, {-1, 1}},
			step: func(_ int, x []float64, action string) ([]float64, bool) {
				position, velocity, angle, turning := x[0], x[1], x[2], x[3]
				sin, cos, pushed := math.Sin(angle), math.Cos(angle), force
				if action == "push_left" {
					pushed = -force
				}
				f := (pushed + float64(float64(float64(float64(poleMass*half)*turning)*turning)*sin)) / total
				lever := float64(half * (third - float64(float64(poleMass*cos)*cos)/total))
				alpha := (float64(g*sin) - float64(f*cos)) / lever
				accelerated := f - float64(float64(float64(poleMass*half)*alpha)*cos)/total
				return []float64{
					within(-10, position+float64(dtCart*velocity), 10),
					within(-10, velocity+float64(dtCart*accelerated), 10),
					within(-0.5, angle+float64(dtCart*turning), 0.5),
					within(-10, turning+float64(dtCart*alpha), 10),
				}, true
			},
			unsafe: func(x []float64) bool { return math.Abs(x[2]) >= 0.21 },
			rule: func(x []float64) string {
				if x[2]+0.01*x[3] > 0 {
					return "push_right"
				}
				return "push_left"
			},
		},
		"inverted-pendulum": {
			steps: 60, low: []float64{-1.5, -8}, high: []float64{1.5, 8}, start: [][2]float64{{-0.3, 0.3}, {-1.5, 1.5}},
			step: func(_ int, x []float64, action string) ([]float64, bool) {
				angle, turning := x[0], x[1]
				alpha := float64(float64(3*g) / float64(2*rodLength) * math.Sin(angle))
				turned := float64(3*torque) / float64(float64(rodMass*rodLength)*rodLength)
				switch action {
				case "rotate_left":
					alpha -= turned
				case "rotate_right":
					alpha += turned
				}
				return []float64{
					within(-1.5, angle+float64(dtRod*turning), 1.5),
					within(-8, turning+float64(dtRod*alpha), 8),
				}, true
			},
			unsafe: func(x []float64) bool { return math.Abs(x[0]) >= 0.785 },
			rule: func(x []float64) string {
				switch lean := x[0] + 0.02*x[1]; {
				case lean >= 0.05:
					return "rotate_left"
				case lean <= -0.05:
					return "rotate_right"
				}
				return "skip"
			},
		},
	}
}

// reals returns the time and the other values of a state.
func reals(sp *engine.Space, s engine.StateID) (time int, x []float64) {
	for i, v := range sp.Values(s) {
		switch y := &sp.Model().Vars[i]; {
		case y.Kind == jani.VarLocation:
		case y.Kind == jani.VarReal:
			x = append(x, y.Float(v))
		default:
			time = int(v)
		}
	}
	return time, x
}

// follow compares all actions in a state, and returns where the policy leads.
func (p plant) follow(t *testing.T, sp *engine.Space, s engine.StateID) (next engine.StateID, class engine.Class) {
	time, x := reals(sp, s)
	class, err := sp.Class(s)
	must(t, err)
	want := engine.ClassOrdinary
	switch {
	case p.unsafe(x):
		want = engine.ClassUnsafe
	case time >= p.steps:
		want = engine.ClassGoal
	}
	if class != want {
		t.Fatalf("%s is of class %v, want %v", sp.Describe(s), class, want)
	}
	can := make(map[string]engine.StateID)
	n, err := sp.NumActions(s)
	must(t, err)
	for a := range n {
		to := outcomes(t, sp, s, a)
		if len(to) != 1 {
			t.Fatalf("in %s an action has %d outcomes", sp.Describe(s), len(to))
		}
		can[sp.ActionName(s, a)] = to[0]
	}
	for _, action := range sp.Model().Actions {
		to, applicable := p.step(time, x, action)
		applicable = applicable && time < p.steps
		got, found := can[action]
		if found != applicable {
			t.Fatalf("in %s %s is applicable: %t, want %t", sp.Describe(s), action, found, applicable)
		}
		if !found {
			continue
		}
		if timeThen, there := reals(sp, got); timeThen != time+1 || !slices.Equal(there, to) {
			t.Fatalf("in %s %s leads to %s, want %v", sp.Describe(s), action, sp.Describe(got), to)
		}
	}
	if class != engine.ClassOrdinary {
		return 0, class
	}
	a, err := sp.Decision(s)
	must(t, err)
	if got, want := sp.ActionName(s, a), p.rule(x); got != want {
		t.Fatalf("in %s the policy says %s, want %s", sp.Describe(s), got, want)
	}
	return can[p.rule(x)], class
}

// Runs of the policies from drawn start states are those of the simulations, and end both
// ways.
func TestControlRuns(t *testing.T) {
	for name, p := range plants() {
		task, policy := opened(t, name)
		sp, err := engine.NewSpace(t.Context(), task, engine.Options{Policy: policy})
		must(t, err)
		all, err := algorithms.NewStarts(task.Model, task.Start, algorithms.StartsOptions{})
		must(t, err)
		r := rand.New(rand.NewPCG(1, 0))
		ends := make(map[engine.Class]int)
		for range 100 {
			values, err := all.Draw(r)
			must(t, err)
			s, err := sp.Intern(values)
			must(t, err)
			time, x := reals(sp, s)
			for i, bounds := range p.start {
				if time != 0 || x[i] < bounds[0] || x[i] > bounds[1] {
					t.Errorf("%s: %s is a start state", name, sp.Describe(s))
				}
			}
			for class := engine.ClassOrdinary; class == engine.ClassOrdinary; {
				if s, class = p.follow(t, sp, s); class != engine.ClassOrdinary {
					ends[class]++
				}
			}
		}
		if ends[engine.ClassGoal] < 10 || ends[engine.ClassUnsafe] < 10 {
			t.Errorf("%s: ends are %v", name, ends)
		}
	}
}

// One step from anywhere within the bounds of the variables, and from the corners of these,
// leads within them.
func TestControlSteps(t *testing.T) {
	for name, p := range plants() {
		task, policy := opened(t, name)
		sp, err := engine.NewSpace(t.Context(), task, engine.Options{Policy: policy})
		must(t, err)
		r := rand.New(rand.NewPCG(2, 0))
		for k := range 3000 {
			x, y := make([]float64, len(p.low)), 0
			for i := range x {
				x[i] = p.low[i] + (p.high[i]-p.low[i])*r.Float64()
				if k < 200 {
					x[i] = []float64{p.low[i], p.high[i]}[r.IntN(2)]
				}
			}
			values := make([]jani.Value, len(task.Model.Vars))
			for i := range task.Model.Vars {
				switch v := &task.Model.Vars[i]; v.Kind {
				case jani.VarReal:
					if v.RealLower != p.low[y] || v.RealUpper != p.high[y] {
						t.Fatalf("%s: %s is from %v to %v, want %v to %v", name, v.Name, v.RealLower, v.RealUpper, p.low[y], p.high[y])
					}
					values[i] = jani.RealValue(x[y])
					y++
				case jani.VarLocation:
				default:
					values[i] = jani.Value(r.IntN(p.steps + 1))
				}
			}
			s, err := sp.Intern(values)
			must(t, err)
			p.follow(t, sp, s)
		}
	}
}
