package owner

import (
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
)

// errSkewed answers what waits when a majority accepts nothing because of the time that this owner tells.
var errSkewed = fmt.Errorf("%w: this node's clock differs too much from its replicas'", limit.ErrUnavailable)

// giveUp drops a reservation that a majority cannot accept any more. It is never spent, even if it is accepted later.
// The next try begins where a majority would accept, after a random pause: two owners of equal timing would refuse each
// other for ever. A bucket that has just been woken, and is told the same by all replicas that have answered, met no rival but
// its own past: its next try does not wait.
func (o *Owner) giveUp(b *bucket, now int64, waited bool, out *Out) {
	t := b.replication()
	c := t.pending.count()
	t.refused = &refusal{pending: *t.pending, until: now + o.cfg.Delta, waited: waited}
	t.pending = nil
	if b.held == (segment{}) && t.tries == 0 && b.toldAlike(&t.refused.pending, o.cfg) {
		t.tries++
	} else {
		t.backOff(now, o.cfg)
	}
	// A message that was long under way looks like a wrong clock. The clock is wrong if the next one is refused too.
	skewed := c.skewed > o.cfg.tolerated()
	if skewed && t.skewed {
		o.fail(errSkewed, out)
	}
	t.skewed = skewed
}

// toldAlike says whether every replica that has answered p has told that its line is free from where a majority would accept.
func (b *bucket) toldAlike(p *pending, cfg *Config) bool {
	from := b.free(p.Generation, all, nil, cfg)
	for i, v := range p.replies[:cfg.Replicas] {
		if v == Accepted || v.hasPosition() && b.latest(i).freeIn(p.Generation) != from {
			return false
		}
	}
	return from > p.From
}

// fail answers everything that waits with err.
func (o *Owner) fail(err error, out *Out) {
	for o.Waiting() > 0 {
		out.Replies = append(out.Replies, Reply{Tag: o.overflow.first().Tag, Err: err})
		o.overflow.pop()
	}
}

// failOf answers what waits for a bucket with an error. Checks that wait for other buckets of the key go on waiting.
func (o *Owner) failOf(b *bucket, err error, out *Out) {
	if o.overflow == nil {
		return
	}
	old := o.overflow.queue
	o.overflow.queue = queue{}
	for i := range old.waiting() {
		if w := &old.waiting()[i]; w.concerns(b) {
			out.Replies = append(out.Replies, Reply{Tag: w.Tag, Err: err})
		} else {
			o.overflow.push(*w)
		}
	}
}
