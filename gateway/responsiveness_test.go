package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// An upstream that is frozen takes connections and answers nothing: that is known after some requests, until it answers one.
func TestAnUpstreamThatAnswersNothing(t *testing.T) {
	var frozen atomic.Bool
	url := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		if frozen.Load() {
			<-r.Context().Done()
		}
	})
	r := newRig(t, fmt.Sprintf("proxy: {upstreams: {app: {urls: [%q], respond_within: 50ms}}}\nroutes: [{name: all, path: /}]", url))
	s := httptest.NewServer(r.gateway.Proxy())
	t.Cleanup(s.Close)
	step := func(freeze bool, status, requests int) {
		t.Helper()
		frozen.Store(freeze)
		a, _ := fetch(t, http.MethodGet, s.URL, "")
		for !freeze && a.StatusCode == http.StatusGatewayTimeout { // of a machine that is busy: that is one more without an answer
			a, _ = fetch(t, http.MethodGet, s.URL, "")
		}
		if a.StatusCode != status {
			t.Fatalf("answered %s", a.Status)
		}
		silent := r.gateway.Upstreams()[0].Unresponsive
		if len(silent) != min(requests, 1) || requests > 0 && (silent[0].URL != url || silent[0].Requests != requests || silent[0].Since.IsZero()) {
			t.Errorf("it is known that %+v, want %d requests", silent, requests)
		}
	}
	for _, known := range []int{0, 0, 0, 0, 5, 6} {
		step(true, http.StatusGatewayTimeout, known)
	}
	step(false, http.StatusOK, 0)
	step(true, http.StatusGatewayTimeout, 0)
}
