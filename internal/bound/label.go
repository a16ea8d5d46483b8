package bound

import (
	"strings"
	"unicode/utf8"
)

// maxLabel is the maximum length of a label's value in bytes.
const maxLabel = 128

// Label makes text a valid value of a metric's label: UTF-8 of at most 128 bytes. All text from outside must pass through it:
// Prometheus's library panics at a label that is not valid UTF-8.
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
