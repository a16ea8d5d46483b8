package owner_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// A key that is checked now and then reserves what it spends and nothing more, so that a crash loses none of it.
func TestColdKeyReservesExactlyItsSpan(t *testing.T) {
	s := alone(t)
	login := mustRule(t, "login", 10, 1, time.Second)
	s.admitted(s.check(1, login))
	s.wantSent(0, second)
	s.admitted(s.check(2, login))
	s.wantSent(second, 3*second)
	s.pass(500 * ms)
	s.admitted(s.check(1, login))
	s.wantSent(3*second, 4*second)
	s.pass(10 * second)
	r := s.admitted(s.check(3, login))
	s.wantSent(10*second+500*ms, 13*second+500*ms)
	if want := (limit.Span{Start: start + 10*second + 500*ms, End: start + 13*second + 500*ms}); r.Span != want {
		t.Errorf("the receipt says %+v, want %+v", r.Span, want)
	}
	if h := s.replicas[0].registers["login"].H; h != r.End {
		t.Errorf("the register stands at %d, the spent line ends at %d", h, r.End)
	}
}

// However many checks of a cold key wait, the second reservation serves all that can be admitted: none waits for as many
// as stand before it.
func TestOneReservationServesAllWhoWait(t *testing.T) {
	s := newTroupe(t, 1).enter('A')
	s.cfg.Busy = 1 << 20 // cold
	login, other := mustRule(t, "login", 10, 1, time.Second), mustRule(t, "other", 10, 1, time.Second)
	var waiting []int
	for range 7 {
		waiting = append(waiting, s.check(1, login))
	}
	both := s.check(2, login, other)
	late := s.check(2, login) // there is 1 left for 2
	last := s.check(1, login)
	s.wantSends(1)
	s.wantSent(0, second)
	s.deliver(0)
	s.admitted(waiting[0])
	s.wantSends(2)
	s.wantSent(second, 10*second)
	s.deliver(0)
	for _, tag := range waiting {
		s.admitted(tag)
	}
	s.wantSends(3) // of the other limit
	s.deliver(0)
	s.admitted(both)
	s.denied(late)
	s.admitted(last)
	s.wantSends(3)
}

// That is so too where every check defines the limit itself.
func TestOneReservationServesAllWhoDefineTheLimit(t *testing.T) {
	s := newTroupe(t, 1).enter('A')
	s.cfg.Busy = 1 << 20
	var waiting []int
	for range 10 {
		waiting = append(waiting, s.check(1, mustRule(t, "login", 10, 1, time.Second)))
	}
	s.deliver(0)
	s.deliver(0)
	for _, tag := range waiting {
		s.admitted(tag)
	}
	s.wantSends(2)
}

// The next life of a killed owner finds all that a cold key had left, and nothing of what it had spent.
func TestKillOfAColdKeyLosesNothing(t *testing.T) {
	s := alone(t)
	login := mustRule(t, "login", 10, 1, time.Hour)
	for life := range byte(10) {
		s.admitted(s.check(1, login))
		next := s.enter(life)
		next.quick = s.quick
		s = next
	}
	s.denied(s.check(1, login))
}

// With lengths that are no whole nanoseconds a segment is rounded up, and the part of a nanosecond is still spent later.
func TestSegmentIsRoundedUp(t *testing.T) {
	s := alone(t)
	rule := mustExact(t, "thirds", 1000, 3, 10)
	first := s.admitted(s.check(1, rule))
	s.wantSent(0, 4)
	second := s.admitted(s.check(1, rule))
	s.wantSent(4, 7)
	if first.Span != (limit.Span{Start: start, End: start + 3}) || second.Span != (limit.Span{Start: start + 3, End: start + 6}) {
		t.Errorf("spans %+v and %+v", first.Span, second.Span)
	}
}

// traffic checks one key every interval for a time, after which all is steady, and says what happened in the steady
// part: how many checks had to wait, how many were admitted, how many reservations were made.
func traffic(s *stage, rule *limit.Rule, interval, warm, steady int64) (waited, admitted, reservations int) {
	s.tb.Helper()
	before := 0
	for end := s.now + warm + steady; s.now < end; {
		if s.now < end-steady {
			waited, admitted, before = 0, 0, len(s.sent)
		}
		sends, answers := len(s.sent), len(s.answers)
		s.check(1, rule)
		for _, m := range s.sent[sends:] {
			if !m.Background {
				waited++
			}
		}
		if len(s.answers) == answers+1 && s.answers[answers].Decision.Allowed {
			admitted++
		}
		s.answers = s.answers[:0]
		s.pass(interval)
	}
	return waited, admitted, len(s.sent) - before
}

