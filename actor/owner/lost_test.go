package owner_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// patient is an owner with replicas that come back, and how it hears that some are lost.
func patient(t *testing.T, replicas int) *stage {
	t.Helper()
	s := newTroupe(t, replicas).enter('A')
	s.cfg.Patience = 200 * ms
	s.cfg.Resend = 100 * ms
	s.draw = hour
	return s
}

// lose answers what was sent last: those replicas will not.
func (s *stage) lose(replicas ...int) { s.without(owner.Lost, replicas...) }

func (s *stage) without(v owner.Verdict, replicas ...int) {
	m := s.post[len(s.post)-1]
	for _, i := range replicas {
		s.hear(owner.Answer{Replica: i, Limit: m.Limit, Seq: m.Seq, Epoch: m.Epoch, Verdict: v})
	}
}

// A majority that is lost for a moment fails no check: the owner sends the same reservation again, and wastes no line, though a
// replica had accepted it all the time.
func TestLostForAMoment(t *testing.T) {
	s := patient(t, 3)
	c := s.check(1, mustRule(t, "login", 10, 1, time.Second))
	s.deliver(0)
	for _, pause := range []int64{1, 2, 4, 8, 16, 32, 32} {
		n := len(s.sent)
		s.lose(1, 2)
		s.waits(c)
		s.pass(pause*ms - 2)
		s.wantSends(n)
		s.pass(2)
		s.wantSends(n + 1)
		if !reflect.DeepEqual(s.sent[n], s.sent[0]) {
			t.Fatalf("sent %+v and then %+v, want the same again", s.sent[0], s.sent[n])
		}
	}
	s.deliver(2)
	if r := s.admitted(c); r.Start != start {
		t.Errorf("spent %+v", r.Span)
	}
}

// Who has waited for so long, and no longer, is told how many replicas are left.
func TestPatience(t *testing.T) {
	for replicas, gone := range map[int][]int{3: {0, 2}, 5: {0, 2, 3}} {
		s := patient(t, replicas)
		rule := mustRule(t, "login", 10, 1, time.Second)
		first := s.check(1, rule)
		s.lose(gone...)
		s.pass(150 * ms)
		second := s.check(1, rule)
		s.pass(49 * ms)
		s.lose(gone...)
		s.waits(first, second)
		s.pass(ms)
		s.lose(gone...)
		s.failed(first, limit.ErrUnavailable)
		s.waits(second)
		r, _ := s.reply(first)
		lost, ok := errors.AsType[*owner.LostError](r.Err)
		if !ok || lost.Replicas != replicas || !slices.Equal(lost.Lost, gone) {
			t.Errorf("got %v, want %d replicas without %v", r.Err, replicas, gone)
		}
		s.pass(50 * ms)
		for range 2 { // what the first one had asked for is 150 ms too short for the second
			for i := range replicas {
				s.deliver(i)
			}
		}
		if r := s.admitted(second); r.Start != start+150*ms {
			t.Errorf("spent %+v", r.Span)
		}
	}
}

// No check waits for a majority that has been lost for longer than checks wait: each would lose that time, as long as the
// replicas are cut off. Checks wait for one that was lost just now.
func TestGone(t *testing.T) {
	for replicas, gone := range map[int][]int{3: {0, 2}, 5: {0, 2, 3}} {
		s := patient(t, replicas)
		rule := mustRule(t, "login", 10, 1, time.Second)
		for range 3 {
			c := s.check(1, rule)
			s.without(owner.Gone, gone[1:]...)
			s.lose(gone[0])
			s.waits(c)
			s.pass(200 * ms)
			s.without(owner.Gone, gone[1:]...)
			s.lose(gone[0])
			s.failed(c, limit.ErrUnavailable)
		}
		c := s.check(1, rule)
		s.pass(10 * ms) // the pause after the last one
		s.without(owner.Gone, gone...)
		s.failed(c, limit.ErrUnavailable)
		r, _ := s.reply(c)
		if lost, ok := errors.AsType[*owner.LostError](r.Err); !ok || !slices.Equal(lost.Lost, gone) {
			t.Errorf("got %v, want %d replicas without %v", r.Err, replicas, gone)
		}
		if idle, _ := s.owner.Idle(s.now); !idle {
			t.Error("the owner goes on asking, though no check waits")
		}
		c = s.check(1, rule)
		s.pass(10 * ms)
		s.without(owner.Gone, gone[1:]...)
		for i := range replicas {
			s.deliver(i)
		}
		s.admitted(c)
	}
}

