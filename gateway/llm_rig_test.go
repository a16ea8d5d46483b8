package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/llm/fakemodel"
	"github.com/jeton-dev/jeton/storage"
)

// modelLimits refill so slowly that what a test counts stands still.
const modelLimits = `limits:
  requests: {capacity: 10000, refill: 1/h}
  few: {capacity: 1, refill: 1/h}
  tokens: {capacity: 10000, refill: 1/h, hold: 5m}
  brief: {capacity: 500, refill: 1/s, hold: 5m}
  month: {algorithm: fixed-window, limit: 10000, per: year, hold: 5m}
  small: {capacity: 100, refill: 1/h, hold: 5m}
  money: {algorithm: fixed-window, limit: 1000000, per: year, hold: 5m}
  short: {capacity: 10000, refill: 1/h, hold: 2s, on_unavailable: deny}
  plain: {capacity: 10000, refill: 1/h, on_unavailable: deny}
  streams: {algorithm: concurrency, limit: 2, lease: 2s}
`

// A modelRig is a gateway in front of a model, on a real node.
type modelRig struct {
	*testing.T
	gateway *gateway.Gateway
	system  *actor.System
	address string
	metrics *prometheus.Registry
	logs    *logs
	checker *faultyChecker
	now     func() int64 // of the node

	mu    sync.Mutex
	asked []string // bodies that the model got, of each the beginning
	heads []http.Header
}

// A faultyChecker is a node whose settlements and checks may fail.
type faultyChecker struct {
	*actor.System

	settle  atomic.Pointer[func(limit.Settlement) error] // of each settlement first; nil for none
	check   atomic.Pointer[func(limit.Request) error]
	settled atomic.Int64
}

func (f *faultyChecker) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	if fail := f.check.Load(); fail != nil {
		if err := (*fail)(r); err != nil {
			return limit.Decision{}, err
		}
	}
	return f.System.Check(ctx, r)
}

func (f *faultyChecker) Settle(ctx context.Context, s limit.Settlement) (limit.Settled, error) {
	if fail := f.settle.Load(); fail != nil {
		if err := (*fail)(s); err != nil {
			return limit.Settled{}, err
		}
	}
	settled, err := f.System.Settle(ctx, s)
	if err == nil && !s.Open {
		f.settled.Add(1)
	}
	return settled, err
}

// newModelRig has a gateway with these routes, whose upstream is the model.
func newModelRig(t *testing.T, routes string, model http.Handler) *modelRig {
	t.Helper()
	return newModelRigWith(t, "", routes, model)
}

