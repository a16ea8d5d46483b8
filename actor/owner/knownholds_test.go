package owner_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A hold that has expired and is forgotten leaves others known that were taken before and are settled in full, however many follow.
func TestExpiredLeavesSettledKnown(t *testing.T) {
	for name, rule := range map[string]*limit.Rule{
		"ledger": hourly(t, limit.Holds{Longest: time.Hour}),
		"line":   ruleFor(t, limit.Limit{Name: "line", Capacity: 100_000, Refill: limit.Refill{Tokens: 100_000, Per: time.Minute}, Holds: limit.Holds{Longest: time.Hour}}),
	} {
		t.Run(name, func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			long := s.holds(10, 3600*second, rule) // a long stream
			s.holds(1, 2*second, rule)             // a caller that died
			s.pass(int64(limit.SettleLate) + 5*second)
			want := s.settles(long, limit.Settlement{Used: 7}, rule)[0]
			for range map[string]int{"ledger": 300, "line": 4200}[name] {
				s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 1}, rule)
				s.pass(ms)
			}
			if got := s.settles(long, limit.Settlement{Used: 7}, rule)[0]; got != want {
				t.Errorf("repeated within seconds of its settlement: %+v, want %+v", got, want)
			}
		})
	}
}

// Where a list is full of holds that have expired, a settlement that is repeated is known still, at its owner and at another one.
func TestFullListKnowsSettled(t *testing.T) {
	rule := hourly(t, limit.Holds{Longest: time.Hour})
	tr := newTroupe(t, 3)
	s := tr.enter('A')
	live := s.holds(100, 3600*second, rule)
	for range limit.MaxHolds - 1 {
		s.holds(1, 10*second, rule)
		s.pass(ms)
	}
	s.pass(20 * second) // a fleet of callers has died
	for range 3 {
		s.holds(1, 3600*second, rule)
		s.pass(ms)
	}
	want := s.settles(live, limit.Settlement{Used: 7}, rule)[0]
	if want.State != limit.HoldSettled || want.Charged != 7 {
		t.Fatalf("%+v", want)
	}
	s.pass(ms)
	s.holds(1, 3600*second, rule)
	for name, s := range map[string]*stage{"its owner": s, "another one": tr.enter('B')} {
		tr.now += 10 * ms
		if got := s.settles(live, limit.Settlement{Used: 7}, rule)[0]; got != want {
			t.Errorf("repeated 2 ms later at %s: %+v, want %+v", name, got, want)
		}
	}
}

// A full list keeps a hold that has expired as long as no new one asks for its room: a note of what another one has used so far does not.
func TestFullListKeepsExpired(t *testing.T) {
	rule := hourly(t, limit.Holds{Longest: time.Hour})
	s := newTroupe(t, 3).enter('A')
	late := s.holds(100, 20*second, rule)
	var last limit.Hold
	for range limit.MaxHolds - 1 {
		last = s.holds(1, 3600*second, rule)
		s.pass(ms)
	}
	if n := len(s.troupe.stored(t, rule).Holds()); n != limit.MaxHolds {
		t.Fatal(n)
	}
	s.pass(22 * second)
	s.settles(last, limit.Settlement{Used: 1, Open: true}, rule)
	if got := s.settles(late, limit.Settlement{Used: 7}, rule)[0]; got.State != limit.HoldSettled || got.Charged != 7 {
		t.Errorf("settled seconds after its end, and nobody has asked for a new hold: %+v; %d are charged, where 1199 are held and 7 were used",
			got, s.troupe.stored(t, rule).Used(s.clock()))
	}
}

// Holds of an owner that is gone make room for others when they may be forgotten.
func TestForeignMakeRoom(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "line", Capacity: 1_000_000, Refill: limit.Refill{Tokens: 1_000_000, Per: time.Minute}, Holds: limit.Holds{Longest: time.Hour}})
	tr := newTroupe(t, 3)
	a := tr.enter('A')
	var hs []limit.Hold
	for range 4097 {
		hs = append(hs, a.holds(1, 3600*second, rule))
	}
	b := tr.enter('B')
	for _, h := range hs[:4096] {
		if got := b.settles(h, limit.Settlement{Used: 2}, rule)[0]; got.State != limit.HoldLost || got.Charged != 2 {
			t.Fatalf("%+v", got)
		}
	}
	for range 40 {
		b.pass(60 * second)
		b.settles(b.holds(1, second, rule), limit.Settlement{Used: 1}, rule) // it stays awake
	}
	if got := b.settles(hs[4096], limit.Settlement{Used: 2000}, rule)[0]; got.State != limit.HoldLost || got.Charged != 2000 {
		t.Errorf("40 minutes later: %+v, want lost, charged 2000", got)
	}
}

