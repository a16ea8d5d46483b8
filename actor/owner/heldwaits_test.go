package owner_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// A flow is tokens that a caller has got at a time, negative for some that came back.
type flow struct{ at, tokens int64 }

// mostBelow is by how many tokens flows take more than a bucket of that rule can have had, which is full at first and never fuller. A window
// is full when it begins.
func mostBelow(rule *limit.Rule, flows []flow) (most float64) {
	slices.SortStableFunc(flows, func(a, b flow) int { return cmp.Compare(a.at, b.at) })
	full, rate := float64(rule.Capacity), 0.0
	windows := rule.Begin(1) > 1
	if !windows {
		rate = float64(rule.Refill.Tokens) / float64(rule.Refill.Per)
	}
	level, last := full, int64(0)
	for _, f := range flows {
		level = min(full, level+rate*float64(f.at-last))
		if windows && rule.Begin(f.at) != rule.Begin(last) {
			level = full
		}
		level, last = min(full, level-float64(f.tokens)), f.at
		most = max(most, -level)
	}
	return most
}

// Holds of a line are taken, and settled early or late, beside checks that wait, whose times are told before: nobody gets more than the
// bucket has had at that time.
func TestHoldsBesideWaits(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	waited, settled := 0, 0
	for range 2000 {
		rule := ruleWithWait(t, limit.Limit{
			Name: "tokens", Capacity: 1 + random.Int64N(100), Refill: limit.Refill{Tokens: 1 + random.Int64N(20), Per: time.Second},
			Holds: limit.Holds{Longest: time.Minute},
		}, 10*time.Second)
		s := alone(t)
		var flows []flow
		var held []limit.Hold
		for range 30 {
			now := s.clock()
			cost := 1 + random.Int64N(rule.Capacity)
			switch random.IntN(4) {
			case 0:
				if d := s.decision(s.hold(cost, 0, (1+random.Int64N(5))*second, rule)); d.Allowed {
					flows, held = append(flows, flow{now, cost}), append(held, *d.Hold)
				}
			case 1:
				tag := s.tag()
				s.owner.Check(owner.Check{
					Tag: tag, At: now, Deadline: now + hour, Rules: []*limit.Rule{rule}, Cost: cost, Wait: random.Int64N(2) * 10 * second,
					Receipts: random.IntN(2) == 0,
				}, &s.out)
				s.after()
				d := s.decision(tag)
				if d.Allowed {
					flows = append(flows, flow{now + int64(d.Wait), cost})
				}
				if d.Wait > 0 {
					waited++
				}
			case 2:
				if len(held) > 0 {
					i := random.IntN(len(held))
					used := random.Int64N(held[i].Granted + 1)
					s.settles(held[i], limit.Settlement{Used: used}, rule)
					flows, held = append(flows, flow{now, used - held[i].Granted}), slices.Delete(held, i, i+1)
					settled++
				}
			default:
				s.pass(random.Int64N(2 * second))
			}
		}
		if len(flows) > 0 {
			if over := mostBelow(rule, flows); over > 1 {
				t.Fatalf("%.2f tokens more than there were, of %d at %+v: %+v", over, rule.Capacity, rule.Refill, flows)
			}
		}
	}
	if waited == 0 || settled == 0 {
		t.Errorf("%d checks waited, and %d holds were settled", waited, settled)
	}
}

// A hold expires while a check waits behind it, and that is seen only once the check has begun: by then the bucket had long been full again, and
// the check has taken of that.
func TestHoldExpiresBesideWaits(t *testing.T) {
	rule := ruleWithWait(t, limit.Limit{
		Name: "tokens", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute, OnExpiry: limit.Free},
	}, 10*time.Second)
	for name, c := range map[string]struct{ after, left int64 }{
		"as it begins": {5 * second, 5},
		"later":        {8 * second, 8},
	} {
		t.Run(name, func(t *testing.T) {
			s := alone(t)
			s.holds(10, second, rule)
			tag := s.tag()
			s.owner.Check(owner.Check{Tag: tag, At: s.clock(), Deadline: s.clock() + hour, Rules: []*limit.Rule{rule}, Cost: 5, Wait: 10 * second}, &s.out)
			s.after()
			if d := s.decision(tag); !d.Allowed || d.Wait != 5*time.Second {
				t.Fatalf("the check that waits: %+v", d)
			}
			s.pass(c.after)
			if d := s.decision(s.plain(c.left+1, rule)); d.Allowed {
				t.Errorf("%d tokens at once, of %d", c.left+1, c.left)
			}
			if d := s.decision(s.plain(c.left, rule)); !d.Allowed {
				t.Errorf("not %d tokens: %+v", c.left, d)
			}
		})
	}
}

