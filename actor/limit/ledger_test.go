package limit_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

// drawCounting draws a rule of every kind that counts entries.
func drawCounting(t *rapid.T) *limit.Rule {
	l := limit.Limit{Name: "l", Capacity: rapid.Int64Range(1, 12).Draw(t, "limit")}
	length := time.Duration(rapid.Int64Range(1000, 20_000).Draw(t, "length")) * time.Millisecond
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		l.Algorithm, l.Window = limit.SlidingWindow, length
	case 1:
		l.Algorithm, l.Window, l.Weighted = limit.SlidingWindow, length, true
	case 2:
		l.Algorithm, l.Window = limit.SlidingLog, length
	default:
		l.Algorithm, l.Lease = limit.Concurrency, length
	}
	rule, err := l.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// A listed admission is what a slow model remembers of it.
type listed struct{ at, cost int64 }

// No window holds more than the limit, and of the weighted estimate not twice the limit. What is denied has no place, by what the
// algorithm says of itself; what a denial says of the time comes true.
func TestCountingAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := drawCounting(t)
		var all []listed
		var m limit.Memory
		now, length := rapid.Int64Range(0, 1<<60).Draw(t, "begin"), int64(rule.Fill())
		for range rapid.IntRange(1, 60).Draw(t, "checks") {
			now += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, length/4), rapid.Int64Range(0, 3*length)).Draw(t, "step")
			cost := rapid.Int64Range(1, rule.Capacity+1).Draw(t, "cost")
			within := func(ago int64) (sum int64) {
				for _, a := range all {
					if a.at > now-ago {
						sum += a.cost
					}
				}
				return sum
			}
			o := m.Decide(rule, now, cost)
			if o.Allowed {
				all = append(all, listed{now, cost})
			}
			most, whole := rule.Capacity, length
			switch {
			case rule.Weighted:
				most, whole = 2*most-1, 2*length
			case rule.Algorithm == limit.SlidingWindow:
				whole += length/60 + 1
			}
			if sum := within(length); sum > most {
				t.Fatalf("%d of %d in one window", sum, rule.Capacity)
			}
			if !o.Allowed && cost <= rule.Capacity && within(whole)+cost <= rule.Capacity {
				t.Fatalf("%d was denied after %v of %d in %v", cost, all, rule.Capacity, time.Duration(whole))
			}
			if o.Never != (cost > rule.Capacity) || o.Remaining < 0 || o.Remaining > rule.Capacity {
				t.Fatalf("%d got %+v", cost, o)
			}
			switch { // time only goes on
			case o.RetryAfter > 0:
				if now += int64(o.RetryAfter); !m.Allows(rule, now, cost) {
					t.Fatalf("%d was told %v, and is denied then", cost, o.RetryAfter)
				}
			case rapid.IntRange(0, 9).Draw(t, "wait") == 0:
				if now += int64(o.ResetAfter); !m.Full(now) {
					t.Fatalf("not empty after %v", o.ResetAfter)
				}
			}
		}
	})
}

// What an owner writes another one reads: the same amounts, which count longer by the difference that clocks may have.
func TestLedgersAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule, late := drawCounting(t), int64(time.Second/2)
		mine, now := rule.NewLedger(late), rapid.Int64Range(0, 1<<60).Draw(t, "begin")
		writer, other := limit.OwnerID{1}, limit.OwnerID{2}
		for range rapid.IntRange(0, 20).Draw(t, "entries") {
			now += rapid.Int64Range(0, int64(rule.Fill())/10).Draw(t, "step")
			id := uint64(0)
			if rule.Permits() {
				id = rand.Uint64() | 1
			}
			mine.Enter(now, rapid.Int64Range(1, 1<<40).Draw(t, "amount"), id)
		}
		text := mine.Append(nil, writer)
		again, others := rule.NewLedger(late), rule.NewLedger(late)
		if err := again.Read(text, writer); err != nil {
			t.Fatal(err)
		}
		if err := others.Read(text, other); err != nil {
			t.Fatal(err)
		}
		if again.Used(now) != mine.Used(now) || again.End(now) != mine.End(now) || others.Used(now) < mine.Used(now) {
			t.Fatalf("%d is read back as %d, and by another as %d", mine.Used(now), again.Used(now), others.Used(now))
		}
		if end := mine.End(now); end > now && others.End(now) != end+late {
			t.Fatalf("it ends at %d, and for another at %d", end, others.End(now))
		}
		for i := range text {
			if rule.NewLedger(0).Read(text[:i], writer) == nil && i > 0 {
				t.Fatalf("the first %d of %d bytes pass for a ledger", i, len(text))
			}
		}
	})
}

