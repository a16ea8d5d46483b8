package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/jeton/top"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/client"
)

// aBusyCluster is a cluster of one, with checks of user:1 that go on as long as the test.
func aBusyCluster(t *testing.T) (server string) {
	t.Helper()
	server = aCluster(t).GRPCAddr()
	c, err := client.New(client.Config{Servers: []string{server}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			_, _ = c.Check(ctx, limit.Request{Key: "user:1", Limits: []limit.Ref{limit.Named("demo")}})
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		_ = c.Close()
	})
	return server
}

// A script gets one table, or all that is known as an object.
func TestTopOnce(t *testing.T) {
	env := map[string]string{"JETON_SERVER": aBusyCluster(t), "JETON_EVERY": "600ms"}
	for _, tt := range []struct{ args, titles, row string }{
		{"--by limits", "allowed/s  denied/s  failed-open/s  failed-closed/s  errors/s  denied    used  limit", "demo"},
		{"--by keys", "checks/s  denied/s  denied  share    used     left  node  limits  key", "user:1"},
		{"--by nodes --sort utilization", "allowed/s  denied/s", "up"},
		{"--by nodes --sort utilisation --reverse", "allowed/s  denied/s", "up"}, //nolint:misspell // British people have this option too
		{"--by gateways --top 1", "gateway  allowed/s  denied/s  failed-open/s  failed-closed/s  p50ms  p99ms  version  admin", ""},
	} {
		stdout, stderr, code := jeton(t, env, append([]string{"top", "--once"}, strings.Fields(tt.args)...)...)
		titles, rows, _ := strings.Cut(stdout, "\n")
		if code != cli.ExitOK || !strings.Contains(titles, tt.titles) || (tt.row == "") != (rows == "") || !strings.HasSuffix(strings.TrimSuffix(rows, "\n"), tt.row) {
			t.Errorf("jeton top --once %s: exit code %d: %s\n%s", tt.args, code, stderr, stdout)
		}
	}
	stdout, stderr, code := jeton(t, env, "top", "--once", "--output", "json")
	var v activity.View
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != cli.ExitOK || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("exit code %d, %v: %s\n%s", code, err, stderr, stdout)
	}
	if v.Seconds <= 0 || v.Total.Denied <= 0 || len(v.Nodes) != 1 || v.Asked != "test" {
		t.Errorf("a second of a key that is denied is %+v", v)
	}
}

// A table of keys has those that are busy: where it has none, a script is told where to look for others, beside the table.
func TestTopWithoutBusyKeys(t *testing.T) {
	env := map[string]string{"JETON_SERVER": aCluster(t).GRPCAddr(), "JETON_EVERY": "200ms"}
	for by, want := range map[string]bool{"keys": true, "limits": false} {
		stdout, stderr, code := jeton(t, env, "top", "--once", "--by", by)
		if code != cli.ExitOK || strings.Count(stdout, "\n") != 1 || strings.Contains(stderr, "no key has 32 checks a second or more") != want {
			t.Errorf("jeton top --once --by %s: exit code %d: %s\n%s", by, code, stderr, stdout)
		}
	}
}

