package access

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// List is every route of an HTTP door with what it does, a line each, as GET / shows it.
func List(at Door) string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, e := range Table() {
		if method, path, http := strings.Cut(e.Call, " "); http && e.Door == at {
			fmt.Fprintf(table, "  %s\t%s\t%s\n", method, path, strings.ReplaceAll(e.Does, "`", ""))
		}
	}
	_ = table.Flush() // a Builder takes everything
	return out.String()
}

// Calls is every route of an HTTP door whose path begins with a prefix, in a sentence.
func Calls(at Door, prefix string) string {
	var calls []string
	for _, e := range Table() {
		if _, path, http := strings.Cut(e.Call, " "); http && e.Door == at && strings.HasPrefix(path, prefix) {
			calls = append(calls, e.Call)
		}
	}
	last := len(calls) - 1
	return strings.Join(calls[:last], ", ") + " or " + calls[last]
}