// A check that waits for the next window, or for a full bucket, leaves the holds before it what they give back: until it begins, others can
// have that in its place. Then the bucket has been full, and they give back nothing.
func TestHoldsBeforeAFullBucket(t *testing.T) {
	for name, l := range map[string]limit.Limit{
		"a window": {Algorithm: limit.FixedWindow, Capacity: 10, Window: 10 * time.Second},
		"a bucket": {Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			l.Name, l.Holds = "tokens", limit.Holds{Longest: time.Minute}
			rule := ruleWithWait(t, l, 10*time.Second)
			s := alone(t)
			s.pass(10*second - start%(10*second))
			returned := s.admitted(s.check(1, rule))
			early, late := s.holds(6, 60*second, rule), s.holds(3, 60*second, rule)
			receipt := s.begins(s.checkWait(10*time.Second, 10, rule), 10*time.Second)
			s.pass(second)
			if got := s.settles(early, limit.Settlement{Used: 1}, rule)[0]; got.Charged != 1 || got.Returned != 5 {
				t.Errorf("settled: %+v", got)
			}
			s.pass(1)
			if d := s.decision(s.plain(6, rule)); d.Allowed {
				t.Error("6 tokens, of 5")
			}
			if d := s.decision(s.plain(5, rule)); !d.Allowed {
				t.Errorf("not 5 tokens: %+v", d.Limits)
			}
			s.pass(9 * second)
			s.settles(late, limit.Settlement{Used: 0}, rule)
			s.pass(1)
			s.ignored(returned)
			if d := s.decision(s.plain(1, rule)); d.Allowed {
				t.Error("a token of a hold from before the bucket was full")
			}
			s.returned(receipt)
			s.pass(1)
			if d := s.decision(s.plain(10, rule)); !d.Allowed {
				t.Errorf("not the tokens of the check that waited: %+v", d.Limits)
			}
		})
	}
}

// Of what came back more than the bucket could hold, the last on the line is kept, in whatever order it came: a check that waits can have only what
// lies behind its begin.
func TestLastOfWhatCameBackIsKept(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		s := alone(t)
		rule := ruleWithWait(t, limit.Limit{
			Name: "tokens", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute},
		}, 10*time.Second)
		held := []limit.Hold{s.holds(4, 60*second, rule), s.holds(2, 60*second, rule)}
		s.pass(4 * second)
		for _, i := range order {
			s.settles(held[i], limit.Settlement{}, rule)
		}
		s.holds(1, 60*second, rule)
		s.begins(s.checkWait(10*time.Second, 10, rule), time.Second)
	}
}

// What came back of a window in which a check waited to begin is nothing in the next one, which debt has begun before.
func TestReturnOfAWindowThatEnds(t *testing.T) {
	s := alone(t)
	rule := ruleWithWait(t, limit.Limit{
		Name: "tokens", Algorithm: limit.FixedWindow, Capacity: 10, Window: 10 * time.Second, Holds: limit.Holds{Longest: time.Minute, MaxDebt: 20},
	}, 10*time.Second)
	s.pass(10*second - start%(10*second))
	h := s.holds(10, 60*second, rule)
	receipt := s.begins(s.checkWait(10*time.Second, 10, rule), 10*time.Second)
	if got := s.settles(h, limit.Settlement{Used: 15}, rule)[0]; got.Charged != 15 {
		t.Fatalf("settled: %+v", got)
	}
	s.returned(receipt)
	s.pass(20 * second)
	if left := s.left(rule); left != 5 {
		t.Errorf("%d are left of ten, of which 5 were used before", left)
	}
}

