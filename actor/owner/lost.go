package owner

import (
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
)

// maxLost is how many times the pause doubles before a majority that was lost is asked again: up to 32 ms. All keys that
// wait ask at once.
const maxLost = 5

// A LostError answers what waits when so many replicas will not answer that there is no majority. It is a
// [limit.ErrUnavailable].
type LostError struct {
	Replicas int   // how many keep each register
	Lost     []int // the indices of those that will not answer
}

// Error says how many replicas are left.
func (e *LostError) Error() string {
	return fmt.Sprintf("%v: too few replicas can answer: %d of %d", limit.ErrUnavailable, e.Replicas-len(e.Lost), e.Replicas)
}

// Unwrap is limit.ErrUnavailable.
func (e *LostError) Unwrap() error { return limit.ErrUnavailable }

// inVain goes on with a reservation that cannot come about as it was sent last, because replicas will not answer or are
// in another epoch, and that tells too little to begin anew: the very same is sent again after a random pause, so no
// line is wasted by it. Who has waited long enough for a majority that is lost is answered so.
func (o *Owner) inVain(b *bucket, p *pending, c count, now int64, out *Out) {
	doublings := uint8(maxDouble)
	if c.lost > o.cfg.spare() {
		doublings = maxLost
		o.failLost(p, now, out)
	}
	switch {
	case o.Waiting() == 0:
		o.giveUp(b, now, out)
	case !p.inVain:
		p.inVain = true
		p.resendAt = min(p.resendAt, now+b.talk().pause(doublings, o.cfg))
	}
}

// failLost answers those whose patience has ended. They wait in the order of their times.
func (o *Owner) failLost(p *pending, now int64, out *Out) {
	var err *LostError
	for o.Waiting() > 0 && o.crowd.first().At+o.cfg.Patience <= now {
		if err == nil {
			err = p.lost(o.cfg)
		}
		out.Replies = append(out.Replies, Reply{Tag: o.crowd.first().Tag, Err: err})
		o.crowd.pop()
	}
}

func (p *pending) lost(cfg *Config) *LostError {
	e := &LostError{Replicas: cfg.Replicas}
	for i, r := range p.replies {
		if r.verdict == Lost {
			e.Lost = append(e.Lost, i)
		}
	}
	return e
}
