package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/rpc/client"
)

// What is said of an import fits what changes: limits, overrides, both or nothing.
func TestWhatAnImportSays(t *testing.T) {
	same, other := client.Applied{Version: 1}, client.Applied{Version: 2, Changes: limit.Changes{Added: []string{"slow"}}}
	const sameLimits = "limits: nothing to change: version 1 is in force, and says the same\n"
	for _, tt := range []struct {
		done client.Imported
		dry  bool
		want string
	}{
		{
			client.Imported{Limits: same, Overrides: []string{"+ login org:acme:*: capacity: 100"}, Set: 1},
			true,
			sameLimits + "+ login org:acme:*: capacity: 100\noverrides: 1 would be set, 0 removed\nnothing was changed\n",
		},
		{client.Imported{Limits: same}, true, sameLimits + "overrides: 0 would be set, 0 removed\nnothing was changed\n"},
		{client.Imported{Limits: other, Set: 2}, true, "+ slow\noverrides: 2 would be set, 0 removed\nnothing was changed\n"},
		{client.Imported{Limits: same, Removed: 1}, false, sameLimits + "overrides: 0 set, 1 removed\nthe limits and overrides of the file are in force\n"},
		{client.Imported{Limits: other}, false, "+ slow\noverrides: 0 set, 0 removed\nthe limits and overrides of the file are in force\n"},
	} {
		var said strings.Builder
		if err := printImport(&said, &said, tt.done, tt.dry); err != nil || said.String() != tt.want {
			t.Errorf("%+v, dry %t: %v: %s\nwant %s", tt.done, tt.dry, err, said.String(), tt.want)
		}
	}
}

// An import that has to wait for a leader says so at once.
func TestImportWithoutALeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	if _, stderr, code := jeton(t, nil, "cluster", "export", "-o", path, "--server", aCluster(t).GRPCAddr()); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	_, stderr, code := jeton(t, nil, "cluster", "import", "-f", path, "--server", aFounder(t).GRPCAddr(), "--timeout", "300ms")
	if code != cli.ExitError || !strings.HasPrefix(stderr, "the cluster has no leader, as test sees it: waiting for one, up to 300ms (--timeout)") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A file that cannot be written is named as it was asked for.
func TestExportNamesTheFileThatWasAskedFor(t *testing.T) {
	env := map[string]string{"JETON_SERVER": aCluster(t).GRPCAddr()}
	path := filepath.Join(t.TempDir(), "none", "x.json")
	if _, stderr, code := jeton(t, env, "cluster", "export", "-o", path); code != cli.ExitError || !strings.HasSuffix(stderr, "-o: open "+path+": no such file or directory\n") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	path = filepath.Join(t.TempDir(), "x.json")
	if _, stderr, code := jeton(t, env, "cluster", "export", "-o", path); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %+v, %v", info, err)
	}
}
