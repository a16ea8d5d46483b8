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

// mostBelow is by how many tokens flows take more than a bucket of that rule can have had, which is full at first and never fuller.
func mostBelow(rule *limit.Rule, flows []flow) (most float64) {
	slices.SortStableFunc(flows, func(a, b flow) int { return cmp.Compare(a.at, b.at) })
	full, rate := float64(rule.Capacity), float64(rule.Refill.Tokens)/float64(rule.Refill.Per)
	level, last := full, flows[0].at
	for _, f := range flows {
		level = min(full, level+rate*float64(f.at-last))
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
