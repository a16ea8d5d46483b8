package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/internal/bound"
)

// oneConn is a listener of one connection.
type oneConn struct {
	net.Listener
	conn net.Conn
}

func (l oneConn) Accept() (net.Conn, error) { return l.conn, nil }

// pipeAddr is an address for a pipe.
type pipeAddr struct{ net.Conn }

func (pipeAddr) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

// metering is a meter on a pipe, and the other end of that.
func metering(tb testing.TB, cfg bound.Config) (m *meter, l *bound.Listener, caller net.Conn) {
	tb.Helper()
	caller, ours := net.Pipe()
	cfg.Name = "grpc"
	l = bound.New(oneConn{conn: pipeAddr{ours}}, cfg)
	conn, err := l.Accept()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = errors.Join(conn.Close(), caller.Close()) })
	return newMeter(conn, bound.Of(conn)), l, caller
}

// A framing writes frames.
type framing struct {
	bytes.Buffer
	*http2.Framer
}

func newFraming(begins bool) *framing {
	s := &framing{}
	s.Framer = http2.NewFramer(&s.Buffer, nil)
	if begins {
		s.WriteString(http2.ClientPreface)
		_ = s.WriteSettings() // to memory
	}
	return s
}

func (s *framing) headers(stream uint32, end bool) {
	_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte{0x82}, EndHeaders: true, EndStream: end}) // to memory
}

func (s *framing) data(stream uint32, end bool, b []byte, padding int) {
	if padding > 0 {
		_ = s.WriteDataPadded(stream, end, b, make([]byte, padding)) // to memory
		return
	}
	_ = s.WriteData(stream, end, b) // to memory
}

// prefixed is a message as gRPC sends it.
func prefixed(announced int, b []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(announced)), b...)
}

// say has the caller say something, in pieces, and the meter read it.
func say(t *testing.T, m *meter, caller net.Conn, b []byte, rng *rand.Rand) {
	t.Helper()
	go func() {
		for rest := b; len(rest) > 0; {
			n := len(rest)
			if rng != nil {
				n = 1 + rng.IntN(min(len(rest), 40))
			}
			_, _ = caller.Write(rest[:n])
			rest = rest[n:]
		}
	}()
	got := make([]byte, len(b))
	if _, err := io.ReadFull(m, got); err != nil || !bytes.Equal(got, b) {
		t.Fatalf("the meter changes what it reads: %v", err)
	}
}

// TestMeterCounts follows calls: what is held is what was begun and is not over, wherever reads and writes are cut.
func TestMeterCounts(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		m, l, caller := metering(t, bound.Config{Memory: 1 << 30})
		go io.Copy(io.Discard, caller) //nolint:errcheck // until it is closed
		in, out := newFraming(true), newFraming(false)
		open, partial := map[uint32]bool{}, map[uint32]bool{}
		for id := uint32(1); id < 60; id += 2 {
			in.headers(id, false)
			open[id] = true
			whole := prefixed(300, make([]byte, 300))
			cut := rng.IntN(len(whole)) + 1
			in.data(id, false, whole[:cut], rng.IntN(3)*10)
			partial[id] = cut < len(whole)
			switch rng.IntN(4) {
			case 0:
				in.data(id, true, whole[cut:], rng.IntN(2))
				partial[id] = false
			case 1:
				_ = in.WriteRSTStream(id, http2.ErrCodeCancel) // to memory
				delete(open, id)
				delete(partial, id)
			case 2:
				if rng.IntN(2) == 0 {
					out.headers(id, true)
				} else {
					out.headers(id, false)
					out.data(id, false, []byte("answer"), 0)
					out.headers(id, true)
				}
				delete(open, id)
				delete(partial, id)
			}
		}
		say(t, m, caller, in.Bytes(), rng)
		for rest := out.Bytes(); len(rest) > 0; {
			n := 1 + rng.IntN(min(len(rest), 30))
			if _, err := m.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		incomplete := 0
		for id := range open {
			if partial[id] {
				incomplete++
			}
		}
		each := callCost + fieldCost // and the one field of its header
		least, most := int64(len(open)*each+incomplete), int64(len(open)*each+incomplete*(305+305*frameCost))
		if held := l.Held(bound.Stranger); held < least || held > most || len(m.calls) != len(open) {
			t.Fatalf("%d bytes and %d calls are held, want %d to %d and %d", held, len(m.calls), least, most, len(open))
		}
		last := newFraming(false)
		for id := range open {
			last.headers(id, true)
		}
		if _, err := m.Write(last.Bytes()); err != nil {
			t.Fatal(err)
		}
		if held := l.Held(bound.Stranger); held != 0 {
			t.Fatalf("%d bytes are held when every call is over", held)
		}
	}
}

