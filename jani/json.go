package jani

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Limits bounds what the readers accept, so that a hostile or broken file ends in an
// error. Zero fields take their defaults.
type Limits struct {
	MaxBytes int // size of one file; default 512 MiB
	MaxDepth int // nesting of JSON values and of infix expressions; default 1000
}

func (l Limits) withDefaults() Limits {
	if l.MaxBytes == 0 {
		l.MaxBytes = 512 << 20
	}
	if l.MaxDepth == 0 {
		l.MaxDepth = 1000
	}
	return l
}

// CheckJSON reports the first defect that makes src something else than one JSON text
// as RFC 8259 defines it with unique keys: gjson, which reads the values afterwards,
// accepts almost anything. Linear in the size of the text.
func CheckJSON(src *Source, limits Limits) error {
	limits = limits.withDefaults()
	if len(src.Text) > limits.MaxBytes {
		return badInput(Pos{src, 0}, "the file has %d bytes, more than the limit of %d", len(src.Text), limits.MaxBytes)
	}
	s := scanner{src: src, text: src.Text, maxDepth: limits.MaxDepth}
	s.space()
	if s.at == len(s.text) {
		return s.fail(s.at, "the file is empty")
	}
	if err := s.values(); err != nil {
		return err
	}
	s.space()
	if s.at < len(s.text) {
		return s.fail(s.at, "text after the end of the JSON value")
	}
	return nil
}

// scanner checks JSON without building anything.
type scanner struct {
	src      *Source
	text     string
	at       int
	maxDepth int
	keys     []string // keys of all open objects, innermost last
	open     []level
}

// level is an open object or array; an object's keys start at keys in scanner.keys,
// and seen takes over from there once they are many.
type level struct {
	object bool
	filled bool // something has been read in it
	keys   int
	seen   map[string]bool
}

func (s *scanner) fail(at int, format string, args ...any) error {
	return badInput(Pos{s.src, int32(at)}, format, args...)
}

func (s *scanner) space() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\n' || s.text[s.at] == '\t' || s.text[s.at] == '\r') {
		s.at++
	}
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// values reads one value with everything in it; the open objects and arrays are on a
// stack of their own.
func (s *scanner) values() error {
	for {
		if err := s.value(); err != nil {
			return err
		}
		// A value is complete (or a container was just opened): go on behind it.
		for {
			if len(s.open) == 0 {
				return nil
			}
			s.space()
			top := &s.open[len(s.open)-1]
			closer := byte(']')
			if top.object {
				closer = '}'
			}
			switch c := s.peek(); {
			case c == closer:
				s.at++
				s.keys = s.keys[:top.keys]
				s.open = s.open[:len(s.open)-1]
				continue
			case !top.filled:
				top.filled = true
			case c == ',':
				s.at++
			case s.at == len(s.text):
				return s.fail(s.at, "the text ends inside an unfinished value: %q or ',' is missing; the file may be truncated", closer)
			default:
				r, _ := utf8.DecodeRuneInString(s.text[s.at:])
				return s.fail(s.at, "found %q where ',' or %q is expected", r, closer)
			}
			if top.object {
				if err := s.key(top); err != nil {
					return err
				}
			}
			break
		}
	}
}

func (s *scanner) key(top *level) error {
	s.space()
	start := s.at
	switch {
	case s.at == len(s.text):
		return s.fail(s.at, "the text ends where a key is expected; the file may be truncated")
	case s.peek() != '"':
		return s.fail(s.at, "a key in double quotes is expected")
	}
	if err := s.str(); err != nil {
		return err
	}
	key := s.text[start:s.at]
	if strings.Contains(key, `\`) {
		key = gjson.Parse(key).Str
	} else {
		key = key[1 : len(key)-1]
	}
	own := s.keys[top.keys:]
	const many = 12
	if len(own) == many {
		top.seen = make(map[string]bool)
		for _, k := range own {
			top.seen[k] = true
		}
	}
	duplicate := top.seen[key]
	if len(own) < many {
		for _, k := range own {
			duplicate = duplicate || k == key
		}
	} else {
		top.seen[key] = true
	}
	if duplicate {
		return s.fail(start, "duplicate key %q in one object", key)
	}
	s.keys = append(s.keys, key)
	s.space()
	if s.peek() != ':' {
		return s.fail(s.at, "':' is expected after key %q", key)
	}
	s.at++
	return nil
}

func (s *scanner) value() error {
	s.space()
	switch c := s.peek(); {
	case s.at == len(s.text):
		return s.fail(s.at, "the text ends where a value is expected; the file may be truncated")
	case c == '{' || c == '[':
		if len(s.open) == s.maxDepth {
			return s.fail(s.at, "values are nested deeper than the limit of %d", s.maxDepth)
		}
		s.at++
		s.open = append(s.open, level{object: c == '{', keys: len(s.keys)})
		return nil
	case c == '"':
		return s.str()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	default:
		for _, lit := range [...]string{"true", "false", "null"} {
			if strings.HasPrefix(s.text[s.at:], lit) {
				s.at += len(lit)
				return nil
			}
		}
		r, _ := utf8.DecodeRuneInString(s.text[s.at:])
		return s.fail(s.at, "found %q where a JSON value is expected", r)
	}
}

func (s *scanner) str() error {
	start := s.at
	for s.at++; s.at < len(s.text); {
		c := s.text[s.at]
		switch {
		case c == '"':
			s.at++
			return nil
		case c < ' ':
			return s.fail(s.at, "control character %U inside a string", c)
		case c == '\\':
			s.at++
			e := s.peek()
			if e == 'u' {
				if len(s.text) < s.at+5 {
					return s.fail(s.at, "the text ends inside an escape")
				}
				if _, err := strconv.ParseUint(s.text[s.at+1:s.at+5], 16, 16); err != nil {
					return s.fail(s.at, `\u needs four hexadecimal digits`)
				}
				s.at += 5
			} else if e != 0 && strings.IndexByte(`"\/bfnrt`, e) >= 0 {
				s.at++
			} else {
				return s.fail(s.at, "unknown escape in a string")
			}
		case c < utf8.RuneSelf:
			s.at++
		default:
			r, n := utf8.DecodeRuneInString(s.text[s.at:])
			if r == utf8.RuneError && n == 1 {
				return s.fail(s.at, "the byte %#x is not UTF-8", c)
			}
			s.at += n
		}
	}
	return s.fail(start, "a string is not closed; the file may be truncated")
}

