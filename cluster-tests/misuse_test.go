package clustertests

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// What operators do wrong, each with the message that they are to get. Nothing may be lost by it.

// refused starts a node that is to end by itself with a message.
func refused(t *testing.T, m *process.Member, says ...string) {
	t.Helper()
	m.Launch()
	if code := m.ExitCode(); code != 2 {
		t.Errorf("%s: exit code %d, want 2", m.Name, code)
	}
	for _, text := range says {
		if !strings.Contains(m.Log(), text) {
			t.Errorf("%s does not say %q:\n%s", m.Name, text, m.Log())
		}
	}
}

// apart returns when a node has said that it is kept out; it stays so.
func apart(t *testing.T, m *process.Member, says string) {
	t.Helper()
	m.Launch()
	m.WaitForLog(says)
	if m.Serves(t.Context()) {
		t.Errorf("%s serves:\n%s", m.Name, m.Log())
	}
	m.Kill()
}

func writeKey(t *testing.T, secret string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestMisuseOfExpect(t *testing.T) {
	t.Parallel()
	c := process.NewCluster(t, process.Build(t), 0, clusterLimits)
	m := c.Plan()
	for args, says := range map[string]string{
		"--expect 2 --join 127.0.0.1:1": "1, 3 or 5 nodes, not by 2",
		"--expect 3":                    "--join",
		"--expect 1 --join 127.0.0.1:1": "leave out one of the two",
		"--replicas 2":                  "2 is out of range: use 3 or 5",
		"--listen-raft=":                "listen-gossip, listen-raft: give both",
		"--listen-gossip 0.0.0.0:0":     "--cluster-key-file",
		"--cluster-key-file /no/such":   "/no/such",
		"--join nowhere":                "nowhere",
		"--node-name " + tooLong():      "node-name",
	} {
		out, errs, code := process.Run(t, process.Build(t), append([]string{
			"serve", "--data", m.Data, "--listen-grpc", m.GRPC, "--listen-http", m.HTTP, "--listen-gossip", m.Gossip, "--listen-raft", m.Raft,
		}, strings.Fields(args)...)...)
		if code != 2 || !strings.Contains(errs, says) {
			t.Errorf("jeton serve %s: exit code %d, want 2 and %q: %s%s", args, code, says, out, errs)
		}
	}
}

func tooLong() string { return strings.Repeat("n", 200) }

// Four empty nodes, each told of three: they make one cluster or none, never two.
func TestMisuseOfJoin(t *testing.T) {
	t.Parallel()
	c := process.NewCluster(t, process.Build(t), 0, clusterLimits)
	for range 4 {
		c.Plan()
	}
	for i, m := range c.Members {
		var join []string
		for k := range 3 {
			join = append(join, c.Members[(i+k)%4].Gossip)
		}
		m.Args("--expect", "3", "--join", strings.Join(join, ","))
		m.Launch()
	}
	d := &drill{T: t, cluster: c}
	for _, m := range c.Members {
		m.Ready()
	}
	d.settled(c.Members[3], 4)
	ids := map[string]bool{}
	for _, m := range c.Members {
		ids[d.ring(m).Cluster] = true
	}
	if len(ids) != 1 {
		t.Errorf("four nodes are in the clusters %v", ids)
	}
}

func TestMisuseOfDisks(t *testing.T) {
	t.Parallel()
	binary := process.Build(t)
	c := process.StartCluster(t, binary, 3, clusterLimits)
	d := &drill{T: t, cluster: c}
	stranger := process.StartCluster(t, binary, 1, clusterLimits)
	if code := stranger.Members[0].Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}

	foreign := c.Plan()
	foreign.Args("--join", c.Members[0].Gossip)
	if err := os.CopyFS(foreign.Data, os.DirFS(stranger.Members[0].Data)); err != nil {
		t.Fatal(err)
	}
	apart(t, foreign, `(?i)cluster`)

	twin := c.Plan()
	twin.Args("--join", c.Members[0].Gossip)
	if code := c.Members[2].Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if err := os.CopyFS(twin.Data, os.DirFS(c.Members[2].Data)); err != nil {
		t.Fatal(err)
	}
	c.Members[2].Launch()
	c.Members[2].Ready()
	// The copy is older than what the cluster knows of this disk: it is given up, and the node joins as a new one, whose
	// name is its own.
	twin.Launch()
	twin.WaitForLog("old copy|another process|name")
	eventually(t, "the node whose disk was copied serves", func() bool { return c.Members[2].Serves(t.Context()) })
	twin.Kill()
	if status, _ := mustDecide(t, c.Members[2].Node, "slow", "k"); status != http.StatusOK {
		t.Errorf("after all that: %d", status)
	}
	d.ring(c.Members[0])
}

