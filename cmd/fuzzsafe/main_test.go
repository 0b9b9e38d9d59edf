package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fuzzsafe": main})
}

// TestScripts runs testdata/script; each script is a subtest. Beside the commands of
// testscript they have:
//
//	exits CODE PROGRAM ARGUMENT…   the program exits with exactly this code
//	[!] json FILE PATH [VALUE]     a gjson path into valid JSON (JSON Lines if it starts with ..) exists, or is VALUE
//	mask FILE                      times, rates and memory in FILE become T, to compare two runs
//	same FILE FILE PATH            a gjson path is the same in both
//	edit FROM TO OLD NEW           copy a file with the one occurrence of OLD replaced
//	cut FILE BYTES                 truncate a file
//	only LINES FILE REGEXP         FILE (stdout, stderr) has exactly LINES lines, and all of it matches
//
// The FILE that is only read may be stdout or stderr.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "json": jsonPath, "same": same, "mask": mask, "edit": edit, "cut": cut, "only": only,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGUMENT…")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func jsonPath(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: [!] json FILE PATH [VALUE]")
	}
	text := ts.ReadFile(args[0])
	values := []string{text}
	if strings.HasPrefix(args[1], "..") {
		values = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	for i, v := range values {
		if !gjson.Valid(v) {
			ts.Fatalf("%s: value %d is not valid JSON", args[0], i)
		}
	}
	got := gjson.Get(text, args[1])
	value := got.String()
	if got.IsObject() || got.IsArray() {
		value = gjson.Get(value, "@ugly").Raw
	}
	switch {
	case len(args) == 2 && got.Exists() == neg:
		ts.Fatalf("%s: %s exists: %t", args[0], args[1], got.Exists())
	case len(args) == 3 && (!got.Exists() || (value == args[2]) == neg):
		ts.Fatalf("%s: %s is %q, want %q (negated: %t)", args[0], args[1], value, args[2], neg)
	}
}

func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: same FILE FILE PATH")
	}
	a, b := gjson.Get(ts.ReadFile(args[0]), args[2]), gjson.Get(ts.ReadFile(args[1]), args[2])
	if !a.Exists() || a.Raw != b.Raw {
		ts.Fatalf("%s is %s in %s, but %s in %s", args[2], a.Raw, args[0], b.Raw, args[1])
	}
}

var measured = regexp.MustCompile(`("(?:\w+_)?seconds"|"states_per_second"|"peak_rss_bytes"): ?[^,\s}]+|\d+\.\d\d s\b`)

func mask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mask FILE")
	}
	text := ts.ReadFile(args[0])
	if !measured.MatchString(text) {
		ts.Fatalf("%s: nothing to mask", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), measured.ReplaceAll([]byte(text), []byte("$1 T")), 0o666))
}

func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: edit FROM TO OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if n := strings.Count(text, args[2]); n != 1 {
		ts.Fatalf("%s has %d times %q", args[0], n, args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Replace(text, args[2], args[3], 1)), 0o666))
}

func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FILE BYTES")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(n)))
}

func only(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: only LINES FILE REGEXP")
	}
	text := ts.ReadFile(args[1])
	if n := strings.Count(text, "\n"); strconv.Itoa(n) != args[0] {
		ts.Fatalf("%s has %d lines, want %s", args[1], n, args[0])
	}
	match, err := regexp.MatchString(`^(?:`+args[2]+`)\n$`, text)
	ts.Check(err)
	if !match {
		ts.Fatalf("%s does not match %s:\n%s", args[1], args[2], text)
	}
}

// chain is a model with a run of 10⁹ states, to be interrupted.
const chain = `{"jani-version":1,"name":"chain","type":"lts",
"variables":[{"name":"x","type":{"kind":"bounded","base":"int","lower-bound":0,"upper-bound":1000000000},"initial-value":0}],
"automata":[{"name":"a","locations":[{"name":"l"}],"initial-locations":["l"],"edges":[{"location":"l","guard":{"exp":{"op":"<","left":"x","right":1000000000}},
"destinations":[{"location":"l","assignments":[{"ref":"x","value":{"op":"+","left":"x","right":1}}]}]}]}],"system":{"elements":[{"automaton":"a"}]}}`

