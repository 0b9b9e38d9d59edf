package certificate

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"fuzzsafe/jani"
	"fuzzsafe/jani/interp"
)

// How the actions without a label are called.
const (
	silentLabel = "τ"
	raceLabel   = "λ"
)

// Input is what the header of a certificate refers to.
type Input struct {
	Document *jani.Document
	// Files are the files that were read, with the digests that they have.
	Files []File
	// Unsafe and Goal are the conditions of the header; a nil Goal holds nowhere.
	Unsafe, Goal *jani.Condition
	// Policy is the policy under test; nil if there is none or if it does not matter.
	Policy *Policy
}

// Summary counts what a valid certificate holds.
type Summary struct {
	Claims        int `json:"claims"`
	Safe          int `json:"safe"`
	Unsafe        int `json:"unsafe"`
	Faults        int `json:"faults"`
	SafeEntries   int `json:"safe_entries"`
	UnsafeEntries int `json:"unsafe_entries"`
	States        int `json:"states"` // distinct ones, in entries and claims
}

// Verify reads the rest of a certificate and checks all of it. The first violation is a
// *jani.Error with the line that breaks a rule; other errors are those of ctx, of the
// underlying reader, and of a model or policy that cannot be evaluated at all. Every state with
// an entry is expanded once. Memory is linear in the size of the file.
func (c *Reader) Verify(ctx context.Context, in Input) (Summary, error) {
	v, err := c.prepare(in)
	if err != nil {
		return Summary{}, err
	}
	if err := v.read(ctx); err != nil {
		return Summary{}, err
	}
	if err := v.claims(); err != nil {
		return Summary{}, err
	}
	for i := range v.states {
		if err := ctx.Err(); err != nil {
			return Summary{}, err
		}
		if err := v.state(i); err != nil {
			return Summary{}, err
		}
	}
	v.summary.States = len(v.states)
	return v.summary, nil
}

// verifier holds a certificate and what it is checked against.
type verifier struct {
	*Reader
	interp       *interp.Interp
	unsafe, goal *jani.Condition
	policy       *policy // nil if there is none
	columns      []column
	labels       []string // declared ones, then the silent and the Markovian one
	silent, race int      // positions in labels

	states  []state
	numbers map[string]int // positions in states, by key
	made    []claim
	summary Summary
}

// state is a state with what the certificate says about it.
type state struct {
	key    string // its values, 8 bytes each
	safe   *safeEntry
	unsafe []unsafeEntry
	fault  []claim // claims of faults in it
}

type safeEntry struct {
	line   int
	action string // "" if there is none
	bound  int
}

type unsafeEntry struct {
	line, value, rank int
}

// claim is a claim about a state; of a fault if outcome is not negative.
type claim struct {
	line           int
	state, outcome int
	safe           bool
	action         string
}

