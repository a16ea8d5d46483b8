package nodes

import (
	"context"
	"errors"
	"io"

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

// send is the sender of the queue: a check by itself is a call of Check, and a settlement one of Settle; several are a CheckStream that
// lasts until they are answered, so that one which waits for a disk holds up no other.
func (n *Node) send(ctx context.Context, questions []question, answer func(int, reply)) error {
	ctx = n.marked(ctx)
	client := pb.NewLimiterClient(n.Conn())
	switch {
	case len(questions) > 1:
		stream, err := client.CheckStream(ctx)
		if err != nil {
			return pb.DecodeError(err)
		}
		err = converse(stream, questions, answer)
		return n.hear(stream.Trailer(), err)
	case questions[0].settlement != nil:
		return n.sendSettlement(ctx, client, questions[0].settlement, answer)
	}
	return n.sendCheck(ctx, client, questions[0].check, answer)
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

// sendSettlement sends one settlement.
func (n *Node) sendSettlement(ctx context.Context, client pb.LimiterClient, settlement *pb.SettleRequest, answer func(int, reply)) error {
	var trailer metadata.MD
	m, err := client.Settle(ctx, settlement, grpc.Trailer(&trailer))
	if err := n.hear(trailer, err); err != nil {
		return err
	}
	answer(0, reply{settled: pb.DecodeSettled(m)})
	return nil
}

// converse sends questions and hands out the answers until the stream ends.
func converse(stream grpc.BidiStreamingClient[pb.CheckStreamRequest, pb.CheckStreamResponse], questions []question, answer func(int, reply)) error {
	if err := stream.Send(asMessage(questions)); err != nil && !errors.Is(err, io.EOF) { // EOF: Recv says why
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, r := range m.GetResults() {
			if i := r.GetId(); i < uint64(len(questions)) && questions[i].settlement == nil {
				result := pb.DecodeResult(r.GetResult())
				answer(int(i), reply{decision: result.Decision, err: result.Err})
			}
		}
		for _, r := range m.GetSettled() {
			if i := r.GetId(); i < uint64(len(questions)) && questions[i].settlement != nil {
				settled, err := pb.DecodeSettledAnswer(r)
				answer(int(i), reply{settled: settled, err: err})
			}
		}
	}
}

// asMessage are questions as one message. The id of each is its index.
func asMessage(questions []question) *pb.CheckStreamRequest {
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
			m.Settlements = append(m.Settlements, &pb.StreamSettlement{Id: uint64(i), Settlement: q.settlement})
		} else {
			m.Checks = append(m.Checks, &pb.StreamCheck{Id: uint64(i), Check: q.check})
		}
	}
	return m
}
