package rlqs

import (
	"container/heap"
	"math"

	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/jeton-dev/jeton/actor/limit"
)

// maxBuckets is how many buckets one stream may have.
const maxBuckets = 10_000

// Subscriptions are the buckets of one stream: what it reports goes in, and what it is to be told comes out. They are pure, and one goroutine's.
//
//	report ─▶ bucket, due now ─▶ step: ask ─┬─▶ given:   an assignment ─▶ due again before it is over
//	                                        ├─▶ nothing: deny all, at the last ─▶ due again soon
//	                                        └─▶ failed: due again, later and later
//	             no requests for a minute ─▶ abandon     no reports ─▶ forgotten
type subscriptions struct {
	buckets map[target]*bucket
	due     queue
	out     []action
	random  func() float64 // from 0 to 1
	tag     func() uint64
	seat    func() bool // takes a seat for a further bucket, if there is one, …
	leave   func()      // … and gives it back
	count   *counts
	refused func(refusal, target, error)
}

// report takes in what Envoy reports of one bucket: the first time it subscribes. Doc is the stored limits in force; nil while they are not known.
func (s *subscriptions) report(now, wall int64, u usage, doc *limit.Document) {
	at, err := targetOf(u.id.GetBucket())
	if err != nil {
		s.refuse(u, at, refusedID, err)
		return
	}
	b := s.buckets[at]
	if b == nil {
		if doc == nil {
			return // the next report is in time
		}
		if _, why := termsOf(doc, at, wall); why != "" {
			s.refuse(u, at, why, nil)
			return
		}
		if len(s.buckets) >= maxBuckets || !s.seat() {
			s.refuse(u, at, refusedFull, nil)
			return
		}
		b = &bucket{target: at, id: u.id, tag: s.tag(), serial: int32(s.random() * serials), due: now}
		s.buckets[at] = b
		heap.Push(&s.due, b)
	}
	s.count.excess.Add(float64(b.report(now, u)))
	heap.Fix(&s.due, b.place)
}

// refuse tells Envoy to deny all requests of a bucket, which is not kept: it is asked about again with the next report. Where there is no room for the bucket, or for
// what it is to be told, Envoy goes by its own configuration. Detail, if not nil,
// says more.
func (s *subscriptions) refuse(u usage, at target, why refusal, detail error) {
	s.refused(why, at, detail)
	if len(u.id.GetBucket()) > 0 && why != refusedFull && len(s.out) < 2*maxActions {
		s.out = append(s.out, action{id: u.id, strategy: all(typev3.RateLimitStrategy_DENY_ALL), life: denied})
	}
}

// next is when something is due; math.MaxInt64 for never.
func (s *subscriptions) next() int64 {
	if len(s.due) == 0 {
		return math.MaxInt64
	}
	return s.due[0].due
}

// step does what is due: it says what to ask for, at most so many.
func (s *subscriptions) step(now, wall int64, doc *limit.Document, most int) (asks []ask) {
	for len(asks) < most && s.next() <= now {
		b := s.due[0]
		switch {
		case b.demand.silent(now):
			s.forget(b)
			continue
		case now-b.demand.quiet > idle:
			s.out = append(s.out, action{id: b.id})
			s.forget(b)
			continue
		case doc == nil:
			b.failed(now, s.random())
		default:
			t, why := termsOf(doc, b.target, wall)
			if why != "" {
				s.refuse(usage{id: b.id}, b.target, why, nil)
				s.forget(b)
				continue
			}
			asks = append(asks, b.ask(now, t))
			b.due = math.MaxInt64 // until its answer comes
		}
		heap.Fix(&s.due, b.place)
	}
	return asks
}

// forget forgets a bucket.
func (s *subscriptions) forget(b *bucket) {
	heap.Remove(&s.due, b.place)
	delete(s.buckets, b.target)
	s.leave()
}

// An answer is to an ask.
type answer struct {
	ask   ask
	lease *limit.Lease // nil for none
	retry int64        // of a denial, in nanoseconds
	err   error        // nothing was decided
}

// answered takes in an answer. It is not taken if the bucket is forgotten meanwhile.
func (s *subscriptions) answered(now int64, a *answer) (taken bool) {
	b := a.ask.of
	if s.buckets[b.target] != b {
		return false
	}
	switch {
	case a.err != nil:
		b.failed(now, s.random())
	case a.lease == nil:
		if deny, ok := b.nothing(now, a.retry, s.random()); ok {
			s.out = append(s.out, deny)
		}
	default:
		s.out = append(s.out, b.given(now, &a.ask, a.lease))
	}
	heap.Fix(&s.due, b.place)
	return true
}

// late takes in that an assignment was not handed over in time.
func (s *subscriptions) late(now int64, of *bucket) {
	if s.buckets[of.target] == of {
		of.late(now)
		heap.Fix(&s.due, of.place)
	}
}

// close forgets all.
func (s *subscriptions) close() {
	for range s.buckets {
		s.leave()
	}
}
