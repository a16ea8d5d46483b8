package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// until lets time pass until the owner has posted more than n messages.
func (s *stage) until(n int) {
	s.tb.Helper()
	for range 2000 {
		if len(s.post) > n {
			return
		}
		s.pass(ms)
	}
	s.tb.Fatal("it posts nothing")
}

// returnsAtAMinority has 6 come back, of which the write reaches the last replica only. The claim that follows is at that place in what was posted.
func (s *stage) returnsAtAMinority(rule *limit.Rule) (claim int) {
	s.tb.Helper()
	r := s.admitted(s.check(6, rule))
	s.pass(2 * second)
	s.returned(r)
	s.quick = nil
	n := len(s.post)
	s.until(n)
	s.bring(s.post[n], 2)
	s.until(n + 1)
	return n + 1
}

// leftToAnother is what is left to another owner that hears of the first two replicas only.
func leftToAnother(tr *troupe, rule *limit.Rule) int64 {
	b := tr.enter('B')
	b.quick = []int{0, 1}
	return b.decision(b.check(0, rule)).Limits[0].Remaining
}

// A ledger without what comes back reaches one replica only, and so does the answer. That a claim is told of it does not mean that it is stored: it is
// written once more.
func TestWrittenWithoutAndStoredAtAMinority(t *testing.T) {
	for name, l := range day(t) {
		rule := ruleFor(t, l)
		stories := map[string]func(*stage){
			"what no check was given": func(a *stage) {
				a.left(rule)
				a.quick = nil
				a.checkBy(5*ms, 6, rule)
				a.pass(6 * ms) // its caller leaves
				a.deliver(0, 1, 2)
			},
		}
		if rule.TakesReceipts() {
			stories["what came back"] = func(a *stage) {
				r := a.admitted(a.check(6, rule))
				a.pass(2 * second)
				a.returned(r)
				a.quick = nil
			}
		}
		for of, story := range stories {
			t.Run(name+", "+of, func(t *testing.T) {
				tr := newTroupe(t, 3)
				a := tr.enter('A')
				a.quickAll()
				story(a)
				n := len(a.post)
				a.until(n)
				a.bring(a.post[n], 2) // the write
				a.until(n + 1)
				if !a.post[n+1].Claim {
					t.Fatal("it does not claim")
				}
				for i := range 3 {
					a.bring(a.post[n+1], 2-i)
				}
				for _, m := range a.post[n+2:] {
					for i := range 3 {
						a.bring(m, i)
					}
				}
				a.quickAll() // from now on, nothing is lost
				a.pass(600 * second)
				if got := leftToAnother(tr, rule); got != 10 {
					t.Errorf("%d of 10 are left to another owner", got)
				}
			})
		}
	}
}

// The ledger that such a claim is told may be followed by one that was there before: then what comes back is in it again.
func TestToldOfAnEarlierLedgerAgain(t *testing.T) {
	for name, l := range day(t) {
		rule := ruleFor(t, l)
		if !rule.TakesReceipts() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			a.quickAll()
			n := a.returnsAtAMinority(rule)
			a.bring(a.post[n], 2) // the claim is told of the write
			a.bring(a.post[n], 1)
			a.until(n + 1) // the second write is lost
			a.until(n + 2)
			if !a.post[n+2].Claim {
				t.Fatal("it does not claim")
			}
			a.bring(a.post[n+2], 0) // the second claim is told of the ledger before
			a.bring(a.post[n+2], 1)
			a.quickAll()
			a.pass(600 * second)
			if got := leftToAnother(tr, rule); got != 10 {
				t.Errorf("%d of 10 are left to another owner", got)
			}
		})
	}
}

// A claim is told of the owner's own write without what goes back, to which others were given as much of the same entry: they keep that.
func TestWrittenWithoutOthersAreGiven(t *testing.T) {
	for name, l := range day(t) {
		rule := ruleFor(t, l)
		if !rule.TakesReceipts() || rule.Algorithm == limit.SlidingLog { // whose entries are of one check each
			continue
		}
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			a.quickAll()
			a.admitted(a.check(4, rule))
			n := a.returnsAtAMinority(rule)
			a.quickAll()
			a.bring(a.post[n], 2) // the claim is told of the write
			a.bring(a.post[n], 1)
			a.pass(600 * second)
			admitted := 4
			for _, s := range []*stage{a, tr.enter('B')} {
				s.quickAll()
				for range 10 {
					if s.decision(s.check(1, rule)).Allowed {
						admitted++
					}
				}
			}
			if admitted != 10 {
				t.Errorf("%d are admitted of 10", admitted)
			}
		})
	}
}

