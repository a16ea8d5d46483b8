// Package health knows which of the other members answer this node, by pings over its own connections, and so for which keys
// a node is known that can decide. Start with [New] and [Health.Run].
package health

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/level"
)

// maxShown is how many of the partitions that cannot be decided are named.
const maxShown = 5

// startGrace is how long after its start a node does not tell that keys cannot be decided, unless they could before.
const startGrace = 10 * time.Second

// Config is what a health works with. Fields are required unless a zero value is mentioned; any goroutine may call the
// functions.
type Config struct {
	// ID is this node, and Process its process.
	ID      ring.NodeID
	Process agreed.Unique
	// State is what is agreed, and Changed is closed at the next change.
	State   func() *agreed.State
	Changed func() <-chan struct{}
	// Others are the gRPC addresses of the other members, which Peers reaches.
	Others func() map[ring.NodeID]string
	Peers  message.Peers
	// Refuses says why this node decides nothing, and Stalled why it takes no reservations though it decides; empty if it
	// does. Nil: it always does.
	Refuses, Stalled func() string
	// Keys are the secrets of the cluster key that are in force here. Nil: there is none.
	Keys func() []message.KeyUse
	// Levels are those that this node knows, and Release is its release.
	Levels  level.Range
	Release string
	// Report is called when the set of keys that some node can decide has changed. Nil: it is not called.
	Report func(ring.Deciding)
	Logger *slog.Logger
}

// A Health knows which of the other members answer this node, and so for which keys a node is known that can decide.
type Health struct {
	config  Config
	started time.Time
	pinger
	logged atomic.Pointer[ring.Deciding] // what the log was told last
}

// New is a health that has asked no node yet.
func New(config Config) *Health {
	always := func() string { return "" }
	if config.Keys == nil {
		config.Keys = func() []message.KeyUse { return nil }
	}
	if config.Refuses == nil {
		config.Refuses = always
	}
	if config.Stalled == nil {
		config.Stalled = always
	}
	h := &Health{config: config, started: time.Now()}
	h.pinger = pinger{others: config.Others, ping: h.Ping, afterRound: h.logChange, nodes: map[ring.NodeID]Heard{}}
	return h
}

// Run pings the other members until ctx ends.
func (h *Health) Run(ctx context.Context) { h.pinger.run(ctx, h.config.Changed) }

// Ping pings the node at a gRPC address.
func (h *Health) Ping(ctx context.Context, address string) (message.Pong, error) {
	return message.Call[message.Pong](ctx, h.config.Peers, address, message.KindPing, message.Nothing{})
}

// AnswerPing says which node this is, whether it takes reservations, and which others it hears that do.
func (h *Health) AnswerPing(context.Context, message.Nothing) (message.Pong, error) {
	p := message.Pong{
		ID: h.config.ID, Process: h.config.Process, Refuses: cmp.Or(h.config.Refuses(), h.config.Stalled()), Hears: []ring.NodeID{}, Keys: h.config.Keys(),
		Levels: &h.config.Levels, Release: h.config.Release,
	}
	for id, of := range h.Heard() {
		if of.takes() {
			p.Hears = append(p.Hears, id)
		}
	}
	slices.SortFunc(p.Hears, ring.NodeID.Compare)
	return p, nil
}

// Deciding says for which keys this node knows of a node that can decide.
func (h *Health) Deciding() ring.Deciding { return h.DecidingIn(h.config.State(), h.Heard()) }

// DecidingIn is now, for a state and what was heard of the nodes.
func (h *Health) DecidingIn(s *agreed.State, known map[ring.NodeID]Heard) ring.Deciding {
	refuses := h.config.Refuses()
	takes := refuses == "" && h.config.Stalled() == ""
	hears := func(by, id ring.NodeID) bool {
		switch {
		case by == id && id == h.config.ID:
			return takes
		case by == id || by == h.config.ID || known[by].hears == nil: // who does not tell hears whom this one hears
			return known[id].takes()
		case id == h.config.ID:
			return takes && known[by].hears[id]
		}
		return known[by].hears[id]
	}
	j := ring.Judge(s.Table, h.config.ID, hears)
	d := ring.Deciding{
		Verdict: j.Verdict(), Undecided: len(j.Stuck), Partitions: j.Partitions, Endangered: j.Endangered,
		First: j.Stuck[:min(len(j.Stuck), maxShown)],
	}
	for _, id := range j.Silent {
		switch name := cmp.Or(s.Nodes[id].Name, id.String()); {
		case id == h.config.ID && takes:
		case id == h.config.ID:
			d.Refusing = append(d.Refusing, name)
		case known[id].Refuses == "" || !known[id].Answers():
			d.Silent = append(d.Silent, name)
		default:
			d.Refusing = append(d.Refusing, name)
		}
	}
	slices.Sort(d.Silent)
	slices.Sort(d.Refusing)
	if refuses != "" { // a node that refuses everything asks no other node
		d.Verdict, d.Undecided, d.Endangered, d.Why = ring.DecidesNone, d.Partitions, 0, refuses
		return d
	}
	d.Explain(len(s.Nodes))
	return d
}

// logChange logs when keys cannot be decided any more, and when they can again. The goroutine that pings calls it.
func (h *Health) logChange() {
	if h.config.Refuses() != "" {
		return // which the log has from elsewhere
	}
	d := h.Deciding()
	before := h.logged.Load()
	if before == nil && d.Verdict != ring.DecidesAll && time.Since(h.started) < startGrace {
		return // the others may be about to start, too
	}
	h.logged.Store(&d)
	switch {
	case before == nil && d.Verdict == ring.DecidesAll, before != nil && before.String() == d.String():
		return
	case d.Verdict == ring.DecidesAll:
		h.config.Logger.Info("every key can be decided again")
	case d.Verdict == ring.DecidesSome:
		h.config.Logger.Warn("some keys cannot be decided", "partitions", d.Undecided, "of", d.Partitions, "first", d.First, "why", d.Why)
	default:
		h.config.Logger.Warn("no key can be decided", "why", d.Why)
	}
	if h.config.Report != nil {
		h.config.Report(d)
	}
}

// Refuses says why this node decides nothing; empty if it does.
func (h *Health) Refuses() string { return h.config.Refuses() }
