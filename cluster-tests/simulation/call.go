package simulation

import (
	"errors"
	"slices"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
)

// errLost stands for an answer that a caller or an owner does not get.
var errLost = errors.New("lost")

// A call is something that a caller wants, on its way from node to node until one has the answer.
type call struct {
	w                     *World
	id                    uint64
	what                  wish
	order                 order
	key                   int
	limits                []int
	cost                  int64
	delay                 int64 // how much later than it comes it may begin
	plan                  string
	version               int // see wanted
	asks                  *asking
	begun                 int64
	until                 int64 // true time
	of                    *call // whose receipts are given back, or whose hold is settled
	holdFor, least, share int64 // see wanted
	open                  bool
	silent                int64 // for how long a node may be silent before the next one is asked

	attempts int
	round    int
	tried    []int
	over     bool
	ok       bool
	admitted bool
	receipts []limit.Receipt
	hold     *limit.Hold
	lease    *limit.Lease
	said     []limit.Outcome
	rules    []*limit.Rule // by which it was decided
	slot     int           // of the node that answered
	begins   int64         // true time from which on its caller may begin
	then     func(c *call)
}

// An asking is what an edge says when it asks an owner for a lease.
type asking struct {
	lease.Ask

	terms uint64 // of the rule by which it spends
	edge  int    // its number
	sent  int64  // by its clock
}

// life is for how long a call asks for line, 0 for no lease.
func (c *call) life() int64 {
	if c.asks == nil {
		return 0
	}
	return c.asks.Life
}

const rounds = 2

// callOf is a call that was not planned; its number says what has led to it.
func (w *World) callOf(id uint64, key, limit int, what wish, then func(*call)) *call {
	return &call{
		id: id, what: what, key: key, limits: []int{limit}, cost: 1, version: w.raft.state.limits,
		until: w.now + 2*second, silent: 200 * ms, then: then,
	}
}

// newCall is a check that was not planned.
func (w *World) newCall(key, limit int, then func(*call)) *call {
	w.unplanned++
	return w.callOf(1<<40+w.unplanned, key, limit, checks, then)
}

// giveBack gives receipts of a call back after a while.
func (w *World) giveBack(id uint64, of *call, receipts []limit.Receipt, after int64) {
	if len(receipts) == 0 {
		return
	}
	w.after(after, func() {
		c := w.callOf(id, of.key, of.limits[0], gives, nil)
		c.of, c.receipts = of, receipts
		w.begin(c)
	})
}

// begin sets a call out.
func (w *World) begin(c *call) {
	c.w, c.begun = w, w.now
	if (c.what == gives || c.what == extends) && !c.hasReceipts() {
		w.count("returns without receipts")
		return
	}
	if c.what == settles && (c.of == nil || c.of.hold == nil) {
		w.count("settlements without a hold")
		return
	}
	w.open[c.id] = c
	w.push(event{at: c.until, slot: -1, what: func() { c.conclude(false) }})
	c.next()
}

func (c *call) hasReceipts() bool {
	switch {
	case len(c.receipts) > 0:
		return true
	case c.of == nil || len(c.of.receipts) == 0:
		return false
	}
	c.receipts, c.key = c.of.receipts, c.of.key
	return true
}

// next asks the next node.
func (c *call) next() {
	if c.over {
		return
	}
	w := c.w
	slot := c.choose()
	if slot < 0 {
		if c.round++; c.round >= rounds {
			return // a silent replica may answer yet
		}
		c.tried = c.tried[:0]
		d := throw(w.seed, forCall, c.id, uint64(w.now))
		w.after(d.between(ms, 20*ms), c.next)
		return
	}
	c.tried = append(c.tried, slot)
	c.attempts++
	attempt := c.attempts
	if attempt > 1 {
		w.counts["asked again elsewhere"]++
	}
	moved := false
	move := func() {
		if !moved && c.attempts == attempt {
			moved = true
			c.next()
		}
	}
	w.send(letter{from: caller, to: slot, salt: c.id<<8 + uint64(attempt), undeliver: move, deliver: func(p *process) {
		if p.dead {
			return
		}
		switch c.what {
		case gives:
			p.giveBack(c, attempt)
		case settles:
			p.settle(c, attempt)
		case checks, resets, extends, leases:
			p.check(c, attempt)
		case spends, kills, shifts:
		}
	}})
	w.after(c.silent, move)
}

