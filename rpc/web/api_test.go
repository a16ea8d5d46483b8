package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An answer is what the API said.
type answer struct {
	*http.Response
	body string
}

// member is a member of the answer's JSON object.
func (a answer) member(t *testing.T, name string) any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(a.body), &object); err != nil {
		t.Fatalf("%s is not a JSON object: %v", a.body, err)
	}
	return object[name]
}

// serveAPI starts the API on a port of its own and returns how to ask it.
func serveAPI(t *testing.T, cfg APIConfig) func(method, path, body string) answer {
	t.Helper()
	if cfg.Limits == nil {
		doc := conformance.NewDocument(t)
		cfg.Limits = func() *limit.Document { return doc }
	}
	h, err := NewAPI(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config = NewServer(h, nil)
	server.Start()
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(server.Close)
	return func(method, path, body string) answer {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := response.Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s %s: Cache-Control %q", method, path, got)
		}
		return answer{response, string(text)}
	}
}

// wantProblem fails t unless a is a problem with that status that says that.
func wantProblem(t *testing.T, a answer, status int, field, says string) {
	t.Helper()
	if a.StatusCode != status || a.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %s with %s, want a problem with %d", a.StatusCode, a.Header.Get("Content-Type"), a.body, status)
		return
	}
	detail, _ := a.member(t, "detail").(string)
	title, _ := a.member(t, "title").(string)
	kind, _ := a.member(t, "type").(string)
	if a.member(t, "status") != float64(status) || title == "" || !strings.HasPrefix(kind, "urn:jeton:problem:") || !strings.Contains(detail, says) {
		t.Errorf("got %s, want a problem that says %q", a.body, says)
	}
	if got := a.member(t, "field"); field == "" && got != nil || field != "" && got != field {
		t.Errorf("got %s, want the field %q", a.body, field)
	}
}

func TestCheckOverHTTP(t *testing.T) {
	ask := serveAPI(t, APIConfig{Limiter: conformance.NewNoonModel(t)})
	got := ask("POST", "/v1/check", `{"key":"user:42","limits":["demo"]}`)
	want := `{"allowed":true,"limits":[{"name":"demo","allowed":true,"limit":10,"remaining":9,"retry_after_ms":0,"reset_after_ms":360000}]}`
	if got.StatusCode != http.StatusOK || strings.TrimSpace(got.body) != want || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %s\nwant %s", got.StatusCode, got.body, want)
	}
	got = ask("POST", "/v1/check", `{"key":"user:42","limits":["demo"],"cost":10}`)
	want = `{"allowed":false,"limits":[{"name":"demo","allowed":false,"limit":10,"remaining":9,"retry_after_ms":360000,"reset_after_ms":360000}]}`
	if got.StatusCode != http.StatusTooManyRequests || strings.TrimSpace(got.body) != want || got.Header.Get("Retry-After") != "360" {
		t.Errorf("got %d, Retry-After %q, %s\nwant %s", got.StatusCode, got.Header.Get("Retry-After"), got.body, want)
	}
}

