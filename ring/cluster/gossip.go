package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/jeton-dev/jeton/ring"
)

// protocolVersion is the version of everything that nodes say to one another. Nodes of another one are kept out.
const protocolVersion = 1

// A phase is how far a node has come.
type phase string

const (
	phaseFounding phase = "founding" // it waits for others to found a cluster with
	phaseJoining  phase = "joining"  // it looks for a cluster, or is about to be let in
	phaseMember   phase = "member"   // it is one
	phaseLeaving  phase = "leaving"  // it is about to stop
)

// A card is what a node says of itself wherever gossip mentions it: JSON of at most [memberlist.MetaMaxSize] bytes.
type card struct {
	Protocol   int    `json:"v"`
	Partitions int    `json:"p"`
	Cluster    string `json:"c,omitempty"` // in hexadecimal, once the node knows of which one it is
	Name       string `json:"n"`
	GRPC       string `json:"g"`
	Raft       string `json:"r"`
	Phase      phase  `json:"s"`
	Expect     int    `json:"e,omitempty"` // with how many the node wants to found a cluster
	Process    string `json:"l"`           // another one after each start
}

// fits says why a node with the card other cannot be in one cluster with that of own, or nil.
func (own card) fits(other card) error {
	switch {
	case other.Protocol != own.Protocol:
		return fmt.Errorf("%w: it speaks version %d of the nodes' protocol, this node version %d: run the same release on both",
			ErrForeign, other.Protocol, own.Protocol)
	case other.Partitions != own.Partitions:
		return fmt.Errorf("%w: it counts %d partitions, this node %d: the number is fixed when a cluster is made",
			ErrForeign, other.Partitions, own.Partitions)
	case own.Cluster != "" && other.Cluster != "" && other.Cluster != own.Cluster:
		return fmt.Errorf("%w: it belongs to cluster %s, this node to %s: two clusters never merge, so see what --join names",
			ErrForeign, other.Cluster, own.Cluster)
	}
	return nil
}

// A peer is another node as gossip knows it.
type peer struct {
	ID ring.NodeID
	card
	Address string    // of its gossip
	Alive   bool      // it is neither dead nor has it left
	Since   time.Time // since when it is that
}

// gossip finds nodes and senses which are dead. It does not decide anything: alive does not mean reachable, and dead
// only that nobody has heard of it for some seconds.
type gossip struct {
	id     ring.NodeID
	config *Config
	logger *slog.Logger
	seldom *seldom
	unmets unmets
	wire   *gossipWire
	begun  time.Time
	twin   func()                                // called when another process says that it is this node
	list   atomic.Pointer[memberlist.Memberlist] // nil before start

	looked  chan struct{} // closed once every address that was known at the start has been tried
	looking sync.Once

	mu    sync.Mutex // below, all of it; never held while memberlist is called, which calls back under its own lock
	own   card
	peers map[ring.NodeID]peer
	moved chan struct{} // closed at the next change
}

// newGossip is gossip that has not begun, on a wire that is bound already.
func newGossip(c *Config, own card, wire *gossipWire, twin func()) *gossip {
	return &gossip{
		id: c.ID, config: c, logger: c.Logger, seldom: newSeldom(), wire: wire, begun: time.Now(), twin: twin, own: own,
		peers: map[ring.NodeID]peer{}, moved: make(chan struct{}), looked: make(chan struct{}),
	}
}

