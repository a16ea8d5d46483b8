package facts

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/internal/speaks"
)

// A Port is an address at which the node listens, or will.
type Port struct {
	Option  string `json:"option"`
	Network string `json:"network"` // tcp or udp
	Address string `json:"address"`
	Taken   bool   `json:"taken,omitempty"` // something listens there
	Wrong   string `json:"wrong,omitempty"` // why nothing can listen there, where it is not taken
	// Holder is the process that listens there, and Program its name; 0 and empty where they are not known.
	Holder  int    `json:"holder,omitempty"`
	Program string `json:"program,omitempty"`
	// Speaks is what it speaks; it is asked only while no node runs here.
	Speaks string `json:"speaks,omitempty"`
}

// portsOf tries to listen at each address of a node, for a moment, where running is the process of the node that runs; 0 for none.
func portsOf(ctx context.Context, c *node.Config, running int) (all []Port) {
	holders := holdersOf()
	add := func(option, address string, networks ...string) {
		if _, port, err := net.SplitHostPort(address); address == "" || err == nil && port == "0" {
			return
		}
		for _, network := range networks {
			p := Port{Option: option, Network: network, Address: address}
			p.try(ctx)
			if p.Taken {
				if host, port, err := net.SplitHostPort(address); err == nil {
					number, _ := net.DefaultResolver.LookupPort(ctx, network, port)
					by := holderAt(holders, running, network, resolved(ctx, host), number)
					p.Holder, p.Program = by.pid, by.program
				}
				if running == 0 && network == "tcp" {
					p.Speaks = string(speaks.At(ctx, reachable(address)))
				}
			}
			all = append(all, p)
		}
	}
	add("listen-grpc", c.ListenGRPC, "tcp")
	add("listen-http", c.ListenHTTP, "tcp")
	add("listen-gossip", c.ListenGossip, "tcp", "udp")
	add("listen-raft", c.ListenRaft, "tcp")
	add("listen-redis", c.ListenRedis, "tcp")
	return all
}

// try listens for a moment.
func (p *Port) try(ctx context.Context) {
	var (
		listens interface{ Close() error }
		err     error
		config  net.ListenConfig
	)
	if p.Network == "udp" {
		listens, err = config.ListenPacket(ctx, "udp", p.Address)
	} else {
		listens, err = config.Listen(ctx, "tcp", p.Address)
	}
	if err == nil {
		err = listens.Close()
	}
	switch {
	case err == nil:
	case errors.Is(err, syscall.EADDRINUSE):
		p.Taken = true
	default:
		p.Wrong = err.Error()
	}
}

// resolved are the addresses of a host; none where it has none, or none that can be found.
func resolved(ctx context.Context, host string) (all []netip.Addr) {
	if host == "" {
		return nil
	}
	found, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for _, a := range found {
		all = append(all, a.Unmap())
	}
	return all
}

// reachable is where this machine reaches what listens at an address, which may be every one.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return address
}
