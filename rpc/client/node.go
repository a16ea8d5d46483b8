package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A node is one node of the cluster: connections to it, the checks on their way there, and how it does. Or it is the
// program's own node, which is asked without any of this and is always good.
type node struct {
	address string
	local   limit.Limiter // the own node; nil for all others

	conns  []*grpc.ClientConn
	turn   atomic.Uint32 // of conns
	queue  *queue
	health *health
	cancel context.CancelFunc // ends what health runs

	token   func() string // of an operator; nil for none
	private bool          // nobody reads what is said on the way to the node

	secure    *tls.Config // nil for plain text
	dial      dialer
	suspicion suspicion

	marked func(context.Context) context.Context // puts the marks of a routed call on its context
	stale  func(n *node, version uint64)         // is told that n has a table of that version
}

// open opens the connections of a node when they are first needed. Without dial they are plain TCP.
func (n *node) open(connections int, secure *tls.Config, dial func(context.Context, string) (net.Conn, error)) error {
	if n.secure, n.dial = secure, dial; dial == nil {
		n.dial = dialTCP
	}
	for range connections {
		conn, err := connect(n.address, secure, dial)
		if err != nil {
			return errors.Join(fmt.Errorf("jeton client: %s: %w", n.address, err), n.closeConns())
		}
		n.conns = append(n.conns, conn)
	}
	return nil
}

// close gives up what is under way and closes the connections.
func (n *node) close() error {
	n.cancel()
	err := n.closeConns()
	n.queue.close()
	return err
}

