package actor

import (
	"math"
)

// maxVisits is how many visits are made before checks get their turn.
const maxVisits = 512

// runDue does what is due, but of visits only so many: the timer brings it back.
func (sh *shard) runDue(now int64) {
	for a := sh.alarms.next(); a != nil && a.at <= now; a = sh.alarms.next() {
		sh.runAlarm(a.actor, now)
	}
	n := 0
	for a, pace := sh.visits.next(); a != nil && n < maxVisits && (a.gone || a.visit <= now); a, pace = sh.visits.next() {
		sh.visit(a, pace, now)
		n++
	}
	sh.shed(now, shedPerCheck*maxRound)
	sh.finish(now)
}

// runAlarm does what has become due for an actor.
func (sh *shard) runAlarm(a *actor, now int64) {
	sh.alarms.remove(a)
	sh.step(a, now, nil, func() { a.owner.Wake(now, &sh.out) })
}

// visit visits an actor, which is the next one of its pace: it may be time to forget it, or to set an alarm for what is due
// before the next visit.
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

// shed gives up what the shard has no memory for. It takes the actors in the order of [visits.inTurn], and no more than so many
// of them, so that checks get their turn.
func (sh *shard) shed(now int64, most int) {
	b, n := &sh.budget, [shedKinds]int{}
	for i := 0; i < most && sh.held > b.receipts; i++ {
		a, pace := sh.visits.inTurn()
		if a == nil {
			break
		}
		if !a.gone {
			sh.trim(a, &n)
		}
		before := sh.actors.len()
		sh.visit(a, pace, now)
		if sh.held > b.idle {
			n[shedIdle] += before - sh.actors.len()
		}
		if sh.held > b.line && !a.gone && a.onlyHoldsLine(now) {
			sh.forget(a, nil)
			n[shedLine]++
		}
	}
	for what := range n {
		sh.shedLog.count(what, n[what])
	}
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
