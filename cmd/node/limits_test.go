package node

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestLimitsFileThatDiffers: a node that is started with another limits file than the cluster has in force names the limits, and
// goes by the cluster's.
func TestLimitsFileThatDiffers(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "limits.yaml")
	start := func(limits string) (lines string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
			t.Fatal(err)
		}
		said := make(logged, 1000)
		n, err := Open(Config{
			Name: "one", Data: data, Limits: file, Logger: slog.New(slog.NewTextHandler(said, nil)),
			ListenGRPC: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
		})
		if err != nil {
			t.Fatal(err)
		}
		if rule, ok := n.Limits().Rule("same"); !ok || rule.Capacity != 1 {
			t.Errorf("the cluster's limits are not in force: %v", rule)
		}
		if err := n.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for {
			select {
			case line := <-said:
				if strings.Contains(line, "the limits file differs") {
					lines += line
				}
			default:
				return lines
			}
		}
	}
	const before = "limits: {same: {capacity: 1, refill: 1/s}, changed: {capacity: 1, refill: 1/s}, gone: {capacity: 1, refill: 1/s}}"
	if said := start(before); said != "" {
		t.Errorf("the founder of the cluster: %s", said)
	}
	if said := start(before); said != "" {
		t.Errorf("with the same file: %s", said)
	}
	said := start("limits: {same: {capacity: 1, refill: 1/s}, changed: {capacity: 2, refill: 1/s}, new: {capacity: 1, refill: 1/s}}")
	if !strings.Contains(said, "level=WARN") || !strings.Contains(said, "limits=\"[changed gone new]\"") || !strings.Contains(said, file) {
		t.Errorf("with another file: %q", said)
	}
}

// TestWrongLimitsFile: a member starts without a limits file that is wrong, and logs what is wrong, since the cluster's limits rule. A
// node without a cluster refuses to start.
func TestWrongLimitsFile(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "limits.yaml")
	start := func(data, gossip string, join ...string) (n *Node, said string, err error) {
		t.Helper()
		lines := make(logged, 1000)
		n, err = Open(Config{
			Name: "one", Data: data, Limits: file, Logger: slog.New(slog.NewTextHandler(lines, nil)), Join: join,
			ListenGRPC: "127.0.0.1:0", ListenGossip: gossip, ListenRaft: gossip,
		})
		if err == nil {
			err = n.Close(t.Context())
		}
		for len(lines) > 0 {
			said += <-lines
		}
		return n, said, err
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const loopback = "127.0.0.1:0"
	write("limits: {a: {capacity: 1, refill: 1/s}}")
	if _, _, err := start(data, loopback); err != nil {
		t.Fatal(err)
	}
	missing := func() {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	for what, spoil := range map[string]func(){
		"refill":       func() { write("limits: {a: {capacity: 1, refill: 1/q}}") },
		"no such file": missing,
	} {
		spoil()
		n, said, err := start(data, loopback)
		if err != nil {
			t.Fatalf("%s: a member does not start: %v", what, err)
		}
		if rule, ok := n.Limits().Rule("a"); !ok || rule.Capacity != 1 {
			t.Errorf("%s: the cluster's limits are not in force: %v", what, rule)
		}
		if !strings.Contains(said, "level=ERROR") || !strings.Contains(said, file) || !strings.Contains(said, what) || strings.Contains(said, "differs") {
			t.Errorf("%s: it is logged that %s", what, said)
		}
		for alone, gossip := range map[string]string{"alone": "", "a founder": loopback} {
			if _, _, err := start(t.TempDir(), gossip); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %s starts: %v", what, alone, err)
			}
		}
		if _, _, err := start(t.TempDir(), loopback, "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: an empty node that is to join starts: %v", what, err)
		}
	}
	if err := Renew(vfs.Default, data); err != nil {
		t.Fatal(err)
	}
	if _, said, err := start(data, loopback, "127.0.0.1:1"); err != nil || !strings.Contains(said, file) {
		t.Errorf("a member that has deleted an old copy of its data does not start: %v; it is logged that %s", err, said)
	}
}

// TestAJoiningNodeRemovesNoLimits reloads a file that leaves out limits at a node that has not heard which are in force: they stay.
func TestAJoiningNodeRemovesNoLimits(t *testing.T) {
	start := func(name, limits string, join ...string) *Node {
		t.Helper()
		file := filepath.Join(t.TempDir(), "limits.yaml")
		if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := Open(Config{
			Name: name, Data: t.TempDir(), Limits: file, Logger: slog.New(slog.DiscardHandler), Join: join,
			ListenGRPC: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return n
	}
	a := start("a", "limits: {kept: {capacity: 1, refill: 1/s}, gone: {capacity: 1, refill: 1/s}}")
	b := start("b", "limits: {kept: {capacity: 1, refill: 1/s}}", a.GossipAddr())
	if err := b.Reload(t.Context()); err == nil {
		t.Error("a limits file is in force that leaves out limits")
	} else if !strings.Contains(err.Error(), "gone") && !strings.Contains(err.Error(), "stay in force") {
		t.Errorf("Reload: %v", err)
	}
	if _, ok := a.Limits().Rule("gone"); !ok || a.member.cluster.State().LimitsVersion != 1 {
		t.Error("the limit is gone")
	}
}

// TestReloadOfWhatIsInForce: a node that reads its limits file again, and finds the limits in force, logs that nothing changes and makes
// no new version, even if the file is formatted differently.
func TestReloadOfWhatIsInForce(t *testing.T) {
	for name, gossip := range map[string]string{"alone": "", "in a cluster": "127.0.0.1:0"} {
		file, said := filepath.Join(t.TempDir(), "limits.yaml"), make(logged, 1000)
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("limits: {a: {capacity: 1, refill: 1/s}}")
		n, err := Open(Config{
			Name: "one", Data: t.TempDir(), Limits: file, Logger: slog.New(slog.NewTextHandler(said, nil)),
			ListenGRPC: "127.0.0.1:0", ListenGossip: gossip, ListenRaft: gossip,
		})
		if err != nil {
			t.Fatal(err)
		}
		write("# another comment\nlimits:\n  a: {refill: 1/s, capacity: 1}\n")
		if err := n.Reload(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n.member != nil && n.member.cluster.State().LimitsVersion != 1 {
			t.Errorf("%s: version %d is in force", name, n.member.cluster.State().LimitsVersion)
		}
		if err := n.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		told := false
		for len(said) > 0 {
			told = strings.Contains(<-said, "the limits file equals the limits in force: nothing changes") || told
		}
		if !told {
			t.Errorf("%s: it is not told that nothing changes", name)
		}
	}
}

// TestNodeWithoutLimits: a node that starts without limits logs how to apply some.
func TestNodeWithoutLimits(t *testing.T) {
	said := make(logged, 1000)
	n, err := Open(Config{
		Name: "one", Data: t.TempDir(), Logger: slog.New(slog.NewTextHandler(said, nil)),
		ListenGRPC: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	warned := 0
	for len(said) > 0 {
		if line := <-said; strings.Contains(line, "level=WARN") && strings.Contains(line, "no limits are in force") && strings.Contains(line, "jeton limits apply -f") {
			warned++
		}
	}
	if warned != 1 {
		t.Errorf("it is told %d times", warned)
	}
}
