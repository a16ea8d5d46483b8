// Package xds follows a server of configurations of Envoy's rate limit service, as that service does: over one stream of the aggregated discovery service it asks for all
// resources of the type ratelimit.config.ratelimit.v3.RateLimitConfig, the state of the world. Each answer is a whole configuration, which is accepted, or refused with the reason.
// While the server is away the last configuration stays, and the client comes back by itself.
//
// Start with [New].
package xds

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/internal/metrics"
)

// Config says which server is followed, and as whom.
type Config struct {
	// Server is its address, as gRPC has it. Required.
	Server string
	// Node is by what the server knows this client, and Metadata what it is told besides.
	Node     string
	Metadata map[string]string
	// Headers are sent with the stream.
	Headers map[string]string
	// Credentials are asked for before each connection; nil for plain text. An error is a failure to connect.
	Credentials func() (credentials.TransportCredentials, error)
	// MaxMessage is how many bytes an answer may have; 0 for 4 MiB.
	MaxMessage int
	// Pause is how long the client waits after the first failure, and MaxPause after several: 0 for 100 ms and 10 s.
	Pause, MaxPause time.Duration
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger receives that the server is away, and back; nil discards it.
	Logger *slog.Logger
}

// A Client follows a server.
type Client struct {
	cfg     Config
	metrics *counts
	pause   time.Duration // after the next failure
	away    string        // the code of why the server is, in the log; empty while it is not
	taken   bool          // a configuration is in force
}

// New makes a Client, which connects when it is run.
func New(cfg Config) (*Client, error) {
	switch {
	case cfg.Server == "":
		return nil, errors.New("xds: no server is named")
	case cfg.MaxMessage < 0 || cfg.Pause < 0 || cfg.MaxPause < 0:
		return nil, fmt.Errorf("xds: negative numbers: %d bytes of a message, a pause of %v, of %v at most", cfg.MaxMessage, cfg.Pause, cfg.MaxPause)
	}
	cfg.MaxMessage = cmp.Or(cfg.MaxMessage, 4<<20)
	cfg.Pause = cmp.Or(cfg.Pause, 100*time.Millisecond)
	cfg.MaxPause = max(cmp.Or(cfg.MaxPause, 10*time.Second), cfg.Pause)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{cfg: cfg, metrics: newCounts(), pause: cfg.Pause}
	return c, metrics.Register(cfg.Registerer, c.metrics.connected, c.metrics.failures)
}

// Name is the server, for people.
func (c *Client) Name() string { return "the xDS server at " + c.cfg.Server }

// next is how long to wait now: between half and all of a pause that doubles.
func (c *Client) next() time.Duration {
	wait := c.pause/2 + rand.N(c.pause/2+1) //nolint:gosec // it spreads clients
	c.pause = min(2*c.pause, c.cfg.MaxPause)
	return wait
}

// failed notes that the server does not answer.
func (c *Client) failed(err error) {
	c.metrics.failures.Inc()
	if says := status.Code(err).String(); says != c.away {
		c.away = says
		if c.taken {
			c.cfg.Logger.Warn("the xDS server does not answer: the last configuration stays in force", "server", c.cfg.Server, "error", err)
		} else {
			c.cfg.Logger.Warn("the xDS server does not answer, and no configuration has come from it yet", "server", c.cfg.Server, "error", err)
		}
	}
}

// heard notes that the server answers.
func (c *Client) heard() {
	c.metrics.connected.Set(1)
	c.pause = c.cfg.Pause
	if c.away != "" {
		c.away = ""
		c.cfg.Logger.Info("the xDS server answers again", "server", c.cfg.Server)
	}
}
