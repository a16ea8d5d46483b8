package actor

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
)

// nonces draws numbers that no caller can predict: bits of crypto/rand, many at a time, each used once. Several goroutines may
// draw at once. Bits that wait are never copied, and a batch belongs to one goroutine at a time.
type nonces struct{ batches sync.Pool }

// A batch is what one read of crypto/rand gives.
type batch struct {
	bits [512]byte
	used int
}

// next draws a number. It panics where the operating system has no randomness, as crypto/rand does.
func (n *nonces) next() uint64 {
	b, ok := n.batches.Get().(*batch)
	if !ok {
		b = &batch{used: len(batch{}.bits)}
	}
	if b.used == len(b.bits) {
		_, _ = rand.Read(b.bits[:]) // it never fails: see crypto/rand
		b.used = 0
	}
	drawn := binary.LittleEndian.Uint64(b.bits[b.used:])
	clear(b.bits[b.used : b.used+8])
	b.used += 8
	n.batches.Put(b)
	return drawn
}
