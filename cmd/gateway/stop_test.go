package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// slowUpstream answers /open/slow when it is released, streams without end at /open/stream, and turns /open/upgrade into an
// echo.
type slowUpstream struct {
	*httptest.Server
	reached chan string   // gets the path of every request
	release chan struct{} // closed
}

func newSlowUpstream(t *testing.T) *slowUpstream {
	t.Helper()
	u := &slowUpstream{reached: make(chan string, 10), release: make(chan struct{})}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.reached <- r.URL.Path
		switch r.URL.Path {
		case "/open/slow":
			<-u.release
			fmt.Fprint(w, "done")
		case "/open/stream":
			fmt.Fprintln(w, "first")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/open/upgrade":
			conn, both, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			defer conn.Close() //nolint:errcheck // the gateway has hung up
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			io.Copy(conn, both) //nolint:errcheck // it ends when the gateway hangs up
		}
	}))
	t.Cleanup(u.Close)
	return u
}

// closing closes the gateway and says when that is done.
func (r *rig) closing(ctx context.Context) <-chan error {
	closed := make(chan error, 1)
	go func() { closed <- r.Close(ctx) }()
	return closed
}

// later sends a request, and says how it is answered in the end: with no status if it is not.
func (r *rig) later(t *testing.T, path string) <-chan answer {
	t.Helper()
	answered := make(chan answer, 1)
	go func() {
		a, err := r.proxied(t.Context(), path)
		if err != nil {
			t.Error(err)
		}
		answered <- a
	}()
	return answered
}

// proxied sends a request to the proxy.
func (r *rig) proxied(ctx context.Context, path string) (answer, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.ProxyAddr()+path, http.NoBody)
	if err != nil {
		return answer{}, err
	}
	a, err := r.http.Do(q)
	if err != nil {
		return answer{}, err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	return answer{a.StatusCode, a.Header, string(body)}, err
}

// What is under way is answered; meanwhile the gateway says that it is not ready, and takes nothing new.
func TestStopDrains(t *testing.T) {
	u := newSlowUpstream(t)
	r := open(t, Config{}, aDocument(u.URL))
	r.heard(t)
	answered := r.later(t, "/open/slow")
	<-u.reached
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	closed := r.closing(ctx)
	<-r.stopping
	if a := r.get(t, r.AdminAddr(), "/readyz"); a.status != http.StatusServiceUnavailable || !strings.HasPrefix(a.body, "not ready: the gateway is stopping\n") {
		t.Errorf("/readyz while it stops: %+v", a)
	}
	for { // the listener is closed a moment later
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.ProxyAddr())
		if err != nil {
			break
		}
		c.Close() //nolint:errcheck // nothing was written
	}
	select {
	case err := <-closed:
		t.Fatalf("it has not waited: %v", err)
	default:
	}
	close(u.release)
	if a := <-answered; a.status != http.StatusOK || a.body != "done" {
		t.Errorf("the request under way: %+v", a)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if n := r.log.count("cut off"); n != 0 {
		t.Errorf("%d lines say that something was cut off", n)
	}
}

// holding are the routes whose requests are held: five seconds at most at one, in which a busy machine has to see it, and 20 seconds at the other.
const holding = `- {name: held, path: /held, checks: [{limits: [held], wait: 30s}]}
- {name: late, path: /late, checks: [{limits: [late], wait: 30s}]}
`

// hold sends a request that is held, and says how it is answered in the end. Where the machine is so slow that one is answered before it is
// seen to be held, it sends another one.
func (r *rig) hold(t *testing.T, path string) <-chan answer {
	t.Helper()
	if a := r.get(t, r.ProxyAddr(), path); a.status != http.StatusOK {
		t.Fatalf("the first one: %+v", a)
	}
	answered, more := r.later(t, path), 1000
	for !strings.Contains(r.get(t, r.AdminAddr(), "/metrics").body, "jeton_gateway_requests_held 1\n") {
		select {
		case a := <-answered:
			if more--; a.status != http.StatusOK || more == 0 {
				t.Fatalf("it was not held: %+v", a)
			}
			answered = r.later(t, path)
		default:
		}
	}
	return answered
}

// Requests that are held when the gateway stops go on when their time has come.
func TestStopLetsHeldRequestsGo(t *testing.T) {
	r := open(t, Config{}, aDocument(anUpstream(t).URL)+holding)
	r.heard(t)
	held := r.hold(t, "/held")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	closed := r.closing(ctx)
	if a := <-held; a.status != http.StatusOK || a.body != "upstream /held" {
		t.Errorf("the held one: %+v", a)
	}
	if err := <-closed; err != nil || r.log.count("cut off") != 0 {
		t.Errorf("closed with %v, %d lines say that something was cut off", err, r.log.count("cut off"))
	}
}

// Those whose time comes too late are answered when the time to stop is over, and give their places up.
func TestStopAnswersHeldRequests(t *testing.T) {
	r := open(t, Config{}, aDocument(anUpstream(t).URL)+holding)
	r.heard(t)
	held := r.hold(t, "/late")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	closed := r.closing(ctx)
	if a := <-held; a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "1" || !strings.Contains(a.body, "the gateway is stopping; retry later") {
		t.Errorf("the held one: %+v", a)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if n := r.proxy.underWay.Load(); n != 0 {
		t.Errorf("%d requests are still under way", n)
	}
	next := open(t, Config{}, aDocument(anUpstream(t).URL)+holding)
	in, err := next.clusters[0].client.Inspect(t.Context(), "ip:127.0.0.1", limit.Named("late"), "")
	if wait := time.Duration(in.Begins - in.Now); err != nil || wait <= 0 || wait > 20*time.Second {
		t.Errorf("the next one waits %v, %v, want the place that was given up", wait, err)
	}
}

// What goes on for ever ends with the deadline.
func TestStopCutsOff(t *testing.T) {
	for _, kind := range []string{"stream", "upgrade"} {
		t.Run(kind, func(t *testing.T) {
			u := newSlowUpstream(t)
			defer close(u.release)
			r := open(t, Config{}, aDocument(u.URL))
			c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.ProxyAddr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close() //nolint:errcheck // the gateway has hung up
			header := ""
			if kind == "upgrade" {
				header = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
			}
			fmt.Fprintf(c, "GET /open/%s HTTP/1.1\r\nHost: api\r\n%s\r\n", kind, header)
			in := bufio.NewReader(c)
			for line := ""; line != "\r\n"; {
				if line, err = in.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			if kind == "upgrade" {
				fmt.Fprint(c, "hello\n")
				if line, err := in.ReadString('\n'); err != nil || line != "hello\n" {
					t.Fatalf("the echo is %q, %v", line, err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			closed := r.closing(ctx)
			io.Copy(io.Discard, in) //nolint:errcheck // however it ends, it does
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Fatal("it does not stop")
			}
			if n := r.log.count("cut off"); n != 1 {
				t.Errorf("%d lines say that something was cut off", n)
			}
			if n := r.proxy.underWay.Load(); n != 0 {
				t.Errorf("%d requests are still under way", n)
			}
		})
	}
}
