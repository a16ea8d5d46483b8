package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// --check says what the files of a node mean, and names what is wrong in them, and starts nothing.
func TestServeCheck(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	limits, wrong := write("limits.yaml", "limits: {a: {capacity: 1, refill: 1/s}}"), write("wrong.yaml", "limits: {a: {capacity: 0, refill: 1/s}}")
	good := filepath.Dir(write("good/d.yaml", "domain: d\ndescriptors:\n  - {key: user, rate_limit: {unit: hour, requests_per_unit: 2}}\n"))
	bad := filepath.Dir(write("bad/d.yaml", "domain: d\ndescriptors:\n  - {key: user, rate_limit: {unit: fortnight, requests_per_unit: 2}}\n"))
	list := write("list.yaml", "- {namespace: a, max_value: 1, seconds: 60, conditions: [], variables: [user_id]}\n")
	unreadable := write("unreadable.yaml", "- {namespace: a, max_value: 1, seconds: 60, conditions: ['x =='], variables: []}\n")
	both := write("both.yaml", "- {namespace: a, max_value: 1, seconds: 60, conditions: ['x =='], variables: []}\n- {namespace: a, max_valu: 1, seconds: 60, conditions: [], variables: []}\n")
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"--limits " + limits + " --doors rls --rls-config " + good, 0, []string{"limits.yaml is good: limits: 1", "charge_always"}},
		{"--limits " + wrong, cli.ExitError, []string{"wrong.yaml", "capacity"}},
		{"--doors rls --rls-config " + bad, cli.ExitError, []string{"d.yaml:3", "fortnight", "use second"}},
		{"--doors rls --rls-config " + filepath.Join(dir, "none"), cli.ExitError, []string{"none"}},
		{"--doors kuadrant --kuadrant-config " + list, 0, []string{"Namespaces: 1. Limits: 1.", `list.yaml:1: [0].variables[0]: refers to "user_id"`, "Different from Limitador"}},
		{"--doors kuadrant --kuadrant-config " + unreadable, cli.ExitError, []string{"unreadable.yaml:1: [0].conditions[0]", "is no CEL"}},
		{"--doors kuadrant --kuadrant-config " + filepath.Join(dir, "none"), cli.ExitError, []string{"none"}},
		{"--doors kuadrant --kuadrant-config " + both, cli.ExitError, []string{"both.yaml:1: [0].conditions[0]", "Look at these lines", "both.yaml:2: [1].max_valu"}},
		{"--doors rls --rls-config " + list, cli.ExitError, []string{"list.yaml is no directory: name the one with the files"}},
		{"--limits " + dir, cli.ExitError, []string{"--limits: ", "is a directory"}},
		{"", 0, []string{"the options are good; they name no file with limits (--limits, "}},
		{"--config " + write("empty.yaml", "# nothing yet\n"), 0, []string{"the options are good; " + filepath.Join(dir, "empty.yaml") + " sets none; they name no file"}},
		{"--limits " + limits, 0, []string{"the options are good\n" + limits + " is good: limits: 1\n"}},
	} {
		stdout, stderr, code := jeton(t, nil, append([]string{"serve", "--check", "--data", filepath.Join(dir, "data")}, strings.Fields(c.args)...)...)
		for _, says := range c.says {
			if code != c.code || !strings.Contains(stdout+stderr, says) {
				t.Errorf("serve --check %s: exit code %d, %s%s, want %d and %q", c.args, code, stdout, stderr, c.code, says)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Error("a directory for data was made")
	}
}

// --check refuses what the node refuses, in the same words, before it looks at limits.
func TestServeCheckRefusesAsServe(t *testing.T) {
	dir := t.TempDir()
	limits, tokens := filepath.Join(dir, "limits.yaml"), filepath.Join(dir, "tokens")
	for path, text := range map[string]string{limits: "limits: {a: {capacity: 1, refill: 1/s}}", tokens: "short\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	member := filepath.Join(dir, "member")
	if err := os.MkdirAll(filepath.Join(member, "cluster"), 0o700); err != nil {
		t.Fatal(err)
	}
	for args, says := range map[string]string{
		"--expect 2":                    "expect: a cluster is founded by 1, 3 or 5 nodes",
		"--expect 2 --limits " + limits: "expect: a cluster is founded by 1, 3 or 5 nodes",
		"--join 10.0.0.1":               `join: "10.0.0.1" is not host:port: give gossip addresses`,
		"--join a:7701,:7701":           `join: ":7701" is not host:port`,
		"--join a:77777":                `join: "a:77777": "77777" is no port`,
		"--join a:":                     `join: "a:": "" is no port`,
		"--listen-http 127.0.0.1:77777": `listen-http: "127.0.0.1:77777": "77777" is no port`,
		"--listen-grpc 77":              `listen-grpc: "77" is not host:port`,
		"--listen-http 0.0.0.0:0":       "listen-http: 0.0.0.0:0 can be reached from other machines",
		"--listen-gossip 1.2.3.4:0":     "listen-gossip: 1.2.3.4:0 can be reached from other machines",
		"--insecure --listen-grpc :0":   "is every address of this machine: name with --advertise",
		"--advertise 0.0.0.0":           "advertise: 0.0.0.0 is every address of this machine: name the one at which others reach it",
		"--advertise a:7700":            `advertise: "a:7700" has a port: give only the host`,
		"--advertise [fd00::1]":         `advertise: "[fd00::1]" is no host`,
		"--advertise http://a":          `advertise: "http://a" has a port`,
		"--listen-grpc 127.0.0.1:23999 --listen-http 127.0.0.1:23999":                 "listen-grpc, listen-http: both are to listen on port 23999: give each a port of its own",
		"--listen-gossip localhost:23999 --listen-raft 127.0.0.1:23999":               "listen-gossip, listen-raft: both are to listen on port 23999",
		"--insecure --advertise a --listen-grpc 10.0.0.1:23999 --listen-redis :23999": "listen-grpc, listen-redis: both are to listen on port 23999",
		"--cluster-key-file /none":     "/none",
		"--tls-cert /none":             "tls-",
		"--admin-token-file " + tokens: tokens,
		"--listen-redis :0":            "listen-redis: :0 can be reached",
		"--doors nobody":               `doors: unknown door "nobody"`,
		"--doors rls":                  "doors: door rls: needs the directory with its limits",
		"--rls-config " + dir:          "rls-headers, rls-metadata: are for the door rls, which is not open",
		"--inline-fill 0":              "inline-fill: 0 is out of range",
		"--trace-sample 2":             "trace-sample: 2 is out of range",

		"--listen-gossip= --listen-raft= --data " + member: "belongs to a node of a cluster",
	} {
		var said []string
		for _, check := range []bool{false, true} {
			all := []string{"serve", "--data", filepath.Join(dir, "data"), "--listen-http", "127.0.0.1:0", "--listen-gossip", "127.0.0.1:0", "--listen-raft", "127.0.0.1:0"}
			if check {
				all = append(all, "--check")
			}
			if !strings.Contains(args, "--listen-grpc") {
				all = append(all, "--listen-grpc", "127.0.0.1:0")
			}
			stdout, stderr, code := jeton(t, nil, append(all, strings.Fields(args)...)...)
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			said = append(said, lines[len(lines)-1])
			if code != cli.ExitError || !strings.Contains(stderr, says) || stdout != "" {
				t.Errorf("serve %s, --check %t: exit code %d, %s%s, want %q", args, check, code, stdout, stderr, says)
			}
		}
		if said[0] != said[1] && !strings.Contains(said[0], "[::]:") { // a listener tells its address in another form
			t.Errorf("serve %s says %s, and with --check %s", args, said[0], said[1])
		}
	}
}
