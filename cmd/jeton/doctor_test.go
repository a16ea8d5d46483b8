package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/jeton/doctor"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// TestDoctorOfACluster asks a cluster of one, whose only flaw is that it is one, and what else is named.
func TestDoctorOfACluster(t *testing.T) {
	edge := httptest.NewTLSServer(http.NotFoundHandler())
	defer edge.Close()
	env := map[string]string{"JETON_SERVER": aCluster(t).GRPCAddr()}
	stdout, stderr, code := jeton(t, env, "doctor", "--output", "json", "--gateway", edge.Listener.Addr().String())
	var r doctor.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != cli.ExitNo || stderr != "" {
		t.Fatalf("exit code %d: %v: %s%s", code, err, stdout, stderr)
	}
	const slow = "the disk of node test is slow" // as of a machine that stood still, and no flaw of the cluster
	r.Findings = slices.DeleteFunc(r.Findings, func(p activity.Problem) bool { return strings.HasPrefix(p.What, slow) })
	if len(r.Findings) != 1 || r.Findings[0].Severity != activity.Notice || !strings.HasSuffix(r.Findings[0].More, "#registers-are-kept-on-one-node") || r.Machine != "" {
		t.Errorf("found %+v", r.Findings)
	}
	if !strings.Contains(stdout, ": 1 node, of which 1 votes, leader test; 1 replica of each register") {
		t.Errorf("it does not count the nodes: %s", stdout)
	}
	if !strings.Contains(stdout, `"certificates","says":"1 are shown"`) {
		t.Errorf("the gateway's certificate is not seen: %s", stdout)
	}
	stdout, _, code = jeton(t, env, "doctor", "--gateway", "http://127.0.0.1:1/", "--least", "warning")
	if code != cli.ExitNo || !strings.Contains(stdout, "warning: 127.0.0.1:1, which --gateway names, cannot be reached from here: ") || !strings.Contains(stdout, "whether gateways decide: none tells") {
		t.Errorf("a gateway that is not there: exit code %d: %s", code, stdout)
	}
	stdout, _, code = jeton(t, env, "doctor", "--least", "warning")
	if !strings.Contains(stdout, slow) && (code != cli.ExitOK || !strings.HasSuffix(stdout, "\nnothing found\n")) {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

// TestDoctorOfAMachine looks where a node will run, by a file with its options; in the same run it cannot ask a cluster.
func TestDoctorOfAMachine(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "jeton.yaml")
	text := "listen-gossip: ''\nlisten-raft: ''\nlisten-grpc: 127.0.0.1:0\nlisten-http: 127.0.0.1:0\nmemory: 128MiB\nlimits: " + filepath.Join(dir, "none.yaml") + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := jeton(t, nil, "doctor", "--config", config, "--data", filepath.Join(dir, "data"), "--", "--durability", "memory")
	for _, says := range []string{
		filepath.Join(dir, "data") + ": nothing is in it yet", "the node stays below 128.0 MiB (--memory)", "critical: --limits: ", "none.yaml: no such file", "warning: --durability memory",
		"https://github.com/jeton-dev/jeton/blob/main/docs/doctor.md#a-file-that-an-option-names-is-wrong",
	} {
		if code != cli.ExitNo || stderr != "" || !strings.Contains(stdout, says) {
			t.Errorf("exit code %d, want %q: %s%s", code, says, stdout, stderr)
		}
	}
	stdout, stderr, code = jeton(t, nil, "doctor", "--data", dir+"/data", "--server", "127.0.0.1:1", "--timeout", "1s")
	if code != cli.ExitError || !strings.Contains(stdout, "looked at:") || !strings.Contains(stderr, "127.0.0.1:1") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// TestDoctorOfOptions finds what jeton serve --check refuses, in the same words, once.
func TestDoctorOfOptions(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	common := []string{"--listen-http", "127.0.0.1:0", "--listen-gossip", "127.0.0.1:0", "--listen-raft", "127.0.0.1:0", "--data", filepath.Join(dir, "data")}
	for args, says := range map[string]string{
		"--listen-grpc :0":                                       "with these options: listen-grpc: :0 can be reached from other machines",
		"--listen-grpc :0 --insecure":                            "with these options: advertise: :0 is every address of this machine",
		"--listen-grpc 127.0.0.1:0 --expect 2":                   "with these options: expect: a cluster is founded by 1, 3 or 5 nodes",
		"--listen-grpc 127.0.0.1:0 --admin-token-file " + tokens: "critical: --admin-token-file: ",
	} {
		options := append(slices.Clone(common), strings.Fields(args)...)
		_, refusal, code := jeton(t, nil, append([]string{"serve", "--check"}, options...)...)
		if code != cli.ExitError {
			t.Errorf("serve --check %s: exit code %d", args, code)
		}
		stdout, stderr, code := jeton(t, nil, append([]string{"doctor", "--least", "critical", "--"}, options...)...)
		if code != cli.ExitNo || stderr != "" || !strings.Contains(stdout, says) || !strings.HasSuffix(stdout, "found: 1 critical\n") {
			t.Errorf("doctor %s: exit code %d, %s%s, want %q, and serve --check says %q", args, code, stdout, stderr, says, refusal)
		}
	}
}

// TestDoctorIsCalledWrong says what is wrong with the command line.
func TestDoctorIsCalledWrong(t *testing.T) {
	for args, says := range map[string]string{
		"here":                              `"here": options of jeton serve come after --`,
		"-- --listen-grcp :1":               "options of jeton serve, after --: unknown option --listen-grcp: did you mean --listen-grpc? see jeton serve --help",
		"--config /none.yaml":               "--config: open /none.yaml",
		"--server localhost":                `--server: "localhost" is no address`,
		"--gateway edge:443":                "--gateway: certificates are looked at where a cluster is: give --server too",
		"--server 127.0.0.1:1 --timeout 1s": "127.0.0.1:1",
		"--server a:1 --gateway nosuch":     `--gateway: "nosuch" is no address: write HOST:PORT, such as edge-1:443`,
		"--server a:1 --gateway edge:":      `--gateway: "edge:" is no address`,
		"--server a:1 --gateway e:1,e:x1":   `--gateway: "e:x1" is no address`,
		"-- --memory 1":                     "memory",
		"-- --inline-fill 0":                "inline-fill: 0 is out of range",
	} {
		stdout, stderr, code := jeton(t, nil, append([]string{"doctor"}, strings.Fields(args)...)...)
		if code != cli.ExitError || !strings.Contains(stderr, says) || stdout != "" {
			t.Errorf("jeton doctor %s: exit code %d: %s%s, want %q", args, code, stdout, stderr, says)
		}
	}
}
