package identity_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// The keys of an issuer are read from the host that the document names. A redirect elsewhere is not followed, and is told.
func TestRedirectsOfKeySets(t *testing.T) {
	keys := newSigner(t, "ES256", "a")
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		_, _ = w.Write(set(t, keys))
	}))
	t.Cleanup(other.Close)
	issuer := httptest.NewServer(nil)
	t.Cleanup(issuer.Close)
	port := issuer.URL[strings.LastIndexByte(issuer.URL, ':'):]
	to := map[string]string{
		"/within":       "/keys",
		"/absolute":     issuer.URL + "/keys",
		"/capitals":     strings.Replace(issuer.URL, "http", "HTTP", 1) + "/keys",
		"/twice":        "/within",
		"/port":         other.URL + "/keys",
		"/host":         "http://localhost" + port + "/keys",
		"/relative":     "//" + strings.TrimPrefix(other.URL, "http://") + "/keys",
		"/there-first":  "/port",
		"/scheme":       "https://127.0.0.1" + port + "/keys",
		"/file":         "file:///etc/passwd",
		"/metadata":     "http://127.0.0.2:1/latest/meta-data",
		"/circle":       "/circle",
		"/large-behind": "/large",
	}
	issuer.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch location, is := to[r.URL.Path]; {
		case is:
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/large":
			_, _ = w.Write(append(bytes.Repeat([]byte(" "), 1<<20), set(t, keys)...))
		default:
			_, _ = w.Write(set(t, keys))
		}
	})
	for from, says := range map[string]string{
		"/keys": "", "/within": "", "/absolute": "", "/capitals": "", "/twice": "",
		"/port":         other.URL,
		"/host":         "http://localhost" + port,
		"/relative":     other.URL,
		"/there-first":  other.URL,
		"/scheme":       "https://127.0.0.1" + port,
		"/file":         "file:///etc/passwd",
		"/metadata":     "http://127.0.0.2:1",
		"/circle":       "redirects more than 3 times",
		"/large-behind": "more than 1 MiB",
	} {
		t.Run(from, func(t *testing.T) {
			var logs bytes.Buffer
			f := open(t, identity.Config{
				Identity: config.Identity{JWT: []config.JWT{{JWKSURL: issuer.URL + from, Algorithms: []string{"ES256"}}}}, Logger: newLogger(&logs),
			})
			f.Close()
			if got := logs.String(); !strings.Contains(got, says) || strings.Contains(got, "level=WARN") != (says != "") {
				t.Errorf("the log does not say %q:\n%s", says, got)
			}
		})
	}
	if got := elsewhere.Load(); got != 0 {
		t.Errorf("another server was asked %d times", got)
	}
}

// A host is the same however it is written, and its usual port need not be.
func TestRedirectToTheSameHost(t *testing.T) {
	keys := set(t, newSigner(t, "ES256", "a"))
	for location, follows := range map[string]bool{
		"https://ISSUER.example:443/new": true, "https://issuer.example:8443/new": false, "https://issuer.example.evil/new": false,
		"https://issuer.example@evil.example/new": false, "http://issuer.example/new": false, "https://issuer.example./new": false,
	} {
		asked := map[string]int{}
		client := &http.Client{Transport: roundTrip(func(r *http.Request) *http.Response {
			asked[r.URL.Path]++
			if r.URL.Path == "/new" {
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(keys)), Request: r}
			}
			return &http.Response{
				StatusCode: http.StatusMovedPermanently, Header: http.Header{"Location": {location}}, Body: http.NoBody, Request: r,
			}
		})}
		open(t, identity.Config{
			Identity: config.Identity{JWT: []config.JWT{{JWKSURL: "https://issuer.example/keys", Algorithms: []string{"ES256"}}}}, Client: client,
		}).Close()
		if asked["/keys"] != 1 || asked["/new"] == 1 != follows {
			t.Errorf("%s: asked for %v, that it is followed should be %v", location, asked, follows)
		}
	}
}

type roundTrip func(r *http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
