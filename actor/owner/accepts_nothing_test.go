package owner_test

import (
	"math/rand/v2"
	"testing"

	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// besideOne has one replica that answers and accepts nothing, and of the two others one that has accepted a little more than
// the other, as after a lost message: how many of 200 checks of a full bucket are admitted.
func besideOne(t *testing.T, answer func(s *stage, m register.Reservation)) (s *stage, admitted int) {
	t.Helper()
	s = newTroupe(t, 3).enter('A')
	s.cfg.Patience, s.cfg.Resend, s.cfg.Rand = owner.DefaultPatience, owner.DefaultResend, fresh(t).Int64N
	rule, _ := daily(t)
	s.replicas[1].registers["daily"] = taken(4 * second)
	brought := 0
	for range 200 {
		tag := s.checkBy(500*ms, 1, rule)
		for range 600 {
			for ; brought < len(s.post); brought++ {
				m := s.post[brought]
				answer(s, m)
				s.bring(m, 1)
				s.bring(m, 2)
			}
			s.pass(ms)
		}
		if r, ok := s.reply(tag); ok && r.Err == nil && r.Decision.Allowed {
			admitted++
		}
	}
	return s, admitted
}

// fresh draws from a new seed, and says which.
func fresh(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// A replica whose clock differs, or that has no room, is no part of a majority, whatever the two others differ by: no check
// creeps along the line from one of them to the other.
func TestOneThatAcceptsNothing(t *testing.T) {
	for _, v := range []register.Verdict{register.Skewed, register.Full} {
		s, admitted := besideOne(t, func(s *stage, m register.Reservation) {
			s.hear(understood(register.Answer{Verdict: v, Generation: m.Generation}, 0, m))
		})
		if admitted < 190 || len(s.sent) > 300 {
			t.Errorf("verdict %d of one replica: %d of 200 checks were admitted by %d reservations", v, admitted, len(s.sent))
		}
	}
}

// Two owners collide once while the clock of a third replica differs. That empties no bucket.
func TestRivalsBesideAWrongClock(t *testing.T) {
	random := fresh(t)
	for range 20 {
		tr := newTroupe(t, 3)
		rule, _ := daily(t)
		tr.replicas[0].skew = second
		a, b := tr.enter('A'), tr.enter('B')
		for _, s := range []*stage{a, b} {
			s.cfg.Patience, s.cfg.Resend, s.cfg.Rand = owner.DefaultPatience, owner.DefaultResend, random.Int64N
		}
		a.checkBy(500*ms, 1, rule)
		tr.now += random.Int64N(ms)
		b.checkBy(500*ms, 1, rule)
		for _, i := range random.Perm(6) {
			[]*stage{a, b}[i%2].deliver(i / 2)
		}
		a.quick, b.quick = []int{0, 1, 2}, []int{0, 1, 2}
		for end := tr.now + 10*second; tr.now < end; tr.now += ms {
			for _, s := range []*stage{a, b} {
				if s.due() <= s.now {
					s.owner.Wake(s.clock(), &s.out)
					s.after()
				}
			}
			if (end-tr.now)%(100*ms) == 0 && end-tr.now > second {
				a.checkBy(500*ms, 1, rule)
			}
		}
		tr.replicas[0].skew = 0
		if left := tr.left(rule); left < 9_000 {
			t.Fatalf("%d of 10,000 tokens are left after about 90 checks", left)
		}
	}
}

// A replica that has no room and one that is gone leave no majority: who waits is told so.
func TestOneWithoutRoomAndOneThatIsGone(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	s.cfg.Patience, s.cfg.Resend, s.cfg.Rand = owner.DefaultPatience, owner.DefaultResend, fresh(t).Int64N
	rule, _ := daily(t)
	tag := s.checkBy(10*second, 1, rule)
	brought := 0
	for range 1000 {
		for ; brought < len(s.post); brought++ {
			m := s.post[brought]
			s.hear(understood(register.Answer{Verdict: register.Full, Generation: m.Generation}, 0, m))
			s.bring(m, 1)
			s.hear(owner.Answer{Replica: 2, Limit: m.Limit, Seq: m.Seq, Epoch: m.Epoch, Verdict: owner.Gone})
		}
		s.pass(ms)
	}
	if r, ok := s.reply(tag); !ok || r.Err == nil {
		t.Errorf("after a second: %+v, want an error", r)
	}
}
