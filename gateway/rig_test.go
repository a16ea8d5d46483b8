package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/accesslog"
	"github.com/jeton-dev/jeton/gateway/config"
)

// storedLimits are in force in every rig.
const storedLimits = `limits:
  ten: {capacity: 10, refill: 1/s}
  sixty: {capacity: 60, refill: 1/s}
  five: {capacity: 5, refill: 1/h}
  two: {capacity: 2, refill: 1/m}
  patient: {capacity: 1, refill: 1/m, wait: 2s}
  hundred: {capacity: 100, refill: 1/s}
  strict: {capacity: 1, refill: 1/h, on_unavailable: deny}
  local: {capacity: 4, refill: 1/h, on_unavailable: local}
  tariff: {capacity: 3, refill: 1/h, on_unavailable: local, plans: {pro: {capacity: 6}}, overrides: [{key: mallory, deny: true}, {key: "vip*", allow: true}, {key: big, capacity: 8}]}
`

// A rig is a gateway on a model of the cluster, at a time of its own.
type rig struct {
	*testing.T
	gateway *gateway.Gateway
	model   *conformance.Model
	metrics *prometheus.Registry
	logs    *logs
	nanos   atomic.Int64
	down    atomic.Pointer[error] // what every check fails with; nil for none
	asked   chan limit.Request    // every check, if somebody listens
	unknown atomic.Bool           // the limits are not known
	stuck   atomic.Pointer[error] // what every return fails with; nil for none

	receipts atomic.Int64 // how many checks asked for receipts
}

// logs are lines that may be read while they are written.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newRig(t *testing.T, document string) *rig {
	t.Helper()
	return newLoggingRig(t, document, nil)
}

// newLoggingRig is newRig with an access log.
func newLoggingRig(t *testing.T, document string, access *accesslog.Log) *rig {
	t.Helper()
	r := &rig{T: t, metrics: prometheus.NewRegistry(), logs: &logs{}}
	r.nanos.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	doc, err := limit.ParseDocument([]byte(storedLimits))
	if err != nil {
		t.Fatal(err)
	}
	r.model = conformance.NewModel(doc, r.nanos.Load)
	r.gateway, err = gateway.New(gateway.Config{
		Document: r.parse(document), Checker: r, Registerer: r.metrics,
		Limits: func() *limit.Document {
			if r.unknown.Load() {
				return nil
			}
			return doc
		},
		Logger: slog.New(slog.NewTextHandler(r.logs, nil)), AccessLog: access,
		Now: func() time.Time { return time.Unix(0, r.nanos.Load()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.gateway.Close)
	return r
}

func (r *rig) parse(document string) *config.Document {
	r.Helper()
	d, err := config.Parse([]byte(document), r.TempDir())
	if err != nil {
		r.Fatal(err)
	}
	return d
}

// Check implements [limit.Checker].
func (r *rig) Check(ctx context.Context, q limit.Request) (limit.Decision, error) {
	if r.asked != nil {
		r.asked <- q
	}
	if q.Receipt {
		r.receipts.Add(1)
	}
	if err := r.down.Load(); err != nil {
		return limit.Decision{}, *err
	}
	d, err := r.model.Check(ctx, q)
	d.Node = "node-1:7700"
	return d, err
}

// Return implements [limit.Returner].
func (r *rig) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := r.stuck.Load(); err != nil {
		return nil, *err
	}
	return r.model.Return(ctx, key, receipts)
}

// breakDown lets every check fail.
func (r *rig) breakDown(err error) { r.down.Store(&err) }

// returns waits until so many returns have ended so: done, failed or dropped.
func (r *rig) returns(outcome string, n float64) {
	r.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		got := r.count("jeton_fallback_returns_total", "outcome", outcome)
		switch {
		case got == n:
			return
		case got > n || time.Now().After(deadline):
			r.Fatalf("%v returns are %s, want %v", got, outcome, n)
		}
	}
}

func (r *rig) pass(d time.Duration) { r.nanos.Add(int64(d)) }

// remaining looks how many tokens are left.
func (r *rig) remaining(key, name string) int64 {
	r.Helper()
	in, err := r.model.Inspect(r.Context(), key, limit.Named(name), "")
	if err != nil {
		r.Fatal(err)
	}
	return in.Tokens
}

// request makes a request from 192.0.2.1, with headers "Name: value".
func request(t *testing.T, method, target string, headers ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "From" {
			r.RemoteAddr = value
			continue
		}
		r.Header.Add(name, value)
	}
	return r
}

// An answer is what somebody was answered.
type answer struct {
	StatusCode int
	Status     string
	Header     http.Header
	Body       []byte
}

func answerOf(w *httptest.ResponseRecorder) answer {
	return answer{w.Code, fmt.Sprint(w.Code, " ", http.StatusText(w.Code)), w.Header(), w.Body.Bytes()}
}

// ask asks the middleware, with a handler behind it that answers 204.
func (r *rig) ask(q *http.Request) answer {
	r.Helper()
	w := httptest.NewRecorder()
	gateway.Middleware(r.gateway)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})).ServeHTTP(w, q)
	return answerOf(w)
}

// get is ask for a GET from 192.0.2.1; it returns the status.
func (r *rig) get(target string, headers ...string) int {
	r.Helper()
	return r.ask(request(r.T, http.MethodGet, target, headers...)).StatusCode
}

// wants fails the test unless the next answers have these statuses.
func (r *rig) wants(target string, headers []string, statuses ...int) {
	r.Helper()
	for i, want := range statuses {
		if got := r.get(target, headers...); got != want {
			r.Errorf("%s, request %d with %q: status %d, want %d", target, i+1, headers, got, want)
		}
	}
}

// count is the value of one series.
func (r *rig) count(name string, labels ...string) float64 {
	r.Helper()
	families, err := r.metrics.Gather()
	if err != nil {
		r.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
	series:
		for _, m := range f.GetMetric() {
			has := map[string]string{}
			for _, l := range m.GetLabel() {
				has[l.GetName()] = l.GetValue()
			}
			for i := 0; i < len(labels); i += 2 {
				if has[labels[i]] != labels[i+1] {
					continue series
				}
			}
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return 0
}

// problem reads the body of a refusal.
func problem(t *testing.T, a answer) map[string]any {
	t.Helper()
	if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("Content-Type %q", got)
	}
	var p map[string]any
	if err := json.Unmarshal(a.Body, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// secrets is a directory with these files.
func secrets(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
