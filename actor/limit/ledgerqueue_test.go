package limit_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// poured is what was once admitted by a bucket.
type poured struct {
	at, amount int64
	hold       *limit.HoldEntry
}

// toRefill is how many p-th parts of a token a bucket has to refill at now, that gets n of them in a nanosecond, if holds had
// taken from the beginning what they take now.
func toRefill(all []poured, n, p, now int64) (level int64) {
	last := int64(0)
	if len(all) > 0 {
		last = all[0].at
	}
	for _, a := range all {
		amount := a.amount
		if a.hold != nil {
			amount = a.hold.Charged(now)
		}
		level = max(0, level-n*(a.at-last)) + amount*p
		last = a.at
	}
	return max(0, level-n*(now-last))
}

// A hold that is settled for nothing leaves the bucket as if it had not been taken, also where a part of a token has come back since: of a bucket
// of one token, none would be there until the rest has come back.
func TestHoldOfNothingLeavesAFullBucket(t *testing.T) {
	for _, amount := range []int64{1, 2, 50} {
		rule := ruleOf(t, limit.Limit{
			Name: "l", Capacity: amount, Refill: limit.Refill{Tokens: 1, Per: time.Hour}, Holds: limit.Holds{Longest: time.Minute},
		})
		l, now := rule.NewLedger(0), int64(1e18)
		l.Hold(now, amount, 7, now+int64(time.Minute), false)
		now += int64(50 * time.Millisecond)
		l.Settle(now, limit.HoldChange{ID: 7}, 0)
		if free := l.Free(now); free != amount {
			t.Errorf("%d of %d are free", free, amount)
		}
		l.Enter(now, amount, 0)
		if free := l.Free(now); free != 0 {
			t.Errorf("%d of %d are free after all were taken", free, amount)
		}
	}
}

// A bucket that had less to refill once, since the hold, gives back no more than that, however near what it has now is.
func TestHoldGivesBackNoMoreThanTheLeast(t *testing.T) {
	rule := ruleOf(t, limit.Limit{
		Name: "l", Capacity: 100, Refill: limit.Refill{Tokens: 1, Per: 10 * time.Second}, Holds: limit.Holds{Longest: time.Hour},
	})
	l, now := rule.NewLedger(0), int64(1e18)
	l.Enter(now, 10, 0)
	l.Hold(now, 20, 7, now+int64(time.Hour), false)
	now += int64(269 * time.Second) // 3.1 are left of the 30
	l.Enter(now, 1, 0)
	now += int64(2 * time.Second)
	l.Settle(now, limit.HoldChange{ID: 7}, 0)
	if used := l.Used(now); used != 1 { // 0.8 of what was entered last
		t.Errorf("%d have to come back, want 1", used)
	}
}

// A hold that was freed when it expired leaves nothing of which a caller is told that it has still to come back.
func TestFreedHoldLeavesAFullBucket(t *testing.T) {
	rule := ruleOf(t, limit.Limit{
		Name: "l", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Hour}, Holds: limit.Holds{Longest: time.Minute, OnExpiry: limit.Free},
	})
	l, now := rule.NewLedger(0), int64(1e18)
	l.Hold(now, 1, 7, now+int64(time.Second), true)
	l.Used(now)
	now += int64(2 * time.Second)
	if free, end := l.Free(now), l.End(now); free != 1 || end != now {
		t.Errorf("%d of 1 is free, and all in %v", free, time.Duration(end-now))
	}
}

// TestLedgerOfBucket draws what is done to the ledger of a token bucket, and compares it with the bucket as it would be if every hold
// had taken from the beginning what it takes in the end: it never has more. If no hold is settled for more, it has as much, but for a part
// of a token that each hold may lose.
func TestLedgerOfBucket(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const second, capacity = int64(time.Second), 20_000
	for range 500 {
		n, per := 1+r.Int64N(7), 1+r.Int64N(60)
		per *= second
		rule := ruleOf(t, limit.Limit{
			Name: "l", Capacity: capacity, Refill: limit.Refill{Tokens: n, Per: time.Duration(per)}, Holds: limit.Holds{Longest: time.Hour},
		})
		l, now := rule.NewLedger(0), int64(1e18)
		var all []poured
		more, holds := false, int64(0)
		for range 30 {
			now += r.Int64N(1 + 20*per/n)
			switch r.IntN(4) {
			case 0:
				amount := 1 + r.Int64N(30)
				l.Enter(now, amount, 0)
				all = append(all, poured{at: now, amount: amount})
			case 1:
				h := &limit.HoldEntry{ID: r.Uint64(), Amount: 1 + r.Int64N(50), Until: now + 1 + r.Int64N(400*second), Free: r.IntN(3) == 0}
				holds++
				l.Hold(now, h.Amount, h.ID, h.Until, h.Free)
				all = append(all, poured{at: now, hold: h})
			case 2:
				i := slices.IndexFunc(all, func(a poured) bool { return a.hold != nil && r.IntN(2) == 0 })
				if i < 0 {
					continue
				}
				h := all[i].hold
				c := limit.HoldChange{ID: h.ID, Used: r.Int64N(h.Amount + 1), Open: r.IntN(2) == 0}
				if r.IntN(4) == 0 {
					c.Used = h.Amount + 5
				}
				before := h.Charged(now)
				got, listed := l.Settle(now, c, math.MaxInt32)
				if due := now < h.Until+int64(limit.SettleLate); listed != due {
					t.Fatalf("a hold until %d is listed at %d: %v", h.Until, now, listed)
				}
				if !listed {
					continue
				}
				h.Used, h.Settled, h.Until = got.Used, got.Settled, got.Until
				more = more || h.Charged(now) > before
			case 3:
				again := rule.NewLedger(0)
				if err := again.Read(l.Append(nil, limit.OwnerID{1}), limit.OwnerID{1}); err != nil {
					t.Fatal(err)
				}
				l = again
			}
			want := (toRefill(all, n, per, now) + per - 1) / per
			got := l.Used(now)
			if got < want {
				t.Fatalf("%d have to come back, it says %d", want, got)
			}
			if !more && got > want+holds {
				t.Fatalf("%d have to come back, it says %d, and there were %d holds", want, got, holds)
			}
			free, frees := l.FreeAt(now, capacity), slices.ContainsFunc(l.Holds(), func(h limit.HoldEntry) bool { return h.Free })
			if l.Clone(nil).Free(free) < capacity || free > now && !frees && l.Clone(nil).Free(free-1) >= capacity {
				t.Fatalf("it says that the bucket is full at %d", free)
			}
		}
	}
}
