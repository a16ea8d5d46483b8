package owner_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// eventualRule is one of capacity tokens, one a second, with that time between two reports.
func eventualRule(t *testing.T, capacity int64) *limit.Rule {
	t.Helper()
	rule, err := limit.Limit{Name: "views", Capacity: capacity, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Consistency: limit.Eventual}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// reports reports cost tokens as spent, and says what is answered: how many seconds of line ahead are spent then, below 0 for none.
func (s *stage) reports(rule *limit.Rule, cost int64, p limit.Report) (ahead float64, _ *limit.Reported) {
	s.tb.Helper()
	tag := s.tag()
	s.owner.Check(owner.Check{Tag: tag, At: s.clock(), Deadline: s.clock() + hour, Rules: []*limit.Rule{rule}, Cost: cost, Charges: true, Report: &p}, &s.out)
	s.after()
	r, ok := s.reply(tag)
	if !ok || r.Err != nil || r.Decision.Reported == nil {
		s.tb.Fatalf("answered %v: %+v", ok, r)
	}
	told := r.Decision.Reported
	return float64(told.Spent-told.Now) / 1e9, told
}

// A report is charged once, whatever is left, into debt of a minute or a capacity; the same number again is not charged.
func TestReportsAreChargedOnce(t *testing.T) {
	s := alone(t)
	rule := eventualRule(t, 10)
	for i, step := range []struct {
		cost   int64
		number uint64
		ahead  float64
	}{{4, 1, 4}, {4, 1, 4}, {20, 2, 24}, {20, 2, 24}, {0, 3, 24}, {5, 4, 29}, {100, 5, 70}, {100, 6, 70}} {
		if ahead, _ := s.reports(rule, step.cost, limit.Report{Edge: 7, Number: step.number}); ahead != step.ahead {
			t.Errorf("report %d: %v s of line are spent, want %v", i, ahead, step.ahead)
		}
	}
	if d := s.decision(s.plain(1, rule)); d.Allowed || d.Limits[0].RetryAfter != 61*time.Second {
		t.Errorf("in debt: %+v", d)
	}
}

// A copy of a report that comes after the next one is not charged once more.
func TestALateCopyOfAReport(t *testing.T) {
	s := alone(t)
	rule := eventualRule(t, 10)
	for i, step := range []struct {
		cost   int64
		number uint64
		ahead  float64
	}{{4, 1, 4}, {4, 2, 8}, {4, 1, 8}, {4, 2, 8}} {
		if ahead, _ := s.reports(rule, step.cost, limit.Report{Edge: 7, Number: step.number}); ahead != step.ahead {
			t.Errorf("report %d: %v s of line are spent, want %v", i, ahead, step.ahead)
		}
	}
}

// A report of which nothing could be charged, because it was spent before line came back, is not answered as charged: it is charged when it comes again.
func TestADeniedReportIsChargedLater(t *testing.T) {
	s := alone(t)
	rule := eventualRule(t, 10)
	receipt := s.admitted(s.check(5, rule))
	s.reports(rule, 65, limit.Report{Edge: 7, Number: 1})
	s.returned(receipt)
	p := limit.Report{Edge: 7, Number: 2, Age: time.Second}
	tag := s.tag()
	s.owner.Check(owner.Check{Tag: tag, At: s.clock(), Deadline: s.clock() + hour, Rules: []*limit.Rule{rule}, Cost: 3, Charges: true, Report: &p}, &s.out)
	s.after()
	if d := s.decision(tag); d.Allowed || d.Reported != nil {
		t.Errorf("a report that finds no line: %+v", d)
	}
	p.Age = 0
	if ahead, _ := s.reports(rule, 3, p); ahead != 68 {
		t.Errorf("made again, %v s of line are spent, want 68", ahead)
	}
}

// A report is charged as of when its edge began to spend: line that has passed pays for it, as far as nobody has spent that. It reaches no further back than a report can be late.
func TestReportsAreChargedAsOfThen(t *testing.T) {
	s := alone(t)
	rule := eventualRule(t, 10)
	for i, step := range []struct {
		cost  int64
		age   time.Duration
		ahead float64
	}{{1, 2 * time.Second, -1}, {1, 2 * time.Second, 0}, {1, 2 * time.Second, 1}, {1, 0, 2}} {
		if ahead, _ := s.reports(rule, step.cost, limit.Report{Edge: 7, Number: uint64(i + 1), Age: step.age}); ahead != step.ahead {
			t.Errorf("report %d: %v s of line are spent, want %v", i, ahead, step.ahead)
		}
	}
	other := alone(t)
	if ahead, _ := other.reports(rule, 1, limit.Report{Edge: 7, Number: 1, Age: time.Hour}); ahead != -2 {
		t.Errorf("%v s of line are spent by a report that says it is an hour old, want -2", ahead)
	}
}

// Whatever reports say of their age, a bucket is charged all that they say was spent, on line of no longer ago than they can be late.
func TestReportsPayForAll(t *testing.T) {
	for range 50 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test that can be repeated
		s := alone(t)
		rule := eventualRule(t, 1000)
		begin, spent := s.clock(), int64(0)
		for i := range 100 {
			cost := r.Int64N(8)
			spent += cost
			ahead, told := s.reports(rule, cost, limit.Report{Edge: r.Uint64N(4) + 1, Number: uint64(i + 1), Age: time.Duration(r.Int64N(5e9))})
			last := float64(told.Now-begin)/1e9 + ahead
			if least := float64(spent) - 3; last < least-1e-6 { // ahead is rounded
				t.Fatalf("seed %d: after %d tokens %v s of line are spent, want at least %v", seed, spent, last, least)
			}
			s.now += r.Int64N(int64(2 * time.Second))
		}
	}
}

// An edge may take of what is left as much as it was asked for of what all were asked for; as much as each of them, as long as that is not known.
func TestSharesOfEdges(t *testing.T) {
	s := alone(t)
	rule := eventualRule(t, 1000)
	for i, step := range []struct {
		edge  uint64
		asked int64
		share float64
	}{{1, 1, 1}, {2, 1, 1. / 2}, {3, 1, 1. / 3}, {1, 97, 98. / 100}, {2, 97, 98. / 197}, {3, 195, 196. / 392}} {
		_, told := s.reports(rule, 0, limit.Report{Edge: step.edge, Number: uint64(i + 1), Asked: step.asked})
		if got := float64(told.Share) / limit.ShareWhole; got < step.share-0.001 || got > step.share+0.001 {
			t.Errorf("report %d: the share is %v, want %v", i, got, step.share)
		}
		if want := i >= 3; told.Scarce != want {
			t.Errorf("report %d: scarce is %v", i, told.Scarce)
		}
	}
	s.now += int64(9 * time.Second)
	if _, told := s.reports(rule, 0, limit.Report{Edge: 2, Number: 100, Asked: 1000}); told.Share < limit.ShareWhole/3 || told.Share > limit.ShareWhole/3+1 {
		t.Errorf("after a pause, the share of one of three is %v", told.Share)
	}
}
