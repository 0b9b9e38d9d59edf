package certificate

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"fuzzsafe/jani"
	"fuzzsafe/jani/interp"
)

// maxRadius is the largest finite radius.
const maxRadius = 1 << 20

// Reader is a certificate whose header has been read; Verify reads the rest.
type Reader struct {
	Header Header

	name   string
	in     *bufio.Reader
	limits jani.Limits
	line   int // lines read
	cap    int // the value that means "not r-safe": r+1, or 1 for ∞
}

// Open reads the header of a certificate; name is for errors. A defect is a *jani.Error with
// its place, anything else an error of r.
func Open(name string, r io.Reader, limits jani.Limits) (*Reader, error) {
	c := &Reader{name: name, in: bufio.NewReader(r), limits: limits}
	l, err := c.next()
	if err == io.EOF {
		return nil, c.errorf(1, "the file is empty")
	}
	if err != nil {
		return nil, err
	}
	c.header(l)
	return c, l.err
}

// finite reports whether the radius is finite: then decisions of the policy matter.
func (c *Reader) finite() bool { return c.Header.Radius != "inf" }

// errorf makes an error about a line.
func (c *Reader) errorf(line int, format string, args ...any) error {
	src := &jani.Source{Name: c.name, Before: line - 1}
	return &jani.Error{Kind: jani.BadInput, Pos: jani.Pos{Src: src}, Msg: fmt.Sprintf(format, args...)}
}

// next returns the next line, or io.EOF.
func (c *Reader) next() (*line, error) {
	text, err := c.in.ReadString('\n')
	if err != nil && (err != io.EOF || text == "") {
		return nil, err
	}
	c.line++
	if strings.TrimSpace(text) == "" {
		return nil, c.errorf(c.line, "the line is empty")
	}
	src := &jani.Source{Name: c.name, Text: strings.TrimSuffix(text, "\n"), JSON: true, Before: c.line - 1}
	if err := jani.CheckJSON(src, c.limits); err != nil {
		return nil, err
	}
	l := &line{src: src, members: map[string]gjson.Result{}}
	l.value = gjson.Parse(src.Text)
	if !l.value.IsObject() {
		l.wrong(l.value, "a line", "an object")
		return nil, l.err
	}
	l.value.ForEach(func(k, v gjson.Result) bool {
		l.members[k.String()] = v
		return true
	})
	return l, nil
}

// line is a line that is a JSON object. It keeps the first error in it.
type line struct {
	src     *jani.Source
	value   gjson.Result
	members map[string]gjson.Result
	err     error
}

func (l *line) fail(v gjson.Result, format string, args ...any) {
	if l.err == nil {
		l.err = &jani.Error{Kind: jani.BadInput, Pos: jani.Pos{Src: l.src, Off: int32(v.Index)}, Msg: fmt.Sprintf(format, args...)}
	}
}

func (l *line) wrong(v gjson.Result, what, expected string) {
	l.fail(v, "%s must be %s", what, expected)
}

// only checks that the line has exactly these members; those that end in ? may be missing.
func (l *line) only(names ...string) {
	known := 0
	for _, name := range names {
		name, optional := strings.CutSuffix(name, "?")
		if _, ok := l.members[name]; ok {
			known++
		} else if !optional {
			l.fail(l.value, "%q is missing", name)
		}
	}
	if known == len(l.members) {
		return
	}
	l.value.ForEach(func(k, _ gjson.Result) bool {
		if !slices.Contains(names, k.String()) && !slices.Contains(names, k.String()+"?") {
			l.fail(k, "unknown member %q", k.String())
		}
		return l.err == nil
	})
}

func (l *line) text(name string) string {
	v := l.members[name]
	if v.Type != gjson.String {
		l.wrong(v, name, "a string")
	}
	return v.Str
}

func (l *line) truth(name string) bool {
	v := l.members[name]
	if v.Type != gjson.True && v.Type != gjson.False {
		l.wrong(v, name, "true or false")
	}
	return v.Bool()
}

// count returns a number from 0 to most.
func (l *line) count(name string, most int) int {
	v := l.members[name]
	n, err := strconv.Atoi(v.Raw)
	if v.Type != gjson.Number || err != nil || n < 0 || n > most {
		l.wrong(v, name, fmt.Sprintf("a whole number from 0 to %d", most))
		return 0
	}
	return n
}

// list calls item for every element of an array.
func (l *line) list(name string, item func(v gjson.Result)) {
	v := l.members[name]
	if !v.IsArray() {
		l.wrong(v, name, "an array")
		return
	}
	v.ForEach(func(_, x gjson.Result) bool {
		item(x)
		return l.err == nil
	})
}

func (l *line) texts(name string) []string {
	list := []string{}
	l.list(name, func(v gjson.Result) {
		if v.Type != gjson.String {
			l.wrong(v, "an element of "+name, "a string")
		}
		list = append(list, v.Str)
	})
	return list
}

