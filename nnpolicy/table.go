package nnpolicy

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"fuzzsafe/jani"

	"github.com/tidwall/gjson"
)

const tableSchema = "fuzzsafe.table/1"

// Table is a decision table: some states with the action label that the policy takes
// there. A state is what the listed variables are; the table has no output in a state
// without row. Like a Network it is for one goroutine at a time.
type Table struct {
	vars    []jani.VarID
	labels  []jani.ActionID
	columns []column
	rows    map[string]uint32 // packed inputs to output
	key     []byte
}

// column is how an input is packed into width bytes of a key: as its distance from lower,
// a real as its bits.
type column struct {
	lower, upper int64
	real         bool
	width        int
}

// exactInt is the largest integer whose float64, which is what a policy sees, stands for
// no other integer.
const exactInt = 1<<53 - 1

func newTable(m *jani.Model, vars []jani.VarID, labels []jani.ActionID) *Table {
	t := &Table{vars: vars, labels: labels, rows: make(map[string]uint32)}
	for _, v := range vars {
		x := &m.Vars[v]
		c := column{lower: max(x.Lower, -exactInt), upper: min(x.Upper, exactInt), real: x.Kind == jani.VarReal, width: 8}
		if !c.real {
			c.width = (bits.Len64(uint64(c.upper-c.lower)) + 7) / 8
		}
		t.columns = append(t.columns, c)
	}
	return t
}

// pack appends value v of a column to a key. v must be within its bounds.
func (c *column) pack(key []byte, v jani.Value) []byte {
	var word [8]byte
	n := uint64(v)
	if !c.real {
		n -= uint64(c.lower)
	}
	binary.LittleEndian.PutUint64(word[:], n)
	return append(key, word[:c.width]...)
}

// Inputs returns the number of variables.
func (t *Table) Inputs() int { return len(t.vars) }

// Outputs returns the number of action labels that rows can have.
func (t *Table) Outputs() int { return len(t.labels) }

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Fork returns the same table with a buffer of its own.
func (t *Table) Fork() Function {
	f := *t
	f.key = nil
	return &f
}

// Evaluate writes 1 for the label of the row for the given inputs and 0 for all others,
// or −Inf, no output, for all if there is no such row. Time is linear in the inputs and
// outputs, whatever the number of rows.
func (t *Table) Evaluate(in, out []float64) error {
	if len(in) != t.Inputs() || len(out) != t.Outputs() {
		return fmt.Errorf("a table of %d inputs and %d outputs is evaluated with %d and %d", t.Inputs(), t.Outputs(), len(in), len(out))
	}
	row, ok := t.find(in)
	none := 0.0
	if !ok {
		none = math.Inf(-1)
	}
	for k := range out {
		out[k] = none
	}
	if ok {
		out[row] = 1
	}
	return nil
}

// find returns the output of the row with the given inputs.
func (t *Table) find(in []float64) (row uint32, ok bool) {
	t.key = t.key[:0]
	for i, f := range in {
		c := &t.columns[i]
		v := jani.RealValue(f)
		if !c.real {
			if !(f >= float64(c.lower) && f <= float64(c.upper)) || f != math.Trunc(f) {
				return 0, false
			}
			v = jani.Value(f)
		}
		t.key = c.pack(t.key, v)
	}
	row, ok = t.rows[string(t.key)]
	return row, ok
}

