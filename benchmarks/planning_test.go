package benchmarks

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// game plays a family by its Doc. Its states are the values of the variables, in model
// order; it need not know what happens in states that cannot be reached.
type game struct {
	starts       [][]int
	moves        func(s []int) map[string][][]int // outcomes by applicable action
	unsafe, goal func(s []int) bool
	rule         func(s []int, can map[string][][]int) string // decision of the policy
	states       int                                          // reachable by a formula, 0: there is none
}

// TestPlanningFamilies compares models with games: start states, actions and outcomes of all
// reachable states, safety by a naive fixpoint, and the decisions of the policy. The latter
// has to be wrong somewhere, but not everywhere.
func TestPlanningFamilies(t *testing.T) {
	for _, c := range []struct {
		name string
		game game
	}{
		{"beluga:jigs=4,capacity=2,swaps=2", belugaGame(apron{4, 2, 2, 2, 2})},
		{"beluga:jigs=4,racks=1,lines=1,swaps=4", belugaGame(apron{4, 1, 3, 1, 4})},
		{"beluga:jigs=4,lines=3,swaps=1", belugaGame(apron{4, 2, 3, 3, 1})},
		{"beluga:jigs=5,lines=1,swaps=0", belugaGame(apron{5, 2, 3, 1, 0})},
		{"blocksworld", blocksGame(table{5, 4, 6, false})},
		{"blocksworld:blocks=4,limit=3", blocksGame(table{4, 3, 6, false})},
		{"blocksworld:blocks=4,limit=3,bound=2,variant=cost", blocksGame(table{4, 3, 2, true})},
		{"blocksworld:blocks=4,limit=3,bound=5,variant=cost", blocksGame(table{4, 3, 5, true})},
		{"n-puzzle", puzzleGame(board{2, 3, true})},
		{"n-puzzle:variant=det", puzzleGame(board{2, 3, false})},
		{"n-puzzle:rows=3,columns=2", puzzleGame(board{3, 2, true})},
		{"n-puzzle:rows=4,columns=2,variant=det", puzzleGame(board{4, 2, false})},
		{"racetrack", raceGame(course{12, 3, 3})},
		{"racetrack:length=6,width=2,speed=2", raceGame(course{6, 2, 2})},
		{"racetrack:length=16,width=5,speed=4", raceGame(course{16, 5, 4})},
	} {
		t.Run(c.name, func(t *testing.T) { c.game.compare(t, c.name) })
	}
}

