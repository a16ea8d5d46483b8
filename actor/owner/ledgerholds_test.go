package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// stored is the ledger that the replicas have.
func (tr *troupe) stored(t *testing.T, rule *limit.Rule) *limit.Ledger {
	t.Helper()
	var latest register.Register
	for _, r := range tr.replicas {
		if known := r.registers[rule.Register()]; known.Version > latest.Version {
			latest = known
		}
	}
	l := rule.NewLedger(0)
	if err := l.Read(latest.Ledger, limit.OwnerID{}); err != nil {
		t.Fatal(err)
	}
	return l
}

// hourly is a limit of a window that lasts long.
func hourly(t *testing.T, holds limit.Holds) *limit.Rule {
	t.Helper()
	return ruleFor(t, limit.Limit{Name: "budget", Algorithm: limit.FixedWindow, Capacity: 1_000_000, Window: time.Hour, Holds: holds})
}

// What was freed when a hold expired, and has been given to others, is neither charged nor held again by another owner, to which the hold
// lasts longer: clocks may differ.
func TestFreedHoldIsNotTakenAgain(t *testing.T) {
	for name, s := range map[string]limit.Settlement{
		"settled": {Used: 10}, "used in part": {Used: 10, Open: true}, "extended": {Open: true, For: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			rule := ofWindow(t, limit.Holds{Longest: time.Minute, OnExpiry: limit.Free, MaxDebt: limit.NoDebt})
			a := tr.enter('A')
			h := a.holds(10, second, rule)
			a.pass(second)
			a.admitted(a.check(10, rule))
			b := tr.enter('B')
			tr.now += 300 * ms
			if got := b.settles(h, s, rule)[0]; got.Charged > 0 || got.State == limit.HoldOpen {
				t.Errorf("what was given to others is charged or held: %+v", got)
			}
			if used := tr.stored(t, rule).Used(b.clock()); used != 10 {
				t.Errorf("%d of 10 are charged and held, with no debt", used)
			}
		})
	}
}

// The greatest debt leaves the ledger readable, when its holds are listed no more too.
func TestGreatestDebtCanBeRead(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := ruleFor(t, limit.Limit{Name: "budget", Algorithm: limit.FixedWindow, Capacity: limit.MaxCount, Window: time.Hour, Holds: limit.Holds{Longest: time.Minute}})
	a := tr.enter('A')
	first, again, other := a.holds(1, second, rule), a.holds(1, second, rule), a.holds(1, 60*second, rule)
	a.admitted(a.check(5, rule))
	for _, h := range []limit.Hold{first, again} {
		a.settles(h, limit.Settlement{Used: limit.MaxCount}, rule)
	}
	a.pass(second + int64(limit.SettleLate) + second)
	a.settles(other, limit.Settlement{Used: 1}, rule)
	for _, s := range []*stage{a, tr.enter('B')} {
		s.quickAll()
		s.pass(2 * second)
		s.denied(s.check(1, rule))
	}
	a.done(a.reset(rule))
	a.admitted(a.check(1, rule))
}

// So it does where what was charged counts less and less, and more can be charged in its place.
func TestDebtThatCountsLessCanBeRead(t *testing.T) {
	rule := ruleFor(t, limit.Limit{
		Name: "budget", Algorithm: limit.SlidingWindow, Weighted: true, Capacity: 1000, Window: time.Hour, Holds: limit.Holds{Longest: 2 * time.Hour},
	})
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	var held []limit.Hold
	for range 20 {
		held = append(held, a.holds(1, 2*hour-second, rule))
	}
	at, _ := rule.Slot(a.clock())
	a.pass(rule.Ends(at) - a.clock() - 60*second)
	for _, h := range held {
		if got := a.settles(h, limit.Settlement{Used: limit.MaxCount}, rule)[0]; got.State != limit.HoldSettled {
			t.Fatalf("%+v", got)
		}
		a.pass(second)
	}
	b := tr.enter('B')
	b.quickAll()
	b.denied(b.check(1, rule))
	b.done(b.reset(rule))
	b.admitted(b.check(1, rule))
}

