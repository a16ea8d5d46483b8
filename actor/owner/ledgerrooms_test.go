package owner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// What a ledger may take is what a reservation takes.
func TestLedgersFitIntoReservations(t *testing.T) {
	if limit.MaxLedger != register.MaxLedger {
		t.Errorf("a ledger has at most %d bytes, and a reservation takes %d", limit.MaxLedger, register.MaxLedger)
	}
}

// nearlyFull is a limit of which three tokens are left to a troupe, as its owners do not know yet: of two limits, one is given, and this one denies.
func nearlyFull(t *testing.T, tr *troupe) *limit.Rule {
	t.Helper()
	rule := ruleFor(t, limit.Limit{Name: "other", Algorithm: limit.SlidingLog, Capacity: 10, Window: time.Hour, Holds: limit.Holds{Longest: time.Hour}})
	z := tr.enter('Z')
	z.quickAll()
	z.admitted(z.check(7, rule))
	return rule
}

// What a write in flight takes for a check of one plan that another limit denies goes back, and nothing else: whether the write is heard of, or claimed
// later, and whether ledgers are in time or in tokens.
func TestDeniedBesideAnotherPlanGoesBack(t *testing.T) {
	fast, slow := plans(t)
	for name, order := range map[string][2]*limit.Rule{"slow, then fast": {slow, fast}, "fast, then slow": {fast, slow}} {
		for _, inTokens := range []bool{false, true} {
			for _, heard := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, in tokens %v, heard of %v", name, inTokens, heard), func(t *testing.T) {
					first, then := order[0], order[1]
					tr := newTroupe(t, 3)
					other := nearlyFull(t, tr)
					a := tr.enter('A')
					a.cfg.LedgersInTokens = func() bool { return inTokens }
					a.quickAll()
					a.admitted(a.check(5, then))
					a.quick = nil
					denied := a.check(4, first, other)
					var asked int
					if heard {
						asked = a.check(5, then)
						a.deliverAll(other.Register())
						a.deliverAll(then.Register())
						a.denied(denied)
					} else {
						for _, m := range a.post {
							if m.Limit == then.Register() && len(m.Ledger) > 0 {
								m.Now = a.clock()
								for _, r := range a.replicas {
									r.reserve(m, a.now, a.bounds)
								}
							}
						}
						a.deliverAll(other.Register())
						a.denied(denied)
						a.pass(100 * ms)
						a.quickAll()
						asked = a.check(5, then)
					}
					a.quickAll()
					a.pass(second)
					a.admitted(asked)
					if got := a.left(then); got != 0 {
						t.Errorf("%d of 10 are left, and 10 were admitted a second ago", got)
					}
				})
			}
		}
	}
}

// So does what is stored already, though the other plan's check leads to a claim, which reads it anew; and meanwhile nobody is told of a wait for it.
func TestStoredBesideAnotherPlanGoesBack(t *testing.T) {
	fast, slow := plans(t)
	for name, ask := range map[string]func(s *stage, rules ...*limit.Rule) int{
		"check": func(s *stage, rules ...*limit.Rule) int { return s.check(5, rules...) },
		"hold":  func(s *stage, rules ...*limit.Rule) int { return s.hold(5, 0, 60*second, rules...) },
	} {
		for _, after := range []int64{0, 2 * second} {
			t.Run(fmt.Sprintf("%s, %v later", name, time.Duration(after)), func(t *testing.T) {
				tr := newTroupe(t, 3)
				other := nearlyFull(t, tr)
				a := tr.enter('A')
				denied := ask(a, slow, other)
				a.deliverAll(slow.Register())
				a.deliverAll(other.Register())
				a.denied(denied)
				a.quickAll()
				a.pass(after)
				a.admitted(a.check(1, fast))
				a.pass(second)
				if got := a.left(slow); got != 9 {
					t.Errorf("%d of 10 are left of the slow plan, and one of the fast plan was admitted", got)
				}
			})
		}
	}
}

