package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxValue is how many bytes of free text are put into a key; longer ones are hashed.
const maxValue = 128

// hashed is the prefix of the hash that replaces a value that is too long. A value that itself begins with it is escaped at its
// first letter: otherwise a client could send the hash of another client's value and be counted as that client.
const hashed = "sha256"

const upperHex = "0123456789ABCDEF"

// appendValue writes free text so that no two values look the same, and none contains a colon, a percent sign that escapes
// nothing, or stop:
//
//	letters, digits, -._~@+/=|,      as they are, unless they are stop
//	every other byte                 %3A
//	more than 128 bytes              sha256-<hex>
func appendValue(dst []byte, s string, stop byte) []byte {
	if len(s) > maxValue {
		return appendHash(dst, s, stop)
	}
	if strings.HasPrefix(s, hashed) {
		dst, s = appendEscape(dst, s[0]), s[1:]
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			dst = appendByte(dst, c, stop)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if unicode.IsLetter(r) { // RuneError is none
			dst = append(dst, s[i:i+size]...)
		} else {
			for _, c := range []byte(s[i : i+size]) {
				dst = appendEscape(dst, c)
			}
		}
		i += size
	}
	return dst
}

// appendHash writes sha256-<hex>, which replaces s.
func appendHash[T string | []byte](dst []byte, s T, stop byte) []byte {
	h := sha256.New()
	var space [1024]byte // a header may be long: it is not copied as a whole
	for len(s) > 0 {
		n := copy(space[:], s)
		h.Write(space[:n])
		s = s[n:]
	}
	dst = appendByte(append(dst, hashed...), '-', stop)
	return hex.AppendEncode(dst, h.Sum(space[:0]))
}

// appendByte writes a byte of ASCII, escaped unless a key may contain it as it is.
func appendByte(dst []byte, c, stop byte) []byte {
	if c == stop || !isAlnum(c) && strings.IndexByte("-._~@+/=|,", c) < 0 {
		return appendEscape(dst, c)
	}
	return append(dst, c)
}

func appendEscape(dst []byte, c byte) []byte {
	return append(dst, '%', upperHex[c>>4], upperHex[c&15])
}
