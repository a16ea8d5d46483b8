package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// What was taken out of a ledger, and answered, does not come back when a replica has swept the emptier ledger, and another one has the fuller one
// still. A rolling restart is enough: the second replica misses the first write, the third one the write without, and the first one the claim.
func TestWhatIsOutStaysOutWhenItIsSwept(t *testing.T) {
	permits := ruleFor(t, limit.Limit{Name: "p", Algorithm: limit.Concurrency, Capacity: 1, Lease: 10 * time.Hour})
	log, window := ruleFor(t, day(t)["log"]), ruleFor(t, day(t)["sliding window"])
	budget := ruleFor(t, day(t)["fixed window"])
	for name, story := range map[string]struct {
		rule *limit.Rule
		take func(a *stage) (back func())
	}{
		"a permit that was returned": {permits, func(a *stage) func() {
			p := a.admitted(a.check(1, permits))
			return func() {
				out := []owner.Permit{{Rule: permits, ID: p.Serial}}
				tag := a.takeOut(out)
				a.pass(10 * ms)
				if a.done(tag); !out[0].Out {
					t.Error("it was not inside")
				}
			}
		}},
		"what came back": {window, func(a *stage) func() {
			r := a.admitted(a.check(10, window))
			return func() { a.returned(r) }
		}},
		"a reset": {log, func(a *stage) func() {
			a.admitted(a.check(10, log))
			return func() { a.done(a.reset(log)) }
		}},
		"a settlement": {budget, func(a *stage) func() {
			h := a.decision(a.hold(10, 0, 60*second, budget)).Hold
			return func() {
				all := []owner.Settle{{Rule: budget, Held: h.Limits[0], Granted: 10, Used: 0}}
				tag := a.tag()
				a.owner.Settle(tag, all, a.clock(), a.clock()+hour, &a.out)
				a.after()
				if a.done(tag); all[0].Settled.State != limit.HoldSettled {
					t.Errorf("%+v", all[0].Settled)
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			a.quick = []int{0, 2}
			back := story.take(a)
			a.pass(5 * second)
			a.quick = []int{0, 1}
			back()
			a.pass(15 * 60 * second)
			for _, r := range tr.replicas {
				r.sweep(tr.now - time.Minute.Nanoseconds())
			}
			b := tr.enter('B')
			b.quick = []int{1, 2}
			if got := b.decision(b.check(0, story.rule)).Limits[0].Remaining; got != story.rule.Capacity {
				t.Errorf("%d of %d are left to another owner, and nothing is spent", got, story.rule.Capacity)
			}
		})
	}
}
