package clustertests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/cmd/bench"
)

// The tool compares a node with the no-op, and a cluster with one node, through the binary that users have, ends what it
// has started, and removes what the nodes have written.
func TestBenchCompares(t *testing.T) {
	t.Parallel()
	binary := binaryOf(t)
	for _, flags := range []string{
		"--compare noop --durability memory --callers 8",
		"--compare noop --durability fsync --batch 100 --callers 4 --deny --key-count 1000",
		"--nodes 3 --compare 1 --durability memory --callers 8",
		"--nodes 3 --compare 1 --durability fsync --batch 100 --callers 4 --deny --key-count 1000",
		"--nodes 3 --compare noop --durability memory --batch 100 --callers 4 --keys new",
	} {
		temp := t.TempDir()
		args := "bench --pairs 1 --duration 300ms --warmup 0 --output json " + flags + " --temp " + temp
		stdout, stderr, code := process.Run(t, binary, strings.Fields(args)...)
		var c bench.Comparison
		if err := json.Unmarshal([]byte(stdout), &c); err != nil || code != 0 {
			t.Fatalf("jeton %s: exit code %d, %v: %s%s", args, code, err, stdout, stderr)
		}
		if len(c.Pairs) != 1 || c.Ratio.Median <= 0 || c.Ratio.Median != c.Pairs[0].Ratio || c.P50Ratio.Median <= 0 {
			t.Errorf("jeton %s: %s", args, stdout)
		}
		for _, r := range []bench.Report{c.Pairs[0].Node, c.Pairs[0].Other} {
			if r.Checks == 0 || len(r.Errors) > 0 || (r.Denied == 0) == strings.Contains(flags, "--deny") || r.Latency.P50 <= 0 {
				t.Errorf("jeton %s: %+v", args, r)
			}
		}
		if c.Nodes == 3 != strings.Contains(flags, "--nodes 3") || c.NodeCPU <= 0 {
			t.Errorf("jeton %s: %d nodes, %v for each check", args, c.Nodes, c.NodeCPU)
		}
		if strings.Contains(flags, "fsync") != (c.Fsync > 0) {
			t.Errorf("jeton %s: an fsync of %v", args, c.Fsync)
		}
		nothingIsLeft(t, binary, temp)
	}
}

func TestBenchTable(t *testing.T) {
	t.Parallel()
	binary, temp := binaryOf(t), t.TempDir()
	stdout, stderr, code := process.Run(t, binary, "bench", "table", "--quick", "--only", "decision,awake", "--temp", temp, "--output", "json")
	var rows bench.Rows
	if err := json.Unmarshal([]byte(stdout), &rows); err != nil || code != 0 || len(rows) != 3 {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	for _, r := range rows {
		if r.Met == nil || r.Error != "" || r.Target == "" || r.Value.Median <= 0 && r.Unit != "allocations" {
			t.Errorf("%+v", r)
		}
	}
	nothingIsLeft(t, binary, temp)
}

// Ctrl-C in the middle of a comparison ends its children too.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	binary := binaryOf(t)
	for flags, when := range map[string]string{
		"--compare noop":           "warming up the no-op",
		"--nodes 3 --compare 1":    "warming up the one node",
		"--nodes 3 --compare noop": "starting",
	} {
		temp := t.TempDir()
		args := "bench --durability memory --duration 1h --temp " + temp + " " + flags
		b := process.Launch(t, binary, strings.Fields(args)...)
		b.WaitForLog(when)
		b.Signal(syscall.SIGINT)
		if code := b.ExitCode(); code != 2 || !strings.Contains(b.Log(), "interrupted") {
			t.Errorf("jeton %s: exit code %d: %s", args, code, b.Log())
		}
		nothingIsLeft(t, binary, temp)
	}
}

// binaryOf is the binary under a name that no other test knows: what runs under it was started by this one.
func binaryOf(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "jeton")
	if err := os.Link(process.Build(t), binary); err != nil {
		t.Fatal(err)
	}
	return binary
}

// nothingIsLeft checks that no process runs the binary, and that a folder is empty.
func nothingIsLeft(t *testing.T, binary, temp string) {
	t.Helper()
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the folder for data: %v, %v", left, err)
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range commands {
		text, err := os.ReadFile(path)
		if err == nil && strings.HasPrefix(string(text), binary+"\x00") {
			t.Errorf("still running: %s", strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
}
