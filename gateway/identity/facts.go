package identity

import (
	"encoding/hex"
	"net/http"
	"net/netip"

	"github.com/jeton-dev/jeton/gateway/keys"
)

// Facts are what is known of one request. They are found when they are first asked for, and then kept, so they belong to
// one goroutine at a time.
type Facts struct {
	finder  *Finder
	request *Request

	client      netip.Addr
	foundClient bool

	claims       map[string]any // of the token that is believed; nil for none
	tokenOutcome outcome        // if none is
	foundClaims  bool

	key     foundKey             // the API key that is shown
	digest  [2 * digestSize]byte // of it, in hexadecimal, if it counts
	keyLook bool                 // key has been looked for
}

// Facts are what is known of r, which must stay as it is while they are used.
func (f *Finder) Facts(r *Request) Facts { return Facts{finder: f, request: r} }

// Client is the address of the client: the other end of the connection, or what trusted proxies say of it. IPv4 within
// IPv6 is unwrapped and a zone dropped. It is the zero Addr when the connection's other end has no address.
func (f *Facts) Client() netip.Addr {
	if !f.foundClient {
		f.foundClient = true
		f.client = f.finder.addresses.client(f.request.Peer, f.request.Header)
	}
	return f.client
}

// Origin is the network by which the client of a request is told apart from others: one address of IPv4, or as many bits of
// IPv6 as count. It is found as [Facts.Client] is; peer is the connection's other end. It is the zero Prefix when that has no
// address.
func (f *Finder) Origin(peer netip.Addr, h http.Header) netip.Prefix {
	client := f.addresses.client(peer, h)
	bits := client.BitLen()
	if client.Is6() {
		bits = f.addresses.prefix
	}
	origin, err := client.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return origin
}

// KnowsKey says whether the request shows an API key that counts; see [Finder.Strip].
func (f *Facts) KnowsKey() bool {
	f.findKey()
	return f.key.counts
}

// KeyLabel is the name for operators of the API key that the request was counted by: its label, or a short hash if the document
// itself lists the key. It is empty when the request has no valid key, or when no check has read it.
func (f *Facts) KeyLabel() string {
	switch {
	case !f.key.counts:
		return ""
	case f.key.listed != nil:
		return f.key.listed.Label
	}
	return "hash " + keys.Digest(f.key.digest).Short()
}

// findKey fills key and digest.
func (f *Facts) findKey() {
	if f.keyLook || f.finder.apiKeys == nil {
		return
	}
	f.keyLook = true
	key := f.finder.apiKeys.find(f.request)
	switch {
	case key == "":
		return
	case len(key) > maxAPIKey:
		f.key.flaw = Flaw{anAPIKey, keyTooLong}
		return
	}
	if f.key = f.finder.apiKeys.judge(key, f.finder.now()); f.key.counts {
		hex.Encode(f.digest[:], f.key.digest[:])
	}
}

// token is the claims of the token that is believed, nil for none.
func (f *Facts) token() map[string]any {
	if !f.foundClaims {
		f.foundClaims = true
		f.claims, f.tokenOutcome = f.finder.believe(f.request)
	}
	return f.claims
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

// fromProxy says whether a trusted proxy handed the request over.
func (f *Facts) fromProxy() bool {
	return f.request.FromProxy || f.finder.addresses.trusted.Contains(f.request.Peer)
}

// Examine is [Facts.Flaw] after it has read both the token and the API key.
func (f *Facts) Examine() Flaw {
	f.token()
	f.findKey()
	return f.Flaw()
}

// Flaw is what is wrong with the token or the API key of the request, as far as a check or [Facts.Examine] has read them. If both
// are invalid, it is that of the token. If a request shows several tokens, one valid token is enough. Where both kinds are shown in
// the same header, one that is valid as either kind is enough.
//
// The zero Facts have none.
func (f *Facts) Flaw() Flaw {
	if f.finder == nil {
		return Flaw{}
	}
	shared := f.finder.shared
	if shared && (f.foundClaims || f.keyLook) {
		f.token()
		f.findKey()
	}
	token, key := f.tokenFlaw(), f.key.flaw
	if shared && (f.claims != nil || f.key.counts) {
		return Flaw{}
	}
	if token == (Flaw{}) || shared && token.Check == outcomeNames[malformed] && key != (Flaw{}) {
		return key
	}
	return token
}

// tokenFlaw is that of the token.
func (f *Facts) tokenFlaw() Flaw {
	if f.claims != nil || f.tokenOutcome < malformed {
		return Flaw{}
	}
	return Flaw{aToken, outcomeNames[f.tokenOutcome]}
}
