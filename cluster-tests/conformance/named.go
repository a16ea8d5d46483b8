package conformance

import (
	"context"
	"crypto/rand"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Named is a client whose checks have ids: what it asks again where a machine stands still is charged once.
func Named(client limit.Limiter) limit.Limiter { return named{client} }

type named struct{ limit.Limiter }

// Check implements [limit.Limiter].
func (n named) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	return n.Limiter.Check(ctx, withID(r))
}

// CheckBatch implements [limit.Limiter].
func (n named) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	rs = slices.Clone(rs)
	for i, r := range rs {
		rs[i] = withID(r)
	}
	return n.Limiter.CheckBatch(ctx, rs)
}

// withID is the request, with an id if it has none.
func withID(r limit.Request) limit.Request {
	if r.ID == "" {
		r.ID = rand.Text()
	}
	return r
}
