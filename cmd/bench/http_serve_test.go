package bench

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// serveHTTP runs a role until the test ends, and returns its address.
func serveHTTP(t *testing.T, role, upstream string) string {
	t.Helper()
	logged, log := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ServeHTTP(ctx, role, upstream, slog.New(slog.NewTextHandler(log, nil))) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	line := make([]byte, 1000)
	n, err := logged.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	found := servingHTTP.FindSubmatch(line[:n])
	if found == nil {
		t.Fatalf("the %s does not say where it listens: %s", role, line[:n])
	}
	return string(found[1])
}

// Every role answers what the generator can read, and the proxy what its upstream does.
func TestServeHTTP(t *testing.T) {
	upstream := serveHTTP(t, Upstream, "")
	for role, want := range map[string]struct {
		address, body string
		status        int
	}{
		Upstream:   {upstream, upstreamBody, http.StatusOK},
		BareProxy:  {serveHTTP(t, BareProxy, "http://"+upstream), upstreamBody, http.StatusOK},
		BareAnswer: {serveHTTP(t, BareAnswer, ""), "", http.StatusNoContent},
		BareDenial: {serveHTTP(t, BareDenial, ""), deniedBody, http.StatusTooManyRequests},
	} {
		b := &httpBed{}
		target := b.proxied(want.address)
		target.status = 999 // so that the body is shown
		c := &httpCaller{target: target}
		for range 2 {
			status, body, err := c.exchange(t.Context(), "k")
			if err != nil || status != want.status || string(body) != want.body {
				t.Errorf("%s: %d, %q, %v", role, status, body, err)
			}
		}
	}
}

func TestServeHTTPRefuses(t *testing.T) {
	for _, tt := range []struct{ role, upstream, want string }{
		{"proxy", "", `--role: "proxy" is not known: use upstream, bare-proxy, bare-answer`},
		{BareProxy, "", `--upstream: "" is not a URL`},
		{BareProxy, "127.0.0.1:9000", "--upstream: "},
	} {
		err := ServeHTTP(t.Context(), tt.role, tt.upstream, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
