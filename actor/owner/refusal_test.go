package owner_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// A segment is held when a majority has accepted it, and not a replica earlier.
func TestMajority(t *testing.T) {
	for replicas, majority := range map[int]int{1: 1, 3: 2, 5: 3} {
		s := newTroupe(t, replicas).enter('A')
		c := s.check(1, mustRule(t, "login", 10, 1, time.Second))
		for i := range majority {
			s.waits(c)
			s.deliver(i)
		}
		s.admitted(c)
		for i := majority; i < replicas; i++ {
			s.deliver(i) // the others may answer as they like
		}
		s.wantSends(1)
	}
}

// An answer that is heard again counts once, and so does one of a replica that was not asked.
func TestAnswersCountOnce(t *testing.T) {
	s := newTroupe(t, 5).enter('A')
	c := s.check(1, mustRule(t, "login", 10, 1, time.Second))
	s.deliver(3, 3, 3)
	m := s.post[0]
	for _, i := range []int{-1, 5, 6} {
		s.hear(owner.Answer{Replica: i, Limit: "login", Seq: m.Seq, Verdict: owner.Accepted, Position: m.To})
	}
	s.hear(owner.Answer{Replica: 1, Limit: "other", Seq: m.Seq, Verdict: owner.Accepted, Position: m.To})
	s.hear(owner.Answer{Replica: 1, Limit: "login", Seq: m.Seq + 1, Verdict: owner.Accepted, Position: m.To})
	s.deliver(0, 0)
	s.waits(c)
	s.deliver(2)
	s.admitted(c)
}

// A refusal teaches where the line is free. The retry keeps the time of the check, and waits a random time that doubles
// from 1 ms to 8 ms.
func TestRefusalBacksOff(t *testing.T) {
	s := newTroupe(t, 1).enter('A')
	rule := mustRule(t, "login", 100, 1, time.Second)
	s.draw = hour // the longest pause there is
	s.elsewhere(rule, start)
	c := s.check(1, rule)
	s.deliver(0)
	s.admitted(c)
	c = s.check(1, rule)
	for i, pause := range []int64{1, 2, 4, 8, 8, 8} {
		s.wantSends(i + 2)
		s.elsewhere(rule, start+int64(i+2)*second)
		s.deliver(0)
		s.pass(pause*ms - 2)
		s.wantSends(i + 2)
		s.pass(1)
		s.wantSends(i + 3)
		s.wantSent(int64(i+2)*second, int64(i+3)*second)
		if got := s.draws[i]; got != pause*ms {
			t.Errorf("pause %d was drawn below %v, want %dms", i, time.Duration(got), pause)
		}
	}
	s.deliver(0)
	if r := s.admitted(c); r.Start != start+7*second {
		t.Errorf("spent %+v", r.Span)
	}
	// All is forgotten with an accept.
	c = s.check(1, rule)
	s.elsewhere(rule, start+10*second)
	s.deliver(0)
	if got := s.draws[len(s.draws)-1]; got != ms {
		t.Errorf("after an accept the pause was drawn below %v, want 1ms", time.Duration(got))
	}
	s.pass(ms)
	s.deliver(0)
	s.admitted(c)
}

// A bucket that was forgotten and is asked again learns from the first answers how far its line is reserved, and asks again at once.
// Another owner that was granted the same line at some replica, or a second refusal, is a rival: then it pauses.
func TestAWokenBucketDoesNotPause(t *testing.T) {
	for name, tt := range map[string]struct {
		taken [3]int64 // where each replica stands
		sends int      // in the first millisecond
	}{
		"its own past":            {[3]int64{5 * second, 5 * second, 5 * second}, 2},
		"one replica stands back": {[3]int64{0, 5 * second, 5 * second}, 1},
		"each tells another one":  {[3]int64{3 * second, 4 * second, 5 * second}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTroupe(t, 3).enter('A')
			s.draw = hour
			rule := mustRule(t, "login", 100, 1, time.Second)
			for i, at := range tt.taken {
				s.replicas[i].registers["login"] = taken(at)
			}
			c := s.check(1, rule)
			s.deliver(0, 1, 2)
			s.wantSends(tt.sends)
			s.pass(ms)
			s.wantSends(2)
			for i := range s.replicas {
				s.replicas[i].registers["login"] = taken(20 * second)
			}
			s.deliver(0, 1, 2)
			s.wantSends(2) // it was told wrong: somebody else is there
			s.pass(2 * ms)
			s.wantSends(3)
			s.deliver(0, 1, 2)
			s.admitted(c)
		})
	}
}

