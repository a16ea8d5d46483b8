package simulation

import (
	"math/bits"
	"reflect"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A ledger sees everything: what every owner reserves and spends, and holds it against what is promised.
type ledger struct {
	w       *World
	buckets []*account
	numbers []numbers // of each owner's name, the highest number that it has used
	step    uint64
	tally   tally
	held    heldTally
	lents   map[serial]*lent
	latest  []storedLedger          // by bucket: the latest that a majority has stored
	writers map[int][]limit.OwnerID // by bucket: who has written it since this was made; nil for not of interest
}

type numbers struct {
	name  limit.OwnerID
	last  uint64
	life  int
	slot  int
	holds [][]*reserved // by bucket: what this life of it has reserved

	counts []counted // of a variant
}

// An account is what was spent of one bucket.
type account struct {
	key, limit int
	eras       []*era
	meters     []*meter
	asked      int   // resets, that may happen yet or not
	reach      int64 // the longest of any rule under which line was asked for
}

// An era is what was spent of a bucket in one generation.
type era struct {
	generation int64
	position   int64 // everything of earlier generations counts up to here and no further
	spent      intervals
	granted    intervals // what a majority has accepted for any owner
	burned     intervals // what was passed over without need
	over       []over
	rules      []rulebook // what of spent was under which rule
}

// An over says that a reset was done: no line up to there is reserved in an earlier generation from that step on.
type over struct {
	position int64
	step     uint64
	reach    int64 // the longest of any rule by then: the position may lie as far ahead
	far      int64 // no owner with a right clock can have reserved line from here on by then
}

// A reserved is a reservation that an owner has sent.
type reserved struct {
	owner.Send

	bucket     int
	lead       int64 // how far ahead line can be reserved under the limit, as this owner knows it
	generation int64 // as replicas hear it
	sets       *replicaSet
	by         uint8    // which replicas have answered that they accept it
	heard      uint8    // of which replicas the owner has heard
	highest    int64    // from where on one of those accepts
	at         uint8    // at which slots it was accepted
	passed     interval // the line that it leaves out without need
	first      uint64   // the step at which the first one accepted it; 0 for never
	owner      limit.OwnerID
	toldBy     uint8 // to a claim of holds, which replicas have told what they have, as far as the owner has heard …
	told       int64 // … and the latest version of it
	ahead      int64 // of the true time, the owner's clock when it was sent
	sent, lag  int64 // when that was, and how long it has taken to be accepted
}

func newLedger(w *World) *ledger {
	l := &ledger{w: w, held: newHeldTally(w), lents: map[serial]*lent{}, latest: make([]storedLedger, len(w.keys)*len(w.limits))}
	for k := range w.keys {
		for i := range w.limits {
			l.buckets = append(l.buckets, &account{key: k, limit: i})
		}
	}
	return l
}

// of is what is known of a life of owners.
func (l *ledger) of(p *process) *numbers {
	for i := len(l.numbers) - 1; i >= 0; i-- {
		if n := &l.numbers[i]; n.slot == p.slot && n.life == p.life {
			return n
		}
	}
	n := numbers{name: p.owner, slot: p.slot, life: p.life, holds: make([][]*reserved, len(l.buckets))}
	if !l.w.variant.sameName {
		for i := range l.numbers {
			if l.numbers[i].name == p.owner {
				l.w.violate(noKey, "the owner id %s is used by two processes", ownerName(p.owner))
			}
		}
	}
	l.numbers = append(l.numbers, n)
	return &l.numbers[len(l.numbers)-1]
}

// ended forgets the life of a process. No process can spend what it has reserved.
func (l *ledger) ended(p *process) { l.of(p).holds = nil }

func (l *ledger) forgotten(p *process, key int) {
	for i := range l.w.limits {
		l.of(p).holds[l.w.bucket(key, i)] = nil
	}
}

// asked notes that an owner sends a reservation.
func (l *ledger) asked(p *process, key, limit int, set *replicaSet, s *owner.Send, generation int64) *reserved {
	w, n, bucket := l.w, l.of(p), l.w.bucket(key, limit)
	list := n.holds[bucket]
	for _, before := range slices.Backward(list) {
		if before.Seq == s.Seq {
			before.sentAgain(p, key, limit, s)
			return before
		}
	}
	if s.Seq <= n.last && !w.variant.sameName {
		w.violate(key, "%s reuses the sequence number %d", p.name, s.Seq)
	}
	n.last = s.Seq
	r := &reserved{Send: *s, bucket: bucket, generation: generation, sets: set, owner: p.owner, ahead: p.clock.ahead(w.now), sent: w.now}
	r.lead = s.Reach
	if v, ok := p.actors[key].owner.View(w.limits[limit].name, p.read()); ok {
		r.lead = w.lead(v.Rule)
	}
	l.buckets[bucket].reach = max(l.buckets[bucket].reach, s.Reach)
	r.passed = w.passedOver(p, key, bucket, set, s)
	switch {
	case s.From == s.To:
		r.passed = interval{}
		w.say(key, "%s wants to reset %s to generation %s: number %d, in epoch %d, free from %s on", p.name, w.bucketName(key, limit),
			w.clockTime(generation), s.Seq, s.Epoch, w.clockTime(s.From))
	case s.Background:
		w.count("reservations in the background")
		fallthrough
	default:
		w.say(key, "%s asks for %s of %s%s: number %d, in epoch %d", p.name, w.span(s.From, s.To), w.bucketName(key, limit),
			w.inGeneration(generation), s.Seq, s.Epoch)
	}
	w.counts["reservations"]++
	if len(list) > 64 {
		old := p.read() - 2*maxWait
		list = slices.DeleteFunc(list, func(r *reserved) bool { return r.To < old })
	}
	n.holds[bucket] = append(list, r)
	return r
}

// sentAgain notes that it is.
func (r *reserved) sentAgain(p *process, key, limit int, s *owner.Send) {
	w := p.w
	if !reflect.DeepEqual(r.Send, *s) {
		w.violate(key, "%s sends number %d again, for a different segment", p.name, s.Seq)
	}
	w.count("reservations sent again")
	if ahead := p.clock.ahead(w.now); max(ahead, -ahead) < max(r.ahead, -r.ahead) {
		r.ahead = ahead
	}
	w.say(key, "%s asks again for %s of %s, as number %d", p.name, w.span(s.From, s.To), w.bucketName(key, limit), s.Seq)
}

// decided takes note that a replica has decided a reservation.
func (r *reserved) decided(w *World, slot int) func(register.Answer) {
	return func(a register.Answer) {
		w.ledger.step++
		if a.Verdict == register.Accepted {
			r.lag = max(r.lag, w.now-r.sent)
			w.ledger.accepted(r, slot)
			if r.first == 0 {
				r.first = w.ledger.step
			}
		}
		w.hash = scramble(w.hash ^ uint64(a.Verdict) ^ uint64(a.Position)<<3)
		if w.story == nil {
			return
		}
		key := r.bucket / len(w.limits)
		switch a.Verdict {
		case register.Accepted:
			w.say(key, "%s accepts %s%s, number %d of its owner", w.nodes[slot].name, w.span(r.From, r.To), w.inGeneration(r.generation), r.Seq)
		default:
			w.say(key, "%s refuses number %d: %s, free from %s on%s, epoch %d", w.nodes[slot].name, r.Seq, verdictName(a.Verdict),
				w.clockTime(a.Position), w.inGeneration(a.Generation), a.Epoch)
		}
	}
}

// stored takes note that a replica answers: what it has decided is durable, which it was not when it was decided.
func (l *ledger) stored(r *reserved, replica int, a register.Answer) {
	if a.Verdict != register.Accepted {
		return
	}
	majority, before := ring.Majority(len(r.sets.ids)), bits.OnesCount8(r.by)
	r.by |= 1 << replica
	if r.Ledger == nil {
		return
	}
	now := storedLedger{r.owner, r.From, r.To, r.Expire, r.Ledger}
	if before == 0 {
		l.held.tried(r.bucket, now)
	}
	if before < majority && bits.OnesCount8(r.by) == majority {
		if now.from >= l.latest[r.bucket].from {
			l.latest[r.bucket] = now
		}
		if l.writers != nil && !slices.Contains(l.writers[r.bucket], r.owner) {
			l.writers[r.bucket] = append(l.writers[r.bucket], r.owner)
		}
		l.held.written(r.bucket, now)
	}
}

// told takes in what a replica tells an owner to its claim. Once a majority has, the owner goes on from the latest of that.
func (l *ledger) told(r *reserved, replica int, version int64) {
	majority := ring.Majority(len(r.sets.ids))
	if bits.OnesCount8(r.toldBy) >= majority {
		return
	}
	r.toldBy |= 1 << replica
	if r.told = max(r.told, version); bits.OnesCount8(r.toldBy) == majority {
		l.held.claimed(r.bucket, r.From, r.told)
	}
}

// reservedBy are what majorities have accepted for a life of owners, of the line from start to end in one generation: the
// pieces that are not, and the reservations that are.
func (l *ledger) reservedBy(p *process, bucket int, generation, start, end int64) (missing intervals, by []*reserved) {
	missing.add(start, end)
	list := l.of(p).holds[bucket]
	for i := len(list) - 1; i >= 0 && len(missing) > 0; i-- {
		r := list[i]
		if r.generation != generation || bits.OnesCount8(r.by) < ring.Majority(len(r.sets.ids)) {
			continue
		}
		if missing.cut(r.From, r.To) {
			by = append(by, r)
		}
	}
	return missing, by
}

func (a *account) era(generation int64) *era {
	i, found := slices.BinarySearchFunc(a.eras, generation, func(e *era, g int64) int {
		switch {
		case e.generation < g:
			return -1
		case e.generation > g:
			return 1
		}
		return 0
	})
	if !found {
		a.eras = slices.Insert(a.eras, i, &era{generation: generation, position: generation})
	}
	return a.eras[i]
}

// resetAsked notes that a reset may happen, from now on.
func (l *ledger) resetAsked(key, limit int) {
	l.buckets[l.w.bucket(key, limit)].asked++
	l.tally.reset(l.w, key, limit)
	l.held.reset(l.w, key, limit)
	l.w.count("resets asked")
}

// resetDone notes that a majority has begun a new generation.
func (l *ledger) resetDone(p *process, a *actor, limit int) {
	w := l.w
	v, ok := a.owner.View(w.limits[limit].name, p.read())
	if !ok {
		return
	}
	w.count("resets done")
	if limit >= w.lines() {
		return // it has no generations
	}
	l.step++
	account := l.buckets[w.bucket(a.key, limit)]
	generation := v.Generation
	if w.variant.counters {
		generation = w.ledger.wire(p, w.bucket(a.key, limit), generation)
	}
	position := account.era(generation).position
	account.era(0)
	for _, e := range account.eras {
		if e.generation < generation {
			e.over = append(e.over, over{position, l.step, account.reach, w.now + account.reach + w.bounds.Slack()})
		}
	}
	w.say(a.key, "%s has reset %s: generation %s", p.name, w.bucketName(a.key, limit), w.clockTime(generation))
}
