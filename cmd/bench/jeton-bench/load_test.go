package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/bench"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// A load of one call of each caller: it ends at once, however slow the machine is.
const briefly = " --duration 1ms --warmup 0 --callers 3 "

func TestBenchVerb(t *testing.T) {
	env := map[string]string{"JETON_SERVER": aNode(t).GRPCAddr()}
	for _, tt := range []struct {
		args string
		code int
		want string // in stdout, or in stderr if the code is 2
	}{
		{"--limit api" + briefly, 0, "checks/s"},
		{"--capacity 1 --refill 1/h --keys one" + briefly, 0, "allowed 1   denied"},
		{"--limit api --batch 10 --keys zipf --zipf 0.9" + briefly, 0, "processor time per check"},
		{"--limit api --output json" + briefly, 0, `"checks_per_second":`},
		{"", 2, "--limit: name a stored limit"},
		{"--limit nope", 2, `--limit: the node at `},
		{"--limit api --capacity 3", 2, "--limit: names a stored limit, and"},
		{"--capacity 3", 2, `--refill: "" is not`},
		{"--capacity 3 --refill 2/s/s", 2, "--refill: "},
		{"--capacity -3 --refill 2/s", 2, "--capacity: -3 is too small"},
		{"--limit api --server 127.0.0.1:1", 2, "--server: no answer from a node at 127.0.0.1:1"},
		{"--limit api --batch 1001", 2, "--batch: 1001 is not between 1 and 1000"},
		{"--limit api --callers 0 --batch 2000", 2, "--batch: "},
		{"--limit api --keys some", 2, `--keys: "some" is not known`},
		{"--limit api --arrivals poisson", 2, "--arrivals: means something only with --rate"},
		{"--limit api --rate -5", 2, "--rate: -5 is not between"},
		{"--limit api --pairs 3", 2, "--pairs: means something only with --compare"},
		{"--limit api --durability memory", 2, "--durability: means something only with --compare"},
		{"--limit api --nodes 3", 2, "--nodes: means something only with --compare: add that, or leave this out"},
		{"--limit api --output yaml", 2, "text or json"},
		{"--compare noop --limit api", 2, "--limit: --compare brings its own limits"},
		{"--compare noop", 2, "--server: --compare starts nodes of its own: leave it out, and JETON_SERVER too"},
		{"--nodes 3 --compare 1 --capacity 5", 2, "--capacity: --compare brings its own limits"},
		{"some", 2, "some"},
		{"flood --only some", 2, `--only: "some" is not known: use keys, receipts, ids, limits, one-key`},
		{"flood --nodes 2", 2, "--nodes: "},
		{"table --only some", 2, `--only: "some" is no case`},
		{"table --cluster --only unary", 2, `--only: "unary" is no case: they are cluster-new, `},
		{"table --cluster --full", 2, "--full: no case of a cluster takes minutes"},
		{"table --temp /nonexistent", 2, "--temp: /nonexistent is not a folder"},
	} {
		stdout, stderr, code := benchmark(t, env, strings.Fields(tt.args)...)
		said := stdout
		if tt.code == cli.ExitError {
			said = stderr
		}
		if code != tt.code || !strings.Contains(said, tt.want) {
			t.Errorf("jeton bench %s: exit code %d, %q %q; want %d and %q", tt.args, code, stdout, stderr, tt.code, tt.want)
		}
	}
	for args, want := range map[string]string{
		"--compare postgres":                      `--compare: "postgres" is not known`,
		"--compare noop --deny --keys new":        "--keys: a new key is never denied",
		"--nodes 2 --compare 1":                   `--nodes: "2" is not known: use 1, 3, 5`,
		"--nodes 3 --compare 3":                   `--compare: "3" is not known: use noop, redis, 1`,
		"--nodes 3 --compare 1 --deny --keys new": "--keys: a new key is never denied",
		"--compare noop --pairs -1":               "--pairs: -1 is not between",
		"--compare noop --temp /nonexistent":      "--temp: ",
	} {
		if _, stderr, code := benchmark(t, nil, strings.Fields(args)...); code != cli.ExitError || !strings.Contains(stderr, want) {
			t.Errorf("jeton bench %s: exit code %d, %q; want %q", args, code, stderr, want)
		}
	}
}

func TestBenchJSON(t *testing.T) {
	stdout, stderr, code := benchmark(t, map[string]string{"JETON_SERVER": aNode(t).GRPCAddr()},
		strings.Fields("--limit api --batch 10 --keys one --output json"+briefly)...)
	var r bench.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != cli.ExitOK {
		t.Fatalf("%v, exit code %d: %s%s", err, code, stdout, stderr)
	}
	// The first hundred tokens of the one key are there at once; 50 come back in a second.
	if r.Checks != 10*r.Calls || r.Calls < 3 || r.Allowed < 30 || r.Latency.Max <= 0 || r.ChecksPerSecond <= 0 {
		t.Errorf("%+v", r)
	}
}