// The retry asks for what the check needed when it arrived, so one that was refused is decided for its own time.
func TestRetryKeepsTheTimeOfTheCheck(t *testing.T) {
	s := newTroupe(t, 1).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	c := s.check(1, rule)
	s.elsewhere(rule, start+9*second+500*ms)
	s.pass(600 * ms)
	s.deliver(0)
	s.denied(c) // it came at 0: 9.5 s and 1 s are beyond 10 s
	c = s.check(1, rule)
	s.pass(ms)
	s.deliver(0)
	s.admitted(c)
}

// With a refusal a majority may still come about. After 5 ms of silence the rest is not waited for where that skips little:
// here a twentieth of the bucket.
func TestSilence(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "login", 100, 1, time.Second)
	s.replicas[0].registers["login"] = taken(5 * second)
	c := s.check(1, rule)
	s.pass(2 * ms)
	s.deliver(0)
	s.pass(2 * ms)
	s.deliver(1)
	s.waits(c)
	s.pass(5*ms - 1)
	s.wantSends(1)
	s.pass(1)
	s.wantSends(2)
	s.wantSent(5*second, 6*second)
	s.deliver(0, 1)
	s.admitted(c)
}

// One refusal does not spoil a majority that comes before the silence.
func TestMajorityDespiteARefusal(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	s.replicas[0].registers["login"] = taken(5 * second)
	c := s.check(1, mustRule(t, "login", 100, 1, time.Second))
	s.deliver(0, 1)
	s.pass(4 * ms)
	s.deliver(2)
	if r := s.admitted(c); r.Start != start {
		t.Errorf("spent %+v", r.Span)
	}
	s.wantSends(1)
}

// When a majority has become impossible the retry does not wait for the last replica.
func TestImpossibleMajority(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "login", 100, 1, time.Second)
	s.replicas[0].registers["login"] = taken(5 * second)
	s.replicas[1].registers["login"] = taken(3 * second)
	c := s.check(1, rule)
	s.deliver(0, 1)
	s.wantSends(2)
	s.wantSent(3*second, 4*second) // as far as is known, the last replica would accept that
	s.deliver(0, 1)
	s.waits(c)
	s.deliver(2)
	if r := s.admitted(c); r.Start != start+3*second {
		t.Errorf("spent %+v", r.Span)
	}
}

// The part of a majority that has accepted a reservation counts as taken line, but not against the very check that
// waits for it: while a reservation is in flight no check is denied because of what replicas say.
func TestOwnReservationDoesNotDeny(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.replicas[1].registers["login"] = taken(10 * second)
	c := s.check(6, rule)
	d := s.check(5, rule)
	s.deliver(0)
	s.deliver(1)
	s.waits(c, d)
	s.deliver(2)
	if r := s.admitted(c); r.Start != start || r.End != start+6*second {
		t.Errorf("spent %+v", r.Span)
	}
	s.denied(d)
}

// With one answer alone nothing is known about what a majority would accept: the same reservation is sent again.
func TestOneRefusalAloneIsNoReasonToRetry(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	s.replicas[0].registers["login"] = taken(5 * second)
	c := s.check(1, mustRule(t, "login", 100, 1, time.Second))
	s.deliver(0)
	s.pass(19 * ms)
	s.wantSends(1)
	s.pass(ms)
	s.wantSends(2)
	if !reflect.DeepEqual(s.sent[0], s.sent[1]) {
		t.Fatalf("sent %+v and then %+v, want the same again", s.sent[0], s.sent[1])
	}
	s.pass(40 * ms)
	s.wantSends(4)
	s.deliver(1, 2)
	s.admitted(c)
}

// Sending again does not put off the retry: the silence is counted from the last answer.
func TestResendDoesNotPutOffTheRetry(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	s.replicas[0].registers["login"] = taken(5 * second)
	c := s.check(1, mustRule(t, "login", 100, 1, time.Second))
	s.pass(19 * ms)
	s.deliver(0, 1)
	s.pass(4 * ms) // sent again after 1 ms
	s.wantSends(2)
	s.pass(ms)
	s.wantSends(3)
	s.wantSent(5*second, 6*second)
	s.deliver(0, 1)
	s.admitted(c)
}

