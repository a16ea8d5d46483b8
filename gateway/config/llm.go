package config

import (
	"cmp"
	"time"

	"github.com/jeton-dev/jeton/gateway/llm"
)

// LLM says that a route leads to language models, whose requests cost what their answers say. The gateway reads the request and estimates
// its tokens, holds the estimate of the limits, and settles the holds by the usage in the answer. Only the proxy can do so.
type LLM struct {
	// API is the form of requests and answers: openai-chat (POST /v1/chat/completions), openai-responses (POST /v1/responses),
	// anthropic-messages (POST /v1/messages), or custom, which Paths describe. The route leads to the path of its API alone. What else stands
	// below it, such as /v1/messages/count_tokens or /v1/responses/{id}/cancel, is answered 404, and needs a route of its own. Required.
	API string `yaml:"api"`
	// Paths say where requests and answers have what the gateway reads. Required with custom, and only with it.
	Paths *Paths `yaml:"paths"`
	// DefaultOutput is the estimated output, in tokens for each choice, of a request that names no maximum: 1 to a billion. 0 means 4096.
	DefaultOutput int64 `yaml:"default_output"`
	// LeastOutput is the least output, in tokens for each choice, to which the gateway lowers the maximum of a request where less than the
	// estimate is left. The upstream gets the lowered maximum. 0 lowers nothing: where less than the estimate is left, the request is denied.
	LeastOutput int64 `yaml:"least_output"`
	// Hold is how long the limits hold the estimate, 1s to 24h. While an answer goes on, the gateway extends its holds before they end. No
	// limit that counts tokens or money may have a shorter hold of its own. After the end of a gateway its holds last that long. 0 means 60s.
	Hold Duration `yaml:"hold"`
	// Weights say how much a token of each kind counts for the checks that count tokens, input or output. Empty means that each counts 1.
	Weights *Rates `yaml:"weights"`
	// Prices are those of a million tokens, in units of money, by model; a name that ends with * is for all models that begin so, and "*"
	// for all others. The longest name that matches is used, and a model without a price is refused. Where the answer names another model than
	// the request, and that one has a price, its price is used in the end. Checks that count money count
	// millionths of the unit: with a price of 2.50, a token costs 2.5. Required by such a check.
	Prices map[string]Rates `yaml:"prices"`
	// QuotaStatus is the status where a check that counts money denies: 429, or 403, which clients do not send again. 0 means 429.
	QuotaStatus int `yaml:"quota_status"`
}

// Paths are those of a custom API: names of members with dots between them, such as usage.total. One of Input, Output and Total is
// required.
type Paths struct {
	// Model is where a request names its model.
	Model string `yaml:"model"`
	// Stream is where a request asks for a stream of events: true or false.
	Stream string `yaml:"stream"`
	// MaxOutput is where a request has its maximum of output tokens.
	MaxOutput string `yaml:"max_output"`
	// Choices is where a request says how many answers to generate.
	Choices string `yaml:"choices"`
	// Input is where an answer, or the data of an event, has the number of its input tokens. The last event that has it counts.
	Input string `yaml:"input"`
	// Output is where it has the number of its output tokens.
	Output string `yaml:"output"`
	// Total is where it has the sum of both. With Input, the rest is output; alone, all of it counts as output.
	Total string `yaml:"total"`
	// Cached is where it has the part of the input that was read from a cache.
	Cached string `yaml:"cached"`
	// CacheWrite is where it has the part of the input that was written to a cache.
	CacheWrite string `yaml:"cache_write"`
	// Reasoning is where it has the part of the output that was reasoning.
	Reasoning string `yaml:"reasoning"`
	// Content is what an event has that brings output. Empty means that each event with data counts that has no usage, except the DONE at the end.
	Content string `yaml:"content"`
}

// Rates are what tokens of each kind count or cost: numbers with at most six digits after the point, which are kept exactly. Each token
// counts once, by the narrowest kind that it is of: a cached token as Cached, and not as Input too.
type Rates struct {
	// Input is for tokens of the prompt. Empty means 1 as a weight; a price needs it.
	Input Decimal `yaml:"input"`
	// Output is for generated tokens. Empty means 1 as a weight; a price needs it.
	Output Decimal `yaml:"output"`
	// Cached is for tokens of the prompt that were read from a cache. Empty means as Input.
	Cached Decimal `yaml:"cached"`
	// CacheWrite is for tokens of the prompt that were written to a cache. Empty means as Input.
	CacheWrite Decimal `yaml:"cache_write"`
	// Reasoning is for generated tokens that were reasoning. Empty means as Output.
	Reasoning Decimal `yaml:"reasoning"`
}

