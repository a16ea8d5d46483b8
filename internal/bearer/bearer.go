// Package bearer reads bearer tokens (RFC 6750): the token that a request shows, and files of tokens, one per line. Start with
// [Cut] and [Parse].
package bearer

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
)

// Scheme is the word before a token in the header Authorization. Upper and lower case are the same.
const Scheme = "Bearer"

// What a file of tokens may hold.
const (
	MinLength = 16   // bytes of a token
	MaxLength = 4096 // bytes of a token
	MaxTokens = 1000
)

const blank = " \t"

// Cut returns the token in the value of a header: what follows the scheme and a space or tab, without blanks at its ends. Where
// value has another scheme or none, or no blank follows the scheme, ok is false and the token is empty.
func Cut(value string) (token string, ok bool) {
	if len(value) <= len(Scheme) || !strings.EqualFold(value[:len(Scheme)], Scheme) || !strings.Contains(blank, value[len(Scheme):len(Scheme)+1]) {
		return "", false
	}
	return strings.Trim(value[len(Scheme):], blank), true
}

// Parse reads a file of tokens: at least one, of printable ASCII without spaces. White space at the ends of a line, empty lines
// and lines that begin with # do not count. The error names the line, and never shows a token.
func Parse(file []byte) (tokens []string, err error) {
	line := 0
	for token := range bytes.Lines(file) {
		line++
		token = bytes.TrimSpace(token)
		switch {
		case len(token) == 0 || token[0] == '#':
			continue
		case len(token) < MinLength:
			return nil, fmt.Errorf("line %d: a token needs at least %d bytes, this one has %d: make one with `openssl rand -hex 32`",
				line, MinLength, len(token))
		case len(token) > MaxLength:
			return nil, fmt.Errorf("line %d: a token has at most %d bytes, this one has %d", line, MaxLength, len(token))
		case bytes.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }):
			return nil, fmt.Errorf("line %d: a token is printable ASCII without spaces, one per line", line)
		}
		tokens = append(tokens, string(token))
	}
	switch {
	case len(tokens) == 0:
		return nil, errors.New("holds no token: write one per line, such as the output of `openssl rand -hex 32`")
	case len(tokens) > MaxTokens:
		return nil, fmt.Errorf("holds %d tokens; the maximum is %d", len(tokens), MaxTokens)
	}
	return tokens, nil
}

// A Set is the tokens that count, kept as digests. It does not change. A nil Set has none.
type Set struct{ digests []digest }

// A digest stands for a token. All digests have one length, so a comparison takes as long for every token.
type digest [sha256.Size]byte

// NewSet makes a Set of these tokens.
func NewSet(tokens ...string) *Set {
	s := &Set{digests: make([]digest, len(tokens))}
	for i, token := range tokens {
		s.digests[i] = sha256.Sum256([]byte(token))
	}
	return s
}

// Has says whether a token is in the set. It takes as long whichever token it is, and however much of it is right.
func (s *Set) Has(token string) bool {
	if s == nil || token == "" || len(token) > MaxLength {
		return false
	}
	shown := digest(sha256.Sum256([]byte(token)))
	found := 0
	for i := range s.digests {
		found |= subtle.ConstantTimeCompare(shown[:], s.digests[i][:])
	}
	return found == 1
}
