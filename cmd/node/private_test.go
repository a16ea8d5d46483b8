package node_test

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/jeton-dev/jeton/cmd/node"
)

// A node closes what an earlier version has left readable for every user, and a new directory is closed from the start.
func TestTheDataIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	cfg := node.Config{Data: dir, Logger: slog.New(slog.DiscardHandler)}
	for range 2 {
		n, err := node.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Fatalf("%v, %v; want mode 0700", info.Mode(), err)
		}
		each(t, dir, func(path string, mode fs.FileMode) {
			if err := os.Chmod(path, mode|0o044); err != nil {
				t.Fatal(err)
			}
		})
	}
	n, err := node.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close(t.Context()) //nolint:errcheck // only the modes count
	if mode := stat(t, filepath.Join(dir, "FORMAT")).Perm(); mode != 0o600 {
		t.Errorf("FORMAT has mode %04o", mode)
	}
	if mode := stat(t, filepath.Join(dir, "registers")).Perm(); mode != 0o700 {
		t.Errorf("registers has mode %04o", mode)
	}
}

// A directory that is not a node's is refused before anything in it is changed: --data may name a home or /etc by mistake.
func TestForeignDirectoriesStayAsTheyAre(t *testing.T) {
	for name, format := range map[string]string{"photo.jpg": "", "FORMAT": "jeton 99\n"} {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(format), 0o644); err != nil {
			t.Fatal(err)
		}
		n, err := node.Open(node.Config{Data: dir, Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			t.Errorf("a directory with %s was opened", name)
			if err := n.Close(t.Context()); err != nil {
				t.Error(err)
			}
			continue
		}
		for path, want := range map[string]fs.FileMode{dir: 0o755, file: 0o644} {
			if mode := stat(t, path).Perm(); mode != want {
				t.Errorf("%v: %s has mode %04o, and had %04o", err, path, mode, want)
			}
		}
	}
}

func stat(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// each calls f for everything in a directory, and itself.
func each(t *testing.T, dir string, f func(path string, mode fs.FileMode)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				f(path, info.Mode().Perm())
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
