package limit_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A tap is a rule by which something is poured, and what a token of it is: so many parts of the line.
type tap struct {
	rule  *limit.Rule
	parts int64
}

// parts is how many parts a nanosecond has: each refill of the taps is a whole number of them.
const parts = 1 * 2 * 2 * 3 * 5 * 7

// taps are rules of one bucket with other refills: up to seven tokens in up to sixty units of time, and no faster than limits may be.
func taps(t *testing.T, r *rand.Rand, capacity, unit int64) (all []tap) {
	t.Helper()
	for range 1 + r.IntN(3) {
		n := 1 + r.Int64N(7)
		per := (n + r.Int64N(60)) * unit
		rule := ruleOf(t, limit.Limit{
			Name: "l", Capacity: capacity, Refill: limit.Refill{Tokens: n, Per: time.Duration(per)}, Holds: limit.Holds{Longest: time.Hour},
		})
		all = append(all, tap{rule, per * (parts / n)})
	}
	return all
}

// poured is what was once admitted by a bucket, or what a hold takes, as far as that is between from and to: of one that is settled for more, the rest is
// poured then.
type poured struct {
	at, amount int64
	tap        tap
	hold       *limit.HoldEntry
	from, to   int64
}

// toRefill is how many parts of line a bucket has to refill at now, if holds had taken from the beginning what they take now.
func toRefill(all []poured, now int64) (level int64) {
	if len(all) == 0 {
		return 0
	}
	last := all[0].at
	for _, a := range all {
		amount := a.amount
		if a.hold != nil {
			amount = min(max(a.hold.Charged(now)-a.from, 0), a.to-a.from)
		}
		level = max(0, level-parts*(a.at-last)) + amount*a.tap.parts
		last = a.at
	}
	return max(0, level-parts*(now-last))
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

// TestLedgerOfBucket draws what is done to the ledger of a token bucket, by which of its plans, and compares it with the bucket as it would be if
// every hold had taken from the beginning what it takes in the end, and what it takes more from when it does: it never has more. If no hold is settled for
// more while others are listed, it has as much, but for what is rounded where plans count in other parts of a nanosecond.
func TestLedgerOfBucket(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const second = int64(time.Second)
	for i := range 1000 {
		capacity, unit := int64(20_000), second
		if i%2 == 1 { // a token is a few nanoseconds, and what is rounded counts
			capacity, unit = 1e13, 1
		}
		plans := taps(t, r, capacity, unit)
		by := plans[0]
		l, now := by.rule.NewLedger(0), int64(1e18)
		var all []poured
		among := false // a hold was settled for more among others
		for step := range int64(30) {
			by = plans[r.IntN(len(plans))]
			l.Adapt(by.rule)
			now += r.Int64N(1 + 20*by.parts/parts)
			switch r.IntN(4) {
			case 0:
				amount := 1 + r.Int64N(30)
				l.Enter(now, amount, 0)
				all = append(all, poured{at: now, amount: amount, tap: by})
			case 1:
				h := &limit.HoldEntry{ID: r.Uint64(), Amount: 1 + r.Int64N(50), Until: now + 1 + r.Int64N(400*second), Free: r.IntN(3) == 0}
				l.Hold(now, h.Amount, h.ID, h.Until, h.Free)
				all = append(all, poured{at: now, tap: by, hold: h, to: h.Amount})
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
				if after := h.Charged(now); after > before {
					for j := range all {
						if all[j].hold == h {
							all[j].to = min(all[j].to, before)
						}
					}
					all = append(all, poured{at: now, tap: all[i].tap, hold: h, from: before, to: after})
					among = among || len(l.Holds()) > 1
				}
			case 3:
				again := by.rule.NewLedger(0)
				if err := again.Read(l.Append(nil, limit.OwnerID{1}), limit.OwnerID{1}); err != nil {
					t.Fatal(err)
				}
				l = again
			}
			want, got := (toRefill(all, now)+by.parts-1)/by.parts, l.Used(now)
			most := want
			if len(plans) > 1 {
				most += 1 + 2*(1+step)/unit
			}
			if got < want || !among && got > most {
				t.Fatalf("%d of %s have to come back, it says %d, and there are %d plans", want, by.rule.Refill, got, len(plans))
			}
			free, frees := l.FreeAt(now, capacity), slices.ContainsFunc(l.Holds(), func(h limit.HoldEntry) bool { return h.Free })
			if l.Clone(nil).Free(free) < capacity || free > now && !frees && l.Clone(nil).Free(free-1) >= capacity {
				t.Fatalf("it says that the bucket is full at %d", free)
			}
		}
	}
}

// A ledger that the level before reads has no more than it had, and a token less at most, or one for each hold that comes back; and what that level has
// written is read likewise.
func TestLedgerOfBucketInTokens(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const second, capacity = int64(time.Second), 20_000
	for range 2000 {
		by := taps(t, r, capacity, second)[0]
		l, now := by.rule.NewLedger(0), int64(1e18)
		var holds []uint64
		for range r.IntN(12) {
			now += r.Int64N(1 + 20*by.parts/parts)
			if r.IntN(2) == 0 {
				l.Enter(now, 1+r.Int64N(30), 0)
				continue
			}
			holds = append(holds, r.Uint64())
			l.Hold(now, 1+r.Int64N(50), holds[len(holds)-1], now+24*3600*second, false)
		}
		again := by.rule.NewLedger(0)
		if err := again.Read(l.AppendInTokens(nil, limit.OwnerID{1}), limit.OwnerID{1}); err != nil {
			t.Fatal(err)
		}
		now += r.Int64N(2 * by.parts / parts)
		for i := 0; ; i++ {
			if used, reads := l.Used(now), again.Used(now); reads < used || reads > used+int64(1+i) {
				t.Fatalf("%d of %s have to come back, and read %d, after %d of %d holds", used, by.rule.Refill, reads, i, len(holds))
			}
			if i == len(holds) {
				break
			}
			used := r.Int64N(10)
			for _, of := range []*limit.Ledger{l, again} {
				if _, listed := of.Settle(now, limit.HoldChange{ID: holds[i], Used: used}, 0); !listed {
					t.Fatal("a hold is not listed")
				}
			}
		}
	}
}

// What was stored before a bucket's ledger was in time is read as what it said: 30 tokens that come back from 1e18 on, of which a hold has taken 12, and
// never fewer than 17 had to come back since.
func TestLedgerOfBucketOfTheLevelBefore(t *testing.T) {
	rule := ruleOf(t, limit.Limit{Name: "l", Capacity: 1000, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Hour}})
	writer := limit.OwnerID{1}
	stored := append([]byte{3}, writer[:]...)
	stored = binary.AppendUvarint(append(stored, 0, 1), 1e18)
	stored = binary.AppendUvarint(stored, 30<<2|1)
	stored = append(stored, make([]byte, 16)...) // a secret
	stored = append(stored, 1, 0, 1, 1)          // one number, none unsure, one hold, of the writer
	stored = binary.BigEndian.AppendUint64(stored, 7)
	stored = binary.AppendUvarint(stored, 1e18)
	stored = binary.AppendVarint(append(stored, 12, 0), int64(time.Hour))
	stored = binary.AppendVarint(stored, 17)
	l := rule.NewLedger(0)
	if err := l.Read(stored, writer); err != nil {
		t.Fatal(err)
	}
	now := int64(1e18 + 10e9)
	if used := l.Used(now); used != 20 {
		t.Errorf("%d have to come back after ten seconds, want 20", used)
	}
	h, listed := l.HoldOf(7)
	if !listed || h.Amount != 12 || h.Low != limit.At(17e9) {
		t.Errorf("the hold is %+v", h)
	}
	if l.Settle(now, limit.HoldChange{ID: 7}, 0); l.Used(now) != 8 {
		t.Errorf("%d have to come back once the hold is settled for nothing, want 8", l.Used(now))
	}
}

