// Package metrics registers the metrics of packages, and has what these share.
package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// LatencyBuckets are the buckets of a histogram of latencies, in seconds: 50 µs to 19 s.
func LatencyBuckets() []float64 { return prometheus.ExponentialBuckets(50e-6, 2.5, 15) }

// Register registers collectors with r, or with none if r is nil. The error says which could not be registered, and why.
func Register(r prometheus.Registerer, all ...prometheus.Collector) error {
	if r == nil {
		return nil
	}
	for _, c := range all {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	return nil
}
