package rpc

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/peers"
)

// TestCallsOfNodesMayTakeLonger has another node call with more time than a caller may have.
func TestCallsOfNodesMayTakeLonger(t *testing.T) {
	cfg := withPeers(t)
	cfg.Handle = func(ctx context.Context, m []byte) ([]byte, error) {
		if at, ok := ctx.Deadline(); !ok || time.Until(at) < maxTime && len(m) > 0 {
			t.Errorf("%q may take until %v", m, at)
		}
		return m, nil
	}
	s, err := New(Config{Limiter: conformance.Stub{}, Peer: cfg})
	if err != nil {
		t.Fatal(err)
	}
	address, p := listen(t, s), newPeers(t, nil)
	if _, err := p.Call(t.Context(), address, nil); err != nil {
		t.Error(err)
	}
	patient, cancel := context.WithTimeout(t.Context(), 2*maxTime)
	defer cancel()
	if _, err := p.Call(patient, address, []byte("slow")); err != nil {
		t.Error(err)
	}
}

// TestPeersConnected asks servers with and without a peer service who is connected.
func TestPeersConnected(t *testing.T) {
	alone, err := New(Config{Limiter: conformance.Stub{}})
	if err != nil {
		t.Fatal(err)
	}
	if ids := alone.PeersConnected(); ids != nil {
		t.Errorf("%v are connected to a server without a peer service", ids)
	}
	if err := alone.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	address, s, _ := startGuarded(t, nil, nil)
	p := newPeers(t, nil)
	p.Replica(address)
	eventually(t, "a stream of reservations", func() bool { return p.Connected(address) })
	if ids := s.PeersConnected(); !slices.Equal(ids, []ring.NodeID{{99}}) {
		t.Errorf("%v are connected", ids)
	}
	if _, err := New(Config{Limiter: conformance.Stub{}, Peer: &peers.ServiceConfig{}}); err == nil {
		t.Error("a peer service without anything was made")
	}
}
