package nodes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// A Node is one node of a cluster: connections to it, the checks and settlements on their way there, and how it does. Or it is the program's own,
// which is asked without any of this and is always good.
type Node struct {
	address string
	named   bool          // by the caller, and not by a table alone
	traces  bool          // it is told of spans
	local   limit.Limiter // the own node; nil for all others

	// The rest is unset for the own node.

	marked   func(context.Context) context.Context               // puts the marks on a call that goes by the table
	routed   func() bool                                         // calls go by the table
	begin    func(func(context.Context)) bool                    // runs something while the node lives; false: the set is closed
	stale    func(n *Node, version uint64)                       // is called when the node reports that version of the table
	operator func(*Node) ([]grpc.CallOption, error)              // Config.Operator
	lookAt   func(ctx context.Context, address string) Diagnosis // Config.Diagnose

	conns  []*grpc.ClientConn
	turn   atomic.Uint32 // of conns
	talks  talks
	queue  *queue
	health *health
	cancel context.CancelFunc // ends what health runs

	diagnosed diagnosed
}

// open makes so many connections, which open when they are first needed.
func (n *Node) open(connections int, secure *tls.Config, dial dialer) error {
	for range connections {
		conn, err := connect(n.address, secure, dial)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", n.address, err), n.closeConns())
		}
		n.conns = append(n.conns, conn)
	}
	return nil
}

// close gives up what is under way and closes the connections.
func (n *Node) close() error {
	n.cancel()
	err := n.closeConns()
	n.queue.close()
	return err
}

func (n *Node) closeConns() error {
	var errs []error
	for _, conn := range n.conns {
		if err := conn.Close(); err != nil && status.Code(err) != codes.Canceled { // closed already
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Address is that of the node's gRPC.
func (n *Node) Address() string { return n.address }

// Good says whether the node can be expected to answer.
func (n *Node) Good() bool { return n.local != nil || n.health.state() == good }

// bad says whether the node is known not to answer.
func (n *Node) bad() bool { return n.local == nil && n.health.state() == bad }

// Conn is the connection whose turn it is. One that just failed to open is passed over.
func (n *Node) Conn() *grpc.ClientConn { return n.conns[n.conn()] }

// conn is the place of that connection.
func (n *Node) conn() int {
	turn := int(n.turn.Add(1) % (1 << 16))
	for i := range n.conns {
		at := (turn + i) % len(n.conns)
		if n.conns[at].GetState() != connectivity.TransientFailure {
			return at
		}
	}
	return turn % len(n.conns)
}

// down says whether no connection is open, and how one of them is.
func (n *Node) down() (connectivity.State, bool) {
	var state connectivity.State
	for _, conn := range n.conns {
		if state = conn.GetState(); state == connectivity.Ready {
			return state, false
		}
	}
	return state, true
}

// Note says whether it was the node that ended a call so, and draws the conclusion from an error that means that it
// cannot be asked.
func (n *Node) Note(err error) bool {
	switch {
	case err == nil:
		n.diagnosed.clear()
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
func (n *Node) probe(ctx context.Context) error {
	err := n.askHealth(ctx)
	if err != nil {
		n.diagnose(context.WithoutCancel(ctx), fmt.Errorf("%w: %w", limit.ErrUnavailable, err))
	}
	return err
}

// diagnose looks at the node's address, if err may come of what is there. It takes no longer than ctx.
func (n *Node) diagnose(ctx context.Context, err error) {
	if n.lookAt == nil || !errors.Is(err, limit.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	if _, down := n.down(); !down {
		return
	}
	n.diagnosed.look(func() Diagnosis { return n.lookAt(ctx, n.address) }, n.named)
}

// errNoConnection ends a probe of a node to which there is no connection.
var errNoConnection = fmt.Errorf("%w: not connected", limit.ErrUnavailable)

// connected says whether a connection opens within a moment. The next probe tries anew, sooner than grpc would.
func connected(ctx context.Context, conn *grpc.ClientConn) bool {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		conn.Connect()
		if state == connectivity.Shutdown || !conn.WaitForStateChange(ctx, state) {
			return false
		}
	}
	return true
}

func (n *Node) askHealth(ctx context.Context) error {
	conn := n.Conn()
	if conn.GetState() == connectivity.TransientFailure { // before a first attempt, grpc-go would race with making it
		conn.ResetConnectBackoff()
	}
	if !connected(ctx, conn) {
		return errNoConnection
	}
	m, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: pb.Limiter_ServiceDesc.ServiceName})
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
func (n *Node) hear(trailer metadata.MD, err error) error {
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

// checkBatch has checks decided in one message.
func (n *Node) checkBatch(ctx context.Context, rs []limit.Request) ([]limit.Result, error) {
	if n.local != nil {
		return n.local.CheckBatch(ctx, rs), nil
	}
	in := &pb.CheckBatchRequest{Checks: make([]*pb.CheckRequest, len(rs))}
	for i := range rs {
		in.Checks[i] = pb.EncodeRequest(rs[i])
	}
	m, err := ask(n.marked(ctx), n, in, pb.LimiterClient.CheckBatch)
	switch {
	case err != nil:
		return nil, err
	case len(m.GetResults()) != len(rs):
		return nil, errNoAnswer
	}
	results := make([]limit.Result, len(rs))
	for i, r := range m.GetResults() {
		if results[i] = pb.DecodeResult(r); results[i].Err == nil {
			results[i].Decision.Node = n.address
		}
	}
	return results, nil
}

// ask calls a method of the Limiter service of n.
func ask[In, Out any](
	ctx context.Context, n *Node, in In, method func(pb.LimiterClient, context.Context, In, ...grpc.CallOption) (Out, error), options ...grpc.CallOption,
) (Out, error) {
	var trailer metadata.MD
	out, err := method(pb.NewLimiterClient(n.Conn()), ctx, in, append(options, grpc.Trailer(&trailer))...)
	return out, n.hear(trailer, err)
}

// askAsOperator is ask with what proves an operator, if there is something.
func askAsOperator[In, Out any](ctx context.Context, n *Node, in In, method func(pb.LimiterClient, context.Context, In, ...grpc.CallOption) (Out, error)) (out Out, err error) {
	shown, err := n.shown()
	if err != nil {
		return out, err
	}
	return ask(ctx, n, in, method, shown...)
}

// shown is what makes a call to the node show an operator's credentials.
func (n *Node) shown() ([]grpc.CallOption, error) {
	if n.operator == nil {
		return nil, nil
	}
	return n.operator(n)
}
