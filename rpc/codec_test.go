package rpc

import (
	"context"
	"net"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
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
		pb.Limiter_Check_FullMethodName, pb.Limiter_CheckBatch_FullMethodName, pb.Limiter_CheckAll_FullMethodName, pb.Limiter_Return_FullMethodName,
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
