package identity_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// everywhere is an identity with every place that clients can be found by.
func everywhere(tb testing.TB) *identity.Finder {
	tb.Helper()
	own := hs()
	own.Cookie = "jwt"
	other := hs()
	other.Header = "X-Token"
	id := withKeys(func(a *config.APIKey) { a.Header, a.Query = "X-Api-Key", "api_key" })
	id.JWT = []config.JWT{own, other}
	id.TrustedProxies = networks(tb, trusted...)
	f := finder(tb, id)
	compile(tb, f, "{jwt.sub}", "{header.X-User}", "{cookie.sid}:{proxy_header.X-Real}")
	if _, err := f.Variable("header.X-Plan"); err != nil {
		tb.Fatal(err)
	}
	return f
}

// Whoever can be read as two people is told so, in words that name the place and not the value. Whoever is one person, however
// often he says it, is not.
func TestContradictions(t *testing.T) {
	f := everywhere(t)
	token := newSigner(t, "HS256", "").sign(t, good)
	for name, c := range map[string]struct {
		peer    string
		headers []string
		query   string
		names   string // what the sentence names; empty for none
	}{
		"nothing":                    {},
		"all, once":                  {"", []string{"Authorization", "Bearer " + token, "X-Token", token, "Cookie", "jwt=" + token + "; sid=1", "X-Api-Key", goldKey, "X-User", "a, b", "X-Plan", "gold"}, "api_key=" + goldKey, ""},
		"the same token twice":       {"", []string{"Authorization", "Bearer " + token, "Authorization", "Bearer " + token + " "}, "", ""},
		"a second token":             {"", []string{"Authorization", "Bearer " + token, "Authorization", "Bearer junk"}, "", "Authorization"},
		"a second, empty line":       {"", []string{"Authorization", "Bearer " + token, "Authorization", ""}, "", "Authorization"},
		"tab":                        {"", []string{"Authorization", "Bearer\t" + token}, "", ""},
		"spaces and tabs":            {"", []string{"Authorization", "bEARER \t  " + token}, "", ""},
		"Bearer alone":               {"", []string{"Authorization", "Bearer"}, "", ""},
		"no space":                   {"", []string{"Authorization", "Bearer:" + token}, "", "Authorization"},
		"another space":              {"", []string{"Authorization", "Bearer\u00a0" + token}, "", "Authorization"},
		"two words":                  {"", []string{"Authorization", "Bearer " + token + " junk"}, "", "Authorization"},
		"two words, another space":   {"", []string{"Authorization", "Bearer " + token + "\xa0junk"}, "", "Authorization"},
		"joined lines":               {"", []string{"Authorization", "Bearer " + token + ", Bearer junk"}, "", "Authorization"},
		"not base64url":              {"", []string{"Authorization", "Bearer " + token[:len(token)-3] + "!" + token[len(token)-3:]}, "", "Authorization"},
		"a token of another kind":    {"", []string{"Authorization", "Bearer 2YotnFZFEjr1zCsicMWpAA+/==~"}, "", ""},
		"another scheme":             {"", []string{"Authorization", `Digest username="a", realm="b"`}, "", ""},
		"a second in its own header": {"", []string{"X-Token", token, "X-Token", "junk"}, "", "X-Token"},
		"taken out by Connection":    {"", []string{"X-Token", token, "Connection", "close, x-token"}, "", "Connection removes the header X-Token"},
		"cookies taken out":          {"", []string{"Connection", "Keep-Alive", "Connection", " cookie "}, "", "header Cookie"},
		"another one taken out":      {"", []string{"Connection", "X-Other, upgrade, te"}, "", ""},
		"underscores":                {"", []string{"X_Token", token}, "", "X-Token"},
		"a dot for a dash":           {"", []string{"X-Token", token, "X.Token", "junk"}, "", "X-Token"},
		"a proxy's, underscores":     {"10.0.0.1", []string{"X-Real", "a", "X_Real", "b"}, "", ""}, // which are not passed on
		"not from a proxy":           {"", []string{"X_Real", "b"}, "", ""},
		"a dot in a parameter":       {"", nil, "api_key=" + goldKey + "&api.key=junk", "api_key"},
		"a parameter of an array":    {"", nil, "api_key=" + goldKey + "&api_key[]=junk", "api_key"},
		"a space before":             {"", nil, "api_key=" + goldKey + "&%20api_key=junk", "api_key"},
		"capital letters":            {"", nil, "API_KEY=" + goldKey, "api_key"},
		"cut at a NUL":               {"", nil, "api_key%00%zz=" + goldKey, "api_key"},
		"an array of other things":   {"", nil, "api[key]=1&filter[api_key]=2", ""},
		"brackets around":            {"", nil, "api_key=" + goldKey + "&[api_key]=junk", "api_key"},
		"an old escape":              {"", nil, "%u0061pi_key=" + goldKey, "api_key"},
		"a cookie in capitals":       {"", []string{"Cookie", "SID=1; sid=2"}, "", ""},
		"a bracket in a cookie":      {"", []string{"Cookie", "jwt[0]=junk; jwt=" + token}, "", "jwt"},
		"an escape in its name":      {"", []string{"Cookie", "j%77t=junk; jwt=" + token}, "", "jwt"},
		"last cookie":                {"", []string{"Cookie", "jwt=junk; jwt=" + token}, "", "jwt"},
		"two lines of cookies":       {"", []string{"Cookie", "jwt=" + token, "Cookie", "jwt=junk"}, "", "jwt"},
		"the same cookie twice":      {"", []string{"Cookie", "jwt=" + token, "Cookie", `a=b; jwt="` + token + `"`}, "", ""},
		"an empty cookie before":     {"", []string{"Cookie", "jwt=; jwt=" + token}, "", "jwt"},
		"a bare name before":         {"", []string{"Cookie", "jwt; jwt=" + token}, "", "jwt"},
		"a bare name after":          {"", []string{"Cookie", "jwt=" + token, "Cookie", "jwt"}, "", "jwt"},
		"a bare name alone":          {"", []string{"Cookie", "jwt; sid"}, "", ""},
		"a space before a cookie":    {"", []string{"Cookie", "sid= 1; sid=1"}, "", "sid"},
		"a space within the marks":   {"", []string{"Cookie", `sid=" 1"; sid= 1`}, "", "sid"},
		"the same with a space":      {"", []string{"Cookie", "sid= 1; sid= 1 ;"}, "", ""},
		"an escaped cookie":          {"", []string{"Cookie", "jwt=%65" + token[1:]}, "", "jwt"},
		"an escape in another":       {"", []string{"Cookie", "sid=s%3Aabc"}, "", ""},
		"a variable's cookie twice":  {"", []string{"Cookie", "sid=1; sid=2"}, "", "sid"},
		"another cookie twice":       {"", []string{"Cookie", "pid=1; pid=2"}, "", ""},
		"a cookie behind many":       {"", []string{"Cookie", strings.Repeat("a=b;", 600) + "jwt=" + token}, "", "too many cookies"},
		"a cookie behind a long one": {"", []string{"Cookie", "a=" + strings.Repeat("b", 1<<17) + ";jwt=" + token}, "", "too many cookies"},
		"two API keys":               {"", []string{"X-Api-Key", goldKey, "X-Api-Key", "junk"}, "", "X-Api-Key"},
		"API key with underscores":   {"", []string{"X-Api-Key", "junk", "X_api_key", goldKey}, "", "X-Api-Key"},
		"API key, one underscore":    {"", []string{"X-Api_Key", goldKey}, "", "X-Api-Key"},
		"API key in both places":     {"", []string{"X-Api-Key", "junk"}, "api_key=" + goldKey, "api_key"},
		"two parameters":             {"", nil, "api_key=" + goldKey + "&api_key=junk", "api_key"},
		"an empty parameter before":  {"", nil, "api_key=&api_key=" + goldKey, "api_key"},
		"the same parameter twice":   {"", nil, "api_key=" + goldKey + "&%61pi_key=" + goldKey, ""},
		"a parameter, escaped name":  {"", nil, "api_key=" + goldKey + "&%61pi_key=junk", "api_key"},
		"a parameter, wrong escape":  {"", nil, "api_key=%zz&api_key=" + goldKey, "api_key"},
		"behind a semicolon":         {"", nil, "a=b;api_key=" + goldKey, "api_key"},
		"before a semicolon":         {"", nil, "api_key=" + goldKey + ";a=b", "api_key"},
		"a semicolon elsewhere":      {"", nil, "a=b;c&api_key=" + goldKey, ""},
		"a parameter behind many":    {"", nil, strings.Repeat("a&", 600) + "api_key=" + goldKey, "too many parameters"},
		"another parameter twice":    {"", nil, "a=1&a=2", ""},
		"a variable's header twice":  {"", []string{"X-User", "a", "X-User", "b"}, "", "X-User"},
		"a choice's header twice":    {"", []string{"X-Plan", "gold", "X-Plan", "free"}, "", "X-Plan"},
		"another header twice":       {"", []string{"Accept", "a", "Accept", "b"}, "", ""},
		"a proxy's, from a client":   {"", []string{"X-Real", "a", "X-Real", "b"}, "", ""},
		"a proxy's":                  {"10.0.0.1", []string{"X-Real", "a", "X-Real", "b"}, "", "X-Real"},
	} {
		t.Run(name, func(t *testing.T) {
			peer := c.peer
			if peer == "" {
				peer = "203.0.113.9"
			}
			r := from(peer, c.headers...)
			r.RawQuery = c.query
			facts := f.Facts(r)
			got := facts.Contradiction()
			if (got == "") != (c.names == "") || !strings.Contains(got, c.names) {
				t.Errorf("the contradiction is %q, want one that names %q", got, c.names)
			}
			if strings.Contains(got, goldKey) || strings.Contains(got, token[:20]) || strings.Contains(got, "junk") {
				t.Errorf("%q tells the value", got)
			}
		})
	}
}

