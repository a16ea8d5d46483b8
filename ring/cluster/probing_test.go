package cluster

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/cluster/status"
)

// lost are the paths of a probe that do not work, as FROM-TO PORT: why; and members that have not tried, as FROM: why.
func lost(all []status.Probed) (lost []string, tried int) {
	for _, p := range all {
		if p.Error != "" {
			lost = append(lost, p.Name+": "+p.Error)
		}
		for _, path := range p.Paths {
			tried++
			if path.Error != "" {
				lost = append(lost, p.Name+"-"+path.To+" "+path.Port+": "+path.Error)
			}
		}
	}
	return lost, tried
}

// TestProbe has three nodes try all ports of one another; then one of them is of an older release, and then it is gone.
func TestProbe(t *testing.T) {
	all := trio(t)
	a, c := all[0], all[2]
	r := a.rig
	a.soon("all know where all are", func() bool {
		broken, tried := lost(a.cluster.ProbeAll(t.Context()))
		return len(broken) == 0 && tried == 3*2*4
	})

	r.fabric.mu.Lock()
	r.fabric.cut = func(address string) error {
		if address == c.config.GRPC {
			return message.UnknownKind(message.KindProbe)
		}
		return nil
	}
	r.fabric.mu.Unlock()
	a.soon("c is older", func() bool {
		broken, _ := lost(a.cluster.ProbeAll(t.Context()))
		return strings.Contains(strings.Join(broken, "\n"), "c: "+status.NotProbing)
	})
	r.fabric.cutOff()

	c.stop()
	a.soon("c is gone", func() bool {
		broken, _ := lost(a.cluster.ProbeAll(t.Context()))
		said := strings.Join(broken, "\n")
		for _, want := range []string{
			"c: " + status.Refused, "a-c grpc: " + status.Refused, "a-c gossip-tcp: " + status.Refused, "a-c gossip-udp: " + status.NoAnswer, "b-c raft: " + status.Refused,
		} {
			if !strings.Contains(said, want) {
				return false
			}
		}
		return len(broken) == 1+2*4
	})
}
