package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway"
)

// login answers 401 to a wrong password.
func login(w http.ResponseWriter, r *http.Request) {
	if password, _ := io.ReadAll(r.Body); string(password) != "right" {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// Only logins that fail count.
func TestChargeWhen(t *testing.T) {
	r, s := proxied(t, "- {name: login, path: /login, charge_when: [401, 403], checks: [{limits: [five]}]}", "", upstream(t, login))
	try := func(password string, want int) {
		t.Helper()
		if a, _ := fetch(t, http.MethodPost, s.URL+"/login", password); a.StatusCode != want {
			t.Errorf("%s: %s, want %d", password, a.Status, want)
		}
	}
	for i := range 5 {
		try("right", http.StatusOK)
		r.returns("done", float64(i+1))
	}
	for range 5 {
		try("wrong", http.StatusUnauthorized)
	}
	try("right", http.StatusTooManyRequests)
	try("wrong", http.StatusTooManyRequests)
	r.returns("done", 5)
	if got := r.count("jeton_gateway_refunds_total", "route", "login", "reason", "answer"); got != 5 {
		t.Errorf("%v requests gave back, want 5", got)
	}
}

// Logins that are under way at once do not pass the limit together: each is charged before it passes.
func TestChargeWhenManyAtOnce(t *testing.T) {
	arrived, answer := make(chan struct{}, 10), make(chan struct{})
	r, s := proxied(t, "- {name: login, path: /, charge_when: [401], checks: [{limits: [five]}]}", "", upstream(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-answer
	}))
	statuses := make(chan int, 10)
	for range 10 {
		go func() {
			a, err := http.Post(s.URL, "", strings.NewReader("right")) //nolint:noctx // the test ends it
			if err != nil {
				statuses <- 0
				return
			}
			_ = a.Body.Close()
			statuses <- a.StatusCode
		}()
	}
	for range 5 {
		<-arrived
	}
	for range 5 {
		if got := <-statuses; got != http.StatusTooManyRequests {
			t.Errorf("status %d while five are under way, want 429", got)
		}
	}
	close(answer)
	for range 5 {
		if got := <-statuses; got != http.StatusOK {
			t.Errorf("status %d", got)
		}
	}
	r.returns("done", 5)
	if got := r.remaining("ip:127.0.0.1", "five"); got != 5 {
		t.Errorf("%d of 5 remain", got)
	}
	http.DefaultClient.CloseIdleConnections()
}

// A request that reached no instance gives back what all of its checks took, whatever the route says.
func TestUnsentCostsNothing(t *testing.T) {
	gone := newDead(t)
	r, s := proxied(t, "- {name: all, path: /, checks: [{limits: [ten, sixty], cost: 3}, {key: ['host:{host}'], limits: [two]}]}", "", gone.url())
	for i := range 5 {
		if a, _ := fetch(t, http.MethodPost, s.URL, "hello", "Host: h"); a.StatusCode != http.StatusBadGateway {
			t.Fatal(a.Status)
		}
		r.returns("done", float64(2*(i+1)))
	}
	for key, full := range map[[2]string]int64{{"ip:127.0.0.1", "ten"}: 10, {"ip:127.0.0.1", "sixty"}: 60, {"host:h", "two"}: 2} {
		if got := r.remaining(key[0], key[1]); got != full {
			t.Errorf("%v: %d remain, want %d", key, got, full)
		}
	}
	if states := r.gateway.Upstreams(); len(states) != 1 || len(states[0].Down) != 1 || states[0].Down[0].URL != gone.url() || states[0].Down[0].Why == nil {
		t.Errorf("the upstreams are %+v", states)
	}
	if got := r.count("jeton_gateway_refunds_total", "route", "all", "reason", "unsent"); got != 5 {
		t.Errorf("%v requests gave back", got)
	}
}

// A client that leaves pays, whether its request was sent or not.
func TestChargeWhenTheClientLeaves(t *testing.T) {
	for what, c := range map[string]struct {
		route string
		sent  bool
		left  int64
	}{
		"before it was sent":                {"", false, 9},
		"after it was sent":                 {"", true, 9},
		"after it was sent, only 401 costs": {", charge_when: [401]", true, 9},
		"after it was sent, 5xx is free":    {", refund: [5xx]", true, 9},
	} {
		t.Run(what, func(t *testing.T) {
			reached := make(chan struct{})
			url := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
				close(reached)
				<-r.Context().Done()
			})
			if !c.sent {
				var address string
				address, reached = silent(t)
				url = "https://" + address
			}
			r, _ := proxied(t, "- {name: all, path: /, checks: [{limits: [ten]}]"+c.route+"}", "", url)
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				<-reached
				leave()
			}()
			func() {
				defer func() { _ = recover() }() // nobody is left to be answered
				r.gateway.Proxy().ServeHTTP(httptest.NewRecorder(), request(t, http.MethodGet, "/").WithContext(ctx))
			}()
			r.gateway.Close() // which waits for returns
			if got := r.remaining("ip:192.0.2.1", "ten"); got != c.left {
				t.Errorf("%d remain, want %d", got, c.left)
			}
		})
	}
}

