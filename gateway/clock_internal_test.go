package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// TestGuardClock has the guard go by time.Now, and by a Now without a monotonic reading.
func TestGuardClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, now := range map[string]func() time.Time{"nil": nil, "time.Now": time.Now, "a time of day": func() time.Time { return time.Now().Round(0) }} {
			g, err := New(Config{Document: &config.Document{}, Checker: struct{ limit.Checker }{}, Limits: func() *limit.Document { return nil }, Now: now})
			if err != nil {
				t.Fatal(what, err)
			}
			before := g.nanos()
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
			if passed := g.nanos() - before; passed != int64(time.Second) || before != time.Now().Add(-time.Second).UnixNano() {
				t.Errorf("%s: %d ns of a second have passed since %d", what, passed, before)
			}
			g.Close()
		}
	})
}
