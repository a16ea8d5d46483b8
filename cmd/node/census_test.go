package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/storage/register"
)

// A census counts in which steps of their moves partitions were when the power was cut.
type census map[string]int

// take looks at the nodes as they are, or as they were at the instant of the cut.
func (c census) take(r *rig) {
	stores := map[ring.NodeID]*Node{}
	newest := &agreed.State{}
	for _, s := range r.seated() {
		s.mu.Lock()
		l := s.life
		s.mu.Unlock()
		if l == nil {
			continue
		}
		select {
		case <-l.opened:
		default:
			continue
		}
		if l.node == nil || l.node.member == nil {
			continue
		}
		stores[l.node.member.id] = l.node
		if st := l.node.member.cluster.State(); st.Version > newest.Version {
			newest = st
		}
	}
	if newest.Table == nil {
		return
	}
	for p, place := range newest.Table.Places {
		at := func(id ring.NodeID) register.Partition {
			if n := stores[id]; n != nil {
				return n.store.Partition(ring.Partition(p))
			}
			return register.Partition{}
		}
		if step := stepOf(place, at); step != "" {
			c[step]++
		}
	}
}

// stepOf says in which step of its move a partition is; empty if it is in none.
func stepOf(place ring.Place, at func(ring.NodeID) register.Partition) string {
	count := func(ids []ring.NodeID, holds func(register.Partition) bool) (n int) {
		for _, id := range ids {
			if holds(at(id)) {
				n++
			}
		}
		return n
	}
	sealed := count(place.Replicas, func(p register.Partition) bool { return p.Sealed && p.Epoch == place.Epoch })
	installed := count(place.Next, func(p register.Partition) bool { return p.Installed > place.Epoch })
	entered := count(place.Replicas, func(p register.Partition) bool { return p.Epoch >= place.Epoch })
	switch {
	case len(place.Next) == 0 && len(place.Target) > 0:
		return "0 copying"
	case len(place.Next) == 0 && entered < len(place.Replicas):
		return "6 agreed, not entered by all"
	case len(place.Next) == 0:
		return ""
	case installed >= ring.Majority(len(place.Next)):
		return "5 enough have installed"
	case installed > 0:
		return "4 some have installed"
	case sealed >= ring.Enough(len(place.Replicas)):
		return "3 enough are sealed"
	case sealed > 0:
		return "2 some are sealed"
	}
	return "1 the next set is agreed"
}

func (c census) String() string {
	var b strings.Builder
	for _, step := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "\n  %s: %d", step, c[step])
	}
	return b.String()
}
