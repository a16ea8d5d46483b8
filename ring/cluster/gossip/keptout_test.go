package gossip

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/lograte"
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
		later := node(4, `{"v":1,"c":"c1","n":"d"}`)
		later.Addr = b.Addr
		if err := g.NotifyAlive(b); err == nil {
			t.Error("b is let in")
		}
		g.noteNode(later, true) // and then what b has said comes once more
		if g.NotifyAlive(b) == nil || len(g.KeptOut()) > 0 {
			t.Errorf("a node of the cluster is at the address of b, and kept out are %+v", g.KeptOut())
		}
		g.noteNode(later, false)
		empty := node(9, `{"v":1,"n":"b"}`) // the disk was emptied: another node at that address
		empty.Addr = b.Addr
		if err := g.NotifyAlive(empty); err != nil || len(g.KeptOut()) > 0 {
			t.Errorf("b joins: %v, kept out: %+v", err, g.KeptOut())
		}
	})
}

// However many nodes are kept out, only so many are remembered.
func TestKeptOutHasABound(t *testing.T) { synctest.Test(t, keptOutHasABound) }

func keptOutHasABound(t *testing.T) {
	g := New(Config{Own: NodeMeta{Level: 1, Cluster: "c1"}, Logger: slog.New(slog.DiscardHandler)})
	meet := func(i int) {
		_ = g.NotifyAlive(&memberlist.Node{Name: ring.NodeID{byte(i), byte(i >> 8)}.String(), Meta: []byte(`{"v":1,"c":"c2"}`)}) //nolint:gosec // it is no secret
	}
	for i := range 10 * maxKeptOut {
		meet(i)
	}
	if n := len(g.KeptOut()); n != maxKeptOut {
		t.Errorf("%d are remembered, want %d", n, maxKeptOut)
	}
	<-time.After(keptOutFor / 2)
	meet(1) // one of them is met again
	<-time.After(keptOutFor/2 + time.Second)
	if n := len(g.KeptOut()); n != 1 {
		t.Errorf("%d are remembered when one was met again, want 1", n)
	}
}

// However many nodes somebody invents, the log has a line of them in half a minute.
func TestKeptOutIsLoggedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := New(Config{Own: NodeMeta{Level: 1, Cluster: "c1"}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for round := 1; round <= 2; round++ {
			for i := range 100 {
				_ = g.NotifyAlive(&memberlist.Node{Name: ring.NodeID{byte(i), byte(round)}.String(), Meta: []byte(`{"v":1,"c":"c2"}`)}) //nolint:gosec // it is no secret
			}
			if n := strings.Count(log.String(), "\n"); n != round {
				t.Errorf("%d lines of %d times a hundred nodes", n, round)
			}
			<-time.After(lograte.Interval)
		}
	})
}
