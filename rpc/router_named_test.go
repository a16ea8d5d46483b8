package rpc

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// named is a check with an id.
func named(key string) *pb.CheckRequest {
	return pb.EncodeRequest(limit.Request{Key: key, Limits: []limit.Ref{limit.Named("demo")}, Cost: 1, ID: "once"})
}

// holding is a check that holds.
func holding(key string) *pb.CheckRequest {
	return pb.EncodeRequest(limit.Request{Key: key, Limits: []limit.Ref{limit.Named("demo")}, Cost: 1, Hold: time.Second})
}

// askedEveryWay sends a check by itself, in a batch and in a stream.
func askedEveryWay(t *testing.T, n *routedNode, m *pb.CheckRequest, marks ...string) {
	t.Helper()
	c, ctx := pb.NewLimiterClient(n.conn), with(t, marks...)
	if _, err := c.Check(ctx, m); err != nil {
		t.Error(err)
	}
	if b, err := c.CheckBatch(ctx, &pb.CheckBatchRequest{Checks: []*pb.CheckRequest{m}}); err != nil || b.GetResults()[0].GetDecision() == nil {
		t.Errorf("%v, %v", b, err)
	}
	s, err := c.CheckStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Send(&pb.CheckStreamRequest{Checks: []*pb.StreamCheck{{Id: 1, Check: m}}}), s.CloseSend()); err != nil {
		t.Fatal(err)
	}
	if a, err := s.Recv(); err != nil || a.GetResults()[0].GetResult().GetDecision() == nil {
		t.Errorf("%v, %v", a, err)
	}
}

// TestRoutesOfHolds sends holds to the second replica of their key: the first one takes them as long as it lives, as it is the one that is
// asked to settle them.
func TestRoutesOfHolds(t *testing.T) {
	nodes := routedNodes(t, 3, nil)
	key := keyOf(0) // at 0 and 1
	askedEveryWay(t, nodes[1], holding(key), pb.MarkRouted)
	wantDecided(t, nodes, 0, key, key, key)
	askedEveryWay(t, nodes[0], holding(key), pb.MarkRouted)
	wantDecided(t, nodes, 0, key, key, key)
	askedEveryWay(t, nodes[1], holding(key), pb.MarkRouted, pb.MarkForwarded)
	wantDecided(t, nodes, 1, key, key, key)
}

// TestRoutesOfRepeats sends checks with an id to the second replica of their key, as a caller does that heard nothing from the first one:
// as long as that lives, it decides, for it may know the id. Once it is dead the second one decides. Checks without an id stay.
func TestRoutesOfRepeats(t *testing.T) {
	nodes := routedNodes(t, 3, nil)
	key := keyOf(0) // at 0 and 1
	askedEveryWay(t, nodes[1], named(key), pb.MarkRouted)
	wantDecided(t, nodes, 0, key, key, key)
	askedEveryWay(t, nodes[1], checkMessage(key), pb.MarkRouted)
	wantDecided(t, nodes, 1, key, key, key)
	askedEveryWay(t, nodes[1], named(key), pb.MarkRouted, pb.MarkForwarded)
	wantDecided(t, nodes, 1, key, key, key)
	askedEveryWay(t, nodes[0], named(key), pb.MarkRouted)
	wantDecided(t, nodes, 0, key, key, key)

	var trailer metadata.MD
	_, err := pb.NewLimiterClient(nodes[1].conn).Check(with(t, pb.MarkRouted), named(key), grpc.Trailer(&trailer))
	if told := trailer.Get(pb.TableVersion); err != nil || len(told) > 0 {
		t.Errorf("the sender, whose table is current, was told of another one: %q, %v", told, err)
	}
	wantDecided(t, nodes, 0, key)
	v := tableOf(2, nodes, nodes...)
	v.Nodes[0].GRPC = "127.0.0.1:1" // nobody is there
	nodes[1].book.publish(v)
	awaitTable(t, nodes[1], 2)
	askedEveryWay(t, nodes[1], named(key), pb.MarkRouted)
	wantDecidedAfter(t, 1, nodes, 1, key, key, key)
}
