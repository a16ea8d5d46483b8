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

// KeyLabel is what people call the API key by which the request was counted: its label, or of one that the document itself has
// a short hash. It is empty when there is none that counts, or nobody has looked for it.
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

// fromProxy says whether a trusted proxy handed the request over.
func (f *Facts) fromProxy() bool {
	return f.request.FromProxy || f.finder.addresses.trusted.Contains(f.request.Peer)
}
