package facts

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/storage/datadir"
)

// empty says that nothing is in a folder.
func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left behind: %v", left, err)
	}
}

// TestFsyncs times a disk whose every fifth fsync takes long, for as long as it may.
func TestFsyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, n := t.TempDir(), 0
		f := timeFsyncs(t.Context(), dir, func(*os.File) error {
			if n++; n%5 == 0 {
				<-time.After(300 * time.Millisecond)
			} else {
				<-time.After(2 * time.Millisecond)
			}
			return nil
		})
		if f.Unknown != "" || f.P50 != 2*time.Millisecond || f.P99 != 300*time.Millisecond || f.Writes != n || n >= fsyncs {
			t.Errorf("after %d fsyncs: %+v", n, f)
		}
		empty(t, dir)
	})
}

// TestFsyncsOfThisDisk leaves nothing behind, not even of a program that was killed.
func TestFsyncsOfThisDisk(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, datadir.ProbeFile), []byte("left"), 0o400); err != nil {
		t.Fatal(err)
	}
	if f := timeFsyncs(t.Context(), dir, (*os.File).Sync); f.Unknown != "" || f.Writes == 0 || f.P50 <= 0 || f.P99 < f.P50 {
		t.Errorf("got %+v", f)
	}
	empty(t, dir)
}

// TestFsyncsFail says why, and leaves nothing behind either.
func TestFsyncsFail(t *testing.T) {
	dir := t.TempDir()
	if f := timeFsyncs(t.Context(), dir, func(*os.File) error { return errors.New("the disk is full") }); f.Unknown != "the disk is full" {
		t.Errorf("got %+v", f)
	}
	empty(t, dir)
	if f := timeFsyncs(t.Context(), filepath.Join(dir, "none"), (*os.File).Sync); !strings.Contains(f.Unknown, "no such file") {
		t.Errorf("got %+v", f)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if f := timeFsyncs(ended, dir, (*os.File).Sync); f.Unknown != "context canceled" {
		t.Errorf("got %+v", f)
	}
	empty(t, dir)
}

const mounts = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 27 8:1 / /var rw,noatime shared:2 master:3 - xfs /dev/sda1 rw,nobarrier
31 30 0:40 / /var/lib/je\040ton rw - tmpfs none rw,size=1k
32 27 0:41 /a /data rw - ext4 /dev/sdb rw
33 27 0:42 /b /data rw - overlay overlay rw,volatile
broken line
`

func TestMountAt(t *testing.T) {
	for path, want := range map[string]string{
		"/home":               "ext4 / /dev/vda rw,relatime,rw,discard 254:0",
		"/variable":           "ext4 / /dev/vda rw,relatime,rw,discard 254:0",
		"/var":                "xfs /var /dev/sda1 rw,noatime,rw,nobarrier 8:1",
		"/var/lib/jeton":      "xfs /var /dev/sda1 rw,noatime,rw,nobarrier 8:1",
		"/var/lib/je ton/a/b": "tmpfs /var/lib/je ton none rw,rw,size=1k 0:40",
		"/data/x":             "overlay /data overlay rw,rw,volatile 0:42",
	} {
		m := mountAt(strings.NewReader(mounts), path)
		if got := strings.Join([]string{m.Type, m.Point, m.Source, strings.Join(m.Options, ","), m.Device}, " "); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
