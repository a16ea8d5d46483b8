package driver

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics count what the driver does. They stand still on nodes that do not lead.
type metrics struct {
	moves  prometheus.Counter
	sealed prometheus.Histogram
	calls  *prometheus.CounterVec
	left   prometheus.Gauge
}

// newMetrics registers the metrics with reg; nil is nowhere.
func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		moves: f.NewCounter(prometheus.CounterOpts{
			Name: "jeton_moves_total",
			Help: "Changes of a partition's replica set that this node has led to their end.",
		}),
		sealed: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "jeton_move_sealed_seconds",
			Help:    "Time for which nobody could reserve in a partition, from its seal to the next epoch.",
			Buckets: prometheus.ExponentialBuckets(1e-3, 2, 16),
		}),
		calls: f.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_move_calls_total",
			Help: "What the leader has asked of nodes to move partitions, by what it is (copy, seal, install, complete) and outcome (done, failed).",
		}, []string{"call", "outcome"}),
		left: f.NewGauge(prometheus.GaugeOpts{
			Name: "jeton_moves_left",
			Help: "Partitions whose replica set is yet to change. 0 on nodes that do not lead.",
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
