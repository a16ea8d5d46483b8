package activity

import (
	"math"
	"testing"
)

func TestQuantile(t *testing.T) {
	h := Histogram{Bounds: []float64{1, 2, 4}, Counts: []float64{0, 50, 49, 1}}
	for share, want := range map[float64]float64{0.5: 2, 0.25: 1.5, 0.99: 4, 1: 4} {
		if got := h.Quantile(share); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %v, want %v", share, got, want)
		}
	}
	for what, h := range map[string]Histogram{"none": {}, "nothing counted": {Bounds: []float64{1}, Counts: []float64{0, 0}}, "no bounds": {Counts: []float64{1}}} {
		if got := h.Quantile(0.5); got != 0 {
			t.Errorf("%s: %v, want 0", what, got)
		}
	}
}

func TestHistogramSince(t *testing.T) {
	before := Histogram{Bounds: []float64{1}, Counts: []float64{3, 1}}
	after := Histogram{Bounds: []float64{1}, Counts: []float64{5, 1}}
	if got := after.Since(before); got.Counts[0] != 2 || got.Counts[1] != 0 {
		t.Errorf("got %v, want 2 and 0", got.Counts)
	}
	if got := before.Since(after); got.Counts[0] != 3 {
		t.Errorf("the process has started anew: got %v, want all of it", got.Counts)
	}
	if got := after.Plus(before); got.Counts[0] != 8 || got.Counts[1] != 2 {
		t.Errorf("got %v, want 8 and 2", got.Counts)
	}
	if got := (Histogram{}).Plus(after); got.Counts[0] != 5 {
		t.Errorf("got %v, want what the other has", got.Counts)
	}
}