// The same in the other order: what was settled in full, and left the list among many, is known still when one that has expired leaves it.
func TestExpiredLeavesForgottenKnown(t *testing.T) {
	rule := hourly(t, limit.Holds{Longest: time.Hour})
	s := newTroupe(t, 3).enter('A')
	long := s.holds(10, 3600*second, rule)
	s.holds(1, 2*second, rule)
	s.pass(int64(limit.SettleLate) + second)
	want := s.settles(long, limit.Settlement{Used: 7}, rule)[0]
	for i := range 302 {
		if i == 300 {
			if got := s.settles(long, limit.Settlement{Used: 7}, rule)[0]; got != want {
				t.Fatalf("%+v, want %+v", got, want)
			}
			s.pass(3 * second)
		}
		s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 1}, rule)
		s.pass(ms)
	}
	if got := s.settles(long, limit.Settlement{Used: 7}, rule)[0]; got != want {
		t.Errorf("known 3 s ago, and now: %+v, want %+v", got, want)
	}
}

// Who is told that a hold is unknown charges what was used by a check, as the page says: so nobody may be told that of one that was charged.
func TestSettledAndCheckedIsChargedOnce(t *testing.T) {
	rule := hourly(t, limit.Holds{Longest: time.Hour})
	s := newTroupe(t, 3).enter('A')
	long := s.holds(1000, 3600*second, rule)
	s.holds(1, 2*second, rule)
	s.pass(int64(limit.SettleLate) + 5*second)
	s.settles(long, limit.Settlement{Used: 700}, rule) // its answer is lost
	for range 300 {
		s.settles(s.holds(1, 60*second, rule), limit.Settlement{Used: 1}, rule)
		s.pass(ms)
	}
	if got := s.settles(long, limit.Settlement{Used: 700}, rule)[0]; got.State == limit.HoldUnknown {
		s.admitted(s.check(700, rule))
	}
	if left := s.left(rule); left != 1_000_000-700-300-1 {
		t.Errorf("%d are charged, and 1001 were used", 1_000_000-left)
	}
}

// A settlement that is repeated within half a minute, and says something else, is answered as the first one was, however many holds were settled
// in between, in whatever order.
func TestRepeatedOtherwise(t *testing.T) {
	rule := ruleFor(t, limit.Limit{Name: "line", Capacity: 1_000_000, Refill: limit.Refill{Tokens: 1_000_000, Per: time.Minute}, Holds: limit.Holds{Longest: time.Hour}})
	s := newTroupe(t, 3).enter('A')
	const many = 3000
	var hs []limit.Hold
	for range many {
		hs = append(hs, s.holds(5, 3600*second, rule))
	}
	order, want := rand.Perm(many), make([]limit.SettledLimit, many)
	for _, i := range order {
		want[i] = s.settles(hs[i], limit.Settlement{Used: int64(i % 8)}, rule)[0]
		if want[i].Charged != int64(i%8) {
			t.Fatalf("%+v", want[i])
		}
	}
	for _, i := range order {
		for _, again := range []limit.Settlement{{Used: int64(i%8) + 1}, {Used: 9, Open: true}} {
			if got := s.settles(hs[i], again, rule)[0]; got != want[i] {
				t.Fatalf("hold %d, repeated as %+v: %+v, want %+v", i, again, got, want[i])
			}
		}
	}
	if n := s.view(rule.Name).Holds.Total; n != many {
		t.Errorf("%d holds are shown, want %d", n, many)
	}
	s.pass(32 * second)
	if n := s.view(rule.Name).Holds.Total; n != 0 {
		t.Errorf("%d holds are shown half a minute later", n)
	}
}

// So it is where more was used than could be charged.
func TestRepeatedBeyondDebt(t *testing.T) {
	rule := ruleFor(t, limit.Limit{
		Name: "line", Capacity: 100, Refill: limit.Refill{Tokens: 100, Per: time.Minute}, Holds: limit.Holds{Longest: time.Hour, MaxDebt: limit.NoDebt},
	})
	s := newTroupe(t, 3).enter('A')
	h := s.holds(50, 3600*second, rule)
	want := s.settles(h, limit.Settlement{Used: 400}, rule)[0]
	if want.Charged >= 400 || want.Charged < 100 {
		t.Fatalf("%+v", want)
	}
	if got := s.settles(h, limit.Settlement{Used: 10}, rule)[0]; got != want {
		t.Errorf("repeated with less: %+v, want %+v", got, want)
	}
	if left := s.left(rule); left != 0 {
		t.Errorf("%d are left of what was used in full", left)
	}
}
