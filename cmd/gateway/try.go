package gateway

import (
	"context"
	"log/slog"

	"github.com/jeton-dev/jeton/actor/limit"
	core "github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/rpc/client"
)

// Try reads a document and builds a gateway from it, without listeners and without a request to the cluster. The error has every
// problem.
func Try(cfg Config) (*config.Document, error) {
	cfg.setDefaults()
	s, err := cfg.read()
	if err != nil {
		return nil, err
	}
	g, err := core.New(core.Config{
		Document: s.doc, Checker: noCluster{}, Limits: func() *limit.Document { return nil }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	g.Close()
	return s.doc, nil
}

// AskProblems asks the cluster of a document for its limits, and returns the problems of its routes with them. It waits until ctx
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
	defer c.Close() //nolint:errcheck // the answer has arrived
	known, err := c.StoredLimits(ctx)
	if err != nil {
		return nil, err
	}
	return Problems(s.doc, known), nil
}

// noCluster is a checker without a cluster: it decides nothing.
type noCluster struct{}

// Check implements [limit.Checker].
func (noCluster) Check(context.Context, limit.Request) (limit.Decision, error) {
	return limit.Decision{}, limit.ErrUnavailable
}
