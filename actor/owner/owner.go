// Package owner is the owner's half of jeton's protocol, as pure steps: how one key's checks are decided from a
// segment of each bucket's line that is held in memory, and when and how more line is reserved at the replicas. It has
// no clock, no goroutine and no I/O: every step takes the time, and appends what is to be sent and answered to an [Out].
//
// The owner is a cache; a majority of the replicas' registers is the truth. Any number of owners may act for a key at
// once: what each spends, a majority accepted as its own.
//
//	check at t, of length L on the line
//	  end = max(TAT, t) + L
//	  end > t + τ        deny: no I/O
//	  end ≤ Hi           admit: TAT = end, no I/O
//	  otherwise          reserve (from, to] with from = max(Hi, free, t), wait for a majority, and decide again
//
//	────────────────┬──────────────┬───────────────┬──────────────▶ line
//	  spent         TAT  segment   Hi  unreserved  t+τ
//
// where free is from where a majority would say yes, as far as the replicas have told.
//
// Start with [Owner.Check].
package owner

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Config is what all owners of a process share.
type Config struct {
	// Replicas is how many replicas keep each register, at least 1 and at most MaxReplicas.
	Replicas int
	// Delta is Δ, the time for which a busy key reserves ahead, in nanoseconds.
	Delta int64
	// Busy is how many checks there must be in Delta for a key to reserve more than it spends. A key below that loses
	// nothing when its owner dies.
	Busy int
	// Slack is how far beyond now + reach the line can have been reserved by anybody, in nanoseconds.
	Slack int64
	// Resend is after how long without enough answers a reservation is sent again, in nanoseconds. 0 means never: for
	// replicas that answer every reservation.
	Resend int64
	// Patience is how long a check waits, from its time on, for a majority that is lost, in nanoseconds: connections break
	// and are made again. For one that was lost long ago nobody waits. And who waits for replicas that have said nothing for a
	// quarter of it is sent away while there is time to ask elsewhere. 0 means that nobody waits for what is lost, and that
	// there is nowhere else: for a replica that does not come back.
	Patience int64
	// ReturnFor is how long after the last check of a bucket its receipts are remembered, in nanoseconds.
	ReturnFor int64
	// NextSeq draws a number that this process has never used before.
	NextSeq func() uint64
	// Nonce draws 64 bits that nobody can predict: receipts are known by them. Required for checks that ask for receipts.
	Nonce func() uint64
	// Rand draws a number from 0 to n−1. Owners that collide part by it.
	Rand func(n int64) int64
}

// MaxReplicas is the most replicas that an owner can count.
const MaxReplicas = 5

// Defaults of a Config's times, in nanoseconds: 100 ms and 10 minutes.
const (
	DefaultDelta     = int64(100e6)
	DefaultReturnFor = int64(600e9)
)

// Defaults for replicas on several nodes, in nanoseconds: 1 s and 200 ms. Whoever is slow for a moment is not helped by
// being asked again.
const (
	DefaultResend   = int64(1e9)
	DefaultPatience = int64(200e6)
)

// DefaultBusy is 16 checks in Delta, 160 a second: above what a person or a script does to one key, and few enough that
// an fsync for each is cheap.
const DefaultBusy = 16

// majority is W = ⌊R/2⌋ + 1.
func (c *Config) majority() int { return c.Replicas/2 + 1 }

// spare is R − W: so many replicas may fail.
func (c *Config) spare() int { return c.Replicas - c.majority() }

// A Check is a request whose limits have been found, as it waits for its decision.
type Check struct {
	Tag      any // comes back with the Reply
	At       int64
	Deadline int64 // node clock; after it no decision is made
	Rules    []*limit.Rule
	Cost     int64
	Receipts bool
	// Outcomes is memory for the Limits of the Reply's Decision. What its capacity has no room for is allocated.
	Outcomes []limit.Outcome

	counted bool // its length is part of its buckets' demand
}

// A Reply answers a Check or a reset: a Decision, or the error because of which there is none.
type Reply struct {
	Tag      any
	Decision limit.Decision
	Err      error
}

