package credentials

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"

	"github.com/jeton-dev/jeton/ring/key"
)

// WithKey are the credentials that nodes and operators present to a node: TLS in which both sides prove that they have the cluster key.
// With a nil key it is plain HTTP/2, and proves nothing.
func WithKey(k *key.Key) credentials.TransportCredentials {
	if k == nil {
		return insecure.NewCredentials()
	}
	return keyCredentials{credentials.NewTLS(k.TLS()), k}
}

// keyCredentials are those of WithKey. Their errors say what may be wrong.
type keyCredentials struct {
	credentials.TransportCredentials

	key *key.Key
}

// ClientHandshake implements credentials.TransportCredentials.
func (c keyCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("the node ended the TLS handshake; it may have no cluster key: %w", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("TLS with the cluster key: %w", err)
	}
	if shown, ok := info.(credentials.TLSInfo); ok {
		conn = c.key.Hold(conn, raw, shown.State)
	}
	return conn, info, nil
}

// Clone implements credentials.TransportCredentials.
func (c keyCredentials) Clone() credentials.TransportCredentials {
	return keyCredentials{c.TransportCredentials.Clone(), c.key}
}

// A keyInfo says of a connection that the caller has the cluster key.
type keyInfo struct{ credentials.AuthInfo }

// hasKey says whether the caller of a call has the cluster key.
func hasKey(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return false
	}
	_, ok = p.AuthInfo.(keyInfo)
	return ok
}
