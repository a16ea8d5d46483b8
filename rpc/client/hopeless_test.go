package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
)

// TestHopeless judges every combination of how the two replicas of a key do: only when both are bad, a check is not worth
// sending; and without FailFast always.
func TestHopeless(t *testing.T) {
	for _, failFast := range []bool{true, false} {
		c, err := New(Config{Servers: []string{"127.0.0.1:1", "127.0.0.1:2"}, FailFast: failFast})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil { // or connections that are refused would judge the nodes, too
			t.Fatal(err)
		}
		const key = "user:42"
		for _, first := range []standing{good, suspect, bad} {
			for _, second := range []standing{good, suspect, bad} {
				c.servers[0].health.level.Store(int32(first))
				c.servers[1].health.level.Store(int32(second))
				want := failFast && first == bad && second == bad
				if w := c.startCheck(t.Context(), key); w.hopeless() != want {
					t.Errorf("fail fast %v, standings %d and %d: hopeless %v", failFast, first, second, !want)
				}
			}
		}
		c.table.Store(&table{})
		if w := c.startCheck(t.Context(), key); w.hopeless() {
			t.Error("hopeless without a node: there is another error for that")
		}
	}
}

// TestUnsentSaysWhy: the error of a check that is not sent names every replica, and what is wrong with it.
func TestUnsentSaysWhy(t *testing.T) {
	c, err := New(Config{Servers: []string{"127.0.0.1:1", "127.0.0.1:2"}, FailFast: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil { // or a connection that is refused would be a reason, too
		t.Fatal(err)
	}
	for i, why := range []error{fmt.Errorf("%w: cannot connect: connection refused", limit.ErrUnavailable), errSilent} {
		h := c.servers[i].health
		h.mu.Lock()
		h.why = why
		h.mu.Unlock()
	}
	err = c.unsent(ring.Hash("user:42"))
	if !errors.Is(err, limit.ErrUnavailable) {
		t.Errorf("it is %v", err)
	}
	for _, want := range []string{"known to be bad", "jeton at 127.0.0.1:1: cannot connect: connection refused", "jeton at 127.0.0.1:2: it is silent"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
