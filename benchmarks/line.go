package benchmarks

import (
	"fmt"
	"strconv"

	"fuzzsafe/nnpolicy"
)

const lineDoc = `A truck delivers packages on a line of locations 0, 1, …. A step moves it by its
velocity, and then accelerate adds 1 to the velocity, decelerate takes 1 away and coast
leaves it alone: from speed v the truck needs v + … + 2 + 1 locations to stop. Standing, it
can pick up a package of its location or, at the depot, drop one. It does not idle:
standing, it loads, unloads or sets off again.

Unsafe: driving past an end of the line, that is, a position off the line.
Goal: all packages at the depot, and the truck standing there.

Variants:
  det     every action does what it should.
  nondet  the two middle locations are icy: acceleration and deceleration can fail there,
          the velocity stays as it was. At a speed of 2 or more a loaded truck can lose
          a package, which stays where the truck was.
  park    nondet, and a hand brake: at a speed of 0 or 1 the truck can park, which stops
          it where it is. A parked truck never moves again, but still loads and unloads.`

func oneWayLine() Family {
	return Family{
		Name:  "one-way-line",
		Title: "truck that delivers packages on a one-way line",
		Doc: lineDoc + `

One-way: velocities are 0, 1, …, the depot is the last location, the truck starts at
location 0. A package left behind is left for good: without a hand brake the truck can
then only go on, and in the end drives past the end of the line. So in det and nondet it
has to deliver everything to stay safe; in park it has to stop in time.`,
		Parameters: lineParameters(),
		generate:   func(p Params) (*model, *properties, error) { return newLine(p, false).generate() },
		policy:     func(p Params, m *model) (*nnpolicy.Network, error) { return newLine(p, false).policy(m) },
	}
}

func twoWayLine() Family {
	depot := Parameter{Name: "depot", Doc: "where packages are delivered to", Default: "0", Max: maxLocations - 1}
	return Family{
		Name:  "two-way-line",
		Title: "truck that delivers packages on a two-way line",
		Doc: lineDoc + `

Two-way: velocities are …, -1, 0, 1, …, the depot can be anywhere, the truck starts
anywhere. To stay safe it has to stop in time.`,
		Parameters: append(lineParameters(), depot),
		generate:   func(p Params) (*model, *properties, error) { return newLine(p, true).generate() },
		policy:     func(p Params, m *model) (*nnpolicy.Network, error) { return newLine(p, true).policy(m) },
	}
}

// maxLocations keeps the networks of the policies, which grow with its square, within
// what is read by default.
const maxLocations = 200

func lineParameters() []Parameter {
	return []Parameter{
		{Name: "locations", Doc: "length of the line", Default: "12", Min: 3, Max: maxLocations},
		{Name: "packages", Doc: "number of packages", Default: "2", Min: 1, Max: 1000},
		{Name: "velocity", Doc: "greatest velocity", Default: "3", Min: 2, Max: 100},
		{Name: "variant", Doc: "what can go wrong", Default: "det", Values: []string{"det", "nondet", "park"}},
	}
}

// line holds the parameters of both families.
type line struct {
	locations, packages, velocity int
	depot                         int
	twoWay, nondet, park          bool
}

func newLine(p Params, twoWay bool) line {
	l := line{
		locations: p.number("locations"),
		packages:  p.number("packages"),
		velocity:  p.number("velocity"),
		twoWay:    twoWay,
		nondet:    p["variant"] != "det",
		park:      p["variant"] == "park",
	}
	l.depot = l.last()
	if twoWay {
		l.depot = p.number("depot")
	}
	return l
}

// Names in the models.
const (
	truck, velocity, loaded, parked = "truck", "velocity", "loaded", "parked" // variables

	pickUp, drop, park            = "pick_up", "drop", "park" // actions
	accelerate, coast, decelerate = "accelerate", "coast", "decelerate"

	slip, fall = "slip", "fall" // probabilities
)

// at names the variable that counts the packages at a location.
func at(location int) string { return "packages_" + strconv.Itoa(location) }

func (l line) last() int { return l.locations - 1 }

// slowest is the least velocity.
func (l line) slowest() int {
	if l.twoWay {
		return -l.velocity
	}
	return 0
}

func (l line) generate() (*model, *properties, error) {
	if l.depot > l.last() {
		return nil, nil, fmt.Errorf("depot is %d, but the last location is %d", l.depot, l.last())
	}
	name, ways, kind := "one-way-line", "one way", "lts"
	if l.twoWay {
		name, ways = "two-way-line", "both ways"
	}
	if l.nondet {
		kind = "mdp"
	}
	description := fmt.Sprintf("A truck drives %s on a line of %d locations, at a velocity of up to %d, and delivers %d packages to location %d. It must not drive past the end of the line.",
		ways, l.locations, l.velocity, l.packages, l.depot)
	actions := []string{pickUp, drop, accelerate, coast, decelerate}
	if l.park {
		actions = append(actions, park)
	}
	edges := append(l.loading(), l.driving()...)
	m := newModel(name, description, kind, actions, l.variables(), edges)
	if l.nondet {
		m.Constants = []constant{
			{slip, "real", 0.1, "probability that a change of velocity fails on ice"},
			{fall, "real", 0.1, "probability that a fast truck loses a package"},
		}
	}
	return m, newProperty("delivery", l.start(), l.unsafe(), l.goal()), nil
}

