package nnpolicy

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"fuzzsafe/jani"
)

// station has a variable of every kind.
func station() *jani.Model {
	m := &jani.Model{Actions: []string{"go", "stop", "load \"it\"\x01", "τ"}, Silent: 3, Race: jani.NoAction}
	m.Vars = []jani.Var{
		{Name: "x", Kind: jani.VarInt, Lower: -3, Upper: 300, Instance: -1},
		{Name: "b", Kind: jani.VarBool, Upper: 1, Instance: -1},
		{Name: "r", Kind: jani.VarReal, RealLower: math.Inf(-1), RealUpper: math.Inf(1), Instance: -1},
		{Name: "n", Kind: jani.VarInt, Lower: math.MinInt64, Upper: math.MaxInt64, Instance: -1},
		{Name: "truck.location", Kind: jani.VarLocation, Upper: 2, Locations: []string{"home", "a \"road\"", "<>"}, Instance: 0},
		{Name: "one", Kind: jani.VarInt, Lower: 7, Upper: 7, Instance: -1},
	}
	m.Parts = []jani.Instance{{Name: "truck", Location: 4}}
	return m
}

func readTable(t testing.TB, m *jani.Model, text string) *Table {
	t.Helper()
	table, i, err := ReadTable(m, jani.NewSource("table.json", []byte(text)), jani.Limits{})
	if err != nil || len(i.Warnings) > 0 {
		t.Fatal(err, i)
	}
	return table
}

// answer is what the table says for some inputs: an output, or −1.
func answer(t testing.TB, table *Table, in ...float64) int {
	t.Helper()
	out := make([]float64, table.Outputs())
	if err := table.Evaluate(in, out); err != nil {
		t.Fatal(err)
	}
	found := slices.Index(out, 1)
	for k, v := range out {
		if want := map[bool]float64{true: 0, false: math.Inf(-1)}[found >= 0]; k != found && v != want {
			t.Errorf("the outputs for %v are %v", in, out)
		}
	}
	return found
}

