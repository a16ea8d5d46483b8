package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/web"
)

// A book holds a table and tells it to those who watch.
type book struct {
	mu      sync.Mutex
	view    *pb.View
	changed chan struct{}
}

func newBook() *book { return &book{changed: make(chan struct{})} }

func (b *book) tables() (*pb.View, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view, b.changed
}

func (b *book) publish(v *pb.View) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.view = v
	close(b.changed)
	b.changed = make(chan struct{})
}

// A routed node is a Server that asks a Router.
type routedNode struct {
	id      ring.NodeID
	address string
	book    *book
	router  *Router
	conn    *grpc.ClientConn
	local   limit.Limiter

	mu      sync.Mutex
	keys    []string // that local was asked for
	refuses error    // what Serving answers
}

func (n *routedNode) asked(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keys = append(n.keys, key)
}

// decided are the keys that local was asked for since the last call.
func (n *routedNode) decided() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	keys := n.keys
	n.keys = nil
	return keys
}

func (n *routedNode) serving() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.refuses
}

func (n *routedNode) refuse(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuses = err
}

// number is a decision that says which key it is for.
func (n *routedNode) number(_ context.Context, r limit.Request) (limit.Decision, error) {
	n.asked(r.Key)
	i, _ := strconv.ParseInt(r.Key, 10, 64)
	return limit.Decision{Allowed: true, Limits: []limit.Outcome{{Name: n.id.String(), Remaining: i}}}, nil
}

const testPartitions = 12

// routedNodes starts n nodes. Partition p begins with node p mod n and has two replicas. The Limiter of the node with
// index i is local(i), or one that numbers its decisions.
func routedNodes(t *testing.T, n int, local func(i int) limit.Limiter) []*routedNode {
	t.Helper()
	nodes := make([]*routedNode, n)
	listeners := make([]net.Listener, n)
	for i := range nodes {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners[i] = l
		node := &routedNode{id: ring.NodeID{byte(i + 1)}, address: l.Addr().String(), book: newBook()}
		node.local = conformance.Stub{
			OnCheck: node.number,
			OnReset: func(_ context.Context, key string, _ limit.Ref) error {
				node.asked("reset " + key)
				return nil
			},
			OnInspect: func(_ context.Context, key string, _ limit.Ref, _ string) (limit.Inspection, error) {
				node.asked("inspect " + key)
				return limit.Inspection{}, errors.New("nothing to see")
			},
			OnSettle: func(_ context.Context, s limit.Settlement) (limit.Settled, error) {
				node.asked("settle " + s.Hold.Key)
				return limit.SumSettled([]limit.SettledLimit{{Name: "demo", State: limit.HoldSettled, Charged: s.Used}}), nil
			},
		}
		if local != nil {
			node.local = local(i)
		}
		nodes[i] = node
	}
	publish(nodes, tableOf(1, nodes, nodes...))
	for i, node := range nodes {
		node.start(t, listeners[i])
	}
	for _, node := range nodes { // one that takes long to connect seems silent
		node.router.nodes.AwaitConnections(t.Context())
	}
	return nodes
}

func (n *routedNode) start(t *testing.T, l net.Listener) {
	t.Helper()
	router, err := NewRouter(RouterConfig{Self: n.id, Local: n.local, Tables: n.book.tables, Serving: n.serving})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Limiter: router, Tables: n.book.tables})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///"+n.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	n.router, n.conn = router, conn
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // what the other nodes asked is cut off
		_ = s.Stop(ctx)
		if err := errors.Join(conn.Close(), router.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
}

// tableOf is a table over owners, in which partition p begins with owner p mod n, and has two replicas if it can.
func tableOf(version uint64, nodes []*routedNode, owners ...*routedNode) *pb.View {
	return replicated(2, version, nodes, owners...)
}

// replicated is tableOf with that many replicas.
func replicated(replicas int, version uint64, nodes []*routedNode, owners ...*routedNode) *pb.View {
	v := &pb.View{Version: version, Table: &ring.Table{}}
	for _, n := range nodes {
		v.Nodes = append(v.Nodes, pb.Node{ID: n.id, GRPC: n.address})
	}
	for p := range testPartitions {
		place := ring.Place{Epoch: 1}
		for i := range min(replicas, len(owners)) {
			place.Replicas = append(place.Replicas, owners[(p+i)%len(owners)].id)
		}
		v.Table.Places = append(v.Table.Places, place)
	}
	return v
}

