package web

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/metrics"
)

// apiMetrics measure the JSON API.
type apiMetrics struct {
	seconds *prometheus.HistogramVec // by route and status
	panics  prometheus.Counter
}

func newAPIMetrics() apiMetrics {
	return apiMetrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "jeton_http_seconds",
			Help:    "How long requests of the JSON API took, by route and HTTP status.",
			Buckets: metrics.LatencyBuckets(),
		}, []string{"route", "status"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_http_panics_total",
			Help: "Requests of the JSON API that ran into a bug of the node.",
		}),
	}
}

func (m apiMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.seconds, m.panics}
}

// observe counts a request that started then and was answered now, with status.
func (m apiMetrics) observe(route string, status int, start time.Time) {
	m.seconds.WithLabelValues(route, strconv.Itoa(status)).Observe(time.Since(start).Seconds())
}

// guardMetrics measure the guard of an HTTP port.
type guardMetrics struct {
	unauthorized prometheus.Counter
	foreign      prometheus.Counter
}

func newGuardMetrics() guardMetrics {
	return guardMetrics{
		unauthorized: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_http_unauthorized_total",
			Help: "HTTP requests refused because they carried no token, or an unknown one.",
		}),
		foreign: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_http_foreign_total",
			Help: "HTTP requests refused because a web page may have sent them: they name another origin or another host.",
		}),
	}
}

func (m guardMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.unauthorized, m.foreign}
}
