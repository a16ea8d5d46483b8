package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

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

// AskProblems asks the clusters of a document for their limits, and returns the problems of its routes with those that have answered. It waits until ctx
// ends. The error says which have not.
func AskProblems(ctx context.Context, cfg Config) (all []Problem, err error) {
	s, err := cfg.read()
	if err != nil {
		return nil, err
	}
	found, errs := make([][]Problem, len(s.reaches)), make([]error, len(s.reaches))
	var asking sync.WaitGroup
	for i := range s.reaches {
		r := &s.reaches[i]
		asking.Go(func() {
			known, err := r.storedLimits(ctx)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", config.ClusterField(r.name), err)
				return
			}
			found[i] = Problems(s.doc, r.name, known)
		})
	}
	asking.Wait()
	return slices.Concat(found...), errors.Join(errs...)
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
