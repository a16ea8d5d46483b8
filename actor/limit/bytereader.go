package limit

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A byteReader takes bytes from the front; nil where there are too few.
type byteReader struct{ left []byte }

func (d *byteReader) bytes(n int) []byte {
	if len(d.left) < n {
		d.left = nil
		return nil
	}
	b := d.left[:n:n]
	d.left = d.left[n:]
	return b
}

func (d *byteReader) number() uint64 {
	v, n := binary.Uvarint(d.left)
	if n <= 0 {
		d.left = nil
		return math.MaxUint64
	}
	d.left = d.left[n:]
	return v
}

// varintLen is how many bytes a varint of v takes.
func varintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// signed is a number that has a sign; ok is false where there is none.
func (d *byteReader) signed() (v int64, ok bool) {
	v, n := binary.Varint(d.left)
	if n <= 0 {
		d.left = nil
		return 0, false
	}
	d.left = d.left[n:]
	return v, true
}
