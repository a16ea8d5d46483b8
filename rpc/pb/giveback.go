package pb

import (
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A ReturnIn is a ReturnRequest as it arrives. It reads itself, as checks do: of a message of 8 MiB with nothing but empty
// receipts the generated types would make a gigabyte, before the server could count them.
type ReturnIn struct {
	Key string
	// Receipts are what is given back, without what they have spent again, which their owner knows. Nil when they are more than
	// limit.MaxReturn.
	Receipts []limit.Receipt
	// Len is how many there are in the message.
	Len int
	// Wrong is a *limit.FieldError about the first receipt that has no form in actor/limit, nil if there is none.
	Wrong error
}

// UnmarshalWire reads m. What it refuses, protobuf would refuse too.
func (m *ReturnIn) UnmarshalWire(data []byte) error {
	r := newReader(data)
	*m = ReturnIn{Len: r.count(tagReceipts)}
	if m.Len > 0 && m.Len <= limit.MaxReturn {
		m.Receipts = make([]limit.Receipt, 0, m.Len)
	}
	for end := len(data); r.at < end; {
		switch tag := r.varint(end); {
		case tag == tagReturnKey:
			m.Key = r.string(end)
		case tag == tagReceipts && m.Receipts != nil:
			m.take(&r, r.enter(end))
		default:
			r.skip(tag, end)
		}
	}
	return r.err()
}

// take reads one receipt.
func (m *ReturnIn) take(r *reader, end int) {
	receipt, owner := r.receipt(end)
	id, err := decodeOwner([]byte(owner))
	if err != nil && m.Wrong == nil {
		m.Wrong = within(fmt.Sprintf("receipts[%d]", len(m.Receipts)), err)
	}
	receipt.Owner = id
	m.Receipts = append(m.Receipts, receipt)
}

// receipt reads a Receipt, all but the owner, whose bytes it returns.
func (r *reader) receipt(end int) (receipt limit.Receipt, owner string) {
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagReceiptLimit:
			receipt.Limit = r.string(end)
		case tagReceiptGeneration:
			receipt.Generation = int64(r.varint(end))
		case tagSpan:
			r.span(&receipt.Span, r.enter(end))
		case tagOwner:
			owner = r.string(end)
		case tagSerial:
			receipt.Serial = r.varint(end)
		case tagPermit:
			receipt.Permit = r.varint(end) != 0
		case tagReturnFrom:
			receipt.From = int64(r.varint(end))
		default:
			r.skip(tag, end)
		}
	}
	return receipt, owner
}

func (r *reader) span(s *limit.Span, end int) {
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagStart:
			s.Start = int64(r.varint(end))
		case tagEnd:
			s.End = int64(r.varint(end))
		default:
			r.skip(tag, end)
		}
	}
}
