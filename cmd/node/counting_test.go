package node

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// TestCountingThroughANode takes the algorithms that count entries through a whole node, and a start of it anew: what was admitted still
// counts, permits are extended and come back, a look takes nothing, and pages show what there is.
func TestCountingThroughANode(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "limits.yaml")
	const limits = `limits:
  smooth:   {algorithm: sliding-window, limit: 3, window: 1h}
  weighted: {algorithm: sliding-window, limit: 3, window: 1h, weighted: true}
  exact:    {algorithm: sliding-log, limit: 3, window: 1h}
  streams:  {algorithm: concurrency, limit: 3, lease: 1h}
  demo:     {capacity: 3, refill: 3/1h}
`
	if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *Node {
		t.Helper()
		n, err := Open(Config{
			Name: "one", Data: data, Limits: file, Logger: slog.New(slog.DiscardHandler),
			ListenGRPC: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	stop := func(n *Node) {
		t.Helper()
		if err := n.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(n *Node, r limit.Request) limit.Decision {
		t.Helper()
		r.Key, r.Receipt = "user:42", !r.Look
		d, err := n.Check(t.Context(), r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		return d
	}
	names := []string{"smooth", "weighted", "exact", "streams"}
	n := start()
	for _, name := range names {
		one := []limit.Ref{limit.Named(name)}
		for left := int64(2); left >= 1; left-- {
			if d := ask(n, limit.Request{Limits: one}); !d.Allowed || d.Limits[0].Remaining != left {
				t.Fatalf("%s: got %+v, want %d left", name, d, left)
			}
		}
		if d := ask(n, limit.Request{Limits: one, Look: true}); !d.Allowed || d.Limits[0].Remaining != 1 {
			t.Errorf("%s: a look shows %+v", name, d)
		}
	}
	stop(n)
	n = start()
	defer func() { stop(n) }()
	var permit limit.Receipt
	for _, name := range names {
		both := []limit.Ref{limit.Named(name), limit.Named("demo")}
		d := ask(n, limit.Request{Limits: both[:1]})
		if !d.Allowed || len(d.Receipts) != 1 {
			t.Fatalf("%s: the third got %+v", name, d)
		}
		permit = d.Receipts[0]
		if d := ask(n, limit.Request{Limits: both}); d.Allowed || d.Limits[0].Allowed || d.Limits[0].RetryAfter <= 0 || !d.Limits[1].Allowed || d.Limits[1].Remaining != 3 {
			t.Errorf("%s: the fourth got %+v", name, d)
		}
		if in, err := n.Inspect(t.Context(), "user:42", both[0], ""); err != nil || in.Tokens != 0 || len(in.Ledger) == 0 {
			t.Errorf("%s looks like %+v, %v", name, in, err)
		}
	}
	streams := []limit.Ref{limit.Named("streams")}
	longer := ask(n, limit.Request{Limits: streams, Extend: permit.Serial})
	if !longer.Allowed || longer.Receipts[0].Serial != permit.Serial || longer.Receipts[0].End <= permit.End {
		t.Errorf("%+v was extended to %+v", permit, longer)
	}
	if d := ask(n, limit.Request{Limits: streams, Extend: 7}); d.Allowed {
		t.Error("a permit that nobody has was extended")
	}
	if back, err := n.Return(t.Context(), "user:42", longer.Receipts); err != nil || !back[0] {
		t.Errorf("the permit came back: %v, %v", back, err)
	}
	if d := ask(n, limit.Request{Limits: streams}); !d.Allowed {
		t.Errorf("its place is not free: %+v", d)
	}
	var wrong *limit.FieldError
	if _, err := n.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("smooth")}, Extend: 7}); !errors.As(err, &wrong) || wrong.Field != "extend" {
		t.Errorf("extending what has no permits: %v", err)
	}
	if err := n.Reset(t.Context(), "user:42", streams[0]); !errors.As(err, &wrong) || wrong.Field != "limit" {
		t.Errorf("a reset of permits: %v", err)
	}
	if err := n.Reset(t.Context(), "user:42", limit.Named("smooth")); err != nil {
		t.Error(err)
	}
	if d := ask(n, limit.Request{Limits: []limit.Ref{limit.Named("smooth")}, Cost: 3}); !d.Allowed {
		t.Errorf("after a reset: %+v", d)
	}
}