// start begins to gossip.
func (g *gossip) start() error {
	settings := memberlist.DefaultLANConfig()
	settings.Name = g.id.String()
	settings.Transport = g.wire.transport
	settings.AdvertiseAddr, settings.AdvertisePort = g.wire.ip, g.wire.port
	settings.BindPort = g.wire.port // where an address without a port is thought to be
	settings.TCPTimeout = 2 * time.Second
	settings.GossipInterval = 100 * time.Millisecond
	settings.DeadNodeReclaimTime = time.Nanosecond // a node may come back at another address once it is known to be dead
	settings.Logger = g.wire.logger
	settings.Delegate, settings.Events = gossipCard{g}, gossipEvents{g}
	settings.Alive, settings.Merge, settings.Conflict = g, g, g
	if g.config.Key != nil {
		settings.SecretKey = g.config.Key.Gossip()
	} else {
		settings.EnableCompression = false // what strangers have compressed is not taken: it may be of any size
	}
	if g.config.tuning.gossip != nil {
		g.config.tuning.gossip(settings)
	}
	list, err := memberlist.Create(settings)
	if err != nil {
		return fmt.Errorf("gossip on %s: %w", g.wire.address(), err)
	}
	g.list.Store(list)
	return nil
}

// stop ends gossip and closes its sockets; a node that is leaving says so first, so that the others need not find out.
func (g *gossip) stop() error {
	list := g.list.Load()
	if list == nil {
		return g.wire.close()
	}
	var left error
	if g.card().Phase == phaseLeaving {
		left = list.Leave(500 * time.Millisecond)
	}
	return errors.Join(left, list.Shutdown())
}

// card is what this node says of itself.
func (g *gossip) card() card {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own
}

// say changes what this node says of itself, and tells it everybody in the background.
func (g *gossip) say(change func(*card)) {
	g.mu.Lock()
	before := g.own
	change(&g.own)
	same := before == g.own
	if !same {
		for id, p := range g.peers { // who came before this node knew its cluster
			g.keepOutLocked(id, p.card, p.Address, g.own.fits(p.card))
		}
		g.changedLocked()
	}
	g.mu.Unlock()
	if list := g.list.Load(); list != nil && !same {
		_ = list.UpdateNode(time.Millisecond) // it is queued by then; the error only says that it has not gone out yet
	}
}

// changed is closed at the next change of what gossip knows.
func (g *gossip) changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.moved
}

func (g *gossip) changedLocked() {
	close(g.moved)
	g.moved = make(chan struct{})
}

// all are the other nodes that gossip has heard of since this node's start, dead ones too.
func (g *gossip) all() map[ring.NodeID]peer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.peers)
}

// find is another node as gossip knows it.
func (g *gossip) find(id ring.NodeID) (peer, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, known := g.peers[id]
	return p, known
}

// alive says whether a node is this one, or was heard of in the last seconds.
func (g *gossip) alive(id ring.NodeID) bool {
	p, known := g.find(id)
	return id == g.id || known && p.Alive
}

// deadSince is since when nobody has heard of a node; a node that was never heard of is dead since gossip has begun
// here. It is false for a node that is alive.
func (g *gossip) deadSince(id ring.NodeID) (time.Time, bool) {
	p, known := g.find(id)
	switch {
	case id == g.id || known && p.Alive:
		return time.Time{}, false
	case !known:
		return g.begun, true
	}
	return p.Since, true
}

// otherKey logs, once in a while, that a node has another key than this one, if that is what memberlist says.
func (g *gossip) otherKey(said, where string) bool {
	return logOtherKey(g.logger, g.seldom, said, where)
}

// NotifyAlive keeps nodes out that cannot be in one cluster with this one.
func (g *gossip) NotifyAlive(n *memberlist.Node) error {
	if n.Name == g.id.String() {
		return nil
	}
	return g.admit(n)
}

// NotifyMerge is the same for all nodes that another one knows: if one of them does not fit, none is taken.
func (g *gossip) NotifyMerge(nodes []*memberlist.Node) error {
	for _, n := range nodes {
		if n.Name == g.id.String() || n.State != memberlist.StateAlive {
			continue
		}
		if err := g.admit(n); err != nil {
			return err
		}
	}
	return nil
}

func (g *gossip) admit(n *memberlist.Node) error {
	id, err := ring.ParseNodeID(n.Name)
	var other card
	if err == nil {
		other, err = readCard(n)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		err = g.own.fits(other)
	}
	g.keepOutLocked(id, other, n.Address(), err)
	return err
}

