package bench

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// The middleware of a real gateway is asked, and what it costs is above nothing, also where the bare handler has to wait for a processor.
func TestMiddlewareAlone(t *testing.T) {
	for _, by := range []string{ByAPIKey, ByHeader} {
		b := &httpBed{HTTPing: HTTPing{By: by, KeyCount: 10, Pairs: 5, Duration: 200 * time.Millisecond, Setup: Setup{Temp: t.TempDir()}}, folder: t.TempDir()}
		if err := b.check(); err != nil {
			t.Fatal(err)
		}
		values, pairs, err := middlewareAlone(t.Context(), b)
		if err != nil || len(values) != 3 || pairs != nil {
			t.Fatalf("%s: %v, %+v", by, err, values)
		}
		if values[0].Median <= 0 || values[1].Median < 1 || values[2].Median <= 0 {
			t.Errorf("%s: %v µs, %v allocations and %v µs of processor time more", by, values[0], values[1], values[2])
		}
	}
}

// An answer that is not the expected one fails the measurement.
func TestHandlerCallerIsStrict(t *testing.T) {
	limited := func(w http.ResponseWriter) { w.Header().Set("RateLimit", `"open";r=1`) }
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		limited bool
		want    string // empty: it passes
	}{
		{"fine", func(w http.ResponseWriter, _ *http.Request) { limited(w); w.WriteHeader(http.StatusNoContent) }, true, ""},
		{"bare", answerNothing, false, ""},
		{"denied", func(w http.ResponseWriter, _ *http.Request) { limited(w); w.WriteHeader(http.StatusTooManyRequests) }, true, "answered 429"},
		{"not limited", answerNothing, true, "answered 204"},
		{"silent", func(http.ResponseWriter, *http.Request) {}, false, "answered 0"},
		{"a body", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("x")) }, false, "answered 200"}, //nolint:errcheck,gosec // never
	} {
		keys, err := newKeySpace(Load{Keys: Uniform, KeyCount: 3})
		if err != nil {
			t.Fatal(err)
		}
		c := handlerCaller{handler: tt.handler, keys: keys.pickerOf(0, 0), header: plainHeader, limited: tt.limited}
		n, err := c.ask(t.Context(), time.Time{})
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) || err == nil && n != 64 {
			t.Errorf("%s: %d requests, %v", tt.name, n, err)
		}
	}
}
