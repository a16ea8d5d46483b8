package console

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/web"
)

const oneToken = "0123456789abcdef"

// A toy is a Source that counts how often it is asked.
type toy struct {
	looks atomic.Int64
	asked string // the name of the node that is asked
	keys  func(q activity.KeysAsked) (activity.KeysFound, error)
	err   atomic.Pointer[error]
}

func (s *toy) Look(context.Context) (activity.Look, error) {
	if err := s.err.Load(); err != nil {
		return activity.Look{}, *err
	}
	n := s.looks.Add(1)
	return activity.Look{At: time.Unix(n, 0), Asked: s.asked}, nil
}

func (s *toy) Keys(_ context.Context, q activity.KeysAsked) (activity.KeysFound, error) {
	return s.keys(q)
}

// A rig is a console behind the guard of a port, on a real server.
type rig struct {
	*testing.T
	*toy

	console *Console
	server  *httptest.Server
	counts  atomic.Bool // the token does
	metrics *prometheus.Registry
}

// newRig opens a console on loopback; beyond says that its guard takes others for able to reach it.
func newRig(t *testing.T, beyond bool) *rig {
	t.Helper()
	r := &rig{T: t, toy: &toy{asked: "a<b>\n"}, metrics: prometheus.NewRegistry()}
	r.counts.Store(true)
	tokens := func(token string) (counts, exist bool) { return token == oneToken && r.counts.Load(), true }
	doc := conformance.NewDocument(t)
	routes := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the list of routes") })
	other, err := web.NewAPI(web.APIConfig{Limiter: conformance.NewNoonModel(t), Limits: func() *limit.Document { return doc }, Other: routes})
	if err != nil {
		t.Fatal(err)
	}
	cookies, err := web.NewCookies(nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Self: Self{Node: "a", Cluster: true, Role: "node", Version: "v1"}, Source: r.toy, Other: other, Tokens: tokens, Cookies: cookies,
		Where: "the token in <file>", Redis: "127.0.0.1:7706", Registerer: r.metrics,
		Answer: func(d limit.Decision, _ string) (int, http.Header, error) {
			if !d.Allowed {
				return http.StatusTooManyRequests, http.Header{"Retry-After": {"1"}}, nil
			}
			return http.StatusOK, http.Header{"Ratelimit": {`"demo";r=1;t=1`}}, nil
		},
	}
	if r.console, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	guard, err := web.NewGuard(r.console, web.GuardConfig{
		Door: access.NodeHTTP, Beyond: beyond, Tokens: tokens, Name: func(string) string { return "token ann" }, Where: cfg.Where, Cookies: cookies,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.server = httptest.NewUnstartedServer(nil)
	r.server.Config = web.NewServer(guard, nil)
	r.server.Config.ReadTimeout = 100 * time.Millisecond
	r.server.Config.ReadHeaderTimeout = time.Minute // however many ask at once
	r.server.Config.RegisterOnShutdown(r.console.Stop)
	r.server.Start()
	t.Cleanup(func() {
		r.console.Stop()
		r.server.Close()
	})
	r.server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return r
}

// metric is the sum of all series of a metric.
func (r *rig) metric(name string) (sum float64) {
	r.Helper()
	for _, m := range metricstest.Gather(r, r.metrics, name) {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return sum
}

// send sends a request with headers such as "Origin: http://a", and returns an answer whose body is to be closed.
func (r *rig) send(ctx context.Context, method, path, body string, headers ...string) *http.Response {
	r.Helper()
	q, err := http.NewRequestWithContext(ctx, method, r.server.URL+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		q.Header.Add(name, value)
	}
	res, err := r.server.Client().Do(q)
	if err != nil {
		r.Fatal(err)
	}
	return res
}

// An answer is one whose body was read.
type answer struct {
	*http.Response
	body string
}

func (r *rig) ask(method, path, body string, headers ...string) answer {
	r.Helper()
	res := r.send(r.Context(), method, path, body, headers...)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.Fatal(err)
	}
	return answer{res, string(text)}
}

// signIn is the header with the cookie of a browser that has signed in.
func (r *rig) signIn() string {
	r.Helper()
	a := r.ask(http.MethodPost, "/console/sign-in", "token="+oneToken, form, "Origin: "+r.server.URL)
	if a.StatusCode != http.StatusSeeOther || len(a.Cookies()) != 1 || a.Header.Get("Location") != "/" {
		r.Fatalf("signing in: %d %v %s", a.StatusCode, a.Header, a.body)
	}
	return "Cookie: " + a.Cookies()[0].Name + "=" + a.Cookies()[0].Value
}

const (
	form    = "Content-Type: application/x-www-form-urlencoded"
	browser = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
)

// A following is a stream that is read event by event.
type following struct {
	*testing.T

	response *http.Response
	lines    *bufio.Scanner
	leave    context.CancelFunc
}

// follow opens a stream.
func (r *rig) follow(headers ...string) *following {
	r.Helper()
	ctx, leave := context.WithCancel(r.Context())
	res := r.send(ctx, http.MethodGet, "/console/events", "", headers...)
	r.Cleanup(func() { leave(); res.Body.Close() })
	return &following{r.T, res, bufio.NewScanner(res.Body), leave}
}

// next is the next event; no name at the end of the stream.
func (f *following) next() (name string, view activity.View) {
	f.Helper()
	for f.lines.Scan() {
		field, value, _ := strings.Cut(f.lines.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			if name == "view" {
				if err := json.Unmarshal([]byte(value), &view); err != nil {
					f.Errorf("%q: %v", value, err)
				}
			}
		case "":
			return name, view
		}
	}
	return "", view
}

var discard = slog.New(slog.DiscardHandler)

// firstLines asks for a stream over a connection, and reads the status and the header of the answer.
func firstLines(t *testing.T, conn net.Conn) (int, http.Header) {
	t.Helper()
	if _, err := io.WriteString(conn, "GET /console/events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Error(err)
		return 0, nil
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // the connection is
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	if res.Close {
		res.Header.Set("Connection", "close") // which the reader has taken out
	}
	return res.StatusCode, res.Header
}
