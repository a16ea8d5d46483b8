// Package speaks detects which protocol an address speaks, to explain a configuration error: a wrong port, or TLS on one side
// only.
package speaks

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// A Protocol is what an address speaks.
type Protocol string

// The protocols that At can tell apart.
const (
	Nothing Protocol = ""      // nothing accepts connections there
	GRPC    Protocol = "gRPC"  // in plain text
	HTTP    Protocol = "HTTP"  // of version 1, in plain text
	HTTPS   Protocol = "HTTPS" // HTTP of version 1 over TLS
	TLS     Protocol = "TLS"   // and perhaps gRPC over it
	Other   Protocol = "other" // such as gossip or raft
	Silent  Protocol = "none"  // it accepts connections and sends nothing: perhaps a frozen process
)

// speakWithin is how long an address may take to answer.
const speakWithin = 300 * time.Millisecond

// question is a request of HTTP/1.1. An HTTP/2 server, and so a gRPC server, answers with its settings; a TLS server with an
// alert; gossip and raft close the connection or do not answer.
const question = "GET /livez HTTP/1.1\r\nHost: localhost\r\nUser-Agent: jeton\r\nConnection: close\r\n\r\n"

// The first bytes of the answers to the question.
var (
	ofHTTP     = []byte("HTTP/1.")
	ofHTTPS    = []byte("Client sent an HTTP request to an HTTPS server")
	ofAlert    = []byte{21, 3} // the record type of an alert, and the first byte of every version of TLS
	ofSettings = []byte{4, 0}  // type and flags of a SETTINGS frame, after three bytes of length
)

// A Dialer opens connections.
type Dialer func(ctx context.Context, address string) (net.Conn, error)

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// At detects what an address speaks to a client without a certificate. It takes at most two thirds of a second, and no longer
// than ctx.
func At(ctx context.Context, address string) Protocol {
	p := over(ctx, address, dialTCP)
	if p == Other && OverTLS(ctx, address, dialTCP) {
		return TLS
	}
	return p
}

func over(ctx context.Context, address string, dial Dialer) Protocol {
	ctx, cancel := context.WithTimeout(ctx, speakWithin)
	defer cancel()
	conn, err := dial(ctx, address)
	if err != nil {
		return Nothing
	}
	defer conn.Close() //nolint:errcheck // no more is sent
	if at, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(at) // a connection may not support deadlines
	}
	if _, err := io.WriteString(conn, question); err != nil {
		return Other
	}
	text, err := beginning(conn)
	if len(text) == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		return Silent
	}
	return protocolOf(text)
}

// beginning reads until the protocol can be told, or the input ends.
func beginning(r io.Reader) (text []byte, err error) {
	text = make([]byte, 0, 512)
	for len(text) < cap(text) {
		var n int
		n, err = r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if known := protocolOf(text); err != nil || known != Other && known != HTTP {
			break
		}
	}
	return text, err
}

// protocolOf is the protocol whose answer begins with these bytes.
func protocolOf(text []byte) Protocol {
	switch {
	case bytes.HasPrefix(text, ofHTTP) && bytes.Contains(text, ofHTTPS):
		return HTTPS
	case bytes.HasPrefix(text, ofHTTP):
		return HTTP
	case bytes.HasPrefix(text, ofAlert):
		return TLS
	case len(text) >= 5 && text[0] == 0 && bytes.Equal(text[3:5], ofSettings):
		return GRPC
	}
	return Other
}

// shakes tries a TLS handshake with an address, and returns the negotiated protocol (ALPN), or the error.
func shakes(ctx context.Context, address string, secure *tls.Config, dial Dialer) (agreed string, err error) {
	ctx, cancel := context.WithTimeout(ctx, speakWithin)
	defer cancel()
	raw, err := dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer raw.Close() //nolint:errcheck // nothing is said over it
	cfg := secure.Clone()
	cfg.NextProtos = []string{"h2"}
	if host, _, err := net.SplitHostPort(address); err == nil && cfg.ServerName == "" {
		cfg.ServerName = host
	}
	conn := tls.Client(raw, cfg)
	err = conn.HandshakeContext(ctx)
	return conn.ConnectionState().NegotiatedProtocol, err
}

// OverTLS reports whether an address speaks TLS, with any certificate: some servers close plain-text connections without an
// answer. It sends a hello and nothing else, over a connection of dial, or of plain TCP if dial is nil. It takes at most a
// third of a second, and no longer than ctx.
func OverTLS(ctx context.Context, address string, dial Dialer) bool {
	if dial == nil {
		dial = dialTCP
	}
	unverified := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // nothing is said over it
	_, err := shakes(ctx, address, unverified, dial)
	return err == nil || ctx.Err() == nil && !notTLS(err)
}

// notTLS reports whether a handshake failed because the other end does not speak TLS or closed the connection. An alert is
// TLS.
func notTLS(err error) bool {
	if _, is := errors.AsType[tls.RecordHeaderError](err); is {
		return true
	}
	broken, is := errors.AsType[*net.OpError](err)
	return is && broken.Op != "remote error" || errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded)
}
