package benchmarks

import (
	"fmt"

	"fuzzsafe/nnpolicy"
)

func wide() Family {
	return Family{
		Name:  "wide",
		Title: "boat above a waterfall: many actions with many outcomes each",
		Doc: `A boat lies some cells off its pier at cell 0; size cells off begins a waterfall. Action
row_j, from 1 to actions, moves it j cells towards the pier, and then the current takes it
some cells back: in calm water any number below actions, from cell calm on any number
below outcomes. It does not pass the pier.

Unsafe: the waterfall. Goal: the pier. Start: anywhere between.

In calm water a boat is safe: with the last action it surely comes nearer. Beyond, it is
safe if and only if actions ≥ outcomes − 1; otherwise the current can take it further and
further whatever it does. What refutes an action is the last of its many outcomes. A
search that goes into the others first explores all that is between it and the pier
before it learns that a boat at the brink is lost.

The policy rows as hard as it can in the current and as little as it can in calm water, up
to the border of the two.`,
		Parameters: []Parameter{
			{Name: "size", Doc: "distance of the waterfall", Default: "1000", Min: 2, Max: 10_000_000},
			{Name: "calm", Doc: "width of the calm water; 0: half of size", Default: "0", Min: 0, Max: 10_000_000},
			{Name: "actions", Doc: "number of actions", Default: "10", Min: 3, Max: 1000},
			{Name: "outcomes", Doc: "number of outcomes of an action in the current", Default: "50", Min: 1, Max: 1000},
		},
		generate: generateWide,
		policy: func(p Params, m *model) (*nnpolicy.Network, error) {
			return switching(m, distance, calmWater(p), row(1), row(p.number("actions")))
		},
	}
}

const distance = "distance" // variable

// row names the action with a strength.
func row(strength int) string { return fmt.Sprintf("row_%d", strength) }

// calmWater is the first cell that is not calm.
func calmWater(p Params) int {
	if calm := p.number("calm"); calm > 0 {
		return calm
	}
	return p.number("size") / 2
}

func generateWide(p Params) (*model, *properties, error) {
	size, calm, actions, outcomes := p.number("size"), calmWater(p), p.number("actions"), p.number("outcomes")
	if calm > size {
		return nil, nil, fmt.Errorf("calm is %d, but the waterfall is at %d", calm, size)
	}
	if actions*(actions+outcomes) > maxOutcomes {
		return nil, nil, fmt.Errorf("%d actions with %d outcomes in calm water and %d in the current are more than %d in all",
			actions, actions, outcomes, maxOutcomes)
	}
	var names []string
	var edges []edge
	for j := 1; j <= actions; j++ {
		drift := func(n int) []destination {
			var list [][]assignment
			for back := range n {
				var to expr = sum(distance, back-j)
				if back < j {
					to = larger(0, to)
				}
				list = append(list, []assignment{set(distance, to)})
			}
			return equally(list...)
		}
		names = append(names, row(j))
		edges = append(edges,
			edge{Action: row(j), Guard: condition{Exp: between(1, distance, calm-1)}, Destinations: drift(actions)},
			edge{Action: row(j), Guard: condition{Exp: between(calm, distance, size-1)}, Destinations: drift(outcomes)})
	}
	m := newModel("wide",
		fmt.Sprintf("A boat %d cells or less above a waterfall, with %d ways to row and %d outcomes of each in the current.",
			size, actions, outcomes),
		"mdp", names,
		// Calm water or not, a boat that is above the waterfall is carried this far at most.
		[]variable{{distance, within(0, size+max(actions, outcomes)), 1, "from the pier"}},
		edges)
	return m, newProperty("return", between(1, distance, size-1), ge(distance, size), eq(distance, 0)), nil
}

// maxOutcomes bounds the length of the model: each of them takes about a hundred bytes.
const maxOutcomes = 200_000
