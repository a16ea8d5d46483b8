package owner_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// holding is a bucket of ten tokens, one a second, with holds.
func holding(tb reporter, holds limit.Holds) *limit.Rule {
	return ruleFor(tb, limit.Limit{Name: "tokens", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: holds})
}

// ofWindow is a window of an hour for ten tokens, with holds, which are durable.
func ofWindow(tb reporter, holds limit.Holds) *limit.Rule {
	return ruleFor(tb, limit.Limit{Name: "budget", Algorithm: limit.FixedWindow, Capacity: 10, Window: time.Hour, Holds: holds})
}

// hold asks for a hold, of at least least.
func (s *stage) hold(cost, least, lasts int64, rules ...*limit.Rule) int {
	tag := s.tag()
	s.owner.Check(owner.Check{Tag: tag, At: s.clock(), Deadline: s.clock() + hour, Rules: rules, Cost: cost, Hold: lasts, Least: least}, &s.out)
	s.after()
	return tag
}

// holds takes a hold at replicas that answer at once.
func (s *stage) holds(cost, lasts int64, rules ...*limit.Rule) limit.Hold {
	s.tb.Helper()
	s.quickAll()
	d := s.decision(s.hold(cost, 0, lasts, rules...))
	if !d.Allowed {
		s.tb.Fatalf("a hold of %d was denied: %+v", cost, d.Limits)
	}
	return *d.Hold
}

func (s *stage) quickAll() {
	s.quick = s.quick[:0]
	for i := range s.replicas {
		s.quick = append(s.quick, i)
	}
}

// settles says what was used of a hold, at replicas that answer at once.
func (s *stage) settles(h limit.Hold, settlement limit.Settlement, rules ...*limit.Rule) []limit.SettledLimit {
	s.tb.Helper()
	s.quickAll()
	all := make([]owner.Settle, len(rules))
	for i, rule := range rules {
		all[i] = owner.Settle{
			Rule: rule, Held: h.Limits[i], Granted: h.Granted, Used: settlement.Used, Open: settlement.Open, For: settlement.For.Nanoseconds(),
		}
	}
	tag := s.tag()
	s.owner.Settle(tag, all, s.clock(), s.clock()+hour, &s.out)
	s.after()
	if r, ok := s.reply(tag); !ok || r.Err != nil {
		s.tb.Fatalf("settlement %d: answered %v, error %v", tag, ok, r.Err)
	}
	settled := make([]limit.SettledLimit, len(all))
	for i := range all {
		settled[i] = all[i].Settled
	}
	return settled
}

// left is how many tokens the bucket has.
func (s *stage) left(rule *limit.Rule) int64 {
	s.tb.Helper()
	s.quickAll()
	return s.decision(s.check(0, rule)).Limits[0].Remaining
}

// What was held comes back but for what was used, also in parts, and once; the bucket pays for what was used above that, into debt.
func TestSettle(t *testing.T) {
	for name, rule := range map[string]*limit.Rule{
		"line":   holding(t, limit.Holds{Longest: time.Minute}),
		"ledger": ofWindow(t, limit.Holds{Longest: time.Minute}),
	} {
		t.Run(name, func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			want := func(what string, got limit.SettledLimit, state limit.HoldState, charged, returned, debt, left int64) {
				t.Helper()
				if got.State != state || got.Charged != charged || got.Returned != returned || got.Debt != debt || (got.Until == 0) != (state == limit.HoldSettled) {
					t.Errorf("%s: %+v, want %s, charged %d, returned %d, debt %d", what, got, state, charged, returned, debt)
				}
				if now := s.left(rule); now != left {
					t.Errorf("%s: %d are left, want %d", what, now, left)
				}
			}
			h := s.holds(8, 60*second, rule)
			want("in part", s.settles(h, limit.Settlement{Used: 3, Open: true}, rule)[0], limit.HoldOpen, 8, 0, 0, 2)
			want("for good", s.settles(h, limit.Settlement{Used: 5}, rule)[0], limit.HoldSettled, 5, 3, 0, 5)
			want("again", s.settles(h, limit.Settlement{Used: 5}, rule)[0], limit.HoldSettled, 5, 3, 0, 5)
			want("otherwise", s.settles(h, limit.Settlement{Used: 1}, rule)[0], limit.HoldSettled, 5, 3, 0, 5)
			more := s.holds(2, 60*second, rule)
			want("more than was held", s.settles(more, limit.Settlement{Used: 4}, rule)[0], limit.HoldSettled, 4, 0, 0, 1)
			debt := s.holds(1, 60*second, rule)
			want("more than there is", s.settles(debt, limit.Settlement{Used: 7}, rule)[0], limit.HoldSettled, 7, 0, 6, 0)
			if d := s.decision(s.hold(1, 0, second, rule)); d.Allowed {
				t.Error("a bucket in debt has admitted")
			}
			unknown := more
			unknown.Limits = []limit.Held{{Limit: rule.Name, Owner: s.name, ID: 77, Generation: more.Limits[0].Generation}}
			if got := s.settles(unknown, limit.Settlement{Used: 1}, rule)[0]; got.State != limit.HoldUnknown || got.Charged != 0 {
				t.Errorf("one that was never taken: %+v", got)
			}
		})
	}
}

