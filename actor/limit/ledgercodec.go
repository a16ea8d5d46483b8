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
// That of a bucket has layout 4: in place of the entries, up to where the line is spent, and the price in whose parts of a nanosecond that
// counts. Behind them, if it lists holds, stands what layout 2 has, and with each hold the least that the bucket had to refill since, as a
// varint that has a sign, counted from that of the hold before, and its price where that is another one than that of the hold before:
//
//	┌──────────┬────────┬───────┬─────┬───────┬───┬───┬─────────────────────────┐
//	│ layout=4 │ writer │ reset │ TAT │ parts │ n │ p │ 1 if it is the writer's │ …
//	│ 1 byte   │ 16     │       │     │       │   │   │ 1 byte                  │
//	└──────────┴────────┴───────┴─────┴───────┴───┴───┴─────────────────────────┘
//
// The level before has layout 1 or 3 for it, in tokens, which come back at the refill of whoever reads them: one entry, of what has to come back
// from its time on, and with each hold the least in whole tokens.
//
// The rest, up to the end, are the numbers of holds that are listed no more and came to another end than a settlement: each as its distance
// from the one before, the first from unsure. A ledger without such holds has nothing there.
const (
	ledgerLayout       = 1
	ledgerLayoutHolds  = 2
	ledgerLayoutTokens = 3
	ledgerLayoutTime   = 4
)

const (
	entryMine = 1 << iota
	entryID
)

// Append appends the ledger to dst as the owner called writer stores it. It is never empty.
func (l *Ledger) Append(dst []byte, writer OwnerID) []byte {
	l.prune()
	layout := byte(ledgerLayout)
	switch {
	case l.queue != nil:
		layout = ledgerLayoutTime
	case len(l.holds) > 0:
		layout = ledgerLayoutHolds
	}
	if l.queue != nil {
		l.pruneQueue()
	}
	dst = l.begin(dst, layout, writer)
	if l.queue == nil {
		return l.appendHolds(appendEntries(dst, l.entries), layout)
	}
	before := len(dst)
	if dst = l.appendHolds(l.line.append(dst), layout); len(dst) > MaxLedger {
		l.holds.roundLows() // the parts of a nanosecond are what there is no room for
		dst = l.appendHolds(l.line.append(dst[:before]), layout)
	}
	return dst
}

// AppendInTokens is Append in the form of the level before, which is another one for buckets.
func (l *Ledger) AppendInTokens(dst []byte, writer OwnerID) []byte {
	if l.queue == nil {
		return l.Append(dst, writer)
	}
	l.prune()
	l.pruneQueue()
	layout := byte(ledgerLayout)
	if len(l.holds) > 0 {
		layout = ledgerLayoutTokens
	}
	dst = l.begin(dst, layout, writer)
	return l.appendHolds(appendEntries(dst, l.inTokens()), layout)
}

// lowsOf are those of the ledger's holds in a layout.
func (l *Ledger) lowsOf(layout byte) *lows {
	c := &lows{queue: l.line.each, each: l.line.each}
	switch layout {
	case ledgerLayoutTokens:
		c.form, c.own = lowsInTokens, l.queue.price
	case ledgerLayoutTime:
		c.form = lowsInTime
	}
	return c
}

// begin appends what every layout begins with.
func (l *Ledger) begin(dst []byte, layout byte, writer OwnerID) []byte {
	dst = slices.Grow(dst, l.encoded())
	dst = append(append(dst, layout), writer[:]...)
	return binary.AppendUvarint(dst, uint64(l.reset))
}

func appendEntries(dst []byte, entries []Entry) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(entries)))
	before := int64(0)
	for i := range entries {
		e := &entries[i]
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
	return dst
}

// appendHolds appends the holds, if there are any.
func (l *Ledger) appendHolds(dst []byte, layout byte) []byte {
	if len(l.holds) == 0 {
		return dst
	}
	return l.numbers.appendOthers(l.holds.append(l.numbers.append(dst), l.lowsOf(layout)))
}

// inTokens is the queue as the level before stores it: tokens of the ledger's own limit that come back from a time on. Between whole ones
// it is rounded, so that nothing is given.
func (l *Ledger) inTokens() []Entry {
	if l.line.tat == (Pos{}) {
		return nil
	}
	amount := min(l.queued(l.known()), int64(maxEntry))
	return []Entry{{At: max(0, l.queuedUntil(amount)), Amount: amount, Mine: l.line.mine}}
}

// known is the latest time that the ledger knows of.
func (l *Ledger) known() int64 { return max(l.now, l.line.at) }