// A hold that is taken while a check waits keeps what lies behind that check's begin, also where the bucket is full then: another limit makes it
// wait. It makes no difference whether the owner looks in between.
func TestHoldTakenWhileACheckWaits(t *testing.T) {
	for name, looks := range map[string]bool{"seen": true, "not seen": false} {
		for expiry, settled := range map[limit.Expiry]bool{limit.Charge: true, limit.Free: false} {
			t.Run(name+", "+string(expiry), func(t *testing.T) {
				s := alone(t)
				held := ruleWithWait(t, limit.Limit{
					Name: "held", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute, OnExpiry: expiry},
				}, 10*time.Second)
				other := bucketWithWait(t, "other", 1, 10*time.Second, 10*time.Second)
				s.holds(1, second, held)
				s.begins(s.check(1, other), 0)
				s.begins(s.checkWait(10*time.Second, 1, held, other), 10*time.Second)
				s.pass(5 * second)
				h := s.holds(4, 5*second+500*ms, held) // of line from 11 to 15 s, behind the check that waits
				if looks {
					s.pass(5*second + 600*ms)
					s.left(held)
					s.pass(400 * ms)
				} else {
					s.pass(6 * second)
				}
				if settled {
					s.settles(h, limit.Settlement{}, held)
				}
				if left := s.left(held); left != 10 {
					t.Errorf("%d are left of ten: nobody has used any since the check that waited", left)
				}
			})
		}
	}
}

// What was admitted in the place of a hold, before a check that waits for the full bucket, has come back by itself when that begins.
func TestReceiptOfBeforeAFullBucket(t *testing.T) {
	s := alone(t)
	rule := ruleWithWait(t, limit.Limit{
		Name: "tokens", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute},
	}, 10*time.Second)
	early := s.holds(10, 60*second, rule)
	s.begins(s.checkWait(10*time.Second, 10, rule), 10*time.Second)
	s.settles(early, limit.Settlement{}, rule)
	between := s.admitted(s.check(10, rule))
	s.pass(10*second + 1)
	s.denied(s.check(1, rule))
	s.ignored(between)
	s.denied(s.check(1, rule))
}

// For a check that came before another one began that had waited, that one waits still, however late its decision is.
func TestDecidedOnceWaitsAreOver(t *testing.T) {
	s := alone(t)
	rule := ruleWithWait(t, limit.Limit{
		Name: "tokens", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Minute},
	}, 10*time.Second)
	h := s.holds(8, 60*second, rule)
	s.begins(s.checkWait(10*time.Second, 4, rule), 2*time.Second)
	s.settles(h, limit.Settlement{}, rule)
	s.pass(1990 * ms)
	s.quick = nil
	tag := s.check(6, rule, mustRule(t, "other", 10, 1, time.Second)) // which needs a reservation
	s.waits(tag)
	s.pass(15 * ms)
	s.deliver(0)
	s.admitted(tag)
}

// A hold that has expired is free before a receipt comes back, whether or not the owner has looked since.
func TestReturnOnceAHoldHasExpired(t *testing.T) {
	for name, looks := range map[string]bool{"seen": true, "not seen": false} {
		t.Run(name, func(t *testing.T) {
			s := alone(t)
			rule := holding(t, limit.Holds{Longest: time.Minute, OnExpiry: limit.Free})
			s.holds(6, second, rule)
			receipt := s.admitted(s.check(4, rule))
			s.pass(5 * second)
			if looks {
				s.left(rule)
			}
			s.ignored(receipt) // the bucket is full by what has expired
		})
	}
}

// What came back of a window does not pay the debt with which the next one has begun, whether or not the owner has looked since.
func TestDebtOfTheNextWindow(t *testing.T) {
	for name, looks := range map[string]bool{"seen": true, "not seen": false} {
		t.Run(name, func(t *testing.T) {
			s := alone(t)
			rule := ruleFor(t, limit.Limit{
				Name: "tokens", Algorithm: limit.FixedWindow, Capacity: 10, Window: 10 * time.Second,
				Holds: limit.Holds{Longest: time.Minute, OnExpiry: limit.Free, MaxDebt: 5},
			})
			s.pass(10*second - start%(10*second))
			s.holds(9, second, rule)
			s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 3}, rule)
			s.pass(2 * second)
			if looks {
				s.left(rule)
			}
			s.pass(8 * second)
			if left := s.left(rule); left != 8 {
				t.Errorf("%d are left of ten, of which 2 were used before", left)
			}
		})
	}
}
