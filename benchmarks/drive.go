package benchmarks

import (
	"fmt"

	"fuzzsafe/nnpolicy"
)

// policy returns a network that drives the truck of m, a model of l, by this rule:
//
//   - Load and unload whenever possible.
//   - Two-way: head right while there are packages on the right, else left to the
//     depot (which must be location 0). One-way: head right.
//   - The next stop is the nearest package ahead, or the end of the way. With d
//     locations to go and B(v) the distance needed to stop from velocity v: brake if
//     d < v + B(v), for next time it would be too late; accelerate if d ≥ v + B(v+1),
//     because one can still stop afterwards; else coast.
//   - One-way without a hand brake, where a lost package is fatal: drive slowly while
//     loaded.
//   - Park, if that is possible, when the end of the line is reached (one-way) or
//     about to be passed (two-way).
//
// The mistake: the network extrapolates B(1) = 1 and B(2) = 3 linearly, so for it
// B(3) is 5; in fact a truck needs 3+2+1 = 6. And it does not know about ice.
func (l line) policy(m *model) (*nnpolicy.Network, error) {
	if l.twoWay && l.depot != 0 {
		return nil, noPolicy(fmt.Sprintf("it delivers to location 0, but depot is %d", l.depot))
	}
	return newNetwork(m, l.scores)
}

// scores returns how much the rule wants each action. What it wants may not be
// applicable: the interface of the policy says that such actions are passed over.
// So loading and unloading can always come first, and coasting needs no condition.
func (l line) scores(c *circuit, in map[string]linear) map[string]linear {
	x, one := in[truck], number(1)
	var packages []linear // 1 where there is a package, else 0
	for i := range l.locations {
		packages = append(packages, one.minus(c.relu(one.minus(in[at(i)]))))
	}
	if !l.twoWay {
		packages[l.last()] = one // the end of the way is a stop, too
		speed := c.relu(in[velocity])
		brake, hold := l.approach(c, packages, x, speed, 1)
		if l.nondet && !l.park {
			light, slow := c.relu(one.minus(in[loaded])), c.relu(one.minus(speed))
			hold = hold.plus(c.relu(one.minus(light).minus(slow)))
		}
		return map[string]linear{
			pickUp:     number(100),
			drop:       number(100),
			accelerate: number(2).minus(hold.times(2)),
			coast:      number(1),
			decelerate: brake.times(4),
			park:       c.relu(x.minus(number(float64(l.last() - 1)))).times(50),
		}
	}

	right, left := c.relu(in[velocity]), c.relu(in[velocity].times(-1))
	onRight := linear{}
	for i, p := range packages {
		onRight = onRight.plus(c.relu(p.minus(c.relu(x.plus(number(float64(1 - i)))))))
	}
	goLeft := c.relu(one.minus(onRight))
	goRight := one.minus(goLeft)
	brakeRight, holdRight := l.approach(c, packages, x, right, 1)
	packages[l.depot] = one
	brakeLeft, holdLeft := l.approach(c, packages, x, left, -1)

	// Packages within braking distance on the right imply goRight; stops on the left
	// count only for goLeft.
	brakeLeft = c.relu(brakeLeft.minus(goRight.times(float64(l.locations))))
	end := float64(l.velocity)
	offLeft := c.relu(left.minus(x.times(end)))
	offRight := c.relu(right.minus(number(float64(l.last())).minus(x).times(end)))
	return map[string]linear{
		pickUp:     number(100),
		drop:       number(100),
		accelerate: c.relu(goRight.times(2).minus(holdRight.times(4))).plus(brakeLeft.times(4)),
		coast:      number(1),
		decelerate: c.relu(goLeft.times(2).minus(holdLeft.times(4))).plus(brakeRight.times(4)),
		park:       offLeft.plus(offRight).times(50),
	}
}

// approach returns for a truck at x with the given speed in a direction (1 right, −1
// left) two numbers: brake is positive if a stop ahead is so near that the truck must
// brake, hold if it is too near to accelerate; else they are 0. stops are 0 or 1.
func (l line) approach(c *circuit, stops []linear, x, speed linear, direction float64) (brake, hold linear) {
	fast := c.relu(speed.minus(number(1)))
	// With B(v) = 2v − 1 for v ≥ 1, so v + relu(v−1): d ≤ v + B(v) − 1 and d ≤ v + B(v+1) − 1.
	brakeWithin := speed.times(2).plus(fast).minus(number(1))
	holdWithin := speed.times(3)
	for i, stop := range stops {
		d := number(float64(i)).minus(x).times(direction)
		ahead := stop.minus(c.relu(number(1).minus(d))) // the stop, if d ≥ 1; else at most 0
		brake = brake.plus(c.relu(ahead.minus(c.relu(d.minus(brakeWithin)))))
		hold = hold.plus(c.relu(ahead.minus(c.relu(d.minus(holdWithin)))))
	}
	return brake, hold
}
