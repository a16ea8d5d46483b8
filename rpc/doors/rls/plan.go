package rls

import (
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// A plan is one request, with the rule of each descriptor and what is to be asked.
type plan struct {
	state   *state
	request *ratelimitv3.RateLimitRequest
	items   []item
	asks    []ask
	denied  bool

	room struct { // of what most requests have, so that it is allocated once
		items [1]item
		asks  [1]ask
	}
}

func newPlan(s *state, r *ratelimitv3.RateLimitRequest) *plan {
	p := &plan{state: s, request: r}
	if n := len(r.GetDescriptors()); n <= len(p.room.items) {
		p.items, p.asks = p.room.items[:n], p.room.asks[:0]
	} else {
		p.items, p.asks = make([]item, n), make([]ask, 0, min(n, limit.MaxAll))
	}
	return p
}

// A kind says what becomes of a descriptor.
type kind uint8

const (
	free      kind = iota // no rule: it passes
	replaced              // another descriptor's rule replaces its own: it passes
	unlimited             // its rule says so
	nothing               // its limit admits nothing: no bucket is asked
	asked                 // its ask says
)

// An item is one descriptor.
type item struct {
	kind    kind
	rule    *descriptors.Rule // nil if there is none, or the request defines the limit
	name    string            // of the rule in metrics, if that depends on the request
	current *ratelimitv3.RateLimitResponse_RateLimit
	period  time.Duration // of a limit that admits nothing
	hits    int64
	ask     int // in plan.asks, if asked
}

// passes says whether i cannot deny whatever its bucket holds.
func (i *item) passes() bool { return i.rule != nil && (i.rule.Shadow || i.rule.Quota) }

// over says whether the limit of i does not have the hits, whatever that means for the request.
func (p *plan) over(i *item) bool {
	return i.kind == nothing || i.kind == asked && p.asks[i.ask].over
}
