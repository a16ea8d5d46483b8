package rlqs

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/metrics"
)

// counts are what the door counts.
type counts struct {
	streams, buckets prometheus.Gauge
	reports          *prometheus.CounterVec
	requests         *prometheus.CounterVec
	allowed, denied  prometheus.Counter
	excess           prometheus.Counter
	actions          *prometheus.CounterVec
	assigned, late   prometheus.Counter
	asks             *prometheus.CounterVec
	refused          *prometheus.CounterVec
}

// The outcomes of reports, asks and actions.
const (
	taken   = "taken"
	invalid = "invalid"

	given   = "given"
	nothing = "nothing"
	failed  = "failed"

	tokens  = "tokens"
	deny    = "deny_all"
	abandon = "abandon"
)

func newCounts() *counts {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	one := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vec := func(name, label, help string, values ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		for _, value := range values {
			v.WithLabelValues(value)
		}
		return v
	}
	c := &counts{
		streams:  gauge("jeton_door_rlqs_streams", "Envoys that have a stream open."),
		buckets:  gauge("jeton_door_rlqs_buckets", "Buckets of Envoys that are assigned to."),
		reports:  vec("jeton_door_rlqs_reports_total", "outcome", "Messages of Envoys: taken, or invalid, which ends the stream.", taken, invalid),
		requests: vec("jeton_door_rlqs_requests_total", "answer", "Requests that Envoys reported: allowed or denied.", "allowed", "denied"),
		excess: one("jeton_door_rlqs_excess_requests_total",
			"Requests that Envoys reported as allowed beyond what they were assigned, but for the first report of a stream: by their configuration where they had no assignment, or because one came too late."),
		actions:  vec("jeton_door_rlqs_actions_total", "action", "What Envoys were told of a bucket: tokens, deny_all, or abandon.", tokens, deny, abandon),
		assigned: one("jeton_door_rlqs_assigned_tokens_total", "Tokens that Envoys were assigned: requests that they may let pass."),
		late:     one("jeton_door_rlqs_late_total", "Assignments that were not sent: they were ready too late, because Envoy did not read or the cluster was slow, or Envoy had forgotten the bucket."),
		asks: vec("jeton_door_rlqs_asks_total", "outcome",
			"Asks for tokens to assign: given; nothing, since little is left; or failed.", given, nothing, failed),
		refused: vec("jeton_door_rlqs_refused_total", "reason", "Reports of buckets to which nothing is assigned for another reason than that nothing is left, by reason. The log says more."),
	}
	for why := range refusals {
		c.refused.WithLabelValues(string(why))
	}
	c.allowed, c.denied = c.requests.WithLabelValues("allowed"), c.requests.WithLabelValues("denied")
	return c
}

func (c *counts) register(r prometheus.Registerer) error {
	return metrics.Register(r, c.streams, c.buckets, c.reports, c.requests, c.excess, c.actions, c.assigned, c.late, c.asks, c.refused)
}
