package credentials

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/ring/secret"
)

// minToken and maxTokens are how long a token of a file is at least, in bytes, and how many there are at most.
const (
	minToken  = 16
	maxTokens = 100
)

// maxTokenFile is how many bytes a file of tokens has at most.
const maxTokenFile = 1 << 20

// TokensConfig says which Tokens there are. At least one of Key and File is required.
type TokensConfig struct {
	// Key is the cluster key, whose own token counts (`jeton cluster token`); nil for none.
	Key *key.Key
	// File has tokens, one a line: printable ASCII without spaces, 16 bytes or more. Empty lines and lines that begin with #
	// do not count. Empty for none.
	File string
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
	current atomic.Pointer[[]digest] // of all tokens: of the key, then of the file

	mu   sync.Mutex // of Reload
	text []byte     // of the file, in force
}

// A digest stands for a token: all are of one length, so that comparing takes as long for every token.
type digest [sha256.Size]byte

// NewTokens reads the file. The error names it and the line that is wrong, or says why the metrics cannot be registered.
func NewTokens(cfg TokensConfig) (*Tokens, error) {
	if cfg.Key == nil && cfg.File == "" {
		return nil, errors.New("tokens: neither a cluster key nor a token file is given")
	}
	t := &Tokens{cfg: cfg, metrics: newTokenMetrics()}
	t.put(nil)
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
	var found [][]byte
	if err == nil {
		if found, err = parseTokens(text); err != nil {
			err = fmt.Errorf("%s: %w", t.cfg.File, err)
		}
	}
	if err != nil {
		t.metrics.failures.Inc()
		return false, fmt.Errorf("admin-token-file: %w", err)
	}
	t.put(found)
	t.text = text
	return true, nil
}

// put puts tokens in force beside that of the key.
func (t *Tokens) put(found [][]byte) {
	var digests []digest
	if t.cfg.Key != nil {
		digests = append(digests, sha256.Sum256([]byte(t.cfg.Key.Token())))
	}
	for _, token := range found {
		digests = append(digests, sha256.Sum256(token))
	}
	t.current.Store(&digests)
}

// parseTokens reads a file of tokens.
func parseTokens(text []byte) ([][]byte, error) {
	var found [][]byte
	line := 0
	for token := range bytes.Lines(text) {
		line++
		token = bytes.TrimSpace(token)
		switch {
		case len(token) == 0 || token[0] == '#':
			continue
		case len(token) < minToken:
			return nil, fmt.Errorf("line %d: a token needs at least %d bytes, this one has %d: make one with `openssl rand -hex 32`",
				line, minToken, len(token))
		case bytes.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }):
			return nil, fmt.Errorf("line %d: a token is printable ASCII without spaces, one per line", line)
		}
		found = append(found, token)
	}
	switch {
	case len(text) > maxTokenFile:
		return nil, fmt.Errorf("has more than %d bytes: is this the token file?", maxTokenFile)
	case len(found) == 0:
		return nil, errors.New("holds no token: write one per line, such as the output of `openssl rand -hex 32`")
	case len(found) > maxTokens:
		return nil, fmt.Errorf("holds %d tokens; the maximum is %d", len(found), maxTokens)
	}
	return found, nil
}

// ReadToken reads the first token of a file of tokens, for whoever shows it. Unless insecure is set, a file that others may
// read is refused. The error names the file.
func ReadToken(path string, insecure bool) (string, error) {
	text, err := secret.Read(path, maxTokenFile, insecure)
	if err != nil {
		return "", err
	}
	found, err := parseTokens(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return string(found[0]), nil
}

// Counts says whether a token is one of them, and whether there are any.
func (t *Tokens) Counts(token string) (counts, exist bool) { return t.has(token), t != nil }

// Where says where a token can be had.
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

// has says whether a token counts. It takes as long whichever token it is, and however much of it is right. Nil has none.
func (t *Tokens) has(token string) bool {
	if t == nil {
		return false
	}
	asked := digest(sha256.Sum256([]byte(token)))
	found := 0
	for _, known := range *t.current.Load() {
		found |= subtle.ConstantTimeCompare(asked[:], known[:])
	}
	return found == 1
}
