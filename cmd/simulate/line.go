package simulate

import "bytes"

// A line is what one line of a log says.
type line interface {
	// field is the text of a field; ok is false if the line has none of that name. The error is a *lineError.
	field(name string) (value string, ok bool, err error)
	// time is when it was, in nanoseconds since the Unix epoch.
	time(names []string) (int64, error)
	// names are the fields that it has, those first that are likely to say who asked.
	names() []string
}

// trimmed is a line without the white space around it, and without a byte order mark.
func trimmed(text []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
}