// The position of a replica that is known to be lost must not make the retry creep through what the living ones refuse, in
// whatever order the answers come.
func TestRetryDoesNotCreepWhenAReplicaIsLost(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		s := newTroupe(t, 3).enter('A')
		s.replicas[0].registers["login"] = taken(100 * second)
		c := s.check(1, mustRule(t, "login", 1000, 1, time.Second))
		for range 3 {
			m := s.post[len(s.post)-1]
			for _, i := range order {
				if i == 2 {
					s.hear(owner.Answer{Replica: 2, Limit: "login", Seq: m.Seq, Verdict: owner.Lost})
				} else {
					s.bring(m, i)
				}
			}
			s.pass(5 * ms)
		}
		s.admitted(c)
		s.wantSends(2)
		s.wantSent(100*second, 101*second)
	}
}

// A replica that has lost its disk answers with its floor. The others know better: whatever the order of the answers,
// one floor empties no bucket, and the answer that is missing is waited for before a check is denied because of it.
func TestOneFloorEmptiesNoBucket(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		s := newTroupe(t, 3).enter('A')
		rule := mustRule(t, "login", 10, 1, time.Second)
		s.replicas[0].amnesia(s.now, s.bounds)
		s.replicas[1].registers["login"] = taken(4 * second)
		s.replicas[2].registers["login"] = taken(4 * second)
		c := s.check(1, rule)
		m := s.post[0]
		for _, i := range order {
			s.bring(m, i)
			s.pass(ms / 10)
		}
		s.pass(5 * ms)
		s.deliver(order...)
		r := s.admitted(c)
		if r.Start != start+4*second {
			t.Errorf("order %v: spent %+v, want from 4 s on", order, r.Span)
		}
	}
}

// With the floored replica and one other left, the floor is all that a majority would accept, and the check is denied. The
// third replica is asked again, by a reservation that takes no line: the denial is not for ever.
func TestDenialByAFloorIsNotForEver(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "daily", 10, 10, 24*time.Hour)
	s.replicas[0].amnesia(s.now, s.bounds)
	s.replicas[1].registers["daily"] = taken(hour)
	s.replicas[2].registers["daily"] = taken(hour)
	c := s.check(1, rule)
	s.lose(2)
	s.deliver(0, 1)
	s.denied(c)
	s.denied(s.check(1, rule)) // at once
	s.wantSends(1)
	for range 10 {
		s.pass(second)
		n := len(s.sent)
		c = s.check(1, rule)
		s.lose(2)
		s.deliver(0, 1)
		s.denied(c)
		if m := s.sent[n]; len(s.sent) != n+1 || m.From != m.To || m.From != start+hour {
			t.Fatalf("sent %+v, want one empty reservation at an hour", s.sent[n:])
		}
	}
	s.quick = []int{0, 1, 2}
	s.pass(second)
	if r := s.admitted(s.check(1, rule)); r.Start != start+hour {
		t.Errorf("spent %+v, want the line behind the first hour: what was denied has taken none", r.Span)
	}
}

// taken is a register that another owner has reserved up to that long after the start.
func taken(d int64) register.Register {
	return register.Register{H: start + d, Seq: 1 << 40}
}

// Without enough answers the owner sends the same reservation again, until the check's deadline. When no check waits any more,
// it gives the reservation up: an owner without checks sends nothing.
func TestResendUntilNobodyWaits(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	c := s.checkBy(second, 1, mustRule(t, "login", 10, 1, time.Second))
	s.pass(second)
	s.failed(c, context.DeadlineExceeded)
	s.wantSends(50)
	for _, m := range s.sent {
		if !reflect.DeepEqual(m, s.sent[0]) {
			t.Fatalf("sent %+v and then %+v, want the same again", s.sent[0], m)
		}
	}
	s.pass(10 * second)
	s.wantSends(50)
	if idle, _ := s.owner.Idle(s.now); !idle {
		t.Error("the owner is not idle")
	}
	s.deliver(0, 1, 2) // too late: it was given up
	if v := s.view("login"); v.Hi != 0 {
		t.Errorf("the owner holds a segment up to %d that it had given up", v.Hi)
	}
}

// A reservation that no check waits for any more is still taken if its answers come in time.
func TestReservationOutlivesItsCheck(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.checkBy(ms, 1, rule)
	s.pass(5 * ms)
	s.deliver(0, 1)
	s.wantSends(1)
	if v := s.view("login"); v.Hi != start+second {
		t.Errorf("the held segment ends at %d", v.Hi-start)
	}
}

// A reservation that was given up is not held, even when a majority has accepted it in the end; but its answers teach.
func TestGivenUpIsNeverSpent(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "login", 100, 1, time.Second)
	s.replicas[0].registers["login"] = taken(5 * second)
	s.draw = hour
	c := s.check(1, rule)
	m := s.post[0]
	s.bring(m, 0)
	s.bring(m, 1)
	s.pass(5 * ms)
	s.wantSends(1) // given up, and pausing
	s.bring(m, 2)  // accepted by two of three, too late
	s.pass(ms)
	s.wantSends(2)
	s.waits(c)
	s.wantSent(second, 2*second) // both others stand at 1 s now, and are a majority
	s.deliver(1, 2)
	if r := s.admitted(c); r.Start != start+second {
		t.Errorf("spent %+v, want the second reservation's", r.Span)
	}
}

