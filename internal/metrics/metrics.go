// Package metrics registers what packages measure, and has what their metrics share.
package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// LatencyBuckets are those of a histogram of how long calls take, in seconds: 50 µs to 19 s.
func LatencyBuckets() []float64 { return prometheus.ExponentialBuckets(50e-6, 2.5, 15) }

// Register makes collectors known to r; a nil r leaves them unregistered. The error says which could not be registered, and why.
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
