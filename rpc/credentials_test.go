package rpc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// dialAs connects to a server as who has that key.
func dialAs(t *testing.T, address string, k *key.Key) *grpc.ClientConn {
	t.Helper()
	creds := credentials.WithKey(k)
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestWhoMayCall tries every kind of call at every kind of node with every kind of key.
func TestWhoMayCall(t *testing.T) {
	ours, theirs := newKey(t, "the secret of this cluster"), newKey(t, "the secret of another one")
	doc, err := limit.ParseDocument([]byte("limits: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	const (
		yes     = codes.OK
		no      = codes.Unauthenticated
		not     = codes.Unavailable        // not even a connection
		missing = codes.FailedPrecondition // the node is alone
	)
	for _, test := range []struct {
		what                  string
		node, caller          *key.Key
		check, change, reaper codes.Code
		says                  string
	}{
		{"nobody has a key", nil, nil, yes, missing, yes, ""},
		{"the caller has none", ours, nil, yes, no, no, "--cluster-key-file"},
		{"both have it", ours, ours, yes, missing, yes, ""},
		{"the caller has another", ours, theirs, not, not, not, "cluster key"},
		{"the node has none", nil, ours, not, not, not, "cluster key"},
	} {
		t.Run(test.what, func(t *testing.T) {
			s, err := New(Config{
				Limiter: conformance.Stub{}, Limits: func() *limit.Document { return doc }, Key: test.node, Peer: withPeers(t),
			})
			if err != nil {
				t.Fatal(err)
			}
			address := listen(t, s)
			conn := dialAs(t, address, test.caller)
			admin, peer := pb.NewAdminClient(conn), pb.NewPeerClient(conn)
			for call, try := range map[string]struct {
				want codes.Code
				do   func() error
			}{
				"Check":       {test.check, func() error { _, err := pb.NewLimiterClient(conn).Check(t.Context(), checkMessage("k")); return err }},
				"health":      {test.check, func() error { _, err := healthpb.NewHealthClient(conn).Check(t.Context(), nil); return err }},
				"Limits":      {test.check, func() error { _, err := admin.Limits(t.Context(), nil); return err }},
				"ApplyLimits": {test.change, func() error { _, err := admin.ApplyLimits(t.Context(), nil); return err }},
				"Drain":       {test.change, func() error { _, err := admin.Drain(t.Context(), nil); return err }},
				"Remove":      {test.change, func() error { _, err := admin.Remove(t.Context(), nil); return err }},
				"Recover":     {test.change, func() error { _, err := admin.Recover(t.Context(), nil); return err }},
				"Call":        {test.reaper, func() error { _, err := peer.Call(t.Context(), nil); return err }},
				"Look":        {test.reaper, func() error { _, err := peer.Look(t.Context(), nil); return err }},
				"Seal":        {test.reaper, func() error { _, err := peer.Seal(t.Context(), &pb.SealRequest{Epoch: 1}); return err }},
				"Copy":        {test.reaper, func() error { _, err := peer.Copy(t.Context(), &pb.CopyRequest{Sources: []string{"here"}}); return err }},
				"Export": {test.reaper, func() error {
					stream, err := peer.Export(t.Context(), nil)
					if err != nil {
						return err
					}
					_, err = stream.Recv()
					return err
				}},
				"Reserve": {test.reaper, func() error { return reserveOnce(t, conn) }},
			} {
				switch err := try.do(); {
				case try.want == yes && err != nil:
					t.Errorf("%s: %v", call, err)
				case try.want == missing:
					wantCode(t, err, missing, "alone")
				case try.want != yes:
					wantCode(t, err, try.want, test.says)
				}
			}
		})
	}
}

// TestWhoMayInstall checks the one call that would fail for other reasons.
func TestWhoMayInstall(t *testing.T) {
	address, _, _ := startGuarded(t, newKey(t, "the secret of this cluster"), nil)
	_, err := pb.NewPeerClient(dialAs(t, address, nil)).Install(t.Context(), &pb.InstallRequest{})
	wantCode(t, err, codes.Unauthenticated, "needs the cluster key")
}

func TestPeersOfAnotherCluster(t *testing.T) {
	address, _, _ := startGuarded(t, newKey(t, "the secret of this cluster"), nil)
	p := newPeers(t, newKey(t, "the secret of another one"))
	if _, err := p.Call(t.Context(), address, nil); err == nil {
		t.Error("a node of another cluster was answered")
	} else {
		wantText(t, err, "cluster key")
		wantText(t, err, address)
	}
}

// TestOddConnections opens connections that are neither HTTP/2 nor TLS, or nothing at all: they are closed, and others are
// served.
func TestOddConnections(t *testing.T) {
	address, s, _ := startGuarded(t, newKey(t, "the secret of this cluster"), nil)
	dial := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	dial() // and says nothing
	if err := dial().Close(); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"GET / HTTP/1.1\r\nHost: here\r\n\r\n", "\x16 is how TLS begins, but not like this", "\x16"} {
		conn := dial()
		if _, err := io.WriteString(conn, says); err != nil {
			t.Fatal(err)
		}
		if says == "\x16" {
			continue // it may go on
		}
		if _, err := io.Copy(io.Discard, bufio.NewReader(conn)); errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%q: %v", says, err)
		}
	}
	p := newPeers(t, newKey(t, "the secret of this cluster"))
	if answer, err := p.Call(t.Context(), address, []byte("hello")); err != nil || string(answer) != "hello" {
		t.Errorf("got %q and %v", answer, err)
	}
	if err := s.Stop(t.Context()); err != nil { // does not wait for those
		t.Error(err)
	}
}
