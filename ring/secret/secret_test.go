package secret_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring/secret"
)

func TestWhichFilesAreTaken(t *testing.T) {
	for mode, taken := range map[fs.FileMode]bool{
		0o400: true, 0o600: true, 0o440: true, 0o640: true, 0o700: true, 0o751: true, // of the owner, and read by its group
		0o644: false, 0o444: false, 0o604: false, 0o602: false, 0o660: false, 0o666: false, 0o777: false,
	} {
		dir := t.TempDir()
		path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
		if err := os.WriteFile(path, []byte("the secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(path, mode), os.Symlink(path, link)); err != nil { // a link has mode 0777
			t.Fatal(err)
		}
		for _, at := range []string{path, link} {
			text, err := secret.Read(at, 100, false)
			if taken != (err == nil && string(text) == "the secret") {
				t.Errorf("%04o: %q, %v; it must be taken: %v", mode, text, err, taken)
			}
			if !taken && (!errors.Is(err, secret.ErrOpen) || !strings.Contains(err.Error(), "chmod g-w,o= "+at)) {
				t.Errorf("%04o: %v does not say what mends it", mode, err)
			}
			if text, err := secret.Read(at, 100, true); err != nil || string(text) != "the secret" {
				t.Errorf("%04o, insecure: %q, %v", mode, text, err)
			}
		}
	}
}

func TestLongFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := secret.Read(path, 4, false); err != nil || len(text) != 5 {
		t.Errorf("%q, %v; want one byte more than was asked for", text, err)
	}
	if _, err := secret.Read(path+"-", 4, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
