package owner_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// Line that an owner skips is burned: no owner can spend it, until time passes it. These tests tell of a replica whose line is
// reserved far ahead, by a floor or for an owner that was cut off with it. It decides nothing alone, and nothing together
// with a replica that is late.

// daily is the limit of these stories, and far is how far ahead the one replica's line is reserved.
func daily(tb reporter) (rule *limit.Rule, far int64) {
	rule = mustRule(tb, "daily", 10_000, 10_000, 24*time.Hour)
	return rule, rule.Length(9_931).Ceil()
}

// left is how many tokens a new owner finds that every replica answers at once.
func (tr *troupe) left(rule *limit.Rule) int64 {
	s := tr.enter('Z')
	for i := range tr.replicas {
		s.quick = append(s.quick, i)
	}
	tag := s.check(0, rule)
	s.pass(second)
	return s.decision(tag).Limits[0].Remaining
}

// One slow answer costs nothing, whatever was asked. The answer of the last replica comes when everything else that the
// owner wants to do has been done.
func TestOneSlowAnswerBurnsNothing(t *testing.T) {
	for what, ask := range map[string]func(s *stage, rule *limit.Rule) (tag int, cost int64){
		"a check": func(s *stage, rule *limit.Rule) (int, int64) { return s.check(1, rule), 1 },
		"a peek":  func(s *stage, rule *limit.Rule) (int, int64) { return s.check(0, rule), 0 },
		"a reset": func(s *stage, rule *limit.Rule) (int, int64) {
			s.replicas[0].partition.Floored, s.replicas[0].partition.Floor = true, s.now-second // a reset forgives no floor
			return s.reset(rule), 0
		},
	} {
		for _, late := range []int64{0, 4 * ms, 6 * ms, 50 * ms, second} {
			t.Run(fmt.Sprintf("%s, late by %v", what, time.Duration(late)), func(t *testing.T) {
				s := newTroupe(t, 3).enter('A')
				rule, far := daily(t)
				s.replicas[0].registers["daily"] = taken(far)
				tag, cost := ask(s, rule)
				for end := s.now + late; s.now < end; s.pass(ms) {
					s.deliver(0, 1)
				}
				for range 3 {
					s.deliver(0, 1, 2)
					s.pass(2 * ms)
				}
				if r, ok := s.reply(tag); !ok || r.Err != nil || cost > 0 && !r.Decision.Allowed {
					t.Fatalf("answered %v: %+v", ok, r)
				}
				if got := s.left(rule); got < 10_000-cost {
					t.Errorf("%d tokens are left of 10000", got)
				}
			})
		}
	}
}

// A reservation ahead begins where every replica counts, the lost ones too.
func TestReservingAheadSkipsNothing(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule := mustRule(t, "hot", 10_000, 1000, time.Second)
	s.quick = []int{0, 1, 2}
	for range 500 {
		s.admitted(s.check(1, rule))
		s.pass(ms)
	}
	s.replicas[0].registers["hot"] = taken(9 * second)
	s.quick = []int{0, 1}
	ahead := 0
	for n := len(s.sent); ; n++ {
		for len(s.sent) == n {
			s.check(1, rule)
			s.pass(ms)
		}
		m := s.sent[n]
		switch {
		case !m.Background:
			if ahead == 0 {
				t.Fatal("nothing was reserved ahead")
			}
			return
		case m.From >= start+9*second:
			t.Fatalf("reserved ahead from %v on", time.Duration(m.From-start))
		}
		if ahead++; ahead > 4 {
			t.Fatalf("reserved ahead %d times in a row, in vain", ahead)
		}
		s.lose(2)
	}
}

// A mail is a message under way to a replica.
type mail struct {
	at      int64
	m       register.Reservation
	replica int
}

// through asks s for checks and brings what it sends to all replicas, which takes a millisecond, and with 1 message in 100
// ten. It says how many checks were admitted.
func (s *stage) through(random *rand.Rand, rule *limit.Rule, checks int) (admitted int64) {
	var under []mail
	posted := len(s.post)
	carry := func() {
		for _, m := range s.post[posted:] {
			for i := range s.replicas {
				takes := ms
				if random.IntN(100) == 0 {
					takes = 10 * ms
				}
				under = append(under, mail{s.now + takes, m, i})
			}
		}
		posted = len(s.post)
	}
	for range checks {
		tag := s.checkBy(500*ms, 1, rule)
		for {
			carry()
			if _, answered := s.reply(tag); answered {
				break
			}
			slices.SortStableFunc(under, func(a, b mail) int { return cmp.Compare(a.at, b.at) })
			due := s.due()
			if len(under) > 0 && under[0].at < due {
				next := under[0]
				under = under[1:]
				s.now = max(s.now, next.at)
				s.bring(next.m, next.replica)
				continue
			}
			s.now = max(s.now, due)
			s.wake()
		}
		if r, _ := s.reply(tag); r.Err == nil && r.Decision.Allowed {
			admitted++
		}
		s.pass(random.Int64N(20 * ms))
		carry()
	}
	return admitted
}

