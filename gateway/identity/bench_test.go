package identity_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/gateway/route"
)

// A visit is a request with the templates that its key is made by, and how many allocations that may take.
type visit struct {
	name     string
	identity config.Identity
	template string
	request  *identity.Request
	allocs   float64
}

func visits(tb testing.TB) []visit {
	tb.Helper()
	proxied := config.Identity{TrustedProxies: networks(tb, trusted...)}
	forwarded := proxied
	forwarded.AddressHeader = "Forwarded"
	tokens := config.Identity{JWT: []config.JWT{hs()}}
	known := withKeys(nil)
	token := newSigner(tb, "HS256", "").sign(tb, good)
	user := from("203.0.113.9", "X-User", "bob:1")
	user.Params = []route.Param{{Name: "id", Value: "4711"}}
	return []visit{
		{"address", config.Identity{}, "ip:{ip}", from("203.0.113.9"), 1},
		{"IPv6", config.Identity{}, "ip:{ip}", from("2001:db8::7"), 1},
		{"X-Forwarded-For", proxied, "ip:{ip}", from("10.0.0.1", "X-Forwarded-For", "6.6.6.6, 203.0.113.9, 10.0.0.2"), 1},
		{"Forwarded", forwarded, "ip:{ip}", from("10.0.0.1", "Forwarded", `for="203.0.113.9:80";proto=https, for=10.0.0.2`), 1},
		{"API key", known, "key:{api_key}", from("203.0.113.9", "X-Api-Key", goldKey), 1},
		{"attribute", known, "owner:{api_key.owner}", from("203.0.113.9", "X-Api-Key", goldKey), 1},
		{"header", config.Identity{}, "user:{header.X-User}", user, 1},
		{"path", config.Identity{}, "{path.id}:{host}:{method}", user, 1},
		{"cookie", config.Identity{}, "{cookie.sid}", from("203.0.113.9", "Cookie", "a=b; c=d; sid=0815"), 1},
		{"token", tokens, "user:{jwt.sub}", from("203.0.113.9", "Authorization", "Bearer "+token), 2},
	}
}

// make makes the key of the visit, and everything that it needs.
func (v visit) make(f *identity.Finder, t *identity.Templates) string {
	facts := f.Facts(v.request)
	key, _ := t.Key(&facts)
	return key.Text
}

func (v visit) open(tb testing.TB) (*identity.Finder, *identity.Templates) {
	tb.Helper()
	f := open(tb, identity.Config{Identity: v.identity, Now: func() time.Time { return time.Unix(noon, 0) }})
	t := compile(tb, f, v.template)
	if v.make(f, t) == "" {
		tb.Fatalf("%s has no key", v.name)
	}
	return f, t
}

// What is made of a request on its way is the text of the key, and nothing else. The race detector makes pools forget, so
// keys that need one are asserted by BenchmarkKey.
func TestKeysAllocateTheirTextOnly(t *testing.T) {
	for _, v := range visits(t) {
		if v.identity.APIKey != nil {
			continue
		}
		f, templates := v.open(t)
		if got := testing.AllocsPerRun(200, func() { v.make(f, templates) }); got > v.allocs {
			t.Errorf("%s: %v allocations, want at most %v", v.name, got, v.allocs)
		}
	}
}

func BenchmarkKey(b *testing.B) {
	for _, v := range visits(b) {
		b.Run(v.name, func(b *testing.B) {
			f, templates := v.open(b)
			if got := testing.AllocsPerRun(200, func() { v.make(f, templates) }); got > v.allocs {
				b.Errorf("%v allocations, want at most %v", got, v.allocs)
			}
			b.ReportAllocs()
			for b.Loop() {
				v.make(f, templates)
			}
		})
	}
}

// BenchmarkToken shows what it saves to remember tokens: "first" looks at a signature each time, "again" does not.
func BenchmarkToken(b *testing.B) {
	for _, algorithm := range []string{"HS256", "RS256", "ES256", "EdDSA"} {
		s := newSigner(b, algorithm, "one")
		cfg := config.JWT{Algorithms: []string{algorithm}}
		if algorithm == "HS256" {
			cfg.SecretFile = config.FileOf([]byte(jwtSecret))
		} else {
			cfg.JWKSFile = config.FileOf(set(b, s))
		}
		f := believing(b, nil, cfg)
		templates := compile(b, f, "user:{jwt.sub}", "nobody")
		request := func(i int) *identity.Request {
			return from("203.0.113.9", "Authorization", "Bearer "+s.sign(b, good.with(claims{"scope": strings.Repeat("read write ", 20), "jti": i})))
		}
		b.Run(algorithm+"/first", func(b *testing.B) {
			// More tokens than are remembered, so that each is as if it were shown for the first time.
			fresh := make([]*identity.Request, 0, 64)
			for i := range cap(fresh) {
				fresh = append(fresh, request(i))
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i%len(fresh) == 0 {
					b.StopTimer()
					f = believing(b, nil, cfg)
					templates = compile(b, f, "user:{jwt.sub}", "nobody")
					b.StartTimer()
				}
				if keyOf(f, templates, fresh[i%len(fresh)]) != "user:42" {
					b.Fatal("the token is not believed")
				}
				i++
			}
		})
		b.Run(algorithm+"/again", func(b *testing.B) {
			same := request(0)
			b.ReportAllocs()
			for b.Loop() {
				if keyOf(f, templates, same) != "user:42" {
					b.Fatal("the token is not believed")
				}
			}
		})
	}
}

// BenchmarkBurden is what requests cost that claim as much as they can.
func BenchmarkBurden(b *testing.B) {
	id := config.Identity{TrustedProxies: networks(b, trusted...), JWT: []config.JWT{hs()}, APIKey: withKeys(nil).APIKey}
	id.APIKey.Query = "key"
	f := finder(b, id)
	templates := compile(b, f, "{jwt.sub}", "{api_key}", "{cookie.sid}", "{header.X-Long}", "{ip}")
	for name, h := range map[string]http.Header{
		"100 lines":         {"X-Forwarded-For": strings.Split(strings.Repeat("10.0.0.2,10.0.0.2;", 100), ";")},
		"megabyte":          {"X-Forwarded-For": {strings.Repeat("10.0.0.2,", 1<<20/9)}},
		"megabyte header":   {"X-Long": {strings.Repeat("x", 1<<20)}},
		"megabyte token":    {"Authorization": {"Bearer " + strings.Repeat("x.", 1<<19)}},
		"5000 cookies":      {"Cookie": {strings.Repeat("a=b; ", 5000)}},
		"10000 same lines":  {"X-Long": strings.Split(strings.Repeat("x;", 10000), ";")},
		"a token too large": {"Authorization": {"Bearer " + craft(`{"alg":"HS256"}`, fmt.Sprintf(`{"exp":%d,"a":%s1%s}`, noon+9, strings.Repeat("[", 5000), strings.Repeat("]", 5000)), nil)}},
	} {
		b.Run(name, func(b *testing.B) {
			r := from("10.0.0.1")
			r.Header = h
			b.ReportAllocs()
			for b.Loop() {
				keyOf(f, templates, r)
			}
		})
	}
}
