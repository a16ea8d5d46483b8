package cluster

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/hashicorp/memberlist"
)

// A gossipWire is the bound sockets of gossip, TCP and UDP, and where others reach them.
type gossipWire struct {
	transport *memberlist.NetTransport
	ip        string
	port      int
	logger    loggerOfMemberlist
}

// bindGossip binds bind, host:port; others reach it at the same port of the host advertise, or, if that is empty, of the
// host that was bound, or, if that is every one, of this machine's private address.
func bindGossip(bind, advertise string, logger loggerOfMemberlist) (*gossipWire, error) {
	ip, port, err := resolve(bind)
	if err != nil {
		return nil, err
	}
	settings := &memberlist.NetTransportConfig{BindAddrs: []string{ip}, BindPort: port, Logger: logger}
	t, err := memberlist.NewNetTransport(settings)
	for try := 0; err != nil && port == 0 && try < 10; try++ { // TCP was given a port that UDP has given to somebody else
		t, err = memberlist.NewNetTransport(settings)
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
	at, port, err := t.FinalAdvertiseAddr(advertise, t.GetAutoBindPort())
	if err == nil && at.IsUnspecified() {
		err = errors.New("it listens on every address of this machine: say by which one others reach it (--advertise)")
	}
	if err != nil {
		return nil, errors.Join(err, t.Shutdown())
	}
	return &gossipWire{transport: t, ip: at.String(), port: port, logger: logger}, nil
}

func (w *gossipWire) address() string { return net.JoinHostPort(w.ip, strconv.Itoa(w.port)) }

// close closes the sockets of a gossip that has never begun: what they have received is taken from them, since they wait
// for somebody to take it.
func (w *gossipWire) close() error {
	closed := make(chan struct{})
	var drain sync.WaitGroup
	drain.Go(func() {
		for {
			select {
			case conn := <-w.transport.StreamCh():
				_ = conn.Close()
			case <-w.transport.PacketCh():
			case <-closed:
				return
			}
		}
	})
	err := w.transport.Shutdown()
	close(closed)
	drain.Wait()
	return err
}

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