// A room of a window that stays beside a write in flight goes back too, when another plan is asked for then.
func TestRoomThatStaysGoesBack(t *testing.T) {
	rules := planned(t, limit.Limit{Name: "day", Algorithm: limit.FixedWindow, Capacity: 10, Window: 24 * time.Hour, Holds: limit.Holds{Longest: time.Hour}}, "{plan: {limit: 11}}")
	tr := newTroupe(t, 3)
	other := nearlyFull(t, tr)
	a := tr.enter('A')
	denied := a.check(4, rules[0], other)
	a.deliverAll(rules[0].Register())
	a.deliverAll(other.Register())
	a.denied(denied)
	a.checkBy(10*ms, 5, rules[0])
	a.now += 11 * ms
	a.wake()
	a.owner.Check(owner.Check{Tag: a.tag(), At: a.clock(), Deadline: a.clock() + hour, Rules: rules[1:]}, &a.out)
	a.after()
	a.deliverAll(rules[0].Register())
	a.quickAll()
	a.pass(2 * second)
	a.admitted(a.check(10, rules[0]))
}

// day is a limit of ten in a day by each algorithm that counts entries.
func day(t *testing.T) map[string]limit.Limit {
	t.Helper()
	return map[string]limit.Limit{
		"bucket":         {Name: "day", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: 100 * time.Hour}, Holds: limit.Holds{Longest: time.Hour}},
		"log":            {Name: "day", Algorithm: limit.SlidingLog, Capacity: 10, Window: 24 * time.Hour},
		"sliding window": {Name: "day", Algorithm: limit.SlidingWindow, Capacity: 10, Window: 24 * time.Hour},
		"fixed window":   {Name: "day", Algorithm: limit.FixedWindow, Capacity: 10, Window: 24 * time.Hour, Holds: limit.Holds{Longest: time.Hour}},
	}
}

// Checks that another limit denies take nothing, however many come at once to an owner that knows neither limit: nothing is written for them. The owner can be
// forgotten then.
func TestDeniedBurstTakesNothing(t *testing.T) {
	for name, l := range day(t) {
		t.Run(name, func(t *testing.T) {
			rule := ruleFor(t, l)
			tr := newTroupe(t, 3)
			other := nearlyFull(t, tr)
			a := tr.enter('A')
			var tags []int
			for i := range 4 {
				rules := []*limit.Rule{rule, other}
				if i%2 == 1 {
					rules = []*limit.Rule{other, rule}
				}
				tags = append(tags, a.check(4, rules...))
			}
			a.deliverAll(rule.Register())
			a.deliverAll(other.Register())
			for _, tag := range tags {
				a.denied(tag)
			}
			for _, m := range a.sent {
				if !m.Claim {
					t.Errorf("%s is written", m.Limit)
				}
			}
			a.pass(second)
			if idle, again := a.owner.Idle(a.clock()); !idle {
				t.Errorf("the owner cannot be forgotten for %v", time.Duration(again-a.clock()))
			}
			if got := tr.enter('B').left(rule); got != 10 {
				t.Errorf("%d of 10 are left, and nothing was ever admitted", got)
			}
		})
	}
}

// What was written for a check whose caller has not waited for it goes back, and the owner can be forgotten then. What is left is told without it, from
// the beginning to long after its end.
func TestWrittenTooLateGoesBack(t *testing.T) {
	for name, l := range day(t) {
		t.Run(name, func(t *testing.T) {
			rule := ruleFor(t, l)
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			a.checkBy(5*ms, 4, rule)
			a.deliver(0, 1) // the claim; the write is under way
			a.pass(6 * ms)
			a.deliver(0, 1)
			a.quickAll()
			if got := a.left(rule); got != 10 {
				t.Errorf("%d of 10 are left before it goes back", got)
			}
			a.pass(second)
			if idle, again := a.owner.Idle(a.clock()); !idle {
				t.Errorf("the owner cannot be forgotten for %v", time.Duration(again-a.clock()))
			}
			if got := tr.enter('B').left(rule); got != 10 {
				t.Errorf("%d of 10 are left, and nothing was ever admitted", got)
			}
			if a.pass(50 * hour); a.left(rule) != 10 {
				t.Errorf("%d of 10 are left two days later", a.left(rule))
			}
		})
	}
}

