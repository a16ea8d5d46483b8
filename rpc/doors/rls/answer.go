package rls

import (
	"math"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	ok        = ratelimitv3.RateLimitResponse_OK
	overLimit = ratelimitv3.RateLimitResponse_OVER_LIMIT
)

type descriptorStatus = ratelimitv3.RateLimitResponse_DescriptorStatus

// answer is what Envoy gets: a status for each descriptor, in order.
func (d *Door) answer(p *plan) *ratelimitv3.RateLimitResponse {
	r := &ratelimitv3.RateLimitResponse{OverallCode: ok, Statuses: make([]*descriptorStatus, len(p.items))}
	if p.denied && !d.cfg.Shadow {
		r.OverallCode = overLimit
	}
	room := make([]struct {
		status descriptorStatus
		reset  durationpb.Duration
	}, len(p.items))
	for i := range p.items {
		s := &room[i].status
		s.DurationUntilReset = &room[i].reset
		p.status(&p.items[i], s)
		r.Statuses[i] = s
	}
	r.ResponseHeadersToAdd = d.cfg.Headers.of(r.GetStatuses())
	if d.cfg.Metadata {
		r.DynamicMetadata = p.metadata()
	}
	return r
}

// status is what is said of one descriptor.
func (p *plan) status(i *item, s *descriptorStatus) {
	s.Code = ok
	reset := time.Duration(0)
	switch i.kind {
	case free, replaced:
	case unlimited:
		s.LimitRemaining = math.MaxUint32
	case nothing:
		s.CurrentLimit, reset = i.current, i.period
		if !i.passes() {
			s.Code = overLimit
		}
	case asked:
		a := &p.asks[i.ask]
		if a.denies() {
			s.Code = overLimit
		}
		if a.known {
			s.CurrentLimit, reset = i.current, a.out.ResetAfter
			s.LimitRemaining = uint32(min(max(a.out.Remaining, 0), math.MaxUint32))
			if a.denies() && a.out.RetryAfter > 0 {
				reset = a.out.RetryAfter
			}
		}
	}
	if s.CurrentLimit == nil {
		s.DurationUntilReset = nil
		return
	}
	s.DurationUntilReset.Seconds, s.DurationUntilReset.Nanos = int64(reset/time.Second), int32(reset%time.Second)
}
