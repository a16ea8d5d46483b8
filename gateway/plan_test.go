package gateway_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

const withPlans = `identity:
  trusted_proxies: [192.0.2.1/32]
routes:
  - name: api
    path: /
    checks:
      - key: ['{proxy_header.X-User}']
        limits: [tariff]
        plan: '{proxy_header.X-Plan}'
`

// times is so many times 204, and then 429.
func times(n int) []int {
	return append(slices.Repeat([]int{http.StatusNoContent}, n), http.StatusTooManyRequests)
}

// A template says which plan counts. Without one, and with one that there is not, the limit's own numbers do, whether the gateway
// knows the limits or not.
func TestPlans(t *testing.T) {
	for _, unknown := range []bool{false, true} {
		r := newRig(t, withPlans)
		r.unknown.Store(unknown)
		for plan, n := range map[string]int{"": 3, "pro": 6, "gold": 3, "a b": 3, "{}": 3, strings.Repeat("x", 300): 3} {
			user := "X-User: " + fmt.Sprintf("%.8s", plan) + "!"
			r.wants("/", []string{user, "X-Plan: " + plan}, times(n)...)
		}
		a := r.ask(request(t, http.MethodGet, "/", "X-User: pro!", "X-Plan: pro"))
		record, err := r.gateway.Recall(strings.TrimPrefix(problem(t, a)["instance"].(string), "urn:jeton:denial:"))
		if err != nil {
			t.Fatal(err)
		}
		l := record.Limits[0]
		if l.Outcome.Plan != "pro" || l.Outcome.Limit != 6 || unknown != (l.Rule == nil) || !unknown && l.Rule.Capacity != 6 {
			t.Errorf("the denial says %+v, %+v", l.Outcome, l.Rule)
		}
	}
}

// While there is no decision, a gateway goes by the plans and overrides that it knows.
func TestPlansWithoutADecision(t *testing.T) {
	r := newRig(t, withPlans)
	if status := r.get("/", "X-User: first"); status != http.StatusNoContent {
		t.Fatal("status", status)
	}
	r.breakDown(errors.Join(limit.ErrUnavailable))
	for _, c := range []struct {
		user, plan string
		n          int
	}{{"a", "", 3}, {"b", "pro", 6}, {"c", "gold", 3}, {"mallory", "pro", 0}, {"big", "pro", 8}} {
		r.wants("/", []string{"X-User: " + c.user, "X-Plan: " + c.plan}, times(c.n)...)
	}
	r.wants("/", []string{"X-User: vip1"}, slices.Repeat([]int{http.StatusNoContent}, 20)...)
	a := r.ask(request(t, http.MethodGet, "/", "X-User: mallory"))
	record, err := r.gateway.Recall(strings.TrimPrefix(problem(t, a)["instance"].(string), "urn:jeton:denial:"))
	if err != nil {
		t.Fatal(err)
	}
	if o := record.Limits[0].Outcome; o.Override != `deny for "mallory", of the limits document` || o.RetryAfter != limit.RetryOfBlock {
		t.Errorf("the denial says %+v", o)
	}
}
