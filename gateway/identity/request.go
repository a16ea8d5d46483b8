package identity

import (
	"net/http"
	"net/netip"

	"github.com/jeton-dev/jeton/gateway/route"
)

// A Request is what rules see of a request. It is the same for HTTP, gRPC and forward-auth.
type Request struct {
	Method   string
	Host     string      // in the form of route.Host; empty when it is not known
	Path     string      // clean: decoded, without dot segments
	Header   http.Header // names in canonical form
	RawQuery string      // without the question mark
	Peer     netip.Addr  // the connection's other end; the zero Addr when that has no address
	// FromProxy says that a trusted proxy handed the request over, although Peer is not its address: with forward-auth, the proxy
	// itself reports Peer. Its headers count for {proxy_header.NAME}.
	FromProxy bool
	Length    int64         // of the body in bytes; -1 when it is unknown
	Route     string        // the name of the route that it matches
	Params    []route.Param // the values of the {name}s of the route's path
}

// param is the value of a {name} of the route's path.
func (r *Request) param(name string) string {
	for _, p := range r.Params {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// header is the value of a header by its canonical name, empty if there is none. It is empty too when the header came several times
// with different values: a server that reads the first one and a server that reads the last one would see two different clients.
func (r *Request) header(name string) string {
	lines := r.Header[name]
	if len(lines) == 0 {
		return ""
	}
	value := trim(lines[0])
	for _, other := range lines[1:] {
		if trim(other) != value {
			return ""
		}
	}
	return value
}
