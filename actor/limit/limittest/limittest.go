// Package limittest makes valid limits of every algorithm, for the suites that run over [limit.Algorithms]. Start with [Of].
package limittest

import (
	"math/big"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The windows that limits may have.
const (
	shortest = time.Millisecond
	longest  = limit.MaxFill / 2

	shortestMoving = 60 * time.Millisecond
	most           = 500 // of the limits that count entries
)

// Of is a limit of the algorithm that admits capacity tokens at once, and about as many as refill brings in the long run. One that
// has no refill has windows as long as a bucket would take to fill, within their bounds.
func Of(algorithm, name string, capacity int64, refill limit.Refill) limit.Limit {
	l := limit.Limit{Name: name, Algorithm: algorithm, Capacity: capacity}
	fields := limit.Fields(algorithm)
	if slices.Contains(fields, "refill") {
		l.Refill = refill
	}
	if slices.Contains(fields, "window") {
		l.Window = min(max(fill(capacity, refill), shortest, time.Duration(min(capacity, int64(longest)))), longest)
	}
	if slices.Contains(limit.Counting(), algorithm) {
		l.Capacity, l.Window = min(capacity, most), max(l.Window, shortestMoving)
	}
	if slices.Contains(fields, "lease") {
		l.Window, l.Lease = 0, min(max(fill(capacity, refill), time.Second), 24*time.Hour)
	}
	return l
}

// fill is how long an empty bucket takes to fill, and longest where that does not fit.
func fill(capacity int64, refill limit.Refill) time.Duration {
	product := new(big.Int).Mul(big.NewInt(capacity), big.NewInt(int64(refill.Per)))
	if product.Quo(product, big.NewInt(refill.Tokens)); product.IsInt64() {
		return time.Duration(product.Int64())
	}
	return longest
}
