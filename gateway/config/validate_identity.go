package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// The minimum lengths of secrets, in bytes.
const (
	minJWTSecret = 32 // HS256 needs no less: RFC 7518, section 3.2
	minKeySecret = 16
)

// secretAlgorithms are those with a secret that both sides know.
var secretAlgorithms = []string{"HS256", "HS384", "HS512"}

// keyTypes are the types of public keys (RFC 7518, section 6.1) by the algorithms that take them.
var keyTypes = map[string]string{
	"RS256": "RSA", "RS384": "RSA", "RS512": "RSA", "PS256": "RSA", "PS384": "RSA", "PS512": "RSA",
	"ES256": "EC", "ES384": "EC", "ES512": "EC", "EdDSA": "OKP",
}

func (f *findings) identity(i Identity) {
	f.templates("identity.key", i.Key, nil)
	f.networks("identity.trusted_proxies", i.TrustedProxies)
	f.header("identity.address_header", i.AddressHeader)
	within(f, "identity.ipv6_prefix", i.IPv6Prefix, 1, 128)
	for n, j := range i.JWT {
		f.jwt(strictyaml.Item("identity.jwt", n), j)
	}
	if i.APIKey != nil {
		f.apiKey("identity.api_key", i.APIKey)
	}
	f.oneOf("identity.on_bad_credentials", i.OnBadCredentials, Anonymous, Refuse)
	if i.OnBadCredentials == Refuse && len(i.JWT) == 0 && i.APIKey == nil {
		f.add("identity.on_bad_credentials", "has no effect without jwt or api_key: leave it out")
	}
}

func (f *findings) jwt(path string, j JWT) {
	sources := 0
	for _, given := range []bool{j.JWKSURL != "", j.JWKSFile.Given(), j.SecretFile.Given()} {
		if given {
			sources++
		}
	}
	if sources != 1 {
		f.add(path, "has %d sources of keys: give exactly one of jwks_url, jwks_file and secret_file", sources)
	}
	if j.JWKSURL != "" {
		f.check(path+".jwks_url", checkKeysURL(j.JWKSURL))
	}
	f.algorithms(path+".algorithms", j)
	f.secret(path+".secret_file", j.SecretFile, minJWTSecret)
	f.keySet(path+".jwks_file", j)
	f.header(path+".header", j.Header)
	if j.Cookie != "" && !isToken(j.Cookie) {
		f.add(path+".cookie", "%.64q is not a cookie name", j.Cookie)
	}
	f.duration(path+".leeway", j.Leeway, time.Millisecond, time.Hour)
	f.duration(path+".refresh_every", j.RefreshEvery, time.Second, 24*time.Hour)
	if j.RefreshEvery != 0 && j.JWKSURL == "" {
		f.add(path+".refresh_every", "has no effect without jwks_url: leave it out")
	}
}

// checkKeysURL says what is wrong with the URL of keys: an attacker who can change them on the way can sign tokens.
func checkKeysURL(text string) error {
	u, err := parseURL(text, "http", "https")
	if err != nil {
		return err
	}
	if u.Scheme != "https" && !loopbackHost(u.Hostname()) {
		return fmt.Errorf("is http to %.64q: use https, or a host on loopback", u.Hostname())
	}
	return nil
}

// algorithms checks that every algorithm is known and suits the source of the keys: if a public key were used as a secret, every
// client could sign tokens.
func (f *findings) algorithms(path string, j JWT) {
	public := sorted(keyTypes)
	if len(j.Algorithms) == 0 {
		f.add(path, "is empty: name the algorithms of the issuer, such as RS256")
	}
	for i, a := range j.Algorithms {
		secret := slices.Contains(secretAlgorithms, a)
		switch {
		case strings.EqualFold(a, "none"):
			f.add(strictyaml.Item(path, i), "none is not accepted: anyone can make such tokens")
		case !secret && !slices.Contains(public, a):
			f.add(strictyaml.Item(path, i), "%.64q is not known: use %s, or %s with secret_file", a, strings.Join(public, ", "), strings.Join(secretAlgorithms, ", "))
		case secret && (j.JWKSURL != "" || j.JWKSFile.Given()):
			f.add(strictyaml.Item(path, i), "%s needs a secret, in secret_file, not public keys", a)
		case !secret && j.SecretFile.Given():
			f.add(strictyaml.Item(path, i), "%s needs public keys, in jwks_url or jwks_file, not a secret", a)
		}
	}
	f.different(path, j.Algorithms)
}

