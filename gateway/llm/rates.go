package llm

import (
	"math"
	"math/bits"
	"strings"
)

// Rates are what a token of each kind costs. They are used in two ways, with the same arithmetic:
//
//   - as weights: how many tokens of a limit one token takes, such as 0.1 for a cached one. [Rates.Cost] is in tokens of the limit.
//   - as prices: how many units of money a million tokens cost, such as 15 dollars. [Rates.Cost] is in millionths of the unit.
//
// Each token is counted once, by the narrowest kind that it is of: a cached token costs Cached and not Input as well.
type Rates struct {
	// Input is for tokens of the prompt that were neither read from nor written to a cache.
	Input Decimal
	// Output is for generated tokens other than reasoning.
	Output Decimal
	// Cached is for tokens of the prompt that were read from a cache.
	Cached Decimal
	// CacheWrite is for tokens of the prompt that were written to a cache.
	CacheWrite Decimal
	// Reasoning is for generated tokens that were reasoning.
	Reasoning Decimal
}

// EqualRates are weights by which every token counts as one: the cost is [Usage.Total].
func EqualRates() Rates {
	return Rates{millionths, millionths, millionths, millionths, millionths}
}

// Dearest is r for estimates, of which it is not known how much will be reasoning: all output costs what its dearer kind does.
func (r Rates) Dearest() Rates {
	r.Output = max(r.Output, r.Reasoning)
	return r
}

// Cost is what u costs, rounded up, at most the greatest int64. The sum is exact: it is computed in 128 bits.
func (r Rates) Cost(u Usage) int64 {
	u = u.consistent()
	var high, low uint64
	for _, part := range [...]struct {
		tokens int64
		rate   Decimal
	}{
		{u.Input - u.Cached - u.CacheWrite, r.Input},
		{u.Cached, r.Cached},
		{u.CacheWrite, r.CacheWrite},
		{u.Output - u.Reasoning, r.Output},
		{u.Reasoning, r.Reasoning},
	} {
		h, l := bits.Mul64(uint64(part.tokens), uint64(max(part.rate, 0)))
		var carry uint64
		low, carry = bits.Add64(low, l, 0)
		high += h + carry // both wholes are below 2^63, and so are rates: the sum is below 2^127
	}
	low, carry := bits.Add64(low, millionths-1, 0)
	high += carry
	if high >= millionths {
		return math.MaxInt64
	}
	cost, _ := bits.Div64(high, low, millionths)
	return int64(min(cost, math.MaxInt64))
}

// A PriceList is the Rates of models by name. A name that ends with * is for all models whose names start so.
type PriceList map[string]Rates

// Of is the Rates of a model: those of its very name, or else of the longest pattern that fits. ok is false if there is none.
func (l PriceList) Of(model string) (rates Rates, ok bool) {
	name, ok := l.find(model)
	return l[name], ok
}

// OfAnswer is the Rates of an answer: those of the model that it names, or else those of the one that was asked. A name that only adds to the
// one that was asked, such as the date of its version, is of the same model, unless the list has a name for it that adds to it too.
func (l PriceList) OfAnswer(asked, answered string) Rates {
	name, ok := l.find(answered)
	if version := strings.HasPrefix(answered, asked) && !strings.HasPrefix(name, asked); answered == "" || !ok || version {
		name, _ = l.find(asked)
	}
	return l[name]
}

// find is the name on the list that is of a model.
func (l PriceList) find(model string) (name string, ok bool) {
	if _, ok = l[model]; ok {
		return model, true
	}
	longest := -1
	for n := range l {
		start, pattern := strings.CutSuffix(n, "*")
		if pattern && len(start) > longest && strings.HasPrefix(model, start) {
			name, ok, longest = n, true, len(start)
		}
	}
	return name, ok
}
