package gateway

import (
	"context"
	"fmt"
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
	none := core.Cluster{Checker: noCluster{}, Limits: func() *limit.Document { return nil }}
	clusters := map[string]core.Cluster{}
	for name := range s.doc.Clusters {
		clusters[name] = none
	}
	g, err := core.New(core.Config{
		Document: s.doc, Checker: none.Checker, Limits: none.Limits, Clusters: clusters, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	g.Close()
	return s.doc, nil
}

// AskProblems asks the clusters of a document for their limits, and returns the problems of its routes with them. It waits until ctx
// ends.
func AskProblems(ctx context.Context, cfg Config) (all []Problem, err error) {
	s, err := cfg.read()
	if err != nil {
		return nil, err
	}
	for i := range s.reaches {
		known, err := s.reaches[i].storedLimits(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", config.ClusterField(s.reaches[i].name), err)
		}
		all = append(all, Problems(s.doc, s.reaches[i].name, known)...)
	}
	return all, nil
}

// storedLimits asks the cluster for its limits.
func (r *reach) storedLimits(ctx context.Context) (*limit.Document, error) {
	c, err := client.New(client.Config{Servers: r.servers, TLS: clusterTLS(r, func() *reach { return r })})
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // the answer has arrived
	return c.StoredLimits(ctx)
}

// noCluster is a checker without a cluster: it decides nothing.
type noCluster struct{}

// Check implements [limit.Checker].
func (noCluster) Check(context.Context, limit.Request) (limit.Decision, error) {
	return limit.Decision{}, limit.ErrUnavailable
}
