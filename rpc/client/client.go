// Package client is the Go client of a jeton cluster: a [limit.Limiter] over gRPC. It knows where every key lives, and
// asks the key's owner straight away; it puts a deadline on every call, sends checks that are made at the same time in
// one message, and goes to the next replica when a node fails or falls silent.
//
//	c, err := client.New(client.Config{Servers: []string{"127.0.0.1:7700"}})
//	…
//	d, err := c.Check(ctx, limit.Request{Key: "user:42", Limits: []limit.Ref{limit.Named("login")}})
//
// The path of one check:
//
//	Check ─▶ way (key → partition → replicas, by the table) ─▶ trial ─▶ node: queue ─▶ connection ⇢
//	            ▲ next replica ◀── it failed, or is silent ───────┘
//	watch ⇢ a node's table, and again whenever it changes
//
// Start with [New].
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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

// patience is how long a message may take before others no longer wait for it.
const patience = 10 * time.Millisecond

// Config says how to reach a cluster.
type Config struct {
	// Servers are the gRPC addresses of nodes, such as 127.0.0.1:7700: any of them, the others become known through
	// them. Required, with Server, unless there are Tables.
	Servers []string
	// Server is one more of them.
	Server string
	// Connections to keep to each node, 0 for 2. More than 4 are no use.
	Connections int
	// MaxMessages is how many messages may be on their way to a node before checks are gathered for the next one, 0 for two
	// per connection. Fewer are fuller, and cost everybody less; a check may then wait for the one before, 10 ms at most.
	MaxMessages int
	// Timeout is how long a call may take when its context has no deadline, 0 for 1 s.
	Timeout time.Duration
	// MaxChecks is how many checks may be under way at once; more are refused with limit.ErrOverloaded. 0 for 10,000.
	MaxChecks int
	// FailFast sends no check to a node that is known to be bad: to refuse connections or all checks, or to be silent. While
	// every replica of its key is, a check is refused at once, with limit.ErrUnavailable. Otherwise a check goes there last, and
	// waits for an answer as long as it may. Probes find out when a node is back, and go out four times a second then, and else
	// once.
	FailFast bool
	// TLS encrypts the connections; nil for plain text. With the cluster key, it proves an operator.
	TLS *tls.Config
	// Token is what an operator without the cluster key shows to look at buckets, to fill them and to change limits: one of a
	// node's --admin-token-file, or of `jeton cluster token`. It is asked for each such call; nil, or an empty answer, shows
	// none. Without TLS it is shown over loopback alone: such a call to another machine fails.
	Token func() string
	// Dial opens a connection to an address of a node, before ctx ends; TLS goes over it. Nil for plain TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer

	// Tables, of a client inside a node, is where the table comes from, instead of from the servers: the newest one, and
	// a channel that is closed when there is a newer one.
	Tables func() (*View, <-chan struct{})
	// Self is the node that the client is in, and Local decides for it; both or neither. What this node is to decide goes
	// there, and what goes to other nodes is marked as forwarded. They need Tables.
	Self  ring.NodeID
	Local limit.Limiter
}

// A Client asks a cluster. It is safe for concurrent use.
//
// Its errors are those of [limit.Checker], wrapped to say which nodes they came from. That no node can be reached, or
// none can decide, is limit.ErrUnavailable.
type Client struct {
	timeout     time.Duration
	connections int
	maxMessages int
	maxChecks   int
	failFast    bool
	secure      *tls.Config
	token       func() string
	dial        func(context.Context, string) (net.Conn, error) // nil for plain TCP
	marks       metadata.MD                                     // of calls that go by the table
	servers     []*node                                         // that the caller named
	tables      func() (*View, <-chan struct{})
	self        *node // that this client is in; nil outside
	selfID      ring.NodeID

	table  atomic.Pointer[table]
	limits limits
	checks atomic.Int64 // under way, but for those of batches
	budget budget       // of second tries
	counts counts
	awake  sync.Once // begins to keep the table

	life       context.Context //nolint:containedctx // of the goroutines below; Close ends it
	end        context.CancelFunc
	background sync.WaitGroup

	mu     sync.Mutex
	closed bool
	nodes  map[string]*node // by address
	watch  watch
}

