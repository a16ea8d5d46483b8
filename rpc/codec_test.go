package rpc

import (
	"bytes"
	"context"
	"errors"
	"net"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// stock starts a server of grpc's own, with its own codec and generated code alone, and connects to it.
func stock(t *testing.T) *grpc.ClientConn {
	t.Helper()
	s := grpc.NewServer()
	pb.RegisterLimiterServer(s, pb.UnimplementedLimiterServer{})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return conn
}

// TestMalformedMessages checks that bytes that are no message are refused as grpc's own server refuses them.
func TestMalformedMessages(t *testing.T) {
	_, ours := serve(t, Config{Limiter: conformance.Stub{}})
	theirs := stock(t)
	refusal := func(conn *grpc.ClientConn, method string, message []byte) *status.Status {
		var answer []byte
		return status.Convert(conn.Invoke(t.Context(), method, &message, &answer, grpc.ForceCodec(raw{})))
	}
	for _, method := range []string{
		pb.Limiter_Check_FullMethodName, pb.Limiter_CheckBatch_FullMethodName, pb.Limiter_Return_FullMethodName,
	} {
		for _, message := range []string{"\x0a\x05k", "\x00", "\x0c", "\x0a\x80", "\x18\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"} {
			got, want := refusal(ours, method, []byte(message)), refusal(theirs, method, []byte(message))
			said := strings.ReplaceAll(want.Message(), "\u00a0", " ") // protobuf puts either space behind its name
			if want.Code() != codes.Internal || got.Code() != want.Code() || strings.ReplaceAll(got.Message(), "\u00a0", " ") != said {
				t.Errorf("%s of %x: got %v, want %v", method, message, got, want)
			}
		}
	}

	stream, err := ours.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
		pb.Limiter_CheckStream_FullMethodName, grpc.ForceCodec(raw{}))
	if err != nil {
		t.Fatal(err)
	}
	message, answer := []byte("\x0a\x05k"), []byte(nil)
	if err := stream.SendMsg(&message); err != nil {
		t.Fatal(err)
	}
	wantCode(t, stream.RecvMsg(&answer), codes.Internal, "cannot parse")
}

// TestMessagesOfEveryKind sends small and large messages, and reads every field of the answers.
func TestMessagesOfEveryKind(t *testing.T) {
	_, conn := serve(t, Config{Limiter: conformance.Stub{OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) {
		if err := r.Validate(); err != nil {
			return limit.Decision{}, err
		}
		d := limit.Decision{Allowed: true}
		for _, ref := range r.Limits {
			d.Limits = append(d.Limits, limit.Outcome{Name: ref.Name, Allowed: true, Limit: r.Cost, Remaining: int64(len(r.Key))})
			d.Receipts = append(d.Receipts, limit.Receipt{Limit: r.Key, Span: limit.Span{Start: -1, End: 1}})
		}
		return d, nil
	}}})
	client := pb.NewLimiterClient(conn)
	for _, length := range []int{0, 1, 100, limit.MaxKey} {
		m := &pb.CheckBatchRequest{}
		for i := range limit.MaxBatch {
			key := strings.Repeat("k", length) + strconv.Itoa(i)
			m.Checks = append(m.Checks, pb.EncodeRequest(limit.Request{
				Key: key[max(0, len(key)-limit.MaxKey):], Cost: int64(i), Look: i == 0, Limits: []limit.Ref{limit.Named("demo"), limit.Named("other")},
			}))
		}
		answer, err := client.CheckBatch(t.Context(), m)
		if err != nil || len(answer.GetResults()) != limit.MaxBatch {
			t.Fatalf("keys of %d: %d answers and %v", length, len(answer.GetResults()), err)
		}
		for i, result := range answer.GetResults() {
			key := m.GetChecks()[i].GetKey()
			d := pb.DecodeResult(result).Decision
			if len(d.Limits) != 2 || d.Limits[1].Name != "other" || d.Limits[0].Limit != int64(i) || d.Receipts[1].Limit != key {
				t.Fatalf("check %d of %q: got %+v", i, key, d)
			}
			if i%100 > 0 {
				continue
			}
			one, err := client.Check(t.Context(), m.GetChecks()[i])
			if err != nil || !proto.Equal(one.GetDecision(), result.GetDecision()) {
				t.Fatalf("check %d: got %v and %v, but %v in a batch", i, one, err, result)
			}
			if got := streamed(t, client, m.GetChecks()[i]).Decision; !reflect.DeepEqual(got, d) {
				t.Fatalf("check %d: got %v in a stream, but %v in a batch", i, got, d)
			}
		}
	}
}

