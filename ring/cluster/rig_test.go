package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/key"
)

// A memberlist that is shut down does not wait for a probe that is under way, which gives up a node some seconds later. And raft that is shut down does
// not answer for an entry that it has agreed on and not yet applied.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"),
		goleak.IgnoreTopFunction("github.com/hashicorp/raft.(*deferError).Error"))
}

// long is how long a test waits for what has to happen.
const long = 5 * time.Minute

// A fabric carries the calls between the nodes of one test: an address is a name in a map.
type fabric struct {
	mu    sync.Mutex
	nodes map[string]*Cluster
	cut   func(address string) error // nil: nothing is
	held  bool                       // installs fail
}

func (f *fabric) plug(address string, c *Cluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[address] = c
}

func (f *fabric) unplug(address string, c *Cluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes[address] == c {
		delete(f.nodes, address)
	}
}

// cutOff has calls to these addresses fail as if no process listened there.
func (f *fabric) cutOff(addresses ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = func(address string) error {
		if slices.Contains(addresses, address) {
			return fmt.Errorf("%s: %w", address, syscall.ECONNREFUSED)
		}
		return nil
	}
}

// Call reaches a node that runs; where none does, the connection is refused.
func (f *fabric) Call(ctx context.Context, address string, message []byte) ([]byte, error) {
	f.mu.Lock()
	c, cut := f.nodes[address], f.cut
	f.mu.Unlock()
	if cut != nil {
		if err := cut(address); err != nil {
			return nil, err
		}
	}
	if c == nil {
		return nil, fmt.Errorf("%s: %w", address, syscall.ECONNREFUSED)
	}
	return c.Handle(ctx, message)
}

// Moves always succeed here: the driver has tests of its own.
func (*fabric) Seal(context.Context, string, ring.Partition, uint64) (floored bool, err error) {
	return false, nil
}

func (*fabric) Copy(context.Context, string, ring.Partition, []string) error { return nil }

func (f *fabric) Install(context.Context, string, ring.Partition, uint64, int, []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held {
		return errors.New("held up")
	}
	return nil
}

// hold has installs fail, so that a move that has begun does not end, or no longer.
func (f *fabric) hold(held bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = held
}

// A rig is the nodes of one test.
type rig struct {
	t      *testing.T
	fabric *fabric
	now    func() int64
}

func newRig(t *testing.T) *rig {
	t.Helper()
	t.Parallel()
	begun := time.Now()
	return &rig{t: t, fabric: &fabric{nodes: map[string]*Cluster{}}, now: func() int64 { return int64(time.Since(begun)) + begun.UnixNano() }}
}

// A chair is a node that can be stopped and started again, with its disk.
type chair struct {
	rig    *rig
	config Config
	logs   *logbook

	cluster *Cluster
	ended   chan struct{}
	err     error // of Run, once ended is closed

	mu     sync.Mutex
	cancel context.CancelFunc // nil while the node is stopped
}

// reserve is a free address for TCP and UDP, on a loopback address that nobody else uses.
func reserve(t *testing.T) string {
	t.Helper()
	for range 100 {
		b := make([]byte, 3)
		_, _ = rand.Read(b)
		host := fmt.Sprintf("127.%d.%d.%d", b[0]|1, b[1], b[2]|1)
		tcp, err := new(net.ListenConfig).Listen(t.Context(), "tcp", host+":0")
		if err != nil {
			continue
		}
		udp, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", tcp.Addr().String())
		if err == nil {
			err = udp.Close()
		}
		if err = errors.Join(err, tcp.Close()); err == nil {
			return tcp.Addr().String()
		}
	}
	t.Fatal("no address is free")
	return ""
}

// chair makes a node, which has not started, and whose id begins with order.
func (r *rig) chair(name string, order byte) *chair {
	r.t.Helper()
	ch := &chair{rig: r, logs: &logbook{changed: make(chan struct{})}}
	ch.config = Config{
		Dir: filepath.Join(r.t.TempDir(), "cluster"), Name: name, GRPC: "grpc-" + name + "-" + fmt.Sprint(order), HTTP: "http-" + name,
		BindGossip: reserve(r.t), BindRaft: reserve(r.t), Partitions: 7, Limits: []byte("limits: {}\n"),
		Mark: agreed.Mark{Boot: 1, Minute: 1000}, Peers: r.fabric, Now: r.now, Advance: func(int64) {},
		Logger: slog.New(ch.logs),
		tuning: tuning{gossip: hurry, rarely: 500 * time.Millisecond, patience: 20 * time.Second},
	}
	_, _ = rand.Read(ch.config.ID[:])
	ch.config.ID[0] = order
	r.t.Cleanup(func() { ch.stop() })
	return ch
}

// hurry has gossip notice failures sooner.
func hurry(c *memberlist.Config) {
	c.ProbeInterval, c.ProbeTimeout = 200*time.Millisecond, 150*time.Millisecond
	c.SuspicionMult, c.GossipInterval = 2, 20*time.Millisecond
}

// chairs makes nodes a, b, c … in the order of their ids.
func (r *rig) chairs(n int) (all []*chair) {
	for i := range n {
		all = append(all, r.chair(string(rune('a'+i)), byte(10*(i+1))))
	}
	return all
}

// expecting has nodes found a cluster of n together, each with the gossip addresses of all of them.
func expecting(n int, all ...*chair) []*chair {
	for _, ch := range all {
		ch.config.Expect, ch.config.Join = n, nil
		for _, other := range all {
			ch.config.Join = append(ch.config.Join, other.config.BindGossip)
		}
	}
	return all
}