// Checks that wait are told for how long, in whole milliseconds, rounded up: a caller that begins then begins in its turn.
func TestWaitsOverHTTP(t *testing.T) {
	up := func(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
	const longest = 5 * time.Second
	for _, algorithm := range limit.Spending() {
		t.Run(algorithm, func(t *testing.T) {
			queue := limittest.Of(algorithm, "queue", 2, limit.Refill{Tokens: 3, Per: time.Second})
			queue.MaxWait = longest
			doc, err := limit.NewDocument(queue)
			if err != nil {
				t.Fatal(err)
			}
			rule, _ := doc.Rule("queue")
			now := conformance.Noon().UnixNano() + 1
			ask := serveAPI(t, APIConfig{Limiter: conformance.NewModel(doc, func() int64 { return now })})
			waits, tooLong := conformance.Turns(rule, now, longest)
			waits = append(waits, tooLong)
			for i, wait := range waits {
				a := ask("POST", "/v1/check", `{"key":"user:42","limits":["queue"],"wait_ms":5000}`)
				var d struct {
					Allowed bool
					WaitMS  int64 `json:"wait_ms"`
					Limits  []struct {
						RetryAfterMS int64 `json:"retry_after_ms"`
					}
				}
				if err := json.Unmarshal([]byte(a.body), &d); err != nil {
					t.Fatal(err)
				}
				switch admitted := i < len(waits)-1; {
				case admitted && (a.StatusCode != http.StatusOK || !d.Allowed || d.WaitMS != up(wait)):
					t.Errorf("check %d: %d %s, want one that waits %v", i, a.StatusCode, a.body, wait)
				case !admitted && (a.StatusCode != http.StatusTooManyRequests || d.Allowed || d.Limits[0].RetryAfterMS != up(wait-longest)):
					t.Errorf("the last: %d %s, want one that comes back after %v", a.StatusCode, a.body, wait-longest)
				}
			}
			wantProblem(t, ask("POST", "/v1/check", `{"key":"user:42","limits":["queue"],"wait_ms":6000}`), http.StatusBadRequest, "wait_ms", "at most 5s")
		})
	}
}

// TestCheckAllOverHTTP asks for several keys at once.
func TestCheckAllOverHTTP(t *testing.T) {
	ask := serveAPI(t, APIConfig{Limiter: conformance.NewNoonModel(t)})
	got := ask("POST", "/v1/check-all", `{"checks":[{"key":"user:42","limits":["demo"],"receipt":true},{"key":"org:acme","limits":["demo"],"cost":3}]}`)
	if checks, ok := got.member(t, "checks").([]any); got.StatusCode != http.StatusOK || got.member(t, "allowed") != true || !ok || len(checks) != 2 ||
		strings.Count(got.body, `"receipts"`) != 1 || !strings.Contains(got.body, `"remaining":7`) {
		t.Errorf("got %d %s", got.StatusCode, got.body)
	}
	got = ask("POST", "/v1/check-all", `{"checks":[{"key":"user:42","limits":["demo"]},{"key":"org:acme","limits":["demo"],"cost":8},{"key":"ip","limits":["demo"]}]}`)
	if got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "360" || !strings.HasSuffix(strings.TrimSpace(got.body), ",null]}") ||
		!strings.HasPrefix(got.body, `{"allowed":false,"denied":{"check":1,"key":"org:acme","limit":"demo"},"checks":[{"allowed":true,`) {
		t.Errorf("got %d, Retry-After %q, %s", got.StatusCode, got.Header.Get("Retry-After"), got.body)
	}
	const good = `{"key":"a","limits":["demo"]}`
	for body, want := range map[string]struct {
		status      int
		field, says string
	}{
		`{"checks":[]}`: {400, "checks", "is empty"},
		`{"keys":[]}`:   {400, "keys", `the body is {"checks":[…]}`},
		`{"checks":[` + good + `,{"key":"b","limit":["demo"]}]}`:                                       {400, "checks[1].limit", `did you mean "limits"?`},
		`{"checks":[` + good + `,{"key":"b","limits":["nobody"]}]}`:                                    {404, "", `unknown limit "nobody": GET /v1/limits shows all limits`},
		`{"checks":[` + good + `,{"key":"b","limits":["demmo"]}]}`:                                     {404, "", `did you mean "demo"? GET /v1/limits shows all limits`},
		`{"checks":[` + good + `,` + good + `]}`:                                                       {400, "checks[1].limits[0]", "already"},
		`{"checks":[` + good + `,{"key":"b","limits":["demo"],"cost":-1}]}`:                            {400, "checks[1].cost", "negative"},
		`{"checks":[{"key":"b","limits":["demo"],"request_id":"again"}]}`:                              {400, "checks[0].request_id", "charged again"},
		`{"checks":[` + strings.Repeat(good+",", limit.MaxAll) + good + `]}`:                           {400, "checks", "more than 16"},
		`{"checks":[` + good + `,{"key":"b","limits":["demo"],"wait_ms":9}]}`:                          {400, "checks[1].wait_ms", "lets no check wait"},
		`{"checks":[` + good + `,{"key":"b","limits":[{"name":"demo","capacity":1,"refill":"1/s"}]}]}`: {400, "checks[1].limits[0]", "stored"},
		`{"checks":[` + good + `,{"key":"b","limits":["demo"],"for":"60s"}]}`:                          {400, "checks[1].for", "takes no holds"},
		`{"checks":[` + good + `,{"key":"b","limits":["demo"],"least":2}]}`:                            {400, "checks[1].least", "belongs to a hold"},
		`{"checks":[{"key":"b","limits":["demo"],"cost":{"tokens":1}}]}`:                               {400, "checks[0].cost", "64-bit integer"},
	} {
		wantProblem(t, ask("POST", "/v1/check-all", body), want.status, want.field, want.says)
	}
	if got := ask("GET", "/v1/check-all", ""); got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %d, Allow %q", got.StatusCode, got.Header.Get("Allow"))
	}
}

