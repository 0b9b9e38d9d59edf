package jani

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Source is one input text with the name under which errors cite it. Text has no
// byte-order mark.
type Source struct {
	Name string
	Text string
	JSON bool // places in it have a path
	// Before is the number of lines of the file that stand before Text, for formats
	// that are read line by line.
	Before int
}

// NewSource returns a source of JSON or other text; a UTF-8 byte-order mark at its
// start is dropped.
func NewSource(name string, text []byte) *Source {
	return &Source{Name: name, Text: strings.TrimPrefix(string(text), "\ufeff"), JSON: true}
}

// Pos is a place in a source: Off is a byte offset. The zero Pos is "nowhere".
type Pos struct {
	Src *Source
	Off int32
}

// LineCol returns the place as line and column, both from 1; columns count
// characters, not bytes. Nowhere is 0, 0.
func (p Pos) LineCol() (line, col int) {
	if p.Src == nil {
		return 0, 0
	}
	before := p.Src.Text[:min(int(p.Off), len(p.Src.Text))]
	line = p.Src.Before + strings.Count(before, "\n") + 1
	before = before[strings.LastIndexByte(before, '\n')+1:]
	return line, utf8.RuneCountInString(before) + 1
}

// Path returns where the place is in the JSON structure, as in
// automata[0].edges[3].guard.exp; empty for sources that are not JSON. It walks
// the text from its root, so it is meant for error messages only.
func (p Pos) Path() string {
	if p.Src == nil || !p.Src.JSON || !gjson.Valid(p.Src.Text) {
		return ""
	}
	var b strings.Builder
	at := gjson.Parse(p.Src.Text)
	for {
		var next gjson.Result
		found, object, index := false, at.IsObject(), 0
		if !object && !at.IsArray() {
			return b.String()
		}
		at.ForEach(func(key, value gjson.Result) bool {
			if first := min(value.Index, max(key.Index, 0)+value.Index*btoi(!object)); int(p.Off) < first {
				return false
			}
			if int(p.Off) < value.Index+len(value.Raw) {
				next, found = value, true
				switch {
				case !object:
					b.WriteString("[" + strconv.Itoa(index) + "]")
				case b.Len() > 0:
					b.WriteString("." + key.Str)
				default:
					b.WriteString(key.Str)
				}
				return false
			}
			index++
			return true
		})
		if !found || int(p.Off) < next.Index {
			return b.String()
		}
		at = next
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ErrorKind tells what an Error is about; the command maps it to an exit code.
type ErrorKind uint8

const (
	// BadInput is a defect of the input: not JSON, an unknown name, a wrong type.
	BadInput ErrorKind = iota
	// Unsupported is a construct of JANI that this version does not read.
	Unsupported
)

// Error is a defect of an input with its place.
type Error struct {
	Kind ErrorKind
	Pos  Pos
	Msg  string
	Hint string // the way out, may be empty
}

// Error renders file:line:col: message (hint) [path].
func (e *Error) Error() string {
	var b strings.Builder
	if e.Pos.Src != nil {
		line, col := e.Pos.LineCol()
		fmt.Fprintf(&b, "%s:%d:%d: ", e.Pos.Src.Name, line, col)
	}
	b.WriteString(e.Msg)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	if path := e.Pos.Path(); path != "" {
		b.WriteString(" [at " + path + "]")
	}
	return b.String()
}

func badInput(p Pos, format string, args ...any) *Error {
	return &Error{Kind: BadInput, Pos: p, Msg: fmt.Sprintf(format, args...)}
}

func unsupported(p Pos, format string, args ...any) *Error {
	return &Error{Kind: Unsupported, Pos: p, Msg: fmt.Sprintf(format, args...) + " is not supported"}
}

func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Warning is something odd in an input that does not stop the analysis.
type Warning struct {
	Pos Pos
	Msg string
}

// String renders file:line:col: message.
func (w Warning) String() string { return (&Error{Pos: w.Pos, Msg: w.Msg}).Error() }
