package benchmarks

import (
	"fmt"

	"fuzzsafe/nnpolicy"
)

func followCar() Family {
	return Family{
		Name:  "follow-car",
		Title: "car behind another one that keeps changing its speed",
		Doc: `A car follows another one, at a distance gap (m). For half of a period the car ahead
accelerates by 1 m/s², for the other half it brakes as much. The car behind can accelerate
by 1 m/s², coast, which leaves its speed alone, or brake by 2 m/s². In a step of 1 s the gap
grows by step·(speed ahead − own speed), and then both speeds change (explicit Euler steps).

Speeds are kept between 0 and 40 m/s, since neither car reverses, and the gap between -50 and
250 m, far beyond what is safe.

Unsafe: a gap of 0 or less, which is a collision, or of 100 m or more, which is out of
sight. Goal: steps steps without. Start: a gap of 20 to 60 m, 20 m/s ahead and 12 to 28 m/s
behind.

So a state is not safe if the gap is used up before the car behind is as slow as the other one,
or if the car ahead is so much faster that it is out of sight before the other is as fast.

The policy looks 2 s ahead at the present speeds: it accelerates if the gap will be 32 m or more,
brakes if it will be 28 m or less, and else coasts. The mistake: 2 s are less than braking
takes if the difference in speed is large. So it brakes late, and swings more and more.`,
		Parameters: []Parameter{
			stepsParameter("40"),
			{Name: "period", Doc: "steps of a period", Default: "20", Min: 2, Max: 40},
		},
		generate: generateFollowCar,
		policy: func(_ Params, m *model) (*nnpolicy.Network, error) {
			return linearPolicy(m, func(in map[string]linear) map[string]linear {
				soon := in[gap].plus(in[leadSpeed].minus(in[ownSpeed]).times(2)) // the gap in 2 s
				ahead := soon.minus(number(30))
				return map[string]linear{accelerate: ahead, coast: number(2), brake: ahead.times(-1)}
			})
		},
	}
}

// Names in the model.
const (
	gap, leadSpeed, ownSpeed = "gap", "lead_speed", "own_speed" // variables

	brake = "brake" // action
)

func generateFollowCar(p Params) (*model, *properties, error) {
	const fastest, sight = 40.0, 100.0
	steps, period := p.number("steps"), p.number("period")
	moves := set(gap, clamp(-50, sum(gap, product(timeStep, sub(leadSpeed, ownSpeed))), 250))
	lead := choose(le(mod(elapsed, period), (period-1)/2), 1, -1) // m/s²
	var edges []edge
	for _, a := range []struct {
		name string
		rate float64 // m/s²
	}{{accelerate, 1}, {coast, 0}, {brake, -2}} {
		done := []assignment{moves, set(leadSpeed, clamp(0, sum(leadSpeed, product(timeStep, lead)), fastest))}
		if a.rate != 0 {
			done = append(done, set(ownSpeed, clamp(0, sum(ownSpeed, product(timeStep, a.rate)), fastest)))
		}
		edges = append(edges, edge{Action: a.name, Destinations: equally(done)})
	}
	m, prop := newControl("follow-car",
		fmt.Sprintf("A car follows another one for %d steps; that speeds up and down with a period of %d.", steps, period),
		steps,
		[]constant{{timeStep, "real", 1, "s"}},
		[]string{accelerate, coast, brake},
		[]variable{
			{gap, realWithin(-50, 250), 50, "m"},
			{leadSpeed, realWithin(0, fastest), 20, "m/s"},
			{ownSpeed, realWithin(0, fastest), 20, "m/s"},
		},
		edges,
		and(between(20.0, gap, 60), eq(leadSpeed, 20), between(12.0, ownSpeed, 28)),
		or(le(gap, 0), ge(gap, sight)))
	return m, prop, nil
}
