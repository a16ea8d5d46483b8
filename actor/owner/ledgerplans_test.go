package owner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

// plans are the rules of a bucket that takes holds: its own, of a token in 100 s, and that of a plan of as many tokens, of which one comes back in an
// hour.
func plans(t *testing.T) (fast, slow *limit.Rule) {
	t.Helper()
	rules := planned(t, limit.Limit{
		Name: "pool", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: 100 * time.Second}, Holds: limit.Holds{Longest: time.Hour},
	}, "{slow: {refill: 1/1h}}")
	return rules[0], rules[1]
}

// What a slow plan has spent takes as long to come back, by whichever plan checks ask meanwhile, and at whichever owner.
func TestPlansOfABucketPayEachTheirOwn(t *testing.T) {
	fast, slow := plans(t)
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	a.quickAll()
	a.admitted(a.check(10, slow))
	for range 10 {
		a.pass(200 * second)
		a.admitted(a.check(0, fast))
	}
	for _, s := range []*stage{a, tr.enter('B')} {
		s.quickAll()
		if got := s.left(fast); got != 0 {
			t.Errorf("%d are left of the fast plan where 9 h 27 min have still to pass", got)
		}
		s.denied(s.check(1, slow))
	}
	b := tr.enter('C')
	b.quickAll()
	b.pass(10*hour - 2000*second)
	if got := b.left(slow); got != 10 {
		t.Errorf("%d of 10 are left of the slow plan after the time of all of them", got)
	}
	b.admitted(b.check(10, fast))
	b.pass(1000 * second)
	if got := b.left(slow); got != 10 {
		t.Errorf("%d of 10 are left of the slow plan once all that the fast one spent has come back", got)
	}
}

// A hold is settled at the price by which it was taken, whichever plan was asked for last.
func TestHoldIsSettledAtItsPrice(t *testing.T) {
	for name, used := range map[string]int64{"nothing": 0, "a part": 3, "more": 8} {
		t.Run(name, func(t *testing.T) {
			fast, slow := plans(t)
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			h := a.holds(5, 60*second, slow)
			b := tr.enter('B')
			b.quickAll()
			b.admitted(b.check(0, fast))
			if got := b.settles(h, limit.Settlement{Used: used}, fast)[0]; got.State != limit.HoldSettled || got.Charged != used {
				t.Errorf("%+v", got)
			}
			if got := b.left(slow); got != 10-used {
				t.Errorf("%d are left, want %d", got, 10-used)
			}
		})
	}
}

// What may be charged beyond a hold is as much time as the plan asked for has left, and its debt: not as many tokens.
func TestDebtIsTheTimeOfThePlan(t *testing.T) {
	rules := planned(t, limit.Limit{
		Name: "pool", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: 100 * time.Second}, Holds: limit.Holds{Longest: time.Hour, MaxDebt: 62},
	}, "{slow: {refill: 1/1h}}")
	fast, slow := rules[0], rules[1]
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	h := a.holds(1, 60*second, slow)
	a.admitted(a.check(0, fast))
	// The hold has 36 tokens of the fast plan, which has 10 and a debt of 62: 36 tokens are left, which are one of the slow plan.
	if got := a.settles(h, limit.Settlement{Used: 5}, fast)[0]; got.Charged != 2 {
		t.Errorf("%d are charged, and there is time for 2", got.Charged)
	}
}

// It is that of the plan of the hold, whichever plan was asked for last.
func TestDebtIsOfThePlanOfTheHold(t *testing.T) {
	rules := planned(t, limit.Limit{
		Name: "pool", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: 100 * time.Second}, Holds: limit.Holds{Longest: time.Hour, MaxDebt: limit.NoDebt},
	}, "{slow: {refill: 1/1h}}")
	fast, slow := rules[0], rules[1]
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	h := a.holds(1, 60*second, slow)
	a.left(fast)
	if got := a.settles(h, limit.Settlement{Used: 5}, slow)[0]; got.Charged != 5 {
		t.Errorf("%d of 5 are charged, and nine were left", got.Charged)
	}
	h = a.holds(1, 60*second, slow)
	a.left(fast)
	if got := a.settles(h, limit.Settlement{Used: 9}, slow)[0]; got.Charged != 5 || got.Debt != 0 {
		t.Errorf("%d of 9 are charged, and four were left: %+v", got.Charged, got)
	}
}

// deliverAll brings what was sent to a register to two replicas, and what is sent then.
func (s *stage) deliverAll(name string) {
	for i := 0; i != len(s.post); i++ {
		if m := s.post[i]; m.Limit == name {
			s.bring(m, 0)
			s.bring(m, 1)
			s.post[i].Limit = ""
		}
	}
}

