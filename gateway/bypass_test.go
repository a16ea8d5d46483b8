package gateway_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/jeton-dev/jeton/gateway/config"
)

// guarded is a rig of a gateway that knows its clients by token, key and address, in this order.
func guarded(t *testing.T) *rig {
	t.Helper()
	const document = `
identity:
  key: ["user:{jwt.sub}", "key:{api_key}", "ip:{ip}"]
  trusted_proxies: [10.0.0.0/8]
  jwt: [{secret_file: jwt.secret, algorithms: [HS256], issuer: us, audience: api}]
  api_key: {secret_file: key.secret, known: [{digest: "0000000000000000000000000000000000000000000000000000000000000000"}]}
exempt: {token_file: tokens}
routes: [{name: all, path: /, checks: [{limits: [ten]}]}]
`
	d, err := config.Parse([]byte(document), secrets(t, map[string]string{
		"jwt.secret": jwtSecret, "key.secret": "a secret of all the gateways", "tokens": "an-internal-token-of-ours",
	}))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "{}")
	if err := r.gateway.Load(d); err != nil {
		t.Fatal(err)
	}
	return r
}

const jwtSecret = "a secret of at least thirty-two bytes"

// token is a JWT in which header and claims are JSON, signed with HS256 unless the secret is empty.
func token(header, claims, secret string) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(header)) + "." + encode([]byte(claims))
	if secret == "" {
		return text + "."
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}

// Whoever forges what the gateway knows clients by is counted as who he is.
func TestForgeriesAreCounted(t *testing.T) {
	r := guarded(t)
	const hs256 = `{"alg":"HS256","typ":"JWT"}`
	claims := func(sub string, exp int64) string {
		return fmt.Sprintf(`{"sub":%q,"iss":"us","aud":"api","exp":%d}`, sub, r.nanos.Load()/1e9+exp)
	}
	bearer := func(token string) string { return "Authorization: Bearer " + token }
	r.wants("/", []string{bearer(token(hs256, claims("alice", 60), jwtSecret))}, 204)
	if got := r.remaining("user:alice", "ten"); got != 9 {
		t.Fatalf("a good token does not count: %d left", got)
	}
	forgeries := []func(i int) []string{
		func(i int) []string { return []string{bearer(token(hs256, claims(fmt.Sprint(i), -60), jwtSecret))} },
		func(i int) []string {
			return []string{bearer(token(hs256, claims(fmt.Sprint(i), 60), "another secret of thirty-two bytes!!"))}
		},
		func(i int) []string { return []string{bearer(token(`{"alg":"none"}`, claims(fmt.Sprint(i), 60), ""))} },
		func(i int) []string { return []string{bearer(token(`{"alg":"NONE"}`, claims(fmt.Sprint(i), 60), ""))} },
		func(i int) []string {
			return []string{bearer(token(`{"alg":"HS384"}`, claims(fmt.Sprint(i), 60), jwtSecret))}
		},
		func(i int) []string { return []string{bearer(token(hs256, fmt.Sprintf(`{"sub":"%d"}`, i), jwtSecret))} },
		func(i int) []string { return []string{fmt.Sprintf("X-Api-Key: key-%d", i)} },
		func(i int) []string { return []string{fmt.Sprintf("X-Forwarded-For: 1.2.3.%d", i%250)} },
		func(i int) []string { return []string{fmt.Sprintf("Forwarded: for=1.2.3.%d", i%250)} },
		func(i int) []string { return []string{fmt.Sprintf("Cf-Connecting-Ip: 1.2.3.%d", i%250)} },
		func(i int) []string { return []string{fmt.Sprintf("X-Internal-Token: an-internal-token-of-%d", i)} },
	}
	admitted := 0
	for i := range 200 {
		if r.get("/", forgeries[i%len(forgeries)](i)...) == http.StatusNoContent {
			admitted++
		}
	}
	if admitted != 10 {
		t.Errorf("%d of 200 forgeries were admitted, want 10", admitted)
	}
}

// Addresses within one /64 are one client.
func TestRotatedAddresses(t *testing.T) {
	r := newRig(t, oneRoute("{limits: [ten]}"))
	admitted := 0
	for i := range 200 {
		if r.get("/", fmt.Sprintf("From: [2001:db8:0:7:%x::%x]:443", i, rand.Uint32N(1<<16))) == http.StatusNoContent {
			admitted++
		}
	}
	if admitted != 10 {
		t.Errorf("%d of 200 were admitted, want 10", admitted)
	}
	r.wants("/", []string{"From: [2001:db8:0:8::1]:443"}, 204)
}

// Ten thousand requests with random headers from one address get what one client gets.
func TestRandomHeaders(t *testing.T) {
	r := guarded(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	names := []string{
		"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip", "Authorization", "Cookie", "X-Api-Key",
		"X-Internal-Token", "X-Forwarded-Host", "X-Original-Uri", "X-Jeton-Denial", "Connection", "X-User",
	}
	admitted := 0
	for range 10_000 {
		q := request(t, http.MethodGet, "/")
		for range random.IntN(6) {
			value := make([]byte, random.IntN(200))
			for i := range value {
				value[i] = byte(random.IntN(256))
			}
			if random.IntN(3) == 0 {
				value = fmt.Appendf(value[:min(len(value), 10)], ", %d.%d.3.4", random.IntN(256), random.IntN(300))
			}
			name := names[random.IntN(len(names))]
			q.Header[name] = append(q.Header[name], string(value))
		}
		switch a := r.ask(q); a.StatusCode {
		case http.StatusNoContent:
			admitted++
		case http.StatusTooManyRequests, http.StatusBadRequest: // 400: what names the client contradicts itself
		default:
			t.Fatalf("%s: %v", a.Status, q.Header)
		}
	}
	if admitted != 10 {
		t.Errorf("%d were admitted, want 10", admitted)
	}
}
