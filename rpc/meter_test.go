package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/rpc/pb"
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
		s := &Server{metrics: newServerMetrics()}
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		err := s.boundStream(nil, silentStream{ctx: ctx}, nil, func(_ any, stream grpc.ServerStream) error {
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
		s.readers.Wait()
	})
}

// bounded starts a Server on a listener with that budget.
func bounded(t *testing.T, memory int64, cfg Config) (*bound.Listener, *grpc.ClientConn) {
	t.Helper()
	raw, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := bound.New(raw, bound.Config{Name: "grpc", Memory: memory})
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		if err := s.Serve(l); err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient("passthrough:///"+raw.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close() // it may be cut off
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Stop(ctx) // it says that calls were cut off
		served.Wait()
	})
	return l, conn
}

// attacks dials and says something, and hands over what comes back.
func attacks(t *testing.T, l net.Listener, says []byte) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, _ = conn.Write(says) // it may be cut off in the middle
	return conn
}

// called is the header of a call of CheckBatch.
func called(more ...hpack.HeaderField) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: pb.Limiter_CheckBatch_FullMethodName},
		{Name: ":authority", Value: "a"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	}, more...) {
		_ = e.WriteField(f) // to memory
	}
	return b.Bytes()
}

// checks fails the test unless a check is answered.
func checks(t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	if _, err := pb.NewLimiterClient(conn).Check(t.Context(), checkMessage("honest")); err != nil {
		t.Fatalf("an honest check is not answered: %v", err)
	}
}

// TestHalfSentMessagesHoldLittle sends halves of large messages, over connections of many calls each. What is held stays below
// the budget, and an honest caller is answered beside them.
func TestHalfSentMessagesHoldLittle(t *testing.T) {
	const memory = 4 << 20
	l, honest := bounded(t, memory, Config{Limiter: conformance.Stub{}})
	checks(t, honest)
	s := newFraming(true)
	for id := uint32(1); id < 21; id += 2 {
		_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: called(), EndHeaders: true}) // to memory
		for range 4 {
			s.data(id, false, prefixed(maxMessage-1, make([]byte, 15<<10)), 0)
		}
	}
	var highest int64
	for range 15 {
		attacks(t, l, s.Bytes())
		highest = max(highest, l.Held(bound.Stranger))
		checks(t, honest)
	}
	eventually(t, "most of them are cut off", func() bool {
		highest = max(highest, l.Held(bound.Stranger))
		return l.Open() < 10
	})
	if highest > memory+1<<20 {
		t.Errorf("%d bytes were held, of a budget of %d", highest, memory)
	}
	t.Logf("%d bytes were held at most, of %d that were sent; %d of 16 connections are left", highest, 15*s.Len(), l.Open())
	checks(t, honest)
}

// TestHeadersAreBounded sends headers that are long once they are unpacked: the call is refused, and the connection and
// others go on.
// TestHeadersOfManyFieldsHoldLittle begins calls whose headers have as many fields as there may be, each of a byte or two. grpc
// makes room for all of them, and keeps it as long as the call.
func TestHeadersOfManyFieldsHoldLittle(t *testing.T) {
	const memory, conns, calls, perCall = 4 << 20, 20, 40, maxHeaders/34 - 20
	l, honest := bounded(t, memory, Config{Limiter: conformance.Stub{}})
	checks(t, honest)
	block := called(slices.Repeat([]hpack.HeaderField{{Name: "te"}}, perCall)...)
	s := newFraming(true)
	for id := uint32(1); id < 2*calls; id += 2 {
		_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true}) // to memory
	}
	_ = s.WritePing(false, [8]byte{}) // to memory
	before := liveHeap()
	highest, live := int64(0), int64(0)
	for range conns {
		heard(attacks(t, l, s.Bytes()))
		checks(t, honest)
		highest, live = max(highest, l.Held(bound.Stranger)), max(live, liveHeap()-before)
	}
	t.Logf("at most %d bytes counted, and %d bytes were there, of a budget of %d", highest, live, memory)
	if highest > memory+1<<20 {
		t.Errorf("%d bytes were held, of a budget of %d", highest, memory)
	}
	if live > 3*memory {
		t.Errorf("%d bytes of memory were in use, of a budget of %d", live, memory)
	}
	checks(t, honest)
}

