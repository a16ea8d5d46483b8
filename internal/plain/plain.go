// Package plain formats text for terminals: text from outside cannot send control sequences, and durations are short.
package plain

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text makes s, which may come from outside, such as the path of a request or the name of another node, safe to print within a
// line in a terminal. It is s itself if all of it is printable, and otherwise s quoted as in Go, without control characters
// (C0 and C1), line feeds, or characters that change the direction of writing.
func Text(s string) string {
	unprintable := func(r rune) bool { return !strconv.IsPrint(r) }
	if !utf8.ValidString(s) || strings.ContainsFunc(s, unprintable) { // some terminals take single bytes for control characters
		return strconv.Quote(s)
	}
	return s
}

// Fprintf is [fmt.Fprintf] with [Text] applied to every argument that is a string.
func Fprintf(w io.Writer, format string, args ...any) error {
	shown := make([]any, len(args))
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			arg = Text(s)
		}
		shown[i] = arg
	}
	_, err := fmt.Fprintf(w, format, shown...)
	return err
}

// Lines applies [Text] to each line of a text.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Text(line)
	}
	return strings.Join(lines, "\n")
}

// First is the first line of a text, with [Text] applied, and how many follow.
func First(s string) string {
	line, rest, more := strings.Cut(s, "\n")
	if !more {
		return Text(line)
	}
	return fmt.Sprintf("%s, and %d more", Text(line), 1+strings.Count(rest, "\n"))
}

// Plural is the word that goes with n: one, or more. A count is written with it: fmt.Sprintf("%d %s", n, plain.Plural(n, "node", "nodes")).
func Plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
