package benchmarks

import (
	"fmt"

	"fuzzsafe/nnpolicy"
)

func cartPole() Family {
	return Family{
		Name:  "cart-pole",
		Title: "pole on a cart that must not fall over",
		Doc: `A cart of 1 kg carries a pole of 0.1 kg with its centre 0.5 m above the hinge. In every step
of 0.02 s the cart is pushed to the left or to the right, with a force F of 10 N. The state
is the position (m) and velocity of the cart and the angle θ (radians, to the right) of
the pole and its change ω. Without friction (Barto, Sutton and Anderson, 1983), with the
mass of both M = 1.1, of the pole m = 0.1, its half length l = 0.5 and gravity g = 9.81:

  f = (F + m·l·ω²·sin θ) / M
  change of ω         = (g·sin θ − f·cos θ) / (l·(4/3 − m·cos² θ/M))
  change of velocity  = f − m·l·(change of ω)·cos θ/M

All four values grow by step times their change at the beginning of the step (explicit Euler
steps). They are kept within ±track m, ±10 m/s, ±0.5 and ±10 radians/s: at the end of the track a
buffer holds the cart where it is.

Unsafe: an angle of ±0.21 (12 degrees) or beyond. Goal: steps steps without. Start: position
and velocity up to ±0.5, angle up to ±0.15, ω up to ±1.

A pole that falls fast cannot be caught: pushing slows ω down by about 0.28 a step. The policy
pushes to the side to which the pole will lean in 0.01 s. The mistake: that minds ω too little,
so the pole swings more and more.`,
		Parameters: []Parameter{
			stepsParameter("60"),
			{Name: "track", Doc: "half of the length of the track", Default: "10", Min: 3, Max: 1000},
		},
		generate: generateCartPole,
		policy: func(_ Params, m *model) (*nnpolicy.Network, error) {
			return linearPolicy(m, func(in map[string]linear) map[string]linear {
				return map[string]linear{pushRight: in[angle].plus(in[turning].times(0.01))}
			})
		},
	}
}

// Names in the model.
const (
	position, cartVelocity, angle, turning = "position", "velocity", "angle", "angular_velocity" // variables

	pushLeft, pushRight = "push_left", "push_right" // actions

	totalMass, poleMass, halfLength, force = "total_mass", "pole_mass", "half_length", "force" // constants
)

func generateCartPole(p Params) (*model, *properties, error) {
	const leaning, fastest = 0.5, 10.0
	steps, track := p.number("steps"), float64(p.number("track"))
	pushed := func(action string, force expr) edge {
		f := ratio(sum(force, product(poleMass, halfLength, turning, turning, sine(angle))), totalMass)
		lever := product(halfLength, sub(ratio(4, 3), ratio(product(poleMass, cosine(angle), cosine(angle)), totalMass)))
		alpha := ratio(sub(product(gravity, sine(angle)), product(f, cosine(angle))), lever)
		return edge{Action: action, Destinations: equally([]assignment{
			grow(position, cartVelocity, track),
			grow(cartVelocity, sub(f, ratio(product(poleMass, halfLength, alpha, cosine(angle)), totalMass)), fastest),
			grow(angle, turning, leaning),
			grow(turning, alpha, fastest),
		})}
	}
	m, prop := newControl("cart-pole",
		fmt.Sprintf("A pole stands on a cart on a track of ±%v m for %d steps.", track, steps),
		steps,
		[]constant{
			{gravity, "real", 9.81, "m/s²"},
			{timeStep, "real", 0.02, "s"},
			{totalMass, "real", 1.1, "kg"},
			{poleMass, "real", 0.1, "kg"},
			{halfLength, "real", 0.5, "m"},
			{force, "real", 10, "N"},
		},
		[]string{pushLeft, pushRight},
		[]variable{
			{position, realWithin(-track, track), 0, "m"},
			{cartVelocity, realWithin(-fastest, fastest), 0, "m/s"},
			{angle, realWithin(-leaning, leaning), 0, "radians from the vertical"},
			{turning, realWithin(-fastest, fastest), 0, "radians/s"},
		},
		[]edge{pushed(pushLeft, sub(0, force)), pushed(pushRight, force)},
		and(between(-0.5, position, 0.5), between(-0.5, cartVelocity, 0.5),
			between(-0.15, angle, 0.15), between(-1.0, turning, 1)),
		or(le(angle, -0.21), ge(angle, 0.21)))
	return m, prop, nil
}
