package owner

import (
	"maps"
	"math"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// expireHolds frees what holds have taken that are freed when they expire, of all buckets.
func (o *Owner) expireHolds(now int64, out *Out) {
	for i := range o.size() {
		o.at(i).expireHolds(now, out)
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
			b.giveBackHold(h, h.until, now)
			h.tellExpired(b.rule.Name, out)
		default:
			hs.expire = min(hs.expire, h.until)
		}
	}
}

// tellExpired tells once that the hold has expired.
func (h *lineHold) tellExpired(name string, out *Out) {
	if !h.expired {
		h.expired = true
		out.Expired = append(out.Expired, name)
	}
}

// afterExpiry is the bucket as it is once expireHolds has been called: itself, or a copy.
func (b *bucket) afterExpiry(now int64) *bucket {
	hs := b.lineHolds()
	if hs == nil || now < hs.expire {
		return b
	}
	then, x, holds := *b, *b.extra, *hs
	then.extra, x.holds, holds.byID = &x, &holds, maps.Clone(hs.byID)
	for id, h := range hs.byID {
		if h.free && !h.settled && now >= h.until {
			freed := *h
			freed.reuses = slices.Clone(h.reuses)
			holds.byID[id] = &freed
		}
	}
	if x.returns != nil {
		r := *x.returns
		r.free = slices.Clone(r.free)
		x.returns = &r
	}
	then.expireHolds(now, new(Out))
	return &then
}

// giveBackHold makes credit of what the hold has taken more than it takes at now. That is free since freeAt, which may be seen late.
func (b *bucket) giveBackHold(h *lineHold, freeAt, now int64) {
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
	begin := limit.At(b.rule.Begin(now))
	x.returns.endWaits(b.rule, now, begin)
	b.putBack(&back, begin, freeAt, now)
}