// Silent replicas may be cut off before a failure detector has noticed. Checks that wait for them fail in time to ask another
// owner; checks that wait because replicas refuse do not, for the other owner would be refused as well.
func TestSilentReplicas(t *testing.T) {
	for replicas, silent := range map[int][]int{3: {1, 2}, 5: {0, 2, 4}} {
		s := patient(t, replicas)
		s.cfg.Resend = second
		rule := mustRule(t, "login", 10, 1, time.Second)
		first := s.checkBy(500*ms, 1, rule)
		for i := range replicas {
			if !slices.Contains(silent, i) {
				s.deliver(i)
			}
		}
		s.pass(100 * ms)
		second := s.checkBy(500*ms, 1, rule)
		s.pass(199 * ms)
		s.waits(first, second)
		s.pass(ms)
		s.failed(first, limit.ErrUnavailable)
		s.waits(second)
		r, _ := s.reply(first)
		if lost, ok := errors.AsType[*owner.LostError](r.Err); !ok || !slices.Equal(lost.Lost, silent) {
			t.Errorf("got %v, want %d replicas without %v", r.Err, replicas, silent)
		}
		for range 2 { // what the first one had asked for is 100 ms too short for the second
			for i := range replicas {
				s.deliver(i)
			}
		}
		s.admitted(second)
	}
	s := patient(t, 3)
	c := s.checkBy(500*ms, 1, mustRule(t, "login", 10, 1, time.Second))
	for range 499 {
		m := s.post[len(s.post)-1]
		for i := range 2 {
			s.hear(owner.Answer{Replica: i, Limit: m.Limit, Seq: m.Seq, Verdict: owner.Refused, Position: m.From + 1})
		}
		s.waits(c)
		s.pass(ms)
	}
}

// An owner without checks does not ask replicas that are lost.
func TestLostWhenNobodyWaits(t *testing.T) {
	s := patient(t, 3)
	c := s.checkBy(50*ms, 1, mustRule(t, "login", 10, 1, time.Second))
	s.pass(50 * ms)
	if _, ok := s.reply(c); !ok {
		t.Fatal("its time has run out")
	}
	s.lose(0, 1)
	s.pass(second)
	s.wantSends(1)
	if idle, _ := s.owner.Idle(s.now); !idle {
		t.Error("the owner is not idle")
	}
}

// A minority that is lost is as good as none, whatever the others say.
func TestMinorityLost(t *testing.T) {
	s := patient(t, 3)
	rule := mustRule(t, "login", 100, 1, time.Second)
	c := s.check(1, rule)
	s.lose(1)
	s.deliver(0, 2)
	s.admitted(c)
	s.replicas[0].registers["login"] = taken(5 * second)
	s.replicas[2].registers["login"] = taken(5 * second)
	c = s.check(1, rule)
	s.deliver(0)
	s.lose(1)
	s.deliver(2)
	s.pass(2 * ms)
	s.wantSent(5*second, 6*second)
	s.deliver(0, 2)
	s.admitted(c)
	s.wantSends(3)
}

// One lost and one elsewhere leave no majority, but nothing is known to be lost for good: the check waits.
func TestOneLostOneElsewhere(t *testing.T) {
	s := patient(t, 3)
	c := s.check(1, mustRule(t, "login", 10, 1, time.Second))
	s.seal(2)
	for range 50 {
		n := len(s.sent)
		s.deliver(0, 2)
		s.lose(1)
		s.pass(8 * ms)
		s.wantSends(n + 1)
	}
	s.waits(c)
	s.deliver(1)
	if r := s.admitted(c); r.Start != start {
		t.Errorf("spent %+v", r.Span)
	}
}

// A silent replica is never waited for, neither to admit, nor to be refused, nor to deny.
func TestSilentReplica(t *testing.T) {
	for _, replicas := range []int{3, 5} {
		s := patient(t, replicas)
		for i := range (replicas + 1) / 2 {
			s.quick = append(s.quick, i)
		}
		rule := mustRule(t, "login", 10, 1, time.Second)
		s.admitted(s.check(5, rule))
		s.wantSends(1)
		for _, i := range s.quick {
			s.replicas[i].registers["login"] = taken(7 * second)
		}
		c := s.check(1, rule)
		s.pass(8 * ms) // no majority can come about any more: no silence is waited for
		if r := s.admitted(c); r.Start != start+7*second {
			t.Errorf("spent %+v", r.Span)
		}
		s.replicas[0].registers["login"] = taken(8500 * ms)
		c = s.check(1, rule) // one refuses, and the silent ones might have accepted
		s.pass(5*ms - 1)
		s.waits(c)
		s.pass(2 * ms)
		if r := s.admitted(c); r.Start != start+9*second {
			t.Errorf("spent %+v", r.Span)
		}
		s.denied(s.check(10, rule))
	}
}

// Who has to leave may have stood behind one who can be served at once when its turn comes: there is line for the one and not
// for the other. One call of Wake answers all of them.
func TestWakeLeavesNobodyWaiting(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule, far := daily(t)
	s.quick = []int{0, 1, 2}
	if !s.giveBack(s.admitted(s.check(10, rule))) {
		t.Fatal("the first check could not be returned")
	}
	s.quick = nil
	s.replicas[0].registers["daily"] = taken(far)
	tags := []int{s.checkBy(10*ms, 100, rule)}
	s.deliver(0, 1) // one refuses, one accepts, the third is silent
	for range 3 {
		tags = append(tags, s.checkBy(hour, 1, rule), s.checkBy(10*ms, 100, rule))
	}
	s.pass(9 * ms)
	for i, tag := range tags {
		if r, ok := s.reply(tag); !ok || r.Err != nil {
			t.Errorf("check %d is answered %v: %+v", i, ok, r)
		}
	}
}
