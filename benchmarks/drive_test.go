package benchmarks

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fuzzsafe/nnpolicy"
)

// situation is a state of a line in which the truck is on the line and not parked.
type situation struct {
	packages                []int
	truck, velocity, loaded int
}

// applicable reports what the truck can do, by the text of lineDoc.
func (l line) applicable(s situation) map[string]bool {
	standing := s.velocity == 0
	return map[string]bool{
		pickUp:     standing && s.truck != l.depot && s.packages[s.truck] > 0,
		drop:       standing && s.truck == l.depot && s.loaded > 0,
		accelerate: s.velocity < l.velocity,
		coast:      !standing,
		decelerate: s.velocity > l.slowest(),
		park:       l.park && -1 <= s.velocity && s.velocity <= 1,
	}
}

// rule is the rule that the comment on line.policy states.
func (l line) rule(s situation) string {
	can := l.applicable(s)
	switch {
	case can[pickUp]:
		return pickUp
	case can[drop]:
		return drop
	case can[park] && !l.twoWay && s.truck == l.last(),
		can[park] && l.twoWay && s.truck == 0 && s.velocity < 0,
		can[park] && l.twoWay && s.truck == l.last() && s.velocity > 0:
		return park
	}
	direction, faster, slower, end := 1, accelerate, decelerate, l.last()
	if l.twoWay {
		end = -1 // the right end is no stop
		if !slices.ContainsFunc(s.packages[s.truck+1:], func(n int) bool { return n > 0 }) {
			direction, faster, slower, end = -1, decelerate, accelerate, l.depot
		}
	}
	d := math.MaxInt
	for i, n := range s.packages {
		if ahead := (i - s.truck) * direction; ahead > 0 && (n > 0 || i == end) {
			d = min(d, ahead)
		}
	}
	v := s.velocity * direction
	believed := func(v int) int { return max(0, 2*v-1) }
	careful := !l.twoWay && l.nondet && !l.park && s.loaded > 0
	switch {
	case v > 0 && d < v+believed(v):
		return slower
	case v < 0, v < l.velocity && d >= v+believed(v+1) && !(careful && v > 0):
		return faster
	}
	return coast
}

// situations calls f for every situation with all packages somewhere.
func (l line) situations(f func(situation)) {
	packages := make([]int, l.locations)
	var place func(location, left int)
	place = func(location, left int) {
		if location == l.locations {
			for truck := range l.locations {
				for velocity := l.slowest(); velocity <= l.velocity; velocity++ {
					f(situation{packages, truck, velocity, left})
				}
			}
			return
		}
		for n := 0; n <= left; n++ {
			packages[location] = n
			place(location+1, left-n)
		}
		packages[location] = 0
	}
	place(0, l.packages)
}

func TestPolicyFollowsRule(t *testing.T) {
	var tasks []Instance
	for _, i := range handmade() {
		odd := Params{"variant": i.Params["variant"], "locations": "7", "packages": "3", "velocity": "5"}
		tasks = append(tasks, i, Instance{Name: i.Name + ", odd", Family: i.Family, Params: odd})
	}
	for _, i := range tasks {
		f := family(t, i.Family)
		p, m, _, err := f.build(i.Params)
		must(t, err)
		n, err := f.policy(p, m)
		must(t, err)
		l := newLine(p, i.Family == "two-way-line")
		in, out := make([]float64, n.Inputs()), make([]float64, n.Outputs())
		checked, wrong := 0, 0
		l.situations(func(s situation) {
			if s.velocity == 0 && s.packages[l.depot] == l.packages && s.truck == l.depot {
				return // the goal: nothing is decided here
			}
			for i, n := range s.packages {
				in[i] = float64(n)
			}
			copy(in[l.locations:], []float64{float64(s.truck), float64(s.velocity), float64(s.loaded), 0})
			must(t, n.Evaluate(in, out))
			can, best := l.applicable(s), -1
			for j, a := range m.Actions {
				if can[a.Name] && (best < 0 || out[j] > out[best]) {
					best = j
				}
			}
			checked++
			if got, want := m.Actions[best].Name, l.rule(s); got != want {
				if wrong++; wrong <= 3 {
					t.Errorf("%s: in %+v the network says %s, the rule %s", i.Name, s, got, want)
				}
			}
		})
		if checked < 1000 {
			t.Errorf("%s: only %d situations checked", i.Name, checked)
		}
	}
}

// A network computes what its circuit says, whatever the shape.
func TestCircuitLayers(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		lower := make([]float64, 1+r.IntN(4))
		values := make([]float64, len(lower)) // of all inputs and units
		var c circuit
		var known []linear
		for i := range lower {
			lower[i] = float64(r.IntN(11) - 5)
			values[i] = lower[i] + float64(r.IntN(10))
			known = append(known, c.input(lower[i]))
		}
		random := func() (linear, float64) {
			a := number(float64(r.IntN(9) - 4))
			value := a.constant
			for range r.IntN(4) {
				i, w := r.IntN(len(known)), float64(r.IntN(7)-3)
				a = a.plus(known[i].times(w))
				value += w * values[i]
			}
			return a, value
		}
		for range r.IntN(12) {
			a, value := random()
			known, values = append(known, c.relu(a)), append(values, max(0, value))
		}
		var outputs []linear
		var want []float64
		for range 1 + r.IntN(3) {
			a, value := random()
			outputs, want = append(outputs, a), append(want, value)
		}
		same := func(x float64) []float64 { return slices.Repeat([]float64{x}, len(lower)) }
		n, err := nnpolicy.NewNetwork(c.layers(outputs...), nnpolicy.Scaling{
			Min: lower, Max: same(100), Mean: same(0), Range: same(1), OutRange: 1,
		})
		must(t, err)
		got := make([]float64, len(outputs))
		must(t, n.Evaluate(values[:len(lower)], got))
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: outputs are %v, want %v", seed, got, want)
		}
	}
}
