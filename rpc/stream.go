package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// maxUnanswered is how many checks of one stream may be under way. A full message fits.
const maxUnanswered = limit.MaxBatch

// errStopping ends the streams of a node that stops, when their checks have been answered.
var errStopping = fmt.Errorf("%w: the node is stopping", limit.ErrUnavailable)

// A checkStream is one call of CheckStream:
//
//	client ─▶ read ─▶ requests ─▶ run ─▶ a goroutine for each check ─▶ answers ─▶ run ─▶ client
//
// run takes a message only when it has started every check of the one before, and starts a check only while fewer than
// maxUnanswered are. So a client that does not read its answers is not read either, and has to wait.
type checkStream struct {
	grpc.BidiStreamingServer[pb.CheckStreamRequest, pb.CheckStreamResponse]

	server   *Server
	requests chan []*pb.StreamCheck // closed by read at its end
	broken   error                  // why read ended; nil when the client was done. Read it after requests was closed
	answers  chan *pb.StreamResult  // maxUnanswered fit, so a check never waits to hand over its answer
	checks   sync.WaitGroup         // the goroutines of checks
}

// CheckStream implements jeton.v1.Limiter.
func (s *Server) CheckStream(stream grpc.BidiStreamingServer[pb.CheckStreamRequest, pb.CheckStreamResponse]) error {
	c := &checkStream{
		BidiStreamingServer: stream,
		server:              s,
		requests:            make(chan []*pb.StreamCheck),
		answers:             make(chan *pb.StreamResult, maxUnanswered),
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer c.checks.Wait()
	defer cancel()
	s.readers.Go(func() { c.read(ctx) })
	return c.run(ctx)
}

// read hands the messages of the client over to run. It ends when the client does, or when the call has.
func (c *checkStream) read(ctx context.Context) {
	defer close(c.requests)
	for {
		m, err := c.Recv()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = atMostABatch(len(m.GetChecks()))
		}
		if err != nil {
			c.broken = err
			return
		}
		select {
		case c.requests <- m.GetChecks():
		case <-ctx.Done():
			return
		}
	}
}

// run starts what read brings and sends what was decided, until there is no more of either.
func (c *checkStream) run(ctx context.Context) error {
	var (
		requests   = c.requests // nil when no more are wanted
		stopping   = c.server.stopping
		todo       []*pb.StreamCheck
		start      func(*pb.StreamCheck) // for those of todo
		unanswered int
		end        error
	)
	for requests != nil || len(todo) > 0 || unanswered > 0 {
		for ; len(todo) > 0 && unanswered < maxUnanswered; todo = todo[1:] {
			start(todo[0])
			unanswered++
		}
		incoming := requests
		if len(todo) > 0 {
			incoming = nil
		}
		select {
		case checks, ok := <-incoming:
			if !ok && c.broken != nil {
				return c.broken
			}
			if !ok {
				requests = nil
				continue
			}
			todo, start = checks, c.starter(ctx, len(checks))
		case first := <-c.answers:
			ready := c.ready(first)
			if err := c.Send(&pb.CheckStreamResponse{Results: ready}); err != nil {
				return err
			}
			unanswered -= len(ready)
		case <-stopping:
			requests, stopping, end = nil, nil, errStopping
		}
	}
	return end
}

// starter makes the checks of one message, n of them, answer themselves. They share one deadline: a timer for each
// would cost as much as deciding.
func (c *checkStream) starter(ctx context.Context, n int) func(*pb.StreamCheck) {
	ctx, cancel := timed(ctx)
	if n == 0 {
		cancel()
	}
	var decided atomic.Int64
	return func(check *pb.StreamCheck) {
		c.checks.Go(func() {
			result := c.server.decide(ctx, check.GetCheck())
			if decided.Add(1) == int64(n) {
				cancel()
			}
			c.answers <- &pb.StreamResult{Id: check.GetId(), Result: result}
		})
	}
}

// ready are the answers that can go in one message with first.
func (c *checkStream) ready(first *pb.StreamResult) []*pb.StreamResult {
	results := []*pb.StreamResult{first}
	for {
		select {
		case r := <-c.answers:
			results = append(results, r)
		default:
			return results
		}
	}
}

// decide is Check for a request of a stream, whose errors are answers too.
func (s *Server) decide(ctx context.Context, m *pb.CheckRequest) *pb.CheckResult {
	start := time.Now()
	var d limit.Decision
	err := safely(s.metrics.panics, func() (err error) {
		d, err = s.limiter.Check(ctx, pb.DecodeRequest(m))
		return err
	})
	s.metrics.observe(pb.Limiter_CheckStream_FullMethodName, err, start)
	s.logFault(ctx, pb.Limiter_CheckStream_FullMethodName, err)
	return pb.EncodeResult(limit.Result{Decision: d, Err: err})
}
