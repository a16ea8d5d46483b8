package rpc

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// TestWatch watches a table: it comes at once, and again when it has changed, until the node stops.
func TestWatch(t *testing.T) {
	nodes := routedNodes(t, 1, nil)
	stream, err := pb.NewClusterClient(nodes[0].conn).Watch(t.Context(), &pb.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for version := uint64(1); version < 5; version++ {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		v, err := pb.DecodeView(m)
		if err != nil || v.Version != version || len(v.Table.Places) != testPartitions || v.Nodes[0].GRPC != nodes[0].address {
			t.Errorf("got %+v and %v, want version %d", v, err, version)
		}
		nodes[0].book.publish(tableOf(version+1, nodes, nodes...))
	}
}

// A slowWatcher is the stream of a client that does not read.
type slowWatcher struct {
	grpc.ServerStreamingServer[pb.WatchResponse]
	ctx  context.Context //nolint:containedctx // as grpc.ServerStream has it
	sent chan uint64
}

func (w slowWatcher) Context() context.Context { return w.ctx }

func (w slowWatcher) Send(m *pb.WatchResponse) error {
	w.sent <- m.GetVersion()
	return nil
}

// TestWatchersMissTables lets many tables pass while a watcher is busy: it gets the newest one.
func TestWatchersMissTables(t *testing.T) {
	b := newBook()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := slowWatcher{ctx: ctx, sent: make(chan uint64)}
	ended := make(chan error, 1)
	go func() { ended <- (&clusterService{tables: b.tables}).Watch(nil, w) }()
	view := func(version uint64) *pb.View { return &pb.View{Version: version, Table: &ring.Table{}} }
	b.publish(view(1))
	if got := <-w.sent; got != 1 {
		t.Errorf("got table %d first", got)
	}
	for version := range uint64(100) {
		b.publish(view(version + 2))
	}
	got := <-w.sent
	if got < 101 { // it was already being sent
		got = <-w.sent
	}
	if got != 101 {
		t.Errorf("got table %d, want the newest, 101", got)
	}
	cancel()
	if err := wireError(<-ended); status.Code(err) != codes.Unavailable {
		t.Errorf("the end of the watch: %v", err)
	}
}

// TestWatchEndsWithTheServer stops a server that is watched.
func TestWatchEndsWithTheServer(t *testing.T) {
	b := newBook()
	s, err := New(Config{Limiter: conformance.Stub{}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, ended := make(chan struct{}), make(chan error, 1)
	info := &grpc.StreamServerInfo{FullMethod: pb.Cluster_Watch_FullMethodName}
	go func() {
		ended <- s.endWatches(nil, slowWatcher{ctx: ctx}, info, func(_ any, stream grpc.ServerStream) error {
			close(begun)
			return (&clusterService{tables: b.tables}).Watch(nil, &grpc.GenericServerStream[pb.WatchRequest, pb.WatchResponse]{ServerStream: stream})
		})
	}()
	<-begun // grpc waits for its handlers
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	wantCode(t, wireError(<-ended), codes.Unavailable, "stopping")
}
