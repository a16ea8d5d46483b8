package kuadrant

import (
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// The codes of answers.
const (
	unknown   = ratelimitv3.RateLimitResponse_UNKNOWN
	ok        = ratelimitv3.RateLimitResponse_OK
	overLimit = ratelimitv3.RateLimitResponse_OVER_LIMIT
)