// TestKeysOutliveTheirMessages keeps the keys of many messages: the buffers that they came in are used again.
func TestKeysOutliveTheirMessages(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	_, conn := serve(t, Config{Limiter: conformance.Stub{OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, r.Key)
		return limit.Decision{}, nil
	}}})
	client := pb.NewLimiterClient(conn)
	for i := range 20 {
		m := &pb.CheckBatchRequest{}
		for range limit.MaxBatch {
			m.Checks = append(m.Checks, checkMessage("user:"+strconv.Itoa(i)))
		}
		if _, err := client.CheckBatch(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for i, key := range keys {
		if want := "user:" + strconv.Itoa(i/limit.MaxBatch); key != want {
			t.Fatalf("key %d became %q, want %q", i, key, want)
		}
	}
}

// failing is a message that cannot be written.
type failing struct{}

func (failing) WireRoom() int                     { return 1 }
func (failing) AppendWire([]byte) ([]byte, error) { return nil, errors.New("no form") }

func TestCodec(t *testing.T) {
	c := newCodec()
	if c.Name() != "proto" {
		t.Errorf("the codec is called %q", c.Name())
	}
	if _, err := c.Marshal(failing{}); err == nil || err.Error() != "no form" {
		t.Errorf("a message that cannot be written: %v", err)
	}
	if _, err := c.Marshal(7); err == nil {
		t.Error("a number was written as a message")
	}
	if err := c.Unmarshal(nil, new(int)); err == nil {
		t.Error("a number was read as a message")
	}
	request := pb.EncodeRequest(limit.Request{Key: strings.Repeat("k", 10_000), Cost: 7})
	data, err := c.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	var parts mem.BufferSlice
	for part := range bytes.SplitSeq(data.Materialize(), []byte("kkkkkkkkkk")) {
		parts = append(parts, mem.SliceBuffer(part), mem.SliceBuffer("kkkkkkkkkk"))
	}
	var in pb.CheckIn
	if err := c.Unmarshal(parts[:len(parts)-1], &in); err != nil || in.Request.Cost != 7 || in.Request.Key != request.GetKey() {
		t.Errorf("in pieces: got %+v and %v", in.Request, err)
	}
	if err := c.Unmarshal(nil, &in); err != nil || in.Request.Key != "" || in.Request.Tokens() != 1 {
		t.Errorf("an empty message: got %+v and %v", in.Request, err)
	}
}

// weighing is a message that looks how much is held while it is read.
type weighing struct {
	l    *bound.Listener
	held int64
}

func (w *weighing) UnmarshalWire([]byte) error {
	w.held = w.l.Held(bound.Stranger)
	return nil
}

// TestLargeMessagesAreHeld reads messages of a connection: while a large one waits for that, it counts, and one whose call is
// over is not read.
func TestLargeMessagesAreHeld(t *testing.T) {
	m, l, _ := metering(t, bound.Config{Memory: maxMessage})
	ctx, cancel := context.WithCancel(peer.NewContext(t.Context(), &peer.Peer{Addr: m.RemoteAddr()}))
	defer cancel()
	c := newCodec()
	read := func(n int) (held int64, err error) {
		w := &weighing{l: l, held: -1}
		err = c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(make([]byte, n))}, &sized{message: w, ctx: ctx})
		return w.held, err
	}
	for n, want := range map[int]int64{largeMessage - 1: 0, largeMessage: largeMessage, maxMessage: maxMessage} {
		if held, err := read(n); err != nil || held != want || l.Held(bound.Stranger) != 0 {
			t.Errorf("%v: %d bytes are held while %d are read, and %d afterwards", err, held, n, l.Held(bound.Stranger))
		}
	}
	cancel()
	if held, err := read(largeMessage); !errors.Is(err, context.Canceled) || held >= 0 {
		t.Errorf("a message of a call that is over: %v, %d bytes were held when it was read", err, held)
	}
	if held, err := read(maxMessage + 1); !errors.Is(err, net.ErrClosed) || held >= 0 {
		t.Errorf("a message for which there is no room: %v, %d bytes were held when it was read", err, held)
	}
}
