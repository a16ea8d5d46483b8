package gateway_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/gateway/denial"
)

// The gateway's own 502 and 504 have an id, by which whoever operates it finds out which upstream has not answered whom, and why.
func TestAnUpstreamThatDoesNotAnswerIsRemembered(t *testing.T) {
	gone := newDead(t)
	leave := make(chan struct{})
	t.Cleanup(func() { close(leave) })
	slow := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-leave:
		}
	})
	r := newRig(t, fmt.Sprintf(`
proxy: {upstreams: {gone: {urls: [%q]}, slow: {urls: [%q], respond_within: 50ms}}}
routes:
- {name: gone, path: /gone, upstream: gone, checks: [{limits: [ten]}]}
- {name: slow, path: /slow, upstream: slow, checks: [{limits: [ten], key: ["{header.X-User}"]}]}
`, gone.url(), slow))
	s := httptest.NewServer(r.gateway.Proxy())
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(gone.url(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, reason, key, why string
		status                 int
	}{
		{"/gone", "upstream_failed", "ip:127.0.0.1", ":" + port + ": connect: connection refused", http.StatusBadGateway},
		{"/slow", "upstream_timeout", denial.Hash("42"), "timeout awaiting response headers", http.StatusGatewayTimeout},
	} {
		a, text := fetch(t, http.MethodGet, s.URL+c.path+"/a?secret=1", "", "X-User: 42")
		var p struct{ Instance string }
		if err := json.Unmarshal([]byte(text), &p); err != nil || a.StatusCode != c.status {
			t.Fatalf("%s: %d %s", c.path, a.StatusCode, text)
		}
		id := strings.TrimPrefix(p.Instance, "urn:jeton:denial:")
		record, err := r.gateway.Denials().Recall(id)
		if err != nil {
			t.Fatalf("%s: %q: %v", c.path, id, err)
		}
		if record.Route != c.path[1:] || record.Upstream != c.path[1:] || record.Method != http.MethodGet || record.Path != c.path+"/a" ||
			record.Status != c.status || record.Reason != c.reason || record.Key != c.key || !strings.Contains(record.Why, c.why) || record.At.IsZero() {
			t.Errorf("%s: %+v", c.path, record)
		}
		if logs := r.logs.String(); !strings.Contains(logs, "denial="+id) {
			t.Errorf("the log does not have %s:\n%s", id, logs)
		}
	}
}