// What is wrong with an extension is told by the fields that it has: the key and the receipt.
func TestBadExtensions(t *testing.T) {
	ask := serveAPI(t, APIConfig{Limiter: conformance.NewNoonModel(t)})
	for body, want := range map[string]struct {
		status      int
		field, says string
	}{
		`{"key":"k"}`:                                         {400, "receipt", "is missing"},
		`{"key":"k","receipt":{"serial":5}}`:                  {400, "receipt", "in quotes"},
		`{"key":"k","receipt":{"serial":"5"}}`:                {400, "receipt.limit", "is empty"},
		`{"receipt":{"limit":"demo","serial":"5"}}`:           {400, "key", "is empty"},
		`{"key":"k","receipt":{"limit":"dmeo","serial":"5"}}`: {404, "", `did you mean "demo"?`},
	} {
		wantProblem(t, ask("POST", "/v1/extend", body), want.status, want.field, want.says)
	}
}

func TestRetryAfter(t *testing.T) {
	for _, test := range []struct {
		what string
		d    limit.Decision
		want string
	}{
		{"rounded up", limit.Decision{Limits: []limit.Outcome{{RetryAfter: time.Second + 1}}}, "2"},
		{"the longest", limit.Decision{Limits: []limit.Outcome{{RetryAfter: time.Second}, {RetryAfter: time.Minute}}}, "60"},
		{"never", limit.Decision{Limits: []limit.Outcome{{RetryAfter: time.Second}, {Never: true}}}, ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			ask := serveAPI(t, APIConfig{Limiter: conformance.Stub{OnCheck: func(context.Context, limit.Request) (limit.Decision, error) {
				return test.d, nil
			}}})
			got := ask("POST", "/v1/check", `{"key":"k","limits":["demo"]}`)
			if got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") != test.want {
				t.Errorf("got %d, Retry-After %q, want %q", got.StatusCode, got.Header.Get("Retry-After"), test.want)
			}
		})
	}
}

