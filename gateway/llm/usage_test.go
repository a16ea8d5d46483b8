package llm_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/llm"
)

func TestDecimal(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1_000_000, "0.1": 100_000, "15": 15_000_000, "0.000001": 1, "1.50": 1_500_000, "0.300000": 300_000, "999999999999.999999": 999_999_999_999_999_999,
	} {
		d, err := llm.ParseDecimal(text)
		if err != nil || int64(d) != want {
			t.Errorf("%s: got %d and %v, want %d", text, d, err, want)
		}
		var back llm.Decimal
		if out, err := d.MarshalText(); err != nil || back.UnmarshalText(out) != nil || back != d {
			t.Errorf("%s is written as %s, and read as %d", text, out, back)
		}
	}
	for text, want := range map[string]string{
		"": "is not a decimal", ".5": "is not a decimal", "1.": "is not a decimal", "-1": "is not a decimal", "+1": "is not a decimal", "1e3": "is not a decimal",
		"1.2.3": "is not a decimal", "0,5": "is not a decimal", "٣": "is not a decimal", "0.0000001": "is too fine", "1000000000000": "is too large",
	} {
		if _, err := llm.ParseDecimal(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
		if new(llm.Decimal).UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is read", text)
		}
	}
	if got := llm.Decimal(1_250_000).String(); got != "1.25" {
		t.Error(got)
	}
}

func decimal(t *testing.T, text string) llm.Decimal {
	t.Helper()
	d, err := llm.ParseDecimal(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCost(t *testing.T) {
	weights := llm.Rates{Input: decimal(t, "1"), Output: decimal(t, "5"), Cached: decimal(t, "0.1"), CacheWrite: decimal(t, "1.25"), Reasoning: decimal(t, "4")}
	for _, c := range []struct {
		what  string
		rates llm.Rates
		usage llm.Usage
		want  int64
	}{
		{"nothing", weights, llm.Usage{}, 0},
		{"each token once", weights, llm.Usage{Input: 100, Output: 10, Cached: 40, CacheWrite: 20, Reasoning: 4}, 40 + 4 + 25 + 30 + 16},
		{"rounded up", weights, llm.Usage{Input: 1, Cached: 1}, 1},
		{"rounded once", weights, llm.Usage{Input: 10, Cached: 10}, 1},
		{"parts greater than their wholes", weights, llm.Usage{Input: 10, Cached: 100, CacheWrite: 5, Output: 1, Reasoning: 9}, 1 + 4},
		{"below 0", weights, llm.Usage{Input: -5, Output: -1, Cached: -1}, 0},
		{"equal", llm.EqualRates(), llm.Usage{Input: 100, Output: 10, Cached: 40, Reasoning: 4}, 110},
		{"3 and 15 dollars a million", llm.Rates{Input: decimal(t, "3"), Output: decimal(t, "15")}, llm.Usage{Input: 1000, Output: 200}, 3000 + 3000},
		{"saturated", weights, llm.Usage{Input: math.MaxInt64, Output: math.MaxInt64}, math.MaxInt64},
		{"just not saturated", llm.EqualRates(), llm.Usage{Input: math.MaxInt64}, math.MaxInt64},
		{"the greatest of all", llm.Rates{Input: math.MaxInt64, Output: math.MaxInt64}, llm.Usage{Input: math.MaxInt64, Output: math.MaxInt64}, math.MaxInt64},
		{"a rate below 0", llm.Rates{Input: -1}, llm.Usage{Input: 7}, 0},
	} {
		if got := c.rates.Cost(c.usage); got != c.want {
			t.Errorf("%s: got %d, want %d", c.what, got, c.want)
		}
	}
	if got := (llm.Usage{Input: math.MaxInt64, Output: 1}).Total(); got != math.MaxInt64 {
		t.Errorf("a total of %d", got)
	}
}

// TestCostAgainstBigNumbers compares with arithmetic that has no bounds.
func TestCostAgainstBigNumbers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	number := func() int64 { return random.Int64() >> random.IntN(63) }
	for range 20_000 {
		r := llm.Rates{Input: llm.Decimal(number()), Output: llm.Decimal(number()), Cached: llm.Decimal(number()), CacheWrite: llm.Decimal(number()), Reasoning: llm.Decimal(number())}
		u := llm.Usage{Input: number(), Output: number()}
		u.Cached = random.Int64N(u.Input/2 + 1)
		u.CacheWrite = random.Int64N(u.Input/2 + 1)
		u.Reasoning = random.Int64N(u.Output/2 + 1)
		sum := big.NewInt(999_999)
		for _, part := range [][2]int64{
			{u.Input - u.Cached - u.CacheWrite, int64(r.Input)},
			{u.Cached, int64(r.Cached)},
			{u.CacheWrite, int64(r.CacheWrite)},
			{u.Output - u.Reasoning, int64(r.Output)},
			{u.Reasoning, int64(r.Reasoning)},
		} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(part[0]), big.NewInt(part[1])))
		}
		sum.Div(sum, big.NewInt(1_000_000))
		want := int64(math.MaxInt64)
		if sum.IsInt64() {
			want = sum.Int64()
		}
		if got := r.Cost(u); got != want {
			t.Fatalf("%+v at %+v: got %d, want %d", u, r, got, want)
		}
	}
}

