package client_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/fakenodes"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// certificate makes one of its own for 127.0.0.1.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLS(t *testing.T) {
	mine, trusted := certificate(t)
	n := fakenodes.StartSpec(t, fakenodes.Spec{Admin: pb.UnimplementedAdminServer{}, Options: []grpc.ServerOption{
		grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{mine}, MinVersion: tls.VersionTLS13})),
	}})
	c := connect(t, client.Config{
		Server: n.Address, Timeout: time.Minute, TLS: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13},
	})
	if d, err := c.Check(t.Context(), check("1")); err != nil || !d.Allowed {
		t.Errorf("got %+v and %v", d, err)
	}
	c = connect(t, client.Config{Server: n.Address, TLS: &tls.Config{MinVersion: tls.VersionTLS13}})
	if _, err := c.Check(t.Context(), check("1")); !errors.Is(err, limit.ErrUnavailable) {
		t.Errorf("a node that is not trusted: %v", err)
	}
}
