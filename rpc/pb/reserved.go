package pb

import (
	"math"

	"github.com/jeton-dev/jeton/storage/register"
)

// A ReservedIn is a ReserveResponse as it arrives.
type ReservedIn struct {
	ID uint64
	// Answers are those of the reservations, in their order. A verdict above 255, of which there is none, is read as 255.
	Answers []register.Answer
	// Error says why there are none; empty if there are.
	Error string
}

// UnmarshalWire reads m. What it refuses, protobuf would refuse too.
func (m *ReservedIn) UnmarshalWire(data []byte) error {
	r := reader{data: data} // the only texts there are, errors and ledgers, are copied by themselves
	if n := r.count(tagAnswers); n > 0 {
		m.Answers = make([]register.Answer, 0, n)
	}
	for end := len(data); r.at < end; {
		switch tag := r.varint(end); tag {
		case tagReservedID:
			m.ID = r.varint(end)
		case tagAnswers:
			m.Answers = append(m.Answers, r.answer(r.enter(end)))
		case tagReservedError:
			m.Error = string(r.piece(end))
		default:
			r.skip(tag, end)
		}
	}
	return r.err()
}

// piece reads bytes, without a copy.
func (r *reader) piece(end int) []byte {
	stop := r.enter(end)
	if stop == failed {
		return nil
	}
	piece := r.data[r.at:stop]
	r.at = stop
	return piece
}

func (r *reader) answer(end int) (a register.Answer) {
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagVerdict:
			a.Verdict = register.Verdict(min(uint32(r.varint(end)), math.MaxUint8))
		case tagPosition:
			a.Position = int64(r.varint(end))
		case tagAnswerGeneration:
			a.Generation = int64(r.varint(end))
		case tagAnswerEpoch:
			a.Epoch = r.varint(end)
		case tagSkew:
			a.Skew = int64(r.varint(end))
		case tagVersion:
			a.Version = int64(r.varint(end))
		case tagAnswerLedger:
			a.Ledger = append([]byte(nil), r.piece(end)...)
		default:
			r.skip(tag, end)
		}
	}
	return a
}

// A ReservedOut is a ReserveResponse as it leaves.
type ReservedOut struct {
	ID      uint64
	Answers []register.Answer
	Error   string
}

// usualAnswer is about how many bytes one answer takes.
const usualAnswer = 40

// WireRoom is about how many bytes m takes.
func (m *ReservedOut) WireRoom() int {
	room := usualAnswer*(1+len(m.Answers)) + len(m.Error)
	for i := range m.Answers {
		room += len(m.Answers[i].Ledger)
	}
	return room
}

// AppendWire appends m to b.
func (m *ReservedOut) AppendWire(b []byte) ([]byte, error) {
	b = appendNumber(b, tagReservedID, m.ID)
	for i := range m.Answers {
		a := &m.Answers[i]
		var from int
		b, from = begin(b, tagAnswers)
		b = appendNumber(b, tagVerdict, uint64(a.Verdict))
		b = appendNumber(b, tagPosition, uint64(a.Position))
		b = appendNumber(b, tagAnswerGeneration, uint64(a.Generation))
		b = appendNumber(b, tagAnswerEpoch, a.Epoch)
		b = appendNumber(b, tagSkew, uint64(a.Skew))
		b = appendNumber(b, tagVersion, uint64(a.Version))
		b = appendBytes(b, tagAnswerLedger, a.Ledger)
		b = end(b, from)
	}
	return appendText(b, tagReservedError, m.Error), nil
}
