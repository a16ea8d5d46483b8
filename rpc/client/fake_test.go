package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A book holds a table and tells it to watchers.
type book struct {
	mu      sync.Mutex
	view    *client.View
	changed chan struct{}
}

func newBook() *book { return &book{changed: make(chan struct{})} }

func (b *book) tables() (*client.View, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view, b.changed
}

func (b *book) publish(v *client.View) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.view = v
	close(b.changed)
	b.changed = make(chan struct{})
}

// A fakeNode answers like a node, and does what a test tells it to.
type fakeNode struct {
	pb.UnimplementedLimiterServer
	id      ring.NodeID
	name    string
	address string
	ice     *ice
	server  *grpc.Server
	served  chan error
	stop    sync.Once

	decide atomic.Pointer[func(ctx context.Context, m *pb.CheckRequest) error] // nil: it allows
	checks atomic.Int64                                                        // that arrived
	routed atomic.Int64                                                        // of them, with the mark
	giveUp func(context.Context) []bool                                        // answers Return
}

// startFake starts a node on a port of its own, or on that address.
func startFake(tb testing.TB, i int, address string, b *book) *fakeNode {
	tb.Helper()
	return startSpec(tb, fakeSpec{index: i, address: address, book: b, admin: pb.UnimplementedAdminServer{}})
}

// A fakeSpec says what a fakeNode is like.
type fakeSpec struct {
	index   int
	address string // empty for a port of its own
	book    *book  // nil: it does not know Watch
	admin   pb.AdminServer
	options []grpc.ServerOption
}

func startSpec(tb testing.TB, spec fakeSpec) *fakeNode {
	tb.Helper()
	n := &fakeNode{
		id: ring.NodeID{byte(spec.index + 1)}, name: fmt.Sprint("n", spec.index+1), ice: new(ice),
		server: grpc.NewServer(spec.options...), served: make(chan error, 1),
	}
	pb.RegisterLimiterServer(n.server, n)
	pb.RegisterAdminServer(n.server, spec.admin)
	if spec.book != nil {
		pb.RegisterClusterServer(n.server, watched{book: spec.book})
	}
	h := health.NewServer()
	h.SetServingStatus(pb.Limiter_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(n.server, h)
	l := listen(tb, spec.address)
	n.address = l.Addr().String()
	go func() { n.served <- n.server.Serve(n.ice.listener(l)) }()
	tb.Cleanup(func() { n.kill(tb) })
	return n
}

// kill ends the node: its connections are cut, and its port refuses.
func (n *fakeNode) kill(tb testing.TB) {
	tb.Helper()
	n.stop.Do(func() {
		n.ice.thaw()
		n.server.Stop()
		if err := <-n.served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			tb.Error(err)
		}
	})
}

// answers makes the node decide by f from now on; nil allows everything.
func (n *fakeNode) answers(f func(context.Context, *pb.CheckRequest) error) { n.decide.Store(&f) }

func (n *fakeNode) check(ctx context.Context, m *pb.CheckRequest) (*pb.Decision, error) {
	n.checks.Add(1)
	if len(metadata.ValueFromIncomingContext(ctx, pb.MarkRouted)) > 0 {
		n.routed.Add(1)
	}
	if f := n.decide.Load(); f != nil && *f != nil {
		if err := (*f)(ctx, m); err != nil {
			return nil, err
		}
	}
	return decision(m.GetKey()), nil
}

func (n *fakeNode) Check(ctx context.Context, m *pb.CheckRequest) (*pb.CheckResponse, error) {
	d, err := n.check(ctx, m)
	return &pb.CheckResponse{Decision: d}, err
}

func (n *fakeNode) result(ctx context.Context, m *pb.CheckRequest) *pb.CheckResult {
	d, err := n.check(ctx, m)
	if err != nil {
		return &pb.CheckResult{Result: &pb.CheckResult_Error{Error: status.Convert(err).Proto()}}
	}
	return &pb.CheckResult{Result: &pb.CheckResult_Decision{Decision: d}}
}

func (n *fakeNode) CheckBatch(ctx context.Context, m *pb.CheckBatchRequest) (*pb.CheckBatchResponse, error) {
	out := &pb.CheckBatchResponse{}
	for _, c := range m.GetChecks() {
		out.Results = append(out.Results, n.result(ctx, c))
	}
	return out, nil
}

func (n *fakeNode) CheckStream(stream grpc.BidiStreamingServer[pb.CheckStreamRequest, pb.CheckStreamResponse]) error {
	m, err := stream.Recv()
	if err != nil {
		return err
	}
	out := &pb.CheckStreamResponse{}
	for _, c := range m.GetChecks() {
		out.Results = append(out.Results, &pb.StreamResult{Id: c.GetId(), Result: n.result(stream.Context(), c.GetCheck())})
	}
	return stream.Send(out)
}

func (n *fakeNode) Return(ctx context.Context, m *pb.ReturnRequest) (*pb.ReturnResponse, error) {
	if n.giveUp == nil {
		return &pb.ReturnResponse{Returned: make([]bool, len(m.GetReceipts()))}, nil
	}
	return &pb.ReturnResponse{Returned: n.giveUp(ctx)}, nil
}

func (n *fakeNode) Reset(ctx context.Context, m *pb.ResetRequest) (*pb.ResetResponse, error) {
	_, err := n.check(ctx, &pb.CheckRequest{Key: m.GetKey()})
	return &pb.ResetResponse{}, err
}

