package jani

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheckJSON(t *testing.T) {
	many := func(n int, last string) string { // an object with n keys and a last one
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		return "{" + b.String() + last + ":0}"
	}
	for _, c := range []struct {
		text, want string // line:col: message, "" if there is no defect
	}{
		{`{}`, ""},
		{` [ ] `, ""},
		{"\t\r\n{\"a\" : [1, -2.5e+3, true, false, null, \"ü\\n\\u00e4\\\\\"], \"b\":{\"a\":0}}\n", ""},
		{`0`, ""}, {`-0.0E-1`, ""}, {`"x"`, ""}, {`null`, ""},
		{`["\ud800", "\ud83d\ude00"]`, ""},
		{many(30, `"last"`), ""},
		{`[{"a":1},{"a":1}]`, ""},
		{`{"a":{"a":{"a":1}}}`, ""},

		{``, "1:1: the file is empty"},
		{" \n ", "2:2: the file is empty"},
		{`{} x`, "1:4: text after the end of the JSON value"},
		{"1\n2", "2:1: text after the end of the JSON value"},
		{`{"a":1`, `1:7: the text ends inside an unfinished value: '}' or ',' is missing; the file may be truncated`},
		{"[[1],\n [2", `2:4: the text ends inside an unfinished value: ']' or ',' is missing; the file may be truncated`},
		{`{"a":`, `1:6: the text ends where a value is expected; the file may be truncated`},
		{`[`, `1:2: the text ends where a value is expected; the file may be truncated`},
		{`["abc`, `1:2: a string is not closed; the file may be truncated`},
		{`{`, `1:2: the text ends where a key is expected; the file may be truncated`},
		{`{]`, `1:2: a key in double quotes is expected`},
		{`{"a":1,}`, `1:8: a key in double quotes is expected`},
		{`{a:1}`, `1:2: a key in double quotes is expected`},
		{`{"a" 1}`, `1:6: ':' is expected after key "a"`},
		{`{"a":1 "b":2}`, `1:8: found '"' where ',' or '}' is expected`},
		{`[1 2]`, `1:4: found '2' where ',' or ']' is expected`},
		{`[1)`, `1:3: found ')' where ',' or ']' is expected`},
		{`[1}`, `1:3: found '}' where ',' or ']' is expected`},
		{`[1∧2]`, `1:3: found '∧' where ',' or ']' is expected`},
		{`[1,]`, `1:4: found ']' where a JSON value is expected`},
		{`[∧]`, `1:2: found '∧' where a JSON value is expected`},
		{`[True]`, `1:2: found 'T' where a JSON value is expected`},
		{`[nul]`, `1:2: found 'n' where a JSON value is expected`},
		{`[truex]`, `1:6: found 'x' where ',' or ']' is expected`},
		{`['a']`, `1:2: found '\'' where a JSON value is expected`},
		{`{"ä":1,"ä":2}`, `1:8: duplicate key "ä" in one object`},
		{`{"a":1,"b":[{"c":1}],"a":2}`, `1:22: duplicate key "a" in one object`},
		{`{"a":1,"\u0061":2}`, `1:8: duplicate key "a" in one object`},
		{many(30, `"k0"`), `1:252: duplicate key "k0" in one object`},
		{many(30, `"k29"`), `1:252: duplicate key "k29" in one object`},
		{many(12, `"k11"`), `1:90: duplicate key "k11" in one object`},
		{many(11, `"k3"`), `1:81: duplicate key "k3" in one object`},
		{`[01]`, `1:2: malformed number`},
		{`[-]`, `1:2: malformed number`},
		{`[1.]`, `1:2: malformed number`},
		{`[1.e5]`, `1:2: malformed number`},
		{`[1e]`, `1:2: malformed number`},
		{`[1e+]`, `1:2: malformed number`},
		{`[1x]`, `1:2: malformed number`},
		{`[+1]`, `1:2: found '+' where a JSON value is expected`},
		{`[.5]`, `1:2: found '.' where a JSON value is expected`},
		{"[\"a\nb\"]", `1:4: control character U+000A inside a string`},
		{"[\"a\x00\"]", `1:4: control character U+0000 inside a string`},
		{"[\x00]", `1:2: found '\x00' where a JSON value is expected`},
		{`["\x"]`, `1:4: unknown escape in a string`},
		{`["\`, `1:4: unknown escape in a string`},
		{`["\u12g4"]`, `1:4: \u needs four hexadecimal digits`},
		{`["\u+123"]`, `1:4: \u needs four hexadecimal digits`},
		{`["\u12`, `1:4: the text ends inside an escape`},
		{"[\"\xff\"]", `1:3: the byte 0xff is not UTF-8`},
		{"[\"\xe2\x88\"]", `1:3: the byte 0xe2 is not UTF-8`},
	} {
		got := ""
		if err := CheckJSON(&Source{Name: "f", Text: c.text}, Limits{}); err != nil {
			got = strings.TrimPrefix(err.Error(), "f:")
		}
		if got != c.want {
			t.Errorf("%q:\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestCheckJSONLimits(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		text   string
		limits Limits
		want   string
	}{
		{nested(1000), Limits{}, ""},
		{nested(1001), Limits{}, "f:1:1001: values are nested deeper than the limit of 1000"},
		{strings.Repeat(`{"a":`, 3) + "0" + strings.Repeat("}", 3), Limits{MaxDepth: 3}, ""},
		{strings.Repeat(`{"a":`, 3) + "[]" + strings.Repeat("}", 3), Limits{MaxDepth: 3}, "f:1:16: values are nested deeper than the limit of 3"},
		{"[1,2]", Limits{MaxBytes: 5}, ""},
		{"[1,2] ", Limits{MaxBytes: 5}, "f:1:1: the file has 6 bytes, more than the limit of 5"},
	} {
		got := ""
		if err := CheckJSON(&Source{Name: "f", Text: c.text}, c.limits); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%.20q…, %+v: got %q, want %q", c.text, c.limits, got, c.want)
		}
	}
}

// standard reports whether the standard library takes text as one JSON value, without
// repeated keys in an object.
func standard(text string) bool {
	if !utf8.ValidString(text) || !json.Valid([]byte(text)) {
		return false
	}
	dec := json.NewDecoder(strings.NewReader(text))
	type object struct {
		keys map[string]bool // nil for an array
		key  bool            // a key comes next
	}
	var open []object
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return true
		}
		top := len(open) - 1
		if key, ok := token.(string); ok && top >= 0 && open[top].key {
			if open[top].keys[key] {
				return false
			}
			open[top].keys[key], open[top].key = true, false
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, object{map[string]bool{}, true})
			continue
		case json.Delim('['):
			open = append(open, object{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:top]
		}
		if top = len(open) - 1; top >= 0 {
			open[top].key = open[top].keys != nil
		}
	}
}

// What is accepted is what the standard library accepts, on many damaged texts. (Keys
// with lone surrogates are left out: which of them are equal is a matter of taste.)
func TestCheckJSONAgainstStandardLibrary(t *testing.T) {
	base := []string{
		`{"a":1,"b":[true,false,null],"c":{"a":"x\ny","":-1.5e+10}}`,
		`[{"op":"∧","left":"x","right":{"op":"≤","left":0.25,"right":1}}]`,
		`{"\u0061":1,"b":2,"\u00e4":[],"ä ":{}}`,
		"\n[ 0 , -0 , 1E9 ,\t\"\\\\\\\"\\/\" ]\r",
	}
	parts := []string{`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, `0`, `1`, `-`, `+`, `.`, `e`, `E`, `t`, `true`, `null`, ` `, "\n", "\x00", "\x1f", "\x80",
		"\xe2\x88\xa7", `\u0061`, `\u00`, `\n`, `"a":`, `"a"`, `"b":1`, `,"c":0`, `/`, "\u2028", "\ufeff"}
	const seed = 1
	accepted := 0
	for i := range uint64(100_000) {
		rng := rand.New(rand.NewPCG(seed, i))
		text := base[rng.IntN(len(base))]
		for range 1 + rng.IntN(3) {
			from := rng.IntN(len(text) + 1)
			to := min(from+rng.IntN(4)/2, len(text))
			part := parts[rng.IntN(len(parts))]
			switch rng.IntN(4) {
			case 0: // drop
				part = ""
			case 1: // repeat a piece of the text
				other := rng.IntN(len(text) + 1)
				part = text[other:min(other+rng.IntN(8), len(text))]
			}
			text = text[:from] + part + text[to:]
		}
		want := standard(text)
		err := CheckJSON(&Source{Text: text}, Limits{})
		if (err == nil) != want {
			t.Fatalf("seed %d, text %d: %q is accepted: %v by the standard library; error %v", seed, i, text, want, err)
		}
		accepted += btoi(want)
	}
	if accepted < 5000 || accepted > 95_000 {
		t.Errorf("%d of 100,000 texts are accepted", accepted)
	}
}
