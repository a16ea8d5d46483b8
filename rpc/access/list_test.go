package access_test

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/rpc/access"
)

// Every route of a door stands in its list, once, with what it does, and those of other doors do not.
func TestList(t *testing.T) {
	for _, at := range []access.Door{access.NodeHTTP, access.GatewayHTTP} {
		lines := strings.Split(strings.TrimSuffix(access.List(at), "\n"), "\n")
		for _, e := range access.Table() {
			if e.Door != at {
				continue
			}
			if len(lines) == 0 {
				t.Fatalf("%s is not in the list", e.Call)
			}
			words := strings.Fields(lines[0])
			does := strings.Fields(strings.ReplaceAll(e.Does, "`", ""))
			if got, want := strings.Join(words, " "), e.Call+" "+strings.Join(does, " "); got != want {
				t.Errorf("the list has %q, want %q", got, want)
			}
			lines = lines[1:]
		}
		if len(lines) > 0 {
			t.Errorf("the list has more than the table: %q", lines)
		}
	}
}

// Who asks for a path that is not there is told of all those under /v1/.
func TestCalls(t *testing.T) {
	const want = "POST /v1/check, POST /v1/check-all, POST /v1/hold, POST /v1/settle, POST /v1/extend, POST /v1/return, POST /v1/GetRateLimits, GET /v1/HealthCheck, GET /v1/LiveCheck, GET /v1/limits, PUT /v1/limits, GET /v1/limits/history, GET /v1/overrides, " +
		"PUT /v1/overrides, DELETE /v1/overrides, POST /v1/fill, " +
		"GET /v1/audit, " +
		"GET /v1/buckets/{limit}/{key...} or " +
		"DELETE /v1/buckets/{limit}/{key...}"
	if got := access.Calls(access.NodeHTTP, "/v1/"); got != want {
		t.Errorf("the calls are %s, want %s", got, want)
	}
}
