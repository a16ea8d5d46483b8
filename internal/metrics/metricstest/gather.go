// Package metricstest reads metrics in tests. Start with [Gather].
package metricstest

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Gather is every series of the metric with that name. A test without it fails.
func Gather(tb testing.TB, from prometheus.Gatherer, name string) []*dto.Metric {
	tb.Helper()
	families, err := from.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()
		}
	}
	tb.Fatalf("no metric %s", name)
	return nil
}
