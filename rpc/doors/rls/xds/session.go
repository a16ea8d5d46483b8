package xds

import (
	"context"
	"fmt"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

const (
	// aliveEvery is after what silence the connection is proved. gRPC's servers cut off clients that do so within 5 minutes.
	aliveEvery  = 6 * time.Minute
	aliveWithin = 20 * time.Second
	// pace is how long the client waits between two answers at least: servers send again at once what was refused, and each is read whole.
	pace = time.Second
)

// session is one connection to the server, and one stream over it. Its error says why it has ended.
func (c *Client) session(ctx context.Context, take func([]descriptors.Resource) error) error {
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(ctx, metadata.New(c.cfg.Headers)))
	defer cancel()
	secured := insecure.NewCredentials()
	if c.cfg.Credentials != nil {
		var err error
		if secured, err = c.cfg.Credentials(); err != nil {
			return err
		}
	}
	conn, err := grpc.NewClient(c.cfg.Server, grpc.WithTransportCredentials(secured),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(c.cfg.MaxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: aliveEvery, Timeout: aliveWithin}))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // what it says changes nothing
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		return err
	}
	// The version is left out at first: another server, or this one after a restart, may give the same version to something else.
	ask := &discoveryv3.DiscoveryRequest{Node: c.node(), TypeUrl: typeURL}
	refused := ""      // the version that was refused last
	var last time.Time // when an answer was taken or refused
	for {
		if err := stream.Send(ask); err != nil {
			if _, why := stream.Recv(); why != nil {
				err = why // Send says only that the stream has ended
			}
			return err
		}
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		c.heard()
		ask.ResponseNonce = answer.GetNonce()
		if err := wait(ctx, time.Until(last.Add(pace))); err != nil {
			return err
		}
		last = time.Now()
		if ask.ErrorDetail != nil && answer.GetVersionInfo() == refused {
			continue
		}
		ask.ErrorDetail = nil
		if err := took(answer, take); err != nil {
			ask.ErrorDetail, refused = &statuspb.Status{Code: int32(codes.InvalidArgument), Message: reason(err)}, answer.GetVersionInfo()
			continue
		}
		c.taken = true
		ask.VersionInfo = answer.GetVersionInfo()
	}
}

// wait waits so long, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// took decodes an answer and hands it on.
func took(answer *discoveryv3.DiscoveryResponse, take func([]descriptors.Resource) error) error {
	if answer.GetTypeUrl() != typeURL {
		return fmt.Errorf("the answer is of the type %.100q: only %s was asked for", answer.GetTypeUrl(), typeURL)
	}
	resources, err := decode(answer.GetResources())
	if err != nil {
		return err
	}
	return take(resources)
}

func (c *Client) node() *corev3.Node {
	n := &corev3.Node{Id: c.cfg.Node, Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{}}}
	for key, value := range c.cfg.Metadata {
		n.Metadata.Fields[key] = structpb.NewStringValue(value)
	}
	return n
}
