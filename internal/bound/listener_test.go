package bound

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A desk is a listener whose connections are pipes from addresses that the test makes up.
type desk struct {
	next   chan result
	once   sync.Once
	closed chan struct{}
}

type result struct {
	conn net.Conn
	err  error
}

// A caller is a pipe with an address.
type caller struct {
	net.Conn
	from string
}

func (c caller) RemoteAddr() net.Addr { return at(c.from) }

type at string

func (at) Network() string  { return "tcp" }
func (a at) String() string { return string(a) }

func newDesk() *desk { return &desk{next: make(chan result, 100), closed: make(chan struct{})} }

func (d *desk) Accept() (net.Conn, error) {
	select {
	case r := <-d.next:
		return r.conn, r.err
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *desk) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

func (*desk) Addr() net.Addr { return at("127.0.0.1:1") }

// comes is a connection that is accepted, or refused if got is nil.
func comes(t *testing.T, l *Listener, from string) (ours net.Conn, got *Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = errors.Join(ours.Close(), theirs.Close()) })
	return ours, l.admit(caller{theirs, from})
}

// gone says whether the other end has closed a connection.
func gone(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

func TestStrangersOfOneAddress(t *testing.T) {
	l := New(newDesk(), Config{Name: "test", PerAddress: 2})
	for i, test := range []struct {
		from  string
		taken bool
	}{
		{"192.0.2.1:1", true},
		{"192.0.2.1:2", true},
		{"192.0.2.1:3", false},
		{"192.0.2.2:1", true},
		{"[::ffff:192.0.2.2]:2", true},
		{"192.0.2.2:3", false},
		{"[2001:db8::1]:1", true},
		{"[2001:db8::2]:1", true},
		{"[2001:db8::ffff:1]:1", false},
		{"[2001:db8:0:1::1]:1", true},
	} {
		if ours, got := comes(t, l, test.from); (got != nil) != test.taken || gone(ours) == test.taken {
			t.Errorf("%d: the connection of %s is taken: %v, want %v", i, test.from, got != nil, test.taken)
		}
	}
}

func TestWhoHasProvedIsNoStranger(t *testing.T) {
	l := New(newDesk(), Config{Name: "test", PerAddress: 1})
	for range 3 {
		_, got := comes(t, l, "192.0.2.1:1")
		if got == nil {
			t.Fatal("it counts for its address, though it has proved who it is")
		}
		got.Prove(Node)
	}
	_, stranger := comes(t, l, "192.0.2.1:1")
	if _, other := comes(t, l, "192.0.2.1:1"); stranger == nil || other != nil {
		t.Error("strangers are counted wrong")
	}
	if err := stranger.Close(); err != nil {
		t.Fatal(err)
	}
	if _, other := comes(t, l, "192.0.2.1:1"); other == nil {
		t.Error("a connection that is closed still counts")
	}
}

// TestManyAddressesTakeNoPlaces fills a listener from more addresses than there are places: who had a few goes on.
func TestManyAddressesTakeNoPlaces(t *testing.T) {
	l := New(newDesk(), Config{Name: "test", Connections: 40})
	var honest []net.Conn
	for range 5 {
		ours, got := comes(t, l, "192.0.2.1:1")
		if got == nil {
			t.Fatal("refused, and there is room")
		}
		honest = append(honest, ours)
	}
	taken := 0
	for i := range 100 {
		if _, got := comes(t, l, fmt.Sprintf("198.51.100.%d:1", i)); got != nil {
			taken++
		}
	}
	if taken != 35 {
		t.Errorf("%d of the many were taken, want 35", taken)
	}
	for i, ours := range honest {
		if gone(ours) {
			t.Errorf("connection %d of 5 was given to somebody else", i)
		}
	}
}

// TestOneAddressMakesRoom fills a listener from one address: others are taken all the same.
func TestOneAddressMakesRoom(t *testing.T) {
	l := New(newDesk(), Config{Name: "test", Connections: 10})
	_, node := comes(t, l, "192.0.2.1:1")
	node.Prove(Node)
	for range 9 {
		comes(t, l, "192.0.2.1:1")
	}
	if _, more := comes(t, l, "192.0.2.1:1"); more != nil {
		t.Error("the address that fills the listener gets more")
	}
	for range 4 {
		if _, other := comes(t, l, "192.0.2.2:1"); other == nil {
			t.Error("another address gets nothing")
		}
	}
	if n := l.Open(); n != 10 {
		t.Errorf("%d are open, want 10", n)
	}
	if node.cut.Load() {
		t.Error("a node had to make room")
	}
}

// TestWhoHoldsMostIsCutOff has one connection fill the budget, bit by bit, while others hold a little.
func TestWhoHoldsMostIsCutOff(t *testing.T) {
	l := New(newDesk(), Config{Name: "test", Memory: 1000})
	var honest []*Conn
	for range 10 {
		_, c := comes(t, l, "192.0.2.2:1")
		honest = append(honest, c)
		c.Hold(20)
	}
	_, node := comes(t, l, "192.0.2.3:1")
	node.Hold(400)
	node.Prove(Node)
	node.Hold(10_000)
	for range 5 {
		ours, greedy := comes(t, l, "192.0.2.1:1")
		goes := true
		for i := 0; goes; i++ {
			if i > 10 {
				t.Fatal("it holds more than the budget")
			}
			goes = greedy.Hold(100)
		}
		if !gone(ours) {
			t.Error("it is still open")
		}
		greedy.Release(100) // by whoever does not know yet
	}
	for _, c := range honest {
		if c.cut.Load() {
			t.Error("who holds little was cut off")
		}
		c.Release(20)
	}
	if node.cut.Load() || l.Held(Stranger) != 0 {
		t.Errorf("a node was cut off (%v), or %d bytes are left", node.cut.Load(), l.Held(Stranger))
	}
}

func TestWhatIsReadCountsUntilSomethingIsWritten(t *testing.T) {
	l := New(newDesk(), Config{Name: "test", Memory: 100 * unreadWeight, Exchanges: true})
	ours, c := comes(t, l, "192.0.2.1:1")
	go func() {
		_, _ = ours.Write(make([]byte, 90))
		_, _ = io.ReadFull(ours, make([]byte, 1))
		_, _ = ours.Write(make([]byte, 110))
	}()
	if _, err := io.ReadFull(c, make([]byte, 90)); err != nil || c.Held() != 90*unreadWeight {
		t.Fatalf("%d bytes are held, %v", c.Held(), err)
	}
	if _, err := c.Write([]byte{1}); err != nil || c.Held() != 0 {
		t.Fatalf("%d bytes are held, %v", c.Held(), err)
	}
	if _, err := io.ReadFull(c, make([]byte, 110)); err == nil {
		t.Error("more was read than may be held")
	}
}

// TestAHeaderCountsUntilItsExchangeIsOver reads a header and a body, and writes in between.
func TestAHeaderCountsUntilItsExchangeIsOver(t *testing.T) {
	l := New(newDesk(), Config{Name: "test", Memory: 1 << 20, Exchanges: true})
	ours, c := comes(t, l, "192.0.2.1:1")
	go func() {
		for range 3 {
			_, _ = ours.Write(make([]byte, 10))
		}
	}()
	go func() { _, _ = io.Copy(io.Discard, ours) }()
	reads := func(want int64) {
		t.Helper()
		if _, err := io.ReadFull(c, make([]byte, 10)); err != nil || c.Held() != want || l.Held(Stranger) != want {
			t.Errorf("%d bytes are held, and %d in all, want %d (%v)", c.Held(), l.Held(Stranger), want, err)
		}
	}
	reads(10 * unreadWeight)
	if !c.Begin(30) {
		t.Fatal("it was cut off")
	}
	reads(30 + 10)
	if _, err := c.Write([]byte("go on")); err != nil {
		t.Fatal(err)
	}
	reads(30 + 10)
	if _, err := c.Write([]byte("some of the answer")); err != nil {
		t.Fatal(err)
	}
	c.End()
	if held := l.Held(Stranger); held != 30 {
		t.Errorf("%d bytes are held while the rest of a request is read, want 30", held)
	}
	if _, err := c.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	if held := l.Held(Stranger); held != 0 {
		t.Errorf("%d bytes are held after the exchange", held)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c.Begin(30)
	c.End()
	if held := l.Held(Stranger); held != 0 {
		t.Errorf("%d bytes are held for a connection that is closed", held)
	}
}

func TestWhoDoesNotReadIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(newDesk(), Config{Name: "test", WriteWithin: 30 * time.Second})
		_, c := comes(t, l, "192.0.2.1:1")
		start := time.Now()
		if _, err := c.Write([]byte{1}); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// TestDescriptorsRunOut has Accept fail as it does when there are none: it goes on, says so once, and ends with Close.
func TestDescriptorsRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d := newDesk()
		l := New(d, Config{Name: "test", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range 50 {
			d.next <- result{err: &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}}
		}
		ours, theirs := net.Pipe()
		d.next <- result{conn: caller{theirs, "192.0.2.1:1"}}
		start := time.Now()
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 30*time.Second || took > time.Minute {
			t.Errorf("50 tries took %v", took)
		}
		if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "no descriptors are left") {
			t.Errorf("the log has %d lines:\n%s", lines, log.String())
		}
		d.next <- result{err: syscall.ENFILE}
		ended := make(chan error)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		synctest.Wait()
		if err := errors.Join(l.Close(), c.Close(), ours.Close()); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept ended with %v", err)
		}
	})
}