// Plans that count in other parts of a nanosecond give nothing by rounding, however often one asks after the other: a token is a little less than two nanoseconds here.
func TestPlansGiveNothingByRounding(t *testing.T) {
	plan := func(tokens int64) *limit.Rule {
		return ruleOf(t, limit.Limit{
			Name: "l", Capacity: 700e9, Refill: limit.Refill{Tokens: tokens, Per: time.Second}, Holds: limit.Holds{Longest: time.Hour},
		})
	}
	one, other := plan(500_000_003), plan(500_000_009) // with 10⁹ these share no factor
	now := int64(1e18)
	t.Run("spent", func(t *testing.T) {
		l := one.NewLedger(0)
		for range 1000 {
			for _, r := range []*limit.Rule{one, other} {
				l.Adapt(r)
				l.Enter(now, 1, 0)
			}
		}
		if used := l.Used(now); used < 2000 {
			t.Errorf("%d have to come back, and 2000 were admitted", used)
		}
	})
	t.Run("given back", func(t *testing.T) {
		l := one.NewLedger(0)
		l.Enter(now, 10_000, 0)
		for i := range uint64(1000) {
			l.Adapt(one)
			l.Hold(now, 1, i+1, now+int64(time.Hour), false)
			l.Adapt(other)
			l.Enter(now, 1, 0)
			l.Settle(now, limit.HoldChange{ID: i + 1}, 0)
		}
		if used := l.Used(now); used < 11_000 {
			t.Errorf("%d have to come back, and 11000 were admitted for good", used)
		}
	})
}

// The largest debts can be read, in time and in tokens, and as long as clocks will be read.
func TestLargestDebtsOfBuckets(t *testing.T) {
	for per, capacity := range map[time.Duration]int64{time.Nanosecond: limit.MaxCount, time.Second: 1e6, limit.MaxFill: 1} {
		for _, now := range []int64{1.8e18, 3e18, 4e18} {
			rule := ruleOf(t, limit.Limit{Name: "l", Capacity: capacity, Refill: limit.Refill{Tokens: 1, Per: per}, Holds: limit.Holds{Longest: time.Hour}})
			l := rule.NewLedger(0)
			for i := range uint64(10) {
				l.Hold(now, 1, i+1, now+1e12, false)
				l.Settle(now, limit.HoldChange{ID: i + 1, Used: limit.MaxCount}, math.MaxInt64/4)
			}
			for form, stored := range map[string][]byte{"time": l.Append(nil, limit.OwnerID{1}), "tokens": l.AppendInTokens(nil, limit.OwnerID{1})} {
				again := rule.NewLedger(0)
				if err := again.Read(stored, limit.OwnerID{1}); err != nil || again.Free(now) > 0 {
					t.Errorf("by a token in %v at %d, in %s: %v, %d are free", per, now, form, err, again.Free(now))
				}
			}
		}
	}
}

