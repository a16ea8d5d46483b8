package algorithm_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	list = "actor/limit/algorithm.go"
	line = "\tToyWindows: {newToyWindows, []string{\"capacity\", \"refill\"}},\n"
)

// begin is where the list begins. The new line stands before all others.
var begin = regexp.MustCompile(`(?m)^var algorithms = \w+\(map\[string\]\w+\{\n`)

// overlay writes the list with one line more, and returns the value of go's -overlay.
func overlay(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, list))
	if err != nil {
		t.Fatal(err)
	}
	before := string(text)
	at := begin.FindAllStringIndex(before, -1)
	if len(at) != 1 {
		t.Fatalf("this stands %d times in %s, and must stand there once: %s", len(at), list, begin)
	}
	after := before[:at[0][1]] + line + before[at[0][1]:]
	dir := t.TempDir()
	changed := filepath.Join(dir, "algorithm.go")
	if err := os.WriteFile(changed, []byte(after), 0o600); err != nil {
		t.Fatal(err)
	}
	added := filepath.Join(root, "actor", "limit", "toywindows.go")
	if _, err := os.Stat(added); !os.IsNotExist(err) {
		t.Fatalf("%s is there already: %v", added, err)
	}
	windows, err := filepath.Abs("testdata/toywindows.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err = json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, list): changed, added: windows}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAnotherAlgorithm runs the suites with one more algorithm.
func TestAnotherAlgorithm(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	with := overlay(t, root)
	for _, suite := range []struct{ pkg, run, ran string }{
		{"./actor/limit", ".", "TestEveryAlgorithmKeepsItsEnvelope/toy-windows"},
		{"./cluster-tests/conformance", "^TestConformance$", "TestConformance/toy-windows"},
		{"./actor", "^TestConformance$", "TestConformance/memory/toy-windows"},
		{"./actor/owner", "^TestModelOfEveryAlgorithm$", "TestModelOfEveryAlgorithm/toy-windows"},
		{"./gateway/answer", "EveryAlgorithm$", "TestHeadersOfEveryAlgorithm/toy-windows"},
		{"./gateway/fallback", "EveryAlgorithm$", "TestPartsOfEveryAlgorithm/toy-windows"},
		{"./rpc/debug", "^TestPages(AreNarrow|OfEveryAlgorithm)$", "TestPagesOfEveryAlgorithm/toy-windows"},
		{"./cluster-tests/simulation", "^TestShortlyOfEveryAlgorithm$", "TestShortlyOfEveryAlgorithm"},
	} {
		t.Run(suite.pkg, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-overlay", with, "-run", suite.run, suite.pkg)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out[max(0, len(out)-8000):])
			}
			if !bytes.Contains(out, []byte("--- PASS: "+suite.ran)) {
				t.Errorf("%s has not run:\n%s", suite.ran, out[max(0, len(out)-2000):])
			}
		})
	}
}
