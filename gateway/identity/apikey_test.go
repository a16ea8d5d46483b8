package identity_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

const (
	keySecret = "0123456789abcdef0123"
	goldKey   = "k-gold-1"
)

// withKeys is an identity that knows goldKey.
func withKeys(change func(*config.APIKey)) config.Identity {
	a := &config.APIKey{
		SecretFile: config.FileOf([]byte(keySecret + "\n")),
		Known: []config.KnownKey{
			{Digest: identity.Digest([]byte(keySecret), goldKey), Attributes: map[string]string{"plan": "gold", "owner": "acme"}},
			{Digest: strings.ToUpper(identity.Digest([]byte(keySecret), "k-plain")), Attributes: nil},
		},
	}
	if change != nil {
		change(a)
	}
	return config.Identity{APIKey: a}
}

func TestDigest(t *testing.T) {
	h := hmac.New(sha256.New, []byte(keySecret))
	h.Write([]byte(goldKey))
	want := hex.EncodeToString(h.Sum(nil))
	if got := identity.Digest([]byte(" "+keySecret+"\n"), goldKey); got != want {
		t.Errorf("the digest is %s, want %s", got, want)
	}
}

func TestAPIKeys(t *testing.T) {
	digest := func(key string) string { return "key:" + identity.Digest([]byte(keySecret), key) }
	query := func(a *config.APIKey) { a.Query = "api_key" }
	both := func(a *config.APIKey) { a.Query, a.Header = "api_key", "X-Key" }
	for name, c := range map[string]struct {
		change  func(*config.APIKey)
		headers []string
		query   string
		want    string // empty for no key that counts
	}{
		"known":                     {nil, []string{"X-Api-Key", goldKey}, "", digest(goldKey)},
		"known without attributes":  {nil, []string{"X-Api-Key", "k-plain"}, "", digest("k-plain")},
		"known, with spaces":        {nil, []string{"X-Api-Key", " " + goldKey + "\t"}, "", digest(goldKey)},
		"unknown":                   {nil, []string{"X-Api-Key", "k-gold-2"}, "", ""},
		"the digest of a known one": {nil, []string{"X-Api-Key", identity.Digest([]byte(keySecret), goldKey)}, "", ""},
		"unknown, any counts":       {func(a *config.APIKey) { a.Any = true }, []string{"X-Api-Key", "k"}, "", digest("k")},
		"too long, any counts":      {func(a *config.APIKey) { a.Any = true }, []string{"X-Api-Key", strings.Repeat("k", 1025)}, "", ""},
		"none":                      {nil, nil, "api_key=" + goldKey, ""},
		"two":                       {nil, []string{"X-Api-Key", goldKey, "X-Api-Key", "k-plain"}, "", ""},
		"the same twice":            {nil, []string{"X-Api-Key", goldKey, "X-Api-Key", goldKey}, "", digest(goldKey)},
		"query":                     {query, nil, "a=1&api_key=k%2Dgold-1&b=2", digest(goldKey)},
		"query, escaped name":       {query, nil, "api%5Fkey=" + goldKey, digest(goldKey)},
		"query, header not read":    {query, []string{"X-Api-Key", goldKey}, "", ""},
		"query, two":                {query, nil, "api_key=k-plain&api_key=" + goldKey, ""},
		"query, badly escaped":      {query, nil, "api_key=k%zz", ""},
		"query, far behind":         {query, nil, strings.Repeat("a=b&", 600) + "api_key=" + goldKey, ""},
		"header before query":       {both, []string{"X-Key", goldKey}, "", digest(goldKey)},
		"query instead of header":   {both, nil, "api_key=" + goldKey, digest(goldKey)},
		"different in both":         {both, []string{"X-Key", goldKey}, "api_key=k-plain", ""},
		"the same in both":          {both, []string{"X-Key", goldKey}, "api_key=" + goldKey, digest(goldKey)},
		"bearer":                    {func(a *config.APIKey) { a.Header = "authorization" }, []string{"Authorization", "bearer " + goldKey}, "", digest(goldKey)},
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t, withKeys(c.change))
			r := from("203.0.113.9", c.headers...)
			r.RawQuery = c.query
			facts := f.Facts(r)
			key, ok := compile(t, f, "key:{api_key}").Key(&facts)
			if key.Text != c.want || ok != (c.want != "") || facts.KnowsKey() != ok {
				t.Fatalf("the key is %q, %t, want %q", key.Text, ok, c.want)
			}
			if ok && !key.Secret {
				t.Error("a key made of an API key is not secret")
			}
		})
	}
}

