package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring"
)

const (
	// hearEvery is how often the other members are pinged, and hearWithin how long they may take to answer. So within two
	// seconds a node knows that another one has not answered twice.
	hearEvery  = 500 * time.Millisecond
	hearWithin = 700 * time.Millisecond
)

// An Answering says whether another node answers this one, by the pings over this node's own connections. What gossip says
// of it is another matter, and takes longer.
type Answering string

// What another node may be found to do.
const (
	Answers     Answering = "up"
	Suspect     Answering = "suspect"     // it has not answered the last ping in time
	Unreachable Answering = "unreachable" // it has not answered two in a row, there is no connection, or it was never asked
)

// A heard is what this node has heard of another one.
type heard struct {
	answering Answering
	since     time.Time            // of an unreachable or suspect node: when it answered last, or was first asked
	refuses   string               // why it decides nothing and takes no reservations; empty if it does
	hears     map[ring.NodeID]bool // whom it hears itself that takes reservations; nil from one that does not tell
}

// answers says whether the node can be expected to answer, and takes whether it can be to take reservations.
func (h heard) answers() bool { return h.answering == Answers || h.answering == Suspect }
func (h heard) takes() bool   { return h.answers() && h.refuses == "" }

// A hearing knows which of the other members answer this node. A ping goes over the connection that other calls take.
type hearing struct {
	others func() map[ring.NodeID]string // the gRPC addresses of the other members
	ping   func(ctx context.Context, address string) (pong, error)
	after  func() // is called after each round

	mu sync.Mutex
	of map[ring.NodeID]heard
}

// run pings the others until ctx ends: at once, whenever the members have changed, and every half second.
func (h *hearing) run(ctx context.Context, changed func() <-chan struct{}) {
	tick := time.NewTicker(hearEvery)
	defer tick.Stop()
	for {
		moved := changed()
		h.round(ctx)
		h.after()
		select {
		case <-ctx.Done():
			return
		case <-moved:
		case <-tick.C:
		}
	}
}

// round pings every other member once.
func (h *hearing) round(ctx context.Context) {
	others := h.others()
	h.mu.Lock()
	maps.DeleteFunc(h.of, func(id ring.NodeID, _ heard) bool { _, member := others[id]; return !member })
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, hearWithin)
	defer cancel()
	var all sync.WaitGroup
	for id, address := range others {
		all.Go(func() {
			began := time.Now()
			p, err := h.ping(ctx, address)
			if err == nil && p.ID != id {
				err = fmt.Errorf("%w: another node answers at %s", ErrUnreachable, address)
			}
			h.note(id, began, p, err)
		})
	}
	all.Wait()
}

// note keeps what came of a ping. A ping that took too long makes a node suspect only: it, or this node, may be busy.
func (h *hearing) note(id ring.NodeID, began time.Time, p pong, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, asked := h.of[id]
	switch {
	case errors.Is(err, context.Canceled):
	case err == nil:
		h.of[id] = heard{answering: Answers, since: time.Now(), refuses: p.Refuses, hears: setOf(p.Hears)}
	case !asked:
		h.of[id] = heard{answering: Unreachable, since: began}
	case errors.Is(err, context.DeadlineExceeded) && before.answering == Answers:
		before.answering = Suspect
		h.of[id] = before
	default:
		before.answering = Unreachable
		h.of[id] = before
	}
}

func setOf(ids []ring.NodeID) map[ring.NodeID]bool {
	if ids == nil {
		return nil
	}
	set := make(map[ring.NodeID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// look is what was heard of all nodes. It is the caller's.
func (h *hearing) look() map[ring.NodeID]heard {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.of)
}

// answerPing says who is there, whether this node takes reservations, and which others it hears that do.
func (c *Cluster) answerPing(context.Context, nothing) (pong, error) {
	p := pong{ID: c.config.ID, Process: c.process, Refuses: cmp.Or(c.refuses(), c.stalled()), Hears: []ring.NodeID{}}
	for id, h := range c.hearing.look() {
		if h.takes() {
			p.Hears = append(p.Hears, id)
		}
	}
	slices.SortFunc(p.Hears, ring.NodeID.Compare)
	return p, nil
}

// refuses says why this node decides nothing; empty if it does.
func (c *Cluster) refuses() string {
	if c.config.Refuses == nil {
		return ""
	}
	return c.config.Refuses()
}

// stalled says why this node takes no reservations though it decides; empty if it takes them.
func (c *Cluster) stalled() string {
	if c.config.Stalled == nil {
		return ""
	}
	return c.config.Stalled()
}

// otherMembers are the gRPC addresses of the other members.
func (c *Cluster) otherMembers() map[ring.NodeID]string {
	at := map[ring.NodeID]string{}
	for id := range c.State().Nodes {
		if id != c.config.ID {
			at[id] = c.addressOf(id)
		}
	}
	return at
}

// pingFor pings the node at a gRPC address.
func (c *Cluster) pingFor(ctx context.Context, address string) (pong, error) {
	return call[pong](ctx, c.config.Peers, address, kindPing, nothing{})
}
