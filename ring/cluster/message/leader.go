package message

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

// Only the leader can answer some messages. A node sends them to the leader if it knows which node that is, or to any
// member, which sends them on once.

// LeadTime is how long the leader may take: it asks other nodes in turn before it lets one in.
const LeadTime = 10 * time.Second

// maxWait is the longest pause between two tries: as a rule, elections are over before it comes to that.
const maxWait = 500 * time.Millisecond

// A LeadRequest is a message for the leader.
type LeadRequest struct {
	Message
	Cluster string `json:"cluster,omitempty"` // for whose leader it is, if the sender knows
	Direct  bool   `json:"direct,omitempty"`  // it is not to be sent on
}

// LeaderConfig is what it takes to reach the leader. All fields are required; any goroutine may call the functions.
type LeaderConfig struct {
	Peers Peers
	// Name is this node's, Cluster the id of its cluster in hexadecimal; empty while it is not known.
	Name    string
	Cluster func() string
	// Leading says whether this node leads, and Leader which node does, as far as this node knows.
	Leading func() bool
	Leader  func() (id ring.NodeID, isSelf, known bool)
	// Address is a node's gRPC address, and Others are those of the other nodes that are alive and in a cluster.
	Address func(ring.NodeID) string
	Others  func() []string
	// Allow says whether a line about a topic may be logged now.
	Allow  func(topic string) bool
	Logger *slog.Logger
}

// A Leader has the leader answer messages.
type Leader struct {
	config   LeaderConfig
	handlers map[string]Handler // what this node answers when it leads
}

// NewLeader is one without handlers: see handle.
func NewLeader(config LeaderConfig) *Leader {
	return &Leader{config: config, handlers: map[string]Handler{}}
}

// Handle has this node answer messages of a kind when it leads. It is called before any message comes.
func (l *Leader) Handle(kind string, h Handler) { l.handlers[kind] = h }

// AskLeader has the leader answer a message. While there is none, or it does not answer, it is asked again, until ctx ends: all
// that leaders do compares and sets, so twice is once.
func AskLeader[A, Q any](ctx context.Context, l *Leader, kind string, q Q) (a A, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, maxWait) {
		text, err := l.ask(ctx, LeadRequest{Message: Message{Kind: kind, Body: body}, Cluster: l.config.Cluster()})
		if err == nil {
			err = json.Unmarshal(text, &a)
			return a, err
		}
		if !errors.Is(err, ErrNoLeader) && !Unanswered(err) {
			return a, err
		}
		if wait == maxWait && kind != KindMoves && l.config.Allow("lead "+kind) {
			l.config.Logger.Info("waiting for the cluster to have a leader", "to", kind, "why", err)
		}
		if _, late := Pause(ctx, wait, nil); late != nil {
			if errors.Is(err, ErrNoLeader) {
				return a, err
			}
			return a, fmt.Errorf("%w: %w", ErrNoLeader, err)
		}
	}
}

// ask has a message answered here, if this node leads, or else by the leader, or by members that find it.
func (l *Leader) ask(ctx context.Context, q LeadRequest) (json.RawMessage, error) {
	a, err := l.Answer(ctx, q)
	if !errors.Is(err, ErrNoLeader) {
		return a, err
	}
	if _, _, known := l.config.Leader(); known {
		return nil, err
	}
	for _, address := range l.config.Others() {
		a, asked := CallWithin[json.RawMessage](ctx, l.config.Peers, LeadTime, address, KindLead, q)
		if asked == nil || !errors.Is(asked, ErrNoLeader) && !Unanswered(asked) {
			return a, asked
		}
		err = asked
	}
	return nil, err
}

// Answer answers a message for the leader, or sends it on.
func (l *Leader) Answer(ctx context.Context, q LeadRequest) (json.RawMessage, error) {
	if own := l.config.Cluster(); q.Cluster != "" && own != "" && own != q.Cluster {
		return nil, fmt.Errorf("%w: node %s belongs to another cluster, %s", ErrNoLeader, l.config.Name, own)
	}
	if l.config.Leading() {
		return l.answerHere(ctx, q.Message)
	}
	id, self, known := l.config.Leader()
	if q.Direct || self || !known {
		return nil, ErrNoLeader
	}
	q.Direct = true
	a, err := CallWithin[json.RawMessage](ctx, l.config.Peers, LeadTime, l.config.Address(id), KindLead, q)
	if Unanswered(err) { // the node that has sent the message here would not see that
		err = fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	return a, err
}

// answerHere answers a message on the leader.
func (l *Leader) answerHere(ctx context.Context, m Message) (json.RawMessage, error) {
	h, known := l.handlers[m.Kind]
	if !known {
		return nil, UnknownKind(m.Kind)
	}
	a, err := h(ctx, m.Body)
	if errors.Is(err, agreed.ErrNotLeader) || errors.Is(err, agreed.ErrUnknownOutcome) {
		return nil, fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(a)
}
