package gateway_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// ask2 sends one request of HTTP/2 made of these fields, as they are, and returns its status; empty when the stream was
// refused.
func (m *mirror) ask2(fields ...hpack.HeaderField) (status string) {
	m.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(m.server.Certificate())
	c, err := (&tls.Dialer{Config: &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13}}).DialContext(m.Context(), "tcp", m.server.Listener.Addr().String())
	if err != nil {
		m.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // all is said
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range fields {
		_ = encoder.WriteField(f)
	}
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		m.Fatal(err)
	}
	frames := http2.NewFramer(c, c)
	frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = frames.WriteSettings()
	_ = frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true})
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
		status := m.ask2(append([]hpack.HeaderField{
			{Name: ":method", Value: method}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: authority}, {Name: ":path", Value: path},
		}, more...)...)
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
