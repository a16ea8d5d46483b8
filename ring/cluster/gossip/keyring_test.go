package gossip

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/ring/level"
)

// A keyed is a gossip whose key follows a file.
type keyed struct {
	*Gossip
	t    *testing.T
	key  *key.Key
	path string
}

// startKeyed starts one, which ends with the test.
func startKeyed(t *testing.T, id byte, keys string) *keyed {
	t.Helper()
	k := &keyed{t: t, path: filepath.Join(t.TempDir(), "key")}
	k.write(keys)
	var err error
	if k.key, err = key.Read(k.path, false); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	wire, err := Bind(BindConfig{Address: "127.0.0.1:0", Bounds: bound.Config{Name: "gossip", Logger: log}, Key: k.key})
	if err != nil {
		t.Fatal(err)
	}
	k.Gossip = New(Config{
		ID: ring.NodeID{id}, Own: NodeMeta{Level: level.First, Partitions: 1, Name: string('a' + rune(id))},
		Wire: wire, Key: k.key, Twin: func() {}, Logger: log,
	})
	if err := k.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func (k *keyed) write(keys string) {
	k.t.Helper()
	if err := os.WriteFile(k.path, []byte(keys), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// put has it follow other keys.
func (k *keyed) put(keys string) {
	k.t.Helper()
	k.write(keys)
	if changed, err := k.key.Reload(); err != nil || !changed {
		k.t.Fatalf("changed: %v, %v", changed, err)
	}
}

// joins says whether a node is let in by another one.
func (k *keyed) joins(other *keyed) bool {
	n, err := k.list.Load().Join([]string{other.wire.Address()})
	return n == 1 && err == nil
}

// Two nodes gossip on while their key is replaced, step by step; a third one that has only the old key is let in as long as it is
// accepted and shown, and not afterwards.
func TestGossipFollowsTheKey(t *testing.T) {
	const old, next = "the secret of this cluster", "the secret that comes next"
	a, b := startKeyed(t, 1, old), startKeyed(t, 2, old)
	if !b.joins(a) {
		t.Fatal("nodes with the same key do not meet")
	}
	for step, keys := range []string{old + "\n---\n" + next, next + "\n---\n" + old, next} {
		for _, g := range []*keyed{a, b} {
			g.put(keys)
			if !a.joins(b) || !b.joins(a) {
				t.Errorf("step %d: one node has taken it, and they understand each other no more", step+1)
			}
		}
		if in := startKeyed(t, byte(10+step), old).joins(a); in != (step == 0) {
			t.Errorf("step %d: a node with the old key alone is let in: %v", step+1, in)
		}
		if !startKeyed(t, byte(20+step), next+"\n---\n"+old).joins(a) {
			t.Errorf("step %d: a node with both keys is not let in", step+1)
		}
	}
	if a.key.Uses()[0].Times[key.OverGossip] == 0 {
		t.Error("no message that is sealed with the next key was counted")
	}
	if n := len(a.list.Load().Members()); n < 2 {
		t.Errorf("%d members", n)
	}
}
