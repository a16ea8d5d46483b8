package actor

import (
	"math"
)

// maxVisits is how many visits are made before checks get their turn.
const maxVisits = 512

// runDue does what is due, but of visits only so many: the timer brings it back.
func (sh *shard) runDue(now int64) {
	sh.heat.roll(now)
	for a := sh.alarms.next(); a != nil && a.at <= now; a = sh.alarms.next() {
		sh.runAlarm(a.actor, now)
	}
	n := 0
	for a, pace := sh.visits.next(); a != nil && n < maxVisits && (a.gone || a.visit <= now); a, pace = sh.visits.next() {
		sh.visit(a, pace, now)
		n++
	}
	sh.sweepDormant(now)
	sh.shed(now, shedPerCheck*maxRound)
	sh.finish(now)
}

// runAlarm does what has become due for an actor.
func (sh *shard) runAlarm(a *actor, now int64) {
	sh.alarms.remove(a)
	sh.step(a, now, nil, func() { a.owner.Wake(now, &sh.out) })
}

// visit visits an actor, which is the next one of its pace: it may be time to forget it, to keep only its line, or to set an alarm for
// what is due before the next visit.
func (sh *shard) visit(a *actor, pace int, now int64) {
	sh.visits.queues[pace].pop()
	if a.gone {
		return
	}
	a.visit = now + int64(sh.cfg.IdleAfter)
	ok := sh.step(a, now, nil, func() {
		if a.owner.Due() <= now {
			a.owner.Wake(now, &sh.out)
		}
		if a.requests != nil {
			a.requests.prune(now)
		}
	})
	if !ok {
		return
	}
	quiet := a.last + int64(sh.cfg.IdleAfter)
	if sh.held > sh.budget.idle {
		quiet = 0
	}
	if a.requests != nil {
		quiet = max(quiet, a.requests.until())
	}
	idle, again := a.owner.Idle(now)
	if idle && now >= quiet {
		sh.forget(a, nil)
		return
	}
	dormant := a.owner.Dormant(now)
	if max(quiet, dormant) <= now && sh.makeDormant(a, now) {
		return
	}
	again = min(again, dormant)
	pace = 0
	if again < math.MaxInt64 {
		pace = paceOf(max(quiet, again)-now, sh.cfg.IdleAfter)
	}
	a.visit = now + int64(sh.cfg.IdleAfter)<<pace
	sh.visits.queues[pace].add(a)
	sh.setAlarm(a)
}

// shedPerCheck is how many actors are looked at, for each check of a round, for what they can do without: more than a check
// wakes, and few enough that a caller who asks for one key does not look through all others.
const shedPerCheck = 4

// shed gives up what the shard has no memory for: of dormant keys first, a few at a time. Once there are none, it takes the actors in the order
// of [visits.inTurn]. It takes no more than so many steps, so that checks get their turn.
func (sh *shard) shed(now int64, most int) {
	n := [shedKinds]int{}
	for i := 0; i < most && sh.held > sh.budget.dormant; i++ {
		if sh.dormant.n > 0 {
			n[shedLine] += sh.shedRests(now)
			continue
		}
		a, pace := sh.visits.inTurn()
		if a == nil {
			break
		}
		sh.shedOf(a, pace, now, &n)
		if sh.held > sh.budget.line && !a.gone && a.onlyHoldsLine(now) {
			sh.shedLine(a, now, &n)
		}
	}
	for what := range n {
		sh.shedLog.count(what, n[what])
	}
}

// shedOf visits an actor for which it may not be time, and takes from it what its key can do without.
func (sh *shard) shedOf(a *actor, pace int, now int64, n *[shedKinds]int) {
	if !a.gone {
		sh.trim(a, n)
	}
	before, rests := sh.actors.len(), sh.dormant.n
	sh.visit(a, pace, now)
	if sh.held > sh.budget.idle {
		n[shedIdle] += before - sh.actors.len() - max(0, sh.dormant.n-rests) // what is dormant now is kept
	}
}

// makeDormant forgets an actor and keeps the rest of its owner, if there is one: it says whether it did. An owner of another epoch, or ids
// that are remembered, a visit does not bring here; they would be lost.
func (sh *shard) makeDormant(a *actor, now int64) bool {
	at := sh.placeOf(a.partition)
	if at.Placement == nil || a.owner.Terms != at.terms || a.requests != nil && len(a.requests.byID) > 0 {
		return false
	}
	rest, ok := a.owner.Rest(now)
	if ok {
		sh.remove(a)
		sh.keepRest(a.key, a.partition, at, rest, now)
	}
	return ok
}

// shedLine forgets an actor that only holds line. One whose holds could give something back is kept for as long as others can be forgotten.
func (sh *shard) shedLine(a *actor, now int64, n *[shedKinds]int) {
	what := shedLine
	if a.owner.HoldsGiveBack(now) {
		what = shedHolds
	}
	if what == shedLine || sh.held > sh.budget.holds {
		sh.forget(a, nil)
		n[what]++
	}
}

// restsPerStep is how many dormant keys are let go at a time: together they are as large as an actor.
const restsPerStep = 3

// shedRests lets go of the line of a few dormant keys, those first that lose the smallest share of a bucket, and says of how many.
func (sh *shard) shedRests(now int64) (n int) {
	for ; n < restsPerStep && sh.dormant.n > 0 && sh.held > sh.budget.dormant; n++ {
		sh.dropRest(sh.leastRest(now))
	}
	return n
}

// trim takes from an actor what its key can do without.
func (sh *shard) trim(a *actor, n *[shedKinds]int) {
	sh.weigh(a, func() {
		n[shedReceipts] += a.owner.ForgetReturns()
		if a.requests != nil && sh.held > sh.budget.ids {
			n[shedIDs] += a.requests.forget()
		}
	})
}
