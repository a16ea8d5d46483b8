package clustertests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/backup"
	"github.com/jeton-dev/jeton/rpc/client"
)

// runAt runs a verb at a node, which must end with a code.
func runAt(t *testing.T, c *process.Cluster, m *process.Member, want int, args ...string) (both string) {
	t.Helper()
	out, errs, code := c.Run(m, args...)
	if code != want {
		t.Fatalf("jeton %s: exit code %d, want %d: %s%s", strings.Join(args, " "), code, want, out, errs)
	}
	return out + errs
}

// exportOf is what a cluster exports, as text and read.
func exportOf(t *testing.T, c *process.Cluster, m *process.Member) (string, *backup.File) {
	t.Helper()
	out, errs, code := c.Run(m, "cluster", "export")
	if code != 0 {
		t.Fatalf("jeton cluster export: exit code %d: %s", code, errs)
	}
	f, err := backup.Decode([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	return out, f
}

// What one cluster has exported another one puts in force, and says what that changes. Its buckets are its own.
func TestExportAndImport(t *testing.T) {
	t.Parallel()
	binary := process.Build(t)
	from := process.StartCluster(t, binary, 1, "limits: {api: {capacity: 3, refill: 1/s}, slow: {capacity: 10, refill: 1/h}}\n")
	a := from.Members[0]
	runAt(t, from, a, 0, "limits", "override", "set", "slow", "org:acme:*", "--capacity", "100")
	runAt(t, from, a, 0, "limits", "override", "set", "slow", "user:7", "--deny", "--for", "10h")
	runAt(t, from, a, 0, "limits", "override", "set", "slow", "user:8", "--deny", "--for", "1s")
	runAt(t, from, a, 0, "check", "slow", "user:1", "--cost", "10")
	before, told := exportOf(t, from, a)
	if len(told.Content.Audit.Entries) < 3 || told.Content.Cluster == "" {
		t.Errorf("it lacks something: %s", before)
	}
	_, again := exportOf(t, from, a)
	if len(again.Content.Overrides) == len(told.Content.Overrides) && again.SHA256 != told.SHA256 {
		t.Errorf("two exports of the same state have the digests %s and %s", told.SHA256, again.SHA256)
	}
	file := filepath.Join(t.TempDir(), "cluster.json")
	runAt(t, from, a, 0, "cluster", "export", "-o", file)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}

	into := process.StartCluster(t, binary, 3, "limits: {api: {capacity: 5, refill: 1/s}, other: {capacity: 1, refill: 1/s}}")
	b := into.Members[1]
	said := runAt(t, into, b, 2, "cluster", "import", "-f", file)
	if !strings.Contains(said, "leaves out limits that are in force: other") {
		t.Errorf("it says %s", said)
	}
	runAt(t, into, b, 0, "limits", "override", "set", "api", "mine", "--deny")
	for _, dry := range []bool{true, false} {
		args := []string{"cluster", "import", "-f", file, "--remove"}
		if dry {
			args = append(args, "--dry-run")
		}
		said := runAt(t, into, b, 0, args...)
		for _, want := range []string{
			"~ api\n", "capacity:       5 → 3", "+ slow\n", "- other", "+ slow org:acme:*: capacity: 100\n", "+ slow user:7: deny until ", "- api mine: deny\n", "overrides: 2 ", "1 removed",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("dry %v: it does not say %q: %s", dry, want, said)
			}
		}
		if got := runAt(t, into, b, 0, "limits", "get"); strings.Contains(got, "other:") != dry {
			t.Errorf("dry %v: the limits are %s", dry, got)
		}
	}
	_, after := exportOf(t, into, into.Members[0])
	if !bytes.Equal(after.Content.Limits.Text(), told.Content.Limits.Text()) || len(after.Content.Overrides) != 2 ||
		!after.Content.Overrides[1].Until.Equal(told.Content.Overrides[1].Until) {
		t.Errorf("what is in force now: %+v", after.Content)
	}
	var noted bool
	for _, e := range after.Content.Audit.Entries {
		noted = noted || e.Verb == "import" && strings.Contains(e.Detail, told.Content.Cluster)
		if e.Verb == "set override" && e.Object == "slow user:7" {
			t.Errorf("the audit log tells of what was done in another cluster: %+v", e)
		}
	}
	if !noted {
		t.Errorf("the audit log does not tell of the import: %+v", after.Content.Audit)
	}
	if said := runAt(t, into, b, 0, "cluster", "import", "-f", file); !strings.Contains(said, "overrides: 0 set") {
		t.Errorf("the second time it changes something: %s", said)
	}
	runAt(t, into, b, 1, "check", "slow", "user:7")
	runAt(t, into, b, 0, "check", "slow", "user:1", "--cost", "10") // the buckets of a new cluster are full: docs/move.md says so
	for text, want := range map[string]string{
		before[:len(before)/2]: "it is cut off",
		strings.Replace(before, "capacity: 3", "capacity: 9", 1):                "the file was changed after it was written",
		strings.Replace(before, `"format": 1`, `"format": 2`, 1):                "written by a newer release",
		strings.Replace(before, `"exported": {`, `"exported": {"why": "", `, 1): `unknown field "why"`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if said := runAt(t, into, b, 2, "cluster", "import", "-f", file); !strings.Contains(said, want) {
			t.Errorf("want %q: %s", want, said)
		}
	}
}

// The node that is asked is killed in the middle of an import. The same import again completes it.
func TestImportIsCompletedAfterAKill(t *testing.T) {
	t.Parallel()
	binary := process.Build(t)
	c := process.StartCluster(t, binary, 3, clusterLimits)
	_, f := exportOf(t, c, c.Members[0])
	const overrides = 2000
	for i := range overrides {
		f.Content.Overrides = append(f.Content.Overrides, backup.Override{Limit: "slow", Key: fmt.Sprint("user:", i), Says: limit.Denies.String()})
	}
	text, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	victim := c.Members[0]
	asks, err := client.New(client.Config{Servers: []string{victim.GRPC}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		defer asks.Close() //nolint:errcheck // it is over
		_, err := asks.Import(t.Context(), client.Import{File: text})
		ended <- err
	}()
	inForce := func() int {
		out := runAt(t, c, c.Members[1], 0, "limits", "override", "list", "--output", "json")
		var all []json.RawMessage
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	for inForce() < 50 {
	}
	victim.Kill()
	t.Logf("%d overrides are in force after the kill, and the import says %v", inForce(), <-ended)
	file := filepath.Join(t.TempDir(), "cluster.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	said := runAt(t, c, c.Members[1], 0, "cluster", "import", "-f", file)
	if n := inForce(); n != overrides {
		t.Errorf("%d overrides are in force, want %d: %s", n, overrides, said)
	}
}