// FuzzMeter sends anything: the meter passes it on, and never holds less than nothing.
func FuzzMeter(f *testing.F) {
	s := newFraming(true)
	s.headers(1, false)
	s.data(1, false, prefixed(10, []byte("abc")), 5)
	s.headers(3, true)
	f.Add(s.Bytes(), s.Bytes()[preface:])
	f.Add(append([]byte(http2.ClientPreface), 0xff, 0xff, 0xff, 0, 9, 0, 0, 0, 1, 255), []byte("\x00\x00\x00\x00\x09\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, in, out []byte) {
		_, l, _ := metering(t, bound.Config{Memory: 1 << 20})
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		m := newMeter(conn, bound.Of(conn))
		for i := 0; i < max(len(in), len(out)); i += 100 {
			if i < len(in) {
				m.count(m.in.each(in[i:min(i+100, len(in))]))
			}
			if i < len(out) {
				m.count(m.out.each(out[i:min(i+100, len(out))]))
			}
			if held := bound.Of(conn).Held(); held < 0 {
				t.Fatalf("%d bytes are held", held)
			}
		}
	})
}

// TestMessagesHaveATime begins a message, and another one that is complete in time, and waits.
func TestMessagesHaveATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l, caller := metering(t, bound.Config{})
		begin := newFraming(true)
		begin.headers(1, false)
		begin.data(1, false, prefixed(1<<20, []byte("half")), 0)
		say(t, m, caller, begin.Bytes(), nil)
		start := time.Now()
		var talking sync.WaitGroup
		talking.Go(func() { // goes on, so that no read waits for long
			for {
				<-time.After(time.Second)
				s := newFraming(false)
				_ = s.WritePing(false, [8]byte{}) // to memory
				if _, err := caller.Write(s.Bytes()); err != nil {
					return
				}
			}
		})
		_, err := io.Copy(io.Discard, m)
		took := time.Since(start)
		talking.Wait()
		if !errors.Is(err, os.ErrDeadlineExceeded) || took < messageWithin || took > messageWithin+time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		if l.Open() != 0 || l.Held(bound.Stranger) != 0 {
			t.Error("the connection is still there")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m, _, caller := metering(t, bound.Config{})
		s := newFraming(true)
		s.headers(1, false)
		s.data(1, false, prefixed(8, []byte("half")), 0)
		say(t, m, caller, s.Bytes(), nil)
		<-time.After(messageWithin / 2)
		s = newFraming(false)
		s.data(1, false, []byte("half"), 0)
		say(t, m, caller, s.Bytes(), nil)
		<-time.After(10 * messageWithin) // an idle stream
		s = newFraming(false)
		s.data(1, false, prefixed(4, []byte("more")), 0)
		say(t, m, caller, s.Bytes(), nil)
	})
}

// silentStream is a stream whose caller reads nothing.
type silentStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // grpc.ServerStream hands its context out
}

func (s silentStream) Context() context.Context { return s.ctx }

func (s silentStream) SendMsg(any) error {
	<-s.ctx.Done()
	return s.ctx.Err()
}

func TestUnreadStreamsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		err := BoundStreams(&running, nil)(nil, silentStream{ctx: ctx}, nil, func(_ any, stream grpc.ServerStream) error {
			<-time.After(time.Hour) // silence is no reason
			return stream.SendMsg("answer")
		})
		if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "not read") {
			t.Errorf("the stream ends with %v", err)
		}
		if took := time.Since(start); took != time.Hour+unreadWithin {
			t.Errorf("after %v, want %v", took, time.Hour+unreadWithin)
		}
		cancel() // which grpc does when a stream ends
		running.Wait()
	})
}
