package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tidwall/gjson"
	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
)

// scriptedCell is a cell with one verdict for each letter: s safe, u not safe, ? unknown.
// Each state takes a second, times the number of the repetition.
func scriptedCell(instance, solver string, radius algorithms.Radius, repetition int, status cellStatus, verdicts string) cell {
	c := cell{Instance: instance, Solver: solver, radius: radius, Radius: radius.String(), Repetition: repetition}
	c.script(status, verdicts)
	return c
}

func (c *cell) script(status cellStatus, verdicts string) {
	c.Status, c.States = status, len(verdicts)
	for _, letter := range verdicts {
		v := map[rune]algorithms.Verdict{'s': algorithms.Safe, 'u': algorithms.Unsafe}[letter]
		switch v {
		case algorithms.Safe:
			c.Safe++
		case algorithms.Unsafe:
			c.Unsafe++
		default:
			c.Unknown++
		}
		c.verdicts, c.spent = append(c.verdicts, v), append(c.spent, float64(c.Repetition))
		c.Spent += float64(c.Repetition)
	}
	c.Pairs, c.PeakRSS = int64(10*c.Repetition), int64(c.Repetition)<<20
	if status == cellComplete {
		c.Seconds = new(c.Spent)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 9, 2}, 3}} {
		before := slices.Clone(c.values)
		if got := median(c.values); got != c.want || !slices.Equal(c.values, before) {
			t.Errorf("median of %v: %v, want %v", before, got, c.want)
		}
	}
}

const inf = algorithms.Infinite

// rowCells are cells of two instances and three solvers. Of m/∞, a is complete, b misses
// its time limit once, and c fails; m/1 has only a, interrupted in the second repetition;
// n/∞ is complete but for c, whose only run was interrupted.
func rowCells() []cell {
	return []cell{
		scriptedCell("m", "a", inf, 1, cellComplete, "ssus"), scriptedCell("m", "b", inf, 1, cellComplete, "ssus"),
		scriptedCell("m", "c", inf, 1, cellFailed, "s"),
		scriptedCell("m", "a", 1, 1, cellComplete, "uuus"),
		scriptedCell("n", "a", inf, 1, cellComplete, "su"), scriptedCell("n", "b", inf, 1, cellComplete, "su"),
		scriptedCell("m", "b", inf, 2, cellTime, "s?u?"), scriptedCell("m", "a", inf, 3, cellComplete, "ssus"),
		scriptedCell("m", "c", inf, 2, cellComplete, "ssus"),
		scriptedCell("m", "a", 1, 2, cellInterrupted, "u???"),
		scriptedCell("n", "c", inf, 1, cellInterrupted, "s?"),
		scriptedCell("broken", "a", inf, 1, cellBadInput, ""),
	}
}

func TestRows(t *testing.T) {
	rows := rowsOf(rowCells(), []string{"a", "b", "c"}, false)
	var got []string
	for i := range rows {
		r := &rows[i]
		for _, e := range r.Entries {
			got = append(got, fmt.Sprintf("%s/%v/%s: %q %d/%d decided %d/%d=%d+%d pairs %d peak %d median %g [%g,%g] at %v near %t",
				r.Instance, r.Radius, e.Solver, e.mark(), e.Short, e.Runs, e.Decided, r.States, e.Safe, e.Unsafe, e.Pairs, e.Peak>>20,
				e.Median, e.Least, e.Most, e.times, r.near(&e)))
		}
	}
	want := []string{
		`m/inf/a: "" 0/2 decided 4/4=3+1 pairs 30 peak 3 median 8 [4,12] at [2 4 6 8] near true`,
		`m/inf/b: "TO (1 of 2)" 1/2 decided 2/4=1+1 pairs 20 peak 2 median 0 [0,0] at [1.5 4.5] near false`,
		`m/inf/c: "FAILED (1 of 2)" 1/2 decided 1/4=1+0 pairs 20 peak 2 median 0 [0,0] at [1.5] near false`,
		`m/1/a: "" 0/1 decided 4/4=1+3 pairs 10 peak 1 median 4 [4,4] at [1 2 3 4] near true`,
		`m/1/b: "" 0/0 decided 0/4=0+0 pairs 0 peak 0 median 0 [0,0] at [] near false`,
		`m/1/c: "" 0/0 decided 0/4=0+0 pairs 0 peak 0 median 0 [0,0] at [] near false`,
		`n/inf/a: "" 0/1 decided 2/2=1+1 pairs 10 peak 1 median 2 [2,2] at [1 2] near true`,
		`n/inf/b: "" 0/1 decided 2/2=1+1 pairs 10 peak 1 median 2 [2,2] at [1 2] near true`,
		`n/inf/c: "interrupted" 1/1 decided 1/2=1+0 pairs 10 peak 1 median 0 [0,0] at [1] near false`,
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("rows:\n%s\nwant:\n%s", g, w)
	}
	// Alone, a state is decided when its turn is over.
	fresh := rowsOf(rowCells(), []string{"a"}, true)
	if got := fresh[0].Entries[0].times; !slices.Equal(got, []float64{2, 2, 2, 2}) {
		t.Errorf("times of single states: %v", got)
	}
}

