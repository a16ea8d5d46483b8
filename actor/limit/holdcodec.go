package limit

import (
	"encoding/binary"
	"math"
	"slices"
)

// What a stored hold says besides its numbers.
const (
	holdMine = 1 << iota
	holdFree
	holdSettled
	holdFreed
	holdShort
	holdOtherPrice
)

func (h *HoldEntry) flags() (flags byte) {
	if h.Mine {
		flags |= holdMine
	}
	if h.Free {
		flags |= holdFree
	}
	if h.Settled {
		flags |= holdSettled
	}
	if h.Freed {
		flags |= holdFreed
	}
	if h.Short {
		flags |= holdShort
	}
	return flags
}

// append appends the list as a ledger stores it, and behind each hold what also appends.
func (hs holdList) append(dst []byte, also *lows) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(hs)))
	before := int64(0)
	for i := range hs {
		h := &hs[i]
		dst = binary.BigEndian.AppendUint64(append(dst, h.flags()|also.flags(h)), h.ID)
		for _, n := range [...]int64{h.At - before, h.Amount, h.Used} {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
		dst = also.append(binary.AppendVarint(dst, h.Until-h.At), h)
		before = h.At
	}
	return dst
}

// encoded is about how many bytes append appends, and no fewer; 0 for an empty list.
func (hs holdList) encoded() int {
	const most = 1 + 8 + 8*binary.MaxVarintLen64
	if len(hs) == 0 {
		return 0
	}
	return len(HoldNumbers{}.secret) + 3*binary.MaxVarintLen64 + most*len(hs)
}

// read reads what append has appended, of a ledger that the reader itself has written or not.
func (hs *holdList) read(d *byteReader, own bool, also *lows) bool {
	count := d.number()
	if count == 0 || count > uint64(len(d.left))/12 { // a list that is stored is not empty
		return false
	}
	*hs = slices.Grow(*hs, int(count)+1)
	at := int64(0)
	for range count {
		flags, id := d.bytes(1), d.bytes(8)
		since, amount, used := d.number(), d.number(), d.number()
		lasts, ok := d.signed()
		if id == nil || !ok || since > uint64(math.MaxInt64-at) || max(amount, used) > uint64(MaxCount) || lasts > int64(MaxFill) || lasts < -int64(MaxFill) {
			return false
		}
		at += int64(since)
		h := HoldEntry{
			At: at, ID: binary.BigEndian.Uint64(id), Amount: int64(amount), Used: int64(used), Until: at + lasts,
			Free: flags[0]&holdFree != 0, Settled: flags[0]&holdSettled != 0, Freed: flags[0]&holdFreed != 0, Short: flags[0]&holdShort != 0, Mine: flags[0]&holdMine != 0 && own,
		}
		if !also.read(d, flags[0], &h) {
			return false
		}
		*hs = append(*hs, h)
	}
	return true
}

// lows store what the holds of a bucket have beside others: the least that the bucket had to refill since, and the price. They go through a list
// once, in its order. What comes back changes the least of all holds at once, by the same amount, so each counts from the one before.
type lows struct {
	form lowForm
	// queue is that of the ledger: the least counts in its n-ths of a nanosecond. Where it is in tokens, these are of own.
	queue price
	own   price

	before int64
	each   price // of the hold before, at first the queue's
}

// A lowForm is how they are stored.
type lowForm uint8

const (
	noLows       lowForm = iota // of windows, whose holds have none
	lowsInTokens                // whole ones, and no price
	lowsInTime
)

// flags are those that a hold has besides its own.
func (c *lows) flags(h *HoldEntry) byte {
	if c.form == lowsInTime && h.each != c.each {
		return holdOtherPrice
	}
	return 0
}

// inTokens is the least that the bucket had to refill since h was taken, in whole tokens.
func (c *lows) inTokens(h *HoldEntry) int64 {
	low := h.Low
	if c.own.n != c.queue.n {
		low.Frac = 0
	}
	return min(c.own.tokensIn(low), int64(maxEntry))
}

func (c *lows) append(dst []byte, h *HoldEntry) []byte {
	switch c.form {
	case noLows:
	case lowsInTokens:
		tokens := c.inTokens(h)
		dst = binary.AppendVarint(dst, tokens-c.before)
		c.before = tokens
	case lowsInTime:
		dst = binary.AppendUvarint(binary.AppendVarint(dst, h.Low.NS-c.before), h.Low.Frac)
		if c.before = h.Low.NS; h.each != c.each {
			dst = h.each.append(dst)
			c.each = h.each
		}
	}
	return dst
}

// read reads what append has appended into h, which has those flags.
func (c *lows) read(d *byteReader, flags byte, h *HoldEntry) bool {
	if c.form == noLows {
		return true
	}
	more, ok := d.signed()
	if !ok || more > math.MaxInt64-c.before {
		return false
	}
	if c.before += more; c.before < 0 {
		return false
	}
	if c.form == lowsInTokens {
		h.Low, h.each = c.own.length(c.before), c.own
		return c.before <= int64(maxEntry)
	}
	h.Low = Pos{NS: c.before, Frac: d.number()}
	if flags&holdOtherPrice != 0 && !c.each.read(d) {
		return false
	}
	h.each = c.each
	return h.Low.Frac < c.queue.n && h.each.n > 0
}
