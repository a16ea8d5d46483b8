package console

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/rpc/activity"
)

// A browser gets the page, and a program the list of routes.
func TestWhoGetsThePage(t *testing.T) {
	r := newRig(t, false)
	for accept, page := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/plain": false, "text/*": false,
		"text/html":                                           true,
		"TEXT/HTML;level=1;q=0.5":                             true,
		strings.TrimPrefix(browser, "Accept: "):               true,
		"text/html;q=0.5, application/json":                   false,
		"text/plain;q=0.5, text/html;q=0.9":                   true,
		"text/html;q=0":                                       false,
		"text/html;q=NaN":                                     false,
		"application/json, text/plain, */*":                   false,
		"text/html, application/xhtml+xml, image/jxr, */*":    true,
		"application/signed-exchange;v=b3;q=0.7,text/html,,;": true,
	} {
		var headers []string
		if accept != "" {
			headers = append(headers, "Accept: "+accept)
		}
		a := r.ask(http.MethodGet, "/", "", headers...)
		if got := strings.HasPrefix(a.Header.Get("Content-Type"), "text/html"); a.StatusCode != http.StatusOK || got != page || (a.body == "the list of routes") == page {
			t.Errorf("Accept %q: %d %s", accept, a.StatusCode, a.body)
		}
		if !strings.Contains(a.Header.Get("Vary"), "Accept") {
			t.Errorf("Accept %q: Vary is %q", accept, a.Header.Get("Vary"))
		}
	}
}

// Without a token where one is needed there is nothing but the sign-in page and its style.
func TestStrangersGetTheSignInPage(t *testing.T) {
	r := newRig(t, true)
	if a := r.ask(http.MethodGet, "/", "", browser); a.StatusCode != http.StatusOK || !strings.Contains(a.body, `action="/console/sign-in"`) {
		t.Errorf("a stranger gets %d %s", a.StatusCode, a.body)
	}
	cookie, served := r.signIn(), 0
	err := fs.WalkDir(page, ".", func(at string, entry fs.DirEntry, err error) error {
		if _, known := kinds[path.Ext(at)]; err != nil || entry.IsDir() || !known || strings.HasSuffix(at, ".html") {
			return err
		}
		name := "/console/" + strings.TrimPrefix(at, "page/")
		if got, open := r.ask(http.MethodGet, name, "").StatusCode, name == "/console/signin.css"; open != (got == http.StatusOK) || !open && got != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", name, got)
		}
		a := r.ask(http.MethodGet, name, "", cookie, "Sec-Fetch-Site: same-origin")
		if a.StatusCode != http.StatusOK || a.Header.Get("Etag") == "" || a.Header.Get("Cache-Control") != "no-cache" || a.Header.Get("Content-Type") == "text/plain" {
			t.Errorf("%s: %d %v", name, a.StatusCode, a.Header)
		}
		if again := r.ask(http.MethodGet, name, "", cookie, "If-None-Match: "+a.Header.Get("Etag")); again.StatusCode != http.StatusNotModified || again.body != "" {
			t.Errorf("%s, which the browser has: %d", name, again.StatusCode)
		}
		served++
		return nil
	})
	if err != nil || served == 0 {
		t.Errorf("%d files, %v", served, err)
	}
	for _, call := range []string{"GET /console/me", "GET /console/events", "GET /console/keys", "POST /console/try", "GET /console/index.html", "GET /console/", "GET /console/..%2fconsole.go"} {
		method, at, _ := strings.Cut(call, " ")
		if a := r.ask(method, at, ""); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d %s", call, a.StatusCode, a.body)
		}
	}
	if a := r.ask(http.MethodGet, "/", "", browser, cookie); !strings.Contains(a.body, `id="main"`) {
		t.Errorf("who is signed in gets %s", a.body)
	}
	r.counts.Store(false)
	if a := r.ask(http.MethodGet, "/", "", browser, cookie); strings.Contains(a.body, `id="main"`) {
		t.Errorf("whose token was revoked gets %s", a.body)
	}
	if a := r.ask(http.MethodGet, "/console/me", "", cookie, "Sec-Fetch-Site: same-origin"); a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.body, "sign in again") {
		t.Errorf("whose token was revoked is told %d %s", a.StatusCode, a.body)
	}
}