// With forward-auth the proxy passes on what it was sent.
func TestContradictionsBehindForwardAuth(t *testing.T) {
	f := everywhere(t)
	for name, refused := range map[string]bool{"X_Real": true, "X.Real": true, "X_Reals": false} {
		r := from("203.0.113.9", "X-Real", "a", name, "b")
		r.FromProxy = true
		facts := f.Facts(r)
		if got := facts.Contradiction(); strings.Contains(got, "X-Real") != refused {
			t.Errorf("beside X-Real, %s: %q", name, got)
		}
	}
}

// What the document does not name contradicts nothing.
func TestContradictionsOfNothing(t *testing.T) {
	f := finder(t, config.Identity{})
	compile(t, f, "ip:{ip}", "{host}:{method}")
	r := from("203.0.113.9", "Authorization", "Bearer a", "Authorization", "Bearer b", "Cookie", "jwt=1; jwt=2", "X-Api-Key", "1", "X-Api-Key", "2")
	r.RawQuery = "api_key=1&api_key=2"
	facts := f.Facts(r)
	if got := facts.Contradiction(); got != "" {
		t.Errorf("the contradiction is %q", got)
	}
}

// A header of API keys in Authorization is held to the same form.
func TestContradictionsOfKeysInAuthorization(t *testing.T) {
	f := finder(t, withKeys(func(a *config.APIKey) { a.Header = "Authorization" }))
	templates := compile(t, f, "{api_key.owner}", "ip:{ip}")
	for value, contradicts := range map[string]bool{
		goldKey: false, "Bearer " + goldKey: false, "Bearer\t" + goldKey: false, "Bearer " + goldKey + " junk": true, "Bearer=" + goldKey: true,
	} {
		r := from("203.0.113.9", "Authorization", value)
		facts := f.Facts(r)
		if got := facts.Contradiction(); (got != "") != contradicts {
			t.Errorf("%q: the contradiction is %q, want one: %t", value, got, contradicts)
		}
		if got := keyOf(f, templates, r); !contradicts && got != "acme" {
			t.Errorf("%q: the key is %q", value, got)
		}
	}
}

