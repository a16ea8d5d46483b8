package web

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/rpc/access"
)

func newCookies(t *testing.T, secret string) *Cookies {
	t.Helper()
	secrets := func() [][]byte { return [][]byte{[]byte(secret)} }
	if secret == "" {
		secrets = nil
	}
	c, err := NewCookies(secrets)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// consoleHost is where the tests sign in.
const consoleHost = "localhost:7702"

// signedIn is the cookie of a browser that has signed in there.
func signedIn(t *testing.T, c *Cookies) *http.Cookie {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/console/sign-in", http.NoBody)
	r.Host = consoleHost
	w := httptest.NewRecorder()
	if err := c.Set(w, r, oneToken); err != nil {
		t.Fatal(err)
	}
	return w.Result().Cookies()[0]
}

func TestCookies(t *testing.T) {
	const host = consoleHost
	c := newCookies(t, "")
	now := time.Now()
	c.now = func() time.Time { return now }
	cookie := signedIn(t, c)
	if cookie.Name != "jeton-console-7702" || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Secure || cookie.MaxAge != 0 || !cookie.Expires.IsZero() {
		t.Errorf("the cookie is %v", cookie)
	}
	if strings.Contains(cookie.Value, oneToken) {
		t.Errorf("the cookie shows the token: %v", cookie)
	}
	read := func(c *Cookies, host, value string) (string, bool) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Host = host
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: value})
		return c.token(r)
	}
	flipped := []byte(cookie.Value)
	flipped[len(flipped)/2] ^= 1
	for what, tt := range map[string]struct {
		of          *Cookies
		host, value string
		want        string
		shown       bool
	}{
		"its own":             {c, host, cookie.Value, oneToken, true},
		"upper case":          {c, "LOCALHOST:7702", cookie.Value, oneToken, true},
		"of another port":     {c, "localhost:7712", cookie.Value, "", false},
		"of another host":     {c, "evil.example:7702", cookie.Value, "", true},
		"of another process":  {newCookies(t, ""), host, cookie.Value, "", true},
		"changed":             {c, host, string(flipped), "", true},
		"cut":                 {c, host, cookie.Value[:8], "", true},
		"the token, unsealed": {c, host, oneToken, "", true},
		"not base64":          {c, host, "!", "", true},
		"nothing":             {c, host, "", "", true},
	} {
		if got, shown := read(tt.of, tt.host, tt.value); got != tt.want || shown != tt.shown {
			t.Errorf("a cookie, %s: %q %v, want %q %v", what, got, shown, tt.want, tt.shown)
		}
	}
	one, other := newCookies(t, "a secret of the cluster"), newCookies(t, "a secret of the cluster")
	if got, _ := read(other, host, signedIn(t, one).Value); got != oneToken {
		t.Errorf("another process with the same secret reads %q", got)
	}
	now = now.Add(cookieFor)
	if got, _ := read(c, host, cookie.Value); got != "" {
		t.Errorf("a cookie of 12 hours ago is %q", got)
	}
}

func TestCookiesOverTLS(t *testing.T) {
	c := newCookies(t, "")
	for host, want := range map[string]string{"a.example": "jeton-console-443", "a.example:7702": "jeton-console-7702"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/console/sign-in", http.NoBody)
		r.Host, r.TLS = host, &tls.ConnectionState{}
		w := httptest.NewRecorder()
		if err := c.Set(w, r, oneToken); err != nil {
			t.Fatal(err)
		}
		if got := w.Result().Cookies()[0]; got.Name != want || !got.Secure {
			t.Errorf("%s: %v, want %s, Secure", host, got, want)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/console/sign-in", http.NoBody)
	r.Header.Set("Origin", "https://a.example") // which a proxy has taken TLS from
	w := httptest.NewRecorder()
	if err := c.Set(w, r, oneToken); err != nil || !w.Result().Cookies()[0].Secure {
		t.Errorf("behind a proxy with TLS: %v, %v", w.Result().Cookies(), err)
	}
	if err := c.Set(w, r, strings.Repeat("a", 4096)); !errors.Is(err, ErrTokenTooLong) {
		t.Errorf("a token that no cookie holds: %v", err)
	}
}

// forged are requests that a page can make a browser send to a host that it does not come from, with the cookie of that host.
var forged = []struct {
	what    string
	host    string // empty: the node's own
	headers []string
}{
	{"a form of another site", "", []string{"Origin: http://evil.example", "Sec-Fetch-Site: cross-site", "Content-Type: application/x-www-form-urlencoded"}},
	{"another site, in a browser that says no site", "", []string{"Origin: http://evil.example"}},
	{"another port of the same host", "", []string{"Origin: http://localhost:3000", "Sec-Fetch-Site: same-site"}},
	{"another port of the same host, in a browser that says no site", "", []string{"Origin: http://localhost:3000"}},
	{"a page without an origin", "", []string{"Origin: null"}},
	{"a form without any origin", "", []string{"Content-Type: application/x-www-form-urlencoded"}},
	{"a site that says it was typed", "", []string{"Sec-Fetch-Site: none"}},
	{"a site of the same name, elsewhere", "evil.example:7702", []string{"Origin: http://evil.example:7702", "Sec-Fetch-Site: same-origin"}},
}

// No page elsewhere changes anything by the cookie of somebody who is signed in, whatever call the table has. The console's own pages do.
func TestNobodyElseUsesTheCookie(t *testing.T) {
	const own = consoleHost
	for _, door := range []access.Door{access.NodeHTTP, access.GatewayHTTP} {
		for _, e := range access.Table() {
			method, path, http1 := strings.Cut(e.Call, " ")
			if !http1 || e.Door != door || method == http.MethodGet && e.Need < access.Change {
				continue
			}
			path = strings.NewReplacer("{limit}", "demo", "{key...}", "k", "{file}", "main.js").Replace(path)
			for _, beyond := range []bool{false, true} {
				cookies := newCookies(t, "")
				passed := false
				h, err := NewGuard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true }), GuardConfig{
					Door: door, Beyond: beyond, Tokens: func(token string) (counts, exist bool) { return token == oneToken, true }, Where: "a token", Cookies: cookies,
				})
				if err != nil {
					t.Fatal(err)
				}
				ask := func(host string, headers ...string) int {
					r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
					r.Host = host
					for _, line := range headers {
						name, value, _ := strings.Cut(line, ": ")
						r.Header.Set(name, value)
					}
					r.AddCookie(signedIn(t, cookies))
					passed = false
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					return w.Code
				}
				for _, f := range forged {
					host := own
					if f.host != "" {
						host = f.host
					}
					mayAnyway := beyond && f.host != "" && e.Need <= access.Check // beyond, a name that nobody is signed in at is as good as any
					if code := ask(host, f.headers...); passed && !mayAnyway || !passed && code != http.StatusForbidden && code != http.StatusUnauthorized {
						t.Errorf("%s, beyond %v, by %s: %d, passed: %v", e.Call, beyond, f.what, code, passed)
					}
				}
				for _, headers := range [][]string{{"Origin: http://" + own, "Sec-Fetch-Site: same-origin"}, {"Origin: http://" + own}, {"Sec-Fetch-Site: same-origin"}} {
					if code := ask(own, headers...); !passed {
						t.Errorf("%s, beyond %v, by a page of the console with %q: %d", e.Call, beyond, headers, code)
					}
				}
			}
		}
	}
}

