package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// marked stands above the blocks of the page about installation that this test runs.
const marked = "<!-- not run: make test-packages runs it on a bare Debian -->\n```sh\n"

// What the page about installation says to type, typed on a bare Debian, in order, beside the files of a release.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, debian(t), "127.0.0.1")
	m.bring(m.packageOf("now"))
	m.bring(filepath.Join(folder(t), "now", "checksums.txt"))
	blocks := strings.Split(string(page), marked)[1:]
	if len(blocks) < 3 {
		t.Fatalf("the page has %d blocks for this test", len(blocks))
	}
	for _, block := range blocks {
		commands, _, _ := strings.Cut(block, "```\n")
		if said, code := m.try("sh", "-e", "-c", "cd /root\n"+commands); code != 0 {
			t.Errorf("%s: exit code %d: %s", commands, code, said)
		}
	}
	key := m.command(m.user("jeton"), "jeton", "cluster", "token", "--cluster-key-file", keyFile)
	if said, err := key.CombinedOutput(); err != nil {
		t.Errorf("the user jeton cannot use the cluster key: %v: %s", err, said)
	}
}
