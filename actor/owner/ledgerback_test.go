package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// A hold may expire while it is written, in front of checks that wait. It is free then, and does not count as room besides.
func TestFreedHoldIsNoRoomForThoseBehind(t *testing.T) {
	rules := planned(t, limit.Limit{
		Name: "s", Algorithm: limit.SlidingWindow, Capacity: 100, Window: 10 * time.Minute, Holds: limit.Holds{Longest: 30 * time.Second, OnExpiry: limit.Free},
	}, "{small: {limit: 40}}")
	large, small := rules[0], rules[1]
	a := newTroupe(t, 3).enter('A')
	a.quickAll()
	a.left(small)
	a.quick = nil
	first := a.check(10, small)
	a.checkBy(second, 3, small) // gives up before it is written
	a.owner.Check(owner.Check{Tag: a.tag(), At: a.clock(), Deadline: a.clock() + hour, Rules: rules[:1], Cost: 30, Hold: second}, &a.out)
	a.after()
	last, asked := a.check(45, large), a.check(3, small)
	answersLate(a, first)
	a.admitted(last)
	if a.decision(asked).Allowed {
		t.Error("the plan of 40 is admitted 3, and 55 are spent")
	}
}

// Another owner has written since this one did. What comes back here is in its ledger still, and goes out of that, whether somebody asks or not.
func TestReturnedLongAfterAnotherOwner(t *testing.T) {
	for name, l := range day(t) {
		rule := ruleFor(t, l)
		if !rule.TakesReceipts() {
			continue
		}
		for _, asks := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				tr := newTroupe(t, 3)
				a, b := tr.enter('A'), tr.enter('B')
				a.quickAll()
				b.quickAll()
				r := a.admitted(a.check(5, rule))
				a.pass(second)
				b.admitted(b.check(1, rule))
				a.pass(300 * second)
				a.returned(r)
				left := int64(9)
				if asks {
					a.pass(100 * ms)
					c := a.check(6, rule)
					a.pass(100 * ms)
					if d := a.decision(c); !d.Allowed {
						t.Fatalf("6 of 10 are denied, and one is spent: %+v", d.Limits)
					}
					left -= 6
				}
				a.pass(10 * second)
				if got := tr.enter('C').left(rule); got != left {
					t.Errorf("%d of 10 are left, and not %d: what came back is lost, and no owner wrote for five minutes", got, left)
				}
			})
		}
	}
}

// A permit that nobody was given goes back also where another owner writes all the time, and does not disturb that.
func TestUnclaimedPermitBesideABusyOwner(t *testing.T) {
	for name, gap := range map[string]int64{"20 ms": 20 * ms, "60 ms": 60 * ms} {
		t.Run(name, func(t *testing.T) {
			rule := ruleFor(t, limit.Limit{Name: "p", Algorithm: limit.Concurrency, Capacity: 10, Lease: time.Hour})
			tr := newTroupe(t, 3)
			a, b := tr.enter('A'), tr.enter('B')
			a.checkBy(5*ms, 4, rule)
			a.deliver(0, 1)
			a.pass(6 * ms)
			a.deliver(0, 1)
			a.quickAll()
			b.quickAll()
			for range int(60 * second / gap) {
				p := b.admitted(b.check(1, rule))
				if !b.leaves(rule, p) {
					t.Fatal("not inside")
				}
				end := tr.now + gap
				for a.due() <= end {
					tr.now = max(tr.now, a.due())
					a.wake()
				}
				tr.now = end
			}
			if got := tr.enter('C').left(rule); got != 10 {
				t.Errorf("%d of 10 are left after a minute, and nobody is inside", got)
			}
			if n := len(a.sent); n > 20 {
				t.Errorf("%d messages beside the other owner, to take out one permit", n)
			}
		})
	}
}

