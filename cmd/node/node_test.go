package node_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/datadir"
)

func TestMain(m *testing.M) {
	// A probe of gossip that is under way when a node ends takes up to a second to notice.
	probe := goleak.IgnoreTopFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode")
	// Raft does not answer for an entry that it has agreed on and not yet applied when a node ends.
	unanswered := goleak.IgnoreTopFunction("github.com/hashicorp/raft.(*deferError).Error")
	goleak.VerifyTestMain(m, append(leftByPebble(), probe, unanswered)...)
}

// leftByPebble are the goroutines of a Pebble that is left open because the journal beside it has failed, see TestWritesFail, and those
// that are halted for ever because the disk fails while Pebble is opened.
func leftByPebble() (left []goleak.Option) {
	left = append(left, goleak.IgnoreAnyFunction("github.com/jeton-dev/jeton/storage/database.(*guard).halt"))
	for _, function := range []string{
		".(*cleanupManager).mainLoop",
		".(*ConcurrencyLimitScheduler).periodicGranter",
		"/record.(*LogWriter).flushLoop",
		"/internal/genericcache.(*shard[...]).releaseLoop",
		"/vfs.(*diskHealthCheckingFile).startTicker.func1",
		"/vfs.(*diskHealthCheckingFS).startTickerLocked.func1",
	} {
		left = append(left, goleak.IgnoreAnyFunction("github.com/cockroachdb/pebble/v2"+function))
	}
	return left
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open starts a node that ends with the test.
func open(t *testing.T, cfg node.Config) *node.Node {
	t.Helper()
	n, err := node.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close(context.Background()) }) //nolint:errcheck // a test may have closed it already
	return n
}

// A program that embeds a node needs no network.
func TestEmbedded(t *testing.T) {
	cfg := node.Config{Data: t.TempDir(), Limits: writeFile(t, "limits.yaml", "limits: {demo: {capacity: 2, refill: 1/h}}")}
	n := open(t, cfg)
	if n.GRPCAddr() != "" || n.HTTPAddr() != "" {
		t.Errorf("a node that was not told to listen listens on %q and %q", n.GRPCAddr(), n.HTTPAddr())
	}
	r := limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("demo")}, Cost: 1}
	for i := range 3 {
		if d, err := n.Check(t.Context(), r); err != nil || d.Allowed != (i < 2) {
			t.Errorf("check %d: %+v, %v", i, d, err)
		}
	}
	if err := n.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Check(t.Context(), r); !errors.Is(err, limit.ErrUnavailable) {
		t.Errorf("a check of a closed node: %v", err)
	}
	if err := n.Ready(); err == nil {
		t.Error("a closed node is ready")
	}
	again := open(t, cfg)
	if d, err := again.Check(t.Context(), r); err != nil || d.Allowed {
		t.Errorf("after a restart: %+v, %v, want a denial", d, err)
	}
}

func TestReload(t *testing.T) {
	file := writeFile(t, "limits.yaml", "limits: {a: {capacity: 2, refill: 1/h}}")
	n := open(t, node.Config{Data: t.TempDir(), Limits: file})
	for text, says := range map[string]string{
		"limits:\n  a: {capacity: 3, refill: 1/h}\n  b: {capcity: 3}\n": "line 3: limits.b.capcity",
		"":           "limits: is empty",
		"limits:":    "limits: is empty",
		"limits: {}": "leaves out limits that are in force, a: the old limits stay in force; put them back, or restart the node",
		"limits: {b: {capacity: 3, refill: 1/h}}": "leaves out limits that are in force, a:",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := n.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Reload of %q: %v", text, err)
		}
		if r, ok := n.Limits().Rule("a"); !ok || r.Capacity != 2 {
			t.Errorf("%q has changed the limits: %+v", text, r)
		}
	}
	if err := os.WriteFile(file, []byte("limits: {a: {capacity: 3, refill: 1/h}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, _ := n.Limits().Rule("a"); r.Capacity != 3 {
		t.Errorf("a good file is not in force: %+v", r)
	}
	if err := open(t, node.Config{Data: t.TempDir()}).Reload(t.Context()); err == nil {
		t.Error("Reload without a limits file says nothing")
	}
}

