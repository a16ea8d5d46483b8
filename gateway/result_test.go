package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/fallback"
	"github.com/jeton-dev/jeton/gateway/keys"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
)

// "Why did I get a 429?": the id in the answer finds what was decided, and by which rule.
func TestDenialIsExplained(t *testing.T) {
	r := newRig(t, oneRoute("{limits: [ten, two]}"))
	r.wants("/v1/items", nil, 204, 204)
	a := r.ask(request(t, http.MethodGet, "/v1/items?token=hush"))
	id, ok := strings.CutPrefix(problem(t, a)["instance"].(string), "urn:jeton:denial:")
	if !ok {
		t.Fatal(a.Header)
	}
	record, err := r.gateway.Recall(id)
	if err != nil {
		t.Fatal(err)
	}
	if record.Route != "all" || record.Path != "/v1/items" || record.Status != 429 || record.Reason != "denied" ||
		record.Key != "ip:192.0.2.1" || record.Cost != 1 || record.Node != "node-1:7700" || record.Source != "cluster" {
		t.Errorf("%+v", record)
	}
	if len(record.Limits) != 2 || record.Limits[1].Rule.Capacity != 2 || record.Limits[1].Outcome.Allowed || !record.Limits[0].Outcome.Allowed {
		t.Errorf("%+v", record.Limits)
	}
	if got := record.PassesAt.Sub(record.At); got != time.Minute {
		t.Errorf("it would have passed after %v, want a minute", got)
	}
	text, err := json.Marshal(record)
	if err != nil || strings.Contains(string(text), "hush") {
		t.Errorf("%s, %v", text, err)
	}
}

// Keys that are made of secrets are told by their hash.
func TestSecretsAreHashed(t *testing.T) {
	r := newRig(t, "log: {allowed: 1}\n"+oneRoute(`{key: ["session:{cookie.session}"], limits: [two]}, {key: ["h:{header.X-Client}"], limits: [two], shadow: true, unidentified: skip}`))
	headers := []string{"Cookie: session=hush-hush", "X-Client: hush-too"}
	r.wants("/secret-path?x=hush", headers, 204, 204)
	a := r.ask(request(t, http.MethodGet, "/x", headers...))
	id := strings.TrimPrefix(problem(t, a)["instance"].(string), "urn:jeton:denial:")
	record, err := r.gateway.Recall(id)
	if err != nil || !strings.HasPrefix(record.Key, "sha256-") {
		t.Errorf("%+v, %v", record, err)
	}
	r.gateway.Close()
	logs := r.logs.String()
	if strings.Contains(logs, "hush") || strings.Contains(logs, "secret-path") || !strings.Contains(logs, "sha256-") || !strings.Contains(logs, "limit=two") {
		t.Errorf("the log:\n%s", logs)
	}
}

