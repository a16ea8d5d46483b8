// Package lease is the edge's half of leases, as pure steps: line of a bucket that its owner has passed down, spent piece by piece in the edge's
// memory. It has no clock, no goroutine and no I/O: every step takes the time, by the edge's clock, read once inside the call that asks.
//
//	check at t, of length L on the line
//	  end = max(spent, t) + L
//	  end ≤ the lease's end, t + τ     admit: spent = end
//	  otherwise                        the next lease, or ask the owner
//
//	────────┬──────────────┬──────────────┬──────▶ line
//	        a     spent         left      b
//
// Whatever becomes of an edge, nobody gets more: pieces of line are disjoint, and each is spent from its own time on. What an edge loses is lost, until time
// has passed it.
package lease

import (
	"iter"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A Bucket is what an edge has of one bucket. One caller at a time.
type Bucket struct {
	rule *limit.Rule
	held []held // in the order in which they came, all of one generation
	last uint64 // number of the last ask
	open bool   // its answer has not come
}

// held is a lease, and up to where it is spent.
type held struct {
	limit.Lease
	at limit.Pos
}

// NewBucket is an edge's share of a bucket of rule, of which it has nothing yet.
func NewBucket(rule *limit.Rule) *Bucket { return &Bucket{rule: rule} }

// Ask begins to ask for a lease, and numbers it. What an earlier number is answered is too late from then on.
func (b *Bucket) Ask() (number uint64) {
	b.last++
	b.open = true
	return b.last
}

// Asking says whether a lease is on its way.
func (b *Bucket) Asking() bool { return b.open }

// Answer takes in what a number was answered, nil for no lease. It says whether that was the number that is open: an answer counts once, so that no
// line is held twice.
func (b *Bucket) Answer(number uint64, l *limit.Lease) bool {
	if !b.open || number != b.last {
		return false
	}
	if b.open = false; l == nil {
		return true
	}
	if len(b.held) > 0 && b.held[0].Generation != l.Generation { // the bucket was reset
		if b.held[0].Generation > l.Generation {
			return true
		}
		b.Drop()
	}
	b.held = append(b.held, held{Lease: *l, at: limit.At(l.Start)})
	return true
}

// Take spends the cost of a check at now, and says which line of which lease that was. It is not ok if no lease has as much.
func (b *Bucket) Take(now, cost int64) (piece limit.Receipt, ok bool) {
	b.expire(now)
	length := b.rule.Length(cost)
	for i := range b.held {
		h := &b.held[i]
		start := limit.Later(h.at, limit.At(b.rule.Begin(now)))
		if end := b.rule.Add(start, length); !end.After(limit.At(h.End)) && !end.After(b.rule.Bound(now)) {
			h.at = end
			piece = h.Receipt
			piece.Span = limit.Span{Start: start.NS, End: end.Ceil()}
			return piece, true
		}
	}
	return limit.Receipt{}, false
}

// Left is how many tokens can be taken at now, one by one.
func (b *Bucket) Left(now int64) (tokens int64) {
	for i := range b.held {
		if h := &b.held[i]; now < h.Until {
			bound := b.rule.Bound(now)
			if end := limit.At(h.End); bound.After(end) {
				bound = end
			}
			tokens += b.rule.TokensUpTo(bound, h.at, now)
		}
	}
	return tokens
}

// Clone is a copy that shares nothing with b.
func (b *Bucket) Clone() *Bucket {
	c := *b
	c.held = slices.Clone(b.held)
	return &c
}

// Held are the leases, and up to where each is spent.
func (b *Bucket) Held() iter.Seq2[limit.Lease, limit.Pos] {
	return func(yield func(limit.Lease, limit.Pos) bool) {
		for i := range b.held {
			if h := &b.held[i]; !yield(h.Lease, h.at) {
				return
			}
		}
	}
}

// A Tail is what an edge gives back of a lease: its line from From on.
type Tail struct {
	limit.Receipt
	From int64
}

// GiveBack takes what is left of all leases out of the edge's hands, for the owners to take back. It is gone, also where that fails.
func (b *Bucket) GiveBack(now int64) (tails []Tail) {
	b.expire(now)
	for i := range b.held {
		h := &b.held[i]
		if from := max(h.at.Ceil(), now); from < h.End {
			tails = append(tails, Tail{Receipt: h.Receipt, From: from})
		}
	}
	b.Drop()
	return tails
}

// Drop forgets all leases: the edge's clock may have been wrong, or the limit is another one.
func (b *Bucket) Drop() {
	clear(b.held)
	b.held = b.held[:0]
}

// expire forgets the leases that are over.
func (b *Bucket) expire(now int64) {
	b.held = slices.DeleteFunc(b.held, func(h held) bool { return now >= h.Until })
}
