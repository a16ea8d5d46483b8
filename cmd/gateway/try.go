package gateway

import (
	"context"
	"log/slog"

	"github.com/jeton-dev/jeton/actor/limit"
	core "github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/rpc/client"
)

// Try reads a document and makes of it all that a gateway is made of, but listens nowhere and asks nobody. The error is
// everything that is wrong.
func Try(cfg Config) (*config.Document, error) {
	cfg.setDefaults()
	s, err := cfg.read()
	if err != nil {
		return nil, err
	}
	g, err := core.New(core.Config{
		Document: s.doc, Checker: nobody{}, Limits: func() *limit.Document { return nil }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	g.Close()
	return s.doc, nil
}

// AskProblems asks the cluster of a document for its limits, and says what of the routes does not fit them. It waits until ctx
// ends.
func AskProblems(ctx context.Context, cfg Config) ([]Problem, error) {
	s, err := cfg.read()
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Config{Servers: s.servers, TLS: clusterTLS(s, func() *setup { return s })})
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // the answer has been heard
	known, err := c.StoredLimits(ctx)
	if err != nil {
		return nil, err
	}
	return Problems(s.doc, known), nil
}

// nobody decides.
type nobody struct{}

// Check implements [limit.Checker].
func (nobody) Check(context.Context, limit.Request) (limit.Decision, error) {
	return limit.Decision{}, limit.ErrUnavailable
}
