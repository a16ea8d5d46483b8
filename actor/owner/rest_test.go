package owner_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// plain is a check that gets no receipt, which the owner would remember.
func (s *stage) plain(cost int64, rules ...*limit.Rule) int {
	tag := s.tag()
	s.owner.Check(owner.Check{Tag: tag, At: s.clock(), Deadline: s.clock() + hour, Rules: rules, Cost: cost}, &s.out)
	s.after()
	return tag
}

// sleeps has the owner be dormant and wake, if it could be some time ago, and says whether it was.
func (s *stage) sleeps(ago int64) bool {
	if at := s.owner.Dormant(s.clock()); at == math.MaxInt64 || at > s.clock()-ago {
		return false
	}
	rest, ok := s.owner.Rest(s.clock())
	if !ok {
		s.tb.Fatal("the owner can be dormant, and has no rest")
	}
	s.owner = &owner.Owner{Terms: s.owner.Terms}
	s.owner.Restore(rest, s.clock())
	return true
}

// spendingRules are those of limits that spend a line, as one limit has them that is changed now and then.
func spendingRules(tb reporter) (rules []*limit.Rule) {
	for _, l := range []limit.Limit{
		{Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}},
		{Capacity: 1000, Refill: limit.Refill{Tokens: 1000, Per: time.Hour}},
		{Capacity: 50, Refill: limit.Refill{Tokens: 7, Per: time.Minute}},
		{Capacity: 50, Refill: limit.Refill{Tokens: 7, Per: time.Minute}, Reserve: limit.ReserveExact},
		{Capacity: 100, Algorithm: limit.FixedWindow, Window: time.Minute},
		{Capacity: 5000, Algorithm: limit.FixedWindow, Window: 5 * time.Minute},
	} {
		l.Name = "login"
		rule, err := l.Rule()
		if err != nil {
			tb.Fatal(err)
		}
		rules = append(rules, rule)
	}
	return rules
}

// A pair are two owners with the same life, but that the second one is dormant whenever it can be. Each has replicas of its own.
type pair struct {
	t             *rapid.T
	awake, sleeps *stage
	ago           int64 // so long after it could be
	slept         int
}

func newPair(t *rapid.T, busy int) *pair {
	p := &pair{t: t}
	for _, s := range []**stage{&p.awake, &p.sleeps} {
		*s = newTroupe(t, 3).enter('A')
		(*s).quick, (*s).draw, (*s).cfg.Busy = []int{0, 1, 2}, 10*ms, busy
	}
	return p
}

// do has both do the same, and compares their answers, and what they have sent if exact.
func (p *pair) do(exact bool, what string, f func(s *stage)) {
	p.t.Helper()
	if p.sleeps.sleeps(p.ago) {
		p.slept++
	}
	f(p.awake)
	f(p.sleeps)
	if a, b := p.awake.answers, p.sleeps.answers; fmt.Sprint(a) != fmt.Sprint(b) {
		p.t.Fatalf("%s: the one that was dormant says\n%+v\nthe other\n%+v", what, b, a)
	}
	if exact && !reflect.DeepEqual(p.awake.sent, p.sleeps.sent) {
		p.t.Fatalf("%s: the one that was dormant has sent\n%+v\nthe other\n%+v", what, p.sleeps.sent, p.awake.sent)
	}
}