func (s *scanner) number() error {
	start := s.at
	digits := func() bool {
		from := s.at
		for s.peek() >= '0' && s.peek() <= '9' {
			s.at++
		}
		return s.at > from
	}
	if s.peek() == '-' {
		s.at++
	}
	ok := true
	if s.peek() == '0' {
		s.at++
	} else {
		ok = digits()
	}
	if s.peek() == '.' {
		s.at++
		ok = digits() && ok
	}
	if s.peek() == 'e' || s.peek() == 'E' {
		s.at++
		if s.peek() == '+' || s.peek() == '-' {
			s.at++
		}
		ok = digits() && ok
	}
	if c := s.peek(); !ok || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		return s.fail(start, "malformed number")
	}
	return nil
}

// reader reads JSON values that CheckJSON has passed. It keeps the first error and
// returns zero values from then on, so that callers check once.
type reader struct {
	src      *Source
	err      error
	warnings []Warning
}

func (r *reader) pos(v gjson.Result) Pos { return Pos{r.src, int32(v.Index)} }

func (r *reader) fail(v gjson.Result, format string, args ...any) {
	if r.err == nil {
		r.err = badInput(r.pos(v), format, args...)
	}
}

func (r *reader) reject(v gjson.Result, format string, args ...any) {
	if r.err == nil {
		r.err = unsupported(r.pos(v), format, args...)
	}
}

func (r *reader) warn(p Pos, msg string) {
	r.warnings = append(r.warnings, Warning{Pos: p, Msg: msg})
}

// describe names the type of a value for error messages.
func describe(v gjson.Result) string {
	switch {
	case v.IsObject():
		return "an object"
	case v.IsArray():
		return "an array"
	case v.Type == gjson.String:
		return "the string " + strconv.Quote(v.Str)
	default:
		return v.Raw
	}
}

// object calls field for every member; field reports whether it knows the key.
// Unknown keys are warned about, but for comments and tool-private ones. The
// required keys must be there.
func (r *reader) object(v gjson.Result, what string, field func(key string, v gjson.Result) bool, required ...string) {
	if !v.IsObject() {
		r.fail(v, "%s must be an object, not %s", what, describe(v))
	}
	if r.err != nil {
		return
	}
	missing := append([]string(nil), required...)
	v.ForEach(func(k, m gjson.Result) bool {
		if i := index(missing, k.Str); i >= 0 {
			missing = append(missing[:i], missing[i+1:]...)
		}
		if !field(k.Str, m) && k.Str != "comment" && !strings.HasPrefix(k.Str, "x-") {
			r.warn(r.pos(k), "unknown key "+strconv.Quote(k.Str)+" in "+what+" is ignored")
		}
		return r.err == nil
	})
	if len(missing) > 0 {
		r.fail(v, "%s has no %q", what, missing[0])
	}
}

func index(list []string, s string) int {
	for i, x := range list {
		if x == s {
			return i
		}
	}
	return -1
}

// array calls item for every element.
func (r *reader) array(v gjson.Result, what string, item func(v gjson.Result)) {
	if !v.IsArray() {
		r.fail(v, "%s must be an array, not %s", what, describe(v))
	}
	if r.err != nil {
		return
	}
	v.ForEach(func(_, m gjson.Result) bool {
		item(m)
		return r.err == nil
	})
}

func (r *reader) str(v gjson.Result, what string) string {
	if v.Type != gjson.String {
		r.fail(v, "%s must be a string, not %s", what, describe(v))
	}
	return v.Str
}

func (r *reader) name(v gjson.Result, what string) Name {
	return Name{r.str(v, what), r.pos(v)}
}

func (r *reader) boolean(v gjson.Result, what string) bool {
	if v.Type != gjson.True && v.Type != gjson.False {
		r.fail(v, "%s must be true or false, not %s", what, describe(v))
	}
	return v.Type == gjson.True
}

func (r *reader) int(v gjson.Result, what string) int {
	n, err := strconv.Atoi(v.Raw)
	if err != nil {
		r.fail(v, "%s must be an integer, not %s", what, describe(v))
	}
	return n
}
