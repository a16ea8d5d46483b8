package gateway_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/gateway"
)

// says is the address of a server that reads what begins a request and says something to it, the next thing on each connection,
// whatever it was asked for.
func says(t *testing.T, things ...string) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1<<10))
			_, _ = conn.Write([]byte(things[min(i, len(things)-1)]))
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn) // what is closed unread is reset
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return l.Addr().String()
}

// An upstream whose URL says that it speaks something else than it does is told of in plain words, in the log, for /readyz and in
// what is kept of the request.
func TestAnUpstreamAtAWrongURL(t *testing.T) {
	const (
		alert    = "\x15\x03\x03\x00\x02\x02\x46"                                 // of TLS: protocol version
		settings = "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64" // of HTTP/2
		old      = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
	)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for _, c := range []struct{ name, scheme, address, speaks, write string }{
		{"http, and it speaks TLS", "http", says(t, alert), "TLS", "https"},
		{"http, and it speaks HTTP/2", "http", says(t, settings), "HTTP/2 without TLS", "h2c"},
		{"https, and it speaks HTTP", "https", plain.Listener.Addr().String(), "HTTP/1.1 without TLS", "http"},
		{"https, and it speaks HTTP/2", "https", says(t, settings), "HTTP/2 without TLS", "h2c"},
		{"h2c, and it speaks HTTP/1.1", "h2c", plain.Listener.Addr().String(), "HTTP/1.1 without TLS", "http"},
		{"https, and it answers with a page", "https", says(t, "<!DOCTYPE HTML>\n<h1>Error response</h1>\n"), "HTTP/1.1 without TLS", "http"},
		{"h2c, and it answers with a page", "h2c", says(t, "<html>\r\n<head><title>400 Bad Request</title></head>"), "HTTP/1.1 without TLS", "http"},
		{"h2c, and it says so", "h2c", says(t, old), "HTTP/1.1 without TLS", "http"},
		{"h2c, and it speaks TLS", "h2c", says(t, alert), "TLS", "https"},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := c.scheme + "://" + c.address
			r, s := proxied(t, "- {name: all, path: /}", "", url)
			if a, text := fetch(t, http.MethodGet, s.URL, ""); a.StatusCode != http.StatusBadGateway || strings.Contains(text, "speaks") {
				t.Errorf("%s %s", a.Status, text)
			}
			want := fmt.Sprintf("%s speaks %s: write %s://%s", url, c.speaks, c.write, c.address)
			if logs := r.logs.String(); !strings.Contains(logs, `an upstream cannot be reached" upstream=app error="`+want+" (") || strings.Count(logs, "("+url) > 0 {
				t.Errorf("the log does not say %s:\n%s", want, logs)
			}
			if got := wrong(r.gateway); !strings.HasPrefix(got, want) {
				t.Errorf("it is known that %q, want %q", got, want)
			}
		})
	}
}

// wrong is what is known to be wrong with the one instance of the one upstream.
func wrong(g *gateway.Gateway) string {
	u := g.Upstreams()[0]
	for _, away := range u.Down {
		return away.Why.Error()
	}
	return strings.Join(u.WrongProtocol, "; ")
}

// An instance that speaks what its URL says, at last, is not told of any more; one that hangs up, or says what nobody knows, never is.
func TestAnUpstreamAtTheRightURL(t *testing.T) {
	const good = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
	r, s := proxied(t, "- {name: all, path: /}", "", "http://"+says(t, "\x15\x03\x03\x00\x02\x02\x46", good, "", "garbage"))
	for i, want := range []struct {
		status int
		wrong  bool
	}{{http.StatusBadGateway, true}, {http.StatusNoContent, false}, {http.StatusBadGateway, false}, {http.StatusBadGateway, false}} {
		a, _ := fetch(t, http.MethodGet, s.URL, "")
		if got := wrong(r.gateway); a.StatusCode != want.status || (got != "") != want.wrong {
			t.Errorf("request %d: %s, and it is known that %q", i, a.Status, got)
		}
	}
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it does not come true that %s", what)
		}
	}
}

// A greeter is a server that hangs up on all that is no TLS, and counts how often somebody says the hello of TLS to it.
type greeter struct {
	address string
	hellos  chan struct{} // one for each
}

// greets is one that answers hellos with secure, or hangs up on them too if that is nil.
func greets(t *testing.T, secure *tls.Config) greeter {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := greeter{l.Addr().String(), make(chan struct{}, 100)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			begin := bufio.NewReader(conn)
			if first, err := begin.Peek(1); err == nil && first[0] == 22 {
				g.hellos <- struct{}{}
				if secure != nil {
					_ = tls.Server(reread{conn, begin}, secure).HandshakeContext(t.Context())
				}
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return g
}

// reread is a connection of which something was read already.
type reread struct {
	net.Conn
	from io.Reader
}

func (r reread) Read(b []byte) (int, error) { return r.from.Read(b) }

// An upstream that hangs up on plain text without a word is asked once whether it speaks TLS.
func TestAnUpstreamThatHangsUpOnPlainText(t *testing.T) {
	_, _, certificate := newAuthority(t).issue("api.internal") // one of ECDSA: the probe has 300 ms, also on a slow machine
	certificates := []tls.Certificate{certificate}
	for name, secure := range map[string]*tls.Config{
		"it speaks TLS": {Certificates: certificates}, "it hangs up on everybody": nil,
		"it speaks TLS and wants a certificate": {Certificates: certificates, ClientAuth: tls.RequireAnyClientCert},
	} {
		for _, scheme := range []string{"http", "h2c"} {
			t.Run(name+", "+scheme, func(t *testing.T) {
				g := greets(t, secure)
				r, s := proxied(t, "- {name: all, path: /}", "", scheme+"://"+g.address)
				for range 3 {
					if a, _ := fetch(t, http.MethodGet, s.URL, ""); a.StatusCode != http.StatusBadGateway {
						t.Errorf("answered %s", a.Status)
					}
				}
				<-g.hellos
				want, patient := "", time.Now().Add(11*time.Second) // one is asked every ten seconds at most
				if secure != nil {
					want = fmt.Sprintf("%s://%s speaks TLS: write https://%s", scheme, g.address, g.address)
					eventually(t, "it is known", func() bool {
						known := wrong(r.gateway) == want
						if !known && time.Now().After(patient) { // its answer took too long: a request has it asked once more
							_, _ = fetch(t, http.MethodGet, s.URL, "")
							for range len(g.hellos) {
								<-g.hellos
							}
						}
						return known
					})
				}
				_, _ = fetch(t, http.MethodGet, s.URL, "")
				if secure != nil && !strings.Contains(r.logs.String(), `an upstream cannot be reached" upstream=app error="`+want+" (") {
					t.Errorf("the log does not say %s:\n%s", want, r.logs)
				}
				r.gateway.Close()
				if got := wrong(r.gateway); got != want {
					t.Errorf("it is known that %q, want %q", got, want)
				}
				if n := len(g.hellos); n != 0 {
					t.Errorf("it is asked %d times more", n)
				}
			})
		}
	}
}
