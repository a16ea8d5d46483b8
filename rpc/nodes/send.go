package nodes

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// check has one check decided, together with others that go there.
func (n *Node) check(ctx context.Context, r *limit.Request) (limit.Decision, error) {
	if n.local != nil {
		return n.local.Check(ctx, *r)
	}
	got := n.queue.do(ctx, question{check: pb.EncodeRequest(*r)})
	if got.err == nil {
		got.decision.Node = n.address
	}
	return got.decision, got.err
}

// settle has one hold settled, together with other settlements and checks that go there.
func (n *Node) settle(ctx context.Context, s *limit.Settlement) (limit.Settled, error) {
	if n.local != nil {
		return n.local.Settle(ctx, *s)
	}
	got := n.queue.do(ctx, question{settlement: pb.EncodeSettlement(*s)})
	return got.settled, got.err
}

// send is the sender of the queue. Questions go into the conversation over a connection, so that one which waits for a disk holds up no
// other. A check that may wait for tokens is a call by itself, which ends with its callers, and so does the wait.
func (n *Node) send(ctx context.Context, questions []question, answer func(int, reply)) error {
	conn := n.conn()
	switch {
	case !slices.ContainsFunc(questions, question.waits):
		return n.talk(ctx, conn, questions, answer)
	case len(questions) > 1:
		return n.talkAlone(ctx, conn, questions, answer)
	}
	return n.sendCheck(n.marked(ctx), pb.NewLimiterClient(n.conns[conn]), questions[0].check, answer)
}

// sendCheck sends one check.
func (n *Node) sendCheck(ctx context.Context, client pb.LimiterClient, check *pb.CheckRequest, answer func(int, reply)) error {
	var trailer metadata.MD
	m, err := client.Check(ctx, check, grpc.Trailer(&trailer))
	if d, denied := pb.DenialOf(err); denied { // something between has asked for denials as errors
		if err := n.hear(trailer, nil); err != nil {
			return err
		}
		answer(0, reply{decision: d})
		return nil
	}
	if err := n.hear(trailer, err); err != nil {
		return err
	}
	d, err := pb.DecodeDecision(m.GetDecision())
	answer(0, reply{decision: d, err: err})
	return nil
}

// asMessage are questions as one message. The id of each is its index, and first that of the first.
func asMessage(questions []question, first uint64) *pb.CheckStreamRequest {
	m, settlements := &pb.CheckStreamRequest{}, 0
	for i := range questions {
		if questions[i].settlement != nil {
			settlements++
		}
	}
	if checks := len(questions) - settlements; checks > 0 {
		m.Checks = make([]*pb.StreamCheck, 0, checks)
	}
	if settlements > 0 {
		m.Settlements = make([]*pb.StreamSettlement, 0, settlements)
	}
	for i := range questions {
		if q := &questions[i]; q.settlement != nil {
			m.Settlements = append(m.Settlements, &pb.StreamSettlement{Id: first + uint64(i), Settlement: q.settlement})
		} else {
			m.Checks = append(m.Checks, &pb.StreamCheck{Id: first + uint64(i), Check: q.check})
		}
	}
	return m
}
