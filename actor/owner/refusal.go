package owner

import (
	"fmt"
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	silence    = int64(5e6) // after a refusal, how long a silent replica is waited for that costs little to leave out
	firstPause = int64(1e6) // the most that the first retry waits; it doubles with each further one …
	maxDouble  = 3          // … this many times, up to 8 ms
)

// errSkewed answers what waits when a majority accepts nothing because of the time that this owner tells.
var errSkewed = fmt.Errorf("%w: this node's clock differs too much from its replicas'", limit.ErrUnavailable)

// A refusal is a reservation that was given up, and what the replicas said to it. Answers that come late still count.
type refusal struct {
	pending
	until  int64 // for checks from then on it does not tell who is lost or silent
	waited bool  // for the silent ones
}

// missing says whether a replica has not told its position.
func (r *refusal) missing(cfg *Config) bool { return r.count().said() < cfg.Replicas }

// giveUp drops a reservation that a majority cannot accept any more. It is never spent, even if it is accepted later.
// The next try begins where a majority would accept, after a random pause: two owners of equal timing would refuse each
// other for ever.
func (o *Owner) giveUp(b *bucket, now int64, waited bool, out *Out) {
	t := b.talk()
	c := t.pending.count()
	t.refused = &refusal{pending: *t.pending, until: now + o.cfg.Delta, waited: waited}
	t.pending = nil
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

// pausing says whether a refusal is too recent to reserve again; if so, the owner is woken when it is not any more.
func (b *bucket) pausing(now int64) bool {
	t := b.talk()
	if t == nil {
		return false
	}
	t.paused = now < t.retryAt
	return t.paused
}
