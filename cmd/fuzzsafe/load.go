package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fuzzsafe/benchmarks"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
	"fuzzsafe/jani/certificate"
	"fuzzsafe/nnpolicy"
)

// commonFlags are those of every command that reads a model.
func commonFlags(more ...cli.Flag) []cli.Flag {
	return append(more,
		&cli.StringFlag{Name: "property", Usage: "planning property: `NAME` in the model, or FILE[:NAME]; default: the model's first"},
		&cli.StringFlag{Name: "unsafe", Usage: "unsafe condition `EXPR`, or @FILE"},
		&cli.StringFlag{Name: "goal", Usage: "goal condition `EXPR`, or @FILE"},
		&cli.StringFlag{Name: "start", Usage: "start condition `EXPR`, or @FILE (a condition or a list of states)"},
		&cli.StringSliceFlag{Name: "const", Aliases: []string{"c"}, Usage: "give a parameter of the model its value, `NAME=VALUE`; repeatable"},
		&cli.StringFlag{Name: "choice", Value: "label", Usage: "`WHAT` is one action: a label or an edge"},
		&cli.StringFlag{Name: "policy", Usage: "policy under test, `FILE` (.jani2nnet, .nnet, .onnx, .pt, .pth, .safetensors or .json), or cmd:COMMAND, a process that is asked"},
		&cli.StringFlag{Name: "inputs", Usage: "variables `NAME,…` that a policy without interface is fed (default: all but locations, in model order)"},
		&cli.StringFlag{Name: "outputs", Usage: "action labels `NAME,…` of its outputs (default: all, in model order)"},
		&cli.StringFlag{Name: "activation", Usage: "`NAME` of what is between the layers of a .pt, .pth or .safetensors file: relu, tanh or sigmoid"},
		&cli.DurationFlag{Name: "policy-timeout", Value: 10 * time.Second, Usage: "give a policy process `DURATION` to start, and for every answer"},
		&cli.BoolFlag{Name: "unfiltered", Usage: "take the policy's best output even if it is not applicable; only if its interface says \"filter\": false"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed `N` of all random choices"},
		&cli.IntFlag{Name: "workers", Usage: "`N` goroutines; results do not depend on it (default: all cores)"},
		&cli.DurationFlag{Name: "time-limit", Usage: "end the analysis after `DURATION`, e.g. 60s; default: none"},
		&cli.IntFlag{Name: "max-depth", Usage: "refuse JSON and expressions that nest deeper than `N` (default: 1000)"},
		&cli.IntFlag{Name: "max-file-size", Usage: "refuse input files of more than `N` bytes (default: 536870912)"},
		&cli.StringFlag{Name: "memory-limit", Usage: "end the analysis at `SIZE` of resident memory, e.g. 4GiB, or off (default: three quarters of the machine's)"},
		&cli.BoolFlag{Name: "json", Usage: "print JSON only"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress and no warnings"},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "say more"},
		&cli.StringFlag{Name: "progress", Value: "auto", Usage: "`MODE`: auto, plain or off"},
		&cli.BoolFlag{Name: "exit-zero", Usage: "exit with 0 instead of 10"},
	)
}

// session is a command at work on one model.
type session struct {
	env    *environment
	flags  *cli.Context
	ctx    context.Context
	cancel context.CancelFunc

	name     string // of the model as given
	doc      *jani.Document
	model    *jani.Model
	plan     *jani.Planning
	task     *jani.Task
	property *jani.Property // nil if there is none
	policy   *nnpolicy.Policy
	options  engine.Options
	seed     uint64
	workers  int
	json     bool
	bar      *progress
	warned   []string

	bench  *benchmarks.Instance
	limits jani.Limits
	files  []certificate.File // that verdicts depend on, without the policy's
}

// open reads the one argument MODEL and everything that the flags say about it. Commands
// that need an unsafe condition say so.
func (env *environment) open(c *cli.Context, needUnsafe bool) (*session, error) {
	if c.NArg() != 1 {
		return nil, usage("%s needs one MODEL, found %d arguments", c.Command.Name, c.NArg())
	}
	return env.openModel(c, c.Args().First(), needUnsafe)
}

// openModel is open for a MODEL that is not the only argument.
func (env *environment) openModel(c *cli.Context, model string, needUnsafe bool) (*session, error) {
	env.exitZero = c.Bool("exit-zero")
	s := &session{env: env, flags: c, name: model, json: c.Bool("json"), seed: c.Uint64("seed"), workers: c.Int("workers")}
	if s.workers < 0 {
		return nil, usage("--workers %d: it is at least 1, or 0 for all cores", s.workers)
	}
	if s.workers == 0 {
		s.workers = runtime.GOMAXPROCS(0)
	}
	var err error
	if s.bar, err = newProgress(c, env.stderr); err != nil {
		return nil, err
	}
	if s.options.Choice, err = engine.ParseChoiceMode(c.String("choice")); err != nil {
		return nil, usage("--choice: %v", err)
	}
	s.limits = jani.Limits{MaxDepth: c.Int("max-depth"), MaxBytes: c.Int("max-file-size")}
	if s.limits.MaxDepth < 0 || s.limits.MaxBytes < 0 {
		return nil, usage("--max-depth and --max-file-size are positive")
	}
	s.options.Unfiltered = c.Bool("unfiltered")
	if s.options.Limits.MaxResident, err = memoryLimit(c.String("memory-limit")); err != nil {
		return nil, err
	}
	if s.options.Limits.MaxResident > 0 {
		// The collector works harder before the limit, not only at it.
		debug.SetMemoryLimit(s.options.Limits.MaxResident / 10 * 9)
	}
	s.ctx, s.cancel = c.Context, func() {}
	switch limit := c.Duration("time-limit"); {
	case limit < 0:
		return nil, usage("--time-limit %v: it is positive", limit)
	case limit > 0:
		s.ctx, s.cancel = context.WithTimeout(c.Context, limit)
	}
	if err := s.load(needUnsafe); err != nil {
		s.cancel()
		return nil, err
	}
	return s, nil
}

func (s *session) load(needUnsafe bool) error {
	src, err := s.source(s.name)
	if err != nil {
		return err
	}
	if s.doc, err = jani.Parse(src, s.limits); err != nil {
		return err
	}
	constants := map[string]*jani.Expr{}
	for _, text := range s.flags.StringSlice("const") {
		name, value, err := jani.ParseConstant(text)
		if err != nil {
			return usage("--const: %v", err)
		}
		name = strings.TrimSpace(name)
		if constants[name] != nil {
			return usage("--const: %s is given twice", name)
		}
		constants[name] = value
	}
	if s.model, err = jani.Compile(s.doc, constants); err != nil {
		return err
	}
	s.warnings(s.model.Warnings)
	plan, err := s.planning()
	if err != nil {
		return err
	}
	if plan.Unsafe == nil && needUnsafe {
		if p := s.property; p != nil {
			return &jani.Error{Kind: jani.BadInput, Pos: p.Pos, Msg: fmt.Sprintf("the property %q has no unsafe condition", p.Name),
				Hint: `it is the part "reach"; or give --unsafe EXPR`}
		}
		return usage("there is no unsafe condition: the model has no planning property; give --property FILE or --unsafe EXPR")
	}
	s.plan = plan
	name := ""
	if s.property != nil {
		name = s.property.Name
	}
	if s.task, err = s.model.Task(name, plan); err != nil {
		return err
	}
	return s.loadPolicy()
}

// source reads the model or a file of it.
func (s *session) source(name string) (*jani.Source, error) {
	if name == "-" {
		text, err := io.ReadAll(s.env.stdin)
		if err != nil {
			return nil, &badFile{fmt.Errorf("standard input: %w", err)}
		}
		s.record(certificate.RoleModel, "<stdin>", text)
		return jani.NewSource("<stdin>", text), nil
	}
	if bench, ok := strings.CutPrefix(name, "bench:"); ok {
		instance, err := benchmarks.Open(bench)
		if err != nil {
			return nil, usage("%v", err)
		}
		s.bench = &instance
		return s.embedded(certificate.RoleModel, benchmarks.ModelFile)
	}
	src, err := s.read(certificate.RoleModel, name)
	if err != nil {
		if _, unknown := benchmarks.Open(name); unknown == nil {
			err = &badFile{fmt.Errorf("%w (did you mean bench:%s?)", err, name)}
		}
	}
	return src, err
}

func readFile(name string) (*jani.Source, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, &badFile{err}
	}
	return jani.NewSource(name, text), nil
}

// read reads a file that verdicts depend on, unless role is "".
func (s *session) read(role, name string) (*jani.Source, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, &badFile{err}
	}
	s.record(role, name, text)
	return jani.NewSource(name, text), nil
}

