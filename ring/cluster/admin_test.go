package cluster

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
	"github.com/jeton-dev/jeton/ring/cluster/joining"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/level"
)

func TestLimitsAreSetFromAnyNode(t *testing.T) {
	wrong := errors.New("line 3: no such algorithm")
	r := newRig(t)
	all := expecting(3, r.chairs(3)...)
	for _, ch := range all {
		ch.config.Check = func(limits []byte) (int, error) {
			if strings.Contains(string(limits), "wrong") {
				return 0, wrong
			}
			return level.First, nil
		}
	}
	startAll(all...)
	for i, ch := range all {
		now := uint64(i + 1)
		v, err := ch.cluster.SetLimits(t.Context(), now, []byte("limits of "+ch.config.Name))
		if err != nil || v != now+1 || string(ch.cluster.State().Limits) != "limits of "+ch.config.Name {
			t.Errorf("node %s has set version %d: %v", ch.config.Name, v, err)
		}
		if _, err := ch.cluster.SetLimits(t.Context(), now, []byte("others")); !errors.Is(err, agreed.ErrStale) {
			t.Errorf("an old version is replaced: %v", err)
		}
		if _, err := ch.cluster.SetLimits(t.Context(), 0, []byte("others")); !errors.Is(err, agreed.ErrStale) {
			t.Errorf("limits are replaced by who has not heard of any: %v", err)
		}
		if _, err := ch.cluster.SetLimits(t.Context(), 0, []byte("wrong")); !errors.Is(err, agreed.ErrInvalid) || !errors.Is(err, wrong) {
			t.Errorf("wrong limits are set: %v", err)
		}
		if _, err := ch.cluster.Drain(t.Context(), "nobody"); !errors.Is(err, agreed.ErrUnknownNode) {
			t.Errorf("nobody is drained: %v", err)
		}
		if err := ch.cluster.Remove(t.Context(), "a", false); !errors.Is(err, agreed.ErrTooFew) {
			t.Errorf("one of three is removed: %v", err)
		}
		if _, err := ch.cluster.Drain(t.Context(), "a"); !errors.Is(err, agreed.ErrTooFew) || !strings.Contains(err.Error(), "3 replicas") {
			t.Errorf("one of three is drained: %v", err)
		}
		if err := ch.cluster.Undrain(t.Context(), "a"); err != nil {
			t.Errorf("what is not drained: %v", err)
		}
	}
}

// What any node has used is known at every node; who is down is named.
func TestLimitsUsed(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(3)...)
	all[1].config.Used = func() map[string]time.Duration {
		return map[string]time.Duration{"login": time.Minute, "api": time.Second}
	}
	all[2].config.Used = func() map[string]time.Duration { return map[string]time.Duration{"login": time.Second} }
	startAll(all...)
	knows := func(ch *chair, want map[string]time.Duration, silent ...string) {
		ch.soon("what was used is known", func() bool { // a node that takes a second for its answer is silent
			used, not := ch.cluster.LimitsUsed(t.Context())
			known := maps.Equal(used, want) && slices.Equal(not, silent)
			if !known {
				t.Logf("node %s knows of %v, and not of %q", ch.config.Name, used, not)
			}
			return known
		})
	}
	for _, ch := range all {
		knows(ch, map[string]time.Duration{"login": time.Second, "api": time.Second})
	}
	all[2].stop()
	knows(all[0], map[string]time.Duration{"login": time.Minute, "api": time.Second}, all[2].config.Name)
}

func TestNoLeader(t *testing.T) {
	all := trio(t)
	all[0].stop()
	all[1].stop()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		all[2].says("waiting for the cluster to have a leader")
		cancel()
	}()
	if _, err := all[2].cluster.SetLimits(ctx, 0, []byte("x")); !errors.Is(err, message.ErrNoLeader) {
		t.Errorf("without a leader: %v", err)
	}
}