func (g game) compare(t *testing.T, name string) {
	task, policy := opened(t, name)
	sp, err := engine.NewSpace(t.Context(), task, engine.Options{Policy: policy})
	must(t, err)
	want := make(map[string]bool)
	for _, s := range g.starts {
		want[fmt.Sprint(s)] = true
	}
	var ids []engine.StateID
	for _, values := range starts(t, task) {
		s, err := sp.Intern(values)
		must(t, err)
		ids = append(ids, s)
		if !want[fmt.Sprint(integers(sp, s))] {
			t.Fatalf("%s is a start state", sp.Describe(s))
		}
	}
	if len(ids) != len(want) || len(want) != len(g.starts) {
		t.Errorf("there are %d start states, want %d different ones of %d", len(ids), len(want), len(g.starts))
	}

	// What is beyond unsafe states and goals is compared as well.
	all, seen := slices.Clone(ids), make(map[engine.StateID]bool)
	for _, s := range ids {
		seen[s] = true
	}
	successors := make(map[engine.StateID][][]engine.StateID) // by action
	var ordinary []engine.StateID
	for k := 0; k < len(all); k++ {
		s := all[k]
		values := integers(sp, s)
		can := g.moves(values)
		n, err := sp.NumActions(s)
		must(t, err)
		if n != len(can) {
			t.Fatalf("in %s there are %d actions, want %v", sp.Describe(s), n, slices.Sorted(maps.Keys(can)))
		}
		for a := range n {
			to, want := outcomes(t, sp, s, a), make(map[string]bool)
			for _, o := range can[sp.ActionName(s, a)] {
				want[fmt.Sprint(o)] = true
			}
			strange := func(o engine.StateID) bool { return !want[fmt.Sprint(integers(sp, o))] }
			if len(to) != len(want) || slices.ContainsFunc(to, strange) {
				t.Fatalf("in %s the outcomes of %s are wrong: there are %d, want %v", sp.Describe(s), sp.ActionName(s, a), len(to), want)
			}
			successors[s] = append(successors[s], to)
			for _, o := range to {
				if !seen[o] {
					seen[o] = true
					all = append(all, o)
				}
			}
		}
		class, err := sp.Class(s)
		must(t, err)
		if wanted := g.class(values); class != wanted {
			t.Fatalf("%s is of class %v, want %v", sp.Describe(s), class, wanted)
		}
		if class != engine.ClassOrdinary {
			continue
		}
		ordinary = append(ordinary, s)
		if n > 0 {
			a, err := sp.Decision(s)
			must(t, err)
			if got, want := sp.ActionName(s, a), g.rule(values, can); got != want {
				t.Fatalf("in %s the policy says %s, want %s", sp.Describe(s), got, want)
			}
		}
	}
	if g.states > 0 && len(all) != g.states {
		t.Errorf("there are %d states, want %d", len(all), g.states)
	}

	lost := g.lost(t, sp, all, successors)
	failing := make(map[engine.StateID]bool) // by the policy
	for changed := true; changed; {
		changed = false
		for _, s := range all {
			if class, _ := sp.Class(s); class == engine.ClassUnsafe && !failing[s] {
				failing[s], changed = true, true
			} else if class == engine.ClassOrdinary && !failing[s] && len(successors[s]) > 0 {
				a, err := sp.Decision(s)
				must(t, err)
				if slices.ContainsFunc(successors[s][a], func(o engine.StateID) bool { return failing[o] }) {
					failing[s], changed = true, true
				}
			}
		}
	}
	d, err := algorithms.NewDecider(algorithms.DeciderNames()[0], sp, algorithms.Infinite)
	must(t, err)
	for _, s := range ordinary {
		a, err := d.Decide(t.Context(), s)
		must(t, err)
		if (a.Verdict == algorithms.Safe) == lost[s] {
			t.Fatalf("%s is %s, want safe: %t", sp.Describe(s), a.Verdict, !lost[s])
		}
	}
	bugs, good := 0, 0
	for _, s := range ids {
		if !failing[s] {
			good++
		} else if !lost[s] {
			bugs++
		}
	}
	if bugs == 0 {
		t.Error("the policy is safe in all safe start states")
	}
	t.Logf("%d states, %d starts, %d of them bugs, in %d the policy is safe", len(all), len(ids), bugs, good)
}

func (g game) class(s []int) engine.Class {
	switch {
	case g.unsafe(s):
		return engine.ClassUnsafe
	case g.goal(s):
		return engine.ClassGoal
	}
	return engine.ClassOrdinary
}

// lost returns the states that are not safe.
func (g game) lost(t *testing.T, sp *engine.Space, all []engine.StateID, successors map[engine.StateID][][]engine.StateID) map[engine.StateID]bool {
	lost := make(map[engine.StateID]bool)
	isLost := func(s engine.StateID) bool { return lost[s] }
	for changed := true; changed; {
		changed = false
		for _, s := range all {
			class, err := sp.Class(s)
			must(t, err)
			hopeless := class == engine.ClassUnsafe
			if class == engine.ClassOrdinary && len(successors[s]) > 0 {
				hopeless = !slices.ContainsFunc(successors[s], func(to []engine.StateID) bool { return !slices.ContainsFunc(to, isLost) })
			}
			if hopeless && !lost[s] {
				lost[s], changed = true, true
			}
		}
	}
	return lost
}

