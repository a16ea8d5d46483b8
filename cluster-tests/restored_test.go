package clustertests

import (
	"os"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// A node that is given an older copy of its disk must notice: the copy lacks reservations that the node had acknowledged,
// and to serve from it would be to let them be spent twice. It notices by its mark, which the cluster remembers. Then it
// takes a new disk id, joins as a new node, and gets its place back.

// copyDisk copies the data directory of a node, which must not run or be frozen.
func copyDisk(t *testing.T, m *process.Member) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(m.Data)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// restore gives a node that does not run another disk.
func restore(t *testing.T, m *process.Member, dir string) {
	t.Helper()
	m.Wipe()
	if err := os.CopyFS(m.Data, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
}

// renewed starts a node on an old copy of its disk, and returns when it has its place back, under another id.
func (d *drill) renewed(m *process.Member, before status) {
	d.Helper()
	m.Launch()
	m.WaitForLog("the data directory is an old copy: what it knows is given up")
	d.serves(m)
	after := d.settled(d.cluster.Members[0], 3)
	for i, n := range after.Nodes {
		was := before.Nodes[i]
		if n.Name != was.Name || n.Replica != was.Replica || (n.ID == was.ID) != (n.Name != m.Name) {
			d.Errorf("%s was %+v, and is %+v: want the old places, and a new id for %s alone", was.Name, was, n, m.Name)
		}
	}
}

// The disk was copied before the last start: a backup, or the snapshot that an upgrade was rolled back to.
func TestEventDiskOfAnEarlierLifeRestored(t *testing.T) {
	t.Parallel()
	d := newCalm(t)
	before := d.settled(d.cluster.Members[0], 3)
	m := d.cluster.Members[2]
	if code := m.Stop(); code != 0 {
		t.Fatalf("exit code %d: %s", code, m.Log())
	}
	old := copyDisk(t, m)
	m.Launch()
	d.serves(m)
	d.load.Answered(calmPerSecond)
	d.pass(lasting(0, 20*time.Second))
	m.Kill()
	restore(t, m, old)
	d.renewed(m, before)
	d.load.Answered(calmPerSecond)
	d.end(false)
}

// The disk was copied in the present life, more than two minutes ago: the snapshot of a running machine. The boots are the
// same, and only the minute of the mark tells. In CI, the minutes pass in a moment.
func TestEventDiskOfThisLifeRestored(t *testing.T) {
	t.Parallel()
	d, clocks := newFaulty(t)
	before := d.settled(d.cluster.Members[0], 3)
	m := d.cluster.Members[2]
	m.Freeze()
	old := copyDisk(t, m)
	m.Thaw()
	copied := d.mark(m)
	d.load.Answered(calmPerSecond)
	if *long {
		d.pass(125 * time.Second)
	} else {
		d.leap(clocks, 125*time.Second)
		d.begin()
	}
	d.until("the others know of a mark two minutes later", func() bool { return d.mark(m) >= copied+2 })
	d.load.Answered(calmPerSecond)
	m.Kill()
	restore(t, m, old)
	d.renewed(m, before)
	d.load.Answered(calmPerSecond)
	d.end(false)
}

// mark is the minute of a node's mark, as another node knows it.
func (d *drill) mark(m *process.Member) int64 {
	d.Helper()
	var s struct {
		Nodes []struct {
			Name string
			Mark struct{ Minute int64 }
		}
	}
	d.cluster.Status(d.cluster.Members[0], &s)
	for _, n := range s.Nodes {
		if n.Name == m.Name && n.Mark.Minute > 0 {
			return n.Mark.Minute
		}
	}
	d.Fatalf("no mark of %s: %+v", m.Name, s)
	return 0
}

// A node is given a copy of another node's disk, which is of this very moment: no mark tells, for nothing is older. It is
// kept out all the same, for its name is taken, and both say what it looks like. The other one serves on.
func TestEventDiskOfAnotherNode(t *testing.T) {
	t.Parallel()
	d := newCalm(t)
	victim, other := d.cluster.Members[2], d.cluster.Members[1]
	victim.Kill()
	own := copyDisk(t, victim)
	other.Freeze()
	copied := copyDisk(t, other)
	other.Thaw()
	d.serves(other) // a node that was frozen for long has given its name up, and its copy may have it
	restore(t, victim, copied)
	victim.Launch()
	for _, m := range []*process.Member{victim, other} {
		m.WaitForLog("one runs on a copy of the other's data directory")
	}
	d.load.Answered(2 * calmPerSecond)
	d.pass(lasting(0, 30*time.Second))
	// Where the other was taken for dead for a moment, as on a machine that is overloaded, its copy has the name for as long.
	eventually(t, victim.Name+" does not serve from the disk of "+other.Name, func() bool { return !victim.Serves(t.Context()) && other.Serves(t.Context()) })
	victim.Kill()
	d.serves(other)
	restore(t, victim, own)
	victim.Launch()
	d.serves(victim)
	d.load.Answered(calmPerSecond)
	d.end(false)
}
