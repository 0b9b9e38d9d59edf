package nnpolicy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"fuzzsafe/jani"

	"github.com/tidwall/gjson"
)

const (
	policySchema = "fuzzsafe.policy/1"

	// mostStates and mostNumbers bound one request: states, and the numbers that are in it
	// and in its answer.
	mostStates  = 4096
	mostNumbers = 1 << 20
	// maxLine is the longest line of a process that is read, bytes.
	maxLine = 64 << 20
	// grace is how long a process may take to end once its input has ended.
	grace = 2 * time.Second
	// lastLines and shownBytes bound what an error shows of a process: lines of its
	// standard error, and bytes of a line.
	lastLines  = 20
	shownBytes = 300

	// unanswered is the row of a state that the process is being asked for.
	unanswered = math.MaxUint32
)

// External is a policy that a process of its own computes. The process reads lines of JSON
// from its standard input and answers each with one line on its standard output, flushed
// at once. It must end when its input does. The first line says what there is to decide:
//
//	{"schema": "fuzzsafe.policy/1", "inputs": [INPUT …], "outputs": [label …]}
//
//	INPUT: {"name": variable, "type": "bool"}
//	       {"name": variable, "type": "int", "lower": number, "upper": number}
//	       {"name": variable, "type": "real", "lower"?: number, "upper"?: number}
//	       {"name": automaton.location, "type": "location", "locations": [name …]}
//
// The inputs are all variables in model order, the outputs all action labels in model
// order without the silent action. The process answers when it is ready:
//
//	{"schema": "fuzzsafe.policy/1", "name"?: string, "inputs"?: [variable …], "filter"?: bool}
//
// The name appears in messages. The inputs are the variables that it wants to be given, named
// as jani.Model.Variable takes them; without the key all variables but the locations.
// "filter" is as in ReadInterface. Then come requests for states, each of them an object with
// the value of every input: true or false, a number, or the name of a location:
//
//	{"id": 1, "states": [{"x": 3, "parked": false} …]}
//
// The answer has the same id and, for every state in that order, either the label that the
// policy takes, null if it takes none; or a number for every output, the larger the better,
// null if it has no output for that label:
//
//	{"id": 1, "actions": ["park", null …]}
//	{"id": 1, "values": [[0.5, null …] …]}
//
// A label is output as 1, and all others as −Inf, no output: other than with a table, the
// engine then counts a label that is not applicable as one of its Fallbacks. Which actions
// are applicable is not said, since engine.Policy is a function of the inputs alone. Other
// keys in an answer are ignored.
//
// A process should compute a function of the state. One that does not, because it is random
// or remembers what it was asked before, is nevertheless asked only once for equal inputs:
// all that is answered is kept, packed as in a Table, so that an External is a function. All
// forks are one External, which locks itself; its results then depend on the order in which
// states are asked for, which is fixed only if one goroutine does.
type External struct {
	mu      sync.Mutex
	ctx     context.Context
	timeout time.Duration
	what    string // how messages call the process
	process *exec.Cmd
	stdin   io.WriteCloser
	stdout  io.ReadCloser
	lines   *bufio.Scanner // of stdout
	stderr  lastWords
	id      int64 // of the last request
	failed  error // why there are no more requests, nil if there are

	known  *Table            // rows: output; number of outputs for none; beyond that 1 + an entry of values; unanswered
	values []float64         // per entry one per output
	labels map[string]uint32 // to output
	model  *jani.Model
	keys   [][]byte // per input: its name as JSON with the colon
	line   []byte   // of the request
	asked  []string // packed inputs of the states in the line
	rows   []uint32 // their answers
}

