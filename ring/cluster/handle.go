package cluster

import (
	"context"
	"maps"

	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// registerHandlers registers the handlers of this node, and those that it uses only as the leader.
func (c *Cluster) registerHandlers() {
	c.handlers = map[string]message.Handler{
		message.KindPing:  message.Serve(c.health.AnswerPing),
		message.KindNow:   message.Serve(c.answerNow),
		message.KindUsed:  message.Serve(c.answerUsed),
		message.KindTell:  message.Serve(c.answerTell),
		message.KindProbe: message.Serve(c.answerProbe),
		message.KindLead:  message.Serve(c.leader.Answer),
	}
	maps.Copy(c.handlers, c.joiner.Handlers())
	maps.Copy(c.handlers, c.recoverer.Handlers())
	leading := map[string]message.Handler{
		message.KindLimits: message.Serve(c.answerLimits),
		message.KindDrain:  message.Serve(c.answerDrain),
		message.KindRemove: message.Serve(c.answerRemove),
		message.KindMoves:  message.Serve(c.answerMoves),
		message.KindNote:   message.Serve(c.answerNote),
		message.KindSet:    message.Serve(c.answerOverride),
		message.KindRaise:  message.Serve(c.answerRaise),
	}
	maps.Copy(leading, c.joiner.LeaderHandlers())
	maps.Copy(leading, c.recoverer.LeaderHandlers())
	for kind, h := range leading {
		c.leader.Handle(kind, h)
	}
}

// Handle answers a message that another node has sent by [Peers.Call]. It may be called from [New] on, by any number of
// goroutines. The answer carries refusals; an error means that text is not a message of this package.
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