// record notes a file that verdicts depend on, unless role is "".
func (s *session) record(role, name string, text []byte) {
	if role != "" {
		s.files = append(s.files, certificate.File{Role: role, Name: name, SHA256: digest(text)})
	}
}

func digest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// embedded reads a file of an embedded instance.
func (s *session) embedded(role, file string) (*jani.Source, error) {
	text, err := fs.ReadFile(s.bench.FS(), file)
	if err != nil {
		return nil, &badFile{err}
	}
	name := "bench:" + s.bench.Name + "/" + file
	s.record(role, name, text)
	return jani.NewSource(name, text), nil
}

// opener reads the file that a {"file": …} part names, relative to the file that says so.
func (s *session) opener(role string) jani.Opener {
	return func(from *jani.Source, name string) (*jani.Source, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(from.Name), name)
		}
		return s.read(role, name)
	}
}

// planning gathers the conditions from property and flags.
func (s *session) planning() (*jani.Planning, error) {
	plan := &jani.Planning{}
	prop, err := s.findProperty()
	if err != nil {
		return nil, err
	}
	if prop != nil {
		s.property = prop
		var warnings []jani.Warning
		if plan, warnings, err = prop.Planning(s.opener(certificate.RolePart), s.limits); err != nil {
			return nil, err
		}
		s.warnings(warnings)
	}
	for _, part := range []struct {
		flag, role, file string
		to               **jani.Condition
	}{{"unsafe", "safe", certificate.RoleUnsafe, &plan.Unsafe}, {"goal", "goal", certificate.RoleGoal, &plan.Goal}, {"start", "start", "", &plan.Start}} {
		text := s.flags.String(part.flag)
		if text == "" {
			continue
		}
		if file, ok := strings.CutPrefix(text, "@"); ok {
			src, err := s.read(part.file, file)
			if err != nil {
				return nil, err
			}
			cond, warnings, err := jani.ParseCondition(src, part.role, s.opener(part.file), s.limits)
			if err != nil {
				return nil, err
			}
			s.warnings(warnings)
			*part.to = cond
			continue
		}
		e, err := jani.ParseInfix("--"+part.flag, text, s.model.Names(), s.limits)
		if err != nil {
			return nil, err
		}
		*part.to = &jani.Condition{Exp: e, Pos: e.Pos}
	}
	return plan, nil
}

