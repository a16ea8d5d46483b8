package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
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
	"github.com/jeton-dev/jeton/rpc/transport"
)

// frames is what a caller says who speaks HTTP/2 by hand.
type frames struct {
	bytes.Buffer
	*http2.Framer
}

func newFrames() *frames {
	s := &frames{}
	s.Framer = http2.NewFramer(&s.Buffer, nil)
	s.WriteString(http2.ClientPreface)
	_ = s.WriteSettings() // to memory
	return s
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
	s := newFrames()
	for id := uint32(1); id < 21; id += 2 {
		_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: called(), EndHeaders: true}) // to memory
		for range 4 {
			_ = s.WriteData(id, false, append(binary.BigEndian.AppendUint32([]byte{0}, transport.MaxMessage-1), make([]byte, 15<<10)...)) // to memory
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
	const memory, conns, calls, perCall = 4 << 20, 20, 40, transport.MaxHeaders/34 - 20
	l, honest := bounded(t, memory, Config{Limiter: conformance.Stub{}})
	checks(t, honest)
	block := called(slices.Repeat([]hpack.HeaderField{{Name: "te"}}, perCall)...)
	s := newFrames()
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
	s := newFrames()
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
	long := metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("v", transport.MaxHeaders))
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