// A Decimal is a number of at least 0 as it is written, such as 0.1; empty for none. [llm.ParseDecimal] reads it.
type Decimal string

// Numeric implements [strictyaml.Numeric].
func (Decimal) Numeric() {}

// The values of [Check.Counts].
const (
	CountsRequests = "requests" // one a request, or the cost of the check; the default
	CountsTokens   = "tokens"   // by the weights
	CountsInput    = "input"    // those of the prompt alone, by the weights
	CountsOutput   = "output"   // those that are generated alone, by the weights
	CountsMoney    = "money"    // by the prices
	CountsStreams  = "streams"  // answers that go on, by permits
)

// Counted are all of them.
func Counted() []string {
	return []string{CountsRequests, CountsTokens, CountsInput, CountsOutput, CountsMoney, CountsStreams}
}

// Unit is what the check counts, one of [Counted].
func (c Check) Unit() string { return cmp.Or(c.Counts, CountsRequests) }

// Holds says whether the check holds an estimate, and settles it later.
func (c Check) Holds() bool {
	switch c.Unit() {
	case CountsTokens, CountsInput, CountsOutput, CountsMoney:
		return true
	}
	return false
}

// Format is how requests and answers are written. The document is valid.
func (l *LLM) Format() (*llm.Format, error) {
	api, err := llm.ParseAPI(l.API)
	if err != nil {
		return nil, err
	}
	if api == llm.Custom {
		return llm.NewFormat(llm.Paths(*cmp.Or(l.Paths, &Paths{})))
	}
	return llm.FormatOf(api)
}

// Output is the estimated output of a request that names no maximum.
func (l *LLM) Output() int64 { return cmp.Or(l.DefaultOutput, 4096) }

// HoldFor is how long the limits hold an estimate.
func (l *LLM) HoldFor() time.Duration { return l.Hold.Or(time.Minute) }

// BudgetStatus is the status where a check that counts money denies.
func (l *LLM) BudgetStatus() int { return cmp.Or(l.QuotaStatus, 429) }

// Weighed are the weights of a check that counts so; zero for one that counts no tokens.
func (l *LLM) Weighed(counts string) (w llm.Rates, err error) {
	of := cmp.Or(l.Weights, &Rates{})
	if w, err = of.compiled("1"); err != nil {
		return w, err
	}
	switch counts {
	case CountsTokens:
		return w, nil
	case CountsInput:
		return llm.Rates{Input: w.Input, Cached: w.Cached, CacheWrite: w.CacheWrite}, nil
	case CountsOutput:
		return llm.Rates{Output: w.Output, Reasoning: w.Reasoning}, nil
	default:
		return llm.Rates{}, nil
	}
}

// PriceList is the prices by model.
func (l *LLM) PriceList() (llm.PriceList, error) {
	list := make(llm.PriceList, len(l.Prices))
	for model, r := range l.Prices {
		compiled, err := r.compiled("0")
		if err != nil {
			return nil, err
		}
		list[model] = compiled
	}
	return list, nil
}

// compiled are the numbers, with one for input and output where they are empty.
func (r Rates) compiled(otherwise Decimal) (out llm.Rates, err error) {
	input, output := cmp.Or(r.Input, otherwise), cmp.Or(r.Output, otherwise)
	for _, rate := range []struct {
		text Decimal
		to   *llm.Decimal
	}{
		{input, &out.Input},
		{output, &out.Output},
		{cmp.Or(r.Cached, input), &out.Cached},
		{cmp.Or(r.CacheWrite, input), &out.CacheWrite},
		{cmp.Or(r.Reasoning, output), &out.Reasoning},
	} {
		if *rate.to, err = llm.ParseDecimal(string(rate.text)); err != nil {
			return out, err
		}
	}
	return out, nil
}

// dialect is the form of headers that clients of the API know; empty if there is none.
func (l *LLM) dialect() string {
	if l == nil {
		return ""
	}
	api, _ := llm.ParseAPI(l.API)
	if d := api.Dialect(); d != 0 {
		return d.String()
	}
	return ""
}
