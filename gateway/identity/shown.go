package identity

import (
	"crypto/sha256"
)

// A shownToken is a token as a request shows it. What is found of it is kept, since several issuers may look.
type shownToken struct {
	raw    string
	sum    [sha256.Size]byte
	hashed bool
	token  *unverified
	parsed bool
}

// hash is the SHA-256 of the token.
func (b *shownToken) hash() [sha256.Size]byte {
	if !b.hashed {
		b.sum, b.hashed = sha256.Sum256([]byte(b.raw)), true
	}
	return b.sum
}

// parse is what the token claims, nil if it is malformed.
func (b *shownToken) parse() *unverified {
	if !b.parsed {
		b.token, b.parsed = parseToken(b.raw), true
	}
	return b.token
}
