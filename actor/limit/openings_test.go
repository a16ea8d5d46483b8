package limit

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// mixed is a ledger of entries of its owner and of others, and a time after the last of them at which nothing may have ended.
func mixed(t *rapid.T) (l *Ledger, now int64) {
	of := Limit{Name: "l", Capacity: rapid.Int64Range(1, 500).Draw(t, "limit")}
	length := time.Duration(rapid.Int64Range(1000, 20_000).Draw(t, "length")) * time.Millisecond
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		of.Algorithm, of.Window = SlidingWindow, length
	case 1:
		of.Algorithm, of.Window = SlidingLog, length
	default:
		of.Algorithm, of.Lease = Concurrency, length
	}
	rule, err := of.Rule()
	if err != nil {
		t.Fatal(err)
	}
	l = rule.NewLedger(rapid.Int64Range(0, int64(length)).Draw(t, "late"))
	at := rapid.Int64Range(0, 1<<60).Draw(t, "begin")
	for i := range rapid.IntRange(0, 80).Draw(t, "entries") {
		at += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, int64(length)/40)).Draw(t, "step")
		slot, _ := rule.Slot(at)
		l.insert(Entry{
			At: slot, Amount: rapid.Int64Range(1, 12).Draw(t, "amount"), ID: uint64(i + 1), Mine: rapid.Bool().Draw(t, "mine"),
		})
	}
	return l, at
}

// What opens when is what halving finds, whatever is asked in whatever order, and as entries end and come.
func TestOpeningsAgainstHalving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, now := mixed(t)
		for range rapid.IntRange(1, 20).Draw(t, "looks") {
			now += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 2*int64(time.Second))).Draw(t, "pause")
			amount := rapid.Int64Range(0, l.limit).Draw(t, "asked")
			got, free := l.FreeAt(now, amount), l.Free(now)
			want := l.now
			if free < amount {
				want = l.halve(amount)
			}
			if got != want {
				t.Fatalf("%d of %d, of which %d are free, fit after %d ns; halving finds %d", amount, l.limit, free, got-l.now, want-l.now)
			}
			switch rapid.IntRange(0, 5).Draw(t, "change") {
			case 0:
				l.Enter(now, rapid.Int64Range(1, 12).Draw(t, "enters"), 0)
			case 1:
				if len(l.entries) > 0 {
					l.Remove(l.entries[rapid.IntRange(0, len(l.entries)-1).Draw(t, "removed")].ID)
				}
			case 2:
				l = l.Clone(nil)
			}
		}
	})
}

// An asked is an algorithm that counts how often it is asked about an entry.
type asked struct {
	counting

	times *int
}

func (a asked) Ends(at int64) int64 {
	*a.times++
	return a.counting.Ends(at)
}

func (a asked) Counted(at, amount, t int64) int64 {
	*a.times++
	return a.counting.Counted(at, amount, t)
}

// full is a sliding log without a free place, of which others have made a third of the entries.
func full(tb testing.TB) (l *Ledger, rule *Rule, now int64) {
	tb.Helper()
	rule, err := Limit{Name: "l", Algorithm: SlidingLog, Capacity: maxLog, Window: 24 * time.Hour}.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	l, now = rule.NewLedger(int64(time.Second/2)), 1_800_000_000_000_000_000
	for i := range maxLog {
		now += 1000
		l.insert(Entry{At: now, Amount: 1, Mine: i%3 > 0})
	}
	return l, rule, now + 1
}

// Denials of a full ledger look at no entry again, whatever they ask for.
func TestDenialsOfAFullLedgerWalkItOnce(t *testing.T) {
	l, rule, now := full(t)
	times := 0
	l.counts = asked{l.counts, &times}
	l.Outcome(rule, now, 1, 0, false)
	if times > 10*maxLog {
		t.Errorf("the first denial asked %d times about %d entries", times, maxLog)
	}
	times = 0
	allocs := testing.AllocsPerRun(20, func() {
		for cost := range int64(maxLog) {
			if o := l.Outcome(rule, now, cost+1, 0, false); o.RetryAfter <= 0 {
				t.Fatalf("a denial of %d says %+v", cost+1, o)
			}
		}
	})
	if times > 0 || allocs > 0 {
		t.Errorf("%d denials of other costs asked %d times about entries, and allocated %v times", maxLog, times, allocs)
	}
}

// Denials of a full ledger: each asks for another amount than the one before.
func BenchmarkDenialsOfAFullLedger(b *testing.B) {
	for _, c := range []struct {
		name  string
		costs []int64
	}{{"one cost", []int64{1}}, {"two costs", []int64{1, 2}}, {"far costs", []int64{1, 999, 500}}} {
		b.Run(c.name, func(b *testing.B) {
			l, rule, now := full(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				l.Outcome(rule, now, c.costs[i%len(c.costs)], 0, false)
			}
		})
	}
}