// An owner whose clock a majority refuses says so. One refusal may come from a message that was long under way, so it
// tries once more before.
func TestSkewedClock(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "login", 10, 1, time.Second)
	s.replicas[0].skew, s.replicas[1].skew = 300*ms, 300*ms
	c, d := s.check(1, rule), s.check(1, rule)
	s.deliver(0, 1)
	s.waits(c, d)
	s.pass(ms)
	s.wantSends(2)
	s.deliver(0, 1)
	s.failed(c, limit.ErrUnavailable)
	s.failed(d, limit.ErrUnavailable)

	s.replicas[0].skew = 0
	s.pass(10 * ms)
	c = s.check(1, rule)
	s.deliver(1, 0, 2)
	s.admitted(c)
}

// The replica on the owner's own node shares its clock, answers first, and refuses only because it has accepted the try
// before. That must not hide that the others refuse because of the clock.
func TestSkewedClockOfAWholeNode(t *testing.T) {
	for _, replicas := range []int{3, 5} {
		s := newTroupe(t, replicas).enter('A')
		s.ahead, s.replicas[0].skew, s.quick = 2*second, 2*second, []int{0}
		c := s.check(1, mustRule(t, "login", 10, 1, time.Second))
		for range 3 {
			for i := range replicas - 1 {
				s.deliver(i + 1)
			}
			s.pass(ms)
		}
		s.failed(c, limit.ErrUnavailable)
	}
}

// A single late message is no wrong clock.
func TestLateMessageIsSentAnew(t *testing.T) {
	s := newTroupe(t, 1).enter('A')
	c := s.check(1, mustRule(t, "login", 10, 1, time.Second))
	m := s.post[0]
	s.pass(300 * ms)
	s.hear(understood(s.replicas[0].reserve(m, s.now, s.bounds), 0, m))
	s.waits(c)
	s.pass(ms)
	s.wantSends(2)
	s.deliver(0)
	if r := s.admitted(c); r.Start != start {
		t.Errorf("spent %+v", r.Span)
	}
}

// When too many replicas will never answer there is nothing to wait for.
func TestLostReplicas(t *testing.T) {
	for replicas, most := range map[int]int{1: 0, 3: 1, 5: 2} {
		s := newTroupe(t, replicas).enter('A')
		c := s.check(1, mustRule(t, "login", 10, 1, time.Second))
		r := s.reset(mustRule(t, "other", 10, 1, time.Second))
		m := s.post[0]
		for i := range most + 1 {
			s.waits(c)
			s.hear(owner.Answer{Replica: i, Limit: "login", Seq: m.Seq, Verdict: owner.Lost})
		}
		s.failed(c, limit.ErrUnavailable)
		s.failed(r, limit.ErrUnavailable)
	}
}

// An owner that has just appeared learns what others know from their refusals: the W-th smallest position, not the
// largest.
func TestColdOwnerLearns(t *testing.T) {
	s := newTroupe(t, 5).enter('A')
	rule := mustRule(t, "login", 1000, 1, time.Second)
	for i, at := range []int64{10, 50, 30, 20, 40} {
		s.replicas[i].registers["login"] = taken(at * second)
	}
	s.draw = hour
	c := s.check(1, rule)
	s.deliver(0, 1, 2, 3, 4)
	s.pass(ms)
	s.wantSent(30*second, 31*second)
	s.deliver(0, 1, 2, 3, 4)
	s.admitted(c)
}

// Two owners at once are safe. Here every other check goes to the other one, and none waits for ever.
func TestTwoOwnersTakeTurns(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := mustRule(t, "login", 20, 1, time.Hour)
	owners := []*stage{tr.enter('A'), tr.enter('B')}
	spent := map[int64]bool{}
	for i := range 20 {
		s := owners[i%2]
		s.quick = []int{0, 1, 2}
		r := s.admitted(s.check(1, rule))
		tr.now += owner.DefaultDelta // so that nothing is reserved ahead, and nothing wasted
		if r.End-r.Start != hour || spent[r.Start] {
			t.Fatalf("span %+v overlaps", r.Span)
		}
		spent[r.Start] = true
	}
	for _, s := range owners {
		s.denied(s.check(1, rule))
	}
}
