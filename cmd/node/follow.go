package node

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/level"
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
	m.node.logLimits()
	m.node.cfg.Logger.Info("this node decides", "cluster", s.Cluster, "nodes", len(s.Nodes))
	return nil
}

// floored says whether registers have a floor, or are to get one.
func (m *membership) floored(s *agreed.State) bool {
	has := func(p register.Partition) bool { return p.Floored }
	gets := func(place ring.Place) bool { return place.Floored && place.Has(m.id) }
	return slices.ContainsFunc(m.partitions(), has) || s.Table != nil && slices.ContainsFunc(s.Table.Places, gets)
}

// adoptLevel makes the disk one of a cluster at that level: releases that do not know it refuse it from now on.
func (m *membership) adoptLevel(now int) error {
	if err := m.node.store.RaiseFormat(level.Format(now)); err != nil {
		return err
	}
	if m.level.Load() != 0 {
		m.node.cfg.Logger.Info("the cluster is at another level, and this data directory of another format", "level", now, "format", level.Format(now))
	}
	m.level.Store(int32(now))
	return nil
}

// adoptLimits puts the limits of a state in force, and its overrides: those that have changed, where the limits have not.
func (m *membership) adoptLimits(s *agreed.State) error {
	doc, before := m.node.limits.Load(), m.overrides
	other := s.LimitsVersion != m.limitsVersion
	if other {
		var err error
		if doc, err = limit.ParseDocument(s.Limits); err != nil {
			return fmt.Errorf("the cluster's limits: %w", err)
		}
		before = nil
	}
	further := !maps.Equal(s.Earlier, m.earlier)
	if other || further {
		doc = doc.WithEarlier(earlier(s, m.node.clock.Now()))
	}
	changes := overrideChanges(s, before)
	if len(changes) > 0 {
		var problems []error
		if doc, problems = doc.WithOverrides(changes); len(problems) > 0 {
			m.node.cfg.Logger.Warn("some overrides do not fit the limits, and have no effect: jeton limits override list shows all", "overrides", len(problems), "first", problems[0])
		}
	}
	if other || further || len(changes) > 0 {
		m.node.limits.Store(doc)
	}
	m.limitsVersion, m.overrides, m.earlier = s.LimitsVersion, s.Overrides, s.Earlier
	if other {
		m.node.cfg.Logger.Info("limits in force", "version", s.LimitsVersion, "limits", len(doc.Rules()))
	}
	return nil
}

// earlier is how far limits reached under earlier numbers whose line is not all past, by limit.
func earlier(s *agreed.State, now int64) map[string]int64 {
	leads := map[string]int64{}
	for name, e := range s.Earlier {
		if e.Until > now {
			leads[name] = e.Lead
		}
	}
	return leads
}

// adopt makes all parts of the node follow a state. The registers come first: they are in an epoch before the node publishes it.
func (m *membership) adopt(ctx context.Context, s *agreed.State) error {
	if err := m.syncStorage(ctx, s); err != nil {
		return err
	}
	if err := m.adoptLimits(s); err != nil {
		return err
	}
	m.placements.Store(m.newPlacements(s, m.placements.Load()))
	keep := map[string]bool{}
	for id, other := range s.Nodes {
		keep[id.At(other.GRPC)] = true
	}
	m.peers.Keep(keep)
	m.publishView(s)
	if before := m.adopted.Load(); before.version < s.Version {
		m.adopted.Store(&adoption{version: s.Version, changed: make(chan struct{})})
		close(before.changed)
	}
	return nil
}

// An adoption is the version of the state that this node goes by, until changed is closed.
type adoption struct {
	version uint64
	changed chan struct{}
}

// awaitAdopted waits until this node goes by a state of that version or a later one, or until ctx ends.
func (m *membership) awaitAdopted(ctx context.Context, version uint64) {
	for {
		now := m.adopted.Load()
		if now.version >= version {
			return
		}
		select {
		case <-now.changed:
		case <-ctx.Done():
			return
		}
	}
}
