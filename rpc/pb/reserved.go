package pb

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/jeton-dev/jeton/storage/register"
)

// Nearly every reservation is accepted as it was asked for. The owner knows what such an answer says, so a replica only counts these, and
// writes the other answers with the index of their reservation. Complete puts the two together again.

// A ReservedIn is a ReserveResponse as it arrives.
type ReservedIn struct {
	ID uint64
	// Answers are those that the message has; after Complete, one for each reservation, in their order. A verdict above 255, of which
	// there is none, is read as 255.
	Answers []register.Answer
	// Error says why there are none; empty if there are.
	Error string
	// Accepted is how many reservations were accepted as they were asked for, and have none of the Answers. Skew is that of their answers.
	Accepted uint32
	Skew     int64

	indexes []uint32 // of the reservations of Answers; 0 for what is beyond the end
}

// UnmarshalWire reads m. What it refuses, protobuf would refuse too.
func (m *ReservedIn) UnmarshalWire(data []byte) error {
	r := reader{data: data} // the only texts there are, errors and ledgers, are copied by themselves
	n := r.count(tagAnswers)
	if n > 0 {
		m.Answers = make([]register.Answer, 0, n)
	}
	for end := len(data); r.at < end; {
		switch tag := r.varint(end); tag {
		case tagReservedID:
			m.ID = r.varint(end)
		case tagAnswers:
			a, index := r.answer(r.enter(end))
			if index > 0 {
				if m.indexes == nil {
					m.indexes = make([]uint32, n)
				}
				m.indexes[len(m.Answers)] = index
			}
			m.Answers = append(m.Answers, a)
		case tagReservedError:
			m.Error = string(r.piece(end))
		case tagAccepted:
			m.Accepted = uint32(r.varint(end))
		case tagAcceptedSkew:
			m.Skew = protowire.DecodeZigZag(r.varint(end))
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

func (r *reader) answer(end int) (a register.Answer, index uint32) {
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
		case tagIndex:
			index = uint32(r.varint(end))
		case tagFloored:
			a.Floored = r.varint(end) != 0
		default:
			r.skip(tag, end)
		}
	}
	return a, index
}

// Complete makes Answers those to all reservations of the message that is answered. The error says what does not fit these.
func (m *ReservedIn) Complete(asked [][]register.Reservation) error {
	n := 0
	for _, rs := range asked {
		n += len(rs)
	}
	if sent := int64(m.Accepted) + int64(len(m.Answers)); sent != int64(n) {
		return fmt.Errorf("the node sent %d answers to %d reservations", sent, n)
	}
	if m.Accepted == 0 && m.indexes == nil {
		return nil
	}
	all, told, at := make([]register.Answer, n), 0, 0
	for _, rs := range asked {
		for i := range rs {
			if told < len(m.Answers) && m.index(told) == at {
				all[at] = m.Answers[told]
				told++
			} else {
				answerAsAsked(&all[at], &rs[i], m.Skew)
			}
			at++
		}
	}
	if told < len(m.Answers) {
		return fmt.Errorf("the node sent the answer to reservation %d of %d out of order", m.index(told), n)
	}
	m.Answers, m.Accepted, m.indexes = all, 0, nil
	return nil
}

// index is that of the reservation of an answer that the message has.
func (m *ReservedIn) index(told int) int {
	if m.indexes == nil {
		return 0
	}
	return int(m.indexes[told])
}

// answerAsAsked makes a zero Answer that to a reservation which is accepted as it was asked for.
func answerAsAsked(a *register.Answer, m *register.Reservation, skew int64) {
	a.Verdict, a.Position, a.Generation, a.Epoch, a.Skew = register.Accepted, m.To, m.Generation, m.Epoch, skew
}

// isAsAsked says whether a is what answerAsAsked makes.
func isAsAsked(a *register.Answer, m *register.Reservation, skew int64) bool {
	return a.Verdict == register.Accepted && a.Position == m.To && a.Generation == m.Generation && a.Epoch == m.Epoch && a.Skew == skew &&
		a.Version == 0 && len(a.Ledger) == 0 && !a.Floored
}

// A ReservedOut is a ReserveResponse as it leaves.
type ReservedOut struct {
	ID      uint64
	Answers []register.Answer
	Error   string
	// Asked are the reservations that are answered, if the owner takes a count of those that were accepted as they were asked for; nil
	// if it does not.
	Asked []register.Reservation
}

// usualAnswer is about how many bytes one answer takes.
const usualAnswer = 40

// WireRoom is about how many bytes m takes.
func (m *ReservedOut) WireRoom() int {
	room, skew := usualAnswer+len(m.Error), m.skew()
	for i := range m.Answers {
		if a := &m.Answers[i]; !m.counts(i, skew) {
			room += usualAnswer + len(a.Ledger)
		}
	}
	return room
}

// skew is that of what was accepted: a replica compares the clocks once for a message.
func (m *ReservedOut) skew() int64 {
	for i := range m.Answers {
		if m.Answers[i].Verdict == register.Accepted {
			return m.Answers[i].Skew
		}
	}
	return 0
}

// counts says whether an answer is counted, and not written.
func (m *ReservedOut) counts(i int, skew int64) bool {
	return i < len(m.Asked) && isAsAsked(&m.Answers[i], &m.Asked[i], skew)
}

// AppendWire appends m to b.
func (m *ReservedOut) AppendWire(b []byte) ([]byte, error) {
	b = appendNumber(b, tagReservedID, m.ID)
	accepted, skew := uint64(0), m.skew()
	for i := range m.Answers {
		a := &m.Answers[i]
		if m.counts(i, skew) {
			accepted++
			continue
		}
		var from int
		b, from = begin(b, tagAnswers)
		b = appendNumber(b, tagVerdict, uint64(a.Verdict))
		b = appendNumber(b, tagPosition, uint64(a.Position))
		b = appendNumber(b, tagAnswerGeneration, uint64(a.Generation))
		b = appendNumber(b, tagAnswerEpoch, a.Epoch)
		b = appendNumber(b, tagSkew, uint64(a.Skew))
		b = appendNumber(b, tagVersion, uint64(a.Version))
		b = appendBytes(b, tagAnswerLedger, a.Ledger)
		if len(m.Asked) > 0 {
			b = appendNumber(b, tagIndex, uint64(i))
		}
		if a.Floored {
			b = appendNumber(b, tagFloored, 1)
		}
		b = end(b, from)
	}
	b = appendText(b, tagReservedError, m.Error)
	if accepted > 0 {
		b = appendNumber(b, tagAccepted, accepted)
		b = appendNumber(b, tagAcceptedSkew, protowire.EncodeZigZag(skew))
	}
	return b, nil
}
