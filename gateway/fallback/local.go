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
	sweepStep  = 1000 // buckets looked at in one go
	sweepAlong = 4    // buckets looked at whenever one is made
)

// buckets are the local ones, decided by the arithmetic of [limit.Rule]. A bucket that is full again is as good as none
// and is forgotten: a few are looked at whenever one is made, and all every ten seconds as long as there are some. That
// and the maximum bound the memory; a key beyond the maximum is denied, as it would otherwise be granted a full bucket
// again and again.
//
// They outlive an outage until they are full, so that a cluster which fails by fits grants nothing anew each time.
type buckets struct {
	now     func() int64
	most    int
	refused atomic.Uint64 // checks, because there were too many buckets

	mu      sync.Mutex
	latest  int64 // the clock when it was last looked at
	slots   []bucket
	index   map[bucketID]int // into slots
	hand    int              // the slot to sweep next
	timer   *time.Timer      // for the next sweep; nil while there is none to come
	closed  bool
	running sync.WaitGroup // a sweep that is to come or under way
}

// A bucketID tells buckets apart.
type bucketID struct{ limit, key string }

// A bucket is one that is not full, or was not when it was last looked at.
type bucket struct {
	id   bucketID
	rule *limit.Rule // that tat is a position of
	tat  limit.Pos
}

func newBuckets(now func() int64) *buckets {
	return &buckets{now: now, most: maxBuckets, index: map[bucketID]int{}}
}

// size is how many buckets there are.
func (b *buckets) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.slots)
}

// clockLocked is the time, which never goes back.
func (b *buckets) clockLocked() int64 {
	b.latest = max(b.latest, b.now())
	return b.latest
}

// A reading is what one limit says to a check.
type reading struct {
	tat, end limit.Pos
	slot     int // -1: there is no bucket, it is full
	allowed  bool
}

// decide decides r by its parts, none of which may be nil, all or none. ok is false when that cannot be: then r is
// denied.
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
	if len(b.slots)+len(parts) > b.most {
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
	if charged && len(b.slots)+missing > b.most {
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

// readLocked holds a check against one bucket.
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
	id := bucketID{rule.Name, strings.Clone(key)} // a key may be a piece of something much longer
	b.index[id] = len(b.slots)
	b.slots = append(b.slots, bucket{id: id, rule: rule, tat: at.tat})
}

// outcome tells what was decided. A cost that is within the limit, but above this gateway's part of it, is not one that
// can never pass: its wait is how long the part takes to refill as much, by when somebody else may decide again.
func (p *part) outcome(at *reading, now, cost int64) limit.Outcome {
	o := p.own.Outcome(at.tat, now, cost, at.end, at.allowed)
	if o.Never && cost <= p.whole.Capacity {
		o.Never = false
		o.RetryAfter = p.own.Wait(at.end, now)
	}
	return o
}

// sweepLocked looks at the next n buckets, and forgets those that are full.
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

// armLocked makes sure that a sweep is to come.
func (b *buckets) armLocked() {
	if b.timer == nil && !b.closed {
		b.running.Add(1)
		b.timer = time.AfterFunc(sweepEvery, b.sweep)
	}
}

// sweep looks at all buckets, a part of them at a time so that no check waits for long.
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
	b.slots, b.index = nil, map[bucketID]int{} // neither ever shrinks by itself
}

// close sweeps no more.
func (b *buckets) close() {
	b.mu.Lock()
	b.closed = true
	if b.timer != nil && b.timer.Stop() {
		b.running.Done()
	}
	b.mu.Unlock()
	b.running.Wait()
}