var _ limit.Limiter = (*Client)(nil)

// New makes a Client, and connects when it is first asked something. The error says what is wrong in cfg.
func New(cfg Config) (*Client, error) {
	servers, err := cfg.check()
	if err != nil {
		return nil, fmt.Errorf("jeton client: %w", err)
	}
	c := &Client{
		timeout:     orElse(cfg.Timeout, defaultTimeout),
		connections: orElse(cfg.Connections, defaultConnections),
		maxChecks:   orElse(cfg.MaxChecks, defaultMaxChecks),
		failFast:    cfg.FailFast,
		secure:      cfg.TLS,
		token:       cfg.Token,
		dial:        cfg.Dial,
		marks:       metadata.Pairs(pb.MarkRouted, "1"),
		tables:      cfg.Tables,
		nodes:       make(map[string]*node),
		watch:       watch{poke: make(chan struct{}, 1)},
		limits:      limits{heard: make(chan struct{})},
	}
	c.maxMessages = orElse(cfg.MaxMessages, messagesPerConnection*c.connections)
	c.life, c.end = context.WithCancel(context.Background())
	if cfg.Local != nil {
		c.self, c.selfID = &node{address: "this node", local: cfg.Local}, cfg.Self
		c.marks.Set(pb.MarkForwarded, "1")
	}
	c.table.Store(&table{})
	for _, server := range servers {
		n, err := c.reachLocked(server)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.servers = append(c.servers, n)
	}
	c.table.Store(makeshift(c.servers))
	if err := c.register(cfg.Registerer); err != nil {
		return nil, errors.Join(fmt.Errorf("jeton client: %w", err), c.Close())
	}
	if c.tables != nil {
		v, _ := c.tables()
		c.accept(v)
		c.awake.Do(c.keepTable)
	}
	return c, nil
}

// check says what is wrong in cfg, and which servers it names.
func (cfg *Config) check() ([]string, error) {
	var servers []string
	for _, server := range append(slices.Clone(cfg.Servers), cfg.Server) {
		if server != "" && !slices.Contains(servers, server) {
			servers = append(servers, server)
		}
	}
	switch {
	case len(servers) == 0 && cfg.Tables == nil:
		return nil, errors.New("no server: name the gRPC addresses of nodes, such as 127.0.0.1:7700")
	case slices.Contains(cfg.Servers, ""):
		return nil, errors.New("servers: one is empty: name a gRPC address, such as 127.0.0.1:7700")
	case min(cfg.Connections, cfg.MaxMessages, cfg.MaxChecks) < 0 || cfg.Timeout < 0:
		return nil, fmt.Errorf("negative numbers: %d connections, %d messages, timeout %v, %d checks", cfg.Connections, cfg.MaxMessages, cfg.Timeout, cfg.MaxChecks)
	case (cfg.Local == nil) != (cfg.Self == ring.NodeID{}) || cfg.Local != nil && cfg.Tables == nil:
		return nil, errors.New("a client inside a node needs all of Tables, Self and Local")
	}
	return servers, nil
}

func orElse[T ~int | ~int64](given, otherwise T) T {
	if given == 0 {
		return otherwise
	}
	return given
}

// reachLocked is the node with that address. Nobody else may use c yet, or mu must be held.
func (c *Client) reachLocked(address string) (*node, error) {
	if n, ok := c.nodes[address]; ok {
		return n, nil
	}
	life, cancel := context.WithCancel(c.life)
	n := &node{address: address, cancel: cancel, marked: c.marked, stale: c.heardOf, token: c.token, private: c.secure != nil || isLoopback(address)}
	n.suspicion.never = c.self != nil
	n.health = &health{
		longest: lastPause,
		probe:   n.probe, afford: c.budget.take, worse: func() { c.avoid(n) },
		begin: func(f func(context.Context)) bool { return c.begin(func(context.Context) { f(life) }) },
	}
	if c.failFast {
		n.health.longest = fastPause
	}
	n.queue = &queue{
		send: n.send, patience: patience,
		maxMessages: c.maxMessages,
		checks:      &c.checks, maxChecks: int64(c.maxChecks),
	}
	if err := n.open(c.connections, c.secure, c.dial); err != nil {
		cancel()
		return nil, err
	}
	c.nodes[address] = n
	return n, nil
}