// prepare checks the header against the input.
func (c *Reader) prepare(in Input) (*verifier, error) {
	h := &c.Header
	if err := c.checkFiles(in.Files); err != nil {
		return nil, err
	}
	if in.Unsafe == nil {
		return nil, c.errorf(1, "there is no unsafe condition")
	}
	if in.Policy == nil && c.finite() {
		return nil, c.errorf(1, "the radius is %s, but there is no policy", h.Radius)
	}
	constants := map[string]*jani.Expr{}
	for _, text := range h.Constants {
		name, value, err := jani.ParseConstant(text)
		if err != nil {
			return nil, c.errorf(1, "%v", err)
		}
		if name = strings.TrimSpace(name); constants[name] != nil {
			return nil, c.errorf(1, "the constant %s is given twice", name)
		}
		constants[name] = value
	}
	v := &verifier{Reader: c, unsafe: in.Unsafe, goal: in.Goal, numbers: map[string]int{}}
	var err error
	if v.interp, err = interp.New(in.Document, constants); err != nil {
		return nil, c.errorf(1, "the model cannot be interpreted: %v", err)
	}
	if !h.MaximalProgress {
		v.interp = v.interp.WithoutMaximalProgress()
	}
	if v.columns, err = columns(in.Document, v.interp); err != nil {
		return nil, c.errorf(1, "%v", err)
	}
	names := v.interp.Names()
	for i := range max(len(names), len(h.Variables)) {
		switch {
		case i >= len(h.Variables):
			return nil, c.errorf(1, "the variable %q of the model is missing", names[i])
		case i >= len(names):
			return nil, c.errorf(1, "the model has no further variable %q", h.Variables[i])
		case h.Variables[i] != names[i]:
			return nil, c.errorf(1, "variable %d is %q, but in the model it is %q", i+1, h.Variables[i], names[i])
		}
	}
	for _, a := range in.Document.Actions {
		v.labels = append(v.labels, a.Name)
	}
	v.silent, v.race = len(v.labels), len(v.labels)+1
	v.labels = append(v.labels, silentLabel, raceLabel)
	if in.Policy != nil {
		if v.policy, err = in.Policy.bind(v.columns, v.labels, h.Unfiltered); err != nil {
			return nil, c.errorf(1, "%v", err)
		}
	}
	return v, nil
}

// checkFiles compares the files of the header with those that were read, role by role.
func (c *Reader) checkFiles(have []File) error {
	rest := slices.Clone(have)
	for _, want := range c.Header.Files {
		i := slices.IndexFunc(rest, func(f File) bool { return f.Role == want.Role })
		if i < 0 {
			return c.errorf(1, "the certificate depends on the %s file %q, which was not read", want.Role, want.Name)
		}
		if rest[i].SHA256 != want.SHA256 {
			return c.errorf(1, "the %s file %q is not the one that the certificate is about: it has sha256 %s, not %s",
				want.Role, rest[i].Name, rest[i].SHA256, want.SHA256)
		}
		rest = slices.Delete(rest, i, i+1)
	}
	if len(rest) > 0 {
		return c.errorf(1, "the certificate does not say that it depends on the %s file %q", rest[0].Role, rest[0].Name)
	}
	return nil
}

// read reads all lines behind the header.
func (v *verifier) read(ctx context.Context) error {
	last := -1 // index of the last claim
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		l, err := v.next()
		if err == io.EOF {
			return v.errorf(v.line+1, "the last line is missing: the file is truncated")
		}
		if err != nil {
			return err
		}
		has := func(name string) bool { _, ok := l.members[name]; return ok }
		switch {
		case has("end"):
			v.end(l)
			if l.err != nil {
				return l.err
			}
			l, err := v.next()
			if err == io.EOF {
				return nil
			}
			if err == nil {
				l.fail(l.value, "text after the last line")
				err = l.err
			}
			return err
		case has("claim"):
			last = v.readClaim(l, last)
		case has("safe"):
			v.readSafe(l)
		case has("unsafe"):
			v.readUnsafe(l)
		default:
			l.fail(l.value, "a line must be a claim, an entry, or the end")
		}
		if l.err != nil {
			return l.err
		}
	}
}

func (v *verifier) end(l *line) {
	l.only("end", "claims", "safe", "unsafe")
	if !l.truth("end") {
		l.wrong(l.members["end"], "end", "true")
	}
	s := &v.summary
	for _, part := range []struct {
		name string
		have int
	}{{"claims", s.Claims}, {"safe", s.SafeEntries}, {"unsafe", s.UnsafeEntries}} {
		if n := l.count(part.name, 1<<53); n != part.have {
			l.fail(l.members[part.name], "%s: there are %d, not %d", part.name, part.have, n)
		}
	}
}

