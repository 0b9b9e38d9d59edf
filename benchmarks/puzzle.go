package benchmarks

import (
	"fmt"

	"fuzzsafe/nnpolicy"
)

func nPuzzle() Family {
	return Family{
		Name:  "n-puzzle",
		Title: "sliding tiles, with an arrangement to be avoided",
		Doc: `Tiles 1, 2, … lie on a board of rows × columns cells, one of which is empty. up, down, left
and right slide the tile that can move in this direction into the empty cell.

Unsafe: tiles 1 and 2 in each other's place, that is in the second and the first cell. Goal:
all tiles in order, and the last cell empty. Start: any arrangement from which the goal can
be reached, but no unsafe one.

Variants:
  det    tiles slide as they should.
  stick  a tile can stick. One that has stuck last cannot be moved until another has been.

There are n!/2 arrangements on n cells from which the goal can be reached. At most one move
leads to an unsafe one. With det one can make any other one and take it back, so all others
are safe. With stick that takes two other tiles: where the empty cell is in a corner, the
only other one can stick. On two columns, more states than those next to unsafe ones are
not safe.

The policy makes the move that brings a tile nearer to its place. The mistake: it knows
nothing of the arrangement to be avoided.`,
		Parameters: []Parameter{
			{Name: "rows", Doc: "rows of the board", Default: "2", Min: 2, Max: 5},
			{Name: "columns", Doc: "columns of the board", Default: "3", Min: 2, Max: 5},
			{Name: "variant", Doc: "what can go wrong", Default: "stick", Values: []string{"det", "stick"}},
		},
		generate: func(p Params) (*model, *properties, error) { return newBoard(p).generate() },
		policy:   func(p Params, m *model) (*nnpolicy.Network, error) { return newBoard(p).policy(m) },
	}
}

// board holds the parameters of an n-puzzle. Cells are numbered from 0, row by row.
type board struct {
	rows, columns int
	stick         bool
}

func newBoard(p Params) board {
	return board{p.number("rows"), p.number("columns"), p["variant"] == "stick"}
}

func (b board) cells() int { return b.rows * b.columns }

// Names in the model.
const stuck = "stuck" // variable

func content(cell int) string { return fmt.Sprintf("cell_%d", cell) }

// slideTo is a direction in which tiles slide, by rows and columns.
type slideTo struct {
	name         string
	down, across int
}

func slides() []slideTo {
	return []slideTo{{"up", -1, 0}, {"down", 1, 0}, {"left", 0, -1}, {"right", 0, 1}}
}

// from returns the cell from which a tile slides into a cell.
func (b board) from(s slideTo, cell int) (source int, ok bool) {
	row, column := cell/b.columns-s.down, cell%b.columns-s.across
	return row*b.columns + column, row >= 0 && row < b.rows && column >= 0 && column < b.columns
}

func (b board) generate() (*model, *properties, error) {
	n := b.cells()
	if n > maxCells {
		return nil, nil, fmt.Errorf("a board of %d × %d has %d cells, more than %d", b.rows, b.columns, n, maxCells)
	}
	var cells, goal []expr
	var variables []variable
	for i := range n {
		cells = append(cells, content(i))
		goal = append(goal, eq(content(i), (i+1)%n))
		variables = append(variables, variable{content(i), within(0, n-1), (i + 1) % n, ""})
	}
	kind := "lts"
	if b.stick {
		kind = "mdp"
		variables = append(variables, variable{stuck, within(0, n-1), 0, "the tile that stuck last; 0: none"})
	}
	var actions []string
	var edges []edge
	for _, s := range slides() {
		actions = append(actions, s.name)
		for i := range n {
			source, ok := b.from(s, i)
			if !ok {
				continue
			}
			guard := eq(content(i), 0)
			outcomes := [][]assignment{{set(content(i), content(source)), set(content(source), 0)}}
			if b.stick {
				guard = and(guard, ne(content(source), stuck))
				outcomes = [][]assignment{append(outcomes[0], set(stuck, 0)), {set(stuck, content(source))}}
			}
			edges = append(edges, edge{Action: s.name, Guard: condition{Exp: guard}, Destinations: equally(outcomes...)})
		}
	}
	m := newModel("n-puzzle", fmt.Sprintf("A board of %d × %d cells with %d tiles.", b.rows, b.columns, n-1),
		kind, actions, variables, edges)
	unsafe := and(eq(content(0), 2), eq(content(1), 1))
	start := []expr{allDifferent(cells), b.solvable(), not(unsafe)}
	if b.stick {
		start = append(start, eq(stuck, 0))
	}
	return m, newProperty("order", and(start...), unsafe, and(goal...)), nil
}

// maxCells keeps the decision diagram of the start condition, whose size is exponential in
// the cells, within what is built by default.
const maxCells = 12

// solvable holds if an even number of exchanges of two tiles leads to the goal, the empty
// cell counting for one more per row that it is away from the last one if the columns are even
// (Johnson and Story, 1879).
func (b board) solvable() expr {
	count := []expr{0}
	for j := range b.cells() {
		for i := range j { // cell i is before cell j
			count = append(count, choose(and(more(content(i), content(j)), ne(content(j), 0)), 1, 0))
		}
		if away := b.rows - 1 - j/b.columns; b.columns%2 == 0 && away%2 == 1 {
			count = append(count, choose(eq(content(j), 0), 1, 0))
		}
	}
	return eq(mod(sum(count...), 2), 0)
}

// distance between a cell and the place of a tile, in rows and columns.
func (b board) distance(cell, tile int) int {
	home := tile - 1
	return max(cell/b.columns-home/b.columns, home/b.columns-cell/b.columns) +
		max(cell%b.columns-home%b.columns, home%b.columns-cell%b.columns)
}

// policy returns a network whose score for a move is 1 if it brings a tile nearer to its
// place, else 0.
func (b board) policy(m *model) (*nnpolicy.Network, error) {
	return newNetwork(m, func(c *circuit, in map[string]linear) map[string]linear {
		scores := make(map[string]linear)
		is := make([][]linear, b.cells()) // by cell and tile: 0 or 1
		for i := range is {
			for tile := range b.cells() {
				is[i] = append(is[i], c.is(in[content(i)], tile))
			}
		}
		for _, s := range slides() {
			score := number(0)
			for i := range b.cells() {
				source, ok := b.from(s, i)
				if !ok {
					continue
				}
				nearer := number(-1) // becomes 0 if cell i is empty and the tile comes nearer
				nearer = nearer.plus(is[i][0])
				for tile := 1; tile < b.cells(); tile++ {
					if b.distance(i, tile) < b.distance(source, tile) {
						nearer = nearer.plus(is[source][tile])
					}
				}
				score = score.plus(c.relu(nearer))
			}
			scores[s.name] = score
		}
		return scores
	})
}
