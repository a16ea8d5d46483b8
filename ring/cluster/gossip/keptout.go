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

// keptOuts are the nodes that were met of late and kept out.
type keptOuts map[ring.NodeID]KeptOut

// note remembers that a node was kept out, and why.
func (k keptOuts) note(id ring.NodeID, other NodeMeta, address string, why error) {
	k.forgetPast()
	if _, known := k[id]; known || len(k) < maxKeptOut {
		said := strings.TrimPrefix(why.Error(), message.ErrForeign.Error()+": ")
		k[id] = KeptOut{Name: other.Name, Address: address, Cluster: other.Cluster, Why: said, at: time.Now()}
	}
}

// forget forgets a node, and what was at its address before.
func (k keptOuts) forget(id ring.NodeID, address string) {
	maps.DeleteFunc(k, func(other ring.NodeID, out KeptOut) bool { return other == id || out.Address == address })
}

// forgetPast forgets those that were not met again.
func (k keptOuts) forgetPast() {
	maps.DeleteFunc(k, func(_ ring.NodeID, out KeptOut) bool { return time.Since(out.at) > keptOutFor })
}

// list are all of them, by name.
func (k keptOuts) list() []KeptOut {
	k.forgetPast()
	return slices.SortedFunc(maps.Values(k), func(a, b KeptOut) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
}
