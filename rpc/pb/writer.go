package pb

import "google.golang.org/protobuf/encoding/protowire"

// usual is about how many bytes one decision takes, or the answer to a settlement, that says what one limit says.
const usual = 64

// usualHold is about how many bytes the text of a hold takes.
const usualHold = 128

// usualLease is about how many bytes a lease takes.
const usualLease = 112

// The functions of this file write one field each. A field with the zero value is left out.

func appendNumber(b []byte, tag byte, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, tag), v)
}

func appendTrue(b []byte, tag byte, v bool) []byte {
	if !v {
		return b
	}
	return append(b, tag, 1)
}

func appendBytes(b []byte, tag byte, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	return protowire.AppendBytes(append(b, tag), v)
}

func appendText(b []byte, tag byte, s string) []byte {
	if s == "" {
		return b
	}
	b = protowire.AppendVarint(append(b, tag), uint64(len(s)))
	return append(b, s...)
}

// appendLong is appendText for a tag that may be longer than a byte.
func appendLong(b []byte, tag uint64, s string) []byte {
	if s == "" {
		return b
	}
	b = protowire.AppendVarint(protowire.AppendVarint(b, tag), uint64(len(s)))
	return append(b, s...)
}

// begin starts a message that is a field, and returns where the fields of that message begin. It leaves one byte for the length,
// which is enough for almost all messages.
func begin(b []byte, tag byte) (_ []byte, from int) {
	b = append(b, tag, 0)
	return b, len(b)
}

// end writes the length of the message whose fields begin at from. If the length needs more than a byte, it moves the fields.
func end(b []byte, from int) []byte {
	n := uint64(len(b) - from)
	if n < 0x80 {
		b[from-1] = byte(n)
		return b
	}
	var length [10]byte
	size := protowire.AppendVarint(length[:0], n)
	b = append(b, size[1:]...) // any bytes will do
	copy(b[from-1+len(size):], b[from:])
	copy(b[from-1:], size)
	return b
}