// findProperty returns the property that is asked for, nil if none is and the model has
// no planning property.
func (s *session) findProperty() (*jani.Property, error) {
	asked := s.flags.String("property")
	if asked == "" {
		if s.bench != nil {
			src, err := s.embedded(certificate.RoleProperty, benchmarks.PropertyFile)
			if err != nil {
				return nil, err
			}
			return s.propertyOf(src, "")
		}
		for i := range s.doc.Properties {
			if s.doc.Properties[i].IsPlanning() {
				return &s.doc.Properties[i], nil
			}
		}
		return nil, nil
	}
	var names []string
	for i := range s.doc.Properties {
		if names = append(names, s.doc.Properties[i].Name); names[i] == asked {
			return &s.doc.Properties[i], nil
		}
	}
	file, name := asked, ""
	if _, err := os.Stat(file); err != nil {
		if i := strings.LastIndexByte(asked, ':'); i > 0 {
			file, name = asked[:i], asked[i+1:]
		}
	}
	if _, err := os.Stat(file); err != nil {
		hint := jani.DidYouMean(asked, names)
		if hint == "" {
			hint = "the model has " + strconv.Itoa(len(names)) + " properties"
			if len(names) > 0 {
				hint += ": " + strings.Join(names, ", ")
			}
		}
		return nil, &badFile{fmt.Errorf("--property %s: neither a property of the model nor a file (%s)", asked, hint)}
	}
	src, err := s.read(certificate.RoleProperty, file)
	if err != nil {
		return nil, err
	}
	return s.propertyOf(src, name)
}

// propertyOf returns the named property of a file, or its first planning property.
func (s *session) propertyOf(src *jani.Source, name string) (*jani.Property, error) {
	list, err := jani.ParseProperties(src, s.limits)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list {
		if name == list[i].Name || name == "" && list[i].IsPlanning() {
			return &list[i], nil
		}
		names = append(names, list[i].Name)
	}
	if name == "" {
		return nil, &badFile{fmt.Errorf("%s: none of its %d properties is a planning property", src.Name, len(list))}
	}
	return nil, &badFile{fmt.Errorf("%s: there is no property %q (it has: %s)", src.Name, name, strings.Join(names, ", "))}
}

