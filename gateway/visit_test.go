package gateway_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// oneRoute is a document with one route at / that has these checks.
func oneRoute(checks string) string {
	return "routes:\n- {name: all, path: /, checks: [" + checks + "]}\n"
}

func TestCapacityThenDenied(t *testing.T) {
	r := newRig(t, oneRoute("{limits: [sixty]}"))
	admitted := 0
	for range 70 {
		if r.get("/v1/items") == http.StatusNoContent {
			admitted++
		}
	}
	if admitted != 60 {
		t.Errorf("%d of 70 were admitted at once, want 60", admitted)
	}
	r.pass(3 * time.Second)
	r.wants("/v1/items", nil, 204, 204, 204, 429)
}

func TestLimitsOfOneKeyAllOrNone(t *testing.T) {
	r := newRig(t, oneRoute("{limits: [ten, two]}"))
	r.wants("/", nil, 204, 204, 429, 429)
	if got := r.remaining("ip:192.0.2.1", "ten"); got != 8 {
		t.Errorf("%d of 10 remain: what the other limit denied was charged", got)
	}
}

// What an earlier check took is given back when a later one denies.
func TestKeysGiveBack(t *testing.T) {
	r := newRig(t, oneRoute(`{key: ["user:{header.X-User}"], limits: [hundred]}, {limits: [two]}`))
	r.wants("/", []string{"X-User: a"}, 204, 204, 429, 429, 429)
	r.gateway.Close() // waits for what is being given back
	if got := r.remaining("user:a", "hundred"); got != 98 {
		t.Errorf("%d of 100 remain, want 98: two were admitted", got)
	}
}

func TestUnidentified(t *testing.T) {
	r := newRig(t, oneRoute(`{key: ["user:{header.X-User}"], limits: [two]}`))
	a := r.ask(request(t, http.MethodGet, "/"))
	if a.StatusCode != http.StatusUnauthorized || problem(t, a)["type"] != "urn:jeton:problem:unidentified" {
		t.Errorf("status %d", a.StatusCode)
	}
	r.wants("/", []string{"X-User: a"}, 204, 204, 429)
	skips := newRig(t, oneRoute(`{key: ["user:{header.X-User}"], limits: [two], unidentified: skip}`))
	skips.wants("/", nil, 204, 204, 204, 204)
	skips.wants("/", []string{"X-User: a"}, 204, 204, 429)
}

func TestChoose(t *testing.T) {
	const choose = `{limits: [two], choose: {by: header.X-Plan, when: [{is: pro, limits: [hundred]}, {is: free, limits: []}]}}`
	r := newRig(t, oneRoute(choose))
	r.wants("/", []string{"X-Plan: free"}, 204, 204, 204)
	r.wants("/", nil, 204, 204, 429)
	r.wants("/", []string{"X-Plan: other"}, 429)
	r.wants("/", []string{"X-Plan: pro"}, 204, 204, 204)
	scores := newRig(t, oneRoute(`{limits: [hundred], choose: {by: header.X-Bot-Score, when: [{below: 30, limits: [two]}, {from: 90.5, limits: []}]}}`))
	for score, name := range map[string]string{"29.9": "two", "-3": "two", "30": "hundred", "90.4": "hundred", "nonsense": "hundred", "NaN": "hundred", "": "hundred"} {
		key := "ip:192.0.2.1"
		before := scores.remaining(key, name)
		if before == 0 {
			scores.pass(time.Hour)
			before = scores.remaining(key, name)
		}
		scores.wants("/", []string{"X-Bot-Score: " + score}, 204)
		if got := scores.remaining(key, name); got != before-1 {
			t.Errorf("score %q: %s has %d left of %d", score, name, got, before)
		}
	}
	before := scores.remaining("ip:192.0.2.1", "hundred")
	scores.wants("/", []string{"X-Bot-Score: 90.5"}, 204)
	if got := scores.remaining("ip:192.0.2.1", "hundred"); got != before {
		t.Error("a case without limits has charged something")
	}
}

