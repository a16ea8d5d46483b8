package transport

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

const (
	// maxCalls is how many calls one connection may have under way.
	maxCalls = 1000
	// minPing is how often a client may ping a connection; the Go client does every 10 seconds.
	minPing = 5 * time.Second
	// pingAfter is how long a connection may be silent before the server asks whether its client still lives.
	pingAfter = time.Minute
	// pongWithin is how long the client has to answer that.
	pongWithin = 10 * time.Second
)

// ServerOptions are what every gRPC server here has of connections and messages: their bounds, and the codec.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxMessage),
		TakeUncompressed(),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.MaxHeaderListSize(MaxHeaders),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pongWithin}),
		grpc.WaitForHandlers(true),
		grpc.StaticStreamWindowSize(StreamWindow),
		grpc.StaticConnWindowSize(ConnWindow),
		grpc.ForceServerCodecV2(NewCodec()),
	}
}