func TestPriceList(t *testing.T) {
	list := llm.PriceList{"gpt-5": {Input: 1}, "gpt-5*": {Input: 2}, "gpt-5-mini*": {Input: 3}, "plain": {Input: 4}}
	for model, want := range map[string]llm.Decimal{"gpt-5": 1, "gpt-5-2026-01-01": 2, "gpt-5-mini-2026": 3, "plain": 4, "plain-2": 0, "": 0, "gpt-4": 0} {
		rates, ok := list.Of(model)
		if rates.Input != want || ok != (want != 0) {
			t.Errorf("%s: got %d, %v, want %d", model, rates.Input, ok, want)
		}
	}
	list["*"] = llm.Rates{Input: 5}
	if rates, ok := list.Of("gpt-4"); !ok || rates.Input != 5 {
		t.Errorf("every model: got %+v, %v", rates, ok)
	}
}

func TestPriceOfAnswer(t *testing.T) {
	list := llm.PriceList{"gpt-5": {Input: 1}, "gpt-5-mini": {Input: 2}, "gpt-4*": {Input: 3}, "gpt-4-turbo*": {Input: 4}, "*": {Input: 5}}
	for _, c := range []struct {
		asked, answered string
		want            llm.Decimal
	}{
		{"gpt-5", "", 1},
		{"gpt-5", "gpt-5", 1},
		{"gpt-5", "gpt-5-2026-01-01", 1}, // its version, and not one of all others
		{"gpt-5", "gpt-5-mini", 2},
		{"gpt-5-mini", "gpt-5", 1},
		{"gpt-5", "gpt-4-turbo-2", 4},
		{"gpt-4", "gpt-4-turbo", 4},
		{"gpt-4-turbo", "gpt-4", 3},
		{"gpt-5", "other", 5},
		{"other", "gpt-4", 3},
		{"other", "other-2", 5},
	} {
		if got := list.OfAnswer(c.asked, c.answered); got.Input != c.want {
			t.Errorf("%s answers for %s: got %d, want %d", c.answered, c.asked, got.Input, c.want)
		}
	}
	delete(list, "*")
	if got := list.OfAnswer("gpt-5", "other"); got.Input != 1 {
		t.Errorf("a model without a price answers: got %d", got.Input)
	}
}

func TestCharge(t *testing.T) {
	estimate := llm.Usage{Input: 10, Output: 100}
	told := llm.Usage{Input: 12, Output: 3}
	for _, c := range []struct {
		what   string
		answer llm.Answer
		want   llm.Charge
	}{
		{"told", llm.Answer{Status: 200, Found: true, Usage: told}, llm.Charge{Usage: told, Basis: llm.ByUsage}},
		{"told too little", llm.Answer{Status: 200, Found: true, Usage: told, Seen: 9}, llm.Charge{Usage: told, Basis: llm.ByUsage}},
		{"seen", llm.Answer{Status: 200, Seen: 7}, llm.Charge{Usage: llm.Usage{Input: 10, Output: 7}, Basis: llm.ByEvents}},
		{"seen, with much text", llm.Answer{Status: 200, Seen: 7, Text: 101}, llm.Charge{Usage: llm.Usage{Input: 10, Output: 26}, Basis: llm.ByEvents}},
		{"seen, with little text", llm.Answer{Status: 200, Seen: 7, Text: 28}, llm.Charge{Usage: llm.Usage{Input: 10, Output: 7}, Basis: llm.ByEvents}},
		{"seen, with more text than it may have", llm.Answer{Status: 200, Seen: 7, Text: 1e9}, llm.Charge{Usage: llm.Usage{Input: 10, Output: 100}, Basis: llm.ByEvents}},
		{"more seen than it may have", llm.Answer{Status: 200, Seen: 107, Text: 1e9}, llm.Charge{Usage: llm.Usage{Input: 10, Output: 107}, Basis: llm.ByEvents}},
		{"told the start, and text", llm.Answer{Status: 200, Found: true, Partial: true, Usage: told, Seen: 7, Text: 40}, llm.Charge{Usage: llm.Usage{Input: 12, Output: 10}, Basis: llm.ByEvents}},
		{"told the start, and seen", llm.Answer{Status: 200, Found: true, Partial: true, Usage: told, Seen: 7}, llm.Charge{Usage: llm.Usage{Input: 12, Output: 7}, Basis: llm.ByEvents}},
		{"told the start", llm.Answer{Status: 200, Found: true, Partial: true, Usage: told}, llm.Charge{Usage: told, Basis: llm.ByEvents}},
		{"told an empty start", llm.Answer{Status: 200, Found: true, Partial: true, Usage: llm.Usage{Input: 1}}, llm.Charge{Usage: estimate, Basis: llm.ByEstimate}},
		{"nothing known", llm.Answer{Status: 200}, llm.Charge{Usage: estimate, Basis: llm.ByEstimate}},
		{"refused", llm.Answer{Status: 429, Found: true, Usage: told, Seen: 7}, llm.Charge{}},
		{"failed", llm.Answer{Status: 503}, llm.Charge{}},
	} {
		if got := c.answer.Charge(estimate); got != c.want {
			t.Errorf("%s: got %+v by %v, want %+v by %v", c.what, got.Usage, got.Basis, c.want.Usage, c.want.Basis)
		}
	}
	for want, a := range map[string]llm.Answer{
		"it is secret":               {Status: 200, Missing: "it is secret", Complete: true},
		"it has no usage to be read": {Status: 200, Complete: true},
		"it broke off, or its client left, before its usage": {Status: 200},
	} {
		if got := a.Unknown(); got != want {
			t.Errorf("%+v: got %q, want %q", a, got, want)
		}
	}
	for basis, want := range map[llm.Basis]string{llm.ByNothing: "none", llm.ByUsage: "usage", llm.ByEvents: "events", llm.ByEstimate: "estimate", 9: "Basis(9)"} {
		if got := basis.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
