package identity_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/gateway/keys"
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
			if key.Secret {
				t.Error("logs hide a key made of the digest of an API key, by which operators look up its bucket")
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
		"twice":        {func(a *config.APIKey) { a.Known[1] = a.Known[0] }, "identity.api_key.known[1].digest", "is a duplicate"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := identity.New(identity.Config{Identity: withKeys(c.change)})
			wantProblem(t, err, c.field, c.says)
		})
	}
}

// listed are the keys of a keys_file with these lines.
func listed(tb testing.TB, lines ...string) config.KeysFile {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "keys.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		tb.Fatal(err)
	}
	set, err := new(keys.Reader).Read(path)
	if err != nil {
		tb.Fatal(err)
	}
	return config.KeysFileOf(set)
}

// line is that of a key.
func line(label, key, more string) string {
	return fmt.Sprintf(`{"label":%q,"owner":"acme",%s"digest":"%x"}`, label, more, keys.DigestOf(key))
}

// Keys of a file count beside those of the document, with their owner, label and attributes, until they expire.
func TestKeysFile(t *testing.T) {
	file := listed(t, line("ci", "k-ci", `"attributes":{"plan":"silver"},`), line("old", "k-old", `"expires":"2030-01-01T00:00:00Z",`))
	for name, id := range map[string]config.Identity{
		"alone":              {APIKey: &config.APIKey{KeysFile: file}},
		"beside known ones":  withKeys(func(a *config.APIKey) { a.KeysFile = file }),
		"where any counts":   withKeys(func(a *config.APIKey) { a.KeysFile, a.Any = file, true }),
		"a file without any": {APIKey: &config.APIKey{KeysFile: listed(t, "# none yet")}},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2029, 12, 31, 23, 59, 59, 0, time.UTC)
			f := open(t, identity.Config{Identity: id, Now: func() time.Time { return now }})
			templates := compile(t, f, "key:{api_key.label}:{api_key.owner}:{api_key.plan}", "key:{api_key.label}:{api_key}", "gold:{api_key.owner}", "any:{api_key}", "ip:{ip}")
			check := func(key, want string) {
				t.Helper()
				if got := keyOf(f, templates, from("203.0.113.9", "X-Api-Key", key)); got != want {
					t.Errorf("%q makes %q, want %q", key, got, want)
				}
			}
			with := func(yes bool, want, otherwise string) string {
				if yes {
					return want
				}
				return otherwise
			}
			there, anyCounts, document := name != "a file without any", name == "where any counts", id.APIKey.Known != nil
			check("k-ci", with(there, "key:ci:acme:silver", "ip:203.0.113.9"))
			check("k-old", with(there, fmt.Sprintf("key:old:%x", keys.DigestOf("k-old")), "ip:203.0.113.9"))
			now = now.Add(time.Second)
			check("k-old", "ip:203.0.113.9") // even where any counts: it is known, and over
			check(goldKey, with(document, "gold:acme", "ip:203.0.113.9"))
			check("k-nobody's", with(anyCounts, "any:"+identity.Digest([]byte(keySecret), "k-nobody's"), "ip:203.0.113.9"))
			digest := keys.DigestOf("k-ci")
			check(hex.EncodeToString(digest[:]), with(anyCounts, "any:"+identity.Digest([]byte(keySecret), hex.EncodeToString(digest[:])), "ip:203.0.113.9"))
		})
	}
}

// People are told the label of a key, or a short hash.
func TestKeyLabel(t *testing.T) {
	f := finder(t, withKeys(func(a *config.APIKey) { a.KeysFile = listed(t, line("ci", "k-ci", "")) }))
	for key, want := range map[string]string{"k-ci": "ci", goldKey: "hash " + identity.Digest([]byte(keySecret), goldKey)[:8], "junk": "", "": ""} {
		facts := f.Facts(from("203.0.113.9", "X-Api-Key", key))
		if got := facts.KeyLabel(); got != "" {
			t.Errorf("before anybody looks for %q, its label is %q", key, got)
		}
		if facts.KnowsKey(); facts.KeyLabel() != want {
			t.Errorf("the label of %q is %q, want %q", key, facts.KeyLabel(), want)
		}
	}
}

// BenchmarkAPIKey is what it costs to know a key among few and among many: the same.
func BenchmarkAPIKey(b *testing.B) {
	for _, count := range []int{10, 100_000} {
		lines := make([]string, count)
		for i := range lines {
			lines[i] = line(fmt.Sprint("key-", i), fmt.Sprint("k-", i), `"attributes":{"plan":"gold"},`)
		}
		f := finder(b, config.Identity{APIKey: &config.APIKey{KeysFile: listed(b, lines...)}})
		templates := compile(b, f, "owner:{api_key.owner}", "ip:{ip}")
		for what, key := range map[string]string{"known": fmt.Sprint("k-", count/2), "unknown": "k"} {
			b.Run(fmt.Sprintf("%d/%s", count, what), func(b *testing.B) {
				r := from("203.0.113.9", "X-Api-Key", key)
				b.ReportAllocs()
				for b.Loop() {
					keyOf(f, templates, r)
				}
			})
		}
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
