// Package metrics registers what packages measure.
package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

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