// A pipe gets a table, or a line of JSON, each time, until it is interrupted.
func TestTopInAPipe(t *testing.T) {
	server := aBusyCluster(t)
	lines, interrupt := follow(t, "top", "--every", "600ms", "--server", server)
	for range 2 {
		if line := nextLine(t, lines); !strings.Contains(line, "  nodes 1 of 1 up") {
			t.Errorf("the first line of a table: %q", line)
		}
		for nextLine(t, lines) != "" {
		}
	}
	if code := interrupt(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	lines, interrupt = follow(t, "top", "--every", "600ms", "--server", server, "--output", "json")
	for range 2 {
		var v activity.View
		if err := json.Unmarshal([]byte(nextLine(t, lines)), &v); err != nil || v.Seconds <= 0 {
			t.Errorf("%v, %+v", err, v)
		}
	}
	if code := interrupt(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// A person sees what the cluster does, opens a key and its bucket, and looks for a key.
func TestTopOnAScreen(t *testing.T) {
	server := aBusyCluster(t)
	m := aMonitor(t, 100, 30)
	code := make(chan int, 1)
	go func() {
		code <- run(t.Context(), make(chan os.Signal, 1), []string{"top", "--every", "600ms", "--server", server}, func(string) (string, bool) { return "", false }, m.tty, io.Discard)
	}()
	m.shows(t, "jeton top  cluster ", "asked test", "[limits]", "demo", "nodes 1 of 1 up")
	m.press(t, "\r")
	m.shows(t, "limit demo", "busiest keys", "user:1")
	m.press(t, "\r")
	m.shows(t, "demo of user:1", "0 of 10", "q quit")
	m.press(t, "k/user")
	m.shows(t, "[keys]", "/user_")
	m.press(t, "\r")
	m.shows(t, "in memory: 1 key that begins with user", "> ")
	m.press(t, "q")
	if code := <-code; code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// A cluster that does not answer leaves the screen as it is, with a line that says since when, until it answers again.
func TestTopWithoutAnswer(t *testing.T) {
	m := aMonitor(t, 80, 24)
	screen, _ := aSampleScreen(t)
	var silent atomic.Bool
	ended := make(chan error, 1)
	go func() {
		ended <- watch(t.Context(), m.tty, &live{
			screen: screen, every: 10 * time.Millisecond, now: time.Now,
			next: func(context.Context) (*activity.View, error) {
				if silent.Load() {
					return nil, errors.New("no answer within 5s\x1b]0;owned\x07\ntorn")
				}
				return &activity.View{Seconds: 1, Asked: "node-9", Limits: []activity.LimitRates{{Name: "login"}}}, nil
			},
			search: func(context.Context, top.Search) *top.Found { return nil },
		})
	}()
	m.shows(t, "asked node-9", "login")
	silent.Store(true)
	m.shows(t, "NO ANSWER since ", `no answer within 5s\x1b]0;owned\a\ntorn`, "login", "q quit")
	silent.Store(false)
	m.wait(t, "an answer", func(screen string) bool { return !strings.Contains(screen, "NO ANSWER") })
	m.press(t, "\x03")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A terminal that cannot show a screen gets tables.
func TestTopInADumbTerminal(t *testing.T) {
	server := aBusyCluster(t)
	m := aMonitor(t, 100, 24)
	t.Setenv("TERM", "dumb")
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, make(chan os.Signal, 1), []string{"top", "--every", "600ms", "--server", server}, func(string) (string, bool) { return "", false }, m.tty, io.Discard)
	}()
	m.shows(t, "allowed/s  denied/s", "demo")
	cancel()
	if code := <-code; code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if raw := m.raw.String(); strings.Contains(raw, "\x1b") {
		t.Errorf("a dumb terminal gets %q", raw)
	}
}

func TestTopRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--every 100ms":             "--every: 100ms: give 200ms or more, such as 1s",
		"--every soon":              `--every: "soon" is not a duration`,
		"--by tables":               `--by: "tables" is not known: use limits or keys or nodes or gateways`,
		"--sort name":               `--sort: "name" is not known: use traffic or denials or utilization`,
		"--top -1":                  "--top: -1: give a number of rows, or 0 for all",
		"--output xml":              "text or json",
		"--output json --by keys":   "--by: --output json has all tables with all their rows: leave one of them out",
		"--output json --sort used": `--sort: "used" is not known`,
		"--server 127.0.0.1:1":      "is a node running there?",
		"--once extra":              `"extra" is one argument too many`,
	} {
		if _, stderr, code := jeton(t, nil, append([]string{"top"}, strings.Fields(args)...)...); code != cli.ExitError || !strings.Contains(stderr, want) {
			t.Errorf("jeton top %s: exit code %d: %s", args, code, stderr)
		}
	}
}
