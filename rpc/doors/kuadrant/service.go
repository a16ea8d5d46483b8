package kuadrant

import (
	"context"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
	"github.com/jeton-dev/jeton/rpc/pb/kuadrantpb"
)

// ownTime is how long a call may take whose caller does not say.
const ownTime = time.Second

// CheckRateLimit implements kuadrantpb.RateLimitServiceServer: are all limits of the request with one left? It takes nothing, whatever hits_addend says.
func (s service) CheckRateLimit(ctx context.Context, r *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	code, err := s.door.answer(ctx, checkCall, r, func(ctx context.Context, matches []limitfile.Match) (ratelimitv3.RateLimitResponse_Code, error) {
		return s.door.look(ctx, matches)
	})
	return &ratelimitv3.RateLimitResponse{OverallCode: code}, err
}

// Report implements kuadrantpb.RateLimitServiceServer: hits_addend was used, 1 if it is 0. It is charged as far as it fits, and the answer is OK.
func (s service) Report(ctx context.Context, r *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	code, err := s.door.answer(ctx, reportCall, r, func(ctx context.Context, matches []limitfile.Match) (ratelimitv3.RateLimitResponse_Code, error) {
		return ok, s.door.charge(ctx, usesOf(matches, int64(max(1, r.GetHitsAddend()))), "")
	})
	return &ratelimitv3.RateLimitResponse{OverallCode: code}, err
}

// Reserve implements kuadrantpb.RateLimitServiceServer: it holds the amount of all limits, or of none. An amount of 0 asks as CheckRateLimit does.
func (s service) Reserve(ctx context.Context, r *kuadrantpb.ReserveRequest) (*kuadrantpb.ReserveResponse, error) {
	answer := &kuadrantpb.ReserveResponse{}
	code, err := s.door.answer(ctx, reserveCall, r, func(ctx context.Context, matches []limitfile.Match) (code ratelimitv3.RateLimitResponse_Code, err error) {
		if r.GetAmount() == 0 {
			if code, err = s.door.look(ctx, matches); code == ok {
				answer.ReservationId = newReservation(nil).String()
			}
			return code, err
		}
		holds, code, err := s.door.hold(ctx, matches, r.GetAmount(), holdTime(r.GetTtl()))
		if code == ok {
			answer.ReservationId = newReservation(holds).String()
		}
		return code, err
	})
	answer.Code = code
	return answer, err
}

// Commit implements kuadrantpb.RateLimitServiceServer: what was used of a reservation is charged, and the rest comes back.
func (s service) Commit(ctx context.Context, r *kuadrantpb.CommitRequest) (*kuadrantpb.CommitResponse, error) {
	answer := &kuadrantpb.CommitResponse{}
	_, err := s.door.answer(ctx, commitCall, r, func(ctx context.Context, matches []limitfile.Match) (code ratelimitv3.RateLimitResponse_Code, err error) {
		answer.ReservationReleased, err = s.door.commit(ctx, matches, r.GetReservationId(), clamp(r.GetActualAmount()))
		return ok, err
	})
	return answer, err
}

// answer answers one call. The limits of the request are found, and decide answers for them. Without any, all may pass. A request without a domain is answered UNKNOWN.
func (d *Door) answer(
	ctx context.Context, call string, r question, decide func(context.Context, []limitfile.Match) (ratelimitv3.RateLimitResponse_Code, error),
) (code ratelimitv3.RateLimitResponse_Code, err error) {
	result := failed
	defer func() { d.metrics.calls.WithLabelValues(call, result).Inc() }()
	if _, timed := ctx.Deadline(); !timed {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, ownTime)
		defer cancel()
	}
	limits := d.limits.Load()
	if limits == nil {
		return unknown, d.none()
	}
	values, err := valuesOf(r)
	if err != nil {
		result = invalid
		return unknown, err
	}
	if r.GetDomain() == "" {
		result = "unknown"
		return unknown, nil
	}
	matches, err := limits.Match(r.GetDomain(), values)
	if err != nil {
		return unknown, status.Error(codes.Unavailable, err.Error())
	}
	if code, err = decide(ctx, matches); err != nil {
		return unknown, wireError(err)
	}
	result = "ok"
	if code == overLimit {
		result = "over_limit"
	}
	return code, nil
}
