package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A million lookups against a map, with every combination of words per state and
// initial table, some of them so small that they grow at once.
func TestRegistry(t *testing.T) {
	for _, c := range []struct {
		words, tableBits, lookups int
		values                    uint64 // per word; few values make many repetitions
	}{
		{1, 12, 1_000_000, 1 << 20},
		{1, 0, 100_000, 1 << 63},
		{1, 1, 1_000, 2},
		{2, 0, 200_000, 300},
		{3, 4, 100_000, 40},
		{7, 2, 20_000, 4},
	} {
		const seed = 1
		rng := rand.New(rand.NewPCG(seed, uint64(c.words)))
		r := newRegistry(c.words, c.tableBits)
		known := map[[7]uint64]StateID{}
		var states [][7]uint64
		for i := range c.lookups {
			var key [7]uint64
			for j := range c.words {
				key[j] = rng.Uint64N(c.values)
			}
			w := key[:c.words]
			hash := hashWords(w)
			id, slot := r.find(w, hash)
			want, ok := known[key]
			switch {
			case !ok && id != NoState:
				t.Fatalf("%+v, seed %d, lookup %d: new state %v is found as %d", c, seed, i, w, id)
			case ok && id != want:
				t.Fatalf("%+v, seed %d, lookup %d: state %v is %d, not %d", c, seed, i, w, id, want)
			case !ok:
				if id = r.add(w, hash, slot); id != StateID(len(states)) {
					t.Fatalf("%+v, seed %d: state number %d gets id %d", c, seed, len(states), id)
				}
				known[key] = id
				states = append(states, key)
			}
			if free := len(r.table) - int(r.count); free*4 < len(r.table) {
				t.Fatalf("%+v, seed %d: %d states in a table of %d slots", c, seed, r.count, len(r.table))
			}
		}
		for i, key := range states {
			if !slices.Equal(r.at(StateID(i)), key[:c.words]) {
				t.Fatalf("%+v, seed %d: state %d is %v, not %v", c, seed, i, r.at(StateID(i)), key[:c.words])
			}
		}
		chunks := (len(states) + chunkStates - 1) / chunkStates
		if want := int64(chunks*chunkStates*c.words+len(r.table)) * 8; r.bytes() != want {
			t.Errorf("%+v: %d bytes for %d states, want %d", c, r.bytes(), len(states), want)
		}
		t.Logf("%d words: %d states, %d slots", c.words, len(states), len(r.table))
	}
}

// States that agree in the half of the hash that the table keeps must stay apart.
func TestRegistryCollisions(t *testing.T) {
	const hash = 42
	r := newRegistry(2, 6)
	for i := range uint64(40) {
		w := []uint64{i / 7, i % 7}
		id, slot := r.find(w, hash)
		if id != NoState {
			t.Fatalf("state %v is found as %d", w, id)
		}
		r.add(w, hash, slot)
	}
	for i := range uint64(40) {
		if id, _ := r.find([]uint64{i / 7, i % 7}, hash); id != StateID(i) {
			t.Errorf("state %d is found as %d", i, id)
		}
	}
}

func TestArena(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	var a arena[uint32]
	var refs []uint32
	var want [][]uint32
	add := func(n int) {
		list := make([]uint32, n)
		for i := range list {
			list[i] = rng.Uint32()
		}
		ref := a.add(list)
		if ref == 0 || slices.Contains(refs, ref) {
			t.Fatalf("seed %d: list %d of length %d gets reference %d", seed, len(refs), n, ref)
		}
		refs, want = append(refs, ref), append(want, list)
	}
	for _, n := range []int{arenaChunk - 1, arenaChunk, 0, 5 * arenaChunk, 1, arenaChunk + 1, arenaChunk - 2, 0, 0} {
		add(n)
	}
	for range 500 {
		add(rng.IntN(100))
		if rng.IntN(50) == 0 {
			add(rng.IntN(3 * arenaChunk))
		}
	}
	for i, ref := range refs {
		if !slices.Equal(a.list(ref), want[i]) {
			t.Fatalf("seed %d: list %d of length %d is not what was stored", seed, i, len(want[i]))
		}
	}
	a.list(refs[2+7])[0]++ // elements may be changed, and no other list changes
	want[2+7][0]++
	for i, ref := range refs {
		if !slices.Equal(a.list(ref), want[i]) {
			t.Fatalf("seed %d: list %d has changed", seed, i)
		}
	}
}

// References run out at 2³² positions; the nil chunks of long lists count.
func TestArenaFull(t *testing.T) {
	a := arena[uint32]{chunks: make([][]uint32, 1<<(32-arenaBits)-2), used: arenaChunk}
	if ref := a.add(make([]uint32, arenaChunk)); ref != 0 {
		t.Errorf("a list of two chunks gets reference %d where one is left", ref)
	}
	ref := a.add([]uint32{7})
	if ref == 0 || a.list(ref)[0] != 7 {
		t.Fatalf("the last chunk is not used: reference %d", ref)
	}
	if ref := a.add(make([]uint32, arenaChunk-2)); ref != 0 {
		t.Errorf("a list beyond the last chunk gets reference %d", ref)
	}
}
