package main

// arrivals are how many checks came in each step of time, since the epoch.
type arrivals []int64

func (a *arrivals) add(at, cost int64) {
	i := (at - epoch) / step
	for int64(len(*a)) <= i {
		*a = append(*a, 0)
	}
	(*a)[i] += cost
}

// most is the most that came within so many nanoseconds.
func (a arrivals) most(ns int64) (most int64) {
	steps, sum := int(ns/step)+2, int64(0) // the first and the last one count in full
	for i, n := range a {
		if sum += n; i >= steps {
			sum -= a[i-steps]
		}
		most = max(most, sum)
	}
	return most
}
