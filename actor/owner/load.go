package owner

import (
	"github.com/jeton-dev/jeton/actor/limit"
)

// A load is how busy a bucket is, exponentially weighted. Seven digits are enough for it.
type load struct {
	line   float32 // spent in the last Δ, in nanoseconds
	checks float32 // in the last Δ
	at     int64   // when both were reckoned
}

// note counts a check or a settlement at t into the load.
func (l *load) note(t int64, length limit.Pos, delta int64) {
	fade := l.fade(t, delta)
	l.line = l.line*fade + float32(length.NS)
	l.checks = l.checks*fade + 1
	l.at = max(t, l.at)
}

// fade is what is left at t of what was reckoned before. Between checks it falls linearly, which for checks that
// follow one another closely is the same as exponentially.
func (l *load) fade(t, delta int64) float32 {
	since := max(t-l.at, 0)
	if since >= delta {
		return 0
	}
	return 1 - float32(since)/float32(delta)
}

// demand is the line spent in the Δ before t, in nanoseconds.
func (l *load) demand(t, delta int64) float64 { return float64(l.line * l.fade(t, delta)) }

// busy says whether there were enough checks in the Δ before t to reserve ahead.
func (l *load) busy(t int64, cfg *Config) bool {
	return l.checks*l.fade(t, cfg.Delta) >= float32(cfg.Busy)
}