func (s *session) loadPolicy() error {
	file := s.flags.String("policy")
	for _, name := range []string{"inputs", "outputs", "activation"} {
		switch text := s.flags.String(name); {
		case !s.flags.IsSet(name):
		case file == "":
			return usage("--%s says something about the file of --policy, which is not given", name)
		case text == "" || name == "activation" && text != "relu" && text != "tanh" && text != "sigmoid":
			return usage("--%s %q: it is relu, tanh or sigmoid for --activation, else a list of names", name, text)
		case strings.HasPrefix(file, "cmd:"):
			return usage("--%s: a process says itself what it is asked and what it answers (--policy %s)", name, file)
		case name != "activation" && filepath.Ext(file) == ".jani2nnet":
			return usage("--%s: an interface file names the inputs and outputs itself", name)
		}
	}
	var err error
	command, external := strings.CutPrefix(file, "cmd:")
	switch {
	case external:
		timeout := s.flags.Duration("policy-timeout")
		if timeout <= 0 {
			return usage("--policy-timeout %v: it is positive", timeout)
		}
		s.policy, err = nnpolicy.StartExternal(s.ctx, s.model, command, timeout)
		if err != nil {
			return err
		}
		s.workers = 1 // the process may remember what it was asked: the order must not change
		cancel := s.cancel
		s.cancel = func() {
			s.endPolicy()
			cancel()
		}
	case file != "":
		info, wrong := os.Stat(file)
		if wrong != nil {
			return &badFile{fmt.Errorf("--policy: %w", wrong)}
		}
		if info.IsDir() {
			return &badFile{fmt.Errorf("--policy %s: it is a folder; give the file in it that ends in .jani2nnet or .nnet", file)}
		}
		s.policy, err = nnpolicy.LoadWith(s.model, file, nnpolicy.Options{
			Inputs: names(s.flags.String("inputs")), Outputs: names(s.flags.String("outputs")),
			Activation: s.flags.String("activation"), Limits: s.limits,
		})
	case s.bench != nil && s.bench.HasPolicy():
		s.policy, err = nnpolicy.LoadFS(s.model, s.bench.FS(), benchmarks.PolicyFile)
	default:
		return nil
	}
	if err != nil {
		if errors.As(err, new(*fs.PathError)) {
			return &badFile{err}
		}
		return err
	}
	if s.options.Unfiltered && s.policy.Filter {
		return usage("--unfiltered: the policy's interface says \"filter\": true, so it is meant to be read with filtering")
	}
	s.warnings(s.policy.Warnings)
	s.options.Policy = s.policy
	return nil
}

// names splits a list at its commas, nil if it is empty.
func names(text string) []string {
	if text == "" {
		return nil
	}
	list := strings.Split(text, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// endPolicy ends a policy process.
func (s *session) endPolicy() {
	for _, line := range s.policy.Close() {
		if s.flags.Bool("verbose") {
			s.bar.line("policy: %s", line)
		}
	}
}

// needPolicy is the error of commands that cannot do without a policy.
func (s *session) needPolicy(why string) error {
	if s.policy == nil {
		return usage("%s needs a policy under test: give --policy FILE", why)
	}
	return nil
}

func (s *session) warnings(list []jani.Warning) {
	const most = 5
	for i, w := range list {
		s.warned = append(s.warned, w.String())
		switch {
		case s.flags.Bool("quiet"):
		case i < most || s.flags.Bool("verbose"):
			s.bar.line("warning: %s", w)
		case i == most:
			s.bar.line("warning: … and %d more; --verbose shows all", len(list)-most)
		}
	}
}

// warnRemainders warns about remainders with negative operands, once.
func (s *session) warnRemainders(n int64) {
	if n > 0 && !s.flags.Bool("quiet") {
		s.bar.line("warning: the operator %% was applied to negative operands %d times; its result has the sign of the dividend, which the specification leaves open", n)
	}
}

// space returns a new Space for the task.
func (s *session) space() (*engine.Space, error) {
	return engine.NewSpace(s.ctx, s.task, s.options)
}

// newPolicy returns a copy of the policy for a further worker.
func (s *session) newPolicy() engine.Policy {
	if s.policy == nil {
		return nil
	}
	return s.policy.Clone()
}

// memoryLimit reads a size such as 4GiB; 0 is no limit.
func memoryLimit(text string) (int64, error) {
	switch text {
	case "":
		return physicalMemory() / 4 * 3, nil
	case "off":
		return 0, nil
	}
	number := strings.TrimRight(text, "KMGTiBkb")
	factors := map[string]float64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
		"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
	factor, ok := factors[text[len(number):]]
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(v > 0) || v*factor > 1<<60 {
		return 0, usage("--memory-limit %s: it is a size such as 4GiB, or off", text)
	}
	return int64(v * factor), nil
}

// physicalMemory returns the memory of the machine, 0 where the system does not tell.
func physicalMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
