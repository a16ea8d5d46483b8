package gossip

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/jeton-dev/jeton/ring"
)

// A node that cannot be in the cluster is told of as long as it is met, and no longer.
func TestKeptOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{Own: NodeMeta{Level: 1, Cluster: "c1"}, Logger: slog.New(slog.DiscardHandler)})
		node := func(i byte, meta string) *memberlist.Node {
			return &memberlist.Node{Name: ring.NodeID{i}.String(), Addr: []byte{10, 0, 0, i}, Port: 7701, Meta: []byte(meta)}
		}
		b, c := node(2, `{"v":1,"c":"c2","n":"b"}`), node(3, `{"v":1,"c":"c2","n":"c"}`)
		for _, n := range []*memberlist.Node{c, b} {
			if g.NotifyAlive(n) == nil {
				t.Errorf("%s is let in", n.Name)
			}
		}
		got := g.KeptOut()
		if len(got) != 2 || got[0].Name != "b" || got[0].Address != "10.0.0.2:7701" || got[0].Cluster != "c2" || got[1].Name != "c" {
			t.Errorf("kept out: %+v", got)
		}
		<-time.After(keptOutFor)
		if g.NotifyAlive(b) == nil {
			t.Error("b is let in")
		}
		<-time.After(keptOutFor)
		if got := g.KeptOut(); len(got) != 1 || got[0].Name != "b" {
			t.Errorf("c is not met any more, and kept out are %+v", got)
		}
		empty := node(9, `{"v":1,"n":"b"}`) // the disk was emptied: another node at that address
		empty.Addr = b.Addr
		if err := g.NotifyAlive(empty); err != nil || len(g.KeptOut()) > 0 {
			t.Errorf("b joins: %v, kept out: %+v", err, g.KeptOut())
		}
	})
}

// However many nodes are kept out, only so many are remembered.
func TestKeptOutHasABound(t *testing.T) {
	g := New(Config{Own: NodeMeta{Level: 1, Cluster: "c1"}, Logger: slog.New(slog.DiscardHandler)})
	for i := range 10 * maxKeptOut {
		_ = g.NotifyAlive(&memberlist.Node{Name: ring.NodeID{byte(i), byte(i >> 8)}.String(), Meta: []byte(`{"v":1,"c":"c2"}`)}) //nolint:gosec // it is no secret
	}
	if n := len(g.KeptOut()); n != maxKeptOut {
		t.Errorf("%d are remembered, want %d", n, maxKeptOut)
	}
}
