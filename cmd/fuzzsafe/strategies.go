package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
)

func (env *environment) strategiesCommand() *cli.Command {
	flags := slices.DeleteFunc(fuzzFlags(), func(f cli.Flag) bool {
		return slices.Contains([]string{"strategy", "lookahead"}, f.Names()[0])
	})
	return &cli.Command{
		Name: "strategies", Usage: "compare fuzzing strategies by the unsafe runs they find", ArgsUsage: "SUITE | MODEL…",
		Description: "SUITE is a file of instances; or else each MODEL is an instance, and all flags about models apply to all of them.\n" +
			"Every cell, that is instance and strategy, is “fuzz --workers 1” in a process of its own, one after the other. Run i starts\n" +
			"in the same state for all strategies.\n" +
			"Exit codes: 0 everything is complete, 11 not everything, 30 a process failed, 31, 32, 33 an instance cannot be analysed.",
		Flags: batchFlags(append(flags,
			&cli.StringSliceFlag{Name: "lookaheads",
				Usage: "layers of the policy graph to look at, `N,…` or inf; repeatable (default: 1,inf); uniform looks at 1"},
			&cli.StringFlag{Name: "plots", Usage: "draw the unsafe runs into `FOLDER`, as SVG and PNG"},
		)...),
		Action: func(c *cli.Context) error {
			x, err := env.newTournament(c)
			if err != nil {
				return err
			}
			return x.run()
		},
	}
}

// tactic is a strategy with a lookahead.
type tactic struct {
	Strategy  string `json:"strategy"`
	Lookahead string `json:"lookahead"`
}

func (t tactic) String() string {
	if t.Strategy == algorithms.Uniform.String() {
		return t.Strategy
	}
	return t.Strategy + " " + strings.Replace(t.Lookahead, "inf", "∞", 1)
}

// fuzzCell is what “fuzz” has found in one instance with one tactic. If it is not complete,
// the report is about the runs that were made.
type fuzzCell struct {
	Instance string     `json:"instance"`
	Status   cellStatus `json:"status"`
	Message  string     `json:"message,omitempty"` // unless complete
	algorithms.FuzzReport
	memoryReport
	Process float64 `json:"process_seconds"` // from the start of the process to its end
}

func (c *fuzzCell) tactic() tactic { return tactic{c.Strategy, c.Lookahead} }

// tournament is the work of one call of “strategies”.
type tournament struct {
	batch
	campaign algorithms.Campaign // but for the tactic
	tactics  []tactic
	cells    []fuzzCell   // by instance, then tactic
	table    [][]fuzzCell // the same by instance, of those with all tactics
}

func (env *environment) newTournament(c *cli.Context) (*tournament, error) {
	b, err := env.newBatch(c)
	if err != nil {
		return nil, err
	}
	x := &tournament{batch: b}
	lookaheads, err := x.list("lookaheads")
	if err != nil {
		return nil, err
	}
	if lookaheads == nil {
		lookaheads = []string{"1", "inf"}
	}
	x.tactics = []tactic{{algorithms.Uniform.String(), "1"}}
	for _, s := range []algorithms.Strategy{algorithms.Greedy, algorithms.Sampling} {
		for _, lookahead := range lookaheads {
			if x.campaign, err = readCampaign(c, s.String(), lookahead); err != nil {
				return nil, err
			}
			t := tactic{s.String(), x.campaign.Fuzz.LookaheadName()}
			if slices.Contains(x.tactics, t) {
				return nil, usage("--lookaheads: %s is given twice", t.Lookahead)
			}
			x.tactics = append(x.tactics, t)
		}
	}
	for _, name := range []string{"runs", "max-steps", "starts"} {
		x.childArgs = append(x.childArgs, "--"+name+"="+fmt.Sprint(c.Value(name)))
	}
	return x, nil
}

