package rpc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/web"
)

// A method that the table does not name is not served: nobody has said who may call it.
func TestEveryMethodIsInTheTable(t *testing.T) {
	door := &doorkeeper{Server: grpc.NewServer()}
	door.RegisterService(&grpc.ServiceDesc{
		ServiceName: "jeton.v1.Limiter", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Check"}, {MethodName: "Refill"}},
		Streams: []grpc.StreamDesc{{StreamName: "CheckStream"}, {StreamName: "Refills"}},
	}, 0)
	wantText(t, door.check(), "[/jeton.v1.Limiter/Refill /jeton.v1.Limiter/Refills] are missing in the table")
}

// What the API answers is behind the guard: with and without a token, on a port of its own machine and beyond.
func TestTheGuardOfTheAPI(t *testing.T) {
	tokens := newTokens(t, nil, tokenFile(t, oneToken))
	const never, beyondOnly, always = 0, 1, 2 // where a token is needed
	for _, tt := range []struct {
		method, path, body string
		status             int // of who is let in
		needs              int
	}{
		{"POST", "/v1/check", `{"key":"k","limits":["demo"]}`, 200, never},
		{"GET", "/v1/check", "", 405, beyondOnly},
		{"POST", "/v1/return", `{"key":"k","receipts":[]}`, 200, never},
		{"GET", "/v1/limits", "", 200, never},
		{"PUT", "/v1/limits", "limits: {}", 405, always}, // of a node that is alone
		{"GET", "/v1/buckets/demo/k", "", 200, beyondOnly},
		{"HEAD", "/v1/buckets/demo/k", "", 200, beyondOnly},
		{"DELETE", "/v1/buckets/demo/k", "", 204, always},
		{"POST", "/v1/buckets/demo/k", "", 405, beyondOnly},
		{"OPTIONS", "/v1/check", "", 405, beyondOnly},
		{"GET", "/v1/buckets/", "", 400, beyondOnly},
		{"GET", "/v1/buckets/demo/a//../b", "", 200, beyondOnly},
		{"GET", "/v1/%62uckets/demo/k", "", 404, beyondOnly},
		{"DELETE", "//v1/buckets/demo/k", "", 404, beyondOnly},
		{"GET", "/v1/other", "", 404, beyondOnly},
	} {
		for _, beyond := range []bool{false, true} {
			for _, header := range []string{"", "Bearer wrong-wrong-wrong", "Bearer " + oneToken} {
				doc := document(t)
				api, err := web.NewAPI(web.APIConfig{Limiter: newModel(t), Limits: func() *limit.Document { return doc }})
				if err != nil {
					t.Fatal(err)
				}
				r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, strings.NewReader(tt.body))
				r.Host = "localhost:7702"
				if header != "" {
					r.Header.Set("Authorization", header)
				}
				w := httptest.NewRecorder()
				newGuard(t, api, tokens, beyond).ServeHTTP(w, r)
				want := tt.status
				if header != "Bearer "+oneToken && (tt.needs == always || tt.needs == beyondOnly && beyond) {
					want = http.StatusUnauthorized
				}
				if w.Code != want || (want == http.StatusUnauthorized) != (w.Header().Get("WWW-Authenticate") != "") {
					t.Errorf("%s %s, beyond %v, %q: %d, want %d: %s", tt.method, tt.path, beyond, header, w.Code, want, w.Body)
				}
			}
		}
	}
}

// A web page can make the browser of somebody on this machine send requests to a loopback port. None of them does anything,
// and what curl and programs send does.
func TestWebPagesMayNotAsk(t *testing.T) {
	tokens := newTokens(t, nil, tokenFile(t, oneToken))
	const good, evil = "127.0.0.1:7702", "evil.example:7702"
	for _, tt := range []struct {
		what, method, path, host string
		headers                  []string
		local, beyond            bool // it gets through, on loopback and on a port for others
	}{
		{"curl", "POST", "/v1/check", good, nil, true, true},
		{"curl by name", "POST", "/v1/check", "localhost", nil, true, true},
		{"curl by IPv6", "POST", "/v1/check", "[::1]:7702", nil, true, true},
		{"HTTP/1.0", "POST", "/v1/check", "", nil, true, true},
		{"curl from elsewhere", "POST", "/v1/check", "a.example:7702", nil, false, true},
		{"a form of a page", "POST", "/v1/check", good, []string{"Origin: http://evil.example", "Content-Type: text/plain"}, false, false},
		{"a sandboxed page", "POST", "/v1/check", good, []string{"Origin: null"}, false, false},
		{"a page, says the browser", "POST", "/v1/return", good, []string{"Sec-Fetch-Site: cross-site"}, false, false},
		{"a page with a name that leads here", "POST", "/v1/check", evil, []string{"Origin: http://evil.example:7702", "Sec-Fetch-Site: same-origin"}, false, true},
		{"that page fills", "DELETE", "/v1/buckets/demo/k", evil, []string{"Origin: http://evil.example:7702"}, false, false},
		{"that page looks", "GET", "/v1/buckets/demo/k", evil, nil, false, false},
		{"a page that looks", "GET", "/v1/buckets/demo/k", good, []string{"Sec-Fetch-Site: cross-site"}, false, false},
		{"a page that has the node profiled", "GET", "/debug/pprof/trace", good, []string{"Sec-Fetch-Site: same-site"}, false, false},
		{"a page of another port looks", "HEAD", "/debug/actors", good, []string{"Origin: http://127.0.0.1:3000"}, false, false},
		{"a person looks", "GET", "/debug/ring", good, []string{"Sec-Fetch-Site: none"}, true, false},
		{"that page reads limits", "GET", "/v1/limits", evil, nil, false, true},
		{"a page changes limits", "PUT", "/v1/limits", good, []string{"Origin: http://evil.example"}, false, false},
		{"a page with a token", "PUT", "/v1/limits", evil, []string{"Origin: http://evil.example", "Authorization: Bearer " + oneToken}, true, true},
		{"a probe by another name", "GET", "/readyz", "a.example", nil, true, true},
		{"a page that probes", "GET", "/metrics", evil, []string{"Sec-Fetch-Site: cross-site"}, true, true},
		{"a long host", "POST", "/v1/check", strings.Repeat("a", 300), nil, false, true},
	} {
		for _, beyond := range []bool{false, true} {
			r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, http.NoBody)
			r.Host = tt.host
			for _, line := range tt.headers {
				name, value, _ := strings.Cut(line, ": ")
				r.Header.Set(name, value)
			}
			passed := false
			w := httptest.NewRecorder()
			newGuard(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true }), tokens, beyond).ServeHTTP(w, r)
			if want := beyond && tt.beyond || !beyond && tt.local; passed != want {
				t.Errorf("%s, beyond %v: %d, it must get through: %v: %s", tt.what, beyond, w.Code, want, w.Body)
			}
			if !passed && w.Code != http.StatusForbidden && w.Code != http.StatusUnauthorized {
				t.Errorf("%s, beyond %v: %d", tt.what, beyond, w.Code)
			}
			if w.Body.Len() > 500 {
				t.Errorf("%s: %d bytes: %s", tt.what, w.Body.Len(), w.Body)
			}
		}
	}
}