// ReadTable reads a decision table for a model:
//
//	{"schema": "fuzzsafe.table/1", "inputs": [variable …], "outputs": [label …],
//	 "rows": [[value …, label] …]}
//
// Variables are named as jani.Model.Variable takes them. A row has one value per input:
// true or false for a boolean, a whole number without point and exponent for an integer,
// any number for a real, the name for a location; then one of the outputs. Each state
// occurs once. Schema, inputs and outputs stand before the rows; other keys are as in
// ReadInterface. The Interface has the inputs and outputs. Any defect is a *jani.Error with
// its place.
//
// Values are exact: a real matches if all 64 bits do, but for the sign of 0, and an
// integer beyond ±(2^53−1), which policies cannot tell from its neighbours, is refused.
// Time and memory are linear in the text.
func ReadTable(m *jani.Model, src *jani.Source, limits jani.Limits) (*Table, *Interface, error) {
	if err := jani.CheckJSON(src, limits); err != nil {
		return nil, nil, err
	}
	r := tableReader{interfaceReader: interfaceReader{src: src}, model: m, says: &Interface{Source: src, Filter: true, Inputs: []Input{}}}
	r.object(gjson.Parse(src.Text), "the decision table", func(key string, v gjson.Result) bool {
		switch key {
		case "schema":
			if v.Str != tableSchema {
				r.wrong(v, "the schema of a decision table", strconv.Quote(tableSchema))
			}
		case "inputs":
			r.vars = []jani.VarID{}
			r.array(v, "the list of inputs", r.input)
		case "outputs":
			r.array(v, "the list of outputs", r.output)
		case "rows":
			r.rows(v)
		default:
			return false
		}
		return true
	}, "schema", "inputs", "outputs", "rows")
	if r.err != nil {
		return nil, nil, r.err
	}
	r.says.Warnings = r.warnings
	return r.table, r.says, nil
}

// tableReader reads a decision table; table is nil before the rows.
type tableReader struct {
	interfaceReader
	model  *jani.Model
	says   *Interface
	vars   []jani.VarID // nil before the inputs
	labels []jani.ActionID
	names  map[string]uint32       // of labels
	what   []string                // per input: how messages call its value
	places []map[string]jani.Value // per input: of locations
	table  *Table
}

func (r *tableReader) fail(v gjson.Result, format string, args ...any) {
	if r.err == nil {
		r.err = badInput(r.pos(v), format, args...)
	}
}

func (r *tableReader) input(v gjson.Result) {
	in := Input{Name: r.text(v, "an input"), Instance: -1, Element: -1, Pos: r.pos(v)}
	if r.err != nil {
		return
	}
	x, err := input(r.model, &in)
	if err != nil {
		r.err = err
		return
	}
	if first := slices.Index(r.vars, x); first >= 0 {
		r.fail(v, "inputs %d and %d are both %q", first+1, len(r.vars)+1, r.model.Vars[x].Name)
	}
	r.vars = append(r.vars, x)
	r.says.Inputs = append(r.says.Inputs, in)
}

func (r *tableReader) output(v gjson.Result) {
	name := jani.Name{Name: r.text(v, "an output"), Pos: r.pos(v)}
	a, err := output(r.model, name, r.labels)
	if r.err == nil {
		r.err = err
	}
	r.labels = append(r.labels, a)
	r.says.Outputs = append(r.says.Outputs, name)
}

func (r *tableReader) rows(v gjson.Result) {
	if r.vars == nil || len(r.labels) == 0 {
		r.fail(v, "the inputs and at least one output must stand before the rows")
		return
	}
	r.names = make(map[string]uint32)
	for k, a := range r.labels {
		r.names[r.model.Actions[a]] = uint32(k)
	}
	for _, v := range r.vars {
		places := make(map[string]jani.Value)
		for l, name := range r.model.Vars[v].Locations {
			places[name] = jani.Value(l)
		}
		r.places = append(r.places, places)
		r.what = append(r.what, "the value of "+strconv.Quote(r.model.Vars[v].Name))
	}
	r.table = newTable(r.model, r.vars, r.labels)
	r.array(v, "the list of rows", r.row)
}

func (r *tableReader) row(v gjson.Result) {
	t := r.table
	t.key = t.key[:0]
	n, label := 0, uint32(0)
	r.array(v, "a row", func(v gjson.Result) {
		switch {
		case n < len(t.vars):
			t.key = t.columns[n].pack(t.key, r.value(v, n))
		case n == len(t.vars):
			var ok bool
			if label, ok = r.names[v.Str]; v.Type != gjson.String || !ok {
				r.wrong(v, "the last entry of a row", "one of the outputs")
			}
		}
		n++
	})
	if n != len(t.vars)+1 {
		r.fail(v, "the row has %d entries; it needs the %d inputs and a label", n, len(t.vars))
	}
	if r.err != nil {
		return
	}
	before := len(t.rows)
	if t.rows[string(t.key)] = label; len(t.rows) == before {
		r.fail(v, "there is a row for this state before")
	}
}

