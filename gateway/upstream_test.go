package gateway_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// silent is an address that takes connections and says nothing. met is closed with the first one.
func silent(t *testing.T) (address string, met chan struct{}) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var taken []net.Conn
	met = make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			if taken = append(taken, c); len(taken) == 1 {
				close(met)
			}
		}
		for _, c := range taken {
			_ = c.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return l.Addr().String(), met
}

// hangsUp is the URL of a server that closes every connection at once.
func hangsUp(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ConnState = func(c net.Conn, _ http.ConnState) { _ = c.Close() }
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return "https" + strings.TrimPrefix(s.URL, "http")
}

// A request with a body that no connection could be had for arrives at the next instance, whole and once.
func TestProxyPostsToTheNextInstance(t *testing.T) {
	for what, first := range map[string]func(*testing.T) string{
		"refused":             func(t *testing.T) string { t.Helper(); return newDead(t).url() },
		"no TLS":              func(t *testing.T) string { t.Helper(); return "https" + strings.TrimPrefix(upstream(t, echo), "http") },
		"hung up on":          hangsUp,
		"no such name in DNS": func(*testing.T) string { return "http://nobody.invalid" },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			got := map[string]int{}
			second := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				got[string(body)]++
			})
			r := newRig(t, fmt.Sprintf("proxy: {upstreams: {app: {urls: [%s, %s]}}}\nroutes: [{name: all, path: /}]", first(t), second))
			s := httptest.NewServer(r.gateway.Proxy())
			t.Cleanup(s.Close)
			long := strings.Repeat("x", 300<<10)
			for i := range 6 {
				var body io.Reader = strings.NewReader(fmt.Sprint(i, long))
				if i%2 == 1 {
					body = io.MultiReader(body) // whose length is not known
				}
				q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
				if err != nil {
					t.Fatal(err)
				}
				a, err := s.Client().Do(q)
				if err != nil {
					t.Fatal(err)
				}
				_ = a.Body.Close()
				if a.StatusCode != http.StatusOK {
					t.Errorf("request %d: %s", i, a.Status)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for i := range 6 {
				if n := got[fmt.Sprint(i, long)]; n != 1 {
					t.Errorf("the body of request %d arrived %d times", i, n)
				}
			}
			if len(got) != 6 {
				t.Errorf("%d different bodies arrived", len(got))
			}
		})
	}
}

// A request that was sent is not sent again, whatever becomes of it. Without a body each sending arrives whole; of one whose
// body is gone, the second may break before its handler runs.
func TestProxySendsOnce(t *testing.T) {
	for _, body := range []string{"", "a payment"} {
		t.Run(fmt.Sprintf("%q", body), func(t *testing.T) {
			var count atomic.Int32
			breaks := func(_ http.ResponseWriter, r *http.Request) {
				count.Add(1)
				_, _ = io.ReadAll(r.Body)
				panic(http.ErrAbortHandler) // the connection breaks
			}
			_, s := proxied(t, "- {name: all, path: /}", "", upstream(t, breaks), upstream(t, breaks))
			if a, _ := fetch(t, http.MethodPost, s.URL, body); a.StatusCode != http.StatusBadGateway {
				t.Error(a.Status)
			}
			if n := count.Load(); n != 1 {
				t.Errorf("it was sent %d times", n)
			}
		})
	}
}

// An instance that refused a connection is probed by the gateway, not by users' requests; both ways are told of.
func TestProxyProbesAnInstanceThatIsAway(t *testing.T) {
	gone, live := newDead(t), upstream(t, echo)
	r, s := proxied(t, "- {name: all, path: /}", "", gone.url(), live)
	up := func(url string) float64 { return r.count("jeton_gateway_upstream_up", "upstream", "app", "url", url) }
	if up(gone.url()) != 1 || up(live) != 1 {
		t.Error("nobody has tried, and an instance is away")
	}
	for range 4 {
		if a, _ := fetch(t, http.MethodGet, s.URL, ""); a.StatusCode != http.StatusOK {
			t.Error(a.Status)
		}
	}
	if up(gone.url()) != 0 || up(live) != 1 || r.count("jeton_gateway_upstream_down_total", "upstream", "app", "url", gone.url()) != 1 {
		t.Errorf("after requests: %v and %v", up(gone.url()), up(live))
	}
	if logs := r.logs.String(); strings.Count(logs, "is down") != 1 || !strings.Contains(logs, "refused") || !strings.Contains(logs, "url="+gone.url()) {
		t.Errorf("the log:\n%s", logs)
	}
	met := make(chan struct{}, 1)
	gone.rise(echo, met)
	<-met // nobody has sent a request
	for deadline := time.Now().Add(time.Minute); up(gone.url()) != 1; {
		if time.Now().After(deadline) {
			t.Fatal("the instance does not come back")
		}
	}
	if logs := r.logs.String(); !strings.Contains(logs, "is up again") || !strings.Contains(logs, "down=") {
		t.Errorf("the log:\n%s", logs)
	}
}

// While every instance is away, requests try all of them, instead of failing untried.
func TestProxyTriesInstancesThatAreAway(t *testing.T) {
	one, other := newDead(t), newDead(t)
	_, s := proxied(t, "- {name: all, path: /}", "", one.url(), other.url(), other.url())
	for range 3 {
		if a, _ := fetch(t, http.MethodPost, s.URL, "hello"); a.StatusCode != http.StatusBadGateway {
			t.Error(a.Status)
		}
	}
	other.rise(echo, nil)
	for range 3 {
		if a, text := fetch(t, http.MethodPost, s.URL, "hello"); a.StatusCode != http.StatusOK || readEcho(t, text).Body != "hello" {
			t.Errorf("%s: %s", a.Status, text)
		}
	}
}

// Another document, and the end of the gateway, end the probing of what it does not name; what it names as before goes on.
func TestProxyReloadsWhileAnInstanceIsAway(t *testing.T) {
	gone, live := newDead(t), upstream(t, echo)
	r, s := proxied(t, "- {name: all, path: /}", "", gone.url(), live)
	fetch(t, http.MethodGet, s.URL, "")
	fetch(t, http.MethodGet, s.URL, "")
	document := func(urls string) string {
		return fmt.Sprintf("proxy: {upstreams: {app: {urls: [%s], respond_within: 30s}}}\nroutes: [{name: every, path: /}]", urls)
	}
	if err := r.gateway.Load(r.parse(document(gone.url() + "," + live))); err != nil {
		t.Fatal(err)
	}
	if r.count("jeton_gateway_upstream_up", "url", gone.url()) != 0 {
		t.Error("the same upstream in another document has forgotten that an instance is away")
	}
	if err := r.gateway.Load(r.parse(document(live))); err != nil {
		t.Fatal(err)
	}
	families, err := r.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "jeton_gateway_upstream_up" && len(f.GetMetric()) != 1 {
			t.Errorf("%d instances are told of, want 1", len(f.GetMetric()))
		}
	}
}
