package gateway_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/denial"
)

const tokenSecret = "a secret of at least 32 bytes, for tests"

// aToken is a JWT of a user that expires so many seconds after the rig's beginning.
func aToken(user string, expires int64) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"HS256"}`)) + "." + encode(fmt.Appendf(nil, `{"sub":%q,"exp":%d}`, user, 1767323045+expires))
	h := hmac.New(sha256.New, []byte(tokenSecret))
	h.Write([]byte(text))
	return text + "." + encode(h.Sum(nil))
}

// credentialed is a rig whose clients show tokens.
func credentialed(t *testing.T, more string) *rig {
	t.Helper()
	r := newRig(t, "{}")
	dir := secrets(t, map[string]string{"secret": tokenSecret, "internal": "an-internal-token"})
	d, err := config.Parse([]byte("identity: {key: ['user:{jwt.sub}', 'ip:{ip}'], jwt: [{secret_file: secret, algorithms: [HS256]}], "+more+
		"}\nexempt: {token_file: internal, paths: [/health]}\ndeny: {networks: [198.51.100.0/24]}\nforward_auth: {}\n"+
		oneRoute("{limits: [two]}")), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.gateway.Load(d); err != nil {
		t.Fatal(err)
	}
	return r
}

// recall finds the record of a refusal.
func (r *rig) recall(a answer) *denial.Record {
	r.Helper()
	record, err := r.gateway.Recall(strings.TrimPrefix(problem(r.T, a)["instance"].(string), "urn:jeton:denial:"))
	if err != nil {
		r.Fatal(err)
	}
	return record
}

// With refuse, what shows a token that does not count is answered 401 and costs nothing; what shows none is anonymous.
func TestBadCredentialsAreRefused(t *testing.T) {
	r := credentialed(t, "on_bad_credentials: refuse")
	old := "Authorization: Bearer " + aToken("42", -60)
	for range 5 {
		a := r.ask(request(t, http.MethodGet, "/v1", old))
		p := problem(t, a)
		if a.StatusCode != http.StatusUnauthorized || p["type"] != "urn:jeton:problem:bad-credentials" || p["detail"] != "the token has expired: send valid credentials, or none" {
			t.Fatalf("%d %v", a.StatusCode, p)
		}
		if got := a.Header.Get("WWW-Authenticate"); got != `Bearer error="invalid_token", error_description="the token has expired"` {
			t.Errorf("WWW-Authenticate: %s", got)
		}
		record := r.recall(a)
		if record.Reason != "bad_credentials" || record.Status != http.StatusUnauthorized || record.Flaw == nil || *record.Flaw != (denial.Flaw{Credential: "token", Check: "expired"}) {
			t.Errorf("%+v %+v", record, record.Flaw)
		}
	}
	r.wants("/v1", []string{"Authorization: Bearer garbage"}, 401)
	r.wants("/v1", []string{"Authorization: Bearer " + aToken("42", 60)}, 204, 204, 429)
	r.wants("/v1", nil, 204, 204, 429)
	r.wants("/health", []string{old}, 204)
	r.wants("/v1", []string{old, "X-Internal-Token: an-internal-token"}, 204)
	r.wants("/v1", []string{old, "From: 198.51.100.7:1"}, 403)
	if n := r.count("jeton_gateway_requests_total", "outcome", "bad_credentials", "route", "all"); n != 6 {
		t.Errorf("%v are counted as bad_credentials, want 6", n)
	}
	if logs := r.logs.String(); strings.Contains(logs, "eyJ") || !strings.Contains(logs, `outcome=bad_credentials`) || !strings.Contains(logs, `flaw="the token has expired"`) {
		t.Errorf("the log:\n%s", logs)
	}
}

// A 401 asks for what the document knows clients by, and says of what was shown what is wrong with it.
func TestChallenges(t *testing.T) {
	const (
		tokens = "jwt: [{secret_file: secret, algorithms: [HS256]}], "
		inBoth = "api_key: {header: X-Api-Key, query: key, secret_file: secret, known: [{digest: %s}]}, "
		keyed  = "api_key: {secret_file: secret, known: [{digest: %s}]}, "

		badToken = "Authorization: Bearer junk"
		badKey   = "X-Api-Key: junk"
		token    = `Bearer error="invalid_token", error_description="the token is malformed"`
		key      = `ApiKey header="X-Api-Key", error="invalid_key", error_description="the API key is not known"`
	)
	for _, c := range []struct{ name, identity, shows, want string }{
		{"tokens", tokens + "key: ['{jwt.sub}']", "", "Bearer"},
		{"tokens, a bad one", tokens + "key: ['{jwt.sub}']", badToken, token},
		{"keys", keyed + "key: ['{api_key}']", "", `ApiKey header="X-Api-Key"`},
		{"keys, a bad one", keyed + "key: ['{api_key}']", badKey, key},
		{"keys in two places", inBoth + "key: ['{api_key}']", "", `ApiKey header="X-Api-Key", query="key"`},
		{"both", tokens + keyed + "key: ['{jwt.sub}', '{api_key}']", "", `Bearer, ApiKey header="X-Api-Key"`},
		{"both, a bad token", tokens + keyed + "key: ['{jwt.sub}', '{api_key}']", badToken, token + `, ApiKey header="X-Api-Key"`},
		{"both, a bad key", tokens + keyed + "key: ['{jwt.sub}', '{api_key}']", badKey, key + ", Bearer"},
		{"neither", "key: ['{header.X-User}']", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, "{}")
			refuse := ", on_bad_credentials: refuse"
			if c.want == "" { // nothing that is shown could be bad
				refuse = ""
			}
			id := strings.ReplaceAll(c.identity, "%s", strings.Repeat("0f", 32))
			d, err := config.Parse([]byte("identity: {"+id+refuse+"}\nforward_auth: {}\n"+oneRoute("{limits: [two]}")), secrets(t, map[string]string{"secret": tokenSecret}))
			if err != nil {
				t.Fatal(err)
			}
			if err := r.gateway.Load(d); err != nil {
				t.Fatal(err)
			}
			var headers []string
			if c.shows != "" {
				headers = append(headers, c.shows)
			}
			a := r.ask(request(t, http.MethodGet, "/v1", headers...))
			if got := strings.Join(a.Header.Values("WWW-Authenticate"), "|"); a.StatusCode != http.StatusUnauthorized || got != c.want {
				t.Errorf("%d, WWW-Authenticate: %s; want %s", a.StatusCode, got, c.want)
			}
		})
	}
}

// Unless told so, such a request is anonymous; when a limit denies it, it is known that it showed a bad token.
func TestBadCredentialsAreAnonymous(t *testing.T) {
	for _, option := range []string{"", "on_bad_credentials: anonymous"} {
		r := credentialed(t, option)
		old := "Authorization: Bearer " + aToken("42", -60)
		r.wants("/v1", []string{old}, 204, 204)
		record := r.recall(r.ask(request(t, http.MethodGet, "/v1", old)))
		if record.Status != http.StatusTooManyRequests || record.Key != "ip:192.0.2.1" || record.Flaw == nil || record.Flaw.Check != "expired" {
			t.Errorf("%+v %+v", record, record.Flaw)
		}
		if record := r.recall(r.ask(request(t, http.MethodGet, "/v1"))); record.Flaw != nil {
			t.Errorf("a request that shows nothing has the flaw %+v", record.Flaw)
		}
	}
}

// A proxy that asks passes the 401 on, at once or in a second step.
func TestBadCredentialsBehindAProxy(t *testing.T) {
	r := credentialed(t, "on_bad_credentials: refuse")
	asked := []string{"X-Forwarded-For: 192.0.2.1", "X-Forwarded-Uri: /v1", "X-Forwarded-Method: GET", "Authorization: Bearer x"}
	a := r.forward("/auth", asked...)
	if a.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), `Bearer error="invalid_token"`) {
		t.Errorf("%d %v", a.StatusCode, a.Header)
	}
	a = r.forward("/auth?deny=403", asked...)
	again := r.forward("/denied/" + a.Header.Get("X-Jeton-Denial"))
	if a.StatusCode != http.StatusForbidden || again.StatusCode != http.StatusUnauthorized || again.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("%d, then %d %v", a.StatusCode, again.StatusCode, again.Header)
	}
	// One about which the proxy says too little shows nothing that could be looked at.
	if a := r.forward("/auth?deny=403", "Authorization: Bearer x"); a.StatusCode != http.StatusForbidden {
		t.Errorf("%d", a.StatusCode)
	}
}