func publish(nodes []*routedNode, v *pb.View) {
	for _, n := range nodes {
		n.book.publish(v)
	}
}

// keyOf is a key whose partition begins with the node with that index of three.
func keyOf(node int) string {
	for i := 0; ; i++ {
		key := strconv.Itoa(i)
		if int(ring.PartitionOf(ring.Hash(key), testPartitions))%3 == node {
			return key
		}
	}
}

// with puts marks on a call.
func with(t *testing.T, marks ...string) context.Context {
	t.Helper()
	md := metadata.MD{}
	for _, mark := range marks {
		md.Set(mark, "1")
	}
	return metadata.NewOutgoingContext(t.Context(), md)
}

// askedAgain is how often the nodes asked one another again.
func askedAgain(nodes []*routedNode) (again uint64) {
	for _, n := range nodes {
		_, hedges, retries, _ := n.router.nodes.Counts()
		again += hedges + retries
	}
	return again
}

// wantDecided fails t unless exactly that node decided exactly that. On a machine that stands still for a while a node looks silent,
// and another one is asked as well: then that is only said.
func wantDecided(t *testing.T, nodes []*routedNode, by int, keys ...string) {
	t.Helper()
	wantDecidedAfter(t, 0, nodes, by, keys...)
}

// wantDecidedAfter is wantDecided where the nodes have asked one another again so often because they were told to.
func wantDecidedAfter(t *testing.T, expected uint64, nodes []*routedNode, by int, keys ...string) {
	t.Helper()
	again := askedAgain(nodes)
	say := t.Errorf
	if again > expected {
		say = t.Logf
	}
	for i, n := range nodes {
		got := n.decided()
		if i == by && !reflect.DeepEqual(got, keys) || i != by && len(got) > 0 {
			say("node %d decided %q, want %q by node %d, after %d second tries", i, got, keys, by, again)
		}
	}
}

// TestRoutes sends a check for each kind of mark to the owner of its key, another replica, and a node that is neither.
func TestRoutes(t *testing.T) {
	nodes := routedNodes(t, 3, nil)
	key := keyOf(0) // at 0 and 1
	routed, forwarded := []string{pb.MarkRouted}, []string{pb.MarkRouted, pb.MarkForwarded}
	for _, test := range []struct {
		marks []string
		at    int
		by    int // -1: nobody
		told  bool
	}{
		{nil, 0, 0, false},
		{nil, 1, 0, false},
		{nil, 2, 0, false},
		{routed, 0, 0, false},
		{routed, 1, 1, false},
		{routed, 2, 0, true},
		{forwarded, 0, 0, false},
		{forwarded, 1, 1, false},
		{forwarded, 2, -1, true},
	} {
		var trailer metadata.MD
		_, err := pb.NewLimiterClient(nodes[test.at].conn).Check(with(t, test.marks...), checkMessage(key), grpc.Trailer(&trailer))
		what := fmt.Sprintf("with %q at %d", test.marks, test.at)
		if test.by < 0 {
			wantCode(t, err, codes.Unavailable, "is not a replica")
			wantDecided(t, nodes, 0)
		} else {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			wantDecided(t, nodes, test.by, key)
		}
		if told := reflect.DeepEqual(trailer.Get(pb.TableVersion), []string{"1"}); told != test.told {
			t.Errorf("%s: the answer tells %v of the table", what, trailer)
		}
	}
}

// TestRoutesOfOtherCalls sends the other calls to a node that is no replica.
func TestRoutesOfOtherCalls(t *testing.T) {
	nodes := routedNodes(t, 3, nil)
	key, ref := keyOf(1), pb.EncodeRef(limit.Named("demo"))
	c := pb.NewLimiterClient(nodes[0].conn)
	_, err := c.Reset(t.Context(), &pb.ResetRequest{Key: key, Limit: ref})
	if err != nil {
		t.Error(err)
	}
	wantDecided(t, nodes, 1, "reset "+key)
	_, err = c.Inspect(t.Context(), &pb.InspectRequest{Key: key, Limit: ref})
	wantCode(t, err, codes.Internal, "nothing to see")
	wantDecided(t, nodes, 1, "inspect "+key)
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := c.Reset(ctx, &pb.ResetRequest{Key: key, Limit: ref})
			return err
		},
		func(ctx context.Context) error {
			_, err := c.Inspect(ctx, &pb.InspectRequest{Key: key, Limit: ref})
			return err
		},
		func(ctx context.Context) error {
			_, err := c.Return(ctx, &pb.ReturnRequest{Key: key})
			return err
		},
		func(ctx context.Context) error {
			_, err := c.Settle(ctx, settleMessage(key, 3))
			return err
		},
	} {
		wantCode(t, call(with(t, pb.MarkRouted, pb.MarkForwarded)), codes.Unavailable, "is not a replica")
		wantDecided(t, nodes, 0)
	}
}