// run measures all cells and reports; of failures it leaves the exit code, as “compare” does.
func (x *tournament) run() error {
	defer x.close()
	if err := x.makePlotFolder(); err != nil {
		return err
	}
	write, err := x.openCSV(fuzzCSVHeader())
	if err != nil {
		return err
	}
	for k := range x.instances {
		i, from := &x.instances[k], len(x.cells)
		for n, t := range x.tactics {
			if x.ctx.Err() != nil {
				break
			}
			x.bar.status("strategies: cell %d of %d: %s, %v", k*len(x.tactics)+n+1, len(x.instances)*len(x.tactics), i.Name, t)
			c, err := x.measure(i, t, n == 0)
			if err != nil {
				return err
			}
			x.cells = append(x.cells, c)
			if err := write(c.csv()); err != nil {
				return err
			}
			if c.Status == cellBadInput {
				break
			}
		}
		if row := x.cells[from:]; len(row) == len(x.tactics) {
			x.table = append(x.table, row)
		}
	}
	x.bar.clear()
	report := x.newReport()
	if x.flags.Bool("json") {
		err = printIndented(x.env.stdout, report)
	} else {
		x.printReport(report)
	}
	if dir := x.flags.String("plots"); err == nil && dir != "" && len(x.table) > 0 {
		if err = x.strategyPlot().save(filepath.Join(dir, "strategies")); err != nil {
			err = &badFile{err}
		}
	}
	if err == nil {
		err = x.close()
	}
	x.env.undecided = !report.Complete
	if err == nil && x.env.code == 0 && x.ctx.Err() != nil {
		err = x.ctx.Err() // said to be an interrupt
	}
	return err
}

// measure makes the runs of one cell and tells what is wrong with it.
func (x *tournament) measure(i *suiteInstance, t tactic, first bool) (fuzzCell, error) {
	c := fuzzCell{Instance: i.Name}
	args := []string{"fuzz", "--json", "--progress=off", "--workers=1", "--strategy=" + t.Strategy, "--lookahead=" + t.Lookahead}
	args = append(append(append(args, x.childArgs...), i.modelArgs()...), "--", i.Model)
	e, err := x.child(x.ctx, args, func(r io.Reader) (bool, error) { return c.read(r, t) })
	if err != nil {
		return c, err
	}
	x.conclude(&c, t, e)
	if first && !x.flags.Bool("quiet") {
		for _, w := range e.warnings() {
			x.bar.line("%s", w)
		}
	}
	return c, nil
}

// read takes over the output of “fuzz --json” and returns whether there was some.
func (c *fuzzCell) read(r io.Reader, t tactic) (whole bool, err error) {
	var report struct {
		algorithms.FuzzReport
		memoryReport
	}
	switch err := json.NewDecoder(r).Decode(&report); {
	case err == io.EOF || err == io.ErrUnexpectedEOF || errors.Is(err, os.ErrClosed): // the latter two if it was killed
		return false, nil
	case err != nil:
		return false, fmt.Errorf("its output cannot be read: %w", err)
	}
	c.FuzzReport, c.memoryReport = report.FuzzReport, report.memoryReport
	switch {
	case c.tactic() != t:
		return false, fmt.Errorf("it says that it has run %v", c.tactic())
	case c.Unsafe+c.Exhausted+c.StepLimit+c.PolicyErrors != c.Runs:
		return false, errors.New("the ends of its runs do not sum up to their number")
	}
	return true, nil
}

// conclude says how a cell ended.
func (x *tournament) conclude(c *fuzzCell, t tactic, e *childEnd) {
	c.Process = e.seconds
	c.Strategy, c.Lookahead = t.Strategy, t.Lookahead
	if e.whole && (c.Unsafe > 0) != (e.code == exitUnsafe) && (e.code == exitOK || e.code == exitUnsafe) {
		e.wrong = fmt.Errorf("its exit code is %d for %d unsafe runs", e.code, c.Unsafe)
	}
	whole := e.whole && c.Complete && (x.campaign.Each || c.Runs == x.campaign.Runs)
	switch c.Status, c.Message = e.status(whole); c.Status {
	case cellFailed:
		x.env.code = exitInternal
		x.bar.line("fuzzsafe: FAILED: %s, %v: %s", c.Instance, t, c.Message)
	case cellBadInput:
		if x.env.code == 0 {
			x.env.code = e.code
		}
		x.bar.line("fuzzsafe: %s: %s", c.Instance, c.Message)
	}
	c.Complete = c.Status == cellComplete
}

