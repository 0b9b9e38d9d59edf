package main

import (
	"cmp"
	"math"
	"slices"

	"fuzzsafe/algorithms"
)

const (
	// nearFactor and nearFloor say when a time is as good as the fastest: within 10 % of
	// it, or less than 5 ms above, which is what the operating system and the garbage
	// collector add to a process now and then.
	nearFactor = 1.1
	nearFloor  = 0.005 // seconds
)

// row is one question, an instance and a radius, with how each solver did.
type row struct {
	Instance string
	Radius   algorithms.Radius
	States   int // of the instance; 0 if no run got to know
	Entries  []entry
}

// entry sums up the repetitions of one solver in one row.
type entry struct {
	Solver string
	// Status is the worst of all repetitions, "" if there is none; Short is how many are
	// not complete, of Runs.
	Status      cellStatus
	Runs, Short int
	// Decided counts the states that all repetitions decided: the least that can be
	// expected. Safe and Unsafe are its parts.
	Decided, Safe, Unsafe int
	Pairs                 int64   // the most of all repetitions
	Peak                  int64   // likewise, bytes
	Median, Least, Most   float64 // seconds, if all repetitions are complete
	Expected, Disagree    int     // the most of all repetitions
	// times holds, in ascending order, when the Decided states were decided, in seconds:
	// since the start of the run or, if nothing is shared, since the state's turn.
	times []float64
}

// complete returns whether every state was decided in every repetition.
func (e *entry) complete() bool { return e.Status == cellComplete }

// near returns whether e is as good as the fastest of its row.
func (r *row) near(e *entry) bool {
	best := r.fastest()
	return e.complete() && (e.Median <= best*nearFactor || e.Median-best < nearFloor)
}

// fastest returns the least median time in the row, ∞ if no solver decided all of it.
func (r *row) fastest() float64 {
	best := math.Inf(1)
	for i := range r.Entries {
		if e := &r.Entries[i]; e.complete() {
			best = min(best, e.Median)
		}
	}
	return best
}

// entry returns what is known about a solver.
func (r *row) entry(solver string) *entry {
	return &r.Entries[slices.IndexFunc(r.Entries, func(e entry) bool { return e.Solver == solver })]
}

// rowsOf sums up cells, in the order in which rows first appear; every row has an entry
// for every solver. Interrupted repetitions count only where there is no other, those of
// instances that cannot be analysed never.
func rowsOf(cells []cell, solvers []string, fresh bool) []row {
	type key struct {
		instance string
		radius   algorithms.Radius
	}
	states := map[string]int{}
	runs := map[key]map[string][]*cell{}
	var order []key
	for i := range cells {
		c := &cells[i]
		if c.Status == cellBadInput {
			continue
		}
		states[c.Instance] = max(states[c.Instance], c.States)
		k := key{c.Instance, c.radius}
		if runs[k] == nil {
			runs[k] = map[string][]*cell{}
			order = append(order, k)
		}
		runs[k][c.Solver] = append(runs[k][c.Solver], c)
	}
	rows := make([]row, 0, len(order))
	for _, k := range order {
		r := row{Instance: k.instance, Radius: k.radius, States: states[k.instance]}
		for _, solver := range solvers {
			list := runs[k][solver]
			ended := slices.DeleteFunc(slices.Clone(list), func(c *cell) bool { return c.Status == cellInterrupted })
			if len(ended) == 0 {
				ended = list
			}
			r.Entries = append(r.Entries, entryOf(solver, ended, fresh))
		}
		rows = append(rows, r)
	}
	return rows
}