func (v *verifier) readClaim(l *line, last int) int {
	c := claim{line: v.line, outcome: -1}
	switch kind := l.text("claim"); kind {
	case "safe", "unsafe":
		l.only("claim", "index", "state")
		i := l.count("index", 1<<53)
		if i <= last {
			l.fail(l.members["index"], "the index %d comes behind %d: indices ascend", i, last)
		}
		last = i
		if c.safe = kind == "safe"; c.safe {
			v.summary.Safe++
		} else {
			v.summary.Unsafe++
		}
	case "fault":
		l.only("claim", "state", "action", "outcome")
		c.safe = true
		c.action = v.label(l)
		c.outcome = v.readState(l, "outcome")
		v.summary.Faults++
	default:
		l.wrong(l.members["claim"], "claim", `"safe", "unsafe" or "fault"`)
	}
	c.state = v.readState(l, "state")
	v.summary.Claims++
	v.made = append(v.made, c)
	if l.err == nil && c.outcome >= 0 {
		v.states[c.state].fault = append(v.states[c.state].fault, c)
	}
	return last
}

func (v *verifier) readSafe(l *line) {
	l.only("safe", "action?", "bound")
	e := &safeEntry{line: v.line, bound: l.count("bound", v.cap-1)}
	if _, ok := l.members["action"]; ok {
		e.action = v.label(l)
	}
	i := v.readState(l, "safe")
	if l.err != nil {
		return
	}
	if first := v.states[i].safe; first != nil {
		l.fail(l.value, "the state has a safe entry in line %d already: %s", first.line, v.describe(i))
	}
	v.states[i].safe = e
	v.summary.SafeEntries++
}

func (v *verifier) readUnsafe(l *line) {
	l.only("unsafe", "value", "rank")
	e := unsafeEntry{v.line, l.count("value", v.cap), l.count("rank", 1<<53)}
	if e.value == 0 {
		l.fail(l.members["value"], "value must be positive")
	}
	i := v.readState(l, "unsafe")
	if l.err != nil {
		return
	}
	for _, first := range v.states[i].unsafe {
		if first.value == e.value {
			l.fail(l.value, "the state has an unsafe entry of value %d in line %d already: %s", e.value, first.line, v.describe(i))
		}
	}
	v.states[i].unsafe = append(v.states[i].unsafe, e)
	v.summary.UnsafeEntries++
}

// label reads the member "action".
func (v *verifier) label(l *line) string {
	name := l.text("action")
	if l.err == nil && !slices.Contains(v.labels, name) {
		hint := jani.DidYouMean(name, v.labels)
		if hint != "" {
			hint = " (" + hint + ")"
		}
		l.fail(l.members["action"], "the model has no action %q%s", name, hint)
	}
	return name
}

// readState reads a member that is a state and returns its number.
func (v *verifier) readState(l *line, name string) int {
	values := make([]jani.Value, 0, len(v.columns))
	n := 0
	l.list(name, func(x gjson.Result) {
		if n < len(v.columns) {
			value, err := v.columns[n].value(x)
			if err != nil {
				l.fail(x, "%v", err)
			}
			values = append(values, value)
		}
		n++
	})
	if n != len(v.columns) {
		l.fail(l.members[name], "a state has %d values, one per variable, not %d", len(v.columns), n)
	}
	if l.err == nil {
		// The interpreter knows the bounds.
		if _, err := v.interp.State(values); err != nil {
			l.fail(l.members[name], "%v", err)
		}
	}
	if l.err != nil {
		return 0
	}
	key := keyOf(values)
	i, ok := v.numbers[key]
	if !ok {
		i = len(v.states)
		v.numbers[key] = i
		v.states = append(v.states, state{key: key})
	}
	return i
}

// keyOf packs values into a string.
func keyOf(values []jani.Value) string {
	key := make([]byte, 0, 8*len(values))
	for _, x := range values {
		key = binary.LittleEndian.AppendUint64(key, uint64(x))
	}
	return string(key)
}

// values is the inverse of keyOf.
func values(key string) []jani.Value {
	list := make([]jani.Value, len(key)/8)
	for i := range list {
		list[i] = jani.Value(binary.LittleEndian.Uint64([]byte(key[8*i : 8*i+8])))
	}
	return list
}