// A reload ends with its context: the node is to stop, whether or not the cluster has agreed.
func TestReloadEndsWithItsContext(t *testing.T) {
	file := writeFile(t, "limits.yaml", "limits: {a: {capacity: 2, refill: 1/h}}")
	n := open(t, node.Config{Data: t.TempDir(), Limits: file, ListenGRPC: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0"})
	if err := os.WriteFile(file, []byte("limits: {a: {capacity: 3, refill: 1/h}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Reload(ctx); err == nil || !strings.Contains(err.Error(), "the old limits stay in force") {
		t.Errorf("Reload after its context has ended: %v", err)
	}
	if r, _ := n.Limits().Rule("a"); r.Capacity != 2 {
		t.Errorf("after its context has ended, a reload has changed the limits: %+v", r)
	}
}

func TestOpenRefuses(t *testing.T) {
	running := node.Config{Data: t.TempDir(), ListenHTTP: "127.0.0.1:0"}
	n := open(t, running)
	newer := t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, "FORMAT"), []byte("jeton 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "holiday.jpg"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		cfg  node.Config
		is   error  // or nil
		want string // in the message
	}{
		{"no directory", node.Config{}, nil, "data: "},
		{"unknown durability", node.Config{Data: t.TempDir(), Durability: "disk"}, nil, "durability"},
		{"address in use", node.Config{Data: t.TempDir(), ListenGRPC: n.HTTPAddr()}, nil, "listen-grpc: " + n.HTTPAddr() + " is in use"},
		{"reachable from outside", node.Config{Data: t.TempDir(), ListenHTTP: "0.0.0.0:0"}, nil, "--insecure"},
		{"not an address", node.Config{Data: t.TempDir(), ListenHTTP: "7702"}, nil, "not host:port"},
		{"data of a running node", node.Config{Data: running.Data}, storage.ErrLocked, running.Data},
		{"data of a newer jeton", node.Config{Data: newer}, storage.ErrNewerFormat, "99"},
		{"a directory of other files", node.Config{Data: foreign}, nil, "holiday.jpg"},
		{"a file for a directory", node.Config{Data: writeFile(t, "file", "")}, storage.ErrUnwritable, "--data"},
		{"bad limits", node.Config{Data: t.TempDir(), Limits: writeFile(t, "l.yaml", "limits:\n  a: {capacity: 0, refill: 1/s}")}, nil, "line 2: limits.a.capacity"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, err := node.Open(tt.cfg)
			if err == nil {
				n.Close(t.Context()) //nolint:errcheck // the test has failed
				t.Fatal("Open says nothing")
			}
			if tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open: %v, want %v with %q", err, tt.is, tt.want)
			}
		})
	}
	if d, err := n.Check(t.Context(), limit.Request{
		Key: "k", Limits: []limit.Ref{limit.Inline(limit.Limit{Name: "x", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: 1e9}})}, Cost: 1,
	}); err != nil || !d.Allowed {
		t.Errorf("the running node after all that: %+v, %v", d, err)
	}
}

// A node that stops says so before anything else, so that no caller sends it more.
func TestReadiness(t *testing.T) {
	n := open(t, node.Config{Data: t.TempDir(), ListenHTTP: "127.0.0.1:0"})
	get := func(path string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.HTTPAddr()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DisableKeepAlives: true}
		res, err := transport.RoundTrip(req)
		if err != nil {
			if _, refused := errors.AsType[*net.OpError](err); refused {
				return 0
			}
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/debug/", "/debug/actors", "/v1/limits"} {
		if got := get(path); got != http.StatusOK {
			t.Errorf("%s: %d", path, got)
		}
	}
	if err := n.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := get("/readyz"); got != 0 {
		t.Errorf("/readyz of a closed node: %d", got)
	}
}

// A caller who never finishes must not keep a node from stopping in good order.
func TestCloseCutsOffWhoNeverFinishes(t *testing.T) {
	n := open(t, node.Config{Data: t.TempDir(), ListenGRPC: "127.0.0.1:0", ListenHTTP: "127.0.0.1:0"})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", n.HTTPAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // it is cut off
	if _, err := conn.Write([]byte("POST /v1/check HTTP/1.1\r\nHost: jeton\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	// The node says so once it waits for the body.
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// A node alone agrees with nobody on a level: its disk is of the newest format. One that the release before has begun stays of its format, and what is
// written there can be read by that release: a bucket's ledger is in tokens.
func TestDiskOfANodeAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		format int
		layout byte
	}{"new": {datadir.NewestFormat, 4}, "begun by the release before": {datadir.LowestFormat, 3}} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			if _, err := datadir.Open(vfs.Default, data, tt.format); err != nil {
				t.Fatal(err)
			}
			if name == "new" {
				data = t.TempDir()
			}
			n := open(t, node.Config{Data: data, Limits: writeFile(t, "limits.yaml", "limits: {pool: {capacity: 10, refill: 1/h, hold: 1m}}")})
			if d, err := n.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("pool")}, Cost: 2, Hold: time.Minute}); err != nil || !d.Allowed {
				t.Fatalf("%+v, %v", d, err)
			}
			if err := n.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if seen, err := datadir.Look(nil, data); err != nil || seen.Format != tt.format {
				t.Errorf("it is seen as %+v: %v", seen, err)
			}
			store, err := storage.Open(storage.Config{Dir: data, Now: func() int64 { return time.Now().UnixNano() }})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close() //nolint:errcheck // it is only read
			found, err := store.Look(t.Context(), ring.PartitionOf(ring.Hash("k"), ring.DefaultPartitions), "k", "pool@bucket")
			if err != nil || !found.Exists || found.Register.Ledger[0] != tt.layout {
				t.Errorf("the bucket is stored as %+v, %v, want a ledger of layout %d", found, err, tt.layout)
			}
		})
	}
}

// A member of a cluster that is started alone would decide for itself what its cluster decides together.
func TestMemberIsNotStartedAlone(t *testing.T) {
	data := t.TempDir()
	n := open(t, node.Config{
		Data: data, ListenGRPC: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
	})
	if err := n.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	alone, err := node.Open(node.Config{Data: data})
	if err == nil {
		alone.Close(t.Context()) //nolint:errcheck // the test has failed
		t.Fatal("it decides alone")
	}
	if !strings.Contains(err.Error(), "belongs to a node of a cluster: give --listen-gossip") {
		t.Errorf("Open: %v", err)
	}
}
