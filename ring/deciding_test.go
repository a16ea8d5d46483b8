package ring_test

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

// TestDecidingWords: what is said where some partitions are stuck.
func TestDecidingWords(t *testing.T) {
	d := ring.Deciding{Verdict: ring.DecidesSome, Undecided: 85, Partitions: 256, First: []ring.Partition{3, 17}, Silent: []string{"b", "c"}}
	d.Explain(5)
	if got, want := d.Degraded(), "partitions 3, 17, … (85 of 256) cannot be decided: replicas b and c do not answer"; got != want {
		t.Errorf("degraded: %s, want %s", got, want)
	}
	if got, want := d.String(), "85 of 256 partitions cannot be decided: replicas b and c do not answer"; got != want {
		t.Errorf("in one line: %s, want %s", got, want)
	}
	early := ring.Deciding{Verdict: ring.DecidesNone}
	if early.Explain(0); !strings.Contains(early.Why, "not heard") {
		t.Errorf("before a table is known: %s", early.Why)
	}
}
