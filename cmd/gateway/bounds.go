package gateway

import (
	"net"
	"net/netip"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/internal/bound"
)

// The bounds of the listeners whose bounds the document does not say.
const (
	// Operators and what watches a gateway have few connections.
	adminConnections  = 1024
	adminPerAddress   = 256
	adminMemory       = 64 << 20 // bytes of requests that are not answered yet
	adminUnreadWithin = time.Minute
	// Proxies that ask have as many connections as clients have of theirs; whoever else connects is told to go.
	authPerStranger  = 16
	authUnreadWithin = 10 * time.Second
)

// bind puts bounds on what the connections of a front cost. Those from addresses that known says yes to count for no
// address: all clients of a proxy come from there.
func (e *Gateway) bind(f *front, cfg bound.Config, known func(*setup, netip.Addr) bool) {
	cfg.Name, cfg.Metrics, cfg.Logger = f.name, e.listeners, e.cfg.Logger
	f.listener = &knowing{bound.New(f.listener, cfg), func(a netip.Addr) bool { return known(e.now.Load(), a) }}
}

// bindFronts puts bounds on all listeners.
func (e *Gateway) bindFronts(s *setup) {
	files := int(min(bound.Limit(), 1<<30))
	if p := s.doc.Proxy; p != nil {
		most := p.MaxOpenConnections(files)
		e.bind(e.proxy, bound.Config{
			Connections: most, PerAddress: p.MaxOpenConnectionsPerClient(most), WriteWithin: p.UnreadTimeout(),
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

// knowing is a listener that knows some addresses.
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
