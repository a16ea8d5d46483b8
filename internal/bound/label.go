package bound

import (
	"strings"
	"unicode/utf8"
)

// maxLabel is how many bytes of a label's value are kept.
const maxLabel = 128

// Label is text as the value of a metric's label: valid UTF-8 of at most 128 bytes. Whatever comes from outside passes
// through here; a label that is not valid UTF-8 is a panic of the library.
func Label(text string) string {
	if len(text) > maxLabel {
		end := maxLabel
		for end > maxLabel-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
