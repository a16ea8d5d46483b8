package owner

import (
	"fmt"
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// maxLost is how many times the pause doubles before a majority that was lost is asked again: up to 32 ms. All keys that
// wait ask at once.
const maxLost = 5

// A LostError answers what waits when so many replicas do not answer that there is no majority. It is a
// [limit.ErrUnavailable].
type LostError struct {
	Replicas int   // how many keep each register
	Lost     []int // the indices of those that will not answer, or have not for long
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
	if c.lost > o.cfg.spare() {
		doublings = maxLost
		patience := o.cfg.Patience
		if c.gone > o.cfg.spare() {
			patience = 0
		}
		o.failLost(p, patience, now, out)
	}
	switch {
	case o.Waiting() == 0:
		o.giveUp(b, now, out)
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

// lost names those who will not answer and, if that is asked for, those who have not.
func (p *pending) lost(cfg *Config, silent bool) *LostError {
	e := &LostError{Replicas: cfg.Replicas}
	for i, r := range p.replies[:cfg.Replicas] {
		if r.verdict == Lost || r.verdict == Gone || silent && r.verdict == 0 {
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

// sendAway answers those who have to leave and wait for replicas that say nothing. They may be cut off from here, though
// nobody has noticed yet, but not from another owner. It looks at those who wait in the order in which they came: who has
// less time than one before waits for that one, at most until its deadline.
func (o *Owner) sendAway(now int64, out *Out) {
	for {
		at, p := o.sendAwayAt()
		if at > now {
			return
		}
		out.Replies = append(out.Replies, Reply{Tag: o.crowd.first().Tag, Err: p.lost(o.cfg, true)})
		o.crowd.pop()
	}
}

// sendAwayAt is when sendAway has something to do next, and for want of which reservation: one to which too few have
// said anything for a quarter of the Patience.
func (o *Owner) sendAwayAt() (at int64, want *pending) {
	at = math.MaxInt64
	if o.Waiting() == 0 || o.cfg.Patience == 0 || o.cfg.Replicas == 1 {
		return at, nil
	}
	leave := o.crowd.first().leaveAt()
	for i := range o.size() {
		if p := o.at(i).pending(); p != nil && p.silent(o.cfg) {
			if due := max(leave, p.sentAt+o.cfg.Patience/4); due < at {
				at, want = due, p
			}
		}
	}
	return at, want
}
