package owner_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// fewerAdmitted lets a client make checks of cost 1 at random times, so many a second, of which that share reaches another owner. It says how many
// percent of them one owner alone would have admitted more, and how many were denied that it would have admitted: it may have denied others.
func fewerAdmitted(t *testing.T, rule *limit.Rule, random *rand.Rand, perSecond, elsewhere float64, checks int) (fewer, others float64) {
	t.Helper()
	tr := newTroupe(t, 3)
	var owners [2]*stage
	for i := range owners {
		s := tr.enter(byte('A' + i))
		s.quick, s.cfg.Busy, s.cfg.Rand = []int{0, 1, 2}, owner.DefaultBusy, random.Int64N
		owners[i] = s
	}
	var book limit.Pos // of the owner that is alone
	missing, denied := 0, 0
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
		got := s.decision(tag).Allowed
		if allowed {
			book = limit.Later(book, next)
			missing++
		}
		if got {
			missing--
		}
		if allowed && !got {
			denied++
		}
		s.sent, s.post, s.answers = s.sent[:0], s.post[:0], s.answers[:0]
	}
	return 100 * float64(missing) / float64(checks), 100 * float64(denied) / float64(checks)
}

// A client that others now and then reach another owner of is rarely denied because of line that the first one holds in vain.
func TestRivalsOfASpare(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, rule := range []*limit.Rule{mustRule(t, "ten", 10, 10, time.Second), mustRule(t, "minute", 1000, 1000, time.Minute)} {
		for _, c := range []struct{ load, elsewhere, fewer, others float64 }{
			{0.8, 0, 0, 0},
			{0.8, 0.05, 1, 1},
			{0.8, 1. / 3, 2, 2},
			{1, 0.05, 2, 5},
			{1, 1. / 3, 2, 5},
			{1.5, 0.05, 2, 100},
		} {
			fewer, others := fewerAdmitted(t, rule, random, c.load*1e9/rule.PerToken(), c.elsewhere, 10_000)
			t.Logf("%s, %.1f of the refill, %.2f of it elsewhere: %.2f %% fewer are admitted, %.2f %% that would have been are not",
				rule.Name, c.load, c.elsewhere, fewer, others)
			if fewer > c.fewer || others > c.others {
				t.Errorf("want at most %.1f %% and %.1f %%", c.fewer, c.others)
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

// At any moment a crash costs a bucket what its rule says, or where it is busy the tokens of Δ, and what refills in Δ besides; with what is held
// behind a rival, too. At the end of a window the owner of a busy one holds what is left of it besides, until it ends.
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
		mustRule(t, "l", 1000, 1, time.Hour),
		mustRule(t, "l", 100_000, 100_000, time.Second),
		windowed(t, 100, time.Minute),
		windowed(t, 1000, time.Second),
	}
	most := 0.0
	for range 600 {
		s := alone(t)
		s.cfg.Busy = owner.DefaultBusy
		rule := rules[random.IntN(len(rules))]
		gap, cost := random.ExpFloat64()*rule.PerToken()*random.ExpFloat64(), 1+random.Int64N(max(rule.Capacity/20, 1))
		rivals := random.IntN(2) == 0
		var times []int64
		for range 200 {
			if rivals && random.IntN(20) == 0 {
				s.elsewhere(rule, max(s.replicas[0].registers[rule.Register()].H, rule.Begin(s.now))+rule.Length(1).Ceil())
			}
			times = append(times, s.now)
			s.check(1+random.Int64N(cost), rule)
			v, begin := s.view(rule.Name), rule.Begin(s.now)
			lost := max(0, v.Hi-max(v.TAT.NS, begin)) + max(0, v.Next[1]-max(v.Next[0], begin))
			may := rule.SpareLine()
			if n := len(times); n >= owner.DefaultBusy && times[n-owner.DefaultBusy] > s.now-2*owner.DefaultDelta {
				may = max(may, rule.Whole(owner.DefaultDelta)) + owner.DefaultDelta
				if next := rule.Begin(s.now + owner.DefaultDelta); next-begin > owner.DefaultDelta {
					may += next - begin
				}
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

// Of a bucket that takes long to fill nothing is held that would keep its owner awake for long.
func TestSpareKeepsNobodyAwake(t *testing.T) {
	for _, capacity := range []int64{5000, 100_000} {
		for _, spent := range []int64{0, capacity / 2} {
			s := alone(t)
			s.cfg.Busy = owner.DefaultBusy
			rule := mustRule(t, "slow", capacity, capacity, 24*time.Hour)
			if spent > 0 {
				s.check(spent, rule)
			}
			for range 20 {
				s.check(1, rule)
				s.pass(50 * ms)
			}
			s.owner.ForgetReturns()
			s.pass(10 * 60 * second)
			if idle, again := s.owner.Idle(s.now); !idle {
				t.Errorf("%d of %d are spent: the owner stays awake for %v more", spent, capacity, time.Duration(again-s.now))
			}
		}
	}
}

// Of a busy bucket that takes long to fill no more is held than it spends in Δ, however much the limit lets its owner lose.
func TestBusyBucketThatTakesLongToFill(t *testing.T) {
	for _, reserve := range []limit.Reserve{0, 20, 50} {
		s := alone(t)
		s.cfg.Busy = owner.DefaultBusy
		rule, err := limit.Limit{Name: "slow", Capacity: 1000, Refill: limit.Refill{Tokens: 1, Per: time.Hour}, Reserve: reserve}.Rule()
		if err != nil {
			t.Fatal(err)
		}
		most := 0.0
		for range 400 {
			s.admitted(s.check(1, rule))
			s.pass(5 * ms)
			v := s.view("slow")
			most = max(most, float64(v.Hi-v.TAT.NS)/rule.PerToken())
		}
		if most < 10 || most > 21 {
			t.Errorf("reserve %v: up to %.1f tokens were held, of which each takes an hour to come back, and 20 are spent in Δ", reserve, most)
		}
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
		{mustRule(t, "l", 1000, 1000, 20*time.Minute), 125 * ms, 0.4}, // half of it, ten minutes, is spent soon
		{mustRule(t, "l", 6000, 6000, time.Minute), 250 * ms, 0.1},
		{mustRule(t, "l", 100, 10, time.Second), 125 * ms, 0.25},
		{mustRule(t, "l", 10, 10, time.Second), 125 * ms, 0.25},
	} {
		s := alone(t)
		s.cfg.Busy = owner.DefaultBusy
		const checks = 800
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

// What an owner has reserved ahead at one replica, and is frozen, does not keep another owner from a bucket that is nearly full.
func TestFrozenOwnerOfASpare(t *testing.T) {
	for _, c := range []struct {
		tokens int64 // and the capacity
		per    time.Duration
	}{{10, time.Second}, {100, time.Second}, {1000, time.Second}, {1000, time.Minute}, {5, time.Minute}} {
		for _, reserve := range []limit.Reserve{limit.ReserveExact, 0, 20, 50} {
			l := mustRule(t, "l", c.tokens, c.tokens, c.per).Limit
			l.Reserve = reserve
			rule, err := l.Rule()
			if err != nil {
				t.Fatal(err)
			}
			tr := newTroupe(t, 3)
			frozen, other := tr.enter('A'), tr.enter('B')
			frozen.check(1, rule)
			frozen.deliver(0, 1, 2)
			tr.now += 5 * ms
			frozen.check(1, rule)
			frozen.deliver(0)
			other.quick = []int{0, 1} // the third one is silent
			tag := other.checkBy(second, 1, rule)
			for end := tr.now + 100*ms; tr.now < end; {
				if _, ok := other.reply(tag); ok {
					break
				}
				tr.now = max(tr.now, other.due())
				other.wake()
			}
			other.admitted(tag)
		}
	}
}

// What a bucket spends is reckoned right at any rate, also after a pause and beside checks of another size.
func TestDemandIsReckonedRight(t *testing.T) {
	for _, every := range []int64{10 * ms, ms, ms / 10, ms / 50} {
		s := alone(t)
		s.cfg.Busy = owner.DefaultBusy
		rule := mustRule(t, "l", 100_000_000, 100_000_000, time.Minute)
		for range 2 {
			s.check(100_000, rule)
			for end := s.now + second; s.now < end; s.now += every {
				s.owner.Check(owner.Check{Tag: s.tag(), At: s.clock(), Deadline: s.clock() + hour, Rules: []*limit.Rule{rule}, Cost: 10}, &s.out)
				s.after()
				s.sent, s.post, s.answers, s.before = s.sent[:0], s.post[:0], s.answers[:0], 0
			}
			want := 10 * float64(second) / float64(every)
			if got := s.view("l").Demand; got < 0.9*want || got > 1.15*want {
				t.Errorf("a check of 10 every %v: %.0f tokens a second, want %.0f", time.Duration(every), got, want)
			}
			s.pass(owner.DefaultDelta)
		}
	}
}
