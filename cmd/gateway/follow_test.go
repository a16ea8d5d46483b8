package gateway

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/gateway/keys"
)

// While another document waits for a restart, or is wrong, the files of the one in force are followed: a revoked key does not count
// any more.
func TestFilesAreFollowedWhileAnotherDocumentIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(document string) string
		says   string
	}{
		"it waits for a restart": {func(d string) string {
			return strings.Replace(d, `admin: {listen: "127.0.0.1:0"}`, `admin: {listen: "127.0.0.1:1"}`, 1)
		}, "restart the gateway"},
		"it is wrong":     {func(d string) string { return d + "nonsense: 1\n" }, "nonsense"},
		"it is cut off":   {func(string) string { return "" }, "is empty"},
		"it names others": {func(d string) string { return strings.Replace(d, "keys_file: keys.jsonl", "keys_file: none.jsonl", 1) }, "none.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, path := filepath.Join(dir, "keys.jsonl"), filepath.Join(dir, "gateway.yaml")
			key := keys.Make()
			if err := keys.Add(file, keys.Key{Label: "ci", Owner: t.Name(), Digest: keys.DigestOf(key)}); err != nil {
				t.Fatal(err)
			}
			good := strings.Replace(keyed(anUpstream(t).URL), "keys_file: keys.d", "keys_file: keys.jsonl", 1)
			write(t, path, good)
			r := openAt(t, path, Config{})
			r.heard(t)
			wants := func(want int) {
				t.Helper()
				if got := r.get(t, r.ProxyAddr(), "/items", "X-Api-Key: "+key).status; got != want {
					t.Errorf("answered %d, want %d", got, want)
				}
			}
			refused := func() {
				t.Helper()
				if err := r.look(false); err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want %q", err, c.says)
				}
			}
			write(t, path, c.change(good))
			_ = r.look(false) // the first look at it says nothing
			refused()
			wants(http.StatusOK)
			if _, err := keys.Revoke(file, "ci", time.Now()); err != nil {
				t.Fatal(err)
			}
			refused()
			wants(http.StatusUnauthorized)
			if body := r.get(t, r.AdminAddr(), "/readyz").body; !strings.Contains(body, "configuration: last reload failed") || !strings.Contains(body, "0 API keys") {
				t.Errorf("/readyz says %s", body)
			}
			write(t, path, good)
			_ = r.look(false)
			if err := r.look(false); err != nil || r.log.count("is in force again") != 1 {
				t.Errorf("after the document is as before: %v", err)
			}
			wants(http.StatusUnauthorized)
		})
	}
}

// API keys are followed though another file, which the document in force names, is broken or gone.
func TestKeysAreFollowedBesideABrokenFile(t *testing.T) {
	const token, another = "0123456789abcdef0123456789abcdef\n", `admin: {listen: "127.0.0.1:0"}`
	for name, c := range map[string]struct {
		change func(document string) string // of a document that names the file tokens
		broken string                       // empty: the file is gone
		later  func(document string) string // after the file is broken; nil: the document stays
	}{
		"tokens of operators": {
			change: func(d string) string {
				return strings.Replace(d, another, `admin: {listen: "127.0.0.1:0", token_file: tokens}`, 1)
			}, broken: "# none\n",
		},
		"exempt tokens": {change: func(d string) string { return d + "exempt: {token_file: tokens}\n" }, broken: "short\n"},
		"a file that the next document does without": {
			change: func(d string) string { return d + "exempt: {token_file: tokens}\n" },
			later:  func(d string) string { return strings.Replace(d, another, `admin: {listen: "127.0.0.1:1"}`, 1) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, path, tokens := filepath.Join(dir, "keys.jsonl"), filepath.Join(dir, "gateway.yaml"), filepath.Join(dir, "tokens")
			key := keys.Make()
			if err := keys.Add(file, keys.Key{Label: "ci", Owner: t.Name(), Digest: keys.DigestOf(key)}); err != nil {
				t.Fatal(err)
			}
			write(t, tokens, token)
			plain := strings.Replace(keyed(anUpstream(t).URL), "keys_file: keys.d", "keys_file: keys.jsonl", 1)
			write(t, path, c.change(plain))
			r := openAt(t, path, Config{})
			r.heard(t)
			wants := func(want int) {
				t.Helper()
				if got := r.get(t, r.ProxyAddr(), "/items", "X-Api-Key: "+key).status; got != want {
					t.Errorf("answered %d, want %d", got, want)
				}
			}
			wants(http.StatusOK)
			if c.broken != "" {
				write(t, tokens, c.broken)
			} else if err := os.Remove(tokens); err != nil {
				t.Fatal(err)
			}
			if c.later != nil {
				write(t, path, c.later(plain))
			}
			if _, err := keys.Revoke(file, "ci", time.Now()); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				_ = r.look(false)
			}
			wants(http.StatusUnauthorized)
		})
	}
}
