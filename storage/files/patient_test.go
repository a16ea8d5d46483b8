package files

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestOpenWaitsForADescriptor opens a file while there is no descriptor for hours: the node goes on all that time. Only one that
// is to end gives up.
func TestOpenWaitsForADescriptor(t *testing.T) {
	none := &os.PathError{Op: "open", Path: "some", Err: syscall.EMFILE}
	synctest.Test(t, func(t *testing.T) {
		log := &strings.Builder{}
		p := NewPatient(vfs.NewMem(), slog.New(slog.NewTextHandler(log, nil)))
		free := time.Now().Add(3 * time.Hour)
		if _, err := p.retry("some", func() (vfs.File, error) {
			if time.Now().Before(free) {
				return nil, none
			}
			return nil, nil //nolint:nilnil // no file is looked at
		}); err != nil {
			t.Errorf("after hours: %v", err)
		}
		if said := strings.Count(log.String(), "\n"); said < 100 || said > 200 {
			t.Errorf("the log has %d lines of three hours, want one a minute", said)
		}
		time.AfterFunc(time.Hour, p.StopWaiting)
		for _, want := range []time.Duration{time.Hour + giveUpAfter, giveUpAfter} {
			start := time.Now()
			_, err := p.retry("some", func() (vfs.File, error) { return nil, none })
			if took := time.Since(start); !errors.Is(err, syscall.EMFILE) || took != want {
				t.Errorf("one that is to end gives up after %v with %v, want %v", took, err, want)
			}
		}
	})
}
