package rpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// check answers Check.
func (s *Server) check(ctx context.Context, m *pb.CheckIn) (*pb.CheckOut, error) {
	d, err := s.limiter.Check(ctx, m.Request)
	if err == nil && !d.Allowed {
		err = denied(ctx, m.Request.Key, d)
	}
	if err != nil {
		return nil, err
	}
	return &pb.CheckOut{Decision: d}, nil
}

// checkBatch answers CheckBatch.
func (s *Server) checkBatch(ctx context.Context, m *pb.BatchIn) (*pb.BatchOut, error) {
	if err := atMostABatch(m.Len); err != nil {
		return nil, err
	}
	asked, err := denialsAsErrors(ctx)
	if err != nil {
		return nil, err
	}
	results := s.limiter.CheckBatch(ctx, m.Requests)
	if len(results) > 0 { // a node that refuses one refuses all
		markRefusal(ctx, results[0].Err)
	}
	if asked {
		for i := range results {
			results[i] = denialOr(asked, m.Requests[i].Key, results[i])
		}
	}
	return &pb.BatchOut{Results: results}, nil
}

func atMostABatch(n int) error {
	if n <= limit.MaxBatch {
		return nil
	}
	return &limit.FieldError{Field: "checks", Problem: fmt.Sprintf("%d requests are too many: at most %d", n, limit.MaxBatch)}
}

// checkAll answers CheckAll, whose requests arrive as those of a batch do.
func (s *Server) checkAll(ctx context.Context, m *pb.BatchIn) (*pb.CheckAllResponse, error) {
	if err := limit.ValidateAll(m.Len); err != nil {
		return nil, err
	}
	d, err := s.limiter.CheckAll(ctx, m.Requests)
	if err == nil && d.Denied != nil {
		err = denied(ctx, d.Denied.Key, d.Decisions[d.Denied.Check])
	}
	if err != nil {
		return nil, err
	}
	return pb.EncodeAllDecision(d), nil
}

// giveBack answers Return.
func (s *Server) giveBack(ctx context.Context, m *pb.ReturnIn) (*pb.ReturnResponse, error) {
	if err := limit.ValidateReturn(m.Key, m.Len); err != nil {
		return nil, err
	}
	if m.Wrong != nil {
		return nil, m.Wrong
	}
	returned, err := s.limiter.Return(ctx, m.Key, m.Receipts)
	if err != nil {
		return nil, err
	}
	return &pb.ReturnResponse{Returned: returned}, nil
}

// settle answers Settle.
func (s *Server) settle(ctx context.Context, m *pb.SettleIn) (*pb.SettleOut, error) {
	if m.Wrong != nil {
		return nil, m.Wrong
	}
	if err := m.Settlement.Validate(); err != nil {
		return nil, asMessage(err)
	}
	settled, err := s.limiter.Settle(ctx, m.Settlement)
	if err != nil {
		return nil, asMessage(err)
	}
	return &pb.SettleOut{Settled: settled}, nil
}

// asMessage is the error of a settlement, whose field it names as the message does.
func asMessage(err error) error {
	if fe, is := errors.AsType[*limit.FieldError](err); is && fe.Field == "cost" {
		return &limit.FieldError{Field: "used", Problem: fe.Problem}
	}
	return err
}

// Inspect implements jeton.v1.Limiter.
func (s *Server) Inspect(ctx context.Context, m *pb.InspectRequest) (*pb.InspectResponse, error) {
	in, err := s.limiter.Inspect(ctx, m.GetKey(), pb.DecodeRef(m.GetLimit()), m.GetPlan())
	if err != nil {
		return nil, err
	}
	return &pb.InspectResponse{Inspection: pb.EncodeInspection(in)}, nil
}

// Reset implements jeton.v1.Limiter.
func (s *Server) Reset(ctx context.Context, m *pb.ResetRequest) (*pb.ResetResponse, error) {
	if err := s.resets.Reset(ctx, m.GetKey(), pb.DecodeRef(m.GetLimit())); err != nil {
		return nil, err
	}
	return &pb.ResetResponse{}, nil
}
