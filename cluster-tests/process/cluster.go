package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Cluster is nodes on this machine, each a process of its own at addresses that it keeps when it is started again.
type Cluster struct {
	Members []*Member
	// Logs is a folder in which NAME.log gets what each node says, in all of its lives; empty for none.
	Logs string
	// Prepare, unless nil, may change the command of what has that name before it is started: its environment, or what it is run by.
	Prepare func(name string, cmd *exec.Cmd)

	t      *testing.T
	place  Place // nil for this machine as it is
	binary string
	args   []string
	dir    string
}

// A Place is where nodes run that are not to run on this machine as it is, such as a network of their own.
type Place interface {
	// Host is the IP address that a node listens at.
	Host(name string) string
	// Enter makes the command of a node, which has not been started yet, run there.
	Enter(name string, cmd *exec.Cmd)
}

// A Member is one node of a Cluster, running or not.
type Member struct {
	*Node // the process; nil before the first start

	Name, GRPC, HTTP, Gossip, Raft string
	Redis                          string // for --listen-redis, which its caller gives
	Data                           string
	Binary                         string // what it is started from; the cluster's unless its caller sets another
	args                           []string
	cluster                        *Cluster
}

// NewCluster plans a cluster of n nodes that found it together, and starts none. The arguments are those of every node.
func NewCluster(t *testing.T, binary string, n int, limits string, args ...string) *Cluster {
	t.Helper()
	return NewClusterIn(t, nil, binary, n, limits, args...)
}

