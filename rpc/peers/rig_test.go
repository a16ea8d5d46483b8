package peers

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/transport"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// patience is how long a test waits for what must happen.
const patience = 5 * time.Minute

// midday is the time of every clock in these tests.
const midday = int64(1_800_000_000_000_000_000)

func atMidday() int64 { return midday }

// A ledger is a Registers in memory, made of the replica's pure steps. It answers at once, or when it is told to.
type ledger struct {
	name byte // in its cursors

	mu         sync.Mutex
	partitions map[ring.Partition]reg.Partition
	registers  map[where]entry
	writes     uint64
	seen       []reg.Reservation // in the order in which they came
	held       []func()          // what is not answered yet; nil while nothing is held
	hold       bool
	most       int // reservations that were held at the same time
	holding    int
	came       chan struct{} // gets a token for every Reserve
	spoiled    bool          // it was dropped since something was merged
}

type where struct {
	p          ring.Partition
	key, limit string
}

type entry struct {
	register reg.Register
	at       uint64 // of writes
}

// newLedger makes a ledger whose partitions are all in that state.
func newLedger(name byte, state reg.Partition) *ledger {
	l := &ledger{name: name, partitions: map[ring.Partition]reg.Partition{}, registers: map[where]entry{}, came: make(chan struct{}, 100_000)}
	for p := range ring.Partition(ring.DefaultPartitions) {
		l.partitions[p] = state
	}
	return l
}

func (l *ledger) Reserve(rs []reg.Reservation, done func([]reg.Answer, error)) {
	l.mu.Lock()
	answers := make([]reg.Answer, len(rs))
	for i, m := range rs {
		at := where{m.Partition, m.Key, m.Limit}
		after, a, write := l.partitions[m.Partition].Reserve(l.registers[at].register, m, midday, reg.DefaultBounds())
		if write {
			l.writes++
			l.registers[at] = entry{after, l.writes}
		}
		answers[i] = a
	}
	l.seen = append(l.seen, rs...)
	l.came <- struct{}{}
	if !l.hold {
		l.mu.Unlock()
		done(answers, nil)
		return
	}
	l.holding += len(rs)
	l.most = max(l.most, l.holding)
	l.held = append(l.held, func() {
		l.mu.Lock()
		l.holding -= len(rs)
		l.mu.Unlock()
		done(answers, nil)
	})
	l.mu.Unlock()
}

// keepBack makes the ledger hold its answers.
func (l *ledger) keepBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = true
}

// release answers what is held, n messages of it at most, the last one first, and says how many it were.
func (l *ledger) release(n int) int {
	l.mu.Lock()
	n = min(n, len(l.held))
	free := slices.Clone(l.held[len(l.held)-n:]) // what comes next takes its place
	l.held = l.held[:len(l.held)-n]
	l.mu.Unlock()
	for _, answer := range slices.Backward(free) {
		answer()
	}
	return n
}

func (l *ledger) Look(_ context.Context, p ring.Partition, key, limit string) (storage.Looked, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.registers[where{p, key, limit}]
	return storage.Looked{Register: r.register, Exists: ok, Partition: l.partitions[p]}, nil
}

func (l *ledger) Partition(p ring.Partition) reg.Partition {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.partitions[p]
}

var errEpoch = errors.New("another epoch")

func (l *ledger) change(p ring.Partition, change func(*reg.Partition) error) (reg.Partition, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.partitions[p]
	err := change(&state)
	if err == nil {
		l.partitions[p] = state
	}
	return l.partitions[p], err
}

func (l *ledger) Seal(_ context.Context, p ring.Partition, epoch uint64) (reg.Partition, error) {
	return l.change(p, func(s *reg.Partition) error {
		if s.Epoch != epoch {
			return fmt.Errorf("%w: %d, not %d", errEpoch, s.Epoch, epoch)
		}
		s.Sealed = true
		return nil
	})
}