// A hold takes what there is where its cost is not left, but no less than it asks for at least.
func TestHoldAtLeast(t *testing.T) {
	for name, rule := range map[string]*limit.Rule{
		"line":   holding(t, limit.Holds{Longest: time.Minute}),
		"ledger": ofWindow(t, limit.Holds{Longest: time.Minute}),
	} {
		t.Run(name, func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			s.holds(7, second, rule)
			if d := s.decision(s.hold(20, 4, second, rule)); d.Allowed || d.Hold != nil || d.Limits[0].Never || d.Limits[0].RetryAfter == 0 {
				t.Errorf("at least 4 of 3: %+v", d)
			}
			if d := s.decision(s.hold(20, 2, second, rule)); !d.Allowed || d.Hold.Granted != 3 {
				t.Errorf("at least 2 of 3: %+v", d)
			}
			if d := s.decision(s.hold(1, 1, second, rule)); d.Allowed {
				t.Errorf("of nothing: %+v", d)
			}
		})
	}
}

// A hold that is not settled is charged or freed when its time is over, as the limit says; a late settlement corrects that for ten
// minutes, and no more.
func TestHoldExpires(t *testing.T) {
	for _, expiry := range []limit.Expiry{limit.Charge, limit.Free} {
		for name, rule := range map[string]*limit.Rule{
			"line":   holding(t, limit.Holds{Longest: time.Minute, OnExpiry: expiry}),
			"ledger": ofWindow(t, limit.Holds{Longest: time.Minute, OnExpiry: expiry}),
		} {
			t.Run(name+", "+string(expiry), func(t *testing.T) {
				s := newTroupe(t, 3).enter('A')
				h := s.holds(9, 3*second, rule)
				s.settles(h, limit.Settlement{Used: 2, Open: true}, rule)
				s.pass(3*second - 1)
				refilled := map[string]int64{"line": 2}[name]
				if left := s.left(rule); left != 1+refilled {
					t.Errorf("before its end %d are left", left)
				}
				s.pass(1)
				refilled = map[string]int64{"line": 3}[name]
				want := map[limit.Expiry]int64{limit.Charge: 1, limit.Free: 8}[expiry] + refilled
				if left := s.left(rule); left != min(want, 10) {
					t.Errorf("after its end %d are left, want %d", left, want)
				}
				if got := s.settles(h, limit.Settlement{Used: 9, Open: true, For: time.Minute}, rule)[0]; got.State != limit.HoldExpired {
					t.Errorf("extended after its end: %+v", got)
				}
				s.pass(int64(limit.SettleLate) - second)
				if got := s.settles(h, limit.Settlement{Used: 4}, rule)[0]; got.State != limit.HoldSettled || got.Charged != 4 {
					t.Errorf("late: %+v", got)
				}
				late := s.holds(1, 3*second, rule)
				s.pass(3*second + int64(limit.SettleLate) + second)
				if got := s.settles(late, limit.Settlement{Used: 0}, rule)[0]; got.State != limit.HoldUnknown {
					t.Errorf("too late: %+v", got)
				}
			})
		}
	}
}

// A hold that is extended lasts from then on.
func TestHoldIsExtended(t *testing.T) {
	for name, rule := range map[string]*limit.Rule{
		"line":   holding(t, limit.Holds{Longest: time.Minute, OnExpiry: limit.Free}),
		"ledger": ofWindow(t, limit.Holds{Longest: time.Minute, OnExpiry: limit.Free}),
	} {
		t.Run(name, func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			h := s.holds(10, 3*second, rule)
			s.pass(2 * second)
			got := s.settles(h, limit.Settlement{Open: true, For: 5 * time.Second}, rule)[0]
			if got.State != limit.HoldOpen || got.Until != s.clock()+5*second {
				t.Errorf("extended: %+v, want until %d", got, s.clock()+5*second)
			}
			s.pass(4 * second)
			if got := s.settles(h, limit.Settlement{Used: 10}, rule)[0]; got.State != limit.HoldSettled || got.Charged != 10 {
				t.Errorf("settled: %+v", got)
			}
		})
	}
}