// AdaptInTokens is Adapt for a ledger that is stored in tokens: those of a bucket stay as many, whatever the time that they take under the other
// rule.
func (l *Ledger) AdaptInTokens(r *Rule) {
	was := l.queue
	if b, ok := r.counting.(countedBucket); was == nil || !ok || b.price == was.price || l.known() == 0 {
		l.Adapt(r)
		return
	}
	stored, lows := l.lowsOf(ledgerLayoutTokens), make([]int64, len(l.holds))
	for i := range l.holds {
		lows[i] = stored.inTokens(&l.holds[i])
	}
	l.entries = l.inTokens()
	l.Adapt(r)
	l.ofTokens()
	for i := range l.holds {
		l.holds[i].Low, l.holds[i].each = l.queue.length(lows[i]), l.queue.price
	}
}

// encoded is how many bytes Append appends; of a ledger that lists holds, no fewer.
func (l *Ledger) encoded() int {
	n := l.holds.encoded() + binary.MaxVarintLen64*len(l.numbers.others) + 1 + len(OwnerID{}) + varintLen(uint64(l.reset)) + varintLen(uint64(len(l.entries)))
	if l.queue != nil {
		n += 5 * binary.MaxVarintLen64
	}
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
	l.entries, l.holds, l.numbers, l.line, l.reset = l.entries[:0], l.holds[:0], HoldNumbers{}, queue{}, 0
	l.dropped = 0
	l.forget()
	if len(stored) == 0 {
		return nil
	}
	d := byteReader{stored}
	first, writer, reset := d.bytes(1), d.bytes(len(reader)), d.number()
	if writer == nil || reset > math.MaxInt64 || !l.has(first[0]) {
		return ErrLedger
	}
	l.reset = int64(reset)
	layout, own := first[0], OwnerID(writer) == reader
	switch {
	case layout == ledgerLayoutTime:
		if !l.line.read(&d, own) {
			return ErrLedger
		}
	case !l.readEntries(&d, own):
		return ErrLedger
	case l.queue != nil && !l.ofTokens():
		return ErrLedger
	}
	if !l.readHolds(&d, own, layout) || len(d.left) > 0 {
		return ErrLedger
	}
	return nil
}

// readHolds reads the holds, if there are any.
func (l *Ledger) readHolds(d *byteReader, own bool, layout byte) bool {
	if layout == ledgerLayout || layout == ledgerLayoutTime && len(d.left) == 0 {
		return true
	}
	return l.numbers.read(d) && l.holds.read(d, own, l.lowsOf(layout)) && l.numbers.readOthers(d)
}

// IsInTime says whether a stored ledger is one of a bucket in time, which releases of the level before cannot read.
func IsInTime(stored []byte) bool { return len(stored) > 0 && stored[0] == ledgerLayoutTime }

// has says whether ledgers of such buckets have the layout.
func (l *Ledger) has(layout byte) bool {
	if l.queue != nil {
		return layout == ledgerLayout || layout == ledgerLayoutTokens || layout == ledgerLayoutTime
	}
	return layout == ledgerLayout || layout == ledgerLayoutHolds
}

// ofTokens makes a queue of what inTokens had made, and says whether it was one entry at most.
func (l *Ledger) ofTokens() bool {
	if len(l.entries) > 1 {
		return false
	}
	l.line = queue{each: l.queue.price}
	for _, e := range l.entries {
		l.line.tat, l.line.at, l.line.mine = add(At(e.At), l.queue.length(e.Amount), l.queue.n), e.At, e.Mine
		if l.line.tat.NS > lastTAT {
			l.line.tat = At(lastTAT)
		}
	}
	l.entries = l.entries[:0]
	return true
}

func (l *Ledger) readEntries(d *byteReader, own bool) bool {
	count := d.number()
	if count > uint64(len(d.left))/2 {
		return false
	}
	l.entries = slices.Grow(l.entries, int(count)+1) // and one that an owner enters then
	at := int64(0)
	for range count {
		since, flags := d.number(), d.number()
		amount := flags >> 2
		if amount > maxEntry || since > uint64(math.MaxInt64-at) {
			return false
		}
		at += int64(since)
		e := Entry{At: at, Amount: int64(amount), Mine: flags&entryMine != 0 && own}
		if flags&entryID != 0 {
			id := d.bytes(8)
			if id == nil {
				return false
			}
			e.ID = binary.BigEndian.Uint64(id)
		}
		l.add(e)
	}
	return true
}

// add appends an entry that was read, to the one before if both are the same to the reader.
func (l *Ledger) add(e Entry) {
	for i := len(l.entries) - 1; i >= 0 && l.entries[i].At == e.At; i-- {
		if b := &l.entries[i]; b.ID == 0 && e.ID == 0 && b.Mine == e.Mine {
			b.Amount = min(b.Amount+e.Amount, int64(maxEntry))
			return
		}
	}
	l.entries = append(l.entries, e)
}
