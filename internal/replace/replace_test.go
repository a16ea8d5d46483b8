package replace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/jeton-dev/jeton/internal/replace"
)

// A file is new, and for its owner alone, or takes the place of one whose permissions it gets. Nothing else is left in the folder.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	look := func(text string, mode fs.FileMode) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("it has %q, %v; want %q", got, err, text)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("its mode: %v, %v; want %v", info.Mode(), err, mode)
		}
		if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
			t.Errorf("the folder has %v, %v", all, err)
		}
	}
	if err := replace.File(path, []byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	look("a", 0o600)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := replace.File(path, []byte("bc"), before); err != nil {
		t.Fatal(err)
	}
	look("bc", 0o640)
}

// An error names the file that was asked for, and leaves everything as it was: the folder is not there or no folder, or something else has the name.
func TestFileThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.Mkdir(taken, 0o700); err != nil {
		t.Fatal(err)
	}
	linked, closed := filepath.Join(dir, "linked"), filepath.Join(dir, "closed")
	if err := os.Symlink(taken, linked); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(closed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none", "x"): "open", filepath.Join(closed, "x"): "open", taken: "replace", linked: "replace", os.DevNull: "replace",
	} {
		err := replace.File(path, []byte("a"), nil)
		if of, is := errors.AsType[*fs.PathError](err); !is || of.Path != path || of.Op != want {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 3 {
		t.Errorf("the folder has %v, %v", all, err)
	}
}
