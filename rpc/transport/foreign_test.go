package transport

import (
	"bytes"
	"strings"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// A message of Envoy's protocols is read like any other, and refused before it is read where it would take many times what it took to send it.
func TestForeignMessages(t *testing.T) {
	whole := &ratelimitv3.RateLimitRequest{Domain: "d"}
	for range 1000 {
		whole.Descriptors = append(whole.Descriptors, &commonv3.RateLimitDescriptor{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "k", Value: "v"}, {Key: "k2", Value: "v2"}}})
	}
	usual, err := proto.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	deep := []byte{}
	for range 3 { // attributes.request.http.header_map, with lines that are empty
		deep = append([]byte{0x0a, byte(len(deep))}, deep...)
	}
	for what, c := range map[string]struct {
		data []byte
		into proto.Message
		says string
	}{
		"a thousand descriptors":  {usual, new(ratelimitv3.RateLimitRequest), ""},
		"descriptors without end": {bytes.Repeat([]byte{0x12, 0}, 4<<20), new(ratelimitv3.RateLimitRequest), "more than 400000 fields"},
		"entries without end":     {nested(0x12, bytes.Repeat([]byte{0x0a, 0}, 500_000)), new(ratelimitv3.RateLimitRequest), "more than 400000 fields"},
		"unknown fields":          {bytes.Repeat([]byte{0x98, 0x06, 0}, 500_000), new(authv3.CheckRequest), "more than 400000 fields"},
		"half a field":            {[]byte{0x12, 5, 1}, new(ratelimitv3.RateLimitRequest), "unexpected EOF"},
		"an attribute":            {deep, new(authv3.CheckRequest), ""},
	} {
		err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(c.data)}, c.into)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", what, err, c.says)
		}
	}
	got := new(ratelimitv3.RateLimitRequest)
	if err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(usual)}, got); err != nil || !proto.Equal(got, whole) {
		t.Errorf("it is read as %d descriptors, %v", len(got.GetDescriptors()), err)
	}
}

// nested is a field with a message in it.
func nested(tag byte, message []byte) []byte {
	length := len(message)
	b := []byte{tag}
	for ; length >= 0x80; length >>= 7 {
		b = append(b, byte(length)|0x80)
	}
	return append(append(b, byte(length)), message...)
}

// How many fields a message of Envoy's has is known once it is read: a stream counts what they take, which is many times their bytes.
func TestFieldsOfForeignMessages(t *testing.T) {
	data, err := proto.Marshal(&ratelimitv3.RateLimitRequest{Domain: "d", Descriptors: []*commonv3.RateLimitDescriptor{{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "k"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	r := &Received{Message: new(ratelimitv3.RateLimitRequest), Ctx: t.Context()}
	if err := NewCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, r); err != nil || r.fields != 4 || r.bytes != len(data) {
		t.Errorf("%d fields, %d bytes, %v", r.fields, r.bytes, err)
	}
}
