package owner

import (
	"math"
)

// reported is the latest that a replica said of its register.
type reported struct{ generation, position int64 }

// freeIn is from where on the replica would accept in that generation. What it reserved under an older one does not count
// if the reset knew of it.
func (h reported) freeIn(generation int64) int64 {
	if h.generation < generation && h.position <= generation {
		return 0
	}
	return h.position
}

// A replication is what passes between a bucket and its replicas. A bucket at rest has none: nothing is in flight, nothing is
// refused, and the latest that each replica said is either nothing or what the bucket holds.
type replication struct {
	reported [MaxReplicas]reported // by replica
	next     segment               // reserved too, and not touching Hi: entered only when the held one cannot serve
	nextFar  stretch               // by how much it lay ahead then
	pending  *pending              // the reservation in flight, if there is one: it is flight
	flight   pending
	refused  *refusal // the reservation given up last, until one is accepted
	retryAt  int64    // after a refusal, reserve nothing before this time
	tries    uint8    // refusals in a row
	skewed   bool     // the last one because of the clock
	paused   bool     // something waits for retryAt
}

// backOff makes the next try wait for a random time, the longer the more tries there were.
func (t *replication) backOff(now int64, cfg *Config) { t.retryAt = now + t.pause(maxDouble, cfg) }

// pause draws how long the next try waits, and counts it.
func (t *replication) pause(doublings uint8, cfg *Config) int64 {
	d := cfg.Rand(firstPause << min(t.tries, doublings))
	if t.tries < math.MaxUint8 {
		t.tries++
	}
	return d
}

// replication is the bucket's, or nil if it is at rest.
func (b *bucket) replication() *replication {
	if b.extra == nil {
		return nil
	}
	return b.extra.replication
}

// latest is what a replica said last.
func (b *bucket) latest(replica int) reported {
	if t := b.replication(); t != nil {
		return t.reported[replica]
	}
	if b.confirmed&(1<<replica) != 0 {
		return reported{b.gen, b.held.to}
	}
	return reported{}
}

// next is the segment held in reserve; empty if there is none.
func (b *bucket) next() segment {
	if t := b.replication(); t != nil {
		return t.next
	}
	return segment{}
}

// pending is the reservation in flight, or nil.
func (b *bucket) pending() *pending {
	if t := b.replication(); t != nil {
		return t.pending
	}
	return nil
}

// refused is the reservation given up last, or nil if one was accepted since.
func (b *bucket) refused() *refusal {
	if t := b.replication(); t != nil {
		return t.refused
	}
	return nil
}

// pausing says whether a refusal is too recent to reserve again; if so, the owner is woken when it is not any more.
func (b *bucket) pausing(now int64) bool {
	t := b.replication()
	if t == nil {
		return false
	}
	t.paused = now < t.retryAt
	return t.paused
}

// pauseUntil has nothing reserved before that time, and the owner woken then.
func (b *bucket) pauseUntil(until, now int64) {
	t := b.replication()
	t.retryAt = max(t.retryAt, until)
	b.pausing(now)
}

// forgetReplicas forgets all that replicas have said. The next segment stays.
func (b *bucket) forgetReplicas() {
	b.confirmed = 0
	if t := b.replication(); t != nil {
		*t = replication{next: t.next, nextFar: t.nextFar}
	}
}
