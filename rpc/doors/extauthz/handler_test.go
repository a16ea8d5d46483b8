package extauthz_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
	"github.com/jeton-dev/jeton/rpc/doors/extauthz"
)

// shown is a request as a handler sees it, in lines.
func shown(r *http.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s, Host %s, length %d\n", r.Method, r.URL, r.Proto, r.Host, r.ContentLength)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&b, "%s: %q\n", name, r.Header[name])
	}
	return b.String()
}

// The handler sees the question that a proxy asks over HTTP, and nothing of the client's body.
func TestQuestion(t *testing.T) {
	var got string
	c := serve(t, handlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = shown(r)
		if n, err := r.Body.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Error("there is a body")
		}
		if !strings.HasPrefix(r.RemoteAddr, "127.0.0.1:") || r.RequestURI != "/auth" {
			t.Errorf("from %s, %s", r.RemoteAddr, r.RequestURI)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	r := ask("POST /v1/items%20x?page=2&a=%2F", "Host: API.example.com:8443", "From: 2001:DB8::1", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 192.0.2.2, 192.0.2.3",
		"X-Custom: a, b", "X-Custom: c", "X-Forwarded-Proto: http", "X-Latin: caf\xe9", "Content-Length: 5")
	h := r.GetAttributes().GetRequest().GetHttp()
	h.Body, h.RawBody, h.Size, h.Scheme = "hello", []byte("hello"), 5, "HTTPS"
	wants(t, c, r, 200)
	const want = `GET /auth HTTP/1.1, Host API.example.com:8443, length 0
Content-Length: ["5"]
X-Custom: ["a, b" "c"]
X-Forwarded-For: ["192.0.2.1" "192.0.2.2, 192.0.2.3" "2001:db8::1"]
X-Forwarded-Host: ["API.example.com:8443"]
X-Forwarded-Method: ["POST"]
X-Forwarded-Proto: ["https"]
X-Forwarded-Uri: ["/v1/items%20x?page=2&a=%2F"]
X-Latin: ["caf\xe9"]
`
	if got != want {
		t.Errorf("the handler sees\n%s\nand should see\n%s", got, want)
	}
	r.GetAttributes().GetRequest().GetHttp().HeaderMap.Headers = []*corev3.HeaderValue{{Key: "x-text", Value: "not raw"}}
	if wants(t, c, r, 200); !strings.Contains(got, `X-Text: ["not raw"]`) {
		t.Errorf("the handler sees\n%s", got)
	}
}

// Any answer of the handler becomes one that protobuf and Envoy can carry.
func TestVerdict(t *testing.T) {
	var handler http.HandlerFunc
	c := serve(t, handlerFunc(func(w http.ResponseWriter, r *http.Request) { handler(w, r) }))
	for what, test := range map[string]struct {
		handler http.HandlerFunc
		status  int
		code    codes.Code
		header  string
		body    string
	}{
		"a 204": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, 200, codes.OK, "", ""},
		"a body of success": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-A", "1")
			_, _ = w.Write([]byte("for nobody"))
		}, 200, codes.OK, `X-A: ["1"]`, ""},
		"several lines": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X-A"] = []string{"1", "2", "3"}
			w.WriteHeader(http.StatusOK)
		}, 200, codes.OK, `X-A: ["1" "2" "3"]`, ""},
		"a header that comes too late": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusTooManyRequests)
			w.WriteHeader(http.StatusOK)
			w.Header().Set("X-Late", "1")
			_, _ = w.Write([]byte("no"))
		}, 429, codes.ResourceExhausted, "", "no"},
		"headers of the connection": {func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range []string{"Connection", "Content-Length", "Transfer-Encoding", "Keep-Alive", "Trailer", "Upgrade", "X-B"} {
				w.Header().Set(name, "x")
			}
			w.WriteHeader(http.StatusForbidden)
		}, 403, codes.PermissionDenied, `X-B: ["x"]`, ""},
		"bytes that no header has": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X-A"] = []string{"1\r\nSet-Cookie: a=b\x00\x7f\t\xff"}
			w.Header()["X B"] = []string{"1"}
			w.WriteHeader(http.StatusUnauthorized)
		}, 401, codes.Unauthenticated, "X-A: [\"1  Set-Cookie: a=b  \\t\uFFFD\"]", ""},
		"a body that is no UTF-8": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("caf\xe9"))
		}, 503, codes.Unavailable, "", "caf\uFFFD"},
		"the longest body": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			for range 64 {
				_, _ = w.Write(make([]byte, 1<<10))
			}
		}, 429, codes.ResourceExhausted, "", strings.Repeat("\x00", 64<<10)},
		"a body that is too long": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			for {
				if _, err := w.Write(make([]byte, 10<<10)); err != nil {
					return
				}
			}
		}, 429, codes.ResourceExhausted, `Retry-After: ["1"]`, ""},
		"a status that HTTP has not named": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(599) }, 599, codes.Unavailable, "", ""},
		"a redirect": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://example.com/")
			w.WriteHeader(http.StatusSeeOther)
		}, 303, codes.PermissionDenied, `Location: ["https://example.com/"]`, ""},
	} {
		handler = test.handler
		w, err := c.Check(t.Context(), ask("GET /"))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		a := read(t, w)
		var header strings.Builder
		for _, name := range slices.Sorted(maps.Keys(a.header)) {
			fmt.Fprintf(&header, "%s: %q", name, a.header[name])
		}
		if a.status != test.status || codes.Code(w.GetStatus().GetCode()) != test.code || header.String() != test.header || a.body != test.body {
			t.Errorf("%s: %d, %v, %s, %.80q", what, a.status, w.GetStatus(), header.String(), a.body)
		}
	}
}

