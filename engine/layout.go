package engine

import (
	"math"
	"math/bits"

	"fuzzsafe/jani"
)

// Layout says where in a packed state each variable stands.
//
//	word 0                                                    word 1
//	┌────────┬───┬──────┬─────────────────────────┬────────┐ ┌──────────────────┐
//	│ x: 4   │b:1│ y: 7 │ …                       │ unused │ │ z: 64            │
//	└────────┴───┴──────┴─────────────────────────┴────────┘ └──────────────────┘
//
// A variable with bounds lo..hi takes the bits that hi−lo needs (none if they are
// equal) and is stored as its distance from lo; a real, an unbounded or a half-bounded
// integer takes a whole word and is stored as it is. No variable crosses a word. Each
// goes into the first word with room, in model order; unused bits are 0, so that
// states are equal iff their words are.
//
// Transient variables that assignments mention get fields too, in words behind those of the
// state: they exist only while a transition is made.
type Layout struct {
	words  int
	fields []field
	vars   int // fields of the state; the others are transient
	extra  int // words of the transient fields
}

// withTransients adds the transient variables of a model.
func (l *Layout) withTransients(vars []jani.Var) *Layout {
	l.vars = len(l.fields)
	if len(vars) == 0 {
		return l
	}
	t := newLayout(vars)
	for _, f := range t.fields {
		f.word += int32(l.words)
		l.fields = append(l.fields, f)
	}
	l.extra = t.words
	return l
}

// field is the place of one variable: its value is lo + (word >> shift) & mask.
type field struct {
	word  int32
	shift uint8
	width uint8
	mask  uint64 // width ones
	lo    int64
}

func newLayout(vars []jani.Var) *Layout {
	l := &Layout{fields: make([]field, len(vars)), vars: len(vars)}
	var used []int // bits per word
	for i := range vars {
		f := &l.fields[i]
		f.width = uint8(width(&vars[i]))
		if f.width < 64 {
			f.lo = vars[i].Lower
		}
		w := 0
		for w < len(used) && used[w]+int(f.width) > 64 {
			w++
		}
		if w == len(used) {
			used = append(used, 0)
		}
		f.word, f.shift, f.mask = int32(w), uint8(used[w]&63), 1<<f.width-1
		used[w] += int(f.width)
	}
	l.words = max(len(used), 1)
	return l
}

// width returns the bits that the values of x need.
func width(x *jani.Var) int {
	if x.Kind == jani.VarReal || x.Lower == math.MinInt64 || x.Upper == math.MaxInt64 {
		return 64
	}
	return bits.Len64(uint64(x.Upper) - uint64(x.Lower))
}

// Words returns the number of 64-bit words of a packed state.
func (l *Layout) Words() int { return l.words }

// Bits returns the number of bits that variable x takes.
func (l *Layout) Bits(x jani.VarID) int { return int(l.fields[x].width) }

// TotalBits returns the number of bits that all variables take together.
func (l *Layout) TotalBits() (n int) {
	for _, f := range l.fields[:l.vars] {
		n += int(f.width)
	}
	return n
}

func (f *field) get(w []uint64) int64 {
	return int64(w[f.word]>>f.shift&f.mask) + f.lo
}

func (f *field) set(w []uint64, v int64) {
	w[f.word] = w[f.word]&^(f.mask<<f.shift) | uint64(v-f.lo)<<f.shift
}

// pack writes values into w; they must be within the bounds of their variables.
func (l *Layout) pack(values []jani.Value, w []uint64) {
	for i := range values {
		l.fields[i].set(w, int64(values[i]))
	}
}

// unpack reads all values out of w.
func (l *Layout) unpack(w []uint64, values []jani.Value) {
	for i := range values {
		values[i] = jani.Value(l.fields[i].get(w))
	}
}
