package simulation

import (
	"math"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// An actor is one key that is awake at a node: its owner, run as package actor runs it.
type actor struct {
	key       int
	partition ring.Partition
	owner     owner.Owner
	woke      int64 // true time at which it did
	last      int64 // when it was asked something last
	alarm     int64 // true time at which it will be called; math.MaxInt64 for never
	gone      bool
	ahead     bool     // it has reserved in the background
	begins    int64    // the latest clock reading at which a check that waits may begin
	next      [2]int64 // the next segment that it was seen to keep
	requests  []*request
}

// A request is one whose answer an actor remembers, for callers that ask again.
type request struct {
	id       uint64
	rules    []*limit.Rule // by which it is decided, whatever is in force when it is told again
	at       int64
	begins   int64 // see ask
	done     bool
	decision limit.Decision
	waiting  []*ask
}

const (
	idleAfter   = second
	rememberFor = 10 * second // less than nodes do, so that more is decided anew
)

// An ask is a check, reset or return that has come to a node.
type ask struct {
	call    *call
	attempt int
	at      int64 // true time at which the clock was read for it
	reading int64 // what it showed
	ahead   int64 // by how much it was ahead
	shows   int64 // until this true time it shows the same
	held    bool  // or for longer, because the clock was held: known when the check is decided
	begins  int64 // true time from which on its caller may begin, likewise
	rules   []*limit.Rule
	known   *request
	exact   *verdict // what a bucket without failures says
	permits []owner.Permit
	settles []owner.Settle
	places  []int // of the settlements in the history
}

// check puts a check of a caller before its owner.
func (p *process) check(c *call, attempt int) {
	k := &p.w.keys[c.key]
	if !p.serves(c, attempt) {
		return
	}
	a := p.wake(c.key, k.partition)
	if a == nil {
		p.w.count("requests at nodes that do not keep the key")
		p.refuse(c, attempt)
		return
	}
	now := p.read()
	q := &ask{call: c, attempt: attempt, at: p.w.now, reading: now, ahead: now - p.w.now, shows: p.w.now + max(0, now+p.w.grain-1-p.clock.raw(p.w.now))}
	for _, l := range c.limits {
		q.rules = append(q.rules, p.ruleOf(c, l))
	}
	if p.w.variant.staleClock {
		d := throw(p.w.seed, forVariant, c.id, uint64(p.w.now))
		q.reading -= d.between(0, 3*second)
	}
	deadline := now + min(maxWait, c.until-p.w.now)
	a.last = now
	if c.what == resets {
		p.w.ledger.resetAsked(c.key, c.limits[0])
		p.step(a, func(o *owner.Owner, now int64, out *owner.Out) { o.Reset(q, q.rules[0], now, deadline, out) })
		return
	}
	if !p.resolves(q) || c.what != leases && p.repeated(a, q, now) { // an ask that is repeated is a new one
		return
	}
	a.delayed(q)
	p.countDefined(a, q)
	if p.w.reference != nil && !p.w.takesHolds(c.limits[0]) {
		q.exact = p.w.reference.asked(c, q)
	}
	p.step(a, func(o *owner.Owner, _ int64, out *owner.Out) {
		o.Check(owner.Check{
			Tag: q, At: q.reading, Deadline: deadline, Rules: q.rules, Cost: c.cost, Receipts: !k.bare, Extend: c.permit(), Wait: c.delay,
			Hold: c.holdFor, Least: c.least, Lease: c.life(),
		}, out)
	})
}

// serves says whether this node decides anything at present; if not, the caller gets an error.
func (p *process) serves(c *call, attempt int) bool {
	p.compareSoon()
	switch {
	case !p.joined:
	case !p.clockAgrees():
		p.w.count("refused because the node's clock is wrong")
	default:
		return true
	}
	p.refuse(c, attempt)
	return false
}

// resolves says whether the limits, as this node knows them, have the plan of a check and let it wait so long. If not, no node is asked
// again.
func (p *process) resolves(q *ask) bool {
	if c := q.call; c.plan != "" && p.w.documents[p.version()].CheckPlan(c.plan, p.w.refs(c.limits)) != nil {
		p.w.count("plans that a limit does not have")
		c.conclude(false)
		return false
	}
	if q.call.what == leases && !p.lends(q) {
		q.call.conclude(false)
		return false
	}
	for _, rule := range q.rules {
		if rule.AllowsWait(time.Duration(q.call.delay)) != nil {
			p.w.count("waits that a limit does not allow")
			q.call.conclude(false)
			return false
		}
	}
	return true
}

// delayed is up to when checks of an owner may begin: line that could be spent before may be left out for them.
func (a *actor) delayed(q *ask) {
	a.begins = max(a.begins, q.reading+q.call.delay)
}

// repeated says whether the check has an answer already, or will have.
func (p *process) repeated(a *actor, q *ask, now int64) bool {
	kept := a.requests[:0]
	var known *request
	for _, r := range a.requests {
		if r.done && now-r.at > rememberFor {
			continue
		}
		kept = append(kept, r)
		if r.id == q.call.id {
			known = r
		}
	}
	a.requests = kept
	if known == nil {
		q.known = &request{id: q.call.id, rules: q.rules}
		a.requests = append(a.requests, q.known)
		return false
	}
	q.rules = known.rules
	if known.done {
		q.begins = known.begins
		p.w.count("repeated checks answered from memory")
		p.answer(q, known.decision, nil)
	} else {
		p.w.count("repeated checks that waited for the first answer")
		known.waiting = append(known.waiting, q)
	}
	return true
}

// wake is the key's actor, woken if need be; nil if the key is not kept here.
func (p *process) wake(key int, partition ring.Partition) *actor {
	if a := p.actors[key]; a != nil {
		return a
	}
	at := &p.places[partition]
	if at.set == nil || !p.makeRoom() {
		return nil
	}
	p.awake++
	a := &actor{key: key, partition: partition, owner: owner.Owner{Terms: at.terms}, woke: p.w.now, alarm: math.MaxInt64}
	p.actors[key] = a
	p.visit(a, idleAfter)
	return a
}

// makeRoom forgets a key when too many are awake: of those without waiting checks, the one that was asked for longest ago,
// whatever it holds. It says whether there is room for another key.
func (p *process) makeRoom() bool {
	if p.w.room == 0 || p.awake < p.w.room {
		return true
	}
	var oldest *actor
	for _, a := range p.actors {
		if a != nil && a.owner.Waiting() == 0 && (oldest == nil || a.last < oldest.last) {
			oldest = a
		}
	}
	if oldest == nil {
		p.w.count("refused because too many keys are in memory")
		return false
	}
	p.w.count("keys evicted to free memory")
	p.w.say(oldest.key, "%s evicts %s to free memory", p.name, p.w.keys[oldest.key].name)
	p.forget(oldest)
	return true
}

// visit looks again and again whether an actor can be forgotten.
func (p *process) visit(a *actor, in int64) {
	p.after(in, func() {
		if a.gone {
			return
		}
		now := p.read()
		idle, again := a.owner.Idle(now)
		if idle && now >= a.last+idleAfter && len(a.requests) == 0 {
			p.forget(a)
			return
		}
		if idle && now >= a.last+rememberFor+idleAfter {
			a.requests = nil
		}
		next := idleAfter
		if !idle && again != math.MaxInt64 {
			next = max(next, again-now)
		}
		p.visit(a, next)
	})
}

func (p *process) forget(a *actor) {
	a.gone = true
	p.awake--
	p.actors[a.key] = nil
	p.w.ledger.forgotten(p, a.key)
}

// step runs one actor where its partition is now, and passes on what comes of it.
func (p *process) step(a *actor, f func(o *owner.Owner, now int64, out *owner.Out)) {
	at := &p.places[a.partition]
	now := p.read()
	out := &p.out
	out.Reset()
	if a.owner.Terms != at.terms {
		if at.set == nil {
			p.leave(a)
			return
		}
		p.w.count("epochs entered by owners")
		a.owner.Enter(at.terms, now, out)
	}
	f(&a.owner, now, out)
	p.noteNext(a, now)
	sends, replies := out.Sends, out.Replies
	for i := range sends {
		p.reserve(a, at.set, sends[i])
	}
	for i := range replies {
		p.reply(a, replies[i])
	}
	if due := a.owner.Due(); due != math.MaxInt64 {
		p.wakeAt(a, p.w.now+max(due-now, 0))
	}
}

// noteNext counts the next segments that owners of busy keys keep and enter.
func (p *process) noteNext(a *actor, now int64) {
	if !a.ahead {
		return
	}
	var next [2]int64
	for _, v := range a.owner.Views(now) {
		if v.Next[1] > v.Next[0] {
			next = v.Next
		}
	}
	switch {
	case next == a.next:
	case next[1] > next[0]:
		p.w.count("next segments kept")
	default:
		for _, v := range a.owner.Views(now) {
			if v.Hi == a.next[1] {
				p.w.count("next segments entered")
			}
		}
	}
	a.next = next
}

// leave forgets an actor whose partition this node has no longer.
func (p *process) leave(a *actor) {
	p.w.count("owners ended with their partition")
	a.owner.Tags(func(tag any) {
		if q, ok := tag.(*ask); ok {
			p.refuse(q.call, q.attempt)
		}
	})
	p.forget(a)
}

// wakeAt sees to it that the actor is called at a true time, or earlier.
func (p *process) wakeAt(a *actor, at int64) {
	if at >= a.alarm {
		return
	}
	a.alarm = at
	p.w.push(event{at: at, slot: p.slot, life: p.life, what: func() {
		if a.gone || a.alarm != at {
			return
		}
		a.alarm = math.MaxInt64
		switch now, due := p.read(), a.owner.Due(); {
		case due == math.MaxInt64:
			return
		case due > now: // its clock is slow or coarse
			p.wakeAt(a, p.w.now+max(due-now, ms))
			return
		}
		p.step(a, func(o *owner.Owner, now int64, out *owner.Out) { o.Wake(now, out) })
	}})
}

// reserve asks all replicas for a piece of the line.
func (p *process) reserve(a *actor, set *replicaSet, s owner.Send) {
	w, l := p.w, p.w.limitOf(s.Limit)
	a.ahead = a.ahead || s.Background
	bucket := w.bucket(a.key, l)
	generation := s.Generation
	if w.variant.counters {
		generation = w.ledger.counted(p, bucket, &s)
	}
	r := w.ledger.asked(p, a.key, l, set, &s, generation)
	m := register.Reservation{
		Writer: register.Writer(p.owner), Seq: s.Seq, Epoch: s.Epoch, Now: p.read(), Partition: a.partition,
		Key: w.keys[a.key].name, Limit: s.Limit, Generation: generation, From: s.From, To: s.To, Reach: s.Reach, Lead: s.Lead,
		Claim: s.Claim, Ledger: s.Ledger, Expire: s.Expire, Inline: s.Inline,
	}
	for i, id := range set.ids {
		said := func(v register.Answer) { p.said(a, set, i, &m, r, v, nil) }
		lost := func() { p.said(a, set, i, &m, r, register.Answer{}, errLost) }
		if id == p.id() {
			local := m
			local.Now = 0
			p.store.reserve(bucket, local, r.decided(w, p.slot), func(v register.Answer) {
				w.ledger.stored(r, i, v)
				said(v)
			})
			continue
		}
		p.carry(bucket, m, id, i, r, said, lost)
	}
}

// carry brings a reservation to another node, and its answer back.
func (p *process) carry(bucket int, m register.Reservation, id ring.NodeID, i int, r *reserved, said func(register.Answer), lost func()) {
	to := int(id[0]) - 1
	failed := func() {
		if !p.dead {
			p.after(0, lost)
		}
	}
	p.w.send(letter{from: p.slot, to: to, id: id, salt: m.Seq, undeliver: failed, deliver: func(q *process) {
		if !q.isOpen {
			q.w.count("reservations at a node that has not proved its disk")
			failed()
			return
		}
		m.Arrived = q.read()
		q.compareSoon()
		q.store.reserve(bucket, m, r.decided(q.w, q.slot), func(v register.Answer) {
			q.w.ledger.stored(r, i, v)
			q.w.send(letter{
				from: q.slot, to: p.slot, id: p.id(), salt: m.Seq + 1<<60, undeliver: failed,
				deliver: func(back *process) {
					if back == p {
						said(v)
					}
				},
			})
		})
	}})
}

// said brings an owner what a replica has answered.
func (p *process) said(a *actor, set *replicaSet, i int, m *register.Reservation, r *reserved, v register.Answer, err error) {
	if a.gone || p.dead {
		return
	}
	answer := owner.Answer{Replica: i, Limit: m.Limit, Seq: m.Seq, Epoch: m.Epoch, Verdict: owner.Lost}
	if err == nil {
		answer.Verdict, answer.Position, answer.Generation = owner.VerdictOf(v.Verdict), v.Position, v.Generation
		answer.Version, answer.Ledger, answer.Floored = v.Version, v.Ledger, v.Floored
		if p.w.variant.counters {
			answer.Generation = p.w.ledger.uncounted(p, r, v.Generation)
		}
	} else {
		p.w.counts["answers lost"]++
		p.lost[int(set.ids[i][0])-1] = p.w.now
	}
	if answer.Verdict == owner.Skewed {
		p.lost[int(set.ids[i][0])-1] = p.w.now
	}
	if m.Claim && answer.Verdict == owner.Accepted {
		p.w.ledger.told(r, i, v.Version)
	}
	p.step(a, func(o *owner.Owner, now int64, out *owner.Out) {
		if p.places[a.partition].set != set {
			return
		}
		o.Answer(answer, now, out)
		if p.w.variant.impatient {
			p.guess(a, set, i, r, answer)
		}
		if p.w.variant.one && answer.Verdict == owner.Accepted {
			for other := range set.ids {
				answer.Replica = other
				o.Answer(answer, now, out)
			}
		}
	})
}

// ruleOf is by what a node decides what a call asks of a limit: by its own document, or as the call defines it.
func (p *process) ruleOf(c *call, l int) *limit.Rule {
	if p.w.defined[l] {
		return p.w.limits[l].rules[c.version]
	}
	return p.w.ruleOf(p.version(), l, c.key, c.plan)
}

// countDefined counts which checks define their limits, and which otherwise than the last one did.
func (p *process) countDefined(a *actor, q *ask) {
	for i, l := range q.call.limits {
		if !p.w.defined[l] {
			continue
		}
		p.w.count("checks that define their limit")
		if p.w.acrossChange(&a.owner, q.rules[i], q.reading) {
			p.w.count("checks that define their limit otherwise than the last one")
		}
	}
}

// lends says whether a node lends to an edge that asks: both go by the same numbers, and their clocks are near.
func (p *process) lends(q *ask) bool {
	asks := q.call.asks
	if q.rules[0].LeaseTerms() != asks.terms {
		p.w.count("leases refused: other numbers")
		return false
	}
	if off := asks.sent - q.reading; max(off, -off) > tolerance {
		p.w.count("leases refused: other clocks")
		return false
	}
	return true
}
