package identity

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// Bounds of keys.
const (
	minSecret  = 32   // bytes of the secret of HS256 and its like
	minRSABits = 2048 // RFC 7518 asks for them
	maxKeys    = 256  // of a set
)

// symmetric are the algorithms that take a secret, asymmetric those that take a public key. No key ever serves both: if a public
// key were used as a secret, every client could sign tokens.
var (
	symmetric  = []string{"HS256", "HS384", "HS512"}
	asymmetric = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)

// keySet is the keys of an issuer. It never changes; when the issuer has other keys, there is another set.
type keySet struct {
	list   []key
	digest [digestSize]byte // of the text that it was read from, when that came from a URL
}

// key is one key that signatures are held against.
type key struct {
	kid       string // empty for none
	algorithm string // the only one that it serves; empty for all of its kind
	public    any    // *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey, or []byte of a secret
}

// fits says whether the key serves an algorithm.
func (k *key) fits(algorithm string) bool {
	if k.algorithm != "" && k.algorithm != algorithm && (!isEdDSA(k.algorithm) || !isEdDSA(algorithm)) {
		return false
	}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		switch public.Curve.Params().BitSize {
		case 256:
			return algorithm == "ES256"
		case 384:
			return algorithm == "ES384"
		case 521:
			return algorithm == "ES512"
		}
		return false
	case ed25519.PublicKey:
		return isEdDSA(algorithm)
	case []byte:
		return slices.Contains(symmetric, algorithm)
	default:
		return false
	}
}

// isEdDSA says whether algorithm is the one of Ed25519 keys: it has an older and a newer name.
func isEdDSA(algorithm string) bool { return algorithm == "EdDSA" || algorithm == "Ed25519" }

// firstKeys is the keys that the document itself holds, none when they are at a URL.
func firstKeys(cfg config.JWT) (*keySet, error) {
	given := 0
	for _, has := range []bool{cfg.JWKSURL != "", cfg.JWKSFile.Given(), cfg.SecretFile.Given()} {
		if has {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, &limit.FieldError{Field: "jwks_url", Problem: "give exactly one of jwks_url, jwks_file and secret_file"}
	case cfg.JWKSFile.Given():
		set, err := parseKeySet(cfg.JWKSFile.Bytes())
		if err != nil {
			return nil, &limit.FieldError{Field: "jwks_file", Problem: err.Error()}
		}
		return set, nil
	case cfg.SecretFile.Given():
		secret := bytes.Clone(bytes.TrimSpace(cfg.SecretFile.Bytes()))
		if len(secret) < minSecret {
			return nil, &limit.FieldError{Field: "secret_file", Problem: fmt.Sprintf("holds %d bytes: use at least %d", len(secret), minSecret)}
		}
		return &keySet{list: []key{{public: secret}}}, nil
	}
	return &keySet{}, nil
}

// parseKeySet reads a JWK set (RFC 7517). Keys in it that serve no signature we know are left out; it is an error when none
// is left.
func parseKeySet(text []byte) (*keySet, error) {
	set, err := jwk.Parse(text, jwk.WithStrictKeySetParsing(false), jwk.WithMaxKeys(maxKeys))
	if err != nil {
		return nil, fmt.Errorf("is not a JWK set: %w", err)
	}
	keys := &keySet{}
	var why []error
	for i := range set.Len() {
		one, _ := set.Key(i)
		k, err := readKey(one)
		if err != nil {
			why = append(why, fmt.Errorf("key %d: %w", i, err))
			continue
		}
		keys.list = append(keys.list, k)
	}
	if len(keys.list) == 0 {
		return nil, fmt.Errorf("has no usable key: %w", errors.Join(append(why, fmt.Errorf("%d keys in all", set.Len()))...))
	}
	return keys, nil
}

// readKey is the public part of a key of a set.
func readKey(from jwk.Key) (key, error) {
	if unsupported, is := from.(jwk.UnsupportedKey); is {
		return key{}, unsupported.Reason()
	}
	if from.KeyType() == jwa.OctetSeq() {
		return key{}, errors.New("is a secret: a key set holds public keys only, use secret_file for secrets")
	}
	if usage, has := from.KeyUsage(); has && usage != "" && usage != string(jwk.ForSignature) {
		return key{}, fmt.Errorf("its use is %q, not sig", usage)
	}
	if ops, has := from.KeyOps(); has && !slices.Contains(ops, jwk.KeyOpVerify) && !slices.Contains(ops, jwk.KeyOpSign) {
		return key{}, errors.New("its key_ops lack verify")
	}
	public, err := from.PublicKey()
	if err != nil {
		return key{}, err
	}
	var k key
	if err := jwk.Export(public, &k.public); err != nil {
		return key{}, err
	}
	k.kid, _ = from.KeyID()
	if algorithm, has := from.Algorithm(); has {
		k.algorithm = algorithm.String()
	}
	if r, is := k.public.(*rsa.PublicKey); is && r.N.BitLen() < minRSABits {
		return key{}, fmt.Errorf("has %d bits: at least %d", r.N.BitLen(), minRSABits)
	}
	if !slices.ContainsFunc(asymmetric, k.fits) {
		return key{}, errors.New("is for no supported algorithm")
	}
	return k, nil
}