// However many holds of a key are settled after it was taken, the settlement of a hold gets the same answer when it is repeated a
// moment later, and also if another owner has taken over while it was stored.
func TestHoldOlderThanManySettlements(t *testing.T) {
	rule := hourly(t, limit.Holds{Longest: time.Hour})
	tr := newTroupe(t, 3)
	s := tr.enter('A')
	repeated, taken := s.holds(1000, 600*second, rule), s.holds(1000, 600*second, rule)
	for range 300 {
		s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 1}, rule)
		s.pass(ms)
	}
	for range 2 {
		if got := s.settles(repeated, limit.Settlement{Used: 700}, rule)[0]; got.State != limit.HoldSettled || got.Charged != 700 {
			t.Errorf("%+v", got)
		}
	}

	s.quick = nil
	all := []owner.Settle{{Rule: rule, Held: taken.Limits[0], Granted: 1000, Used: 600}}
	tag := s.tag()
	s.owner.Settle(tag, all, s.clock(), s.clock()+hour, &s.out)
	s.after()
	m := s.post[len(s.post)-1]
	m.Now = s.clock()
	for _, r := range s.replicas { // they store it, and no answer arrives
		r.reserve(m, s.now, s.bounds)
	}
	b := tr.enter('B')
	b.quickAll()
	b.admitted(b.check(1, rule))
	s.quickAll()
	s.pass(second)
	s.done(tag)
	if got := all[0].Settled; got.State != limit.HoldSettled || got.Charged != 600 {
		t.Errorf("a settlement whose answers were lost: %+v", got)
	}
}

// A hold that has expired can be settled for ten minutes, however many others are settled meanwhile.
func TestLateSettlementAmongMany(t *testing.T) {
	rule := hourly(t, limit.Holds{Longest: time.Hour, OnExpiry: limit.Free})
	s := newTroupe(t, 3).enter('A')
	expired := s.holds(1000, 2*second, rule)
	for range 600 {
		s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 1}, rule)
		s.pass(second / 2)
	}
	if got := s.settles(expired, limit.Settlement{Used: 700}, rule)[0]; got.State != limit.HoldSettled || got.Charged != 700 {
		t.Errorf("settled five minutes after it has expired: %+v", got)
	}
}

// One claim answers all settlements of holds that there are not, so that they do not keep a key's checks waiting.
func TestUnknownHoldsShareAClaim(t *testing.T) {
	rule := hourly(t, limit.Holds{Longest: time.Minute})
	s := newTroupe(t, 3).enter('A')
	s.quickAll()
	s.admitted(s.check(1, rule))
	s.quick = nil
	for i := range 100 {
		all := []owner.Settle{{Rule: rule, Held: limit.Held{Limit: rule.Name, ID: uint64(i*2 + 1000)}, Granted: 1, Used: 1}}
		s.owner.Settle(s.tag(), all, s.clock(), s.clock()+hour, &s.out)
		s.after()
	}
	check, rounds := s.check(1, rule), 0
	for ; rounds < 100; rounds++ {
		if _, answered := s.reply(check); answered {
			break
		}
		s.pass(2 * ms)
		s.deliver(0, 1, 2)
	}
	if rounds > 4 {
		t.Errorf("a check waits %d rounds behind settlements of nothing", rounds)
	}
}

// A list that was full is asked for again before it refuses a hold: other owners have settled what it listed.
func TestFullListOfLongAgo(t *testing.T) {
	rule := hourly(t, limit.Holds{Longest: time.Hour})
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	var held []limit.Hold
	for range limit.MaxHolds {
		held = append(held, a.holds(1, hour, rule))
		a.pass(ms)
	}
	a.failed(a.hold(1, 0, hour, rule), limit.ErrOverloaded)
	b := tr.enter('B')
	for _, h := range held[:300] { // more than are listed when they are over
		b.settles(h, limit.Settlement{Used: 1}, rule)
		b.pass(ms)
	}
	a.pass(2 * second)
	if d := a.decision(a.hold(1, 0, hour, rule)); !d.Allowed {
		t.Errorf("%+v", d.Limits)
	}
}

// Holds of a limit that takes none any more can be settled, for what is there.
func TestHoldsRemovedFromALimit(t *testing.T) {
	with := ruleFor(t, limit.Limit{
		Name: "w", Algorithm: limit.SlidingWindow, Capacity: 10, Window: time.Hour, Holds: limit.Holds{Longest: time.Minute, MaxDebt: limit.NoDebt},
	})
	l := with.Limit
	l.Holds = limit.Holds{}
	without := ruleFor(t, l)
	s := newTroupe(t, 3).enter('A')
	h := s.holds(5, 60*second, with)
	s.left(without)
	if got := s.settles(h, limit.Settlement{Used: 1000}, without)[0]; got.Charged != 10 {
		t.Errorf("%+v", got)
	}
}

// What an owner has taken ahead for checks is there for settlements too.
func TestSettlementTakesWhatIsTakenAhead(t *testing.T) {
	rule := ruleFor(t, limit.Limit{
		Name: "w", Algorithm: limit.SlidingWindow, Capacity: 1000, Window: time.Minute, Holds: limit.Holds{Longest: time.Minute, MaxDebt: limit.NoDebt},
	})
	s := newTroupe(t, 3).enter('A')
	h := s.holds(100, 60*second, rule)
	for range 200 {
		s.admitted(s.check(1, rule))
		s.answers = s.answers[:0]
		s.pass(ms)
	}
	left := s.left(rule)
	if got := s.settles(h, limit.Settlement{Used: 100 + left}, rule)[0]; got.Charged != 100+left {
		t.Errorf("%d are left, and of %d used %d are charged", left, 100+left, got.Charged)
	}
}

