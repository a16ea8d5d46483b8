package gubernatorpb

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// FuzzUnmarshalWire compares the reader with protobuf's, which reads all items, their metadata, and what it does not know.
func FuzzUnmarshalWire(f *testing.F) {
	at := int64(5)
	for _, m := range []*GetRateLimitsReq{
		{},
		{Requests: []*RateLimitReq{{}, {Name: "n", UniqueKey: "k", Hits: 1, Metadata: map[string]string{"a": "b"}, CreatedAt: &at}}},
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(append(data, 0x12, 0x01, 'x')) // another field
		f.Add(append(data, 0x0a, 0x05, 'x')) // an item that is cut off
	}
	f.Add(bytes.Repeat([]byte{0x0a, 0}, MaxItems+2))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, want := new(GetRateLimitsReq), new(GetRateLimitsReq)
		err, theirs := got.UnmarshalWire(data), proto.Unmarshal(data, want)
		if n := len(want.GetRequests()); n > MaxItems {
			if err != nil || len(got.GetRequests()) != MaxItems+1 {
				t.Errorf("%d items of %d are read: %v", len(got.GetRequests()), n, err)
			}
			return
		}
		want.ProtoReflect().SetUnknown(nil)
		for _, it := range want.GetRequests() {
			it.Metadata = nil
			it.ProtoReflect().SetUnknown(withoutMetadata(it.ProtoReflect().GetUnknown()))
		}
		if theirs == nil && (err != nil || !proto.Equal(got, want)) { // what is wrong in metadata is not looked at
			t.Errorf("%x is read as %v (%v), and is %v (%v)", data, got, err, want, theirs)
		}
	})
}

// withoutMetadata are fields that protobuf does not know, but for those with the number of metadata, and of another type.
func withoutMetadata(unknown []byte) (rest []byte) {
	for len(unknown) > 0 {
		number, _, n := protowire.ConsumeField(unknown)
		if number != metadataField {
			rest = append(rest, unknown[:n]...)
		}
		unknown = unknown[n:]
	}
	return rest
}

// Metadata without end takes no memory.
func TestMetadataIsNotKept(t *testing.T) {
	item := append([]byte{0x0a, 1, 'n'}, bytes.Repeat([]byte{0x4a, 0}, 1<<20)...)
	data := protowire.AppendBytes([]byte{0x0a}, item)
	m := new(GetRateLimitsReq)
	if err := m.UnmarshalWire(data); err != nil || len(m.GetRequests()) != 1 || m.GetRequests()[0].GetName() != "n" || m.GetRequests()[0].GetMetadata() != nil {
		t.Errorf("%v, %v", m, err)
	}
}
