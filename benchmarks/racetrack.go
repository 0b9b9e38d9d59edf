package benchmarks

import (
	"fmt"

	"fuzzsafe/nnpolicy"
)

func racetrack() Family {
	return Family{
		Name:  "racetrack",
		Title: "car on a course with a bend and a wet stretch",
		Doc: `A car drives on a grid: along a straight of rows 0 to width−1 and columns 0 to length−1,
and from its end, the last width columns, up to row length−1 (Barto, Bradtke and Singh,
1995). In a step it adds -1, 0 or 1 to its velocity in each direction, to at most speed, and
then moves by it. drive_XY says what is added, with m for -1, z for 0 and p for 1. The
width columns before the bend are wet: what is to be added there can fail, in both
directions at once. Only where the car stops counts, not what it drives over. Standing, it
does not idle.

Unsafe: off the course. Goal: the last row of the course, or beyond. Start: anywhere before
the wet stretch, standing or on the way straight ahead.

If all goes wrong, the velocity on the wet stretch is that on entering it. So the car has to
enter it straight ahead, and so slowly that it can stop in the bend.

The policy steers for the middle of the straight and, from the bend on, of the other leg; it
drives at a speed proportional to its distance from the end of the straight, and as fast as
it can behind the bend. The mistake: it takes wet for dry and brakes there.`,
		Parameters: []Parameter{
			{Name: "length", Doc: "columns of the straight", Default: "12", Min: 6, Max: 100},
			{Name: "width", Doc: "of the course", Default: "3", Min: 2, Max: 30},
			{Name: "speed", Doc: "greatest velocity in a direction", Default: "3", Min: 1, Max: 10},
		},
		generate: func(p Params) (*model, *properties, error) { return newCourse(p).generate() },
		policy:   func(p Params, m *model) (*nnpolicy.Network, error) { return newCourse(p).policy(m) },
	}
}

// course holds the parameters of a racetrack.
type course struct{ length, width, speed int }

func newCourse(p Params) course {
	return course{p.number("length"), p.number("width"), p.number("speed")}
}

// Names in the model; the position is (column, height), as in a corridor.
const speedX, speedY = "vx", "vy"

func driveBy(x, y int) string {
	const sign = "mzp"
	return fmt.Sprintf("drive_%c%c", sign[x+1], sign[y+1])
}

func (c course) generate() (*model, *properties, error) {
	bend := c.length - c.width // first column
	if bend <= c.width {
		return nil, nil, fmt.Errorf("width is %d, but with a length of %d it must be at most %d", c.width, c.length, (c.length-1)/2)
	}
	onStraight := and(between(0, column, c.length-1), between(0, height, c.width-1))
	onLeg := and(between(bend, column, c.length-1), between(0, height, c.length-2))
	onCourse := or(onStraight, onLeg)
	wet := and(between(bend-c.width, column, bend-1), between(0, height, c.width-1))
	var actions []string
	var edges []edge
	for x := -1; x <= 1; x++ {
		for y := -1; y <= 1; y++ {
			name := driveBy(x, y)
			actions = append(actions, name)
			allowed := []expr{onCourse}
			for _, d := range []struct {
				velocity string
				by       int
			}{{speedX, x}, {speedY, y}} {
				if d.by != 0 {
					allowed = append(allowed, between(-c.speed, sum(d.velocity, d.by), c.speed))
				}
			}
			moves := []assignment{
				set(speedX, sum(speedX, x)), set(speedY, sum(speedY, y)),
				set(column, sum(column, speedX, x)), set(height, sum(height, speedY, y)),
			}
			if x == 0 && y == 0 {
				allowed = append(allowed, or(ne(speedX, 0), ne(speedY, 0)))
				edges = append(edges, edge{Action: name, Guard: condition{Exp: and(allowed...)}, Destinations: equally(moves[2:])})
				continue
			}
			slides := []assignment{set(column, sum(column, speedX)), set(height, sum(height, speedY))}
			dry := append(allowed[:len(allowed):len(allowed)], not(wet))
			edges = append(edges,
				edge{Action: name, Guard: condition{Exp: and(dry...)}, Destinations: equally(moves)},
				edge{Action: name, Comment: "on the wet stretch", Guard: condition{Exp: and(append(allowed, wet)...)},
					Destinations: unless(destination{Assignments: moves},
						destination{Comment: "slips", Probability: chance(slip), Assignments: slides})})
		}
	}
	far := within(-c.speed, c.length-1+c.speed)
	m := newModel("racetrack",
		fmt.Sprintf("A car on a course of two legs of length %d and width %d, at a velocity of up to %d in each direction.",
			c.length, c.width, c.speed),
		"mdp", actions,
		[]variable{
			{column, far, 0, "column"},
			{height, far, 0, "row"},
			{speedX, within(-c.speed, c.speed), 0, "columns per step"},
			{speedY, within(-c.speed, c.speed), 0, "rows per step"},
		},
		edges)
	m.Constants = []constant{{slip, "real", 0.1, "probability that a change of velocity fails on the wet stretch"}}
	start := and(between(0, column, bend-c.width-1), between(0, height, c.width-1), between(0, speedX, c.speed), eq(speedY, 0))
	unsafe := or(le(column, -1), ge(column, c.length), le(height, -1), and(ge(height, c.width), le(column, bend-1)))
	return m, newProperty("race", start, unsafe, and(between(bend, column, c.length-1), ge(height, c.length-1))), nil
}

// policy returns a network that wants to add the difference between a wanted and the present
// velocity, if it is more than 1/2, in each direction. The wanted velocities:
//
//	column  half of the columns up to the middle of the other leg, at most speed
//	row     half of the rows up to the middle of the straight; from the bend on, speed
func (c course) policy(m *model) (*nnpolicy.Network, error) {
	return newNetwork(m, func(n *circuit, in map[string]linear) map[string]linear {
		bend, middle := float64(c.length-c.width), float64(c.width-1)/2
		vx := number(bend + middle).minus(in[column]).times(0.5)
		vx = vx.minus(n.relu(vx.minus(number(float64(c.speed)))))
		inBend := n.relu(in[column].minus(number(bend - 1)))
		inBend = inBend.minus(n.relu(inBend.minus(number(1))))                                          // 0 or 1
		up := n.relu(inBend.times(float64(c.length)).plus(in[height]).minus(number(float64(c.length)))) // the row, from the bend on
		vy := number(middle).minus(in[height]).times(0.5).plus(up.times(0.5)).plus(inBend.times(float64(c.speed) - middle/2))
		scores := make(map[string]linear)
		for x := -1; x <= 1; x++ {
			for y := -1; y <= 1; y++ {
				score := vx.minus(in[speedX]).times(float64(x)).plus(vy.minus(in[speedY]).times(float64(y)))
				scores[driveBy(x, y)] = score.minus(number(float64(x*x+y*y) / 2))
			}
		}
		return scores
	})
}