// StartExternal starts a policy process, which Policy.Close ends. The command is split into
// words at blanks; '…' quotes all that is in it, "…" all but \" and \\, and outside of quotes
// a backslash quotes the next character. There is no shell.
//
// The process has the timeout for its first and for every further answer. If the context
// ends, it is not waited for any longer, and the error wraps the context's. A process that
// cannot be started, is late, ends, or answers anything else than is described at External
// is killed, and a *jani.Error says what was asked and answered and ends with its last lines
// on standard error; from then on only what has been answered before can be evaluated.
func StartExternal(ctx context.Context, m *jani.Model, command string, timeout time.Duration) (*Policy, error) {
	e := &External{ctx: ctx, timeout: timeout, what: fmt.Sprintf("the policy process %q", command), model: m,
		labels: make(map[string]uint32)}
	words, err := splitWords(command)
	if err != nil {
		return nil, badInput(jani.Pos{}, "%s: %v", e.what, err)
	}
	e.process = exec.Command(words[0], words[1:]...)
	e.process.Stderr = &e.stderr
	e.process.WaitDelay = grace // for a child of it that keeps its standard error open
	ownGroup(e.process)
	if e.stdin, err = e.process.StdinPipe(); err == nil {
		if e.stdout, err = e.process.StdoutPipe(); err == nil {
			err = e.process.Start()
		}
	}
	if err != nil {
		return nil, badInput(jani.Pos{}, "%s cannot be started: %v", e.what, err)
	}
	e.lines = bufio.NewScanner(e.stdout)
	e.lines.Buffer(nil, maxLine)
	p := &Policy{Filter: true, InterfaceFile: "cmd:" + command, NetworkFile: "cmd:" + command, function: e}
	var all []jani.VarID
	for v := range m.Vars {
		all = append(all, jani.VarID(v))
	}
	for a, label := range m.Actions {
		if jani.ActionID(a) != m.Silent {
			e.labels[label] = uint32(len(p.outputs))
			p.outputs = append(p.outputs, jani.ActionID(a))
		}
	}
	if err := e.introduce(p, newTable(m, all, p.outputs)); err != nil {
		e.end()
		return nil, err
	}
	e.known = newTable(m, p.inputs, p.outputs)
	return p, nil
}

