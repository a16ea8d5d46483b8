// Package fakenodes has nodes for the tests of what asks them: they answer like nodes, without deciding anything, and do what a test
// tells them to.
package fakenodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A Book holds a table and tells it to watchers.
type Book struct {
	mu      sync.Mutex
	view    *pb.View
	changed chan struct{}
}

// NewBook makes a Book without a table.
func NewBook() *Book { return &Book{changed: make(chan struct{})} }

// Tables are the table, nil before there is one, and a channel that is closed when there is another.
func (b *Book) Tables() (*pb.View, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view, b.changed
}

// Publish tells another table.
func (b *Book) Publish(v *pb.View) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.view = v
	close(b.changed)
	b.changed = make(chan struct{})
}

// A Node answers like a node, and does what a test tells it to.
type Node struct {
	pb.UnimplementedLimiterServer
	ID      ring.NodeID
	Name    string
	Address string
	Ice     *Ice
	Server  *grpc.Server
	served  chan error
	stop    sync.Once

	decide  atomic.Pointer[func(ctx context.Context, m *pb.CheckRequest) error]  // nil: it allows
	Checks  atomic.Int64                                                         // that arrived
	Routed  atomic.Int64                                                         // of them, with the mark
	GiveUp  func(context.Context) []bool                                         // answers Return
	Settled func(context.Context, *pb.SettleRequest) (*pb.SettleResponse, error) // answers Settle
}

// Start starts a node on a port of its own, or on that address.
func Start(tb testing.TB, i int, address string, b *Book) *Node {
	tb.Helper()
	return StartSpec(tb, Spec{Index: i, Address: address, Book: b, Admin: pb.UnimplementedAdminServer{}})
}

// A Spec says what a Node is like.
type Spec struct {
	Index   int
	Address string // empty for a port of its own
	Book    *Book  // nil: it does not know Watch
	Admin   pb.AdminServer
	Options []grpc.ServerOption
}

// StartSpec starts a node that ends with the test.
func StartSpec(tb testing.TB, spec Spec) *Node {
	tb.Helper()
	n := &Node{
		ID: ring.NodeID{byte(spec.Index + 1)}, Name: fmt.Sprint("n", spec.Index+1), Ice: new(Ice),
		Server: grpc.NewServer(spec.Options...), served: make(chan error, 1),
	}
	pb.RegisterLimiterServer(n.Server, n)
	pb.RegisterAdminServer(n.Server, spec.Admin)
	if spec.Book != nil {
		pb.RegisterClusterServer(n.Server, watched{book: spec.Book})
	}
	h := health.NewServer()
	h.SetServingStatus(pb.Limiter_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(n.Server, h)
	l := Listen(tb, spec.Address)
	n.Address = l.Addr().String()
	go func() { n.served <- n.Server.Serve(n.Ice.listener(l)) }()
	tb.Cleanup(func() { n.Kill(tb) })
	return n
}

// Kill ends the node: its connections are cut, and its port refuses.
func (n *Node) Kill(tb testing.TB) {
	tb.Helper()
	n.stop.Do(func() {
		n.Ice.Thaw()
		n.Server.Stop()
		if err := <-n.served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			tb.Error(err)
		}
	})
}

// Answers makes the node decide by f from now on; nil allows everything.
func (n *Node) Answers(f func(context.Context, *pb.CheckRequest) error) { n.decide.Store(&f) }

func (n *Node) check(ctx context.Context, m *pb.CheckRequest) (*pb.Decision, error) {
	n.Checks.Add(1)
	if len(metadata.ValueFromIncomingContext(ctx, pb.MarkRouted)) > 0 {
		n.Routed.Add(1)
	}
	if f := n.decide.Load(); f != nil && *f != nil {
		if err := (*f)(ctx, m); err != nil {
			return nil, err
		}
	}
	return Decision(m.GetKey()), nil
}

