package standin

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A failing Limiter fails with err, if it has one.
type failing struct {
	limit.Limiter

	err error
}

func (f *failing) Check(context.Context, limit.Request) (limit.Decision, error) {
	return limit.Decision{}, f.err
}

func (f *failing) CheckAll(context.Context, []limit.Request) (limit.AllDecision, error) {
	return limit.AllDecision{}, f.err
}

func (f *failing) CheckBatch(context.Context, []limit.Request) []limit.Result {
	return []limit.Result{{}, {Err: f.err}}
}

// An outage is logged when it begins, once a minute, and when it is over.
func TestOutageIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		cluster := &failing{}
		o := &outage{Limiter: cluster, log: slog.New(slog.NewTextHandler(&log, nil))}
		// call makes three calls of one outcome, and compares what was logged.
		call := func(what string, err error, says string) {
			t.Helper()
			cluster.err = err
			_, _ = o.Check(t.Context(), limit.Request{})
			_, _ = o.CheckAll(t.Context(), nil)
			_ = o.CheckBatch(t.Context(), nil)
			if !strings.Contains(log.String(), says) || strings.Count(log.String(), "\n") != min(1, len(says)) {
				t.Errorf("%s: the log says %q, want %q", what, log.String(), says)
			}
			log.Reset()
		}
		gone := errors.New("no node can be reached")
		call("all is well", nil, "")
		call("a wrong request", &limit.FieldError{Field: "key", Problem: "is missing"}, "")
		call("a caller that is gone", context.Canceled, "")
		call("the cluster is gone", gone, `calls=1 error="no node can be reached"`)
		call("it is still", gone, "")
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
		call("a minute later", gone, "calls=6 ")
		call("it is back", nil, "level=WARN msg=\"the buckets answer again\"")
		call("it is still back", nil, "")
		call("it is gone at once", gone, "")
		call("it is back at once", nil, "")
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
		call("it is gone again", gone, "the buckets do not answer")
	})
}
