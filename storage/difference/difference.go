// Package difference says how one ledger becomes the next in few bytes, and makes the next one of that: a difference is the whole ledger,
// or nothing. It is pure, and takes time in proportion to the bytes that it is given.
//
// A difference names both ledgers by their sums. Whoever has the base makes the next ledger of it, whoever has the next one
// already sees that, and everyone else is told so and asks for the whole. Two ledgers with one sum, of 128 bits of SHA-256, are not known
// and cannot be looked for in 2⁶⁴ tries; and what was made is compared with the sum of what was meant, so a wrong base, changed
// bytes or a mistake of this package make nothing at all.
//
//	┌─────────────────┬─────────────────┬────────────────┐ ┌───────────────────┬────────────────────────┬──────────────────┐
//	│ sum of the base │ sum of the next │ how long the   │ │ keep so many      │ go on so much further  │ add so many,     │ …
//	│ 16 bytes        │ 16 bytes        │ next is: varint│ │ of the base       │ in it: one with a sign │ which follow     │
//	└─────────────────┴─────────────────┴────────────────┘ └───────────────────┴────────────────────────┴──────────────────┘
//
// Start with [Maker.Append] and [Apply].
package difference

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// A Sum stands for the bytes of a ledger.
type Sum [16]byte

// SumOf is the sum of a ledger; nil is an empty one.
func SumOf(ledger []byte) Sum {
	whole := sha256.Sum256(ledger)
	return Sum(whole[:len(Sum{})])
}

// A head is what a difference begins with.
type head struct {
	base, next Sum
	length     int // of the next ledger
}

// read reads the head, and what is left are the edits.
func (h *head) read(difference []byte) (edits []byte, ok bool) {
	sums := len(h.base) + len(h.next)
	if len(difference) <= sums {
		return nil, false
	}
	copy(h.next[:], difference[copy(h.base[:], difference):])
	length, n := binary.Uvarint(difference[sums:])
	if n <= 0 || length > math.MaxInt32 {
		return nil, false
	}
	h.length = int(length)
	return difference[sums+n:], true
}

// Length is how many bytes the ledger has that a difference makes; 0 if it is none.
func Length(difference []byte) int {
	var h head
	if _, ok := h.read(difference); !ok {
		return 0
	}
	return h.length
}

// Apply makes of a ledger the next one, which has at most that many bytes. It is false if the ledger is another one than the difference
// was made from, or the difference is none. What it returns may be base itself.
func Apply(base, difference []byte, most int) (next []byte, ok bool) {
	var h head
	edits, ok := h.read(difference)
	if !ok || h.length > most {
		return nil, false
	}
	switch SumOf(base) {
	case h.next:
		return base, true
	case h.base:
		next, ok = apply(base, edits, h.length)
		return next, ok && SumOf(next) == h.next
	}
	return nil, false
}

// apply carries out edits. What they make has at most that many bytes.
func apply(base, edits []byte, most int) (next []byte, ok bool) {
	next = make([]byte, 0, most)
	for at := 0; len(edits) > 0; {
		keep, a := binary.Uvarint(edits)
		further, b := binary.Varint(edits[max(a, 0):])
		add, c := binary.Uvarint(edits[max(a, 0)+max(b, 0):])
		if a <= 0 || b <= 0 || c <= 0 {
			return nil, false
		}
		edits = edits[a+b+c:]
		if keep > uint64(len(base)-at) || add > uint64(len(edits)) || keep+add > uint64(most-len(next)) {
			return nil, false
		}
		next = append(append(next, base[at:at+int(keep)]...), edits[:add]...)
		at, edits = at+int(keep), edits[add:]
		if further < int64(-at) || further > int64(len(base)-at) {
			return nil, false
		}
		at += int(further)
	}
	return next, true
}
