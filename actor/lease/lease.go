// Package lease is what an edge keeps of buckets, as pure steps. A [Share] is line that the owner of a bucket has passed down, spent piece by piece in the edge's
// memory; a [Counted] is what the edge has heard of a bucket and admitted since; an [Own] is a bucket that is the edge's alone. The package has no clock, no goroutine and no I/O: every step takes the time, by the edge's clock, read once inside the call that asks.
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
	held []held // the first one that has enough is spent
	last uint64 // number of the last ask
	open bool   // its answer has not come
}

// held is line of a lease, which is spent up to at.
type held struct {
	lease   *limit.Lease // does not change
	at, end limit.Pos
	back    bool // it is a piece that came back, and not the end of the lease
}

// A Piece is line that was spent.
type Piece struct {
	*limit.Lease            // of which it is; one without an end where there is none; nil for no piece
	Span         limit.Span // where it lies
	Cost         int64      // in tokens

	start, end limit.Pos   // exactly
	rule       *limit.Rule // by which it was spent, of a bucket that may go on under another one; nil for other buckets
	moved      int         // of an Own: how many pieces had come back when it was spent
}

// at is where a piece lies, to be taken back under a rule: one of whole nanoseconds within it, if it was spent by another one.
func (p *Piece) at(r *limit.Rule) (start, end limit.Pos) {
	if r.Same(p.rule) {
		return p.start, p.end
	}
	return limit.At(p.start.Ceil()), limit.At(p.end.NS)
}

// MaxBack is how many pieces that came back an edge keeps of a bucket, besides those that it could put together. More are lost.
const MaxBack = 64

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

// Answer takes in what a number was answered, nil for no lease; the lease is not to be changed any more. It says whether that was the number that is open: an answer counts once, so that no
// line is held twice.
func (b *Bucket) Answer(number uint64, l *limit.Lease) bool {
	if !b.open || number != b.last {
		return false
	}
	if b.open = false; l == nil {
		return true
	}
	if len(b.held) > 0 {
		b.expire(l.Now)
	}
	if len(b.held) > 0 && b.held[0].lease.Generation != l.Generation { // the bucket was reset
		if b.held[0].lease.Generation > l.Generation {
			return true
		}
		b.Drop()
	}
	b.held = append(b.held, held{lease: l, at: limit.At(l.Start), end: limit.At(l.End)})
	return true
}

// Take spends the cost of a check at now, and says which line of which lease that was. It is not ok if no lease has as much.
func (b *Bucket) Take(now, cost int64) (piece Piece, ok bool) {
	length := b.rule.Length(cost)
	for i := range b.held {
		h := &b.held[i]
		start, end, fits := h.fit(b.rule, now, length)
		if !fits {
			continue
		}
		h.at = end
		return pieceOf(h.lease, start, end, cost), true
	}
	return Piece{}, false
}

// Has says whether Take would be ok.
func (b *Bucket) Has(now, cost int64) bool {
	length := b.rule.Length(cost)
	for i := range b.held {
		if _, _, fits := b.held[i].fit(b.rule, now, length); fits {
			return true
		}
	}
	return false
}

// fit is where a piece of that length would lie that is spent at now, and whether it may.
func (h *held) fit(rule *limit.Rule, now int64, length limit.Pos) (start, end limit.Pos, fits bool) {
	start = limit.Later(h.at, limit.At(rule.Begin(now)))
	end = rule.Add(start, length)
	return start, end, now < h.lease.Until && !end.After(h.end) && !end.After(rule.Bound(now))
}

// pieceOf is the line from start to end of a lease, for that cost.
func pieceOf(l *limit.Lease, start, end limit.Pos, cost int64) Piece {
	return Piece{Lease: l, Span: limit.Span{Start: start.NS, End: end.Ceil()}, Cost: cost, start: start, end: end}
}

// Over says whether time has brought the piece back at now, or ended its lease.
func (p *Piece) Over(rule *limit.Rule, now int64) bool {
	return p.Lease != nil && (now >= p.Until || !p.end.After(limit.At(rule.Begin(now))))
}

// Undo puts a piece back in its place, to be spent again before all else. The caller has not put it back before. It says whether it may still be spent.
func (b *Bucket) Undo(piece Piece, now int64) bool {
	b.expire(now)
	if piece.Over(b.rule, now) || len(b.held) > 0 && b.held[0].lease.Generation != piece.Generation {
		return false
	}
	back := 0
	for i := range b.held {
		h := &b.held[i]
		switch {
		case h.lease == piece.Lease && h.at == piece.end: // what was spent of it last
			h.at = piece.start
			return true
		case h.lease == piece.Lease && h.back && h.end == piece.start:
			h.end = piece.end
			return true
		case h.back:
			back++
		}
	}
	if back == MaxBack {
		return false
	}
	b.held = slices.Insert(b.held, 0, held{lease: piece.Lease, at: piece.start, end: piece.end, back: true})
	return true
}

// Left is how many tokens can be taken at now, one by one.
func (b *Bucket) Left(now int64) (tokens int64) {
	for i := range b.held {
		if h := &b.held[i]; now < h.lease.Until {
			tokens += h.left(b.rule, now)
		}
	}
	return tokens
}

// left is how many tokens of h can be taken at now.
func (h *held) left(rule *limit.Rule, now int64) int64 {
	bound := rule.Bound(now)
	if bound.After(h.end) {
		bound = h.end
	}
	return rule.TokensUpTo(bound, h.at, now)
}

// Clone is a copy that shares nothing with b.
func (b *Bucket) Clone() *Bucket {
	c := *b
	c.held = slices.Clone(b.held)
	return &c
}

// Held is the line that is held, and up to where each piece of it is spent.
func (b *Bucket) Held() iter.Seq2[limit.Lease, limit.Pos] {
	return func(yield func(limit.Lease, limit.Pos) bool) {
		for i := range b.held {
			h := &b.held[i]
			l := *h.lease
			l.End = h.end.Ceil()
			if !yield(l, h.at) {
				return
			}
		}
	}
}

// GiveBack takes what is left of all leases, but for about so many tokens, out of the edge's hands, from the ends of the leases, for the owners to take back. It is
// gone, also where that fails. Pieces that came back stay: they are no ends.
func (b *Bucket) GiveBack(now, keep int64) (tails []limit.Receipt) {
	b.expire(now)
	for i := range b.held {
		h := &b.held[i]
		if h.back {
			continue
		}
		left := h.left(b.rule, now)
		if keep >= left {
			keep -= left
			continue
		}
		from := b.rule.Add(limit.Later(h.at, limit.At(b.rule.Begin(now))), b.rule.Length(keep)).Ceil()
		keep = 0
		if h.end.After(limit.At(from)) {
			tails = append(tails, h.lease.Tail(from))
			h.end = limit.At(from)
		}
	}
	b.expire(now)
	return tails
}

// Drop forgets all leases: the edge's clock may have been wrong, or the limit is another one.
func (b *Bucket) Drop() {
	clear(b.held)
	b.held = b.held[:0]
}

// expire forgets the line that is over or spent.
func (b *Bucket) expire(now int64) {
	kept := b.held[:0]
	for i := range b.held {
		if h := &b.held[i]; now < h.lease.Until && h.end.After(limit.Later(h.at, limit.At(b.rule.Begin(now)))) {
			kept = append(kept, *h)
		}
	}
	clear(b.held[len(kept):])
	b.held = kept
}
