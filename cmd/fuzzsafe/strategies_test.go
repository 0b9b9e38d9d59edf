package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"fuzzsafe/algorithms"
)

// fuzzRow returns a row with the given numbers of unsafe runs out of 10; −1 is a time limit
// after 4 runs, of which 3 are unsafe.
func fuzzRow(instance string, unsafe ...int) (row []fuzzCell) {
	for k, n := range unsafe {
		c := fuzzCell{Instance: instance, Status: cellComplete, FuzzReport: algorithms.FuzzReport{Strategy: "greedy", Lookahead: fmt.Sprint(k),
			Runs: 10, Unsafe: n, Steps: 20, PolicyEvaluations: 5, Seconds: 0.5, Complete: true}}
		if n < 0 {
			c.Status, c.Runs, c.Unsafe, c.Complete = cellTime, 4, 3, false
		}
		row = append(row, c)
	}
	return row
}

func fuzzTable() ([]tactic, [][]fuzzCell) {
	return []tactic{{"uniform", "1"}, {"greedy", "1"}, {"greedy", "inf"}},
		[][]fuzzCell{fuzzRow("a", 3, 2, 7), fuzzRow("b", 4, 4, 1), fuzzRow("none", 0, 0, 0), fuzzRow("limited", 9, 10, -1)}
}

// Ties count for each, an instance without unsafe runs for nobody, and one with a limit not
// at all.
func TestSummariseTactics(t *testing.T) {
	tactics, table := fuzzTable()
	list, compared := summariseTactics(tactics, table)
	want := []string{
		"{uniform 2 1 0 7 60 15 1.5 []}",
		"{greedy 1 2 1 0 6 60 15 1.5 [{a 2 3}]}",
		"{greedy ∞ 2 1 1 8 60 15 1.5 [{b 1 4}]}",
	}
	if compared != 3 || len(list) != len(want) {
		t.Fatalf("%d compared, %d tactics", compared, len(list))
	}
	for k, s := range list {
		if got := fmt.Sprint(struct {
			t                  string
			any, most, alone   int
			unsafe             int
			steps, evaluations int64
			seconds            float64
			fewer              []fewerRuns
		}{s.tactic.String(), s.Any, s.Most, s.Alone, s.Unsafe, s.Steps, s.Evaluations, s.Seconds, s.Fewer}); got != want[k] {
			t.Errorf("%s, want %s", got, want[k])
		}
	}
}

// What a process says and how it ends must fit to each other and to what was asked for.
func TestFuzzCell(t *testing.T) {
	const report = `{"strategy": "greedy", "lookahead": "inf", "runs": %d, "unsafe": %d, "exhausted": 1, "step_limit": 1, "complete": %t, "peak_rss_bytes": 7}`
	whole := fmt.Sprintf(report, 4, 2, true)
	none := fmt.Sprintf(report, 2, 0, true)
	for _, c := range []struct {
		name, out string
		code      int
		stderr    string
		runs      int // that are asked for
		status    cellStatus
		message   string
		exit      int
	}{
		{"unsafe", whole, exitUnsafe, "", 4, cellComplete, "", 0},
		{"none", none, exitOK, "", 2, cellComplete, "", 0},
		{"time", fmt.Sprintf(report, 4, 2, false), exitTime, "fuzzsafe: enough\n", 9, cellTime, "enough", 0},
		{"killed", whole[:20], exitTime, "", 4, cellTime, "", 0},
		{"memory", "", exitMemory, "fuzzsafe: enough\n", 4, cellMemory, "enough", 0},
		{"bad input", "", exitBadInput, "fuzzsafe: wrong\n", 4, cellBadInput, "wrong", exitBadInput},
		{"runs missing", whole, exitUnsafe, "", 5, cellFailed, "it ended without a message", exitInternal},
		{"not complete", fmt.Sprintf(report, 4, 2, false), exitUnsafe, "", 4, cellFailed, "it ended without a message", exitInternal},
		{"wrong sum", fmt.Sprintf(report, 5, 2, true), exitUnsafe, "", 5, cellFailed, "the ends of its runs do not sum up to their number", exitInternal},
		{"other strategy", strings.Replace(whole, "greedy", "sampling", 1), exitUnsafe, "", 4, cellFailed, "it says that it has run sampling ∞", exitInternal},
		{"exit code of none", whole, exitOK, "", 4, cellFailed, "its exit code is 0 for 2 unsafe runs", exitInternal},
		{"exit code of some", none, exitUnsafe, "", 2, cellFailed, "its exit code is 10 for 0 unsafe runs", exitInternal},
		{"no JSON", "hello", exitOK, "", 4, cellFailed, "its output cannot be read: invalid character 'h' looking for beginning of value", exitInternal},
		{"nothing", "", exitOK, "", 4, cellFailed, "it ended without a message", exitInternal},
	} {
		env := &environment{}
		x := tournament{batch: batch{env: env, bar: &progress{out: io.Discard}}, campaign: algorithms.Campaign{Runs: c.runs}}
		cell, greedy := fuzzCell{Instance: "a"}, tactic{"greedy", "inf"}
		e := &childEnd{code: c.code, stderr: c.stderr}
		e.whole, e.wrong = cell.read(strings.NewReader(c.out), greedy)
		x.conclude(&cell, greedy, e)
		if cell.Status != c.status || cell.Message != c.message || cell.Complete != (c.status == cellComplete) || cell.tactic() != greedy || env.code != c.exit {
			t.Errorf("%s: %s %q, %v, exit code %d, want %s %q, %d", c.name, cell.Status, cell.Message, cell.tactic(), env.code, c.status, c.message, c.exit)
		}
		record := cell.csv()
		if seconds := record[slices.Index(fuzzCSVHeader(), "seconds")]; len(record) != len(fuzzCSVHeader()) || (seconds != "") != cell.Complete {
			t.Errorf("%s: %q", c.name, record)
		}
	}
}

// Every tactic has bars in its colour, as long as its number; zeros and limits are told.
func TestStrategyPlot(t *testing.T) {
	tactics, table := fuzzTable()
	picture, svg := plotted(t, (&tournament{tactics: tactics, table: table}).strategyPlot())
	for _, text := range []string{"a", "none", "limited", "uniform", "greedy 1", "greedy ∞", "unsafe runs", "0", "10", "TO after 4 runs"} {
		if !strings.Contains(svg, ">"+text+"</text>") {
			t.Errorf("the text %q is missing", text)
		}
	}
	sums := []int{3 + 4 + 9, 2 + 4 + 10, 7 + 1 + 3}
	_, empty := fuzzTable()
	for _, row := range empty {
		for k := range row {
			row[k].Unsafe = 0
		}
	}
	without, _ := plotted(t, (&tournament{tactics: tactics, table: empty}).strategyPlot())
	var perRun []int
	for k, sum := range sums {
		n := pixels(picture, lookOf(k).line.Color) - pixels(without, lookOf(k).line.Color)
		perRun = append(perRun, n/sum)
	}
	if slices.Min(perRun) < 100 || slices.Max(perRun)-slices.Min(perRun) > slices.Max(perRun)/8 {
		t.Errorf("pixels for an unsafe run: %d", perRun)
	}
}