// A client whose own deadline passes before the upstream is asked pays, too. It is no trouble of the upstream.
func TestChargeWhenTheDeadlineOfTheClientPasses(t *testing.T) {
	app := upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	r, s := proxied(t, "- {name: all, path: /, refund: [5xx], checks: [{limits: [ten]}]}", "", app)
	statuses := map[int]int{}
	for range 12 {
		a, _ := fetch(t, http.MethodGet, s.URL, "", "Connect-Timeout-Ms: 0")
		statuses[a.StatusCode]++
	}
	r.gateway.Close() // which waits for returns
	if statuses[http.StatusGatewayTimeout] != 10 || statuses[http.StatusTooManyRequests] != 2 {
		t.Errorf("12 requests to a limit of 10 are answered %v", statuses)
	}
	if n := r.count("jeton_gateway_failures_total", "reason", "client_timeout"); n != 10 {
		t.Errorf("%v counted", n)
	}
	if logs := r.logs.String(); strings.Contains(logs, "an upstream") {
		t.Errorf("the log tells of trouble with the upstream:\n%s", logs)
	}
}

// Answers with a status that the route names cost nothing; so do those that the gateway gives for the upstream.
func TestRefund(t *testing.T) {
	app := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if status == 0 {
			panic(http.ErrAbortHandler) // the connection breaks
		}
		w.WriteHeader(status)
	})
	for _, c := range []struct {
		refund, path string
		status       int
		free         bool
	}{
		{"[5xx]", "/503", 503, true},
		{"[5xx]", "/500", 500, true},
		{"[5xx]", "/404", 404, false},
		{"[5xx]", "/200", 200, false},
		{"[503, 4xx]", "/503", 503, true},
		{"[503, 4xx]", "/500", 500, false},
		{"[503, 4xx]", "/404", 404, true},
		{"[5xx]", "/broken", 502, true},
		{"[503]", "/broken", 502, false},
	} {
		t.Run(c.refund+c.path, func(t *testing.T) {
			r, s := proxied(t, "- {name: all, path: /, refund: "+c.refund+", checks: [{limits: [ten]}]}", "", app)
			if a, _ := fetch(t, http.MethodGet, s.URL+c.path, ""); a.StatusCode != c.status || a.Header.Get("RateLimit") != `"ten";r=9;t=9` {
				t.Errorf("%s, %q", a.Status, a.Header)
			}
			want := map[bool]int64{true: 10, false: 9}[c.free]
			r.gateway.Close() // which waits for returns
			if got := r.remaining("ip:127.0.0.1", "ten"); got != want {
				t.Errorf("%d remain, want %d", got, want)
			}
		})
	}
}