// TestReturnOverHTTP takes the receipts of a check back, in the form in which the check gave them.
func TestReturnOverHTTP(t *testing.T) {
	ask := serveAPI(t, APIConfig{Limiter: conformance.NewNoonModel(t)})
	checked := ask("POST", "/v1/check", `{"key":"user:42","limits":["demo","odd"],"cost":3,"request_id":"r","receipt":true}`)
	receipts, err := json.Marshal(checked.member(t, "receipts"))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"key":"user:42","receipts":` + string(receipts) + `}`
	for _, want := range []string{`{"returned":[true,true]}`, `{"returned":[false,false]}`} {
		if got := ask("POST", "/v1/return", body); got.StatusCode != http.StatusOK || strings.TrimSpace(got.body) != want {
			t.Errorf("returned %s: got %d %s, want %s", body, got.StatusCode, got.body, want)
		}
	}
	if got := ask("POST", "/v1/return", `{"key":"user:42"}`); strings.TrimSpace(got.body) != `{"returned":[]}` {
		t.Errorf("returned nothing: got %s", got.body)
	}
	wantProblem(t, ask("POST", "/v1/return", `{"key":"","receipts":[]}`), 400, "key", "empty")
	wantProblem(t, ask("POST", "/v1/return", `{"key":"k","receipts":[{"owner":"x"}]}`), 400, "receipts.owner", "hexadecimal")
}

func TestBucketOverHTTP(t *testing.T) {
	ask := serveAPI(t, APIConfig{Limiter: conformance.NewNoonModel(t)})
	ask("POST", "/v1/check", `{"key":"a/b","limits":["demo"],"cost":4}`)
	got := ask("GET", "/v1/buckets/demo/a/b", "")
	var b struct {
		Key       string
		Limit     limit.Limit
		Tokens    int64
		TAT       int64     `json:"tat_ns,string"`
		Now       int64     `json:"now_ns,string"`
		Time      time.Time `json:"now"`
		Awake     bool
		Registers []struct{ Exists bool }
		Recent    []struct {
			Cost int64
			Time time.Time `json:"at"`
		}
	}
	if err := json.Unmarshal([]byte(got.body), &b); err != nil || got.StatusCode != http.StatusOK {
		t.Fatalf("got %d %s: %v", got.StatusCode, got.body, err)
	}
	if b.Key != "a/b" || b.Limit.Name != "demo" || b.Tokens != 6 || b.TAT-b.Now != int64(4*6*time.Minute) || !b.Time.Equal(conformance.Noon()) ||
		!b.Awake || len(b.Registers) != 1 || len(b.Recent) != 1 || b.Recent[0].Cost != 4 || !b.Recent[0].Time.Equal(conformance.Noon()) {
		t.Errorf("got %s", got.body)
	}
	if tat, ok := got.member(t, "tat_ns").(string); !ok || tat == "" {
		t.Errorf("a 64-bit position is no string: %s", got.body)
	}
	if got := ask("DELETE", "/v1/buckets/demo/a/b", ""); got.StatusCode != http.StatusNoContent || got.body != "" {
		t.Errorf("reset: got %d %s", got.StatusCode, got.body)
	}
	if got := ask("GET", "/v1/buckets/demo/a/b", ""); got.member(t, "tokens") != 10.0 {
		t.Errorf("after the reset: %s", got.body)
	}
	if got := ask("HEAD", "/v1/buckets/demo/a/b", ""); got.StatusCode != http.StatusOK || got.body != "" {
		t.Errorf("HEAD: got %d %q", got.StatusCode, got.body)
	}
	wantProblem(t, ask("GET", "/v1/buckets/nobody/a", ""), 404, "", "nobody")
	wantProblem(t, ask("DELETE", "/v1/buckets/nobody/a", ""), 404, "", "nobody")
}

// TestKeysInPaths asks for buckets of keys that a router would like to tidy up.
func TestKeysInPaths(t *testing.T) {
	var seen []string
	ask := serveAPI(t, APIConfig{Limiter: conformance.Stub{OnInspect: func(_ context.Context, key string, ref limit.Ref, _ string) (limit.Inspection, error) {
		seen = append(seen, ref.Name+" "+key)
		return limit.Inspection{Key: key}, limit.ValidateKey(key)
	}}})
	for path, want := range map[string]string{
		"demo/user:42":            "demo user:42",
		"demo/a/b":                "demo a/b",
		"demo//a//b/":             "demo /a//b/",
		"demo/../../etc/passwd":   "demo ../../etc/passwd",
		"demo/./.":                "demo ./.",
		"demo/a%2Fb%2f":           "demo a/b/",
		"demo/a%20b":              "demo a b",
		"demo/a+b":                "demo a+b",
		"demo/%25zz":              "demo %zz",
		"demo/100%25":             "demo 100%",
		"demo/a?key=b":            "demo a",
		"demo/a%3Fkey=b%23c":      "demo a?key=b#c",
		"demo/%D0%BA%D0%BB%D1%8E": "demo клю",
		"demo/ip:2001:db8::%2F64": "demo ip:2001:db8::/64",
		"de%6Do/;a=b":             "demo ;a=b",
		"a%2Fb/c":                 "a/b c",
		"demo/%00":                "demo \x00",
	} {
		seen = nil
		got := ask("GET", "/v1/buckets/"+path, "")
		if got.StatusCode != http.StatusOK || len(seen) != 1 || seen[0] != want {
			t.Errorf("%s: got %d and %q, want %q", path, got.StatusCode, seen, want)
		}
	}
	wantProblem(t, ask("GET", "/v1/buckets/demo/", ""), 400, "key", "empty")
	wantProblem(t, ask("GET", "/v1/buckets/demo", ""), 400, "path", "key")
	wantProblem(t, ask("GET", "/v1/buckets/demo/%FF", ""), 400, "key", "UTF-8")
	wantProblem(t, ask("GET", "/v1/buckets/demo/"+strings.Repeat("%6B", 513), ""), 400, "key", "513")
}

func TestLimitsOverHTTP(t *testing.T) {
	doc := conformance.NewDocument(t)
	ask := serveAPI(t, APIConfig{Limiter: conformance.Stub{}, Limits: func() *limit.Document { return doc }})
	got := ask("GET", "/v1/limits", "")
	back, err := limit.ParseDocument([]byte(got.body))
	if err != nil || got.StatusCode != http.StatusOK || !reflect.DeepEqual(back, doc) {
		t.Errorf("got %d %s, which reads as %+v and %v", got.StatusCode, got.body, back, err)
	}
	if again := ask("GET", "/v1/limits", ""); again.body != got.body {
		t.Errorf("asked again, it is %s", again.body)
	}
	var shown shownLimits
	if n := testing.AllocsPerRun(10, func() { _, _ = shown.of(doc) }); n > 0 {
		t.Errorf("the same limits are encoded again, with %v allocations", n)
	}
	if doc, err = limit.ParseDocument([]byte("limits: {other: {capacity: 1, refill: 1/s}}")); err != nil {
		t.Fatal(err)
	}
	if changed := ask("GET", "/v1/limits", ""); !strings.Contains(changed.body, "other") || changed.body == got.body {
		t.Errorf("after a change it is %s", changed.body)
	}
	put := ask("PUT", "/v1/limits", got.body)
	wantProblem(t, put, 405, "", "SIGHUP")
	if allow := put.Header.Get("Allow"); allow != "GET, HEAD" {
		t.Errorf("Allow: %q", allow)
	}
}

// An adopting node goes by other limits once it was asked for their version.
type adopting struct {
	Stored

	adopt func()
}

func (a adopting) Version(context.Context) (uint64, error) {
	a.adopt()
	return 2, nil
}

// The version in ETag is not later than the limits are: who changes them, and says If-Match, would undo what he has not seen.
func TestVersionOfLimitsIsNotLater(t *testing.T) {
	first, err := limit.ParseDocument([]byte("limits: {first: {capacity: 1, refill: 1/s}}"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := limit.ParseDocument([]byte("limits: {second: {capacity: 1, refill: 1/s}}"))
	if err != nil {
		t.Fatal(err)
	}
	var doc atomic.Pointer[limit.Document]
	doc.Store(first)
	ask := serveAPI(t, APIConfig{Limiter: conformance.Stub{}, Limits: doc.Load, Stored: adopting{adopt: func() { doc.Store(second) }}})
	got := ask("GET", "/v1/limits", "")
	if tag := got.Header.Get("Etag"); tag != `"2"` || !strings.Contains(got.body, "second") {
		t.Errorf("as %s it shows %s", tag, got.body)
	}
}

func TestBadHTTPRequests(t *testing.T) {
	ask := serveAPI(t, APIConfig{Limiter: conformance.NewNoonModel(t)})
	for body, want := range map[string]struct{ field, says string }{
		``:                                       {"body", "JSON"},
		`key=user:42`:                            {"body", "JSON"},
		`{"key":`:                                {"body", "JSON"},
		`[]`:                                     {"body", "array"},
		`{"key":"k","limits":["demo"]} {}`:       {"body", "more than one"},
		`{"key":"k","limits":["demo"],"cots":1}`: {"cots", "known"},
		`{"key":7,"limits":["demo"]}`:            {"key", "number"},
		`{"limits":["demo"]}`:                    {"key", "empty"},
		"{\"key\":\"\xff\",\"limits\":[\"demo\"]}": {"body", "UTF-8"},
		`{"key":"k"}`:                                                                          {"limits", "empty"},
		`{"key":"k","limits":["demo","demo"]}`:                                                 {"limits[1]", "twice"},
		`{"key":"k","limits":["demo"],"cost":-1}`:                                              {"cost", "negative"},
		`{"key":"k","limits":["demo"],"cost":1.5}`:                                             {"cost", "not a 64-bit integer"},
		`{"key":"k","limits":[{"name":"demo","capacity":1,"refill":"1/s"}]}`:                   {"limits[0]", "stored"},
		`{"key":"k","limits":["demo"],"wait_ms":-1}`:                                           {"wait_ms", "-1"},
		`{"key":"k","limits":["demo"],"wait_ms":31000}`:                                        {"wait_ms", "31000"},
		`{"key":"k","limits":["demo"],"wait_ms":1.5}`:                                          {"wait_ms", "64-bit integer"},
		`{"key":"k","limits":["demo"],"wait_ms":100}`:                                          {"wait_ms", "lets no check wait"},
		`{"key":"k","limits":["demo"],"look":true,"wait_ms":100}`:                              {"wait_ms", "leave the wait out"},
		`{"key":"k","limits":["demo"],"for":"60s"}`:                                            {"for", "takes no holds"},
		`{"key":"k","limits":["demo"],"for":"soon"}`:                                           {"for", "soon"},
		`{"key":"k","limits":["demo"],"for":"1ms"}`:                                            {"for", "too short"},
		`{"key":"k","limits":["demo"],"least":1}`:                                              {"least", "belongs to a hold"},
		`{"key":"k","limits":["demo"],"look":1}`:                                               {"look", "boolean"},
		`{"key":"k","limits":["demo"],"receipt":"yes"}`:                                        {"receipt", "boolean"},
		`{"key":"k","limits":["demo"],"plan":"None"}`:                                          {"plan", "None"},
		`{"key":"k","limits":["demo"],"plan":"gone"}`:                                          {"plan", "gone"},
		`{"key":"k","limits":["demo"],"extend":5}`:                                             {"extend", "in quotes"},
		`{"key":"k","limits":["demo"],"extend":"5","wait_ms":1}`:                               {"wait_ms", "extended at once"},
		`{"key":"k","limits":"demo"}`:                                                          {"limits", "is not a list"},
		`{"key":"k","limits":[7]}`:                                                             {"limits[0]", "neither the name"},
		`{"key":"k","limits":["demo",{"name":"own","capacity":9,"refill":"1/h","wait":"1x"}]}`: {"limits[1].wait", "1x"},
		`{"key":"` + strings.Repeat("k", 513) + `","limits":["demo"]}`:                         {"key", "513"},
		`{"key":"k","limits":[{"name":"burst","capacity":1,"refill":"abc"}]}`:                  {"limits[0].refill", "abc"},
		`{"key":"k","limits":["demo"],"request_id":"` + strings.Repeat("i", 129) + `"}`:        {"request_id", "129"},
	} {
		wantProblem(t, ask("POST", "/v1/check", body), 400, want.field, want.says)
	}
	wantProblem(t, ask("POST", "/v1/check", `{"key":"k","limits":["nobody"]}`), 404, "", "nobody")
	wantProblem(t, ask("POST", "/v1/check", `{"key":"k","limits":["dmeo"]}`), 404, "",
		`unknown limit "dmeo": did you mean "demo"? GET /v1/limits shows all limits`)
	wantProblem(t, ask("POST", "/v1/check", `{"key":"k","limit":["demo"]}`), 400, "limit",
		`limit: is not a known field: a check has key, limits, cost, look, request_id, receipt, plan, wait_ms, for, least: did you mean "limits"?`)
	if title := ask("PUT", "/v1/limits", "nothing").member(t, "title"); title == "The request can never be decided" {
		t.Errorf("a document that is none has the title %v", title)
	}
	wantProblem(t, ask("POST", "/v1/check", `"`+strings.Repeat("x", maxBody)+`"`), 413, "", "1048576")
	for path, allow := range map[string]string{
		"/v1/check": "POST", "/v1/hold": "POST", "/v1/settle": "POST", "/v1/extend": "POST", "/v1/return": "POST", "/v1/limits": "GET, HEAD", "/v1/buckets/demo/a": "DELETE, GET, HEAD",
	} {
		got := ask("PATCH", path, "")
		wantProblem(t, got, 405, "", allow)
		if got.Header.Get("Allow") != allow {
			t.Errorf("PATCH %s: Allow %q, want %q", path, got.Header.Get("Allow"), allow)
		}
	}
	for _, path := range []string{"/", "/v1", "/v1/", "/v2/check", "/v1/check/", "/v1/buckets", "//v1/check"} {
		wantProblem(t, ask("GET", path, ""), 404, "", "/v1/check")
	}
}

func TestHTTPErrors(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
	}{
		{limit.ErrUnavailable, 503},
		{limit.ErrOverloaded, 503},
		{context.DeadlineExceeded, 504},
		{limit.ErrUnknownLimit, 404},
		{errors.New("the disk is on fire"), 500},
	} {
		ask := serveAPI(t, APIConfig{Limiter: conformance.Stub{
			OnCheck: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
				if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > answerWithin {
					t.Errorf("a check has until %v", deadline)
				}
				return limit.Decision{}, test.err
			},
			OnReset: func(context.Context, string, limit.Ref) error { return test.err },
		}})
		wantProblem(t, ask("POST", "/v1/check", `{"key":"k","limits":["demo"]}`), test.status, "", test.err.Error())
		wantProblem(t, ask("DELETE", "/v1/buckets/demo/k", ""), test.status, "", test.err.Error())
	}
}

// Headers of a trace count where the process makes spans: elsewhere nobody could find what metrics then name as an example.
func TestTraceOfRequest(t *testing.T) {
	doc := conformance.NewDocument(t)
	for _, traces := range []bool{false, true} {
		asked := false
		h, err := NewAPI(APIConfig{Traces: traces, Limits: func() *limit.Document { return doc }, Limiter: conformance.Stub{
			OnCheck: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
				asked = true
				if sampled := trace.SpanContextFromContext(ctx).IsSampled(); sampled != traces {
					t.Errorf("traces %v: sampled %v", traces, sampled)
				}
				return limit.Decision{Allowed: true}, nil
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/check", strings.NewReader(`{"key":"k","limits":["demo"]}`))
		r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		if h.ServeHTTP(httptest.NewRecorder(), r); !asked {
			t.Error("nothing was asked")
		}
	}
}

func TestHTTPPanics(t *testing.T) {
	var log bytes.Buffer
	reg := prometheus.NewRegistry()
	ask := serveAPI(t, APIConfig{
		Registerer: reg,
		Logger:     slog.New(slog.NewTextHandler(&log, nil)),
		Limiter: conformance.Stub{OnCheck: func(context.Context, limit.Request) (limit.Decision, error) {
			panic("index out of range")
		}},
	})
	wantProblem(t, ask("POST", "/v1/check", `{"key":"k","limits":["demo"]}`), 500, "", "index out of range")
	if got := ask("GET", "/v1/limits", ""); got.StatusCode != http.StatusOK {
		t.Errorf("after the panic: %d", got.StatusCode)
	}
	if text := log.String(); !strings.Contains(text, "TestHTTPPanics") || !strings.Contains(text, "route=/v1/check") {
		t.Errorf("the log does not show where:\n%s", text)
	}
	routes := map[string]string{}
	for _, m := range metricstest.Gather(t, reg, "jeton_http_seconds") {
		routes[m.GetLabel()[0].GetValue()] = m.GetLabel()[1].GetValue()
	}
	if want := map[string]string{"/v1/check": "500", "/v1/limits": "200"}; !reflect.DeepEqual(routes, want) {
		t.Errorf("measured %v, want %v", routes, want)
	}
}

func TestOtherPaths(t *testing.T) {
	ask := serveAPI(t, APIConfig{Limiter: conformance.Stub{}, Other: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, r.URL.EscapedPath())
	})})
	for _, path := range []string{"/", "/debug/buckets/demo//a/..", "/v1"} {
		if got := ask("GET", path, ""); got.body != path {
			t.Errorf("%s: got %d %s", path, got.StatusCode, got.body)
		}
	}
	wantProblem(t, ask("GET", "/v1/nothing", ""), 404, "", "PUT /v1/limits")
}

// TestSlowBody starts a request and leaves before its body is whole: that is no check.
func TestSlowBody(t *testing.T) {
	h, err := NewAPI(APIConfig{
		Limits: func() *limit.Document { return conformance.NewDocument(t) },
		Limiter: conformance.Stub{OnCheck: func(context.Context, limit.Request) (limit.Decision, error) {
			t.Error("half a request was checked")
			return limit.Decision{}, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"key\":"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 400 ") || !strings.Contains(string(text), "did not arrive whole") {
		t.Errorf("got %s and %v", text, err)
	}
}

// FuzzBucketPath asks for the bucket of any limit and key, percent-encoded in one way or another: it is that bucket
// which the limiter is asked for.
func FuzzBucketPath(f *testing.F) {
	for _, key := range []string{"user:42", "/..", "/%", "//", "+ ", "a?b#c", "\xff\x00"} {
		f.Add("demo", key, uint64(0x5a5a))
	}
	var asked string
	h, err := NewAPI(APIConfig{
		Limits: func() *limit.Document { return nil },
		Limiter: conformance.Stub{OnInspect: func(_ context.Context, key string, ref limit.Ref, _ string) (limit.Inspection, error) {
			asked = ref.Name + " " + key
			return limit.Inspection{}, nil
		}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, key string, encode uint64) {
		path := bucketPrefix + escape(name, ^uint64(0)) + "/" + escape(key, encode)
		target, err := url.ParseRequestURI(path)
		if err != nil {
			t.Fatal(err)
		}
		asked = ""
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.URL = target
		h.ServeHTTP(httptest.NewRecorder(), r)
		if want := name + " " + key; asked != want {
			t.Errorf("%s asks for %q, want %q", path, asked, want)
		}
	})
}

// escape percent-encodes what must be, and of the other bytes those whose bit of encode is set.
func escape(s string, encode uint64) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:@!$&'()*+,;="
	var out strings.Builder
	for i := range len(s) {
		if strings.IndexByte(plain, s[i]) < 0 || encode>>(i%64)&1 == 1 {
			fmt.Fprintf(&out, "%%%02X", s[i])
		} else {
			out.WriteByte(s[i])
		}
	}
	return out.String()
}

// FuzzCheckBody posts any body: whatever it is, the answer is a decision or a problem, and never the node's fault.
func FuzzCheckBody(f *testing.F) {
	f.Add([]byte(`{"key":"user:42","limits":["demo"],"cost":1,"request_id":"r","receipt":true}`))
	f.Add([]byte(`{"key":"k","limits":[{"name":"burst","capacity":10,"refill":"1/s"},null]}`))
	f.Add([]byte(`{"checks":[{"key":"k","limits":["demo"]},{"key":"k","limits":["odd"]},{"key":"k","limits":["odd"],"cost":3},null]}`))
	f.Add([]byte(`{"checks":[{"key":"k","limits":["demo"],"receipt":true},{"key":"org","limits":["odd"],"cost":9}]}`))
	f.Add([]byte(`{"key":"k","limits":["demo"],"cost":3000,"for":"60s","least":1}`))
	f.Add([]byte(`{"hold":"` + aHold.String() + `","cost":1200,"open":true,"for":"60s"}`))
	doc := conformance.NewDocument(f)
	h, err := NewAPI(APIConfig{Limiter: conformance.NewNoonModel(f), Limits: func() *limit.Document { return doc }})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{"/v1/check", "/v1/check-all", "/v1/hold", "/v1/settle", "/v1/extend", "/v1/return"} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body)))
			switch w.Code {
			case 200, 429, 400, 404, 413:
			default:
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
			if !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: the answer is not JSON: %s", path, w.Body)
			}
		}
	})
}
