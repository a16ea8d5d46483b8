package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// While a node of the cluster may be of a release that reads ledgers of buckets in tokens alone, they are written so, and from then on in time. What is
// spent and held is the same to every owner.
func TestLedgersInTokens(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "pool", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: 100 * time.Second}, Holds: limit.Holds{Longest: time.Hour}})
	tr := newTroupe(t, 3)
	inTokens := true
	enter := func(name byte) *stage {
		s := tr.enter(name)
		s.cfg.LedgersInTokens = func() bool { return inTokens }
		s.quickAll()
		return s
	}
	layout := func(want ...byte) {
		t.Helper()
		for i, r := range tr.replicas {
			if got := r.registers[rule.Register()].Ledger[0]; got != want[0] && got != want[len(want)-1] {
				t.Errorf("replica %d has a ledger of layout %d, want one of %v", i, got, want)
			}
		}
	}
	a := enter('A')
	a.admitted(a.check(2, rule))
	layout(1)
	h := a.holds(5, 600*second, rule)
	layout(3)
	b := enter('B')
	if got := b.left(rule); got != 3 {
		t.Errorf("%d of 10 are left, want 3", got)
	}
	inTokens = false
	b.admitted(b.check(1, rule))
	layout(4)
	c := enter('C')
	if got := c.settles(h, limit.Settlement{Used: 1}, rule)[0]; got.State != limit.HoldSettled || got.Charged != 1 {
		t.Errorf("%+v", got)
	}
	if got := c.left(rule); got != 6 {
		t.Errorf("%d of 10 are left, want 6", got)
	}
	layout(4)
}

// While ledgers are in tokens, those of a bucket stay as many, by whichever plan checks ask, and however often owners change: a bucket is not full
// again, and nothing takes longer to come back, because a plan of another refill was asked. What is shown of it, also to other nodes, is in tokens.
func TestPlansWhileLedgersAreInTokens(t *testing.T) {
	fast, slow := plans(t)
	enter := func(tr *troupe, name byte) *stage {
		s := tr.enter(name)
		s.cfg.LedgersInTokens = func() bool { return true }
		s.quickAll()
		return s
	}
	t.Run("in turn", func(t *testing.T) {
		tr := newTroupe(t, 3)
		admitted := 0
		for i := range byte(8) {
			s := enter(tr, 'A'+i)
			for range 10 {
				if s.decision(s.check(1, fast)).Allowed {
					admitted++
				}
			}
			s.check(1, slow)
			s.pass(second)
		}
		if admitted > 10 {
			t.Errorf("%d were admitted by the fast plan of 10, in eight seconds", admitted)
		}
	})
	t.Run("settled by another plan", func(t *testing.T) {
		tr := newTroupe(t, 3)
		h := enter(tr, 'A').holds(10, 60*second, slow)
		b := enter(tr, 'B')
		b.settles(h, limit.Settlement{Used: 10}, fast)
		b.pass(second)
		if got := b.left(slow); got != 0 {
			t.Errorf("%d of 10 are left of the slow plan a second after all were used", got)
		}
		if got := b.view("pool").Ledger[0]; got != 3 {
			t.Errorf("it is shown in layout %d, which a node of the release before cannot read", got)
		}
	})
	t.Run("looked at by another plan", func(t *testing.T) {
		tr := newTroupe(t, 3)
		a := enter(tr, 'A')
		a.admitted(a.check(5, fast))
		for i := range byte(3) {
			s := enter(tr, 'B'+i)
			s.admitted(s.check(0, slow))
			s.admitted(s.check(1, slow))
		}
		if got := enter(tr, 'Z').left(fast); got != 2 {
			t.Errorf("%d of 10 are left of the fast plan, and 8 were admitted", got)
		}
	})
}

