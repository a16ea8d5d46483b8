package config

import (
	"testing"

	"github.com/jeton-dev/jeton/gateway/llm"
)

// llmRoute is a valid document with a route to a language model.
func llmRoute(t *testing.T, fields string) (*Document, *Route) {
	t.Helper()
	d, err := Parse([]byte("proxy: {upstreams: {web: {urls: [http://h]}}}\nroutes: [{name: a, path: /, "+fields+"}]"), "")
	if err != nil {
		t.Fatal(err)
	}
	return d, &d.Routes[0]
}

// TestRatesAreExact reads weights and prices without a float in between.
func TestRatesAreExact(t *testing.T) {
	_, r := llmRoute(t, `llm: {api: openai-chat, weights: {output: 3.000001, cached: "0.1"}, prices: {gpt-*: {input: 2.50, output: 10, cached: 0}}},
		checks: [{limits: [t], counts: tokens}, {limits: [b], counts: money}]`)
	used := llm.Usage{Input: 30, Cached: 10, Output: 1_000_000, Reasoning: 500_000}
	for counts, want := range map[string]int64{CountsTokens: 20 + 1 + 3_000_001, CountsInput: 20 + 1, CountsOutput: 3_000_001, CountsRequests: 0, CountsStreams: 0} {
		w, err := r.LLM.Weighed(counts)
		if err != nil || w.Cost(used) != want {
			t.Errorf("%s: %d with %v, want %d", counts, w.Cost(used), err, want)
		}
	}
	list, err := r.LLM.PriceList()
	if err != nil {
		t.Fatal(err)
	}
	if of, ok := list.Of("gpt-x"); !ok || of.Cost(used) != 50+10_000_000 {
		t.Errorf("it costs %d", of.Cost(used))
	}
	if _, ok := list.Of("claude"); ok {
		t.Error("a model without a price has one")
	}
}

// TestDialectOfRoute says in whose words clients of a route are answered.
func TestDialectOfRoute(t *testing.T) {
	for fields, want := range map[string]string{
		"llm: {api: openai-chat}":                                                          FormOpenAI,
		"llm: {api: openai-responses}":                                                     FormOpenAI,
		"llm: {api: anthropic-messages}":                                                   FormAnthropic,
		"llm: {api: custom, paths: {total: n}}":                                            "",
		"llm: {api: custom, paths: {total: n}}, answer: {headers: [openai]}":               FormOpenAI,
		"llm: {api: openai-chat}, answer: {debug: true}":                                   FormOpenAI,
		"llm: {api: openai-chat}, answer: {status: 430}":                                   "",
		"llm: {api: openai-chat}, answer: {headers: [ratelimit, anthropic]}":               FormAnthropic,
		"llm: {api: openai-chat}, answer: {headers: [ratelimit]}, checks: [{limits: [a]}]": "",
		"checks: [{limits: [a]}]":                                                          "",
	} {
		d, r := llmRoute(t, fields)
		if got := d.AnswerOf(r).Dialect(); got != want {
			t.Errorf("%s: the dialect is %q, want %q", fields, got, want)
		}
	}
}

// TestDefaultsOfLLM are what the documentation of the fields says.
func TestDefaultsOfLLM(t *testing.T) {
	l := LLM{API: "openai-chat"}
	if l.Output() != 4096 || l.HoldFor().Seconds() != 60 || l.BudgetStatus() != 429 || (Check{}).Unit() != CountsRequests {
		t.Errorf("the output is %d, a hold %v, the status %d", l.Output(), l.HoldFor(), l.BudgetStatus())
	}
	if f, err := l.Format(); err != nil || f.API() != llm.OpenAIChat {
		t.Errorf("%v", err)
	}
}
