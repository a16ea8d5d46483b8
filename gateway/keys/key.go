// Package keys reads and edits the files of API keys beside the document of a gateway: the owner of each key, its attributes and its
// expiry. A file has a key on each line, as a JSON object; empty lines and lines that begin with # are ignored:
//
//	{"label":"ci","owner":"acme","attributes":{"plan":"gold"},"expires":"2027-01-01T00:00:00Z","digest":"7d1a…"}
//
// The file does not contain the key itself, but its SHA-256. That is safe because [Make] draws 256 random bits, which cannot be found
// by brute force: neither a salt nor a slow hash would add anything, and a request costs one hash and one look-up. Passwords, or
// keys that people made up, do not belong here.
//
// It promises:
//   - A file is read strictly: any mistake is an error with its line, and no key of that file is valid.
//   - [Add] and [Revoke] replace a file whole or not at all, also when power fails, and several at once lose nothing.
//   - What a [Set] holds never changes; to find a key takes the same time whether it has ten or a hundred thousand.
//
// Start with [Reader].
package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	maxName   = 64  // characters of a label and of the name of an attribute
	maxValue  = 256 // bytes of an owner and of the value of an attribute
	randomKey = 32  // bytes
	shortHash = 8   // hexadecimal digits by which people tell keys apart
)

// prefix begins every key that Make makes, so that people and scanners of repositories know what they have found.
const prefix = "jeton_"

// The fields of a line.
const (
	fieldLabel      = "label"
	fieldOwner      = "owner"
	fieldDigest     = "digest"
	fieldAttributes = "attributes"
	fieldExpires    = "expires"
)

// fields are all of them.
var fields = []string{fieldLabel, fieldOwner, fieldDigest, fieldAttributes, fieldExpires}

// A Digest is the SHA-256 of a key.
type Digest [sha256.Size]byte

// Short is the beginning of the digest, for people.
func (d Digest) Short() string { return hex.EncodeToString(d[:shortHash/2]) }

// DigestOf is the digest of a key.
func DigestOf(key string) Digest { return sha256.Sum256([]byte(key)) }

// A Key is what is known of an API key.
type Key struct {
	// Label tells the key apart from all others: 1 to 64 letters, digits, dots, dashes and underscores.
	Label string
	// Owner is the name of its owner, up to 256 bytes.
	Owner string
	// Digest is its SHA-256.
	Digest Digest
	// Attributes are what else is known of it, such as its plan.
	Attributes map[string]string
	// Expires is from when on it does not count any more; the zero Time is never.
	Expires time.Time
}

// Make makes a key of 256 random bits.
func Make() string {
	random := make([]byte, randomKey)
	_, _ = rand.Read(random) // which never fails
	return prefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random))
}

// Expired says whether the key does not count any more.
func (k *Key) Expired(now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

// Attribute is what is known of the key under a name, label and owner among them; empty for nothing.
func (k *Key) Attribute(name string) string {
	switch name {
	case fieldLabel:
		return k.Label
	case fieldOwner:
		return k.Owner
	}
	return k.Attributes[name]
}

// Validate says what is wrong with the key; the error is a *limit.FieldError.
func (k *Key) Validate() error {
	switch {
	case k.Label == "":
		return wrong(fieldLabel, "is missing: name the key, as in "+`"label":"ci"`)
	case !isName(k.Label):
		return wrong(fieldLabel, fmt.Sprintf("%.64q is not a valid label: write 1 to %d letters, digits, dots, dashes and underscores", k.Label, maxName))
	case k.Owner == "":
		return wrong(fieldOwner, "is missing: say who the key belongs to, as in "+`"owner":"acme"`)
	case k.Digest == Digest{}:
		return wrong(fieldDigest, "is missing: it is the SHA-256 of the key, 64 hexadecimal digits")
	}
	if problem := problemOf(k.Owner); problem != "" {
		return wrong(fieldOwner, problem)
	}
	if year := k.Expires.UTC().Year(); year < 1 || year > 9999 {
		return wrong(fieldExpires, "is not in a year from 1 to 9999: leave it out for a key that does not expire")
	}
	for name, value := range k.Attributes {
		at := fieldAttributes + "." + name
		switch problem := problemOf(value); {
		case !isName(name):
			return notAName(name)
		case name == fieldLabel || name == fieldOwner:
			return wrong(at, "is a field of the key itself: write it beside attributes")
		case value == "":
			return wrong(at, "is empty: give it a value, or leave it out")
		case problem != "":
			return wrong(at, problem)
		}
	}
	return nil
}

// problemOf is what is wrong with a text for people, empty for nothing.
func problemOf(value string) string {
	switch {
	case len(value) > maxValue:
		return fmt.Sprintf("has %d bytes: write at most %d", len(value), maxValue)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return fmt.Sprintf("%.64q holds a control character or is not UTF-8", value)
	}
	return ""
}

func isName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return s != "" && len(s) <= maxName
}

func wrong(field, problem string) *limit.FieldError {
	return &limit.FieldError{Field: field, Problem: problem}
}

// notAName is the problem of an attribute.
func notAName(name string) *limit.FieldError {
	return wrong(fieldAttributes, fmt.Sprintf("%.64q is not a valid name: write 1 to %d letters, digits, dots, dashes and underscores", name, maxName))
}
