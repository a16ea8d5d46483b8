package gossip

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/ring/key"
)

// A Wire is the bound sockets of gossip, TCP and UDP, and where others reach them.
type Wire struct {
	transport *sockets
	IP        string
	port      int
	logger    loggerOfMemberlist
}

// BindConfig says where gossip listens.
type BindConfig struct {
	// Address is the address to listen on, host:port; port 0 is any that is free.
	Address string
	// AdvertiseHost is the host at which others reach the same port. Empty: the host that is bound, or, if that is every one,
	// this machine's private address.
	AdvertiseHost string
	// Bounds bound what strangers can make the listener hold.
	Bounds bound.Config
	// Key is the cluster key. Nil: nothing is encrypted.
	Key *key.Key
}

// Bind binds the sockets of gossip.
func Bind(config BindConfig) (*Wire, error) {
	bounds, advertise := config.Bounds, config.AdvertiseHost
	ip, port, err := resolve(config.Address)
	if err != nil {
		return nil, err
	}
	logs := newGossipLog(bounds.Logger)
	t, err := openSockets(ip, port, bounds, config.Key, logs)
	for try := 0; err != nil && port == 0 && try < 10; try++ { // another process has the UDP port of this number
		t, err = openSockets(ip, port, bounds, config.Key, logs)
	}
	if err != nil {
		return nil, err
	}
	if advertise != "" {
		advertise, _, err = resolve(net.JoinHostPort(advertise, "0"))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the advertised host: %w", err), t.Shutdown())
	}
	at, port, err := t.FinalAdvertiseAddr(advertise, t.port())
	if err == nil && at.IsUnspecified() {
		err = errors.New("gossip listens on every address of this machine: name the one at which other nodes reach it (--advertise)")
	}
	if err != nil {
		return nil, errors.Join(err, t.Shutdown())
	}
	return &Wire{transport: t, IP: at.String(), port: port, logger: logs.logger()}, nil
}

// Address is where the others reach this node's gossip, host:port.
func (w *Wire) Address() string { return net.JoinHostPort(w.IP, strconv.Itoa(w.port)) }

// Close closes the sockets of a gossip that was never started.
func (w *Wire) Close() error { return w.transport.Shutdown() }

// resolve is the first address of host:port, which memberlist wants in numbers.
func resolve(address string) (ip string, port int, err error) {
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return "", 0, err
	}
	if a.IP == nil {
		return net.IPv4zero.String(), a.Port, nil
	}
	return a.IP.String(), a.Port, nil
}