// A handler that does not answer is an error, and no decision.
func TestHandlerFails(t *testing.T) {
	var logs strings.Builder
	registry := prometheus.NewRegistry()
	var handler http.HandlerFunc
	c := serve(t, extauthz.Config{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler(w, r) }), Registerer: registry,
		Logger: slog.New(slog.NewTextHandler(&logs, nil)),
	})
	handler = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		panic("a bug")
	}
	w, err := c.Check(t.Context(), ask("GET /"))
	if status.Code(err) != codes.Internal || w != nil || strings.Contains(err.Error(), "a bug") || !strings.Contains(logs.String(), "a bug") {
		t.Errorf("%v, %v; the log says %s", w, err, logs.String())
	}
	handler = func(http.ResponseWriter, *http.Request) {}
	if w, err = c.Check(t.Context(), ask("GET /")); status.Code(err) != codes.Internal || w != nil {
		t.Errorf("no answer: %v, %v", w, err)
	}
	handler = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }
	wants(t, c, ask("GET /"), 429)
	handler = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	wants(t, c, ask("GET /"), 503)
	handler = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	wants(t, c, ask("GET /"), 200)
	wants(t, c, ask("GE\tT /"), 400)
	if _, err := c.Check(t.Context(), nil); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	got := map[string]float64{}
	for _, m := range metricstest.Gather(t, registry, "jeton_door_extauthz_checks_total") {
		got[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
	}
	want := map[string]float64{"allowed": 1, "denied": 1, "unavailable": 1, "refused": 1, "invalid": 1, "failed": 2}
	if !maps.Equal(got, want) || metricstest.Gather(t, registry, "jeton_door_extauthz_panics_total")[0].GetCounter().GetValue() != 1 {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// A call without a deadline has a second; what comes after it is answered to nobody.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := extauthz.New(extauthz.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			w.WriteHeader(http.StatusOK)
		})})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		w, err := d.Check(t.Context(), ask("GET /"))
		if status.Code(err) != codes.DeadlineExceeded || w != nil || time.Since(start) != time.Second {
			t.Errorf("%v, %v after %v", w, err, time.Since(start))
		}
	})
}

func TestNewRefuses(t *testing.T) {
	if _, err := extauthz.New(extauthz.Config{}); err == nil || !strings.Contains(err.Error(), "Handler") {
		t.Error(err)
	}
	cfg := handlerFunc(func(http.ResponseWriter, *http.Request) {})
	if _, err := extauthz.New(cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := extauthz.New(cfg); err == nil || !strings.Contains(err.Error(), "metrics") {
		t.Errorf("the metrics are there twice: %v", err)
	}
}