// After the death of its owner a hold of a window is settled at any other, and one of a short bucket is charged in full, or more.
func TestSettleAtAnotherOwner(t *testing.T) {
	tr := newTroupe(t, 3)
	short, long := holding(t, limit.Holds{Longest: time.Minute}), ofWindow(t, limit.Holds{Longest: time.Minute})
	h, over := tr.enter('A').holds(4, 60*second, short, long), tr.enter('B').holds(4, 60*second, short, long) // both owners die
	s := tr.enter('C')
	for range 2 {
		got := s.settles(h, limit.Settlement{Used: 1}, short, long)
		if got[0].State != limit.HoldLost || got[0].Charged != 4 || got[0].Returned != 0 {
			t.Errorf("of a short bucket: %+v", got[0])
		}
		if got[1].State != limit.HoldSettled || got[1].Charged != 1 || got[1].Returned != 3 {
			t.Errorf("of a window: %+v", got[1])
		}
		got = s.settles(over, limit.Settlement{Used: 6}, short, long)
		if got[0].State != limit.HoldLost || got[0].Charged != 6 || got[1].Charged != 6 {
			t.Errorf("above what was held: %+v", got)
		}
	}
	if left := s.left(long); left != 3 {
		t.Errorf("%d are left of the window, want 3", left)
	}
	if left := s.left(short); left != 0 {
		t.Errorf("%d are left of the short bucket, want 0", left)
	}
}

// What was used beyond a hold is charged at the time of the settlement, however long the replicas take to answer: line is time, and what
// was reserved for a later time would never be there in time.
func TestSettleAtSlowReplicas(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "tokens", Capacity: 1000, Refill: limit.Refill{Tokens: 1000, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute}})
	s := newTroupe(t, 3).enter('A')
	h := s.holds(2, 60*second, rule)
	s.pass(5 * second) // the bucket is full again
	s.quick = nil
	tag, sent := s.tag(), len(s.sent)
	settles := []owner.Settle{{Rule: rule, Held: h.Limits[0], Granted: 2, Used: 7}}
	s.owner.Settle(tag, settles, s.clock(), s.clock()+hour, &s.out)
	s.after()
	s.now += 15 * ms // what is charged is 5 ms of line
	s.deliver(0, 1)
	s.done(tag)
	if got := settles[0].Settled; got.Charged != 7 || len(s.sent) != sent+1 {
		t.Errorf("%+v, after %d reservations, want 7 charged after one", got, len(s.sent)-sent)
	}
}

// A settlement charges no more than the limit's debt allows.
func TestMaxDebt(t *testing.T) {
	for debt, want := range map[int64]int64{limit.NoDebt: 4, 3: 7} {
		for name, rule := range map[string]*limit.Rule{
			"line":   holding(t, limit.Holds{Longest: time.Minute, MaxDebt: debt}),
			"ledger": ofWindow(t, limit.Holds{Longest: time.Minute, MaxDebt: debt}),
		} {
			s := newTroupe(t, 3).enter('A')
			s.holds(6, 60*second, rule)
			got := s.settles(s.holds(2, 60*second, rule), limit.Settlement{Used: 100}, rule)[0]
			if got.Charged != want || got.Debt != max(debt, 0) {
				t.Errorf("%s, debt %d: %+v, want %d charged", name, debt, got, want)
			}
		}
	}
}

// What an open hold has used beyond the debt of the limit is charged by a later settlement, as far as tokens have come back since.
func TestDebtComesBackWhileAHoldIsOpen(t *testing.T) {
	for name, rule := range map[string]*limit.Rule{
		"line": holding(t, limit.Holds{Longest: time.Hour, MaxDebt: limit.NoDebt}),
		"ledger": ruleFor(t, limit.Limit{
			Name: "slow", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: 100 * time.Second}, Holds: limit.Holds{Longest: time.Hour, MaxDebt: limit.NoDebt},
		}),
	} {
		t.Run(name, func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			h := s.holds(5, hour, rule)
			charge := func(used int64, open bool, want, left int64) {
				t.Helper()
				if got := s.settles(h, limit.Settlement{Used: used, Open: open}, rule)[0]; got.Charged != want {
					t.Errorf("%d used: %+v, want %d charged", used, got, want)
				}
				if now := s.left(rule); now != left {
					t.Errorf("%d are left, want %d", now, left)
				}
			}
			charge(12, true, 10, 0)
			s.pass(1000 * second) // full
			charge(16, true, 16, 4)
			charge(16, true, 16, 4)
			charge(30, false, 20, 0)
			s.pass(20 * second)
			left := s.left(rule)
			charge(30, false, 20, left)
		})
	}
}

