package identity

import (
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/internal/bearer"
)

// maxTries is how many keys are tried on a token that does not name one.
const maxTries = 8

// issuer is one of identity.jwt.
type issuer struct {
	from       config.JWT
	header     string // canonical name
	bare       bool   // the header may hold a token without "Bearer "
	cookie     string // empty for none
	algorithms map[string]jwa.SignatureAlgorithm
	name       string // iss; empty for any
	audience   string // empty for any
	leeway     time.Duration

	keys    atomic.Pointer[keySet] // never nil
	refresh *refresh               // nil without a URL
	memory  *memory
	counts  [outcomes]prometheus.Counter
}

func newIssuer(cfg config.JWT, number int, logger *slog.Logger, m *metrics) (*issuer, error) {
	is := &issuer{
		from: cfg, header: http.CanonicalHeaderKey(cfg.HeaderName()), cookie: cfg.Cookie, name: cfg.Issuer, audience: cfg.Audience,
		leeway: cfg.Skew(), memory: newMemory(),
	}
	if !isToken(is.header) {
		return nil, &limit.FieldError{Field: "header", Problem: fmt.Sprintf("%q is not a header name: use Authorization, for example", cfg.Header)}
	}
	is.bare = is.header != "Authorization"
	if is.leeway < 0 {
		return nil, &limit.FieldError{Field: "leeway", Problem: "is negative: use 0s or more"}
	}
	if err := is.readAlgorithms(cfg); err != nil {
		return nil, err
	}
	set, err := firstKeys(cfg)
	if err != nil {
		return nil, err
	}
	is.keys.Store(set)
	label := cfg.Issuer
	if label == "" {
		label = fmt.Sprintf("jwt[%d]", number)
	}
	for o := range is.counts {
		is.counts[o] = m.tokens.WithLabelValues(label, outcomeNames[o])
	}
	if cfg.JWKSURL != "" {
		is.refresh, err = newRefresh(cfg, &is.keys, label, logger, m)
	}
	return is, err
}

// inherit takes over what is known of the same issuer.
func (is *issuer) inherit(before []*issuer) {
	i := slices.IndexFunc(before, func(old *issuer) bool { return reflect.DeepEqual(old.from, is.from) })
	if i < 0 {
		return
	}
	old := before[i]
	is.keys.Store(old.keys.Load())
	is.memory = old.memory
	if is.refresh != nil {
		is.refresh.plan.Store(old.refresh.plan.Load())
	}
}

// readAlgorithms fills algorithms with those of cfg, which have to fit the kind of its keys.
func (is *issuer) readAlgorithms(cfg config.JWT) error {
	fit, keys := asymmetric, "public keys"
	if cfg.SecretFile.Given() {
		fit, keys = symmetric, "a secret"
	}
	if len(cfg.Algorithms) == 0 {
		return &limit.FieldError{Field: "algorithms", Problem: fmt.Sprintf("is empty: name the algorithms of the issuer, such as %s", fit[0])}
	}
	is.algorithms = make(map[string]jwa.SignatureAlgorithm, len(cfg.Algorithms))
	for i, name := range cfg.Algorithms {
		algorithm, known := jwa.LookupSignatureAlgorithm(name)
		if !known || !slices.Contains(fit, name) {
			return &limit.FieldError{
				Field:   fmt.Sprintf("algorithms[%d]", i),
				Problem: fmt.Sprintf("%q cannot be used with %s: use %s", name, keys, strings.Join(fit, ", ")),
			}
		}
		is.algorithms[name] = algorithm
	}
	if _, has := is.algorithms["EdDSA"]; has { // RFC 9864 gave the one with this curve a name of its own
		is.algorithms["Ed25519"] = jwa.EdDSAEd25519()
	}
	return nil
}

// inHeader is the token in the issuer's header, empty for none.
func (is *issuer) inHeader(r *Request) string {
	value := r.header(is.header)
	token, ok := bearer.Cut(value)
	if !ok && is.bare {
		return value
	}
	return token
}

// inCookie is the token in the issuer's cookie, empty for none.
func (is *issuer) inCookie(r *Request) string {
	if is.cookie == "" {
		return ""
	}
	return findCookie(r.Header["Cookie"], is.cookie)
}

// judge is the claims of a token that is believed, nil with the reason if it is not. What is cheap to see is looked at
// first, so that a forged token costs no signature, and one of another issuer does not make the keys be read again.
func (is *issuer) judge(b *shownToken, now time.Time) (map[string]any, outcome) {
	if len(b.raw) > maxToken {
		return nil, malformed
	}
	keys := is.keys.Load()
	if m := is.memory.recall(b.hash()); m != nil && m.keys == keys {
		if o := m.window.holds(now, is.leeway); o != believed {
			return nil, o
		}
		return m.claims, remembered
	}
	t := b.parse()
	if t == nil {
		return nil, malformed
	}
	algorithm, pinned := is.algorithms[t.algorithm]
	switch {
	case !pinned:
		return nil, otherAlgorithm
	case is.name != "" && t.issuer != is.name:
		return nil, otherIssuer
	case is.audience != "" && !slices.Contains(t.audience, is.audience):
		return nil, otherAudience
	}
	if o := t.window.holds(now, is.leeway); o != believed {
		return nil, o
	}
	if o := is.verify(b.raw, t, algorithm, keys); o != believed {
		return nil, o
	}
	is.memory.remember(b.hash(), len(b.raw), &memo{claims: t.claims, window: t.window, keys: keys})
	return t.claims, believed
}

// verify looks at the signature. When no key is the one that the token names, or no key fits one that names none, the keys
// are read again.
func (is *issuer) verify(raw string, t *unverified, algorithm jwa.SignatureAlgorithm, keys *keySet) outcome {
	tries, named := 0, false
	for i := range keys.list {
		k := &keys.list[i]
		if !k.fits(t.algorithm) || t.kid != "" && k.kid != "" && k.kid != t.kid {
			continue
		}
		named = named || t.kid != "" && k.kid == t.kid
		if tries++; tries > maxTries {
			break
		}
		if _, err := jws.VerifyCompactFast(k.public, []byte(raw), algorithm); err == nil {
			return believed
		}
	}
	if !named && is.refresh != nil {
		is.refresh.want()
	}
	if tries == 0 {
		return unknownKey
	}
	return badSignature
}