// A claim that is told what a write has stored of which no answer came knows what goes back of it, and so does the next claim, which is told the same.
func TestWrittenUnheardGoesBack(t *testing.T) {
	for name, l := range day(t) {
		t.Run(name, func(t *testing.T) {
			rule := ruleFor(t, l)
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			a.checkBy(5*ms, 4, rule)
			a.deliver(0, 1)
			unheard := a.post[len(a.post)-1]
			unheard.Now = a.clock()
			for _, r := range tr.replicas {
				r.reserve(unheard, a.now, a.bounds)
			}
			a.pass(30 * ms)
			a.quickAll()
			a.left(rule)
			a.now += 2 * second
			if got := a.left(rule); got != 10 {
				t.Errorf("%d of 10 are left once it was claimed twice", got)
			}
			a.pass(second)
			if got := tr.enter('B').left(rule); got != 10 {
				t.Errorf("%d of 10 are left, and nothing was ever admitted", got)
			}
		})
	}
}

// What a write has left out is not taken out again when a claim is told late of that write, and of another one in between the owner has heard nothing: somebody
// else has been given as much in the same queue, or in the same part of a window.
func TestLeftOutOnce(t *testing.T) {
	for name, l := range day(t) {
		t.Run(name, func(t *testing.T) {
			rule := ruleFor(t, l)
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			// due has the owner send what is due after so long.
			due := func(after int64, claim bool) register.Reservation {
				t.Helper()
				sent := len(a.post)
				a.now += after
				if a.wake(); len(a.post) != sent+1 || a.post[sent].Claim != claim {
					t.Fatalf("it sends %+v, want one message, a claim %v", a.post[sent:], claim)
				}
				return a.post[sent]
			}
			tell := func(m register.Reservation, replicas ...int) {
				for _, i := range replicas {
					a.bring(m, i)
				}
			}
			a.quickAll()
			a.admitted(a.check(5, rule))
			a.quick = nil
			a.checkBy(5*ms, 4, rule)
			a.now += 6 * ms
			a.wake()
			a.deliver(0, 1, 2) // a room that nobody is given
			without := due(owner.DefaultDelta, false)
			without.Now = a.clock()
			a.replicas[0].reserve(without, a.now, a.bounds)
			a.now += 30 * ms
			a.wake()
			tell(due(owner.DefaultDelta, true), 1, 2)
			if again := a.post[len(a.post)-1]; again.Claim {
				t.Fatalf("it sends %+v, want a write", again)
			}
			a.now += 30 * ms
			a.wake()
			tell(due(4*owner.DefaultDelta, true), 0, 1)
			a.quickAll()
			a.pass(second)
			a.admitted(a.check(1, rule))
			a.pass(2 * second)
			if got := tr.enter('B').left(rule); got != 4 {
				t.Errorf("%d of 10 are left, and 6 were admitted", got)
			}
		})
	}
}

// What came back goes back to the replicas too, also after another plan has been asked for.
func TestReturnedIsWritten(t *testing.T) {
	for name, l := range day(t) {
		for _, asked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, another plan asked for %v", name, asked), func(t *testing.T) {
				rules := planned(t, l, "{plan: {"+map[bool]string{true: "capacity", false: "limit"}[name == "bucket"]+": 11}}")
				if !rules[0].TakesReceipts() {
					t.Skip("nothing comes back")
				}
				tr := newTroupe(t, 3)
				a := tr.enter('A')
				a.quickAll()
				r := a.admitted(a.check(8, rules[0]))
				a.pass(300 * second)
				a.returned(r)
				if asked {
					a.left(rules[1])
				}
				a.pass(second)
				if got := tr.enter('B').left(rules[0]); got != 10 {
					t.Errorf("%d of 10 are left to another owner a second after all came back", got)
				}
			})
		}
	}
}

