package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// What was taken out of a ledger, and answered, does not come back when a replica has swept the emptier ledger, and another one has the fuller one
// still. A rolling restart is enough: the second replica misses the first write, the third one the write without, and the first one the claim.
func TestWhatIsOutStaysOutWhenItIsSwept(t *testing.T) {
	permits := ruleFor(t, limit.Limit{Name: "p", Algorithm: limit.Concurrency, Capacity: 1, Lease: 10 * time.Hour})
	log, window := ruleFor(t, day(t)["log"]), ruleFor(t, day(t)["sliding window"])
	budget := ruleFor(t, day(t)["fixed window"])
	for name, story := range map[string]struct {
		rule *limit.Rule
		take func(a *stage) (back func())
	}{
		"a permit that was returned": {permits, func(a *stage) func() {
			p := a.admitted(a.check(1, permits))
			return func() {
				out := []owner.Permit{{Rule: permits, ID: p.Serial}}
				tag := a.takeOut(out)
				a.pass(10 * ms)
				if a.done(tag); !out[0].Out {
					t.Error("it was not inside")
				}
			}
		}},
		"what came back": {window, func(a *stage) func() {
			r := a.admitted(a.check(10, window))
			return func() { a.returned(r) }
		}},
		"a reset": {log, func(a *stage) func() {
			a.admitted(a.check(10, log))
			return func() { a.done(a.reset(log)) }
		}},
		"a settlement": {budget, func(a *stage) func() {
			h := a.decision(a.hold(10, 0, 60*second, budget)).Hold
			return func() {
				all := []owner.Settle{{Rule: budget, Held: h.Limits[0], Granted: 10, Used: 0}}
				tag := a.tag()
				a.owner.Settle(tag, all, a.clock(), a.clock()+hour, &a.out)
				a.after()
				if a.done(tag); all[0].Settled.State != limit.HoldSettled {
					t.Errorf("%+v", all[0].Settled)
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			a.quick = []int{0, 2}
			back := story.take(a)
			a.pass(5 * second)
			a.quick = []int{0, 1}
			back()
			a.pass(15 * 60 * second)
			tr.sweep()
			b := tr.enter('B')
			b.quick = []int{1, 2}
			if got := b.decision(b.check(0, story.rule)).Limits[0].Remaining; got != story.rule.Capacity {
				t.Errorf("%d of %d are left to another owner, and nothing is spent", got, story.rule.Capacity)
			}
		})
	}
}

// sweep has every replica forget what has ended.
func (tr *troupe) sweep() {
	for _, r := range tr.replicas {
		r.sweep(tr.now - time.Minute.Nanoseconds())
	}
}

// Debt without a bound lasts longer than a bucket takes to fill. A bucket that was filled stays full.
func TestFilledOutOfDebtWhenItIsSwept(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "tokens", Capacity: 100, Refill: limit.Refill{Tokens: 100, Per: time.Hour}, Holds: limit.Holds{Longest: 10 * time.Minute}})
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	a.quick = []int{0, 2}
	h := a.decision(a.hold(10, 0, 60*second, rule)).Hold
	if got := a.settlesLater(rule, h, 10_000); got.Debt == 0 {
		t.Errorf("%+v: it is in no debt", got)
	}
	a.pass(5 * second)
	a.quick = []int{0, 1}
	a.done(a.reset(rule))
	a.pass(3 * hour)
	tr.sweep()
	b := tr.enter('B')
	b.quick = []int{1, 2}
	if o := b.decision(b.check(0, rule)).Limits[0]; o.Remaining != 100 {
		t.Errorf("%d of 100 are left to another owner, full in %v, and the bucket was filled and nothing was spent since", o.Remaining, o.ResetAfter)
	}
}

// settlesLater settles a hold, and waits for the answer a little.
func (s *stage) settlesLater(rule *limit.Rule, h *limit.Hold, used int64) limit.SettledLimit {
	all := []owner.Settle{{Rule: rule, Held: h.Limits[0], Granted: h.Granted, Used: used}}
	tag := s.tag()
	s.owner.Settle(tag, all, s.clock(), s.clock()+hour, &s.out)
	s.after()
	s.pass(50 * ms)
	s.done(tag)
	return all[0].Settled
}

// A hold may stand in a window that the clock of whoever settles it has not reached. It stays settled until that window is over.
func TestSettledAheadOfAWindowWhenItIsSwept(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "budget", Algorithm: limit.FixedWindow, Capacity: 10, Window: 24 * time.Hour, Holds: limit.Holds{Longest: time.Minute}})
	tr := newTroupe(t, 3)
	_, end := rule.Slot(tr.now)
	tr.now = end - 100*ms
	a := tr.enter('A')
	a.ahead = 200 * ms
	a.quick = []int{0, 2}
	h := a.decision(a.hold(10, 0, 60*second, rule)).Hold
	b := tr.enter('B')
	b.quick = []int{0, 1}
	b.settlesLater(rule, h, 0)
	b.pass(15 * 60 * second)
	tr.sweep()
	c := tr.enter('C')
	c.quick = []int{1, 2}
	if o := c.decision(c.check(0, rule)).Limits[0]; o.Remaining != 10 {
		t.Errorf("%d of 10 are left to another owner for %v, and nothing is spent", o.Remaining, o.ResetAfter)
	}
}

// Open holds keep their times when the limit's become shorter. A settlement of one that is repeated is charged once.
func TestSettledAfterHoldsBecameShorterWhenItIsSwept(t *testing.T) {
	l := limit.Limit{Name: "tokens", Capacity: 100, Refill: limit.Refill{Tokens: 100, Per: time.Hour}, Holds: limit.Holds{Longest: 24 * time.Hour, MaxDebt: limit.NoDebt}}
	long := ruleFor(t, l)
	l.Holds.Longest = time.Second
	short := ruleFor(t, l)
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	a.quick = []int{0, 2}
	h := a.decision(a.hold(5, 0, 24*hour, long)).Hold
	a.pass(5 * second)
	a.quick = []int{0, 1}
	a.decision(a.check(0, short))
	a.settlesLater(short, h, 50)
	a.pass(90 * 60 * second)
	tr.sweep()
	b := tr.enter('B')
	b.quick = []int{1, 2}
	again := b.settlesLater(short, h, 50)
	if left := b.decision(b.check(0, short)).Limits[0].Remaining; left != 100 {
		t.Errorf("%d of 100 are left after a settlement that was repeated: %+v", left, again)
	}
}

// A register is kept for what it counts, not for as long as a hold of the limit might be open.
func TestSweptThoughThereMayBeHolds(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "w", Algorithm: limit.SlidingWindow, Capacity: 10, Window: time.Second, Holds: limit.Holds{Longest: 24 * time.Hour}})
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	a.quickAll()
	a.admitted(a.check(1, rule))
	a.pass(120 * second)
	tr.sweep()
	for i, r := range tr.replicas {
		if _, kept := r.registers[rule.Register()]; kept {
			t.Errorf("replica %d still keeps it, and nothing was held", i)
		}
	}
}