func TestPathsOfTheConsole(t *testing.T) {
	r := newRig(t, false)
	for call, want := range map[string]int{
		"GET /console/index.html": 404, "GET /console/signin.html": 404, "GET /console/other.js": 404, "GET /console/": 404, "GET /console/..%2fconsole.go": 404,
		"GET /console/%6de": 404, "GET /console": 404, "POST /console/me": 405, "GET /console/sign-in": 404, "PUT /console/signin.css": 405, "HEAD /console/me": 200, "HEAD /console/events": 200,
		"HEAD /console/signin.css": 200, "GET /console/events/": 404,
	} {
		method, at, _ := strings.Cut(call, " ")
		if a := r.ask(method, at, ""); a.StatusCode != want {
			t.Errorf("%s: %d %s, want %d", call, a.StatusCode, a.body, want)
		}
	}
}

// Every answer of the console says what its pages may do, and that nobody may put them into a frame or guess what they are.
func TestHeadersOfTheConsole(t *testing.T) {
	r := newRig(t, false)
	r.keys = func(activity.KeysAsked) (activity.KeysFound, error) { return activity.KeysFound{}, nil }
	for _, call := range []string{
		"GET /", "GET /console/signin.css", "GET /console/me", "HEAD /console/events", "GET /console/keys", "GET /console/keys?most=x", "POST /console/try", "POST /console/sign-in", "POST /console/sign-out", "GET /console/none",
	} {
		method, at, _ := strings.Cut(call, " ")
		h := r.ask(method, at, "", browser).Header
		for _, says := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(h.Get("Content-Security-Policy"), says) {
				t.Errorf("%s: no %s in %q", call, says, h.Get("Content-Security-Policy"))
			}
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "same-origin" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" || h.Get("Cache-Control") == "" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", call, h)
		}
	}
}

func TestMe(t *testing.T) {
	r := newRig(t, false)
	for header, want := range map[string]string{
		"":         `{"node":"a","cluster":true,"role":"node","version":"v1","may_look":true,"may_change":false,"tokens":true,"who":""}`,
		r.signIn(): `{"node":"a","cluster":true,"role":"node","version":"v1","may_look":true,"may_change":true,"tokens":true,"who":"token ann"}`,
	} {
		var headers []string
		if header != "" {
			headers = []string{header, "Sec-Fetch-Site: same-origin"}
		}
		if a := r.ask(http.MethodGet, "/console/me", "", headers...); strings.TrimSpace(a.body) != want {
			t.Errorf("with %q: %s, want %s", header, a.body, want)
		}
	}
}

// Whatever bytes a key has, the answer is JSON and cannot be taken for a page.
func TestKeysOfAnyBytes(t *testing.T) {
	r := newRig(t, false)
	const evil = "<script>alert(1)</script>\x00\n\u2028&"
	var asked activity.KeysAsked
	r.keys = func(q activity.KeysAsked) (activity.KeysFound, error) {
		asked = q
		return activity.KeysFound{Keys: []activity.Key{{Key: q.Prefix}}, Complete: true}, nil
	}
	a := r.ask(http.MethodGet, "/console/keys?q=%3Cscript%3Ealert(1)%3C/script%3E%00%0A%E2%80%A8%26&limit=login&most=7", "")
	var told activity.KeysFound
	if err := json.Unmarshal([]byte(a.body), &told); err != nil || told.Keys[0].Key != evil || asked != (activity.KeysAsked{Prefix: evil, Limit: "login", Most: 7}) {
		t.Errorf("%q: %v, asked for %+v", a.body, err, asked)
	}
	if a.Header.Get("Content-Type") != "application/json" || strings.ContainsAny(a.body, "<>&\x00\u2028") {
		t.Errorf("%v %q", a.Header, a.body)
	}
	for query, field := range map[string]string{"most=0": "most", "most=1001": "most", "most=x": "most", "q=a&q=b": "query", "p=a": "query", "q=%zz": "query", "q=%ff": "q", "limit=%ff": "limit"} {
		if a := r.ask(http.MethodGet, "/console/keys?"+query, ""); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.body, `"field":"`+field+`"`) {
			t.Errorf("%s: %d %s", query, a.StatusCode, a.body)
		}
	}
}