// Also what comes back while a write is under way.
func TestReturnedBesideAWrite(t *testing.T) {
	for name, l := range day(t) {
		rules := planned(t, l, "{plan: {"+map[bool]string{true: "capacity", false: "limit"}[name == "bucket"]+": 11}}")
		if !rules[0].TakesReceipts() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			a.quickAll()
			r := a.admitted(a.check(4, rules[0]))
			a.pass(10 * ms)
			a.quick = nil
			c := a.check(6, rules[0])
			a.returned(r)
			look := a.check(0, rules[1])
			a.deliverAll(rules[0].Register())
			a.quickAll()
			a.pass(2 * second)
			a.admitted(c)
			a.decision(look)
			if got := a.left(rules[0]); got != 4 {
				t.Errorf("%d of 10 are left, and 6 were admitted that did not come back", got)
			}
		})
	}
}

// A permit that was entered for a check of a large plan, which did not wait for it, is given to none of a small plan.
func TestPermitOfALargerPlan(t *testing.T) {
	rules := planned(t, limit.Limit{Name: "streams", Algorithm: limit.Concurrency, Capacity: 100, Lease: time.Hour}, "{small: {limit: 5}}")
	own, small := rules[0], rules[1]
	a := newTroupe(t, 3).enter('A')
	a.quickAll()
	for range 50 {
		a.admitted(a.check(1, own))
	}
	a.quick = nil
	a.checkBy(5*ms, 1, own)
	asked := a.check(1, small)
	a.now += 6 * ms
	a.wake()
	a.deliverAll(own.Register())
	if a.decision(asked).Allowed {
		t.Error("the plan of 5 is admitted, and 50 are inside")
	}
}

// A room of a small plan is none any more once a larger one has been given so much that the small one has nothing left.
func TestRoomOfASmallerPlan(t *testing.T) {
	rules := planned(t, limit.Limit{Name: "day", Algorithm: limit.FixedWindow, Capacity: 10, Window: 24 * time.Hour, Holds: limit.Holds{Longest: time.Hour}}, "{small: {limit: 4}}")
	own, small := rules[0], rules[1]
	a := newTroupe(t, 3).enter('A')
	a.checkBy(5*ms, 3, small)
	large, asked := a.check(6, own), a.check(3, small)
	a.deliver(0, 1) // the claim; the write has room for the first two
	a.now += 6 * ms
	a.wake()
	a.deliverAll(own.Register())
	a.admitted(large)
	if a.decision(asked).Allowed {
		t.Error("the plan of 4 is admitted, and 6 of the window are spent")
	}
}

// Nobody is denied by what is written for checks of another plan, whose parts of tokens are his whole ones.
func TestRoomsOfOthersLeavePlace(t *testing.T) {
	rules := planned(t, limit.Limit{
		Name: "pool", Capacity: 1000, Refill: limit.Refill{Tokens: 1, Per: 100 * time.Second}, Holds: limit.Holds{Longest: time.Hour},
	}, "{slow: {capacity: 2, refill: 1/1h}}")
	own, slow := rules[0], rules[1]
	a := newTroupe(t, 3).enter('A')
	x, y, z := a.check(18, own), a.check(1, slow), a.check(25, own)
	a.deliverAll(own.Register())
	a.admitted(x)
	a.admitted(y)
	a.admitted(z)
}

// Checks of several plans that wait together are written together.
func TestOneWriteForAllPlans(t *testing.T) {
	rules := planned(t, limit.Limit{
		Name: "pool", Capacity: 1000, Refill: limit.Refill{Tokens: 1, Per: 100 * time.Second}, Holds: limit.Holds{Longest: time.Hour},
	}, "{slow: {refill: 1/101s}, small: {capacity: 5, refill: 1/10m}}")
	a := newTroupe(t, 3).enter('A')
	var tags []int
	for i := range 40 {
		tags = append(tags, a.check(1, rules[i%3]))
	}
	a.deliverAll(rules[0].Register())
	for i, tag := range tags {
		if got, want := a.decision(tag).Allowed, i%3 != 2 || i < 9; got != want {
			t.Errorf("check %d, of plan %d: %v", i, i%3, got)
		}
	}
	a.wantSends(2)
}