// A reset forgives what was held: settlements of before have no effect.
func TestResetForgetsHolds(t *testing.T) {
	for name, rule := range map[string]*limit.Rule{
		"line":   holding(t, limit.Holds{Longest: time.Minute}),
		"ledger": ofWindow(t, limit.Holds{Longest: time.Minute}),
	} {
		s := newTroupe(t, 3).enter('A')
		h := s.holds(6, 60*second, rule)
		s.done(s.reset(rule))
		if got := s.settles(h, limit.Settlement{Used: 8}, rule)[0]; got.State != limit.HoldUnknown {
			t.Errorf("%s: settled after a reset: %+v", name, got)
		}
		if left := s.left(rule); left != 10 {
			t.Errorf("%s: %d are left after a reset", name, left)
		}
		other := s.enter('B')
		if got := other.settles(h, limit.Settlement{Used: 8}, rule)[0]; got.State != limit.HoldUnknown {
			t.Errorf("%s: settled after a reset, by another owner: %+v", name, got)
		}
		if left := other.left(rule); left != 10 {
			t.Errorf("%s: %d are left after a reset, by another owner", name, left)
		}
	}
}

// What a hold took of a bucket that has been full since has come back by itself: its settlement brings nothing back.
func TestHoldOfBeforeTheBucketWasFull(t *testing.T) {
	s := alone(t)
	rule := holding(t, limit.Holds{Longest: time.Minute})
	h := s.holds(6, 60*second, rule)
	s.settles(s.holds(4, 60*second, rule), limit.Settlement{Used: 0}, rule) // so it is full before the line that it has spent is past
	s.pass(6 * second)
	s.holds(10, 60*second, rule)
	if got := s.settles(h, limit.Settlement{Used: 0}, rule)[0]; got.Charged != 0 || got.Returned != 6 {
		t.Errorf("settled: %+v", got)
	}
	if left := s.left(rule); left != 0 {
		t.Errorf("%d are left, want none", left)
	}
}

// A hold belongs to the window in which it was taken: what comes back of it in a later one is nothing there, also where that window's line
// was begun by debt.
func TestHoldOfAnEarlierWindow(t *testing.T) {
	s := alone(t)
	rule := ruleFor(t, limit.Limit{
		Name: "tokens", Algorithm: limit.FixedWindow, Capacity: 10, Window: 10 * time.Second, Holds: limit.Holds{Longest: time.Minute, MaxDebt: 5},
	})
	s.pass(10*second - start%(10*second))
	h := s.holds(6, 60*second, rule)
	s.settles(s.holds(4, 60*second, rule), limit.Settlement{Used: 6}, rule)
	s.pass(10 * second)
	s.holds(8, 60*second, rule)
	s.settles(h, limit.Settlement{Used: 0}, rule)
	if left := s.left(rule); left != 0 {
		t.Errorf("%d are left of ten, of which 8 are held and 2 were used before", left)
	}
}

// A hold whose time is over before a majority has stored it is not answered: it would hold nothing.
func TestHoldThatIsStoredTooLate(t *testing.T) {
	for name, rule := range map[string]*limit.Rule{
		"line":   holding(t, limit.Holds{Longest: time.Minute, OnExpiry: limit.Free}),
		"ledger": ofWindow(t, limit.Holds{Longest: time.Minute, OnExpiry: limit.Free}),
	} {
		t.Run(name, func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			tag := s.hold(4, 0, second, rule)
			s.pass(second)
			s.failed(tag, context.DeadlineExceeded)
		})
	}
}

// A thousand open holds, all of which give something back, leave the bucket with what was not used, to the token.
func TestManyHoldsOfALine(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "tokens", Capacity: 100_000, Refill: limit.Refill{Tokens: 100_000, Per: time.Minute}, Holds: limit.Holds{Longest: time.Minute}})
	s := alone(t)
	var open []limit.Hold
	for range 1000 {
		open = append(open, s.holds(90, 60*second, rule))
	}
	used := int64(0)
	for _, i := range rand.Perm(len(open)) {
		n := 1 + rand.Int64N(89)
		if got := s.settles(open[i], limit.Settlement{Used: n}, rule)[0]; got.Charged != n {
			t.Fatalf("%+v, want %d charged", got, n)
		}
		used += n
	}
	if left := s.left(rule); left != 100_000-used {
		t.Errorf("%d were used, and %d are left", used, left)
	}
}

