package route

import (
	"path"
	"strings"
)

// Clean is what patterns are held against: the decoded path with empty segments taken out and dot segments resolved. It
// begins with a slash and, but for the root, does not end with one. A path that is clean already is returned as it is.
func Clean(decoded string) string {
	if !strings.HasPrefix(decoded, "/") {
		decoded = "/" + decoded
	}
	return path.Clean(decoded)
}

// Ambiguous says whether servers read an escaped path differently, so that the one behind a gateway might serve something
// else than the gateway has judged: it has dot segments, escaped or not, also before a semicolon; an escaped slash; a
// backslash or a control character, escaped or not; or a percent sign that escapes nothing. Many expressions that are to meet a whole
// path meet it also before a line feed at its end. Only one layer of escaping is looked at.
func Ambiguous(rawPath string) bool {
	for segment := range strings.SplitSeq(rawPath, "/") {
		if ambiguous(segment) {
			return true
		}
	}
	return false
}

// ambiguous looks at one segment.
func ambiguous(segment string) bool {
	dots, name := 0, 0 // before the first semicolon: what other characters there are, too
	parameters := false
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if c == '%' {
			if i+2 >= len(segment) || !hex(segment[i+1]) || !hex(segment[i+2]) {
				return true
			}
			c = digit(segment[i+1])<<4 | digit(segment[i+2])
			i += 2
		}
		switch {
		case c == '/' || c == '\\' || c < ' ' || c == 0x7f:
			return true
		case c == ';':
			parameters = true
		case parameters:
		case c == '.':
			dots++
		default:
			name++
		}
	}
	return name == 0 && (dots == 1 || dots == 2)
}

func hex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// digit is the value of a hexadecimal digit.
func digit(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}
