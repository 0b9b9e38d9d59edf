package nnpolicy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fuzzsafe/jani"

	"github.com/tidwall/gjson"
)

// TestExternalChild is a policy process for station, run by other tests: its environment
// says what it does.
//
//	FUZZSAFE_CHILD   “values” (those of x, r and n) or “actions” (see childAction)
//	FUZZSAFE_LOG     file to which it adds the lines that it reads
//	FUZZSAFE_READY   its first answer, else one that asks for inputs by default
//	FUZZSAFE_ANSWER  its third answer, with the id for $ID; or what it does instead
func TestExternalChild(t *testing.T) {
	form := os.Getenv("FUZZSAFE_CHILD")
	if form == "" {
		t.Skip("it is run by other tests, as a process of its own")
	}
	defer os.Exit(0) // no word from the testing package
	log := io.Discard
	if name := os.Getenv("FUZZSAFE_LOG"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		log = f
	}
	in := bufio.NewReader(os.Stdin)
	for n := 0; ; n++ {
		line, err := in.ReadString('\n')
		if err != nil {
			if os.Getenv("FUZZSAFE_ANSWER") == "stay" {
				time.Sleep(time.Hour)
			}
			return
		}
		fmt.Fprint(log, line)
		answer := childAnswer(form, line, n)
		if special := os.Getenv("FUZZSAFE_ANSWER"); n == 2 && special != "" {
			answer = childSpecial(special, gjson.Get(line, "id").Raw)
		}
		if ready := os.Getenv("FUZZSAFE_READY"); n == 0 {
			answer = `{"schema":"fuzzsafe.policy/1"}`
			if ready != "" {
				answer = childSpecial(ready, "0")
			}
		}
		if answer != "" {
			fmt.Println(answer)
		}
	}
}

func childAnswer(form, line string, n int) string {
	var list []string
	for _, s := range gjson.Get(line, "states").Array() {
		switch form {
		case "actions":
			list = append(list, childAction(s))
		case "values":
			list = append(list, fmt.Sprintf("[%s,%s,%s]", s.Get("x").Raw, s.Get("r").Raw, s.Get("n").Raw))
		case "moody":
			list = append(list, fmt.Sprintf("[%d,%d,null]", n, len(list)))
			form = "values"
		}
	}
	if form == "moody" {
		form = "values"
	}
	return fmt.Sprintf(`{"note":"for later","id":%s,%q:[%s]}`, gjson.Get(line, "id").Raw, form, strings.Join(list, ","))
}

// childAction is go in a "road" if b holds, no action for x = 7, and else stop.
func childAction(s gjson.Result) string {
	switch {
	case s.Get("b").Type == gjson.True && s.Get("location").Str == `a "road"`:
		return `"go"`
	case s.Get("x").Raw == "7":
		return "null"
	}
	return `"stop"`
}

func childSpecial(what, id string) string {
	word, rest, _ := strings.Cut(what, " ")
	switch word {
	case "exit":
		fmt.Fprint(os.Stderr, "a\x1b[31mb\nout of ", rest)
		os.Exit(3)
	case "kill":
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = p.Kill()
		}
		fmt.Fprintln(os.Stderr, "not killed:", err)
		time.Sleep(time.Hour)
	case "hang":
		time.Sleep(time.Hour)
	case "close":
		os.Stdout.Close()
		return ""
	case "twice":
		line := `{"id":` + id + `,"actions":["go"]}`
		return line + "\n" + line
	case "long":
		return strings.Repeat(" ", maxLine+1)
	case "leave": // a process that keeps the standard output and error open
		c := exec.Command(os.Args[0], "-test.run=^TestExternalChild$")
		c.Env = append(os.Environ(), "FUZZSAFE_READY=hang", "FUZZSAFE_LOG=")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		stdin, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		fmt.Fprintln(stdin, "{}")
		fmt.Fprintln(os.Stderr, "started:", err)
		os.Exit(0)
	}
	return strings.ReplaceAll(what, "$ID", id)
}

// child returns the command of the process above, with its environment set.
func child(t testing.TB, form, ready, answer string) string {
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	t.Setenv("FUZZSAFE_CHILD", form)
	t.Setenv("FUZZSAFE_READY", ready)
	t.Setenv("FUZZSAFE_ANSWER", answer)
	return "'" + os.Args[0] + "' -test.run=^TestExternalChild$"
}