// Close ends the process of an External and returns the last lines that it has written to
// standard error; otherwise it does nothing. What has been answered can still be evaluated,
// by all clones.
func (p *Policy) Close() []string {
	e, ok := p.function.(*External)
	if !ok {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.end()
	return e.stderr.last()
}

// Inputs returns the number of variables.
func (e *External) Inputs() int { return len(e.known.vars) }

// Outputs returns the number of action labels.
func (e *External) Outputs() int { return len(e.known.labels) }

// Fork returns e.
func (e *External) Fork() Function { return e }

// Evaluate is EvaluateBatch for one state.
func (e *External) Evaluate(in, out []float64) error { return e.EvaluateBatch(1, in, out) }

// EvaluateBatch writes the outputs for count states, one after the other in in and out. The
// process is asked for those that are not known, thousands at a time; only that allocates.
// An integer beyond ±(2^53−1) and an infinite real, which cannot be written, are an error.
func (e *External) EvaluateBatch(count int, in, out []float64) error {
	n, k := e.Inputs(), e.Outputs()
	if count < 0 || len(in) != count*n || len(out) != count*k {
		return fmt.Errorf("a process for %d inputs and %d outputs is evaluated in %d states with %d and %d", n, k, count, len(in), len(out))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.reset()
	for s := range count {
		if err := e.add(in[s*n:][:n]); err != nil {
			return err
		}
	}
	if err := e.ask(); err != nil {
		return err
	}
	for s := range count {
		row, _ := e.known.find(in[s*n:][:n]) // it is known now
		e.write(int(row), out[s*k:][:k])
	}
	return nil
}

func (e *External) write(row int, out []float64) {
	k := len(out)
	if row > k {
		copy(out, e.values[(row-k-1)*k:])
		return
	}
	for i := range out {
		out[i] = math.Inf(-1)
	}
	if row < k {
		out[row] = 1
	}
}

// reset ends a request, after an error without answers.
func (e *External) reset() {
	for _, key := range e.asked {
		delete(e.known.rows, key)
	}
	e.line, e.asked = e.line[:0], e.asked[:0]
}

// add adds a state to the request unless it is known or there.
func (e *External) add(in []float64) error {
	if _, ok := e.known.find(in); ok {
		return nil
	}
	if err := e.state(in); err != nil {
		return err
	}
	key := string(e.known.key) // complete, since no value was refused
	e.known.rows[key] = unanswered
	if e.asked = append(e.asked, key); len(e.asked) == min(mostStates, max(1, mostNumbers/(len(in)+e.Outputs()+1))) {
		return e.ask()
	}
	return nil
}

// state appends a state to the line.
func (e *External) state(in []float64) error {
	before := byte('{')
	if len(e.asked) > 0 {
		e.line = append(e.line, ',')
	}
	for i, f := range in {
		x, c := &e.model.Vars[e.known.vars[i]], &e.known.columns[i]
		e.line = append(append(e.line, before), e.keys[i]...)
		switch {
		case c.real && !finite(f), !c.real && !(f >= float64(c.lower) && f <= float64(c.upper) && f == math.Trunc(f)):
			return badInput(jani.Pos{}, "%s cannot be given the value %v of %q", e.what, f, x.Name)
		case c.real:
			e.line = strconv.AppendFloat(e.line, f+0, 'g', -1, 64) // −0 is 0
		case x.Kind == jani.VarLocation:
			e.line = append(e.line, quoted(x.Locations[int(f)])...)
		case x.Kind == jani.VarBool:
			e.line = strconv.AppendBool(e.line, f != 0)
		default:
			e.line = strconv.AppendInt(e.line, int64(f), 10)
		}
		before = ','
	}
	if len(in) == 0 {
		e.line = append(e.line, '{')
	}
	e.line = append(e.line, '}')
	return nil
}

// ask requests the answers for the states in the line, if there are any.
func (e *External) ask() error {
	if len(e.asked) == 0 {
		return nil
	}
	e.id++
	head := append(strconv.AppendInt([]byte(`{"id":`), e.id, 10), `,"states":[`...)
	e.line = append(slices.Insert(e.line, 0, head...), "]}\n"...)
	src, err := e.exchange()
	if err != nil {
		return err
	}
	values := len(e.values)
	if err := e.answer(src); err != nil {
		e.values = e.values[:values]
		return e.broken(src, "its answer is wrong: %v", err)
	}
	for i, key := range e.asked {
		e.known.rows[key] = e.rows[i]
	}
	e.line, e.asked = e.line[:0], e.asked[:0]
	return nil
}

// answer reads the rows for the states that were asked for.
func (e *External) answer(src *jani.Source) error {
	if err := jani.CheckJSON(src, jani.Limits{}); err != nil {
		return err
	}
	e.rows = e.rows[:0]
	r := interfaceReader{src: src}
	kinds := 0
	r.object(gjson.Parse(src.Text), "the answer", func(key string, v gjson.Result) bool {
		switch key {
		case "id":
			if id := strconv.FormatInt(e.id, 10); v.Raw != id {
				r.wrong(v, "the id", id)
			}
		case "actions":
			kinds++
			r.array(v, "the list of actions", func(v gjson.Result) { e.rows = append(e.rows, e.action(&r, v)) })
		case "values":
			kinds++
			r.array(v, "the list of values", func(v gjson.Result) { e.rows = append(e.rows, e.numbers(&r, v)) })
		}
		return true
	}, "id")
	switch {
	case r.err != nil:
		return r.err
	case kinds != 1:
		return errors.New(`it must have either "actions" or "values"`)
	case len(e.rows) != len(e.asked):
		return fmt.Errorf("it is for %d states instead of %d", len(e.rows), len(e.asked))
	}
	return nil
}

// action reads a label or null.
func (e *External) action(r *interfaceReader, v gjson.Result) uint32 {
	k, ok := e.labels[v.Str]
	switch {
	case v.Type == gjson.Null:
		return uint32(len(e.labels))
	case v.Type != gjson.String || !ok:
		r.wrong(v, "an action", "one of the outputs or null")
	}
	return k
}

// numbers reads one number or null per output.
func (e *External) numbers(r *interfaceReader, v gjson.Result) uint32 {
	k := len(e.labels)
	first := len(e.values)
	r.array(v, "the values for a state", func(v gjson.Result) {
		f := math.Inf(-1)
		if v.Type != gjson.Null {
			var err error
			if f, err = strconv.ParseFloat(v.Raw, 64); v.Type != gjson.Number || err != nil {
				r.wrong(v, "a value", "a number within the range of 64 bits, or null")
			}
		}
		e.values = append(e.values, f)
	})
	if n := len(e.values) - first; n != k && r.err == nil {
		r.err = badInput(r.pos(v), "there are %d values for %d outputs", n, k)
	}
	return uint32(k + 1 + first/max(k, 1))
}

// introduce tells the process what there is to decide and reads what it says about itself.
func (e *External) introduce(p *Policy, all *Table) error {
	type input struct {
		Name      string   `json:"name"`
		Type      string   `json:"type"`
		Lower     any      `json:"lower,omitempty"`
		Upper     any      `json:"upper,omitempty"`
		Locations []string `json:"locations,omitempty"`
	}
	first := struct {
		Schema  string   `json:"schema"`
		Inputs  []input  `json:"inputs"`
		Outputs []string `json:"outputs"`
	}{policySchema, []input{}, []string{}}
	for i, v := range all.vars {
		x := &e.model.Vars[v]
		in := input{Name: x.Name}
		switch x.Kind {
		case jani.VarBool:
			in.Type = "bool"
		case jani.VarLocation:
			in.Type, in.Locations = "location", x.Locations
		case jani.VarReal:
			in.Type = "real"
			if finite(x.RealLower) {
				in.Lower = x.RealLower
			}
			if finite(x.RealUpper) {
				in.Upper = x.RealUpper
			}
		default:
			in.Type, in.Lower, in.Upper = "int", all.columns[i].lower, all.columns[i].upper
		}
		first.Inputs = append(first.Inputs, in)
	}
	for _, a := range all.labels {
		first.Outputs = append(first.Outputs, e.model.Actions[a])
	}
	text, err := json.Marshal(first)
	if err != nil {
		return err
	}
	e.line = append(text, '\n')
	src, err := e.exchange()
	if err != nil {
		return err
	}
	if err := e.ready(p, src); err != nil {
		return e.broken(src, "it is not ready: %v", err)
	}
	e.line = e.line[:0]
	return nil
}

// ready reads the first answer.
func (e *External) ready(p *Policy, src *jani.Source) error {
	if err := jani.CheckJSON(src, jani.Limits{}); err != nil {
		return err
	}
	r := interfaceReader{src: src}
	chosen := false
	add := func(v jani.VarID, name string) {
		p.inputs, e.keys = append(p.inputs, v), append(e.keys, append(quoted(name), ':'))
	}
	r.object(gjson.Parse(src.Text), "the answer", func(key string, v gjson.Result) bool {
		switch key {
		case "schema":
			if v.Str != policySchema {
				r.wrong(v, "the schema of a policy", strconv.Quote(policySchema))
			}
		case "name":
			e.what += fmt.Sprintf(" (%q)", r.text(v, "the name"))
		case "inputs":
			chosen = true
			r.array(v, "the list of inputs", func(v gjson.Result) {
				in := Input{Name: r.text(v, "an input"), Instance: -1, Element: -1, Pos: r.pos(v)}
				if r.err != nil {
					return
				}
				x, err := input(e.model, &in)
				if r.err = err; err == nil && slices.Contains(p.inputs, x) {
					r.err = badInput(in.Pos, "there is an input %q before", in.Name)
				}
				add(x, in.Name)
			})
		case "filter":
			if p.Filter = v.Bool(); !v.IsBool() {
				r.wrong(v, "the filter", "true or false")
			}
		default:
			return false
		}
		return true
	}, "schema")
	for v := range e.model.Vars {
		if x := &e.model.Vars[v]; !chosen && x.Kind != jani.VarLocation {
			add(jani.VarID(v), x.Name)
		}
	}
	p.Warnings = r.warnings
	return r.err
}

// quoted returns s as JSON.
func quoted(s string) []byte {
	text, _ := json.Marshal(s) // any string can be written
	return text
}

// exchange writes the line and returns the one that the process answers.
func (e *External) exchange() (*jani.Source, error) {
	if e.failed != nil {
		return nil, e.failed
	}
	if err := e.ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", e.what, err)
	}
	ctx, cancel := context.WithTimeout(e.ctx, e.timeout)
	defer cancel()
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		e.kill()
		close(killed)
	})
	_, err := e.stdin.Write(e.line)
	if err == nil && !e.lines.Scan() {
		if err = e.lines.Err(); err == nil {
			err = io.EOF
		}
	}
	late := !stop()
	if late {
		<-killed
	}
	switch {
	case late && e.ctx.Err() != nil:
		e.failed = fmt.Errorf("%s: %w", e.what, e.ctx.Err())
		e.end()
		return nil, e.failed
	case late:
		return nil, e.broken(nil, "it has not answered within %v (it must flush every line; or give it more time)", e.timeout)
	case errors.Is(err, bufio.ErrTooLong):
		return nil, e.broken(nil, "its answer is a line of more than %d bytes", maxLine)
	case err != nil && e.end():
		return nil, e.broken(nil, "it has ended without an answer: %v", e.process.ProcessState)
	case err != nil:
		return nil, e.broken(nil, "it has closed its standard input or output without an answer")
	}
	return jani.NewSource("answer", e.lines.Bytes()), nil
}

