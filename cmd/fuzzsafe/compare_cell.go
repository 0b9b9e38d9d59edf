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
	"strings"
	"time"

	"fuzzsafe/algorithms"
)

// cellStatus tells how the measurement of a cell ended.
type cellStatus string

const (
	cellComplete    cellStatus = "complete" // every state is decided
	cellTime        cellStatus = "time_limit"
	cellMemory      cellStatus = "memory_limit"
	cellStates      cellStatus = "state_limit" // of max_states
	cellInterrupted cellStatus = "interrupted"
	cellFailed      cellStatus = "failed"    // the process ended in a way that it must not
	cellBadInput    cellStatus = "bad_input" // the instance cannot be analysed
)

// mark is what tables show instead of a time.
func (s cellStatus) mark() string {
	return map[cellStatus]string{cellTime: "TO", cellMemory: "MO", cellStates: "SO", cellInterrupted: "interrupted",
		cellFailed: "FAILED", cellBadInput: "bad input"}[s]
}

// cell is one measurement: one solver decides the states of one instance for one radius,
// in a process of its own.
type cell struct {
	Instance   string     `json:"instance"`
	Radius     string     `json:"radius"`
	Solver     string     `json:"solver"`
	Repetition int        `json:"repetition"` // from 1
	Status     cellStatus `json:"status"`
	Message    string     `json:"message,omitempty"` // unless complete

	States   int   `json:"states"` // 0 if the process ended before it had the list
	Safe     int   `json:"safe"`
	Unsafe   int   `json:"unsafe"`
	Unknown  int   `json:"unknown"`
	Expected int   `json:"expected"` // states for which the file says what it expects
	Disagree int   `json:"disagree"` // of these, those decided otherwise
	Pairs    int64 `json:"pairs"`    // (state, action) pairs generated
	Stored   int64 `json:"stored_states"`
	// Seconds is the time for all states, from the first query to the last answer: reading
	// the model and writing the verdicts are not in it. Null unless the cell is complete.
	Seconds *float64 `json:"seconds"`
	// Spent is the same however the cell ended, and Process the time from the start of
	// the process to its end.
	Spent   float64 `json:"spent_seconds"`
	Process float64 `json:"process_seconds"`
	memoryReport

	radius   algorithms.Radius
	verdicts []algorithms.Verdict
	spent    []float64 // per state, seconds
	code     int       // exit code of the process
}

// stateLine is a line of what “check --json” writes.
type stateLine struct {
	Index    int           `json:"index"`
	Verdict  string        `json:"verdict"`
	Expected string        `json:"expected"`
	Seconds  float64       `json:"seconds"`
	Summary  *checkSummary `json:"summary"`
}

// read takes over the output of “check --json”, as far as there is some, and returns
// whether the closing summary was there.
func (c *cell) read(r io.Reader) (whole bool, err error) {
	for d := json.NewDecoder(r); ; {
		var line stateLine
		switch err := d.Decode(&line); {
		case err == io.EOF || err == io.ErrUnexpectedEOF || errors.Is(err, os.ErrClosed): // the latter two if it was killed
			return false, nil
		case err != nil:
			return false, fmt.Errorf("its output cannot be read: %w", err)
		}
		if s := line.Summary; s != nil {
			c.States, c.Expected, c.Disagree = s.States, s.Expected, s.Disagree
			c.Pairs, c.Stored, c.memoryReport = s.Pairs, s.Stored, s.memoryReport
			if s.Safe != c.Safe || s.Unsafe != c.Unsafe || s.States != len(c.verdicts) || s.Complete != (c.Safe+c.Unsafe == s.States) {
				return false, errors.New("its summary differs from its verdicts")
			}
			c.Unknown = s.Unknown
			return true, nil
		}
		if line.Index != len(c.verdicts) {
			return false, fmt.Errorf("its verdict number %d is said to be number %d", len(c.verdicts), line.Index)
		}
		v := algorithms.Unknown
		switch line.Verdict {
		case algorithms.Safe.String():
			v = algorithms.Safe
			c.Safe++
		case algorithms.Unsafe.String():
			v = algorithms.Unsafe
			c.Unsafe++
		}
		c.verdicts, c.spent = append(c.verdicts, v), append(c.spent, line.Seconds)
		c.Spent += line.Seconds
	}
}

// conclude says how the cell ended.
func (c *cell) conclude(e *childEnd) {
	c.code = e.code
	if c.Status, c.Message = e.status(e.whole && c.Safe+c.Unsafe == c.States); c.Status == cellComplete {
		c.Seconds = new(c.Spent)
	}
}

