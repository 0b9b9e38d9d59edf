package engine

// arena stores lists of one element type back to back in chunks that never move:
//
//	chunk: [ n | n elements | m | m elements | … ]
//
// The reference of a list is the position of its length, plus 1, so that 0 means "no
// list". A list never crosses chunks; one that is longer than a chunk gets a chunk of its
// own size and uses up the positions that it covers.
type arena[T ~uint32] struct {
	chunks [][]T
	used   int // of the last chunk
}

const (
	arenaBits  = 10
	arenaChunk = 1 << arenaBits
)

// add stores a copy of list and returns its reference, 0 if the references are used up.
func (a *arena[T]) add(list []T) uint32 {
	size := len(list) + 1
	if a.used+size > arenaChunk || len(a.chunks) == 0 {
		covered := (size + arenaChunk - 1) / arenaChunk
		if len(a.chunks)+covered >= 1<<(32-arenaBits) {
			return 0
		}
		a.chunks = append(a.chunks, make([]T, max(arenaChunk, size)))
		a.used = 0
		if covered > 1 {
			first := len(a.chunks) - 1
			a.chunks = append(a.chunks, make([][]T, covered-1)...)
			a.used = arenaChunk
			return a.put(first, 0, list)
		}
	}
	a.used += size
	return a.put(len(a.chunks)-1, a.used-size, list)
}

func (a *arena[T]) put(chunk, at int, list []T) uint32 {
	a.chunks[chunk][at] = T(len(list))
	copy(a.chunks[chunk][at+1:], list)
	return uint32(chunk<<arenaBits|at) + 1
}

// list returns the list of a reference; its elements may be changed.
func (a *arena[T]) list(ref uint32) []T {
	ref--
	chunk, at := a.chunks[ref>>arenaBits], int(ref&(arenaChunk-1))
	n := int(chunk[at])
	return chunk[at+1 : at+1+n : at+1+n]
}
