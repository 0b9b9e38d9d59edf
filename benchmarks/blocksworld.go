package benchmarks

import (
	"fmt"

	"fuzzsafe/nnpolicy"
)

func blocksworld() Family {
	return Family{
		Name:  "blocksworld",
		Title: "gripper that stacks blocks on a small table",
		Doc: `Blocks 1, 2, … stand in towers on a table that holds limit of them side by side. If the
gripper is empty, block_B picks block B up, if nothing is on it. If it holds a block,
block_B puts that on block B, if nothing is on it, and table puts it on the table.

A move can fail: what is to be picked up or put on the table stays where it is, but what
is to be put on a block falls on the table.

Unsafe: more than limit blocks on the table. Goal: one tower, with block 1 on 2 on 3 and so
on. Start: up to limit towers in which numbers ascend upwards.

Variants:
  plain  failing costs nothing.
  cost   every failure costs 1 on the account of the block in question, and once the sum of
         all accounts has reached the bound, nothing moves any more.

A state is safe as long as a block that falls finds room: with a full table it must come
from the table. In the models that the domain is known by, no block falls; then all states
with limit blocks or less on the table would be safe. Costs make more states safe: a gripper
that fails all the time stops.

The policy puts a block on its place if it can, else on the table if there is room, else on
any block; empty, it picks up the block with the highest number that is not in place. The
mistake: it minds the limit, but not that blocks fall.`,
		Parameters: []Parameter{
			{Name: "blocks", Doc: "number of blocks", Default: "5", Min: 2, Max: 12},
			{Name: "limit", Doc: "blocks that the table holds", Default: "4", Min: 1, Max: 11},
			{Name: "bound", Doc: "of the sum of costs", Default: "6", Min: 1, Max: 1000},
			{Name: "variant", Doc: "whether failing costs", Default: "plain", Values: []string{"plain", "cost"}},
		},
		generate: func(p Params) (*model, *properties, error) { return newTable(p).generate() },
		policy:   func(p Params, m *model) (*nnpolicy.Network, error) { return newTable(p).policy(m) },
	}
}

// table holds the parameters of a blocksworld.
type table struct {
	blocks, limit, bound int
	cost                 bool
}

func newTable(p Params) table {
	return table{p.number("blocks"), p.number("limit"), p.number("bound"), p["variant"] == "cost"}
}

// Names in the model. Blocks are numbered from 1.
const (
	hand, onTable = "hand", "on_table" // variables

	putOnTable = "table" // action
	failing    = "fail"  // probability

	inHand = -1 // where a block can be: there, on the table (0), on a block
)

func under(block int) string       { return fmt.Sprintf("under_%d", block) }
func cost(block int) string        { return fmt.Sprintf("cost_%d", block) }
func chooseBlock(block int) string { return fmt.Sprintf("block_%d", block) }

func (t table) generate() (*model, *properties, error) {
	if t.limit >= t.blocks {
		return nil, nil, fmt.Errorf("limit is %d, but there are only %d blocks", t.limit, t.blocks)
	}
	actions := []string{putOnTable}
	for b := 1; b <= t.blocks; b++ {
		actions = append(actions, chooseBlock(b))
	}
	m := newModel("blocksworld",
		fmt.Sprintf("A gripper makes one tower of %d blocks on a table that holds %d.", t.blocks, t.limit),
		"mdp", actions, t.variables(), t.edges())
	m.Constants = []constant{{failing, "real", 0.5, "probability that a move fails"}}
	var goal []expr
	for b := 1; b <= t.blocks; b++ {
		goal = append(goal, eq(under(b), (b+1)%(t.blocks+1)))
	}
	return m, newProperty("tower", t.start(), ge(onTable, t.limit+1), and(goal...)), nil
}

