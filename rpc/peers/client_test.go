package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
	"github.com/jeton-dev/jeton/ring"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// TestExactlyOnce kills the node in the middle of reservations, over and over: whatever becomes of each, its caller hears of it once,
// and what was accepted is what the replica has.
func TestExactlyOnce(t *testing.T) {
	const rounds, callers = 15, 3
	store := newLedger(1, reg.Partition{Epoch: 1})
	n := startStation(t, stationConfig{id: 1, store: store})
	p := newTestClient(t, ClientConfig{})
	random := rand.New(rand.NewPCG(1, 2))
	replica := p.Replica(n.address)
	var next, accepted, failed atomic.Int64
	for range rounds {
		eventually(t, "a stream", func() bool { p.Wake(n.address); return p.Connected(n.address) })
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() { hammer(t, replica, stop, &next, &accepted, &failed) })
		}
		for range 1 + random.IntN(60) {
			await(t, store.came)
		}
		n.kill()
		close(stop)
		wg.Wait()
		for len(store.came) > 0 {
			<-store.came
		}
		n = startStation(t, stationConfig{id: 1, store: store, listen: n.address})
	}
	if accepted.Load() == 0 || failed.Load() == 0 {
		t.Errorf("%d reservations were accepted and %d failed: nothing was tried", accepted.Load(), failed.Load())
	}
	t.Logf("%d reservations were accepted, %d failed", accepted.Load(), failed.Load())
}

// hammer reserves until it is told to stop, with several batches under way.
func hammer(t *testing.T, replica actor.Replica, stop <-chan struct{}, next, accepted, failed *atomic.Int64) {
	t.Helper()
	const under = 8
	turns := make(chan struct{}, under)
	for i := 0; ; i++ {
		select {
		case <-stop:
			for range under {
				turns <- struct{}{} // every one has been answered
			}
			return
		case turns <- struct{}{}:
		}
		size := 1 + i%5*100
		rs := someReservations(int(next.Add(int64(size)))-size, size)
		var calls atomic.Int64
		replica.Reserve(rs, func(answers []reg.Answer, err error) {
			if calls.Add(1) > 1 {
				t.Error("answered twice")
				return
			}
			if err == nil && len(answers) != len(rs) {
				t.Errorf("%d answers to %d reservations", len(answers), len(rs))
			}
			for i, a := range answers {
				if a.Verdict != reg.Accepted || a.Position != rs[i].To {
					t.Errorf("got %+v", a)
				}
			}
			clear(rs) // it is the caller's again, which the race detector watches
			if err != nil {
				failed.Add(int64(size))
			} else {
				accepted.Add(int64(size))
			}
			<-turns
		})
	}
}

// TestNobodyThere reserves where no node is: it fails at once, and works when one has come, without a further word.
func TestNobodyThere(t *testing.T) {
	n := startStation(t, stationConfig{id: 1, store: newLedger(1, reg.Partition{Epoch: 1})})
	n.kill()
	p := newTestClient(t, ClientConfig{})
	replica := p.Replica(n.address)
	if o := reserve(t, replica, someReservation(0)); o.err == nil || !strings.Contains(o.err.Error(), n.address) {
		t.Errorf("got %+v", o)
	}
	r, err := p.remote(n.address)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "an attempt that failed", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return !errors.Is(r.why, errConnecting)
	})
	eventually(t, "that it counts as gone", func() bool {
		return errors.Is(reserve(t, replica, someReservation(0)).err, actor.ErrGone)
	})
	back := startStation(t, stationConfig{id: 1, store: newLedger(1, reg.Partition{Epoch: 1}), listen: n.address})
	eventually(t, "a stream", func() bool { return p.Connected(n.address) })
	if o := reserve(t, replica, someReservation(0)); o.err != nil {
		t.Error(o.err)
	}
	killed := time.Now()
	back.kill()
	eventually(t, "the end of the stream", func() bool { return !p.Connected(n.address) })
	r.mu.Lock()
	if r.open == nil && r.lost.Before(killed) {
		t.Error("it counts as lost since before it was killed")
	}
	r.mu.Unlock()
	if p.Connected("127.0.0.1:1") {
		t.Error("connected to an address that nobody has asked for")
	}
	p.Wake("127.0.0.1:1")
}

// TestPeersClose closes what is in use, and what is not.
func TestPeersClose(t *testing.T) {
	store := newLedger(1, reg.Partition{Epoch: 1})
	store.keepBack()
	n := startStation(t, stationConfig{id: 1, store: store})
	p := newTestClient(t, ClientConfig{})
	replica := connectTo(t, p, n.address)
	got := make(chan outcome, 2)
	replica.Reserve(someReservations(0, 3), func(answers []reg.Answer, err error) { got <- outcome{answers, err} })
	await(t, store.came)
	if _, err := p.Call(t.Context(), "127.0.0.1:1", nil); err == nil { // a node without a stream
		t.Error("nobody answers")
	}
	p.Close()
	if o := await(t, got); !errors.Is(o.err, errClosed) {
		t.Errorf("what was under way got %v, want %v", o.err, errClosed)
	}
	for _, r := range []actor.Replica{replica, p.Replica(n.address)} {
		if o := reserve(t, r, someReservation(0)); !errors.Is(o.err, errClosed) {
			t.Errorf("got %v, want %v", o.err, errClosed)
		}
		if _, err := r.Look(t.Context(), 0, "k", "l"); err == nil {
			t.Error("looked")
		}
	}
	p.Close()
}

