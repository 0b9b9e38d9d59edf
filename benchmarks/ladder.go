package benchmarks

import (
	"fmt"

	"fuzzsafe/nnpolicy"
)

func ladder() Family {
	return Family{
		Name:  "ladder",
		Title: "climber whose only safe way is tried last",
		Doc: `A climber on a ladder with rungs 0, …, k. On every rung but the last, climb leads to
the next one, while run and jump lead there or to the ground. On the last rung the only
action is to slide back to rung 0.

Unsafe: the ground. Goal: none. Start: rung 0.

Rung 0 is safe: always climb. But rung i+1 is met as an outcome of run, of jump and of
climb, in this order, and what is safe there hangs on rung 0, which is undecided as long
as the search is on its way. A search that forgets what it found below an action that
failed takes 3^k steps; 3k+1 are enough.

The policy climbs the first 20 rungs, on a short ladder half of them, and runs up the rest.`,
		Parameters: []Parameter{{Name: "k", Doc: "number of the last rung", Default: "1000", Min: 2, Max: 100_000_000}},
		generate:   generateLadder,
		policy: func(p Params, m *model) (*nnpolicy.Network, error) {
			return switching(m, rung, learned(p.number("k")), climb, dash)
		},
	}
}

// Names in the model.
const (
	rung = "rung"

	dash, jump, climb, slide = "run", "jump", "climb", "slide"
)

// learned is how far on a way of n steps the policies of some families do it right: a
// short way, so that runs come to its end, and not all of it.
func learned(n int) int { return min(20, (n+1)/2) }

func generateLadder(p Params) (*model, *properties, error) {
	k := p.number("k")
	ground := k + 1
	up, fall := []assignment{change(rung, 1)}, []assignment{set(rung, ground)}
	below := condition{Exp: le(rung, k-1)}
	m := newModel("ladder",
		fmt.Sprintf("A climber on a ladder with rungs 0 to %d must not fall. From the last rung a slide leads to rung 0.", k),
		"mdp",
		[]string{dash, jump, climb, slide},
		[]variable{{rung, within(0, ground), 0, fmt.Sprintf("%d is the ground", ground)}},
		[]edge{
			{Action: dash, Guard: below, Destinations: equally(up, fall)},
			{Action: jump, Guard: below, Destinations: equally(up, fall)},
			{Action: climb, Guard: below, Destinations: equally(up)},
			{Action: slide, Guard: condition{Exp: eq(rung, k)}, Destinations: equally([]assignment{set(rung, 0)})},
		})
	return m, newProperty("climb", eq(rung, 0), eq(rung, ground), false), nil
}
