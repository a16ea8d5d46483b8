package transport

// fields counts the fields of a header as HTTP/2 packs it (HPACK, RFC 7541), in pieces that may be cut anywhere, and does not
// unpack it. Each begins with a byte that says its kind, and a number:
//
//	1nnnnnnn            a field that both sides know, by its number
//	01nnnnnn            a name by its number, or spelled if that is 0, and a value that is spelled
//	0000nnnn, 0001nnnn  likewise
//	001nnnnn            no field: how much both sides are to remember
//
// A number that does not fit into its bits goes on in further bytes, 7 bits each. What is spelled is its length, which is
// such a number of 7 bits, and so many bytes.
type fields struct {
	spelled int  // strings that are still to come
	skip    int  // bytes of a string that are still to come
	length  bool // the number that is being read is the length of a string
	more    bool // it goes on
	number  int
	shift   int
}

// maxShift is where a number ends that grpc refuses anyway.
const maxShift = 28

// count is how many fields begin in b, and how many bytes of b are spelled.
func (f *fields) count(b []byte) (begun, bytes int) {
	for len(b) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(b))
			f.skip -= n
			bytes += n
			b = b[n:]
			continue
		}
		c := int(b[0])
		b = b[1:]
		switch {
		case f.more:
			f.number += c & 0x7f << f.shift
			f.shift = min(f.shift+7, maxShift)
			f.more = c&0x80 != 0
		case f.spelled > 0:
			f.length = true
			f.begin(c, 0x7f)
		case c&0x80 != 0:
			begun++
			f.begin(c, 0x7f)
		case c&0xe0 == 0x20:
			f.begin(c, 0x1f)
		default:
			mask := 0x0f
			if c&0x40 != 0 {
				mask = 0x3f
			}
			begun++
			f.begin(c, mask)
			f.spelled = 1
			if f.number == 0 {
				f.spelled = 2
			}
		}
		if f.length && !f.more {
			f.length = false
			f.spelled--
			f.skip = f.number
		}
	}
	return begun, bytes
}

// begin begins a number, in those bits of its first byte that are in mask.
func (f *fields) begin(first, mask int) {
	f.number, f.shift = first&mask, 0
	f.more = f.number == mask
}
