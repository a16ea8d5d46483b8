// Package gossip finds the other nodes and senses which of them fail. It is memberlist, on sockets of its own that show
// memberlist only what was proved to come from a node with the cluster key. Each node publishes a [NodeMeta]: its name, its
// addresses, its cluster and how far it has come. The addresses of the members are kept on disk in an [AddressBook].
//
// It decides nothing: alive does not mean reachable, and dead only that no node has heard of it for some seconds. Start with
// [Bind], [New] and [Gossip.Start].
package gossip

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/lograte"
	"github.com/jeton-dev/jeton/ring/key"
)

// A Peer is another node as gossip knows it.
type Peer struct {
	ID ring.NodeID
	NodeMeta
	Address string    // of its gossip
	Alive   bool      // it is neither dead nor has it left
	Since   time.Time // since when it is that
}

// Config is what gossip works with. Fields are required unless a zero value is mentioned.
type Config struct {
	// ID is this node, and Own what it says of itself at first.
	ID  ring.NodeID
	Own NodeMeta
	// Wire is bound; stop closes it.
	Wire *Wire
	// Key is the cluster key. Nil: nothing is encrypted.
	Key *key.Key
	// Twin is called when another process says that it is this node. It must not block.
	Twin func()
	// Speaks says in a word what an address speaks that does not speak gossip; empty where that is not to be seen. Nil: that
	// is not asked.
	Speaks func(ctx context.Context, address string) string
	// Rarely is how long Seek waits at most before it tries to meet again who is missing. 0: ten seconds.
	Rarely time.Duration
	// Tune changes memberlist's settings, in tests. Nil: they stay.
	Tune   func(*memberlist.Config)
	Logger *slog.Logger
}

// Gossip finds nodes and detects which are dead. It decides nothing: alive does not mean reachable, and dead means only that no
// node has heard from it for some seconds.
type Gossip struct {
	config   Config
	id       ring.NodeID
	logger   *slog.Logger
	throttle *lograte.Throttle
	unmets   unmets
	wire     *Wire
	started  time.Time
	list     atomic.Pointer[memberlist.Memberlist] // nil before start
	unfollow func()                                // ends followKey; set by Start, nil without a key

	tried     chan struct{} // closed once every address that was known at the start has been tried
	triedOnce sync.Once

	mu      sync.Mutex // below, all of it; never held while memberlist is called, which calls back under its own lock
	own     NodeMeta
	peers   map[ring.NodeID]Peer
	keptOut keptOuts
	changed chan struct{} // closed at the next change
}

// dialTime is how long an attempt to meet a node may take.
const dialTime = 2 * time.Second

// New makes gossip on a wire that is bound already. Start starts it.
func New(config Config) *Gossip {
	config.Rarely = cmp.Or(config.Rarely, 10*time.Second)
	return &Gossip{
		config: config, id: config.ID, logger: config.Logger, throttle: lograte.NewThrottle(), wire: config.Wire, started: time.Now(), own: config.Own,
		peers: map[ring.NodeID]Peer{}, keptOut: keptOuts{}, changed: make(chan struct{}), tried: make(chan struct{}),
	}
}

// Start starts gossip.
func (g *Gossip) Start() error {
	settings := memberlist.DefaultLANConfig()
	settings.Name = g.id.String()
	settings.Transport = g.wire.transport
	settings.AdvertiseAddr, settings.AdvertisePort = g.wire.IP, g.wire.port
	settings.BindPort = g.wire.port // where an address without a port is thought to be
	settings.TCPTimeout = dialTime
	settings.GossipInterval = 100 * time.Millisecond
	settings.DeadNodeReclaimTime = time.Nanosecond // a node may come back at another address once it is known to be dead
	settings.Logger = g.wire.logger
	settings.Delegate, settings.Events = metaDelegate{g}, eventDelegate{g}
	settings.Alive, settings.Merge, settings.Conflict = g, g, g
	if g.config.Key != nil {
		ring, err := newKeyring(g.config.Key)
		if err != nil {
			return fmt.Errorf("gossip with the cluster key: %w", err)
		}
		settings.Keyring = ring
		g.unfollow = g.config.Key.OnChange(func() { g.followKey(ring) })
	} else {
		settings.EnableCompression = false // what strangers have compressed is not taken: it may be of any size
	}
	if g.config.Tune != nil {
		g.config.Tune(settings)
	}
	list, err := memberlist.Create(settings)
	if err != nil {
		return fmt.Errorf("gossip on %s: %w", g.wire.Address(), err)
	}
	g.list.Store(list)
	g.wire.transport.deliver()
	return nil
}

