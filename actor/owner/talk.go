package owner

// A heard is the latest that a replica said of its register.
type heard struct{ generation, position int64 }

// A talk is what passes between a bucket and its replicas. A bucket at rest has none: nothing is in flight, nothing is
// refused, and the latest that each replica said is either nothing or what the bucket holds.
type talk struct {
	heard   [MaxReplicas]heard // by replica
	next    segment            // reserved too, and not touching Hi: entered only when the held one cannot serve
	nextFar stretch            // by how much it lay ahead then
	pending *pending           // the reservation in flight, if there is one: it is flight
	flight  pending
	refused *refusal // the reservation given up last, until one is accepted
	retryAt int64    // after a refusal, reserve nothing before this time
	tries   uint8    // refusals in a row
	skewed  bool     // the last one because of the clock
	paused  bool     // something waits for retryAt
}

// talk is the bucket's, or nil if it is at rest.
func (b *bucket) talk() *talk {
	if b.extra == nil {
		return nil
	}
	return b.extra.talk
}

// open begins a talk with what the bucket at rest knows, unless there is one.
func (b *bucket) open(out *Out) *talk {
	x := b.extras()
	if x.talk == nil {
		t := out.spare.talk()
		for i := range t.heard {
			t.heard[i] = b.latest(i)
		}
		x.talk = t
	}
	return x.talk
}

// settleDown ends the talk when there is no more to it than a bucket at rest knows.
func (b *bucket) settleDown(cfg *Config, out *Out) {
	t := b.talk()
	if t == nil || t.pending != nil || t.refused != nil || t.next != (segment{}) || t.tries > 0 || t.skewed || t.paused {
		return
	}
	agree := uint8(0)
	for i, h := range t.heard[:cfg.Replicas] {
		switch h {
		case heard{}:
		case heard{b.gen, b.held.to}:
			agree |= 1 << i
		default:
			return
		}
	}
	b.agree, b.extra.talk = agree, nil
	out.spare.keepTalk(t)
	if b.extra.returns == nil && b.extra.older.n == 0 {
		b.extra = nil
	}
}

// latest is what a replica said last.
func (b *bucket) latest(replica int) heard {
	if t := b.talk(); t != nil {
		return t.heard[replica]
	}
	if b.agree&(1<<replica) != 0 {
		return heard{b.gen, b.held.to}
	}
	return heard{}
}

// hear keeps the latest of what a replica said: its answer to what is in flight, even if that tells of an older generation
// than its refusal of a reset did, or what is furthest on.
func (b *bucket) hear(a Answer, out *Out) {
	h, p := b.latest(a.Replica), b.pending()
	if p != nil && p.Seq == a.Seq || a.Generation > h.generation || a.Generation == h.generation && a.Position > h.position {
		b.open(out).heard[a.Replica] = heard{a.Generation, a.Position}
	}
}

// next is the segment held in reserve; empty if there is none.
func (b *bucket) next() segment {
	if t := b.talk(); t != nil {
		return t.next
	}
	return segment{}
}

// pending is the reservation in flight, or nil.
func (b *bucket) pending() *pending {
	if t := b.talk(); t != nil {
		return t.pending
	}
	return nil
}

// refused is the reservation given up last, or nil if one was accepted since.
func (b *bucket) refused() *refusal {
	if t := b.talk(); t != nil {
		return t.refused
	}
	return nil
}
