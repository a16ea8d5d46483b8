package speaks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// takesChecks is a hint about the port for checks.
const takesChecks = "nodes take checks at --listen-grpc, 7700 by default"

// Misdirected says what an address speaks, as far as that was found out, and what keeps it from being asked over gRPC, in plain text
// or, unless it is nil, by secure; wrong is empty if that is not to be seen. Connections are made with dial, or plain TCP if it is
// nil. It takes as long as ctx at most, and a second.
func Misdirected(ctx context.Context, address string, secure *tls.Config, dial Dialer) (p Protocol, wrong string) {
	if dial == nil {
		dial = dialTCP
	}
	if secure == nil {
		if p = over(ctx, address, dial); p == Other && OverTLS(ctx, address, dial) {
			p = TLS
		}
		return p, misdirectedPlain(address, p)
	}
	agreed, err := shakes(ctx, address, secure, dial)
	var (
		foreign x509.UnknownAuthorityError
		name    x509.HostnameError
	)
	switch {
	case errors.As(err, &foreign):
		return TLS, fmt.Sprintf("the certificate of %s is not from an authority that is trusted here: see --tls-ca, or --cluster-key-file for the other cluster's key", address)
	case errors.As(err, &name):
		return TLS, fmt.Sprintf("the certificate of %s is for another name: %v", address, name)
	case err == nil && agreed != "h2":
		return TLS, fmt.Sprintf("%s speaks TLS, but not gRPC: %s", address, takesChecks)
	case err == nil || !notTLS(err):
		return TLS, ""
	}
	switch p = over(ctx, address, dial); p {
	case GRPC:
		return p, fmt.Sprintf("%s speaks plain text, not TLS: leave out --tls-cert, --tls-key, --tls-ca and --cluster-key-file (and JETON_CLUSTER_KEY_FILE and its like in the environment), or give the node certificates", address)
	case TLS:
		return p, ""
	default:
		return p, misdirectedPlain(address, p)
	}
}

// misdirectedPlain is misdirected for a plain-text protocol.
func misdirectedPlain(address string, p Protocol) string {
	switch p {
	case HTTP, HTTPS:
		return fmt.Sprintf("%s speaks %s, not gRPC: %s", address, p, takesChecks)
	case TLS:
		return fmt.Sprintf("%s speaks TLS, and was asked in plain text: show a certificate with --tls-cert, --tls-key and --tls-ca, or the cluster key with --cluster-key-file", address)
	case Other:
		return fmt.Sprintf("%s takes connections and speaks neither gRPC nor HTTP, as ports of gossip and raft do: %s", address, takesChecks)
	case Silent:
		return fmt.Sprintf("%s takes connections and says nothing: its process may be frozen, or it is a port of another kind: %s", address, takesChecks)
	case Nothing, GRPC:
	}
	return ""
}
