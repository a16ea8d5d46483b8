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
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("advertise: %s is every address of this machine: name with --advertise the one at which others reach it", address)
	}
	return nil
}
