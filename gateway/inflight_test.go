package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/gateway"
)

// While one address sends hundreds of bodies slowly to an exempt path, it holds no more than its share of the room, and
// others pass beside it.
func TestSlowBodiesTakeNoRoomOfOthers(t *testing.T) {
	const attackers, room, share = 500, 100, 20
	r := newRig(t, fmt.Sprintf(`
cluster: {max_in_flight: %d, max_in_flight_per_client: %d}
proxy: {upstreams: {app: {urls: [%s]}}}
identity: {trusted_proxies: [127.0.0.0/8]}
exempt: {paths: [/free]}
routes: [{name: all, path: /, checks: [{limits: [hundred]}]}]
`, room, share, upstream(t, echo)))
	s := httptest.NewServer(r.gateway.Proxy())
	t.Cleanup(s.Close)
	var settled, ended sync.WaitGroup
	settled.Add(attackers - share) // those for which there is no room are answered at once
	leave := make(chan struct{})
	for range attackers {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		// The load balancer on this machine says who it is: one /64 of IPv6.
		head := fmt.Sprintf("POST /free HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 2001:db8::%x\r\nContent-Length: 10\r\n\r\n1", c.LocalAddr().(*net.TCPAddr).Port)
		if _, err := io.WriteString(c, head); err != nil {
			t.Fatal(err)
		}
		ended.Go(func() {
			defer c.Close() //nolint:errcheck // all is said
			go func() {
				<-leave
				_ = c.Close()
			}()
			a, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return // it was waited for when the test ended
			}
			defer a.Body.Close()
			if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "1" || a.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s, %v", a.Status, a.Header)
			}
			settled.Done()
		})
	}
	settled.Wait()
	for i := range 50 {
		if a, text := fetch(t, http.MethodPost, s.URL+"/free", "a body", fmt.Sprintf("X-Forwarded-For: 198.51.100.%d", i)); a.StatusCode != http.StatusOK {
			t.Fatalf("an honest caller beside the attack: %s: %s", a.Status, text)
		}
	}
	if got := r.count("jeton_gateway_requests_in_flight"); got != share {
		t.Errorf("%v requests are in flight, want %d", got, share)
	}
	if got := r.count("jeton_gateway_requests_total", "route", "(none)", "outcome", "too_many_concurrent"); got != attackers-share {
		t.Errorf("%v requests counted as too_many_concurrent, want %d", got, attackers-share)
	}
	close(leave)
	ended.Wait()
}

// Whoever may not enter at one face may not at another, and the place of one that has ended is free.
func TestTooManyConcurrent(t *testing.T) {
	r := newRig(t, forwarding+"cluster: {max_in_flight_per_client: 1}\n"+oneRoute("{limits: [hundred]}"))
	leave := make(chan struct{})
	var ended sync.WaitGroup
	for _, from := range []string{"[2001:db8::1]:1", "127.0.0.1:1"} {
		inside := make(chan struct{})
		busy := gateway.Middleware(r.gateway)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(inside)
			<-leave
		}))
		asks := request(t, http.MethodGet, "/", "From: "+from)
		ended.Go(func() { busy.ServeHTTP(httptest.NewRecorder(), asks) })
		<-inside
	}
	r.wants("/", []string{"From: [2001:db8::2]:1"}, 429)
	r.wants("/", []string{"From: [2001:db8:0:1::1]:1"}, 204)
	r.wants("/", []string{"From: 192.0.2.9:1"}, 204)
	r.wants("/", []string{"From: @"}, 401) // no address, as of a Unix socket: there is room, and nobody known
	asked := []string{"X-Forwarded-Uri: /", "X-Forwarded-For: 2001:db8::3"}
	if a := r.forward("/auth", asked...); a.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(a.Body), "urn:jeton:problem:too-many-concurrent") {
		t.Errorf("forward-auth: %s: %s", a.Status, a.Body)
	}
	service := dialService(t, r)
	if _, err := service.Check(t.Context(), nil); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a call: %v", err)
	}
	close(leave)
	ended.Wait()
	r.wants("/", []string{"From: [2001:db8::2]:1"}, 204, 204)
	if a := r.forward("/auth", asked...); a.StatusCode != http.StatusOK {
		t.Errorf("forward-auth: %s", a.Status)
	}
	if _, err := service.Check(t.Context(), nil); err != nil {
		t.Errorf("a call: %v", err)
	}
	if got := r.count("jeton_gateway_requests_in_flight"); got != 0 {
		t.Errorf("%v requests are in flight after the last", got)
	}
}