// keySet checks that a file holds keys, and one for every algorithm.
func (f *findings) keySet(path string, j JWT) {
	if j.JWKSFile.content == nil {
		return
	}
	var set struct {
		Keys []struct {
			Type    string          `json:"kty"`
			Private json.RawMessage `json:"d"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(j.JWKSFile.Bytes(), &set); err != nil || len(set.Keys) == 0 {
		f.add(path, `%.64q holds no JWK set: write {"keys": [...]}, with at least one key`, j.JWKSFile.Path)
		return
	}
	have := map[string]bool{}
	for i, key := range set.Keys {
		have[key.Type] = true
		if key.Private != nil {
			f.add(path, "%.64q holds a private key, at keys[%d]: only public keys belong in this file", j.JWKSFile.Path, i)
		}
	}
	for _, a := range j.Algorithms {
		if kind, ok := keyTypes[a]; ok && !have[kind] {
			f.add(path, "%.64q holds no key of the type %s, which %s needs", j.JWKSFile.Path, kind, a)
		}
	}
}

func (f *findings) apiKey(path string, a *APIKey) {
	f.header(path+".header", a.Header)
	if a.Query != "" && !isToken(a.Query) {
		f.add(path+".query", "%.64q is not a parameter name, such as api_key", a.Query)
	}
	switch hmac := len(a.Known) > 0 || a.Any; {
	case hmac && !a.SecretFile.Given():
		f.add(path+".secret_file", "is missing: name a file with at least %d random bytes, the same at all gateways", minKeySecret)
	case !hmac && !a.KeysFile.Given():
		f.add(path+".known", "is empty: no key would be valid; list the digests of valid keys, or name a keys_file")
	case !hmac && a.SecretFile.Given():
		f.add(path+".secret_file", "has no effect without known or any: leave it out")
	}
	f.secret(path+".secret_file", a.SecretFile, minKeySecret)
	first := map[string]int{}
	for i, known := range a.Known {
		at := strictyaml.Item(path+".known", i)
		before, twice := first[known.Digest]
		switch {
		case !isDigest(known.Digest):
			f.add(at+".digest", "is not a digest: write 64 hexadecimal digits in lower case, as jeton gateway digest prints them")
		case twice:
			f.add(at+".digest", "is also that of %s", strictyaml.Item(path+".known", before))
		default:
			first[known.Digest] = i
		}
		for _, name := range sorted(known.Attributes) {
			if !isName(name) {
				f.add(at+".attributes."+name, "%.64q is not a valid name: write 1 to %d letters, digits, dots, dashes and underscores", name, maxName)
			}
		}
	}
}

// isDigest says whether s is 64 hexadecimal digits in lower case.
func isDigest(s string) bool {
	for i := range len(s) {
		if !isHex(s[i]) || s[i] >= 'A' && s[i] <= 'F' {
			return false
		}
	}
	return len(s) == 64
}

// templates checks those of keys. A route that they are for says which segments its path names; nil is every route.
func (f *findings) templates(path string, templates []string, r *Route) {
	for i, text := range templates {
		parts, err := ParseTemplate(text)
		if err != nil {
			f.check(strictyaml.Item(path, i), err)
			continue
		}
		all := variables(parts)
		for _, v := range all {
			f.check(strictyaml.Item(path, i), f.variable(v, r))
		}
		if len(all) == 0 && i < len(templates)-1 {
			f.add(strictyaml.Item(path, i), "%.64q has no variable, so it always matches: put it last", text)
		}
	}
	f.different(path, templates)
}

// variable says why a variable would never have a value.
func (f *findings) variable(v Variable, r *Route) error {
	identity := &f.document.Identity
	switch v.Kind {
	case KindClaim:
		if len(identity.JWT) == 0 {
			return fmt.Errorf("{%.64s} needs identity.jwt: configure the issuers of tokens there", v)
		}
	case KindAPIKey:
		return f.keyVariable(v, identity.APIKey)
	case KindProxyHeader:
		if len(identity.TrustedProxies) == 0 && f.document.ForwardAuth == nil {
			return fmt.Errorf("{%.64s} needs identity.trusted_proxies: list the trusted proxies there", v)
		}
	case KindPath:
		if r != nil && CheckPattern(r.Path) == nil && !slices.Contains(patternNames(r.Path), v.Name) {
			return fmt.Errorf("{%.64s} needs the segment {%.64s} in the path of the route, %.64q", v, v.Name, r.Path)
		}
	default: // every request has it or may
	}
	return nil
}

func (f *findings) keyVariable(v Variable, a *APIKey) error {
	if a == nil {
		return fmt.Errorf("{%.64s} needs identity.api_key: configure there how clients send API keys", v)
	}
	if v.Name == "" || len(a.Known) == 0 && !a.Any { // what is said of known already
		return nil
	}
	if a.KeysFile.Given() { // when the last key that has the attribute is revoked, the document stays good
		return nil
	}
	for _, known := range a.Known {
		if _, ok := known.Attributes[v.Name]; ok {
			return nil
		}
	}
	return fmt.Errorf("{%.64s} needs an attribute of that name in identity.api_key.known: no key has one", v)
}