// What cannot be given back is counted, and the client is answered all the same.
func TestRefundFails(t *testing.T) {
	r, s := proxied(t, "- {name: all, path: /, refund: [503], checks: [{limits: [ten]}]}", "",
		upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	stuck := errors.New("no owner answers")
	r.stuck.Store(&stuck)
	if a, _ := fetch(t, http.MethodGet, s.URL, ""); a.StatusCode != http.StatusServiceUnavailable {
		t.Error(a.Status)
	}
	r.returns("failed", 1)
	if got := r.remaining("ip:127.0.0.1", "ten"); got != 9 {
		t.Errorf("%d remain", got)
	}
}

// What nobody has decided has no receipt, and gives nothing back.
func TestRefundOfWhatWasNotDecided(t *testing.T) {
	for _, policy := range []string{"allow", "local"} {
		r, s := proxied(t, "- {name: all, path: /, refund: [503], checks: [{limits: [local], on_unavailable: "+policy+"}]}", "",
			upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
		r.breakDown(limit.ErrUnavailable)
		if a, _ := fetch(t, http.MethodGet, s.URL, ""); a.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: %s", policy, a.Status)
		}
		if got := r.count("jeton_gateway_refunds_total", "route", "all", "reason", "answer"); got != 0 {
			t.Errorf("%s: %v requests gave back", policy, got)
		}
	}
}

// The middleware sees what its handler answers.
func TestMiddlewareCharges(t *testing.T) {
	write := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	for what, c := range map[string]struct {
		route   string
		handler http.HandlerFunc
		left    int64
		panics  bool
	}{
		"nothing written is 200":  {"charge_when: [401]", func(http.ResponseWriter, *http.Request) {}, 10, false},
		"a body alone is 200":     {"refund: [200]", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) }, 10, false},
		"a file is 200":           {"refund: [200]", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("x")) }, 10, false},
		"a flush is 200":          {"refund: [200]", func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }, 10, false},
		"a wrong password":        {"charge_when: [401]", write(401), 9, false},
		"an error of the handler": {"refund: [5xx]", write(500), 10, false},
		"early hints are no answer": {"charge_when: [103, 401]", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		}, 10, false},
		"the first status counts": {"charge_when: [401]", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			w.WriteHeader(http.StatusOK)
		}, 9, false},
		"a panic is 500":            {"refund: [500]", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 10, true},
		"a panic where only 401 is": {"charge_when: [401]", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 10, true},
		"a panic after it has begun": {"refund: [500]", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			panic(http.ErrAbortHandler)
		}, 9, true},
		"no word of what costs": {"hosts: []", write(500), 9, false},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, "routes: [{name: all, path: /, "+c.route+", checks: [{limits: [ten]}]}]")
			w := httptest.NewRecorder()
			panicked := func() (panicked bool) {
				defer func() { panicked = recover() != nil }()
				gateway.Middleware(r.gateway)(c.handler).ServeHTTP(w, request(t, http.MethodPost, "/"))
				return false
			}()
			r.gateway.Close() // which waits for returns
			if got := r.remaining("ip:192.0.2.1", "ten"); got != c.left || panicked != c.panics {
				t.Errorf("%d remain, want %d; it panicked: %v", got, c.left, panicked)
			}
		})
	}
}

// A connection that is taken over is answered 101.
func TestMiddlewareChargesUpgrades(t *testing.T) {
	r := newRig(t, "routes: [{name: all, path: /, refund: [101], checks: [{limits: [ten]}]}]")
	s := httptest.NewServer(gateway.Middleware(r.gateway)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "something else")
		_ = c.Close()
	})))
	t.Cleanup(s.Close)
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	if text, err := io.ReadAll(c); string(text) != "something else" {
		t.Errorf("%q, %v", text, err)
	}
	r.returns("done", 1)
}

// What a request took comes back also when another document has taken the place of its own meanwhile.
func TestRefundAfterAReload(t *testing.T) {
	const document = "cluster: {decide_within: %s}\nproxy: {upstreams: {app: {urls: [%s]}}}\nroutes: [{name: all, path: /, refund: [503], checks: [{limits: [ten]}]}]"
	arrived, answer := make(chan struct{}), make(chan struct{})
	app := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-answer
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	r := newRig(t, fmt.Sprintf(document, "10s", app))
	go func() {
		defer close(answer)
		<-arrived
		if err := r.gateway.Load(r.parse(fmt.Sprintf(document, "20s", app))); err != nil {
			t.Error(err)
		}
	}()
	r.gateway.Proxy().ServeHTTP(httptest.NewRecorder(), request(t, http.MethodGet, "/"))
	r.returns("done", 1)
	if got := r.remaining("ip:192.0.2.1", "ten"); got != 10 {
		t.Errorf("%d remain", got)
	}
}

// Receipts are asked for where they may be needed, and nowhere else.
func TestReceiptsAreAskedForWhereTheyAreNeeded(t *testing.T) {
	const checks = "checks: [{limits: [sixty]}]"
	app := upstream(t, echo)
	r := newRig(t, fmt.Sprintf("proxy: {upstreams: {app: {urls: [%s]}}}\nforward_auth: {trusted: [192.0.2.1]}\nroutes:\n- {name: plain, path: /, %s}\n- {name: free, path: /free, refund: [5xx], %[2]s}", app, checks))
	r.asked = make(chan limit.Request, 1)
	for _, c := range []struct {
		face     string
		handler  http.Handler
		path     string
		receipts bool
	}{
		{"proxy", r.gateway.Proxy(), "/", true},
		{"proxy", r.gateway.Proxy(), "/free", true},
		{"middleware", gateway.Middleware(r.gateway)(http.NotFoundHandler()), "/", false},
		{"middleware", gateway.Middleware(r.gateway)(http.NotFoundHandler()), "/free", true},
		{"forward-auth", r.gateway.ForwardAuth(), "/", false},
		{"forward-auth", r.gateway.ForwardAuth(), "/free", false},
	} {
		q := request(t, http.MethodGet, c.path)
		if c.face == "forward-auth" {
			q = request(t, http.MethodGet, "/auth", "X-Forwarded-Uri: "+c.path, "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: h", "X-Forwarded-Method: GET")
		}
		c.handler.ServeHTTP(httptest.NewRecorder(), q)
		if asked := <-r.asked; asked.Receipt != c.receipts {
			t.Errorf("%s, %s: asked for receipts: %v", c.face, c.path, asked.Receipt)
		}
	}
}

