package benchmarks

import (
	"fmt"

	"fuzzsafe/nnpolicy"
)

func invertedPendulum() Family {
	return Family{
		Name:  "inverted-pendulum",
		Title: "rod that a motor holds upright",
		Doc: `A rod of 1 kg and 1 m stands on a motor in its joint. rotate_left and rotate_right apply a
torque of ∓4 N·m for a step of 0.05 s, skip none. The state is the angle θ (radians from the
vertical, to the right) and its change ω, which changes by

  3·gravity/(2·length)·sin θ + 3/(mass·length²)·torque     with gravity = 9.81 m/s²

Both values grow by step times their change at the beginning of the step (explicit Euler
steps), and are kept within ±1.5 and ±8 radians/s.

Unsafe: an angle of ±0.785 (45 degrees) or beyond. Goal: steps steps without. Start: angle up to
±0.3, ω up to ±1.5.

The torque is stronger than gravity at all safe angles, but not by much at 45 degrees. So
what is not safe is to turn too fast to be slowed down in time.

The policy works against the angle that there will be in 0.02 s, unless that is less than 0.05.
The mistake: that minds ω too little, so the rod swings more and more.`,
		Parameters: []Parameter{stepsParameter("60")},
		generate:   generatePendulum,
		policy: func(_ Params, m *model) (*nnpolicy.Network, error) {
			return linearPolicy(m, func(in map[string]linear) map[string]linear {
				lean := in[angle].plus(in[turning].times(0.02))
				return map[string]linear{rotateLeft: lean, rotateRight: lean.times(-1), skip: number(0.05)}
			})
		},
	}
}

// Names in the model.
const (
	rotateLeft, rotateRight = "rotate_left", "rotate_right" // actions

	mass, length, torque = "mass", "length", "torque" // constants
)

func generatePendulum(p Params) (*model, *properties, error) {
	const leaning, fastest, fallen = 1.5, 8.0, 0.785
	steps := p.number("steps")
	falls := product(ratio(product(3, gravity), product(2, length)), sine(angle))
	turned := ratio(product(3, torque), product(mass, length, length))
	var edges []edge
	for _, a := range []struct {
		name   string
		change expr // of ω
	}{{rotateLeft, sub(falls, turned)}, {rotateRight, sum(falls, turned)}, {skip, falls}} {
		edges = append(edges, edge{Action: a.name, Destinations: equally([]assignment{
			grow(angle, turning, leaning), grow(turning, a.change, fastest),
		})})
	}
	m, prop := newControl("inverted-pendulum",
		fmt.Sprintf("A motor holds a rod upright for %d steps.", steps),
		steps,
		[]constant{
			{gravity, "real", 9.81, "m/s²"},
			{timeStep, "real", 0.05, "s"},
			{mass, "real", 1, "kg"},
			{length, "real", 1, "m"},
			{torque, "real", 4, "N·m"},
		},
		[]string{rotateLeft, rotateRight, skip},
		[]variable{
			{angle, realWithin(-leaning, leaning), 0, "radians from the vertical"},
			{turning, realWithin(-fastest, fastest), 0, "radians/s"},
		},
		edges,
		and(between(-0.3, angle, 0.3), between(-1.5, turning, 1.5)),
		or(le(angle, -fallen), ge(angle, fallen)))
	return m, prop, nil
}