// Owners who write between an owner's claims and its writes, again and again, do not make it remember more and more of what these were for.
func TestWritesInVainHaveABound(t *testing.T) {
	for name, rule := range map[string]*limit.Rule{
		"permits": ruleFor(t, limit.Limit{Name: "p", Algorithm: limit.Concurrency, Capacity: 500, Lease: time.Hour}),
		"holds":   ruleFor(t, limit.Limit{Name: "l", Algorithm: limit.SlidingLog, Capacity: 1000, Window: time.Hour, Holds: limit.Holds{Longest: time.Hour}}),
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			a, b := tr.enter('A'), tr.enter('B')
			for range 400 {
				if rule.Permits() {
					a.check(1, rule)
				} else {
					a.hold(1, 0, hour, rule)
				}
			}
			early := int64(0)
			for round := range 60 {
				n := len(a.post)
				a.bring(a.post[n-1], 0)
				a.bring(a.post[n-1], 1)
				if len(a.post) == n || a.post[n].Claim {
					t.Fatal("it does not write")
				}
				b.quickAll()
				b.admitted(b.check(1, rule))
				for i := range 3 {
					a.bring(a.post[n], i)
				}
				a.until(n + 1)
				if round == 20 {
					early = a.owner.Bytes()
				}
			}
			if late := a.owner.Bytes(); late > early+early/2 {
				t.Errorf("the owner takes %d bytes after 20 rounds, and %d after 60", early, late)
			}
		})
	}
}

// A list of holds is no longer than replicas take, however much a settlement says of each: what the bucket has to refill for them is then in larger numbers.
func TestSettledListIsNoLarger(t *testing.T) {
	rules := planned(t, limit.Limit{
		Name: "budget", Capacity: 900_000_000_000_000, Refill: limit.Refill{Tokens: 899_999_999_999_999, Per: 200_000 * time.Hour}, Holds: limit.Holds{Longest: 24 * time.Hour},
	}, "{b: {capacity: 900000000000000, refill: 899999999999983/200100h}}")
	a := newTroupe(t, 3).enter('A')
	a.quickAll()
	var all []limit.Hold
	for i := range limit.MaxHolds {
		r, answered := a.reply(a.hold(1, 0, 24*hour, rules[i%2]))
		if !answered {
			t.Fatal("a hold is not answered")
		}
		if r.Err != nil {
			break
		}
		all = append(all, *r.Decision.Hold)
		a.pass(ms)
	}
	longest := 0
	for i, h := range all {
		s := []owner.Settle{{Rule: rules[i%2], Held: h.Limits[0], Granted: 1, Used: []int64{1e12, 2.2e12}[i%2], Open: true}}
		a.owner.Settle(a.tag(), s, a.clock(), a.clock()+hour, &a.out)
		a.after()
		longest = max(longest, len(a.post[len(a.post)-1].Ledger))
		a.pass(ms)
	}
	if t.Logf("%d holds", len(all)); len(all) < 900 || longest > register.MaxLedger {
		t.Errorf("%d holds, and a ledger of %d bytes is written, of which replicas take %d", len(all), longest, register.MaxLedger)
	}
}