// What was written for a check before goes back at the price at which it counts since, whichever plan is asked for.
func TestRoomsAcrossTheUpgrade(t *testing.T) {
	fast, slow := plans(t)
	for name, order := range map[string][2]*limit.Rule{"fast, then slow": {fast, slow}, "slow, then fast": {slow, fast}} {
		t.Run(name, func(t *testing.T) {
			first, then := order[0], order[1]
			tr := newTroupe(t, 3)
			a := tr.enter('A')
			inTokens := true
			a.cfg.LedgersInTokens = func() bool { return inTokens }
			a.quickAll()
			a.admitted(a.check(6, first))
			a.pass(10 * ms)
			a.quick = nil
			a.checkBy(5*ms, 4, first)
			a.now += 6 * ms
			a.wake()
			a.deliverAll(first.Register())
			a.quickAll()
			inTokens = false
			a.left(then) // somebody looks by the other plan
			a.pass(second)
			if got := a.left(first); got != 4 {
				t.Errorf("%d of 10 are left, and 6 were admitted", got)
			}
			if got := tr.enter('B').left(first); got != 4 {
				t.Errorf("%d of 10 are left to another owner", got)
			}
		})
	}
}

// Nodes hear of the new level one after the other. One that has read a ledger in time writes it so, or it would come back at the refill of whoever
// reads it next.
func TestOwnersOfTwoLevels(t *testing.T) {
	fast, slow := plans(t)
	tr := newTroupe(t, 3)
	enter := func(name byte, inTokens bool) *stage {
		s := tr.enter(name)
		s.cfg.LedgersInTokens = func() bool { return inTokens }
		s.quickAll()
		return s
	}
	a := enter('A', false)
	a.admitted(a.check(5, fast))
	h := a.holds(5, 60*second, slow)
	b := enter('B', true)
	b.settles(h, limit.Settlement{Used: 1}, fast)
	if got := b.view("pool").Ledger[0]; got != 4 {
		t.Errorf("it is shown in layout %d", got)
	}
	c := enter('C', false)
	// An hour and 500 s are spent, and a plan has ten tokens: of an hour the one, of 100 s the other.
	if got := c.left(slow); got != 8 {
		t.Errorf("%d of 10 are left of the slow plan", got)
	}
	if got := c.left(fast); got != 0 {
		t.Errorf("%d of 10 are left of the fast plan", got)
	}
	if c.pass(4200 * second); c.left(fast) != 10 {
		t.Errorf("%d of 10 are left of the fast plan once all has come back", c.left(fast))
	}
}

// storedUnheard stores the last message of an owner at those replicas, and it hears nothing of that.
func (s *stage) storedUnheard(replicas ...int) {
	m := s.post[len(s.post)-1]
	m.Now = s.clock()
	for _, i := range replicas {
		s.replicas[i].reserve(m, s.now, s.bounds)
	}
	s.now += 30 * ms
	s.wake()
}

// looks asks for nothing; a claim goes to those replicas alone.
func (s *stage) looks(rule *limit.Rule, replicas ...int) {
	s.tb.Helper()
	s.quick = nil
	if tag := s.check(0, rule); len(s.post) > 0 {
		if _, answered := s.reply(tag); !answered {
			s.deliver(replicas...)
		}
		s.decision(tag)
	}
}

// What was written in time goes back as so much time, although a claim in between was told a ledger in tokens, or none, when another plan was asked for.
func TestUnheardBesideOtherLedgers(t *testing.T) {
	fast, slow := plans(t)
	for name, order := range map[string][2]*limit.Rule{"fast, then slow": {fast, slow}, "slow, then fast": {slow, fast}} {
		for before, spent := range map[string]int64{"nothing": 0, "tokens": 5} {
			t.Run(name+", "+before+" before", func(t *testing.T) {
				first, then := order[0], order[1]
				tr := newTroupe(t, 3)
				if spent > 0 {
					o := tr.enter('O')
					o.cfg.LedgersInTokens = func() bool { return true }
					o.quickAll()
					o.admitted(o.check(spent, first))
				}
				a := tr.enter('A')
				a.checkBy(5*ms, 4, first)
				a.deliver(0, 1)
				a.storedUnheard(0)
				a.looks(then, 1, 2)
				a.now += 2 * second
				a.looks(then, 0, 1)
				a.quickAll()
				a.pass(2 * second)
				got, want := tr.enter('B').left(first), 10-spent
				if spent > 0 && then == fast { // tokens come back at the refill of whoever asks
					want = got
				}
				if got != want {
					t.Errorf("%d of 10 are left, and %d were admitted", got, spent)
				}
			})
		}
	}
}
