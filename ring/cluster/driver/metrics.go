package driver

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics count what the driver does. They change only on the leader.
type metrics struct {
	moves  prometheus.Counter
	sealed prometheus.Histogram
	calls  *prometheus.CounterVec
	left   prometheus.Gauge
}

// newMetrics registers the metrics with reg, unless it is nil.
func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		moves: f.NewCounter(prometheus.CounterOpts{
			Name: "jeton_moves_total",
			Help: "Partition moves that this node completed as the leader.",
		}),
		sealed: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "jeton_move_sealed_seconds",
			Help:    "How long a moving partition took no reservations, from its seal to the next epoch.",
			Buckets: prometheus.ExponentialBuckets(1e-3, 2, 16),
		}),
		calls: f.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_move_calls_total",
			Help: "Calls of the leader to nodes to move partitions, by call (copy, seal, install, complete) and outcome (done, failed).",
		}, []string{"call", "outcome"}),
		left: f.NewGauge(prometheus.GaugeOpts{
			Name: "jeton_moves_left",
			Help: "Partitions that are not on their planned replicas yet. 0 on nodes other than the leader.",
		}),
	}
}

// call counts a call that has ended.
func (m *metrics) call(name string, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	m.calls.WithLabelValues(name, outcome).Inc()
}