func entryOf(solver string, runs []*cell, fresh bool) entry {
	e := entry{Solver: solver, Runs: len(runs)}
	severity := []cellStatus{cellComplete, cellStates, cellTime, cellMemory, cellInterrupted, cellFailed}
	var seconds []float64
	for _, c := range runs {
		if slices.Index(severity, c.Status) > slices.Index(severity, e.Status) {
			e.Status = c.Status
		}
		if c.Status != cellComplete {
			e.Short++
		}
		seconds = append(seconds, c.Spent)
		e.Pairs, e.Peak = max(e.Pairs, c.Pairs), max(e.Peak, c.PeakRSS)
		e.Expected, e.Disagree = max(e.Expected, c.Expected), max(e.Disagree, c.Disagree)
	}
	if e.complete() {
		e.Median, e.Least, e.Most = median(seconds), slices.Min(seconds), slices.Max(seconds)
	}
	if len(runs) == 0 {
		return e
	}
	at := make([][]float64, len(runs)) // per run and state
	n := math.MaxInt
	for k, c := range runs {
		n = min(n, len(c.verdicts))
		at[k] = slices.Clone(c.spent)
		if !fresh {
			for i := 1; i < len(at[k]); i++ {
				at[k][i] += at[k][i-1]
			}
		}
	}
	one := make([]float64, len(runs))
	for i := range n {
		decided := true
		for k, c := range runs {
			decided, one[k] = decided && c.verdicts[i] != algorithms.Unknown, at[k][i]
		}
		if !decided {
			continue
		}
		e.Decided++
		if runs[0].verdicts[i] == algorithms.Safe {
			e.Safe++
		} else {
			e.Unsafe++
		}
		e.times = append(e.times, median(one))
	}
	slices.Sort(e.times)
	return e
}

// median returns the middle value, or the mean of the two middle ones; 0 of nothing. The
// argument stays as it is.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// solverSummary sums up all rows for one solver.
type solverSummary struct {
	Solver  string `json:"solver"`
	Rows    int    `json:"rows"`
	Decided int    `json:"rows_decided"` // every state, in every repetition
	// First counts the rows in which the solver is the fastest or as good as it; several
	// solvers may be.
	First         int   `json:"rows_first"`
	States        int   `json:"states"`
	StatesDecided int   `json:"states_decided"`
	Pairs         int64 `json:"pairs"`
	// The rows that every solver decided, and what they took: fit to be compared.
	CommonRows    int     `json:"common_rows"`
	CommonPairs   int64   `json:"common_pairs"`
	CommonSeconds float64 `json:"common_seconds"`
	// Ratio is the geometric mean, over the rows that both decided, of this solver's time
	// divided by the baseline's, each taken as at least nearFloor; null if there is no row.
	Ratio *float64 `json:"ratio_to_baseline"`
}

func summarise(rows []row, solvers []string, baseline string) []solverSummary {
	var list []solverSummary
	for _, solver := range solvers {
		s := solverSummary{Solver: solver, Rows: len(rows)}
		logs, both := 0.0, 0
		for i := range rows {
			r := &rows[i]
			e, base := r.entry(solver), r.entry(baseline)
			s.States += r.States
			s.StatesDecided += e.Decided
			s.Pairs += e.Pairs
			if r.near(e) {
				s.First++
			}
			if e.complete() {
				s.Decided++
			}
			if !slices.ContainsFunc(r.Entries, func(e entry) bool { return !e.complete() }) {
				s.CommonRows++
				s.CommonPairs += e.Pairs
				s.CommonSeconds += e.Median
			}
			if e.complete() && base.complete() {
				logs += math.Log(max(e.Median, nearFloor) / max(base.Median, nearFloor))
				both++
			}
		}
		if both > 0 {
			s.Ratio = new(math.Exp(logs / float64(both)))
		}
		list = append(list, s)
	}
	return list
}

// contradiction is a state about which verdicts cannot all be right: it is said to be
// r-safe and not r'-safe for some r ≤ r'.
type contradiction struct {
	Instance string  `json:"instance"`
	Index    int     `json:"index"`  // in the list of states, from 0
	Radius   string  `json:"radius"` // r', for which it is said not to be safe
	Claims   []claim `json:"claims"`
}

// claim is a verdict of a solver, in whichever repetitions.
type claim struct {
	Solver  string `json:"solver"`
	Radius  string `json:"radius"`
	Verdict string `json:"verdict"`
}