// strategiesReport is the JSON of “strategies”.
type strategiesReport struct {
	Schema    string          `json:"schema"`
	Machine   machineReport   `json:"machine"`
	Options   tournamentFlags `json:"options"`
	Instances []suiteInstance `json:"instances"`
	Cells     []fuzzCell      `json:"cells"`
	Summary   []tacticSummary `json:"summary"`
	Compared  int             `json:"compared_instances"` // in which all tactics are complete
	Planned   int             `json:"planned_cells"`
	// Complete is whether all planned cells were measured and are complete.
	Complete bool `json:"complete"`
}

type tournamentFlags struct {
	Tactics     []tactic `json:"strategies"`
	Runs        int      `json:"runs"`
	MaxSteps    int      `json:"max_steps"`
	Starts      string   `json:"starts"`
	Seed        uint64   `json:"seed"`
	TimeLimit   float64  `json:"time_limit_seconds"` // 0: none
	MemoryLimit int64    `json:"memory_limit_bytes"` // 0: none
}

// tacticSummary sums up what a tactic has found in the compared instances.
type tacticSummary struct {
	tactic
	Any         int     `json:"instances_with_unsafe_runs"`
	Most        int     `json:"finds_most"` // of the instances in which some tactic finds any; ties count for each
	Alone       int     `json:"finds_most_alone"`
	Unsafe      int     `json:"unsafe"`
	Steps       int64   `json:"steps"`
	Evaluations int64   `json:"policy_evaluations"`
	Seconds     float64 `json:"seconds"`
	// Fewer are the instances in which it finds fewer unsafe runs than uniform.
	Fewer []fewerRuns `json:"fewer_than_uniform"`
}

type fewerRuns struct {
	Instance string `json:"instance"`
	Unsafe   int    `json:"unsafe"`
	Uniform  int    `json:"uniform"`
}

func (x *tournament) newReport() *strategiesReport {
	r := &strategiesReport{
		Schema: "fuzzsafe.strategies/1", Machine: thisMachine(), Instances: x.instances, Cells: append([]fuzzCell{}, x.cells...),
		Options: tournamentFlags{Tactics: x.tactics, Runs: x.campaign.Runs, MaxSteps: x.campaign.Fuzz.MaxSteps,
			Starts: x.flags.String("starts"), Seed: x.campaign.Fuzz.Seed, TimeLimit: x.timeLimit.Seconds(), MemoryLimit: x.memoryLimit},
		Planned: len(x.instances) * len(x.tactics),
	}
	r.Complete = len(x.cells) == r.Planned && !slices.ContainsFunc(x.cells, func(c fuzzCell) bool { return !c.Complete })
	r.Summary, r.Compared = summariseTactics(x.tactics, x.table)
	return r
}

// summariseTactics sums up the rows in which all cells are complete, and counts them. The
// first tactic is the one that others are compared with.
func summariseTactics(tactics []tactic, table [][]fuzzCell) (list []tacticSummary, compared int) {
	for _, t := range tactics {
		list = append(list, tacticSummary{tactic: t, Fewer: []fewerRuns{}})
	}
	for _, row := range table {
		if slices.ContainsFunc(row, func(c fuzzCell) bool { return !c.Complete }) {
			continue
		}
		compared++
		most, times := 0, 0
		for i := range row {
			if n := row[i].Unsafe; n > most {
				most, times = n, 1
			} else if n == most {
				times++
			}
		}
		for k := range row {
			c, s := &row[k], &list[k]
			s.Unsafe += c.Unsafe
			s.Steps += c.Steps
			s.Evaluations += c.PolicyEvaluations
			s.Seconds += c.Seconds
			if c.Unsafe > 0 {
				s.Any++
			}
			if c.Unsafe == most && most > 0 {
				s.Most++
				if times == 1 {
					s.Alone++
				}
			}
			if c.Unsafe < row[0].Unsafe {
				s.Fewer = append(s.Fewer, fewerRuns{c.Instance, c.Unsafe, row[0].Unsafe})
			}
		}
	}
	return list, compared
}

