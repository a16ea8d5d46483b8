package gubernator

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// defaultTime is how long a call without a deadline may take.
const defaultTime = time.Second

// A service is pb.gubernator.V1.
type service struct {
	gubernatorpb.UnimplementedV1Server

	decider decider
	stored  func() *limit.Document
	keeps   bool // items that fill buckets are refused
	health  health
	metrics *doorMetrics
	logger  *slog.Logger
}

// errTooLarge refuses a request with too many items, in gubernator's words.
var errTooLarge = status.Errorf(codes.OutOfRange, "Requests.RateLimits list too large; max size is '%d'", gubernatorpb.MaxItems)

// errKept refuses an item that would fill a bucket.
var errKept = invalidError("field 'behavior' cannot have RESET_REMAINING: it fills a bucket, and only operators of this cluster may")

// GetRateLimits decides the items of m, and answers in their order. Its one error of its own is errTooLarge.
func (s *service) GetRateLimits(ctx context.Context, m *gubernatorpb.GetRateLimitsReq) (*gubernatorpb.GetRateLimitsResp, error) {
	requests := m.GetRequests()
	if len(requests) > gubernatorpb.MaxItems {
		s.metrics.refused.Inc()
		return nil, errTooLarge
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultTime)
		defer cancel()
	}
	reader := reader{stored: s.stored()}
	items, answers := make([]*item, len(requests)), make([]*gubernatorpb.RateLimitResp, len(requests))
	for i, r := range requests {
		it, err := reader.read(r)
		if err == nil && it.reset && s.keeps {
			err = errKept
		}
		if err != nil {
			it = nil
			answers[i] = s.failed(r, err)
		}
		items[i] = it
	}
	s.decider.decide(ctx, items)
	now := s.decider.now()
	for i, it := range items {
		switch {
		case it == nil:
		case it.result.Err != nil:
			answers[i] = s.failed(requests[i], it.result.Err)
		default:
			answers[i] = answer(it, now)
			s.metrics.answered(outcomeOf(answers[i]))
		}
	}
	return &gubernatorpb.GetRateLimitsResp{Responses: answers}, nil
}

func outcomeOf(m *gubernatorpb.RateLimitResp) string {
	if m.GetStatus() == gubernatorpb.Status_OVER_LIMIT {
		return overLimit
	}
	return underLimit
}

// failed is the answer to an item of which there is no decision.
func (s *service) failed(r *gubernatorpb.RateLimitReq, err error) *gubernatorpb.RateLimitResp {
	err = asItem(err)
	if wrong, ok := errors.AsType[invalidError](err); ok {
		s.metrics.answered(invalid)
		return &gubernatorpb.RateLimitResp{Error: wrong.Error()}
	}
	s.metrics.answered(undecided)
	return &gubernatorpb.RateLimitResp{
		Error: "while deciding rate limit " + limit.Quote(r.GetName()+"_"+r.GetUniqueKey()) + ": " + err.Error(),
	}
}

// HealthCheck says whether the node decides.
func (s *service) HealthCheck(context.Context, *gubernatorpb.HealthCheckReq) (*gubernatorpb.HealthCheckResp, error) {
	return s.health.check()
}

// LiveCheck says that the process answers.
func (*service) LiveCheck(context.Context, *gubernatorpb.LiveCheckReq) (*gubernatorpb.LiveCheckResp, error) {
	return &gubernatorpb.LiveCheckResp{}, nil
}
