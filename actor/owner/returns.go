package owner

import (
	"github.com/jeton-dev/jeton/actor/limit"
)

// MaxReceipts is how many receipts of a bucket its owner remembers, the newest ones. The return of an older one is
// without effect.
const MaxReceipts = 1024

// A piece is the line from start (excluded) to end (included).
type piece struct{ start, end limit.Pos }

// spent is the line that one admission consumed: a fresh piece, and returned pieces that it used again.
type spent struct {
	piece
	reuses []piece
}

// returns is what a bucket knows of giving back: the receipts that it can take back, and the line that was given back
// and waits to be spent again. Both belong to one unbroken stretch of line and die with it, as they die with their
// owner: the limit is stricter then, never looser.
type returns struct {
	made   []made // receipts, a ring once it is full; the serial of made[i] is congruent to i
	serial uint64 // of the next receipt
	free   []piece
	sum    limit.Pos // length of free
	since  int64     // when line came back last: for a check read before, it was still spent
}

// made is a receipt that its owner remembers.
type made struct {
	spent
	serial uint64
	back   bool // has been returned
}

// returns is what the bucket knows of giving back, or nil for nothing.
func (b *bucket) returns() *returns {
	if b.extra == nil {
		return nil
	}
	return b.extra.returns
}

func (b *bucket) forgetReturns() {
	if b.extra != nil {
		b.extra.returns = nil
	}
}

// Return takes back the admission that r proves and says whether it took effect: only if this owner made the receipt,
// remembers it, and the bucket has not filled up since.
func (o *Owner) Return(r limit.Receipt, now int64) bool {
	b := o.find(r.Limit)
	return b != nil && r.Owner == o.id && r.Generation == b.gen && b.giveBack(r, now)
}

// receipt writes down what an admission consumed, so that it can be returned.
func (b *bucket) receipt(s spent, owner limit.OwnerID) limit.Receipt {
	x := b.extras()
	if x.returns == nil {
		x.returns = &returns{}
	}
	r := limit.Receipt{
		Limit: b.rule.Name, Generation: b.gen, Owner: owner, Serial: x.returns.serial,
		Span: s.span(),
	}
	for _, p := range s.reuses {
		r.Reuses = append(r.Reuses, p.span())
	}
	x.returns.remember(s)
	return r
}

// span is p as callers see it.
func (p piece) span() limit.Span { return limit.Span{Start: p.start.NS, End: p.end.NS} }

func (r *returns) remember(s spent) {
	m := made{spent: s, serial: r.serial}
	r.serial++
	if len(r.made) < MaxReceipts {
		r.made = append(r.made, m)
		return
	}
	r.made[m.serial%MaxReceipts] = m
}

// find is the remembered receipt that r is a copy of. Serials begin anew with each stretch, so the span must be the
// same too; it can be only if r is of this stretch, because spans of different stretches lie apart.
func (r *returns) find(c limit.Receipt) *made {
	if c.Serial >= r.serial {
		return nil
	}
	m := &r.made[c.Serial%MaxReceipts]
	if m.serial != c.Serial || m.span() != c.Span {
		return nil
	}
	return m
}

// giveBack turns the line of a receipt into credit and says whether that is of any use.
func (b *bucket) giveBack(c limit.Receipt, now int64) bool {
	r := b.returns()
	if r == nil {
		return false
	}
	m := r.find(c)
	if m == nil || m.back {
		return false
	}
	back := m.spent
	m.back, m.reuses = true, nil
	most := b.creditCap(now)
	if !most.After(b.credit(now)) {
		return false
	}
	r.put(b.rule, back.piece)
	for _, p := range back.reuses {
		r.put(b.rule, p)
	}
	r.cap(b.rule, most)
	r.since = now
	return true
}

// creditCap is the most that credit may be at t: the spent line that is not yet past. More of this stretch was never
// given back than was spent of it.
func (b *bucket) creditCap(t int64) limit.Pos {
	return limit.Later(limit.Pos{}, b.rule.Sub(b.tat, limit.At(t)))
}

// credit is the length of returned line that can be spent again at t.
func (b *bucket) credit(t int64) limit.Pos {
	r := b.returns()
	if r == nil || r.sum == (limit.Pos{}) || t < r.since {
		return limit.Pos{}
	}
	if most := b.creditCap(t); r.sum.After(most) {
		return most
	}
	return r.sum
}

func (r *returns) put(rule *limit.Rule, p piece) {
	if !p.end.After(p.start) {
		return
	}
	r.free = append(r.free, p)
	r.sum = rule.Add(r.sum, rule.Sub(p.end, p.start))
}

// cap drops what exceeds most, the oldest first.
func (r *returns) cap(rule *limit.Rule, most limit.Pos) {
	if r.sum.After(most) {
		r.take(rule, rule.Sub(r.sum, most))
	}
}

// take spends up to length of the free pieces, the oldest first, and says what is left of length.
func (r *returns) take(rule *limit.Rule, length limit.Pos) (taken []piece, left limit.Pos) {
	for len(r.free) > 0 && length.After(limit.Pos{}) {
		p := &r.free[0]
		size := rule.Sub(p.end, p.start)
		if size.After(length) {
			cut := rule.Add(p.start, length)
			taken = append(taken, piece{p.start, cut})
			p.start = cut
			r.sum = rule.Sub(r.sum, length)
			return taken, limit.Pos{}
		}
		taken = append(taken, *p)
		length = rule.Sub(length, size)
		r.sum = rule.Sub(r.sum, size)
		r.free = r.free[1:]
	}
	if len(r.free) == 0 {
		r.free = nil
	}
	return taken, length
}
