package keys

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
)

// lineJSON is a line.
type lineJSON struct {
	Label      string            `json:"label"`
	Owner      string            `json:"owner"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Expires    string            `json:"expires,omitempty"`
	Digest     string            `json:"digest"`
}

// line is the key as a file has it, with the end of the line.
func (k *Key) line() []byte {
	out := lineJSON{Label: k.Label, Owner: k.Owner, Attributes: k.Attributes, Digest: hex.EncodeToString(k.Digest[:])}
	if !k.Expires.IsZero() {
		out.Expires = k.Expires.UTC().Format(time.RFC3339Nano)
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // texts can always be written
	}
	return append(text, '\n')
}

// revocationPrefix begins the comment that replaces a revoked key: # revoked LABEL SHA-256 TIME.
const revocationPrefix = "# revoked "

// revocation is the comment in the place of the key, with the end of the line. It does not name the owner.
func (k *Key) revocation(now time.Time) []byte {
	return fmt.Appendf(nil, "%s%s %x %s\n", revocationPrefix, k.Label, k.Digest, now.UTC().Format(time.RFC3339))
}

// parseRevocation is the digest in such a comment; ok is false for any other.
func parseRevocation(line []byte) (d Digest, ok bool) {
	rest, ours := bytes.CutPrefix(line, []byte(revocationPrefix))
	words := bytes.Fields(rest)
	if !ours || len(words) < 2 || len(words[1]) != hex.EncodedLen(len(d)) {
		return d, false
	}
	_, err := hex.Decode(d[:], words[1])
	return d, err == nil
}

// parseLine reads one line strictly, without its end.
func parseLine(line []byte) (*Key, *limit.FieldError) {
	var in lineJSON
	switch err := json.Unmarshal(line, &in); {
	case !utf8.Valid(line):
		return nil, wrong("line", "is not UTF-8")
	case err != nil:
		return nil, notAKey(err)
	}
	if problem := checkFields(line); problem != nil {
		return nil, problem
	}
	k := &Key{Label: in.Label, Owner: in.Owner, Attributes: in.Attributes}
	if in.Digest != "" {
		n, err := hex.Decode(k.Digest[:], []byte(in.Digest[:min(len(in.Digest), 2*len(k.Digest))]))
		if err != nil || n != len(k.Digest) || len(in.Digest) != 2*n {
			return nil, wrong(fieldDigest, "is not 64 hexadecimal digits: it is the SHA-256 of the key")
		}
	}
	if in.Expires != "" {
		var err error
		if k.Expires, err = time.Parse(time.RFC3339, in.Expires); err != nil {
			return nil, wrong(fieldExpires, fmt.Sprintf("%.64q is not a time as in RFC 3339, such as 2027-01-01T00:00:00Z", in.Expires))
		}
	}
	if problem, is := errors.AsType[*limit.FieldError](k.Validate()); is {
		return nil, problem
	}
	return k, nil
}

// notAKey says why a line cannot be decoded.
func notAKey(err error) *limit.FieldError {
	if kind, is := errors.AsType[*json.UnmarshalTypeError](err); is && kind.Field != "" {
		return wrong(kind.Field, fmt.Sprintf("is a JSON %s: write %s", kind.Value, expected(kind.Field)))
	}
	return wrong("line", `is not a JSON object: write a key on each line, as in {"label":"ci","owner":"acme","digest":"…"}: `+err.Error())
}

// expected is what a field holds.
func expected(field string) string {
	if field == fieldAttributes {
		return `an object of texts, as in {"plan":"gold"}`
	}
	return "a text, in quotes"
}

// checkFields says which name of the object in a line, or of the attributes in it, is unknown or there twice: encoding/json takes
// the last of several, and names in other letters. The line is JSON that lineJSON has taken.
func checkFields(line []byte) *limit.FieldError {
	var room [2][8]string
	seen := [...][]string{room[0][:0], room[1][:0]} // by depth
	depth, begin, quoted := -1, 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case quoted && c == '"':
			quoted = false
			if rest := bytes.TrimLeft(line[i+1:], " \t\r"); len(rest) == 0 || rest[0] != ':' {
				continue // a value
			}
			name := string(line[begin:i])
			at := strings.Repeat(fieldAttributes+".", depth) + name
			switch {
			case slices.Contains(seen[depth], name):
				return wrong(at, "is there twice: leave one of them out")
			case depth == 0 && !slices.Contains(fields, name):
				return wrong(at, "is not a known field: known here are "+strings.Join(fields, ", "))
			case depth == 1 && !isName(name): // an escape is none either
				return notAName(name)
			}
			seen[depth] = append(seen[depth], name)
		case quoted:
		case c == '"':
			quoted, begin = true, i+1
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
	}
	return nil
}
