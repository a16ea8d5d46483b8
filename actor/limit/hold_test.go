package limit_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestHoldsInvalid(t *testing.T) {
	bucket := limit.Limit{Name: "l", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}}
	slow := limit.Limit{Name: "l", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Hour}, MaxWait: time.Second}
	inside := limit.Limit{Name: "l", Algorithm: limit.Concurrency, Capacity: 10, Lease: time.Minute}
	for name, test := range map[string]struct {
		limit          limit.Limit
		holds          limit.Holds
		field, problem string
	}{
		"too short":             {bucket, limit.Holds{Longest: time.Millisecond}, "hold", "is not between 1s and 24h"},
		"too long":              {bucket, limit.Holds{Longest: 25 * time.Hour}, "hold", "is not between 1s and 24h"},
		"no milliseconds":       {bucket, limit.Holds{Longest: time.Second + 1}, "hold", "no whole number of milliseconds"},
		"expiry without holds":  {bucket, limit.Holds{OnExpiry: limit.Free}, "on_expiry", "takes none"},
		"debt without holds":    {bucket, limit.Holds{MaxDebt: 5}, "max_debt", "takes none"},
		"an unknown expiry":     {bucket, limit.Holds{Longest: time.Minute, OnExpiry: "keep"}, "on_expiry", `"keep" is neither charge nor free`},
		"negative debt":         {bucket, limit.Holds{Longest: time.Minute, MaxDebt: -2}, "max_debt", "is not from 0"},
		"debt for ever":         {bucket, limit.Holds{Longest: time.Minute, MaxDebt: limit.MaxCount}, "max_debt", "73 years"},
		"a slow one that waits": {slow, limit.Holds{Longest: time.Minute}, "wait", "does not go together with hold"},
		"permits":               {inside, limit.Holds{Longest: time.Minute}, "hold", "does not fit the algorithm concurrency"},
	} {
		t.Run(name, func(t *testing.T) {
			test.limit.Holds = test.holds
			_, err := test.limit.Rule()
			wantFieldError(t, err, test.field, test.problem)
		})
	}
}

func TestHoldRequestInvalid(t *testing.T) {
	right := limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("l")}, Cost: 10, Hold: time.Minute}
	for name, test := range map[string]struct {
		change         func(r *limit.Request)
		field, problem string
	}{
		"too short":      {func(r *limit.Request) { r.Hold = time.Millisecond }, "hold", "at least 1s"},
		"negative":       {func(r *limit.Request) { r.Hold = -1 }, "hold", "negative"},
		"a look":         {func(r *limit.Request) { r.Look, r.Cost = true, 0 }, "hold", "is settled, not returned"},
		"a receipt":      {func(r *limit.Request) { r.Receipt = true }, "hold", "is settled, not returned"},
		"a wait":         {func(r *limit.Request) { r.Wait = time.Second }, "wait", "at once or not at all"},
		"more at least":  {func(r *limit.Request) { r.Least = 11 }, "least", "is not from 1 to the cost"},
		"negative least": {func(r *limit.Request) { r.Least = -1 }, "least", "is not from 1 to the cost"},
		"least alone":    {func(r *limit.Request) { r.Hold, r.Least = 0, 3 }, "least", "belongs to a hold"},
		"too much":       {func(r *limit.Request) { r.Cost = limit.MaxCount + 1 }, "cost", "too much for a hold"},
		"a limit of ones": {func(r *limit.Request) {
			r.Limits = []limit.Ref{limit.Inline(limit.Limit{Name: "l", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Second}})}
		}, "limits[0]", "takes no holds: give it hold: 1m"},
	} {
		t.Run(name, func(t *testing.T) {
			r := right
			test.change(&r)
			wantFieldError(t, r.Validate(), test.field, test.problem)
		})
	}
	if err := right.Validate(); err != nil {
		t.Error(err)
	}
}

// longestDefinition is a limit whose text is as long as one is.
func longestDefinition(name string) *limit.Limit {
	return &limit.Limit{
		Name: name, Algorithm: limit.FixedWindow, Capacity: limit.MaxCount, Per: "year", Timezone: "America/Argentina/ComodRivadavia", Anchor: "04-06", Reserve: limit.ReserveExact,
		Holds: limit.Holds{Longest: 23*time.Hour + 59*time.Minute + 59*time.Second + 999*time.Millisecond, OnExpiry: limit.Charge, MaxDebt: limit.MaxCount}, OnUnavailable: limit.Local,
	}
}

// The text of a hold gives back the hold, and one in which a character was changed, cut off or added is refused.
func TestHoldText(t *testing.T) {
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for range 50 {
		h := limit.Hold{Key: strings.Repeat("k", 1+r.IntN(limit.MaxKey)), Granted: r.Int64N(limit.MaxCount + 1)}
		if r.IntN(2) == 0 {
			h.Plan = "pro"
		}
		for range r.IntN(limit.MaxLimits + 1) {
			held := limit.Held{Limit: strings.Repeat("l", 1+r.IntN(limit.MaxName)), Generation: r.Int64(), ID: r.Uint64()}
			for i := range held.Owner {
				held.Owner[i] = byte(r.Uint32())
			}
			if r.IntN(2) == 0 {
				held.Inline = longestDefinition(held.Limit)
			}
			h.Limits = append(h.Limits, held)
		}
		text := h.String()
		if len(text) > limit.MaxHoldText {
			t.Fatalf("%d bytes of text, and at most %d are read", len(text), limit.MaxHoldText)
		}
		got, err := limit.ParseHold(text)
		if err != nil || !reflect.DeepEqual(got, h) {
			t.Fatalf("%+v was read as %+v, error %v", h, got, err)
		}
		i := r.IntN(len(text))
		other := "A"
		if text[i] == 'A' {
			other = "B"
		}
		for _, wrong := range []string{text[:i] + other + text[i+1:], text[:i], text[i+1:], text + "A", text + "=", ""} {
			if _, err := limit.ParseHold(wrong); err == nil {
				t.Fatalf("%s was read for %s", wrong, text)
			}
		}
	}
}

