package cli

import (
	"fmt"
	"io"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A Terminal is a writer for what people may see in one. Whatever a verb prints, and wherever that comes from, characters that
// would steer the Terminal go out as \u001b: control characters of C0 and C1 but for line feeds and tabs, what turns the
// direction of writing or cannot be seen, and bytes that are no UTF-8. JSON stays the same to programs, which read \u001b as
// what it stands for.
type Terminal struct {
	To io.Writer

	mu   sync.Mutex
	rest []byte // the beginning of a character whose end has not been written yet
}

// Write implements [io.Writer].
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.rest) == 0 && isPlain(p) { // as nearly all is
		return t.To.Write(p)
	}
	text := append(t.rest, p...) //nolint:gocritic // rest is taken over
	out := make([]byte, 0, len(text))
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		out = appendShown(out, r, size)
		text = text[size:]
	}
	t.rest = append([]byte(nil), text...)
	if _, err := t.To.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// isPlain says whether p is shown as it is: printable ASCII, line feeds and tabs.
func isPlain(p []byte) bool {
	for _, c := range p {
		if (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// appendShown appends a character of so many bytes as it may be seen.
func appendShown(out []byte, r rune, size int) []byte {
	switch {
	case r == utf8.RuneError && size == 1:
		return append(out, `\ufffd`...)
	case r == '\n' || r == '\t' || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
		return utf8.AppendRune(out, r)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}
