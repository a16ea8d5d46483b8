package identity_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// What is wrong with what a request shows is found out, and said without it.
func TestFlaws(t *testing.T) {
	s, other := newSigner(t, "EdDSA", "one"), newSigner(t, "EdDSA", "two")
	forged := newSigner(t, "EdDSA", "one")
	issuer := config.JWT{JWKSFile: config.FileOf(set(t, s)), Algorithms: []string{"EdDSA"}, Issuer: "https://issuer.example", Audience: "api", Cookie: "session"}
	id := withKeys(func(a *config.APIKey) {
		a.KeysFile = listed(t, line("ci", "k-ci", ""), line("old", "k-old", `"expires":"2020-01-01T00:00:00Z",`))
	})
	id.JWT = []config.JWT{issuer, hs()}
	shared := withKeys(func(a *config.APIKey) { a.Header = "Authorization" })
	shared.JWT = []config.JWT{issuer}
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	sign := func(more claims) []string { return bearer(s.sign(t, good.with(more))) }
	valid := s.sign(t, good)
	forever := maps.Clone(good)
	delete(forever, "exp")
	for name, c := range map[string]struct {
		id      config.Identity
		headers []string
		says    string // empty for nothing
	}{
		"nothing":                  {id, nil, ""},
		"no bearer":                {id, []string{"Authorization", "Basic eDp5"}, ""},
		"a good token":             {id, bearer(valid), ""},
		"a good key":               {id, []string{"X-Api-Key", "k-ci"}, ""},
		"expired":                  {id, sign(claims{"exp": noon - 31}), "the token has expired"},
		"too early":                {id, sign(claims{"nbf": noon + 31}), "the token is not valid yet"},
		"another issuer":           {id, sign(claims{"iss": "x"}), "the token is from another issuer"},
		"another audience":         {id, sign(claims{"aud": "x"}), "the token is for another audience"},
		"a key nobody knows":       {id, bearer(other.sign(t, good)), "the token is signed with an unknown key"},
		"forged":                   {id, bearer(forged.sign(t, good)), "the token has a wrong signature"},
		"another algorithm":        {id, bearer(newSigner(t, "ES256", "").sign(t, good)), "the token is signed with an algorithm that is not accepted"},
		"no expiry":                {id, bearer(s.sign(t, forever)), "the token has no expiry: it lacks exp"},
		"no expiry, forged":        {id, bearer(forged.sign(t, forever)), "the token has no expiry: it lacks exp"},
		"no expiry, another's":     {id, bearer(s.sign(t, forever.with(claims{"iss": "x"}))), "the token is from another issuer"},
		"an expiry that is none":   {id, sign(claims{"exp": "soon"}), "the token is malformed"},
		"an expiry of nothing":     {id, sign(claims{"exp": nil}), "the token is malformed"},
		"garbage":                  {id, bearer("garbage"), "the token is malformed"},
		"a token too long":         {id, bearer(strings.Repeat("x.", 9000)), "the token is malformed"},
		"the other issuer's":       {id, bearer(newSigner(t, "HS256", "").sign(t, good.with(claims{"exp": noon - 31}))), "the token has expired"},
		"a good one in the cookie": {id, append(bearer("garbage"), "Cookie", "session="+valid), ""},
		"an unknown key":           {id, []string{"X-Api-Key", "junk"}, "the API key is not known"},
		"an expired key":           {id, []string{"X-Api-Key", "k-old"}, "the API key has expired"},
		"a long key":               {id, []string{"X-Api-Key", strings.Repeat("k", 1025)}, "the API key is too long"},
		"both are bad":             {id, append(bearer("garbage"), "X-Api-Key", "junk"), "the token is malformed"},
		"one of two is bad":        {id, append(bearer(valid), "X-Api-Key", "junk"), "the API key is not known"},
		"shared: a good token":     {shared, bearer(valid), ""},
		"shared: a good key":       {shared, bearer(goldKey), ""},
		"shared: an unknown key":   {shared, bearer("junk"), "the API key is not known"},
		"shared: a bad token":      {shared, sign(claims{"exp": noon - 31}), "the token has expired"},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t, identity.Config{Identity: c.id, Now: func() time.Time { return time.Unix(noon, 0) }})
			facts := f.Facts(from("203.0.113.9", c.headers...))
			if before := facts.Flaw(); before != (identity.Flaw{}) {
				t.Errorf("before anybody looks, it is %v", before)
			}
			found := facts.Examine()
			if found.String() != c.says || facts.Flaw() != found {
				t.Errorf("the flaw is %q, then %q; want %q", found, facts.Flaw(), c.says)
			}
		})
	}
	if got := (identity.Flaw{Credential: "token", Check: "of_later"}).String(); got != "the token is invalid: of_later" {
		t.Errorf("a check that is not known is called %q", got)
	}
	if got := new(identity.Facts).Flaw(); got != (identity.Flaw{}) {
		t.Errorf("no facts have the flaw %v", got)
	}
}
