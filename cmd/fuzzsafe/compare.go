package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
	"fuzzsafe/jani"
)

func (env *environment) compareCommand() *cli.Command {
	solvers := algorithms.DeciderNames()
	return &cli.Command{
		Name: "compare", Usage: "compare solvers on equal states with equal limits", ArgsUsage: "SUITE | MODEL…",
		Description: "SUITE is a file of instances; or else each MODEL is an instance, and all flags about models apply to all of them.\n" +
			"Every cell, that is instance, radius, solver and repetition, is measured in a process of its own, one after the other.\n" +
			"Exit codes: 0 everything is decided, 11 not everything, 30 verdicts contradict each other or a process failed,\n" +
			"31, 32, 33 an instance cannot be analysed.",
		Flags: batchFlags(append(stateFlags(),
			&cli.StringSliceFlag{Name: "solvers", Usage: "algorithms, `NAME,…`; repeatable (default: " + strings.Join(solvers, ",") + ")"},
			&cli.StringSliceFlag{Name: "radii", Usage: "deviations from the policy allowed on a run, `N,…` or inf; repeatable (default: inf,1,2)"},
			&cli.IntFlag{Name: "repeat", Value: 3, Usage: "measure every cell `N` times"},
			&cli.BoolFlag{Name: "repeat-limited", Usage: "also repeat what has reached a limit"},
			&cli.StringFlag{Name: "baseline", Value: solvers[0], Usage: "`SOLVER` that others are compared with"},
			&cli.StringFlag{Name: "benchfmt", Usage: "write the complete cells to `FILE`, in the format that benchstat reads"},
			&cli.StringFlag{Name: "plots", Usage: "draw coverage, cactus and scatter plots into `FOLDER`, as SVG and PNG"},
		)...),
		Action: func(c *cli.Context) error {
			x, err := env.newComparison(c)
			if err != nil {
				return err
			}
			return x.run()
		},
	}
}

// batchFlags are those of every command that measures cells.
func batchFlags(more ...cli.Flag) []cli.Flag {
	// What is common, but for what is not of use here.
	flags := slices.DeleteFunc(commonFlags(more...), func(f cli.Flag) bool {
		return slices.Contains([]string{"workers", "time-limit", "exit-zero", "inputs", "outputs", "activation"}, f.Names()[0])
	})
	return append(flags,
		&cli.DurationFlag{Name: "time-limit", Value: time.Minute, Usage: "end a cell after `DURATION`, reading its model included; 0s: none"},
		&cli.StringFlag{Name: "csv", Usage: "write a line for each cell to `FILE`"})
}

// batch is what commands have in common that measure cells of instances, each in a process
// of its own.
type batch struct {
	env   *environment
	flags *cli.Context
	ctx   context.Context
	bar   *progress

	instances   []suiteInstance
	timeLimit   time.Duration // 0: none
	memoryLimit int64         // bytes; 0: none
	childArgs   []string      // flags that are equal for all cells
	files       []*os.File
}

// newBatch reads the flags and arguments that all such commands have.
func (env *environment) newBatch(c *cli.Context) (b batch, err error) {
	b = batch{env: env, flags: c, ctx: c.Context, timeLimit: c.Duration("time-limit")}
	if b.bar, err = newProgress(c, env.stderr); err != nil {
		return b, err
	}
	if b.timeLimit < 0 {
		return b, usage("--time-limit %v: it is positive", b.timeLimit)
	}
	if b.memoryLimit, err = memoryLimit(c.String("memory-limit")); err != nil {
		return b, err
	}
	b.childArgs = []string{"--time-limit=" + b.timeLimit.String(), "--seed=" + strconv.FormatUint(c.Uint64("seed"), 10)}
	for _, name := range []string{"memory-limit", "max-depth", "max-file-size", "policy-timeout"} {
		if c.IsSet(name) {
			b.childArgs = append(b.childArgs, "--"+name+"="+c.String(name))
		}
	}
	return b, b.readInstances()
}

// comparison is the work of one call of “compare”.
type comparison struct {
	batch
	solvers  []string
	radii    []algorithms.Radius
	repeat   int
	baseline string

	// measure fills in a cell of which the first fields are set, and returns the warnings
	// about its model. It is a field so that the rest can be tested with scripted cells.
	measure func(context.Context, *suiteInstance, *cell) (warnings []string, err error)
	cells   []cell
	spared  int // repetitions of what has reached a limit before
	sinks   []func(*cell) error
}

