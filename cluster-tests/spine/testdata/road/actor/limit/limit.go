// Package limit ends the road of a test.
package limit

// A Rule decides.
type Rule struct{ top int }

// Bound is where the road ends.
func (r *Rule) Bound(t int) int { return t + r.top }
