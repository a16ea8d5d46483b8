package rlqs

import (
	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// maxActions is how many actions a message has at most.
const maxActions = 500

// wire is an action as Envoy takes it.
func (a *action) wire() *rlqsv3.RateLimitQuotaResponse_BucketAction {
	out := &rlqsv3.RateLimitQuotaResponse_BucketAction{BucketId: a.id}
	if a.strategy == nil {
		out.BucketAction = &rlqsv3.RateLimitQuotaResponse_BucketAction_AbandonAction_{AbandonAction: &rlqsv3.RateLimitQuotaResponse_BucketAction_AbandonAction{}}
		return out
	}
	out.BucketAction = &rlqsv3.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction_{QuotaAssignmentAction: &rlqsv3.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction{
		AssignmentTimeToLive: &durationpb.Duration{Seconds: seconds(a.life)}, RateLimitStrategy: a.strategy,
	}}
	return out
}

// kind is that of an action, in metrics.
func (a *action) kind() string {
	switch {
	case a.strategy == nil:
		return abandon
	case a.of != nil:
		return tokens
	}
	return deny
}