// TestBatchesAreSplit sends batches with each kind of mark.
func TestBatchesAreSplit(t *testing.T) {
	nodes := routedNodes(t, 3, nil)
	m := &pb.CheckBatchRequest{}
	for i := range 60 {
		m.Checks = append(m.Checks, checkMessage(strconv.Itoa(i)))
	}
	for _, marks := range [][]string{nil, {pb.MarkRouted}, {pb.MarkRouted, pb.MarkForwarded}} {
		var trailer metadata.MD
		answer, err := pb.NewLimiterClient(nodes[0].conn).CheckBatch(with(t, marks...), m, grpc.Trailer(&trailer))
		if err != nil {
			t.Fatal(err)
		}
		mine := 0
		for i, r := range answer.GetResults() {
			replica := int(ring.PartitionOf(ring.Hash(strconv.Itoa(i)), testPartitions))%3 != 1
			result := pb.DecodeResult(r)
			if len(marks) == 2 && !replica {
				if !errors.Is(result.Err, limit.ErrUnavailable) {
					t.Errorf("%q: %d is answered %+v, want %v", marks, i, result, limit.ErrUnavailable)
				}
				continue
			}
			if result.Err != nil || result.Decision.Limits[0].Remaining != int64(i) {
				t.Errorf("%q: %d is answered %+v", marks, i, result)
			}
			if result.Err == nil && result.Decision.Limits[0].Name == nodes[0].id.String() {
				mine++
			}
		}
		if mine == 0 || mine == 60 {
			t.Errorf("%q: the node decided %d of 60 itself", marks, mine)
		}
		if told := len(trailer.Get(pb.TableVersion)); told != min(len(marks), 1) {
			t.Errorf("%q: the sender was told of the table %d times", marks, told)
		}
	}
}

// TestStreamIsTold sends many checks of which none is the node's business, twice: the answers to each message say so.
func TestStreamIsTold(t *testing.T) {
	nodes := routedNodes(t, 3, nil)
	stream, err := pb.NewLimiterClient(nodes[2].conn).CheckStream(with(t, pb.MarkRouted))
	if err != nil {
		t.Fatal(err)
	}
	m := &pb.CheckStreamRequest{}
	for i := range 50 {
		m.Checks = append(m.Checks, &pb.StreamCheck{Id: uint64(i), Check: checkMessage(keyOf(0))})
	}
	for range 2 {
		if err := stream.Send(m); err != nil {
			t.Fatal(err)
		}
		told := map[uint64]int{}
		for answers := 0; answers < 50; {
			m, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			answers += len(m.GetResults())
			told[m.GetTableVersion()]++
		}
		if delete(told, 0); len(told) != 1 || told[1] == 0 {
			t.Errorf("told of the tables %v, want version 1", told)
		}
	}
}

// TestOwnerIsDead forwards to the next replica.
func TestOwnerIsDead(t *testing.T) {
	nodes := routedNodes(t, 3, nil)
	v := tableOf(2, nodes, nodes...)
	v.Nodes[0].GRPC = "127.0.0.1:1" // nobody is there
	nodes[2].book.publish(v)
	key := keyOf(0)
	awaitTable(t, nodes[2], 2)
	if _, err := pb.NewLimiterClient(nodes[2].conn).Check(t.Context(), checkMessage(key)); err != nil {
		t.Error(err)
	}
	wantDecidedAfter(t, 1, nodes, 1, key)
}

// TestFirst asks a node who decides first, and has it decided there: as long as all are well, that is who answers.
func TestFirst(t *testing.T) {
	nodes := routedNodes(t, 3, nil)
	answers := func(node int) string {
		d, err := nodes[0].router.Check(t.Context(), limit.Request{Key: keyOf(node), Limits: []limit.Ref{limit.Named("demo")}})
		if err != nil {
			t.Fatal(err)
		}
		return d.Node
	}
	for node, want := range []string{"", nodes[1].address, nodes[2].address} {
		// A machine that stands still makes a node look silent for a while, and then another one answers.
		for attempt := 1; nodes[0].router.First(keyOf(node)) != want || answers(node) != want; attempt++ {
			if attempt == 10_000 {
				t.Fatalf("node %d: first is %q, want %q; %q answers", node, nodes[0].router.First(keyOf(node)), want, answers(node))
			}
		}
	}
	v := tableOf(2, nodes, nodes...)
	v.Nodes[1].GRPC = "127.0.0.1:1" // nobody is there: its keys are decided by another node, and that one is not their first
	nodes[0].book.publish(v)
	awaitTable(t, nodes[0], 2)
	if first, answered := nodes[0].router.First(keyOf(1)), answers(1); first != "127.0.0.1:1" || answered != nodes[2].address {
		t.Errorf("first is %q, and %q answered", first, answered)
	}
}

