package limit

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// ErrLedger means that stored bytes are no ledger.
var ErrLedger = errors.New("the stored ledger cannot be read")

// The layout of a ledger. Integers are unsigned varints unless noted. The entries are sorted by time; the time of the first is
// counted from the Unix epoch.
//
//	┌──────────┬────────┬───────┬───────┐ ┌───────────────────────────┬─────────────────────────────────┐
//	│ layout=1 │ writer │ reset │ count │ │ time since the one before │ 4 · amount + 1 if it is the     │ …
//	│ 1 byte   │ 16     │       │       │ │                           │ writer's + 2 if 8 bytes of id   │
//	└──────────┴────────┴───────┴───────┘ └───────────────────────────┤ follow                          │
//	                                                                  └─────────────────────────────────┘
//
// A ledger that lists holds has layout 2, and behind the entries the numbers of holds, see [HoldNumbers], and the holds, sorted likewise:
//
//	┌────────┬──────┬────────┬───────┐ ┌────────┬─────────┬───────────────────────────┬────────┬──────┬──────────────────────────┐
//	│ secret │ last │ unsure │ count │ │ flags  │ id      │ time since the one before │ amount │ used │ how long it lasts, as a  │ …
//	│ 16     │      │        │       │ │ 1 byte │ 8 bytes │                           │        │      │ varint that has a sign   │
//	└────────┴──────┴────────┴───────┘ └────────┴─────────┴───────────────────────────┴────────┴──────┴──────────────────────────┘
//
// That of a bucket has layout 3, and with each hold the least that the bucket had to refill since, as a varint that has a sign, counted
// from that of the hold before: what comes back changes it for all holds at once, by the same amount.
//
// The rest, up to the end, are the numbers of holds that are listed no more and came to another end than a settlement: each as its distance
// from the one before, the first from unsure. A ledger without such holds has nothing there.
const (
	ledgerLayout      = 1
	ledgerLayoutHolds = 2
	ledgerLayoutLows  = 3
)

const (
	entryMine = 1 << iota
	entryID
)

// Append appends the ledger to dst as the owner called writer stores it. It is never empty.
func (l *Ledger) Append(dst []byte, writer OwnerID) []byte {
	l.prune()
	dst = slices.Grow(dst, l.encoded())
	layout := byte(ledgerLayout)
	switch {
	case len(l.holds) > 0 && l.queue != nil:
		layout = ledgerLayoutLows
	case len(l.holds) > 0:
		layout = ledgerLayoutHolds
	}
	dst = append(append(dst, layout), writer[:]...)
	dst = binary.AppendUvarint(dst, uint64(l.reset))
	dst = binary.AppendUvarint(dst, uint64(len(l.entries)))
	before := int64(0)
	for i := range l.entries {
		e := &l.entries[i]
		dst = binary.AppendUvarint(dst, uint64(e.At-before))
		before = e.At
		flags := uint64(e.Amount) << 2
		if e.Mine {
			flags |= entryMine
		}
		if e.ID != 0 {
			flags |= entryID
		}
		dst = binary.AppendUvarint(dst, flags)
		if e.ID != 0 {
			dst = binary.BigEndian.AppendUint64(dst, e.ID)
		}
	}
	if layout != ledgerLayout {
		dst = l.numbers.appendOthers(l.holds.append(l.numbers.append(dst), layout == ledgerLayoutLows))
	}
	return dst
}

// encoded is how many bytes Append appends; of a ledger that lists holds, no fewer.
func (l *Ledger) encoded() int {
	n := l.holds.encoded() + binary.MaxVarintLen64*len(l.numbers.others) + 1 + len(OwnerID{}) + varintLen(uint64(l.reset)) + varintLen(uint64(len(l.entries)))
	before := int64(0)
	for i := range l.entries {
		e := &l.entries[i]
		n += varintLen(uint64(e.At-before)) + varintLen(uint64(e.Amount)<<2)
		if before = e.At; e.ID != 0 {
			n += 8
		}
	}
	return n
}

// Read replaces the ledger by a stored one, or by an empty one if that is nil, as the owner called reader reads it: what another one has
// entered is not its own. The error is ErrLedger.
func (l *Ledger) Read(stored []byte, reader OwnerID) error {
	l.entries, l.holds, l.numbers, l.reset = l.entries[:0], l.holds[:0], HoldNumbers{}, 0
	l.forget()
	if len(stored) == 0 {
		return nil
	}
	d := byteReader{stored}
	layout, writer, reset, count := d.bytes(1), d.bytes(len(reader)), d.number(), d.number()
	if len(layout) < 1 || layout[0] < ledgerLayout || layout[0] > ledgerLayoutLows || writer == nil || reset > math.MaxInt64 || count > uint64(len(stored))/2 || l.queue != nil && count > 1 {
		return ErrLedger
	}
	l.entries = slices.Grow(l.entries, int(count)+1) // and one that an owner enters then
	l.reset = int64(reset)
	at := int64(0)
	for range count {
		since, flags := d.number(), d.number()
		amount := flags >> 2
		if amount > maxEntry || since > uint64(math.MaxInt64-at) {
			return ErrLedger
		}
		at += int64(since)
		e := Entry{At: at, Amount: int64(amount), Mine: flags&entryMine != 0 && OwnerID(writer) == reader}
		if flags&entryID != 0 {
			id := d.bytes(8)
			if id == nil {
				return ErrLedger
			}
			e.ID = binary.BigEndian.Uint64(id)
		}
		l.add(e)
	}
	if layout[0] != ledgerLayout {
		if !l.numbers.read(&d) || !l.holds.read(&d, OwnerID(writer) == reader, layout[0] == ledgerLayoutLows) || !l.numbers.readOthers(&d) {
			return ErrLedger
		}
	}
	if len(d.left) > 0 {
		return ErrLedger
	}
	return nil
}

// add appends an entry that was read, to the one before if both are the same to the reader.
func (l *Ledger) add(e Entry) {
	for i := len(l.entries) - 1; i >= 0 && l.entries[i].At == e.At; i-- {
		if b := &l.entries[i]; b.ID == 0 && e.ID == 0 && b.Mine == e.Mine {
			b.Amount += e.Amount
			return
		}
	}
	l.entries = append(l.entries, e)
}