// TestKeep closes the connections to a node that has left, and leaves those to another.
func TestKeep(t *testing.T) {
	registry := prometheus.NewRegistry()
	a := startStation(t, stationConfig{id: 1, store: newLedger(1, reg.Partition{Epoch: 1})})
	b := startStation(t, stationConfig{id: 2, store: newLedger(2, reg.Partition{Epoch: 1})})
	p := newTestClient(t, ClientConfig{Registerer: registry})
	stays, goes := connectTo(t, p, a.address), connectTo(t, p, b.address)
	p.Keep(map[string]bool{a.address: true})
	if o := reserve(t, stays, someReservation(0)); o.err != nil {
		t.Error(o.err)
	}
	if o := reserve(t, goes, someReservation(0)); o.err == nil || !strings.Contains(o.err.Error(), "left") {
		t.Errorf("got %+v", o)
	}
	if m := metricstest.Gather(t, registry, "jeton_peer_connected"); len(m) != 1 || m[0].GetLabel()[0].GetValue() != a.address {
		t.Errorf("the metrics know %v", m)
	}
	if o := reserve(t, connectTo(t, p, b.address), someReservation(0)); o.err != nil {
		t.Errorf("when it is back: %v", o.err)
	}
}

func TestPeerMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	n := startStation(t, stationConfig{id: 1, store: newLedger(1, reg.Partition{Epoch: 1})})
	p := newTestClient(t, ClientConfig{Registerer: registry})
	replica := connectTo(t, p, n.address)
	reserve(t, replica, someReservations(0, 5)...)
	reserve(t, replica, someReservations(5, 1005)...)
	n.kill()
	eventually(t, "no stream", func() bool { return !p.Connected(n.address) })
	reserve(t, replica, someReservations(0, 7)...)
	for name, want := range map[string]float64{
		"jeton_peer_seconds": 3, "jeton_peer_reservations": 1010, "jeton_peer_broken_total": 1, "jeton_peer_unsent_total": 7, "jeton_peer_connected": 0,
	} {
		eventually(t, fmt.Sprintf("%s of %v", name, want), func() bool { // the end of a stream is counted after it has ended
			m := metricstest.Gather(t, registry, name)[0]
			got := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			if name == "jeton_peer_seconds" {
				got = float64(m.GetHistogram().GetSampleCount())
			} else if m.GetHistogram() != nil {
				got = m.GetHistogram().GetSampleSum()
			}
			return got == want && m.GetLabel()[0].GetValue() == n.address
		})
	}
	if _, err := NewClient(ClientConfig{ID: ring.NodeID{1}, Now: atMidday, Registerer: registry}); err == nil {
		t.Error("the metrics of two were registered as one")
	}
}

// A freezer is a way to a node that can be frozen: connections stay, and nothing passes.
type freezer struct {
	net.Listener

	to     string
	mu     sync.Mutex
	frozen chan struct{} // closed while nothing is frozen
	conns  []net.Conn
	done   sync.WaitGroup
}

func newFreezer(t *testing.T, to string) *freezer {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &freezer{Listener: l, to: to, frozen: make(chan struct{})}
	close(f.frozen)
	f.done.Go(f.accept)
	t.Cleanup(func() {
		_ = l.Close()
		f.thaw()
		f.mu.Lock()
		for _, conn := range f.conns {
			_ = conn.Close()
		}
		f.mu.Unlock()
		f.done.Wait()
	})
	return f
}

func (f *freezer) accept() {
	for {
		in, err := f.Accept()
		if err != nil {
			return
		}
		out, err := new(net.Dialer).DialContext(context.Background(), "tcp", f.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		f.mu.Lock()
		f.conns = append(f.conns, in, out)
		f.mu.Unlock()
		f.done.Go(func() { f.pass(in, out) })
		f.done.Go(func() { f.pass(out, in) })
	}
}

// pass brings what comes in one direction.
func (f *freezer) pass(from, to net.Conn) {
	defer func() { _ = to.Close() }()
	for b := make([]byte, 4096); ; {
		n, err := from.Read(b)
		<-f.way()
		if _, failed := to.Write(b[:n]); failed != nil || err != nil {
			_, _ = io.Copy(io.Discard, from)
			return
		}
	}
}

func (f *freezer) way() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.frozen
}

func (f *freezer) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = make(chan struct{})
}

func (f *freezer) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.frozen:
	default:
		close(f.frozen)
	}
}

// TestFreezeAndThaw freezes a node with its connections: what is unanswered fails, new reservations fail at once, and when
// it answers again, they are taken again.
func TestFreezeAndThaw(t *testing.T) {
	n := startStation(t, stationConfig{id: 1, store: newLedger(1, reg.Partition{Epoch: 1})})
	way := newFreezer(t, n.address)
	p := newTestClient(t, ClientConfig{})
	p.answerWithin = answerWithin
	address := way.Addr().String()
	replica := connectTo(t, p, address)
	way.freeze()
	if o := reserve(t, replica, someReservation(0)); !errors.Is(o.err, errSilent) {
		t.Errorf("what was under way got %v, want %v", o.err, errSilent)
	}
	if o := reserve(t, replica, someReservation(1)); o.err == nil {
		t.Errorf("got %+v of a frozen node", o)
	}
	way.thaw()
	eventually(t, "an answer", func() bool { // a stream that a machine at a standstill breaks is followed by another
		p.Wake(address)
		return p.Connected(address) && reserve(t, replica, someReservation(2)).err == nil
	})
	eventually(t, "one stream at the node", func() bool { return slices.Equal(n.service.Connected(), []ring.NodeID{{99}}) })
}

func TestClientsAndServicesNeed(t *testing.T) {
	for _, cfg := range []ClientConfig{{Now: atMidday}, {ID: ring.NodeID{1}}} {
		if c, err := NewClient(cfg); err == nil {
			c.Close()
			t.Errorf("%+v was enough", cfg)
		}
	}
	if _, err := NewService(ServiceConfig{Panics: newPanics()}); err == nil {
		t.Error("a service of nothing was made")
	}
}
