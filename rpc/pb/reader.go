package pb

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// errMalformed is what protobuf itself says of bytes that are no message.
var errMalformed = errors.New("proto: cannot parse invalid wire-format data")

// failed is where a reader stands that has met something malformed: behind the end of everything, so that every loop
// over fields ends.
const failed = math.MaxInt

// A reader reads the fields of a message and of the messages in it, straight from their bytes:
//
//	field   = tag, value                tag = number<<3 | type, a varint
//	value   = varint                    type 0
//	        | length, that many bytes   type 2: a text, or the fields of a message
//
// Its methods are told where the message ends whose field they read. After a failure they return zero values.
type reader struct {
	data []byte // the whole message
	text string // a copy of data, of which every string that is read is a piece
	at   int    // of what comes next in data; failed after a failure
	refs int    // where the limits of the request that is read begin among those of all
}

func newReader(data []byte) reader { return reader{data: data, text: string(data)} }

// err is what stopped the reader.
func (r *reader) err() error {
	if r.at == failed {
		return errMalformed
	}
	return nil
}

// varint reads a number, or a tag.
func (r *reader) varint(end int) uint64 {
	if at := r.at; at < end && r.data[at] < 0x80 {
		r.at = at + 1
		return uint64(r.data[at])
	}
	return r.longVarint(end)
}

func (r *reader) longVarint(end int) uint64 {
	v, n := protowire.ConsumeVarint(r.data[min(r.at, end):end])
	if n < 0 {
		r.at = failed
		return 0
	}
	r.at += n
	return v
}

// enter reads the length of a value and returns where the value ends. The reader then stands at its beginning.
func (r *reader) enter(end int) int {
	n := r.varint(end)
	if r.at > end || n > uint64(end-r.at) {
		r.at = failed
		return failed
	}
	return r.at + int(n)
}

// string reads a text, of whatever bytes.
func (r *reader) string(end int) string {
	stop := r.enter(end)
	if stop == failed {
		return ""
	}
	s := r.text[r.at:stop]
	r.at = stop
	return s
}

// skip passes over the value of a field that is unknown, or of another type than the known one.
func (r *reader) skip(tag uint64, end int) {
	number := tag >> 3
	if r.at > end || number < uint64(protowire.MinValidNumber) || number > uint64(protowire.MaxValidNumber) {
		r.at = failed
		return
	}
	n := protowire.ConsumeFieldValue(protowire.Number(number), protowire.Type(tag&7), r.data[r.at:end])
	if n < 0 {
		r.at = failed
		return
	}
	r.at += n
}

// count is how many fields the message has that bear this tag, of type 2. The reader must stand at its beginning, and
// stands there again afterwards, or has failed.
func (r *reader) count(tag uint64) int {
	n, end := 0, len(r.data)
	for r.at < end {
		if t := r.varint(end); t != tag {
			r.skip(t, end)
			continue
		}
		r.at = r.enter(end)
		n++
	}
	if r.at != failed {
		r.at = 0
	}
	return n
}
