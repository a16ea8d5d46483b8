package client

import (
	"testing"

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
		t.Cleanup(func() { _ = c.Close() })
		hash := ring.Hash("user:42")
		for _, first := range []standing{good, suspect, bad} {
			for _, second := range []standing{good, suspect, bad} {
				c.servers[0].health.level.Store(int32(first))
				c.servers[1].health.level.Store(int32(second))
				want := failFast && first == bad && second == bad
				if got := c.hopeless(hash); got != want {
					t.Errorf("fail fast %v, standings %d and %d: hopeless %v", failFast, first, second, got)
				}
			}
		}
		c.table.Store(&table{})
		if c.hopeless(hash) {
			t.Error("hopeless without a node: there is another error for that")
		}
	}
}