// A hot key, one of more than 160 admissions a second, never waits, and writes little: its segments are reserved ahead.
func TestHotKeyNeverWaits(t *testing.T) {
	for _, c := range []struct {
		name     string
		rule     *limit.Rule
		admitted int // in 10 s
	}{
		{"far below its limit", mustRule(t, "hot", 1_000_000, 1_000_000, time.Second), 100_000},
		{"half its limit", mustRule(t, "hot", 20_000, 20_000, time.Second), 100_000},
		{"just below its limit", mustRule(t, "hot", 100, 10_100, time.Second), 100_000},
		{"saturated", mustRule(t, "hot", 1000, 1000, time.Second), 10_000},
		{"saturated, a small bucket", mustRule(t, "hot", 1, 1000, time.Second), 10_000},
		{"saturated, a slow refill", mustRule(t, "hot", 100, 200, time.Second), 2000},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := alone(t)
			s.cfg.Busy = owner.DefaultBusy
			waited, admitted, reservations := traffic(s, c.rule, 100_000, 2*second, 10*second)
			if admitted < c.admitted*99/100 || admitted > c.admitted*101/100 {
				t.Errorf("%d admitted in 10 s, want about %d", admitted, c.admitted)
			}
			if waited > 0 {
				t.Errorf("%d checks had to wait", waited)
			}
			if reservations > 150 {
				t.Errorf("%.1f reservations a second, want at most 15", float64(reservations)/10)
			}
			t.Logf("%.1f reservations a second", float64(reservations)/10)
		})
	}
}

// A burst on a fresh bucket takes twentieths of it, or larger parts as the limit says; then all of it is denied from memory.
func TestBurstTakesFewReservations(t *testing.T) {
	for reserve, most := range map[limit.Reserve]int{0: 40, 20: 20, 50: 16} {
		s := alone(t)
		rule, err := limit.Limit{Name: "burst", Capacity: 1000, Refill: limit.Refill{Tokens: 1, Per: time.Hour}, Reserve: reserve}.Rule()
		if err != nil {
			t.Fatal(err)
		}
		allowed := 0
		for range 5000 {
			if s.decision(s.check(1, rule)).Allowed {
				allowed++
			}
		}
		if allowed != 1000 {
			t.Errorf("%d admitted, want 1000", allowed)
		}
		if len(s.sent) > most {
			t.Errorf("%d reservations for a burst of 1000, want at most %d", len(s.sent), most)
		}
	}
}

// What a busy key has reserved ahead is at most the line that its owner may lose and Δ itself, and never lies more than Δ beyond what
// could be spent now.
func TestBusyKeyReservesWithinBounds(t *testing.T) {
	for _, rule := range []*limit.Rule{
		mustRule(t, "hot", 1_000_000, 1_000_000, time.Second),
		mustRule(t, "hot", 20_000, 20_000, time.Second),
		mustRule(t, "hot", 10, 1000, time.Second),
	} {
		s := alone(t)
		for range 20_000 {
			s.check(1, rule)
			for _, m := range s.sent {
				if most := s.now + rule.Reach() + owner.DefaultDelta; m.To > most {
					t.Fatalf("reserved up to %v from now, at most %v may be", time.Duration(m.To-s.now), time.Duration(most-s.now))
				}
				spare := max(rule.SpareLine(), owner.DefaultDelta)
				if most := max(m.From, s.now+owner.DefaultDelta) + spare + rule.Length(1).Ceil(); m.To > most {
					t.Fatalf("reserved up to %v from now, want at most %v", time.Duration(m.To-s.now), time.Duration(most-s.now))
				}
			}
			s.sent, s.post, s.answers = s.sent[:0], s.post[:0], s.answers[:0]
			s.pass(100_000)
		}
	}
}

// busy brings a stage of one slow replica to the point where its key is hot and has just begun to reserve ahead.
func busy(t *testing.T, rule *limit.Rule) *stage {
	t.Helper()
	s := alone(t)
	for range 20_000 {
		s.check(1, rule)
		s.pass(100_000)
		if n := len(s.sent); n > 0 && s.sent[n-1].Background && s.now > start+second {
			break
		}
	}
	s.quick = nil
	s.sent, s.post, s.answers = s.sent[:0], s.post[:0], s.answers[:0]
	for len(s.sent) == 0 {
		s.admitted(s.check(1, rule))
		s.pass(100_000)
	}
	if !s.sent[0].Background {
		t.Fatal("the hot key has run dry")
	}
	return s
}

