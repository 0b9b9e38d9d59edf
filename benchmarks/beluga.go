package benchmarks

import (
	"fmt"

	"fuzzsafe/nnpolicy"
)

func beluga() Family {
	return Family{
		Name:  "beluga",
		Title: "jigs from a transport plane that go through racks to production lines",
		Doc: `A Beluga transport plane brings jigs (frames with aircraft parts) 1, 2, … in any order to
a factory. unload takes the next one from the plane onto the trailer. push_R moves it from
there to the end of rack R. Racks are open on both sides, and what is first in a rack can
go to a production line: each line needs its jigs in ascending order, and one of the lines
calls for its next one. deliver_R takes that from the front of rack R, and then any line
can call. If a line calls that has got all, wait passes its turn to any other.

If no rack has the right jig in front, swap_R takes the first one of a rack of two or more
to its end. There is time for some swaps only, and none in a full rack: there the jig
finds no place any more.

Unsafe: a swap too many, or in a full rack. Goal: all lines have got all. Start: all jigs
on the plane in any order, any line calls.

Jigs j, j+lines, j+2·lines, … are for one line. When all racks are full, the trailer is
loaded and no first jig is called for, an unsafe swap is all that is left. So a state is
safe if the racks can be filled and turned in such a way that whatever is called for is or
comes to the front.

The policy delivers what it can, pushes jigs into the rack with the least in it, and swaps,
there also, when nothing else can be done. The mistake: it always unloads rather than
swaps, and fills the racks up before it looks for what is called for.`,
		Parameters: []Parameter{
			{Name: "jigs", Doc: "number of jigs", Default: "5", Min: 2, Max: 10},
			{Name: "racks", Doc: "number of racks", Default: "2", Min: 1, Max: 6},
			{Name: "capacity", Doc: "jigs in a rack", Default: "3", Min: 2, Max: 8},
			{Name: "lines", Doc: "number of production lines", Default: "2", Min: 1, Max: 4},
			{Name: "swaps", Doc: "swaps that there is time for", Default: "3", Min: 0, Max: 100},
		},
		generate: func(p Params) (*model, *properties, error) { return newApron(p).generate() },
		policy:   func(p Params, m *model) (*nnpolicy.Network, error) { return newApron(p).policy(m) },
	}
}

// apron holds the parameters of a Beluga task.
type apron struct{ jigs, racks, capacity, lines, swaps int }

func newApron(p Params) apron {
	return apron{p.number("jigs"), p.number("racks"), p.number("capacity"), p.number("lines"), p.number("swaps")}
}

// Names in the model. Places, racks and lines are numbered from 1; what is empty is 0.
const (
	trailer, call, swaps = "trailer", "call", "swaps"

	unload, pass = "unload", "wait"
)

func onPlane(place int) string      { return fmt.Sprintf("plane_%d", place) }
func inRack(rack, place int) string { return fmt.Sprintf("rack_%d_%d", rack, place) }
func wanted(line int) string        { return fmt.Sprintf("line_%d", line) }
func pushTo(rack int) string        { return fmt.Sprintf("push_%d", rack) }
func deliver(rack int) string       { return fmt.Sprintf("deliver_%d", rack) }
func swapIn(rack int) string        { return fmt.Sprintf("swap_%d", rack) }

func (a apron) generate() (*model, *properties, error) {
	if a.lines > a.jigs {
		return nil, nil, fmt.Errorf("there are %d lines, but only %d jigs", a.lines, a.jigs)
	}
	actions := []string{unload}
	for r := 1; r <= a.racks; r++ {
		actions = append(actions, pushTo(r))
	}
	for r := 1; r <= a.racks; r++ {
		actions = append(actions, deliver(r))
	}
	for r := 1; r <= a.racks; r++ {
		actions = append(actions, swapIn(r))
	}
	if a.lines > 1 {
		actions = append(actions, pass)
	}
	m := newModel("beluga",
		fmt.Sprintf("%d jigs from a plane go through %d racks of %d to %d production lines, with time for %d swaps.",
			a.jigs, a.racks, a.capacity, a.lines, a.swaps),
		"mdp", actions, a.variables(), a.edges())
	var done []expr
	for l := 1; l <= a.lines; l++ {
		done = append(done, eq(wanted(l), 0))
	}
	return m, newProperty("production", a.start(), ge(swaps, a.swaps+1), and(done...)), nil
}

