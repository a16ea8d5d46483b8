package owner

import (
	"math"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A load is how busy a bucket is, exponentially weighted. There may be millions of them: it is told as coarsely as it may be.
type load struct {
	lately float32 // line spent in the horizon before, in nanoseconds
	share  uint16  // of it, what was spent in the last Δ, in wholes of the greatest number
	checks uint16  // in the last Δ, in parts of checkParts; no more than fit
	at     int64   // when these were reckoned
}

const checkParts = 64

// horizon is for how long it is foreseen what a bucket will spend: as much as in so long a time before.
const horizon = int64(8 * time.Second)

// note counts a check or a settlement at t into the load.
func (l *load) note(t int64, length limit.Pos, delta int64) {
	spent := float32(length.NS)
	line := l.demand(t, delta) + spent
	l.lately = l.soon(t) + spent
	if l.share = 0; line > 0 {
		l.share = uint16(min(line/l.lately, 1) * math.MaxUint16)
	}
	l.checks = uint16(min(float32(l.checks)*l.fade(t, delta)+checkParts, math.MaxUint16))
	l.at = max(t, l.at)
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
func (l *load) demand(t, delta int64) float32 {
	return l.lately * (float32(l.share) / math.MaxUint16) * l.fade(t, delta)
}

// soon is the line that will be spent in the horizon after t, as it looks: what was spent in the one before, in nanoseconds.
func (l *load) soon(t int64) float32 { return l.lately * l.fade(t, horizon) }

// spentBesides says whether the line spent in the horizon before t is more than that of a check that is counted already.
func (l *load) spentBesides(length limit.Pos, t int64) bool { return l.soon(t) > float32(length.NS) }

// busy says whether there were enough checks in the Δ before t to reserve ahead.
func (l *load) busy(t int64, cfg *Config) bool {
	return float32(l.checks)*l.fade(t, cfg.Delta) >= float32(cfg.Busy)*checkParts
}
