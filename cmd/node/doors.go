package node

import (
	"context"
	"fmt"
	"net"

	"github.com/jeton-dev/jeton/internal/door"
	"github.com/jeton-dev/jeton/rpc/doors"
	"github.com/jeton-dev/jeton/rpc/doors/redis"
)

// openServices opens the doors of other systems that the gRPC port answers.
func (n *Node) openServices() ([]doors.Service, error) {
	services, err := doors.Open(n.cfg.Doors, doors.Config{
		Limiter: n.decides, Limits: n.Limits, Ready: n.Ready, Nodes: n.nodes, KeepsBuckets: n.secrets.tokens != nil || n.secrets.certificates != nil, RLSConfig: n.cfg.RLSConfig, RLSHeaders: n.cfg.RLSHeaders, RLSMetadata: n.cfg.RLSMetadata, KuadrantConfig: n.cfg.KuadrantConfig, Registerer: n.metrics, Logger: n.cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("doors: %w", err)
	}
	n.services = services
	n.opened.Add(func(context.Context) error { return doors.Close(services) })
	return services, nil
}

// nodes is how many nodes the cluster has.
func (n *Node) nodes() int {
	if n.member == nil {
		return 1
	}
	return len(n.member.cluster.State().Nodes)
}

// redisDoor is the door for Redis' protocol; none without a listener.
func (n *Node) redisDoor() ([]door.Door, error) {
	if n.redisListener == nil {
		return nil, nil
	}
	cfg := redis.Config{Limiter: n.decides, Limits: n.Limits, InlineFill: n.cfg.InlineFill, Registerer: n.metrics, Logger: n.cfg.Logger}
	if tokens := n.secrets.redis; tokens != nil {
		cfg.Token = func(token string) bool { counts, _ := tokens.Counts(token); return counts }
	}
	if n.secrets.certificates != nil {
		cfg.TLS = n.secrets.certificates.HTTPS()
	}
	server, err := redis.New(cfg)
	return []door.Door{redisDoor{server, n.redisListener}}, err
}

// A redisDoor is the port for Redis' protocol.
type redisDoor struct {
	*redis.Door
	l net.Listener
}

// Name implements door.Door.
func (redisDoor) Name() string { return "Redis" }

// Addr implements door.Door.
func (d redisDoor) Addr() string { return door.Address(d.l) }

// Serve implements door.Door.
func (d redisDoor) Serve() error { return d.Door.Serve(d.l) }
