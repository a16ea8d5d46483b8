package identity

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxSecretToken is how many bytes a token that somebody shows may have.
const maxSecretToken = 4096

// Tokens are secrets that requests show, of which any opens the door. They are kept as hashes only, and never change.
type Tokens struct{ digests [][sha256.Size]byte }

// NewTokens reads tokens, one a line; white space at the ends of a line, empty lines and lines that begin with # do not
// count. It is an error when there is none, or one has less than least characters.
func NewTokens(text []byte, least int) (*Tokens, error) {
	t := &Tokens{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		token := bytes.TrimSpace(line)
		if len(token) == 0 || token[0] == '#' {
			continue
		}
		if has := utf8.RuneCount(token); has < least {
			return nil, fmt.Errorf("line %d: the token has %d characters: use at least %d", n, has, least)
		}
		if len(token) > maxSecretToken {
			return nil, fmt.Errorf("line %d: the token has %d bytes: use at most %d", n, len(token), maxSecretToken)
		}
		t.digests = append(t.digests, sha256.Sum256(token))
	}
	if len(t.digests) == 0 {
		return nil, errors.New("has no token: write one a line")
	}
	return t, nil
}

// Has says whether token is one of them. It takes the same time whichever it is, or nearly is. A nil Tokens has none.
func (t *Tokens) Has(token string) bool {
	if t == nil || token == "" || len(token) > maxSecretToken {
		return false
	}
	sum := sha256.Sum256([]byte(token))
	found := 0
	for i := range t.digests {
		found |= subtle.ConstantTimeCompare(sum[:], t.digests[i][:])
	}
	return found == 1
}