// A reset that comes to nothing leaves what came back before it, and what comes back after it: that goes back all the same.
func TestReturnedBesideAResetThatFails(t *testing.T) {
	for _, before := range []bool{true, false} {
		rule := ruleFor(t, day(t)["fixed window"])
		tr := newTroupe(t, 3)
		a := tr.enter('A')
		a.quickAll()
		r := a.admitted(a.check(8, rule))
		a.pass(second)
		if before {
			a.returned(r)
		}
		a.quick = nil
		a.owner.Reset(a.tag(), rule, a.clock(), a.clock()+5*ms, &a.out)
		a.after()
		a.now += 30 * ms
		a.wake()
		a.quickAll()
		if !before {
			a.pass(second)
			a.returned(r)
		}
		a.pass(30 * second)
		if got := tr.enter('B').left(rule); got != 10 {
			t.Errorf("before %v: %d of 10 are left; 8 came back, and the reset failed", before, got)
		}
	}
}

// What nobody was given of one limit goes back while checks of another one of the key wait all the time.
func TestUnclaimedBesideABusyLimit(t *testing.T) {
	rule := ruleFor(t, day(t)["fixed window"])
	hot := ruleFor(t, limit.Limit{Name: "hot", Algorithm: limit.SlidingLog, Capacity: 1000, Window: time.Second})
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	a.checkBy(5*ms, 4, rule)
	a.deliver(0, 1)
	a.check(1, hot)
	brought := len(a.post) - 2
	a.pass(6 * ms)
	for range 3000 {
		n := len(a.post)
		a.check(1, hot)
		for ; brought < n; brought++ {
			a.bring(a.post[brought], 0)
			a.bring(a.post[brought], 1)
		}
		a.pass(10 * ms)
	}
	if got := tr.enter('B').left(rule); got != 10 {
		t.Errorf("%d of 10 are left after half a minute", got)
	}
}

// Tokens of plans have lengths that are parts of a nanosecond, of different sizes. What others were given beside a check's room takes none of it.
func TestLastTokensBesideAnotherPlan(t *testing.T) {
	rules := planned(t, limit.Limit{
		Name: "pool", Capacity: 100, Refill: limit.Refill{Tokens: 3, Per: 1000 * time.Second}, Holds: limit.Holds{Longest: time.Hour},
	}, "{slow: {capacity: 10, refill: 7/1h}}")
	own, slow := rules[0], rules[1]
	a := newTroupe(t, 3).enter('A')
	all, one := a.check(10, slow), a.check(1, own)
	a.deliverAll(own.Register())
	if d := a.decision(all); !d.Allowed {
		t.Errorf("all of a full bucket is denied: %+v", d.Limits)
	}
	a.admitted(one)
}

// What comes back is no opening: a denied check waits for what others were given.
func TestWaitBesideWhatComesBack(t *testing.T) {
	rule := ruleFor(t, day(t)["log"])
	a := newTroupe(t, 3).enter('A')
	a.quickAll()
	r := a.admitted(a.check(4, rule))
	a.pass(3600 * second)
	a.admitted(a.check(5, rule))
	given := a.now
	a.pass(3600 * second)
	a.returned(r)
	a.pass(10 * ms)
	d := a.decision(a.check(6, rule))
	if want := time.Duration(given + int64(rule.Limit.Window) - a.now); d.Allowed || d.Limits[0].Remaining != 5 || !near(d.Limits[0].RetryAfter, want+100*time.Millisecond) {
		t.Errorf("%+v, and 5 of 10 come back in %v", d.Limits[0], want)
	}
}

// What a claim shows to be gone needs no wake.
func TestNoWakeForWhatIsGone(t *testing.T) {
	rule := ruleFor(t, day(t)["bucket"])
	tr := newTroupe(t, 3)
	a, b := tr.enter('A'), tr.enter('B')
	b.quickAll()
	a.checkBy(5*ms, 4, rule)
	a.deliver(0, 1)
	a.pass(6 * ms)
	a.deliver(0, 1)
	a.quickAll()
	b.admitted(b.check(1, rule))
	a.pass(10 * second)
}
