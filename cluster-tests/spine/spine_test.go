package spine

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What the path of one check through a gateway and a node may have. A change may lower these. How many files run for it in all is
// only printed: under load, what runs now and then is counted too.
const (
	maxSpine   = 19 // files that lead to the decision
	maxChanges = 22 // of file, among these
)

// requests are sent in a row: what runs for each of them counts, and what only runs now and then (timers, gossip, a reservation)
// does not.
const requests = 200

// TestPathOfACheck prints the files that a reader walks through to understand one check (go test -v), and holds their number.
func TestPathOfACheck(t *testing.T) {
	profile := profileOf(t)
	path, err := Read("../..", profile, requests)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(path)
	for name, have := range map[string][2]int{
		"files lead to the decision (maxSpine)":   {len(path.Spine), maxSpine},
		"changes of file lead to it (maxChanges)": {len(path.Changes), maxChanges},
	} {
		if have[0] > have[1] {
			t.Errorf("%d %s; at most %d may", have[0], name, have[1])
		}
	}
	// The path goes through all of these; without one of them, it was not followed to its end.
	for _, folder := range []string{"gateway", "rpc/nodes", "rpc", "actor", "actor/owner", "actor/limit"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(path.Spine)), func(file string) bool { return filepath.Dir(file) == folder }) {
			t.Errorf("no file of %s leads to the decision: the path was lost", folder)
		}
	}
}

// profileOf builds the program walk with counters in all packages, runs it, and returns the profile that it has left.
func profileOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	walk, counters, profile := filepath.Join(dir, "walk"), filepath.Join(dir, "counters"), filepath.Join(dir, "profile")
	if err := os.Mkdir(counters, 0o700); err != nil {
		t.Fatal(err)
	}
	run(t, "go", "build", "-cover", "-covermode=atomic", "-coverpkg=./...", "-o", walk, "./cluster-tests/spine/walk")
	run(t, walk, counters, strconv.Itoa(requests))
	run(t, "go", "tool", "covdata", "textfmt", "-i="+counters, "-o="+profile)
	return profile
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = "../.."
	command.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
}

// TestRead follows a path of which everything is known: closures that are called by what they are given to, methods of an
// interface, functions in fields, and a branch that runs too seldom.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	profile := filepath.Join(dir, "profile")
	run(t, "go", "test", "-count=1", "-covermode=atomic", "-coverpkg=./cluster-tests/spine/testdata/road/...", "-coverprofile="+profile,
		"./cluster-tests/spine/testdata/road")
	path, err := read("../..", profile, 10, "./cluster-tests/spine/testdata/road/...")
	if err != nil {
		t.Fatal(err)
	}
	const want = `
7 files and 7 functions run for every request; 5 files lead to the decision, with 4 changes of file
enter.go: Enter
    → deliver.go: deliver
    → step.go: step
deliver.go: deliver
    → queue.go: pass
queue.go: pass
    → owner.go: owner.decide
owner.go: owner.decide
step.go: step
leaves: actor/limit/limit.go, leaf.go
`
	if got := strings.ReplaceAll(path.String(), "cluster-tests/spine/testdata/road/", ""); got != want[1:] {
		t.Errorf("read\n%s\nwant\n%s", got, want)
	}
}