// Stop ends gossip and closes its sockets; a node that is leaving says so first, so that the others need not find out.
func (g *Gossip) Stop() error {
	if g.unfollow != nil {
		g.unfollow()
	}
	list := g.list.Load()
	if list == nil {
		return g.wire.Close()
	}
	var left error
	if g.Own().Phase == PhaseLeaving {
		left = list.Leave(500 * time.Millisecond)
	}
	return errors.Join(left, list.Shutdown())
}

// Own is what this node says of itself.
func (g *Gossip) Own() NodeMeta {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own
}

// Say changes what this node says of itself, and tells the other nodes in the background.
func (g *Gossip) Say(change func(*NodeMeta)) {
	g.mu.Lock()
	before := g.own
	change(&g.own)
	same := before == g.own
	if !same {
		for id, p := range g.peers { // who came before this node knew its cluster
			g.keepOutLocked(id, p.NodeMeta, p.Address, g.own.fits(p.NodeMeta))
		}
		g.changedLocked()
	}
	g.mu.Unlock()
	if list := g.list.Load(); list != nil && !same {
		_ = list.UpdateNode(time.Millisecond) // it is queued by then; the error only says that it has not gone out yet
	}
}

// Changed is closed at the next change of what gossip knows.
func (g *Gossip) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

func (g *Gossip) changedLocked() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// All are the other nodes that gossip has heard of since this node's start, dead ones too.
func (g *Gossip) All() map[ring.NodeID]Peer {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.peers)
}

// Find is another node as gossip knows it.
func (g *Gossip) Find(id ring.NodeID) (Peer, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, known := g.peers[id]
	return p, known
}

// errNoPing is the error of a ping before gossip has started.
var errNoPing = errors.New("gossip has not started")

// Ping asks the node at a gossip address over UDP whether it is the one that is meant, and waits for half a second at most.
func (g *Gossip) Ping(id ring.NodeID, address string) error {
	list := g.list.Load()
	if list == nil {
		return errNoPing
	}
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return err
	}
	_, err = list.Ping(id.String(), to)
	if none := (memberlist.NoPingResponseError{}); errors.As(err, &none) {
		return fmt.Errorf("%w: %w", err, context.DeadlineExceeded)
	}
	return err
}

// Alive says whether a node is this one, or was heard of in the last seconds.
func (g *Gossip) Alive(id ring.NodeID) bool {
	p, known := g.Find(id)
	return id == g.id || known && p.Alive
}

// DeadSince is since when no node has heard from a node. A node that was never heard from is dead since gossip started here. It is
// false for a node that is alive.
func (g *Gossip) DeadSince(id ring.NodeID) (time.Time, bool) {
	p, known := g.Find(id)
	switch {
	case id == g.id || known && p.Alive:
		return time.Time{}, false
	case !known:
		return g.started, true
	}
	return p.Since, true
}

// NotifyAlive keeps nodes out that cannot be in one cluster with this one.
func (g *Gossip) NotifyAlive(n *memberlist.Node) error {
	if n.Name == g.id.String() {
		return nil
	}
	return g.admit(n)
}

