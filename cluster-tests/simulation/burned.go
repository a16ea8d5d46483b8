package simulation

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
)

// Line is burned if no owner has spent it and none can: an owner took it for reserved, passed it over, and got what lies
// behind. That breaks no rule of safety, so only counting shows it.
//
// An owner passes line over without need if a majority of its replicas would have accepted it, when the reservation was
// sent. A replica that is lost then, or was a moment before, would not have, and neither one whose clock differs too much;
// one that is merely late would. One that has forgotten since the owner woke is no better than lost: it had said that it would
// not.

// lostFor is how long an owner may take a replica for lost that was, and answers again.
const lostFor = 2 * second

// passedOver is the line that a reservation leaves out without need: from where a majority would have accepted it, and
// behind everything that some owner already had.
func (w *World) passedOver(p *process, key, bucket int, set *replicaSet, s *owner.Send) interval {
	if w.ledger.buckets[bucket].limit >= w.lines() {
		return interval{s.From, s.From} // a nanosecond of it is as good as another
	}
	var free [owner.MaxReplicas]int64
	for i, id := range set.ids {
		free[i] = w.freeAt(p, id, key, bucket, s)
	}
	slices.Sort(free[:len(set.ids)])
	from := max(free[ring.Majority(len(set.ids))-1], p.read())
	begin := p.read()
	if a := p.actors[key]; a != nil {
		begin = max(begin, a.begins) // what other limits make a check wait for is not spent, and a window that it waits for begins later
	}
	for _, rule := range w.limits[w.ledger.buckets[bucket].limit].all() { // where numbers say which windows there are, plans have others
		from = max(from, rule.Begin(begin))
	}
	if granted := w.ledger.buckets[bucket].era(s.Generation).granted; len(granted) > 0 {
		from = max(from, granted[len(granted)-1].to)
	}
	return interval{from, max(from, s.From)}
}

// freeAt is from where on a replica would accept a reservation now; math.MaxInt64 if it is lost to the owner.
func (w *World) freeAt(p *process, id ring.NodeID, key, bucket int, s *owner.Send) int64 {
	slot := int(id[0]) - 1
	n := &w.nodes[slot]
	q := n.proc
	lost := q == nil || q.id() != id || n.frozen || !q.joined || w.now < q.since+lostFor || w.now < p.lost[slot]+lostFor ||
		!w.connected(p.slot, slot) || !w.connected(slot, p.slot) || w.now < w.mended+lostFor
	if lost {
		return math.MaxInt64
	}
	a, partition := p.actors[key], w.keys[key].partition
	part, r := q.store.part(partition), q.store.cells[bucket].Register
	if part.Epoch != s.Epoch || part.Sealed || r.Generation > s.Generation || w.now < q.places[partition].since+lostFor {
		return math.MaxInt64
	}
	if s.Inline && q.store.full(bucket) {
		return math.MaxInt64
	}
	floored := part.Floored && w.now < part.Floor+cmp.Or(s.Lead, s.Reach)+w.bounds.Slack()
	if q.store.forgot && floored && (a == nil || a.woke < q.since) {
		return math.MaxInt64
	}
	return part.Free(r, s.Generation, cmp.Or(s.Lead, s.Reach), w.bounds)
}

// accepted notes that a replica has accepted a reservation. Once a majority has, its line belongs to its owner, and the line
// that it passed over to none.
func (l *ledger) accepted(r *reserved, slot int) {
	majority := ring.Majority(len(r.sets.ids))
	before := bits.OnesCount8(r.at)
	r.at |= 1 << slot
	if before >= majority || bits.OnesCount8(r.at) < majority {
		return
	}
	l.granted(r)
}

// granted notes that the line of a reservation now belongs to its owner.
func (l *ledger) granted(r *reserved) {
	w, account := l.w, l.buckets[r.bucket]
	e := account.era(r.generation)
	e.granted.add(r.From, r.To)
	left := r.passed
	if left.from >= left.to {
		return
	}
	name := w.bucketName(account.key, account.limit)
	w.count("line skipped without need")
	w.say(account.key, "%s of %s is skipped without need", w.span(left.from, left.to), name)
	e.burned.add(left.from, left.to)
	if most := w.mayPassOver(account.limit, r.Reach); left.to-left.from > most && !w.variant.outcome {
		w.violate(account.key, "%s of %s is burned at once: a majority would have accepted it, and at most %s may be skipped", w.span(left.from, left.to),
			name, seconds(most))
	}
}

// mayPassOver is how much line one reservation may pass over without need: a tenth of the bucket, and in any case two tokens and
// what refills in 0.4 s; and twice what an owner may reserve beyond what it needs. It is twice what an owner passes over rather than wait for a
// silent replica.
func (w *World) mayPassOver(limit int, reach int64) int64 {
	token, spare := int64(0), int64(0)
	for _, rule := range w.limits[limit].all() {
		token, spare = max(token, rule.Length(1).Ceil()), max(spare, rule.SpareLine())
	}
	return 2*spare + max(reach/10, 2*token, 400*ms)
}

// burnedShare bounds what may be burned of a bucket in a whole run: one part in so many of what was reserved of it and of
// one bucket, and as much as one reservation may pass over in any case. Rivals of a busy key burn most. Besides, each start that sets a floor
// moves a replica apart from the others, and owners may pass over once what lies between.
const burnedShare = 5

// burned holds the line of each bucket that was burned against its bound, once all is over.
func (l *ledger) burned() {
	for _, account := range l.buckets {
		burned, granted := int64(0), int64(0)
		for _, e := range account.eras {
			for _, g := range e.granted {
				e.burned.cut(g.from, g.to)
			}
			granted += e.granted.length()
			burned += e.burned.length()
		}
		reach := l.w.limits[account.limit].ahead()
		if burned > 0 {
			l.w.count("buckets with burned line")
			l.w.counts["burned line, in milliseconds"] += int(burned / ms)
		}
		apart := int64(l.w.floors) * l.w.mayPassOver(account.limit, reach) / 2
		if most := max((granted+reach)/burnedShare, l.w.mayPassOver(account.limit, 0)) + apart; burned > most {
			l.w.violate(account.key, "%s of the line of %s is burned, but at most %s may be", seconds(burned), l.w.bucketName(account.key, account.limit), seconds(most))
		}
	}
}