func TestContradictionAllocatesNothing(t *testing.T) {
	f := everywhere(t)
	r := from("203.0.113.9", "Authorization", "Bearer "+newSigner(t, "HS256", "").sign(t, good), "Cookie", "a=b; sid=1; c=d", "X-Api-Key", goldKey)
	r.RawQuery = "page=2&api_key=" + goldKey
	if got := testing.AllocsPerRun(200, func() {
		facts := f.Facts(r)
		if facts.Contradiction() != "" {
			t.Fatal("there is a contradiction")
		}
	}); got > 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

func BenchmarkContradiction(b *testing.B) {
	token := newSigner(b, "HS256", "").sign(b, good)
	for name, f := range map[string]*identity.Finder{
		"address": finder(b, config.Identity{}), "token": believing(b, nil, hs()), "API key": finder(b, withKeys(nil)), "everywhere": everywhere(b),
	} {
		r := from("203.0.113.9", "Authorization", "Bearer "+token, "X-Api-Key", goldKey, "Cookie", "a=b; c=d; sid=0815", "Accept", "*/*")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				facts := f.Facts(r)
				if facts.Contradiction() != "" {
					b.Fatal("there is a contradiction")
				}
			}
		})
	}
}

// FuzzContradiction holds the promise against readers of other kinds: where there is no contradiction, the first and the last
// of a name are the same.
func FuzzContradiction(f *testing.F) {
	f.Add("Bearer a", "Bearer b", "jwt=1", "jwt=2", "api_key=1&api_key=2")
	f.Add("", "", "jwt", "jwt=1", "")
	f.Add("", "", "jwt= 1", "jwt=1", "")
	f.Add("", "", "jwt\n", "jwt=1", "")
	f.Add("Bearer\ta", "", ";;jwt", `jwt="1"; jwt=1`, "api_key=%31&&api_key=1;")
	fuzzed := everywhere(f)
	f.Fuzz(func(t *testing.T, one, two, cookies, more, query string) {
		r := from("203.0.113.9", "Authorization", one, "Authorization", two, "Cookie", cookies, "Cookie", more)
		r.RawQuery = query
		facts := fuzzed.Facts(r)
		if facts.Contradiction() != "" {
			return
		}
		if strings.Trim(one, " \t") != strings.Trim(two, " \t") {
			t.Fatalf("%q and %q do not contradict each other", one, two)
		}
		request := http.Request{Header: r.Header}
		all := request.CookiesNamed("jwt")
		for _, c := range all {
			if c.Value != all[0].Value {
				t.Fatalf("the cookies %v do not contradict each other", all)
			}
		}
		parsed, _ := url.ParseQuery(query) // what can be read of it
		for _, key := range parsed["api_key"] {
			if key != parsed.Get("api_key") {
				t.Fatalf("the parameters %q do not contradict each other", parsed["api_key"])
			}
		}
	})
}

// However many dashes a name has, every spelling with underscores for some of them is noticed.
func TestUnderscoresOfALongName(t *testing.T) {
	const name = "X-Acme-Public-Api-Key"
	f := finder(t, withKeys(func(a *config.APIKey) { a.Header = name }))
	dashes := strings.Count(name, "-")
	for chosen := 1; chosen < 1<<dashes; chosen++ {
		spelled, at := []byte(name), 0
		for i, c := range spelled {
			if c == '-' {
				if chosen>>at&1 == 1 {
					spelled[i] = '_'
				}
				at++
			}
		}
		h := http.Header{}
		h.Set(string(spelled), goldKey)
		facts := f.Facts(&identity.Request{Method: http.MethodGet, Header: h})
		if facts.Contradiction() == "" {
			t.Errorf("%s passes", spelled)
		}
	}
}
