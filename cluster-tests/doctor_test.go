package clustertests

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/network"
	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// A diagnosis is what jeton doctor --output json prints.
type diagnosis struct {
	Findings []struct{ Severity, What, More string }
	Seen     []struct{ Subject, Says string }
	code     int
	text     string
}

// diagnose runs jeton doctor.
func diagnose(t *testing.T, binary string, args ...string) (d diagnosis) {
	t.Helper()
	out, errs, code := process.Run(t, binary, append([]string{"doctor", "--output", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("jeton doctor: exit code %d: %v: %s%s", code, err, out, errs)
	}
	d.code, d.text = code, out
	if (code == 1) != (len(d.Findings) > 0) || code > 1 {
		t.Fatalf("jeton doctor: exit code %d: %s%s", code, out, errs)
	}
	return d
}

// finds says whether something was found with that heading whose words have all parts.
func (d *diagnosis) finds(heading string, parts ...string) bool {
	for _, f := range d.Findings {
		if strings.HasSuffix(f.More, "#"+heading) && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(f.What, part) }) {
			return true
		}
	}
	return false
}

// until diagnoses until it is as it should be.
func until(t *testing.T, what string, diagnose func() diagnosis, so func(*diagnosis) bool) diagnosis {
	t.Helper()
	late := time.After(process.Patience)
	for {
		d := diagnose()
		if so(&d) {
			return d
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-late:
			t.Fatalf("it does not come true that %s: %s", what, d.text)
		}
	}
}

// TestDoctorOfPaths finds nothing in a cluster of three that is well. Then what two nodes send each other over TCP is dropped: that is found at both
// ends, of all ports but gossip over UDP, and no other path is broken. It is mended, and nothing is found again.
func TestDoctorOfPaths(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes networks")
	}
	t.Parallel()
	binary := process.Build(t)
	network.Run(t, func(lab *network.Lab) {
		c := process.NewClusterIn(t, lab, binary, 3, clusterLimits)
		for i, m := range c.Members {
			m.Args("--zone", fmt.Sprintf("zone-%d", i))
			m.Launch()
		}
		for _, m := range c.Members {
			m.Ready()
		}
		look := func() diagnosis {
			return diagnose(t, binary, "--server", c.Members[2].GRPC, "--cluster-key-file", c.KeyFile())
		}
		nothing := func(d *diagnosis) bool {
			return d.code == 0 && strings.Contains(d.text, "24 of 24 between nodes work")
		}
		until(t, "nothing is found", look, nothing)

		lab.CutTCP("node-1", "node-2")
		d := until(t, "two nodes do not reach each other", look, func(d *diagnosis) bool {
			return d.finds("nodes-do-not-reach-one-another", "node-1 does not reach node node-2", "gRPC at", "gossip over TCP at", "raft at", "no answer in time") &&
				d.finds("nodes-do-not-reach-one-another", "node-2 does not reach node node-1", "gRPC at", "gossip over TCP at", "raft at") &&
				// Nor is more found than was cut, but where the machine stalls.
				!d.finds("nodes-do-not-reach-one-another", "UDP") && !d.finds("nodes-do-not-reach-one-another", "node-3")
		})
		if d.code != 1 {
			t.Errorf("exit code %d: %s", d.code, d.text)
		}
		if testing.Verbose() {
			out, errs, _ := process.Run(t, binary, "doctor", "--server", c.Members[2].GRPC, "--cluster-key-file", c.KeyFile())
			t.Logf("\n%s%s", out, errs)
		}
		lab.Heal()
		until(t, "nothing is found again", look, nothing)
		if _, errs, code := process.Run(t, binary, "doctor", "--server", c.Members[0].GRPC); code != 2 || errs == "" {
			t.Errorf("without the key: exit code %d: %s", code, errs)
		}
	})
}

// TestDoctorOfACluster finds what is not as it should be in a cluster, and on the machine of one of its nodes, while that runs.
func TestDoctorOfACluster(t *testing.T) {
	t.Parallel()
	binary := process.Build(t)
	c := process.StartCluster(t, binary, 3, clusterLimits, "--zone", "z", "--durability", "memory")
	m := c.Members[0]
	if _, errs, code := c.Run(m, "limits", "override", "set", "api", "user:*", "--deny"); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	until(t, "a limit that denies everything is found", func() diagnosis {
		for range 5 {
			c.Run(m, "check", "api", "user:1")
		}
		return diagnose(t, binary, "--server", m.GRPC)
	}, func(d *diagnosis) bool {
		return d.finds("a-limit-denies-everything", "limit api has denied all of its") && d.finds("one-zone-has-a-majority", "zone z") &&
			d.finds("decisions-are-kept-in-memory-only", "node-1, node-2, node-3")
	})
	until(t, "nothing is critical", func() diagnosis { return diagnose(t, binary, "--server", m.GRPC, "--least", "critical") }, func(d *diagnosis) bool {
		return d.code == 0
	})

	options := []string{
		"--data", m.Data, "--", "--listen-grpc", m.GRPC, "--listen-http", m.HTTP, "--listen-gossip", m.Gossip, "--listen-raft", m.Raft, "--expect", "3", "--join", c.Gossip(),
	}
	d := diagnose(t, binary, options...)
	if !strings.Contains(d.text, "a node has it open") || !strings.Contains(d.text, "the node may have") || d.finds("a-port-is-taken") || d.finds("the-node-runs-with-other-options") {
		t.Errorf("of the machine of a node that runs: %s", d.text)
	}
	options[len(options)-5] = "127.0.0.1:1" // raft's
	if d = diagnose(t, binary, options...); !d.finds("the-node-runs-with-other-options", "127.0.0.1:1 (--listen-raft, tcp)") && !d.finds("the-node-cannot-listen-at-an-address", "127.0.0.1:1") {
		t.Errorf("with another port: %s", d.text)
	}
	empty := append([]string{"--data", t.TempDir()}, options[2:]...)
	if d = diagnose(t, binary, empty...); !d.finds("a-port-is-taken", m.GRPC, "speaks gRPC") || !d.finds("a-port-is-taken", m.Gossip, "udp") {
		t.Errorf("for another node at the same ports: %s", d.text)
	}
	if code := m.Stop(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, m.Log())
	}
	if d = diagnose(t, binary, options...); !strings.Contains(d.text, "no node has it open") || !strings.Contains(d.text, m.GRPC+" (--listen-grpc, tcp) is free") {
		t.Errorf("of the machine of a node that has stopped: %s", d.text)
	}
}

// TestDoctorOfFewFiles runs it where few files may be open, as the process of a node would.
func TestDoctorOfFewFiles(t *testing.T) {
	t.Parallel()
	binary := process.Build(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -n 1000; exec "$0" "$@"`, binary, "doctor", "--data", t.TempDir(), "--", "--listen-gossip=", "--listen-raft=")
	cmd.Env = process.Environ()
	if out, err := cmd.Output(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "may have only 1000 files open") {
		t.Errorf("%v: %s", err, out)
	}
}