// value reads the value of input i.
func (r *tableReader) value(v gjson.Result, i int) jani.Value {
	x, c, what := &r.model.Vars[r.vars[i]], &r.table.columns[i], r.what[i]
	switch x.Kind {
	case jani.VarBool:
		if !v.IsBool() {
			r.wrong(v, what, "true or false")
		}
		if v.Bool() {
			return 1
		}
	case jani.VarReal:
		f, err := strconv.ParseFloat(v.Raw, 64)
		if v.Type != gjson.Number || err != nil || !(f >= x.RealLower && f <= x.RealUpper) {
			r.wrong(v, what, fmt.Sprintf("a number from %v to %v", x.RealLower, x.RealUpper))
		}
		return jani.RealValue(f)
	case jani.VarLocation:
		l, ok := r.places[i][v.Str]
		if v.Type != gjson.String || !ok {
			r.wrong(v, what, "the name of a location of the automaton")
		}
		return l
	default:
		n, err := strconv.ParseInt(v.Raw, 10, 64)
		if err != nil || n < c.lower || n > c.upper {
			r.wrong(v, what, fmt.Sprintf("a whole number from %d to %d, without point and exponent", c.lower, c.upper))
		}
		return jani.Value(n)
	}
	return 0
}

// WriteTable writes a decision table that ReadTable reads back. Each of the rows is one
// value per input and one of the outputs, and no two have equal values; it is written as
// it comes, and its slice may be used again. An error says which value a table cannot
// hold, or comes from w; the file is no table then.
func WriteTable(w io.Writer, m *jani.Model, inputs []jani.VarID, outputs []jani.ActionID,
	rows iter.Seq2[[]jani.Value, jani.ActionID]) error {
	out := bufio.NewWriter(w)
	name := func(s string) []byte {
		text, _ := json.Marshal(s) // any string can be written
		return text
	}
	list := func(n int, at func(int) string) []byte {
		var text []byte
		for i := range n {
			text = append(append(text, name(at(i))...), ',')
		}
		return slices.Concat([]byte("["), text[:max(len(text)-1, 0)], []byte("]"))
	}
	labels := make(map[jani.ActionID][]byte)
	for _, a := range outputs {
		labels[a] = append(name(m.Actions[a]), ']')
	}
	locations := make([][][]byte, len(inputs))
	for i, v := range inputs {
		for _, l := range m.Vars[v].Locations {
			locations[i] = append(locations[i], name(l))
		}
	}
	fmt.Fprintf(out, "{\"schema\":%q,\n\"inputs\":%s,\n\"outputs\":%s,\n\"rows\":[", tableSchema,
		list(len(inputs), func(i int) string { return m.Vars[inputs[i]].Name }),
		list(len(outputs), func(i int) string { return m.Actions[outputs[i]] }))
	t := newTable(m, inputs, outputs)
	var line []byte
	before := "\n"
	for values, a := range rows {
		if labels[a] == nil || len(values) != len(inputs) {
			return fmt.Errorf("a row of a table has %d values for %d inputs, and action %d of the outputs %v",
				len(values), len(inputs), a, outputs)
		}
		line = append(append(line[:0], before...), '[')
		for i, v := range values {
			x, c := &m.Vars[inputs[i]], &t.columns[i]
			switch {
			case c.real && !finite(x.Float(v)), !c.real && (int64(v) < c.lower || int64(v) > c.upper):
				return fmt.Errorf("a table cannot hold the value %v of %q", x.Float(v), x.Name)
			case x.Kind == jani.VarLocation:
				line = append(line, locations[i][v]...)
			case c.real:
				line = strconv.AppendFloat(line, x.Float(v), 'g', -1, 64)
			case x.Kind == jani.VarBool:
				line = strconv.AppendBool(line, v != 0)
			default:
				line = strconv.AppendInt(line, int64(v), 10)
			}
			line = append(line, ',')
		}
		if _, err := out.Write(append(line, labels[a]...)); err != nil {
			return err
		}
		before = ",\n"
	}
	fmt.Fprintf(out, "\n]}\n") // the error comes back from Flush
	return out.Flush()
}
