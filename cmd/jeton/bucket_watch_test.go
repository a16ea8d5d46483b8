package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// follow runs a verb until the test interrupts it, with its lines as they come, and its exit code in the end.
func follow(t *testing.T, args ...string) (lines *bufio.Scanner, interrupt func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, make(chan os.Signal, 1), args, func(string) (string, bool) { return "", false }, in, io.Discard)
		_ = in.Close()
	}()
	interrupt = func() int {
		cancel()
		_, _ = io.Copy(io.Discard, out)
		return <-code
	}
	return bufio.NewScanner(out), interrupt
}

// nextLine is the next line of a verb.
func nextLine(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	if !lines.Scan() {
		t.Fatal("it has ended")
	}
	return lines.Text()
}

// A pipe gets a line each time the bucket has changed, and no line while nothing happens.
func TestBucketIsFollowed(t *testing.T) {
	server := aNode(t).GRPCAddr()
	lines, interrupt := follow(t, "bucket", "login", "a/b", "--watch", "--every", "200ms", "--server", server)
	if line := nextLine(t, lines); !strings.HasSuffix(line, "  login of a/b: 5 of 5 left") {
		t.Errorf("at first: %q", line)
	}
	jeton(t, nil, "check", "login", "a/b", "--cost", "4", "--server", server)
	if line := nextLine(t, lines); !strings.HasSuffix(line, "  login of a/b: 1 of 5 left; last 1 allowed, 0 denied") {
		t.Errorf("after a check: %q", line)
	}
	if code := interrupt(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	lines, interrupt = follow(t, "bucket", "login", "a/b", "--watch", "--output", "json", "--server", server)
	var bucket struct{ Tokens int64 }
	if err := json.Unmarshal([]byte(nextLine(t, lines)), &bucket); err != nil || bucket.Tokens != 1 {
		t.Errorf("%v, %+v", err, bucket)
	}
	if code := interrupt(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// What is wrong is said once, as it is without --watch.
func TestBucketThatCannotBeFollowed(t *testing.T) {
	node := aNode(t).GRPCAddr()
	for args, hint := range map[string]string{
		"demo k --server 127.0.0.1:1": "is a node running there?",
		"nosuch k --server " + node:   "jeton limits get shows",
	} {
		_, want, _ := jeton(t, nil, append([]string{"bucket"}, strings.Fields(args)...)...)
		_, said, code := jeton(t, nil, append([]string{"bucket", "--watch"}, strings.Fields(args)...)...)
		if said != want || code != cli.ExitError || strings.Count(said, hint) != 1 {
			t.Errorf("jeton bucket --watch %s: exit code %d: %s, want %s", args, code, said, want)
		}
	}
}

// What a line says beside the tokens.
func TestLinesOfABucket(t *testing.T) {
	rule, err := limit.Limit{Name: "demo", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: 1e9}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	before := limit.Inspection{Key: "k", Rule: rule, Now: 1e9, Tokens: 6, Recent: []limit.Recent{{At: 5e8, Allowed: true}}}
	now := before
	now.Now = 2e9
	if changed(&before, &now) {
		t.Error("only time has passed, and it is said that the bucket has changed")
	}
	now.Recent = append(now.Recent[:1:1], limit.Recent{At: 15e8}, limit.Recent{At: 16e8, Allowed: true}, limit.Recent{At: 17e8})
	now.Key, now.Closed = "k"+hostile, 12e9
	var out strings.Builder
	w := &bucketWatch{}
	if err := w.write(&out, now, before); err != nil || !changed(&before, &now) {
		t.Errorf("%v, or nothing has changed", err)
	}
	if got := out.String(); steers(got) || !strings.HasSuffix(got, ": 6 of 10 left, closed by a penalty for 10s; since then 1 allowed, 2 denied\n") {
		t.Errorf("%q", got)
	}
	now.Verdict, now.Override = limit.Denies, "deny"
	out.Reset()
	if err := w.write(&out, now, limit.Inspection{}); err != nil || !strings.Contains(out.String(), ": every check is denied: deny, closed") {
		t.Errorf("%v, %q", err, out.String())
	}
}

// In a terminal it is a screen, which follows the bucket and the size of the terminal. A key cannot steer it.
func TestBucketOnAScreen(t *testing.T) {
	server := aNode(t).GRPCAddr()
	m := aMonitor(t, 80, 24)
	key := "user\x1b]0;owned\x07" + strings.Repeat("é", 20)
	code := make(chan int, 1)
	go func() {
		code <- run(t.Context(), make(chan os.Signal, 1), []string{"bucket", "demo", key, "--watch", "--every", "200ms", "--server", server}, os.LookupEnv, m.tty, io.Discard)
	}()
	m.shows(t, "jeton bucket", `demo of "user\x1b]0;owned`, "10 of 10: full", "q quit")
	jeton(t, nil, "check", "demo", key, "--cost", "4", "--server", server)
	m.shows(t, "6 of 10", "|####")
	m.resize(t, 40, 10)
	m.wait(t, "less", func(screen string) bool {
		return strings.Count(screen, "\n") == 10 && strings.Contains(screen, "demo of")
	})
	m.resize(t, 120, 50)
	m.shows(t, "cost 4  allowed", "q quit")
	m.press(t, "?")
	m.shows(t, "any key goes back")
	m.press(t, "xlkq")
	if code := <-code; code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if raw := m.raw.String(); strings.Contains(raw, "\x1b]0;") || strings.Contains(raw, "\x07") {
		t.Errorf("the key reaches the terminal: %q", raw)
	}
}

func TestBucketWatchRefuses(t *testing.T) {
	env := map[string]string{"JETON_SERVER": aNode(t).GRPCAddr()}
	for args, want := range map[string]string{
		"bucket demo k --watch --every 100ms": "--every: 100ms: give 200ms or more, such as 1s",
		"bucket demo k --every 1s":            "--every: give --watch too",
		"bucket nope k --watch":               `unknown limit "nope": jeton limits get shows all limits`,
		"bucket demo k --watch --every soon":  `--every: "soon" is not a duration`,
	} {
		if _, stderr, code := jeton(t, env, strings.Fields(args)...); code != cli.ExitError || !strings.Contains(stderr, want) {
			t.Errorf("jeton %s: exit code %d: %s", args, code, stderr)
		}
	}
}
