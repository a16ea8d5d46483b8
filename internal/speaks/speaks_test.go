package speaks_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jeton-dev/jeton/internal/speaks"
)

// listen serves connections one after the other until the test ends, and returns the address.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return l.Addr().String()
}

func TestOverTLS(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for name, c := range map[string]struct {
		address string
		want    bool
	}{
		"TLS":                      {secure.Listener.Addr().String(), true},
		"plain text":               {plain.Listener.Addr().String(), false},
		"closes every connection":  {listen(t, func(net.Conn) {}), false},
		"answers with other bytes": {listen(t, func(c net.Conn) { _, _ = c.Write([]byte("220 mail.example.com ESMTP\r\n")) }), false},
	} {
		got := speaks.OverTLS(t.Context(), c.address, nil)
		for range 100 { // a slow machine takes longer over a handshake than a probe waits for it
			if got || !c.want {
				break
			}
			got = speaks.OverTLS(t.Context(), c.address, nil)
		}
		if got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// A probe that is canceled has learnt nothing.
func TestCancelledProbe(t *testing.T) {
	asked, canceled := make(chan struct{}), make(chan struct{})
	address := listen(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1))
		close(asked)
		<-canceled
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	got := speaks.OverTLS(ctx, address, nil)
	close(canceled)
	if got {
		t.Error("the address speaks TLS, without an answer")
	}
}