// Check implements jeton.v1.Limiter.
func (n *Node) Check(ctx context.Context, m *pb.CheckRequest) (*pb.CheckResponse, error) {
	d, err := n.check(ctx, m)
	return &pb.CheckResponse{Decision: d}, err
}

func (n *Node) result(ctx context.Context, m *pb.CheckRequest) *pb.CheckResult {
	d, err := n.check(ctx, m)
	if err != nil {
		return &pb.CheckResult{Result: &pb.CheckResult_Error{Error: status.Convert(err).Proto()}}
	}
	return &pb.CheckResult{Result: &pb.CheckResult_Decision{Decision: d}}
}

// CheckBatch implements jeton.v1.Limiter.
func (n *Node) CheckBatch(ctx context.Context, m *pb.CheckBatchRequest) (*pb.CheckBatchResponse, error) {
	out := &pb.CheckBatchResponse{}
	for _, c := range m.GetChecks() {
		out.Results = append(out.Results, n.result(ctx, c))
	}
	return out, nil
}

// CheckStream implements jeton.v1.Limiter. Messages are answered each for itself, as nodes do.
func (n *Node) CheckStream(stream grpc.BidiStreamingServer[pb.CheckStreamRequest, pb.CheckStreamResponse]) error {
	return Converse(stream, func(ctx context.Context, m *pb.CheckStreamRequest, out *pb.CheckStreamResponse) {
		for _, c := range m.GetChecks() {
			out.Results = append(out.Results, &pb.StreamResult{Id: c.GetId(), Result: n.result(ctx, c.GetCheck())})
		}
		for _, c := range m.GetSettlements() {
			settled := &pb.StreamSettled{Id: c.GetId()}
			if answer, err := n.Settle(ctx, c.GetSettlement()); err != nil {
				settled.Result = &pb.StreamSettled_Error{Error: status.Convert(err).Proto()}
			} else {
				settled.Result = &pb.StreamSettled_Settled{Settled: answer}
			}
			out.Settled = append(out.Settled, settled)
		}
	})
}

// asideKey is of the answer to a message of a stream, in the context of what is in it.
type asideKey struct{}

// Converse answers the messages of a stream. Each is answered by answer, concurrently with the others.
func Converse(
	stream grpc.BidiStreamingServer[pb.CheckStreamRequest, pb.CheckStreamResponse], answer func(context.Context, *pb.CheckStreamRequest, *pb.CheckStreamResponse),
) error {
	var messages sync.WaitGroup
	defer messages.Wait()
	var mu sync.Mutex // of stream.Send
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		messages.Go(func() {
			out := &pb.CheckStreamResponse{}
			answer(context.WithValue(stream.Context(), asideKey{}, out), m, out)
			mu.Lock()
			defer mu.Unlock()
			_ = stream.Send(out) // fails when the client has left
		})
	}
}

// Refuse says beside the answer to a check that the node refuses every check.
func Refuse(ctx context.Context) {
	if out, ok := ctx.Value(asideKey{}).(*pb.CheckStreamResponse); ok {
		out.Refuses = true
		return
	}
	_ = grpc.SetTrailer(ctx, metadata.Pairs(pb.MarkRefuses, "1"))
}

// TellTable says beside the answer to a check which version the node's table has.
func TellTable(ctx context.Context, version uint64) {
	if out, ok := ctx.Value(asideKey{}).(*pb.CheckStreamResponse); ok {
		out.TableVersion = version
		return
	}
	_ = grpc.SetTrailer(ctx, metadata.Pairs(pb.TableVersion, strconv.FormatUint(version, 10)))
}

// Return implements jeton.v1.Limiter.
func (n *Node) Return(ctx context.Context, m *pb.ReturnRequest) (*pb.ReturnResponse, error) {
	if n.GiveUp == nil {
		return &pb.ReturnResponse{Returned: make([]bool, len(m.GetReceipts()))}, nil
	}
	return &pb.ReturnResponse{Returned: n.GiveUp(ctx)}, nil
}

