package owner

import (
	"maps"
	"math"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// moveOn does what is due in all buckets before a check of t is decided, now. When it was done last makes no difference to what the check finds.
func (o *Owner) moveOn(t, now int64, out *Out) {
	for i := range o.size() {
		o.at(i).moveOn(t, now, out)
	}
}

// moveOn does what is due in the bucket, if it spends a line. For a check that was read before others have begun that waited, they wait still.
func (b *bucket) moveOn(t, now int64, out *Out) {
	if b.extra != nil && b.extra.ledger == nil {
		b.leaveBehind(t)
		b.expireHolds(now, out)
	}
}

// expireHolds frees what holds the bucket has that are freed when they expire.
func (b *bucket) expireHolds(now int64, out *Out) {
	hs := b.lineHolds()
	if hs == nil || now < hs.expire {
		return
	}
	hs.expire = math.MaxInt64
	for _, h := range hs.byID {
		switch {
		case !h.free || h.settled:
		case now >= h.until:
			b.giveBackHold(h, now)
			h.tellExpired(b.rule, out)
		default:
			hs.expire = min(hs.expire, h.until)
		}
	}
}

// tellExpired tells once that the hold has expired.
func (h *lineHold) tellExpired(of *limit.Rule, out *Out) {
	if !h.expired {
		h.expired = true
		out.Expired = append(out.Expired, of)
	}
}

// movedOn is the bucket as it is once moveOn has been called: itself, or a copy.
func (b *bucket) movedOn(now int64) *bucket {
	hs, r := b.lineHolds(), b.returns()
	expire := hs != nil && now >= hs.expire
	leave := r != nil && b.extra.ledger == nil && (r.waitsAreOver(now) || b.ended(now).After(r.left))
	if !expire && !leave {
		return b
	}
	then, x := *b, *b.extra
	then.extra = &x
	if r != nil {
		returns := *r
		returns.free = slices.Clone(r.free)
		x.returns = &returns
	}
	if hs != nil {
		holds := *hs
		holds.byID = maps.Clone(hs.byID)
		for id, h := range hs.byID {
			if h.free && !h.settled && now >= h.until {
				freed := *h
				freed.reuses = slices.Clone(h.reuses)
				holds.byID[id] = &freed
			}
		}
		x.holds = &holds
	}
	then.moveOn(now, now, new(Out))
	return &then
}

// giveBackHold makes credit of what the hold has taken more than it takes at now.
func (b *bucket) giveBackHold(h *lineHold, now int64) {
	over := h.charged - h.due(now)
	if over <= 0 {
		return
	}
	h.charged -= over
	if h.stretch != b.extra.holds.stretch {
		return // it has come back by itself
	}
	x := b.extra
	if x.returns == nil {
		x.returns = &returns{}
	}
	x.returns.holds = true
	back := h.cut(b.rule, b.rule.Length(over))
	b.putBack(&back, now)
}