// The value of a cookie is no token, a token in a cookie is none, and a header counts before the cookie.
func TestTheCookieIsNoToken(t *testing.T) {
	const own = consoleHost
	cookies := newCookies(t, "")
	passed := false
	h, err := NewGuard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true }), GuardConfig{
		Door: access.NodeHTTP, Tokens: func(token string) (counts, exist bool) { return token == oneToken, true }, Where: "a token", Cookies: cookies,
	})
	if err != nil {
		t.Fatal(err)
	}
	cookie := signedIn(t, cookies)
	for what, tt := range map[string]struct {
		authorization, name, value string
		passes                     bool
	}{
		"the cookie":                    {"", cookie.Name, cookie.Value, true},
		"the cookie as a token":         {"Bearer " + cookie.Value, "", "", false},
		"a cookie of another name":      {"", "jeton-console-7712", cookie.Value, false},
		"a token as a cookie":           {"", cookie.Name, oneToken, false},
		"a wrong token and the cookie":  {"Bearer wrong-wrong-wrong-wrong", cookie.Name, cookie.Value, false},
		"another scheme and the cookie": {"Basic YTpi", cookie.Name, cookie.Value, false},
		"a token and a wrong cookie":    {"Bearer " + oneToken, cookie.Name, "x", true},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/v1/buckets/demo/k", http.NoBody)
		r.Host = own
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		if tt.authorization != "" {
			r.Header.Set("Authorization", tt.authorization)
		}
		if tt.name != "" {
			r.AddCookie(&http.Cookie{Name: tt.name, Value: tt.value})
		}
		passed = false
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); passed != tt.passes || !passed && w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d, passed: %v", what, w.Code, passed)
		}
	}
}

// What a caller may do is told to the pages of the console, and again later: a token may be revoked meanwhile.
func TestCallers(t *testing.T) {
	const own = consoleHost
	for what, tt := range map[string]struct {
		beyond, exist, signedIn, look, change bool
	}{
		"on loopback":                       {false, true, false, true, false},
		"on loopback, signed in":            {false, true, true, true, true},
		"beyond":                            {true, true, false, false, false},
		"beyond, signed in":                 {true, true, true, true, true},
		"beyond, where there are no tokens": {true, false, false, true, true},
	} {
		cookies, counting := newCookies(t, ""), true
		var got Caller
		h, err := NewGuard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = CallerOf(r.Context()) }), GuardConfig{
			Door: access.NodeHTTP, Beyond: tt.beyond, Where: "a token", Cookies: cookies, Name: func(string) string { return "token ann" },
			Tokens: func(token string) (counts, exist bool) { return counting && tt.exist && token == oneToken, tt.exist },
		})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(path string) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
			r.Host = own
			if tt.signedIn {
				r.AddCookie(signedIn(t, cookies))
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		ask("/")
		if got.Look != tt.look || got.Change != tt.change || got.Tokens != tt.exist || (got.Who == "token ann") != tt.signedIn {
			t.Errorf("%s: %+v", what, got)
		}
		got = Caller{}
		if ask("/console/events"); got.Still() != tt.look {
			t.Errorf("%s: a stream goes on: %v", what, got.Still())
		}
		counting = false
		if want := tt.look && (!tt.beyond || !tt.exist); got.Still() != want {
			t.Errorf("%s, and the token was revoked: a stream goes on: %v, want %v", what, got.Still(), want)
		}
	}
	if (Caller{}).Still() {
		t.Error("a caller that no guard has seen may go on")
	}
}
