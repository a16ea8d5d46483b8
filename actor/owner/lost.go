package owner

import (
	"fmt"

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

// retryLater goes on with a reservation that cannot come about as it was sent last, because replicas will not answer or are
// in another epoch, and the answers tell too little for a new one: the same reservation is sent again after a random pause, so
// it wastes no line. Checks that have waited long enough for a lost majority are answered with an error; where the majority
// has been lost for long, all checks are.
func (o *Owner) retryLater(b *bucket, p *pending, c count, now int64, out *Out) {
	doublings := uint8(maxDouble)
	if c.lost+c.full > o.cfg.tolerated() {
		doublings = maxLost
		patience := o.cfg.Patience
		if c.gone+c.full > o.cfg.tolerated() {
			patience = 0
		}
		o.failLost(p, patience, now, out)
	}
	switch {
	case o.Waiting() == 0:
		b.replication().pending = nil
	case !p.stalled:
		p.stalled = true
		p.resendAt = min(p.resendAt, now+b.replication().pause(doublings, o.cfg))
	}
}

// failLost fails the checks that have waited for that long. They wait in the order of their times.
func (o *Owner) failLost(p *pending, patience, now int64, out *Out) {
	var err *LostError
	for o.Waiting() > 0 && o.overflow.first().At+patience <= now {
		if err == nil {
			err = p.lost(o.cfg, false)
		}
		out.Replies = append(out.Replies, Reply{Tag: o.overflow.first().Tag, Err: err})
		o.overflow.pop()
	}
}

// lost names the replicas that will not answer or accept and, if silent is set, those that have not answered.
func (p *pending) lost(cfg *Config, silent bool) *LostError {
	e := &LostError{Replicas: cfg.Replicas}
	for i, v := range p.replies[:cfg.Replicas] {
		if v == Lost || v == Gone || v == Full || silent && v == 0 {
			e.Lost = append(e.Lost, i)
		}
	}
	return e
}