func TestTheLargestLedgersFit(t *testing.T) {
	for _, l := range []limit.Limit{
		{Algorithm: limit.SlidingLog, Capacity: 1000, Window: 366 * 24 * time.Hour},
		{Algorithm: limit.Concurrency, Capacity: 500, Lease: 24 * time.Hour},
		{Algorithm: limit.SlidingWindow, Capacity: 1e15, Window: 366 * 24 * time.Hour},
	} {
		l.Name = "l"
		rule := ruleOf(t, l)
		ledger, now := rule.NewLedger(0), int64(1_800_000_000_000_000_000)
		for range 1000 {
			now += int64(rule.Fill())/1000 - 1
			if ledger.Free(now) <= 0 {
				continue
			}
			id := uint64(0)
			if rule.Permits() {
				id = math.MaxUint64
			}
			ledger.Enter(now, max(1, rule.Capacity/1000), id)
		}
		if n := len(ledger.Append(nil, limit.OwnerID{})); n > 8<<10 {
			t.Errorf("a ledger of %s takes %d bytes", l.Algorithm, n)
		}
	}
}

func TestCountingInvalid(t *testing.T) {
	for text, want := range map[string]struct{ field, fix string }{
		"algorithm: sliding-window, limit: 5":                            {"window", "is missing: say how long a window lasts, such as 1m"},
		"algorithm: sliding-window, limit: 5, window: 59ms":              {"window", "too short: at least 60ms"},
		"algorithm: sliding-window, limit: 5, window: 1m, refill: 1/s":   {"refill", "leave it out"},
		"algorithm: sliding-window, limit: 5, window: 1m, weighted: 3":   {"weighted", "neither true nor false"},
		"algorithm: sliding-window, limit: 1000000000000001, window: 1m": {"limit", "at most 1000000000000000"},
		"algorithm: sliding-log, limit: 1001, window: 1m":                {"limit", "1001 is too large: at most 1000"},
		"algorithm: sliding-log, limit: 100, window: 1m, weighted: true": {"weighted", "leave it out, or write algorithm: sliding-window"},
		"algorithm: concurrency, limit: 5":                               {"lease", "is missing: say after how long a client that has died is forgotten, such as 30s"},
		"algorithm: concurrency, limit: 5, lease: 999ms":                 {"lease", "between 1s and 24h"},
		"algorithm: concurrency, limit: 5, lease: soon":                  {"lease", "is not a duration, such as 30s or 5m"},
		"algorithm: concurrency, limit: 501, lease: 30s":                 {"limit", "at most 500"},
		"algorithm: concurrency, limit: 5, lease: 30s, window: 1m":       {"window", "leave it out"},
		"algorithm: token-bucket, capacity: 5, refill: 1/s, lease: 30s":  {"lease", "algorithm: concurrency"},
		"algorithm: fixed-window, limit: 5, window: 1m, weighted: true":  {"weighted", "algorithm: sliding-window"},
	} {
		_, err := limit.ParseDocument([]byte("limits:\n\n  page: {" + text + "}\n"))
		wantFieldError(t, err, "limits.page."+want.field, want.fix)
		if fe := fieldError(t, err); fe.Line != 3 {
			t.Errorf("line %d: %v", fe.Line, err)
		}
	}
}

func FuzzReadLedger(f *testing.F) {
	rule, err := limit.Limit{Name: "l", Algorithm: limit.SlidingLog, Capacity: 9, Window: time.Minute}.Rule()
	if err != nil {
		f.Fatal(err)
	}
	l := rule.NewLedger(0)
	l.Enter(1_800_000_000_000_000_000, 2, 0)
	l.Enter(1_800_000_000_000_000_000, 2, 7)
	f.Add(l.Append(nil, limit.OwnerID{1}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		l, again := rule.NewLedger(0), rule.NewLedger(0)
		if l.Read(text, limit.OwnerID{1}) != nil {
			return
		}
		now := int64(1_800_000_000_000_000_000)
		used, end := l.Used(now), l.End(now)
		if err := again.Read(l.Append(nil, limit.OwnerID{1}), limit.OwnerID{1}); err != nil || again.Used(now) != used || again.End(now) != end {
			t.Errorf("%x is read as %d to %d, and then as %d to %d, %v", text, used, end, again.Used(now), again.End(now), err)
		}
	})
}