// NotifyMerge is the same for all nodes that another one knows: if one of them does not fit, none is taken.
func (g *Gossip) NotifyMerge(nodes []*memberlist.Node) error {
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

func (g *Gossip) admit(n *memberlist.Node) error {
	id, err := ring.ParseNodeID(n.Name)
	var other NodeMeta
	if err == nil {
		other, err = readMeta(n)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		err = g.own.fits(other)
	}
	g.keepOutLocked(id, other, n.Address(), err)
	return err
}

// keepOutLocked forgets a node that does not fit, remembers why, and logs once in a while that there are such nodes: [Gossip.KeptOut] lists them all, and ids may be invented. One that fits takes the place of what was kept out at its address.
func (g *Gossip) keepOutLocked(id ring.NodeID, other NodeMeta, address string, why error) {
	if why == nil {
		g.keptOut.forget(id, address)
		return
	}
	if _, known := g.peers[id]; known {
		delete(g.peers, id)
		g.changedLocked()
	}
	g.keptOut.note(id, other, address, why)
	if g.throttle.Allow("keep out") {
		g.logger.Error("rejected a node that cannot be in this cluster", "node", other.Name, "id", id, "address", address, "error", why)
	}
}

// KeptOut are the nodes that were met of late and cannot be in one cluster with this one, by name. What is said to be at the address of a
// node of the cluster is no such node: somebody repeats what was said before, or lies.
func (g *Gossip) KeptOut() []KeptOut {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(g.keptOut.list(), func(out KeptOut) bool {
		for _, p := range g.peers {
			if p.Alive && p.Address == out.Address {
				return true
			}
		}
		return false
	})
}

// NotifyConflict tells of two addresses that claim to be one node. Which of them is an old copy of the other's disk is
// for the marks to tell; gossip keeps the one it knew first.
func (g *Gossip) NotifyConflict(known, other *memberlist.Node) {
	if g.throttle.Allow("conflict " + known.Name) {
		g.logger.Error("two addresses claim to be the same node: it has just moved, or one runs on a copy of the other's data directory",
			"id", known.Name, "known", known.Address(), "other", other.Address())
	}
	if known.Name == g.id.String() {
		g.config.Twin()
	}
}

// noteNode notes what memberlist says of a node.
func (g *Gossip) noteNode(n *memberlist.Node, alive bool) {
	id, err := ring.ParseNodeID(n.Name)
	if err != nil || id == g.id {
		return
	}
	c, err := readMeta(n)
	if err != nil {
		return // it was not admitted
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.own.fits(c) != nil {
		return // it goes on in memberlist's eyes, and is nothing to this node
	}
	p := Peer{ID: id, NodeMeta: c, Address: n.Address(), Alive: alive, Since: time.Now()}
	before, known := g.peers[id]
	if known && before.Alive == alive {
		p.Since = before.Since
	}
	if known && before.Process == p.Process && before.Phase == PhaseLeaving {
		p.Phase = PhaseLeaving // until it has started again
	}
	g.peers[id] = p
	g.changedLocked()
}

// Leaves notes that a process has told that it is about to stop.
func (g *Gossip) Leaves(id ring.NodeID, process string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p, known := g.peers[id]; known && p.Process == process && p.Phase != PhaseLeaving {
		p.Phase = PhaseLeaving
		g.peers[id] = p
		g.changedLocked()
	}
}

// Leaving are the nodes that are about to stop, or have stopped so, this one included.
func (g *Gossip) Leaving() map[ring.NodeID]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	ids := map[ring.NodeID]bool{}
	for id, p := range g.peers {
		if p.Phase == PhaseLeaving {
			ids[id] = true
		}
	}
	if g.own.Phase == PhaseLeaving {
		ids[g.id] = true
	}
	return ids
}

// metaDelegate gives memberlist this node's NodeMeta; it gossips about nothing else.
type metaDelegate struct{ g *Gossip }

func (d metaDelegate) NodeMeta(int) []byte {
	text, err := json.Marshal(d.g.Own())
	if err != nil {
		return nil // strings and numbers always have a JSON; New has seen that it fits
	}
	return text
}

func (metaDelegate) NotifyMsg([]byte)                {}
func (metaDelegate) GetBroadcasts(_, _ int) [][]byte { return nil }
func (metaDelegate) LocalState(bool) []byte          { return nil }
func (metaDelegate) MergeRemoteState([]byte, bool)   {}

// eventDelegate tells of nodes that come, go, and change what they say of themselves.
type eventDelegate struct{ g *Gossip }

func (d eventDelegate) NotifyJoin(n *memberlist.Node)   { d.g.noteNode(n, true) }
func (d eventDelegate) NotifyUpdate(n *memberlist.Node) { d.g.noteNode(n, true) }
func (d eventDelegate) NotifyLeave(n *memberlist.Node)  { d.g.noteNode(n, false) }