// choose is the slot of the node to ask next; −1 if all have been asked in this round.
func (c *call) choose() int {
	w := c.w
	d := throw(w.seed, forCall, c.id, uint64(c.round))
	s := w.raft.state
	if n := int64(len(w.raft.tables)); n > 0 && d.percent(w.stale) {
		s = w.raft.tables[d.below(n)]
	}
	var slots []int
	for _, id := range s.places[w.keys[c.key].partition].Replicas {
		slots = append(slots, int(id[0])-1)
	}
	switch {
	case c.what == gives && c.round == 0 && !d.percent(10):
		slots = slices.Insert(slots, 0, c.of.slot)
	case c.order == byChance:
		for i := range slots {
			j := i + int(d.below(int64(len(slots)-i)))
			slots[i], slots[j] = slots[j], slots[i]
		}
	case c.order == byRival && c.id%2 == 1 && len(slots) > 1:
		slots[0], slots[1] = slots[1], slots[0]
	case c.order == byRivals && len(slots) > 2:
		first := int(c.id % 3)
		slots[0], slots[first] = slots[first], slots[0]
	}
	for _, slot := range slots {
		if !slices.Contains(c.tried, slot) {
			return slot
		}
	}
	return -1
}

// refuse tells the caller that this node has no decision.
func (p *process) refuse(c *call, attempt int) {
	p.w.send(letter{from: p.slot, to: caller, salt: c.id<<8 + uint64(attempt) + 1<<62, deliver: func(*process) {
		if attempt == c.attempts {
			c.next()
		}
	}})
}

// answer tells the caller what was decided, or that nothing was.
func (p *process) answer(q *ask, d limit.Decision, err error) {
	c := q.call
	if err != nil {
		p.refuse(c, q.attempt)
		return
	}
	slot := p.slot
	p.w.send(letter{from: slot, to: caller, salt: c.id<<8 + uint64(q.attempt) + 1<<61, deliver: func(*process) {
		if c.over {
			p.w.count("answers after the end of their calls")
			return
		}
		c.slot, c.admitted, c.said = slot, d.Allowed, d.Limits
		if c.what == checks {
			c.receipts, c.rules, c.begins, c.hold = d.Receipts, q.rules, q.begins, d.Hold
		}
		if c.what == leases {
			c.rules, c.lease = q.rules, d.Lease
		}
		c.conclude(true)
	}})
}

// conclude ends a call.
func (c *call) conclude(ok bool) {
	if c.over {
		return
	}
	c.over, c.ok = true, ok
	delete(c.w.open, c.id)
	switch {
	case !ok:
		c.w.count("calls failed")
	case c.what == checks && c.admitted:
		c.w.counts["calls admitted"]++
	case c.what == checks:
		c.w.counts["calls denied"]++
	}
	if c.then != nil {
		c.then(c)
	}
}

// reply takes up what an owner has decided.
func (p *process) reply(a *actor, r owner.Reply) {
	q, ok := r.Tag.(*ask)
	if !ok {
		panic("simulation: a reply to an unknown caller")
	}
	w, c := p.w, q.call
	q.begins = q.counts(w) + int64(r.Decision.Wait)
	if known := q.known; known != nil {
		known.done, known.at, known.decision, known.begins = r.Err == nil, p.read(), r.Decision, q.begins
		for _, again := range known.waiting {
			again.begins = q.begins
			p.answer(again, r.Decision, r.Err)
		}
		known.waiting = nil
		if r.Err != nil {
			a.requests = slices.DeleteFunc(a.requests, func(r *request) bool { return r == known })
		}
	}
	switch {
	case r.Err != nil:
		w.countError(r.Err)
		w.say(c.key, "%s makes no decision on %s: %v", p.name, c, r.Err)
	case c.what == resets:
		w.ledger.resetDone(p, a, c.limits[0])
	case c.what == gives:
		w.ledger.tally.left(p, q)
	case c.what == settles:
		w.ledger.held.settled(p, q)
	case c.what == leases:
		r.Decision.Lease = r.Lease
		w.ledger.lend(p, q, r.Lease)
	default:
		w.ledger.decided(p, a, q, r.Decision)
		if q.exact != nil {
			w.reference.compare(p, q, r.Decision)
		}
	}
	p.answer(q, r.Decision, r.Err)
}

