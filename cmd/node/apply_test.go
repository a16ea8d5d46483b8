package node_test

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/node"
)

// limitsOverHTTP puts documents in force by HTTP, as curl -T does.
type limitsOverHTTP struct {
	*testing.T

	url, token string
}

func newLimitsOverHTTP(t *testing.T) limitsOverHTTP {
	t.Helper()
	data := t.TempDir()
	n := open(t, node.Config{
		Data: data, Logger: slog.New(slog.DiscardHandler),
		ListenGRPC: "127.0.0.1:0", ListenHTTP: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
	})
	token, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	return limitsOverHTTP{t, "http://" + n.HTTPAddr() + "/v1/limits", strings.TrimSpace(string(token))}
}

// put says what must come of it: the status, the version in force, and a part of the body.
func (l limitsOverHTTP) put(text, match string, status int, etag, says string) {
	l.Helper()
	r, err := http.NewRequestWithContext(l.Context(), http.MethodPut, l.url, strings.NewReader(text))
	if err != nil {
		l.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+l.token)
	if match != "" {
		r.Header.Set("If-Match", match)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		l.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		l.Fatal(err)
	}
	if res.StatusCode != status || res.Header.Get("ETag") != etag || !strings.Contains(string(body), says) {
		l.Errorf("PUT of %q with If-Match %q: %d %s %s; want %d %s %s", text, match, res.StatusCode, res.Header.Get("ETag"), body, status, etag, says)
	}
}

const oneLimit, twoLimits = "limits:\n  a: {capacity: 1, refill: 1/s}\n", "limits:\n  a: {capacity: 1, refill: 1/s}\n  b: {capacity: 1, refill: 1/s}\n"

// A document that says which version it was made from replaces no other, however it is sent.
func TestApplyHeedsTheVersionOfTheDocument(t *testing.T) {
	l := newLimitsOverHTTP(t)
	l.put("# version 1\n"+oneLimit, "", 200, `"2"`, `"added":["a"]`)
	for _, first := range []string{"# version 1\n", "\n# version 1\n", "# ours\n# version 1\n", "# version 1\r\n", "# version 3\n"} {
		l.put(first+twoLimits, "", 412, "", "and version 2 is in force")
		l.put(first+oneLimit, "", 200, `"2"`, `"added":[],"changed":[],"removed":[]`) // which it says already
	}
	l.put("# version 1\n"+twoLimits, `"1"`, 412, "", "version 2 is in force, not 1")
	l.put("# version 1\n"+twoLimits, `"2"`, 200, `"3"`, `"added":["b"]`)
	l.put("# version 1\n"+strings.ReplaceAll(twoLimits, "b:", "c:")+"  b: {capacity: 1, refill: 1/s}\n", "*", 200, `"4"`, `"added":["c"]`)
}
