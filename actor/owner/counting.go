package owner

import (
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// test says what the bucket would do with a check. It changes nothing but what is past.
func (l *ledger) test(b *bucket, c *Check, now int64, cfg *Config) ruling {
	switch {
	case c.Cost > b.rule.Capacity:
		return deny
	case c.Cost == 0 && l.fresh(c.At), c.Cost > 0 && l.has(b.rule, c, now):
		return admit
	case b.pending() != nil:
		return stay
	case l.knows(c) && !l.fits(c, now), l.blocked(b, now, cfg) > 0:
		return deny
	}
	return wait
}

// fits says whether the check could be given what it asks for, as far as this owner knows.
func (l *ledger) fits(c *Check, now int64) bool {
	if c.Extend != 0 {
		_, inside := l.Permit(c.Extend, now)
		return inside
	}
	return l.Free(now) >= c.Cost
}

// blocked is how long after now the replicas accept nothing: most of them have lost what they had stored, and what they had is to
// be past. 0 if they may accept something.
func (l *ledger) blocked(b *bucket, now int64, cfg *Config) int64 {
	return max(0, l.claimFrom(b, now, cfg)-now-cfg.Slack)
}

// claimAgainAt is when a blocked ledger is claimed again: soon, for replicas that have said nothing; once a majority has told how far ahead
// its line is free, when it is blocked no more.
func (l *ledger) claimAgainAt(b *bucket, now int64, cfg *Config) int64 {
	if until := b.refused().until; now < until {
		return until
	}
	return now + l.blocked(b, now, cfg) + firstPause // there is room then for what is written behind the claim
}

// standing is that of a settlement or the return of a permit, claimed if a claim was sent after it came: it waits for replicas, and its
// bucket pauses; or all is lost, since no majority is without a floor, and what they had stored is to be past. With neither it goes on. Line that
// is free only far ahead may have been claimed by an owner whose clock is ahead, and the ledger is whole.
func (l *ledger) standing(b *bucket, claimed bool, now int64, cfg *Config) (waits, lost bool) {
	switch {
	case b.pending() != nil, b.pausing(now):
		return true, false
	case !claimed:
		return false, false
	case b.forgotten(cfg) && b.free(b.gen, all, nil, cfg) > now+cfg.Slack:
		return false, true
	case b.refused() != nil && l.blocked(b, now, cfg) > 0: // so say those that have answered
		b.pauseUntil(l.claimAgainAt(b, now, cfg), now)
		return true, false
	}
	return false, false
}

// claimFrom is where a claim begins: where a majority accepts it, as far as the replicas have told. Line that is skipped is no
// loss.
func (l *ledger) claimFrom(b *bucket, now int64, cfg *Config) int64 {
	from := max(b.held.to, now)
	if r := b.refused(); r != nil && now < r.until {
		return max(from, b.free(b.gen, responding, &r.pending, cfg))
	}
	return max(from, b.free(b.gen, all, nil, cfg))
}

// reserveLedger claims the ledger if it may not be the latest, and otherwise writes it with room for c and the checks that wait
// behind it, unless another limit may still deny c.
func (o *Owner) reserveLedger(b *bucket, c *Check, certain bool, now int64, out *Out) {
	l := b.ledger()
	switch {
	case b.pending() != nil, b.pausing(now):
	case !l.writes(c, now):
		l.written = nil
		o.claim(b, now, out)
	case certain:
		l.written = nil
		o.rewrite(b, c, now, out)
	}
}

// writes says whether the ledger is known well enough to be written for c, and need not be claimed.
func (l *ledger) writes(c *Check, now int64) bool {
	return l.current && (l.knows(c) || c.Cost > 0 && l.fits(c, now))
}

// certain says whether each bucket of c admits it or can be expected to: so what is written for it is not written in vain. A line is expected to be
// free where this owner has reserved it before, and a ledger to be the latest where this owner has written it.
func certain(trials []trial, c *Check, now int64) bool {
	for i := range trials {
		t := &trials[i]
		l := t.bucket.ledger()
		switch {
		case t.verdict == admit:
		case l != nil && (t.verdict == stay || !l.writes(c, now)), l == nil && t.bucket.held.to == 0:
			return false
		}
	}
	return true
}

// roomsFor enters into the draft what c and the checks that wait behind it need, each by its rule, beyond what there is already, and what a busy key will
// spend in the next Δ. Permits and holds have entries of their own.
func (o *Owner) roomsFor(d *draft, b *bucket, c *Check, have, now int64) {
	l, rule := b.ledger(), b.rule
	free, need := d.full.Free(now)+have, int64(0)
	goOn := func(by *limit.Rule) {
		if by.SameNumbers(rule) {
			return
		}
		d.take(rule, now, need, false)
		rule, need = by, 0
		l.adapt(d.full, d.rooms, rule, o.cfg)
		free = d.full.Free(now)
	}
	for w, by, i := o.nextWaiting(b, c, 0, now); w != nil; w, by, i = o.nextWaiting(b, c, i, now) {
		switch goOn(by); {
		case w.Cost > free, w.Hold > 0 && d.fullOfHolds(now):
			continue
		case rule.Permits() || w.Hold > 0:
			d.takeListed(rule, now, w, o.cfg)
		default:
			need += w.Cost
		}
		free -= w.Cost
	}
	if goOn(b.rule); b.rule.Permits() {
		return
	}
	ahead := b.roomAhead(now, o.cfg)
	d.take(b.rule, now, max(0, min(need-have+ahead, d.full.Free(now))), ahead > 0)
}

// roomAhead is how much a busy key takes ahead: what it spends in Δ, and at most as much as may be lost with its owner.
func (b *bucket) roomAhead(now int64, cfg *Config) int64 {
	if b.rule.Exact() || !b.busy(now, cfg) {
		return 0
	}
	return min(int64(b.load.demand(now, cfg.Delta)), b.rule.Spare())
}

// takeAhead takes room for a busy key in the background, once a quarter is left of what it takes ahead and no check waits that has room.
func (o *Owner) takeAhead(b *bucket, now int64, out *Out) {
	l, ahead := b.ledger(), b.roomAhead(now, o.cfg)
	if ahead == 0 || !l.current || o.Waiting() > 1 || b.pending() != nil || b.pausing(now) || l.find(b.rule, &Check{At: now, Cost: ahead/4 + 1}, now) >= 0 {
		return
	}
	good, free := l.asGood(b.rule, now), l.Free(now)
	for i := range l.rooms {
		if good(&l.rooms[i]) {
			free -= l.rooms[i].amount
		}
	}
	if free <= 0 {
		return
	}
	l.goBack(good)
	d := l.draft(l.copied(), &out.ledger)
	if d.take(b.rule, now, min(ahead, d.full.Free(now)), true); d.rooms != nil {
		o.write(b, d, now, true, out)
	}
}

// nextWaiting is the first check from the i-th on that waits for the bucket, has time, and takes something new, its rule, and the place behind it; nil for no
// further one. If none waits, c is the only one.
func (o *Owner) nextWaiting(b *bucket, c *Check, i int, now int64) (*Check, *limit.Rule, int) {
	if o.Waiting() == 0 {
		if i > 0 {
			c = nil
		}
		return c, b.rule, 1
	}
	for ; i < o.overflow.len(); i++ {
		w := &o.overflow.waiting()[i]
		if w.Cost == 0 || w.Extend != 0 || w.Deadline <= now {
			continue
		}
		if r := slices.IndexFunc(w.Rules, func(r *limit.Rule) bool { return r.Register() == b.rule.Register() }); r >= 0 {
			return &w.Check, w.Rules[r], i + 1
		}
	}
	return nil, nil, i
}

// needsRooms says whether what waits for the bucket can be given no part of a room, or c if nothing waits: a hold has an entry of its own,
// a settlement is charged what is free, and a check by other numbers may have no place beside the room.
func (o *Owner) needsRooms(b *bucket, c *Check, now int64) (needs bool) {
	o.eachToSettle(b, func(*Settle) { needs = true })
	if needs {
		return true
	}
	for w, by, i := o.nextWaiting(b, c, 0, now); w != nil; w, by, i = o.nextWaiting(b, c, i, now) {
		if w.Hold > 0 || !by.SameNumbers(b.rule) {
			return true
		}
	}
	return false
}

// rewrite writes the ledger with what settlements say that wait, without the permits that are to go out, and with what the checks that
// wait need; or with the permit that c extends. c is nil for no check.
func (o *Owner) rewrite(b *bucket, c *Check, now int64, out *Out) {
	l := b.ledger()
	keep := l.asGood(b.rule, now)
	if o.needsRooms(b, c, now) {
		keep = none
	}
	bare, have := l.copied(), l.goBack(keep)
	var extended uint64
	if c != nil {
		extended = c.Extend
	}
	o.eachToTakeOut(b, func(p *Permit) {
		if p.ID != extended {
			_, inside := bare.Permit(p.ID, now)
			bare.Remove(p.ID)
			p.sent, p.left = true, inside || p.left
		}
	})
	o.settleIn(bare, b, now)
	r, inside := extend(bare, b.rule, extended, now)
	d := l.draft(bare, &out.ledger)
	if inside {
		d.rooms = []room{r}
	} else if extended == 0 {
		o.roomsFor(&d, b, c, have, now)
	}
	o.write(b, d, now, false, out)
}

// settleIn enters into next what settlements say that wait, each by the numbers of its own hold's plan.
func (o *Owner) settleIn(next *limit.Ledger, b *bucket, now int64) {
	l, rule := b.ledger(), b.rule
	goOn := func(by *limit.Rule) {
		if !by.SameNumbers(rule) {
			l.adapt(next, nil, by, o.cfg)
		}
		rule = by
	}
	o.eachToSettle(b, func(s *Settle) {
		goOn(s.Rule)
		s.enter(next, rule, now)
	})
	goOn(b.rule)
}

// claim asks for the latest ledger.
func (o *Owner) claim(b *bucket, now int64, out *Out) {
	l := b.ledger()
	from := l.claimFrom(b, now, o.cfg)
	l.current, l.told, l.as = false, nil, 0
	o.send(b, Send{Generation: b.gen, From: from, To: from + 1, Claim: true}, now, out)
}

// write sends the ledger that is to take the place of the latest. Until a majority has accepted it, this owner cannot tell whether
// it is stored.
func (o *Owner) write(b *bucket, d draft, now int64, background bool, out *Out) {
	l, to := b.ledger(), max(b.held.to+1, now)
	if d.dropped {
		d.bare.DropHolds(now) // which gives back what they free
		d.bare.ListAs(d.full)
	}
	d.bare.Number(d.full)
	l.current = false
	l.written, l.taken, l.version = d.bare, d.rooms, b.held.to
	for i := range l.rooms {
		if r := &l.rooms[i]; r.since == noCheck && r.leftOut == (segment{}) {
			r.leftOut = segment{b.held.to, to}
		}
	}
	o.send(b, Send{
		Generation: b.gen, From: b.held.to, To: to, Background: background,
		Ledger: o.stored(l, d.full), Expire: max(d.full.KeptUntil(now), l.KeptUntil(now), b.rule.KeptUntil(now)) + o.cfg.Late,
	}, now, out)
}

// stored is a ledger of l's bucket as this owner stores it.
func (o *Owner) stored(l *ledger, as *limit.Ledger) []byte {
	if l.inTokens(o.cfg) {
		return as.AppendInTokens(nil, o.id)
	}
	return as.Append(nil, o.id)
}

// accepted is for a claim or a write that a majority has accepted.
func (o *Owner) accepted(b *bucket, p *pending, out *Out) {
	l := b.ledger()
	b.held = segment{p.From, p.To}
	if p.Claim {
		own := l.as == l.version && l.version != 0 // it is what this owner has written before, and given no check anything from
		o.readListed(b, own || l.as == l.latest)   // or it is told of that once more
		if l.as != l.latest {
			if err := o.read(b, own); err != nil {
				o.failOf(b, err, out)
				return
			}
		}
		if l.tries > 0 && l.unclaimed() { // it was claimed for what goes back
			l.releaseAt = p.heardAt
		}
	} else {
		reset := l.Reset()
		l.Ledger, l.spare = l.written, l.Ledger
		l.rooms = slices.DeleteFunc(l.rooms, func(r room) bool { return r.since == noCheck })
		b.across(reset)
		l.released()
		l.latest = l.version
		l.add(l.taken)
		l.taken, l.version = nil, 0
		l.adapt(l.Ledger, l.rooms, b.rule, o.cfg) // it may have changed meanwhile
		if o.overflow != nil {
			o.overflow.didSeq = p.Seq
		}
		o.leftOut(b)
	}
	o.noteEnded(b, p.askedAt)
	l.written, l.told, l.as = nil, nil, 0
	l.current, l.readAt = true, p.askedAt
	if l.penalties != nil {
		l.penalties.writeAt = p.askedAt // what is to be written can be
	}
}

// across is for a ledger that has taken the place of one of that reset: if the bucket was emptied in between, nothing comes back across that.
func (b *bucket) across(reset int64) {
	if l := b.ledger(); l.Reset() != reset {
		b.forgetReturns()
		l.forgetRooms()
	}
}

// read takes in another ledger than this owner knew, which a claim was told.
func (o *Owner) read(b *bucket, own bool) error {
	l := b.ledger()
	reset := l.Reset()
	if err := l.Read(l.told, o.id); err != nil {
		l.Ledger, l.latest = l.Empty(reset), -1 // nothing is known
		return err
	}
	b.across(reset)
	l.readAnother(own, b.rule.Queues())
	if limit.IsInTime(l.told) {
		l.inTime = true
	} else {
		countBy(l.rooms, b.rule)
	}
	l.allOut(own)
	l.latest = l.as
	return nil
}

// outcome describes the bucket to a check. A denial says when the check passes if nothing else is admitted.
func (l *ledger) outcome(b *bucket, c *Check, now int64, allowed bool, cfg *Config) limit.Outcome {
	o := l.Outcome(b.rule, now, c.Cost, 0, allowed)
	switch blocked := time.Duration(l.blocked(b, now, cfg)); {
	case o.Allowed || o.Never:
	case c.ended:
		o.Never, o.Ended, o.RetryAfter = true, true, 0
	case blocked > 0:
		o.Remaining, o.RetryAfter, o.ResetAfter = 0, max(o.RetryAfter, blocked), max(o.ResetAfter, blocked)
	case o.RetryAfter == 0: // there is place, and a replica is silent
		o.RetryAfter = time.Duration(cfg.Delta)
	}
	return o
}

// receiptOf is the proof of what a check was given.
func (o *Owner) receiptOf(b *bucket, given room, cost int64) limit.Receipt {
	r := limit.Receipt{Limit: b.rule.Name, Generation: b.gen, Owner: o.id, Serial: given.id, Span: limit.Span{Start: given.at, End: given.until}}
	if given.id != 0 {
		r.Permit, r.End = true, b.rule.Ends(given.at)
		return r
	}
	if !b.rule.TakesReceipts() {
		r.Serial = o.cfg.Nonce()
		return r
	}
	x := b.extras()
	if x.returns == nil {
		x.returns = &returns{}
	}
	r.Serial = x.returns.serial(o.cfg.Nonce())
	x.returns.remember(spent{piece: piece{limit.At(given.at), limit.At(given.until)}, cost: cost}, r.Serial)
	return r
}

// giveBack makes room of what a receipt proves, and says whether the bucket remembers it and it counts still.
func (l *ledger) giveBack(b *bucket, r limit.Receipt, now int64, cfg *Config) bool {
	made := b.returns()
	if made == nil {
		return false
	}
	m := made.find(r)
	if m == nil || !b.rule.TakesReceipts() {
		return false
	}
	m.back = true
	ends := b.rule.Ends(r.Start)
	if now >= ends {
		return false
	}
	back := room{rule: b.rule, by: b.rule, at: r.Start, until: r.End, amount: m.cost, ends: ends, since: now}
	l.rooms = append(l.rooms, back)
	l.Take(back.by, back.at, back.amount)
	if l.written != nil { // which has it as given
		l.written.Take(back.by, back.at, back.amount)
	}
	l.releaseSoon(now, cfg)
	return true
}

// admitCounted gives a check what it was found room for.
func (o *Owner) admitCounted(b *bucket, c *Check, now int64, receipts []limit.Receipt, held []limit.Held, i int, out *Out) limit.Outcome {
	l := b.ledger()
	if c.Cost > 0 {
		given := l.spend(b.rule, c, now)
		switch {
		case c.Hold > 0:
			held[i] = limit.Held{Limit: b.rule.Name, Inline: b.rule.Defined(), Generation: b.gen, Owner: o.id, ID: given.id}
		case c.Receipts:
			receipts[i] = o.receiptOf(b, given, c.Cost)
		}
	}
	b.remember(c.At, c.Cost, true)
	o.takeAhead(b, max(c.At, now), out)
	return l.outcome(b, c, now, true, o.cfg)
}

// empty is reset for a limit that counts entries: it writes an empty ledger.
func (o *Owner) empty(b *bucket, w *waiter, now int64, out *Out) (done bool, err error) {
	l := b.ledger()
	switch {
	case b.rule.Permits():
		return true, b.rule.AllowsReset()
	case w.resetSeq != 0 && w.resetSeq == o.overflow.didSeq:
		return true, nil
	case b.pending() != nil, b.pausing(now):
		return false, nil
	}
	if l.written = nil; !l.current {
		o.claim(b, now, out)
		return false, nil
	}
	l.goBack(none) // should the write come to nothing
	if l.penalties != nil {
		*l.penalties = penalties{}
	}
	o.write(b, l.draft(l.Empty(b.held.to), &out.ledger), now, false, out)
	w.resetSeq = b.pending().Seq
	return false, nil
}