// contradictions compares all verdicts, of all runs however they ended, in all repetitions:
// on one radius, where they must be equal, and across radii, where what is r-safe is safe
// for any larger radius. No answer contradicts nothing. Time and memory are linear in the
// number of verdicts, but for those that contradict.
func contradictions(cells []cell) []contradiction {
	type key struct {
		instance string
		index    int
	}
	type bounds struct{ safe, unsafe int } // least radius called safe, largest called not safe
	const none, infinite = int(algorithms.MaxRadius) + 2, int(algorithms.MaxRadius) + 1
	width := func(c *cell) int {
		if c.radius == algorithms.Infinite {
			return infinite
		}
		return int(c.radius)
	}
	known := map[key]bounds{}
	suspects := map[key]bool{}
	var order []key
	for i := range cells {
		c := &cells[i]
		for index, v := range c.verdicts {
			k := key{c.Instance, index}
			b, ok := known[k]
			if !ok {
				b = bounds{none, -1}
			}
			switch v {
			case algorithms.Safe:
				b.safe = min(b.safe, width(c))
			case algorithms.Unsafe:
				b.unsafe = max(b.unsafe, width(c))
			}
			known[k] = b
			if b.safe <= b.unsafe && !suspects[k] {
				suspects[k] = true
				order = append(order, k)
			}
		}
	}
	var list []contradiction
	for _, k := range order {
		var safe, unsafe []*cell
		for i := range cells {
			c := &cells[i]
			if c.Instance != k.instance || k.index >= len(c.verdicts) {
				continue
			}
			switch c.verdicts[k.index] {
			case algorithms.Safe:
				safe = append(safe, c)
			case algorithms.Unsafe:
				unsafe = append(unsafe, c)
			}
		}
		slices.SortStableFunc(unsafe, func(a, b *cell) int { return cmp.Compare(width(a), width(b)) })
		for _, u := range unsafe {
			if len(list) > 0 {
				if last := &list[len(list)-1]; last.Instance == k.instance && last.Index == k.index && last.Radius == u.Radius {
					last.add(u, algorithms.Unsafe)
					continue
				}
			}
			x := contradiction{Instance: k.instance, Index: k.index, Radius: u.Radius}
			for _, s := range safe {
				if width(s) <= width(u) {
					x.add(s, algorithms.Safe)
				}
			}
			if x.Claims != nil {
				x.add(u, algorithms.Unsafe)
				list = append(list, x)
			}
		}
	}
	return list
}

// add adds the claim of a cell, unless another repetition has made it.
func (x *contradiction) add(c *cell, v algorithms.Verdict) {
	if one := (claim{c.Solver, c.Radius, v.String()}); !slices.Contains(x.Claims, one) {
		x.Claims = append(x.Claims, one)
	}
}

// curvePoint is a point of a curve.
type curvePoint struct{ x, y float64 }

// coverage returns, for one solver, which share of the states of all rows was decided
// within a time: points (seconds, share) in ascending order, one for each state. States
// that are not decided never enter the curve, but they are part of the whole.
func coverage(rows []row, solver string) []curvePoint {
	var times []float64
	all := 0
	for i := range rows {
		all += rows[i].States
		times = append(times, rows[i].entry(solver).times...)
	}
	slices.Sort(times)
	points := make([]curvePoint, len(times))
	for i, t := range times {
		points[i] = curvePoint{t, float64(i+1) / float64(all)}
	}
	return points
}

// cactus returns, for one solver, the times of the rows that it decided in ascending
// order: points (number of rows, seconds).
func cactus(rows []row, solver string) []curvePoint {
	var points []curvePoint
	for i := range rows {
		if e := rows[i].entry(solver); e.complete() {
			points = append(points, curvePoint{0, e.Median})
		}
	}
	slices.SortFunc(points, func(a, b curvePoint) int { return cmp.Compare(a.y, b.y) })
	for i := range points {
		points[i].x = float64(i + 1)
	}
	return points
}

// duel is a row seen by two solvers. A time is ∞ if the solver did not decide the row.
type duel struct {
	radius algorithms.Radius
	x, y   float64 // seconds
}

// duels returns the rows for which both solvers have run. Those that neither decided are
// among them.
func duels(rows []row, x, y string) []duel {
	var list []duel
	seconds := func(e *entry) float64 {
		if e.complete() {
			return e.Median
		}
		return math.Inf(1)
	}
	for i := range rows {
		if a, b := rows[i].entry(x), rows[i].entry(y); a.Runs > 0 && b.Runs > 0 {
			list = append(list, duel{rows[i].Radius, seconds(a), seconds(b)})
		}
	}
	return list
}
