// Package gubernatorpb is the wire of gubernator: its messages, generated, and how many items of a request are read.
package gubernatorpb

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// MaxItems is how many items a request may have.
const MaxItems = 1000

// The numbers of the field requests, and of the field metadata of an item.
const (
	itemsField    = 1
	metadataField = 9
)

// UnmarshalWire reads m as proto.Unmarshal does, but no more than one item above MaxItems, and no metadata, which nothing reads. An item, or an entry of metadata, takes two
// bytes to send and a hundred to keep, so a message of the largest size would otherwise take as much memory as a small machine has.
func (x *GetRateLimitsReq) UnmarshalWire(data []byte) error {
	x.Reset()
	for items := 0; len(data) > 0 && items <= MaxItems; {
		number, kind, n := protowire.ConsumeField(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if number == itemsField && kind == protowire.BytesType {
			items++
			_, _, tag := protowire.ConsumeTag(data)
			item, _ := protowire.ConsumeBytes(data[tag:n])
			it := new(RateLimitReq)
			if err := readItem(item, it); err != nil {
				return err
			}
			x.Requests = append(x.Requests, it)
		}
		data = data[n:]
	}
	return nil
}

// readItem reads an item, but for its metadata.
func readItem(data []byte, it *RateLimitReq) error {
	kept := data[:0:0]
	for len(data) > 0 {
		number, _, n := protowire.ConsumeField(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if number != metadataField {
			kept = append(kept, data[:n]...)
		}
		data = data[n:]
	}
	return proto.Unmarshal(kept, it)
}
