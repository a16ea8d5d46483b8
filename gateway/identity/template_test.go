package identity_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/gateway/route"
)

func TestKeys(t *testing.T) {
	f := finder(t, config.Identity{TrustedProxies: networks(t, trusted...)})
	sum := func(s string) string {
		h := sha256.Sum256([]byte(s))
		return "sha256-" + hex.EncodeToString(h[:])
	}
	long := strings.Repeat("é", 65) // 130 bytes
	visit := from("203.0.113.9", "X-User", "bob", "X-Odd", "a:b%c d\x00\xff€é", "X-Spaces", "   ", "X-Twice", "a", "X-Twice", "b",
		"X-Same", "a", "X-Same", "a ", "X-Long", long, "X-Hash", sum(long), "Cookie", `a=1; sid="s 1"; sid=s 1; d=1; d=2; b`)
	visit.Host = "api.example.com"
	visit.Method = "PATCH"
	visit.Route = "users"
	visit.Params = []route.Param{{Name: "id", Value: "4/2"}, {Name: "none", Value: ""}}
	for name, c := range map[string]struct {
		templates []string
		want      string
		secret    bool
	}{
		"address":               {[]string{"ip:{ip}"}, "ip:203.0.113.9", false},
		"no variable":           {[]string{"everybody"}, "everybody", false},
		"header":                {[]string{"user:{header.X-User}"}, "user:bob", true},
		"header in small":       {[]string{"user:{header.x-user}"}, "user:bob", true},
		"escaped":               {[]string{"{header.X-Odd}"}, "a%3Ab%25c%20d%00%FF%E2%82%ACé", true},
		"second":                {[]string{"user:{header.X-Nobody}", "ip:{ip}"}, "ip:203.0.113.9", false},
		"spaces":                {[]string{"{header.X-Spaces}", "ip:{ip}"}, "ip:203.0.113.9", false},
		"two values":            {[]string{"{header.X-Twice}", "ip:{ip}"}, "ip:203.0.113.9", false},
		"one value twice":       {[]string{"{header.X-Same}"}, "a", true},
		"long":                  {[]string{"h:{header.X-Long}"}, "h:" + sum(long), true},
		"the hash of a long":    {[]string{"h:{header.X-Hash}"}, "h:%73" + sum(long)[1:], true},
		"cookie":                {[]string{"{cookie.sid}"}, "s%201", true},
		"two cookies":           {[]string{"{cookie.d}", "none"}, "none", false},
		"no cookie":             {[]string{"{cookie.b}", "{cookie.c}"}, "", false},
		"host":                  {[]string{"{host}"}, "api.example.com", false},
		"method, route":         {[]string{"{method}:{route}"}, "PATCH:users", false},
		"path":                  {[]string{"{path.id}"}, "4/2", false},
		"path, separated":       {[]string{"{path.id}/{method}"}, "4%2F2/PATCH", false},
		"empty path":            {[]string{"{path.none}", "{path.other}"}, "", false},
		"address and more":      {[]string{"<{ip}> {host}!"}, "<203.0.113.9> api.example.com!", false},
		"a proxy's, by anybody": {[]string{"{proxy_header.X-User}"}, "", false},
		"nothing":               {[]string{"{header.X-Nobody}"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			facts := f.Facts(visit)
			key, ok := compile(t, f, c.templates...).Key(&facts)
			if key.Text != c.want || key.Secret != c.secret || ok != (c.want != "") {
				t.Errorf("the key is %+v, %t, want %q, secret %t", key, ok, c.want, c.secret)
			}
			if ok && !slices.Contains(c.templates, key.Template) {
				t.Errorf("the template is %q, want one of %q", key.Template, c.templates)
			}
		})
	}
}

// What a proxy says of its clients counts only if it is trusted.
func TestProxyHeader(t *testing.T) {
	f := finder(t, config.Identity{TrustedProxies: networks(t, trusted...)})
	templates := compile(t, f, "user:{proxy_header.X-User}", "ip:{ip}")
	if got := keyOf(f, templates, from("203.0.113.9", "X-User", "alice")); got != "ip:203.0.113.9" {
		t.Errorf("a forger has the key %q", got)
	}
	if got := keyOf(f, templates, from("10.0.0.1", "X-User", "alice")); got != "user:alice" {
		t.Errorf("behind the proxy the key is %q", got)
	}
	if got := keyOf(f, templates, from("10.0.0.1", "X-User", "mallory", "X-User", "alice")); got != "ip:10.0.0.1" {
		t.Errorf("with a forged header beside the proxy's the key is %q", got)
	}
	asked := from("203.0.113.9", "X-User", "alice")
	asked.FromProxy = true
	if got := keyOf(f, templates, asked); got != "user:alice" {
		t.Errorf("when a proxy asks for a client the key is %q", got)
	}
}

