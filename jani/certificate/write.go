package certificate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"fuzzsafe/jani"
)

// Schema names the format and its version.
const Schema = "fuzzsafe.certificate/1"

// Header says what the claims of a certificate are about. Its members are those of the
// first line; see the package comment.
type Header struct {
	Schema          string   `json:"schema"`
	Version         string   `json:"version"`
	Files           []File   `json:"files"`
	Constants       []string `json:"constants"`
	Property        string   `json:"property"`
	Unsafe          string   `json:"unsafe"`
	Goal            string   `json:"goal"`
	Choice          string   `json:"choice"`
	MaximalProgress bool     `json:"maximal_progress"`
	Unfiltered      bool     `json:"unfiltered"`
	Radius          string   `json:"radius"`
	Variables       []string `json:"variables"`
}

// File is a file that verdicts depend on.
type File struct {
	Role   string `json:"role"`
	Name   string `json:"file"`
	SHA256 string `json:"sha256"` // of its bytes, in lower-case hexadecimal digits
}

// The roles of files.
const (
	RoleModel     = "model"
	RoleProperty  = "property"
	RolePart      = "property part" // a file that the property refers to
	RoleUnsafe    = "unsafe"
	RoleGoal      = "goal"
	RoleInterface = "interface"
	RoleNetwork   = "network"
)

// Writer writes a certificate. It keeps the first error of the underlying writer, which End
// returns. It checks nothing: that is what Verify is for.
type Writer struct {
	out                  *bufio.Writer
	vars                 []jani.Var
	line                 []byte
	claims, safe, unsafe int
}

// NewWriter writes the header. The schema and the names of the variables are filled in; vars
// are those of the model, in whose order states are given.
func NewWriter(w io.Writer, h Header, vars []jani.Var) (*Writer, error) {
	h.Schema = Schema
	h.Variables = make([]string, len(vars))
	for i := range vars {
		h.Variables[i] = vars[i].Name
	}
	if h.Constants == nil {
		h.Constants = []string{}
	}
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(h); err != nil {
		return nil, err
	}
	out := bufio.NewWriter(w)
	_, err := out.Write(line.Bytes())
	return &Writer{out: out, vars: vars}, err
}

// ClaimVerdict claims that a state is safe, or that it is not. Indices ascend.
func (w *Writer) ClaimVerdict(index int, state []jani.Value, safe bool) {
	w.claims++
	kind := map[bool]string{true: "safe", false: "unsafe"}[safe]
	w.text(`{"claim":"` + kind + `","index":`).number(index).text(`,"state":`).state(state).end()
}

// ClaimFault claims that the policy's decision for an action in a safe state can lead to an
// outcome that is not safe.
func (w *Writer) ClaimFault(state []jani.Value, action string, outcome []jani.Value) {
	w.claims++
	w.text(`{"claim":"fault","state":`).state(state).text(`,"action":`).quoted(action).text(`,"outcome":`).state(outcome).end()
}

// Safe writes a safe entry; action is "" in goals and terminal states.
func (w *Writer) Safe(state []jani.Value, action string, bound int) {
	w.safe++
	w.text(`{"safe":`).state(state)
	if action != "" {
		w.text(`,"action":`).quoted(action)
	}
	w.text(`,"bound":`).number(bound).end()
}

// Unsafe writes an unsafe entry.
func (w *Writer) Unsafe(state []jani.Value, value, rank int) {
	w.unsafe++
	w.text(`{"unsafe":`).state(state).text(`,"value":`).number(value).text(`,"rank":`).number(rank).end()
}

// End writes the last line and returns the first error since NewWriter.
func (w *Writer) End() error {
	w.text(`{"end":true,"claims":`).number(w.claims).text(`,"safe":`).number(w.safe).text(`,"unsafe":`).number(w.unsafe).end()
	return w.out.Flush()
}

func (w *Writer) text(s string) *Writer {
	w.line = append(w.line, s...)
	return w
}

func (w *Writer) number(n int) *Writer {
	w.line = strconv.AppendInt(w.line, int64(n), 10)
	return w
}

func (w *Writer) quoted(s string) *Writer {
	text, _ := json.Marshal(s) // strings always marshal
	w.line = append(w.line, text...)
	return w
}

func (w *Writer) state(values []jani.Value) *Writer {
	w.text("[")
	for i := range w.vars {
		if i > 0 {
			w.text(",")
		}
		if x := &w.vars[i]; x.Kind == jani.VarLocation {
			w.quoted(x.Format(values[i]))
		} else {
			w.text(x.Format(values[i]))
		}
	}
	return w.text("]")
}

// end writes the line; an error stays in the buffered writer.
func (w *Writer) end() {
	w.line = append(w.line, '}', '\n')
	_, _ = w.out.Write(w.line)
	w.line = w.line[:0]
}
