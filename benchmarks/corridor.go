package benchmarks

import (
	"fmt"
	"maps"
	"math/rand/v2"

	"fuzzsafe/nnpolicy"
)

func corridor() Family {
	return Family{
		Name:  "corridor",
		Title: "bird in a gusty corridor with walls",
		Doc: `A bird flies along a corridor of columns 0, …, length and rows 0, …, height−1. Every step
takes it to the next column. flap raises it by one row, fall lowers it by gust+1, and a
gust can raise it by any number up to gust: by flap it rises and by fall it sinks by 1 to
gust+1 rows. In some columns is a wall with a gap.

Unsafe: a wall, or a row that does not exist. Goal: column length. Start: column 0, any row.

Variants:
  laps  the goal may be closed: then the bird is in column 0 again, in a row as usual.
  once  the goal is open.

Layout: the walls are evenly spaced, the first is in column 1. Each gap has room, 2·gust+2
rows, for the bird to hold itself in, and from anywhere in the room of one gap it can
surely get to that of the next, but not much further. So some start rows are safe, and
those more than one row off the first gap are not.

With laps all states that a depth-first search has not refuted hang on each other, for
all lead back to the start. Above the safe rows of a column are some from which fall leads
to safe rows if there is little gust. So they are refuted only after the search has gone
round once more, and what it met on the way has to be explored again: time is quadratic in
the length. With once there are no cycles, and depth-first search is linear.

The policy heads for the middle of the next gap (behind the last one, of that), which is
right but where the next gap is too far up or down for that, and aims one row too high.`,
		Parameters: []Parameter{
			{Name: "length", Doc: "column of the goal", Default: "60", Min: 2, Max: 100_000},
			{Name: "height", Doc: "number of rows", Default: "10", Min: 7, Max: 10_000},
			{Name: "walls", Doc: "number of walls", Default: "15", Min: 1, Max: 10_000},
			{Name: "gap", Doc: "rows of a gap", Default: "6", Min: 4, Max: 9_997},
			{Name: "gust", Doc: "most rows that a gust raises the bird", Default: "2", Min: 1, Max: 100},
			{Name: "seed", Doc: "of the random layout", Default: "1", Min: 0, Max: 1_000_000_000},
			{Name: "variant", Doc: "what happens at the end", Default: "laps", Values: []string{"laps", "once"}},
		},
		generate: func(p Params) (*model, *properties, error) {
			f, err := newFlight(p)
			if err != nil {
				return nil, nil, err
			}
			m, prop := f.generate()
			return m, prop, nil
		},
		policy: func(p Params, m *model) (*nnpolicy.Network, error) {
			f, err := newFlight(p)
			if err != nil {
				return nil, err
			}
			return f.policy(m)
		},
	}
}

// flight holds the parameters of a corridor and its walls.
type flight struct {
	length, height, gap, gust int
	laps                      bool
	walls                     []wall
}

// wall is a wall in column x with a gap whose lowest row is low.
type wall struct{ x, low int }

// newFlight lays out the walls. A bird can hold itself in 2·gust+2 rows whatever the
// gusts, flapping in the lower half and falling in the upper half. It can surely get
// there, if no wall is in between, from n more rows on either side within n steps. So it
// is a proof of safety that the rooms of two successive walls, the last and the first one
// included, are no more rows than columns apart.
func newFlight(p Params) (flight, error) {
	f := flight{
		length: p.number("length"),
		height: p.number("height"),
		gap:    p.number("gap"),
		gust:   p.number("gust"),
		laps:   p["variant"] == "laps",
	}
	n, room := p.number("walls"), 2*f.gust+2
	switch {
	case n >= f.length:
		return f, fmt.Errorf("there are %d walls, but only %d columns between start and goal", n, f.length-1)
	case f.gap < room:
		return f, fmt.Errorf("gap is %d, but with gusts of up to %d rows it must be at least %d", f.gap, f.gust, room)
	case f.height < f.gap+3:
		return f, fmt.Errorf("height is %d, but with gaps of %d rows it must be at least %d", f.height, f.gap, f.gap+3)
	}
	random := rand.New(rand.NewPCG(uint64(p.number("seed")), 0))
	first := random.IntN(f.height - room + 1) // lowest row of the room in the first wall
	at := first                               // and in the current one
	for i := range n {
		w := wall{x: 1 + i*(f.length-1)/n}
		if i > 0 { // as far up or down as possible
			steps, back := w.x-f.walls[i-1].x, f.length+1-w.x // back: to the first wall
			down, up := max(0, at-steps, first-back), min(f.height-room, at+steps, first+back)
			at = down
			if random.IntN(2) == 1 {
				at = up
			}
		}
		down, up := max(0, at+room-f.gap), min(at, f.height-f.gap)
		w.low = down + random.IntN(up-down+1)
		f.walls = append(f.walls, w)
	}
	return f, nil
}

