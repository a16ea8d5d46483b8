package clustertests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// What "jeton bench" prints as JSON, as far as it is looked at here. Its own types are in another module.
type (
	benchSpread struct {
		Median float64 `json:"median"`
	}
	benchReport struct {
		Checks  int64 `json:"checks"`
		Denied  int64 `json:"denied"`
		Errors  []any `json:"errors"`
		Latency struct {
			P50 time.Duration `json:"p50"`
		} `json:"latency_ns"`
	}
	benchComparison struct {
		Nodes int `json:"nodes"`
		Pairs []struct {
			Node  benchReport `json:"node"`
			Other benchReport `json:"other"`
			Ratio float64     `json:"ratio"`
		} `json:"pairs"`
		Ratio    benchSpread   `json:"ratio"`
		P50Ratio benchSpread   `json:"p50_ratio"`
		Fsync    time.Duration `json:"fsync_ns"`
		NodeCPU  time.Duration `json:"node_cpu_per_check_ns"`
	}
	benchRow struct {
		Target string      `json:"target"`
		Unit   string      `json:"unit"`
		Value  benchSpread `json:"value"`
		Met    *bool       `json:"met"`
		Error  string      `json:"error"`
	}
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
		args, stdout, c := compared(t, binary, flags+" --temp "+temp)
		if len(c.Pairs) != 1 || c.Ratio.Median <= 0 || c.Ratio.Median != c.Pairs[0].Ratio || c.P50Ratio.Median <= 0 {
			t.Errorf("jeton %s: %s", args, stdout)
		}
		for _, r := range []benchReport{c.Pairs[0].Node, c.Pairs[0].Other} {
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

// compared runs a comparison for a moment, or for longer where that is too short for the machine: each side must have had some checks, all of
// which were decided.
func compared(t *testing.T, binary, flags string) (args, stdout string, c benchComparison) {
	t.Helper()
	for _, duration := range []string{"300ms", "3s", "30s"} {
		args = "bench --pairs 1 --warmup 0 --output json --duration " + duration + " " + flags
		text, stderr, code := process.Run(t, binary, strings.Fields(args)...)
		c, stdout = benchComparison{}, text
		if err := json.Unmarshal([]byte(text), &c); err != nil || code != 0 {
			t.Fatalf("jeton %s: exit code %d, %v: %s%s", args, code, err, text, stderr)
		}
		enough := len(c.Pairs) == 1
		for _, p := range c.Pairs {
			for _, r := range []benchReport{p.Node, p.Other} {
				enough = enough && r.Checks > 0 && len(r.Errors) == 0 && (r.Denied > 0) == strings.Contains(flags, "--deny")
			}
		}
		if enough {
			break
		}
	}
	return args, stdout, c
}

func TestBenchTable(t *testing.T) {
	t.Parallel()
	binary, temp := binaryOf(t), t.TempDir()
	stdout, stderr, code := process.Run(t, binary, "bench", "table", "--quick", "--only", "decision,awake", "--temp", temp, "--output", "json")
	var rows []benchRow
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

// binaryOf is jeton, with jeton-bench beside it, in a folder that no other test knows: what runs from there was started by
// this one.
func binaryOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "jeton")
	for path, built := range map[string]string{binary: process.Build(t), filepath.Join(dir, "jeton-bench"): process.BuildBench(t)} {
		if err := os.Link(built, path); err != nil {
			t.Fatal(err)
		}
	}
	return binary
}

// nothingIsLeft checks that no process runs the binary, or what is beside it, and that a folder is empty.
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
		if err == nil && strings.HasPrefix(string(text), filepath.Dir(binary)+"/") {
			t.Errorf("still running: %s", strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
}