// childEnd is how the process of a cell ended.
type childEnd struct {
	code        int
	whole       bool  // the end of its output was there
	wrong       error // what is wrong with its output
	stderr      string
	interrupted bool
	overdue     bool // it was made to end
	seconds     float64
}

// status says how the cell ended, and with which message; done is whether all of it is.
func (e *childEnd) status(done bool) (cellStatus, string) {
	message := childMessage(e.stderr)
	switch {
	case e.wrong != nil:
		return cellFailed, strings.TrimSpace(e.wrong.Error() + "\n" + message)
	case (e.code == exitOK || e.code == exitUnsafe) && done:
		return cellComplete, ""
	case e.interrupted || e.code == exitUndecided && message == "interrupted": // a terminal interrupts the child, too
		return cellInterrupted, "interrupted"
	case e.overdue:
		return cellTime, "the process did not end at its time limit, so it was made to"
	case e.code == exitTime:
		return cellTime, message
	case e.code == exitMemory:
		return cellMemory, message
	case e.code == exitUndecided:
		return cellStates, message
	case e.code == exitUsage || e.code == exitBadInput || e.code == exitUnsupported:
		return cellBadInput, message
	case message == "":
		message = "it ended without a message"
	}
	return cellFailed, message
}

// warnings returns those of the child.
func (e *childEnd) warnings() (list []string) {
	for line := range strings.Lines(e.stderr) {
		if strings.HasPrefix(line, "warning: ") {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}

// childMessage returns what a child says on stderr, without the name of the command and
// without hints at its flags, which nobody has typed.
func childMessage(stderr string) string {
	var kept []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, "Run “fuzzsafe") && !strings.HasPrefix(line, "warning: ") {
			kept = append(kept, strings.TrimPrefix(line, "fuzzsafe: "))
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

// firstBytes keeps the first bytes written to it.
type firstBytes struct {
	bytes.Buffer
	most int
}

func (w *firstBytes) Write(p []byte) (int, error) {
	w.Buffer.Write(p[:min(len(p), w.most-w.Len())])
	return len(p), nil
}

const (
	// interruptDelay is the time that a child has to end by itself after an interrupt: on
	// a terminal it gets the same one, and a second would kill it.
	interruptDelay = 500 * time.Millisecond
	// killDelay is the time after which it is killed.
	killDelay = 10 * time.Second
	// overdueDelay is the time beyond its time limit that a child has for reading its
	// model, which it may only notice late, and for writing what is known.
	overdueDelay = 30 * time.Second
)

// measureProcess measures a cell in a child process, which is this program at work on
// “check”. It returns the warnings of the child. The error is that of a child that could
// not be started.
func (x *comparison) measureProcess(ctx context.Context, i *suiteInstance, c *cell) (warnings []string, err error) {
	args := append([]string{"check", "--json", "--progress=off", "--solver=" + c.Solver, "--radius=" + c.Radius}, x.childArgs...)
	args = append(append(args, i.args()...), "--", i.Model)
	e, err := x.child(ctx, args, c.read)
	if err != nil {
		return nil, err
	}
	c.Process = e.seconds
	c.conclude(e)
	return e.warnings(), nil
}

// child runs this program with args in a process of its own, of which read takes over the
// output. The error is that of a process that could not be started.
func (b *batch) child(ctx context.Context, args []string, read func(io.Reader) (whole bool, wrong error)) (*childEnd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	guard, cancel := ctx, context.CancelFunc(func() {})
	if b.timeLimit > 0 {
		guard, cancel = context.WithTimeout(ctx, b.timeLimit+overdueDelay)
	}
	defer cancel()
	stderr := &firstBytes{most: 1 << 16}
	child := exec.CommandContext(guard, program, args...)
	child.Stderr = stderr
	child.Cancel = func() error {
		time.AfterFunc(interruptDelay, func() {
			_ = child.Process.Signal(os.Interrupt) // it may have ended; if it has not, it is killed
		})
		return nil
	}
	child.WaitDelay = killDelay
	stdout, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := child.Start(); ctx.Err() != nil && child.Process == nil {
		return &childEnd{interrupted: true}, nil
	} else if err != nil {
		return nil, err
	}
	e := &childEnd{}
	e.whole, e.wrong = read(stdout)
	_, _ = io.Copy(io.Discard, stdout) // what stands behind an error; else the child could not end
	_ = child.Wait()                   // the exit code says more
	e.seconds, e.code = time.Since(start).Seconds(), child.ProcessState.ExitCode()
	if e.code < 0 {
		fmt.Fprintf(stderr, "its process has ended: %v", child.ProcessState)
	}
	e.stderr, e.interrupted, e.overdue = stderr.String(), ctx.Err() != nil, guard.Err() != nil
	return e, nil
}