// header reads the first line. The schema comes first: another version may have other members.
func (c *Reader) header(l *line) {
	if v, ok := l.members["schema"]; !ok || v.Type != gjson.String || v.Str != Schema {
		l.fail(v, "this is not a certificate that can be checked: the schema must be %q", Schema)
		return
	}
	l.only("schema", "version", "files", "constants", "property", "unsafe", "goal", "choice", "maximal_progress", "unfiltered", "radius", "variables")
	h := &c.Header
	h.Schema, h.Version, h.Property, h.Unsafe, h.Goal = Schema, l.text("version"), l.text("property"), l.text("unsafe"), l.text("goal")
	h.Constants, h.Variables = l.texts("constants"), l.texts("variables")
	h.MaximalProgress, h.Unfiltered = l.truth("maximal_progress"), l.truth("unfiltered")
	if h.Choice = l.text("choice"); h.Choice != "label" && h.Choice != "edge" {
		l.wrong(l.members["choice"], "choice", `"label" or "edge"`)
	}
	h.Radius, c.cap = l.text("radius"), 1
	if c.finite() {
		r, err := strconv.Atoi(h.Radius)
		if err != nil || r < 0 || r > maxRadius || strconv.Itoa(r) != h.Radius {
			l.wrong(l.members["radius"], "radius", fmt.Sprintf(`"inf", or a number from "0" to "%d"`, maxRadius))
		}
		c.cap = r + 1
	}
	models := 0
	l.list("files", func(v gjson.Result) {
		part := &line{src: l.src, value: v, members: map[string]gjson.Result{}}
		if !v.IsObject() {
			l.wrong(v, "a file", "an object")
			return
		}
		v.ForEach(func(k, x gjson.Result) bool {
			part.members[k.String()] = x
			return true
		})
		part.only("role", "file", "sha256")
		f := File{part.text("role"), part.text("file"), part.text("sha256")}
		switch f.Role {
		case RoleModel:
			models++
		case RoleProperty, RolePart, RoleUnsafe, RoleGoal, RoleInterface, RoleNetwork:
		default:
			part.fail(part.members["role"], "there is no role %q", f.Role)
		}
		if l.err == nil {
			l.err = part.err
		}
		h.Files = append(h.Files, f)
	})
	if models != 1 {
		l.fail(l.members["files"], "there are %d model files, not one", models)
	}
}

// column is a variable in the states of a certificate.
type column struct {
	name      string
	kind      jani.Kind // KindNone: a location
	locations []string
}

// columns returns what the values of a state are, in the order of in.Names().
func columns(doc *jani.Document, in *interp.Interp) ([]column, error) {
	rest := in.Names()
	list := make([]column, 0, len(rest))
	declare := func(prefix string, variables []jani.Variable) error {
		for i := range variables {
			x := &variables[i]
			if x.Transient {
				continue
			}
			t, n := &x.Type, 0
			for t.Kind == jani.KindArray {
				t = t.Elem
			}
			// Elements are called x[i]…; the name of no variable looks like that.
			for n < len(rest) && strings.HasPrefix(rest[n], prefix+x.Name+"[") {
				n++
			}
			if x.Type.Kind != jani.KindArray {
				if n = 1; len(rest) == 0 || rest[0] != prefix+x.Name {
					return fmt.Errorf("the interpreter does not know the variable %q", prefix+x.Name)
				}
			}
			for _, name := range rest[:n] {
				list = append(list, column{name: name, kind: t.Kind})
			}
			rest = rest[n:]
		}
		return nil
	}
	if err := declare("", doc.Variables); err != nil {
		return nil, err
	}
	for _, e := range doc.System.Elements {
		at := slices.IndexFunc(doc.Automata, func(a jani.Automaton) bool { return a.Name == e.Automaton.Name })
		if at < 0 || len(rest) == 0 {
			return nil, fmt.Errorf("there is no automaton %q", e.Automaton.Name)
		}
		location := column{name: rest[0]}
		for _, l := range doc.Automata[at].Locations {
			location.locations = append(location.locations, l.Name)
		}
		list, rest = append(list, location), rest[1:]
		if err := declare(strings.TrimSuffix(location.name, "location"), doc.Automata[at].Variables); err != nil {
			return nil, err
		}
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("the variable %q is not declared", rest[0])
	}
	return list, nil
}

// value reads a value of x.
func (x *column) value(v gjson.Result) (jani.Value, error) {
	switch {
	case x.kind == jani.KindNone && v.Type == gjson.String:
		if i := slices.Index(x.locations, v.Str); i >= 0 {
			return jani.Value(i), nil
		}
		return 0, fmt.Errorf("%s: there is no location %q", x.name, v.Str)
	case x.kind == jani.KindBool && v.Type == gjson.True:
		return 1, nil
	case x.kind == jani.KindBool && v.Type == gjson.False:
		return 0, nil
	case x.kind == jani.KindInt && v.Type == gjson.Number:
		n, err := strconv.ParseInt(v.Raw, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %.40s is no integer of 64 bits", x.name, v.Raw)
		}
		return jani.Value(n), nil
	case x.kind == jani.KindReal && v.Type == gjson.Number:
		f, err := strconv.ParseFloat(v.Raw, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %.40s is too large for a double", x.name, v.Raw)
		}
		return jani.RealValue(f), nil
	}
	what := "a value of type " + x.kind.String()
	if x.kind == jani.KindNone {
		what = "the name of a location"
	}
	return 0, fmt.Errorf("%s: %s is expected, not %.40s", x.name, what, v.Raw)
}

// float returns a value as the policy is fed with it.
func (x *column) float(v jani.Value) float64 {
	if x.kind == jani.KindReal {
		return math.Float64frombits(uint64(v))
	}
	return float64(v)
}

// format renders a value for people.
func (x *column) format(v jani.Value) string {
	switch x.kind {
	case jani.KindNone:
		return x.locations[v]
	case jani.KindBool:
		return strconv.FormatBool(v != 0)
	case jani.KindReal:
		return strconv.FormatFloat(x.float(v), 'g', -1, 64)
	}
	return strconv.FormatInt(int64(v), 10)
}
