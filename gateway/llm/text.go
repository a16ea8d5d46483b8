package llm

import (
	"bytes"
	"unicode/utf8"
)

// notText are members of what a model has generated whose values are names and data, and no text: the ids and types of calls of tools, and sound
// in base64.
var notText = []string{"id", "type", "data"}

// textIn is how many bytes of text the value at s has, in UTF-8 and without its escapes: of a text, or of all texts in an object or an array. It
// walks over them from their beginning to their end, however deep they nest, and allocates nothing.
func textIn(data []byte, s span) (size int64) {
	if !s.found() {
		return 0
	}
	w, counts := walk{data[:s.end], s.start}, true
	for w.at < len(w.text) {
		if w.text[w.at] != '"' {
			w.at++
			continue
		}
		start := w.at + 1
		if !w.quoted() {
			break
		}
		text := w.text[start : w.at-1]
		if next := bytes.TrimLeft(w.text[w.at:], " \t\r\n"); len(next) > 0 && next[0] == ':' {
			counts = !isOneOf(text, notText)
		} else if counts {
			size += sizeOf(text)
		}
	}
	return size
}

// isOneOf says whether a key is one of these names.
func isOneOf(key []byte, names []string) bool {
	for _, name := range names {
		if sameKey(key, name) {
			return true
		}
	}
	return false
}

// sizeOf is how many bytes a text has without its escapes.
func sizeOf(text []byte) (size int64) {
	for len(text) > 0 {
		plain := bytes.IndexByte(text, '\\')
		if plain < 0 {
			return size + int64(len(text))
		}
		r, n := letter(text[plain:])
		size += int64(plain + utf8.RuneLen(r))
		text = text[plain+n:]
	}
	return size
}