// A Send asks all replicas for the segment (From, To] of a bucket's line. The same Seq again is a repetition.
type Send struct {
	Limit      string
	Seq        uint64
	Epoch      uint64
	Generation int64
	From, To   int64
	Reach      int64
	Inline     bool // a request has defined the limit
	Background bool // nobody waits for it
}

// Out collects what a step wants done. It is reused from step to step; the caller empties it. What owners need for a
// moment only is kept here between their steps: a caller who runs many owners has one Out for all of them.
type Out struct {
	Replies []Reply
	Sends   []Send

	trials []trial // scratch
	spare  spare
}

// Reset empties o for the next steps.
func (o *Out) Reset() {
	clear(o.Replies)
	o.Replies, o.Sends = o.Replies[:0], o.Sends[:0]
}

// An Owner decides for one key: it holds all of the key's buckets and the checks that wait. One caller at a time. There
// may be millions of them: most have one bucket and nobody who waits, and that is what an Owner has room for. One with
// nothing but its Terms knows nothing yet.
type Owner struct {
	*Terms        // to be replaced by Enter only
	bucket bucket // the first one; without a rule if there is none yet
	crowd  *crowd // the others, and who waits; nil for neither
}

// New is an owner that knows nothing yet, under terms of its own. id is the name of its process, epoch that of the key's
// replica set.
func New(cfg *Config, id limit.OwnerID, epoch uint64) *Owner {
	return &Owner{Terms: NewTerms(cfg, id, epoch)}
}

// Check decides c, or keeps it until it can be decided. Checks that wait are decided in their order; one that no wait
// can help is denied at once.
func (o *Owner) Check(c Check, out *Out) {
	o.tidy(c.At)
	switch {
	case o.Waiting() == 0:
		if o.decide(&c, c.At, out) {
			return
		}
	case o.changes(c.Rules):
		// Under another rule the bucket forgets what refusals have taught it, and what waits would wait for ever.
	default:
		if trials, denied := o.try(&c, out); denied {
			o.deny(&c, trials, out)
			return
		}
	}
	o.await(waiter{Check: c}, out)
}

// Reset fills the bucket of rule. It takes its place among the waiting checks.
func (o *Owner) Reset(tag any, rule *limit.Rule, now, deadline int64, out *Out) {
	o.await(waiter{Check: Check{Tag: tag, At: now, Deadline: deadline}, reset: rule}, out)
	if o.Waiting() == 1 {
		o.run(now, out)
	}
}

// Wake does what has become due by now. See [Owner.Due].
func (o *Owner) Wake(now int64, out *Out) {
	if o.crowd != nil {
		o.crowd.expire(now, out)
	}
	for i := range o.size() {
		o.resend(o.at(i), now, out)
	}
	for leaveAt := now; leaveAt <= now; leaveAt, _ = o.sendAwayAt() { // who has to leave too may have stood behind those who were served
		o.sendAway(now, out)
		o.run(now, out)
	}
}

// run does what waits in its order, as far as that can be done now, and gives back the memory that nothing needs then.
func (o *Owner) run(now int64, out *Out) {
	for o.Waiting() > 0 && o.serve(o.crowd.first(), now, out) {
		o.crowd.pop()
	}
	for i := range o.size() {
		o.at(i).settleDown(o.cfg, out)
	}
	o.disperse(out)
}

// serve does what w waits for, if that can be done now.
func (o *Owner) serve(w *waiter, now int64, out *Out) bool {
	switch {
	case w.Deadline <= now:
		out.late(w)
		return true
	case w.reset != nil:
		return o.reset(w, now, out)
	default:
		return o.decide(&w.Check, now, out)
	}
}

// fail answers everything that waits with err.
func (o *Owner) fail(err error, out *Out) {
	for o.Waiting() > 0 {
		out.Replies = append(out.Replies, Reply{Tag: o.crowd.first().Tag, Err: err})
		o.crowd.pop()
	}
}

// A trial is what one bucket says to a check.
type trial struct {
	bucket *bucket
	length limit.Pos
	result
}

