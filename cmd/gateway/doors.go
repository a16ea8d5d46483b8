package gateway

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/door"
	"github.com/jeton-dev/jeton/rpc/doors"
	"github.com/jeton-dev/jeton/rpc/doors/redis"
)

// The bounds of the listeners of doors, each. What is behind an Envoy comes over few connections.
const (
	doorConnections = 4096
	doorMemory      = 64 << 20 // bytes of requests that are not answered yet
	sayWithin       = 100 * time.Millisecond
)

// The fields of the listeners of doors.
const (
	grpcField  = "doors.listen"
	redisField = "doors.redis"
)

// A protocolDoor is the listener of a door that does not speak HTTP.
type protocolDoor struct {
	name     string
	listener net.Listener
	serve    func(net.Listener) error
	stop     func(context.Context) error
}

// Name implements door.Door: it is the field of the document.
func (f *protocolDoor) Name() string { return f.name }

// Addr implements door.Door; empty for a nil one.
func (f *protocolDoor) Addr() string {
	if f == nil {
		return ""
	}
	return door.Address(f.listener)
}

// Serve implements door.Door.
func (f *protocolDoor) Serve() error { return f.serve(f.listener) }

// Stop implements door.Door.
func (f *protocolDoor) Stop(ctx context.Context) error { return f.stop(ctx) }

// A strangersListener closes the connections of strangers.
type strangersListener struct {
	*bound.Listener

	trusts func(netip.Addr) bool
	says   string // to a stranger, before its connection is closed; empty for nothing
}

// Accept implements net.Listener.
func (l *strangersListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if from, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil && l.trusts(from.Addr().Unmap()) {
			return c, nil
		}
		l.Refused("untrusted", c.RemoteAddr(), "a connection was closed: its address is not in doors.trusted")
		if l.says != "" {
			_ = c.SetWriteDeadline(time.Now().Add(sayWithin))
			_, _ = io.WriteString(c, l.says) // it may be gone
		}
		_ = c.Close() // nobody waits for it
	}
}

// foreignAt is the one of a field; nil for none.
func (e *Gateway) foreignAt(field string) *protocolDoor {
	for _, f := range e.foreign {
		if f.name == field {
			return f
		}
	}
	return nil
}

// openForeign opens the listeners of doors, so that an address in use is found before anything else runs.
func (e *Gateway) openForeign(d *config.Doors) (err error) {
	if d == nil {
		return nil
	}
	for field, address := range map[string]string{grpcField: d.Address(), redisField: d.Redis} {
		if address == "" {
			continue
		}
		l, err := door.Listen(field, address)
		if err != nil {
			return err
		}
		e.closers.Add(door.CloseListener(l))
		says := ""
		if field == redisField {
			says = "-DENIED your address is not in doors.trusted of the gateway's document\r\n"
		}
		e.foreign = append(e.foreign, &protocolDoor{name: field, listener: &strangersListener{
			bound.New(l, bound.Config{Name: field, Connections: bound.Share{Part: 1, Of: 8, Most: doorConnections}.Connections(bound.Limit()), Memory: doorMemory, Metrics: e.listeners, Logger: e.cfg.Logger}),
			func(a netip.Addr) bool { return e.now.Load().callers.Contains(a) }, says,
		}})
	}
	return nil
}

// foreignList is the doors that do not speak HTTP, ready to be served.
func (e *Gateway) foreignList(d *config.Doors) (list []door.Door, err error) {
	for _, f := range e.foreign {
		if f.name == redisField {
			err = e.openRedis(f)
		} else {
			err = e.openGRPC(f, d)
		}
		if err != nil {
			return nil, fmt.Errorf("doors: %w", err)
		}
		list = append(list, f)
	}
	return list, nil
}

// openGRPC opens the doors that speak gRPC.
func (e *Gateway) openGRPC(f *protocolDoor, d *config.Doors) error {
	c := e.clusters[0]
	services, err := doors.Open(d.GRPC, doors.Config{
		Limiter: c.client, Limits: c.limits, KeepsBuckets: e.now.Load().tokens != nil, RLSConfig: d.RLSConfig.At, RLSHeaders: d.RLSHeaders, RLSMetadata: d.RLSMetadata, KuadrantConfig: d.KuadrantConfig.At, Authorize: e.gateway.Authorize(), Registerer: e.metrics, Logger: e.cfg.Logger,
	})
	if err != nil {
		return err
	}
	e.services = services
	e.closers.Add(func(context.Context) error { return doors.Close(services) })
	server, err := doors.NewServer(doors.ServerConfig{Services: services, TLS: e.grpcTLS(d), Registerer: e.metrics, Logger: e.cfg.Logger})
	if err != nil {
		return err
	}
	f.serve, f.stop = server.Serve, server.Stop
	return nil
}

// grpcTLS is how clients of doors that speak gRPC are spoken to; nil for plain text.
func (e *Gateway) grpcTLS(d *config.Doors) func() (*tls.Config, error) {
	if d.TLS == nil {
		return nil
	}
	spoken := e.doorsTLS()
	spoken.NextProtos = []string{"h2"}
	return func() (*tls.Config, error) { return spoken, nil }
}

// openRedis opens the door for Redis' protocol.
func (e *Gateway) openRedis(f *protocolDoor) error {
	c := e.clusters[0]
	cfg := redis.Config{Limiter: c.client, Limits: c.limits, Registerer: e.metrics, Logger: e.cfg.Logger}
	if e.now.Load().doc.Doors.TLS != nil {
		cfg.TLS = e.doorsTLS()
	}
	if e.now.Load().doc.Doors.RedisTokenFile.Given() {
		cfg.Token = func(token string) bool { return e.now.Load().redis.Has(token) }
	}
	server, err := redis.New(cfg)
	if err != nil {
		return err
	}
	f.serve, f.stop = server.Serve, server.Stop
	return nil
}
