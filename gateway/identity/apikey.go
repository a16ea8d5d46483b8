package identity

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/keys"
	"github.com/jeton-dev/jeton/internal/alias"
	"github.com/jeton-dev/jeton/internal/bearer"
)

// Bounds of API keys.
const (
	maxAPIKey       = 1024 // bytes of a key; longer ones do not count
	minAPIKeySecret = 16   // bytes of the secret of the HMAC
	maxParameters   = 512  // of a query that are looked at
	digestSize      = sha256.Size
)

// apiKeys know API keys by their digests. They never change; a key itself is never kept.
type apiKeys struct {
	header string // canonical name; empty for none
	query  string // name of the parameter; empty for none
	listed *keys.Set
	known  map[[digestSize]byte]map[string]string
	any    bool
	passOn bool
	hashed bool      // there may be keys that are known by an HMAC
	macs   sync.Pool // of *mac
}

// mac computes digests, one at a time, without allocating.
type mac struct {
	hash hash.Hash
	key  [maxAPIKey]byte
	sum  [digestSize]byte
}

func newAPIKeys(cfg config.APIKey) (*apiKeys, error) {
	a := &apiKeys{
		query: cfg.Query, any: cfg.Any, passOn: cfg.PassOn, listed: cfg.KeysFile.Keys(),
		known: make(map[[digestSize]byte]map[string]string, len(cfg.Known)),
	}
	if name := cfg.HeaderName(); name != "" {
		if !isToken(name) {
			return nil, &limit.FieldError{Field: "header", Problem: fmt.Sprintf("%q is not a header name: use X-Api-Key, for example", name)}
		}
		a.header = http.CanonicalHeaderKey(name)
	}
	if a.hashed = len(cfg.Known) > 0 || cfg.Any; !a.hashed {
		return a, nil
	}
	secret := bytes.Clone(bytes.TrimSpace(cfg.SecretFile.Bytes()))
	if len(secret) < minAPIKeySecret {
		return nil, &limit.FieldError{
			Field:   "secret_file",
			Problem: fmt.Sprintf("holds %d bytes: use at least %d, such as from openssl rand -hex 32", len(secret), minAPIKeySecret),
		}
	}
	a.macs.New = func() any { return &mac{hash: hmac.New(sha256.New, secret)} }
	if err := a.readKnown(cfg); err != nil {
		return nil, err
	}
	return a, nil
}

// readKnown fills known.
func (a *apiKeys) readKnown(cfg config.APIKey) error {
	for i, k := range cfg.Known {
		var digest [digestSize]byte
		if n, err := hex.Decode(digest[:], []byte(clip(k.Digest, 2*digestSize))); err != nil || n != digestSize || len(k.Digest) != 2*digestSize {
			return &limit.FieldError{
				Field: fmt.Sprintf("known[%d].digest", i), Problem: `is not 64 hexadecimal digits: use what "jeton gateway digest" prints`,
			}
		}
		if _, twice := a.known[digest]; twice {
			return &limit.FieldError{Field: fmt.Sprintf("known[%d].digest", i), Problem: "is a duplicate: leave one of them out"}
		}
		a.known[digest] = k.Attributes
	}
	return nil
}

// clip is the first n bytes of s.
func clip(s string, n int) string { return s[:min(len(s), n)] }

// find is the key that r shows, of any length; empty if it shows none. Two different keys count as none, because the service behind
// the gateway might read the other one.
func (a *apiKeys) find(r *Request) string {
	inHeader, inQuery := a.shown(r)
	key := inHeader
	if key == "" {
		key = inQuery
	}
	if inHeader != "" && inQuery != "" && inHeader != inQuery {
		return ""
	}
	return key
}

// shown are the keys in the header and in the query, empty for none.
func (a *apiKeys) shown(r *Request) (inHeader, inQuery string) {
	if a.header != "" {
		inHeader = r.header(a.header)
		if a.header == "Authorization" {
			if token, ok := bearer.Cut(inHeader); ok {
				inHeader = token
			}
		}
	}
	if a.query != "" {
		inQuery = parameter(r.RawQuery, a.query)
	}
	return inHeader, inQuery
}

// digest is the HMAC-SHA-256 of a key of at most maxAPIKey bytes.
func (a *apiKeys) digest(key string) (sum [digestSize]byte) {
	m, ok := a.macs.Get().(*mac)
	if !ok {
		panic("identity: the pool holds something other than a mac")
	}
	n := copy(m.key[:], key)
	m.hash.Reset()
	m.hash.Write(m.key[:n])
	m.hash.Sum(m.sum[:0])
	sum = m.sum
	clear(m.key[:n])
	a.macs.Put(m)
	return sum
}

