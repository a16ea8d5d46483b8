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

// What is under way is answered; meanwhile the gateway says that it is not ready, and takes nothing new.
func TestStopDrains(t *testing.T) {
	u := newSlowUpstream(t)
	r := open(t, Config{}, aDocument(u.URL))
	r.heard(t)
	answered := make(chan answer, 1)
	go func() {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.ProxyAddr()+"/open/slow", http.NoBody)
		if err != nil {
			t.Error(err)
		}
		a, err := r.http.Do(q)
		if err != nil {
			t.Error(err)
			answered <- answer{}
			return
		}
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		if err != nil {
			t.Error(err)
		}
		answered <- answer{status: a.StatusCode, body: string(body)}
	}()
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
