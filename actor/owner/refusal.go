package owner

import (
	"fmt"
	"math"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	silence    = int64(5e6) // after a refusal, how long the answers that are missing are waited for
	firstPause = int64(1e6) // the most that the first retry waits; it doubles with each further one …
	maxDouble  = 3          // … this many times, up to 8 ms
)

// errSkewed answers what waits when a majority accepts nothing because of the time that this owner tells.
var errSkewed = fmt.Errorf("%w: this node's clock differs too much from its replicas'", limit.ErrUnavailable)

// A refusal is a reservation that was given up, and what the replicas said to it. Answers that come late still count.
type refusal struct {
	pending
	until  int64 // for checks from then on it says nothing
	sure   bool  // all have answered, or the rest has been waited for
	sureAt int64 // until when
}

// giveUp drops a reservation that a majority cannot accept any more. It is never spent, even if it is accepted later.
// The next try begins where a majority of those who answered would accept, after a random pause: two owners of equal
// timing would refuse each other for ever.
func (o *Owner) giveUp(b *bucket, now int64, out *Out) {
	t := b.talk()
	p := t.pending
	c := p.count()
	t.pending = nil
	if c.said() >= o.cfg.majority() {
		r := &refusal{pending: *p, until: now + o.cfg.Delta, sureAt: p.heardAt + silence}
		r.sure = c.answered() == o.cfg.Replicas || now >= r.sureAt
		t.refused = r
	}
	t.backOff(now, o.cfg)
	// A message that was long under way looks like a wrong clock. The clock is wrong if the next one is refused too.
	skewed := c.skewed > o.cfg.spare()
	if skewed && t.skewed {
		o.fail(errSkewed, out)
	}
	t.skewed = skewed
}

// backOff makes the next try wait for a random time, the longer the more tries there were.
func (t *talk) backOff(now int64, cfg *Config) { t.retryAt = now + t.pause(maxDouble, cfg) }

// pause draws how long the next try waits, and counts it.
func (t *talk) pause(doublings uint8, cfg *Config) int64 {
	d := cfg.Rand(firstPause << min(t.tries, doublings))
	if t.tries < math.MaxUint8 {
		t.tries++
	}
	return d
}

// silentAt is when the answers that are missing are not waited for any longer: there was a refusal, and enough have
// answered for a retry to know where to begin.
func (p *pending) silentAt(cfg *Config) int64 {
	if c := p.count(); c.answered() > c.accepted && c.said() >= cfg.majority() {
		return p.heardAt + silence
	}
	return math.MaxInt64
}

// hint is where the retry of a check at t begins: the W-th smallest position among those who answered the refused
// reservation. A dead replica's stale position would let it creep.
func (b *bucket) hint(t int64, cfg *Config) int64 {
	r := b.refused()
	if r == nil || t >= r.until {
		return 0
	}
	var positions [MaxReplicas]int64
	n := 0
	for _, a := range r.replies {
		if !a.verdict.tells() {
			continue
		}
		if r.reset && a.position > r.Generation {
			a.position = 0 // of the old generation, and the next try to reset lies beyond it
		}
		positions[n] = a.position
		n++
	}
	slices.Sort(positions[:n])
	return positions[cfg.majority()-1]
}

// pausing says whether a refusal is too recent to reserve again; if so, the owner is woken when it is not any more.
func (b *bucket) pausing(now int64) bool {
	t := b.talk()
	if t == nil {
		return false
	}
	t.paused = now < t.retryAt
	return t.paused
}