// try asks every bucket of c whether it could be admitted.
func (o *Owner) try(c *Check, out *Out) (trials []trial, denied bool) {
	if len(c.Rules) > cap(out.trials) {
		out.trials = make([]trial, len(c.Rules))
	}
	trials = out.trials[:len(c.Rules)]
	for i, rule := range c.Rules {
		t := &trials[i]
		t.bucket, t.length = o.of(rule, out), rule.Length(c.Cost)
		t.result = t.bucket.test(c.At, c.Cost, t.length, o.cfg)
		denied = denied || t.verdict == deny
	}
	return trials, denied
}

// decide answers c if that can be done now: every limit is tested for denial first, so that nothing is reserved in
// vain; then what is needed is reserved, and only when all buckets admit is any of them charged.
func (o *Owner) decide(c *Check, now int64, out *Out) bool {
	trials, denied := o.try(c, out)
	if !denied && enterNext(trials) {
		trials, denied = o.try(c, out)
	}
	if denied {
		o.deny(c, trials, out)
		return true
	}
	ready := true
	for i := range trials {
		t := &trials[i]
		if !c.counted {
			t.bucket.load.note(c.At, t.length, o.cfg.Delta)
		}
		switch t.verdict {
		case wait:
			ready = false
			o.reserve(t, c.At, now, out)
		case hold:
			ready = false
		case admit, deny, enter:
		}
	}
	c.counted = true
	if ready {
		o.admit(c, now, trials, out)
	}
	return ready
}

// enterNext moves every bucket that can only so serve the check into its next segment, and says whether one did.
func enterNext(trials []trial) (entered bool) {
	for i := range trials {
		if t := &trials[i]; t.verdict == enter {
			t.bucket.enterNext()
			entered = true
		}
	}
	return entered
}

func (o *Owner) deny(c *Check, trials []trial, out *Out) {
	d := limit.Decision{Limits: c.outcomes()}
	for i := range trials {
		t := &trials[i]
		d.Limits[i] = t.bucket.outcome(c, t)
		t.bucket.remember(c.At, c.Cost, false)
	}
	out.Replies = append(out.Replies, Reply{Tag: c.Tag, Decision: d})
}

func (o *Owner) admit(c *Check, now int64, trials []trial, out *Out) {
	d := limit.Decision{Allowed: true, Limits: c.outcomes()}
	if c.Receipts && c.Cost > 0 {
		d.Receipts = make([]limit.Receipt, len(trials))
	}
	for i := range trials {
		t := &trials[i]
		b := t.bucket
		if c.Cost > 0 {
			span := b.spend(c.At, t.length)
			if c.Receipts {
				d.Receipts[i] = o.receipt(b, span)
			}
		}
		spent := b.spentAt(c.At)
		if c.Cost == 0 {
			spent = t.end
		}
		d.Limits[i] = b.rule.Outcome(spent, c.At, c.Cost, t.end, true)
		b.remember(c.At, c.Cost, true)
		o.reserveAhead(b, max(c.At, now), t.length, out)
	}
	out.Replies = append(out.Replies, Reply{Tag: c.Tag, Decision: d})
}

// outcomes is room for what every limit says to c.
func (c *Check) outcomes() []limit.Outcome {
	if n := len(c.Rules); n <= cap(c.Outcomes) {
		return c.Outcomes[:n]
	}
	return make([]limit.Outcome, len(c.Rules))
}

// Warm brings what a check will need of the owner into the processor's caches, and returns something that means nothing,
// so that it is not left out. Done for many owners before their checks, they wait for memory together.
func (o *Owner) Warm() int {
	if x := o.bucket.extra; x != nil {
		return x.older.n
	}
	return 0
}

// Due is when [Owner.Wake] wants to be called next, on the clock of its now; math.MaxInt64 for never.
func (o *Owner) Due() int64 {
	due := int64(math.MaxInt64)
	if o.crowd != nil {
		away, _ := o.sendAwayAt()
		due = min(o.crowd.earliest(), away)
	}
	for i := range o.size() {
		due = min(due, o.at(i).due(o.cfg))
	}
	return due
}

// Idle says whether forgetting this owner loses nothing: nobody waits, no segment is held, no return could be used.
// Otherwise it says when that is to be asked again.
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
