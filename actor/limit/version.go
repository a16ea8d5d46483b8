package limit

import (
	"bytes"
	"regexp"
	"strconv"
)

// versionComment is the comment that says which version of the limits a document was made from.
var versionComment = regexp.MustCompile(`^# version (\d+)$`)

// CutVersion finds the version of the limits that a document was made from. It is in a comment, as "jeton limits get" prints it, among
// the comments and empty lines at the beginning of the document; the first one counts:
//
//	# version 4
//
// Line is the number of that line, from 1 on; 0 if there is none. Rest is the document without any such comments: the cluster stores
// documents without them, since each change has a new version. A number too large for a version becomes the highest one, which is
// never in force.
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

// byteOrderMark may precede the first line of a UTF-8 file.
var byteOrderMark = []byte("\uFEFF")
