package rlqs

import (
	"math"
	"time"

	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The times of a bucket, in nanoseconds.
const (
	// idle is how long a bucket is kept that has no requests.
	idle = int64(time.Minute)
	// lead is how long before an assignment is over the next one is asked for, if it lasts so long.
	lead = int64(750 * time.Millisecond)
	// lastCall is how long before it is over Envoy is told to deny all, if there is no next one.
	lastCall = int64(250 * time.Millisecond)
	// young is how long an assignment is not replaced, even if its tokens are spent sooner.
	young = int64(time.Second)

	shortestPause, longestPause = int64(100 * time.Millisecond), int64(time.Second) // after a denial of the owner
	firstBackoff, lastBackoff   = int64(250 * time.Millisecond), 2 * int64(time.Second)
)

// A bucket is the subscription of one Envoy to a bucket. It is pure: times are arguments, in nanoseconds of one clock that only goes on.
type bucket struct {
	target

	id     *rlqsv3.BucketId
	tag    uint64 // tells it from others of the same Envoy
	serial int32

	demand demand
	asking bool
	due    int64 // when to look at it again
	place  int   // in the queue of those that are due

	since  int64  // when Envoy was given something last; 0 for never
	until  int64  // when that is over
	tokens int64  // requests that it admits; 0 for a denial of all
	before int64  // what it was before
	budget uint64 // requests that Envoy may have let pass since its last report, by what it was given

	backoff int64
	rests   int64 // until when nothing is asked for, whatever is reported
}

// An ask is for the line of an assignment.
type ask struct {
	of     *bucket
	terms  terms
	at     int64
	tokens int64
}

// An action is for Envoy: an assignment, or, without a strategy, to abandon the bucket.
type action struct {
	id       *rlqsv3.BucketId
	strategy *typev3.RateLimitStrategy
	life     int64
	of       *bucket // of which it is an assignment of tokens; nil for others
	by       int64   // it is too late from then on; 0 for never
}

// report takes in what Envoy reports, and says how many requests it let pass beyond what it was given.
func (b *bucket) report(now int64, u usage) (excess uint64) {
	if b.demand.heard > 0 && u.allowed > b.budget {
		excess = u.allowed - b.budget
	}
	b.budget = uint64(b.tokens) //nolint:gosec // not negative
	if now-b.since < slack {    // Envoy may have made the report before it had that
		b.budget += uint64(b.before) //nolint:gosec // likewise
	}
	b.demand.report(now, saturating(u.allowed, u.denied), u.elapsed)
	if b.tokens > 0 && !b.asking {
		b.due = min(b.due, max(b.spent(), b.rests))
	}
	return excess
}

// ask asks for the next assignment.
func (b *bucket) ask(now int64, t terms) ask {
	b.asking = true
	span := t.life - min(lead, t.life/2) + lastCall
	return ask{of: b, terms: t, at: now, tokens: b.demand.wants(span, t.rule.Capacity)}
}

// spent is when the tokens that Envoy was given last are spent, as far as can be expected. They are replaced then: what is left of them is lost.
func (b *bucket) spent() int64 {
	if !b.demand.known || float64(b.tokens) > b.demand.rate*float64(longest)/1e9 {
		return math.MaxInt64
	}
	return b.since + max(int64(1e9*float64(b.tokens)/b.demand.rate), young)
}

// given takes in a lease, and says what Envoy is to be told.
func (b *bucket) given(now int64, a *ask, l *limit.Lease) action {
	b.asking, b.backoff = false, 0
	b.serial = (b.serial + 1) % serials
	most := maxTokens(a.terms.rule.TokensIn(l.End-l.Start), a.terms.life)
	b.assign(now, debit(most, a.terms.life), a.terms.life)
	b.due = min(b.until-min(lead, a.terms.life/2), b.spent())
	return action{id: b.id, strategy: tokenBucket(most, b.serial), life: a.terms.life, of: b, by: a.at + handOver}
}

// assign notes what Envoy is given.
func (b *bucket) assign(now, tokens, life int64) {
	b.before, b.tokens, b.since, b.until = b.tokens, tokens, now, now+life
	b.budget = saturating(b.budget, uint64(tokens)) //nolint:gosec // not negative
}

// nothing takes in that the owner has nothing for it, and would have after so long. Shortly before Envoy has nothing in force any more it is told to deny all.
func (b *bucket) nothing(now, retry int64, random float64) (deny action, ok bool) {
	b.asking, b.backoff = false, 0
	pause := int64(float64(min(max(retry, shortestPause), longestPause)) * (0.5 + random))
	b.rests = now + pause
	b.due = b.rests
	if b.until-now > lastCall+shortestPause/2 {
		b.due = min(b.due, b.until-lastCall)
		if b.tokens > 0 || b.until-now > 2*longestPause {
			return action{}, false
		}
	}
	b.due = b.rests
	b.assign(now, 0, denied)
	return action{id: b.id, strategy: all(typev3.RateLimitStrategy_DENY_ALL), life: denied}, true
}

// failed takes in that nothing was decided. What Envoy has runs out, and it goes by its own configuration then.
func (b *bucket) failed(now int64, random float64) {
	b.asking = false
	b.backoff = min(max(2*b.backoff, firstBackoff), lastBackoff)
	b.rests = now + int64(float64(b.backoff)*(0.5+random))
	b.due = b.rests
}

// late takes in that an assignment was not handed over in time: Envoy does not have it.
func (b *bucket) late(now int64) {
	b.tokens, b.until, b.due = 0, now, now
}