func (l line) variables() []variable {
	origin := 0 // of all packages in the initial state, which must not be a goal
	if l.depot == 0 {
		origin = l.last()
	}
	var list []variable
	for i := range l.locations {
		v := variable{Name: at(i), Type: within(0, l.packages), Initial: 0}
		if i == origin {
			v.Initial = l.packages
		}
		list = append(list, v)
	}
	list = append(list,
		variable{truck, within(l.slowest(), l.last()+l.velocity), 0, "location; off the line after a crash"},
		variable{velocity, within(l.slowest(), l.velocity), 0, "locations per step"},
		variable{loaded, within(0, l.packages), 0, "packages on the truck"})
	if l.park {
		list = append(list, variable{parked, "bool", false, "the hand brake is on, for good"})
	}
	return list
}

// loading returns the edges of a standing truck.
func (l line) loading() []edge {
	var edges []edge
	add := func(action string, location int, available string, by int) {
		edges = append(edges, edge{
			Action:       action,
			Guard:        condition{Exp: and(eq(truck, location), eq(velocity, 0), ge(available, 1))},
			Destinations: []destination{{Assignments: []assignment{change(at(location), -by), change(loaded, by)}}},
		})
	}
	for i := range l.locations {
		if i != l.depot {
			add(pickUp, i, at(i), 1)
		}
	}
	add(drop, l.depot, loaded, -1)
	return edges
}

// driving returns the edges of a truck that is on the line and not parked.
func (l line) driving() []edge {
	var edges []edge
	add := func(action, comment string, guard []expr, destinations ...destination) {
		if l.park {
			guard = append([]expr{not(parked)}, guard...)
		}
		edges = append(edges, edge{Action: action, Comment: comment, Guard: condition{Exp: and(guard...)}, Destinations: destinations})
	}
	moves := set(truck, sum(truck, velocity))
	for _, a := range []struct {
		name    string
		by      int
		allowed expr
	}{
		{accelerate, 1, le(velocity, l.velocity-1)},
		{coast, 0, ne(velocity, 0)},
		{decelerate, -1, ge(velocity, l.slowest()+1)},
	} {
		done := destination{Assignments: []assignment{moves, change(velocity, a.by)}}
		slips := destination{Comment: "slips", Probability: chance(slip), Assignments: []assignment{moves}}
		if a.by == 0 {
			done.Assignments = done.Assignments[:1]
		}
		if !l.nondet {
			add(a.name, "", []expr{l.onLine(), a.allowed}, done)
			continue
		}
		keepsLoad := or(l.slow(), eq(loaded, 0))
		if a.by == 0 {
			add(a.name, "", []expr{l.onLine(), keepsLoad, a.allowed}, done)
		} else {
			add(a.name, "", []expr{l.onLine(), not(l.onIce()), keepsLoad, a.allowed}, done)
			add(a.name, "on ice", []expr{l.onIce(), keepsLoad, a.allowed}, unless(done, slips)...)
		}
		for i := range l.locations {
			falls := destination{Comment: "loses a package", Probability: chance(fall), Assignments: append(
				[]assignment{change(at(i), 1), change(loaded, -1)}, done.Assignments...)}
			mishaps := []destination{falls}
			if a.by != 0 && l.icy(i) {
				mishaps = append(mishaps, slips)
			}
			add(a.name, "fast and loaded", []expr{eq(truck, i), not(l.slow()), ge(loaded, 1), a.allowed}, unless(done, mishaps...)...)
		}
	}
	if l.park {
		stops := destination{Assignments: []assignment{set(velocity, 0), set(parked, true)}}
		add(park, "", []expr{l.onLine(), l.slow()}, stops)
	}
	return edges
}

// chance is the probability of an outcome that a constant names.
func chance(constant string) *condition { return &condition{Exp: constant} }

// unless gives the outcome of an action the probability that the mishaps leave.
func unless(done destination, mishaps ...destination) []destination {
	rest := expr(1)
	for _, m := range mishaps {
		rest = sub(rest, m.Probability.Exp)
	}
	done.Probability = &condition{Exp: rest}
	return append([]destination{done}, mishaps...)
}

// icy reports whether a location is icy: the two in the middle are.
func (l line) icy(location int) bool {
	return location == l.locations/2-1 || location == l.locations/2
}

func (l line) onIce() expr {
	return and(ge(truck, l.locations/2-1), le(truck, l.locations/2))
}

func (l line) onLine() expr {
	if l.twoWay {
		return and(ge(truck, 0), le(truck, l.last()))
	}
	return le(truck, l.last())
}

// slow holds at velocities that are harmless: the load stays on, the hand brake works.
func (l line) slow() expr {
	if l.twoWay {
		return and(ge(velocity, -1), le(velocity, 1))
	}
	return le(velocity, 1)
}

// start: the truck stands on the line, empty and not parked, packages lie anywhere.
func (l line) start() expr {
	place := expr(eq(truck, 0))
	if l.twoWay {
		place = l.onLine()
	}
	var counts []expr
	for i := range l.locations {
		counts = append(counts, at(i))
	}
	start := []expr{place, eq(velocity, 0), eq(loaded, 0), eq(sum(counts...), l.packages)}
	if l.park {
		start = append(start, not(parked))
	}
	return and(start...)
}

func (l line) unsafe() expr {
	beyond := ge(truck, l.locations)
	if l.twoWay {
		return or(le(truck, -1), beyond)
	}
	return beyond
}

func (l line) goal() expr {
	return and(eq(at(l.depot), l.packages), eq(truck, l.depot), eq(velocity, 0))
}
