package redis

import (
	"bytes"
	"strconv"

	"github.com/tidwall/redcon"
)

// A reply collects answers until they are written, in RESP2 or RESP3.
type reply struct {
	bytes []byte
	resp3 bool
}

// status writes a simple string.
func (r *reply) status(text string) { r.bytes = redcon.AppendString(r.bytes, text) }

// fail writes an error. Line breaks in it become blanks.
func (r *reply) fail(err error) { r.bytes = redcon.AppendError(r.bytes, err.Error()) }

// text writes a bulk string.
func (r *reply) text(text string) { r.bytes = redcon.AppendBulkString(r.bytes, text) }

// bulk writes a bulk string.
func (r *reply) bulk(text []byte) { r.bytes = redcon.AppendBulk(r.bytes, text) }

// number writes an integer.
func (r *reply) number(n int64) { r.bytes = redcon.AppendInt(r.bytes, n) }

// array begins an array of n answers, which follow.
func (r *reply) array(n int) { r.bytes = redcon.AppendArray(r.bytes, n) }

// numbers writes an array of integers.
func (r *reply) numbers(all ...int64) {
	r.array(len(all))
	for _, n := range all {
		r.number(n)
	}
}

// null writes the answer that stands for nothing.
func (r *reply) null() {
	if r.resp3 {
		r.bytes = append(r.bytes, "_\r\n"...)
		return
	}
	r.bytes = redcon.AppendNull(r.bytes)
}

// nullArray is null in the place of an array, which RESP2 tells apart.
func (r *reply) nullArray() {
	if r.resp3 {
		r.null()
		return
	}
	r.bytes = append(r.bytes, "*-1\r\n"...)
}

// pairs begins a map of n keys and values, which follow. RESP2 has no maps: there it is an array.
func (r *reply) pairs(n int) {
	if !r.resp3 {
		r.array(2 * n)
		return
	}
	r.bytes = append(r.bytes, '%')
	r.bytes = strconv.AppendInt(r.bytes, int64(n), 10)
	r.bytes = append(r.bytes, "\r\n"...)
}

// luaNumber is a number in the form of Lua's tostring, "%.14g" of C.
func luaNumber(x float64) string {
	text := strconv.AppendFloat(nil, x, 'g', 14, 64)
	if mantissa, exponent, found := bytes.Cut(text, []byte("e")); found {
		return string(trimZeros(mantissa)) + "e" + string(exponent)
	}
	return string(trimZeros(text))
}

// trimZeros removes zeros at the end of a fraction.
func trimZeros(text []byte) []byte {
	if !bytes.ContainsRune(text, '.') {
		return text
	}
	return bytes.TrimRight(bytes.TrimRight(text, "0"), ".")
}
