package rpc

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/web"
)

// asSent is a codec of messages that are bytes already.
type asSent struct{}

func (asSent) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (asSent) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func (asSent) Name() string { return "proto" }

// pieces are messages of m that consist of about so many bytes of the smallest values of one field, for every list that m
// holds, directly or in its other fields.
func pieces(m protoreflect.MessageDescriptor, size, depth int) map[string][]byte {
	found := map[string][]byte{}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if f.Kind() != protoreflect.MessageKind || depth == 0 {
			continue
		}
		field := protowire.AppendTag(nil, f.Number(), protowire.BytesType)
		if f.IsList() {
			found[string(f.Name())] = bytes.Repeat(protowire.AppendBytes(field, nil), size/(len(field)+1))
		}
		for name, inner := range pieces(f.Message(), size, depth-1) {
			found[string(f.Name())+"."+name] = protowire.AppendBytes(field, inner)
		}
		for name, inner := range pieces(f.Message(), 8, depth-1) {
			if one := protowire.AppendBytes(bytes.Clone(field), inner); f.IsList() {
				found[string(f.Name())+"s of "+name] = bytes.Repeat(one, size/len(one))
			}
		}
	}
	return found
}

// allocated is how many bytes f has allocated, beside whatever else happens.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestSmallPiecesTakeLittle sends to every method that takes no proof messages of nothing but lists of the smallest values that
// there are, two bytes each. What is made of a message is a few times its size at most, before anybody has counted anything.
func TestSmallPiecesTakeLittle(t *testing.T) {
	const size, most = 1 << 20, 20
	doc := conformance.NewDocument(t)
	_, conn := serve(t, Config{Limiter: conformance.NewNoonModel(t), Limits: func() *limit.Document { return doc }})
	tried := 0
	for _, e := range access.Table() {
		service, method, _ := strings.Cut(strings.TrimPrefix(e.Call, "/"), "/")
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
		if e.Door != access.NodeGRPC || e.Need > access.Check || err != nil {
			continue
		}
		input := d.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method)).Input()
		for name, message := range pieces(input, size, 4) {
			tried++
			t.Run(method+" "+name, func(t *testing.T) {
				took := allocated(func() { send(t, conn, e.Call, message) })
				if factor := took / uint64(len(message)); factor > most {
					t.Errorf("%d bytes for a message of %d: %d times as many", took, len(message), factor)
				}
			})
		}
	}
	if tried < 8 {
		t.Errorf("only %d messages were tried", tried)
	}
}

// send sends one message, and waits until the call has ended or has been answered.
func send(t *testing.T, conn *grpc.ClientConn, method string, message []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, grpc.ForceCodecV2(asSent{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendMsg(message); err != nil {
		t.Fatal(err)
	}
	var answer []byte
	_ = stream.CloseSend()
	_ = stream.RecvMsg(&answer) // what it is, is for other tests
	if ctx.Err() != nil {
		t.Errorf("there was no answer in %v", patience)
	}
}

// TestSmallPiecesOfJSON is TestSmallPiecesTakeLittle over HTTP. What encoding/json allocates while a list grows counts here,
// which is garbage at once.
func TestSmallPiecesOfJSON(t *testing.T) {
	const size, most = 1 << 20, 30
	doc := conformance.NewDocument(t)
	api, err := web.NewAPI(web.APIConfig{Limiter: conformance.NewNoonModel(t), Limits: func() *limit.Document { return doc }})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, begin, piece, end, field string }{
		{"/v1/return", `{"key":"k","receipts":[`, `{},`, `{}]}`, "receipts"},
		{"/v1/return", `{"key":"k","receipts":[{"reuses":[`, `{},`, `{}]}]}`, ""},
		{"/v1/return", `{"receipts":[],"receipts":[`, `{},`, `{}]}`, "receipts"},
		{"/v1/check", `{"key":"k","limits":[`, `"a",`, `"a"]}`, "limits"},
		{"/v1/hold", `{"key":"k","for":"60s","limits":[`, `"a",`, `"a"]}`, "limits"},
		{"/v1/settle", `{"cost":1,"hold":"`, `AAAAAAAA`, `"}`, "hold"},
		{"/v1/extend", `{"for":"60s","hold":"`, `AAAAAAAA`, `"}`, "hold"},
		{"/v1/extend", `{"hold":[`, `{},`, `{}]}`, "hold"},
		{"/v1/check", `{"key":"k","limits":[`, `{},`, `{}]}`, "limits"},
		{"/v1/check", `{"key":"k",`, `"limits":[` + strings.Repeat(`{},`, 15) + `{}],`, `"cost":1}`, "limits"},
		{"/v1/check", `{"key":"k",`, `"limits":[],`, `"LIMITS":null}`, "limits"},
		{"/v1/check-all", `{`, `"checks":[{"key":"k","limits":["a"]}],`, `"checks":[]}`, "checks"},
		{"/v1/return", `{"key":"k",`, `"receipts":[{}],`, `"receipts":[]}`, "receipts"},
	} {
		body := tt.begin + strings.Repeat(tt.piece, size/len(tt.piece)-20) + tt.end
		r, w := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tt.path, strings.NewReader(body)), httptest.NewRecorder()
		took := allocated(func() { api.ServeHTTP(w, r) })
		if factor := took / uint64(len(body)); factor > most {
			t.Errorf("%s %.40s…: %d times as many bytes as were sent", tt.path, tt.begin+tt.piece, factor)
		}
		if answer := w.Body.String(); tt.field != "" && (w.Code != http.StatusBadRequest || !strings.Contains(answer, `"field":"`+tt.field)) {
			t.Errorf("%s %.40s…: %d %.200s", tt.path, tt.begin+tt.piece, w.Code, answer)
		}
	}
}

