package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// token is that of the operator.
const token = "the-token-of-these-tests"

// sampleLimits are those of the cluster that the tests look at.
const sampleLimits = `limits:
  login: {capacity: 10, refill: 1/10m, on_unavailable: deny}
  api: {capacity: 5000, refill: 2000/1s, plans: {pro: {capacity: 10000}}}
  tokens: {capacity: 100000, refill: 100000/10m, hold: 1m}
  streams: {algorithm: concurrency, limit: 5, lease: 1m}
`

// binary builds jeton, once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "jeton-browser-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "jeton")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-C", "../..", "-o", path, "./cmd/jeton").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path)) //nolint:errcheck // it is a temporary file
	}
	os.Exit(code)
}

// startCluster starts three nodes whose HTTP ports can be reached from elsewhere, so that who looks needs a token.
func startCluster(t *testing.T) *process.Cluster {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	tokens, key := filepath.Join(t.TempDir(), "tokens"), filepath.Join(t.TempDir(), "key")
	for file, text := range map[string]string{tokens: "# name: ann\n" + token + "\n", key: "the secret of this cluster\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := process.NewCluster(t, path, 3, sampleLimits, "--admin-token-file", tokens, "--cluster-key-file", key)
	for _, m := range c.Members {
		_, port, err := net.SplitHostPort(m.HTTP)
		if err != nil {
			t.Fatal(err)
		}
		m.Args("--listen-http", net.JoinHostPort("0.0.0.0", port), "--advertise", "127.0.0.1", "--listen-redis", m.Redis)
		m.Launch()
	}
	for _, m := range c.Members {
		m.Ready()
	}
	return c
}

// check asks a node, and says whether it has admitted. It may be called by any goroutine.
func check(ctx context.Context, m *process.Member, key, name string, cost int) (bool, error) {
	body, err := json.Marshal(map[string]any{"key": key, "limits": []string{name}, "cost": cost})
	if err != nil {
		return false, err
	}
	return post(ctx, m, body)
}

func post(ctx context.Context, m *process.Member, body []byte) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+m.HTTP+"/v1/check", bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK && res.StatusCode != http.StatusTooManyRequests {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	return res.StatusCode == http.StatusOK, err
}

// spend checks the limit login, and says whether it has admitted.
func spend(t *testing.T, m *process.Member, key string, cost int) bool {
	t.Helper()
	admitted, err := check(t.Context(), m, key, "login", cost)
	if err != nil {
		t.Fatal(err)
	}
	return admitted
}

// load asks nodes without a pause until the test ends, for some keys of which one is denied most of the time. A node that is gone is an error that
// does not count.
func load(t *testing.T, members []*process.Member) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var asking sync.WaitGroup
	for i := range members {
		asking.Go(func() {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
				key, name := fmt.Sprintf("user:%d", n%20), "api"
				if n%3 == 0 {
					key, name = "user:greedy", "login"
				}
				check(ctx, members[(i+n)%len(members)], key, name, 1) //nolint:errcheck // the node may be gone: see above
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		asking.Wait()
	})
}