// An owner that is dormant now and then decides as one that stays awake. If it is not busy, and is dormant only once nothing was spent for
// eight seconds, it also reserves the same line at the same times: under other numbers, after resets, with a replica that does not answer
// and one that has lost its registers.
func TestDormantOwnerDecidesTheSame(t *testing.T) {
	slept := 0
	rapid.Check(t, func(t *rapid.T) {
		busy := rapid.SampledFrom([]int{2, math.MaxInt32, math.MaxInt32}).Draw(t, "busy")
		exact, p, rules := busy == math.MaxInt32 && rapid.Bool().Draw(t, "exact"), newPair(t, busy), spendingRules(t)
		if exact {
			p.ago = 8 * second
		}
		rule := rapid.SampledFrom(rules).Draw(t, "rule")
		both := func(f func(s *stage)) { f(p.awake); f(p.sleeps) }
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 15).Draw(t, "step") {
			case 0, 1, 2, 3:
				d := rapid.OneOf(rapid.Int64Range(0, second), rapid.Int64Range(8*second, 20*second), rapid.Int64Range(0, 200*second)).Draw(t, "pass")
				both(func(s *stage) { s.pass(d) })
			case 4:
				if exact { // what was reserved ahead may be given up
					rule = rapid.SampledFrom(rules).Draw(t, "rule")
				}
			case 5:
				p.do(exact, "reset", func(s *stage) { s.reset(rule) })
			case 6:
				if exact {
					quick := rapid.SampledFrom([][]int{{0, 1, 2}, {0, 1}, {1, 2}}).Draw(t, "quick")
					both(func(s *stage) { s.quick = quick })
				}
			case 7:
				if exact && rapid.IntRange(0, 5).Draw(t, "loses") == 0 {
					i := rapid.IntRange(0, 2).Draw(t, "replica")
					both(func(s *stage) { s.replicas[i].amnesia(s.now, s.bounds) })
				}
			default:
				cost := rapid.Int64Range(0, 1+rule.Capacity/10).Draw(t, "cost")
				for range rapid.IntRange(1, 6).Draw(t, "checks") {
					if rapid.Bool().Draw(t, "soon") {
						both(func(s *stage) { s.pass(30 * ms) })
					}
					p.do(exact, "check", func(s *stage) { s.plain(cost, rule) })
				}
			}
		}
		slept += p.slept
	})
	if t.Logf("the owners were dormant %d times", slept); slept < 20 && !testing.Short() {
		t.Errorf("the owners were dormant %d times only", slept)
	}
}

// reserved is an owner that has reserved ahead: it holds line that no check needed.
func reserved(t *testing.T, rule *limit.Rule) *stage {
	t.Helper()
	s := alone(t)
	for range 2 {
		s.decision(s.plain(1, rule))
		s.pass(second)
	}
	if v, _ := s.owner.View(rule.Name, s.clock()); v.TAT.Ceil() >= v.Hi {
		t.Fatalf("the owner holds no line: %+v", v)
	}
	return s
}

// An owner that would lose something else than line stays awake.
func TestRestIsLineOnly(t *testing.T) {
	rule, other := mustRule(t, "login", 1000, 1000, time.Hour), mustRule(t, "other", 1000, 1000, time.Hour)
	entries, err := limit.Limit{Name: "entries", Algorithm: limit.SlidingWindow, Capacity: 10, Window: time.Minute}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		dormant bool
		f       func(s *stage)
	}{
		{"line", true, func(*stage) {}},
		{"what has been spent up", false, func(s *stage) {
			v, _ := s.owner.View("login", s.clock())
			for v.TAT.Ceil() < v.Hi {
				s.decision(s.plain(1, rule))
				v, _ = s.owner.View("login", s.clock())
				s.cfg.Busy = math.MaxInt32
				if len(s.sent) > 100 {
					t.Fatal("it is never spent up")
				}
				if left := v.Hi - v.TAT.Ceil(); left > 0 && left < rule.Length(1).NS {
					s.pass(v.Hi - s.clock())
					break
				}
			}
		}},
		{"line that has passed", false, func(s *stage) { s.pass(20 * 60 * second) }},
		{"a receipt", false, func(s *stage) { s.decision(s.check(1, rule)) }},
		{"line of two buckets", false, func(s *stage) {
			for range 2 {
				s.decision(s.plain(1, other))
				s.pass(second)
			}
		}},
		{"a bucket that lost nothing", true, func(s *stage) { s.decision(s.plain(0, other)) }},
		{"a ledger that is stored", true, func(s *stage) { s.decision(s.plain(1, entries)) }},
		{"a check that waits", false, func(s *stage) {
			s.quick = nil
			s.plain(500, rule)
		}},
		{"a reservation in flight", false, func(s *stage) {
			s.quick = nil
			s.checkBy(ms, 500, rule)
			s.pass(2 * ms)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := reserved(t, rule)
			c.f(s)
			if rest, ok := s.owner.Rest(s.clock()); ok != c.dormant {
				t.Errorf("there is a rest is %v, want %v: %+v", ok, c.dormant, rest)
			}
			if at := s.owner.Dormant(s.clock()); (at < math.MaxInt64) != c.dormant {
				t.Errorf("it can be dormant at %d, want that at all is %v", at-start, c.dormant)
			}
		})
	}
}

