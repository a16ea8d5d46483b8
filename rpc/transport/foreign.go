package transport

import (
	"errors"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxForeignFields is how many fields a message of another project's protocol may have, with those of the messages in it. Each takes two bytes to send, and a hundred and more
// to keep. A request with a hundred thousand headers is fewer: a door denies it, and a proxy may take an error for leave to let it pass.
const maxForeignFields = 400_000

// errManyFields refuses a message of another project's protocol.
var errManyFields = errors.New("the message has more than 400000 fields: send less at once")

// foreign is a message of another project's protocol. Its type was generated elsewhere, so it cannot bound itself what it reads.
type foreign struct {
	proto.Message

	fields *int // how many it has, once it is read
}

// asForeign is a message as foreign, if it is, which says in fields how many it has.
func asForeign(v any, fields *int) (m foreign, ok bool) {
	p, ok := v.(proto.Message)
	if !ok {
		return foreign{}, false
	}
	name := string(p.ProtoReflect().Descriptor().FullName())
	return foreign{p, fields}, strings.HasPrefix(name, "envoy.") || strings.HasPrefix(name, "kuadrant.")
}

// UnmarshalWire implements incoming.
func (m foreign) UnmarshalWire(data []byte) error {
	left := maxForeignFields
	if err := countFields(m.ProtoReflect().Descriptor(), data, &left); err != nil {
		return err
	}
	*m.fields = maxForeignFields - left
	return proto.Unmarshal(data, m.Message)
}

// countFields takes the fields of a message from left, and those of the messages in it. How deep it goes is bounded by what has a descriptor in the messages of a protocol, of which
// none that a server reads contains itself without end: what is deeper than left allows is refused.
func countFields(of protoreflect.MessageDescriptor, data []byte, left *int) error {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if *left--; *left < 0 {
			return errManyFields
		}
		data = data[n:]
		n = protowire.ConsumeFieldValue(number, kind, data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if field := of.Fields().ByNumber(number); field != nil && field.Message() != nil && kind == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(data)
			if err := countFields(field.Message(), inner, left); err != nil {
				return err
			}
		}
		data = data[n:]
	}
	return nil
}
