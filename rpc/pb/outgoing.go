package pb

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The messages that answer checks are written straight into bytes, without values of the generated types between. The
// bytes are those that protobuf would write for what [EncodeResult] and [EncodeDecision] make, as a property test makes
// sure.

// A CheckOut is a CheckResponse as it leaves.
type CheckOut struct {
	Decision limit.Decision
}

// usual is about how many bytes one decision takes that says what one limit says.
const usual = 64

// WireRoom is about how many bytes m takes.
func (*CheckOut) WireRoom() int { return usual }

// AppendWire appends m to b.
func (m *CheckOut) AppendWire(b []byte) ([]byte, error) {
	b, from := begin(b, 1)
	return end(appendDecision(b, m.Decision), from), nil
}

// A BatchOut is a CheckBatchResponse as it leaves.
type BatchOut struct {
	Results []limit.Result
}

// WireRoom is about how many bytes m takes.
func (m *BatchOut) WireRoom() int { return len(m.Results) * usual }

// AppendWire appends m to b. The error is protobuf's.
func (m *BatchOut) AppendWire(b []byte) ([]byte, error) {
	for i := range m.Results {
		var from int
		var err error
		b, from = begin(b, 1)
		if b, err = appendResult(b, &m.Results[i]); err != nil {
			return nil, err
		}
		b = end(b, from)
	}
	return b, nil
}

// An Answer is a StreamResult as it leaves.
type Answer struct {
	ID     uint64 // of the request
	Result limit.Result
}

// A StreamOut is a CheckStreamResponse as it leaves.
type StreamOut struct {
	Answers []*Answer
}

// WireRoom is about how many bytes m takes.
func (m *StreamOut) WireRoom() int { return len(m.Answers) * usual }

// AppendWire appends m to b. The error is protobuf's.
func (m *StreamOut) AppendWire(b []byte) ([]byte, error) {
	for _, a := range m.Answers {
		var answer, result int
		var err error
		b, answer = begin(b, 1)
		b = appendNumber(b, 1, a.ID)
		b, result = begin(b, 2)
		if b, err = appendResult(b, &a.Result); err != nil {
			return nil, err
		}
		b = end(end(b, result), answer)
	}
	return b, nil
}

// appendResult appends the fields of a CheckResult.
func appendResult(b []byte, r *limit.Result) ([]byte, error) {
	if r.Err == nil {
		b, from := begin(b, 1)
		return end(appendDecision(b, r.Decision), from), nil
	}
	b, from := begin(b, 2)
	b, err := proto.MarshalOptions{}.MarshalAppend(b, EncodeError(r.Err).Proto())
	if err != nil {
		return nil, err
	}
	return end(b, from), nil
}

// appendDecision appends the fields of a Decision.
func appendDecision(b []byte, d limit.Decision) []byte {
	b = appendTrue(b, 1, d.Allowed)
	var from int
	for i := range d.Limits {
		o := &d.Limits[i]
		b, from = begin(b, 2)
		b = appendText(b, 1, o.Name)
		b = appendTrue(b, 2, o.Allowed)
		b = appendTrue(b, 3, o.Never)
		b = appendNumber(b, 4, uint64(o.Limit))
		b = appendNumber(b, 5, uint64(o.Remaining))
		b = appendNumber(b, 6, uint64(o.RetryAfter))
		b = appendNumber(b, 7, uint64(o.ResetAfter))
		b = end(b, from)
	}
	for i := range d.Receipts {
		b, from = begin(b, 3)
		b = end(appendReceipt(b, &d.Receipts[i]), from)
	}
	return b
}

// appendReceipt appends the fields of a Receipt.
func appendReceipt(b []byte, r *limit.Receipt) []byte {
	b = appendText(b, 1, r.Limit)
	b = appendNumber(b, 2, uint64(r.Generation))
	b = appendSpan(b, 3, r.Span)
	b = append(b, 4<<3|byte(protowire.BytesType), byte(len(r.Owner)))
	b = append(b, r.Owner[:]...)
	b = appendNumber(b, 5, r.Serial)
	for _, s := range r.Reuses {
		b = appendSpan(b, 6, s)
	}
	return b
}

func appendSpan(b []byte, field byte, s limit.Span) []byte {
	b, from := begin(b, field)
	b = appendNumber(b, 1, uint64(s.Start))
	b = appendNumber(b, 2, uint64(s.End))
	return end(b, from)
}

// The functions below write one field each. Its number is below 16, so its tag is one byte; what has the zero value is
// left out.

func appendNumber(b []byte, field byte, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, field<<3|byte(protowire.VarintType)), v)
}

func appendTrue(b []byte, field byte, v bool) []byte {
	if !v {
		return b
	}
	return append(b, field<<3|byte(protowire.VarintType), 1)
}

func appendText(b []byte, field byte, s string) []byte {
	if s == "" {
		return b
	}
	b = protowire.AppendVarint(append(b, field<<3|byte(protowire.BytesType)), uint64(len(s)))
	return append(b, s...)
}

// begin starts a message that is a field, and returns where its own fields begin. Its length is left open: one byte is
// enough for almost all of them.
func begin(b []byte, field byte) (_ []byte, from int) {
	b = append(b, field<<3|byte(protowire.BytesType), 0)
	return b, len(b)
}

// end writes the length of the message that begins there. Should it need more than a byte, the message makes room.
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