// A bucket remembers no more holds than there is room for, whoever has taken them.
func TestHoldsOfALineAreBounded(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "tokens", Capacity: 1_000_000, Refill: limit.Refill{Tokens: 1_000_000, Per: time.Minute}, Holds: limit.Holds{Longest: time.Minute}})
	s := alone(t)
	var err error
	n := 1
	for ; err == nil && n < 100_000; n++ {
		r, _ := s.reply(s.hold(1, 0, 60*second, rule))
		err = r.Err
		s.answers = s.answers[:0]
	}
	if !errors.Is(err, limit.ErrOverloaded) || n > 20_000 {
		t.Errorf("after %d holds: %v", n, err)
	}
	before := s.owner.Bytes()
	foreign := limit.Hold{Granted: 5, Limits: []limit.Held{{Limit: rule.Name, Owner: limit.OwnerID{9}}}}
	for range 100 {
		foreign.Limits[0].ID = rand.Uint64()
		if got := s.settles(foreign, limit.Settlement{Used: 5}, rule)[0]; got.State != limit.HoldLost || got.Charged != 5 {
			t.Fatalf("of an owner that is gone: %+v", got)
		}
		if got := s.settles(foreign, limit.Settlement{Used: 6}, rule)[0]; got.State != limit.HoldUnknown {
			t.Fatalf("charged beyond the hold of an owner that is gone, and not remembered: %+v", got)
		}
	}
	if now := s.owner.Bytes(); now > before {
		t.Errorf("%d bytes more are held after settlements of what others have taken", now-before)
	}
	s.pass(60*second + int64(limit.SettleLate))
	s.holds(1, 60*second, rule)
}

// Holds of owners that never were take no room from those that are taken, however many are settled: anybody can make them up.
func TestHoldsThatAreMadeUp(t *testing.T) {
	rule := holding(t, limit.Holds{Longest: time.Minute, MaxDebt: limit.NoDebt})
	s := alone(t)
	s.admitted(s.check(10, rule))
	made := limit.Hold{Granted: 5, Limits: []limit.Held{{Limit: rule.Name, Owner: limit.OwnerID{9}}}}
	before := s.owner.Bytes()
	for i := range 20_000 {
		made.Limits[0].ID = rand.Uint64()
		s.settles(made, limit.Settlement{Used: int64(i % 10), Open: i%3 > 0}, rule)
		s.answers = s.answers[:0]
	}
	if now := s.owner.Bytes(); now > before+300_000 {
		t.Errorf("%d bytes are held for holds that there are none of", now-before)
	}
	s.pass(10 * second)
	s.holds(1, 60*second, rule)
}

