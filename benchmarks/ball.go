package benchmarks

import (
	"fmt"

	"fuzzsafe/nnpolicy"
)

func bouncingBall() Family {
	return Family{
		Name:  "bouncing-ball",
		Title: "ball that must be hit from above to go on bouncing",
		Doc: `A ball bounces on the floor, at a height (m) and with a velocity (m/s, upwards). At a height
of reach = 4 m or more it can be hit, which changes its velocity by push = -4 m/s; skip does
nothing. Then a step of 0.1 s passes under gravity, 9.81 m/s²: height + velocity·step −
½·gravity·step² is the new height and velocity − gravity·step the new velocity, which is
exact for constant acceleration. If the ball would be on the floor or below, it bounces
instead: it is on the floor and goes up with bounce = 0.85 of its velocity.

Velocities are kept between -25 and 25 m/s, heights below 50 m; a ball that fast is far from
unsafe.

Unsafe: a ball that does not get up to reach any more, since its energy, ½·velocity² +
gravity·height by mass, is less than or equal to that of rest there. Goal: steps steps without.
Start: between 5 and 8 m, at -3 to 3 m/s.

Hitting a ball that rises takes energy away unless it is slow, a bounce takes 28 % away.
So a state is not safe if the ball has too little energy for one more bounce and is
too low, or can no longer be hit in time.

The policy hits a ball that falls at 3 to 6 m/s, for then it gains more than the next bounce
takes. The mistake: a ball that falls faster is not hit, nor one that falls below reach before
it is so fast, and then no hit makes up for the next bounce.`,
		Parameters: []Parameter{stepsParameter("100")},
		generate:   generateBall,
		policy: func(_ Params, m *model) (*nnpolicy.Network, error) {
			return newNetwork(m, func(c *circuit, in map[string]linear) map[string]linear {
				// 1.5 less the distance from a velocity of −4.5
				off := in[ballVelocity].plus(number(4.5))
				return map[string]linear{hit: number(1.5).minus(c.relu(off)).minus(c.relu(off.times(-1)))}
			})
		},
	}
}

// Names in the model.
const (
	altitude, ballVelocity = "height", "velocity" // variables

	hit, skip = "hit", "skip" // actions

	gravity, timeStep, push, bounce, inReach = "gravity", "step", "push", "bounce", "reach" // constants
)

func generateBall(p Params) (*model, *properties, error) {
	const fastest, highest = 25.0, 50.0
	steps := p.number("steps")
	fly := func(action string, hit bool) []edge {
		v := expr(ballVelocity)
		if hit {
			v = sum(v, push)
		}
		next := sub(sum(altitude, product(v, timeStep)), product(0.5, gravity, timeStep, timeStep))
		var guard []expr
		if hit {
			guard = []expr{ge(altitude, inReach)}
		}
		return []edge{
			{
				Action: action, Comment: "in the air",
				Guard: condition{Exp: and(append(guard[:len(guard):len(guard)], more(next, 0))...)},
				Destinations: equally([]assignment{
					set(altitude, smaller(next, highest)),
					set(ballVelocity, clamp(-fastest, sub(v, product(gravity, timeStep)), fastest)),
				}),
			},
			{
				Action: action, Comment: "bounces",
				Guard: condition{Exp: and(append(guard, le(next, 0))...)},
				Destinations: equally([]assignment{
					set(altitude, 0),
					set(ballVelocity, smaller(product(bounce, absolute(v)), fastest)),
				}),
			},
		}
	}
	energy := sum(product(0.5, ballVelocity, ballVelocity), product(gravity, altitude))
	m, prop := newControl("bouncing-ball",
		fmt.Sprintf("A ball bounces for %d steps and must be hit to go on.", steps),
		steps,
		[]constant{
			{gravity, "real", 9.81, "m/s²"},
			{timeStep, "real", 0.1, "s"},
			{push, "real", -4, "m/s, of a hit"},
			{bounce, "real", 0.85, "part of the velocity that is left after a bounce"},
			{inReach, "real", 4, "m, from where on the ball can be hit"},
		},
		[]string{hit, skip},
		[]variable{
			{altitude, realWithin(0, highest), 6, "m"},
			{ballVelocity, realWithin(-fastest, fastest), 0, "m/s"},
		},
		append(fly(hit, true), fly(skip, false)...),
		and(between(5.0, altitude, 8), between(-3.0, ballVelocity, 3)),
		le(energy, product(gravity, inReach)))
	return m, prop, nil
}
