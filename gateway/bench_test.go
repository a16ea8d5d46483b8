package gateway_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
)

// yes admits everything.
type yes struct{}

func (yes) Check(_ context.Context, r limit.Request) (limit.Decision, error) {
	return limit.Decision{Allowed: true, Limits: []limit.Outcome{{
		Name: r.Limits[0].Name, Allowed: true, Limit: 100, Remaining: 90, ResetAfter: 10 * time.Second,
	}}}, nil
}

// maxAllocations is what a request may cost beyond the handler, the checker's own two included.
const maxAllocations = 6

func newBench(tb testing.TB) (http.Handler, *http.Request, discard) {
	tb.Helper()
	doc, err := limit.ParseDocument([]byte(storedLimits))
	if err != nil {
		tb.Fatal(err)
	}
	d, err := config.Parse([]byte(oneRoute("{limits: [hundred]}")), tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Document: d, Checker: yes{}, Limits: func() *limit.Document { return doc }})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(g.Close)
	q, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://example.com/v1/items/42", nil)
	if err != nil {
		tb.Fatal(err)
	}
	q.RemoteAddr = "192.0.2.1:1234"
	return gateway.Middleware(g)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), q, discard{http.Header{}}
}

func BenchmarkMiddleware(b *testing.B) {
	h, q, w := newBench(b)
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		h.ServeHTTP(w, q)
	}
}

func TestMiddlewareAllocates(t *testing.T) {
	h, q, w := newBench(t)
	if got := testing.AllocsPerRun(1000, func() {
		clear(w.header)
		h.ServeHTTP(w, q)
	}); got > maxAllocations {
		t.Errorf("%v allocations a request, want at most %d", got, maxAllocations)
	}
}