func (t table) variables() []variable {
	var list []variable
	for b := 1; b <= t.blocks; b++ { // at first one tower, upside down
		list = append(list, variable{under(b), within(inHand, t.blocks), b - 1, "the block below; 0: the table, -1: the gripper"})
	}
	list = append(list,
		variable{hand, within(0, t.blocks), 0, "the block that the gripper holds"},
		variable{onTable, within(0, t.blocks), 1, "number of blocks on the table"})
	for b := 1; b <= t.blocks && t.cost; b++ {
		list = append(list, variable{cost(b), within(0, t.bound), 0, ""})
	}
	return list
}

// clear holds if nothing is on a block. One in the gripper is clear, too.
func (t table) clear(block int) expr {
	var free []expr
	for b := 1; b <= t.blocks; b++ {
		if b != block {
			free = append(free, ne(under(b), block))
		}
	}
	return and(free...)
}

func (t table) edges() []edge {
	var edges []edge
	add := func(action string, block int, guard expr, done, fails []assignment) {
		if t.cost {
			var costs []expr
			for b := 1; b <= t.blocks; b++ {
				costs = append(costs, cost(b))
			}
			guard = and(guard, le(sum(costs...), t.bound-1))
			fails = append(fails[:len(fails):len(fails)], change(cost(block), 1))
		}
		edges = append(edges, edge{
			Action: action, Guard: condition{Exp: guard},
			Destinations: unless(destination{Assignments: done},
				destination{Comment: "fails", Probability: chance(failing), Assignments: fails}),
		})
	}
	stays := []assignment{}
	for b := 1; b <= t.blocks; b++ {
		pick := []assignment{set(under(b), inHand), set(hand, b)}
		add(chooseBlock(b), b, and(eq(hand, 0), eq(under(b), 0), t.clear(b)), append(pick, change(onTable, -1)), stays)
		add(chooseBlock(b), b, and(eq(hand, 0), ge(under(b), 1), t.clear(b)), pick, stays)
		lies := []assignment{set(under(b), 0), set(hand, 0), change(onTable, 1)}
		add(putOnTable, b, eq(hand, b), lies, stays)
		for on := 1; on <= t.blocks; on++ {
			if on != b {
				add(chooseBlock(on), b, and(eq(hand, b), t.clear(on)), []assignment{set(under(b), on), set(hand, 0)}, lies)
			}
		}
	}
	return edges
}

// start: each block is on the table or on one with a lower number, and no two are on the same.
// So towers are blocks of a partition, and the start states as many as there are partitions
// into limit blocks or less: a sum of Stirling numbers of the second kind.
func (t table) start() expr {
	var start, lying []expr
	for b := 1; b <= t.blocks; b++ {
		start = append(start, between(0, under(b), b-1))
		lying = append(lying, choose(eq(under(b), 0), 1, 0))
		for other := 1; other < b; other++ {
			start = append(start, or(eq(under(b), 0), ne(under(b), under(other))))
		}
	}
	start = append(start, eq(hand, 0), eq(onTable, sum(lying...)), le(onTable, t.limit))
	for b := 1; b <= t.blocks && t.cost; b++ {
		start = append(start, eq(cost(b), 0))
	}
	return and(start...)
}

// policy returns a network for the rule that the Doc states. What it wants may not be
// applicable, and is then passed over.
func (t table) policy(m *model) (*nnpolicy.Network, error) {
	return newNetwork(m, func(c *circuit, in map[string]linear) map[string]linear {
		const loaded = 1000                                               // weight of the gripper: with a block in it, the score for picking up is 0
		excess := c.relu(in[onTable].minus(number(float64(t.limit - 1)))) // 0 if there is room
		scores := map[string]linear{putOnTable: number(0.5).minus(excess)}
		for b := 1; b <= t.blocks; b++ {
			inPlace := c.is(in[under(b)], (b+1)%(t.blocks+1))
			wanted := number(float64(t.blocks + b)).minus(inPlace.times(float64(t.blocks)))
			pickUp := c.relu(wanted.minus(in[hand].times(loaded)))
			scores[chooseBlock(b)] = pickUp
			if b > 1 {
				scores[chooseBlock(b)] = pickUp.plus(c.is(in[hand], b-1))
			}
		}
		return scores
	})
}
