package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// A full list drops holds that are over for new ones. What the owner goes on from has dropped them, too: its list is never too long.
func TestListIsNeverTooLong(t *testing.T) {
	rule := hourly(t, limit.Holds{Longest: time.Hour})
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	for i := range limit.MaxHolds - 1 {
		h := a.holds(1, hour, rule)
		if i < 200 {
			a.settles(h, limit.Settlement{Used: 1}, rule)
		}
		a.pass(ms)
	}
	a.quick = nil
	var tags []int
	first := a.check(1, rule)
	for range 150 {
		tags = append(tags, a.hold(1, 0, hour, rule))
	}
	a.deliverAll(rule.Register())
	a.admitted(first)
	for _, tag := range tags {
		if !a.decision(tag).Allowed {
			t.Fatal("denied")
		}
	}
	a.quickAll()
	a.pass(ms)
	a.admitted(a.check(1, rule))
	if n := len(tr.stored(t, rule).Holds()); n > limit.MaxHolds {
		t.Errorf("%d holds are stored, and %d may be", n, limit.MaxHolds)
	}
}

// A list in which nearly all have expired is renewed at once. What is written behind that is no larger than replicas take.
func TestRenewedListIsNoLarger(t *testing.T) {
	rule := ruleFor(t, limit.Limit{
		Name: "budget", Capacity: 1_000_000_000, Refill: limit.Refill{Tokens: 1_000_000_000, Per: time.Hour}, Holds: limit.Holds{Longest: time.Hour},
	})
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	var last limit.Hold
	for range limit.MaxHolds - 1 {
		last = a.holds(100_000, second, rule)
		a.pass(ms)
	}
	a.pass(3 * second)
	a.quick = nil
	first := a.check(1, rule)
	var tags []int
	for range limit.MaxHolds - 1 {
		tags = append(tags, a.hold(100_000, 0, hour, rule))
	}
	for range 20 {
		if _, answered := a.reply(tags[len(tags)-1]); answered {
			break
		}
		a.deliverAll(rule.Register())
		a.pass(ms)
	}
	a.admitted(first)
	for _, tag := range tags {
		a.admitted(tag)
	}
	a.settles(last, limit.Settlement{Used: 1}, rule)
	if m := a.post[len(a.post)-1]; len(m.Ledger) > register.MaxLedger {
		t.Errorf("a ledger of %d bytes is written, with %d holds", len(m.Ledger), len(tr.stored(t, rule).Holds()))
	}
}

// Answers to a claim that come late tell of the time at which it was asked. A permit that has ended since may have been extended elsewhere, also where the owner
// has dropped it meanwhile.
func TestPermitDroppedBeforeALateAnswer(t *testing.T) {
	for _, asks := range []bool{false, true} {
		rule := ruleFor(t, limit.Limit{Name: "p", Algorithm: limit.Concurrency, Capacity: 10, Lease: 10 * time.Second})
		tr := newTroupe(t, 3)
		a, b := tr.enter('A'), tr.enter('B')
		a.quickAll()
		b.quickAll()
		p := a.admitted(a.check(1, rule))
		end := a.now + 10*second
		a.pass(10*second - 50*ms)
		a.quick = nil
		a.checkBy(5*ms, 1, rule) // reaches nobody
		a.pass(40 * ms)
		x := a.extend(rule, p)
		m := a.post[len(a.post)-1]
		if !m.Claim {
			t.Fatal("no claim")
		}
		m.Now = a.clock()
		var late []owner.Answer
		for i, r := range tr.replicas {
			late = append(late, understood(r.reserve(m, a.now, a.bounds), i, m))
		}
		tr.now += 2 * ms
		b.admitted(b.extend(rule, p))
		tr.now = end + 5*ms
		if asks {
			a.denied(a.check(11, rule))
		}
		a.quickAll()
		for _, l := range late {
			a.hear(l)
		}
		a.pass(ms)
		if r, answered := a.reply(x); answered && !r.Decision.Allowed && r.Err == nil {
			t.Errorf("asks %v: a client inside is told that its permit has ended: %+v", asks, r.Decision.Limits)
		}
	}
}

// A check is given what was entered for it before what was in front of it has come back. It counts as of then.
func TestLateAnswerBehindAQueue(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "pool", Capacity: 100, Refill: limit.Refill{Tokens: 1, Per: 10 * time.Second}, Holds: limit.Holds{Longest: time.Hour}})
	a := newTroupe(t, 3).enter('A')
	a.quickAll()
	a.admitted(a.check(1, rule))
	a.quick = nil
	a.pass(ms)
	c := a.check(99, rule)
	m := a.post[len(a.post)-1]
	if m.Claim {
		t.Fatal("a claim")
	}
	a.pass(10*second + 600*ms)
	a.bring(m, 0)
	a.bring(m, 1)
	a.admitted(c)
	a.quickAll()
	a.pass(ms)
	admitted := 100
	for range 5 {
		if a.decision(a.check(1, rule)).Allowed {
			admitted++
		}
		a.pass(ms)
	}
	if admitted > 101 {
		t.Errorf("%d are admitted in %v, of a bucket of 100 that gets one in 10 s", admitted, time.Duration(a.now-start))
	}
}

