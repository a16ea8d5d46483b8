package owner

import (
	"math"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A load is how much a bucket spends, exponentially weighted. Seven digits are enough for it. How often it is asked stands in
// bucket.checks, where there is room for it: there may be millions of buckets.
type load struct {
	line   float32 // spent in the last Δ, in nanoseconds
	lately float32 // spent in the last horizon
	at     int64   // when these, and the checks, were reckoned
}

// checkParts is what bucket.checks counts for each check.
const checkParts = 64

// horizon is for how long it is foreseen what a bucket will spend: as much as in so long a time before.
const horizon = int64(8 * time.Second)

// note counts a check or a settlement at t into the load.
func (b *bucket) note(t int64, length limit.Pos, delta int64) {
	l := &b.load
	fade := l.fade(t, delta)
	l.line = l.line*fade + float32(length.NS)
	l.lately = l.soon(t) + float32(length.NS)
	b.checks = uint16(min(float32(b.checks)*fade+checkParts, math.MaxUint16))
	l.at = max(t, l.at)
}

// busy says whether there were enough checks in the Δ before t to reserve ahead.
func (b *bucket) busy(t int64, cfg *Config) bool {
	return float32(b.checks)*b.load.fade(t, cfg.Delta) >= float32(cfg.Busy)*checkParts
}

// fade is what is left at t of what was reckoned before for so long a time. Between checks it falls linearly, which for checks that
// follow one another closely is the same as exponentially.
func (l *load) fade(t, time int64) float32 {
	since := max(t-l.at, 0)
	if since >= time {
		return 0
	}
	return 1 - float32(since)/float32(time)
}

// demand is the line spent in the Δ before t, in nanoseconds.
func (l *load) demand(t, delta int64) float32 { return l.line * l.fade(t, delta) }

// soon is the line that will be spent in the horizon after t, as it looks: what was spent in the one before, in nanoseconds.
func (l *load) soon(t int64) float32 { return l.lately * l.fade(t, horizon) }

// spentBesides says whether the line spent in the horizon before t is more than that of a check that is counted already.
func (l *load) spentBesides(length limit.Pos, t int64) bool { return l.soon(t) > float32(length.NS) }