// broken ends the process and makes what is wrong with it the error of all requests to come.
// src is its last answer, nil if there is none.
func (e *External) broken(src *jani.Source, format string, args ...any) error {
	e.end()
	msg := e.what + ": " + fmt.Sprintf(format, args...) + "\n  asked: " + shown(string(e.line))
	if src != nil {
		msg += "\n  answered: " + shown(src.Text)
	}
	for _, line := range e.stderr.last() {
		msg += "\n  stderr: " + line
	}
	e.failed = badInput(jani.Pos{}, "%s", msg)
	return e.failed
}

// end ends the process unless it has ended, and reports whether it did so by itself.
func (e *External) end() (itself bool) {
	if e.process.ProcessState != nil {
		return false
	}
	e.stdin.Close()
	killed := make(chan struct{})
	timer := time.AfterFunc(grace, func() {
		e.kill()
		close(killed)
	})
	_ = e.process.Wait() // its state tells more
	if itself = timer.Stop(); !itself {
		<-killed
	}
	if e.failed == nil {
		e.failed = errors.New(e.what + " has been ended")
	}
	return itself
}

// kill kills the process and whatever it has started, and lets no pipe to it block.
func (e *External) kill() {
	killGroup(e.process.Process)
	e.stdin.Close()
	e.stdout.Close()
}

