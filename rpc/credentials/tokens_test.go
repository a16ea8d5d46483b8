package credentials

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/web"
)

const (
	oneToken     = "0123456789abcdef"
	anotherToken = "another-token-of-operators"
)

// tokenFile makes a file of tokens.
func tokenFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func newTokens(t *testing.T, k *key.Key, file string) *Tokens {
	t.Helper()
	tokens, err := NewTokens(TokensConfig{Key: k, File: file, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// admits says whether a request with that header is let in where a token is asked for.
func admits(t *testing.T, tokens *Tokens, header string) bool {
	t.Helper()
	h := newGuard(t, http.NotFoundHandler(), tokens, true)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/", http.NoBody)
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code != http.StatusUnauthorized
}

// newGuard stands before the handler of a node's HTTP port.
func newGuard(t *testing.T, next http.Handler, tokens *Tokens, beyond bool) http.Handler {
	t.Helper()
	h, err := web.NewGuard(next, web.GuardConfig{Door: access.NodeHTTP, Beyond: beyond, Tokens: tokens.Counts, Where: tokens.Where()})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestWhichTokensCount(t *testing.T) {
	k := newKey(t, "the secret of this cluster")
	file := tokenFile(t, "# of Ann\n"+oneToken+"\r\n\n  "+anotherToken+"  \n")
	ofBoth, ofKey, ofFile := newTokens(t, k, file), newTokens(t, k, ""), newTokens(t, nil, file)
	for _, tt := range []struct {
		header             string
		both, byKey, byOne bool // file
	}{
		{"", false, false, false},
		{"Bearer", false, false, false},
		{"Bearer ", false, false, false},
		{"Bearer " + k.Token(), true, true, false},
		{"bearer  " + k.Token() + " ", true, true, false},
		{"Bearer " + oneToken, true, false, true},
		{"Bearer " + anotherToken, true, false, true},
		{"Bearer # of Ann", false, false, false},
		{"Bearer " + oneToken + "0", false, false, false},
		{"Bearer " + oneToken[1:], false, false, false},
		{oneToken, false, false, false},
		{k.Token(), false, false, false},
		{"Basic " + oneToken, false, false, false},
		{"Bearer " + newKey(t, "the secret of another one").Token(), false, false, false},
	} {
		for name, check := range map[string]struct {
			tokens *Tokens
			want   bool
		}{"both": {ofBoth, tt.both}, "key": {ofKey, tt.byKey}, "file": {ofFile, tt.byOne}, "none": {nil, true}} {
			if got := admits(t, check.tokens, tt.header); got != check.want {
				t.Errorf("%q with %s: %v, want %v", tt.header, name, got, check.want)
			}
		}
	}
}

func TestARefusedRequestIsToldWhere(t *testing.T) {
	k, file := newKey(t, "the secret of this cluster"), tokenFile(t, oneToken)
	for _, tt := range []struct {
		tokens *Tokens
		says   []string
	}{
		{newTokens(t, k, ""), []string{"jeton cluster token"}},
		{newTokens(t, nil, file), []string{"--admin-token-file"}},
		{newTokens(t, k, file), []string{"jeton cluster token", "--admin-token-file"}},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/", http.NoBody)
		w := httptest.NewRecorder()
		newGuard(t, http.NotFoundHandler(), tt.tokens, true).ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%d, %v", w.Code, w.Header())
		}
		for _, says := range append(tt.says, "urn:jeton:problem:needs-token") {
			if !strings.Contains(w.Body.String(), says) {
				t.Errorf("%s does not say %q", w.Body, says)
			}
		}
		if strings.Contains(w.Body.String(), "token is unknown") {
			t.Errorf("%s says that a token is unknown", w.Body)
		}
		if strings.Contains(w.Body.String(), oneToken) {
			t.Errorf("%s tells a token", w.Body)
		}
	}
}

func TestWrongTokenFiles(t *testing.T) {
	for text, says := range map[string]string{
		"":                                  "holds no token",
		"\n# only a comment\n":              "holds no token",
		oneToken + "\nshort-secret\n":       "line 2: a token needs at least 16 bytes, this one has 12",
		"two tokens in a single line\n":     "line 1: a token is printable ASCII without spaces",
		oneToken + "\n" + "tökentökentöken": "line 2: a token is printable ASCII",
		strings.Repeat(oneToken+"\n", 1001): "holds 1001 tokens; the maximum is 1000",
	} {
		file := tokenFile(t, text)
		_, err := NewTokens(TokensConfig{File: file})
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "admin-token-file: "+file) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
		if err != nil && (strings.Contains(err.Error(), oneToken) || strings.Contains(err.Error(), "short-secret")) {
			t.Errorf("%v tells a token", err)
		}
	}
	if _, err := NewTokens(TokensConfig{File: filepath.Join(t.TempDir(), "none")}); err == nil || !strings.Contains(err.Error(), "admin-token-file: ") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := NewTokens(TokensConfig{}); err == nil {
		t.Error("tokens of nothing")
	}
}

// TestTokensAreReplaced goes through a rotation: both count for a while, and a wrong file changes nothing.
func TestTokensAreReplaced(t *testing.T) {
	file := tokenFile(t, oneToken)
	tokens := newTokens(t, newKey(t, "the secret of this cluster"), file)
	step := func(text string, wantChanged, wantErr, one, another bool) {
		t.Helper()
		if text == "" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if changed, err := tokens.Reload(); changed != wantChanged || (err != nil) != wantErr {
			t.Errorf("%q: changed %v, %v", text, changed, err)
		}
		if admits(t, tokens, "Bearer "+oneToken) != one || admits(t, tokens, "Bearer "+anotherToken) != another {
			t.Errorf("%q: the first counts must be %v, the second %v", text, one, another)
		}
		if !admits(t, tokens, "Bearer "+newKey(t, "the secret of this cluster").Token()) {
			t.Errorf("%q: the key's token does not count", text)
		}
	}
	step(oneToken, false, false, true, false)
	step(oneToken+"\n"+anotherToken, true, false, true, true)
	step("short", false, true, true, true)
	step("", false, true, true, true)
	step(anotherToken, true, false, false, true)
	if got := valueOf(t, tokens.metrics.failures); got != 2 {
		t.Errorf("%v failures, want 2", got)
	}
	if changed, err := newTokens(t, newKey(t, "the secret of this cluster"), "").Reload(); changed || err != nil {
		t.Errorf("without a file: %v, %v", changed, err)
	}
}

// The first token of a file is what an operator shows.
func TestReadToken(t *testing.T) {
	if token, err := ReadToken(tokenFile(t, "# Ann\n"+oneToken+"\n"+anotherToken), false); err != nil || token != oneToken {
		t.Errorf("%q, %v", token, err)
	}
	open := tokenFile(t, oneToken)
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadToken(open, false); err == nil || !strings.Contains(err.Error(), "chmod g-w,o= "+open) {
		t.Errorf("a file for everybody: %v", err)
	}
	if _, err := NewTokens(TokensConfig{File: open}); err == nil || !strings.Contains(err.Error(), "admin-token-file: "+open) {
		t.Errorf("a file for everybody: %v", err)
	}
	if _, err := NewTokens(TokensConfig{File: open, Insecure: true}); err != nil {
		t.Error(err)
	}
}

// An error names the file once, whichever part of reading it has failed.
func TestTokenErrorsNameTheFileOnce(t *testing.T) {
	open, short := tokenFile(t, oneToken), tokenFile(t, "short")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{open, short, filepath.Join(t.TempDir(), "none")} {
		_, err := NewTokens(TokensConfig{File: path})
		if err == nil || strings.Count(strings.ReplaceAll(err.Error(), "chmod g-w,o= "+path, ""), path) != 1 {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func newKey(t *testing.T, secret string) *key.Key {
	t.Helper()
	k, err := key.New([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return k
}
