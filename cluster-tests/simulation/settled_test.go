package simulation

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// What a settlement gives back may be admitted again, also of a hold that a reset may have emptied the bucket of: one that was asked for
// a moment before it was taken may have come before or behind it. No more may be.
func TestSettlementBesideAResetGivesBack(t *testing.T) {
	const capacity = 1000
	rule := mustRule(limit.Limit{
		Name: holderName + "0", Capacity: capacity, Refill: limit.Refill{Tokens: capacity, Per: 11 * time.Minute},
		Holds: limit.Holds{Longest: time.Minute, MaxDebt: limit.NoDebt},
	})
	for name, more := range map[string]int64{"as much": 0, "more": 10} {
		t.Run(name, func(t *testing.T) {
			s := draw(1, 0)
			s.limits, s.counting, s.holding, s.plain, s.exact = []limits{{name: rule.Name, rules: []*limit.Rule{rule}}}, 0, 1, []bool{false}, false
			w := newWorld(s, sound(), nil)
			p := &process{w: w, name: nodeName(0)}
			ids := uint64(0)
			ask := func(what wish, cost int64) *ask {
				w.now += ms
				return &ask{call: &call{w: w, what: what, limits: []int{0}, cost: cost, holdFor: minute}, at: w.now, rules: []*limit.Rule{rule}}
			}
			hold := func(cost int64) limit.Hold {
				ids++
				h := limit.Hold{Granted: cost, Limits: []limit.Held{{Limit: rule.Name, ID: ids}}}
				w.ledger.held.took(p, ask(checks, cost), limit.Decision{Allowed: true, Hold: &h}, 0)
				return h
			}
			w.ledger.resetAsked(0, 0)
			hold(capacity)
			unused := hold(capacity)
			q := ask(settles, 0)
			q.settles = []owner.Settle{{
				Rule: rule, Held: unused.Limits[0], Granted: capacity, Settled: limit.SettledLimit{Name: rule.Name, State: limit.HoldSettled, Returned: capacity},
			}}
			w.ledger.held.said(p, q)
			w.ledger.held.settled(p, q)
			hold(capacity)
			if more > 0 {
				hold(more)
			}
			if w.ledger.tally.judge(w); (w.violation != nil) != (more > 0) {
				t.Errorf("%d of %d, after a reset and a settlement: %+v", 3*capacity+more, capacity, w.violation)
			}
		})
	}
}
