// Package client is the Go client of a jeton cluster: a [limit.Limiter] over gRPC. It knows where every key lives, and
// asks the key's owner straight away; it puts a deadline on every call, sends checks that are made at the same time in
// one message, and goes to the next replica when a node fails or falls silent.
//
//	c, err := client.New(client.Config{Servers: []string{"127.0.0.1:7700"}})
//	…
//	d, err := c.Check(ctx, limit.Request{Key: "user:42", Limits: []limit.Ref{limit.Named("login")}})
//
// Start with [New].
package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor/edge"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/speaks"
	"github.com/jeton-dev/jeton/rpc/nodes"
)

// Config says how to reach a cluster.
type Config struct {
	// Servers are the gRPC addresses of nodes, such as 127.0.0.1:7700: any of them, the others become known through
	// them. Required, with Server.
	Servers []string
	// Server is one more of them.
	Server string
	// Connections to keep to each node, 0 for 2. More than 4 are no use.
	Connections int
	// MaxMessages is how many messages may be on their way to a node before checks are gathered for the next one, 0 for two
	// per connection. With fewer messages, each holds more checks, and all cost less; a check may then wait for the one before, 10 ms
	// at most.
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
	// Edges is how many clients and gateways share the limits that are local and divided; 0 for 1.
	Edges int
	// RepeatDenials is how long a denial of a limit that is leased is repeated at most, without asking a node: until the time at which its owner would admit the check, and up to a
	// second, which 0 stands for. After a reset, or when tokens are given back, a check may be denied for so much longer. Below 0, nodes are asked each time.
	RepeatDenials time.Duration
	// Name is how owners show this client where it holds tokens of limits that are leased, for people; empty for the name of the machine.
	Name string
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Tracer makes a span of each check that nodes are asked for, and tells them of it; nil makes none. It has no key in it. In a trace that is not
	// sampled, and without a Tracer, a check costs nothing more.
	Tracer trace.TracerProvider
}

// A Client asks a cluster. It is safe for concurrent use.
//
// Its errors are those of [limit.Checker], wrapped to say which nodes they came from. That no node can be reached, or
// none can decide, is limit.ErrUnavailable.
type Client struct {
	nodes  *nodes.Set
	edge   *edge.Edge    // decides what it holds tokens for, and asks the nodes otherwise
	token  func() string // nil for none
	secure bool          // the connections are encrypted
	limits limits
	awake  sync.Once // starts the watch of the table

	mu    sync.Mutex
	watch watch
}

var _ limit.Limiter = (*Client)(nil)

// New makes a Client, and connects when it is first asked something. The error says what is wrong in cfg.
func New(cfg Config) (*Client, error) {
	servers, err := cfg.check()
	if err != nil {
		return nil, fmt.Errorf("jeton client: %w", err)
	}
	c := &Client{
		token: cfg.Token, secure: cfg.TLS != nil,
		watch: watch{poke: make(chan struct{}, 1)}, limits: limits{heard: make(chan struct{})},
	}
	c.nodes, err = nodes.New(nodes.Config{
		Servers: servers, Connections: cfg.Connections, MaxMessages: cfg.MaxMessages, Timeout: cfg.Timeout,
		MaxChecks: cfg.MaxChecks, FailFast: cfg.FailFast, TLS: cfg.TLS, Dial: cfg.Dial, Registerer: cfg.Registerer, Tracer: cfg.Tracer,
		Operator: c.showToken, Diagnose: cfg.diagnose, Stale: c.heardOf, Worse: c.avoid,
	})
	if err != nil {
		return nil, fmt.Errorf("jeton client: %w", err)
	}
	c.edge, err = edge.New(edge.Config{Cluster: c.nodes, Limits: c.Limits, Go: c.nodes.Go, Timeout: cmp.Or(cfg.Timeout, time.Second), Edges: cfg.Edges, RepeatDenials: cfg.RepeatDenials, Name: cfg.name(), Registerer: cfg.Registerer})
	if err != nil {
		return nil, fmt.Errorf("jeton client: %w", errors.Join(err, c.nodes.Close()))
	}
	if err := c.limits.register(cfg.Registerer); err != nil {
		return nil, fmt.Errorf("jeton client: %w", errors.Join(err, c.Close()))
	}
	return c, nil
}

