package limit

import (
	"bytes"
	"strings"
)

// writeLine writes a line of these pieces.
func writeLine(out *bytes.Buffer, pieces ...string) {
	for _, piece := range pieces {
		out.WriteString(piece)
	}
	out.WriteByte('\n')
}

// usualLimit is about how many bytes a limit takes in a document.
const usualLimit = 128

// needsQuotes says whether a YAML decoder may read a name as something other than a string.
func needsQuotes(name string) bool {
	switch strings.ToLower(name) {
	case "y", "yes", "n", "no", "true", "false", "on", "off", "null":
		return true
	}
	return name[0] >= '0' && name[0] <= '9'
}
