package gateway

import "github.com/prometheus/client_golang/prometheus"

// metrics measure what belongs to the process and not to the gateway's decisions.
type metrics struct {
	reloads        *prometheus.CounterVec // by outcome
	loadedAt       prometheus.Gauge
	current        prometheus.Gauge
	exportFailures prometheus.Counter
}

// The outcomes of a reload.
const (
	loaded  = "loaded"  // the document is in force
	invalid = "invalid" // it cannot be read, or something in it is wrong
	refused = "refused" // it is a good one, but not for a gateway that runs
)

func newMetrics() metrics {
	m := metrics{
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_config_reloads_total",
			Help: "Changed documents that the gateway read, by result: loaded, invalid or refused.",
		}, []string{"outcome"}),
		loadedAt: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "jeton_gateway_config_last_success_timestamp_seconds",
			Help: "Unix time at which the document in force was loaded.",
		}),
		current: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "jeton_gateway_config_current",
			Help: "1 if the document on disk is in force, 0 if it could not be loaded.",
		}),
		exportFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_gateway_span_export_failures_total",
			Help: "Batches of spans that the collector did not accept.",
		}),
	}
	for _, outcome := range []string{loaded, invalid, refused} {
		m.reloads.WithLabelValues(outcome) // begins at 0
	}
	return m
}

func (m metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.reloads, m.loadedAt, m.current, m.exportFailures}
}
