// Package key is the cluster key: one secret, shared by nodes and operators, by which they know each other. Everything
// that needs a key of its own has one derived from it, and none of them tells anything about another:
//
//	secret → Gossip   encrypts what nodes tell each other about who is there
//	       → TLS      proves and encrypts calls between nodes, and operators' calls
//	       → Token    proves operators' HTTP requests
//
// Who has the secret may do everything, and who has not may do nothing. Start with [Read].
package key

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/jeton-dev/jeton/ring/secret"
)

// MinSecret is how long a secret is at least, in bytes, white space at its ends not counted.
const MinSecret = 16

// MaxSecret is how long a secret is at most, in bytes, all included: what is longer is hardly a key file.
const MaxSecret = 4096

// sizes of what is derived, in bytes.
const (
	gossipSize = 32 // AES-256
	seedSize   = 32 // of an ed25519 key
	tokenSize  = 32
)

// A Key is the cluster key. It never shows itself when it is printed. It may be used by several goroutines at once.
type Key struct {
	root []byte // the pseudorandom key of HKDF
}

// Read reads the key from a file of text: 16 to 4096 bytes, where white space at both ends does not count. The text
// should be random, as from `openssl rand -base64 32`: whoever reaches a port can find out whether a guess is right. Unless
// insecure is set, a file that others may read is refused, as [secret.Read] does.
func Read(path string, insecure bool) (*Key, error) {
	text, err := secret.Read(path, MaxSecret, insecure)
	if err != nil {
		return nil, fmt.Errorf("cluster key file: %w", err)
	}
	k, err := New(text)
	if err != nil {
		return nil, fmt.Errorf("cluster key file %s: %w", path, err)
	}
	return k, nil
}

// New is the key made from the text of a key file. text is not kept.
func New(text []byte) (*Key, error) {
	if len(text) > MaxSecret {
		return nil, fmt.Errorf("a cluster key has at most %d bytes: is this the key?", MaxSecret)
	}
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) < MinSecret {
		return nil, fmt.Errorf("a cluster key has at least %d bytes, and this one has %d: make one with `openssl rand -base64 32`",
			MinSecret, len(trimmed))
	}
	root, err := hkdf.Extract(sha256.New, trimmed, []byte("jeton cluster key"))
	if err != nil {
		return nil, fmt.Errorf("cluster key: %w", err)
	}
	return &Key{root: root}, nil
}

// Gossip is the key of 32 bytes that encrypts gossip.
func (k *Key) Gossip() []byte { return k.derive("gossip", gossipSize) }

// Token is what an HTTP request shows as its bearer token: 64 hexadecimal digits. Compare it in constant time.
func (k *Key) Token() string { return hex.EncodeToString(k.derive("token", tokenSize)) }

// derive is the key for one purpose.
func (k *Key) derive(purpose string, size int) []byte {
	derived, err := hkdf.Expand(sha256.New, k.root, "jeton "+purpose, size)
	if err != nil {
		panic(fmt.Sprintf("key: deriving %d bytes for %s: %v", size, purpose, err)) // only more than 8160 bytes cannot be had
	}
	return derived
}

// Format prints no secrets, whatever the verb.
func (*Key) Format(s fmt.State, _ rune) { fmt.Fprint(s, "(cluster key)") }