// An owner that remembers holds stays awake for them, and no longer.
func TestRestWaitsForHolds(t *testing.T) {
	rule := ruleFor(t, limit.Limit{
		Name: "tokens", Capacity: 1000, Refill: limit.Refill{Tokens: 1000, Per: 10 * time.Minute}, Reserve: limit.Reserve(50), Holds: limit.Holds{Longest: time.Minute},
	})
	for name, c := range map[string]struct {
		settled bool
		awake   int64
	}{
		"an open one":      {false, 60*second + int64(limit.SettleLate)},
		"one that is over": {true, 31 * second},
	} {
		t.Run(name, func(t *testing.T) {
			s := reserved(t, rule)
			h := s.holds(1, 60*second, rule)
			if c.settled {
				s.settles(h, limit.Settlement{Used: 1}, rule)
			}
			if rest, ok := s.owner.Rest(s.clock()); ok {
				t.Errorf("it is dormant: %+v", rest)
			}
			if got, want := s.owner.Dormant(s.clock()), s.clock()+c.awake; got != want {
				t.Errorf("it can be dormant in %v, want %v", time.Duration(got-s.clock()), time.Duration(c.awake))
			}
		})
	}
}

// An owner is not dormant while it may be busy.
func TestDormantOnceItIsNotBusy(t *testing.T) {
	s := reserved(t, mustRule(t, "login", 1000, 1000, time.Hour))
	s.decision(s.plain(1, mustRule(t, "login", 1000, 1000, time.Hour)))
	if got, want := s.owner.Dormant(s.clock()), s.clock()+owner.DefaultDelta; got != want {
		t.Errorf("it can be dormant in %v, want in %v", time.Duration(got-s.clock()), time.Duration(want-s.clock()))
	}
}

// A key that is used every few seconds is dormant in between, and goes on to reserve ahead: it does not make a write for each check.
func TestDormantOwnerReservesAhead(t *testing.T) {
	rule := mustRule(t, "login", 1000, 1000, time.Minute)
	writes := [2]int{}
	for i := range writes {
		s, slept := alone(t), 0
		for range 100 {
			s.decision(s.plain(5, rule))
			s.pass(2 * second)
			if i == 1 && s.sleeps(second) {
				slept++
			}
		}
		writes[i] = s.replicas[0].writes
		if i == 1 && slept < 45 {
			t.Errorf("it was dormant %d times only", slept)
		}
	}
	if t.Logf("%d writes awake, %d when it is dormant in between", writes[0], writes[1]); writes[1] > writes[0]*5/4 {
		t.Errorf("%d writes, and %d when it is dormant in between", writes[0], writes[1])
	}
}

// A Rest knows what it is worth: which part of the bucket it is, and when time has passed it.
func TestRestIsWeighed(t *testing.T) {
	rule := mustRule(t, "login", 1000, 1000, time.Hour)
	s := reserved(t, rule)
	v, _ := s.owner.View("login", s.clock())
	rest, ok := s.owner.Rest(s.clock())
	if !ok {
		t.Fatal("there is no rest")
	}
	left := float64(v.Hi-v.TAT.NS) / float64(hour)
	if got := rest.Share(v.TAT.NS - second); got < 0.99*left || got > 1.01*left {
		t.Errorf("its share is %v, want %v", got, left)
	}
	if rest.Passed(v.Hi-1) || !rest.Passed(v.Hi) || rest.Share(v.Hi) != 0 {
		t.Errorf("it has passed is %v before its end and %v at it; its share is %v then", rest.Passed(v.Hi-1), rest.Passed(v.Hi), rest.Share(v.Hi))
	}
	if rest.Bytes() != 0 {
		t.Errorf("the stored rule counts as %d bytes of it", rest.Bytes())
	}
}