// With 1 message in 100 late by 10 ms, no key loses its bucket, and all is admitted that there is: three replicas or five,
// of which as many have their line reserved far ahead as may be lost.
func TestLateAnswersBurnNoBucket(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, replicas := range []int{3, 5} {
		lost, admitted := 0, int64(0)
		for range 500 {
			s := newTroupe(t, replicas).enter('A')
			s.cfg.Patience, s.cfg.Resend = owner.DefaultPatience, owner.DefaultResend
			rule, far := daily(t)
			for _, i := range random.Perm(replicas)[:replicas/2] {
				s.replicas[i].registers["daily"] = taken(far)
			}
			admitted += s.through(random, rule, 10)
			if left := s.left(rule); left < 10_000-50 {
				lost++
				t.Logf("a key has %d of 10000 tokens left after 10 checks", left)
			}
		}
		if lost > 0 || admitted != 5000 {
			t.Errorf("%d replicas: %d of 500 keys lost their bucket, %d of 5000 checks were admitted", replicas, lost, admitted)
		}
	}
}

// A replica that answers nothing, though its connection is open, and one whose line is reserved far ahead: what the others
// would accept may be skipped when the silent one is known to be lost, and not before. Until then checks are decided within
// their time, and spend what is held.
func TestFrozenReplica(t *testing.T) {
	for _, replicas := range []int{3, 5} {
		s := newTroupe(t, replicas).enter('A')
		s.cfg.Patience, s.cfg.Resend = owner.DefaultPatience, owner.DefaultResend
		rule, far := daily(t)
		var answer, frozen []int
		for i := range replicas {
			switch {
			case i < replicas/2:
				s.replicas[i].registers["daily"] = taken(far)
				answer = append(answer, i)
			case i == replicas-1:
				frozen = []int{i}
			default:
				answer = append(answer, i)
			}
		}
		s.quick = answer
		for range 3 {
			c := s.checkBy(500*ms, 1, rule)
			s.pass(299 * ms)
			s.waits(c)
			s.pass(2 * ms)
			if o := s.denied(c); o.RetryAfter <= 0 || o.Remaining > 10_000 {
				t.Errorf("denied with %+v", o)
			}
			s.pass(200 * ms)
		}
		c := s.checkBy(500*ms, 1, rule)
		s.lose(frozen...)
		s.pass(10 * ms)
		s.lose(frozen...)
		if r := s.admitted(c); r.Start != start+far {
			t.Errorf("%d replicas: spent %+v, want what is left", replicas, r.Span)
		}
	}
}

// A peek that has no more time for a silent replica is answered by what the others say.
func TestPeekWithoutASilentReplica(t *testing.T) {
	s := newTroupe(t, 3).enter('A')
	rule, far := daily(t)
	s.replicas[0].registers["daily"] = taken(far)
	s.quick = []int{0, 1}
	c := s.checkBy(500*ms, 0, rule)
	s.pass(301 * ms)
	if o := s.decision(c).Limits[0]; !o.Allowed || o.Remaining != 69 {
		t.Errorf("a peek says %+v", o)
	}
	if h := s.replicas[1].registers["daily"].H; h > s.now {
		t.Errorf("a peek has reserved up to %v", time.Duration(h-start))
	}
}

// Rivals whose third replica is frozen: who loses finds out, and is decided well within its time.
func TestRivalsAndAFrozenReplica(t *testing.T) {
	tr := newTroupe(t, 3)
	rule := mustRule(t, "login", 10, 1, time.Second)
	a, b := tr.enter('A'), tr.enter('B')
	c, d := a.checkBy(500*ms, 1, rule), b.checkBy(500*ms, 1, rule)
	a.deliver(0)
	b.deliver(1)
	a.deliver(1)
	b.deliver(0)
	a.quick, b.quick = []int{0, 1}, []int{0, 1}
	for _, s := range []*stage{a, b} {
		before := tr.now
		s.pass(20 * ms)
		tr.now = before
	}
	if first, second := a.admitted(c), b.admitted(d); first.Start < second.End && second.Start < first.End {
		t.Errorf("%+v and %+v overlap", first.Span, second.Span)
	}
}

// Three owners and five replicas, each of whose first reservation is accepted by others: all are decided, and no more line
// is skipped than what they asked for and gave up.
func TestThreeOwnersPart(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		tr := newTroupe(t, 5)
		rule, _ := daily(t)
		owners := []*stage{tr.enter('A'), tr.enter('B'), tr.enter('C')}
		var tags []int
		for _, s := range owners {
			tags = append(tags, s.check(1, rule))
		}
		for _, i := range random.Perm(15) {
			owners[i%3].deliver(i / 3)
		}
		for range 100 {
			for _, k := range random.Perm(3) {
				s := owners[k]
				s.draw = random.Int64N(8 * ms)
				if len(s.post) > 0 {
					s.deliver(random.IntN(5))
				}
			}
			tr.now += ms
			for _, s := range owners {
				if s.due() <= s.now {
					s.wake()
				}
			}
		}
		end := int64(0)
		for k, s := range owners {
			s.quick = []int{0, 1, 2, 3, 4}
			s.deliver(0, 1, 2, 3, 4)
			s.pass(second)
			end = max(end, s.admitted(tags[k]).End)
		}
		if tokens := (end - start) / rule.Length(1).NS; tokens > 60 {
			t.Errorf("three checks have brought the line to the %dth token", tokens)
		}
	}
}
