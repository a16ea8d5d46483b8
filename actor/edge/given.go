package edge

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/jeton-dev/jeton/actor/lease"
)

const (
	placeBits = 10
	// maxGiven is how many receipts a shard remembers.
	maxGiven = 1 << placeBits
	// tries is how many of the oldest receipts are looked at for one that is of no use any more.
	tries = 8
)

// given are pieces that were spent and may come back by their receipts: in a ring, in which a new one takes the place of one that time has brought back, or
// otherwise of the oldest. A serial tells the place. The zero value has none.
type given struct {
	ring []spent
	next int // the oldest, but for those that were passed over
}

// spent is a piece of a share that may come back.
type spent struct {
	serial uint64
	share  *share // nil: it has come back
	piece  lease.Piece
}

func (p *spent) over(now int64) bool {
	return p.share == nil || p.share.gone || p.piece.Over(p.share.Rule(), now)
}

// add remembers a piece, and is the serial by which it comes back. It cannot be guessed.
func (g *given) add(s *share, piece lease.Piece, now int64) (serial uint64) {
	at := g.room(now)
	serial = (number()|1)<<placeBits | uint64(at)
	g.ring[at] = spent{serial, s, piece}
	return serial
}

// room is a place for the newest.
func (g *given) room(now int64) int {
	n := len(g.ring)
	for i := range min(tries, n) {
		if at := (g.next + i) % n; g.ring[at].over(now) {
			g.next = at + 1
			return at
		}
	}
	if n == maxGiven {
		at := g.next % n
		g.next = at + 1
		return at
	}
	if n == cap(g.ring) {
		ring := make([]spent, n, min(max(2*n, tries), maxGiven))
		copy(ring, g.ring)
		g.ring = ring
	}
	g.ring = g.ring[:n+1]
	return n
}

// take is what was given by a serial, once; its share is nil if there is nothing.
func (g *given) take(serial uint64) (p spent) {
	at := int(serial % maxGiven)
	if at >= len(g.ring) || g.ring[at].serial != serial {
		return spent{}
	}
	p, g.ring[at] = g.ring[at], spent{}
	return p
}

// number is one that cannot be guessed.
func number() uint64 {
	var bits [8]byte
	_, _ = rand.Read(bits[:]) // it never fails
	return max(binary.LittleEndian.Uint64(bits[:]), 1)
}
