package rls

import (
	"cmp"
	"strconv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// Headers are what Envoy adds to the response for the client: of the limit that denied, or else of the one with the fewest left.
type Headers struct {
	// Enabled adds them.
	Enabled bool
	// Limit, Remaining and Reset are their names. Empty means RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset. The last one
	// has whole seconds, rounded up.
	Limit, Remaining, Reset string
}

func (h *Headers) setDefaults() {
	h.Limit = cmp.Or(h.Limit, "RateLimit-Limit")
	h.Remaining = cmp.Or(h.Remaining, "RateLimit-Remaining")
	h.Reset = cmp.Or(h.Reset, "RateLimit-Reset")
}

// of are the headers for the statuses of an answer; none if no descriptor is limited.
func (h *Headers) of(statuses []*ratelimitv3.RateLimitResponse_DescriptorStatus) []*corev3.HeaderValue {
	if !h.Enabled {
		return nil
	}
	var s *ratelimitv3.RateLimitResponse_DescriptorStatus
	for _, other := range statuses {
		if other.GetCurrentLimit() != nil && (s == nil || nearer(other, s)) {
			s = other
		}
	}
	if s == nil {
		return nil
	}
	seconds := (s.GetDurationUntilReset().AsDuration() + time.Second - 1) / time.Second
	return []*corev3.HeaderValue{
		{Key: h.Limit, Value: strconv.FormatUint(uint64(s.GetCurrentLimit().GetRequestsPerUnit()), 10)},
		{Key: h.Remaining, Value: strconv.FormatUint(uint64(s.GetLimitRemaining()), 10)},
		{Key: h.Reset, Value: strconv.FormatInt(int64(seconds), 10)},
	}
}

// nearer says whether a tells the client more than b: it denied, and for longer, or has fewer left.
func nearer(a, b *ratelimitv3.RateLimitResponse_DescriptorStatus) bool {
	switch {
	case a.GetCode() != b.GetCode():
		return a.GetCode() == ratelimitv3.RateLimitResponse_OVER_LIMIT
	case a.GetCode() == ratelimitv3.RateLimitResponse_OVER_LIMIT:
		return a.GetDurationUntilReset().AsDuration() > b.GetDurationUntilReset().AsDuration()
	default:
		return a.GetLimitRemaining() < b.GetLimitRemaining()
	}
}