func (env *environment) newComparison(c *cli.Context) (x *comparison, err error) {
	b, err := env.newBatch(c)
	if err != nil {
		return nil, err
	}
	x = &comparison{batch: b, repeat: c.Int("repeat"), baseline: c.String("baseline")}
	x.measure = x.measureProcess
	if x.repeat < 1 {
		return nil, usage("--repeat %d: it is at least 1", x.repeat)
	}
	if c.Bool("fresh") {
		x.childArgs = append(x.childArgs, "--fresh")
	}
	if err = x.readSolvers(); err != nil {
		return nil, err
	}
	return x, x.readRadii()
}

// list returns the parts of a repeatable flag that may have several in one value.
func (b *batch) list(name string) ([]string, error) {
	var parts []string
	for _, text := range b.flags.StringSlice(name) {
		for _, part := range strings.Split(text, ",") {
			part = strings.TrimSpace(part)
			if slices.Contains(parts, part) {
				return nil, usage("--%s: %s is given twice", name, part)
			}
			parts = append(parts, part)
		}
	}
	return parts, nil
}

func (x *comparison) readSolvers() (err error) {
	known := algorithms.DeciderNames()
	if x.solvers, err = x.list("solvers"); err != nil {
		return err
	}
	if x.solvers == nil {
		x.solvers = known
	}
	unknown := func(flag, name string) error {
		hint := jani.DidYouMean(name, known)
		if hint == "" {
			hint = "it is " + joinNames(known)
		}
		return usage("--%s %s: unknown (%s)", flag, name, hint)
	}
	for _, name := range x.solvers {
		if !slices.Contains(known, name) {
			return unknown("solvers", name)
		}
	}
	switch {
	case slices.Contains(x.solvers, x.baseline):
	case !slices.Contains(known, x.baseline):
		return unknown("baseline", x.baseline)
	case x.flags.IsSet("baseline"):
		return usage("--baseline %s: it is none of --solvers", x.baseline)
	default:
		x.baseline = x.solvers[0]
	}
	return nil
}

func (x *comparison) readRadii() error {
	list, err := x.list("radii")
	if err != nil {
		return err
	}
	if list == nil {
		x.radii = []algorithms.Radius{algorithms.Infinite, 1, 2}
	}
	for _, text := range list {
		r, err := algorithms.ParseRadius(text)
		if err != nil {
			return usage("--radii: %v", err)
		}
		if slices.Contains(x.radii, r) {
			return usage("--radii: %v is given twice", r)
		}
		x.radii = append(x.radii, r)
	}
	return nil
}

// instanceFlags are those that describe an instance, which a suite does itself.
func instanceFlags() []string {
	return []string{"property", "policy", "unsafe", "goal", "start", "const", "choice", "unfiltered", "states", "draw", "first", "max-states"}
}

// readInstances reads the arguments: a suite, or models.
func (b *batch) readInstances() error {
	c := b.flags
	if c.NArg() == 0 {
		return usage("%s needs a SUITE or at least one MODEL", c.Command.Name)
	}
	for _, name := range []string{"draw", "first"} {
		if n := c.Int(name); n < 0 {
			return usage("--%s %d: it is positive", name, n)
		}
	}
	if n := c.Int64("max-states"); n < 0 {
		return usage("--max-states %d: it is positive", n)
	}
	limits := jani.Limits{MaxDepth: c.Int("max-depth"), MaxBytes: c.Int("max-file-size")}
	if limits.MaxDepth < 0 || limits.MaxBytes < 0 {
		return usage("--max-depth and --max-file-size are positive")
	}
	names := map[string]bool{}
	for _, arg := range c.Args().Slice() {
		if arg == "-" {
			return usage("%s reads every MODEL several times, which standard input does not allow", c.Command.Name)
		}
		// A file that cannot be read is left to the child, like all that is wrong with a model.
		if src, err := readFile(arg); err == nil && isSuite(src) {
			if c.NArg() > 1 {
				return usage("%s is a SUITE: it must be the only argument", arg)
			}
			for _, name := range instanceFlags() {
				if c.IsSet(name) {
					return usage("--%s is about a MODEL; of a SUITE, each instance has its own", name)
				}
			}
			b.instances, err = readSuite(src, limits)
			return err
		}
		i := suiteInstance{Model: arg, Property: c.String("property"), Policy: c.String("policy"), Const: c.StringSlice("const"),
			Unsafe: c.String("unsafe"), Goal: c.String("goal"), Start: c.String("start"), Choice: c.String("choice"),
			Unfiltered: c.Bool("unfiltered"), States: c.String("states"), Draw: c.Int("draw"), First: c.Int("first"),
			MaxStates: c.Int64("max-states")}
		i.Name = i.defaultName()
		if names[i.Name] {
			return usage("two instances are called %q", i.Name)
		}
		names[i.Name] = true
		b.instances = append(b.instances, i)
	}
	return nil
}