// describe renders state i; locations of automata with a single location are left out.
func (v *verifier) describe(i int) string { return v.describeKey(v.states[i].key) }

func (v *verifier) describeKey(key string) string {
	var parts []string
	for k, x := range values(key) {
		if c := &v.columns[k]; len(c.locations) != 1 {
			parts = append(parts, c.name+"="+c.format(x))
		}
	}
	return strings.Join(parts, " ")
}

// claims checks that every claim has the entries that it needs.
func (v *verifier) claims() error {
	for _, c := range v.made {
		if c.safe && v.states[c.state].safe == nil {
			return v.errorf(c.line, "the state is claimed to be safe, but has no safe entry: %s", v.describe(c.state))
		}
		condemned := c.state
		if c.outcome >= 0 {
			condemned = c.outcome
		}
		covered := func(e unsafeEntry) bool { return e.value == v.cap }
		if (!c.safe || c.outcome >= 0) && !slices.ContainsFunc(v.states[condemned].unsafe, covered) {
			return v.errorf(c.line, "the state is claimed not to be safe, but has no unsafe entry of value %d: %s", v.cap, v.describe(condemned))
		}
		if c.outcome >= 0 && v.policy == nil {
			return v.errorf(c.line, "a fault is claimed, but there is no policy")
		}
	}
	return nil
}

// action is an applicable action.
type action struct {
	label    int
	cost     int
	outcomes []string // keys
}

// state checks the entries of state i and the faults claimed in it.
func (v *verifier) state(i int) error {
	s := &v.states[i]
	if s.safe == nil && len(s.unsafe) == 0 {
		return nil // in a claim that has failed, or the outcome of nothing
	}
	at := 0 // the line to blame
	if len(s.unsafe) > 0 {
		at = s.unsafe[0].line
	}
	if s.safe != nil {
		at = s.safe.line
	}
	flat := values(s.key)
	now, err := v.interp.State(flat)
	if err != nil {
		return v.errorf(at, "%v", err)
	}
	unsafe, err := v.interp.HoldsCondition(v.unsafe, now)
	if err != nil {
		return v.errorf(at, "the unsafe condition cannot be evaluated: %v", err)
	}
	goal := false
	if v.goal != nil && !unsafe {
		if goal, err = v.interp.HoldsCondition(v.goal, now); err != nil {
			return v.errorf(at, "the goal condition cannot be evaluated: %v", err)
		}
	}
	var actions []action
	taken := -1
	if !unsafe && !goal {
		if actions, taken, err = v.actions(now, flat, len(s.fault) > 0); err != nil {
			return v.errorf(at, "the state cannot be expanded: %v", err)
		}
	}
	if err := v.checkSafe(i, unsafe, goal, actions); err != nil {
		return err
	}
	for _, e := range s.unsafe {
		if err := v.checkUnsafe(i, e, unsafe, goal, actions); err != nil {
			return err
		}
	}
	for _, c := range s.fault {
		switch {
		case taken < 0:
			return v.errorf(c.line, "the policy takes no action in the state: %s", v.describe(i))
		case v.labels[actions[taken].label] != c.action:
			return v.errorf(c.line, "the policy takes %s and not %s in the state: %s", v.labels[actions[taken].label], c.action, v.describe(i))
		case !slices.Contains(actions[taken].outcomes, v.states[c.outcome].key):
			return v.errorf(c.line, "%s does not lead to %s from the state: %s", c.action, v.describe(c.outcome), v.describe(i))
		}
	}
	return nil
}

