package bench

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// targetOf is a target of a server that runs until the test ends.
func targetOf(t *testing.T, h http.HandlerFunc) httpTarget {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return httpTarget{
		address: strings.TrimPrefix(s.URL, "http://"), status: http.StatusOK,
		head: "GET /x?y=z HTTP/1.1\r\nHost: example.com\r\nX-Key: ",
	}
}

// Requests are what they are to be, and go over as many connections as there are callers, whatever the answers are.
func TestHTTPCallers(t *testing.T) {
	var requests, wrong atomic.Int64
	target := targetOf(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		key := r.Header.Get("X-Key")
		if r.Header.Get("X-Forwarded-Host") != "example.com" || r.URL.String() != "/x?y=z" || !strings.HasPrefix(key, "user:") || len(key) != keyLength {
			wrong.Add(1)
		}
		w.Write([]byte(strings.Repeat("a", int(requests.Load()%5000)))) //nolint:errcheck,gosec // the test would notice
	})
	var connections atomic.Int64
	counted := countConnections(t, target.address, &connections)
	target.address = counted
	l := Load{Callers: 7, KeyCount: 100, Duration: time.Millisecond}
	if err := l.check(); err != nil {
		t.Fatal(err)
	}
	r, err := measure(t.Context(), l, target.service(nil))
	if err != nil || len(r.Errors) > 0 || r.Denied > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.Checks < 7 || r.Checks != requests.Load() || r.Allowed != r.Checks || wrong.Load() > 0 || connections.Load() != 7 {
		t.Errorf("%d requests over %d connections, %d of them wrong: %+v", requests.Load(), connections.Load(), wrong.Load(), r)
	}
	if r.Latency.P50 <= 0 || r.ChecksPerSecond <= 0 {
		t.Errorf("%+v", r)
	}
}

// countConnections passes connections on to a server, and counts them.
func countConnections(t *testing.T, server string, n *atomic.Int64) string {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = httpRoleOf(t, BareProxy, "http://"+server)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			n.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func httpRoleOf(t *testing.T, role, upstream string) http.Handler {
	t.Helper()
	h, err := httpRole(role, upstream)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Whatever is not the expected answer is counted as a fault, with what the server said, and does not disturb the next one.
func TestHTTPCallerFaults(t *testing.T) {
	for _, tt := range []struct {
		name  string
		serve http.HandlerFunc
		want  Fault
	}{
		{"denied", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "too many"+strings.Repeat(" requests", 100), http.StatusTooManyRequests)
		}, Fault{"HTTP 429", 1, "status 429, not 200: too many requests"}},
		{"short", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusServiceUnavailable)
		}, Fault{"HTTP 503", 1, "status 503, not 200: no"}},
		{"no length", func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
		}, Fault{"HTTP", 1, "Transfer-Encoding chunked"}},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Fault{"HTTP", 1, "unexpected EOF"}},
	} {
		var asked atomic.Int32 // by goroutines of several connections: some answers close theirs
		target := targetOf(t, func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) == 2 {
				tt.serve(w, r)
			}
		})
		c, tally := target.service(nil).caller(0), newTally()
		for i := range 4 {
			if !c.call(t.Context(), []string{strconv.Itoa(i)}, tally) {
				t.Errorf("%s: taken for interrupted", tt.name)
			}
		}
		faults := tally.sortedFaults()
		if len(faults) != 1 || tally.allowed != 3 || faults[0].Code != tt.want.Code || faults[0].Checks != 1 ||
			!strings.Contains(faults[0].First, tt.want.First) {
			t.Errorf("%s: %d allowed, %+v; want %+v", tt.name, tally.allowed, faults, tt.want)
		}
	}
}

// A call that is interrupted counts for nothing; one that was never answered is a fault.
func TestHTTPCallerInterrupted(t *testing.T) {
	for _, unanswered := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		target := targetOf(t, func(_ http.ResponseWriter, r *http.Request) {
			if unanswered {
				cancel(errUnanswered)
			} else {
				cancel(nil)
			}
			<-r.Context().Done() // the connection is closed
		})
		tally := newTally()
		counted := target.service(nil).caller(0).call(ctx, []string{"k"}, tally)
		faults := tally.sortedFaults()
		if counted != unanswered || len(faults) != map[bool]int{true: 1}[unanswered] {
			t.Errorf("unanswered %t: counted %t, %+v", unanswered, counted, faults)
		}
		if unanswered && len(faults) == 1 && faults[0].First != errUnanswered.Error() {
			t.Errorf("%+v", faults)
		}
	}
}