// Two owners settle holds of one window in the next one, for as much as a settlement may say. What the next owner makes of their two entries can be read.
func TestMergedEntriesCanBeRead(t *testing.T) {
	rule := ruleFor(t, limit.Limit{
		Name: "w", Algorithm: limit.SlidingWindow, Weighted: true, Capacity: 1000, Window: time.Hour, Holds: limit.Holds{Longest: 24 * time.Hour},
	})
	tr := newTroupe(t, 3)
	a, b, c := tr.enter('A'), tr.enter('B'), tr.enter('C')
	var all []limit.Hold
	for range 3 {
		all = append(all, a.holds(1, 24*hour, rule))
	}
	a.pass(2 * second)
	for range 3 {
		all = append(all, b.holds(1, 24*hour, rule))
	}
	last := b.holds(1, 24*hour, rule)
	tr.now += 2*hour - tr.now%hour - 60*second // the end of the next window
	for _, h := range all {
		b.settles(h, limit.Settlement{Used: limit.MaxCount}, rule)
	}
	b.pass(100 * ms)
	c.settles(last, limit.Settlement{Used: 1}, rule)
	tr.now += 3 * second
	for _, s := range []*stage{tr.enter('D'), a, b} {
		s.quickAll()
		if r, _ := s.reply(s.check(0, rule)); r.Err != nil {
			t.Errorf("%c: %v", s.name[0], r.Err)
		}
	}
}

// A ledger of one limit that cannot be read is no matter of checks of another limit that wait.
func TestUnreadableBesideAnotherLimit(t *testing.T) {
	rule := ruleFor(t, day(t)["log"])
	other := ruleFor(t, limit.Limit{Name: "other", Algorithm: limit.SlidingLog, Capacity: 1000, Window: time.Second})
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	a.quickAll()
	a.admitted(a.check(1, rule))
	a.pass(2 * second)
	a.corrupt(rule)
	a = tr.enter('B')
	fails, waits := a.check(6, rule), a.check(1, other)
	a.quickAll() // what it posts from now on
	a.deliver(1, 2)
	if r, answered := a.reply(fails); !answered || r.Err == nil {
		t.Errorf("the check of the limit whose ledger cannot be read: %+v, %v", r, answered)
	}
	a.pass(ms)
	a.admitted(waits)
}

// A permit whose lease is over was not inside when it came back, whether its owner has looked since or not.
func TestEndedPermitWasNotInside(t *testing.T) {
	for name, looks := range map[string]bool{"nobody has asked since": false, "somebody has asked since": true} {
		t.Run(name, func(t *testing.T) {
			rule := ruleFor(t, limit.Limit{Name: "p", Algorithm: limit.Concurrency, Capacity: 1, Lease: 10 * time.Second})
			a := newTroupe(t, 3).enter('A')
			a.quickAll()
			p := a.admitted(a.check(1, rule))
			a.pass(60 * second)
			if looks {
				a.left(rule)
			}
			if a.leaves(rule, p) {
				t.Error("its return says that it was inside")
			}
		})
	}
}

// A permit that an owner has taken out was inside, also where two claims in a row are told of that write, which a minority alone has stored.
func TestTakenOutAtAMinorityAndToldOfItTwice(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "p", Algorithm: limit.Concurrency, Capacity: 10, Lease: time.Hour})
	for _, times := range []int{1, 2} {
		tr := newTroupe(t, 3)
		a := tr.enter('A')
		a.quickAll()
		p := a.admitted(a.check(1, rule))
		a.quick = nil
		out := []owner.Permit{{Rule: rule, ID: p.Serial}}
		n := len(a.post)
		tag := a.takeOut(out)
		a.bring(a.post[n], 2) // the write without it reaches the last replica alone
		for i := range times {
			b := tr.enter('B' + byte(i))
			b.quick = []int{0, 1}
			b.pass(ms)
			b.decision(b.check(0, rule)) // another owner has claimed, and refuses it at the others
			n := len(a.post) - 1
			a.bring(a.post[n], 0)
			a.bring(a.post[n], 1)
			a.until(n + 1)
			for !a.post[len(a.post)-1].Claim {
				a.until(len(a.post))
			}
			c := len(a.post) - 1
			a.bring(a.post[c], 2)
			a.bring(a.post[c], 1)
			for tries := 0; len(a.post) == c+1 && tries < 3; tries++ {
				a.pass(10 * ms)
			}
		}
		a.quickAll()
		a.bring(a.post[len(a.post)-1], 0)
		a.bring(a.post[len(a.post)-1], 1)
		a.pass(100 * ms)
		if a.done(tag); !out[0].Out {
			t.Errorf("told of it %d times: the return says that the permit was not inside", times)
		}
	}
}
