package certificate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
	"fuzzsafe/jani"
)

// draft is a certificate of a problem, taken apart, with what is true about the system.
type draft struct {
	*problem
	r    algorithms.Radius
	j    []int // J*, capped at cap
	cap  int
	rng  *rand.Rand
	text string // what to do to the whole text, instead of writing the parts

	header string
	claims []claimLine
	safe   []safeLine
	unsafe []unsafeLine
}

type claimLine struct {
	Claim   string `json:"claim"`
	Index   *int   `json:"index,omitempty"`
	State   []any  `json:"state"`
	Action  string `json:"action,omitempty"`
	Outcome []any  `json:"outcome,omitempty"`
}

type safeLine struct {
	Safe   []any  `json:"safe"`
	Action string `json:"action,omitempty"`
	Bound  int    `json:"bound"`
}

type unsafeLine struct {
	Unsafe []any `json:"unsafe"`
	Value  int   `json:"value"`
	Rank   int   `json:"rank"`
}

// takeApart reads a valid certificate.
func takeApart(t *testing.T, p *problem, r algorithms.Radius, j []int, text string) *draft {
	d := &draft{problem: p, r: r, j: j, cap: max(int(r), 0) + 1}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	d.header = lines[0]
	for _, l := range lines[1 : len(lines)-1] {
		var err error
		switch {
		case strings.HasPrefix(l, `{"claim"`):
			d.claims = append(d.claims, claimLine{})
			err = json.Unmarshal([]byte(l), &d.claims[len(d.claims)-1])
		case strings.HasPrefix(l, `{"safe"`):
			d.safe = append(d.safe, safeLine{})
			err = json.Unmarshal([]byte(l), &d.safe[len(d.safe)-1])
		default:
			d.unsafe = append(d.unsafe, unsafeLine{})
			err = json.Unmarshal([]byte(l), &d.unsafe[len(d.unsafe)-1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	d.text = text
	if got := d.write(); got != text {
		t.Fatalf("written again the certificate is\n%s, want\n%s", got, text)
	}
	return d
}

// write puts the parts together, with the right numbers in the last line.
func (d *draft) write() string {
	var b strings.Builder
	b.WriteString(d.header + "\n")
	e := json.NewEncoder(&b)
	for _, parts := range [][]any{anys(d.claims), anys(d.safe), anys(d.unsafe)} {
		for _, x := range parts {
			if err := e.Encode(x); err != nil {
				panic(err)
			}
		}
	}
	fmt.Fprintf(&b, `{"end":true,"claims":%d,"safe":%d,"unsafe":%d}`+"\n", len(d.claims), len(d.safe), len(d.unsafe))
	return b.String()
}

func anys[T any](list []T) (all []any) {
	for _, x := range list {
		all = append(all, x)
	}
	return all
}

// clone returns a copy to be spoilt.
func (d *draft) clone(rng *rand.Rand) *draft {
	c := *d
	c.rng = rng
	c.claims, c.safe, c.unsafe = slices.Clone(d.claims), slices.Clone(d.safe), slices.Clone(d.unsafe)
	return &c
}

// number returns the state of the explicit system that a STATE is.
func number(state []any) int { return int(state[0].(float64)) }

func (d *draft) named(s int) []any { return []any{float64(s), "l"} }

func (d *draft) class(s int) engine.Class {
	class, _ := d.sys.Class(engine.StateID(s))
	return class
}

func (d *draft) outcomes(s, a int) []engine.StateID {
	list, _ := d.sys.Outcomes(engine.StateID(s), a)
	return list
}

func (d *draft) actions(s int) int {
	n, _ := d.sys.NumActions(engine.StateID(s))
	return n
}

// isSafe is what is true.
func (d *draft) isSafe(s int) bool { return d.j[s] < d.cap }

// ends reports whether s is a goal or terminal.
func (d *draft) ends(s int) bool {
	return d.class(s) == engine.ClassGoal || d.class(s) == engine.ClassOrdinary && d.actions(s) == 0
}

// any returns one of the numbers below n that fit, and false if there is none.
func (d *draft) any(n int, fits func(i int) bool) (int, bool) {
	for _, i := range d.rng.Perm(n) {
		if fits(i) {
			return i, true
		}
	}
	return 0, false
}

func (d *draft) anySafe(fits func(e safeLine) bool) (int, bool) {
	return d.any(len(d.safe), func(i int) bool { return fits(d.safe[i]) })
}

func (d *draft) anyUnsafe(fits func(e unsafeLine) bool) (int, bool) {
	return d.any(len(d.unsafe), func(i int) bool { return fits(d.unsafe[i]) })
}

func (d *draft) anyClaim(kind string) (int, bool) {
	return d.any(len(d.claims), func(i int) bool { return d.claims[i].Claim == kind })
}

func (d *draft) listed(s int) bool {
	return slices.ContainsFunc(d.safe, func(e safeLine) bool { return number(e.Safe) == s })
}

// setHeader replaces a value in the header.
func (d *draft) setHeader(path, from, to string) bool {
	old := fmt.Sprintf(`"%s":%s`, path, from)
	changed := strings.Replace(d.header, old, fmt.Sprintf(`"%s":%s`, path, to), 1)
	ok := changed != d.header
	d.header = changed
	return ok
}

// newState puts another value for the variable s into an entry or a claim.
func (d *draft) newState(value any) bool {
	s := []any{value, "l"}
	switch d.rng.IntN(3) {
	case 0:
		if len(d.safe) > 0 {
			d.safe[d.rng.IntN(len(d.safe))].Safe = s
			return true
		}
	case 1:
		if len(d.unsafe) > 0 {
			d.unsafe[d.rng.IntN(len(d.unsafe))].Unsafe = s
			return true
		}
	}
	d.claims[d.rng.IntN(len(d.claims))].State = s
	return true
}

func remove[T any](list []T, gone func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), gone)
}

// mutation spoils a certificate. It returns false where there is nothing of the kind to
// spoil. why says why what it makes cannot be valid.
type mutation struct {
	kind, why string
	spoil     func(d *draft) bool
}

// raw is a mutation of the text.
func raw(spoil func(d *draft, text string) string) func(d *draft) bool {
	return func(d *draft) bool {
		before := d.text
		d.text = spoil(d, before)
		return d.text != before
	}
}

// line replaces a line of the text other than the last.
func replaceLine(spoil func(d *draft, line string) string) func(d *draft) bool {
	return raw(func(d *draft, text string) string {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		i := 1 + d.rng.IntN(len(lines)-2)
		lines[i] = spoil(d, lines[i])
		return strings.Join(lines, "\n") + "\n"
	})
}

// parts is a mutation of the parts.
func parts(spoil func(d *draft) bool) func(d *draft) bool {
	return func(d *draft) bool {
		if !spoil(d) {
			return false
		}
		before := d.text
		d.text = d.write()
		return d.text != before
	}
}

// All in label mode: there, an entry stands or falls with one action.
func mutations() []mutation {
	return []mutation{
		// The header.
		{"version of the schema", "only version 1 is defined", parts(func(d *draft) bool {
			return d.setHeader("schema", `"fuzzsafe.certificate/1"`, `"fuzzsafe.certificate/2"`)
		})},
		{"member of the header dropped", "all are required", parts(func(d *draft) bool {
			keys := gjson.Get(d.header, "@keys").Array()
			k := keys[d.rng.IntN(len(keys))].Str
			var left []string
			gjson.Parse(d.header).ForEach(func(key, v gjson.Result) bool {
				if key.Str != k {
					left = append(left, key.Raw+":"+v.Raw)
				}
				return true
			})
			d.header = "{" + strings.Join(left, ",") + "}"
			return true
		})},
		{"member of the header added", "no others are allowed", parts(func(d *draft) bool {
			d.header = `{"seed":1,` + d.header[1:]
			return true
		})},
		{"digest", "the model has another one", parts(func(d *draft) bool {
			sum := gjson.Get(d.header, "files.0.sha256").Str
			i := d.rng.IntN(len(sum))
			changed := sum[:i] + string("0123456789abcdef"[(strings.IndexByte("0123456789abcdef", sum[i])+1+d.rng.IntN(15))%16]) + sum[i+1:]
			return d.setHeader("sha256", strconv.Quote(sum), strconv.Quote(changed))
		})},
		{"further file", "it was not read", parts(func(d *draft) bool {
			return d.setHeader("files", "[", `[{"role":"property","file":"p","sha256":""},`)
		})},
		{"no model", "there must be one", parts(func(d *draft) bool {
			return d.setHeader("role", `"model"`, []string{`"goal"`, `"x"`}[d.rng.IntN(2)])
		})},
		{"constant", "the model has none", parts(func(d *draft) bool {
			return d.setHeader("constants", "[]", []string{`["N=1"]`, `["="]`, `[1]`}[d.rng.IntN(3)])
		})},
		{"larger radius", "no entry has a value of the larger radius, so the claim is not covered", parts(func(d *draft) bool {
			_, ok := d.anyClaim("unsafe")
			return ok && d.r != algorithms.Infinite && d.setHeader("radius", strconv.Quote(d.r.String()), strconv.Quote(strconv.Itoa(int(d.r)+1)))
		})},
		{"radius that is none", "it is a number or inf", parts(func(d *draft) bool {
			return d.setHeader("radius", strconv.Quote(d.r.String()), []string{`"-1"`, `"01"`, `"1e0"`, `"NaN"`, "0", `""`, `"1048577"`, `"∞"`}[d.rng.IntN(8)])
		})},
		{"choice mode that is none", "it is label or edge", parts(func(d *draft) bool { return d.setHeader("choice", `"label"`, `"state"`) })},
		{"name of a variable", "the model has no such variable", parts(func(d *draft) bool { return d.setHeader("variables", `["s"`, `["S"`) })},
		{"variable dropped", "the model has it", parts(func(d *draft) bool { return d.setHeader("variables", `["s",`, `[`) })},
		{"variables swapped", "the model has them in another order", parts(func(d *draft) bool {
			return d.setHeader("variables", `["s","m.location"]`, `["m.location","s"]`)
		})},
		{"further variable", "the model has no further one", parts(func(d *draft) bool { return d.setHeader("variables", `["s","m.location"`, `["s","m.location","t"`) })},

		// The lines.
		{"no last line", "it is required", raw(func(d *draft, text string) string { return text[:strings.LastIndex(text, `{"end"`)] })},
		{"truncated", "the last line is not complete", raw(func(d *draft, text string) string { return text[:d.rng.IntN(len(text)-1)] })},
		{"text behind the last line", "nothing may follow", raw(func(d *draft, text string) string {
			return text + []string{"\n", " \n", "x", "{}\n", "\x00", `{"end":true,"claims":0,"safe":0,"unsafe":0}` + "\n"}[d.rng.IntN(6)]
		})},
		{"numbers of the last line", "they must fit", raw(func(d *draft, text string) string {
			key := []string{"claims", "safe", "unsafe"}[d.rng.IntN(3)]
			at := strings.LastIndex(text, key+`":`) + len(key) + 2
			n := gjson.Get(text[strings.LastIndex(text, `{"end"`):], key).Int()
			to := []string{strconv.FormatInt(n+1, 10), "-1", "1e3", "null", "9223372036854775808", strconv.FormatInt(n, 10) + ".0"}[d.rng.IntN(6)]
			return text[:at] + to + text[at+len(strconv.FormatInt(n, 10)):]
		})},
		{"end that is false", "it must be true", raw(func(d *draft, text string) string {
			return strings.Replace(text, `{"end":true`, []string{`{"end":false`, `{"end":1`}[d.rng.IntN(2)], 1)
		})},
		{"line lost", "the numbers of the last line do not fit", raw(func(d *draft, text string) string {
			lines := strings.SplitAfter(text, "\n")
			i := 1 + d.rng.IntN(len(lines)-3)
			return strings.Join(slices.Delete(lines, i, i+1), "")
		})},
		{"line that is none", "each line is an object of a known kind", replaceLine(func(d *draft, line string) string {
			return []string{"", "[]", "null", "{}", `{"x":1}`, line + line, line[1:], "[" + line + "]", strings.Repeat("[", 100_000), strings.Repeat(`{"safe":`, 100_000), "NaN", "\xff"}[d.rng.IntN(12)]
		})},
		{"unknown member", "no others are allowed", replaceLine(func(d *draft, line string) string { return `{"note":"x",` + line[1:] })},
		{"member twice", "keys are unique", replaceLine(func(d *draft, line string) string {
			first, _, _ := strings.Cut(line, ",")
			return first + "," + line[1:]
		})},

		// States.
		{"value out of its range", "the type has bounds", parts(func(d *draft) bool {
			return d.newState([]float64{-1, float64(len(d.ids)), 1 << 40}[d.rng.IntN(3)])
		})},
		{"value of another type", "it is an integer of 64 bits", parts(func(d *draft) bool {
			return d.newState([]any{0.5, "0", true, nil, []any{}, map[string]any{}, json.RawMessage("1e0"), json.RawMessage("9223372036854775808"), json.RawMessage("1e999")}[d.rng.IntN(9)])
		})},
		{"location that is none", "the automaton has no such location", replaceLine(func(d *draft, line string) string {
			return strings.Replace(line, `"l"`, []string{`"m"`, "0", "true", `""`}[d.rng.IntN(4)], 1)
		})},
		{"state with too many or few values", "there is one per variable", replaceLine(func(d *draft, line string) string {
			return strings.Replace(line, `,"l"]`, []string{"]", `,"l",0]`, `,"l","l"]`}[d.rng.IntN(3)], 1)
		})},

		// Claims.
		{"safe claimed not to be", "it is not true", parts(func(d *draft) bool {
			i, ok := d.anyClaim("safe")
			if ok {
				d.claims[i].Claim = "unsafe"
			}
			return ok
		})},
		{"unsafe claimed to be safe", "it is not true", parts(func(d *draft) bool {
			i, ok := d.anyClaim("unsafe")
			if ok {
				d.claims[i].Claim = "safe"
			}
			return ok
		})},
		{"claim of an unknown kind", "there is none", parts(func(d *draft) bool {
			d.claims[d.rng.IntN(len(d.claims))].Claim = "maybe"
			return true
		})},
		{"claim about a state without entry", "it is not covered", parts(func(d *draft) bool {
			i, ok := d.anyClaim("safe")
			s, left := d.any(len(d.j), func(s int) bool { return !d.listed(s) })
			if ok = ok && left; ok {
				d.claims[i].State = d.named(s)
			}
			return ok
		})},
		{"indices that do not ascend", "they must", parts(func(d *draft) bool {
			if len(d.claims) < 2 || d.claims[1].Index == nil {
				return false
			}
			d.claims[1].Index = d.claims[0].Index
			return true
		})},
		{"fault with another action", "the policy takes one", parts(func(d *draft) bool {
			i, ok := d.anyClaim("fault")
			if ok {
				d.claims[i].Action = "none"
			}
			return ok
		})},
		{"fault without policy's reason", "the outcome is none of the decision", parts(func(d *draft) bool {
			i, ok := d.anyClaim("fault")
			if !ok {
				return false
			}
			s := number(d.claims[i].State)
			a, _ := d.sys.Decision(engine.StateID(s))
			k, ok := d.anyUnsafe(func(e unsafeLine) bool {
				return e.Value == d.cap && !slices.Contains(d.outcomes(s, a), engine.StateID(number(e.Unsafe)))
			})
			if ok {
				d.claims[i].Outcome = d.unsafe[k].Unsafe
			}
			return ok
		})},
		{"fault with a safe outcome", "it is no fault then", parts(func(d *draft) bool {
			i, ok := d.anyClaim("fault")
			k, left := d.anySafe(func(safeLine) bool { return true })
			if ok = ok && left; ok {
				d.claims[i].Outcome = d.safe[k].Safe
			}
			return ok
		})},
		{"fault in an unsafe state", "a fault is a decision in a safe state", parts(func(d *draft) bool {
			i, ok := d.anyClaim("fault")
			if ok {
				d.claims[i].State = d.claims[i].Outcome
			}
			return ok
		})},

		// Safe entries.
		{"safe entry dropped", "each is claimed, or an outcome of another's action", parts(func(d *draft) bool {
			i, ok := d.anySafe(func(safeLine) bool { return true })
			if ok {
				d.safe = slices.Delete(d.safe, i, i+1)
			}
			return ok
		})},
		{"safe entry twice", "a state has one", parts(func(d *draft) bool {
			i, ok := d.anySafe(func(safeLine) bool { return true })
			if ok {
				d.safe = append(d.safe, d.safe[i])
				d.safe[len(d.safe)-1].Bound = d.rng.IntN(d.cap)
			}
			return ok
		})},
		{"safe entry for a state that is not", "it is not true", parts(func(d *draft) bool {
			s, ok := d.any(len(d.j), func(s int) bool { return !d.isSafe(s) })
			if ok {
				e := safeLine{d.named(s), "", d.cap - 1}
				if d.actions(s) > 0 {
					e.Action = "a" + strconv.Itoa(d.rng.IntN(d.actions(s)))
				}
				d.safe = append(d.safe, e)
			}
			return ok
		})},
		{"unknown action", "the model has no such label", parts(func(d *draft) bool {
			i, ok := d.anySafe(func(safeLine) bool { return true })
			if ok {
				d.safe[i].Action = []string{"a", "A0", "a99", "m"}[d.rng.IntN(4)]
			}
			return ok
		})},
		{"action that is not applicable", "it is not", parts(func(d *draft) bool {
			i, ok := d.anySafe(func(e safeLine) bool { return e.Action != "" })
			if ok {
				d.safe[i].Action = []string{"none", "τ", "λ"}[d.rng.IntN(3)]
			}
			return ok
		})},
		{"action that is not safe", "an outcome is not safe", parts(func(d *draft) bool {
			action := -1
			i, ok := d.anySafe(func(e safeLine) bool {
				s, found := number(e.Safe), false
				if !d.ends(s) {
					action, found = d.any(d.actions(s), func(a int) bool {
						return slices.ContainsFunc(d.outcomes(s, a), func(t engine.StateID) bool { return !d.isSafe(int(t)) })
					})
				}
				return found
			})
			if ok {
				d.safe[i].Action = "a" + strconv.Itoa(action)
			}
			return ok
		})},
		{"no action", "the state is neither a goal nor terminal", parts(func(d *draft) bool {
			i, ok := d.anySafe(func(e safeLine) bool { return e.Action != "" })
			if ok {
				d.safe[i].Action = ""
			}
			return ok
		})},
		{"action at an end", "the state is a goal or terminal", parts(func(d *draft) bool {
			i, ok := d.anySafe(func(e safeLine) bool { return e.Action == "" })
			if ok {
				d.safe[i].Action = []string{"a0", "none"}[d.rng.IntN(2)]
			}
			return ok
		})},
		{"bound too small", "J* is larger", parts(func(d *draft) bool {
			i, ok := d.anySafe(func(e safeLine) bool { return d.j[number(e.Safe)] > 0 })
			if ok {
				d.safe[i].Bound = d.rng.IntN(d.j[number(d.safe[i].Safe)])
			}
			return ok
		})},
		{"bound out of its range", "it is from 0 to r", parts(func(d *draft) bool {
			i, ok := d.anySafe(func(safeLine) bool { return true })
			if ok {
				d.safe[i].Bound = []int{-1, d.cap, 1 << 62}[d.rng.IntN(3)]
			}
			return ok
		})},
		{"bound that is no integer", "it is one", replaceLine(func(d *draft, line string) string {
			i := strings.Index(line, `"bound":`)
			if i < 0 {
				return line
			}
			return line[:i] + `"bound":` + []string{"0.0", "null", `"0"`, "1e999", "99999999999999999999", "true"}[d.rng.IntN(6)] + "}"
		})},

		// Unsafe entries.
		{"claimed unsafe entry dropped", "the claim is not covered", parts(func(d *draft) bool {
			i, ok := d.anyClaim("unsafe")
			if ok {
				s := number(d.claims[i].State)
				d.unsafe = remove(d.unsafe, func(e unsafeLine) bool { return number(e.Unsafe) == s && e.Value == d.cap })
			}
			return ok
		})},
		{"all unsafe states dropped", "without them nothing follows if actions cost nothing", parts(func(d *draft) bool {
			if d.r != algorithms.Infinite || len(d.unsafe) == 0 {
				return false
			}
			d.unsafe = remove(d.unsafe, func(e unsafeLine) bool { return e.Rank == 0 })
			return true
		})},
		{"unsafe entry twice", "a value of a state has one", parts(func(d *draft) bool {
			i, ok := d.anyUnsafe(func(unsafeLine) bool { return true })
			if ok {
				d.unsafe = append(d.unsafe, d.unsafe[i])
				d.unsafe[len(d.unsafe)-1].Rank++
			}
			return ok
		})},
		{"unsafe entry for a safe state", "it is not true", parts(func(d *draft) bool {
			s, ok := d.any(len(d.j), d.isSafe)
			if ok {
				d.unsafe = append(d.unsafe, unsafeLine{d.named(s), d.cap, d.rng.IntN(1 << 20)})
			}
			return ok
		})},
		{"value too large", "J* is smaller", parts(func(d *draft) bool {
			i, ok := d.anyUnsafe(func(e unsafeLine) bool { return d.isSafe(number(e.Unsafe)) })
			if ok {
				d.unsafe[i].Value = d.j[number(d.unsafe[i].Unsafe)] + 1
				d.unsafe[i].Rank = 1 << 30
			}
			return ok
		})},
		{"value out of its range", "it is from 1 to r+1", parts(func(d *draft) bool {
			i, ok := d.anyUnsafe(func(unsafeLine) bool { return true })
			if ok {
				d.unsafe[i].Value = []int{0, -1, d.cap + 1, 1 << 62}[d.rng.IntN(4)]
			}
			return ok
		})},
		{"rank of an unsafe state", "it is 0", parts(func(d *draft) bool {
			i, ok := d.anyUnsafe(func(e unsafeLine) bool { return e.Rank == 0 })
			if ok {
				d.unsafe[i].Rank = 1 + d.rng.IntN(3)
			}
			return ok
		})},
		{"rank 0", "only unsafe states have it", parts(func(d *draft) bool {
			i, ok := d.anyUnsafe(func(e unsafeLine) bool { return e.Rank > 0 })
			if ok {
				d.unsafe[i].Rank = 0
			}
			return ok
		})},
		{"ranks that do not decrease", "an action leads to no unsafe state, so that it rests on an entry of the same rank", parts(func(d *draft) bool {
			_, ok := d.anyUnsafe(func(e unsafeLine) bool {
				s := number(e.Unsafe)
				if d.r != algorithms.Infinite || e.Rank == 0 {
					return false
				}
				_, found := d.any(d.actions(s), func(a int) bool {
					return !slices.ContainsFunc(d.outcomes(s, a), func(t engine.StateID) bool { return d.class(int(t)) == engine.ClassUnsafe })
				})
				return found
			})
			for i := range d.unsafe {
				d.unsafe[i].Rank = min(d.unsafe[i].Rank, 1)
			}
			return ok
		})},
		{"rank out of its range", "it is a whole number, not negative", parts(func(d *draft) bool {
			i, ok := d.anyUnsafe(func(unsafeLine) bool { return true })
			if ok {
				d.unsafe[i].Rank = []int{-1, 1 << 62}[d.rng.IntN(2)]
			}
			return ok
		})},
		{"safe and unsafe confused", "the kinds of entries have other members", replaceLine(func(d *draft, line string) string {
			if strings.HasPrefix(line, `{"safe"`) {
				return `{"un` + line[2:]
			}
			return strings.Replace(line, `{"unsafe"`, `{"safe"`, 1)
		})},
	}
}

// Spoilt certificates are rejected, every kind in many certificates. Each mutation says why
// what it makes is not valid; where that is because something is not true, the truth comes
// from the naive fixpoint.
func TestMutations(t *testing.T) {
	list := mutations()
	applied := make([]int, len(list))
	for seed := range systems(t, 150) {
		rng := rand.New(rand.NewPCG(seed, 1))
		sys := enginetest.Random(rng, enginetest.SmallConfig(rng))
		p := newProblem(t, sys, engine.ByLabel)
		for _, r := range radii {
			claims, j := verdicts(sys, r, rng.Perm(len(p.ids))[:min(4, len(p.ids))])
			var found []fault
			if rng.IntN(2) == 0 {
				found = p.faults(j, r)
			}
			text, err := p.certify(r, claims, found)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.verify(t, text); err != nil {
				t.Fatalf("seed %d, radius %s: before any mutation: %v", seed, r, err)
			}
			whole := takeApart(t, p, r, j, text)
			for i, m := range list {
				d := whole.clone(rng)
				if !m.spoil(d) {
					continue
				}
				applied[i]++
				_, err := p.verify(t, d.text)
				if err == nil {
					t.Fatalf("seed %d, radius %s: %s: accepted, although %s\n%s\nbefore:\n%s\n%s", seed, r, m.kind, m.why, d.text, text, p.text)
				}
				if e := (*jani.Error)(nil); !errors.As(err, &e) || e.Pos.Src == nil || e.Pos.Src.Name != "test" {
					t.Fatalf("seed %d, radius %s: %s: the error %v has no place", seed, r, m.kind, err)
				}
			}
		}
	}
	for i, m := range list {
		if applied[i] < 10 {
			t.Errorf("%s: applied %d times only", m.kind, applied[i])
		}
	}
	t.Logf("%d kinds, %v", len(list), applied)
}
