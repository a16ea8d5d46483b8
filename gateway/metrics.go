package gateway

import (
	"errors"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// metrics measure a Gateway.
type metrics struct {
	requests *prometheus.CounterVec // by route and outcome
	failures *prometheus.CounterVec // by reason
	limits   *prometheus.CounterVec // by route, limit, shadow and outcome
	seconds  prometheus.Histogram
	dropped  prometheus.Counter
	lost     *prometheus.CounterVec // by upstream and URL
	refunds  *prometheus.CounterVec // by route and reason

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
			Help: "Requests, by route and by what became of them: admitted, unlimited, exempt, allowed_unasked, denied, unavailable, " +
				"forbidden, nobody, overloaded (too much under way), crowded (too much of one client), bad_request, canceled (the client " +
				"left during the decision).",
		}, []string{"route", "outcome"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_failures_total",
			Help: "Requests that the gateway answered itself for another reason than a decision: too_large, not_found, upstream_failed, " +
				"upstream_late, body_late (the client sends its body too slowly), canceled (the client has gone), forbidden (a proxy " +
				"asks that is not trusted).",
		}, []string{"reason"}),
		limits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_limits_total",
			Help: "What each limit said, by route: allowed, denied, or spared (it would have allowed what another one denied). " +
				"Those of shadow checks deny nothing.",
		}, []string{"route", "limit", "shadow", "outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "jeton_gateway_decision_seconds",
			Help:    "How long a request waited for its decision, if the cluster was asked.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2.5, 10),
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_gateway_shadows_dropped_total",
			Help: "Shadow checks that were not made because too many were under way.",
		}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_upstream_lost_total",
			Help: "How often an instance of an upstream went away: a connection to it could not be had.",
		}, []string{"upstream", "url"}),
		refunds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_refunds_total",
			Help: "Requests that gave back what they had taken, by route and reason: unsent (no instance of the upstream took a " +
				"connection), answer (its status costs nothing). What became of the returns is in jeton_fallback_returns_total.",
		}, []string{"route", "reason"}),
		routeSeries: map[string]*routeSeries{}, limitSeries: map[limitName]*limitSeries{},
	}
}

func (m *metrics) register(r prometheus.Registerer, g *Gateway) error {
	if r == nil {
		return nil
	}
	inFlight := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "jeton_gateway_requests_in_flight",
		Help: "Requests that are under way.",
	}, func() float64 { return float64(g.inFlight.Load()) })
	var errs []error
	for _, c := range []prometheus.Collector{m.requests, m.failures, m.limits, m.seconds, m.dropped, m.lost, m.refunds, inFlight, inForce{g}} {
		errs = append(errs, r.Register(c))
	}
	return errors.Join(errs...)
}

// inForce collects the metrics of the guard and of the upstreams in force; another document may make others.
type inForce struct{ *Gateway }

// Describe implements prometheus.Collector. What there is to collect changes, so it describes nothing.
func (inForce) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (f inForce) Collect(to chan<- prometheus.Metric) {
	rules := f.rules.Load()
	rules.guardMetrics.Collect(to)
	for _, u := range rules.upstreams {
		u.collect(to)
	}
}

var upDesc = prometheus.NewDesc("jeton_gateway_upstream_up",
	"1 while an instance of an upstream takes connections, 0 from the first one that could not be had until one succeeds.",
	[]string{"upstream", "url"}, nil)

// collect says of each instance whether it is up.
func (u *upstream) collect(to chan<- prometheus.Metric) {
	for i, at := range u.instances {
		if slices.Index(u.instances, at) < i {
			continue
		}
		up := 1.0
		if at.presence.away.Load() {
			up = 0
		}
		to <- prometheus.MustNewConstMetric(upDesc, prometheus.GaugeValue, up, u.name, at.name)
	}
}

// routeSeries count what becomes of the requests of one route.
type routeSeries [tooLarge]prometheus.Counter

// failureSeries count what the gateway answers for another reason than a decision.
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

// route finds the series of a route. They are found once: finding them by labels costs more than a decision.
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

// charging is that of a route, with its series.
func (m *metrics) charging(r *config.Route) charging {
	return charging{
		r.Refund, r.ChargeWhen, m.refunds.WithLabelValues(r.Name, "unsent"), m.refunds.WithLabelValues(r.Name, "answer"),
	}
}

// limitSeries count what one limit says at one route.
type limitSeries struct{ allowed, denied, spared prometheus.Counter }

func (m *metrics) limit(route, name string, shadow bool) *limitSeries {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := limitName{route, name, shadow}
	s := m.limitSeries[id]
	if s == nil {
		series := func(outcome string) prometheus.Counter {
			return m.limits.WithLabelValues(route, name, map[bool]string{true: "true", false: "false"}[shadow], outcome)
		}
		s = &limitSeries{series("allowed"), series("denied"), series("spared")}
		m.limitSeries[id] = s
	}
	return s
}

// count counts what each limit of a check said.
func (l *limits) count(d limit.Decision) {
	for i, o := range d.Limits[:min(len(d.Limits), len(l.series))] {
		s := l.series[i]
		switch {
		case !o.Allowed:
			s.denied.Inc()
		case d.Allowed:
			s.allowed.Inc()
		default:
			s.spared.Inc()
		}
	}
}
