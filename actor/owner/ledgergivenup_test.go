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

// A room of a window that stays beside a write in flight, and is given up then, goes back too.
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