// The first interrupt ends the analysis with what is known.
func TestInterrupt(t *testing.T) {
	var stdout, stderr bytes.Buffer
	c := exec.Command("fuzzsafe", "explore", "-", "--json", "--time-limit", "60s")
	c.Stdout, c.Stderr = &stdout, &stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// Once more is written than fits into a pipe, main has come to reading the model.
	if _, err := io.WriteString(in, chain+strings.Repeat(" ", 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != exitUndecided {
		t.Fatalf("%v, want exit code %d\n%s", err, exitUndecided, stderr.String())
	}
	if got := stderr.String(); got != "fuzzsafe: interrupted\n" {
		t.Errorf("stderr %q", got)
	}
	if complete := gjson.GetBytes(stdout.Bytes(), "complete"); complete.Type != gjson.False {
		t.Errorf("complete is %q in %s", complete.Raw, stdout.String())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// Output that is lost is no success.
func TestBrokenOutput(t *testing.T) {
	for _, args := range [][]string{
		{"info", "bench:one-way-line-det"},
		{"info", "bench:one-way-line-det", "--json"},
		{"check", "bench:one-way-line-det", "-n", "3", "--json"},
		{"fuzz", "bench:one-way-line-det", "-n", "3", "-o", "-"},
		{"bench", "list"},
		{"help"},
	} {
		var stderr bytes.Buffer
		code := run(context.Background(), args, strings.NewReader(""), brokenWriter{}, &stderr)
		if want := "fuzzsafe: the output cannot be written: no space left\n"; code != exitBadInput || stderr.String() != want {
			t.Errorf("%v: exit code %d, stderr %q, want %d, %q", args, code, stderr.String(), exitBadInput, want)
		}
	}
}

// Flags of a command keep their meaning wherever they stand.
func TestReorder(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"run m", "run -- m"},
		{"run m -n 5 --json", "run -n 5 --json -- m"},
		{"run --json m -c N=-1 -c M=2", "run --json -c N=-1 -c M=2 -- m"},
		{"run --seed=7 - -q", "run --seed=7 -q -- -"},
		{"run -- --json", "run -- --json"},
		{"check m --radius -1", "check --radius -1 -- m"},
		{"bench list --json", "bench list --json --"},
		{"bench export a b", "bench export -- a b"},
		{"run m -n -h", "run m -n: usage"},
		{"run m --help -n", "run --help"},
		{"bench export -h a b", "bench export --help"},
		{"help run", "help run"},
		{"--help run", "--help"},
	} {
		got, err := reorder(newApp(&environment{}), strings.Fields(c.args))
		text := strings.Join(got, " ")
		if err != nil {
			text = "run m -n: usage"
			if !errors.As(err, new(*usageError)) {
				t.Errorf("%s: %v", c.args, err)
			}
		}
		if text != c.want {
			t.Errorf("%s: %q, want %q", c.args, text, c.want)
		}
	}
}

// Progress is one rewritten line on a terminal, lines elsewhere if asked for, else nothing.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name, want string
		p          progress
	}{
		{"off", "warning\n", progress{}},
		{"plain", "1 of 10\n2 of 10\nwarning\n3\n", progress{plain: true}},
		{"live", "\r1 of 10\r2 of 10\r       \rwarning\n\r3\r \r", progress{live: true}},
		{"not yet", "warning\n", progress{plain: true, every: time.Hour, last: time.Now()}},
	} {
		var out strings.Builder
		c.p.out = &out
		c.p.status("%d of 10", 1)
		c.p.status("%d of 10", 2)
		c.p.line("warning")
		c.p.status("3")
		c.p.clear()
		if out.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, out.String(), c.want)
		}
	}
}

// sharedData holds models and published figures; it is no part of the project.
const sharedData = "../../../shared/data"

func needData(t *testing.T) {
	if _, err := os.Stat(sharedData); err != nil {
		t.Skipf("no data in %s", sharedData)
	}
}

// runJSON returns the output and the exit code of a command line in this process.
func runJSON(t *testing.T, args ...string) ([]byte, int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append(args, "--json", "--quiet"), strings.NewReader(""), &stdout, &stderr)
	if stderr.Len() > 0 {
		t.Errorf("%v: %s", args, stderr.String())
	}
	return stdout.Bytes(), code
}

// The verdicts of the reference system are confirmed by every decider. The attractor
// unfolds all that is reachable, so it has only the models where that is little.
func TestReferenceVerdicts(t *testing.T) {
	needData(t)
	files, err := filepath.Glob(sharedData + "/planning/*/verdicts.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no verdicts: %v", err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		solvers := []string{"local", "tarjan"}
		if strings.HasPrefix(filepath.Base(dir), "one_way_line") {
			solvers = append(solvers, "attractor")
		}
		for _, solver := range solvers {
			args := []string{"check", dir + "/model.jani", "--property", dir + "/property.jani", "--states", file,
				"--solver", solver, "--memory-limit", "2GiB", "--time-limit", "60s"}
			if filepath.Base(dir) == "blocksworld_4_3" {
				args = append(args, "-c", "failing_probability=0.5", "-c", "item_cost_bound=10")
			}
			out, code := runJSON(t, args...)
			lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
			sum := gjson.GetBytes(lines[len(lines)-1], "summary")
			n := sum.Get("expected").Int()
			if n == 0 || n != int64(len(lines)-1) || n != sum.Get("states").Int() ||
				sum.Get("disagree").Int() != 0 || sum.Get("unknown").Int() != 0 || !sum.Get("complete").Bool() {
				t.Errorf("%s, %s: %d lines, %s", dir, solver, len(lines), sum.Raw)
			}
			if want := map[bool]int{true: exitUnsafe, false: exitOK}[sum.Get("unsafe").Int() > 0]; code != want {
				t.Errorf("%s, %s: exit code %d, want %d", dir, solver, code, want)
			}
		}
	}
}