func TestTable(t *testing.T) {
	table := readTable(t, station(), `{"schema":"fuzzsafe.table/1", "comment":"by hand",
		"inputs":["location","x","b","r","n"], "outputs":["stop","go"],
		"rows":[["home",-3,true,0.1,9007199254740991,"go"],
		        ["<>",300,false,-0.0,-9007199254740991,"stop"],
		        ["home",4,true,1e300,0,"stop"], ["home",4,true,1,-1,"go"]]}`)
	if fmt.Sprint(table.vars, table.labels, table.Len()) != "[4 0 1 2 3] [1 0] 4" {
		t.Errorf("inputs, outputs and rows are %v, %v, %d", table.vars, table.labels, table.Len())
	}
	const big = 9007199254740991
	for _, c := range []struct {
		in   []float64
		want int
	}{
		{[]float64{0, -3, 1, 0.1, big}, 1},
		{[]float64{2, 300, 0, 0, -big}, 0},
		{[]float64{2, 300, 0, math.Copysign(0, -1), -big}, 0},
		{[]float64{0, 4, 1, 1e300, 0}, 0},
		{[]float64{0, 4, 1, 1, -1}, 1},
		{[]float64{0, 4, 1, 1, 1}, -1},
		{[]float64{0, 4, 1, math.Nextafter(1, 2), -1}, -1},
		{[]float64{0, -3, 1, 0.1, big + 1}, -1},
		{[]float64{0, -3 + 512, 1, 0.1, big}, -1},
		{[]float64{0, -3, 1, 0.1, math.Inf(1)}, -1},
		{[]float64{0, -3, 1, 0.1, math.NaN()}, -1},
		{[]float64{0, 4.5, 1, 1, -1}, -1},
		{[]float64{256, 4, 1, 1, -1}, -1},
	} {
		for _, f := range []*Table{table, table.Fork().(*Table)} {
			if got := answer(t, f, c.in...); got != c.want {
				t.Errorf("for %v the output is %d, want %d", c.in, got, c.want)
			}
		}
	}
	if err := table.Evaluate(make([]float64, 4), make([]float64, 2)); err == nil {
		t.Error("too few inputs are no error")
	}
	in, out := []float64{0, 4, 1, 1, -1}, make([]float64, 2)
	if n := testing.AllocsPerRun(100, func() {
		if err := table.Evaluate(in, out); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per evaluation", n)
	}
}

// The constant policy is a table without inputs.
func TestConstantTable(t *testing.T) {
	table := readTable(t, station(), `{"schema":"fuzzsafe.table/1","inputs":[],"outputs":["go","stop"],"rows":[["stop"]]}`)
	if answer(t, table) != 1 {
		t.Error("the only row is not found")
	}
	if table = readTable(t, station(), `{"schema":"fuzzsafe.table/1","inputs":["x"],"outputs":["go"],"rows":[]}`); answer(t, table, 3) != -1 {
		t.Error("a table without rows has an output")
	}
}

func rowsOf(values [][]jani.Value, labels []jani.ActionID) iter.Seq2[[]jani.Value, jani.ActionID] {
	return func(yield func([]jani.Value, jani.ActionID) bool) {
		var buffer []jani.Value
		for i, row := range values {
			buffer = append(buffer[:0], row...)
			if !yield(buffer, labels[i]) {
				return
			}
		}
	}
}

func TestWriteTableRoundTrip(t *testing.T) {
	m := station()
	r := rand.New(rand.NewPCG(3, 4))
	inputs, outputs := []jani.VarID{5, 4, 3, 2, 1, 0}, []jani.ActionID{2, 0, 3}
	reals := []float64{0, 0.1, -1e-320, math.MaxFloat64, 1.0 / 3}
	var values [][]jani.Value
	var labels []jani.ActionID
	seen := map[string]bool{}
	for len(values) < 500 {
		row := []jani.Value{7, jani.Value(r.IntN(3)), jani.Value(r.Int64N(1<<54-1) - exactInt), jani.RealValue(reals[r.IntN(len(reals))]),
			jani.Value(r.IntN(2)), jani.Value(r.IntN(304) - 3)}
		if key := fmt.Sprint(row); !seen[key] {
			seen[key] = true
			values, labels = append(values, row), append(labels, outputs[r.IntN(3)])
		}
	}
	var text bytes.Buffer
	if err := WriteTable(&text, m, inputs, outputs, rowsOf(values, labels)); err != nil {
		t.Fatal(err)
	}
	table := readTable(t, m, text.String())
	if !slices.Equal(table.vars, inputs) || !slices.Equal(table.labels, outputs) || table.Len() != len(values) {
		t.Errorf("inputs %v, outputs %v, %d rows", table.vars, table.labels, table.Len())
	}
	for i, row := range values {
		in := make([]float64, len(row))
		for k, v := range row {
			in[k] = m.Vars[inputs[k]].Float(v)
		}
		if got := answer(t, table, in...); got < 0 || outputs[got] != labels[i] {
			t.Errorf("row %d: output %d, want label %d", i, got, labels[i])
		}
	}
}

func TestWriteTableErrors(t *testing.T) {
	m := station()
	for _, c := range []struct {
		input jani.VarID
		value jani.Value
		label jani.ActionID
		want  string
	}{
		{3, exactInt + 1, 0, `cannot hold the value 9.007199254740992e+15 of "n"`},
		{0, 301, 0, `cannot hold the value 301 of "x"`},
		{4, 3, 0, `cannot hold the value 3 of "truck.location"`},
		{2, jani.RealValue(math.Inf(1)), 0, `cannot hold the value +Inf of "r"`},
		{0, 1, 1, "action 1"},
	} {
		rows := rowsOf([][]jani.Value{{c.value}}, []jani.ActionID{c.label})
		err := WriteTable(&bytes.Buffer{}, m, []jani.VarID{c.input}, []jani.ActionID{0}, rows)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	for _, rows := range []int{0, 1, 100_000} {
		values, labels := make([][]jani.Value, rows), make([]jani.ActionID, rows)
		for i := range values {
			values[i] = []jani.Value{1}
		}
		err := WriteTable(fullDisk{}, m, []jani.VarID{0}, []jani.ActionID{0}, rowsOf(values, labels))
		if err == nil || err.Error() != "disk full" {
			t.Errorf("error %v", err)
		}
	}
}

func TestReadTableErrors(t *testing.T) {
	const head = `{"schema":"fuzzsafe.table/1","inputs":["x","b"],"outputs":["go","stop"],` + "\n"
	row := func(row string) string { return head + `"rows":[` + row + `]}` }
	one := func(name, value string) string {
		return `{"schema":"fuzzsafe.table/1","inputs":["` + name + `"],"outputs":["go"],` + "\n" + `"rows":[[` + value + `,"go"]]}`
	}
	for _, c := range []struct{ text, place, want string }{
		{`{"inputs":[],"outputs":["go"],"rows":[]}`, "1:1", `the decision table has no "schema"`},
		{`{"schema":"fuzzsafe.table/2"}`, "1:11", `must be "fuzzsafe.table/1"`},
		{`[]`, "1:1", "must be an object"},
		{`{"schema":"fuzzsafe.table/1","rows":[],"inputs":["x"],"outputs":["go"]}`, "1:37", "must stand before the rows"},
		{`{"schema":"fuzzsafe.table/1","outputs":["go"],"rows":[],"inputs":["x"]}`, "1:54", "must stand before the rows"},
		{`{"schema":"fuzzsafe.table/1","inputs":["x"],"outputs":[],"rows":[]}`, "1:65", "at least one output must stand before"},
		{`{"schema":"fuzzsafe.table/1","inputs":["y"],"outputs":["go"],"rows":[]}`, "1:40", `no variable "y"`},
		{`{"schema":"fuzzsafe.table/1","inputs":["x","x"],"outputs":["go"],"rows":[]}`, "1:44", `inputs 1 and 2 are both "x"`},
		{`{"schema":"fuzzsafe.table/1","inputs":["x"],"outputs":["goo"],"rows":[]}`, "1:56", `no action label "goo" (did you mean "go"?)`},
		{`{"schema":"fuzzsafe.table/1","inputs":["x"],"outputs":["go","go"],"rows":[]}`, "1:61", "outputs 1 and 2 have the same action label"},
		{`{"schema":"fuzzsafe.table/1","inputs":["x"],"outputs":[7],"rows":[]}`, "1:56", "an output must be a string"},
		{row(`[1,true]`), "2:9", "the row has 2 entries; it needs the 2 inputs and a label"},
		{row(`[1,true,"go","go"]`), "2:9", "the row has 4 entries"},
		{row(`[1,true,"load"]`), "2:17", "the last entry of a row must be one of the outputs"},
		{row(`[1,true,0]`), "2:17", "the last entry of a row must be one of the outputs"},
		{row(`[1,true,"go"],[1,false,"go"],[1,true,"stop"]`), "2:38", "there is a row for this state before"},
		{row(`[1,true,"go"],[1,true,"go"]`), "2:23", "there is a row for this state before"},
		{row(`{}`), "2:9", "a row must be an array"},
		{one("b", "1"), "2:10", `the value of "b" must be true or false`},
		{one("x", "301"), "2:10", `the value of "x" must be a whole number from -3 to 300`},
		{one("x", "-4"), "2:10", "whole number"},
		{one("x", "1.0"), "2:10", "without point and exponent"},
		{one("x", "true"), "2:10", "whole number"},
		{one("x", `"1"`), "2:10", "whole number"},
		{one("n", "9007199254740992"), "2:10", "whole number from -9007199254740991 to 9007199254740991"},
		{one("r", "1e999"), "2:10", `the value of "r" must be a number`},
		{one("r", `"1"`), "2:10", `the value of "r" must be a number`},
		{one("r", "null"), "2:10", `the value of "r" must be a number`},
		{one("location", `"away"`), "2:10", "must be the name of a location"},
		{one("location", `0`), "2:10", "must be the name of a location"},
		{head[:20], "1:11", "not closed"},
	} {
		_, _, err := ReadTable(station(), jani.NewSource("t", []byte(c.text)), jani.Limits{})
		expect(t, err, jani.BadInput, "t:"+c.place+": ", c.want)
	}
}

func TestLoadTable(t *testing.T) {
	iface := func(inputs, outputs string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"file":"t.json","input":[` + inputs + `],"output":[` + outputs + `]}`)}
	}
	files := fstest.MapFS{
		"t.json":            {Data: []byte(`{"schema":"fuzzsafe.table/1","extra":0,"inputs":["x","truck.speed"],"outputs":["stop","go"],"rows":[[3,1,"go"]]}`)},
		"same.jani2nnet":    iface(`{"name":"x"},{"name":"speed","automaton":0}`, `"stop","go"`),
		"order.jani2nnet":   iface(`{"name":"x"},{"name":"speed","automaton":0}`, `"go","stop"`),
		"swapped.jani2nnet": iface(`{"name":"speed","automaton":0},{"name":"x"}`, `"stop","go"`),
		"shape.jani2nnet":   iface(`{"name":"x"}`, `"stop","go"`),
	}
	m := depot()
	for v := range m.Vars {
		m.Vars[v].Lower, m.Vars[v].Upper, m.Vars[v].RealUpper = 0, 9, 9
	}
	for _, file := range []string{"t.json", "same.jani2nnet"} {
		p, err := LoadFS(m, files, file)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintln(p.Inputs(), p.Outputs(), p.Sizes(), p.Filter, p.NetworkFile); got != "[0 5] [1 0] [2 2] true t.json\n" {
			t.Errorf("%s: %s", file, got)
		}
		if text := fmt.Sprint(p.Warnings); len(p.Warnings) != 2 || !strings.Contains(text, `no output for the action labels "load"`) ||
			!strings.Contains(text, `t.json:1:30: unknown key "extra"`) {
			t.Errorf("%s: warnings %v", file, p.Warnings)
		}
		out := make([]float64, 2)
		if err := p.Clone().Evaluate([]float64{3, 1}, out); err != nil || fmt.Sprint(out) != "[0 1]" {
			t.Errorf("%s: outputs %v, error %v", file, out, err)
		}
	}
	const differs = `"t.json" has other inputs or outputs than the interface, or in another order`
	for file, want := range map[string]string{
		"order.jani2nnet": differs, "swapped.jani2nnet": differs, "shape.jani2nnet": "has 2 inputs and 2 outputs, but",
	} {
		_, err := LoadFS(m, files, file)
		expect(t, err, jani.BadInput, file+":1:", want)
	}
}

// Whatever the reader accepts, it writes and reads again with the same answers.
func FuzzReadTable(f *testing.F) {
	f.Add([]byte(`{"schema":"fuzzsafe.table/1","inputs":["location","x","b","r","n","one"],"outputs":["stop","go"],` +
		`"rows":[["home",1,true,0.5,-7,7,"go"]]}`))
	f.Add([]byte(`{"schema":"fuzzsafe.table/1","inputs":[],"outputs":["go"],"rows":[["go"]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := station()
		table, _, err := ReadTable(m, jani.NewSource("f", text), jani.Limits{})
		if err != nil {
			return
		}
		rows := func(yield func([]jani.Value, jani.ActionID) bool) {
			for key, k := range table.rows {
				if !yield(table.unpack(key), table.labels[k]) {
					return
				}
			}
		}
		var again bytes.Buffer
		if err := WriteTable(&again, m, table.vars, table.labels, rows); err != nil {
			t.Fatal(err)
		}
		other, _, err := ReadTable(m, jani.NewSource("f", again.Bytes()), jani.Limits{})
		if err != nil {
			t.Fatalf("%v in %s", err, again.Bytes())
		}
		if fmt.Sprint(other.rows) != fmt.Sprint(table.rows) {
			t.Errorf("%v becomes %v", table.rows, other.rows)
		}
	})
}

// unpack is the inverse of packing a row.
func (t *Table) unpack(key string) (values []jani.Value) {
	for i := range t.columns {
		c := &t.columns[i]
		n := uint64(0)
		for k := range c.width {
			n |= uint64(key[k]) << (8 * k)
		}
		if key = key[c.width:]; !c.real {
			n += uint64(c.lower)
		}
		values = append(values, jani.Value(n))
	}
	return values
}

// bigTable is a table over 10 variables.
func bigTable(rows int) (*jani.Model, []byte) {
	m := &jani.Model{Actions: []string{"go", "stop"}, Silent: jani.NoAction}
	var inputs []jani.VarID
	for i := range 10 {
		m.Vars = append(m.Vars, jani.Var{Name: fmt.Sprintf("v%d", i), Kind: jani.VarInt, Upper: 15, Instance: -1})
		inputs = append(inputs, jani.VarID(i))
	}
	var text bytes.Buffer
	err := WriteTable(&text, m, inputs, []jani.ActionID{0, 1}, func(yield func([]jani.Value, jani.ActionID) bool) {
		values := make([]jani.Value, len(inputs))
		for n := range rows {
			for i := range values {
				values[i] = jani.Value(n >> (2 * i) & 3 * 5)
			}
			if !yield(values, jani.ActionID(n%3/2)) {
				return
			}
		}
	})
	if err != nil {
		panic(err)
	}
	return m, text.Bytes()
}

func BenchmarkReadTable(b *testing.B) {
	m, text := bigTable(1_000_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		readTable(b, m, string(text))
	}
}

func BenchmarkTableEvaluate(b *testing.B) {
	m, text := bigTable(1_000_000)
	table := readTable(b, m, string(text))
	in, out := make([]float64, 10), make([]float64, 2)
	n := 0
	for b.Loop() {
		n += 7919
		for i := range in {
			in[i] = float64(n >> (2 * i) & 3 * 5)
		}
		if err := table.Evaluate(in, out); err != nil {
			b.Fatal(err)
		}
	}
}
