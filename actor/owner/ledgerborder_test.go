package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// What comes back of an entry that has ended by one owner's clock is not taken out of what others were admitted: by the clock of an owner that is behind,
// their window lasts still.
func TestNothingComesBackBehindTheWindow(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "w", Algorithm: limit.FixedWindow, Capacity: 10, Window: time.Hour, Holds: limit.Holds{Longest: 30 * time.Minute}})
	for name, back := range map[string]func(a *stage, pass func(to int64)){
		"a settlement": func(a *stage, pass func(to int64)) {
			h := a.holds(5, 60*second, rule)
			pass(50 * ms)
			a.settles(h, limit.Settlement{Used: 0}, rule)
		},
		"a return": func(a *stage, pass func(to int64)) {
			r := a.admitted(a.check(5, rule))
			pass(-500 * ms)
			a.returned(r)
			pass(50 * ms)
			a.admitted(a.check(1, rule))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			a, b := tr.enter('A'), tr.enter('B')
			a.quickAll()
			b.quickAll()
			b.ahead = -200 * ms
			_, end := rule.Slot(tr.now)
			tr.now = end - 10*second
			b.admitted(b.check(5, rule))
			back(a, func(to int64) { a.pass(end + to - tr.now) })
			b.quickAll()
			got := 5
			for range 20 {
				b.pass(2 * ms)
				tag := b.check(1, rule)
				b.pass(ms)
				if r, answered := b.reply(tag); answered && r.Err == nil && r.Decision.Allowed {
					got++
				}
			}
			if got > 10 {
				t.Errorf("B has admitted %d of 10 in one window by its clock", got)
			}
		})
	}
}

// answersLate has replicas answer slowly: first is admitted after 990 ms, and what was written for those behind it is stored after a second, when holds that
// were to last for one have expired.
func answersLate(a *stage, first int) {
	a.pass(990 * ms)
	for range 20 {
		if _, answered := a.reply(first); answered {
			break
		}
		a.deliver(0, 1)
	}
	a.admitted(first)
	m := a.post[len(a.post)-1]
	a.pass(11 * ms)
	a.bring(m, 0)
	a.bring(m, 1)
}

// What a hold had that was written too late for its check, and was freed when it expired, is there once: nobody is told more than the limit, and a
// busy key takes nothing ahead of it.
func TestFreedHoldIsThereOnce(t *testing.T) {
	rules := planned(t, limit.Limit{
		Name: "s", Algorithm: limit.SlidingWindow, Capacity: 100, Window: 10 * time.Minute, Holds: limit.Holds{Longest: 30 * time.Second, OnExpiry: limit.Free},
	}, "{small: {limit: 40}}")
	large, small := rules[0], rules[1]
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	a.cfg.Busy = 8
	a.quickAll()
	a.left(small)
	a.quick = nil
	first := a.check(10, small)
	a.checkBy(second, 1, small)
	a.owner.Check(owner.Check{Tag: a.tag(), At: a.clock(), Deadline: a.clock() + hour, Rules: rules[:1], Cost: 30, Hold: second}, &a.out)
	a.after()
	last := a.check(50, large)
	answersLate(a, first)
	a.admitted(last)
	if got := a.decision(a.check(0, large)).Limits[0].Remaining; got > 40 {
		t.Errorf("%d remain of 100, and 60 are spent", got)
	}
	for range 12 {
		a.check(0, small) // the key is busy
	}
	sum := 60
	if a.decision(a.check(1, small)).Allowed {
		t.Error("the plan of 40 is admitted, and 60 are spent")
	}
	a.quickAll()
	a.pass(ms)
	b := tr.enter('B')
	b.quickAll()
	for range 60 {
		b.pass(2 * ms)
		c := b.check(1, large)
		b.pass(2 * ms)
		if r, answered := b.reply(c); answered && r.Err == nil && r.Decision.Allowed {
			sum++
		}
	}
	if sum > 100 {
		t.Errorf("%d of 100 are admitted", sum)
	}
}