func TestCost(t *testing.T) {
	for what, c := range map[string]struct {
		cost    string
		headers []string
		length  int64
		takes   int64
	}{
		"unless said":           {"", nil, 0, 1},
		"a number":              {"7", nil, 0, 7},
		"a header":              {"{header: X-Tokens, max: 50}", []string{"X-Tokens: 12"}, 0, 12},
		"too large a header":    {"{header: X-Tokens, max: 50}", []string{"X-Tokens: 1000"}, 0, 50},
		"too large for 64 bits": {"{header: X-Tokens, max: 50}", []string{"X-Tokens: 99999999999999999999"}, 0, 50},
		"several":               {"{header: X-Tokens, max: 50}", []string{"X-Tokens: 1", "X-Tokens: 30"}, 0, 30},
		"a negative one":        {"{header: X-Tokens}", []string{"X-Tokens: -5"}, 0, 1},
		"no number":             {"{header: X-Tokens, tokens: 3}", []string{"X-Tokens: many"}, 0, 3},
		"no header":             {"{header: X-Tokens, tokens: 3}", nil, 0, 3},
		"a body":                {"{bytes_per_token: 10}", nil, 101, 11},
		"no body":               {"{bytes_per_token: 10}", nil, 0, 1},
		"an unknown body":       {"{bytes_per_token: 10, max: 40}", nil, -1, 40},
	} {
		t.Run(what, func(t *testing.T) {
			cost := ""
			if c.cost != "" {
				cost = ", cost: " + c.cost
			}
			r := newRig(t, oneRoute("{limits: [hundred]"+cost+"}"))
			q := request(t, http.MethodPost, "/", c.headers...)
			q.ContentLength = c.length
			if a := r.ask(q); a.StatusCode != http.StatusNoContent {
				t.Fatal(a.Status)
			}
			if got := 100 - r.remaining("ip:192.0.2.1", "hundred"); got != c.takes {
				t.Errorf("it took %d tokens, want %d", got, c.takes)
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	r := newRig(t, `
routes:
- {name: health, path: /health}
- {name: login, path: /login, methods: [POST], checks: [{limits: [strict]}]}
- {name: api, hosts: [api.example.com], path: /, checks: [{key: ["ip:{ip}:{route}"], limits: [two]}]}
`)
	r.wants("http://www.example.com/other", nil, 204, 204, 204) // no route: no limit
	r.wants("http://api.example.com/health/db", nil, 204, 204, 204)
	r.wants("http://api.example.com/health-data", nil, 204, 204, 429)
	if got := r.remaining("ip:192.0.2.1:api", "two"); got != 0 {
		t.Errorf("%d left: the key has no route in it", got)
	}
	for _, path := range []string{"/login", "/login//", "/login/", "/%6cogin"} {
		a := r.ask(request(t, http.MethodPost, "http://www.example.com"+path))
		if a.StatusCode != http.StatusTooManyRequests && path != "/login" {
			t.Errorf("%s goes around the limit: %s", path, a.Status)
		}
	}
	for _, path := range []string{"/a/../login", "/./login", "/a/%2e%2e/login", "/a%2f..%2flogin", `/a/..\login`, "/login%00"} {
		q := request(t, http.MethodPost, "http://www.example.com/")
		var err error
		if q.URL, err = q.URL.Parse("http://www.example.com" + path); err != nil {
			t.Fatal(err)
		}
		q.URL.Path, q.URL.RawPath = strings.NewReplacer("%2e", ".", "%2f", "/", "%00", "\x00").Replace(path), path
		if a := r.ask(q); a.StatusCode == http.StatusNoContent {
			t.Errorf("%s passes", path)
		}
	}
}

func TestExempt(t *testing.T) {
	d := newRig(t, oneRoute("{limits: [two]}")).parse(oneRoute("{limits: [two]}") + `
exempt:
  paths: [/status]
  networks: [198.51.100.0/24]
deny:
  networks: [198.51.100.66, 203.0.113.0/24]
  keys: ["ip:192.0.2.9"]
`)
	d.Exempt.TokenFile = config.FileOf([]byte("an-old-internal-token\na-new-internal-token\n"))
	r := newRig(t, oneRoute("{limits: [two]}"))
	if err := r.gateway.Load(d); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r.wants("/status/now", nil, 204)
		r.wants("/", []string{"X-Internal-Token: an-old-internal-token"}, 204)
		r.wants("/", []string{"X-Internal-Token: a-new-internal-token"}, 204)
		r.wants("/", []string{"From: 198.51.100.7:80"}, 204)
		r.wants("/", []string{"From: 198.51.100.66:80"}, 403)
		r.wants("/", []string{"From: 203.0.113.5:80"}, 403)
		r.wants("/", []string{"From: [::ffff:203.0.113.5]:80"}, 403)
		r.wants("/", []string{"From: 192.0.2.9:80"}, 403)
		r.wants("/", []string{"From: 203.0.113.5:80", "X-Internal-Token: a-new-internal-token"}, 204)
	}
	r.wants("/", []string{"X-Internal-Token: a-new-internal-toke"}, 204, 204, 429)
	if r.count("jeton_gateway_requests_total", "outcome", "forbidden", "route", "all") != 20 {
		t.Error("denied requests were not counted")
	}
}

// Shadow limits count and report, and deny nothing; they change nothing about those that count.
func TestShadow(t *testing.T) {
	r := newRig(t, "cluster: {repeat_denials: 0s}\n"+oneRoute("{limits: [hundred]}, {limits: [two], shadow: true}"))
	for range 5 {
		a := r.ask(request(t, http.MethodGet, "/"))
		if a.StatusCode != http.StatusNoContent || strings.Contains(a.Header.Get("RateLimit-Policy"), "two") {
			t.Errorf("%s, %q", a.Status, a.Header)
		}
	}
	r.gateway.Close()
	labels := []string{"limit", "two", "shadow", "true", "outcome"}
	if a, d := r.count("jeton_gateway_limits_total", append(labels, "allowed")...), r.count("jeton_gateway_limits_total", append(labels, "denied")...); a != 2 || d != 3 {
		t.Errorf("%v allowed and %v denied by the shadow limit, want 2 and 3", a, d)
	}
	if got := strings.Count(r.logs.String(), "a shadow limit would have denied"); got != 3 {
		t.Errorf("%d lines in the log, want 3\n%s", got, r.logs)
	}
}

func TestWithoutDecision(t *testing.T) {
	for name, statuses := range map[string][]int{
		"ten":    {204, 204, 204},
		"strict": {503, 503, 503},
		"local":  {204, 204, 204, 204, 429},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, oneRoute("{limits: ["+name+"]}"))
			r.breakDown(limit.ErrUnavailable)
			r.wants("/", nil, statuses...)
			r.down.Store(nil)
			r.wants("/", nil, 204)
		})
	}
	t.Run("a check's own policy", func(t *testing.T) {
		r := newRig(t, oneRoute("{limits: [ten], on_unavailable: deny}"))
		r.breakDown(limit.ErrUnavailable)
		a := r.ask(request(t, http.MethodGet, "/"))
		if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" ||
			!strings.HasSuffix(fmt.Sprint(problem(t, a)["type"]), "#temporary-reduced-capacity") {
			t.Errorf("%s, %v", a.Status, a.Header)
		}
	})
	t.Run("limits that were never heard", func(t *testing.T) {
		r := newRig(t, oneRoute("{limits: [ten]}"))
		r.breakDown(errors.New("nobody is there"))
		r.unknown.Store(true)
		r.wants("/", nil, 503)
	})
	t.Run("a limit that does not exist", func(t *testing.T) {
		r := newRig(t, oneRoute("{limits: [twelve]}"))
		r.wants("/", nil, 503)
	})
}

