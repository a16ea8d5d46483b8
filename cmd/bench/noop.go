package bench

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

const (
	// noopRequest and noopCalls are what a node has: the most bytes of a request, and calls of one connection under way.
	noopRequest = 8 << 20
	noopCalls   = 10_000
	// copies is how many answers of each length there are. Marshaling a message writes to it, so two processors that send
	// the same one would wait for each other.
	copies = 16
)

// ServeNoop serves jeton.v1.Limiter and decides nothing until ctx ends: Check, CheckBatch and CheckStream answer at once
// what a node would that allows, or denies, every check of the limit with that name. It does nothing but what gRPC and
// protobuf do, with the generated code, and is what a node is measured against. Where it listens is logged as a node logs
// it.
func ServeNoop(ctx context.Context, limitName string, deny bool, log *slog.Logger) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(noopRequest), grpc.MaxConcurrentStreams(noopCalls))
	pb.RegisterLimiterServer(s, newNoop(limitName, deny))
	release := context.AfterFunc(ctx, s.Stop)
	defer release()
	log.Info("serving", "grpc", l.Addr().String(), "http", "")
	return s.Serve(l)
}

// A noop answers without deciding.
type noop struct {
	pb.UnimplementedLimiterServer

	turn    atomic.Uint64
	checks  [copies]*pb.CheckResponse
	batches [limit.MaxBatch + 1][copies]*pb.CheckBatchResponse // by length
}

func newNoop(limitName string, deny bool) *noop {
	n := &noop{}
	answer := func() *pb.Decision { return pb.EncodeDecision(usual(limitName, deny)) }
	for i := range copies {
		n.checks[i] = &pb.CheckResponse{Decision: answer()}
		results := make([]*pb.CheckResult, limit.MaxBatch)
		for k := range results {
			results[k] = &pb.CheckResult{Result: &pb.CheckResult_Decision{Decision: answer()}}
		}
		for length := range n.batches {
			n.batches[length][i] = &pb.CheckBatchResponse{Results: results[:length]}
		}
	}
	return n
}

// usual is what a node answers under the limits of a comparison; see limitsFor.
func usual(limitName string, deny bool) limit.Decision {
	o := limit.Outcome{Name: limitName, Allowed: true, Limit: openCapacity, Remaining: openCapacity - 1, ResetAfter: 1}
	if deny {
		wait := 24*time.Hour - time.Minute
		o = limit.Outcome{Name: limitName, Limit: 1, RetryAfter: wait, ResetAfter: wait}
	}
	return limit.Decision{Allowed: !deny, Limits: []limit.Outcome{o}}
}

// Check implements jeton.v1.Limiter.
func (n *noop) Check(context.Context, *pb.CheckRequest) (*pb.CheckResponse, error) {
	return n.checks[n.turn.Add(1)%copies], nil
}

// CheckBatch implements jeton.v1.Limiter.
func (n *noop) CheckBatch(_ context.Context, m *pb.CheckBatchRequest) (*pb.CheckBatchResponse, error) {
	length := len(m.GetChecks())
	if length > limit.MaxBatch {
		return nil, status.Errorf(codes.InvalidArgument, "%d checks are too many", length)
	}
	return n.batches[length][n.turn.Add(1)%copies], nil
}

// CheckStream implements jeton.v1.Limiter: each message is answered by one.
func (n *noop) CheckStream(stream grpc.BidiStreamingServer[pb.CheckStreamRequest, pb.CheckStreamResponse]) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		checks := m.GetChecks()
		if len(checks) > limit.MaxBatch {
			return status.Errorf(codes.InvalidArgument, "%d checks are too many", len(checks))
		}
		usual := n.batches[len(checks)][n.turn.Add(1)%copies].GetResults()
		answer := &pb.CheckStreamResponse{Results: make([]*pb.StreamResult, len(checks))}
		for i, check := range checks {
			answer.Results[i] = &pb.StreamResult{Id: check.GetId(), Result: usual[i]}
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}
