package clustertests

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

const (
	// floodMemory is what a node is given that is flooded: three quarters of a control group of 300 MB.
	floodMemory = "225MiB"
	// floodBound is what it must stay below, in bytes: what would end it in that group.
	floodBound = 300 << 20
	// floodChecks is how many checks each flood makes. Every third of it would need more than floodBound.
	floodChecks = 300_000
	// floodLimits are those that a flood asks for, and that of the honest caller.
	floodLimits = "limits: {once: {capacity: 1, refill: 1/24h}, open: {capacity: 1000000000, refill: 1000000000/s}, honest: {capacity: 5, refill: 1/h}}\n"
)

// peakOf watches how much memory a node has until something is over.
func peakOf(n *process.Node, over <-chan struct{}) int64 {
	peak := int64(0)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		peak = max(peak, n.Resident())
		select {
		case <-look.C:
		case <-n.Exited():
			return peak
		case <-over:
			return peak
		}
	}
}

// TestFloodOfInventedKeys floods a node that has little memory with keys that are made up, and with receipts and request ids
// that it is to remember: it stays within its memory, gives up what it can do without, serves an honest caller meanwhile, and
// gives memory back afterwards.
func TestFloodOfInventedKeys(t *testing.T) {
	binary := process.Build(t)
	limits := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(limits, []byte(floodLimits), 0o600); err != nil {
		t.Fatal(err)
	}
	node := process.Start(t, binary, "--data", filepath.Join(t.TempDir(), "data"), "--limits", limits, "--memory", floodMemory)
	if node.Resident() == 0 {
		t.Skip("this system does not tell how much memory a process has")
	}
	honest, err := client.New(client.Config{Server: node.GRPC, Timeout: process.Patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = honest.Close() })
	admitted, peak := 0, int64(0)
	for _, kind := range []string{"receipts", "ids", "keys", "limits"} {
		flood := process.Launch(t, process.BuildBench(t), "flood-client", "--server", node.GRPC, "--kind", kind, "--checks", strconv.Itoa(floodChecks))
		flood.WaitForLog(`flooding: \d+ checks`)
		for range 3 {
			d, err := honest.Check(t.Context(), limit.Request{Key: "honest", Cost: 1, Limits: []limit.Ref{limit.Named("honest")}})
			if err != nil {
				t.Errorf("beside the flood of %s: %v", kind, err)
			} else if d.Allowed {
				admitted++
			}
		}
		reached := peakOf(node, flood.Exited())
		t.Logf("the flood of %s: at most %d MiB", kind, reached>>20)
		if reached > floodBound {
			t.Errorf("the flood of %s brought the node to %d MiB, want at most %d", kind, reached>>20, floodBound>>20)
		}
		if code := flood.ExitCode(); code != 0 {
			t.Fatalf("the flood ended with exit code %d:\n%s", code, flood.Log())
		}
		peak = max(peak, reached)
	}
	// One whose answer came too late for its client was asked again, and may have been charged twice.
	if admitted < 1 || admitted > 5 {
		t.Errorf("%d of the honest caller's 12 checks were allowed, want some, and no more than the 5 that its bucket held", admitted)
	}
	node.WaitForLog(`msg=overloaded what=receipts`)
	node.WaitForLog(`msg=overloaded what=request_ids`)
	node.WaitForLog(`memory given back`)
	if after := node.Resident(); after >= peak {
		t.Errorf("%d MiB are resident after memory was given back, %d before", after>>20, peak>>20)
	}
	if code := node.Stop(); code != 0 {
		t.Errorf("the node ended with exit code %d:\n%s", code, node.Log())
	}
}