// What the level before has written of a bucket that is full and lists holds is read, written in time, and read.
func TestHoldsOfAFullBucketOfTheLevelBefore(t *testing.T) {
	rule := ruleOf(t, limit.Limit{Name: "l", Capacity: 1000, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Hour}})
	l, now := rule.NewLedger(0), int64(1e18)
	l.Hold(now, 5, 7, now+int64(time.Hour), false)
	l.Used(now + int64(time.Minute))
	read := func(stored []byte) *limit.Ledger {
		t.Helper()
		again := rule.NewLedger(0)
		if err := again.Read(stored, limit.OwnerID{1}); err != nil {
			t.Fatal(err)
		}
		return again
	}
	if again := read(read(l.AppendInTokens(nil, limit.OwnerID{1})).Append(nil, limit.OwnerID{1})); len(again.Holds()) != 1 {
		t.Errorf("%d holds are read", len(again.Holds()))
	}
}

// A bucket lists as many holds as fit into a ledger, whatever its prices are; usual ones, nearly as many as any. Those that it has can be settled.
func TestLedgerOfABucketFits(t *testing.T) {
	const hour = time.Hour
	for name, tt := range map[string]struct {
		capacity int64
		refills  []limit.Refill
		least    int // holds
	}{
		"usual":      {1e6, []limit.Refill{{Tokens: 1000, Per: hour}, {Tokens: 500, Per: hour}}, limit.MaxHolds - 50},
		"usual, one": {1e6, []limit.Refill{{Tokens: 1000, Per: hour}}, limit.MaxHolds},
		"budgets":    {1e12, []limit.Refill{{Tokens: 333_333_333, Per: hour}, {Tokens: 333_333_333, Per: 24 * hour}}, 900},
		"one plan":   {limit.MaxCount, []limit.Refill{{Tokens: 86_399_999_999_989, Per: 24*hour - 1}}, 900},
		"two plans":  {limit.MaxCount, []limit.Refill{{Tokens: 86_399_999_999_989, Per: 24*hour - 1}, {Tokens: 86_399_999_999_989, Per: 25*hour - 1}}, 700},
	} {
		t.Run(name, func(t *testing.T) {
			var rules []*limit.Rule
			for _, refill := range tt.refills {
				rules = append(rules, ruleOf(t, limit.Limit{Name: "l", Capacity: tt.capacity, Refill: refill, Holds: limit.Holds{Longest: 24 * hour, OnExpiry: limit.Free}}))
			}
			l, now := rules[0].NewLedger(0), int64(1.8e18)
			var ids []uint64
			for i := 0; !l.FullOfHolds(now); i++ {
				l.Adapt(rules[i%len(rules)])
				now += int64(time.Second) - rand.Int64N(1e6)
				ids = append(ids, l.NextHold(rand.Uint64))
				l.Hold(now, max(1, tt.capacity/60_000-rand.Int64N(10)), ids[i], now+23*int64(hour)+rand.Int64N(1e9), true)
			}
			largest := len(l.Append(nil, limit.OwnerID{1}))
			for _, id := range ids {
				h, listed := l.HoldOf(id)
				if !listed {
					t.Fatal("a hold is listed no more")
				}
				l.Settle(now, limit.HoldChange{ID: id, Used: h.Amount * 3 / 4, Open: rand.IntN(2) == 0}, 0)
				largest = max(largest, len(l.Append(nil, limit.OwnerID{1})))
			}
			t.Logf("%d holds in up to %d bytes", len(ids), largest)
			if len(ids) < tt.least || largest > limit.MaxLedger {
				t.Errorf("%d holds take %d bytes, want at least %d in at most %d", len(ids), largest, tt.least, limit.MaxLedger)
			}
		})
	}
}

// Debt of so many tokens that they would take more than 73 years to come back is no error: it is as one without a bound, and no floor waits for it.
func TestLongDebtOfABucket(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {pool: {capacity: 100, refill: 1/1m, hold: 1h, max_debt: 100000000}}"))
	if err != nil {
		t.Fatal(err)
	}
	if r, _ := doc.Rule("pool"); r.Lead() != int64(100*time.Minute) {
		t.Errorf("it leads %v", time.Duration(r.Lead()))
	}
	if _, problems := doc.WithOverrides([]limit.OverrideChange{{Limit: "pool", Key: "k", Set: &limit.Override{Limit: "pool", Key: "k", Says: "refill: 1/24h"}}}); len(problems) > 0 {
		t.Error(problems)
	}
}