// As good as the fastest is what is within 10 % or 5 ms of it, and complete.
func TestNear(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		status  cellStatus
		want    bool
	}{
		{1, cellComplete, true}, {1.1, cellComplete, true}, {1.11, cellComplete, false}, {0.5, cellTime, false},
		{0.001, cellTime, false}, {0, "", false},
	} {
		r := row{Entries: []entry{{Solver: "x", Status: cellComplete, Median: 1}, {Solver: "y", Status: c.status, Median: c.seconds}}}
		if got := r.near(r.entry("y")); got != c.want || r.fastest() != 1 {
			t.Errorf("%g s, %s: %t, want %t; fastest %g", c.seconds, c.status, got, c.want, r.fastest())
		}
	}
	short := row{Entries: []entry{{Solver: "x", Status: cellComplete, Median: 0.001}, {Solver: "y", Status: cellComplete, Median: 0.0059},
		{Solver: "z", Status: cellComplete, Median: 0.0061}}}
	if !short.near(short.entry("x")) || !short.near(short.entry("y")) || short.near(short.entry("z")) {
		t.Error("the floor is not 5 ms")
	}
	if none := (&row{Entries: []entry{{Solver: "x", Status: cellMemory}}}); !math.IsInf(none.fastest(), 1) || none.near(none.entry("x")) {
		t.Error("a limit is a time")
	}
}

func TestSummary(t *testing.T) {
	cells := []cell{
		scriptedCell("m", "a", inf, 1, cellComplete, "ss"), scriptedCell("m", "b", inf, 2, cellComplete, "ss"),
		scriptedCell("n", "a", inf, 2, cellComplete, "s"), scriptedCell("n", "b", inf, 1, cellComplete, "u"),
		scriptedCell("o", "a", inf, 1, cellComplete, "sss"), scriptedCell("o", "b", inf, 1, cellMemory, "s??"),
	}
	list := summarise(rowsOf(cells, []string{"a", "b"}, false), []string{"a", "b"}, "a")
	want := []solverSummary{
		{Solver: "a", Rows: 3, Decided: 3, First: 2, States: 6, StatesDecided: 6, Pairs: 40, CommonRows: 2, CommonPairs: 30, CommonSeconds: 4},
		{Solver: "b", Rows: 3, Decided: 2, First: 1, States: 6, StatesDecided: 4, Pairs: 40, CommonRows: 2, CommonPairs: 30, CommonSeconds: 5},
	}
	for i, s := range list {
		if s.Ratio == nil || math.Abs(*s.Ratio-1) > 1e-12 { // of b: √(4/2 · 1/2)
			t.Errorf("%s: ratio %v", s.Solver, s.Ratio)
		}
		if s.Ratio = nil; s != want[i] {
			t.Errorf("%+v, want %+v", s, want[i])
		}
	}
	if list := summarise(rowsOf(cells[4:], []string{"a", "b"}, false), []string{"b"}, "a"); list[0].Ratio != nil {
		t.Errorf("ratio of a solver that decided nothing: %v", *list[0].Ratio)
	}
}

