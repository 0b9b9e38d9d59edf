// Command fuzzsafe tests learned policies for safety in non-deterministic planning models
// written in JANI.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// Exit codes; part of the contract with scripts.
const (
	exitOK          = 0
	exitUnsafe      = 10
	exitUndecided   = 11
	exitMemory      = 20
	exitTime        = 21
	exitInternal    = 30
	exitUsage       = 31
	exitBadInput    = 32
	exitUnsupported = 33
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	go func() {
		<-ctx.Done()
		stop() // the second interrupt has its usual effect
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "fuzzsafe: internal error: %v\n%s", p, debug.Stack())
			code = exitInternal
		}
	}()
	out := &checkedWriter{to: stdout}
	env := &environment{stdin: stdin, stdout: out, stderr: stderr}
	app := newApp(env)
	args, err := reorder(app, args)
	if err == nil {
		err = app.RunContext(ctx, append([]string{"fuzzsafe"}, args...))
	}
	if out.err != nil {
		err = &badFile{fmt.Errorf("the output cannot be written: %w", out.err)}
	}
	return env.report(err)
}

// checkedWriter keeps the first error of a writer, so that the many Fprintf need not look
// at it and a full disk is still no success.
type checkedWriter struct {
	to  io.Writer
	err error
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// environment is what commands need from the outside, and the outcome they leave.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	found          bool // something unsafe
	undecided      bool
	exitZero       bool
	code           int // exit code of what went wrong and is reported already, 0 if nothing did
}

// usageError is a mistake on the command line.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// report prints an error and returns the exit code.
func (env *environment) report(err error) int {
	if err == nil {
		switch {
		case env.code != 0:
			return env.code
		case env.found && !env.exitZero:
			return exitUnsafe
		case env.undecided:
			return exitUndecided
		}
		return exitOK
	}
	limit := limitOf(err)
	var input *jani.Error
	switch {
	case limit != nil:
		err = limit
	case errors.As(err, &input) && !errors.As(err, new(*badFile)):
		err = input // it starts with its place, whoever met it
	}
	fmt.Fprintf(env.stderr, "fuzzsafe: %v\n", err)
	var wrong *usageError
	var internal *algorithms.InternalError
	switch {
	case errors.As(err, &wrong):
		fmt.Fprintln(env.stderr, "Run “fuzzsafe help” or “fuzzsafe COMMAND --help” for what there is.")
		return exitUsage
	case errors.As(err, &internal):
		return exitInternal
	case limit != nil:
		switch limit.Kind {
		case engine.LimitMemory:
			return exitMemory
		case engine.LimitTime:
			return exitTime
		}
		return exitUndecided
	case errors.As(err, &input) && input.Kind == jani.Unsupported:
		return exitUnsupported
	case errors.As(err, &input), errors.As(err, new(*badFile)):
		return exitBadInput
	}
	return exitInternal
}

// limitOf returns the limit that ended the work, nil if something else did. The fuzzer
// and the deciders pass on the plain error of their context.
func limitOf(err error) *engine.LimitError {
	var limit *engine.LimitError
	switch {
	case errors.As(err, &limit):
		return limit
	case errors.Is(err, context.DeadlineExceeded):
		return &engine.LimitError{Kind: engine.LimitTime, Msg: "the time limit is reached"}
	case errors.Is(err, context.Canceled):
		return &engine.LimitError{Kind: engine.LimitInterrupt, Msg: "interrupted"}
	}
	return nil
}

// badFile is a file that cannot be read or written, or whose content does not fit.
type badFile struct{ err error }

func (e *badFile) Error() string { return e.err.Error() }
func (e *badFile) Unwrap() error { return e.err }

