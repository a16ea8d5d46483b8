package key

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
)

// Sizes of derived keys, in bytes.
const (
	derivedSize = 32 // of AES-256, of the seed of an ed25519 key, of a token
	nameSize    = 2
)

// nameRounds make names slow to derive: a name in a log is no quicker way to test guesses of a weak secret than a port is.
const nameRounds = 100_000

// A one is one secret of a Key, with what is derived from it.
type one struct {
	root        []byte // the pseudorandom key of HKDF
	gossip      []byte
	seal        cipher.AEAD // of gossip
	token       string
	public      ed25519.PublicKey
	certificate tls.Certificate
	name        func() string
	uses        uses
}

// newOne derives everything from a secret. It does not keep it.
func newOne(secret []byte) (*one, error) {
	root, err := hkdf.Extract(sha256.New, secret, []byte("jeton cluster key"))
	if err != nil {
		return nil, fmt.Errorf("cluster key: %w", err)
	}
	o := &one{root: root}
	o.gossip = o.derive("gossip")
	block, err := aes.NewCipher(o.gossip)
	if err != nil {
		return nil, fmt.Errorf("cluster key: %w", err)
	}
	if o.seal, err = cipher.NewGCM(block); err != nil {
		return nil, fmt.Errorf("cluster key: %w", err)
	}
	o.token = hex.EncodeToString(o.derive("token"))
	private := ed25519.NewKeyFromSeed(o.derive("tls"))
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("cluster key: an ed25519 key has a public key of another kind")
	}
	o.public = public
	if o.certificate, err = certificateOf(private, public); err != nil {
		return nil, fmt.Errorf("cluster key: its certificate: %w", err)
	}
	o.name = sync.OnceValue(o.deriveName)
	return o, nil
}

// derive derives the key for one purpose.
func (o *one) derive(purpose string) []byte {
	derived, err := hkdf.Expand(sha256.New, o.root, "jeton "+purpose, derivedSize)
	if err != nil {
		panic(fmt.Sprintf("key: deriving %d bytes for %s: %v", derivedSize, purpose, err)) // only more than 8160 bytes cannot be had
	}
	return derived
}

// deriveName is the secret's name. It has so few digits that it says next to nothing of a secret: of 65,536 guesses, one has the
// same name.
func (o *one) deriveName() string {
	derived, err := pbkdf2.Key(sha256.New, string(o.derive("name")), []byte("jeton cluster key"), nameRounds, nameSize)
	if err != nil {
		panic(fmt.Sprintf("key: deriving a name: %v", err)) // only of short keys, where FIPS 140 is enforced
	}
	return hex.EncodeToString(derived)
}

// hasToken compares in constant time.
func (o *one) hasToken(token string) bool {
	return subtle.ConstantTimeCompare([]byte(o.token), []byte(token)) == 1
}

// A Seal seals and opens gossip with one secret.
type Seal struct {
	cipher.AEAD

	of *one
}

// Opened notes that a message was sealed with it.
func (s Seal) Opened() { s.of.use(OverGossip) }
