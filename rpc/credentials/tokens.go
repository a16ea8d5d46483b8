package credentials

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/bearer"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/ring/secret"
)

// maxTokenFile is how many bytes a file of tokens has at most.
const maxTokenFile = 1 << 20

// TokensConfig says which Tokens there are. At least one of Key and File is required.
type TokensConfig struct {
	// Key is the cluster key, whose own tokens count (`jeton cluster token`), those in force; nil for none.
	Key *key.Key
	// File has tokens, one per line: see [bearer.Parse]. Empty for none.
	File string
	// Option is the option that names File; empty for admin-token-file.
	Option string
	// Local says that the node has made File itself.
	Local bool
	// Insecure takes a File that others on the machine may read.
	Insecure bool
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

// Tokens are what operators prove with that they may look at buckets, and change something: "Authorization: Bearer TOKEN",
// over HTTP and gRPC alike. They follow their file with Reload. Nil has no tokens. Tokens may be used by several goroutines
// at once.
type Tokens struct {
	cfg     TokensConfig
	metrics tokenMetrics
	current atomic.Pointer[tokenSet]

	mu   sync.Mutex // of Reload
	text []byte     // of the file, in force
}

// A tokenSet is the tokens in force, with the names of those that have one.
type tokenSet struct {
	*bearer.Set

	names map[string]string
}

// NewTokens reads the file. The error names it and the line that is wrong, or says why the metrics cannot be registered.
func NewTokens(cfg TokensConfig) (*Tokens, error) {
	if cfg.Key == nil && cfg.File == "" {
		return nil, errors.New("tokens: neither a cluster key nor a token file is given")
	}
	t := &Tokens{cfg: cfg, metrics: newTokenMetrics()}
	t.put(nil, nil)
	if _, err := t.Reload(); err != nil {
		return nil, err
	}
	if err := metrics.Register(cfg.Registerer, t.metrics.collectors()...); err != nil {
		return nil, err
	}
	return t, nil
}

// Reload reads the file again and puts its tokens in force, all or, if anything is wrong, none. The error never shows a
// token.
func (t *Tokens) Reload() (changed bool, err error) {
	if t.cfg.File == "" {
		return false, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	text, err := secret.Read(t.cfg.File, maxTokenFile, t.cfg.Insecure)
	if err == nil && t.text != nil && bytes.Equal(text, t.text) {
		return false, nil
	}
	var found []string
	if err == nil {
		found, err = parse(t.cfg.File, text)
	}
	if err != nil {
		t.metrics.failures.Inc()
		return false, fmt.Errorf("%s: %w", cmp.Or(t.cfg.Option, "admin-token-file"), err)
	}
	t.put(found, bearer.Names(text))
	t.text = text
	return true, nil
}

// put puts the tokens of a file in force.
func (t *Tokens) put(found []string, names map[string]string) {
	t.current.Store(&tokenSet{bearer.NewSet(found...), names})
}

// parse reads the text of a file of tokens. The error names the file.
func parse(path string, text []byte) ([]string, error) {
	if len(text) > maxTokenFile {
		return nil, fmt.Errorf("%s: has more than %d bytes: is this the token file?", path, maxTokenFile)
	}
	found, err := bearer.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return found, nil
}

// ReadToken reads the first token of a file of tokens, for a client to send. Unless insecure is set, a file that others may
// read is refused. The error names the file.
func ReadToken(path string, insecure bool) (string, error) {
	text, err := secret.Read(path, maxTokenFile, insecure)
	if err != nil {
		return "", err
	}
	found, err := parse(path, text)
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// Counts says whether a token is one of them, and whether there are any.
func (t *Tokens) Counts(token string) (counts, exist bool) { return t.has(token), t != nil }

// Name is what the audit log calls the owner of a token that counts: its name in the file, or else eight digits of its digest, from
// which the token cannot be had.
func (t *Tokens) Name(token string) string {
	switch {
	case t == nil:
		return "a token"
	case t.cfg.Key != nil && t.cfg.Key.HasToken(token):
		return "token of the cluster key"
	case t.cfg.Local:
		return "token of the data directory"
	}
	if name := t.current.Load().names[token]; name != "" {
		return "token " + name
	}
	digest := sha256.Sum256([]byte(token))
	return "token " + hex.EncodeToString(digest[:4])
}

// Where says where an operator finds a token.
func (t *Tokens) Where() string {
	const ofKey = "what jeton cluster token --cluster-key-file prints"
	ofFile := "a token of the node's --admin-token-file"
	switch {
	case t == nil:
		return ofFile
	case t.cfg.Local:
		return "the token in " + t.cfg.File + ", which this node has created because it has neither a cluster key nor --admin-token-file"
	case t.cfg.File == "":
		return ofKey
	case t.cfg.Key == nil:
		return ofFile
	}
	return ofKey + ", or " + ofFile
}

// has says whether a token counts. Nil has none.
func (t *Tokens) has(token string) bool {
	return t != nil && (t.current.Load().Has(token) || t.cfg.Key != nil && t.cfg.Key.HasToken(token))
}
