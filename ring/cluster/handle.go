package cluster

import (
	"context"

	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// routes are who answers what.
func (c *Cluster) routes() map[string]message.Handler {
	return map[string]message.Handler{
		message.KindPing:    message.Serve(c.health.AnswerPing),
		message.KindNow:     message.Serve(c.answerNow),
		message.KindMarks:   message.Serve(c.answerMarks),
		message.KindPromise: message.Serve(c.answerPromise),
		message.KindRelease: message.Serve(c.answerRelease),
		message.KindAttempt: message.Serve(c.answerAttempt),
		message.KindLeaving: message.Serve(c.answerLeaving),
		message.KindUsed:    message.Serve(c.answerUsed),
		message.KindSurvey:  message.Serve(c.answerSurvey),
		message.KindReset:   message.Serve(c.answerReset),
		message.KindLead:    message.Serve(c.leader.Answer),
	}
}

// answerAsLeader says what this node answers when it leads.
func (c *Cluster) answerAsLeader() {
	c.leader.Handle(message.KindRecover, message.Serve(c.answerRecover))
	c.leader.Handle(message.KindFound, message.Serve(c.answerFound))
	c.leader.Handle(message.KindJoin, message.Serve(c.answerJoin))
	c.leader.Handle(message.KindMark, message.Serve(c.answerMark))
	c.leader.Handle(message.KindLimits, message.Serve(c.answerLimits))
	c.leader.Handle(message.KindDrain, message.Serve(c.answerDrain))
	c.leader.Handle(message.KindRemove, message.Serve(c.answerRemove))
	c.leader.Handle(message.KindMoves, message.Serve(c.answerMoves))
}

// Handle answers a message that another node has sent by [Peers.Call]. It may be called from [New] on, by any number of
// goroutines. What it refuses is told in the answer; an error means that this was no message of this package.
func (c *Cluster) Handle(ctx context.Context, text []byte) ([]byte, error) {
	m, err := message.Read(text)
	if err != nil {
		return nil, err
	}
	h, known := c.handlers[m.Kind]
	if !known {
		return nil, message.UnknownKind(m.Kind)
	}
	if c.closed.Load() {
		return nil, ErrClosed
	}
	c.metrics.calls.WithLabelValues(m.Kind).Inc()
	return message.Answer(ctx, h, m.Body)
}