func TestStatus(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(3)...)
	reg := prometheus.NewRegistry()
	all[0].config.Metrics, all[0].config.Zone = reg, "east"
	startAll(all...)
	leads := func(n NodeStatus) bool { return n.Role == "leader" }
	var s Status
	all[0].soon("the leader is known and answers", func() bool { // another one may begin to lead at any time
		s = all[0].cluster.Status(t.Context())
		return s.Leader != "" && s.Moves.Phases != nil && slices.ContainsFunc(s.Nodes, leads)
	})
	if s.Cluster != one(all...).String() || s.Node != "a" || len(s.Nodes) != 3 || s.LowestEpoch != 1 || s.HighestEpoch != 1 ||
		s.Replicas != 3 || s.Partitions != 7 || s.Moves.Left != 0 || s.LimitsVersion != 1 {
		t.Errorf("%+v", s)
	}
	leaders, owned := 0, 0
	for _, n := range s.Nodes {
		if leads(n) {
			leaders++
		}
		owned += n.Owner
		if n.Replica != 7 || n.Name == "a" && n.Zone != "east" {
			t.Errorf("%+v", n)
		}
	}
	if leaders != 1 || owned != 7 {
		t.Errorf("%d leaders, %d partitions owned: %+v", leaders, owned, s)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			values[f.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	if values["jeton_cluster_nodes"] != 3 || values["jeton_cluster_state_changes_total"] < 1 || values["jeton_cluster_messages_total"] < 1 {
		t.Errorf("metrics %v", values)
	}
	all[0].stop()
	startAll(all[0]) // with the same registry
}

func TestConfigIsChecked(t *testing.T) {
	r := newRig(t)
	good := r.chair("a", 1).config
	for want, spoil := range map[string]func(*Config){
		"directory":       func(c *Config) { c.Dir = "" },
		"id":              func(c *Config) { c.ID = ring.NodeID{} },
		"--node-name":     func(c *Config) { c.Name = strings.Repeat("n", 64) },
		"Peers":           func(c *Config) { c.Now = nil },
		"1, 3 or 5 nodes": func(c *Config) { c.Expect = 4 },
		"2 replicas":      func(c *Config) { c.Replicas = 2 },
		"partitions":      func(c *Config) { c.Partitions = 70000 },
		"not raised":      func(c *Config) { c.MarkBefore = c.Mark },
		"--join":          func(c *Config) { c.Join = []string{"nohost"} },
		"--listen-raft":   func(c *Config) { c.BindRaft = "7703" },
		"--listen-gossip": func(c *Config) { c.BindGossip = "192.0.2.1:1" },
		"--advertise":     func(c *Config) { c.GRPC = "" },
		"bytes too long":  func(c *Config) { c.GRPC = strings.Repeat("g", 500) },
		"--limits":        func(c *Config) { c.Check = func([]byte) (int, error) { return 0, errors.New("wrong") } },
	} {
		c := good
		spoil(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	c, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", c.GossipAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := errors.Join(c.Close(), c.Close()); err != nil { // nobody has taken the connection
		t.Error(err)
	}
	if err := c.Run(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("closed, it runs: %v", err)
	}
	if _, err := c.Handle(t.Context(), []byte(`{"kind":"ping","body":{}}`)); !errors.Is(err, ErrClosed) {
		t.Errorf("closed, it answers: %v", err)
	}
}

func TestErrorsCrossTheWire(t *testing.T) {
	r := newRig(t)
	ch := r.chair("a", 1)
	c, err := New(ch.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r.fabric.plug("a", c)
	_, err = message.Call[agreed.Node](t.Context(), r.fabric, "a", message.KindPromise, joining.PromiseRequest{Promise: joining.Promise{Founder: agreedtest.ID(1), Attempt: 1}, Expect: 3})
	if !errors.Is(err, agreed.ErrInvalid) || message.Unanswered(err) || !strings.Contains(err.Error(), "expects") {
		t.Errorf("a refusal arrives as %v", err)
	}
	if _, err = message.Call[message.Nothing](t.Context(), r.fabric, "nobody", message.KindPing, message.Nothing{}); !message.Unanswered(err) {
		t.Errorf("silence arrives as %v", err)
	}
	if _, err = message.Call[message.Nothing](t.Context(), r.fabric, "a", message.KindLead, message.LeadRequest{Message: message.Message{Kind: message.KindMoves}}); !errors.Is(err, message.ErrNoLeader) {
		t.Errorf("a node that does not lead answers %v", err)
	}
	for _, text := range []string{"", "{", `{"kind":"unknown"}`} {
		if _, err := c.Handle(t.Context(), []byte(text)); !errors.Is(err, agreed.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzHandle(f *testing.F) {
	f.Add([]byte(`{"kind":"ping","body":{}}`))
	f.Add([]byte(`{"kind":"marks","body":{"id":"00000000000000000000000000000001"}}`))
	f.Add([]byte(`{"kind":"lead","body":{"kind":"join","body":{},"direct":true}}`))
	f.Add([]byte(`{"kind":"release","body":null}`))
	ch := &chair{logs: &logbook{changed: make(chan struct{})}}
	c, err := New(Config{
		Dir: f.TempDir(), ID: agreedtest.ID(1), Name: "a", GRPC: "a", BindGossip: "127.0.0.1:0", BindRaft: "127.0.0.1:0",
		Mark: agreed.Mark{Boot: 1}, Peers: &fabric{}, Now: func() int64 { return 1 }, Advance: func(int64) {},
	})
	if err != nil {
		f.Fatal(err, ch.logs)
	}
	f.Cleanup(func() { _ = c.Close() })
	f.Fuzz(func(t *testing.T, text []byte) {
		if reply, err := c.Handle(t.Context(), text); err == nil && len(reply) == 0 {
			t.Errorf("%q has no answer", text)
		}
	})
}

func TestRecoverAfterTheMajorityIsLost(t *testing.T) {
	all := expecting(5, newRig(t).chairs(5)...)
	startAll(all...)
	a, b := all[1], all[0] // b has founded the cluster, and must not do it again
	before := one(all...)
	if _, err := a.cluster.Recover(t.Context(), []string{"c"}); !errors.Is(err, message.ErrAlive) {
		t.Errorf("a node that answers is lost: %v", err)
	}
	newest := uint64(0)
	for _, ch := range all { // whoever knows less than another one cannot recover
		newest = max(newest, ch.cluster.State().Version)
	}
	for _, ch := range all {
		ch.sees("what was agreed", func(s *agreed.State) bool { return s.Version >= newest })
	}
	for _, ch := range all[2:] {
		ch.stop()
	}
	if _, err := a.cluster.Recover(t.Context(), []string{"c", "d"}); !errors.Is(err, message.ErrUnreachable) {
		t.Errorf("a node that is not said to be lost is silent: %v", err)
	}
	known := a.cluster.State().Table.Places
	done := recovered(t, []*chair{a, b}, all[2:]...)
	if done.Floored != len(known) || done.Moved != 0 {
		t.Errorf("%+v, and raft has lost its majority: nobody knows what was accepted in any of %d partitions", done, len(known))
	}
	for _, ch := range []*chair{a, b} {
		s := ch.sees("two are left", func(s *agreed.State) bool { return len(s.Nodes) == 2 && len(s.Removed) == 3 })
		for p, place := range s.Table.Places {
			if !place.Floored || place.Epoch <= known[p].Epoch {
				t.Errorf("partition %d is in %+v, and was in epoch %d", p, place, known[p].Epoch)
			}
		}
	}
	if _, err := b.cluster.SetLimits(t.Context(), b.cluster.State().LimitsVersion, []byte("after")); err != nil {
		t.Error(err)
	}
	if log := a.cluster.Audit(0).Entries; len(log) < 2 || log[0].Verb != "recover" || !strings.Contains(log[0].Detail, "begin again with a floor") {
		t.Errorf("the audit log is %+v", log)
	}
	if after := one(a, b); after != before {
		t.Errorf("it is cluster %s, and was %s", after, before)
	}
	b.stop()
	startAll(b)
	if again, err := a.cluster.Recover(t.Context(), []string{"c", "d", "e"}); err != nil || again.Floored != 0 {
		t.Errorf("once more: %+v, %v", again, err)
	}
	all[2].start()
	all[2].ends(agreed.ErrRemoved)
}

// All five have stopped, and three are lost for ever: the two that are started again ask in vain whether their disks are old
// copies. Whoever recovers says that nobody is left to ask, and nothing that they keep counts as known.
func TestRecoverWithoutProof(t *testing.T) {
	all := expecting(5, newRig(t).chairs(5)...)
	startAll(all...)
	known := one(all...)
	for _, ch := range all {
		ch.stop()
	}
	for _, ch := range all[:2] {
		ch.start()
	}
	for _, ch := range all[:2] {
		ch.says("waiting for a majority")
	}
	done := recovered(t, all[:2], all[2:]...)
	for _, ch := range all[:2] {
		s := ch.sees("two are left", func(s *agreed.State) bool { return len(s.Nodes) == 2 && len(s.Removed) == 3 })
		floored := 0
		for _, place := range s.Table.Places {
			if place.Floored {
				floored++
			}
		}
		if floored != len(s.Table.Places) || floored != done.Floored {
			t.Errorf("%d of %d partitions have a floor, and %d were said to", floored, len(s.Table.Places), done.Floored)
		}
		select {
		case <-ch.cluster.Joined():
		case <-time.After(long):
			t.Fatalf("node %s does not join\n%s", ch.config.Name, ch.logs)
		}
	}
	if after := one(all[:2]...); after != known {
		t.Errorf("it is cluster %s, and was %s", after, known)
	}
	if again := recovered(t, all[:2], all[2:]...); again.Floored != 0 {
		t.Errorf("once more: %+v", again)
	}
}
