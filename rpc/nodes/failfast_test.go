package nodes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// TestHopeless judges every combination of how the two replicas of a key do: only when both are bad, a check is not worth
// sending; and without FailFast always.
func TestHopeless(t *testing.T) {
	for _, failFast := range []bool{true, false} {
		s, err := New(Config{Servers: []string{"127.0.0.1:1", "127.0.0.1:2"}, FailFast: failFast})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil { // or connections that are refused would judge the nodes, too
			t.Fatal(err)
		}
		const key = "user:42"
		for _, first := range []state{good, suspect, bad} {
			for _, second := range []state{good, suspect, bad} {
				s.servers[0].health.level.Store(int32(first))
				s.servers[1].health.level.Store(int32(second))
				want := failFast && first == bad && second == bad
				if c := s.callCheck(t.Context(), key, false); (c.hopeless() != nil) != want {
					t.Errorf("fail fast %v, states %d and %d: hopeless %v", failFast, first, second, !want)
				}
			}
		}
		s.table.Store(&table{})
		if c := s.callCheck(t.Context(), key, false); c.hopeless() != nil {
			t.Error("hopeless without a node: there is another error for that")
		}
	}
}

// TestUnsentSaysWhy: the error of a check that is not sent names every replica, and what is wrong with it.
func TestUnsentSaysWhy(t *testing.T) {
	s, err := New(Config{Servers: []string{"127.0.0.1:1", "127.0.0.1:2"}, FailFast: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // or a connection that is refused would be a reason, too
		t.Fatal(err)
	}
	for i, why := range []error{fmt.Errorf("%w: cannot connect: connection refused", limit.ErrUnavailable), errSilent} {
		h := s.servers[i].health
		h.mu.Lock()
		h.why = why
		h.mu.Unlock()
	}
	c := s.callCheck(t.Context(), "user:42", false)
	err = c.unsent(c.seats())
	if !errors.Is(err, limit.ErrUnavailable) {
		t.Errorf("it is %v", err)
	}
	for _, want := range []string{"every replica of the key is down", "node at 127.0.0.1:1: cannot connect: connection refused", "node at 127.0.0.1:2: the node does not answer"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// A check is refused by one table, while the next one makes this node a replica: the error still tells why.
func TestRefusedWhileTheTableChanges(t *testing.T) {
	own, other := ring.NodeID{1}, ring.NodeID{2}
	s, err := New(Config{Own: &Own{ID: own, Limiter: struct{ limit.Limiter }{}}, FailFast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	apply := func(version uint64, replicas ...ring.NodeID) {
		t.Helper()
		v := &pb.View{
			Version: version, Nodes: []pb.Node{{ID: own, GRPC: "127.0.0.1:1"}, {ID: other, GRPC: "127.0.0.1:2"}},
			Table: &ring.Table{Places: []ring.Place{{Epoch: version, Replicas: replicas}}},
		}
		if !s.Apply(v) {
			t.Fatalf("table %d is not taken", version)
		}
	}
	apply(1, other)
	s.table.Load().places[0][0].health.fail(errors.New("gone"))
	c := s.callCheck(t.Context(), "k", false)
	down := c.hopeless()
	apply(2, own, other)
	for what, err := range map[string]error{"by the first table": c.unsent(down), "by the next table": c.unsent(c.seats())} {
		if text := err.Error(); !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(text, "127.0.0.1:2") {
			t.Errorf("%s: %s", what, text)
		}
	}
}