// NewClusterIn is NewCluster in another place. The nodes have a cluster key, which KeyFile holds: they listen where others
// could reach them.
func NewClusterIn(t *testing.T, place Place, binary string, n int, limits string, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t, place: place, binary: binary, dir: t.TempDir()}
	file := filepath.Join(c.dir, "limits.yaml")
	if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
		t.Fatal(err)
	}
	c.args = append([]string{"--limits", file}, args...)
	if place != nil {
		if err := os.WriteFile(c.KeyFile(), []byte("the secret of this cluster\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c.args = append(c.args, "--cluster-key-file", c.KeyFile())
	}
	for range n {
		c.Plan()
	}
	for _, m := range c.Members {
		m.args = append(m.args, "--expect", strconv.Itoa(n))
		if n > 1 {
			m.args = append(m.args, "--join", c.Gossip())
		}
	}
	return c
}

// StartCluster plans a cluster, starts it, and returns when it serves.
func StartCluster(t *testing.T, binary string, n int, limits string, args ...string) *Cluster {
	t.Helper()
	return StartClusterIn(t, nil, binary, n, limits, args...)
}

// StartClusterIn is StartCluster in another place.
func StartClusterIn(t *testing.T, place Place, binary string, n int, limits string, args ...string) *Cluster {
	t.Helper()
	c := NewClusterIn(t, place, binary, n, limits, args...)
	for _, m := range c.Members {
		m.Launch()
	}
	for _, m := range c.Members {
		m.Ready()
	}
	return c
}

// KeyFile is the file with the cluster key, of a cluster in another place.
func (c *Cluster) KeyFile() string { return filepath.Join(c.dir, "key") }

// Plan adds a node with addresses and an empty directory of its own. What it joins is for its caller to say, with Args.
func (c *Cluster) Plan() *Member {
	c.t.Helper()
	m := &Member{Name: fmt.Sprintf("node-%d", len(c.Members)+1), Binary: c.binary, cluster: c}
	at := c.addresses(m.Name, 5)
	m.GRPC, m.Gossip, m.HTTP, m.Raft, m.Redis = at[0], at[1], at[2], at[3], at[4]
	m.Data = filepath.Join(c.dir, m.Name)
	c.Members = append(c.Members, m)
	return m
}

// addresses are n at which what has that name may listen.
func (c *Cluster) addresses(name string, n int) (all []string) {
	c.t.Helper()
	host, base := "127.0.0.1", lowest
	if c.place == nil {
		base = FreePorts(c.t, n)
	} else {
		host = c.place.Host(name)
	}
	for i := range n {
		all = append(all, net.JoinHostPort(host, strconv.Itoa(base+i)))
	}
	return all
}

// Add plans a node that joins the others, starts it, and returns when it serves.
func (c *Cluster) Add() *Member {
	c.t.Helper()
	join := c.Gossip()
	m := c.Plan()
	m.Args("--join", join)
	m.Launch()
	m.Ready()
	return m
}

// Gossip are the gossip addresses of all nodes that are planned, as --join takes them.
func (c *Cluster) Gossip() string {
	var all []string
	for _, m := range c.Members {
		all = append(all, m.Gossip)
	}
	return strings.Join(all, ",")
}

// Servers are the gRPC addresses of all nodes that are planned.
func (c *Cluster) Servers() []string {
	var all []string
	for _, m := range c.Members {
		all = append(all, m.GRPC)
	}
	return all
}

// Run runs a verb of jeton, of the node's own version, that asks it.
func (c *Cluster) Run(m *Member, args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	return Run(c.t, m.Binary, append(args, "--server", m.GRPC)...)
}

// Status reads into a value what jeton cluster status says at a node. That no key can be decided is an answer too.
func (c *Cluster) Status(m *Member, into any) {
	c.t.Helper()
	text, errs, code := c.Run(m, "cluster", "status", "--output", "json")
	if code > 1 {
		c.t.Fatalf("jeton cluster status: exit code %d: %s", code, errs)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		c.t.Fatalf("jeton cluster status: %v: %s", err, text)
	}
}

// Args adds arguments to those that the node is started with.
func (m *Member) Args(args ...string) { m.args = append(m.args, args...) }

// Launch starts the node and does not wait.
func (m *Member) Launch() {
	m.cluster.t.Helper()
	if err := m.Begin(); err != nil {
		m.cluster.t.Fatal(err)
	}
}

// Begin is Launch with an error instead of the end of the test, for goroutines other than the test's.
func (m *Member) Begin() error {
	args := []string{
		"serve", "--node-name", m.Name, "--data", m.Data,
		"--listen-grpc", m.GRPC, "--listen-http", m.HTTP, "--listen-gossip", m.Gossip, "--listen-raft", m.Raft,
	}
	c := m.cluster
	n, err := c.begin(m.Name, m.Binary, append(append(args, c.args...), m.args...))
	if err != nil {
		return err
	}
	n.GRPC, n.HTTP = m.GRPC, m.HTTP
	m.Node = n
	return nil
}

// begin starts a binary where what has that name is to run.
func (c *Cluster) begin(name, binary string, args []string) (*Node, error) {
	cmd := exec.Command(binary, args...) //nolint:noctx // it is ended by signals
	cmd.Env = Environ()
	if c.Prepare != nil {
		c.Prepare(name, cmd)
	}
	if c.place != nil {
		c.place.Enter(name, cmd)
	}
	var file io.WriteCloser // a nil interface unless there is a file
	if c.Logs != "" {
		f, err := os.OpenFile(filepath.Join(c.Logs, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		file = f
	}
	n, err := run(c.t, cmd, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

// Ready returns when the node says that it serves.
func (m *Member) Ready() {
	m.cluster.t.Helper()
	ctx, cancel := context.WithTimeout(m.cluster.t.Context(), Patience)
	defer cancel()
	if err := m.Await(ctx); err != nil {
		m.cluster.t.Fatalf("%v; it said:\n%s", err, m.Log())
	}
}

// Await is Ready with an error instead of the end of the test, for goroutines other than the test's.
func (m *Member) Await(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !m.Serves(ctx) {
		select {
		case <-tick.C:
		case <-m.exited:
			return fmt.Errorf("%s has ended before it served", m.Name)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", m.Name, ctx.Err())
		}
	}
	return nil
}

// Serves asks the node once whether it serves.
func (m *Member) Serves(ctx context.Context) bool { return ready(ctx, m.HTTP) }

// ready asks what listens at an address once whether it is ready.
func ready(ctx context.Context, address string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	a.Body.Close()
	return a.StatusCode == http.StatusOK
}

// Restart stops the node in good order, starts it again, and returns when it serves.
func (m *Member) Restart() {
	m.cluster.t.Helper()
	if code := m.Stop(); code != 0 {
		m.cluster.t.Fatalf("%s: exit code %d; it said:\n%s", m.Name, code, m.Log())
	}
	m.Launch()
	m.Ready()
}

// Freeze stops the process as SIGSTOP does: its connections stay open, and it answers nothing. Thaw lets it go on.
func (m *Member) Freeze() { m.Signal(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (m *Member) Thaw() { m.Signal(syscall.SIGCONT) }

// Wipe empties the node's disk. It must not run.
func (m *Member) Wipe() {
	m.cluster.t.Helper()
	if err := os.RemoveAll(m.Data); err != nil {
		m.cluster.t.Fatal(err)
	}
}
