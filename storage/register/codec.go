package register

import (
	"encoding/binary"
	"errors"
)

// ErrCorrupt means that stored bytes are not what this package writes.
var ErrCorrupt = errors.New("register: corrupt encoding")

// The layout of a stored register. Integers are unsigned varints unless noted. H comes first, with a fixed size, so that it
// can be read without the rest.
//
//	┌──────────┬──────────┬────────────┬────────┬────────┬───────┬───────┬──────────┬───────┐  ┌─────────┬────────┐
//	│ layout   │ H        │ generation │ expire │ writer │ seq   │ epoch │ H − from │ reach │  │ version │ ledger │
//	│ 1 byte   │ 8 bytes  │ varint     │ varint │ 16     │       │       │          │       │  │         │ …      │
//	└──────────┴──────────┴────────────┴────────┴────────┴───────┴───────┴──────────┴───────┘  └─────────┴────────┘
//
// The layout is the sum of 1, of 1 more for a limit that a request has defined, and of 2 more if there is a ledger, which then
// follows with its version.
const (
	registerLayout = 1
	layoutInline   = 1
	layoutLedger   = 2
)

// Append appends the encoding of r to dst.
func (r Register) Append(dst []byte) []byte {
	layout := byte(registerLayout)
	if r.Inline {
		layout += layoutInline
	}
	if len(r.Ledger) > 0 {
		layout += layoutLedger
	}
	dst = append(dst, layout)
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.H))
	dst = binary.AppendUvarint(dst, uint64(r.Generation))
	dst = binary.AppendUvarint(dst, uint64(r.Expire))
	dst = append(dst, r.Writer[:]...)
	dst = binary.AppendUvarint(dst, r.Seq)
	dst = binary.AppendUvarint(dst, r.Epoch)
	dst = binary.AppendUvarint(dst, uint64(r.H-r.From))
	dst = binary.AppendUvarint(dst, uint64(r.Reach))
	if len(r.Ledger) > 0 {
		dst = binary.AppendUvarint(dst, uint64(r.Version))
	}
	return append(dst, r.Ledger...)
}

// Decode reads what Append wrote. The ledger is copied.
func Decode(src []byte) (Register, error) {
	d := decoder{src: src}
	layout := d.byte() - registerLayout
	if layout > layoutInline+layoutLedger {
		return Register{}, ErrCorrupt
	}
	r := Register{H: int64(d.uint64()), Inline: layout&layoutInline != 0}
	r.Generation = int64(d.uvarint())
	r.Expire = int64(d.uvarint())
	copy(r.Writer[:], d.bytes(len(r.Writer)))
	r.Seq = d.uvarint()
	r.Epoch = d.uvarint()
	r.From = r.H - int64(d.uvarint())
	r.Reach = int64(d.uvarint())
	ledger := layout&layoutLedger != 0
	if ledger {
		r.Version = int64(d.uvarint())
	}
	if d.bad || ledger != (len(d.src) > 0) {
		return Register{}, ErrCorrupt
	}
	if ledger {
		r.Ledger = append([]byte(nil), d.src...)
	}
	return r, nil
}

// The layout of a stored partition:
//
//	┌──────────┬────────┬───────────┬─────────────────────────────────────────┬─────────┬─────────┐
//	│ layout=2 │ epoch  │ installed │ flags                                   │ floor   │ horizon │
//	│ 1 byte   │ varint │ varint    │ 1 byte: 1 sealed, 2 floor, 4 incomplete │ 8 bytes │ 8 bytes │
//	└──────────┴────────┴───────────┴─────────────────────────────────────────┴─────────┴─────────┘
//
// Layout 1, which is still read, has neither the installed epoch nor the last flag.
const (
	partitionLayoutOne = 1
	partitionLayout    = 2
)

const (
	flagSealed = 1 << iota
	flagFloored
	flagIncomplete
)

// Append appends the encoding of p to dst.
func (p Partition) Append(dst []byte) []byte {
	var flags byte
	if p.Sealed {
		flags |= flagSealed
	}
	if p.Floored {
		flags |= flagFloored
	}
	if p.Incomplete {
		flags |= flagIncomplete
	}
	dst = append(dst, partitionLayout)
	dst = binary.AppendUvarint(dst, p.Epoch)
	dst = binary.AppendUvarint(dst, p.Installed)
	dst = append(dst, flags)
	dst = binary.BigEndian.AppendUint64(dst, uint64(p.Floor))
	return binary.BigEndian.AppendUint64(dst, uint64(p.Horizon))
}

// DecodePartition reads what [Partition.Append] wrote, of this layout or the one before.
func DecodePartition(src []byte) (p Partition, err error) {
	d := decoder{src: src}
	known := byte(flagSealed | flagFloored)
	layout := d.byte()
	p.Epoch = d.uvarint()
	switch layout {
	case partitionLayoutOne:
	case partitionLayout:
		p.Installed = d.uvarint()
		known |= flagIncomplete
	default:
		return Partition{}, ErrCorrupt
	}
	flags := d.byte()
	p.Sealed, p.Floored, p.Incomplete = flags&flagSealed != 0, flags&flagFloored != 0, flags&flagIncomplete != 0
	p.Floor = int64(d.uint64())
	p.Horizon = int64(d.uint64())
	if d.bad || len(d.src) > 0 || flags&^known != 0 {
		return Partition{}, ErrCorrupt
	}
	return p, nil
}

// A decoder reads values from the front of src. When src is too short it sets bad, and all further values are 0.
type decoder struct {
	src []byte
	bad bool
}

func (d *decoder) bytes(n int) []byte {
	if len(d.src) < n {
		d.bad, d.src = true, nil
		return nil
	}
	b := d.src[:n]
	d.src = d.src[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.src)
	if n <= 0 {
		d.bad, d.src = true, nil
		return 0
	}
	d.src = d.src[n:]
	return v
}
