package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

// windowed is a rule of windows of that length. Every story begins 20 s after the beginning of a minute.
func windowed(tb reporter, capacity int64, window time.Duration) *limit.Rule {
	tb.Helper()
	rule, err := limit.Limit{Name: "page", Algorithm: limit.FixedWindow, Capacity: capacity, Window: window}.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	return rule
}

// burst makes checks, a millisecond apart, and says how many are admitted.
func (s *stage) burst(n int, rule *limit.Rule) (admitted int) {
	for range n {
		s.pass(ms)
		if s.decision(s.check(1, rule)).Allowed {
			admitted++
		}
	}
	return admitted
}

// What a busy key reserves ahead is line of the present window only, until the next one begins within Δ: then it is what the key
// will spend there.
func TestAheadInWindows(t *testing.T) {
	s := alone(t)
	rule := windowed(t, 10_000, time.Minute)
	ends := start - 20*second + 60*second // of the window
	if admitted := s.burst(200, rule); admitted != 200 {
		t.Fatalf("%d of 200 were admitted", admitted)
	}
	if sends := len(s.sent); sends > 50 {
		t.Errorf("200 checks of a busy key took %d reservations", sends)
	}
	for _, m := range s.sent {
		if m.From < ends || m.To > rule.Bound(s.now).NS {
			t.Fatalf("reserved (%v, %v] after the window's end", time.Duration(m.From-ends), time.Duration(m.To-ends))
		}
	}
	s.pass(ends - 50*ms - s.now)
	s.burst(40, rule)
	ahead := false
	for _, m := range s.sent {
		bound := rule.Bound(ends).NS
		ahead = ahead || m.To > ends+int64(time.Minute)
		if m.To > bound {
			t.Fatalf("reserved up to %v after the bound of the next window", time.Duration(m.To-bound))
		}
	}
	if !ahead {
		t.Error("nothing of the next window is reserved 10 ms before it begins")
	}
	sends := len(s.sent)
	s.pass(ends - s.now)
	s.admitted(s.check(1, rule))
	for _, m := range s.sent[sends:] {
		if !m.Background {
			t.Error("the first check of the next window waited for line")
		}
	}
}

// What is left of a window is for the checks of that window, also for those that their owner reaches after its end, behind one that
// waited for another limit.
func TestAheadOfChecksOfAWindowThatHasEnded(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	s.quick = []int{0, 1, 2}
	rule, other := windowed(t, 1000, time.Minute), mustExact(t, "other", 10, 1, time.Second)
	ends := start - 20*second + 60*second
	s.pass(ends - 202*ms - s.now)
	s.burst(100, rule)
	s.pass(ends - 50*ms - s.now)
	s.quick = nil
	first := s.check(1, rule, other)
	s.pass(30 * ms)
	behind := s.check(500, rule)
	s.pass(23 * ms)
	s.waits(first, behind)
	if limit := s.sent[len(s.sent)-1].Limit; limit != other.Register() {
		t.Fatalf("the first check waits for %s, want %s", limit, other.Register())
	}
	s.deliver(0, 1)
	s.admitted(first)
	s.waits(behind)
	s.deliver(0, 1)
	s.admitted(behind)
}

// A window that is used up holds nothing of the next one, as long as that does not begin within Δ.
func TestAheadOfAWindowThatIsUsedUp(t *testing.T) {
	s := alone(t)
	rule := windowed(t, 100, time.Minute)
	if admitted := s.burst(150, rule); admitted != 100 {
		t.Errorf("%d of 100 were admitted", admitted)
	}
	for _, m := range s.sent {
		if bound := rule.Bound(s.now).NS; m.To > bound {
			t.Fatalf("reserved up to %v after the window's line, 40 s before the next one begins", time.Duration(m.To-bound))
		}
	}
}

// In windows so short that Δ holds several, nothing is reserved beyond what could be spent in Δ.
func TestAheadInShortWindows(t *testing.T) {
	s := alone(t)
	rule := windowed(t, 50, 30*time.Millisecond)
	admitted := s.burst(300, rule)
	if admitted < 290 { // a millisecond apart, all fit
		t.Errorf("%d of 300 were admitted", admitted)
	}
	for _, m := range s.sent {
		if most := rule.Bound(s.now + s.cfg.Delta).NS; m.To > most {
			t.Fatalf("reserved up to %v beyond what can be spent in Δ", time.Duration(m.To-most))
		}
	}
}

// Nothing of a window of more than ten minutes is reserved ahead: it would not come back soon after a crash.
func TestLongWindowsReserveNothingAhead(t *testing.T) {
	for _, l := range []limit.Limit{{Window: time.Hour}, {Per: "month", Timezone: "Europe/Berlin", Anchor: "15"}} {
		s := alone(t)
		l.Name, l.Algorithm, l.Capacity = "page", limit.FixedWindow, 1000
		rule, err := l.Rule()
		if err != nil {
			t.Fatal(err)
		}
		s.burst(100, rule)
		token := rule.Length(1).NS
		for i, m := range s.sent {
			if m.To-m.From != token || m.Background {
				t.Fatalf("reservation %d of %s takes %d tokens", i, rule.Register(), (m.To-m.From)/token)
			}
		}
		s.wantSends(100)
	}
}

