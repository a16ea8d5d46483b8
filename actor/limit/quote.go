package limit

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxQuoted is how many bytes of what somebody sent an error repeats at most.
const MaxQuoted = 64

// Quote is what somebody sent, as errors and logs repeat it: in quotation marks, its first 64 bytes at most with … behind
// them if there are more, valid UTF-8, and every character that is not printable escaped as Go does.
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

// named is the path of a field as an error has it: as it is, unless a part of it that somebody made up is longer than Quote
// shows, or cannot be printed.
func named(path string) string {
	fits := len(path) <= MaxQuoted+len("limits..on_unavailable")
	if !fits || strings.ContainsFunc(path, func(c rune) bool { return !strconv.IsPrint(c) || c == utf8.RuneError }) {
		return Quote(path)
	}
	return path
}
