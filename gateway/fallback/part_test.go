package fallback

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

func rule(tb testing.TB, capacity, tokens int64, per time.Duration) *limit.Rule {
	tb.Helper()
	r, err := limit.Limit{Name: "l", Capacity: capacity, Refill: limit.Refill{Tokens: tokens, Per: per}}.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestDivide(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for what, c := range map[string]struct {
		whole    *limit.Rule
		gateways int
		capacity int64 // 0: it cannot be decided locally
	}{
		"alone":                  {rule(t, 10, 1, time.Second), 1, 10},
		"even":                   {rule(t, 10, 1, time.Second), 5, 2},
		"rounded down":           {rule(t, 11, 7, time.Second), 4, 2},
		"one each":               {rule(t, 4, 1, time.Second), 4, 1},
		"less than one":          {rule(t, 2, 1, time.Second), 3, 1},
		"the fastest":            {rule(t, 1_000_000_000, 1, time.Nanosecond), 7, 142_857_142},
		"fewer tokens for fewer": {rule(t, 10, 1_000_000_000, 200*year), 1000, 1},
		"a very long time":       {rule(t, 73, 1, year), 10, 7},
		"longer than one waits":  {rule(t, 1, 1, 70*year), 2, 0},
		"longer than can be":     {rule(t, 1, 1, 70*year), 1 << 40, 0},
	} {
		p := divide(c.whole, c.gateways)
		if p.whole != c.whole || (p.own == nil) != (c.capacity == 0) {
			t.Errorf("%s: %+v", what, p)
			continue
		}
		if p.own != nil && (p.own.Capacity != c.capacity || !exactPart(p, c.gateways)) {
			t.Errorf("%s: capacity %d, refill %v of %v", what, p.own.Capacity, p.own.Refill, c.whole.Refill)
		}
	}
}

// exactPart says whether the own refill is exactly the n-th part of the whole one.
func exactPart(p *part, n int) bool {
	own := big.NewRat(p.own.Refill.Tokens, int64(p.own.Refill.Per))
	return own.Mul(own, big.NewRat(int64(n), 1)).Cmp(big.NewRat(p.whole.Refill.Tokens, int64(p.whole.Refill.Per))) == 0
}

// TestDivideAny divides limits of all sizes: the refill is exact, and all parts together hold no more than the whole one,
// or one token each.
func TestDivideAny(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	some := func() int64 { return 1 + random.Int64N(1<<random.IntN(50)) }
	divided := 0
	for range 100_000 {
		l := limit.Limit{Name: "l", Capacity: some(), Refill: limit.Refill{Tokens: some(), Per: time.Duration(some())}}
		whole, err := l.Rule()
		if err != nil {
			continue
		}
		n := int(some()%10_000) + 1
		p := divide(whole, n)
		if p.own == nil {
			own := big.NewRat(l.Refill.Tokens, int64(n)) // tokens every Per; in lowest terms, as it must be written
			per := new(big.Int).Mul(own.Denom(), big.NewInt(int64(l.Refill.Per)))
			fill := big.NewRat(max(l.Capacity/int64(n), 1), 1)
			fill.Mul(fill, big.NewRat(int64(l.Refill.Per), 1)).Quo(fill, own)
			if per.IsInt64() && fill.Cmp(big.NewRat(int64(limit.MaxFill)-1, 1)) <= 0 {
				t.Fatalf("seed %d: %+v by %d is not divided", seed, l, n)
			}
			continue
		}
		divided++
		if p.own.Capacity*int64(n) > max(l.Capacity, int64(n)) || (p.own.Capacity+1)*int64(n) <= l.Capacity || !exactPart(p, n) {
			t.Fatalf("seed %d: %+v by %d: %+v", seed, l, n, p.own.Limit)
		}
	}
	if divided < 1000 {
		t.Errorf("seed %d: only %d limits were divided", seed, divided)
	}
}

// TestLimitThatIsGone: who takes a limit out of the document by mistake gets what its policy said, not what an unknown one gets.
func TestLimitThatIsGone(t *testing.T) {
	var doc atomic.Pointer[limit.Document]
	var unknown error
	doc.Store(document(t, stored))
	cfg := Config{
		Gateways: 1, Limits: doc.Load,
		Checker: fake{check: func(context.Context, limit.Request) (limit.Decision, error) {
			return limit.Decision{Allowed: true}, unknown
		}},
	}
	g := guard(t, cfg)
	g.Check(t.Context(), ask("k", "open"), "") // the cluster decides, and the limits are noted
	unknown = limit.ErrUnknownLimit
	doc.Store(document(t, "limits: {other: {capacity: 1, refill: 1/s}}"))
	verdicts := func(g *Guard, when string) {
		t.Helper()
		for name, want := range map[string]Source{"open": ByAllow, "closed": ByDeny, "here": ByLocal, "nowhere": ByDeny} {
			if v := g.Check(t.Context(), ask("key of "+when, name), ""); v.Source != want {
				t.Errorf("%s, %s: %s, want %s", when, name, v.Source, want)
			}
		}
	}
	verdicts(g, "gone")
	doc.Store(document(t, "limits: {third: {capacity: 1, refill: 1/s}}"))
	verdicts(g, "gone for long")
	cfg.Before, cfg.Gateways = g, 2
	verdicts(guard(t, cfg), "after another document of the gateway")
	doc.Store(document(t, "limits: {open: {capacity: 1, refill: 1/s, on_unavailable: deny}}"))
	if v := g.Check(t.Context(), ask("k", "open"), ""); v.Source != ByDeny {
		t.Errorf("a limit that is there again with another policy: %s", v.Source)
	}
}

// TestGoneLimitsAreBounded: documents that change for ever do not fill the memory.
func TestGoneLimitsAreBounded(t *testing.T) {
	v := divider{gateways: 1}
	for i := range 3 {
		text := "limits:\n"
		for j := range maxGone {
			text += fmt.Sprintf("  l%d-%d: {capacity: 1, refill: 1/s}\n", i, j)
		}
		v.stored(document(t, text))
	}
	if n := len(v.latest.Load().parts); n != 2*maxGone {
		t.Errorf("%d limits are kept, want %d", n, 2*maxGone)
	}
}