// marked puts the marks on a call that goes by the table.
func (c *Client) marked(ctx context.Context) context.Context {
	if !c.table.Load().known {
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, c.marks)
}

// begin runs f in the background until the client is closed; not if it is.
func (c *Client) begin(f func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.beginLocked(f)
}

func (c *Client) beginLocked(f func(context.Context)) bool {
	if c.closed {
		return false
	}
	c.background.Go(func() { f(c.life) })
	return true
}

// retireLocked closes a node when its calls have been answered, or the client is closed.
func (c *Client) retireLocked(n *node) {
	c.beginLocked(func(ctx context.Context) {
		select {
		case <-n.health.rested():
		case <-ctx.Done():
		}
		_ = n.close() // nobody is left who could do something about an error
	})
}

// Close gives up what is under way and closes the connections. Calls after it are limit.ErrUnavailable.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	nodes := make([]*node, 0, len(c.nodes))
	for _, n := range c.nodes {
		nodes = append(nodes, n)
	}
	c.mu.Unlock()
	c.end()
	var errs []error
	for _, n := range nodes {
		errs = append(errs, n.close())
	}
	c.background.Wait()
	return errors.Join(errs...)
}

// start is the way of a call about key.
func (c *Client) start(ctx context.Context, key string) way {
	c.awake.Do(c.keepTable)
	c.counts.calls.Add(1)
	c.budget.earn()
	return way{client: c, ctx: ctx, deadline: c.deadline(ctx), hash: ring.Hash(key)}
}

// startCheck is the way of a check.
func (c *Client) startCheck(ctx context.Context, key string) way {
	w := c.start(ctx, key)
	w.skipsBad = c.failFast
	return w
}

// deadline is that of a call with ctx, even if ctx has none.
func (c *Client) deadline(ctx context.Context) time.Time {
	if at, ok := ctx.Deadline(); ok {
		return at
	}
	return time.Now().Add(c.timeout)
}

// Check implements [limit.Checker]. Checks that are made at the same time travel together.
func (c *Client) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	if c.self != nil {
		return c.checkInside(ctx, r)
	}
	if err := r.Validate(); err != nil {
		return limit.Decision{}, err
	}
	w := c.startCheck(ctx, r.Key)
	if w.hopeless() {
		return limit.Decision{}, c.unsent(w.hash)
	}
	m := pb.EncodeRequest(r)
	return walk(w, func(ctx context.Context, n *node) (limit.Decision, error) { return n.check(ctx, m) })
}

// Inspect implements [limit.Inspector].
func (c *Client) Inspect(ctx context.Context, key string, ref limit.Ref) (limit.Inspection, error) {
	if err := limit.ValidateKey(key); err != nil {
		return limit.Inspection{}, err
	}
	return walk(c.start(ctx, key), func(ctx context.Context, n *node) (limit.Inspection, error) {
		if n.local != nil {
			return n.local.Inspect(ctx, key, ref)
		}
		m, err := askAsOperator(c.marked(ctx), n, &pb.InspectRequest{Key: key, Limit: pb.EncodeRef(ref)}, pb.LimiterClient.Inspect)
		if err != nil {
			return limit.Inspection{}, err
		}
		return pb.DecodeInspection(m.GetInspection())
	})
}

// Reset implements [limit.Resetter].
func (c *Client) Reset(ctx context.Context, key string, ref limit.Ref) error {
	if err := limit.ValidateKey(key); err != nil {
		return err
	}
	_, err := walk(c.start(ctx, key), func(ctx context.Context, n *node) (struct{}, error) {
		if n.local != nil {
			return struct{}{}, n.local.Reset(ctx, key, ref)
		}
		_, err := askAsOperator(c.marked(ctx), n, &pb.ResetRequest{Key: key, Limit: pb.EncodeRef(ref)}, pb.LimiterClient.Reset)
		return struct{}{}, err
	})
	return err
}
