package engine

import (
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// registry stores packed states once each and numbers them: hash-consing.
//
//	chunks: [ state 0 | state 1 | … | state 511 ] [ state 512 | … ] …
//	table:  open addressing with linear probing, one 64-bit entry per slot:
//	        high half: lower half of the hash; low half: id + 1, or 0 if free
//
// The stored half of the hash makes nearly every comparison of states a match, and
// keeps lookups from touching other states. Equality always compares the words.
// Memory per state: 8 bytes per word, and 8 bytes at a load of ⅜ to ¾ for the table.
type registry struct {
	words  int
	count  uint32
	chunks [][]uint64
	table  []uint64
	shift  uint8 // slot of a hash: hash >> shift
}

const (
	chunkBits   = 9
	chunkStates = 1 << chunkBits
	// maxStates leaves identifiers for NoState and for id + 1.
	maxStates = 1<<32 - 2
)

func newRegistry(words, tableBits int) *registry {
	return &registry{words: words, table: make([]uint64, 1<<tableBits), shift: uint8(64 - tableBits)}
}

// at returns the words of state id; they must not be changed.
func (r *registry) at(id StateID) []uint64 {
	chunk := r.chunks[id>>chunkBits]
	i := int(id&(chunkStates-1)) * r.words
	return chunk[i : i+r.words : i+r.words]
}

func hashWords(w []uint64) uint64 {
	return xxhash.Sum64(unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), 8*len(w)))
}

// find returns the id of the state with words w, or NoState and the free slot where it
// belongs.
func (r *registry) find(w []uint64, hash uint64) (StateID, uint64) {
	mask := uint64(len(r.table) - 1)
	tag := hash << 32 // the slot comes from the other half
	for slot := hash >> r.shift; ; slot = (slot + 1) & mask {
		entry := r.table[slot]
		if entry == 0 {
			return NoState, slot
		}
		if entry&^(1<<32-1) != tag {
			continue
		}
		id := StateID(uint32(entry) - 1)
		if r.words == 1 {
			if r.chunks[id>>chunkBits][id&(chunkStates-1)] == w[0] {
				return id, slot
			}
		} else if equalWords(r.at(id), w) {
			return id, slot
		}
	}
}

func equalWords(a, b []uint64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// add stores w, which find did not find, in the given slot.
func (r *registry) add(w []uint64, hash, slot uint64) StateID {
	id := StateID(r.count)
	if int(id>>chunkBits) == len(r.chunks) {
		r.chunks = append(r.chunks, make([]uint64, chunkStates*r.words))
	}
	copy(r.at(id), w)
	r.count++
	r.table[slot] = hash<<32 | uint64(id+1)
	if uint64(r.count) > uint64(len(r.table))/4*3 {
		r.grow()
	}
	return id
}

// grow doubles the table. The slot of an entry needs more bits of the hash than the
// entry keeps, so states are hashed again, in the order in which they are stored.
func (r *registry) grow() {
	r.table = make([]uint64, 2*len(r.table))
	r.shift--
	mask := uint64(len(r.table) - 1)
	for id := StateID(0); uint32(id) < r.count; id++ {
		hash := hashWords(r.at(id))
		slot := hash >> r.shift
		for r.table[slot] != 0 {
			slot = (slot + 1) & mask
		}
		r.table[slot] = hash<<32 | uint64(id+1)
	}
}

// bytes returns the memory that states and table take.
func (r *registry) bytes() int64 {
	return int64(len(r.chunks))*chunkStates*int64(r.words)*8 + int64(len(r.table))*8
}