// integers returns the values of all variables, without locations.
func integers(sp *engine.Space, s engine.StateID) (list []int) {
	for i, v := range sp.Values(s) {
		if sp.Model().Vars[i].Kind != jani.VarLocation {
			list = append(list, int(v))
		}
	}
	return list
}

// arrangements returns all orders of some numbers.
func arrangements(numbers []int) (list [][]int) {
	if len(numbers) == 0 {
		return [][]int{nil}
	}
	for i, first := range numbers {
		rest := slices.Delete(slices.Clone(numbers), i, i+1)
		for _, others := range arrangements(rest) {
			list = append(list, append([]int{first}, others...))
		}
	}
	return list
}

func upTo(n int) (list []int) {
	for i := 1; i <= n; i++ {
		list = append(list, i)
	}
	return list
}

func factorial(n int) int {
	if n == 0 {
		return 1
	}
	return n * factorial(n-1)
}

// yard is a state of the beluga family.
type yard struct {
	plane       []int
	trailer     int
	racks       [][]int
	lines       []int
	call, swaps int
}

func (a apron) yard(s []int) (y yard) {
	take := func(n int) []int {
		part := s[:n]
		s = s[n:]
		return slices.DeleteFunc(slices.Clone(part), func(x int) bool { return x == 0 })
	}
	y.plane = take(a.jigs)
	y.trailer, s = s[0], s[1:]
	for range a.racks {
		y.racks = append(y.racks, take(a.capacity))
	}
	y.lines = slices.Clone(s[:a.lines])
	y.call, y.swaps = s[a.lines], s[a.lines+1]
	return y
}

func (a apron) values(y yard) []int {
	fill := func(list []int, n int) []int { return append(slices.Clone(list), make([]int, n-len(list))...) }
	s := append(fill(y.plane, a.jigs), y.trailer)
	for _, r := range y.racks {
		s = append(s, fill(r, a.capacity)...)
	}
	return append(append(s, y.lines...), y.call, y.swaps)
}

func belugaGame(a apron) (g game) {
	empty := make([][]int, a.racks)
	for _, order := range arrangements(upTo(a.jigs)) {
		for call := 1; call <= a.lines; call++ {
			g.starts = append(g.starts, a.values(yard{order, 0, empty, upTo(a.lines), call, 0}))
		}
	}
	g.moves = func(s []int) map[string][][]int {
		can := make(map[string][][]int)
		do := func(action string, change func(*yard)) {
			y := a.yard(s)
			change(&y)
			can[action] = append(can[action], a.values(y))
		}
		y := a.yard(s)
		if y.trailer == 0 && len(y.plane) > 0 {
			do("unload", func(y *yard) { y.trailer, y.plane = y.plane[0], y.plane[1:] })
		}
		for i, rack := range y.racks {
			if y.trailer > 0 && len(rack) < a.capacity {
				do(fmt.Sprintf("push_%d", i+1), func(y *yard) { y.racks[i], y.trailer = append(rack, y.trailer), 0 })
			}
			for next := 1; next <= a.lines && len(rack) > 0 && rack[0] == y.lines[y.call-1]; next++ {
				do(fmt.Sprintf("deliver_%d", i+1), func(y *yard) {
					y.racks[i] = rack[1:]
					line := &y.lines[y.call-1]
					if *line += a.lines; *line > a.jigs {
						*line = 0
					}
					y.call = next
				})
			}
			switch name := fmt.Sprintf("swap_%d", i+1); {
			case y.swaps > a.swaps || len(rack) < 2:
			case len(rack) == a.capacity:
				do(name, func(y *yard) { y.swaps = a.swaps + 1 })
			default:
				do(name, func(y *yard) { y.racks[i], y.swaps = append(rack[1:], rack[0]), y.swaps+1 })
			}
		}
		for next := 1; next <= a.lines; next++ {
			if y.lines[y.call-1] == 0 && next != y.call {
				do("wait", func(y *yard) { y.call = next })
			}
		}
		return can
	}
	g.unsafe = func(s []int) bool { return a.yard(s).swaps > a.swaps }
	g.goal = func(s []int) bool { return !slices.ContainsFunc(a.yard(s).lines, func(j int) bool { return j > 0 }) }
	g.rule = func(s []int, can map[string][][]int) string {
		least := func(action string) (best string) {
			jigs := a.capacity + 1
			for i, rack := range a.yard(s).racks {
				if name := fmt.Sprintf("%s_%d", action, i+1); can[name] != nil && len(rack) < jigs {
					best, jigs = name, len(rack)
				}
			}
			return best
		}
		for _, name := range []string{"wait", least("deliver"), least("push"), "unload", least("swap")} {
			if can[name] != nil {
				return name
			}
		}
		return ""
	}
	return g
}