// A hold that goes back takes nobody's place in a list that is full with it.
func TestHoldThatGoesBackLeavesPlace(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "pool", Capacity: 1_000_000, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Hour}})
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	for range limit.MaxHolds - 1 {
		a.holds(1, 3600*second, rule)
		a.now += ms
	}
	a.quick = nil
	late := a.tag()
	a.owner.Check(owner.Check{Tag: late, At: a.clock(), Deadline: a.clock() + 5*ms, Rules: []*limit.Rule{rule}, Cost: 4, Hold: 3600 * second}, &a.out)
	a.after()
	a.pass(6 * ms)
	a.deliverAll(rule.Register())
	a.quickAll()
	if r, _ := a.reply(a.hold(1, 0, 3600*second, rule)); r.Err != nil || !r.Decision.Allowed {
		t.Errorf("%+v", r)
	}
}

// What comes back to its owner comes back although another one has written the ledger meanwhile: there, the admission is nobody's own.
func TestReturnedAfterAnotherOwner(t *testing.T) {
	for name, l := range day(t) {
		rule := ruleFor(t, l)
		if !rule.TakesReceipts() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			a, b := tr.enter('A'), tr.enter('B')
			a.quickAll()
			b.quickAll()
			r := a.admitted(a.check(5, rule))
			a.pass(second)
			b.admitted(b.check(1, rule))
			a.pass(second)
			a.left(rule)
			a.returned(r)
			if got := a.left(rule); got != 9 {
				t.Errorf("%d of 10 are left to the owner, and one is spent", got)
			}
			a.pass(3 * second)
			if got := tr.enter('C').left(rule); got != 9 {
				t.Errorf("%d of 10 are left to another one, and one is spent", got)
			}
		})
	}
}

// Neither is a settlement less, because something came back in the same window that another owner has written.
func TestReturnedBesideAHold(t *testing.T) {
	rule := ruleFor(t, day(t)["fixed window"])
	for _, settled := range []bool{false, true} {
		t.Run(fmt.Sprintf("settled first %v", settled), func(t *testing.T) {
			tr := newTroupe(t, 3)
			a, b := tr.enter('A'), tr.enter('B')
			a.quickAll()
			b.quickAll()
			r := a.admitted(a.check(3, rule))
			b.admitted(b.check(1, rule))
			h := a.holds(6, 1000*second, rule)
			back := func() {
				a.returned(r)
				a.pass(3 * second)
			}
			if !settled {
				back()
			}
			before := tr.enter('C').left(rule)
			a.settles(h, limit.Settlement{Used: 0}, rule)
			if after := tr.enter('D').left(rule); after != before+6 {
				t.Errorf("%d were left before 6 came back, and %d are", before, after)
			}
			if settled {
				back()
			}
			if got := tr.enter('E').left(rule); got != 9 {
				t.Errorf("%d of 10 are left in the end, and one is spent", got)
			}
		})
	}
}

// A write whose answers come too late, or not at all, is looked for although nobody asks for the key again.
func TestUnheardAndNobodyAsks(t *testing.T) {
	for name, l := range day(t) {
		t.Run(name, func(t *testing.T) {
			rule := ruleFor(t, l)
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			a.checkBy(15*ms, 4, rule)
			a.deliver(0, 1, 2)
			a.storedUnheard(0, 1, 2)
			a.quickAll()
			a.pass(10 * second)
			if idle, _ := a.owner.Idle(a.clock()); !idle {
				t.Error("the owner cannot be forgotten")
			}
			if got := tr.enter('B').left(rule); got != 10 {
				t.Errorf("%d of 10 are left, and nothing was ever admitted", got)
			}
		})
	}
}