// subject is an instance at work.
type subject struct {
	*suiteInstance
	measured bool // at least once
	stopped  bool // cannot be analysed
	states   int  // how many there are to decide; 0: not known yet
}

// question is an instance with a radius.
type question struct {
	subject *subject
	radius  algorithms.Radius
}

// questions returns the rows of the comparison. Without a policy there is no deviation.
func (x *comparison) questions() ([]question, error) {
	var list []question
	for k := range x.instances {
		i := &subject{suiteInstance: &x.instances[k]}
		var skipped []string
		for _, r := range x.radii {
			if r != algorithms.Infinite && !i.hasPolicy() {
				skipped = append(skipped, r.String())
				continue
			}
			list = append(list, question{i, r})
		}
		if skipped != nil {
			x.note("%s has no policy: radius %s is skipped", i.Name, strings.Join(skipped, ", "))
		}
	}
	if list == nil {
		return nil, usage("there is nothing to compare: finite radii need a policy under test")
	}
	return list, nil
}

// note tells something that is no error.
func (b *batch) note(format string, args ...any) {
	if !b.flags.Bool("quiet") {
		b.bar.line(b.flags.Command.Name+": "+format, args...)
	}
}

// run measures all cells and reports. The exit code of failures is left in the
// environment, since they are reported where they are met and do not end the work.
func (x *comparison) run() error {
	questions, err := x.questions()
	if err != nil {
		return err
	}
	defer x.close()
	if err := x.openFiles(); err != nil {
		return err
	}
	if err := x.measureAll(questions); err != nil {
		return err
	}
	x.bar.clear()
	planned := len(questions)*len(x.solvers)*x.repeat - x.spared
	rows := rowsOf(x.cells, x.solvers, x.flags.Bool("fresh"))
	report := x.newReport(rows, planned)
	if x.flags.Bool("json") {
		err = printIndented(x.env.stdout, report)
	} else {
		x.printReport(report, rows)
	}
	if dir := x.flags.String("plots"); err == nil && dir != "" && len(rows) > 0 {
		err = x.plot(dir, rows)
	}
	if err == nil {
		err = x.close()
	}
	if n := len(report.Contradictions); n > 0 {
		x.env.code = exitInternal
		x.bar.line("fuzzsafe: CONTRADICTION: verdicts on %d states cannot all be right", countStates(report.Contradictions))
	}
	x.env.undecided = !report.Complete
	if err == nil && x.env.code == 0 && x.ctx.Err() != nil {
		err = x.ctx.Err() // said to be an interrupt
	}
	return err
}