func (x *tournament) printReport(r *strategiesReport) {
	out := x.env.stdout
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	for k := range r.Cells {
		c := &r.Cells[k]
		if k == 0 || r.Cells[k-1].Instance != c.Instance {
			w.Flush()
			fmt.Fprintf(out, "%s\n", c.Instance)
			fmt.Fprintln(w, "\truns\tunsafe\tsteps\tpolicy evaluations\tseconds\t")
		}
		seconds := c.Status.mark()
		if c.Complete {
			seconds = formatSeconds(c.Seconds)
		}
		fmt.Fprintf(w, "%v\t%d\t%d\t%d\t%d\t%s\t\n", c.tactic(), c.Runs, c.Unsafe, c.Steps, c.PolicyEvaluations, seconds)
	}
	w.Flush()
	if len(x.table) == 0 {
		return
	}
	fmt.Fprintf(out, "\nUnsafe runs\n")
	for _, t := range x.tactics {
		fmt.Fprintf(w, "\t%v", t)
	}
	fmt.Fprintln(w, "\t")
	for _, row := range x.table {
		fmt.Fprint(w, row[0].Instance)
		for k := range row {
			fmt.Fprintf(w, "\t%s", row[k].count())
		}
		fmt.Fprintln(w, "\t")
	}
	w.Flush()
	fmt.Fprintf(out, "\n%d instances, %d of them with all strategies complete; these together\n", len(x.instances), r.Compared)
	fmt.Fprintln(w, "\tfinds any\tfinds most*\talone\tunsafe runs\tsteps\tpolicy evaluations\tseconds\t")
	for _, s := range r.Summary {
		fmt.Fprintf(w, "%v\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t\n",
			s.tactic, s.Any, s.Most, s.Alone, s.Unsafe, s.Steps, s.Evaluations, formatSeconds(s.Seconds))
	}
	w.Flush()
	fmt.Fprintf(out, "*  instances in which some strategy finds an unsafe run and none finds more than this one\n")
	fmt.Fprintf(out, "Seconds are of one worker, without reading the model. %s; what was found until then is counted.\n", x.limitsText())
	if r.Compared == 0 {
		return
	}
	for _, s := range r.Summary[1:] {
		var parts []string
		for _, f := range s.Fewer {
			parts = append(parts, fmt.Sprintf("%s (%d, not %d)", f.Instance, f.Unsafe, f.Uniform))
		}
		if parts == nil {
			parts = []string{"no instance"}
		}
		fmt.Fprintf(out, "%v finds fewer than uniform in %s.\n", s.tactic, strings.Join(parts, ", "))
	}
}

// count is the number of unsafe runs with what ended them.
func (c *fuzzCell) count() string {
	if c.Complete {
		return strconv.Itoa(c.Unsafe)
	}
	return fmt.Sprintf("%d of %d, %s", c.Unsafe, c.Runs, c.Status.mark())
}

func fuzzCSVHeader() []string {
	return []string{"instance", "strategy", "lookahead", "status", "runs", "unsafe", "exhausted", "goals", "step_limit", "policy_errors",
		"steps", "policy_evaluations", "seconds", "process_seconds", "peak_rss_bytes"}
}

// csv returns the cell as a record; seconds are empty unless it is complete.
func (c *fuzzCell) csv() []string {
	seconds := ""
	if c.Complete {
		seconds = strconv.FormatFloat(c.Seconds, 'f', 6, 64)
	}
	return []string{c.Instance, c.Strategy, c.Lookahead, string(c.Status), strconv.Itoa(c.Runs), strconv.Itoa(c.Unsafe),
		strconv.Itoa(c.Exhausted), strconv.Itoa(c.Goals), strconv.Itoa(c.StepLimit), strconv.Itoa(c.PolicyErrors), strconv.FormatInt(c.Steps, 10),
		strconv.FormatInt(c.PolicyEvaluations, 10), seconds, strconv.FormatFloat(c.Process, 'f', 6, 64), strconv.FormatInt(c.PeakRSS, 10)}
}