func (n *node) closeConns() error {
	var errs []error
	for _, conn := range n.conns {
		if err := conn.Close(); err != nil && status.Code(err) != codes.Canceled { // closed already
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// good says whether the node can be expected to answer.
func (n *node) good() bool { return n.local != nil || n.health.standing() == good }

// bad says whether the node is known not to answer.
func (n *node) bad() bool { return n.local == nil && n.health.standing() == bad }

// conn is the connection whose turn it is. One that just failed to open is passed over.
func (n *node) conn() *grpc.ClientConn {
	turn := int(n.turn.Add(1) % (1 << 16))
	for i := range n.conns {
		conn := n.conns[(turn+i)%len(n.conns)]
		if conn.GetState() != connectivity.TransientFailure {
			return conn
		}
	}
	return n.conns[turn%len(n.conns)]
}

// down says whether no connection is open, and how one of them is.
func (n *node) down() (connectivity.State, bool) {
	var state connectivity.State
	for _, conn := range n.conns {
		if state = conn.GetState(); state == connectivity.Ready {
			return state, false
		}
	}
	return state, true
}

// errRefuses is why a node is bad that answers every check with an error.
var errRefuses = fmt.Errorf("%w: the node refuses every check at present", limit.ErrUnavailable)

// A refusedError is the error of a node that refuses every check at present.
type refusedError struct{ error }

func (e refusedError) Unwrap() error { return e.error }

// answered says whether it was the node that ended a call so, and draws the conclusion from an error that means that it
// cannot be asked.
func (n *node) answered(err error) bool {
	switch {
	case err == nil:
		n.suspicion.clear()
		return true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errTooMany), errors.Is(err, errClosed):
		return false
	case !errors.Is(err, limit.ErrUnavailable):
		return true
	}
	_, refused := errors.AsType[refusedError](err)
	if _, down := n.down(); down || refused {
		n.health.fail(err)
		return false
	}
	return true
}

// probe asks the node whether it serves, and if it does not, looks what keeps it from being asked. It first tries to connect,
// however long the next attempt would be off.
func (n *node) probe(ctx context.Context) error {
	err := n.askHealth(ctx)
	if err != nil {
		n.suspect(context.WithoutCancel(ctx), fmt.Errorf("%w: %w", limit.ErrUnavailable, err))
	}
	return err
}

func (n *node) askHealth(ctx context.Context) error {
	conn := n.conn()
	if conn.GetState() == connectivity.TransientFailure { // before a first attempt, grpc-go would race with making it
		conn.ResetConnectBackoff()
	}
	m, err := healthpb.NewHealthClient(conn).Check(ctx,
		&healthpb.HealthCheckRequest{Service: pb.Limiter_ServiceDesc.ServiceName}, grpc.WaitForReady(true))
	switch {
	case status.Code(err) == codes.Unimplemented || status.Code(err) == codes.NotFound:
		return nil // it speaks, if not of its health
	case err != nil:
		return err
	case m.GetStatus() != healthpb.HealthCheckResponse_SERVING:
		return errors.New(m.GetStatus().String())
	}
	return nil
}

// hear reads what an answer says beside itself, and returns the error of the call as it is on this side of the wire.
func (n *node) hear(trailer metadata.MD, err error) error {
	if len(trailer) > 0 {
		if v := trailer[pb.TableVersion]; len(v) > 0 {
			if version, err := strconv.ParseUint(v[0], 10, 64); err == nil {
				n.stale(n, version)
			}
		}
		if len(trailer[pb.MarkRefuses]) > 0 {
			if err == nil { // the answers were errors one by one
				n.health.fail(errRefuses)
				return nil
			}
			return refusedError{pb.DecodeError(err)}
		}
	}
	return pb.DecodeError(err)
}

// check sends one check, together with others.
func (n *node) check(ctx context.Context, m *pb.CheckRequest) (limit.Decision, error) {
	result := n.queue.do(ctx, m)
	if result.Err == nil {
		result.Decision.Node = n.address
	}
	return result.Decision, result.Err
}

// send is the sender of the queue: a check by itself is a call of Check, several are a CheckStream that lasts until they
// are answered, so that one which waits for a disk holds up no other.
func (n *node) send(ctx context.Context, checks []*pb.CheckRequest, answer func(int, limit.Result)) error {
	ctx = n.marked(ctx)
	client := pb.NewLimiterClient(n.conn())
	if len(checks) > 1 {
		stream, err := client.CheckStream(ctx)
		if err != nil {
			return pb.DecodeError(err)
		}
		err = converse(stream, checks, answer)
		return n.hear(stream.Trailer(), err)
	}
	var trailer metadata.MD
	m, err := client.Check(ctx, checks[0], grpc.Trailer(&trailer))
	if err := n.hear(trailer, err); err != nil {
		return err
	}
	d, err := pb.DecodeDecision(m.GetDecision())
	answer(0, limit.Result{Decision: d, Err: err})
	return nil
}

// converse sends checks and hands out the answers until the stream ends.
func converse(stream grpc.BidiStreamingClient[pb.CheckStreamRequest, pb.CheckStreamResponse], checks []*pb.CheckRequest, answer func(int, limit.Result)) error {
	m := &pb.CheckStreamRequest{Checks: make([]*pb.StreamCheck, len(checks))}
	for i, check := range checks {
		m.Checks[i] = &pb.StreamCheck{Id: uint64(i), Check: check}
	}
	if err := stream.Send(m); err != nil && !errors.Is(err, io.EOF) { // EOF: Recv says why
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, r := range m.GetResults() {
			if r.GetId() < uint64(len(checks)) {
				answer(int(r.GetId()), pb.DecodeResult(r.GetResult()))
			}
		}
	}
}

// sendBatch sends checks in one message.
func (n *node) sendBatch(ctx context.Context, checks []*pb.CheckRequest) ([]limit.Result, error) {
	var trailer metadata.MD
	m, err := pb.NewLimiterClient(n.conn()).CheckBatch(n.marked(ctx), &pb.CheckBatchRequest{Checks: checks}, grpc.Trailer(&trailer))
	if err := n.hear(trailer, err); err != nil {
		return nil, err
	}
	if len(m.GetResults()) != len(checks) {
		return nil, errNoAnswer
	}
	results := make([]limit.Result, len(checks))
	for i, r := range m.GetResults() {
		if results[i] = pb.DecodeResult(r); results[i].Err == nil {
			results[i].Decision.Node = n.address
		}
	}
	return results, nil
}