// While no replica answers, what goes back is tried less and less often.
func TestGoesBackLessOftenInAnOutage(t *testing.T) {
	for name, l := range day(t) {
		t.Run(name, func(t *testing.T) {
			rule := ruleFor(t, l)
			a := newTroupe(t, 3).enter('A')
			a.checkBy(15*ms, 4, rule)
			a.deliver(0, 1, 2)
			before := len(a.sent)
			for end := a.now + 600*second; a.due() <= end; {
				a.now = max(a.now, a.due())
				a.wake()
			}
			if n := len(a.sent) - before; n == 0 || n > 100 {
				t.Errorf("%d messages in ten minutes", n)
			}
		})
	}
}

// A key that is busy in bursts keeps what it has taken ahead from one to the next, and clients that come back are given what they have left: so they write
// and wait no more often than they must.
func TestRoomIsKeptForThoseWhoComeAgain(t *testing.T) {
	asks := func(a *stage, rule *limit.Rule) (waited bool, tag int) {
		before := len(a.sent)
		a.quick = nil
		tag = a.check(1, rule)
		_, answered := a.reply(tag)
		for i := before; i < len(a.post); i++ {
			a.bring(a.post[i], 0)
		}
		a.quickAll()
		return !answered, tag
	}
	t.Run("bursts", func(t *testing.T) {
		rule := ruleFor(t, limit.Limit{Name: "hot", Algorithm: limit.SlidingWindow, Capacity: 10_000, Window: 10 * time.Minute})
		a := newTroupe(t, 1).enter('A')
		n, waited := 0, 0
		for range 60 {
			for range 20 {
				if w, _ := asks(a, rule); w {
					waited++
				}
				n++
				a.pass(2 * ms)
			}
			a.pass(960 * ms)
		}
		if waited > n/20 || len(a.sent) > n/5 {
			t.Errorf("of %d checks %d waited, and there were %d messages", n, waited, len(a.sent))
		}
	})
	t.Run("returns", func(t *testing.T) {
		rule := ruleFor(t, day(t)["sliding window"])
		a := newTroupe(t, 1).enter('A')
		for range 100 {
			_, tag := asks(a, rule)
			r := a.admitted(tag)
			a.pass(50 * ms)
			a.returned(r)
			a.pass(200 * ms)
		}
		if len(a.sent) > 10 {
			t.Errorf("%d messages for 100 checks", len(a.sent))
		}
	})
}

// BenchmarkWaitingHolds has so many holds wait for one write.
func BenchmarkWaitingHolds(b *testing.B) {
	for name, l := range map[string]limit.Limit{
		"bucket": {Name: "l", Capacity: 100_000, Refill: limit.Refill{Tokens: 1, Per: 100 * time.Second}, Holds: limit.Holds{Longest: time.Hour}},
		"log":    {Name: "l", Algorithm: limit.SlidingLog, Capacity: 1000, Window: 24 * time.Hour, Holds: limit.Holds{Longest: time.Hour}},
	} {
		for _, n := range []int{100, 1000} {
			b.Run(fmt.Sprintf("%s, %d", name, n), func(b *testing.B) {
				rule := ruleFor(b, l)
				for b.Loop() {
					b.StopTimer()
					a := newTroupe(b, 1).enter('A')
					for range n {
						a.owner.Check(owner.Check{Tag: a.tag(), At: a.clock(), Deadline: a.clock() + hour, Rules: []*limit.Rule{rule}, Cost: 1, Hold: 600 * second}, &a.out)
					}
					a.after()
					a.deliver(0)
					m := a.post[len(a.post)-1]
					m.Now = a.clock()
					answer := understood(a.replicas[0].reserve(m, a.now, a.bounds), 0, m)
					b.StartTimer()
					a.owner.Answer(answer, a.clock(), &a.out)
				}
			})
		}
	}
}
