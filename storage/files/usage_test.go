package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"one": 1000, "a/two": 200, "a/b/three": 30} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	used, free := Usage(vfs.Default, dir)
	if used != 1230 || free <= 0 {
		t.Errorf("%d bytes are used and %d free, want 1230", used, free)
	}
	if used, free := Usage(vfs.NewMem(), "nowhere"); used != 0 || free != 0 {
		t.Errorf("%d bytes are used and %d free of a directory that is not there", used, free)
	}
}
