package fallback

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	maxBuckets = 100_000
	sweepEvery = 10 * time.Second
	sweepStep  = 1000 // buckets swept under one lock
	sweepAlong = 4    // buckets swept whenever one is made
)

// buckets are the local buckets, decided by the arithmetic of [limit.Rule]. A bucket that is full again is the same as none, so
// the sweep removes it: a few are swept whenever one is made, and all every ten seconds as long as there are some. The sweep and
// the maximum bound the memory. A key beyond the maximum is denied; otherwise each of its checks would find a full bucket.
//
// Buckets outlive an outage until they are full, so that a cluster which fails again and again does not grant them anew each
// time.
type buckets struct {
	now     func() int64
	max     int
	refused atomic.Uint64 // checks denied because there were too many buckets

	mu      sync.Mutex
	latest  int64 // the latest reading of the clock
	slots   []bucket
	index   map[bucketID]int // into slots
	hand    int              // the slot to sweep next
	timer   *time.Timer      // for the next sweep; nil if none is scheduled
	closed  bool
	running sync.WaitGroup // a sweep that is scheduled or running
}

// A bucketID identifies a bucket.
type bucketID struct{ limit, key string }

// A bucket is one that was not full at the last sweep.
type bucket struct {
	id   bucketID
	rule *limit.Rule // the rule whose position tat is
	tat  limit.Pos
}

func newBuckets(now func() int64) *buckets {
	return &buckets{now: now, max: maxBuckets, index: map[bucketID]int{}}
}

// size is the number of buckets.
func (b *buckets) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.slots)
}

// clockLocked reads the clock; its result never goes back.
func (b *buckets) clockLocked() int64 {
	b.latest = max(b.latest, b.now())
	return b.latest
}

// A reading is the result of one limit for a check, before anything is charged.
type reading struct {
	tat, end limit.Pos
	slot     int // -1: there is none, since the bucket is full
	allowed  bool
}

// decide decides r by the parts of its limits: all are charged or none is. ok is false when a limit cannot be decided locally or
// there is no room for its bucket: then r is denied.
func (b *buckets) decide(r *limit.Request, parts []*part) (d limit.Decision, ok bool) {
	for _, p := range parts {
		if p == nil || p.own == nil {
			return d, false
		}
	}
	cost := r.Tokens()
	if cost < 0 {
		return d, false
	}
	var room [4]reading
	readings := room[:0]
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clockLocked()
	if len(b.slots)+len(parts) > b.max {
		b.sweepLocked(now, sweepAlong+len(parts))
	}
	d.Allowed = true
	missing := 0
	for _, p := range parts {
		at := b.readLocked(p.own, r.Key, now, cost)
		readings = append(readings, at)
		d.Allowed = d.Allowed && at.allowed
		if at.slot < 0 {
			missing++
		}
	}
	charged := d.Allowed && cost > 0
	if charged && len(b.slots)+missing > b.max {
		b.refused.Add(1)
		return limit.Decision{}, false
	}
	d.Limits = make([]limit.Outcome, len(parts))
	for i, p := range parts {
		at := &readings[i]
		if charged {
			at.tat = at.end
			b.writeLocked(p.own, r.Key, at)
		}
		d.Limits[i] = p.outcome(at, now, cost)
	}
	if charged && missing > 0 {
		b.sweepLocked(now, sweepAlong)
		b.armLocked()
	}
	return d, true
}

// readLocked checks one bucket without charging it.
func (b *buckets) readLocked(rule *limit.Rule, key string, now, cost int64) reading {
	at := reading{slot: -1}
	if slot, ok := b.index[bucketID{rule.Name, key}]; ok {
		at.slot = slot
		at.tat = rule.Carry(b.slots[slot].rule, b.slots[slot].tat)
	}
	at.end = rule.End(at.tat, now, rule.Length(cost))
	at.allowed = !at.end.After(rule.Bound(now))
	return at
}

// writeLocked charges one bucket.
func (b *buckets) writeLocked(rule *limit.Rule, key string, at *reading) {
	if at.slot >= 0 {
		b.slots[at.slot].rule, b.slots[at.slot].tat = rule, at.tat
		return
	}
	id := bucketID{rule.Name, strings.Clone(key)} // key may share memory with a much longer string
	b.index[id] = len(b.slots)
	b.slots = append(b.slots, bucket{id: id, rule: rule, tat: at.tat})
}

// outcome is what the caller learns. A cost above this gateway's part of the limit, but within the whole limit, is not reported
// as Never: the wait is how long the part takes to refill that much, and by then the cluster may decide again.
func (p *part) outcome(at *reading, now, cost int64) limit.Outcome {
	o := p.own.Outcome(at.tat, now, cost, at.end, at.allowed)
	if o.Never && cost <= p.whole.Capacity {
		o.Never = false
		o.RetryAfter = p.own.Wait(at.end, now)
	}
	return o
}

// sweepLocked looks at the next n buckets and removes those that are full.
func (b *buckets) sweepLocked(now int64, n int) {
	for ; n > 0 && len(b.slots) > 0; n-- {
		if b.hand >= len(b.slots) {
			b.hand = 0
		}
		if b.slots[b.hand].tat.After(limit.At(now)) {
			b.hand++
			continue
		}
		last := len(b.slots) - 1
		delete(b.index, b.slots[b.hand].id)
		if b.hand < last {
			b.slots[b.hand] = b.slots[last]
			b.index[b.slots[b.hand].id] = b.hand
		}
		b.slots[last] = bucket{}
		b.slots = b.slots[:last]
	}
}

// armLocked schedules a sweep if none is scheduled.
func (b *buckets) armLocked() {
	if b.timer == nil && !b.closed {
		b.running.Add(1)
		b.timer = time.AfterFunc(sweepEvery, b.sweep)
	}
}

// sweep sweeps all buckets, sweepStep at a time so that no check waits long for the lock.
func (b *buckets) sweep() {
	defer b.running.Done()
	for left := b.size(); left > 0; left -= sweepStep {
		b.mu.Lock()
		b.sweepLocked(b.clockLocked(), sweepStep)
		b.mu.Unlock()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = nil
	if len(b.slots) > 0 {
		b.armLocked()
		return
	}
	b.slots, b.index = nil, map[bucketID]int{} // neither shrinks otherwise
}

// close cancels the scheduled sweep and waits for a running one.
func (b *buckets) close() {
	b.mu.Lock()
	b.closed = true
	if b.timer != nil && b.timer.Stop() {
		b.running.Done()
	}
	b.mu.Unlock()
	b.running.Wait()
}
