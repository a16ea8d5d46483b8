package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPattern is how many bytes a pattern of a path may have.
const maxPattern = 2048

// CheckPattern says what is wrong with a pattern of a path; nil for nothing. A pattern is "/" or segments, each after a
// slash:
//
//	/users/{id}/orders$
//	       │           └ nothing below; without it, everything below is covered too
//	       └ one segment, whatever it is, by a name of letters, digits and underscores that begins with a letter
//
// A segment is compared with the decoded one of a cleaned path. So no segment is empty, "." or "..", none holds what only
// an undecoded path does (%2F), a control character or a backslash, and none holds ?, # or *, which mean nothing here.
func CheckPattern(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("is empty: write / for every path")
	case len(pattern) > maxPattern:
		return fmt.Errorf("%d bytes are too many: at most %d", len(pattern), maxPattern)
	case pattern[0] != '/':
		return fmt.Errorf("%.64q does not begin with a slash", pattern)
	case !utf8.ValidString(pattern) || strings.ContainsFunc(pattern, unicode.IsControl):
		return fmt.Errorf("%.64q holds a control character or is not UTF-8", pattern)
	}
	path := strings.TrimSuffix(pattern, "$")
	if path == "/" {
		return nil
	}
	var names []string
	for segment := range strings.SplitSeq(path[1:], "/") {
		name, err := checkSegment(segment)
		switch {
		case err != nil:
			return fmt.Errorf("%.64q %w", pattern, err)
		case name != "" && slices.Contains(names, name):
			return fmt.Errorf("%.64q has two segments named {%.64s}", pattern, name)
		case name != "":
			names = append(names, name)
		}
	}
	return nil
}

// checkSegment is the name of a segment {name}, and what is wrong with a segment.
func checkSegment(segment string) (name string, err error) {
	switch i := strings.IndexAny(segment, `?#*\`); {
	case segment == "":
		return "", errors.New("has an empty segment: leave out the extra slash, as a path covers everything below it")
	case segment == "." || segment == "..":
		return "", fmt.Errorf("has the segment %s, which no cleaned request path has", segment)
	case i >= 0 && segment[i] == '*':
		return "", errors.New("holds a *: a path covers everything below it, and {name} stands for one segment")
	case i >= 0:
		return "", fmt.Errorf("holds a %c, which no pattern may", segment[i])
	case escaped(segment):
		return "", errors.New("holds an escape such as %20: paths are compared decoded, write the character itself")
	case !strings.ContainsAny(segment, "{}"):
		return "", nil
	}
	name = strings.TrimSuffix(strings.TrimPrefix(segment, "{"), "}")
	if len(name)+2 != len(segment) || !isIdentifier(name) {
		return "", fmt.Errorf("holds the segment %.64q: write {name}, of letters, digits and underscores, and nothing beside it", segment)
	}
	return name, nil
}

// escaped says whether there is a percent sign with two hexadecimal digits in s.
func escaped(s string) bool {
	for i := range max(0, len(s)-2) {
		if s[i] == '%' && isHex(s[i+1]) && isHex(s[i+2]) {
			return true
		}
	}
	return false
}

// patternNames are the names of the segments {name} of a pattern that CheckPattern has let through.
func patternNames(pattern string) []string {
	var names []string
	for segment := range strings.SplitSeq(strings.TrimSuffix(pattern, "$"), "/") {
		if strings.HasPrefix(segment, "{") {
			names = append(names, strings.Trim(segment, "{}"))
		}
	}
	return names
}
