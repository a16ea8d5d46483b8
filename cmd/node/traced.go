package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/tracing"
	"github.com/jeton-dev/jeton/rpc"
	"github.com/jeton-dev/jeton/rpc/peers"
)

// checkTracing says what is wrong with where spans go.
func (c *Config) checkTracing() error {
	switch {
	case !(c.TraceSample >= 0 && c.TraceSample <= 1):
		return fmt.Errorf("trace-sample: %v is out of range: give a share from 0 to 1, such as 0.01", c.TraceSample)
	case c.OTLPEndpoint == "" && (c.OTLPInsecure || c.TraceSample > 0):
		return errors.New("otlp-insecure, trace-sample: are for a collector, and none is given: give --otlp-endpoint too")
	case c.OTLPEndpoint != "" && c.Tracer != nil:
		return errors.New("otlp-endpoint: Tracer is given too, which takes its place: leave out one of the two")
	}
	return nil
}

// openTracing has the spans of the node sent to its collector, if it has one. It does not wait for the collector.
func (n *Node) openTracing() error {
	if n.cfg.OTLPEndpoint == "" {
		return nil
	}
	failures := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "jeton_span_export_failures_total",
		Help: "Batches of spans that the collector did not accept.",
	})
	n.metrics.MustRegister(failures)
	t, err := tracing.Open(tracing.Config{
		Endpoint: n.cfg.OTLPEndpoint, Insecure: n.cfg.OTLPInsecure, Share: n.cfg.TraceSample, Often: true,
		Service: "jeton", Instance: n.cfg.Name, Logger: n.cfg.Logger, Failures: failures,
	})
	if err != nil {
		return err
	}
	n.cfg.Tracer = t.Provider()
	n.opened.Add(func(ctx context.Context) error {
		if err := t.Close(ctx); err != nil {
			n.cfg.Logger.Warn("stopping", "error", err)
		}
		return nil
	})
	return nil
}

// observe has everything that the node is asked decided by l: its checks are counted that get no decision, and spans made if the node makes some.
func (n *parts) observe(l limit.Limiter) (err error) {
	n.decides, err = rpc.NewObserved(rpc.ObservedConfig{
		Limiter: l, Limits: n.limits.Load, Tracer: n.cfg.Tracer, Node: n.cfg.Name, Registerer: n.metrics,
	})
	return err
}

// replica is the node's own storage as its actors reserve there.
func (n *parts) replica() actor.Replica {
	if n.cfg.Tracer == nil {
		return n.store
	}
	return peers.TraceOwn(n.store, n.cfg.Tracer, n.cfg.Name)
}

// tracedGate is the node's own storage as other nodes reserve there.
func (n *parts) tracedGate(g *gate) peers.Registers {
	if n.cfg.Tracer == nil {
		return g
	}
	return peers.TracePeers(g, n.cfg.Tracer, n.cfg.Name)
}