// measureAll measures the cells: repetitions outermost, so that what changes on the machine
// meets all solvers alike, and with the solvers in rotating order, so that each is first
// as often as any other.
func (x *comparison) measureAll(questions []question) error {
	done, all := 0, len(questions)*len(x.solvers)*x.repeat
	for repetition := range x.repeat {
		for n, q := range questions {
			for k := range x.solvers {
				c := cell{Instance: q.subject.Name, Radius: q.radius.String(), Solver: x.solvers[(k+n+repetition)%len(x.solvers)],
					Repetition: repetition + 1, radius: q.radius}
				if done++; q.subject.stopped {
					continue
				}
				if !x.flags.Bool("repeat-limited") && x.limited(&c) {
					x.spared++
					continue
				}
				if x.ctx.Err() != nil {
					return nil
				}
				x.bar.status("compare: cell %d of %d: %s, radius %s, %s", done, all, c.Instance, c.Radius, c.Solver)
				if err := x.measureCell(q.subject, &c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// limited returns whether an earlier repetition of c has reached a limit, which makes another
// one expensive and of little interest.
func (x *comparison) limited(c *cell) bool {
	return slices.ContainsFunc(x.cells, func(old cell) bool {
		return old.Instance == c.Instance && old.radius == c.radius && old.Solver == c.Solver &&
			slices.Contains([]cellStatus{cellTime, cellMemory, cellStates}, old.Status)
	})
}

// measureCell measures a cell, keeps it, and tells what is wrong with it.
func (x *comparison) measureCell(i *subject, c *cell) error {
	warnings, err := x.measure(x.ctx, i.suiteInstance, c)
	if err != nil {
		return err
	}
	if !i.measured && !x.flags.Bool("quiet") {
		for _, w := range warnings {
			x.bar.line("%s", w)
		}
	}
	i.measured = true
	if c.States > 0 && i.states > 0 && c.States != i.states && c.Status != cellFailed {
		c.Status, c.Seconds = cellFailed, nil
		c.Message = fmt.Sprintf("there are %d states to decide, but there were %d before", c.States, i.states)
	}
	i.states = max(i.states, c.States)
	switch c.Status {
	case cellFailed:
		x.env.code = exitInternal
		x.bar.line("fuzzsafe: FAILED: %s, radius %s, %s: %s", c.Instance, c.Radius, c.Solver, c.Message)
	case cellBadInput:
		i.stopped = true
		if x.env.code == 0 {
			x.env.code = c.code
		}
		x.bar.line("fuzzsafe: %s: %s", c.Instance, c.Message)
	default:
		if x.flags.Bool("verbose") {
			how := string(c.Status)
			if c.Message != "" {
				how += " (" + c.Message + ")"
			}
			x.bar.line("compare: %s, radius %s, %s: %s, %d of %d states, %.4f s",
				c.Instance, c.Radius, c.Solver, how, c.Safe+c.Unsafe, c.States, c.Spent)
		}
	}
	x.cells = append(x.cells, *c)
	for _, write := range x.sinks {
		if err := write(c); err != nil {
			return err
		}
	}
	return nil
}

// openFiles opens what is written while measuring, so that it is there whatever happens,
// and the folder of plots: better now than after hours.
func (x *comparison) openFiles() error {
	if err := x.makePlotFolder(); err != nil {
		return err
	}
	write, err := x.openCSV(csvHeader())
	if err != nil {
		return err
	}
	x.sinks = append(x.sinks, func(c *cell) error { return write(c.csv()) })
	if name := x.flags.String("benchfmt"); name != "" {
		f, err := x.create(name)
		if err != nil {
			return err
		}
		if _, err := f.WriteString(benchHeader(thisMachine())); err != nil {
			return &badFile{err}
		}
		x.sinks = append(x.sinks, func(c *cell) error {
			if _, err := f.WriteString(c.benchfmt()); err != nil {
				return &badFile{err}
			}
			return nil
		})
	}
	return nil
}

// makePlotFolder makes the folder that plots are asked for in, if they are.
func (b *batch) makePlotFolder() error {
	if dir := b.flags.String("plots"); dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return &badFile{err}
		}
	}
	return nil
}

// create opens a file that is written until the batch is closed.
func (b *batch) create(name string) (*os.File, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, &badFile{err}
	}
	b.files = append(b.files, f)
	return f, nil
}

// openCSV opens the file of --csv and returns what writes a record to it at once; nothing
// is written if none is asked for.
func (b *batch) openCSV(header []string) (write func(record []string) error, err error) {
	name := b.flags.String("csv")
	if name == "" {
		return func([]string) error { return nil }, nil
	}
	f, err := b.create(name)
	if err != nil {
		return nil, err
	}
	w := csv.NewWriter(f)
	write = func(record []string) error {
		if err := w.Write(record); err != nil {
			return &badFile{err}
		}
		if w.Flush(); w.Error() != nil {
			return &badFile{w.Error()}
		}
		return nil
	}
	return write, write(header)
}

func (b *batch) close() error {
	var errs []error
	for _, f := range b.files {
		errs = append(errs, f.Close())
	}
	b.files = nil
	if err := errors.Join(errs...); err != nil {
		return &badFile{err}
	}
	return nil
}

func countStates(list []contradiction) int {
	type state struct {
		instance string
		index    int
	}
	states := map[state]bool{}
	for _, c := range list {
		states[state{c.Instance, c.Index}] = true
	}
	return len(states)
}
