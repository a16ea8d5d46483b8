package nodes

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// How connections are kept.
const (
	pingAfter      = 10 * time.Second // of silence, to find out whether the node still lives
	pongWithin     = 3 * time.Second
	connectWithin  = 2 * time.Second // before another attempt
	firstReconnect = 50 * time.Millisecond
	lastReconnect  = time.Second // the longest pause between two attempts
	maxMessage     = 16 << 20    // bytes of an answer
)

// A dialer opens a connection to an address, before ctx ends.
type dialer = func(ctx context.Context, address string) (net.Conn, error)

// connect makes a connection that is not yet open, in plain text without a TLS configuration. The name of the server is
// looked up at every attempt.
func connect(server string, secure *tls.Config, dial dialer) (*grpc.ClientConn, error) {
	transport := insecure.NewCredentials()
	if secure != nil {
		transport = credentials.NewTLS(secure)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pongWithin, PermitWithoutStream: true}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstReconnect, Multiplier: 2, Jitter: 0.2, MaxDelay: lastReconnect},
			MinConnectTimeout: connectWithin,
		}),
	}
	if dial != nil {
		options = append(options, grpc.WithContextDialer(dial))
	}
	return grpc.NewClient("passthrough:///"+server, options...)
}
