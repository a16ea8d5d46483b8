package extauthz

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"golang.org/x/net/http/httpguts"
)

// A question is what a proxy asks: may this request pass?
type question struct {
	method, host, path, scheme string
	client                     netip.Addr // that connected to the proxy
	header                     http.Header
	doubtful                   []string // names of headers, as the client sent them, that must not reach the upstream
}

// read reads a CheckRequest. Its error is a *refusal where a client can have caused it; any other one names the attribute that is
// missing.
func read(r *authv3.CheckRequest) (*question, error) {
	attributes := r.GetAttributes()
	h := attributes.GetRequest().GetHttp()
	switch {
	case attributes == nil:
		return nil, missing("attributes", "send an AttributeContext")
	case h == nil:
		return nil, missing("attributes.request.http", "ask from an HTTP filter: a TCP connection has no request to decide about")
	case h.GetMethod() == "":
		return nil, missing("attributes.request.http.method", "send the method of the request")
	}
	client, err := clientOf(attributes.GetSource())
	if err != nil {
		return nil, err
	}
	q := &question{method: h.GetMethod(), host: h.GetHost(), path: h.GetPath(), scheme: h.GetScheme(), client: client}
	if err := q.check(); err != nil {
		return nil, err
	}
	f := fields{header: http.Header{}, room: maxHeader - len(q.method) - len(q.host) - len(q.path) - len(q.scheme)}
	if err := f.read(h); err != nil {
		return nil, err
	}
	q.header, q.doubtful = f.header, f.doubtful
	return q, nil
}

// missing is the error of an attribute that the proxy must send.
func missing(field, do string) error { return fmt.Errorf("%s is missing: %s", field, do) }

// clientOf is the address of the client that connected to the proxy.
func clientOf(source *authv3.AttributeContext_Peer) (netip.Addr, error) {
	const field = "attributes.source.address.socket_address.address"
	socket := source.GetAddress().GetSocketAddress()
	if socket.GetAddress() == "" {
		return netip.Addr{}, missing(field, "clients are told apart by their IP address; one that connects by a Unix socket has none")
	}
	a, err := netip.ParseAddr(socket.GetAddress())
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%s: %.64q is not an IP address: send one, such as 192.0.2.7 or 2001:db8::7", field, socket.GetAddress())
	}
	return a.Unmap().WithZone(""), nil
}

// check refuses what could not stand in a header of the same question over HTTP.
func (q *question) check() error {
	switch {
	case !httpguts.ValidHeaderFieldName(q.method): // the same characters as those of a method
		return &refusal{http.StatusBadRequest, "the method has characters that methods cannot have"}
	case !httpguts.ValidHeaderFieldValue(q.host):
		return &refusal{http.StatusBadRequest, "the host has control characters"}
	case !httpguts.ValidHeaderFieldValue(q.path):
		return &refusal{http.StatusBadRequest, "the path has control characters: percent-encode them"}
	case !httpguts.ValidHeaderFieldValue(q.scheme):
		return &refusal{http.StatusBadRequest, "the scheme has control characters"}
	}
	return nil
}

// request is the question as a proxy asks it over HTTP. What the attributes say is written last, so that nothing which the client
// has sent can stand beside it or behind it.
func (q *question) request(ctx context.Context, asker string) *http.Request {
	h := q.header
	h["X-Forwarded-Method"] = []string{q.method}
	h["X-Forwarded-Uri"] = []string{q.path}
	h["X-Forwarded-For"] = append(h["X-Forwarded-For"], q.client.String())
	if q.host != "" {
		h["X-Forwarded-Host"] = []string{q.host}
	}
	if q.scheme != "" {
		h["X-Forwarded-Proto"] = []string{strings.ToLower(q.scheme)}
	}
	return (&http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: "/auth"}, RequestURI: "/auth", Host: q.host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: http.NoBody, RemoteAddr: asker,
	}).WithContext(ctx)
}
