package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fuzzsafe/jani"
)

func intVar(lo, hi int64) jani.Var { return jani.Var{Kind: jani.VarInt, Lower: lo, Upper: hi} }

func TestLayoutWidths(t *testing.T) {
	const lo, hi = math.MinInt64, math.MaxInt64
	for _, c := range []struct {
		v    jani.Var
		bits int
	}{
		{jani.Var{Kind: jani.VarBool, Upper: 1}, 1},
		{jani.Var{Kind: jani.VarLocation, Upper: 0}, 0},
		{jani.Var{Kind: jani.VarLocation, Upper: 4}, 3},
		{jani.Var{Kind: jani.VarReal, RealLower: 0, RealUpper: 1}, 64},
		{intVar(7, 7), 0},
		{intVar(-3, 4), 3},
		{intVar(-3, 5), 4},
		{intVar(0, 1<<32-1), 32},
		{intVar(0, 1<<32), 33},
		{intVar(lo, hi), 64},
		{intVar(lo, 0), 64},
		{intVar(0, hi), 64},
		{intVar(lo+1, hi-1), 64},
		{intVar(lo+1, 0), 63},
		{intVar(hi-2, hi-1), 1},
	} {
		l := newLayout([]jani.Var{c.v})
		if l.Bits(0) != c.bits || l.TotalBits() != c.bits || l.Words() != 1 {
			t.Errorf("%v %d to %d: %d bits, %d words, want %d bits", c.v.Kind, c.v.Lower, c.v.Upper, l.Bits(0), l.Words(), c.bits)
		}
	}
	// No variable crosses a word; a small one fills what a large one has left.
	l := newLayout([]jani.Var{intVar(0, 1<<40-1), intVar(0, 1<<40-1), intVar(0, 1<<24-1), intVar(0, 1<<24-1), intVar(5, 5)})
	if l.Words() != 2 || l.TotalBits() != 128 {
		t.Errorf("%d words for %d bits", l.Words(), l.TotalBits())
	}
}

// Values at and between the bounds come back; equal states have equal words, whatever
// the words held before; writing one field changes no other.
func TestLayoutRoundTrip(t *testing.T) {
	const seed = 1
	for i := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, i))
		var vars []jani.Var
		for range 1 + rng.IntN(12) {
			lo := int64(rng.Uint64()) >> rng.IntN(64)
			hi := int64(rng.Uint64()) >> rng.IntN(64)
			switch rng.IntN(6) {
			case 0:
				vars = append(vars, jani.Var{Kind: jani.VarReal, RealLower: math.Inf(-1), RealUpper: math.Inf(1)})
			case 1:
				vars = append(vars, jani.Var{Kind: jani.VarBool, Upper: 1})
			case 2:
				vars = append(vars, intVar(lo, lo))
			case 3:
				vars = append(vars, intVar(math.MinInt64, hi))
			default:
				vars = append(vars, intVar(min(lo, hi), max(lo, hi)))
			}
		}
		draw := func() []jani.Value {
			values := make([]jani.Value, len(vars))
			for k, x := range vars {
				switch {
				case x.Kind == jani.VarReal:
					values[k] = jani.RealValue([]float64{0, -1.5, math.MaxFloat64, rng.NormFloat64()}[rng.IntN(4)])
				case rng.IntN(3) == 0:
					values[k] = jani.Value(x.Lower)
				case rng.IntN(2) == 0:
					values[k] = jani.Value(x.Upper)
				default:
					values[k] = jani.Value(uint64(x.Lower) + rng.Uint64N(max(uint64(x.Upper)-uint64(x.Lower), 1)))
				}
			}
			return values
		}
		l := newLayout(vars)
		for range 20 {
			values, other := draw(), draw()
			w, dirty := make([]uint64, l.Words()), make([]uint64, l.Words())
			l.pack(values, w)
			l.pack(other, dirty)
			l.pack(values, dirty)
			back := make([]jani.Value, len(vars))
			l.unpack(w, back)
			if !slices.Equal(back, values) || !slices.Equal(w, dirty) {
				t.Fatalf("seed %d, layout %d: %v comes back as %v, words %x and %x", seed, i, values, back, w, dirty)
			}
			k := rng.IntN(len(vars))
			l.fields[k].set(w, int64(other[k]))
			values[k] = other[k]
			if l.unpack(w, back); !slices.Equal(back, values) {
				t.Fatalf("seed %d, layout %d: writing variable %d makes %v of %v", seed, i, k, back, values)
			}
		}
	}
}
