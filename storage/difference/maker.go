package difference

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const (
	// window is how many bytes must be alike for what follows to count as kept: more than an edit takes.
	window = 8
	// every is how far apart the windows of the base are that are looked up: among window+every−1 bytes that stay there is one.
	every = 4
	// maxIndexed is how many bytes of a base are looked through. Ledgers are shorter.
	maxIndexed = every * math.MaxUint16
)

// A Maker makes differences, one after another. The zero Maker is ready to be used.
type Maker struct {
	index []uint16 // by the hash of a window of the base: 1 + its place / every; 0 for none
}

// Append appends what turns base, of which this is the sum, into next. It is about as long as next where the two have little in common.
func (m *Maker) Append(dst, base []byte, sum Sum, next []byte, to Sum) []byte {
	dst = binary.AppendUvarint(append(append(dst, sum[:]...), to[:]...), uint64(len(next)))
	for at, from := 0, 0; from < len(next); {
		keep := alike(base[at:], next[from:])
		if at, from = at+keep, from+keep; from == keep {
			m.indexBase(base)
		}
		met, upTo := m.meet(base, next, at, from)
		dst = binary.AppendUvarint(dst, uint64(keep))
		dst = binary.AppendVarint(dst, int64(met-at))
		dst = binary.AppendUvarint(dst, uint64(upTo-from))
		dst = append(dst, next[from:upTo]...)
		at, from = met, upTo
	}
	return dst
}

// alike is how many bytes a and b begin with that are the same.
func alike(a, b []byte) int {
	n := 0
	for ; len(a)-n >= 8 && len(b)-n >= 8; n += 8 {
		if other := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); other != 0 {
			return n + bits.TrailingZeros64(other)/8
		}
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// meet is where base and next go on alike, behind places at which they differ, or where next ends.
func (m *Maker) meet(base, next []byte, at, from int) (met, upTo int) {
	for j := from; j+window <= len(next); j++ {
		if p, ok := m.find(base, binary.LittleEndian.Uint64(next[j:]), at+j-from); ok {
			for p > 0 && j > from && base[p-1] == next[j-1] {
				p, j = p-1, j-1
			}
			return p, j
		}
	}
	return at, len(next)
}

// find is a place of base with the bytes of a window. It is likely straight ahead, where bytes have changed and none have come or gone.
// Otherwise the first one that is known will do: where it was the wrong one, what follows is soon looked for again.
func (m *Maker) find(base []byte, wanted uint64, ahead int) (p int, ok bool) {
	if ahead+window <= len(base) && binary.LittleEndian.Uint64(base[ahead:]) == wanted {
		return ahead, true
	}
	p = (int(m.index[m.place(wanted)]) - 1) * every
	return p, p >= 0 && binary.LittleEndian.Uint64(base[p:]) == wanted
}

// indexBase makes the index. Of windows that are the same the first one counts.
func (m *Maker) indexBase(base []byte) {
	whole := min(len(base), maxIndexed)
	size := 1 << bits.Len(uint(whole/every)|15)
	if size > cap(m.index) {
		m.index = make([]uint16, size)
	}
	m.index = m.index[:size]
	clear(m.index)
	for p := (whole - window) / every * every; p >= 0 && whole >= window; p -= every {
		m.index[m.place(binary.LittleEndian.Uint64(base[p:]))] = uint16(p/every + 1)
	}
}

// place is where a window stands in the index.
func (m *Maker) place(w uint64) uint64 {
	return w * 0x9E3779B97F4A7C15 >> (64 - bits.Len(uint(len(m.index)-1)))
}
