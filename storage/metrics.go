package storage

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	measured "github.com/jeton-dev/jeton/internal/metrics"
)

type metrics struct {
	reservations prometheus.Counter
	batch        prometheus.Histogram
	seconds      prometheus.Histogram
	swept        prometheus.Counter

	inlineRefused prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		reservations: f.NewCounter(prometheus.CounterOpts{
			Name: "jeton_storage_reservations_total",
			Help: "Reservations that this replica has answered, accepted or refused.",
		}),
		batch: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "jeton_storage_commit_registers",
			Help:    "Registers written by one commit.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 8),
		}),
		seconds: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "jeton_storage_commit_seconds",
			Help:    "Time that one commit took, its fsync included.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2, 16),
		}),
		swept: f.NewCounter(prometheus.CounterOpts{
			Name: "jeton_storage_swept_registers_total",
			Help: "Registers deleted by the sweep because they were spent.",
		}),
		inlineRefused: f.NewCounter(prometheus.CounterOpts{
			Name: "jeton_storage_inline_refused_total",
			Help: "Reservations refused because this replica has reached --inline-registers, the maximum number of registers of limits that requests define.",
		}),
	}
}

// observe registers gauges that read the Store.
func (*metrics) observe(reg prometheus.Registerer, inline *inlineCount) {
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "jeton_storage_inline_registers",
		Help: "Registers of limits that requests define. At --inline-registers, reservations that need a new one are refused.",
	}, func() float64 { return float64(inline.total.Load()) })
}

func (m *metrics) commit(registers int, took time.Duration) {
	m.batch.Observe(float64(registers))
	m.seconds.Observe(took.Seconds())
}

// CommitSeconds is how long commits took so far, their fsyncs included: upper ends of buckets in seconds, and what fell into each, with a
// last one without an end.
func (s *Store) CommitSeconds() (bounds, counts []float64) {
	return measured.Buckets(s.metrics.seconds)
}