// awaitTable checks at a node until it goes by that table.
func awaitTable(t *testing.T, n *routedNode, version uint64) {
	t.Helper()
	for n.router.nodes.Version() < version {
		if err := n.conn.Invoke(t.Context(), "/grpc.health.v1.Health/Check", &pb.LimitsRequest{}, &pb.LimitsResponse{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTablesThatDiffer has two nodes that each believe that the other one has all keys: nothing goes round in circles.
func TestTablesThatDiffer(t *testing.T) {
	nodes := routedNodes(t, 2, nil)
	nodes[0].book.publish(tableOf(2, nodes, nodes[1]))
	nodes[1].book.publish(tableOf(3, nodes, nodes[0]))
	awaitTable(t, nodes[0], 2)
	awaitTable(t, nodes[1], 3)
	for _, marks := range [][]string{nil, {pb.MarkRouted}, {pb.MarkRouted, pb.MarkForwarded}} {
		_, err := pb.NewLimiterClient(nodes[0].conn).Check(with(t, marks...), checkMessage("k"))
		wantCode(t, err, codes.Unavailable, "is not a replica")
	}
	wantDecidedAfter(t, 4, nodes, 0)
}

// TestNotServing has a node that may not decide: it answers nothing, denials included, and says so, but for what it is
// not asked by a call.
func TestNotServing(t *testing.T) {
	nodes := routedNodes(t, 1, nil)
	n, c := nodes[0], pb.NewLimiterClient(nodes[0].conn)
	n.refuse(errors.New("the clock is off"))
	for what, call := range map[string]func(grpc.CallOption) error{
		"check": func(o grpc.CallOption) error {
			_, err := c.Check(with(t, pb.MarkRouted), checkMessage("k"), o)
			return err
		},
		"batch": func(o grpc.CallOption) error {
			m, err := c.CheckBatch(t.Context(), &pb.CheckBatchRequest{Checks: []*pb.CheckRequest{checkMessage("k")}}, o)
			if err != nil {
				return err
			}
			return pb.EncodeError(pb.DecodeResult(m.GetResults()[0]).Err).Err()
		},
		"return": func(o grpc.CallOption) error {
			_, err := c.Return(t.Context(), &pb.ReturnRequest{Key: "k"}, o)
			return err
		},
		"settle": func(o grpc.CallOption) error {
			_, err := c.Settle(t.Context(), settleMessage("k", 3), o)
			return err
		},
		"inspect": func(o grpc.CallOption) error {
			_, err := c.Inspect(t.Context(), &pb.InspectRequest{Key: "k", Limit: pb.EncodeRef(limit.Named("demo"))}, o)
			return err
		},
		"reset": func(o grpc.CallOption) error {
			_, err := c.Reset(t.Context(), &pb.ResetRequest{Key: "k", Limit: pb.EncodeRef(limit.Named("demo"))}, o)
			return err
		},
	} {
		var trailer metadata.MD
		wantCode(t, call(grpc.Trailer(&trailer)), codes.Unavailable, "the clock is off")
		if len(trailer.Get(pb.MarkRefuses)) != 1 {
			t.Errorf("%s: the trailer is %v", what, trailer)
		}
	}
	stream, err := c.CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id := range 50 {
		sendChecks(t, stream, id, id+1)
		if m, err := stream.Recv(); err != nil || !m.GetRefuses() || m.GetResults()[0].GetResult().GetError().GetCode() != int32(codes.Unavailable) {
			t.Fatalf("a stream: %v %v", m, err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) || len(stream.Trailer().Get(pb.MarkRefuses)) > 0 {
		t.Errorf("a stream that lasts collects trailers: %v, %v", stream.Trailer(), err)
	}
	wantDecided(t, nodes, 0)
	handler, err := web.NewAPI(web.APIConfig{Limiter: n.router, Limits: func() *limit.Document { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	post := func() int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/check", bytes.NewBufferString(`{"key":"k","limits":["demo"]}`)))
		return w.Code
	}
	if code := post(); code != http.StatusServiceUnavailable {
		t.Errorf("over HTTP: %d", code)
	}
	n.refuse(nil)
	if code := post(); code != http.StatusOK {
		t.Errorf("over HTTP, when it serves: %d", code)
	}
	wantDecided(t, nodes, 0, "k")
}

// TestReturnIsAskedEverywhere gives receipts of two owners to a node that is no replica.
func TestReturnIsAskedEverywhere(t *testing.T) {
	nodes := routedNodes(t, 3, func(i int) limit.Limiter {
		return conformance.Stub{OnReturn: func(_ context.Context, _ string, receipts []limit.Receipt) ([]bool, error) {
			returned := make([]bool, len(receipts))
			returned[i] = true
			return returned, nil
		}}
	})
	m := &pb.ReturnRequest{Key: keyOf(0), Receipts: pb.EncodeReceipts(make([]limit.Receipt, 3))}
	for at := range nodes {
		got, err := pb.NewLimiterClient(nodes[at].conn).Return(t.Context(), m)
		if want := []bool{true, true, false}; err != nil || !reflect.DeepEqual(got.GetReturned(), want) {
			t.Errorf("at node %d: got %v and %v, want %v", at, got.GetReturned(), err, want)
		}
	}
}

// triesOf is how often a client with that registry asked again.
func triesOf(t *testing.T, metrics *prometheus.Registry) (again uint64) {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Error(err)
	}
	for _, f := range families {
		if name := f.GetName(); name == "jeton_client_hedges_total" || name == "jeton_client_retries_total" {
			again += uint64(f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	return again
}

// TestConformanceOfRouters holds three nodes that share one Limiter against its contract, with a client that knows the
// table, and with one that always asks the same node.
func TestConformanceOfRouters(t *testing.T) {
	for what, mark := range map[string]bool{"by the table": true, "by one node": false} {
		t.Run(what, func(t *testing.T) {
			conformance.Run(t, func(t *testing.T, doc *limit.Document, now func() int64) limit.Limiter {
				t.Helper()
				model := conformance.NewModel(doc, now)
				nodes := routedNodes(t, 3, func(int) limit.Limiter { return model })
				// With one replica nothing is hedged: only what is given up as silent is asked again.
				publish(nodes, replicated(1, 2, nodes, nodes...))
				for _, n := range nodes {
					awaitTable(t, n, 2)
				}
				if !mark {
					return conformance.Over(nodes[1].router, func() uint64 { return askedAgain(nodes) })
				}
				metrics := prometheus.NewRegistry()
				c, err := client.New(client.Config{Server: nodes[1].address, Timeout: time.Minute, Registerer: metrics})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				// Nor may it learn the table while a check waits: the owner would be somewhere else to try.
				for c.Version() < 2 {
					if _, err := c.Inspect(t.Context(), "anybody", limit.Named("demo"), ""); err != nil {
						t.Fatal(err)
					}
				}
				return conformance.Over(c, func() uint64 { return askedAgain(nodes) + triesOf(t, metrics) })
			})
		})
	}
}

func TestNewRouterWithout(t *testing.T) {
	full := RouterConfig{Self: ring.NodeID{1}, Local: conformance.Stub{}, Tables: newBook().tables}
	for what, spoil := range map[string]func(*RouterConfig){
		"self":   func(c *RouterConfig) { c.Self = ring.NodeID{} },
		"local":  func(c *RouterConfig) { c.Local = nil },
		"tables": func(c *RouterConfig) { c.Tables = nil },
	} {
		cfg := full
		spoil(&cfg)
		if _, err := NewRouter(cfg); err == nil || !strings.HasPrefix(err.Error(), "router: ") {
			t.Errorf("without %s: %v", what, err)
		}
	}
}

// BenchmarkWithRoute is what the marks cost a call that has none, with the metadata that every call has.
func BenchmarkWithRoute(b *testing.B) {
	ctx := metadata.NewIncomingContext(b.Context(), metadata.Pairs(
		":authority", "127.0.0.1:7700", "content-type", "application/grpc", "user-agent", "grpc-go/1.85.0"))
	b.ReportAllocs()
	for b.Loop() {
		if withMarks(ctx) != ctx {
			b.Fatal("marks out of nothing")
		}
	}
}
