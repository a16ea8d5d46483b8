package redis

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/doors/doorstest"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

const (
	// stored are the limits of the tests.
	stored = "limits:\n  login: {capacity: 5, refill: 1/s}\n  slow: {capacity: 2, refill: 1/h}\n"
	// secret is the token that counts in tests with tokens.
	secret = "0123456789abcdef"
)

func isSecret(token string) bool { return token == secret }

func document(tb testing.TB) *limit.Document {
	tb.Helper()
	doc, err := limit.ParseDocument([]byte(stored))
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

// newNode opens what a node decides by.
func newNode(tb testing.TB) *actor.System {
	tb.Helper()
	return doorstest.NewSystem(tb, stored)
}

// serve has a door answer on loopback, and returns its address.
func serve(tb testing.TB, cfg Config) (address string) {
	tb.Helper()
	d, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	address = listen(tb, d)
	tb.Cleanup(func() {
		if err := d.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return address
}

// listen has d answer at one more address until it is stopped.
func listen(tb testing.TB, d *Door) (address string) {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- d.Serve(l) }()
	tb.Cleanup(func() {
		if err := <-served; err != nil {
			tb.Error(err)
		}
	})
	return l.Addr().String()
}

// registers are a replica in memory.
type registers struct {
	now func() int64

	mu       sync.Mutex
	byBucket map[[2]string]register.Register
}

func (r *registers) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	r.mu.Lock()
	answers := make([]register.Answer, len(rs))
	for i, m := range rs {
		if m.Now == 0 {
			m.Now = r.now()
		}
		at := [2]string{m.Key, m.Limit}
		after, a, write := register.Partition{Epoch: ring.FirstEpoch}.Reserve(r.byBucket[at], m, r.now(), register.DefaultBounds())
		if answers[i] = a; write {
			r.byBucket[at] = after
		}
	}
	r.mu.Unlock()
	done(answers, nil)
}

func (r *registers) Look(_ context.Context, _ ring.Partition, key, name string) (storage.Looked, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reg, ok := r.byBucket[[2]string{key, name}]
	return storage.Looked{Register: reg, Exists: ok, Partition: register.Partition{Epoch: ring.FirstEpoch}}, nil
}

// newSystem starts what decides by the clock of a bubble.
func newSystem(tb testing.TB) *actor.System {
	tb.Helper()
	return newSystemOn(tb, newRegisters())
}

func newRegisters() *registers {
	return &registers{now: func() int64 { return time.Now().UnixNano() }, byBucket: map[[2]string]register.Register{}}
}

// newSystemOn starts what decides, with registers that may have been another's.
func newSystemOn(tb testing.TB, kept *registers) *actor.System {
	tb.Helper()
	doc := document(tb)
	s, err := actor.New(actor.Config{
		Node: "here", Now: kept.now, Limits: func() *limit.Document { return doc }, Logger: slog.New(slog.DiscardHandler),
		Replicas: []actor.Replica{kept},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// pipes is a listener of connections in memory, which a bubble knows.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.accept <- theirs
	return ours
}

// inBubble has a door answer in a bubble, where time passes when all wait. The functions that it returns open a connection, and stop the door
// and what decides.
func inBubble(tb testing.TB, cfg Config) (dial func() net.Conn, stop func()) {
	tb.Helper()
	s := newSystem(tb)
	if cfg.Limiter == nil {
		cfg.Limiter = s
	}
	d, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	l := newPipes()
	served := make(chan error, 1)
	go func() { served <- d.Serve(l) }()
	return l.dial, func() {
		if err := d.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
		if err := <-served; err != nil {
			tb.Error(err)
		}
		s.Close()
	}
}

// A talk is a connection on which a test says and hears plain bytes.
type talk struct {
	testing.TB
	net.Conn

	in *bufio.Reader
}

func newTalk(tb testing.TB, c net.Conn) *talk {
	tb.Helper()
	return &talk{tb, c, bufio.NewReader(c)}
}

// say sends commands, a line each, as arrays of words.
func (c *talk) say(lines ...string) {
	c.Helper()
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(words(strings.Fields(line)...))
	}
	c.send(b.String())
}

func (c *talk) send(text string) {
	c.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.Fatal(err)
	}
}

// hear reads one answer, in the form of a line: arrays and maps in brackets.
func (c *talk) hear() string {
	c.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // a pipe that is closed has none, and may have been read before
	text, err := readAnswer(c.in)
	if err != nil {
		c.Fatal("the answer: ", err)
	}
	return text
}

// ask is say and hear.
func (c *talk) ask(line string) string {
	c.Helper()
	c.say(line)
	return c.hear()
}

// want asks, and compares.
func (c *talk) want(line, answer string) {
	c.Helper()
	if got := c.ask(line); got != answer {
		c.Errorf("%s: %s, want %s", line, got, answer)
	}
}

// close closes the connection.
func (c *talk) close() {
	c.Helper()
	if err := c.Conn.Close(); err != nil {
		c.Error(err)
	}
}

// ends says that the door closes the connection, after what it may still send.
func (c *talk) ends() {
	c.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // a pipe that is closed has none
	if rest, err := io.ReadAll(c.in); os.IsTimeout(err) {
		c.Fatalf("the connection stays open: %q", rest)
	}
}

// stopWhile stops d while its clients go on, each until an error.
func stopWhile(d *Door, answers <-chan error) error {
	stopped := make(chan error, 1)
	go func() { stopped <- d.Stop(context.Background()) }()
	for ended := 0; ended < 4; {
		if <-answers != nil {
			ended++
		}
	}
	return <-stopped
}