func blocksGame(b table) (g game) {
	n := b.blocks
	clear := func(s []int, block int) bool { return !slices.Contains(s[:n], block) }
	hand := func(s []int) int { return s[n] }
	g.moves = func(s []int) map[string][][]int {
		can := make(map[string][][]int)
		spent := 0
		for _, c := range s[n+2:] {
			spent += c
		}
		if b.cost && spent >= b.bound {
			return can
		}
		// place puts a block somewhere: -1 into the hand.
		place := func(s []int, block, where int) []int {
			s = slices.Clone(s)
			s[n] = 0
			if s[block-1] == 0 {
				s[n+1]--
			}
			switch s[block-1] = where; where {
			case -1:
				s[n] = block
			case 0:
				s[n+1]++
			}
			return s
		}
		do := func(action string, block, where, otherwise int) {
			failed := place(s, block, otherwise)
			if b.cost {
				failed[n+1+block]++
			}
			can[action] = append(can[action], place(s, block, where), failed)
		}
		for block := 1; block <= n; block++ {
			name := fmt.Sprintf("block_%d", block)
			switch held := hand(s); {
			case !clear(s, block) || held == block:
			case held > 0:
				do(name, held, block, 0)
			default:
				do(name, block, -1, s[block-1])
			}
		}
		if held := hand(s); held > 0 {
			do("table", held, 0, -1)
		}
		return can
	}
	g.unsafe = func(s []int) bool { return s[n+1] > b.limit }
	goal := append(upTo(n)[1:], 0)
	g.goal = func(s []int) bool { return slices.Equal(s[:n], goal) }
	g.rule = func(s []int, can map[string][][]int) string {
		held := hand(s)
		if held == 0 { // the highest that is not in place, else the highest
			for _, anyway := range []bool{false, true} {
				for block := n; block > 0; block-- {
					if name := fmt.Sprintf("block_%d", block); can[name] != nil && (anyway || s[block-1] != goal[block-1]) {
						return name
					}
				}
			}
		}
		if name := fmt.Sprintf("block_%d", held+1); can[name] != nil {
			return name
		}
		if s[n+1] < b.limit {
			return "table"
		}
		for block := 1; block <= n; block++ {
			if name := fmt.Sprintf("block_%d", block); can[name] != nil {
				return name
			}
		}
		return "table"
	}

	// Every tower is a set of blocks in ascending order.
	towers := 0 // start states by recursion: S(n, k) = k·S(n−1, k) + S(n−1, k−1)
	stirling := map[[2]int]int{{0, 0}: 1}
	for i := 1; i <= n; i++ {
		for k := 1; k <= i; k++ {
			stirling[[2]int{i, k}] = k*stirling[[2]int{i - 1, k}] + stirling[[2]int{i - 1, k - 1}]
			if i == n && k <= b.limit {
				towers += stirling[[2]int{i, k}]
			}
		}
	}
	partitions := [][][]int{nil}
	for block := 1; block <= n; block++ {
		var more [][][]int
		for _, p := range partitions {
			more = append(more, append(slices.Clone(p), []int{block}))
			for i := range p {
				q := slices.Clone(p)
				q[i] = append(slices.Clone(p[i]), block)
				more = append(more, q)
			}
		}
		partitions = more
	}
	size := n + 2
	if b.cost {
		size += n
	}
	for _, p := range partitions {
		if len(p) > b.limit {
			continue
		}
		s := make([]int, size)
		for _, tower := range p {
			for i, block := range tower[1:] {
				s[block-1] = tower[i]
			}
		}
		s[n+1] = len(p)
		g.starts = append(g.starts, s)
	}
	if len(g.starts) != towers {
		panic(fmt.Sprintf("%d start states, want %d", len(g.starts), towers))
	}
	if !b.cost {
		// Ways to put n blocks into towers (A000262): with an empty hand, or with one block in it.
		ways := []int{1, 1}
		for i := 2; i <= n; i++ {
			ways = append(ways, (2*i-1)*ways[i-1]-(i-1)*(i-2)*ways[i-2])
		}
		g.states = ways[n] + n*ways[n-1]
	}
	return g
}

