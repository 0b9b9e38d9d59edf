package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"fuzzsafe/algorithms"
)

// compareReport is the JSON of “compare”.
type compareReport struct {
	Schema         string          `json:"schema"`
	Machine        machineReport   `json:"machine"`
	Options        compareOptions  `json:"options"`
	Instances      []suiteInstance `json:"instances"`
	Cells          []cell          `json:"cells"` // in the order in which they were measured
	Summary        []solverSummary `json:"summary"`
	Contradictions []contradiction `json:"contradictions"`
	Planned        int             `json:"planned_cells"`
	// Complete is whether all planned cells were measured and are complete.
	Complete bool `json:"complete"`
}

type compareOptions struct {
	Solvers     []string `json:"solvers"`
	Radii       []string `json:"radii"`
	Repeat      int      `json:"repeat"`
	Fresh       bool     `json:"fresh"`
	Seed        uint64   `json:"seed"`
	TimeLimit   float64  `json:"time_limit_seconds"` // 0: none
	MemoryLimit int64    `json:"memory_limit_bytes"` // 0: none
	Baseline    string   `json:"baseline"`
	NearFactor  float64  `json:"near_factor"`
	NearFloor   float64  `json:"near_floor_seconds"`
}

// machineReport says where times were measured.
type machineReport struct {
	Version string `json:"fuzzsafe_version"`
	Go      string `json:"go_version"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CPU     string `json:"cpu"` // "" where the system does not tell
	Cores   int    `json:"cores"`
	Memory  int64  `json:"memory_bytes"` // likewise 0
}

func thisMachine() machineReport {
	m := machineReport{Version: version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Cores: runtime.NumCPU(), Memory: physicalMemory()}
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	return m
}

func (x *comparison) newReport(rows []row, planned int) *compareReport {
	r := &compareReport{
		Schema: "fuzzsafe.compare/1", Machine: thisMachine(), Instances: x.instances, Cells: x.cells, Planned: planned,
		Options: compareOptions{Solvers: x.solvers, Repeat: x.repeat, Fresh: x.flags.Bool("fresh"), Seed: x.flags.Uint64("seed"),
			TimeLimit: x.timeLimit.Seconds(), MemoryLimit: x.memoryLimit, Baseline: x.baseline, NearFactor: nearFactor, NearFloor: nearFloor},
		Summary: summarise(rows, x.solvers, x.baseline), Contradictions: contradictions(x.cells),
	}
	for _, radius := range x.radii {
		r.Options.Radii = append(r.Options.Radii, radius.String())
	}
	if r.Cells == nil {
		r.Cells = []cell{}
	}
	if r.Contradictions == nil {
		r.Contradictions = []contradiction{}
	}
	r.Complete = len(x.cells) == planned && !slices.ContainsFunc(x.cells, func(c cell) bool { return c.Status != cellComplete })
	return r
}

func printIndented(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printReport prints what contradicts, a table for each row, and the summary.
func (x *comparison) printReport(r *compareReport, rows []row) {
	out := x.env.stdout
	for _, c := range r.Contradictions {
		var parts []string
		for _, one := range c.Claims {
			parts = append(parts, fmt.Sprintf("%s says %s for radius %s", one.Solver, one.Verdict, one.Radius))
		}
		fmt.Fprintf(out, "CONTRADICTION: %s, state %d, radius %s: %s\n", c.Instance, c.Index, c.Radius, strings.Join(parts, ", "))
	}
	for i := range rows {
		printRow(out, &rows[i])
	}
	if len(rows) > 0 {
		x.printSummary(r, rows)
	}
	if n := len(r.Cells); n < r.Planned {
		fmt.Fprintf(out, "Only %d of %d planned runs were made.\n", n, r.Planned)
	}
}

func printRow(out io.Writer, r *row) {
	fmt.Fprintf(out, "%s, radius %v, %d states\n", r.Instance, r.Radius, r.States)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tdecided\tsafe\tnot safe\tpairs\tseconds\tmin..max\tpeak memory\t/ fastest\t")
	best := r.fastest()
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Runs == 0 {
			fmt.Fprintf(w, "%s\t–\t–\t–\t–\tnot run\t\t–\t–\t\n", e.Solver)
			continue
		}
		seconds, spread, ratio := e.mark(), "", "–"
		if e.complete() {
			seconds = formatSeconds(e.Median)
			spread = formatSeconds(e.Least) + ".." + formatSeconds(e.Most)
			ratio = formatRatio(e.Median, best)
		}
		memory := "–"
		if e.Peak > 0 {
			memory = strconv.FormatInt(e.Peak>>20, 10) + " MiB"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t\n",
			e.Solver, e.Decided, e.Safe, e.Unsafe, e.Pairs, seconds, spread, memory, ratio)
	}
	w.Flush()
	for i := range r.Entries {
		// What a file expects is about plain safety.
		if e := &r.Entries[i]; e.Disagree > 0 && r.Radius == algorithms.Infinite {
			fmt.Fprintf(out, "%s: %d of %d verdicts are not those that the file of states expects\n", e.Solver, e.Disagree, e.Expected)
		}
	}
	fmt.Fprintln(out)
}

// mark returns what stands in place of a time, with the number of repetitions that it is
// about unless it is all of them; nothing if all are complete.
func (e *entry) mark() string {
	if e.Short > 0 && e.Short < e.Runs {
		return fmt.Sprintf("%s (%d of %d)", e.Status.mark(), e.Short, e.Runs)
	}
	return e.Status.mark()
}

func (x *comparison) printSummary(r *compareReport, rows []row) {
	out := x.env.stdout
	common := r.Summary[0].CommonRows
	fmt.Fprintf(out, "All %d rows (instance and radius); %d of them decided by every solver\n", len(rows), common)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\trows decided\tfirst*\tstates decided\tpairs\tpairs, common\tseconds, common\t/ %s**\t\n", x.baseline)
	for _, s := range r.Summary {
		pairs, seconds, ratio := "–", "–", "–"
		if s.CommonRows > 0 {
			pairs, seconds = strconv.FormatInt(s.CommonPairs, 10), formatSeconds(s.CommonSeconds)
		}
		if s.Ratio != nil {
			ratio = strconv.FormatFloat(*s.Ratio, 'f', 2, 64)
		}
		fmt.Fprintf(w, "%s\t%d of %d\t%d\t%d of %d\t%d\t%s\t%s\t%s\t\n",
			s.Solver, s.Decided, s.Rows, s.First, s.StatesDecided, s.States, s.Pairs, pairs, seconds, ratio)
	}
	w.Flush()
	runs := "those of one run"
	if x.repeat > 1 {
		runs = fmt.Sprintf("medians of %d runs", x.repeat)
	}
	fmt.Fprintf(out, "Seconds are %s, without reading the model. %s, SO: limit on stored states.\n", runs, x.limitsText())
	fmt.Fprintf(out, "*  rows in which it is the fastest, within 10 %% of it, or less than %g ms slower\n", nearFloor*1000)
	fmt.Fprintf(out, "** geometric mean of the time divided by that of %s, over the rows that both decide; less than %g ms counts as that\n",
		x.baseline, nearFloor*1000)
}

// limitsText explains the marks that may stand in place of a time.
func (b *batch) limitsText() string {
	limit := "TO: time limit"
	if b.timeLimit > 0 {
		limit = fmt.Sprintf("TO: time limit of %v", b.timeLimit)
	}
	return limit + ", MO: memory limit"
}

// formatSeconds shows three digits, but nothing below 0.1 ms.
func formatSeconds(s float64) string {
	digits := 4
	switch {
	case s >= 100:
		digits = 0
	case s >= 10:
		digits = 1
	case s >= 1:
		digits = 2
	case s >= 0.1:
		digits = 3
	}
	return strconv.FormatFloat(s, 'f', digits, 64)
}

func formatRatio(s, best float64) string {
	if best <= 0 {
		return "–"
	}
	return strconv.FormatFloat(s/best, 'f', 2, 64)
}

func csvHeader() []string {
	return []string{"instance", "radius", "solver", "repetition", "status", "states", "safe", "unsafe", "unknown", "pairs", "stored_states",
		"seconds", "spent_seconds", "process_seconds", "peak_rss_bytes"}
}

// csv returns the cell as a record; seconds are empty unless it is complete.
func (c *cell) csv() []string {
	float := func(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }
	seconds := ""
	if c.Seconds != nil {
		seconds = float(*c.Seconds)
	}
	return []string{c.Instance, c.Radius, c.Solver, strconv.Itoa(c.Repetition), string(c.Status),
		strconv.Itoa(c.States), strconv.Itoa(c.Safe), strconv.Itoa(c.Unsafe), strconv.Itoa(c.Unknown),
		strconv.FormatInt(c.Pairs, 10), strconv.FormatInt(c.Stored, 10), seconds, float(c.Spent), float(c.Process),
		strconv.FormatInt(c.PeakRSS, 10)}
}

// benchHeader starts a file in the Go benchmark data format (golang.org/design/14313-benchmark-format).
func benchHeader(m machineReport) string {
	return fmt.Sprintf("goos: %s\ngoarch: %s\ncpu: %s\n", m.OS, m.Arch, m.CPU)
}

// benchfmt returns the cell as a line of the Go benchmark data format, for example for
// “benchstat -col /solver FILE”; nothing unless it is complete, since a limit is no time.
func (c *cell) benchfmt() string {
	if c.Seconds == nil {
		return ""
	}
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == '=' || r <= ' ' {
			return '_'
		}
		return r
	}, c.Instance)
	return fmt.Sprintf("BenchmarkCheck/instance=%s/radius=%s/solver=%s 1 %.0f ns/op %d pairs/op %d peak-rss-bytes\n",
		name, c.Radius, c.Solver, *c.Seconds*1e9, c.Pairs, c.PeakRSS)
}