func TestAttributes(t *testing.T) {
	f := finder(t, withKeys(func(a *config.APIKey) { a.Any = true }))
	templates := compile(t, f, "owner:{api_key.owner}", "key:{api_key}", "ip:{ip}")
	for key, want := range map[string]string{
		goldKey: "owner:acme", "k-plain": "key:" + identity.Digest([]byte(keySecret), "k-plain"), "": "ip:203.0.113.9",
	} {
		if got := keyOf(f, templates, from("203.0.113.9", "X-Api-Key", key)); got != want {
			t.Errorf("%q makes %q, want %q", key, got, want)
		}
	}
	plan, err := f.Variable("api_key.plan")
	if err != nil {
		t.Fatal(err)
	}
	facts := f.Facts(from("203.0.113.9", "X-Api-Key", goldKey))
	if got, ok := plan.Value(&facts); got != "gold" || !ok {
		t.Errorf("the plan is %q, %t", got, ok)
	}
	_, err = f.Variable("api_key.color")
	wantProblem(t, err, "variable", "no key has one")
}

func TestAPIKeyMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(*config.APIKey)
		field, says string
	}{
		"secret":       {func(a *config.APIKey) { a.SecretFile = config.FileOf([]byte("short\n\n\n\n\n\n\n\n\n\n\n\n")) }, "identity.api_key.secret_file", "5 bytes"},
		"header":       {func(a *config.APIKey) { a.Header = "X Key" }, "identity.api_key.header", "X Key"},
		"digest":       {func(a *config.APIKey) { a.Known[1].Digest = "0g" }, "identity.api_key.known[1].digest", "64 hexadecimal"},
		"digest, long": {func(a *config.APIKey) { a.Known[1].Digest += "00" }, "identity.api_key.known[1].digest", "64 hexadecimal"},
		"twice":        {func(a *config.APIKey) { a.Known[1] = a.Known[0] }, "identity.api_key.known[1].digest", "above"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := identity.New(identity.Config{Identity: withKeys(c.change)})
			wantProblem(t, err, c.field, c.says)
		})
	}
}

func TestStrip(t *testing.T) {
	both := func(a *config.APIKey) { a.Query, a.Header = "api_key", "X-Key" }
	for name, c := range map[string]struct {
		change func(*config.APIKey)
		known  bool
		header string // the one that is there
		query  string
		stays  bool   // the header
		want   string // of the query
	}{
		"header":             {nil, true, "X-Api-Key", "a=1&api_key=2", false, "a=1&api_key=2"},
		"header, unknown":    {nil, false, "X-Api-Key", "", false, ""},
		"pass on":            {func(a *config.APIKey) { a.PassOn = true }, true, "X-Api-Key", "", true, ""},
		"both":               {both, true, "X-Key", "a=%31&api_key=2&b&api%5fkey=3", false, "a=%31&b"},
		"only the key":       {both, true, "X-Key", "api_key=2", false, ""},
		"other header":       {both, true, "X-Api-Key", "", true, ""},
		"query as it was":    {both, false, "X-Key", "b=%zz&&a=1;2&x%ZZ=%", false, "b=%zz&&a=1;2&x%ZZ=%"},
		"bearer":             {func(a *config.APIKey) { a.Header = "Authorization" }, true, "Authorization", "", false, ""},
		"bearer, some token": {func(a *config.APIKey) { a.Header = "Authorization" }, false, "Authorization", "", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t, withKeys(c.change))
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
			r.Header.Set(c.header, "Bearer x")
			r.URL.RawQuery = c.query
			f.Strip(r, c.known)
			if stays := r.Header.Get(c.header) != ""; stays != c.stays {
				t.Errorf("the header is there: %t, want %t", stays, c.stays)
			}
			if r.URL.RawQuery != c.want {
				t.Errorf("the query is %q, want %q", r.URL.RawQuery, c.want)
			}
		})
	}
	finder(t, config.Identity{}).Strip(&http.Request{}, true) // nothing to take out
}

func TestTokens(t *testing.T) {
	tokens, err := identity.NewTokens([]byte("# the tokens of operators\n\n  first-token-of-16  \r\nsecond-token-of-17\n\n"), 16)
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]bool{
		"first-token-of-16": true, "second-token-of-17": true, "second-token-of-1": false, "": false, "first-token-of-16\n": false, "# the tokens of operators": false,
		strings.Repeat("x", 5000): false,
	} {
		if got := tokens.Has(token); got != want {
			t.Errorf("Has(%.20q) = %t, want %t", token, got, want)
		}
	}
	if (*identity.Tokens)(nil).Has("x") {
		t.Error("nil has a token")
	}
	for _, c := range []struct{ text, says string }{
		{"", "no token"},
		{" \n\t", "no token"},
		{"# nothing but what people read", "no token"},
		{"first-token-of-16\nshort", "line 2: the token has 5 characters"},
		{strings.Repeat("x", 5000), "5000 bytes"},
	} {
		if _, err := identity.NewTokens([]byte(c.text), 16); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("the error of %.20q is %v, want one with %q", c.text, err, c.says)
		}
	}
}
