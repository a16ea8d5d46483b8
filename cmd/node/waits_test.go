package node

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestWhomANodeWaitsFor: a node that has not joined yet answers every status request with the nodes that it waits for, and what is wrong
// with the addresses that it was given, and logs once that it makes no decision.
func TestWhomANodeWaitsFor(t *testing.T) {
	open := func(cfg Config) *Node {
		cfg.Data, cfg.ListenGRPC, cfg.ListenHTTP = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
		cfg.ListenGossip, cfg.ListenRaft = "127.0.0.1:0", "127.0.0.1:0"
		n, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close(t.Context()) }) //nolint:errcheck // nothing is kept
		return n
	}
	first := open(Config{Name: "first", Logger: slog.New(slog.DiscardHandler)})
	lines := make(logged, 1000)
	n := open(Config{
		Name: "waiting", Expect: 3, Join: []string{first.HTTPAddr(), "127.0.0.1:1"}, Logger: slog.New(slog.NewTextHandler(lines, nil)),
	})
	late := time.After(time.Minute)
	for missing := 3; missing > 0; {
		select {
		case line := <-lines:
			for _, said := range []string{"waiting for more nodes to found a cluster", "speaks=HTTP", "no node answers at this gossip address yet"} {
				if strings.Contains(line, said) {
					missing--
				}
			}
		case <-late:
			t.Fatal("the log does not say whom the node waits for")
		}
	}
	const waits = "the node waits for more nodes to found a cluster: 1 of 3 are here (waiting); not met: "
	for call, want := range map[string]string{
		"GET /readyz":     "not ready: the node has not joined its cluster yet: " + waits,
		"GET /debug/ring": "waiting belongs to no cluster yet: " + waits,
		"POST /v1/check":  `"detail":"no decision available: the node has not joined its cluster yet: ` + waits,
	} {
		method, path, _ := strings.Cut(call, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+n.HTTPAddr()+path, strings.NewReader(`{"key":"k","limits":["a"]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/plain")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.Body.Close() != nil {
			t.Fatal(err)
		}
		if said := string(body); !strings.Contains(said, want) || !strings.Contains(said, first.HTTPAddr()+" speaks HTTP, not gossip") ||
			!strings.Contains(said, "127.0.0.1:1 connection refused") {
			t.Errorf("%s: %s, want %s", call, said, want)
		}
	}
	if waits := first.member.cluster.Waits(); waits != "" {
		t.Errorf("a member waits: %s", waits)
	}
}
