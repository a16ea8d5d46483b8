package health

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/level"
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

// A Heard is what this node has heard of another one.
type Heard struct {
	Answering Answering
	Since     time.Time            // of an unreachable or suspect node: when it answered last, or was first asked
	Refuses   string               // why it decides nothing and takes no reservations; empty if it does
	Keys      []message.KeyUse     // its secrets of the cluster key; nil from one that does not tell
	Levels    *level.Range         // those that it knows; nil from one that was not heard
	Release   string               // empty from one that does not tell
	hears     map[ring.NodeID]bool // whom it hears itself that takes reservations; nil from one that does not tell
}

// Answers says whether the node can be expected to answer, and takes whether it can be to take reservations.
func (h Heard) Answers() bool { return h.Answering == Answers || h.Answering == Suspect }
func (h Heard) takes() bool   { return h.Answers() && h.Refuses == "" }

// A pinger knows which of the other members answer this node. A ping goes over the connection that other calls take.
type pinger struct {
	others     func() map[ring.NodeID]string // the gRPC addresses of the other members
	ping       func(ctx context.Context, address string) (message.Pong, error)
	afterRound func() // is called after each round

	mu    sync.Mutex
	nodes map[ring.NodeID]Heard
}

// run pings the others until ctx ends: at once, whenever the members have changed, and every half second.
func (h *pinger) run(ctx context.Context, changed func() <-chan struct{}) {
	tick := time.NewTicker(hearEvery)
	defer tick.Stop()
	for {
		moved := changed()
		h.round(ctx)
		h.afterRound()
		select {
		case <-ctx.Done():
			return
		case <-moved:
		case <-tick.C:
		}
	}
}

// round pings every other member once.
func (h *pinger) round(ctx context.Context) {
	others := h.others()
	h.mu.Lock()
	maps.DeleteFunc(h.nodes, func(id ring.NodeID, _ Heard) bool { _, member := others[id]; return !member })
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, hearWithin)
	defer cancel()
	var all sync.WaitGroup
	for id, address := range others {
		all.Go(func() {
			began := time.Now()
			p, err := h.ping(ctx, address)
			if err == nil && p.ID != id {
				err = fmt.Errorf("%w: another node answers at %s", message.ErrUnreachable, address)
			}
			h.note(id, began, p, err)
		})
	}
	all.Wait()
}

// note keeps what came of a ping. A ping that took too long makes a node suspect only: it, or this node, may be busy.
func (h *pinger) note(id ring.NodeID, began time.Time, p message.Pong, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, asked := h.nodes[id]
	switch {
	case errors.Is(err, context.Canceled):
	case err == nil:
		levels := p.Knows()
		h.nodes[id] = Heard{
			Answering: Answers, Since: time.Now(), Refuses: p.Refuses, Keys: p.Keys, Levels: &levels, Release: p.Release, hears: setOf(p.Hears),
		}
	case !asked:
		h.nodes[id] = Heard{Answering: Unreachable, Since: began}
	case errors.Is(err, context.DeadlineExceeded) && before.Answering == Answers:
		before.Answering = Suspect
		h.nodes[id] = before
	default:
		before.Answering = Unreachable
		h.nodes[id] = before
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

// Heard is what was heard of all nodes. It is the caller's.
func (h *pinger) Heard() map[ring.NodeID]Heard {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.nodes)
}
