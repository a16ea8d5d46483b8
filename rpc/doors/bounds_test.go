package doors_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/rpc/doors"
	"github.com/jeton-dev/jeton/rpc/doors/doorstest"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
	"github.com/jeton-dev/jeton/rpc/transport"
)

// heldAtMost is what strangers may make the listener of serve hold.
const heldAtMost = 4 << 20

// serve has a Server answer gubernator's clients at a listener as a gateway's is.
func serve(t *testing.T) (*bound.Listener, gubernatorpb.V1Client) {
	t.Helper()
	services, err := doors.Open([]string{"gubernator"}, doors.Config{Limiter: doorstest.NewSystem(t, ""), Limits: func() *limit.Document { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := doors.NewServer(doors.ServerConfig{Services: services, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := bound.New(raw, bound.Config{Name: "doors.listen", Memory: heldAtMost})
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
	return l, gubernatorpb.NewV1Client(conn)
}

// asks fails the test unless an honest client is answered. It tries again once: where connections are closed that hold most, its own may be one.
func asks(t *testing.T, c gubernatorpb.V1Client) {
	t.Helper()
	m := &gubernatorpb.GetRateLimitsReq{Requests: []*gubernatorpb.RateLimitReq{{Name: "n", UniqueKey: "k", Hits: 1, Limit: 1_000_000, Duration: 60_000}}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // without a deadline it is the door's second, which a busy machine may miss
	defer cancel()
	got, err := c.GetRateLimits(ctx, m)
	if status.Code(err) == codes.Unavailable {
		got, err = c.GetRateLimits(ctx, m, grpc.WaitForReady(true))
	}
	if err != nil || got.GetResponses()[0].GetError() != "" {
		t.Fatalf("an honest client is not answered: %v, %v", got, err)
	}
}

// begun is what a client says that begins calls of a method, and sends a part of the message of each, whose length it says.
func begun(method string, calls uint32, length int, part []byte) []byte {
	var said, header bytes.Buffer
	said.WriteString(http2.ClientPreface)
	framer, fields := http2.NewFramer(&said, nil), hpack.NewEncoder(&header)
	_ = framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30}) // to memory, as all of it
	for n := range calls {
		header.Reset()
		for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "a"}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
			_ = fields.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*n + 1, BlockFragment: header.Bytes(), EndHeaders: true})
		_ = framer.WriteData(2*n+1, false, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(length)), part...))
	}
	return said.Bytes()
}

// attack says the same over some connections, whose answers are never read, and says how much was held at most until most of them were closed.
func attack(t *testing.T, l *bound.Listener, says []byte, honest func()) (highest int64) {
	t.Helper()
	const connections = 40
	for range connections {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // it may not be read any further
		_, _ = conn.Write(says)
		highest = max(highest, l.Held(bound.Stranger))
		honest()
	}
	for l.Open() > connections/2 {
		if t.Context().Err() != nil {
			t.Fatalf("%d of %d connections are open still", l.Open(), connections)
		}
		highest = max(highest, l.Held(bound.Stranger))
		honest()
	}
	return highest
}

// TestStrangersHoldLittle begins messages that it does not end, and asks for answers that it does not read: where a gateway listens, as at a node,
// what is held for strangers stays below the bound, most of them are closed, and an honest client is answered beside them.
func TestStrangersHoldLittle(t *testing.T) {
	name := &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "pb.gubernator.V1"}}
	asked, err := transport.NewCodec().Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	question := asked.Materialize()
	for of, says := range map[string][]byte{
		"messages that do not end":  begun(gubernatorpb.V1_GetRateLimits_FullMethodName, 20, transport.MaxMessage-1, make([]byte, 15<<10)),
		"streams that are not read": begun(reflectionpb.ServerReflection_ServerReflectionInfo_FullMethodName, 400, len(question), question),
	} {
		t.Run(of, func(t *testing.T) {
			l, honest := serve(t)
			asks(t, honest)
			highest := attack(t, l, says, func() { asks(t, honest) })
			t.Logf("%d bytes were held at most", highest)
			if highest > 3*heldAtMost { // what arrives while others are being closed comes on top, more so where all is slow
				t.Errorf("of a bound of %d", heldAtMost)
			}
		})
	}
}