// Whoever may check may not fill buckets: over gRPC that takes the key or a token, as it does over HTTP.
func TestWhoMayFillOverGRPC(t *testing.T) {
	ours := newKey(t, "the secret of this cluster")
	byFile := newTokens(t, ours, tokenFile(t, oneToken))
	for _, tt := range []struct {
		what   string
		key    *key.Key
		tokens *Tokens
		shown  string // a token
		may    bool
		says   string
	}{
		{"nobody has anything", nil, nil, "", true, ""},
		{"a stranger", ours, byFile, "", false, "--cluster-key-file or --token-file"},
		{"a stranger at a node without tokens", ours, nil, "", false, "--cluster-key-file"},
		{"a wrong token", ours, byFile, oneToken + "0", false, "does not know this token"},
		{"a token of the file", ours, byFile, oneToken, true, ""},
		{"the token of the key", ours, byFile, ours.Token(), true, ""},
		{"tokens alone, and none shown", nil, newTokens(t, nil, tokenFile(t, oneToken)), "", false, "--admin-token-file"},
		{"tokens alone", nil, newTokens(t, nil, tokenFile(t, oneToken)), oneToken, true, ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			s, err := New(Config{Limiter: newModel(t), Key: tt.key, Tokens: tt.tokens})
			if err != nil {
				t.Fatal(err)
			}
			c, err := client.New(client.Config{Server: listen(t, s), Token: func() string { return tt.shown }})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close() //nolint:errcheck // it has been answered
			for range 11 {
				if _, err := c.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("demo")}, Cost: 1}); err != nil {
					t.Fatal(err)
				}
			}
			_, looked := c.Inspect(t.Context(), "k", limit.Named("demo"))
			filled := c.Reset(t.Context(), "k", limit.Named("demo"))
			for _, err := range []error{looked, filled} {
				if tt.may != (err == nil) {
					t.Errorf("%v; it may: %v", err, tt.may)
				}
				if !tt.may {
					wantText(t, err, tt.says)
				}
			}
			d, err := c.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("demo")}, Cost: 1})
			if err != nil || d.Allowed != tt.may {
				t.Errorf("after that it is allowed: %v, %v", d.Allowed, err)
			}
		})
	}
}

// Of several tokens none counts, and no other form does.
func TestOddTokensOverGRPC(t *testing.T) {
	s, conn := serve(t, Config{Limiter: conformance.Stub{}, Tokens: newTokens(t, nil, tokenFile(t, oneToken))})
	_ = s
	for _, tt := range []struct {
		says []string
		why  string // empty if it counts
	}{
		{nil, "needs a token of an operator: give --token-file"},
		{[]string{"Bearer " + oneToken}, ""},
		{[]string{"bearer " + oneToken}, ""},
		{[]string{oneToken}, "needs a token"},
		{[]string{"Bearer " + anotherToken}, "does not know this token: give a token of the node's --admin-token-file"},
		{[]string{"Bearer " + oneToken, "Bearer " + oneToken}, "needs a token"},
		{[]string{"Basic " + oneToken}, "needs a token"},
	} {
		ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{"authorization": tt.says})
		_, err := pb.NewLimiterClient(conn).Reset(ctx, &pb.ResetRequest{Key: "k", Limit: pb.EncodeRef(limit.Named("demo"))})
		if tt.why == "" {
			if err != nil {
				t.Errorf("%q: %v", tt.says, err)
			}
			continue
		}
		wantCode(t, err, codes.Unauthenticated, tt.why)
	}
	if _, err := pb.NewLimiterClient(conn).Check(context.WithoutCancel(t.Context()), checkMessage("k")); err != nil {
		t.Errorf("a check: %v", err)
	}
}