// tidy fails the test if processes that it starts leave goroutines behind.
func tidy(t testing.TB) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				stacks := make([]byte, 1<<16)
				t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
				return
			}
		}
	})
}

// start starts an External that is ended with the test, and waited for.
func start(t testing.TB, m *jani.Model, command string) (*Policy, *External) {
	t.Helper()
	p, err := StartExternal(t.Context(), m, command, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	e := p.function.(*External)
	t.Cleanup(func() {
		p.Close()
		if e.process.ProcessState == nil {
			t.Error("the process has not been waited for")
		}
	})
	return p, e
}

func evaluate(t testing.TB, f interface {
	Evaluate(in, out []float64) error
}, in ...float64) []float64 {
	t.Helper()
	out := make([]float64, 3)
	if err := f.Evaluate(in, out); err != nil {
		t.Fatal(err)
	}
	return out
}

var none = math.Inf(-1)

// The inputs arrive as they are, and the answers as they are given; equal states are asked
// for once.
func TestExternal(t *testing.T) {
	tidy(t)
	const big = 1<<53 - 1
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("FUZZSAFE_LOG", log)
	p, _ := start(t, station(), child(t, "values", "", ""))
	if fmt.Sprint(p.Inputs(), p.Outputs(), p.Sizes(), p.Filter, p.Warnings) != "[0 1 2 3 5] [0 1 2] [5 3] true []" {
		t.Errorf("inputs, outputs, sizes, filter and warnings are %v, %v, %v, %t, %v", p.Inputs(), p.Outputs(), p.Sizes(), p.Filter, p.Warnings)
	}
	for _, in := range [][]float64{{-3, 1, 0.1, big, 7}, {300, 0, -1e-300, -big, 7}, {0, 0, math.MaxFloat64, 0, 7},
		{-3, 1, 0.1, big, 7}, {5, 0, 0, 1, 7}, {5, 0, math.Copysign(0, -1), 1, 7}} {
		if got, want := evaluate(t, p.Clone(), in...), []float64{in[0], in[2], in[3]}; !slices.Equal(got, want) {
			t.Errorf("the values of %v are %v", in, got)
		}
	}
	for _, in := range [][]float64{{0, 0, math.Inf(1), 0, 7}, {0, 0, math.NaN(), 0, 7}, {0, 0, 0, big + 1, 7}, {0.5, 0, 0, 0, 7}, {301, 0, 0, 0, 7}} {
		if err := p.Evaluate(in, make([]float64, 3)); err == nil || !strings.Contains(err.Error(), "cannot be given the value") {
			t.Errorf("%v: %v", in, err)
		}
	}
	if err := p.Evaluate(make([]float64, 4), make([]float64, 3)); err == nil {
		t.Error("four inputs are accepted")
	}
	if said := p.Close(); len(said) > 0 {
		t.Errorf("stderr: %q", said)
	}
	if got := evaluate(t, p, 5, 0, 0, 1, 7); !slices.Equal(got, []float64{5, 0, 1}) {
		t.Errorf("after the end, the values are %v", got)
	}
	if err := p.Evaluate([]float64{6, 0, 0, 1, 7}, make([]float64, 3)); err == nil || !strings.Contains(err.Error(), "has been ended") {
		t.Errorf("after the end: %v", err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"schema":"fuzzsafe.policy/1","inputs":[{"name":"x","type":"int","lower":-3,"upper":300},{"name":"b","type":"bool"},` +
		`{"name":"r","type":"real"},{"name":"n","type":"int","lower":-9007199254740991,"upper":9007199254740991},` +
		`{"name":"truck.location","type":"location","locations":["home","a \"road\"","\u003c\u003e"]},` +
		`{"name":"one","type":"int","lower":7,"upper":7}],"outputs":["go","stop","load \"it\"\u0001"]}
{"id":1,"states":[{"x":-3,"b":true,"r":0.1,"n":9007199254740991,"one":7}]}
{"id":2,"states":[{"x":300,"b":false,"r":-1e-300,"n":-9007199254740991,"one":7}]}
{"id":3,"states":[{"x":0,"b":false,"r":1.7976931348623157e+308,"n":0,"one":7}]}
{"id":4,"states":[{"x":5,"b":false,"r":0,"n":1,"one":7}]}
`; string(text) != want {
		t.Errorf("the process has read\n%s\nwant\n%s", text, want)
	}
}

// A process says which inputs it wants; a label is the only output.
func TestExternalActions(t *testing.T) {
	tidy(t)
	p, _ := start(t, station(), child(t, "actions",
		`{"schema":"fuzzsafe.policy/1","name":"traffic","inputs":["location","x","b"],"filter":false,"colour":1,"comment":""}`, ""))
	if fmt.Sprint(p.Inputs(), p.Filter, p.Warnings) != `[4 0 1] false [answer:1:93: unknown key "colour" in the answer is ignored [at colour]]` {
		t.Errorf("inputs, filter and warnings are %v, %t, %v", p.Inputs(), p.Filter, p.Warnings)
	}
	for _, c := range []struct{ in, want []float64 }{
		{[]float64{1, 7, 1}, []float64{1, none, none}}, {[]float64{1, 7, 0}, []float64{none, none, none}},
		{[]float64{2, 300, 1}, []float64{none, 1, none}}, {[]float64{0, 7, 1}, []float64{none, none, none}},
	} {
		if got := evaluate(t, p, c.in...); !slices.Equal(got, c.want) {
			t.Errorf("the outputs for %v are %v, want %v", c.in, got, c.want)
		}
	}
}

// A batch is what single calls are, in few requests.
func TestExternalBatch(t *testing.T) {
	tidy(t)
	log := filepath.Join(t.TempDir(), "log")
	command := child(t, "values", "", "")
	_, single := start(t, station(), command)
	t.Setenv("FUZZSAFE_LOG", log)
	p, batch := start(t, station(), command)
	const count, distinct = 20000, 3*mostStates + 1
	rng := rand.New(rand.NewPCG(1, 2))
	in, out := make([]float64, 5*count), make([]float64, 3*count)
	for s := range count {
		k := s
		if s >= distinct {
			k = rng.IntN(distinct)
		}
		copy(in[5*s:], []float64{float64(k % 300), float64(k % 2), float64(k) / 7, float64(k), 7})
	}
	if err := batch.EvaluateBatch(count, in, out); err != nil {
		t.Fatal(err)
	}
	for s := 0; s < count; s += 97 {
		if got, want := out[3*s:][:3], evaluate(t, single, in[5*s:][:5]...); !slices.Equal(got, want) {
			t.Fatalf("state %d: %v in a batch, %v alone", s, got, want)
		}
	}
	for s := range count {
		if k := in[5*s:]; !slices.Equal(out[3*s:][:3], []float64{k[0], k[2], k[3]}) {
			t.Fatalf("state %d: %v", s, out[3*s:][:3])
		}
	}
	if err := batch.EvaluateBatch(0, nil, nil); err != nil {
		t.Error(err)
	}
	if batch.EvaluateBatch(2, in[:5], out[:6]) == nil || batch.EvaluateBatch(-1, nil, nil) == nil {
		t.Error("a batch of another size than its inputs is accepted")
	}
	// After one that cannot be given the others of the batch are not known, and can be asked for.
	bad := slices.Concat(in[:5], []float64{1, 1, 1, distinct + 1, 7}, []float64{1, 1, math.Inf(1), 1, 7})
	if err := batch.EvaluateBatch(3, bad, out[:9]); err == nil {
		t.Error("an infinite real is given")
	}
	if got := evaluate(t, batch, bad[5:10]...); !slices.Equal(got, []float64{1, 1, distinct + 1}) {
		t.Errorf("after an error the outputs are %v", got)
	}
	p.Close()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for line := range strings.Lines(string(text)) {
		sizes = append(sizes, len(gjson.Get(line, "states").Array()))
	}
	if want := []int{0, mostStates, mostStates, mostStates, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("requests are for %v states, want %v", sizes, want)
	}
}

// A process that answers each time something else is still a function, for all forks.
func TestExternalMoody(t *testing.T) {
	tidy(t)
	p, e := start(t, station(), child(t, "moody", "", ""))
	if e.Fork() != Function(e) {
		t.Error("a fork is something else")
	}
	const workers, states = 4, 50
	got := make([][]float64, workers*states)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			p := p.Clone()
			for i := range states {
				s := (i*7 + w*11) % states
				out := make([]float64, 3)
				if err := p.Evaluate([]float64{float64(s), 0, 0, 0, 7}, out); err != nil {
					t.Error(err)
				}
				got[w*states+s] = out
			}
		})
	}
	wait.Wait()
	seen := map[float64]bool{}
	for s := range states {
		for w := range workers {
			if !slices.Equal(got[s], got[w*states+s]) {
				t.Errorf("state %d: %v and %v", s, got[s], got[w*states+s])
			}
		}
		seen[got[s][0]] = true
	}
	if len(seen) != states {
		t.Errorf("%d different answers for %d states", len(seen), states)
	}
}

// Whatever is wrong with a process is told with what was asked and answered, and is no
// decision; what was answered before stays.
func TestExternalWrong(t *testing.T) {
	for _, c := range []struct {
		answer string
		want   []string
	}{
		{"", nil},
		{"hello \x1b[31m\x01\xff", []string{"answer:1:1: ", "answered: hello ?[31m??"}},
		{`{"id":$ID,"actions":["go"]`, []string{"answer:1:25: the text ends inside an unfinished value"}},
		{`{"id":$ID,"actions":["go"]} {}`, []string{"text after the end"}},
		{`{"id":$ID,"id":$ID,"actions":["go"]}`, []string{`"id"`}},
		{" ", []string{"empty"}},
		{"[]", []string{"the answer must be an object"}},
		{`{"id":$ID}`, []string{`either "actions" or "values"`}},
		{`{"id":$ID,"actions":["go"],"values":[[1,2,3]]}`, []string{`either "actions" or "values"`}},
		{`{"actions":["go"]}`, []string{`the answer has no "id"`}},
		{`{"id":1,"actions":["go"]}`, []string{"the id must be 2 [at id]", `answered: {"id":1,"actions":["go"]}`}},
		{`{"id":"$ID","actions":["go"]}`, []string{"the id must be 2"}},
		{`{"id":$ID.0,"actions":["go"]}`, []string{"the id must be 2"}},
		{`{"id":$ID,"actions":[]}`, []string{"it is for 0 states instead of 1"}},
		{`{"id":$ID,"actions":["go","go"]}`, []string{"it is for 2 states instead of 1"}},
		{`{"id":$ID,"actions":"go"}`, []string{"the list of actions must be an array"}},
		{`{"id":$ID,"actions":["τ"]}`, []string{"an action must be one of the outputs or null [at actions[0]]"}},
		{`{"id":$ID,"actions":[""]}`, []string{"an action must be one of the outputs"}},
		{`{"id":$ID,"actions":[0]}`, []string{"an action must be one of the outputs"}},
		{`{"id":$ID,"actions":[["go"]]}`, []string{"an action must be one of the outputs"}},
		{`{"id":$ID,"values":[[1,2]]}`, []string{"there are 2 values for 3 outputs [at values[0]]"}},
		{`{"id":$ID,"values":[[1,2,3,4]]}`, []string{"there are 4 values for 3 outputs"}},
		{`{"id":$ID,"values":[1,2,3]}`, []string{"the values for a state must be an array"}},
		{`{"id":$ID,"values":[[1,2,3],[1,2,3]]}`, []string{"it is for 2 states instead of 1"}},
		{`{"id":$ID,"values":[[1,"2",3]]}`, []string{"a value must be a number", "[at values[0][1]]"}},
		{`{"id":$ID,"values":[[1,true,3]]}`, []string{"a value must be a number"}},
		{`{"id":$ID,"values":[[1,NaN,3]]}`, []string{"answer:1:22: "}},
		{`{"id":$ID,"values":[[1,Infinity,3]]}`, []string{"answer:1:22: "}},
		{`{"id":$ID,"values":[[1,-1e999,3]]}`, []string{"within the range of 64 bits"}},
		{"twice", []string{"the id must be 3"}},
		{"long", []string{"a line of more than 67108864 bytes"}},
		{"exit memory", []string{"it has ended without an answer: exit status 3", "\n  stderr: a?[31mb\n  stderr: out of memory"}},
		{"kill", []string{"it has ended without an answer: signal: killed"}},
		{"close", []string{"without an answer"}},
	} {
		t.Run(strings.Map(func(r rune) rune { // names of files are made of it
			if strings.ContainsRune(`"/\`, r) {
				return '.'
			}
			return r
		}, strconv.QuoteToASCII(c.answer)), func(t *testing.T) {
			tidy(t)
			if c.answer == "kill" && runtime.GOOS == "windows" {
				t.Skip("there are no signals")
			}
			p, e := start(t, station(), child(t, "actions", "", c.answer))
			state := func(x float64) []float64 { return []float64{x, 0, 0, 0, 7} }
			out := make([]float64, 3)
			if err := p.Evaluate(state(1), out); err != nil {
				t.Fatal(err)
			}
			wrong := 2
			err := p.Evaluate(state(2), out)
			if c.answer == "twice" { // the line too much is taken for the next answer
				if err != nil || !slices.Equal(out, []float64{1, none, none}) {
					t.Fatal(out, err)
				}
				wrong = 3
				err = p.Evaluate(state(3), out)
			}
			if len(c.want) == 0 {
				if err != nil || e.process.ProcessState != nil {
					t.Errorf("%v, the process is %v", err, e.process.ProcessState)
				}
				return
			}
			var bad *jani.Error
			if !errors.As(err, &bad) || bad.Kind != jani.BadInput || !strings.HasPrefix(bad.Msg, "the policy process ") {
				t.Fatalf("%#v", err)
			}
			for _, want := range append(c.want, fmt.Sprintf(`asked: {"id":%d,"states":[{"x":%[1]d,"b":false,"r":0,"n":0,"one":7}]}`, wrong)) {
				if !strings.Contains(bad.Msg, want) {
					t.Errorf("the error is\n%s\nwithout\n%s", bad.Msg, want)
				}
			}
			if e.process.ProcessState == nil {
				t.Error("the process has not been waited for")
			}
			if again := p.Clone().Evaluate(state(4), out); again != err {
				t.Errorf("the next error is another one: %v", again)
			}
			if got := evaluate(t, p, state(1)...); !slices.Equal(got, []float64{none, 1, none}) {
				t.Errorf("what was known is now %v", got)
			}
			if p.Evaluate(state(float64(wrong)), out) == nil {
				t.Error("the wrong answer is a decision")
			}
		})
	}
}