// claimedUpTo is what an owner whose clock is ahead leaves behind: the line of every bucket is taken up to there, at every replica.
func (tr *troupe) claimedUpTo(at int64) {
	for _, replica := range tr.replicas {
		for key, r := range replica.registers {
			r.H = at
			replica.registers[key] = r
		}
	}
}

// A hold is not unknown because an owner whose clock is ahead has claimed line far ahead: the ledger is whole.
func TestHoldIsNotUnknownForLineFarAhead(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := ofWindow(t, limit.Holds{Longest: time.Minute})
	h := tr.enter('A').holds(4, 60*second, rule)
	tr.now += second
	tr.claimedUpTo(tr.now + 20*second)
	s := tr.enter('B')
	s.quickAll()
	all := []owner.Settle{{Rule: rule, Held: h.Limits[0], Granted: 4, Used: 1}}
	tag := s.tag()
	s.owner.Settle(tag, all, s.clock(), s.clock()+50*second, &s.out)
	s.after()
	s.pass(5 * second)
	if _, answered := s.reply(tag); answered {
		t.Fatalf("answered: %+v", all[0].Settled)
	}
	for range 40 {
		s.pass(second)
	}
	s.done(tag)
	if got := all[0].Settled; got.Charged != 1 {
		t.Errorf("%+v", got)
	}
}

// A settlement that waits for line far ahead holds up no check: once replicas accept a claim, checks are decided, with a settlement as without.
func TestSettlementThatWaitsHoldsUpNoCheck(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := ofWindow(t, limit.Holds{Longest: time.Minute})
	h := tr.enter('A').holds(4, 60*second, rule)
	far := tr.now + 20*second
	tr.claimedUpTo(far)
	s := tr.enter('B')
	s.quickAll()
	s.owner.Settle(s.tag(), []owner.Settle{{Rule: rule, Held: h.Limits[0], Granted: 4, Used: 1}}, s.clock(), s.clock()+second, &s.out)
	s.after()
	s.pass(far - s.cfg.Slack + ms - s.now)
	check := s.checkBy(500*ms, 1, rule)
	s.pass(400 * ms)
	s.admitted(check)
}

// A hold that was taken once floors were over is not unknown to an owner that was told of them, and by whose clock they are not over yet.
func TestHoldIsNotUnknownForAClockThatIsBehind(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := ofWindow(t, limit.Holds{Longest: time.Minute})
	first := tr.enter('A').holds(1, 60*second, rule)
	for _, r := range tr.replicas {
		r.amnesia(tr.now, tr.bounds)
	}
	over := tr.now + tr.bounds.EpsMax + rule.Lead()
	slow := tr.enter('S')
	slow.ahead = -200 * ms
	slow.quickAll()
	all := []owner.Settle{{Rule: rule, Held: first.Limits[0], Granted: 1, Used: 1}}
	tag := slow.tag()
	slow.owner.Settle(tag, all, slow.clock(), slow.clock()+50*second, &slow.out)
	slow.after()
	slow.pass(50 * ms)
	slow.done(tag)
	if got := all[0].Settled; got.State != limit.HoldUnknown {
		t.Fatalf("%+v", got)
	}

	tr.now = over + 50*ms
	fast := tr.enter('F')
	fast.ahead = 0
	h := fast.holds(4, 60*second, rule)
	all = []owner.Settle{{Rule: rule, Held: h.Limits[0], Granted: 4, Used: 1}}
	tag = slow.tag()
	slow.owner.Settle(tag, all, slow.clock(), slow.clock()+50*second, &slow.out)
	slow.after()
	slow.pass(10 * second)
	slow.done(tag)
	if got := all[0].Settled; got.Charged != 1 {
		t.Errorf("%+v", got)
	}
}

// A hold that most replicas list is never unknown, though the answers say so that come first: one replica has lost its disk, and another
// is silent.
func TestHoldIsNotUnknownForSilence(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := ofWindow(t, limit.Holds{Longest: time.Minute})
	h := tr.enter('A').holds(4, 60*second, rule)
	tr.now += second
	tr.replicas[0].amnesia(tr.now, tr.bounds)
	s := tr.enter('B')
	s.quick = []int{0, 1}
	all := []owner.Settle{{Rule: rule, Held: h.Limits[0], Granted: 4, Used: 1}}
	tag := s.tag()
	s.owner.Settle(tag, all, s.clock(), s.clock()+30*second, &s.out)
	s.after()
	s.pass(5 * second)
	if _, answered := s.reply(tag); answered {
		t.Fatalf("answered: %+v", all[0].Settled)
	}
	s.quickAll()
	s.pass(10 * second)
	s.done(tag)
	if got := all[0].Settled; got.Charged != 1 {
		t.Errorf("%+v", got)
	}
}