// readRecords reads a file of published figures.
func readRecords(t *testing.T, file string, records any) {
	t.Helper()
	needData(t)
	text, err := os.ReadFile(sharedData + "/qvbs/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, records); err != nil {
		t.Fatal(err)
	}
}

func constantFlags(args []string, constants map[string]json.RawMessage) []string {
	for name, value := range constants {
		args = append(args, "-c", fmt.Sprintf("%s=%s", name, value))
	}
	return args
}

// explore counts what was published: all states, and in models without races choices and
// branches too.
func TestPublishedStates(t *testing.T) {
	var records []struct {
		File      string
		Type      string
		Constants map[string]json.RawMessage
		Mode      string
		States    int64
		Choices   int64
		Branches  int64
		Initial   int64 `json:"initial_states"`
		Deadlocks int64 `json:"deadlock_states"`
	}
	readRecords(t, "states.json", &records)
	if len(records) != 84 {
		t.Errorf("%d records, there were 84", len(records))
	}
	for _, r := range records {
		args := []string{"explore", sharedData + "/qvbs/" + r.File, "--choice", "edge", "--json", "--quiet"}
		switch r.Mode {
		case "goal-terminal":
			args = append(args, "--mode", r.Mode, "--property", "live")
		case "full-without-maximal-progress":
			args = append(args, "--no-maximal-progress")
		}
		args = constantFlags(args, r.Constants)
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
		want := fmt.Sprintf("[%d %d true]", r.States, r.Initial)
		fields := []string{"states", "initial_states", "complete"}
		if r.Mode == "full" && (r.Type == "dtmc" || r.Type == "mdp") {
			want = fmt.Sprintf("[%d %d true %d %d %d]", r.States, r.Initial, r.Choices, r.Branches, r.Deadlocks)
			fields = append(fields, "choices", "branches", "deadlocks")
		}
		if got := fmt.Sprint(gjson.GetManyBytes(stdout.Bytes(), fields...)); code != exitOK || got != want {
			t.Errorf("%v: exit code %d, %s, want %s\n%s", args[1:], code, got, want, stderr.String())
		}
	}
}

// The initial state is safe if and only if the published values say that some strategy
// surely avoids the target of the property.
func TestPublishedAvoidability(t *testing.T) {
	var records []struct {
		File      string
		Constants map[string]json.RawMessage
		Property  string
		Avoidable bool
	}
	readRecords(t, "avoidable.json", &records)
	if len(records) != 109 {
		t.Errorf("%d records, there were 109", len(records))
	}
	for _, r := range records {
		for _, solver := range []string{"local", "attractor"} {
			args := constantFlags([]string{"check", sharedData + "/qvbs/" + r.File, "--choice", "edge", "--json", "--quiet",
				"--property", r.Property, "--solver", solver}, r.Constants)
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
			want, wantCode := "unsafe", exitUnsafe
			if r.Avoidable {
				want, wantCode = "safe", exitOK
			}
			if got := gjson.GetBytes(stdout.Bytes(), "verdict").Str; got != want || code != wantCode {
				t.Errorf("%v: %s, exit code %d, want %s\n%s", args[1:], got, code, want, stderr.String())
			}
		}
	}
}

// A time limit ends each analysis soon, whatever it is doing.
func TestTimeLimit(t *testing.T) {
	for _, command := range []string{"fuzz", "run", "faults", "check", "explore"} {
		start := time.Now()
		args := []string{command, "bench:two-way-line-park", "--time-limit", "1us", "--json"}
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != exitTime {
			t.Errorf("%v: exit code %d, want %d: %s", args, code, exitTime, stderr.String())
		}
		if got := stderr.String(); got != "fuzzsafe: the time limit is reached\n" {
			t.Errorf("%v: stderr %q", args, got)
		}
		if stdout.Len() == 0 {
			t.Errorf("%v: no report of what is known", args)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%v took %v", args, took)
		}
	}
}
