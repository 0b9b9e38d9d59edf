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
	"strings"

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
	env := &environment{stdin: stdin, stdout: stdout, stderr: stderr}
	app := newApp(env)
	args, err := reorder(app, args)
	if err == nil {
		err = app.RunContext(ctx, append([]string{"fuzzsafe"}, args...))
	}
	return env.report(err)
}

// environment is what commands need from the outside, and the outcome they leave.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	found          bool // something unsafe
	undecided      bool
	exitZero       bool
}

// usageError is a mistake on the command line.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// report prints an error and returns the exit code.
func (env *environment) report(err error) int {
	if err == nil {
		switch {
		case env.found && !env.exitZero:
			return exitUnsafe
		case env.undecided:
			return exitUndecided
		}
		return exitOK
	}
	fmt.Fprintf(env.stderr, "fuzzsafe: %v\n", err)
	var input *jani.Error
	var limit *engine.LimitError
	var wrong *usageError
	var internal *algorithms.InternalError
	switch {
	case errors.As(err, &wrong):
		fmt.Fprintln(env.stderr, "Run “fuzzsafe help” or “fuzzsafe COMMAND --help” for what there is.")
		return exitUsage
	case errors.As(err, &internal):
		return exitInternal
	case errors.As(err, &limit):
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
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				return unknownCommand(c.App, name)
			}
			return cli.ShowAppHelp(c)
		},
		Commands: []*cli.Command{
			env.runCommand(), env.infoCommand(), env.exploreCommand(), env.fuzzCommand(),
			env.checkCommand(), env.faultsCommand(), env.benchCommand(),
		},
	}
	for _, c := range app.Commands {
		c.OnUsageError = app.OnUsageError
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
	if hint := jani.DidYouMean(name, names); hint != "" {
		return usage("unknown command %q (%s)", name, hint)
	}
	return usage("unknown command %q: there are %s", name, strings.Join(names, ", "))
}

// reorder puts the flags of a command before its arguments, since the flag parser stops
// at the first argument and would ignore what follows.
func reorder(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return args, nil
	}
	command := app.Command(args[0])
	if command == nil {
		return args, nil
	}
	head, rest := []string{args[0]}, args[1:]
	if len(rest) > 0 && len(command.Subcommands) > 0 {
		if sub := command.Command(rest[0]); sub != nil {
			command, head, rest = sub, append(head, rest[0]), rest[1:]
		}
	}
	valued := map[string]bool{} // flags that take a value
	for _, f := range command.Flags {
		_, isBool := f.(*cli.BoolFlag)
		for _, n := range f.Names() {
			valued[n] = !isBool
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
		name := strings.TrimLeft(a, "-")
		if strings.Contains(name, "=") || !valued[name] {
			continue
		}
		if i+1 == len(rest) {
			return nil, usage("the flag %s needs a value", a)
		}
		i++
		flags = append(flags, rest[i])
	}
	return append(append(append(head, flags...), "--"), values...), nil
}