// TestHoldsOfALineAreExact draws holds, settlements, checks and times, and compares the bucket with one whose arithmetic is plain.
func TestHoldsOfALineAreExact(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	type held struct {
		limit.Hold
		used, until, charged int64
		line                 int64 // of its tokens, those that were taken since the bucket was full
	}
	for range 300 {
		expiry := []limit.Expiry{limit.Charge, limit.Free}[r.IntN(2)]
		rule := ruleFor(t, limit.Limit{
			Name: "tokens", Capacity: 50, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute, OnExpiry: expiry, MaxDebt: 100},
		})
		s := alone(t)
		spent := s.clock() // up to here, as if nothing that came back had been spent
		var open []*held
		take := func(tokens int64) {
			if spent <= s.clock() {
				spent = s.clock()
				for _, h := range open {
					h.line = 0
				}
			}
			spent += tokens * second
		}
		back := func(h *held, tokens int64) {
			h.charged -= tokens
			tokens = min(tokens, h.line)
			h.line -= tokens
			spent -= min(tokens*second, max(0, spent-s.clock()))
		}
		expire := func() {
			for _, h := range open {
				if expiry == limit.Free && s.clock() >= h.until {
					back(h, h.charged-h.used)
				}
			}
		}
		for range 60 {
			switch r.IntN(4) {
			case 0:
				s.pass(r.Int64N(4 * second))
			case 1:
				cost := 1 + r.Int64N(12)
				d := s.decision(s.check(cost, rule))
				expire()
				if fits := max(spent, s.clock())+cost*second <= s.clock()+50*second; fits != d.Allowed {
					t.Fatalf("a check of %d: %v, want %v", cost, d.Allowed, fits)
				}
				if d.Allowed {
					take(cost)
				}
			case 2:
				cost := 1 + r.Int64N(12)
				lasts := second + r.Int64N(20*second)
				d := s.decision(s.hold(cost, 0, lasts, rule))
				expire()
				if fits := max(spent, s.clock())+cost*second <= s.clock()+50*second; fits != d.Allowed {
					t.Fatalf("a hold of %d: %v, want %v", cost, d.Allowed, fits)
				}
				if d.Allowed {
					take(cost)
					open = append(open, &held{Hold: *d.Hold, until: s.clock() + lasts, charged: cost, line: cost})
				}
			case 3:
				if len(open) == 0 {
					continue
				}
				i := r.IntN(len(open))
				h, used, last := open[i], r.Int64N(15), r.IntN(2) == 0
				got := s.settles(h.Hold, limit.Settlement{Used: used, Open: !last}, rule)[0]
				expire()
				want := used
				if !last {
					h.used = max(h.used, used)
					if want = h.used; expiry == limit.Charge || s.clock() < h.until {
						want = max(h.Granted, h.used)
					}
				}
				if h.charged < want {
					more := want - h.charged
					take(more)
					h.charged = want
					h.line += more
				}
				back(h, h.charged-want)
				if got.Charged != want {
					t.Fatalf("a hold of %d, of which %d were used: %+v, want %d charged", h.Granted, used, got, want)
				}
				if last {
					open = append(open[:i], open[i+1:]...)
				}
			}
			expire()
			v, _ := s.owner.View("tokens", s.clock())
			if now := rule.Sub(v.TAT, v.Credit).NS; v.Rule != nil && max(now, s.clock()) != max(spent, s.clock()) {
				t.Fatalf("the bucket is spent up to %v, want %v", time.Duration(now-start), time.Duration(spent-start))
			}
		}
	}
}

// An owner shows its holds of a line, the newest first, and what has expired as the next check will find it. Looking changes nothing.
func TestViewOfHolds(t *testing.T) {
	rule := holding(t, limit.Holds{Longest: time.Minute, OnExpiry: limit.Free})
	s := newTroupe(t, 3).enter('A')
	see := func() owner.View {
		t.Helper()
		v, ok := s.owner.View(rule.Name, s.clock())
		if !ok {
			t.Fatal("there is no bucket")
		}
		if again, _ := s.owner.View(rule.Name, s.clock()); !reflect.DeepEqual(v, again) {
			t.Fatalf("%+v, and again %+v", v, again)
		}
		return v
	}
	s.left(rule)
	if v := see(); v.Holds.Total != 0 || v.Holds.List != nil {
		t.Errorf("none: %+v", v.Holds)
	}
	first := s.holds(4, 5*second, rule)
	s.pass(second)
	young := s.holds(3, 60*second, rule)
	s.settles(young, limit.Settlement{Used: 1, Open: true}, rule)
	began := s.clock() - second
	want := limit.HoldsSeen{Open: 2, Tokens: 7, Expires: began + 5*second, Total: 2, List: []limit.SeenHold{
		{ID: limit.SeenID(young.Limits[0].ID), State: limit.HoldOpen, Amount: 3, Used: 1, Until: began + 61*second},
		{ID: limit.SeenID(first.Limits[0].ID), State: limit.HoldOpen, Amount: 4, Until: began + 5*second},
	}}
	if v := see(); !reflect.DeepEqual(*v.Holds, want) {
		t.Errorf("two open: %+v, want %+v", v.Holds, want)
	}
	s.pass(4 * second)
	v := see()
	want.Open, want.Tokens, want.Expires, want.List[1].State = 1, 3, began+61*second, limit.HoldExpired
	if !reflect.DeepEqual(*v.Holds, want) {
		t.Errorf("one expired: %+v, want %+v", v.Holds, want)
	}
	spent := rule.Sub(v.TAT, v.Credit)
	if left, seen := s.left(rule), rule.Tokens(spent, s.clock()); left != seen {
		t.Errorf("%d tokens are shown, and the next check finds %d", seen, left)
	}
	s.settles(young, limit.Settlement{Used: 2}, rule)
	if v := see(); v.Holds.Open != 0 || v.Holds.Total != 2 || v.Holds.List[0].State != limit.HoldSettled || v.Holds.List[0].Used != 2 {
		t.Errorf("settled: %+v", v.Holds)
	}
	s.pass(11 * 60 * second)
	if v := see(); v.Holds.Total != 0 {
		t.Errorf("after eleven minutes: %+v", v.Holds)
	}
}

