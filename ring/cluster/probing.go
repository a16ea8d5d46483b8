package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/cluster/status"
)

const (
	// probeTime is how long a port may take to answer: as long as gossip's pings are tried.
	probeTime = 1500 * time.Millisecond
	// probedTime is the timeout for asking a member what it reaches.
	probedTime = 2 * probeTime
	// probeKept is for how long what was found is the answer to all that ask: so many who ask have nodes probe no more often.
	probeKept = time.Second
	// pings is how often gossip pings over UDP, which may lose packets.
	pings = 3
)

// A prober keeps what was found last.
type prober struct {
	all  kept[[]status.Probed] // by all members
	here kept[[]status.Path]   // by this one
}

// kept is what was found last. One goroutine looks at a time, and the others wait for what it finds.
type kept[T any] struct {
	mu    sync.Mutex // held while one looks
	at    time.Time
	found T
}

func (k *kept[T]) get(look func() T) T {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.IsZero() || time.Since(k.at) >= probeKept {
		k.found, k.at = look(), time.Now()
	}
	return k.found
}

// ProbeAll has every member try to reach each other one at all ports that nodes use among themselves. It takes about three seconds at most, and goes
// on when ctx ends, for others who ask. The answer is not to be changed.
func (c *Cluster) ProbeAll(ctx context.Context) []status.Probed {
	return c.prober.all.get(func() []status.Probed { return c.probeAll(context.WithoutCancel(ctx)) })
}

func (c *Cluster) probeAll(ctx context.Context) (all []status.Probed) {
	var (
		mu      sync.Mutex
		members []agreed.Node
	)
	for _, n := range c.State().Nodes {
		members = append(members, n)
	}
	message.ForEach(members, func(n agreed.Node) {
		probed := status.Probed{Name: n.Name, ID: n.ID.String()}
		var err error
		if n.ID == c.config.ID {
			probed.Paths, err = c.answerProbe(ctx, message.Nothing{})
		} else {
			probed.Paths, err = message.CallWithin[[]status.Path](ctx, c.config.Peers, probedTime, c.directory.AddressOfNode(n), message.KindProbe, message.Nothing{})
		}
		switch {
		case message.IsUnknownKind(err):
			probed.Error = status.NotProbing
		case err != nil:
			probed.Error = reached(err)
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, probed)
	})
	slices.SortFunc(all, func(a, b status.Probed) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return all
}

// answerProbe says which ports of the other members this node reaches.
func (c *Cluster) answerProbe(ctx context.Context, _ message.Nothing) ([]status.Path, error) {
	return c.prober.here.get(func() []status.Path { return c.probe(context.WithoutCancel(ctx)) }), nil
}

// probe tries all ports of all other members, at the same time.
func (c *Cluster) probe(ctx context.Context) []status.Path {
	var (
		mu     sync.Mutex
		tasks  sync.WaitGroup
		all    = []status.Path{}
		others []agreed.Node
	)
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	for id, n := range c.State().Nodes {
		if id != c.config.ID {
			others = append(others, n)
		}
	}
	for _, n := range others {
		for port, try := range c.tries(ctx, n) {
			tasks.Go(func() {
				path, before := status.Path{To: n.Name, Port: port, Address: try.address}, time.Now()
				if err := try.reach(); err != nil {
					path.Error = reached(err)
				} else {
					path.Millis = float64(time.Since(before).Microseconds()) / 1000
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, path)
			})
		}
	}
	tasks.Wait()
	slices.SortFunc(all, func(a, b status.Path) int { return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Port, b.Port)) })
	return all
}

// A try is a way to reach a port.
type try struct {
	address string
	reach   func() error
}

// tries are the ways to reach the ports of a member, at the addresses that nodes use for them. A connection of gossip or raft is only opened and
// closed; over gRPC and UDP the node itself answers.
func (c *Cluster) tries(ctx context.Context, n agreed.Node) map[string]try {
	peer, _ := c.gossip.Find(n.ID)
	grpc, gossip, raft := c.directory.AddressOfNode(n), cmp.Or(peer.Address, n.Gossip), cmp.Or(peer.Raft, n.Raft)
	return map[string]try{
		status.PortGRPC: {grpc, func() error {
			pong, err := message.CallWithin[message.Pong](ctx, c.config.Peers, probeTime, grpc, message.KindPing, message.Nothing{})
			if err == nil && pong.ID != n.ID {
				err = fmt.Errorf("another node answers there: %s", pong.ID)
			}
			return err
		}},
		status.PortGossipTCP: {gossip, func() error { return opens(ctx, gossip) }},
		status.PortRaft:      {raft, func() error { return opens(ctx, raft) }},
		status.PortGossipUDP: {gossip, func() (err error) {
			for range pings {
				if err = c.gossip.Ping(n.ID, gossip); err == nil {
					return nil
				}
			}
			return err
		}},
	}
}

// opens opens a TCP connection, and closes it.
func opens(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// reached is why a port was not reached.
func reached(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return status.NoAnswer
	case errors.Is(err, syscall.ECONNREFUSED):
		return status.Refused
	}
	return err.Error()
}