func puzzleGame(b board) (g game) {
	n := b.rows * b.columns
	g.unsafe = func(s []int) bool { return s[0] == 2 && s[1] == 1 }
	goal := append(upTo(n-1), 0)
	g.goal = func(s []int) bool { return slices.Equal(s[:n], goal) }
	slide := func(s []int, down, across int) (to []int, tile int) {
		hole := slices.Index(s[:n], 0)
		row, column := hole/b.columns-down, hole%b.columns-across
		if row < 0 || row >= b.rows || column < 0 || column >= b.columns {
			return nil, 0
		}
		from := row*b.columns + column
		to = slices.Clone(s)
		to[hole], to[from] = s[from], 0
		return to, s[from]
	}
	directions := []struct {
		name         string
		down, across int
	}{{"up", -1, 0}, {"down", 1, 0}, {"left", 0, -1}, {"right", 0, 1}}
	g.moves = func(s []int) map[string][][]int {
		can := make(map[string][][]int)
		for _, d := range directions {
			to, tile := slide(s, d.down, d.across)
			switch {
			case tile == 0 || b.stick && s[n] == tile:
			case b.stick:
				to[n] = 0
				stuck := slices.Clone(s)
				stuck[n] = tile
				can[d.name] = [][]int{to, stuck}
			default:
				can[d.name] = [][]int{to}
			}
		}
		return can
	}
	// far is the sum of the distances of all tiles from their places.
	far := func(s []int) (sum int) {
		for i, tile := range s[:n] {
			if tile > 0 {
				home := tile - 1
				for _, d := range []int{i/b.columns - home/b.columns, i%b.columns - home%b.columns} {
					sum += max(d, -d)
				}
			}
		}
		return sum
	}
	g.rule = func(s []int, can map[string][][]int) string {
		for _, d := range directions {
			if to := can[d.name]; to != nil && far(to[0]) < far(s) {
				return d.name
			}
		}
		for _, d := range directions {
			if can[d.name] != nil {
				return d.name
			}
		}
		return ""
	}

	// The arrangements from which the goal can be reached are those that can be reached from it.
	first := slices.Clone(goal)
	if b.stick {
		first = append(first, 0)
	}
	seen := map[string]bool{fmt.Sprint(first): true}
	reachable := [][]int{first}
	for k := 0; k < len(reachable); k++ {
		for _, d := range directions {
			if to, tile := slide(reachable[k], d.down, d.across); tile > 0 && !seen[fmt.Sprint(to)] {
				seen[fmt.Sprint(to)] = true
				reachable = append(reachable, to)
			}
		}
	}
	for _, s := range reachable {
		if !g.unsafe(s) {
			g.starts = append(g.starts, s)
		}
	}
	if len(reachable) != factorial(n)/2 {
		panic(fmt.Sprintf("%d arrangements on %d cells", len(reachable), n))
	}
	g.states = b.arrangements()
	return g
}