// TestLedgerOfHolds draws what is done to a ledger with holds, and compares what it says with a plain list of them; stored and read
// again it says the same.
func TestLedgerOfHolds(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	rule, err := limit.Limit{Name: "l", Algorithm: limit.SlidingLog, Capacity: 1000, Window: 20 * time.Minute, Holds: limit.Holds{Longest: time.Hour}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	type plain struct {
		limit.HoldEntry
		from int64
	}
	for range 200 {
		l, now := rule.NewLedger(0), int64(1e18)
		var all []*plain
		for range 60 {
			now += r.Int64N(int64(time.Minute))
			switch r.IntN(3) {
			case 0:
				h := limit.HoldEntry{ID: r.Uint64(), Amount: 1 + r.Int64N(9), Until: now + r.Int64N(int64(3*time.Minute)), Free: r.IntN(2) == 0}
				l.Hold(now, h.Amount, h.ID, h.Until, h.Free)
				all = append(all, &plain{h, now})
			case 1:
				if len(all) == 0 {
					continue
				}
				h := all[r.IntN(len(all))]
				c := limit.HoldChange{ID: h.ID, Used: r.Int64N(12), Open: r.IntN(2) == 0}
				got, listed := l.Settle(now, c, math.MaxInt32)
				if due := now < h.Until+int64(limit.SettleLate); listed != due {
					t.Fatalf("a hold until %d is listed at %d: %v", h.Until, now, listed)
				}
				if listed && !h.Settled {
					if h.Settled = !c.Open; c.Open {
						c.Used = max(c.Used, h.Used)
					} else {
						h.Until = min(h.Until, now)
					}
					h.Used = c.Used
				}
				if listed && (got.Used != h.Used || got.Settled != h.Settled) {
					t.Fatalf("settled: %+v, want %+v", got, h.HoldEntry)
				}
			case 2:
				again := rule.NewLedger(0)
				if err := again.Read(l.Append(nil, limit.OwnerID{1}), limit.OwnerID{1}); err != nil {
					t.Fatal(err)
				}
				l = again
			}
			want := int64(0)
			for _, h := range all {
				if now < h.from+int64(20*time.Minute) {
					want += h.Charged(now)
				}
			}
			if got := l.Used(now); got != want {
				t.Fatalf("%d count, want %d", got, want)
			}
			if at := l.FreeAt(now, 1000); at < now || l.Clone(nil).Free(at) < 1000 {
				t.Fatalf("the ledger is empty at %d, at %d it says", now, at)
			}
		}
	}
}

// FuzzReadHolds reads what no owner has written.
func FuzzReadHolds(f *testing.F) {
	rule, err := limit.Limit{Name: "l", Algorithm: limit.SlidingLog, Capacity: 1000, Window: time.Minute, Holds: limit.Holds{Longest: time.Hour}}.Rule()
	if err != nil {
		f.Fatal(err)
	}
	l := rule.NewLedger(0)
	for i := range int64(3) {
		l.Hold(1e18+i, 5, uint64(i+7), 2e18, i == 1)
	}
	f.Add(l.Append(nil, limit.OwnerID{1}))
	f.Add([]byte(limit.Hold{Key: "k", Limits: []limit.Held{{Limit: "l"}}}.String()))
	bucket, err := limit.Limit{Name: "l", Capacity: 1000, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Holds: limit.Holds{Longest: time.Hour}}.Rule()
	if err != nil {
		f.Fatal(err)
	}
	l = bucket.NewLedger(int64(time.Second))
	l.Hold(1e18, 5, 7, 2e18, false)
	l.Settle(1e18+1, limit.HoldChange{ID: 7}, 0)
	f.Add(l.Append(nil, limit.OwnerID{1}))
	f.Add(l.AppendInTokens(nil, limit.OwnerID{1}))
	other, err := limit.Limit{Name: "l", Capacity: 1000, Refill: limit.Refill{Tokens: 7, Per: 11 * time.Second}, Holds: limit.Holds{Longest: time.Hour}}.Rule()
	if err != nil {
		f.Fatal(err)
	}
	l.Adapt(other)
	l.Hold(1e18+2, 5, 8, 2e18, true)
	f.Add(l.Append(nil, limit.OwnerID{1}))
	f.Fuzz(func(t *testing.T, stored []byte) {
		if h, err := limit.ParseHold(string(stored)); err == nil && h.String() != string(stored) {
			t.Errorf("%q is another text of %+v", stored, h)
		}
		for _, of := range []*limit.Rule{rule, bucket} {
			l := of.NewLedger(0)
			if l.Read(stored, limit.OwnerID{1}) != nil {
				continue
			}
			before := slices.Clone(l.Holds())
			again := of.NewLedger(0)
			if err := again.Read(l.Append(nil, limit.OwnerID{1}), limit.OwnerID{1}); err != nil {
				t.Fatalf("what was read cannot be stored: %v", err)
			}
			if len(again.Holds()) > len(before) {
				t.Errorf("%d holds became %d", len(before), len(again.Holds()))
			}
			if at := again.FreeAt(1e18, of.Capacity); at < 1e18 {
				t.Errorf("at %d all is free, and now is %d", at, int64(1e18))
			}
		}
	})
}