// keepOutLocked forgets a node that does not fit, and logs, once in a while, why.
func (g *gossip) keepOutLocked(id ring.NodeID, other card, address string, why error) {
	if why == nil {
		return
	}
	if _, known := g.peers[id]; known {
		delete(g.peers, id)
		g.changedLocked()
	}
	if g.seldom.may("keep out " + id.String()) {
		g.logger.Error("a node is kept out", "node", other.Name, "id", id, "address", address, "error", why)
	}
}

// NotifyConflict tells of two addresses that claim to be one node. Which of them is an old copy of the other's disk is
// for the marks to tell; gossip keeps the one it knew first.
func (g *gossip) NotifyConflict(known, other *memberlist.Node) {
	if g.seldom.may("conflict " + known.Name) {
		g.logger.Error("two addresses claim to be the same node: it has just moved, or one runs on a copy of the other's data directory",
			"id", known.Name, "known", known.Address(), "other", other.Address())
	}
	if known.Name == g.id.String() {
		g.twin()
	}
}

// heard notes what memberlist says of a node.
func (g *gossip) heard(n *memberlist.Node, alive bool) {
	id, err := ring.ParseNodeID(n.Name)
	if err != nil || id == g.id {
		return
	}
	c, err := readCard(n)
	if err != nil {
		return // it was not admitted
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.own.fits(c) != nil {
		return // it goes on in memberlist's eyes, and is nothing to this node
	}
	p := peer{ID: id, card: c, Address: n.Address(), Alive: alive, Since: time.Now()}
	before, known := g.peers[id]
	if known && before.Alive == alive {
		p.Since = before.Since
	}
	if known && before.Process == p.Process && before.Phase == phaseLeaving {
		p.Phase = phaseLeaving // until it has started again
	}
	g.peers[id] = p
	g.changedLocked()
}

// leaves notes that a process has told that it is about to stop.
func (g *gossip) leaves(id ring.NodeID, process string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p, known := g.peers[id]; known && p.Process == process && p.Phase != phaseLeaving {
		p.Phase = phaseLeaving
		g.peers[id] = p
		g.changedLocked()
	}
}

// leaving are the nodes that are about to stop, or have stopped so, this one included.
func (g *gossip) leaving() map[ring.NodeID]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	ids := map[ring.NodeID]bool{}
	for id, p := range g.peers {
		if p.Phase == phaseLeaving {
			ids[id] = true
		}
	}
	if g.own.Phase == phaseLeaving {
		ids[g.id] = true
	}
	return ids
}

func readCard(n *memberlist.Node) (c card, err error) {
	if err := json.Unmarshal(n.Meta, &c); err != nil {
		return card{}, fmt.Errorf("%w: what it says of itself cannot be read: %w", ErrForeign, err)
	}
	return c, nil
}

// gossipCard hands memberlist the card; there is nothing else to gossip about.
type gossipCard struct{ g *gossip }

func (d gossipCard) NodeMeta(int) []byte {
	text, err := json.Marshal(d.g.card())
	if err != nil {
		return nil // strings and numbers always have a JSON; New has seen that it fits
	}
	return text
}

func (gossipCard) NotifyMsg([]byte)                {}
func (gossipCard) GetBroadcasts(_, _ int) [][]byte { return nil }
func (gossipCard) LocalState(bool) []byte          { return nil }
func (gossipCard) MergeRemoteState([]byte, bool)   {}

// gossipEvents tells of nodes that come, go, and change what they say of themselves.
type gossipEvents struct{ g *gossip }

func (d gossipEvents) NotifyJoin(n *memberlist.Node)   { d.g.heard(n, true) }
func (d gossipEvents) NotifyUpdate(n *memberlist.Node) { d.g.heard(n, true) }
func (d gossipEvents) NotifyLeave(n *memberlist.Node)  { d.g.heard(n, false) }
