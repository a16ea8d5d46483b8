package owner

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Reset fills the bucket of rule, and opens it if a penalty has closed it. It takes its place among the waiting checks.
func (o *Owner) Reset(tag any, rule *limit.Rule, now, deadline int64, out *Out) {
	o.await(waiter{Check: Check{Tag: tag, At: now, Deadline: deadline}, reset: rule}, out)
	if o.Waiting() == 1 {
		o.run(now, out)
	}
}

// TakeOut takes permits that have come back out of their ledgers. It takes its place among the waiting checks, and so there is one
// Reply to all, with that tag; the permits are the owner's until then.
func (o *Owner) TakeOut(tag any, permits []Permit, now, deadline int64, out *Out) {
	o.tidy(now)
	o.await(waiter{Check: Check{Tag: tag, At: now, Deadline: deadline}, permits: permits}, out)
	if o.Waiting() == 1 {
		o.run(now, out)
	}
}

// Settle takes in what a settlement says of a hold. It takes its place among the waiting checks, and there is one Reply, with that
// tag; the settles are the owner's until then. Those of limits that count entries take effect at any owner, once a majority has stored
// it; others at the owner that took the hold.
func (o *Owner) Settle(tag any, settles []Settle, now, deadline int64, out *Out) {
	o.tidy(now)
	w := waiter{Check: Check{Tag: tag, At: now, Deadline: deadline}, settles: settles}
	alone := o.Waiting() == 0
	if alone && !w.needsLedger() {
		if !o.settle(&w, now, out) {
			o.await(w, out)
		}
		return
	}
	if o.await(w, out); alone { // a ledger is written with what waits
		o.run(now, out)
	}
}

// needsLedger says whether one of the settles is of a limit that counts entries.
func (w *waiter) needsLedger() bool {
	for i := range w.settles {
		if w.settles[i].Rule.Counts() {
			return true
		}
	}
	return false
}

// Enter goes on under other terms: the key's replica set has changed. What the owner holds of the line stays its own,
// whichever replicas keep the registers now, and so does all that it knows of its checks. It forgets the answers of the old
// replicas, and gives up the reservation in flight, so that is never spent: checks that wait need a new reservation.
func (o *Owner) Enter(t *Terms, now int64, out *Out) {
	if o.Terms == t {
		return
	}
	o.Terms = t
	for i := range o.size() {
		o.at(i).forgetReplicas()
	}
	o.run(now, out)
}

// Wake does what has become due by now. See [Owner.Due].
func (o *Owner) Wake(now int64, out *Out) {
	if o.overflow != nil {
		o.overflow.expire(now, out.late)
	}
	for i := range o.size() {
		o.resend(o.at(i), now, out)
		o.writeUnclaimed(o.at(i), now, out)
		o.writePenalty(o.at(i), now, out)
	}
	for leaveAt := now; leaveAt <= now; leaveAt, _ = o.answerEarlyAt() { // a check that is due may have stood behind those that were served
		o.answerEarly(now, out)
		o.run(now, out)
	}
}

// run does what waits in its order, as far as that can be done now, and gives back the memory that nothing needs then.
func (o *Owner) run(now int64, out *Out) {
	for o.Waiting() > 0 && o.serve(o.overflow.first(), now, out) {
		o.overflow.pop()
	}
	for i := range o.size() {
		b := o.at(i)
		if l := b.ledger(); l != nil && len(l.rooms)+len(l.taken) > 0 && !o.awaited(b) {
			l.releaseUnclaimed(now, o.cfg)
			o.writeUnclaimed(b, now, out)
		}
		o.writePenalty(b, now, out)
		b.settle(o.cfg, out)
	}
	o.release(out)
}

// serve does what w waits for, if that can be done now.
func (o *Owner) serve(w *waiter, now int64, out *Out) bool {
	switch {
	case w.Deadline <= now:
		out.late(w)
		return true
	case w.reset != nil:
		done, err := o.reset(w, now, out)
		if p := w.reset.Penalties(); done && err == nil && p != nil {
			w.reset, w.resetSeq = p, 0
			return o.serve(w, now, out)
		}
		if done {
			out.Replies = append(out.Replies, Reply{Tag: w.Tag, Err: err})
		}
		return done
	case w.permits != nil:
		return o.takeOut(w, now, out)
	case w.settles != nil:
		return o.settle(w, now, out)
	default:
		return o.decide(&w.Check, now, out)
	}
}

// resend does what has become due with the reservation in flight: it sends it again when answers are missing, as long as a
// check waits, and gives it up when it was refused and leaving out the silent replicas costs little.
func (o *Owner) resend(b *bucket, now int64, out *Out) {
	t := b.replication()
	if t == nil {
		return
	}
	t.paused = false
	p := t.pending
	switch {
	case p == nil:
	case now >= b.silentAt(p, o.cfg):
		o.giveUp(b, now, true, out)
	case now < p.resendAt:
	case o.Waiting() == 0:
		t.pending = nil
	default:
		p.renew(now, o.cfg)
		out.Sends = append(out.Sends, p.Send)
	}
}

// Due is when [Owner.Wake] wants to be called next, on the clock of its now; math.MaxInt64 for never.
func (o *Owner) Due() int64 {
	due := int64(math.MaxInt64)
	if o.overflow != nil {
		away, _ := o.answerEarlyAt()
		due = min(o.overflow.earliest(), away)
	}
	for i := range o.size() {
		due = min(due, o.at(i).due(o.cfg))
	}
	return due
}

// due is when the bucket wants to be woken.
func (b *bucket) due(cfg *Config) int64 {
	due := int64(math.MaxInt64)
	if l := b.ledger(); l != nil && b.pending() == nil {
		due = l.due()
	}
	t := b.replication()
	if t == nil {
		return due
	}
	if p := t.pending; p != nil {
		due = min(b.silentAt(p, cfg), p.resendAt)
	} else if t.paused {
		due = min(due, t.retryAt)
	}
	return due
}

// due is when the ledger is to be written although no check waits for it.
func (l *ledger) due() int64 {
	due := int64(math.MaxInt64)
	if l.releaseAt != 0 {
		due = l.releaseAt
	}
	if l.penalties != nil && l.penalties.due {
		due = min(due, l.penalties.writeAt)
	}
	return due
}

// Idle says whether forgetting this owner loses nothing: no check waits, no segment is held, no return could be used.
// Otherwise it says when to ask again.
func (o *Owner) Idle(now int64) (idle bool, again int64) {
	if o.Waiting() > 0 {
		return false, math.MaxInt64
	}
	idle = true
	for i := range o.size() {
		until := o.at(i).busyUntil(now, o.cfg)
		if until > now {
			idle = false
			again = max(again, until)
		}
	}
	return idle, again
}