func TestABrokenListenerIsAnError(t *testing.T) {
	d := newDesk()
	d.next <- result{err: io.ErrUnexpectedEOF}
	if _, err := New(d, Config{Name: "test"}).Accept(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Accept returns %v", err)
	}
}

func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLines()
		for i := range 100 {
			if before, may := l.May("a"); may != (i == 0) || before != 0 {
				t.Fatalf("line %d: %v, %d", i, may, before)
			}
		}
		if _, may := l.May("b"); !may {
			t.Error("another topic is silent")
		}
		time.Sleep(lineEvery) //nolint:forbidigo // of the bubble
		if before, may := l.May("a"); !may || before != 99 {
			t.Errorf("after a while: %v, %d before", may, before)
		}
	})
}

// TestConnectionsLeaveDescriptors adds up what the listeners of a process may have.
func TestConnectionsLeaveDescriptors(t *testing.T) {
	for _, limit := range []uint64{256, 1024, 4096, 20_000, 1 << 20, 1 << 62} {
		sum := 0
		for _, s := range []Share{{1, 2, 0}, {1, 4, 4096}, {1, 8, 512}, {1, 8, 512}} {
			sum += s.Connections(limit)
		}
		if left := int64(min(limit, 1<<40)) - int64(sum); left < int64(min(limit/2, 2048)) {
			t.Errorf("of %d descriptors, %d are left", limit, left)
		}
	}
}
