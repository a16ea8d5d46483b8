// Package plain makes text for people who read it in a terminal: what comes from outside cannot steer that, and durations are short.
package plain

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Text is a text that may come from outside, such as the path of a request or the name of another node, for a place within
// a line that people read in a terminal. It is s itself where all of it can be printed, and otherwise s quoted as in Go: then
// no control character, of C0 or C1, no line feed, and nothing that turns the direction of writing is left of it.
func Text(s string) string {
	for _, r := range s { // what is no UTF-8 counts too: some terminals take single bytes for control characters
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			return strconv.Quote(s)
		}
	}
	return s
}

// Fprintf is [fmt.Fprintf] for people: every argument that is a string goes out as [Text] has it.
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

// Lines is [Text] of each line of a text.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Text(line)
	}
	return strings.Join(lines, "\n")
}
