package debug

import (
	"fmt"
	"io"
	"strconv"
)

// Plain is a text that may come from outside, such as the path of a request or the name of another node, for a place within
// a line that people read in a terminal. It is s itself where all of it can be printed, and otherwise s quoted as in Go: then
// no control character, of C0 or C1, no line feed, and nothing that turns the direction of writing is left of it.
func Plain(s string) string {
	for _, r := range s { // what is no UTF-8 counts too: some terminals take single bytes for control characters
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			return strconv.Quote(s)
		}
	}
	return s
}

// Printf is [fmt.Fprintf] for people: every argument that is a string goes out as [Plain] has it.
func Printf(w io.Writer, format string, args ...any) error {
	shown := make([]any, len(args))
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			arg = Plain(s)
		}
		shown[i] = arg
	}
	_, err := fmt.Fprintf(w, format, shown...)
	return err
}
