package rlqs

import (
	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
)

// A usage is what Envoy reports of one bucket.
type usage struct {
	id              *rlqsv3.BucketId
	allowed, denied uint64
	elapsed         int64 // nanoseconds; 0 for unknown
}

// mostReported is how many requests of a bucket a report may have let pass, or denied: what says more counts as so many.
const mostReported = 1_000_000_000

// usageOf reads a report of one bucket. What it says of time may be anything.
func usageOf(u *rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage) usage {
	out := usage{id: u.GetBucketId(), allowed: min(u.GetNumRequestsAllowed(), mostReported), denied: min(u.GetNumRequestsDenied(), mostReported)}
	if e := u.GetTimeElapsed(); e.IsValid() {
		out.elapsed = int64(e.AsDuration())
	}
	return out
}
