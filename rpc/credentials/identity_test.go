package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/web"
)

// The audit log calls a caller by what it has shown, and never shows a token.
func TestIdentity(t *testing.T) {
	tokens := newTokens(t, nil, tokenFile(t, "# name: ann\n"+oneToken+"\n"+anotherToken+"\n"))
	guard := &Guard{Tokens: tokens}
	state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{{Subject: pkix.Name{CommonName: "billing", Organization: []string{"Acme"}}}}}
	certificate := credentials.TLSInfo{State: state}
	from := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 5331}
	for _, tt := range []struct {
		what  string
		info  credentials.AuthInfo
		token string
		want  access.Identity
	}{
		{"nothing", nil, "", access.Identity{Who: "no credentials", None: true}},
		{"a wrong token", nil, "0123456789abcdeX", access.Identity{Who: "no credentials", None: true}},
		{"a token with a name", nil, oneToken, access.Identity{Who: "token ann"}},
		{"a token without", nil, anotherToken, access.Identity{Who: "token d3511031"}},
		{"the key", keyInfo{certificate}, "", access.Identity{Who: "cluster key", Key: true}},
		{"a certificate", certificate, "", access.Identity{Who: "certificate CN=billing,O=Acme"}},
		{"a certificate and a token", certificate, oneToken, access.Identity{Who: "token ann, certificate CN=billing,O=Acme"}},
	} {
		ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: from, AuthInfo: tt.info})
		if tt.token != "" {
			ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer "+tt.token))
		}
		tt.want.From = "10.0.0.7:5331"
		if got := guard.identity(ctx); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.what, got, tt.want)
		}
	}
	if got := guard.identity(context.Background()); got != (access.Identity{Who: "no credentials", None: true}) {
		t.Errorf("without a connection: %+v", got)
	}
	overHTTP(t, tokens, &state)
}

// overHTTP sees the same over HTTP.
func overHTTP(t *testing.T, tokens *Tokens, state *tls.ConnectionState) {
	t.Helper()
	var got access.Identity
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = access.IdentityOf(r.Context()) })
	h, err := web.NewGuard(next, web.GuardConfig{Door: access.NodeHTTP, Beyond: true, Tokens: tokens.Counts, Name: tokens.Name, Where: "a token"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method string
		tls    *tls.ConnectionState
		want   access.Identity
	}{
		{http.MethodGet, nil, access.Identity{}}, // changes nothing
		{http.MethodDelete, nil, access.Identity{Who: "token ann", From: "192.0.2.1:1234"}},
		{http.MethodDelete, state, access.Identity{Who: "token ann, certificate CN=billing,O=Acme", From: "192.0.2.1:1234"}},
	} {
		r := httptest.NewRequestWithContext(t.Context(), tt.method, "/v1/buckets/demo/k", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+oneToken)
		r.TLS = tt.tls
		got = access.Identity{}
		h.ServeHTTP(httptest.NewRecorder(), r)
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.method, got, tt.want)
		}
	}
}

// Each token is called by what tells it from the others.
func TestTokenNames(t *testing.T) {
	k := newKey(t, "a secret of a good length")
	if got := newTokens(t, k, "").Name(k.Token()); got != "token of the cluster key" {
		t.Errorf("the key's is called %q", got)
	}
	local, err := NewTokens(TokensConfig{File: tokenFile(t, oneToken), Local: true})
	if err != nil || local.Name(oneToken) != "token of the data directory" {
		t.Errorf("the node's own: %v", err)
	}
	var none *Tokens
	if got := none.Name(oneToken); got != "a token" {
		t.Errorf("without tokens it is called %q", got)
	}
}