// What was written for a check or a hold of one plan, which another limit has denied, is given to none of another plan that came at the same time: its
// tokens are of another length, or lie further ahead.
func TestRoomOfAnotherPlanIsGivenUp(t *testing.T) {
	other := ruleFor(t, limit.Limit{Name: "other", Algorithm: limit.SlidingLog, Capacity: 10, Window: time.Hour, Holds: limit.Holds{Longest: time.Hour}})
	for name, tt := range map[string]struct {
		plan   string
		spent  int64 // by the limit's own numbers, before: more than a smaller plan allows
		admits bool  // the plan then has room
	}{
		"slower":  {"{plan: {refill: 1/1h}}", 0, true},
		"smaller": {"{plan: {capacity: 10}}", 50, false},
	} {
		for _, late := range []bool{false, true} {
			for what, ask := range map[string]func(s *stage, rules ...*limit.Rule) int{
				"check": func(s *stage, rules ...*limit.Rule) int { return s.check(5, rules...) },
				"hold":  func(s *stage, rules ...*limit.Rule) int { return s.hold(5, 0, 600*second, rules...) },
			} {
				t.Run(fmt.Sprintf("%s, %s, on its way %v", name, what, late), func(t *testing.T) {
					rules := planned(t, limit.Limit{
						Name: "pool", Capacity: 100, Refill: limit.Refill{Tokens: 1, Per: 100 * time.Second}, Holds: limit.Holds{Longest: time.Hour},
					}, tt.plan)
					own, plan := rules[0], rules[1]
					tr := newTroupe(t, 3)
					z := tr.enter('Z')
					z.quickAll()
					z.admitted(z.check(7, other))
					a := tr.enter('A')
					a.quickAll()
					a.admitted(a.check(tt.spent, own))
					a.quick = nil
					denied := ask(a, own, other)
					var asked int
					if late {
						asked = ask(a, plan)
						a.deliverAll(other.Register())
						a.deliverAll(own.Register())
					} else {
						a.deliverAll(own.Register())
						a.deliverAll(other.Register())
						asked = ask(a, plan)
					}
					a.denied(denied)
					a.quickAll()
					a.pass(second)
					if got := a.decision(asked).Allowed; got != tt.admits {
						t.Errorf("5 of the plan are admitted: %v, want %v", got, tt.admits)
					}
					a.pass(second)
					if got := tr.stored(t, plan).Used(a.clock()); tt.admits && got != 5 {
						t.Errorf("%d tokens of the plan are spent, and 5 were admitted", got)
					}
				})
			}
		}
	}
}

// So is a hold that no check was given when another plan is asked: it does not stay.
func TestHoldThatWasDeniedGoesBackBesidePlans(t *testing.T) {
	other := ruleFor(t, limit.Limit{Name: "other", Algorithm: limit.SlidingLog, Capacity: 10, Window: time.Hour, Holds: limit.Holds{Longest: time.Hour}})
	fast, slow := plans(t)
	tr := newTroupe(t, 3)
	z := tr.enter('Z')
	z.quickAll()
	z.admitted(z.check(7, other))
	a := tr.enter('A')
	denied := a.hold(8, 0, 60*second, slow, other)
	a.deliverAll(slow.Register())
	a.deliverAll(other.Register())
	a.denied(denied)
	a.quickAll()
	a.admitted(a.check(0, fast))
	a.pass(120 * second)
	if got := tr.enter('B').left(slow); got != 10 {
		t.Errorf("%d of 10 are left of the slow plan, and nothing was ever admitted", got)
	}
}

// A bucket whose replicas have lost what they had stored is closed for as long as the slowest plan has spent: by whichever plan checks ask, and
// also where that plan is no longer.
func TestFloorLastsAsLongAsTheSlowestPlan(t *testing.T) {
	fast, slow := plans(t)
	doc, err := limit.ParseDocument([]byte("limits:\n  pool: {capacity: 10, refill: 1/100s, hold: 1h}\n"))
	if err != nil {
		t.Fatal(err)
	}
	earlier, _ := doc.WithEarlier(map[string]int64{"pool": slow.Lasting()}).Rule("pool")
	for name, rule := range map[string]*limit.Rule{"the fast plan": fast, "the slow plan": slow, "after the plan": earlier} {
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			a.quickAll()
			a.admitted(a.check(10, slow))
			for _, r := range tr.replicas {
				r.amnesia(tr.now, register.DefaultBounds())
			}
			b := tr.enter('B')
			b.quickAll()
			b.pass(9 * hour)
			b.pass(int64(b.denied(b.check(1, rule)).RetryAfter) + second)
			b.admitted(b.check(1, rule))
		})
	}
}