// giveBack puts receipts before the owner that made them, if it is here, and permits before this one, whichever gave them.
func (p *process) giveBack(c *call, attempt int) {
	if !p.serves(c, attempt) {
		return
	}
	q := &ask{call: c, attempt: attempt}
	if a := p.actors[c.key]; a != nil {
		p.step(a, func(o *owner.Owner, now int64, out *owner.Out) {
			for i, r := range c.receipts {
				if r.Permit {
					continue
				}
				across := p.w.acrossChange(o, c.of.rules[i], now)
				switch taken := p.w.variant.giveBack(o, r, now, out); {
				case taken && c.of.rules[i].Counts():
					p.w.ledger.tally.returned(p.w, c.key, r)
				case taken && c.of.what == leases:
					p.w.ledger.takenBack(c.of, &r)
				case taken:
					p.w.ledger.returned(p, a, c.of, i)
				case across:
					p.w.count("returns across a change of the limit, without effect")
				default:
					p.w.count("returns without effect")
				}
			}
		})
	}
	for i, r := range c.receipts {
		if r.Permit {
			q.permits = append(q.permits, owner.Permit{Rule: c.of.rules[i], ID: r.Serial})
		}
	}
	if len(q.permits) == 0 {
		p.answer(q, limit.Decision{}, nil)
		return
	}
	p.takeOut(q)
}

// takeOut has permits taken out by the key's owner here.
func (p *process) takeOut(q *ask) {
	c := q.call
	a := p.wake(c.key, p.w.keys[c.key].partition)
	if a == nil {
		p.w.count("requests at nodes that do not keep the key")
		p.refuse(c, q.attempt)
		return
	}
	for _, r := range c.receipts {
		if r.Permit {
			p.w.ledger.tally.leaves(p.w, c.key, r)
		}
	}
	now := p.read()
	a.last = now
	p.step(a, func(o *owner.Owner, now int64, out *owner.Out) {
		o.TakeOut(q, q.permits, now, now+min(maxWait, c.until-p.w.now), out)
	})
}

// used is what a settlement says, of a hold that was granted so much.
func (c *call) used(granted int64) int64 { return granted * c.share / 100 }

// settle tells the key's owner here what was used of a hold, whichever owner has taken it.
func (p *process) settle(c *call, attempt int) {
	if !p.serves(c, attempt) {
		return
	}
	a := p.wake(c.key, p.w.keys[c.key].partition)
	if a == nil {
		p.w.count("requests at nodes that do not keep the key")
		p.refuse(c, attempt)
		return
	}
	q := &ask{call: c, attempt: attempt, at: p.w.now}
	hold := c.of.hold
	for i := range c.of.limits {
		q.settles = append(q.settles, owner.Settle{
			Rule: p.settlesBy(c.of, i), Held: hold.Limits[i], Granted: hold.Granted, Used: c.used(hold.Granted), Open: c.open, For: c.holdFor,
		})
	}
	p.w.ledger.held.said(p, q)
	now := p.read()
	a.last = now
	p.step(a, func(o *owner.Owner, now int64, out *owner.Out) {
		o.Settle(q, q.settles, now, now+min(maxWait, c.until-p.w.now), out)
	})
	if p.w.variant.hasty {
		p.w.ledger.held.promise(q)
	}
}

// settlesBy is by what a node settles the i-th limit of a hold: by the plan that stands in the hold, as its own document has it, or as the check
// defined it, whose definition stands there too.
func (p *process) settlesBy(taken *call, i int) *limit.Rule {
	if taken.rules[i].Inline {
		return taken.rules[i]
	}
	return p.w.ruleOf(p.version(), taken.limits[i], taken.key, taken.plan)
}

// acrossChange says whether a bucket is under other numbers than those of the rule.
func (w *World) acrossChange(o *owner.Owner, rule *limit.Rule, now int64) bool {
	v, ok := o.View(rule.Name, now)
	return ok && !sameNumbers(v.Rule, rule)
}

// home is where a partition's first replica is, as agreed.
func (w *World) home(p ring.Partition) int { return int(w.raft.state.places[p].Replicas[0][0]) - 1 }
