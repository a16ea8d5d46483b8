package gateway_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// speak2 begins a connection of HTTP/2 with a request made of these fields, as they are.
func speak2(tb testing.TB, server *httptest.Server, settings []http2.Setting, fields ...hpack.HeaderField) *http2.Framer {
	tb.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	c, err := (&tls.Dialer{Config: &tls.Config{
		RootCAs: roots, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13,
	}}).DialContext(tb.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range fields {
		_ = encoder.WriteField(f)
	}
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		tb.Fatal(err)
	}
	frames := http2.NewFramer(c, c)
	frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = frames.WriteSettings(settings...)
	_ = frames.WriteWindowUpdate(0, 1<<20) // of all streams together
	_ = frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true})
	return frames
}

// fieldsOf are the pseudo headers of a request.
func fieldsOf(method, authority, path string) []hpack.HeaderField {
	return []hpack.HeaderField{
		{Name: ":method", Value: method}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: authority}, {Name: ":path", Value: path},
	}
}

// ask2 sends one request of HTTP/2 made of these fields, and returns its status; empty when the stream was refused.
func (m *mirror) ask2(fields ...hpack.HeaderField) (status string) {
	m.Helper()
	frames := speak2(m, m.server, nil, fields...)
	for {
		frame, err := frames.ReadFrame()
		if err != nil {
			return ""
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return ""
		}
	}
}

// :authority and :path are read as strictly as the lines of HTTP/1, and what they become upstream is what was judged.
func TestHTTP2UpstreamGetsWhatWasJudged(t *testing.T) {
	m := newMirror(t, true)
	passed := 0
	ask := func(method, authority, path string, more ...hpack.HeaderField) {
		t.Helper()
		status := m.ask2(append(fieldsOf(method, authority, path), more...)...)
		if status == "200" {
			passed++
		}
		m.mu.Lock()
		arrived := len(m.received)
		m.mu.Unlock()
		if arrived > 0 != (status == "200") {
			t.Errorf("%s %q of %q is answered %q, and %d requests arrive", method, path, authority, status, arrived)
		}
		m.compare(fmt.Sprint(method, " ", path, " of ", authority, more))
	}
	for _, target := range targets {
		ask("GET", "h", target)
	}
	for _, host := range hosts {
		ask("GET", host, "/a")
	}
	good := passed
	for _, path := range []string{"/a?b HTTP/1.0", "/a HTTP/1.1", "http://other/a", "http:http://victim.example/admin/x", "//other/a"} {
		ask("GET", "h", path)
	}
	ask("GET", "h", "/a", hpack.HeaderField{Name: "host", Value: "other"})
	ask("CONNECT", "h:443", "/a")
	if passed != good {
		t.Errorf("%d requests pass that can be read in several ways", passed-good)
	}
	ask("GET", "h", "/a", hpack.HeaderField{Name: "host", Value: "h"})
	if passed != good+1 || good == 0 {
		t.Errorf("%d and %d requests pass, and all should that can be read in one way", good, passed-good)
	}
}

// A client that gives no room for the answer does not hold a place for ever; one that rests between two pieces may.
func TestHTTP2UnreadAnswer(t *testing.T) {
	app := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		if r.URL.Path == "/rest" {
			_ = http.NewResponseController(w).Flush()
			<-time.After(1500 * time.Millisecond)
		}
		for range 100 {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				return
			}
		}
	})
	r := newRig(t, fmt.Sprintf("proxy: {upstreams: {app: {urls: [%s]}}, answer_pause: 1s}\nroutes: [{name: all, path: /}]", app))
	s := httptest.NewUnstartedServer(r.gateway.Proxy())
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	read := func(room uint32, path string) (length int, end http2.Frame) {
		frames := speak2(t, s, []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: room}}, fieldsOf("GET", "h", path)...)
		for {
			frame, err := frames.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			switch f := frame.(type) {
			case *http2.DataFrame:
				length += len(f.Data())
				if f.StreamEnded() {
					return length, f
				}
			case *http2.RSTStreamFrame, *http2.GoAwayFrame:
				return length, f
			}
		}
	}
	if length, end := read(10, "/"); length != 10 || end.Header().Type != http2.FrameRSTStream {
		t.Errorf("an answer that is not read ends after %d bytes with %v", length, end)
	}
	if length, end := read(1<<20, "/rest"); length != 100<<10 || end.Header().Type != http2.FrameData {
		t.Errorf("an answer that rests ends after %d bytes with %v", length, end)
	}
	for deadline := time.Now().Add(time.Minute); r.count("jeton_gateway_requests_in_flight") != 0; {
		if time.Now().After(deadline) {
			t.Fatal("who does not read holds a place")
		}
	}
}
