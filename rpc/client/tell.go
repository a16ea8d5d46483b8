package client

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/nodes"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// ErrOlderNode means that a node does not know what it was asked: it is of an older release.
var ErrOlderNode = errors.New("the node is of an older release, which does not know the call")

// Tell tells a node what a gateway does: an activity.Gateway as JSON. Which node does not matter: a look at any node
// asks all of them.
func (c *Client) Tell(ctx context.Context, gateway []byte) error {
	_, err := nodes.Anywhere(ctx, c.known(), func(ctx context.Context, n *nodes.Node) (*pb.TellResponse, error) {
		shown, err := c.showToken(n)
		if err != nil {
			return nil, err
		}
		out, err := pb.NewClusterClient(n.Conn()).Tell(ctx, &pb.TellRequest{Gateway: gateway}, shown...)
		if status.Code(err) == codes.Unimplemented {
			return nil, ErrOlderNode
		}
		return out, pb.DecodeError(err)
	})
	return err
}
