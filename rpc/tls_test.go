package rpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpccredentials "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/authority"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// certificatesOf makes Certificates of files.
func certificatesOf(t *testing.T, f authority.Files) *credentials.Certificates {
	t.Helper()
	c, err := credentials.NewCertificates(credentials.CertificatesConfig{Files: credentials.TLSFiles(f)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// startGuarded starts a node that shows certificates, with everything that a node can be asked.
func startGuarded(t *testing.T, k *key.Key, c *credentials.Certificates) (address string, s *Server, registry *prometheus.Registry) {
	t.Helper()
	doc, registry := conformance.NewDocument(t), prometheus.NewRegistry()
	s, err := New(Config{
		Registerer: registry,
		Limiter:    conformance.Stub{}, Limits: func() *limit.Document { return doc }, Key: k, Certificates: c,
		Peer: withPeers(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	return listen(t, s), s, registry
}

// dialWith connects with any credentials.
func dialWith(t *testing.T, address string, creds grpccredentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// keyTLS is what a holder of the key connects with, changed.
func keyTLS(t *testing.T, k *key.Key, change func(*tls.Config)) *tls.Config {
	t.Helper()
	config := k.TLS()
	if change != nil {
		change(config)
	}
	return config
}

// A doorstep is what a stranger finds at a node: how three kinds of calls end.
type doorstep struct{ check, change, peer codes.Code }

// at tries every kind of call.
func (d doorstep) at(t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	admin, peer := pb.NewAdminClient(conn), pb.NewPeerClient(conn)
	for call, try := range map[string]struct {
		want codes.Code
		do   func() error
	}{
		"Check":       {d.check, func() error { _, err := pb.NewLimiterClient(conn).Check(t.Context(), checkMessage("k")); return err }},
		"CheckStream": {d.check, func() error { return streamOnce(t, conn) }},
		"health":      {d.check, func() error { _, err := healthpb.NewHealthClient(conn).Check(t.Context(), nil); return err }},
		"Limits":      {d.check, func() error { _, err := admin.Limits(t.Context(), nil); return err }},
		"ApplyLimits": {d.change, func() error { _, err := admin.ApplyLimits(t.Context(), nil); return err }},
		"Drain":       {d.change, func() error { _, err := admin.Drain(t.Context(), nil); return err }},
		"Remove":      {d.change, func() error { _, err := admin.Remove(t.Context(), nil); return err }},
		"Recover":     {d.change, func() error { _, err := admin.Recover(t.Context(), nil); return err }},
		"Call":        {d.peer, func() error { _, err := peer.Call(t.Context(), nil); return err }},
		"Look":        {d.peer, func() error { _, err := peer.Look(t.Context(), nil); return err }},
		"Seal":        {d.peer, func() error { _, err := peer.Seal(t.Context(), &pb.SealRequest{Epoch: 1}); return err }},
		"Reserve":     {d.peer, func() error { return reserveOnce(t, conn) }},
		"Export": {d.peer, func() error {
			stream, err := peer.Export(t.Context(), nil)
			if err != nil {
				return err
			}
			_, err = stream.Recv()
			return err
		}},
	} {
		if err := try.do(); status.Code(err) != try.want {
			t.Errorf("%s: %v, want %v", call, err, try.want)
		}
	}
}

// streamOnce opens a stream of checks and ends it.
func streamOnce(t *testing.T, conn *grpc.ClientConn) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := pb.NewLimiterClient(conn).CheckStream(ctx)
	if err != nil {
		return err
	}
	m := &pb.CheckStreamRequest{Checks: []*pb.StreamCheck{{Id: 1, Check: checkMessage("k")}}}
	if err := stream.Send(m); err != nil && status.Code(err) != codes.Unknown { // io.EOF: Recv says why
		return err
	}
	_, err = stream.Recv()
	return err
}

// reserveOnce opens a stream of reservations as another node does, and says how the node takes it.
func reserveOnce(t *testing.T, conn *grpc.ClientConn) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := pb.NewPeerClient(conn).Reserve(metadata.AppendToOutgoingContext(ctx, "jeton-node", ring.NodeID{9}.String()))
	if err != nil {
		return err
	}
	header, err := stream.Header()
	if err == nil && header == nil {
		_, err = stream.Recv()
	}
	return err
}

// TestWhoMayCallWithCertificates tries every kind of call as everybody who may come along.
func TestWhoMayCallWithCertificates(t *testing.T) {
	ours, theirs := newKey(t, "the secret of this cluster"), newKey(t, "the secret of another one")
	ca, foreign := authority.New(t, "ours"), authority.New(t, "theirs")
	files := authority.Write(t, t.TempDir(), ca.Issue(t, "node"), ca)
	keyed, _, _ := startGuarded(t, ours, certificatesOf(t, files))
	keyless, _, _ := startGuarded(t, nil, certificatesOf(t, files))

	showing := func(c ...tls.Certificate) *tls.Config {
		return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: ca.Pool(), Certificates: c}
	}
	named := func(name string, c *tls.Config) *tls.Config {
		c.ServerName = name
		return c
	}
	good, now := ca.Issue(t, "caller").TLS(t), time.Now()
	old := ca.IssueFor(t, "caller", now.Add(-24*time.Hour), now.Add(-12*time.Hour)).TLS(t)
	early := ca.IssueFor(t, "caller", now.Add(12*time.Hour), now.Add(24*time.Hour)).TLS(t)
	callers, err := credentials.CallerTLS(credentials.TLSFiles(files))
	if err != nil {
		t.Fatal(err)
	}
	keyName := keyTLS(t, ours, nil).ServerName

	const yes, no, not, alone = codes.OK, codes.Unauthenticated, codes.Unavailable, codes.FailedPrecondition
	mayCheck, mayAll, refused, nothing := doorstep{yes, no, no}, doorstep{yes, alone, yes}, doorstep{no, no, no}, doorstep{not, not, not}
	for _, tt := range []struct {
		what           string
		caller         grpccredentials.TransportCredentials
		keyed, keyless doorstep
	}{
		{"plain text", insecure.NewCredentials(), refused, refused},
		{"a certificate", grpccredentials.NewTLS(callers), mayCheck, mayCheck},
		{"a certificate over TLS 1.2", grpccredentials.NewTLS(&tls.Config{
			MaxVersion: tls.VersionTLS12, MinVersion: tls.VersionTLS12, RootCAs: ca.Pool(), Certificates: []tls.Certificate{good},
		}), mayCheck, mayCheck},
		{"a certificate, of a host called jeton", grpccredentials.NewTLS(named("jeton", showing(good))), mayCheck, mayCheck},
		{"no certificate", grpccredentials.NewTLS(showing()), nothing, nothing},
		{"a foreign certificate", grpccredentials.NewTLS(showing(foreign.Issue(t, "caller").TLS(t))), nothing, nothing},
		{"an expired certificate", grpccredentials.NewTLS(showing(old)), nothing, nothing},
		{"a certificate of the future", grpccredentials.NewTLS(showing(early)), nothing, nothing},
		{"who does not trust the node", grpccredentials.NewTLS(&tls.Config{
			MinVersion: tls.VersionTLS13, RootCAs: foreign.Pool(), Certificates: []tls.Certificate{good},
		}), nothing, nothing},
		{"a certificate, asking for the key", grpccredentials.NewTLS(&tls.Config{
			ServerName: keyName, InsecureSkipVerify: true, Certificates: []tls.Certificate{good},
		}), nothing, mayCheck},
		{"no certificate, asking for the key", grpccredentials.NewTLS(&tls.Config{ServerName: keyName, InsecureSkipVerify: true}), nothing, nothing},
		{"the key", grpccredentials.NewTLS(keyTLS(t, ours, nil)), mayAll, nothing},
		{"another key", grpccredentials.NewTLS(keyTLS(t, theirs, nil)), nothing, nothing},
		{"another key that trusts the node", grpccredentials.NewTLS(keyTLS(t, theirs, trustAll)), nothing, nothing},
		{"the key, asking for something else", grpccredentials.NewTLS(keyTLS(t, ours, func(c *tls.Config) {
			trustAll(c)
			c.ServerName = "localhost"
		})), nothing, nothing},
	} {
		t.Run(tt.what, func(t *testing.T) {
			tt.keyed.at(t, dialWith(t, keyed, tt.caller))
			tt.keyless.at(t, dialWith(t, keyless, tt.caller))
		})
	}
}

// trustAll makes a caller trust any node, to get as far as it can.
func trustAll(c *tls.Config) { c.VerifyConnection = nil }

// TestPlainTextIsToldWhy checks what a caller reads who has not heard of TLS, and that it does not keep the node from
// stopping.
func TestPlainTextIsToldWhy(t *testing.T) {
	ca := authority.New(t, "ours")
	address, s, registry := startGuarded(t, nil, certificatesOf(t, authority.Write(t, t.TempDir(), ca.Issue(t, "node"), ca)))
	_, err := pb.NewLimiterClient(dialAs(t, address, nil)).Check(t.Context(), checkMessage("k"))
	wantCode(t, err, codes.Unauthenticated, "--tls-cert, --tls-key and --tls-ca")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()                                 //nolint:errcheck // nobody reads it
	if _, err := conn.Write([]byte("P")); err != nil { // and no more
		t.Fatal(err)
	}
	eventually(t, "two connections in plain text", func() bool {
		return refusedConnections(t, registry, "plain") == 2
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
	if refusedConnections(t, registry, "tls") != 0 {
		t.Error("a handshake is counted that nobody made")
	}
}

// TestNodesSpeakBesideCertificates has another node reserve and call over the same port.
func TestNodesSpeakBesideCertificates(t *testing.T) {
	ca, k := authority.New(t, "ours"), newKey(t, "the secret of this cluster")
	address, _, _ := startGuarded(t, k, certificatesOf(t, authority.Write(t, t.TempDir(), ca.Issue(t, "node"), ca)))
	p := newPeers(t, k)
	if answer, err := p.Call(t.Context(), address, []byte("hello")); err != nil || string(answer) != "hello" {
		t.Errorf("got %q and %v", answer, err)
	}
	p.Replica(address)
	eventually(t, "a stream of reservations", func() bool { return p.Connected(address) })
}

// TestReloadUnderLoad replaces the node's certificate again and again while callers connect and check.
func TestReloadUnderLoad(t *testing.T) {
	ca, next := authority.New(t, "ours"), authority.New(t, "the next one")
	dir := t.TempDir()
	certificates := certificatesOf(t, authority.Write(t, dir, ca.Issue(t, "node"), ca))
	address, _, _ := startGuarded(t, nil, certificates)
	pool := ca.Pool()
	pool.AppendCertsFromPEM(next.PEM())
	config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, Certificates: []tls.Certificate{ca.Issue(t, "caller").TLS(t)}}
	kept := dialWith(t, address, grpccredentials.NewTLS(config))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for ctx.Err() == nil {
				if err := connectAndCheck(t.Context(), address, config); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	issuer := ca
	for round := range 20 {
		pair := issuer.Issue(t, "node")
		authority.Write(t, dir, pair, ca, next)
		if changed, err := certificates.Reload(); err != nil || !changed {
			t.Fatalf("round %d: changed %v, %v", round, changed, err)
		}
		if shown := shownBy(t, address, config); !pair.TLS(t).Leaf.Equal(shown) {
			t.Fatalf("round %d: the node shows another certificate", round)
		}
		if _, err := pb.NewLimiterClient(kept).Check(t.Context(), checkMessage("k")); err != nil {
			t.Fatalf("round %d: a connection that was there: %v", round, err)
		}
		issuer = next
	}
	cancel()
	callers.Wait()

	authority.Write(t, dir, next.Issue(t, "node"), next)
	if changed, err := certificates.Reload(); err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	if err := connectAndCheck(t.Context(), address, config); status.Code(err) != codes.Unavailable {
		t.Errorf("a caller whose authority is not trusted any more: %v", err)
	}
	config.Certificates = []tls.Certificate{next.Issue(t, "caller").TLS(t)}
	if err := connectAndCheck(t.Context(), address, config); err != nil {
		t.Errorf("a caller of the next authority: %v", err)
	}
}

func connectAndCheck(ctx context.Context, address string, config *tls.Config) error {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(grpccredentials.NewTLS(config)))
	if err != nil {
		return err
	}
	_, err = pb.NewLimiterClient(conn).Check(ctx, checkMessage("k"))
	return errors.Join(err, conn.Close())
}

// shownBy is the certificate that a server shows.
func shownBy(t *testing.T, address string, config *tls.Config) *x509.Certificate {
	t.Helper()
	dialer := &tls.Dialer{Config: config}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
}

// refusedConnections is how many connections were refused because of that.
func refusedConnections(t *testing.T, registry *prometheus.Registry, why string) (n float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "jeton_rpc_refused_connections_total" && m.GetLabel()[0].GetValue() == why {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}
