package owner_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// falseDenials lets a client make checks of cost 1 at random times, so many a second, of which that share reaches another owner, and says
// which share of them was denied although the bucket had the token.
func falseDenials(t *testing.T, rule *limit.Rule, random *rand.Rand, perSecond, elsewhere float64, checks int) float64 {
	t.Helper()
	tr := newTroupe(t, 3)
	var owners [2]*stage
	for i := range owners {
		s := tr.enter(byte('A' + i))
		s.quick, s.cfg.Busy, s.cfg.Rand = []int{0, 1, 2}, owner.DefaultBusy, random.Int64N
		owners[i] = s
	}
	var book limit.Pos // the bucket that was spent from by what was admitted
	denied := 0
	for range checks {
		tr.now += int64(random.ExpFloat64() / perSecond * 1e9)
		s := owners[0]
		if random.Float64() < elsewhere {
			s = owners[1]
		}
		s.wake()
		tag := s.check(1, rule)
		for end := tr.now + second; tr.now < end; s.wake() {
			if _, ok := s.reply(tag); ok {
				break
			}
			tr.now = max(tr.now, s.due())
		}
		next, allowed := rule.Decide(book, tr.now, 1)
		if allowed {
			book = limit.Later(book, next)
			denied++
		}
		if s.decision(tag).Allowed {
			denied--
		}
		s.sent, s.post, s.answers = s.sent[:0], s.post[:0], s.answers[:0]
	}
	return 100 * float64(denied) / float64(checks)
}

// A client that others now and then reach another owner of is rarely denied because of line that the first one holds in vain.
func TestRivalsOfASpare(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, rule := range []*limit.Rule{mustRule(t, "ten", 10, 10, time.Second), mustRule(t, "minute", 1000, 1000, time.Minute)} {
		for _, c := range []struct{ load, elsewhere, most float64 }{
			{0.8, 0, 0},
			{0.8, 0.05, 0.5},
			{0.8, 1. / 3, 2},
			{1, 0.05, 2},
			{1, 1. / 3, 2},
			{1.5, 0.05, 2},
		} {
			got := falseDenials(t, rule, random, c.load*1e9/rule.PerToken(), c.elsewhere, 10_000)
			t.Logf("%s, %.1f of the refill, %.2f of it elsewhere: %.2f %%", rule.Name, c.load, c.elsewhere, got)
			if got > c.most {
				t.Errorf("%.2f %% of the checks were denied because of a rival, at most %.1f may be", got, c.most)
			}
		}
	}
}

// reaches asserts how many tokens beyond from the reservation reaches that was sent last.
func (s *stage) reaches(rule *limit.Rule, from, least, most int64) {
	s.tb.Helper()
	_, to := s.lastSent()
	got := float64(to-from) / rule.PerToken()
	if got < float64(least)-0.01 || got > float64(most)+0.01 {
		s.tb.Fatalf("%.2f tokens were reserved beyond what is needed, want %d to %d", got, least, most)
	}
}

// The first check of a key takes what it spends. Those that follow within seconds reserve for the next seconds, as far as the owner may lose
// it.
func TestSpareIsOfWhatIsSpent(t *testing.T) {
	s := alone(t)
	s.cfg.Busy = owner.DefaultBusy
	rule := mustRule(t, "minute", 1000, 1000, time.Minute)
	token := 60 * ms
	s.admitted(s.check(1, rule))
	s.wantSent(0, token)
	for range 4 {
		s.pass(700 * ms)
		s.admitted(s.check(1, rule)) // in all of 3 s
	}
	s.wantSends(2)
	s.reaches(rule, 700*ms+token, 50, 50)
	s.pass(10 * second)
	s.admitted(s.check(1, rule))
	s.wantSent(s.now-start, s.now-start+token)
	s.check(0, rule)
	s.pass(ms)
	s.admitted(s.check(400, rule))
	s.reaches(rule, s.now-start-ms+401*token, 50, 50)
}

// Of a bucket that is more than half spent no more is reserved than will be spent in the next seconds, as it looks.
func TestSpareOfABucketThatIsHalfSpent(t *testing.T) {
	s := alone(t)
	s.cfg.Busy = owner.DefaultBusy
	rule := mustRule(t, "minute", 1000, 1000, time.Minute)
	token := 60 * ms
	s.admitted(s.check(800, rule))
	s.pass(9 * second)
	s.admitted(s.check(1, rule)) // nothing was spent lately
	s.wantSent(800*token, 801*token)
	for n := range int64(50) {
		s.pass(100 * ms)
		sends := len(s.sent)
		s.admitted(s.check(1, rule))
		if len(s.sent) > sends {
			s.reaches(rule, s.view("minute").TAT.NS-start, 1, n+2)
		}
	}
	if len(s.sent) > 8 {
		t.Errorf("%d reservations for 52 checks", len(s.sent))
	}
}