// elsewhere makes another owner reserve the line of the bucket up to a position, at all replicas.
func (tr *troupe) elsewhere(rule *limit.Rule, to int64) {
	tr.tb.Helper()
	for _, r := range tr.replicas {
		reg := r.registers[rule.Name]
		reg.H, reg.Seq = to, 1<<40
		r.registers[rule.Name] = reg
	}
}

// A segment that was reserved ahead and does not touch the held one is kept, and entered only when the held one cannot
// serve: the line between them belongs to another owner.
func TestNextSegmentIsKeptAndEntered(t *testing.T) {
	rule := mustRule(t, "hot", 20_000, 20_000, time.Second)
	s := busy(t, rule)
	hi := s.view("hot").Hi
	s.elsewhere(rule, hi+10*ms)
	s.deliver(0) // refused: another owner was here
	for len(s.sent) == 1 {
		s.admitted(s.check(1, rule))
		s.pass(100_000)
	}
	if m := s.sent[1]; !m.Background || m.From != hi+10*ms {
		t.Fatalf("reserved %+v, want a segment from %d in the background", m, hi+10*ms)
	}
	s.deliver(0)
	v := s.view("hot")
	if v.Hi != hi || v.Next[0] != hi+10*ms || v.Next[1] <= v.Next[0] {
		t.Fatalf("held up to %d and next %v, want the held segment untouched and the next one from %d", v.Hi, v.Next, hi+10*ms)
	}
	var last limit.Receipt
	for v.Next[0] != v.Next[1] {
		if r := s.admitted(s.check(1, rule)); r.Start >= hi {
			if last.End > hi || r.Start != hi+10*ms {
				t.Fatalf("span %+v after %+v: the held segment ends at %d, the next one begins at %d", r.Span, last.Span, hi, hi+10*ms)
			}
		} else {
			last = r
		}
		s.pass(50_000)
		v = s.view("hot")
	}
	if last.End < hi-ms {
		t.Errorf("the held segment was left at %d, %v before its end", last.End, time.Duration(hi-last.End))
	}
	if v.Hi != s.sent[1].To {
		t.Errorf("held up to %d, want the end of the next segment, %d", v.Hi, s.sent[1].To)
	}
}

// A next segment whose time has passed unused does not stop the key from reserving ahead again.
func TestNextSegmentThatHasPassedIsForgotten(t *testing.T) {
	rule := mustRule(t, "hot", 20_000, 20_000, time.Second)
	s := busy(t, rule)
	s.elsewhere(rule, s.view("hot").Hi+10*ms)
	s.deliver(0)
	for len(s.sent) == 1 {
		s.admitted(s.check(1, rule))
		s.pass(100_000)
	}
	s.deliver(0)
	if v := s.view("hot"); v.Next[0] == v.Next[1] {
		t.Fatal("there is no next segment")
	}
	s.pass(10 * second)
	s.quick = []int{0}
	waited, _, _ := traffic(s, rule, 100_000, second, 5*second)
	if waited > 0 {
		t.Errorf("%d checks had to wait", waited)
	}
}

// When another owner has taken the line beyond the held segment, a check that the rest cannot serve leaves that rest.
func TestJumpLeavesTheRest(t *testing.T) {
	s := alone(t)
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.admitted(s.check(2, rule))
	s.elsewhere(rule, start+5*second)
	r := s.admitted(s.check(3, rule))
	if r.Start != start+5*second || r.End != start+8*second {
		t.Errorf("span %+v, want 5 s to 8 s", r.Span)
	}
	if o := s.denied(s.check(3, rule)); o.RetryAfter != time.Second {
		t.Errorf("retry after %v, want 1 s", o.RetryAfter)
	}
}

// A floor of a replica keeps what a check of any plan can have reserved, whatever plan asks.
func TestReservationsLeadByTheLongestPlan(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {api: {capacity: 50, refill: 1/s, plans: {short: {capacity: 5}, long: {capacity: 100}}}}"))
	if err != nil {
		t.Fatal(err)
	}
	s := alone(t)
	rules := []*limit.Rule{}
	for _, p := range doc.Plans("api") {
		rules = append(rules, p.Rule)
	}
	own, _ := doc.Rule("api")
	for _, rule := range append(rules, own) {
		s.admitted(s.check(1, rule))
		sent := s.sent[len(s.sent)-1]
		if lead := max(sent.Lead, sent.Reach); lead != 100*int64(time.Second) || sent.Reach != rule.Capacity*int64(time.Second) {
			t.Errorf("a reservation under a capacity of %d reaches %v and leads %v, want 100s", rule.Capacity, time.Duration(sent.Reach), time.Duration(lead))
		}
	}
}
