package accesslog

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics measure a Log.
type metrics struct{ lines, dropped, failures prometheus.Counter }

func newMetrics() metrics {
	return metrics{
		lines: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_gateway_access_log_lines_total",
			Help: "Lines of the access log that were taken in to be written.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_gateway_access_log_dropped_total",
			Help: "Lines of the access log that were dropped, because too many waited to be written.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_gateway_access_log_failures_total",
			Help: "Attempts to write or open the access log that failed.",
		}),
	}
}

func (m metrics) register(r prometheus.Registerer) error {
	if r == nil {
		return nil
	}
	return errors.Join(r.Register(m.lines), r.Register(m.dropped), r.Register(m.failures))
}
