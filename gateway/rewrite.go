package gateway

import (
	"net/http/httputil"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/internal/alias"
)

// rewrite makes the request that the upstream gets: for the target that was judged, without anything that only the gateway should
// see or that a client must not set. [httputil.ReverseProxy] has removed hop-by-hop headers and the client's X-Forwarded headers
// before; roundTrip fills in the instance. Trailers are not forwarded: a service may take them for headers, and no rule has seen
// them.
func rewrite(r *httputil.ProxyRequest) {
	x := roundTripOf(r.In)
	u := x.route.upstream
	r.Out.URL, r.Out.Host, r.Out.Trailer = x.target.At(u.instances[0].url), "", nil
	if u.config.KeepHost {
		r.Out.Host = x.target.Authority()
	}
	x.setForwarded(r)
	if !strings.EqualFold(r.Out.Header.Get("Upgrade"), "websocket") { // h2c would be a tunnel for any number of requests
		r.Out.Header.Del("Upgrade")
		r.Out.Header.Del("Connection")
	}
	for _, name := range x.rules.secrets {
		r.Out.Header.Del(name)
	}
	if x.route.llm != nil { // a GET, too, could open a tunnel for any number of requests to the model
		r.Out.Header.Del("Upgrade")
		r.Out.Header.Del("Connection")
	}
	if x.llm != nil {
		x.llm.rewrite(r.Out.Header)
	}
	x.rules.finder.Strip(r.Out, x.knowsKey)
	inject(r.Out)
}

// setForwarded sets the headers that say where the request comes from. What a trusted proxy said is kept, with the proxy's address
// added; what any other client said is removed, as are headers that only trusted proxies may set. Headers by another name that some
// services take for one of these (see [alias.Header]) are always removed.
func (x *roundTrip) setForwarded(r *httputil.ProxyRequest) {
	trusted := x.rules.proxies.Contains(peerAddr(r.In.RemoteAddr))
	for name := range r.Out.Header {
		if only, exact := x.rules.ofProxy(name); only && (!trusted || !exact) {
			delete(r.Out.Header, name)
		}
	}
	if trusted {
		for _, name := range []string{"X-Forwarded-For", "Forwarded"} {
			if said, ok := r.In.Header[name]; ok {
				r.Out.Header[name] = said
			}
		}
	}
	r.SetXForwarded()
	r.Out.Header.Set("X-Forwarded-Host", x.target.Authority())
	if trusted {
		for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto"} {
			if said, ok := r.In.Header[name]; ok {
				r.Out.Header[name] = said
			}
		}
	}
}

// proxyHeaders are headers besides X-Forwarded-… in which proxies say where a request comes from, or what was asked for. Some
// services believe them.
var proxyHeaders = []string{
	"Cf-Connecting-Ip", "Client-Ip", "True-Client-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Host", "X-Original-Method",
	"X-Original-Uri", "X-Original-Url", "X-Real-Ip", "X-Rewrite-Url",
}

// ofProxy reports whether only trusted proxies may set a header, and whether this is its very name and no other one for it.
func (r *rules) ofProxy(name string) (only, exact bool) {
	usual := alias.Header(name)
	if strings.HasPrefix(usual, "X-Forwarded-") || usual == "Forwarded" || slices.Contains(proxyHeaders, usual) {
		only, exact = true, usual == name
	}
	for _, own := range r.ofProxies {
		only, exact = only || usual == alias.Header(own), exact || name == own
	}
	return only, exact
}
