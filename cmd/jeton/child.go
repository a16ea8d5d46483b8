package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// restartAfter is how long a process that was killed stays away, so that its absence can be observed.
	restartAfter = 2 * time.Second
	// stopAllWithin is how long a process may take to stop before it is killed.
	stopAllWithin = 2 * stopWithin
)

// A child is one process of a swarm.
type child struct {
	name   string
	args   []string
	ports  map[string]string // address by kind
	health string            // the kind of the address that answers /readyz
	env    []string          // nil: that of this process
	out    io.Writer

	running sync.WaitGroup     // the goroutine that keeps it running
	cancel  context.CancelFunc // of it; nil: it was never started

	mu   sync.Mutex
	cmd  *exec.Cmd
	last string // why it has ended, or the last line that it said
}

// places are how far the ports of addresses lie behind the first one of their process.
var places = map[string]int{
	"grpc": 0, "gossip": 1, "http": 2, "raft": 3, "redis": 6,
	"proxy": 0, "admin": 1, "forward-auth": 2, "doors": 3,
}

// newChild plans a process whose addresses have their ports from first on; 0 takes any that are free and not taken.
func newChild(name, health string, kinds []string, first int, taken map[string]bool) (*child, error) {
	c := &child{name: name, health: health, ports: map[string]string{}}
	for _, kind := range kinds {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+places[kind]))
		if first == 0 {
			free, err := freeAddress(taken)
			if err != nil {
				return nil, err
			}
			address = free
		}
		c.ports[kind], taken[address] = address, true
	}
	return c, nil
}

// The ports of --port 0 lie from firstFree up to behindFree. Systems give higher ones to outgoing connections, and could give away the port
// of a node that is down for a moment.
const firstFree, behindFree = 20000, 32768

// freeAddress is a port of loopback, TCP and UDP, that is free at the moment, and none of those taken.
func freeAddress(taken map[string]bool) (string, error) {
	for range 1000 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstFree+rand.IntN(behindFree-firstFree))) //nolint:gosec // any will do
		l, err := net.Listen("tcp", address)                                                              //nolint:noctx // it does not wait
		if err != nil {
			continue
		}
		p, err := net.ListenPacket("udp", address) //nolint:noctx // nor does it
		if cerr := l.Close(); cerr != nil {
			return "", cerr
		}
		if err != nil {
			continue
		}
		if err := p.Close(); err != nil || !taken[address] {
			return address, err
		}
	}
	return "", errors.New("there is no free port")
}

func (n *child) at(kind string) string { return n.ports[kind] }

// portInUse is the first address that is in use already; empty for none.
func (n *child) portInUse(kinds []string) string {
	for _, kind := range kinds {
		l, err := net.Listen("tcp", n.at(kind)) //nolint:noctx // it does not wait
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			return n.at(kind)
		}
	}
	return ""
}

// serves says whether the process says that it is ready.
func (n *child) serves(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.at(n.health)+"/readyz", http.NoBody)
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

// stop returns when the process has ended.
func (n *child) stop() {
	if n.cancel != nil {
		n.cancel()
	}
	n.running.Wait()
}

// run keeps a child running until ctx ends, and then stops it. The error says that it cannot run: it has ended by itself
// with one.
func (n *child) run(ctx context.Context, program string) error {
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
func (n *child) tellReady(ctx context.Context) (quiet func()) {
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

// launch starts the process. Its input is a pipe that it stops with, so that no child outlives its dev.
func (n *child) launch(program string) (<-chan error, io.Closer, error) {
	cmd := exec.Command(program, n.args...) //nolint:noctx // it is stopped by the end of its input
	cmd.Env = n.env
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

// read passes on what the child says, but for why it ends: run says that.
func (n *child) read(said io.Reader) {
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

func (n *child) said() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

func (n *child) pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cmd.Process.Pid
}

// end stops the process in good order, or kills it when that takes too long.
func (n *child) end(exited <-chan error, input io.Closer) error {
	input.Close()
	select {
	case err := <-exited:
		return err
	case <-time.After(stopAllWithin):
		err := fmt.Errorf("%s did not stop within %v and was killed", n.name, stopAllWithin)
		return errors.Join(err, n.cmd.Process.Kill(), <-exited)
	}
}

// withoutOptions is an environment without jeton's options: they are meant for dev, and its gateway has a document.
func withoutOptions(env []string) []string {
	var rest []string
	for _, v := range env {
		if !strings.HasPrefix(v, "JETON_") {
			rest = append(rest, v)
		}
	}
	return rest
}

// numbered is the name of the i-th of several: the first has none but the name.
func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, i+1)
}
