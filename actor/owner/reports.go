package owner

import (
	"github.com/jeton-dev/jeton/actor/limit"
)

// startReplication begins a replication with what the bucket at rest knows, unless there is one.
func (b *bucket) startReplication(out *Out) *replication {
	x := b.extras()
	if x.replication == nil {
		t := out.reusable.replication()
		for i := range t.reported {
			t.reported[i] = b.latest(i)
		}
		x.replication = t
	}
	return x.replication
}

// noteReport keeps the latest of what a replica said: its answer to what is in flight, even if that tells of an older generation
// than its refusal of a reset did, or what is furthest on.
func (b *bucket) noteReport(a Answer, out *Out) {
	h, p := b.latest(a.Replica), b.pending()
	if p != nil && p.Seq == a.Seq || a.Generation > h.generation || a.Generation == h.generation && a.Position > h.position {
		b.startReplication(out).reported[a.Replica] = reported{a.Generation, a.Position}
	}
}

// noteRival notes when a replica tells of line that this owner does not know to be its own.
func (b *bucket) noteRival(a Answer, now int64) {
	if b.ledger() != nil || a.Generation < b.gen {
		return
	}
	own := max(b.held.to, b.next().to)
	switch p := b.pending(); {
	case p == nil:
	case p.Seq == a.Seq && a.Verdict != Accepted:
		own = p.From
	default:
		own = max(own, p.To)
	}
	if a.Position > own {
		b.extras().rivalAt = now
	}
}

// confirms says whether an answer tells a bucket at rest no more than that one more replica has accepted what it holds, and
// notes it: of each reservation's answers, those that come after the majority.
func (b *bucket) confirms(a Answer) bool {
	if b.replication() != nil || a.Verdict != Accepted || a.Generation != b.gen || a.Position != b.held.to {
		return false
	}
	b.confirmed |= 1 << a.Replica
	return true
}

// enterGeneration enters a newer generation, of which nothing is known yet: the bucket has been reset.
func (b *bucket) enterGeneration(generation int64, out *Out) {
	t := b.startReplication(out)
	*t = replication{reported: t.reported, tries: t.tries, retryAt: t.retryAt}
	b.forgetReturns()
	if b.extra != nil {
		b.extra.holds = nil
	}
	b.gen, b.tat, b.held = generation, limit.Pos{}, segment{}
}

// settle ends the replication when it holds nothing but what a bucket at rest keeps.
func (b *bucket) settle(cfg *Config, out *Out) {
	t := b.replication()
	if t == nil || t.pending != nil || t.refused != nil || t.next != (segment{}) || t.tries > 0 || t.skewed || t.paused {
		return
	}
	agree := uint8(0)
	for i, h := range t.reported[:cfg.Replicas] {
		switch h {
		case reported{}:
		case reported{b.gen, b.held.to}:
			agree |= 1 << i
		default:
			return
		}
	}
	b.confirmed, b.extra.replication = agree, nil
	out.reusable.keepReplication(t)
	b.spare()
}