func TestCompileNamesWhatIsWrong(t *testing.T) {
	f := finder(t, config.Identity{})
	for template, says := range map[string]string{
		"":                                "empty",
		"{":                               "brace",
		"a}b":                             "brace",
		"{ip":                             "brace",
		"{}":                              "{}",
		"{jwt.sub}":                       "needs identity.jwt",
		"{jwt}":                           "{jwt.CLAIM}",
		"{api_key}":                       "needs identity.api_key",
		"{api_key.plan}":                  "needs identity.api_key",
		"{header.Host}":                   "{host}",
		"{header.X Y}":                    "{header.X Y}",
		"{name}":                          "{name}",
		"{ip.x}":                          "{ip.x}",
		"{host}{ip}":                      "{host} and {ip}",
		"{host}a{ip}":                     "put a colon between them",
		"{host}%{ip}":                     "put a colon between them",
		"{host}é{ip}":                     "put a colon between them",
		strings.Repeat("a", 129) + "{ip}": "129 bytes",
		strings.Repeat("{ip}:", 9):        "9 variables",
		"a\nb":                            "control character",
	} {
		_, err := f.Compile([]string{"ip:{ip}", template})
		wantProblem(t, err, "[1]", says)
	}
	_, err := f.Compile(nil)
	wantProblem(t, err, "[0]", "missing")
}

func TestVariables(t *testing.T) {
	f := finder(t, config.Identity{TrustedProxies: networks(t, trusted...)})
	r := from("2001:db8::7", "X-Odd", "a:b%c")
	for name, want := range map[string]string{"ip": "2001:db8::/64", "header.X-Odd": "a:b%c", "method": "GET", "proxy_header.X-Odd": ""} {
		v, err := f.Variable(name)
		if err != nil {
			t.Fatal(err)
		}
		facts := f.Facts(r)
		if got, ok := v.Value(&facts); got != want || ok != (want != "") || v.String() != name {
			t.Errorf("%s is %q, %t, want %q", v, got, ok, want)
		}
	}
	facts := f.Facts(r)
	if got, ok := (identity.Variable{}).Value(&facts); ok {
		t.Errorf("the zero variable is %q", got)
	}
	for name, says := range map[string]string{"{ip}": "is not a variable", "ipx": "is not a variable", "jwt.sub": "needs identity.jwt", "": "is not a variable"} {
		_, err := f.Variable(name)
		wantProblem(t, err, "variable", says)
	}
}

// drawValue draws what forgers would try: separators, escapes, hashes of other values, and values that are too long.
func drawValue(t *rapid.T, name string) string {
	piece := rapid.SampledFrom([]string{
		"a", "b", ":", "-", "/", "%", "%3A", "%2D", "sha256", "sha256-", "%73", "é", "\u0301", "\xff", "\ufffd", " ", "0", "7",
	})
	value := strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, name), "")
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0:
		value = strings.Repeat(value, 129)
	case 1:
		h := sha256.Sum256([]byte(strings.Repeat(value, 129)))
		value = "sha256-" + hex.EncodeToString(h[:])
	case 2:
		value = strings.Repeat(value, 128/len(value)) // as long as possible, and up to 384 bytes when it is escaped
	}
	return value
}

// Whatever values a request has: other values, another key.
func TestDifferentValuesNeverMakeOneKey(t *testing.T) {
	f := finder(t, config.Identity{})
	sets := []*identity.Templates{
		compile(t, f, "k:{path.a}"), compile(t, f, "{path.a}:{path.b}"), compile(t, f, "k-{path.a}-{path.b}!"), compile(t, f, "{path.a}/{path.b}"),
		compile(t, f, "x{path.a}.b{path.b}"), compile(t, f, "{path.a}:a:{path.b}:%{path.a}"), compile(t, f, "{path.a} {path.b}"),
	}
	names := [][]string{{"a"}, {"a", "b"}, {"a", "b"}, {"a", "b"}, {"a", "b"}, {"a", "b"}, {"a", "b"}}
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.IntRange(0, len(sets)-1).Draw(t, "template")
		var one, other []route.Param
		same := true
		for _, name := range names[set] {
			a := drawValue(t, name)
			b := a
			if rapid.Bool().Draw(t, "differs") {
				b = drawValue(t, name)
			}
			same = same && a == b
			one, other = append(one, route.Param{Name: name, Value: a}), append(other, route.Param{Name: name, Value: b})
		}
		k1, k2 := keyOf(f, sets[set], &identity.Request{Params: one}), keyOf(f, sets[set], &identity.Request{Params: other})
		wantKey(t, k1)
		wantKey(t, k2)
		if (k1 == k2) != same {
			t.Fatalf("%q and %q make %q and %q", one, other, k1, k2)
		}
	})
}