// Another shape of windows begins a fresh bucket, and so does another algorithm. A receipt of before has no effect, nor has a late
// answer.
func TestAnotherShapeBeginsAfresh(t *testing.T) {
	s := alone(t)
	month, err := limit.Limit{Name: "page", Algorithm: limit.FixedWindow, Capacity: 5, Per: "month"}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	minute, bucket := windowed(t, 3, time.Minute), mustRule(t, "page", 4, 1, time.Hour)
	receipt := s.admitted(s.check(5, month))
	s.denied(s.check(1, month))
	for _, rule := range []*limit.Rule{minute, bucket} {
		s.admitted(s.check(rule.Capacity, rule))
		s.denied(s.check(1, rule))
		if s.owner.Return(receipt, s.now, &s.out) {
			t.Errorf("a receipt of %s is taken back under %s", month.Register(), rule.Register())
		}
		s.denied(s.check(1, rule))
	}
	if got := s.denied(s.check(1, month)); got.Remaining != 0 {
		t.Errorf("back under the month, %d are left of what was spent", got.Remaining)
	}
	if n := s.owner.Buckets(); n != 1 {
		t.Errorf("a limit has %d buckets", n)
	}
	names := map[string]bool{}
	for _, m := range s.sent {
		names[m.Limit] = true
	}
	for _, rule := range []*limit.Rule{month, minute, bucket} {
		if !names[rule.Register()] {
			t.Errorf("nothing was reserved in the register %s", rule.Register())
		}
	}
}

// A reservation under way when the shape changes is not taken for one of the new shape.
func TestAnswerOfAnotherShape(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	hours, minute := windowed(t, 5, time.Hour), windowed(t, 5, time.Minute)
	first := s.check(1, hours)
	late := s.post[len(s.post)-1]
	s.deliver(0, 1)
	s.admitted(first)
	second := s.check(5, minute)
	s.bring(late, 2)
	s.waits(second)
	s.deliver(0, 1)
	s.admitted(second)
	s.denied(s.check(1, minute))
}

// A limit that is changed within one shape never admits more than the new limit from then on, besides the share that is left.
func TestLimitChangesWithinAShape(t *testing.T) {
	s := alone(t)
	many, few := windowed(t, 1000, time.Minute), windowed(t, 10, time.Minute)
	if admitted := s.burst(400, many); admitted != 400 {
		t.Fatalf("%d of 400 were admitted", admitted)
	}
	if admitted := s.burst(100, few); admitted > 6 {
		t.Errorf("four tenths were spent, and of 10 another %d are admitted", admitted)
	}
	s.pass(60 * second)
	if admitted := s.burst(100, few); admitted != 10 {
		t.Errorf("in the next window %d of 10 are admitted", admitted)
	}
}

// A check that runs out of time because of a silent replica may come back Δ later, not in the next window.
func TestDenialForWantOfASilentReplicaInAWindow(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	s.cfg.Patience = 200 * ms
	rule := windowed(t, 100, time.Hour)
	s.replicas[0].registers[rule.Register()] = register.Register{H: rule.Begin(s.now) + 50*rule.Length(1).NS}
	c := s.checkBy(second, 1, rule)
	s.deliver(0, 1)
	s.pass(second)
	o := s.denied(c)
	if o.RetryAfter != time.Duration(s.cfg.Delta) || o.Remaining != 0 {
		t.Errorf("got %+v, want a wait of Δ", o)
	}
}

// An owner can be forgotten as soon as the window has ended whose line it holds.
func TestIdleAfterTheWindow(t *testing.T) {
	s := alone(t)
	rule := windowed(t, 10_000, time.Minute)
	s.burst(100, rule)
	idle, again := s.owner.Idle(s.now)
	if want := start + 40*second; idle || again != want {
		t.Errorf("idle %v, and to be asked again %v after the window has ended", idle, time.Duration(again-want))
	}
	s.pass(40 * second)
	if idle, _ := s.owner.Idle(s.now); !idle {
		t.Error("in the next window, the owner is not idle")
	}
}

// A majority that has forgotten closes the window in which it did, and not the next one. The denial takes few messages.
func TestFloorsCloseOneWindow(t *testing.T) {
	for _, window := range []time.Duration{10 * time.Second, time.Minute, time.Hour, 720 * time.Hour} {
		s := newTroupe(t, 3).enter('A')
		s.quick = []int{0, 1, 2}
		rule := windowed(t, 1000, window)
		ends := rule.Begin(s.now)
		for _, r := range s.replicas {
			r.amnesia(s.now, s.bounds)
		}
		c := s.checkBy(second, 1, rule)
		s.pass(second)
		if s.denied(c); len(s.sent) > 3 {
			t.Errorf("windows of %v: a denial took %d reservations", window, len(s.sent))
		}
		s.pass(ends + 2*second - s.now)
		c = s.checkBy(second, 1, rule)
		s.pass(second)
		s.admitted(c)
	}
}