// actions returns the applicable actions of a state in model order, and which one the policy
// takes, −1 if none or if that does not matter.
func (v *verifier) actions(now interp.State, flat []jani.Value, decide bool) (list []action, taken int, err error) {
	choices, err := v.interp.Choices(now)
	if err != nil {
		return nil, -1, err
	}
	for _, c := range choices {
		a := action{label: v.silent}
		switch {
		case c.Race:
			a.label = v.race
		case c.Action != "":
			a.label = slices.Index(v.labels, c.Action)
		}
		for _, o := range c.Outcomes {
			a.outcomes = append(a.outcomes, keyOf(v.interp.Values(o.State)))
		}
		same := func(b action) bool { return b.label == a.label }
		if k := slices.IndexFunc(list, same); k >= 0 && v.Header.Choice == "label" {
			list[k].outcomes = append(list[k].outcomes, a.outcomes...)
		} else {
			list = append(list, a)
		}
	}
	if taken = -1; len(list) == 0 || v.policy == nil || !v.finite() && !decide {
		return list, taken, nil
	}
	applicable := make([]int, len(list))
	for k := range list {
		applicable[k] = list[k].label
	}
	if taken, err = v.policy.choose(flat, applicable); err != nil {
		return nil, -1, err
	}
	for k := range list {
		if v.finite() && k != taken {
			list[k].cost = 1
		}
	}
	return list, taken, nil
}

// checkSafe checks the safe entry of state i, if there is one.
func (v *verifier) checkSafe(i int, unsafe, goal bool, actions []action) error {
	e := v.states[i].safe
	if e == nil {
		return nil
	}
	wrong := func(format string, args ...any) error {
		return v.errorf(e.line, "%s: %s", fmt.Sprintf(format, args...), v.describe(i))
	}
	ends := goal || len(actions) == 0
	switch {
	case unsafe:
		return wrong("the state has a safe entry and satisfies the unsafe condition")
	case ends && e.action != "":
		return wrong("the state is a goal or terminal, but its safe entry has the action %s", e.action)
	case ends:
		return nil
	case e.action == "":
		return wrong("the state is neither a goal nor terminal, but its safe entry has no action")
	}
	var reason error
	for _, a := range actions {
		if v.labels[a.label] != e.action {
			continue
		}
		reason = nil
		for _, key := range a.outcomes {
			to, ok := v.numbers[key]
			if !ok || v.states[to].safe == nil {
				reason = wrong("%s leads to %s, which has no safe entry, from the state", e.action, v.describeKey(key))
			} else if b := v.states[to].safe.bound; a.cost+b > e.bound {
				reason = wrong("the bound %d is too small: %s costs %d and leads to %s of bound %d from the state",
					e.bound, e.action, a.cost, v.describeKey(key), b)
			}
			if reason != nil {
				break
			}
		}
		if reason == nil {
			return nil
		}
	}
	if reason == nil {
		return wrong("the action %s is not applicable in the state", e.action)
	}
	return reason
}

// checkUnsafe checks an unsafe entry of state i.
func (v *verifier) checkUnsafe(i int, e unsafeEntry, unsafe, goal bool, actions []action) error {
	wrong := func(format string, args ...any) error {
		return v.errorf(e.line, "%s: %s", fmt.Sprintf(format, args...), v.describe(i))
	}
	switch {
	case unsafe && e.rank > 0:
		return wrong("the state satisfies the unsafe condition, but the rank is %d and not 0", e.rank)
	case unsafe:
		return nil
	case goal:
		return wrong("the state has an unsafe entry and is a goal")
	case len(actions) == 0:
		return wrong("the state has an unsafe entry, but does not satisfy the unsafe condition and is terminal")
	case e.rank == 0:
		return wrong("the rank is 0, but the state does not satisfy the unsafe condition")
	}
	for _, a := range actions {
		need := e.value - a.cost
		bad := func(key string) bool {
			to, ok := v.numbers[key]
			return ok && slices.ContainsFunc(v.states[to].unsafe, func(x unsafeEntry) bool { return x.value >= need && x.rank < e.rank })
		}
		if need > 0 && !slices.ContainsFunc(a.outcomes, bad) {
			return wrong("%s has no outcome with an unsafe entry of value %d or more and a rank below %d, in the state", v.labels[a.label], need, e.rank)
		}
	}
	return nil
}
