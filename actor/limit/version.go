package limit

import (
	"bytes"
	"regexp"
	"strconv"
)

// versionComment is the comment by which a document says which version of the limits it was made from.
var versionComment = regexp.MustCompile(`^# version (\d+)$`)

// CutVersion looks among the comments and empty lines at the beginning of a document for the first that says which version of the
// limits the document was made from, as limits get prints it:
//
//	# version 4
//
// Line is its number, from 1 on, and 0 without one. Rest is the document without all such comments: what a cluster keeps gets
// another version with each change. A number too large for a version is the highest one, which is never in force.
func CutVersion(text []byte) (rest []byte, version uint64, line int) {
	n, left := 0, text
	for len(left) > 0 {
		said, after := left, []byte(nil)
		if end := bytes.IndexByte(left, '\n'); end >= 0 {
			said, after = left[:end], left[end+1:]
		}
		n++
		trimmed := bytes.TrimSpace(bytes.TrimPrefix(said, byteOrderMark))
		found := versionComment.FindSubmatch(trimmed)
		switch {
		case found != nil && line == 0:
			version, _ = strconv.ParseUint(string(found[1]), 10, 64) // the error is that of a number too large
			line = n
		case found != nil:
		case len(trimmed) == 0 || trimmed[0] == '#' || string(trimmed) == "---":
			rest = append(rest, left[:len(left)-len(after)]...)
		default:
			return append(rest, left...), version, line
		}
		left = after
	}
	return rest, version, line
}

// byteOrderMark may stand before the first line of a file in UTF-8.
var byteOrderMark = []byte("\uFEFF")
