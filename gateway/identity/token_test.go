package identity_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/lestrrat-go/jwx/v3/jwt"
	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

const jwtSecret = "a secret of at least 32 bytes, for tests"

// noon is the time in tests of tokens, in Unix seconds.
const noon = 1_800_000_000

// claims are those of a token; a later one with the same name counts.
type claims map[string]any

// with is c and more.
func (c claims) with(more claims) claims {
	out := maps.Clone(c)
	maps.Copy(out, more)
	return out
}

// good are the claims of a token that is believed.
var good = claims{"sub": "42", "iss": "https://issuer.example", "aud": "api", "exp": noon + 300}

// rsaKey makes one RSA key for all tests, since that takes long.
var rsaKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// A signer makes tokens.
type signer struct {
	algorithm jwa.SignatureAlgorithm
	key       any // private, or a secret
	kid       string
}

// newSigner makes one with a key for that algorithm.
func newSigner(tb testing.TB, algorithm, kid string) signer {
	tb.Helper()
	alg, ok := jwa.LookupSignatureAlgorithm(algorithm)
	if !ok {
		tb.Fatalf("%q is unknown", algorithm)
	}
	s := signer{algorithm: alg, kid: kid, key: []byte(jwtSecret)}
	var err error
	switch algorithm[:2] {
	case "RS", "PS":
		s.key, err = rsaKey()
	case "ES":
		curve := map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()}[algorithm]
		s.key, err = ecdsa.GenerateKey(curve, rand.Reader)
	case "Ed":
		_, s.key, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// sign makes a token with those claims.
func (s signer) sign(tb testing.TB, c claims) string {
	tb.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		tb.Fatal(err)
	}
	headers := jws.NewHeaders()
	if s.kid != "" {
		if err := headers.Set(jws.KeyIDKey, s.kid); err != nil {
			tb.Fatal(err)
		}
	}
	token, err := jws.Sign(text, jws.WithKey(s.algorithm, s.key, jws.WithProtectedHeaders(headers)))
	if err != nil {
		tb.Fatal(err)
	}
	return string(token)
}

// set is a JWK set with the public keys of signers.
func set(tb testing.TB, signers ...signer) []byte {
	tb.Helper()
	keys := jwk.NewSet()
	for _, s := range signers {
		private, err := jwk.Import(s.key)
		if err != nil {
			tb.Fatal(err)
		}
		public, err := private.PublicKey()
		if err != nil {
			tb.Fatal(err)
		}
		if s.kid != "" {
			if err := public.Set(jwk.KeyIDKey, s.kid); err != nil {
				tb.Fatal(err)
			}
		}
		if err := keys.AddKey(public); err != nil {
			tb.Fatal(err)
		}
	}
	text, err := json.Marshal(keys)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// believing makes a Finder whose clock stands at noon, or at now if that is not nil.
func believing(tb testing.TB, now func() time.Time, issuers ...config.JWT) *identity.Finder {
	tb.Helper()
	if now == nil {
		now = func() time.Time { return time.Unix(noon, 0) }
	}
	return open(tb, identity.Config{Identity: config.Identity{JWT: issuers}, Now: now})
}

// hs is an issuer with a secret.
func hs() config.JWT {
	return config.JWT{
		SecretFile: config.FileOf([]byte(jwtSecret + "\n")), Algorithms: []string{"HS256"}, Issuer: "https://issuer.example", Audience: "api",
	}
}

// subOf is what {jwt.sub} is for a token, empty if that is not believed.
func subOf(tb testing.TB, f *identity.Finder, token string) string {
	tb.Helper()
	return keyOf(f, compile(tb, f, "{jwt.sub}"), from("203.0.113.9", "Authorization", "Bearer "+token))
}

// craft makes a token of texts, signed by HMAC-SHA-256 with any secret.
func craft(head, body string, secret []byte) string {
	b64 := base64.RawURLEncoding
	signed := b64.EncodeToString([]byte(head)) + "." + b64.EncodeToString([]byte(body))
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(signed))
	return signed + "." + b64.EncodeToString(h.Sum(nil))
}

