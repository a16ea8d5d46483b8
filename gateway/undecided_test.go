package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// "Why did I get a 503?": the id in the answer finds which limits were asked for, and what kept the cluster from deciding.
func TestUndecidedIsExplained(t *testing.T) {
	for name, c := range map[string]struct {
		checks string
		err    error
		want   string
	}{
		"nobody is there": {
			"{limits: [strict]}", fmt.Errorf("node at a:7700: %w: connection refused", limit.ErrUnavailable),
			"limit strict: node at a:7700: no decision available: connection refused",
		},
		"several limits": {"{limits: [strict, ten]}", limit.ErrUnavailable, "limits strict, ten: no decision available"},
		"too late": {
			"{limits: [strict]}", fmt.Errorf("node at a:7700: %w", context.DeadlineExceeded),
			"limit strict: no answer within decide_within: node at a:7700: context deadline exceeded",
		},
		"a limit that nobody has": {"{limits: [twelve]}", nil, "limit twelve: "},
		"a key that is secret": {
			`{key: ["s:{header.X-Secret}"], limits: [strict]}`, fmt.Errorf(`%w: not here: "s:hush-hush"`, limit.ErrUnavailable),
			"limit strict: no decision available: not here: \"sha256-",
		},
		"a key that is secret, in a check that passed": {
			`{key: ["s:{header.X-Secret}"], limits: [ten]}, {limits: [strict]}`, fmt.Errorf(`%w: not here: "s:hush-hush"`, limit.ErrUnavailable),
			"limit strict: no decision available: not here: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, oneRoute(c.checks))
			if c.err != nil {
				r.breakDown(c.err)
			}
			a := r.ask(request(t, http.MethodGet, "/", "X-Secret: hush-hush"))
			record, err := r.gateway.Recall(strings.TrimPrefix(problem(t, a)["instance"].(string), "urn:jeton:denial:"))
			if err != nil || a.StatusCode != http.StatusServiceUnavailable {
				t.Fatalf("%s, %v", a.Status, err)
			}
			if !strings.HasPrefix(record.Why, c.want) || strings.Contains(record.Undecided, "hush") || record.Undecided == "" && strings.Contains(record.Why, "hush") {
				t.Errorf("why: %s, want %s; undecided: %s", record.Why, c.want, record.Undecided)
			}
			if passed := strings.Contains(name, "that passed"); passed != strings.HasPrefix(record.Undecided, "limit ten: no decision available: not here: \"sha256-") {
				t.Errorf("undecided: %q", record.Undecided)
			}
		})
	}
}
