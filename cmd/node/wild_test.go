package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/storage"
)

// asIs is a codec for messages that are bytes already.
type asIs struct{}

func (asIs) Name() string { return "proto" }

func (asIs) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (asIs) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

var _ encoding.CodecV2 = asIs{}

// everyMethod are the methods of all services that a node has.
func everyMethod() (methods []protoreflect.MethodDescriptor) {
	_ = pb.Limiter_ServiceDesc // they are registered by this package
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		name := string(file.Package())
		if name != "jeton.v1" && name != "grpc.health.v1" && !strings.HasPrefix(name, "grpc.reflection") {
			return true
		}
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				methods = append(methods, service.Methods().Get(j))
			}
		}
		return true
	})
	return methods
}

// wildBytes are values of strings and bytes that a caller may send.
func wildBytes() []string {
	return []string{
		"", "user:1", "demo", "127.0.0.1:1", "127.0.0.1:1\xff\xfe", "\xff", "\x00", strings.Repeat("k", 513), strings.Repeat("\xf0\x9f\x98\x80", 200),
		"00000000000000000000000000000001@127.0.0.1:1", "00000000000000000000000000000001@\xff", "@", "::", "a\nb\x1b[31m",
		`{"kind":"ping"}`, `{"kind":"lead","body":{}}`, `{"kind":"promise","body":{"Nodes":[{}]}}`, `{"kind":"survey","body":null}`, "jeton.v1.Limiter",
		strings.Repeat("\xff", 64), "limits: {a: {capacity: 1, refill: 1/s}}",
	}
}

// wildNumbers are values of numbers.
func wildNumbers() []uint64 {
	minus := int64(-1)
	return []uint64{
		0, 1, 2, 3, 1000, math.MaxInt32, math.MaxUint32, math.MaxInt64, 1 << 63, uint64(minus), math.Float64bits(math.NaN()),
		math.Float64bits(math.Inf(-1)), uint64(math.Float32bits(float32(math.NaN()))), 1_800_000_000_000_000_000,
	}
}

// A wilderness makes messages out of what the fuzzer draws.
type wilderness struct{ drawn []byte }

func (w *wilderness) draw(n int) int {
	if len(w.drawn) == 0 {
		return 0
	}
	b := w.drawn[0]
	w.drawn = w.drawn[1:]
	return int(b) % n
}

// message is a message with any of its fields, each once or more, with any value.
func (w *wilderness) message(of protoreflect.MessageDescriptor, depth int) []byte {
	var b []byte
	for i := range of.Fields().Len() {
		field := of.Fields().Get(i)
		for range w.draw(4) {
			b = w.field(b, field, depth)
		}
	}
	return b
}

func (w *wilderness) field(b []byte, field protoreflect.FieldDescriptor, depth int) []byte {
	numbers, texts := wildNumbers(), wildBytes()
	number := numbers[w.draw(len(numbers))]
	switch field.Kind() { //nolint:exhaustive // all others are varints
	case protoreflect.StringKind, protoreflect.BytesKind:
		return protowire.AppendString(protowire.AppendTag(b, field.Number(), protowire.BytesType), texts[w.draw(len(texts))])
	case protoreflect.MessageKind, protoreflect.GroupKind:
		var inner []byte
		if depth > 0 {
			inner = w.message(field.Message(), depth-1)
		}
		return protowire.AppendBytes(protowire.AppendTag(b, field.Number(), protowire.BytesType), inner)
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.AppendFixed64(protowire.AppendTag(b, field.Number(), protowire.Fixed64Type), number)
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.AppendFixed32(protowire.AppendTag(b, field.Number(), protowire.Fixed32Type), uint32(number))
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field.Number(), protowire.VarintType), number)
}

// A victim is a node that is sent anything.
type victim struct {
	*node.Node
	plain, keyed *grpc.ClientConn // without and with the cluster key; keyed is nil at a node without one
	http         *http.Client
}