// Load puts a document in force whole, or not at all.
func TestLoad(t *testing.T) {
	r := newRig(t, oneRoute("{limits: [two]}"))
	r.wants("/", nil, 204)
	if err := r.gateway.Load(r.parse(oneRoute("{limits: [ten]}"))); err != nil {
		t.Fatal(err)
	}
	r.wants("/", nil, 204, 204, 204, 204)
	wrong := r.parse(oneRoute("{limits: [two]}"))
	wrong.Routes[0].Checks[0].Key = []string{"{nonsense}"}
	if err := r.gateway.Load(wrong); err == nil || !strings.Contains(err.Error(), "routes[0].checks[0].key") {
		t.Errorf("a wrong document: %v", err)
	}
	r.wants("/", nil, 204, 204, 204)
	r.gateway.Close()
	if err := r.gateway.Load(r.parse(oneRoute("{limits: [ten]}"))); err == nil {
		t.Error("a closed gateway takes another document")
	}
}

// Documents are exchanged under load: no request is lost, and none is counted by two documents.
func TestLoadUnderLoad(t *testing.T) {
	r := newRig(t, oneRoute("{limits: [hundred]}"))
	documents := []*config.Document{
		r.parse(oneRoute("{limits: [hundred]}, {key: [\"user:{header.X-User}\"], limits: [two], shadow: true}")),
		r.parse("identity: {trusted_proxies: [10.0.0.0/8]}\ncluster: {decide_within: 1s}\n" + oneRoute("{limits: [hundred]}")),
	}
	var admitted, denied atomic.Int64
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for range 100 {
				switch r.get("/", "X-User: a") {
				case http.StatusNoContent:
					admitted.Add(1)
				case http.StatusTooManyRequests:
					denied.Add(1)
				}
			}
		})
	}
	for i := range 100 {
		if err := r.gateway.Load(documents[i%2]); err != nil {
			t.Error(err)
		}
	}
	asking.Wait()
	if admitted.Load() != 100 || denied.Load() != 700 {
		t.Errorf("%d admitted and %d denied, want 100 and 700", admitted.Load(), denied.Load())
	}
}
