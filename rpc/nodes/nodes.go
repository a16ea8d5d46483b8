// Package nodes sends calls to the nodes of a cluster: to the one that decides for a key, by the table, and on to the next replica
// when a node fails or is silent. A client of the cluster and the router in each node stand on it.
//
// The path of one check:
//
//	Check ─▶ call: key → partition → replicas, the healthy ones first ─▶ attempt at a node: queue ─▶ conversation ⇢
//	           ▲ next replica ◀── it failed; or it is silent, and is asked beside another one: a hedge ──┘
//
// The owner of a [Set] passes it each new table with Apply. Start with [New].
package nodes

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// What a Config means that does not say.
const (
	defaultConnections = 2
	defaultTimeout     = time.Second
	defaultMaxChecks   = 10_000
)

// messagesPerConnection may be on their way before checks are gathered. Two keep a connection busy while the node
// decides.
const messagesPerConnection = 2

// patience is how long a message may take before the next ones stop waiting for it.
const patience = 10 * time.Millisecond

// Config says how to reach nodes. Every field may be zero.
type Config struct {
	// Servers are the gRPC addresses of nodes to ask while there is no table.
	Servers []string
	// Own is the node that the program is; nil outside a node. Calls to the others are marked as forwarded then.
	Own *Own
	// Connections to keep to each node, 0 for 2.
	Connections int
	// MaxMessages is how many messages may be on their way to a node before checks are gathered for the next one, 0 for two
	// per connection.
	MaxMessages int
	// Timeout is how long a call may take when its context has no deadline, 0 for 1 s.
	Timeout time.Duration
	// MaxChecks is how many checks may be under way at once, but for those of batches; more are refused with
	// limit.ErrOverloaded. 0 for 10,000.
	MaxChecks int
	// FailFast sends no check to a node that is known to be bad: see [Set.Check].
	FailFast bool
	// TLS encrypts the connections; nil for plain text.
	TLS *tls.Config
	// Dial opens a connection to an address of a node, before ctx ends; TLS goes over it. Nil for plain TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Operator makes a call show a node that it is an operator's; nil shows nothing.
	Operator func(*Node) ([]grpc.CallOption, error)
	// Diagnose finds out why an address cannot be asked over gRPC, for people to read: see [Diagnosis]. Nil does not try.
	Diagnose func(ctx context.Context, address string) Diagnosis
	// Stale is called when a node reports a newer table, of that version. Nil ignores it.
	Stale func(n *Node, version uint64)
	// Worse is called when a node is no longer good. Nil ignores it.
	Worse func(*Node)
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Tracer makes a span of each check that other nodes are asked for, and tells them of it; nil makes none. In a node, with Own, a trace never begins
	// with such a span.
	Tracer trace.TracerProvider
}

// Own is the node that a program is: it is asked directly, and is always good.
type Own struct {
	ID      ring.NodeID
	Limiter limit.Limiter
}

// A Set is the nodes that a program sends calls to. It is safe for concurrent use.
//
// The errors of its calls are those of [limit.Checker], wrapped to say which nodes they came from. That no node can be reached, or
// none can decide, is limit.ErrUnavailable.
type Set struct {
	cfg     Config
	marks   metadata.MD  // of calls that go by the table
	servers []*Node      // those of the Config
	own     *Node        // nil outside a node
	tracer  trace.Tracer // nil for none

	table  atomic.Pointer[table]
	checks atomic.Int64 // under way, but for those of batches
	budget budget       // of hedges
	counts counts

	life       context.Context //nolint:containedctx // of the goroutines below; Close ends it
	end        context.CancelFunc
	background sync.WaitGroup

	mu     sync.Mutex
	closed bool
	nodes  map[string]*Node // by address
}

var _ limit.Limiter = (*Set)(nil)