// newModelRigWith is newModelRig with fields of the proxy, such as "max_body: 9, ".
func newModelRigWith(t *testing.T, proxy, routes string, model http.Handler) *modelRig {
	t.Helper()
	r := &modelRig{T: t, metrics: prometheus.NewRegistry(), logs: &logs{}}
	doc, err := limit.ParseDocument([]byte(modelLimits))
	if err != nil {
		t.Fatal(err)
	}
	quiet, now := slog.New(slog.DiscardHandler), unstalled(clock.New().Now)
	r.now = now
	store, err := storage.Open(storage.Config{FS: vfs.NewMem(), Dir: "data", Now: now, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Found(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.system, err = actor.New(actor.Config{
		Replicas: []actor.Replica{store}, Limits: func() *limit.Document { return doc }, Now: now, IdleAfter: time.Hour, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.system.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(q.Body, 64<<10))
		q.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), q.Body))
		r.mu.Lock()
		r.asked, r.heads = append(r.asked, string(body)), append(r.heads, q.Header.Clone())
		r.mu.Unlock()
		model.ServeHTTP(w, q)
	}))
	upstream.Config.ErrorLog = log.New(io.Discard, "", 0)
	upstream.Start()
	t.Cleanup(upstream.Close)
	r.checker = &faultyChecker{System: r.system}
	d, err := config.Parse([]byte(strings.ReplaceAll("cluster: {decide_within: 20s, max_in_flight_per_client: 5000}\nlog: {allowed: 1}\nproxy: {"+proxy+"upstreams: {model: {urls: ['"+upstream.URL+"']}}}\n"+routes, "\t", "  ")), "")
	if err != nil {
		t.Fatal(err)
	}
	r.gateway, err = gateway.New(gateway.Config{
		Document: d, Checker: r.checker, Registerer: r.metrics, Limits: func() *limit.Document { return doc },
		Logger: slog.New(slog.NewTextHandler(r.logs, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.gateway.Close)
	front := httptest.NewUnstartedServer(r.gateway.Proxy())
	front.Config.ErrorLog = upstream.Config.ErrorLog
	front.Start()
	t.Cleanup(front.Close)
	r.address = front.URL
	return r
}

// unstalled is a clock that stands still while the machine does, and so between two looks at it goes on by no more than 100 ms: what a
// gateway has to extend in time, in this process, would be over after a stall.
func unstalled(now func() int64) func() int64 {
	const most = int64(100 * time.Millisecond)
	var mu sync.Mutex
	last, stood := now(), int64(0)
	return func() int64 {
		mu.Lock()
		defer mu.Unlock()
		at := now()
		stood += max(at-last-most, 0)
		last = at
		return at - stood
	}
}

// client is one whose connections end with the test.
func (r *modelRig) client() *http.Client {
	transport := &http.Transport{DisableCompression: true}
	r.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// chat is a route that counts tokens of a limit.
func chat(limits string, more ...string) string {
	return "routes:\n- name: chat\n  path: /\n  llm: {api: openai-chat, " + strings.Join(append(more, "hold: 2m"), ", ") + "}\n  checks:\n  - {limits: [" + limits + "], key: ['org:a'], counts: tokens}\n"
}

const hello = `"messages":[{"role":"user","content":"hello hello hello"}]`

// ask asks the model through the gateway, and reads the answer to its end.
func (r *modelRig) ask(path, body string) (a answer, err error) {
	r.Helper()
	q, err := http.NewRequestWithContext(r.Context(), http.MethodPost, r.address+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	answered, err := r.client().Do(q)
	if err != nil {
		r.Fatal(err)
	}
	defer answered.Body.Close()
	text, err := io.ReadAll(answered.Body)
	return answer{answered.StatusCode, answered.Status, answered.Header, text}, err
}

// exchange waits until an exchange is settled.
func (r *modelRig) exchange(h http.Header) *denial.Record {
	r.Helper()
	id := h.Get("X-Jeton-Exchange")
	for deadline := time.Now().Add(time.Minute); ; {
		record, err := r.gateway.Recall(id)
		if err != nil {
			r.Fatalf("%q: %v", id, err)
		}
		over := record.Exchange.Basis != ""
		for _, h := range record.Exchange.Holds {
			over = over && h.State != string(limit.HoldOpen)
		}
		if over {
			return record
		}
		if time.Now().After(deadline) {
			r.Fatalf("%q is not settled: %+v", id, record.Exchange)
		}
	}
}

// spent is how many tokens a limit has charged, and how many it holds.
func (r *modelRig) spent(name string) (charged, held int64) {
	r.Helper()
	in, err := r.system.Inspect(r.Context(), "org:a", limit.Named(name), "")
	if err != nil {
		r.Fatal(err)
	}
	if in.Holds != nil {
		held = in.Holds.Tokens
	}
	return in.Rule.Capacity - in.Tokens - held + in.Debt, held
}

// wantSpent waits until nothing is held any more, and compares what is charged. A slow bucket that was used rounds what is left down.
func (r *modelRig) wantSpent(name string, want int64) {
	r.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		charged, held := r.spent(name)
		if held == 0 && (charged == want || name == "tokens" && charged == want+1) {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("%s: %d are charged and %d held, want %d and none", name, charged, held, want)
		}
	}
}

// count is the value of one series.
func (r *modelRig) count(name string, labels ...string) float64 {
	return (&rig{T: r.T, metrics: r.metrics}).count(name, labels...)
}

// wantCount waits until a series has that value.
func (r *modelRig) wantCount(want float64, name string, labels ...string) {
	r.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		got := r.count(name, labels...)
		if got == want {
			return
		}
		if got > want || time.Now().After(deadline) {
			r.Fatalf("%s %v is %v, want %v", name, labels, got, want)
		}
	}
}

// lastAsked is what the model got last.
func (r *modelRig) lastAsked() (body string, h http.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.asked) == 0 {
		return "", nil
	}
	return r.asked[len(r.asked)-1], r.heads[len(r.heads)-1]
}

// usageOf is the usage in an answer of Chat Completions.
func usageOf(t *testing.T, body []byte) (total int64) {
	t.Helper()
	var a struct {
		Usage struct {
			Total int64 `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatal(err)
	}
	return a.Usage.Total
}

// fake is a model with a fault.
func fake(f fakemodel.Fault) http.Handler { return fakemodel.New(fakemodel.Config{Fault: f}) }

// lines reads a stream line by line.
func linesOf(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 16<<20)
	return s
}