// corrupt has the last replica keep a ledger that cannot be read.
func (s *stage) corrupt(rule *limit.Rule) {
	r := s.replicas[2].registers[rule.Register()]
	r.Version++
	r.Ledger = append([]byte{77}, r.Ledger[1:]...)
	s.replicas[2].registers[rule.Register()] = r
}

// toldUnreadable has a claim of the owner told a ledger that cannot be read.
func (s *stage) toldUnreadable(rule *limit.Rule) {
	s.tb.Helper()
	s.corrupt(rule)
	s.quick = nil
	x := s.check(6, rule)
	s.deliver(1, 2)
	if got, answered := s.reply(x); !answered || got.Err == nil {
		s.tb.Fatalf("a ledger that cannot be read: %+v", got)
	}
}

// A ledger that cannot be read is no empty one.
func TestUnreadableOnce(t *testing.T) {
	rule := ruleFor(t, day(t)["log"])
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	a.quickAll()
	a.admitted(a.check(10, rule))
	a.pass(2 * second)
	a.toldUnreadable(rule)
	a.pass(100 * ms)
	c := a.check(10, rule)
	for range 5 {
		if _, answered := a.reply(c); answered {
			break
		}
		a.deliver(0, 1)
	}
	if a.decision(c).Allowed {
		t.Error("20 are admitted of 10 a day")
	}
}

// A hold that is denied has nothing dropped for it: what is stored can be settled.
func TestNothingIsDroppedForADenial(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "budget", Algorithm: limit.FixedWindow, Capacity: 1200, Window: time.Hour, Holds: limit.Holds{Longest: time.Hour}})
	a := newTroupe(t, 3).enter('A')
	h := a.holds(1, second, rule)
	for range limit.MaxHolds - 1 {
		a.holds(1, hour, rule)
		a.pass(ms)
	}
	a.pass(3 * second)
	a.quickAll()
	a.admitted(a.check(0, rule))
	a.denied(a.hold(1, 0, hour, rule))
	a.pass(2 * second)
	if got := a.settles(h, limit.Settlement{Used: 0}, rule)[0]; got.State != limit.HoldSettled {
		t.Errorf("a hold that is stored is settled: %+v", got)
	}
}

// What a hold gives back is what it has taken, whatever was written behind it, and however late that was answered.
func TestHoldBeforeACheckThatIsAnsweredLate(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "pool", Capacity: 700, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Hour}})
	for name, late := range map[string]int64{"at once": 0, "after 4 s": 4 * second} {
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			a.quickAll()
			a.left(rule)
			a.quick = nil
			first := a.check(1, rule) // so that the next two are in one write
			h, c := a.hold(10, 0, hour, rule), a.check(20, rule)
			a.deliver(0, 1)
			a.admitted(first)
			a.pass(late)
			a.deliver(0, 1)
			d := a.decision(h)
			a.admitted(c)
			a.settles(*d.Hold, limit.Settlement{Used: 0}, rule)
			used, want := 700-a.left(rule), 21-late/second
			if got := 700 - tr.enter('B').left(rule); got != used || used != want {
				t.Errorf("%d are spent to their owner, and %d to another one, want %d", used, got, want)
			}
		})
	}
}

// A permit that has ended is not extended, and that is said at once, whatever is denied meanwhile.
func TestExtensionBesideDenials(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "p", Algorithm: limit.Concurrency, Capacity: 10, Lease: 10 * time.Second})
	quota := mustRule(t, "quota", 10, 10, 24*time.Hour)
	a := newTroupe(t, 3).enter('A')
	a.quickAll()
	a.admitted(a.check(10, quota))
	p := a.admitted(a.check(1, rule))
	a.pass(20 * second)
	a.quick = nil
	x := a.extend(rule, p)
	for range 3 {
		m := a.post[len(a.post)-1]
		a.pass(ms / 2)
		a.denied(a.check(1, rule, quota))
		a.pass(ms / 2)
		a.bring(m, 0)
		a.bring(m, 1)
	}
	if d := a.decision(x); d.Allowed || !d.Limits[0].Ended {
		t.Errorf("%+v", d)
	}
}

// After a ledger that cannot be read, the next one that can is no other owner's reset.
func TestReturnedAfterAnUnreadableLedger(t *testing.T) {
	rule := ruleFor(t, day(t)["fixed window"])
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	a.quickAll()
	a.admitted(a.check(1, rule))
	a.done(a.reset(rule))
	r := a.admitted(a.check(6, rule))
	a.pass(2 * second)
	whole := tr.replicas[2].registers[rule.Register()]
	a.toldUnreadable(rule)
	tr.replicas[2].registers[rule.Register()] = whole
	a.pass(100 * ms)
	a.quick = []int{0, 1}
	a.denied(a.check(6, rule))
	a.returned(r)
	a.pass(10 * ms)
	a.admitted(a.check(6, rule))
}
