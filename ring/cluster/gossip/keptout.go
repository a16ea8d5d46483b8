package gossip

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

const (
	// keptOutFor is for how long a node counts as kept out after it was met: it is met again every few seconds while it runs and an
	// address of either node names the other.
	keptOutFor = 30 * time.Second
	// maxKeptOut bounds how many are remembered.
	maxKeptOut = 100
)

// A KeptOut is a node that was met, and cannot be in one cluster with this one.
type KeptOut struct {
	Name, Address string
	Cluster       string // its own; empty where it is in none
	Why           string
	at            time.Time
}

// keepOutLocked forgets a node that does not fit, remembers why, and logs it once in a while.
func (g *Gossip) keepOutLocked(id ring.NodeID, other NodeMeta, address string, why error) {
	if why == nil {
		delete(g.keptOut, id)
		return
	}
	if _, known := g.peers[id]; known {
		delete(g.peers, id)
		g.changedLocked()
	}
	g.pastKeptOutLocked()
	if len(g.keptOut) < maxKeptOut {
		g.keptOut[id] = KeptOut{
			Name: other.Name, Address: address, Cluster: other.Cluster, Why: strings.TrimPrefix(why.Error(), message.ErrForeign.Error()+": "), at: time.Now(),
		}
	}
	if g.throttle.Allow("keep out " + id.String()) {
		g.logger.Error("rejected a node that cannot be in this cluster", "node", other.Name, "id", id, "address", address, "error", why)
	}
}

// pastKeptOutLocked forgets those that were not met again.
func (g *Gossip) pastKeptOutLocked() {
	maps.DeleteFunc(g.keptOut, func(_ ring.NodeID, k KeptOut) bool { return time.Since(k.at) > keptOutFor })
}

// KeptOut are the nodes that were met of late and cannot be in one cluster with this one, by name.
func (g *Gossip) KeptOut() []KeptOut {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pastKeptOutLocked()
	return slices.SortedFunc(maps.Values(g.keptOut), func(a, b KeptOut) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
}