func TestSigningIn(t *testing.T) {
	r := newRig(t, true)
	own := "Origin: " + r.server.URL
	a := r.ask(http.MethodPost, "/console/sign-in", "token=wrong-wrong-wrong-wrong", form, own)
	if a.StatusCode != http.StatusUnauthorized || len(a.Cookies()) != 0 || !strings.Contains(a.body, `role="alert">This token does not count here. Use the token in &lt;file&gt;.</p>`) || !strings.Contains(a.body, "<form ") {
		t.Errorf("a wrong token: %d %v %s", a.StatusCode, a.Cookies(), a.body)
	}
	if strings.Contains(a.body, "wrong-wrong") {
		t.Errorf("the answer shows the token: %s", a.body)
	}
	for what, headers := range map[string][]string{"another site": {form, "Origin: http://evil.example"}, "another port": {form, "Origin: http://127.0.0.1:3000", "Sec-Fetch-Site: same-site"}} {
		if a := r.ask(http.MethodPost, "/console/sign-in", "token="+oneToken, headers...); a.StatusCode != http.StatusForbidden || len(a.Cookies()) != 0 {
			t.Errorf("%s signs in: %d", what, a.StatusCode)
		}
	}
	if a := r.ask(http.MethodPost, "/console/sign-in?token="+oneToken, "", form, own); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token in the address signs in: %d", a.StatusCode)
	}
	if a := r.ask(http.MethodPost, "/console/sign-in", "token="+strings.Repeat("a", maxForm), form, own); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("a form that is too large: %d", a.StatusCode)
	}
	cookie := r.signIn()
	if a := r.ask(http.MethodGet, "/console/me", "", cookie); a.StatusCode != http.StatusOK {
		t.Errorf("signed in: %d %s", a.StatusCode, a.body)
	}
	out := r.ask(http.MethodPost, "/console/sign-out", "", cookie, own, form)
	if out.StatusCode != http.StatusSeeOther || len(out.Cookies()) != 1 || out.Cookies()[0].MaxAge >= 0 || out.Cookies()[0].Value != "" {
		t.Errorf("signing out: %d %v", out.StatusCode, out.Cookies())
	}
	if got := r.metric("jeton_console_sign_ins_total"); got < 4 {
		t.Errorf("%v attempts are counted", got)
	}
}

// Wrong tokens are tried a few times; then even the right one has to wait.
func TestTokensAreNotTriedOften(t *testing.T) {
	r := newRig(t, true)
	for range triesAtOnce {
		r.signIn() // which takes no try
	}
	own, outcomes := "Origin: "+r.server.URL, map[int]int{}
	for range triesAtOnce + 5 {
		a := r.ask(http.MethodPost, "/console/sign-in", "token=wrong-wrong-wrong-wrong", form, own)
		outcomes[a.StatusCode]++
		if a.StatusCode == http.StatusTooManyRequests && (a.Header.Get("Retry-After") == "" || !strings.Contains(a.body, "Try again in")) {
			t.Errorf("%v %s", a.Header, a.body)
		}
	}
	if outcomes[http.StatusTooManyRequests] < 4 || outcomes[http.StatusUnauthorized] < triesAtOnce { // one comes back each 6 s
		t.Errorf("answers by status: %v", outcomes)
	}
	if a := r.ask(http.MethodGet, "/console/signin.css", ""); a.StatusCode != http.StatusOK {
		t.Errorf("meanwhile the style is %d", a.StatusCode)
	}
}