// Nothing is reserved beyond what a check needs before which nothing was spent, that is tried a second time, or that comes within a second of
// a rival; and of a bucket of a few tokens never.
func TestSpareOnlyWhereNobodyElseIs(t *testing.T) {
	rule := mustRule(t, "minute", 1000, 1000, time.Minute)
	token := 60 * ms
	t.Run("after a rival", func(t *testing.T) {
		s := alone(t)
		s.admitted(s.check(1, rule))
		s.elsewhere(rule, start+2*token)
		s.admitted(s.check(1, rule)) // refused, and tried again
		s.wantSent(2*token, 3*token)
		s.admitted(s.check(1, rule))
		s.wantSent(3*token, 4*token)
		s.pass(900 * ms)
		s.admitted(s.check(1, rule))
		s.wantSent(900*ms, 900*ms+token)
		s.pass(200 * ms)
		s.admitted(s.check(1, rule))
		s.reaches(rule, 1100*ms+token, 10, 50)
	})
	t.Run("after what is not spent", func(t *testing.T) {
		s := alone(t)
		s.denied(s.check(1001, rule))
		s.check(0, rule)
		s.admitted(s.check(1, rule))
		s.wantSent(0, token)
	})
	t.Run("few tokens", func(t *testing.T) {
		s := alone(t)
		few := mustRule(t, "few", 5, 5, time.Minute)
		for i := range int64(5) {
			s.admitted(s.check(1, few))
			s.wantSent(i*12*second, (i+1)*12*second)
		}
	})
}

// At any moment a crash costs a bucket what its rule says, or where it is busy Δ of line, and what refills in Δ besides.
func TestWhatACrashMayCost(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rules := []*limit.Rule{
		mustRule(t, "l", 10, 10, time.Second),
		mustRule(t, "l", 5, 5, time.Minute),
		mustRule(t, "l", 1, 1000, time.Second),
		mustRule(t, "l", 1000, 1000, time.Minute),
		mustRule(t, "l", 1000, 3, 7*time.Second),
		mustRule(t, "l", 100_000, 100_000, time.Second),
		windowed(t, 100, time.Minute),
		windowed(t, 1000, time.Second),
	}
	most := 0.0
	for range 300 {
		s := alone(t)
		s.cfg.Busy = owner.DefaultBusy
		rule := rules[random.IntN(len(rules))]
		gap, cost := random.ExpFloat64()*rule.PerToken()*random.ExpFloat64(), 1+random.Int64N(max(rule.Capacity/20, 1))
		for range 200 {
			s.check(1+random.Int64N(cost), rule)
			v := s.view(rule.Name)
			lost := v.Hi - max(v.TAT.NS, rule.Begin(s.now))
			may := rule.SpareLine()
			if v.Demand >= owner.DefaultBusy-1 {
				may = max(may, owner.DefaultDelta) + owner.DefaultDelta
			}
			if lost > may+1 {
				t.Fatalf("%+v: %v of line would be lost, at most %v may be: %+v", rule.Limit, time.Duration(lost), time.Duration(may), v)
			}
			if rule.Spare() > 0 {
				most = max(most, float64(lost)/float64(rule.Length(rule.Capacity).NS))
			}
			s.sent, s.post, s.answers = s.sent[:0], s.post[:0], s.answers[:0]
			s.pass(int64(gap * random.ExpFloat64()))
		}
	}
	t.Logf("%.3f buckets at most", most)
	if most < 0.04 {
		t.Error("nothing was at stake")
	}
}

// A client that comes a few times a second pays for a write now and then.
func TestWritesOfAClient(t *testing.T) {
	for _, c := range []struct {
		rule  *limit.Rule
		every int64
		most  float64 // writes for each check
	}{
		{mustRule(t, "l", 1000, 1000, time.Minute), 125 * ms, 0.05},
		{mustRule(t, "l", 1000, 1000, time.Minute), 500 * ms, 0.2},
		{mustRule(t, "l", 1000, 1000, time.Hour), 125 * ms, 0.05},
		{mustRule(t, "l", 6000, 6000, time.Minute), 250 * ms, 0.1},
		{mustRule(t, "l", 100, 10, time.Second), 125 * ms, 0.25},
		{mustRule(t, "l", 10, 10, time.Second), 125 * ms, 0.25},
	} {
		s := alone(t)
		s.cfg.Busy = owner.DefaultBusy
		const checks = 1000
		for range checks {
			s.admitted(s.check(1, c.rule))
			s.answers = s.answers[:0]
			s.pass(c.every)
		}
		got := float64(len(s.sent)) / checks
		t.Logf("%d at %v, a check every %v: %.3f writes for each", c.rule.Capacity, c.rule.Refill, time.Duration(c.every), got)
		if got > c.most {
			t.Errorf("%.3f writes for each check, want at most %.2f", got, c.most)
		}
	}
}
