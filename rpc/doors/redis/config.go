package redis

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/bound"
)

// Config says what a [Door] is made of.
type Config struct {
	// Limiter decides. Required. Buckets are filled by its Reset.
	Limiter limit.Limiter
	// Limits are the stored limits in force, by which the error of an unknown limit names one that was perhaps meant; nil, or a nil document, names none.
	Limits func() *limit.Document
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger gets faults of the door, never those of callers; nil discards them.
	Logger *slog.Logger
	// Token says whether a token counts that a client shows with AUTH or HELLO. It must take as long for a wrong token as for a right one.
	// Nil: clients need none, and cannot fill buckets.
	Token func(token string) bool
	// TLS is what clients are shown; nil speaks plain text.
	TLS *tls.Config
	// InlineFill is what the nodes are configured with: how long an empty bucket of a limit may take to fill that a request defines. 0 means
	// 366 days. Only DEL, TTL, PTTL and EXISTS use it, for buckets of which no owner knows the numbers.
	InlineFill time.Duration
	// Bounds are those of listeners that have none yet: of how much clients can make the door hold. A zero value bounds single commands, and
	// the time of commands and answers.
	Bounds bound.Config
}

func (c *Config) setDefaults() error {
	if c.Limiter == nil {
		return errors.New("redis: Limiter is required")
	}
	if c.InlineFill < 0 {
		return errors.New("redis: InlineFill is negative: give how long a bucket may take to fill, or 0 for 366 days")
	}
	if c.InlineFill == 0 {
		c.InlineFill = 366 * 24 * time.Hour
	}
	if c.Limits == nil {
		c.Limits = func() *limit.Document { return nil }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Bounds.Name == "" {
		c.Bounds.Name = "redis"
	}
	return nil
}