func (a apron) variables() []variable {
	var list []variable
	for i := 1; i <= a.jigs; i++ {
		list = append(list, variable{onPlane(i), within(0, a.jigs), i, ""})
	}
	list = append(list, variable{trailer, within(0, a.jigs), 0, ""})
	for r := 1; r <= a.racks; r++ {
		for i := 1; i <= a.capacity; i++ {
			list = append(list, variable{inRack(r, i), within(0, a.jigs), 0, ""})
		}
	}
	for l := 1; l <= a.lines; l++ {
		list = append(list, variable{wanted(l), within(0, a.jigs), l, "the next jig of the line; 0 after the last one"})
	}
	return append(list,
		variable{call, within(1, a.lines), 1, "the line that calls"},
		variable{swaps, within(0, a.swaps+1), 0, fmt.Sprintf("%d: one too many, or one in a full rack", a.swaps+1)})
}

func (a apron) edges() []edge {
	var edges []edge
	add := func(action string, guard expr, destinations ...destination) {
		edges = append(edges, edge{Action: action, Guard: condition{Exp: guard}, Destinations: destinations})
	}
	var plane []string
	for i := 1; i <= a.jigs; i++ {
		plane = append(plane, onPlane(i))
	}
	add(unload, and(eq(trailer, 0), ne(onPlane(1), 0)),
		equally(append(advance(plane, 0), set(trailer, onPlane(1))))...)

	for r := 1; r <= a.racks; r++ {
		var rack []string
		for i := 1; i <= a.capacity; i++ {
			rack = append(rack, inRack(r, i))
		}
		first := rack[0]
		for i, place := range rack {
			guard := []expr{ne(trailer, 0), eq(place, 0)}
			if i > 0 {
				guard = append(guard, ne(rack[i-1], 0))
			}
			add(pushTo(r), and(guard...), equally([]assignment{set(place, trailer), set(trailer, 0)})...)
		}
		for l := 1; l <= a.lines; l++ {
			next := choose(le(wanted(l), a.jigs-a.lines), sum(wanted(l), a.lines), 0)
			var outcomes [][]assignment
			for k := 1; k <= a.lines; k++ {
				outcomes = append(outcomes, append(advance(rack, 0), set(wanted(l), next), set(call, k)))
			}
			add(deliver(r), and(eq(call, l), ne(first, 0), eq(first, wanted(l))), equally(outcomes...)...)
		}
		inTime := le(swaps, a.swaps)
		for n := 2; n < a.capacity; n++ { // jigs in the rack
			add(swapIn(r), and(inTime, ne(rack[n-1], 0), eq(rack[n], 0)),
				equally(append(advance(rack[:n], first), change(swaps, 1)))...)
		}
		add(swapIn(r), and(inTime, ne(rack[a.capacity-1], 0)), equally([]assignment{set(swaps, a.swaps+1)})...)
	}

	for l := 1; l <= a.lines && a.lines > 1; l++ {
		var outcomes [][]assignment
		for k := 1; k <= a.lines; k++ {
			if k != l {
				outcomes = append(outcomes, []assignment{set(call, k)})
			}
		}
		add(pass, and(eq(call, l), eq(wanted(l), 0)), equally(outcomes...)...)
	}
	return edges
}

// advance moves what is in a row of places one place forward and puts something in the last.
func advance(places []string, last expr) []assignment {
	var list []assignment
	for i, place := range places[1:] {
		list = append(list, set(places[i], place))
	}
	return append(list, set(places[len(places)-1], last))
}

func (a apron) start() expr {
	var jigs, start []expr
	for i := 1; i <= a.jigs; i++ {
		jigs = append(jigs, onPlane(i))
		start = append(start, ge(onPlane(i), 1))
	}
	start = append(start, allDifferent(jigs), eq(trailer, 0), eq(swaps, 0))
	for r := 1; r <= a.racks; r++ {
		for i := 1; i <= a.capacity; i++ {
			start = append(start, eq(inRack(r, i), 0))
		}
	}
	for l := 1; l <= a.lines; l++ {
		start = append(start, eq(wanted(l), l))
	}
	return and(start...)
}

// policy returns a network for the rule that the Doc states. What it wants may not be
// applicable, and is then passed over.
func (a apron) policy(m *model) (*nnpolicy.Network, error) {
	return newNetwork(m, func(c *circuit, in map[string]linear) map[string]linear {
		scores := map[string]linear{unload: number(50), pass: number(400)}
		for r := 1; r <= a.racks; r++ {
			room := number(0)
			for i := 1; i <= a.capacity; i++ {
				room = room.plus(c.relu(number(1).minus(in[inRack(r, i)])))
			}
			scores[deliver(r)] = number(300)
			scores[pushTo(r)] = room.plus(number(100))
			scores[swapIn(r)] = room
		}
		return scores
	})
}
