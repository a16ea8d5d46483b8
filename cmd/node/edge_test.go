package node

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/storage"
)

// around is a node with a program around it, alone or a cluster of one.
func around(t *testing.T, alone bool) *Node {
	t.Helper()
	file := filepath.Join(t.TempDir(), "limits.yaml")
	const limits = "limits: {leased: {capacity: 100000000, refill: 100000000/s, consistency: leased}, own: {capacity: 20, refill: 1/h, consistency: local, share: divided}}"
	if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Name: "one", Data: t.TempDir(), Limits: file, Durability: storage.Memory, Edges: 2, Logger: slog.New(slog.DiscardHandler),
		ListenGRPC: "127.0.0.1:0", ListenHTTP: "127.0.0.1:0",
	}
	if !alone {
		cfg.ListenGossip, cfg.ListenRaft = "127.0.0.1:0", "127.0.0.1:0"
	}
	n, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return n
}

// decidedHere is how many checks the program around a node has decided itself.
func decidedHere(t *testing.T, n *Node) (sum float64) {
	t.Helper()
	families, err := n.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "jeton_edge_checks_total" {
			for _, m := range f.GetMetric() {
				if m.GetLabel()[0].GetValue() == "here" {
					sum += m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}

// TestTheProgramAroundANodeIsAnEdge lets it decide by leases and by a bucket of its own, and whoever asks over the network by the owner.
func TestTheProgramAroundANodeIsAnEdge(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprintf("alone=%v", alone), func(t *testing.T) {
			t.Parallel()
			n := around(t, alone)
			seed := rand.Uint64()
			random := rand.New(rand.NewPCG(seed, 0))
			since, admitted := time.Now(), int64(0)
			for i := 0; (i%100 != 0 || decidedHere(t, n) < 500) && time.Since(since) < time.Minute; i++ { // far below the limit: of an empty bucket the owner decides
				cost := 1 + random.Int64N(3)
				d, err := n.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("leased")}, Cost: cost})
				if err != nil {
					t.Fatal(err)
				}
				if d.Allowed {
					admitted += cost
				}
			}
			if most := 1e8 + 1e8*time.Since(since).Seconds() + 1; float64(admitted) > most {
				t.Errorf("seed %d: %d tokens were admitted, of at most %.0f", seed, admitted, most)
			}
			if got := decidedHere(t, n); got < 500 {
				t.Errorf("seed %d: %v checks are decided by leases", seed, got)
			}
			passed := 0
			for range 30 {
				if d, err := n.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("own")}}); err != nil {
					t.Fatal(err)
				} else if d.Allowed {
					passed++
				}
			}
			if passed != 10 {
				t.Errorf("%d checks pass by a half of 20", passed)
			}
			before := decidedHere(t, n)
			a, err := http.Post("http://"+n.HTTPAddr()+"/v1/check", "application/json", strings.NewReader(`{"key":"other","limits":["leased"]}`)) //nolint:noctx // it ends with the node
			if err != nil {
				t.Fatal(err)
			}
			if _ = a.Body.Close(); a.StatusCode != http.StatusOK {
				t.Errorf("over HTTP: %d", a.StatusCode)
			}
			c, err := client.New(client.Config{Servers: []string{n.GRPCAddr()}, Timeout: long})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close() //nolint:errcheck // the test ends
			if _, err := c.Check(t.Context(), limit.Request{Key: "other", Limits: []limit.Ref{limit.Named("leased")}}); err != nil {
				t.Error(err)
			}
			if got := decidedHere(t, n); got != before {
				t.Errorf("%v checks that came over the network are decided by the program around the node", got-before)
			}
		})
	}
}

// A node that is closed admits nothing more, by no bucket of the program's own either.
func TestAClosedNodeDecidesNothing(t *testing.T) {
	t.Parallel()
	n := around(t, true)
	for range 5 {
		if d, err := n.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("own")}}); err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
	}
	if err := n.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"own", "leased"} {
		if d, err := n.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named(name)}}); !errors.Is(err, limit.ErrUnavailable) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}
