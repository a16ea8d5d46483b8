package rpc

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/peers"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// patience is how long a test waits for what must happen.
const patience = 5 * time.Minute

// eventually waits until something is so.
func eventually(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	late := time.After(patience)
	for !so() {
		select {
		case <-again.C:
		case <-late:
			tb.Fatalf("it never came to this: %s", what)
		}
	}
}

func newKey(tb testing.TB, secret string) *key.Key {
	tb.Helper()
	k, err := key.New([]byte(secret))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// listen starts a server, which ends with the test, and returns where.
func listen(t *testing.T, s *Server) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func wantText(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want an error with %q", err, says)
	}
}

// noRegisters is a store of nothing, in epoch 1.
type noRegisters struct{ peers.Registers }

var epochOne = reg.Partition{Epoch: 1}

func (noRegisters) Partition(ring.Partition) reg.Partition { return epochOne }

func (noRegisters) Look(context.Context, ring.Partition, string, string) (storage.Looked, error) {
	return storage.Looked{Partition: epochOne}, nil
}

func (noRegisters) Seal(context.Context, ring.Partition, uint64) (reg.Partition, error) {
	return epochOne, nil
}

func (noRegisters) Merge(context.Context, ring.Partition, []storage.Exported) error { return nil }

func (noRegisters) Export(context.Context, ring.Partition, []byte, func([]storage.Exported) error) ([]byte, reg.Partition, error) {
	return []byte{1}, epochOne, nil
}

// newPeers makes a client of other nodes, which is closed with the test.
func newPeers(tb testing.TB, k *key.Key) *peers.Client {
	tb.Helper()
	c, err := peers.NewClient(peers.ClientConfig{ID: ring.NodeID{99}, Key: k, Now: conformance.Noon().UnixNano})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// withPeers is what a node answers others with, that has no registers.
func withPeers(tb testing.TB) *peers.ServiceConfig {
	tb.Helper()
	return &peers.ServiceConfig{
		Store: noRegisters{}, Address: "here", Client: newPeers(tb, nil),
		Handle: func(_ context.Context, m []byte) ([]byte, error) { return m, nil },
	}
}
