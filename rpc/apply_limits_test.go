package rpc

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/ring/level"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// noPeers has a way to no other node.
type noPeers struct{ cluster.Peers }

// cluster1 is a cluster of one node, whose limits are those of the document. Documents with the word "newer" take a level that no
// node knows.
func cluster1(t *testing.T, document string) *cluster.Cluster {
	t.Helper()
	check := func(limits []byte) (int, error) {
		if strings.Contains(string(limits), "newer") {
			return level.Known().Newest + 1, nil
		}
		return level.First, nil
	}
	c, err := cluster.New(cluster.Config{
		Dir: t.TempDir(), ID: ring.NodeID{1}, Name: "a", GRPC: "127.0.0.1:1", BindGossip: "127.0.0.1:0", BindRaft: "127.0.0.1:0", Limits: []byte(document),
		Mark: agreed.Mark{Boot: 1}, Peers: noPeers{}, Now: clock.New().Now, Advance: func(int64) {}, Check: check,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	<-c.Joined()
	return c
}

// What a change of limits would be refused for, a dry run is refused for too; the limits that a document leaves out come with the
// refusal, and with no other one.
func TestRefusedLimits(t *testing.T) {
	const inForce = "limits:\n  a: {capacity: 1, refill: 1/s}\n"
	c := cluster1(t, inForce)
	for _, tt := range []struct {
		what, document string
		remove         bool
		said           string
		left           int // limits that are left out
		dry            bool
	}{
		{"of a higher level", inForce + "  newer: {capacity: 1, refill: 1/s}\n", false, "jeton cluster upgrade raises it", 0, true},
		{"of a higher level, with one left out", "limits:\n  newer: {capacity: 1, refill: 1/s}\n", true, "jeton cluster upgrade raises it", 0, true},
		{"with one left out", "limits:\n  b: {capacity: 1, refill: 1/s}\n", false, "leaves out limits that are in force: a", 1, false},
	} {
		for _, dry := range []bool{true, false} {
			change, err := applyLimits(t.Context(), c, &pb.ApplyLimitsRequest{Document: tt.document, Remove: tt.remove, DryRun: dry})
			if dry && !tt.dry {
				if err != nil || len(change.GetRemoved()) != tt.left {
					t.Errorf("a dry run of limits %s: %v, %v", tt.what, change, err)
				}
				continue
			}
			if status.Code(err) != codes.FailedPrecondition || !strings.Contains(status.Convert(err).Message(), tt.said) || len(change.GetRemoved()) != tt.left {
				t.Errorf("limits %s (dry run: %v): %v, %v", tt.what, dry, change, err)
			}
		}
	}
	if v := c.State().LimitsVersion; v != 1 {
		t.Errorf("version %d is in force", v)
	}
}
