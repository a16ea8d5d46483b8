package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

// Some messages only the leader can answer. A node sends them to the leader if it knows which one that is, or to any
// member, which sends them on once.

// leadTime is how long the leader may take: it asks other nodes in turn before it lets one in.
const leadTime = 10 * time.Second

// longWait is the longest pause between two tries: elections are over before it comes to that, as a rule.
const longWait = 500 * time.Millisecond

// A leadRequest is a message for the leader.
type leadRequest struct {
	message
	Cluster string `json:"cluster,omitempty"` // for whose leader it is, if the sender knows
	Direct  bool   `json:"direct,omitempty"`  // it is not to be sent on
}

// lead has the leader answer a message. While there is none, or it does not answer, it is asked again, until ctx ends: all
// that leaders do compares and sets, so twice is once.
func lead[A, Q any](ctx context.Context, c *Cluster, kind string, q Q) (a A, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, longWait) {
		text, err := c.askLeader(ctx, leadRequest{message: message{Kind: kind, Body: body}, Cluster: c.belongsTo()})
		if err == nil {
			err = json.Unmarshal(text, &a)
			return a, err
		}
		if !errors.Is(err, ErrNoLeader) && !unanswered(err) {
			return a, err
		}
		if wait == longWait && kind != kindMoves && c.seldom.may("lead "+kind) {
			c.logger.Info("waiting for a leader of the cluster", "to", kind, "why", err)
		}
		if _, late := pause(ctx, wait, nil); late != nil {
			if errors.Is(err, ErrNoLeader) {
				return a, err
			}
			return a, fmt.Errorf("%w: %w", ErrNoLeader, err)
		}
	}
}

// askLeader has a message answered here, if this node leads, or else by the leader, or by members that find it.
func (c *Cluster) askLeader(ctx context.Context, q leadRequest) (json.RawMessage, error) {
	a, err := c.answerLead(ctx, q)
	if !errors.Is(err, ErrNoLeader) {
		return a, err
	}
	if _, _, known := c.agreement.leader(); known {
		return nil, err
	}
	for _, p := range c.gossip.all() { // in any order
		if !p.Alive || p.Cluster == "" {
			continue
		}
		a, asked := callFor[json.RawMessage](ctx, c.config.Peers, leadTime, p.GRPC, kindLead, q)
		if asked == nil || !errors.Is(asked, ErrNoLeader) && !unanswered(asked) {
			return a, asked
		}
		err = asked
	}
	return nil, err
}

// answerLead answers a message for the leader, or sends it on.
func (c *Cluster) answerLead(ctx context.Context, q leadRequest) (json.RawMessage, error) {
	if own := c.belongsTo(); q.Cluster != "" && own != "" && own != q.Cluster {
		return nil, fmt.Errorf("%w: node %s belongs to another cluster, %s", ErrNoLeader, c.config.Name, own)
	}
	if leading, _ := c.agreement.leading(); leading {
		return c.answerLeading(ctx, q.message)
	}
	id, self, known := c.agreement.leader()
	if q.Direct || self || !known {
		return nil, ErrNoLeader
	}
	q.Direct = true
	a, err := callFor[json.RawMessage](ctx, c.config.Peers, leadTime, c.addressOf(id), kindLead, q)
	if unanswered(err) { // which whoever has sent the message here would not see
		err = fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	return a, err
}

// answerLeading answers a message on the leader.
func (c *Cluster) answerLeading(ctx context.Context, m message) (json.RawMessage, error) {
	h, known := c.leaders[m.Kind]
	if !known {
		return nil, fmt.Errorf("%w: this node knows no messages of the kind %q", agreed.ErrInvalid, m.Kind)
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

// addressOf is a node's gRPC address: what gossip says, which is newer, or else what was agreed, or decided.
func (c *Cluster) addressOf(id ring.NodeID) string {
	if p, known := c.gossip.find(id); known && p.GRPC != "" {
		return p.GRPC
	}
	return c.contacts()[id].GRPC
}

// whereabouts is a node's gRPC address with its id, so that no other one is taken for it: an address in gossip or on the
// disk may have passed to another node. It is empty if no address is known.
func (c *Cluster) whereabouts(id ring.NodeID) string {
	if address := c.addressOf(id); address != "" {
		return id.At(address)
	}
	return ""
}

// contacts are where the members are as far as the disk tells: what this node has decided on, and, newer, what was agreed.
func (c *Cluster) contacts() map[ring.NodeID]contact {
	at := map[ring.NodeID]contact{}
	if f := c.record.look(); f.Decided != nil {
		for _, n := range f.Decided.Nodes {
			at[n.ID] = contact{GRPC: n.GRPC, Gossip: n.Gossip}
		}
	}
	maps.Copy(at, c.book.look())
	for id, n := range c.agreement.state().Nodes {
		at[id] = contact{GRPC: n.GRPC, Gossip: n.Gossip}
	}
	return at
}

// pause waits for so long, or until wake is closed, and says whether it was; nil is never closed. The error is that ctx has
// ended.
func pause(ctx context.Context, wait time.Duration, wake <-chan struct{}) (woken bool, err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-wake:
		return true, nil
	case <-timer.C:
		return false, nil
	}
}
