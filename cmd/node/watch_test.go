package node

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The files are looked at every few seconds. What is wrong is logged once, and again when it is something else; so is that
// it was mended.
func TestWatchSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			log     bytes.Buffer
			looked  int
			changed bool
			wrong   error
		)
		s := &secrets{log: slog.New(slog.NewTextHandler(&log, nil)), watched: []*watchedFiles{{options: "tls-cert", reload: func() (bool, error) {
			looked++
			return changed, wrong
		}}}}
		stopping, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			s.watch(stopping)
		}()
		step := func(thatChanged bool, thatWrong error, says string, lines int) {
			t.Helper()
			s.mu.Lock() // under which the files are read
			changed, wrong = thatChanged, thatWrong
			log.Reset()
			before := looked
			s.mu.Unlock()
			<-time.After(10*rereadEvery + time.Millisecond)
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			if looked != before+10 {
				t.Errorf("looked %d times in ten rounds", looked-before)
			}
			if got := log.String(); strings.Count(got, "\n") != lines || !strings.Contains(got, says) {
				t.Errorf("changed %v, %v: logged\n%swant %d lines with %q", changed, wrong, got, lines, says)
			}
		}
		step(false, nil, "", 0)
		step(false, errors.New("one thing"), "one thing", 1)
		step(false, errors.New("another thing"), "another thing", 1)
		s.reread(true)
		s.mu.Lock()
		lines := strings.Count(log.String(), "another thing")
		s.mu.Unlock()
		if lines != 2 {
			t.Errorf("an operator who asks is not told: %d lines, want 2", lines)
		}
		step(false, nil, "files match what is in force again", 1)
		step(true, nil, "reloaded files", 10) // another change each time
		close(stopping)
		<-stopped
	})
}
