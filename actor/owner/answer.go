package owner

import (
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Answer takes in what a replica says to a Send, and decides the checks that can now be decided. Late answers, to
// reservations that were given up, teach where the line is free and nothing else. Those to a Send of another epoch teach
// nothing: the replica of that index was another one.
func (o *Owner) Answer(a Answer, now int64, out *Out) {
	b := o.withRegister(a.Limit)
	if b == nil || a.Epoch != o.epoch || a.Replica < 0 || a.Replica >= o.cfg.Replicas {
		return
	}
	if o.Waiting() == 0 && b.confirms(a) {
		return
	}
	if a.Verdict == Reset && a.Generation > b.gen {
		if p := b.pending(); p != nil && p.reset {
			b.replication().backOff(now, o.cfg) // two that reset at once would overtake each other for ever
		}
		b.enterGeneration(a.Generation, out)
	}
	if a.Verdict.hasPosition() {
		b.noteRival(a, now)
		b.noteReport(a, out)
	}
	if p := b.pending(); p != nil && p.Seq == a.Seq && p.record(a) {
		p.heardAt = now
		if p.Claim && a.Verdict == Accepted {
			b.ledger().hears(&a)
		}
		o.conclude(b, p, now, out)
	}
	if r := b.refused(); r != nil && r.Seq == a.Seq && r.record(a) && r.count().full > o.cfg.tolerated() {
		o.failOf(b, errNoRoom, out)
	}
	o.run(now, out)
}

// conclude ends a reservation if its answers permit: a majority has accepted it, or would only if it began further on. One
// that cannot come about for another reason is sent again: a replica whose clock differs, or that is lost, is asked anew, and
// what others have accepted is not asked of them once more further on. Once a replica has refused because of the clock the
// answers that are missing are awaited: the one on the owner's own node, which has the same clock, must not end every try
// before a majority has said so.
func (o *Owner) conclude(b *bucket, p *pending, now int64, out *Out) {
	c, spare := p.count(), o.cfg.tolerated()
	decided := c.skewed == 0 || c.answered() == o.cfg.Replicas
	switch {
	case c.accepted >= o.cfg.majority():
		o.take(b, p, out)
	case c.full > spare:
		o.giveUp(b, now, false, out)
		o.failOf(b, errNoRoom, out)
	case c.skewed > spare:
		o.giveUp(b, now, false, out)
	case decided && b.beyond(p, o.cfg):
		o.giveUp(b, now, false, out)
	case c.answered()-c.accepted <= spare || !decided && c.lost+c.elsewhere == 0:
	case c.skewed+c.full > 0 && c.refused > 0 && b.free(p.Generation, responding, p, o.cfg)-p.From <= b.maxSkip(o.cfg):
		o.giveUp(b, now, true, out)
	case c.skewed+c.lost+c.elsewhere > 0:
		o.retryLater(b, p, c, now, out)
	default:
		o.giveUp(b, now, false, out)
		if c.full > 0 {
			o.failOf(b, errNoRoom, out)
		}
	}
}

// take enters the segment that a majority has accepted.
func (o *Owner) take(b *bucket, p *pending, out *Out) {
	t := b.replication()
	t.pending, t.refused, t.tries, t.skewed = nil, nil, 0, false
	s := segment{p.From, p.To}
	switch {
	case b.ledger() != nil:
		o.accepted(b, p, out)
	case p.reset:
		if o.overflow != nil {
			o.overflow.didSeq = p.Seq
		}
		b.enterGeneration(p.Generation, out)
		b.extend(s, p.far(), 0)
	case p.far().over(b.rule, p.Reach, o.cfg) > 0: // the rule was made shorter meanwhile
	case p.Background && s.from > b.held.to:
		t.next, t.nextFar = s, p.far()
	default:
		b.extend(s, p.far(), p.waits)
	}
}

// errNoRoom answers checks of a bucket that a majority of its replicas has no room for.
var errNoRoom = fmt.Errorf("%w: the replicas keep as many buckets of limits that requests define as they may: store the limit, wait until some are full again, or raise --inline-registers",
	limit.ErrOverloaded)