func TestExternalReady(t *testing.T) {
	for _, c := range []struct{ ready, want string }{
		{`Loading model`, "it is not ready: answer:1:1: "},
		{`[]`, "the answer must be an object"},
		{`{"inputs":[]}`, `the answer has no "schema"`},
		{`{"schema":"fuzzsafe.policy/2"}`, `must be "fuzzsafe.policy/1"`},
		{`{"schema":"fuzzsafe.policy/1","name":1}`, "the name must be a string"},
		{`{"schema":"fuzzsafe.policy/1","filter":1}`, "the filter must be true or false"},
		{`{"schema":"fuzzsafe.policy/1","inputs":"x"}`, "the list of inputs must be an array"},
		{`{"schema":"fuzzsafe.policy/1","inputs":["y"]}`, `the model has no variable "y"`},
		{`{"schema":"fuzzsafe.policy/1","inputs":[1]}`, "an input must be a string"},
		{`{"schema":"fuzzsafe.policy/1","inputs":["location","truck.location"]}`, `there is an input "truck.location" before [at inputs[1]]`},
		{"exit luck", "it has ended without an answer: exit status 3\n"},
	} {
		tidy(t)
		p, err := StartExternal(t.Context(), station(), child(t, "actions", c.ready, ""), time.Minute)
		if p != nil || !errors.As(err, new(*jani.Error)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.ready, err, c.want)
		}
		if !strings.Contains(err.Error(), `asked: {"schema":"fuzzsafe.policy/1","inputs":[{"name":"x","type":"int",`) {
			t.Errorf("%s: %v", c.ready, err)
		}
	}
	for command, want := range map[string]string{"": "the command is empty", "'a": "not closed", "fuzzsafe-no-such-program": "cannot be started"} {
		if _, err := StartExternal(t.Context(), station(), command, time.Minute); !errors.As(err, new(*jani.Error)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", command, err)
		}
	}
	// A policy without inputs is a constant.
	p, _ := start(t, station(), child(t, "actions", `{"schema":"fuzzsafe.policy/1","inputs":[]}`, ""))
	if got := evaluate(t, p); !slices.Equal(got, []float64{none, 1, none}) {
		t.Errorf("without inputs: %v", got)
	}
}

