package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// connect opens a connection and says something over it.
func connect(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := tryConnect(t, address, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tryConnect(t *testing.T, address, text string) (net.Conn, error) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, text) // the gateway may have hung up
	return c, nil
}

// answers says whether a request over a connection of its own is answered.
func answers(t *testing.T, address string) (c net.Conn, ok bool) {
	t.Helper()
	c, err := tryConnect(t, address, "GET /open HTTP/1.1\r\nHost: h\r\n\r\n")
	if errors.Is(err, syscall.ECONNRESET) { // hung up before the dial came back
		return nil, false
	} else if err != nil {
		t.Fatal(err)
	}
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return c, false
	}
	_ = a.Body.Close()
	return c, a.StatusCode == http.StatusOK
}

// An address has so many connections at most, also where it says nothing over them; those of trusted proxies do not count.
func TestConnectionsOfOneAddress(t *testing.T) {
	text := strings.Replace(aDocument(anUpstream(t).URL), "proxy:\n", "proxy:\n  max_connections_per_client: 3\n", 1)
	r := open(t, Config{}, text)
	for range 2 {
		connect(t, r.ProxyAddr(), "") // idle
	}
	third, ok := answers(t, r.ProxyAddr())
	if !ok {
		t.Fatal("the third connection is refused")
	}
	for range 5 {
		if _, ok := answers(t, r.ProxyAddr()); ok {
			t.Error("a fourth connection is served")
		}
	}
	metrics := r.get(t, r.AdminAddr(), "/metrics").body
	for _, want := range []string{`jeton_listener_refused_total{listener="proxy",reason="address"} 5`, `jeton_listener_connections{listener="proxy"} 3`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics do not have %s", want)
		}
	}
	_ = third.Close()
	for deadline := time.Now().Add(patience); ; {
		if _, ok := answers(t, r.ProxyAddr()); ok {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the place of a closed connection is not free")
		}
	}
	trusting := open(t, Config{}, text+"identity: {trusted_proxies: [127.0.0.0/8]}\n")
	for range 10 {
		if _, ok := answers(t, trusting.ProxyAddr()); !ok {
			t.Error("a connection of a trusted proxy is refused")
		}
	}
}

// What begins a request and does not end it is hung up on, whatever the listener.
func TestHeadersThatDoNotEnd(t *testing.T) {
	t.Parallel()
	text := strings.Replace(aDocument(anUpstream(t).URL), "proxy:\n", "proxy:\n  header_within: 50ms\n", 1)
	r := open(t, Config{}, text)
	for name, address := range map[string]string{"proxy": r.ProxyAddr(), "forward_auth": r.ForwardAuthAddr(), "admin": r.AdminAddr()} {
		for what, said := range map[string]string{"half a header": "GET / HTTP/1.1\r\nHost: h\r\n", "nothing": ""} {
			if what == "nothing" && name != "proxy" {
				continue // that is idle, for which they have minutes
			}
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				if _, err := io.ReadAll(connect(t, address, said)); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error("the connection stays open")
				}
			})
		}
		t.Run(name+", a long header", func(t *testing.T) {
			t.Parallel()
			c := connect(t, address, "GET / HTTP/1.1\r\nHost: h\r\nX: "+strings.Repeat("x", 1<<20)+"\r\n\r\n")
			if said, err := io.ReadAll(c); strings.Contains(string(said), " 200 ") || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%.100q, %v", said, err)
			}
		})
	}
}

// A client that does not read its answer is hung up on, and holds no place.
func TestUnreadAnswers(t *testing.T) {
	gone := make(chan struct{})
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(gone)
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(endless.Close)
	r := open(t, Config{}, strings.Replace(aDocument(endless.URL), "proxy:\n", "proxy:\n  answer_pause: 100ms\n", 1))
	connect(t, r.ProxyAddr(), "GET /open HTTP/1.1\r\nHost: h\r\n\r\n")
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the upstream still answers somebody who does not read")
	}
}

// What listens has bounds that a running gateway keeps, and says so.
func TestBoundsDoNotChange(t *testing.T) {
	upstream := anUpstream(t)
	r := open(t, Config{}, aDocument(upstream.URL))
	for field, value := range map[string]string{"max_connections": "7", "max_connections_per_client": "7", "answer_pause": "7s"} {
		write(t, r.path, strings.Replace(aDocument(upstream.URL), "proxy:\n", fmt.Sprintf("proxy:\n  %s: %s\n", field, value), 1))
		if err := r.Reload(); err == nil || !strings.Contains(err.Error(), "proxy."+field+": it cannot change while the gateway runs") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
