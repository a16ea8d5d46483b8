package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// How connections are kept.
const (
	pingAfter      = 10 * time.Second // of silence, to find out whether the node still lives
	pongWithin     = 3 * time.Second
	connectWithin  = 2 * time.Second // before another attempt
	firstReconnect = 50 * time.Millisecond
	lastReconnect  = time.Second // the longest pause between two attempts
	maxMessage     = 16 << 20    // bytes of an answer
)

// connect makes a connection that is not yet open. The name of the server is looked up at every attempt.
func connect(server string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+server,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pongWithin, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstReconnect, Multiplier: 2, Jitter: 0.2, MaxDelay: lastReconnect},
			MinConnectTimeout: connectWithin,
		}),
	)
}

// conn is the connection whose turn it is. One that just failed to open is passed over.
func (c *Client) conn() *grpc.ClientConn {
	turn := int(c.turn.Add(1))
	for i := range c.conns {
		conn := c.conns[(turn+i)%len(c.conns)]
		if conn.GetState() != connectivity.TransientFailure {
			return conn
		}
	}
	return c.conns[turn%len(c.conns)]
}

// send is the sender of the queue: a check by itself is a call of Check, several are a CheckStream that lasts until they
// are answered, so that one which waits for a disk holds up no other.
func (c *Client) send(ctx context.Context, checks []*pb.CheckRequest, answer func(int, limit.Result)) error {
	client := pb.NewLimiterClient(c.conn())
	if len(checks) == 1 {
		m, err := client.Check(ctx, checks[0])
		if err != nil {
			return pb.DecodeError(err)
		}
		d, err := pb.DecodeDecision(m.GetDecision())
		answer(0, limit.Result{Decision: d, Err: err})
		return nil
	}
	stream, err := client.CheckStream(ctx)
	if err != nil {
		return pb.DecodeError(err)
	}
	m := &pb.CheckStreamRequest{Checks: make([]*pb.StreamCheck, len(checks))}
	for i, check := range checks {
		m.Checks[i] = &pb.StreamCheck{Id: uint64(i), Check: check}
	}
	if err := stream.Send(m); err != nil && !errors.Is(err, io.EOF) { // EOF: Recv says why
		return pb.DecodeError(err)
	}
	if err := stream.CloseSend(); err != nil {
		return pb.DecodeError(err)
	}
	return receive(stream, len(checks), answer)
}

// receive hands out the answers of a stream until it ends.
func receive(stream grpc.BidiStreamingClient[pb.CheckStreamRequest, pb.CheckStreamResponse], n int, answer func(int, limit.Result)) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return pb.DecodeError(err)
		}
		for _, r := range m.GetResults() {
			if r.GetId() < uint64(n) {
				answer(int(r.GetId()), pb.DecodeResult(r.GetResult()))
			}
		}
	}
}

// explain says of an error which node it was, and turns what the connection is to blame for into limit.ErrUnavailable.
// ctx is that of the call.
func (c *Client) explain(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*limit.FieldError](err); ok || errors.Is(err, limit.ErrUnknownLimit) {
		return err
	}
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %s", limit.ErrUnavailable, err.Error())
	}
	if state, down := c.down(); down && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no connection in time (%s)", limit.ErrUnavailable, state)
	}
	return fmt.Errorf("jeton at %s: %w", c.server, err)
}

// down says whether no connection is open, and how one of them is.
func (c *Client) down() (connectivity.State, bool) {
	var state connectivity.State
	for _, conn := range c.conns {
		if state = conn.GetState(); state == connectivity.Ready {
			return state, false
		}
	}
	return state, true
}