// shown returns the beginning of a line of a process, without characters that terminals obey.
func shown(line string) string {
	line = strings.TrimRight(line, "\r\n")
	more := ""
	if len(line) > shownBytes {
		line, more = line[:shownBytes], "…"
	}
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) && r != '\t' {
			return '?'
		}
		return r
	}, line) + more
}

// lastWords keeps the last lines that are written to it.
type lastWords struct {
	mu    sync.Mutex
	lines []string
	part  []byte // of a line, one byte more of it than is shown
}

func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range p {
		if b == '\n' {
			w.flush()
			continue
		}
		if len(w.part) <= shownBytes {
			w.part = append(w.part, b)
		}
	}
	return len(p), nil
}

func (w *lastWords) flush() {
	if len(w.lines) == lastLines {
		w.lines = w.lines[1:]
	}
	w.lines = append(w.lines, shown(string(w.part)))
	w.part = w.part[:0]
}

// last returns the lines, of which an unfinished one is then finished.
func (w *lastWords) last() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.part) > 0 {
		w.flush()
	}
	return slices.Clone(w.lines)
}

// splitWords splits a command into at least one word; see StartExternal.
func splitWords(command string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote, escaped := false, rune(0), false
	for _, r := range command {
		switch {
		case escaped:
			if escaped = false; quote == '"' && r != '"' && r != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
		case r == '\\' && quote != '\'':
			inWord, escaped = true, true
		case r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			inWord, quote = true, r
		case unicode.IsSpace(r):
			if inWord {
				words = append(words, word.String())
			}
			inWord = false
			word.Reset()
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	switch {
	case escaped:
		return nil, errors.New("the command ends with a backslash that quotes nothing")
	case quote != 0:
		return nil, fmt.Errorf("a quote %c in the command is not closed", quote)
	case len(words) == 0:
		return nil, errors.New("the command is empty")
	}
	return words, nil
}