// name is how owners show the client.
func (cfg *Config) name() string {
	if cfg.Name != "" {
		return cfg.Name
	}
	host, _ := os.Hostname() // without it, it has no name
	return host
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
	case len(servers) == 0:
		return nil, errors.New("no server: name the gRPC addresses of nodes, such as 127.0.0.1:7700")
	case slices.Contains(cfg.Servers, ""):
		return nil, errors.New("servers: one is empty: name a gRPC address, such as 127.0.0.1:7700")
	case min(cfg.Connections, cfg.MaxMessages, cfg.MaxChecks, cfg.Edges) < 0 || cfg.Timeout < 0:
		return nil, fmt.Errorf("negative numbers: %d connections, %d messages, timeout %v, %d checks, %d edges", cfg.Connections, cfg.MaxMessages, cfg.Timeout, cfg.MaxChecks, cfg.Edges)
	}
	return servers, nil
}

// diagnose finds out why an address cannot be asked.
func (cfg *Config) diagnose(ctx context.Context, address string) nodes.Diagnosis {
	p, wrong := speaks.Misdirected(ctx, address, cfg.TLS, cfg.Dial)
	return nodes.Diagnosis{Wrong: wrong, Silent: p == speaks.Silent}
}

// known is the nodes, with their table as it changes from now on.
func (c *Client) known() *nodes.Set {
	c.awake.Do(func() { c.nodes.Go(c.watchTables) })
	return c.nodes
}

// Limits are the stored limits in force as the client has last heard, which it does within a moment of a change; nil
// before it has heard of any. It does not wait. The pointer stays the same until they change. Limits that this client is
// too old to understand leave those before them in place.
func (c *Client) Limits() *limit.Document {
	c.known()
	return c.limits.document()
}

// Heard is closed when the client has heard of the table and the limits for the first time: from then on, it asks every
// key's owner straight away and Limits has something to tell. It may be long before that where no node can be reached.
func (c *Client) Heard() <-chan struct{} {
	c.known()
	return c.limits.heard
}

// Close gives back tokens that the client holds, for half a second at most, gives up what is under way and closes the connections. Calls after it are limit.ErrUnavailable.
func (c *Client) Close() error {
	c.edge.Close()
	return c.nodes.Close()
}

// Version is the version of the table that the client goes by; 0 before it has one.
func (c *Client) Version() uint64 { return c.nodes.Version() }

// First is the address of the node that decides about key while all are well, as Decision.Node has it.
func (c *Client) First(key string) string { return c.known().First(key) }

// SetEdges says how many clients and gateways share the limits that are local and divided, from now on; 0 means 1.
func (c *Client) SetEdges(n int) { c.edge.SetEdges(n) }

// Check implements [limit.Checker]. Checks that are made at the same time travel together.
func (c *Client) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	c.known()
	return c.edge.Check(ctx, r)
}

// CheckBatch implements [limit.BatchChecker], with one message to each node that is to decide something.
func (c *Client) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	c.known()
	return c.edge.CheckBatch(ctx, rs)
}

// CheckAll implements [limit.AllChecker]. The client itself asks the owners of the keys, one after another, and gives back what they
// took when one denies. If the program ends in between, nothing is given back.
func (c *Client) CheckAll(ctx context.Context, rs []limit.Request) (limit.AllDecision, error) {
	c.known()
	return c.edge.CheckAll(ctx, rs)
}

// Return implements [limit.Returner]. When it is not known whether a receipt was taken back, the error says so.
func (c *Client) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	c.known()
	return c.edge.Return(ctx, key, receipts)
}

// Settle implements [limit.Settler]. It may be repeated after an error.
func (c *Client) Settle(ctx context.Context, s limit.Settlement) (limit.Settled, error) {
	return c.known().Settle(ctx, s)
}

// Inspect implements [limit.Inspector].
func (c *Client) Inspect(ctx context.Context, key string, ref limit.Ref, plan string) (limit.Inspection, error) {
	return c.known().Inspect(ctx, key, ref, plan)
}

// Reset implements [limit.Resetter].
func (c *Client) Reset(ctx context.Context, key string, ref limit.Ref) error {
	c.known()
	return c.edge.Reset(ctx, key, ref)
}

// A MisdirectedError says in words for people what is wrong with the address of a server: it is not where a node takes checks, or
// TLS is on one side only.
type MisdirectedError = nodes.MisdirectedError
