package benchmarks

import (
	"fmt"

	"fuzzsafe/nnpolicy"
)

func cycle() Family {
	return Family{
		Name:  "cycle",
		Title: "patrol on a long ring with pits beside it",
		Doc: `A patrol walks round a ring of cells, for ever. Beside each cell of the ring is one of
the shoulder. On the ring it can stray, to the next cell of the shoulder, or walk, to the
next cell of the ring. On the shoulder it can only turn back, which leads to the next cell
of the ring or fails and leads to that of the shoulder. Behind every period-th cell of
the shoulder is a pit instead of the next cell.

Unsafe: a pit. Goal: none. Start: cell 0 of the ring, or of the shoulder.

The ring is safe: always walk. But that holds only because the ring closes, after as many
steps as there are cells. The shoulder is not safe, because turning back can fail up to
the next pit: that takes as many steps as there are cells up to there, and each of them
is first seen to lead to the ring. A search that gives up what it found on the ring
whenever a cell of the shoulder fails takes quadratic time.

The policy walks for 20 cells, on a short ring half of it, and then strays.`,
		Parameters: []Parameter{
			{Name: "n", Doc: "cells of the ring", Default: "1000", Min: 2, Max: 100_000_000},
			{Name: "period", Doc: "cells of the shoulder between two pits; 0: n", Default: "0", Min: 0, Max: 100_000_000},
		},
		generate: generateCycle,
		policy: func(p Params, m *model) (*nnpolicy.Network, error) {
			return switching(m, cell, learned(p.number("n")), walk, stray)
		},
	}
}

// Names in the model, and the values of lane.
const (
	cell, lane        = "cell", "lane"
	stray, walk, back = "stray", "walk", "turn_back"

	onRing, onShoulder, inPit = 0, 1, 2
)

func generateCycle(p Params) (*model, *properties, error) {
	n, period := p.number("n"), p.number("period")
	if period == 0 {
		period = n
	}
	if period > n {
		return nil, nil, fmt.Errorf("period is %d, but there are only %d cells", period, n)
	}
	next := set(cell, mod(sum(cell, 1), n))
	to := func(place int) []assignment { return []assignment{next, set(lane, place)} }
	ring := condition{Exp: eq(lane, onRing)}
	shoulder := func(where expr) condition { return condition{Exp: and(eq(lane, onShoulder), where)} }
	beforePit := eq(mod(cell, period), period-1)
	m := newModel("cycle",
		fmt.Sprintf("A patrol on a ring of %d cells. On the shoulder beside it there is a pit behind every %d cells.", n, period),
		"mdp",
		[]string{stray, walk, back},
		[]variable{
			{cell, within(0, n-1), 0, ""},
			{lane, within(onRing, inPit), onRing, "0: ring, 1: shoulder, 2: pit"},
		},
		[]edge{
			{Action: stray, Guard: ring, Destinations: equally(to(onShoulder))},
			{Action: walk, Guard: ring, Destinations: equally([]assignment{next})},
			{Action: back, Guard: shoulder(not(beforePit)), Destinations: equally(to(onRing), []assignment{next})},
			{Action: back, Guard: shoulder(beforePit), Destinations: equally(to(onRing), []assignment{set(lane, inPit)})},
		})
	return m, newProperty("patrol", and(eq(cell, 0), le(lane, onShoulder)), eq(lane, inPit), false), nil
}