// TestCompressedMessagesAreRefused sends to every method that takes no proof a message of 8 MiB in 8 KiB, in a program that knows
// how to decompress it, as jeton does.
func TestCompressedMessagesAreRefused(t *testing.T) {
	doc := conformance.NewDocument(t)
	_, conn := serve(t, Config{Limiter: conformance.NewNoonModel(t), Limits: func() *limit.Document { return doc }})
	const size = 8<<20 - 100
	message := protowire.AppendBytes(protowire.AppendTag(nil, 1000, protowire.BytesType), make([]byte, size))
	for _, e := range access.Table() {
		if e.Door != access.NodeGRPC || e.Need > access.Check || !strings.HasPrefix(e.Call, "/jeton.v1.") {
			continue
		}
		var err error
		var answer []byte
		var took uint64
		for try := 0; try == 0 || try < 20 && status.Code(err) == codes.DeadlineExceeded; try++ { // it takes long to compress where much else runs
			took = allocated(func() {
				err = conn.Invoke(t.Context(), e.Call, message, &answer, grpc.ForceCodecV2(asSent{}), grpc.UseCompressor(gzip.Name))
			})
		}
		if status := status.Code(err); status != codes.Internal && status != codes.Unimplemented {
			t.Errorf("%s: %v", e.Call, err)
		}
		if took > size/2 {
			t.Errorf("%s: %d bytes were allocated", e.Call, took)
		}
	}
}

// TestManyReceipts returns as many receipts as may be returned at once, and one more, whichever way.
func TestManyReceipts(t *testing.T) {
	doc := conformance.NewDocument(t)
	_, conn := serve(t, Config{Limiter: conformance.Stub{}})
	api, err := web.NewAPI(web.APIConfig{Limiter: conformance.Stub{}, Limits: func() *limit.Document { return doc }})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{limit.MaxReturn, limit.MaxReturn + 1} {
		m := &pb.ReturnRequest{Key: "k", Receipts: pb.EncodeReceipts(make([]limit.Receipt, n))}
		answer, err := pb.NewLimiterClient(conn).Return(t.Context(), m)
		if n > limit.MaxReturn {
			wantCode(t, err, codes.InvalidArgument, fmt.Sprintf("receipts: %d receipts are too many", n))
		} else if err != nil || len(answer.GetReturned()) != n {
			t.Errorf("%d receipts: %d answers, %v", n, len(answer.GetReturned()), err)
		}
		body := `{"key":"k","receipts":[` + strings.TrimSuffix(strings.Repeat(`{},`, n), ",") + `]}`
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/return", strings.NewReader(body)))
		if want := map[bool]int{true: 400, false: 200}[n > limit.MaxReturn]; w.Code != want {
			t.Errorf("%d receipts over HTTP: %d %.200s", n, w.Code, w.Body)
		}
	}
}
