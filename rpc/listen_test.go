package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/rpc/web"
)

// TestHTTPHeadersOfManyLinesHoldLittle sends headers of lines as short as can be, and never the body that they announce: to who
// waits for it, to who is told to ask for it, and to who answers at once.
func TestHTTPHeadersOfManyLinesHoldLittle(t *testing.T) {
	const memory, conns = 2 << 20, 100
	for _, expects := range []string{"", "Expect: 100-continue\r\n", "X: refused\r\n"} {
		raw, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l := bound.New(raw, bound.Config{Name: "http", Memory: memory, Exchanges: true})
		begun := make(chan struct{}, conns)
		server := web.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			go func() { begun <- struct{}{} }()
			if r.Header.Get("X") == "" {
				_, _ = r.Body.Read(make([]byte, 10)) // it never comes
			}
		}), nil)
		var served sync.WaitGroup
		served.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		})
		before, live, highest := liveHeap(), int64(0), int64(0)
		for i := range conns {
			conn := attacks(t, l, shortLines(expects))
			gone := make(chan struct{})
			go func() {
				_, _ = io.Copy(io.Discard, conn)
				close(gone)
			}()
			select {
			case <-begun:
			case <-gone:
			}
			if i%10 == 9 {
				highest, live = max(highest, l.Held(bound.Stranger)), max(live, liveHeap()-before)
			}
		}
		t.Logf("%q: at most %d bytes counted, and %d bytes were there, of a budget of %d", expects, highest, live, memory)
		if live > 3*memory {
			t.Errorf("%q: %d bytes of memory were in use, of a budget of %d", expects, live, memory)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		served.Wait()
	}
}

// maxHTTPHeader is how many bytes of a header a port of HTTP takes.
const maxHTTPHeader = 16 << 10

// shortLines is the beginning of a request whose header has as many lines as there may be.
func shortLines(more string) []byte {
	b := bytes.NewBufferString("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n" + more)
	for i := 0; b.Len() < maxHTTPHeader; i++ {
		fmt.Fprintf(b, "%03x:\n", i)
	}
	b.WriteString("\r\n")
	return b.Bytes()
}