// New makes a Set, which connects when it is first asked something, and is to be closed. The error says what is wrong in cfg.
func New(cfg Config) (*Set, error) {
	cfg.Timeout = orElse(cfg.Timeout, defaultTimeout)
	cfg.Connections = orElse(cfg.Connections, defaultConnections)
	cfg.MaxMessages = orElse(cfg.MaxMessages, messagesPerConnection*cfg.Connections)
	cfg.MaxChecks = orElse(cfg.MaxChecks, defaultMaxChecks)
	s := &Set{cfg: cfg, marks: metadata.Pairs(pb.MarkRouted, "1"), nodes: make(map[string]*Node)}
	if cfg.Tracer != nil {
		s.tracer = cfg.Tracer.Tracer(tracerName)
	}
	s.life, s.end = context.WithCancel(context.Background())
	if cfg.Own != nil {
		s.own = &Node{address: "this node", local: cfg.Own.Limiter}
		s.marks.Set(pb.MarkForwarded, "1")
	}
	s.table.Store(&table{})
	for _, server := range cfg.Servers {
		n, err := s.reachLocked(server)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		n.named = true
		s.servers = append(s.servers, n)
	}
	s.table.Store(makeshift(s.servers))
	if err := s.register(cfg.Registerer); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func orElse[T ~int | ~int64](given, otherwise T) T {
	if given == 0 {
		return otherwise
	}
	return given
}

// reachLocked is the node with that address. Either mu is held, or s is still being made.
func (s *Set) reachLocked(address string) (*Node, error) {
	if n, ok := s.nodes[address]; ok {
		return n, nil
	}
	life, cancel := context.WithCancel(s.life)
	n := &Node{
		address: address, cancel: cancel, traces: s.tracer != nil,
		marked: s.marked, routed: s.routed, stale: s.stale, operator: s.cfg.Operator, lookAt: s.cfg.Diagnose,
	}
	n.begin = func(f func(context.Context)) bool { return s.Go(func(context.Context) { f(life) }) }
	n.health = &health{
		longest: lastPause,
		probe:   n.probe, afford: s.budget.take, worse: func() { s.worse(n) }, begin: n.begin,
	}
	if s.cfg.FailFast {
		n.health.longest = fastPause
	}
	n.queue = &queue{
		send: n.send, patience: patience,
		maxMessages: s.cfg.MaxMessages,
		checks:      &s.checks, maxChecks: int64(s.cfg.MaxChecks),
	}
	if err := n.open(s.cfg.Connections, s.cfg.TLS, s.cfg.Dial); err != nil {
		cancel()
		return nil, err
	}
	s.nodes[address] = n
	return n, nil
}

func (s *Set) worse(n *Node) {
	if s.cfg.Worse != nil {
		s.cfg.Worse(n)
	}
}

func (s *Set) stale(n *Node, version uint64) {
	if s.cfg.Stale != nil && version > s.Version() {
		s.cfg.Stale(n, version)
	}
}

// marked puts the marks on a call that goes by the table, and its span if it is traced.
func (s *Set) marked(ctx context.Context) context.Context {
	if s.routed() {
		ctx = metadata.NewOutgoingContext(ctx, s.marks)
	}
	if s.tracer == nil {
		return ctx
	}
	return named(ctx)
}

// routed says whether calls go by the table: before the first one, they go to any node.
func (s *Set) routed() bool { return s.table.Load().known }

// Go runs f in the background until the set is closed, which waits for it. It returns false, without running f, where the set is closed already.
func (s *Set) Go(f func(context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.goLocked(f)
}

func (s *Set) goLocked(f func(context.Context)) bool {
	if s.closed {
		return false
	}
	s.background.Go(func() { f(s.life) })
	return true
}

// retireLocked closes a node when its calls have been answered, or the set is closed.
func (s *Set) retireLocked(n *Node) {
	s.goLocked(func(ctx context.Context) {
		select {
		case <-n.health.rested():
		case <-ctx.Done():
		}
		_ = n.close() // no caller is left to return an error to
	})
}

// Close gives up what is under way and closes the connections. Calls after it are limit.ErrUnavailable.
func (s *Set) Close() error {
	s.mu.Lock()
	s.closed = true
	nodes := make([]*Node, 0, len(s.nodes))
	for _, n := range s.nodes {
		nodes = append(nodes, n)
	}
	s.mu.Unlock()
	s.end()
	var errs []error
	for _, n := range nodes {
		errs = append(errs, n.close())
	}
	s.background.Wait()
	return errors.Join(errs...)
}

// Deadline is that of a call with ctx, even if ctx has none.
func (s *Set) Deadline(ctx context.Context) time.Time {
	if at, ok := ctx.Deadline(); ok {
		return at
	}
	return time.Now().Add(s.cfg.Timeout)
}

// AwaitConnections returns when every connection to every other node is open, or ctx has ended.
func (s *Set) AwaitConnections(ctx context.Context) {
	for _, seat := range s.Others() {
		for _, conn := range seat.conns {
			for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
				conn.Connect()
				if !conn.WaitForStateChange(ctx, state) {
					return
				}
			}
		}
	}
}