// An API key is called by its label, never by itself.
func TestAPIKeysAreCalledByTheirLabels(t *testing.T) {
	r := newRig(t, "{}")
	dir := secrets(t, map[string]string{"keys.jsonl": fmt.Sprintf(`{"label":"ci","owner":"acme","digest":"%x"}`, keys.DigestOf("hush-hush"))})
	document, err := config.Parse([]byte("identity: {key: ['{api_key}'], api_key: {keys_file: keys.jsonl}}\n"+oneRoute("{limits: [two]}")), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.gateway.Load(document); err != nil {
		t.Fatal(err)
	}
	r.wants("/", []string{"X-Api-Key: hush-hush"}, 204, 204)
	a := r.ask(request(t, http.MethodGet, "/x", "X-Api-Key: hush-hush"))
	record, err := r.gateway.Recall(strings.TrimPrefix(problem(t, a)["instance"].(string), "urn:jeton:denial:"))
	if err != nil || record.APIKey != "ci" || record.Key != fmt.Sprintf("%x", keys.DigestOf("hush-hush")) {
		t.Errorf("%+v, %v: operators look up the bucket by this key", record, err)
	}
	if logs := r.logs.String(); strings.Contains(logs, "hush") || !strings.Contains(logs, "api_key=ci") {
		t.Errorf("the log:\n%s", logs)
	}
}

func TestLogShares(t *testing.T) {
	for document, want := range map[string]int{
		"":                               1,
		"log: {denied: 0}\n":             0,
		"log: {allowed: 1}\n":            3,
		"log: {denied: 0, allowed: 1}\n": 2,
	} {
		r := newRig(t, document+oneRoute("{limits: [two]}"))
		r.wants("/", nil, 204, 204, 429)
		if got := strings.Count(r.logs.String(), "msg=decision"); got != want {
			t.Errorf("%q: %d lines, want %d\n%s", document, got, want, r.logs)
		}
	}
}

// Of denials that are repeated, one line tells how many there were; each has an id of its own, and says since when it was known.
func TestRepeatedDenialsInTheLog(t *testing.T) {
	r := newRig(t, "answer: {debug: true}\n"+oneRoute("{limits: [two]}"))
	r.wants("/", nil, 204, 204, 429)
	ids := map[any]bool{}
	for range 5 {
		r.pass(time.Millisecond)
		a := r.ask(request(t, http.MethodGet, "/"))
		if by := a.Header.Get("X-Jeton-Decision"); !strings.HasPrefix(by, "denied; by=known; node=") || !strings.HasSuffix(by, "; since=2026-01-02T03:04:05.000Z") {
			t.Errorf("X-Jeton-Decision: %s", by)
		}
		ids[problem(t, a)["instance"]] = true
	}
	if len(ids) != 5 {
		t.Errorf("%d ids of 5 denials", len(ids))
	}
	r.pass(fallback.MaxKnown)
	r.wants("/", nil, 429)
	logs := r.logs.String()
	if strings.Count(logs, "msg=decision") != 2 || strings.Count(logs, "repeated=5") != 1 {
		t.Errorf("the log:\n%s", logs)
	}
	for id := range ids {
		record, err := r.gateway.Recall(strings.TrimPrefix(id.(string), "urn:jeton:denial:"))
		if err != nil || record.Source != "known" || record.KnownSince.IsZero() || record.At.Sub(record.KnownSince) > fallback.MaxKnown {
			t.Errorf("%+v, %v", record, err)
		}
	}
	for outcome, want := range map[string]float64{"admitted": 2, "denied": 7} {
		if got := r.count("jeton_gateway_requests_total", "route", "all", "outcome", outcome); got != want {
			t.Errorf("%s: %v, want %v", outcome, got, want)
		}
	}
}

// A client that goes on after a denial does not push those of others out of the memory.
func TestRepeatedDenialsLeaveTheOthers(t *testing.T) {
	r := newRig(t, oneRoute("{limits: [two]}"))
	r.wants("/", nil, 204, 204)
	first := problem(t, r.ask(request(t, http.MethodGet, "/")))["instance"]
	var last any
	for range 10_001 {
		last = problem(t, r.ask(request(t, http.MethodGet, "/")))["instance"]
	}
	for id, source := range map[any]string{first: "cluster", last: "known"} {
		record, err := r.gateway.Recall(strings.TrimPrefix(id.(string), "urn:jeton:denial:"))
		if err != nil || record.Source != source {
			t.Errorf("%+v, %v, want a denial by %s", record, err, source)
		}
	}
}

func TestMetrics(t *testing.T) {
	r := newRig(t, oneRoute("{limits: [ten, two]}"))
	r.wants("/", nil, 204, 204, 429)
	r.breakDown(limit.ErrUnavailable)
	r.pass(fallback.MaxKnown)
	r.wants("/", nil, 204)
	for outcome, want := range map[string]float64{"admitted": 2, "denied": 1, "fail_open": 1} {
		if got := r.count("jeton_gateway_requests_total", "route", "all", "outcome", outcome); got != want {
			t.Errorf("%s: %v, want %v", outcome, got, want)
		}
	}
	for labels, want := range map[[2]string]float64{
		{"ten", "allowed"}: 2, {"ten", "spared"}: 1, {"ten", "denied"}: 0, {"two", "allowed"}: 2, {"two", "denied"}: 1,
	} {
		if got := r.count("jeton_gateway_limits_total", "limit", labels[0], "outcome", labels[1], "shadow", "false"); got != want {
			t.Errorf("%v: %v, want %v", labels, got, want)
		}
	}
	if got := r.count("jeton_gateway_requests_in_flight"); got != 0 {
		t.Errorf("%v in flight", got)
	}
}

func TestDecisionHeader(t *testing.T) {
	r := newRig(t, "answer: {debug: true}\n"+oneRoute("{limits: [two]}"))
	a := r.ask(request(t, http.MethodGet, "/"))
	if got := a.Header.Get("X-Jeton-Decision"); got != "admitted; by=cluster; node=node-1:7700" {
		t.Errorf("%q", got)
	}
	r.breakDown(limit.ErrUnavailable)
	a = r.ask(request(t, http.MethodGet, "/"))
	if got := a.Header.Get("X-Jeton-Decision"); !strings.HasPrefix(got, "fail_open; by=allow; because=") {
		t.Errorf("%q", got)
	}
}

// Every decision is a span of the trace that the request came with.
func TestSpans(t *testing.T) {
	r := newRig(t, oneRoute("{limits: [two]}"))
	recorded := tracetest.NewInMemoryExporter()
	provider, reg := sdktrace.NewTracerProvider(sdktrace.WithSyncer(recorded)), prometheus.NewRegistry()
	g, err := gateway.New(gateway.Config{
		Document: r.parse(oneRoute("{limits: [two]}")), Checker: r, Limits: func() *limit.Document { return nil }, Tracer: provider, Registerer: reg,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var inside trace.SpanContext
	handler := gateway.Middleware(g)(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { inside = trace.SpanContextFromContext(q.Context()) }))
	for range 3 {
		handler.ServeHTTP(discard{http.Header{}}, request(t, http.MethodGet, "/", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
	}
	if got := inside.TraceID().String(); got != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("the handler is in trace %s", got)
	}
	spans := recorded.GetSpans()
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	attributes := map[string]string{}
	for _, a := range spans[2].Attributes {
		attributes[string(a.Key)] = a.Value.String()
	}
	for name, want := range map[string]string{"jeton.outcome": "denied", "jeton.limit": "two", "jeton.remaining": "0", "jeton.node": "node-1:7700", "jeton.route": "all"} {
		if attributes[name] != want {
			t.Errorf("%s: %q, want %q", name, attributes[name], want)
		}
	}
	if spans[0].Parent.SpanID().String() != "b7ad6b7169203331" {
		t.Errorf("the parent is %s", spans[0].Parent.SpanID())
	}
	if traces := metricstest.Exemplars(t, reg)["jeton_gateway_decision_seconds"]; len(traces) == 0 || traces[0] != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("beside the latency are the traces %q", traces)
	}
}

// discard is a writer of an answer that nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// What there is no room for is refused before anything else is done for it.
func TestOverload(t *testing.T) {
	r := newRig(t, "cluster: {max_in_flight: 1}\n"+oneRoute("{limits: [ten]}"))
	inside, leave := make(chan struct{}), make(chan struct{})
	slow := gateway.Middleware(r.gateway)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(inside)
		<-leave
	}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		slow.ServeHTTP(discard{http.Header{}}, request(t, http.MethodGet, "/"))
	}()
	<-inside
	a := r.ask(request(t, http.MethodGet, "/"))
	if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s, %v", a.Status, a.Header)
	}
	close(leave)
	<-done
	r.wants("/", nil, 204)
	if got := r.remaining("ip:192.0.2.1", "ten"); got != 8 {
		t.Errorf("%d left of 10, want 8", got)
	}
}
