package rpc

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring/key"
)

// minToken and maxTokens are how long a token of a file is at least, in bytes, and how many there are at most.
const (
	minToken  = 16
	maxTokens = 100
)

// TokensConfig says which Tokens there are. At least one of Key and File is required.
type TokensConfig struct {
	// Key is the cluster key, whose own token counts (`jeton cluster token`); nil for none.
	Key *key.Key
	// File has tokens, one a line: printable ASCII without spaces, 16 bytes or more. Empty lines and lines that begin with #
	// do not count. Empty for none.
	File string
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

// Tokens are what operators prove with over HTTP that they may look at buckets, and change something: "Authorization:
// Bearer TOKEN". They follow their file with Reload. Nil are no tokens, which let everybody. Tokens may be used by several
// goroutines at once.
type Tokens struct {
	cfg     TokensConfig
	metrics tokenMetrics
	current atomic.Pointer[[]digest] // of all tokens: of the key, then of the file

	mu   sync.Mutex // of Reload
	text []byte     // of the file, in force
}

// A digest stands for a token: all are of one length, so that comparing takes as long for every token.
type digest [sha256.Size]byte

// NewTokens reads the file. The error names it and the line that is wrong, or says why the metrics cannot be registered.
func NewTokens(cfg TokensConfig) (*Tokens, error) {
	if cfg.Key == nil && cfg.File == "" {
		return nil, errors.New("tokens: no cluster key and no file to take them from")
	}
	t := &Tokens{cfg: cfg, metrics: newTokenMetrics()}
	t.put(nil)
	if _, err := t.Reload(); err != nil {
		return nil, err
	}
	if err := register(cfg.Registerer, t.metrics.collectors()...); err != nil {
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
	text, err := os.ReadFile(t.cfg.File)
	if err == nil && t.text != nil && bytes.Equal(text, t.text) {
		return false, nil
	}
	var found []digest
	if err == nil {
		found, err = parseTokens(text)
	}
	if err != nil {
		t.metrics.failures.Inc()
		return false, fmt.Errorf("admin-token-file: %s: %w", t.cfg.File, err)
	}
	t.put(found)
	t.text = text
	return true, nil
}

// put puts tokens in force beside that of the key.
func (t *Tokens) put(found []digest) {
	if t.cfg.Key != nil {
		found = append([]digest{sha256.Sum256([]byte(t.cfg.Key.Token()))}, found...)
	}
	t.current.Store(&found)
}

// parseTokens reads a file of tokens.
func parseTokens(text []byte) ([]digest, error) {
	var found []digest
	line := 0
	for token := range bytes.Lines(text) {
		line++
		token = bytes.TrimSpace(token)
		switch {
		case len(token) == 0 || token[0] == '#':
			continue
		case len(token) < minToken:
			return nil, fmt.Errorf("line %d: a token has at least %d bytes, and this one has %d: make one with `openssl rand -hex 32`",
				line, minToken, len(token))
		case bytes.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }):
			return nil, fmt.Errorf("line %d: a token is printable ASCII without spaces, one a line", line)
		}
		found = append(found, sha256.Sum256(token))
	}
	switch {
	case len(found) == 0:
		return nil, errors.New("holds no token: write one a line, such as `openssl rand -hex 32` prints")
	case len(found) > maxTokens:
		return nil, fmt.Errorf("holds %d tokens, and may hold %d", len(found), maxTokens)
	}
	return found, nil
}

// Admit says whether a request shows one of the tokens. The error is a problem, which [WriteProblem] writes with what HTTP
// asks for.
func (t *Tokens) Admit(r *http.Request) error {
	if t == nil || t.has(bearer(r)) {
		return nil
	}
	t.metrics.refused.Inc()
	return &problem{
		Name: "needs-token", Title: "The request needs a token", Status: http.StatusUnauthorized,
		Detail: "send the header Authorization: Bearer with " + t.where(), challenge: `Bearer realm="jeton"`,
	}
}

// where says where a token can be had.
func (t *Tokens) where() string {
	const ofKey, ofFile = "what jeton cluster token --cluster-key-file prints", "a token of the node's --admin-token-file"
	switch {
	case t.cfg.File == "":
		return ofKey
	case t.cfg.Key == nil:
		return ofFile
	}
	return ofKey + ", or " + ofFile
}

// has takes as long whichever token it is, and how much of it is right.
func (t *Tokens) has(token string) bool {
	asked := digest(sha256.Sum256([]byte(token)))
	found := 0
	for _, known := range *t.current.Load() {
		found |= subtle.ConstantTimeCompare(asked[:], known[:])
	}
	return found == 1
}

// bearer is the token of a request; empty without one.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