// An address before a value, with any separator, is no less clear.
func TestAddressesAreToldFromWhatFollows(t *testing.T) {
	f := finder(t, config.Identity{IPv6Prefix: 128})
	sets := []*identity.Templates{compile(t, f, "{ip}:{path.a}"), compile(t, f, "{ip}/{path.a}"), compile(t, f, "{ip}.{path.a}")}
	value := rapid.StringOfN(rapid.SampledFrom([]rune("0123:/.a")), 1, 6, -1)
	peers := []string{"1.2.3.4", "1.2.3.40", "1.2.3.41", "2001:db8::1", "2001:db8::12", "::1", "::", "1::2"}
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.SampledFrom(sets).Draw(t, "template")
		draw := func() (string, string) {
			return rapid.SampledFrom(peers).Draw(t, "peer"), value.Draw(t, "value")
		}
		p1, v1 := draw()
		p2, v2 := draw()
		r1, r2 := from(p1), from(p2)
		r1.Params, r2.Params = []route.Param{{Name: "a", Value: v1}}, []route.Param{{Name: "a", Value: v2}}
		if k1, k2 := keyOf(f, set, r1), keyOf(f, set, r2); (k1 == k2) != (p1 == p2 && v1 == v2) {
			t.Fatalf("%s %q and %s %q make %q and %q", p1, v1, p2, v2, k1, k2)
		}
	})
}

// failer is what wantKey needs of a test.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// wantKey fails unless key is one that the cluster takes.
func wantKey(t failer, key string) {
	t.Helper()
	if key == "" || len(key) > limit.MaxKey || !utf8.ValidString(key) {
		t.Fatalf("%d bytes are no key: %q", len(key), key)
	}
}

func FuzzKey(f *testing.F) {
	secret := config.FileOf([]byte("a secret of more than 32 bytes, for tests"))
	finder := finder(f, config.Identity{
		TrustedProxies: networks(f, trusted...),
		JWT:            []config.JWT{{SecretFile: secret, Algorithms: []string{"HS256"}, Cookie: "token"}},
		APIKey:         &config.APIKey{SecretFile: secret, Query: "key", Header: "X-Api-Key", Any: true},
	})
	all := compile(f, finder, "j:{jwt.sub}:{jwt.a.b}", "k:{api_key}", "p:{proxy_header.X-A}:{header.X-A}", "{header.X-A}", "{cookie.sid}", "{host}/{method}",
		"{path.id}", "ip:{ip}")
	each := make([]*identity.Templates, 0, 9)
	for _, text := range []string{
		"k:{api_key}", "{header.X-A}", "{cookie.sid}", "{host}/{method}", "{path.id}", "ip:{ip}", "{path.id}-{host}-{header.X-A}-{cookie.sid}-{method}",
	} {
		each = append(each, compile(f, finder, text))
	}
	f.Add("10.0.0.1", "Bearer a.b.c", "1, 2", "sid=1;token=x", "k=%zz&key=1", "host:1", "GET", "a:b")
	f.Add("::1", "", "\xff", `sid="`, "key", "[::1]:80", "", strings.Repeat("%", 200))
	f.Fuzz(func(t *testing.T, peer, bearer, header, cookies, query, host, method, path string) {
		r := from("203.0.113.9")
		r.Header["X-Forwarded-For"] = []string{peer}
		r.Header["Authorization"] = []string{bearer}
		r.Header["X-A"] = []string{header}
		r.Header["X-Api-Key"] = []string{header}
		r.Header["Cookie"] = []string{cookies, header}
		r.RawQuery, r.Host, r.Method = query, host, method
		r.Params = []route.Param{{Name: "id", Value: path}}
		wantKey(t, keyOf(finder, all, r))
		facts := finder.Facts(r)
		for _, templates := range each {
			if key, ok := templates.Key(&facts); ok {
				wantKey(t, key.Text)
			} else if key.Text != "" {
				t.Fatalf("a key that is none has the text %q", key.Text)
			}
		}
	})
}

func FuzzCookies(f *testing.F) {
	f.Add(`a=1; sid="x"; sid=2`, "sid")
	f.Add(`sid=; =sid;;sid`, "sid")
	f.Add(`;"sid"="sid;`, "sid")
	f.Fuzz(func(t *testing.T, line, name string) {
		finder := finder(t, config.Identity{})
		v, err := finder.Variable("cookie." + name)
		if err != nil {
			return
		}
		before := from("203.0.113.9", "Cookie", name+"=mine; "+line)
		facts := finder.Facts(before)
		if got, _ := v.Value(&facts); got != "mine" && facts.Contradiction() == "" {
			t.Fatalf("the first cookie is %q, though it is there and no other is", got)
		}
		facts = finder.Facts(from("203.0.113.9", "Cookie", line))
		if got, _ := v.Value(&facts); !strings.Contains(line, got) || strings.Contains(got, ";") {
			t.Fatalf("the cookie is %q, which does not stand in %q", got, line)
		}
	})
}

// However many cookies a request has, some hundreds are looked at, and a little of their text.
func TestCookiesAreBounded(t *testing.T) {
	f := finder(t, config.Identity{})
	templates := compile(t, f, "{cookie.sid}", "none")
	for name, c := range map[string]struct{ cookies, want string }{
		"few":       {strings.Repeat("a=b;", 500) + "sid=1", "1"},
		"thousands": {strings.Repeat("a=b;", 5000) + "sid=1", "none"},
		"huge":      {"a=" + strings.Repeat("b", 1<<20) + ";sid=1", "none"},
	} {
		if got := keyOf(f, templates, from("203.0.113.9", "Cookie", c.cookies)); got != c.want {
			t.Errorf("with %s cookies the key is %q, want %q", name, got, c.want)
		}
	}
}