// watched answers Watch.
type watched struct {
	pb.UnimplementedClusterServer
	book *book
}

func (w watched) Watch(_ *pb.WatchRequest, stream grpc.ServerStreamingServer[pb.WatchResponse]) error {
	for {
		v, changed := w.book.tables()
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

// ice freezes the connections of a node: it takes what it is sent, and says nothing, as a process that was stopped.
type ice struct {
	mu     sync.Mutex
	frozen chan struct{} // closed when it thaws; nil when it is not frozen
	opened int           // connections that are open
}

func (i *ice) freeze() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.frozen = make(chan struct{})
}

func (i *ice) thaw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.frozen != nil {
		close(i.frozen)
		i.frozen = nil
	}
}

func (i *ice) connections() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.opened
}

func (i *ice) wait() {
	i.mu.Lock()
	frozen := i.frozen
	i.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

func (i *ice) listener(l net.Listener) net.Listener { return iceListener{l, i} }

type iceListener struct {
	net.Listener
	ice *ice
}

func (l iceListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.ice.mu.Lock()
	l.ice.opened++
	l.ice.mu.Unlock()
	return &iceConn{Conn: conn, ice: l.ice}, nil
}

type iceConn struct {
	net.Conn
	ice    *ice
	closed sync.Once
}

func (c *iceConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.ice.wait()
	return n, err
}

func (c *iceConn) Write(b []byte) (int, error) {
	c.ice.wait()
	return c.Conn.Write(b)
}

func (c *iceConn) Close() error {
	c.closed.Do(func() {
		c.ice.mu.Lock()
		c.ice.opened--
		c.ice.mu.Unlock()
	})
	return c.Conn.Close()
}

// A fakeCluster is nodes that go by one table.
type fakeCluster struct {
	*book
	nodes []*fakeNode
}

const partitions = 12

// startCluster starts n nodes, of which each has an equal share of the partitions.
func startCluster(tb testing.TB, n int) *fakeCluster {
	tb.Helper()
	c := &fakeCluster{book: newBook()}
	for i := range n {
		c.nodes = append(c.nodes, startFake(tb, i, "", c.book))
	}
	c.publish(c.table(1))
	return c
}

// table is the table in which partition p begins with node p mod n. The nodes that are named leave.
func (c *fakeCluster) table(version uint64, leaving ...*fakeNode) *client.View {
	v := &client.View{Version: version, Cluster: [16]byte{1}, Table: &ring.Table{}}
	for _, n := range c.nodes {
		v.Nodes = append(v.Nodes, pb.Node{ID: n.id, Name: n.name, GRPC: n.address, Leaving: slices.Contains(leaving, n)})
	}
	for p := range partitions {
		place := ring.Place{Epoch: 1}
		for i := range min(3, len(c.nodes)) {
			place.Replicas = append(place.Replicas, c.nodes[(p+i)%len(c.nodes)].id)
		}
		v.Table.Places = append(v.Table.Places, place)
	}
	return v
}

// owner is the index of the node that owns key by that table.
func (c *fakeCluster) owner(key string) int {
	return int(ring.PartitionOf(ring.Hash(key), partitions)) % len(c.nodes)
}

// keyOf is a key that the node with that index owns.
func (c *fakeCluster) keyOf(node int) string {
	for i := 0; ; i++ {
		if key := strconv.Itoa(i); c.owner(key) == node {
			return key
		}
	}
}

func (c *fakeCluster) servers() (servers []string) {
	for _, n := range c.nodes {
		servers = append(servers, n.address)
	}
	return servers
}

// connectTo makes a client of the cluster that has a table.
func connectTo(tb testing.TB, c *fakeCluster) *client.Client {
	tb.Helper()
	cl := connect(tb, client.Config{Servers: c.servers(), Timeout: 20 * time.Second})
	awaitVersion(tb, cl, 1)
	cl.AwaitConnections(tb.Context())
	return cl
}

// awaitVersion checks until the client has that table.
func awaitVersion(tb testing.TB, c *client.Client, version uint64) {
	tb.Helper()
	until(tb, c, "0", func() bool { return c.Version() >= version })
}

// until checks key again and again until done. Every check must be answered.
func until(tb testing.TB, c *client.Client, key string, done func() bool) {
	tb.Helper()
	for !done() {
		if _, err := c.Check(tb.Context(), check(key)); err != nil {
			tb.Fatalf("until it is done: %v", err)
		}
	}
}

// load makes callers check keys of all nodes until stop is called, which fails the test if one was not answered.
func load(tb testing.TB, c *client.Client, callers int) (stop func(), answered *atomic.Int64) {
	tb.Helper()
	var wait sync.WaitGroup
	var stopped atomic.Bool
	answered = new(atomic.Int64)
	for caller := range callers {
		wait.Go(func() {
			for i := caller; !stopped.Load(); i++ {
				key := strconv.Itoa(i % 1000)
				d, err := c.Check(context.Background(), check(key))
				if err != nil || fmt.Sprint(d.Limits[0].Remaining) != key {
					tb.Errorf("check of %s: %+v and %v", key, d, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	return func() {
		stopped.Store(true)
		wait.Wait()
	}, answered
}

// more returns when n more checks were answered.
func more(tb testing.TB, c *client.Client, answered *atomic.Int64, n int64) {
	tb.Helper()
	least := answered.Load() + n
	until(tb, c, "1", func() bool { return answered.Load() >= least || tb.Failed() })
}