// arrangements is the number of states, by formula: (n−1)!/2 with the empty cell in each cell,
// and with sticking also one for each of the tiles beside it.
func (b board) arrangements() int {
	n := b.rows * b.columns
	states := n
	if b.stick {
		states += 2 * (b.rows*(b.columns-1) + b.columns*(b.rows-1))
	}
	return factorial(n-1) / 2 * states
}

func raceGame(c course) (g game) {
	bend := c.length - c.width
	onCourse := func(x, y int) bool {
		return y >= 0 && x >= 0 && x < c.length && (y < c.width || x >= bend && y < c.length-1)
	}
	g.goal = func(s []int) bool { return s[0] >= bend && s[0] < c.length && s[1] >= c.length-1 }
	g.unsafe = func(s []int) bool { return !onCourse(s[0], s[1]) && !g.goal(s) }
	signs := map[int]string{-1: "m", 0: "z", 1: "p"}
	g.moves = func(s []int) map[string][][]int {
		can := make(map[string][][]int)
		x, y, vx, vy := s[0], s[1], s[2], s[3]
		if !onCourse(x, y) {
			return can
		}
		for ax := -1; ax <= 1; ax++ {
			for ay := -1; ay <= 1; ay++ {
				wx, wy := vx+ax, vy+ay
				if max(wx, -wx, wy, -wy) > c.speed || vx == 0 && vy == 0 && ax == 0 && ay == 0 {
					continue
				}
				name := "drive_" + signs[ax] + signs[ay]
				can[name] = [][]int{{x + wx, y + wy, wx, wy}}
				if wet := y < c.width && x >= bend-c.width && x < bend; wet {
					can[name] = append(can[name], []int{x + vx, y + vy, vx, vy})
				}
			}
		}
		return can
	}
	g.rule = func(s []int, can map[string][][]int) (best string) {
		half := func(n int) float64 { return float64(n) / 2 }
		wantX := min(half(c.length-c.width-s[0])+half(c.width-1)/2, float64(c.speed))
		wantY := half(c.width-1)/2 - half(s[1])
		if s[0] >= bend {
			wantY = float64(c.speed)
		}
		least := 1e9 // distance from what is wanted, squared
		for ax := -1; ax <= 1; ax++ {
			for ay := -1; ay <= 1; ay++ {
				dx, dy := wantX-float64(s[2]+ax), wantY-float64(s[3]+ay)
				if name := "drive_" + signs[ax] + signs[ay]; can[name] != nil && dx*dx+dy*dy < least {
					best, least = name, dx*dx+dy*dy
				}
			}
		}
		return best
	}
	for x := 0; x < bend-c.width; x++ {
		for y := range c.width {
			for v := 0; v <= c.speed; v++ {
				g.starts = append(g.starts, []int{x, y, v, 0})
			}
		}
	}
	return g
}

// All arrangements of the eight-puzzle that can be reached, by formula.
func TestEightPuzzle(t *testing.T) {
	for variant, b := range map[string]board{"det": {3, 3, false}, "stick": {3, 3, true}} {
		task, _ := opened(t, "n-puzzle:rows=3,columns=3,variant="+variant)
		initial, err := algorithms.NewStarts(task.Model, task.Model.Initial, algorithms.StartsOptions{})
		must(t, err)
		e, err := engine.Explore(t.Context(), task, initial.All(), engine.Options{}, engine.ExploreOptions{})
		must(t, err)
		if want := b.arrangements(); int(e.States) != want {
			t.Errorf("%s: %d states, want %d", variant, e.States, want)
		}
	}
	task, _ := opened(t, "n-puzzle:rows=3,columns=3,variant=det")
	if n, want := len(starts(t, task)), factorial(9)/2-factorial(7)/2; n != want { // without the unsafe ones
		t.Errorf("%d start states, want %d", n, want)
	}
}
