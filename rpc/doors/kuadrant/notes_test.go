package kuadrant_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/rpc/doors/doorstest"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant"
)

// A misspelled field that denies everything is logged at the start and when the file changes, and no more than ten notes are.
func TestNotesAreLogged(t *testing.T) {
	const misspelled = "- {namespace: ns, max_valu: 5, seconds: 60, conditions: [], variables: ['descriptors[0].user']}\n"
	synctest.Test(t, func(t *testing.T) {
		path := write(t, misspelled)
		var log bytes.Buffer
		door, err := kuadrant.New(kuadrant.Config{Limiter: doorstest.NewSystem(t, ""), Path: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		logged := func(what string, lines int, says ...string) {
			t.Helper()
			for _, s := range says {
				if !strings.Contains(log.String(), s) {
					t.Errorf("%s: the log does not say %q: %s", what, s, log.String())
				}
			}
			if n := strings.Count(log.String(), "level=WARN"); n != lines {
				t.Errorf("%s: %d warnings, want %d: %s", what, n, lines, log.String())
			}
			log.Reset()
		}
		logged("the start", 2, "limits.yaml:1: [0].max_valu: is not a known field", "did you mean", "the limit denies everything")

		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); door.Run(ctx) }()
		after := func() {
			pass(time.Second)
			synctest.Wait()
		}
		after()
		logged("nothing", 0)
		put(t, path, strings.ReplaceAll(misspelled, "conditions: []", `conditions: ["user == 'a'"]`))
		after()
		logged("a change", 3, "which no request has: the limit never applies")
		put(t, path, one("5"))
		after()
		logged("no notes", 0)
		put(t, path, strings.Repeat(misspelled, 20))
		after()
		logged("many notes", 11, "more=")
		end()
		<-done
	})
}
