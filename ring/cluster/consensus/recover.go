package consensus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
)

// RecoverAlone is raft's half of a forced recovery, on the one node that the operator asks: it makes raft a cluster of
// this node alone, in which everything in its log is agreed and then what, the recovery, and waits until this node leads. All of
// it is one step on the disk: there is no state in which this node leads and the recovery is not agreed. Every other node
// that is left has to be reset before. The log must end where what was made from it; otherwise the error is ErrStale. The agreement runs
// afterwards, on an error too, unless that says otherwise.
func (a *Agreement) RecoverAlone(ctx context.Context, from LogEnd, what *agreed.Command) error {
	if err := a.restartAlone(from, what); err != nil {
		return fmt.Errorf("recovering raft: %w", err)
	}
	for {
		leading, changed := a.Leading()
		if leading {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting to become the leader: %w", ctx.Err())
		}
	}
}

// restartAlone stops raft, rewrites its configuration and its state, and starts it again.
func (a *Agreement) restartAlone(from LogEnd, what *agreed.Command) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.disk == nil {
		return errors.New("raft is closed on this node")
	}
	if err := a.stopRaftLocked(); err != nil {
		return err
	}
	own, err := a.disk.contents()
	if err == nil && own.End != from {
		err = fmt.Errorf("%w: the raft log ends at %s, and ended at %s before: run the recovery again", agreed.ErrStale, own.End, from)
	}
	if err != nil {
		return errors.Join(err, a.startLocked())
	}
	a.connectLocked()
	alone := configurationOf([]Server{{ID: a.config.ID, Address: a.config.Advertise, Voter: true}})
	last := &recovering{machine: newMachine(a.marks, a.fail), what: what}
	err = raft.RecoverCluster(a.raftConfig(), last, a.disk.logs, a.disk.stable, a.disk.snapshots, a.transport, alone)
	switch {
	case err == nil:
		a.stored.Store(&alone)
	case last.refused != nil:
		err = last.refused
	}
	return errors.Join(err, a.startLocked())
}

// recovering is a machine whose snapshot is what comes of a forced recovery, after all that it has applied.
type recovering struct {
	*machine

	what    *agreed.Command
	refused error // why there is none
}

// Snapshot implements raft.FSM.
func (r *recovering) Snapshot() (raft.FSMSnapshot, error) {
	if r.refused = r.broken; r.refused != nil {
		return nil, r.refused
	}
	var s *agreed.State
	if s, r.refused = r.what.Apply(r.current); r.refused != nil {
		return nil, r.refused
	}
	return snapshot{s}, nil
}

// Reset makes this node one that raft can be given again, after another node has recovered the cluster: it drops the log,
// the snapshots and the state, and keeps the highest marks, and raft's term and vote. It takes nothing from those who are lost any more. If raft ran it runs again, without
// a configuration, and waits to be added. A log that ends after longest is not dropped: the error is ErrStale.
func (a *Agreement) Reset(longest LogEnd, lost []ring.NodeID) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.disk == nil {
		return errors.New("raft is closed on this node")
	}
	ran := a.running.Load() != nil
	if err := a.stopRaftLocked(); err != nil {
		return err
	}
	own, err := a.disk.contents()
	if err == nil && own.End.After(longest) {
		err = fmt.Errorf("%w: the raft log of this node ends at %s, after that of the recovering node, which ends at %s", agreed.ErrStale, own.End, longest)
	}
	if err != nil {
		if ran {
			err = errors.Join(err, a.startLocked())
		}
		return err
	}
	keep, err := a.disk.preserve(a.marks)
	if err != nil {
		return fmt.Errorf("resetting raft: %w", err)
	}
	keep.Lost = slices.Concat(a.disk.lost, lost) // of an earlier recovery too, which did not come to its end here
	err = a.disk.close()
	a.disk = nil
	if err == nil {
		err = dropRaft(a.config.folder(), keep)
	}
	if err != nil {
		return fmt.Errorf("resetting raft: %w", err)
	}
	if err := a.openLocked(); err != nil {
		return err
	}
	a.machine.empty()
	if !ran {
		return nil
	}
	return a.startLocked()
}

// dropRaft makes what is kept durable, then takes the rest away in one step; the next openDisk deletes it.
func dropRaft(in folder.Folder, k resetState) error {
	if err := k.write(in); err != nil {
		return err
	}
	if err := in.Remove(oldDir); err != nil {
		return err
	}
	if err := in.FS.Rename(in.Path(raftDir), in.Path(oldDir)); err != nil {
		return err
	}
	return in.Sync(in.Dir)
}

// A Supposition is the state that a node's log leads to if every entry in it is agreed. A forced recovery makes every entry agreed;
// until then, it is not known how many of them are.
type Supposition struct {
	State   *agreed.State
	Servers []Server // that raft has then
	End     LogEnd
	// Removed are the nodes that entries of the log remove, as they were before, but for those that raft has let go of since: its leader does so
	// once their removal is agreed.
	Removed map[ring.NodeID]agreed.Node
}

// has says whether raft has a server.
func (s *Supposition) has(id ring.NodeID) bool {
	return slices.ContainsFunc(s.Servers, func(server Server) bool { return server.ID == id })
}

// Supposed is what this node's log comes to. Raft may run.
func (a *Agreement) Supposed() (Supposition, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.disk == nil {
		return Supposition{}, errors.New("raft is closed on this node")
	}
	for tries := 3; ; tries-- {
		s, err := a.disk.contents()
		if tries == 0 || !errors.Is(err, raft.ErrLogNotFound) { // raft has just compacted it
			return s, err
		}
	}
}

// contents reads what the disk holds.
func (d *disk) contents() (Supposition, error) {
	found, covered, err := newestSnapshot(d.snapshots)
	if err != nil {
		return Supposition{}, err
	}
	last, err := d.logs.LastIndex()
	if err != nil {
		return Supposition{}, err
	}
	s := Supposition{State: found.state, Servers: serversOf(found.configuration), End: covered, Removed: map[ring.NodeID]agreed.Node{}}
	for index := covered.Index + 1; index <= last; index++ {
		var entry raft.Log
		if err := d.logs.GetLog(index, &entry); err != nil {
			return Supposition{}, fmt.Errorf("entry %d of the log: %w", index, err)
		}
		s.End = LogEnd{Term: entry.Term, Index: index}
		switch entry.Type {
		case raft.LogConfiguration:
			before := s
			s.Servers = serversOf(raft.DecodeConfiguration(entry.Data))
			maps.DeleteFunc(s.Removed, func(id ring.NodeID, _ agreed.Node) bool { return before.has(id) && !s.has(id) })
		case raft.LogCommand:
			c, err := agreed.DecodeCommand(entry.Data)
			if err != nil {
				return Supposition{}, fmt.Errorf("entry %d of the log: %w", index, err)
			}
			if next, err := c.Apply(s.State); err == nil { // a refused one has changed nothing
				s.noteRemoved(next)
				s.State = next
			}
		default:
		}
	}
	return s, nil
}

// noteRemoved notes the nodes that the next state is without.
func (s *Supposition) noteRemoved(next *agreed.State) {
	if len(next.Removed) == len(s.State.Removed) {
		return
	}
	for id, n := range s.State.Nodes {
		if _, removed := next.Removed[id]; removed {
			s.Removed[id] = n
		}
	}
}
