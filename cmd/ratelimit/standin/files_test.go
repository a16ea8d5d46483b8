package standin_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/authority"
	"github.com/jeton-dev/jeton/cmd/ratelimit/standin"
)

// TestFilesAreFollowed replaces certificates while they are shown, with some that are wrong in between.
func TestFilesAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, dir := authority.New(t, "ca"), t.TempDir()
		at := authority.Write(t, dir, ca.Issue(t, "first"), ca)
		f := &standin.Files{Cert: standin.File{Variable: "CERT", Path: at.Cert}, Key: standin.File{Variable: "KEY", Path: at.Key}, CA: standin.File{Variable: "CA", Path: at.CA}}
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, nil))
		shows := func(name string) {
			t.Helper()
			now, err := f.Now(log)
			if err != nil || now.Pool == nil || now.Shown.Leaf.Subject.CommonName != name {
				t.Fatalf("it shows %v, and not %s: %v", now, name, err)
			}
		}
		shows("first")
		authority.Write(t, dir, ca.Issue(t, "second"), ca)
		shows("first") // they are looked at once a second
		<-time.After(time.Second)
		shows("second")
		for range 3 {
			authority.Write(t, dir, ca.IssueFor(t, "old", time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)), ca)
			<-time.After(time.Second)
			shows("second")
		}
		if err := os.Remove(at.Key); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		shows("second")
		<-time.After(time.Second)
		shows("second")
		if n := strings.Count(text.String(), "new certificates are not taken"); n != 4 || !strings.Contains(text.String(), "CERT: "+at.Cert+": expired at") || !strings.Contains(text.String(), "KEY: ") {
			t.Errorf("the log has %d lines:\n%s", n, text.String())
		}
		authority.Write(t, dir, ca.Issue(t, "third"), ca)
		<-time.After(time.Second)
		shows("third")
	})
}

func TestFilesThatAreWrong(t *testing.T) {
	ca, dir := authority.New(t, "ca"), t.TempDir()
	at := authority.Write(t, dir, ca.Issue(t, "good"), ca)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ cert, key, ca, want string }{
		"nothing there":      {"nowhere", at.Key, at.CA, "CERT: "},
		"a pipe":             {at.Cert, pipe, at.CA, "KEY: " + pipe + " is no regular file"},
		"a large file":       {at.Cert, at.Key, big, "CA: " + big + ": has more than 1048576 bytes"},
		"a key that is none": {at.Cert, at.CA, at.CA, "CERT, KEY: "},
		"an authority":       {at.Cert, at.Key, at.Key, "CA: " + at.Key + ": holds no certificate in PEM"},
	} {
		f := &standin.Files{Cert: standin.File{Variable: "CERT", Path: c.cert}, Key: standin.File{Variable: "KEY", Path: c.key}, CA: standin.File{Variable: "CA", Path: c.ca}}
		if _, err := f.Now(slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
