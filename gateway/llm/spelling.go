package llm

import (
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A likeness says how a key of a document is like a name.
type likeness uint8

const (
	other likeness = iota
	same           // it is the name, as it stands or with escapes
	alike          // it is the name in other letters, such as MAX_TOKENS for max_tokens: encoding/json and others take it for the same
)

// longestSpelling is how many bytes a key takes for each byte of the name that it spells, at most.
const longestSpelling = len(`\u0000`)

// spelling says how a key, as it stands between its quotes, is like a name. It ends at the first letter that differs, and allocates nothing: a
// body may have millions of keys.
func spelling(key []byte, name string) likeness {
	if string(key) == name {
		return same
	}
	if len(key) > longestSpelling*len(name) {
		return other
	}
	found := same
	for len(key) > 0 {
		r, n := letter(key)
		want, m := utf8.DecodeRuneInString(name)
		switch {
		case m == 0 || r != want && !folds(r, want):
			return other
		case r != want:
			found = alike
		}
		key, name = key[n:], name[m:]
	}
	if name != "" {
		return other
	}
	return found
}

// sameKey says whether a key of a document, as it is spelled there, is that name.
func sameKey(key []byte, name string) bool { return spelling(key, name) == same }

// letter is the first letter of a key, and how many bytes it takes there.
func letter(key []byte) (r rune, size int) {
	if key[0] != '\\' || len(key) < 2 {
		return utf8.DecodeRune(key)
	}
	switch c := key[1]; c {
	case 'u':
		r = unit(key)
		if second := rune(-1); utf16.IsSurrogate(r) {
			if len(key) >= 2*longestSpelling && key[longestSpelling] == '\\' && key[longestSpelling+1] == 'u' {
				second = unit(key[longestSpelling:])
			}
			if whole := utf16.DecodeRune(r, second); whole != unicode.ReplacementChar {
				return whole, 2 * longestSpelling
			}
			r = unicode.ReplacementChar
		}
		return r, min(longestSpelling, len(key))
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	default:
		return rune(c), 2
	}
}

// unit is the number in the escape with which a text begins.
func unit(text []byte) rune {
	if len(text) < longestSpelling {
		return unicode.ReplacementChar
	}
	n, err := strconv.ParseUint(string(text[2:longestSpelling]), 16, 16)
	if err != nil {
		return unicode.ReplacementChar
	}
	return rune(n)
}

// folds says whether two letters differ in their case alone.
func folds(a, b rune) bool {
	for f := unicode.SimpleFold(a); f != a; f = unicode.SimpleFold(f) {
		if f == b {
			return true
		}
	}
	return false
}
