package clustertests

import (
	"net/http"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// moveTo gives a node that does not run other addresses, at which it is started next.
func moveTo(t *testing.T, c *process.Cluster, m *process.Member) {
	t.Helper()
	at := c.Plan() // which is never started
	c.Members = c.Members[:len(c.Members)-1]
	m.GRPC, m.HTTP, m.Gossip, m.Raft = at.GRPC, at.HTTP, at.Gossip, at.Raft
}

// The nodes get other addresses, one after the other, while checks go on: none fails. What they keep stays where it is.
func TestAddressesChangeOneByOne(t *testing.T) {
	t.Parallel()
	d := newCalm(t)
	before := d.settled(d.cluster.Members[0], 3)
	for i, m := range d.cluster.Members {
		if code := m.Stop(); code != 0 {
			t.Fatalf("%s: exit code %d: %s", m.Name, code, m.Log())
		}
		moveTo(t, d.cluster, m)
		m.Launch()
		m.Ready()
		d.settled(d.cluster.Members[(i+1)%3], 3)
		d.load.Answered(calmPerSecond)
	}
	after := d.settled(d.cluster.Members[0], 3)
	for i := range before.Nodes {
		if before.Nodes[i].ID != after.Nodes[i].ID || before.Nodes[i].Replica != after.Nodes[i].Replica {
			t.Errorf("it was %+v, and is %+v", before.Nodes[i], after.Nodes[i])
		}
	}
	d.end(false)
}

// All nodes are stopped, and started at other addresses, of which --join tells: they find one another, and no bucket has forgotten
// anything.
func TestAddressesChangeAllAtOnce(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 3, clusterLimits)
	for spent := 0; ; spent++ { // ten, or fewer where one was charged twice
		if status, _ := mustDecide(t, c.Members[0].Node, "slow", "saver"); status == http.StatusTooManyRequests && (spent == 10 || spent > 0 && triedAgain(t, c.Members[0].Node) > 0) {
			break
		} else if status != http.StatusOK || spent == 10 {
			t.Fatalf("status %d after %d", status, spent)
		}
	}
	for _, m := range c.Members {
		if code := m.Stop(); code != 0 {
			t.Fatalf("%s: exit code %d: %s", m.Name, code, m.Log())
		}
	}
	for _, m := range c.Members {
		moveTo(t, c, m)
	}
	for _, m := range c.Members {
		m.Args("--join", c.Gossip())
		m.Launch()
	}
	for _, m := range c.Members {
		m.Ready()
	}
	for _, m := range c.Members {
		if status, _ := mustDecide(t, m.Node, "slow", "saver"); status != http.StatusTooManyRequests {
			t.Errorf("%s: status %d of a bucket that was emptied", m.Name, status)
		}
	}
}

// A cluster moves to machines that are all new, while checks go on: these join, the old ones are drained, stopped and removed. None fails.
func TestMoveToNewMachines(t *testing.T) {
	d := newCalm(t)
	old := d.cluster.Members
	for range old {
		d.cluster.Add()
	}
	fresh := d.cluster.Members[len(old):]
	d.settled(fresh[0], 6)
	for _, m := range old {
		for _, args := range [][]string{{"cluster", "drain", m.Name, "--timeout", "3m"}, {"cluster", "remove", m.Name}} {
			if args[1] == "remove" {
				if code := m.Stop(); code != 0 {
					t.Fatalf("%s: exit code %d: %s", m.Name, code, m.Log())
				}
			}
			if out, errs, code := d.cluster.Run(fresh[0], args...); code != 0 {
				t.Fatalf("jeton %v: exit code %d: %s%s", args, code, out, errs)
			}
		}
		d.load.Answered(calmPerSecond)
	}
	if s := d.settled(fresh[1], 3); len(s.Nodes) != 3 {
		t.Errorf("nodes that were removed are still there: %+v", s)
	}
	d.end(false)
}
