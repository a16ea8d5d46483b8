package key

import (
	"bytes"
	"crypto/subtle"
	"fmt"
)

// Bounds of what a key file holds.
const (
	// MinSecret and MaxSecret are how many bytes a secret has, without white space at its ends.
	MinSecret = 16
	MaxSecret = 4096
	// MaxSecrets is how many a file holds.
	MaxSecrets = 4
)

// separator is the line between two secrets.
const separator = "---"

// dashes are what people and editors write in place of hyphens.
const dashes = "-–—−_ \t"

// byteOrderMark is what some editors write at the beginning of a file.
const byteOrderMark = "\ufeff"

// maxFile is how many bytes a key file has at most.
const maxFile int64 = MaxSecrets * (MaxSecret + 8)

// parse reads the text of a key file. The error never shows a secret.
func parse(text []byte) (all []*one, err error) {
	parts, err := split(text)
	if err != nil {
		return nil, err
	}
	if len(parts) > MaxSecrets {
		return nil, fmt.Errorf("it has %d keys: a file holds at most %d, the first of which is shown to others", len(parts), MaxSecrets)
	}
	for i, part := range parts {
		which := ""
		if len(parts) > 1 {
			which = fmt.Sprintf("key %d of %d: ", i+1, len(parts))
		}
		secret := bytes.TrimSpace(part)
		switch {
		case len(secret) > MaxSecret || len(parts) == 1 && len(part) > MaxSecret:
			return nil, fmt.Errorf("%sa cluster key has at most %d bytes: is this the key?", which, MaxSecret)
		case len(secret) < MinSecret:
			return nil, fmt.Errorf("%sa cluster key has at least %d bytes, and this one has %d: make one with `openssl rand -base64 32`",
				which, MinSecret, len(secret))
		case bytes.HasPrefix(secret, []byte(byteOrderMark)):
			return nil, fmt.Errorf("%sit begins with a byte order mark, which is invisible and makes another key: save the file as UTF-8 without one", which)
		}
		o, err := newOne(secret)
		if err != nil {
			return nil, err
		}
		if j := o.in(all); j >= 0 {
			return nil, fmt.Errorf("keys %d and %d are the same: leave one of them out", j+1, i+1)
		}
		all = append(all, o)
	}
	return all, nil
}

// split divides a text at the lines that separate secrets. A line of dashes that does not separate is refused: it would make one secret of
// what is meant to be two, and a node that starts with that is a stranger to all others.
func split(text []byte) (parts [][]byte, err error) {
	var part []byte
	number := 0
	for line := range bytes.Lines(text) {
		number++
		switch trimmed := bytes.TrimSpace(line); {
		case string(trimmed) == separator:
			parts = append(parts, part)
			part = nil
		case len(trimmed) > 0 && len(bytes.Trim(trimmed, dashes)) == 0:
			return nil, fmt.Errorf("line %d is %q: between two keys stands a line %s, of three hyphens", number, trimmed, separator)
		default:
			part = append(part, line...)
		}
	}
	return append(parts, part), nil
}

// in is where the same secret is in a list; -1 where it is not.
func (o *one) in(all []*one) int {
	at := -1
	for i, other := range all {
		if subtle.ConstantTimeCompare(o.root, other.root) == 1 {
			at = i
		}
	}
	return at
}
