package bench

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

const (
	// reachWithin is how long a node may take to answer the first call.
	reachWithin = 5 * time.Second
	// maxAnswer is the most bytes of an answer, as in the Go client.
	maxAnswer = 16 << 20
)

// dialRaw is a dialer of one server that uses the generated client as it is: the Go client gathers checks that wait into
// batches of its own.
func dialRaw(ctx context.Context, servers []string, l Load, cpu func() time.Duration) (service, error) {
	return dial(ctx, servers[0], l, cpu)
}

// dial makes a service of the gRPC server at that address, which is asked once, without charging anything, whether it
// knows the limit.
func dial(ctx context.Context, server string, l Load, cpu func() time.Duration) (service, error) {
	transport := insecure.NewCredentials()
	if l.TLS != nil {
		transport = credentials.NewTLS(l.TLS)
	}
	conns, err := connect(server, transport, l.Connections)
	if err != nil {
		return service{}, err
	}
	for _, c := range conns {
		if err := ask(ctx, pb.NewLimiterClient(c), server, l.Limit); err != nil {
			return service{}, errors.Join(err, closeAll(conns))
		}
	}
	return shared(conns, cpu, func(c *grpc.ClientConn) caller { return newGRPCCaller(pb.NewLimiterClient(c), l) }), nil
}

// connect makes so many connections to a server.
func connect(server string, transport credentials.TransportCredentials, n int) (conns []*grpc.ClientConn, err error) {
	for range n {
		conn, err := grpc.NewClient("passthrough:///"+server,
			grpc.WithTransportCredentials(transport),
			grpc.WithNoProxy(),
			grpc.WithDisableRetry(),
			grpc.WithDisableServiceConfig(),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		)
		if err != nil {
			return nil, errors.Join(flagError("server", "%s: %w", server, err), closeAll(conns))
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

// shared is a service whose callers share connections.
func shared(conns []*grpc.ClientConn, cpu func() time.Duration, call func(*grpc.ClientConn) caller) service {
	return service{
		caller: func(number int) caller { return call(conns[number%len(conns)]) },
		cpu:    cpu,
		close:  func() error { return closeAll(conns) },
	}
}

func closeAll(conns []*grpc.ClientConn) error {
	var errs []error
	for _, c := range conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// ask looks at a bucket, which opens the connection and shows whether the node knows the limit.
func ask(ctx context.Context, c pb.LimiterClient, server string, ref limit.Ref) error {
	within, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	peek := pb.EncodeRequest(limit.Request{Key: "jeton-bench", Limits: []limit.Ref{ref}, Look: true})
	_, err := c.Check(within, peek)
	if ctx.Err() != nil {
		return errInterrupted
	}
	switch status.Code(err) {
	case codes.OK:
		return nil
	case codes.NotFound:
		return flagError("limit", "the node at %s has no limit %q: jeton limits get shows those it has, "+
			"and --capacity with --refill defines one for this run", server, ref.Name)
	case codes.InvalidArgument:
		return flagError("limit", "the node at %s refuses it: %s", server, status.Convert(err).Message())
	case codes.Unimplemented:
		return flagError("server", "%s is no jeton node: %s", server, status.Convert(err).Message())
	default:
		return flagError("server", "no answer from a node at %s: %s: is jeton serve running there?", server, status.Convert(err).Message())
	}
}

// newGRPCCaller makes a caller whose requests are made once and sent again and again, with other keys.
func newGRPCCaller(c pb.LimiterClient, l Load) caller {
	requests := make([]*pb.CheckRequest, l.Batch)
	for i := range requests {
		requests[i] = pb.EncodeRequest(limit.Request{Limits: []limit.Ref{l.Limit}, Cost: 1})
	}
	if l.Batch == 1 {
		return &unaryCaller{client: c, request: requests[0]}
	}
	return &batchCaller{client: c, request: &pb.CheckBatchRequest{Checks: requests}}
}

// A unaryCaller makes a call of Check.
type unaryCaller struct {
	client  pb.LimiterClient
	request *pb.CheckRequest
}

func (c *unaryCaller) call(ctx context.Context, keys []string, t *tally) bool {
	c.request.Key = keys[0]
	answer, err := c.client.Check(ctx, c.request)
	if err != nil {
		return t.failedCall(ctx, err, 1)
	}
	t.decided(answer.GetDecision().GetAllowed())
	return true
}

// A batchCaller makes a call of CheckBatch.
type batchCaller struct {
	client  pb.LimiterClient
	request *pb.CheckBatchRequest
}

func (c *batchCaller) call(ctx context.Context, keys []string, t *tally) bool {
	for i, key := range keys {
		c.request.Checks[i].Key = key
	}
	answer, err := c.client.CheckBatch(ctx, c.request)
	if err != nil {
		return t.failedCall(ctx, err, len(keys))
	}
	for _, r := range answer.GetResults() {
		if d := r.GetDecision(); d != nil {
			t.decided(d.GetAllowed())
		} else {
			t.failedCheck(r.GetError().GetCode(), r.GetError().GetMessage())
		}
	}
	if missing := len(keys) - len(answer.GetResults()); missing != 0 {
		t.failed("Internal", "an answer of the wrong length", int64(missing))
	}
	return true
}
