package limit

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The layout of a hold's text, before base64 (RFC 4648, section 5, without padding). Integers are unsigned varints unless noted.
//
//	┌──────────┬─────────┬───────────┬────────────┬───────┐ ┌─────────────┬────────────┬───────┬────┐ ┌─────────────────┐
//	│ layout=1 │ granted │ key, with │ plan,      │ limits│ │ name,       │ generation │ owner │ id │…│ CRC-32C of all  │
//	│ 1 byte   │         │ its length│ likewise   │       │ │ likewise    │            │ 16    │ 8  │ │ before, 4 bytes │
//	└──────────┴─────────┴───────────┴────────────┴───────┘ └─────────────┴────────────┴───────┴────┘ └─────────────────┘
const holdLayout = 1

// MaxHoldText is how long the text of a hold may be, in bytes.
const MaxHoldText = 4096

// String is the hold as callers are given it, which [ParseHold] reads.
func (h Hold) String() string {
	b := []byte{holdLayout}
	b = binary.AppendUvarint(b, uint64(h.Granted))
	for _, text := range []string{h.Key, h.Plan} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	b = binary.AppendUvarint(b, uint64(len(h.Limits)))
	for i := range h.Limits {
		l := &h.Limits[i]
		b = append(binary.AppendUvarint(b, uint64(len(l.Limit))), l.Limit...)
		b = binary.AppendUvarint(b, uint64(l.Generation))
		b = binary.BigEndian.AppendUint64(append(b, l.Owner[:]...), l.ID)
	}
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseHold reads the text of a hold. Its error is a *FieldError.
func ParseHold(text string) (Hold, error) {
	if text == "" {
		return Hold{}, &FieldError{Field: "hold", Problem: "is missing: send the hold as it was answered"}
	}
	if len(text) > MaxHoldText {
		return Hold{}, &FieldError{Field: "hold", Problem: fmt.Sprintf("%d bytes are too many for a hold: at most %d", len(text), MaxHoldText)}
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	h, ok := readHoldID(b)
	if err != nil || !ok || h.validate() != nil {
		return Hold{}, &FieldError{Field: "hold", Problem: Quote(shorten(text)) + " is not a hold as it was answered: a character is missing or was changed"}
	}
	return h, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// shorten is the beginning of a text, for a message.
func shorten(text string) string {
	const most = 24
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}

func readHoldID(b []byte) (h Hold, ok bool) {
	const check = crc32.Size
	if len(b) < check || crc32.Checksum(b[:len(b)-check], castagnoli) != binary.BigEndian.Uint32(b[len(b)-check:]) {
		return h, false
	}
	d := byteReader{b[:len(b)-check]}
	if layout := d.bytes(1); len(layout) != 1 || layout[0] != holdLayout {
		return h, false
	}
	h.Granted = int64(min(d.number(), uint64(MaxCount)+1))
	h.Key, h.Plan = d.text(), d.text()
	count := d.number()
	if count > MaxLimits {
		return h, false
	}
	for range count {
		l := Held{Limit: d.text(), Generation: int64(d.number())}
		owner, id := d.bytes(len(l.Owner)), d.bytes(8)
		if id == nil {
			return h, false
		}
		copy(l.Owner[:], owner)
		l.ID = binary.BigEndian.Uint64(id)
		h.Limits = append(h.Limits, l)
	}
	return h, len(d.left) == 0
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