// A process that is late is killed, with those that it has started.
func TestExternalLate(t *testing.T) {
	const timeout = 300 * time.Millisecond
	late := func(t *testing.T, began time.Time, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "it has not answered within 300ms") {
			t.Error(err)
		}
		if took := time.Since(began); took < timeout || took > 20*time.Second {
			t.Errorf("that took %v", took)
		}
	}
	t.Run("start", func(t *testing.T) {
		tidy(t)
		began := time.Now()
		_, err := StartExternal(t.Context(), station(), child(t, "actions", "hang", ""), timeout)
		late(t, began, err)
	})
	for _, answer := range []string{"hang", "leave"} {
		t.Run(answer, func(t *testing.T) {
			if answer == "leave" && runtime.GOOS == "windows" {
				t.Skip("there are no groups of processes")
			}
			tidy(t)
			p, e := start(t, station(), child(t, "actions", "", answer))
			if err := p.Evaluate([]float64{1, 0, 0, 0, 7}, make([]float64, 3)); err != nil {
				t.Fatal(err)
			}
			e.timeout = timeout
			began := time.Now()
			err := p.Evaluate([]float64{2, 0, 0, 0, 7}, make([]float64, 3))
			late(t, began, err)
			if answer == "leave" && !strings.HasSuffix(fmt.Sprint(err), "stderr: started: <nil>") {
				t.Error(err)
			}
		})
	}
	t.Run("unread", func(t *testing.T) { // more than the pipe holds
		tidy(t)
		p, e := start(t, station(), child(t, "actions", "", "hang"))
		for x := range 2 {
			if e.timeout = timeout; x == 0 {
				e.timeout = time.Minute
			}
			in := make([]float64, 5*mostStates)
			for s := range mostStates {
				copy(in[5*s:], []float64{float64(x), 0, 0, float64(s), 7})
			}
			began := time.Now()
			err := p.function.(*External).EvaluateBatch(mostStates, in, make([]float64, 3*mostStates))
			if x == 1 {
				late(t, began, err)
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("end", func(t *testing.T) { // it does not end with its input
		tidy(t)
		p, e := start(t, station(), child(t, "actions", "", "stay"))
		began := time.Now()
		p.Close()
		if took := time.Since(began); took < grace || took > 20*time.Second {
			t.Errorf("that took %v", took)
		}
		if e.process.ProcessState == nil || e.process.ProcessState.Success() {
			t.Errorf("the process is %v", e.process.ProcessState)
		}
		p.Close() // nothing happens
	})
}

// The end of a context is not waited for, and no defect of the process.
func TestExternalContext(t *testing.T) {
	for _, want := range []error{context.Canceled, context.DeadlineExceeded} {
		tidy(t)
		ctx, cancel := context.WithCancel(t.Context())
		p, err := StartExternal(ctx, station(), child(t, "actions", "", "hang"), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		e := p.function.(*External)
		if want == context.DeadlineExceeded {
			e.ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
		} else {
			time.AfterFunc(100*time.Millisecond, cancel)
		}
		defer cancel()
		out := make([]float64, 3)
		if err := p.Evaluate([]float64{1, 0, 0, 0, 7}, out); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = p.Evaluate([]float64{2, 0, 0, 0, 7}, out)
		if !errors.Is(err, want) || errors.As(err, new(*jani.Error)) || time.Since(began) > 20*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := p.Evaluate([]float64{1, 0, 0, 0, 7}, out); err != nil {
			t.Errorf("what is known: %v", err)
		}
		if err := p.Evaluate([]float64{3, 0, 0, 0, 7}, out); !errors.Is(err, want) {
			t.Error(err)
		}
		p.Close()
		if e.process.ProcessState == nil {
			t.Error("the process has not been waited for")
		}
	}
	tidy(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := StartExternal(ctx, station(), child(t, "actions", "", ""), time.Minute); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Bounds of reals are said; of 25 lines on standard error the last 20 are kept, of long ones
// the beginning.
func TestExternalSaid(t *testing.T) {
	m := station()
	m.Vars[2].RealLower, m.Vars[2].RealUpper = -1.5, 0
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("FUZZSAFE_LOG", log)
	p, _ := start(t, m, child(t, "actions", "", ""))
	p.Close()
	text, err := os.ReadFile(log)
	if want := `{"name":"r","type":"real","lower":-1.5,"upper":0}`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	if said := (&Policy{function: readTable(t, m, `{"schema":"fuzzsafe.table/1","inputs":[],"outputs":["go"],"rows":[]}`)}).Close(); said != nil {
		t.Errorf("a table has said %q", said)
	}
	var w lastWords
	for i := range 25 {
		fmt.Fprintf(&w, "line %d\r\n", i)
	}
	fmt.Fprint(&w, strings.Repeat("ä", shownBytes), "\n\n", strings.Repeat("x", shownBytes), "\nunfinished")
	last := w.last()
	if want := []string{strings.Repeat("ä", shownBytes/2) + "…", "", strings.Repeat("x", shownBytes), "unfinished"}; len(last) != lastLines ||
		last[0] != "line 9" || !slices.Equal(last[lastLines-4:], want) {
		t.Errorf("the last lines are %q", last)
	}
}

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		command string
		want    []string
		err     string
	}{
		{"a", []string{"a"}, ""},
		{"  python3 \t policy.py\n", []string{"python3", "policy.py"}, ""},
		{`a 'b c' "d e"f'g'`, []string{"a", "b c", "d efg"}, ""},
		{`a '' ""`, []string{"a", "", ""}, ""},
		{`a\ b \'c \\ \"`, []string{"a b", "'c", `\`, `"`}, ""},
		{`'a\' "\"b\\" "\n$x"`, []string{`a\`, `"b\`, `\n$x`}, ""},
		{`ä 'ö"' "ü'"`, []string{"ä", `ö"`, "ü'"}, ""},
		{"$HOME *;|&>", []string{"$HOME", "*;|&>"}, ""},
		{"", nil, "empty"}, {" \t", nil, "empty"},
		{`a "b`, nil, `quote " `}, {`'`, nil, "quote ' "}, {`a \`, nil, "backslash"},
	} {
		got, err := splitWords(c.command)
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v, want %q, %s", c.command, got, err, c.want, c.err)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`a 'b c' "d\"" \e`, "x")
	f.Fuzz(func(t *testing.T, command, word string) {
		if words, err := splitWords(command); err == nil && len(words) == 0 {
			t.Errorf("%q has no words", command)
		}
		if strings.ToValidUTF8(word, "") != word {
			return
		}
		words, err := splitWords("x '" + strings.ReplaceAll(word, "'", `'\''`) + "'")
		if err != nil || !slices.Equal(words, []string{"x", word}) {
			t.Errorf("%q quoted is %q, %v", word, words, err)
		}
	})
}

// examples are the policies that are documentation.
func examples() map[string]string {
	return map[string]string{"python3": "policy.py", "node": "policy.js"}
}

func needs(t testing.TB, program string) {
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
}

// An example takes what the table takes that it reads.
func TestExternalExamples(t *testing.T) {
	m := station()
	rng := rand.New(rand.NewPCG(3, 4))
	inputs, outputs := []jani.VarID{0, 1, 2, 3, 4}, []jani.ActionID{2, 0, 1}
	state := func() []jani.Value {
		return []jani.Value{jani.Value(rng.IntN(8)), jani.Value(rng.IntN(2)), jani.RealValue([]float64{0, 0.1, -1e300, 5}[rng.IntN(4)]),
			jani.Value([]int64{0, 1<<53 - 1, -7}[rng.IntN(3)]), jani.Value(rng.IntN(3))}
	}
	var states [][]jani.Value
	rows := map[string]jani.ActionID{}
	for range 300 {
		s := state()
		if _, ok := rows[fmt.Sprint(s)]; !ok {
			states, rows[fmt.Sprint(s)] = append(states, s), jani.ActionID(rng.IntN(3))
		}
	}
	file := filepath.Join(t.TempDir(), "the table.json")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteTable(f, m, inputs, outputs, func(yield func([]jani.Value, jani.ActionID) bool) {
		for _, s := range states {
			if !yield(s, rows[fmt.Sprint(s)]) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for program, script := range examples() {
		t.Run(program, func(t *testing.T) {
			needs(t, program)
			tidy(t)
			p, e := start(t, m, program+" testdata/external/"+script+" '"+file+"'")
			if !slices.Equal(p.Inputs(), inputs) {
				t.Fatalf("the inputs are %v", p.Inputs())
			}
			var in, want []float64
			listed := 0
			for range 2000 {
				s := state()
				for i, v := range s {
					in = append(in, m.Vars[inputs[i]].Float(v))
				}
				row := []float64{none, none, none}
				if a, ok := rows[fmt.Sprint(s)]; ok {
					row[a] = 1 // the outputs are in model order
					listed++
				}
				want = append(want, row...)
			}
			if listed < 100 || listed > 1900 {
				t.Fatalf("%d of 2000 states are listed", listed)
			}
			out := make([]float64, len(want))
			if err := e.EvaluateBatch(1000, in[:5*1000], out[:3*1000]); err != nil {
				t.Fatal(err)
			}
			for s := 1000; s < 2000; s++ {
				copy(out[3*s:], evaluate(t, p, in[5*s:][:5]...))
			}
			if !slices.Equal(out, want) {
				t.Error("the table says something else")
			}
			if said := p.Close(); len(said) > 0 || !e.process.ProcessState.Success() {
				t.Errorf("it has ended with %v, %q", e.process.ProcessState, said)
			}
		})
	}
}

// What goes wrong in real programs.
func TestExternalPython(t *testing.T) {
	needs(t, "python3")
	t.Setenv("PYTHONUNBUFFERED", "")
	const begin = `import json, os, sys, time
input()
print(json.dumps({"schema": "fuzzsafe.policy/1"}), flush=True)
n = 0
for line in sys.stdin:
    n += 1
    q = json.loads(line)
    if n == 1:
        print(json.dumps({"id": q["id"], "values": [[0, 1.5, None]]}), flush=True)
        continue
    `
	for _, c := range []struct{ then, want string }{
		{"os.kill(os.getpid(), 15)", "it has ended without an answer: signal: terminated"},
		{"time.sleep(3600)", "it has not answered within"},
		{`print(json.dumps({"id": q["id"], "actions": ["go"]}))`, "it has not answered within 1s (it must flush every line"},
		{`print(json.dumps({"id": q["id"], "values": [[0, float("nan"), 1]]}), flush=True)`, `answered: {"id": 2, "values": [[0, NaN, 1]]}`},
		{`print("thinking", flush=True)`, "answered: thinking"},
		{`q["states"][1]`, "\n  stderr: IndexError: list index out of range"},
		{"sys.exit()", "it has ended without an answer: exit status 0"},
	} {
		tidy(t)
		p, e := start(t, station(), "python3 -c '"+begin+c.then+"'")
		if got := evaluate(t, p, 1, 0, 0, 0, 7); !slices.Equal(got, []float64{0, 1.5, none}) {
			t.Errorf("%s: the first answer is %v", c.then, got)
		}
		if strings.Contains(c.want, "within") {
			e.timeout = time.Second
		}
		err := p.Evaluate([]float64{2, 0, 0, 0, 7}, make([]float64, 3))
		if !errors.As(err, new(*jani.Error)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.then, err)
		}
	}
}

// Seconds per state; a batch is one request.
func BenchmarkExternal(b *testing.B) {
	table := filepath.Join(b.TempDir(), "table.json")
	if err := os.WriteFile(table, []byte(`{"inputs": ["x", "n"], "rows": [[1, 5, "go"]]}`), 0o666); err != nil {
		b.Fatal(err)
	}
	bench := func(program, command string) {
		for _, size := range []int{1, 16, 256, 4096} {
			b.Run(fmt.Sprintf("%s/%d", program, size), func(b *testing.B) {
				if program != "go" {
					needs(b, program)
				}
				_, e := start(b, station(), command)
				k := e.Inputs()
				in, out := make([]float64, k*size), make([]float64, 3*size)
				next := 0
				for b.Loop() {
					for s := range size {
						next++
						in[k*s], in[k*s+1] = 1, float64(next)
					}
					if err := e.EvaluateBatch(size, in, out); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(next)/b.Elapsed().Seconds(), "states/s")
			})
		}
	}
	bench("go", child(b, "actions", `{"schema":"fuzzsafe.policy/1","inputs":["x","n"]}`, ""))
	for program, script := range examples() {
		bench(program, program+" testdata/external/"+script+" '"+table+"'")
	}
}
