package limit

import (
	"encoding/binary"
	"math"
)

// A queue is all that a bucket has admitted and that has not come back, of which line comes back one after the other. The zero queue is that
// of a bucket that was never used.
type queue struct {
	tat  Pos   // all of it has come back then
	each price // by which was admitted last: tat counts in its n-ths of a nanosecond
	mine bool  // the ledger's owner has written it
	at   int64 // of one that was stored in tokens: from when these come back; 0 of others
}

// lastTAT is the last position that a stored queue can reach. It lies behind those of all times that clocks will show.
const lastTAT = math.MaxInt64 - int64(MaxFill)

// append appends the queue as a ledger stores it.
func (q *queue) append(dst []byte) []byte {
	dst = q.each.append(binary.AppendUvarint(binary.AppendUvarint(dst, uint64(q.tat.NS)), q.tat.Frac))
	if q.mine {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// read reads what append has appended, which the reader itself has written or not.
func (q *queue) read(d *byteReader, own bool) bool {
	ns, parts := d.number(), d.number()
	known := q.each.read(d)
	mine := d.bytes(1)
	if !known || mine == nil || mine[0] > 1 || ns > uint64(lastTAT) || parts >= max(q.each.n, 1) {
		return false
	}
	q.tat, q.mine = Pos{NS: int64(ns), Frac: parts}, mine[0] == 1 && own
	return true
}
