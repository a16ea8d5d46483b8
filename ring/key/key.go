// Package key is the cluster key: one secret, shared by nodes and operators, that authenticates them to each other. Each use
// has a key of its own that is derived from it; none of them reveals anything about another:
//
//	secret → Gossip   encrypts the gossip of the nodes about their membership
//	       → TLS      authenticates and encrypts calls between nodes, and operators' calls
//	       → Token    authenticates operators' HTTP requests
//
// A holder of the secret may do everything. Start with [Read].
package key

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/jeton-dev/jeton/ring/secret"
)

// MinSecret is the minimum length of a secret in bytes, without white space at its ends.
const MinSecret = 16

// MaxSecret is the maximum size of a key file in bytes.
const MaxSecret = 4096

// Sizes of derived keys, in bytes.
const (
	gossipSize = 32 // AES-256
	seedSize   = 32 // of an ed25519 key
	tokenSize  = 32
)

// A Key is the cluster key. Printing it does not reveal it. It is safe for concurrent use.
type Key struct {
	root []byte // the pseudorandom key of HKDF
}

// Read reads the key from a text file of 16 to 4096 bytes, ignoring white space at both ends. The text should be random, as
// from `openssl rand -base64 32`: any client that reaches a port can test guesses. Unless insecure is set, Read refuses a file
// that other users may read, as [secret.Read] does.
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

// New derives the key from the text of a key file. It does not keep text.
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

// Token is the bearer token of an HTTP request: 64 hexadecimal digits. Compare it in constant time.
func (k *Key) Token() string { return hex.EncodeToString(k.derive("token", tokenSize)) }

// derive derives the key for one purpose.
func (k *Key) derive(purpose string, size int) []byte {
	derived, err := hkdf.Expand(sha256.New, k.root, "jeton "+purpose, size)
	if err != nil {
		panic(fmt.Sprintf("key: deriving %d bytes for %s: %v", size, purpose, err)) // only more than 8160 bytes cannot be had
	}
	return derived
}

// Format prints no secrets, whatever the verb.
func (*Key) Format(s fmt.State, _ rune) { fmt.Fprint(s, "(cluster key)") }
