package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/gateway/config"
)

const (
	firstToken  = "the-first-token-of-an-operator"
	secondToken = "the-second-one-while-they-are-exchanged"
)

func TestTokensOfOperators(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	write(t, file, firstToken+"\n"+secondToken+"\n")
	good := aDocument(anUpstream(t).URL)
	document := strings.Replace(good, `admin: {listen: "127.0.0.1:0"}`, fmt.Sprintf("admin: {listen: '0.0.0.0:0', token_file: %q}", file), 1)
	r := open(t, Config{}, document)
	for path, open := range map[string]bool{
		"/livez": true, "/readyz": true, "/metrics": true,
		"/": false, "/debug/": false, "/debug/config": false, "/debug/pprof/": false, "/debug/pprof/cmdline": false, "/metrics/": false,
		"/v1/denials/test-1-aaaaaaaaaaaaaaaa": false, "/v1/limits": false, "/v1/buckets/two/k": false, "/nowhere": false, "//livez": false,
	} {
		for header, known := range map[string]bool{
			"": false, "Authorization: Bearer": false, "Authorization: Bearer ": false, "Authorization: Bearer " + firstToken[1:]: false,
			"Authorization: Basic " + firstToken: false, "Authorization: " + firstToken: false, "X-Token: " + firstToken: false,
			"Authorization: Bearer " + firstToken: true, "Authorization: bearer " + secondToken: true,
		} {
			var headers []string
			if header != "" {
				headers = append(headers, header)
			}
			a := r.get(t, r.AdminAddr(), path, headers...)
			if refused := a.status == http.StatusUnauthorized; refused == (open || known) {
				t.Errorf("%s with %q: %d", path, header, a.status)
			} else if refused && !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s with %q does not say what it wants", path, header)
			}
			if a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s may be stored", path)
			}
		}
	}

	write(t, file, secondToken)
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	if a := r.get(t, r.AdminAddr(), "/debug/config", "Authorization: Bearer "+firstToken); a.status != http.StatusUnauthorized {
		t.Errorf("a token that was taken out: %d", a.status)
	}
	if a := r.get(t, r.AdminAddr(), "/debug/config", "Authorization: Bearer "+secondToken); a.status != http.StatusOK || strings.Contains(a.body, secondToken) {
		t.Errorf("/debug/config: %+v", a)
	}
	write(t, file, "short")
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(), "admin.token_file") {
		t.Errorf("a short token: %v", err)
	}
	if a := r.get(t, r.AdminAddr(), "/debug/config", "Authorization: Bearer "+secondToken); a.status != http.StatusOK {
		t.Errorf("after a bad file: %d", a.status)
	}
}

// On loopback, where no token is asked for, everybody may look.
func TestPages(t *testing.T) {
	r := open(t, Config{}, aDocument(anUpstream(t).URL))
	for path, want := range map[string]string{
		"/": "jeton explain ID", "/debug/": "/debug/config", "/debug/pprof/": "goroutine", "/debug/pprof/cmdline": "test",
		"/debug/config": "name: test",
	} {
		if a := r.get(t, r.AdminAddr(), path); a.status != http.StatusOK || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s, want %q", path, a.status, a.body, want)
		}
	}
	if a := r.get(t, r.AdminAddr(), "/v1/nowhere"); a.status != http.StatusNotFound {
		t.Errorf("/v1/nowhere: %d", a.status)
	}
}

// The page of the document is a document that says the same, without what nobody may see.
func TestTheDocumentInForceIsShown(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"secret", "jwt"} {
		write(t, filepath.Join(dir, name), "a secret of the gateway that nobody may see")
	}
	document := strings.Replace(aDocument("http://127.0.0.1:9/base"), "deny:", `
identity:
  trusted_proxies: [10.0.0.0/8, "2001:db8::1"]
  jwt: [{secret_file: jwt, algorithms: [HS256]}]
  api_key: {secret_file: secret, known: [{digest: `+strings.Repeat("0f", 32)+`, attributes: {plan: free}}]}
log: {denied: 0}
deny:`, 1) + "- name: choice\n  path: /choice\n  checks: [{limits: [two], choose: {by: api_key.plan, when: [{is: free, limits: []}]}}]\n"
	path := filepath.Join(dir, "gateway.yaml")
	write(t, path, document)
	s, err := (&Config{Path: path, Servers: []string{"10.1.2.3:7700"}}).read()
	if err != nil {
		t.Fatal(err)
	}
	e := &Gateway{}
	e.now.Store(s)
	w := httptest.NewRecorder()
	(&admin{Gateway: e}).config(w, nil)
	page := w.Body.String()
	if strings.Contains(page, "nobody may see") {
		t.Errorf("a secret is shown:\n%s", page)
	}
	for _, want := range []string{
		"10.1.2.3:7700", "secret_file: secret", "decide_within: 5s", "10.0.0.0/8", "2001:db8::1/128", "plan: free", "denied: 0", "limits: []",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not shown:\n%s", want, page)
		}
	}
	read, err := config.Parse([]byte(page), dir)
	if err != nil {
		t.Fatalf("the page is no document: %v\n%s", err, page)
	}
	again, err := yaml.Marshal(shown(reflect.ValueOf(read)))
	if err != nil || string(again) != page {
		t.Errorf("read back, it is another document: %v\n%s\nwas\n%s", err, again, page)
	}
}