// Settle implements jeton.v1.Limiter.
func (n *Node) Settle(ctx context.Context, m *pb.SettleRequest) (*pb.SettleResponse, error) {
	if n.Settled == nil {
		return nil, pb.EncodeError(limit.ErrUnknownHold).Err()
	}
	return n.Settled(ctx, m)
}

// Reset implements jeton.v1.Limiter.
func (n *Node) Reset(ctx context.Context, m *pb.ResetRequest) (*pb.ResetResponse, error) {
	_, err := n.check(ctx, &pb.CheckRequest{Key: m.GetKey()})
	return &pb.ResetResponse{}, err
}

// watched answers Watch.
type watched struct {
	pb.UnimplementedClusterServer
	book *Book
}

func (w watched) Watch(_ *pb.WatchRequest, stream grpc.ServerStreamingServer[pb.WatchResponse]) error {
	for {
		v, changed := w.book.Tables()
		if v != nil {
			if err := stream.Send(pb.EncodeView(v)); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// A Cluster is nodes that go by one table.
type Cluster struct {
	*Book
	Nodes []*Node
}

const partitions = 12

// StartCluster starts n nodes, of which each has an equal share of the partitions.
func StartCluster(tb testing.TB, n int) *Cluster {
	tb.Helper()
	c := &Cluster{Book: NewBook()}
	for i := range n {
		c.Nodes = append(c.Nodes, Start(tb, i, "", c.Book))
	}
	c.Publish(c.Table(1))
	return c
}

// Table is the table in which partition p begins with node p mod n. The nodes that are named leave.
func (c *Cluster) Table(version uint64, leaving ...*Node) *pb.View {
	v := &pb.View{Version: version, Cluster: [16]byte{1}, Table: &ring.Table{}}
	for _, n := range c.Nodes {
		v.Nodes = append(v.Nodes, pb.Node{ID: n.ID, Name: n.Name, GRPC: n.Address, Leaving: slices.Contains(leaving, n)})
	}
	for p := range partitions {
		place := ring.Place{Epoch: 1}
		for i := range min(3, len(c.Nodes)) {
			place.Replicas = append(place.Replicas, c.Nodes[(p+i)%len(c.Nodes)].ID)
		}
		v.Table.Places = append(v.Table.Places, place)
	}
	return v
}

// Owner is the index of the node that owns key by that table.
func (c *Cluster) Owner(key string) int {
	return int(ring.PartitionOf(ring.Hash(key), partitions)) % len(c.Nodes)
}

// KeyOf is a key that the node with that index owns.
func (c *Cluster) KeyOf(node int) string {
	for i := 0; ; i++ {
		if key := strconv.Itoa(i); c.Owner(key) == node {
			return key
		}
	}
}

// Servers are the addresses of the nodes.
func (c *Cluster) Servers() (servers []string) {
	for _, n := range c.Nodes {
		servers = append(servers, n.Address)
	}
	return servers
}

// Listen listens at an address that it has listened at before, or for none at a port that nobody else is given until the test ends.
func Listen(tb testing.TB, address string) net.Listener {
	tb.Helper()
	if address == "" {
		address = hold(tb)
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// hold has a socket that is bound to a free port, and does not listen, until the test ends: others can listen there meanwhile, one after
// the other, if they know the address.
func hold(tb testing.TB) (address string) {
	tb.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		tb.Fatal(err)
	}
	syscall.CloseOnExec(socket)
	tb.Cleanup(func() { _ = syscall.Close(socket) })
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		tb.Fatal(err)
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		tb.Fatal(err)
	}
	at, err := syscall.Getsockname(socket)
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port) //nolint:forcetypeassert // as it was bound
}

// Decision is the one that a node makes about a key: for a key that is a number, that number remains.
func Decision(key string) *pb.Decision {
	n, _ := strconv.ParseInt(key, 10, 64)
	return pb.EncodeDecision(limit.Decision{Allowed: true, Limits: []limit.Outcome{{Remaining: n}}})
}
