package limit

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxQuoted is how many bytes of a client's text an error repeats at most.
const MaxQuoted = 64

// Quote is a client's text as errors and logs repeat it: in quotation marks, as valid UTF-8, with characters that are not
// printable escaped as in Go, and cut to MaxQuoted bytes, with … behind them if there are more.
func Quote(s string) string {
	if len(s) <= MaxQuoted {
		return strconv.Quote(s)
	}
	end := MaxQuoted
	for end > MaxQuoted-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return strconv.Quote(s[:end]) + "…"
}

// named is the path of a field as an error shows it: unchanged, unless it holds a client's text that is longer than MaxQuoted, or
// that cannot be printed.
func named(path string) string {
	fits := len(path) <= MaxQuoted+len("limits..on_unavailable")
	if !fits || strings.ContainsFunc(path, func(c rune) bool { return !strconv.IsPrint(c) || c == utf8.RuneError }) {
		return Quote(path)
	}
	return path
}
