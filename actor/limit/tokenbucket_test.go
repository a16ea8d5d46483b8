package limit_test

import (
	"math"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

func mustRule(tb testing.TB, capacity int64, refill limit.Refill) *limit.Rule {
	tb.Helper()
	rule, err := limit.Limit{Name: "demo", Capacity: capacity, Refill: refill}.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	return rule
}

// A history in the order of its lines: what a bucket of 3 tokens, 2 of them back every 3 seconds, says to each check.
func TestDecideAHistory(t *testing.T) {
	rule := mustRule(t, 3, limit.Refill{Tokens: 2, Per: 3 * time.Second})
	tat := limit.Pos{}
	for i, c := range []struct {
		at   time.Duration // since epoch
		cost int64
		want limit.Outcome
	}{
		{0, 0, limit.Outcome{Allowed: true, Remaining: 3}},
		{0, 4, limit.Outcome{Never: true, Remaining: 3}},
		{0, math.MaxInt64, limit.Outcome{Never: true, Remaining: 3}},
		{0, 2, limit.Outcome{Allowed: true, Remaining: 1, ResetAfter: 3 * time.Second}},
		{0, 2, limit.Outcome{Remaining: 1, RetryAfter: 1500 * time.Millisecond, ResetAfter: 3 * time.Second}},
		{0, 1, limit.Outcome{Allowed: true, ResetAfter: 4500 * time.Millisecond}},
		{0, 0, limit.Outcome{Allowed: true, ResetAfter: 4500 * time.Millisecond}},
		{1500*time.Millisecond - 1, 1, limit.Outcome{RetryAfter: 1, ResetAfter: 3*time.Second + 1}},
		{1500 * time.Millisecond, 3, limit.Outcome{Remaining: 1, RetryAfter: 3 * time.Second, ResetAfter: 3 * time.Second}},
		{1500 * time.Millisecond, 1, limit.Outcome{Allowed: true, ResetAfter: 4500 * time.Millisecond}},
		{0, 0, limit.Outcome{RetryAfter: 1500 * time.Millisecond, ResetAfter: 6 * time.Second}}, // the clock goes back
		{0, 1, limit.Outcome{RetryAfter: 3 * time.Second, ResetAfter: 6 * time.Second}},
		{time.Hour, 3, limit.Outcome{Allowed: true, ResetAfter: 4500 * time.Millisecond}},
		{2 * time.Hour, 0, limit.Outcome{Allowed: true, Remaining: 3}},
	} {
		at := epoch + int64(c.at)
		next, allowed := rule.Decide(tat, at, c.cost)
		end := rule.End(tat, at, rule.Length(c.cost))
		c.want.Name, c.want.Limit = "demo", 3
		if got := rule.Outcome(next, at, c.cost, end, allowed); got != c.want {
			t.Errorf("check %d, of %d at %v: got %+v, want %+v", i, c.cost, c.at, got, c.want)
		}
		if !allowed && next != tat {
			t.Errorf("check %d was denied and moved the bucket from %v to %v", i, tat, next)
		}
		tat = next
	}
}

// Dividing 10⁹ by 700 million leaves 1 ns and 3/7. A time per token cut to whole nanoseconds would admit 43 % more.
func TestDecideDoesNotTruncateTheTimePerToken(t *testing.T) {
	rule := mustRule(t, 7, perSecond(700_000_000))
	tat, admitted := limit.Pos{}, 0
	for ns := range int64(1_000_000) {
		next, ok := rule.Decide(tat, epoch+ns, 1)
		if tat = next; ok {
			admitted++
		}
	}
	if want := 7 + 699_999; admitted != want { // 7 + ⌊999,999 ns · 0.7 tokens/ns⌋
		t.Errorf("%d admitted in a millisecond, want %d", admitted, want)
	}
}

func TestDecideAtTheEndOfTheLine(t *testing.T) {
	rule := mustRule(t, 10, perSecond(1))
	const second = int64(time.Second)
	for _, c := range []struct {
		name    string
		tat     limit.Pos
		at      int64
		cost    int64
		allowed bool
	}{
		{"just below", pos(0, 0), lineEnd - 5*second, 4, true},
		{"beyond", pos(0, 0), lineEnd - 5*second, 6, false},
		{"above the capacity", pos(0, 0), lineEnd - 5*second, 11, false},
		{"of a cost beyond all", pos(0, 0), lineEnd - 5*second, lineEnd, false},
		{"at the very end", pos(0, 0), lineEnd, 1, false},
		{"with a bucket at the very end", pos(lineEnd, 0), lineEnd - second, 1, false},
		{"with a bucket beyond", pos(lineEnd, 0), epoch, 1, false},
		{"before all time", pos(lineEnd, 0), math.MinInt64, 1, false},
		{"of all, before all time", pos(0, 0), math.MinInt64, lineEnd, false},
	} {
		next, allowed := rule.Decide(c.tat, c.at, c.cost)
		if allowed != c.allowed {
			t.Errorf("%s: allowed %v, bucket at %v", c.name, allowed, next)
		}
		if tokens := rule.Tokens(c.tat, c.at); tokens < 0 || tokens > 10 {
			t.Errorf("%s: %d tokens", c.name, tokens)
		}
	}
}

func TestRuleOfTime(t *testing.T) {
	for _, c := range []struct {
		capacity int64
		refill   limit.Refill
		fill     time.Duration
	}{
		{10, perSecond(1), 10 * time.Second},
		{1, perSecond(700_000_000), 2}, // 10/7 ns, rounded up
		{7, perSecond(700_000_000), 10},
		{1 << 61, perSecond(1e9), limit.MaxFill},
	} {
		rule := mustRule(t, c.capacity, c.refill)
		if rule.Fill() != c.fill || rule.Reach() != int64(c.fill) {
			t.Errorf("%d at %v: fills in %v, reaches %d ns ahead, want %v", c.capacity, c.refill, rule.Fill(), rule.Reach(), c.fill)
		}
	}
	rule := mustRule(t, 1, perSecond(700_000_000))
	if got := rule.Bound(epoch); got != pos(epoch+1, 3) {
		t.Errorf("bound %v, want 10/7 ns ahead", got)
	}
}

// What one limit alone would say is told also when another limit stood in the way.
func TestOutcomeOfALimitThatAnotherOneOverruled(t *testing.T) {
	rule := mustRule(t, 3, perSecond(1))
	tat := limit.At(epoch + int64(time.Second))
	got := rule.Outcome(tat, epoch, 2, rule.End(tat, epoch, rule.Length(2)), true)
	want := limit.Outcome{Name: "demo", Allowed: true, Limit: 3, Remaining: 2, ResetAfter: time.Second}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDecideAllocatesNothing(t *testing.T) {
	rule := mustRule(t, 1000, perSecond(700_000_000))
	tat, now := limit.Pos{}, epoch
	allocs := testing.AllocsPerRun(1000, func() {
		next, allowed := rule.Decide(tat, now, 3)
		if rule.Outcome(next, now, 3, next, allowed).Limit != 1000 {
			t.Error("an outcome of another limit")
		}
		tat = next
		now++
	})
	if allocs != 0 {
		t.Errorf("a decision allocates %v times", allocs)
	}
}
