package pb

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// The messages with which an owner reserves at another node's replica, and those that answer, are read and written
// without values of the generated types, as those of checks are: there is one for every batch that an owner syncs.

// MaxReservations is how many reservations one message may hold.
const MaxReservations = 1000

// errPartition means that a reservation names a partition that no cluster has.
var errPartition = errors.New("reservation: the partition is above 65,535")

// errLedger means that a reservation brings more than an owner ever writes.
var errLedger = fmt.Errorf("reservation: a ledger has more than %d bytes", register.MaxLedger)

// A ReserveIn is a ReserveRequest as it arrives.
type ReserveIn struct {
	ID uint64
	// Now is the owner's clock.
	Now int64
	// Writer is the owner's name, as it was sent: of whatever length.
	Writer string
	// Reservations have Now and, if it has 16 bytes, Writer in them; nil when there are more than MaxReservations.
	Reservations []register.Reservation
	// Len is how many there are in the message.
	Len int
}

// UnmarshalWire reads m. What it refuses, protobuf would refuse too, but for a partition above 65,535 and a
// ledger above [register.MaxLedger]. The keys of all
// reservations are pieces of one copy of the message.
func (m *ReserveIn) UnmarshalWire(data []byte) error {
	r := newReader(data)
	m.Len = r.count(tagReservations)
	few := m.Len <= MaxReservations
	if few {
		m.Reservations = make([]register.Reservation, m.Len)
	}
	var odd error
	for i, end := 0, len(data); r.at < end; {
		switch tag := r.varint(end); tag {
		case tagReserveID:
			m.ID = r.varint(end)
		case tagReserveNow:
			m.Now = int64(r.varint(end))
		case tagReserveWriter:
			m.Writer = r.string(end)
		case tagReservations:
			var passed register.Reservation
			into := &passed
			if few {
				into = &m.Reservations[i]
				i++
			}
			odd = cmp.Or(r.reservation(into, r.enter(end)), odd)
		default:
			r.skip(tag, end)
		}
	}
	if err := r.err(); err != nil {
		return err
	}
	if odd != nil {
		return odd
	}
	m.stamp()
	return nil
}

// stamp puts what the reservations have in common into each.
func (m *ReserveIn) stamp() {
	var writer register.Writer
	if len(m.Writer) == len(writer) {
		copy(writer[:], m.Writer)
	}
	for i := range m.Reservations {
		m.Reservations[i].Now, m.Reservations[i].Writer = m.Now, writer
	}
}

// reservation reads a Reservation into m, and says what of it does not fit.
func (r *reader) reservation(m *register.Reservation, end int) error {
	var wide, large bool // the last one of a field counts, and of a ledger and a difference
	for r.at < end {
		switch tag := r.varint(end); tag {
		case tagSeq:
			m.Seq = r.varint(end)
		case tagEpoch:
			m.Epoch = r.varint(end)
		case tagPartition:
			p := uint32(r.varint(end))
			m.Partition, wide = ring.Partition(p), p > math.MaxUint16
		case tagOfKey:
			m.Key = r.string(end)
		case tagOfLimit:
			m.Limit = r.string(end)
		case tagGeneration:
			m.Generation = int64(r.varint(end))
		case tagFrom:
			m.From = int64(r.varint(end))
		case tagTo:
			m.To = int64(r.varint(end))
		case tagReach:
			m.Reach = int64(r.varint(end))
		case tagLedger:
			ledger := r.string(end)
			if large = len(ledger) > register.MaxLedger; !large {
				m.Ledger = []byte(ledger)
			}
		case tagDifference:
			difference := r.string(end)
			if large = len(difference) > register.MaxLedger; !large {
				m.Difference = []byte(difference)
			}
		case tagOfInline:
			m.Inline = r.varint(end) != 0
		case tagLead:
			m.Lead = int64(r.varint(end))
		case tagExpire:
			m.Expire = int64(r.varint(end))
		case tagClaim:
			m.Claim = r.varint(end) != 0
		case tagTraceOf:
			m.Trace = r.string(end)
		default:
			r.skip(tag, end)
		}
	}
	switch {
	case wide:
		return errPartition
	case large:
		return errLedger
	}
	return nil
}

// A ReserveOut is a ReserveRequest as it leaves.
type ReserveOut struct {
	ID     uint64
	Now    int64
	Writer register.Writer
	// Reservations are those of the message, in their order, wherever they lie. What they say of Now and Writer is left
	// out.
	Reservations [][]register.Reservation
	// Difference, if not nil, says what is sent in place of the ledger of a reservation; nil for the whole.
	Difference func(*register.Reservation) []byte
}

// usualReservation is about how many bytes a reservation takes without its texts.
const usualReservation = 64

// WireRoom is about how many bytes m takes.
func (m *ReserveOut) WireRoom() int {
	room := usualReservation
	for _, rs := range m.Reservations {
		for i := range rs {
			room += ReservationRoom(&rs[i])
		}
	}
	return room
}

// claimRoom is what a claim counts with in a message. Of those that one message has, few have a ledger that is longer.
const claimRoom = 16 << 10

// ReservationRoom is about how many bytes a reservation takes in a message, or its answer in the other direction.
func ReservationRoom(m *register.Reservation) int {
	room := usualReservation + len(m.Key) + len(m.Limit) + len(m.Ledger) + len(m.Trace)
	if m.Claim {
		room += claimRoom
	}
	return room
}

// AppendWire appends m to b.
func (m *ReserveOut) AppendWire(b []byte) ([]byte, error) {
	b = appendNumber(b, tagReserveID, m.ID)
	b = appendNumber(b, tagReserveNow, uint64(m.Now))
	b = appendBytes(b, tagReserveWriter, m.Writer[:])
	for _, rs := range m.Reservations {
		for i := range rs {
			var from int
			b, from = begin(b, tagReservations)
			b = end(m.appendReservation(b, &rs[i]), from)
		}
	}
	return b, nil
}

func (m *ReserveOut) appendReservation(b []byte, r *register.Reservation) []byte {
	b = appendNumber(b, tagSeq, r.Seq)
	b = appendNumber(b, tagEpoch, r.Epoch)
	b = appendNumber(b, tagPartition, uint64(r.Partition))
	b = appendText(b, tagOfKey, r.Key)
	b = appendText(b, tagOfLimit, r.Limit)
	b = appendNumber(b, tagGeneration, uint64(r.Generation))
	b = appendNumber(b, tagFrom, uint64(r.From))
	b = appendNumber(b, tagTo, uint64(r.To))
	b = appendNumber(b, tagReach, uint64(r.Reach))
	ledger, difference := r.Ledger, []byte(nil)
	if m.Difference != nil && len(ledger) > 0 {
		difference = m.Difference(r)
	}
	if len(difference) > 0 {
		ledger = nil
	}
	b = appendBytes(b, tagLedger, ledger)
	b = appendTrue(b, tagOfInline, r.Inline)
	b = appendNumber(b, tagLead, uint64(r.Lead))
	b = appendNumber(b, tagExpire, uint64(r.Expire))
	b = appendTrue(b, tagClaim, r.Claim)
	b = appendBytes(b, tagDifference, difference)
	return appendLong(b, tagTraceOf, r.Trace)
}
