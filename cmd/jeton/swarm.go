package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/rpc/client"
)

// A swarm is the nodes of a cluster on this machine and gateways, each a process of its own that runs this very program.
// It restarts a process that has ended without being told to.
type swarm struct {
	nodes    []*child
	gateways []*child // at least one
	out      io.Writer

	failed chan failure // gets what cannot run any more
}

// A failure is why a child cannot run.
type failure struct {
	of  *child
	err error
}

// The kinds of addresses of a node and of a gateway, in the order of their ports.
var (
	nodeAddresses    = []string{"grpc", "gossip", "http", "raft", "redis"}
	gatewayAddresses = []string{"proxy", "admin", "forward-auth", "doors"}
)

const (
	// readyWithin is how long the nodes may take, and then the gateway, to serve.
	readyWithin = time.Minute
)

// newSwarm plans the nodes of a cluster, and starts none.
func newSwarm(cfg devConfig, out io.Writer) (*swarm, error) {
	s := &swarm{failed: make(chan failure, cfg.nodes+cfg.gateways), out: &lines{w: out}}
	taken := map[string]bool{}
	var gossip []string
	for i := range cfg.nodes {
		first := cfg.port
		if first != 0 {
			first += 10 * i
		}
		n, err := newChild(fmt.Sprintf("node-%d", i+1), "http", nodeAddresses, first, taken)
		if err != nil {
			return nil, err
		}
		n.out = s.out
		gossip = append(gossip, n.at("gossip"))
		s.nodes = append(s.nodes, n)
	}
	for i := range cfg.gateways {
		g, err := cfg.newGateway(i, taken)
		if err != nil {
			return nil, err
		}
		g.out = s.out
		s.gateways = append(s.gateways, g)
	}
	memory, err := memoryOfEach(cfg.nodes, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	for i, n := range s.nodes {
		n.args = []string{
			"serve", "--stop-with-input", "--log-level", "warn", "--node-name", n.name,
			"--data", filepath.Join(cfg.data, n.name),
		}
		if !cfg.samples() || cfg.begins() {
			n.args = append(n.args, "--limits", cfg.limits)
		}
		n.args = append(n.args, memory...)
		n.args = append(n.args, "--doors", "gubernator,kuadrant,rls,rlqs", "--rls-config", cfg.rls(), "--kuadrant-config", cfg.kuadrant())
		for _, kind := range nodeAddresses {
			n.args = append(n.args, "--listen-"+kind, n.ports[kind])
		}
		founders := max(1, min(5, cfg.nodes-1+cfg.nodes%2)) // 1, 3 or 5: the others join
		if cfg.nodes > 1 && (founders > 1 || i > 0) {
			n.args = append(n.args, "--join", strings.Join(gossip, ","))
		}
		if founders > 1 {
			n.args = append(n.args, "--expect", strconv.Itoa(founders))
		}
	}
	return s, nil
}

// newGateway plans the i-th gateway.
func (cfg devConfig) newGateway(i int, taken map[string]bool) (*child, error) {
	first := cfg.gatewayPort
	if first != 0 {
		first += 10 * i
	}
	g, err := newChild(numbered("gateway", i), "admin", gatewayAddresses, first, taken)
	if err != nil {
		return nil, err
	}
	g.env = withoutOptions(os.Environ())
	g.args = []string{"gateway", "--stop-with-input", "--log-level", "warn", "--config", cfg.document(i)}
	return g, nil
}

// memoryOfEach is the option by which nodes on one machine share what a single one takes, unless the environment says what each takes.
func memoryOfEach(nodes int, env cli.Lookup) ([]string, error) {
	b, err := boundOf(0, env)
	if _, said := env("JETON_MEMORY"); err != nil || said || b.fixed || b.bytes == 0 {
		return nil, err
	}
	return []string{"--memory", strconv.FormatInt(max(b.bytes/int64(nodes), cli.LeastMemory), 10)}, nil
}

// portsFreeWithin is how long processes of a dev that was killed may take to be gone.
const portsFreeWithin = 3 * time.Second

// awaitPorts waits until the ports are free, and says which one is not in the end.
func (s *swarm) awaitPorts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, portsFreeWithin)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := s.portsFree()
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

// portsFree makes sure that no other process listens on the ports of the nodes and the gateway: it would be taken for one of them.
func (s *swarm) portsFree() error {
	for _, n := range s.nodes {
		if address := n.portInUse(nodeAddresses); address != "" {
			return fmt.Errorf("--port: %s, for %s, is in use: stop what listens there, or give another port, such as --port 7800",
				address, n.name)
		}
		for _, kind := range nodeAddresses {
			for _, g := range s.gateways {
				if slices.Contains(slices.Collect(maps.Values(g.ports)), n.at(kind)) {
					return fmt.Errorf("--gateway-port: %s is for %s: give another port, such as --gateway-port 7880", n.at(kind), n.name)
				}
			}
		}
	}
	for _, g := range s.gateways {
		if address := g.portInUse(gatewayAddresses); address != "" {
			return fmt.Errorf("--gateway-port: %s is in use: stop what listens there, or give another port, such as --gateway-port 7880", address)
		}
	}
	return nil
}

// limits are those in force: what was in force in an earlier life rules over the file.
func (s *swarm) limits(ctx context.Context) (*limit.Document, error) {
	c, err := client.New(client.Config{Servers: []string{s.nodes[0].at("grpc")}})
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // the answer has been read
	text, _, err := c.LimitsText(ctx)
	if err != nil {
		return nil, err
	}
	return limit.ParseDocument([]byte(text))
}

// start starts every node, and returns when all of them serve.
func (s *swarm) start(ctx context.Context) error { return s.startAll(ctx, s.nodes) }

func (s *swarm) startAll(ctx context.Context, all []*child) error {
	for _, n := range all {
		if err := s.keep(ctx, n); err != nil {
			return err
		}
	}
	ctx, done := context.WithTimeout(ctx, readyWithin)
	defer done()
	for _, n := range all {
		if err := s.ready(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// startGateways starts the gateways, and returns when all of them serve.
func (s *swarm) startGateways(ctx context.Context) error { return s.startAll(ctx, s.gateways) }

// keep keeps a child running until it is stopped.
func (s *swarm) keep(ctx context.Context, n *child) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	n.running.Go(func() {
		if err := n.run(ctx, program); err != nil {
			s.failed <- failure{n, err}
		}
	})
	return nil
}

// ready returns when a child serves.
func (s *swarm) ready(ctx context.Context, n *child) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if n.serves(ctx) {
			return nil
		}
		select {
		case f := <-s.failed:
			return f.err
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("%s does not serve after %v: see what it said above", n.name, readyWithin)
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// wait returns when ctx ends or no node can run any more. One that was removed from the cluster ends by itself.
func (s *swarm) wait(ctx context.Context) error {
	left := len(s.nodes)
	for {
		select {
		case <-ctx.Done():
			return nil
		case f := <-s.failed:
			if slices.Contains(s.nodes, f.of) {
				left--
			}
			if left == 0 {
				return f.err
			}
			fmt.Fprintf(s.out, "%v; the others go on\n", f.err)
		}
	}
}

// stop stops the gateways at once and then the nodes, in good order. The error says which have not ended well.
func (s *swarm) stop() (err error) {
	for _, all := range [][]*child{s.gateways, s.nodes} {
		var stopping sync.WaitGroup
		for _, n := range all {
			stopping.Go(n.stop)
		}
		stopping.Wait()
	}
	for {
		select {
		case f := <-s.failed:
			err = errors.Join(err, f.err)
		default:
			return err
		}
	}
}

// lines writes whole writes one after another.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
