package gateway

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	core "github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/rpc/client"
)

// openClusters opens a client of each cluster, which are closed last opened first.
func (e *Gateway) openClusters(s *setup) error {
	for _, r := range s.reaches {
		by := s.doc.ClusterOf(r.name)
		c := &cluster{name: r.name}
		inForce := func() *reach { return e.now.Load().reach(r.name) }
		var err error
		c.client, err = client.New(client.Config{
			Servers: r.servers, FailFast: true, Connections: 1, MaxMessages: 1, Timeout: by.Budget(), MaxChecks: maxChecks,
			TLS: clusterTLS(&r, inForce), Token: func() string { return inForce().token }, Registerer: c.register(e.metrics, s.doc),
			Edges: by.Sharers(), Name: s.doc.Name, Tracer: e.tracing.Provider(),
			RepeatDenials: -1, // the gateway does, by repeat_denials
		})
		if err != nil {
			return err
		}
		e.closers.Add(func(context.Context) error { return c.client.Close() })
		c.client.Heard() // starts the subscription to the limits
		e.clusters = append(e.clusters, c)
	}
	return nil
}

// maxChecks bounds the checks under way in a client beyond any bound of the gateway itself, cluster.max_in_flight, which
// the document may change.
const maxChecks = 1_000_000

// tellEdges tells the clients how many gateways share limits, as a document says that is in force now.
func (e *Gateway) tellEdges(doc *config.Document) {
	for _, c := range e.clusters {
		c.client.SetEdges(doc.ClusterOf(c.name).Sharers())
	}
}

// decide gives the core the clusters.
func (e *Gateway) decide(cfg *core.Config) {
	cfg.Clusters = map[string]core.Cluster{}
	for _, c := range e.clusters {
		if c.name == "" {
			cfg.Checker, cfg.Limits = c.client, c.limits
			continue
		}
		cfg.Clusters[c.name] = core.Cluster{Checker: c.client, Limits: c.limits}
	}
}

// warnWithoutLimits logs once that no node of a cluster has sent the limits, and why, when the gateway has waited for limitsWithin. Only Run calls it.
func (e *Gateway) warnWithoutLimits(ctx context.Context, now time.Time) {
	for _, c := range e.clusters {
		if c.warned || now.Sub(e.opened) < limitsWithin || c.limits() != nil {
			continue
		}
		c.warned = true
		ctx, cancel := context.WithTimeout(ctx, sightWithin)
		c.log(e.cfg.Logger).Warn("no node has sent the limits of the cluster yet",
			slog.Any("servers", e.now.Load().reach(c.name).servers), slog.String("error", c.ask(ctx).said))
		cancel()
	}
}

// watchLimits keeps the limits that the gateway knows up to date. Only Run calls it.
func (e *Gateway) watchLimits(ctx context.Context) {
	var fetching sync.WaitGroup
	for _, c := range e.clusters {
		fetching.Go(func() { c.fetchLimits(ctx) })
	}
	fetching.Wait()
	e.gateway.NoteLimits()
	for _, c := range e.clusters {
		e.logProblems(c)
	}
}

// logProblems logs each problem of a route with the limits in force of a cluster once, and its end once.
func (e *Gateway) logProblems(c *cluster) {
	known := c.limits()
	if known == nil {
		return
	}
	now := Problems(e.now.Load().doc, c.name, known)
	for _, p := range now {
		if !slices.Contains(c.problems, p) {
			c.log(e.cfg.Logger).Warn("a route does not fit the limits in force", "route", p.Route, "limit", p.Limit, "problem", p.Text)
		}
	}
	for _, p := range c.problems {
		if !slices.Contains(now, p) {
			c.log(e.cfg.Logger).Info("a problem of a route with the limits in force is over", "route", p.Route, "limit", p.Limit, "problem", p.Text)
		}
	}
	c.problems = now
}