func TestHTTPCallerNobodyThere(t *testing.T) {
	tally := newTally()
	c := httpTarget{address: "127.0.0.1:1"}.service(nil).caller(0)
	if !c.call(t.Context(), []string{"k"}, tally) || len(tally.faults) != 1 {
		t.Errorf("%+v", tally.sortedFaults())
	}
	if f := tally.sortedFaults(); len(f) == 1 && !strings.Contains(f[0].First, "127.0.0.1:1") {
		t.Errorf("%+v", f)
	}
}

// Whether an answer tells of a limit is seen, and an unexpected one refused.
func TestHTTPTargetLimited(t *testing.T) {
	for _, tt := range []struct {
		status  int
		field   string
		limited bool
		err     string
	}{
		{200, `"open";r=5`, true, ""},
		{200, "", false, ""},
		{404, `"open";r=5`, false, "404 Not Found, not 200"},
	} {
		target := targetOf(t, func(w http.ResponseWriter, _ *http.Request) {
			if tt.field != "" {
				w.Header().Set("RateLimit", tt.field)
			}
			w.WriteHeader(tt.status)
		})
		limited, err := target.limited(t.Context(), "k")
		if limited != tt.limited || (tt.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%+v: %t, %v", tt, limited, err)
		}
	}
	nobody := httpTarget{address: "127.0.0.1:1"}
	if limited, err := nobody.limited(t.Context(), "k"); err == nil || limited {
		t.Errorf("nobody is there: %t, %v", limited, err)
	}
}

// Both sides of a comparison are measured as often as was asked for, and one answer that is not as expected fails it.
func TestHTTPRounds(t *testing.T) {
	b := &httpBed{HTTPing: HTTPing{Pairs: 2, Setup: Setup{Temp: t.TempDir()}}}
	if err := b.check(); err != nil {
		t.Fatal(err)
	}
	l := b.load(2)
	l.Duration, l.Warmup = time.Millisecond, 0
	fine := targetOf(t, func(http.ResponseWriter, *http.Request) {})
	self := &child{name: "this", cmd: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}, exited: make(chan struct{})}
	both := [2]httpSide{newHTTPSide("one", fine, parts{{"this process", children{self}}}), newHTTPSide("other", fine, nil)}
	pairs, err := b.rounds(t.Context(), l, both)
	if err == nil && (len(pairs[0].NodeCPU) != 2 || pairs[0].NodeCPU[0].Part != "this process" || len(pairs[1].OtherCPU) != 1) {
		t.Errorf("%+v", pairs)
	}
	if err != nil || len(pairs) != 2 || pairs[0].Ratio <= 0 || pairs[0].Node.Checks < 2 || pairs[1].Other.Checks < 2 {
		t.Errorf("%v, %+v", err, pairs)
	}
	denied := targetOf(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	both[1] = newHTTPSide("other", denied, nil)
	if _, err := b.rounds(t.Context(), l, both); err == nil || !strings.Contains(err.Error(), "the other: ") || !strings.Contains(err.Error(), "status 429") {
		t.Errorf("one side denies everything: %v", err)
	}
	fault := []Fault{{"HTTP 429", 1, "status 429, not 200"}}
	for _, tt := range []struct {
		pair Pair
		want string
	}{
		{Pair{Node: Report{Checks: 1_000_000}}, ""},
		{Pair{Node: Report{Checks: 1_000_000, Errors: fault}}, "the one: 1 of 1000000 answers were not as expected, the first: status 429"},
		{Pair{Other: Report{Checks: 9, Errors: fault}}, "the other: 1 of 9 answers"},
	} {
		err := expected([2]*side{both[0].side, both[1].side}, tt.pair)
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}
