package node

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/door"
)

// listen opens a listener for the option called name; without an address there is none.
func (n *parts) listen(name, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // no listener is what was asked for
	}
	if err := n.checkListen(name, address); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l, err := door.Listen(name, address)
	if err != nil {
		return nil, err
	}
	n.opened.Add(door.CloseListener(l))
	return bound.New(l, n.bounds(name)), nil
}

// The bounds of what a caller may leave unread.
const (
	// writeWithin is how long one write of an answer over HTTP may take.
	writeWithin = 30 * time.Second
	// DefaultListenMemory is that of Config.ListenMemory.
	DefaultListenMemory = 64 << 20
)

// share is what a listener gets of the descriptors of the process.
func share(name string) bound.Share {
	switch name {
	case grpcOption:
		return bound.Share{Part: 1, Of: 2}
	case httpOption, redisOption:
		return bound.Share{Part: 1, Of: 4, Most: 4096}
	}
	return bound.Share{Part: 1, Of: 8, Most: 512} // gossip and raft, which only nodes have to do with
}

// bounds are those of a listener, by the name of its option. One address may have a quarter of the connections before it has
// proved anything.
func (n *parts) bounds(name string) bound.Config {
	most := share(name).Connections(bound.Limit())
	b := bound.Config{
		Name: strings.TrimPrefix(name, "listen-"), Connections: most, PerAddress: max(most/4, 1), Memory: n.cfg.ListenMemory,
		Metrics: n.listeners, Logger: n.cfg.Logger,
	}
	if name == httpOption {
		b.Exchanges, b.WriteWithin = true, writeWithin
	}
	return b
}

// checkListen refuses what is no address, and addresses that others can reach, unless who reaches them proves something, or that is wanted.
func (n *parts) checkListen(name, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not host:port, such as 127.0.0.1:7700", address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil { //nolint:noctx // it asks no server
		return fmt.Errorf("%q: %q is no port, such as 7700: 65535 is the highest", address, port)
	}
	if n.cfg.Insecure || n.requiresProof(name) || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	switch name {
	case redisOption:
		return fmt.Errorf("%s can be reached from other machines, and any client that reaches it could check and reset: "+
			"give --redis-token-file, listen on 127.0.0.1, or use --insecure if the network is trusted", address)
	case httpOption:
		return fmt.Errorf("%s can be reached from other machines, and any client that reaches it could read and fill buckets: "+
			"give --admin-token-file or --cluster-key-file, listen on 127.0.0.1, or use --insecure if the network is trusted", address)
	}
	return fmt.Errorf("%s can be reached from other machines, and any process that reaches it could pass for a node: "+
		"give --cluster-key-file, listen on 127.0.0.1, or use --insecure if the network is trusted", address)
}

// The options of the listeners.
const (
	grpcOption   = "listen-grpc"
	httpOption   = "listen-http"
	gossipOption = "listen-gossip"
	raftOption   = "listen-raft"
	redisOption  = "listen-redis"
)

// requiresProof says whether clients of a listener have to prove who they are before they may do what is not open to all.
func (n *parts) requiresProof(name string) bool {
	switch name {
	case grpcOption:
		return n.secrets.key != nil || n.secrets.certificates != nil
	case httpOption:
		return n.secrets.tokens != nil
	case redisOption:
		return n.secrets.redis != nil
	}
	return n.secrets.key != nil
}

// isRemote says whether other machines can reach a listener.
func isRemote(l net.Listener) bool {
	if l == nil {
		return false
	}
	at, ok := l.Addr().(*net.TCPAddr)
	return !ok || !at.IP.IsLoopback()
}

// advertised is the address at which others reach a listener.
func (n *parts) advertised(l net.Listener) (string, error) {
	if l == nil {
		return "", nil
	}
	address := l.Addr().String()
	if err := n.cfg.checkAdvertised(address); err != nil || n.cfg.Advertise == "" {
		return address, err
	}
	_, port, err := net.SplitHostPort(address)
	return net.JoinHostPort(n.cfg.Advertise, port), err
}

// checkAdvertised refuses an address to listen on that tells other nodes nothing of where to reach it.
func (c *Config) checkAdvertised(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil || c.Advertise != "" {
		return err
	}
	if isEvery(host) {
		return fmt.Errorf("advertise: %s is every address of this machine: name with --advertise the one at which others reach it", address)
	}
	return nil
}

// checkAdvertise refuses what is no host in Advertise. Whether it has an address now is not asked.
func (c *Config) checkAdvertise() error {
	if c.Advertise == "" {
		return nil
	}
	if isEvery(c.Advertise) {
		return fmt.Errorf("advertise: %s is every address of this machine: name the one at which others reach it, such as 10.0.0.1", c.Advertise)
	}
	if _, _, err := net.SplitHostPort(c.Advertise); err == nil {
		return fmt.Errorf("advertise: %q has a port: give only the host, such as 10.0.0.1: each listener has a port of its own", c.Advertise)
	}
	if strings.ContainsAny(c.Advertise, "[]/") || strings.Contains(c.Advertise, ":") && net.ParseIP(c.Advertise) == nil {
		return fmt.Errorf("advertise: %q is no host: give a name or an address, such as 10.0.0.1 or fd00::1", c.Advertise)
	}
	return nil
}

// isEvery says whether a host to listen on is every address of the machine.
func isEvery(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// A listening is an address to listen on, and the option that gives it.
type listening struct{ option, address string }

// listens are all addresses to listen on; an empty one is none.
func (c *Config) listens() []listening {
	return []listening{
		{grpcOption, c.ListenGRPC}, {httpOption, c.ListenHTTP}, {redisOption, c.ListenRedis}, {gossipOption, c.ListenGossip}, {raftOption, c.ListenRaft},
	}
}

// checkPorts refuses an address that two listeners have. What is no address is for checkListen to refuse.
func (c *Config) checkPorts() error {
	type place struct {
		option, host string
		port         int
	}
	var taken []place
	for _, l := range c.listens() {
		host, name, err := net.SplitHostPort(l.address)
		if err != nil {
			continue
		}
		port, err := net.LookupPort("tcp", name) //nolint:noctx // it asks no server
		if err != nil || port == 0 {
			continue
		}
		if host == "localhost" {
			host = "127.0.0.1"
		}
		if ip := net.ParseIP(host); ip != nil {
			host = ip.String()
		}
		for _, at := range taken {
			if at.port == port && (at.host == host || isEvery(at.host) || isEvery(host)) {
				return fmt.Errorf("%s, %s: both are to listen on port %d: give each a port of its own", at.option, l.option, port)
			}
		}
		taken = append(taken, place{l.option, host, port})
	}
	return nil
}
