package rpc

import (
	"context"
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// check answers Check.
func (s *Server) check(ctx context.Context, m *pb.CheckIn) (*pb.CheckOut, error) {
	d, err := s.limiter.Check(ctx, m.Request)
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
	return &pb.BatchOut{Results: s.limiter.CheckBatch(ctx, m.Requests)}, nil
}

func atMostABatch(n int) error {
	if n <= limit.MaxBatch {
		return nil
	}
	return &limit.FieldError{Field: "checks", Problem: fmt.Sprintf("%d requests are too many: at most %d", n, limit.MaxBatch)}
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

// Inspect implements jeton.v1.Limiter.
func (s *Server) Inspect(ctx context.Context, m *pb.InspectRequest) (*pb.InspectResponse, error) {
	in, err := s.limiter.Inspect(ctx, m.GetKey(), pb.DecodeRef(m.GetLimit()))
	if err != nil {
		return nil, err
	}
	return &pb.InspectResponse{Inspection: pb.EncodeInspection(in)}, nil
}

// Reset implements jeton.v1.Limiter.
func (s *Server) Reset(ctx context.Context, m *pb.ResetRequest) (*pb.ResetResponse, error) {
	if err := s.limiter.Reset(ctx, m.GetKey(), pb.DecodeRef(m.GetLimit())); err != nil {
		return nil, err
	}
	return &pb.ResetResponse{}, nil
}