func TestSeries(t *testing.T) {
	rows := rowsOf(rowCells(), []string{"a", "b", "c"}, false)
	for _, c := range []struct {
		solver, coverage, cactus string
	}{
		{"a", "[{1 0.1} {1 0.2} {2 0.3} {2 0.4} {2 0.5} {3 0.6} {4 0.7} {4 0.8} {6 0.9} {8 1}]", "[{1 2} {2 4} {3 8}]"},
		{"b", "[{1 0.1} {1.5 0.2} {2 0.3} {4.5 0.4}]", "[{1 2}]"},
		{"c", "[{1 0.1} {1.5 0.2}]", "[]"},
	} {
		if got := fmt.Sprint(coverage(rows, c.solver)); got != c.coverage {
			t.Errorf("%s: coverage %s, want %s", c.solver, got, c.coverage)
		}
		if got := fmt.Sprint(cactus(rows, c.solver)); got != c.cactus {
			t.Errorf("%s: cactus %s, want %s", c.solver, got, c.cactus)
		}
	}
	// m/1 has no run of b; what b did not decide has no time.
	if got, want := fmt.Sprint(duels(rows, "a", "b")), "[{-1 8 +Inf} {-1 2 2}]"; got != want {
		t.Errorf("duels %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(duels(rows, "b", "c")), "[{-1 +Inf +Inf} {-1 2 +Inf}]"; got != want {
		t.Errorf("duels %s, want %s", got, want)
	}
}

func TestContradictions(t *testing.T) {
	at := scriptedCell
	for _, c := range []struct {
		name  string
		cells []cell
		want  string
	}{
		{"none", []cell{at("m", "a", inf, 1, cellComplete, "su"), at("m", "b", inf, 1, cellComplete, "su")}, ""},
		{"unknown is no answer", []cell{at("m", "a", inf, 1, cellComplete, "su"), at("m", "b", inf, 1, cellTime, "??")}, ""},
		{"two solvers", []cell{at("m", "a", inf, 1, cellComplete, "sus"), at("m", "b", inf, 1, cellComplete, "sss")},
			"m 1 inf [{b inf safe} {a inf unsafe}]"},
		{"before a limit", []cell{at("m", "a", inf, 1, cellTime, "u?"), at("m", "b", inf, 1, cellFailed, "s")},
			"m 0 inf [{b inf safe} {a inf unsafe}]"},
		{"one solver, two repetitions", []cell{at("m", "a", 2, 1, cellComplete, "s"), at("m", "a", 2, 2, cellComplete, "u"),
			at("m", "a", 2, 3, cellComplete, "s")},
			"m 0 2 [{a 2 safe} {a 2 unsafe}]"},
		{"a radius that is larger may be safe", []cell{at("m", "a", 1, 1, cellComplete, "u"),
			at("m", "b", 2, 1, cellComplete, "s"), at("m", "a", inf, 1, cellComplete, "s")}, ""},
		{"one that is larger must be", []cell{at("m", "a", 1, 1, cellComplete, "s"), at("m", "a", 0, 1, cellComplete, "u"),
			at("m", "b", 2, 1, cellComplete, "u"), at("m", "c", inf, 1, cellComplete, "u"), at("m", "d", 2, 1, cellComplete, "u")},
			"m 0 2 [{a 1 safe} {b 2 unsafe} {d 2 unsafe}]; m 0 inf [{a 1 safe} {c inf unsafe}]"},
		{"other instances are other states", []cell{at("m", "a", inf, 1, cellComplete, "s"), at("n", "b", inf, 1, cellComplete, "u")}, ""},
	} {
		var got []string
		for _, x := range contradictions(c.cells) {
			got = append(got, fmt.Sprintf("%s %d %s %v", x.Instance, x.Index, x.Radius, x.Claims))
		}
		if g := strings.Join(got, "; "); g != c.want {
			t.Errorf("%s: %q, want %q", c.name, g, c.want)
		}
	}
}

// What “check --json” writes, and how it ends, becomes a cell.
func TestReadCell(t *testing.T) {
	const state = `{"index":%d,"verdict":"%s","severity":"","seconds":0.5}` + "\n"
	const sum = `{"summary":{"states":%d,"safe":%d,"unsafe":%d,"unknown":%d,"pairs":7,"stored_states":5,"complete":%t,"peak_rss_bytes":1048576}}` + "\n"
	two := fmt.Sprintf(state, 0, "safe") + fmt.Sprintf(state, 1, "unsafe")
	whole := two + fmt.Sprintf(sum, 2, 1, 1, 0, true)
	limited := fmt.Sprintf(state, 0, "safe") + fmt.Sprintf(state, 1, "unknown") + fmt.Sprintf(sum, 2, 1, 0, 1, false)
	for _, c := range []struct {
		name, out              string
		code                   int
		stderr                 string
		interrupted, overdue   bool
		status                 cellStatus
		message                string
		states, decided, known int
	}{
		{"safe", fmt.Sprintf(state, 0, "safe") + fmt.Sprintf(sum, 1, 1, 0, 0, true), exitOK, "", false, false, cellComplete, "", 1, 1, 1},
		{"unsafe", whole, exitUnsafe, "warning: odd\n", false, false, cellComplete, "", 2, 2, 2},
		{"done in spite of an interrupt", whole, exitUnsafe, "", true, true, cellComplete, "", 2, 2, 2},
		{"time", limited, exitTime, "fuzzsafe: the time limit is reached\n", false, false, cellTime, "the time limit is reached", 2, 1, 2},
		{"time, while reading", "", exitTime, "fuzzsafe: the time limit is reached\n", false, false, cellTime, "the time limit is reached", 0, 0, 0},
		{"memory", limited, exitMemory, "fuzzsafe: enough\n", false, false, cellMemory, "enough", 2, 1, 2},
		{"states", limited, exitUndecided, "fuzzsafe: enough\n", false, false, cellStates, "enough", 2, 1, 2},
		{"interrupt", limited, exitUndecided, "fuzzsafe: interrupted\n", true, true, cellInterrupted, "interrupted", 2, 1, 2},
		{"interrupt by a terminal", limited, exitUndecided, "fuzzsafe: interrupted\n", false, false, cellInterrupted, "interrupted", 2, 1, 2},
		{"overdue", two + `{"ind`, -1, "its process has ended: signal: killed", false, true, cellTime,
			"the process did not end at its time limit, so it was made to", 0, 2, 2},
		{"bad input", "", exitBadInput, "warning: odd\nfuzzsafe: m.jani:1:1: wrong\n", false, false, cellBadInput, "m.jani:1:1: wrong", 0, 0, 0},
		{"usage", "", exitUsage, "fuzzsafe: wrong\nRun “fuzzsafe help” or so.\n", false, false, cellBadInput, "wrong", 0, 0, 0},
		{"unsupported", "", exitUnsupported, "fuzzsafe: wrong\n", false, false, cellBadInput, "wrong", 0, 0, 0},
		{"internal", two, exitInternal, "fuzzsafe: internal error: x\nstack\n", false, false, cellFailed, "internal error: x\nstack", 0, 2, 2},
		{"killed", two + `{"ind`, -1, "its process has ended: signal: killed", false, false, cellFailed, "its process has ended: signal: killed", 0, 2, 2},
		{"silent crash", "", 2, "", false, false, cellFailed, "it ended without a message", 0, 0, 0},
		{"success without a summary", two, exitOK, "", false, false, cellFailed, "it ended without a message", 0, 2, 2},
		{"success with an unknown state", limited, exitOK, "", false, false, cellFailed, "it ended without a message", 2, 1, 2},
		{"other order", fmt.Sprintf(state, 1, "safe"), exitOK, "", false, false, cellFailed, "its verdict number 0 is said to be number 1", 0, 0, 0},
		{"wrong sums", two + fmt.Sprintf(sum, 2, 2, 0, 0, true), exitOK, "", false, false, cellFailed, "its summary differs from its verdicts", 2, 2, 2},
		{"verdict missing", fmt.Sprintf(state, 0, "safe") + fmt.Sprintf(sum, 2, 1, 0, 0, true), exitOK, "", false, false, cellFailed,
			"its summary differs from its verdicts", 2, 1, 1},
		{"no JSON", "hello\n", exitOK, "", false, false, cellFailed, "its output cannot be read: invalid character 'h' looking for beginning of value", 0, 0, 0},
	} {
		var x cell
		complete, wrong := x.read(strings.NewReader(c.out))
		x.conclude(&childEnd{code: c.code, whole: complete, wrong: wrong, stderr: c.stderr, interrupted: c.interrupted, overdue: c.overdue})
		if x.Status != c.status || x.Message != c.message || x.States != c.states || x.Safe+x.Unsafe != c.decided || len(x.verdicts) != c.known {
			t.Errorf("%s: %s %q, %d states, %d decided, %d known, want %s %q, %d, %d, %d", c.name, x.Status, x.Message, x.States,
				x.Safe+x.Unsafe, len(x.verdicts), c.status, c.message, c.states, c.decided, c.known)
		}
		if (x.Seconds != nil) != (c.status == cellComplete) || x.Spent != 0.5*float64(c.known) {
			t.Errorf("%s: seconds %v, spent %g", c.name, x.Seconds, x.Spent)
		}
		// What is not complete shows no time anywhere.
		x.Instance, x.Radius, x.Solver = "a /b", "inf", "local"
		record, line := x.csv(), x.benchfmt()
		seconds := record[slices.Index(csvHeader(), "seconds")]
		if len(record) != len(csvHeader()) || (seconds != "") != (c.status == cellComplete) || (line != "") != (c.status == cellComplete) {
			t.Errorf("%s: %q, %q", c.name, record, line)
		}
	}
	// The pipe of a process that had to be killed is closed, which is no failure of its own.
	var closed cell
	complete, wrong := closed.read(io.MultiReader(strings.NewReader(two), iotest.ErrReader(os.ErrClosed)))
	closed.conclude(&childEnd{code: -1, whole: complete, wrong: wrong, overdue: true})
	if closed.Status != cellTime || closed.Safe+closed.Unsafe != 2 {
		t.Errorf("%s %q, %d decided", closed.Status, closed.Message, closed.Safe+closed.Unsafe)
	}
	x := cell{Instance: "a /b=c", Radius: "2", Solver: "local", Seconds: new(0.25), Pairs: 7}
	if got, want := x.benchfmt(), "BenchmarkCheck/instance=a__b_c/radius=2/solver=local 1 250000000 ns/op 7 pairs/op 0 peak-rss-bytes\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// compareScripted runs “compare” with scripted measurements.
func compareScripted(t *testing.T, measure func(*suiteInstance, *cell) error, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, problems strings.Builder
	env := &environment{stdin: strings.NewReader(""), stdout: &out, stderr: &problems}
	app := newApp(env)
	app.Command("compare").Action = func(c *cli.Context) error {
		x, err := env.newComparison(c)
		if err != nil {
			return err
		}
		x.measure = func(_ context.Context, i *suiteInstance, c *cell) ([]string, error) {
			return []string{"warning: odd"}, measure(i, c)
		}
		return x.run()
	}
	args, err := reorder(app, append([]string{"compare"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	code = env.report(app.RunContext(t.Context(), append([]string{"fuzzsafe"}, args...)))
	return code, out.String(), problems.String()
}

// Repetitions are outermost, and every solver comes first as often as any other.
func TestOrder(t *testing.T) {
	var order []string
	first := map[string]int{}
	code, out, stderr := compareScripted(t, func(i *suiteInstance, c *cell) error {
		order = append(order, fmt.Sprintf("%d %s %s %s", c.Repetition, c.Instance, c.Radius, c.Solver))
		if len(order)%2 == 1 {
			first[c.Solver]++
		}
		c.script(cellComplete, "su")
		return nil
	}, "bench:one-way-line-det", "m.jani", "--solvers", "tarjan,local", "--radii=1,inf", "--repeat", "2", "--json")
	want := []string{
		"1 one-way-line-det 1 tarjan", "1 one-way-line-det 1 local", "1 one-way-line-det inf local", "1 one-way-line-det inf tarjan",
		"1 m inf tarjan", "1 m inf local",
		"2 one-way-line-det 1 local", "2 one-way-line-det 1 tarjan", "2 one-way-line-det inf tarjan", "2 one-way-line-det inf local",
		"2 m inf local", "2 m inf tarjan",
	}
	if !slices.Equal(order, want) || first["local"] != first["tarjan"] {
		t.Errorf("order %q, want %q; first: %v", order, want, first)
	}
	if want := "compare: m has no policy: radius 1 is skipped\nwarning: odd\nwarning: odd\n"; code != exitOK || stderr != want {
		t.Errorf("exit code %d, stderr %q, want %q", code, stderr, want)
	}
	got := fmt.Sprint(gjson.GetMany(out, "schema", "complete", "planned_cells", "cells.#", "contradictions", "options.baseline", "summary.#.rows_decided"))
	if want := "[fuzzsafe.compare/1 true 12 12 [] local [3,3]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What has reached a limit is not measured again, unless asked for.
func TestLimitedOnce(t *testing.T) {
	for _, c := range []struct {
		flag  string
		cells int
	}{{"--repeat-limited", 6}, {"--repeat-limited=false", 4}} {
		cells := 0
		code, out, _ := compareScripted(t, func(i *suiteInstance, x *cell) error {
			if cells++; x.Solver == "tarjan" {
				x.script(cellTime, "s?")
			} else {
				x.script(cellComplete, "su")
			}
			return nil
		}, "m.jani", "--solvers=local,tarjan", "--radii=inf", "--repeat=3", "--json", c.flag)
		got := fmt.Sprint(gjson.GetMany(out, "complete", "planned_cells", "summary.#.rows_decided"))
		if want := fmt.Sprintf("[false %d [1,0]]", c.cells); code != exitUndecided || cells != c.cells || got != want {
			t.Errorf("%s: exit code %d, %d cells, %s, want %s", c.flag, code, cells, got, want)
		}
	}
}

// The exit code says the worst that has happened, whatever else there is.
func TestCompareExitCodes(t *testing.T) {
	bad := func(code int) func(c *cell) {
		return func(c *cell) { c.script(cellBadInput, ""); c.Message, c.code = "wrong", code }
	}
	script := func(status cellStatus, verdicts string) func(c *cell) {
		return func(c *cell) { c.script(status, verdicts) }
	}
	ok := script(cellComplete, "su")
	for _, c := range []struct {
		name           string
		one, two       func(c *cell) // of the first solver, of the second
		other          func(c *cell) // of the second instance
		code           int
		stdout, stderr string // parts
		cells          int
	}{
		{"complete", ok, ok, ok, exitOK, "All 2 rows (instance and radius); 2 of them decided by every solver", "", 4},
		{"limit", script(cellTime, "s?"), ok, ok, exitUndecided, "  TO  ", "", 4},
		{"contradiction", ok, script(cellComplete, "ss"), ok, exitInternal,
			"CONTRADICTION: m, state 1, radius inf: tarjan says safe for radius inf, local says unsafe for radius inf",
			"fuzzsafe: CONTRADICTION: verdicts on 1 states cannot all be right\n", 4},
		{"contradiction and limit", ok, script(cellMemory, "?s"), ok, exitInternal, "  MO  ",
			"fuzzsafe: CONTRADICTION: verdicts on 1 states cannot all be right\n", 4},
		{"crash", ok, script(cellFailed, ""), ok, exitInternal, "FAILED", "fuzzsafe: FAILED: m, radius inf, tarjan: ", 4},
		{"bad input", bad(exitBadInput), ok, ok, exitBadInput, "Only 3 of 4 planned runs were made.", "fuzzsafe: m: wrong\n", 3},
		{"bad input and unsupported", bad(exitBadInput), ok, bad(exitUnsupported), exitBadInput, "", "fuzzsafe: n: wrong\n", 2},
		{"unsupported, bad input", bad(exitUnsupported), ok, bad(exitBadInput), exitUnsupported, "", "fuzzsafe: n: wrong\n", 2},
		{"bad input and crash", bad(exitBadInput), ok, script(cellFailed, "s"), exitInternal, "", "fuzzsafe: FAILED: n, ", 3},
		{"other number of states", ok, script(cellComplete, "sus"), ok, exitInternal, "",
			"fuzzsafe: FAILED: m, radius inf, tarjan: there are 3 states to decide, but there were 2 before\n", 4},
		{"not started", ok, func(c *cell) { c.Status = "" }, ok, exitInternal, "", "fuzzsafe: no such program\n", 0},
	} {
		measured := 0
		code, stdout, stderr := compareScripted(t, func(i *suiteInstance, x *cell) error {
			measured++
			switch {
			case x.Instance == "n":
				c.other(x)
			case x.Solver == "local":
				c.one(x)
			default:
				c.two(x)
			}
			if x.Status == "" {
				return errors.New("no such program")
			}
			return nil
		}, "m.jani", "n.jani", "--solvers=local,tarjan", "--radii=inf", "--repeat=1", "--quiet")
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) || (stderr != "") != (c.stderr != "") {
			t.Errorf("%s: exit code %d, stdout:\n%s\nstderr:\n%s\nwant %d, %q, %q", c.name, code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
		if c.cells > 0 && measured != c.cells {
			t.Errorf("%s: %d cells measured, want %d", c.name, measured, c.cells)
		}
	}
}

// Files hold what was measured before the end, whatever the end is.
func TestCompareFiles(t *testing.T) {
	dir := t.TempDir()
	csvFile, benchFile := filepath.Join(dir, "a.csv"), filepath.Join(dir, "a.bench")
	n := 0
	code, _, _ := compareScripted(t, func(i *suiteInstance, c *cell) error {
		if n++; n == 3 {
			return errors.New("the end")
		}
		c.script([]cellStatus{cellComplete, cellTime}[n-1], []string{"su", "s?"}[n-1])
		return nil
	}, "m.jani", "--repeat=3", "--csv", csvFile, "--benchfmt", benchFile)
	records, err := os.ReadFile(csvFile)
	lines := strings.Split(string(records), "\n")
	if code != exitInternal || err != nil || len(lines) != 4 || lines[0] != strings.Join(csvHeader(), ",") ||
		lines[1] != "m,inf,local,1,complete,2,1,1,0,10,0,2.000000,2.000000,0.000000,1048576" ||
		lines[2] != "m,inf,tarjan,1,time_limit,2,1,0,1,10,0,,2.000000,0.000000,1048576" {
		t.Errorf("exit code %d, %v, %q", code, err, lines)
	}
	bench, err := os.ReadFile(benchFile)
	if want := "BenchmarkCheck/instance=m/radius=inf/solver=local 1 2000000000 ns/op 10 pairs/op 1048576 peak-rss-bytes\n"; err != nil ||
		!strings.HasSuffix(string(bench), want) || strings.Count(string(bench), "Benchmark") != 1 {
		t.Errorf("%v, %q", err, bench)
	}
	// Where they cannot be written, nothing is measured; plots need every solver beside the baseline.
	if code, _, stderr := compareScripted(t, func(*suiteInstance, *cell) error { return errors.New("measured") },
		"m.jani", "--csv", filepath.Join(dir, "no", "a.csv")); code != exitBadInput || strings.Contains(stderr, "measured") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	code, _, stderr := compareScripted(t, func(i *suiteInstance, c *cell) error { c.script(cellComplete, "su"); return nil },
		"m.jani", "--solvers=tarjan,local,attractor", "--plots", filepath.Join(dir, "plots"))
	plots, err := filepath.Glob(filepath.Join(dir, "plots", "*"))
	var names []string
	for _, name := range plots {
		names = append(names, filepath.Base(name))
	}
	want := "cactus.png cactus.svg coverage.png coverage.svg scatter-local-attractor.png scatter-local-attractor.svg " +
		"scatter-local-tarjan.png scatter-local-tarjan.svg"
	if got := strings.Join(names, " "); code != exitOK || err != nil || got != want {
		t.Errorf("exit code %d, %v, %s, want %s\n%s", code, err, got, want, stderr)
	}
}

// The first interrupt ends the current child, and what is known is reported.
func TestCompareInterrupt(t *testing.T) {
	model := filepath.Join(t.TempDir(), "chain.jani")
	if err := os.WriteFile(model, []byte(chain), 0o666); err != nil {
		t.Fatal(err)
	}
	var stdout strings.Builder
	c := exec.Command("fuzzsafe", "compare", suiteFile(t, model), "--solvers", "local", "--repeat", "1", "--radii", "inf", "--json", "--verbose")
	c.Stdout = &stdout
	pipe, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var stderr []string
	for s := bufio.NewScanner(pipe); s.Scan(); {
		if stderr = append(stderr, s.Text()); strings.HasPrefix(s.Text(), "compare: ") && len(stderr) == 1 {
			if err := c.Process.Signal(os.Interrupt); err != nil { // the first cell is done, the second has 60 seconds
				t.Fatal(err)
			}
		}
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != exitUndecided {
		t.Fatalf("%v, want exit code %d\n%s", err, exitUndecided, stderr)
	}
	if last := stderr[len(stderr)-1]; last != "fuzzsafe: interrupted" {
		t.Errorf("stderr %q", stderr)
	}
	var r compareReport
	if err := json.Unmarshal([]byte(stdout.String()), &r); err != nil {
		t.Fatal(err)
	}
	if r.Complete || r.Planned != 2 || len(r.Cells) == 0 || r.Cells[0].Status != cellComplete || r.Cells[0].Seconds == nil {
		t.Errorf("%s", stdout.String())
	}
	for _, x := range r.Cells[1:] { // there may be none yet
		if x.Status != cellInterrupted || x.Seconds != nil || x.Safe+x.Unsafe > 0 {
			t.Errorf("%+v", x)
		}
	}
}

// An interrupt just before a child starts is one, too.
func TestInterruptBeforeStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := cell{Solver: "local", Radius: "inf"}
	_, err := (&comparison{}).measureProcess(ctx, &suiteInstance{Model: "bench:one-way-line-det"}, &c)
	if err != nil || c.Status != cellInterrupted {
		t.Errorf("%v, %+v", err, c)
	}
}

// suiteFile writes a suite of an instance that is decided at once and of chain.
func suiteFile(t *testing.T, chain string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "suite.json")
	text := fmt.Sprintf(`{"schema": %q, "instances": [{"model": "bench:one-way-line-det", "draw": 1}, {"model": %q, "unsafe": "x < 0"}]}`, suiteSchema, chain)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// Fresh deciders give the same verdicts as one that is kept. The first state costs as much,
// all of them more.
func TestFresh(t *testing.T) {
	for _, solver := range algorithms.DeciderNames() {
		check := func(flags ...string) (verdicts string, pairs, stored int64) {
			out, code := runJSON(t, append([]string{"check", "bench:one-way-line-nondet", "--draw=30", "--radius=1", "--solver=" + solver}, flags...)...)
			if code != exitUnsafe && (flags[0] != "--first=1" || code != exitOK) {
				t.Fatalf("%s %v: exit code %d", solver, flags, code)
			}
			sum := gjson.GetBytes(out, "..#.summary|0")
			return gjson.GetBytes(out, "..#.verdict").Raw, sum.Get("pairs").Int(), sum.Get("stored_states").Int()
		}
		kept, keptPairs, keptStored := check("--first=30")
		fresh, freshPairs, freshStored := check("--fresh")
		if kept != fresh || strings.Count(fresh, "safe") != 30 {
			t.Errorf("%s: kept %s, fresh %s", solver, kept, fresh)
		}
		if freshPairs <= keptPairs || freshStored <= keptStored || keptPairs == 0 {
			t.Errorf("%s: kept %d pairs, %d states, fresh %d, %d", solver, keptPairs, keptStored, freshPairs, freshStored)
		}
		_, keptPairs, keptStored = check("--first=1")
		if _, freshPairs, freshStored = check("--first=1", "--fresh"); freshPairs != keptPairs || freshStored != keptStored || keptPairs == 0 {
			t.Errorf("%s, one state: kept %d pairs, %d states, fresh %d, %d", solver, keptPairs, keptStored, freshPairs, freshStored)
		}
	}
}
