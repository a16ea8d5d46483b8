package bearer

import (
	"bytes"
	"strings"
)

// nameComment begins a comment that names the token in the next line.
const nameComment = "name:"

// MaxName is how many bytes a token's name has at most; what is longer is cut off.
const MaxName = 64

// Names are the names of the tokens of a file that [Parse] takes. A comment names the token in the line below it; a token without
// one has no name, and the first name of a token counts:
//
//	# name: ann
//	7f…
func Names(file []byte) map[string]string {
	names, name := map[string]string{}, ""
	for line := range bytes.Lines(file) {
		line := string(bytes.TrimSpace(line))
		comment, is := strings.CutPrefix(line, "#")
		said, named := strings.CutPrefix(strings.TrimSpace(comment), nameComment)
		switch {
		case is && named:
			name = strings.TrimSpace(said)
			name = strings.ToValidUTF8(name[:min(len(name), MaxName)], "")
			continue
		case !is && line != "" && name != "" && names[line] == "":
			names[line] = name
		}
		name = ""
	}
	return names
}
