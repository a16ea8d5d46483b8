package clustertests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// One disk is full. The node on it stops with a message that names the disk and says what to do: it cannot keep what it
// would have to keep, and a node that goes on would be asked in vain. The others serve, and nothing fails. Once there is
// room, the node is started and has its place back, with all that it had acknowledged.
//
// The disk is a small file system of its own where the test may mount one, as root. Elsewhere the shell's limit on the size
// of a file stands for it.
func TestEventDiskFull(t *testing.T) {
	t.Parallel()
	c := process.NewCluster(t, process.Build(t), 3, clusterLimits)
	m := c.Members[2]
	full := smallDisk(t, c, m)
	for _, m := range c.Members {
		m.Launch()
	}
	for _, m := range c.Members {
		m.Ready()
	}
	d := calmly(t, c)
	before := d.settled(c.Members[0], 3)
	room := full()
	d.fill(m)
	if code := m.ExitCode(); code != 2 || !strings.Contains(m.Log(), "make room") || !strings.Contains(m.Log(), m.Data) {
		t.Errorf("exit code %d; the node said:\n%s", code, m.Log())
	}
	d.load.Answered(2 * calmPerSecond)
	d.pass(lasting(0, 20*time.Second))
	room()
	m.Launch()
	d.serves(m)
	was, is := before.Nodes[2], d.settled(c.Members[0], 3).Nodes[2]
	was.Role, is.Role = "", "" // another node may have come to lead
	if is != was {
		t.Errorf("%s was %+v, and is %+v", m.Name, was, is)
	}
	d.load.Answered(calmPerSecond)
	d.end(false)
}

// smallDisk puts a node that has not been started on a disk of its own. It returns a function that fills the disk, which
// returns one that makes room again.
func smallDisk(t *testing.T, c *process.Cluster, m *process.Member) (full func() (room func())) {
	t.Helper()
	if err := os.MkdirAll(m.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("jeton", m.Data, "tmpfs", 0, "size=64m"); err != nil {
		t.Logf("no file system can be mounted here (%v): the size of the node's files is limited instead", err)
		return limitedFiles(c, m)
	}
	t.Cleanup(func() { // after the node has ended, for it was started later
		if err := syscall.Unmount(m.Data, 0); err != nil {
			t.Errorf("umount %s: %v", m.Data, err)
		}
	})
	ballast := filepath.Join(m.Data, "ballast")
	return func() func() {
		f, err := os.Create(ballast)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() //nolint:errcheck // it is full
		for piece := make([]byte, 64<<10); len(piece) > 0; {
			n, err := f.Write(piece)
			if err != nil {
				piece = piece[:n/2]
			}
		}
		return func() {
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// limitedFiles is smallDisk without a disk: the node's files may not grow beyond what an empty data directory needs, and
// half a megabyte.
func limitedFiles(c *process.Cluster, m *process.Member) (full func() (room func())) {
	limited := true
	c.Prepare = func(name string, cmd *exec.Cmd) {
		if name == m.Name && limited {
			shell := exec.Command("sh", append([]string{"-c", `ulimit -f 17408; exec "$0" "$@"`}, cmd.Args...)...) //nolint:noctx // it is ended by signals
			cmd.Path, cmd.Args = shell.Path, shell.Args
		}
	}
	return func() func() { return func() { limited = false } }
}

// fill has a node keep registers of more and more keys, until it cannot.
func (d *drill) fill(m *process.Member) {
	d.Helper()
	node := newDirect(d.T, m)
	ctx, cancel := context.WithTimeout(d.Context(), process.Patience)
	defer cancel()
	for batch := 0; ; batch++ {
		var asked pb.CheckBatchRequest
		for i := range limit.MaxBatch {
			asked.Checks = append(asked.Checks, pb.EncodeRequest(limit.Request{
				Key: fmt.Sprintf("%0500d", batch*limit.MaxBatch+i), Limits: []limit.Ref{limit.Named("slow")}, Cost: 1,
			}))
		}
		_, err := node.limiter.CheckBatch(forwarded(ctx), &asked)
		select {
		case <-m.Exited():
			d.Logf("it has ended after %d more keys: %v", (batch+1)*limit.MaxBatch, err)
			return
		case <-ctx.Done():
			d.Fatalf("the node has kept %d keys on a full disk:\n%s", (batch+1)*limit.MaxBatch, m.Log())
		default:
		}
	}
}
