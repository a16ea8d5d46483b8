package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Files that give whoever reads them what the gateway may do are for the gateway alone, unless somebody says that they need
// not be; all others may be read by anybody.
func TestExposedFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	document := filepath.Join(dir, "full.yaml")
	modes := func(mode os.FileMode) {
		t.Helper()
		for _, name := range []string{"cert.pem", "jwks.json", "key.pem", "secret", "tokens"} {
			if err := os.Chmod(filepath.Join(dir, "files", name), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, mode := range []os.FileMode{0o600, 0o640} {
		modes(mode)
		if _, err := Read(document); err != nil {
			t.Errorf("with mode %04o: %v", mode, err)
		}
	}
	modes(0o644)
	if _, err := ReadInsecure(document); err != nil {
		t.Errorf("where that is allowed: %v", err)
	}
	_, err := Read(document)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("with mode 0644: %v", err)
	}
	var fields []string
	for _, err := range joined.Unwrap() {
		if problem, is := errors.AsType[*limit.FieldError](err); is {
			fields = append(fields, problem.Field)
		}
		for _, want := range []string{document + ":", "has mode 0644", "chmod g-w,o= " + filepath.Join(dir, "files"), "--insecure"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
	}
	want := []string{"cluster.tls.key", "cluster.token_file", "clusters.global.tls.key", "proxy.tls.key", "proxy.upstreams.web.tls.key", "doors.tls.key", "doors.redis_token_file", "admin.token_file", "identity.jwt[2].secret_file", "exempt.token_file"}
	if !slices.Equal(fields, want) {
		t.Errorf("refused are %q, want %q", fields, want)
	}
}
