package gateway

import (
	"net"
	"net/netip"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/internal/bound"
)

// The bounds of the listeners for which the document has no bounds.
const (
	// Operators and what watches a gateway have few connections.
	adminConnections  = 1024
	adminPerAddress   = 256
	adminMemory       = 64 << 20 // bytes of requests that are not answered yet
	adminUnreadWithin = time.Minute
	// Trusted proxies may open as many connections as they have clients. An untrusted address gets few: it is only refused.
	authPerStranger  = 16
	authUnreadWithin = 10 * time.Second
)

// bind bounds the connections of a front. The bound per address does not apply to addresses for which known is true: these are
// trusted proxies, with many clients behind one address.
func (e *Gateway) bind(f *front, cfg bound.Config, known func(*setup, netip.Addr) bool) {
	cfg.Name, cfg.Metrics, cfg.Logger = f.name, e.listeners, e.cfg.Logger
	f.listener = &knowing{bound.New(f.listener, cfg), func(a netip.Addr) bool { return known(e.now.Load(), a) }}
}

// bindFronts puts bounds on all listeners.
func (e *Gateway) bindFronts(s *setup) {
	files := int(min(bound.Limit(), 1<<30))
	if p := s.doc.Proxy; p != nil {
		maxOpen := p.MaxOpenConnections(files)
		e.bind(e.proxy, bound.Config{
			Connections: maxOpen, PerAddress: p.MaxOpenConnectionsPerClient(maxOpen), WriteWithin: p.UnreadTimeout(),
		}, func(s *setup, a netip.Addr) bool { return s.proxies.Contains(a) })
	}
	if s.doc.ForwardAuth != nil {
		e.bind(e.forwardAuth, bound.Config{
			Connections: config.Proxy{}.MaxOpenConnections(files), PerAddress: authPerStranger, WriteWithin: authUnreadWithin,
		}, func(s *setup, a netip.Addr) bool { return s.askers.Contains(a) })
	}
	e.bind(e.admin, bound.Config{
		Connections: min(adminConnections, max(1, files/4)), PerAddress: adminPerAddress, Memory: adminMemory, Exchanges: true,
		WriteWithin: adminUnreadWithin,
	}, func(*setup, netip.Addr) bool { return false })
}

// knowing is a listener that exempts known addresses from the bound per address.
type knowing struct {
	*bound.Listener

	known func(netip.Addr) bool
}

// Accept implements net.Listener.
func (k *knowing) Accept() (net.Conn, error) {
	c, err := k.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if from, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil && k.known(from.Addr()) {
		bound.Of(c).Prove(bound.Caller)
	}
	return c, nil
}
