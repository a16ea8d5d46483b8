package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/client"
)

// A swarm is the nodes of a cluster on this machine, each a process of its own that runs this very program. It starts a
// node again when it has ended without being told to.
type swarm struct {
	nodes []*devNode
	out   io.Writer

	running sync.WaitGroup     // a goroutine for each node
	cancel  context.CancelFunc // of them
	failed  chan error         // why a node cannot run
}

// A devNode is one node of a swarm.
type devNode struct {
	name  string
	args  []string
	ports map[string]string // address by kind: grpc, gossip, http, raft
	out   io.Writer

	mu   sync.Mutex
	cmd  *exec.Cmd
	last string // why it has ended, or the last line that it said
}

// The kinds of addresses of a node, in the order of their ports.
var addressKinds = []string{"grpc", "gossip", "http", "raft"}

const (
	// restartAfter is how long a node that was killed stays away, so that one can see what happens without it.
	restartAfter = 2 * time.Second
	// readyWithin is how long the nodes may take to serve.
	readyWithin = time.Minute
	// stopAllWithin is how long they may take to stop before they are killed.
	stopAllWithin = 2 * stopWithin
)

// newSwarm plans the nodes of a cluster, and starts none.
func newSwarm(cfg devConfig, out io.Writer) (*swarm, error) {
	s := &swarm{failed: make(chan error, cfg.nodes)}
	out = &lines{w: out}
	s.out = out
	var gossip []string
	for i := range cfg.nodes {
		n := &devNode{name: fmt.Sprintf("node-%d", i+1), out: out, ports: map[string]string{}}
		for k, kind := range addressKinds {
			address := net.JoinHostPort("127.0.0.1", strconv.Itoa(cfg.port+10*i+k))
			if cfg.port == 0 {
				free, err := freeAddress()
				if err != nil {
					return nil, err
				}
				address = free
			}
			n.ports[kind] = address
		}
		gossip = append(gossip, n.ports["gossip"])
		s.nodes = append(s.nodes, n)
	}
	for i, n := range s.nodes {
		n.args = []string{
			"serve", "--stop-with-input", "--log-level", "warn", "--node-name", n.name,
			"--data", filepath.Join(cfg.data, n.name), "--limits", cfg.limits,
		}
		for _, kind := range addressKinds {
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

// freeAddress is a port of loopback, TCP and UDP, that nobody listens on just now.
func freeAddress() (string, error) {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
		if err != nil {
			return "", err
		}
		address := l.Addr().String()
		p, err := net.ListenPacket("udp", address) //nolint:noctx // nor does it
		if cerr := l.Close(); cerr != nil {
			return "", cerr
		}
		if err == nil {
			return address, p.Close()
		}
	}
	return "", errors.New("there is no free port")
}

func (n *devNode) at(kind string) string { return n.ports[kind] }

// portsFree makes sure that nobody else listens where the nodes are to: who answers there would be taken for them.
func (s *swarm) portsFree() error {
	for _, n := range s.nodes {
		for _, kind := range addressKinds {
			l, err := net.Listen("tcp", n.at(kind)) //nolint:noctx // it does not wait
			if err == nil {
				err = l.Close()
			}
			if err != nil {
				return fmt.Errorf("--port: %s, for %s, is in use: stop what listens there, or give another port, such as --port 7800",
					n.at(kind), n.name)
			}
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
func (s *swarm) start(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	keep, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	for _, n := range s.nodes {
		s.running.Go(func() {
			if err := n.run(keep, program); err != nil {
				s.failed <- err
			}
		})
	}
	ctx, done := context.WithTimeout(ctx, readyWithin)
	defer done()
	for _, n := range s.nodes {
		if err := s.ready(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// ready returns when a node serves.
func (s *swarm) ready(ctx context.Context, n *devNode) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if n.serves(ctx) {
			return nil
		}
		select {
		case err := <-s.failed:
			return err
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("%s does not serve after %v: see what it said above", n.name, readyWithin)
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (n *devNode) serves(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.at("http")+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer a.Body.Close()
	return a.StatusCode == http.StatusOK
}

// wait returns when ctx ends or no node can run any more. One that was removed from the cluster ends by itself.
func (s *swarm) wait(ctx context.Context) error {
	for left := len(s.nodes) - 1; ; left-- {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.failed:
			if left == 0 {
				return err
			}
			fmt.Fprintf(s.out, "%v; the others go on\n", err)
		}
	}
}

// stop stops all nodes at once, in good order. The error says which have not ended well.
func (s *swarm) stop() (err error) {
	if s.cancel != nil {
		s.cancel()
	}
	s.running.Wait()
	for {
		select {
		case failed := <-s.failed:
			err = errors.Join(err, failed)
		default:
			return err
		}
	}
}

// run keeps a node running until ctx ends, and then stops it. The error says that it cannot run: it has ended by itself
// with one.
func (n *devNode) run(ctx context.Context, program string) error {
	for first := true; ; first = false {
		exited, input, err := n.launch(program)
		if err != nil {
			return err
		}
		quiet := func() {}
		if !first {
			quiet = n.tellReady(ctx)
		}
		select {
		case <-ctx.Done():
			quiet()
			return n.end(exited, input)
		case err := <-exited:
			quiet()
			input.Close()
			happened := "was stopped"
			if status, failed := errors.AsType[*exec.ExitError](err); failed && status.Exited() {
				return fmt.Errorf("%s has ended: %s", n.name, n.said())
			} else if failed {
				happened = "was killed"
			}
			fmt.Fprintf(n.out, "%s %s; it is started again in %v\n", n.name, happened, restartAfter)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(restartAfter):
		}
	}
}

// tellReady says so when the node serves again, unless quiet is called before.
func (n *devNode) tellReady(ctx context.Context) (quiet func()) {
	ctx, cancel := context.WithCancel(ctx)
	var telling sync.WaitGroup
	telling.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for !n.serves(ctx) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		fmt.Fprintf(n.out, "%s serves again, process %d\n", n.name, n.pid())
	})
	return func() {
		cancel()
		telling.Wait()
	}
}

// launch starts the process. Its input is a pipe that it stops with, so that no node outlives its dev.
func (n *devNode) launch(program string) (<-chan error, io.Closer, error) {
	cmd := exec.Command(program, n.args...) //nolint:noctx // it is stopped by the end of its input
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", n.name, err)
	}
	n.mu.Lock()
	n.cmd = cmd
	n.mu.Unlock()
	exited := make(chan error, 1)
	go func() {
		n.read(said)
		exited <- cmd.Wait()
	}()
	return exited, in, nil
}

// read passes on what the node says, but for why it ends: that is said by whoever finds it ended.
func (n *devNode) read(said io.Reader) {
	scan := bufio.NewScanner(said)
	for scan.Scan() {
		line, why := strings.CutPrefix(scan.Text(), "jeton: ")
		n.mu.Lock()
		n.last = line
		n.mu.Unlock()
		if !why {
			fmt.Fprintf(n.out, "%s: %s\n", n.name, line)
		}
	}
}

func (n *devNode) said() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

func (n *devNode) pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cmd.Process.Pid
}

// end stops the process in good order, or kills it when that takes too long.
func (n *devNode) end(exited <-chan error, input io.Closer) error {
	input.Close()
	select {
	case err := <-exited:
		return err
	case <-time.After(stopAllWithin):
		err := fmt.Errorf("%s did not stop within %v and was killed", n.name, stopAllWithin)
		return errors.Join(err, n.cmd.Process.Kill(), <-exited)
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
