package client

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/nodes"
)

// errTokenInClear refuses to send a token over a connection that others can read.
var errTokenInClear = fmt.Errorf("%w: a token is not sent to another machine in plain text: use TLS, with a certificate or the cluster key",
	limit.ErrUnauthenticated)

// showToken is what makes a call to n show the operator's token, if there is one.
func (c *Client) showToken(n *nodes.Node) ([]grpc.CallOption, error) {
	if c.token == nil {
		return nil, nil
	}
	token := c.token()
	switch {
	case token == "":
		return nil, nil
	case !c.secure && !isLoopback(n.Address()):
		return nil, errTokenInClear
	}
	return []grpc.CallOption{grpc.PerRPCCredentials(bearer(token))}, nil
}

// bearer is a token as a call shows it.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Where a token may be shown is for showToken to say, which
// knows loopback.
func (bearer) RequireTransportSecurity() bool { return false }

// isLoopback says whether an address, host:port, is of this machine.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}
