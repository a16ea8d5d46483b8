package gubernatorpb

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
)

// FuzzUnmarshalWire compares the reader with protobuf's, which reads all items.
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
		if (err == nil) != (theirs == nil) || err == nil && !proto.Equal(got, want) {
			t.Errorf("%x is read as %v (%v), and is %v (%v)", data, got, err, want, theirs)
		}
	})
}
