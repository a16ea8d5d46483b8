// Package gubernatorpb is the wire of gubernator: its messages, generated, and how many items of a request are read.
package gubernatorpb

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// MaxItems is how many items a request may have.
const MaxItems = 1000

// itemsField is the number of the field requests.
const itemsField = 1

// UnmarshalWire reads m as proto.Unmarshal does, but no more than one item above MaxItems. An item takes two bytes to send and a hundred
// to keep, so a message of the largest size would otherwise take as much memory as a small machine has.
func (x *GetRateLimitsReq) UnmarshalWire(data []byte) error {
	items, at := 0, 0
	for at < len(data) && items <= MaxItems {
		number, _, n := protowire.ConsumeField(data[at:])
		if n < 0 {
			return protowire.ParseError(n)
		}
		if at += n; number == itemsField {
			items++
		}
	}
	return proto.Unmarshal(data[:at], x)
}
