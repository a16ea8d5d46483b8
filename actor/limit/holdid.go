package limit

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
)

// The layout of a hold's text, before base64 (RFC 4648, section 5, without padding). Integers are unsigned varints unless noted.
//
//	┌──────────┬─────────┬───────────┬────────────┬───────┐ ┌─────────────┬────────────┬───────┬────┐ ┌─────────────────┐
//	│ layout=1 │ granted │ key, with │ plan,      │ limits│ │ name,       │ generation │ owner │ id │…│ CRC-32C of all  │
//	│ 1 byte   │         │ its length│ likewise   │       │ │ likewise    │            │ 16    │ 8  │ │ before, 4 bytes │
//	└──────────┴─────────┴───────────┴────────────┴───────┘ └─────────────┴────────────┴───────┴────┘ └─────────────────┘
//
// In layout 2, which a hold has of which the request has defined a limit, the limit's definition stands behind each id: as JSON, with its
// length; empty for a stored one.
const (
	holdLayout        = 1
	definedHoldLayout = 2
)

// MaxHoldText is how long the text of a hold may be, in bytes.
const MaxHoldText = 10 << 10

// String is the hold as callers are given it, which [ParseHold] reads.
func (h Hold) String() string { return string(h.AppendTo(nil)) }

// AppendTo appends to b what String makes.
func (h *Hold) AppendTo(b []byte) []byte {
	definitions := h.definitions()
	size := h.room()
	for _, d := range definitions {
		size += len(d)
	}
	behind := len(b) + base64.RawURLEncoding.EncodedLen(size) // its text
	b = slices.Grow(b, behind+size-len(b))
	layout := h.appendLayout(b[behind:behind], definitions)
	return base64.RawURLEncoding.AppendEncode(b, layout)
}

// definitions are those of its limits, in their order; nil if all are stored.
func (h *Hold) definitions() [][]byte {
	if !slices.ContainsFunc(h.Limits, func(l Held) bool { return l.Inline != nil }) {
		return nil
	}
	all := make([][]byte, len(h.Limits))
	for i := range h.Limits {
		if l := h.Limits[i].Inline; l != nil {
			form := l.form()
			form.Name = ""                 // it is there already
			all[i], _ = json.Marshal(form) //nolint:errchkjson // texts and numbers
		}
	}
	return all
}

// room is how many bytes the layout takes at most, without definitions.
func (h *Hold) room() int {
	const numbers, eachLimit = 1 + 3*binary.MaxVarintLen32 + binary.MaxVarintLen64 + crc32.Size, 2*binary.MaxVarintLen16 + binary.MaxVarintLen64 + 16 + 8
	size := numbers + len(h.Key) + len(h.Plan)
	for i := range h.Limits {
		size += eachLimit + len(h.Limits[i].Limit)
	}
	return size
}

