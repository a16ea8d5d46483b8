package metrics

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestRead(t *testing.T) {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "c_total", Help: "Things."})
	c.Add(3)
	if got := Counted(c); got != 3 {
		t.Errorf("got %v", got)
	}
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h", Help: "Things.", Buckets: []float64{1, 2, 4}})
	for _, v := range []float64{0.5, 1, 1.5, 3, 9, 10} {
		h.Observe(v)
	}
	h.(prometheus.ExemplarObserver).ObserveWithExemplar(11, prometheus.Labels{"trace_id": "1"}) // which makes a bucket of what is beyond the last bound
	bounds, counts := Buckets(h)
	if !slices.Equal(bounds, []float64{1, 2, 4}) || !slices.Equal(counts, []float64{2, 1, 1, 3}) {
		t.Errorf("got %v and %v", bounds, counts)
	}
}
