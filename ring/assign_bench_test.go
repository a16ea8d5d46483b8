package ring_test

import (
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

// BenchmarkAssign measures a plan for 20 nodes in 4 zones: founding, and one node more.
func BenchmarkAssign(b *testing.B) {
	members := nodes(21, "a", "b", "c", "d")
	founded, err := ring.Assign(nil, members[:20], ring.DefaultPartitions, 3)
	if err != nil {
		b.Fatal(err)
	}
	for _, plan := range []struct {
		name    string
		current [][]ring.NodeID
		members []ring.Member
	}{
		{"founding", nil, members[:20]},
		{"nothing to do", founded, members[:20]},
		{"one more", founded, members},
		{"one less", founded, members[:19]},
	} {
		b.Run(plan.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ring.Assign(plan.current, plan.members, ring.DefaultPartitions, 3); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