const victimLimits = "limits: {demo: {capacity: 1000000000, refill: 1000000000/s}}"

// startVictim starts a cluster of one, with a key or without.
func startVictim(f *testing.F, secret string) *victim {
	f.Helper()
	dir := f.TempDir()
	limits := filepath.Join(dir, "limits.yaml")
	if err := os.WriteFile(limits, []byte(victimLimits), 0o600); err != nil {
		f.Fatal(err)
	}
	cfg := node.Config{
		Data: filepath.Join(dir, "data"), Limits: limits, Durability: storage.Memory, Logger: slog.New(slog.DiscardHandler),
		ListenGRPC: "127.0.0.1:0", ListenHTTP: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
	}
	if secret != "" {
		cfg.ClusterKeyFile = filepath.Join(dir, "key")
		if err := os.WriteFile(cfg.ClusterKeyFile, []byte(secret), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	n, err := node.Open(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { n.Close(context.Background()) }) //nolint:errcheck // it was sent anything
	v := &victim{Node: n, http: &http.Client{Timeout: 5 * time.Second}}
	dial := func(with grpc.DialOption) *grpc.ClientConn {
		conn, err := grpc.NewClient("passthrough:///"+n.GRPCAddr(), with, grpc.WithNoProxy())
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	v.plain = dial(grpc.WithTransportCredentials(insecure.NewCredentials()))
	if secret != "" {
		k, err := key.New([]byte(secret))
		if err != nil {
			f.Fatal(err)
		}
		v.keyed = dial(grpc.WithTransportCredentials(credentials.WithKey(k)))
	}
	return v
}

// call sends a method a message of bytes, twice if it takes a stream, and reads a few answers.
func call(ctx context.Context, conn *grpc.ClientConn, method string, message []byte, d protoreflect.MethodDescriptor) error {
	ctx = metadata.AppendToOutgoingContext(ctx, "jeton-node", "00000000000000000000000000000009", "jeton-address", "127.0.0.1:1")
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, grpc.ForceCodecV2(asIs{}))
	if err != nil {
		return err
	}
	if err := stream.SendMsg(message); err == nil && d != nil && d.IsStreamingClient() {
		_ = stream.SendMsg(message) // it may have ended
	}
	_ = stream.CloseSend() // never fails
	for range 3 {
		var answer []byte
		if err := stream.RecvMsg(&answer); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// alive fails the test unless the node runs, answers a check, and has survived no panic.
func (v *victim) alive(t *testing.T, after string) {
	t.Helper()
	select {
	case <-v.Failed():
		t.Fatalf("%s: the node has ended: %v", after, v.Err())
	default:
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	check := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "user:42")
	check = protowire.AppendBytes(protowire.AppendTag(check, 2, protowire.BytesType),
		protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "demo"))
	conn := v.plain
	switch err := call(ctx, conn, pb.Limiter_Check_FullMethodName, check, nil); status.Code(err) {
	case codes.OK, codes.Unavailable, codes.NotFound, codes.ResourceExhausted: // a wild Seal, or other limits, were taken at their word
	default:
		t.Fatalf("%s: a check is answered with %v", after, err)
	}
	text := v.get(t, after, "/metrics")
	for line := range strings.Lines(text) {
		if strings.Contains(line, "_panics_total ") && line[0] != '#' && !strings.HasSuffix(strings.TrimSpace(line), " 0") {
			t.Fatalf("%s: %s", after, line)
		}
	}
}

func (v *victim) get(t *testing.T, after, path string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+v.HTTPAddr()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := v.http.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", after, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s: %v", after, err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s is %d: %s", after, path, response.StatusCode, text)
	}
	return string(text)
}

// wildFor is how long a call may take: streams that would last are left.
const wildFor = 300 * time.Millisecond

// FuzzEveryMethod sends every method of every service messages that are none, and messages whose fields hold anything, with
// and without the cluster key, to running nodes. They must go on, and answer a check afterwards.
func FuzzEveryMethod(f *testing.F) {
	methods := everyMethod()
	if len(methods) < 20 {
		f.Fatalf("only %d methods were found", len(methods))
	}
	open, closed := startVictim(f, ""), startVictim(f, "a secret of a good length")
	for i := range methods {
		f.Add(uint16(i), byte(0), []byte("\xff\xff\xff"))
		for _, values := range []byte{1, 3, 4, 5, 9, 10} { // a field once, with that value
			f.Add(uint16(i), byte(1), bytes.Repeat([]byte{1, values, values}, 20))
		}
		f.Add(uint16(i), byte(2), bytes.Repeat([]byte{3, 7, 14}, 20))
		f.Add(uint16(i), byte(4), bytes.Repeat([]byte{2, 5, 4, 1}, 20))
	}
	f.Fuzz(func(t *testing.T, which uint16, way byte, drawn []byte) {
		method := methods[int(which)%len(methods)]
		name := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
		message := drawn
		if way&3 != 0 {
			message = (&wilderness{drawn}).message(method.Input(), 3)
		}
		v, conn := open, open.plain
		switch way >> 2 & 3 {
		case 1:
			v, conn = closed, closed.plain
		case 2:
			v, conn = closed, closed.keyed
		}
		after := fmt.Sprintf("%s of %.100x", name, message)
		ctx, cancel := context.WithTimeout(t.Context(), wildFor)
		defer cancel()
		if err := call(ctx, conn, name, message, method); status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "connection") {
			t.Logf("%s: %v", after, err) // alive says whether the node is
		}
		v.alive(t, after)
	})
}

// FuzzEveryRoute sends every route of the JSON API, and the debug pages, bodies and paths of anything.
func FuzzEveryRoute(f *testing.F) {
	v := startVictim(f, "")
	routes := []string{"/v1/check", "/v1/extend", "/v1/return", "/v1/limits", "/v1/buckets/demo/", "/v1/buckets/", "/debug/ring", "/debug/actors", "/debug/buckets/demo/", "/readyz", "/", "/v1/hold", "/v1/settle", "/v1/fill", "/v1/overrides", "/console/keys", "/console/try", "/console/sign-in", "/console/me"}
	verbs := []string{http.MethodPost, http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodHead, "BREW"}
	for i := range routes {
		for _, body := range []string{
			"", "{", `{"key":"\ud800","limits":["demo"],"cost":-1}`, `{"key":"k","limits":[{"name":"a","capacity":1e400,"refill":"1/0s"}]}`,
			`{"key":"k","receipts":[{}]}`, `{"hold":"AQ","cost":1}`, `{"key":"k","limits":["demo"],"for":"60s"}`, "\xff\xfe", strings.Repeat("[", 10_000), `{"key":"k","limits":["demo"],"cost":18446744073709551616}`,
		} {
			f.Add(byte(i), byte(0), "\xff/%00", body)
			f.Add(byte(i), byte(2), "", body)
		}
	}
	f.Fuzz(func(t *testing.T, route, verb byte, path, body string) {
		u := url.URL{Scheme: "http", Host: v.HTTPAddr(), Path: routes[int(route)%len(routes)] + path}
		r, err := http.NewRequestWithContext(t.Context(), verbs[int(verb)%len(verbs)], u.String(), strings.NewReader(body))
		if err != nil {
			t.Skip(err)
		}
		response, err := v.http.Do(r)
		if err != nil {
			t.Fatalf("%s %s: %v", r.Method, u.String(), err)
		}
		_, _ = io.Copy(io.Discard, response.Body) // whatever it says
		_ = response.Body.Close()                 // it was only read
		if response.StatusCode == http.StatusInternalServerError {
			t.Errorf("%s %s with %.100q is %d", r.Method, u.String(), body, response.StatusCode)
		}
		v.alive(t, fmt.Sprintf("%s %s with %.100q", r.Method, u.String(), body))
	})
}
