package fallback

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are those of a Guard. All series are made at the start: to look one up by its labels costs as much as a decision.
type metrics struct {
	checks    map[Source]prometheus.Counter
	undecided map[reason]prometheus.Counter
	returns   map[returnOutcome]prometheus.Counter
	all       []prometheus.Collector
}

func newMetrics(local *buckets, o *outage) metrics {
	checks := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_fallback_checks_total",
		Help: "Checks by what decided: the cluster, this gateway itself (edge), a denial of the cluster that is known and still holds, a local bucket, or the policy on_unavailable.",
	}, []string{"source"})
	undecided := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_fallback_undecided_total",
		Help: "Checks that the cluster did not decide, by the reason.",
	}, []string{"reason"})
	given := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_fallback_returns_total",
		Help: "Admissions to give back to the cluster, by result: done, failed, or dropped because too many were waiting.",
	}, []string{"outcome"})
	m := metrics{
		checks: map[Source]prometheus.Counter{}, undecided: map[reason]prometheus.Counter{}, returns: map[returnOutcome]prometheus.Counter{},
		all: []prometheus.Collector{
			checks, undecided, given,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "jeton_fallback_local_buckets", Help: "Local buckets that are not full.",
			}, func() float64 { return float64(local.size()) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "jeton_fallback_local_refused_total", Help: "Checks denied because there were too many local buckets.",
			}, func() float64 { return float64(local.refused.Load()) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "jeton_fallback_outage", Help: "1 while the cluster does not decide all checks, and until it has decided all for a second.",
			}, o.gauge),
		},
	}
	for _, s := range []Source{ByCluster, ByEdge, ByKnown, ByLocal, ByAllow, ByDeny} {
		m.checks[s] = checks.WithLabelValues(string(s))
	}
	for _, r := range reasons {
		m.undecided[r] = undecided.WithLabelValues(string(r))
	}
	for _, f := range []returnOutcome{done, failed, dropped} {
		m.returns[f] = given.WithLabelValues(string(f))
	}
	return m
}

func (m metrics) register(r prometheus.Registerer) error {
	if r == nil {
		return nil
	}
	for _, c := range m.all {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("fallback: metrics: %w", err)
		}
	}
	return nil
}
