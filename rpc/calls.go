package rpc

import (
	"context"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// How long a call may take.
const (
	defaultTime = 5 * time.Second  // if its caller does not say
	mostTime    = 30 * time.Second // whatever its caller says
)

// timed gives ctx the deadline of a call.
func timed(ctx context.Context) (context.Context, context.CancelFunc) {
	most := mostTime
	if _, ok := ctx.Deadline(); !ok {
		most = defaultTime
	}
	return context.WithTimeout(ctx, most)
}

// Check implements jeton.v1.Limiter.
func (s *Server) Check(ctx context.Context, m *pb.CheckRequest) (*pb.CheckResponse, error) {
	d, err := s.limiter.Check(ctx, pb.DecodeRequest(m))
	if err != nil {
		return nil, err
	}
	return &pb.CheckResponse{Decision: pb.EncodeDecision(d)}, nil
}

// CheckBatch implements jeton.v1.Limiter.
func (s *Server) CheckBatch(ctx context.Context, m *pb.CheckBatchRequest) (*pb.CheckBatchResponse, error) {
	if err := atMostABatch(len(m.GetChecks())); err != nil {
		return nil, err
	}
	requests := make([]limit.Request, len(m.GetChecks()))
	for i, check := range m.GetChecks() {
		requests[i] = pb.DecodeRequest(check)
	}
	out := &pb.CheckBatchResponse{Results: make([]*pb.CheckResult, len(requests))}
	for i, r := range s.limiter.CheckBatch(ctx, requests) {
		out.Results[i] = pb.EncodeResult(r)
	}
	return out, nil
}

func atMostABatch(n int) error {
	if n <= limit.MaxBatch {
		return nil
	}
	return &limit.FieldError{Field: "checks", Problem: fmt.Sprintf("%d requests are too many: at most %d", n, limit.MaxBatch)}
}

// Return implements jeton.v1.Limiter.
func (s *Server) Return(ctx context.Context, m *pb.ReturnRequest) (*pb.ReturnResponse, error) {
	receipts, err := pb.DecodeReceipts(m.GetReceipts())
	if err != nil {
		return nil, err
	}
	returned, err := s.limiter.Return(ctx, m.GetKey(), receipts)
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
