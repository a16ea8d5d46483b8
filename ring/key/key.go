// Package key is the cluster key: one secret, shared by nodes and operators, that authenticates them to each other. Each use
// has a key of its own that is derived from it; none of them reveals anything about another:
//
//	secret → Seals     encrypt the gossip of the nodes about their membership
//	       → TLS       authenticates and encrypts calls between nodes, and operators' calls
//	       → Token     authenticates operators' HTTP requests
//	       → Name      tells people two secrets apart
//
// While the secret is replaced by another one, a file holds both: the first is shown to others, and all are accepted. A [Key] follows
// its file with [Key.Reload]. A holder of a secret may do everything. Start with [Read].
package key

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jeton-dev/jeton/ring/secret"
)

// A Key is the cluster key: one secret or several. Printing it does not reveal them. It is safe for concurrent use.
type Key struct {
	file     string // empty: it stays as it is
	insecure bool

	current atomic.Pointer[[]*one] // at least one; the first is shown

	reloading sync.Mutex // one change at a time

	conns conns

	mu        sync.Mutex // of what follows
	listeners map[*func()]struct{}
}

// Read reads the key from a text file: see [New]. The text should be random, as from `openssl rand -base64 32`: any client that
// reaches a port can test guesses. Unless insecure is set, Read refuses a file that other users may read, as [secret.Read] does.
func Read(path string, insecure bool) (*Key, error) {
	all, err := readFile(path, insecure)
	if err != nil {
		return nil, err
	}
	k := &Key{file: path, insecure: insecure}
	k.current.Store(&all)
	return k, nil
}

// readFile reads the secrets of a key file. The error names it.
func readFile(path string, insecure bool) ([]*one, error) {
	text, err := secret.Read(path, maxFile, insecure)
	if err != nil {
		return nil, fmt.Errorf("cluster key file: %w", err)
	}
	all, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("cluster key file %s: %w", path, err)
	}
	return all, nil
}

// New derives the key from the text of a key file: a secret of 16 to 4096 bytes, without white space at both ends; or several, with
// a line --- between them. It does not keep text.
func New(text []byte) (*Key, error) {
	all, err := parse(text)
	if err != nil {
		return nil, err
	}
	k := &Key{}
	k.current.Store(&all)
	return k, nil
}

// all are the secrets in force, the first of which is shown to others.
func (k *Key) all() []*one { return *k.current.Load() }

// Token is the bearer token of an HTTP request: 64 hexadecimal digits, of the first secret. To find out whether a token counts, ask
// [Key.HasToken].
func (k *Key) Token() string { return k.all()[0].token }

// HasToken says whether a token is that of one of the secrets, in a time that does not depend on the token.
func (k *Key) HasToken(token string) bool {
	found := false
	for _, o := range k.all() {
		if o.hasToken(token) {
			found = true
			o.use(OverToken)
		}
	}
	return found
}

// Seals are what gossip is sealed with: the first seals, and all open.
func (k *Key) Seals() []Seal {
	seals := make([]Seal, 0, MaxSecrets)
	for _, o := range k.all() {
		seals = append(seals, Seal{o.seal, o})
	}
	return seals
}

// GossipKeys are the keys of 32 bytes that encrypt gossip: the first seals, and all open.
func (k *Key) GossipKeys() (keys [][]byte) {
	for _, o := range k.all() {
		keys = append(keys, slices.Clone(o.gossip))
	}
	return keys
}

// Cookies are secrets for sealing cookies: the first seals, and all open.
func (k *Key) Cookies() (secrets [][]byte) {
	for _, o := range k.all() {
		secrets = append(secrets, []byte(o.token))
	}
	return secrets
}

// Format prints no secrets, whatever the verb.
func (*Key) Format(s fmt.State, _ rune) { fmt.Fprint(s, "(cluster key)") }