// heard reads until a ping is answered, so that all before it was read, or until the connection is cut off.
func heard(conn net.Conn) {
	answers := http2.NewFramer(nil, conn)
	for {
		frame, err := answers.ReadFrame()
		if p, ok := frame.(*http2.PingFrame); err != nil || ok && p.IsAck() {
			return
		}
	}
}

// liveHeap is how many bytes are in use.
func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far less than 2⁶³
}

func TestHeadersAreBounded(t *testing.T) {
	l, honest := bounded(t, 4<<20, Config{Limiter: conformance.Stub{}})
	s := newFraming(true)
	block := called(hpack.HeaderField{Name: "x", Value: strings.Repeat("v", 3000)})
	for range 5000 {
		block = append(block, 0x80|62) // the newest of the table once more
	}
	_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndHeaders: true, EndStream: true}) // to memory
	conn := attacks(t, l, s.Bytes())
	answers := http2.NewFramer(nil, conn)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	for {
		frame, err := answers.ReadFrame()
		if err != nil {
			break // the connection is closed
		}
		if reset, ok := frame.(*http2.RSTStreamFrame); ok && reset.StreamID == 1 {
			break
		}
		if h, ok := frame.(*http2.HeadersFrame); ok {
			t.Fatalf("the call was answered: %v", h)
		}
	}
	checks(t, honest)
	long := metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("v", maxHeaders))
	if _, err := pb.NewLimiterClient(honest).Check(long, checkMessage("k")); err == nil {
		t.Error("a header that is too long is taken")
	}
	checks(t, honest)
}

// TestCallsWithoutAMessageEnd opens calls and sends no message: they end with the time that a call has.
func TestCallsWithoutAMessageEnd(t *testing.T) {
	_, honest := bounded(t, 4<<20, Config{Limiter: conformance.Stub{}})
	ctx, cancel := context.WithTimeout(t.Context(), 10*defaultTime)
	defer cancel()
	// grpc tells the node the deadline of ctx; that of the node is what is looked at, so the context has none.
	stream, err := honest.NewStream(context.WithoutCancel(ctx), &grpc.StreamDesc{ClientStreams: true}, pb.Limiter_Check_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stream.RecvMsg(&pb.CheckResponse{}) }()
	select {
	case err := <-ended:
		if status.Code(err) != codes.DeadlineExceeded && status.Code(err) != codes.Canceled && status.Code(err) != codes.Internal {
			t.Errorf("it ended with %v", err)
		}
	case <-ctx.Done():
		t.Error("it does not end")
	}
	checks(t, honest)
}

// TestNothingIsHeldAfterwards makes calls of every shape, some of which are given up in the middle: when the last one is over,
// nothing is held.
func TestNothingIsHeldAfterwards(t *testing.T) {
	l, conn := bounded(t, 1<<30, Config{Limiter: conformance.Stub{OnCheck: func(ctx context.Context, r limit.Request) (limit.Decision, error) {
		if strings.HasPrefix(r.Key, "slow") {
			<-ctx.Done()
			return limit.Decision{}, ctx.Err()
		}
		return limit.Decision{Allowed: true}, nil
	}}})
	client := pb.NewLimiterClient(conn)
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for j := range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				key := "quick"
				if j%3 == 0 {
					key = "slow"
					time.AfterFunc(time.Duration(i+j)*100*time.Microsecond, cancel)
				}
				many := &pb.CheckBatchRequest{}
				for range 200 {
					many.Checks = append(many.Checks, checkMessage(key))
				}
				switch j % 2 {
				case 0:
					_, _ = client.CheckBatch(ctx, many) // it may be given up
				default:
					stream, err := client.CheckStream(ctx)
					if err != nil {
						break
					}
					_ = stream.Send(checksMessage(0, 500)) // likewise
					_, _ = stream.Recv()
				}
				cancel()
			}
		})
	}
	callers.Wait()
	checks(t, conn)
	eventually(t, "nothing is held", func() bool {
		runtime.GC() // grpc drops some answers of calls that were given up
		return l.Held(bound.Stranger) == 0
	})
}
