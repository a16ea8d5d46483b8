package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// placements say, for every partition that this node keeps, who its replicas are. They are made anew with every change
// of the table; what has stayed the same stays the same value, by which actors see that nothing concerns them.
type placements struct {
	of   []*actor.Placement           // by partition; nil where this node is no replica
	sets map[string]*actor.ReplicaSet // by what they are made of
}

// newPlacements makes the placements of a state, from those before it.
func (m *membership) newPlacements(s *agreed.State, before *placements) *placements {
	p := &placements{of: make([]*actor.Placement, s.Partitions), sets: map[string]*actor.ReplicaSet{}}
	for i := range s.Table.Places {
		place := &s.Table.Places[i]
		if !place.Has(m.id) {
			continue
		}
		name := setName(s, place.Replicas)
		set := p.sets[name]
		if set == nil {
			if set = before.sets[name]; set == nil {
				set = m.replicaSet(s, place.Replicas)
			}
			p.sets[name] = set
		}
		p.of[i] = &actor.Placement{Epoch: place.Epoch, Set: set}
		if i < len(before.of) && before.of[i] != nil && *before.of[i] == *p.of[i] {
			p.of[i] = before.of[i]
		}
	}
	return p
}

// setName tells replica sets apart: by the nodes and where they are, in whatever order.
func setName(s *agreed.State, ids []ring.NodeID) string {
	var b strings.Builder
	for _, id := range canonical(ids) {
		b.WriteString(id.String() + "@" + s.Nodes[id].GRPC + " ")
	}
	return b.String()
}

// canonical is the order in which all partitions with the same nodes number them, so that they share messages.
func canonical(ids []ring.NodeID) []ring.NodeID {
	return slices.SortedFunc(slices.Values(ids), ring.NodeID.Compare)
}

// replicaSet makes the replicas of nodes: this node's own storage, and the others through rpc.
func (m *membership) replicaSet(s *agreed.State, ids []ring.NodeID) *actor.ReplicaSet {
	var (
		replicas []actor.Replica
		names    []string
	)
	for _, id := range canonical(ids) {
		n := s.Nodes[id]
		names = append(names, n.Name)
		if id == m.id {
			replicas = append(replicas, m.node.replica())
		} else {
			replicas = append(replicas, m.peers.Replica(id.At(n.GRPC)))
		}
	}
	return actor.NewReplicaSet(replicas, names)
}

// syncStorage makes the storage follow a state: the registers of a founder begin, epochs whose commit is seen are entered, and
// partitions that are kept elsewhere are dropped.
func (m *membership) syncStorage(ctx context.Context, s *agreed.State) error {
	store := m.node.store
	var (
		duties sync.WaitGroup
		mu     sync.Mutex
		errs   []error
	)
	for i, place := range s.Table.Places {
		p := ring.Partition(i)
		duty := m.storageTask(place, store.Partition(p))
		if duty == nil {
			continue
		}
		duties.Go(func() { // together, so that they share an fsync
			if err := ignoreOvertaken(duty(ctx, p)); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	duties.Wait()
	return errors.Join(errs...)
}

// ignoreOvertaken is the error of a duty that stands: a partition that another node had install a later epoch meanwhile has none
// in this one any more.
func ignoreOvertaken(err error) error {
	if errors.Is(err, storage.ErrEpoch) {
		return nil
	}
	return err
}

// neverKept says whether a replica has never kept a partition.
func neverKept(p register.Partition) bool { return p.Epoch == 0 && p.Installed == 0 }

// storageTask is what the storage has to do about one partition; nil for nothing.
func (m *membership) storageTask(place ring.Place, here register.Partition) func(context.Context, ring.Partition) error {
	store := m.node.store
	switch {
	case place.Has(m.id):
		switch {
		case here.Epoch >= place.Epoch:
		case place.Epoch == ring.FirstEpoch && neverKept(here):
			// Only founders stand in the first epoch, and before it nothing was ever admitted.
			return func(ctx context.Context, p ring.Partition) error { return store.Found(ctx, p) }
		case place.Floored && here.Installed <= place.Epoch && m.compared:
			// A forced recovery has made this epoch: no node knows what was admitted before it, nor which nodes the
			// lost ones have asked to install an epoch of that number. A floor that is here already may be of another recovery.
			return func(ctx context.Context, p ring.Partition) error {
				return store.EnterFloored(ctx, p, place.Epoch, m.beyondClocks())
			}
		case here.Installed == place.Epoch && !place.Floored:
			return func(ctx context.Context, p ring.Partition) error { return store.Enter(ctx, p, place.Epoch) }
		}
	case slices.Contains(place.Next, m.id) || slices.Contains(place.Target, m.id):
	case place.Epoch > here.Epoch && place.Epoch >= here.Installed && !neverKept(here) && !here.Incomplete:
		// A state older than what is stored here, as a node that starts may see one, says nothing.
		return store.Drop
	}
	return nil
}

// beyondClocks is a time that no clock has passed: where a floor may be.
func (m *membership) beyondClocks() int64 {
	return max(m.node.clock.Now(), m.cluster.HighestNow()) + register.DefaultBounds().EpsMax
}
