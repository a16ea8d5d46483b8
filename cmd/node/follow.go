package node

import (
	"context"
	"fmt"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/storage/register"
)

// holds says whether the disk keeps registers.
func (m *membership) holds() bool {
	return slices.ContainsFunc(m.partitions(), func(p register.Partition) bool { return p.Epoch > 0 })
}

// epochs are the highest epochs that the registers know of.
func (m *membership) epochs() []uint64 {
	var epochs []uint64
	for _, p := range m.partitions() {
		epochs = append(epochs, max(p.Epoch, p.Installed))
	}
	return epochs
}

func (m *membership) partitions() []register.Partition {
	partitions := make([]register.Partition, m.node.cfg.partitions)
	for i := range partitions {
		partitions[i] = m.node.store.Partition(ring.Partition(i))
	}
	return partitions
}

// follow makes the node follow the cluster until ctx ends.
func (m *membership) follow(ctx context.Context) {
	joined := m.cluster.Joined()
	for {
		changed := m.cluster.Changed()
		if s := m.cluster.State(); s.Founded() {
			if err := m.adopt(ctx, s); err != nil && ctx.Err() == nil {
				m.node.fail(fmt.Errorf("follow the cluster: %w", err))
				return
			}
		}
		select {
		case <-changed:
		case <-m.installed:
		case <-joined:
			joined = nil
			if err := m.prove(ctx); err != nil && ctx.Err() == nil {
				m.node.fail(fmt.Errorf("join the cluster: %w", err))
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// prove opens the registers to other nodes and to this node's owners: the cluster has seen that the disk is no old copy, and a floor,
// if they have one, now lies beyond every clock that was heard.
func (m *membership) prove(ctx context.Context) error {
	s := m.cluster.State()
	if m.floored(s) {
		m.cluster.CompareClocks(ctx)
	}
	m.compared = true
	if err := m.node.store.RaiseFloor(ctx, m.beyondClocks()); err != nil {
		return err
	}
	if err := m.adopt(ctx, s); err != nil {
		return err
	}
	m.gate.open.Store(true)
	m.joinedAt.Store(m.node.clock.Now())
	close(m.decides)
	m.node.logLimits(m.fileLimits)
	m.node.cfg.Logger.Info("this node decides", "cluster", s.Cluster, "nodes", len(s.Nodes))
	return nil
}

// floored says whether registers have a floor, or are to get one.
func (m *membership) floored(s *agreed.State) bool {
	has := func(p register.Partition) bool { return p.Floored }
	gets := func(place ring.Place) bool { return place.Floored && place.Has(m.id) }
	return slices.ContainsFunc(m.partitions(), has) || s.Table != nil && slices.ContainsFunc(s.Table.Places, gets)
}

// adopt makes all parts of the node follow a state. The registers come first: they are in an epoch before the node publishes it.
func (m *membership) adopt(ctx context.Context, s *agreed.State) error {
	if err := m.syncStorage(ctx, s); err != nil {
		return err
	}
	if s.LimitsVersion != m.limitsVersion {
		doc, err := limit.ParseDocument(s.Limits)
		if err != nil {
			return fmt.Errorf("the cluster's limits: %w", err)
		}
		m.node.limits.Store(doc)
		m.limitsVersion = s.LimitsVersion
		m.node.cfg.Logger.Info("limits in force", "version", s.LimitsVersion, "limits", len(doc.Rules()))
	}
	m.placements.Store(m.newPlacements(s, m.placements.Load()))
	keep := map[string]bool{}
	for id, other := range s.Nodes {
		keep[id.At(other.GRPC)] = true
	}
	m.peers.Keep(keep)
	m.publishView(s)
	return nil
}