// A settlement says in which state it has met the hold, and an owner tells once that a hold of a line has expired.
func TestSettleMeets(t *testing.T) {
	for _, test := range []struct {
		name    string
		rule    *limit.Rule
		expired int // that are told
	}{
		{"line, charged", holding(t, limit.Holds{Longest: time.Minute}), 1},
		{"line, freed", holding(t, limit.Holds{Longest: time.Minute, OnExpiry: limit.Free}), 1},
		{"ledger", ofWindow(t, limit.Holds{Longest: time.Minute}), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			s.quickAll()
			want := func(h limit.Hold, used int64, open bool, state limit.HoldState) {
				t.Helper()
				all := []owner.Settle{{Rule: test.rule, Held: h.Limits[0], Granted: h.Granted, Used: used, Open: open}}
				s.owner.Settle(s.tag(), all, s.clock(), s.clock()+hour, &s.out)
				s.after()
				if got := &all[0]; got.Met != state || state != "" && got.Amount != 3 {
					t.Errorf("%d used: it met a hold that is %q, of %d; want %q", used, got.Met, got.Amount, state)
				}
			}
			h, late := s.holds(3, 20*second, test.rule), s.holds(3, second, test.rule)
			want(h, 1, true, limit.HoldOpen)
			want(h, 2, false, limit.HoldOpen)
			want(h, 2, false, limit.HoldSettled)
			s.pass(second)
			want(late, 1, true, limit.HoldExpired)
			s.left(test.rule)
			want(late, 1, false, limit.HoldExpired)
			want(late, 1, false, limit.HoldSettled)
			late.Limits[0].ID = 7
			want(late, 1, false, "")
			if len(s.expired) != test.expired {
				t.Errorf("told to have expired: %d, want %d", len(s.expired), test.expired)
			}
		})
	}
}

// A ledger that lists as many holds as it may refuses the next one, and nothing else: checks go on, and holds too once those before have
// expired, though nobody settles them.
func TestFullListOfHolds(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "budget", Algorithm: limit.FixedWindow, Capacity: 1_000_000, Window: time.Hour, Holds: limit.Holds{Longest: time.Minute}})
	s := alone(t)
	for range limit.MaxHolds {
		s.holds(1, 60*second, rule)
		s.pass(ms)
	}
	s.failed(s.hold(1, 0, 60*second, rule), limit.ErrOverloaded)
	s.admitted(s.check(1, rule))
	s.pass(61 * second)
	again := s.enter('B')
	again.holds(1, 60*second, rule)
	s.holds(1, 60*second, rule)
}

// What was used beyond a hold of a line is charged at the price of the hold's plan, whichever plan was asked for last.
func TestLineIsChargedAtThePriceOfTheHold(t *testing.T) {
	rules := planned(t, limit.Limit{
		Name: "pool", Capacity: 100, Refill: limit.Refill{Tokens: 10, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute, MaxDebt: limit.NoDebt},
	}, "{small: {capacity: 20, refill: 2/1s}}")
	own, small := rules[0], rules[1]
	a := newTroupe(t, 3).enter('A')
	h := a.holds(10, 20*second, small) // five seconds of the line
	a.admitted(a.check(10, own))       // one
	if got := a.settles(h, limit.Settlement{Used: 14}, small)[0]; got.State != limit.HoldSettled || got.Charged != 14 {
		t.Errorf("%+v", got)
	}
	if got := a.decision(a.check(0, small)).Limits[0].Remaining; got != 4 {
		t.Errorf("%d are left, and 8 of the 10 seconds are spent", got)
	}
	h = a.holds(1, 20*second, small)
	a.admitted(a.check(10, own))
	if got := a.settles(h, limit.Settlement{Used: 9}, small)[0]; got.Charged != 2 {
		t.Errorf("%d are charged, where half a second is left", got.Charged)
	}
}

