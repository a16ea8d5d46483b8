package owner

import (
	"unsafe"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The sizes of what an owner allocates, in bytes.
const (
	crowdBytes   = int64(unsafe.Sizeof(overflow{}))
	waiterBytes  = int64(unsafe.Sizeof(waiter{}))
	bucketBytes  = int64(unsafe.Sizeof(bucket{}))
	extraBytes   = int64(unsafe.Sizeof(extra{}))
	talkBytes    = int64(unsafe.Sizeof(replication{}))
	refusalBytes = int64(unsafe.Sizeof(refusal{}))
	returnsBytes = int64(unsafe.Sizeof(returns{}))
	madeBytes    = int64(unsafe.Sizeof(made{}))
	pieceBytes   = int64(unsafe.Sizeof(piece{}))
	pointerBytes = int64(unsafe.Sizeof(uintptr(0)))
	ledgerBytes  = int64(unsafe.Sizeof(ledger{})) + 2*int64(unsafe.Sizeof(limit.Ledger{}))
	closesBytes  = int64(unsafe.Sizeof(penalties{}))
	passedBytes  = int64(unsafe.Sizeof(passed{})) + limit.MaxEdge

	passedDownBytes = int64(unsafe.Sizeof(passedDown{}))
	reportersBytes  = int64(unsafe.Sizeof(reporters{}))
	reporterBytes   = int64(unsafe.Sizeof(reporter{}))
	roomBytes       = int64(unsafe.Sizeof(room{}))

	// With what a map takes for itself, and for each of its entries.
	lineHoldsBytes = int64(unsafe.Sizeof(lineHolds{})) + 48
	lineHoldBytes  = int64(unsafe.Sizeof(lineHold{})) + 16 + 2*8
)

// Bytes is about how much memory the owner holds besides the Owner itself. Stored rules are not its own. It costs a few
// nanoseconds for each of its buckets.
func (o *Owner) Bytes() int64 {
	n := o.bucket.bytes()
	c := o.overflow
	if c == nil {
		return n
	}
	n += crowdBytes + int64(cap(c.items))*waiterBytes + int64(cap(c.buckets))*pointerBytes
	for _, b := range c.buckets {
		n += bucketBytes + b.bytes()
	}
	return n
}

// bytes is what the bucket holds besides itself.
func (b *bucket) bytes() int64 {
	n := int64(0)
	if b.rule != nil {
		n = b.rule.Bytes()
	}
	x := b.extra
	if x == nil {
		return n
	}
	n += extraBytes
	if t := x.replication; t != nil {
		n += talkBytes
		if t.refused != nil {
			n += refusalBytes
		}
	}
	if l := x.ledger; l != nil {
		n += l.bytes()
	}
	n += x.holds.bytes()
	if p := x.leases; p != nil {
		n += passedDownBytes + int64(cap(p.all))*passedBytes
	}
	if rs := x.reporters; rs != nil {
		n += reportersBytes + int64(cap(rs.all))*reporterBytes
	}
	if r := x.returns; r != nil {
		n += returnsBytes + int64(cap(r.made))*madeBytes + int64(cap(r.free)+r.reuses)*pieceBytes
	}
	return n
}

// bytes is what the ledger takes.
func (l *ledger) bytes() int64 {
	n := ledgerBytes + l.Bytes() + roomBytes*int64(cap(l.rooms)+cap(l.taken)) + int64(len(l.told))
	if l.written != nil {
		n += l.written.Bytes()
	}
	if l.spare != nil {
		n += l.spare.Bytes()
	}
	if l.penalties != nil {
		n += closesBytes
	}
	return n
}

// bytes is about how much memory the holds take.
func (hs *lineHolds) bytes() int64 {
	if hs == nil {
		return 0
	}
	return lineHoldsBytes + lineHoldBytes*int64(len(hs.byID)+len(hs.spare)) + pieceBytes*int64(hs.reuses) +
		hs.settled.bytes() + hs.numbers.Bytes()
}

// ForgetReturns forgets all receipts and all line that was given back, which makes the key stricter: a return of what it
// has admitted so far takes no effect, and what came back is not spent again. It says of how many buckets.
func (o *Owner) ForgetReturns() (forgotten int) {
	for i := range o.size() {
		if b := o.at(i); b.returns() != nil {
			b.forgetReturns()
			b.spare()
			forgotten++
		}
	}
	return forgotten
}

// HoldsGiveBack says whether a settlement at now could give back something that only the owner remembers. Without the owner, it stays charged.
func (o *Owner) HoldsGiveBack(now int64) bool {
	for i := range o.size() {
		if o.at(i).lineHolds().giveBack(now) {
			return true
		}
	}
	return false
}

// Knows says whether the owner has the bucket of every rule.
func (o *Owner) Knows(rules []*limit.Rule) bool {
	for _, rule := range rules {
		if o.find(rule.Name) == nil {
			return false
		}
	}
	return true
}

// Tidy forgets the buckets besides the first that lose nothing by it, unless checks wait. It says how many are left.
func (o *Owner) Tidy(now int64) (left int) {
	if c := o.overflow; c != nil && c.len() == 0 {
		o.forgetIdle(now)
	}
	return o.size()
}