func newApp(env *environment) *cli.App {
	cli.VersionFlag = &cli.BoolFlag{Name: "version", Usage: "print the version"}
	app := &cli.App{
		Name:  "fuzzsafe",
		Usage: "test a learned policy for safety: find unsafe runs, decide what could have been avoided, name the faulty decisions",
		Description: "MODEL is a JANI file, - for standard input, or bench:NAME for an embedded instance (see “fuzzsafe bench list”).\n" +
			"Exit codes: 0 nothing unsafe, 10 unsafe run, state or fault found, 11 undecided, 20 memory limit, 21 time limit,\n" +
			"30 internal error, 31 usage, 32 bad input, 33 unsupported construct.",
		Version:                   version(),
		HideHelpCommand:           false,
		DisableSliceFlagSeparator: true,
		Reader:                    env.stdin,
		Writer:                    env.stdout,
		ErrWriter:                 env.stderr,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              func(_ *cli.Context, err error, _ bool) error { return usage("%v", err) },
		CommandNotFound:           nil,
		Commands: []*cli.Command{
			env.runCommand(), env.infoCommand(), env.exploreCommand(), env.fuzzCommand(),
			env.checkCommand(), env.faultsCommand(), env.compareCommand(), env.strategiesCommand(), env.verifyCommand(), env.trainCommand(),
			env.benchCommand(),
		},
	}
	for _, c := range app.Commands {
		c.OnUsageError = app.OnUsageError
		c.HideHelpCommand = true // else a model file could not be called help
		for _, sub := range c.Subcommands {
			sub.OnUsageError = app.OnUsageError
		}
	}
	return app
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return info.Main.Version + " " + s.Value
			}
		}
		return info.Main.Version
	}
	return "unknown"
}

func unknownCommand(app *cli.App, name string) error {
	var names []string
	for _, c := range app.Commands {
		names = append(names, c.Name)
	}
	hint := jani.DidYouMean(name, names)
	if hint == "" {
		hint = "there are " + strings.Join(names, ", ")
	}
	return usage("unknown command %q (%s)", name, hint)
}

// reorder puts the flags of a command before its arguments, since the flag parser stops
// at the first argument and would ignore what follows. It also says what is wrong with
// unknown flags and with values, better than the parser does.
func reorder(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	switch first := args[0]; {
	case first == "-h" || first == "--help" || first == "--version":
		return args[:1], nil
	case first == "help" || first == "h":
		if len(args) > 1 && app.Command(args[1]) == nil {
			return nil, unknownCommand(app, args[1])
		}
		return args, nil
	case strings.HasPrefix(first, "-"):
		return nil, usage("%s: flags stand behind the command", first)
	}
	command := app.Command(args[0])
	if command == nil {
		return nil, unknownCommand(app, args[0])
	}
	head, rest := []string{args[0]}, args[1:]
	if len(rest) > 0 && len(command.Subcommands) > 0 {
		if sub := command.Command(rest[0]); sub != nil {
			command, head, rest = sub, append(head, rest[0]), rest[1:]
		}
	}
	known := map[string]cli.Flag{}
	var names []string
	for _, f := range command.Flags {
		for _, n := range f.Names() {
			known[n], names = f, append(names, n)
		}
	}
	var flags, values []string
	for i := 0; i < len(rest); i++ {
		a := rest[i]
		if a == "--" {
			values = append(values, rest[i+1:]...)
			break
		}
		if a == "-" || !strings.HasPrefix(a, "-") {
			values = append(values, a)
			continue
		}
		flags = append(flags, a)
		flag, value, inPlace := strings.Cut(a, "=")
		name := strings.TrimLeft(flag, "-")
		if name == "help" || name == "h" {
			return append(head, "--help"), nil
		}
		f := known[name]
		if f == nil {
			return nil, usage("%s has no flag %s%s", strings.Join(head, " "), flag, parenthesised(jani.DidYouMean(name, names)))
		}
		if _, isBool := f.(*cli.BoolFlag); isBool {
			continue
		}
		if !inPlace && i+1 < len(rest) {
			i++
			value = rest[i]
			flags = append(flags, value)
		}
		if err := checkValue(flag, f, value); err != nil {
			return nil, err
		}
	}
	return append(append(append(head, flags...), "--"), values...), nil
}

func parenthesised(hint string) string {
	if hint == "" {
		return ""
	}
	return " (" + hint + ")"
}

// checkValue refuses values that the flag parser would refuse, and empty ones.
func checkValue(flag string, f cli.Flag, value string) error {
	if value == "" {
		return usage("the flag %s needs a value", flag)
	}
	var err error
	want := "a whole number"
	switch f.(type) {
	case *cli.IntFlag, *cli.Int64Flag:
		_, err = strconv.ParseInt(value, 0, 64)
	case *cli.Uint64Flag:
		_, err = strconv.ParseUint(value, 0, 64)
		want = "a whole number, not negative"
	case *cli.DurationFlag:
		_, err = time.ParseDuration(value)
		want = "a time with its unit, such as 500ms, 90s or 2h"
	}
	if err != nil {
		return usage("%s %s: it is %s", flag, value, want)
	}
	return nil
}
