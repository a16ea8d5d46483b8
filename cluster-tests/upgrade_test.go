package clustertests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// An upgrade is a cluster under load whose nodes are of the previous level and of this one.
type upgrade struct {
	*drill

	old, now string // the binaries
	limits   string // the document that the admin writes bring
	table    strings.Builder
}

// TestUpgrade founds a cluster of the previous level, starts its nodes one after the other with this level's binary, goes back before all
// are replaced, and then goes all the way. The file cluster-tests/previous names the previous level's commit. In every mix operators write,
// and a node is killed. No check fails, and no limit is exceeded. -args -report appends the table to a file.
func TestUpgrade(t *testing.T) {
	u := &upgrade{old: process.BuildPrevious(t), now: process.Build(t), limits: filepath.Join(t.TempDir(), "limits.yaml")}
	c := process.StartCluster(t, u.old, 3, clusterLimits)
	u.drill = &drill{T: t, cluster: c, perSecond: calmPerSecond, keys: calmKeys}
	u.table.WriteString("| nodes | what was done | checks | failed | over |\n|---|---|--:|--:|--:|\n")
	nodes := c.Members

	u.row("operators write", u.operate)
	u.replace(nodes[0], u.now)
	u.mixed()
	u.replace(nodes[1], u.now)
	u.mixed()
	u.replace(nodes[1], u.old)
	u.replace(nodes[0], u.old)
	u.row("operators write", u.operate)
	for _, m := range nodes {
		u.replace(m, u.now)
	}
	u.mixed()
	u.report()
}

// row does something under load, and adds what became of it to the table.
func (u *upgrade) row(what string, do func()) {
	u.Helper()
	pair := u.versions()
	u.begin()
	do()
	u.load.Answered(u.perSecond)
	if after := u.versions(); after != pair {
		pair += " → " + after
	}
	u.pause(false)
	over := 0
	if err := history.Safe(&u.seen, nodesApart); err != nil {
		over = 1
		u.Errorf("%s, %s: a limit did not hold: %v", pair, what, err)
	}
	fmt.Fprintf(&u.table, "| %s | %s | %d | %d | %d |\n", pair, what, len(u.load.Calls()), len(u.load.Failures()), over)
}

// versions says how many nodes are of which level.
func (u *upgrade) versions() string {
	older := 0
	for _, m := range u.cluster.Members {
		if m.Binary == u.old {
			older++
		}
	}
	return fmt.Sprintf("%d old, %d new", older, len(u.cluster.Members)-older)
}

// replace stops a node in good order and starts it with another binary.
func (u *upgrade) replace(m *process.Member, binary string) {
	u.Helper()
	u.row(m.Name+" restarted with the other version", func() {
		if code := m.Stop(); code != 0 {
			u.Fatalf("%s: exit code %d: %s", m.Name, code, m.Log())
		}
		m.Binary = binary
		m.Launch()
		m.Ready()
	})
}

// mixed has operators write, and kills each node in turn.
func (u *upgrade) mixed() {
	u.Helper()
	u.row("operators write", u.operate)
	for _, m := range []*process.Member{u.cluster.Members[0], u.cluster.Members[2]} { // one of each level, where there are two
		u.row("kill -9 of "+m.Name, func() {
			m.Kill()
			u.load.Answered(u.perSecond)
			m.Launch()
			m.Ready()
		})
	}
}

// operate has each node take what operators write, and finds that the next one knows it.
func (u *upgrade) operate() {
	u.Helper()
	for i, m := range u.cluster.Members {
		next := u.cluster.Members[(i+1)%3]
		capacity := 100 + u.table.Len() + i // another one each time
		text := strings.TrimSuffix(clusterLimits, "}") + fmt.Sprintf(", mixed: {capacity: %d, refill: 1/s}}", capacity)
		if err := os.WriteFile(u.limits, []byte(text), 0o600); err != nil {
			u.Fatal(err)
		}
		key := fmt.Sprintf("org:%d", capacity)
		u.run(m, "limits", "apply", "-f", u.limits)
		u.run(m, "limits", "override", "set", "slow", key, "--capacity", "100")
		u.until(fmt.Sprintf("%s knows what %s took", next.Name, m.Name), func() bool {
			return strings.Contains(u.run(next, "limits", "get"), fmt.Sprint("capacity: ", capacity)) &&
				strings.Contains(u.run(next, "limits", "override", "list"), key)
		})
	}
	u.run(u.cluster.Members[2], "cluster", "drain", "node-3", "--undo") // three nodes keep three replicas: none can be drained
	u.settled(u.cluster.Members[1], 3)
}

// run runs a verb of a node's own version at it, and returns what it prints.
func (u *upgrade) run(m *process.Member, args ...string) string {
	u.Helper()
	out, errs, code := u.cluster.Run(m, args...)
	if code != 0 {
		u.Fatalf("%s: jeton %v: exit code %d: %s%s", m.Name, args, code, out, errs)
	}
	return out
}

// report logs the table, and appends it to the file that -report names.
func (u *upgrade) report() {
	u.Helper()
	u.Log("\n" + u.table.String())
	if *nemesisReport == "" {
		return
	}
	f, err := os.OpenFile(*nemesisReport, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		u.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // WriteString's error tells
	if _, err := f.WriteString(u.table.String()); err != nil {
		u.Fatal(err)
	}
}