// A foundKey is what is known of the API key that a request shows.
type foundKey struct {
	counts     bool
	flaw       Flaw // why it does not
	digest     [digestSize]byte
	listed     *keys.Key         // in a keys_file; nil for none. It may have expired
	attributes map[string]string // of one that the document has
}

// judge looks up the key of a request and says whether it is valid. It looks it up by its hash, so that the time this takes reveals
// nothing about other keys.
func (a *apiKeys) judge(key string, now time.Time) (found foundKey) {
	if a.listed != nil {
		digest := keys.DigestOf(key)
		if found.listed = a.listed.Find(digest); found.listed != nil {
			if found.digest, found.counts = digest, !found.listed.Expired(now); !found.counts {
				found.flaw = Flaw{anAPIKey, keyExpired}
			}
			return found
		}
	}
	if a.hashed {
		found.digest = a.digest(key)
		attributes, known := a.known[found.digest]
		found.attributes, found.counts = attributes, known || a.any
	}
	if !found.counts {
		found.flaw = Flaw{anAPIKey, keyUnknown}
	}
	return found
}

// attribute is what is known of the key under a name, empty for nothing.
func (k *foundKey) attribute(name string) string {
	if k.listed != nil {
		return k.listed.Attribute(name)
	}
	return k.attributes[name]
}

// mayHave says whether a key may have an attribute: those of a keys_file may have any at some time.
func (a *apiKeys) mayHave(name string) bool {
	if a.listed != nil {
		return true
	}
	for _, attributes := range a.known {
		if _, has := attributes[name]; has {
			return true
		}
	}
	return false
}

// parameter is the value of a parameter of a query, empty if it is not among the first 512, or there with different values.
func parameter(query, name string) string {
	value, several, _ := readParameter(query, name)
	if several {
		return ""
	}
	return value
}

// readParameter is the value of a parameter of a query, whether it can be read as several, and whether all parameters were
// looked at. A semicolon separates parameters to some servers, and is a part of a value to others.
func readParameter(query, name string) (value string, several, all bool) {
	has := false
	for range maxParameters {
		if query == "" {
			return value, false, true
		}
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		pair, behind, split := strings.Cut(pair, ";")
		n, v, _ := strings.Cut(pair, "=")
		switch isNamed(n, name, alias.Parameter) {
		case its:
			v, err := url.QueryUnescape(v)
			if err != nil || split || has && v != value {
				return "", true, true
			}
			value, has = v, true
		case likeIt:
			return "", true, true
		case another:
		}
		for split {
			pair, behind, split = strings.Cut(behind, ";")
			if n, _, _ := strings.Cut(pair, "="); isNamed(n, name, alias.Parameter) != another {
				return "", true, true
			}
		}
	}
	return value, false, query == ""
}

// A naming is what the name of a parameter or cookie is to the one that is looked for.
type naming uint8

const (
	another naming = iota
	likeIt         // some services take it for that
	its
)

// isNamed says what an escaped name is to that name; like says which others some services take for it.
func isNamed(escaped, name string, like func(called, name string) bool) naming {
	if escaped == name {
		return its
	}
	switch plain, err := url.QueryUnescape(escaped); {
	case err == nil && plain == name:
		return its
	case like(unescape(escaped), name):
		return likeIt
	}
	return another
}

// unescape is a name with its escapes resolved, those too that only old servers know (%u0061). What is none stays as it is, as many servers read it.
func unescape(name string) string {
	if !strings.ContainsAny(name, "%+") {
		return name
	}
	plain := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+5 < len(name) && (name[i+1] == 'u' || name[i+1] == 'U'):
			if escaped, err := strconv.ParseUint(name[i+2:i+6], 16, 16); err == nil {
				plain, i = utf8.AppendRune(plain, rune(escaped)), i+5
				continue
			}
		case c == '%' && i+2 < len(name):
			if escaped, err := strconv.ParseUint(name[i+1:i+3], 16, 8); err == nil {
				c, i = byte(escaped), i+2
			}
		}
		plain = append(plain, c)
	}
	return string(plain)
}

// Digest is the HMAC-SHA-256 of an API key, 64 hexadecimal digits: what the document has of it under
// identity.api_key.known. White space at the ends of the secret does not count.
func Digest(secret []byte, apiKey string) string {
	h := hmac.New(sha256.New, bytes.TrimSpace(secret))
	h.Write([]byte(apiKey))
	return hex.EncodeToString(h.Sum(nil))
}
