package metrics

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Counted is the value of a counter, and 0 of what is none.
func Counted(c prometheus.Metric) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		return 0
	}
	return m.GetCounter().GetValue()
}

// Buckets are what a histogram has counted: the upper ends of its buckets, and how much fell into each of them and not into those before,
// with a last bucket without an end.
func Buckets(h prometheus.Metric) (bounds, counts []float64) {
	var m dto.Metric
	if err := h.Write(&m); err != nil {
		return nil, nil
	}
	return BucketsOf(m.GetHistogram())
}

// BucketsOf is Buckets of a histogram that was gathered.
func BucketsOf(h *dto.Histogram) (bounds, counts []float64) {
	below := 0.0
	for _, b := range h.GetBucket() {
		if math.IsInf(b.GetUpperBound(), 1) { // it is there only where it has an exemplar
			continue
		}
		bounds = append(bounds, b.GetUpperBound())
		counts = append(counts, float64(b.GetCumulativeCount())-below)
		below = float64(b.GetCumulativeCount())
	}
	return bounds, append(counts, float64(h.GetSampleCount())-below)
}
