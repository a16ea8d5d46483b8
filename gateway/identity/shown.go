package identity

import (
	"crypto/sha256"

	"github.com/jeton-dev/jeton/internal/bearer"
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

// believe is the claims of the token in r that the first issuer believes, nil if none does. Then outcome is what the token that
// went furthest failed: of several issuers, most see at once that a token is another's. It is believed if there is no token.
func (f *Finder) believe(r *Request) (_ map[string]any, furthest outcome) {
	if len(f.issuers) == 0 {
		return nil, believed
	}
	now := f.now()
	var shown shownToken
	for _, is := range f.issuers {
		for _, raw := range [...]string{is.inHeader(r), is.inCookie(r)} {
			if raw == "" {
				continue
			}
			if raw != shown.raw {
				shown = shownToken{raw: raw}
			}
			claims, o := is.judge(&shown, now)
			is.counts[o].Inc()
			if claims != nil {
				return claims, o
			}
			furthest = max(furthest, o)
		}
	}
	return nil, furthest
}

// inHeader is the token in the issuer's header, empty for none.
func (is *issuer) inHeader(r *Request) string {
	value := r.header(is.header)
	token, ok := bearer.Cut(value)
	if !ok && is.bare {
		return value
	}
	return token
}

// inCookie is the token in the issuer's cookie, empty for none.
func (is *issuer) inCookie(r *Request) string {
	if is.cookie == "" {
		return ""
	}
	return findCookie(r.Header["Cookie"], is.cookie)
}
