package owner

import (
	"fmt"
	"math"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// maxLost is how many times the pause doubles before a majority that was lost is asked again: up to 32 ms. All keys that
// wait ask at once.
const maxLost = 5

// A LostError answers what waits when so many replicas do not answer that there is no majority. It is a
// [limit.ErrUnavailable].
type LostError struct {
	Replicas int   // how many keep each register
	Lost     []int // the indices of those that will not answer, or have not for long, or have no room
}

// Error says how many replicas are left.
func (e *LostError) Error() string {
	return fmt.Sprintf("%v: too few replicas can answer: %d of %d", limit.ErrUnavailable, e.Replicas-len(e.Lost), e.Replicas)
}

// Unwrap is limit.ErrUnavailable.
func (e *LostError) Unwrap() error { return limit.ErrUnavailable }

// inVain goes on with a reservation that cannot come about as it was sent last, because replicas will not answer or are
// in another epoch, and that tells too little to begin anew: the very same is sent again after a random pause, so no
// line is wasted by it. Who has waited long enough for a majority that is lost is answered so, and everybody where it has
// been lost for long.
func (o *Owner) inVain(b *bucket, p *pending, c count, now int64, out *Out) {
	doublings := uint8(maxDouble)
	if c.lost+c.full > o.cfg.spare() {
		doublings = maxLost
		patience := o.cfg.Patience
		if c.gone+c.full > o.cfg.spare() {
			patience = 0
		}
		o.failLost(p, patience, now, out)
	}
	switch {
	case o.Waiting() == 0:
		b.talk().pending = nil
	case !p.inVain:
		p.inVain = true
		p.resendAt = min(p.resendAt, now+b.talk().pause(doublings, o.cfg))
	}
}

// failLost answers those who have waited for that long. They wait in the order of their times.
func (o *Owner) failLost(p *pending, patience, now int64, out *Out) {
	var err *LostError
	for o.Waiting() > 0 && o.crowd.first().At+patience <= now {
		if err == nil {
			err = p.lost(o.cfg, false)
		}
		out.Replies = append(out.Replies, Reply{Tag: o.crowd.first().Tag, Err: err})
		o.crowd.pop()
	}
}

// lost names those who will not answer or accept and, if that is asked for, those who have not answered.
func (p *pending) lost(cfg *Config, silent bool) *LostError {
	e := &LostError{Replicas: cfg.Replicas}
	for i, v := range p.replies[:cfg.Replicas] {
		if v == Lost || v == Gone || v == Full || silent && v == 0 {
			e.Lost = append(e.Lost, i)
		}
	}
	return e
}

// silent says whether so many have said nothing that there is no majority without them.
func (p *pending) silent(cfg *Config) bool {
	c := p.count()
	return c.said()+c.elsewhere < cfg.majority()
}

// leaveAt is when one who waits has to leave to have time for asking elsewhere: after three fifths of its time.
func (w *waiter) leaveAt() int64 { return w.At + (w.Deadline-w.At)/5*3 }

// sendAway answers those who have to leave and wait for silent replicas. If those are so many that there is no majority,
// the owner may be cut off from them, though nobody has noticed yet, and another owner may not be. Otherwise the others have
// told enough for a decision. It looks at those who wait in the order in which they came: who has less time than one before
// waits for that one, at most until its deadline.
func (o *Owner) sendAway(now int64, out *Out) {
	for {
		at, p := o.sendAwayAt()
		if at > now {
			return
		}
		switch w := o.crowd.first(); {
		case w.reset == nil && p.stuck(o.cfg):
			o.decideWithout(&w.Check, now, out)
		default:
			out.Replies = append(out.Replies, Reply{Tag: w.Tag, Err: p.lost(o.cfg, true)})
		}
		o.crowd.pop()
	}
}

// sendAwayAt is when sendAway has something to do next, and for want of which reservation: one to which too few have
// said anything for a quarter of the Patience, or that is stuck.
func (o *Owner) sendAwayAt() (at int64, want *pending) {
	at = math.MaxInt64
	if o.Waiting() == 0 || o.cfg.Replicas == 1 {
		return at, nil
	}
	w := o.crowd.first()
	for i := range o.size() {
		b := o.at(i)
		p, due := b.pending(), w.leaveAt()
		switch {
		case p == nil || !w.concerns(b):
			continue
		case p.stuck(o.cfg):
			due = max(due, p.heardAt+silence)
		case o.cfg.Patience > 0 && p.silent(o.cfg):
			due = max(due, p.sentAt+o.cfg.Patience/4)
		default:
			continue
		}
		if due < at {
			at, want = due, p
		}
	}
	return at, want
}

// concerns says whether w waits for b.
func (w *waiter) concerns(b *bucket) bool {
	return w.reset != nil && w.reset.Name == b.rule.Name ||
		slices.ContainsFunc(w.Rules, func(r *limit.Rule) bool { return r.Name == b.rule.Name })
}

// decideWithout decides c by what replicas have told, without those that are silent.
func (o *Owner) decideWithout(c *Check, now int64, out *Out) {
	trials, _ := o.try(c, out)
	denied := false
	for i := range trials {
		t := &trials[i]
		if p := t.bucket.pending(); t.verdict != admit && (c.Cost == 0 || p != nil && p.stuck(o.cfg)) {
			t.bucket.without(t, c.At, c.Cost, o.cfg)
		}
		denied = denied || t.verdict != admit
	}
	if denied {
		o.deny(c, trials, out)
	} else {
		o.admit(c, now, trials, out)
	}
}
