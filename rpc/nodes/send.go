package nodes

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/traced"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// check has one check decided, together with others that go there.
func (n *Node) check(ctx context.Context, r *limit.Request) (limit.Decision, error) {
	if n.local != nil {
		return n.local.Check(ctx, *r)
	}
	q := question{check: pb.EncodeRequest(*r), trace: n.traceOf(ctx)}
	got := n.queue.do(ctx, q)
	if got.err == nil {
		got.decision.Node = n.address
	}
	gathered(ctx, &q, &got)
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

// send is the sender of the queue. Questions go into the conversation over a connection, where one that waits for a disk holds up no
// other. A check that may wait for tokens would keep room there for as long: it is a call by itself, and with the questions that were
// gathered with it, a conversation of their own.
func (n *Node) send(ctx context.Context, questions []question, answer func(int, reply)) error {
	conn := n.conn()
	switch {
	case !slices.ContainsFunc(questions, question.waits):
		return n.talk(ctx, conn, questions, answer)
	case len(questions) > 1:
		return n.talkAlone(ctx, conn, questions, answer)
	}
	if only := questions[0].trace; only != "" { // ctx may be that of a message
		ctx = traced.UnderText(ctx, only)
	}
	return n.sendCheck(n.marked(ctx), pb.NewLimiterClient(n.conns[conn]), questions[0].check, answer)
}

// talk asks questions in the conversation over a connection, and returns when they are answered. Those that have no room there have a
// conversation of their own.
func (n *Node) talk(ctx context.Context, conn int, questions []question, answer func(int, reply)) error {
	deadline, _ := ctx.Deadline()
	for {
		c := n.talks.with(conn, n.routed(), func(c *conversation) bool { return n.begin(func(life context.Context) { n.converse(life, conn, c) }) })
		if c == nil {
			return errClosed
		}
		switch u, over := c.ask(deadline, questions, answer); {
		case u != nil:
			return c.await(ctx, u)
		case !over:
			return n.talkAlone(ctx, conn, questions, answer)
		}
	}
}

// talkAlone asks questions in a conversation of their own, which ends with ctx.
func (n *Node) talkAlone(ctx context.Context, conn int, questions []question, answer func(int, reply)) error {
	deadline, _ := ctx.Deadline()
	c := newConversation(n.routed())
	c.alone = true
	u, _ := c.ask(deadline, questions, answer)
	c.close()
	n.converse(ctx, conn, c)
	return u.err
}

// converse opens a stream over a connection for a conversation, and returns when both have ended.
func (n *Node) converse(ctx context.Context, conn int, c *conversation) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := pb.NewLimiterClient(n.conns[conn]).CheckStream(n.marked(ctx))
	if err != nil {
		c.end(pb.DecodeError(err))
		return
	}
	err = c.run(stream, cancel, func(version uint64) { n.stale(n, version) })
	c.end(n.hear(stream.Trailer(), err))
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
