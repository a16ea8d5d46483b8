package web

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	cookiePrefix = "jeton-console-"
	// cookieFor is how long a cookie counts, even if it was copied and its browser has been told to forget it.
	cookieFor = 12 * time.Hour
	// maxCookie is how many bytes the value of a cookie has at most: browsers ignore longer ones.
	maxCookie = 3900
)

// ErrTokenTooLong says that a browser cannot keep a token.
var ErrTokenTooLong = errors.New("the token is too long for a browser's cookie: sign in with one of at most 2,800 bytes")

// Cookies carry the token with which somebody has signed in to the console, in the browser. The value is the token, sealed, for one host and
// 12 hours: whoever reads it, as a server at another port of the same host can, has no token for gRPC or the header Authorization.
//
//	base64url ─ AES-256-GCM ─ until, 8 bytes, seconds since the Unix epoch ─ token
//	            └ random nonce, and with it the host, which the cookie is for
type Cookies struct {
	secrets func() [][]byte
	now     func() time.Time
}

// NewCookies makes Cookies that count at every process with the same secret. Secrets are asked for at each request: the first seals,
// and all open. Without secrets, nil, they count at this process only.
func NewCookies(secrets func() [][]byte) (*Cookies, error) {
	if secrets == nil {
		own := [][]byte{[]byte(rand.Text())}
		secrets = func() [][]byte { return own }
	}
	for _, secret := range secrets() {
		if _, err := sealingWith(secret); err != nil {
			return nil, err
		}
	}
	return &Cookies{secrets: secrets, now: time.Now}, nil
}

// sealingWith is what seals and opens with a secret.
func sealingWith(secret []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "jeton console cookie", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Set has the browser that sends r keep a token that counts. The error is [ErrTokenTooLong].
func (c *Cookies) Set(w http.ResponseWriter, r *http.Request, token string) error {
	sealing, err := sealingWith(c.secrets()[0])
	if err != nil {
		return err
	}
	plain := binary.BigEndian.AppendUint64(nil, uint64(c.now().Add(cookieFor).Unix()))
	value := base64.RawURLEncoding.EncodeToString(sealing.Seal(nil, nil, append(plain, token...), audience(r)))
	if len(value) > maxCookie {
		return ErrTokenTooLong
	}
	http.SetCookie(w, cookieOf(r, value))
	return nil
}

// Forget has the browser that sends r forget its token.
func (c *Cookies) Forget(w http.ResponseWriter, r *http.Request) {
	cookie := cookieOf(r, "")
	cookie.MaxAge = -1
	http.SetCookie(w, cookie)
}

// token is the one that a cookie of r carries. shown says that there is such a cookie, whether it counts or not.
func (c *Cookies) token(r *http.Request) (token string, shown bool) {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return "", false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return "", true
	}
	for _, secret := range c.secrets() {
		sealing, err := sealingWith(secret)
		if err != nil || len(sealed) < sealing.Overhead() {
			continue
		}
		plain, err := sealing.Open(nil, nil, sealed, audience(r))
		if err == nil && len(plain) >= 8 && uint64(c.now().Unix()) < binary.BigEndian.Uint64(plain) {
			return string(plain[8:]), true
		}
	}
	return "", true
}

// audience is what a cookie is for: the host by which a browser knows the port.
func audience(r *http.Request) []byte { return []byte(strings.ToLower(r.Host)) }

// cookieName tells the ports of one host apart, which share their cookies.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	switch {
	case err == nil:
		return cookiePrefix + port
	case r.TLS != nil:
		return cookiePrefix + "443"
	}
	return cookiePrefix + "80"
}

func cookieOf(r *http.Request, value string) *http.Cookie {
	return &http.Cookie{Name: cookieName(r), Value: value, Path: "/", HttpOnly: true, Secure: secure(r), SameSite: http.SameSiteStrictMode}
}

// secure says whether the browser sends r over TLS, to this process or to one before it.
func secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

// ownOrigin says whether a request surely comes from a page of this port, or was typed by a person. Old browsers say nothing in a GET.
func ownOrigin(r *http.Request) bool {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	switch site {
	case "", "same-origin":
	case "none":
		if !reads {
			return false
		}
	default:
		return false
	}
	if origin != "" {
		from, err := url.Parse(origin)
		return err == nil && from.Host != "" && strings.EqualFold(from.Host, r.Host)
	}
	return reads || site == "same-origin"
}

// notOurs is the problem of a request that carries a cookie of this port and is not surely sent by a page of it.
func notOurs(r *http.Request) *Problem {
	return &Problem{
		Name: "foreign-origin", Title: "The request comes from a web page", Status: http.StatusForbidden,
		Detail: fmt.Sprintf("the headers Origin and Sec-Fetch-Site are %s and %s, and who is signed in to the console changes something only from its own pages: send a token as Authorization: Bearer, and no cookie",
			limit.Quote(r.Header.Get("Origin")), limit.Quote(r.Header.Get("Sec-Fetch-Site"))),
	}
}