func (l *ledger) Export(_ context.Context, p ring.Partition, since []byte, yield func([]storage.Exported) error) ([]byte, reg.Partition, error) {
	l.mu.Lock()
	var after uint64
	if len(since) == 9 && since[0] == l.name {
		after = binary.BigEndian.Uint64(since[1:])
	}
	var out []storage.Exported
	for at, r := range l.registers {
		if at.p == p && r.at > after {
			out = append(out, storage.Exported{Key: at.key, Limit: at.limit, Register: r.register})
		}
	}
	cursor, state := binary.BigEndian.AppendUint64([]byte{l.name}, l.writes), l.partitions[p]
	l.mu.Unlock()
	for piece := range slices.Chunk(out, 700) {
		if err := yield(piece); err != nil {
			return nil, state, err
		}
	}
	return cursor, state, nil
}

func (l *ledger) Merge(_ context.Context, p ring.Partition, registers []storage.Exported) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range registers {
		at := where{p, e.Key, e.Limit}
		l.writes++
		l.registers[at] = entry{l.registers[at].register.Join(e.Register), l.writes}
	}
	return nil
}

func (l *ledger) Install(_ context.Context, p ring.Partition, epoch uint64, join reg.Partition) error {
	l.mu.Lock()
	spoiled := l.spoiled
	l.spoiled = false
	l.mu.Unlock()
	if spoiled {
		return storage.ErrIncomplete
	}
	_, err := l.change(p, func(s *reg.Partition) error {
		if epoch <= s.Epoch {
			return errEpoch
		}
		s.Installed, s.Incomplete, s.Floored, s.Floor = epoch, false, join.Floored, join.Floor
		s.Horizon = max(s.Horizon, join.Horizon)
		return nil
	})
	return err
}

func (l *ledger) Drop(_ context.Context, p ring.Partition) error {
	l.mu.Lock()
	l.spoiled = true
	maps.DeleteFunc(l.registers, func(at where, _ entry) bool { return at.p == p })
	l.mu.Unlock()
	_, err := l.change(p, func(s *reg.Partition) error { s.Sealed, s.Incomplete = true, true; return nil })
	return err
}

// A station is a node's gRPC port with nothing but this service, a store behind it, and its connections to others.
type station struct {
	tb      testing.TB
	id      ring.NodeID
	address string
	service *Service
	server  *grpc.Server
	port    *credentials.Port
	client  *Client
	served  chan error
	stopped sync.Once
}

// stationConfig says how a station is.
type stationConfig struct {
	id     byte
	key    *key.Key // of the node
	store  Registers
	listen string // empty: any port
	handle func(context.Context, []byte) ([]byte, error)

	intercept grpc.StreamServerInterceptor // nil: inWireForm
}

