package clustertests

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// A clockFault is how wrong the clock of a node is, as the test-only hook of package clock reads it.
type clockFault struct {
	Offset time.Duration `json:"offset_ns"`
	Drift  int64         `json:"drift_ppm"`
}

// clockFiles make the clocks of the nodes of a cluster wrong.
type clockFiles struct {
	*testing.T

	dir string
}

// faultyCluster plans a cluster of three nodes whose clocks are right until they are made wrong. None is started.
func faultyCluster(t *testing.T) (*process.Cluster, *clockFiles) {
	t.Helper()
	k := &clockFiles{T: t, dir: t.TempDir()}
	c := process.NewCluster(t, process.Build(t, "faults"), 3, clusterLimits)
	c.Prepare = func(name string, cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "JETON_FAULT_CLOCK="+filepath.Join(k.dir, name))
	}
	return c, k
}

// newFaulty starts such a cluster and puts a calm load on it.
func newFaulty(t *testing.T) (*drill, *clockFiles) {
	t.Helper()
	c, k := faultyCluster(t)
	for _, m := range c.Members {
		m.Launch()
	}
	for _, m := range c.Members {
		m.Ready()
	}
	return calmly(t, c), k
}

// becomes makes a clock wrong, or less so.
func (k *clockFiles) becomes(m *process.Member, f clockFault) {
	k.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		k.Fatal(err)
	}
	file := filepath.Join(k.dir, m.Name)
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		k.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		k.Fatal(err)
	}
}

// leap lets time pass in a moment: the clocks of all nodes go forward together, while no caller asks and no node runs. For the
// nodes it is as if they had been idle. The clocks were right before. Nodes that do not run at all are left out; they have
// the new time when they are started.
func (d *drill) leap(k *clockFiles, by time.Duration, out ...*process.Member) {
	d.Helper()
	d.pause(false)
	d.ahead += by
	for _, m := range d.cluster.Members {
		if !slices.Contains(out, m) {
			m.Freeze()
		}
		k.becomes(m, clockFault{Offset: d.ahead})
	}
	d.pass(20 * time.Millisecond) // longer than a node may go on without looking at the file
	for _, m := range d.cluster.Members {
		if !slices.Contains(out, m) {
			m.Thaw()
		}
	}
}

// The hook is in no binary that was not built for it.
func TestFaultClockIsAbsent(t *testing.T) {
	t.Parallel()
	for _, tags := range [][]string{nil, {"faults"}} {
		text, err := os.ReadFile(process.Build(t, tags...))
		if err != nil {
			t.Fatal(err)
		}
		if has := bytes.Contains(text, []byte("JETON_FAULT_CLOCK")); has != (tags != nil) {
			t.Errorf("a binary built with the tags %v knows of JETON_FAULT_CLOCK: %v", tags, has)
		}
	}
}

// The tests of the hook need its tag.
func TestFaultClock(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-tags", "faults", "github.com/jeton-dev/jeton/actor/clock").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