// start runs the node.
func (ch *chair) start() {
	t := ch.rig.t
	t.Helper()
	c, err := New(ch.config)
	if err != nil {
		t.Fatalf("node %s: %v", ch.config.Name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	ch.cluster, ch.ended = c, ended
	ch.cancels(cancel)
	ch.rig.fabric.plug(ch.config.GRPC, c)
	go func() {
		defer close(ended)
		ch.err = c.Run(ctx)
		ch.rig.fabric.unplug(ch.config.GRPC, c)
	}()
}

// stop ends the node and waits for it. The next start has a mark that is raised.
func (ch *chair) stop() {
	if !ch.kill() {
		return
	}
	<-ch.ended
	ch.cancels(nil)
	ch.raise()
}

// kill ends the node without waiting for it, and says whether it was started. Any goroutine may call it.
func (ch *chair) kill() bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.cancel == nil {
		return false
	}
	ch.cancel()
	return true
}

func (ch *chair) cancels(cancel context.CancelFunc) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.cancel = cancel
}

// alive says whether Run has not ended.
func (ch *chair) alive() bool {
	select {
	case <-ch.ended:
		return false
	default:
		return true
	}
}

func (ch *chair) raise() {
	ch.config.MarkBefore = ch.config.Mark
	ch.config.Mark.Boot++
	ch.config.Mark.Minute++
}

// joined waits until all are members.
func joined(all ...*chair) {
	for _, ch := range all {
		t := ch.rig.t
		t.Helper()
		select {
		case <-ch.cluster.Joined():
		case <-ch.ended:
			t.Fatalf("node %s has ended: %v", ch.config.Name, ch.err)
		case <-time.After(long):
			t.Fatalf("node %s has not joined\n%s", ch.config.Name, ch.logs)
		}
	}
}

// startAll starts nodes and waits until they are members.
func startAll(all ...*chair) {
	for _, ch := range all {
		ch.start()
	}
	joined(all...)
}

// ends waits until Run has ended by itself, with that error.
func (ch *chair) ends(want error) {
	t := ch.rig.t
	t.Helper()
	select {
	case <-ch.ended:
	case <-time.After(long):
		t.Fatalf("node %s has not ended\n%s", ch.config.Name, ch.logs)
	}
	if !errors.Is(ch.err, want) {
		t.Fatalf("node %s has ended with %v, want %v", ch.config.Name, ch.err, want)
	}
	ch.kill()
	ch.cancels(nil)
}

// sees waits until the node's state is as holds wants it.
func (ch *chair) sees(what string, holds func(*agreed.State) bool) *agreed.State {
	t := ch.rig.t
	t.Helper()
	limit := time.After(long)
	for {
		changed := ch.cluster.Changed()
		s := ch.cluster.State()
		if holds(s) {
			return s
		}
		select {
		case <-changed:
		case <-ch.ended:
			t.Fatalf("node %s has ended: %v", ch.config.Name, ch.err)
		case <-limit:
			t.Fatalf("node %s does not see that %s: %+v\n%s", ch.config.Name, what, s, ch.logs)
		}
	}
}

// soon waits until something holds that no change of the state tells of.
func (ch *chair) soon(what string, holds func() bool) {
	t := ch.rig.t
	t.Helper()
	look, limit := time.NewTicker(10*time.Millisecond), time.After(long)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("node %s: it does not come true that %s\n%s", ch.config.Name, what, ch.logs)
		}
	}
}

// members waits until a node sees so many members, none of them named twice.
func (ch *chair) members(n int) *agreed.State {
	ch.rig.t.Helper()
	return ch.sees(fmt.Sprint("there are ", n), func(s *agreed.State) bool { return len(s.Nodes) == n })
}

// one checks that all are members of one cluster, and returns its name.
func one(all ...*chair) agreed.Unique {
	t := all[0].rig.t
	t.Helper()
	id := all[0].cluster.State().Cluster
	for _, ch := range all {
		if s := ch.cluster.State(); s.Cluster != id || !s.Founded() {
			t.Errorf("node %s is in cluster %s, and %s in %s", ch.config.Name, s.Cluster, all[0].config.Name, id)
		}
	}
	return id
}

func withKey(t *testing.T, secret string, all ...*chair) {
	t.Helper()
	k, err := key.New([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range all {
		ch.config.Key = k
	}
}

// A logbook keeps what a node has logged.
type logbook struct {
	mu      sync.Mutex
	lines   []string
	changed chan struct{}
}

func (*logbook) Enabled(context.Context, slog.Level) bool { return true }
func (l *logbook) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l *logbook) WithGroup(string) slog.Handler          { return l }

func (l *logbook) Handle(_ context.Context, r slog.Record) error {
	line := r.Time.Format("05.000 ") + r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	close(l.changed)
	l.changed = make(chan struct{})
	return nil
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := slices.DeleteFunc(slices.Clone(l.lines), func(s string) bool { return strings.Contains(s, " DEBUG ") })
	return strings.Join(lines, "\n")
}

// says waits until the node has logged a line with all of these.
func (ch *chair) says(all ...string) {
	t := ch.rig.t
	t.Helper()
	limit := time.After(long)
	for {
		ch.logs.mu.Lock()
		changed := ch.logs.changed
		found := slices.ContainsFunc(ch.logs.lines, func(line string) bool {
			return !slices.ContainsFunc(all, func(word string) bool { return !strings.Contains(line, word) })
		})
		ch.logs.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("node %s has not logged %q\n%s", ch.config.Name, all, ch.logs)
		}
	}
}