// What was used beyond a hold of one plan is no matter of a hold of another plan, which gives back what it says.
func TestHoldsOfOthersGiveBackAfterACharge(t *testing.T) {
	rules := planned(t, limit.Limit{
		Name: "pool", Capacity: 100, Refill: limit.Refill{Tokens: 1, Per: 4 * time.Second}, Holds: limit.Holds{Longest: time.Minute},
	}, "{small: {capacity: 40, refill: 1/5s}}")
	own, small := rules[0], rules[1]
	a := newTroupe(t, 3).enter('A')
	hs := a.holds(1, 60*second, small)
	ho := a.holds(50, 60*second, own)
	a.settles(hs, limit.Settlement{Used: 3}, small) // two more than it held
	got := a.settles(ho, limit.Settlement{Used: 10}, own)[0]
	left := a.decision(a.check(0, own)).Limits[0].Remaining
	if got.Returned != 40 || left < 80 {
		t.Errorf("it is told that %d of 50 were given back, and %d of 100 are left, where 13 and a bit were used", got.Returned, left)
	}
}

// What was used beyond a hold of a larger plan may lie further ahead than the bucket of the smaller one reaches, which was asked for last. It is
// charged, and whoever waits behind it is served.
func TestSettlementReachesByItsOwnPlan(t *testing.T) {
	rules := planned(t, limit.Limit{
		Name: "pool", Capacity: 100, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute, MaxDebt: limit.NoDebt},
	}, "{small: {capacity: 20}}")
	own, small := rules[0], rules[1]
	a := newTroupe(t, 3).enter('A')
	a.draw = 8 * ms
	h := a.holds(30, 60*second, own)
	a.denied(a.check(1, small))
	all := []owner.Settle{{Rule: own, Held: h.Limits[0], Granted: h.Granted, Used: 40}}
	tag := a.tag()
	a.owner.Settle(tag, all, a.clock(), a.clock()+30*second, &a.out)
	a.after()
	behind := a.checkBy(5*second, 1, own) // there are 60 of its plan
	a.pass(4 * second)
	if _, ok := a.reply(tag); !ok {
		t.Errorf("a settlement for 10 more than were held is not answered within 4 s, with all replicas there, by %d reservations", len(a.sent))
	}
	if _, ok := a.reply(behind); !ok {
		t.Error("a check behind it waits")
	}
}

// Two definitions of one name in requests, as while a new release of a caller is rolled out, do not know how far the other one reaches. A
// settlement charges what both have room for, and reserves nothing in vain.
func TestSettlementBesideAnotherDefinition(t *testing.T) {
	define := func(capacity int64) *limit.Rule {
		return ruleFor(t, limit.Limit{
			Name: "pool", Capacity: capacity, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute, MaxDebt: limit.NoDebt},
		})
	}
	for _, test := range []struct{ held, used, other, charged int64 }{
		{30, 40, 20, 30}, // the other one has no room for the ten
		{30, 50, 35, 35}, // and here for five
		{30, 50, 200, 50},
	} {
		own, other := define(100), define(test.other)
		a := newTroupe(t, 3).enter('A')
		a.draw = 8 * ms
		h := a.holds(test.held, 60*second, own)
		a.check(1, other)
		sent := len(a.sent)
		got := a.settles(h, limit.Settlement{Used: test.used}, own)[0]
		if got.State != limit.HoldSettled || got.Charged != test.charged && got.Charged != test.charged-1 {
			t.Errorf("of %d held, and %d used of 100, beside a definition of %d: %+v, and not %d charged", test.held, test.used, test.other, got, test.charged)
		}
		if n := len(a.sent) - sent; n > 2 {
			t.Errorf("of %d held, and %d used of 100, beside a definition of %d: %d reservations", test.held, test.used, test.other, n)
		}
		a.quickAll()
		rest := 100 - got.Charged - 1 // but for the check
		if left := a.left(own); left < rest-1 || left > rest+1 {
			t.Errorf("of %d held, and %d charged of 100, beside a definition of %d: %d are left", test.held, got.Charged, test.other, left)
		}
	}
}

// A settlement is told the debt by the numbers of its hold, and not by those of whichever plan was asked for last.
func TestDebtIsOfTheHoldsPlan(t *testing.T) {
	rules := planned(t, limit.Limit{
		Name: "pool", Capacity: 100, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute},
	}, "{small: {capacity: 20}}")
	own, small := rules[0], rules[1]
	a := newTroupe(t, 3).enter('A')
	h := a.holds(30, 60*second, own)
	a.denied(a.check(1, small))
	got := a.settles(h, limit.Settlement{Used: 35}, own)[0]
	if left := a.left(own); got.Debt != 0 || left != 65 {
		t.Errorf("it is told a debt of %d, and %d of 100 are left", got.Debt, left)
	}
}
