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

// buckets are the local buckets, each a [limit.Memory]. A bucket that is full again is the same as none, so
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
	id bucketID
	limit.Memory
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

// decide decides r by the parts of its limits: all are charged or none is. ok is false when a limit cannot be decided locally or
// there is no room for its bucket: then r is denied.
func (b *buckets) decide(r *limit.Request, parts []*part) (d limit.Decision, ok bool) {
	for _, p := range parts {
		if p == nil || p.own == nil && p.by.Verdict() == limit.Decides {
			return d, false
		}
	}
	cost := r.Tokens()
	if cost < 0 {
		return d, false
	}
	var room [4]int
	slots := room[:0] // of the buckets; -1 for one that is full, and so is not kept
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clockLocked()
	at := now + b.waitLocked(r, parts, now)
	if len(b.slots)+len(parts) > b.max {
		b.sweepLocked(now, sweepAlong+len(parts))
	}
	d.Allowed = true
	missing := 0
	for _, p := range parts {
		if p.by.Verdict() != limit.Decides {
			slots = append(slots, -1)
			d.Allowed = d.Allowed && (cost == 0 || p.by.Verdict() == limit.Passes)
			continue
		}
		slot := b.slotLocked(p.own, r.Key)
		slots = append(slots, slot)
		if slot < 0 {
			missing++
		}
		d.Allowed = d.Allowed && b.memoryLocked(slot).Allows(p.own, at, cost)
	}
	charged := d.Allowed && cost > 0
	if charged && len(b.slots)+missing > b.max {
		b.refused.Add(1)
		return limit.Decision{}, false
	}
	if charged {
		d.Wait = time.Duration(at - now)
	}
	d.Limits = make([]limit.Outcome, len(parts))
	for i, p := range parts {
		if slots[i] < 0 && charged && p.by.Verdict() == limit.Decides {
			slots[i] = b.addLocked(p.own, r.Key)
		}
		d.Limits[i] = p.decide(b.memoryLocked(slots[i]), now, at, cost, charged)
	}
	if charged && missing > 0 {
		b.sweepLocked(now, sweepAlong)
		b.armLocked()
	}
	return d, true
}

// waitLocked is how much later than now r begins, if it may wait that long; otherwise nothing. A place is not given up: who leaves has
// spent it.
func (b *buckets) waitLocked(r *limit.Request, parts []*part, now int64) int64 {
	longest := int64(0)
	for _, p := range parts {
		if p.by.Verdict() == limit.Passes {
			continue
		}
		if r.Wait == 0 || p.by.Verdict() == limit.Denies || p.own.AllowsWait(r.Wait) != nil || r.Tokens() > p.own.Capacity {
			return 0
		}
		longest = max(longest, int64(b.memoryLocked(b.slotLocked(p.own, r.Key)).Wait(p.own, now, r.Tokens())))
	}
	if longest > int64(r.Wait) {
		return 0
	}
	return longest
}

// slotLocked is where the bucket of a key is; -1 if it is full.
func (b *buckets) slotLocked(rule *limit.Rule, key string) int {
	if slot, ok := b.index[bucketID{rule.Name, key}]; ok {
		return slot
	}
	return -1
}

// memoryLocked is the bucket in that slot, or a full one for -1. It is valid until a bucket is added.
func (b *buckets) memoryLocked(slot int) *limit.Memory {
	if slot < 0 {
		return new(limit.Memory)
	}
	return &b.slots[slot].Memory
}

// addLocked adds a full bucket and returns its slot.
func (b *buckets) addLocked(rule *limit.Rule, key string) int {
	id := bucketID{rule.Name, strings.Clone(key)} // key may share memory with a much longer string
	b.index[id] = len(b.slots)
	b.slots = append(b.slots, bucket{id: id})
	return len(b.slots) - 1
}

// decide charges the bucket of one limit, or only looks at it, and is what the caller learns. A cost above this gateway's part of
// the limit, but within the whole limit, is not reported as Never: the wait is how long the part takes to refill that much, and by
// then the cluster may decide again.
func (p *part) decide(m *limit.Memory, now, at, cost int64, charged bool) limit.Outcome {
	o := p.outcome(m, now, at, cost, charged)
	p.by.Tell(&o)
	return o
}

// outcome is what the part says, or the verdict of its override. A check that waits is charged as of the time at which it begins.
func (p *part) outcome(m *limit.Memory, now, at, cost int64, charged bool) limit.Outcome {
	verdict := p.by.Verdict()
	switch {
	case verdict == limit.Passes:
		return limit.Outcome{Name: p.whole.Name, Allowed: true, Limit: p.whole.Capacity, Remaining: p.whole.Capacity}
	case verdict == limit.Denies && cost > 0:
		return limit.Outcome{Name: p.whole.Name, Limit: p.whole.Capacity, RetryAfter: limit.RetryOfBlock, ResetAfter: limit.RetryOfBlock}
	case verdict == limit.Denies:
		return limit.Outcome{Name: p.whole.Name, Allowed: true, Limit: p.whole.Capacity, ResetAfter: limit.RetryOfBlock}
	case charged:
		return m.Decide(p.own, at, cost)
	}
	o := m.Look(p.own, now, cost)
	if o.Never && cost <= p.whole.Capacity {
		o.Never = false
		o.RetryAfter = m.Wait(p.own, now, cost)
	}
	return o
}

// sweepLocked looks at the next n buckets and removes those that are full.
func (b *buckets) sweepLocked(now int64, n int) {
	for ; n > 0 && len(b.slots) > 0; n-- {
		if b.hand >= len(b.slots) {
			b.hand = 0
		}
		if !b.slots[b.hand].Full(now) {
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
