package consensus

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
	"github.com/jeton-dev/jeton/ring/key"
)

// pipes is a listener of connections in memory, whose time is that of a bubble.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return ours
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (*pipes) Addr() net.Addr { return address("a:7703") }

// aStream is one that accepts from pipes, and what it has refused.
func aStream(t *testing.T, k *key.Key) (*stream, *pipes, *prometheus.Registry) {
	t.Helper()
	from, registry := newPipes(), prometheus.NewRegistry()
	counts, err := bound.NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	s := newStream(Config{
		ID: agreedtest.ID(1), Listener: from, Advertise: "a:7703", Key: k, Bounds: bound.Config{Name: "raft", Metrics: counts},
	})
	s.start()
	return s, from, registry
}

// TestSilentConnectionsToRaftEnd opens connections that say nothing, half a hello, or half a name. They are closed after
// greetWithin, and raft gets to see none of them; one that says whom it wants is served beside them.
func TestSilentConnectionsToRaftEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := testKey(t, "a secret of a good length")
		s, from, registry := aStream(t, k)
		const each = 20
		var silent []net.Conn
		for _, says := range []string{"", "\x16\x03\x01", "\x16\x03\x01\x00\x05\x01\x00\x00\x01"} {
			for range each {
				conn := from.dial()
				if _, err := conn.Write([]byte(says)); err != nil {
					t.Fatal(err)
				}
				silent = append(silent, conn)
			}
		}
		synctest.Wait()
		if n := s.listener.Open(); n != 3*each {
			t.Fatalf("%d connections are open, want %d", n, 3*each)
		}
		keyed := k.TLS()
		keyed.NextProtos = []string{raftProto}
		id := agreedtest.ID(1)
		honest := tls.Client(from.dial(), keyed)
		go func() { _, _ = honest.Write(id[:]) }()
		served, err := s.Accept()
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(greetWithin + time.Second) // of the bubble
		synctest.Wait()
		if n := s.listener.Open(); n != 1 {
			t.Errorf("%d connections are open after %v, want the one that said whom it wants", n, greetWithin)
		}
		if late := refusals(t, registry, bound.Late); late != 3*each {
			t.Errorf("%v connections were counted as late, want %d", late, 3*each)
		}
		go func() { _, _ = honest.Write([]byte("!")) }()
		if _, err := io.ReadFull(served, make([]byte, 1)); err != nil {
			t.Errorf("the honest one is not served: %v", err)
		}
		for _, conn := range append(silent, served) {
			_ = conn.Close()
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		_ = honest.NetConn().Close()
	})
}

// TestMessagesToRaftEnd begins a message and does not end it.
func TestMessagesToRaftEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, from, _ := aStream(t, nil)
		conn := from.dial()
		id := agreedtest.ID(1)
		go func() { _, _ = conn.Write(append(id[:], 'a')) }()
		served, err := s.Accept()
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		rest, err := io.ReadAll(served)
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() || len(rest) != 1 {
			t.Errorf("read %q, %v; want the beginning of a message, and the end of its time", rest, err)
		}
		if took := time.Since(start); took != messageWithin {
			t.Errorf("it took %v, want %v", took, messageWithin)
		}
		// What was answered is over: the next message may come much later.
		go func() { _, _ = io.ReadFull(conn, make([]byte, 1)) }()
		if _, err := served.Write([]byte("b")); err != nil {
			t.Fatal(err)
		}
		go func() {
			<-time.After(10 * messageWithin)
			_, _ = conn.Write([]byte("c"))
		}()
		if _, err := io.ReadFull(served, make([]byte, 1)); err != nil {
			t.Errorf("a connection that waited was closed: %v", err)
		}
		_, _ = conn.Close(), served.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// refusals is how often that reason was counted.
func refusals(t *testing.T, registry *prometheus.Registry, reason string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "reason" && l.GetValue() == reason {
					sum += m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}
