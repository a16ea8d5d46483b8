package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// speaksH2C is a client that begins with HTTP/2, without TLS.
func speaksH2C(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// ask2 asks for a path by HTTP/2.
func ask2(t *testing.T, c *http.Client, address, path string) *http.Response {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Body.Close() })
	return a
}

// The proxy's plain listener takes HTTP/1 and HTTP/2. There is no upgrade from one to the other, which would be a tunnel past
// whatever stands in front.
func TestProxyTakesHTTP2WithoutTLS(t *testing.T) {
	r := open(t, Config{}, aDocument(anUpstream(t).URL))
	a := ask2(t, speaksH2C(t), r.ProxyAddr(), "/open/door") //nolint:bodyclose // ask2 does
	if text, err := io.ReadAll(a.Body); a.ProtoMajor != 2 || a.StatusCode != http.StatusOK || string(text) != "upstream /open/door" {
		t.Errorf("%s %s: %q, %v", a.Proto, a.Status, text, err)
	}
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.ProxyAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // all was read
	fmt.Fprint(c, "GET /open/door HTTP/1.1\r\nHost: api\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
		t.Errorf("an upgrade is answered %q, %v", line, err)
	}
	for name, address := range map[string]string{"forward_auth": r.ForwardAuthAddr(), "admin": r.AdminAddr()} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := speaksH2C(t).Do(q); err == nil {
			_ = a.Body.Close()
			t.Errorf("%s takes HTTP/2: %s", name, a.Status)
		}
	}
}

// What begins HTTP/2 and does not go on is hung up on.
func TestPrefacesThatDoNotEnd(t *testing.T) {
	t.Parallel()
	r := open(t, Config{}, strings.Replace(aDocument(anUpstream(t).URL), "proxy:\n", "proxy:\n  header_within: 50ms\n  idle_within: 50ms\n", 1))
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for what, said := range map[string]string{
		"half of the preface":                 preface[:16],
		"the preface alone":                   preface,
		"no request":                          preface + settings,
		"half of a frame":                     preface + settings + "\x00\x00\x05\x01",
		"a header that is never said to end":  preface + settings + "\x00\x00\x01\x01\x00\x00\x00\x00\x01\x82",
		"a header that goes on and on and on": preface + settings + "\x00\x00\x01\x01\x00\x00\x00\x00\x01\x82\x00\x00\x01\x09\x00\x00\x00\x00\x01\x86",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if _, err := io.ReadAll(connect(t, r.ProxyAddr(), said)); err != nil && strings.Contains(err.Error(), "timeout") {
				t.Error("the connection stays open")
			}
		})
	}
}

// A gateway that stops lets go of connections of HTTP/2 that rest, and cuts off streams with the deadline.
func TestStopWithHTTP2(t *testing.T) {
	for _, path := range []string{"/open/door", "/open/stream"} {
		t.Run(path, func(t *testing.T) {
			u := newSlowUpstream(t)
			defer close(u.release)
			r := open(t, Config{}, aDocument(u.URL))
			a := ask2(t, speaksH2C(t), r.ProxyAddr(), path) //nolint:bodyclose // ask2 does
			within := patience
			if path == "/open/stream" {
				within = 50 * time.Millisecond
				if line, err := bufio.NewReader(a.Body).ReadString('\n'); line != "first\n" {
					t.Fatalf("%q, %v", line, err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			closed := r.closing(ctx)
			io.Copy(io.Discard, a.Body) //nolint:errcheck // however it ends, it does
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(2 * patience):
				t.Fatal("it does not stop")
			}
			want := map[string]int{"/open/door": 0, "/open/stream": 1}[path]
			if n := r.log.count("cut off"); n != want || r.proxy.underWay.Load() != 0 {
				t.Errorf("%d lines say that something was cut off, want %d; %d are under way", n, want, r.proxy.underWay.Load())
			}
		})
	}
}
