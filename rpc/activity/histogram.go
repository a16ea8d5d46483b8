package activity

import "slices"

// A Histogram counts durations. The zero value has counted none.
type Histogram struct {
	// Bounds are the upper ends of the buckets in seconds, rising; a last bucket without one follows.
	Bounds []float64 `json:"bounds,omitempty"`
	// Counts has one number for each bucket, and one more: what fell into it, and not into those before.
	Counts []float64 `json:"counts,omitempty"`
}

// Since is what h has counted since an earlier state of the same histogram. Where before is of other buckets, or of another life
// of the process, it is all that h has counted.
func (h Histogram) Since(before Histogram) Histogram {
	if !slices.Equal(h.Bounds, before.Bounds) || len(h.Counts) != len(before.Counts) {
		return h
	}
	out := Histogram{Bounds: h.Bounds, Counts: make([]float64, len(h.Counts))}
	for i := range h.Counts {
		if out.Counts[i] = h.Counts[i] - before.Counts[i]; out.Counts[i] < 0 {
			return h
		}
	}
	return out
}

// Plus is what both have counted. One of other buckets than h is left out, unless h has counted nothing.
func (h Histogram) Plus(other Histogram) Histogram {
	switch {
	case len(h.Counts) == 0:
		return other
	case !slices.Equal(h.Bounds, other.Bounds) || len(h.Counts) != len(other.Counts):
		return h
	}
	out := Histogram{Bounds: h.Bounds, Counts: make([]float64, len(h.Counts))}
	for i := range h.Counts {
		out.Counts[i] = h.Counts[i] + other.Counts[i]
	}
	return out
}

// Quantile is in seconds, for a share of 0 to 1, on a straight line within its bucket; 0 where nothing was counted. Beyond the last bound
// it is that bound.
func (h Histogram) Quantile(share float64) float64 {
	total := 0.0
	for _, n := range h.Counts {
		total += n
	}
	if total <= 0 || len(h.Bounds) == 0 || len(h.Counts) != len(h.Bounds)+1 {
		return 0
	}
	rank, below := share*total, 0.0
	for i, bound := range h.Bounds {
		n := h.Counts[i]
		if n > 0 && below+n >= rank {
			from := 0.0
			if i > 0 {
				from = h.Bounds[i-1]
			}
			return min(bound, from+(bound-from)*(rank-below)/n)
		}
		below += n
	}
	return h.Bounds[len(h.Bounds)-1]
}
