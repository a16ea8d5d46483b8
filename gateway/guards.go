package gateway

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/fallback"
)

// cluster is the one of that name; nil for none.
func (g *Gateway) cluster(name string) *cluster {
	for _, c := range g.clusters {
		if c.name == name {
			return c
		}
	}
	return nil
}

// noCluster is the error of a check that asks a cluster of that name, which the gateway does not have.
func (g *Gateway) noCluster(name string) error {
	var have []string
	for _, c := range g.clusters {
		if c.name != "" {
			have = append(have, c.name)
		}
	}
	if name == "" {
		return fmt.Errorf("cluster: is missing: name one of %s", strings.Join(have, ", "))
	}
	return fmt.Errorf("cluster: %q is none that this gateway was made with: %s", name, cmp.Or(strings.Join(have, ", "), "it has one, without a name"))
}

// openGuards makes a guard for each cluster. It keeps local buckets, so a document that configures it alike keeps it.
func (g *Gateway) openGuards(r, old *rules) error {
	for _, c := range g.clusters {
		by := r.document.ClusterOf(c.name)
		var before *guarded
		if old != nil {
			before = old.guards[c.at]
			if b := before.by; b.Sharers() == by.Sharers() && b.Budget() == by.Budget() && b.Repeats() == by.Repeats() {
				r.guards = append(r.guards, before)
				continue
			}
		}
		next, err := g.newGuard(c, by, before)
		if err != nil {
			return err
		}
		r.guards = append(r.guards, next)
	}
	return nil
}

// newGuard makes the guard of a cluster, which replaces that before; nil for none.
func (g *Gateway) newGuard(c *cluster, by config.Cluster, before *guarded) (next *guarded, err error) {
	next = &guarded{metrics: prometheus.NewRegistry(), by: by}
	cfg := fallback.Config{
		Checker: c.Checker, Limits: c.Limits, Gateways: by.Sharers(), Within: by.Budget(), Known: by.Repeats(),
		Now: g.nanos, Registerer: next.metrics, Logger: g.log,
	}
	if before != nil {
		cfg.Before = before.Guard
	}
	if c.name != "" {
		cfg.Logger, cfg.Registerer = g.log.With("cluster", c.name), prometheus.WrapRegistererWith(prometheus.Labels{"cluster": c.name}, next.metrics)
	}
	next.Guard, err = fallback.New(cfg)
	return next, err
}