// Names in the model.
const (
	column, height = "x", "y"

	flap, sink = "flap", "fall"
)

func (f flight) generate() (*model, *properties) {
	inside := between(0, height, f.height-1)
	last := f.length - 1
	var edges []edge
	for _, a := range []struct {
		name string
		by   int
	}{{flap, 1}, {sink, -1 - f.gust}} {
		var ahead, end [][]assignment
		for gust := range f.gust + 1 {
			ahead = append(ahead, []assignment{change(column, 1), change(height, a.by+gust)})
			end = append(end, []assignment{set(column, 0), change(height, a.by+gust)})
		}
		onTheWay := last
		if f.laps {
			onTheWay--
			edges = append(edges, edge{
				Action:       a.name,
				Guard:        condition{Exp: and(eq(column, last), inside)},
				Destinations: equally(append(ahead[:len(ahead):len(ahead)], end...)...),
			})
		}
		edges = append(edges, edge{
			Action:       a.name,
			Guard:        condition{Exp: and(le(column, onTheWay), inside)},
			Destinations: equally(ahead...),
		})
	}
	m := newModel("corridor",
		fmt.Sprintf("A bird in a corridor of %d columns and %d rows, with %d walls.", f.length, f.height, len(f.walls)),
		"mdp",
		[]string{flap, sink},
		[]variable{
			{column, within(0, f.length), 0, "column"},
			{height, within(-1-f.gust, f.height+f.gust), f.height / 2, "row; below 0 and from the height on it does not exist"},
		},
		edges)
	unsafe := or(le(height, -1), ge(height, f.height), f.inWall(f.walls))
	return m, newProperty("flight", and(eq(column, 0), inside), unsafe, eq(column, f.length))
}

// inWall holds in the walls, which are ordered by column. It finds the wall in question
// by bisection: a disjunction of all of them would be evaluated in every state.
func (f flight) inWall(walls []wall) expr {
	if len(walls) == 1 {
		w := walls[0]
		return and(eq(column, w.x), or(le(height, w.low-1), ge(height, w.low+f.gap)))
	}
	before, behind := walls[:len(walls)/2], walls[len(walls)/2:]
	return or(and(le(column, behind[0].x-1), f.inWall(before)), and(ge(column, behind[0].x), f.inWall(behind)))
}

// policy returns a network that flaps below the row it aims at and falls from there on. If
// it aimed at the upper middle row of the gap, the lowest of the upper half, it would be
// able to stay within the gap once it is there. The mistake: it aims one row higher.
func (f flight) policy(m *model) (*nnpolicy.Network, error) {
	return newNetwork(m, func(c *circuit, in map[string]linear) map[string]linear {
		row := func(w wall) float64 { return float64(w.low + f.gap/2 + 1) }
		aim, here := linear{row(f.walls[0]), make(map[int]float64)}, in[column]
		for i, w := range f.walls[:len(f.walls)-1] {
			if turn := row(f.walls[i+1]) - row(w); turn != 0 {
				passed := c.relu(here.minus(number(float64(w.x - 1)))).minus(c.relu(here.minus(number(float64(w.x))))) // 0 or 1
				maps.Copy(aim.weights, passed.times(turn).weights)
			}
		}
		return map[string]linear{flap: aim.minus(in[height]), sink: number(0.5)}
	})
}
