package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/client"
)

// says runs a command and says what must be in what it prints.
func says(t *testing.T, env map[string]string, args string, code int, wants ...string) string {
	t.Helper()
	stdout, stderr, got := jeton(t, env, strings.Fields(args)...)
	if got != code {
		t.Errorf("%s: exit code %d, want %d: %s%s", args, got, code, stdout, stderr)
	}
	for _, want := range wants {
		if !strings.Contains(stdout+stderr, want) {
			t.Errorf("%s: %q is not in %q", args, want, stdout+stderr)
		}
	}
	return stdout
}

// An operator changes limits, looks at the versions, brings one back and fills a bucket: all of it stands in the log.
func TestHistoryRollbackAndAudit(t *testing.T) {
	n := aCluster(t)
	env := map[string]string{"JETON_SERVER": n.GRPCAddr()}
	says(t, env, "audit", cli.ExitOK, "no operator has changed anything yet")
	says(t, env, "limits history", cli.ExitOK, "version", "1 ", "(in force)")
	first := says(t, env, "limits history 1", cli.ExitOK, "limits:")
	file := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(file, []byte("limits: {mine: {capacity: 4, refill: 1/h}, yours: {capacity: 4, refill: 1/h}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout := says(t, env, "limits apply --remove -f "+file, cli.ExitOK, "+ mine", "· new: a key's bucket begins full", "· removed: checks that name it fail", "version 2 is in force")
	if !strings.Contains(stdout, "+ mine") {
		t.Errorf("the words are not on standard output: %q", stdout)
	}
	says(t, env, "check mine k", cli.ExitOK)
	says(t, env, "bucket mine k --fill", cli.ExitOK, "4 ")
	says(t, env, "bucket nothing k --fill", cli.ExitError, `unknown limit "nothing"`)
	says(t, env, "limits rollback 1", cli.ExitError, "version 1 leaves out limits that are in force: mine", "jeton limits rollback --remove")
	says(t, env, "limits rollback 1 --remove --dry-run", cli.ExitOK, "- mine", "nothing was changed: version 2 is in force")
	says(t, env, "limits rollback 1 --remove", cli.ExitOK, "- mine", "version 3 is in force")
	says(t, env, "limits rollback 1", cli.ExitOK, "nothing to change: version 3 is in force")
	says(t, env, "limits rollback 9", cli.ExitError, "the history of the limits does not have this version: 9; it has 1 to 3")
	says(t, env, "limits rollback x", cli.ExitError, `VERSION: "x" is no version of the limits`)
	says(t, env, "limits history 0", cli.ExitError, `VERSION: "0" is no version of the limits`)
	if got := says(t, env, "limits history 3", cli.ExitOK); got != first {
		t.Errorf("what was brought back is %q, and was %q", got, first)
	}
	says(t, env, "audit", cli.ExitOK, "set limits version 2: ", "added mine, yours", "fill mine k", "set limits version 3: back to version 1: ", "no credentials", "127.0.0.1:")
	says(t, env, "audit --last -1", cli.ExitError, "--last: give a number from 1 on")
	var log cluster.AuditLog
	if err := json.Unmarshal([]byte(says(t, env, "audit --last 1 --output json", cli.ExitOK)), &log); err != nil || len(log.Entries) != 1 || log.Dropped != 2 ||
		log.Entries[0].Number != 3 || log.Entries[0].Node != "test" {
		t.Errorf("the last entry is %+v: %v", log, err)
	}
	var editions []cluster.Edition
	if err := json.Unmarshal([]byte(says(t, env, "limits history --output json", cli.ExitOK)), &editions); err != nil || len(editions) != 3 || !editions[2].InForce {
		t.Errorf("the history is %+v: %v", editions, err)
	}
	overHTTP(t, n.HTTPAddr())
}

// overHTTP looks at the same over HTTP.
func overHTTP(t *testing.T, address string) {
	t.Helper()
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"/v1/audit?last=1":             {http.StatusOK, `{"dropped":"2","entries":[{"number":"3","at":"`},
		"/v1/audit":                    {http.StatusOK, `"verb":"fill","object":"mine k"`},
		"/v1/audit?last=0":             {http.StatusBadRequest, "is no number from 1 on"},
		"/v1/audit?first=1":            {http.StatusBadRequest, "the only parameter is last"},
		"/v1/limits/history":           {http.StatusOK, `{"version":"3","in_force":true,"at":"`},
		"/v1/limits/history?version=2": {http.StatusOK, `"document":"limits: {mine: {capacity: 4`},
		"/v1/limits/history?version=9": {http.StatusBadRequest, "does not have this version: 9"},
	} {
		response, err := http.Get("http://" + address + path) //nolint:noctx // of a test
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
		if err != nil || response.StatusCode != want.status || !strings.Contains(string(body), want.says) {
			t.Errorf("GET %s: %d %s (%v), want %d and %s", path, response.StatusCode, body, err, want.status, want.says)
		}
	}
}

// A limits document that is too large is refused on every way in, by its size.
func TestLargeLimitsAreRefused(t *testing.T) {
	data := t.TempDir()
	n := aClusterIn(t, data)
	env := map[string]string{"JETON_SERVER": n.GRPCAddr()}
	large := "limits: {}\n#" + strings.Repeat("x", 5<<20)
	says5 := fmt.Sprintf("document: has %d bytes; a limits document has at most %d (1 MiB)", len(large), limit.MaxDocument)
	file := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(file, []byte(large), 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, env, "limits apply -f "+file, cli.ExitError, file, says5)
	says(t, env, "serve --data "+t.TempDir()+" --limits "+file, cli.ExitError, file, says5)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+n.HTTPAddr()+"/v1/limits", strings.NewReader(large))
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(body), says5) {
		t.Errorf("over HTTP: %d %s (%v)", response.StatusCode, body, err)
	}
	c, err := client.New(client.Config{Servers: []string{n.GRPCAddr()}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // of a test
	if _, err := c.ApplyLimits(t.Context(), client.Apply{Document: large}); err == nil || !strings.Contains(err.Error(), says5) {
		t.Errorf("over gRPC: %v", err)
	}
	if _, err := c.ApplyLimits(t.Context(), client.Apply{Document: large + large}); err == nil || !strings.Contains(err.Error(), "larger than max") {
		t.Errorf("more than a message over gRPC: %v", err)
	}
}
