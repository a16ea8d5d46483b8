package rls

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// maxNames is how many names of rules metrics have at most that depend on requests. Further ones count under the name of the file.
const maxNames = 1000

// counts are what the door counts.
type counts struct {
	requests                              *prometheus.CounterVec
	admitted, denied, invalid, failed     prometheus.Counter // requests, by answer
	hits                                  *prometheus.CounterVec
	free                                  prometheus.Counter
	unobserved                            prometheus.Counter
	refunds                               *prometheus.CounterVec
	returned, lost                        prometheus.Counter
	configurations                        *prometheus.CounterVec
	configurationTaken, configurationLeft prometheus.Counter
	refused                               prometheus.Gauge

	mu    sync.Mutex
	names map[string]bool // of rules, that depend on requests
}

// The results of hits.
const (
	within    = "within"
	over      = "over"
	uncharged = "uncharged"
	shadow    = "shadow"
	passed    = "passed"
)

func newCounts() *counts {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	c := &counts{
		requests: vec("jeton_door_rls_requests_total", "Requests of Envoy, by answer: ok, over_limit, invalid, or failed, where nothing was decided.", "answer"),
		hits: vec("jeton_door_rls_hits_total", "Hits of descriptors, by rule and result: within the limit, over it, uncharged because another descriptor denied, shadow where they would have been over, or passed without being counted (unlimited or replaced).",
			"rule", "result"),
		free: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_door_rls_unmatched_total", Help: "Descriptors that no rule matches, which pass.",
		}),
		unobserved: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_door_rls_unobserved_total", Help: "Questions after the decision that had no answer: of shadow_mode, quota_mode, refunds, or what is left.",
		}),
		refunds:        vec("jeton_door_rls_refunds_total", "Negative hits, by whether they were returned, or lost because this node does not know what took them.", "outcome"),
		configurations: vec("jeton_door_rls_configurations_total", "Changes of the files, by outcome: taken or refused.", "outcome"),
		refused: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "jeton_door_rls_configuration_refused", Help: "1 while the files have a mistake, and what they said before is in force.",
		}),
		names: map[string]bool{},
	}
	c.admitted, c.denied = c.requests.WithLabelValues("ok"), c.requests.WithLabelValues("over_limit")
	c.invalid, c.failed = c.requests.WithLabelValues("invalid"), c.requests.WithLabelValues("failed")
	c.returned, c.lost = c.refunds.WithLabelValues("returned"), c.refunds.WithLabelValues("lost")
	c.configurationTaken, c.configurationLeft = c.configurations.WithLabelValues("taken"), c.configurations.WithLabelValues("refused")
	return c
}

func (c *counts) register(r prometheus.Registerer) error {
	return metrics.Register(r, c.requests, c.hits, c.free, c.unobserved, c.refunds, c.configurations, c.refused)
}

// named is the name of a rule that depends on the request, as a label, or that of the file, where there are too many names.
func (c *counts) named(name, ofFile string) string {
	name = bound.Label(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.names[name] && len(c.names) >= maxNames {
		return ofFile
	}
	c.names[name] = true
	return name
}

// forget drops the series of rules that are gone.
func (c *counts) forget(before, now []*descriptors.Rule) {
	kept := map[string]bool{}
	for _, r := range now {
		kept[r.Path] = true
	}
	for _, r := range before {
		if kept[r.Path] {
			continue
		}
		c.hits.DeletePartialMatch(prometheus.Labels{"rule": bound.Label(r.Path)})
	}
}