// The cluster is asked for receipts only as long as it is not known that a request will be sent: it remembers each for minutes.
func TestReceiptsAreForUpstreamsThatMayBeGone(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer service.Close()
	r, s := proxied(t, "- {name: all, path: /, checks: [{limits: [sixty]}]}", "", service.URL)
	ask := func(want int) {
		t.Helper()
		if a, _ := fetch(t, http.MethodGet, s.URL, ""); a.StatusCode != want {
			t.Fatal(a.Status)
		}
	}
	ask(http.StatusOK)
	first := r.receipts.Load()
	for range 5 {
		ask(http.StatusOK)
	}
	if got := r.receipts.Load(); first != 1 || got != 1 {
		t.Errorf("%d receipts for the first request, %d for the first six", first, got)
	}
	service.Close() // and its connections
	for range 100 {
		ask(http.StatusBadGateway)
		if r.receipts.Load() > 1 {
			break
		}
	}
	left := r.remaining("ip:127.0.0.1", "sixty")
	for range 5 {
		ask(http.StatusBadGateway)
	}
	r.returns("done", float64(r.receipts.Load()-1))
	if got := r.remaining("ip:127.0.0.1", "sixty"); got < left {
		t.Errorf("%d of %d remain: what was not sent has cost", got, left)
	}
}

// What the service has done is paid for, if it is the client who ends the request: by its deadline, by leaving, or by a body that
// is too long.
func TestTheClientDoesNotChooseWhatItPays(t *testing.T) {
	const route = "- {name: all, path: /, refund: [4xx, 5xx], checks: [{limits: [ten]}]}"
	app := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if text := r.Header.Get("Connect-Timeout-Ms"); text != "" {
			timeout, _ := time.ParseDuration(text + "ms")
			<-time.After(timeout)
			w.WriteHeader(http.StatusGatewayTimeout)
			return
		}
		if r.Header.Get("Grpc-Timeout") == "" {
			_, _ = r.Body.Read(make([]byte, 1)) // it has seen the request
		}
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	for name, run := range map[string]func(r *rig, w http.ResponseWriter){
		"the deadline of a call": func(r *rig, w http.ResponseWriter) {
			q := request(t, http.MethodPost, "/", "Content-Type: application/grpc", "Grpc-Timeout: 20m")
			q.ProtoMajor, q.ProtoMinor = 2, 0
			r.gateway.Proxy().ServeHTTP(w, q)
		},
		"the deadline of a call of Connect": func(r *rig, w http.ResponseWriter) {
			r.gateway.Proxy().ServeHTTP(w, request(t, http.MethodPost, "/", "Content-Type: application/json", "Connect-Timeout-Ms: 20"))
		},
		"a body that is too long": func(r *rig, w http.ResponseWriter) {
			body, send := io.Pipe()
			q := request(t, http.MethodPost, "/")
			q.Body, q.ContentLength = body, -1
			go func() {
				_, _ = send.Write([]byte("x"))
				_, _ = send.Write(make([]byte, 2000))
			}()
			r.gateway.Proxy().ServeHTTP(w, q)
			_ = body.Close()
		},
		"one who leaves a handler": func(r *rig, w http.ResponseWriter) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			h := gateway.Middleware(r.gateway)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				leave()
				w.WriteHeader(http.StatusBadGateway)
			}))
			h.ServeHTTP(w, request(t, http.MethodGet, "/").WithContext(ctx))
		},
		"one who cancels a call": func(r *rig, _ http.ResponseWriter) {
			from := metadata.NewIncomingContext(t.Context(), metadata.Pairs(":authority", "h"))
			ctx, leave := context.WithCancel(peer.NewContext(from, &peer.Peer{Addr: &net.TCPAddr{IP: net.ParseIP("192.0.2.1"), Port: 9}}))
			defer leave()
			_, err := gateway.UnaryInterceptor(r.gateway)(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a/b"}, func(ctx context.Context, _ any) (any, error) {
				leave()
				return nil, ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				r.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := proxied(t, route, "", app)
			w := httptest.NewRecorder()
			func() {
				defer func() { _ = recover() }() // nobody is left to be answered
				run(r, w)
			}()
			r.gateway.Close() // which waits for returns
			if got := r.remaining("ip:192.0.2.1", "ten"); got != 9 {
				t.Errorf("%d remain after an answer of %d, want 9", got, w.Code)
			}
		})
	}
}