func TestEveryAlgorithm(t *testing.T) {
	for _, algorithm := range []string{
		"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519", "HS256", "HS384", "HS512",
	} {
		t.Run(algorithm, func(t *testing.T) {
			s := newSigner(t, algorithm, "one")
			cfg := config.JWT{Algorithms: []string{algorithm}}
			switch {
			case strings.HasPrefix(algorithm, "HS"):
				cfg.SecretFile = config.FileOf([]byte(jwtSecret))
			case algorithm == "Ed25519":
				cfg.Algorithms = []string{"EdDSA"} // the older name covers the newer
				fallthrough
			default:
				cfg.JWKSFile = config.FileOf(set(t, s))
			}
			f := believing(t, nil, cfg)
			token := s.sign(t, good)
			for range 2 { // the second time it is remembered
				if got := subOf(t, f, token); got != "42" {
					t.Fatalf("the token makes %q", got)
				}
			}
			end := len(token) - 10
			forged := token[:end] + strings.Map(func(r rune) rune { return r ^ 1 | 'A' }, token[end:end+1]) + token[end+1:]
			if forged != token && subOf(t, f, forged) != "" {
				t.Error("a token with another signature is believed")
			}
		})
	}
}

func TestTokensThatProveNothing(t *testing.T) {
	s := newSigner(t, "HS256", "")
	f := believing(t, nil, hs())
	body := func(c claims) string {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	without := func(name string) claims {
		c := maps.Clone(good)
		delete(c, name)
		return c
	}
	unsigned := craft(`{"alg":"none"}`, body(good), nil)
	if got := subOf(t, f, s.sign(t, good)); got != "42" {
		t.Fatalf("the good token makes %q", got)
	}
	busy := good.with(claims{
		"x": json.RawMessage(strings.Repeat("[", 31) + strings.Repeat("]", 31)), "y": make([]int, 900), `z"[{,`: strings.Repeat(`\"[{,`, 400),
	})
	if got := subOf(t, f, s.sign(t, busy)); got != "42" {
		t.Fatalf("a token with much in it makes %q", got)
	}
	for name, token := range map[string]string{
		"expired":                    s.sign(t, good.with(claims{"exp": noon - 30})),
		"expired long ago":           s.sign(t, good.with(claims{"exp": 0})),
		"no expiry":                  s.sign(t, without("exp")),
		"expiry of words":            s.sign(t, good.with(claims{"exp": "tomorrow"})),
		"negative expiry":            s.sign(t, good.with(claims{"exp": -1})),
		"not yet":                    s.sign(t, good.with(claims{"nbf": noon + 31})),
		"not yet, of words":          s.sign(t, good.with(claims{"nbf": "now"})),
		"other issuer":               s.sign(t, good.with(claims{"iss": "https://issuer.example/"})),
		"no issuer":                  s.sign(t, without("iss")),
		"issuers":                    s.sign(t, good.with(claims{"iss": []string{"https://issuer.example"}})),
		"other audience":             s.sign(t, good.with(claims{"aud": "web"})),
		"no audience":                s.sign(t, without("aud")),
		"audience of numbers":        s.sign(t, good.with(claims{"aud": []any{"api", 1}})),
		"other secret":               craft(`{"alg":"HS256"}`, body(good), []byte("another secret of at least 32 bytes...")),
		"alg none":                   unsigned,
		"alg None":                   craft(`{"alg":"None"}`, body(good), nil),
		"alg none, no signature":     unsigned[:strings.LastIndexByte(unsigned, '.')+1],
		"alg HS256, no signature":    strings.TrimRight(craft(`{"alg":"HS256"}`, body(good), nil), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"),
		"alg twice":                  craft(`{"alg":"none","alg":"HS256"}`, body(good), []byte("x")),
		"alg in capitals":            craft(`{"ALG":"HS256"}`, body(good), []byte(jwtSecret)),
		"no alg":                     craft(`{"typ":"JWT"}`, body(good), []byte(jwtSecret)),
		"alg not pinned":             newSigner(t, "HS384", "").sign(t, good),
		"critical extension":         craft(`{"alg":"HS256","crit":["x"],"x":1}`, body(good), []byte(jwtSecret)),
		"payload not encoded":        craft(`{"alg":"HS256","b64":false,"crit":["b64"]}`, body(good), []byte(jwtSecret)),
		"kid of numbers":             craft(`{"alg":"HS256","kid":1}`, body(good), []byte(jwtSecret)),
		"body is a list":             craft(`{"alg":"HS256"}`, `[1]`, []byte(jwtSecret)),
		"body is null":               craft(`{"alg":"HS256"}`, `null`, []byte(jwtSecret)),
		"more behind the body":       craft(`{"alg":"HS256"}`, body(good)+`{}`, []byte(jwtSecret)),
		"four parts":                 s.sign(t, good) + ".x",
		"two parts":                  "e30.e30",
		"padded":                     strings.Replace(s.sign(t, good), ".", "=.", 1),
		"too long":                   s.sign(t, good.with(claims{"x": strings.Repeat("x", 16<<10)})),
		"deep":                       s.sign(t, good.with(claims{"x": json.RawMessage(strings.Repeat("[", 32) + strings.Repeat("]", 32))})),
		"many values":                s.sign(t, good.with(claims{"x": make([]int, 1024)})),
		"no token":                   "",
		"a line of the secret's own": jwtSecret,
	} {
		if got := subOf(t, f, token); got != "" {
			t.Errorf("%s: the token makes %q", name, got)
		}
	}
}

// Whoever has the public key, which everybody has, cannot sign with it as with a secret.
func TestAlgorithmConfusion(t *testing.T) {
	s := newSigner(t, "RS256", "one")
	private, ok := s.key.(*rsa.PrivateKey)
	if !ok {
		t.Fatal("no RSA key")
	}
	der, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	f := believing(t, nil, config.JWT{JWKSFile: config.FileOf(set(t, s)), Algorithms: []string{"RS256"}})
	body := `{"sub":"42","exp":1800000300}`
	for name, secret := range map[string][]byte{
		"DER": der, "PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "JWK set": set(t, s), "modulus": private.N.Bytes(),
	} {
		for _, head := range []string{`{"alg":"HS256"}`, `{"alg":"HS256","kid":"one"}`, `{"alg":"RS256","kid":"one"}`} {
			if got := subOf(t, f, craft(head, body, secret)); got != "" {
				t.Errorf("the public key as %s, taken for a secret with %s, makes %q", name, head, got)
			}
		}
	}
	if got := subOf(t, f, s.sign(t, good)); got != "42" {
		t.Errorf("the issuer's own token makes %q", got)
	}
	// A key that the token itself brings is not asked for, and one of another algorithm does not serve.
	other := newSigner(t, "ES256", "one")
	if got := subOf(t, f, other.sign(t, good)); got != "" {
		t.Errorf("a token of another algorithm makes %q", got)
	}
	forger := newSigner(t, "ES256", "one")
	both := believing(t, nil, config.JWT{JWKSFile: config.FileOf(set(t, s, other)), Algorithms: []string{"RS256", "ES256"}})
	if got := subOf(t, both, forger.sign(t, good)); got != "" {
		t.Errorf("a forger's key with the name of another makes %q", got)
	}
	if got := subOf(t, both, other.sign(t, good)); got != "42" {
		t.Errorf("the second key's token makes %q", got)
	}
}

func TestJWTMistakes(t *testing.T) {
	file := config.FileOf(set(t, newSigner(t, "ES256", "")))
	oct := config.FileOf([]byte(`{"keys":[{"kty":"oct","k":"YSBzZWNyZXQgb2YgYXQgbGVhc3QgMzIgYnl0ZXMsIGZvciB0ZXN0cw"}]}`))
	for name, c := range map[string]struct {
		cfg         config.JWT
		field, says string
	}{
		"no keys":              {config.JWT{Algorithms: []string{"RS256"}}, "jwks_url", "exactly one"},
		"two sources":          {config.JWT{Algorithms: []string{"RS256"}, JWKSFile: file, JWKSURL: "https://x/"}, "jwks_url", "exactly one"},
		"no algorithms":        {config.JWT{JWKSFile: file}, "algorithms", "empty"},
		"none":                 {config.JWT{JWKSFile: file, Algorithms: []string{"none"}}, "algorithms[0]", "public keys"},
		"secret and RS256":     {config.JWT{SecretFile: config.FileOf([]byte(jwtSecret)), Algorithms: []string{"RS256"}}, "algorithms[0]", "a secret"},
		"public key and HS256": {config.JWT{JWKSFile: file, Algorithms: []string{"ES256", "HS256"}}, "algorithms[1]", "public keys"},
		"short secret":         {config.JWT{SecretFile: config.FileOf([]byte("short")), Algorithms: []string{"HS256"}}, "secret_file", "5 bytes"},
		"secret in a set":      {config.JWT{JWKSFile: oct, Algorithms: []string{"RS256"}}, "jwks_file", "use secret_file"},
		"no set":               {config.JWT{JWKSFile: config.FileOf([]byte("x")), Algorithms: []string{"RS256"}}, "jwks_file", "not a JWK set"},
		"empty set":            {config.JWT{JWKSFile: config.FileOf([]byte(`{"keys":[]}`)), Algorithms: []string{"RS256"}}, "jwks_file", "no usable key"},
		"no URL":               {config.JWT{JWKSURL: "issuer.example", Algorithms: []string{"RS256"}}, "jwks_url", "https"},
		"header":               {config.JWT{JWKSFile: file, Algorithms: []string{"ES256"}, Header: "a b"}, "header", "a b"},
		"leeway":               {config.JWT{JWKSFile: file, Algorithms: []string{"ES256"}, Leeway: -1}, "leeway", "negative"},
		"refresh":              {config.JWT{JWKSURL: "https://x/", Algorithms: []string{"ES256"}, RefreshEvery: 1}, "refresh_every", "at least 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := identity.New(identity.Config{Identity: config.Identity{JWT: []config.JWT{c.cfg}}})
			wantProblem(t, err, "identity.jwt[0]."+c.field, c.says)
		})
	}
}

func TestClaims(t *testing.T) {
	f := believing(t, nil, hs())
	token := newSigner(t, "HS256", "").sign(t, good.with(claims{
		"n": 9007199254740993, "f": 1.5, "yes": true, "no": false, "list": []string{"a"}, "null": nil, "empty": "",
		"org": claims{"id": "o1", "deep": claims{"plan": "gold"}, "a.b": "dotted"}, "https://example.com/plan": "silver", "org.id": "top",
	}))
	r := from("203.0.113.9", "Authorization", "bEARER   "+token)
	for name, want := range map[string]string{
		"n": "9007199254740993", "f": "1.5", "yes": "true", "no": "false", "list": "", "null": "", "empty": "", "org": "", "missing": "",
		"org.deep.plan": "gold", "org.a.b": "dotted", "https://example.com/plan": "silver", "org.id": "top", "org.deep": "", "sub.x": "",
		"org.missing": "",
	} {
		v, err := f.Variable("jwt." + name)
		if err != nil {
			t.Fatal(err)
		}
		facts := f.Facts(r)
		if got, ok := v.Value(&facts); got != want || ok != (want != "") {
			t.Errorf("%s is %q, %t, want %q", name, got, ok, want)
		}
	}
	_, err := f.Variable("jwt.a.b.c.d.e.f.g.h.i.j")
	wantProblem(t, err, "variable", "{jwt.CLAIM}")
}

func TestWhereTokensAre(t *testing.T) {
	s := newSigner(t, "HS256", "")
	token := s.sign(t, good)
	header := hs()
	header.Header = "X-Token"
	cookie := hs()
	cookie.Cookie = "session"
	other := hs()
	other.Issuer = "https://other.example"
	second := s.sign(t, good.with(claims{"iss": "https://other.example", "sub": "77"}))
	for name, c := range map[string]struct {
		issuers []config.JWT
		headers []string
		want    string
	}{
		"Authorization":                  {[]config.JWT{hs()}, []string{"Authorization", "Bearer " + token}, "42"},
		"no scheme":                      {[]config.JWT{hs()}, []string{"Authorization", token}, ""},
		"other scheme":                   {[]config.JWT{hs()}, []string{"Authorization", "Basic " + token}, ""},
		"scheme only":                    {[]config.JWT{hs()}, []string{"Authorization", "Bearer "}, ""},
		"two":                            {[]config.JWT{hs()}, []string{"Authorization", "Bearer " + token, "Authorization", "Bearer " + second}, ""},
		"other header":                   {[]config.JWT{header}, []string{"X-Token", token}, "42"},
		"other header, scheme":           {[]config.JWT{header}, []string{"X-Token", "Bearer " + token}, "42"},
		"other header, Authorization":    {[]config.JWT{header}, []string{"Authorization", "Bearer " + token}, ""},
		"cookie":                         {[]config.JWT{cookie}, []string{"Cookie", "a=b; session=" + token}, "42"},
		"cookie behind something else":   {[]config.JWT{cookie}, []string{"Authorization", "Bearer x.y.z", "Cookie", "session=" + token}, "42"},
		"second issuer":                  {[]config.JWT{hs(), other}, []string{"Authorization", "Bearer " + second}, "77"},
		"second issuer is first":         {[]config.JWT{other, hs()}, []string{"Authorization", "Bearer " + second}, "77"},
		"second issuer's cookie, header": {[]config.JWT{other, cookie}, []string{"Authorization", "Bearer x", "Cookie", "session=" + token}, "42"},
	} {
		t.Run(name, func(t *testing.T) {
			f := believing(t, nil, c.issuers...)
			templates := compile(t, f, "{jwt.sub}")
			for range 2 {
				if got := keyOf(f, templates, from("203.0.113.9", c.headers...)); got != c.want {
					t.Errorf("the key is %q, want %q", got, c.want)
				}
			}
		})
	}
}

// A token that is remembered ends when it ends.
func TestRememberedTokensExpire(t *testing.T) {
	now := time.Unix(noon, 0)
	f := believing(t, func() time.Time { return now }, hs())
	token := newSigner(t, "HS256", "").sign(t, good.with(claims{"exp": noon + 60.5, "nbf": noon - 10}))
	for _, c := range []struct {
		at   time.Duration
		want string
	}{
		{0, "42"},
		{60 * time.Second, "42"},
		{90*time.Second + 499*time.Millisecond, "42"},
		{90*time.Second + 500*time.Millisecond, ""},
		{time.Hour, ""},
		{89 * time.Second, "42"},
		{-40 * time.Second, "42"},
		{-41 * time.Second, ""},
	} {
		now = time.Unix(noon, 0).Add(c.at)
		if got := subOf(t, f, token); got != c.want {
			t.Errorf("%s after noon the token makes %q, want %q", c.at, got, c.want)
		}
	}
}

func TestOutcomesAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := newSigner(t, "HS256", "")
	for range 2 { // a second document counts into the same series
		f := open(t, identity.Config{
			Identity: config.Identity{JWT: []config.JWT{hs()}}, Registerer: registry, Now: func() time.Time { return time.Unix(noon, 0) },
		})
		for _, token := range []string{
			s.sign(t, good), s.sign(t, good), s.sign(t, good.with(claims{"exp": 1})), "x", s.sign(t, good)[:100] + "." + "AAAA",
		} {
			subOf(t, f, token)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if n := m.GetCounter().GetValue(); n != 0 {
				got[family.GetName()+" "+strings.Join(labels, " ")] = n
			}
		}
	}
	want := map[string]float64{}
	for outcome, n := range map[string]float64{"believed": 2, "expired": 2, "malformed": 4, "remembered": 2} {
		want["jeton_gateway_tokens_total https://issuer.example "+outcome] = n
	}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// What is believed is what a second, independent reader believes.
func TestTokensAgreeWithAnotherReader(t *testing.T) {
	s := newSigner(t, "HS256", "")
	cfg := hs()
	cfg.Leeway = config.Duration(10 * time.Second)
	f := believing(t, nil, cfg)
	rapid.Check(t, func(rt *rapid.T) {
		c := claims{"sub": "42"}
		for name, values := range map[string][]any{
			"iss": {nil, "https://issuer.example", "https://other.example"},
			"aud": {nil, "api", "web", []string{"web", "api"}, []string{"web"}, []string{}},
			"exp": {nil, noon - 11, noon - 10, noon - 9, noon, noon + 10},
			"nbf": {nil, noon - 1, noon, noon + 9, noon + 10, noon + 11},
		} {
			// The good ones are drawn more often than the others.
			value := good[name]
			if rapid.Bool().Draw(rt, name+" differs") {
				value = rapid.SampledFrom(values).Draw(rt, name)
			}
			if value != nil {
				c[name] = value
			}
		}
		key := jwtSecret
		if rapid.IntRange(0, 4).Draw(rt, "forged") == 0 {
			key = "another secret of at least 32 bytes..."
		}
		token := signer{s.algorithm, []byte(key), ""}.sign(t, c)
		_, err := jwt.Parse([]byte(token), jwt.WithKey(s.algorithm, []byte(jwtSecret)), jwt.WithValidate(true),
			jwt.WithIssuer("https://issuer.example"), jwt.WithAudience("api"), jwt.WithRequiredClaim("exp"), jwt.WithAcceptableSkew(10*time.Second),
			jwt.WithClock(jwt.ClockFunc(func() time.Time { return time.Unix(noon, 0) })))
		if got := subOf(t, f, token) == "42"; got != (err == nil) {
			rt.Fatalf("%v with the secret %q: believed %t, the other reader says %v", c, key, got, err)
		}
	})
}

func FuzzToken(f *testing.F) {
	s := newSigner(f, "HS256", "")
	finder := believing(f, nil, hs())
	f.Add(`{"alg":"HS256"}`, `{"sub":"42","iss":"https://issuer.example","aud":"api","exp":1800000300}`, true)
	f.Add(`{"alg":"HS256","kid":"x"}`, `{"exp":1e400,"aud":[[]],"nbf":-0.1}`, true)
	f.Add("", "", false)
	body, err := json.Marshal(good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"alg":"HS256"}`, string(body), false)
	f.Fuzz(func(t *testing.T, head, body string, signed bool) {
		secret := []byte("another secret of at least 32 bytes...")
		if signed {
			secret = []byte(jwtSecret)
		}
		token := craft(head, body, secret)
		r := from("203.0.113.9", "Authorization", "Bearer "+token)
		key := keyOf(finder, compile(t, finder, "{jwt.sub}:{jwt.iss}", "none"), r)
		wantKey(t, key)
		if key == "none" {
			return
		}
		if _, err := jws.Verify([]byte(token), jws.WithKey(s.algorithm, []byte(jwtSecret))); err != nil || !signed {
			t.Fatalf("%q is believed, but another reader says: %v", token, err)
		}
	})
}
