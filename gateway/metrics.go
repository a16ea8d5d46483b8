package gateway

import (
	"errors"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics measure a Gateway.
type metrics struct {
	requests *prometheus.CounterVec // by route and outcome
	failures *prometheus.CounterVec // by reason
	limits   *prometheus.CounterVec // by route, limit, shadow and outcome
	own      *prometheus.CounterVec // by limit and outcome
	opened   *prometheus.CounterVec // by limit
	closed   *prometheus.CounterVec // by limit
	seconds  prometheus.Histogram
	holding  prometheus.Gauge
	held     prometheus.Histogram
	dropped  prometheus.Counter
	downs    *prometheus.CounterVec // by upstream and URL
	refunds  *prometheus.CounterVec // by route and reason

	bodyBytes     prometheus.Gauge
	bodiesRefused *prometheus.CounterVec // by bound

	mu          sync.Mutex
	routeSeries map[string]*routeSeries
	limitSeries map[limitName]*limitSeries
}

type limitName struct {
	route, limit string
	shadow       bool
}

func newMetrics() *metrics {
	return &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_requests_total",
			Help: "Requests, by route and outcome: admitted, unlimited, exempt, preflight, fail_open (let through without a decision), " +
				"denied, unavailable, forbidden, unidentified (no credentials), bad_credentials, overloaded (too many concurrent requests), " +
				"too_many_concurrent (of one client), bad_request, canceled (the client left during the decision, or while it was held), stopping (the gateway stopped first).",
		}, []string{"route", "outcome"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_failures_total",
			Help: "Requests that the gateway answered itself for another reason than a decision: too_large, not_found, upstream_failed, " +
				"upstream_timeout, client_timeout (the deadline of the client passed before the upstream was asked), body_timeout (the client sends its body too slowly), canceled (the client has gone), forbidden (a proxy " +
				"asks that is not trusted).",
		}, []string{"reason"}),
		limits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_limits_total",
			Help: "Outcomes of each limit, by route: allowed, denied, or spared (it would have allowed what another limit denied). " +
				"Those of shadow checks deny nothing.",
		}, []string{"route", "limit", "shadow", "outcome"}),
		own:    newOwn(),
		opened: byLimit("jeton_gateway_fail_open_total", "Checks that passed without a decision, by limit."),
		closed: byLimit("jeton_gateway_fail_closed_total", "Checks that were refused for want of a decision, by limit."),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "jeton_gateway_decision_seconds",
			Help:    "How long requests waited for a decision of the cluster.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2.5, 10),
		}),
		holding: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "jeton_gateway_requests_held",
			Help: "Requests that are held until their tokens are there.",
		}),
		held: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "jeton_gateway_held_seconds",
			Help:    "How long requests were held until their tokens were there, or their clients left.",
			Buckets: prometheus.ExponentialBuckets(1e-3, 2.5, 12),
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_gateway_shadows_dropped_total",
			Help: "Shadow checks that were not made because too many were running.",
		}),
		downs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_upstream_down_total",
			Help: "How often an instance of an upstream went down: an attempt to connect failed.",
		}, []string{"upstream", "url"}),
		refunds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_refunds_total",
			Help: "Requests that gave back what they had taken, by route and reason: unsent (no instance of the upstream took a " +
				"connection), answer (its status costs nothing). jeton_fallback_returns_total has the results of the returns.",
		}, []string{"route", "reason"}),
		bodyBytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "jeton_gateway_llm_body_bytes",
			Help: "Memory that the bodies of requests to language models take, until they are sent to the model.",
		}),
		bodiesRefused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_llm_bodies_refused_total",
			Help: "Requests to language models whose bodies found no room in memory, by the bound that they would have exceeded: all, or client.",
		}, []string{"bound"}),
		routeSeries: map[string]*routeSeries{}, limitSeries: map[limitName]*limitSeries{},
	}
}

func byLimit(name, help string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"limit"})
}

// newOwn counts what limits say without a node.
func newOwn() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_gateway_own_decisions_total",
		Help: "Outcomes of each limit, of the checks that this gateway has decided without asking a node: by tokens taken ahead, by a denial that " +
			"still holds, or by a bucket of its own. jeton_gateway_limits_total has them too.",
	}, []string{"limit", "outcome"})
}

// register registers the metrics, and what inForce collects.
func (m *metrics) register(r prometheus.Registerer, requests *inFlight, inForce prometheus.Collector) error {
	if r == nil {
		return nil
	}
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "jeton_gateway_requests_in_flight",
		Help: "Concurrent requests.",
	}, func() float64 { return float64(requests.all.Load()) })
	var errs []error
	for _, c := range []prometheus.Collector{
		m.requests, m.failures, m.limits, m.own, m.opened, m.closed, m.seconds, m.holding, m.held, m.dropped, m.downs, m.refunds, m.bodyBytes, m.bodiesRefused, gauge, inForce,
	} {
		errs = append(errs, r.Register(c))
	}
	return errors.Join(errs...)
}

// countEach counts one check at each of its limits.
func countEach(of *prometheus.CounterVec, limits []string) {
	for _, name := range limits {
		of.WithLabelValues(name).Inc()
	}
}

// routeSeries count the outcomes of the requests of one route.
type routeSeries [tooLarge]prometheus.Counter

// failureSeries count the answers for another reason than a decision.
type failureSeries [outcomes]prometheus.Counter

func (m *metrics) failed() *failureSeries {
	s := new(failureSeries)
	for o := range outcome(outcomes) {
		if o == forbidden || o == canceled || o >= tooLarge {
			s[o] = m.failures.WithLabelValues(o.String())
		}
	}
	return s
}

func (s *failureSeries) count(o outcome) { s[o].Inc() }

// route is the series of a route. It is looked up by labels only once: that costs more than a decision.
func (m *metrics) route(name string) *routeSeries {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.routeSeries[name]
	if s == nil {
		s = new(routeSeries)
		for o := range tooLarge {
			s[o] = m.requests.WithLabelValues(name, o.String())
		}
		m.routeSeries[name] = s
	}
	return s
}

func (s *routeSeries) count(o outcome) { s[o].Inc() }

// What a limit said to a check, as a metric's label.
const (
	allowed = iota
	refused
	spared // it would have allowed the check, but another limit denied it
	saids
)

var saidLabels = [saids]string{"allowed", "denied", "spared"}

// limitSeries count the outcomes of one limit at one route: all, and those that the gateway has decided itself.
type limitSeries struct{ all, own [saids]prometheus.Counter }

func (m *metrics) limit(route, name string, shadow bool) *limitSeries {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := limitName{route, name, shadow}
	s := m.limitSeries[id]
	if s == nil {
		s = &limitSeries{}
		for said, outcome := range saidLabels {
			s.all[said] = m.limits.WithLabelValues(route, name, strconv.FormatBool(shadow), outcome)
			s.own[said] = m.own.WithLabelValues(name, outcome)
		}
		m.limitSeries[id] = s
	}
	return s
}
