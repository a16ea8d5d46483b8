package bench

import "slices"

// A Spread is what came out of a few measurements of the same.
type Spread[T ~int64 | ~float64] struct {
	Median T `json:"median"`
	Min    T `json:"min"`
	Max    T `json:"max"`
}

// spreadOf is that of at least one value. The median of an even number of values is the mean of the two in the middle.
func spreadOf[T ~int64 | ~float64](values []T) Spread[T] {
	if len(values) == 0 {
		return Spread[T]{}
	}
	v := slices.Sorted(slices.Values(values))
	middle := len(v) / 2
	median := v[middle]
	if len(v)%2 == 0 {
		median = (v[middle-1] + v[middle]) / 2
	}
	return Spread[T]{Median: median, Min: v[0], Max: v[len(v)-1]}
}

// spreadOver is the spread of one value of each item.
func spreadOver[I any, T ~int64 | ~float64](items []I, value func(I) T) Spread[T] {
	values := make([]T, len(items))
	for i, item := range items {
		values[i] = value(item)
	}
	return spreadOf(values)
}
