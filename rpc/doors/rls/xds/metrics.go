package xds

import "github.com/prometheus/client_golang/prometheus"

// counts are what the client counts.
type counts struct {
	connected prometheus.Gauge
	failures  prometheus.Counter
}

func newCounts() *counts {
	return &counts{
		connected: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "jeton_door_rls_xds_connected", Help: "1 while the xDS server of the rules has answered on the stream that is open.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_door_rls_xds_failures_total", Help: "Streams to the xDS server of the rules that have ended, or could not be opened.",
		}),
	}
}
