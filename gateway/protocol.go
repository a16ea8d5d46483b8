package gateway

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/internal/speaks"
)

// A protocol is what an instance of an upstream speaks.
type protocol string

const (
	unknownProtocol protocol = "" // the instance has sent nothing, or nothing known
	speaksTLS       protocol = "TLS"
	speaksHTTP1     protocol = "HTTP/1.1 without TLS"
	speaksHTTP2     protocol = "HTTP/2 without TLS"
)

// protocolOf recognizes the protocol whose first bytes these are: an alert or a handshake of TLS (RFC 8446, section 5.1), a status
// line, or the SETTINGS frame without flags that starts HTTP/2 (RFC 9113, section 3.4). Some servers of HTTP/1.1 answer what they
// cannot read with a page and no status line.
func protocolOf(first []byte) protocol {
	const alert, handshake, settings, frame = 21, 22, 4, 9
	switch {
	case bytes.HasPrefix(first, []byte("HTTP/")), bytes.HasPrefix(first, []byte("<")):
		return speaksHTTP1
	case len(first) > 1 && (first[0] == alert || first[0] == handshake) && first[1] == 3:
		return speaksTLS
	case len(first) >= frame && bytes.Equal(first[3:frame], []byte{settings, 0, 0, 0, 0, 0}):
		return speaksHTTP2
	}
	return unknownProtocol
}

// scheme is that of the URL of an instance with the protocol.
func (p protocol) scheme() string {
	switch p {
	case speaksTLS:
		return "https"
	case speaksHTTP2:
		return config.H2C
	default:
		return "http"
	}
}

// probeTLSEvery is how often an instance is asked for TLS at most, and how long it must not have spoken plain text before: a
// request may also fail because of its client.
const probeTLSEvery = 10 * time.Second

// A protocolCheck finds out whether an instance speaks the protocol of its URL. It sees the first bytes of each connection. Some servers
// reset a connection with plain text, or close it, without a byte that tells why: after such an error it asks the instance for TLS,
// in a goroutine that it owns.
type protocolCheck struct {
	url, address string
	want         protocol // as the URL says
	log          *slog.Logger

	wrong   atomic.Pointer[protocol] // that the instance last spoke instead; nil for none
	rightAt atomic.Int64             // when it last spoke what its URL says, in nanoseconds of Unix; 0 for never

	running sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	probedAt time.Time
	stop     context.CancelFunc // ends the last probe; nil before
}

// observe takes the first bytes of a connection on which the protocol want is spoken; unknownProtocol accepts all.
func (c *protocolCheck) observe(first []byte, want protocol) {
	switch got := protocolOf(first); {
	case got == unknownProtocol || want == unknownProtocol:
	case got != want:
		c.wrong.Store(&got)
	default:
		c.rightAt.Store(time.Now().UnixNano())
		if c.wrong.Load() != nil {
			c.wrong.Store(nil)
		}
	}
}

// mismatch says that the instance speaks something else than its URL says, and which URL would be right; empty if that is not known.
func (c *protocolCheck) mismatch() string {
	got := c.wrong.Load()
	if got == nil {
		return ""
	}
	_, rest, _ := strings.Cut(c.url, "://")
	return fmt.Sprintf("%s speaks %s: write %s://%s", c.url, *got, got.scheme(), rest)
}

// explain puts the mismatch, if there is one, before an error of a connection or of a request.
func (c *protocolCheck) explain(err error) error {
	if why := c.mismatch(); err != nil && why != "" {
		return fmt.Errorf("%s (%w)", why, err)
	}
	return err
}

// failed takes the error of a request to the instance. If the reason may be that the instance speaks TLS, it starts a probe.
func (c *protocolCheck) failed(err error) {
	slow, ok := err.(net.Error) //nolint:errorlint // net/http returns it as it is
	if err == nil || c.want == speaksTLS || ok && slow.Timeout() || c.wrong.Load() != nil ||
		time.Since(time.Unix(0, c.rightAt.Load())) < probeTLSEvery {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || !c.probedAt.IsZero() && time.Since(c.probedAt) < probeTLSEvery {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	c.probedAt, c.stop = time.Now(), stop
	c.running.Go(func() {
		defer stop()
		c.probeTLS(ctx)
	})
}

func (c *protocolCheck) probeTLS(ctx context.Context) {
	if !speaks.OverTLS(ctx, c.address, nil) {
		return
	}
	got := speaksTLS
	c.wrong.Store(&got)
	c.log.Warn("an instance of an upstream closes connections with plain text, and speaks TLS", "error", c.mismatch())
}

// close ends a probe and waits for it. None starts after it.
func (c *protocolCheck) close() {
	c.mu.Lock()
	c.closed = true
	if c.stop != nil {
		c.stop()
	}
	c.mu.Unlock()
	c.running.Wait()
}