// startStation starts a node, which ends with the test if not before.
func startStation(tb testing.TB, cfg stationConfig) *station {
	tb.Helper()
	if cfg.listen == "" {
		cfg.listen = "127.0.0.1:0"
	}
	if cfg.handle == nil {
		cfg.handle = func(_ context.Context, m []byte) ([]byte, error) { return bytes.ToUpper(m), nil }
	}
	if cfg.intercept == nil {
		cfg.intercept = inWireForm
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", cfg.listen)
	if err != nil {
		tb.Fatal(err)
	}
	n := &station{tb: tb, id: ring.NodeID{cfg.id}, address: l.Addr().String(), served: make(chan error, 1)}
	n.client = newTestClient(tb, ClientConfig{ID: n.id, Address: n.address, Key: cfg.key})
	n.service, err = NewService(ServiceConfig{
		Store: cfg.store, Handle: cfg.handle, Address: n.address, Client: n.client, Panics: newPanics(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	if n.port, err = credentials.NewPort(credentials.PortConfig{Key: cfg.key}); err != nil {
		tb.Fatal(err)
	}
	n.server = grpc.NewServer(grpc.Creds(n.port), grpc.ForceServerCodecV2(transport.NewCodec()), grpc.MaxRecvMsgSize(transport.MaxMessage),
		grpc.WaitForHandlers(true), grpc.StreamInterceptor(cfg.intercept),
		grpc.StaticStreamWindowSize(transport.StreamWindow), grpc.StaticConnWindowSize(transport.ConnWindow))
	n.server.RegisterService(n.service.Description(), n.service)
	go func() { n.served <- n.server.Serve(l) }()
	tb.Cleanup(n.kill)
	return n
}

// inWireForm is what a node's server does with the errors of streams.
func inWireForm(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	err := next(srv, stream)
	if _, ok := status.FromError(err); ok {
		return err
	}
	return pb.EncodeError(err).Err()
}

func newPanics() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "panics_total", Help: "Panics."})
}

// newTestClient makes a Client that is closed with the test. No node is frozen to it, however long the machine stands still.
func newTestClient(tb testing.TB, cfg ClientConfig) *Client {
	tb.Helper()
	if cfg.ID == (ring.NodeID{}) {
		cfg.ID = ring.NodeID{99}
	}
	cfg.Now = atMidday
	p, err := NewClient(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	p.answerWithin = time.Hour
	tb.Cleanup(p.Close)
	return p
}

// kill cuts off everything.
func (n *station) kill() { n.stop(n.server.Stop) }

// stop stops the node in the way of its server.
func (n *station) stop(server func()) {
	n.stopped.Do(func() {
		n.service.Stop()
		n.port.Stop()
		server()
		n.service.Wait()
		if err := <-n.served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			n.tb.Error(err)
		}
		n.client.Close()
	})
}

// eventually waits until something is so.
func eventually(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	late := time.After(patience)
	for !so() {
		select {
		case <-again.C:
		case <-late:
			tb.Fatalf("it never came to this: %s", what)
		}
	}
}

// connect has a stream of reservations to a node.
func connectTo(tb testing.TB, p *Client, address string) actor.Replica {
	tb.Helper()
	replica := p.Replica(address)
	eventually(tb, "a stream to "+address, func() bool { return p.Connected(address) })
	return replica
}

// An outcome is what done was called with.
type outcome struct {
	answers []reg.Answer
	err     error
}

// reserve waits for the answers.
func reserve(tb testing.TB, replica actor.Replica, rs ...reg.Reservation) outcome {
	tb.Helper()
	got := make(chan outcome, 1)
	replica.Reserve(rs, func(answers []reg.Answer, err error) { got <- outcome{answers, err} })
	return await(tb, got)
}

// await takes what comes out of a channel.
func await[T any](tb testing.TB, c <-chan T) T {
	tb.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		tb.Fatal("nothing came")
		panic("unreachable")
	}
}

// someReservation is one that a fresh replica in epoch 1 accepts, of a bucket of its own.
func someReservation(i int) reg.Reservation {
	name := fmt.Sprint("user:", i)
	return reg.Reservation{
		Writer: reg.Writer{1}, Seq: uint64(i) + 1, Epoch: 1,
		Partition: ring.PartitionOf(ring.Hash(name), ring.DefaultPartitions), Key: name, Limit: "login",
		From: midday, To: midday + 1e6, Reach: 1e9,
	}
}

// someReservations are n of them, beginning with that.
func someReservations(from, n int) []reg.Reservation {
	rs := make([]reg.Reservation, n)
	for i := range rs {
		rs[i] = someReservation(from + i)
	}
	return rs
}

func newKey(tb testing.TB) *key.Key {
	tb.Helper()
	k, err := key.New([]byte("the secret of this cluster"))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// wantCode fails t unless err has that code and says that.
func wantCode(t *testing.T, err error, code codes.Code, says string) {
	t.Helper()
	if status.Code(err) != code || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %v with %q", err, code, says)
	}
}

// dialAs connects to a server as who has that key.
func dialAs(t *testing.T, address string, k *key.Key) *grpc.ClientConn {
	t.Helper()
	creds := credentials.WithKey(k)
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
