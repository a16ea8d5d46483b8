package owner

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// expireHolds frees what holds have taken that are freed when they expire, of all buckets.
func (o *Owner) expireHolds(now int64) {
	for i := range o.size() {
		o.at(i).expireHolds(now)
	}
}

// expireHolds frees what holds the bucket has that are freed when they expire.
func (b *bucket) expireHolds(now int64) {
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
		default:
			hs.expire = min(hs.expire, h.until)
		}
	}
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
	back := h.cut(b.rule, b.rule.Length(over))
	begin := limit.At(b.rule.Begin(now))
	x.returns.endWaits(b.rule, now, begin)
	b.putBack(&back, begin, now)
}
