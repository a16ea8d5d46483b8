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
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/pb"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// dialAs connects to a server as who has that key.
func dialAs(t *testing.T, address string, k *key.Key) *grpc.ClientConn {
	t.Helper()
	creds, err := credentials.WithKey(k)
	if err != nil {
		t.Fatal(err)
	}
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
			peers := newTestPeers(t, PeersConfig{})
			s, err := New(Config{
				Limiter: conformance.Stub{}, Limits: func() *limit.Document { return doc }, Key: test.node,
				Peer: &PeerConfig{
					Store: newLedger(1, reg.Partition{Epoch: 1}), Address: "here", Peers: peers,
					Handle: func(_ context.Context, m []byte) ([]byte, error) { return m, nil },
				},
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
				"Reserve": {test.reaper, func() error {
					p := newTestPeers(t, PeersConfig{Key: test.caller})
					p.Replica(address)
					r, err := p.remote(address)
					if err != nil {
						return err
					}
					var why error
					eventually(t, "an answer of the node", func() bool {
						r.mu.Lock()
						defer r.mu.Unlock()
						why = r.why
						return r.open != nil || !errors.Is(why, errConnecting)
					})
					return why
				}},
			} {
				switch err := try.do(); {
				case try.want != yes && call == "Reserve":
					wantText(t, err, test.says)
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
	n := startStation(t, stationConfig{id: 1, key: newKey(t, "the secret of this cluster"), store: newLedger(1, reg.Partition{})})
	_, err := pb.NewPeerClient(dialAs(t, n.address, nil)).Install(t.Context(), &pb.InstallRequest{})
	wantCode(t, err, codes.Unauthenticated, "needs the cluster key")
}

func TestPeersOfAnotherCluster(t *testing.T) {
	n := startStation(t, stationConfig{id: 1, key: newKey(t, "the secret of this cluster"), store: newLedger(1, reg.Partition{})})
	p := newTestPeers(t, PeersConfig{Key: newKey(t, "the secret of another one")})
	if _, err := p.Call(t.Context(), n.address, nil); err == nil {
		t.Error("a node of another cluster was answered")
	} else {
		wantText(t, err, "cluster key")
		wantText(t, err, n.address)
	}
}

// TestOddConnections opens connections that are neither HTTP/2 nor TLS, or nothing at all: they are closed, and others are
// served.
func TestOddConnections(t *testing.T) {
	n := startStation(t, stationConfig{id: 1, key: newKey(t, "the secret of this cluster"), store: newLedger(1, reg.Partition{})})
	dial := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", n.address)
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
	p := newTestPeers(t, PeersConfig{Key: newKey(t, "the secret of this cluster")})
	if answer, err := p.Call(t.Context(), n.address, []byte("hello")); err != nil || string(answer) != "HELLO" {
		t.Errorf("got %q and %v", answer, err)
	}
	n.kill() // does not wait for those
}

func TestPeersNeed(t *testing.T) {
	for _, cfg := range []PeersConfig{{Now: atMidday}, {ID: ring.NodeID{1}}} {
		if p, err := NewPeers(cfg); err == nil {
			p.Close()
			t.Errorf("%+v was enough", cfg)
		}
	}
	if _, err := New(Config{Limiter: conformance.Stub{}, Peer: &PeerConfig{}}); err == nil {
		t.Error("a peer service without anything was made")
	}
}
