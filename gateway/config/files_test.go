package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/internal/bearer"
)

// TestFilesThatOthersMayWrite names files of tokens in a document: whoever may write one would make himself exempt, or an operator.
func TestFilesThatOthersMayWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tokens")
	if err := os.WriteFile(path, []byte(strings.Repeat("t", bearer.MinLength)), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, taken := range map[fs.FileMode]bool{0o400: true, 0o600: true, 0o640: true, 0o664: true, 0o602: false, 0o666: false, 0o777: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		for _, of := range []string{"exempt", "admin", "cluster"} {
			_, err := config.Parse([]byte(of+": {token_file: tokens}\n"), dir)
			refused := err != nil && strings.Contains(err.Error(), of+".token_file: cannot be read: "+path) && strings.Contains(err.Error(), "chmod o-w "+path)
			if refused == taken {
				t.Errorf("%04o, %s: %v; it must be taken: %v", mode, of, err, taken)
			}
		}
	}
}
