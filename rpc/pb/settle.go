package pb

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
)

// EncodeSettlement is s as a message.
func EncodeSettlement(s limit.Settlement) *SettleRequest {
	return &SettleRequest{Hold: textOf(&s.Hold), Used: s.Used, Open: s.Open, ForNs: int64(s.For)}
}

// DecodeSettlement reads a message. Its error is a *limit.FieldError, if the hold is not one as it was answered.
func DecodeSettlement(m *SettleRequest) (limit.Settlement, error) {
	h, err := readHold(m.GetHold(), nil)
	if err != nil {
		return limit.Settlement{}, err
	}
	return limit.Settlement{Hold: h, Used: m.GetUsed(), Open: m.GetOpen(), For: time.Duration(m.GetForNs())}, nil
}

// EncodeSettled is s as a message.
func EncodeSettled(s limit.Settled) *SettleResponse {
	out := &SettleResponse{Charged: s.Charged, Returned: s.Returned, Debt: s.Debt, UntilNs: s.Until, Limits: make([]*SettledLimit, len(s.Limits))}
	for i := range s.Limits {
		l := &s.Limits[i]
		out.Limits[i] = &SettledLimit{
			Name: l.Name, State: string(l.State), Charged: l.Charged, Returned: l.Returned, Debt: l.Debt, UntilNs: l.Until,
		}
	}
	return out
}

// DecodeSettled reads a message.
func DecodeSettled(m *SettleResponse) limit.Settled {
	s := limit.Settled{Charged: m.GetCharged(), Returned: m.GetReturned(), Debt: m.GetDebt(), Until: m.GetUntilNs()}
	for _, l := range m.GetLimits() {
		s.Limits = append(s.Limits, limit.SettledLimit{
			Name: l.GetName(), State: limit.HoldState(l.GetState()), Charged: l.GetCharged(), Returned: l.GetReturned(), Debt: l.GetDebt(), Until: l.GetUntilNs(),
		})
	}
	return s
}

// A SettleIn is a SettleRequest as it arrives.
type SettleIn struct {
	Settlement limit.Settlement
	// Wrong is why the hold cannot be read, a *limit.FieldError, if so.
	Wrong error
}

// UnmarshalWire reads m. What it refuses, protobuf would refuse too.
func (m *SettleIn) UnmarshalWire(data []byte) error {
	r := newReader(data)
	var text string
	m.Settlement = limit.Settlement{}
	r.settlement(&text, &m.Settlement, len(data))
	if r.at != failed {
		m.Settlement.Hold, m.Wrong = limit.ParseHold(text)
	}
	return r.err()
}

// A SettlementIn is a StreamSettlement as it arrives.
type SettlementIn struct {
	ID uint64 // which its answer repeats
	SettleIn
}

// settlements reads the n settlements of a message, and keeps them if it is to; else they are only looked through.
func (r *reader) settlements(n int, keep bool) (all []SettlementIn) {
	var (
		holds  limit.HoldReader
		held   []limit.Held // room for the usual single limit of each
		unkept SettlementIn
	)
	if keep {
		all, held = make([]SettlementIn, 0, n), make([]limit.Held, n)
	}
	for end := len(r.data); r.at < end; {
		if tag := r.varint(end); tag != tagSettlements {
			r.skip(tag, end)
			continue
		}
		var text string
		in, i := &unkept, len(all)
		if keep {
			all = append(all, SettlementIn{})
			in = &all[i]
		}
		r.numberedSettlement(&in.ID, &text, &in.Settlement, r.enter(end))
		if keep && r.at != failed {
			in.Settlement.Hold, in.Wrong = holds.Read(text, held[i:i:i+1])
		}
	}
	return all
}

// numberedSettlement reads a StreamSettlement.
func (r *reader) numberedSettlement(id *uint64, text *string, s *limit.Settlement, end int) {
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagSettlementID:
			*id = r.varint(end)
		case tagSettlement:
			r.settlement(text, s, r.enter(end))
		default:
			r.skip(tag, end)
		}
	}
}

// settlement reads a SettleRequest into s, all but the hold, whose text it hands over.
func (r *reader) settlement(text *string, s *limit.Settlement, end int) {
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagSettledHold:
			*text = r.string(end)
		case tagUsed:
			s.Used = int64(r.varint(end))
		case tagOpen:
			s.Open = r.varint(end) != 0
		case tagForNs:
			s.For = time.Duration(r.varint(end))
		default:
			r.skip(tag, end)
		}
	}
}

// A SettleOut is a SettleResponse as it leaves.
type SettleOut struct {
	Settled limit.Settled
}

// WireRoom is about how many bytes m takes.
func (*SettleOut) WireRoom() int { return usual }

// AppendWire appends m to b.
func (m *SettleOut) AppendWire(b []byte) ([]byte, error) { return appendSettled(b, &m.Settled), nil }

// appendSettled appends the fields of a SettleResponse.
func appendSettled(b []byte, s *limit.Settled) []byte {
	b = appendNumber(b, tagCharged, uint64(s.Charged))
	b = appendNumber(b, tagReturned, uint64(s.Returned))
	b = appendNumber(b, tagDebt, uint64(s.Debt))
	b = appendNumber(b, tagUntil, uint64(s.Until))
	var from int
	for i := range s.Limits {
		l := &s.Limits[i]
		b, from = begin(b, tagSettledLimits)
		b = appendText(b, tagSettledName, l.Name)
		b = appendText(b, tagState, string(l.State))
		b = appendNumber(b, tagLimitCharged, uint64(l.Charged))
		b = appendNumber(b, tagLimitReturned, uint64(l.Returned))
		b = appendNumber(b, tagLimitDebt, uint64(l.Debt))
		b = appendNumber(b, tagLimitUntil, uint64(l.Until))
		b = end(b, from)
	}
	return b
}

// appendSettledAnswer appends the fields of a StreamSettled, all but the id.
func appendSettledAnswer(b []byte, s *limit.Settled, err error) ([]byte, error) {
	if err == nil {
		b, from := begin(b, tagSettledDone)
		return end(appendSettled(b, s), from), nil
	}
	b, from := begin(b, tagSettledError)
	b, err = proto.MarshalOptions{}.MarshalAppend(b, statusOf(err).Proto())
	if err != nil {
		return nil, err
	}
	return end(b, from), nil
}

// DecodeSettledAnswer reads the answer to a settlement of a stream.
func DecodeSettledAnswer(m *StreamSettled) (limit.Settled, error) {
	switch result := m.GetResult().(type) {
	case *StreamSettled_Settled:
		return DecodeSettled(result.Settled), nil
	case *StreamSettled_Error:
		return limit.Settled{}, decodeStatus(result.Error)
	}
	return limit.Settled{}, errNoResult
}