func TestMisuseOfKeys(t *testing.T) {
	t.Parallel()
	binary, file := process.Build(t), writeKey(t, "a secret of this cluster")
	c := process.StartCluster(t, binary, 3, clusterLimits, "--cluster-key-file", file)
	if status, _ := mustDecide(t, c.Members[1].Node, "slow", "k"); status != http.StatusOK {
		t.Errorf("a check of a cluster with a key: %d", status)
	}
	other := c.Plan()
	other.Args("--join", c.Members[0].Gossip, "--cluster-key-file", writeKey(t, "another secret, of another"))
	apart(t, other, `(?i)key`)

	m := c.Members[0]
	limits := writeLimits(t, "limits: {a: {capacity: 1, refill: 1/s}}")
	for _, args := range [][]string{{"limits", "apply", "-f", limits}, {"cluster", "drain", "node-3"}, {"cluster", "remove", "node-3"}} {
		if out, errs, code := c.Run(m, args...); code != 2 || !strings.Contains(errs, "--cluster-key-file") {
			t.Errorf("jeton %v without the key: exit code %d: %s%s", args, code, out, errs)
		}
	}
	if out, errs, code := c.Run(m, "limits", "apply", "--remove", "-f", limits, "--cluster-key-file", file); code != 0 {
		t.Errorf("jeton limits apply with the key: exit code %d: %s%s", code, out, errs)
	}
	if res := request(t, http.MethodPut, "http://"+m.HTTP+"/v1/limits", "limits: {}"); res.status != http.StatusUnauthorized {
		t.Errorf("PUT /v1/limits without the key: %d %s", res.status, res.body)
	}
}

func TestMisuseOfAddresses(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 1, clusterLimits)
	m := c.Plan()
	m.Args("--join", c.Members[0].Gossip, "--advertise", "127.0.0.2") // where no process listens
	refused(t, m, "127.0.0.2", "--advertise")
}

func TestMisuseOfNames(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 1, clusterLimits)
	m := c.Plan()
	m.Args("--join", c.Members[0].Gossip, "--node-name", c.Members[0].Name)
	refused(t, m, c.Members[0].Name, "name")
}

func TestMisuseOfDrain(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 3, clusterLimits)
	for _, tt := range []struct{ args, says string }{
		{"cluster drain node-1", "too few"},
		{"cluster remove node-1", "too few"},
		{"cluster remove node-3 --force", "still answers"},
		{"cluster drain node-9", "node-9"},
		{"cluster recover --lost node-2 --yes", "answers"},
	} {
		if out, errs, code := c.Run(c.Members[0], strings.Fields(tt.args)...); code != 2 || !strings.Contains(errs, tt.says) {
			t.Errorf("jeton %s: exit code %d, want 2 and %q: %s%s", tt.args, code, tt.says, out, errs)
		}
	}
	for _, m := range c.Members {
		eventually(t, m.Name+" serves after that", func() bool { return m.Serves(t.Context()) })
	}
	// Forced, it is done for a node that is down: what two nodes can keep, they keep. The node is never taken back.
	c.Members[2].Kill()
	if out, errs, code := c.Run(c.Members[0], "cluster", "remove", "node-3", "--force"); code != 0 {
		t.Errorf("jeton cluster remove --force: exit code %d: %s%s", code, out, errs)
	}
	c.Members[2].Launch()
	if code := c.Members[2].ExitCode(); code != 2 || !strings.Contains(c.Members[2].Log(), "permanently removed from the cluster") {
		t.Errorf("the removed node: exit code %d:\n%s", code, c.Members[2].Log())
	}
	d := &drill{T: t, cluster: c}
	d.settled(c.Members[0], 2)
	if status, _ := mustDecide(t, c.Members[1].Node, "slow", "k"); status != http.StatusOK {
		t.Errorf("a check of the two that are left: %d", status)
	}
}

// Two operators change the limits at once: one is refused, and nothing is lost.
func TestMisuseOfLimits(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 3, clusterLimits)
	check(t, c.Members[0].Node, "slow", "k")
	var operators sync.WaitGroup
	codes := make([]int, 8)
	for i := range codes {
		file := writeLimits(t, fmt.Sprintf("limits: {slow: {capacity: %d, refill: 1/h}}", 20+i))
		operators.Go(func() {
			_, _, codes[i] = c.Run(c.Members[i%3], "limits", "apply", "--remove", "-f", file, "--version", "1")
		})
	}
	operators.Wait()
	won := -1
	for i, code := range codes {
		if code == 0 && won >= 0 {
			t.Errorf("both %d and %d have replaced version 1", won, i)
		}
		if code == 0 {
			won = i
		}
	}
	if won < 0 {
		t.Fatalf("no node has replaced version 1: %v", codes)
	}
	// Within a second on every node; a busy machine may take longer.
	began := time.Now()
	for _, m := range c.Members {
		for {
			if _, d := mustDecide(t, m.Node, "slow", "k"); d.Limits[0].Limit == int64(20+won) {
				break
			}
			if time.Since(began) > process.Patience {
				t.Fatalf("%s does not know the limits after minutes:\n%s", m.Name, m.Log())
			}
		}
	}
	t.Logf("in force everywhere %v later", time.Since(began).Round(time.Millisecond))
	for args, says := range map[string]string{
		"limits apply -f " + writeLimits(t, "limits: {a: {capacity: 0, refill: 1/s}}"): "limits.a.capacity",
		"limits apply -f /no/such/file": "/no/such/file",
		"limits apply":                  "-f",
		"limits apply --version 1 -f " + writeLimits(t, "limits: {a: {capacity: 1, refill: 1/s}}"): "version 2 is in force",
	} {
		if out, errs, code := c.Run(c.Members[0], strings.Fields(args)...); code != 2 || !strings.Contains(errs, says) {
			t.Errorf("jeton %s: exit code %d, want 2 and %q: %s%s", args, code, says, out, errs)
		}
	}
	if out, errs, code := c.Run(c.Members[1], "limits", "diff", "-f", writeLimits(t, "limits: {a: {capacity: 1, refill: 1/s}}")); code != 1 || !strings.Contains(out, "+ a") || !strings.Contains(out, "- slow") {
		t.Errorf("jeton limits diff: exit code %d: %s%s", code, out, errs)
	}
}
