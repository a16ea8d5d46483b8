package clustertests

import (
	"fmt"
	"testing"
)

// In memory mode, a killed node has forgotten its registers. One of three replicas is killed: it assumes that every bucket was
// emptied, and refuses accordingly. A majority does not, so callers notice nothing: a key with three of ten tokens spent has
// seven left, whichever node decides, the one that has forgotten included.
func TestEventReplicaFloored(t *testing.T) {
	t.Parallel()
	const savers = 30
	d := newCalm(t, "--durability", "memory")
	var nodes []*direct
	for _, m := range d.cluster.Members {
		nodes = append(nodes, newDirect(t, m))
	}
	key := func(i int) string { return fmt.Sprint("saver:", i) }
	for i := range savers {
		for range 3 {
			if decision := nodes[i%3].one(t, "slow", key(i)); !decision.Allowed {
				t.Fatalf("%s: %+v", key(i), decision)
			}
		}
	}
	m := d.cluster.Members[2]
	m.Kill()
	d.load.Answered(calmPerSecond)
	m.Launch()
	m.WaitForLog("every bucket counts as empty")
	d.serves(m)
	for i := range savers {
		left := int64(7)
		for n := range nodes {
			left--
			node := (i + n) % 3
			if decision := nodes[node].one(t, "slow", key(i)); !decision.Allowed || decision.Limits[0].Remaining != left {
				t.Errorf("%s, of which %s decides: %+v, want %d left", key(i), d.cluster.Members[node].Name, decision, left)
			}
		}
	}
	d.load.Answered(calmPerSecond)
	t.Logf("reservations that the floored replica and the others have refused the owners: %.0f", d.metric(m, "jeton_reservation_refusals_total", "taken"))
	d.end(false)
}
