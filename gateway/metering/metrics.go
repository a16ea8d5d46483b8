package metering

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/gateway/llm"
)

// The results of settlements and extensions.
const (
	resultDone    = "done"
	resultUnknown = "unknown" // no limit knows the hold, or the permit has ended
	resultLost    = "lost"    // the owner that took the hold is gone: it is charged in full
	resultFailed  = "failed"  // no node has answered
	resultDropped = "dropped" // it was not sent
)

// metrics are those of a Meter. No label comes from a request.
type metrics struct {
	exchanges   *prometheus.CounterVec   // by route and basis
	tokens      *prometheus.CounterVec   // by route and kind
	ratio       *prometheus.HistogramVec // by route
	understated *prometheus.CounterVec   // by route
	lowered     *prometheus.CounterVec   // by route
	settlements map[string]prometheus.Counter
	extensions  map[string]prometheus.Counter
	returns     map[string]prometheus.Counter
	all         []prometheus.Collector
}

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		exchanges: counter("jeton_gateway_llm_exchanges_total",
			"Exchanges with language models that have ended, by route and by what they are charged by: usage, events, estimate, or none (the answer has an error status, or there was none).",
			"route", "basis"),
		tokens: counter("jeton_gateway_llm_tokens_total",
			"Tokens that exchanges were charged for, by route and kind: input, output, and their parts cached, cache_write and reasoning.",
			"route", "kind"),
		ratio: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "jeton_gateway_llm_estimate_ratio",
			Help:    "The estimate of an exchange divided by the tokens that its answer says it has used.",
			Buckets: []float64{0.25, 0.5, 0.8, 1, 1.25, 2, 4, 8, 16, 64, 256},
		}, []string{"route"}),
		understated: counter("jeton_gateway_llm_understated_total",
			"Answers whose usage tells fewer tokens of output than they had events with output.", "route"),
		lowered: counter("jeton_gateway_llm_lowered_total",
			"Requests whose maximum of output was lowered to what was left.", "route"),
	}
	results := func(name, help string) map[string]prometheus.Counter {
		vec := counter(name, help, "outcome")
		m.all = append(m.all, vec)
		series := map[string]prometheus.Counter{}
		for _, result := range []string{resultDone, resultUnknown, resultLost, resultFailed, resultDropped} {
			series[result] = vec.WithLabelValues(result)
		}
		return series
	}
	m.settlements = results("jeton_gateway_llm_settlements_total",
		"Settlements of holds, by result: done, unknown (no limit knows the hold), lost (its owner is gone, and it is charged in full), failed (no node has answered), dropped (not sent).")
	m.extensions = results("jeton_gateway_llm_extensions_total",
		"Extensions of holds and permits while an answer goes on, by result: as those of settlements; unknown of a permit that has ended.")
	m.returns = results("jeton_gateway_llm_permits_returned_total",
		"Permits that were returned at the end of an answer, by result: as those of settlements; unknown of a permit that has ended.")
	m.all = append(m.all, m.exchanges, m.tokens, m.ratio, m.understated, m.lowered)
	return m
}

func (m *metrics) register(r prometheus.Registerer) error {
	if r == nil {
		return nil
	}
	var errs []error
	for _, c := range m.all {
		errs = append(errs, r.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("metering: metrics: %w", err)
	}
	return nil
}

// A Route is the series of one route.
type Route struct {
	exchanges                                    map[llm.Basis]prometheus.Counter
	input, output, cached, cacheWrite, reasoning prometheus.Counter
	ratio                                        prometheus.Observer
	understated, lowered                         prometheus.Counter
}

func (m *metrics) route(name string) *Route {
	r := &Route{
		exchanges: map[llm.Basis]prometheus.Counter{}, ratio: m.ratio.WithLabelValues(name),
		input: m.tokens.WithLabelValues(name, "input"), output: m.tokens.WithLabelValues(name, "output"),
		cached: m.tokens.WithLabelValues(name, "cached"), cacheWrite: m.tokens.WithLabelValues(name, "cache_write"),
		reasoning:   m.tokens.WithLabelValues(name, "reasoning"),
		understated: m.understated.WithLabelValues(name), lowered: m.lowered.WithLabelValues(name),
	}
	for _, b := range []llm.Basis{llm.ByNothing, llm.ByUsage, llm.ByEvents, llm.ByEstimate} {
		r.exchanges[b] = m.exchanges.WithLabelValues(name, b.String())
	}
	return r
}

// count counts an exchange that has ended.
func (r *Route) count(charge llm.Charge, estimate llm.Usage, understated bool) {
	u := charge.Usage
	r.exchanges[charge.Basis].Inc()
	r.input.Add(float64(u.Input))
	r.output.Add(float64(u.Output))
	r.cached.Add(float64(u.Cached))
	r.cacheWrite.Add(float64(u.CacheWrite))
	r.reasoning.Add(float64(u.Reasoning))
	if used := u.Total(); charge.Basis == llm.ByUsage && used > 0 {
		r.ratio.Observe(float64(estimate.Total()) / float64(used))
	}
	if understated {
		r.understated.Inc()
	}
}