// appendLayout appends the hold as it is before base64 to an empty slice.
func (h *Hold) appendLayout(b []byte, definitions [][]byte) []byte {
	layout := byte(holdLayout)
	if definitions != nil {
		layout = definedHoldLayout
	}
	b = binary.AppendUvarint(append(b, layout), uint64(h.Granted))
	for _, text := range [...]string{h.Key, h.Plan} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	b = binary.AppendUvarint(b, uint64(len(h.Limits)))
	for i := range h.Limits {
		l := &h.Limits[i]
		b = append(binary.AppendUvarint(b, uint64(len(l.Limit))), l.Limit...)
		b = binary.AppendUvarint(b, uint64(l.Generation))
		b = binary.BigEndian.AppendUint64(append(b, l.Owner[:]...), l.ID)
		if definitions != nil {
			b = append(binary.AppendUvarint(b, uint64(len(definitions[i]))), definitions[i]...)
		}
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// ParseHold reads the text of a hold. Its error is a *FieldError.
func ParseHold(text string) (Hold, error) { return new(HoldReader).Read(text, nil) }

// A HoldReader reads the texts of holds, one after another, in memory that it keeps.
type HoldReader struct{ layout []byte }

// Read is [ParseHold] with room for the limits of the hold, which may be too small.
func (r *HoldReader) Read(text string, room []Held) (Hold, error) {
	if text == "" {
		return Hold{}, &FieldError{Field: "hold", Problem: "is missing: send the hold as it was answered"}
	}
	if len(text) > MaxHoldText {
		return Hold{}, &FieldError{Field: "hold", Problem: fmt.Sprintf("%d bytes are too many for a hold: at most %d", len(text), MaxHoldText)}
	}
	var err error
	r.layout, err = strictBase64.AppendDecode(r.layout[:0], []byte(text))
	whole := strictBase64.EncodedLen(len(r.layout)) == len(text) // the decoder skips line breaks
	h, ok := readHoldID(r.layout, room)
	if err != nil || !whole || !ok || h.validate() != nil {
		return Hold{}, &FieldError{Field: "hold", Problem: Quote(shorten(text)) + " is not a hold as it was answered: a character is missing or was changed"}
	}
	return h, nil
}

var strictBase64 = base64.RawURLEncoding.Strict()

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// shorten is the beginning of a text, for a message.
func shorten(text string) string {
	const most = 24
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}

func readHoldID(b []byte, room []Held) (h Hold, ok bool) {
	const check = crc32.Size
	if len(b) < check || crc32.Checksum(b[:len(b)-check], castagnoli) != binary.BigEndian.Uint32(b[len(b)-check:]) {
		return h, false
	}
	b = b[:len(b)-check]
	d := holdReader{byteReader{b}, string(b)}
	layout := d.bytes(1)
	if len(layout) != 1 || layout[0] != holdLayout && layout[0] != definedHoldLayout {
		return h, false
	}
	h.Granted = int64(min(d.number(), uint64(MaxCount)+1))
	h.Key, h.Plan = d.piece(), d.piece()
	count := d.number()
	if count > MaxLimits {
		return h, false
	}
	switch {
	case count > uint64(cap(room)):
		h.Limits = make([]Held, 0, count)
	case count > 0:
		h.Limits = room[:0]
	}
	for range count {
		l := Held{Limit: d.piece(), Generation: int64(d.number())}
		owner, id := d.bytes(len(l.Owner)), d.bytes(8)
		if id == nil {
			return h, false
		}
		copy(l.Owner[:], owner)
		l.ID = binary.BigEndian.Uint64(id)
		if layout[0] == definedHoldLayout && !d.definition(&l) {
			return h, false
		}
		h.Limits = append(h.Limits, l)
	}
	return h, len(d.left) == 0
}

// definition reads the definition of a limit, if it has one.
func (d *holdReader) definition(l *Held) bool {
	text := d.piece()
	if text == "" {
		return true
	}
	l.Inline = new(Limit)
	if l.Inline.UnmarshalJSON([]byte(text)) != nil {
		return false
	}
	l.Inline.Name = l.Limit
	return true
}

// A holdReader reads texts as pieces of one copy of what it reads.
type holdReader struct {
	byteReader
	whole string
}

// piece is a text that has its length before it.
func (d *holdReader) piece() string {
	n := d.number()
	if n > uint64(len(d.left)) {
		d.left = nil
		return ""
	}
	from := len(d.whole) - len(d.left)
	d.left = d.left[n:]
	return d.whole[from : from+int(n)]
}

// validate checks what a caller could have made up.
func (h *Hold) validate() error {
	if err := ValidateKey(h.Key); err != nil {
		return err
	}
	if err := ValidatePlan(h.Plan); err != nil {
		return err
	}
	if h.Granted < 0 || h.Granted > MaxCount || len(h.Limits) > MaxLimits {
		return &FieldError{Field: "hold", Problem: "is not a hold as it was answered"}
	}
	for i := range h.Limits {
		if err := validateName(h.Limits[i].Limit); err != nil || h.Limits[i].Generation < 0 {
			return &FieldError{Field: "hold", Problem: "names a limit that cannot be"}
		}
	}
	return nil
}
